//! Those who use the host through the engine, played by the bench: readers, issuers of atomics, sources of events.

use crate::rvma_lut::rvma_engine::bench::{field, pack};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{Model, Port};
use std::collections::VecDeque;

/// A descriptor port of the engine: what is queued is offered in order, after random pauses.
pub struct Offers {
    desc: Port,
    valid: Port,
    ready: Port,
    queue: VecDeque<Vec<u8>>,
    offered: bool,
    /// Cycles in which one was taken.
    pub taken: Vec<u64>,
}

impl Offers {
    fn new(model: &Model, name: &str) -> Self {
        let port = |name: String| model.port(&name).unwrap_or_else(|error| panic!("{error}"));
        Self {
            desc: port(name.into()),
            valid: port(format!("{name}_valid")),
            ready: port(format!("{name}_ready")),
            queue: VecDeque::new(),
            offered: false,
            taken: vec![],
        }
    }

    fn drive(&mut self, model: &mut Model, pause: bool) {
        self.offered |= !self.queue.is_empty() && !pause;
        model.set(self.valid, self.offered.into());
        if let (true, Some(desc)) = (self.offered, self.queue.front()) {
            model.set_bytes(self.desc, desc);
        }
    }

    fn sample(&mut self, model: &Model) {
        if self.offered && model.is_set(self.ready) {
            self.queue.pop_front();
            self.offered = false;
            self.taken.push(model.cycle());
        }
    }
}

/// A read that was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Handle word {cluster, hpu, handle} of the tag.
    pub who: u64,
    pub address: u64,
    pub data: Vec<u8>,
    pub error: bool,
    /// Cycles of the first and the last beat.
    pub first: u64,
    pub last: u64,
}

/// A client of the reader.
pub struct Reader {
    pub requests: Offers,
    data: Port,
    data_last: Port,
    data_error: Port,
    data_tag: Port,
    data_valid: Port,
    data_ready: Port,
    beats: Vec<u8>,
    first: u64,
    held: Option<Vec<u8>>,
    ready: bool,
    /// Percent of the cycles in which no data are taken.
    pub stall: u32,
    pub answers: Vec<Answer>,
    /// Cycles inside a transfer in which data would have been taken and none were offered.
    pub gaps: u64,
    /// All beats of a transfer say the same of its error.
    pub errors_agree: bool,
    errors: Vec<bool>,
}

impl Reader {
    fn new(model: &Model, request: &str, data: &str) -> Self {
        let port = |suffix: &str| model.port(&format!("{data}{suffix}")).unwrap_or_else(|error| panic!("{error}"));
        Self {
            requests: Offers::new(model, request),
            data: port(""),
            data_last: port("_last"),
            data_error: port("_error"),
            data_tag: port("_tag"),
            data_valid: port("_valid"),
            data_ready: port("_ready"),
            beats: vec![],
            first: 0,
            held: None,
            ready: false,
            stall: 0,
            answers: vec![],
            gaps: 0,
            errors_agree: true,
            errors: vec![],
        }
    }

    /// Queues a read.
    pub fn read(&mut self, who: u64, address: u64, length: usize) {
        let values = [
            ("cluster", who >> 7),
            ("hpu", who >> 4 & 7),
            ("handle", who & 15),
            ("address", address),
            ("length", length as u64),
        ];
        self.requests.queue.push_back(pack("host_read", &values));
    }

    fn drive(&mut self, model: &mut Model, pause: bool, stall: bool) {
        self.requests.drive(model, pause);
        self.ready = !stall;
        model.set(self.data_ready, self.ready.into());
    }

    fn sample(&mut self, model: &Model) {
        self.requests.sample(model);
        let valid = model.is_set(self.data_valid);
        let shown = valid.then(|| model.get_bytes(self.data).to_vec());
        if self.held.is_some() {
            assert_eq!(shown, self.held, "a beat changed before it was taken");
        }
        self.held = if self.ready { None } else { shown };
        if !self.ready {
            return;
        }
        if !valid {
            self.gaps += u64::from(!self.beats.is_empty());
            return;
        }
        if self.beats.is_empty() {
            self.first = model.cycle();
        }
        self.beats.extend(model.get_bytes(self.data));
        self.errors.push(model.is_set(self.data_error));
        if model.is_set(self.data_last) {
            let tag = model.get_bytes(self.data_tag);
            let get = |name| field("host_read", tag, name);
            let mut data = std::mem::take(&mut self.beats);
            let length = get("length") as usize;
            assert_eq!(data.len(), length.next_multiple_of(64), "beats of a read of {length} bytes");
            data.truncate(length);
            let errors = std::mem::take(&mut self.errors);
            self.errors_agree &= errors.iter().all(|e| *e == errors[0]);
            self.answers.push(Answer {
                who: get("cluster") << 7 | get("hpu") << 4 | get("handle"),
                address: get("address"),
                data,
                error: *errors.last().expect("one per beat"),
                first: self.first,
                last: model.cycle(),
            });
        }
    }
}

