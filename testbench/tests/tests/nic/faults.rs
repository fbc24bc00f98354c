//! A handler that misbehaves is ended and reported; the packets of the others are answered meanwhile.

use crate::nic::bench::{random_gaps, Nic};
use spindle::ContextOptions;
use spindle_contract::reasons::HANDLER_FAIL;
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{udp, Ends};
use spindle_sim::Options;

#[test]
fn faults_name_their_place_and_hurt_nobody_else() {
    with_seeds(|| faults_name_their_place(Nic::new));
}

pub fn faults_name_their_place(open: impl Fn(Options) -> Nic) {
    const BUDGET: u32 = 3000;
    let mut nic = open(Options { seed: seed_of_run("nic_faults"), ..Options::default() });
    let options = ContextOptions { watchdog: BUDGET, ..ContextOptions::default() };
    let faulty = [
        nic.handler("faulty/never_returns", "udp.dport == 0", options),
        nic.handler("faulty/foreign_access", "udp.dport == 1", options),
    ];
    let good = nic.handler("ping_pong", "udp", options);
    nic.device.set_receive(true).unwrap();

    // One frame in three goes to a faulty context; there are fewer of them than the queue of faults holds.
    let port = |i: usize| if i.is_multiple_of(3) { i / 3 % 2 } else { 9 };
    let frames: Vec<_> = (0..42).map(|i| udp(&Ends::default(), 1, port(i) as u16, &[i as u8; 90])).collect();
    let faults = (0..frames.len()).filter(|i| port(*i) < 2).count();
    let mut random = seeded_rng("nic_faults");
    let played = nic.play(random_gaps(&frames, 700, &mut random));

    let mut answered: Vec<usize> = played.sent.iter().map(|(cause, _)| *cause).collect();
    answered.sort_unstable();
    let wanted: Vec<usize> = (0..frames.len()).filter(|i| port(*i) == 9).collect();
    assert_eq!(answered, wanted, "every frame of the good context {:?} is answered once", good.context);
    assert_eq!(played.drops[HANDLER_FAIL] as usize, faults);
    assert_eq!((played.stats.tasks_faulted as usize, played.stats.faults_lost), (faults, 0));

    let mut reported = Vec::new();
    while let Some(fault) = nic.device.pop_fault().unwrap() {
        let index = played.numbers.iter().position(|number| *number == fault.frame).expect("the frame was played");
        let kind = port(index);
        assert_eq!(fault.context, faulty[kind].context, "{fault:?}");
        assert_eq!(fault.kind_text(), "header");
        assert_eq!(fault.cause_text().0, ["FAULT_WATCHDOG", "FAULT_STORE"][kind], "{fault:?}");
        let (function, _) = faulty[kind].image.symbol(fault.pc).expect("the pc lies in a function of the image");
        assert_eq!(function, "header_handler");
        reported.push(index);
    }
    reported.sort_unstable();
    assert_eq!(reported, (0..frames.len()).filter(|i| port(*i) < 2).collect::<Vec<_>>(), "one report for each");
    nic.assert_empty();
}
