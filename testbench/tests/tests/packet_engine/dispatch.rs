//! Dispatch: every order becomes its descriptor, each task goes to an HPU that may have it, and contexts get their shares.

use crate::packet_engine::hpus::Hpus;
use crate::packet_engine::ingress::common::{get_field, has_field};
use packet_engine::dispatch::Dispatch;
use packet_engine::schedule::task_timers::types::{DueTask, WaitingTask};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{PlacementDesc, TaskDesc, TaskDone};
use spindle_contract::descriptors::kind;
use spindle_contract::params::Config;
use spindle_harness::{random_bits, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::bits as hw;
use std::collections::{HashMap, HashSet, VecDeque};

const CONFIG: Config = Config::ALVEO;
/// Fields of `StoredPacket` that both descriptors show, with their widths, from the least significant bit on.
const STORED: [(&str, usize); 16] = [
    ("frame", 16),
    ("stamp", 32),
    ("length", 14),
    ("l3_offset", 6),
    ("payload_offset", 7),
    ("payload_len", 16),
    ("opcode", 8),
    ("src_nid", 32),
    ("src_pid", 16),
    ("dst_pid", 16),
    ("addr", 64),
    ("msg_id", 32),
    ("msg_len", 32),
    ("msg_off", 32),
    ("buf_off", 32),
    ("context", 4),
];
/// Likewise of `PlacementTerms`, which the placement alone shows.
const TERMS: [(&str, usize); 4] = [("psn", 32), ("key", 32), ("flags", 16), ("epoch", 16)];
/// Likewise of `Redirection`, by the names that they have in a placement.
const REDIRECTION: [(&str, usize); 3] = [("addr", 64), ("buf_off", 32), ("dst_pid", 6)];

/// Bits of values with their widths.
fn bits(values: impl IntoIterator<Item = (u64, usize)>) -> Vec<u8> {
    let mut all: Vec<bool> = vec![];
    for (value, width) in values {
        all.extend((0..width).map(|bit| value >> bit & 1 == 1));
    }
    all.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | u8::from(*bit))).collect()
}

/// An order: of a packet that was stored.
#[derive(Clone, Debug)]
struct Order {
    pkt: u64,
    slot: u64,
    kind: u64,
    from_handler: u64,
    pending: u64,
    dropped: u64,
    flow_control: u64,
    fields: HashMap<&'static str, u64>,
    /// A placement elsewhere: what of its fields is other than the packet's.
    elsewhere: Option<HashMap<&'static str, u64>>,
    /// There is no packet: a task that was due.
    bare: bool,
    ordered: u64,
}

/// A task on its HPU.
struct Running {
    until: u64,
    since: u64,
    desc: TaskDesc,
}

/// The block, the array around it, and what is expected.
struct Bench {
    dut: Dut<Dispatch>,
    hpus: Hpus,
    rng: ChaCha8Rng,
    now: u64,
    free: VecDeque<u64>,
    /// Slots for tasks without a packet.
    slots: VecDeque<u64>,
    /// Tasks that were ordered and have not left, by context.
    waiting: Vec<VecDeque<Order>>,
    places: VecDeque<Order>,
    running: Vec<Running>,
    done: VecDeque<TaskDone>,
    /// Tasks that left, tasks that run, HPU cycles that were taken, and the longest wait, by context.
    left: [u64; 16],
    active: [u64; 16],
    busy: [u64; 16],
    longest: [u64; 16],
    /// Order to descriptor of the last task and the last placement.
    latency: u64,
    place_latency: u64,
    /// HPU of each task.
    sent: Vec<usize>,
    placed: u64,
    redirected: u64,
    /// Cycle in which the block counts 0.
    reset: u64,
    /// The chance that a placement without an order is offered in a cycle, the one that is offered, and when it was first.
    fast_chance: f64,
    fast: Option<(PlacementDesc, u64)>,
    /// Those that were taken and have not left.
    fast_taken: VecDeque<PlacementDesc>,
    /// How many left, and the longest wait of one.
    fast_left: u64,
    fast_wait: u64,
}

