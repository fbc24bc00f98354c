//! The RVMA engine: packets and handler DMA into host memory, buffers completed by hardware. This file only joins the
//! blocks.
//!
//! ```text
//!  placement -> lookup -> binding <-> buffer_queue <--------------------+
//!                 ^          | bound      | buffer_event                | freed
//!  csr -> doorbell -> command_unit        v                             |
//!                            |  holds -> counters -> completion -> epochs -+
//!                            |            ^            |
//!                            v            | bytes_acked| record (by internal_write_mux)
//!                        placement -> dma_writer <-----+---- dma
//!                            |            | finished
//!          place_request <---+         report -> placement_done, dma_done
//!
//!  host_read, put_read -> read_requests, read_answers, read_buffer -> host_data, put_data
//!                            ^ words, commands of rings
//!  host_atomic -> host_atomics ---------+
//!                                       +-> internal_write_mux -> dma_writer
//!  message_event, array_event, frame_events -> event_rings
//! ```
//!
//! Not drawn: `frame_places`, `get_responder`, `command_rings`, `ring_posts`, `kicks`, `ring_reads`, `moderation`,
//! `frame_sends`, `frame_sums`, `regions`, `receive_maps`, `buffer_reclaim`, `put_arbiter`, `registers`.
//!
//! Ports and neighbours: `docs/interfaces.md`, block `RvmaEngine`. An INSERT of a mailbox is in the table's pipeline
//! for one cycle after the command unit has ended, so RESULT is never readable before packets can find the mailbox.
//!
//! | path | cycles, idle engine, host ready |
//! |---|---|
//! | placement accepted → looked up (trace point 12) | 13 |
//! | placement accepted → place_request | 17 |
//! | last B of a buffer's data → AWVALID of its record | 7, 8 when another packet's answer came just before |
//! | packets of one flow to one mailbox | one per 2 cycles sustained |
//! | read taken → ARVALID | 4 |
//! | placement of a GET accepted → `host_put` | 30; a GET per 16 |
//! | R → `host_data` | 3, with UltraRAM 5 |
//! | atomic taken → ARVALID; R → AWVALID; B → done | 6; 9; 1 |
//! | event taken → AWVALID | 6; one per 2 cycles |

use crate::commands::{command_rings, command_unit, doorbell, kicks, put_arbiter, ring_posts};
use crate::completion::frame_events::HostFrame;
use crate::completion::{
    buffer_reclaim, counters, epochs, event_rings, frame_events, frame_places, moderation, receive_maps, report,
    CompletionUnit,
};
use crate::host_access::internal_write_mux::first_write;
use crate::host_access::read_requests::{ATOMICS, BUFFERED, RINGS};
use crate::host_access::{
    dma_writer, frame_sends, frame_sums, get_responder, host_atomics, read_answers, read_buffer, read_requests,
    regions, ring_reads,
};
use crate::lookup::Lookup;
use crate::placement::{binding, buffer_queue, holds, Placement};
use crate::prelude::*;
use crate::registers::Registers;
use spindle_blocks::checksum::ChecksumField;
use spindle_contract::params::{Config, RECEIVE_MAPS, RECEIVE_MAP_BITS};

