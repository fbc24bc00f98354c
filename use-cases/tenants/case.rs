//! Two tenants on one NIC: what the requests of one wait for those of the other, and how the processors are shared.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting};
use crate::case::{value, Broken, Case, Measured, Mode, Row, HOSTS};
use anyhow::Result;
use model::{PLACES, REPLY, REQUEST};
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, Target};
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("work.c", include_str!("handlers/work.c"))];
const MODES: &[Mode] = &[
    Mode { name: "alone", about: "the light tenant has the NIC to itself" },
    Mode { name: "together", about: "both tenants in one context: first come, first served" },
    Mode { name: "contexts", about: "a context for each tenant, of equal weights" },
    Mode { name: "masks", about: "a context for each tenant, a quarter of the processors for the light one alone" },
];
/// Nodes: the light tenant's client, the server, the heavy tenant's client.
const SERVER: usize = 1;
const CLIENTS: [usize; 2] = [0, 2];
const LIGHT: usize = 0;
const HEAVY: usize = 1;
/// Rounds of the light tenant's requests.
const ROUNDS: u32 = 64;
/// Bursts that are measured.
const BURSTS: usize = 2;
/// For each processor of the server: requests after which each has run a handler; requests of a burst of the light tenant; requests that
/// a tenant has outstanding, the heavy one always, the light one while shares are measured; requests of the light tenant meanwhile.
const WARM: usize = 3;
const BURST: usize = 1;
const OUTSTANDING: usize = 6;
const FLOOD: usize = 8;
/// The same on the small NIC.
const SMALL: [usize; 4] = [1, BURST, OUTSTANDING, 4];
/// Address of each tenant's requests, and of its client's window.
const REQUESTS: u64 = 0x200;
const REPLIES: u64 = 0x100;
const QUIET: u64 = 2000;
/// Cycles after which a malformed request is dropped.
const DROPPED: u64 = 800;
/// Cycles between two looks of a client at all places where replies are to come.
const LOOK: u64 = 8;

