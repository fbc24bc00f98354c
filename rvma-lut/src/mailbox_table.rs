//! Mailbox table: {process, address} → mailbox, exact, four ways, one question per cycle.
//!
//! | neighbour | ports |
//! |---|---|
//! | `lookup` | in `request`, `request_valid`; out `result`, `result_valid`, `ready` |
//!
//! No handshake: a request is taken in every cycle once `ready` is high, and its result appears [`LATENCY`] cycles later.
//! `ready` rises when all sets have been emptied after reset (as many cycles as there are sets).
//!
//! | cycle | what |
//! |---|---|
//! | 0 | the key is hashed |
//! | 1 | the four ways of the set are read (`INSERT`, `REMOVE`: one is written) |
//! | 3 | keys compared |
//! | 4 | way encoded; facts of the mailbox read |
//! | 6 | the packet's key compared |
//! | 7 | result |
//!
//! A mailbox number is {set, way}, so the number alone finds the entry again. No address is hashed into the last set: its four places are the stash,
//! for mailboxes of any set that is full, and their keys stand in registers, which every look-up compares. An entry is never moved and
//! never lost: when the four ways of a set and the stash are taken, `PROBE` says `full` and the doorbell answers TABLE_FULL. `INSERT` writes entry and
//! facts in the cycle in which a look-up would read the set; look-ups behind it hit, those before it miss. A number is given out
//! again and again; the generation, counted on by `CLOSING`, tells its mailboxes apart, so that an old handle finds nothing.

use crate::types::{TableRequest, TableResult, CLOSING, INSERT, LOOKUP, NUMBER, PROBE, REMOVE};
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// Cycles from `request_valid` to `result_valid`.
pub const LATENCY: usize = 7;
/// Ways of a set.
pub const WAYS: usize = 4;

/// A way of a set.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// Taken.
    pub open: Bit,
    /// Process.
    pub pid: Bits<16>,
    /// Mailbox address.
    pub addr: Bits<64>,
}

/// What is fixed when a mailbox is opened.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Key that packets must show.
    pub key: Bits<32>,
    /// `mailbox_mode`, and `MODE_CLOSING`.
    pub mode: Bits<9>,
    /// TAGGED: its window.
    pub window: Bits<9>,
    /// Which of the mailboxes that had this number.
    pub generation: Bits<4>,
}

/// All bits of a key folded onto ten, so that addresses that differ in one bit, or processes that use the same address,
/// fall into different sets. A table with fewer sets folds the ten once more.
#[hdl_fn]
fn hash(pid: Bits<16>, addr: Bits<64>) -> Bits<10> {
    let low = addr.get_bits::<10>(0) ^ addr.get_bits::<10>(10) ^ addr.get_bits::<10>(20);
    let high = addr.get_bits::<10>(30) ^ addr.get_bits::<10>(40) ^ addr.get_bits::<10>(50);
    let top = bit_cast::<10, 4>(addr.get_bits::<4>(60)) ^ (pid.get_bits::<6>(0), pid.get_bits::<4>(6)).cat::<10>();
    low ^ high ^ top ^ bit_cast::<10, 6>(pid.get_bits::<6>(10))
}

/// The lowest place with a one.
#[hdl_fn]
fn first_of(marks: Bits<4>) -> Bits<2> {
    if marks.get_bit(0) {
        bits::<2>(0)
    } else if marks.get_bit(1) {
        bits::<2>(1)
    } else if marks.get_bit(2) {
        bits::<2>(2)
    } else {
        bits::<2>(3)
    }
}

