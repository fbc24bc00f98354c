//! Writes to storage nodes with a policy: a capability that is checked, or copies on three nodes.

pub(crate) mod model;

use crate::bench::{window_of, Bench, Host, Landing, Program, Setting};
use crate::case::{ratios, Broken, Case, Measured, Mode, Row};
use crate::cost::Work;
use anyhow::Result;
use spindle::rule_table::Action;
use spindle::{ContextOptions, Target};
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[
    ("auth.c", include_str!("handlers/auth.c")),
    ("copy.c", include_str!("handlers/copy.c")),
    ("tags.h", include_str!("handlers/tags.h")),
];
const MODES: &[Mode] = &[
    Mode { name: "auth-host", about: "the storage node's host checks the capability of a write and copies its data" },
    Mode {
        name: "auth-asks",
        about: "the client puts the capability alone; when the host has checked it, the client puts the data to their place",
    },
    Mode { name: "auth", about: "a header handler checks the capability, by SipHash; the NIC places the write" },
    Mode { name: "auth-chaskey", about: "the same with Chaskey-12, a code for processors of 32 bits" },
    Mode { name: "ring-host", about: "hosts put a write that is complete to the next of three nodes" },
    Mode { name: "ring", about: "handlers put each packet to the next of three nodes" },
    Mode { name: "tree-host", about: "the host of the first node puts a write that is complete to two others" },
    Mode { name: "tree", about: "handlers of the first node put each packet to two others" },
];
/// Writes that the client has outstanding when bandwidth is measured.
const WRITES: usize = 8;
/// Copies of a write.
const COPIES: usize = 3;
/// Bytes of a capability with its tag, in front of the data.
const HEADER: usize = 64;
/// Bytes of an acknowledgement.
const ACK: usize = 8;
/// Address of the client's window for write 0, and of the storage nodes'.
const ACKS: u64 = 0x100;
const STORE: u64 = 0x200;
/// Addresses of the windows of data that the host has allowed, and of the client's for that.
const DATA: u64 = 0x300;
const GRANTS: u64 = 0x400;
/// Key of the tags.
const SECRET: [u32; 4] = [0x0123_4567, 0x89ab_cdef, 0x0246_8ace, 0x1357_9bdf];

