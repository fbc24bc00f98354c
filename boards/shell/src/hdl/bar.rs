//! BAR bridge: accesses of the host, AXI4 of 512 or 256 bits, as register accesses of 32 bits.
//!
//! | neighbour | ports |
//! |---|---|
//! | XDMA `m_axib` | `pcie`: 4-bit ids, INCR |
//! | NIC | `nic`: its BAR, AXI4-Lite |
//! | shell page | `csr`, `csr_answer`: as on the register bus of the NIC (`docs/interfaces.md`) |
//! | shell page | out `silent` (pulse): an access was ended here, because its block did not answer |
//!
//! One burst at a time; a read and a write that wait together take turns. The page `shell` and the word `global.SHELL` go
//! to `csr`, every other address below 1 MiB to `nic`, an address beyond it is answered with DECERR. The word of an access
//! is that of its address, on the byte lanes of the address.
//!
//! * A write goes out as one access for each 32-bit lane with a strobe, lowest first, with the lane's four strobes. A beat
//!   without strobes has no effect. The shell's page takes whole words only, and answers others with SLVERR.
//! * A read has one access for each 32-bit word of its beats, from the address on. A host that reads registers with
//!   effects uses reads of 32 bits, which arrive as beats of 32 bits.
//!
//! Every burst is answered, with its id; the response of a write is the worst of its accesses, that of a beat of a read
//! the worst of the beat. Words that were answered with an error read all ones. An access that has no answer after
//! `patience` cycles is ended with SLVERR. The NIC then still owes that answer: it is taken when it comes, and until then
//! each access to the NIC is answered with SLVERR at once. So a word costs at most `patience` + 2 cycles, and a beat one
//! more, whatever the NIC does; an answer that no request waits for is taken and has no effect. `patience` exceeds the
//! 1024 cycles after which the NIC's own slave gives up.
//!
//! | what | cycles |
//! |---|---|
//! | AR taken → `nic.araddr` offered | 2 |
//! | `nic.rvalid` → R offered, of a 32-bit read | 2 |
//! | AW taken → W taken | 1 |
//! | W taken → `nic.awaddr`, `nic.wdata` offered | 2 |
//! | `nic.bvalid` → B offered, of a 32-bit write | 2 |
//! | from the answer of a word to the next access of the same beat | 2 |
//!
//! All outputs but `awready`, `arready` come from registers; these two are low while a burst is under way.

use super::xdma::XdmaBarSink;
use spindle_blocks::{replicate, AxiLiteSource, CsrRequest, CsrResponse};
use spindle_contract::registers::{global, shell, BAR_BITS, PAGE};
use spindle_verilog::prelude::*;

/// AXI response: the slave gave none, or gave up.
const SLVERR: u64 = 2;
/// AXI response: no such address.
const DECERR: u64 = 3;
/// Cycles that an access may take; more than the NIC's own slave waits for its blocks.
const PATIENCE: u64 = 2047;
/// Number of the shell's page.
const SHELL_PAGE: u64 = (shell::BASE / PAGE) as u64;
/// The word that shows whether there is a shell.
const SHELL_WORD: u64 = (global::BASE + global::SHELL) as u64;

/// What the bridge does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum BarStep {
    /// Waits for an address.
    Idle,
    /// Waits for a beat of a write.
    Beat,
    /// Chooses the next word of the beat.
    Walk,
    /// An access is under way.
    Access,
    /// The answer to a write is offered.
    Answer,
    /// A beat of a read is offered.
    Data,
}

