//! The fetch of command rings alone: rings of all processes in a memory of the bench, a host that answers late, and a consumer
//! that fails some commands.

use rand::seq::{IndexedRandom, IteratorRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rvma_lut::commands::command_rings::{Batch, CommandRings};
use rvma_lut::types::RingCommand;
use spindle_blocks::desc::HostRead;
use spindle_blocks::RamStyle;
use spindle_contract::commands::BYTES;
use spindle_contract::descriptors::client;
use spindle_harness::{run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::ports::{from_bytes, to_bytes};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const PROCESSES: u64 = 64;
/// Commands of the longest batch.
const BATCH: u64 = 16;
/// Commands that may be under way.
const UNDER_WAY: usize = 64;
/// Cycles from RING_TAIL to the read, if no other ring has commands and the search begins at the process.
const FETCH: u64 = 6;

/// A ring as the host knows it.
#[derive(Clone, Debug, Default)]
struct Ring {
    /// Counts the openings of rings; 0 = closed.
    generation: u64,
    base: u64,
    commands: u64,
    /// Commands written, and carried out.
    tail: u16,
    done: u16,
    stopped: bool,
    /// What RING_TAIL was since the ring was opened.
    tails: BTreeSet<u16>,
}

/// Where a line comes from: process, generation of its ring, number of the command.
type Source = [u64; 3];

/// A batch that was read, and has not been taken.
#[derive(Debug)]
struct Fetched {
    pid: u64,
    first: u16,
    lines: Vec<Source>,
    /// The host has an error.
    error: bool,
}

/// A read under way: its lines, the cycle in which they come, whether the host has an error.
struct Read {
    lines: VecDeque<Vec<u8>>,
    at: u64,
    error: bool,
}

/// A command that the consumer has taken.
struct Taken {
    pid: u64,
    number: u16,
    last: bool,
    /// It fails: an overrun, an error of the host, or a command that cannot be carried out.
    fails: bool,
    /// If it fails, its ring begins again with this command by itself.
    again: bool,
    /// The line is the one of process, generation, number. None after an overrun or an error.
    line: Option<Source>,
}

struct Bench {
    dut: Dut<CommandRings>,
    rng: ChaCha8Rng,
    rings: Vec<Ring>,
    generations: u64,
    /// Process and generation by the base of their ring.
    bases: BTreeMap<u64, u64>,
    reads: VecDeque<Read>,
    /// Reads whose batch has not been taken.
    fetched: VecDeque<Fetched>,
    /// Commands of the batch that were taken.
    position: u64,
    taken: VecDeque<Taken>,
    lines: usize,
    ring: Option<RingCommand>,
    tail: Option<(u64, u16)>,
    /// Number that the next command that fails claims to have.
    jump: Option<u16>,
    /// Cycles until the host answers, at most.
    latency: u64,
    /// Of a thousand commands.
    failures: u32,
    /// Percent of the failures after which the ring begins again by itself.
    agains: u32,
    errors: u32,
    /// Percent of the cycles in which the consumer takes and ends commands, and the host takes reads.
    pace: [u32; 3],
    /// Commands carried out, discarded, failed, failed with a ring that begins again by itself; overruns.
    done: u64,
    discarded: u64,
    failed: u64,
    again: u64,
    overruns: u64,
    most_under_way: usize,
}

/// The bytes of a line, which no other line has.
fn line([pid, generation, number]: Source) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(pid << 56 ^ generation << 16 ^ number);
    (0..BYTES).map(|_| rng.random()).collect()
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, CommandRings::new(RamStyle::Block), "command_rings");
        // Commands of a batch follow one another while the batch waits.
        dut.ignore(dut.batch.channel());
        dut.ring.valid.set(false);
        dut.tail.valid.set(false);
        dut.read.ready.set(false);
        dut.data.valid.set(false);
        dut.batch.ready.set(false);
        dut.batch.line_ready.set(false);
        dut.batch.done.set(false);
        dut.batch.halt.set(false);
        dut.batch.halt_again.set(false);
        dut.reset();
        dut.ticks(PROCESSES + 1);
        Bench {
            dut,
            rng: wave.rng(),
            rings: vec![Ring::default(); PROCESSES as usize],
            generations: 0,
            bases: BTreeMap::new(),
            reads: VecDeque::new(),
            fetched: VecDeque::new(),
            position: 0,
            taken: VecDeque::new(),
            lines: 0,
            ring: None,
            tail: None,
            jump: None,
            latency: 1,
            failures: 0,
            agains: 0,
            errors: 0,
            pace: [100; 3],
            done: 0,
            discarded: 0,
            failed: 0,
            again: 0,
            overruns: 0,
            most_under_way: 0,
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent >= 100 || self.rng.random_range(0..100) < percent
    }

    /// Opens a ring of so many commands, after RING_TAIL was set to 0, or closes an open one; takes effect in a later cycle.
    fn set(&mut self, pid: u64, commands: Option<u64>) {
        let size = commands.unwrap_or(1);
        if commands.is_some() {
            self.tail = Some((pid, 0));
        }
        // Among 2^64 addresses no two rings share one.
        let base = self.rng.random::<u64>() & !(size * BYTES as u64 - 1);
        let last = bits::<15>(2 * size - 1);
        self.ring = Some(RingCommand { pid: bits(pid), open: commands.is_some(), base: bits(base >> 5), last });
    }

    /// The lines of a read, as the host memory has them now.
    fn memory(&self, address: u64, length: u64) -> (u64, u16, Vec<Source>) {
        let (_, pid) = self.bases.range(..=address).next_back().expect("an address below all rings is read");
        let ring = &self.rings[*pid as usize];
        let place = (address - ring.base) / BYTES as u64;
        let count = length / BYTES as u64;
        let what = format!("{count} commands at place {place} of {ring:?} of process {pid}");
        assert!(ring.generation != 0, "a closed ring is read: {what}");
        assert!(
            count * BYTES as u64 == length && address.is_multiple_of(BYTES as u64) && place + count <= ring.commands,
            "{what}"
        );
        assert!(place % BATCH + count <= BATCH, "a batch ends at a multiple of {BATCH}: {what}");
        // The newest command of each place.
        let newest = |place: u64| {
            let back = (u64::from(ring.tail).wrapping_sub(1).wrapping_sub(place)) % ring.commands;
            (u64::from(ring.tail) + 0x1_0000 - 1 - back) % 0x1_0000
        };
        // A batch is as long as it can be.
        let end = (newest(place) + count) as u16;
        let full = u64::from(end).is_multiple_of(BATCH.min(ring.commands));
        assert!(full || ring.tails.contains(&end), "a batch ends where RING_TAIL was: {what}");
        let lines = (place..place + count).map(|place| [*pid, ring.generation, newest(place)]).collect();
        (*pid, newest(place) as u16, lines)
    }

    fn step(&mut self) {
        let cycle = self.dut.cycle();
        let (take, end, ready) = (self.chance(self.pace[0]), self.chance(self.pace[1]), self.chance(self.pace[2]));
        // The command unit opens and closes rings while no command of a ring is carried out.
        let (take, end) = (take && self.ring.is_none(), end || self.ring.is_some());
        let sets = self.ring.is_some() && self.taken.is_empty();
        self.dut.ring.valid.set(sets);
        self.dut.ring.payload.set(self.ring.unwrap_or_default());
        self.dut.tail.valid.set(self.tail.is_some());
        let (pid, tail) = self.tail.unwrap_or((self.rng.random_range(0..PROCESSES), 0xFFFF));
        self.dut.tail.pid.set(bits(pid));
        self.dut.tail.payload.set(bits(u64::from(tail)));
        self.dut.read.ready.set(ready);
        // The host: lines in order, with gaps.
        let due = self.reads.front().is_some_and(|read| read.at <= cycle) && self.chance(80);
        let mut arrives = None;
        if due {
            let read = self.reads.front_mut().expect("a read is due");
            let line = read.lines.pop_front().expect("a read has a line");
            arrives = Some((line, read.lines.is_empty(), read.error));
            if read.lines.is_empty() {
                self.reads.pop_front();
            }
            self.lines += 1;
        }
        self.dut.data.valid.set(arrives.is_some());
        let filler = (vec![self.rng.random(); BYTES], self.rng.random(), self.rng.random());
        let (bytes, last, error) = arrives.unwrap_or(filler);
        self.dut.data.payload.set(from_bytes::<Bits<512>>(&bytes));
        self.dut.data_last.set(last);
        self.dut.data_error.set(error);

        // The consumer ends the oldest command that it has taken.
        let ends = if end { self.taken.pop_front() } else { None };
        let pid = ends.as_ref().map_or_else(|| self.rng.random_range(0..PROCESSES), |command| command.pid);
        self.dut.batch.current_pid.set(bits(pid));
        self.dut.batch.halt.set(false);
        self.dut.batch.done.set(false);
        self.dut.batch.ready.set(false);
        self.dut.batch.line_ready.set(false);
        self.dut.eval();
        if let Some(command) = &ends {
            let ring = &mut self.rings[command.pid as usize];
            let stopped = self.dut.batch.stopped.is_high();
            let halts = !stopped && command.fails;
            if stopped {
                self.discarded += 1;
            } else {
                assert!(!ring.stopped, "cycle {cycle}: command {} of the stopped ring of {pid} begins", command.number);
                assert_eq!(command.number, ring.done, "cycle {cycle}: process {pid}");
                let named = [command.pid, ring.generation, u64::from(command.number)];
                assert!(
                    command.line.is_none_or(|line| line == named),
                    "cycle {cycle}: {:?}, not {named:?}",
                    command.line
                );
                if halts {
                    self.failed += 1;
                    ring.stopped = !command.again;
                    self.again += u64::from(command.again);
                } else {
                    self.done += 1;
                    ring.done = ring.done.wrapping_add(1);
                }
            }
            let at = self.jump.take_if(|_| halts);
            if let Some(at) = at {
                (ring.done, ring.tail) = (at, at);
            }
            self.dut.batch.halt.set(halts);
            self.dut.batch.halt_again.set(command.again);
            self.dut.batch.halt_pid.set(bits(command.pid));
            self.dut.batch.halt_at.set(bits(u64::from(at.unwrap_or(command.number))));
            self.dut.batch.done.set(command.last);
        }
        // It takes the next one.
        if self.dut.batch.valid.is_high() && take {
            let batch: Batch = self.dut.batch.payload.get();
            let (pid, first) = (batch.pid.to_u64(), batch.first.to_u64() as u16);
            let number = first.wrapping_add(self.position as u16);
            let error = self.dut.batch.error.is_high();
            let (mut last, mut source) = (true, None);
            if batch.overrun {
                assert_eq!((batch.last.to_u64(), error), (0, false), "cycle {cycle}: an overrun");
                self.overruns += 1;
            } else {
                let fetched = self.fetched.front().expect("a batch that was read");
                let read = (fetched.pid, fetched.first, fetched.lines.len() as u64 - 1, fetched.error);
                assert_eq!((pid, first, batch.last.to_u64(), error), read, "cycle {cycle}");
                let command = fetched.lines[self.position as usize];
                last = self.position as usize + 1 == fetched.lines.len();
                if !error {
                    assert_eq!(to_bytes(self.dut.batch.line.get()), line(command), "cycle {cycle}: {command:?}");
                    source = Some(command);
                }
                if last {
                    self.fetched.pop_front();
                }
            }
            let fails = source.is_none() || self.rng.random_range(0..1000) < self.failures;
            let again = self.rng.random_range(0..100) < self.agains;
            self.taken.push_back(Taken { pid, number, last, fails, again, line: source });
            self.dut.batch.line_ready.set(!batch.overrun);
            self.dut.batch.ready.set(last);
            self.lines -= usize::from(!batch.overrun);
            self.position = if last { 0 } else { self.position + 1 };
        }
        self.dut.eval();
        if let Some(read) = self.dut.read.taken() {
            let (address, length) = (read.address, read.length);
            assert_eq!(read, HostRead { client: bits(client::RING as u64), address, length, ..HostRead::default() });
            let (pid, first, lines) = self.memory(address.to_u64(), length.to_u64());
            let at = cycle + self.rng.random_range(1..=self.latency);
            let error = self.rng.random_range(0..1000) < self.errors;
            self.reads.push_back(Read { lines: lines.iter().copied().map(line).collect(), at, error });
            self.fetched.push_back(Fetched { pid, first, lines, error });
        }
        let under_way = self.lines + self.reads.iter().map(|read| read.lines.len()).sum::<usize>();
        assert!(under_way <= UNDER_WAY, "cycle {cycle}: {under_way} commands are under way");
        self.most_under_way = self.most_under_way.max(under_way);
        if self.dut.ring_done.is_high() {
            let ring = self.ring.take().expect("a ring to open or to close");
            assert!(
                self.reads.is_empty(),
                "cycle {cycle}: a ring changes while {} reads are under way",
                self.reads.len()
            );
            let pid = ring.pid.to_u64();
            self.generations += 1;
            self.bases.retain(|_, other| *other != pid);
            let base = ring.base.to_u64() << 5;
            let generation = if ring.open { self.generations } else { 0 };
            let commands = ring.last.to_u64().div_ceil(2);
            self.rings[pid as usize] = Ring { generation, base, commands, stopped: true, ..Ring::default() };
            if ring.open {
                self.bases.insert(base, pid);
            }
        }
        if let Some((pid, tail)) = self.tail.take() {
            self.rings[pid as usize].stopped = false;
            self.rings[pid as usize].tails.insert(tail);
        }
        self.dut.tick();
    }

    /// The host writes so many commands more, of those that there is room for, and RING_TAIL.
    fn write(&mut self, pid: u64, more: u64) {
        let ring = &mut self.rings[pid as usize];
        let waiting = u64::from(ring.tail.wrapping_sub(ring.done));
        ring.tail = ring.tail.wrapping_add(more.min(ring.commands.saturating_sub(waiting)) as u16);
        self.tail = Some((pid, ring.tail));
    }

    /// Steps until everything is carried out. RING_TAIL is written of rings that are stopped alone: others go on by themselves,
    /// also when rings are opened and closed meanwhile.
    fn drain(&mut self) {
        (self.failures, self.errors) = (0, 0);
        for round in 0..4000 {
            let waits = |ring: &Ring| ring.generation != 0 && ring.tail != ring.done;
            let choose = |bench: &mut Self, wanted: &dyn Fn(&Ring) -> bool| {
                (0..PROCESSES).filter(|pid| wanted(&bench.rings[*pid as usize])).choose(&mut bench.rng)
            };
            let left = self.rings.iter().any(waits);
            if !left && self.ring.is_none() && self.taken.is_empty() && self.reads.is_empty() {
                return;
            }
            if self.ring.is_none() {
                let idle = choose(self, &|ring| !waits(ring));
                if let Some(pid) = idle.filter(|_| round < 20) {
                    let open = self.rings[pid as usize].generation != 0;
                    self.set(pid, (!open).then_some(4));
                } else if let Some(pid) = choose(self, &|ring| waits(ring) && ring.stopped) {
                    self.write(pid, 0);
                }
            }
            for _ in 0..150 {
                self.step();
            }
        }
        panic!("commands are left: {:?}", self.rings.iter().filter(|ring| ring.tail != ring.done).collect::<Vec<_>>());
    }
}

