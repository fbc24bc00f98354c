//! Consensus: a client's proposal, replicated to a majority and answered, by hosts and by handlers; and the next leader when one stops.

mod model;

use crate::bench::{window_of, word, Bench, Host, Prepared, Program, Setting, KEY, PROCESS};
use crate::case::{value, Broken, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use anyhow::{bail, ensure, Result};
use model::{Log, ANSWERS, ENTRY};
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, EventKind, EventRing, Target};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("replica.c", include_str!("handlers/replica.c"))];
const MODES: &[Mode] = &[
    Mode {
        name: "host",
        about: "hosts of the replicas poll: the leader's puts entries, the followers' acknowledge them",
    },
    Mode {
        name: "one-sided",
        about: "the leader's host puts entries into the followers' logs; acknowledgements of their NICs count",
    },
    Mode { name: "spin", about: "handlers of leader and followers do all of it, heartbeats and elections too" },
];
/// Addresses of windows: messages and entries of replicas, acknowledgements at the leader, answers at the client.
const REPLICA: u64 = 0xC0;
const ACKS: u64 = 0xC1;
const CLIENT: u64 = 0xC2;
/// The first leader; replicas are the nodes from it on, the client is node 0.
const LEADER: usize = 1;
/// Entries of a host's log.
const ENTRIES: usize = 128;
/// Requests that warm the NICs, also on the small NIC, and that are measured.
const WARM: usize = 16;
const WARM_SMALL: usize = 2;
const ROUNDS: usize = 4;
/// HPUs of the handlers: those of cluster 0.
const CORES: u32 = 0xF;
/// Cycles between heartbeats, and after which a client proposes again, to the next replica.
const BEAT: u64 = 2000;
const PATIENCE: u64 = 5 * BEAT;
/// Cycles in which the NICs become idle.
const QUIET: u64 = 400;
/// When leaders stop, one after another: cycles after the client has begun with a proposal.
const STOPS: [u64; 2] = [270, 0];
/// Arguments of tasks.
const TICK: u64 = 1;
const ELECT: u64 = 2;

/// The case.
pub const CASE: Case = Case {
    name: "consensus",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(1 + point as usize)?;
    let mut replicas = Replicas::new(&bench, mode)?;
    for _ in 0..if setting.small() { WARM_SMALL } else { WARM } {
        replicas.request()?;
    }
    replicas.check()?;
    let mut cycles = 0;
    for _ in 0..ROUNDS {
        replicas.refused()?;
        cycles += replicas.request()?;
        replicas.check()?;
    }
    let mut values = vec![("latency_ns", setting.ns(cycles as f64 / ROUNDS as f64))];
    if mode == "spin" {
        let mut longest = 0;
        for stop in &STOPS[..(point as usize - 1) / 2] {
            longest = longest.max(replicas.stop_leader(*stop)?);
            replicas.request()?;
            replicas.check()?;
        }
        values.push(("takeover_ns", setting.ns(longest as f64)));
    }
    Measured::new(&bench, values)
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (host, name) in HOSTS {
        for nodes in [3, 5] {
            let get = |mode| value(rows, mode, host, nodes, "latency_ns");
            for (mode, text) in [("host", ""), ("one-sided", "_one_sided")] {
                if let (Some(spin), Some(other)) = (get("spin"), get(mode)) {
                    figures.push((format!("reduction{text}_{nodes}{name}"), 1.0 - spin / other));
                }
            }
            if let Some(takeover) = value(rows, "spin", host, nodes, "takeover_ns") {
                figures.push((format!("takeover_us_{nodes}{name}"), takeover / 1000.0));
            }
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "spin",
        "an entry is committed that is not the next",
        "replica.c",
        "entry(r, ++r->commit)",
        "entry(r, (r->commit = index))",
    ),
    Broken::new(
        "spin",
        "followers do not append",
        "replica.c",
        "append(r, index, of, flags",
        "append(r, index, of, 1 | flags",
    ),
    Broken::new(
        "spin",
        "a client may send what replicas send",
        "replica.c",
        "(kind == PROPOSE) != (from == r->known.client.node)",
        "false",
    ),
    Broken::new(
        "spin",
        "a proposal may have any length",
        "replica.c",
        "h->msg_len != sizeof(struct head) + (value ? VALUE : 0)",
        "false",
    ),
    Broken::new(
        "spin",
        "a request that was proposed twice is appended twice",
        "replica.c",
        "(int32_t)(number - entry(r, r->last)->number) <= 0",
        "false",
    ),
    Broken::new("spin", "no node follows a leader that has stopped", "replica.c", "r->role != LEADER && late", "false"),
];

/// The replicas, the client, and what the model knows of them.
struct Replicas<'a> {
    bench: &'a Bench,
    hosts: Vec<Host>,
    mode: String,
    /// Log of each node; the client's is its memory of proposals.
    logs: Vec<u64>,
    /// Of the client.
    answers: u64,
    /// Put of the client's proposal to a replica, and where its bytes are.
    propose: Prepared,
    proposal: u64,
    /// Of hosts: the leader's proposal and acknowledgements, each host's own, and the ends of puts.
    inbox: u64,
    acks: u64,
    own: Vec<u64>,
    ring: Option<Rc<RefCell<EventRing>>>,
    /// Of handlers.
    contexts: Vec<ContextId>,
    /// The node that leads, and the last state of those that have stopped.
    leader: usize,
    stopped: Vec<(usize, Log)>,
    model: Log,
}

