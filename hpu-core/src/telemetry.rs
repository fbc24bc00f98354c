//! Counters of the array, and its trace lanes.

use crate::hpu_counter::HpuCounter;
use crate::sum_counter::SumCounter;
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// Counts over all HPUs, as the registers show them.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Tasks ended.
    pub tasks: Bits<32>,
    /// Tasks ended by a fault.
    pub faulted: Bits<32>,
    /// Cycles in handlers, low half.
    pub busy_low: Bits<32>,
    /// High half.
    pub busy_high: Bits<32>,
    /// Instructions, low half.
    pub retired_low: Bits<32>,
    /// High half.
    pub retired_high: Bits<32>,
    /// Commands issued.
    pub commands: Bits<32>,
    /// Fault reports lost.
    pub reports_lost: Bits<32>,
    /// Pieces of text lost.
    pub prints_lost: Bits<32>,
}

/// Adds up what the HPUs do, and puts their trace points on the lanes of the NIC.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in, a bit per HPU: `busy[i]`, `retired[i]`, `tasks_ended[i]`, `commands[i]`; `loaded[i]`, `begun[i]`, `ended[i]`, `commanded[i]` with their frames |
/// | reports | in `faulted`, `report_lost`, `print_lost`: pulses |
/// | registers | out `totals`; `hpu_busy[j]`, `hpu_tasks[j]` of HPU j of the array |
/// | trace | out `trace_valid`, `trace_tags`: registers, 4 lanes per HPU |
///
/// An event is in its count 4 cycles later, on its lane one cycle later.
#[derive(LogicBlock)]
pub struct Telemetry {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// HPUs in a handler.
    pub busy: Vec<Signal<In, Bits<8>>>,
    /// HPUs that execute an instruction.
    pub retired: Vec<Signal<In, Bits<8>>>,
    /// HPUs whose handler ends.
    pub tasks_ended: Vec<Signal<In, Bits<8>>>,
    /// HPUs that issued a command.
    pub commands: Vec<Signal<In, Bits<8>>>,
    /// HPUs whose packet has been loaded; one at a time.
    pub loaded: Vec<Signal<In, Bits<8>>>,
    /// Its frame.
    pub loaded_frame: Vec<Signal<In, Bits<16>>>,
    /// HPUs that fetch the first instruction of a handler.
    pub begun: Vec<Signal<In, Bits<8>>>,
    /// HPUs whose handler ends.
    pub ended: Vec<Signal<In, Bits<8>>>,
    /// HPUs that issued a command.
    pub commanded: Vec<Signal<In, Bits<8>>>,
    /// Frames of `begun`, 16 bits per HPU.
    pub frames_begun: Vec<Signal<In, Bits<128>>>,
    /// Frames of `ended`.
    pub frames_ended: Vec<Signal<In, Bits<128>>>,
    /// Frame of `commanded`; one at a time.
    pub commanded_frame: Vec<Signal<In, Bits<16>>>,
    /// A handler faulted.
    pub faulted: Signal<In, Bit>,
    /// Its report found the queue full.
    pub report_lost: Signal<In, Bit>,
    /// A print did.
    pub print_lost: Signal<In, Bit>,
    /// Counts.
    pub totals: Signal<Out, Totals>,
    /// Cycles in a handler, per HPU.
    pub hpu_busy: Vec<Signal<Out, Bits<32>>>,
    /// Tasks ended, per HPU.
    pub hpu_tasks: Vec<Signal<Out, Bits<32>>>,
    /// Trace lanes of the HPUs.
    pub trace_valid: Signal<Out, Bits<128>>,
    /// Their frames.
    pub trace_tags: Signal<Out, Bits<2048>>,
    hpu_counters: Vec<HpuCounter>,
    task_counter: SumCounter,
    fault_counter: SumCounter,
    busy_counter: SumCounter,
    retired_counter: SumCounter,
    command_counter: SumCounter,
    report_counter: SumCounter,
    print_counter: SumCounter,
    lanes: Reg<Bits<128>>,
    tags: DFF<Bits<2048>>,
    _clusters: usize,
    _hpus: usize,
}

