//! The NIC top: wiring only.
//!
//! Three engines (packet engine, HPU array, RVMA engine), the AXI4-Lite slave and the global page. Nothing is computed here but the
//! OR of the CSR answers and of the trace ports. Ports, streams and descriptors: `docs/interfaces.md`.

use crate::global_page::GlobalPage;
use crate::trace_ring::TraceRing;
use hpu_core::array::retirement_ports;
use hpu_core::processor::types::Rvfi;
use hpu_core::HpuArray;
use packet_engine::PacketEngine;
use rvma_lut::RvmaEngine;
use spindle_blocks::csr::CsrBlock;
use spindle_blocks::desc::{CsrResponse, EndTrace, JoinTrace, TaskTrace};
use spindle_contract::memory_map::command;
use spindle_contract::params::Config;
use spindle_contract::reasons::{TRACE_HPUS, TRACE_LANES, TRACE_TAG_BITS};
use spindle_contract::registers::{doorbell, hpu, node, packet, rvma, trace, PAGE};
use spindle_verilog::prelude::*;

/// Commands that somebody does, a bit for each opcode.
const COMMANDS: u64 = 1 << command::SEND_PACKET
    | 1 << command::PLACE
    | 1 << command::DMA_TO_HOST
    | 1 << command::PRINT
    | 1 << command::PUT
    | 1 << command::GET
    | 1 << command::EVENT
    | 1 << command::COMPLETE
    | 1 << command::REDIRECT
    | 1 << command::PUT_HOST
    | 1 << command::PUT_CONTEXT
    | 1 << command::DMA_FROM_HOST
    | 1 << command::HOST_CAS
    | 1 << command::HOST_ADD;
/// Bits of all trace tags.
const TRACE_TAGS: usize = TRACE_LANES * TRACE_TAG_BITS;

