//! The microbenchmarks of the RVMA paper: the time of a put with its completion, and how many puts pay for the set-up.

mod model;

use crate::bench::{window_of, word, Bench, Host, Landing, Program, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Case, Measured, Mode, Row, HOSTS};
use crate::channel::{Endpoint, Shape, Way};
use anyhow::{ensure, Result};
use spindle::rvma::Posted;
use spindle::window::{Counting, WindowOptions};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const MODES: &[Mode] = &[
    Mode { name: "rvma", about: "a put into a mailbox, adaptive routing; the record of its buffer is the completion" },
    Mode { name: "rvma-static", about: "the same over static routing" },
    Mode { name: "rdma", about: "a write, adaptive routing, and a send of one byte after its acknowledgement" },
    Mode { name: "rdma-send", about: "a write, static routing, and a send of one byte directly after it" },
    Mode { name: "rdma-poll", about: "a write, static routing; the receiver polls its last byte" },
];
/// Runs, and the puts of each over adaptive routing, whose paths differ. Over static routing all puts take the same but for a few cycles:
/// one.
const RUNS: usize = 10;
const PUTS: usize = 4;
/// Puts that are not counted.
const WARM: usize = 1;
/// Set-ups, each of a buffer of its own.
const SET_UPS: usize = 3;
/// Share of the time of all puts that a set-up may take to count as paid: the margin of error of the paper's latencies.
const MARGIN: f64 = 0.03;
/// The nodes.
const SENDER: usize = 0;
const RECEIVER: usize = 1;
/// Addresses of windows that no channel has: written memory, receives, buffers of set-ups, and where the sender learns of them.
const MEMORY: u64 = 0x900;
const RECEIVES: u64 = 0x901;
const SET_UP: u64 = 0xA00;
const DESCRIPTIONS: u64 = 0xB00;
/// Cycles after which nothing of a put is under way, at the largest size as well: acknowledgements follow its completion.
const QUIET: u64 = 250;

/// The case.
pub const CASE: Case = Case {
    name: "rvma-latency",
    figure: include_str!("figure.toml"),
    handlers: &[],
    source: concat!(include_str!("case.rs"), include_str!("../src/channel.rs")),
    modes: MODES,
    run,
    summary,
    broken: &[],
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let adaptive = matches!(mode, "rvma" | "rdma");
    measure(&Setting { adaptive, ..setting.clone() }, mode, point as usize)
}

/// Measures a mode with the routing of the setting.
fn measure(setting: &Setting, mode: &str, bytes: usize) -> Result<Measured> {
    let bench = setting.bench(2)?;
    // Tests are quick on `sim`.
    let quick = setting.small();
    let (puts, times) = (if setting.adaptive && !quick { PUTS } else { 1 }, if quick { 1 } else { SET_UPS });
    let rounds = WARM + RUNS * puts;
    let path = bench.set_up(|| Path::new(&bench, mode, bytes, rounds))?;
    bench.hosts().iter().try_for_each(Host::listen)?;
    let mut cycles = Vec::new();
    for round in 0..rounds {
        cycles.push(path.put(&bench, bytes, round)? as f64);
        bench.idle(QUIET);
    }
    let runs: Vec<f64> = cycles[WARM..].chunks(puts).map(mean).collect();
    let set_up = |time| set_up(&bench, mode.starts_with("rdma"), bytes, time);
    let set_ups = (0..times).map(set_up).collect::<Result<Vec<_>>>()?;
    let of = |part: fn(&SetUp) -> u64| mean(&set_ups.iter().map(|set_up| part(set_up) as f64).collect::<Vec<_>>());
    let (registered, exchanged) = (of(|set_up| set_up.registered), of(|set_up| set_up.exchanged));
    let latency = mean(&runs);
    let paid = |cycles: f64| (cycles / (MARGIN * latency)).ceil();
    Measured::new(
        &bench,
        [
            ("latency_ns", setting.ns(latency)),
            ("deviation_ns", setting.ns(deviation(&runs))),
            ("registration_ns", setting.ns(registered)),
            ("exchange_ns", setting.ns(exchanged)),
            ("exchange_paid", paid(exchanged)),
            ("set_up_paid", paid(registered + exchanged)),
        ],
    )
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of a sample.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    const SIZES: [(u64, &str); 3] = [(2, "2"), (8192, "8k"), (65536, "64k")];
    let saved = [("rvma", "rdma", "reduction"), ("rvma-static", "rdma-send", "reduction_send")];
    let mut figures: Vec<_> =
        ratios(rows, "latency_ns", &SIZES, &saved).into_iter().map(|(key, share)| (key, 1.0 - share)).collect();
    let over = [("rvma", "rdma-poll", "over_poll"), ("rvma", "rvma-static", "adaptive")];
    figures.extend(ratios(rows, "latency_ns", &SIZES, &over));
    for (host, ending) in HOSTS {
        for (size, text) in SIZES {
            for (mode, name, key) in [
                ("rdma-poll", "exchange_paid", "exchange_paid_static"),
                ("rdma", "exchange_paid", "exchange_paid_adaptive"),
                ("rvma", "set_up_paid", "set_up_paid_rvma"),
                ("rvma", "deviation_ns", "deviation_rvma"),
                ("rdma", "deviation_ns", "deviation_rdma"),
            ] {
                let value = value(rows, mode, host, size, name);
                figures.extend(value.map(|value| (format!("{key}_{text}{ending}"), value)));
            }
            // RDMA's exchange over what each of its puts saves.
            let get = |mode, name| value(rows, mode, host, size, name);
            if let (Some(exchange), Some(rdma), Some(rvma)) =
                (get("rdma-poll", "exchange_ns"), get("rdma-poll", "latency_ns"), get("rvma-static", "latency_ns"))
            {
                if rvma > rdma {
                    figures.push((format!("break_even_{text}{ending}"), (exchange / (rvma - rdma)).ceil()));
                }
            }
        }
    }
    figures
}

