//! Random messages, and what is played against the scheduler: an array of handlers, an RVMA engine, a packet buffer.

use crate::packet_engine::hpus::Hpus;
use crate::packet_engine::intake::set_packet;
use crate::packet_engine::schedule::{all_commands, issuer_of, number_of};
use packet_engine::context_drops::end_reason;
use packet_engine::schedule::message::PsnCommit;
use packet_engine::schedule::payload_scheduler::PayloadScheduler;
use packet_engine::schedule::task_timers::types::{DueTask, WaitingTask};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::bundles::PolicySinkPorts;
use spindle_blocks::desc::{
    Command, ContextPolicy, EventDesc, PacketDesc, PacketReport, PlacementDesc, PlacementDone, PlacementOutcome,
    PutDone, TaskDesc, TaskDone,
};
use spindle_contract::descriptors::{action, kind, overload};
use spindle_contract::params::Config;
use spindle_contract::wire::{flag, nack_of, opcode, ECN_MARKED};
use spindle_contract::{events, memory_map::command, reasons};
use spindle_harness::{random_bits, Dut};
use spindle_model::packet_engine::payload_scheduler::{Counts, Handlers, Judge, Limits, Plan, Report, Sent, Target};
use spindle_verilog::ports::{HasPorts, Wire, Word};
use spindle_verilog::prelude::{bits, Bit, In, Packed, SinkPorts};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

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

/// These fields are as the packet brought them.
macro_rules! unchanged {
    ($desc:expr, $word:expr, $($field:ident)*) => { $(
        if $desc.$field != $word.$field {
            return Err(format!("{} of {:x?} is not that of {:x?}", stringify!($field), $desc, $word));
        }
    )* };
}

/// The policies of all contexts: `shares` with what each may have inside.
pub fn limited(mut shares: Vec<ContextPolicy>) -> Vec<ContextPolicy> {
    for (context, policy) in (0..).zip(&mut shares) {
        let limits = limits(context);
        policy.messages = bits(limits.messages);
        policy.packets = bits(limits.packets);
        policy.overload = bits(limits.overload);
        policy.user_header = bits(limits.user_header);
        policy.pid = bits(process(context));
    }
    shares
}

/// How the handlers of a message behave.
#[derive(Clone, Debug, Default)]
struct Script {
    header: u8,
    payload_drops: f64,
    payload_fails: f64,
    completion: u8,
    places: f64,
    /// Number and source of the message.
    name: (u64, u64),
}

struct Live {
    number: usize,
    key: [u64; 6],
    frames: VecDeque<PacketDesc>,
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
    desc: TaskDesc,
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
    offered: Option<PacketDesc>,
    running: Vec<Running>,
    done: VecDeque<TaskDone>,
    place: VecDeque<Command>,
    placing: Vec<(u64, PlacementDone)>,
    placed: VecDeque<PlacementDone>,
    /// Answers of mailboxes: the one that comes next, and those of placements that are under way.
    outcome: Option<PlacementOutcome>,
    outcomes: HashMap<u64, PlacementOutcome>,
    /// Frames inside, as they were sent.
    sent: BTreeMap<u64, PacketDesc>,
    /// The same, until their cells return; and the first command of each that counts.
    words: HashMap<u64, PacketDesc>,
    commands: HashMap<u64, Command>,
    /// The context that is not active.
    pub inactive: u64,
    /// Numbers about which those of nodes, processes and messages are.
    names: [u64; 3],
    /// The mailbox of the host window: process, number.
    pub host: (u64, u64),
    /// Whole frames for it.
    pub whole: u64,
    /// Those that the pulses of the scheduler said.
    pub seen_whole: u64,
    /// Placements elsewhere, and frames without a sequence number whose fate is known.
    pub redirected: u64,
    pub silent: u64,
    busy: HashSet<usize>,
    /// Largest number of cycles that a feedback word was offered before it was taken.
    pub longest_wait: u64,
    waited: HashMap<usize, u64>,
    /// What the pulses of the scheduler said.
    pub seen: Counts,
    /// Every so many messages one loses frames; 0 = none.
    pub losses: u32,
    /// Tasks without a packet: in a thousand cycles one is due so often.
    pub task_rate: u32,
    pub tasks: Tasks,
    config: Config,
    pub bytes: ByteRedirects,
    /// Chance that a sink is ready in a cycle, per cent.
    pub eagerness: u32,
}

/// Tasks without a packet.
#[derive(Default)]
pub struct Tasks {
    /// On offer; or taken in this cycle and not judged.
    due: Option<DueTask>,
    taken_at: Option<u64>,
    /// Begun, and not yet sent to the array.
    begun: Vec<DueTask>,
    /// Arguments of those that failed, whose events have not come.
    failed: Vec<u64>,
    /// Arguments of those that run, by slot.
    slots: HashMap<u64, u64>,
    /// That have begun, that found no slot, that failed.
    pub counts: [u64; 3],
}

