//! Simulated NICs on a wire: the calls of `include/rvma_sim.h`.

use crate::failure::{argument, guard, status};
use crate::handles::{self, NetworkHandle};
use crate::session::{Member, Session};
use anyhow::Result;
use spindle::SharedCard;
use spindle_contract::params::Config;
use spindle_sim::transport::{self, LocalCard};
use spindle_sim::{address, Network, Options, Routing, WireOptions};
use std::ffi::c_int;

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

impl Session {
    /// Builds and opens so many simulated NICs.
    ///
    /// # Errors
    /// The model cannot be built.
    pub fn simulate(nodes: usize, wire: WireOptions) -> Result<Session> {
        let card = |seed| transport::device(&CONFIG, Options { seed, ..Options::default() });
        let network = Network::new((0..nodes as u64).map(card).collect::<Result<_>>()?, wire);
        let member = |number| {
            let card = LocalCard::new(&format!("node {number}"), network.node(number));
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
    let longest = u64::from(wire.step) * (u64::from(wire.paths.max(1)) - 1);
    if longest > u64::from(u32::MAX) {
        return Err(argument(format!("the longest path takes {longest} cycles; give fewer paths or a smaller step")));
    }
    let (loss, duplication, seed) = (wire.loss, wire.duplication, wire.seed);
    Ok(WireOptions { loss, duplication, routing, paths, latency, step, seed, ..WireOptions::default() })
}

/// See `rvma_sim.h`.
#[no_mangle]
pub extern "C" fn RVMA_Run(network: *mut NetworkHandle, cycles: u64) -> c_int {
    status(|| handles::network(network)?.run(cycles))
}
