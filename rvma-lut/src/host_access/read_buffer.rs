//! Read buffer: holds a client's data until the client takes them.
//!
//! | neighbour | ports |
//! |---|---|
//! | client | in `tag`; out `data` |
//! | frame sums | in `held`: the oldest transfer is not offered yet |
//! | read requests | out `room`, `short_room`; in `reserve`, `reserve_beats` |
//! | read answers | in `beat` (pulse), `beat_last`, `beat_error` |
//!
//! 128 beats in LUT RAM, 256 in UltraRAM, where depth costs nothing; 32 transfers. With `whole` a transfer (of at most
//! 8 KiB) is offered only when all of its beats are present, so that it leaves without a gap, and `data.error` is the
//! same in all its beats; without, beats are offered on arrival and `data.error` counts in the last beat. `beat` →
//! `data`: 1 cycle in LUT RAM, 3 in UltraRAM.

use crate::prelude::*;

/// Address bits of a buffer in LUT RAM and in UltraRAM. A stream of 1408-byte segments at line rate needs 64 bytes per
/// cycle and turn: 256 beats last for a host that answers within 200 cycles.
const BEAT_BITS: usize = 7;
const DEEP_BITS: usize = 8;
/// Beats of a piece, and of a short one.
const PIECE_BEATS: u64 = 16;
const SHORT_BEATS: u64 = 4;
/// Address bits of the FIFO of transfers.
const TRANSFER_BITS: usize = 5;

/// A beat of a transfer.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ReadBeat {
    /// Bytes.
    pub data: Bits<512>,
    /// Last of the transfer.
    pub last: Bit,
}

/// The buffer of a client, made by [`ReadBuffer::new`]: the default one has no memory. See the module text.
#[block]
pub struct ReadBuffer {
    /// Constant: offer whole transfers only.
    pub whole: Signal<In, Bit>,
    /// The oldest transfer waits.
    pub held: Signal<In, Bit>,
    /// Read that was requested.
    pub tag: Sink<HostRead>,
    /// 16 beats are free.
    pub room: Signal<Out, Bit>,
    /// 4 beats are free.
    pub short_room: Signal<Out, Bit>,
    /// Reserve beats.
    pub reserve: Signal<In, Bit>,
    /// Beats to reserve, less one.
    pub reserve_beats: Signal<In, Bits<4>>,
    /// Beat of the host.
    pub beat: PulseSink<Bits<512>>,
    /// Last beat of its transfer.
    pub beat_last: Signal<In, Bit>,
    /// The host answered with an error.
    pub beat_error: Signal<In, Bit>,
    /// Beat for the client.
    pub data: ReadDataSource<HostRead>,
    beats: Vec<Fifo<ReadBeat, BEAT_BITS>>,
    deep_beats: Vec<Fifo<ReadBeat, DEEP_BITS>>,
    tags: Fifo<HostRead, TRANSFER_BITS>,
    /// Error flags of the transfers that are complete.
    ends: Fifo<Bit, TRANSFER_BITS>,
    /// The next beat for the client.
    front: Signal<Local, ReadBeat>,
    here: Signal<Local, Bit>,
    reserved: Reg<Bits<9>>,
    failed: Reg<Bit>,
    has_room: Reg<Bit>,
    has_short_room: Reg<Bit>,
    _deep: bool,
}

impl ReadBuffer {
    /// A buffer in this kind of memory.
    pub fn new(style: RamStyle) -> Self {
        let deep = style == RamStyle::Ultra;
        Self {
            beats: if deep { vec![] } else { vec![Fifo::new(style)] },
            deep_beats: if deep { vec![Fifo::new(style)] } else { vec![] },
            _deep: deep,
            ..Self::blank()
        }
    }
}

#[hdl]
impl ReadBuffer {
    fn update(&mut self) {
        self.tag.join(&mut self.tags.write);

        // The beats under way and in the buffer never exceed the reserved ones.
        let error = self.failed.q.val() | self.beat_error.val();
        self.ends.write.offer(self.beat.valid.val() & self.beat_last.val(), error);
        self.failed.load(self.beat.valid.val(), error & !self.beat_last.val());

        let arrives = ReadBeat { data: self.beat.val(), last: self.beat_last.val() };
        if self._deep {
            self.deep_beats[0].write.offer(self.beat.valid.val(), arrives);
            self.front.next = self.deep_beats[0].read.val();
            self.here.next = self.deep_beats[0].read.valid.val();
        } else {
            self.beats[0].write.offer(self.beat.valid.val(), arrives);
            self.front.next = self.beats[0].read.val();
            self.here.next = self.beats[0].read.valid.val();
        }
        let beat = self.front.val();
        let valid = self.here.val() & (self.ends.read.valid.val() | !self.whole.val()) & !self.held.val();
        let leaves = valid & self.data.ready.val();
        let leaves_last = leaves & beat.last;
        if self._deep {
            self.deep_beats[0].read.ready.next = leaves;
        } else {
            self.beats[0].read.ready.next = leaves;
        }
        self.tags.read.ready.next = leaves_last;
        self.ends.read.ready.next = leaves_last;
        self.data.next = beat.data;
        self.data.last.next = beat.last;
        self.data.error.next = self.ends.read.val() & (self.whole.val() | beat.last);
        self.data.tag.next = self.tags.read.val();
        self.data.valid.next = valid;

        let room = bit_cast::<9, 4>(self.reserve_beats.val());
        if self.reserve.val() & leaves {
            self.reserved.d.next = self.reserved.q.val() + room;
        } else if self.reserve.val() {
            self.reserved.d.next = self.reserved.q.val() + room + 1;
        } else if leaves {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        let beats = if self._deep { bits::<9>(1 << DEEP_BITS) } else { bits::<9>(1 << BEAT_BITS) };
        // A cycle late: two pieces are at least two cycles apart.
        self.has_room.d.next = self.reserved.q.val() <= beats - PIECE_BEATS;
        self.has_short_room.d.next = self.reserved.q.val() <= beats - SHORT_BEATS;
        self.room.next = self.has_room.q.val();
        self.short_room.next = self.has_short_room.q.val();
    }
}
