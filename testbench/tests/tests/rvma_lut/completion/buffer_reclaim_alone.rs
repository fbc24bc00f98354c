//! The buffer reclaim alone: the order of its steps for INC_EPOCH and CLOSE, and the fence, while packets come and go.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::completion::buffer_reclaim::BufferReclaim;
use rvma_lut::types::{EpochReply, QUEUE_CUT, QUEUE_END, QUEUE_INIT};
use spindle_harness::{run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;

/// Most packets under way: those of a packet buffer of 2,048 cells.
const MOST: u32 = 2048;
/// Cycles from the last end of an old packet to the query.
const FENCE: u64 = 2;
/// Cycles of a fence at least: the ends of packets are counted two cycles late.
const LEAST: u64 = 3;

struct Bench {
    dut: Dut<BufferReclaim>,
    rng: ChaCha8Rng,
    /// Packets of each phase that have not ended.
    under_way: [u32; 2],
    /// Cycle in which the last packet of each phase ended.
    ended: [u64; 2],
    /// Percent of the cycles in which a packet enters, is refused, is acknowledged.
    pace: [u32; 3],
}

/// Requests of the block to its neighbours in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Asked {
    sweep: bool,
    queue: Option<(u64, u64)>,
    query: bool,
    done: bool,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, BufferReclaim::default(), "buffer_reclaim");
        for signal in [&dut.taken, &dut.swept, &dut.refused, &dut.acked, &dut.queue_done] {
            signal.set(false);
        }
        dut.reclaim.valid.set(false);
        dut.reply.valid.set(false);
        dut.reset();
        Bench { dut, rng: wave.rng(), under_way: [0; 2], ended: [0; 2], pace: [50, 30, 30] }
    }

    /// Evaluates a cycle in which packets come and go.
    fn asked(&mut self) -> Asked {
        let phase = usize::from(self.dut.fence_phase.is_high());
        let mut chance = |percent| self.rng.random_range(0..100) < percent;
        let [enters, refuses, acks] = self.pace.map(&mut chance);
        let enters = enters && self.under_way.iter().sum::<u32>() < MOST;
        let mut left = self.under_way;
        let mut ends = |wanted: bool, rng: &mut ChaCha8Rng| {
            let of = usize::from(rng.random::<bool>());
            let of = if left[of] > 0 { of } else { 1 - of };
            let ends = wanted && left[of] > 0;
            left[of] -= u32::from(ends);
            (ends, of)
        };
        let (refused, acked) = (ends(refuses, &mut self.rng), ends(acks, &mut self.rng));
        for ((ended, left), before) in self.ended.iter_mut().zip(left).zip(self.under_way) {
            if left < before && left == 0 {
                *ended = self.dut.cycle();
            }
        }
        self.dut.taken.set(enters);
        self.dut.refused.set(refused.0);
        self.dut.refused_phase.set(if refused.0 { refused.1 == 1 } else { self.rng.random() });
        self.dut.acked.set(acked.0);
        self.dut.acked_phase.set(if acked.0 { acked.1 == 1 } else { self.rng.random() });
        left[phase] += u32::from(enters);
        self.under_way = left;
        self.look()
    }

    fn look(&self) -> Asked {
        self.dut.eval();
        let queue = self.dut.queue_valid.is_high();
        Asked {
            sweep: self.dut.sweep.is_high(),
            queue: queue.then(|| (self.dut.queue_op.get().to_u64(), self.dut.queue_slot.get().to_u64())),
            query: self.dut.query_valid.is_high(),
            done: self.dut.reclaim.done.is_high(),
        }
    }

    /// Passes cycles, in each of which exactly this is asked.
    fn hold(&mut self, cycles: u64, what: Asked) {
        for _ in 0..cycles {
            let found = self.asked();
            assert_eq!(found, what, "cycle {}", self.dut.cycle());
            self.dut.tick();
        }
    }

    /// Answers a query after a random time; returns whether the command is done with it.
    fn answer(&mut self, reply: EpochReply) -> bool {
        let wait = self.rng.random_range(0..6);
        self.hold(wait, Asked { query: true, ..Asked::default() });
        self.dut.reply.valid.set(true);
        self.dut.reply.payload.set(reply);
        let found = self.asked();
        assert_eq!(Asked { done: false, ..found }, Asked::default(), "cycle {}", self.dut.cycle());
        self.dut.tick();
        self.dut.reply.valid.set(false);
        found.done
    }

    fn sweep(&mut self, slot: Option<u64>) {
        let what = Asked { sweep: true, ..Asked::default() };
        let wait = self.rng.random_range(0..20);
        self.hold(wait, what);
        if let Some(slot) = slot {
            assert_eq!(self.dut.sweep_slot.get().to_u64(), slot);
        }
        self.dut.swept.set(true);
        self.hold(1, what);
        self.dut.swept.set(false);
    }

    /// A change of the queue.
    fn queue(&mut self, sweep: bool, op: u64, slot: Option<u64>) {
        let slot = slot.unwrap_or_else(|| self.dut.queue_slot.get().to_u64());
        let what = Asked { sweep, queue: Some((op, slot)), ..Asked::default() };
        let wait = self.rng.random_range(0..9);
        self.hold(wait, what);
        self.dut.queue_done.set(true);
        self.hold(1, what);
        self.dut.queue_done.set(false);
    }

    /// The fence: nothing is asked until the packets of the old phase have ended.
    fn fence(&mut self, old: usize) {
        let begin = self.dut.cycle();
        assert_eq!(self.dut.fence_phase.is_high(), old == 0, "cycle {begin}: the phase toggles");
        loop {
            let left = self.under_way[old];
            let found = self.asked();
            if found.query {
                assert_eq!(left, 0, "cycle {}: packets of phase {old} are under way", self.dut.cycle());
                break;
            }
            assert_eq!(found, Asked::default(), "cycle {}", self.dut.cycle());
            assert!(self.dut.cycle() < begin + 40_000, "the fence does not end");
            self.dut.tick();
        }
        // The query is asked in the present cycle, in which packets have moved.
        let expected = (begin + LEAST).max(self.ended[old] + FENCE + 1);
        assert_eq!(self.dut.cycle(), expected, "a fence since {begin}, whose last packet ended in {}", self.ended[old]);
        self.dut.tick();
    }

    fn reply(&mut self, ok: bool, slot: u64, epoch: u64) -> EpochReply {
        // The upper bits of the value are no part of the epoch.
        let value = self.rng.random::<u64>() << 16 | epoch;
        EpochReply { ok, slot: bits(slot), value: bits(value & u64::from(u32::MAX)), ..EpochReply::default() }
    }

    fn begin(&mut self, closes: bool) {
        let wait = self.rng.random_range(0..50);
        self.hold(wait, Asked::default());
        self.dut.reclaim.closes.set(closes);
        self.dut.reclaim.valid.set(true);
        self.hold(1, Asked::default());
    }

    fn ends(&mut self, done: bool, found: bool) {
        assert!(done, "cycle {}: the command is not done", self.dut.cycle());
        self.dut.reclaim.valid.set(false);
        assert_eq!(self.dut.reclaim.found.is_high(), found);
    }
}

