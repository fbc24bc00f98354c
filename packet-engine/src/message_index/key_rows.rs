//! The hash table: rows of 4 places, each with the tag of a key and its slot.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `lookup_hash` / out `fits`, `fitting_slot`, `row_has_room` | look-up: 1 cycle later, one choice behind registers |
//! | in `next_row`; `candidate`, `candidate_valid` / out `moves` | stash: the row of the next cycle's candidate; `moves` = it is written to its row in this cycle; seen by `lookup_hash` from the next cycle on |
//! | in `remove`, `remove_slot` | this slot's key goes, which is in a row; not seen by `lookup_hash` from 2 cycles later on |
//! | in `clear`, `clear_row` | the clearing behind reset; nothing fits meanwhile |
//!
//! No two places of a row have the same tag, so at most one fits; a key whose tag is taken waits in the stash as if the row were full.
//! Never stalls. Removing has the way it needs; a key is written to another way, or later. A candidate whose row was written in the
//! cycle before has to come again: what it is judged by was read before that.

use super::key_stash::Candidate;
use spindle_blocks::ram::{LutMemory, RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// Places of a row.
pub const WAYS: usize = 4;

/// What a place says of its key.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Tag {
    /// There is one.
    pub live: Bit,
    /// The high half of its hash.
    pub tag: Bits<8>,
}

/// A place.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Row.
    pub row: Bits<8>,
    /// Way.
    pub way: Bits<2>,
}

/// See the head of this file.
#[derive(LogicBlock)]
pub struct KeyRows {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Hash to look for.
    pub lookup_hash: Signal<In, Bits<16>>,
    /// A place has its tag.
    pub fits: Signal<Out, Bit>,
    /// That place's slot.
    pub fitting_slot: Signal<Out, Bits<8>>,
    /// A key with this hash can be written.
    pub row_has_room: Signal<Out, Bit>,
    /// Row of the next candidate.
    pub next_row: Signal<In, Bits<8>>,
    /// Key to write.
    pub candidate: Signal<In, Candidate>,
    /// There is one.
    pub candidate_valid: Signal<In, Bit>,
    /// It is written.
    pub moves: Signal<Out, Bit>,
    /// A key goes.
    pub remove: Signal<In, Bit>,
    /// Its slot.
    pub remove_slot: Signal<In, Bits<8>>,
    /// Clear a row.
    pub clear: Signal<In, Bit>,
    /// Which.
    pub clear_row: Signal<In, Bits<8>>,
    /// For look-ups.
    tags: [LutMemory<Tag, 8>; WAYS],
    /// The same, for writing.
    tags_again: [SdpMemory<Tag, 8>; WAYS],
    slots: [SdpMemory<Bits<8>, 8>; WAYS],
    /// Where each slot's key is.
    places: SdpMemory<Place, 8>,
    /// The places of the row looked up that have its tag: one or none.
    same: Reg<Bits<4>>,
    /// A place of that row is vacant.
    vacant: DFF<Bit>,
    /// A place to empty.
    emptying: Reg<Bit>,
    /// A key was written in the last cycle, and to which row.
    moved: Reg<Bit>,
    moved_row: DFF<Bits<8>>,
    _last: usize,
}

impl KeyRows {
    /// A table of `rows` rows, a power of two, and as many slots; what need not be read at once is in memories of this kind.
    pub fn new(rows: usize, style: RamStyle) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            lookup_hash: Default::default(),
            fits: Default::default(),
            fitting_slot: Default::default(),
            row_has_room: Default::default(),
            next_row: Default::default(),
            candidate: Default::default(),
            candidate_valid: Default::default(),
            moves: Default::default(),
            remove: Default::default(),
            remove_slot: Default::default(),
            clear: Default::default(),
            clear_row: Default::default(),
            tags: std::array::from_fn(|_| LutMemory::with_depth(rows)),
            tags_again: std::array::from_fn(|_| SdpMemory::with_depth(style, 1, rows)),
            slots: std::array::from_fn(|_| SdpMemory::with_depth(style, 1, rows)),
            places: SdpMemory::with_depth(style, 1, rows),
            same: Default::default(),
            vacant: Default::default(),
            emptying: Default::default(),
            moved: Default::default(),
            moved_row: Default::default(),
            _last: rows - 1,
        }
    }
}