/// The engine. See the module text.
#[block]
pub struct RvmaEngine {
    /// Packet to place.
    pub placement: Sink<PlacementDesc>,
    /// Packet requested from the packet buffer.
    pub place_request: Source<ReadRequest>,
    /// Beat of the packet.
    pub place_data: BeatSink,
    /// Packet whose cells may be freed.
    pub placement_done: Source<PlacementDone>,
    /// Answer of a mailbox to a packet, before its `placement_done`.
    pub placement_outcome: Pulse<PlacementOutcome>,
    /// A pending message is done.
    pub pending_end: Sink<PendingEnd>,
    /// DMA command of a handler, length at least 1.
    pub dma: Sink<DmaDesc>,
    /// Bytes of the command.
    pub dma_data: BeatSink,
    /// DMA command that is complete.
    pub dma_done: Pulse<DmaDone>,
    /// Read of host memory for a handler, length at least 1.
    pub host_read: Sink<HostRead>,
    /// Bytes of the read.
    pub host_data: ReadDataSource<HostRead>,
    /// Read of host memory for a frame, length 1 to 8192.
    pub put_read: Sink<HostRead>,
    /// Bytes of the read; offered when all of them are present.
    pub put_data: ReadDataSource<HostRead>,
    /// With `put_data`: a checksum to insert into this beat.
    pub put_data_field: Signal<Out, ChecksumField>,
    /// Atomic operation on host memory, its address naturally aligned.
    pub host_atomic: Sink<HostAtomic>,
    /// Atomic operation that is complete.
    pub atomic_done: Pulse<HostAtomicDone>,
    /// Put from host memory, or get, of a handler.
    pub array_put: Sink<PutDesc>,
    /// Put or get of a handler or process, or answer to a GET, for the initiator.
    pub host_put: Source<PutDesc>,
    /// Host memory to read and to send as a frame.
    pub frame: Source<HostRead>,
    /// A put or get is complete.
    pub put_done: PulseSink<PutDone>,
    /// Event of the packet engine.
    pub message_event: Sink<EventDesc>,
    /// Event of the HPU array.
    pub array_event: Sink<EventDesc>,
    /// Bit p = process p has an event ring.
    pub rings_open: Signal<Out, Bits<64>>,
    /// Process whose event ring requests an interrupt.
    pub irq_fires: Pulse<Bits<6>>,
    /// Register access.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, for the pages `rvma` and `doorbell`.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// AXI4 master to host memory.
    pub host: AxiSource,
    /// Trace points of this engine.
    pub trace_valid: Signal<Out, Bits<16>>,
    /// With `trace_valid`: frame of each trace point.
    pub trace_tags: Signal<Out, Bits<256>>,
    /// With trace point `looked_up`: mailbox of the packet.
    pub trace_mailbox: Signal<Out, Bits<12>>,
    lookup: Lookup,
    binding: binding::Binding,
    buffer_queue: buffer_queue::BufferQueue,
    holds: holds::Holds,
    placement_stage: Placement,
    dma_writer: dma_writer::DmaWriter,
    read_requests: read_requests::ReadRequests,
    read_answers: read_answers::ReadAnswers,
    read_buffers: [read_buffer::ReadBuffer; BUFFERED],
    frame_sums: frame_sums::FrameSums,
    host_atomics: host_atomics::HostAtomics,
    event_rings: event_rings::EventRings,
    frame_sends: frame_sends::FrameSends,
    frame_events: frame_events::FrameEvents,
    frame_places: frame_places::FramePlaces,
    moderation: moderation::Moderation,
    report: report::Report,
    counters: counters::Counters,
    completion_unit: CompletionUnit,
    epochs: epochs::Epochs,
    buffer_reclaim: buffer_reclaim::BufferReclaim,
    doorbell: doorbell::Doorbell,
    command_unit: command_unit::CommandUnit,
    command_rings: command_rings::CommandRings,
    ring_posts: ring_posts::RingPosts,
    kicks: kicks::Kicks,
    ring_reads: ring_reads::RingReads,
    get_responder: get_responder::GetResponder,
    regions: regions::Regions,
    receive_maps: receive_maps::ReceiveMaps,
    put_arbiter: put_arbiter::PutArbiter,
    registers: Registers,
}

impl RvmaEngine {
    /// The engine of a NIC of this configuration.
    pub fn new(config: &Config) -> Self {
        if let Err(sentence) = config.validate() {
            panic!("RvmaEngine: {sentence}");
        }
        // UltraRAM where a configuration has the tables that need it, LUT RAM elsewhere: a buffer is 512 bits wide and
        // short.
        let buffers = if config.posted_buffers > 8192 { RamStyle::Ultra } else { RamStyle::Distributed };
        let spare = RamStyle::spare(config);
        Self {
            lookup: Lookup::new(config.mailboxes),
            binding: binding::Binding::new(RamStyle::on(config, config.live_messages)),
            buffer_queue: buffer_queue::BufferQueue::new(config.mailboxes, config.posted_buffers, spare),
            holds: holds::Holds::new(RamStyle::on(config, config.live_messages)),
            counters: counters::Counters::new(config.posted_buffers),
            epochs: epochs::Epochs::new(config.mailboxes, config.posted_buffers),
            completion_unit: CompletionUnit::new(config.posted_buffers),
            read_buffers: std::array::from_fn(|_| read_buffer::ReadBuffer::new(buffers)),
            event_rings: event_rings::EventRings::new(),
            frame_places: frame_places::FramePlaces::new(),
            moderation: moderation::Moderation::new(),
            report: report::Report::new(spare),
            put_arbiter: put_arbiter::PutArbiter::new(spare),
            doorbell: doorbell::Doorbell::new(config.processes),
            command_unit: command_unit::CommandUnit::new(config.mailboxes),
            ring_posts: ring_posts::RingPosts::new(config.mailboxes),
            regions: regions::Regions::new(config.processes),
            receive_maps: receive_maps::ReceiveMaps::new(
                RamStyle::on(config, RECEIVE_MAPS * RECEIVE_MAP_BITS / 64),
                spare,
            ),
            dma_writer: dma_writer::DmaWriter::new(spare),
            command_rings: command_rings::CommandRings::new(spare),
            ..Self::blank()
        }
    }
}

