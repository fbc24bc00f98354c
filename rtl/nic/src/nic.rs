//! The NIC top: wiring only.
//!
//! Three engines (packet engine, HPU array, RVMA engine), the AXI4-Lite slave and the global page. Nothing is computed
//! here but the OR of the CSR answers and of the trace ports. Ports, streams and descriptors: `docs/interfaces.md`.

use crate::global_page::GlobalPage;
use crate::host_gate::HostGate;
use crate::interrupts::Interrupts;
use crate::reset_control::ResetControl;
use crate::trace_ring::TraceRing;
use hpu_core::array::retirement_ports;
use hpu_core::processor::types::Rvfi;
use hpu_core::HpuArray;
use packet_engine::PacketEngine;
use rvma_lut::RvmaEngine;
use spindle_blocks::{
    replicate, AxiLiteSink, AxiSource, AxiStreamSink, AxiStreamSource, CsrBlock, CsrRequest, CsrResponse, EndTrace,
    JoinTrace, TaskTrace,
};
use spindle_contract::memory_map::command;
use spindle_contract::params::{Config, REGIONS};
use spindle_contract::pci::VECTORS;
use spindle_contract::reasons::{TRACE_HPUS, TRACE_LANES, TRACE_TAG_BITS};
use spindle_contract::registers::{doorbell, hpu, node, packet, rvma, trace, PAGE};
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use spindle_verilog::prelude::*;

/// Commands that the NIC carries out, one bit per opcode.
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
    | 1 << command::HOST_ADD
    | 1 << command::COMBINE;
/// Bits of all trace tags.
const TRACE_TAGS: usize = TRACE_LANES * TRACE_TAG_BITS;

/// The NIC. See the module text.
#[block]
pub struct Nic {
    /// Frames from the wire.
    pub rx: AxiStreamSink,
    /// Frames to the wire.
    pub tx: AxiStreamSource,
    /// BAR, AXI4-Lite.
    pub bar: AxiLiteSink,
    /// Host memory, AXI4.
    pub host: AxiSource,
    /// Interrupts that are requested, by vector; each stays until it is acknowledged.
    pub irq_request: Signal<Out, Bits<VECTORS>>,
    /// Interrupts that the host has taken: a pulse by vector.
    pub irq_acknowledge: Signal<In, Bits<VECTORS>>,
    /// Trace: events of lane i (contract, `reasons::trace_lanes`).
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
    /// Retired instructions, a port per HPU, cluster by cluster; none unless the configuration has `rvfi`.
    pub rvfi: Vec<Signal<Out, Rvfi>>,
    packet_engine: PacketEngine,
    hpu_array: HpuArray,
    rvma_engine: RvmaEngine,
    csr_block: CsrBlock,
    global_page: GlobalPage,
    trace_ring: TraceRing,
    interrupts: Interrupts,
    host_gate: HostGate,
    reset_control: ResetControl,
    _rvfi: usize,
}

/// Cycles within which all tables are clear after a reset: the PSN filter takes 17 per peer, every other table one per
/// entry at most.
pub fn clear_cycles(config: &Config) -> usize {
    let entries = [config.mailboxes, config.processes.next_power_of_two() * REGIONS, 17 * NODE_TABLE_ENTRIES];
    entries.into_iter().max().unwrap_or_default() + 64
}

