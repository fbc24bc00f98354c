//! Attacks on one-sided puts and gets by frames of a third node, with the NIC's defences off and on.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting, KEY, PROCESS};
use crate::case::{value, Broken, Case, Measured, Mode, Row};
use crate::source::frame;
use anyhow::{bail, ensure, Context, Result};
use model::{FOREIGN, MEMORY, MESSAGE, PLACE};
use spindle::frames::Frames;
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextId, ContextOptions, Target};
use spindle_contract::wire::{control, flag, nack, opcode};
use spindle_model::frames::SpindleHeader;
use spindle_sim::WireFrame;
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] =
    &[("mac.c", include_str!("handlers/mac.c")), ("tags.h", include_str!("../storage/handlers/tags.h"))];
const MODES: &[Mode] = &[
    Mode {
        name: "before",
        about: "the defence against the attack is off; for some of them that is the state after reset",
    },
    Mode {
        name: "after",
        about: "the defence is on: check of sources, sequence numbers, random keys, or a handler that checks tags",
    },
];
/// Nodes.
const CLIENT: usize = 0;
const SERVER: usize = 1;
const ATTACKER: usize = 2;
/// The server's window, and the attacker's own.
const ADDRESS: u64 = 0x77;
const REPLIES: u64 = 0x78;
/// Process of the attacker's frames.
const FRAMES: usize = 1;
/// Keys that the attacker tries, one of which a server chooses that counts its windows, and one that is random.
const GUESSES: u32 = 64;
const COUNTED: u32 = 41;
const RANDOM: u32 = 0x9C3A_51E7;
/// Key of the tags.
const SECRET: [u32; 4] = [0x0F1E_2D3C, 0x4B5A_6978, 0x8796_A5B4, 0xC3D2_E1F0];
/// Cycles in which a frame takes effect, and in which a put succeeds or fails for good.
const SETTLED: u64 = 1200;
const PATIENCE: u64 = 12_000;
/// Cycles from one frame of a flood to the next: half of the wire, and somewhat less than the handlers can check. How much later a put may
/// end under a flood.
const FLOOD_SPACING: u64 = 4;
const CHECKED_SPACING: u64 = 64;
const SLOWER: f64 = 2.0;

/// The attacks: the places on the x axis, and what each is.
const SPOOFED_NODE: u64 = 1;
const SPOOFED_ADDRESS: u64 = 2;
const GUESSED_KEY_PUT: u64 = 3;
const GUESSED_KEY_GET: u64 = 4;
const REPLAY: u64 = 5;
const REPLAY_UNNUMBERED: u64 = 6;
const TAKEN_NUMBER: u64 = 7;
const REPLAY_AFTER_OPEN: u64 = 8;
const FORGED_NACK: u64 = 9;
const FORGED_ACK: u64 = 10;
const FLOOD: u64 = 11;
const ON_PATH: u64 = 12;

