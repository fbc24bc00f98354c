//! The reliable sender against receivers that keep sets of numbers, over a network that loses, repeats and reorders.

use packet_engine::transmit::sender::Sender;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{CommandIssuer, EventDesc, FrameJob, PacketDesc, PutDesc};
use spindle_contract::descriptors::{array_address, put_op};
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::wire::{control, flag, nack, opcode};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_model::packet_engine::psn_filter::{PsnFilter, Verdict};
use spindle_verilog::prelude::bits;
use std::collections::{HashMap, HashSet, VecDeque};

/// Processes with this number are refused for good, at every packet; those with the next one now and then for the time
/// being.
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
    desc: PutDesc,
    msg_id: Option<u64>,
    /// Offsets that the receiver has.
    arrived: HashSet<u64>,
}

impl Put {
    fn segments(&self) -> usize {
        if self.desc.op.to_u64() == u64::from(put_op::GET) {
            1
        } else {
            (self.desc.length.to_u64() as usize).div_ceil(SEGMENT_BYTES).max(1)
        }
    }
}

struct Bench {
    dut: Dut<Sender>,
    now: u64,
    network: Network,
    waiting: VecDeque<Put>,
    /// Puts that were taken, in order, by handle and frame.
    puts: Vec<Put>,
    over: Vec<(usize, bool)>,
    /// Puts of packets that are over.
    packets: usize,
    events: Vec<EventDesc>,
    receivers: HashMap<u64, PsnFilter>,
    /// Frames and responses on their way: when they arrive.
    frames: Vec<(u64, FrameJob)>,
    responses: Vec<(u64, PacketDesc)>,
    /// Every job with its cycle.
    jobs: Vec<(u64, FrameJob)>,
    taken: Vec<u64>,
    /// Puts of processes that were refused: number, code.
    refusals: Vec<(u64, u64)>,
    /// Acknowledgements name 0 as the number that is expected, and mark the others.
    marks_alone: bool,
}

impl Bench {
    fn new(wave: &WaveContext, network: Network, times: (u64, u64), retries: u64, incarnation: u64) -> Self {
        let dut = Dut::new(wave, Sender::default(), "sender");
        dut.enable.set(true);
        dut.timeout.set(times.0);
        dut.hole_time.set(times.1);
        dut.retries.set(retries);
        dut.incarnation.set(incarnation);
        let mut bench = Bench {
            dut,
            now: 0,
            network,
            waiting: VecDeque::new(),
            puts: vec![],
            over: vec![],
            packets: 0,
            events: vec![],
            receivers: HashMap::new(),
            frames: vec![],
            responses: vec![],
            jobs: vec![],
            taken: vec![],
            refusals: vec![],
            marks_alone: false,
        };
        let mut rng = wave.rng();
        for _ in 0..1030 {
            bench.step(&mut rng, true);
        }
        bench
    }

    fn submit(&mut self, node: u64, pid: u64, op: u8, length: usize, host: bool) {
        let number = (self.puts.len() + self.waiting.len()) as u64;
        let desc = PutDesc {
            op: bits(op),
            from_host: true,
            node: bits(node),
            dst_pid: bits(pid),
            src_pid: bits(3),
            addr: bits(number * 0x10_0001),
            length: bits(length),
            host_address: bits(0xFFFF_FFFF_FFFF_0000 - (number << 24)),
            issuer: CommandIssuer {
                handle: bits(if host { u64::from(put_op::HOST_HANDLE) } else { number & 3 }),
                ..CommandIssuer::default()
            },
            frame: bits(number),
            flags: bits(0),
            ..PutDesc::default()
        };
        self.waiting.push_back(Put { desc, msg_id: None, arrived: HashSet::new() });
    }

    /// Sends a frame or a response through the network.
    fn travel<T: Copy>(network: Network, now: u64, rng: &mut ChaCha8Rng, queue: &mut Vec<(u64, T)>, word: T) {
        let copies = if rng.random_ratio(network.twice, 1000) { 2 } else { 1 };
        for _ in 0..copies {
            if !rng.random_ratio(network.loss, 1000) {
                queue.push((now + 1 + rng.random_range(0..network.delay), word));
            }
        }
    }

