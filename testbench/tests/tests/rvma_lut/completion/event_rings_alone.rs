//! The event rings alone, against a list of lost events and of records for each process: any event, any ring, any place that is
//! reserved. Records, pulses and their cycles are compared in each cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::completion::event_rings::EventRings;
use rvma_lut::completion::frame_places::RingState;
use rvma_lut::types::{HostWrite, InternalWrite, RingCommand, WriteOrigin, EVENT};
use spindle_blocks::desc::EventDesc;
use spindle_contract::events::{BYTES, LOST};
use spindle_harness::{run_with_wave_on_failure, share, Dut};
use spindle_model::rvma_lut::host_access::Event;
use spindle_verilog::ports::{from_bytes, to_bytes};
use spindle_verilog::prelude::*;

const PROCESSES: usize = 64;
const SOURCES: usize = 3;
/// The source whose events have a reserved place.
const RESERVED: usize = 2;
/// Most records that the host has not answered.
const FLYING: u32 = 400;

/// A ring.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    open: bool,
    /// Host address.
    base: u64,
    /// Records that it holds, a power of two.
    records: u32,
    written: u32,
    lost: u32,
}

/// Who is visited.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Visit {
    Event(usize, Event),
    Scan,
    Command(RingCommand),
}

/// What a visit finds.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Records that the host has not read.
    used: u16,
    reserved: u16,
    lost: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Idle,
    Read,
    Act(Found),
}

/// The block, one visit after the other.
struct Model {
    rings: [Ring; PROCESSES],
    heads: [u16; PROCESSES],
    open: u64,
    /// Events that wait.
    waiting: [Option<(usize, Event)>; SOURCES],
    first: usize,
    phase: Phase,
    visit: (usize, Visit),
    scan: usize,
    scan_next: bool,
    /// Rings with lost events, as the search sees it now and in the next cycle.
    lacking: [usize; 2],
    record: Option<Vec<u8>>,
    made: bool,
    flying: u32,
    settling: bool,
    lost: usize,
}

/// Inputs of a cycle, of which `ready` and `owed` depend on outputs.
struct Inputs {
    events: [Option<(usize, Event)>; SOURCES],
    ring: Option<RingCommand>,
    head: Option<(usize, u16)>,
    ready: bool,
    finished: bool,
    owed: u64,
}

/// Outputs that a visit has in its cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Acts {
    state: Option<(bool, u64, u64)>,
    given: bool,
}

impl Model {
    fn new() -> Self {
        Model {
            rings: [Ring { records: 1, ..Ring::default() }; PROCESSES],
            heads: [0; PROCESSES],
            open: 0,
            waiting: [None; SOURCES],
            first: 0,
            phase: Phase::Idle,
            visit: (0, Visit::Scan),
            scan: 0,
            scan_next: false,
            lacking: [0; 2],
            record: None,
            made: false,
            flying: 0,
            settling: false,
            lost: 0,
        }
    }

    fn ring_done(&self) -> bool {
        self.settling && !self.made && self.flying == 0
    }

    fn write(&mut self, event: &Event) {
        let pid = self.visit.0;
        let ring = &mut self.rings[pid];
        let at = ring.base + u64::from(ring.written % ring.records) * BYTES as u64;
        ring.written += 1;
        let origin = WriteOrigin {
            kind: bits(EVENT),
            slot: bits(pid as u64),
            length: bits(BYTES as u64),
            ..WriteOrigin::default()
        };
        let host_write = HostWrite { address: bits(at), origin, ..HostWrite::default() };
        let data = from_bytes::<Bits<256>>(&event.record(ring.written));
        self.record = Some(to_bytes(InternalWrite { host_write, data }));
    }

