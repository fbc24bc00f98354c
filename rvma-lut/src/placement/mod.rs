//! Placement: computes the host address of a packet's payload and requests the payload from the packet buffer.
//!
//! | neighbour | ports |
//! |---|---|
//! | binding | in `bound` (with headroom) |
//! | packet engine | out `place_request` |
//! | DMA writer | out `packet_write` |
//! | registers | in `posted`: completion order of packets that pass now |
//!
//! One packet per two cycles, as binding delivers; four cycles from `bound` to `packet_write`. The request leaves in the
//! cycle in which the write is offered. The payload arrives in the order of the writes, because both follow the order of
//! the packets.
//!
//! Destination = buffer + buf_off + msg_off: the look-up added the last two, the second stage adds the low halves of
//! the address, the third stage adds the carry to the high half.

pub mod binding;
pub mod buffer_queue;
pub mod holds;
pub mod queue_steps;
pub mod queue_types;
pub mod windows;

use crate::prelude::*;

/// A packet with the low half of its address.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HalfAddressed {
    /// Packet.
    pub packet: BoundPacket,
    /// Low half of the address, with its carry.
    pub low: Bits<33>,
    /// Payload bytes, less one.
    pub span: Bits<17>,
    /// Bytes of the frame up to the end of the payload.
    pub frame_bytes: Bits<14>,
}

/// The placement stage. See the module text.
#[block]
pub struct Placement {
    /// Packet to write.
    pub bound: HeadroomSink<BoundPacket>,
    /// Payload requested from the packet buffer.
    pub place_request: Source<ReadRequest>,
    /// Write of the payload.
    pub packet_write: Source<HostWrite>,
    /// 1 = bytes count at the last W beat.
    pub posted: Signal<In, Bit>,
    queue: Fifo<BoundPacket, QUEUE_BITS>,
    oldest: DFF<BoundPacket>,
    oldest_valid: Reg<Bit>,
    half: DFF<HalfAddressed>,
    half_valid: Reg<Bit>,
    write: DFF<HostWrite>,
    write_valid: Reg<Bit>,
    request: DFF<ReadRequest>,
    request_valid: Reg<Bit>,
}

#[hdl]
impl Placement {
    fn update(&mut self) {
        self.queue.write.offer(self.bound.valid.val(), self.bound.val());
        self.bound.headroom.next = self.queue.level.val() < QUEUE_STOP;

        // A stage moves when the next one is empty or moves. The last stage holds a write and a request; it is empty
        // when both have been taken.
        let write_open = self.write_valid.q.val() & !self.packet_write.ready.val();
        let request_open = self.request_valid.q.val() & !self.place_request.ready.val();
        let second = !write_open & !request_open;
        let first = !self.half_valid.q.val() | second;
        // At most one packet comes per two cycles, so `oldest` need not be refilled at once.
        let fetch = !self.oldest_valid.q.val();

        self.queue.read.ready.next = fetch;
        if fetch {
            self.oldest_valid.d.next = self.queue.read.valid.val();
            self.oldest.d.next = self.queue.read.val();
        } else if first {
            self.oldest_valid.d.next = false;
        }
        let packet = self.oldest.q.val();
        if first {
            self.half_valid.d.next = self.oldest_valid.q.val();
            self.half.d.next = HalfAddressed {
                packet: packet,
                low: bit_cast::<33, 32>(packet.base.get_bits::<32>(0)) + bit_cast::<33, 32>(packet.start),
                span: bit_cast::<17, 16>(packet.payload_len - 1),
                frame_bytes: packet.payload_len.get_bits::<14>(0) + bit_cast::<14, 11>(packet.payload_offset),
            };
        }

        let half = self.half.q.val();
        let carry = bit_cast::<32, 1>(half.low.get_bits::<1>(32));
        let reach = half.span + bit_cast::<17, 6>(half.low.get_bits::<6>(0));
        if second {
            self.write_valid.d.next = self.half_valid.q.val();
            self.request_valid.d.next = self.half_valid.q.val();
            self.write.d.next = HostWrite {
                address: (half.packet.base.get_bits::<32>(32) + carry, half.low.get_bits::<32>(0)).cat::<64>(),
                last_line: reach.get_bits::<11>(6),
                offset: half.packet.payload_offset.get_bits::<6>(0),
                origin: WriteOrigin {
                    kind: bits::<3>(PACKET),
                    posted: self.posted.val(),
                    slot: half.packet.slot,
                    frame: half.packet.frame,
                    tag: half.packet.pkt,
                    has_slot: half.packet.has_slot,
                    msg_slot: half.packet.msg_slot,
                    fence_phase: half.packet.fence_phase,
                    host: half.packet.host,
                    of_bytes: half.packet.of_bytes,
                    length: half.packet.payload_len,
                },
            };
            self.request.d.next = ReadRequest {
                pkt: half.packet.pkt,
                length: half.frame_bytes,
                skip: bit_cast::<8, 5>(half.packet.payload_offset.get_bits::<5>(6)),
            };
        } else {
            self.write_valid.d.next = write_open;
            self.request_valid.d.next = request_open;
        }
        self.place_request.offer(self.request_valid.q.val(), self.request.q.val());
        self.packet_write.offer(self.write_valid.q.val(), self.write.q.val());
    }
}
