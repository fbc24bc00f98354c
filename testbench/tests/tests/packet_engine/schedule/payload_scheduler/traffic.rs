//! Random messages, and what is played against the scheduler: an array of handlers, an RVMA engine, a packet buffer.

use crate::packet_engine::dut::{Dut, Record};
use crate::packet_engine::hpus::Hpus;
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::descriptors::{action, kind, overload};
use spindle_contract::params::Config;
use spindle_contract::{events, memory_map::command, reasons, wire::opcode};
use spindle_model::packet_engine::payload_scheduler::{Counts, Handlers, Judge, Limits, Plan, Report, Sent, Target};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// The context that is not active; the others have the handlers that their low bits name.
const INACTIVE: u64 = 15;
/// An opcode that no mailbox serves.
const NOT_SERVED: u64 = opcode::CTRL as u64;
/// Their raw messages are named by a field of their frames, and end by the rule's end test.
const BY_FIELD: [u64; 3] = [1, 10, 12];
/// The rule wants the packets of these contexts at the host, too.
const TO_HOST: [u64; 2] = [4, 9];
/// Fields of PACKET and PLACEMENT ports that are as wide as a packet sequence number in a window.
const PSN_MASK: u64 = 0x7ff;

/// Cycles for which the source of a frame rests that is to be sent again.
const REST: u64 = 20;

/// What each context may have inside.
fn limits(context: u64) -> Limits {
    let (messages, packets, rule, user_header) = match context {
        2 => (0, 3, overload::DROP, 0),
        3 => (2, 0, overload::DROP, 0),
        5 => (0, 6, overload::PAUSE, 16),
        6 => (0, 3, overload::PAUSE, 0),
        7 => (0, 4, overload::DROP, 24),
        10 => (1, 0, overload::PLACE, 0),
        11 => (0, 3, overload::PLACE, 0),
        13 => (0, 0, overload::DROP, 40),
        14 => (2, 5, overload::PAUSE, 0),
        _ => (0, 0, overload::DROP, 0),
    };
    Limits { messages, packets, overload: rule, user_header }
}

/// The process that a context's events go to.
fn process(context: u64) -> u64 {
    3 * context + 1
}

/// The policies of all contexts: `shares` with what each may have inside.
pub fn limited(mut shares: Vec<Record>) -> Vec<Record> {
    for (context, policy) in (0..).zip(&mut shares) {
        let limits = limits(context);
        policy.0.extend([
            ("messages", limits.messages as u64),
            ("packets", limits.packets as u64),
            ("overload", limits.overload as u64),
            ("user_header", limits.user_header),
            ("pid", process(context)),
        ]);
    }
    shares
}

/// How the handlers of a message behave.
#[derive(Clone, Debug)]
struct Script {
    header: u8,
    payload_drops: f64,
    payload_fails: f64,
    completion: u8,
    places: f64,
}

struct Live {
    number: usize,
    key: [u64; 6],
    frames: VecDeque<Record>,
    /// Packets whose cells have not returned.
    open: usize,
    /// Frames are lost: it ends of age, unless none of it joined.
    lossy: bool,
    joined: bool,
    ended: bool,
    /// Its source rests until this cycle, because the NIC had no room for a frame of it.
    rests: u64,
}

impl Live {
    fn over(&self) -> bool {
        self.frames.is_empty() && self.open == 0 && (!self.lossy || !self.joined || self.ended)
    }
}

struct Running {
    since: u64,
    until: u64,
    kind: u8,
    desc: Record,
    /// PLACE and REDIRECT commands that are still to be issued.
    commands: u32,
    commanded: bool,
}