impl Telemetry {
    /// For the array of a NIC.
    pub fn new(config: &Config) -> Self {
        let (clusters, total) = (config.clusters, config.total_hpus());
        Self {
            clock: Default::default(),
            reset: Default::default(),
            busy: (0..clusters).map(|_| Default::default()).collect(),
            retired: (0..clusters).map(|_| Default::default()).collect(),
            tasks_ended: (0..clusters).map(|_| Default::default()).collect(),
            commands: (0..clusters).map(|_| Default::default()).collect(),
            loaded: (0..clusters).map(|_| Default::default()).collect(),
            loaded_frame: (0..clusters).map(|_| Default::default()).collect(),
            begun: (0..clusters).map(|_| Default::default()).collect(),
            ended: (0..clusters).map(|_| Default::default()).collect(),
            commanded: (0..clusters).map(|_| Default::default()).collect(),
            frames_begun: (0..clusters).map(|_| Default::default()).collect(),
            frames_ended: (0..clusters).map(|_| Default::default()).collect(),
            commanded_frame: (0..clusters).map(|_| Default::default()).collect(),
            faulted: Default::default(),
            report_lost: Default::default(),
            print_lost: Default::default(),
            totals: Default::default(),
            hpu_busy: (0..total).map(|_| Default::default()).collect(),
            hpu_tasks: (0..total).map(|_| Default::default()).collect(),
            trace_valid: Default::default(),
            trace_tags: Default::default(),
            hpu_counters: (0..total).map(|_| Default::default()).collect(),
            task_counter: Default::default(),
            fault_counter: Default::default(),
            busy_counter: Default::default(),
            retired_counter: Default::default(),
            command_counter: Default::default(),
            report_counter: Default::default(),
            print_counter: Default::default(),
            lanes: Default::default(),
            tags: Default::default(),
            _clusters: clusters,
            _hpus: config.hpus,
        }
    }
}

impl Logic for Telemetry {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, lanes);
        dffs!(self, clock, tags);
        clocks!(self, clock, reset, hpu_counters, task_counter, fault_counter, busy_counter, retired_counter);
        clocks!(self, clock, reset, command_counter, report_counter, print_counter);

        let mut busy: Bits<32> = bits::<32>(0);
        let mut retired: Bits<32> = bits::<32>(0);
        let mut ended: Bits<32> = bits::<32>(0);
        let mut commands: Bits<32> = bits::<32>(0);
        let mut lanes: Bits<128> = bits::<128>(0);
        let mut tags: Bits<2048> = bits::<2048>(0);
        for c in 0..self._clusters {
            for h in 0..self._hpus {
                let is_busy = self.busy[c].val().get_bit(h);
                let ends = self.tasks_ended[c].val().get_bit(h);
                busy = busy.replace_bit(c * self._hpus + h, is_busy);
                retired = retired.replace_bit(c * self._hpus + h, self.retired[c].val().get_bit(h));
                ended = ended.replace_bit(c * self._hpus + h, ends);
                commands = commands.replace_bit(c * self._hpus + h, self.commands[c].val().get_bit(h));
                self.hpu_counters[c * self._hpus + h].busy.next = is_busy;
                self.hpu_counters[c * self._hpus + h].ended.next = ends;
                self.hpu_busy[c * self._hpus + h].next = self.hpu_counters[c * self._hpus + h].busy_cycles.val();
                self.hpu_tasks[c * self._hpus + h].next = self.hpu_counters[c * self._hpus + h].tasks.val();

                lanes = lanes.replace_bit(4 * (c * self._hpus + h), self.loaded[c].val().get_bit(h));
                lanes = lanes.replace_bit(4 * (c * self._hpus + h) + 1, self.begun[c].val().get_bit(h));
                lanes = lanes.replace_bit(4 * (c * self._hpus + h) + 2, self.ended[c].val().get_bit(h));
                lanes = lanes.replace_bit(4 * (c * self._hpus + h) + 3, self.commanded[c].val().get_bit(h));
                let frames = (
                    self.commanded_frame[c].val(),
                    self.frames_ended[c].val().get_bits::<16>(16 * h),
                    self.frames_begun[c].val().get_bits::<16>(16 * h),
                    self.loaded_frame[c].val(),
                )
                    .cat::<64>();
                tags = tags | (bit_cast::<2048, 64>(frames) << bits::<12>(64 * (c * self._hpus + h) as u64));
            }
        }
        self.lanes.d.next = lanes;
        self.tags.d.next = tags;
        self.trace_valid.next = self.lanes.q.val();
        self.trace_tags.next = self.tags.q.val();

        self.busy_counter.events.next = busy;
        self.retired_counter.events.next = retired;
        self.task_counter.events.next = ended;
        self.command_counter.events.next = commands;
        self.print_counter.events.next = bit_cast::<32, 1>(self.print_lost.val().into());
        self.fault_counter.events.next = bit_cast::<32, 1>(self.faulted.val().into());
        self.report_counter.events.next = bit_cast::<32, 1>(self.report_lost.val().into());
        self.totals.next = Totals {
            tasks: self.task_counter.low.val(),
            faulted: self.fault_counter.low.val(),
            busy_low: self.busy_counter.low.val(),
            busy_high: self.busy_counter.high.val(),
            retired_low: self.retired_counter.low.val(),
            retired_high: self.retired_counter.high.val(),
            commands: self.command_counter.low.val(),
            reports_lost: self.report_counter.low.val(),
            prints_lost: self.print_counter.low.val(),
        };
    }
}
