//! Congestion windows of the sender: how many segments may be in flight to a destination.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `settings` | registers |
//! | in `read`, `node` | sender: the destination that is read in this cycle |
//! | in `step` | sender: what happens to the destination at hand |
//! | out `room`, `gap`, `credit`, `waits`, `asks` | sender: what may be sent to it |
//!
//! One path per destination lies in a memory beside the sender's, with the same address. The path that was read is taken with
//! `step.loads` a cycle later, changed by further steps, and written with `step.saves`. No step takes more than its cycle.
//!
//! A segment is **in flight** from the time when it is sent until it is acknowledged, by number or by bitmap, or is known to be lost.
//! A lost one waits in its record until the window has room for it. So the sum of both is what has not been acknowledged.
//!
//! The window is counted in sixteenths of a segment. Three steps follow an acknowledgement: `judges`, when the marks are known that its
//! receiver has counted since the last one; `weighs`, after its records were inspected; `adapts`.
//!
//! * A mark takes 2^-`shrink` of a segment away. A window of which a share is marked in a round is smaller by `share` * 2^-`shrink`
//!   after that.
//! * A loss halves the window, once in a round. A timeout sets it to `least`.
//! * While the path is new, or three rounds in a row were without mark and loss, the window grows by what is acknowledged: it doubles in
//!   a round. A mark or a loss ends that.
//! * Then the window grows by a segment in a round.
//! * The window grows only if at least half of it is in flight when the acknowledgement comes.
//!
//! A round ends with the acknowledgement of all numbers that had been sent when it began. The window stays between `least` and `most`,
//! except that a new path begins with `first`.
//!
//! An acknowledgement that settles a segment is a `credit` for another one, even if the window is full: a lost one, else a new one. So
//! acknowledgements go on while a window shrinks, and show what was lost. The sender requests an acknowledgement of the first three
//! segments in flight, and of those from half of the window on: fewer might wait for one that is not due.
//!
//! While `settings.enable` is low everything has room; what is in flight is counted nevertheless.

use spindle_blocks::{RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// Fraction bits of a window.
pub const FRACTION: usize = 4;
/// Rounds without mark and loss after which a window doubles again.
pub const QUIET_ROUNDS: u64 = 3;
const LAST_QUIET: u64 = QUIET_ROUNDS - 1;
/// A segment, in units of a window.
const SEGMENT: u64 = 1 << FRACTION;

/// What the host chooses.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WindowSettings {
    /// Windows are obeyed.
    pub enable: Bit,
    /// A mark takes 2^-`shrink` of a segment from the window.
    pub shrink: Bits<2>,
    /// Smallest window, in segments, at least 1.
    pub least: Bits<10>,
    /// Window of a new path, in segments.
    pub first: Bits<10>,
    /// Largest window, in segments.
    pub most: Bits<10>,
}

/// The path to a destination.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// The window has begun.
    pub live: Bit,
    /// The window grows by a segment in a round, not by what is acknowledged.
    pub steady: Bit,
    /// The window was halved in this round.
    pub halved: Bit,
    /// There was a mark or a loss in this round.
    pub troubled: Bit,
    /// Rounds in a row without either.
    pub quiet: Bits<2>,
    /// A segment may be sent beyond the window.
    pub credit: Bit,
    /// Window, in sixteenths of a segment.
    pub window: Bits<14>,
    /// Marks that the receiver has counted, modulo 256.
    pub marks: Bits<8>,
    /// Low bits of the number that ends the round.
    pub round: Bits<12>,
    /// Segments in flight.
    pub flight: Bits<11>,
    /// Segments that are lost and wait.
    pub lost: Bits<11>,
}

