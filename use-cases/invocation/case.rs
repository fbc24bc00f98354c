//! Invocation of functions (rFaaS): from the client's put of a request to the worker that has it.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting, KEY, PROCESS};
use crate::case::{value, Broken, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use anyhow::{ensure, Context, Result};
use model::{Fault, Server, FAULTS, HEADER, LEASES, PLACES};
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextId, ContextOptions, Target};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("invoke.c", include_str!("handlers/invoke.c"))];
const MODES: &[Mode] = &[
    Mode { name: "raw", about: "the client puts into the window of a worker of its choice; no lease is checked" },
    Mode {
        name: "spin",
        about: "a handler checks the lease, takes an idle worker and redirects the request to its window",
    },
    Mode {
        name: "host",
        about: "a dispatcher process checks the lease, copies the request to an idle worker and flags it",
    },
];
/// Workers: twice as many as the cluster of the handlers has HPUs, so that a burst warms all of them.
const WORKERS: usize = 8;
/// Address of requests for the handler or the dispatcher. That of worker w has bit w set, too.
const INVOKE: u64 = 0xFAA5_0000;
/// HPUs of the handlers: those of cluster 0.
const CORES: u32 = 0xF;
/// Arguments of tasks: workers that wait again, a lease that has changed.
const WAITS: u64 = 0;
const CHANGED: u64 = 1 << 32;
/// Bursts that warm the NIC, and rounds that are measured.
const BURSTS: usize = 2;
const ROUNDS: usize = 6;
/// A worker has this many requests at a time: it waits again as many rounds after it got one.
const HELD: usize = 3;
/// Buffers of a worker, and of the dispatcher: one for each request.
const BUFFERS: usize = BURSTS + ROUNDS.div_ceil(HELD + 1);
const REQUESTS: usize = BURSTS * WORKERS + 2 * ROUNDS;
/// Cycles within which a request arrives, and in which the NICs become idle.
const ARRIVES: u64 = 20_000;
const QUIET: u64 = 1500;

