//! Register access: one word at a time, always answered.
//!
//! | neighbour | ports |
//! |---|---|
//! | BAR target | in `access`; out `answer` (pulse), `answer_error` |
//! | NIC | `bar`: AXI4-Lite |
//! | shell page | `csr`, `csr_answer`: as on the register bus of the NIC (`docs/interfaces.md`) |
//!
//! The page `shell` and the word `global.SHELL` go to `csr`, every other address to `bar`. The shell's page takes whole
//! words only; other writes of it are answered with an error.
//!
//! An access that has no answer after `patience` cycles is answered with an error. The NIC then still owes its answer,
//! and until it has come every further access is answered with an error at once; the late answer itself goes nowhere.
//! So `answer` comes within `patience` + 3 cycles after `access` was taken, whatever the NIC does. A reset of the
//! target alone (the link went down) leaves the handshake with the NIC whole: `abandon` drops the answer of the access
//! under way.
//!
//! `access` taken → `bar.*valid`, `csr.valid`: 1 cycle. `bar.bvalid`, `bar.rvalid`, `csr_answer` → `answer`: 1 cycle.
//! All outputs come from registers; `access` is taken when no access is under way.

use spindle_blocks::{AxiLiteSource, CsrRequest, CsrResponse};
use spindle_contract::registers::{global, shell, BAR_BITS, PAGE};
use spindle_verilog::prelude::*;

/// Number of the shell's page, and the word that names the page.
const SHELL_PAGE: u64 = (shell::BASE / PAGE) as u64;
const SHELL_WORD: u64 = (global::BASE + global::SHELL) as u64;

/// Access to a word.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WordAccess {
    /// Write.
    pub write: Bit,
    /// Byte address of the word.
    pub address: Bits<BAR_BITS>,
    /// Word to write.
    pub data: Bits<32>,
    /// Bytes to write.
    pub strobes: Bits<4>,
}

/// The access. See the module text.
#[block(no_default)]
pub struct RegisterAccess {
    /// Access.
    pub access: Sink<WordAccess>,
    /// Answer: the word, of a read.
    pub answer: Pulse<Bits<32>>,
    /// With the answer: there was none, or an error.
    pub answer_error: Signal<Out, Bit>,
    /// The access under way gets no answer.
    pub abandon: Signal<In, Bit>,
    /// Registers.
    pub bar: AxiLiteSource,
    /// Access to the shell's page, held until its answer.
    pub csr: Signal<Out, CsrRequest>,
    /// Its answer.
    pub csr_answer: Signal<In, CsrResponse>,
    /// Accesses to the NIC and to the page: what the NIC was offered stands until it is taken.
    now: DFF<WordAccess>,
    asked: DFF<WordAccess>,
    /// The target waits for the answer.
    waits: Reg<Bit>,
    /// The NIC owes an answer to a read, or a write.
    owes_read: Reg<Bit>,
    owes_write: Reg<Bit>,
    aw: Reg<Bit>,
    w: Reg<Bit>,
    ar: Reg<Bit>,
    /// An access to the shell's page.
    request: Reg<Bit>,
    patience: Reg<Bits<12>>,
    data: DFF<Bits<32>>,
    error: DFF<Bit>,
    done: Reg<Bit>,
    _patience: u64,
}

/// Cycles that an access may take; more than the NIC's own slave waits for its blocks.
pub const PATIENCE: u64 = 2047;

impl Default for RegisterAccess {
    fn default() -> Self {
        Self::with_patience(PATIENCE)
    }
}

impl RegisterAccess {
    /// Ends an access after so many cycles, at most 4095.
    pub fn with_patience(patience: u64) -> Self {
        assert!((1..4096).contains(&patience), "RegisterAccess: {patience} cycles are not possible; choose 1 to 4095");
        Self { _patience: patience, ..Self::blank() }
    }
}

#[hdl]
impl RegisterAccess {
    fn update(&mut self) {
        let owes = self.owes_read.q.val() | self.owes_write.q.val();
        let free = !self.waits.q.val();
        let take = self.access.valid.val() & free;
        self.access.ready.next = free;
        self.done.d.next = false;

        // The handshakes of each channel.
        self.aw.load(self.bar.awready.val(), false);
        self.w.load(self.bar.wready.val(), false);
        self.ar.load(self.bar.arready.val(), false);
        let read_comes = self.owes_read.q.val() & self.bar.rvalid.val();
        let write_comes = self.owes_write.q.val() & self.bar.bvalid.val();
        self.owes_read.load(read_comes, false);
        self.owes_write.load(write_comes, false);

        let wanted = self.access.val();
        let page = wanted.address.get_bits::<8>(12) == bits::<8>(SHELL_PAGE);
        let to_shell = page | (wanted.address == bits::<BAR_BITS>(SHELL_WORD));
        let part = to_shell & wanted.write & !wanted.strobes.all();
        let shell_answers = self.request.q.val() & self.csr_answer.val().ack;
        self.request.load(shell_answers, false);
        if take {
            self.patience.d.next = bits::<12>(0);
            self.waits.d.next = true;
            if part | (owes & !to_shell) {
                // No access: the NIC is silent, or the page refuses.
                self.patience.d.next = bits::<12>(self._patience);
            } else if to_shell {
                self.request.d.next = true;
                self.asked.d.next = wanted;
            } else {
                self.now.d.next = wanted;
                self.aw.d.next = wanted.write;
                self.w.d.next = wanted.write;
                self.ar.d.next = !wanted.write;
                self.owes_write.d.next = wanted.write;
                self.owes_read.d.next = !wanted.write;
            }
        } else if self.waits.q.val() {
            let late = self.patience.q.val() >= bits::<12>(self._patience);
            self.patience.d.next = self.patience.q.val() + 1;
            // An answer in the last cycle is late: it may be that of an older access. So is one to the page meanwhile.
            let failed = if read_comes { self.bar.rresp.val().any() } else { self.bar.bresp.val().any() };
            let word = if shell_answers { self.csr_answer.val().rdata } else { self.bar.rdata.val() };
            self.data.d.next = if late { repeat::<32>(true) } else { word };
            self.error.d.next = late | if shell_answers { self.csr_answer.val().error } else { failed };
            let answered = if self.request.q.val() { shell_answers } else { read_comes | write_comes };
            if answered | late {
                self.request.d.next = false;
                self.waits.d.next = false;
                self.done.d.next = true;
            }
        }
        if self.abandon.val() {
            self.waits.d.next = false;
            self.done.d.next = false;
            self.request.d.next = false;
        }

        let now = self.now.q.val();
        self.bar.awaddr.next = now.address;
        self.bar.awvalid.next = self.aw.q.val();
        self.bar.wdata.next = now.data;
        self.bar.wstrb.next = now.strobes;
        self.bar.wvalid.next = self.w.q.val();
        self.bar.bready.next = self.owes_write.q.val();
        self.bar.araddr.next = now.address;
        self.bar.arvalid.next = self.ar.q.val();
        self.bar.rready.next = self.owes_read.q.val();
        let asked = self.asked.q.val();
        self.csr.next =
            CsrRequest { valid: self.request.q.val(), write: asked.write, addr: asked.address, wdata: asked.data };
        self.answer.offer(self.done.q.val(), self.data.q.val());
        self.answer_error.next = self.error.q.val();
    }
}