    /// A visit acts. Whether it is repeated, and whether it loses its event.
    fn act(&mut self, found: Found) -> (Acts, bool, bool) {
        let (pid, visit) = self.visit;
        let ring = self.rings[pid];
        let reserved = matches!(visit, Visit::Event(RESERVED, _));
        let crowded = u32::from(found.used) + u32::from(found.reserved) >= ring.records;
        let full = if reserved { u32::from(found.used) >= ring.records } else { crowded };
        let reports = found.lost && !(reserved && crowded);
        let (mut again, mut loses) = (false, false);
        match visit {
            Visit::Command(command) => {
                self.rings[pid] = Ring {
                    open: command.open,
                    base: command.base.to_u64() << 5,
                    records: command.last.to_u64() as u32 + 1,
                    written: 0,
                    lost: 0,
                };
                self.open = self.open & !(1 << pid) | u64::from(command.open) << pid;
                self.settling = true;
            }
            Visit::Event(..) if !ring.open => loses = true,
            Visit::Event(..) if full => {
                loses = true;
                self.rings[pid].lost += 1;
            }
            Visit::Event(..) | Visit::Scan if ring.open && !full && reports => {
                again = visit != Visit::Scan;
                self.rings[pid].lost = 0;
                self.write(&Event { kind: LOST, length: ring.lost, ..Event::default() });
            }
            Visit::Event(_, event) => self.write(&event),
            Visit::Scan => {}
        }
        let ring = self.rings[pid];
        let state = Some((ring.open, u64::from(ring.records - 1), u64::from(ring.written as u16)));
        (Acts { state, given: reserved && !again }, again, loses)
    }

    /// The next visit, if any, and whether it is the search's turn.
    fn choose(&self, ring: Option<RingCommand>) -> (Option<(usize, Visit)>, bool) {
        let any = self.waiting.iter().any(|event| event.is_some());
        let scans = self.lacking[0] > 0 && (self.scan_next || !any);
        if let Some(ring) = ring {
            return (Some((ring.pid.to_u64() as usize, Visit::Command(ring))), false);
        }
        if scans {
            return (Some((self.scan, Visit::Scan)), true);
        }
        let turns = (0..SOURCES).map(|step| (self.first + step) % SOURCES);
        let mut events =
            turns.filter_map(|source| self.waiting[source].map(|(pid, event)| (pid, Visit::Event(source, event))));
        (events.next(), false)
    }

    /// The cycle in which the block has these inputs.
    fn step(&mut self, inputs: &Inputs) -> Acts {
        // What is seen of the cycle's beginning.
        let (settled, settling, made) = (self.ring_done(), self.settling, self.made);
        let (chosen, scans) = self.choose(inputs.ring);
        let open = self.open;
        let was_waiting = self.waiting.map(|event| event.is_some());
        let busy = self.record.is_some();
        if inputs.ready {
            self.record = None;
        }
        self.made = false;
        self.settling &= !settled;
        let mut lost = 0;
        let mut acts = Acts::default();
        let mut next = self.phase;
        let mut starts = false;
        match self.phase {
            Phase::Idle => starts = true,
            Phase::Read => {
                let pid = self.visit.0;
                let used = (self.rings[pid].written as u16).wrapping_sub(self.heads[pid]);
                next = Phase::Act(Found { used, reserved: inputs.owed as u16, lost: self.rings[pid].lost > 0 });
            }
            Phase::Act(found) if !busy => {
                let (now, again, loses) = self.act(found);
                acts = now;
                lost += usize::from(loses);
                self.made = self.record.is_some();
                next = if again { Phase::Read } else { Phase::Idle };
                // A command, or an event after lost ones, ends before another visit.
                starts = match self.visit.1 {
                    Visit::Command(_) => false,
                    Visit::Event(..) => !found.lost,
                    Visit::Scan => true,
                };
            }
            Phase::Act(_) => {}
        }
        if let Some((pid, visit)) = chosen.filter(|_| starts && !settling) {
            next = Phase::Read;
            self.visit = (pid, visit);
            if scans {
                self.scan = (self.scan + 1) % PROCESSES;
            }
            self.scan_next = false;
            if let Visit::Event(source, _) = visit {
                self.waiting[source] = None;
                self.first = (source + 1) % SOURCES;
                self.scan_next = true;
            }
        }
        self.phase = next;
        for (source, was_waiting) in was_waiting.into_iter().enumerate() {
            if let Some((pid, event)) = inputs.events[source].filter(|_| !was_waiting) {
                if source != RESERVED && open >> pid & 1 == 0 {
                    lost += 1;
                } else {
                    self.waiting[source] = Some((pid, event));
                }
            }
        }
        if let Some((pid, head)) = inputs.head {
            self.heads[pid] = head;
        }
        self.flying = self.flying + u32::from(made) - u32::from(inputs.finished);
        let lacking = self.rings.iter().filter(|ring| ring.lost > 0).count();
        self.lacking = [self.lacking[1], lacking];
        self.lost = lost;
        acts
    }
}