/// What happens to the path at hand.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WindowStep {
    /// The path that was read becomes the one at hand.
    pub loads: Bit,
    /// A segment is sent for the first time.
    pub issues: Bit,
    /// An acknowledgement of the destination is judged.
    pub judges: Bit,
    /// With `judges`: `marks` is the receiver's count.
    pub counts: Bit,
    /// The count is taken without a comparison: the window of numbers was opened.
    pub learns: Bit,
    /// A segment is acknowledged.
    pub settles: Bit,
    /// A segment is found to be lost, which was not known.
    pub declares: Bit,
    /// A segment is sent again.
    pub resends: Bit,
    /// With `settles` and `resends`: the segment was known to be lost.
    pub of_lost: Bit,
    /// The acknowledgement's records were inspected.
    pub weighs: Bit,
    /// The cycle after that.
    pub adapts: Bit,
    /// A timeout is over.
    pub expires: Bit,
    /// The destination is given up.
    pub forgets: Bit,
    /// The path is written back.
    pub saves: Bit,
    /// The path of `address` is cleared after reset.
    pub clears: Bit,
    /// With `saves` and `clears`.
    pub address: Bits<8>,
    /// With `judges` and `learns`: marks that the receiver has counted.
    pub marks: Bits<8>,
    /// Low bits of the oldest number that has not been acknowledged.
    pub base: Bits<12>,
    /// Low bits of the next number.
    pub psn: Bits<12>,
}

/// See the head of this file.
#[block]
pub struct CongestionWindow {
    /// What the host chooses.
    pub settings: Signal<In, WindowSettings>,
    /// A path is read.
    pub read: Signal<In, Bit>,
    /// Of this destination.
    pub node: Signal<In, Bits<8>>,
    /// What happens to the path at hand.
    pub step: Signal<In, WindowStep>,
    /// The window has room for a segment.
    pub room: Signal<Out, Bit>,
    /// The window has room for a segment in place of one in flight that is lost.
    pub gap: Signal<Out, Bit>,
    /// A segment may be sent beyond the window.
    pub credit: Signal<Out, Bit>,
    /// Lost segments wait.
    pub waits: Signal<Out, Bit>,
    /// Fewer than four segments are in flight, or at least half of the window.
    pub asks: Signal<Out, Bit>,
    paths: SdpMemory<Path, 8>,
    path: Reg<Path>,
    // Of the acknowledgement at hand.
    /// At least half of the window was in flight when it came.
    limited: DFF<Bit>,
    /// Packets that were marked since the last one.
    marked: DFF<Bits<7>>,
    /// Segments that it settles.
    settled: DFF<Bits<11>>,
    /// It shows a loss.
    lost: DFF<Bit>,
    // The parts of the new window.
    start: DFF<Bits<14>>,
    gain: DFF<Bits<14>>,
    cut: DFF<Bits<11>>,
    halves: DFF<Bit>,
    round_over: DFF<Bit>,
}

impl CongestionWindow {
    /// Windows in a memory of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { paths: SdpMemory::new(style, 1), ..Self::blank() }
    }
}

#[hdl]
impl CongestionWindow {
    fn update(&mut self) {
        let step = self.step.val();
        let settings = self.settings.val();
        let path = self.path.q.val();
        let whole = bit_cast::<11, 10>(path.window.get_bits::<10>(FRACTION));
        let limited = bit_cast::<12, 11>(path.flight) + bit_cast::<12, 11>(path.flight) >= bit_cast::<12, 11>(whole);
        let room = path.flight < whole;
        self.room.next = !settings.enable | room;
        self.gap.next = !settings.enable | (path.flight <= whole);
        self.credit.next = path.credit;
        self.waits.next = path.lost.any();
        self.asks.next = settings.enable & (limited | !path.flight.get_bits::<9>(2).any());

        let mut next: Path = path;
        self.note(limited);
        // In flight, and lost.
        let joins = step.issues | (step.resends & step.of_lost);
        let leaves = (step.settles & !step.of_lost) | (step.declares & !step.resends);
        if joins {
            next.flight = path.flight + 1;
        } else if leaves & path.flight.any() {
            next.flight = path.flight - 1;
        }
        if step.declares & !step.resends {
            next.lost = path.lost + 1;
        } else if step.of_lost & (step.settles | step.resends) {
            next.lost = path.lost - 1;
        }
        if step.settles {
            next.credit = true;
        } else if (step.issues | step.resends) & !room {
            next.credit = false;
        }
        let fresh = step.marks - path.marks;
        if step.learns | (step.judges & step.counts & !fresh.get_bit(7)) {
            next.marks = step.marks;
        }
        self.weigh(path);
        let adapted = self.adapted(path);
        if step.adapts {
            next = adapted;
        }
        if step.expires {
            next.window = (settings.least, bits::<FRACTION>(0)).cat::<14>();
            next.steady = false;
            next.halved = true;
            next.troubled = true;
            next.quiet = bits::<2>(0);
            next.credit = false;
            next.round = step.psn;
        }
        if step.forgets {
            next = Path::default();
        }
        if step.loads {
            let kept = self.paths.read_data.val();
            let begun =
                Path { live: true, window: (settings.first, bits::<FRACTION>(0)).cat::<14>(), ..Default::default() };
            next = if kept.live { kept } else { begun };
        }
        self.path.d.next = next;

        self.paths.read(self.read.val(), self.node.val());
        self.paths.write_enable.next = step.saves | step.clears;
        self.paths.write_address.next = step.address;
        // The register still has its reset value while the paths are cleared.
        self.paths.write_data.next = path;
    }