#[hdl]
impl RvmaEngine {
    fn update(&mut self) {
        self.join_packets();
        self.join_writer();
        self.join_reads();
        self.join_events();
        self.join_frames();
        self.join_verdicts();
        self.join_completion();
        self.join_epochs();
        self.join_doorbell();
        self.join_command_rings();
        self.join_kicks();
        self.join_queue_commands();
        self.join_registers();
    }

    /// Packets: lookup, binding, placement. GETs that found their mailbox go to the responder; refused ones go on like
    /// other packets.
    fn join_packets(&mut self) {
        self.placement.join(&mut self.lookup.placement);
        let found = self.lookup.looked_up.val();
        let gets = found.packet.get & !found.refused & !found.packet.inconsistent;
        self.binding.looked_up.offer(self.lookup.looked_up.valid.val() & !gets, self.lookup.looked_up.val());
        self.get_responder.looked_up.offer(self.lookup.looked_up.valid.val() & gets, found);
        self.lookup.looked_up.ready.next =
            if gets { self.get_responder.looked_up.ready.val() } else { self.binding.looked_up.ready.val() };
        self.binding.reservation.join(&mut self.buffer_queue.reservation);
        self.binding.bound.join(&mut self.placement_stage.bound);
        self.placement_stage.posted.next = self.registers.posted.val();
        self.placement_stage.place_request.join(&mut self.get_responder.request);
        self.get_responder.place_request.join(&mut self.place_request);
    }

    /// Writes to host memory.
    fn join_writer(&mut self) {
        self.placement_stage.packet_write.join(&mut self.dma_writer.packet_write);
        self.dma_writer.place_data.next = self.place_data.val();
        self.dma_writer.place_data.last.next = self.place_data.last.val();
        self.dma_writer.place_data.valid.next = self.get_responder.data_valid.val();
        self.get_responder.data_ready.next = self.dma_writer.place_data.ready.val();
        self.place_data.join(&mut self.get_responder.place_data);
        self.dma.join(&mut self.dma_writer.dma);
        self.dma_data.join(&mut self.dma_writer.dma_data);
        let record = self.completion_unit.record.valid.val();
        let atomic = self.host_atomics.write.valid.val();
        self.dma_writer.internal_write.next = first_write(
            self.completion_unit.record.val(),
            record,
            self.host_atomics.write.val(),
            atomic,
            self.event_rings.write.val(),
        );
        self.dma_writer.internal_write.valid.next = record | atomic | self.event_rings.write.valid.val();
        self.completion_unit.record.ready.next = self.dma_writer.record_ready.val();
        self.host_atomics.write.ready.next = self.dma_writer.internal_write.ready.val() & !record;
        self.event_rings.write.ready.next = self.dma_writer.internal_write.ready.val() & !record & !atomic;
        self.dma_writer.host.join(&mut self.host);
        self.read_requests.host.join(&mut self.host);
        self.read_answers.host.join(&mut self.host);
    }