/// The case.
pub const CASE: Case = Case {
    name: "nevermore",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, attack: u64) -> Result<Measured> {
    let bench = setting.bench(3)?;
    let defended = mode == "after";
    let mut scene = Scene::new(&bench, attack, defended)?;
    let succeeded = scene.attack(attack)?;
    scene.check()?;
    if attack != FLOOD {
        bench.expect("the outcome", &[u8::from(succeeded)], &[u8::from(model::succeeds(attack, defended))])?;
    }
    let mut values = vec![("succeeded", f64::from(succeeded))];
    values.extend(scene.values);
    Measured::new(&bench, values)
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let get = |mode, attack, name| value(rows, mode, "pcie", attack, name);
    let mut figures = Vec::new();
    for mode in ["before", "after"] {
        let successes: Option<Vec<f64>> = (SPOOFED_NODE..=FLOOD).map(|attack| get(mode, attack, "succeeded")).collect();
        figures.extend(successes.map(|successes| (format!("successful_{mode}"), successes.iter().sum())));
        figures.extend(get(mode, FLOOD, "slower").map(|slower| (format!("flood_slower_{mode}"), slower)));
    }
    figures.extend(get("after", ON_PATH, "succeeded").map(|succeeded| ("successful_on_path".into(), succeeded)));
    for (name, attack) in [("check_cycles", SPOOFED_NODE), ("mac_put_cycles", SPOOFED_ADDRESS)] {
        if let (Some(with), Some(without)) = (get("after", attack, "put_cycles"), get("before", attack, "put_cycles")) {
            figures.push((name.into(), with - without));
        }
    }
    figures
        .extend(get("after", SPOOFED_ADDRESS, "checked_slower").map(|slower| ("checked_flood_slower".into(), slower)));
    figures.extend(get("after", SPOOFED_ADDRESS, "handler_cycles").map(|cycles| ("mac_handler_cycles".into(), cycles)));
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "after",
        "half of the tag is not compared",
        "mac.c",
        "((uint32_t)tag ^ message->tag[0]) | ((uint32_t)(tag >> 32) ^ message->tag[1])",
        "(uint32_t)tag ^ message->tag[0]",
    ),
    Broken::new("after", "genuine tags are refused", "tags.h", "c = turn(c, 16);", "c = turn(c, 15);"),
    Broken::new("after", "the place is not compared", "mac.c", " || offset != h->buf_off", ""),
    Broken::new("after", "a message is as long as it says", "mac.c", "h->msg_len != sizeof *message || ", ""),
];

/// Two nodes that put and get, and a third one.
struct Scene<'a> {
    bench: &'a Bench,
    hosts: Vec<Host>,
    frames: Frames,
    key: u32,
    /// The server's memory, and its window's buffer.
    memory: u64,
    window: Window,
    posted: Posted,
    /// The context that checks tags, if there is one.
    context: Option<ContextId>,
    /// Where the client's messages lie.
    from: u64,
    /// What the server's memory must hold.
    wanted: Vec<(usize, Vec<u8>)>,
    values: Vec<(&'static str, f64)>,
}