/// Everything around the scheduler.
pub struct Surroundings {
    pub judge: Judge,
    pub hpus: Hpus,
    rng: ChaCha8Rng,
    cycle: u64,
    left: usize,
    window: usize,
    live: Vec<Live>,
    scripts: Vec<Script>,
    message_of: HashMap<u64, usize>,
    next_frame: u64,
    cells: Vec<u64>,
    all_cells: usize,
    offered: Option<Record>,
    running: Vec<Running>,
    done: VecDeque<Record>,
    place: VecDeque<Record>,
    placing: Vec<(u64, Record)>,
    placed: VecDeque<Record>,
    /// Frames inside, as they were sent.
    sent: BTreeMap<u64, Record>,
    /// The same, until their cells return; and the first command of each that counts.
    words: HashMap<u64, Record>,
    commands: HashMap<u64, Record>,
    /// Placements elsewhere.
    pub redirected: u64,
    busy: HashSet<&'static str>,
    /// Largest number of cycles that a feedback word was offered before it was taken.
    pub longest_wait: u64,
    waited: HashMap<&'static str, u64>,
    /// What the pulses of the scheduler said.
    pub seen: Counts,
    /// Every so many messages one loses frames; 0 = none.
    pub losses: u32,
    /// Chance that a sink is ready in a cycle, per cent.
    pub eagerness: u32,
}

/// `ContextStatus` of all contexts.
pub fn contexts() -> u64 {
    (0..INACTIVE).fold(0, |bits, c| bits | (1 | (c & 7) << 1) << (4 * c))
}

/// Installs the policy of each context, and waits until the scheduler has cleared its tables.
pub fn install(dut: &mut Dut, policies: &[Record]) {
    for (index, policy) in policies.iter().enumerate() {
        let mut policy = policy.clone();
        policy.0.entry("weight").or_insert(1);
        policy.0.entry("core_mask").or_insert(u32::MAX.into());
        dut.put("policy", "context_policy", &policy);
        dut.set("policy_index", index as u64);
        dut.set("policy_valid", 1);
        dut.tick();
    }
    dut.set("policy_valid", 0);
    dut.set("message_event_ready", 1);
    for _ in 0..300 {
        dut.tick();
    }
}

fn target(context: u64) -> Target {
    if context == INACTIVE {
        return Target::Refused(reasons::NO_CONTEXT);
    }
    let handlers = Handlers { header: context & 1 == 1, payload: context & 2 == 2, completion: context & 4 == 4 };
    Target::Context(context as usize, handlers, limits(context))
}

impl Surroundings {
    /// `messages` random messages, at most `window` of them alive at once.
    pub fn new(config: &Config, rng: ChaCha8Rng, messages: usize, window: usize, eagerness: u32) -> Self {
        Self {
            judge: Judge::default(),
            hpus: Hpus::new(config),
            rng,
            cycle: 0,
            left: messages,
            window,
            live: vec![],
            scripts: vec![],
            message_of: HashMap::new(),
            next_frame: 0,
            cells: (0..config.cells() as u64).collect(),
            all_cells: config.cells(),
            offered: None,
            running: vec![],
            done: VecDeque::new(),
            place: VecDeque::new(),
            placing: vec![],
            placed: VecDeque::new(),
            sent: BTreeMap::new(),
            words: HashMap::new(),
            commands: HashMap::new(),
            redirected: 0,
            busy: HashSet::new(),
            longest_wait: 0,
            waited: HashMap::new(),
            seen: Default::default(),
            losses: 0,
            eagerness,
        }
    }

    /// All traffic has been played and answered.
    pub fn quiet(&self) -> bool {
        self.left == 0
            && self.live.is_empty()
            && self.offered.is_none()
            && self.running.is_empty()
            && self.cells.len() == self.all_cells
            && self.placed.is_empty()
    }

    /// What is still to come, for whoever wonders why it does not.
    pub fn rest(&self) -> String {
        let live: Vec<_> = self
            .live
            .iter()
            .map(|m| format!("{} {:?} unsent {} open {} lossy {}", m.number, m.key, m.frames.len(), m.open, m.lossy))
            .collect();
        format!(
            "{} messages to begin, alive: {live:?}, frames without a fate: {:?}, handlers: {}, cells: {}",
            self.left,
            self.sent.keys().collect::<Vec<_>>(),
            self.running.len(),
            self.cells.len()
        )
    }

