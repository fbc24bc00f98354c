//! What a shell adds to the way of a frame.

use super::driver::{handler, opened, LIMIT};
use spindle::rule_table::Action;
use spindle::{ContextOptions, Device};
use spindle_contract::params::Config;
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::frames::{udp, Ends};
use spindle_sdk::Sources;
use spindle_shell_bench::shell::bench::{PERIODS, UNITS};
use spindle_shell_bench::shell::{Driver, Frame, Shell, ShellCard};
use spindle_shell_bench::{frame, RxBench};
use spindle_sim::{SimDevice, SimHandle, WireFrame};
use std::path::Path;

/// Nanoseconds of a cycle of the core.
const CYCLE: f64 = 4.0;

/// From the last beat that arrives to the first that leaves, at the ports of the NIC alone, ns; a cycle of its clock, ns.
pub fn alone(frame: &[u8], rounds: usize, cycle: f64) -> Vec<f64> {
    let source = spindle_sim::source(&Config::SIM).unwrap();
    let card = SimHandle::new(SimDevice::new(&source, &Config::SIM, spindle_sim::Options::default()).unwrap());
    let mut device = Device::open(card.clone(), card.clone()).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples/ping_pong.c");
    let image = spindle_sdk::load(&Sources::one(&path)).unwrap().image;
    let context = device.install(&image, &ContextOptions::default()).unwrap();
    device.add_rule(&"udp".parse().unwrap(), Action::Context(context)).unwrap();
    device.activate(context).unwrap();
    device.set_receive(true).unwrap();
    (0..rounds)
        .map(|_| {
            let mut sim = card.sim();
            sim.inject(WireFrame { bytes: frame.to_vec(), gap: 0, bad: false });
            assert!(sim.run_until(LIMIT, |sim| sim.sent_count() > 0));
            sim.run(500);
            let sent = sim.take_sent();
            (sent[0].first - sim.last_rx_beat()) as f64 * cycle
        })
        .collect()
}

/// The same at the pins of the MAC, ns.
pub fn with_the_shell<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>, frame: &[u8], rounds: usize) -> Vec<f64> {
    handler(driver, "ping_pong", "udp");
    driver.set_receive(true).unwrap();
    let mut bench = card.bench();
    (0..rounds)
        .map(|round| {
            bench.arrived().clear();
            bench.incoming().push_back(Frame::good(frame.to_vec()));
            assert!(bench.run_while(LIMIT, |bench| !bench.sent().is_empty()));
            // Another phase of the clocks each time.
            bench.run(500 + round as u64);
            let sent = std::mem::take(bench.sent());
            (sent[0].at - bench.arrived()[0].at) as f64 / UNITS as f64
        })
        .collect()
}

/// From the beat at the MAC to the same at the NIC, through the receive crossing alone, ns.
fn received(wave: &WaveContext, rounds: u32) -> Vec<f64> {
    let mut bench = RxBench::<9>::new(wave, [PERIODS[1], PERIODS[0]]);
    (0..rounds)
        .map(|round| {
            let frame = frame(&mut bench.rng, round, 60);
            bench.mac.frames.push_back(frame);
            let (mut came, mut went) = (None, None);
            while went.is_none() {
                let (now, shown) = (bench.clocks.now(), bench.shown.len());
                bench.step();
                came = came.or((bench.shown.len() > shown).then_some(now));
                went = bench.core.frames.pop_front().map(|_| now);
            }
            // Another phase of the clocks each time.
            for _ in 0..20 + round {
                bench.step();
            }
            (went.unwrap_or_default() - came.unwrap_or_default()) as f64 / UNITS as f64
        })
        .collect()
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// One beat: what the shell adds is the receive crossing and the transmit crossing. A longer frame waits in the transmit
/// crossing until it is whole.
#[test]
fn the_shell_adds_to_a_ping() {
    run_with_wave_on_failure("boards_shell_latency", |wave| {
        let receive = mean(&received(wave, 100));
        for (length, low, high) in [(64usize, 28.4, 42.6), (1518, 100.0, 180.0)] {
            let frame = udp(&Ends::default(), 7, 8, &vec![7; length - 4 - 42]);
            let (card, mut driver) = opened(&Config::SIM, 11);
            card.bench().cmac.pace = 100;
            let (nic, shell) = (alone(&frame, 40, CYCLE), with_the_shell(&card, &mut driver, &frame, 40));
            let added = mean(&shell) - mean(&nic);
            println!(
                "figure: boards.u50.ping_{length}: {:.1} ns at the MAC, {:.1} ns at the NIC, {added:.1} ns added: \
                 {receive:.1} ns receive, {:.1} ns transmit",
                mean(&shell),
                mean(&nic),
                added - receive
            );
            assert!((low..high).contains(&added), "{added} ns for {length} bytes: {shell:?} {nic:?}");
        }
    });
}
