//! Mailbox table: {process, address} → mailbox, exact, four ways, one request per cycle.
//!
//! | neighbour | ports |
//! |---|---|
//! | lookup | in `request` (pulse); out `result` (pulse), `ready` |
//!
//! A request is taken in every cycle in which `ready` is high; its result appears [`LATENCY`] cycles later. `ready`
//! rises when all sets have been emptied after reset (as many cycles as there are sets), and falls for a few cycles
//! when a mailbox is moved.
//!
//! | cycle | step |
//! |---|---|
//! | 0 | the key is hashed, differently for each way; `INSERT`: the mailbox enters the [`Stash`] |
//! | 1 | the place in each way is read; facts of a mailbox are written |
//! | 3 | keys of the places and of the stash are compared |
//! | 4 | number of the matching mailbox; its facts are read |
//! | 6 | the packet's key is compared |
//! | 7 | result |
//!
//! A new mailbox is found from its `INSERT` on, in the stash, which makes room for it in one of its four places. The
//! stash moves other mailboxes for that; look-ups find all of them meanwhile. So at random addresses the table is
//! usable to 95 % load before a `PROBE` returns `full`, and the doorbell TABLE_FULL. `INSERT` and `CLOSING` write the
//! facts before a later look-up reads them. `REMOVE` clears the facts at once, so no look-up finds the mailbox, and has
//! the stash erase it. A number is reused; the generation, which `CLOSING` increments, distinguishes the mailboxes of a
//! number, so an old handle finds nothing.

use crate::lookup::stash::{Stash, Way};
use crate::prelude::*;

/// Cycles from `request` to `result`.
pub const LATENCY: usize = 7;
/// Ways of a set.
pub const WAYS: usize = 4;

/// Facts that are fixed when a mailbox is opened.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The mailbox is open.
    pub open: Bit,
    /// Process.
    pub pid: Bits<6>,
    /// Key that packets must carry.
    pub key: Bits<32>,
    /// `mailbox_mode`, and `MODE_CLOSING`.
    pub mode: Bits<9>,
    /// TAGGED: window.
    pub window: Bits<9>,
    /// Generation of the mailbox number.
    pub generation: Bits<4>,
}

/// Sets of a key in the four ways. All bits of the key are folded onto ten, rotated differently for each way, so that
/// keys that share a place in one way do not in another; nonlinear terms keep regular addresses from filling the same
/// few places in all ways. A table with fewer sets folds the ten bits once more.
#[hdl_fn]
fn hashes(pid: Bits<6>, addr: Bits<64>) -> Bits<40> {
    // Each part twice, so that a rotation is a selection of ten bits.
    let a = (addr.get_bits::<10>(0), addr.get_bits::<10>(0)).cat::<20>();
    let b = (addr.get_bits::<10>(10), addr.get_bits::<10>(10)).cat::<20>();
    let c = (addr.get_bits::<10>(20), addr.get_bits::<10>(20)).cat::<20>();
    let d = (addr.get_bits::<10>(30), addr.get_bits::<10>(30)).cat::<20>();
    let e = (addr.get_bits::<10>(40), addr.get_bits::<10>(40)).cat::<20>();
    let f = (addr.get_bits::<10>(50), addr.get_bits::<10>(50)).cat::<20>();
    let g = (bits::<6>(0), addr.get_bits::<4>(60), bits::<6>(0), addr.get_bits::<4>(60)).cat::<20>();
    let p = (bits::<4>(0), pid, bits::<4>(0), pid).cat::<20>();
    let way_0 = a.get_bits::<10>(0)
        ^ b.get_bits::<10>(0)
        ^ c.get_bits::<10>(0)
        ^ d.get_bits::<10>(0)
        ^ e.get_bits::<10>(0)
        ^ f.get_bits::<10>(0)
        ^ g.get_bits::<10>(0)
        ^ (p.get_bits::<10>(0) ^ p.get_bits::<10>(7) ^ p.get_bits::<10>(3));
    let way_1 = a.get_bits::<10>(0)
        ^ b.get_bits::<10>(1)
        ^ c.get_bits::<10>(2)
        ^ d.get_bits::<10>(3)
        ^ e.get_bits::<10>(4)
        ^ f.get_bits::<10>(5)
        ^ g.get_bits::<10>(6)
        ^ (p.get_bits::<10>(9) ^ p.get_bits::<10>(8) ^ p.get_bits::<10>(4));
    let way_2 = a.get_bits::<10>(0)
        ^ b.get_bits::<10>(2)
        ^ c.get_bits::<10>(4)
        ^ d.get_bits::<10>(6)
        ^ e.get_bits::<10>(8)
        ^ f.get_bits::<10>(0)
        ^ g.get_bits::<10>(2)
        ^ (p.get_bits::<10>(0) ^ p.get_bits::<10>(5) ^ p.get_bits::<10>(4));
    let way_3 = a.get_bits::<10>(0)
        ^ b.get_bits::<10>(0)
        ^ c.get_bits::<10>(2)
        ^ d.get_bits::<10>(3)
        ^ e.get_bits::<10>(3)
        ^ f.get_bits::<10>(5)
        ^ g.get_bits::<10>(6)
        ^ (p.get_bits::<10>(8) ^ p.get_bits::<10>(6) ^ p.get_bits::<10>(1));
    let turned_0 = (way_0, way_0).cat::<20>();
    let turned_1 = (way_1, way_1).cat::<20>();
    let turned_2 = (way_2, way_2).cat::<20>();
    let turned_3 = (way_3, way_3).cat::<20>();
    (
        way_3 ^ (turned_0.get_bits::<10>(3) & turned_1.get_bits::<10>(8)),
        way_2 ^ (turned_0.get_bits::<10>(9) & turned_3.get_bits::<10>(6)),
        way_1 ^ (turned_0.get_bits::<10>(7) & turned_2.get_bits::<10>(5)),
        way_0,
    )
        .cat::<40>()
}

