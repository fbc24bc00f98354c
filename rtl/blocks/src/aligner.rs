//! Moves a byte stream from one alignment to another.

use crate::skid::Skid;
use spindle_verilog::prelude::*;

/// What to move.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AlignJob {
    /// Bytes in front of the first wanted byte in the first source beat.
    pub src_offset: Bits<6>,
    /// Byte lane of the first byte in the first output beat.
    pub dst_offset: Bits<6>,
    /// Wanted bytes, 1 to 16384.
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

/// What one step of a job does; a step makes an output beat of one source beat and the one before it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct AlignStep {
    /// Lanes to rotate by, towards higher lanes; lanes below come from the beat before.
    shift: Bits<6>,
    /// Lane of the first byte of the job.
    dst_offset: Bits<6>,
    /// Lane behind the last byte of the job; 0 = the last beat is full.
    end: Bits<6>,
    /// First output beat of the job.
    first: Bit,
    /// Last output beat of the job.
    last: Bit,
    /// The step yields an output beat (not so when the first source beat alone fills none).
    emit: Bit,
}

/// A beat half way through the rotation.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct HalfTurned {
    data: Bits<512>,
    /// What is left of the rotation.
    rest: Bits<2>,
    /// Lanes that come from the beat before.
    older: Bits<64>,
    strobe: Bits<64>,
    last: Bit,
    emit: Bit,
}

/// An output beat.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct AlignedBeat {
    data: Bits<512>,
    strobe: Bits<64>,
    last: Bit,
}

/// Steps through jobs: which source beat is taken when, and what becomes of it.
///
/// Neighbours: jobs in, the handshake of the source, and `step` to the data path, which moves when `go` is high.
#[derive(LogicBlock, Default)]
struct AlignControl {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub job: Signal<In, AlignJob>,
    pub job_valid: Signal<In, Bit>,
    pub job_ready: Signal<Out, Bit>,
    pub source_last: Signal<In, Bit>,
    pub source_valid: Signal<In, Bit>,
    pub source_ready: Signal<Out, Bit>,
    pub go: Signal<In, Bit>,
    pub step: Signal<Out, AlignStep>,
    pub step_valid: Signal<Out, Bit>,
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

impl Logic for AlignControl {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, prepared, running, source_left, steps_left);
        regs!(self, clock, reset, prepared_valid, active, first, fresh, wants, ended, discarding);

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
            self.prepared_valid.d.next = self.job_valid.val();
            self.prepared.d.next = PreparedJob {
                shift: job.dst_offset - job.src_offset,
                drop_first: job.dst_offset < job.src_offset,
                dst_offset: job.dst_offset,
                src_sum: job.length + bit_cast::<15, 6>(job.src_offset),
                dst_sum: job.length + bit_cast::<15, 6>(job.dst_offset),
            };
        }

        self.job_ready.next = job_ready;
        self.source_ready.next = (self.go.val() & self.active.q.val() & wants) | self.discarding.q.val();
        self.step_valid.next = step;
        self.step.next = AlignStep {
            shift: self.running.q.val().shift,
            dst_offset: self.running.q.val().dst_offset,
            end: self.running.q.val().dst_sum.get_bits::<6>(0),
            first: self.first.q.val(),
            last: final_step,
            emit: emit,
        };
    }
}

/// Lanes below `lane`.
#[hdl_fn]
fn lanes_below(lane: Bits<6>) -> Bits<64> {
    !(Bits::<64>::mask() << lane)
}

/// Rotates by 0, 16, 32 or 48 lanes towards higher lanes.
#[hdl_fn]
fn turn_sixteens(data: Bits<512>, by: Bits<2>) -> Bits<512> {
    match by.index() {
        0 => data,
        1 => (data << 128) | (data >> 384),
        2 => (data << 256) | (data >> 256),
        _ => (data << 384) | (data >> 128),
    }
}

/// Rotates by 0, 4, 8 or 12 lanes.
#[hdl_fn]
fn turn_fours(data: Bits<512>, by: Bits<2>) -> Bits<512> {
    match by.index() {
        0 => data,
        1 => (data << 32) | (data >> 480),
        2 => (data << 64) | (data >> 448),
        _ => (data << 96) | (data >> 416),
    }
}

/// Rotates by 0 to 3 lanes.
#[hdl_fn]
fn turn_ones(data: Bits<512>, by: Bits<2>) -> Bits<512> {
    match by.index() {
        0 => data,
        1 => (data << 8) | (data >> 504),
        2 => (data << 16) | (data >> 496),
        _ => (data << 24) | (data >> 488),
    }
}

