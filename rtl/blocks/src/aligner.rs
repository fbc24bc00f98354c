//! Moves a byte stream from one alignment to another.

use crate::bundles::BeatSink;
use crate::fifo::Fifo;
use spindle_verilog::prelude::*;

/// A job of the aligner.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AlignJob {
    /// Bytes in front of the first byte of the job in the first source beat.
    pub src_offset: Bits<6>,
    /// Byte lane of the first byte in the first output beat.
    pub dst_offset: Bits<6>,
    /// Bytes of the job, 1 to 16384.
    pub length: Bits<15>,
}

/// A job that waits, with its sums and differences.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct PreparedJob {
    shift: Bits<6>,
    drop_first: Bit,
    dst_offset: Bits<6>,
    src_sum: Bits<15>,
    dst_sum: Bits<15>,
}

/// A step of a job: it makes an output beat of one source beat and the one before it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct AlignStep {
    /// Lanes to rotate by, towards higher lanes; lanes below come from the beat before.
    shift: Bits<6>,
    /// Lane of the first byte of the job.
    dst_offset: Bits<6>,
    /// Lane after the last byte of the job; 0 = the last beat is full.
    end: Bits<6>,
    /// First output beat of the job.
    first: Bit,
    /// Last output beat of the job.
    last: Bit,
    /// The step yields an output beat (not so when the first source beat alone fills none).
    emit: Bit,
}

/// A beat half way down the funnel.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct HalfTurned {
    data: Bits<536>,
    /// Lanes left to go down.
    rest: Bits<2>,
    strobe: Bits<64>,
    last: Bit,
    emit: Bit,
}

/// An output beat.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AlignedBeat {
    /// Bytes in their lanes; lanes without strobe hold anything.
    pub data: Bits<512>,
    /// Lanes to write.
    pub strobe: Bits<64>,
    /// Last beat of the job.
    pub last: Bit,
}

/// Steps through jobs: takes source beats, and controls the data path.
///
/// Neighbours: jobs in, the handshake of the source, and `step` to the data path, which moves when `go` is high.
#[block]
struct AlignControl {
    pub job: Sink<AlignJob>,
    pub source_last: Signal<In, Bit>,
    pub source_valid: Signal<In, Bit>,
    pub source_ready: Signal<Out, Bit>,
    pub go: Signal<In, Bit>,
    pub step: Pulse<AlignStep>,
    prepared: DFF<PreparedJob>,
    prepared_valid: Reg<Bit>,
    running: DFF<PreparedJob>,
    /// Source beats to take after the next one.
    source_left: DFF<Bits<9>>,
    /// Steps to make after the next one.
    steps_left: DFF<Bits<9>>,
    active: Reg<Bit>,
    /// No output beat was made yet.
    first: Reg<Bit>,
    /// No step was made yet.
    fresh: Reg<Bit>,
    /// The next step takes a source beat.
    wants: Reg<Bit>,
    /// The source has shown `last`.
    ended: Reg<Bit>,
    /// All steps are made, the source has not shown `last` yet.
    discarding: Reg<Bit>,
}