impl<'a> Replicas<'a> {
    fn new(bench: &'a Bench, mode: &str) -> Result<Self> {
        let hosts = bench.hosts();
        let logs = hosts.iter().map(|host| host.alloc(ENTRIES * ENTRY)).collect::<Result<Vec<_>>>()?;
        let own = hosts.iter().map(|host| host.alloc(64)).collect::<Result<_>>()?;
        let (client, leader) = (hosts[0].clone(), &hosts[LEADER]);
        let (proposal, answers) = (client.alloc(128)?, client.alloc(8 * ANSWERS)?);
        client.endless_window(CLIENT, answers, 8 * ANSWERS)?;
        let (inbox, acks) = (leader.alloc(128)?, leader.alloc(4 * hosts.len())?);
        let (mut contexts, mut ring) = (Vec::new(), None);
        if mode == "spin" {
            contexts = bench.set_up(|| install(bench, &hosts, &logs))?;
        } else {
            for (node, host) in hosts.iter().enumerate().skip(LEADER + 1) {
                host.endless_window(REPLICA, logs[node], ENTRIES * ENTRY)?;
            }
            // Proposals lie where the messages of handlers would.
            leader.endless_window(REPLICA, inbox, 128)?;
            leader.endless_window(ACKS, acks, 4 * hosts.len())?;
            ring = Some(Rc::new(RefCell::new(leader.nic(|nic| nic.open_ring(PROCESS, 512))?)));
        }
        hosts.iter().try_for_each(Host::listen)?;
        let mut model = Log::new();
        if mode == "spin" {
            for (node, context) in contexts.iter().enumerate() {
                let host = &hosts[node + LEADER];
                host.nic(|nic| nic.start_task(*context, TICK, 0))?;
            }
            bench.idle(QUIET);
            leader.nic(|nic| nic.start_task(contexts[0], ELECT, 0))?;
            bench.idle(2 * BEAT);
            model.lead();
        }
        let bytes = model::proposal(1).len();
        let propose = client.prepare(PROCESS, proposal, bytes, &window_of(LEADER, REPLICA, 0))?;
        let (mode, leader, stopped) = (mode.to_string(), LEADER, Vec::new());
        Ok(Replicas {
            bench,
            hosts,
            mode,
            logs,
            answers,
            propose,
            proposal,
            inbox,
            acks,
            own,
            ring,
            contexts,
            leader,
            stopped,
            model,
        })
    }
    /// The next request: cycles from the client's call until it has the answer.
    fn request(&mut self) -> Result<u64> {
        let number = self.model.request();
        self.hosts[0].write(self.proposal, &model::proposal(number))?;
        if self.leader != LEADER {
            // Not measured: the put of the first leader is prepared alone.
            return self.propose_until_answered(number, self.leader, None);
        }
        let (client, propose) = (self.hosts[0].clone(), self.propose);
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let (answer, seen) = (self.answers + self.slot(number) as u64 + 4, end.clone());
        let mut programs: Vec<Program> = vec![Box::pin(async move {
            client.fire(&propose).await?;
            client.bytes(answer, &number.to_le_bytes()).await?;
            seen.set(client.now());
            Ok(())
        })];
        if self.mode != "spin" {
            programs.push(self.leader_host(number)?);
        }
        if self.mode == "host" {
            for node in LEADER + 1..self.hosts.len() {
                programs.push(self.follower_host(node, number)?);
            }
        }
        self.bench.run(programs)?;
        self.bench.idle(QUIET);
        Ok(end.get() - start)
    }

    fn slot(&self, number: u32) -> usize {
        number as usize % ANSWERS * 8
    }

