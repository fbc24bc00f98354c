//! RAID 4: a write to four data nodes, and the update of the parity on a fifth.

mod model;

use crate::bench::{window_of, Bench, Host, Landing, Program, Setting};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row};
use crate::cost::Work;
use anyhow::Result;
use spindle::rule_table::Action;
use spindle::{ContextOptions, Target};
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] =
    &[("data.c", include_str!("handlers/data.c")), ("parity.c", include_str!("handlers/parity.c"))];
const MODES: &[Mode] = &[
    Mode {
        name: "rdma",
        about: "hosts of the data nodes compute the differences, the host of the parity node adds them",
    },
    Mode {
        name: "spin",
        about: "handlers do, packet by packet; the differences of the same bytes meet in the L1 of a cluster",
    },
];
/// Data nodes; the client is node 0, the parity node the last.
const DATA: usize = 4;
const PARITY: usize = DATA + 1;
/// Writes that the client has outstanding when bandwidth is measured.
const WRITES: usize = 8;
/// Address of the client's window for write 0, and of the data nodes' and the parity node's.
const ACKS: u64 = 0x100;
const CHUNKS: u64 = 0x200;
const DIFFERENCES: u64 = 0x300;
/// Bytes of a difference at most.
const PIECE: usize = 1408;
/// Slots of the parity node in each cluster.
const SLOTS: usize = 2;
/// Bytes of an acknowledgement.
const ACK: usize = 8;
/// Rounds in which latency is measured.
const SINGLE: usize = 1;

/// The case.
pub const CASE: Case = Case {
    name: "raid",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(DATA + 2)?;
    let chunk = point as usize / DATA;
    let mut array = Array::new(&bench, mode == "spin", chunk)?;
    // Handlers run on cold processors at first: two packets for each, or two rounds.
    let packets = WRITES * chunk.div_ceil(1024);
    for _ in 0..if setting.small() { 0 } else { 32usize.div_ceil(packets).min(2) } {
        array.round(WRITES)?;
    }
    let together = array.round(WRITES)?;
    let mut single = 0;
    for _ in 0..SINGLE {
        single += array.round(1)?;
    }
    let latency = setting.ns(single as f64 / SINGLE as f64);
    let rate = 8.0 * (WRITES * point as usize) as f64 / setting.ns(together as f64);
    let of_data = bench.instructions(1..=DATA)?.map(|mean| ("instructions_data", mean));
    let of_parity = bench.instructions([PARITY])?.map(|mean| ("instructions_parity", mean));
    let values = [("latency_ns", latency), ("gb_per_s", rate)];
    Measured::new(&bench, values.into_iter().chain(of_data).chain(of_parity))
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    const SIZES: [(u64, &str); 3] = [(4096, "4k"), (16384, "16k"), (65536, "64k")];
    let taken = ratios(rows, "latency_ns", &SIZES, &[("spin", "rdma", "latency_reduction")]);
    let mut figures: Vec<_> = taken.into_iter().map(|(key, share)| (key, 1.0 - share)).collect();
    figures.extend(ratios(rows, "gb_per_s", &SIZES, &[("spin", "rdma", "bandwidth")]));
    for name in ["instructions_data", "instructions_parity"] {
        let mean = value(rows, "spin", "pcie", 65536, name);
        figures.extend(mean.map(|mean| (name.to_string(), mean)));
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "spin",
        "the new bytes go to the parity node instead of the difference",
        "data.c",
        "spin_put(&to, difference, length);",
        "spin_put(&to, spin_payload(p), length);",
    ),
    Broken::new(
        "spin",
        "a byte is not written",
        "data.c",
        "spin_dma_to_host(offset, spin_payload(p), length);",
        "spin_dma_to_host(offset, spin_payload(p), length - 1);",
    ),
    Broken::new(
        "spin",
        "the difference is added, not xored",
        "parity.c",
        "spin_combine(SPIN_XOR, slot_of(here, where),",
        "spin_combine(SPIN_ADD8, slot_of(here, where),",
    ),
    Broken::new(
        "spin",
        "a sum is written before its last difference has come",
        "parity.c",
        "ADDED + 1 == NODES",
        "ADDED + 2 == NODES",
    ),
];