/// The bridge: `W` bits of data, `S = W / 8` strobes, `L = W / 32` lanes, `L = 2^A`. See the module text.
#[block(no_default)]
pub struct BarBridge<const W: usize, const S: usize, const L: usize, const A: usize> {
    /// The host's accesses.
    pub pcie: XdmaBarSink<W, S>,
    /// The NIC's BAR.
    pub nic: AxiLiteSource,
    /// Access to the shell's page, held until its answer.
    pub csr: Signal<Out, CsrRequest>,
    /// Its answer.
    pub csr_answer: Signal<In, CsrResponse>,
    /// An access was ended without an answer.
    pub silent: Signal<Out, Bit>,
    step: Reg<BarStep>,
    /// The burst.
    write: Reg<Bit>,
    id: DFF<Bits<4>>,
    address: DFF<Bits<BAR_BITS>>,
    outside: DFF<Bit>,
    size: DFF<Bits<3>>,
    left: DFF<Bits<8>>,
    /// The beat: its words, the strobes, and the lanes that are still to be served.
    lanes: Vec<DFF<Bits<32>>>,
    strobes: DFF<Bits<S>>,
    last: DFF<Bit>,
    todo: Reg<Bits<L>>,
    /// The lane of the access.
    lane: DFF<Bits<L>>,
    worst: Reg<Bits<2>>,
    /// The access. What the NIC was offered stands until it is taken, so each side has registers of its own.
    to_shell: DFF<Bit>,
    nic_address: DFF<Bits<BAR_BITS>>,
    nic_word: DFF<Bits<32>>,
    nic_strobes: DFF<Bits<4>>,
    csr_address: DFF<Bits<BAR_BITS>>,
    csr_word: DFF<Bits<32>>,
    aw: Reg<Bit>,
    w: Reg<Bit>,
    ar: Reg<Bit>,
    request: Reg<Bit>,
    /// The NIC has not answered an access that was offered to it, which is a write or a read.
    owed: Reg<Bit>,
    owed_write: DFF<Bit>,
    patience: Reg<Bits<12>>,
    silence: Reg<Bit>,
    answered: Reg<Bit>,
    beat_valid: Reg<Bit>,
    _patience: u64,
    _lanes: usize,
}

/// The bridge for an XDMA of 512 bits.
pub type BarBridge512 = BarBridge<512, 64, 16, 4>;
/// The bridge for an XDMA of 256 bits.
pub type BarBridge256 = BarBridge<256, 32, 8, 3>;

impl<const W: usize, const S: usize, const L: usize, const A: usize> Default for BarBridge<W, S, L, A> {
    fn default() -> Self {
        Self::with_patience(PATIENCE)
    }
}

impl<const W: usize, const S: usize, const L: usize, const A: usize> BarBridge<W, S, L, A> {
    /// A bridge that ends an access after so many cycles, at most 4095.
    pub fn with_patience(patience: u64) -> Self {
        assert!(
            W == 8 * S && W == 32 * L && L == 1 << A,
            "BarBridge: {W} bits are {} strobes and {} lanes",
            W / 8,
            W / 32
        );
        assert!((1..4096).contains(&patience), "BarBridge: {patience} cycles are not possible; choose 1 to 4095");
        Self { lanes: replicate(L), _patience: patience, _lanes: L, ..Self::blank() }
    }
}

#[hdl]
impl<const W: usize, const S: usize, const L: usize, const A: usize> BarBridge<W, S, L, A> {
    fn update(&mut self) {
        self.silence.d.next = false;
        self.hold_access();
        match self.step.q.val() {
            BarStep::Idle => self.take_address(),
            BarStep::Beat => self.take_beat(),
            BarStep::Walk => self.walk(),
            BarStep::Access => self.wait(),
            BarStep::Answer => {
                if self.pcie.bready.val() {
                    self.answered.d.next = false;
                    self.step.d.next = BarStep::Idle;
                }
            }
            _ => self.give_beat(),
        }
        self.drive();
    }

    /// Idle: a burst.
    fn take_address(&mut self) {
        let writes = self.pcie.awvalid.val() & (!self.pcie.arvalid.val() | !self.write.q.val());
        let address = if writes { self.pcie.awaddr.val() } else { self.pcie.araddr.val() };
        let size = if writes { self.pcie.awsize.val() } else { self.pcie.arsize.val() };
        self.id.d.next = if writes { self.pcie.awid.val() } else { self.pcie.arid.val() };
        self.address.d.next = address.get_bits::<BAR_BITS>(0);
        self.outside.d.next = (address >> BAR_BITS as u64).any();
        self.size.d.next = size;
        self.left.d.next = self.pcie.arlen.val();
        self.worst.d.next = bits::<2>(0);
        self.todo.d.next = self.words(address.get_bits::<BAR_BITS>(0), size);
        if self.pcie.awvalid.val() | self.pcie.arvalid.val() {
            self.write.d.next = writes;
            self.step.d.next = if writes { BarStep::Beat } else { BarStep::Walk };
        }
    }

