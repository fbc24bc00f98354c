//! The hash table: rows of 4 ways, each with a key and its slot.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `lookup_row`; in `sought`, 1 cycle later / out `fits`, `fitting_slot`, `row_has_room` | look-up: with `sought` |
//! | in `next_row`; `candidate` / out `moves` | stash: row of the next cycle's candidate; this cycle's candidate is written to its row |
//! | in `remove`, `remove_slot` | the key of this slot, which is in a row, goes; it does not fit any more, from this cycle on |
//! | in `clear`, `clear_row` | the clearing after reset; no key fits meanwhile |
//!
//! A key that moves is found by `lookup_row` from the next cycle on. No two keys are the same, so at most one way fits. All four
//! ways are read and compared at once: a row is one word of four block RAMs, and a comparison costs less than a tag that selects
//! which key to read.
//!
//! Never stalls. Removing has priority in its way; a key is written to another way, or later. A candidate whose row was written in
//! the cycle before has to come again, because its vacant ways were read before that.

use super::key_stash::Candidate;
use crate::schedule::message::MessageKey;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// Places of a row.
pub const WAYS: usize = 4;

/// What is in a place.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// There is a key.
    pub live: Bit,
    /// Its slot.
    pub slot: Bits<8>,
    /// The key.
    pub key: MessageKey,
}

/// A place.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Location {
    /// Row.
    pub row: Bits<8>,
    /// Way.
    pub way: Bits<2>,
}

/// See the head of this file.
#[block]
pub struct KeyRows {
    /// Row to look in.
    pub lookup_row: Signal<In, Bits<8>>,
    /// What to look for, in the row of the last cycle.
    pub sought: Signal<In, MessageKey>,
    /// A place has it.
    pub fits: Signal<Out, Bit>,
    /// Its slot.
    pub fitting_slot: Signal<Out, Bits<8>>,
    /// A place of the row is vacant.
    pub row_has_room: Signal<Out, Bit>,
    /// Row of the next candidate.
    pub next_row: Signal<In, Bits<8>>,
    /// Key to write.
    pub candidate: PulseSink<Candidate>,
    /// The key is written.
    pub moves: Signal<Out, Bit>,
    /// A key goes.
    pub remove: Signal<In, Bit>,
    /// Its slot.
    pub remove_slot: Signal<In, Bits<8>>,
    /// Clear a row.
    pub clear: Signal<In, Bit>,
    /// Row to clear.
    pub clear_row: Signal<In, Bits<8>>,
    entries: [SdpMemory<Entry, 8>; WAYS],
    /// Which places have a key, for writing.
    live: [SdpMemory<Bit, 8>; WAYS],
    /// Where each slot's key is.
    locations: SdpMemory<Location, 8>,
    /// The row that was looked up, and its places whose key went as it was read: all of them while it is cleared.
    looked_up: DFF<Bits<8>>,
    left: Reg<Bits<4>>,
    /// A place to empty.
    emptying: Reg<Bit>,
    /// A key was written in the last cycle, and to which row.
    moved: Reg<Bit>,
    moved_row: DFF<Bits<8>>,
    _last: usize,
}

impl KeyRows {
    /// A table of `rows` rows, a power of two, and as many slots, in memories of this kind.
    pub fn new(rows: usize, style: RamStyle) -> Self {
        Self {
            entries: std::array::from_fn(|_| SdpMemory::with_depth(style, 1, rows)),
            live: std::array::from_fn(|_| SdpMemory::with_depth(style, 1, rows)),
            locations: SdpMemory::with_depth(style, 1, rows),
            left: Reg::new(!bits::<4>(0)),
            _last: rows - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl KeyRows {
    fn update(&mut self) {
        let candidate = self.candidate.val();
        let lookup_row = self.lookup_row.val() & (self._last as u64);
        let write_row = candidate.row & (self._last as u64);

        // Remove: find the place, then empty it.
        self.locations.read(self.remove.val(), self.remove_slot.val());
        self.emptying.d.next = self.remove.val();
        let emptied = self.locations.read_data.val();

        // Look up: read the row. A way that is emptied as it is read, or one cycle later, looks alive.
        self.looked_up.d.next = lookup_row;
        let leaves_now = self.emptying.q.val() & (emptied.row == lookup_row);
        let left_before = self.emptying.q.val() & (emptied.row == self.looked_up.q.val());

        // Compare its keys, and choose the slot; and the ways that can be written: vacant ones that are not being emptied.
        let mut left: Bits<4> = bits::<4>(0);
        let mut fits: Bits<4> = bits::<4>(0);
        let mut fitting_slot: Bits<8> = bits::<8>(0);
        let mut full: Bit = true;
        let mut vacancies: Bits<4> = bits::<4>(0);
        for w in 0..WAYS {
            self.entries[w].read(true, lookup_row);
            let entry = self.entries[w].read_data.val();
            let this_way = emptied.way == w as u64;
            left = left.replace_bit(w, (leaves_now & this_way) | self.clear.val());
            let gone = self.left.q.val().get_bit(w)
                | (left_before & this_way)
                | (self.remove.val() & (entry.slot == self.remove_slot.val()));
            let same = eq(entry.key, self.sought.val()) & entry.live & !gone;
            fits = fits.replace_bit(w, same);
            fitting_slot = fitting_slot | (repeat::<8>(same) & entry.slot);
            full = full & entry.live;
            self.live[w].read(true, self.next_row.val() & (self._last as u64));
            vacancies = vacancies.replace_bit(w, !self.live[w].read_data.val() & !(self.emptying.q.val() & this_way));
        }
        self.left.d.next = left;
        self.fits.next = fits.any();
        self.fitting_slot.next = fitting_slot;
        self.row_has_room.next = !full;

        // Write: the first of these ways.
        let known = !self.moved.q.val() | (self.moved_row.q.val() != write_row);
        let moves = self.candidate.valid.val() & vacancies.any() & known;
        self.moves.next = moves;
        self.moved.d.next = moves;
        self.moved_row.d.next = write_row;
        let way = if vacancies.get_bit(0) {
            bits::<2>(0)
        } else if vacancies.get_bit(1) {
            bits::<2>(1)
        } else if vacancies.get_bit(2) {
            bits::<2>(2)
        } else {
            bits::<2>(3)
        };
        for w in 0..WAYS {
            let empties = (self.emptying.q.val() & (emptied.way == w as u64)) | self.clear.val();
            let written = moves & (way == w as u64);
            let row = if self.clear.val() {
                self.clear_row.val()
            } else if empties {
                emptied.row
            } else {
                write_row
            };
            self.entries[w].write_enable.next = written | empties;
            self.entries[w].write_address.next = row;
            self.entries[w].write_data.next = Entry { live: !empties, slot: candidate.slot, key: candidate.key };
            self.live[w].write(written | empties, row, !empties);
        }
        self.locations.write(moves, candidate.slot, Location { row: write_row, way });
    }
}
