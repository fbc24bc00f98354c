//! The reliable sender against receivers that keep sets of numbers, over a network that loses, repeats and reorders.

use crate::packet_engine::dut::{Dut, Record};
use packet_engine::transmit::sender::Sender;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::descriptors::put_op;
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::wire::{control, flag, nack, opcode};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::packet_engine::psn_filter::{PsnFilter, Verdict};
use std::collections::{HashMap, HashSet, VecDeque};

/// Processes with this number are refused for good, at every packet; those with the next one now and then for the time being.
const REFUSED: u64 = 50;
const RELUCTANT: u64 = 51;
/// Processes with this number never have a buffer.
const EMPTY: u64 = 52;
/// A node that never answers.
const SILENT: u64 = 9;

/// How the network treats a frame, out of 1000.
#[derive(Clone, Copy)]
struct Network {
    loss: u32,
    twice: u32,
    delay: u64,
}

const PERFECT: Network = Network { loss: 0, twice: 0, delay: 1 };

/// A put under way.
#[derive(Clone)]
struct Put {
    desc: Record,
    msg_id: Option<u64>,
    /// Offsets that the receiver has.
    arrived: HashSet<u64>,
}

impl Put {
    fn segments(&self) -> usize {
        if self.desc.get("op") == u64::from(put_op::GET) {
            1
        } else {
            (self.desc.get("length") as usize).div_ceil(SEGMENT_BYTES).max(1)
        }
    }
}

struct Bench {
    dut: Dut,
    now: u64,
    network: Network,
    waiting: VecDeque<Put>,
    /// Puts that were taken, in order, by handle and frame.
    puts: Vec<Put>,
    over: Vec<(usize, bool)>,
    events: Vec<Record>,
    receivers: HashMap<u64, PsnFilter>,
    /// Frames and responses on their way: when they arrive.
    frames: Vec<(u64, Record)>,
    responses: Vec<(u64, Record)>,
    /// Every job with its cycle.
    jobs: Vec<(u64, Record)>,
    taken: Vec<u64>,
    /// Puts of processes that were refused: number, code.
    refusals: Vec<(u64, u64)>,
}

impl Bench {
    fn new(wave: &WaveContext, network: Network, times: (u64, u64), retries: u64, incarnation: u64) -> Self {
        let mut dut = Dut::new(wave, &mut Sender::default(), "sender");
        for (port, value) in [
            ("enable", 1),
            ("timeout", times.0),
            ("hole_time", times.1),
            ("retries", retries),
            ("incarnation", incarnation),
        ] {
            dut.set(port, value);
        }
        let mut bench = Bench {
            dut,
            now: 0,
            network,
            waiting: VecDeque::new(),
            puts: vec![],
            over: vec![],
            events: vec![],
            receivers: HashMap::new(),
            frames: vec![],
            responses: vec![],
            jobs: vec![],
            taken: vec![],
            refusals: vec![],
        };
        let mut rng = wave.rng();
        for _ in 0..1030 {
            bench.step(&mut rng, true);
        }
        bench
    }

    fn submit(&mut self, node: u64, pid: u64, op: u8, length: usize, host: bool) {
        let number = (self.puts.len() + self.waiting.len()) as u64;
        let desc = Record::new(&[
            ("op", op.into()),
            ("from_host", 1),
            ("node", node),
            ("dst_pid", pid),
            ("src_pid", 3),
            ("addr", number * 0x10_0001),
            ("length", length as u64),
            ("host_address", 0xFFFF_FFFF_FFFF_0000 - (number << 24)),
            ("handle", if host { put_op::HOST_HANDLE.into() } else { number & 3 }),
            ("frame", number),
            ("flags", 0),
        ]);
        self.waiting.push_back(Put { desc, msg_id: None, arrived: HashSet::new() });
    }

    /// Sends a frame or a response through the network.
    fn travel(network: Network, now: u64, rng: &mut ChaCha8Rng, queue: &mut Vec<(u64, Record)>, word: &Record) {
        let copies = if rng.random_ratio(network.twice, 1000) { 2 } else { 1 };
        for _ in 0..copies {
            if !rng.random_ratio(network.loss, 1000) {
                queue.push((now + 1 + rng.random_range(0..network.delay), word.clone()));
            }
        }
    }

