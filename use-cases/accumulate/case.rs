//! Accumulate: a client puts vectors, which are added to arrays of the server's host.

mod model;

use crate::bench::{window_of, Bench, Host, Landing, Program, Setting, PROCESS};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row};
use crate::cost::Work;
use anyhow::{bail, ensure, Result};
use spindle::rule_table::Action;
use spindle::{ContextOptions, EventKind, EventRing, Overload, Target};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("accumulate.c", include_str!("../../handlers/examples/accumulate.c"))];
const MODES: &[Mode] = &[
    Mode { name: "rdma", about: "a vector lands in one piece, and the host adds it" },
    Mode { name: "chunks", about: "the host adds each piece of a vector while the next ones arrive" },
    Mode { name: "spin", about: "handlers read the array, add each packet, and write the sums back" },
];
/// Vectors that are under way together when the rate is measured; each has an array of its own.
const VECTORS: usize = 4;
/// Bytes of a piece in mode `chunks`.
const PIECE: usize = 8 << 10;
/// Address of the window of vector 0.
const WINDOW: u64 = 0x70;
/// Packets that warm the NICs: two for each of 16 HPUs.
const WARM: usize = 32;
/// Cycles after which the NICs are idle.
const QUIET: u64 = 2000;

/// The case.
pub const CASE: Case = Case {
    name: "accumulate",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(2)?;
    let bytes = point as usize;
    let mut arrays = Arrays::new(&bench, mode, bytes)?;
    if mode == "spin" {
        arrays.malformed()?;
    }
    for _ in 0..WARM.div_ceil(VECTORS * bytes.div_ceil(1408)) {
        arrays.round(VECTORS)?;
    }
    let together = arrays.round(VECTORS)? as f64;
    let single = arrays.round(1)? as f64;
    let bits = 8.0 * bytes as f64;
    Measured::new(
        &bench,
        [
            ("completion_ns", setting.ns(single)),
            ("single_bits_per_cycle", bits / single),
            ("bits_per_cycle", VECTORS as f64 * bits / together),
        ],
    )
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let sizes = [(8, "8"), (1024, "1k"), (65536, "64k"), (262_144, "256k")];
    let pairs = [("rdma", "spin", "over_rdma"), ("chunks", "spin", "over_chunks")];
    let mut figures = ratios(rows, "completion_ns", &sizes, &pairs);
    for (mode, key) in [("spin", "rate_64k"), ("chunks", "chunks_rate_64k")] {
        let rate = value(rows, mode, "pcie", 65536, "bits_per_cycle");
        figures.extend(rate.map(|rate| (key.to_string(), rate)));
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new("spin", "no carry leaves a byte", "accumulate.c", "SPIN_ADD32", "SPIN_ADD8"),
    Broken::new(
        "spin",
        "the last word of a packet is not added",
        "accumulate.c",
        "spin_payload(p), p->payload_len);",
        "spin_payload(p), p->payload_len - 4);",
    ),
];

/// Client, server, and what the model knows of the server's arrays.
struct Arrays<'a> {
    bench: &'a Bench,
    client: Host,
    server: Host,
    bytes: usize,
    round: usize,
    /// Vectors of the client, one after another, and arrays of the server.
    from: u64,
    arrays: u64,
    /// Windows in which the host takes vectors, and bytes of a piece. Empty if handlers add.
    landings: Vec<Landing>,
    piece: usize,
    /// Ends of messages that handlers have added.
    events: Option<Rc<RefCell<EventRing>>>,
    /// The model's arrays.
    sums: Vec<u8>,
}

impl<'a> Arrays<'a> {
    fn new(bench: &'a Bench, mode: &str, bytes: usize) -> Result<Self> {
        let (client, server) = (bench.host(0), bench.host(1));
        let all = VECTORS * bytes;
        let (from, arrays) = (client.alloc(all)?, server.alloc(all)?);
        let sums = model::vector(all, VECTORS, 0);
        server.write(arrays, &sums)?;
        let (mut landings, mut events) = (Vec::new(), None);
        if mode == "spin" {
            events = Some(Rc::new(RefCell::new(server.nic(|nic| nic.open_ring(PROCESS, 64))?)));
            let options = ContextOptions {
                host_region: Some((arrays, all as u32)),
                overload: Overload::Pause,
                ..ContextOptions::default()
            };
            let handler = bench.compile(HANDLERS, "accumulate.c")?;
            server.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
        } else {
            for vector in 0..VECTORS as u64 {
                landings.push(Landing::new(&server, WINDOW + vector, bytes)?);
            }
        }
        client.listen()?;
        server.listen()?;
        let piece = if mode == "chunks" { PIECE.min(bytes) } else { bytes };
        Ok(Arrays { bench, client, server, bytes, round: 0, from, arrays, landings, piece, events, sums })
    }

