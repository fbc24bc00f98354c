//! The retirement ports (RVFI) of a NIC that was built with them: which instruction retired where, with what it did.

use crate::hart::Retired;
use anyhow::Result;
use spindle_harness::{Model, Port};

/// The ports of all HPUs.
pub(crate) struct RetirementPorts {
    ports: Vec<Port>,
}

impl RetirementPorts {
    /// Looks them up.
    ///
    /// # Errors
    /// The design was emitted without them.
    pub fn new(model: &Model, hpus: usize) -> Result<Self> {
        Ok(Self { ports: (0..hpus).map(|i| model.port(&format!("rvfi_{i}"))).collect::<Result<Vec<_>>>()? })
    }

    /// Hands over what retires in this cycle.
    pub fn sample(&self, model: &Model, cycle: u64, sink: &mut dyn FnMut(&Retired)) {
        for (unit, port) in self.ports.iter().enumerate() {
            if let Some(retired) = Retired::from_port(model.get_bytes(*port), cycle, unit) {
                sink(&retired);
            }
        }
    }
}
