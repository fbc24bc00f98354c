//! Erasure coding on storage nodes: a write to k data nodes, and m sums of products in GF(2^8) on the parity nodes.

mod model;

use crate::bench::{window_of, Bench, Host, Landing, Program, Setting};
use crate::case::{value, Broken, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use crate::rates::multiply_add;
use anyhow::Result;
use spindle::rule_table::Action;
use spindle::{ContextOptions, Target};
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] =
    &[("data.c", include_str!("handlers/data.c")), ("parity.c", include_str!("handlers/parity.c"))];
const MODES: &[Mode] = &[
    Mode {
        name: "rs32",
        about: "RS(3,2): handlers put each packet to two parity nodes, whose handlers multiply and add",
    },
    Mode { name: "rs32-host", about: "the same by hosts: a chunk that is complete is put on, multiplied and added" },
    Mode { name: "rs63", about: "RS(6,3) by handlers" },
    Mode { name: "rs63-host", about: "RS(6,3) by hosts" },
];
/// Writes that the client has outstanding when bandwidth is measured.
const WRITES: usize = 8;
/// Address of the client's window for write 0, and of the data nodes' and the parity nodes'.
const ACKS: u64 = 0x100;
const CHUNKS: u64 = 0x200;
const PARTS: u64 = 0x300;
/// Bytes of a packet at most.
const PIECE: usize = 1408;
/// Bytes that the client puts to one data node after another: a put of a single packet takes longer than its packet.
const PART: usize = 2 * PIECE;
/// Bytes of an acknowledgement.
const ACK: usize = 8;
/// Place of the data node's number in the offset of a contribution.
const SOURCE_SHIFT: u32 = 24;
/// A chunk is a multiple of this.
const UNIT: usize = 64;
/// Packets that warm each NIC: two for each of 16 HPUs, or those of two rounds.
const WARM: usize = 32;
/// Cycles after which the NICs are idle.
const QUIET: u64 = 600;