    /// A frame at its receiver; what it answers.
    fn receive(&mut self, rng: &mut ChaCha8Rng, job: &Record) -> Option<Record> {
        let node = job.get("node");
        if node == SILENT {
            return None;
        }
        let psn = job.get("psn") as u32;
        let filter = self.receivers.entry(node).or_insert_with(|| PsnFilter::new(1));
        let ctrl = job.get("opcode") == u64::from(opcode::CTRL);
        let opens = ctrl && job.get("msg_id") == u64::from(control::OPEN);
        let mut code = 0;
        if opens {
            filter.open(1, job.get("key") as u32);
        } else {
            match filter.judge(1, psn) {
                Verdict::Dropped(spindle_contract::reasons::PSN_WINDOW) => code = nack::PSN_WINDOW,
                Verdict::Dropped(_) => {}
                Verdict::Held => {
                    if !ctrl && job.get("dst_pid") == REFUSED {
                        code = nack::BAD_KEY;
                    } else if !ctrl
                        && (job.get("dst_pid") == EMPTY || job.get("dst_pid") == RELUCTANT && rng.random_ratio(1, 3))
                    {
                        code = nack::NO_BUFFER;
                    }
                    let peer = filter.peer(1).expect("the only one");
                    peer.held.insert(psn);
                    peer.commit(psn, code == 0);
                    if code == 0 && !ctrl {
                        let put = &mut self.puts[job.get("frame") as usize];
                        assert!(put.arrived.insert(job.get("msg_off")), "a segment was accepted twice");
                    }
                }
            }
        }
        let filter = &self.receivers[&node];
        let (expected, selective) = filter.peers.get(&0).map_or((0, 0), |peer| (peer.expected, peer.selective()));
        Some(Record::new(&[
            ("is_spindle", 1),
            ("opcode", if code == 0 { opcode::ACK } else { opcode::NACK }.into()),
            ("src_nid", node),
            ("psn", expected.wrapping_sub(1).into()),
            ("buf_off", psn.into()),
            ("key", u64::from(code) << 24),
            ("msg_len", selective >> 32),
            ("msg_off", selective & 0xFFFF_FFFF),
            ("msg_id", job.get("msg_id")),
            ("addr", job.get("addr")),
        ]))
    }

    /// A job says what its put says.
    fn check(&mut self, job: &Record) {
        if job.get("opcode") == u64::from(opcode::CTRL) {
            return;
        }
        let put = &mut self.puts[job.get("frame") as usize];
        let (desc, offset) = (&put.desc, job.get("msg_off"));
        let get = desc.get("op") == u64::from(put_op::GET);
        assert_eq!(*put.msg_id.get_or_insert(job.get("msg_id")), job.get("msg_id"));
        assert_eq!(offset % SEGMENT_BYTES as u64, 0);
        assert_eq!(job.get("left"), if get { 0 } else { desc.get("length") - offset });
        assert_eq!(job.get("host_address"), desc.get("host_address").wrapping_add(offset));
        assert_eq!(job.get("opcode"), u64::from(if get { opcode::GET } else { opcode::PUT }));
        assert_eq!(job.get("flags") & u64::from(flag::UNSEQ), 0);
        for (theirs, ours) in [("addr", "addr"), ("node", "node"), ("dst_pid", "dst_pid"), ("msg_len", "length")] {
            assert_eq!(job.get(theirs), desc.get(ours), "{theirs}");
        }
        assert_eq!((job.get("single"), job.get("numbered"), job.get("tracked")), (1, 1, 1));
    }