    fn check(&self) -> Result<()> {
        let got = self.server.read(self.arrays, self.sums.len())?;
        self.bench.expect("the arrays", &got, &self.sums)
    }

    /// Vectors that no handler may add: of half a word, at half a word, and after the end of the region.
    fn malformed(&self) -> Result<()> {
        let (end, client) = (self.sums.len(), self.client.clone());
        self.client.write(self.from, &model::vector(8, 0, 0))?;
        let bad = [(6, 0), (8, 2), (8, end - 4), (8, end)];
        let puts: Vec<_> = bad.iter().map(|(bytes, at)| (self.from, *bytes, window_of(1, WINDOW, *at))).collect();
        let program: Program = Box::pin(async move { client.put_all(&puts).await });
        self.bench.run(vec![program])?;
        self.bench.idle(QUIET);
        let Some(events) = &self.events else { return Ok(()) };
        for _ in bad {
            let event = self.server.nic(|nic| nic.poll_event(&mut events.borrow_mut()))?;
            let dropped =
                matches!(event.as_ref().map(|event| &event.kind), Some(EventKind::Message { dropped: 1.., .. }));
            ensure!(dropped, "a malformed vector ended as {event:?}");
        }
        self.check()
    }

    /// So many vectors at once: cycles from the client's put until the server's host knows that all are added.
    fn round(&mut self, vectors: usize) -> Result<u64> {
        self.round += 1;
        let (client, bytes) = (self.client.clone(), self.bytes);
        let mut puts: Vec<(u64, usize, Target)> = Vec::new();
        let mut tails = Vec::new();
        for number in 0..vectors {
            let (at, vector) = (number * bytes, model::vector(bytes, number, self.round));
            client.write(self.from + at as u64, &vector)?;
            model::add(&mut self.sums[at..at + bytes], &vector);
            let target = match self.landings.get(number) {
                Some(landing) => {
                    landing.post(&self.server)?;
                    // The last byte of a piece is another one until the piece is there.
                    self.server.write(landing.posted.buffer, &vector.iter().map(|byte| !byte).collect::<Vec<_>>())?;
                    window_of(1, WINDOW + number as u64, 0)
                }
                None => window_of(1, WINDOW, at),
            };
            puts.push((self.from + at as u64, bytes, target));
            tails.push((self.piece - 1..bytes).step_by(self.piece).map(|last| vector[last]).collect::<Vec<_>>());
        }
        self.bench.idle(QUIET);
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let sends: Program = Box::pin(async move { client.put_all(&puts).await });
        let taken = if self.events.is_some() { self.await_events(vectors) } else { self.add_by_host(tails) };
        let (seen, server) = (end.clone(), self.server.clone());
        let takes: Program = Box::pin(async move {
            taken.await?;
            seen.set(server.now());
            Ok(())
        });
        self.bench.run(vec![sends, takes])?;
        self.bench.idle(QUIET);
        self.check()?;
        Ok(end.get() - start)
    }

    /// The server's program when handlers add: it takes the event of each message.
    fn await_events(&self, vectors: usize) -> Program {
        let (host, events) = (self.server.clone(), self.events.clone());
        Box::pin(async move {
            let Some(events) = events else { bail!("the case has no event ring") };
            for _ in 0..vectors {
                let event = host.until(|nic| Ok(nic.poll_event(&mut events.borrow_mut())?)).await?;
                match event.kind {
                    EventKind::Message { dropped: 0, .. } => host.overhead().await,
                    other => bail!("a vector ended as {other:?}"),
                }
            }
            Ok(())
        })
    }

    /// The server's program when its host adds: piece by piece. Packets arrive in order, so a piece is there when its last byte is; of the
    /// last piece of a vector the host takes the record.
    fn add_by_host(&self, tails: Vec<Vec<u8>>) -> Program {
        let (host, landings, piece) = (self.server.clone(), self.landings.clone(), self.piece);
        let (arrays, bytes) = (self.arrays, self.bytes);
        Box::pin(async move {
            for (number, tails) in tails.iter().enumerate() {
                let (posted, array) = (landings[number].posted, arrays + (number * bytes) as u64);
                for (index, tail) in tails.iter().enumerate() {
                    let at = (index * piece) as u64;
                    if index + 1 < tails.len() {
                        host.bytes(posted.buffer + at + piece as u64 - 1, &[*tail]).await?;
                    } else {
                        host.record(&posted).await?;
                    }
                    host.work(Work::Add, piece).await;
                    let terms = host.read(posted.buffer + at, piece)?;
                    let mut sums = host.read(array + at, piece)?;
                    for (sum, term) in sums.as_chunks_mut::<4>().0.iter_mut().zip(terms.as_chunks::<4>().0) {
                        *sum = u32::from_le_bytes(*sum).wrapping_add(u32::from_le_bytes(*term)).to_le_bytes();
                    }
                    host.write(array + at, &sums)?;
                }
            }
            Ok(())
        })
    }
}