/// The case.
pub const CASE: Case = Case {
    name: "erasure",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    // On the small NIC, which tests use, the codes are smaller, and nothing warms the NICs: their preparation is most of the time.
    let small = setting.small();
    let (data, parity) = match (mode.starts_with("rs32"), small) {
        (true, false) => (3, 2),
        (false, false) => (6, 3),
        (true, true) => (2, 2),
        (false, true) => (3, 1),
    };
    let bench = setting.bench(1 + data + parity)?;
    // The write is filled up to chunks of whole units.
    let chunk = (point as usize).div_ceil(data).next_multiple_of(UNIT);
    let mut stripes = Stripes::new(&bench, !mode.ends_with("-host"), data, parity, chunk)?;
    stripes.malformed()?;
    for _ in 0..if small { 0 } else { WARM.div_ceil(WRITES * chunk.div_ceil(PIECE)).min(2) } {
        stripes.round(WRITES)?;
    }
    let together = stripes.round(WRITES)?;
    let single = stripes.round(1)?;
    let rate = 8.0 * (WRITES * point as usize) as f64 / setting.ns(together as f64);
    Measured::new(&bench, [("latency_ns", setting.ns(single as f64)), ("gb_per_s", rate)])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (host, name) in HOSTS {
        for (size, text) in [(1024, "1k"), (4096, "4k"), (16384, "16k"), (65536, "64k")] {
            for (own, by_host) in [("rs32", "rs32-host"), ("rs63", "rs63-host")] {
                let get = |mode, what| value(rows, mode, host, size, what);
                if let (Some(nic), Some(base)) = (get(own, "latency_ns"), get(by_host, "latency_ns")) {
                    figures.push((format!("{own}_latency_{text}{name}"), base / nic));
                }
                if let (Some(nic), Some(base)) = (get(own, "gb_per_s"), get(by_host, "gb_per_s")) {
                    figures.push((format!("{own}_bandwidth_{text}{name}"), nic / base));
                }
            }
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "rs32",
        "all parity nodes are the first",
        "data.c",
        "spin_target_t to = here->parity[i];",
        "spin_target_t to = here->parity[0];",
    ),
    Broken::new(
        "rs32",
        "a byte is not written",
        "data.c",
        "spin_dma_to_host(offset, spin_payload(p), length);",
        "spin_dma_to_host(offset, spin_payload(p), length - 1);",
    ),
    Broken::new(
        "rs32",
        "all coefficients are that of the first data node",
        "parity.c",
        "spin_combine(spin_gf((uint8_t)here->coefficients[source]), slot_of",
        "spin_combine(spin_gf((uint8_t)here->coefficients[0]), slot_of",
    ),
    Broken::new(
        "rs63",
        "a slot keeps the sum of the write before",
        "parity.c",
        "spin_combine(SPIN_XOR, bytes, bytes, length);",
        "",
    ),
    Broken::new(
        "rs63",
        "a sum is written before its last contribution has come",
        "parity.c",
        "ADDED + 1 == here->nodes",
        "ADDED + 2 == here->nodes",
    ),
];

/// The hosts, their memories and what the model knows of them. Node 0 is the client; data nodes follow, then parity nodes.
struct Stripes<'a> {
    bench: &'a Bench,
    hosts: Vec<Host>,
    spin: bool,
    data: usize,
    parity: usize,
    chunk: usize,
    /// Bytes from a chunk to the next in a node's memory, a power of two.
    place: usize,
    /// Contexts of a parity node, one for each cluster, and the acknowledgements of a write that come of them.
    contexts: usize,
    classes: usize,
    coefficients: Vec<Vec<u8>>,
    round: usize,
    /// Chunks of the client, by write and data node.
    from: u64,
    /// Address of the places of each data and parity node.
    places: Vec<u64>,
    acks: Vec<Landing>,
    /// Data nodes and writes: chunks that the hosts take where they stay. Empty if handlers do.
    arrived: Vec<Vec<Landing>>,
    /// Parity nodes, data nodes and writes: chunks that the parity hosts take. Empty if handlers do.
    parts: Vec<Vec<Vec<Landing>>>,
    /// The model's data: nodes, then writes.
    stored: Vec<Vec<Vec<u8>>>,
}

impl<'a> Stripes<'a> {
    fn new(bench: &'a Bench, spin: bool, data: usize, parity: usize, chunk: usize) -> Result<Self> {
        let hosts = bench.hosts();
        let contexts = if spin { bench.setting().config.clusters } else { 1 };
        let classes = chunk.div_ceil(PIECE).min(contexts);
        let place = chunk.next_power_of_two();
        let from = hosts[0].alloc(WRITES * data * chunk)?;
        let places = hosts[1..].iter().map(|host| host.alloc(WRITES * place)).collect::<Result<_>>()?;
        let size = (data + parity * classes) * ACK;
        let acks =
            (0..WRITES as u64).map(|write| Landing::new(&hosts[0], ACKS + write, size)).collect::<Result<_>>()?;
        let (arrived, parts) = (Vec::new(), Vec::new());
        let (coefficients, stored) = (model::coefficients(data, parity), vec![vec![vec![0; chunk]; WRITES]; data]);
        let mut stripes = Stripes {
            bench,
            hosts,
            spin,
            data,
            parity,
            chunk,
            place,
            contexts,
            classes,
            coefficients,
            round: 0,
            from,
            places,
            acks,
            arrived,
            parts,
            stored,
        };
        match spin {
            true => bench.set_up(|| stripes.install())?,
            false => bench.set_up(|| stripes.open())?,
        }
        stripes.hosts.iter().try_for_each(Host::listen)?;
        Ok(stripes)
    }

    /// Node of a parity node.
    fn parity_node(&self, number: usize) -> usize {
        1 + self.data + number
    }

