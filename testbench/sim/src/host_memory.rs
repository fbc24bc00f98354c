//! Host memory at an AXI4 port: sparse memory, a slave with random timing, and a monitor of the protocol.
//!
//! A cycle is: [`HostMemory::drive`] (inputs of the model), `Model::eval`, [`HostMemory::sample`] (what was handed over in
//! this cycle), `Model::tick`. Writes reach the memory only when their response is handed over, which is as late as AXI4
//! allows: whoever looks at the memory after a completion record has arrived must find the data there. With
//! [`HostMemory::posted`] they reach it in the order in which they were taken.
//!
//! The monitor collects sentences in [`HostMemory::violations`]: a payload that changes or a `valid` that falls before
//! `ready`, a burst that is longer than 256 bytes, crosses 4 KiB or is not INCR of full beats, a misplaced `wlast`.

use crate::host_reads::{HostReads, ReadBurst, ReadPace};
use anyhow::Result;
use spindle_contract::params::{BEAT_BYTES, MAX_BURST};
use spindle_harness::{Model, Port};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

pub(crate) const PAGE: u64 = 4096;

/// A card may not reach these bytes: its access is answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;

/// Result of an access of a card to memory.
pub type Reached = std::result::Result<(), Unreachable>;

/// Bytes that lie elsewhere than in a [`SparseMemory`], at addresses of their own: memory of a program.
pub trait Backing: std::fmt::Debug + Send + Sync {
    /// Reads bytes of the range that the backing was mapped for.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Reached;
    /// Writes them, in ascending order.
    fn write(&self, address: u64, bytes: &[u8]) -> Reached;
}

/// Memory of 2^64 bytes, zero until written.
#[derive(Clone, Debug, Default)]
pub struct SparseMemory {
    pages: HashMap<u64, Box<[u8]>>,
    mapped: Vec<(Range<u64>, Arc<dyn Backing>)>,
    /// There is nothing but what is mapped.
    only_mapped: bool,
}

impl SparseMemory {
    /// No memory but what is mapped: other addresses cannot be reached.
    pub fn only_mapped() -> Self {
        SparseMemory { only_mapped: true, ..SparseMemory::default() }
    }

    /// Copies memory from `address` on into `out`; bytes that cannot be reached are zero.
    pub fn read(&self, address: u64, out: &mut [u8]) {
        if self.try_read(address, out).is_err() {
            out.fill(0);
        }
    }

    /// Copies memory from `address` on into `out`, as a card does.
    ///
    /// # Errors
    /// Some of the bytes cannot be reached.
    pub fn try_read(&self, address: u64, out: &mut [u8]) -> Reached {
        let (mut at, mut rest) = (address, out);
        while !rest.is_empty() {
            let (length, backing) = self.part(at, rest.len());
            let (part, after) = rest.split_at_mut(length);
            match (backing, self.pages.get(&(at / PAGE))) {
                (Some(backing), _) => backing.read(at, part)?,
                (None, _) if self.only_mapped => return Err(Unreachable),
                (None, Some(page)) => part.copy_from_slice(&page[(at % PAGE) as usize..][..length]),
                (None, None) => part.fill(0),
            }
            at = at.wrapping_add(length as u64);
            rest = after;
        }
        Ok(())
    }

    /// The bytes from `address` on that lie in one place, `length` at most, and that place if it is no page of this memory.
    fn part(&self, address: u64, length: usize) -> (usize, Option<&dyn Backing>) {
        if let Some((range, backing)) = self.mapped.iter().find(|(range, _)| range.contains(&address)) {
            return (length.min((range.end - address) as usize), Some(backing.as_ref()));
        }
        let in_page = PAGE - address % PAGE;
        let starts = self.mapped.iter().map(|(range, _)| range.start);
        let to_mapped = starts.filter(|start| *start > address).map(|start| start - address).min();
        (length.min(in_page.min(to_mapped.unwrap_or(in_page)) as usize), None)
    }

    /// `length` bytes from `address` on.
    pub fn bytes(&self, address: u64, length: usize) -> Vec<u8> {
        let mut out = vec![0; length];
        self.read(address, &mut out);
        out
    }

