//! The CSR page `packet`: control, rules, counters.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `csr` / out `csr_answer` | register slave |
//! | out `rx_enable`, `spindle_port` | parser |
//! | out `word_*`, `term_*`, `rule_*`, `match_commit` / in `match_committing` | header matcher: the staged entry, and a one-cycle write pulse |
//! | out `psn_enable`, `peer_index`, `peer_query` / in `peer_*` | PSN filter |
//! | in `drop_valid`, `drop_reason` | ingress join |
//! | out `timeout`, `live_index` / in `live` (1 cycle later) | scheduler |
//! | in `outcome`, `message_done`, `message_failed`, `message_aged`, `to_hpu`, `to_mailbox`, `task_sent`, `messages_open` | scheduler: pulses of a cycle, one event each |
//! | in `frames_in`, `bytes_in`, `frames_out`, `bytes_out`, `cells_free` | traffic counters, packet buffer |
//!
//! An access is answered 6 cycles after it is seen. Errors: an address without a register, a read of a write-only or a write to a
//! read-only register, a commit to a slot that does not exist or while the matcher is committing. Counters are cleared by reset (those of DROPS within 32 cycles
//! of it; no frame can be dropped before the driver switches reception on, except as RX_DISABLED).

use crate::schedule::message::Outcome;
use spindle_blocks::{CounterBank, CsrRequest, CsrResponse};
use spindle_contract::params::{Config, MATCH_LITERALS, MATCH_TERMS, MATCH_WORDS, MAX_CONTEXTS, SPINDLE_PORT};
use spindle_contract::registers::packet;
use spindle_verilog::prelude::*;

/// Step of an access in which the register file is written.
const STEP_WRITE: u64 = 1;
/// Step in which the value read is complete: the drop counters take three cycles.
const STEP_ANSWER: u64 = 5;
const WORDS: u64 = MATCH_WORDS as u64;
const TERMS: u64 = MATCH_TERMS as u64;
/// Registers of a rule's positive literals.
const LITERAL_WORDS: usize = 3;
const POSITIVE_0: u32 = packet::RULE_POSITIVE;
const POSITIVE_1: u32 = packet::RULE_POSITIVE + 4;
const POSITIVE_2: u32 = packet::RULE_POSITIVE + 8;
const NEGATIVE_0: u32 = packet::RULE_NEGATIVE;
const NEGATIVE_1: u32 = packet::RULE_NEGATIVE + 4;
const NEGATIVE_2: u32 = packet::RULE_NEGATIVE + 8;
const SELECTIVE_LOW: u32 = packet::PEER_SELECTIVE;
const SELECTIVE_HIGH: u32 = packet::PEER_SELECTIVE + 4;
const FIRST_DROP: u64 = packet::DROPS as u64 / 4;
const LAST_DROP: u64 = FIRST_DROP + 31;
const FIRST_LIVE: u64 = packet::CONTEXT_LIVE as u64 / 4;
const LAST_LIVE: u64 = FIRST_LIVE + MAX_CONTEXTS as u64 - 1;