    /// Reads of host memory: for handlers, for frames, for atomics. A read goes to its buffer and to the reader, or to
    /// neither.
    fn join_reads(&mut self) {
        self.read_requests.read[0].next = self.host_read.val();
        self.read_requests.read[1].next = self.put_read.val();
        self.read_buffers[0].tag.next = self.host_read.val();
        self.read_buffers[1].tag.next = self.put_read.val();
        self.read_requests.read[0].valid.next = self.host_read.valid.val() & self.read_buffers[0].tag.ready.val();
        self.read_requests.read[1].valid.next = self.put_read.valid.val() & self.read_buffers[1].tag.ready.val();
        self.read_buffers[0].tag.valid.next = self.host_read.valid.val() & self.read_requests.read[0].ready.val();
        self.read_buffers[1].tag.valid.next = self.put_read.valid.val() & self.read_requests.read[1].ready.val();
        self.host_read.ready.next = self.read_requests.read[0].ready.val() & self.read_buffers[0].tag.ready.val();
        self.put_read.ready.next = self.read_requests.read[1].ready.val() & self.read_buffers[1].tag.ready.val();
        for i in 0..BUFFERED {
            self.read_requests.room[i].next = self.read_buffers[i].room.val();
            self.read_requests.short_room[i].next = self.read_buffers[i].short_room.val();
            self.read_buffers[i].reserve.next = self.read_requests.reserve[i].val();
            self.read_buffers[i].reserve_beats.next = self.read_requests.reserve_beats.val();
            self.read_buffers[i].beat.next = self.read_answers.data.val();
            self.read_buffers[i].beat_last.next = self.read_answers.data_last.val();
            self.read_buffers[i].beat_error.next = self.read_answers.data_error.val();
            self.read_buffers[i].beat.valid.next = self.read_answers.data_valid[i].val();
            // A frame begins when all of its bytes are present.
            self.read_buffers[i].whole.next = i == 1;
        }
        self.read_buffers[0].data.join(&mut self.host_data);
        self.read_buffers[1].data.join(&mut self.put_data);
        self.read_buffers[0].held.next = false;
        self.read_buffers[1].held.next = self.frame_sums.held.val();
        self.frame_sums
            .read
            .offer(self.read_buffers[1].tag.valid.val() & self.read_buffers[1].tag.ready.val(), self.put_read.val());
        self.frame_sums.beat.offer(self.read_answers.data_valid[1].val(), self.read_answers.data.val());
        self.frame_sums.beat_last.next = self.read_answers.data_last.val();
        let oldest = self.read_buffers[1].data.tag.val();
        let leaves = self.read_buffers[1].data.valid.val() & self.put_data.ready.val();
        let leaves_last = self.read_buffers[1].data.last.val();
        self.frame_sums.oldest.next = oldest;
        self.frame_sums.leaves.next = leaves;
        self.frame_sums.leaves_last.next = leaves_last;
        self.put_data_field.next = self.frame_sums.field.val();
        self.frame_sends.taken.next = leaves & leaves_last & frame_sums::of_frame(oldest);
        self.frame_sends.taken_error.next = self.read_buffers[1].data.error.val();
        self.host_atomics.read.join(&mut self.read_requests.read[ATOMICS]);
        self.host_atomics.word.next = self.read_answers.data.val().get_bits::<64>(0);
        self.host_atomics.word_error.next = self.read_answers.data_error.val();
        self.host_atomics.word.valid.next = self.read_answers.data_valid[ATOMICS].val();
        self.read_requests.piece.join(&mut self.read_answers.piece);
        self.host_atomic.join(&mut self.host_atomics.host_atomic);
        self.host_atomics.done.join(&mut self.atomic_done);
    }

    /// Events. Those of this engine are rare and go before those of the HPU array.
    fn join_events(&mut self) {
        self.message_event.join(&mut self.event_rings.event[0]);
        let reported = self.completion_unit.buffer_report.valid.val();
        let sent = self.frame_sends.report.valid.val();
        self.event_rings.event[1].offer(self.array_event.valid.val() | reported | sent, self.array_event.val());
        self.array_event.ready.next = self.event_rings.event[1].ready.val() & !reported & !sent;
        self.frame_sends.report.ready.next = self.event_rings.event[1].ready.val() & !reported;
        if sent {
            self.event_rings.event[1].next = self.frame_sends.report.val();
        }
        self.completion_unit.buffer_report.ready.next = self.event_rings.event[1].ready.val();
        if reported {
            self.event_rings.event[1].next = self.completion_unit.buffer_report.val();
        }
        self.command_unit.ring.join(&mut self.event_rings.ring);
        self.command_unit.ring_done.next = self.event_rings.ring_done.val();
        self.rings_open.next = self.event_rings.rings_open.val();

        // Interrupts. A record counts when the host has answered it.
        let finished = self.dma_writer.finished.val();
        let answered = self.dma_writer.finished.valid.val() & (finished.kind == EVENT);
        self.moderation.answered.offer(answered, finished.slot.get_bits::<6>(0));
        self.moderation.ring_set.next = self.event_rings.ring_done.val();
        self.moderation.ring_pid.next = self.command_unit.ring.val().pid;
        self.moderation.open.next = self.event_rings.rings_open.val();
        self.doorbell.irq.join(&mut self.moderation.settings);
        self.moderation.irq_fires.join(&mut self.irq_fires);
    }

