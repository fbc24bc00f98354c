//! The message index: from a message's key to its slot, and the queue of free slots.
//!
//! Exact: a hash only selects where to look, the whole key is compared, so two messages are never confused. A new key goes into a
//! [stash](KeyStash) of 8, which every look-up searches, and from there in the background into a row of the
//! [hash table](KeyRows) (as many rows as slots, 4 keys each); a key whose row is full stays in the stash until there is room.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `lookup`, `lookup_hash`: a key and its [hash](key_hash) / out `hit`, `hit_slot`, `can_insert` | scheduler: answer 2 cycles later |
//! | out `free`, `free_slot` / in `claim` | scheduler: `claim` takes `free_slot`; the next one is there in the next cycle |
//! | in `insert`, `insert_key`, `insert_hash`, `insert_slot` | scheduler: this claimed slot gets this key, if other packets may join |
//! | in `remove`, `give_back_slot` | scheduler: the key of the slot goes |
//! | in `give_back`, `give_back_slot` | scheduler: the slot is free, with `remove` or after it; it is used again after all others |
//! | out `open` | messages alive |
//! | out `ready` | 0 after reset while the tables are cleared, one slot per cycle; no slot is free until then |
//!
//! All four inputs may come in every cycle, together; `insert` comes in the cycle of its `claim` or later. An answer includes every
//! `insert` and `remove` up to the cycle before it: also those of the cycle of the look-up and of the next one.
//! `can_insert` means that an `insert` of the key has room if it comes at most 2 cycles after the answer. Never stalls.
//!
//! Cost of a full row: the key stays in the stash. With 4 keys per row, all slots in use and random hashes, one key in 200 does. A
//! key whose row is full is admitted while 6 entries of the stash are free, any other key while 4 are.

pub mod free_slots;
pub mod key_rows;
pub mod key_stash;

use crate::schedule::message::MessageKey;
use free_slots::FreeSlots;
use key_rows::KeyRows;
use key_stash::KeyStash;
use spindle_blocks::ram::RamStyle;
use spindle_verilog::prelude::*;

/// Bits of a key.
pub const KEY_BITS: usize = MessageKey::BITS;
/// The high 32 bits of the constant of [`key_hash`]. It is chosen so that counting in the low bits of the message number, of either byte
/// end of the node number, of the process, or of two of them, meets each row equally often, and so that each bit of the hash
/// depends on at most 33 bits of the key.
pub const MIXER_HIGH: u64 = 0x9089_824a;
/// The low 64 bits of it.
pub const MIXER_LOW: u64 = 0xa0d0_c242_9d18_3d13;

/// Toeplitz hash of a key, the row that it belongs to: bit i is the parity of the key's bits under the constant, shifted by i.
#[hdl_fn]
pub fn key_hash(key: Bits<KEY_BITS>) -> Bits<8> {
    let mixer = (bits::<32>(MIXER_HIGH), bits::<64>(MIXER_LOW)).cat::<96>();
    (
        (key & mixer.get_bits::<KEY_BITS>(7)).xor(),
        (key & mixer.get_bits::<KEY_BITS>(6)).xor(),
        (key & mixer.get_bits::<KEY_BITS>(5)).xor(),
        (key & mixer.get_bits::<KEY_BITS>(4)).xor(),
        (key & mixer.get_bits::<KEY_BITS>(3)).xor(),
        (key & mixer.get_bits::<KEY_BITS>(2)).xor(),
        (key & mixer.get_bits::<KEY_BITS>(1)).xor(),
        (key & mixer.get_bits::<KEY_BITS>(0)).xor(),
    )
        .cat::<8>()
}

