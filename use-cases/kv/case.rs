//! A key-value store over UDP: answered by the server's NIC from context memory, or by its host.

mod model;

use crate::bench::{Bench, Host, Node, Program, Setting};
use crate::case::{value, Broken, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use anyhow::{ensure, Context, Result};
use model::{Event, Operation, Request, Store, HEADER, VALUE};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::frames::Frames;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use spindle_contract::params::BEAT_BYTES;
use spindle_model::frames::{udp, Ends, UDP_HEADERS};
use spindle_sim::{address, WireFrame};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("kv.c", include_str!("handlers/kv.c"))];
const MODES: &[Mode] = &[
    Mode { name: "spin", about: "a handler answers each frame from a hash table in context memory" },
    Mode { name: "spin32", about: "the same on a NIC with 32 processors (configuration `alveo32`)" },
    Mode { name: "host", about: "a process of the server takes each frame, looks the key up and sends the reply" },
];
/// Ports of client and server.
const PORTS: (u16, u16) = (4000, 11211);
/// Keys, and the exponent of their popularity.
const KEYS: usize = 128;
const ZIPF: f64 = 0.99;
/// Requests one after another whose latencies are measured, requests at saturation, and how many of these are under way.
const ALONE: usize = 24;
const MANY: usize = 1200;
const WINDOW: usize = 128;
/// Requests that are under way while the store is filled and the NIC is warmed.
const FEW: usize = 48;
/// Process of the server's frames.
const FRAMES: usize = 1;

