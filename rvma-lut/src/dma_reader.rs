//! DMA reader: host memory for the HPU array, the initiator, the atomics unit and the command rings. Wiring only.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPU array (0), initiator (1) | in `read`, `read_valid`; out `read_ready`; out `data`, `data_last`, `data_error`, `data_tag`, `data_valid`; in `data_ready` |
//! | atomics | in `word_read`, `word_read_valid`; out `word_read_ready`; out `word`, `word_error`, `word_valid` (pulse) |
//! | command rings | in `ring_read`, `ring_read_valid`; out `ring_read_ready`; out `ring_data`, `ring_data_last`, `ring_data_error`, `ring_data_valid` (pulse): they have room for what they ask for |
//! | host | the AXI4 read channels `host_ar*`, `host_r*` |
//! | registers | out `burst`, `answer_error` (pulses) |
//!
//! Each client's answers come in the order of its requests, byte 0 of the transfer = byte 0 of the first beat, one beat per cycle.
//! A client that stops taking data stops after 128 beats (32 full bursts in flight), in UltraRAM 256, and holds up nobody else. The initiator's
//! transfers, at most 8 KiB each, are offered when all of their bytes are there.
//!
//! Idle reader, host with latency L from AR to R: request → ARVALID 4 cycles, R → `data_valid` 3 (5 in UltraRAM) cycles.

use crate::read_answers::ReadAnswers;
use crate::read_buffer::ReadBuffer;
use crate::read_requests::{ReadRequests, ATOMICS, BUFFERED, RINGS};
use spindle_blocks::desc::HostRead;
use spindle_blocks::RamStyle;
use spindle_verilog::prelude::*;

/// The reader. See the module text.
#[derive(LogicBlock, Default)]
pub struct DmaReader {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// What the client wants.
    pub read: [Signal<In, HostRead>; BUFFERED],
    /// There is something.
    pub read_valid: [Signal<In, Bit>; BUFFERED],
    /// It is taken.
    pub read_ready: [Signal<Out, Bit>; BUFFERED],
    /// Beat for the client.
    pub data: [Signal<Out, Bits<512>>; BUFFERED],
    /// Last of its transfer.
    pub data_last: [Signal<Out, Bit>; BUFFERED],
    /// The transfer failed.
    pub data_error: [Signal<Out, Bit>; BUFFERED],
    /// The transfer.
    pub data_tag: [Signal<Out, HostRead>; BUFFERED],
    /// There is a beat.
    pub data_valid: [Signal<Out, Bit>; BUFFERED],
    /// It is taken.
    pub data_ready: [Signal<In, Bit>; BUFFERED],
    /// Word of memory that an atomic operation wants.
    pub word_read: Signal<In, HostRead>,
    /// There is one.
    pub word_read_valid: Signal<In, Bit>,
    /// It is taken.
    pub word_read_ready: Signal<Out, Bit>,
    /// The word.
    pub word: Signal<Out, Bits<64>>,
    /// The host answered with an error.
    pub word_error: Signal<Out, Bit>,
    /// There is one.
    pub word_valid: Signal<Out, Bit>,
    /// Commands that the command rings want, at most 1024 bytes.
    pub ring_read: Signal<In, HostRead>,
    /// There are some.
    pub ring_read_valid: Signal<In, Bit>,
    /// The read is taken.
    pub ring_read_ready: Signal<Out, Bit>,
    /// Beat of the oldest read.
    pub ring_data: Signal<Out, Bits<512>>,
    /// Its last.
    pub ring_data_last: Signal<Out, Bit>,
    /// With it: the host answered with an error.
    pub ring_data_error: Signal<Out, Bit>,
    /// There is one.
    pub ring_data_valid: Signal<Out, Bit>,
    /// AXI4 read address id.
    pub host_arid: Signal<Out, Bits<8>>,
    /// Address.
    pub host_araddr: Signal<Out, Bits<64>>,
    /// Beats less one.
    pub host_arlen: Signal<Out, Bits<8>>,
    /// 64 bytes a beat.
    pub host_arsize: Signal<Out, Bits<3>>,
    /// INCR.
    pub host_arburst: Signal<Out, Bits<2>>,
    /// Address valid.
    pub host_arvalid: Signal<Out, Bit>,
    /// Address taken.
    pub host_arready: Signal<In, Bit>,
    /// AXI4 read data.
    pub host_rdata: Signal<In, Bits<512>>,
    /// Bit 1: error.
    pub host_rresp: Signal<In, Bits<2>>,
    /// Data valid.
    pub host_rvalid: Signal<In, Bit>,
    /// Data taken.
    pub host_rready: Signal<Out, Bit>,
    /// A burst was issued.
    pub burst: Signal<Out, Bit>,
    /// An answer was an error.
    pub answer_error: Signal<Out, Bit>,
    requests: ReadRequests,
    answers: ReadAnswers,
    buffers: [ReadBuffer; BUFFERED],
}