    fn step(&mut self, rng: &mut ChaCha8Rng, eager: bool) {
        let now = self.now;
        let ready = eager || rng.random_ratio(1, 2);
        self.dut.set("job_ready", ready.into());
        let (done_ready, event_ready) = (eager || rng.random_ratio(1, 2), eager || rng.random_ratio(1, 2));
        self.dut.set("done_ready", done_ready.into());
        self.dut.set("put_event_ready", event_ready.into());
        self.dut.set("put_valid", (!self.waiting.is_empty()).into());
        if let Some(put) = self.waiting.front() {
            self.dut.put("put", "put_desc", &put.desc);
        }
        // At most one response in two cycles comes out of a parser.
        let response = if now.is_multiple_of(2) { self.responses.iter().position(|(at, _)| *at <= now) } else { None };
        self.dut.set("parsed_valid", response.is_some().into());
        if let Some(at) = response {
            let (_, response) = self.responses.swap_remove(at);
            self.dut.put("parsed", "packet_desc", &response);
        }
        self.dut.eval();
        if !self.waiting.is_empty() && self.dut.high("put_ready") {
            self.puts.push(self.waiting.pop_front().expect("it is there"));
            self.taken.push(now);
        }
        if ready && self.dut.high("job_valid") {
            let job = self.dut.record("job", "frame_job");
            self.check(&job);
            Self::travel(self.network, now, rng, &mut self.frames, &job);
            self.jobs.push((now, job));
        }
        if done_ready && self.dut.high("done_valid") {
            let done = self.dut.record("done", "put_done");
            assert_eq!(done.get("of_context"), 0, "all are of host memory, or gets");
            self.ended(done.get("handle"), done.get("error") == 1);
        }
        if event_ready && self.dut.high("put_event_valid") {
            let event = self.dut.record("put_event", "event_desc");
            self.events.push(event);
        }
        if self.dut.high("refused") {
            let refusal = self.dut.get("refusal");
            self.refusals.push((refusal & 0xFFFF, refusal >> 16));
        }
        self.dut.tick();
        self.now += 1;
        while let Some(at) = self.frames.iter().position(|(at, _)| *at <= now) {
            let (_, job) = self.frames.swap_remove(at);
            if let Some(response) = self.receive(rng, &job) {
                Self::travel(self.network, now, rng, &mut self.responses, &response);
            }
        }
    }

    /// A put is over: the oldest one with this handle that may be, by what its receiver has.
    fn ended(&mut self, handle: u64, error: bool) {
        let ended: HashSet<usize> = self.over.iter().map(|(at, _)| *at).collect();
        let found = (0..self.puts.len()).find(|at| {
            let put = &self.puts[*at];
            let fails = [REFUSED, EMPTY].contains(&put.desc.get("dst_pid")) || put.desc.get("node") == SILENT;
            let whole = put.arrived.len() == put.segments();
            !ended.contains(at) && put.desc.get("handle") == handle && if error { fails } else { whole && !fails }
        });
        let at = found
            .unwrap_or_else(|| panic!("cycle {}: no put with handle {handle} can be over (error {error})", self.now));
        self.over.push((at, error));
    }

    fn drain(&mut self, rng: &mut ChaCha8Rng, eager: bool, limit: u64) {
        let start = self.now;
        while self.over.len() < self.puts.len() || !self.waiting.is_empty() {
            self.step(rng, eager);
            assert!(
                self.now - start < limit,
                "{} of {} puts are over, {} wait",
                self.over.len(),
                self.puts.len(),
                self.waiting.len()
            );
        }
        // The event of a put comes behind its end.
        for _ in 0..20 {
            self.step(rng, true);
        }
    }
}

/// Puts and gets of all sizes to several nodes over a bad network: all end, those that were refused for good with an error.
fn random(name: &str, network: Network, count: usize) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, network, (network.delay * 4 / 64 + 4, network.delay / 64 + 1), 15, 0);
        let mut hosts = 0;
        for _ in 0..count {
            let pid = match rng.random_range(0..20) {
                0 => REFUSED,
                1 | 2 => RELUCTANT,
                _ => 1,
            };
            let op = if rng.random_ratio(1, 8) { put_op::GET } else { put_op::PUT };
            let length = match rng.random_range(0..12) {
                0 | 1 => rng.random_range(1..60_000),
                // A put may be empty.
                2 if op == put_op::PUT => 0,
                _ => rng.random_range(1..3000),
            };
            let host = rng.random_ratio(1, 3);
            hosts += usize::from(host);
            bench.submit(rng.random_range(0..4), pid, op, length, host);
        }
        bench.drain(&mut rng, false, 3_000_000);
        for (at, error) in &bench.over {
            assert_eq!(*error, bench.puts[*at].desc.get("dst_pid") == REFUSED, "put {at}");
        }
        assert_eq!(bench.events.len(), hosts, "an event for each put of the host");
        for event in &bench.events {
            let put = &bench.puts[(event.get("source") >> 16) as usize].desc;
            let said = ["length", "user"].map(|name| event.get(name));
            assert_eq!(
                (event.get("source") & 0xFFFF, said),
                (put.get("node"), ["length", "addr"].map(|name| put.get(name)))
            );
        }
        let failed = bench.events.iter().filter(|event| event.get("code") == 1).count();
        assert!(bench
            .events
            .iter()
            .all(|event| (event.get("extra") == u64::from(nack::BAD_KEY)) == (event.get("code") == 1)));
        assert!(network.loss == 0 || failed > 0 || count < 100, "some were to fail");
        // Whatever is left in the network changes nothing.
        let over = bench.over.len();
        for _ in 0..2000 {
            bench.step(&mut rng, true);
        }
        assert_eq!(bench.over.len(), over);
    });
}

