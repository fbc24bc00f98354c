//! Read buffer: where a client's data wait until it takes them.
//!
//! | neighbour | ports |
//! |---|---|
//! | client | in `tag`, `tag_valid`; out `tag_ready`; out `data`, `data_last`, `data_error`, `data_tag`, `data_valid`; in `data_ready` |
//! | read requests | out `room`, `short_room`; in `reserve`, `reserve_lines` |
//! | read answers | in `beat`, `beat_last`, `beat_error`, `beat_valid` (no ready) |
//!
//! 128 beats, 32 transfers. With `whole` a transfer (of at most 8 KiB) is offered only when all of it is there, so that it leaves
//! without a gap, and `data_error` is the same in all its beats; without, beats are offered as they come and `data_error` counts in
//! the last. `beat_valid` → `data_valid`: 1 cycle in LUT RAM, 3 in UltraRAM.

use spindle_blocks::desc::HostRead;
use spindle_blocks::{Fifo, RamStyle};
use spindle_verilog::prelude::*;

/// Address bits of the buffer.
const BEAT_BITS: usize = 7;
/// Lines reserved up to which a piece of 16 lines fits.
const ROOM_LIMIT: u64 = (1 << BEAT_BITS) - 16;
/// Lines reserved up to which a piece of 4 lines fits.
const SHORT_LIMIT: u64 = (1 << BEAT_BITS) - 4;
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

/// The buffer of a client. See the module text.
#[derive(LogicBlock, Default)]
pub struct ReadBuffer {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Constant: offer whole transfers only.
    pub whole: Signal<In, Bit>,
    /// Transfer asked for.
    pub tag: Signal<In, HostRead>,
    /// There is one.
    pub tag_valid: Signal<In, Bit>,
    /// It is taken.
    pub tag_ready: Signal<Out, Bit>,
    /// 16 lines are free.
    pub room: Signal<Out, Bit>,
    /// 4 lines are free.
    pub short_room: Signal<Out, Bit>,
    /// Reserve lines.
    pub reserve: Signal<In, Bit>,
    /// How many, less one.
    pub reserve_lines: Signal<In, Bits<4>>,
    /// Beat that arrives.
    pub beat: Signal<In, Bits<512>>,
    /// Last of its transfer.
    pub beat_last: Signal<In, Bit>,
    /// The host answered with an error.
    pub beat_error: Signal<In, Bit>,
    /// There is one.
    pub beat_valid: Signal<In, Bit>,
    /// Beat for the client.
    pub data: Signal<Out, Bits<512>>,
    /// Last of its transfer.
    pub data_last: Signal<Out, Bit>,
    /// The transfer failed.
    pub data_error: Signal<Out, Bit>,
    /// The transfer.
    pub data_tag: Signal<Out, HostRead>,
    /// There is a beat.
    pub data_valid: Signal<Out, Bit>,
    /// It is taken.
    pub data_ready: Signal<In, Bit>,
    beats: Fifo<ReadBeat, BEAT_BITS>,
    tags: Fifo<HostRead, TRANSFER_BITS>,
    /// Transfers that are here to the end: did they fail?
    ends: Fifo<Bit, TRANSFER_BITS>,
    reserved: Reg<Bits<8>>,
    failed: Reg<Bit>,
}

impl ReadBuffer {
    /// A buffer in this kind of memory.
    pub fn new(style: RamStyle) -> Self {
        Self { beats: Fifo::new(style), ..Default::default() }
    }
}

impl Logic for ReadBuffer {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, beats, tags, ends);
        regs!(self, clock, reset, reserved, failed);

        self.tags.write.next = self.tag.val();
        self.tags.write_valid.next = self.tag_valid.val();
        self.tag_ready.next = self.tags.write_ready.val();

        // There are never more beats under way and in here than were reserved.
        self.beats.write.next = ReadBeat { data: self.beat.val(), last: self.beat_last.val() };
        self.beats.write_valid.next = self.beat_valid.val();
        let error = self.failed.q.val() | self.beat_error.val();
        self.ends.write.next = error;
        self.ends.write_valid.next = self.beat_valid.val() & self.beat_last.val();
        if self.beat_valid.val() {
            self.failed.d.next = error & !self.beat_last.val();
        }

        let beat = self.beats.read.val();
        let valid = self.beats.read_valid.val() & (self.ends.read_valid.val() | !self.whole.val());
        let leaves = valid & self.data_ready.val();
        let leaves_last = leaves & beat.last;
        self.beats.read_ready.next = leaves;
        self.tags.read_ready.next = leaves_last;
        self.ends.read_ready.next = leaves_last;
        self.data.next = beat.data;
        self.data_last.next = beat.last;
        self.data_error.next = self.ends.read.val() & (self.whole.val() | beat.last);
        self.data_tag.next = self.tags.read.val();
        self.data_valid.next = valid;

        let lines = bit_cast::<8, 4>(self.reserve_lines.val());
        if self.reserve.val() & leaves {
            self.reserved.d.next = self.reserved.q.val() + lines;
        } else if self.reserve.val() {
            self.reserved.d.next = self.reserved.q.val() + lines + 1;
        } else if leaves {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        self.room.next = self.reserved.q.val() <= ROOM_LIMIT;
        self.short_room.next = self.reserved.q.val() <= SHORT_LIMIT;
    }
}