    /// Adds a random message whose key differs from those alive.
    fn begin(&mut self) {
        let rng = &mut self.rng;
        let raw = rng.random_bool(0.2);
        let mailbox = !raw && rng.random_bool(0.25);
        let context = rng.random_range(0..16u64);
        let op = match () {
            _ if raw => 0,
            _ if mailbox && rng.random_bool(0.1) => *[opcode::GET as u64, NOT_SERVED].choose(rng).expect("two"),
            _ => *[opcode::PUT as u64, opcode::GET_RESP as u64].choose(rng).expect("two"),
        };
        // Few different numbers, so that keys which differ in one member only are alive together.
        let by_field = raw && BY_FIELD.contains(&context);
        let key = [op, mailbox as u64, context, rng.random_range(0..2), rng.random_range(0..2), rng.random_range(0..2)];
        // A message that is named by a field may follow its predecessor at once.
        let taken = |m: &Live| m.key == key && !(by_field && m.frames.is_empty() && !m.lossy);
        if (!raw || by_field) && self.live.iter().any(taken) {
            return;
        }
        self.left -= 1;
        let single = (raw && !by_field) || op == opcode::GET as u64 || op == NOT_SERVED;
        let packets = if single { 1 } else { *[1, 1, 2, 3, 5, 12].choose(rng).expect("six") };
        let sizes: Vec<u64> = (0..packets)
            .map(|_| if rng.random_bool(0.2) { rng.random_range(1..40) } else { rng.random_range(1..1409) })
            .collect();
        let total: u64 = sizes.iter().sum();
        let per_message = packets > 1 || rng.random_bool(0.5);
        let to_host = !mailbox && TO_HOST.contains(&context);
        let target = match () {
            _ if mailbox && op == NOT_SERVED => Target::Refused(reasons::UNSUPPORTED),
            _ if mailbox => Target::Mailbox,
            _ => target(context),
        };
        let lossy = packets > 1
            && !to_host
            && matches!(target, Target::Context(..))
            && self.losses > 0
            && rng.random_ratio(1, self.losses);
        let bytes = (!by_field).then_some(total);
        let number = self.judge.message(Plan { target, bytes, to_host, lossy });
        // A tombstone that is pending ends without a word, so messages that lose frames are not.
        let header = match *[0, 0, 0, 4, 1, 5, 2, 2, 6, 3, 9].choose(rng).expect("codes") {
            code @ 4..=6 if lossy => code - 4,
            code => code,
        };
        self.scripts.push(Script {
            header,
            payload_drops: if rng.random_bool(0.3) { 0.4 } else { 0.0 },
            payload_fails: if rng.random_bool(0.2) { 0.2 } else { 0.0 },
            completion: *[0, 0, 7, 3].choose(rng).expect("codes"),
            places: if rng.random_bool(0.3) { 0.5 } else { 0.0 },
        });
        let mut offset = 0;
        let mut frames = vec![];
        for (index, size) in sizes.iter().enumerate() {
            let mut record = Record::new(&[
                ("version", 1),
                ("stamp", rng.random_range(0..1 << 32)),
                ("length", size + 90),
                ("payload_offset", 90),
                ("l3_offset", 14),
                ("is_spindle", !raw as u64),
                ("opcode", op),
                ("src_nid", key[3]),
                ("src_pid", key[4]),
                ("msg_id", key[5]),
                ("addr", number as u64),
                ("key", rng.random_range(0..1 << 32)),
                ("sequenced", 1),
                ("msg_len", total),
                ("msg_off", offset),
                ("buf_off", rng.random_range(0..1 << 32)),
                ("payload_len", *size),
                ("action", if mailbox { action::MAILBOX } else { action::CONTEXT } as u64),
                ("context", context),
                ("per_message", per_message as u64),
                ("to_host", to_host as u64),
            ]);
            if by_field {
                record.0.extend([("by_field", 1), ("per_message", 0), ("ends", (index + 1 == packets) as u64)]);
            }
            if raw {
                record.0.extend([("msg_len", *size), ("msg_off", 0)]);
            }
            offset += size;
            frames.push(record);
        }
        use rand::seq::SliceRandom;
        if !by_field {
            frames.shuffle(rng);
        }
        if lossy {
            // At least one comes and one does not; of a message that is named by a field the last does not. The one with the user header comes: without it
            // the others would keep the places that their context has until the message ages, and messages that lose nothing would age with it.
            if let Some(first) = frames.iter().position(|frame| !by_field && frame.get("msg_off") == 0) {
                frames.swap(0, first);
            }
            frames.truncate(rng.random_range(1..packets));
        }
        let open = frames.len();
        self.live.push(Live { number, key, open, frames: frames.into(), lossy, joined: false, ended: false, rests: 0 });
    }