    /// Handlers of the data nodes and of the parity nodes.
    fn install(&self) -> Result<()> {
        let config = self.bench.setting().config;
        let region = |node: usize| Some((self.places[node - 1], (WRITES * self.place) as u32));
        let sizes = [("chunk", self.chunk as u32), ("place_log", self.place.ilog2())];
        let handler = self.bench.compile(HANDLERS, "data.c")?;
        for node in 1..=self.data {
            let host = &self.hosts[node];
            let options = ContextOptions { host_region: region(node), ..ContextOptions::default() };
            let context = host.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
            host.set_target(context, &handler, "client", &window_of(0, ACKS, (node - 1) * ACK))?;
            let source = (node - 1) << SOURCE_SHIFT;
            let target = |number| target_words(&window_of(self.parity_node(number), PARTS, source));
            host.set_words(context, &handler, "parity", &(0..self.parity).flat_map(target).collect::<Vec<_>>())?;
            host.set_word(context, &handler, "parities", self.parity as u32)?;
            host.set_word(context, &handler, "clusters", self.contexts as u32 - 1)?;
            sizes.iter().try_for_each(|(name, value)| host.set_word(context, &handler, name, *value))?;
        }
        let handler = self.bench.compile(HANDLERS, "parity.c")?;
        let share = |class| model::share(self.chunk, PIECE, class, self.contexts) as u32;
        let shares: Vec<u32> = (0..self.contexts).map(share).collect();
        for number in 0..self.parity {
            let host = &self.hosts[self.parity_node(number)];
            let coefficients: Vec<u32> = self.coefficients[number].iter().map(|c| u32::from(*c)).collect();
            for cluster in 0..self.contexts {
                let options = ContextOptions {
                    host_region: region(self.parity_node(number)),
                    scratch_bytes: Some(4096),
                    core_mask: ((1 << config.hpus) - 1) << (cluster * config.hpus),
                    ..ContextOptions::default()
                };
                let rule = format!("spindle && spindle.addr_lo == {}", PARTS + cluster as u64);
                let context = host.install(&handler.image, &rule, &options, Action::ContextPerMessage)?;
                let acks = (self.data + number * self.classes) * ACK;
                host.set_target(context, &handler, "client", &window_of(0, ACKS, acks))?;
                host.set_word(context, &handler, "nodes", self.data as u32)?;
                host.set_words(context, &handler, "coefficients", &coefficients)?;
                host.set_word(context, &handler, "clusters", self.contexts as u32 - 1)?;
                host.set_words(context, &handler, "shares", &shares)?;
                sizes.iter().try_for_each(|(name, value)| host.set_word(context, &handler, name, *value))?;
            }
        }
        Ok(())
    }

    /// Windows in which the hosts take chunks.
    fn open(&mut self) -> Result<()> {
        for node in 1..=self.data {
            let landing = |write: usize| -> Result<Landing> {
                let mut landing = Landing::new(&self.hosts[node], CHUNKS + write as u64, self.chunk)?;
                landing.posted.buffer = self.at(node, write);
                Ok(landing)
            };
            let landings = (0..WRITES).map(landing).collect::<Result<_>>()?;
            self.arrived.push(landings);
        }
        for number in 0..self.parity {
            let host = &self.hosts[self.parity_node(number)];
            let landing = |node: usize, write: usize| Landing::new(host, part(node, write), self.chunk);
            let of_node = |node: usize| (0..WRITES).map(|write| landing(node, write)).collect::<Result<Vec<_>>>();
            self.parts.push((0..self.data).map(of_node).collect::<Result<_>>()?);
        }
        Ok(())
    }

    /// Address of a write in a data or parity node.
    fn at(&self, node: usize, write: usize) -> u64 {
        self.places[node - 1] + (write * self.place) as u64
    }

    /// Where the client puts a chunk, from one of its bytes on.
    fn target(&self, write: usize, node: usize, at: usize) -> Target {
        match self.spin {
            true => window_of(node, CHUNKS, write * self.place + at),
            false => window_of(node, CHUNKS + write as u64, at),
        }
    }