#[test]
fn every_command_is_carried_out_once_and_in_order() {
    run_with_wave_on_failure("command_rings_random", |wave| {
        let mut bench = Bench::new(wave);
        for round in 0..12 {
            bench.latency = [1, 30, 400][round % 3];
            // In the last rounds most rings are stopped most of the time.
            bench.failures = [0, 10, 60, 400][round / 3];
            bench.agains = [0, 30, 100][round % 3];
            bench.errors = [20, 0, 100][round / 2 % 3];
            bench.pace = [[100, 100, 100], [90, 30, 50], [20, 90, 100], [70, 70, 20]][round % 4];
            for _ in 0..share(4000) {
                // All processes, or few that are busy, so that their rings fill.
                let any = round % 2 == 0 || bench.rng.random_range(0..3) == 0;
                let pid = if any { bench.rng.random_range(0..PROCESSES) } else { bench.rng.random_range(0..4) * 21 };
                let ring = &bench.rings[pid as usize];
                let (open, commands) = (ring.generation != 0, ring.commands);
                match bench.rng.random_range(0..100) {
                    0..6 if bench.ring.is_none() => {
                        let size = 1 << [0, 1, 3, 4, 5, 6, 8, 10, 14].choose(&mut bench.rng).expect("a size");
                        bench.set(pid, (!open).then_some(size));
                    }
                    6..25 if open && bench.ring.is_none_or(|ring| ring.pid.to_u64() != pid) => {
                        let more = bench.rng.random_range(0..=commands.min(40));
                        bench.write(pid, more);
                    }
                    // RING_TAIL of a ring that is closed, or the same once more.
                    25..30 if bench.ring.is_none_or(|ring| ring.pid.to_u64() != pid) => bench.write(pid, 0),
                    _ => {}
                }
                bench.step();
            }
            bench.drain();
        }
        let seen = [bench.done, bench.discarded, bench.failed - bench.again, bench.again];
        assert!(seen.iter().all(|count| *count > 5), "{seen:?} carried out, discarded, failed, begun again");
        assert!(bench.most_under_way == UNDER_WAY, "{} commands under way at most", bench.most_under_way);
    });
}