/// The case.
pub const CASE: Case = Case {
    name: "kv",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    match mode {
        "spin32" => serve(&setting.on("alveo32")?, true, point),
        _ => serve(setting, mode == "spin", point),
    }
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (host, ending) in HOSTS {
        for mode in MODES {
            for name in ["get_ns", "turn_ns", "mops"] {
                if let Some(value) = value(rows, mode.name, host, 95, name) {
                    figures.push((format!("{name}_{}{ending}", mode.name), value));
                }
            }
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "spin",
        "a GET has the value before the last",
        "kv.c",
        "(uint32_t)values[at][version & 1]",
        "(uint32_t)values[at][~version & 1]",
    ),
    Broken::new("spin", "a GET never believes its copy", "kv.c", "entry->rest == rest", "entry->rest != rest"),
    Broken::new("spin", "a CAS always stores", "kv.c", "!compare ||", "true ||"),
    Broken::new("spin", "a change is not published", "kv.c", "wanted | next(version)", "version ? rest : wanted | 1"),
    Broken::new(
        "spin",
        "only the low half of the key counts",
        "kv.c",
        "hash(low, spin_load32(m->key[1]))",
        "hash(low, 0)",
    ),
    Broken::new("spin", "a SET of any length is taken", "kv.c", "h->payload_len != sizeof *m + VALUE ||", "false ||"),
];

/// Fills a store of the server, asks one after another, then many at a time, so many percent of them GET.
fn serve(setting: &Setting, by_nic: bool, point: u64) -> Result<Measured> {
    let bench = setting.bench(2)?;
    let server = bench.host(0);
    let mut process = None;
    if by_nic {
        let handler = bench.compile(HANDLERS, "kv.c")?;
        let rule = format!("udp.dport == {}", PORTS.1);
        server.install(&handler.image, &rule, &ContextOptions::default(), Action::ContextPerMessage)?;
    } else {
        let frames = server.nic(|nic| -> Result<_> {
            let frames = nic.open_frames(FRAMES, 4, 65536)?;
            nic.frames_to_host(Some(frames.window()), true)?;
            Ok(frames)
        })?;
        process =
            Some(Process(Rc::new(RefCell::new(State { frames, waiting: VecDeque::new(), table: HashMap::new() }))));
    }
    server.nic(|nic| nic.set_receive(true))?;
    server.nic(|nic| nic.memory.network().clone()).keep_received();
    let client = Client { bench: &bench, server, client: bench.host(1), process };
    let mut store = Store::default();
    let mut random = ChaCha8Rng::seed_from_u64(point);

    // Every key is set once, and has another value than keys that differ from it in one half.
    let mut keys: Vec<u64> = (0..KEYS as u64 / 2).map(|_| random.random()).collect();
    keys.extend(keys.clone().iter().map(|key| key ^ 0xA5A5_0000_0000));
    let of_all = |operation: fn(u64) -> Operation| -> Vec<Request> {
        let request = |(i, key): (usize, &u64)| Request { id: i as u32, key: *key, operation: operation(*key) };
        keys.iter().enumerate().map(request).collect()
    };
    for requests in [of_all(|key| Operation::Set(model::value(key))), of_all(|_| Operation::Get)] {
        let asked = client.ask(&requests, FEW)?;
        for (request, reply) in requests.iter().zip(&asked.replies) {
            bench.expect(&format!("the reply to {request:?}"), reply, &store.answer(request))?;
        }
    }
    // Nothing comes of what is no request.
    let malformed = model::malformed(keys[0]);
    client.send(&malformed)?;
    bench.storm_of_frames(
        client.server.number(),
        &malformed.iter().map(|payload| client.frame(payload).bytes).collect::<Vec<_>>(),
    )?;

    // One after another, also such that fail.
    let alone: Vec<Request> = (0..ALONE as u32).map(|i| one(i, &keys)).collect();
    let asked = client.ask(&alone, 1)?;
    let mut latencies = Vec::new();
    for (i, request) in alone.iter().enumerate() {
        bench.expect(&format!("the reply to {request:?}"), &asked.replies[i], &store.answer(request))?;
        if asked.replies[i].len() == HEADER + VALUE {
            latencies.push(asked.cycles[i]);
        }
    }

    // Many at a time.
    let weights: Vec<f64> = (1..=KEYS).map(|rank| (rank as f64).powf(-ZIPF)).collect();
    let total: f64 = weights.iter().sum();
    let mut many = Vec::new();
    for i in 0..MANY {
        let mut at = random.random_range(0.0..total);
        let past = |weight: &f64| {
            at -= weight;
            at < 0.0
        };
        let rank = weights.iter().position(past).unwrap_or(0);
        let get = random.random_range(0..100) < point;
        let operation = if get { Operation::Get } else { Operation::Set(model::value(5000 + i as u64)) };
        many.push(Request { id: i as u32, key: keys[rank], operation });
    }
    let asked = client.ask(&many, WINDOW)?;
    for (i, may) in store.answers(&asked.events(&many)).iter().enumerate() {
        let reply = &asked.replies[i];
        let wanted = may.iter().find(|may| *may == reply).unwrap_or(&may[0]);
        bench.expect(&format!("the reply to {:?}", many[i]), reply, wanted)?;
    }

    latencies.sort_unstable();
    let median = *latencies.get(latencies.len() / 2).context("no GET found its key")? as f64;
    let wire = 2.0 * client.latency() as f64;
    let rate = f64::from(setting.config.clock_mhz) / asked.spacing;
    Measured::new(&bench, [("get_ns", setting.ns(median + wire)), ("turn_ns", setting.ns(median)), ("mops", rate)])
}

/// Number `i` of the requests that come one after another.
fn one(i: u32, keys: &[u64]) -> Request {
    let key = keys[i as usize % 4];
    let word = |value: &[u8]| u32::from_le_bytes([value[0], value[1], value[2], value[3]]);
    let operation = match i % 12 {
        3 => Operation::Set(model::value(u64::from(i))),
        5 => Operation::Cas(word(&model::value(keys[1])), model::value(1000 + u64::from(i))),
        6 => Operation::Cas(0x1234_5678, model::value(2000)),
        _ => Operation::Get,
    };
    Request { id: i, key: if i % 12 == 8 { !key } else { key }, operation }
}

/// What came of requests.
struct Asked {
    /// Payloads of the replies, in the order of the requests.
    replies: Vec<Vec<u8>>,
    /// First beat in to first beat out, in the order of the requests; meaningful for requests that are alone.
    cycles: Vec<u64>,
    /// Cycles of arrival of requests at the server, and of their replies at the client.
    times: Vec<(u64, u64)>,
    /// Mean cycles between replies, without the first and the last quarter.
    spacing: f64,
}

impl Asked {
    fn events(&self, requests: &[Request]) -> Vec<Event> {
        let event = |(request, (start, end)): (&Request, &(u64, u64))| Event {
            request: request.clone(),
            start: *start,
            end: *end,
        };
        requests.iter().zip(&self.times).map(event).collect()
    }
}

/// The client: a source of frames at the server's wire, and the NIC of node 1, where the replies arrive.
struct Client<'a> {
    bench: &'a Bench,
    server: Host,
    client: Host,
    process: Option<Process>,
}