/// The case.
pub const CASE: Case = Case {
    name: "tenants",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(CLIENTS.len() + 1)?;
    let rounds = [ROUNDS, point as u32];
    let [warm, burst, outstanding, flooded] = if setting.small() { SMALL } else { [WARM, BURST, OUTSTANDING, FLOOD] }
        .map(|requests| requests * setting.config.total_hpus());
    let server = Server::new(&bench, mode)?;
    let mut tenants: Vec<Tenant> = (0..CLIENTS.len())
        .map(|number| Tenant::new(bench.host(CLIENTS[number]), number, rounds[number]))
        .collect::<Result<_>>()?;
    bench.hosts().iter().try_for_each(Host::listen)?;
    malformed(&bench, &tenants[LIGHT])?;
    // Each processor runs each handler once; the second burst says what a request of the tenant takes.
    let mut cycles_of = [0.0; 2];
    for tenant in &mut tenants {
        for count in [warm, burst] {
            let before = server.busy(&bench)?;
            let program = tenant.requests(count, outstanding, &Rc::default());
            bench.run(vec![program])?;
            bench.idle(QUIET);
            cycles_of[tenant.number] = (server.busy(&bench)? - before) as f64 / count as f64;
        }
    }
    // The light tenant's bursts beside the heavy one's flood.
    let mut times = Vec::new();
    let flood = (mode != "alone").then_some(usize::MAX);
    for _ in 0..BURSTS {
        let over = Rc::new(Cell::new(false));
        let time = Rc::new(Cell::new(0));
        let heavy = flood.map(|count| tenants[HEAVY].requests(count, outstanding, &over));
        let (light, host) = (tenants[LIGHT].requests(burst, burst, &Rc::default()), bench.host(CLIENTS[LIGHT]));
        let seen = time.clone();
        let mut programs: Vec<Program> = vec![Box::pin(async move {
            // The heavy tenant's requests wait by now.
            host.busy(QUIET).await;
            let start = host.now();
            light.await?;
            seen.set(host.now() - start);
            over.set(true);
            Ok(())
        })];
        programs.extend(heavy);
        bench.run(programs)?;
        bench.idle(QUIET);
        times.push(time.get());
    }
    // Both flood: what each gets of the processors until the light tenant has all its replies.
    let over = Rc::new(Cell::new(false));
    let heavy = flood.map(|count| tenants[HEAVY].requests(count, outstanding, &over));
    let before = tenants[HEAVY].answered.get();
    let light = tenants[LIGHT].requests(flooded, outstanding, &Rc::default());
    let (answered, heavy_answered) = (Rc::new(Cell::new(0)), tenants[HEAVY].answered.clone());
    let heavy_then = answered.clone();
    let mut programs: Vec<Program> = vec![Box::pin(async move {
        light.await?;
        heavy_then.set(heavy_answered.get() - before);
        over.set(true);
        Ok(())
    })];
    programs.extend(heavy);
    bench.run(programs)?;
    bench.idle(QUIET);
    tenants.iter().try_for_each(|tenant| tenant.check(&bench))?;
    let shares = [flooded as f64 * cycles_of[LIGHT], answered.get() as f64 * cycles_of[HEAVY]];
    let jain = (shares[0] + shares[1]).powi(2) / (2.0 * (shares[0].powi(2) + shares[1].powi(2)));
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
    let worst = times.iter().max().copied().unwrap_or_default() as f64;
    Measured::new(
        &bench,
        [
            ("burst_ns", setting.ns(mean)),
            ("worst_burst_ns", setting.ns(worst)),
            ("heavy_cycles", cycles_of[HEAVY]),
            ("light_cycles", cycles_of[LIGHT]),
            ("jain", jain),
        ],
    )
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (host, ending) in HOSTS {
        let get = |mode, name| value(rows, mode, host, 512, name);
        for mode in ["contexts", "masks"] {
            if let (Some(own), Some(together)) = (get(mode, "burst_ns"), get("together", "burst_ns")) {
                figures.push((format!("saved_{mode}{ending}"), 1.0 - own / together));
            }
            if let (Some(own), Some(alone)) = (get(mode, "burst_ns"), get("alone", "burst_ns")) {
                figures.push((format!("slowdown_{mode}{ending}"), own / alone));
            }
        }
        for mode in ["together", "contexts"] {
            figures.extend(get(mode, "jain").map(|jain| (format!("jain_{mode}{ending}"), jain)));
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "alone",
        "a request of too many rounds is answered",
        "work.c",
        "rounds > MOST_ROUNDS",
        "rounds > 2 * MOST_ROUNDS",
    ),
    Broken::new("alone", "a round is missing", "work.c", "; rounds; rounds--", "; rounds > 1; rounds--"),
];

/// The server's NIC.
struct Server {
    /// A context, or one for each tenant.
    contexts: Vec<ContextId>,
}

impl Server {
    fn new(bench: &Bench, mode: &str) -> Result<Server> {
        let host = bench.host(SERVER);
        let handler = bench.compile(HANDLERS, "work.c")?;
        let processors = bench.setting().config.total_hpus();
        let all = u32::MAX >> (32 - processors);
        let own = all >> (processors - processors.div_ceil(4));
        let (rules, masks) = match mode {
            "contexts" => ([REQUESTS, REQUESTS + 1].map(rule).to_vec(), [all, all]),
            "masks" => ([REQUESTS, REQUESTS + 1].map(rule).to_vec(), [own, all & !own]),
            _ => (vec![[REQUESTS, REQUESTS + 1].map(rule).join(" || ")], [all, all]),
        };
        let install = |(rule, core_mask): (&String, u32)| -> Result<ContextId> {
            let options = ContextOptions { core_mask, ..ContextOptions::default() };
            let context = host.install(&handler.image, rule, &options, Action::Context)?;
            let targets = CLIENTS.iter().flat_map(|client| words(&window_of(*client, REPLIES, 0))).collect::<Vec<_>>();
            host.set_words(context, &handler, "clients", &targets)?;
            Ok(context)
        };
        Ok(Server { contexts: rules.iter().zip(masks).map(install).collect::<Result<_>>()? })
    }

    /// Cycles of all handlers so far.
    fn busy(&self, bench: &Bench) -> Result<u64> {
        let cycles = |context: &ContextId| -> Result<u64> {
            Ok(bench.host(SERVER).nic(|nic| nic.context_counters(*context))?.cycles)
        };
        self.contexts.iter().map(cycles).sum()
    }
}

/// The rule for the requests of this address.
fn rule(address: u64) -> String {
    format!("spindle.addr == {address}")
}

/// A `spin_target_t`.
fn words(to: &Target) -> [u32; 6] {
    [to.node.into(), to.process.into(), to.address as u32, (to.address >> 32) as u32, to.key, to.offset]
}

/// A tenant's client.
struct Tenant {
    host: Host,
    number: usize,
    rounds: u32,
    /// Where requests leave from, a place for each that is outstanding.
    from: u64,
    /// Where replies arrive.
    memory: u64,
    sent: Rc<Cell<usize>>,
    answered: Rc<Cell<usize>>,
}

impl Tenant {
    fn new(host: Host, number: usize, rounds: u32) -> Result<Tenant> {
        let (from, memory) = (host.alloc(PLACES * REQUEST)?, host.alloc(PLACES * REPLY)?);
        host.endless_window(REPLIES, memory, PLACES * REPLY)?;
        Ok(Tenant { host, number, rounds, from, memory, sent: Rc::default(), answered: Rc::default() })
    }

    /// The client's program: sends so many requests, or goes on until `over`; so many are outstanding at most. Ends with the last reply.
    fn requests(&self, count: usize, outstanding: usize, over: &Rc<Cell<bool>>) -> Program {
        let (host, number, rounds) = (self.host.clone(), self.number, self.rounds);
        let (from, memory) = (self.from, self.memory);
        let (sent, answered, over) = (self.sent.clone(), self.answered.clone(), over.clone());
        let end = self.sent.get().saturating_add(count);
        let to = window_of(SERVER, REQUESTS + number as u64, 0);
        Box::pin(async move {
            let mut waiting: Vec<(u64, [u8; REPLY])> = Vec::new();
            loop {
                let first = sent.get();
                let more = if over.get() { 0 } else { (outstanding - waiting.len()).min(end - first) };
                if more > 0 {
                    let mut puts = Vec::new();
                    for count in first..first + more {
                        let at = from + (count % PLACES * REQUEST) as u64;
                        host.write(at, &model::request(number as u32, count, rounds))?;
                        puts.push((at, REQUEST, to));
                        waiting.push((memory + (count % PLACES * REPLY) as u64, model::reply(count, rounds)));
                    }
                    host.put_all(&puts).await?;
                    sent.set(first + more);
                } else if waiting.is_empty() {
                    return Ok(());
                }
                // Replies overtake each other.
                let mut at = 0;
                while at < waiting.len() {
                    if host.read(waiting[at].0, REPLY)? == waiting[at].1 {
                        waiting.swap_remove(at);
                        answered.set(answered.get() + 1);
                        host.overhead().await;
                    } else {
                        at += 1;
                    }
                }
                host.busy(LOOK).await;
            }
        })
    }

    /// Compares the window with the model's.
    fn check(&self, bench: &Bench) -> Result<()> {
        let got = self.host.read(self.memory, PLACES * REPLY)?;
        bench.expect(&format!("replies of tenant {}", self.number), &got, &model::window(self.sent.get(), self.rounds))
    }
}

/// Requests that are dropped: nothing arrives anywhere.
fn malformed(bench: &Bench, tenant: &Tenant) -> Result<()> {
    let (host, from) = (tenant.host.clone(), tenant.host.alloc(64)?);
    let to = window_of(SERVER, REQUESTS + tenant.number as u64, 0);
    for request in model::malformed() {
        host.write(from, &request)?;
        let host = host.clone();
        let bytes = request.len();
        bench.run(vec![Box::pin(async move { host.put(from, bytes, &to).await })])?;
        bench.idle(DROPPED);
        tenant.check(bench)?;
    }
    bench.storm(host.number(), SERVER, to.address, &model::malformed())?;
    tenant.check(bench)
}