    /// Writes `data` from `address` on; bytes that cannot be reached are left out.
    pub fn write(&mut self, address: u64, data: &[u8]) {
        let _ = self.try_write(address, data);
    }

    /// Writes `data` from `address` on, in ascending order, as a card does.
    ///
    /// # Errors
    /// Some of the bytes cannot be reached; those before them are written.
    pub fn try_write(&mut self, address: u64, data: &[u8]) -> Reached {
        let (mut at, mut rest) = (address, data);
        while !rest.is_empty() {
            let (length, backing) = self.part(at, rest.len());
            let (part, after) = rest.split_at(length);
            match backing {
                Some(backing) => backing.write(at, part)?,
                None if self.only_mapped => return Err(Unreachable),
                None => self.page(at)[(at % PAGE) as usize..][..length].copy_from_slice(part),
            }
            at = at.wrapping_add(length as u64);
            rest = after;
        }
        Ok(())
    }

    /// The page of this memory that holds an address.
    fn page(&mut self, address: u64) -> &mut [u8] {
        self.pages.entry(address / PAGE).or_insert_with(|| vec![0; PAGE as usize].into_boxed_slice())
    }

    /// Writes bytes, each to its address: those that follow each other at once.
    fn write_bytes(&mut self, bytes: &[(u64, u8)]) -> Reached {
        let mut run = Vec::with_capacity(bytes.len());
        for part in bytes.chunk_by(|a, b| a.0.wrapping_add(1) == b.0) {
            run.clear();
            run.extend(part.iter().map(|(_, byte)| *byte));
            self.try_write(part[0].0, &run)?;
        }
        Ok(())
    }

    /// Whether these bytes, each at its address, can be reached.
    fn reaches(&self, bytes: &[(u64, u8)]) -> bool {
        !self.only_mapped || bytes.iter().all(|(address, _)| self.part(*address, 1).1.is_some())
    }

    /// Lets a range of addresses stand for bytes that lie elsewhere.
    pub fn map(&mut self, range: Range<u64>, backing: Arc<dyn Backing>) {
        self.mapped.push((range, backing));
    }

    /// Undoes one [`SparseMemory::map`] of this range; whether there was one.
    pub fn unmap(&mut self, range: &Range<u64>) -> bool {
        let found = self.mapped.iter().rposition(|(mapped, _)| mapped == range);
        found.map(|place| self.mapped.remove(place)).is_some()
    }

    /// Every byte that is not zero, in the order of addresses.
    pub fn nonzero(&self) -> Vec<(u64, u8)> {
        let mut all: Vec<(u64, u8)> = self
            .pages
            .iter()
            .flat_map(|(page, bytes)| bytes.iter().enumerate().map(move |(i, byte)| (page * PAGE + i as u64, *byte)))
            .filter(|(_, byte)| *byte != 0)
            .collect();
        all.sort_unstable();
        all
    }
}

/// How fast the host is. Stalls are in percent of the cycles, latencies in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cycles in which AWREADY is low.
    pub aw_stall: u32,
    /// Cycles in which WREADY is low.
    pub w_stall: u32,
    /// Shortest time from the last beat of a burst to its response.
    pub response_min: u64,
    /// Longest time.
    pub response_max: u64,
    /// Cycles in which ARREADY or RVALID is held back.
    pub read_stall: u32,
}

/// A write burst as it was seen.
#[derive(Clone, Debug)]
pub struct WriteBurst {
    /// AWADDR.
    pub address: u64,
    /// AWID.
    pub id: u8,
    /// Beats announced by AWLEN.
    pub beats: usize,
    /// Cycle of the address handshake.
    pub address_cycle: u64,
    /// Cycle in which AWVALID rose.
    pub offered_cycle: u64,
    /// Cycle of the handshake of the last beat.
    pub data_cycle: u64,
    /// Cycle of the response handshake.
    pub response_cycle: u64,
    /// Bytes written: address and value.
    pub bytes: Vec<(u64, u8)>,
    /// Answered with SLVERR; nothing was written.
    pub failed: bool,
}

#[derive(Clone, Debug, Default)]
struct DataBurst {
    beats: Vec<([u8; BEAT_BYTES], u64)>,
    cycle: u64,
}

#[derive(Debug)]
struct Pending {
    due: u64,
    burst: WriteBurst,
}