/// The table. See the module text.
#[derive(LogicBlock, Default)]
pub struct MailboxTable {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Question.
    pub request: Signal<In, TableRequest>,
    /// A question is asked.
    pub request_valid: Signal<In, Bit>,
    /// Answer to the question of [`LATENCY`] cycles ago.
    pub result: Signal<Out, TableResult>,
    /// There was one.
    pub result_valid: Signal<Out, Bit>,
    /// The table has been emptied.
    pub ready: Signal<Out, Bit>,
    ways: [SdpMemory<Way, 10>; WAYS],
    facts: SdpMemory<Facts, 12>,
    /// The request in stages 1 to 6.
    stage: [DFF<TableRequest>; 6],
    valid: [Reg<Bit>; 7],
    set: [DFF<Bits<10>>; 4],
    hits: DFF<Bits<4>>,
    taken: DFF<Bits<4>>,
    /// Keys of the mailboxes of the last set.
    stash: [DFF<Way>; WAYS],
    stash_open: [Reg<Bit>; WAYS],
    stash_hits: DFF<Bits<4>>,
    stash_taken: DFF<Bits<4>>,
    found: [DFF<TableResult>; 3],
    clearing: Reg<Bit>,
    clear_set: Reg<Bits<10>>,
    hit: [Signal<Local, Bit>; WAYS],
    stash_hit: [Signal<Local, Bit>; WAYS],
    _last_set: u64,
    _set_bits: u64,
}

impl MailboxTable {
    /// A table of `mailboxes` entries, a power of two from 64 to 4096.
    pub fn new(mailboxes: usize) -> Self {
        assert!(
            mailboxes.is_power_of_two() && (64..=4096).contains(&mailboxes),
            "MailboxTable: {mailboxes} mailboxes cannot be had; choose a power of two from 64 to 4096"
        );
        let sets = mailboxes / WAYS;
        Self {
            ways: std::array::from_fn(|_| SdpMemory::with_depth(RamStyle::Block, 2, sets)),
            facts: SdpMemory::with_depth(RamStyle::Block, 2, mailboxes),
            clearing: Reg::new(true),
            _last_set: sets as u64 - 1,
            _set_bits: sets.trailing_zeros() as u64,
            ..Default::default()
        }
    }
}