fn event(rng: &mut ChaCha8Rng) -> Event {
    Event {
        kind: rng.random_range(0..16),
        context: rng.random_range(0..16),
        code: rng.random(),
        flags: rng.random(),
        id: rng.random(),
        length: rng.random(),
        extra: rng.random(),
        source: rng.random(),
        user: rng.random(),
    }
}

fn desc(pid: usize, event: &Event) -> EventDesc {
    EventDesc {
        pid: bits(pid as u64),
        kind: bits(u64::from(event.kind)),
        context: bits(u64::from(event.context)),
        code: bits(u64::from(event.code)),
        flags: bits(u64::from(event.flags)),
        id: bits(u64::from(event.id)),
        length: bits(u64::from(event.length)),
        extra: bits(u64::from(event.extra)),
        source: bits(u64::from(event.source)),
        user: bits(event.user),
    }
}

/// A ring at any address that is a multiple of its size.
fn command(rng: &mut ChaCha8Rng, pid: usize, open: bool, most: u32) -> RingCommand {
    let records = 1u64 << rng.random_range(0..=most);
    let base = rng.random_range(0..1u64 << 59) & !(records - 1);
    RingCommand { pid: bits(pid as u64), open, base: bits(base), last: bits(records - 1) }
}

/// The block with its model, and the inputs that stay until they are taken.
struct Bench {
    dut: Dut<EventRings>,
    model: Model,
    events: [Option<(usize, Event)>; SOURCES],
    /// The event that each source offered last.
    driven: [Option<(usize, Event)>; SOURCES],
    ring: Option<RingCommand>,
    /// Records that the host has and did not answer.
    taken: u32,
    /// Places reserved for events of source 2, and others.
    owed: [u64; PROCESSES],
    /// Of these, places whose event was sent.
    sent: [u64; PROCESSES],
    others: [u64; PROCESSES],
    /// Written, lost, LOST records, commands, commands that wait for the host, events before the LOST record of earlier losses.
    seen: [usize; 6],
}

impl Bench {
    fn new(dut: Dut<EventRings>) -> Self {
        Bench {
            dut,
            model: Model::new(),
            events: [None; SOURCES],
            driven: [None; SOURCES],
            ring: None,
            taken: 0,
            owed: [0; PROCESSES],
            sent: [0; PROCESSES],
            others: [0; PROCESSES],
            seen: [0; 6],
        }
    }

    /// A reset, and the cycles in which all rings are removed; the host has read no record.
    fn reset(&mut self) {
        for source in 0..SOURCES {
            self.dut.event[source].valid.set(false);
        }
        self.dut.ring.valid.set(false);
        self.dut.finished.set(false);
        self.dut.write.ready.set(false);
        self.dut.reset();
        for pid in 0..PROCESSES {
            self.dut.head.valid.set(true);
            self.dut.head.pid.set(bits(pid as u64));
            self.dut.head.payload.set(bits(0));
            self.dut.tick();
        }
        self.dut.head.valid.set(false);
        self.model = Model::new();
        (self.events, self.ring, self.taken) = ([None; SOURCES], None, 0);
        (self.owed, self.sent, self.others) = ([0; PROCESSES], [0; PROCESSES], [0; PROCESSES]);
    }

