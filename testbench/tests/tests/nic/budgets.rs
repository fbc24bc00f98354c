//! Bounds on the emitted Verilog.

use crate::nic::bench::emit;
use spindle_contract::params::Config;

#[test]
fn the_verilog_of_sixteen_hpus_is_small() {
    let few = emit(Config { clusters: 1, ..Config::ALVEO });
    let many = emit(Config::ALVEO);
    assert_eq!((Config::ALVEO.hpus, Config::ALVEO.total_hpus()), (4, 16));
    let bytes: usize = many.modules.iter().map(|module| module.text.len()).sum();
    println!("{} modules, {bytes} bytes", many.module_count());
    // With reset, interrupts, kicks, commands of 64 bytes, COMBINE, checksums of packets, the ICRC and tasks.
    assert!(many.module_count() <= 200, "{} distinct modules", many.module_count());
    assert!(bytes <= 1_400_000, "{bytes} bytes of Verilog");
    assert_eq!(few.module_count(), many.module_count(), "4 HPUs and 16 have the same modules");
}