struct WritePorts {
    awid: Port,
    awaddr: Port,
    awlen: Port,
    awsize: Port,
    awburst: Port,
    awvalid: Port,
    awready: Port,
    wdata: Port,
    wstrb: Port,
    wlast: Port,
    wvalid: Port,
    wready: Port,
    bid: Port,
    bresp: Port,
    bvalid: Port,
    bready: Port,
}

/// The host's side of the ports `<prefix>_aw*`, `_w*`, `_b*` and, if the model has them, `_ar*` and `_r*`.
pub struct HostMemory {
    /// What the host sees.
    pub memory: SparseMemory,
    /// Speed; may be changed at any time.
    pub timing: Timing,
    /// Most bursts whose responses have not been taken; at that number AWREADY and WREADY stay low. AXI4 allows such a host.
    pub most_open: usize,
    /// Most read bursts that have not ended; at that number ARREADY stays low.
    pub most_reads_open: usize,
    /// Writes can be seen in the order in which they were taken, and only their responses are late: PCIe's posted writes.
    pub posted: bool,
    /// Writes and reads that touch one of these ranges are answered with SLVERR.
    pub failing: Vec<Range<u64>>,
    /// Breaches of the protocol.
    pub violations: Vec<String>,
    /// Keep every burst in [`HostMemory::log`].
    pub keep_log: bool,
    /// Bursts in the order of their responses.
    pub log: Vec<WriteBurst>,
    /// Read bursts in the order of their ends, if the log is kept.
    pub read_log: Vec<ReadBurst>,
    /// Most read bursts that were in flight at once.
    pub most_reads_in_flight: usize,
    /// Most bursts that were in flight at once.
    pub most_in_flight: usize,
    write: WritePorts,
    read: Option<HostReads>,
    read_pace: ReadPace,
    random: u64,
    addresses: VecDeque<WriteBurst>,
    open_data: DataBurst,
    data: VecDeque<DataBurst>,
    pending: Vec<Pending>,
    offered: Option<usize>,
    held_address: Option<(u64, u64, u64)>,
    held_beat: Option<(Vec<u8>, u64, u64)>,
    offered_since: u64,
}

impl HostMemory {
    /// The host after the ports that start with `prefix`. It answers after `latency.0` to `latency.1` cycles, never stalls
    /// (see [`HostMemory::timing`]), and repeats itself for the same seed.
    pub fn new(model: &Model, prefix: &str, seed: u64, latency: (u64, u64)) -> Result<Self> {
        let port = |name: &str| model.port(&format!("{prefix}_{name}"));
        let write = WritePorts {
            awid: port("awid")?,
            awaddr: port("awaddr")?,
            awlen: port("awlen")?,
            awsize: port("awsize")?,
            awburst: port("awburst")?,
            awvalid: port("awvalid")?,
            awready: port("awready")?,
            wdata: port("wdata")?,
            wstrb: port("wstrb")?,
            wlast: port("wlast")?,
            wvalid: port("wvalid")?,
            wready: port("wready")?,
            bid: port("bid")?,
            bresp: port("bresp")?,
            bvalid: port("bvalid")?,
            bready: port("bready")?,
        };
        Ok(Self {
            memory: SparseMemory::default(),
            timing: Timing { aw_stall: 0, w_stall: 0, response_min: latency.0, response_max: latency.1, read_stall: 0 },
            most_open: usize::MAX,
            most_reads_open: usize::MAX,
            posted: false,
            failing: vec![],
            violations: vec![],
            keep_log: false,
            log: vec![],
            read_log: vec![],
            most_reads_in_flight: 0,
            most_in_flight: 0,
            write,
            read: HostReads::new(model, prefix)?,
            read_pace: ReadPace { ready: false, offers: false, latency: 1 },
            // Any state but zero will do; neighbouring seeds must differ in many bits.
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            addresses: VecDeque::new(),
            open_data: DataBurst::default(),
            data: VecDeque::new(),
            pending: vec![],
            offered: None,
            held_address: None,
            held_beat: None,
            offered_since: 0,
        })
    }

    /// Copies memory from `address` on into `out`, as the host sees it now.
    pub fn read(&self, address: u64, out: &mut [u8]) {
        self.memory.read(address, out);
    }

