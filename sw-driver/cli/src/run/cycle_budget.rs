//! Cycles that a packet may take at the offered load, and those that its handlers take: Little's law.

use super::load::Load;
use serde::Serialize;

/// Cycles of handlers per packet.
///
/// By Little's law as many HPUs are busy on average as packets come in a cycle, times the cycles of a packet's handlers. Handlers keep
/// up if these are at most the HPUs that there are.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct CycleBudget {
    /// HPUs.
    pub hpus: usize,
    /// Cycles from a packet with a handler to the next one, at the offered load.
    pub interval: f64,
    /// Cycles of HPUs that there are for each packet: HPUs times interval.
    pub available: f64,
    /// Cycles of HPUs that the handlers of a packet took: of all handlers, over the packets that had one.
    pub needed: f64,
    /// HPUs that the offered load keeps busy on average: needed over interval.
    pub busy_hpus: f64,
}

impl CycleBudget {
    /// Of handlers that took `busy` cycles for so many packets of the `frames` that came. `None` without packets, or without a load.
    pub fn of(hpus: usize, offered: Option<Load>, busy: u64, packets: u32, frames: u32) -> Option<CycleBudget> {
        let offered = offered?;
        if packets == 0 {
            return None;
        }
        let interval = offered.cycles as f64 / offered.frames as f64 * f64::from(frames) / f64::from(packets);
        let needed = busy as f64 / f64::from(packets);
        Some(CycleBudget { hpus, interval, available: hpus as f64 * interval, needed, busy_hpus: needed / interval })
    }

    /// The sentence of the report.
    pub fn text(&self) -> String {
        let CycleBudget { hpus, interval, available, needed, busy_hpus } = self;
        let verdict = if needed > available { "; the handlers cannot keep up with this load" } else { "" };
        format!(
            "Cycles per packet: {available:.1} available ({hpus} HPUs, a packet every {interval:.1} cycles), {needed:.1} needed by its \
             handlers, which keep {busy_hpus:.2} HPUs busy (Little's law){verdict}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(frames: usize, cycles: u64) -> Option<Load> {
        Some(Load { frames, cycles, packets_per_second: 0.0, frame_gbit_s: None, wire_gbit_s: None })
    }

    /// A packet every 24 cycles, 16 HPUs: 384 cycles for each; handlers of 96 cycles keep four HPUs busy.
    #[test]
    fn four_of_sixteen_are_busy() {
        let budget = CycleBudget::of(16, load(100, 2400), 9600, 100, 100).unwrap();
        assert_eq!((budget.interval, budget.available, budget.needed, budget.busy_hpus), (24.0, 384.0, 96.0, 4.0));
        assert!(budget.text().ends_with("which keep 4.00 HPUs busy (Little's law)"), "{}", budget.text());
        let beyond = CycleBudget::of(16, load(100, 2400), 38_500, 100, 100).unwrap();
        assert!(beyond.text().ends_with("cannot keep up with this load"), "{}", beyond.text());
    }

    /// Every second frame has no handler: its cycles are there for the others.
    #[test]
    fn frames_without_a_handler_leave_their_cycles() {
        let budget = CycleBudget::of(16, load(200, 2400), 9600, 100, 200).unwrap();
        assert_eq!((budget.interval, budget.available, budget.needed, budget.busy_hpus), (24.0, 384.0, 96.0, 4.0));
    }

    #[test]
    fn without_packets_or_load_there_is_none() {
        assert_eq!(CycleBudget::of(16, load(100, 2400), 0, 0, 100), None);
        assert_eq!(CycleBudget::of(16, None, 9600, 100, 100), None);
    }
}
