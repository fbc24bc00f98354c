//! The message table: which live message a packet belongs to, and the state of each.
//!
//! An exact match on [`MessageKey`] over all slots (no hash, so nothing is ever shared or lost by accident), in groups of 16
//! comparators. State lies in LUT RAM beside it.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `lookup` / out `hit`, `hit_slot`, `free`, `free_slot` | scheduler: answer 1 cycle later, every cycle |
//! | in `read_slot` / out `state` | scheduler: asynchronous read |
//! | in `write`, `write_slot`, `write_state` | scheduler: seen from the next cycle on |
//! | in `claim`, `claim_named`, `give_back`, `slot`, `key` | scheduler: takes or gives back `slot`; seen by a `lookup` one cycle later |
//! | out `open` | messages alive |
//!
//! `claim_named` = 0 makes a message that no later packet can join (a packet that is a message of its own). Never stalls.

use crate::message::{MessageKey, MessageState};
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// Slots of a group.
const GROUP: usize = 16;

/// 16 slots: comparators, and the search for a free one. Outputs come from registers, one cycle behind `lookup`.
#[derive(LogicBlock, Default)]
pub struct MessageGroup {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Key to look for.
    pub lookup: Signal<In, MessageKey>,
    /// Take `index`.
    pub claim: Signal<In, Bit>,
    /// It can be found by its key.
    pub claim_named: Signal<In, Bit>,
    /// Give `index` back.
    pub give_back: Signal<In, Bit>,
    /// Slot of the group.
    pub index: Signal<In, Bits<4>>,
    /// Key of the claimed slot.
    pub key: Signal<In, MessageKey>,
    /// A slot holds the key.
    pub hit: Signal<Out, Bit>,
    /// Which one.
    pub hit_index: Signal<Out, Bits<4>>,
    /// A slot is free.
    pub free: Signal<Out, Bit>,
    /// The lowest free one.
    pub free_index: Signal<Out, Bits<4>>,
    keys: [DFF<MessageKey>; GROUP],
    named: Reg<Bits<16>>,
    used: Reg<Bits<16>>,
    found: Reg<Bit>,
    found_index: DFF<Bits<4>>,
    spare: Reg<Bit>,
    spare_index: DFF<Bits<4>>,
}

impl Logic for MessageGroup {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, keys, found_index, spare_index);
        regs!(self, clock, reset, named, used, found, spare);

        let mut hits: Bits<16> = bits::<16>(0);
        let mut hit_index: Bits<4> = bits::<4>(0);
        for i in 0..GROUP {
            let same = self.named.q.val().get_bit(i) & (self.keys[i].q.val() == self.lookup.val());
            hits = hits.replace_bit(i, same);
            // At most one slot holds a key, so the numbers can be OR-ed.
            hit_index = hit_index | (repeat::<4>(same) & bits::<4>(i as u64));
        }
        self.found.d.next = hits.any();
        self.found_index.d.next = hit_index;

        let vacant = !self.used.q.val();
        let mut free_index: Bits<4> = bits::<4>(0);
        for i in 0..GROUP {
            if vacant.get_bit(15 - i) {
                free_index = bits::<4>((15 - i) as u64);
            }
        }
        self.spare.d.next = vacant.any();
        self.spare_index.d.next = free_index;

        for i in 0..GROUP {
            if self.claim.val() & (self.index.val() == i as u64) {
                self.keys[i].d.next = self.key.val();
            }
        }
        let chosen = bits::<16>(1) << self.index.val();
        if self.claim.val() {
            self.used.d.next = self.used.q.val() | chosen;
            if self.claim_named.val() {
                self.named.d.next = self.named.q.val() | chosen;
            }
        } else if self.give_back.val() {
            self.used.d.next = self.used.q.val() & !chosen;
            self.named.d.next = self.named.q.val() & !chosen;
        }

        self.hit.next = self.found.q.val();
        self.hit_index.next = self.found_index.q.val();
        self.free.next = self.spare.q.val();
        self.free_index.next = self.spare_index.q.val();
    }
}