/// The hosts, their memories and what the model knows of them.
struct Array<'a> {
    bench: &'a Bench,
    hosts: Vec<Host>,
    spin: bool,
    chunk: usize,
    /// Contexts of the parity node: one, or one for each cluster.
    contexts: usize,
    /// Acknowledgements of the parity node.
    classes: usize,
    round: usize,
    /// Address of the chunks of each node in its memory: new data of the client, stored data, parity.
    chunks: Vec<u64>,
    /// Differences that the data hosts compute.
    differences: Vec<u64>,
    /// Client: acknowledgements, by write.
    acks: Vec<Landing>,
    /// Data nodes and writes: new bytes that the hosts take. Empty in mode spin.
    arrived: Vec<Vec<Landing>>,
    /// Data nodes and writes: differences that the parity host takes. Empty in mode spin.
    changed: Vec<Vec<Landing>>,
    /// The model's data: nodes, then writes.
    stored: Vec<Vec<Vec<u8>>>,
}

impl<'a> Array<'a> {
    /// Chunks of all data nodes, filled, with their parity.
    fn new(bench: &'a Bench, spin: bool, chunk: usize) -> Result<Self> {
        let hosts = bench.hosts();
        // Chunks that the slots of all clusters hold have a context for each cluster, which acknowledges its pieces.
        let (clusters, pieces) = (bench.setting().config.clusters, chunk.div_ceil(PIECE));
        let contexts = if spin && pieces <= SLOTS * clusters { clusters } else { 1 };
        let classes = pieces.min(contexts);
        let bytes = WRITES * chunk;
        let mut chunks = vec![hosts[0].alloc(DATA * bytes)?];
        for host in &hosts[1..] {
            chunks.push(host.alloc(bytes)?);
        }
        let differences = (1..=DATA).map(|node| hosts[node].alloc(bytes)).collect::<Result<_>>()?;
        let acks = (0..WRITES)
            .map(|write| Landing::new(&hosts[0], ACKS + write as u64, (DATA + classes) * ACK))
            .collect::<Result<_>>()?;
        let stored: Vec<Vec<Vec<u8>>> =
            (0..DATA).map(|node| (0..WRITES).map(|write| model::chunk(chunk, node, write, 0)).collect()).collect();
        let (arrived, changed) = (Vec::new(), Vec::new());
        let round = 0;
        let mut array = Array {
            bench,
            hosts,
            spin,
            chunk,
            contexts,
            classes,
            round,
            chunks,
            differences,
            acks,
            arrived,
            changed,
            stored,
        };
        for node in 0..DATA {
            array.hosts[node + 1].write(array.chunks[node + 1], &array.stored[node].concat())?;
        }
        for write in 0..WRITES {
            let address = array.chunks[PARITY] + (write * chunk) as u64;
            array.hosts[PARITY].write(address, &array.parity(write))?;
        }
        if spin {
            array.install()?;
        } else {
            array.open()?;
        }
        for host in &array.hosts {
            host.listen()?;
        }
        Ok(array)
    }