/// How a message goes from the first host to the second.
enum Path {
    /// By a channel.
    Channel([Rc<RefCell<Endpoint>>; 2]),
    /// By a write into memory whose address is known. Its end is seen in a receive of its own for each round, or in the last byte.
    Written { from: u64, byte: u64, to: u64, receives: Vec<Posted> },
}

impl Path {
    fn new(bench: &Bench, mode: &str, bytes: usize, rounds: usize) -> Result<Path> {
        let (sender, receiver) = (bench.host(SENDER), bench.host(RECEIVER));
        let way = match mode {
            "rvma" | "rvma-static" => Way::Rvma,
            "rdma" => Way::Rdma,
            _ => {
                let to = receiver.alloc(bytes)?;
                receiver.endless_window(MEMORY, to, bytes)?;
                let receives = if mode == "rdma-send" { receives(&receiver, rounds)? } else { Vec::new() };
                return Ok(Path::Written { from: sender.alloc(bytes)?, byte: sender.alloc(1)?, to, receives });
            }
        };
        let shape = Shape { bytes, messages: rounds, lanes: 1 };
        let (mut sender, mut receiver) = (Endpoint::new(sender, way)?, Endpoint::new(receiver, way)?);
        sender.send_to(RECEIVER, 0, shape)?;
        receiver.receive_from(shape)?;
        Ok(Path::Channel([sender, receiver].map(|end| Rc::new(RefCell::new(end)))))
    }

    /// Cycles from the begin of the sender's call until the receiver has taken the completion. The message is compared as it is then.
    fn put(&self, bench: &Bench, bytes: usize, round: usize) -> Result<u64> {
        let message = model::message(bytes, round);
        let (start, arrived) = (bench.now(), Arrived::default());
        let programs = match self {
            Path::Channel([sender, receiver]) => by_channel(sender, receiver, &message, &arrived),
            Path::Written { from, byte, to, receives } => {
                let (sender, receiver) = (bench.host(SENDER), bench.host(RECEIVER));
                sender.write(*from, &message)?;
                let receive = receives.get(round).copied();
                let (from, byte, to, tail, seen) = (*from, *byte, *to, message[bytes - 1], arrived.clone());
                let write = (from, bytes, window_of(RECEIVER, MEMORY, 0));
                let puts: Program = Box::pin(async move {
                    match receive {
                        Some(_) => sender.put_all(&[write, (byte, 1, window_of(RECEIVER, RECEIVES, 0))]).await,
                        None => sender.put_all(&[write]).await,
                    }
                });
                let takes: Program = Box::pin(async move {
                    if let Some(receive) = receive {
                        receiver.record(&receive).await?;
                    } else {
                        receiver.bytes(to + bytes as u64 - 1, &[tail]).await?;
                    }
                    seen.set(receiver.now(), receiver.read(to, bytes)?);
                    Ok(())
                });
                vec![puts, takes]
            }
        };
        bench.run(programs)?;
        let (end, got) = arrived.0.take();
        bench.expect(&format!("the message of round {round} at its completion"), &got, &message)?;
        Ok(end - start)
    }
}

/// When a message has arrived, and what it was.
#[derive(Clone, Default)]
struct Arrived(Rc<Cell<(u64, Vec<u8>)>>);

impl Arrived {
    fn set(&self, now: u64, bytes: Vec<u8>) {
        self.0.set((now, bytes));
    }
}

#[expect(clippy::await_holding_refcell_ref, reason = "each program has an endpoint of its own")]
fn by_channel(
    sender: &Rc<RefCell<Endpoint>>,
    receiver: &Rc<RefCell<Endpoint>>,
    message: &[u8],
    arrived: &Arrived,
) -> Vec<Program> {
    let (sender, receiver, seen, message) = (sender.clone(), receiver.clone(), arrived.clone(), message.to_vec());
    let puts: Program = Box::pin(async move {
        let mut sender = sender.borrow_mut();
        sender.send(&[(0, &message)]).await?;
        sender.flush().await
    });
    let takes: Program = Box::pin(async move {
        let mut receiver = receiver.borrow_mut();
        let messages = receiver.receive(&[0]).await?;
        seen.set(receiver.host().now(), messages.concat());
        Ok(())
    });
    vec![puts, takes]
}