/// Redirects of bytes, each named by the number of its command.
#[derive(Default)]
pub struct ByteRedirects {
    /// Handles that no command has.
    free: Vec<u64>,
    handles: usize,
    /// Commands that the scheduler has, oldest first, but for those that came too late.
    taken: VecDeque<(u64, Command)>,
    /// What each command has to end with: an error.
    owed: HashMap<u64, bool>,
    /// How many of each frame are under way.
    held: HashMap<u64, usize>,
    /// That were placed, that the RVMA engine refused, that came too late; most of one frame at a time.
    pub counts: [u64; 3],
    pub most: usize,
}

impl ByteRedirects {
    fn new(config: &Config) -> Self {
        let free = all_commands(config);
        Self { handles: free.len(), free, ..Self::default() }
    }
}

/// `ContextStatus` of all contexts: all but one are active, with the handlers that their low bits name.
pub fn contexts(inactive: u64) -> u64 {
    (0..16).filter(|c| *c != inactive).fold(0, |bits, c| bits | (1 | (c & 7) << 1) << (4 * c))
}

/// Installs the policy of each context, and waits until the scheduler has cleared its tables.
pub fn install<B: HasPorts>(
    dut: &Dut<B>,
    port: &PolicySinkPorts,
    event_ready: &Wire<In, Bit>,
    policies: &[ContextPolicy],
) {
    for (index, policy) in policies.iter().enumerate() {
        let mut policy = *policy;
        if policy.weight == 0 {
            policy.weight = bits(1);
        }
        if policy.core_mask == 0 {
            policy.core_mask = bits(u32::MAX);
        }
        port.set(policy);
        port.valid.set(true);
        port.index.set(index);
        dut.tick();
    }
    port.valid.set(false);
    event_ready.set(true);
    for _ in 0..300 {
        dut.tick();
    }
}

fn target(context: u64, inactive: u64) -> Target {
    if context == inactive {
        return Target::Refused(reasons::NO_CONTEXT);
    }
    let handlers = Handlers { header: context & 1 == 1, payload: context & 2 == 2, completion: context & 4 == 4 };
    Target::Context(context as usize, handlers, limits(context))
}

impl Surroundings {
    /// `messages` random messages, at most `window` of them alive at once.
    pub fn new(config: &Config, mut rng: ChaCha8Rng, messages: usize, window: usize, eagerness: u32) -> Self {
        Self {
            inactive: 15,
            names: [(); 3].map(|()| rng.random::<u32>().into()),
            host: (rng.random_range(0..64), rng.random_range(0..0x10000)),
            whole: 0,
            seen_whole: 0,
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
            outcome: None,
            outcomes: HashMap::new(),
            sent: BTreeMap::new(),
            words: HashMap::new(),
            commands: HashMap::new(),
            redirected: 0,
            silent: 0,
            busy: HashSet::new(),
            longest_wait: 0,
            waited: HashMap::new(),
            seen: Default::default(),
            losses: 0,
            task_rate: 0,
            tasks: Tasks::default(),
            bytes: ByteRedirects::new(config),
            config: *config,
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
            && self.bytes.free.len() == self.bytes.handles
            && self.tasks.due.is_none()
            && self.tasks.begun.is_empty()
            && self.tasks.failed.is_empty()
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
        let by_field = raw && BY_FIELD.contains(&context);
        let host = raw && !by_field && rng.random_bool(0.3);
        // Few different numbers, so that keys which differ in one member only are alive together; some in one bit.
        let names = self.names;
        let mut member = |i: usize, width: usize| {
            let far = if rng.random() { 1 << rng.random_range(0..width) } else { 0 };
            names[i] >> (32 - width) ^ [0, 0, 1, far][rng.random_range(0..4)]
        };
        let key = [op, mailbox as u64, context, member(0, 32), member(1, 16), member(2, 32)];
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
        let to_host = !mailbox && !host && TO_HOST.contains(&context);
        let target = match () {
            _ if mailbox && op == NOT_SERVED => Target::Refused(reasons::UNSUPPORTED),
            _ if mailbox || host => Target::Mailbox,
            _ => target(context, self.inactive),
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
            name: (key[5], key[3]),
        });
        let mut offset = 0;
        let mut frames = vec![];
        for (index, size) in sizes.iter().enumerate() {
            let mut record = PacketDesc {
                version: bits(1),
                stamp: bits(rng.random_range(0..1u64 << 32)),
                length: bits(rng.random::<u64>() >> 50),
                payload_offset: bits(rng.random_range(0..128)),
                l3_offset: bits(rng.random_range(0..64)),
                is_spindle: !raw,
                opcode: bits(op),
                src_nid: bits(key[3]),
                src_pid: bits(key[4]),
                msg_id: bits(key[5]),
                addr: bits(number),
                key: bits(rng.random_range(0..1u64 << 32)),
                sequenced: !host && rng.random_bool(0.7),
                epoch: bits(rng.random::<u16>()),
                rule: bits(rng.random_range(0..64)),
                ruled: rng.random(),
                is_vlan: rng.random(),
                is_ipv4: rng.random(),
                l4_good: rng.random(),
                ecn: bits(rng.random_range(0..4u64)),
                flags: bits(rng.random::<u16>()),
                dst_pid: bits(rng.random_range(0..64)),
                msg_len: bits(total),
                msg_off: bits(offset),
                buf_off: bits(rng.random_range(0..1u64 << 32)),
                payload_len: bits(*size),
                action: bits(match () {
                    _ if mailbox => action::MAILBOX,
                    _ if host => action::HOST,
                    _ => action::CONTEXT,
                }),
                context: bits(context),
                per_message,
                to_host,
                ..PacketDesc::default()
            };
            if by_field {
                (record.by_field, record.per_message) = (true, false);
                record.ends = index + 1 == packets;
            }
            if raw {
                (record.msg_len, record.msg_off) = (bits(*size), bits(0));
            }
            offset += size;
            frames.push(record);
        }
        use rand::seq::SliceRandom;
        if !by_field {
            frames.shuffle(rng);
        }
        if lossy {
            // At least one comes and one does not; of a message that is named by a field the last does not. The one with the
            // user header comes: without it the others would keep the places that their context has until the message ages,
            // and messages that lose nothing would age with it.
            if let Some(first) = frames.iter().position(|frame| !by_field && frame.msg_off.to_u64() == 0) {
                frames.swap(0, first);
            }
            frames.truncate(rng.random_range(1..packets));
        }
        let open = frames.len();
        self.live.push(Live { number, key, open, frames: frames.into(), lossy, joined: false, ended: false, rests: 0 });
    }