/// The NIC. See the module text.
#[derive(LogicBlock)]
pub struct Nic {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Wire in: data.
    pub rx_data: Signal<In, Bits<512>>,
    /// Wire in: keep.
    pub rx_keep: Signal<In, Bits<64>>,
    /// Wire in: last.
    pub rx_last: Signal<In, Bit>,
    /// Wire in: user.
    pub rx_user: Signal<In, Bit>,
    /// Wire in: valid.
    pub rx_valid: Signal<In, Bit>,
    /// Wire in: ready.
    pub rx_ready: Signal<Out, Bit>,
    /// Wire out: data.
    pub tx_data: Signal<Out, Bits<512>>,
    /// Wire out: keep.
    pub tx_keep: Signal<Out, Bits<64>>,
    /// Wire out: last.
    pub tx_last: Signal<Out, Bit>,
    /// Wire out: user.
    pub tx_user: Signal<Out, Bit>,
    /// Wire out: valid.
    pub tx_valid: Signal<Out, Bit>,
    /// Wire out: ready.
    pub tx_ready: Signal<In, Bit>,
    /// BAR, AXI4-Lite: awaddr.
    pub bar_awaddr: Signal<In, Bits<20>>,
    /// BAR, AXI4-Lite: awvalid.
    pub bar_awvalid: Signal<In, Bit>,
    /// BAR, AXI4-Lite: awready.
    pub bar_awready: Signal<Out, Bit>,
    /// BAR, AXI4-Lite: wdata.
    pub bar_wdata: Signal<In, Bits<32>>,
    /// BAR, AXI4-Lite: wstrb.
    pub bar_wstrb: Signal<In, Bits<4>>,
    /// BAR, AXI4-Lite: wvalid.
    pub bar_wvalid: Signal<In, Bit>,
    /// BAR, AXI4-Lite: wready.
    pub bar_wready: Signal<Out, Bit>,
    /// BAR, AXI4-Lite: bresp.
    pub bar_bresp: Signal<Out, Bits<2>>,
    /// BAR, AXI4-Lite: bvalid.
    pub bar_bvalid: Signal<Out, Bit>,
    /// BAR, AXI4-Lite: bready.
    pub bar_bready: Signal<In, Bit>,
    /// BAR, AXI4-Lite: araddr.
    pub bar_araddr: Signal<In, Bits<20>>,
    /// BAR, AXI4-Lite: arvalid.
    pub bar_arvalid: Signal<In, Bit>,
    /// BAR, AXI4-Lite: arready.
    pub bar_arready: Signal<Out, Bit>,
    /// BAR, AXI4-Lite: rdata.
    pub bar_rdata: Signal<Out, Bits<32>>,
    /// BAR, AXI4-Lite: rresp.
    pub bar_rresp: Signal<Out, Bits<2>>,
    /// BAR, AXI4-Lite: rvalid.
    pub bar_rvalid: Signal<Out, Bit>,
    /// BAR, AXI4-Lite: rready.
    pub bar_rready: Signal<In, Bit>,
    /// Host memory, AXI4: awid.
    pub host_awid: Signal<Out, Bits<8>>,
    /// Host memory, AXI4: awaddr.
    pub host_awaddr: Signal<Out, Bits<64>>,
    /// Host memory, AXI4: awlen.
    pub host_awlen: Signal<Out, Bits<8>>,
    /// Host memory, AXI4: awsize.
    pub host_awsize: Signal<Out, Bits<3>>,
    /// Host memory, AXI4: awburst.
    pub host_awburst: Signal<Out, Bits<2>>,
    /// Host memory, AXI4: awvalid.
    pub host_awvalid: Signal<Out, Bit>,
    /// Host memory, AXI4: awready.
    pub host_awready: Signal<In, Bit>,
    /// Host memory, AXI4: wdata.
    pub host_wdata: Signal<Out, Bits<512>>,
    /// Host memory, AXI4: wstrb.
    pub host_wstrb: Signal<Out, Bits<64>>,
    /// Host memory, AXI4: wlast.
    pub host_wlast: Signal<Out, Bit>,
    /// Host memory, AXI4: wvalid.
    pub host_wvalid: Signal<Out, Bit>,
    /// Host memory, AXI4: wready.
    pub host_wready: Signal<In, Bit>,
    /// Host memory, AXI4: bid.
    pub host_bid: Signal<In, Bits<8>>,
    /// Host memory, AXI4: bresp.
    pub host_bresp: Signal<In, Bits<2>>,
    /// Host memory, AXI4: bvalid.
    pub host_bvalid: Signal<In, Bit>,
    /// Host memory, AXI4: bready.
    pub host_bready: Signal<Out, Bit>,
    /// Host memory, AXI4: arid.
    pub host_arid: Signal<Out, Bits<8>>,
    /// Host memory, AXI4: araddr.
    pub host_araddr: Signal<Out, Bits<64>>,
    /// Host memory, AXI4: arlen.
    pub host_arlen: Signal<Out, Bits<8>>,
    /// Host memory, AXI4: arsize.
    pub host_arsize: Signal<Out, Bits<3>>,
    /// Host memory, AXI4: arburst.
    pub host_arburst: Signal<Out, Bits<2>>,
    /// Host memory, AXI4: arvalid.
    pub host_arvalid: Signal<Out, Bit>,
    /// Host memory, AXI4: arready.
    pub host_arready: Signal<In, Bit>,
    /// Host memory, AXI4: rid.
    pub host_rid: Signal<In, Bits<8>>,
    /// Host memory, AXI4: rdata.
    pub host_rdata: Signal<In, Bits<512>>,
    /// Host memory, AXI4: rresp.
    pub host_rresp: Signal<In, Bits<2>>,
    /// Host memory, AXI4: rlast.
    pub host_rlast: Signal<In, Bit>,
    /// Host memory, AXI4: rvalid.
    pub host_rvalid: Signal<In, Bit>,
    /// Host memory, AXI4: rready.
    pub host_rready: Signal<Out, Bit>,
    /// Interrupts, level: bit 0 = a fault report waits.
    pub irq: Signal<Out, Bits<16>>,
    /// Trace: lane i fires (contract, `reasons::trace_lanes`).
    pub trace_valid: Signal<Out, Bits<TRACE_LANES>>,
    /// Trace: frame of lane i in bits 16i+15..16i.
    pub trace_tags: Signal<Out, Bits<TRACE_TAGS>>,
    /// Trace: hardware thread of the handler that starts on HPU i, with its lane of `handler_start`.
    pub trace_threads: Signal<Out, Bits<TRACE_HPUS>>,
    /// Trace: mailbox that takes a frame, with lane `looked_up`.
    pub trace_mailbox: Signal<Out, Bits<12>>,
    /// Trace: rule and context of a frame, and whether it is dropped at the ingress join.
    pub trace_join: Signal<Out, JoinTrace>,
    /// Trace: message and end of a frame.
    pub trace_end: Signal<Out, EndTrace>,
    /// Trace: a handler that goes to an HPU.
    pub trace_task: Signal<Out, TaskTrace>,
    /// Retired instructions, a port per HPU, cluster by cluster; none unless the configuration says `rvfi`.
    pub rvfi: Vec<Signal<Out, Rvfi>>,
    packet_engine: PacketEngine,
    hpu_array: HpuArray,
    rvma_engine: RvmaEngine,
    csr_block: CsrBlock,
    global_page: GlobalPage,
    trace_ring: TraceRing,
    _rvfi: usize,
}

