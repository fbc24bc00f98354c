//! The same run takes the same cycles.

use crate::nic::bench::{random_gaps, Nic, Played};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use spindle_contract::params::SPINDLE_PORT;
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_sim::Options;

/// Answers and a put, with a host and a wire whose timing comes from `seed`.
fn run(seed: u64) -> Played {
    let mut nic = Nic::new(Options { seed, tx_ready_percent: 60, ..Options::default() });
    nic.rule("spindle", Action::Mailbox);
    nic.handler("ping_pong", "udp", ContextOptions::default());
    let window = nic.device.init_window(0, 5, 6, 10_000).unwrap();
    nic.device.post_buffer(window, 10_000).unwrap();
    nic.device.set_receive(true).unwrap();
    let header = SpindleHeader { addr: 5, key: 6, ..SpindleHeader::default() };
    let puts = put_message(&Ends::default(), SPINDLE_PORT, &header, &[9; 10_000], 500);
    let pings = (0..40).map(|i| udp(&Ends::default(), 1, 2, &vec![i; 30 * usize::from(i)]));
    let frames: Vec<_> =
        pings.zip(puts.into_iter().cycle()).enumerate().map(|(i, (a, b))| if i % 2 == 0 { a } else { b }).collect();
    nic.play(random_gaps(&frames, 300, &mut ChaCha8Rng::seed_from_u64(1)))
}

#[test]
fn the_same_run_takes_the_same_cycles() {
    let [a, b, other] = [5, 5, 6].map(run);
    assert!(a.sent.len() == 20 && a.events.len() > 200);
    assert_eq!(a.events, b.events);
    assert_eq!(a.sent, b.sent);
    assert_eq!(a.stats, b.stats);
    // What is compared does depend on time.
    assert_ne!(a.events, other.events);
}