impl Nic {
    /// The NIC of a (valid) configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            rvfi: replicate(retirement_ports(config)),
            packet_engine: PacketEngine::new(config),
            hpu_array: HpuArray::new(config),
            rvma_engine: RvmaEngine::new(config),
            csr_block: CsrBlock::default(),
            global_page: GlobalPage::new(config),
            trace_ring: TraceRing::new(config),
            interrupts: Interrupts::new(),
            reset_control: ResetControl::new(clear_cycles(config)),
            _rvfi: retirement_ports(config),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Nic {
    fn update(&mut self) {
        // Wire.
        self.rx.join(&mut self.packet_engine.rx);
        self.packet_engine.rx.valid.next = self.rx.valid.val() & self.reset_control.rx_open.val();
        self.rx.ready.next = true;
        self.packet_engine.tx.join(&mut self.tx);
        let tx_open = self.reset_control.tx_open.val();
        self.tx.valid.next = self.packet_engine.tx.valid.val() & tx_open;
        self.packet_engine.tx.ready.next = self.tx.ready.val() & tx_open;
        self.tx.user.next = false;

        // Packet engine and HPU array.
        self.hpu_array.task_desc.offer(self.packet_engine.task_valid.val(), self.packet_engine.task_desc.val());
        self.packet_engine.task_room.next = self.hpu_array.task_room.val();
        self.hpu_array.task_done.join(&mut self.packet_engine.task_done);
        self.hpu_array.place.join(&mut self.packet_engine.place);
        self.packet_engine.context_status.next = self.hpu_array.context_status.val();
        self.hpu_array.policy.join(&mut self.packet_engine.policy);
        self.hpu_array.load_request.join(&mut self.packet_engine.load_request);
        self.packet_engine.load_data.join(&mut self.hpu_array.load_data);
        self.hpu_array.egress.join(&mut self.packet_engine.egress);
        self.hpu_array.put.join(&mut self.packet_engine.put);
        self.hpu_array.host_put.join(&mut self.rvma_engine.array_put);
        self.rvma_engine.host_put.join(&mut self.packet_engine.host_put);
        self.rvma_engine.frame.join(&mut self.packet_engine.frame);
        self.packet_engine.put_done.join(&mut self.rvma_engine.put_done);
        self.packet_engine.put_done.join(&mut self.hpu_array.put_done);

        // Packet engine and RVMA engine.
        self.packet_engine.placement.join(&mut self.rvma_engine.placement);
        self.rvma_engine.place_request.join(&mut self.packet_engine.place_request);
        self.packet_engine.place_data.join(&mut self.rvma_engine.place_data);
        self.rvma_engine.placement_outcome.join(&mut self.packet_engine.placement_outcome);
        self.packet_engine.pending_end.join(&mut self.rvma_engine.pending_end);
        self.rvma_engine.placement_done.join(&mut self.packet_engine.placement_done);

        self.packet_engine.put_read.join(&mut self.rvma_engine.put_read);
        self.packet_engine.put_data.next = self.rvma_engine.put_data.val();
        self.packet_engine.put_data_last.next = self.rvma_engine.put_data.last.val();
        self.packet_engine.put_data_error.next = self.rvma_engine.put_data.error.val();
        self.packet_engine.put_data_field.next = self.rvma_engine.put_data_field.val();
        self.packet_engine.put_data.valid.next = self.rvma_engine.put_data.valid.val();
        self.rvma_engine.put_data.ready.next = self.packet_engine.put_data.ready.val();
        // Segments of puts: of host memory, or of context memory and of packets.
        self.packet_engine.segment.join(&mut self.hpu_array.segment);
        self.hpu_array.segment_request.join(&mut self.packet_engine.segment_request);
        self.packet_engine.segment_data.join(&mut self.hpu_array.segment_data);
        self.hpu_array.packets_full.next = self.packet_engine.packets_full.val();
        self.packet_engine.message_event.join(&mut self.rvma_engine.message_event);

        // HPU array and RVMA engine.
        self.hpu_array.dma.join(&mut self.rvma_engine.dma);
        self.hpu_array.dma_data.join(&mut self.rvma_engine.dma_data);
        self.rvma_engine.dma_done.join(&mut self.hpu_array.dma_done);
        self.hpu_array.enabled.next = bits::<16>(COMMANDS);
        self.hpu_array.host_read.join(&mut self.rvma_engine.host_read);
        self.rvma_engine.host_data.join(&mut self.hpu_array.host_data);
        self.hpu_array.host_atomic.join(&mut self.rvma_engine.host_atomic);
        self.rvma_engine.atomic_done.join(&mut self.hpu_array.atomic_done);
        self.hpu_array.array_event.join(&mut self.rvma_engine.array_event);
        self.hpu_array.rings_open.next = self.rvma_engine.rings_open.val();

        // Host memory.
        self.rvma_engine.host.join(&mut self.host_gate.engine);
        self.host_gate.host.join(&mut self.host);

        // Reset: all but the register slave, the host gate and the reset control.
        let reset = self.reset.val() | self.reset_control.engines_reset.val();
        self.packet_engine.reset.next = reset;
        self.hpu_array.reset.next = reset;
        self.rvma_engine.reset.next = reset;
        self.global_page.reset.next = reset;
        self.trace_ring.reset.next = reset;
        self.interrupts.reset.next = reset;
        self.host_gate.stop.next = self.reset_control.stop.val();
        self.host_gate.abandon.next = self.reset_control.abandon.val();
        self.reset_control.quiet.next = self.host_gate.quiet.val();
        self.reset_control.moved.next = self.host_gate.moved.val();
        self.reset_control.rx_valid.next = self.rx.valid.val();
        self.reset_control.rx_last.next = self.rx.last.val();
        self.reset_control.tx_valid.next = self.packet_engine.tx.valid.val();
        self.reset_control.tx_last.next = self.packet_engine.tx.last.val();
        self.reset_control.tx_ready.next = self.tx.ready.val();

        // BAR: each engine sees the requests of its own pages only; addresses of no engine go to the global page.
        self.bar.join(&mut self.csr_block.bar);
        self.reset_control.csr.next = self.csr_block.csr.val();
        let mut request: CsrRequest = self.csr_block.csr.val();
        request.valid = request.valid & !self.reset_control.owns_csr.val();
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
        let reset_answer = self.reset_control.csr_answer.val();
        self.csr_block.csr_answer.next = CsrResponse {
            ack: packet_answer.ack
                | hpu_answer.ack
                | rvma_answer.ack
                | global_answer.ack
                | trace_answer.ack
                | reset_answer.ack,
            error: packet_answer.error
                | hpu_answer.error
                | rvma_answer.error
                | global_answer.error
                | trace_answer.error
                | reset_answer.error,
            rdata: packet_answer.rdata
                | hpu_answer.rdata
                | rvma_answer.rdata
                | global_answer.rdata
                | trace_answer.rdata
                | reset_answer.rdata,
        };

        // Interrupts.
        self.rvma_engine.irq_fires.join(&mut self.interrupts.ring);
        self.interrupts.causes.next =
            (self.hpu_array.print_pending.val(), self.hpu_array.fault_pending.val()).cat::<2>();
        self.global_page.route.join(&mut self.interrupts.route);
        self.interrupts.route_vector.next = self.global_page.route_vector.val();
        self.interrupts.masks.next = self.global_page.masks.val();
        self.global_page.waiting.next = self.interrupts.waiting.val();
        self.irq_request.next = self.interrupts.request.val();
        self.interrupts.acknowledge.next = self.irq_acknowledge.val();

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