impl Nic {
    /// The NIC of a (valid) configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            rx_data: Default::default(),
            rx_keep: Default::default(),
            rx_last: Default::default(),
            rx_user: Default::default(),
            rx_valid: Default::default(),
            rx_ready: Default::default(),
            tx_data: Default::default(),
            tx_keep: Default::default(),
            tx_last: Default::default(),
            tx_user: Default::default(),
            tx_valid: Default::default(),
            tx_ready: Default::default(),
            bar_awaddr: Default::default(),
            bar_awvalid: Default::default(),
            bar_awready: Default::default(),
            bar_wdata: Default::default(),
            bar_wstrb: Default::default(),
            bar_wvalid: Default::default(),
            bar_wready: Default::default(),
            bar_bresp: Default::default(),
            bar_bvalid: Default::default(),
            bar_bready: Default::default(),
            bar_araddr: Default::default(),
            bar_arvalid: Default::default(),
            bar_arready: Default::default(),
            bar_rdata: Default::default(),
            bar_rresp: Default::default(),
            bar_rvalid: Default::default(),
            bar_rready: Default::default(),
            host_awid: Default::default(),
            host_awaddr: Default::default(),
            host_awlen: Default::default(),
            host_awsize: Default::default(),
            host_awburst: Default::default(),
            host_awvalid: Default::default(),
            host_awready: Default::default(),
            host_wdata: Default::default(),
            host_wstrb: Default::default(),
            host_wlast: Default::default(),
            host_wvalid: Default::default(),
            host_wready: Default::default(),
            host_bid: Default::default(),
            host_bresp: Default::default(),
            host_bvalid: Default::default(),
            host_bready: Default::default(),
            host_arid: Default::default(),
            host_araddr: Default::default(),
            host_arlen: Default::default(),
            host_arsize: Default::default(),
            host_arburst: Default::default(),
            host_arvalid: Default::default(),
            host_arready: Default::default(),
            host_rid: Default::default(),
            host_rdata: Default::default(),
            host_rresp: Default::default(),
            host_rlast: Default::default(),
            host_rvalid: Default::default(),
            host_rready: Default::default(),
            irq: Default::default(),
            trace_valid: Default::default(),
            trace_tags: Default::default(),
            trace_threads: Default::default(),
            trace_mailbox: Default::default(),
            trace_join: Default::default(),
            trace_end: Default::default(),
            trace_task: Default::default(),
            rvfi: (0..retirement_ports(config)).map(|_| Default::default()).collect(),
            packet_engine: PacketEngine::new(config),
            hpu_array: HpuArray::new(config),
            rvma_engine: RvmaEngine::new(config),
            csr_block: CsrBlock::default(),
            global_page: GlobalPage::new(config),
            trace_ring: TraceRing::new(config),
            _rvfi: retirement_ports(config),
        }
    }
}