    /// Entry of a request in a log without terms.
    fn entry(&self, number: u32) -> (usize, Vec<u8>) {
        let head = [0, 0, number, number].iter().flat_map(|word: &u32| word.to_le_bytes()).collect::<Vec<_>>();
        ((number as usize - 1) * ENTRY, [head, model::value(number)].concat())
    }

    /// The leader's host: appends a proposal, has it on a majority of logs, answers.
    fn leader_host(&self, number: u32) -> Result<Program> {
        let (host, replicas) = (self.hosts[LEADER].clone(), self.hosts.len() - LEADER);
        let (inbox, log, acks, own, ring) =
            (self.inbox, self.logs[LEADER], self.acks, self.own[LEADER], self.ring.clone());
        let (offset, entry) = self.entry(number);
        let (slot, proposal) = (self.slot(number), model::proposal(number));
        let one_sided = self.mode == "one-sided";
        let followers = LEADER + 1..self.hosts.len();
        Ok(Box::pin(async move {
            host.bytes(inbox, &proposal).await?;
            host.work(Work::Copy, ENTRY).await;
            let at = log + offset as u64;
            host.write(at, &entry)?;
            let put = |node: usize| (at, ENTRY, window_of(node, REPLICA, offset), number as u16);
            let puts: Vec<(u64, usize, Target, u16)> = followers.clone().map(put).collect();
            host.put_numbered(&puts).await?;
            // Its own log counts, so half of the replicas, rounded down, are what a majority still needs.
            let mut taken = 0;
            while taken < replicas / 2 {
                host.until(|nic| {
                    if one_sided {
                        let Some(ring) = &ring else { bail!("no ring of events") };
                        return Ok(match nic.poll_event(&mut ring.borrow_mut())?.map(|event| event.kind) {
                            Some(EventKind::Put { acknowledged: true, number: of, .. }) if of == number as u16 => {
                                Some(())
                            }
                            Some(EventKind::Put { acknowledged: true, .. }) | None => None,
                            Some(other) => bail!("{other:?} instead of the end of a put"),
                        });
                    }
                    let mut there = 0;
                    for node in followers.clone() {
                        let mut word = [0; 4];
                        spindle::HostMemory::read(&nic.memory, acks + 4 * node as u64, &mut word)?;
                        there += usize::from(word == number.to_le_bytes());
                    }
                    Ok((there > taken).then_some(()))
                })
                .await?;
                host.overhead().await;
                taken += 1;
            }
            host.write(own, &[number.to_le_bytes(), number.to_le_bytes()].concat())?;
            host.put(own, 8, &window_of(0, CLIENT, slot)).await
        }))
    }

    /// A follower's host: sees an entry in its log, acknowledges it.
    fn follower_host(&self, node: usize, number: u32) -> Result<Program> {
        let (host, own) = (self.hosts[node].clone(), self.own[node]);
        let (offset, entry) = self.entry(number);
        let at = self.logs[node] + offset as u64;
        Ok(Box::pin(async move {
            host.bytes(at, &entry).await?;
            host.write(own, &number.to_le_bytes())?;
            host.put(own, 4, &window_of(LEADER, ACKS, 4 * node)).await
        }))
    }

    /// Messages that change no log, to each of the replicas: a host that serves with handlers has no say in what comes.
    fn refused(&self) -> Result<()> {
        if self.mode != "spin" {
            return Ok(());
        }
        let client = self.hosts[0].clone();
        let mut puts = Vec::new();
        let malformed = model::malformed(self.model.next());
        self.bench.storm(0, LEADER, REPLICA, &malformed)?;
        for message in malformed {
            let from = client.alloc(message.len())?;
            client.write(from, &message)?;
            puts.extend((LEADER..self.hosts.len()).map(|node| (from, message.len(), window_of(node, REPLICA, 0))));
        }
        self.bench.run(vec![Box::pin(async move {
            for put in puts {
                client.put_all(&[put]).await?;
                client.busy(50).await;
            }
            Ok(())
        })])?;
        self.bench.idle(QUIET);
        Ok(())
    }