    /// Frames for the host: their places in event rings, and their events.
    fn join_frames(&mut self) {
        let placement = self.placement.val();
        let arrives = self.placement.valid.val() & self.lookup.placement.ready.val() & placement.host;
        self.frame_events.arrival.offer(
            arrives,
            HostFrame {
                pid: placement.dst_pid.get_bits::<6>(0),
                mailbox: placement.addr.get_bits::<12>(0),
                frame: placement.frame,
                length: placement.length,
                stamp: placement.stamp,
                rule: placement.rule,
                checks: placement.checks,
            },
        );
        self.frame_events.decided.next = self.binding.frame_decided.val();
        self.frame_events.placed.next = self.binding.frame_placed.val();
        let bound = self.binding.bound.val();
        self.frame_events.bound.offer(self.binding.bound.valid.val() & bound.host, bound);
        self.binding.frame_headroom.next = self.frame_events.headroom.val();
        self.binding.frame_room.next = self.frame_places.room.val();
        let finished = self.dma_writer.finished.val();
        self.frame_events.finished.next =
            self.dma_writer.finished.valid.val() & (finished.kind == PACKET) & finished.host;
        self.frame_events.finished_error.next = self.dma_writer.finished_error.val();
        self.frame_events.report.join(&mut self.event_rings.event[2]);
        self.frame_places.pid.next = self.frame_events.pid.val();
        self.frame_places.take.next = self.frame_events.take.val();
        self.frame_places.reader.next = self.event_rings.reader.val();
        self.event_rings.ring_state.join(&mut self.frame_places.ring);
        self.frame_places.given.next = self.event_rings.given.val();
        self.event_rings.owed.next = self.frame_places.owed.val();
    }

    /// Ends of transfers, and verdicts of binding; the GET responder's verdicts go when binding has none.
    fn join_verdicts(&mut self) {
        let finished = self.dma_writer.finished.val();
        self.host_atomics.finished.next = finished;
        self.host_atomics.finished_error.next = self.dma_writer.finished_error.val();
        self.host_atomics.finished.valid.next = self.dma_writer.finished.valid.val() & (finished.kind == ATOMIC);
        self.event_rings.finished.next = self.dma_writer.finished.valid.val() & (finished.kind == EVENT);
        self.receive_maps.finished.next = self.dma_writer.finished.valid.val() & (finished.kind == PACKET);
        self.receive_maps.finished_error.next = self.dma_writer.finished_error.val();
        self.dma_writer.finished.join(&mut self.report.finished);
        self.report.finished_error.next = self.dma_writer.finished_error.val();
        self.dma_writer.written.join(&mut self.report.written);
        self.dma_writer.has_headroom.next = self.report.has_headroom.val();
        let binds = self.binding.outcome.valid.val() | self.binding.verdict.valid.val();
        self.get_responder.verdict_free.next = !binds & self.report.verdict.headroom.val();
        self.report.verdict.next = self.get_responder.verdict.val();
        self.placement_outcome.next = self.get_responder.outcome.val();
        self.buffer_reclaim.refused_phase.next = self.get_responder.verdict_phase.val();
        if binds {
            self.report.verdict.next = self.binding.verdict.val();
            self.placement_outcome.next = self.binding.outcome.val();
            self.buffer_reclaim.refused_phase.next = self.binding.verdict_phase.val();
        }
        let verdict = self.binding.verdict.valid.val() | self.get_responder.verdict.valid.val();
        self.report.verdict.valid.next = verdict;
        self.buffer_reclaim.refused.next = verdict;
        self.binding.verdict.headroom.next = self.report.verdict.headroom.val();
        self.placement_outcome.valid.next = self.binding.outcome.valid.val() | self.get_responder.verdict.valid.val();
        self.report.placement_done.join(&mut self.placement_done);
        self.report.dma_done.join(&mut self.dma_done);
    }

