//! Optimistic transactions (FaRM) over the records of two nodes: their NICs answer each phase, or their hosts do.

mod model;

use crate::bench::{window_of, word, Bench, Host, Node, Program, Setting};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use anyhow::{ensure, Result};
use model::{Store, PLACE, RECORDS, VALUE};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, HostMemory};
use spindle_sdk::variables::variable;
use spindle_sdk::Handler;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("transact.c", include_str!("handlers/transact.c"))];
const MODES: &[Mode] = &[
    Mode { name: "spin", about: "handlers read, lock, validate, log and commit" },
    Mode { name: "host", about: "a process of each participant polls for requests and does the same" },
];
/// Operations.
const READ: u8 = 0;
const LOCK: u8 = 1;
const VALIDATE: u8 = 2;
const UNLOCK: u8 = 3;
const LOG: u8 = 4;
const COMMIT: u8 = 5;
/// Addresses of the participants' windows for requests, and of the coordinator's for answers.
const REQUESTS: u64 = 0x7A0;
const ANSWERS: u64 = 0x7A1;
/// Bytes of a request without value, and from one place for a request or answer to the next.
const HEADER: usize = 16;
/// Processors of the coordinator, and requests that each has under way.
const THREADS: usize = 4;
const EACH: usize = 4;
const SLOTS: usize = THREADS * EACH;
/// Records of a transaction, how many of them it writes, and how many records are hot.
const READS: usize = 3;
const WRITES: usize = 2;
const HOT: usize = 12;
/// Transactions of each processor that warm the NICs, and that are measured.
const WARM: usize = 1;
const MEASURED: usize = 6;
/// Cycles after an abort, times the attempts, below which a processor waits; cycles in which the NICs become idle.
const BACK_OFF: u64 = 500;
const QUIET: u64 = 500;
/// Of a version: the record is locked; where the owner begins.
const LOCKED: u32 = 1 << 31;
const OWNER: u32 = 24;

/// The case.
pub const CASE: Case = Case {
    name: "transactions",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(3)?;
    let mut world = World::new(&bench, mode == "spin", point)?;
    world.refused()?;
    world.run(WARM)?;
    let result = world.run(MEASURED)?;
    let commits = (THREADS * MEASURED) as f64;
    let attempts = commits + result.aborts as f64;
    Measured::new(
        &bench,
        [
            ("mega_commits_per_s", commits / setting.ns(result.cycles as f64) * 1e3),
            ("abort_rate", result.aborts as f64 / attempts),
            ("latency_ns", setting.ns(result.latency as f64 / commits)),
        ],
    )
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let points = [(0, "0"), (50, "50"), (100, "100")];
    let mut figures = ratios(rows, "latency_ns", &points, &[("host", "spin", "latency")]);
    figures.extend(ratios(rows, "mega_commits_per_s", &points, &[("spin", "host", "commits")]));
    for (host, ending) in HOSTS {
        for mode in ["spin", "host"] {
            for (point, text) in points {
                for name in ["abort_rate", "mega_commits_per_s"] {
                    let value = value(rows, mode, host, point, name);
                    figures.extend(value.map(|value| (format!("{name}_{mode}_{text}{ending}"), value)));
                }
            }
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "spin",
        "a lock is granted whatever the version is",
        "transact.c",
        "done = spin_compare_swap(&versions[record], version, held) == version;",
        "versions[record] = held; done = true;",
    ),
    Broken::new(
        "spin",
        "a record that has changed is valid",
        "transact.c",
        "done = versions[record] == version;",
        "done = true;",
    ),
    Broken::new("spin", "a commit needs no lock", "transact.c", "versions[record] == held && write", "write"),
    Broken::new("spin", "a backup takes any version", "transact.c", "backups[record] == version && write", "write"),
    Broken::new("spin", "a node takes the records of others", "transact.c", "own == (kind == LOG) ||", ""),
    Broken::new(
        "spin",
        "a request may have any length",
        "transact.c",
        "|| h->msg_len != length + (kind >= LOG ? VALUE : 0)",
        "",
    ),
    Broken::new(
        "spin",
        "a commit leaves the old value",
        "transact.c",
        "spin_dma_to_host(place * PLACE, value, VALUE);",
        "spin_dma_to_host(place * PLACE, value, VALUE - 4);",
    ),
];

/// A participant.
struct Participant {
    host: Host,
    parity: usize,
    /// Its records, then its backups.
    memory: u64,
    /// Where requests for its host come, and its answers are.
    requests: u64,
    answers: u64,
    context: Option<ContextId>,
    /// Of a host: versions and owners of the records, versions of the backups, numbers of the requests that it has taken last.
    state: Rc<RefCell<Versions>>,
}

struct Versions {
    records: Vec<u32>,
    backups: Vec<u32>,
    taken: Vec<u32>,
}

/// A transaction that has committed.
struct Committed {
    /// When it had all its locks.
    locked: u64,
    serial: u32,
    records: Vec<usize>,
    /// Versions and values that it has read.
    read: Vec<u8>,
}

/// What came of a run.
struct Outcome {
    cycles: u64,
    aborts: usize,
    latency: u64,
}

/// What the coordinator's processors share.
#[derive(Default)]
struct Shared {
    committed: Vec<Committed>,
    aborts: usize,
    latency: u64,
    ended: usize,
}

struct World<'a> {
    bench: &'a Bench,
    handler: Option<Handler>,
    participants: Vec<Participant>,
    /// Requests and answers in the coordinator's memory.
    requests: u64,
    answers: u64,
    /// Percent of records that are hot ones.
    hot: u64,
    random: ChaCha8Rng,
    serial: u32,
    numbers: Vec<u32>,
    model: Store,
}