    /// Messages that no handler may take: of a write and of a data node that do not exist, not at the start of a piece, over the end of a
    /// chunk.
    fn malformed(&self) -> Result<()> {
        if !self.spin {
            return Ok(());
        }
        let (client, parity) = (self.hosts[0].clone(), self.parity_node(0));
        client.write(self.from, &model::chunk(UNIT, 0, 0, 0))?;
        let last = (self.chunk - 1) / PIECE * PIECE;
        let over = self.chunk - last + 1;
        let offsets = [(UNIT, WRITES * self.place), (UNIT, UNIT), (over, last)];
        let mut puts: Vec<_> =
            offsets.iter().map(|(bytes, at)| (self.from, *bytes, window_of(1, CHUNKS, *at))).collect();
        puts.extend(offsets.iter().map(|(bytes, at)| (self.from, *bytes, window_of(parity, PARTS, *at))));
        puts.push((self.from, UNIT, window_of(parity, PARTS, self.data << SOURCE_SHIFT)));
        // A piece of more than a packet would be two.
        puts.retain(|(_, bytes, _)| *bytes <= PIECE);
        let program: Program = Box::pin(async move { client.put_all(&puts).await });
        self.bench.run(vec![program])?;
        self.bench.idle(4 * QUIET);
        self.check()
    }

    /// Posts the buffers in which the hosts take chunks of so many writes.
    fn post(&self, writes: usize) -> Result<()> {
        for (node, landings) in self.arrived.iter().enumerate() {
            landings[..writes].iter().try_for_each(|landing| landing.post(&self.hosts[node + 1]))?;
        }
        for (number, parts) in self.parts.iter().enumerate() {
            let host = &self.hosts[self.parity_node(number)];
            parts.iter().flat_map(|landings| &landings[..writes]).try_for_each(|landing| landing.post(host))?;
        }
        Ok(())
    }

    /// So many writes at once: cycles from the client's first put to its last completion. All memories are compared.
    fn round(&mut self, writes: usize) -> Result<u64> {
        self.round += 1;
        let (client, data, chunk) = (self.hosts[0].clone(), self.data, self.chunk);
        let mut puts: Vec<Vec<(u64, usize, Target)>> = Vec::new();
        for write in 0..writes {
            self.acks[write].post(&client)?;
            for node in 0..data {
                let bytes = model::chunk(chunk, node, write, self.round);
                client.write(self.from + ((write * data + node) * chunk) as u64, &bytes)?;
                self.stored[node][write] = bytes;
            }
            // Handlers get parts of all chunks in turn, hosts whole chunks.
            let part = if self.spin { PART } else { chunk };
            for at in (0..chunk).step_by(part) {
                let from = |node| self.from + ((write * data + node) * chunk + at) as u64;
                let put = |node| (from(node), part.min(chunk - at), self.target(write, node + 1, at));
                puts.push((0..data).map(put).collect());
            }
        }
        self.bench.set_up(|| self.post(writes))?;
        self.bench.idle(QUIET);
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let (acks, seen) = (self.acks.clone(), end.clone());
        let mut programs: Vec<Program> = vec![Box::pin(async move {
            for puts in &puts {
                client.put_all(puts).await?;
            }
            for ack in &acks[..writes] {
                client.record(&ack.posted).await?;
            }
            seen.set(client.now());
            Ok(())
        })];
        if !self.spin {
            programs.extend((1..=data).map(|node| self.data_host(node, writes)));
            programs.extend((0..self.parity).map(|number| self.parity_host(number, writes)));
        }
        self.bench.run(programs)?;
        self.bench.idle(QUIET);
        self.check()?;
        for (write, ack) in self.acks[..writes].iter().enumerate() {
            let mut wanted = model::acknowledgement(write, chunk).repeat(data);
            for _ in 0..self.parity {
                let share = |class| model::share(chunk, PIECE, class, self.contexts);
                wanted.extend((0..self.classes).flat_map(|class| model::acknowledgement(write, share(class))));
            }
            let got = self.hosts[0].read(ack.posted.buffer, wanted.len())?;
            self.bench.expect("the acknowledgements", &got, &wanted)?;
        }
        Ok(end.get() - start)
    }