/// The table. See the module text.
#[block]
pub struct MailboxTable {
    /// Request.
    pub request: PulseSink<TableRequest>,
    /// Result of the request [`LATENCY`] cycles before.
    pub result: Pulse<TableResult>,
    /// A request may come in this cycle.
    pub ready: Signal<Out, Bit>,
    ways: [SdpMemory<Way, 10>; WAYS],
    facts: SdpMemory<Facts, 12>,
    stash: Stash,
    /// The request in stages 1 to 6.
    stage: [DFF<TableRequest>; 6],
    valid: [Reg<Bit>; 7],
    /// The ways are read for the stash.
    stash_reads: Reg<Bit>,
    sets: [DFF<Bits<10>>; WAYS],
    hits: DFF<Bits<4>>,
    numbers: [DFF<Bits<12>>; WAYS],
    stash_hit: DFF<Bit>,
    stash_number: DFF<Bits<12>>,
    found: [DFF<TableResult>; 3],
    clearing: Reg<Bit>,
    clear_set: Reg<Bits<10>>,
    same: [Signal<Local, Bit>; WAYS],
    hit: [Signal<Local, Bit>; WAYS],
    _last_set: u64,
    _set_bits: u64,
}

impl MailboxTable {
    /// A table of `mailboxes` entries, a power of two from 64 to 4096.
    pub fn new(mailboxes: usize) -> Self {
        assert!(
            mailboxes.is_power_of_two() && (64..=4096).contains(&mailboxes),
            "MailboxTable: {mailboxes} mailboxes are not possible; choose a power of two from 64 to 4096"
        );
        let sets = mailboxes / WAYS;
        Self {
            ways: std::array::from_fn(|_| SdpMemory::with_depth(RamStyle::sparing(sets), 2, sets)),
            facts: SdpMemory::with_depth(RamStyle::Block, 2, mailboxes),
            stash: Stash::new(mailboxes),
            clearing: Reg::new(true),
            _last_set: sets as u64 - 1,
            _set_bits: sets.trailing_zeros() as u64,
            ..Self::blank()
        }
    }
}

#[hdl]
impl MailboxTable {
    fn update(&mut self) {
        self.hash();
        self.compare();
        self.choose();
    }

    /// Cycle 0: hash. The stash goes first.
    fn hash(&mut self) {
        let request_0 = self.request.val();
        let stash_reads = self.stash.fetch_ways.val();
        self.ready.next = !self.clearing.q.val() & !stash_reads & self.stash.room_now.val();
        self.stage[0].d.next = request_0;
        self.valid[0].d.next = self.request.valid.val();
        self.stash_reads.d.next = stash_reads;
        let request_6 = self.request.valid.val();
        let key =
            Way { open: true, pid: request_0.pid.get_bits::<6>(0), addr: request_0.addr, number: request_0.mailbox };
        self.stash.insert.next = request_6 & (request_0.op == INSERT);
        self.stash.entry.next = key;
        self.stash.remove.next = request_6 & (request_0.op == REMOVE);
        self.stash.removed.next = request_0.mailbox;
        let oldest = self.stash.held[0].val();
        if request_6 | stash_reads {
            let pid = if stash_reads { oldest.pid } else { key.pid };
            let addr = if stash_reads { oldest.addr } else { request_0.addr };
            let all = hashes(pid, addr);
            for i in 0..WAYS {
                let hash = all.get_bits::<10>(i * 10);
                let folded = hash ^ (hash >> self._set_bits) ^ (hash >> (2 * self._set_bits));
                self.sets[i].d.next = folded & bits::<10>(self._last_set);
            }
        }
        // A stage moves only for a request, so that it is made of registers.
        for i in 1..6 {
            self.stage[i].load(self.valid[i - 1].q.val(), self.stage[i - 1].q.val());
        }
        for i in 1..7 {
            self.valid[i].d.next = self.valid[i - 1].q.val();
        }

        // Cycle 1: the places are read, while the stash may write. After reset all sets are emptied.
        if self.clearing.q.val() {
            self.clear_set.d.next = self.clear_set.q.val() + 1;
            self.clearing.d.next = self.clear_set.q.val() != bits::<10>(self._last_set);
        }
        for i in 0..WAYS {
            self.ways[i].read(self.valid[0].q.val() | self.stash_reads.q.val(), self.sets[i].q.val());
            self.ways[i].write_enable.next =
                self.clearing.q.val() | (self.stash.write.val() & (self.stash.write_way.val() == bits::<2>(i)));
            self.ways[i].write_address.next = self.stash.write_set.val();
            self.ways[i].write_data.next = self.stash.write_entry.val();
            if self.clearing.q.val() {
                self.ways[i].write_address.next = self.clear_set.q.val();
                self.ways[i].write_data.next.open = false;
            }
            self.stash.sets[i].next = self.sets[i].q.val();
            self.stash.way_entries[i].next = self.ways[i].read_data.val();
        }
    }