/// A request of a phase.
struct Request {
    kind: u8,
    record: usize,
    version: u32,
    value: Vec<u8>,
}

/// An answer: whether it was done, a version, a value.
struct Answer {
    done: bool,
    version: u32,
    value: Vec<u8>,
}

/// A processor of the coordinator.
struct Thread {
    host: Host,
    number: usize,
    spin: bool,
    requests: u64,
    answers: u64,
    /// Number of the next request.
    next: u32,
}

impl Thread {
    /// Sends the requests of a phase with one register write and takes all answers.
    async fn call(&mut self, requests: &[Request]) -> Result<Vec<Answer>> {
        let mut puts = Vec::new();
        let first = self.next;
        for (i, request) in requests.iter().enumerate() {
            let slot = self.number * EACH + i;
            let at = self.requests + (slot * PLACE) as u64;
            let bytes = model::request(
                request.kind,
                slot as u8,
                request.record as u16,
                request.version,
                self.next,
                &request.value,
            );
            self.host.write(at, &bytes)?;
            // The primary of a record has its parity; its backup is the other node.
            let node = 1 + (request.record + usize::from(request.kind == LOG)) % 2;
            let offset = if self.spin { 0 } else { slot * PLACE };
            puts.push((at, bytes.len(), window_of(node, REQUESTS, offset)));
            self.next += 1;
        }
        self.host.put_all(&puts).await?;
        let mut answers = Vec::new();
        for i in 0..requests.len() {
            let (at, number) = (self.answers + ((self.number * EACH + i) * PLACE) as u64, first + i as u32);
            let bytes = self
                .host
                .until(|nic| {
                    let mut bytes = [0; PLACE];
                    nic.memory.read(at, &mut bytes)?;
                    Ok((word(&bytes, 0) == number).then_some(bytes))
                })
                .await?;
            self.host.overhead().await;
            let value = bytes[HEADER..][..VALUE].to_vec();
            answers.push(Answer { done: word(&bytes, 12) == 1, version: word(&bytes, 4), value });
        }
        Ok(answers)
    }