impl Logic for MailboxTable {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, valid, clearing, clear_set, stash_open);
        dffs!(self, clock, stage, set, hits, taken, stash, stash_hits, stash_taken, found);

        // Cycle 0: hash. A mailbox number names its set directly.
        let asked = self.request.val();
        self.stage[0].d.next = asked;
        self.valid[0].d.next = self.request_valid.val();
        let folded = hash(asked.pid, asked.addr);
        let mixed = folded ^ (folded >> self._set_bits) ^ (folded >> (2 * self._set_bits));
        let hashed = mixed & bits::<10>(self._last_set);
        let last = bits::<10>(self._last_set);
        self.set[0].d.next = if hashed == last { bits::<10>(0) } else { hashed };
        if (asked.op != LOOKUP) & (asked.op != PROBE) {
            self.set[0].d.next = asked.mailbox.get_bits::<10>(2);
        }
        for i in 1..6 {
            self.stage[i].d.next = self.stage[i - 1].q.val();
        }
        for i in 1..7 {
            self.valid[i].d.next = self.valid[i - 1].q.val();
        }
        for i in 1..4 {
            self.set[i].d.next = self.set[i - 1].q.val();
        }

        // Cycle 1: read the set, or write one way of it. After reset: empty all sets.
        let first = self.stage[0].q.val();
        let insert = self.valid[0].q.val() & (first.op == INSERT);
        let changes = insert | (self.valid[0].q.val() & (first.op == REMOVE));
        if self.clearing.q.val() {
            self.clear_set.d.next = self.clear_set.q.val() + 1;
            self.clearing.d.next = self.clear_set.q.val() != bits::<10>(self._last_set);
        }
        for i in 0..WAYS {
            self.ways[i].clock.next = self.clock.val();
            self.ways[i].read_enable.next = self.valid[0].q.val();
            self.ways[i].read_address.next = self.set[0].q.val();
            self.ways[i].write_enable.next =
                self.clearing.q.val() | (changes & (first.mailbox.get_bits::<2>(0) == bits::<2>(i as u64)));
            self.ways[i].write_address.next = self.set[0].q.val();
            self.ways[i].write_data.next =
                Way { open: !self.clearing.q.val() & insert, pid: first.pid, addr: first.addr };
            if self.clearing.q.val() {
                self.ways[i].write_address.next = self.clear_set.q.val();
            }
            if changes & (self.set[0].q.val() == last) & (first.mailbox.get_bits::<2>(0) == bits::<2>(i as u64)) {
                self.stash_open[i].d.next = insert;
                self.stash[i].d.next = Way { open: true, pid: first.pid, addr: first.addr };
            }
        }

        // Cycle 3: compare.
        let third = self.stage[2].q.val();
        for i in 0..WAYS {
            let entry = self.ways[i].read_data.val();
            let named = third.mailbox.get_bits::<2>(0) == bits::<2>(i as u64);
            let right = if third.op == NUMBER { named } else { entry.addr == third.addr };
            self.hit[i].next = entry.open & (entry.pid == third.pid) & right;
            // A number leads to the entry itself.
            let held = self.stash[i].q.val();
            self.stash_hit[i].next =
                self.stash_open[i].q.val() & (third.op != NUMBER) & (held.pid == third.pid) & (held.addr == third.addr);
        }
        self.stash_hits.d.next =
            (self.stash_hit[3].val(), self.stash_hit[2].val(), self.stash_hit[1].val(), self.stash_hit[0].val())
                .cat::<4>();
        self.stash_taken.d.next = (
            self.stash_open[3].q.val(),
            self.stash_open[2].q.val(),
            self.stash_open[1].q.val(),
            self.stash_open[0].q.val(),
        )
            .cat::<4>();
        self.hits.d.next = (self.hit[3].val(), self.hit[2].val(), self.hit[1].val(), self.hit[0].val()).cat::<4>();
        self.taken.d.next = (
            self.ways[3].read_data.val().open,
            self.ways[2].read_data.val().open,
            self.ways[1].read_data.val().open,
            self.ways[0].read_data.val().open,
        )
            .cat::<4>();

        // Cycle 4: the way that hit, or the first free one, of the set or of the stash.
        let hits = self.hits.q.val();
        let stash_hits = self.stash_hits.q.val();
        let crowded = self.taken.q.val().all();
        let stashed = stash_hits.any() | (!hits.any() & crowded);
        let way = first_of(if hits.any() { hits } else { !self.taken.q.val() });
        let stash_way = first_of(if stash_hits.any() { stash_hits } else { !self.stash_taken.q.val() });
        let number = if stashed { (last, stash_way).cat::<12>() } else { (self.set[3].q.val(), way).cat::<12>() };
        self.found[0].d.next = TableResult {
            hit: hits.any() | stash_hits.any(),
            key_fits: false,
            full: crowded & self.stash_taken.q.val().all(),
            mailbox: number,
            mode: bits::<9>(0),
            window: bits::<9>(0),
            generation: bits::<4>(0),
        };
        self.facts.clock.next = self.clock.val();
        self.facts.read_enable.next = self.valid[3].q.val();
        self.facts.read_address.next = number;
        self.facts.write_enable.next = insert | (self.valid[0].q.val() & (first.op == CLOSING));
        self.facts.write_address.next = first.mailbox;
        self.facts.write_data.next =
            Facts { key: first.key, mode: first.mode, window: first.window, generation: first.generation };

        // Cycle 6: compare the key.
        self.found[1].d.next = self.found[0].q.val();
        let facts = self.facts.read_data.val();
        self.found[2].d.next = self.found[1].q.val();
        self.found[2].d.next.key_fits = facts.key == self.stage[5].q.val().key;
        self.found[2].d.next.mode = facts.mode;
        self.found[2].d.next.window = facts.window;
        self.found[2].d.next.generation = facts.generation;
        let asks = self.stage[5].q.val();
        let outdated = (asks.op == NUMBER) & (facts.generation != asks.generation);
        self.found[2].d.next.hit = self.found[1].q.val().hit & !outdated;

        self.result.next = self.found[2].q.val();
        self.result_valid.next = self.valid[6].q.val();
        self.ready.next = !self.clearing.q.val();
    }
}