    /// A frame at its receiver; what it answers.
    fn receive(&mut self, rng: &mut ChaCha8Rng, job: &FrameJob) -> Option<PacketDesc> {
        let node = job.node.to_u64();
        if node == SILENT {
            return None;
        }
        let psn = job.psn.to_u64() as u32;
        let filter = self.receivers.entry(node).or_insert_with(|| PsnFilter::new(1));
        let ctrl = job.opcode.to_u64() == u64::from(opcode::CTRL);
        let opens = ctrl && job.msg_id.to_u64() == u64::from(control::OPEN);
        let mut code = 0;
        if opens {
            filter.open(1, job.key.to_u64() as u32);
        } else {
            match filter.judge(1, psn) {
                Verdict::Dropped(spindle_contract::reasons::PSN_WINDOW) => code = nack::PSN_WINDOW,
                Verdict::Dropped(_) => {}
                Verdict::Held => {
                    if !ctrl && job.dst_pid.to_u64() == REFUSED {
                        code = nack::BAD_KEY;
                    } else if !ctrl
                        && (job.dst_pid.to_u64() == EMPTY
                            || job.dst_pid.to_u64() == RELUCTANT && rng.random_ratio(1, 3))
                    {
                        code = nack::NO_BUFFER;
                    }
                    let peer = filter.peer(1).expect("the only one");
                    peer.held.insert(psn);
                    peer.commit(psn, code == 0);
                    if code == 0 && !ctrl {
                        let put = &mut self.puts[job.frame.to_u64() as usize];
                        assert!(put.arrived.insert(job.msg_off.to_u64()), "a segment was accepted twice");
                    }
                }
            }
        }
        let filter = &self.receivers[&node];
        let (expected, selective) = match filter.peers.get(&0) {
            Some(peer) if self.marks_alone && node == 1 => (0, u64::MAX >> (64 - peer.expected.min(64))),
            Some(peer) => (peer.expected, peer.selective()),
            None => (0, 0),
        };
        Some(PacketDesc {
            is_spindle: true,
            opcode: bits(if code == 0 { opcode::ACK } else { opcode::NACK }),
            src_nid: bits(node),
            psn: bits(expected.wrapping_sub(1)),
            buf_off: bits(psn),
            key: bits(u64::from(code) << 24),
            msg_len: bits(selective >> 32),
            msg_off: bits(selective & 0xFFFF_FFFF),
            msg_id: bits(job.msg_id.to_u64()),
            addr: bits(job.addr.to_u64()),
            ..PacketDesc::default()
        })
    }

    /// A job says what its put says.
    fn check(&mut self, job: &FrameJob) {
        if job.opcode.to_u64() == u64::from(opcode::CTRL) {
            return;
        }
        let at = job.frame.to_u64() as usize;
        let over = job.of_packet && self.over.iter().any(|(over, _)| *over == at);
        assert!(!over, "put {at} of a packet is over, and reads it again");
        let put = &mut self.puts[at];
        let (desc, offset) = (&put.desc, job.msg_off.to_u64());
        let get = desc.op.to_u64() == u64::from(put_op::GET);
        assert_eq!(*put.msg_id.get_or_insert(job.msg_id.to_u64()), job.msg_id.to_u64());
        assert_eq!(offset % SEGMENT_BYTES as u64, 0);
        assert_eq!(job.left.to_u64(), if get { 0 } else { desc.length.to_u64() - offset });
        assert_eq!(job.host_address.to_u64(), desc.host_address.to_u64().wrapping_add(offset));
        assert_eq!(job.opcode.to_u64(), u64::from(if get { opcode::GET } else { opcode::PUT }));
        assert_eq!(job.flags.to_u64() & u64::from(flag::UNSEQ), 0);
        assert_eq!((job.addr, job.node, job.dst_pid), (desc.addr, desc.node, desc.dst_pid));
        assert_eq!(job.msg_len, desc.length);
        assert_eq!((job.single, job.numbered, job.tracked), (true, true, true));
    }