    /// One attempt; `None` if it aborts.
    async fn attempt(&mut self, serial: u32, records: &[usize]) -> Result<Option<Committed>> {
        let plain = |kind, record: usize, version| Request { kind, record, version, value: Vec::new() };
        let read = self.call(&records.iter().map(|record| plain(READ, *record, 0)).collect::<Vec<_>>()).await?;
        if read.iter().any(|answer| !answer.done) {
            return Ok(None);
        }
        let versions: Vec<u32> = read.iter().map(|answer| answer.version).collect();
        let with = |kind, range: std::ops::Range<usize>| -> Vec<Request> {
            range.map(|i| plain(kind, records[i], versions[i])).collect()
        };
        let locks = self.call(&with(LOCK, 0..WRITES)).await?;
        let locked = self.host.now();
        let mut good = locks.iter().all(|lock| lock.done);
        if good {
            good = self.call(&with(VALIDATE, WRITES..READS)).await?.iter().all(|answer| answer.done);
        }
        if !good {
            let held = (0..WRITES).filter(|i| locks[*i].done).map(|i| plain(UNLOCK, records[i], versions[i]));
            let unlocks = self.call(&held.collect::<Vec<_>>()).await?;
            ensure!(unlocks.iter().all(|answer| answer.done), "a lock cannot be given back");
            return Ok(None);
        }
        let values: Vec<Vec<u8>> = read.into_iter().map(|answer| answer.value).collect();
        for kind in [LOG, COMMIT] {
            let of = |i: usize| Request {
                kind,
                record: records[i],
                version: versions[i],
                value: model::written(serial, i, &values),
            };
            let answers = self.call(&(0..WRITES).map(of).collect::<Vec<_>>()).await?;
            ensure!(answers.iter().all(|answer| answer.done), "phase {kind} of a transaction was refused");
        }
        let read = versions.iter().zip(&values);
        let read = read.flat_map(|(version, value)| [&version.to_le_bytes()[..], value].concat()).collect();
        Ok(Some(Committed { locked, serial, records: records.to_vec(), read }))
    }
}

impl<'a> World<'a> {
    fn new(bench: &'a Bench, spin: bool, hot: u64) -> Result<Self> {
        let hosts = bench.hosts();
        let handler = if spin { Some(bench.compile(HANDLERS, "transact.c")?) } else { None };
        let model = Store::new();
        let (requests, answers) = (hosts[0].alloc(SLOTS * PLACE)?, hosts[0].alloc(SLOTS * PLACE)?);
        let participants = bench.set_up(|| {
            hosts[0].endless_window(ANSWERS, answers, SLOTS * PLACE)?;
            let mut participants = Vec::new();
            for (node, host) in hosts.iter().enumerate().skip(1) {
                participants.push(Participant::new(host.clone(), (node + 1) % 2, handler.as_ref(), &model)?);
            }
            hosts.iter().try_for_each(Host::listen)?;
            Ok(participants)
        })?;
        let random = ChaCha8Rng::seed_from_u64(hot);
        // Numbers of different processors differ, so no answer is taken for another one's.
        let numbers = (0..THREADS as u32).map(|thread| (thread << 24) + 1).collect();
        Ok(World { bench, handler, participants, requests, answers, hot, random, serial: 0, numbers, model })
    }

    /// Different records for a transaction.
    fn records(&mut self) -> Vec<usize> {
        let mut records = Vec::new();
        while records.len() < READS {
            let most = if self.random.random_range(0..100) < self.hot { HOT } else { RECORDS };
            let record = self.random.random_range(0..most);
            if !records.contains(&record) {
                records.push(record);
            }
        }
        records
    }

