//! Clearing of a crossing of frames between a MAC and the core, and what is counted over it.

use super::cross_count::CrossCount;
use super::heartbeat::Heartbeat;
use spindle_blocks::ClearPair;
use spindle_verilog::prelude::*;

/// Clears both sides of a crossing together ([`ClearPair`]) when either is reset or the MAC's clock stands still, and counts
/// `N` kinds of events of the MAC's side in the core.
///
/// | ports | domain |
/// |---|---|
/// | in `mac_quiet`, out `mac_stop`, `mac_clear`: a side of the pair; in `occurs` | `mac` |
/// | in `core_quiet`, out `core_stop`, `core_clear`: the other side; out `totals`, since `core_reset`; out `mac_lost` | `core` |
///
/// Stops and clears are those of [`ClearPair`], totals those of [`CrossCount`], `mac_lost` is that of [`Heartbeat`]. A reset of
/// the MAC whose clock runs is not taken for a clock that stands still, however long it is.
#[block(domains(mac, core))]
pub struct CrossClear<const N: usize> {
    /// Nothing is open at the MAC's side.
    pub mac_quiet: Signal<In, Bit>,
    /// Begin nothing at the MAC's side.
    pub mac_stop: Signal<Out, Bit>,
    /// Reset of what the MAC's side has of the crossing.
    pub mac_clear: Signal<Out, Bit>,
    /// Nothing is open at the core's side.
    pub core_quiet: Signal<In, Bit>,
    /// Begin nothing at the core's side.
    pub core_stop: Signal<Out, Bit>,
    /// Reset of what the core's side has of the crossing.
    pub core_clear: Signal<Out, Bit>,
    /// Events of the MAC's side, one in each cycle.
    pub occurs: [Signal<In, Bit>; N],
    /// How many there were.
    pub totals: [Signal<Out, Bits<32>>; N],
    /// The MAC's clock stands still.
    pub mac_lost: Signal<Out, Bit>,
    pair: ClearPair,
    heartbeat: Heartbeat,
    counts: [CrossCount; N],
}

#[hdl]
impl<const N: usize> CrossClear<N> {
    fn update(&mut self) {
        self.heartbeat.watched_clock.next = self.mac_clock.val();
        self.heartbeat.watched_reset.next = false;
        self.heartbeat.watcher_clock.next = self.core_clock.val();
        self.heartbeat.watcher_reset.next = self.core_reset.val();
        let lost = self.heartbeat.lost.val();
        self.mac_lost.next = lost;
        self.pair.left_clock.next = self.mac_clock.val();
        self.pair.left_reset.next = self.mac_reset.val();
        self.pair.left_quiet.next = self.mac_quiet.val();
        self.pair.right_clock.next = self.core_clock.val();
        self.pair.right_reset.next = self.core_reset.val() | lost;
        self.pair.right_quiet.next = self.core_quiet.val();
        self.mac_stop.next = self.pair.left_stop.val();
        self.mac_clear.next = self.pair.left_clear.val();
        self.core_stop.next = self.pair.right_stop.val();
        self.core_clear.next = self.pair.right_clear.val();
        for i in 0..N {
            self.counts[i].from_clock.next = self.mac_clock.val();
            self.counts[i].from_reset.next = self.pair.left_clear.val();
            self.counts[i].to_clock.next = self.core_clock.val();
            self.counts[i].to_reset.next = self.core_reset.val();
            self.counts[i].to_clear.next = self.pair.right_clear.val();
            self.counts[i].stop.next = self.pair.right_stop.val();
            self.counts[i].occurs.next = self.occurs[i].val();
            self.totals[i].next = self.counts[i].total.val();
        }
    }
}