    /// Cycle 3: compares the keys.
    fn compare(&mut self) {
        let third = self.stage[2].q.val();
        let known = !third.pid.get_bits::<10>(6).any();
        let pid = third.pid.get_bits::<6>(0);
        for i in 0..WAYS {
            let entry = self.ways[i].read_data.val();
            self.hit[i].next = entry.open & known & (entry.pid == pid) & (entry.addr == third.addr);
            self.numbers[i].d.next = entry.number;
            let held = self.stash.held[i].val();
            self.same[i].next = self.stash.held_open[i].val() & known & (held.pid == pid) & (held.addr == third.addr);
        }
        self.hits.d.next = (self.hit[3].val(), self.hit[2].val(), self.hit[1].val(), self.hit[0].val()).cat::<4>();
        self.stash_hit.d.next = self.same[0].val() | self.same[1].val() | self.same[2].val() | self.same[3].val();
        self.stash_number.d.next = (repeat::<12>(self.same[0].val()) & self.stash.held[0].val().number)
            | (repeat::<12>(self.same[1].val()) & self.stash.held[1].val().number)
            | (repeat::<12>(self.same[2].val()) & self.stash.held[2].val().number)
            | (repeat::<12>(self.same[3].val()) & self.stash.held[3].val().number);
    }

    /// Cycle 4: chooses the mailbox. A mailbox that moves may be found twice, with the same number.
    fn choose(&mut self) {
        let first = self.stage[0].q.val();
        let hits = self.hits.q.val();
        let fourth = self.stage[3].q.val();
        let by_number = fourth.op == NUMBER;
        let hit = hits.any() | self.stash_hit.q.val();
        let found = (repeat::<12>(hits.get_bit(0)) & self.numbers[0].q.val())
            | (repeat::<12>(hits.get_bit(1)) & self.numbers[1].q.val())
            | (repeat::<12>(hits.get_bit(2)) & self.numbers[2].q.val())
            | (repeat::<12>(hits.get_bit(3)) & self.numbers[3].q.val())
            | (repeat::<12>(self.stash_hit.q.val()) & self.stash_number.q.val());
        let number = if by_number {
            fourth.mailbox
        } else if hit {
            found
        } else {
            self.stash.next_number.val()
        };
        if self.valid[3].q.val() {
            self.found[0].d.next = TableResult {
                // A number that was never given out has no facts.
                hit: if by_number { bit_cast::<13, 12>(fourth.mailbox) < self.stash.fresh.val() } else { hit },
                full: self.stash.full.val(),
                busy: self.stash.busy.val(),
                mailbox: number,
                ..TableResult::default()
            };
        }
        self.facts.read(self.valid[3].q.val(), number);
        self.facts.write_enable.next =
            self.valid[0].q.val() & ((first.op == INSERT) | (first.op == CLOSING) | (first.op == REMOVE));
        self.facts.write_address.next = first.mailbox;
        self.facts.write_data.next = Facts {
            open: first.op != REMOVE,
            pid: first.pid.get_bits::<6>(0),
            key: first.key,
            mode: first.mode,
            window: first.window,
            generation: first.generation,
        };

        // Cycle 6: compares the key.
        self.found[1].load(self.valid[4].q.val(), self.found[0].q.val());
        let facts = self.facts.read_data.val();
        let request_6 = self.stage[5].q.val();
        let other = (facts.generation != request_6.generation) | (facts.pid != request_6.pid.get_bits::<6>(0));
        let right = facts.open & !((request_6.op == NUMBER) & other);
        if self.valid[5].q.val() {
            self.found[2].d.next = self.found[1].q.val();
            self.found[2].d.next.key_fits = facts.key == request_6.key;
            self.found[2].d.next.mode = facts.mode;
            self.found[2].d.next.window = facts.window;
            self.found[2].d.next.generation = facts.generation;
            self.found[2].d.next.hit = self.found[1].q.val().hit & right;
        }

        self.result.offer(self.valid[6].q.val(), self.found[2].q.val());
    }
}
