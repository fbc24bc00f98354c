//! Conditional read: a client wants rows of a table in the server's host memory (sPIN), and sums of them (Farview).

mod model;

use crate::bench::{window_of, Bench, Host, Landing, Program, Setting, KEY, PROCESS};
use crate::case::{value, Broken, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use anyhow::Result;
use model::{Operation, Query, ANSWER, HEAD, MASK, PART, PATTERN};
use spindle::rule_table::Action;
use spindle::ContextOptions;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("query.c", include_str!("handlers/query.c"))];
const MODES: &[Mode] = &[
    Mode {
        name: "fetch",
        about: "the client gets the whole table from the server's memory, then its host looks at the rows",
    },
    Mode { name: "chunks", about: "the same in pieces: the host looks at one while the next ones come" },
    Mode { name: "spin", about: "handlers of the server's NIC read the table, and put what is wanted to the client" },
];
/// The queries: operation, bytes of a row, and their figure.
const QUERIES: [(Operation, usize, &str); 10] = [
    (Operation::Select, 64, "select_64_ns"),
    (Operation::Select, 512, "select_512_ns"),
    (Operation::Project, 64, "project_64_ns"),
    (Operation::Project, 512, "project_512_ns"),
    (Operation::Sum, 64, "sum_64_ns"),
    (Operation::Sum, 512, "sum_512_ns"),
    (Operation::Group, 64, "group_64_ns"),
    (Operation::Group, 512, "group_512_ns"),
    (Operation::Match, 64, "match_64_ns"),
    (Operation::Match, 512, "match_512_ns"),
];
/// Bytes of the table with short rows and with long ones; the eighth of it with the small configuration of tests.
const SHORT: usize = 64 << 10;
const LONG: usize = 256 << 10;
const SMALL: usize = 8;
/// Pieces of mode `chunks`.
const PIECES: usize = 8;
/// Bytes of the scratchpad of each cluster: two pieces of the table for each thread of four processors.
const SCRATCH: usize = 8 << 10;
/// Address of the server's window of the table, and of queries.
const TABLES: u64 = 0x7AB1;
const QUERY: u64 = 0x9E1;
/// Addresses of the client's windows of results and of answers; pieces of the table come to those from `FETCHED` on.
const RESULTS: u64 = 0xC0D1;
const ANSWERS: u64 = 0xC0D2;
const FETCHED: u64 = 0xFE00;
/// Bytes of a query, which may be too long.
const BYTES: usize = 24;
/// Rounds of each query: the last one counts, since handlers have then run on all processors.
const ROUNDS: usize = 2;
/// Cycles in which the NICs become idle.
const QUIET: u64 = 1000;