    fn join_completion(&mut self) {
        self.binding.hold.join(&mut self.holds.hold);
        self.binding.hold_room.next = self.holds.room.val();
        self.pending_end.join(&mut self.holds.pending_end);
        self.buffer_queue.buffer_event.join(&mut self.holds.queue_event);
        self.holds.buffer_event.join(&mut self.counters.buffer_event);
        self.holds.hold_end.join(&mut self.counters.hold_end);
        self.buffer_queue.posted.join(&mut self.counters.posted);
        self.counters.posted_record.next = self.buffer_queue.posted_record.val();
        self.report.bytes_acked.join(&mut self.counters.bytes_acked);
        self.counters.completion.join(&mut self.completion_unit.completion);
        self.completion_unit.retired.join(&mut self.epochs.retired);
        self.completion_unit.bound.offer(self.binding.bound.valid.val(), self.binding.bound.val());
        self.buffer_queue.posted.join(&mut self.completion_unit.posted);
    }

    /// Epochs, buffer reclaim and receive maps: queries of the command unit and of the buffer reclaim go before those of the GET responder.
    fn join_epochs(&mut self) {
        self.buffer_queue.epoch_update.join(&mut self.epochs.epoch_update);
        self.epochs.freed.join(&mut self.buffer_queue.freed);
        let epochs_busy = self.command_unit.query.valid.val() | self.buffer_reclaim.query_valid.val();
        self.get_responder.epochs_busy.next = epochs_busy;
        self.epochs.query.next = self.command_unit.query.val();
        if self.get_responder.query_valid.val() {
            self.epochs.query.next = self.get_responder.query.val();
        }
        self.epochs.query.valid.next = epochs_busy | self.get_responder.query_valid.val();
        self.get_responder.peek.join(&mut self.buffer_queue.peek);
        self.epochs.reply.join(&mut self.get_responder.reply);
        let to_others = self.epochs.reply.valid.val() & !self.get_responder.granted.val();
        self.command_unit.reply.offer(to_others, self.epochs.reply.val());
        self.buffer_reclaim.reply.offer(to_others, self.epochs.reply.val());

        // Buffers that are taken back. The command unit waits meanwhile, and names the mailbox.
        self.command_unit.reclaim.join(&mut self.buffer_reclaim.reclaim);
        self.lookup.fence_phase.next = self.buffer_reclaim.fence_phase.val();
        self.buffer_reclaim.taken.next = self.lookup.taken.val();
        self.binding.sweep.next = self.buffer_reclaim.sweep.val();
        self.binding.sweep_all.next = self.command_unit.reclaim.closes.val();
        self.binding.sweep_slot.next = self.buffer_reclaim.sweep_slot.val();
        self.binding.sweep_mailbox.next = self.command_unit.queue_command.val().mailbox;
        self.holds.sweep.next = self.buffer_reclaim.sweep.val();
        self.holds.sweep_all.next = self.command_unit.reclaim.closes.val();
        self.holds.sweep_slot.next = self.buffer_reclaim.sweep_slot.val();
        self.holds.sweep_mailbox.next = self.command_unit.queue_command.val().mailbox;
        self.buffer_reclaim.swept.next = self.binding.swept.val() & self.holds.swept.val();
        self.buffer_reclaim.acked.next = self.report.bytes_acked.valid.val() & self.counters.bytes_acked.ready.val();
        self.buffer_reclaim.acked_phase.next = self.report.bytes_acked.val().fence_phase;

        // Receive maps.
        self.receive_maps.bound.offer(self.binding.bound.valid.val(), self.binding.bound.val());
        self.buffer_queue.posted.join(&mut self.receive_maps.posted);
        self.command_unit.map_assign.join(&mut self.receive_maps.assign);
        self.receive_maps.assign_pid.next = self.command_unit.command.owner.val();
        self.command_unit.map_query.join(&mut self.receive_maps.query);
    }

    /// Doorbell, puts and gets.
    fn join_doorbell(&mut self) {
        self.doorbell.csr.next = self.csr.val();
        self.doorbell.command.join(&mut self.command_unit.command);
        self.command_unit.staged.join(&mut self.doorbell.staged);
        let ring_put = self.ring_posts.put.valid.val();
        self.put_arbiter.process_put.next =
            if ring_put { self.ring_posts.put.val() } else { self.command_unit.put.val() };
        self.put_arbiter.process_put.valid.next = ring_put | self.command_unit.put.valid.val();
        self.put_arbiter.from_ring.next = ring_put;
        self.command_unit.put.ready.next = self.put_arbiter.process_put.ready.val();
        self.ring_posts.put.ready.next = self.put_arbiter.process_put.ready.val();
        self.command_unit.put_number.next = self.put_arbiter.number.val();
        self.get_responder.get_answer.join(&mut self.put_arbiter.get_answer);
        self.array_put.join(&mut self.put_arbiter.array_put);
        self.put_arbiter.host_put.join(&mut self.host_put);
        self.put_done.join(&mut self.put_arbiter.put_done);
    }

