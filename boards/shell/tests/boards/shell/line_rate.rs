//! What a U280 does with frames at the rate of its line: the whole shell with the NIC, at the pins of the CMAC.

use spindle_contract::params::Config;
use spindle_harness::long_tests_run;
use spindle_shell_bench::shell::line_rate::{card_rates, CardRates, Treatment};

fn rates(length: usize, treatment: Treatment) -> CardRates {
    let rates = card_rates("u280", &Config::SIM, length, treatment);
    let rates = rates.unwrap_or_else(|error| panic!("{length} bytes, {treatment:?}: {error:#}"));
    println!("{length} bytes, {treatment:?}: {rates:?}");
    assert!(near(rates.offered, 12.5e9 / (length as f64 + 20.0)), "the line has another rate");
    assert!(near(rates.counted, rates.offered), "frames are missing in the counters");
    rates
}

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.01
}

/// Each frame of the line has a verdict of its rule.
#[test]
fn the_card_judges_frames_at_line_rate() {
    if !long_tests_run() {
        return;
    }
    for length in [64, 1518] {
        let rates = rates(length, Treatment::Judged);
        assert!(near(rates.accepted, rates.offered) && rates.dropped == 0.0, "{length} bytes: {rates:?}");
    }
    let refused = card_rates("u280", &Config::SIM, 63, Treatment::Judged).unwrap_err().to_string();
    assert!(refused.contains("choose 64"), "{refused}");
}

/// With a handler for each frame, long frames are answered at the rate of the line; of short ones as many as the processors
/// take, and the others find no room and are counted.
#[test]
fn the_card_answers_what_its_processors_take() {
    if !long_tests_run() {
        return;
    }
    let long = rates(1518, Treatment::Answered);
    assert!(near(long.accepted, long.offered) && long.dropped == 0.0, "{long:?}");
    let short = rates(64, Treatment::Answered);
    assert!(short.accepted > 1e6 && short.dropped > 1e6, "{short:?}");
    assert!(near(short.accepted + short.dropped, short.offered), "{short:?}");
}
