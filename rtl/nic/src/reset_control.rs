//! Reset control: the register RESET, and the sequence that resets all engines while the card stays on its bus.
//!
//! | neighbour | ports |
//! |---|---|
//! | register slave | `csr`, `csr_answer`; out `owns_csr`: accesses of other registers are answered here, with `error` |
//! | engines, pages, trace ring, interrupts | out `engines_reset` |
//! | host gate | out `stop`, `abandon`; in `quiet`, `moved` |
//! | wire in | in `rx_valid`, `rx_last`; out `rx_open` |
//! | wire out | in `tx_valid`, `tx_last`, `tx_ready`; out `tx_open` |
//!
//! This block, the host gate and the register slave are outside of the reset that the block makes. The steps:
//!
//! | step | what happens | cycles |
//! |---|---|---|
//! | drain | no beat enters from the wire, no burst begins; bursts under way end | until the host is quiet |
//! | finish | the frame that is being sent ends, no further one begins | until its last beat |
//! | hold | `engines_reset` | 16 |
//! | clear | the engines clear their tables; other registers are still not served | parameter of the block |
//!
//! If neither the host nor the wire moves for 65,536 cycles during the first two steps, the reset goes on without them:
//! RESET reads `forced`. A write of RESET is answered in 2 cycles; a write during a reset has no effect. The rest of a
//! frame that was cut at the wire is not let in.

use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_contract::registers::global;
use spindle_verilog::prelude::*;

/// Cycles of `engines_reset`.
const HOLD: u64 = 16;
/// Bits of the count of silent cycles.
const SILENCE_BITS: usize = 16;
/// Bits of the count of cycles of a step.
const STEP_BITS: usize = 16;

/// Step of a reset.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum ResetStep {
    /// No reset is under way.
    Idle,
    /// Transactions of host memory end.
    Drain,
    /// The frame that is being sent ends.
    Finish,
    /// The engines are reset.
    Hold,
    /// The engines clear their tables.
    Clear,
}

/// The reset control. See the module text.
#[block]
pub struct ResetControl {
    /// Every register access, held until its answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Other blocks must not see the access.
    pub owns_csr: Signal<Out, Bit>,
    /// Reset of all engines.
    pub engines_reset: Signal<Out, Bit>,
    /// No burst may begin.
    pub stop: Signal<Out, Bit>,
    /// Give up bursts that are under way.
    pub abandon: Signal<Out, Bit>,
    /// No burst is under way.
    pub quiet: Signal<In, Bit>,
    /// The host took or gave something.
    pub moved: Signal<In, Bit>,
    /// Beat from the wire.
    pub rx_valid: Signal<In, Bit>,
    /// The beat is the last of its frame.
    pub rx_last: Signal<In, Bit>,
    /// Beats from the wire may enter.
    pub rx_open: Signal<Out, Bit>,
    /// Beat for the wire, before the gate.
    pub tx_valid: Signal<In, Bit>,
    /// The beat is the last of its frame.
    pub tx_last: Signal<In, Bit>,
    /// The wire takes a beat.
    pub tx_ready: Signal<In, Bit>,
    /// Beats for the wire may leave.
    pub tx_open: Signal<Out, Bit>,
    step: Reg<ResetStep>,
    count: Reg<Bits<STEP_BITS>>,
    silence: Reg<Bits<SILENCE_BITS>>,
    forced: Reg<Bit>,
    resetting: Reg<Bit>,
    rx_inside: Reg<Bit>,
    rx_closed: Reg<Bit>,
    tx_inside: Reg<Bit>,
    tx_held: Reg<Bit>,
    answer: Reg<CsrResponse>,
    _clear: u64,
}

impl ResetControl {
    /// For engines that clear their tables within so many cycles, at most 65,535.
    pub fn new(clear: usize) -> Self {
        assert!((1..1 << STEP_BITS).contains(&clear), "ResetControl: {clear} cycles of clearing are not possible");
        Self { _clear: clear as u64, ..Self::blank() }
    }
}

#[hdl]
impl ResetControl {
    fn update(&mut self) {
        let busy = self.step.q.val() != ResetStep::Idle;
        let starts = self.answer_access(busy);
        let sent = self.gate_wire();
        self.sequence(starts, sent);
    }

