//! Frame places: records of event rings that are reserved for frames on their way to the host.
//!
//! | neighbour | ports |
//! |---|---|
//! | frame events | in `pid`: process of the oldest undecided frame; in `take` (pulse): one place for that process |
//! | binding | out `room`: a place is free for the process of `pid` |
//! | event rings | in `reader`; in `ring`, `given` (pulses): its ring changed, a reserved place of it is used; out `owed` |
//! | doorbell | in `head` (pulse) |
//!
//! A frame takes a place of the ring of its process when it is bound to a buffer, so that its event cannot be lost. Eight records of
//! each ring are never reserved: other events use them, and `room` may be some cycles old. So a ring of less than 16 records gets no
//! frames. `pid` → `room`: 2 cycles; for a process that has just become the first, `room` is low until then, and binding decides
//! no frame. `reader` → `owed`: the same cycle.

use crate::prelude::*;

/// Bits of the count of reserved places: more than frames can be on their way.
pub const OWED_BITS: usize = 8;
/// Records of a ring that are not reserved.
const MARGIN: u64 = 8;

/// A ring, as far as its room goes.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RingState {
    /// It is open.
    pub open: Bit,
    /// Records less one.
    pub last: Bits<15>,
    /// Records ever written, modulo 2^16.
    pub tail: Bits<16>,
}

/// See the module text.
#[block]
pub struct FramePlaces {
    /// Process of the oldest frame that is not bound yet.
    pub pid: Signal<In, Bits<6>>,
    /// A place is free for it.
    pub room: Signal<Out, Bit>,
    /// Reserve a place for it.
    pub take: Signal<In, Bit>,
    /// State of the ring of `reader`.
    pub ring: PulseSink<RingState>,
    /// Records that the host has read.
    pub head: RingPointerSink,
    /// Process whose ring is visited, written or given a record of.
    pub reader: Signal<In, Bits<6>>,
    /// Places reserved in its ring.
    pub owed: Signal<Out, Bits<OWED_BITS>>,
    /// One of them is used.
    pub given: Signal<In, Bit>,
    /// Places ever taken and ever given, for `pid` and for `reader`.
    takens: [LutMemory<Bits<OWED_BITS>, 6>; 2],
    givens: [LutMemory<Bits<OWED_BITS>, 6>; 2],
    rings: LutMemory<RingState, 6>,
    heads: LutMemory<Bits<16>, 6>,
    clearing: Reg<Bit>,
    clear_at: Reg<Bits<6>>,
    judged: DFF<Bits<6>>,
    ring_now: DFF<RingState>,
    unread: DFF<Bits<16>>,
    reserved: DFF<Bits<OWED_BITS>>,
    has_room: Reg<Bit>,
}

impl FramePlaces {
    /// Without any reservation.
    pub fn new() -> Self {
        Self { clearing: Reg::new(true), ..Self::blank() }
    }
}

#[hdl]
impl FramePlaces {
    fn update(&mut self) {
        let pid = self.pid.val();
        let reader = self.reader.val();
        let clearing = self.clearing.q.val();
        let clear_at = self.clear_at.q.val();
        self.clear_at.d.next = clear_at + 1;
        self.clearing.load(clear_at.all(), false);

        // Counts, each with one writer.
        let taken = if clearing { bits::<OWED_BITS>(0) } else { self.takens[0].read_data.val() + 1 };
        let given = if clearing { bits::<OWED_BITS>(0) } else { self.givens[1].read_data.val() + 1 };
        for i in 0..2 {
            let address = if i == 0 { pid } else { reader };
            self.takens[i].read_address.next = address;
            self.givens[i].read_address.next = address;
            self.takens[i].write(clearing | self.take.val(), if clearing { clear_at } else { pid }, taken);
            self.givens[i].write(clearing | self.given.val(), if clearing { clear_at } else { reader }, given);
        }
        self.owed.next = self.takens[1].read_data.val() - self.givens[1].read_data.val();

        // Room, in two steps.
        self.rings.write(self.ring.valid.val() | clearing, if clearing { clear_at } else { reader }, self.ring.val());
        if clearing {
            self.rings.write_data.next = RingState::default();
        }
        self.heads.write(self.head.valid.val(), self.head.pid.val(), self.head.val());
        self.rings.read_address.next = pid;
        self.heads.read_address.next = pid;
        self.judged.d.next = pid;
        self.ring_now.d.next = self.rings.read_data.val();
        self.unread.d.next = self.rings.read_data.val().tail - self.heads.read_data.val();
        self.reserved.d.next = self.takens[0].read_data.val() - self.givens[0].read_data.val();
        let ring = self.ring_now.q.val();
        let used = self.unread.q.val() + zext::<16, OWED_BITS>(self.reserved.q.val()) + MARGIN;
        self.has_room.d.next = ring.open & (used <= zext::<16, 15>(ring.last)) & (self.judged.q.val() == pid);
        self.room.next = self.has_room.q.val();
    }
}
