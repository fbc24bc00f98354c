//! Simulated NICs on a wire, each opened by the driver: what is behind the handles of `rvma.h`.

use crate::ends::Ends;
use crate::memory::ProcessMemory;
use anyhow::{anyhow, Context};
use spindle::peer::Responses;
use spindle::put::{Put, Reply, Target};
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::WindowOptions;
use spindle::{Access, Device, Error, ReceiveMap, Result, Rule};
use spindle_contract::params::Config;
use spindle_contract::wire;
use spindle_harness::Source;
use spindle_sim::{address, Network, NetworkNode, Options, SimDevice, WireOptions};
use std::cell::RefCell;
use std::collections::hash_map::{Entry, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Stack for elaboration: rust-hdl builds a whole design by value.
const STACK_BYTES: usize = 512 << 20;
/// The NICs that are simulated.
const CONFIG: Config = Config::SIM;
/// Records of a process's event ring: ends of puts that nobody has asked for yet.
const RING: usize = 4096;
/// Cycles between two looks at a record.
const LOOK: u64 = 64;

/// A driver, shared by the processes of its node.
type Driver = Rc<RefCell<Device<NetworkNode, NetworkNode>>>;

/// By node and process.
type EndsByProcess = HashMap<(usize, usize), Rc<RefCell<Ends>>>;

/// NICs on a wire.
pub struct Session {
    network: Network,
    drivers: Vec<Driver>,
    /// Ends of the puts of each process of each node that was opened.
    ends: RefCell<EndsByProcess>,
}

/// A process of a node.
#[derive(Clone)]
pub struct Nic {
    pub(crate) driver: Driver,
    process: usize,
    pub(crate) ends: Rc<RefCell<Ends>>,
}

/// A window of it.
pub struct OpenWindow {
    nic: Nic,
    window: Window,
}

fn source() -> anyhow::Result<Source> {
    let elaborate = || spindle_nic::emit(&CONFIG).map_err(|error| anyhow!("{error}"));
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(elaborate);
    let thread = thread.context("cannot start the thread that elaborates the design")?;
    let design = thread.join().map_err(|_| anyhow!("elaboration of the design panicked"))??;
    let files = design.modules.into_iter().map(|module| (format!("{}.sv", module.name), module.text)).collect();
    Ok(Source::new(design.top, files))
}

/// Times that suit the wire: a segment is missing when it is late by more than a turn over the longest path.
fn reliability(wire: &WireOptions, node: u32) -> Reliability {
    /// What an idle NIC takes for a packet and its acknowledgement, the host's answers included.
    const IN_THE_NICS: u64 = 800;
    /// In units of 64 cycles; the eightfold must fit 15 bits.
    const MOST: u64 = 4095;
    let turn = 2 * (wire.latency + (wire.paths - 1) * wire.step) + IN_THE_NICS;
    let units = |cycles: u64| cycles.div_ceil(64).min(MOST) as u16;
    Reliability { timeout: units(4 * turn), hole_time: units(turn), retries: 15, incarnation: node + 1 }
}

impl Session {
    /// Builds and opens so many NICs. Each knows all others by their numbers, and places what comes for its mailboxes.
    pub fn simulate(nodes: usize, wire: WireOptions) -> anyhow::Result<Session> {
        let source = source()?;
        let card = |seed| SimDevice::new(&source, &CONFIG, Options { seed, ..Options::default() });
        let network = Network::new((0..nodes as u64).map(card).collect::<anyhow::Result<_>>()?, wire);
        let mut drivers = Vec::new();
        for number in 0..nodes {
            let node = network.node(number);
            node.card().sim().set_tracing(false);
            let mut device = Device::open(node.clone(), node)?;
            device.set_identity(number as u32, address(number).mac, address(number).ip)?;
            for other in 0..nodes {
                device.set_node(other, Some(address(other)))?;
            }
            device.add_rule(&"spindle".parse::<Rule>().map_err(Error::from)?, Action::Mailbox)?;
            device.set_sequence_filter(true)?;
            device.set_responses(Some(Responses { ack_every: 1, ..Responses::default() }))?;
            device.set_reliability(Some(reliability(&wire, number as u32)))?;
            device.set_receive(true)?;
            drivers.push(Rc::new(RefCell::new(device)));
        }
        Ok(Session { network, drivers, ends: RefCell::default() })
    }

    /// A process of a node.
    pub fn open(&self, node: usize, process: usize) -> Result<Nic> {
        let no =
            |what: &str, number, count| Err(Error::Argument(format!("there is no {what} {number}; there are {count}")));
        let Some(driver) = self.drivers.get(node) else { return no("node", node, self.drivers.len()) };
        let processes = driver.borrow().info().processes;
        if process >= processes {
            return no("process", process, processes);
        }
        let ends = match self.ends.borrow_mut().entry((node, process)) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => {
                let ring = driver.borrow_mut().open_ring(process, RING)?;
                entry.insert(Rc::new(RefCell::new(Ends::new(ring)))).clone()
            }
        };
        // A program of the library reaches what it registers, and nothing else.
        driver.borrow_mut().confine(process)?;
        Ok(Nic { driver: driver.clone(), process, ends })
    }

    /// Lets time pass.
    pub fn run(&self, cycles: u64) {
        self.network.run(cycles);
    }
}

