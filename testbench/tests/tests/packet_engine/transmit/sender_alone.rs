//! The sender alone, against a program that does its tasks one after another. Every cycle of the program is one of the hardware, in
//! which all outputs are compared: jobs, ends, events and refusals with all their fields.

use packet_engine::transmit::sender::congestion_window::{WindowSettings, QUIET_ROUNDS};
use packet_engine::transmit::sender::Sender;
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{EventDesc, FrameJob, PacketDesc, PutDesc, PutDone};
use spindle_blocks::RamStyle;
use spindle_contract::descriptors::{array_address, put_op};
use spindle_contract::events;
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::wire::{control, flag, nack, opcode, NACKS, PSN_WINDOW};
use spindle_harness::{near, random_bits, random_value, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const SLOTS: usize = 64;
const RECORDS: usize = 1024;
/// Responses that wait.
const RESPONSES: usize = 16;
/// Records that a timer sends again at once.
const BURST: usize = 16;
/// Number of the sender's node.
const OWN_NID: u64 = 0xA5C3_0F17;
/// Cycles in which the tables are cleared.
const CLEAR: u64 = 1024;

/// Values of the registers, and how busy the neighbours are.
#[derive(Clone, Debug)]
struct Phase {
    nodes: Vec<u8>,
    timeout: u64,
    hole_time: u64,
    retries: u64,
    limit: u64,
    incarnation: u32,
    /// Of a thousand cycles.
    puts: u32,
    responses: u32,
    losses: u32,
    /// Percent of the cycles in which jobs, ends and events are taken.
    jobs: u32,
    ends: u32,
    /// Percent of the responses that refuse.
    refusals: u32,
    /// Percent of the refusals that are temporary ones.
    temporary: u32,
    /// Percent of the puts that are long.
    long: u32,
    /// Percent of the puts that are not sequenced.
    plain: u32,
    /// Congestion windows.
    windows: Windows,
    /// Of a hundred acknowledgements, those with new marks.
    marks: u32,
    /// Puts that take turns.
    turns: u64,
}

/// Congestion windows, as the registers have them.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    enable: bool,
    shrink: u32,
    least: i64,
    first: i64,
    most: i64,
}

/// The path to a destination. What is in flight, and what is lost, is counted in its records.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    /// In sixteenths of a segment.
    window: i64,
    steady: bool,
    halved: bool,
    troubled: bool,
    quiet: u64,
    credit: bool,
    marks: u8,
    round: u32,
}

impl Path {
    fn whole(&self) -> usize {
        (self.window / 16) as usize
    }
}

/// What an acknowledgement reports to its path.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    limited: bool,
    marked: i64,
    settled: i64,
    loss: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Window {
    #[default]
    New,
    Opening,
    Open,
}

#[derive(Clone, Debug, Default)]
struct Destination {
    window: Window,
    /// Number of the oldest record.
    base: u32,
    /// Records, oldest first.
    list: VecDeque<usize>,
    deadline: u16,
    retries: u64,
    generation: u8,
    /// Code with which the window before was given up.
    code: u64,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    slot: usize,
    offset: u64,
    acked: bool,
    lost: bool,
    due: u16,
}

#[derive(Clone, Debug, Default)]
struct Put {
    desc: PutDesc,
    msg_id: u64,
    live: bool,
    /// Generation of the destination in the put's first turn.
    begun: Option<u8>,
    issued: bool,
    open: usize,
    failed: bool,
    code: u64,
    /// Time from which a temporary refusal ends the put.
    expires: Option<u16>,
}

impl Put {
    fn is(&self, op: u8) -> bool {
        self.desc.op.to_u64() == u64::from(op)
    }

    fn by_host(&self) -> bool {
        self.desc.issuer.handle.to_u64() == u64::from(put_op::HOST_HANDLE) && !self.is(put_op::GET_RESP)
    }

    /// The packet whose bytes are put.
    fn packet(&self) -> Option<u64> {
        let address = self.desc.host_address.to_u64();
        let of_packet = self.is(put_op::PUT) && !self.desc.from_host && address >> array_address::OF_PACKET & 1 == 1;
        of_packet.then_some(address >> array_address::PACKET & 0x3FF)
    }
}

/// The put that is being sent.
#[derive(Clone, Copy, Debug)]
struct Current {
    slot: usize,
    node: usize,
    offset: u64,
    left: u64,
    passes: bool,
    /// The put has had its turn.
    served: bool,
    /// The destination was given up meanwhile.
    given_up: bool,
}

/// Puts that wait for their turns: three cycles after its write, a word can be read.
#[derive(Clone, Debug, Default)]
struct Waiting {
    stored: VecDeque<Current>,
    fetched: Option<Current>,
    head: Option<Current>,
    /// What the coming clock edge writes and takes.
    push: Option<Current>,
    pop: bool,
}

impl Waiting {
    fn len(&self) -> usize {
        self.stored.len() + usize::from(self.fetched.is_some()) + usize::from(self.head.is_some())
    }

    fn tick(&mut self) {
        let moves = std::mem::take(&mut self.pop) || self.head.is_none();
        let next = if moves || self.fetched.is_none() { self.stored.pop_front() } else { None };
        if moves {
            self.head = self.fetched.take();
        }
        self.fetched = next.or(self.fetched);
        self.stored.extend(self.push.take());
    }
}

/// A response as the parser hands it over.
#[derive(Clone, Copy, Debug)]
struct Response {
    node: usize,
    expected: u32,
    selective: u64,
    about: u32,
    refuses: bool,
    code: u64,
    opens: bool,
    incarnation: u32,
    stranger: bool,
    marks: u8,
}

/// What the outputs show in a cycle, apart from the job.
#[derive(Clone, Copy, Debug, Default)]
struct Shows {
    /// A put is taken if there is one.
    ready: bool,
    done: Option<PutDone>,
    event: Option<EventDesc>,
    refused: Option<u64>,
}

/// What was taken in a cycle.
struct Moves {
    end: bool,
}

const IDLE: Shows = Shows { ready: false, done: None, event: None, refused: None };

/// A time of 16 bits is over.
fn over(now: u16, deadline: u16) -> bool {
    now.wrapping_sub(deadline) < 0x8000
}

struct Bench {
    dut: Dut<Sender>,
    rng: ChaCha8Rng,
    phase: Phase,
    /// The nodes of all phases.
    pool: Vec<u8>,
    ticks: u64,
    offered: Option<PutDesc>,
    enable: bool,
    // Times that a record gets, and the age of puts: a cycle old.
    hole_at: u16,
    timeout_at: u16,
    expires_at: u16,
    era: u16,
    /// The response of the cycle before, whose ICRC is compared.
    arrived: Option<Response>,
    responses: VecDeque<Response>,
    lost: Option<usize>,
    due: bool,
    scan: u8,
    job: Option<FrameJob>,
    /// A record was sent again in the cycle before.
    resent: bool,
    looked_up: bool,
    destinations: Vec<Destination>,
    /// None: the window has not begun.
    paths: Vec<Option<Path>>,
    records: Vec<Option<Record>>,
    free: VecDeque<usize>,
    puts: Vec<Put>,
    next_slot: usize,
    number: u64,
    current: Option<Current>,
    waiting: Waiting,
    seen: BTreeMap<&'static str, usize>,
}