/// The case.
pub const CASE: Case = Case {
    name: "storage",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let policy = Policy {
        auth: mode.starts_with("auth"),
        by_host: mode.ends_with("-host") || mode == "auth-asks",
        asks: mode == "auth-asks",
        tree: mode.starts_with("tree"),
        tag: if mode == "auth-chaskey" { model::chaskey } else { model::siphash },
        chaskey: mode == "auth-chaskey",
    };
    let bench = setting.bench(1 + policy.copies())?;
    let mut store = Store::new(&bench, policy, point as usize)?;
    // Handlers run on cold processors at first: two packets for each of the 16 HPUs.
    for _ in 0..if setting.small() { 0 } else { 32usize.div_ceil(WRITES * (point as usize).div_ceil(1408)) } {
        store.round(WRITES, None)?;
    }
    let together = store.round(WRITES, None)?;
    let single = store.round(1, None)?;
    if policy.auth {
        store.round(2, Some(0))?;
    }
    let rate = 8.0 * (WRITES * point as usize) as f64 / setting.ns(together as f64);
    Measured::new(&bench, [("latency_ns", setting.ns(single as f64)), ("gb_per_s", rate)])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (nic, by_host, key) in [
        ("auth", "auth-host", "auth"),
        ("auth-chaskey", "auth-host", "chaskey"),
        ("auth-chaskey", "auth-asks", "chaskey_over_asks"),
        ("ring", "ring-host", "ring"),
        ("tree", "tree-host", "tree"),
    ] {
        let sizes = [(1024, "1k"), (16384, "16k"), (65536, "64k")];
        figures.extend(ratios(rows, "latency_ns", &sizes, &[(by_host, nic, &format!("{key}_latency"))]));
        figures.extend(ratios(rows, "gb_per_s", &sizes, &[(nic, by_host, &format!("{key}_bandwidth"))]));
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new("auth", "half of the tag is not compared", "auth.c", "((uint32_t)tag ^ request->tag[0]) | ", ""),
    Broken::new("auth", "a write is acknowledged as another", "auth.c", "ack[0] = write;", "ack[0] = 9;"),
    Broken::new("auth-chaskey", "the last block is not masked", "tags.h", "a ^= words[4] ^ last[0];", "a ^= words[4];"),
    Broken::new(
        "ring",
        "a byte is not written",
        "copy.c",
        "spin_dma_to_host(offset, spin_payload(p), length);",
        "spin_dma_to_host(offset, spin_payload(p), length - 1);",
    ),
    Broken::new(
        "tree",
        "both copies go to one node",
        "copy.c",
        "here->next[i];\n        to.",
        "here->next[0];\n        to.",
    ),
];

/// What is done with a write, and by whom.
#[derive(Clone, Copy)]
struct Policy {
    auth: bool,
    by_host: bool,
    /// The client asks before it puts data.
    asks: bool,
    tree: bool,
    /// The tag of a capability.
    tag: fn([u32; 4], &[u8]) -> [u8; 8],
    chaskey: bool,
}

impl Policy {
    fn copies(self) -> usize {
        if self.auth {
            1
        } else {
            COPIES
        }
    }

    /// Copies that are acknowledged: handlers acknowledge each, and so do the leaves of a tree of hosts; the last host of a ring all.
    fn acks(self) -> usize {
        match (self.by_host, self.tree) {
            (false, _) => self.copies(),
            (true, true) => COPIES - 1,
            (true, false) => 1,
        }
    }

    /// Nodes to which a node passes a write on.
    fn next(self, node: usize) -> Vec<usize> {
        match (self.auth, self.tree) {
            (false, false) if node < COPIES => vec![node + 1],
            (false, true) if node == 1 => (2..=COPIES).collect(),
            _ => Vec::new(),
        }
    }

    fn header(self) -> usize {
        if self.auth {
            HEADER
        } else {
            0
        }
    }
}

/// Client, storage nodes, and what the model knows of them.
struct Store<'a> {
    bench: &'a Bench,
    hosts: Vec<Host>,
    policy: Policy,
    /// Bytes of data of a write.
    bytes: usize,
    /// Bytes from a place to the next in a node's memory, a power of two.
    place: usize,
    round: usize,
    /// Messages of the client.
    from: u64,
    /// Address of the places of each storage node.
    places: Vec<u64>,
    acks: Vec<Landing>,
    /// Storage nodes and writes: messages that the hosts take. Empty if handlers do.
    arrived: Vec<Vec<Landing>>,
    /// Writes: data that come after the host has allowed them, and the client's windows for that permission. Empty if it does not ask.
    allowed: Vec<(Landing, Landing)>,
    /// The model's memory of each storage node.
    stored: Vec<u8>,
}

impl<'a> Store<'a> {
    fn new(bench: &'a Bench, policy: Policy, bytes: usize) -> Result<Self> {
        let hosts = bench.hosts();
        let place = (policy.header() + bytes).next_power_of_two();
        let from = hosts[0].alloc(WRITES * place)?;
        let places: Vec<u64> = hosts[1..].iter().map(|host| host.alloc(WRITES * place)).collect::<Result<_>>()?;
        let acks = (0..WRITES)
            .map(|write| Landing::new(&hosts[0], ACKS + write as u64, policy.acks() * ACK))
            .collect::<Result<_>>()?;
        let stored = vec![0; WRITES * place];
        let (arrived, allowed) = (Vec::new(), Vec::new());
        let mut store =
            Store { bench, hosts, policy, bytes, place, round: 0, from, places, acks, arrived, allowed, stored };
        if policy.asks {
            for write in 0..WRITES as u64 {
                let mut data = Landing::new(&store.hosts[1], DATA + write, bytes)?;
                data.posted.buffer = store.at(1, write as usize);
                store.allowed.push((data, Landing::new(&store.hosts[0], GRANTS + write, ACK)?));
            }
        }
        for node in 1..store.hosts.len() {
            match policy.by_host {
                true => store.open(node)?,
                false => store.install(node)?,
            }
        }
        store.hosts.iter().try_for_each(Host::listen)?;
        if policy.auth && !policy.by_host {
            let forged = |write: usize| {
                let header = model::header(policy.tag, SECRET, write * place, policy.header() + bytes, write, true);
                [header, model::data(bytes, write, 0)].concat()
            };
            bench.storm(0, 1, STORE, &(0..WRITES).map(forged).collect::<Vec<_>>())?;
        }
        Ok(store)
    }

