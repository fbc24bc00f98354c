//! Counters of the array, and its trace lanes.

use crate::hpu_counters::HpuCounters;
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
/// | registers | out `totals`; in `hpu_asks`, `hpu_index` / out `hpu_count`: a count of one HPU, as [`HpuCounters`] has it |
/// | trace | out `trace_valid`, `trace_tags`: registers, 4 lanes per HPU |
///
/// An event is in its sum 4 cycles later at the most, on its lane one cycle later; in the count of its HPU within 65.
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
    /// A count of one HPU is wanted.
    pub hpu_asks: Signal<In, Bit>,
    /// Which: {tasks ended, HPU}.
    pub hpu_index: Signal<In, Bits<6>>,
    /// It, one cycle later.
    pub hpu_count: Signal<Out, Bits<32>>,
    /// Trace lanes of the HPUs.
    pub trace_valid: Signal<Out, Bits<128>>,
    /// Their frames.
    pub trace_tags: Signal<Out, Bits<2048>>,
    hpu_counters: HpuCounters,
    task_counter: SumCounter,
    busy_counter: SumCounter,
    retired_counter: SumCounter,
    command_counter: SumCounter,
    faults: Reg<Bits<32>>,
    reports_lost: Reg<Bits<32>>,
    prints_lost: Reg<Bits<32>>,
    lanes: Reg<Bits<128>>,
    tags: DFF<Bits<2048>>,
    _clusters: usize,
    _hpus: usize,
}

impl Telemetry {
    /// For the array of a NIC.
    pub fn new(config: &Config) -> Self {
        let clusters = config.clusters;
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
            hpu_asks: Default::default(),
            hpu_index: Default::default(),
            hpu_count: Default::default(),
            trace_valid: Default::default(),
            trace_tags: Default::default(),
            hpu_counters: HpuCounters::new(config.total_hpus()),
            task_counter: Default::default(),
            busy_counter: Default::default(),
            retired_counter: Default::default(),
            command_counter: Default::default(),
            faults: Default::default(),
            reports_lost: Default::default(),
            prints_lost: Default::default(),
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
        regs!(self, clock, reset, lanes, faults, reports_lost, prints_lost);
        dffs!(self, clock, tags);
        clocks!(self, clock, reset, hpu_counters, task_counter, busy_counter, retired_counter, command_counter);

        let mut busy: Bits<32> = bits::<32>(0);
        let mut retired: Bits<32> = bits::<32>(0);
        let mut ended: Bits<32> = bits::<32>(0);
        let mut commands: Bits<32> = bits::<32>(0);
        let mut lanes: Bits<128> = bits::<128>(0);
        let mut tags: Bits<2048> = bits::<2048>(0);
        for c in 0..self._clusters {
            for h in 0..self._hpus {
                busy = busy.replace_bit(c * self._hpus + h, self.busy[c].val().get_bit(h));
                retired = retired.replace_bit(c * self._hpus + h, self.retired[c].val().get_bit(h));
                ended = ended.replace_bit(c * self._hpus + h, self.tasks_ended[c].val().get_bit(h));
                commands = commands.replace_bit(c * self._hpus + h, self.commands[c].val().get_bit(h));

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
        // Frames without a lane mean nothing.
        if lanes.any() {
            self.tags.d.next = tags;
        }
        self.trace_valid.next = self.lanes.q.val();
        self.trace_tags.next = self.tags.q.val();

        self.busy_counter.events.next = busy;
        self.retired_counter.events.next = retired;
        self.task_counter.events.next = ended;
        self.command_counter.events.next = commands;
        self.hpu_counters.busy.next = busy;
        self.hpu_counters.ended.next = ended;
        self.hpu_counters.asks.next = self.hpu_asks.val();
        self.hpu_counters.index.next = self.hpu_index.val();
        self.hpu_count.next = self.hpu_counters.count.val();
        if self.faulted.val() {
            self.faults.d.next = self.faults.q.val() + 1;
        }
        if self.report_lost.val() {
            self.reports_lost.d.next = self.reports_lost.q.val() + 1;
        }
        if self.print_lost.val() {
            self.prints_lost.d.next = self.prints_lost.q.val() + 1;
        }
        self.totals.next = Totals {
            tasks: self.task_counter.low.val(),
            faulted: self.faults.q.val(),
            busy_low: self.busy_counter.low.val(),
            busy_high: self.busy_counter.high.val(),
            retired_low: self.retired_counter.low.val(),
            retired_high: self.retired_counter.high.val(),
            commands: self.command_counter.low.val(),
            reports_lost: self.reports_lost.q.val(),
            prints_lost: self.prints_lost.q.val(),
        };
    }
}