impl Nic {
    /// Lets the NIC reach this memory of the program.
    pub fn register(&self, range: Range<u64>) -> Result<()> {
        let mut device = self.driver.borrow_mut();
        device.register_region(self.process, range.clone(), Access::ReadWrite)?;
        device.memory.card().sim().memory().memory.map(range, Arc::new(ProcessMemory));
        Ok(())
    }

    /// Opens a window.
    pub fn open_window(&self, options: &WindowOptions) -> Result<OpenWindow> {
        let window = self.driver.borrow_mut().open_window(self.process, options)?;
        Ok(OpenWindow { nic: self.clone(), window })
    }

    /// Moves on until `done` is true, at most `limit` cycles.
    pub fn wait(&self, what: &str, limit: u64, mut done: impl FnMut() -> bool) -> Result<()> {
        let network = self.driver.borrow().memory.network().clone();
        let mut waited = 0;
        while !done() {
            if waited >= limit {
                return Err(Error::Timeout { what: what.into(), cycles: limit });
            }
            let step = LOOK.min(limit - waited);
            network.run(step);
            waited += step;
        }
        Ok(())
    }

    /// Puts memory of the program.
    pub fn put(&self, buffer: u64, length: u32, target: &Target) -> Result<Put> {
        self.driver.borrow_mut().put(self.process, buffer, length, target)
    }

    /// Asks for bytes of a window of another node.
    pub fn get(&self, length: u32, source: &Target, reply: &Reply) -> Result<Put> {
        self.driver.borrow_mut().get(self.process, length, source, reply)
    }

    /// Likewise, of the oldest buffer that is not complete.
    pub fn get_active(&self, length: u32, source: &Target, reply: &Reply) -> Result<Put> {
        self.driver.borrow_mut().get_active(self.process, length, source, reply)
    }

    /// Whether the memory of a put may be used again.
    pub fn put_is_over(&self, put: &Put) -> Result<bool> {
        self.driver.borrow_mut().put_is_over(put)
    }
}

fn aligned(posted: &Posted) -> Result<()> {
    if !posted.record.is_multiple_of(wire::RECORD_BYTES as u64) {
        return Err(Error::Argument("a record must be aligned to 16 bytes; use RVMA_Record".into()));
    }
    Ok(())
}

impl OpenWindow {
    /// Posts a buffer with its record.
    pub fn post(&self, posted: Posted) -> Result<()> {
        aligned(&posted)?;
        self.call(|device, window| device.post(window, posted)).map(|_| ())
    }

    /// Posts a buffer with a receive map: its number.
    pub fn post_mapped(&self, posted: Posted, granule: u32) -> Result<u32> {
        aligned(&posted)?;
        self.call(|device, window| device.post_mapped(window, posted, granule)).map(|map| map.number)
    }

    /// The receive map of this number. What a bit stands for only its owner knows.
    pub(crate) fn map(&self, window: Window, number: u32) -> ReceiveMap {
        ReceiveMap { process: window.process, number, granule: 1 }
    }

    /// A call of the driver on this window.
    pub fn call<T>(&self, call: impl FnOnce(&mut Device<NetworkNode, NetworkNode>, Window) -> Result<T>) -> Result<T> {
        call(&mut self.nic.driver.borrow_mut(), self.window)
    }
}