    /// Windows in which a host takes writes: of a ring where they stay.
    fn open(&mut self, node: usize) -> Result<()> {
        let data = if self.policy.asks { 0 } else { self.bytes };
        let (host, size) = (&self.hosts[node], self.policy.header() + data);
        let landings = (0..WRITES).map(|write| {
            let mut landing = Landing::new(host, STORE + write as u64, size)?;
            if !self.policy.auth {
                landing.posted.buffer = self.at(node, write);
            }
            Ok(landing)
        });
        let landings = landings.collect::<Result<_>>()?;
        self.arrived.push(landings);
        Ok(())
    }

    fn install(&self, node: usize) -> Result<()> {
        let (host, auth) = (&self.hosts[node], self.policy.auth);
        let handler = self.bench.compile(HANDLERS, if auth { "auth.c" } else { "copy.c" })?;
        let size = (WRITES * self.place) as u32;
        let options = ContextOptions { host_region: Some((self.places[node - 1], size)), ..ContextOptions::default() };
        let context = host.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
        host.set_target(context, &handler, "client", &window_of(0, ACKS, (node - 1) * ACK))?;
        host.set_word(context, &handler, "place_log", self.place.ilog2())?;
        if auth {
            host.set_words(context, &handler, "key", &SECRET)?;
            host.set_word(context, &handler, "chaskey", self.policy.chaskey.into())?;
            host.endless_window(STORE, self.places[0], size as usize)?;
        } else {
            let next = self.policy.next(node);
            host.set_word(context, &handler, "children", next.len() as u32)?;
            let targets: Vec<u32> = next.iter().flat_map(|next| target_words(&window_of(*next, STORE, 0))).collect();
            host.set_words(context, &handler, "next", &targets)?;
        }
        Ok(())
    }

    /// Address of a write in a storage node.
    fn at(&self, node: usize, write: usize) -> u64 {
        self.places[node - 1] + (write * self.place) as u64
    }

    /// So many writes at once, one of them perhaps with a forged capability: cycles from the client's first put to its last completion.
    /// All memories are compared. The buffer for a forged write's acknowledgement stays posted: such a round is the last.
    fn round(&mut self, writes: usize, forged: Option<usize>) -> Result<u64> {
        const QUIET: u64 = 600;
        self.round += 1;
        let (client, size) = (self.hosts[0].clone(), self.policy.header() + self.bytes);
        let mut puts = Vec::new();
        for write in 0..writes {
            self.acks[write].post(&client)?;
            client.write(self.acks[write].posted.buffer, &vec![0; self.policy.acks() * ACK])?;
            let offset = write * self.place;
            let mut message = match self.policy.auth {
                true => {
                    let serial = write + self.round * WRITES;
                    model::header(self.policy.tag, SECRET, offset, size, serial, forged == Some(write))
                }
                false => Vec::new(),
            };
            message.extend(model::data(self.bytes, write, self.round));
            client.write(self.from + offset as u64, &message)?;
            if forged != Some(write) {
                // The host keeps the data alone; the NIC places what has arrived.
                let kept = if self.policy.by_host { &message[self.policy.header()..] } else { &message[..] };
                self.stored[offset..offset + kept.len()].copy_from_slice(kept);
            }
            let target = match self.policy.by_host {
                true => window_of(1, STORE + write as u64, 0),
                false => window_of(1, STORE, offset),
            };
            puts.push((self.from + offset as u64, if self.policy.asks { HEADER } else { size }, target));
        }
        for (data, grant) in self.allowed.iter().take(writes) {
            data.post(&self.hosts[1])?;
            grant.post(&client)?;
        }
        for (node, landings) in self.arrived.iter().enumerate() {
            landings[..writes].iter().try_for_each(|landing| landing.post(&self.hosts[node + 1]))?;
        }
        self.bench.idle(QUIET);
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let (acks, seen) = (self.acks.clone(), end.clone());
        let (allowed, bytes) = (self.allowed.clone(), self.bytes);
        let mut programs: Vec<Program> = vec![Box::pin(async move {
            // One doorbell for all: a host that has eight writes ready.
            client.put_all(&puts).await?;
            for (write, (_, grant)) in allowed.iter().take(puts.len()).enumerate() {
                if forged != Some(write) {
                    client.record(&grant.posted).await?;
                    client.put(puts[write].0 + HEADER as u64, bytes, &window_of(1, DATA + write as u64, 0)).await?;
                }
            }
            for (write, ack) in acks[..puts.len()].iter().enumerate() {
                if forged != Some(write) {
                    client.record(&ack.posted).await?;
                }
            }
            seen.set(client.now());
            Ok(())
        })];
        if self.policy.by_host {
            programs.extend((1..self.hosts.len()).map(|node| self.server(node, writes)));
        }
        self.bench.run(programs)?;
        self.bench.idle(QUIET);
        for node in 1..self.hosts.len() {
            let got = self.hosts[node].read(self.places[node - 1], WRITES * self.place)?;
            self.bench.expect(&format!("storage node {node}"), &got, &self.stored)?;
        }
        for write in 0..writes {
            let wanted = match forged == Some(write) {
                true => vec![0; self.policy.acks() * ACK],
                false => model::acknowledgement(write, size).repeat(self.policy.acks()),
            };
            let got = self.hosts[0].read(self.acks[write].posted.buffer, wanted.len())?;
            self.bench.expect("the acknowledgements", &got, &wanted)?;
        }
        Ok(end.get() - start)
    }

