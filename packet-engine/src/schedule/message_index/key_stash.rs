//! The keys that are not in a row yet: new ones, and those whose row is full.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `sought` / out `hit`, `hit_slot` | look-up, second stage: in the same cycle; `hit_slot` is 0 without a hit |
//! | in `insert`, `insert_key`, `insert_row`, `insert_slot` | a new key; found from the next cycle on; only while an entry is free |
//! | in `remove`, `remove_slot` / out `remove_here` | the key of this slot goes, at once, also for `sought` of this cycle; it was here |
//! | out `next_row`; `candidate` / in `moves` | rows: row of the next cycle's candidate; this cycle's candidate, and that it is written |
//! | out `room`, `ample_room` | 4, 6 entries are free |
//!
//! A key that moves stays for one more cycle, so that a look-up whose row was read before the write finds it here. One key is
//! tried per cycle: one that was not tried yet, else the others again in turn, so keys that are stuck do not delay new ones.

use crate::schedule::message::MessageKey;
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// Places.
pub const ENTRIES: usize = 8;

/// A key on its way to a row.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Row that it belongs to.
    pub row: Bits<8>,
    /// Its slot.
    pub slot: Bits<8>,
    /// The key.
    pub key: MessageKey,
}

/// See the head of this file.
#[block]
pub struct KeyStash {
    /// Key to look for.
    pub sought: Signal<In, MessageKey>,
    /// The stash has the key.
    pub hit: Signal<Out, Bit>,
    /// Its slot.
    pub hit_slot: Signal<Out, Bits<8>>,
    /// A new key.
    pub insert: Signal<In, Bit>,
    /// The key.
    pub insert_key: Signal<In, MessageKey>,
    /// Its row.
    pub insert_row: Signal<In, Bits<8>>,
    /// Its slot.
    pub insert_slot: Signal<In, Bits<8>>,
    /// A key goes.
    pub remove: Signal<In, Bit>,
    /// Its slot.
    pub remove_slot: Signal<In, Bits<8>>,
    /// The key was in the stash only.
    pub remove_here: Signal<Out, Bit>,
    /// Row of the key that is tried in the next cycle.
    pub next_row: Signal<Out, Bits<8>>,
    /// Key to put into its row.
    pub candidate: Pulse<Candidate>,
    /// The key is written to its row.
    pub moves: Signal<In, Bit>,
    /// Four places are free.
    pub room: Signal<Out, Bit>,
    /// Six places are free.
    pub ample_room: Signal<Out, Bit>,
    used: Reg<Bits<8>>,
    tried: Reg<Bits<8>>,
    /// The place whose row is read in this cycle.
    chosen: Reg<Bits<8>>,
    /// The place that is tried in this cycle.
    trying: Reg<Bits<8>>,
    /// The place whose key was written to its row in the last cycle.
    moved: Reg<Bits<8>>,
    keys: [DFF<MessageKey>; ENTRIES],
    slots: [DFF<Bits<8>>; ENTRIES],
    /// All of this once more, and the rows, to be read one at a time.
    entries: LutMemory<Candidate, 3>,
    chosen_number: DFF<Bits<3>>,
    current: DFF<Candidate>,
}

#[hdl]
impl KeyStash {
    fn update(&mut self) {
        let used = self.used.q.val();

        // Remove and look up.
        let mut leaving: Bits<8> = bits::<8>(0);
        let mut hits: Bits<8> = bits::<8>(0);
        let mut hit_slot: Bits<8> = bits::<8>(0);
        for i in 0..ENTRIES {
            let slot = self.slots[i].q.val();
            let leaves = used.get_bit(i) & self.remove.val() & (slot == self.remove_slot.val());
            let same = used.get_bit(i) & !leaves & eq(self.keys[i].q.val(), self.sought.val());
            leaving = leaving.replace_bit(i, leaves);
            hits = hits.replace_bit(i, same);
            // At most one place holds a key, so the numbers can be OR-ed.
            hit_slot = hit_slot | (repeat::<8>(same) & slot);
        }
        self.hit.next = hits.any();
        self.hit_slot.next = hit_slot;
        self.remove_here.next = (leaving & !self.moved.q.val()).any();

        // Insert.
        let target = lowest_set(!used) & repeat::<8>(self.insert.val());
        let target_number = first_set::<3, 8>(!used);
        for i in 0..ENTRIES {
            if target.get_bit(i) {
                self.keys[i].d.next = self.insert_key.val();
                self.slots[i].d.next = self.insert_slot.val();
            }
        }
        self.entries.write_enable.next = self.insert.val();
        self.entries.write_address.next = target_number;
        self.entries.write_data.next =
            Candidate { row: self.insert_row.val(), slot: self.insert_slot.val(), key: self.insert_key.val() };
        self.used.d.next = (used & !leaving & !self.moved.q.val()) | target;

        // Choose whose row is read in the next cycle: a key that was not tried, else the one that comes in just now, else one
        // that was.
        let chosen = self.chosen.q.val();
        let waiting = used & !self.moved.q.val() & !self.trying.q.val() & !chosen;
        let fresh = waiting & !self.tried.q.val();
        let comes = self.insert.val() & !fresh.any();
        let oldest = if fresh.any() { fresh } else { waiting };
        let next = if comes { target } else { lowest_set(oldest) };
        // It may leave just now, which is late.
        self.chosen.d.next = next & !leaving;
        self.chosen_number.d.next = if comes { target_number } else { first_set::<3, 8>(oldest) };
        let again = if fresh.any() | comes { self.tried.q.val() } else { bits::<8>(0) };
        self.tried.d.next = (again & !target) | next;

        // Read its row; it is tried in the next cycle.
        self.entries.read_address.next = self.chosen_number.q.val();
        let current = self.entries.read_data.val();
        self.current.load(chosen.any(), current);
        self.next_row.next = current.row;
        self.trying.d.next = chosen & !leaving;
        // It may leave before it is written. Compared here, and not taken from `leaving`: on its way to the rows it is late.
        let tried = self.current.q.val();
        let stays = !self.remove.val() | (tried.slot != self.remove_slot.val());
        self.candidate.offer(self.trying.q.val().any() & stays, tried);
        self.moved.d.next = self.trying.q.val() & repeat::<8>(self.moves.val());

        // Room, from the numbers of free places in each half.
        let low = count_of(!used.get_bits::<4>(0));
        let high = count_of(!used.get_bits::<4>(4));
        let total = zext::<4, 3>(low) + zext::<4, 3>(high);
        self.room.next = total >= 4;
        self.ample_room.next = total >= 6;
    }
}

/// Set bits of `x`.
#[hdl_fn]
pub fn count_of(x: Bits<4>) -> Bits<3> {
    zext::<3, 1>(x.get_bits::<1>(0))
        + zext::<3, 1>(x.get_bits::<1>(1))
        + zext::<3, 1>(x.get_bits::<1>(2))
        + zext::<3, 1>(x.get_bits::<1>(3))
}
