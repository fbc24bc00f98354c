//! The calibrated model: its parameters are those of the NIC, and its times those of the NIC.

mod common;

use common::there;
use spindle_contract::params::Config;
use spindle_harness::long_tests_run;
use spindle_network::calibration::{compare_at_loss, lossy_motifs, measure, worst, Check};
use spindle_network::model::{parameters, Parameters};

/// The most by which the time of a motif may be off, as a share.
const BOUND: f64 = 0.05;
/// The same of one of several motifs while cables lose frames; their mean has the other bound. A timer that is looked at 4,096 cycles
/// later is a third of some of these times.
const LOSSY_BOUND: f64 = 0.15;

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
            Check::Halo | Check::Sweep | Check::Broadcast | Check::Allreduce | Check::AllToAll => &[4],
        };
        let (farthest, _) = worst(&source, &config, &parameters, check, nodes, true).unwrap();
        println!("{check:?}: {farthest}, {:.4}", farthest.error());
        assert!(farthest.error() <= BOUND, "{check:?}: {farthest}");
        assert!(farthest.nics > 500, "a motif takes time: {farthest}");
    }
}

#[test]
fn models_take_the_time_of_nics_while_frames_are_lost() {
    if !long_tests_run() || !there() {
        return;
    }
    let config = Config::SIM;
    let source = spindle_sim::source(&config).unwrap();
    let parameters = parameters(config.name).unwrap();
    for loss in [0.01, 0.001] {
        let mut errors = vec![];
        for motif in lossy_motifs(4, &config) {
            let compared = compare_at_loss(&source, &config, &parameters, &motif, loss, 6).unwrap();
            println!("loss {loss}: {compared}, {:.4}", compared.error());
            assert!(compared.error() <= LOSSY_BOUND, "loss {loss}: {compared}");
            errors.push(compared.error());
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean <= BOUND, "loss {loss}: {mean:.4} in the mean: {errors:?}");
    }
}