#[test]
fn random_perfect() {
    random("sender_perfect", PERFECT, 200);
}

#[test]
fn random_reordered() {
    random("sender_reordered", Network { loss: 0, twice: 50, delay: 400 }, 300);
}

#[test]
fn random_lossy() {
    random("sender_lossy", Network { loss: 60, twice: 40, delay: 300 }, 300);
}

/// Cycles of a put, of a long put, and of its end.
#[test]
fn cycles() {
    run_with_wave_on_failure("sender_cycles", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, PERFECT, (100, 10), 8, 0);
        bench.submit(2, 1, put_op::PUT, 100, false);
        bench.drain(&mut rng, true, 1000);
        assert_eq!(bench.jobs.len(), 1);
        let first = bench.jobs[0].0 - bench.taken[0];
        assert_eq!(first, 11, "cycles from a put to its first job; the window is new");
        assert_eq!(bench.jobs[0].1.get("flags"), u64::from(flag::ACK_REQ));
        let from = bench.jobs.len();
        bench.submit(2, 1, put_op::PUT, 100 * SEGMENT_BYTES, false);
        bench.drain(&mut rng, true, 10_000);
        let cycles = bench.jobs.last().expect("jobs").0 - bench.jobs[from].0;
        assert_eq!(bench.jobs.len() - from, 100, "nothing is sent twice");
        assert!(cycles <= 24 * 100, "{cycles} cycles for 100 segments of 24 cycles of the wire");
    });
}

/// A destination that does not answer: its puts fail after as many timeouts as were asked for, the others notice little, and the next window is
/// opened anew.
#[test]
fn a_silent_destination_is_given_up() {
    run_with_wave_on_failure("sender_silent", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, PERFECT, (20, 10), 3, 0);
        bench.submit(SILENT, 1, put_op::PUT, 5000, true);
        bench.submit(1, 1, put_op::PUT, 5000, true);
        bench.drain(&mut rng, true, 100_000);
        assert_eq!(bench.over, [(1, false), (0, true)], "the other one is over first");
        let sent = bench.jobs.iter().filter(|(_, job)| job.get("node") == SILENT).count();
        assert_eq!(sent, 4 * 4, "four segments, once and three times again");
        assert_eq!(bench.events.iter().map(|event| event.get("code")).collect::<Vec<_>>(), [0, 1]);
        let from = bench.jobs.len();
        bench.submit(SILENT, 1, put_op::PUT, 100, false);
        bench.drain(&mut rng, true, 100_000);
        let again = &bench.jobs[from].1;
        assert_eq!((again.get("opcode"), again.get("msg_id")), (opcode::CTRL.into(), control::OPEN.into()));
        assert!(bench.over[2].1, "it fails too");
    });
}