    /// Handlers of the data nodes and of the parity node.
    fn install(&self) -> Result<()> {
        let config = self.bench.setting().config;
        let region = |node: usize| Some((self.chunks[node], (WRITES * self.chunk) as u32));
        let handler = self.bench.compile(HANDLERS, "data.c")?;
        for node in 1..=DATA {
            let host = &self.hosts[node];
            let options = ContextOptions { host_region: region(node), ..ContextOptions::default() };
            let context = host.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
            host.set_target(context, &handler, "client", &window_of(0, ACKS, (node - 1) * ACK))?;
            host.set_target(context, &handler, "parity", &window_of(PARITY, DIFFERENCES, 0))?;
            host.set_word(context, &handler, "chunk_log", self.chunk.ilog2())?;
            host.set_word(context, &handler, "clusters", self.contexts as u32 - 1)?;
        }
        let (handler, host) = (self.bench.compile(HANDLERS, "parity.c")?, &self.hosts[PARITY]);
        let share = |class| model::share(self.chunk, PIECE, class, self.contexts) as u32;
        let shares: Vec<u32> = (0..self.contexts).map(share).collect();
        let gather = self.contexts > 1;
        for cluster in 0..self.contexts {
            let core_mask = match gather {
                true => ((1 << config.hpus) - 1) << (cluster * config.hpus),
                false => ContextOptions::default().core_mask,
            };
            let scratch_bytes = Some(if gather { 4096 } else { 8192 });
            let options =
                ContextOptions { host_region: region(PARITY), scratch_bytes, core_mask, ..ContextOptions::default() };
            let rule = format!("spindle && spindle.addr_lo == {}", DIFFERENCES + cluster as u64);
            let context = host.install(&handler.image, &rule, &options, Action::ContextPerMessage)?;
            host.set_target(context, &handler, "client", &window_of(0, ACKS, DATA * ACK))?;
            host.set_word(context, &handler, "chunk_log", self.chunk.ilog2())?;
            host.set_word(context, &handler, "gather", gather.into())?;
            host.set_word(context, &handler, "clusters", self.contexts as u32 - 1)?;
            host.set_words(context, &handler, "shares", &shares)?;
        }
        Ok(())
    }

    /// Windows in which the hosts take new bytes and differences.
    fn open(&mut self) -> Result<()> {
        for node in 0..DATA {
            let landings = |host: &Host, first: u64| -> Result<Vec<Landing>> {
                (0..WRITES).map(|write| Landing::new(host, first + write as u64, self.chunk)).collect()
            };
            self.arrived.push(landings(&self.hosts[node + 1], CHUNKS)?);
            self.changed.push(landings(&self.hosts[PARITY], DIFFERENCES + (node * WRITES) as u64)?);
        }
        Ok(())
    }

    fn parity(&self, write: usize) -> Vec<u8> {
        let chunks: Vec<&[u8]> = self.stored.iter().map(|chunks| &chunks[write][..]).collect();
        model::parity(&chunks)
    }

    /// So many writes at once: cycles from the client's first put to its last completion. All memories are compared.
    fn round(&mut self, writes: usize) -> Result<u64> {
        const QUIET: u64 = 600;
        self.round += 1;
        let (client, chunk) = (&self.hosts[0], self.chunk);
        let from = |write: usize, node: usize| self.chunks[0] + ((write * DATA + node) * chunk) as u64;
        for write in 0..writes {
            self.acks[write].post(client)?;
            for node in 0..DATA {
                let bytes = model::chunk(chunk, node, write, self.round);
                client.write(from(write, node), &bytes)?;
                self.stored[node][write] = bytes;
            }
        }
        for (node, landings) in self.arrived.iter().enumerate() {
            landings[..writes].iter().try_for_each(|landing| landing.post(&self.hosts[node + 1]))?;
        }
        for landings in &self.changed {
            landings[..writes].iter().try_for_each(|landing| landing.post(&self.hosts[PARITY]))?;
        }
        self.bench.idle(QUIET);
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let puts: Vec<Vec<(u64, usize, Target)>> = (0..writes)
            .map(|write| {
                let target = |node: usize| match self.spin {
                    true => window_of(node + 1, CHUNKS, write * chunk),
                    false => window_of(node + 1, CHUNKS + write as u64, 0),
                };
                (0..DATA).map(|node| (from(write, node), chunk, target(node))).collect()
            })
            .collect();
        let (host, acks, seen) = (client.clone(), self.acks.clone(), end.clone());
        let mut programs: Vec<Program> = vec![Box::pin(async move {
            for puts in &puts {
                host.put_all(puts).await?;
            }
            for ack in &acks[..puts.len()] {
                host.record(&ack.posted).await?;
            }
            seen.set(host.now());
            Ok(())
        })];
        if !self.spin {
            programs.extend((0..DATA).map(|node| self.data_host(node, writes)));
            programs.push(self.parity_host(writes));
        }
        self.bench.run(programs)?;
        self.bench.idle(QUIET);
        self.check(writes)?;
        Ok(end.get() - start)
    }