    /// Proposes until there is an answer, to one replica after another; cycles from the stop of the leader, or from the call.
    fn propose_until_answered(&self, number: u32, first: usize, stop: Option<(u64, Program)>) -> Result<u64> {
        let (client, replicas) = (self.hosts[0].clone(), self.hosts.len() - LEADER);
        let (from, bytes) = (self.proposal, model::proposal(number).len());
        let (answer, end) = (self.answers + self.slot(number) as u64 + 4, Rc::new(Cell::new(0)));
        let seen = end.clone();
        let mut start = self.bench.now();
        let mut programs: Vec<Program> = vec![Box::pin(async move {
            for attempt in 0.. {
                ensure!(attempt < 4 * replicas, "request {number} is not answered after {attempt} attempts");
                let to = LEADER + (first - LEADER + attempt) % replicas;
                client.put(from, bytes, &window_of(to, REPLICA, 0)).await?;
                let late = client.now() + PATIENCE;
                let there = client
                    .until(|nic| {
                        let mut word = [0; 4];
                        spindle::HostMemory::read(&nic.memory, answer, &mut word)?;
                        let (there, over) = (word == number.to_le_bytes(), nic.memory.card().sim().cycle() >= late);
                        Ok((there || over).then_some(there))
                    })
                    .await?;
                if there {
                    client.overhead().await;
                    seen.set(client.now());
                    break;
                }
            }
            Ok(())
        })];
        if let Some((delay, program)) = stop {
            start += delay;
            programs.push(program);
        }
        self.bench.run(programs)?;
        Ok(end.get().saturating_sub(start))
    }

    /// The leader stops, so many cycles after the client has begun with a proposal: cycles from then until the client has its answer,
    /// from the next leader.
    fn stop_leader(&mut self, delay: u64) -> Result<u64> {
        let number = self.model.next();
        self.hosts[0].write(self.proposal, &model::proposal(number))?;
        let (host, context) = (self.hosts[self.leader].clone(), self.contexts[self.leader - LEADER]);
        let before = self.model.clone();
        let program: Program = Box::pin(async move {
            host.busy(delay).await;
            // No handler of this node runs any more, and nothing comes in.
            host.nic(|nic| nic.set_receive(false))?;
            host.nic(|nic| nic.deactivate(context))?;
            Ok(())
        });
        let cycles = self.propose_until_answered(number, self.leader, Some((delay, program)))?;
        self.stopped.push((self.leader, before));
        // The log of the last node shows what became of the entry, and the model checks every byte of it.
        let last = self.hosts.len() - 1;
        self.bench.idle(3 * BEAT);
        let entries = self.hosts[last].read(self.logs[last] + self.model.end() as u64, 2 * ENTRY)?;
        let survived = entries[4..8] == [0; 4];
        let term = word(&entries, if survived { ENTRY } else { 0 });
        ensure!(
            self.model.stop(survived, term),
            "the next leader's log begins with term {term}, which is no later one"
        );
        self.leader += 1;
        Ok(cycles)
    }

    /// Compares the logs of all nodes, and the answers, when the followers know what is committed.
    fn check(&self) -> Result<()> {
        self.bench.idle(if self.mode == "spin" { 2 * BEAT } else { QUIET });
        let bytes = ENTRIES * ENTRY;
        for node in LEADER..self.hosts.len() {
            let got = self.hosts[node].read(self.logs[node], bytes)?;
            let Some((_, log)) = self.stopped.iter().find(|(stopped, _)| *stopped == node) else {
                self.bench.expect(&format!("the log of node {node}"), &got, &self.model.memory(bytes))?;
                continue;
            };
            // What it had when it stopped, and perhaps the request that was under way.
            let kept = self.model.memory(bytes);
            let had = if got[log.end()..log.end() + ENTRY] == [0; ENTRY] { log.end() } else { log.end() + ENTRY };
            self.bench.expect(&format!("the log of node {node}, which has stopped"), &got[..had], &kept[..had])?;
            self.bench.expect("the rest of that log", &got[had..], &vec![0; bytes - had])?;
        }
        let answers = self.hosts[0].read(self.answers, 8 * ANSWERS)?;
        self.bench.expect("the answers", &answers, self.model.answers())
    }
}

/// Handlers on all replicas.
fn install(bench: &Bench, hosts: &[Host], logs: &[u64]) -> Result<Vec<ContextId>> {
    let handler = bench.compile(HANDLERS, "replica.c")?;
    let mut contexts = Vec::new();
    for (node, host) in hosts.iter().enumerate().skip(LEADER) {
        let host_region = Some((logs[node], (ENTRIES * ENTRY) as u32));
        let options = ContextOptions { host_region, core_mask: CORES, ..ContextOptions::default() };
        let context = host.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
        let target = |mailbox: u64| [0, PROCESS as u32, mailbox as u32, (mailbox >> 32) as u32, KEY, 0];
        let settings = [node as u32, (hosts.len() - LEADER) as u32, BEAT as u32, 0];
        let settings = [&settings[..], &target(REPLICA), &target(CLIENT)].concat();
        host.set_words(context, &handler, "settings", &settings)?;
        contexts.push(context);
    }
    Ok(contexts)
}
