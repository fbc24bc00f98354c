//! The blocks of a cluster alone, and the cluster: emitted, deterministic and clean under `verilator -Wall`.

use crate::hpu_core::cluster::whole::bench;
use hpu_core::cluster::combiner::Combiner;
use hpu_core::cluster::command_port::CommandPort;
use hpu_core::cluster::command_unit::CommandUnit;
use hpu_core::cluster::host_arrivals::HostArrivals;
use hpu_core::cluster::instruction_memory::InstructionMemory;
use hpu_core::cluster::l1::L1;
use hpu_core::cluster::l1_atomics::L1Atomics;
use hpu_core::cluster::l1_read_dma::L1ReadDma;
use hpu_core::cluster::loader::Loader;
use hpu_core::cluster::remote_router::RemoteRouter;
use hpu_core::cluster::reporter::Reporter;
use hpu_core::cluster::slots::Slots;
use spindle_contract::params::Config;
use spindle_harness::lint;

#[test]
fn every_shape_is_lint_clean() {
    let mut sources = alone! {
        l1_of_one: L1::new(1);
        l1_of_eight: L1::new(8);
        instruction_memory: InstructionMemory::new(3, 4096);
        atomics: L1Atomics::new(8);
        router: RemoteRouter::new(8);
        loader_of_one: Loader::new(&Config { hpus: 1, ..Config::SIM });
        loader_of_eight: Loader::new(&Config { clusters: 1, hpus: 8, ..Config::SIM });
        combiner: Combiner::default();
        command_port: CommandPort::default();
        host_arrivals: HostArrivals::default();
        l1_read_dma: L1ReadDma::default();
        command_unit: CommandUnit::new(8);
        reporter: Reporter::new(8);
        slots: Slots::default();
    };
    sources.push(bench::source());
    let mut reported = vec![];
    for design in &sources {
        reported.extend(
            lint(design).unwrap_or_else(|error| panic!("{error:#}")).iter().map(|w| format!("{}: {w}", design.top)),
        );
    }
    assert!(reported.is_empty(), "{} warnings:\n{}", reported.len(), reported.join("\n"));
}

#[test]
fn emission_is_deterministic() {
    assert_eq!(bench::source().files, bench::source().files);
}
