//! What a process receives through its event ring: the end of every message, every fault, and how many events found the ring
//! full.

use crate::nic::bench::{random_gaps, Nic};
use spindle::{ContextOptions, Event, EventKind, EventRing, Outcome};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{udp, Ends};
use spindle_sim::Options;

const PROCESS: usize = 2;
const FRAMES: usize = 42;

/// Whether frame `i` goes to the handler that fails.
fn fails(i: usize) -> bool {
    i.is_multiple_of(3)
}

/// A NIC with a good and a faulty context of the process, and what it received while frames were played.
fn play(records: usize) -> (Nic, EventRing, Vec<u16>) {
    let mut nic = Nic::new(Options { seed: seed_of_run("nic_events"), ..Options::default() });
    let options = ContextOptions { process: PROCESS as u8, ..ContextOptions::default() };
    nic.handler("faulty/foreign_access", "udp.dport == 1", options);
    nic.handler("ping_pong", "udp", options);
    let ring = nic.device.open_ring(PROCESS, records).unwrap();
    nic.device.set_receive(true).unwrap();
    let frames: Vec<_> =
        (0..FRAMES).map(|i| udp(&Ends::default(), 1, if fails(i) { 1 } else { 9 }, &[i as u8; 90])).collect();
    let mut random = seeded_rng("nic_events");
    let played = nic.play(random_gaps(&frames, 700, &mut random));
    (nic, ring, played.numbers)
}

fn events(nic: &mut Nic, ring: &mut EventRing) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = nic.device.poll_event(ring).unwrap() {
        assert_eq!(event.number as usize, events.len() + 1, "events are numbered from 1");
        events.push(event);
    }
    events
}

#[test]
fn every_message_and_fault_is_told_once() {
    with_seeds(|| {
        let (mut nic, mut ring, numbers) = play(128);
        let events = events(&mut nic, &mut ring);
        let (mut ended, mut faults) = (Vec::new(), Vec::new());
        for event in &events {
            match &event.kind {
                // A raw frame's number is its message's.
                EventKind::Message { outcome, id, length, dropped, flow_control, .. } => {
                    let index = numbers.iter().position(|n| u32::from(*n) == *id).expect("the frame was played");
                    assert_eq!((*length, *dropped, *flow_control), (90, 0, false), "{event:?}");
                    assert_eq!(*outcome, if fails(index) { Outcome::Failed } else { Outcome::Done }, "{event:?}");
                    assert_eq!(event.context.0, usize::from(!fails(index)));
                    ended.push(index);
                }
                EventKind::Fault(fault) => {
                    assert_eq!(fault.cause_text().0, "FAULT_STORE", "{event:?}");
                    faults.push(numbers.iter().position(|n| *n == fault.frame).expect("the frame was played"));
                }
                other => panic!("no one caused {other:?}"),
            }
        }
        ended.sort_unstable();
        faults.sort_unstable();
        assert_eq!(ended, (0..FRAMES).collect::<Vec<_>>(), "every message ends once");
        assert_eq!(faults, (0..FRAMES).filter(|i| fails(*i)).collect::<Vec<_>>(), "every fault is reported once");
        assert_eq!(nic.device.pop_fault().unwrap(), None, "faults of an open ring do not go to the registers");
        nic.device.close_ring(ring).unwrap();
        nic.assert_empty();
    });
}

#[test]
fn what_a_full_ring_lost_is_told() {
    with_seeds(|| {
        let (mut nic, mut ring, _) = play(16);
        // Reading gives the places back, which lets the card report what it could not.
        let mut reported = 0;
        let mut lost = 0;
        let deadline = nic.card.sim().cycle() + 20_000;
        while nic.card.sim().cycle() < deadline {
            match nic.device.poll_event(&mut ring).unwrap().map(|event| event.kind) {
                Some(EventKind::Lost(events)) => lost += events as usize,
                Some(_) => reported += 1,
                None => nic.card.sim().run(100),
            }
        }
        let all = FRAMES + (0..FRAMES).filter(|i| fails(*i)).count();
        assert_eq!((reported, lost), (16, all - 16), "reported and lost are all");
        nic.device.close_ring(ring).unwrap();
        nic.assert_empty();
    });
}