/// The case.
pub const CASE: Case = Case {
    name: "conditional-read",
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
    // Tests look at the bytes, not at the time.
    let small = setting.config.name == "sim";
    let (part, rounds) = if small { (SMALL, 1) } else { (1, ROUNDS) };
    let ends = Ends::new(&bench, mode, LONG / part)?;
    let mut figures = Vec::new();
    for (operation, row_bytes, name) in QUERIES {
        let bytes = if row_bytes == HEAD { SHORT } else { LONG } / part;
        let query = Query { operation, row_bytes, rows: bytes / row_bytes, least: point as u32 };
        let table = model::table(row_bytes, query.rows, query.least);
        ends.server.write(ends.table, &table)?;
        let mut cycles = 0;
        for round in 0..rounds {
            cycles = match mode {
                "fetch" => ends.fetch(&query, &table, 1)?,
                "chunks" => ends.fetch(&query, &table, PIECES)?,
                _ => {
                    if round == 0 && (operation == QUERIES[0].0 || !small) {
                        ends.ask_wrongly(&query)?;
                    }
                    ends.ask(&query, &table)?
                }
            };
            bench.idle(QUIET);
        }
        figures.push((name, setting.ns(cycles as f64)));
    }
    Measured::new(&bench, figures)
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (host, ending) in HOSTS {
        for (_, _, name) in QUERIES {
            let short = name.trim_end_matches("_ns");
            for point in [20, 80] {
                let time = |mode| value(rows, mode, host, point, name);
                for mode in ["fetch", "chunks"] {
                    if let (Some(spin), Some(other)) = (time("spin"), time(mode)) {
                        figures.push((format!("{short}_{point}_over_{mode}{ending}"), other / spin));
                    }
                }
            }
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "spin",
        "a row of the least measure is not wanted",
        "query.c",
        "measure >= q->least",
        "measure > q->least",
    ),
    Broken::new(
        "spin",
        "the last rows are left out",
        "query.c",
        "for (uint32_t ahead; first < q.rows;",
        "for (uint32_t ahead; first + ROWS < q.rows;",
    ),
    Broken::new(
        "spin",
        "results lie one over another",
        "query.c",
        "to.offset = spin_amo_add(&answer.bytes, bytes);",
        "to.offset = 0; answer.bytes += bytes;",
    ),
    Broken::new("spin", "a pattern has no byte that may be any", "query.c", "^ pattern) & mask", "^ pattern) & ~0u"),
    Broken::new(
        "spin",
        "a table may be longer than its memory",
        "query.c",
        "rows > h->host_size / row_bytes",
        "rows == 7",
    ),
];

/// Both hosts: the table, the windows, and where the client has what it got.
struct Ends<'a> {
    bench: &'a Bench,
    client: Host,
    server: Host,
    bytes: usize,
    table: u64,
    /// The client's copy of the table or results, its answer, and its query.
    got: u64,
    answers: Landing,
    query: u64,
}

