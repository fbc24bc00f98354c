//! Three command ports and their command unit.

use hpu_core::array::off_cluster_queue::OffClusterCommand;
use hpu_core::cluster::command_port::CommandPort;
use hpu_core::cluster::command_unit::CommandUnit;
use hpu_core::processor::bundles::{CommandAccessSink, HandlerStartSink};
use hpu_core::types::{Limits, Message, MoveJob, OffClusterDone, StageRequest};
use spindle_blocks::desc::Command;
use spindle_contract::memory_map::COMMAND_HANDLES;
use spindle_verilog::prelude::*;

/// Number of the cluster, and of the HPU in it.
pub const CLUSTER: u64 = 6;
pub const HPU: u64 = 2;

/// A command unit that serves three ports, of which the HPU at the last one is tested and the others rest.
#[block]
pub struct Commands {
    pub port: CommandAccessSink,
    pub begin: HandlerStartSink,
    pub done: Signal<Out, Bit>,
    pub refused: Signal<Out, Bit>,
    pub full: Signal<Out, Bit>,
    pub index: Signal<Out, Bits<5>>,
    pub limits: Signal<In, Limits>,
    pub rings_open: Signal<In, Bits<16>>,
    pub packets_full: Signal<In, Bits<16>>,
    pub enabled: Signal<In, Bits<16>>,
    pub job: Pulse<MoveJob>,
    pub stage_left: Signal<In, Bit>,
    pub stage_request: Pulse<StageRequest>,
    pub staged: Signal<In, Bit>,
    pub segment: PulseSink<StageRequest>,
    pub lent: Signal<Out, Bit>,
    pub segment_goes: Signal<In, Bit>,
    pub cycle: Signal<In, Bits<32>>,
    pub place: Source<Command>,
    pub message: Source<Message>,
    pub off_cluster: Source<OffClusterCommand>,
    pub put_left: Signal<In, Bit>,
    pub host_put_left: Signal<In, Bit>,
    pub complete: Signal<In, Bits<COMMAND_HANDLES>>,
    pub failed: Signal<In, Bits<COMMAND_HANDLES>>,
    pub off_cluster_done: Signal<In, OffClusterDone>,
    pub result_valid: Signal<In, Bit>,
    pub result_ready: Signal<Out, Bit>,
    pub probe: Signal<In, Bits<4>>,
    pub probe_used: Signal<Out, Bit>,
    ports: [CommandPort; 3],
    unit: CommandUnit,
    /// What is known of the command that was looked at last.
    known: DFF<Limits>,
}

impl Commands {
    pub fn new() -> Self {
        Self { unit: CommandUnit::new(3), ..Self::blank() }
    }
}

#[hdl]
impl Commands {
    fn update(&mut self) {
        for i in 0..3 {
            let mine = i == 2;
            self.ports[i].port.next = self.port.val();
            self.ports[i].port.write.next = self.port.write.val() & mine;
            self.ports[i].port.read.next = self.port.read.val() & mine;
            self.ports[i].begin.valid.next = self.begin.valid.val() & mine;
            self.ports[i].begin.thread.next = self.begin.thread.val();
            self.ports[i].begin.bank.next = self.begin.bank.val();
            self.ports[i].request.join(&mut self.unit.request[i]);
            self.ports[i].request_taken.next = self.unit.request_taken.val().get_bit(i);
            self.ports[i].word.next = self.unit.word.val();
            self.unit.argument[i].next = self.ports[i].argument.val();
            self.unit.argument_written[i].next = self.ports[i].argument_written.val();
            self.ports[i].answered.next = self.unit.answered.val().get_bit(i);
            self.ports[i].accept.next = self.unit.accept.val().get_bit(i);
            self.ports[i].accept_packet.next = self.unit.accept_packet.val();
            self.ports[i].accept_slot.next = self.unit.accept_slot.val();
            self.ports[i].blocked.next = self.unit.blocked.val();
            let fails = self.unit.unkept.valid.val() & (self.unit.unkept.val().hpu == bits::<3>(i));
            let unkept = if fails {
                bits::<{ COMMAND_HANDLES }>(1) << self.unit.unkept.val().handle
            } else {
                bits::<{ COMMAND_HANDLES }>(0)
            };
            self.ports[i].complete.next = self.complete.val() | unkept;
            self.ports[i].failed.next = self.failed.val() | unkept;
            self.ports[i].result.valid.next = self.result_valid.val() & mine;
            self.ports[i].result_handle.next = self.off_cluster_done.val().issuer.handle;
            self.ports[i].result.next = self.off_cluster_done.val().result;
            self.ports[i].probe.next = self.probe.val();
        }
        self.port.data.next = self.ports[2].port.data.val();
        self.port.full.next = self.ports[2].port.full.val();
        self.port.pending.next = self.ports[2].port.pending.val();
        self.probe_used.next = self.ports[2].probe_used.val();
        self.result_ready.next = self.ports[2].result.ready.val();
        self.unit.number.next = bits::<3>(CLUSTER);
        self.unit.cycle.next = self.cycle.val();
        self.unit.enabled.next = self.enabled.val();
        self.unit.rings_open.next = self.rings_open.val();
        self.unit.packets_full.next = self.packets_full.val();
        // As a memory that is read when the unit looks.
        if self.unit.looks.val() {
            self.known.d.next = self.limits.val();
        }
        self.unit.limits.next = self.known.q.val();
        self.unit.place.ready.next = self.place.ready.val();
        self.unit.message.ready.next = self.message.ready.val();
        self.unit.off_cluster.join(&mut self.off_cluster);
        self.unit.put_left.next = self.put_left.val();
        self.unit.host_put_left.next = self.host_put_left.val();
        self.unit.stage_left.next = self.stage_left.val();
        self.unit.staged.next = self.staged.val();
        self.segment.join(&mut self.unit.segment);
        self.lent.next = self.unit.lent.val();
        self.unit.segment_goes.next = self.segment_goes.val();
        self.unit.stage_request.join(&mut self.stage_request);
        self.done.next = self.unit.done.val().get_bit(2);
        self.refused.next = self.unit.refused.val().get_bit(2);
        self.full.next = self.unit.full.val().get_bit(2);
        self.index.next = self.unit.index.val();
        self.job.next = self.unit.job.val();
        self.job.valid.next = self.unit.job.valid.val();
        self.place.next = self.unit.place.val();
        self.place.valid.next = self.unit.place.valid.val();
        self.message.next = self.unit.message.val();
        self.message.valid.next = self.unit.message.valid.val();
    }
}