    /// The next packet of some message, in a free cell.
    fn packet(&mut self) -> Option<Record> {
        if self.live.len() < self.window && self.left > 0 {
            self.begin();
        }
        // Frames of one that is named by a field come in order, also behind those of its predecessor.
        let unsent: Vec<usize> = (0..self.live.len())
            .filter(|i| !self.live[*i].frames.is_empty() && self.live[*i].rests <= self.cycle)
            .collect();
        let which = *unsent.choose(&mut self.rng)?;
        // Dispositions name a frame by the low bits of its sequence number.
        let oldest = self.sent.keys().next().copied().unwrap_or(self.next_frame);
        if self.cells.is_empty() || self.next_frame - oldest > PSN_MASK - 8 {
            return None;
        }
        let at = self.rng.random_range(0..self.cells.len());
        let mut record = self.live[which].frames.pop_front()?;
        record.0.insert("pkt", self.cells.swap_remove(at));
        record.0.insert("frame", self.next_frame);
        record.0.insert("psn", self.next_frame);
        self.message_of.insert(self.next_frame, self.live[which].number);
        self.next_frame += 1;
        Some(record)
    }

    fn ready(&mut self) -> bool {
        self.rng.random_range(0..100) < self.eagerness
    }

    /// A word that is offered stays so until it is taken.
    fn offer(&mut self, dut: &mut Dut, port: &'static str, desc: &str, word: Option<Record>) {
        let valid = format!("{port}_valid");
        let show = word.is_some() && (self.busy.contains(port) || self.ready());
        dut.set(&valid, show as u64);
        if let (true, Some(word)) = (show, &word) {
            dut.put(port, desc, word);
            self.busy.insert(port);
        }
    }

    /// Whether the offered word moves; keeps count of waiting.
    fn moved(&mut self, dut: &mut Dut, port: &'static str) -> bool {
        if !dut.high(&format!("{port}_valid")) {
            return false;
        }
        let moves = dut.high(&format!("{port}_ready"));
        let waited = self.waited.entry(port).or_default();
        *waited += 1;
        if port != "packet" {
            self.longest_wait = self.longest_wait.max(*waited);
        }
        if moves {
            *waited = 0;
            self.busy.remove(port);
        }
        moves
    }

    /// One cycle.
    pub fn step(&mut self, dut: &mut Dut) -> Result<(), String> {
        self.cycle += 1;
        if self.offered.is_none() {
            self.offered = self.packet();
        }
        self.handlers();
        let now = self.cycle;
        while let Some(at) = self.placing.iter().position(|(until, _)| *until <= now) {
            let (_, word) = self.placing.swap_remove(at);
            self.placed.push_back(word);
        }
        let offered = self.offered.clone();
        self.offer(dut, "packet", "packet_desc", offered);
        let word = self.done.front().cloned();
        self.offer(dut, "task_done", "task_done", word);
        let word = self.place.front().cloned();
        self.offer(dut, "place", "command", word);
        let word = self.placed.front().cloned();
        self.offer(dut, "placement_done", "placement_done", word);
        self.hpus.drive(dut, "task_room", now);
        for port in ["placement_ready", "free_ready", "message_event_ready"] {
            let ready = self.ready();
            dut.set(port, ready as u64);
        }
        dut.eval();
        self.sample(dut)?;
        dut.tick();
        Ok(())
    }