/// A ring that is stopped begins again by its own RING_TAIL, and by no other's.
#[test]
fn a_stopped_ring_waits_for_its_own_tail() {
    run_with_wave_on_failure("command_rings_stopped", |wave| {
        let mut bench = Bench::new(wave);
        bench.failures = 1000;
        let mut pids: Vec<u64> = (0..PROCESSES).collect();
        for retries in 0..3 {
            pids.shuffle(&mut bench.rng);
            for pid in &pids {
                if retries == 0 {
                    bench.set(*pid, Some(64));
                    while bench.ring.is_some() {
                        bench.step();
                    }
                }
                let failed = bench.failed;
                bench.write(*pid, if retries == 0 { 40 } else { 0 });
                // The search takes a cycle for each process, and a ring of another process would be read after this one.
                for _ in 0..100 {
                    bench.step();
                }
                assert_eq!(bench.failed, failed + 1, "process {pid}");
            }
        }
    });
}

/// Numbers of commands have 16 bits. That the first one fails as if it were a late one saves 65,000 commands.
#[test]
fn numbers_wrap() {
    run_with_wave_on_failure("command_rings_wrap", |wave| {
        let mut bench = Bench::new(wave);
        bench.latency = 100;
        for (pid, size, at) in [(63, 1 << 14, 65_500), (0, 1, 65_530), (40, 16, 65_521), (41, 64, 65_535)] {
            bench.set(pid, Some(size));
            while bench.ring.is_some() {
                bench.step();
            }
            (bench.jump, bench.failures) = (Some(at), 1000);
            bench.write(pid, 1);
            while bench.jump.is_some() {
                bench.step();
            }
            bench.failures = 0;
            let begin = bench.done;
            while bench.done - begin < 4 * BATCH {
                if bench.dut.cycle().is_multiple_of(64) {
                    let more = bench.rng.random_range(0..40);
                    bench.write(pid, more);
                }
                bench.step();
                assert!(bench.dut.cycle() < 60_000, "{} commands", bench.done);
            }
            bench.drain();
            assert!(bench.rings[pid as usize].done < at);
        }
    });
}

