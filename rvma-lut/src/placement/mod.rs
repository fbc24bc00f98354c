//! Placement: works out the host address of a packet's payload and asks the packet buffer for it.
//!
//! | neighbour | ports |
//! |---|---|
//! | binding | in `job`, `job_valid`; out `job_room` (room for four more) |
//! | packet engine | out `place_request`, `place_request_valid`; in `place_request_ready` |
//! | DMA writer | out `transfer`, `transfer_valid`; in `transfer_ready` |
//! | registers | in `posted`: completion order of packets that pass now |
//!
//! One packet per cycle; four cycles from `job_valid` to `transfer_valid`, and the request leaves in the cycle in which the
//! transfer is offered. The payload arrives in the order of the transfers, because both are in the order of the jobs.
//!
//! Destination = buffer + buf_off + msg_off: the last two were added by the look-up, the low halves of the address are added
//! in the second stage, the carry goes into the high half in the third.

pub mod binding;
pub mod buffer_queue;
pub mod queue_steps;
pub mod queue_types;
pub mod windows;

use crate::types::{Origin, PlaceJob, Transfer, PLACE, QUEUE_BITS, QUEUE_STOP};
use spindle_blocks::desc::ReadRequest;
use spindle_blocks::Fifo;
use spindle_verilog::prelude::*;

/// A job with the low half of its address.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HalfPlaced {
    /// The job.
    pub job: PlaceJob,
    /// Low half of the address, and its carry.
    pub low: Bits<33>,
    /// Payload bytes, less one.
    pub span: Bits<17>,
    /// Bytes of the frame up to the end of the payload.
    pub frame_bytes: Bits<14>,
}

/// The placement stage. See the module text.
#[block]
pub struct Placement {
    /// Packet to place.
    pub job: PulseSink<PlaceJob>,
    /// There is room for four more.
    pub job_room: Signal<Out, Bit>,
    /// Payload wanted.
    pub place_request: Source<ReadRequest>,
    /// Bytes to write.
    pub transfer: Source<Transfer>,
    /// 1 = bytes count at the last W beat.
    pub posted: Signal<In, Bit>,
    jobs: Fifo<PlaceJob, QUEUE_BITS>,
    oldest: DFF<PlaceJob>,
    oldest_valid: Reg<Bit>,
    half: DFF<HalfPlaced>,
    half_valid: Reg<Bit>,
    whole: DFF<Transfer>,
    whole_valid: Reg<Bit>,
    request: DFF<ReadRequest>,
    request_valid: Reg<Bit>,
}

#[hdl]
impl Placement {
    fn update(&mut self) {
        self.jobs.write.next = self.job.val();
        self.jobs.write.valid.next = self.job.valid.val();
        self.job_room.next = self.jobs.level.val() < QUEUE_STOP;

        // A stage moves when the next one is empty or moves. The last holds a transfer and a request; it is empty when
        // both have been taken.
        let transfer_open = self.whole_valid.q.val() & !self.transfer.ready.val();
        let request_open = self.request_valid.q.val() & !self.place_request.ready.val();
        let second = !transfer_open & !request_open;
        let first = !self.half_valid.q.val() | second;
        // There is a job in two cycles at most, so the oldest need not be followed at once.
        let fetch = !self.oldest_valid.q.val();

        self.jobs.read.ready.next = fetch;
        if fetch {
            self.oldest_valid.d.next = self.jobs.read.valid.val();
            self.oldest.d.next = self.jobs.read.val();
        } else if first {
            self.oldest_valid.d.next = false;
        }
        let job = self.oldest.q.val();
        if first {
            self.half_valid.d.next = self.oldest_valid.q.val();
            self.half.d.next = HalfPlaced {
                job: job,
                low: bit_cast::<33, 32>(job.base.get_bits::<32>(0)) + bit_cast::<33, 32>(job.start),
                span: bit_cast::<17, 16>(job.payload_len - 1),
                frame_bytes: job.payload_len.get_bits::<14>(0) + bit_cast::<14, 7>(job.payload_offset),
            };
        }

        let half = self.half.q.val();
        let carry = bit_cast::<32, 1>(half.low.get_bits::<1>(32));
        let reach = half.span + bit_cast::<17, 6>(half.low.get_bits::<6>(0));
        if second {
            self.whole_valid.d.next = self.half_valid.q.val();
            self.request_valid.d.next = self.half_valid.q.val();
            self.whole.d.next = Transfer {
                address: (half.job.base.get_bits::<32>(32) + carry, half.low.get_bits::<32>(0)).cat::<64>(),
                last_line: reach.get_bits::<11>(6),
                offset: half.job.payload_offset.get_bits::<6>(0),
                origin: Origin {
                    kind: bits::<3>(PLACE),
                    posted: self.posted.val(),
                    slot: half.job.slot,
                    frame: half.job.frame,
                    tag: half.job.pkt,
                    has_slot: half.job.has_slot,
                    msg_slot: half.job.msg_slot,
                    color: half.job.color,
                    length: half.job.payload_len,
                },
            };
            self.request.d.next = ReadRequest {
                pkt: half.job.pkt,
                length: half.frame_bytes,
                skip: bit_cast::<8, 1>(half.job.payload_offset.get_bits::<1>(6)),
            };
        } else {
            self.whole_valid.d.next = transfer_open;
            self.request_valid.d.next = request_open;
        }
        self.place_request.next = self.request.q.val();
        self.place_request.valid.next = self.request_valid.q.val();
        self.transfer.next = self.whole.q.val();
        self.transfer.valid.next = self.whole_valid.q.val();
    }
}