impl Bench {
    fn new(wave: &WaveContext, config: &Config, policy: impl Fn(usize) -> (u64, u32)) -> Self {
        let dut = Dut::new(wave, Dispatch::new(config), "dispatch");
        let reset = dut.cycle();
        let mut hpus = Hpus::new(config);
        hpus.install(&dut, policy);
        dut.placement.ready.set(true);
        let mut bench = Bench {
            dut,
            hpus,
            rng: wave.rng(),
            now: 0,
            free: (0..config.cells() as u64).collect(),
            slots: (0..64).collect(),
            waiting: vec![VecDeque::new(); 16],
            places: VecDeque::new(),
            running: vec![],
            done: VecDeque::new(),
            left: [0; 16],
            active: [0; 16],
            busy: [0; 16],
            longest: [0; 16],
            latency: 0,
            place_latency: 0,
            sent: vec![],
            placed: 0,
            redirected: 0,
            reset,
            fast_chance: 0.0,
            fast: None,
            fast_taken: VecDeque::new(),
            fast_left: 0,
            fast_wait: 0,
        };
        (0..8).for_each(|_| bench.step(|_, _| 1).unwrap_or_else(|breach| panic!("{breach}")));
        bench
    }

    fn waiting(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// A fresh packet of a context; its order can be given two cycles after it was stored.
    fn packet(&mut self, context: u64) -> Option<Order> {
        let pkt = self.free.pop_front()?;
        let mut fields: HashMap<_, _> = STORED
            .iter()
            .chain(&TERMS)
            .map(|(name, width)| (*name, self.rng.random::<u64>() >> (64 - width)))
            .collect();
        fields.insert("context", context);
        let rng = &mut self.rng;
        Some(Order {
            pkt,
            slot: rng.random_range(0..256),
            kind: rng.random_range(0..3),
            from_handler: rng.random_range(0..2),
            pending: rng.random_range(0..2),
            dropped: rng.random_range(0..1 << 32),
            flow_control: rng.random_range(0..2),
            fields,
            elsewhere: None,
            bare: false,
            ordered: 0,
        })
    }

    /// A task without a packet, in a slot.
    fn due(&mut self, context: u64) -> Option<Order> {
        let slot = self.slots.pop_front()?;
        let rng = &mut self.rng;
        let own = [
            ("context", context),
            ("addr", rng.random()),
            ("stamp", rng.random::<u32>().into()),
            ("frame", rng.random::<u16>().into()),
        ];
        Some(Order {
            pkt: slot,
            slot,
            kind: kind::TASK.into(),
            from_handler: 0,
            pending: 0,
            dropped: rng.random_range(0..1 << 32),
            flow_control: rng.random_range(0..2),
            fields: STORED.iter().map(|(name, _)| (*name, 0)).chain(own).collect(),
            elsewhere: None,
            bare: true,
            ordered: 0,
        })
    }

    /// The order becomes one to place the packet elsewhere. No packet may be stored when it is given.
    fn redirect(&mut self, order: &mut Order) {
        let mut other: HashMap<_, _> =
            REDIRECTION.iter().map(|(name, width)| (*name, self.rng.random::<u64>() >> (64 - width))).collect();
        other.extend(TERMS.iter().map(|(name, _)| (*name, 0)));
        other.extend([("msg_off", 0), ("msg_len", order.fields["payload_len"])]);
        order.elsewhere = Some(other);
    }

    fn store(&mut self, order: &Order) {
        if order.bare {
            let task = WaitingTask {
                argument: hw(order.fields["addr"]),
                deadline: hw(order.fields["stamp"]),
                frame: hw(order.fields["frame"]),
            };
            self.dut.store_task.set(true);
            self.dut.store_slot.set(order.slot);
            self.dut.stored_task.set(DueTask { context: hw(order.fields["context"]), task });
            return;
        }
        self.dut.store.set(true);
        self.dut.store_pkt.set(order.pkt);
        let packed = bits(STORED.iter().map(|(name, width)| (order.fields[name], *width)));
        self.dut.store_packet.set_bytes(&packed);
        self.dut.store_terms.set_bytes(&bits(TERMS.iter().map(|(name, width)| (order.fields[name], *width))));
    }

    /// The order comes in the next cycle.
    fn prefetch(&mut self, order: &Order) {
        let packed = bits([(order.pkt, 10), (order.bare.into(), 1), (order.slot, 8), (order.fields["context"], 4)]);
        self.dut.prefetch.set_bytes(&packed);
    }

    /// Stores a packet and orders something about it; `cycles` as for `step`.
    fn store_and_order(&mut self, order: Order, is_task: bool, cycles: impl Fn(&mut ChaCha8Rng, u64) -> u64) {
        self.store(&order);
        self.step(&cycles).unwrap_or_else(|breach| panic!("{breach}"));
        self.prefetch(&order);
        self.step(&cycles).unwrap_or_else(|breach| panic!("{breach}"));
        self.order(order, is_task);
    }

    fn order(&mut self, mut order: Order, is_task: bool) {
        let context = order.fields["context"];
        let packed = bits([
            (order.pkt, 10),
            (order.slot, 8),
            (context, 4),
            (order.kind, 2),
            (order.from_handler, 1),
            (order.pending, 1),
            (order.elsewhere.is_some().into(), 1),
            (order.dropped, 32),
            (order.flow_control, 1),
        ]);
        self.dut.order.set_bytes(&packed);
        let push = if is_task { &self.dut.task_push } else { &self.dut.placement_push };
        push.set(true);
        if let Some(other) = &order.elsewhere {
            self.dut.redirect.set(true);
            let packed = bits(REDIRECTION.iter().map(|(name, width)| (other[name], *width)));
            self.dut.redirection.set_bytes(&packed);
        }
        order.ordered = self.now;
        if is_task {
            self.waiting[context as usize].push_back(order);
        } else {
            self.places.push_back(order);
        }
    }

    /// One cycle with the inputs as they were set; `cycles` says how long a task of a context runs.
    fn step(&mut self, cycles: impl Fn(&mut ChaCha8Rng, u64) -> u64) -> Result<(), String> {
        let now = self.now;
        self.hpus.drive(&self.dut.room, now);
        while let Some(at) = self.running.iter().position(|run| run.until <= now) {
            let run = self.running.swap_remove(at);
            let TaskDesc { kind, context, msg_slot, frame, pkt, cluster, hpu, .. } = run.desc;
            let cycles = hw(run.until - run.since);
            let done = TaskDone { kind, context, msg_slot, frame, pkt, cluster, hpu, cycles, ..TaskDone::default() };
            self.done.push_back(done);
        }
        let done = self.done.pop_front();
        self.dut.ended.set(done.is_some());
        if let Some(done) = done {
            self.dut.ended_task.set(done);
            self.hpus.ends(&done);
            self.active[done.context.to_u64() as usize] -= 1;
            if done.kind.to_u64() == u64::from(kind::TASK) {
                self.slots.push_back(done.msg_slot.to_u64());
            } else {
                self.free.push_back(done.pkt.to_u64());
            }
        }
        self.busy.iter_mut().zip(self.active).for_each(|(busy, active)| *busy += active);
        if self.fast.is_none() && self.rng.random_bool(self.fast_chance) {
            self.fast = Some((PlacementDesc { has_slot: false, ..random_bits(&mut self.rng) }, now));
        }
        self.dut.fast.offer(self.fast.map(|(desc, _)| desc));
        self.dut.eval();
        if self.dut.task_valid.is_high() {
            self.task(cycles)?;
        }
        if self.dut.fast.moves() {
            let (desc, since) = self.fast.take().expect("a placement is offered");
            self.fast_taken.push_back(desc);
            self.fast_wait = self.fast_wait.max(now - since);
        }
        if self.dut.placement.valid.is_high() && self.dut.placement.ready.is_high() {
            self.placement()?;
        }
        self.dut.tick();
        for wire in
            [&self.dut.store, &self.dut.store_task, &self.dut.task_push, &self.dut.placement_push, &self.dut.redirect]
        {
            wire.set(false);
        }
        self.now += 1;
        Ok(())
    }

    fn task(&mut self, cycles: impl Fn(&mut ChaCha8Rng, u64) -> u64) -> Result<(), String> {
        let desc = self.dut.task_desc.get();
        let context = desc.context.to_u64();
        let order = self.waiting[context as usize].pop_front().ok_or(format!("no one ordered {desc:?}"))?;
        let at = self.hpus.takes(&desc, self.now, &mut self.rng)?;
        let bytes = self.dut.task_desc.bytes();
        for (name, value) in order.fields.iter().filter(|(name, _)| has_field("task_desc", name)) {
            if get_field(&bytes, "task_desc", name) != *value {
                return Err(format!("{name} of {desc:?} is not that of {order:?}"));
            }
        }
        let own = TaskDesc {
            pkt: hw(order.pkt),
            msg_slot: hw(order.slot),
            kind: hw(order.kind),
            dropped_bytes: hw(order.dropped),
            flow_control: order.flow_control == 1,
            has_packet: order.kind < u64::from(kind::COMPLETION),
            version: hw(1),
            dispatched: hw((self.dut.cycle() - self.reset) & 0xFFFF_FFFF),
            spare: hw(0),
            ..desc
        };
        if desc != own {
            return Err(format!("{desc:?} is not that of {order:?}"));
        }
        self.latency = self.now - order.ordered;
        self.longest[context as usize] = self.longest[context as usize].max(self.latency);
        self.left[context as usize] += 1;
        self.active[context as usize] += 1;
        self.sent.push(at);
        let until = self.now + cycles(&mut self.rng, context);
        self.running.push(Running { until, since: self.now, desc });
        Ok(())
    }

    fn placement(&mut self) -> Result<(), String> {
        let desc = self.dut.placement.get();
        if !desc.has_slot {
            self.fast_left += 1;
            let fast = self.fast_taken.pop_front();
            return if fast == Some(desc) { Ok(()) } else { Err(format!("{desc:?} instead of {fast:?}")) };
        }
        let mut order = self.places.pop_front().ok_or(format!("no one ordered {desc:?}"))?;
        order.fields.extend(order.elsewhere.iter().flatten());
        order.fields.insert("redirected", order.elsewhere.is_some().into());
        self.redirected += u64::from(order.elsewhere.is_some());
        let bytes = self.dut.placement.bytes();
        for (name, value) in order.fields.iter().filter(|(name, _)| has_field("placement_desc", name)) {
            if get_field(&bytes, "placement_desc", name) != *value {
                return Err(format!("{name} of {desc:?} is not that of {order:?}"));
            }
        }
        let own = PlacementDesc {
            version: hw(1),
            pkt: hw(order.pkt),
            has_slot: true,
            msg_slot: hw(order.slot),
            from_handler: order.from_handler == 1,
            pending: order.pending == 1,
            of_bytes: false,
            host: false,
            rule: hw(0),
            checks: hw(0),
            spare: hw(0),
            ..desc
        };
        if desc != own {
            return Err(format!("{desc:?} is not of {order:?}"));
        }
        self.place_latency = self.now - order.ordered;
        self.placed += 1;
        self.free.push_back(order.pkt);
        Ok(())
    }

    /// Keeps `depth` tasks of each context of `contexts` waiting, a new one per cycle, for so many cycles.
    fn overload(&mut self, contexts: &[u64], depth: usize, count: u64, cycles: impl Fn(&mut ChaCha8Rng, u64) -> u64) {
        let mut stored: VecDeque<Option<Order>> = [None, None].into();
        for cycle in 0..count + 2 {
            if let Some(order) = stored.pop_front().flatten() {
                self.order(order, true);
            }
            if let Some(Some(order)) = stored.front().cloned() {
                self.prefetch(&order);
            }
            let least = contexts.iter().copied().min_by_key(|c| self.waiting[*c as usize].len()).expect("some context");
            let mut next = None;
            if cycle < count && self.waiting[least as usize].len() < depth {
                next = if self.rng.random_ratio(1, 8) { self.due(least) } else { None };
                next = next.or_else(|| self.packet(least));
            }
            if let Some(order) = &next {
                self.store(order);
            }
            stored.push_back(next);
            self.step(&cycles).unwrap_or_else(|breach| panic!("cycle {}: {breach}", self.now));
        }
    }
}

#[test]
fn random_orders() {
    run_with_wave_on_failure("dispatch_random_orders", |wave| {
        // Contexts 0 to 3 have one cluster each, context 4 one HPU.
        let mask = |c: usize| match c {
            0..=3 => 0xF << (4 * c),
            4 => 0x0200,
            _ => u32::MAX,
        };
        let mut bench = Bench::new(wave, &CONFIG, |c| (1 + 16 * c as u64, mask(c)));
        bench.hpus.patience = 12;
        bench.fast_chance = 0.3;
        let mut stored: VecDeque<Option<Order>> = [None, None].into();
        let (mut ordered, mut placements) = (0, 0);
        for _ in 0..60_000u64 {
            // Bursts and silence.
            let eager = !(bench.now / 700).is_multiple_of(3);
            let mut redirects = false;
            if let Some(mut order) = stored.pop_front().flatten() {
                let is_task = order.bare || bench.rng.random_range(0..4) > 0;
                (ordered, placements) = (ordered + u64::from(is_task), placements + u64::from(!is_task));
                redirects = !is_task && bench.rng.random();
                if redirects {
                    bench.redirect(&mut order);
                }
                bench.order(order, is_task);
            }
            if let Some(Some(order)) = stored.front().cloned() {
                // What is said ahead may turn out wrong about the context.
                let mut guess = order.clone();
                if bench.rng.random_range(0..4) == 0 {
                    guess.fields.insert("context", 9);
                }
                bench.prefetch(&guess);
            }
            let mut next = None;
            if !redirects && (eager || bench.rng.random_range(0..12) == 0) {
                let context = bench.rng.random_range(0..16);
                next = if bench.rng.random_ratio(1, 8) { bench.due(context) } else { bench.packet(context) };
            }
            if let Some(order) = &next {
                bench.store(order);
            }
            stored.push_back(next);
            let ready = bench.rng.random_range(0..3) > 0;
            bench.dut.placement.ready.set(ready);
            let run = |rng: &mut ChaCha8Rng, context: u64| rng.random_range(1..30 + 20 * context);
            bench.step(run).unwrap_or_else(|breach| panic!("cycle {}: {breach}", bench.now));
        }
        bench.dut.placement.ready.set(true);
        bench.fast_chance = 0.0;
        bench.free.extend(stored.into_iter().flatten().filter(|order| !order.bare).map(|order| order.pkt));
        for _ in 0..40_000 {
            bench.step(|_, _| 10).unwrap_or_else(|breach| panic!("cycle {}: {breach}", bench.now));
        }
        assert_eq!((bench.waiting(), bench.places.len(), bench.running.len()), (0, 0, 0), "nothing is left");
        assert_eq!((bench.left.iter().sum::<u64>(), bench.placed), (ordered, placements));
        assert!(ordered > 10_000 && placements > 3_000, "{ordered} tasks, {placements} placements");
        assert!(bench.redirected > 1_000, "{} placements elsewhere", bench.redirected);
        assert!(bench.fast_left > 5_000, "{} placements without an order", bench.fast_left);
        assert!(bench.fast.is_none() && bench.fast_taken.is_empty(), "nothing is left");
        assert_eq!(bench.free.len(), CONFIG.cells());
    });
}

#[test]
fn latency_of_a_lone_order() {
    run_with_wave_on_failure("dispatch_latency", |wave| {
        let mut bench = Bench::new(wave, &CONFIG, |_| (1, u32::MAX));
        for round in 0..8u64 {
            let mut order = bench.packet(3).expect("a cell is free");
            order.slot = round;
            bench.store_and_order(order, true, |_, _| 1000);
            (0..30).for_each(|_| bench.step(|_, _| 1000).unwrap());
            assert_eq!(bench.latency, 1, "order to task_valid when nothing waits");
            assert_eq!(bench.sent[round as usize] / CONFIG.hpus, (round % 4) as usize, "the home cluster");
        }
        let order = bench.packet(3).expect("a cell is free");
        bench.store_and_order(order, false, |_, _| 1);
        (0..30).for_each(|_| bench.step(|_, _| 1).unwrap());
        assert_eq!((bench.placed, bench.place_latency), (1, 7), "order to placement_valid");
    });
}

#[test]
fn the_least_loaded_hpu_first() {
    run_with_wave_on_failure("dispatch_least_loaded", |wave| {
        let mut bench = Bench::new(wave, &CONFIG, |_| (1, u32::MAX));
        let total = CONFIG.total_hpus();
        // Handlers that never end: each HPU gets a second task only when all have one.
        for count in 1..=4 * total {
            let order = bench.packet(1).expect("a cell is free");
            bench.store_and_order(order, true, |_, _| 1 << 40);
            (0..8).for_each(|_| bench.step(|_, _| 1 << 40).unwrap());
            let loads: Vec<usize> = bench.hpus.loads().iter().map(|load| load.0).collect();
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(most - least <= 1 && loads.iter().sum::<usize>() == count, "{loads:?}");
        }
    });
}

#[test]
fn one_task_per_cycle() {
    for contexts in [vec![5], (0..16).collect::<Vec<u64>>()] {
        run_with_wave_on_failure(&format!("dispatch_rate_{}", contexts.len()), |wave| {
            let mut bench = Bench::new(wave, &CONFIG, |_| (1, u32::MAX));
            // A backlog, after HPUs that are all taken.
            let depth = 960 / contexts.len();
            bench.hpus.patience = 1 << 40;
            bench.overload(&contexts, depth, 1100, |_, _| 3);
            assert!(bench.waiting() >= 900, "{} wait", bench.waiting());
            // Room comes back at once now.
            bench.hpus = {
                let mut fresh = Hpus::new(&CONFIG);
                let done: Vec<TaskDone> = bench.done.drain(..).collect();
                assert!(done.is_empty() && bench.running.is_empty(), "all is quiet");
                fresh.patience = 2;
                fresh
            };
            let (start, before) = (bench.now, bench.left.iter().sum::<u64>());
            let sent = bench.sent.len();
            let mut first = None;
            while bench.waiting() > 100 {
                bench.step(|_, _| 3).unwrap();
                first = first.or((bench.left.iter().sum::<u64>() > before).then_some(bench.now));
                assert!(bench.now < start + 3000, "{} wait", bench.waiting());
            }
            let tasks = bench.left.iter().sum::<u64>() - before;
            let took = bench.now - first.expect("a task left") + 1;
            println!("{} contexts: {tasks} tasks in {took} cycles", contexts.len());
            // All HPUs have room and nothing to do: the first tasks are spread over the clusters in turn.
            let clusters: HashSet<usize> =
                bench.sent[sent..][..2 * CONFIG.clusters].iter().map(|hpu| hpu / CONFIG.hpus).collect();
            assert_eq!(clusters.len(), CONFIG.clusters, "{:?}", &bench.sent[sent..][..4 * CONFIG.clusters]);
            // A round of gifts costs up to 10 cycles; there are two here, as the first tasks leave no one with funds.
            let rounds = if contexts.len() == 1 { 0 } else { 2 };
            assert!(took <= tasks + 10 * rounds, "a task in every cycle");
        });
    }
}

/// Cycles until what a context overdrew at the start is paid back. Its first tasks cost nothing until one of them has ended, so
/// a context with long handlers is given nearly every HPU meanwhile.
const PAID_BACK: u64 = 25_000;

/// Shares of two contexts with weights 1 and 3 under overload: from the start on, and after the debts of the start.
fn shares(name: &str, cycles: [u64; 2], count: u64) {
    run_with_wave_on_failure(name, |wave| {
        let mut bench = Bench::new(wave, &CONFIG, |c| (if c == 2 { 3 } else { 1 }, u32::MAX));
        bench.hpus.patience = 4;
        let run = |rng: &mut ChaCha8Rng, context: u64| {
            let mean = cycles[usize::from(context == 2)];
            rng.random_range(mean - mean / 2..=mean + mean / 2)
        };
        // The array of the bench runs up to four tasks on an HPU; the shares do not depend on it.
        bench.overload(&[1, 2], 200, PAID_BACK, run);
        let before = bench.busy;
        bench.overload(&[1, 2], 200, share(count as usize) as u64, run);
        for (since, then) in [("the start", [0; 16]), ("the debts of the start", before)] {
            let [one, three] = [1, 2].map(|context| bench.busy[context] - then[context]);
            let share = three as f64 / (one + three) as f64;
            println!("{name}: busy {one} and {three} since {since}, share {share:.4}");
            let off = [share / 0.75 - 1.0, (1.0 - share) / 0.25 - 1.0];
            assert!(off.iter().all(|off| off.abs() <= 0.05), "share {share} since {since}");
        }
    });
}

#[test]
fn weights_share_out_hpu_cycles() {
    shares("dispatch_same_handlers", [200, 200], 60_000);
    shares("dispatch_short_and_long_handlers", [100, 2000], 200_000);
    shares("dispatch_long_and_short_handlers", [2000, 100], 200_000);
}

#[test]
fn nobody_starves() {
    run_with_wave_on_failure("dispatch_nobody_starves", |wave| {
        // Context 0 has all the weight and long handlers; context 1 comes now and then; context 2 has an HPU of its own.
        const LONG: u64 = 1000;
        let mask = |c: usize| if c == 2 { 1 << 7 } else { !(1u32 << 7) };
        let mut bench = Bench::new(wave, &CONFIG, |c| (if c == 0 { 255 } else { 1 }, mask(c)));
        bench.hpus.patience = 4;
        for round in 0..60 {
            bench.overload(&[0], 300, 700, |_, context| if context == 0 { LONG } else { 50 });
            let context = 1 + round % 2;
            let order = bench.packet(context).expect("a cell is free");
            bench.store_and_order(order, true, |_, _| LONG);
            bench.step(|_, _| LONG).unwrap();
        }
        bench.overload(&[0], 300, 3000, |_, context| if context == 0 { LONG } else { 50 });
        println!("longest waits {:?}", &bench.longest[..3]);
        assert!(bench.waiting[1].is_empty() && bench.waiting[2].is_empty());
        assert!(bench.longest[2] <= 16, "an HPU of its own: {} cycles", bench.longest[2]);
        // It is funded, so it gets the first or second HPU that ends a task, at the latest after the longest handler.
        assert!(bench.longest[1] <= LONG + 16, "{} cycles", bench.longest[1]);
    });
}

/// A context that has long had the HPUs to itself owes nothing to one that comes later.
#[test]
fn what_none_wanted_is_not_owed() {
    run_with_wave_on_failure("dispatch_idle", |wave| {
        const LONG: u64 = 1000;
        let mut bench = Bench::new(wave, &CONFIG, |_| (1, u32::MAX));
        bench.hpus.patience = 4;
        for _ in 0..400 {
            let order = bench.packet(1).expect("a cell is free");
            bench.store_and_order(order, true, |_, _| LONG);
            (0..150).for_each(|_| bench.step(|_, _| LONG).unwrap());
        }
        assert_eq!((bench.left[1], bench.waiting()), (400, 0));
        bench.longest = [0; 16];
        for _ in 0..20 {
            bench.overload(&[0], 300, 700, |_, _| LONG);
            let order = bench.packet(1).expect("a cell is free");
            bench.store_and_order(order, true, |_, _| LONG);
        }
        bench.overload(&[0], 300, 3000, |_, _| LONG);
        println!("longest waits {:?}", &bench.longest[..2]);
        assert!(bench.waiting[1].is_empty());
        assert!(bench.longest[1] <= LONG + 16, "{} cycles", bench.longest[1]);
    });
}

#[test]
fn a_context_whose_hpus_are_busy_delays_no_other() {
    run_with_wave_on_failure("dispatch_masks", |wave| {
        // Context 0 floods its two HPUs, which never end; the others have the rest.
        let mut bench = Bench::new(wave, &CONFIG, |c| (1, if c == 0 { 0b11 } else { !0b11 }));
        bench.overload(&[0], 500, 600, |_, _| 1 << 40);
        assert!(bench.waiting[0].len() >= 500);
        bench.longest = [0; 16];
        for _ in 0..200 {
            let context = bench.rng.random_range(1..16);
            let order = bench.packet(context).expect("a cell is free");
            bench.store_and_order(order, true, |_, _| 20);
            (0..12).for_each(|_| bench.step(|_, context| if context == 0 { 1 << 40 } else { 20 }).unwrap());
        }
        assert_eq!(bench.left[1..].iter().sum::<u64>(), 200);
        assert!(bench.longest.iter().all(|wait| *wait <= 7), "{:?}", bench.longest);
    });
}