/// A ring with more commands than places is stopped, and works again with a good tail.
#[test]
fn an_overrun_stops_the_ring() {
    run_with_wave_on_failure("command_rings_overrun", |wave| {
        let mut bench = Bench::new(wave);
        for (round, size) in [1u64, 2, 16, 64, 1 << 14].into_iter().enumerate() {
            let pid = 13 * round as u64;
            bench.set(pid, Some(size));
            while bench.ring.is_some() {
                bench.step();
            }
            for more in [size + 1, size + 2, 2 * size, 0x7FFF, 0xFFFF] {
                let done = bench.rings[pid as usize].done;
                bench.tail = Some((pid, done.wrapping_add(more as u16)));
                let before = bench.overruns;
                for _ in 0..200 {
                    bench.step();
                }
                assert_eq!(bench.overruns - before, 1, "{more} commands in a ring of {size}");
                assert!(bench.rings[pid as usize].stopped, "{more} commands in a ring of {size}");
                bench.write(pid, size.min(70));
                // Full rings of 16,384 commands would take most of the time of the test.
                for _ in 0..20_000 {
                    bench.step();
                    if bench.rings[pid as usize].tail == bench.rings[pid as usize].done {
                        break;
                    }
                }
                let ring = &bench.rings[pid as usize];
                assert_eq!(ring.tail, ring.done, "a ring of {size} after an overrun");
            }
        }
    });
}

/// RING_TAIL to the read: the search begins after the process that was looked at last.
#[test]
fn cycles_to_the_read() {
    run_with_wave_on_failure("command_rings_cycles", |wave| {
        let mut bench = Bench::new(wave);
        for pid in [5, 9, 4] {
            bench.set(pid, Some(64));
            while bench.ring.is_some() {
                bench.step();
            }
            // RING_TAIL was set to 0 before, which is looked at as well.
            (0..200).for_each(|_| bench.step());
        }
        for (pid, search) in [(5, 0), (9, 3), (9, 63), (4, 58)] {
            bench.write(pid, 1);
            let begin = bench.dut.cycle();
            while bench.fetched.is_empty() {
                bench.step();
            }
            // The bench is one cycle after the read.
            assert_eq!(bench.dut.cycle() - 1 - begin, FETCH + search, "process {pid}");
            (0..200).for_each(|_| bench.step());
        }
    });
}