/// All slots; see the head of this file.
#[derive(LogicBlock)]
pub struct MessageTable {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Key to look for.
    pub lookup: Signal<In, MessageKey>,
    /// A live message has the key.
    pub hit: Signal<Out, Bit>,
    /// Its slot.
    pub hit_slot: Signal<Out, Bits<8>>,
    /// A slot is free.
    pub free: Signal<Out, Bit>,
    /// Which one.
    pub free_slot: Signal<Out, Bits<8>>,
    /// Slot to read.
    pub read_slot: Signal<In, Bits<8>>,
    /// Its state.
    pub state: Signal<Out, MessageState>,
    /// Write a state.
    pub write: Signal<In, Bit>,
    /// Whose.
    pub write_slot: Signal<In, Bits<8>>,
    /// What.
    pub write_state: Signal<In, MessageState>,
    /// Take `slot`.
    pub claim: Signal<In, Bit>,
    /// It can be found by its key.
    pub claim_named: Signal<In, Bit>,
    /// Give `slot` back.
    pub give_back: Signal<In, Bit>,
    /// Slot that is taken or given back.
    pub slot: Signal<In, Bits<8>>,
    /// Key of the slot that is taken.
    pub key: Signal<In, MessageKey>,
    /// Messages alive.
    pub open: Signal<Out, Bits<16>>,
    groups: Vec<MessageGroup>,
    states: LutMemory<MessageState, 8>,
    alive: Reg<Bits<16>>,
    _groups: usize,
}

impl MessageTable {
    /// A table of `slots` messages: 16 to 256, a multiple of 16.
    pub fn new(slots: usize) -> Self {
        assert!(
            (16..=256).contains(&slots) && slots.is_multiple_of(GROUP),
            "MessageTable: live_messages must be a multiple of 16 from 16 to 256, not {slots}; round it up"
        );
        Self {
            clock: Default::default(),
            reset: Default::default(),
            lookup: Default::default(),
            hit: Default::default(),
            hit_slot: Default::default(),
            free: Default::default(),
            free_slot: Default::default(),
            read_slot: Default::default(),
            state: Default::default(),
            write: Default::default(),
            write_slot: Default::default(),
            write_state: Default::default(),
            claim: Default::default(),
            claim_named: Default::default(),
            give_back: Default::default(),
            slot: Default::default(),
            key: Default::default(),
            open: Default::default(),
            groups: (0..slots / GROUP).map(|_| MessageGroup::default()).collect(),
            states: LutMemory::with_depth(slots),
            alive: Default::default(),
            _groups: slots / GROUP,
        }
    }
}

impl Logic for MessageTable {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, alive);
        clocks!(self, clock, reset, groups);
        let group = self.slot.val().get_bits::<4>(4);
        let mut hit: Bit = false;
        let mut hit_slot: Bits<8> = bits::<8>(0);
        let mut free: Bit = false;
        let mut free_slot: Bits<8> = bits::<8>(0);
        for g in 0..self._groups {
            let chosen = group == g as u64;
            self.groups[g].lookup.next = self.lookup.val();
            self.groups[g].claim.next = self.claim.val() & chosen;
            self.groups[g].claim_named.next = self.claim_named.val();
            self.groups[g].give_back.next = self.give_back.val() & chosen;
            self.groups[g].index.next = self.slot.val().get_bits::<4>(0);
            self.groups[g].key.next = self.key.val();
            hit = hit | self.groups[g].hit.val();
            let named = (bits::<4>(g as u64), self.groups[g].hit_index.val()).cat::<8>();
            hit_slot = hit_slot | (repeat::<8>(self.groups[g].hit.val()) & named);
            if !free {
                free_slot = (bits::<4>(g as u64), self.groups[g].free_index.val()).cat::<8>();
            }
            free = free | self.groups[g].free.val();
        }
        self.hit.next = hit;
        self.hit_slot.next = hit_slot;
        self.free.next = free;
        self.free_slot.next = free_slot;

        self.states.clock.next = self.clock.val();
        self.states.write_enable.next = self.write.val();
        self.states.write_address.next = self.write_slot.val();
        self.states.write_data.next = self.write_state.val();
        self.states.read_address.next = self.read_slot.val();
        self.state.next = self.states.read_data.val();

        if self.claim.val() & !self.give_back.val() {
            self.alive.d.next = self.alive.q.val() + 1;
        } else if self.give_back.val() & !self.claim.val() {
            self.alive.d.next = self.alive.q.val() - 1;
        }
        self.open.next = self.alive.q.val();
    }
}