    fn step(&mut self, rng: &mut ChaCha8Rng, eager: bool) {
        let now = self.now;
        let ready = eager || rng.random_ratio(1, 2);
        self.dut.job.ready.set(ready);
        let (done_ready, event_ready) = (eager || rng.random_ratio(1, 2), eager || rng.random_ratio(1, 2));
        self.dut.done.ready.set(done_ready);
        self.dut.put_event.ready.set(event_ready);
        self.dut.put.valid.set(!self.waiting.is_empty());
        if let Some(put) = self.waiting.front() {
            self.dut.put.set(put.desc);
        }
        // At most one response in two cycles comes out of a parser.
        let response = if now.is_multiple_of(2) { self.responses.iter().position(|(at, _)| *at <= now) } else { None };
        self.dut.parsed.valid.set(response.is_some());
        if let Some(at) = response {
            let (_, response) = self.responses.swap_remove(at);
            self.dut.parsed.set(response);
        }
        self.dut.eval();
        if !self.waiting.is_empty() && self.dut.put.ready.is_high() {
            self.puts.push(self.waiting.pop_front().expect("it is there"));
            self.taken.push(now);
        }
        if ready && self.dut.job.valid.is_high() {
            let job = self.dut.job.get();
            if job.over {
                self.packet_ended(&job);
            } else {
                self.check(&job);
                Self::travel(self.network, now, rng, &mut self.frames, job);
                self.jobs.push((now, job));
            }
        }
        if done_ready && self.dut.done.valid.is_high() {
            let done = self.dut.done.get();
            assert!(!done.of_context, "all are of host memory, or gets");
            self.ended(done.issuer.handle.to_u64(), done.error);
        }
        if event_ready && self.dut.put_event.valid.is_high() {
            let event = self.dut.put_event.get();
            self.events.push(event);
        }
        if self.dut.refused.is_high() {
            let refusal = self.dut.refusal.number();
            self.refusals.push((refusal & 0xFFFF, refusal >> 16));
        }
        self.dut.tick();
        self.now += 1;
        while let Some(at) = self.frames.iter().position(|(at, _)| *at <= now) {
            let (_, job) = self.frames.swap_remove(at);
            if let Some(response) = self.receive(rng, &job) {
                Self::travel(self.network, now, rng, &mut self.responses, response);
            }
        }
    }

    /// A put of a packet is over: nothing of it follows.
    fn packet_ended(&mut self, job: &FrameJob) {
        let at = job.frame.to_u64() as usize;
        let put = &self.puts[at];
        assert!(job.of_packet && !job.tracked && !job.from_host);
        assert_eq!(job.issuer, put.desc.issuer);
        let pkt = put.desc.host_address.to_u64() >> array_address::PACKET & 0x3FF;
        assert_eq!(job.record.to_u64(), pkt, "the packet of put {at}");
        let fails = put.desc.dst_pid.to_u64() == REFUSED;
        assert!(if job.failed { fails } else { put.arrived.len() == put.segments() && !fails }, "put {at}");
        assert!(self.over.iter().all(|(over, _)| *over != at), "put {at} is over once");
        self.over.push((at, job.failed));
        self.packets += 1;
    }