#[hdl]
impl AlignControl {
    fn update(&mut self) {
        let wants = self.wants.q.val();
        let step = self.go.val() & self.active.q.val() & (self.source_valid.val() | !wants);
        let source_done = self.ended.q.val() | (wants & self.source_last.val());
        let final_step = !self.steps_left.q.val().any();
        let emit = !(self.fresh.q.val() & self.running.q.val().drop_first);
        let drained = self.discarding.q.val() & self.source_valid.val() & self.source_last.val();
        let idle = !self.active.q.val() & !self.discarding.q.val();
        let load = idle | drained | (step & final_step & source_done);

        if step {
            self.steps_left.d.next = self.steps_left.q.val() - 1;
            self.fresh.d.next = false;
            self.first.d.next = self.first.q.val() & !emit;
            self.ended.d.next = source_done;
            self.active.d.next = !final_step;
            self.discarding.d.next = final_step & !source_done;
            if wants {
                self.source_left.d.next = self.source_left.q.val() - 1;
                self.wants.d.next = self.source_left.q.val().any() & !self.source_last.val();
            }
        }
        let next = self.prepared.q.val();
        if load {
            self.running.d.next = next;
            self.active.d.next = self.prepared_valid.q.val();
            self.first.d.next = true;
            self.fresh.d.next = true;
            self.wants.d.next = true;
            self.ended.d.next = false;
            self.discarding.d.next = false;
            // Beats minus one, and one step more when the first is dropped: (sum - 1 + 64 * drop_first) / 64.
            self.source_left.d.next = (next.src_sum - 1).get_bits::<9>(6);
            let bias = if next.drop_first { bits::<15>(63) } else { bits::<15>(0x7FFF) };
            self.steps_left.d.next = (next.dst_sum + bias).get_bits::<9>(6);
        }

        let job = self.job.val();
        let job_ready = load | !self.prepared_valid.q.val();
        if job_ready {
            self.prepared_valid.d.next = self.job.valid.val();
            self.prepared.d.next = PreparedJob {
                shift: job.dst_offset - job.src_offset,
                drop_first: job.dst_offset < job.src_offset,
                dst_offset: job.dst_offset,
                src_sum: job.length + bit_cast::<15, 6>(job.src_offset),
                dst_sum: job.length + bit_cast::<15, 6>(job.dst_offset),
            };
        }

        self.job.ready.next = job_ready;
        self.source_ready.next = (self.go.val() & self.active.q.val() & wants) | self.discarding.q.val();
        self.step.valid.next = step;
        self.step.next = AlignStep {
            shift: self.running.q.val().shift,
            dst_offset: self.running.q.val().dst_offset,
            end: self.running.q.val().dst_sum.get_bits::<6>(0),
            first: self.first.q.val(),
            last: final_step,
            emit,
        };
    }
}

/// Lanes below `lane`.
#[hdl_fn]
fn lanes_below(lane: Bits<6>) -> Bits<64> {
    !(Bits::<64>::mask() << lane)
}

/// Lanes `by` * 16 and up of 127.
#[hdl_fn]
fn down_sixteens(lanes: Bits<1016>, by: Bits<2>) -> Bits<632> {
    select(
        by,
        [lanes.get_bits::<632>(0), lanes.get_bits::<632>(128), lanes.get_bits::<632>(256), lanes.get_bits::<632>(384)],
    )
}

/// Lanes `by` * 4 and up of 79.
#[hdl_fn]
fn down_fours(lanes: Bits<632>, by: Bits<2>) -> Bits<536> {
    select(
        by,
        [lanes.get_bits::<536>(0), lanes.get_bits::<536>(32), lanes.get_bits::<536>(64), lanes.get_bits::<536>(96)],
    )
}

/// Lanes `by` and up of 67.
#[hdl_fn]
pub fn down_ones(lanes: Bits<536>, by: Bits<2>) -> Bits<512> {
    select(
        by,
        [lanes.get_bits::<512>(0), lanes.get_bits::<512>(8), lanes.get_bits::<512>(16), lanes.get_bits::<512>(24)],
    )
}

/// Lanes `down` and up of 127, down to a rest of `down[1:0]` that is left to [`down_ones`]: the first two of three steps to 64
/// neighbouring lanes.
#[hdl_fn]
pub fn down_to_ones(lanes: Bits<1016>, down: Bits<6>) -> Bits<536> {
    down_fours(down_sixteens(lanes, down.get_bits::<2>(4)), down.get_bits::<2>(2))
}

/// Funnel: the aligner without an output buffer, for a sink that knows a cycle ahead whether it takes a beat.
///
/// | ports | neighbour |
/// |---|---|
/// | in `job`, `job_valid` / out `job_ready` | user |
/// | in `source_data`, `source_last`, `source_valid` / out `source_ready` | source: the first beat holds the first byte at `src_offset` |
/// | in `go`, from a register; out `beat`, `beat_valid` | sink: takes the beat while `go` is high, else it stays |
///
/// Jobs are as of [`ByteAligner`]. A source beat and the one before it lie side by side, 127 lanes of which can be
/// needed; three steps take 64 neighbouring ones. Two of the steps lie in front of a register, one after it. Latency:
/// source beat to `beat` 1 cycle, counted from the second source beat when `dst_offset` < `src_offset`.
#[block]
pub struct Funnel {
    /// The job.
    pub job: Sink<AlignJob>,
    /// Source bytes.
    pub source_data: BeatSink,
    /// The whole data path moves.
    pub go: Signal<In, Bit>,
    /// Beat for the sink.
    pub beat: Pulse<AlignedBeat>,
    control: AlignControl,
    /// The source beat of the step before.
    older: DFF<Bits<512>>,
    turned: DFF<HalfTurned>,
    turned_valid: Reg<Bit>,
}