    /// Handlers issue their commands and end.
    fn handlers(&mut self) {
        let now = self.cycle;
        for at in (0..self.running.len()).rev() {
            if self.running[at].until > now || self.running[at].commanded {
                continue;
            }
            let run = &mut self.running[at];
            let desc = &run.desc;
            if run.commands > 0 {
                run.commands -= 1;
                run.commanded = true;
                let opcode = [command::PLACE, command::REDIRECT][self.rng.random_range(0..2)];
                self.place.push_back(Record::new(&[
                    ("version", 1),
                    ("opcode", opcode as u64),
                    ("offset", self.rng.random::<u32>().into()),
                    ("address", self.rng.random()),
                    ("frame", desc.get("frame")),
                    ("msg_slot", desc.get("msg_slot")),
                    ("pkt", desc.get("pkt")),
                    ("context", desc.get("context")),
                ]));
                continue;
            }
            let run = self.running.swap_remove(at);
            let script = &self.scripts[self.message_of[&run.desc.get("frame")]];
            let rng = &mut self.rng;
            let (code, fault) = match run.kind {
                kind::HEADER => (script.header, script.header == 9 && rng.random_bool(0.5)),
                kind::PAYLOAD if rng.random_bool(script.payload_fails) => {
                    (*[3, 2, 5, 200, 0].choose(rng).expect("codes"), true)
                }
                kind::PAYLOAD => (rng.random_bool(script.payload_drops) as u8, false),
                _ => (script.completion, false),
            };
            let d = &run.desc;
            self.done.push_back(Record::new(&[
                ("version", 1),
                ("kind", run.kind as u64),
                ("context", d.get("context")),
                ("msg_slot", d.get("msg_slot")),
                ("frame", d.get("frame")),
                ("has_packet", d.get("has_packet")),
                ("pkt", d.get("pkt")),
                ("payload_len", d.get("payload_len")),
                ("code", code as u64),
                ("fault", fault as u64),
                ("cluster", d.get("cluster")),
                ("hpu", d.get("hpu")),
                ("cycles", now - run.since),
            ]));
        }
    }