impl Ends<'_> {
    fn new<'a>(bench: &'a Bench, mode: &str, bytes: usize) -> Result<Ends<'a>> {
        let (client, server) = (bench.host(0), bench.host(1));
        let (table, got, query) = (server.alloc(bytes)?, client.alloc(bytes)?, client.alloc(2 * BYTES)?);
        server.endless_window(TABLES, table, bytes)?;
        if mode == "spin" {
            let handler = bench.compile(HANDLERS, "query.c")?;
            let options = ContextOptions {
                host_region: Some((table, bytes as u32)),
                scratch_bytes: Some(SCRATCH),
                ..ContextOptions::default()
            };
            let rule = format!("spindle.addr_lo == {QUERY}");
            let context = server.install(&handler.image, &rule, &options, Action::ContextPerMessage)?;
            server.set_word(context, &handler, "key", KEY)?;
            client.endless_window(RESULTS, got, bytes)?;
        }
        let answers = Landing::new(&client, ANSWERS, ANSWER)?;
        server.listen()?;
        client.listen()?;
        bench.idle(QUIET);
        Ok(Ends { bench, client, server, bytes, table, got, answers, query })
    }

    /// The client's host works on rows, the last of which has come with this piece.
    async fn look(client: &Host, query: &Query, rows: &[u8]) {
        let heads = rows.len() / query.row_bytes * HEAD;
        client.work(if query.operation == Operation::Match { Work::Search } else { Work::Filter }, heads).await;
        let found = query.rows(rows).len();
        let each = if query.operation == Operation::Project { PART } else { query.row_bytes };
        client.work(Work::Copy, found * each).await;
    }

    /// Gets the table in so many pieces, and looks at each.
    fn fetch(&self, query: &Query, table: &[u8], pieces: usize) -> Result<u64> {
        self.client.write(self.got, &vec![0; self.bytes])?;
        let piece = table.len() / pieces;
        let mut landings = Vec::new();
        for i in 0..pieces as u64 {
            let mut landing = Landing::new(&self.client, FETCHED + i, piece)?;
            landing.posted.buffer = self.got + i * piece as u64;
            landing.post(&self.client)?;
            landings.push(landing);
        }
        let gets: Vec<_> = (0..pieces).map(|i| (piece, window_of(1, TABLES, i * piece), FETCHED + i as u64)).collect();
        let (client, query_of_host, found) = (self.client.clone(), *query, Rc::new(RefCell::new(Vec::new())));
        let (start, end, rows) = (self.bench.now(), Rc::new(Cell::new(0)), found.clone());
        let seen = end.clone();
        let closing: Vec<_> = landings.iter().map(|landing| landing.window).collect();
        let program: Program = Box::pin(async move {
            client.get_all(&gets).await?;
            for landing in landings {
                client.record(&landing.posted).await?;
                let bytes = client.read(landing.posted.buffer, piece)?;
                Self::look(&client, &query_of_host, &bytes).await;
                rows.borrow_mut().extend(bytes);
            }
            seen.set(client.now());
            Ok(())
        });
        self.bench.run(vec![program])?;
        for window in closing {
            self.client.nic(|nic| nic.close_window(window))?;
        }
        self.bench.expect("the table that the client got", &found.borrow(), table)?;
        Ok(end.get() - start)
    }

    /// The words of a query.
    fn words(query: &Query) -> Vec<u32> {
        vec![query.operation as u32, query.row_bytes as u32, query.rows as u32, query.least, PATTERN, MASK]
    }

    /// Sends messages that are no queries; the next answer, which is compared, has nothing of them.
    fn ask_wrongly(&self, query: &Query) -> Result<()> {
        let good = Self::words(query);
        let other = |at: usize, value: u32| {
            let mut words = good.clone();
            words[at] = value;
            words
        };
        let long = (self.bytes / query.row_bytes) as u32 + 1;
        let bad =
            [other(0, 5), other(0, u32::MAX), other(1, 0), other(1, 65), other(1, 1088), other(2, 0), other(2, long)];
        let short = vec![good[0]; 5];
        let mut too_long = good.clone();
        too_long.push(0);
        let bytes_of = |words: &Vec<u32>| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let all: Vec<Vec<u32>> = bad.into_iter().chain([short, too_long]).collect();
        self.bench.storm(0, 1, QUERY, &all.iter().map(bytes_of).collect::<Vec<_>>())?;
        for words in all {
            self.put(&words)?;
            self.bench.idle(QUIET / 2);
        }
        Ok(())
    }

    /// Sends the query, and waits for the answer.
    fn ask(&self, query: &Query, table: &[u8]) -> Result<u64> {
        self.client.write(self.got, &vec![0; self.bytes])?;
        self.answers.post(&self.client)?;
        let put = self.prepare(&Self::words(query))?;
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let (client, seen, posted) = (self.client.clone(), end.clone(), self.answers.posted);
        let program: Program = Box::pin(async move {
            client.fire(&put).await?;
            client.record(&posted).await?;
            seen.set(client.now());
            Ok(())
        });
        self.bench.run(vec![program])?;
        let answer = query.answer(table);
        self.bench.expect("the answer", &self.client.read(posted.buffer, ANSWER)?, &answer)?;
        let mut got = self.client.read(self.got, self.bytes)?;
        let rest = got.split_off(model::word(&answer, 0) as usize);
        let each = if query.operation == Operation::Project { PART } else { query.row_bytes };
        let mut rows: Vec<&[u8]> = got.chunks(each).collect();
        rows.sort_unstable();
        self.bench.expect("the rows of the result", &rows.concat(), &query.rows(table).concat())?;
        self.bench.expect("the memory after the result", &rest, &vec![0; rest.len()])?;
        Ok(end.get() - start)
    }

    fn prepare(&self, words: &[u32]) -> Result<crate::bench::Prepared> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.client.write(self.query, &bytes)?;
        self.client.prepare(PROCESS, self.query, bytes.len(), &window_of(1, QUERY, 0))
    }

    fn put(&self, words: &[u32]) -> Result<()> {
        let put = self.prepare(words)?;
        let client = self.client.clone();
        self.bench.run(vec![Box::pin(async move { client.fire(&put).await })])
    }
}
