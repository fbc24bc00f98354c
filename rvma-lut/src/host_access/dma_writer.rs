//! DMA writer: one order of transfers, three sources of bytes (packets, handler memory, the engine itself), one AXI4
//! write master.
//!
//! | neighbour | ports |
//! |---|---|
//! | completion, atomics, event rings | in `internal_write`; out `record_ready` |
//! | placement | in `packet_write` |
//! | HPU array | in `dma`, `dma_data` |
//! | packet engine | in `place_data` |
//! | host | the AXI4 write channels of `host` |
//! | report, atomics, event rings, receive maps | out `finished`, `finished_error`; out `written` (pulse); in `has_headroom` |
//! | registers | out `burst`, `answer_error` (pulses) |
//!
//! The order is decided once, when a transfer is taken: internal writes first, then packets and handler DMA in turn.
//! The address side cuts the transfer into bursts at once; the data side follows in the same order through small FIFOs,
//! so transfers never mix. One beat per cycle without a bubble between transfers; one burst and one transfer per cycle.
//!
//! Bursts end at multiples of 256 bytes, so no burst is longer than 256 bytes or crosses 4 KiB. Addresses are whole
//! lines of 64 bytes, strobes select the bytes. All bursts have id 0: the host answers in order, and a FIFO of 512
//! entries assigns each answer to its burst. A transfer of data starts while fewer than 384 bursts are in flight and
//! the report stage has headroom, an atomic's write or an event while fewer than 448 are; the rest is for the remaining
//! bursts of a transfer and for completion records, so these never wait for room. Events and atomics wait for the host
//! alone, never for the report stage.
//!
//! Transfer taken → AWVALID: 2 cycles. First source beat → WVALID: the aligner's latency + 1. B handshake → `finished`:
//! same cycle; a write's error is kept until the last burst of its transfer.

use crate::host_access::bursts::{after_burst, burst_address, burst_beats, burst_ends, Lines};
use crate::prelude::*;
use spindle_blocks::aligner::{AlignJob, ByteAligner};

/// Address bits of the FIFO of bursts in flight.
const IN_FLIGHT_BITS: usize = 9;
/// Bursts in flight up to which a transfer of data starts.
const START_LIMIT: u64 = 384;
/// Bursts in flight up to which an event or an atomic's write starts.
const INTERNAL_LIMIT: u64 = 448;
/// Address bits of the FIFOs from the address side to the data side.
const ORDER_BITS: usize = 5;
/// Level from which no transfer is taken: 32 less three that may still come.
const ORDER_STOP: u64 = 28;

