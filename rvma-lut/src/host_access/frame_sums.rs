//! Frame sums: the checksums of frames that are sent, made while the bytes of the frames arrive from host memory.
//!
//! | neighbour | ports |
//! |---|---|
//! | packet engine (initiator) | in `read` (pulse): a transfer is requested; out `field`, with the beat that the read buffer offers |
//! | read answers | in `beat` (pulse), `beat_last` |
//! | read buffer of the initiator | in `oldest`: the transfer that it offers next; in `leaves` (pulse), `leaves_last`; out `held` |
//!
//! A frame with [`checksum_read`] is summed from its byte `start` to its end, 64 bytes per cycle. The complement of the sum is
//! inserted when the field leaves, so the frame is `held` until its sum is there: its last beat arrives → `held` falls: 4 cycles,
//! 3 more than without. Nothing waits in between, so frames with and without a checksum keep their rate in any mixture.
//! A sum whose complement is 0 is inserted as 0xFFFF, its other form, since 0 means for UDP that there is none.

use crate::prelude::*;
use spindle_blocks::checksum::{never_zero, ChecksumField, StreamSum};
use spindle_contract::descriptors::put_op;
use spindle_contract::params::BEAT_BYTES;

/// Address bits of the FIFOs: as many transfers as the read buffer holds.
const TRANSFER_BITS: usize = 5;
/// Bits of a word's number in the first four beats, where a sum begins, and in the first eight, where its field is.
const START_BITS: usize = 7;
const FIELD_BITS: usize = 8;
/// Beats that are counted apart: one more than those in which a sum can begin, one more than those that can have the field.
const START_BEATS: u64 = 4;
const FIELD_BEATS: u64 = 8;

/// A checksum to insert.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct FrameChecksum {
    /// A checksum is inserted.
    pub wanted: Bit,
    /// First 16-bit word of the sum.
    pub start: Bits<START_BITS>,
    /// The word that it is written to.
    pub field: Bits<FIELD_BITS>,
}

/// The read of a frame, with its checksum.
#[hdl_fn]
pub fn checksum_read(read: HostRead, checksum: FrameChecksum) -> HostRead {
    HostRead {
        issuer: CommandIssuer { cluster: bits::<3>(7), hpu: bits::<3>(7), handle: bits::<4>(put_op::FRAME_HANDLE) },
        context: zext::<4, 1>(checksum.wanted.into()),
        frame: (checksum.field, bits::<1>(0), checksum.start).cat::<16>(),
        ..read
    }
}

/// The read is that of a frame.
#[hdl_fn]
pub fn of_frame(read: HostRead) -> Bit {
    read.issuer.handle == bits(put_op::FRAME_HANDLE)
}

/// The checksum of a read.
#[hdl_fn]
fn checksum_of(read: HostRead) -> FrameChecksum {
    FrameChecksum {
        wanted: of_frame(read) & read.context.get_bit(0),
        start: read.frame.get_bits::<START_BITS>(0),
        field: read.frame.get_bits::<FIELD_BITS>(START_BITS + 1),
    }
}

/// A transfer whose bytes have not all arrived.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Arrival {
    wanted: Bit,
    start: Bits<START_BITS>,
    /// Bytes of the last beat, modulo 64.
    rest: Bits<6>,
}

/// See the module text.
#[block]
pub struct FrameSums {
    /// Transfer that is requested.
    pub read: PulseSink<HostRead>,
    /// Beat of the oldest transfer whose bytes have not all arrived.
    pub beat: PulseSink<Bits<512>>,
    /// It is the last one.
    pub beat_last: Signal<In, Bit>,
    /// Transfer that leaves next.
    pub oldest: Signal<In, HostRead>,
    /// A beat of it leaves.
    pub leaves: Signal<In, Bit>,
    /// The beat is the last one.
    pub leaves_last: Signal<In, Bit>,
    /// The transfer waits for its sum.
    pub held: Signal<Out, Bit>,
    /// What the next beat that leaves has of a checksum.
    pub field: Signal<Out, ChecksumField>,
    arrivals: Fifo<Arrival, TRANSFER_BITS>,
    arrived: Reg<Bits<3>>,
    adder: StreamSum,
    sums: Fifo<Bits<16>, TRANSFER_BITS>,
    left: Reg<Bits<4>>,
}

#[hdl]
impl FrameSums {
    fn update(&mut self) {
        self.add();
        self.insert();
    }

    /// Adds the bytes from the start of the sum to the end of the frame.
    fn add(&mut self) {
        let read = self.read.val();
        let requested = checksum_of(read);
        self.arrivals.write.offer(
            self.read.valid.val(),
            Arrival { wanted: requested.wanted, start: requested.start, rest: read.length.get_bits::<6>(0) },
        );
        let arrival = self.arrivals.read.val();
        let arrives = self.beat.valid.val();
        let last = self.beat_last.val();
        self.arrivals.read.ready.next = arrives & last;
        let arrived = self.arrived.q.val();
        if arrives & last {
            self.arrived.d.next = bits::<3>(0);
        } else if arrives & (arrived != bits::<3>(START_BEATS)) {
            self.arrived.d.next = arrived + 1;
        }

        let start_beat = zext::<3, 2>(arrival.start.get_bits::<2>(5));
        let after_start = repeat::<32>(true) << arrival.start.get_bits::<5>(0);
        let begun = (after_start & repeat::<32>(arrived == start_beat)) | repeat::<32>(arrived > start_beat);
        let before_end = !(repeat::<64>(true) << arrival.rest) | repeat::<64>(!last | !arrival.rest.any());
        let data = self.beat.val();
        let mut words: Bits<512> = bits::<512>(0);
        for b in 0..BEAT_BYTES {
            let counts = begun.get_bit(b / 2) & before_end.get_bit(b);
            words.set_bits::<8>(8 * b, data.get_bits::<8>(8 * b) & repeat::<8>(counts));
        }
        let summed = arrives & arrival.wanted;
        self.adder.beat.offer(summed, words);
        self.adder.first.next = !arrived.any();
        self.adder.last.next = last;
        self.sums.write.offer(self.adder.total.valid.val(), never_zero(self.adder.total.val()));
    }

    /// The sum meets the beat of its field.
    fn insert(&mut self) {
        let checksum = checksum_of(self.oldest.val());
        let left = self.left.q.val();
        let leaves = self.leaves.val();
        let last = self.leaves_last.val();
        if leaves & last {
            self.left.d.next = bits::<4>(0);
        } else if leaves & (left != bits::<4>(FIELD_BEATS)) {
            self.left.d.next = left + 1;
        }
        self.held.next = checksum.wanted & !self.sums.read.valid.val();
        self.sums.read.ready.next = leaves & last & checksum.wanted;
        self.field.next = ChecksumField {
            present: checksum.wanted & (left == zext::<4, 3>(checksum.field.get_bits::<3>(5))),
            word: checksum.field.get_bits::<5>(0),
            value: self.sums.read.val(),
        };
    }
}