/// Byte aligner: takes a job and the stream that holds its bytes, gives the bytes aligned to their destination.
///
/// | ports | neighbour |
/// |---|---|
/// | in `job`, `job_valid` / out `job_ready` | who moves data |
/// | in `source_data`, `source_last`, `source_valid` / out `source_ready` | packet buffer or L1: the first beat holds the first byte at `src_offset` |
/// | out `out_data`, `out_strobe`, `out_last`, `out_valid` / in `out_ready` | writer: the first beat carries the first byte in lane `dst_offset` |
///
/// Jobs and source frames correspond one to one, in order. A job takes its source beats up to and including the one with
/// `last`; beats behind the last wanted byte are thrown away, one per cycle. If the source ends early the job still makes
/// all its output beats, with undefined bytes in place of the missing ones.
///
/// Latency: job to first source beat taken 2 cycles (hidden while another job runs); source beat to output beat 2 cycles,
/// counted from the second source beat when `dst_offset` < `src_offset`. One beat per cycle, no bubble between jobs: a job
/// costs its source beats, plus 1 cycle if its last bytes spill over into one more output beat. All outputs towards the
/// writer are registers.
#[derive(LogicBlock, Default)]
pub struct ByteAligner {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// What to move.
    pub job: Signal<In, AlignJob>,
    /// A job is offered.
    pub job_valid: Signal<In, Bit>,
    /// It is taken.
    pub job_ready: Signal<Out, Bit>,
    /// Source bytes.
    pub source_data: Signal<In, Bits<512>>,
    /// Last source beat of the job.
    pub source_last: Signal<In, Bit>,
    /// A beat is offered.
    pub source_valid: Signal<In, Bit>,
    /// It is taken.
    pub source_ready: Signal<Out, Bit>,
    /// Bytes in their lanes; lanes without strobe hold anything.
    pub out_data: Signal<Out, Bits<512>>,
    /// Lanes to write.
    pub out_strobe: Signal<Out, Bits<64>>,
    /// Last beat of the job.
    pub out_last: Signal<Out, Bit>,
    /// A beat is offered.
    pub out_valid: Signal<Out, Bit>,
    /// It is taken.
    pub out_ready: Signal<In, Bit>,
    control: AlignControl,
    turned: DFF<HalfTurned>,
    turned_valid: Reg<Bit>,
    /// The rotated beat of the step before.
    older: DFF<Bits<512>>,
    output: Skid<AlignedBeat>,
}

impl Logic for ByteAligner {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, turned, older);
        regs!(self, clock, reset, turned_valid);
        clocks!(self, clock, reset, control, output);
        // The whole data path moves or stands, by one register.
        let go = self.output.write_ready.val();
        self.control.go.next = go;
        self.control.job.next = self.job.val();
        self.control.job_valid.next = self.job_valid.val();
        self.job_ready.next = self.control.job_ready.val();
        self.control.source_last.next = self.source_last.val();
        self.control.source_valid.next = self.source_valid.val();
        self.source_ready.next = self.control.source_ready.val();

        // First half of the rotation, and the masks.
        let step = self.control.step.val();
        let from = if step.first { !lanes_below(step.dst_offset) } else { Bits::<64>::mask() };
        let upto = if step.last & step.end.any() { lanes_below(step.end) } else { Bits::<64>::mask() };
        if go {
            self.turned_valid.d.next = self.control.step_valid.val();
        }
        if self.control.step_valid.val() {
            self.turned.d.next = HalfTurned {
                data: turn_fours(
                    turn_sixteens(self.source_data.val(), step.shift.get_bits::<2>(4)),
                    step.shift.get_bits::<2>(2),
                ),
                rest: step.shift.get_bits::<2>(0),
                older: lanes_below(step.shift),
                strobe: from & upto,
                last: step.last,
                emit: step.emit,
            };
        }

        // Second half, and the lanes of the step before.
        let turned = self.turned.q.val();
        let mut data: Bits<512> = self.older.q.val();
        if self.turned_valid.q.val() {
            let newer = turn_ones(turned.data, turned.rest);
            let mut mixed: Bits<512> = bits::<512>(0);
            for lane in 0..64 {
                let source = if turned.older.get_bit(lane) {
                    self.older.q.val().get_bits::<8>(8 * lane)
                } else {
                    newer.get_bits::<8>(8 * lane)
                };
                mixed.set_bits::<8>(8 * lane, source);
            }
            data = mixed;
            if go {
                self.older.d.next = newer;
            }
        }
        self.output.write.next = AlignedBeat { data: data, strobe: turned.strobe, last: turned.last };
        self.output.write_valid.next = self.turned_valid.q.val() & turned.emit;

        self.output.read_ready.next = self.out_ready.val();
        self.out_data.next = self.output.read.val().data;
        self.out_strobe.next = self.output.read.val().strobe;
        self.out_last.next = self.output.read.val().last;
        self.out_valid.next = self.output.read_valid.val();
    }
}
