//! Offered and achieved load.

use super::rate::wire_bytes;
use crate::fates::{Disposition, FrameFate};
use crate::play::Played;
use crate::table::table;
use serde::Serialize;

/// A load in the units of the field, at the configuration's clock.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Load {
    /// Frames.
    pub frames: usize,
    /// Cycles over which they count.
    pub cycles: u64,
    /// Frames in a second.
    pub packets_per_second: f64,
    /// Bits of the frames in a second, in Gbit/s: from the destination address to the last byte before the FCS. `None` where the
    /// trace does not name the frames.
    pub frame_gbit_s: Option<f64>,
    /// The same as an Ethernet wire carries the frames: at least 60 bytes, and 24 bytes of overhead for each frame.
    pub wire_gbit_s: Option<f64>,
}

impl Load {
    /// Of so many frames of these lengths; `None` if there are no frames or no cycles.
    fn of(frames: usize, lengths: Option<&[usize]>, cycles: u64, clock_mhz: u32) -> Option<Load> {
        if frames == 0 || cycles == 0 {
            return None;
        }
        let per_second = f64::from(clock_mhz) * 1e6 / cycles as f64;
        let gbit_s = |bytes: u64| bytes as f64 * 8.0 * per_second / 1e9;
        let sum = |bytes: fn(usize) -> u64| lengths.map(|all| gbit_s(all.iter().map(|length| bytes(*length)).sum()));
        Some(Load {
            frames,
            cycles,
            packets_per_second: frames as f64 * per_second,
            frame_gbit_s: sum(|length| length as u64),
            wire_gbit_s: sum(wire_bytes),
        })
    }

    /// Frames at their first beats: all but the last count, up to the first beat of the last, so that evenly spaced frames give their rate.
    fn at(beats: &[(u64, usize)], clock_mhz: u32) -> Option<Load> {
        let ((last, _), before) = beats.split_last()?;
        let lengths: Vec<usize> = before.iter().map(|(_, length)| *length).collect();
        Load::of(before.len(), Some(&lengths), last - before.first()?.0, clock_mhz)
    }
}

/// Loads of a run. `None` where there are too few frames.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Loads {
    /// Frames that entered, from the first beat of the first to the first beat of the last.
    pub offered: Option<Load>,
    /// Frames that were handled or placed, from the first beat in to the end of the run.
    pub achieved: Option<Load>,
    /// Frames that left, from the first beat of the first to the first beat of the last.
    pub sent: Option<Load>,
}

impl Loads {
    /// The loads of a run whose frames had these fates.
    pub fn of(played: &Played, fates: &[FrameFate], clock_mhz: u32) -> Loads {
        let entered: Vec<_> = fates.iter().map(|fate| (fate.arrival, fate.bytes)).collect();
        let sent: Vec<_> = played.replies.iter().map(|reply| (reply.frame.first, reply.frame.bytes.len())).collect();
        let good = (played.stats.frames_handled + played.stats.frames_placed) as usize;
        let known = fates.iter().all(|fate| fate.disposition.is_some());
        let ended = |fate: &&FrameFate| matches!(fate.disposition, Some(Disposition::Handled | Disposition::Placed));
        let lengths: Vec<usize> = fates.iter().filter(|fate| !known || ended(fate)).map(|fate| fate.bytes).collect();
        let lengths = (lengths.len() == good).then_some(&lengths[..]);
        let achieved = Load::of(good, lengths, played.span.1 - played.span.0, clock_mhz);
        Loads { offered: Load::at(&entered, clock_mhz), achieved, sent: Load::at(&sent, clock_mhz) }
    }

    /// The table of the report; `None` if no load is known.
    pub fn text(&self) -> Option<String> {
        let rows: Vec<_> = [("offered", self.offered), ("achieved", self.achieved), ("sent", self.sent)]
            .into_iter()
            .filter_map(|(name, load)| {
                let load = load?;
                let gbit_s =
                    |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
                Some([
                    name.to_owned(),
                    format!("{:.0}", load.packets_per_second),
                    gbit_s(load.frame_gbit_s),
                    gbit_s(load.wire_gbit_s),
                ])
            })
            .collect();
        let header = ["load", "packets/s", "Gbit/s of frames", "Gbit/s on the wire"];
        (!rows.is_empty()).then(|| table(header, rows, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten frames of 100 bytes, every 20 cycles of 4 ns: 12.5 million packets, 10 Gbit/s, 12.4 Gbit/s with overhead.
    #[test]
    fn even_frames_give_their_rate() {
        let frames: Vec<_> = (0..11).map(|i| (1000 + 20 * i, 100)).collect();
        let load = Load::at(&frames, 250).unwrap();
        assert_eq!((load.frames, load.cycles), (10, 200));
        let near = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-6 * b;
        assert!(near(Some(load.packets_per_second), 12.5e6));
        assert!(near(load.frame_gbit_s, 10.0) && near(load.wire_gbit_s, 12.4));
        assert_eq!((Load::at(&frames[..1], 250), Load::at(&[], 250)), (None, None));
    }
}