/// The case.
pub const CASE: Case = Case {
    name: "invocation",
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
    let cycles = invocations(&bench, mode, point as usize)?;
    Measured::new(&bench, [("latency_ns", setting.ns(cycles)), ("cycles", cycles)])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (host, name) in HOSTS {
        for point in [8, 1024] {
            let cycles = |mode| value(rows, mode, host, point, "cycles");
            for mode in ["spin", "host"] {
                if let (Some(taken), Some(raw)) = (cycles(mode), cycles("raw")) {
                    figures.push((format!("added_cycles_{mode}_{point}{name}"), taken - raw));
                }
            }
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new("spin", "a lease never expires", "invoke.c", "deadline - now) <= 0", "deadline - now) == 1"),
    Broken::new("spin", "any lease will do", "invoke.c", "word != shown", "word == 1"),
    Broken::new("spin", "a word of zeros is a lease", "invoke.c", "shown == 0", "false"),
    Broken::new(
        "spin",
        "a busy worker gets a request",
        "invoke.c",
        "idle = spin_amo_and(&shared->idle, ~worker);",
        "idle = shared->idle;",
    ),
    Broken::new("spin", "the request is a byte late", "invoke.c", "mailboxes | worker, 0", "mailboxes | worker, 1"),
];

/// Who dispatches, at the server.
#[derive(Clone, Copy)]
enum Dispatcher {
    /// The client chooses the worker.
    Client,
    /// Handlers of this context.
    Nic(ContextId),
    /// A process with its window.
    Host,
}

/// The server's side.
struct Workers {
    host: Host,
    /// Buffers of each worker, one after another in memory.
    buffers: Vec<Vec<Posted>>,
    /// What a dispatcher process gets, and how many of these it has taken.
    requests: Vec<Posted>,
    taken: Rc<Cell<usize>>,
    /// What a dispatcher process knows: who is idle, and how many requests each worker got.
    idle: Rc<RefCell<Vec<bool>>>,
    given: Rc<RefCell<Vec<usize>>>,
}

/// Mean cycles from a put until the worker has the request.
fn invocations(bench: &Bench, mode: &str, payload: usize) -> Result<f64> {
    let (client, server) = (bench.host(0), bench.host(1));
    let bytes = HEADER + payload;
    let dispatcher = match mode {
        "spin" => Dispatcher::Nic(install(bench, &server)?),
        "host" => Dispatcher::Host,
        _ => Dispatcher::Client,
    };
    let workers = Workers::new(bench, server, dispatcher, bytes)?;
    client.listen()?;
    let good = client.alloc(bytes)?;
    let bad = client.alloc(bytes)?;
    let mut model = Server::new(WORKERS, BUFFERS, bytes);
    if let Dispatcher::Nic(_) = dispatcher {
        let refused: Vec<_> = FAULTS.iter().map(|fault| model::request(*fault, 99, payload)).collect();
        bench.storm(0, 1, INVOKE, &refused)?;
        workers.compare(bench, &model)?;
    }
    for burst in 0..BURSTS {
        // The same request for all workers, since the order in which handlers take them is theirs.
        let request = model::request(Fault::None, burst, payload);
        client.write(good, &request)?;
        let mut programs = workers.dispatch(dispatcher, WORKERS, bytes);
        let (host, puts) =
            (client.clone(), (0..WORKERS).map(|worker| (good, bytes, target(dispatcher, worker))).collect::<Vec<_>>());
        programs.push(Box::pin(async move { host.put_all(&puts).await }));
        for worker in 0..WORKERS {
            let taken = model.invoke(Fault::None, &request).context("the model has no idle worker")?;
            ensure!(taken == (worker, burst), "the model gave {taken:?}");
            programs.push(workers.wait(dispatcher, (worker, burst), bytes, Rc::default()));
        }
        bench.run(programs)?;
        bench.run(vec![workers.done(dispatcher, (0..WORKERS).collect())])?;
        (0..WORKERS).for_each(|worker| model.done(worker));
        bench.idle(QUIET);
        workers.compare(bench, &model)?;
    }
    let (mut cycles, mut given) = (0, Vec::new());
    for round in 0..ROUNDS {
        let request = model::request(Fault::None, BURSTS + round, payload);
        let fault = FAULTS[round % FAULTS.len()];
        let refused = model::request(fault, 100 + round, payload);
        let place = model.invoke(Fault::None, &request).context("the model has no idle worker")?;
        ensure!(model.invoke(fault, &refused).is_none(), "the model took {fault:?}");
        given.push(place.0);
        client.write(good, &request)?;
        client.write(bad, &refused)?;
        let put = client.prepare(PROCESS, good, bytes, &target(dispatcher, place.0))?;
        let (start, seen) = (bench.now(), Rc::new(Cell::new(0)));
        // Whoever may refuse requests also gets one that is to be refused.
        let guarded = !matches!(dispatcher, Dispatcher::Client);
        let mut programs = workers.dispatch(dispatcher, 1 + usize::from(guarded), bytes);
        programs.push(workers.wait(dispatcher, place, bytes, seen.clone()));
        let (host, to, seen_by_worker) = (client.clone(), target(dispatcher, 0), seen.clone());
        programs.push(Box::pin(async move {
            host.fire(&put).await?;
            if guarded {
                host.until(|_| Ok((seen_by_worker.get() > 0).then_some(()))).await?;
                host.put(bad, bytes, &to).await?;
            }
            Ok(())
        }));
        bench.run(programs)?;
        cycles += seen.get() - start;
        bench.idle(QUIET);
        if round >= HELD {
            let worker = given[round - HELD];
            bench.run(vec![workers.done(dispatcher, vec![worker])])?;
            model.done(worker);
            bench.idle(QUIET);
        }
        workers.compare(bench, &model)?;
    }
    Ok(cycles as f64 / ROUNDS as f64)
}

/// Where the client puts a request that this worker is to have.
fn target(dispatcher: Dispatcher, worker: usize) -> Target {
    match dispatcher {
        Dispatcher::Client => window_of(1, INVOKE | 1 << worker, 0),
        Dispatcher::Nic(_) | Dispatcher::Host => window_of(1, INVOKE, 0),
    }
}

/// Has the server's NIC dispatch: all workers idle, and the leases.
fn install(bench: &Bench, server: &Host) -> Result<ContextId> {
    let handler = bench.compile(HANDLERS, "invoke.c")?;
    let options = ContextOptions { core_mask: CORES, ..ContextOptions::default() };
    let context = server.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
    let now = bench.now() as u32;
    let mut table = vec![0; 2 * PLACES as usize];
    for (lease, valid) in LEASES {
        let deadline = if valid { now + 100_000_000 } else { now };
        table[2 * (lease % PLACES) as usize..][..2].copy_from_slice(&[lease, deadline]);
    }
    server.set_words(context, &handler, "leases", &table)?;
    for (lease, _) in LEASES {
        server.nic(|nic| nic.start_task(context, CHANGED | u64::from(lease % PLACES), 0))?;
    }
    server.nic(|nic| nic.start_task(context, WAITS | ((1 << WORKERS) - 1), 0))?;
    Ok(context)
}

impl Workers {
    /// Windows that complete with each request, all buffers posted ahead.
    fn new(bench: &Bench, host: Host, dispatcher: Dispatcher, bytes: usize) -> Result<Workers> {
        let mut programs: Vec<Program> = Vec::new();
        let mut windows = |address: u64, count: usize| -> Result<Vec<Posted>> {
            let options = WindowOptions {
                address,
                key: KEY,
                threshold: 1,
                counting: Counting::Operations,
                ..WindowOptions::default()
            };
            let window = host.nic(|nic| nic.open_window(PROCESS, &options))?;
            let memory = host.alloc(count * bytes)?;
            let posted = (0..count)
                .map(|i| {
                    Ok(Posted { buffer: memory + (i * bytes) as u64, size: bytes as u32, record: host.alloc(64)? })
                })
                .collect::<Result<Vec<_>>>()?;
            programs.push(post(host.clone(), window, posted.clone()));
            Ok(posted)
        };
        let by_process = matches!(dispatcher, Dispatcher::Host);
        let buffers = (0..WORKERS).map(|worker| windows(INVOKE | 1 << worker, BUFFERS)).collect::<Result<_>>()?;
        let requests = if by_process { windows(INVOKE, REQUESTS)? } else { Vec::new() };
        host.listen()?;
        // One after another: they share a command ring.
        for program in programs {
            bench.run(vec![program])?;
        }
        bench.idle(QUIET);
        let (idle, given) = (Rc::new(RefCell::new(vec![true; WORKERS])), Rc::new(RefCell::new(vec![0; WORKERS])));
        Ok(Workers { host, buffers, requests, taken: Rc::default(), idle, given })
    }

    /// The dispatcher process for so many requests, if there is one.
    fn dispatch(&self, dispatcher: Dispatcher, requests: usize, bytes: usize) -> Vec<Program> {
        let Dispatcher::Host = dispatcher else { return Vec::new() };
        let (host, idle, given) = (self.host.clone(), self.idle.clone(), self.given.clone());
        let first = self.taken.replace(self.taken.get() + requests);
        let (posted, buffers) = (self.requests[first..first + requests].to_vec(), self.buffers.clone());
        vec![Box::pin(async move {
            for request in posted {
                host.record(&request).await?;
                let message = host.read(request.buffer, bytes)?;
                if !valid(&message) {
                    continue;
                }
                let Some(worker) = idle.borrow().iter().position(|idle| *idle) else { continue };
                idle.borrow_mut()[worker] = false;
                host.work(Work::Copy, bytes).await;
                // The flag is a message of the dispatcher, as cheap as one of the NIC.
                host.overhead().await;
                host.write(buffers[worker][given.borrow()[worker]].buffer, &message)?;
                // The flag that its worker polls.
                given.borrow_mut()[worker] += 1;
            }
            Ok(())
        })]
    }

    /// A worker that waits for a request in this buffer, and notes when it has it.
    fn wait(
        &self,
        dispatcher: Dispatcher,
        (worker, number): (usize, usize),
        bytes: usize,
        seen: Rc<Cell<u64>>,
    ) -> Program {
        let (host, posted, given) = (self.host.clone(), self.buffers[worker][number], self.given.clone());
        Box::pin(async move {
            let late = host.now() + ARRIVES;
            let there = |nic: &mut crate::bench::Node| -> Result<Option<()>> {
                ensure!(nic.memory.card().sim().cycle() < late, "worker {worker} got no request in {ARRIVES} cycles");
                Ok(match dispatcher {
                    Dispatcher::Host => given.borrow()[worker] > number,
                    Dispatcher::Client | Dispatcher::Nic(_) => nic.poll(&posted)?.is_some(),
                }
                .then_some(()))
            };
            host.until(there).await?;
            match dispatcher {
                Dispatcher::Host => host.overhead().await,
                Dispatcher::Client | Dispatcher::Nic(_) => {
                    let completed = host.record(&posted).await?;
                    ensure!(completed.length as usize == bytes, "a request ended as {completed:?}");
                }
            }
            seen.set(host.now());
            Ok(())
        })
    }

    /// These workers wait again: a task at the NIC, or a word of shared memory.
    fn done(&self, dispatcher: Dispatcher, workers: Vec<usize>) -> Program {
        let (host, idle) = (self.host.clone(), self.idle.clone());
        Box::pin(async move {
            workers.iter().for_each(|worker| idle.borrow_mut()[*worker] = true);
            if let Dispatcher::Nic(context) = dispatcher {
                host.overhead().await;
                let bits = workers.iter().fold(0u64, |bits, worker| bits | 1 << worker);
                host.nic(|nic| nic.start_task(context, WAITS | bits, 0))?;
            }
            Ok(())
        })
    }

    /// Every byte of every worker's memory.
    fn compare(&self, bench: &Bench, model: &Server) -> Result<()> {
        for (worker, buffers) in self.buffers.iter().enumerate() {
            let bytes: usize = buffers.iter().map(|posted| posted.size as usize).sum();
            let got = self.host.read(buffers[0].buffer, bytes)?;
            bench.expect(&format!("the memory of worker {worker}"), &got, &model.memory(worker))?;
        }
        Ok(())
    }
}

fn post(host: Host, window: Window, posted: Vec<Posted>) -> Program {
    Box::pin(async move {
        for buffer in posted {
            host.post(window, buffer).await?;
        }
        Ok(())
    })
}

/// The check of a dispatcher process: its table of leases is in its caches, and what it takes is in the overhead of the message.
fn valid(message: &[u8]) -> bool {
    let shown = u32::from_le_bytes([message[0], message[1], message[2], message[3]]);
    shown != 0 && LEASES.contains(&(shown, true))
}