/// A put and a get that never find a buffer end when they are older than the limit, with the refusal as the reason; without a limit they do not end, and
/// the last refusal is reported.
#[test]
fn a_put_without_a_buffer_ends_at_the_limit() {
    run_with_wave_on_failure("sender_limit", |wave| {
        let no_buffer = u64::from(nack::NO_BUFFER);
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, PERFECT, (20, 10), 8, 0);
        bench.submit(1, EMPTY, put_op::PUT, 5000, true);
        for _ in 0..50_000 {
            bench.step(&mut rng, true);
        }
        assert!(bench.over.is_empty(), "without a limit the put is sent again");
        assert!(bench.refusals.len() > 20 && bench.refusals.iter().all(|refusal| *refusal == (0, no_buffer)));
        // The limit holds for puts that begin now.
        const LIMIT: u64 = 8;
        bench.dut.set("limit", LIMIT);
        let start = bench.now;
        bench.submit(2, EMPTY, put_op::PUT, 5000, true);
        bench.submit(3, EMPTY, put_op::GET, 5000, true);
        bench.submit(3, 1, put_op::PUT, 5000, true);
        while bench.over.len() < 3 {
            bench.step(&mut rng, true);
            assert!(bench.now - start < LIMIT * 1024 + 6000, "{:?}", bench.over);
        }
        assert!(bench.now - start > (LIMIT - 1) * 1024, "no put ends before the limit");
        let refused: HashSet<(u64, u64)> = bench.refusals.iter().copied().collect();
        assert_eq!(refused, HashSet::from([(0, no_buffer), (1, no_buffer), (2, no_buffer)]));
        for _ in 0..20 {
            bench.step(&mut rng, true);
        }
        let mut ends: Vec<_> =
            bench.events.iter().map(|event| ["source", "code", "extra"].map(|name| event.get(name))).collect();
        ends.sort_unstable();
        assert_eq!(ends, [[1 << 16 | 2, 1, no_buffer], [2 << 16 | 3, 1, no_buffer], [3 << 16 | 3, 0, 0]]);
    });
}

/// With an incarnation, a window is opened before its first packet, until that is acknowledged.
#[test]
fn windows_are_opened() {
    run_with_wave_on_failure("sender_open", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, Network { loss: 500, twice: 0, delay: 20 }, (10, 4), 15, 0xABCD_0000);
        for node in 0..4 {
            // The receiver has been spoken to before.
            let filter = bench.receivers.entry(node).or_insert_with(|| PsnFilter::new(1));
            filter.open(1, 5);
            let peer = filter.peer(1).expect("the only one");
            peer.expected = 700;
            bench.submit(node, 1, put_op::PUT, 4000, false);
        }
        bench.drain(&mut rng, false, 1_000_000);
        assert!(bench.over.iter().all(|(_, error)| !error));
        for node in 0..4 {
            let peer = &bench.receivers[&node].peers[&0];
            assert_eq!((peer.incarnation, peer.expected), (0xABCD_0000, 3));
        }
    });
}

/// A record whose data cannot be read fails its put; the flag UNSEQ and the switch pass puts as they are.
#[test]
fn lost_data_and_puts_that_are_not_sequenced() {
    run_with_wave_on_failure("sender_lost", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, Network { delay: 2000, ..PERFECT }, (20, 10), 8, 0);
        bench.submit(1, REFUSED, put_op::PUT, 100, false);
        while bench.jobs.is_empty() {
            bench.step(&mut rng, true);
        }
        // It never left.
        bench.frames.clear();
        let record = bench.jobs[0].1.get("record");
        bench.dut.set("lost", record);
        bench.dut.set("lost_valid", 1);
        bench.step(&mut rng, true);
        bench.dut.set("lost_valid", 0);
        bench.drain(&mut rng, true, 20_000);
        assert_eq!(bench.over, [(0, true)]);
        let nop = &bench.jobs[1].1;
        assert_eq!(
            (nop.get("opcode"), nop.get("msg_id"), nop.get("left")),
            (opcode::CTRL.into(), control::NOP.into(), 0)
        );

        for (enable, flags) in [(1, flag::UNSEQ), (0, 0)] {
            bench.dut.set("enable", enable);
            let from = bench.jobs.len();
            let desc = Record::new(&[("op", 0), ("from_host", 1), ("length", 5000), ("flags", flags.into())]);
            bench.dut.put("put", "put_desc", &desc);
            bench.dut.set("put_valid", 1);
            bench.dut.eval();
            while !bench.dut.high("put_ready") {
                bench.dut.tick();
                bench.dut.eval();
            }
            bench.dut.tick();
            bench.dut.set("put_valid", 0);
            bench.dut.set("job_ready", 1);
            let mut cycles = 1;
            bench.dut.eval();
            while !bench.dut.high("job_valid") {
                bench.dut.tick();
                bench.dut.eval();
                cycles += 1;
            }
            assert_eq!(cycles, 5, "cycles from a put that passes to its job");
            let job = bench.dut.record("job", "frame_job");
            bench.dut.tick();
            assert_eq!((job.get("left"), job.get("single"), job.get("numbered"), job.get("tracked")), (5000, 0, 0, 0));
            assert_eq!(job.get("flags"), u64::from(flag::UNSEQ));
            assert_eq!(bench.jobs.len(), from);
        }
    });
}