    /// Takes new bytes, puts their difference from the old ones, stores them and acknowledges them. The put goes first: the NIC sends the
    /// difference while the host copies.
    fn data_host(&self, node: usize, writes: usize) -> Program {
        let (host, chunk) = (self.hosts[node + 1].clone(), self.chunk);
        let (landings, stored, differences) =
            (self.arrived[node].clone(), self.chunks[node + 1], self.differences[node]);
        Box::pin(async move {
            let ack = host.alloc(WRITES * ACK)?;
            for (write, landing) in landings[..writes].iter().enumerate() {
                host.record(&landing.posted).await?;
                let (at, difference) = (stored + (write * chunk) as u64, differences + (write * chunk) as u64);
                let new = host.read(landing.posted.buffer, chunk)?;
                let old = host.read(at, chunk)?;
                host.work(Work::Xor, chunk).await;
                host.write(difference, &new.iter().zip(&old).map(|(new, old)| new ^ old).collect::<Vec<_>>())?;
                let address = DIFFERENCES + (node * WRITES + write) as u64;
                host.put(difference, chunk, &window_of(PARITY, address, 0)).await?;
                host.work(Work::Copy, chunk).await;
                host.write(at, &new)?;
                let from = ack + (write * ACK) as u64;
                host.write(from, &[(write as u32).to_le_bytes(), (chunk as u32).to_le_bytes()].concat())?;
                host.put(from, ACK, &window_of(0, ACKS + write as u64, node * ACK)).await?;
            }
            Ok(())
        })
    }

    /// Adds differences to the parity, and acknowledges a write when those of all data nodes are added.
    fn parity_host(&self, writes: usize) -> Program {
        let (host, chunk) = (self.hosts[PARITY].clone(), self.chunk);
        let (landings, stored) = (self.changed.clone(), self.chunks[PARITY]);
        Box::pin(async move {
            let ack = host.alloc(WRITES * ACK)?;
            for write in 0..writes {
                let at = stored + (write * chunk) as u64;
                for landings in &landings {
                    host.record(&landings[write].posted).await?;
                    let difference = host.read(landings[write].posted.buffer, chunk)?;
                    let sum: Vec<u8> = host.read(at, chunk)?.iter().zip(&difference).map(|(a, b)| a ^ b).collect();
                    host.work(Work::Xor, chunk).await;
                    host.write(at, &sum)?;
                }
                let from = ack + (write * ACK) as u64;
                let bytes = (DATA * chunk) as u32;
                host.write(from, &[(write as u32).to_le_bytes(), bytes.to_le_bytes()].concat())?;
                host.put(from, ACK, &window_of(0, ACKS + write as u64, DATA * ACK)).await?;
            }
            Ok(())
        })
    }

    /// Compares all data, the parity and the acknowledgements.
    fn check(&self, writes: usize) -> Result<()> {
        let bytes = WRITES * self.chunk;
        for node in 0..DATA {
            let got = self.hosts[node + 1].read(self.chunks[node + 1], bytes)?;
            self.bench.expect(&format!("data node {node}"), &got, &self.stored[node].concat())?;
        }
        let parity: Vec<u8> = (0..WRITES).flat_map(|write| self.parity(write)).collect();
        self.bench.expect("the parity", &self.hosts[PARITY].read(self.chunks[PARITY], bytes)?, &parity)?;
        for (write, ack) in self.acks[..writes].iter().enumerate() {
            let mut wanted = model::acknowledgement(write, self.chunk).repeat(DATA);
            for class in 0..self.classes {
                let bytes = match self.spin {
                    true => model::share(self.chunk, PIECE, class, self.contexts),
                    false => DATA * self.chunk,
                };
                wanted.extend(model::acknowledgement(write, bytes));
            }
            let got = self.hosts[0].read(ack.posted.buffer, wanted.len())?;
            self.bench.expect("the acknowledgements", &got, &wanted)?;
        }
        Ok(())
    }
}