    /// A cycle. Says whether a record moves.
    fn step(&mut self, head: Option<(usize, u16)>, ready: bool, finished: bool) -> bool {
        let (dut, model) = (&self.dut, &mut self.model);
        for source in 0..SOURCES {
            dut.event[source].valid.set(self.events[source].is_some());
            if let Some((pid, event)) = self.events[source].filter(|_| self.driven[source] != self.events[source]) {
                dut.event[source].payload.set(desc(pid, &event));
                self.driven[source] = self.events[source];
            }
        }
        dut.ring.offer(self.ring);
        dut.head.valid.set(head.is_some());
        if let Some((pid, head)) = head {
            dut.head.pid.set(bits(pid as u64));
            dut.head.payload.set(bits(u64::from(head)));
        }
        dut.write.ready.set(ready);
        let finished = finished && self.taken > 0;
        dut.finished.set(finished);
        dut.eval();
        let cycle = dut.cycle();
        let reader = dut.reader.number() as usize;
        if !matches!(model.phase, Phase::Idle) {
            assert_eq!(reader, model.visit.0, "cycle {cycle}: the ring that is visited");
        }
        let owed = (self.owed[reader] + self.others[reader]).min(255);
        dut.owed.set(bits(owed));
        dut.eval();

        for source in 0..SOURCES {
            let ready = model.waiting[source].is_none();
            assert_eq!(dut.event[source].ready.is_high(), ready, "cycle {cycle}: source {source}");
        }
        assert_eq!(dut.rings_open.number(), model.open, "cycle {cycle}");
        assert_eq!(dut.event_written.is_high(), model.made, "cycle {cycle}");
        assert_eq!(dut.event_lost.number(), model.lost as u64, "cycle {cycle}");
        assert_eq!(dut.write.valid.is_high(), model.record.is_some(), "cycle {cycle}");
        if let Some(record) = &model.record {
            if !dut.write.payload.has_bytes(record) {
                let expected: InternalWrite = from_bytes(record);
                assert_eq!(dut.write.payload.get(), expected, "cycle {cycle}");
            }
        }
        let done = model.ring_done();
        assert_eq!(dut.ring_done.is_high(), done, "cycle {cycle}");
        let moves = model.record.is_some() && ready;
        let was = (model.visit, model.settling && model.flying > 0);
        let accepted = [0, 1, 2].map(|source| model.waiting[source].is_none());
        let acts = model.step(&Inputs { events: self.events, ring: self.ring, head, ready, finished, owed });
        let state = dut.ring_state.offered().map(|RingState { open, last, tail }| (open, last.to_u64(), tail.to_u64()));
        assert_eq!(Acts { state, given: dut.given.is_high() }, acts, "cycle {cycle}: {:x?}", was.0);
        dut.tick();

        if acts.given {
            self.owed[reader] -= 1;
            self.sent[reader] -= 1;
        }
        for (event, accepted) in self.events.iter_mut().zip(accepted) {
            if accepted {
                *event = None;
            }
        }
        if done {
            self.ring = None;
        }
        self.taken = self.taken + u32::from(moves) - u32::from(finished);
        self.seen[0] += usize::from(model.made);
        self.seen[1] += model.lost;
        self.seen[3] += usize::from(done);
        self.seen[4] += usize::from(was.1);
        if let (true, Visit::Event(..) | Visit::Scan) = (model.made, was.0 .1) {
            let (pid, visit) = was.0;
            self.seen[2] += usize::from(
                visit == Visit::Scan || matches!(self.model.phase, Phase::Read) && self.model.visit == was.0,
            );
            self.seen[5] += usize::from(acts.given && self.model.rings[pid].lost > 0);
        }
        moves
    }
}

/// A process whose ring is open, if one is found.
fn open_one(rng: &mut ChaCha8Rng, model: &Model) -> Option<usize> {
    let pids: Vec<usize> = (0..PROCESSES).filter(|pid| model.open >> pid & 1 != 0).collect();
    pids.choose(rng).copied()
}

