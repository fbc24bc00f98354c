//! Two NICs on one path, in a network of ns-3 and on the wire of `spindle_sim::Network`: the same cycles.

mod common;

use common::there;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{Bar, Device, HostMemory};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command};
use spindle_contract::wire::status;
use spindle_harness::Source;
use spindle_network::endpoint::{Endpoint, VALUES};
use spindle_network::engine::{Network, Physics, Ranks, NANOSECOND};
use spindle_network::programs::set_up;
use spindle_network::rtl::{Host, Rtl, Setting};
use spindle_network::topology::{Shape, Topology};
use spindle_sim::{Network as Wire, Options, SimDevice, SimHandle, WireOptions};
use std::sync::{Arc, Mutex, OnceLock};

const CONFIG: Config = Config::SIM;
/// Cycle in which both NICs are set up.
const START: u64 = 7000;
/// Cycles between two puts.
const GAP: u64 = 60;
/// Cycle in which all has come.
const END: u64 = 9500;
/// Bytes of the puts of each node: short after long, so that frames wait for each other.
const PUTS: [usize; 6] = [8, 5000, 64, 1, 9000, 700];
/// Cycles of the path, from the last beat sent to the first received.
const PATH: i64 = 250;
const KEY: u32 = 7;

fn source() -> &'static Source {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    SOURCE.get_or_init(|| spindle_sim::source(&CONFIG).unwrap())
}

fn bytes(from: usize, put: usize) -> Vec<u8> {
    (0..PUTS[put]).map(|i| (i * 7 + put * 31 + from * 101 + (i >> 8)) as u8).collect()
}

/// What is ready before the first put: the memory of the puts, and the buffers for those of the other node.
struct Ready {
    memory: Vec<u64>,
    posted: Vec<Posted>,
}

fn ready<B: Bar, M: HostMemory>(device: &mut Device<B, M>, number: usize) -> Ready {
    set_up(device, number, 2, Action::Mailbox).unwrap();
    let (mut memory, mut posted) = (vec![], vec![]);
    for (put, size) in PUTS.into_iter().enumerate() {
        let window = device.init_window(0, put as u64, KEY, size as u32).unwrap();
        posted.push(device.post_buffer(window, size as u32).unwrap());
        let at = device.memory.alloc(size, 64).unwrap();
        device.memory.write(at, &bytes(number, put)).unwrap();
        memory.push(at);
    }
    device.set_receive(true).unwrap();
    Ready { memory, posted }
}

/// A put by register writes that take no time of the host.
fn put(card: &SimHandle, number: usize, put: usize, memory: u64) {
    for (register, value) in [
        (doorbell::BUFFER_LO, memory as u32),
        (doorbell::BUFFER_HI, (memory >> 32) as u32),
        (doorbell::LENGTH, PUTS[put] as u32),
        (doorbell::NODE, 1 - number as u32),
        (doorbell::TARGET_PID, 0),
        (doorbell::ADDR_LO, put as u32),
        (doorbell::ADDR_HI, 0),
        (doorbell::KEY, KEY),
        (doorbell::OFFSET, 0),
        (doorbell::MODE, 0),
        (doorbell::COMMAND, doorbell_command::PUT),
    ] {
        card.sim().post_write32(doorbell::BASE + register, value, 0).unwrap();
    }
}

/// What a host and its NIC saw: cycles of the records, and of the first beats of all frames that came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    records: Vec<(usize, u64)>,
    arrivals: Vec<u64>,
}

/// Looks for records that are new.
fn look<B: Bar, M: HostMemory>(device: &Device<B, M>, number: usize, ready: &Ready, now: u64, seen: &mut Seen) {
    for (put, posted) in ready.posted.iter().enumerate() {
        if seen.records.iter().any(|(known, _)| *known == put) {
            continue;
        }
        if let Some(completed) = device.poll(posted).unwrap() {
            assert_eq!((completed.status, completed.length as usize), (status::DONE, PUTS[put]));
            let mut got = vec![0; PUTS[put]];
            device.memory.read(posted.buffer, &mut got).unwrap();
            assert!(got == bytes(1 - number, put), "put {put} to {number}");
            seen.records.push((put, now));
        }
    }
}

fn options(number: usize) -> Options {
    Options { seed: number as u64 + 1, host_latency: (80, 80), ..Options::default() }
}

/// On the wire of one process.
fn on_the_wire() -> Vec<Seen> {
    let card = |number| SimDevice::new(source(), &CONFIG, options(number)).unwrap();
    let wire = WireOptions { latency: PATH as u64, ..WireOptions::default() };
    let network = Wire::new(vec![card(0), card(1)], wire);
    network.set_apart(true);
    let mut devices: Vec<_> =
        (0..2).map(|number| Device::open(network.node(number), network.node(number)).unwrap()).collect();
    let ready: Vec<Ready> = devices.iter_mut().enumerate().map(|(number, device)| ready(device, number)).collect();
    network.set_apart(false);
    let now = || network.node(0).card().sim().cycle();
    assert!(now() < START);
    network.run(START - now());
    let mut seen = vec![Seen::default(); 2];
    (0..2).for_each(|number| drop(network.node(number).card().sim().take_arrivals()));
    while now() < END {
        for (number, (device, seen)) in devices.iter().zip(&mut seen).enumerate() {
            let since = now() - START;
            if since.is_multiple_of(GAP) && since / GAP < PUTS.len() as u64 {
                let which = (since / GAP) as usize;
                put(network.node(number).card(), number, which, ready[number].memory[which]);
            }
            look(device, number, &ready[number], now(), seen);
        }
        network.run(1);
    }
    for (number, seen) in seen.iter_mut().enumerate() {
        seen.arrivals = network.node(number).card().sim().take_arrivals();
    }
    seen
}