/// Takes the cycles in which frames arrived.
fn arrivals(nic: &mut Node) -> Vec<u64> {
    nic.memory.card().sim().take_arrivals()
}

impl Client<'_> {
    /// Cycles of the wire, one way.
    fn latency(&self) -> u64 {
        let setting = self.bench.setting();
        setting.cycles(setting.costs.wire[&setting.wire].ns)
    }

    fn frame(&self, payload: &[u8]) -> WireFrame {
        let (here, there) = (address(1), address(0));
        let ends = Ends { src_mac: here.mac, dst_mac: there.mac, src_ip: here.ip, dst_ip: there.ip, vlan: None };
        WireFrame { bytes: udp(&ends, PORTS.0, PORTS.1, payload), gap: 0, bad: false }
    }

    /// The program of the server's process for so many frames, if there is one.
    fn process(&self, count: usize) -> Vec<Program> {
        self.process.iter().map(|process| process.clone().program(self.server.clone(), count)).collect()
    }

    /// Sends payloads that must have no reply.
    fn send(&self, payloads: &[Vec<u8>]) -> Result<()> {
        for payload in payloads {
            self.server.nic(|nic| nic.memory.card().sim().inject(self.frame(payload)));
        }
        self.bench.run(self.process(payloads.len()))?;
        self.bench.idle(2000);
        let replies = self.server.nic(|nic| nic.memory.network().clone()).take_received(1);
        ensure!(replies.is_empty(), "{} payloads that are no requests have replies", replies.len());
        Ok(())
    }

    /// Sends all requests, so many at a time, and waits for all replies.
    fn ask(&self, requests: &[Request], at_once: usize) -> Result<Asked> {
        let frames: Vec<WireFrame> = requests.iter().map(|request| self.frame(&request.bytes())).collect();
        let count = frames.len();
        let network = self.server.nic(|nic| nic.memory.network().clone());
        ensure!(network.take_received(1).is_empty(), "there are replies before there are requests");
        self.client.nic(arrivals);
        self.server.nic(arrivals);
        let ends: Rc<RefCell<Vec<u64>>> = Rc::default();
        let limit = self.bench.now() + 2000 + 400 * count as u64;
        let (server, client, seen) = (self.server.clone(), self.client.clone(), ends.clone());
        let asking: Program = Box::pin(async move {
            let mut frames = frames.into_iter();
            while seen.borrow().len() < count {
                let due = (seen.borrow().len() + at_once).min(count);
                while frames.len() > count - due {
                    let Some(frame) = frames.next() else { break };
                    server.nic(|nic| nic.memory.card().sim().inject(frame));
                }
                let before = seen.borrow().len();
                client
                    .until(|nic| {
                        seen.borrow_mut().extend(arrivals(nic));
                        let (cycle, answered) = (nic.memory.card().sim().cycle(), seen.borrow().len());
                        ensure!(cycle < limit, "{answered} of {count} requests were answered in time");
                        Ok((answered > before).then_some(()))
                    })
                    .await?;
            }
            Ok(())
        });
        let mut programs = vec![asking];
        programs.extend(self.process(count));
        self.bench.run(programs)?;
        let (starts, ends) = (self.server.nic(arrivals), ends.borrow());
        let mut asked = Asked {
            replies: vec![Vec::new(); count],
            cycles: vec![0; count],
            times: vec![(0, 0); count],
            spacing: (ends[count * 3 / 4] - ends[count / 4]) as f64 / (count * 3 / 4 - count / 4) as f64,
        };
        let (here, there) = (address(1), address(0));
        let back = Ends { src_mac: there.mac, dst_mac: here.mac, src_ip: there.ip, dst_ip: here.ip, vlan: None };
        for (frame, end) in network.take_received(1).into_iter().zip(ends.iter()) {
            ensure!(frame.len() >= UDP_HEADERS + HEADER, "a frame of {} bytes is no reply", frame.len());
            let payload = frame[UDP_HEADERS..].to_vec();
            // Addresses, ports, lengths and checksums are those of the reply.
            self.bench.expect("the headers of a reply", &frame, &udp(&back, PORTS.1, PORTS.0, &payload))?;
            let id = u32::from_le_bytes([payload[2], payload[3], payload[4], payload[5]]) as usize;
            ensure!(id < count && asked.replies[id].is_empty(), "a reply to request {id}, which has none due");
            let sent = self.latency() + frame.len().div_ceil(BEAT_BYTES) as u64 - 1;
            asked.cycles[id] = (end - sent).saturating_sub(starts[id]);
            asked.times[id] = (starts[id], *end);
            asked.replies[id] = payload;
        }
        Ok(asked)
    }
}

