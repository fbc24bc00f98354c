//! Interrupts of the whole NIC: vectors of processes, the card's own, and what kicks and windows with events have to do with them.

use crate::nic::bench::{at_once, Nic};
use spindle::rule_table::Action;
use spindle::window::WindowOptions;
use spindle::{ContextOptions, EventKind, InterruptOptions};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::wire::status;
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_sim::Options;

const ADDRESS: u64 = 5;
const SIZE: u32 = 512;

/// Puts that fill so many buffers of the window of a process.
fn puts(pid: u16, first: u32, count: u32) -> Vec<Vec<u8>> {
    (first..first + count)
        .flat_map(|msg_id| {
            let header = SpindleHeader { addr: ADDRESS, key: 1, dst_pid: pid, msg_id, ..SpindleHeader::default() };
            put_message(&Ends::default(), SPINDLE_PORT, &header, &[msg_id as u8; SIZE as usize], SIZE as usize)
        })
        .collect()
}

#[test]
fn a_complete_buffer_is_an_interrupt() {
    let mut nic = Nic::new(Options::default());
    nic.rule("spindle", Action::Mailbox);
    // Vectors after reset, and one that is set.
    let processes = [(2u16, 3usize), (9, 12)];
    nic.device.set_vector(9, 12).unwrap();
    let mut rings = vec![];
    for (pid, _) in processes {
        let process = usize::from(pid);
        let mut ring = nic.device.open_ring(process, 16).unwrap();
        let options =
            WindowOptions { address: ADDRESS, key: 1, threshold: SIZE, event: true, ..WindowOptions::default() };
        let window = nic.device.open_window(process, &options).unwrap();
        for _ in 0..4 {
            nic.device.post_buffer(window, SIZE).unwrap();
        }
        nic.device.set_interrupt(process, Some(InterruptOptions::default())).unwrap();
        nic.device.arm(&mut ring).unwrap();
        rings.push(ring);
    }
    nic.device.set_receive(true).unwrap();
    assert_eq!(nic.card.sim().take_interrupts(), 0);
    for ((pid, vector), ring) in processes.into_iter().zip(&mut rings) {
        nic.play(at_once(&puts(pid, 0, 2)));
        assert_eq!(nic.card.sim().take_interrupts(), 1 << vector, "process {pid}");
        for _ in 0..2 {
            let event = nic.device.poll_event(ring).unwrap().expect("an event for each buffer");
            assert!(matches!(event.kind, EventKind::Buffer { status: status::DONE, length: SIZE, .. }), "{event:?}");
        }
        assert!(nic.device.poll_event(ring).unwrap().is_none());
        // Not armed: no interrupt.
        nic.play(at_once(&puts(pid, 2, 1)));
        assert_eq!(nic.card.sim().take_interrupts(), 0);
        // Armed by a kick, while the record of before is unread: at once.
        let shadow = nic.device.open_shadow(usize::from(pid)).unwrap();
        nic.device.shadow_head(&shadow, ring, true).unwrap();
        nic.device.kick(&shadow).unwrap();
        nic.card.sim().run(600);
        assert_eq!(nic.card.sim().take_interrupts(), 1 << vector);
        nic.device.close_shadow(shadow).unwrap();
    }
    nic.assert_empty();
}

/// From the host's answer to a record to the request of the process's vector.
#[test]
fn cycles_from_a_record_to_its_request() {
    const RECORD_TO_REQUEST: u64 = 7;
    let mut nic = Nic::new(Options::default());
    nic.rule("spindle", Action::Mailbox);
    let (pid, vector) = (4, 5);
    let mut ring = nic.device.open_ring(pid, 16).unwrap();
    let options = WindowOptions { address: ADDRESS, key: 1, threshold: SIZE, event: true, ..WindowOptions::default() };
    let window = nic.device.open_window(pid, &options).unwrap();
    nic.device.set_interrupt(pid, Some(InterruptOptions::default())).unwrap();
    nic.device.set_receive(true).unwrap();
    nic.card.sim().memory().keep_log = true;
    for message in 0..5 {
        let posted = nic.device.post_buffer(window, SIZE).unwrap();
        nic.device.arm(&mut ring).unwrap();
        let mut sim = nic.card.sim();
        assert_eq!(sim.take_interrupts(), 0);
        sim.memory().log.clear();
        at_once(&puts(pid as u16, message, 1)).into_iter().for_each(|frame| sim.inject(frame));
        // Neither the data nor the completion record, which may be answered later.
        let of_buffer =
            |at: u64| (posted.buffer..posted.buffer + u64::from(SIZE)).contains(&at) || at & !63 == posted.record & !63;
        let mut answered = None;
        let waited = loop {
            let now = sim.cycle();
            sim.step();
            if answered.is_none() && sim.memory().log.iter().any(|burst| !of_buffer(burst.address)) {
                answered = Some(now);
            }
            match sim.take_interrupts() {
                0 => {}
                vectors => {
                    assert_eq!(vectors, 1 << vector);
                    break now - answered.expect("the interrupt comes after the answer to its record");
                }
            }
            assert!(answered.is_none_or(|answered| now - answered < 100) && now < 100_000, "no interrupt");
        };
        assert_eq!(waited, RECORD_TO_REQUEST, "message {message}");
        drop(sim);
        assert!(nic.device.poll_event(&mut ring).unwrap().is_some());
    }
}

#[test]
fn the_card_has_an_interrupt_of_its_own() {
    let mut nic = Nic::new(Options::default());
    let options = ContextOptions { watchdog: 500, ..ContextOptions::default() };
    nic.handler("faulty/never_returns", "udp.dport == 0", options);
    nic.device.set_receive(true).unwrap();
    let frame = || at_once(&[udp(&Ends::default(), 1, 0, &[1; 90])]);
    // Faults count after reset.
    nic.play(frame());
    assert_eq!(nic.card.sim().take_interrupts(), 1);
    // A second report while the first one waits is no new cause; after the queue was emptied, it is.
    nic.play(frame());
    assert_eq!(nic.card.sim().take_interrupts(), 0);
    while nic.device.pop_fault().unwrap().is_some() {}
    nic.play(frame());
    assert_eq!(nic.card.sim().take_interrupts(), 1);
    // Masked, and unmasked while a report waits.
    while nic.device.pop_fault().unwrap().is_some() {}
    nic.device.set_card_interrupt(false, true).unwrap();
    nic.play(frame());
    assert_eq!(nic.card.sim().take_interrupts(), 0);
    nic.device.set_card_interrupt(true, true).unwrap();
    nic.card.sim().run(10);
    assert_eq!(nic.card.sim().take_interrupts(), 1);
}
