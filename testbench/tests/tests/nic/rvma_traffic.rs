//! Two NICs over a wire that loses, doubles and reorders: random puts, wrong ones among them, and buffers that are taken
//! back at any moment, against the model of RVMA.
//!
//! The model knows no time. It gets the packets in the order in which the receiver's engine took them, which the trace
//! shows, and a command between the packets bound before and after the engine's pause for it. Compared are the fate of
//! every packet, what the sender learns of every put, refusals by reason, and when all is quiet host memory byte for byte,
//! records, epochs and histories. Then the sender gets bytes of some buffers back.
//!
//! Three processes receive: one has mailboxes of every kind, one only a catch-all, one a mailbox that spills into its
//! catch-all.
//!
//! `SPINDLE_RVMA_ROUNDS` makes the runs longer, `SPINDLE_RVMA_BYTES` the longest put (64 KiB otherwise, at most 1 MiB).

use crate::nic::bench::{nodes, Node};
use rand::{Rng, RngCore};
use rand_chacha::ChaCha8Rng;
use spindle::events::EventRing;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::Device;
use spindle::{Bar, EventKind, HostMemory, Kind, Reply, Stream, Target};
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::reasons::{
    BAD_KEY, CLOSED, NO_MAILBOX, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH, T_FIRST_BEAT, T_LOOKED_UP, T_PLACEMENT,
};
use spindle_contract::registers::mailbox_mode::{CATCH_ALL, MANAGED, OPS, SPILL, STREAM, TAGGED};
use spindle_contract::registers::rvma;
use spindle_contract::wire::{self, nack_of, opcode, status};
use spindle_harness::{seed_of_run, seeded_rng, share, with_seeds};
use spindle_model::frames::UDP_HEADERS;
use spindle_model::rvma_lut::{Put, Rvma};
use spindle_sim::host_memory::{SparseMemory, Timing, WriteBurst};
use spindle_sim::{Routing, WireOptions};
use std::collections::HashMap;

const PID: u16 = 2;
const KEY: u32 = 0x1357_9BDF;
/// Process, threshold and mode of each mailbox; its number is its address.
const MAILBOXES: [(u16, u32, u32); 10] = [
    (PID, 3000, 0),
    (PID, 1, 0),
    (PID, 3, OPS),
    (PID, 1, OPS),
    (PID, 2000, MANAGED),
    (PID, 1, TAGGED),
    (PID, LONGEST_OF_STREAM, STREAM),
    (PID + 2, 2000, SPILL),
    // What follows is no one's target.
    (PID + 2, LEAST_TO_CATCH, MANAGED | CATCH_ALL),
    (PID + 1, LEAST_TO_CATCH, MANAGED | CATCH_ALL),
];
const TARGETS: usize = 8;
/// Those that are cut: the one that spills may have no buffer, and while it closes it refuses what it would hand on before
/// and after.
const CUT: usize = 7;
/// Every message of the stream finds room in the buffer whose turn it is, or the stream would stand still.
const LONGEST_OF_STREAM: u32 = 4000;
/// And so does every packet in a catch-all, with its header.
const LEAST_TO_CATCH: u32 = 1500;
/// Mailbox of the sender for what it gets.
const ANSWERS: u64 = 0xA0;
const ROUNDS: usize = 8;
/// Puts of a round.
const PUTS: usize = 16;
const LONGEST: usize = 64 << 10;
/// Cycles in which nothing happens any more when the last put has ended.
const QUIET: u64 = 6000;
const PATIENCE: u64 = 400_000;
/// Bindings stand still for at least so long while a buffer is cut.
const SWEEP: u64 = 250;

