//! The NIC's side of host memory: random bursts, and the expectations of their answers.

use super::memory::Memory;
use super::root::Root;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::tlp::TlpBridge;
use spindle_harness::Dut;
use std::collections::{HashMap, VecDeque};

/// A write burst: the first byte, the bytes, and lines without strobes in front and at the end.
#[derive(Clone, Debug)]
pub struct WriteBurst {
    pub line: u64,
    pub id: u8,
    /// Data and strobes of each line.
    pub lines: Vec<([u8; 64], u64)>,
}

/// A read burst.
#[derive(Clone, Debug)]
pub struct ReadBurst {
    pub line: u64,
    pub id: u8,
    pub lines: usize,
}

/// What is known of the answers to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expect {
    /// As `Root::lines` says, for reads; OKAY, for writes.
    Exact,
    /// Every answer is an error.
    Errors,
    /// An answer may be an error.
    Either,
}

/// The master.
pub struct Master {
    rng: ChaCha8Rng,
    /// Percent of the cycles with an address, a beat, ready for an answer.
    pub pace: [u32; 5],
    pub writes: VecDeque<WriteBurst>,
    pub reads: VecDeque<ReadBurst>,
    beats: VecDeque<([u8; 64], u64, bool)>,
    /// Lines of writes that wait for their answers.
    open_writes: VecDeque<WriteBurst>,
    open_reads: VecDeque<(ReadBurst, usize)>,
    /// Pages in use: writes and reads.
    pages: HashMap<u64, [usize; 2]>,
    pub memory: Memory,
    pub expect: Expect,
    aw: bool,
    w: bool,
    ar: bool,
    pub answered: [u64; 2],
    pub errors: [u64; 2],
    pub read_beats: u64,
    pub write_beats: u64,
    /// Cycles in which the last B, the first R and the last W moved.
    pub last_b: u64,
    pub last_r: u64,
    pub last_w: u64,
    pub first_offer: u64,
}

impl Master {
    pub fn new(rng: ChaCha8Rng) -> Self {
        Self {
            rng,
            pace: [100; 5],
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            beats: VecDeque::new(),
            open_writes: VecDeque::new(),
            open_reads: VecDeque::new(),
            pages: HashMap::new(),
            memory: Memory::default(),
            expect: Expect::Exact,
            aw: false,
            w: false,
            ar: false,
            answered: [0; 2],
            errors: [0; 2],
            read_beats: 0,
            write_beats: 0,
            last_b: 0,
            last_r: 0,
            last_w: 0,
            first_offer: 0,
        }
    }

    /// A line in one of a few pages, below and above 4 GiB.
    fn line(&mut self, lines: usize) -> u64 {
        let bases = [0u64, 0x7_0000, 0xFFFF_F000, 0x1_0000_0000, 0x12_3456_7000, 0xFFFF_FFFF_FFFF_F000];
        let base = bases[self.rng.random_range(0..bases.len())];
        let page = base.wrapping_add(4096 * self.rng.random_range(0..2u64) * (base < u64::MAX - 8192) as u64);
        page / 64 + self.rng.random_range(0..=64 - lines as u64)
    }

    /// Lines of a burst; most end at a multiple of 256 bytes, as those of the NIC.
    fn length(&mut self) -> usize {
        match self.rng.random_range(0..8) {
            0 => self.rng.random_range(1..=64),
            1 => self.rng.random_range(1..=9),
            _ => self.rng.random_range(1..=4),
        }
    }

    pub fn random_write(&mut self) -> WriteBurst {
        let count = self.length();
        let line = self.line(count);
        let from = self.rng.random_range(0..64);
        let mut to = self.rng.random_range(0..64);
        if count == 1 && to < from {
            to = from;
        }
        let ones = |from: u32, to: u32| u64::MAX << from & u64::MAX >> (63 - to);
        let mut lines: Vec<([u8; 64], u64)> = vec![];
        for i in 0..count {
            let data = std::array::from_fn(|_| self.rng.random());
            let (first, last) = (if i == 0 { from } else { 0 }, if i + 1 == count { to } else { 63 });
            let strobes = match self.rng.random_range(0..20) {
                // Unlike the NIC: no strobes, or some at any place.
                0 => 0,
                1 => {
                    let at = self.rng.random_range(0..64);
                    ones(at, self.rng.random_range(at..64))
                }
                _ => ones(first, last),
            };
            lines.push((data, strobes));
        }
        WriteBurst { line, id: self.rng.random(), lines }
    }

    pub fn random_read(&mut self) -> ReadBurst {
        let lines = self.length();
        ReadBurst { line: self.line(lines), id: self.rng.random(), lines }
    }

    pub fn pending(&self) -> usize {
        self.writes.len() + self.reads.len() + self.open_writes.len() + self.open_reads.len() + self.beats.len()
    }

    fn chance(&mut self, what: usize) -> bool {
        self.pace[what] == 100 || self.rng.random_range(0..100) < self.pace[what]
    }