    /// What an acknowledgement reports.
    fn note(&mut self, limited: Bit) {
        let step = self.step.val();
        let fresh = step.marks - self.path.q.val().marks;
        if step.judges {
            self.limited.d.next = limited;
            self.marked.d.next = fresh.get_bits::<7>(0) & repeat::<7>(step.counts & !fresh.get_bit(7));
            self.settled.d.next = bits::<11>(0);
            self.lost.d.next = false;
        } else {
            self.settled.load(step.settles, self.settled.q.val() + 1);
            self.lost.load(step.declares, true);
        }
    }

    /// The parts of the new window: where it starts, what is added, what the marks take.
    fn weigh(&mut self, path: Path) {
        let step = self.step.val();
        let marked = self.marked.q.val();
        let settled = self.settled.q.val();
        let round_over = !(step.base - path.round).get_bit(11);
        let halves = self.lost.q.val() & !path.halved;
        let grows = self.limited.q.val() & !halves;
        let acknowledged =
            (settled.get_bits::<10>(0) | repeat::<10>(settled.get_bit(10))) & repeat::<10>(!marked.any());
        if step.weighs {
            self.round_over.d.next = round_over;
            self.halves.d.next = halves;
            self.start.d.next = if halves { path.window >> 1 } else { path.window };
            self.gain.d.next = if path.steady {
                bits::<14>(SEGMENT) & repeat::<14>(grows & round_over)
            } else {
                (acknowledged & repeat::<10>(grows), bits::<FRACTION>(0)).cat::<14>()
            };
            self.cut.d.next = (marked, bits::<FRACTION>(0)).cat::<11>() >> self.settings.val().shrink;
        }
    }

    /// The path after an acknowledgement.
    fn adapted(&mut self, path: Path) -> Path {
        let step = self.step.val();
        let settings = self.settings.val();
        let trouble = self.marked.q.val().any() | self.lost.q.val();
        let round_over = self.round_over.q.val();
        let halves = self.halves.q.val();
        let grown = bit_cast::<15, 14>(self.start.q.val()) + bit_cast::<15, 14>(self.gain.q.val());
        let sum = bit_cast::<16, 15>(grown) - bit_cast::<16, 11>(self.cut.q.val());
        let least = (settings.least, bits::<FRACTION>(0)).cat::<14>();
        let most = (settings.most, bits::<FRACTION>(0)).cat::<14>();
        let below = sum.get_bit(15) | (sum < bit_cast::<16, 14>(least));
        let above = sum > bit_cast::<16, 14>(most);
        let ends = round_over | halves;
        let clean = round_over & !path.troubled & !trouble;
        let again = clean & (path.quiet == LAST_QUIET);
        let mut next: Path = path;
        next.window = if below {
            least
        } else if above {
            most
        } else {
            sum.get_bits::<14>(0)
        };
        next.steady = (path.steady | trouble) & !again;
        next.halved = halves | (path.halved & !round_over);
        // A loss troubles the round that begins with it, too.
        next.troubled = if ends { halves } else { path.troubled | trouble };
        if clean {
            next.quiet = if again { bits::<2>(0) } else { path.quiet + 1 };
        } else if ends | trouble {
            next.quiet = bits::<2>(0);
        }
        if ends {
            next.round = step.psn;
        }
        next
    }
}