/// An atomic operation.
#[derive(Clone, Copy, Debug)]
pub struct Atomic {
    pub who: u64,
    pub op: u8,
    pub wide: bool,
    pub address: u64,
    pub operand: u64,
    pub compare: u64,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicEnd {
    pub who: u64,
    pub error: bool,
    pub value: u64,
    pub cycle: u64,
}

/// A put of host memory that the initiator is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPut {
    pub op: u8,
    pub node: u8,
    pub src_pid: u16,
    pub dst_pid: u16,
    pub addr: u64,
    pub buf_off: u32,
    pub key: u32,
    pub msg_id: u32,
    pub length: u32,
    pub host_address: u64,
}

/// All of them.
pub struct Agents {
    /// HPU array and initiator.
    pub readers: [Reader; 2],
    pub atomics: Offers,
    pub atomic_ends: Vec<AtomicEnd>,
    /// Packet engine and HPU array.
    pub events: [Offers; 2],
    /// Percent of the cycles in which nothing new is offered.
    pub idle: u32,
    /// What the initiator was asked for, and when.
    pub puts: Vec<HostPut>,
    pub put_cycles: Vec<u64>,
    /// Percent of the cycles in which it takes nothing.
    pub put_stall: u32,
    host_put: Port,
    host_put_valid: Port,
    host_put_ready: Port,
    takes_put: bool,
    atomic_done: Port,
    atomic_done_valid: Port,
    rings_open: Port,
    rng: ChaCha8Rng,
}

impl Agents {
    pub fn new(model: &Model, rng: ChaCha8Rng) -> Self {
        let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error}"));
        Self {
            readers: [Reader::new(model, "host_read", "host_data"), Reader::new(model, "put_read", "put_data")],
            atomics: Offers::new(model, "host_atomic"),
            atomic_ends: vec![],
            events: [Offers::new(model, "message_event"), Offers::new(model, "array_event")],
            idle: 0,
            puts: vec![],
            put_cycles: vec![],
            put_stall: 0,
            host_put: port("host_put"),
            host_put_valid: port("host_put_valid"),
            host_put_ready: port("host_put_ready"),
            takes_put: false,
            atomic_done: port("atomic_done"),
            atomic_done_valid: port("atomic_done_valid"),
            rings_open: port("rings_open"),
            rng,
        }
    }

    /// Queues an atomic operation.
    pub fn atomic(&mut self, a: &Atomic) {
        let values = [
            ("cluster", a.who >> 7),
            ("hpu", a.who >> 4 & 7),
            ("handle", a.who & 15),
            ("op", a.op.into()),
            ("wide", a.wide.into()),
            ("address", a.address),
            ("operand", a.operand),
            ("compare", a.compare),
        ];
        self.atomics.queue.push_back(pack("host_atomic", &values));
    }

    /// Queues an event at source 0 (packet engine) or 1 (HPU array).
    pub fn event(&mut self, source: usize, values: &[(&str, u64)]) {
        self.events[source].queue.push_back(pack("event_desc", values));
    }

    /// Nothing waits to be offered.
    pub fn idle(&self) -> bool {
        let offers = self.readers.iter().map(|r| &r.requests).chain([&self.atomics]).chain(&self.events);
        offers.into_iter().all(|o| o.queue.is_empty()) && self.readers.iter().all(|r| r.beats.is_empty())
    }

    /// Bit p = process p has a ring.
    pub fn rings_open(&self, model: &Model) -> u64 {
        model.get(self.rings_open)
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent > 0 && self.rng.random_range(0..100) < percent
    }

    /// Sets the engine's inputs.
    pub fn drive(&mut self, model: &mut Model) {
        for i in 0..2 {
            let (pause, stall) = (self.chance(self.idle), self.chance(self.readers[i].stall));
            self.readers[i].drive(model, pause, stall);
            let pause = self.chance(self.idle);
            self.events[i].drive(model, pause);
        }
        let pause = self.chance(self.idle);
        self.atomics.drive(model, pause);
        self.takes_put = !self.chance(self.put_stall);
        model.set(self.host_put_ready, self.takes_put.into());
    }

    /// Takes note of what was handed over.
    pub fn sample(&mut self, model: &Model) {
        for i in 0..2 {
            self.readers[i].sample(model);
            self.events[i].sample(model);
        }
        self.atomics.sample(model);
        if self.takes_put && model.is_set(self.host_put_valid) {
            let bytes = model.get_bytes(self.host_put);
            let get = |name| field("put_desc", bytes, name);
            assert_eq!((get("from_host"), get("flags")), (1, 0));
            self.put_cycles.push(model.cycle());
            self.puts.push(HostPut {
                op: get("op") as u8,
                node: get("node") as u8,
                src_pid: get("src_pid") as u16,
                dst_pid: get("dst_pid") as u16,
                addr: get("addr"),
                buf_off: get("buf_off") as u32,
                key: get("key") as u32,
                msg_id: get("reply_key") as u32,
                length: get("length") as u32,
                host_address: get("host_address"),
            });
        }
        if model.is_set(self.atomic_done_valid) {
            let bytes = model.get_bytes(self.atomic_done);
            let get = |name| field("host_atomic_done", bytes, name);
            self.atomic_ends.push(AtomicEnd {
                who: get("cluster") << 7 | get("hpu") << 4 | get("handle"),
                error: get("error") == 1,
                value: get("value"),
                cycle: model.cycle(),
            });
        }
    }
}