    fn join_command_rings(&mut self) {
        self.command_rings.ring.offer(self.command_unit.commands_valid.val(), self.command_unit.ring.val());
        self.command_unit.commands_done.next = self.command_rings.ring_done.val();
        self.command_rings.read.join(&mut self.ring_reads.rings);
        self.ring_reads.read.join(&mut self.read_requests.read[RINGS]);
        let line = self.read_answers.data_valid[RINGS].val();
        let to_kicks = self.ring_reads.to_kicks.val();
        self.ring_reads.line_moves.next = line;
        self.ring_reads.line_last.next = self.read_answers.data_last.val();
        self.command_rings.data.next = self.read_answers.data.val();
        self.command_rings.data_last.next = self.read_answers.data_last.val();
        self.command_rings.data_error.next = self.read_answers.data_error.val();
        self.command_rings.data.valid.next = line & !to_kicks;
        self.kicks.line.offer(line & to_kicks, self.read_answers.data.val());
        self.kicks.line_error.next = self.read_answers.data_error.val();
        self.command_rings.batch.join(&mut self.ring_posts.batch);
        self.ring_posts.pause.next = self.command_unit.command.busy.val();
        self.command_unit.rings_idle.next = self.ring_posts.idle.val();
        self.ring_posts.senders.next = self.registers.senders.val();
        self.ring_posts.frame.join(&mut self.frame_sends.send);
        self.frame_sends.frame.join(&mut self.frame);
        self.ring_posts.report.join(&mut self.doorbell.ring_result);
        self.doorbell.ring_result_pid.next = self.ring_posts.report_pid.val();
    }

    /// Kicks. Pointers that the doorbell writes go before those of a shadow line.
    fn join_kicks(&mut self) {
        self.kicks.shadow.offer(self.command_unit.shadow_valid.val(), self.command_unit.ring.val());
        self.command_unit.shadow_done.next = self.kicks.shadow_done.val();
        self.doorbell.kick.join(&mut self.kicks.kick);
        self.kicks.read.join(&mut self.ring_reads.kicks);
        let tail = self.doorbell.ring_tail.valid.val();
        let head = self.doorbell.event_head.valid.val();
        self.kicks.blocked.next = tail | head;
        self.command_rings.tail.next = if tail { self.doorbell.ring_tail.val() } else { self.kicks.tail.val() };
        self.command_rings.tail.pid.next =
            if tail { self.doorbell.ring_tail.pid.val() } else { self.kicks.tail.pid.val() };
        self.command_rings.tail.valid.next = tail | self.kicks.tail.valid.val();
        let read = if head { self.doorbell.event_head.val() } else { self.kicks.head.val() };
        let reader = if head { self.doorbell.event_head.pid.val() } else { self.kicks.head.pid.val() };
        let reads = head | self.kicks.head.valid.val();
        self.event_rings.head.next = read;
        self.event_rings.head.pid.next = reader;
        self.event_rings.head.valid.next = reads;
        self.frame_places.head.next = read;
        self.frame_places.head.pid.next = reader;
        self.frame_places.head.valid.next = reads;
        self.moderation.head.next = read;
        self.moderation.head.pid.next = reader;
        self.moderation.head.valid.next = reads;
        self.moderation.arm.next = if head { self.doorbell.event_arm.val() } else { self.kicks.arm.val() };
    }