fn from_environment(name: &str, otherwise: usize) -> usize {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`")))
}

/// A command that cut buffers, and the cycles within which it did.
struct Cut {
    mailbox: usize,
    closes: bool,
    began: u64,
    ended: u64,
}

/// What the model says of a message so far.
#[derive(Default)]
struct Message {
    placed: usize,
    /// Reasons for which packets were refused for good.
    refused: Vec<usize>,
}

/// How the sender was informed that a put ended.
struct Ended {
    id: u32,
    length: u32,
    refusal: Option<u8>,
}

struct System {
    sender: Node,
    receiver: Node,
    ring: EventRing,
    model: Rvma,
    windows: Vec<Window>,
    stream: Stream,
    /// Of the sender.
    answers: Window,
    gets: usize,
    /// Buffers of each mailbox, and all that ever were.
    posted: Vec<Vec<Posted>>,
    buffers: Vec<Posted>,
    cuts: Vec<Cut>,
    messages: HashMap<(u32, u16, u32), (u8, Message)>,
    /// Refusals of the model by reason.
    refusals: HashMap<usize, u32>,
    /// Reasons of refusals next to a command: the model's after the command and before the command.
    unsure: Vec<(usize, usize)>,
    operations: usize,
    rng: ChaCha8Rng,
}

fn new_stream() -> Stream {
    let address = MAILBOXES.iter().position(|mailbox| mailbox.2 == STREAM).expect("there is one") as u64;
    Stream::new(Target { node: 1, process: PID, address, key: KEY, offset: 0, kind: Kind::Bound })
}

/// Big-endian bytes of a Spindle header.
fn field<const N: usize>(frame: &[u8], offset: usize) -> [u8; N] {
    frame[UDP_HEADERS + offset..][..N].try_into().expect("the frame has a header")
}

impl System {
    fn new(name: &str, wire: WireOptions, timing: Timing, posted: bool) -> System {
        let mut nodes = nodes(2, wire);
        let (mut receiver, mut sender) = (nodes.pop().unwrap(), nodes.pop().unwrap());
        receiver.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        receiver.set_sequence_filter(true).unwrap();
        receiver.set_responses(Some(Responses { ack_every: 8, ..Responses::default() })).unwrap();
        {
            let card = receiver.memory.card().clone();
            let mut sim = card.sim();
            sim.memory().timing = timing;
            sim.memory().posted = posted;
            sim.memory().keep_log = true;
        }
        receiver.bar.write32(rvma::BASE + rvma::CONTROL, posted.into()).unwrap();
        sender.memory.card().sim().set_tracing(false);
        let reliability = Reliability { timeout: 64, hole_time: 24, retries: 15, incarnation: 0xC0FFEE };
        sender.set_reliability(Some(reliability)).unwrap();
        // The way back of what is got.
        receiver.set_reliability(Some(reliability)).unwrap();
        sender.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        sender.set_sequence_filter(true).unwrap();
        sender.set_responses(Some(Responses { ack_every: 1, ..Responses::default() })).unwrap();
        let answers = sender.init_window(PID.into(), ANSWERS, KEY, 1).unwrap();
        let ring = sender.open_ring(PID.into(), 256).unwrap();
        receiver.memory.network().keep_received();
        for node in [&mut receiver, &mut sender] {
            node.set_receive(true).unwrap();
        }
        let mut system = System {
            sender,
            receiver,
            ring,
            model: Rvma::default(),
            windows: vec![],
            stream: new_stream(),
            answers,
            gets: 0,
            posted: vec![vec![]; MAILBOXES.len()],
            buffers: vec![],
            cuts: vec![],
            messages: HashMap::new(),
            refusals: HashMap::new(),
            unsure: vec![],
            operations: 0,
            rng: seeded_rng(name),
        };
        for mailbox in 0..MAILBOXES.len() {
            let window = system.open(mailbox);
            system.windows.push(window);
        }
        system
    }

    fn open(&mut self, mailbox: usize) -> Window {
        let (pid, threshold, mode) = MAILBOXES[mailbox];
        self.model.init_window(pid, mailbox as u64, KEY, threshold, mode).unwrap();
        let counting = if mode & OPS == 0 { Counting::Bytes } else { Counting::Operations };
        let options = WindowOptions {
            address: mailbox as u64,
            key: KEY,
            threshold,
            counting,
            managed: mode & MANAGED != 0,
            tagged: mode & TAGGED != 0,
            spills: mode & SPILL != 0,
            catch_all: mode & CATCH_ALL != 0,
            ..Default::default()
        };
        if mode == STREAM {
            self.stream = new_stream();
        }
        self.operations += 1;
        self.receiver.open_window(pid.into(), &options).unwrap()
    }

    /// Posts until so many buffers wait: the model, too, has got them before the next packet comes.
    fn post(&mut self, mailbox: usize, wanted: usize, longest: usize) {
        let waiting = self.posted[mailbox].iter().filter(|p| self.receiver.poll(p).unwrap().is_none()).count();
        for _ in waiting..wanted {
            let size = (longest + self.rng.random_range(500..5000)) as u32;
            let posted = self.receiver.post_buffer(self.windows[mailbox], size).unwrap();
            let pid = MAILBOXES[mailbox].0;
            self.model.post_buffer(pid, mailbox as u64, posted.buffer, size, posted.record).unwrap();
            self.posted[mailbox].push(posted);
            self.buffers.push(posted);
            self.operations += 1;
        }
    }

    /// A put to a mailbox, now and then one that must be refused.
    fn put(&mut self, mailbox: usize, longest: usize, epochs: &[u16]) {
        let (process, _, mode) = MAILBOXES[mailbox];
        let longest = if mode == STREAM { LONGEST_OF_STREAM as usize } else { longest };
        let length = (longest as f64).powf(self.rng.random::<f64>()).round().max(1.0) as usize;
        let mut data = vec![0; length];
        self.rng.fill_bytes(&mut data);
        let from = self.sender.memory.alloc(length + 64, 64).unwrap() + self.rng.random_range(0..64);
        self.sender.memory.write(from, &data).unwrap();
        self.operations += 1;
        let kind = match mode {
            // One that was open when all was quiet; it may be complete, or cut, when the message comes. Now and then the one
            // before.
            TAGGED => Kind::Tagged(epochs[mailbox].wrapping_add(self.rng.random_range(0..5)).wrapping_sub(1)),
            STREAM => self.stream.target().kind,
            MANAGED => Kind::Managed,
            _ => Kind::Bound,
        };
        let offset = self.rng.random_range(0..500);
        let mut target = Target { node: 1, process, address: mailbox as u64, key: KEY, offset, kind };
        match self.rng.random_range(0..30) {
            0 => target.key ^= 1 << self.rng.random_range(0..32),
            1 if process == PID => target.address += 100,
            // There is a catch-all, and nothing else.
            2 | 4 if process == PID => target.process += 1,
            3 => target.offset = 2 << 20,
            _ if mode == STREAM => {
                self.sender.put_next(PID.into(), from, length as u32, &mut self.stream).unwrap();
                return;
            }
            _ => {}
        }
        self.sender.put(PID.into(), from, length as u32, &target).unwrap();
    }

    /// Gets some bytes of a mailbox's last buffer, or of the one that fills, when all is quiet.
    fn get(&mut self, mailbox: usize, active: bool) {
        let (process, ..) = MAILBOXES[mailbox];
        let address = mailbox as u64;
        let source = if active {
            self.model.oldest(process, address).ok()
        } else {
            let last = self.receiver.completed_buffer(self.windows[mailbox], 0).unwrap();
            last.map(|buffer| {
                let posted = self.buffers.iter().find(|posted| posted.buffer == buffer).expect("it was posted");
                (buffer, self.receiver.poll(posted).unwrap().expect("it is complete").length)
            })
        };
        let Some((buffer, size)) = source.filter(|(_, size)| *size > 0) else { return };
        let offset = self.rng.random_range(0..size);
        let length = self.rng.random_range(1..=(size - offset).min(5000));
        let posted = self.sender.post_buffer(self.answers, length).unwrap();
        let target = Target { node: 1, process, address, key: KEY, offset, kind: Kind::Bound };
        let reply = Reply { address: ANSWERS, key: KEY, offset: 0 };
        let from = if active { Device::get_active } else { Device::get };
        from(&mut self.sender, PID.into(), length, &target, &reply).unwrap();
        let ended = self.settle(1);
        assert_eq!(ended[0].refusal, None, "a get of mailbox {mailbox}");
        assert_eq!(self.sender.wait(&posted, PATIENCE).unwrap().length, length);
        let mut wanted = vec![0; length as usize];
        self.receiver.memory.read(buffer + u64::from(offset), &mut wanted).unwrap();
        let mut got = vec![0; length as usize];
        self.sender.memory.read(posted.buffer, &mut got).unwrap();
        assert!(got == wanted, "{length} bytes from {offset} of mailbox {mailbox}, active: {active}");
        self.operations += 1;
        self.gets += 1;
    }

    /// INC_EPOCH or CLOSE, at this moment.
    fn cut(&mut self, mailbox: usize, closes: bool) {
        let window = self.windows[mailbox];
        let began = self.receiver.memory.card().sim().cycle();
        if closes {
            self.receiver.close_window(window).unwrap();
        } else {
            self.receiver.inc_epoch(window).unwrap();
        }
        let ended = self.receiver.memory.card().sim().cycle();
        self.cuts.push(Cut { mailbox, closes, began, ended });
        self.operations += 1;
    }

    /// Waits until the sender has been informed of so many puts and nothing moves.
    fn settle(&mut self, puts: usize) -> Vec<Ended> {
        let network = self.sender.memory.network().clone();
        let (mut ended, mut waited) = (vec![], 0);
        while ended.len() < puts {
            assert!(waited < PATIENCE, "{} of {puts} puts have ended after {PATIENCE} cycles", ended.len());
            network.run(128);
            waited += 128;
            while let Some(event) = self.sender.poll_event(&mut self.ring).unwrap() {
                let EventKind::Put { acknowledged, refusal, id, length, .. } = event.kind else { panic!("{event:?}") };
                assert_eq!(acknowledged, refusal.is_none(), "{event:?}: the receiver answers always");
                ended.push(Ended { id, length, refusal });
            }
        }
        network.run(QUIET);
        ended
    }

    /// Gives the model what the receiver's engine got since the last time.
    fn catch_up(&mut self) {
        let frames = self.receiver.memory.network().take_received(1);
        let events = {
            let card = self.receiver.memory.card().clone();
            let mut sim = card.sim();
            let events = sim.trace().events().to_vec();
            sim.trace().clear();
            events
        };
        let of = |point| events.iter().filter(move |event| event.point == point);
        let numbers: Vec<u16> = of(T_FIRST_BEAT).map(|event| event.frame).collect();
        assert_eq!(numbers.len(), frames.len(), "every frame gets a number");
        let frames: HashMap<u16, &Vec<u8>> = numbers.into_iter().zip(&frames).collect();
        let bound: HashMap<u16, u64> = of(T_LOOKED_UP).map(|event| (event.frame, event.cycle)).collect();
        let order: Vec<u16> = of(T_PLACEMENT).map(|event| event.frame).collect();
        // A command lies after the last packet that was bound before the engine's pause.
        let mut commands: Vec<(usize, Cut)> = std::mem::take(&mut self.cuts)
            .into_iter()
            .map(|cut| {
                let pause = pause_of(&cut, of(T_LOOKED_UP).map(|event| event.cycle));
                let before = order.iter().rposition(|frame| bound.get(frame).is_some_and(|cycle| *cycle <= pause));
                (before.map_or(0, |last| last + 1), cut)
            })
            .collect();
        // The trace has no moment of a refusal: the model before the command, until the next packet is bound.
        let mut earlier: Option<Rvma> = None;
        for (i, frame) in order.iter().enumerate() {
            // A get changes nothing.
            if field::<1>(frames[frame], wire::spindle::OPCODE) == [opcode::GET] {
                continue;
            }
            let placed = bound.contains_key(frame);
            if placed {
                earlier = None;
            }
            while commands.first().is_some_and(|(place, _)| *place <= i) {
                if !placed {
                    earlier.get_or_insert_with(|| self.model.clone());
                }
                self.model_cut(&commands.remove(0).1);
            }
            self.model_put(frames[frame], placed, earlier.as_mut());
        }
        commands.iter().for_each(|(_, cut)| self.model_cut(cut));
    }

    /// A buffer whose last bytes are on their way when it is to be taken back completes by itself: the record says which it
    /// was.
    fn model_cut(&mut self, cut: &Cut) {
        let (pid, address) = (MAILBOXES[cut.mailbox].0, cut.mailbox as u64);
        if cut.closes {
            return self.model.close(pid, address).unwrap();
        }
        let mut trial = self.model.clone();
        if trial.inc_epoch(pid, address).is_err() {
            return;
        }
        let record = trial.records.last().expect("one was just written");
        let mut bytes = [0; wire::RECORD_BYTES];
        self.receiver.memory.read(record.address, &mut bytes).unwrap();
        if bytes[wire::RECORD_STATUS] == status::PARTIAL {
            self.model = trial;
        }
    }

    fn model_put(&mut self, frame: &[u8], placed: bool, earlier: Option<&mut Rvma>) {
        let word = |offset| u32::from_be_bytes(field(frame, offset));
        let half = |offset| u16::from_be_bytes(field(frame, offset));
        let id = (word(wire::spindle::SRC_NID), half(wire::spindle::SRC_PID), word(wire::spindle::MSG_ID));
        let fresh = self.messages.len() as u8;
        let (slot, message) = self.messages.entry(id).or_insert_with(|| (fresh, Message::default()));
        let length = usize::from(half(wire::spindle::PAYLOAD_LEN));
        let msg_len = word(wire::spindle::MSG_LEN);
        let put = Put {
            holder: None,
            opcode: opcode::PUT,
            flags: half(wire::spindle::FLAGS),
            pid: half(wire::spindle::DST_PID),
            addr: u64::from_be_bytes(field(frame, wire::spindle::ADDR)),
            key: word(wire::spindle::KEY),
            message: id,
            msg_len,
            msg_off: word(wire::spindle::MSG_OFF),
            buf_off: word(wire::spindle::BUF_OFF),
            epoch: half(wire::spindle::EPOCH),
            header: frame[UDP_HEADERS..][..wire::SPINDLE_BYTES].to_vec(),
            payload: frame[UDP_HEADERS + wire::SPINDLE_BYTES..][..length].to_vec(),
            slot: (msg_len as usize > SEGMENT_BYTES).then_some(*slot),
            redirected: false,
        };
        let fate = self.model.put(&put);
        assert_eq!(fate.is_ok(), placed, "{fate:?} in the model: {:?}", Put { payload: vec![], ..put });
        match fate {
            Ok(()) => message.placed += length,
            Err(reason) => {
                *self.refusals.entry(reason).or_default() += 1;
                let other = earlier.and_then(|model| model.put(&put).err()).filter(|other| *other != reason);
                self.unsure.extend(other.map(|other| (reason, other)));
                message.refused.extend([reason].into_iter().chain(other).filter(|reason| *reason != NO_POSTED_BUFFER));
            }
        }
    }

    /// What the sender learned of each put is what the model has of it.
    fn check_ends(&self, ended: &[Ended]) -> usize {
        for end in ended {
            let (_, message) = self.messages.get(&(0, PID, end.id)).expect("something of it has arrived");
            match end.refusal {
                None => assert_eq!((message.placed, message.refused.len()), (end.length as usize, 0)),
                Some(code) => {
                    // While a mailbox closes it says so; the model's is gone at once.
                    let codes = message.refused.iter().filter_map(|reason| nack_of(*reason));
                    let gone = [NO_MAILBOX, CLOSED].map(|reason| nack_of(reason).unwrap());
                    assert!(
                        codes.clone().any(|known| known == code || gone.contains(&known) && gone.contains(&code)),
                        "put {:#x} was refused with {code}; the model: {:?}",
                        end.id,
                        codes.collect::<Vec<_>>()
                    );
                }
            }
        }
        ended.iter().filter(|end| end.refusal.is_some()).count()
    }

    /// Everything that can be seen when nothing moves.
    fn compare(&mut self) {
        let mut expected = SparseMemory::default();
        for (address, byte) in &self.model.memory {
            expected.write(*address, &[*byte]);
        }
        for record in &self.model.records {
            expected.write(record.address, &record.bytes());
        }
        let got = self.receiver.memory.card().sim().memory().memory.nonzero();
        let wanted = expected.nonzero();
        let differs = got.iter().zip(&wanted).position(|(a, b)| a != b).unwrap_or(got.len().min(wanted.len()));
        assert!(got == wanted, "host memory: {:x?} instead of {:x?}", got.get(differs), wanted.get(differs));
        for (mailbox, window) in self.windows.clone().into_iter().enumerate() {
            let (pid, address) = (MAILBOXES[mailbox].0, mailbox as u64);
            let epoch = self.receiver.epoch(window).unwrap();
            assert_eq!(Ok(epoch), self.model.get_epoch(pid, address), "epoch of mailbox {mailbox}");
            // Buffers that drain beside each other may end in either order.
            let list = |one: &mut dyn FnMut(usize) -> Option<u64>| {
                let mut all: Vec<u64> = (0..8).filter_map(one).collect();
                all.sort_unstable();
                all
            };
            let reported = list(&mut |back| self.receiver.completed_buffer(window, back as u32).unwrap());
            let model = list(&mut |back| self.model.get_buf_ptr(pid, address, back).ok().map(|(buffer, _)| buffer));
            assert_eq!(reported.len(), model.len(), "history of mailbox {mailbox}");
            if reported.len() < 8 {
                assert_eq!(reported, model, "history of mailbox {mailbox}");
            }
            self.operations += 9;
        }
    }

    /// A record left when the host had answered every write to its buffer, in whatever order it did, and no write followed;
    /// where the host keeps the order, when it had taken them.
    fn check_order(&self) {
        let card = self.receiver.memory.card().clone();
        let mut sim = card.sim();
        let posted = sim.memory().posted;
        let taken = |burst: &WriteBurst| burst.data_cycle.max(burst.address_cycle);
        let log = &sim.memory().log;
        for Posted { buffer, size, record } in &self.buffers {
            let range = *buffer..*buffer + u64::from(*size);
            let data = log.iter().filter(|burst| burst.bytes.first().is_some_and(|(at, _)| range.contains(at)));
            let last = data.map(|burst| if posted { taken(burst) } else { burst.response_cycle }).max().unwrap_or(0);
            let its: Vec<_> =
                log.iter().filter(|burst| burst.bytes.first().is_some_and(|(at, _)| at == record)).collect();
            assert_eq!(its.len(), 1, "records of the buffer at {buffer:#x}");
            let record_cycle = if posted { taken(its[0]) } else { its[0].offered_cycle };
            assert!(record_cycle > last, "the record at {record:#x}: cycle {record_cycle}, its data: {last}");
        }
    }

    /// Drops by reason; those of a mailbox that closes are one. Next to a command the counters say on which side of the
    /// command a packet was refused.
    fn check_refusals(&mut self) {
        const REASONS: [&[usize]; 5] =
            [&[BAD_KEY], &[OUT_OF_BOUNDS], &[NO_POSTED_BUFFER], &[STALE_EPOCH], &[NO_MAILBOX, CLOSED]];
        let group = |reason: usize| REASONS.iter().position(|reasons| reasons.contains(&reason));
        let drops = self.receiver.stats().unwrap().drops;
        let reported = REASONS.map(|reasons| reasons.iter().map(|reason| drops[*reason]).sum::<u32>());
        let mut model = REASONS
            .map(|reasons| reasons.iter().map(|reason| self.refusals.get(reason).copied().unwrap_or(0)).sum::<u32>());
        for (after, before) in &self.unsure {
            if let (Some(after), Some(before)) = (group(*after), group(*before)) {
                if model[after] > reported[after] && model[before] < reported[before] {
                    model[after] -= 1;
                    model[before] += 1;
                }
            }
        }
        assert_eq!(reported, model, "refusals for reasons {REASONS:?}");
    }
}

/// The middle of the longest time in which a command let nothing be bound.
fn pause_of(cut: &Cut, bound: impl Iterator<Item = u64>) -> u64 {
    let inside = bound.filter(|cycle| (cut.began..cut.ended).contains(cycle));
    let mut edges: Vec<u64> = [cut.began].into_iter().chain(inside).chain([cut.ended]).collect();
    edges.sort_unstable();
    let widest = edges.windows(2).max_by_key(|pair| pair[1] - pair[0]).expect("there are two edges");
    assert!(widest[1] - widest[0] >= SWEEP, "the command took {} cycles", cut.ended - cut.began);
    widest[0].midpoint(widest[1])
}

fn play(name: &str, wire: WireOptions, timing: Timing, posted: bool) {
    let rounds = from_environment("SPINDLE_RVMA_ROUNDS", share(ROUNDS));
    let longest = from_environment("SPINDLE_RVMA_BYTES", LONGEST).min(1 << 20);
    let mut system = System::new(name, wire, timing, posted);
    let (mut refused, mut cuts, mut closes) = (0, 0, 0);
    for round in 0..rounds {
        let to: Vec<usize> = (0..PUTS).map(|_| system.rng.random_range(0..TARGETS)).collect();
        for (mailbox, (_, _, kind)) in MAILBOXES.iter().enumerate() {
            let messages = to.iter().filter(|number| **number == mailbox).count();
            let wanted = match *kind {
                // Mostly too few.
                SPILL => messages / 2,
                // As many as may be named.
                TAGGED => messages + 4,
                mode if mode & CATCH_ALL != 0 => PUTS,
                _ => messages + 2,
            };
            system.post(mailbox, wanted, longest);
        }
        let epochs: Vec<u16> =
            (0..TARGETS).map(|m| system.model.get_epoch(MAILBOXES[m].0, m as u64).unwrap() as u16).collect();
        // One command per mailbox and round, among the puts or while they arrive.
        let moments: Vec<usize> = (0..2).map(|_| system.rng.random_range(1..PUTS + 4)).collect();
        let mut closed = None;
        for i in 0..PUTS + 4 {
            if let Some(mailbox) = to.get(i) {
                system.put(*mailbox, longest, &epochs);
            }
            system.sender.memory.network().run(u64::from(system.rng.next_u32() % 2500));
            if i == moments[0] {
                system.cut(round % CUT, false);
                cuts += 1;
            }
            if i == moments[1] && round % 3 == 2 {
                let mailbox = (round + 1) % CUT;
                system.cut(mailbox, true);
                closed = Some(mailbox);
                closes += 1;
            }
        }
        let ended = system.settle(PUTS);
        system.catch_up();
        refused += system.check_ends(&ended);
        if let Some(mailbox) = closed {
            system.windows[mailbox] = system.open(mailbox);
            system.posted[mailbox].clear();
        }
        system.compare();
        for active in [false, true] {
            let mailbox = system.rng.random_range(0..TARGETS);
            system.get(mailbox, active);
        }
    }
    for mailbox in 0..MAILBOXES.len() {
        system.cut(mailbox, true);
    }
    system.settle(0);
    system.catch_up();
    system.windows.clear();
    system.compare();
    system.check_refusals();
    system.check_order();
    let statuses = [status::DONE, status::PARTIAL, status::CANCELLED];
    let count = |status| system.model.records.iter().filter(|record| record.status == status).count();
    let [done, partial, cancelled] = statuses.map(count);
    let counts = system.sender.memory.network().counts();
    let resent = system.sender.segments_resent().unwrap();
    println!(
        "{} operations; records: {done} done, {partial} partial, {cancelled} cancelled; \
         {refused} puts refused, {cuts} cuts, {closes} closes, {} gets; \
         {counts:?}, {resent} segments sent again",
        system.operations, system.gets
    );
    assert!(done > rounds && partial > 0 && cancelled > 0 && refused > 0 && system.gets > 0, "too little happened");
    let memory = &system.model.memory;
    let has_bytes =
        |posted: &Posted| memory.range(posted.buffer..posted.buffer + u64::from(posted.size)).next().is_some();
    assert!(system.posted[TARGETS..].iter().flatten().any(has_bytes), "no packet went to a catch-all");
    if wire.loss > 0.0 {
        assert!(counts.lost > 0 && counts.doubled > 0 && resent > 0, "the wire did nothing");
    }
    let mut sim = system.receiver.memory.card().sim();
    assert!(sim.memory().idle() && sim.memory().violations.is_empty(), "{:?}", sim.memory().violations);
}

const QUICK: Timing = Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 60, read_stall: 0 };
const SLOW: Timing = Timing { aw_stall: 40, w_stall: 40, response_min: 20, response_max: 900, read_stall: 20 };

#[test]
fn over_a_faithful_wire() {
    with_seeds(|| {
        play("rvma_faithful_wire", WireOptions::default(), QUICK, false);
    });
}

/// A host that keeps the order of writes and answers late, and a NIC that does not wait for its answers.
#[test]
fn with_posted_writes() {
    with_seeds(|| {
        play("rvma_posted_writes", WireOptions::default(), SLOW, true);
    });
}

#[test]
fn over_many_paths() {
    with_seeds(|| {
        let wire = WireOptions { routing: Routing::Adaptive, paths: 5, step: 130, ..WireOptions::default() };
        play("rvma_many_paths", wire, SLOW, false);
    });
}

#[test]
fn over_a_bad_wire() {
    with_seeds(|| {
        let routing = Routing::Adaptive;
        let wire = WireOptions {
            loss: 0.03,
            duplication: 0.03,
            routing,
            paths: 4,
            step: 90,
            seed: seed_of_run("rvma_bad_wire_losses"),
            ..WireOptions::default()
        };
        play("rvma_bad_wire", wire, QUICK, false);
    });
}
