//! What each HPU has counted for itself, in LUT RAM.

use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// HPUs at most.
const HPUS: usize = 32;

/// Cycles in a handler and tasks ended of each HPU, modulo 2^32.
///
/// | ports | neighbour |
/// |---|---|
/// | in `busy`, `ended`: a bit per HPU | clusters |
/// | in `asks`, `index`: {tasks ended, HPU} / out `count`: one cycle later, a register | registers |
///
/// Two counters of 32 bits for each of 16 HPUs would be 1,024 LUT6 to count and 352 to choose one. Here the counts are in one memory, and what
/// happened since a count was last visited is counted beside it in 7 bits. One count is visited per cycle, of 64: an event is in its count 65 cycles later at the most, if nobody asks.
/// A cycle with `asks` visits nothing; it must not be asked in more than every third cycle, so that 7 bits are enough.
/// For 64 cycles after a reset all counts are 0.
#[derive(LogicBlock)]
pub struct HpuCounters {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// HPUs in a handler.
    pub busy: Signal<In, Bits<32>>,
    /// HPUs whose handler ends.
    pub ended: Signal<In, Bits<32>>,
    /// A count is wanted.
    pub asks: Signal<In, Bit>,
    /// Which.
    pub index: Signal<In, Bits<6>>,
    /// It.
    pub count: Signal<Out, Bits<32>>,
    counts: LutMemory<Bits<32>, 6>,
    /// Events since the last visit.
    recent: Vec<Reg<Bits<7>>>,
    /// Which is visited: its recent events are taken.
    slot: Reg<Bits<6>>,
    /// All have been visited since the reset.
    round: Reg<Bit>,
    // Its count is read,
    at: Reg<Bits<6>>,
    events: Reg<Bits<7>>,
    happened: Reg<Bit>,
    counted: Reg<Bit>,
    // and written.
    write: Reg<Bit>,
    write_at: DFF<Bits<6>>,
    more: DFF<Bits<7>>,
    one_more: DFF<Bit>,
    old: DFF<Bits<32>>,
    _hpus: usize,
}

impl HpuCounters {
    /// For `hpus` HPUs, 32 at most.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=HPUS).contains(&hpus), "HpuCounters: 1 to {HPUS} HPUs, not {hpus}");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            busy: Default::default(),
            ended: Default::default(),
            asks: Default::default(),
            index: Default::default(),
            count: Default::default(),
            counts: Default::default(),
            recent: (0..2 * hpus).map(|_| Default::default()).collect(),
            slot: Default::default(),
            round: Default::default(),
            at: Default::default(),
            events: Default::default(),
            happened: Default::default(),
            counted: Default::default(),
            write: Default::default(),
            write_at: Default::default(),
            more: Default::default(),
            one_more: Default::default(),
            old: Default::default(),
            _hpus: hpus,
        }
    }
}

impl Logic for HpuCounters {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, recent, slot, round, at, events, happened, counted, write);
        dffs!(self, clock, write_at, more, one_more, old);
        self.counts.clock.next = self.clock.val();
        let asks = self.asks.val();
        let visits = !asks;

        // The recent events of one count are taken, with that of this cycle; those of the others grow.
        let slot = self.slot.q.val();
        let mut taken: Bits<7> = bits::<7>(0);
        let mut now: Bit = false;
        for i in 0..self._hpus {
            for kind in 0..2 {
                let here = slot == bits::<6>((HPUS * kind + i) as u64);
                let recent = self.recent[2 * i + kind].q.val();
                let happens = if kind == 0 { self.busy.val().get_bit(i) } else { self.ended.val().get_bit(i) };
                taken = taken | (recent & repeat::<7>(here));
                now = now | (happens & here);
                if here & visits {
                    self.recent[2 * i + kind].d.next = bits::<7>(0);
                } else if happens {
                    self.recent[2 * i + kind].d.next = recent + 1;
                }
            }
        }
        if visits {
            self.slot.d.next = slot + 1;
            self.round.d.next = self.round.q.val() | slot.all();
            self.at.d.next = slot;
            self.events.d.next = taken;
            self.happened.d.next = now;
            self.counted.d.next = self.round.q.val();
        }

        // The count is read. What stood in the memory before the reset is none.
        self.counts.read_address.next = if asks { self.index.val() } else { self.at.q.val() };
        self.old.d.next = self.counts.read_data.val() & repeat::<32>(self.counted.q.val());
        self.more.d.next = self.events.q.val();
        self.one_more.d.next = self.happened.q.val();
        self.write_at.d.next = self.at.q.val();
        self.write.d.next = visits;
        self.count.next = self.old.q.val();

        // It is written.
        self.counts.write_enable.next = self.write.q.val();
        self.counts.write_address.next = self.write_at.q.val();
        self.counts.write_data.next =
            (self.old.q.val() + bit_cast::<32, 7>(self.more.q.val())) + bit_cast::<32, 1>(self.one_more.q.val().into());
    }
}
