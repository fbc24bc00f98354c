//! The calibrated model: its parameters are those of the NIC, and its times those of the NIC.

mod common;

use common::there;
use spindle_contract::params::Config;
use spindle_network::calibration::{measure, worst, Check};
use spindle_network::model::{parameters, Parameters};

/// The most by which the time of a motif may be off, as a share.
const BOUND: f64 = 0.05;

#[test]
fn the_calibration_is_that_of_the_nic() {
    if !there() {
        return;
    }
    let config = Config::SIM;
    let source = spindle_sim::source(&config).unwrap();
    let kept = parameters(config.name).unwrap();
    let measured = measure(&source, &config, &kept.commit).unwrap();
    let json = |parameters: &Parameters| serde_json::to_string_pretty(parameters).unwrap();
    assert!(
        measured == kept,
        "calibration.json is not what the NIC does now; measure it again with `spindle report --only scale.calibration --config {} \
         --calibration testbench/network/calibration.json`:\n{}\ninstead of\n{}",
        config.name,
        json(&measured),
        json(&kept)
    );
}

#[test]
fn models_take_the_time_of_nics() {
    if !there() {
        return;
    }
    let config = Config::SIM;
    let source = spindle_sim::source(&config).unwrap();
    let parameters = parameters(config.name).unwrap();
    for check in Check::ALL {
        // Applications on four nodes: their hosts open dozens of windows each.
        let nodes: &[usize] = match check {
            Check::PingPong | Check::Rate | Check::Long | Check::Incast => &[2, 4, 8],
            Check::Halo | Check::Sweep | Check::Broadcast | Check::Allreduce => &[4],
        };
        let (farthest, _) = worst(&source, &config, &parameters, check, nodes, true).unwrap();
        println!("{check:?}: {farthest}, {:.4}", farthest.error());
        assert!(farthest.error() <= BOUND, "{check:?}: {farthest}");
        assert!(farthest.nics > 500, "a motif takes time: {farthest}");
    }
}