    /// So many transactions of each processor, each until it commits; everything is compared afterwards.
    fn run(&mut self, transactions: usize) -> Result<Outcome> {
        let shared = Rc::new(RefCell::new(Shared::default()));
        let numbers: Vec<Rc<Cell<u32>>> = self.numbers.iter().map(|number| Rc::new(Cell::new(*number))).collect();
        let mut programs: Vec<Program> = Vec::new();
        let spin = self.handler.is_some();
        for (number, next) in numbers.iter().enumerate() {
            let work: Vec<(u32, Vec<usize>, Vec<u64>)> = (0..transactions)
                .map(|_| {
                    self.serial += 1;
                    let waits = (0..16).map(|_| self.random.random_range(0..BACK_OFF)).collect();
                    (self.serial, self.records(), waits)
                })
                .collect();
            let host = self.bench.host(0);
            let (requests, answers) = (self.requests, self.answers);
            let mut thread = Thread { host, number, spin, requests, answers, next: next.get() };
            let (shared, next) = (shared.clone(), next.clone());
            programs.push(Box::pin(async move {
                for (serial, records, waits) in work {
                    for attempt in 1.. {
                        let start = thread.host.now();
                        if let Some(committed) = thread.attempt(serial, &records).await? {
                            let mut shared = shared.borrow_mut();
                            shared.latency += thread.host.now() - start;
                            shared.committed.push(committed);
                            break;
                        }
                        shared.borrow_mut().aborts += 1;
                        thread.host.busy(waits[attempt % waits.len()] * attempt as u64).await;
                    }
                }
                next.set(thread.next);
                shared.borrow_mut().ended += 1;
                Ok(())
            }));
        }
        if !spin {
            programs.extend(self.participants.iter().map(|participant| participant.program(&shared)));
        }
        let start = self.bench.now();
        self.bench.run(programs)?;
        let cycles = self.bench.now() - start;
        self.numbers = numbers.iter().map(|number| number.get()).collect();
        self.bench.idle(QUIET);
        let mut shared = shared.borrow_mut();
        ensure!(shared.committed.len() == THREADS * transactions, "not every transaction has committed once");
        // The order in which they had their locks: what one has validated was so at that time, too.
        shared.committed.sort_by_key(|committed| committed.locked);
        for Committed { serial, records, read, .. } in &shared.committed {
            self.bench.expect(&format!("what transaction {serial} has read"), read, &self.model.read(records))?;
            self.model.commit(*serial, records, WRITES);
        }
        self.compare()?;
        Ok(Outcome { cycles, aborts: shared.aborts, latency: shared.latency })
    }

    /// Requests that have no effect.
    fn refused(&mut self) -> Result<()> {
        if self.handler.is_none() {
            return Ok(());
        }
        let (coordinator, other) = (self.bench.host(0), self.bench.host(2));
        let mut requests: Vec<(Host, Vec<u8>)> =
            model::malformed().into_iter().map(|request| (coordinator.clone(), request)).collect();
        // Not of the coordinator.
        requests.push((other, model::request(LOCK, 0, 2, 1, 7, &[])));
        let node = 1 + self.participants.iter().position(|participant| participant.parity == 0).unwrap_or(0);
        let mut programs: Vec<Program> = Vec::new();
        for (host, request) in requests {
            let from = host.alloc(request.len())?;
            host.write(from, &request)?;
            let put = (from, request.len(), window_of(node, REQUESTS, 0));
            programs.push(Box::pin(async move { host.put_all(&[put]).await }));
        }
        self.bench.run(programs)?;
        self.bench.idle(4 * QUIET);
        self.bench.storm(0, node, REQUESTS, &model::malformed())?;
        self.compare()
    }

    /// Compares records, backups and versions of all participants: no lock is left.
    fn compare(&self) -> Result<()> {
        for participant in &self.participants {
            let parity = participant.parity;
            let memory = participant.host.read(participant.memory, 2 * RECORDS * PLACE)?;
            self.bench.expect(
                &format!("values at the node of parity {parity}"),
                &memory,
                &self.model.memory(parity),
            )?;
            let (records, backups) = participant.versions(self.handler.as_ref())?;
            self.bench.expect("versions of the records", &records, &self.model.versions(parity, false))?;
            self.bench.expect("versions of the backups", &backups, &self.model.versions(parity, true))?;
        }
        Ok(())
    }
}

impl Participant {
    fn new(host: Host, parity: usize, handler: Option<&Handler>, store: &Store) -> Result<Participant> {
        let memory = host.alloc(2 * RECORDS * PLACE)?;
        host.write(memory, &store.memory(parity))?;
        let (requests, answers) = (host.alloc(SLOTS * PLACE)?, host.alloc(SLOTS * PLACE)?);
        let words = |backups| -> Vec<u32> {
            store.versions(parity, backups).chunks_exact(4).map(|version| word(version, 0)).collect()
        };
        let versions = Versions { records: words(false), backups: words(true), taken: vec![0; SLOTS] };
        let mut context = None;
        if let Some(handler) = handler {
            let host_region = Some((memory, (2 * RECORDS * PLACE) as u32));
            let options = ContextOptions { host_region, ..ContextOptions::default() };
            let rule = format!("spindle.addr == {REQUESTS}");
            let installed = host.install(&handler.image, &rule, &options, Action::ContextPerMessage)?;
            host.set_word(installed, handler, "parity", parity as u32)?;
            host.set_target(installed, handler, "coordinator", &window_of(0, ANSWERS, 0))?;
            host.set_words(installed, handler, "versions", &versions.records)?;
            host.set_words(installed, handler, "backups", &versions.backups)?;
            context = Some(installed);
        } else {
            host.endless_window(REQUESTS, requests, SLOTS * PLACE)?;
        }
        let state = Rc::new(RefCell::new(versions));
        Ok(Participant { host, parity, memory, requests, answers, context, state })
    }