    /// Puts each chunk from where it lies to all parity nodes by one register write, then acknowledges it.
    fn data_host(&self, node: usize, writes: usize) -> Program {
        let (host, chunk) = (self.hosts[node].clone(), self.chunk);
        let landings = self.arrived[node - 1].clone();
        let parities: Vec<usize> = (0..self.parity).map(|number| self.parity_node(number)).collect();
        Box::pin(async move {
            let acks = host.alloc(WRITES * ACK)?;
            for (write, landing) in landings[..writes].iter().enumerate() {
                host.record(&landing.posted).await?;
                let target = |parity: &usize| window_of(*parity, part(node - 1, write), 0);
                let put = |parity: &usize| (landing.posted.buffer, chunk, target(parity));
                host.put_all(&parities.iter().map(put).collect::<Vec<_>>()).await?;
                let from = acks + (write * ACK) as u64;
                host.write(from, &[(write as u32).to_le_bytes(), (chunk as u32).to_le_bytes()].concat())?;
                host.put(from, ACK, &window_of(0, ACKS + write as u64, (node - 1) * ACK)).await?;
            }
            Ok(())
        })
    }

    /// Multiplies the chunks of a write and adds them, in the order of the data nodes, which is that in which they are put.
    fn parity_host(&self, number: usize, writes: usize) -> Program {
        let node = self.parity_node(number);
        let (host, chunk) = (self.hosts[node].clone(), self.chunk);
        let (parts, coefficients) = (self.parts[number].clone(), self.coefficients[number].clone());
        let places: Vec<u64> = (0..WRITES).map(|write| self.at(node, write)).collect();
        let place_of_ack = (self.data + number) * ACK;
        Box::pin(async move {
            let acks = host.alloc(WRITES * ACK)?;
            for (write, place) in places[..writes].iter().enumerate() {
                let mut sum = vec![0; chunk];
                for (landings, coefficient) in parts.iter().zip(&coefficients) {
                    host.record(&landings[write].posted).await?;
                    host.work(Work::Gf, chunk).await;
                    multiply_add(*coefficient, &mut sum, &host.read(landings[write].posted.buffer, chunk)?);
                }
                host.write(*place, &sum)?;
                let from = acks + (write * ACK) as u64;
                host.write(from, &[(write as u32).to_le_bytes(), (chunk as u32).to_le_bytes()].concat())?;
                host.put(from, ACK, &window_of(0, ACKS + write as u64, place_of_ack)).await?;
            }
            Ok(())
        })
    }

    /// Compares all data and all parity, and the bytes between chunks.
    fn check(&self) -> Result<()> {
        let filled = |mut bytes: Vec<u8>| {
            bytes.resize(self.place, 0);
            bytes
        };
        for node in 0..self.data {
            let wanted: Vec<u8> = self.stored[node].iter().flat_map(|chunk| filled(chunk.clone())).collect();
            let got = self.hosts[node + 1].read(self.places[node], wanted.len())?;
            self.bench.expect(&format!("data node {node}"), &got, &wanted)?;
        }
        for (number, coefficients) in self.coefficients.iter().enumerate() {
            let parity = |write: usize| {
                let chunks: Vec<&[u8]> = self.stored.iter().map(|chunks| &chunks[write][..]).collect();
                filled(model::parity(coefficients, &chunks))
            };
            let wanted: Vec<u8> = (0..WRITES).flat_map(parity).collect();
            let node = self.parity_node(number);
            let got = self.hosts[node].read(self.places[node - 1], wanted.len())?;
            self.bench.expect(&format!("parity node {number}"), &got, &wanted)?;
        }
        Ok(())
    }
}

/// Address of a parity host's window for a chunk.
fn part(node: usize, write: usize) -> u64 {
    PARTS + (node * WRITES + write) as u64
}

/// The words of a handler's `spin_target_t`.
fn target_words(to: &Target) -> [u32; 6] {
    [to.node.into(), to.process.into(), to.address as u32, (to.address >> 32) as u32, to.key, to.offset]
}
