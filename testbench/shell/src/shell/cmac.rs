//! Bus-functional model of `cmac_usplus`: its user side, by PG203, and checks of what it is given.
//!
//! Frames that arrive come at the pace of a line of 100 Gb/s and cannot wait. Frames that are sent are checked: no gap inside a
//! frame while the MAC is ready, at least 60 bytes, none while the transmitter is off.

use crate::pins;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_harness::Model;
use std::collections::VecDeque;

pins! { Pins "cmac0_"
    sys_reset core_rx_reset core_tx_reset usr_rx_reset usr_tx_reset
    rx_axis_tvalid rx_axis_tdata rx_axis_tkeep rx_axis_tlast rx_axis_tuser
    tx_axis_tvalid tx_axis_tready tx_axis_tdata tx_axis_tkeep tx_axis_tlast tx_axis_tuser tx_unfout
    ctl_tx_enable ctl_tx_send_rfi ctl_rx_enable
    stat_rx_aligned stat_rx_status stat_rx_remote_fault stat_rx_local_fault
}

/// Cycles for which a reset of the MAC lasts, and from its end to the alignment of the lanes.
const RESET: u64 = 40;
const ALIGNMENT: u64 = 200;
/// Of the line: preamble, check sequence and gap beside the bytes of a frame; the time of a byte and of a cycle, in a unit of
/// 1/3300 ns.
const OVERHEAD: u64 = 8 + 4 + 12;
const BYTE_TIME: u64 = 264;
const CYCLE_TIME: u64 = 10_240;

/// A frame, without check sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub bytes: Vec<u8>,
    /// Marked as bad.
    pub bad: bool,
    /// Time at which its last beat (of one that arrives) or its first (of one that leaves) moved.
    pub at: u64,
}

impl Frame {
    pub fn good(bytes: Vec<u8>) -> Self {
        Self { bytes, bad: false, at: 0 }
    }
}

/// The model. One call of [`drive`](Self::drive) and one of [`sample`](Self::sample) for each edge of the MAC's clock.
pub struct Cmac {
    pins: Pins,
    rng: ChaCha8Rng,
    /// Frames of the wire that have not come.
    pub incoming: VecDeque<Frame>,
    /// Frames that were sent, and are not taken.
    pub sent: Vec<Frame>,
    /// Frames that came, as they ended.
    pub arrived: Vec<Frame>,
    /// A cable from the transmitter to the receiver.
    pub looped: bool,
    /// A cable is in.
    pub cable: bool,
    /// A frame that is cut by the loss of alignment gets an end that is bad, as PG203 lets one expect; else none.
    pub ends_frames: bool,
    /// The other end reports a fault.
    pub remote_fault: bool,
    /// Percent of the cycles in which the transmitter takes a beat.
    pub pace: u32,
    /// Shows an underrun in the next cycle, as a test that breaks the MAC.
    pub fails: bool,
    aligned: bool,
    /// Cycles of reset left, of receiver and transmitter; cycles since the receiver could align.
    resets: [u64; 2],
    training: u64,
    /// Resets of the transmitter by the shell.
    pub restarts: u64,
    restarting: bool,
    position: usize,
    debt: u64,
    ready: bool,
    partial: Vec<u8>,
    waiting: Option<Vec<u8>>,
    first: u64,
    /// A frame has begun that has not ended.
    inside: bool,
}

impl Cmac {
    pub fn new(model: &Model, seed: u64) -> Self {
        Self {
            pins: Pins::of(model),
            rng: ChaCha8Rng::seed_from_u64(seed),
            incoming: VecDeque::new(),
            sent: vec![],
            arrived: vec![],
            looped: false,
            cable: true,
            ends_frames: true,
            remote_fault: false,
            pace: 90,
            fails: false,
            aligned: false,
            resets: [RESET; 2],
            training: 0,
            restarts: 0,
            restarting: false,
            position: 0,
            debt: 0,
            ready: false,
            partial: vec![],
            waiting: None,
            first: 0,
            inside: false,
        }
    }

    /// No frame is under way in either direction.
    pub fn is_idle(&self) -> bool {
        self.incoming.is_empty() && !self.inside
    }

    /// The lanes of the receiver are aligned.
    pub fn is_aligned(&self) -> bool {
        self.aligned
    }

    /// A frame is leaving.
    pub fn is_sending(&self) -> bool {
        self.inside
    }