/// The DMA writer. See the module text.
#[block]
pub struct DmaWriter {
    /// Write of the engine itself.
    pub internal_write: Sink<InternalWrite>,
    /// `internal_write` is taken if it is a completion record.
    pub record_ready: Signal<Out, Bit>,
    /// Write of a packet's payload.
    pub packet_write: Sink<HostWrite>,
    /// DMA command of a handler.
    pub dma: Sink<DmaDesc>,
    /// Bytes of handler memory.
    pub dma_data: BeatSink,
    /// Bytes of the packet buffer.
    pub place_data: BeatSink,
    /// AXI4 write channels.
    pub host: AxiWriteSource,
    /// Transfer that the host has answered completely.
    pub finished: Source<WriteOrigin>,
    /// With `finished`: one of the answers was an error.
    pub finished_error: Signal<Out, Bit>,
    /// Transfer marked `posted` whose last beat was taken.
    pub written: Pulse<WriteOrigin>,
    /// Transfers of data may start: the report stage has room for their ends.
    pub has_headroom: Signal<In, Bit>,
    /// A burst was issued.
    pub burst: Signal<Out, Bit>,
    /// An answer was an error.
    pub answer_error: Signal<Out, Bit>,
    /// Trace: first beat of a packet taken.
    pub first_beat: Signal<Out, Bit>,
    /// Trace: frame of the beat on W.
    pub beat_frame: Signal<Out, Bits<16>>,
    /// Trace: AWVALID of a record rose.
    pub record_issued: Signal<Out, Bit>,
    /// Trace: frame of the address on AW.
    pub address_frame: Signal<Out, Bits<16>>,
    aligner: ByteAligner,
    jobs: Fifo<AlignJob, ORDER_BITS>,
    sources: Fifo<Bits<3>, ORDER_BITS>,
    runs: Fifo<DataRun, ORDER_BITS>,
    /// The latency of block RAM is hidden: the aligner takes the first beat of a job three cycles later.
    internal_data: BlockFifo<Bits<256>, ORDER_BITS>,
    in_flight: Fifo<InFlight, IN_FLIGHT_BITS>,
    command: DFF<HostWrite>,
    command_valid: Reg<Bit>,
    dma_next: Reg<Bit>,
    run: DFF<AddressRun>,
    run_valid: Reg<Bit>,
    address: DFF<Bits<64>>,
    beats: DFF<Bits<2>>,
    address_valid: Reg<Bit>,
    address_new: Reg<Bit>,
    address_record: DFF<Bit>,
    address_tag: DFF<Bits<16>>,
    line: Reg<Bits<2>>,
    in_run: Reg<Bit>,
    beat_data: DFF<Bits<512>>,
    beat_strobe: DFF<Bits<64>>,
    beat_last: DFF<Bit>,
    beat_end: DFF<Bit>,
    beat_first: DFF<Bit>,
    beat_origin: DFF<WriteOrigin>,
    beat_valid: Reg<Bit>,
    failed: Reg<Bit>,
    order: DFF<HostWrite>,
    order_data: DFF<Bits<256>>,
    order_valid: Reg<Bit>,
    order_room: Reg<Bit>,
    may_start: Reg<Bit>,
    internal_may_start: Reg<Bit>,
    chosen: Signal<Local, HostWrite>,
    source_data: Signal<Local, Bits<512>>,
    source_last: Signal<Local, Bit>,
    source_valid: Signal<Local, Bit>,
}

/// A transfer on the data side.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct DataRun {
    /// Line of the first beat within its 256 bytes.
    pub line: Bits<2>,
    /// Origin of the transfer.
    pub origin: WriteOrigin,
}

/// The rest of the transfer that is being cut into bursts.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AddressRun {
    /// Lines left.
    pub lines: Lines,
    /// Origin of the transfer.
    pub origin: WriteOrigin,
}

impl DmaWriter {
    /// A writer with the engine's own data in a memory of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { internal_data: BlockFifo::new(style), ..Self::blank() }
    }
}

#[hdl]
impl DmaWriter {
    fn update(&mut self) {
        let address_free = self.issue_bursts();
        let take_dma = self.choose(address_free);
        self.hold_dma(take_dma);
        self.feed_aligner();
        self.send_beats();
    }

    /// Address side: the present run gives a burst per cycle while AW and the FIFO of answers have room. Returns
    /// whether the next run may come.
    fn issue_bursts(&mut self) -> Bit {
        let run = self.run.q.val();
        let address_open = self.address_valid.q.val() & !self.host.awready.val();
        let issue = self.run_valid.q.val() & !address_open & self.in_flight.write.ready.val();
        let ends = burst_ends(run.lines);
        self.in_flight.write.offer(issue, InFlight { last: ends, origin: run.origin });
        self.burst.next = issue;
        self.address_valid.load(!address_open, issue);
        self.address_new.d.next = issue;
        if issue {
            self.address.d.next = burst_address(run.lines);
            self.beats.d.next = burst_beats(run.lines);
            self.address_record.d.next = run.origin.kind == RECORD;
            self.address_tag.d.next = run.origin.frame;
            self.run.d.next.lines = after_burst(run.lines);
            self.run_valid.d.next = !ends;
        }
        self.host.awid.next = bits::<8>(0);
        self.host.awaddr.next = self.address.q.val();
        self.host.awlen.next = bit_cast::<8, 2>(self.beats.q.val());
        self.host.awsize.next = bits::<3>(6);
        self.host.awburst.next = bits::<2>(1);
        self.host.awvalid.next = self.address_valid.q.val();
        self.record_issued.next = self.address_new.q.val() & self.address_record.q.val();
        self.address_frame.next = self.address_tag.q.val();
        let free = !self.run_valid.q.val() | (issue & ends);
        free
    }