/// The process that answers.
#[derive(Clone)]
struct Process(Rc<RefCell<State>>);

/// Its frames, those received and not yet answered, and its table.
struct State {
    frames: Frames,
    waiting: VecDeque<Vec<u8>>,
    table: HashMap<u64, Vec<u8>>,
}

impl State {
    /// Takes the frames that are there.
    fn receive(&mut self, nic: &mut Node) -> Result<()> {
        while let Some(frame) = nic.receive_frame(&mut self.frames)? {
            self.waiting.push_back(frame.bytes);
        }
        Ok(())
    }
}

impl Process {
    /// Takes so many frames, and answers those that are requests. A frame costs the overhead of a message taken and of one sent, and a
    /// copy of the value.
    #[expect(clippy::await_holding_refcell_ref, reason = "only one program answers at a time")]
    fn program(self, host: Host, count: usize) -> Program {
        Box::pin(async move {
            let mut state = self.0.borrow_mut();
            for _ in 0..count {
                let next = |nic: &mut Node| {
                    state.receive(nic)?;
                    Ok(state.waiting.pop_front())
                };
                let request = host.until(next).await?;
                host.overhead().await;
                let Some(answer) = answer(&mut state.table, &request[UDP_HEADERS..]) else { continue };
                host.work(Work::Copy, VALUE).await;
                let (here, there) = (address(0), address(1));
                let ends =
                    Ends { src_mac: here.mac, dst_mac: there.mac, src_ip: here.ip, dst_ip: there.ip, vlan: None };
                let reply = udp(&ends, PORTS.1, PORTS.0, &answer);
                host.overhead().await;
                // There is room for frames when the events of frames that the card has read are seen.
                let send = |nic: &mut Node| {
                    state.receive(nic)?;
                    Ok(nic.send_frame(&mut state.frames, &reply, None)?.then_some(()))
                };
                host.until(send).await?;
            }
            Ok(())
        })
    }
}

/// The process' answer to a payload.
fn answer(table: &mut HashMap<u64, Vec<u8>>, payload: &[u8]) -> Option<Vec<u8>> {
    let (header, new) = (payload.get(..HEADER)?, payload.get(HEADER..)?);
    let mut answer = header.to_vec();
    let key = u64::from_le_bytes(header[6..14].try_into().ok()?);
    let done = match (payload[0], new.len()) {
        (1, 0) => table.get(&key).map(|value| answer.extend(value)).is_some(),
        (2, VALUE) => {
            table.insert(key, new.to_vec());
            true
        }
        (3, VALUE) => {
            let present = table.get_mut(&key).filter(|value| value[..4] == header[14..18]);
            present.map(|value| value.copy_from_slice(new)).is_some()
        }
        _ => return None,
    };
    answer[1] = u8::from(!done);
    Some(answer)
}
