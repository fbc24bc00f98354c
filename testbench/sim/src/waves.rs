//! Waves of a card: its interfaces by default, in groups, in the time of its clock.

use spindle_contract::params::Config;
use spindle_harness::{WaveGroup, WaveOptions, WaveScope};
use std::ops::Range;

/// What a wave of a card holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveRequest {
    /// The signals: [`WaveScope::Groups`] stands for the interfaces.
    pub scope: WaveScope,
    /// The cycles, counted from reset.
    pub window: Range<u64>,
}

impl Default for WaveRequest {
    /// The interfaces, from now on.
    fn default() -> Self {
        Self { scope: WaveScope::Groups, window: 0..u64::MAX }
    }
}

/// The interfaces of the NIC, in packet order: title and paths. A signal stands in the first group that names it. The packet
/// engine's `task_desc` is left out: it holds the time and so changes in every cycle; a cluster's holds what was dispatched.
#[rustfmt::skip]
pub const GROUPS: &[(&str, &[&str])] = &[
    ("clock", &["nic.clock", "nic.reset"]),
    ("wire in", &["nic.rx_*"]),
    ("trace points", &["nic.trace_valid"]),
    ("tasks", &[
        "nic.packet_engine_task_valid",
        "nic.packet_engine_task_done_ready",
        "nic.hpu_array_task_*",
        "nic.hpu_array_task_room",
        "nic.hpu_array_context_status",
    ]),
    ("packet load", &["nic.hpu_array_load_*", "nic.packet_engine_load_*"]),
    ("handler starts and ends", &[
        "nic.hpu_array.clusters[*].unit.task_desc",
        "nic.hpu_array.clusters[*].unit.task_valid",
        "nic.hpu_array.clusters[*].unit.task_ready",
        "nic.hpu_array.clusters[*].unit.events_loaded*",
        "nic.hpu_array.clusters[*].unit.events_begun",
        "nic.hpu_array.clusters[*].unit.events_frames_begun",
        "nic.hpu_array.clusters[*].unit.events_ended",
        "nic.hpu_array.clusters[*].unit.events_frames_ended",
        "nic.hpu_array.clusters[*].unit.done*",
        "nic.hpu_array.clusters[*].unit.fault*", "nic.hpu_array_fault_pending",
    ]),
    ("handler sends", &["nic.hpu_array_egress_*", "nic.packet_engine_egress_ready"]),
    ("handler DMA", &["nic.hpu_array_dma*", "nic.rvma_engine_dma_*", "nic.hpu_array_host_*", "nic.rvma_engine_host_*"]),
    ("puts", &[
        "nic.hpu_array_put*",
        "nic.hpu_array_segment_*",
        "nic.packet_engine_put_*",
        "nic.packet_engine_host_put_*",
        "nic.packet_engine_segment*",
        "nic.rvma_engine_put_*",
        "nic.rvma_engine_array_put_*",
    ]),
    ("placements", &[
        "nic.packet_engine_place*",
        "nic.hpu_array_place*",
        "nic.rvma_engine_place*",
        "nic.rvma_engine_placement_outcome*",
        "nic.rvma_engine_atomic_*",
    ]),
    ("message events", &[
        "nic.packet_engine_message_event*",
        "nic.hpu_array_array_event*",
        "nic.rvma_engine_message_event_*",
        "nic.rvma_engine_array_event_*",
    ]),
    ("host memory", &["nic.host_*", "nic.irq_*"]),
    ("registers", &["nic.bar_*"]),
    ("wire out", &["nic.tx_*"]),
];

impl WaveRequest {
    /// The harness's options for a card of `config` whose reset ended in cycle `origin` of its model.
    pub(crate) fn options(&self, config: &Config, origin: u64) -> WaveOptions {
        let groups = GROUPS.iter().map(|(name, paths)| WaveGroup {
            name: name.to_string(),
            paths: paths.iter().map(|path| path.to_string()).collect(),
        });
        let model_cycle = |cycle: u64| cycle.saturating_add(origin);
        WaveOptions {
            period_ps: period_ps(config),
            origin,
            window: model_cycle(self.window.start)..model_cycle(self.window.end),
            scope: self.scope.clone(),
            groups: groups.collect(),
        }
    }
}

/// Picoseconds of a cycle, to the nearest even number: a wave has the clock's edges in the middle of cycles.
fn period_ps(config: &Config) -> u64 {
    let mhz = u64::from(config.clock_mhz);
    (500_000 + mhz / 2) / mhz * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_that_of_the_configurations_clock() {
        let of = |clock_mhz| period_ps(&Config { clock_mhz, ..Config::SIM });
        assert_eq!([of(250), of(125), of(322), of(500)], [4000, 8000, 3106, 2000]);
    }

    #[test]
    fn cycles_since_reset_become_cycles_of_the_model() {
        let request = WaveRequest { window: 10..20, ..WaveRequest::default() };
        let options = request.options(&Config::SIM, 4);
        assert_eq!((options.origin, options.window, options.period_ps), (4, 14..24, 4000));
        assert_eq!(WaveRequest::default().options(&Config::SIM, 4).window, 4..u64::MAX);
    }
}