/// See the head of this file.
#[block]
pub struct MessageIndex {
    /// Key to look for.
    pub lookup: Signal<In, MessageKey>,
    /// Its hash.
    pub lookup_hash: Signal<In, Bits<8>>,
    /// A live message has the key.
    pub hit: Signal<Out, Bit>,
    /// Its slot.
    pub hit_slot: Signal<Out, Bits<8>>,
    /// There is a place for the key.
    pub can_insert: Signal<Out, Bit>,
    /// A slot is free.
    pub free: Signal<Out, Bit>,
    /// Which one.
    pub free_slot: Signal<Out, Bits<8>>,
    /// Take it.
    pub claim: Signal<In, Bit>,
    /// A claimed slot gets its key.
    pub insert: Signal<In, Bit>,
    /// The key.
    pub insert_key: Signal<In, MessageKey>,
    /// Its hash.
    pub insert_hash: Signal<In, Bits<8>>,
    /// The slot.
    pub insert_slot: Signal<In, Bits<8>>,
    /// The key of `give_back_slot` goes.
    pub remove: Signal<In, Bit>,
    /// That slot is free.
    pub give_back: Signal<In, Bit>,
    /// Slot of both.
    pub give_back_slot: Signal<In, Bits<8>>,
    /// Messages alive.
    pub open: Signal<Out, Bits<16>>,
    /// The tables are cleared.
    pub ready: Signal<Out, Bit>,
    free_slots: FreeSlots,
    key_rows: KeyRows,
    key_stash: KeyStash,
    /// Next slot to clear.
    clear_slot: Reg<Bits<8>>,
    cleared: Reg<Bit>,
    /// Key of the second stage.
    sought: DFF<MessageKey>,
    found: Reg<Bit>,
    found_slot: DFF<Bits<8>>,
    room: Reg<Bit>,
    /// Ups and downs of the slots in use, modulo 2^9, so that neither waits for the other.
    claimed: Reg<Bits<9>>,
    given_back: Reg<Bits<9>>,
    _last: usize,
}

impl MessageIndex {
    /// An index of `slots` messages, a power of two from 16 to 256, with its tables in memories of this kind.
    pub fn new(slots: usize, style: RamStyle) -> Self {
        assert!(
            (16..=256).contains(&slots) && slots.is_power_of_two(),
            "MessageIndex: live_messages must be a power of two from 16 to 256, not {slots}; round it up"
        );
        Self {
            free_slots: FreeSlots::new(slots, style),
            key_rows: KeyRows::new(slots, style),
            _last: slots - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl MessageIndex {
    fn update(&mut self) {
        // After reset every row is emptied and every slot becomes free.
        let clearing = !self.cleared.q.val();
        if clearing {
            self.clear_slot.d.next = self.clear_slot.q.val() + 1;
            self.cleared.d.next = self.clear_slot.q.val() == self._last as u64;
        }
        self.ready.next = self.cleared.q.val();

        // Slots.
        self.free_slots.take.next = self.claim.val();
        self.free_slots.hold.next = clearing;
        self.free_slots.give_back.next = self.give_back.val() | clearing;
        self.free_slots.give_back_slot.next =
            if clearing { self.clear_slot.q.val() } else { self.give_back_slot.val() };
        self.free.next = self.free_slots.free.val();
        self.free_slot.next = self.free_slots.free_slot.val();
        self.claimed.load(self.claim.val(), self.claimed.q.val() + 1);
        self.given_back.load(self.give_back.val(), self.given_back.q.val() + 1);
        self.open.next = bit_cast::<16, 9>(self.claimed.q.val() - self.given_back.q.val());

        // In and out.
        self.key_stash.insert.next = self.insert.val();
        self.key_stash.insert_key.next = self.insert_key.val();
        self.key_stash.insert_row.next = self.insert_hash.val();
        self.key_stash.insert_slot.next = self.insert_slot.val();
        let leaves = self.remove.val();
        self.key_stash.remove.next = leaves;
        self.key_stash.remove_slot.next = self.give_back_slot.val();
        self.key_rows.remove.next = leaves & !self.key_stash.remove_here.val();
        self.key_rows.remove_slot.next = self.give_back_slot.val();
        self.key_rows.next_row.next = self.key_stash.next_row.val();
        self.key_stash.candidate.join(&mut self.key_rows.candidate);
        self.key_stash.moves.next = self.key_rows.moves.val();
        self.key_rows.clear.next = clearing;
        self.key_rows.clear_row.next = self.clear_slot.q.val();

        // First stage: the row is read.
        self.key_rows.lookup_row.next = self.lookup_hash.val();
        self.sought.d.next = self.lookup.val();

        // Second stage: its keys are compared, beside those of the stash and the one that is coming in.
        let sought = self.sought.q.val();
        self.key_rows.sought.next = sought;
        self.key_stash.sought.next = sought;
        let comes = self.insert.val() & eq(self.insert_key.val(), sought);
        self.found.d.next = self.key_rows.fits.val() | self.key_stash.hit.val() | comes;
        // At most one of them, so the numbers can be OR-ed.
        self.found_slot.d.next = self.key_rows.fitting_slot.val()
            | self.key_stash.hit_slot.val()
            | (repeat::<8>(comes) & self.insert_slot.val());
        let room =
            if self.key_rows.row_has_room.val() { self.key_stash.room.val() } else { self.key_stash.ample_room.val() };
        self.room.d.next = room & !clearing;
        self.hit.next = self.found.q.val();
        self.hit_slot.next = self.found_slot.q.val();
        self.can_insert.next = self.room.q.val();
    }
}