impl<'a> Scene<'a> {
    fn new(bench: &'a Bench, attack: u64, defended: bool) -> Result<Scene<'a>> {
        let hosts = bench.hosts();
        let key = match attack {
            GUESSED_KEY_PUT | GUESSED_KEY_GET if !defended => COUNTED,
            GUESSED_KEY_PUT | GUESSED_KEY_GET => RANDOM,
            _ => KEY,
        };
        let server = &hosts[SERVER];
        let memory = server.alloc(MEMORY)?;
        let posted = Posted { buffer: memory, size: MEMORY as u32, record: server.alloc(64)? };
        let options = WindowOptions {
            address: ADDRESS,
            key,
            threshold: u32::MAX,
            counting: Counting::Operations,
            ..WindowOptions::default()
        };
        let window = server.nic(|nic| nic.open_window(PROCESS, &options))?;
        let mut context = None;
        if defended && matches!(attack, SPOOFED_ADDRESS | REPLAY_UNNUMBERED) {
            let handler = bench.compile(HANDLERS, "mac.c")?;
            let rule = format!("spindle.addr == {ADDRESS}");
            let installed =
                server.install(&handler.image, &rule, &ContextOptions::default(), Action::ContextPerMessage)?;
            server.set_words(installed, &handler, "key", &SECRET)?;
            context = Some(installed);
        }
        hosts.iter().try_for_each(Host::listen)?;
        let frames = hosts[ATTACKER].nic(|nic| nic.open_frames(FRAMES, 4, 65536))?;
        for victim in [CLIENT, SERVER] {
            hosts[victim].nic(|nic| match attack {
                // The state after reset.
                REPLAY if !defended => nic.set_sequence_filter(false),
                SPOOFED_NODE | TAKEN_NUMBER | REPLAY_AFTER_OPEN | FORGED_NACK | FORGED_ACK | FLOOD if !defended => {
                    nic.set_source_check(false)
                }
                _ => Ok(()),
            })?;
        }
        let from = hosts[CLIENT].alloc(MEMORY)?;
        server.nic(|nic| nic.memory.network().clone()).keep_received();
        let mut scene = Scene {
            bench,
            hosts,
            frames,
            key,
            memory,
            window,
            posted,
            context,
            from,
            wanted: Vec::new(),
            values: Vec::new(),
        };
        if !matches!(attack, FORGED_NACK | FORGED_ACK) {
            scene.hosts[SERVER].nic(|nic| nic.post(window, posted))?;
            ensure!(scene.put(0, 0)?, "the first put does not arrive");
        }
        Ok(scene)
    }

    /// The client puts the message of this counter to a place.
    fn start(&mut self, counter: u32, place: usize) -> Result<()> {
        let message = model::message(SECRET, counter, place);
        let from = self.from + (counter as usize * PLACE) as u64;
        self.hosts[CLIENT].write(from, &message)?;
        let target = Target { key: self.key, ..window_of(SERVER, ADDRESS, place * PLACE) };
        self.hosts[CLIENT].nic(|nic| nic.put(PROCESS, from, MESSAGE as u32, &target))?;
        Ok(())
    }

    /// Whether the message has arrived, and the client's NIC has it as delivered. The model has it then.
    fn arrives(&mut self, counter: u32, place: usize) -> Result<bool> {
        self.bench.idle(PATIENCE);
        let message = model::message(SECRET, counter, place);
        let there = self.hosts[SERVER].read(self.memory + (place * PLACE) as u64, MESSAGE)? == message;
        let failed = self.hosts[CLIENT].nic(|nic| nic.failed_puts())?;
        if there {
            self.wanted.push((place, message));
        }
        Ok(there && failed == 0)
    }

    fn put(&mut self, counter: u32, place: usize) -> Result<bool> {
        self.start(counter, place)?;
        self.arrives(counter, place)
    }

    /// The attacker sends a frame.
    fn send(&mut self, frame: &[u8]) -> Result<()> {
        let frames = &mut self.frames;
        let sent = self.hosts[ATTACKER].nic(|nic| {
            while nic.receive_frame(frames)?.is_some() {}
            nic.send_frame(frames, frame, None)
        })?;
        ensure!(sent, "the attacker's ring is full");
        self.bench.idle(SETTLED);
        Ok(())
    }

    /// Whether the attacker's message is at its place; the model has it then.
    fn foreign(&mut self) -> Result<bool> {
        let message = model::foreign();
        let there = self.hosts[SERVER].read(self.memory + (FOREIGN * PLACE) as u64, MESSAGE)? == message;
        if there {
            self.wanted.push((FOREIGN, message));
        }
        Ok(there)
    }

    fn attack(&mut self, attack: u64) -> Result<bool> {
        let unnumbered = flag::UNSEQ;
        let put = SpindleHeader { src_nid: CLIENT as u32, key: self.key, flags: unnumbered, ..header(FOREIGN) };
        // Packets 0 of the client have come.
        let next = SpindleHeader { flags: 0, psn: 1, ..put };
        let empty = SpindleHeader { msg_len: 0, payload_len: 0, ..next };
        let succeeded = match attack {
            SPOOFED_NODE => {
                self.send(&frame(SERVER, ATTACKER, &put, &model::foreign()))?;
                let succeeded = self.foreign()?;
                let cycles = self.timed(1, 1, None)?;
                self.values.push(("put_cycles", cycles));
                succeeded
            }
            SPOOFED_ADDRESS => {
                self.send(&frame(SERVER, CLIENT, &put, &model::foreign()))?;
                let succeeded = self.foreign()?;
                if let Some(context) = self.context {
                    for (place, message) in model::malformed(SECRET) {
                        let header = SpindleHeader {
                            src_nid: CLIENT as u32,
                            key: self.key,
                            msg_len: message.len() as u32,
                            payload_len: message.len() as u16,
                            msg_id: 0xBAE,
                            ..header(place)
                        };
                        self.send(&frame(SERVER, CLIENT, &header, &message))?;
                        self.check()?;
                    }
                    let before = self.hosts[SERVER].nic(|nic| nic.context_counters(context))?;
                    ensure!(self.put(1, 1)?, "a genuine message does not arrive");
                    let used = self.hosts[SERVER].nic(|nic| nic.context_counters(context))?.since(&before);
                    self.values.push(("handler_cycles", used.cycles as f64));
                    self.values.push(("handler_instructions", used.instructions as f64));
                } else {
                    ensure!(self.put(1, 1)?, "a genuine message does not arrive");
                }
                let cycles = self.timed(2, 2, None)?;
                self.values.push(("put_cycles", cycles));
                if self.context.is_some() {
                    let frame = frame(SERVER, CLIENT, &put, &model::foreign());
                    let flooded = self.timed(3, 3, Some((frame, CHECKED_SPACING)))?;
                    self.values.push(("checked_slower", flooded / cycles));
                }
                succeeded
            }
            GUESSED_KEY_PUT => {
                for key in 0..GUESSES {
                    let own = SpindleHeader { src_nid: ATTACKER as u32, key, ..put };
                    self.send(&frame(SERVER, ATTACKER, &own, &model::foreign()))?;
                }
                self.values.push(("attempts", GUESSES.into()));
                self.foreign()?
            }
            GUESSED_KEY_GET => self.guessed_gets()?,
            REPLAY | REPLAY_UNNUMBERED | REPLAY_AFTER_OPEN => {
                let network = self.hosts[SERVER].nic(|nic| nic.memory.network().clone());
                let recorded = network.take_received(SERVER);
                let recorded = recorded.iter().rfind(|frame| frame.ends_with(&model::message(SECRET, 0, 0)));
                let recorded = recorded.context("the first put was not seen")?.clone();
                // A newer message to the same place.
                self.wanted.clear();
                ensure!(self.put(1, 0)?, "the second put does not arrive");
                if attack == REPLAY_AFTER_OPEN {
                    // All numbers are free again.
                    let open = SpindleHeader { opcode: opcode::CTRL, msg_id: control::OPEN, key: 7, ..empty };
                    self.send(&frame(SERVER, ATTACKER, &open, &[]))?;
                }
                let again = match attack {
                    REPLAY | REPLAY_AFTER_OPEN => recorded,
                    _ => frame(
                        SERVER,
                        CLIENT,
                        &SpindleHeader { msg_id: 0xBAD, ..at(put, 0) },
                        &model::message(SECRET, 0, 0),
                    ),
                };
                self.send(&again)?;
                let old = model::message(SECRET, 0, 0);
                let succeeded = self.hosts[SERVER].read(self.memory, MESSAGE)? == old;
                if succeeded {
                    self.wanted = vec![(0, old)];
                }
                succeeded
            }
            TAKEN_NUMBER | ON_PATH => {
                let source = if attack == ON_PATH { CLIENT } else { ATTACKER };
                self.send(&frame(SERVER, source, &next, &model::foreign()))?;
                let placed = self.foreign()?;
                let lost = !self.put(1, 1)?;
                ensure!(placed == lost, "the number is taken by the attacker or not");
                lost
            }
            FORGED_NACK | FORGED_ACK => {
                // The server's buffer is posted late: the client's put waits.
                self.start(0, 0)?;
                self.bench.idle(100);
                let refusal = SpindleHeader {
                    opcode: opcode::NACK,
                    psn: u32::MAX,
                    buf_off: 0,
                    key: u32::from(nack::BAD_KEY) << 24,
                    ..empty
                };
                let answer = match attack {
                    FORGED_NACK => refusal,
                    _ => SpindleHeader { opcode: opcode::ACK, psn: 0, ..empty },
                };
                let answer = SpindleHeader { src_nid: SERVER as u32, ..answer };
                self.send(&frame(CLIENT, ATTACKER, &answer, &[]))?;
                let (window, posted) = (self.window, self.posted);
                self.hosts[SERVER].nic(|nic| nic.post(window, posted))?;
                !self.arrives(0, 0)?
            }
            FLOOD => {
                let quiet = self.timed(1, 1, None)?;
                // Refused by the mailbox if they come as far.
                let refused = SpindleHeader { key: !self.key, ..put };
                let frame = frame(SERVER, ATTACKER, &refused, &model::foreign());
                let flooded = self.timed(2, 2, Some((frame, FLOOD_SPACING)))?;
                self.values.push(("slower", flooded / quiet));
                flooded > SLOWER * quiet
            }
            other => bail!("there is no attack {other}"),
        };
        Ok(succeeded)
    }

    /// The attacker gets the first message with keys that it guesses.
    fn guessed_gets(&mut self) -> Result<bool> {
        let attacker = &self.hosts[ATTACKER];
        let buffer = attacker.alloc(PLACE)?;
        attacker.endless_window(REPLIES, buffer, PLACE)?;
        for key in 0..GUESSES {
            let host = attacker.clone();
            let from = Target { key, ..window_of(SERVER, ADDRESS, 0) };
            self.bench.run(vec![Box::pin(async move { host.get_all(&[(MESSAGE, from, REPLIES)]).await })])?;
            self.bench.idle(SETTLED);
        }
        self.values.push(("attempts", GUESSES.into()));
        let got = attacker.read(buffer, MESSAGE)?;
        let read = got == model::message(SECRET, 0, 0);
        self.bench.expect("the attacker's memory", &got, &if read { got.clone() } else { vec![0; MESSAGE] })?;
        Ok(read)
    }

    /// Cycles from the client's put of a message to the bytes in the server's memory, perhaps under a flood of frames.
    fn timed(&mut self, counter: u32, place: usize, flood: Option<(Vec<u8>, u64)>) -> Result<f64> {
        let message = model::message(SECRET, counter, place);
        let (from, at) = (self.from + (counter as usize * PLACE) as u64, self.memory + (place * PLACE) as u64);
        self.hosts[CLIENT].write(from, &message)?;
        let target = Target { key: self.key, ..window_of(SERVER, ADDRESS, place * PLACE) };
        let (client, server, time) = (self.hosts[CLIENT].clone(), self.hosts[SERVER].clone(), Rc::new(Cell::new(0)));
        let over = Rc::new(Cell::new(false));
        let (started, ended, stop) = (time.clone(), time.clone(), over.clone());
        let wanted = message.clone();
        let mut programs: Vec<Program> = vec![
            Box::pin(async move {
                // The flood is under way.
                client.busy(SETTLED).await;
                started.set(client.now());
                client.put(from, MESSAGE, &target).await
            }),
            Box::pin(async move {
                server.bytes(at, &wanted).await?;
                ended.set(server.now() - ended.get());
                stop.set(true);
                Ok(())
            }),
        ];
        if let Some((frame, spacing)) = flood {
            let server = self.hosts[SERVER].clone();
            programs.push(Box::pin(async move {
                let flooding = |nic: &mut crate::bench::Node| {
                    let mut sim = nic.memory.card().sim();
                    if sim.pending() == 0 && sim.cycle().is_multiple_of(spacing) {
                        sim.inject(WireFrame { bytes: frame.clone(), gap: 0, bad: false });
                    }
                    Ok(over.get().then_some(()))
                };
                server.until(flooding).await
            }));
        }
        self.bench.run(programs)?;
        self.bench.idle(PATIENCE);
        self.wanted.push((place, message));
        Ok(time.get() as f64)
    }

    /// Compares the server's memory.
    fn check(&self) -> Result<()> {
        let got = self.hosts[SERVER].read(self.memory, MEMORY)?;
        self.bench.expect("the server's memory", &got, &model::memory(&self.wanted))
    }
}

/// The header of a put of a message to a place.
fn header(place: usize) -> SpindleHeader {
    let header = SpindleHeader {
        src_pid: PROCESS as u16,
        dst_pid: PROCESS as u16,
        addr: ADDRESS,
        msg_id: 0xBAD,
        msg_len: MESSAGE as u32,
        payload_len: MESSAGE as u16,
        ..SpindleHeader::default()
    };
    at(header, place)
}

fn at(header: SpindleHeader, place: usize) -> SpindleHeader {
    SpindleHeader { buf_off: (place * PLACE) as u32, ..header }
}