impl Bench {
    fn new(wave: &WaveContext, pool: &[u8], phase: Phase) -> Self {
        let dut = Dut::new(wave, Sender::new(RamStyle::Block), "sender");
        let mut bench = Bench {
            dut,
            rng: wave.rng(),
            phase: phase.clone(),
            pool: pool.to_vec(),
            ticks: 0,
            offered: None,
            enable: true,
            hole_at: 0,
            timeout_at: 0,
            expires_at: 0,
            era: 0,
            arrived: None,
            responses: VecDeque::new(),
            lost: None,
            due: false,
            scan: 0,
            job: None,
            resent: false,
            looked_up: false,
            destinations: vec![Destination::default(); 256],
            paths: vec![None; 256],
            records: vec![None; RECORDS],
            free: (0..RECORDS).collect(),
            puts: vec![Put::default(); SLOTS],
            next_slot: 0,
            number: 0,
            current: None,
            waiting: Waiting::default(),
            seen: BTreeMap::new(),
        };
        bench.enter(phase);
        bench.cycles(CLEAR as usize);
        bench
    }

    fn enter(&mut self, phase: Phase) {
        self.dut.timeout.set(phase.timeout);
        self.dut.hole_time.set(phase.hole_time);
        self.dut.retries.set(phase.retries);
        self.dut.limit.set(phase.limit);
        self.dut.incarnation.set(phase.incarnation);
        self.dut.own_nid.set(OWN_NID);
        self.dut.turns.set(phase.turns);
        let Windows { enable, shrink, least, first, most } = phase.windows;
        self.dut.windows.set(WindowSettings {
            enable,
            shrink: bits(u64::from(shrink)),
            least: bits(least as u64),
            first: bits(first as u64),
            most: bits(most as u64),
        });
        (self.phase, self.enable) = (phase, true);
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    /// Time in units of 64 cycles.
    fn now(&self) -> u16 {
        (self.ticks >> 6) as u16
    }

    // What the neighbours do.

    fn random_put(&mut self) -> PutDesc {
        let host = self.percent(40);
        let plain = self.percent(self.phase.plain);
        let mut put: PutDesc = random_value(&mut self.rng);
        put.node = bits(u64::from(*self.phase.nodes.choose(&mut self.rng).expect("a node")));
        if self.percent(80) {
            put.op =
                bits(*[put_op::PUT, put_op::PUT, put_op::GET, put_op::GET_RESP].choose(&mut self.rng).expect("one"));
        }
        let segment = SEGMENT_BYTES as u64;
        put.length = if self.percent(self.phase.long) {
            random_value(&mut self.rng)
        } else {
            let segments = self.rng.random_range(0..5) * segment;
            bits(match self.rng.random_range(0..3) {
                0 => segments,
                1 => segments + 1,
                _ => segments + self.rng.random_range(0..segment),
            })
        };
        if host {
            put.issuer.handle = bits(put_op::HOST_HANDLE);
        }
        put.flags = put.flags & !bits::<16>(flag::UNSEQ);
        if plain {
            put.flags = put.flags | bits::<16>(flag::UNSEQ);
        }
        put
    }

    /// A response of a node, mostly one that makes sense, and what the sender is to take it for.
    fn random_response(&mut self) -> (PacketDesc, bool, Option<Response>) {
        let waits = |node: &u8| {
            let destination = &self.destinations[usize::from(*node)];
            destination.window == Window::Opening || !destination.list.is_empty()
        };
        let waiting: Vec<u8> = self.pool.iter().copied().filter(waits).collect();
        let node = match (self.rng.random_range(0..20), waiting.choose(&mut self.rng)) {
            (0, _) => self.rng.random(),
            (1..18, Some(node)) => *node,
            _ => *self.phase.nodes.choose(&mut self.rng).expect("a node"),
        };
        let rng = &mut self.rng;
        let destination = &self.destinations[usize::from(node)];
        let count = destination.list.len() as u32;
        let freed = match rng.random_range(0..20) {
            0 => count + rng.random_range(0..3),
            1 => u32::MAX - rng.random_range(0..3),
            2 => 1 << rng.random_range(0..32),
            3..6 => count,
            6..10 => 0,
            10 => rng.random_range(0..=count),
            _ => rng.random_range(0..=count.min(40)),
        };
        let expected = destination.base.wrapping_add(freed);
        let selective = match rng.random_range(0..4) {
            0 => 0,
            1 => 1 << rng.random_range(0..count.clamp(1, 64)),
            _ => random_value::<Bits<64>>(rng).to_u64() & !(u64::MAX << rng.random_range(0..64)),
        };
        let about = destination.base.wrapping_add(match rng.random_range(0..20) {
            0 => 1 << rng.random_range(0..32),
            1 => rng.random(),
            _ => freed.wrapping_add(rng.random_range(0..8)),
        });
        let code = if rng.random_range(0..100) < self.phase.temporary {
            u64::from(*[nack::NO_BUFFER, nack::BUSY].choose(rng).expect("a code"))
        } else if rng.random_bool(0.9) {
            u64::from(NACKS.choose(rng).expect("a code").1)
        } else {
            random_value::<Bits<8>>(rng).to_u64()
        };
        let refuses = rng.random_range(0..100) < self.phase.refusals;
        let opening = destination.window == Window::Opening;
        let ours = u64::from(self.phase.incarnation ^ u32::from(destination.generation));
        let incarnation = near(rng, ours, 32, 4) as u32;
        let opens = rng.random_bool(if opening { 0.8 } else { 0.02 });
        let msg_id = u64::from(control::OPEN);
        let msg_id = match rng.random_range(0..2) {
            _ if opens => msg_id,
            0 => near(rng, msg_id, 32, 1),
            _ => u64::from(rng.random::<u32>() | 2),
        };
        let mut packet: PacketDesc = random_bits(rng);
        packet.is_spindle = rng.random_bool(0.97);
        packet.opcode = bits(if refuses { opcode::NACK } else { opcode::ACK });
        if rng.random_bool(0.05) {
            packet.opcode = bits(near(rng, u64::from(opcode::ACK), 8, 1));
        }
        packet.flags = packet.flags & !bits::<16>(flag::UNSEQ);
        if rng.random_bool(0.03) {
            packet.flags = packet.flags | bits::<16>(flag::UNSEQ);
        }
        packet.src_nid = bits(u64::from(rng.random::<u32>() << 8) | u64::from(node));
        packet.psn = bits(u64::from(expected.wrapping_sub(1)));
        packet.msg_len = bits(selective >> 32);
        packet.msg_off = bits(selective & 0xFFFF_FFFF);
        packet.buf_off = bits(u64::from(about));
        let known = self.paths[usize::from(node)].map_or(0, |path| path.marks);
        let marks = match rng.random_range(0..100) {
            0 => rng.random(),
            draw if draw < self.phase.marks => known.wrapping_add(rng.random_range(0..8)),
            _ => known,
        };
        packet.key = bits(code << 24 | u64::from(marks) << 16 | u64::from(rng.random::<u16>()));
        packet.msg_id = bits(msg_id);
        packet.addr = bits(u64::from(rng.random::<u32>()) << 32 | u64::from(incarnation));
        let mut code = code;
        if rng.random_bool(0.01) {
            // The node keeps numbers of another one in our entry.
            let no_peer = u64::from(nack::NO_PEER);
            code = if rng.random_bool(0.8) { no_peer } else { near(rng, no_peer, 8, 1) };
            packet.key = bits(code << 24);
            packet.opcode = bits(if rng.random_bool(0.9) { opcode::NACK } else { opcode::ACK });
            packet.flags = packet.flags | bits::<16>(flag::UNSEQ);
            let ours = if rng.random_bool(0.8) { OWN_NID } else { near(rng, OWN_NID, 32, 4) };
            packet.addr = bits(ours << 32 | u64::from(incarnation));
        }
        let drop = rng.random_bool(0.03);
        let code_of = packet.opcode.to_u64();
        let answers = [opcode::ACK, opcode::NACK].map(u64::from).contains(&code_of);
        let stranger = packet.flags.to_u64() & u64::from(flag::UNSEQ) != 0;
        let refuses_us = code_of == u64::from(opcode::NACK)
            && code == u64::from(nack::NO_PEER)
            && packet.addr.to_u64() >> 32 == OWN_NID;
        let counts = !stranger || refuses_us;
        let taken = (packet.is_spindle && answers && counts && !drop && self.enable).then_some(Response {
            node: usize::from(node),
            expected,
            selective,
            about,
            refuses: code_of == u64::from(opcode::NACK),
            code,
            opens: msg_id == u64::from(control::OPEN),
            incarnation,
            stranger,
            marks: packet.key.to_u64().to_le_bytes()[2],
        });
        (packet, drop, taken)
    }

    /// A record under way, or another one that was in use.
    fn random_record(&mut self) -> Option<usize> {
        let node = usize::from(*self.phase.nodes.choose(&mut self.rng).expect("a node"));
        let youngest = self.destinations[node].list.back().copied().filter(|_| self.rng.random_bool(0.7));
        youngest.or(Some(self.rng.random_range(0..RECORDS))).filter(|at| self.records[*at].is_some())
    }

    /// A cycle: random inputs, and a comparison of all outputs.
    fn cycle(&mut self, shows: Shows) -> Moves {
        self.dut.enable.set(self.enable);
        self.dut.put.valid.set(self.offered.is_some());
        let responds = self.rng.random_range(0..1000) < self.phase.responses;
        let response = responds.then(|| self.random_response());
        self.dut.parsed.valid.set(responds);
        if let Some((packet, drop, _)) = &response {
            self.dut.parsed.set(*packet);
            self.dut.parsed.drop.set(*drop);
        }
        let spoilt = self.percent(5);
        self.dut.bad_icrc.set(spoilt);
        let lost = if self.rng.random_range(0..1000) < self.phase.losses { self.random_record() } else { None };
        self.dut.lost.valid.set(lost.is_some());
        if let Some(at) = lost {
            self.dut.lost.set(at);
        }
        let (job_ready, done_ready, event_ready) =
            (self.percent(self.phase.jobs), self.percent(self.phase.ends), self.percent(self.phase.ends));
        self.dut.job.ready.set(job_ready);
        self.dut.done.ready.set(done_ready);
        self.dut.put_event.ready.set(event_ready);
        self.dut.eval();

        let dut = &self.dut;
        let found = [
            dut.put.ready.is_high(),
            dut.job.valid.is_high(),
            dut.done.valid.is_high(),
            dut.put_event.valid.is_high(),
            dut.resent.is_high(),
            dut.refused.is_high(),
        ];
        let expected = [
            shows.ready,
            self.job.is_some(),
            shows.done.is_some(),
            shows.event.is_some(),
            self.resent,
            shows.refused.is_some(),
        ];
        assert_eq!(found, expected, "cycle {}: put, job, done, event, resent, refused", self.ticks);
        // What waits does not change meanwhile, which the law of the channels says.
        if let Some(job) = self.job.filter(|_| job_ready) {
            assert_eq!(meaning(dut.job.get()), meaning(job), "cycle {}", self.ticks);
        }
        if let Some(done) = shows.done.filter(|_| done_ready) {
            assert_eq!(dut.done.get(), done, "cycle {}", self.ticks);
        }
        if let Some(event) = shows.event.filter(|_| event_ready) {
            assert_eq!(dut.put_event.get(), event, "cycle {}", self.ticks);
        }
        if let Some(refusal) = shows.refused {
            assert_eq!(dut.refusal.number(), refusal, "cycle {}", self.ticks);
        }

        // What the coming clock edge takes.
        if let Some(response) = std::mem::replace(&mut self.arrived, response.and_then(|(.., taken)| taken)) {
            if spoilt {
                self.saw("responses with a wrong ICRC");
            } else if self.responses.len() < RESPONSES {
                self.responses.push_back(response);
            } else {
                self.saw("responses lost");
            }
        }
        if lost.is_some() {
            self.lost = lost;
        }
        self.due |= self.ticks.is_multiple_of(16);
        if job_ready {
            self.job = None;
        }
        self.resent = false;
        if shows.ready {
            self.offered = None;
        }
        self.hole_at = self.now().wrapping_add(self.phase.hole_time as u16);
        self.timeout_at = self.now().wrapping_add(self.phase.timeout as u16);
        self.era = (self.ticks >> 10) as u16;
        self.expires_at = self.era.wrapping_add(self.phase.limit as u16);
        self.waiting.tick();
        self.dut.tick();
        self.ticks += 1;
        // The put of the coming cycle: whether there is one decides about turns.
        if self.offered.is_none() && self.rng.random_range(0..1000) < self.phase.puts {
            let put = self.random_put();
            self.dut.put.set(put);
            self.offered = Some(put);
        }
        if self.phase.plain > 0 && self.rng.random_range(0..2000) == 0 {
            self.enable = !self.enable || self.rng.random_bool(0.8);
        }
        Moves { end: shows.done.is_some() && done_ready || shows.event.is_some() && event_ready }
    }

    fn cycles(&mut self, count: usize) {
        for _ in 0..count {
            self.cycle(IDLE);
        }
    }

    // The tasks of the sender.

    /// A cycle in which the next task is chosen, and the task.
    fn turn(&mut self) {
        let looked_up = std::mem::take(&mut self.looked_up);
        if let Some(response) = self.responses.front().copied() {
            self.cycle(IDLE);
            self.responses.pop_front();
            self.respond(response);
        } else if let Some(at) = self.lost.take() {
            self.cycle(IDLE);
            self.lose(at);
        } else if self.due {
            self.cycle(IDLE);
            self.due = false;
            let node = usize::from(self.scan);
            self.scan = self.scan.wrapping_add(1);
            self.check_timer(node);
        } else if let Some(current) = self.current.filter(|current| self.yields(current)) {
            self.waiting.push = Some(Current { served: false, ..current });
            self.current = None;
            self.cycle(IDLE);
            self.saw("turns that pass");
        } else if let Some(current) = self.current {
            let free = self.job.is_none();
            self.cycle(IDLE);
            match (free, current.passes) {
                (false, _) => {}
                (true, true) => {
                    let put = self.puts[current.slot].clone();
                    self.send(whole(&put), None);
                    self.current = None;
                    self.saw("puts that pass");
                    if current.given_up {
                        self.saw("puts that pass to a destination that was given up meanwhile");
                    }
                }
                (true, false) => self.issue(current),
            }
        } else {
            // The state of the slot is known in the second cycle without a task.
            let (slot, limit, expires_at) = (self.next_slot, self.phase.limit, self.expires_at);
            let others = self.waiting.len() as u64;
            let room = others == 0 || others < self.phase.turns;
            let ready = looked_up && !self.puts[slot].live && room;
            if looked_up && self.puts[slot].live {
                self.saw("all slots are taken");
            }
            if looked_up && !room {
                self.saw("turns that all have puts");
            }
            if let Some(desc) = self.offered.filter(|_| ready) {
                let sequenced = self.enable && desc.flags.to_u64() & u64::from(flag::UNSEQ) == 0;
                self.begin(slot, desc, sequenced, (limit != 0).then_some(expires_at));
            } else if let Some(next) = self.waiting.head.filter(|_| looked_up) {
                self.waiting.pop = true;
                self.current = Some(next);
                self.looked_up = true;
            } else {
                self.looked_up = true;
            }
            self.cycle(Shows { ready, ..IDLE });
        }
    }

    /// The put at hand makes room for another one.
    fn yields(&self, current: &Current) -> bool {
        current.served && self.phase.turns > 1 && (self.waiting.len() > 0 || self.offered.is_some())
    }

    fn begin(&mut self, slot: usize, desc: PutDesc, sequenced: bool, expires: Option<u16>) {
        let msg_id = 3 << 30 | self.number << 6 | slot as u64;
        let mut put = Put { desc, msg_id, live: sequenced, expires, ..Put::default() };
        if put.is(put_op::GET_RESP) {
            put.msg_id = desc.reply_key.to_u64();
        }
        let begun = Current {
            slot,
            node: desc.node.to_u64() as usize,
            offset: 0,
            left: if put.is(put_op::GET) { 0 } else { desc.length.to_u64() },
            passes: !sequenced,
            served: false,
            given_up: false,
        };
        if sequenced && self.waiting.len() > 0 {
            self.waiting.push = Some(begun);
            self.saw("puts that wait for their first turn");
        } else {
            self.current = Some(begun);
        }
        self.puts[slot] = put;
        if sequenced {
            self.next_slot = (slot + 1) % SLOTS;
            self.number = (self.number + 1) % (1 << 24);
        }
    }

    /// The job of a record, when it leaves: the address takes two cycles.
    fn send(&mut self, job: FrameJob, record: Option<(usize, Record)>) {
        self.cycles(2);
        while self.job.is_some() {
            self.cycle(IDLE);
        }
        if let Some((at, record)) = record {
            self.records[at] = Some(Record { due: self.hole_at, lost: false, ..record });
        }
        self.cycle(IDLE);
        self.job = Some(job);
    }

    fn send_again(&mut self, at: usize, psn: u32) {
        let record = self.records[at].expect("it was sent");
        let put = &self.puts[record.slot];
        let what = if put.failed { "NOPs" } else { "segments sent again" };
        let job = segment(put, &record, at, psn, true, false);
        self.saw(what);
        self.send(job, Some((at, record)));
        self.resent = true;
    }

    /// The segment of a record is acknowledged or given up. Its put, if that was the last one.
    fn settle(&mut self, at: usize) -> Option<usize> {
        let record = self.records[at].expect("it was sent");
        if record.acked {
            return None;
        }
        let put = &mut self.puts[record.slot];
        put.open -= 1;
        (put.issued && put.open == 0).then_some(record.slot)
    }

    /// A put is over.
    fn end(&mut self, slot: Option<usize>) {
        let Some(slot) = slot else { return };
        let put = self.puts[slot].clone();
        let desc = put.desc;
        if put.is(put_op::GET_RESP) {
            self.cycle(IDLE);
        } else if put.packet().is_some() {
            // A job, after those that read the packet.
            while self.job.is_some() {
                self.cycle(IDLE);
            }
            self.cycle(IDLE);
            let job = whole(&put);
            self.job = Some(FrameJob { over: true, failed: put.failed, ..job });
            self.saw("puts of packets that end");
        } else {
            let done = PutDone {
                issuer: desc.issuer,
                error: put.failed,
                of_context: !desc.from_host && put.is(put_op::PUT),
                spare: bits(0),
            };
            while !self.cycle(Shows { done: Some(done), ..IDLE }).end {}
        }
        if put.by_host() {
            let event = EventDesc {
                pid: bits(desc.src_pid.to_u64() & 63),
                kind: bits(events::PUT),
                code: bits(u64::from(put.failed)),
                id: bits(put.msg_id),
                length: desc.length,
                extra: bits(put.code),
                source: bits(desc.frame.to_u64() << 16 | desc.node.to_u64()),
                user: desc.addr,
                ..EventDesc::default()
            };
            while !self.cycle(Shows { event: Some(event), ..IDLE }).end {}
        } else {
            self.cycle(IDLE);
        }
        self.saw(match (put.failed, put.code) {
            (false, _) => "puts that end well",
            (true, 0) => "puts that fail without a reason",
            (true, code) if code < u64::from(nack::NO_MAILBOX) => "puts that exceed the limit",
            _ => "puts that are refused",
        });
        self.puts[slot].live = false;
    }

    fn incarnation(&self, node: usize) -> u32 {
        self.phase.incarnation ^ u32::from(self.destinations[node].generation)
    }

    fn restart_timer(&mut self, node: usize) {
        self.destinations[node].retries = 0;
        self.destinations[node].deadline = self.timeout_at;
    }

    /// The path to a node, which begins if it has not.
    fn path(&self, node: usize) -> Path {
        self.paths[node].unwrap_or(Path { window: self.phase.windows.first * 16, ..Path::default() })
    }

    /// Records of a node whose segments are not acknowledged: in flight, and lost.
    fn open_records(&self, node: usize) -> (usize, usize) {
        let records = self.destinations[node].list.iter().map(|at| self.records[*at].expect("it was sent"));
        let open: Vec<Record> = records.filter(|record| !record.acked).collect();
        let lost = open.iter().filter(|record| record.lost).count();
        (open.len() - lost, lost)
    }

    /// The window has room for one in flight more than there are, less `but`.
    fn room(&self, node: usize, but: usize) -> bool {
        !self.phase.windows.enable || self.open_records(node).0 < self.path(node).whole() + but
    }

    /// A segment is sent: beyond the window, the credit is used up.
    fn spend(&mut self, node: usize) {
        let mut path = self.path(node);
        path.credit &= self.open_records(node).0 < path.whole();
        self.paths[node] = Some(path);
    }

    /// A segment of a node is acknowledged, if it was not.
    fn earn(&mut self, node: usize, at: usize, news: &mut News) {
        if !self.records[at].expect("it was sent").acked {
            news.settled += 1;
            self.paths[node] = Some(Path { credit: true, ..self.path(node) });
        }
    }

    /// The window after an acknowledgement.
    fn adapt(&mut self, node: usize, news: News) {
        let Windows { shrink, least, most, .. } = self.phase.windows;
        let mut path = self.path(node);
        let destination = &self.destinations[node];
        let next = destination.base.wrapping_add(destination.list.len() as u32);
        let over = destination.base.wrapping_sub(path.round) & 0xFFF < 0x800;
        let halves = news.loss && !path.halved;
        let trouble = news.loss || news.marked > 0;
        let mut window = if halves { path.window / 2 } else { path.window };
        if news.limited && !halves {
            window += match path.steady {
                true => i64::from(over) * 16,
                false if news.marked > 0 => 0,
                false => news.settled.min(1023) * 16,
            };
        }
        window -= (news.marked * 16) >> shrink;
        path.window = if window < least * 16 { least * 16 } else { window.min(most * 16) };
        let clean = over && !path.troubled && !trouble;
        path.quiet = match (clean, over || halves || trouble) {
            (true, _) => path.quiet + 1,
            (false, true) => 0,
            (false, false) => path.quiet,
        };
        path.steady |= trouble;
        if path.quiet == QUIET_ROUNDS {
            (path.quiet, path.steady) = (0, false);
            self.saw("paths that are quiet");
        }
        path.halved = halves || path.halved && !over;
        path.troubled = if over || halves { halves } else { path.troubled || trouble };
        if over || halves {
            path.round = next;
            self.saw(if halves { "windows halved" } else { "rounds" });
        }
        self.paths[node] = Some(path);
    }

    fn respond(&mut self, response: Response) {
        let node = response.node;
        self.cycle(IDLE);
        let incarnation = self.incarnation(node);
        let destination = &mut self.destinations[node];
        if response.stranger {
            let number = response.about.wrapping_sub(destination.base);
            let counts = match destination.window {
                Window::New => false,
                Window::Opening => response.opens && response.incarnation == incarnation,
                Window::Open => !response.opens && number < destination.list.len() as u32,
            };
            self.cycle(IDLE);
            if counts {
                self.give_up(node, u64::from(nack::NO_PEER));
                self.saw("destinations that keep another node");
            }
            return;
        }
        if response.opens {
            let opened = destination.window == Window::Opening && response.incarnation == incarnation;
            if opened {
                destination.window = Window::Open;
            }
            self.cycle(IDLE);
            if opened {
                let mut path = self.path(node);
                if !response.refuses {
                    path.marks = response.marks;
                }
                self.paths[node] = Some(path);
                self.saw("windows that are opened");
                self.cycle(IDLE);
            }
            return;
        }
        let freed = response.expected.wrapping_sub(destination.base);
        if destination.window != Window::Open || freed > destination.list.len() as u32 {
            self.cycle(IDLE);
            self.saw("responses about unknown numbers");
            return;
        }
        let mut path = self.path(node);
        let mut news = News { limited: 2 * self.open_records(node).0 >= path.whole(), ..News::default() };
        let fresh = response.marks.wrapping_sub(path.marks);
        if !response.refuses && fresh < 128 {
            (news.marked, path.marks) = (i64::from(fresh), response.marks);
        }
        self.paths[node] = Some(path);
        let destination = &mut self.destinations[node];
        // Records from the oldest one to that which is refused.
        let ahead = response.about.wrapping_sub(destination.base);
        let mut ahead = Some(ahead).filter(|ahead| response.refuses && *ahead < 2 * PSN_WINDOW as u32);
        if response.refuses && response.code < u64::from(nack::NO_MAILBOX) {
            destination.retries = 0;
            destination.deadline = self.hole_at;
        }
        self.cycle(IDLE);
        for _ in 0..freed {
            self.cycle(IDLE);
            self.restart_timer(node);
            let destination = &mut self.destinations[node];
            let at = destination.list.pop_front().expect("a record");
            destination.base = destination.base.wrapping_add(1);
            self.free.push_back(at);
            ahead = ahead.and_then(|ahead| ahead.checked_sub(1));
            self.earn(node, at, &mut news);
            let ends = self.settle(at);
            self.cycle(IDLE);
            self.end(ends);
        }
        self.cycle(IDLE);
        let mut bitmap = response.selective;
        for (position, at) in self.destinations[node].list.clone().into_iter().enumerate() {
            let refills = self.open_records(node).1 > 0 && (self.room(node, 0) || self.path(node).credit);
            if bitmap == 0 && ahead.is_none() && !refills {
                break;
            }
            let refused = ahead == Some(0);
            self.cycles(if refused { 2 } else { 1 });
            let record = self.records[at].expect("it was sent");
            let put = &mut self.puts[record.slot];
            let missing = bitmap & 1 == 0 && !record.acked;
            let aged = put.expires.is_some_and(|expires| over(self.era, expires));
            let code = response.code;
            let temporary = code < u64::from(nack::PSN_WINDOW);
            let for_good = refused && (code >= u64::from(nack::NO_MAILBOX) || temporary && aged);
            if missing && for_good {
                (put.failed, put.code) = (true, code);
            }
            let pulse = (missing && refused && put.by_host()).then(|| code << 16 | put.desc.frame.to_u64());
            let now = (self.ticks >> 6) as u16;
            let hole = missing && bitmap != 0 && over(now, record.due);
            let fits = self.room(node, usize::from(!record.lost)) || self.path(node).credit;
            let again = missing && for_good || (hole || missing && record.lost) && fits;
            if hole && !for_good && !record.lost && self.phase.windows.enable {
                news.loss = true;
                if !again {
                    self.records[at].as_mut().expect("it was sent").lost = true;
                    self.saw("lost segments that wait");
                }
            }
            let mut ends = None;
            if bitmap & 1 == 1 && !record.acked {
                self.earn(node, at, &mut news);
                ends = self.settle(at);
                self.records[at].as_mut().expect("it was sent").acked = true;
                self.restart_timer(node);
                self.saw("records marked");
            }
            bitmap >>= 1;
            ahead = ahead.and_then(|ahead| ahead.checked_sub(1));
            self.cycle(Shows { refused: pulse, ..IDLE });
            if pulse.is_some() {
                self.saw("refusals reported");
            }
            self.end(ends);
            if again {
                self.saw(if for_good { "records refused for good" } else { "holes" });
                let psn = self.destinations[node].base.wrapping_add(position as u32);
                self.spend(node);
                if record.lost {
                    self.saw("lost segments that have waited");
                }
                self.send_again(at, psn);
            }
        }
        if self.phase.windows.enable {
            self.adapt(node, news);
            self.cycles(2);
        }
        // The end of the bitmap, and the destination is written back.
        self.cycles(2);
    }

    /// The frame of a record cannot be made.
    fn lose(&mut self, at: usize) {
        self.cycle(IDLE);
        let record = self.records[at].expect("it was sent");
        let put = &mut self.puts[record.slot];
        if put.live && !record.acked {
            put.failed = true;
            self.saw("frames lost");
        }
        self.cycle(IDLE);
    }

    fn check_timer(&mut self, node: usize) {
        let now = self.now();
        let destination = &mut self.destinations[node];
        let waits = match destination.window {
            Window::New => false,
            Window::Opening => true,
            Window::Open => !destination.list.is_empty(),
        };
        if !waits || !over(now, destination.deadline) {
            self.cycle(IDLE);
            return;
        }
        let given_up = destination.retries >= self.phase.retries;
        destination.deadline = now.wrapping_add((self.phase.timeout << destination.retries.min(3)) as u16);
        destination.retries = (destination.retries + 1) % 16;
        self.cycle(IDLE);
        if given_up {
            self.give_up(node, 0);
        } else if self.destinations[node].window == Window::Opening {
            while self.job.is_some() {
                self.cycle(IDLE);
            }
            let open = self.open(node);
            self.cycle(IDLE);
            self.job = Some(open);
            self.paths[node] = Some(self.path(node));
            self.cycle(IDLE);
            self.saw("windows opened again");
        } else if self.destinations[node]
            .list
            .front()
            .is_some_and(|at| self.records[*at].is_some_and(|oldest| oldest.acked))
        {
            while self.job.is_some() {
                self.cycle(IDLE);
            }
            let question = FrameJob {
                flags: bits(flag::ACK_REQ | flag::RETX),
                msg_id: bits(control::NOP),
                psn: bits(self.destinations[node].base),
                ..self.open(node)
            };
            self.cycle(IDLE);
            self.job = Some(question);
            self.paths[node] = Some(self.path(node));
            self.cycle(IDLE);
            self.saw("destinations that are asked what they expect");
        } else {
            let base = self.destinations[node].base;
            let windows = self.phase.windows;
            let burst = if windows.enable { RECORDS } else { BURST };
            let oldest: Vec<usize> = self.destinations[node].list.iter().copied().take(burst).collect();
            let next = base.wrapping_add(self.destinations[node].list.len() as u32);
            for (position, at) in oldest.into_iter().enumerate() {
                self.cycles(2);
                let record = self.records[at].as_mut().expect("it was sent");
                if !record.acked && windows.enable && position > 0 {
                    record.lost = true;
                } else if !record.acked {
                    self.spend(node);
                    self.send_again(at, base.wrapping_add(position as u32));
                }
            }
            let path = self.path(node);
            self.paths[node] = Some(if windows.enable {
                self.saw("timeouts of a window");
                let window = windows.least * 16;
                Path { window, halved: true, troubled: true, round: next, marks: path.marks, ..Path::default() }
            } else {
                path
            });
            self.cycles(2);
            self.saw("timeouts");
        }
    }

    fn give_up(&mut self, node: usize, code: u64) {
        while let Some(at) = self.destinations[node].list.pop_front() {
            self.cycle(IDLE);
            self.free.push_back(at);
            let record = self.records[at].expect("it was sent");
            let put = &mut self.puts[record.slot];
            if !record.acked && !put.failed {
                (put.failed, put.code) = (true, code);
            }
            let ends = self.settle(at);
            self.cycle(IDLE);
            self.end(ends);
        }
        let generation = self.destinations[node].generation.wrapping_add(1);
        self.destinations[node] = Destination { generation, code, ..Destination::default() };
        self.paths[node] = None;
        if let Some(current) = self.current.as_mut().filter(|current| current.node == node) {
            current.given_up = true;
        }
        self.cycles(2);
        self.saw("destinations given up");
    }

    fn open(&self, node: usize) -> FrameJob {
        let incarnation = u64::from(self.incarnation(node));
        FrameJob {
            opcode: bits(opcode::CTRL),
            flags: bits(flag::ACK_REQ),
            node: bits(node as u64),
            addr: bits(incarnation),
            key: bits(incarnation),
            single: true,
            msg_id: bits(control::OPEN),
            numbered: true,
            tracked: true,
            ..FrameJob::default()
        }
    }

    /// The next segment of the current put, if its destination has room.
    fn issue(&mut self, current: Current) {
        let Current { slot, node, offset, left, .. } = current;
        let current = Current { served: true, ..current };
        self.current = Some(current);
        self.cycle(IDLE);
        let put = &mut self.puts[slot];
        let Destination { generation, code, .. } = self.destinations[node];
        if put.failed || *put.begun.get_or_insert(generation) != generation {
            if !put.failed {
                put.code = code;
            }
            (put.failed, put.issued) = (true, true);
            let over = (put.open == 0).then_some(slot);
            self.current = None;
            self.cycle(IDLE);
            self.end(over);
            self.saw("puts that are not sent to the end");
            return;
        }
        let destination = &mut self.destinations[node];
        let count = destination.list.len();
        if destination.window == Window::New {
            let opens = self.phase.incarnation != 0 || destination.generation != 0;
            destination.window = if opens { Window::Opening } else { Window::Open };
            destination.deadline = self.timeout_at;
            let open = opens.then(|| self.open(node));
            self.cycle(IDLE);
            self.job = self.job.or(open);
            self.paths[node] = Some(self.path(node));
            self.cycle(IDLE);
            self.saw(if opens { "windows to open" } else { "windows without OPEN" });
            return;
        }
        if destination.window != Window::Open || count == PSN_WINDOW || self.free.is_empty() {
            self.cycle(IDLE);
            self.saw(if count == PSN_WINDOW { "windows that are full" } else { "segments that wait" });
            return;
        }
        let credit = self.path(node).credit && self.open_records(node).1 == 0;
        if !self.room(node, 0) && !credit {
            self.cycle(IDLE);
            self.saw("segments that find no room");
            return;
        }
        self.spend(node);
        let destination = &mut self.destinations[node];
        let put = &mut self.puts[slot];
        let at = self.free.pop_front().expect("one is free");
        let psn = destination.base.wrapping_add(count as u32);
        let last = left <= SEGMENT_BYTES as u64;
        if count == 0 {
            (destination.deadline, destination.retries) = (self.timeout_at, 0);
        }
        destination.list.push_back(at);
        (put.issued, put.open) = (last, put.open + 1);
        let record = Record { slot, offset, acked: false, lost: false, due: 0 };
        self.records[at] = Some(record);
        let flight = self.open_records(node).0;
        let asks = self.phase.windows.enable && (flight < 4 || 2 * flight >= self.path(node).whole());
        let job = segment(&self.puts[slot], &record, at, psn, false, asks);
        let next =
            Current { offset: offset + SEGMENT_BYTES as u64, left: left.wrapping_sub(SEGMENT_BYTES as u64), ..current };
        self.current = (!last).then_some(next);
        self.cycle(IDLE);
        self.send(job, Some((at, record)));
        self.cycle(IDLE);
        self.saw("segments");
    }
}

/// All frames of a put that passes.
fn whole(put: &Put) -> FrameJob {
    let desc = &put.desc;
    let get = put.is(put_op::GET);
    let flags = desc.flags.to_u64();
    FrameJob {
        opcode: bits(kind(put)),
        flags: bits(flags | u64::from(flag::UNSEQ)),
        node: desc.node,
        src_pid: desc.src_pid,
        dst_pid: desc.dst_pid,
        addr: desc.addr,
        key: desc.key,
        buf_off: desc.buf_off,
        msg_len: desc.length,
        msg_off: bits(0),
        left: if get { bits(0) } else { desc.length },
        single: false,
        msg_id: desc.reply_key,
        numbered: put.is(put_op::GET_RESP),
        psn: bits(0),
        epoch: bits(if flags & u64::from(flag::EPOCH_VALID) != 0 { desc.reply_key.to_u64() & 0xFFFF } else { 0 }),
        from_host: desc.from_host,
        host_address: desc.host_address,
        reply_addr: desc.reply_addr,
        reply_off: desc.reply_off,
        reply_key: desc.reply_key,
        context: desc.context,
        issuer: desc.issuer,
        frame: desc.frame,
        tracked: false,
        record: bits(put.packet().unwrap_or_default()),
        of_packet: put.packet().is_some(),
        over: false,
        failed: false,
    }
}

fn kind(put: &Put) -> u8 {
    match put.desc.op.to_u64() as u8 {
        put_op::GET => opcode::GET,
        put_op::GET_RESP => opcode::GET_RESP,
        _ => opcode::PUT,
    }
}

/// The segment of a record; of a put that failed, the NOP that takes its number.
fn segment(put: &Put, record: &Record, at: usize, psn: u32, again: bool, asks: bool) -> FrameJob {
    let desc = &put.desc;
    let (length, get) = (desc.length.to_u64(), put.is(put_op::GET));
    let last = get || length - record.offset <= SEGMENT_BYTES as u64;
    let mut flags = desc.flags.to_u64() & !u64::from(flag::UNSEQ);
    if again {
        flags |= u64::from(flag::RETX);
    }
    if again || last || asks {
        flags |= u64::from(flag::ACK_REQ);
    }
    FrameJob {
        opcode: bits(if put.failed { opcode::CTRL } else { kind(put) }),
        flags: bits(flags),
        msg_off: bits(record.offset),
        left: bits(if put.failed || get { 0 } else { length - record.offset }),
        single: true,
        msg_id: bits(if put.failed { u64::from(control::NOP) } else { put.msg_id }),
        numbered: true,
        psn: bits(u64::from(psn)),
        host_address: bits(desc.host_address.to_u64().wrapping_add(record.offset)),
        tracked: true,
        record: bits(at as u64),
        ..whole(put)
    }
}

/// A job without the fields that have no meaning.
fn meaning(job: FrameJob) -> FrameJob {
    let mut job = job;
    if job.over {
        return FrameJob {
            of_packet: job.of_packet,
            over: job.over,
            failed: job.failed,
            tracked: job.tracked,
            record: job.record,
            from_host: job.from_host,
            issuer: job.issuer,
            frame: job.frame,
            ..FrameJob::default()
        };
    }
    if !job.tracked && !job.of_packet {
        job.record = bits(0);
    }
    if !job.numbered {
        job.msg_id = bits(0);
    }
    if job.opcode.to_u64() == u64::from(opcode::CTRL) {
        job = FrameJob {
            from_host: false,
            host_address: bits(0),
            reply_addr: bits(0),
            reply_off: bits(0),
            reply_key: bits(0),
            context: bits(0),
            issuer: Default::default(),
            frame: bits(0),
            record: bits(0),
            ..job
        };
    }
    job
}

/// All kinds of times, and neighbours that are busy or not; every other phase is one in which certain things happen.
fn random_phase(rng: &mut ChaCha8Rng, pool: &[u8], number: usize) -> Phase {
    let mut time = |most: u64| match rng.random_range(0..8) {
        // From 2^15 units on a time is over at once.
        0 => rng.random_range(0..1 << 16),
        1 => 1 << rng.random_range(0..16),
        _ => rng.random_range(0..most),
    };
    let (timeout, hole_time, limit) = (time(200), time(40), time(20));
    let from = rng.random_range(0..pool.len());
    let phase = Phase {
        nodes: pool[from..pool.len().min(from + [1, 2, 5, 12][number % 4])].to_vec(),
        timeout,
        hole_time,
        retries: rng.random_range(0..16) & rng.random_range(0..16),
        limit: if rng.random_bool(0.3) { 0 } else { limit },
        incarnation: if rng.random_bool(0.3) { 0 } else { random_value::<Bits<32>>(rng).to_u64() as u32 },
        puts: [1000, 100, 20][rng.random_range(0..3)],
        responses: [5, 20, 60][rng.random_range(0..3)],
        losses: [0, 1, 5][rng.random_range(0..3)],
        jobs: [100, 60, 5, 1][rng.random_range(0..4)],
        ends: [100, 50, 5][rng.random_range(0..3)],
        refusals: [5, 30, 70][rng.random_range(0..3)],
        temporary: 10,
        long: [0, 3, 20][rng.random_range(0..3)],
        plain: [0, 10, 50][rng.random_range(0..3)],
        windows: random_windows(rng),
        marks: [0, 5, 60][rng.random_range(0..3)],
        turns: [0, 1, 1, 2, 3, 8, 64][rng.random_range(0..7)],
    };
    match number % 10 {
        // Short puts end quickly.
        1 => Phase { puts: 1000, responses: 60, jobs: 100, ends: 100, refusals: 10, long: 0, losses: 0, ..phase },
        // More responses than can wait.
        5 => Phase { puts: 1000, responses: 300, jobs: 60, ends: 100, refusals: 10, long: 0, losses: 0, ..phase },
        // A node seldom answers, and puts that pass wait.
        3 => Phase {
            nodes: vec![pool[from]],
            timeout: rng.random_range(1..30),
            retries: 0,
            responses: 1,
            puts: 1000,
            jobs: 2,
            ends: 100,
            long: 0,
            plain: 90,
            ..phase
        },
        7 => flood((0..1 + number / 10 % 2).map(|_| rng.random()).collect()),
        // Puts become older than the limit.
        9 => Phase {
            limit: rng.random_range(1..4),
            timeout: 100,
            retries: 15,
            responses: 40,
            refusals: 95,
            temporary: 95,
            long: 0,
            plain: 0,
            puts: 100,
            losses: 0,
            jobs: 100,
            ends: 100,
            ..phase
        },
        // Nodes seldom answer, and are given up late.
        4 => Phase {
            nodes: pool.to_vec(),
            timeout: rng.random_range(1..40),
            retries: 15,
            responses: 2,
            puts: 20,
            jobs: 60,
            ..phase
        },
        _ => phase,
    }
}

/// Windows in half of all phases: small ones, and any.
fn random_windows(rng: &mut ChaCha8Rng) -> Windows {
    let most = [4, 20, 1023][rng.random_range(0..3)];
    let least = rng.random_range(1..=most.min(5));
    let (enable, shrink) = (rng.random(), rng.random_range(0..4));
    Windows { enable, shrink, least, first: rng.random_range(least..=most), most }
}

/// Long puts without an answer: windows and records run out.
fn flood(nodes: Vec<u8>) -> Phase {
    Phase {
        nodes,
        timeout: 0x7000,
        hole_time: 10,
        retries: 8,
        limit: 0,
        incarnation: 0,
        puts: 1000,
        responses: 0,
        losses: 0,
        jobs: 100,
        ends: 100,
        refusals: 0,
        temporary: 0,
        long: 50,
        plain: 0,
        windows: Windows::default(),
        marks: 0,
        turns: 1,
    }
}

#[test]
fn every_output_in_every_cycle() {
    run_with_wave_on_failure("sender_alone_random", |wave| {
        let mut rng = wave.rng();
        let pool: Vec<u8> = (0..12).map(|_| rng.random()).collect();
        let phase = random_phase(&mut rng, &pool, 0);
        let mut bench = Bench::new(wave, &pool, phase);
        let least = [
            ("NOPs", 10),
            ("destinations given up", 1),
            ("destinations that are asked what they expect", 1),
            ("destinations that keep another node", 1),
            ("frames lost", 10),
            ("holes", 20),
            ("lost segments that wait", 5),
            ("lost segments that have waited", 2),
            ("paths that are quiet", 2),
            ("puts that are not sent to the end", 3),
            ("puts that are refused", 3),
            ("puts that end well", 100),
            ("puts that exceed the limit", 1),
            ("puts that fail without a reason", 10),
            ("puts that pass", 100),
            ("records marked", 50),
            ("records refused for good", 5),
            ("refusals reported", 5),
            ("responses about unknown numbers", 50),
            ("responses lost", 2),
            ("rounds", 20),
            ("segments that find no room", 20),
            ("windows halved", 2),
            ("timeouts of a window", 1),
            ("segments", 1000),
            ("segments sent again", 20),
            ("segments that wait", 50),
            ("timeouts", 1),
            ("puts that wait for their first turn", 50),
            ("turns that all have puts", 50),
            ("turns that pass", 500),
            ("windows that are opened", 2),
            ("windows to open", 2),
        ];
        let rare = |bench: &Bench| -> Vec<String> {
            let counts = least.map(|(what, least)| (what, bench.seen.get(what).copied().unwrap_or(0), least));
            let rare = counts.into_iter().filter(|(_, count, least)| count < least);
            rare.map(|(what, count, least)| format!("{what}: {count} times, not {least}")).collect()
        };
        // More phases than these only until each case was met often enough.
        let (phases, mut number) = (share(60), 0);
        while number < phases || number < 20 * phases && !rare(&bench).is_empty() {
            let phase = random_phase(&mut rng, &pool, number);
            bench.pool.extend(&phase.nodes);
            bench.enter(phase);
            let end = bench.ticks + 12_000;
            while bench.ticks < end {
                bench.turn();
            }
            number += 1;
        }
        println!("{number} phases: {:#?}", bench.seen);
        let rare = rare(&bench);
        assert!(rare.is_empty(), "in {number} phases {}", rare.join("; "));
    });
}

/// A put that passes waits for the job before it, and its destination is given up meanwhile: the put leaves all the same, and the
/// next one too.
#[test]
fn a_put_that_passes_a_destination_that_is_given_up() {
    run_with_wave_on_failure("sender_alone_given_up", |wave| {
        let quiet = Phase { timeout: 1, retries: 0, puts: 0, ..flood(vec![7]) };
        let mut bench = Bench::new(wave, &[7], quiet.clone());
        let put = |bench: &mut Bench, node: u64, flags: u16| {
            let put = PutDesc { node: bits(node), length: bits(100), flags: bits(flags), ..PutDesc::default() };
            bench.dut.put.set(put);
            bench.offered = Some(put);
            while bench.offered.is_some() {
                bench.turn();
            }
        };
        put(&mut bench, 7, 0);
        while bench.current.is_some() {
            bench.turn();
        }
        // Two that pass, of which the second one waits for the first one's job until the timer of its node is checked.
        bench.enter(Phase { jobs: 0, ..quiet.clone() });
        put(&mut bench, 7, flag::UNSEQ);
        put(&mut bench, 7, flag::UNSEQ);
        while !bench.seen.contains_key("destinations given up") {
            bench.turn();
            assert!(bench.ticks < 20_000, "{:?}", bench.seen);
        }
        bench.enter(quiet);
        put(&mut bench, 8, 0);
        while bench.current.is_some() {
            bench.turn();
        }
        let passed = "puts that pass to a destination that was given up meanwhile";
        assert_eq!((bench.seen[passed], bench.seen["segments"]), (1, 2), "{:?}", bench.seen);
    });
}

/// A window of 1,024 numbers, and 1,024 records for all destinations: segments wait for both, and go on with the first answers.
#[test]
fn windows_and_records_run_out() {
    run_with_wave_on_failure("sender_alone_flood", |wave| {
        for both in [false, true] {
            let mut bench = Bench::new(wave, &[3, 200], flood(vec![3]));
            let mut phases = vec![];
            if both {
                // The puts of a node fail after they have taken some of the records.
                phases.push((3_000, flood(vec![200])));
                phases.push((1_000, Phase { puts: 0, losses: 50, ..flood(vec![200]) }));
            }
            phases
                .extend([0, 40, 0, 60].map(|responses| (10_000, Phase { responses, refusals: 10, ..flood(vec![3]) })));
            for (cycles, phase) in phases {
                bench.enter(phase);
                let end = bench.ticks + cycles;
                while bench.ticks < end {
                    bench.turn();
                }
            }
            let waits = if both { "segments that wait" } else { "windows that are full" };
            assert!(bench.seen.get(waits).is_some_and(|count| *count > 100), "{waits}: {:?}", bench.seen);
            assert!(bench.seen["segments"] > RECORDS + 500, "{:?}", bench.seen);
        }
    });
}