#[hdl]
impl Funnel {
    fn update(&mut self) {
        let go = self.go.val();
        self.control.go.next = go;
        self.job.join(&mut self.control.job);
        self.control.source_last.next = self.source_data.last.val();
        self.control.source_valid.next = self.source_data.valid.val();
        self.source_data.ready.next = self.control.source_ready.val();

        // A beat that is not turned is 64 lanes down: one is gone in front of the first step.
        let step = self.control.step.val();
        let from = if step.first { !lanes_below(step.dst_offset) } else { Bits::<64>::mask() };
        let upto = if step.last & step.end.any() { lanes_below(step.end) } else { Bits::<64>::mask() };
        let down = !step.shift;
        self.turned_valid.load(go, self.control.step.valid.val());
        if self.control.step.valid.val() {
            let lanes = (self.source_data.val(), self.older.q.val().get_bits::<504>(8)).cat::<1016>();
            self.older.d.next = self.source_data.val();
            self.turned.d.next = HalfTurned {
                data: down_to_ones(lanes, down),
                rest: down.get_bits::<2>(0),
                strobe: from & upto,
                last: step.last,
                emit: step.emit,
            };
        }

        let turned = self.turned.q.val();
        let data = down_ones(turned.data, turned.rest);
        self.beat.next = AlignedBeat { data, strobe: turned.strobe, last: turned.last };
        self.beat.valid.next = self.turned_valid.q.val() & turned.emit;
    }
}

/// Address bits of the buffer after the funnel.
const BUFFER_BITS: usize = 2;

/// Byte aligner: takes a job and the stream that holds its bytes, delivers the bytes aligned to their destination.
///
/// | ports | neighbour |
/// |---|---|
/// | in `job`, `job_valid` / out `job_ready` | user |
/// | in `source_data`, a bundle | packet buffer or L1: the first beat holds the first byte at `src_offset` |
/// | out `out_data`, `out_strobe`, `out_last`, `out_valid` / in `out_ready` | writer: first byte in lane `dst_offset` of the first beat |
///
/// Jobs and source frames correspond one to one, in order. A job takes its source beats up to and including the one
/// with `last`; beats after the last byte of the job are dropped, one per cycle. If the source ends early the job
/// still makes all its output beats, with undefined bytes in place of the missing ones.
///
/// Latency: job to first source beat taken 2 cycles (hidden while another job runs); source beat to output beat 2
/// cycles, counted from the second source beat when `dst_offset` < `src_offset`. One beat per cycle, no bubble between
/// jobs: a job costs its source beats, plus 1 cycle if its last bytes spill over into one more output beat. `out_valid`
/// comes from a register, the beat from a LUT RAM of four, which costs less than registers with a spare.
#[block]
pub struct ByteAligner {
    /// The job.
    pub job: Sink<AlignJob>,
    /// Source bytes.
    pub source_data: BeatSink,
    /// Bytes in their lanes; lanes without strobe hold anything.
    pub out_data: Signal<Out, Bits<512>>,
    /// Lanes to write.
    pub out_strobe: Signal<Out, Bits<64>>,
    /// Last beat of the job.
    pub out_last: Signal<Out, Bit>,
    /// A beat is offered.
    pub out_valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub out_ready: Signal<In, Bit>,
    funnel: Funnel,
    output: Fifo<AlignedBeat, BUFFER_BITS>,
}

#[hdl]
impl ByteAligner {
    fn update(&mut self) {
        self.job.join(&mut self.funnel.job);
        self.source_data.join(&mut self.funnel.source_data);
        self.funnel.go.next = self.output.write.ready.val();
        self.output.write.offer(self.funnel.beat.valid.val(), self.funnel.beat.val());
        self.output.read.ready.next = self.out_ready.val();
        self.out_data.next = self.output.read.val().data;
        self.out_strobe.next = self.output.read.val().strobe;
        self.out_last.next = self.output.read.val().last;
        self.out_valid.next = self.output.read.valid.val();
    }
}