    /// Mailbox table, buffer queue and regions serve the command unit and the ring posts, which never work at the same
    /// time.
    fn join_queue_commands(&mut self) {
        self.lookup.command.next = self.command_unit.request.val();
        self.lookup.command.next.window = self.buffer_queue.new_window.val();
        if self.ring_posts.request.valid.val() {
            self.lookup.command.next = self.ring_posts.request.val();
        }
        self.lookup.command.valid.next = self.command_unit.request.valid.val() | self.ring_posts.request.valid.val();
        self.command_unit.request.ready.next = self.lookup.command.ready.val();
        self.ring_posts.request.ready.next = self.lookup.command.ready.val();
        self.lookup.command_result.join(&mut self.command_unit.table_result);
        self.lookup.command_result.join(&mut self.ring_posts.table_result);
        self.buffer_queue.command.next = self.command_unit.queue_command.val();
        self.buffer_queue.command.valid.next = self.command_unit.queue_command.valid.val()
            | self.buffer_reclaim.queue_valid.val()
            | self.ring_posts.queue_command.valid.val();
        if self.buffer_reclaim.queue_valid.val() {
            self.buffer_queue.command.next.op = self.buffer_reclaim.queue_op.val();
            self.buffer_queue.command.next.slot = self.buffer_reclaim.queue_slot.val();
        }
        if self.ring_posts.queue_command.valid.val() {
            self.buffer_queue.command.next = self.ring_posts.queue_command.val();
        }
        self.buffer_reclaim.queue_done.next = self.buffer_queue.command.done.val();
        self.command_unit.queue_command.done.next = self.buffer_queue.command.done.val();
        self.command_unit.queue_command.ok.next = self.buffer_queue.command.ok.val();
        self.command_unit.queue_command.small.next = self.buffer_queue.command.small.val();
        self.ring_posts.queue_command.done.next = self.buffer_queue.command.done.val();
        self.ring_posts.queue_command.ok.next = self.buffer_queue.command.ok.val();
        self.ring_posts.queue_command.small.next = self.buffer_queue.command.small.val();
        self.regions.query.next = self.command_unit.region.val();
        if self.ring_posts.region.valid.val() {
            self.regions.query.next = self.ring_posts.region.val();
        }
        self.regions.query.valid.next = self.command_unit.region.valid.val() | self.ring_posts.region.valid.val();
        self.command_unit.region.done.next = self.regions.query.done.val();
        self.command_unit.region.ok.next = self.regions.query.ok.val();
        self.ring_posts.region.done.next = self.regions.query.done.val();
        self.ring_posts.region.ok.next = self.regions.query.ok.val();
    }

    /// The register page: settings, counted pulses; the trace.
    fn join_registers(&mut self) {
        self.regions.region.next = self.registers.region.val();
        self.regions.region_at.next = self.registers.region_at.val();
        self.regions.region_write.next = self.registers.region_write.val();
        self.regions.unchecked.next = self.registers.unchecked.val();
        self.registers.csr.next = self.csr.val();
        self.registers.packet_placed.next = self.report.packet_placed.val();
        self.registers.packet_bytes.next = self.report.packet_bytes.val();
        self.registers.packet_refused.next = self.report.packet_refused.val();
        self.registers.record_written.next = self.report.record_written.val();
        self.registers.burst.next = self.dma_writer.burst.val();
        self.registers.answer_error.next = self.dma_writer.answer_error.val();
        self.registers.mailbox_opened.next = self.command_unit.mailbox_opened.val();
        self.registers.mailbox_closed.next = self.command_unit.mailbox_closed.val();
        self.registers.buffer_posted.next = self.command_unit.buffer_posted.val() | self.ring_posts.buffer_posted.val();
        self.registers.dma_ended.next = self.report.dma_ended.val();
        self.registers.read_burst.next = self.read_requests.burst.val();
        self.registers.read_error.next = self.read_answers.answer_error.val();
        self.registers.frame_handed.next = self.frame_sends.send.valid.val() & self.frame_sends.send.ready.val();
        self.registers.frame_read.next = self.frame_sends.taken.val();
        self.registers.put_ended.next = self.put_arbiter.ended.val();
        self.registers.put_failed.next = self.put_arbiter.failed.val();
        self.registers.event_written.next = self.event_rings.event_written.val();
        self.registers.event_lost.next = self.event_rings.event_lost.val();
        let page = self.registers.csr_answer.val();
        let bell = self.doorbell.csr_answer.val();
        self.csr_answer.next =
            CsrResponse { ack: page.ack | bell.ack, error: page.error | bell.error, rdata: page.rdata | bell.rdata };

        // Trace points 15 down to 12 (`reasons::T_RECORD` to `T_LOOKED_UP`).
        self.trace_mailbox.next = self.binding.bound_mailbox.val();
        self.trace_valid.next = (
            self.dma_writer.record_issued.val(),
            self.report.answered.val(),
            self.dma_writer.first_beat.val(),
            self.binding.bound.valid.val(),
            bits::<12>(0),
        )
            .cat::<16>();
        self.trace_tags.next = (
            self.dma_writer.address_frame.val(),
            self.report.answered_frame.val(),
            self.dma_writer.beat_frame.val(),
            self.binding.bound.val().frame,
            bits::<192>(0),
        )
            .cat::<256>();
    }
}
