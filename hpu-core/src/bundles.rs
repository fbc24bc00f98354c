//! Bundles between the array and its clusters, and between the blocks of a cluster. Those of the processor:
//! [`processor::bundles`](crate::processor::bundles).

use crate::processor::predecode::CodeWord;
use crate::processor::types::{RemoteAnswer, RemoteRequest};
use crate::types::TaskContext;
use spindle_blocks::desc::TaskDesc;
use spindle_verilog::prelude::*;

/// A task for a cluster, with its context.
#[bundle(mirror = TaskSink)]
pub struct TaskSource {
    /// The task.
    pub desc: Signal<Out, TaskDesc>,
    /// Its context at dispatch.
    pub context: Signal<Out, TaskContext>,
    /// The task is offered.
    pub valid: Signal<Out, Bit>,
    /// The cluster takes a task, and stays ready until one comes.
    pub ready: Signal<In, Bit>,
}

/// Words of code that the host writes, predecoded.
#[bundle(mirror = CodeWriteSink)]
pub struct CodeWrite {
    /// Write in this cycle.
    pub write: Signal<Out, Bit>,
    /// Word of instruction memory.
    pub address: Signal<Out, Bits<14>>,
    /// The word.
    pub data: Signal<Out, CodeWord>,
}

/// Accesses of L2 by a cluster; answers come in the order of the requests and are always taken.
#[bundle(mirror = L2PortSink)]
pub struct L2Port {
    /// The access.
    pub request: Signal<Out, RemoteRequest>,
    /// HPU that makes it.
    pub hpu: Signal<Out, Bits<3>>,
    /// The access is the second part of one that crosses a word.
    pub second: Signal<Out, Bit>,
    /// An access is offered.
    pub valid: Signal<Out, Bit>,
    /// The access is taken.
    pub ready: Signal<In, Bit>,
    /// The answer.
    pub answer: Signal<In, RemoteAnswer>,
    /// An answer comes.
    pub answer_valid: Signal<In, Bit>,
    /// HPU that made the access.
    pub answer_hpu: Signal<In, Bits<3>>,
}

/// [`L2Port`] for a user that knows from the order of the answers whose they are.
#[bundle(mirror = OrderedL2PortSink, part_of(L2Port, L2PortSink))]
pub struct OrderedL2Port {
    /// The access.
    pub request: Signal<Out, RemoteRequest>,
    /// HPU that makes it.
    pub hpu: Signal<Out, Bits<3>>,
    /// The access is the second part of one that crosses a word.
    pub second: Signal<Out, Bit>,
    /// An access is offered.
    pub valid: Signal<Out, Bit>,
    /// The access is taken.
    pub ready: Signal<In, Bit>,
    /// The answer.
    pub answer: Signal<In, RemoteAnswer>,
    /// An answer comes.
    pub answer_valid: Signal<In, Bit>,
}

/// Halves of a task page for L1.
#[bundle(mirror = PageWriteSink)]
pub struct PageWrite {
    /// A half is offered.
    pub write: Signal<Out, Bit>,
    /// It is the second half.
    pub half: Signal<Out, Bit>,
    /// Beat of L1.
    pub beat: Signal<Out, Bits<10>>,
    /// The half is taken.
    pub ready: Signal<In, Bit>,
}

/// Beats of L1 that are zeroed.
#[bundle(mirror = ScrubSink)]
pub struct Scrub {
    /// A beat is offered.
    pub write: Signal<Out, Bit>,
    /// Beat of L1.
    pub beat: Signal<Out, Bits<10>>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// Beats for L1, of a COMBINE or of the host.
#[bundle(mirror = BeatWriteSink)]
pub struct BeatWrite {
    /// A beat is offered.
    pub write: Signal<Out, Bit>,
    /// Beat of L1.
    pub beat: Signal<Out, Bits<10>>,
    /// Its bytes.
    pub data: Signal<Out, Bits<512>>,
    /// Bytes to write.
    pub keep: Signal<Out, Bits<64>>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// Reads of whole beats of L1. The data are two ports, one for each group.
#[bundle(mirror = WideReadSink)]
pub struct WideRead {
    /// A beat is read in the next cycle,
    pub next: Signal<Out, Bit>,
    /// and it is one of the second group.
    pub next_odd: Signal<Out, Bit>,
    /// A beat is read.
    pub read: Signal<Out, Bit>,
    /// Beat of L1.
    pub beat: Signal<Out, Bits<10>>,
    /// The read is granted.
    pub ready: Signal<In, Bit>,
}

/// Events of the HPUs of a cluster, for counters and trace lanes; a bit per HPU unless stated.
#[bundle(mirror = HpuEventsSink)]
pub struct HpuEvents {
    /// A handler runs.
    pub busy: Signal<Out, Bits<8>>,
    /// An instruction is executed.
    pub retired: Signal<Out, Bits<8>>,
    /// A handler ends, for the counters.
    pub tasks_ended: Signal<Out, Bits<8>>,
    /// A command is issued, for the counters.
    pub commands: Signal<Out, Bits<8>>,
    /// A packet has been loaded; one HPU at a time.
    pub loaded: Signal<Out, Bits<8>>,
    /// Frame of `loaded`.
    pub loaded_frame: Signal<Out, Bits<16>>,
    /// The first instruction of a handler is fetched.
    pub begun: Signal<Out, Bits<8>>,
    /// Hardware thread of `begun`.
    pub threads_begun: Signal<Out, Bits<8>>,
    /// A handler ends, for the trace.
    pub ended: Signal<Out, Bits<8>>,
    /// A command is issued, for the trace; one HPU at a time.
    pub commanded: Signal<Out, Bits<8>>,
    /// Frames of `begun`, 16 bits per HPU.
    pub frames_begun: Signal<Out, Bits<128>>,
    /// Frames of `ended`, 16 bits per HPU.
    pub frames_ended: Signal<Out, Bits<128>>,
    /// Frame of `commanded`.
    pub commanded_frame: Signal<Out, Bits<16>>,
}

/// A queue of reports that the host reads and drops.
#[bundle(mirror = ReportQueueSink)]
pub struct ReportQueue<T: Synth> {
    /// The oldest report.
    pub payload: Signal<Out, T>,
    /// Reports in the queue.
    pub count: Signal<Out, Bits<8>>,
    /// Drop the oldest report.
    pub pop: Signal<In, Bit>,
}