    /// Answers accesses of RESET, and during hold and clear those of all registers. Returns whether a reset starts.
    fn answer_access(&mut self, busy: Bit) -> Bit {
        let request = self.csr.val();
        let is_reset = !request.addr.get_bits::<8>(12).any() & (request.addr.get_bits::<12>(0) == bits(global::RESET));
        let alone = (self.step.q.val() == ResetStep::Hold) | (self.step.q.val() == ResetStep::Clear);
        let takes = request.valid & (is_reset | alone) & !self.answer.q.val().ack;
        let state = (self.forced.q.val(), busy).cat::<2>();
        self.answer.d.next = CsrResponse { ack: takes, error: takes & !is_reset, rdata: bits::<32>(0) };
        if takes & is_reset & !request.write {
            self.answer.d.next.rdata = bit_cast::<32, 2>(state);
        }
        self.csr_answer.next = self.answer.q.val();
        self.owns_csr.next = is_reset | alone;
        takes & is_reset & request.write & !busy
    }

    fn sequence(&mut self, starts: Bit, sent: Bit) {
        let waits = (self.step.q.val() == ResetStep::Drain) | (self.step.q.val() == ResetStep::Finish);
        let gives_up = waits & self.silence.q.val().all();
        self.silence.d.next = self.silence.q.val() + 1;
        if !waits | self.moved.val() | sent {
            self.silence.d.next = bits::<SILENCE_BITS>(0);
        }
        self.count.d.next = bits::<STEP_BITS>(0);
        match self.step.q.val() {
            ResetStep::Idle => {
                if starts {
                    self.forced.d.next = false;
                    self.step.d.next = ResetStep::Drain;
                }
            }
            ResetStep::Drain => self.step.load(self.quiet.val(), ResetStep::Finish),
            ResetStep::Finish => {
                self.step.load(!self.tx_inside.q.val() & !self.tx_held.q.val(), ResetStep::Hold);
            }
            ResetStep::Hold => {
                self.count.d.next = self.count.q.val() + 1;
                if self.count.q.val() == bits::<STEP_BITS>(HOLD) {
                    self.count.d.next = bits::<STEP_BITS>(0);
                    self.step.d.next = ResetStep::Clear;
                }
            }
            ResetStep::Clear => {
                self.count.d.next = self.count.q.val() + 1;
                self.step.load(self.count.q.val() == bits::<STEP_BITS>(self._clear), ResetStep::Idle);
            }
            _ => self.step.d.next = ResetStep::Idle,
        }
        if gives_up {
            self.forced.d.next = true;
            self.step.d.next = ResetStep::Hold;
        }
        self.abandon.next = gives_up;
        self.stop.next = self.step.q.val() != ResetStep::Idle;
        self.resetting.d.next = (self.step.q.val() == ResetStep::Hold) & self.count.q.val().any();
        self.engines_reset.next = self.resetting.q.val();
    }

    /// The gates of the wire open and close between two frames; the one for beats from the wire closes at once. Returns whether
    /// a beat is sent.
    fn gate_wire(&mut self) -> Bit {
        let idle = self.step.q.val() == ResetStep::Idle;
        self.rx_inside.load(self.rx_valid.val(), !self.rx_last.val());
        let between = if self.rx_valid.val() { self.rx_last.val() } else { !self.rx_inside.q.val() };
        if !idle {
            self.rx_closed.d.next = true;
        } else if between {
            self.rx_closed.d.next = false;
        }
        self.rx_open.next = idle & !self.rx_closed.q.val();

        let sending = self.tx_inside.q.val() | self.tx_held.q.val();
        let open = idle | (self.step.q.val() == ResetStep::Drain) | sending;
        let offered = self.tx_valid.val() & open;
        self.tx_open.next = open;
        self.tx_inside.load(offered & self.tx_ready.val(), !self.tx_last.val());
        self.tx_held.d.next = offered & !self.tx_ready.val();
        if self.resetting.q.val() {
            self.tx_inside.d.next = false;
            self.tx_held.d.next = false;
        }
        offered & self.tx_ready.val()
    }
}