    pub fn drive(&mut self, dut: &Dut<TlpBridge>) {
        if !self.aw {
            // A page is written or read, never both at once.
            let free = self.writes.front().is_some_and(|b| self.pages.get(&(b.line / 64)).is_none_or(|p| p[1] == 0));
            if free && self.open_writes.len() < 64 && self.chance(0) {
                let burst = self.writes.front().expect("there is a burst");
                dut.host.awid.set(burst.id);
                dut.host.awaddr.set(burst.line * 64 + self.rng.random_range(0..64u64));
                dut.host.awlen.set(burst.lines.len() - 1);
                self.first_offer = dut.cycle();
                self.pages.entry(burst.line / 64).or_default()[0] += 1;
                for (i, (data, strobes)) in burst.lines.iter().enumerate() {
                    self.beats.push_back((*data, *strobes, i + 1 == burst.lines.len()));
                }
                self.aw = true;
            }
        }
        dut.host.awsize.set(6);
        dut.host.awburst.set(1);
        dut.host.arsize.set(6);
        dut.host.arburst.set(1);
        dut.host.awvalid.set(self.aw);
        if !self.w && !self.beats.is_empty() && self.chance(1) {
            let (data, strobes, last) = self.beats[0];
            dut.host.wdata.set_bytes(&data);
            dut.host.wstrb.set(strobes);
            dut.host.wlast.set(last);
            self.w = true;
        }
        dut.host.wvalid.set(self.w);
        if !self.ar {
            let free = self.reads.front().is_some_and(|b| self.pages.get(&(b.line / 64)).is_none_or(|p| p[0] == 0));
            if free && self.open_reads.len() < 128 && self.chance(2) {
                let burst = self.reads.front().expect("there is a burst");
                dut.host.arid.set(burst.id);
                dut.host.araddr.set(burst.line * 64 + self.rng.random_range(0..64u64));
                dut.host.arlen.set(burst.lines - 1);
                self.first_offer = dut.cycle();
                self.pages.entry(burst.line / 64).or_default()[1] += 1;
                self.ar = true;
            }
        }
        dut.host.arvalid.set(self.ar);
        let ready = [self.chance(3), self.chance(4)];
        dut.host.bready.set(ready[0]);
        dut.host.rready.set(ready[1]);
    }

    pub fn sample(&mut self, dut: &Dut<TlpBridge>, root: &mut Root) {
        if self.aw && dut.host.awready.is_high() {
            self.open_writes.push_back(self.writes.pop_front().expect("a burst was offered"));
            self.aw = false;
        }
        if self.w && dut.host.wready.is_high() {
            self.beats.pop_front();
            self.w = false;
            self.write_beats += 1;
            self.last_w = dut.cycle();
        }
        if self.ar && dut.host.arready.is_high() {
            self.open_reads.push_back((self.reads.pop_front().expect("a burst was offered"), 0));
            self.ar = false;
        }
        if dut.host.bvalid.is_high() && dut.host.bready.is_high() {
            self.answer_write(dut);
        }
        if dut.host.rvalid.is_high() && dut.host.rready.is_high() {
            self.answer_read(dut, root);
        }
    }

    fn answer_write(&mut self, dut: &Dut<TlpBridge>) {
        let burst = self.open_writes.pop_front().expect("an answer without a write");
        self.last_b = dut.cycle();
        assert_eq!(dut.host.bid.number(), burst.id as u64, "id of a write");
        let error = match dut.host.bresp.number() {
            0 => false,
            2 => true,
            other => panic!("BRESP {other}"),
        };
        let gap = |strobes: u64| (strobes & !(strobes << 1)).count_ones() > 1;
        let gaps = burst.lines.iter().any(|(_, strobes)| gap(*strobes));
        match self.expect {
            Expect::Exact => assert_eq!(error, gaps, "answer to {burst:?}"),
            Expect::Errors => assert!(error || burst.lines.iter().all(|(_, s)| *s == 0)),
            Expect::Either => {}
        }
        for (i, (data, strobes)) in burst.lines.iter().enumerate() {
            if self.expect != Expect::Errors && !gap(*strobes) {
                (0..64).filter(|at| strobes >> at & 1 == 1).for_each(|at| {
                    self.memory.write((burst.line + i as u64) * 64 + at as u64, data[at]);
                });
            }
        }
        self.pages.get_mut(&(burst.line / 64)).expect("the page is known")[0] -= 1;
        self.answered[0] += 1;
        self.errors[0] += error as u64;
    }

    fn answer_read(&mut self, dut: &Dut<TlpBridge>, root: &mut Root) {
        let (burst, done) = self.open_reads.front_mut().expect("data without a read");
        assert_eq!(dut.host.rid.number(), burst.id as u64, "id of a read");
        let address = (burst.line + *done as u64) * 64;
        *done += 1;
        let (last, page) = (*done == burst.lines, burst.line / 64);
        assert_eq!(dut.host.rlast.is_high(), last);
        let error = match dut.host.rresp.number() {
            0 => false,
            2 => true,
            other => panic!("RRESP {other}"),
        };
        match self.expect {
            Expect::Exact => assert_eq!(root.lines.pop_front(), Some((address, error)), "answer to a read"),
            Expect::Errors => assert!(error),
            Expect::Either => {}
        }
        let data = dut.host.rdata.bytes();
        // A write that was lost with the link may have been answered: as in the core's own buffers.
        let memory = if self.expect == Expect::Either { &root.memory } else { &self.memory };
        let expected = if error { vec![0; 64] } else { memory.read(address, 64) };
        assert_eq!(data, expected, "line {address:x}, error {error}");
        self.last_r = dut.cycle();
        self.read_beats += 1;
        self.errors[1] += error as u64;
        if last {
            self.open_reads.pop_front();
            self.pages.get_mut(&page).expect("the page is known")[1] -= 1;
            self.answered[1] += 1;
        }
    }
}
