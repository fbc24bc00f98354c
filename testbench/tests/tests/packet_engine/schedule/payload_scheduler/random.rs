//! The payload scheduler against the judge of sPIN's order.

use crate::packet_engine::schedule::payload_scheduler::traffic::{contexts, install, limited, Surroundings};
use packet_engine::schedule::payload_scheduler::PayloadScheduler;
use spindle_contract::params::Config;
use spindle_harness::{run_with_wave_on_failure, share, Dut};

/// MESSAGE_TIMEOUT: longer than any handler takes, with those before it.
const TIMEOUT: u64 = 16;

fn play(name: &str, config: Config, messages: usize, window: usize, eagerness: u32, losses: u32, inactive: u64) {
    let messages = share(messages);
    run_with_wave_on_failure(name, |wave| {
        let dut = Dut::new(wave, PayloadScheduler::new(&config), "payload_scheduler");
        dut.contexts.set_bytes(&contexts(inactive).to_le_bytes());
        let mut around = Surroundings::new(&config, wave.rng(), messages, window, eagerness);
        dut.host_process.set(around.host.0);
        dut.host_mailbox.set(around.host.1);
        (around.losses, around.inactive) = (losses, inactive);
        around.task_rate = 40;
        // Every third context has an HPU of its own.
        let total = config.total_hpus();
        let policy =
            |context| (1 + context as u64 % 4, if context % 3 == 0 { 1u32 << (context % total) } else { u32::MAX });
        install(&dut, &dut.policy, &dut.message_event.ready, &limited(around.hpus.policies(policy)));
        dut.timeout.set(TIMEOUT);
        dut.due_alive.set(true);
        around.hpus.patience = 20;
        let limit = 20_000 + messages as u64 * 200;
        for cycle in 0..limit {
            if let Err(breach) = around.step(&dut) {
                panic!("cycle {cycle}: {breach}");
            }
            if around.quiet() {
                break;
            }
        }
        assert!(around.quiet(), "traffic is not over after {limit} cycles: {}", around.rest());
        // Events of the last messages wait for sinks that are slow.
        for _ in 0..1600 / eagerness {
            around.step(&dut).unwrap_or_else(|breach| panic!("{breach}"));
        }
        let counts = around.judge.finish().unwrap_or_else(|breach| panic!("{breach}"));
        assert_eq!(around.seen, counts);
        assert_eq!(around.seen_whole, around.whole);
        assert_eq!(dut.counts.messages_open.number(), 0, "a message slot leaked");
        println!("{name}: {counts:?}");
        assert!(around.redirected > messages as u64 / 100, "{} packets were redirected", around.redirected);
        assert!(around.whole > messages as u64 / 100, "{} whole frames", around.whole);
        assert!(around.silent > messages as u64 / 4, "{} frames without a sequence number", around.silent);
        let [begun, again, failed] = around.tasks.counts;
        println!("tasks: {begun} began, {again} found no slot, {failed} failed");
        let some = messages as u64 / 100;
        assert!(
            begun > some && again > 0 && failed > some / 4,
            "{begun} tasks began, {again} did not, {failed} failed"
        );
        let bytes = &around.bytes;
        println!(
            "redirects of bytes: placed, refused, too late {:?}, {} of a frame at a time",
            bytes.counts, bytes.most
        );
        assert!(bytes.counts.iter().all(|count| *count > some / 2) && bytes.most > 2, "{:?}", bytes.counts);
        println!("longest wait of a feedback word: {} cycles", around.longest_wait);
        assert!(eagerness < 100 || around.longest_wait <= 40, "a feedback word waited {} cycles", around.longest_wait);
    });
}

#[test]
fn random_messages_eager_sinks() {
    play("random_messages_eager_sinks", Config::SIM, 4000, 12, 100, 0, 15);
}

#[test]
fn random_messages_slow_sinks() {
    play("random_messages_slow_sinks", Config::SIM, 2000, 12, 25, 0, 4);
}

#[test]
fn random_messages_with_losses() {
    play("random_messages_with_losses", Config::SIM, 2000, 40, 100, 10, 8);
}

#[test]
fn random_messages_many_alive() {
    play("random_messages_many_alive", Config { live_messages: 256, ..Config::ALVEO }, 3000, 60, 60, 40, 0);
}