    /// The lanes of a beat of a read: from the address to the end of the beat.
    fn words(&mut self, address: Bits<BAR_BITS>, size: Bits<3>) -> Bits<L> {
        let first = address.get_bits::<A>(2);
        let spans = (bits::<8>(1) << size) - 1;
        let last = first | trunc::<A, 8>(spans >> 2);
        let mut lanes: Bits<L> = bits::<L>(0);
        for i in 0..self._lanes {
            let covered = (first <= bits::<A>(i as u64)) & (last >= bits::<A>(i as u64));
            lanes = lanes.replace_bit(i, covered);
        }
        lanes
    }

    /// Beat: words and strobes of a write.
    fn take_beat(&mut self) {
        let strobes = self.pcie.wstrb.val();
        let mut lanes: Bits<L> = bits::<L>(0);
        for i in 0..self._lanes {
            self.lanes[i].d.next = self.pcie.wdata.val().get_bits::<32>(32 * i);
            lanes = lanes.replace_bit(i, strobes.get_bits::<4>(4 * i).any());
        }
        self.strobes.d.next = strobes;
        self.last.d.next = self.pcie.wlast.val();
        self.todo.d.next = lanes;
        self.step.load(self.pcie.wvalid.val(), BarStep::Walk);
    }

    /// Walk: the next word of the beat, or its end.
    fn walk(&mut self) {
        let write = self.write.q.val();
        let hot = lowest_set(self.todo.q.val());
        self.todo.d.next = self.todo.q.val() & !hot;
        self.lane.d.next = hot;
        let mut number: Bits<A> = bits::<A>(0);
        let mut word: Bits<32> = bits::<32>(0);
        let mut strobes: Bits<4> = bits::<4>(0);
        for i in 0..self._lanes {
            number = number | (bits::<A>(i as u64) & repeat::<A>(hot.get_bit(i)));
            word = word | (self.lanes[i].q.val() & repeat::<32>(hot.get_bit(i)));
            strobes = strobes | (self.strobes.q.val().get_bits::<4>(4 * i) & repeat::<4>(hot.get_bit(i)));
        }
        // The address of the line, with the lane.
        let line = self.address.q.val() >> (A + 2) as u64;
        let address = (line << (A + 2) as u64) | (bit_cast::<BAR_BITS, A>(number) << 2);
        let to_shell = (address.get_bits::<8>(12) == bits::<8>(SHELL_PAGE)) | (address == bits::<BAR_BITS>(SHELL_WORD));
        self.to_shell.d.next = to_shell;
        self.patience.d.next = bits::<12>(0);
        if self.todo.q.val().any() {
            let outside = self.outside.q.val();
            let part = to_shell & write & !strobes.all();
            let silent = !to_shell & self.owed.q.val();
            if outside | part | silent {
                self.fail(hot, outside);
            } else {
                self.step.d.next = BarStep::Access;
                self.request.d.next = to_shell;
                if to_shell {
                    self.csr_address.d.next = address;
                    self.csr_word.d.next = word;
                } else {
                    self.nic_address.d.next = address;
                    self.nic_word.d.next = word;
                    self.nic_strobes.d.next = strobes;
                    self.aw.d.next = write;
                    self.w.d.next = write;
                    self.ar.d.next = !write;
                    self.owed.d.next = true;
                    self.owed_write.d.next = write;
                }
            }
        } else if !write {
            self.beat_valid.d.next = true;
            self.step.d.next = BarStep::Data;
        } else if self.last.q.val() {
            self.answered.d.next = true;
            self.step.d.next = BarStep::Answer;
        } else {
            self.address.d.next = self.after();
            self.step.d.next = BarStep::Beat;
        }
    }

    /// The word of a lane is answered with an error.
    fn fail(&mut self, hot: Bits<L>, refused: Bit) {
        self.worst.d.next = self.worst.q.val() | if refused { bits::<2>(DECERR) } else { bits::<2>(SLVERR) };
        for i in 0..self._lanes {
            self.lanes[i].load(!self.write.q.val() & hot.get_bit(i), !bits::<32>(0));
        }
    }

    /// The address of the next beat.
    fn after(&mut self) -> Bits<BAR_BITS> {
        let size = self.size.q.val();
        let start = (self.address.q.val() >> size) << size;
        start + (bits::<BAR_BITS>(1) << size)
    }

