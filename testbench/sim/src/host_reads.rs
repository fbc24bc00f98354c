//! The read channels of the host: answers in the order of the addresses, with random latency, and a monitor of the protocol.

use crate::host_memory::{SparseMemory, PAGE};
use anyhow::Result;
use spindle_contract::params::{BEAT_BYTES, MAX_BURST};
use spindle_harness::{Model, Port};
use std::collections::VecDeque;
use std::ops::Range;

/// A read burst as it was seen.
#[derive(Clone, Copy, Debug)]
pub struct ReadBurst {
    /// ARADDR.
    pub address: u64,
    /// Beats announced by ARLEN.
    pub beats: usize,
    /// Cycle in which ARVALID rose.
    pub offered_cycle: u64,
    /// Cycle of the address handshake.
    pub address_cycle: u64,
    /// Cycle of the handshake of the first beat.
    pub first_cycle: u64,
    /// Cycle of the handshake of the last beat.
    pub last_cycle: u64,
}

/// A beat on its way.
struct Offered {
    line: [u8; BEAT_BYTES],
    failed: bool,
}

/// What a read needs of the host in a cycle.
pub(crate) struct ReadPace {
    /// ARREADY.
    pub ready: bool,
    /// A beat may be offered.
    pub offers: bool,
    /// Cycles from an address to its first beat.
    pub latency: u64,
}

/// The host's side of the ports `<prefix>_ar*` and `<prefix>_r*`.
pub(crate) struct HostReads {
    arid: Port,
    araddr: Port,
    arlen: Port,
    arsize: Port,
    arburst: Port,
    arvalid: Port,
    arready: Port,
    rid: Port,
    rdata: Port,
    rresp: Port,
    rlast: Port,
    rvalid: Port,
    rready: Port,
    /// Bursts, with the cycle from which they may be answered and the beats delivered.
    open: VecDeque<(ReadBurst, u64, usize)>,
    offered: Option<Offered>,
    held: Option<(u64, u64)>,
    offered_since: u64,
}

impl HostReads {
    /// The read channels, if the model has them.
    pub fn new(model: &Model, prefix: &str) -> Result<Option<Self>> {
        if !model.has_port(&format!("{prefix}_arvalid")) {
            return Ok(None);
        }
        let port = |name: &str| model.port(&format!("{prefix}_{name}"));
        Ok(Some(Self {
            arid: port("arid")?,
            araddr: port("araddr")?,
            arlen: port("arlen")?,
            arsize: port("arsize")?,
            arburst: port("arburst")?,
            arvalid: port("arvalid")?,
            arready: port("arready")?,
            rid: port("rid")?,
            rdata: port("rdata")?,
            rresp: port("rresp")?,
            rlast: port("rlast")?,
            rvalid: port("rvalid")?,
            rready: port("rready")?,
            open: VecDeque::new(),
            offered: None,
            held: None,
            offered_since: 0,
        }))
    }

    /// No read is open.
    pub fn idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets all that is under way.
    pub fn forget(&mut self, model: &mut Model) {
        model.set(self.rvalid, 0);
        model.set(self.arready, 0);
        self.open.clear();
        (self.offered, self.held) = (None, None);
    }

    /// Bursts whose last beat has not been taken.
    pub fn in_flight(&self) -> usize {
        self.open.len()
    }

    /// Sets the model's inputs for this cycle. A beat is read from memory when it is first offered, and stays until it is
    /// taken.
    pub fn drive(&mut self, model: &mut Model, memory: &SparseMemory, failing: &[Range<u64>], pace: &ReadPace) {
        let now = model.cycle();
        model.set(self.arready, pace.ready.into());
        if let (None, true, Some((burst, due, beat))) = (&self.offered, pace.offers, self.open.front()) {
            if *due <= now {
                let address = line_of(burst.address).wrapping_add((beat * BEAT_BYTES) as u64);
                let mut line = [0; BEAT_BYTES];
                let touched = address..address.saturating_add(BEAT_BYTES as u64);
                // A burst that fails brings data all the same.
                let refused = memory.try_read(address, &mut line).is_err();
                let failed =
                    refused || failing.iter().any(|range| range.start < touched.end && touched.start < range.end);
                self.offered = Some(Offered { line, failed });
            }
        }
        model.set(self.rvalid, self.offered.is_some().into());
        if let (Some(offered), Some((burst, _, beat))) = (&self.offered, self.open.front()) {
            model.set_bytes(self.rdata, &offered.line);
            model.set(self.rid, 0);
            model.set(self.rresp, if offered.failed { 2 } else { 0 });
            model.set(self.rlast, (beat + 1 == burst.beats).into());
        }
    }

    /// Takes note of what was handed over in this cycle; returns a burst that is over. Breaches go to `violations`.
    pub fn sample(&mut self, model: &Model, pace: &ReadPace, violations: &mut Vec<String>) -> Option<ReadBurst> {
        let now = model.cycle();
        let mut ended = None;
        if self.offered.is_some() && model.is_set(self.rready) {
            self.offered = None;
            let (burst, _, beat) = self.open.front_mut().expect("a beat was offered");
            if *beat == 0 {
                burst.first_cycle = now;
            }
            *beat += 1;
            if *beat == burst.beats {
                burst.last_cycle = now;
                ended = self.open.pop_front().map(|entry| entry.0);
            }
        }
        self.sample_address(model, now, pace, violations);
        ended
    }

    fn sample_address(&mut self, model: &Model, now: u64, pace: &ReadPace, violations: &mut Vec<String>) {
        let valid = model.is_set(self.arvalid);
        let (address, beats) = (model.get(self.araddr), model.get(self.arlen) + 1);
        if let Some(held) = self.held {
            if !valid {
                violations.push(format!("ARVALID fell before ARREADY at {:#x}", held.0));
            } else if held != (address, beats) {
                violations.push(format!("the read address changed from {:#x} to {address:#x} before ARREADY", held.0));
            }
        } else if valid {
            self.offered_since = now;
        }
        let taken = valid && pace.ready;
        self.held = (valid && !taken).then_some((address, beats));
        if !taken {
            return;
        }
        let bytes = beats * BEAT_BYTES as u64;
        if (model.get(self.arid), model.get(self.arsize), model.get(self.arburst)) != (0, 6, 1) {
            violations.push(format!("read at {address:#x}: id 0, full beats (6) and INCR (1) are wanted"));
        }
        let first = line_of(address);
        if bytes > MAX_BURST as u64 {
            violations.push(format!("read at {address:#x} is {bytes} bytes long"));
        }
        if first / PAGE != first.wrapping_add(bytes - 1) / PAGE {
            violations.push(format!("read at {address:#x} of {bytes} bytes crosses 4 KiB"));
        }
        let burst = ReadBurst {
            address,
            beats: beats as usize,
            offered_cycle: self.offered_since,
            address_cycle: now,
            first_cycle: 0,
            last_cycle: 0,
        };
        self.open.push_back((burst, now + pace.latency, 0));
    }
}

fn line_of(address: u64) -> u64 {
    address & !(BEAT_BYTES as u64 - 1)
}
