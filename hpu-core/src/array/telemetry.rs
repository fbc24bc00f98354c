//! Counters of the array, and its trace lanes.

use crate::array::tally::Tally;
use crate::bundles::HpuEventsSink;
use spindle_blocks::replicate;
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// Feeds the [`Tally`] with events of the HPUs, and puts their trace points on the lanes of the NIC.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `events[i]` |
/// | reports | in `faulted`, `report_lost`, `print_lost`: pulses |
/// | registers | out `count_at`, `count`: a counter of the [`Tally`] and its count, the next one in each cycle |
/// | trace | out `trace_valid`, `trace_tags`: registers, 4 lanes per HPU |
/// | | `trace_threads`: a register, the hardware thread with a lane of `handler_start` |
///
/// An event is on its lane one cycle later; for its count see [`Tally`].
#[block]
pub struct Telemetry {
    /// Events of each cluster.
    pub events: Vec<HpuEventsSink>,
    /// A handler faulted.
    pub faulted: Signal<In, Bit>,
    /// A fault report found its queue full.
    pub report_lost: Signal<In, Bit>,
    /// A print found its queue full.
    pub print_lost: Signal<In, Bit>,
    /// Number of a counter.
    pub count_at: Signal<Out, Bits<7>>,
    /// Its count.
    pub count: Signal<Out, Bits<32>>,
    /// Trace lanes of the HPUs.
    pub trace_valid: Signal<Out, Bits<128>>,
    /// Their frames.
    pub trace_tags: Signal<Out, Bits<2048>>,
    /// Hardware thread of the handler that starts, a bit per HPU.
    pub trace_threads: Signal<Out, Bits<32>>,
    tally: Tally,
    lanes: Reg<Bits<128>>,
    tags: DFF<Bits<2048>>,
    threads: DFF<Bits<32>>,
    _clusters: usize,
    _hpus: usize,
}

impl Telemetry {
    /// For the array of a NIC.
    pub fn new(config: &Config) -> Self {
        let (clusters, total) = (config.clusters, config.total_hpus());
        Self {
            events: replicate(clusters),
            tally: Tally::new(total),
            _clusters: clusters,
            _hpus: config.hpus,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Telemetry {
    fn update(&mut self) {
        let mut busy: Bits<32> = bits::<32>(0);
        let mut retired: Bits<32> = bits::<32>(0);
        let mut ended: Bits<32> = bits::<32>(0);
        let mut commands: Bits<32> = bits::<32>(0);
        let mut lanes: Bits<128> = bits::<128>(0);
        let mut tags: Bits<2048> = bits::<2048>(0);
        let mut threads: Bits<32> = bits::<32>(0);
        for c in 0..self._clusters {
            let begun = bit_cast::<32, 8>(self.events[c].threads_begun.val());
            threads = threads | (begun << bits::<5>((c * self._hpus) as u64));
            for h in 0..self._hpus {
                busy = busy.replace_bit(c * self._hpus + h, self.events[c].busy.val().get_bit(h));
                retired = retired.replace_bit(c * self._hpus + h, self.events[c].retired.val().get_bit(h));
                ended = ended.replace_bit(c * self._hpus + h, self.events[c].tasks_ended.val().get_bit(h));
                commands = commands.replace_bit(c * self._hpus + h, self.events[c].commands.val().get_bit(h));

                lanes = lanes.replace_bit(4 * (c * self._hpus + h), self.events[c].loaded.val().get_bit(h));
                lanes = lanes.replace_bit(4 * (c * self._hpus + h) + 1, self.events[c].begun.val().get_bit(h));
                lanes = lanes.replace_bit(4 * (c * self._hpus + h) + 2, self.events[c].ended.val().get_bit(h));
                lanes = lanes.replace_bit(4 * (c * self._hpus + h) + 3, self.events[c].commanded.val().get_bit(h));
                let frames = (
                    self.events[c].commanded_frame.val(),
                    self.events[c].frames_ended.val().get_bits::<16>(16 * h),
                    self.events[c].frames_begun.val().get_bits::<16>(16 * h),
                    self.events[c].loaded_frame.val(),
                )
                    .cat::<64>();
                tags = tags | (bit_cast::<2048, 64>(frames) << bits::<12>(64 * (c * self._hpus + h) as u64));
            }
        }
        self.lanes.d.next = lanes;
        // Frames without a lane do not count.
        self.tags.load(lanes.any(), tags);
        self.trace_valid.next = self.lanes.q.val();
        self.trace_tags.next = self.tags.q.val();
        self.threads.d.next = threads;
        self.trace_threads.next = self.threads.q.val();

        self.tally.busy.next = busy;
        self.tally.retired.next = retired;
        self.tally.ended.next = ended;
        self.tally.commands.next = commands;
        self.tally.faulted.next = self.faulted.val();
        self.tally.report_lost.next = self.report_lost.val();
        self.tally.print_lost.next = self.print_lost.val();
        self.count_at.next = self.tally.at.val();
        self.count.next = self.tally.count.val();
    }
}