impl Logic for Nic {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, packet_engine, hpu_array, rvma_engine, csr_block, global_page, trace_ring);

        // Wire.
        self.packet_engine.rx_data.next = self.rx_data.val();
        self.packet_engine.rx_keep.next = self.rx_keep.val();
        self.packet_engine.rx_last.next = self.rx_last.val();
        self.packet_engine.rx_user.next = self.rx_user.val();
        self.packet_engine.rx_valid.next = self.rx_valid.val();
        self.rx_ready.next = true;
        self.tx_data.next = self.packet_engine.tx_data.val();
        self.tx_keep.next = self.packet_engine.tx_keep.val();
        self.tx_last.next = self.packet_engine.tx_last.val();
        self.tx_valid.next = self.packet_engine.tx_valid.val();
        self.tx_user.next = false;
        self.packet_engine.tx_ready.next = self.tx_ready.val();

        // Packet engine and HPU array.
        self.hpu_array.task_desc.next = self.packet_engine.task_desc.val();
        self.hpu_array.task_valid.next = self.packet_engine.task_valid.val();
        self.packet_engine.room_feedback.next = self.hpu_array.room_feedback.val();
        self.packet_engine.task_done_feedback.next = self.hpu_array.task_done_feedback.val();
        self.packet_engine.task_done_valid.next = self.hpu_array.task_done_valid.val();
        self.hpu_array.task_done_ready.next = self.packet_engine.task_done_ready.val();
        self.packet_engine.place_feedback.next = self.hpu_array.place_feedback.val();
        self.packet_engine.place_valid.next = self.hpu_array.place_valid.val();
        self.hpu_array.place_ready.next = self.packet_engine.place_ready.val();
        self.packet_engine.contexts_feedback.next = self.hpu_array.contexts_feedback.val();
        self.packet_engine.policy.next = self.hpu_array.policy.val();
        self.packet_engine.policy_index.next = self.hpu_array.policy_index.val();
        self.packet_engine.policy_valid.next = self.hpu_array.policy_valid.val();
        self.packet_engine.load_request.next = self.hpu_array.load_request.val();
        self.packet_engine.load_request_valid.next = self.hpu_array.load_request_valid.val();
        self.hpu_array.load_request_ready.next = self.packet_engine.load_request_ready.val();
        self.hpu_array.load_data.next = self.packet_engine.load_data.val();
        self.hpu_array.load_last.next = self.packet_engine.load_last.val();
        self.hpu_array.load_valid.next = self.packet_engine.load_valid.val();
        self.packet_engine.load_ready.next = self.hpu_array.load_ready.val();
        self.packet_engine.egress_data.next = self.hpu_array.egress_data.val();
        self.packet_engine.egress_keep.next = self.hpu_array.egress_keep.val();
        self.packet_engine.egress_last.next = self.hpu_array.egress_last.val();
        self.packet_engine.egress_frame.next = self.hpu_array.egress_frame.val();
        self.packet_engine.egress_valid.next = self.hpu_array.egress_valid.val();
        self.hpu_array.egress_ready.next = self.packet_engine.egress_ready.val();
        self.packet_engine.egress_put.next = self.hpu_array.egress_put.val();
        self.packet_engine.egress_segment.next = self.hpu_array.egress_segment.val();
        self.packet_engine.put.next = self.hpu_array.put.val();
        self.packet_engine.put_valid.next = self.hpu_array.put_valid.val();
        self.hpu_array.put_ready.next = self.packet_engine.put_ready.val();
        self.rvma_engine.array_put.next = self.hpu_array.host_put.val();
        self.rvma_engine.array_put_valid.next = self.hpu_array.host_put_valid.val();
        self.hpu_array.host_put_ready.next = self.rvma_engine.array_put_ready.val();
        self.packet_engine.host_put.next = self.rvma_engine.host_put.val();
        self.packet_engine.host_put_valid.next = self.rvma_engine.host_put_valid.val();
        self.rvma_engine.host_put_ready.next = self.packet_engine.host_put_ready.val();
        self.rvma_engine.put_done_feedback.next = self.packet_engine.put_done_feedback.val();
        self.rvma_engine.put_done_valid.next = self.packet_engine.put_done_valid.val();
        self.hpu_array.put_done_feedback.next = self.packet_engine.put_done_feedback.val();
        self.hpu_array.put_done_valid.next = self.packet_engine.put_done_valid.val();

        // Packet engine and RVMA engine.
        self.rvma_engine.placement.next = self.packet_engine.placement.val();
        self.rvma_engine.placement_valid.next = self.packet_engine.placement_valid.val();
        self.packet_engine.placement_ready.next = self.rvma_engine.placement_ready.val();
        self.packet_engine.place_request.next = self.rvma_engine.place_request.val();
        self.packet_engine.place_request_valid.next = self.rvma_engine.place_request_valid.val();
        self.rvma_engine.place_request_ready.next = self.packet_engine.place_request_ready.val();
        self.rvma_engine.place_data.next = self.packet_engine.place_data.val();
        self.rvma_engine.place_last.next = self.packet_engine.place_last.val();
        self.rvma_engine.place_data_valid.next = self.packet_engine.place_data_valid.val();
        self.packet_engine.place_data_ready.next = self.rvma_engine.place_data_ready.val();
        self.packet_engine.outcome_feedback.next = self.rvma_engine.outcome_feedback.val();
        self.packet_engine.outcome_valid.next = self.rvma_engine.outcome_valid.val();
        self.packet_engine.placement_done_feedback.next = self.rvma_engine.placement_done_feedback.val();
        self.packet_engine.placement_done_valid.next = self.rvma_engine.placement_done_valid.val();
        self.rvma_engine.placement_done_ready.next = self.packet_engine.placement_done_ready.val();

        self.rvma_engine.put_read.next = self.packet_engine.put_read.val();
        self.rvma_engine.put_read_valid.next = self.packet_engine.put_read_valid.val();
        self.packet_engine.put_read_ready.next = self.rvma_engine.put_read_ready.val();
        self.packet_engine.put_data.next = self.rvma_engine.put_data.val();
        self.packet_engine.put_data_last.next = self.rvma_engine.put_data_last.val();
        self.packet_engine.put_data_error.next = self.rvma_engine.put_data_error.val();
        self.packet_engine.put_data_valid.next = self.rvma_engine.put_data_valid.val();
        self.rvma_engine.put_data_ready.next = self.packet_engine.put_data_ready.val();
        // Segments of puts: of host memory, or of context memory.
        self.hpu_array.segment.next = self.packet_engine.segment.val();
        self.hpu_array.segment_valid.next = self.packet_engine.segment_valid.val();
        self.packet_engine.segment_ready.next = self.hpu_array.segment_ready.val();
        self.rvma_engine.message_event.next = self.packet_engine.message_event.val();
        self.rvma_engine.message_event_valid.next = self.packet_engine.message_event_valid.val();
        self.packet_engine.message_event_ready.next = self.rvma_engine.message_event_ready.val();

        // HPU array and RVMA engine.
        self.rvma_engine.dma.next = self.hpu_array.dma.val();
        self.rvma_engine.dma_valid.next = self.hpu_array.dma_valid.val();
        self.hpu_array.dma_ready.next = self.rvma_engine.dma_ready.val();
        self.rvma_engine.dma_data.next = self.hpu_array.dma_data.val();
        self.rvma_engine.dma_last.next = self.hpu_array.dma_last.val();
        self.rvma_engine.dma_data_valid.next = self.hpu_array.dma_data_valid.val();
        self.hpu_array.dma_data_ready.next = self.rvma_engine.dma_data_ready.val();
        self.hpu_array.dma_done_feedback.next = self.rvma_engine.dma_done_feedback.val();
        self.hpu_array.dma_done_valid.next = self.rvma_engine.dma_done_valid.val();
        self.hpu_array.enabled.next = bits::<16>(COMMANDS);
        self.rvma_engine.host_read.next = self.hpu_array.host_read.val();
        self.rvma_engine.host_read_valid.next = self.hpu_array.host_read_valid.val();
        self.hpu_array.host_read_ready.next = self.rvma_engine.host_read_ready.val();
        self.hpu_array.host_data.next = self.rvma_engine.host_data.val();
        self.hpu_array.host_data_last.next = self.rvma_engine.host_data_last.val();
        self.hpu_array.host_data_error.next = self.rvma_engine.host_data_error.val();
        self.hpu_array.host_data_tag.next = self.rvma_engine.host_data_tag.val();
        self.hpu_array.host_data_valid.next = self.rvma_engine.host_data_valid.val();
        self.rvma_engine.host_data_ready.next = self.hpu_array.host_data_ready.val();
        self.rvma_engine.host_atomic.next = self.hpu_array.host_atomic.val();
        self.rvma_engine.host_atomic_valid.next = self.hpu_array.host_atomic_valid.val();
        self.hpu_array.host_atomic_ready.next = self.rvma_engine.host_atomic_ready.val();
        self.hpu_array.atomic_done_feedback.next = self.rvma_engine.atomic_done_feedback.val();
        self.hpu_array.atomic_done_valid.next = self.rvma_engine.atomic_done_valid.val();
        self.rvma_engine.array_event.next = self.hpu_array.array_event.val();
        self.rvma_engine.array_event_valid.next = self.hpu_array.array_event_valid.val();
        self.hpu_array.array_event_ready.next = self.rvma_engine.array_event_ready.val();
        self.hpu_array.rings_open.next = self.rvma_engine.rings_open.val();

        // Host memory.
        self.host_awid.next = self.rvma_engine.host_awid.val();
        self.host_awaddr.next = self.rvma_engine.host_awaddr.val();
        self.host_awlen.next = self.rvma_engine.host_awlen.val();
        self.host_awsize.next = self.rvma_engine.host_awsize.val();
        self.host_awburst.next = self.rvma_engine.host_awburst.val();
        self.host_awvalid.next = self.rvma_engine.host_awvalid.val();
        self.rvma_engine.host_awready.next = self.host_awready.val();
        self.host_wdata.next = self.rvma_engine.host_wdata.val();
        self.host_wstrb.next = self.rvma_engine.host_wstrb.val();
        self.host_wlast.next = self.rvma_engine.host_wlast.val();
        self.host_wvalid.next = self.rvma_engine.host_wvalid.val();
        self.rvma_engine.host_wready.next = self.host_wready.val();
        self.rvma_engine.host_bid.next = self.host_bid.val();
        self.rvma_engine.host_bresp.next = self.host_bresp.val();
        self.rvma_engine.host_bvalid.next = self.host_bvalid.val();
        self.host_bready.next = self.rvma_engine.host_bready.val();
        self.host_arid.next = self.rvma_engine.host_arid.val();
        self.host_araddr.next = self.rvma_engine.host_araddr.val();
        self.host_arlen.next = self.rvma_engine.host_arlen.val();
        self.host_arsize.next = self.rvma_engine.host_arsize.val();
        self.host_arburst.next = self.rvma_engine.host_arburst.val();
        self.host_arvalid.next = self.rvma_engine.host_arvalid.val();
        self.rvma_engine.host_arready.next = self.host_arready.val();
        self.rvma_engine.host_rid.next = self.host_rid.val();
        self.rvma_engine.host_rdata.next = self.host_rdata.val();
        self.rvma_engine.host_rresp.next = self.host_rresp.val();
        self.rvma_engine.host_rlast.next = self.host_rlast.val();
        self.rvma_engine.host_rvalid.next = self.host_rvalid.val();
        self.host_rready.next = self.rvma_engine.host_rready.val();

        // BAR: each engine sees the requests of its own pages only; whatever no engine owns goes to the global page.
        self.csr_block.bar_awaddr.next = self.bar_awaddr.val();
        self.csr_block.bar_awvalid.next = self.bar_awvalid.val();
        self.bar_awready.next = self.csr_block.bar_awready.val();
        self.csr_block.bar_wdata.next = self.bar_wdata.val();
        self.csr_block.bar_wstrb.next = self.bar_wstrb.val();
        self.csr_block.bar_wvalid.next = self.bar_wvalid.val();
        self.bar_wready.next = self.csr_block.bar_wready.val();
        self.bar_bresp.next = self.csr_block.bar_bresp.val();
        self.bar_bvalid.next = self.csr_block.bar_bvalid.val();
        self.csr_block.bar_bready.next = self.bar_bready.val();
        self.csr_block.bar_araddr.next = self.bar_araddr.val();
        self.csr_block.bar_arvalid.next = self.bar_arvalid.val();
        self.bar_arready.next = self.csr_block.bar_arready.val();
        self.bar_rdata.next = self.csr_block.bar_rdata.val();
        self.bar_rresp.next = self.csr_block.bar_rresp.val();
        self.bar_rvalid.next = self.csr_block.bar_rvalid.val();
        self.csr_block.bar_rready.next = self.bar_rready.val();
        let request = self.csr_block.csr.val();
        let page = request.addr.get_bits::<8>(12);
        let to_packet =
            (page == bits::<8>((packet::BASE / PAGE) as u64)) | (page == bits::<8>((node::BASE / PAGE) as u64));
        let to_hpu = page == bits::<8>((hpu::BASE / PAGE) as u64);
        let to_rvma =
            (page == bits::<8>((rvma::BASE / PAGE) as u64)) | (page >= bits::<8>((doorbell::BASE / PAGE) as u64));
        let to_trace = page == bits::<8>((trace::BASE / PAGE) as u64);
        self.packet_engine.csr.next = request;
        self.packet_engine.csr.next.valid = request.valid & to_packet;
        self.hpu_array.csr.next = request;
        self.hpu_array.csr.next.valid = request.valid & to_hpu;
        self.rvma_engine.csr.next = request;
        self.rvma_engine.csr.next.valid = request.valid & to_rvma;
        self.global_page.csr.next = request;
        self.global_page.csr.next.valid = request.valid & !to_packet & !to_hpu & !to_rvma & !to_trace;
        self.trace_ring.csr.next = request;
        self.trace_ring.csr.next.valid = request.valid & to_trace;
        let packet_answer = self.packet_engine.csr_answer.val();
        let hpu_answer = self.hpu_array.csr_answer.val();
        let rvma_answer = self.rvma_engine.csr_answer.val();
        let global_answer = self.global_page.csr_answer.val();
        let trace_answer = self.trace_ring.csr_answer.val();
        self.csr_block.csr_answer.next = CsrResponse {
            ack: packet_answer.ack | hpu_answer.ack | rvma_answer.ack | global_answer.ack | trace_answer.ack,
            error: packet_answer.error
                | hpu_answer.error
                | rvma_answer.error
                | global_answer.error
                | trace_answer.error,
            rdata: packet_answer.rdata
                | hpu_answer.rdata
                | rvma_answer.rdata
                | global_answer.rdata
                | trace_answer.rdata,
        };

        let fault: Bits<1> = self.hpu_array.fault_pending.val().into();
        self.irq.next = bit_cast::<16, 1>(fault);
        let own_valid = self.packet_engine.trace_valid.val() | self.rvma_engine.trace_valid.val();
        let own_tags = self.packet_engine.trace_tags.val() | self.rvma_engine.trace_tags.val();
        for i in 0..self._rvfi {
            self.rvfi[i].next = self.hpu_array.rvfi[i].val();
        }
        let lanes = (self.hpu_array.trace_valid.val(), own_valid).cat::<TRACE_LANES>();
        let tags = (self.hpu_array.trace_tags.val(), own_tags).cat::<TRACE_TAGS>();
        self.trace_valid.next = lanes;
        self.trace_tags.next = tags;
        self.trace_threads.next = self.hpu_array.trace_threads.val();
        self.trace_mailbox.next = self.rvma_engine.trace_mailbox.val();
        self.trace_join.next = self.packet_engine.trace_join.val();
        self.trace_end.next = self.packet_engine.trace_end.val();
        self.trace_task.next = self.packet_engine.trace_task.val();
        self.trace_ring.lanes.next = lanes;
        self.trace_ring.tags.next = tags;
        self.trace_ring.cycle.next = self.global_page.cycle.val();
    }
}