/// See the head of this file.
#[block]
pub struct PacketRegisters {
    /// Access.
    pub csr: Signal<In, CsrRequest>,
    /// Answer.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// CONTROL bit 0.
    pub rx_enable: Signal<Out, Bit>,
    /// SPINDLE_PORT.
    pub spindle_port: Signal<Out, Bits<16>>,
    /// Extracted word.
    pub word_index: Signal<Out, Bits<4>>,
    /// WORD_SOURCE.
    pub word_source: Signal<Out, Bits<22>>,
    /// Write the source.
    pub word_write: Signal<Out, Bit>,
    /// Slot of the term.
    pub term_index: Signal<Out, Bits<7>>,
    /// TERM_MASK.
    pub term_mask: Signal<Out, Bits<32>>,
    /// TERM_LOW.
    pub term_low: Signal<Out, Bits<32>>,
    /// TERM_HIGH.
    pub term_high: Signal<Out, Bits<32>>,
    /// Write the term.
    pub term_write: Signal<Out, Bit>,
    /// Slot of the rule.
    pub rule_index: Signal<Out, Bits<6>>,
    /// RULE_POSITIVE.
    pub rule_positive: Signal<Out, Bits<MATCH_LITERALS>>,
    /// RULE_NEGATIVE.
    pub rule_negative: Signal<Out, Bits<MATCH_LITERALS>>,
    /// RULE_ACTION.
    pub rule_action: Signal<Out, Bits<32>>,
    /// Write the rule.
    pub rule_write: Signal<Out, Bit>,
    /// Let words, terms and rules decide.
    pub match_commit: Signal<Out, Bit>,
    /// They do not yet.
    pub match_committing: Signal<In, Bit>,
    /// PSN_CONTROL bit 0.
    pub psn_enable: Signal<Out, Bit>,
    /// Entry of the peer table.
    pub peer_index: Signal<Out, Bits<8>>,
    /// Read it.
    pub peer_query: Signal<Out, Bit>,
    /// It has not been read yet.
    pub peer_busy: Signal<In, Bit>,
    /// It has a peer.
    pub peer_live: Signal<In, Bit>,
    /// Its node.
    pub peer_node: Signal<In, Bits<32>>,
    /// Lowest number that has not been accepted.
    pub peer_expected: Signal<In, Bits<32>>,
    /// Which from there on have.
    pub peer_selective: Signal<In, Bits<64>>,
    /// A frame was dropped before it reached the message table.
    pub drop_valid: Signal<In, Bit>,
    /// Why.
    pub drop_reason: Signal<In, Bits<5>>,
    /// A frame ended behind it.
    pub outcome: Signal<In, Outcome>,
    /// A message ended well.
    pub message_done: Signal<In, Bit>,
    /// A message failed.
    pub message_failed: Signal<In, Bit>,
    /// A message ended of age.
    pub message_aged: Signal<In, Bit>,
    /// A frame was accepted for a context.
    pub to_hpu: Signal<In, Bit>,
    /// Frames accepted for a mailbox in this cycle, at most two.
    pub to_mailbox: Signal<In, Bits<2>>,
    /// A task was handed over.
    pub task_sent: Signal<In, Bit>,
    /// Time after which a message ages.
    pub timeout: Signal<Out, Bits<16>>,
    /// Context whose messages alive are asked for.
    pub live_index: Signal<Out, Bits<4>>,
    /// Their number.
    pub live: Signal<In, Bits<9>>,
    /// Messages alive.
    pub messages_open: Signal<In, Bits<16>>,
    /// Frames received.
    pub frames_in: Signal<In, Bits<32>>,
    /// Bytes received.
    pub bytes_in: Signal<In, Bits<32>>,
    /// Frames sent.
    pub frames_out: Signal<In, Bits<32>>,
    /// Bytes sent.
    pub bytes_out: Signal<In, Bits<32>>,
    /// Free cells.
    pub cells_free: Signal<In, Bits<11>>,
    drops: CounterBank<5>,
    /// Step of the access; 0 = none.
    step: Reg<Bits<3>>,
    request: DFF<CsrRequest>,
    word: DFF<Bits<32>>,
    known: DFF<Bit>,
    answer: Reg<CsrResponse>,
    enable: Reg<Bit>,
    filtering: Reg<Bit>,
    asked: DFF<Bits<8>>,
    asking: Reg<Bit>,
    port: Reg<Bits<16>>,
    stage_source: Reg<Bits<22>>,
    stage_mask: Reg<Bits<32>>,
    stage_low: Reg<Bits<32>>,
    stage_high: Reg<Bits<32>>,
    stage_positive: [Reg<Bits<32>>; LITERAL_WORDS],
    stage_negative: [Reg<Bits<32>>; LITERAL_WORDS],
    stage_action: Reg<Bits<32>>,
    free: DFF<Bit>,
    commit_index: DFF<Bits<7>>,
    commit_word: Reg<Bit>,
    commit_term: Reg<Bit>,
    commit_rule: Reg<Bit>,
    commit_all: Reg<Bit>,
    handled: Reg<Bits<32>>,
    placed: Reg<Bits<32>>,
    accepted_hpu: Reg<Bits<32>>,
    accepted_mailbox: Reg<Bits<32>>,
    tasks: Reg<Bits<32>>,
    done: Reg<Bits<32>>,
    failed: Reg<Bits<32>>,
    aged: Reg<Bits<32>>,
    timeout_units: Reg<Bits<16>>,
    _rules: u64,
}