    /// Writes `data` from `address` on, as the host itself would.
    pub fn write(&mut self, address: u64, data: &[u8]) {
        self.memory.write(address, data);
    }

    /// Nothing is under way: no address without data, no data without address, no response owed, no read open.
    pub fn idle(&self) -> bool {
        self.addresses.is_empty()
            && self.data.is_empty()
            && self.open_data.beats.is_empty()
            && self.pending.is_empty()
            && self.read.as_ref().is_none_or(HostReads::idle)
    }

    /// Forgets all that is under way, as the card does that is reset in this cycle.
    pub(crate) fn forget(&mut self, model: &mut Model) {
        for valid in [self.write.bvalid, self.write.awready, self.write.wready] {
            model.set(valid, 0);
        }
        self.addresses.clear();
        self.open_data = DataBurst::default();
        self.data.clear();
        self.pending.clear();
        (self.offered, self.held_address, self.held_beat) = (None, None, None);
        if let Some(read) = &mut self.read {
            read.forget(model);
        }
    }

    /// Sets the model's inputs for this cycle.
    pub fn drive(&mut self, model: &mut Model) {
        let addresses_open = self.pending.len() + self.addresses.len() < self.most_open;
        let data_open = self.pending.len() + self.data.len() < self.most_open;
        let aw_ready = !self.chance(self.timing.aw_stall) && addresses_open;
        let w_ready = !self.chance(self.timing.w_stall) && data_open;
        model.set(self.write.awready, aw_ready.into());
        model.set(self.write.wready, w_ready.into());

        // A response stays until it is taken. Responses of one id come in order, those of different ids as they are due.
        let now = model.cycle();
        if self.offered.is_none() {
            let first_of_id = |i: usize| !self.pending[..i].iter().any(|p| p.burst.id == self.pending[i].burst.id);
            self.offered = (0..self.pending.len()).find(|i| self.pending[*i].due <= now && first_of_id(*i));
        }
        model.set(self.write.bvalid, self.offered.is_some().into());
        if let Some(i) = self.offered {
            model.set(self.write.bid, self.pending[i].burst.id.into());
            model.set(self.write.bresp, if self.pending[i].burst.failed { 2 } else { 0 });
        }
        if let Some(in_flight) = self.read.as_ref().map(HostReads::in_flight) {
            let span = self.timing.response_max.saturating_sub(self.timing.response_min) + 1;
            self.read_pace = ReadPace {
                ready: !self.chance(self.timing.read_stall) && in_flight < self.most_reads_open,
                offers: !self.chance(self.timing.read_stall),
                latency: self.timing.response_min.max(1) + self.next_random() % span,
            };
        }
        if let Some(read) = &mut self.read {
            read.drive(model, &self.memory, &self.failing, &self.read_pace);
        }
    }

    /// Takes note of what was handed over in this cycle; after `eval`, before `tick`.
    pub fn sample(&mut self, model: &Model) {
        self.sample_address(model);
        self.sample_data(model);
        self.pair();
        let now = model.cycle();
        if let (Some(i), true) = (self.offered, model.is_set(self.write.bready)) {
            let mut burst = self.pending.remove(i).burst;
            burst.response_cycle = now;
            if !burst.failed && !self.posted {
                // That the bytes can be reached was found before the response was offered.
                let _ = self.memory.write_bytes(&burst.bytes);
            }
            if self.keep_log {
                self.log.push(burst);
            }
            self.offered = None;
        }
        if let Some(read) = &mut self.read {
            let ended = read.sample(model, &self.read_pace, &mut self.violations);
            self.most_reads_in_flight = self.most_reads_in_flight.max(read.in_flight());
            if let (Some(burst), true) = (ended, self.keep_log) {
                self.read_log.push(burst);
            }
        }
        self.most_in_flight = self.most_in_flight.max(self.pending.len() + self.addresses.len());
    }

