//! A NIC, emitted, built, simulated and opened by the driver.

use anyhow::Result;
use spindle::Device;
use spindle_contract::params::Config;
use spindle_harness::Progress;
use spindle_sim::{Options, SimDevice, SimHandle};
use std::time::Instant;

/// A running NIC.
pub struct Session {
    /// Its configuration.
    pub config: Config,
    /// Wire, traces, host memory.
    pub card: SimHandle,
    /// The driver.
    pub device: Device<SimHandle, SimHandle>,
}

impl Session {
    /// Emits, builds, resets and opens a NIC, with a line on standard error for each step.
    pub fn open(config: Config, options: Options) -> Result<Session> {
        let step = |text: &str| eprintln!("spindle: {text}");
        step(&format!("emitting the NIC of configuration `{}`", config.name));
        let source = spindle_sim::source(&config)?;
        let start = Instant::now();
        // Before the card is made, so that the user sees the progress of a build.
        spindle_sim::model(&source.clone().with_trace(options.trace), &Progress::stderr("spindle"))?;
        let card = SimHandle::new(SimDevice::new(&source, &config, options)?);
        step(&format!("model ready after {:.1} s", start.elapsed().as_secs_f64()));
        let device = Device::open(card.clone(), card.clone())?;
        Ok(Session { config, card, device })
    }

    /// Nanoseconds of so many cycles at the configuration's clock.
    pub fn nanoseconds(&self, cycles: f64) -> f64 {
        cycles * 1000.0 / f64::from(self.config.clock_mhz)
    }
}
