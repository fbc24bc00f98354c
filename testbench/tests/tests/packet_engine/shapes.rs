//! Every block is emitted and linted for every shape that the configurations use.

use packet_engine::dispatch::Dispatch;
use packet_engine::registers::PacketRegisters;
use packet_engine::schedule::message_index::MessageIndex;
use packet_engine::schedule::payload_scheduler::PayloadScheduler;
use packet_engine::transmit::initiator::packet_sums::PacketSums;
use packet_engine::transmit::initiator::Initiator;
use packet_engine::transmit::responder::Responder;
use packet_engine::transmit::sender::Sender;
use packet_engine::{transmit::egress::Egress, PacketEngine};
use spindle_blocks::RamStyle;
use spindle_contract::params::Config;
use spindle_harness::{lint, source_of};
use spindle_verilog::prelude::Block;

/// What is wrong with a block, if anything.
fn check(block: &mut impl Block, top: &str) -> Option<String> {
    match source_of(block, top) {
        Ok(source) => {
            let warnings = lint(&source).unwrap_or_else(|e| panic!("{top}: {e:#}"));
            (!warnings.is_empty()).then(|| format!("{top}: {warnings:#?}"))
        }
        Err(error) => Some(format!("{top}: {error}")),
    }
}

/// The blocks are built by value, all of them in one frame: more than a test's stack holds.
#[test]
fn blocks_are_clean() {
    crate::large::on_large_stack(check_all);
}

fn check_all() {
    let mut found = vec![
        check(&mut Egress::default(), "egress"),
        check(&mut Initiator::default(), "initiator"),
        check(&mut PacketSums::default(), "packet_sums"),
        check(&mut Responder::new(RamStyle::Block), "responder"),
        check(&mut Sender::default(), "sender"),
    ];
    for slots in [16, 64, 256] {
        found.push(check(&mut MessageIndex::new(slots, RamStyle::Block), &format!("message_index_{slots}")));
    }
    for (clusters, hpus) in [(1, 1), (3, 4), (8, 4), (4, 8)] {
        let config = Config { clusters, hpus, ..Config::ALVEO };
        found.push(check(&mut Dispatch::new(&config), &format!("dispatch_{clusters}_{hpus}")));
    }
    for config in Config::ALL {
        found.push(check(&mut Dispatch::new(&config), &format!("dispatch_{}", config.name)));
        found.push(check(&mut PayloadScheduler::new(&config), &format!("payload_scheduler_{}", config.name)));
        found.push(check(&mut PacketRegisters::new(&config), &format!("packet_registers_{}", config.name)));
        found.push(check(&mut PacketEngine::new(&config), &format!("packet_engine_{}", config.name)));
    }
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Orders that depend on a hash differ between two emissions of one process.
#[test]
fn emission_is_deterministic() {
    crate::large::on_large_stack(|| {
        let files = || source_of(&mut PacketEngine::new(&Config::SIM), "packet_engine").unwrap().files;
        let first = files();
        (0..5).for_each(|_| assert_eq!(files(), first));
    });
}

#[test]
#[should_panic(expected = "a power of two from 16 to 256")]
fn messages_not_a_power_of_two() {
    MessageIndex::new(48, RamStyle::Block);
}

#[test]
#[should_panic(expected = "clusters must be 1 to 8")]
fn too_many_clusters() {
    Dispatch::new(&Config { clusters: 9, ..Config::SIM });
}