    /// Inputs of the shell for the next edge.
    pub fn drive(&mut self, model: &mut Model, now: u64) {
        let pins = self.pins;
        for (i, port) in [pins.core_rx_reset, pins.core_tx_reset].into_iter().enumerate() {
            let held = model.is_set(pins.sys_reset) || model.is_set(port);
            self.resets[i] = if held { RESET } else { self.resets[i].saturating_sub(1) };
        }
        let [rx_reset, tx_reset] = self.resets.map(|left| left > 0);
        self.training = if rx_reset || !self.cable { 0 } else { self.training + 1 };
        self.aligned = self.training > ALIGNMENT && model.is_set(pins.ctl_rx_enable);
        model.set(pins.usr_rx_reset, rx_reset.into());
        model.set(pins.usr_tx_reset, tx_reset.into());
        model.set(pins.stat_rx_aligned, self.aligned.into());
        model.set(pins.stat_rx_status, self.aligned.into());
        model.set(pins.stat_rx_local_fault, (!self.aligned).into());
        model.set(pins.stat_rx_remote_fault, (self.remote_fault && self.aligned).into());
        model.set(pins.tx_unfout, std::mem::take(&mut self.fails).into());
        self.drive_rx(model, now);
        // A frame that has begun is taken to its end.
        let open = model.is_set(self.pins.ctl_tx_enable) || self.inside;
        self.ready = open && !tx_reset && self.rng.random_range(0..100) < self.pace;
        if tx_reset {
            self.partial.clear();
            (self.waiting, self.inside) = (None, false);
        }
        model.set(self.pins.tx_axis_tready, self.ready.into());
    }

    fn drive_rx(&mut self, model: &mut Model, now: u64) {
        let pins = self.pins;
        self.debt = self.debt.saturating_sub(CYCLE_TIME);
        if !self.aligned {
            let cut = std::mem::take(&mut self.position) > 0;
            model.set(pins.rx_axis_tlast, 1);
            model.set(pins.rx_axis_tuser, 1);
            model.set(pins.rx_axis_tvalid, (cut && self.ends_frames).into());
            if cut {
                self.incoming.pop_front();
            }
            return;
        }
        let Some(frame) = self.incoming.front().filter(|_| self.position > 0 || self.debt < CYCLE_TIME) else {
            model.set(pins.rx_axis_tvalid, 0);
            return;
        };
        let rest = &frame.bytes[self.position..];
        let count = rest.len().min(64);
        let last = rest.len() <= 64;
        // Bytes that do not count are what was there before.
        let mut data = [0xA5; 64];
        data[..count].copy_from_slice(&rest[..count]);
        model.set_bytes(pins.rx_axis_tdata, &data);
        model.set(pins.rx_axis_tkeep, if count == 64 { u64::MAX } else { (1 << count) - 1 });
        model.set(pins.rx_axis_tlast, last.into());
        model.set(pins.rx_axis_tuser, (last && frame.bad).into());
        model.set(pins.rx_axis_tvalid, 1);
        if self.position == 0 {
            self.debt += (frame.bytes.len() as u64 + OVERHEAD) * BYTE_TIME;
        }
        self.position += count;
        if last {
            let frame = self.incoming.pop_front().expect("there is one");
            self.arrived.push(Frame { at: now, ..frame });
            self.position = 0;
        }
    }

    /// What moves at the edge to come; the model has settled.
    pub fn sample(&mut self, model: &Model, now: u64) {
        let pins = self.pins;
        let restart = model.is_set(pins.core_tx_reset);
        self.restarts += u64::from(restart && !self.restarting);
        self.restarting = restart;
        if self.resets[1] > 0 {
            return;
        }
        let both = model.is_set(pins.ctl_tx_enable) && model.is_set(pins.ctl_tx_send_rfi);
        assert!(!both, "frames and a fault cannot be sent together");
        if !model.is_set(pins.tx_axis_tvalid) {
            assert!(self.waiting.is_none(), "tx_axis: an offer was withdrawn");
            assert!(!self.inside || !self.ready, "the transmitter starves inside a frame");
            return;
        }
        let (keep, last, user) =
            (model.get(pins.tx_axis_tkeep), model.is_set(pins.tx_axis_tlast), model.is_set(pins.tx_axis_tuser));
        let data = model.get_bytes(pins.tx_axis_tdata);
        let beat = [data, &keep.to_le_bytes(), &[last.into(), user.into()]].concat();
        assert!(self.waiting.as_ref().is_none_or(|held| *held == beat), "tx_axis: an offer changed");
        if !self.ready {
            self.waiting = Some(beat);
            return;
        }
        self.waiting = None;
        let count = keep.trailing_ones() as usize;
        assert!(count > 0 && (count == 64 || keep >> count == 0) && (last || count == 64), "keep {keep:#x}");
        if !self.inside {
            self.first = now;
        }
        self.inside = !last;
        self.partial.extend_from_slice(&data[..count]);
        if last {
            let bytes = std::mem::take(&mut self.partial);
            assert!(user || bytes.len() >= 60, "a frame of {} bytes; the MAC does not pad", bytes.len());
            let frame = Frame { bytes, bad: user, at: self.first };
            if self.looped {
                self.incoming.push_back(frame.clone());
            }
            self.sent.push(frame);
        }
    }
}