impl DmaReader {
    /// A reader with its buffers in this kind of memory.
    pub fn new(style: RamStyle) -> Self {
        Self { buffers: std::array::from_fn(|_| ReadBuffer::new(style)), ..Default::default() }
    }
}

impl Logic for DmaReader {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, requests, answers, buffers);
        for i in 0..BUFFERED {
            // A request goes to both, or to neither.
            let taken = self.requests.read_ready[i].val() & self.buffers[i].tag_ready.val();
            self.requests.read[i].next = self.read[i].val();
            self.requests.read_valid[i].next = self.read_valid[i].val() & self.buffers[i].tag_ready.val();
            self.buffers[i].tag.next = self.read[i].val();
            self.buffers[i].tag_valid.next = self.read_valid[i].val() & self.requests.read_ready[i].val();
            self.read_ready[i].next = taken;
            self.requests.room[i].next = self.buffers[i].room.val();
            self.requests.short_room[i].next = self.buffers[i].short_room.val();
            self.buffers[i].reserve.next = self.requests.reserve[i].val();
            self.buffers[i].reserve_lines.next = self.requests.reserve_lines.val();
            self.buffers[i].beat.next = self.answers.data.val();
            self.buffers[i].beat_last.next = self.answers.data_last.val();
            self.buffers[i].beat_error.next = self.answers.data_error.val();
            self.buffers[i].beat_valid.next = self.answers.data_valid[i].val();
            self.data[i].next = self.buffers[i].data.val();
            self.data_last[i].next = self.buffers[i].data_last.val();
            self.data_error[i].next = self.buffers[i].data_error.val();
            self.data_tag[i].next = self.buffers[i].data_tag.val();
            self.data_valid[i].next = self.buffers[i].data_valid.val();
            self.buffers[i].data_ready.next = self.data_ready[i].val();
            self.buffers[i].whole.next = i == 1;
        }
        self.requests.read[ATOMICS].next = self.word_read.val();
        self.requests.read_valid[ATOMICS].next = self.word_read_valid.val();
        self.word_read_ready.next = self.requests.read_ready[ATOMICS].val();
        self.word.next = self.answers.data.val().get_bits::<64>(0);
        self.word_error.next = self.answers.data_error.val();
        self.word_valid.next = self.answers.data_valid[ATOMICS].val();

        self.requests.read[RINGS].next = self.ring_read.val();
        self.requests.read_valid[RINGS].next = self.ring_read_valid.val();
        self.ring_read_ready.next = self.requests.read_ready[RINGS].val();
        self.ring_data.next = self.answers.data.val();
        self.ring_data_last.next = self.answers.data_last.val();
        self.ring_data_error.next = self.answers.data_error.val();
        self.ring_data_valid.next = self.answers.data_valid[RINGS].val();

        self.answers.piece.next = self.requests.piece.val();
        self.answers.piece_valid.next = self.requests.piece_valid.val();
        self.requests.piece_room.next = self.answers.piece_room.val();
        self.host_arid.next = self.requests.host_arid.val();
        self.host_araddr.next = self.requests.host_araddr.val();
        self.host_arlen.next = self.requests.host_arlen.val();
        self.host_arsize.next = self.requests.host_arsize.val();
        self.host_arburst.next = self.requests.host_arburst.val();
        self.host_arvalid.next = self.requests.host_arvalid.val();
        self.requests.host_arready.next = self.host_arready.val();
        self.answers.host_rdata.next = self.host_rdata.val();
        self.answers.host_rresp.next = self.host_rresp.val();
        self.answers.host_rvalid.next = self.host_rvalid.val();
        self.host_rready.next = self.answers.host_rready.val();
        self.burst.next = self.requests.burst.val();
        self.answer_error.next = self.answers.answer_error.val();
    }
}