/// A receive for each round, posted ahead.
fn receives(host: &Host, rounds: usize) -> Result<Vec<Posted>> {
    let counting = Counting::Operations;
    let options = WindowOptions { address: RECEIVES, key: KEY, threshold: 1, counting, ..WindowOptions::default() };
    let window = host.nic(|nic| nic.open_window(PROCESS, &options))?;
    let post = |_| {
        let posted = Posted { buffer: host.alloc(1)?, size: 1, record: host.alloc(64)? };
        Ok(host.nic(|nic| nic.post(window, posted))?)
    };
    (0..rounds).map(post).collect()
}

/// What the set-up of a buffer takes, in cycles.
struct SetUp {
    /// The receiver's commands: a window, and a buffer posted there. RDMA's registration is the same.
    registered: u64,
    /// From then until the sender knows of the buffer: RDMA only.
    exchanged: u64,
}

/// Sets a buffer up while both programs run: the receiver opens a window and posts the buffer. A sender by RVMA knows the mailbox by its
/// address; one by RDMA is sent the buffer's description, into a receive that was posted before, and writes where that says.
fn set_up(bench: &Bench, rdma: bool, bytes: usize, time: usize) -> Result<SetUp> {
    let (sender, receiver) = (bench.host(SENDER), bench.host(RECEIVER));
    let address = SET_UP + time as u64;
    let (buffer, from) = (receiver.alloc(bytes)?, sender.alloc(bytes)?);
    let at = DESCRIPTIONS + time as u64;
    let (source, learned) = (receiver.alloc(model::DESCRIPTION)?, Landing::new(&sender, at, model::DESCRIPTION)?);
    learned.post(&sender)?;
    bench.idle(QUIET);
    let (start, registered, exchanged) = (bench.now(), Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (host, ready) = (receiver.clone(), registered.clone());
    let registers: Program = Box::pin(async move {
        if rdma {
            host.endless_window(address, buffer, bytes)?;
        } else {
            let window = host.nic(|nic| nic.init_window(PROCESS, address, KEY, bytes as u32))?;
            let posted = Posted { buffer, size: bytes as u32, record: host.alloc(64)? };
            host.nic(|nic| nic.post(window, posted))?;
        }
        ready.set(host.now());
        if rdma {
            host.write(source, &model::description(address, KEY, bytes))?;
            host.put(source, model::DESCRIPTION, &window_of(SENDER, at, 0)).await?;
        }
        Ok(())
    });
    let (host, known, memory) = (sender.clone(), exchanged.clone(), learned.posted);
    let learns: Program = Box::pin(async move {
        if rdma {
            host.record(&memory).await?;
            known.set(host.now());
        }
        Ok(())
    });
    bench.run(vec![registers, learns])?;
    let mut target = window_of(RECEIVER, address, 0);
    if rdma {
        let description = sender.read(learned.posted.buffer, model::DESCRIPTION)?;
        bench.expect("the description", &description, &model::description(address, KEY, bytes))?;
        ensure!(word(&description, 12) as usize >= bytes, "the buffer is too short");
        target.address = u64::from(word(&description, 0)) | u64::from(word(&description, 4)) << 32;
        target.key = word(&description, 8);
    }
    // The first message: into the buffer that was set up.
    let message = model::message(bytes, time);
    sender.write(from, &message)?;
    let (puts, takes, tail) = (sender.clone(), receiver.clone(), message[bytes - 1]);
    bench.run(vec![
        Box::pin(async move { puts.put(from, bytes, &target).await }),
        Box::pin(async move { takes.bytes(buffer + bytes as u64 - 1, &[tail]).await }),
    ])?;
    // Over adaptive routing other bytes may come after the last one.
    bench.idle(QUIET);
    bench.expect("the first message", &receiver.read(buffer, bytes)?, &message)?;
    let exchanged = if rdma { exchanged.get() - registered.get() } else { 0 };
    Ok(SetUp { registered: registered.get() - start, exchanged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spindle_contract::params::Config;

    /// The paths of this wire differ by more than a frame.
    fn adaptive() -> Setting {
        Setting { adaptive: true, wire: "default".into(), ..Setting::new(Config::SIM).unwrap() }
    }

    /// A sender that does not wait for its acknowledgement: over adaptive routing, its send overtakes the write.
    #[test]
    fn the_model_catches_a_send_that_does_not_wait() {
        let setting = adaptive();
        let error = measure(&setting, "rdma-send", 8192).unwrap_err();
        assert!(format!("{error:#}").contains("at its completion"), "{error:#}");
    }

    /// So does a receiver that takes the last byte for the end.
    #[test]
    fn the_model_catches_a_last_byte_that_is_not_the_last() {
        let setting = adaptive();
        let error = measure(&setting, "rdma-poll", 8192).unwrap_err();
        assert!(format!("{error:#}").contains("at its completion"), "{error:#}");
    }

    #[test]
    fn deviations_are_those_of_a_sample() {
        assert_eq!((deviation(&[2.0, 4.0, 4.0, 6.0]), deviation(&[5.0, 5.0])), ((8.0_f64 / 3.0).sqrt(), 0.0));
    }
}
