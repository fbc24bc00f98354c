//! The counters of the array: small ones beside their sources, whole ones in one memory.

use spindle_blocks::{replicate, CountMemory};
use spindle_verilog::prelude::*;

/// Groups of counters: cycles in a handler by HPU, tasks by HPU, and all others.
pub const BUSY: usize = 0;
/// Tasks ended, by HPU.
pub const TASKS: usize = 1;
/// Counts over all HPUs, the numbers below.
pub const TOTALS: usize = 2;
/// Tasks ended.
pub const TOTAL_TASKS: usize = 0;
/// Cycles in handlers, low half; the high half follows.
pub const TOTAL_BUSY: usize = 2;
/// Instructions, low half; the high half follows.
pub const TOTAL_RETIRED: usize = 4;
/// Commands issued.
pub const TOTAL_COMMANDS: usize = 6;
/// Tasks ended by a fault; the first of three that count pulses.
pub const TOTAL_FAULTED: usize = 7;
/// Fault reports lost.
pub const TOTAL_REPORTS_LOST: usize = 8;
/// Pieces of text lost.
pub const TOTAL_PRINTS_LOST: usize = 9;

/// Address bits within a group, of an array with so many HPUs: for all of them, and for the totals.
pub const fn group_bits(hpus: usize) -> usize {
    if hpus <= 16 {
        4
    } else {
        5
    }
}

/// Sources of many events at once.
const SUMS: usize = 4;

/// Counts for each counter of a [`CountMemory`] the events between two visits.
///
/// | neighbour | ports |
/// |---|---|
/// | telemetry | in `busy`, `ended`, `retired`, `commands`: a bit per HPU; in `faulted`, `report_lost`, `print_lost`: pulses |
/// | registers | out `at`, `count`: the counter that was visited (group above, number below), and its count |
///
/// A round takes 48 cycles, 96 with more than 16 HPUs. A count includes every event up to 4 cycles before, of several
/// HPUs up to 6. Counts wrap at 2^32; a high half counts the wraps of its low half.
#[block]
pub struct Tally {
    /// HPUs in a handler.
    pub busy: Signal<In, Bits<32>>,
    /// HPUs whose handler ends.
    pub ended: Signal<In, Bits<32>>,
    /// HPUs that execute an instruction.
    pub retired: Signal<In, Bits<32>>,
    /// HPUs that issued a command.
    pub commands: Signal<In, Bits<32>>,
    /// A handler faulted.
    pub faulted: Signal<In, Bit>,
    /// A fault report found its queue full.
    pub report_lost: Signal<In, Bit>,
    /// A print found its queue full.
    pub print_lost: Signal<In, Bit>,
    /// Number of a counter.
    pub at: Signal<Out, Bits<7>>,
    /// Its count.
    pub count: Signal<Out, Bits<32>>,
    /// Events since the last visit, of each source with one event per cycle at most.
    busy_counts: Vec<Reg<Bits<7>>>,
    task_counts: Vec<Reg<Bits<7>>>,
    pulse_counts: [Reg<Bits<7>>; 3],
    /// Of sources with several events per cycle: the events, their number, its sum since the last visit.
    seen: [Reg<Bits<32>>; SUMS],
    ones: [Reg<Bits<6>>; SUMS],
    sums: [Reg<Bits<12>>; SUMS],
    memory: CountMemory,
    _hpus: usize,
    _group: usize,
    _start: u64,
}

impl Tally {
    /// For an array of so many HPUs.
    pub fn new(hpus: usize) -> Self {
        Self::starting_at(hpus, 0)
    }

    /// With another count to start from: near the end of 32 bits the wrapping is soon seen.
    pub fn starting_at(hpus: usize, start: u32) -> Self {
        assert!((1..=32).contains(&hpus), "Tally: {hpus} HPUs cannot be counted; choose 1 to 32");
        let group = 1 << group_bits(hpus);
        Self {
            busy_counts: replicate(hpus),
            task_counts: replicate(hpus),
            memory: CountMemory::new(3 * group),
            _hpus: hpus,
            _group: group,
            _start: start.into(),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Tally {
    fn update(&mut self) {
        self.memory.last.next = bits::<7>(3 * self._group as u64 - 1);
        self.memory.start.next = bits::<32>(self._start);

        // The visit: the count of the source is taken, and restarts with the event of this cycle.
        let visited = self.memory.visited.val();
        let mut more: Bits<12> = bits::<12>(0);
        for i in 0..self._hpus {
            let busy = self.busy.val().get_bit(i);
            let busy_count = self.busy_counts[i].q.val();
            if visited == bits::<7>((BUSY * self._group + i) as u64) {
                more = more | bit_cast::<12, 7>(busy_count);
                self.busy_counts[i].d.next = bit_cast::<7, 1>(busy.into());
            } else if busy {
                self.busy_counts[i].d.next = busy_count + 1;
            }
            let ends = self.ended.val().get_bit(i);
            let task_count = self.task_counts[i].q.val();
            if visited == bits::<7>((TASKS * self._group + i) as u64) {
                more = more | bit_cast::<12, 7>(task_count);
                self.task_counts[i].d.next = bit_cast::<7, 1>(ends.into());
            } else if ends {
                self.task_counts[i].d.next = task_count + 1;
            }
        }
        let pulses = (self.print_lost.val(), self.report_lost.val(), self.faulted.val()).cat::<3>();
        for i in 0..3 {
            let pulse_count = self.pulse_counts[i].q.val();
            if visited == bits::<7>((TOTALS * self._group + TOTAL_FAULTED + i) as u64) {
                more = more | bit_cast::<12, 7>(pulse_count);
                self.pulse_counts[i].d.next = bit_cast::<7, 1>(pulses.get_bit(i).into());
            } else if pulses.get_bit(i) {
                self.pulse_counts[i].d.next = pulse_count + 1;
            }
        }
        // The numbers of the four sums are 0, 2, 4 and 6.
        self.seen[0].d.next = self.ended.val();
        self.seen[1].d.next = self.busy.val();
        self.seen[2].d.next = self.retired.val();
        self.seen[3].d.next = self.commands.val();
        for i in 0..SUMS {
            self.ones[i].d.next = count_ones(self.seen[i].q.val());
            let mut base: Bits<12> = self.sums[i].q.val();
            if visited == bits::<7>((TOTALS * self._group + 2 * i) as u64) {
                more = more | base;
                base = bits::<12>(0);
            }
            self.sums[i].d.next = base + bit_cast::<12, 6>(self.ones[i].q.val());
        }
        self.memory.more.next = bit_cast::<32, 12>(more);
        self.memory.is_low.next = (visited == bits::<7>((TOTALS * self._group + TOTAL_BUSY) as u64))
            | (visited == bits::<7>((TOTALS * self._group + TOTAL_RETIRED) as u64));
        self.at.next = self.memory.at.val();
        self.count.next = self.memory.count.val();
    }
}