fn slot(rng: &mut ChaCha8Rng) -> (u64, u64) {
    (rng.random_range(0..1 << 14), rng.random_range(0..1 << 16))
}

#[test]
fn buffers_are_taken_back_in_order() {
    run_with_wave_on_failure("buffer_reclaim_random", |wave| {
        let mut bench = Bench::new(wave);
        let mut endings = [0; 6];
        for round in 0..share(600) {
            bench.pace = [[50, 30, 30], [90, 60, 60], [95, 10, 10], [20, 80, 80], [0, 20, 20]][round / 20 % 5];
            let old = usize::from(bench.dut.fence_phase.is_high());
            let closes = bench.rng.random();
            bench.begin(closes);
            let mut chosen = None;
            if !closes {
                let (slot, epoch) = slot(&mut bench.rng);
                let any = bench.rng.random_range(0..5) != 0;
                let reply = bench.reply(any, slot, epoch);
                let done = bench.answer(reply);
                if !any {
                    bench.dut.eval();
                    endings[0] += 1;
                    bench.ends(done, false);
                    continue;
                }
                assert!(!done);
                chosen = Some(slot);
            }
            bench.sweep(chosen);
            bench.queue(true, if closes { QUEUE_INIT } else { QUEUE_CUT }, chosen);
            bench.fence(old);
            // The query of the fence has begun; a buffer after the other.
            loop {
                let (mut slot, epoch) = slot(&mut bench.rng);
                let any = bench.rng.random_range(0..6) != 0;
                if let Some(chosen) = chosen.filter(|_| bench.rng.random_range(0..4) != 0) {
                    slot = chosen;
                }
                let reply = bench.reply(any, slot, epoch);
                let done = bench.answer(reply);
                if !any || chosen.is_some_and(|chosen| chosen != slot) {
                    endings[if any { 1 } else { 2 }] += 1;
                    bench.ends(done, !closes);
                    break;
                }
                assert!(!done);
                bench.queue(false, QUEUE_END, Some(slot));
                // The epoch has not moved yet.
                for _ in 0..bench.rng.random_range(0..3) {
                    let reply = bench.reply(true, bench.rng.clone().random_range(0..1 << 14), epoch);
                    assert!(!bench.answer(reply), "the epoch has not moved");
                }
                let any = bench.rng.random_range(0..3) != 0;
                let moved = if any { epoch ^ 1 << bench.rng.random_range(0..16) } else { epoch };
                let reply = bench.reply(any, slot, moved);
                let done = bench.answer(reply);
                if !closes || !any {
                    endings[if closes { 3 } else { 4 }] += 1;
                    bench.ends(done, !closes);
                    break;
                }
                endings[5] += 1;
                assert!(!done);
            }
        }
        assert!(endings.iter().all(|count| *count > 3), "{endings:?}");
    });
}
