//! Report: passes on how a packet or a handler's DMA ended.
//!
//! | neighbour | ports |
//! |---|---|
//! | DMA writer | in `finished`, `finished_error`; in `written` (pulse); out `has_headroom` |
//! | binding, GET responder | in `verdict` (with headroom) |
//! | packet engine | out `placement_done` |
//! | HPU array | out `dma_done` (pulse) |
//! | counters | out `bytes_acked` |
//! | registers | out pulses `packet_placed` with `packet_bytes`, `packet_refused`, `record_written`, `dma_ended` |
//!
//! Every placement produces exactly one `placement_done`: after the last answer of the host, or with its refusal. A
//! write that the host refused is reported as HOST_ERROR and acknowledged as failed. Bytes are acknowledged with the
//! last answer (WAIT_B) or, for transfers marked `posted`, with the last W beat.
//!
//! `finished` or `written` → `bytes_acked`: 1 cycle; `finished` → `placement_done`: 4 cycles. `finished.ready` comes
//! from registers. `bytes_acked` may change before it is taken, because answers go before beats; the counters use it
//! only in the cycle in which they take it.
//!
//! A host may accept no further address before its answers are taken, and a counter may wait for a record to leave. So
//! an answer never waits for an address, nor a beat for a counter, nor an answer for the scheduler, which may itself
//! wait for an event to leave: the FIFOs to both hold all that can still arrive, because the DMA writer starts no
//! transfer of data without `has_headroom`. (512 answers: 32 at the loss of headroom, and all bursts in flight; 64
//! beats: 16, and the transfers in the writer's order FIFOs.)

use crate::prelude::*;
use spindle_contract::reasons::HOST_ERROR;

/// Address bits of the FIFOs of answered packets.
const ANSWER_BITS: usize = 9;
/// Address bits of the FIFO to the counters.
const FRONT_BITS: usize = 4;
/// Level of the FIFOs of answers up to which transfers start.
const ANSWER_STOP: u64 = 32;
/// Address bits of the FIFO of packets that count with their last beat.
const BEAT_BITS: usize = 6;
/// Level of that FIFO up to which transfers start.
const BEAT_STOP: u64 = 16;

/// The report stage. See the module text.
#[block]
pub struct Report {
    /// Transfer that the host has answered completely.
    pub finished: Sink<WriteOrigin>,
    /// With `finished`: the host refused a part of the transfer.
    pub finished_error: Signal<In, Bit>,
    /// Transfer that counts as written with its last beat.
    pub written: PulseSink<WriteOrigin>,
    /// The FIFOs to the counters and to the packet engine have room for all transfers under way and more.
    pub has_headroom: Signal<Out, Bit>,
    /// Packet that needed no write.
    pub verdict: HeadroomSink<PlacementDone>,
    /// Packet whose cells may be freed.
    pub placement_done: Source<PlacementDone>,
    /// Handler DMA that ended.
    pub dma_done: Pulse<DmaDone>,
    /// Bytes for the counters.
    pub bytes_acked: Source<BytesAcked>,
    /// A packet was written.
    pub packet_placed: Signal<Out, Bit>,
    /// With `packet_placed`: payload bytes.
    pub packet_bytes: Signal<Out, Bits<16>>,
    /// A packet was refused, by a table or by the host.
    pub packet_refused: Signal<Out, Bit>,
    /// A completion record was written.
    pub record_written: Signal<Out, Bit>,
    /// A handler's DMA ended.
    pub dma_ended: Signal<Out, Bit>,
    /// Trace: last answer for the packet of frame `answered_frame`.
    pub answered: Signal<Out, Bit>,
    /// Trace: frame of the transfer at `finished`.
    pub answered_frame: Signal<Out, Bits<16>>,
    /// Answers for the counters. `answers` is in LUT RAM, because block RAM alone would add two cycles between the last
    /// answer and the record. `overflow` takes the answers while `answers` is full; while it holds some, all answers
    /// pass through it.
    answers: Fifo<BytesAcked, FRONT_BITS>,
    overflow: BlockFifo<BytesAcked, ANSWER_BITS>,
    beats: Fifo<BytesAcked, BEAT_BITS>,
    placed: Fifo<PlacementDone, ANSWER_BITS>,
    refused: Fifo<PlacementDone, QUEUE_BITS>,
    done: DFF<PlacementDone>,
    done_valid: Reg<Bit>,
    refused_next: Reg<Bit>,
    ended: DFF<DmaDone>,
    ended_valid: Reg<Bit>,
    headroom: Reg<Bit>,
}