    fn sample_address(&mut self, model: &Model) {
        let ports = &self.write;
        let valid = model.is_set(ports.awvalid);
        let (address, beats) = (model.get(ports.awaddr), model.get(ports.awlen) + 1);
        let shown = (address, beats, model.get(ports.awid));
        if let Some(held) = self.held_address {
            if !valid {
                self.violations.push(format!("AWVALID fell before AWREADY at {:#x}", held.0));
            } else if held != shown {
                self.violations
                    .push(format!("the write address changed from {:#x} to {address:#x} before AWREADY", held.0));
            }
        } else if valid {
            self.offered_since = model.cycle();
        }
        let taken = valid && model.is_set(ports.awready);
        self.held_address = (valid && !taken).then_some(shown);
        if !taken {
            return;
        }
        let bytes = beats * BEAT_BYTES as u64;
        let (size, burst) = (model.get(ports.awsize), model.get(ports.awburst));
        if size != 6 || burst != 1 {
            self.violations.push(format!(
                "burst at {address:#x} has size {size} and type {burst}; full beats (6) and INCR (1) are wanted"
            ));
        }
        let first_line = address & !(BEAT_BYTES as u64 - 1);
        if bytes > MAX_BURST as u64 {
            self.violations.push(format!("burst at {address:#x} is {bytes} bytes long"));
        }
        if first_line / PAGE != first_line.wrapping_add(bytes - 1) / PAGE {
            self.violations.push(format!("burst at {address:#x} of {bytes} bytes crosses 4 KiB"));
        }
        self.addresses.push_back(WriteBurst {
            address,
            id: shown.2 as u8,
            beats: beats as usize,
            address_cycle: model.cycle(),
            offered_cycle: self.offered_since,
            data_cycle: 0,
            response_cycle: 0,
            bytes: vec![],
            failed: false,
        });
    }

    fn sample_data(&mut self, model: &Model) {
        let ports = &self.write;
        let valid = model.is_set(ports.wvalid);
        let (strobe, last) = (model.get(ports.wstrb), model.get(ports.wlast));
        if let Some(held) = &self.held_beat {
            if !valid {
                self.violations.push("WVALID fell before WREADY".into());
            } else if held.1 != strobe || held.2 != last || held.0 != model.get_bytes(ports.wdata) {
                self.violations.push("a write beat changed before WREADY".into());
            }
        }
        let taken = valid && model.is_set(ports.wready);
        self.held_beat = (valid && !taken).then(|| (model.get_bytes(ports.wdata).to_vec(), strobe, last));
        if !taken {
            return;
        }
        let mut beat = [0; BEAT_BYTES];
        beat.copy_from_slice(model.get_bytes(ports.wdata));
        self.open_data.beats.push((beat, strobe));
        if last == 1 {
            self.open_data.cycle = model.cycle();
            self.data.push_back(std::mem::take(&mut self.open_data));
        }
    }

    /// Brings addresses and data together; AXI4 allows either to come first.
    fn pair(&mut self) {
        while !self.addresses.is_empty() && !self.data.is_empty() {
            let (mut burst, data) =
                (self.addresses.pop_front().expect("not empty"), self.data.pop_front().expect("not empty"));
            if data.beats.len() != burst.beats {
                self.violations.push(format!(
                    "burst at {:#x} has {} beats, WLAST came with beat {}",
                    burst.address,
                    burst.beats,
                    data.beats.len()
                ));
            }
            let first_line = burst.address & !(BEAT_BYTES as u64 - 1);
            for (i, (beat, strobe)) in data.beats.iter().enumerate() {
                let line = first_line.wrapping_add((i * BEAT_BYTES) as u64);
                burst
                    .bytes
                    .extend((0..BEAT_BYTES).filter(|b| strobe >> b & 1 == 1).map(|b| (line + b as u64, beat[b])));
            }
            burst.data_cycle = data.cycle;
            let fails = |address: &u64| self.failing.iter().any(|range| range.contains(address));
            burst.failed = burst.bytes.iter().any(|(address, _)| fails(address)) || !self.memory.reaches(&burst.bytes);
            if !burst.failed && self.posted {
                burst.failed = self.memory.write_bytes(&burst.bytes).is_err();
            }
            let span = self.timing.response_max.saturating_sub(self.timing.response_min) + 1;
            let due = data.cycle.max(burst.address_cycle) + self.timing.response_min.max(1) + self.next_random() % span;
            self.pending.push(Pending { due, burst });
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent > 0 && self.next_random() % 100 < u64::from(percent)
    }

    /// xorshift64*: the timing needs no better randomness, and no crate.
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }
}