    /// Chooses the next transfer; one cycle later the data side learns of it.
    fn choose(&mut self, free: Bit) -> Bit {
        let room = free & self.order_room.q.val();
        let internal_write = self.internal_write.val();
        let internal_room = room & self.internal_may_start.q.val();
        let take_internal = self.internal_write.valid.val()
            & (if internal_write.host_write.origin.kind == RECORD { room } else { internal_room });
        let dma_turn = self.command_valid.q.val() & (self.dma_next.q.val() | !self.packet_write.valid.val());
        self.may_start.d.next = self.has_headroom.val() & (self.in_flight.level.val() < START_LIMIT);
        self.internal_may_start.d.next = self.in_flight.level.val() < INTERNAL_LIMIT;
        let data_room = room & self.may_start.q.val() & !self.internal_write.valid.val();
        let take_dma = data_room & dma_turn;
        let take_packet = data_room & !dma_turn & self.packet_write.valid.val();
        self.record_ready.next = room;
        self.internal_write.ready.next = internal_room;
        self.packet_write.ready.next = data_room & !dma_turn;
        if take_dma {
            self.dma_next.d.next = false;
        } else if take_packet {
            self.dma_next.d.next = true;
        }
        self.chosen.next = self.packet_write.val();
        if self.internal_write.valid.val() {
            self.chosen.next = internal_write.host_write;
        } else if dma_turn {
            self.chosen.next = self.command.q.val();
        }
        let next = self.chosen.val();
        let taken = take_internal | take_dma | take_packet;
        if taken {
            self.run_valid.d.next = true;
            self.run.d.next = AddressRun {
                lines: Lines {
                    high: next.address.get_bits::<32>(32),
                    line: next.address.get_bits::<26>(6),
                    rest: next.last_line,
                },
                origin: next.origin,
            };
        }
        self.order.d.next = next;
        self.order_data.d.next = internal_write.data;
        self.order_valid.d.next = taken;

        // The FIFOs of the data side. Every transfer is in `sources` and `runs` at least as long as in the other two
        // FIFOs, so the levels of these two suffice; two transfers may be on their way when the levels are read.
        self.order_room.d.next = (self.sources.level.val() < ORDER_STOP) & (self.runs.level.val() < ORDER_STOP);
        let order = self.order.q.val();
        let ordered = self.order_valid.q.val();
        self.jobs.write.next = AlignJob {
            src_offset: order.offset,
            dst_offset: order.address.get_bits::<6>(0),
            length: order.origin.length.get_bits::<15>(0),
        };
        self.jobs.write.valid.next = ordered;
        self.sources.write.offer(ordered, order.origin.kind);
        self.runs.write.offer(ordered, DataRun { line: order.address.get_bits::<2>(6), origin: order.origin });
        self.internal_data.write.offer(ordered & (order.origin.kind >= RECORD), self.order_data.q.val());
        take_dma
    }

    /// A handler's command waits in a register of its own.
    fn hold_dma(&mut self, take_dma: Bit) {
        let dma = self.dma.val();
        // Offset in the line less one, first: six bits, so that only one adder is long.
        let lead = dma.address.get_bits::<6>(0);
        let dma_reach = bit_cast::<17, 16>(dma.length) + (repeat::<11>(!lead.any()), lead - 1).cat::<17>();
        let dma_ready = !self.command_valid.q.val() | take_dma;
        self.dma.ready.next = dma_ready;
        if dma_ready {
            self.command_valid.d.next = self.dma.valid.val();
            self.command.d.next = HostWrite {
                address: dma.address,
                last_line: dma_reach.get_bits::<11>(6),
                origin: WriteOrigin {
                    kind: bits::<3>(HANDLER),
                    frame: dma.frame,
                    tag: (dma.issuer.cluster, dma.issuer.hpu, dma.issuer.handle).cat::<10>(),
                    length: dma.length,
                    ..WriteOrigin::default()
                },
                ..HostWrite::default()
            };
        }
    }