impl Logic for KeyRows {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, same, emptying, moved);
        dffs!(self, clock, vacant, moved_row);
        let candidate = self.candidate.val();
        let lookup_row = self.lookup_hash.val().get_bits::<8>(0) & (self._last as u64);
        let lookup_tag = self.lookup_hash.val().get_bits::<8>(8);
        let write_row = candidate.hash.get_bits::<8>(0) & (self._last as u64);
        let write_tag = Tag { live: true, tag: candidate.hash.get_bits::<8>(8) };

        // Look up: read the row and compare its tags.
        let mut same: Bits<4> = bits::<4>(0);
        let mut vacant: Bit = false;
        for w in 0..WAYS {
            self.tags[w].read_address.next = lookup_row;
            self.slots[w].read_enable.next = true;
            self.slots[w].read_address.next = lookup_row;
            let place = self.tags[w].read_data.val();
            same = same.replace_bit(w, place.live & (place.tag == lookup_tag));
            vacant = vacant | !place.live;
        }
        self.same.d.next = same & repeat::<4>(!self.clear.val());
        self.vacant.d.next = vacant;

        // A cycle later, since hash, row and tags are a long way already: choose the slot.
        let fits = self.same.q.val().any();
        let mut fitting_slot: Bits<8> = bits::<8>(0);
        for w in 0..WAYS {
            fitting_slot = fitting_slot | (repeat::<8>(self.same.q.val().get_bit(w)) & self.slots[w].read_data.val());
        }
        self.fits.next = fits;
        self.fitting_slot.next = fitting_slot;
        self.row_has_room.next = self.vacant.q.val() & !fits;

        // Remove: find the place, then empty it.
        self.places.read_enable.next = self.remove.val();
        self.places.read_address.next = self.remove_slot.val();
        self.emptying.d.next = self.remove.val();
        let emptied = self.places.read_data.val();

        // Write: the first vacant way that is not being emptied.
        let mut vacancies: Bits<4> = bits::<4>(0);
        let mut taken: Bit = false;
        for w in 0..WAYS {
            self.tags_again[w].read_enable.next = true;
            self.tags_again[w].read_address.next = self.next_row.val() & (self._last as u64);
            let place = self.tags_again[w].read_data.val();
            let empties = self.emptying.q.val() & (emptied.way == w as u64);
            vacancies = vacancies.replace_bit(w, !place.live & !empties);
            taken = taken | (place == write_tag);
        }
        let known = !self.moved.q.val() | (self.moved_row.q.val() != write_row);
        let moves = self.candidate_valid.val() & vacancies.any() & !taken & known;
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
            let empties = self.emptying.q.val() & (emptied.way == w as u64);
            let written = moves & (way == w as u64);
            let row = if self.clear.val() {
                self.clear_row.val()
            } else if empties {
                emptied.row
            } else {
                write_row
            };
            let tag = if self.clear.val() | empties { Default::default() } else { write_tag };
            self.tags[w].clock.next = self.clock.val();
            self.tags[w].write_enable.next = written | empties | self.clear.val();
            self.tags[w].write_address.next = row;
            self.tags[w].write_data.next = tag;
            self.tags_again[w].clock.next = self.clock.val();
            self.tags_again[w].write_enable.next = written | empties | self.clear.val();
            self.tags_again[w].write_address.next = row;
            self.tags_again[w].write_data.next = tag;
            self.slots[w].clock.next = self.clock.val();
            self.slots[w].write_enable.next = written;
            self.slots[w].write_address.next = write_row;
            self.slots[w].write_data.next = candidate.slot;
        }
        self.places.clock.next = self.clock.val();
        self.places.write_enable.next = moves;
        self.places.write_address.next = candidate.slot;
        self.places.write_data.next = Place { row: write_row, way: way };
    }
}