#[test]
fn random_events_are_the_models() {
    run_with_wave_on_failure("event_rings_alone_random", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(Dut::new(wave, EventRings::new(), "event_rings"));
        for _ in 0..3 {
            bench.reset();
            for cycle in 0..share(40_000) {
                let phase = cycle / 500 % 6;
                // Events, heads, answers of the host, room for a record, commands.
                let (events, heads, answers, room, commands) = match phase {
                    0 => (0.9, 0.6, 0.9, 1.0, 0.002),
                    1 => (0.1, 0.05, 0.1, 0.5, 0.02),
                    2 => (0.9, 0.02, 0.01, 0.9, 0.001),
                    3 => (0.02, 0.5, 0.5, 0.2, 0.01),
                    4 => (0.5, 0.3, 0.4, 0.6, 0.005),
                    _ => (0.3, 0.01, 0.3, 1.0, 0.1),
                };
                let few = if phase % 2 == 0 { 3 << (cycle / 3000 % 5) } else { 63 };
                if cycle % 500 == 0 {
                    bench.others =
                        std::array::from_fn(|_| if rng.random_bool(0.1) { rng.random_range(0..256) } else { 0 });
                }
                for source in 0..RESERVED {
                    if bench.events[source].is_none() && rng.random_bool(events) {
                        bench.events[source] = Some((rng.random_range(0..PROCESSES) & few, event(&mut rng)));
                    }
                }
                let room_of = |bench: &Bench, pid: usize| {
                    let ring = &bench.model.rings[pid];
                    let used = (ring.written as u16).wrapping_sub(bench.model.heads[pid]);
                    (u64::from(ring.records)).saturating_sub(u64::from(used) + bench.owed[pid])
                };
                if bench.events[RESERVED].is_none() && rng.random_bool(events) {
                    let pid = rng.random_range(0..PROCESSES) & few;
                    if bench.model.open >> pid & 1 != 0 && bench.owed[pid] < 40 && room_of(&bench, pid) > 2 {
                        bench.owed[pid] += 1;
                    }
                    let due: Vec<usize> = (0..PROCESSES).filter(|pid| bench.owed[*pid] > bench.sent[*pid]).collect();
                    if let Some(pid) = due.choose(&mut rng).copied().filter(|_| rng.random_bool(0.7)) {
                        bench.sent[pid] += 1;
                        bench.events[RESERVED] = Some((pid, event(&mut rng)));
                    }
                }
                let mut head = None;
                if bench.ring.is_none() && rng.random_bool(commands) {
                    let pid = rng.random_range(0..PROCESSES) & few;
                    let open = rng.random_range(0..4) != 0;
                    let most = if rng.random_range(0..3) == 0 { 15 } else { 5 };
                    bench.ring = Some(command(&mut rng, pid, open, most));
                    // The reader of a new ring begins anew.
                    head = Some((pid, 0));
                } else if rng.random_bool(heads) {
                    if let Some(pid) = open_one(&mut rng, &bench.model) {
                        let at = bench.model.heads[pid];
                        let used = (bench.model.rings[pid].written as u16).wrapping_sub(at);
                        let busy = bench.ring.is_some_and(|ring| ring.pid.to_u64() == pid as u64);
                        if !busy {
                            head = Some((pid, at.wrapping_add(rng.random_range(0..=used))));
                        }
                    }
                }
                let ready = rng.random_bool(room) && bench.taken < FLYING;
                bench.step(head, ready, rng.random_bool(answers));
            }
        }
        assert!(bench.seen.iter().all(|count| *count > 10), "{:?}: as in `Bench`", bench.seen);
    });
}

/// Source 2 before others, and one ring at full speed: an event in two cycles, the first record four cycles after its event; the
/// numbers of records go on beyond the bits of the pointers.
#[test]
fn cycles_of_a_record() {
    run_with_wave_on_failure("event_rings_alone_cycles", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(Dut::new(wave, EventRings::new(), "event_rings"));
        bench.reset();
        let pid = rng.random_range(0..PROCESSES);
        bench.ring = Some(RingCommand { last: bits(0x7FFF), ..command(&mut rng, pid, true, 0) });
        let base = rng.random_range(0..1u64 << 44) << 15;
        bench.ring.as_mut().unwrap().base = bits(base);
        while bench.ring.is_some() {
            bench.step(None, true, false);
        }
        bench.events[0] = Some((pid, event(&mut rng)));
        let begin = bench.dut.cycle();
        while !bench.step(None, true, false) {}
        assert_eq!(bench.dut.cycle() - 1 - begin, 4, "event to record");
        let same = [event(&mut rng), event(&mut rng)];
        let (records, begin) = (share(66_000), bench.dut.cycle());
        let mut moved = 0;
        while moved < records {
            for (event, same) in bench.events.iter_mut().zip(same) {
                event.get_or_insert((pid, same));
            }
            let written = bench.model.rings[pid].written as u16;
            moved += usize::from(bench.step(Some((pid, written.wrapping_sub(moved as u16 % 8))), true, true));
        }
        let cycles = (bench.dut.cycle() - begin) as usize;
        assert!((2 * records..2 * records + 8).contains(&cycles), "{cycles} cycles for {records} records");
    });
}
