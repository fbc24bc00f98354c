//! RESET: the whole card while traffic runs, at random moments; afterwards it works as after power-on.

use crate::nic::answers::the_capture_is_answered;
use crate::nic::bench::Nic;
use crate::nic::faults::faults_name_their_place;
use crate::nic::mailboxes::shuffled_puts_complete;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::{Bar, ContextOptions, HostMemory};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::registers::{global, node, packet};
use spindle_harness::{share, with_seeds};
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_sim::host_memory::Timing;
use spindle_sim::{Options, WireFrame};

/// Windows, command ring, event ring, handlers and frames, then a reset in the middle of it all.
fn disturb(nic: &mut Nic, random: &mut ChaCha8Rng) {
    const ADDRESS: u64 = 77;
    let memory = nic.card.sim().memory().timing;
    nic.card.sim().memory().timing = Timing { aw_stall: 30, w_stall: 30, read_stall: 30, ..memory };
    nic.device.set_card_interrupt(true, true).unwrap();
    nic.device.open_ring(1, 64).unwrap();
    nic.device.set_interrupt(1, Some(Default::default())).unwrap();
    let window = nic.device.init_window(1, ADDRESS, 5, 3000).unwrap();
    let mut posts = nic.device.open_commands(1, 16).unwrap();
    let at = nic.device.memory.alloc(16 * 8192, 4096).unwrap();
    let buffers: Vec<_> = (0..16u64)
        .map(|i| spindle::rvma::Posted { buffer: at + 8192 * i, size: 4096, record: at + 8192 * i + 4096 })
        .collect();
    nic.handler("ping_pong", "udp.dport == 9", ContextOptions::default());
    nic.rule("spindle", Action::Mailbox);
    nic.device.set_receive(true).unwrap();
    let header = SpindleHeader { addr: ADDRESS, key: 5, dst_pid: 1, msg_id: 1, ..SpindleHeader::default() };
    let puts = put_message(&Ends::default(), SPINDLE_PORT, &header, &[7; 6000], 700);
    let frames: Vec<Vec<u8>> = (0..60)
        .map(|i| if i % 3 == 0 { udp(&Ends::default(), 1, 9, &[i as u8; 400]) } else { puts[i % puts.len()].clone() })
        .collect();
    nic.device.post_many(&mut posts, window, &buffers).unwrap();
    {
        let mut sim = nic.card.sim();
        for bytes in frames {
            let gap = random.random_range(0..4);
            sim.inject(WireFrame { bytes, gap, bad: false });
        }
        sim.run(random.random_range(0..1500));
    }
    assert!(nic.device.reset().unwrap(), "the host answers, so the card becomes quiet");

    // What is left of the traffic enters with reception off.
    let mut sim = nic.card.sim();
    while sim.pending() > 0 {
        sim.step();
    }
    sim.run(300);
    assert!(sim.memory().idle(), "nothing is under way to the host");
    assert_eq!(sim.memory().violations, Vec::<String>::new());
    // Completion records and buffers of before must not disturb the comparison with a model.
    sim.memory().memory = Default::default();
    sim.memory().timing = memory;
    sim.take_sent();
    sim.take_interrupts();
}

/// A NIC that was reset several times, each time at another moment.
fn used(options: Options) -> Nic {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut nic = Nic::new(options);
    for _ in 0..share(4) {
        disturb(&mut nic, &mut random);
        let stats = nic.device.stats().unwrap();
        assert_eq!((stats.completions, stats.tasks_done, stats.frames_out, stats.messages_open), (0, 0, 0, 0));
    }
    nic
}

#[test]
fn puts_complete_after_resets() {
    with_seeds(|| shuffled_puts_complete(used));
}

#[test]
fn handlers_answer_after_resets() {
    with_seeds(|| {
        the_capture_is_answered(used);
        faults_name_their_place(used);
    });
}

#[test]
fn registers_are_reset() {
    let mut nic = Nic::new(Options::default());
    let mut bar = nic.card.clone();
    let scratch = global::BASE + global::SCRATCH;
    bar.write32(scratch, 0x1234_5678).unwrap();
    bar.write32(packet::BASE + packet::SPINDLE_PORT, 99).unwrap();
    bar.write32(node::BASE + node::LOCAL_NID, 3).unwrap();
    assert!(nic.device.reset().unwrap());
    let cycle = nic.device.cycle().unwrap();
    println!("cycles since the reset, when it is over: {cycle}");
    assert!(cycle < 6000, "the cycle counter begins again: {cycle}");
    assert_eq!(bar.read32(scratch).unwrap(), 0);
    assert_eq!(bar.read32(packet::BASE + packet::SPINDLE_PORT).unwrap(), u32::from(SPINDLE_PORT));
    assert_eq!(bar.read32(node::BASE + node::LOCAL_NID).unwrap(), 0);

    // Other registers are refused, not answered wrongly, until the reset is over; RESET itself always answers.
    bar.write32(global::BASE + global::RESET, 1).unwrap();
    let mut polls = 0;
    let mut refused = 0;
    while global::Reset(bar.read32(global::BASE + global::RESET).unwrap()).busy() {
        refused += usize::from(bar.read32(scratch).is_err());
        polls += 1;
    }
    assert!(polls > 10 && refused + 3 >= polls, "{refused} of {polls} refused");
    assert_eq!(bar.read32(scratch).unwrap(), 0);
}