    /// Data side: the source of the oldest transfer goes through the aligner.
    fn feed_aligner(&mut self) {
        self.jobs.read.join(&mut self.aligner.job);
        let source = self.sources.read.val();
        let open = self.sources.read.valid.val();
        let from_dma = open & (source == HANDLER);
        let from_packet = open & (source == PACKET);
        let from_internal = open & (source >= RECORD);
        self.source_data.next = self.place_data.val();
        self.source_last.next = self.place_data.last.val();
        self.source_valid.next = self.place_data.valid.val() & from_packet;
        if from_dma {
            self.source_data.next = self.dma_data.val();
            self.source_last.next = self.dma_data.last.val();
            self.source_valid.next = self.dma_data.valid.val();
        } else if from_internal {
            self.source_data.next = bit_cast::<512, 256>(self.internal_data.read.val());
            self.source_last.next = true;
            self.source_valid.next = self.internal_data.read.valid.val();
        }
        self.aligner.source_data.next = self.source_data.val();
        self.aligner.source_data.last.next = self.source_last.val();
        self.aligner.source_data.valid.next = self.source_valid.val();
        let source_ready = self.aligner.source_data.ready.val();
        self.place_data.ready.next = source_ready & from_packet;
        self.dma_data.ready.next = source_ready & from_dma;
        self.internal_data.read.ready.next = source_ready & from_internal;
        self.sources.read.ready.next = source_ready & self.source_valid.val() & self.source_last.val();
    }

    /// W register. A beat is the last of its burst at the end of 256 bytes or of the transfer.
    fn send_beats(&mut self) {
        let w_open = self.beat_valid.q.val() & !self.host.wready.val();
        let w_go = !w_open & self.runs.read.valid.val();
        let moves = w_go & self.aligner.out_valid.val();
        let data_run = self.runs.read.val();
        let line = if self.in_run.q.val() { self.line.q.val() } else { data_run.line };
        let run_ends = self.aligner.out_last.val();
        self.aligner.out_ready.next = w_go;
        self.runs.read.ready.next = moves & run_ends;
        if moves {
            self.beat_data.d.next = self.aligner.out_data.val();
            self.beat_strobe.d.next = self.aligner.out_strobe.val();
            self.beat_last.d.next = run_ends | line.all();
            self.beat_end.d.next = run_ends;
            self.beat_first.d.next = !self.in_run.q.val();
            self.beat_origin.d.next = data_run.origin;
            self.line.d.next = line + 1;
            self.in_run.d.next = !run_ends;
        }
        self.beat_valid.load(!w_open, moves);
        self.host.wdata.next = self.beat_data.q.val();
        self.host.wstrb.next = self.beat_strobe.q.val();
        self.host.wlast.next = self.beat_last.q.val();
        self.host.wvalid.next = self.beat_valid.q.val();
        let w_taken = self.beat_valid.q.val() & self.host.wready.val();
        let beat_origin = self.beat_origin.q.val();
        self.written.offer(w_taken & self.beat_end.q.val() & beat_origin.posted, beat_origin);
        self.first_beat.next = w_taken & self.beat_first.q.val() & !beat_origin.kind.any();
        self.beat_frame.next = beat_origin.frame;

        // Answers of the host.
        let oldest = self.in_flight.read.val();
        let answer = self.host.bvalid.val() & self.finished.ready.val() & self.in_flight.read.valid.val();
        let error = self.host.bresp.val().get_bit(1);
        self.host.bready.next = self.finished.ready.val() & self.in_flight.read.valid.val();
        self.in_flight.read.ready.next = self.host.bvalid.val() & self.finished.ready.val();
        self.failed.load(answer, !oldest.last & (self.failed.q.val() | error));
        self.finished.next = oldest.origin;
        self.finished_error.next = self.failed.q.val() | error;
        self.finished.valid.next = answer & oldest.last;
        self.answer_error.next = answer & error;
    }
}