    /// A put is over: the oldest one with this handle that may be, by what its receiver has.
    fn ended(&mut self, handle: u64, error: bool) {
        let ended: HashSet<usize> = self.over.iter().map(|(at, _)| *at).collect();
        let found = (0..self.puts.len()).find(|at| {
            let put = &self.puts[*at];
            let fails = [REFUSED, EMPTY].contains(&put.desc.dst_pid.to_u64()) || put.desc.node.to_u64() == SILENT;
            let whole = put.arrived.len() == put.segments();
            put.desc.from_host
                && !ended.contains(at)
                && put.desc.issuer.handle.to_u64() == handle
                && if error { fails } else { whole && !fails }
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
        // The event of a put comes after its end.
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
            if !host && op == put_op::PUT && rng.random() {
                let put = bench.waiting.back_mut().expect("it waits");
                put.desc.from_host = false;
                let (pkt, byte) = (rng.random_range(0..1024), rng.random_range(0..2048));
                put.desc.host_address = bits(1 << array_address::OF_PACKET | pkt << array_address::PACKET | byte);
            }
        }
        bench.drain(&mut rng, false, 3_000_000);
        for (at, error) in &bench.over {
            assert_eq!(*error, bench.puts[*at].desc.dst_pid.to_u64() == REFUSED, "put {at}");
        }
        assert_eq!(bench.events.len(), hosts, "an event for each put of the host");
        assert!(bench.packets > count / 8, "{} puts of packets", bench.packets);
        for event in &bench.events {
            let put = &bench.puts[(event.source.to_u64() >> 16) as usize].desc;
            assert_eq!(event.source.to_u64() & 0xFFFF, put.node.to_u64());
            assert_eq!((event.length, event.user), (put.length, put.addr));
        }
        let failed = bench.events.iter().filter(|event| event.code.to_u64() == 1).count();
        assert!(bench
            .events
            .iter()
            .all(|event| (event.extra.to_u64() == u64::from(nack::BAD_KEY)) == (event.code.to_u64() == 1)));
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
        assert_eq!(bench.jobs[0].1.flags.to_u64(), u64::from(flag::ACK_REQ));
        let from = bench.jobs.len();
        bench.submit(2, 1, put_op::PUT, 100 * SEGMENT_BYTES, false);
        bench.drain(&mut rng, true, 10_000);
        let cycles = bench.jobs.last().expect("jobs").0 - bench.jobs[from].0;
        assert_eq!(bench.jobs.len() - from, 100, "nothing is sent twice");
        assert!(cycles <= 24 * 100, "{cycles} cycles for 100 segments of 24 cycles of the wire");
    });
}

/// A destination that does not answer: its puts fail after as many timeouts as were asked for, the others notice little, and
/// the next window is opened anew.
#[test]
fn a_silent_destination_is_given_up() {
    run_with_wave_on_failure("sender_silent", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, PERFECT, (20, 10), 3, 0);
        bench.submit(SILENT, 1, put_op::PUT, 5000, true);
        bench.submit(1, 1, put_op::PUT, 5000, true);
        bench.drain(&mut rng, true, 100_000);
        assert_eq!(bench.over, [(1, false), (0, true)], "the other one is over first");
        let sent = bench.jobs.iter().filter(|(_, job)| job.node.to_u64() == SILENT).count();
        assert_eq!(sent, 4 * 4, "four segments, once and three times again");
        assert_eq!(bench.events.iter().map(|event| event.code.to_u64()).collect::<Vec<_>>(), [0, 1]);
        let from = bench.jobs.len();
        bench.submit(SILENT, 1, put_op::PUT, 100, false);
        bench.drain(&mut rng, true, 100_000);
        let again = &bench.jobs[from].1;
        assert_eq!((again.opcode.to_u64(), again.msg_id.to_u64()), (opcode::CTRL.into(), control::OPEN.into()));
        assert!(bench.over[2].1, "it fails too");
    });
}

/// A put and a get that never find a buffer end when they are older than the limit, with the refusal as the reason; without
/// a limit they do not end, and the last refusal is reported.
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
        bench.dut.limit.set(LIMIT);
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
        let mut ends: Vec<_> = bench
            .events
            .iter()
            .map(|event| [event.source.to_u64(), event.code.to_u64(), event.extra.to_u64()])
            .collect();
        ends.sort_unstable();
        assert_eq!(ends, [[1 << 16 | 2, 1, no_buffer], [2 << 16 | 3, 1, no_buffer], [3 << 16 | 3, 0, 0]]);
    });
}