impl PacketRegisters {
    /// The page of a NIC with the match rules of `config`.
    pub fn new(config: &Config) -> Self {
        Self { port: Reg::new(bits::<16>(SPINDLE_PORT)), _rules: config.match_rules as u64, ..Self::blank() }
    }
}

#[hdl]
impl PacketRegisters {
    fn update(&mut self) {
        // Events.
        let outcome = self.outcome.val();
        self.drops.a_valid.next = self.drop_valid.val();
        self.drops.a_index.next = self.drop_reason.val();
        self.drops.b_valid.next = outcome.dropped;
        self.drops.b_index.next = outcome.reason;
        if outcome.handled {
            self.handled.d.next = self.handled.q.val() + 1;
        }
        if outcome.placed {
            self.placed.d.next = self.placed.q.val() + 1;
        }
        if self.to_hpu.val() {
            self.accepted_hpu.d.next = self.accepted_hpu.q.val() + 1;
        }
        self.accepted_mailbox.d.next = self.accepted_mailbox.q.val() + bit_cast::<32, 2>(self.to_mailbox.val());
        if self.task_sent.val() {
            self.tasks.d.next = self.tasks.q.val() + 1;
        }
        if self.message_done.val() {
            self.done.d.next = self.done.q.val() + 1;
        }
        if self.message_failed.val() {
            self.failed.d.next = self.failed.q.val() + 1;
        }
        if self.message_aged.val() {
            self.aged.d.next = self.aged.q.val() + 1;
        }

        // Accesses: one at a time; the request is held until the cycle after the answer.
        let request = self.request.q.val();
        let number = request.addr.get_bits::<10>(2);
        let wdata = request.wdata;
        self.answer.d.next = Default::default();
        if self.step.q.val() == 0 {
            if self.csr.val().valid & !self.answer.q.val().ack {
                self.request.d.next = self.csr.val();
                self.step.d.next = bits::<3>(STEP_WRITE);
            }
        } else if self.step.q.val() == STEP_ANSWER {
            self.step.d.next = bits::<3>(0);
            let value = if self.known.q.val() & !request.write { self.word.q.val() } else { bits::<32>(0) };
            self.answer.d.next = CsrResponse { ack: true, error: !self.known.q.val(), rdata: value };
        } else {
            self.step.d.next = self.step.q.val() + 1;
        }
        let write = (self.step.q.val() == STEP_WRITE) & request.write;
        let read = !request.write;

        let is_drop = (number >= FIRST_DROP) & (number <= LAST_DROP);
        let is_live = (number >= FIRST_LIVE) & (number <= LAST_LIVE);
        // One answer for the whole access, although the matcher may begin or end a commit meanwhile.
        if self.step.q.val() == 0 {
            self.free.d.next = !self.match_committing.val();
        }
        let free = self.free.q.val();
        let word_exists = (wdata < WORDS) & free;
        let term_exists = (wdata < TERMS) & free;
        let rule_exists = (wdata < self._rules) & free;
        let aligned = !request.addr.get_bits::<2>(0).any();
        self.drops.read_index.next = number.get_bits::<5>(0);
        self.live_index.next = number.get_bits::<4>(0);
        self.timeout.next = self.timeout_units.q.val();

        self.commit_index.d.next = wdata.get_bits::<7>(0);
        self.asked.d.next = wdata.get_bits::<8>(0);
        self.asking.d.next = false;
        self.commit_word.d.next = false;
        self.commit_all.d.next = false;
        self.commit_term.d.next = false;
        self.commit_rule.d.next = false;
        let mut word: Bits<32> = bits::<32>(0);
        let mut known: Bit = aligned;
        match request.addr.get_bits::<12>(0).to_u32() {
            packet::CONTROL => {
                word = bit_cast::<32, 1>(self.enable.q.val().into());
                if write {
                    self.enable.d.next = wdata.get_bit(0);
                }
            }
            packet::SPINDLE_PORT => {
                word = bit_cast::<32, 16>(self.port.q.val());
                if write {
                    self.port.d.next = wdata.get_bits::<16>(0);
                }
            }
            packet::PSN_CONTROL => {
                word = bit_cast::<32, 1>(self.filtering.q.val().into());
                if write {
                    self.filtering.d.next = wdata.get_bit(0);
                }
            }
            packet::WORD_SOURCE => {
                word = bit_cast::<32, 22>(self.stage_source.q.val());
                if write {
                    self.stage_source.d.next = wdata.get_bits::<22>(0);
                }
            }
            packet::WORD_COMMIT => {
                known = request.write & word_exists;
                self.commit_word.d.next = write & word_exists;
            }
            packet::TERM_MASK => {
                word = self.stage_mask.q.val();
                if write {
                    self.stage_mask.d.next = wdata;
                }
            }
            packet::TERM_LOW => {
                word = self.stage_low.q.val();
                if write {
                    self.stage_low.d.next = wdata;
                }
            }
            packet::TERM_HIGH => {
                word = self.stage_high.q.val();
                if write {
                    self.stage_high.d.next = wdata;
                }
            }
            packet::TERM_COMMIT => {
                known = request.write & term_exists;
                self.commit_term.d.next = write & term_exists;
            }
            POSITIVE_0 => {
                word = self.stage_positive[0].q.val();
                if write {
                    self.stage_positive[0].d.next = wdata;
                }
            }
            POSITIVE_1 => {
                word = self.stage_positive[1].q.val();
                if write {
                    self.stage_positive[1].d.next = wdata;
                }
            }
            POSITIVE_2 => {
                word = self.stage_positive[2].q.val();
                if write {
                    self.stage_positive[2].d.next = wdata;
                }
            }
            NEGATIVE_0 => {
                word = self.stage_negative[0].q.val();
                if write {
                    self.stage_negative[0].d.next = wdata;
                }
            }
            NEGATIVE_1 => {
                word = self.stage_negative[1].q.val();
                if write {
                    self.stage_negative[1].d.next = wdata;
                }
            }
            NEGATIVE_2 => {
                word = self.stage_negative[2].q.val();
                if write {
                    self.stage_negative[2].d.next = wdata;
                }
            }
            packet::RULE_ACTION => {
                word = self.stage_action.q.val();
                if write {
                    self.stage_action.d.next = wdata;
                }
            }
            packet::RULE_COMMIT => {
                known = request.write & rule_exists;
                self.commit_rule.d.next = write & rule_exists;
            }
            packet::MATCH_COMMIT => {
                word = bit_cast::<32, 1>(self.match_committing.val().into());
                known = aligned & (read | free);
                self.commit_all.d.next = write & free;
            }
            packet::MESSAGE_TIMEOUT => {
                word = bit_cast::<32, 16>(self.timeout_units.q.val());
                if write {
                    self.timeout_units.d.next = wdata.get_bits::<16>(0);
                }
            }
            packet::FRAMES_IN => {
                word = self.frames_in.val();
                known = read;
            }
            packet::FRAMES_TO_HPU => {
                word = self.accepted_hpu.q.val();
                known = read;
            }
            packet::FRAMES_TO_MAILBOX => {
                word = self.accepted_mailbox.q.val();
                known = read;
            }
            packet::FRAMES_OUT => {
                word = self.frames_out.val();
                known = read;
            }
            packet::BYTES_IN => {
                word = self.bytes_in.val();
                known = read;
            }
            packet::BYTES_OUT => {
                word = self.bytes_out.val();
                known = read;
            }
            packet::TASKS => {
                word = self.tasks.q.val();
                known = read;
            }
            packet::MESSAGES_OPEN => {
                word = bit_cast::<32, 16>(self.messages_open.val());
                known = read;
            }
            packet::MESSAGES_DONE => {
                word = self.done.q.val();
                known = read;
            }
            packet::MESSAGES_FAILED => {
                word = self.failed.q.val();
                known = read;
            }
            packet::MESSAGES_AGED => {
                word = self.aged.q.val();
                known = read;
            }
            packet::CELLS_FREE => {
                word = bit_cast::<32, 11>(self.cells_free.val());
                known = read;
            }
            packet::PEER_QUERY => {
                word = bit_cast::<32, 1>(self.peer_busy.val().into());
                self.asking.d.next = write;
            }
            packet::PEER_LIVE => {
                word = bit_cast::<32, 1>(self.peer_live.val().into());
                known = read;
            }
            packet::PEER_NODE => {
                word = self.peer_node.val();
                known = read;
            }
            packet::PEER_EXPECTED => {
                word = self.peer_expected.val();
                known = read;
            }
            SELECTIVE_LOW => {
                word = self.peer_selective.val().get_bits::<32>(0);
                known = read;
            }
            SELECTIVE_HIGH => {
                word = self.peer_selective.val().get_bits::<32>(32);
                known = read;
            }
            packet::FRAMES_HANDLED => {
                word = self.handled.q.val();
                known = read;
            }
            packet::FRAMES_PLACED => {
                word = self.placed.q.val();
                known = read;
            }
            _ => {
                known = (is_drop | is_live) & read & aligned;
                if is_drop {
                    word = self.drops.read_count.val();
                } else if is_live {
                    word = bit_cast::<32, 9>(self.live.val());
                }
            }
        }
        self.word.d.next = word;
        self.known.d.next = known;

        self.csr_answer.next = self.answer.q.val();
        self.rx_enable.next = self.enable.q.val();
        self.spindle_port.next = self.port.q.val();
        self.psn_enable.next = self.filtering.q.val();
        self.peer_index.next = self.asked.q.val();
        self.peer_query.next = self.asking.q.val();
        let positive = (self.stage_positive[2].q.val(), self.stage_positive[1].q.val(), self.stage_positive[0].q.val())
            .cat::<96>();
        let negative = (self.stage_negative[2].q.val(), self.stage_negative[1].q.val(), self.stage_negative[0].q.val())
            .cat::<96>();
        self.word_index.next = self.commit_index.q.val().get_bits::<4>(0);
        self.word_source.next = self.stage_source.q.val();
        self.word_write.next = self.commit_word.q.val();
        self.term_index.next = self.commit_index.q.val();
        self.term_mask.next = self.stage_mask.q.val();
        self.term_low.next = self.stage_low.q.val();
        self.term_high.next = self.stage_high.q.val();
        self.term_write.next = self.commit_term.q.val();
        self.rule_index.next = self.commit_index.q.val().get_bits::<6>(0);
        self.rule_positive.next = positive.get_bits::<MATCH_LITERALS>(0);
        self.rule_negative.next = negative.get_bits::<MATCH_LITERALS>(0);
        self.rule_action.next = self.stage_action.q.val();
        self.rule_write.next = self.commit_rule.q.val();
        self.match_commit.next = self.commit_all.q.val();
    }
}
