//! Frames per second and nanoseconds at the rates of a CMAC and of an Alveo core.

use spindle_shell_bench::latency::{receive, transmit, Latency};
use spindle_shell_bench::{line_rate, Rates};

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.005
}

/// What the line offers is counted, and lost only where its beats are too many for the core.
#[test]
fn frames_pass_at_line_rate() {
    for length in [64, 68, 69, 80, 1518] {
        let rates = line_rate(length).unwrap_or_else(|error| panic!("{length} bytes: {error:#}"));
        let Rates { offered, accepted, cut, dropped } = rates;
        println!("{length} bytes: {rates:?}");
        assert!(near(offered, 100e9 / 8.0 / (length as f64 + 20.0)), "{length}: the line has other rates: {rates:?}");
        assert!(near(accepted + cut + dropped, offered), "{length}: {rates:?}");
        if length == 69 {
            // Two beats at 140.4 million frames per second; the core takes 250 million beats and never waits.
            assert!(near(2.0 * accepted + cut, 250e6), "{length}: {rates:?}");
        } else {
            assert!(near(accepted, offered) && cut + dropped == 0.0, "{length}: {rates:?}");
        }
    }
    assert!(line_rate(63).unwrap_err().to_string().contains("choose 64"));
}

/// One cycle and three to four of the other clock, by the phase of the two.
#[test]
fn latency_in_nanoseconds() {
    let (mac, core) = (1e3 / 322.265625, 4.0);
    let between = |latency: Latency, own: f64, other: f64| {
        println!("{latency:?}");
        let (least, most) = (own + 3.0 * other, own + 4.0 * other);
        assert!(latency.least > least - 0.01 && latency.least < least + 0.2, "{latency:?}, not {least}");
        assert!(latency.most < most + 0.01 && latency.most > most - 0.2, "{latency:?}, not {most}");
    };
    between(receive().expect("frames arrive"), mac, core);
    between(transmit(1518).expect("frames leave"), core, mac);
}