/// The only acknowledgement that arrives names the first number as expected and marks all, as the PSN filter does when a hole is
/// filled while later rows of numbers are there: the put is over, and the destination is asked until the records are free.
#[test]
fn an_acknowledgement_of_marks_alone_is_asked_about() {
    run_with_wave_on_failure("sender_marks", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, PERFECT, (20, 10), 3, 0);
        bench.marks_alone = true;
        bench.submit(1, 1, put_op::PUT, 20 * SEGMENT_BYTES, true);
        bench.drain(&mut rng, true, 10_000);
        assert_eq!(bench.over, [(0, false)]);
        assert_eq!(bench.jobs.len(), 20, "nothing is sent twice");
        // Another put takes the place of the one that is over, for another node.
        bench.submit(2, 1, put_op::PUT, 100, true);
        bench.drain(&mut rng, true, 10_000);
        let (from, start) = (bench.jobs.len(), bench.now);
        while bench.jobs.len() < from + 3 {
            bench.step(&mut rng, true);
            assert!(bench.now - start < 100_000, "{} questions", bench.jobs.len() - from);
        }
        for (_, job) in &bench.jobs[from..] {
            let fields = (job.opcode.to_u64(), job.msg_id.to_u64(), job.node.to_u64(), job.psn.to_u64());
            assert_eq!(fields, (opcode::CTRL.into(), control::NOP.into(), 1, 0));
            assert_eq!(job.flags.to_u64(), u64::from(flag::ACK_REQ | flag::RETX));
            assert_eq!((job.left.to_u64(), job.single), (0, true));
        }
        // An answer that is whole ends the questions: the window has not been given up.
        bench.marks_alone = false;
        let from = bench.jobs.len();
        bench.submit(1, 1, put_op::PUT, 100, true);
        bench.drain(&mut rng, true, 10_000);
        for _ in 0..200_000 {
            bench.step(&mut rng, true);
        }
        let rest = bench.jobs[from..].iter().filter(|(_, job)| job.opcode.to_u64() == u64::from(opcode::PUT)).count();
        assert_eq!((rest, bench.jobs.len() - from), (1, 1), "one segment, and no question or OPEN");
    });
}

/// With an incarnation, a window is opened before its first packet, until that is acknowledged.
#[test]
fn windows_are_opened() {
    run_with_wave_on_failure("sender_open", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, Network { loss: 400, twice: 0, delay: 20 }, (10, 4), 15, 0xABCD_0000);
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
        let record = bench.jobs[0].1.record.to_u64();
        bench.dut.lost.set(record);
        bench.dut.lost.valid.set(true);
        bench.step(&mut rng, true);
        bench.dut.lost.valid.set(false);
        bench.drain(&mut rng, true, 20_000);
        assert_eq!(bench.over, [(0, true)]);
        let nop = &bench.jobs[1].1;
        assert_eq!(
            (nop.opcode.to_u64(), nop.msg_id.to_u64(), nop.left.to_u64()),
            (opcode::CTRL.into(), control::NOP.into(), 0)
        );

        for (enable, flags) in [(true, flag::UNSEQ), (false, 0)] {
            bench.dut.enable.set(enable);
            let from = bench.jobs.len();
            let desc =
                PutDesc { op: bits(0), from_host: true, length: bits(5000), flags: bits(flags), ..PutDesc::default() };
            let mut measured = vec![];
            for _ in 0..32 {
                bench.dut.put.set(desc);
                bench.dut.put.valid.set(true);
                bench.dut.eval();
                while !bench.dut.put.ready.is_high() {
                    bench.dut.tick();
                    bench.dut.eval();
                }
                bench.dut.tick();
                bench.dut.put.valid.set(false);
                bench.dut.job.ready.set(true);
                let mut cycles = 1;
                bench.dut.eval();
                while !bench.dut.job.valid.is_high() {
                    bench.dut.tick();
                    bench.dut.eval();
                    cycles += 1;
                }
                measured.push(cycles);
                let job = bench.dut.job.get();
                bench.dut.ticks(rng.random_range(1..8));
                assert_eq!((job.left.to_u64(), job.single, job.numbered, job.tracked), (5000, false, false, false));
                assert_eq!(job.flags.to_u64(), u64::from(flag::UNSEQ));
            }
            let (least, most) = (measured.iter().min(), measured.iter().max());
            assert_eq!(least, Some(&5), "cycles from a put that passes to its job");
            assert!(most <= Some(&7), "a timer that is checked takes two cycles: {measured:?}");
            assert_eq!(bench.jobs.len(), from);
        }
    });
}