fn setting() -> Setting {
    let (config, source, host_latency) = (CONFIG, source().clone(), (80, 80));
    Setting { config, source, nodes: 2, host_latency, wave: None, fates: None, noise: None }
}

/// In a network of ns-3.
fn in_a_network(shape: &Shape, physics: Physics) -> Vec<Seen> {
    let all: Arc<Mutex<Vec<Seen>>> = Arc::new(Mutex::new(vec![Seen::default(); 2]));
    let endpoint = |node: u32| -> anyhow::Result<Box<dyn Endpoint>> {
        let setting = setting();
        let all = all.clone();
        let program = move |host: &mut Host| -> anyhow::Result<[u64; VALUES]> {
            let number = host.number;
            let ready = ready(&mut host.device, number);
            host.run_to(START);
            drop(host.card.sim().take_arrivals());
            let mut seen = Seen::default();
            while host.now() < END {
                let since = host.now() - START;
                if since.is_multiple_of(GAP) && since / GAP < PUTS.len() as u64 {
                    let which = (since / GAP) as usize;
                    put(&host.card, number, which, ready.memory[which]);
                }
                look(&host.device, number, &ready, host.now(), &mut seen);
                host.run(1);
            }
            seen.arrivals = host.card.sim().take_arrivals();
            all.lock().unwrap()[number] = seen;
            Ok([0; VALUES])
        };
        Ok(Box::new(Rtl::new(node as usize, &setting, Box::new(program))?))
    };
    let mut network = Network::new(Ranks::join().unwrap(), &Topology::new(shape).unwrap(), physics, endpoint).unwrap();
    network.run(END + 2 * physics.window).unwrap();
    assert!(network.done().unwrap());
    let counts = network.counts().unwrap();
    assert!(counts.balance() && counts.dropped == 0 && counts.astray == 0, "{counts:?}");
    drop(network);
    let all = all.lock().unwrap();
    all.clone()
}

#[test]
fn two_nics_on_one_path_are_those_on_a_wire() {
    if !there() {
        return;
    }
    let wire = on_the_wire();
    for (number, seen) in wire.iter().enumerate() {
        assert_eq!(seen.records.len(), PUTS.len(), "all puts have come to {number}: {seen:?}");
        assert!(seen.arrivals.len() > PUTS.len() + 8, "segments and acknowledgements: {seen:?}");
    }
    let cycle = 4 * NANOSECOND;
    let physics = |cable: i64, latency: i64, trunk: i64, window| Physics {
        cable: cable * cycle,
        latency: latency * cycle,
        trunk: trunk * cycle,
        window,
        ..Physics::default()
    };
    let tree = Shape::FatTree { down: vec![1, 2], up: vec![1] };
    for (shape, physics) in [
        (Shape::Cable, physics(PATH, 0, 1, PATH as u64)),
        (Shape::Star { nodes: 2 }, physics(100, PATH - 200, 1, 35)),
        (tree, physics(40, 30, 40, 40)),
    ] {
        let seen = in_a_network(&shape, physics);
        for (number, (network, wire)) in seen.iter().zip(&wire).enumerate() {
            assert_eq!(network.arrivals, wire.arrivals, "first beats at {number}, {shape:?}");
            assert_eq!(network.records, wire.records, "records at {number}, {shape:?}");
        }
    }
}

#[test]
fn a_program_that_fails_ends_the_network_with_its_words() {
    if !there() {
        return;
    }
    let run = |program: fn(&mut Host) -> anyhow::Result<[u64; VALUES]>| {
        let endpoint = |node: u32| -> anyhow::Result<Box<dyn Endpoint>> {
            let setting = setting();
            let run = move |host: &mut Host| if host.number == 1 { program(host) } else { Ok([0; VALUES]) };
            Ok(Box::new(Rtl::new(node as usize, &setting, Box::new(run))?))
        };
        let topology = Topology::new(&Shape::Cable).unwrap();
        let mut network = Network::new(Ranks::join().unwrap(), &topology, Physics::default(), endpoint).unwrap();
        format!("{:#}", network.run(10_000).unwrap_err())
    };
    let words = run(|host| {
        host.run(100);
        anyhow::bail!("no record by cycle {}", host.now())
    });
    assert!(words.contains("node 1") && words.contains("no record by cycle"), "{words}");
    let words = run(|_| panic!("a bug of the program"));
    assert!(words.contains("node 1") && words.contains("a bug of the program"), "{words}");
}