    /// What moves in this cycle.
    fn sample(&mut self, dut: &mut Dut) -> Result<(), String> {
        if self.moved(dut, "packet") {
            let word = self.offered.take().ok_or("nothing was offered")?;
            let frame = word.get("frame");
            let message = self.message_of[&frame];
            let raw = word.get("is_spindle") == 0 && !word.0.contains_key("by_field");
            self.judge.arrives(
                frame,
                Sent {
                    message,
                    pkt: word.get("pkt"),
                    payload: word.get("payload_len"),
                    foremost: raw || word.get("msg_off") == 0,
                    ends: word.0.get("ends") == Some(&1),
                },
            );
            if word.get("action") == action::MAILBOX as u64 && word.get("opcode") != NOT_SERVED {
                self.judge.joins_mailbox(frame);
            }
            self.words.insert(frame, word.clone());
            self.sent.insert(frame, word);
        }
        if self.moved(dut, "task_done") {
            let word = self.done.pop_front().ok_or("no task had ended")?;
            self.hpus.ends(&word);
            self.judge.returns(
                word.get("kind") as u8,
                word.get("frame"),
                word.get("code") as u8,
                word.get("fault") == 1,
            )?;
        }
        if self.moved(dut, "place") {
            let word = self.place.pop_front().ok_or("no command was issued")?;
            let frame = word.get("frame");
            let run = self
                .running
                .iter_mut()
                .find(|r| r.commanded && r.desc.get("frame") == frame)
                .ok_or("a command of nobody")?;
            run.commanded = false;
            if run.kind != kind::COMPLETION {
                self.judge.commands(frame)?;
                self.commands.entry(frame).or_insert(word);
            }
        }
        if self.moved(dut, "placement_done") {
            let word = self.placed.pop_front().ok_or("nothing was placed")?;
            self.judge.placed(word.get("frame"), word.get("placed") == 1, word.get("reason") as usize)?;
        }
        self.psn_commit(dut)?;
        if dut.high("task_valid") {
            let desc = dut.record("task_desc", "task_desc");
            self.hpus.takes(&desc, self.cycle, &mut self.rng)?;
            let (task, frame) = (desc.get("kind") as u8, desc.get("frame"));
            if task != kind::COMPLETION && desc.get("has_packet") != 1 || desc.get("version") != 1 {
                return Err(format!("task descriptor {desc:?}"));
            }
            self.unchanged(&desc, &self.words[&frame], &["addr", "buf_off", "dst_pid", "msg_off", "msg_len"])?;
            self.judge.task(
                task,
                frame,
                desc.get("pkt"),
                desc.get("msg_slot"),
                desc.get("dropped_bytes") * (task == kind::COMPLETION) as u64,
                desc.get("flow_control") == 1,
            )?;
            let places = self.scripts[self.message_of[&frame]].places;
            let commands = if self.rng.random_bool(places) { self.rng.random_range(1..3) } else { 0 };
            let longest = if self.rng.random_ratio(1, 400) { 5000 } else { 60 };
            let until = self.cycle + self.rng.random_range(1..longest);
            self.running.push(Running { since: self.cycle, until, kind: task, desc, commands, commanded: false });
        }
        if dut.high("placement_valid") && dut.high("placement_ready") {
            let desc = dut.record("placement", "placement_desc");
            let slot = (desc.get("has_slot") == 1).then_some(desc.get("msg_slot"));
            let (from_handler, pending) = (desc.get("from_handler") == 1, desc.get("pending") == 1);
            self.judge.placement(desc.get("frame"), desc.get("pkt"), slot, from_handler, pending)?;
            self.placement(&desc)?;
            let placed = self.rng.random_bool(0.8);
            let reason = if placed {
                0
            } else {
                *[reasons::NO_POSTED_BUFFER, reasons::BAD_KEY].choose(&mut self.rng).expect("two")
            };
            let until = self.cycle + self.rng.random_range(1..40);
            let word = Record::new(&[
                ("pkt", desc.get("pkt")),
                ("frame", desc.get("frame")),
                ("has_slot", desc.get("has_slot")),
                ("msg_slot", desc.get("msg_slot")),
                ("payload_len", desc.get("payload_len")),
                ("placed", placed as u64),
                ("reason", reason as u64),
            ]);
            self.placing.push((until, word));
        }
        if dut.high("free_valid") && dut.high("free_ready") {
            let pkt = dut.get("free");
            let frame = self.judge.freed(pkt)?;
            self.words.remove(&frame);
            self.commands.remove(&frame);
            let number = self.message_of[&frame];
            for message in self.live.iter_mut().filter(|m| m.number == number) {
                message.open -= 1;
            }
            // Its key may be used again when all its packets are gone.
            self.live.retain(|m| !m.over());
            self.cells.push(pkt);
        }
        self.report(dut)?;
        let outcome = dut.get("counts_outcome");
        self.seen.handled += outcome & 1;
        self.seen.placed += outcome >> 1 & 1;
        if outcome >> 2 & 1 == 1 {
            self.seen.drops[(outcome >> 3) as usize] += 1;
        }
        self.seen.messages_done += dut.get("counts_message_done");
        self.seen.messages_failed += dut.get("counts_message_failed");
        self.seen.messages_aged += dut.get("counts_message_aged");
        self.seen.to_hpu += dut.get("counts_to_hpu");
        self.seen.to_mailbox += dut.get("counts_to_mailbox");
        Ok(())
    }

