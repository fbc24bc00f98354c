//! Reports: faults and messages of handlers, on their way to the host.
//!
//! | neighbour | ports |
//! |---|---|
//! | clusters, through multiplexers | in `fault`; in `message` |
//! | registers | in `policy`; `queued_fault`, `queued_print`: the oldest report and its queue; out `fault_pending`, `print_pending` |
//! | RVMA engine | in `processes_open`: processes with an open event ring; out `record` |
//! | clusters | out `rings_open`: contexts whose process has an open ring, at most 16 cycles old |
//! | telemetry | out `faulted`, `fault_lost`, `print_lost`: pulses |
//!
//! A fault or print of a context whose process has a ring becomes an event; else it goes into the queue that the
//! registers show. A full queue drops the report, which is counted, so that no handler waits for a queue; an event waits
//! until `record` is taken. EVENT and COMPLETE always become events. Faults go before messages, one report per cycle;
//! latency 1 cycle. The queues show a report after 3 cycles.

use crate::bundles::ReportQueue;
use crate::cluster::command_rules::{EVENT, PRINT};
use crate::types::{FaultReport, Message, PrintPiece};
use spindle_blocks::{BlockFifo, EventDesc, LutMemory, PolicySink, RamStyle};
use spindle_contract::events;
use spindle_verilog::prelude::*;

/// The reports. See the module text.
#[block]
pub struct Reports {
    /// A fault.
    pub fault: Sink<FaultReport>,
    /// A PRINT, EVENT or COMPLETE.
    pub message: Sink<Message>,
    /// Policy of a context.
    pub policy: PolicySink,
    /// Faults for the registers.
    pub queued_fault: ReportQueue<FaultReport>,
    /// A fault is in the queue.
    pub fault_pending: Signal<Out, Bit>,
    /// A piece of text is in its queue.
    pub print_pending: Signal<Out, Bit>,
    /// Prints for the registers.
    pub queued_print: ReportQueue<PrintPiece>,
    /// Processes with an open event ring.
    pub processes_open: Signal<In, Bits<64>>,
    /// Contexts of these processes.
    pub rings_open: Signal<Out, Bits<16>>,
    /// An event.
    pub record: Source<EventDesc>,
    /// A handler faulted.
    pub faulted: Signal<Out, Bit>,
    /// A fault found its queue full.
    pub fault_lost: Signal<Out, Bit>,
    /// A print found its queue full.
    pub print_lost: Signal<Out, Bit>,
    /// Process of each context: for the scan, and for the report in front.
    scanned: LutMemory<Bits<6>, 4>,
    processes: LutMemory<Bits<6>, 4>,
    scan: Reg<Bits<4>>,
    open: Reg<Bits<16>>,
    fault_queue: BlockFifo<FaultReport, 4>,
    print_queue: BlockFifo<PrintPiece, 6>,
    record_reg: DFF<EventDesc>,
    record_reg_valid: Reg<Bit>,
}

impl Reports {
    /// Reports whose queues are in memories of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { fault_queue: BlockFifo::new(style), print_queue: BlockFifo::new(style), ..Self::blank() }
    }
}

#[hdl]
impl Reports {
    fn update(&mut self) {
        // Contexts with a ring: one is examined per cycle.
        let scan = self.scan.q.val();
        self.scan.d.next = scan + 1;
        self.scanned.write(self.policy.valid.val(), self.policy.index.val(), self.policy.val().pid);
        self.scanned.read_address.next = scan;
        let is_open = self.processes_open.val().get_bit(self.scanned.read_data.val().index());
        self.open.d.next = self.open.q.val().replace_bit(scan.index(), is_open);
        self.rings_open.next = self.open.q.val();

        // The report in front: to its queue, or an event.
        let fault = self.fault.val();
        let message = self.message.val();
        let by_fault = self.fault.valid.val();
        let by_message = self.message.valid.val() & !by_fault;
        let who = if by_fault { fault.who } else { message.piece.who };
        let of_context = who.get_bits::<4>(4);
        let has_ring = self.open.q.val().get_bit(of_context.index());
        let is_print = message.opcode == bits::<4>(PRINT);
        let is_event = has_ring | (!by_fault & !is_print);
        let room = !self.record_reg_valid.q.val() | self.record.ready.val();
        let goes = !is_event | room;
        self.fault.ready.next = goes;
        self.message.ready.next = goes & !by_fault;
        let faulted = by_fault & goes;
        self.faulted.next = faulted;
        self.fault_queue.write.offer(by_fault & !is_event, fault);
        self.fault_lost.next = by_fault & !is_event & !self.fault_queue.write.ready.val();
        self.print_queue.write.offer(by_message & !is_event, message.piece);
        self.print_lost.next = by_message & !is_event & !self.print_queue.write.ready.val();
        self.queued_fault.next = self.fault_queue.read.val();
        self.queued_fault.count.next = self.fault_queue.level.val().get_bits::<8>(0);
        self.fault_pending.next = self.fault_queue.read.valid.val();
        self.print_pending.next = self.print_queue.read.valid.val();
        self.fault_queue.read.ready.next = self.queued_fault.pop.val();
        self.queued_print.next = self.print_queue.read.val();
        self.queued_print.count.next = self.print_queue.level.val().get_bits::<8>(0);
        self.print_queue.read.ready.next = self.queued_print.pop.val();

        // As an event.
        self.processes.write(self.policy.valid.val(), self.policy.index.val(), self.policy.val().pid);
        self.processes.read_address.next = of_context;
        let piece = message.piece;
        let positions = (bits::<8>(0), message.msg_slot, who.get_bits::<16>(8)).cat::<32>();
        let record = EventDesc {
            pid: self.processes.read_data.val(),
            kind: if by_fault {
                bits::<4>(events::FAULT)
            } else if is_print {
                bits::<4>(events::PRINT)
            } else if message.opcode == bits::<4>(EVENT) {
                bits::<4>(events::USER)
            } else {
                bits::<4>(events::COMPLETE)
            },
            context: of_context,
            code: if by_fault | is_print { bit_cast::<8, 4>(who.get_bits::<4>(0)) } else { bits::<8>(0) },
            flags: bits::<8>(0),
            id: if by_fault { fault.pc } else { bits::<32>(0) },
            length: if by_fault {
                bit_cast::<32, 24>(who.get_bits::<24>(8))
            } else if is_print {
                positions
            } else {
                message.length
            },
            extra: if by_fault { fault.address } else { bits::<32>(0) },
            source: if by_fault {
                fault.frame
            } else {
                (bits::<14>(0), who.get_bits::<2>(24), piece.frame).cat::<32>()
            },
            user: if by_fault { bits::<64>(0) } else { (piece.high, piece.low).cat::<64>() },
        };
        if room {
            self.record_reg.d.next = record;
            self.record_reg_valid.d.next = (by_fault | by_message) & is_event;
        }
        self.record.offer(self.record_reg_valid.q.val(), self.record_reg.q.val());
    }
}