    /// The program of a storage node's host. With capabilities it checks and copies each write; in a ring it puts it on, or, at the end,
    /// acknowledges it.
    fn server(&self, node: usize, writes: usize) -> Program {
        let (host, policy, bytes) = (self.hosts[node].clone(), self.policy, self.bytes);
        let (landings, allowed) = (self.arrived[node - 1].clone(), self.allowed.clone());
        let places: Vec<u64> = (0..WRITES).map(|write| self.at(node, write)).collect();
        let place_of_ack = if policy.tree { node - 2.min(node) } else { 0 };
        let size = (policy.header() + bytes) as u32;
        let message = move |write: usize| [(write as u32).to_le_bytes(), size.to_le_bytes()].concat();
        Box::pin(async move {
            let acks = host.alloc(WRITES * ACK)?;
            let mut granted = Vec::new();
            for (write, landing) in landings[..writes].iter().enumerate() {
                let from = acks + (write * ACK) as u64;
                host.record(&landing.posted).await?;
                if policy.auth {
                    let data = if policy.asks { 0 } else { bytes };
                    let message = host.read(landing.posted.buffer, HEADER + data)?;
                    host.check().await;
                    if (policy.tag)(SECRET, &message[..32]) != message[32..40] {
                        continue;
                    }
                    host.work(Work::Copy, data).await;
                    host.write(places[write], &message[HEADER..])?;
                }
                let next = policy.next(node);
                if !next.is_empty() {
                    let target = |next: &usize| (places[write], bytes, window_of(*next, STORE + write as u64, 0));
                    host.put_all(&next.iter().map(target).collect::<Vec<_>>()).await?;
                    continue;
                }
                host.write(from, &message(write))?;
                if policy.asks {
                    host.put(from, ACK, &window_of(0, GRANTS + write as u64, 0)).await?;
                    granted.push(write);
                } else {
                    host.put(from, ACK, &window_of(0, ACKS + write as u64, place_of_ack * ACK)).await?;
                }
            }
            for write in granted {
                host.record(&allowed[write].0.posted).await?;
                host.put(acks + (write * ACK) as u64, ACK, &window_of(0, ACKS + write as u64, 0)).await?;
            }
            Ok(())
        })
    }
}

/// The words of a handler's `spin_target_t`.
fn target_words(to: &Target) -> [u32; 6] {
    [to.node.into(), to.process.into(), to.address as u32, (to.address >> 32) as u32, to.key, to.offset]
}