    /// These fields are as the packet brought them.
    fn unchanged(&self, desc: &Record, word: &Record, fields: &[&'static str]) -> Result<(), String> {
        match fields.iter().find(|name| desc.get(name) != word.0.get(*name).copied().unwrap_or(0)) {
            Some(name) => Err(format!("{name} of {desc:?} is not that of {word:?}")),
            None => Ok(()),
        }
    }

    /// A placement goes where the packet's header says, or where the first command of its handlers says, unless the rule had it placed before that.
    fn placement(&mut self, desc: &Record) -> Result<(), String> {
        const HEADER: [&str; 9] = ["addr", "buf_off", "dst_pid", "msg_off", "msg_len", "key", "psn", "flags", "epoch"];
        let frame = desc.get("frame");
        let word = &self.words[&frame];
        let command = self.commands.get(&frame).filter(|c| c.get("opcode") == u64::from(command::REDIRECT));
        let Some(command) = command.filter(|_| word.get("to_host") == 0) else {
            if desc.get("redirected") == 1 {
                return Err(format!("nobody redirected {desc:?}"));
            }
            return self.unchanged(desc, word, &HEADER);
        };
        let wanted = Record::new(&[
            ("redirected", 1),
            ("addr", command.get("address")),
            ("buf_off", command.get("offset")),
            ("dst_pid", process(word.get("context"))),
            ("msg_len", word.get("payload_len")),
        ]);
        self.redirected += 1;
        self.unchanged(desc, &wanted, &HEADER)?;
        self.unchanged(desc, &wanted, &["redirected"])
    }

    /// A frame joined its message or was turned away. The outcome of a frame that ends in the same event comes in the same cycle.
    fn psn_commit(&mut self, dut: &mut Dut) -> Result<(), String> {
        if !dut.high("psn_commit_valid") {
            return Ok(());
        }
        let commit = dut.get("psn_commit");
        let (accepted, psn) = (commit & 1 == 1, commit >> 9);
        let frame =
            *self.sent.keys().find(|f| *f & PSN_MASK == psn).ok_or("a PSN commit of a frame that is not inside")?;
        let outcome = dut.get("counts_outcome");
        let dropped = (outcome >> 2 & 1 == 1).then_some((outcome >> 3) as usize);
        self.judge.psn_commit(frame, accepted, dropped)?;
        let word = self.sent.remove(&frame).ok_or("it was sent")?;
        let live = self.live.iter_mut().find(|m| m.number == self.message_of[&frame]).ok_or("its message lives")?;
        live.joined |= accepted;
        live.ended &= !accepted;
        // What the NIC has no room for is sent again.
        let again = [reasons::QUOTA, reasons::PAUSED, reasons::NO_MESSAGE_SLOT];
        // So is what a mailbox had no buffer for, if the message has other packets.
        let waits = word.get("action") == action::MAILBOX as u64
            && word.get("msg_len") != word.get("payload_len")
            && !live.lossy
            && dropped == Some(reasons::NO_POSTED_BUFFER);
        if !accepted && (waits || dropped.is_some_and(|reason| again.contains(&reason))) {
            live.open += 1;
            live.rests = self.cycle + REST;
            // Behind the others: the packet with the user header may be among them, and it is let in whatever the quota says.
            if word.0.contains_key("by_field") {
                live.frames.push_front(word);
            } else {
                live.frames.push_back(word);
            }
        }
        Ok(())
    }

    /// A process is told of the end of a message.
    fn report(&mut self, dut: &mut Dut) -> Result<(), String> {
        if !(dut.high("message_event_valid") && dut.high("message_event_ready")) {
            return Ok(());
        }
        let event = dut.record("message_event", "event_desc");
        let number = event.get("user") as usize;
        let context = event.get("context");
        if (event.get("kind"), event.get("pid")) != (events::MESSAGE as u64, process(context)) {
            return Err(format!("event {event:?}"));
        }
        let report = Report {
            code: event.get("code") as u8,
            context: context as usize,
            length: event.get("length"),
            dropped: event.get("extra"),
            flow_control: event.get("flags") == events::message::FLOW_CONTROL as u64,
        };
        self.judge.report(number, report)?;
        for message in self.live.iter_mut().filter(|m| m.number == number) {
            // What it has not sent of a message that aged is never sent.
            message.ended = true;
            if message.lossy {
                message.open -= message.frames.len();
                message.frames.clear();
            }
        }
        self.live.retain(|m| !m.over());
        Ok(())
    }
}