    /// Access: waits for the answer.
    fn wait(&mut self) {
        self.patience.d.next = self.patience.q.val() + 1;
        let answer = self.csr_answer.val();
        let write = self.write.q.val();
        let nic_answers = if write { self.answers_write() } else { self.answers_read() };
        let nic_response = if write { self.nic.bresp.val() } else { self.nic.rresp.val() };
        let shell_response = if answer.error { bits::<2>(DECERR) } else { bits::<2>(0) };
        let response = if self.to_shell.q.val() { shell_response } else { nic_response };
        let read = if self.to_shell.q.val() { answer.rdata } else { self.nic.rdata.val() };
        let comes = if self.to_shell.q.val() { answer.ack } else { nic_answers };
        let gives_up = self.patience.q.val() >= bits::<12>(self._patience);
        if comes {
            let word = if response.any() { !bits::<32>(0) } else { read };
            for i in 0..self._lanes {
                self.lanes[i].load(!write & self.lane.q.val().get_bit(i), word);
            }
            self.worst.d.next = self.worst.q.val() | response;
        } else if gives_up {
            self.fail(self.lane.q.val(), false);
            self.silence.d.next = true;
        }
        if comes | gives_up {
            self.request.d.next = false;
            self.step.d.next = BarStep::Walk;
        }
    }

    /// What was offered to the NIC stays until it is taken, also when the access was given up.
    fn hold_access(&mut self) {
        if self.nic.awready.val() & self.aw.q.val() {
            self.aw.d.next = false;
        }
        if self.nic.wready.val() & self.w.q.val() {
            self.w.d.next = false;
        }
        if self.nic.arready.val() & self.ar.q.val() {
            self.ar.d.next = false;
        }
        if self.answers_write() | self.answers_read() {
            self.owed.d.next = false;
        }
    }

    /// The NIC answers a write that it has taken.
    fn answers_write(&mut self) -> Bit {
        self.nic.bvalid.val() & self.owed_write.q.val() & !self.aw.q.val() & !self.w.q.val()
    }

    /// The NIC answers a read that it has taken.
    fn answers_read(&mut self) -> Bit {
        self.nic.rvalid.val() & !self.owed_write.q.val() & !self.ar.q.val()
    }

    /// Data: a beat of a read.
    fn give_beat(&mut self) {
        if self.pcie.rready.val() {
            let next = self.after();
            self.beat_valid.d.next = false;
            self.worst.d.next = bits::<2>(0);
            self.left.d.next = self.left.q.val() - 1;
            self.address.d.next = next;
            self.todo.d.next = self.words(next, self.size.q.val());
            self.step.d.next = if self.left.q.val().any() { BarStep::Walk } else { BarStep::Idle };
        }
    }

    fn drive(&mut self) {
        let idle = self.step.q.val() == BarStep::Idle;
        let writes = self.pcie.awvalid.val() & (!self.pcie.arvalid.val() | !self.write.q.val());
        self.pcie.awready.next = idle & writes;
        self.pcie.arready.next = idle & !writes;
        self.pcie.wready.next = self.step.q.val() == BarStep::Beat;
        self.pcie.bid.next = self.id.q.val();
        self.pcie.bresp.next = self.worst.q.val();
        self.pcie.bvalid.next = self.answered.q.val();
        self.pcie.rid.next = self.id.q.val();
        self.pcie.rresp.next = self.worst.q.val();
        self.pcie.rlast.next = !self.left.q.val().any();
        self.pcie.rvalid.next = self.beat_valid.q.val();
        let mut data: Bits<W> = bits::<W>(0);
        for i in 0..self._lanes {
            data = data | (bit_cast::<W, 32>(self.lanes[i].q.val()) << (32 * i) as u64);
        }
        self.pcie.rdata.next = data;

        self.nic.awaddr.next = self.nic_address.q.val();
        self.nic.awvalid.next = self.aw.q.val();
        self.nic.wdata.next = self.nic_word.q.val();
        self.nic.wstrb.next = self.nic_strobes.q.val();
        self.nic.wvalid.next = self.w.q.val();
        self.nic.bready.next = !self.aw.q.val() & !self.w.q.val();
        self.nic.araddr.next = self.nic_address.q.val();
        self.nic.arvalid.next = self.ar.q.val();
        self.nic.rready.next = !self.ar.q.val();

        self.csr.next = CsrRequest {
            valid: self.request.q.val(),
            write: self.write.q.val(),
            addr: self.csr_address.q.val(),
            wdata: self.csr_word.q.val(),
        };
        self.silent.next = self.silence.q.val();
    }
}
