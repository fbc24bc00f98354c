//! Simulated NICs on a wire: the calls of `include/rvma_sim.h`.

use crate::card::{Card, SharedCard};
use crate::failure::{argument, guard, status};
use crate::handles::{self, NetworkHandle};
use crate::session::{Member, Session};
use anyhow::Result;
use spindle::{Bar, HostMemory};
use spindle_contract::params::Config;
use spindle_harness::Progress;
use spindle_sim::transport::ProcessMemory;
use spindle_sim::{address, Network, NetworkNode, Options, Routing, SimDevice, WireOptions};
use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;

/// The NICs that are simulated.
const CONFIG: Config = Config::SIM;
const MOST_NODES: c_int = 16;
/// What an idle NIC takes for a packet and its acknowledgement, the host's answers included.
const IN_THE_NICS: u64 = 800;

/// `RVMA_Wire`.
#[repr(C)]
pub struct Wire {
    loss: f64,
    duplication: f64,
    paths: u32,
    latency: u32,
    step: u32,
    seed: u64,
}

/// A NIC of a simulated network.
struct SimulatedCard {
    node: NetworkNode,
    process: Arc<ProcessMemory>,
}

impl Bar for SimulatedCard {
    fn read32(&mut self, address: u32) -> spindle::Result<u32> {
        self.node.read32(address)
    }

    fn write32(&mut self, address: u32, value: u32) -> spindle::Result<()> {
        self.node.write32(address, value)
    }
}

impl HostMemory for SimulatedCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> spindle::Result<u64> {
        self.node.alloc(bytes, align)
    }

    fn free(&mut self, address: u64) -> spindle::Result<()> {
        self.node.free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> spindle::Result<()> {
        self.node.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> spindle::Result<()> {
        self.node.write(address, bytes)
    }
}

impl Card for SimulatedCard {
    fn map(&mut self, range: &Range<u64>) {
        self.node.card().sim().memory().memory.map(range.clone(), self.process.clone());
    }

    fn unmap(&mut self, range: &Range<u64>) {
        self.node.card().sim().memory().memory.unmap(range);
    }

    fn refuse(&mut self, pages: &[Range<u64>]) {
        self.node.card().sim().memory().failing = pages.to_vec();
    }

    /// All NICs of the network go on.
    fn pass(&mut self, cycles: u64) {
        self.node.network().run(cycles);
    }
}

impl Session {
    /// Builds and opens so many simulated NICs.
    pub fn simulate(nodes: usize, wire: WireOptions) -> Result<Session> {
        let source = spindle_sim::source(&CONFIG)?;
        // The first program on a machine waits for minutes; its user sees why.
        spindle_sim::model(&source, &Progress::stderr("rvma"))?;
        let card = |seed| SimDevice::new(&source, &CONFIG, Options { seed, ..Options::default() });
        let network = Network::new((0..nodes as u64).map(card).collect::<Result<_>>()?, wire);
        let process = Arc::new(ProcessMemory::open()?);
        let member = |number| {
            let node = network.node(number);
            node.card().sim().set_tracing(false);
            let card = SimulatedCard { node, process: process.clone() };
            Member { card: SharedCard::new(card), address: address(number) }
        };
        // A turn over the longest path.
        let round_trip = 2 * (wire.latency + (wire.paths - 1) * wire.step) + IN_THE_NICS;
        Session::new((0..nodes).map(member).collect(), round_trip)
    }
}

/// See `rvma_sim.h`.
///
/// # Safety
/// `wire` is null or points to an `RVMA_Wire`.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Simulate(nodes: c_int, wire: *const Wire) -> *mut NetworkHandle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            if !(1..=MOST_NODES).contains(&nodes) {
                return Err(argument(format!("{nodes} nodes cannot be simulated; choose 1 to {MOST_NODES}")));
            }
            // SAFETY: as the caller promises.
            let options = unsafe { wire.as_ref() }.map_or_else(|| Ok(WireOptions::default()), wire_options)?;
            Ok(handles::add_network(Session::simulate(nodes as usize, options)?))
        },
    )
}

fn wire_options(wire: &Wire) -> Result<WireOptions> {
    let share = |value: f64| (0.0..=1.0).contains(&value);
    if !share(wire.loss) || !share(wire.duplication) {
        return Err(argument("a share of the frames is between 0 and 1"));
    }
    let routing = if wire.paths > 1 { Routing::Adaptive } else { Routing::Ordered };
    let (latency, step, paths) = (wire.latency.into(), wire.step.into(), wire.paths.max(1).into());
    Ok(WireOptions { loss: wire.loss, duplication: wire.duplication, routing, paths, latency, step, seed: wire.seed })
}

/// See `rvma_sim.h`.
#[no_mangle]
pub extern "C" fn RVMA_Run(network: *mut NetworkHandle, cycles: u64) -> c_int {
    status(|| {
        handles::network(network)?.run(cycles);
        Ok(())
    })
}