impl Report {
    /// A report stage with its overflow FIFO in a memory of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { overflow: BlockFifo::new(style), ..Self::blank() }
    }
}

#[hdl]
impl Report {
    fn update(&mut self) {
        // Last answers of the host.
        let origin = self.finished.val();
        let good = !self.finished_error.val();
        let packet = self.finished.valid.val() & (origin.kind == PACKET);
        self.finished.ready.next = self.placed.write.ready.val();
        let answer = BytesAcked {
            slot: origin.slot,
            length: origin.length,
            ok: good,
            fence_phase: origin.fence_phase,
            frame: origin.frame,
        };
        let answered = packet & !origin.posted;
        let front_room = self.answers.write.ready.val();
        let direct = front_room & !self.overflow.level.val().any();
        self.answers.write.next = if direct { answer } else { self.overflow.read.val() };
        self.answers.write.valid.next = if direct { answered } else { self.overflow.read.valid.val() };
        self.overflow.write.offer(answered & !direct, answer);
        self.overflow.read.ready.next = front_room & !direct;
        self.placed.write.next = PlacementDone {
            pkt: origin.tag,
            frame: origin.frame,
            has_slot: origin.has_slot,
            msg_slot: origin.msg_slot,
            payload_len: origin.length,
            placed: good,
            reason: if good { bits::<5>(0) } else { bits::<5>(HOST_ERROR) },
            of_bytes: origin.of_bytes,
            spare: bits::<6>(0),
        };
        self.placed.write.valid.next = packet;
        self.ended_valid.d.next = self.finished.valid.val() & (origin.kind == HANDLER);
        self.ended.d.next = DmaDone { issuer: issuer_of(origin.tag), error: !good, spare: bits::<5>(0) };
        self.dma_done.offer(self.ended_valid.q.val(), self.ended.q.val());
        self.record_written.next = self.finished.valid.val() & (origin.kind == RECORD);
        self.dma_ended.next = self.ended_valid.q.val();
        self.answered.next = packet;
        self.answered_frame.next = origin.frame;

        // Last beats of posted transfers: their answers are not waited for, so they cannot fail here. Bytes go to the
        // counters.
        let beat = self.written.val();
        self.beats.write.next = BytesAcked {
            slot: beat.slot,
            length: beat.length,
            ok: true,
            fence_phase: beat.fence_phase,
            frame: beat.frame,
        };
        self.beats.write.valid.next = self.written.valid.val();
        self.headroom.d.next = (self.overflow.level.val() < ANSWER_STOP)
            & (self.placed.level.val() < ANSWER_STOP)
            & (self.beats.level.val() < BEAT_STOP);
        self.has_headroom.next = self.headroom.q.val();
        let answers_first = self.answers.read.valid.val();
        self.bytes_acked.next = if answers_first { self.answers.read.val() } else { self.beats.read.val() };
        self.bytes_acked.valid.next = answers_first | self.beats.read.valid.val();
        self.answers.read.ready.next = self.bytes_acked.ready.val();
        self.beats.read.ready.next = self.bytes_acked.ready.val() & !answers_first;

        // Written and refused packets go to the packet engine in turn.
        self.refused.write.offer(self.verdict.valid.val(), self.verdict.val());
        self.verdict.headroom.next = self.refused.level.val() < QUEUE_STOP;
        let open = self.done_valid.q.val() & !self.placement_done.ready.val();
        let pick_refused = self.refused.read.valid.val() & (self.refused_next.q.val() | !self.placed.read.valid.val());
        self.refused.read.ready.next = !open & pick_refused;
        self.placed.read.ready.next = !open & !pick_refused;
        if !open {
            self.done_valid.d.next = self.refused.read.valid.val() | self.placed.read.valid.val();
            self.done.d.next = if pick_refused { self.refused.read.val() } else { self.placed.read.val() };
            self.refused_next.d.next = !pick_refused;
        }
        let done = self.done.q.val();
        self.placement_done.offer(self.done_valid.q.val(), done);
        let leaves = self.done_valid.q.val() & self.placement_done.ready.val();
        self.packet_placed.next = leaves & done.placed;
        self.packet_bytes.next = done.payload_len;
        self.packet_refused.next = leaves & !done.placed;
    }
}