    /// The next packet of some message, in a free cell.
    fn packet(&mut self) -> Option<PacketDesc> {
        if self.live.len() < self.window && self.left > 0 {
            self.begin();
        }
        // Frames of one that is named by a field come in order, also after those of its predecessor.
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
        record.pkt = bits(self.cells.swap_remove(at));
        record.frame = bits(self.next_frame);
        record.psn = bits(self.next_frame);
        self.message_of.insert(self.next_frame, self.live[which].number);
        self.next_frame += 1;
        Some(record)
    }

    fn ready(&mut self) -> bool {
        self.rng.random_range(0..100) < self.eagerness
    }

    /// A word that is offered stays until it moves.
    fn offer<T: Packed + Word<T>>(&mut self, sink: &SinkPorts<T>, word: Option<T>) -> bool {
        let word = word.filter(|_| self.busy.contains(&sink.channel()) || self.ready());
        sink.offer(word);
        if word.is_some() {
            self.busy.insert(sink.channel());
        }
        word.is_some()
    }

    /// Whether the offered word moves; keeps count of waiting. A packet may wait for long.
    fn moved<T: Packed>(&mut self, sink: &SinkPorts<T>, patient: bool) -> bool {
        if !sink.valid.is_high() {
            return false;
        }
        let moves = sink.moves();
        let waited = self.waited.entry(sink.channel()).or_default();
        *waited += 1;
        if !patient {
            self.longest_wait = self.longest_wait.max(*waited);
        }
        if moves {
            *waited = 0;
            self.busy.remove(&sink.channel());
        }
        moves
    }