    /// Versions of records and backups.
    fn versions(&self, handler: Option<&Handler>) -> Result<(Vec<u8>, Vec<u8>)> {
        if let (Some(handler), Some(context)) = (handler, self.context) {
            let held = |name| -> Result<Vec<u8>> {
                let variable = variable(&handler.elf, &handler.image, name)?;
                let mut bytes = vec![0; RECORDS * 4];
                self.host.nic(|nic| nic.read_state(context, variable.offset, &mut bytes))?;
                Ok(bytes)
            };
            return Ok((held("versions")?, held("backups")?));
        }
        let state = self.state.borrow();
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Ok((bytes(&state.records), bytes(&state.backups)))
    }

    /// The process that answers, until all of the coordinator's processors have ended.
    fn program(&self, shared: &Rc<RefCell<Shared>>) -> Program {
        let (host, state, shared) = (self.host.clone(), self.state.clone(), shared.clone());
        let (memory, requests, answers) = (self.memory, self.requests, self.answers);
        Box::pin(async move {
            loop {
                let next = |nic: &mut Node| {
                    if shared.borrow().ended == THREADS {
                        return Ok(Some(None));
                    }
                    let mut bytes = vec![0; SLOTS * PLACE];
                    nic.memory.read(requests, &mut bytes)?;
                    let mut state = state.borrow_mut();
                    let new = |slot: &usize| word(&bytes, slot * PLACE + 8) != state.taken[*slot];
                    let Some(slot) = (0..SLOTS).find(new) else { return Ok(None) };
                    state.taken[slot] = word(&bytes, slot * PLACE + 8);
                    Ok(Some(Some((slot, bytes[slot * PLACE..][..PLACE].to_vec()))))
                };
                let Some((slot, request)) = host.until(next).await? else { return Ok(()) };
                host.overhead().await;
                let answer = answer(&host, &mut state.borrow_mut(), memory, &request)?;
                if matches!(request[0], READ | LOG | COMMIT) {
                    host.work(Work::Copy, VALUE).await;
                }
                let at = answers + (slot * PLACE) as u64;
                host.write(at, &answer)?;
                host.put(at, answer.len(), &window_of(0, ANSWERS, slot * PLACE)).await?;
            }
        })
    }
}

/// Does what a request of the coordinator asks for.
fn answer(host: &Host, state: &mut Versions, memory: u64, request: &[u8]) -> Result<Vec<u8>> {
    let (kind, owner) = (request[0], u32::from(request[1]) / EACH as u32);
    let record = usize::from(u16::from_le_bytes([request[2], request[3]]));
    let (mut version, number) = (word(request, 4), word(request, 8));
    let held = LOCKED | owner << OWNER | version;
    let at = |place: usize| memory + (place * PLACE) as u64;
    let (records, backups) = (&mut state.records, &mut state.backups);
    let mut value = Vec::new();
    let done = match kind {
        READ => {
            version = records[record];
            value = host.read(at(record), VALUE)?;
            version & LOCKED == 0
        }
        LOCK | UNLOCK => {
            let (from, to) = if kind == LOCK { (version, held) } else { (held, version) };
            let done = records[record] == from;
            if done {
                records[record] = to;
            }
            done
        }
        VALIDATE => records[record] == version,
        LOG => {
            let done = backups[record] == version;
            if done {
                host.write(at(RECORDS + record), &request[HEADER..])?;
                backups[record] = version + 1;
            }
            done
        }
        _ => {
            let done = records[record] == held;
            if done {
                host.write(at(record), &request[HEADER..][..VALUE])?;
                records[record] = version + 1;
            }
            done
        }
    };
    let mut answer: Vec<u8> =
        [number, version, number, u32::from(done)].iter().flat_map(|word| word.to_le_bytes()).collect();
    answer.extend(value);
    Ok(answer)
}