    /// One cycle.
    pub fn step(&mut self, dut: &Dut<PayloadScheduler>) -> Result<(), String> {
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
        let offered = self.offered;
        if self.offer(&dut.packet, offered) {
            set_packet(dut, &offered.expect("a packet is offered"));
        } else {
            // Anything may stand there without a packet.
            set_packet(dut, &random_bits(&mut self.rng));
        }
        let word = self.done.front().cloned();
        self.offer(&dut.task_done, word);
        let word = self.place.front().cloned();
        self.offer(&dut.place, word);
        let word = self.placed.front().cloned();
        self.offer(&dut.placement_done, word);
        self.offer_task(dut);
        self.hpus.drive(&dut.task_room, now);
        dut.placement_outcome.offer(self.outcome.take());
        let ready = [
            &dut.placement.ready,
            &dut.free.ready,
            &dut.message_event.ready,
            &dut.bytes_answer.ready,
            &dut.pending_end.ready,
        ];
        for port in ready {
            port.set(self.ready());
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
                let which = self.rng.random_range(0..5);
                let name = if which > 1 { self.bytes.free.pop() } else { None };
                let opcode = [command::PLACE, command::REDIRECT][usize::from(name.is_some() || which == 1)];
                let flags = if name.is_some() { 2 | u64::from(self.rng.random_range(0..2u8)) << 2 } else { 0 };
                let name = name.unwrap_or(0);
                self.place.push_back(Command {
                    version: bits(1),
                    opcode: bits(opcode),
                    flags: bits(flags),
                    issuer: issuer_of(&self.config, name),
                    first: bits(self.rng.random_range(0..2048)),
                    length: bits(self.rng.random_range(1..=2048)),
                    epoch: bits(self.rng.random::<u16>()),
                    offset: bits(self.rng.random::<u32>()),
                    address: bits(self.rng.random::<u64>()),
                    frame: bits(desc.frame.to_u64()),
                    msg_slot: bits(desc.msg_slot.to_u64()),
                    pkt: bits(desc.pkt.to_u64()),
                    context: bits(desc.context.to_u64()),
                    ..Command::default()
                });
                continue;
            }
            let run = self.running.swap_remove(at);
            let rng = &mut self.rng;
            let script = self.message_of.get(&run.desc.frame.to_u64()).map(|number| &self.scripts[*number]);
            let script = script.filter(|_| run.kind != kind::TASK).cloned().unwrap_or_default();
            let (code, fault) = match run.kind {
                kind::TASK => *[(0, false), (0, false), (3, false), (7, false), (0, true)].choose(rng).expect("ends"),
                kind::HEADER => (script.header, script.header == 9 && rng.random_bool(0.5)),
                kind::PAYLOAD if rng.random_bool(script.payload_fails) => {
                    (*[3, 2, 5, 200, 0].choose(rng).expect("codes"), true)
                }
                kind::PAYLOAD => (rng.random_bool(script.payload_drops) as u8, false),
                _ => (script.completion, false),
            };
            let d = &run.desc;
            self.done.push_back(TaskDone {
                version: bits(1),
                kind: bits(run.kind),
                context: bits(d.context.to_u64()),
                msg_slot: bits(d.msg_slot.to_u64()),
                frame: bits(d.frame.to_u64()),
                has_packet: d.has_packet,
                pkt: bits(d.pkt.to_u64()),
                payload_len: bits(d.payload_len.to_u64()),
                code: bits(code),
                fault,
                cluster: bits(d.cluster.to_u64()),
                hpu: bits(d.hpu.to_u64()),
                cycles: bits(now - run.since),
                ..TaskDone::default()
            });
        }
    }

    /// What moves in this cycle.
    fn sample(&mut self, dut: &Dut<PayloadScheduler>) -> Result<(), String> {
        if self.moved(&dut.packet, true) {
            let word = self.offered.take().ok_or("nothing was offered")?;
            let frame = word.frame.to_u64();
            let message = self.message_of[&frame];
            let raw = !word.is_spindle && !word.by_field;
            self.judge.arrives(
                frame,
                Sent {
                    message,
                    pkt: word.pkt.to_u64(),
                    payload: word.payload_len.to_u64(),
                    foremost: raw || word.msg_off.to_u64() == 0,
                    ends: word.ends,
                    sequenced: word.sequenced,
                },
            );
            if word.action.to_u64() != action::CONTEXT as u64 && word.opcode.to_u64() != NOT_SERVED {
                self.judge.joins_mailbox(frame);
            }
            self.words.insert(frame, word);
            self.sent.insert(frame, word);
        }
        if self.moved(&dut.task_done, false) {
            let word = self.done.pop_front().ok_or("no task had ended")?;
            self.hpus.ends(&word);
            if word.kind.to_u64() as u8 == kind::TASK {
                self.task_ends(&word);
            } else {
                self.judge.returns(
                    word.kind.to_u64() as u8,
                    word.frame.to_u64(),
                    word.code.to_u64() as u8,
                    word.fault,
                )?;
            }
        }
        self.follow_tasks(dut)?;
        if self.moved(&dut.place, false) {
            let word = self.place.pop_front().ok_or("no command was issued")?;
            let frame = word.frame.to_u64();
            let run = self
                .running
                .iter_mut()
                .find(|r| r.commanded && r.desc.frame.to_u64() == frame)
                .ok_or("a command of no handler")?;
            run.commanded = false;
            if word.flags.to_u64() & 2 != 0 {
                let kind = run.kind;
                self.redirects_bytes(word, kind != kind::COMPLETION);
            } else if run.kind != kind::COMPLETION {
                self.judge.commands(frame)?;
                self.commands.entry(frame).or_insert(word);
            }
        }
        let outcome = dut.counts.outcome.get();
        if outcome.dropped {
            let frame = dut.end_trace.get().frame.to_u64();
            let word = self.words.get(&frame).ok_or("a frame that is not inside is dropped")?;
            let owner = (word.action.to_u64() == action::CONTEXT as u64).then_some(word.context.to_u64());
            let counted = dut.counts.of_context.is_high().then(|| dut.counts.context.number());
            if counted != owner {
                return Err(format!("the drop of frame {frame} counts for context {counted:?}, not {owner:?}"));
            }
            if !end_reason(outcome.reason).known {
                let reason = reasons::DROP_REASONS[outcome.reason.index()].0;
                return Err(format!("no count of a context takes the drop of frame {frame} for {reason}"));
            }
        }
        if self.moved(&dut.placement_done, false) {
            let word = self.placed.pop_front().ok_or("nothing was placed")?;
            if word.of_bytes {
                self.bytes.owed.insert(word.msg_slot.to_u64(), !word.placed);
                self.bytes.counts[usize::from(!word.placed)] += 1;
                *self.bytes.held.get_mut(&word.frame.to_u64()).expect("it is held") -= 1;
            } else {
                self.judge.placed(word.frame.to_u64(), word.placed, word.reason.to_u64() as usize)?;
            }
        }
        if let Some(end) = dut.bytes_answer.taken() {
            let PutDone { issuer, error, .. } = end;
            let name = number_of(&self.config, issuer);
            if end != (PutDone { issuer, error, ..PutDone::default() }) || self.bytes.owed.remove(&name) != Some(error)
            {
                return Err(format!("{end:?} of a redirect of bytes"));
            }
            self.bytes.free.push(name);
        }
        self.disposition(dut)?;
        if dut.task_valid.is_high() {
            let desc = dut.task_desc.get();
            self.hpus.takes(&desc, self.cycle, &mut self.rng)?;
            let (task, frame) = (desc.kind.to_u64() as u8, desc.frame.to_u64());
            if task == kind::TASK {
                self.task_leaves(desc)?;
            } else {
                if task != kind::COMPLETION && !desc.has_packet || desc.version.to_u64() != 1 {
                    return Err(format!("task descriptor {desc:?}"));
                }
                unchanged!(desc, self.words[&frame], addr buf_off dst_pid msg_off msg_len stamp length payload_offset
                    payload_len l3_offset opcode src_nid src_pid msg_id context);
                self.judge.task(
                    task,
                    frame,
                    desc.pkt.to_u64(),
                    desc.msg_slot.to_u64(),
                    desc.dropped_bytes.to_u64() * (task == kind::COMPLETION) as u64,
                    desc.flow_control,
                )?;
                let message = self.message_of[&frame];
                let open = |other: &u64| self.message_of[other] == message && self.bytes.held[other] > 0;
                if task == kind::COMPLETION && self.bytes.held.keys().any(open) {
                    return Err(format!("the message of frame {frame} is complete, and bytes of it are to be placed"));
                }
                let places = self.scripts[self.message_of[&frame]].places;
                let commands = if self.rng.random_bool(places) { self.rng.random_range(1..6) } else { 0 };
                let longest = if self.rng.random_ratio(1, 400) { 5000 } else { 60 };
                let until = self.cycle + self.rng.random_range(1..longest);
                self.running.push(Running { since: self.cycle, until, kind: task, desc, commands, commanded: false });
            }
        }
        if dut.placement.valid.is_high() && dut.placement.ready.is_high() {
            let desc = dut.placement.get();
            if desc.of_bytes {
                return self.bytes_leave(dut, &desc);
            }
            let slot = (desc.has_slot).then_some(desc.msg_slot.to_u64());
            let (from_handler, pending) = (desc.from_handler, desc.pending);
            self.judge.placement(desc.frame.to_u64(), desc.pkt.to_u64(), slot, from_handler, pending)?;
            self.placement(&desc)?;
            let placed = self.rng.random_bool(0.8);
            let reason = if placed {
                0
            } else {
                *[reasons::NO_POSTED_BUFFER, reasons::BAD_KEY].choose(&mut self.rng).expect("two")
            };
            // The answer of the mailbox comes before the end of the placement.
            let until = self.cycle + self.rng.random_range(2..40);
            let answer = PlacementOutcome { pkt: desc.pkt, ..random_bits(&mut self.rng) };
            self.outcome = Some(answer);
            self.outcomes.insert(desc.frame.to_u64(), answer);
            let word = PlacementDone {
                pkt: bits(desc.pkt.to_u64()),
                frame: bits(desc.frame.to_u64()),
                has_slot: desc.has_slot,
                msg_slot: bits(desc.msg_slot.to_u64()),
                payload_len: bits(desc.payload_len.to_u64()),
                placed,
                reason: bits(reason),
                ..PlacementDone::default()
            };
            self.placing.push((until, word));
        }
        self.end_of_sample(dut)
    }

    /// A handler redirects bytes of its packet; unless it `counts`, its packet is not there any more.
    fn redirects_bytes(&mut self, word: Command, counts: bool) {
        let name = number_of(&self.config, word.issuer);
        if counts {
            let held = self.bytes.held.entry(word.frame.to_u64()).or_default();
            *held += 1;
            self.bytes.most = self.bytes.most.max(*held);
            self.bytes.taken.push_back((name, word));
        } else {
            self.bytes.counts[2] += 1;
            self.bytes.owed.insert(name, true);
        }
    }

    /// Bytes leave for the RVMA engine, in the order of the commands, and end some time later.
    fn bytes_leave(&mut self, dut: &Dut<PayloadScheduler>, desc: &PlacementDesc) -> Result<(), String> {
        let (name, word) = self.bytes.taken.pop_front().ok_or(format!("no one redirects {desc:?}"))?;
        let by_epoch = word.flags.to_u64() & 4 != 0;
        let wanted = PlacementDesc {
            version: bits(1),
            frame: word.frame,
            pkt: word.pkt,
            payload_offset: word.first,
            payload_len: bits(word.length.to_u64()),
            flags: bits(if by_epoch { flag::EPOCH_VALID } else { 0 }),
            dst_pid: bits(process(word.context.to_u64())),
            addr: word.address,
            msg_len: bits(word.length.to_u64()),
            buf_off: word.offset,
            epoch: word.epoch,
            msg_slot: bits(name),
            from_handler: true,
            redirected: true,
            of_bytes: true,
            ..PlacementDesc::default()
        };
        if *desc != wanted {
            return Err(format!("{desc:?} instead of {wanted:?}"));
        }
        let placed = self.rng.random_bool(0.8);
        let done = PlacementDone {
            pkt: word.pkt,
            frame: word.frame,
            msg_slot: bits(name),
            payload_len: bits(word.length.to_u64()),
            placed,
            reason: bits(if placed { 0 } else { reasons::NO_POSTED_BUFFER }),
            of_bytes: true,
            ..PlacementDone::default()
        };
        self.outcome = Some(PlacementOutcome { pkt: desc.pkt, ..random_bits(&mut self.rng) });
        let longest = if self.rng.random_ratio(1, 20) { 1000 } else { 60 };
        self.placing.push((self.cycle + self.rng.random_range(20..20 + longest), done));
        self.end_of_sample(dut)
    }

    /// Cells that return, and what is counted.
    fn end_of_sample(&mut self, dut: &Dut<PayloadScheduler>) -> Result<(), String> {
        if dut.free.valid.is_high() && dut.free.ready.is_high() {
            let pkt = dut.free.number();
            let frame = self.judge.freed(pkt)?;
            if self.bytes.held.remove(&frame).is_some_and(|held| held > 0) {
                return Err(format!("the cells of frame {frame} return, and bytes of it are still to be placed"));
            }
            self.words.remove(&frame);
            self.commands.remove(&frame);
            self.outcomes.remove(&frame);
            let number = self.message_of[&frame];
            for message in self.live.iter_mut().filter(|m| m.number == number) {
                message.open -= 1;
            }
            // Its key may be used again when all its packets are gone.
            self.live.retain(|m| !m.over());
            self.cells.push(pkt);
        }
        self.report(dut)?;
        let outcome = dut.counts.outcome.number();
        self.seen.handled += outcome & 1;
        self.seen.placed += outcome >> 1 & 1;
        if outcome >> 2 & 1 == 1 {
            self.seen.drops[(outcome >> 3) as usize] += 1;
        }
        self.seen.messages_done += dut.counts.message_done.number();
        self.seen.messages_failed += dut.counts.message_failed.number();
        self.seen.messages_aged += dut.counts.message_aged.number();
        self.seen.to_hpu += dut.counts.to_hpu.number();
        // Whole frames for the host window count on their own.
        let whole = dut.counts.to_host.number();
        self.seen.to_mailbox += dut.counts.to_mailbox.number() + whole;
        self.seen_whole += whole;
        Ok(())
    }

    /// Offers a task that is due, in any context; after it was taken its fields stay until it is judged.
    fn offer_task(&mut self, dut: &Dut<PayloadScheduler>) {
        let busy = !self.quiet_but_tasks();
        if self.tasks.due.is_none() && busy && self.rng.random_range(0..1000) < self.task_rate {
            // Quotas of messages are the judge's.
            let contexts: Vec<u64> = (0..16).filter(|context| limits(*context).messages == 0).collect();
            self.tasks.due = Some(DueTask {
                context: bits(*contexts.choose(&mut self.rng).expect("some")),
                task: WaitingTask {
                    argument: bits(self.rng.random::<u64>()),
                    deadline: bits(self.rng.random::<u32>()),
                    frame: bits(self.rng.random::<u16>()),
                },
            });
        }
        let due = self.tasks.due.filter(|_| self.tasks.taken_at.is_none());
        self.offer(&dut.due, due);
    }

    fn quiet_but_tasks(&self) -> bool {
        self.left == 0 && self.live.is_empty() && self.offered.is_none()
    }

    /// A task is taken, and judged 3 cycles later.
    fn follow_tasks(&mut self, dut: &Dut<PayloadScheduler>) -> Result<(), String> {
        if dut.task_judged.is_high() != self.tasks.taken_at.is_some_and(|at| self.cycle == at + 3) {
            return Err(format!("judged: {}, taken in {:?}", dut.task_judged.is_high(), self.tasks.taken_at));
        }
        if dut.task_judged.is_high() {
            let due = self.tasks.due.take().ok_or("no task was due")?;
            self.tasks.taken_at = None;
            let begins = dut.task_taken.is_high();
            if begins && due.context.to_u64() == self.inactive {
                return Err(format!("{due:?} began in a context that is not active"));
            }
            self.tasks.counts[usize::from(!begins)] += 1;
            if begins {
                self.tasks.begun.push(due);
            }
        }
        if self.moved(&dut.due, false) {
            self.tasks.taken_at = Some(self.cycle);
        }
        Ok(())
    }

    /// A task goes to the array: its fields, and no others.
    fn task_leaves(&mut self, desc: TaskDesc) -> Result<(), String> {
        let matches = |due: &DueTask| {
            let wanted = TaskDesc {
                version: bits(1),
                kind: bits(u64::from(kind::TASK)),
                context: due.context,
                frame: due.task.frame,
                stamp: due.task.deadline,
                addr: due.task.argument,
                msg_slot: desc.msg_slot,
                pkt: bits(desc.msg_slot.to_u64()),
                cluster: desc.cluster,
                hpu: desc.hpu,
                dispatched: desc.dispatched,
                ..TaskDesc::default()
            };
            desc == wanted
        };
        let at = self.tasks.begun.iter().position(matches).ok_or(format!("no one began {desc:?}"))?;
        self.tasks.begun.remove(at);
        if self.tasks.slots.insert(desc.msg_slot.to_u64(), desc.addr.to_u64()).is_some() {
            return Err(format!("the slot of {desc:?} is in use"));
        }
        let until = self.cycle + self.rng.random_range(1..60);
        let kind = kind::TASK;
        self.running.push(Running { since: self.cycle, until, kind, desc, commands: 0, commanded: false });
        Ok(())
    }

    fn task_ends(&mut self, done: &TaskDone) {
        let argument = self.tasks.slots.remove(&done.msg_slot.to_u64()).expect("it ran in this slot");
        if done.fault || done.code.to_u64() != 0 {
            self.tasks.counts[2] += 1;
            self.tasks.failed.push(argument);
        }
    }

    /// A task that failed, and no other one, has an event.
    fn task_reported(&mut self, event: &EventDesc) -> Result<(), String> {
        let wanted = EventDesc {
            kind: bits(u64::from(events::MESSAGE)),
            code: bits(u64::from(events::message::FAILED)),
            flags: bits(u64::from(events::message::TASK)),
            pid: bits(process(event.context.to_u64())),
            context: event.context,
            user: event.user,
            ..EventDesc::default()
        };
        let at = self.tasks.failed.iter().position(|argument| *argument == event.user.to_u64());
        match at {
            Some(at) if *event == wanted => drop(self.tasks.failed.remove(at)),
            _ => return Err(format!("event {event:?} of a task")),
        }
        Ok(())
    }

    /// A placement goes where the packet's header says, or where the first command of its handlers says, unless the rule had
    /// it placed before that.
    fn placement(&mut self, desc: &PlacementDesc) -> Result<(), String> {
        let frame = desc.frame.to_u64();
        let word = &self.words[&frame];
        unchanged!(desc, word, stamp length opcode src_nid src_pid msg_id);
        if word.action.to_u64() == u64::from(action::HOST) {
            // All of the frame, in whole beats.
            let bytes = word.length.to_u64().div_ceil(64) * 64;
            let flags = [word.is_ipv4, word.l4_good, word.is_vlan, word.ruled].map(u64::from);
            let wanted = PlacementDesc {
                host: true,
                dst_pid: bits(self.host.0),
                addr: bits(self.host.1),
                payload_len: bits(bytes & 0x3FFF),
                msg_len: bits(bytes & 0x3FFF),
                rule: word.rule,
                checks: bits(flags.iter().rev().fold(0, |checks, flag| checks << 1 | flag)),
                ..PlacementDesc::default()
            };
            self.whole += 1;
            unchanged!(desc, wanted, host dst_pid addr payload_len msg_len rule checks payload_offset msg_off buf_off redirected);
            return Ok(());
        }
        unchanged!(desc, word, payload_len);
        if desc.payload_offset.to_u64() != word.payload_offset.to_u64() {
            return Err(format!("payload_offset of {desc:x?} is not that of {word:x?}"));
        }
        let command = self.commands.get(&frame).filter(|c| c.opcode.to_u64() == u64::from(command::REDIRECT));
        let Some(command) = command.filter(|_| !word.to_host) else {
            if desc.redirected {
                return Err(format!("no one redirected {desc:?}"));
            }
            unchanged!(desc, word, addr buf_off dst_pid msg_off msg_len key psn flags epoch);
            return Ok(());
        };
        let wanted = PlacementDesc {
            redirected: true,
            addr: bits(command.address.to_u64()),
            buf_off: bits(command.offset.to_u64()),
            dst_pid: bits(process(word.context.to_u64())),
            msg_len: bits(word.payload_len.to_u64()),
            ..PlacementDesc::default()
        };
        self.redirected += 1;
        unchanged!(desc, wanted, addr buf_off dst_pid msg_off msg_len key psn flags epoch redirected);
        Ok(())
    }

    /// A frame joined its message or was turned away; one for a mailbox was placed or was not. The filter is informed of it if the
    /// frame has a sequence number, and the responder if its source gets an answer, in the cycle of the outcome.
    fn disposition(&mut self, dut: &Dut<PayloadScheduler>) -> Result<(), String> {
        let trace = dut.end_trace.get();
        let frame = trace.frame.to_u64();
        let dropped = trace.dropped.then(|| trace.reason.index());
        let known = self.sent.get(&frame).and_then(|word| {
            let accepted = if word.action.to_u64() == action::CONTEXT as u64 { trace.joined } else { trace.placed };
            (accepted || trace.dropped).then_some((*word, accepted))
        });
        let commit = known.filter(|(word, _)| word.sequenced).map(|(word, accepted)| PsnCommit {
            accepted,
            peer: bits(word.src_nid.to_u64() & 0xFF),
            psn: bits(frame & PSN_MASK),
        });
        if dut.psn_commit.offered() != commit {
            return Err(format!("commit {:?} instead of {commit:?}, frame {frame}", dut.psn_commit.offered()));
        }
        let report = known.and_then(|(word, accepted)| self.packet_report(&word, accepted, dropped));
        if dut.report.offered() != report {
            return Err(format!("report {:?} instead of {report:?}, frame {frame}", dut.report.offered()));
        }
        let Some((word, accepted)) = known else { return Ok(()) };
        self.sent.remove(&frame);
        self.silent += u64::from(commit.is_none());
        self.judge.psn_commit(frame, accepted, dropped)?;
        let live = self.live.iter_mut().find(|m| m.number == self.message_of[&frame]).ok_or("its message lives")?;
        live.joined |= accepted;
        live.ended &= !accepted;
        // What the NIC has no room for is sent again.
        let again = [reasons::QUOTA, reasons::PAUSED, reasons::NO_MESSAGE_SLOT];
        // So is what a mailbox had no buffer for, if the message has other packets.
        let waits = word.action.to_u64() == action::MAILBOX as u64
            && word.msg_len.to_u64() != word.payload_len.to_u64()
            && !live.lossy
            && word.sequenced
            && dropped == Some(reasons::NO_POSTED_BUFFER);
        if !accepted && (waits || dropped.is_some_and(|reason| again.contains(&reason))) {
            live.open += 1;
            live.rests = self.cycle + REST;
            // After the others: the packet with the user header may be among them, and it is let in whatever the quota
            // says.
            if word.by_field {
                live.frames.push_front(word);
            } else {
                live.frames.push_back(word);
            }
        }
        Ok(())
    }

    /// What the source of a packet is answered: of a sequenced one that was taken, and of any that was refused with a code. A
    /// mailbox may be silent.
    fn packet_report(&self, word: &PacketDesc, accepted: bool, dropped: Option<usize>) -> Option<PacketReport> {
        let answered = [opcode::PUT, opcode::GET, opcode::GET_RESP].map(u64::from).contains(&word.opcode.to_u64());
        let to_mailbox = word.action.to_u64() == action::MAILBOX as u64;
        let outcome = self.outcomes.get(&word.frame.to_u64()).filter(|_| to_mailbox);
        let code = dropped.filter(|_| !accepted).and_then(nack_of);
        let due =
            if accepted { word.sequenced } else { code.is_some() && outcome.is_none_or(|outcome| !outcome.silent) };
        (word.is_spindle && answered && due).then(|| PacketReport {
            node: bits(word.src_nid.to_u64() & 0xFF),
            src_pid: word.src_pid,
            dst_pid: word.dst_pid,
            addr: word.addr,
            msg_id: word.msg_id,
            psn: word.psn,
            epoch: outcome.map_or(bits(0), |outcome| outcome.epoch),
            credit: outcome.map_or(bits(0), |outcome| outcome.credit),
            code: bits(code.unwrap_or(0)),
            sequenced: word.sequenced,
            urgent: word.flags.to_u64() as u16 & flag::ACK_REQ != 0,
            marked: word.ecn == bits(ECN_MARKED),
            frame: word.frame,
        })
    }

    /// A process is informed of the end of a message.
    fn report(&mut self, dut: &Dut<PayloadScheduler>) -> Result<(), String> {
        if !(dut.message_event.valid.is_high() && dut.message_event.ready.is_high()) {
            return Ok(());
        }
        let event = dut.message_event.get();
        if event.flags.to_u64() & u64::from(events::message::TASK) != 0 {
            return self.task_reported(&event);
        }
        let number = event.user.to_u64() as usize;
        let context = event.context.to_u64();
        let named = (event.id.to_u64(), event.source.to_u64()) == self.scripts[number].name;
        if (event.kind.to_u64(), event.pid.to_u64()) != (events::MESSAGE as u64, process(context)) || !named {
            return Err(format!("event {event:?}"));
        }
        let report = Report {
            code: event.code.to_u64() as u8,
            context: context as usize,
            length: event.length.to_u64(),
            dropped: event.extra.to_u64(),
            flow_control: event.flags.to_u64() == events::message::FLOW_CONTROL as u64,
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
