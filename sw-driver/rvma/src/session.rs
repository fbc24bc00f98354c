//! Cards of a network, each opened by the driver: what the handles of `rvma.h` stand for.

use crate::card::SharedCard;
use crate::ends::{Ends, Op, PutFailed};
use crate::memory::{self, NodeMemory, PostedBuffers};
use anyhow::Result;
use spindle::peer::Responses;
use spindle::put::{Put, Reply, Target};
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::WindowOptions;
use spindle::{Access, Device, Error, Node as Address, ReceiveMap, Rule};
use spindle_contract::wire;
use std::cell::{Cell, RefCell};
use std::collections::hash_map::{Entry, HashMap};
use std::ops::Range;
use std::rc::Rc;

/// Records of a process's event ring: ends of puts that the library has not read yet.
const RING: usize = 4096;
/// Cycles between two looks at a record.
const LOOK: u64 = 64;
/// Looks of which one is also for the last refusal: a node sends one in 1024 cycles at most.
const LOOKS_PER_REFUSAL: u64 = 8;

/// A driver, shared by the processes of its node.
pub type Driver = Rc<RefCell<OpenCard>>;

/// The driver of a NIC.
pub type OpenCard = Device<SharedCard, SharedCard>;

/// How a put or get ended.
type End = std::result::Result<(), PutFailed>;

/// By node and process.
type Processes = HashMap<(usize, usize), Rc<Process>>;

/// A card of a network, and its addresses on the wire.
pub struct Member {
    /// The card.
    pub card: SharedCard,
    /// Its addresses.
    pub address: Address,
}

/// Cards on a wire.
pub struct Session {
    nodes: Vec<Node>,
    /// The processes that were opened.
    processes: RefCell<Processes>,
}

/// A NIC, and the memory that the processes of its node have registered.
struct Node {
    driver: Driver,
    memory: Rc<RefCell<NodeMemory>>,
}

/// What the NIC does for a process of its node.
struct Process {
    ends: RefCell<Ends>,
    posted: RefCell<PostedBuffers>,
}

/// A process of a node.
#[derive(Clone)]
pub struct Nic {
    driver: Driver,
    process: usize,
    /// Nodes of the network.
    nodes: usize,
    memory: Rc<RefCell<NodeMemory>>,
    own: Rc<Process>,
}

/// A window of it.
pub struct OpenWindow {
    nic: Nic,
    window: Window,
    closed: Cell<bool>,
}

/// A call that the library refuses in the NIC's place.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

fn refused<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Refused(sentence.into()).into())
}

fn argument<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Error::Argument(sentence.into()).into())
}

/// Times that suit the wire: a segment is missing when it is late by more than a round trip.
fn reliability(round_trip: u64, node: u32) -> Reliability {
    /// In units of 64 cycles; the eightfold must fit 15 bits.
    const MOST: u64 = 4095;
    let units = |cycles: u64| cycles.div_ceil(64).min(MOST) as u16;
    Reliability { timeout: units(4 * round_trip), hole_time: units(round_trip), retries: 15, incarnation: node + 1 }
}

impl Session {
    /// Opens the cards of a network; their node numbers are their places in the list. Each knows all others, and places
    /// what comes for its mailboxes. A packet and its acknowledgement take `round_trip` cycles at most while nothing waits.
    ///
    /// # Errors
    /// A card cannot be opened.
    pub fn new(members: Vec<Member>, round_trip: u64) -> Result<Session> {
        let addresses: Vec<Address> = members.iter().map(|member| member.address).collect();
        let mut nodes = Vec::new();
        for (number, Member { card, address }) in members.into_iter().enumerate() {
            let mut device = Device::open(card.clone(), card)?;
            device.set_identity(number as u32, address.mac, address.ip)?;
            for (other, address) in addresses.iter().enumerate() {
                device.set_node(other, Some(*address))?;
            }
            device.add_rule(&"spindle".parse::<Rule>().map_err(Error::from)?, Action::Mailbox)?;
            device.set_sequence_filter(true)?;
            device.set_responses(Some(Responses { ack_every: 1, ..Responses::default() }))?;
            device.set_reliability(Some(reliability(round_trip, number as u32)))?;
            device.set_receive(true)?;
            nodes.push(Node { driver: Rc::new(RefCell::new(device)), memory: Rc::default() });
        }
        Ok(Session { nodes, processes: RefCell::default() })
    }

    /// A process of a node.
    ///
    /// # Errors
    /// There is no such node or process.
    pub fn open(&self, node: usize, process: usize) -> Result<Nic> {
        let Some(Node { driver, memory }) = self.nodes.get(node) else { return no_node(node, self.nodes.len()) };
        let processes = driver.borrow().info().processes;
        if process >= processes {
            return no_process(process, processes);
        }
        let own = match self.processes.borrow_mut().entry((node, process)) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => {
                let ring = driver.borrow_mut().open_ring(process, RING)?;
                let ends = RefCell::new(Ends::new(ring, node * processes + process));
                entry.insert(Rc::new(Process { ends, posted: RefCell::default() })).clone()
            }
        };
        // A program of the library reaches what it registers, and nothing else.
        driver.borrow_mut().confine(process)?;
        Ok(Nic { driver: driver.clone(), process, nodes: self.nodes.len(), memory: memory.clone(), own })
    }

    /// Lets time pass.
    pub fn run(&self, cycles: u64) {
        if let Some(node) = self.nodes.first() {
            let card = node.driver.borrow().memory.clone();
            card.with(|card| card.pass(cycles));
        }
    }
}

fn no_node<T>(node: usize, nodes: usize) -> Result<T> {
    argument(format!("there is no node {node}; the network has {nodes}, numbered from 0"))
}

fn no_process<T>(process: usize, processes: usize) -> Result<T> {
    argument(format!("there is no process {process}; a node has {processes}, numbered from 0"))
}

impl Nic {
    /// Lets the NIC reach this memory of the program.
    ///
    /// # Errors
    /// The process has no region left for it.
    pub fn register(&self, range: Range<u64>) -> Result<()> {
        let mut device = self.driver.borrow_mut();
        device.register_region(self.process, range.clone(), Access::ReadWrite)?;
        device.memory.with(|card| self.memory.borrow_mut().register(card, self.process, range));
        Ok(())
    }

    /// Takes back what one [`Nic::register`] registered.
    ///
    /// # Errors
    /// The range was not registered as such, or the NIC still uses memory in it.
    pub fn deregister(&self, range: &Range<u64>) -> Result<()> {
        let mut ends = self.own.ends.borrow_mut();
        ends.read(&self.driver)?;
        let mut memory = self.memory.borrow_mut();
        if !memory.has(self.process, range) {
            let (size, start) = (range.end - range.start, range.start);
            return argument(format!(
                "the {size} bytes at {start:#x} were not registered by one call; give what RVMA_Register was given"
            ));
        }
        let blocks = |used: &&Range<u64>| {
            used.start < range.end && range.start < used.end && !memory.keeps(self.process, range, used)
        };
        if let Some(used) = ends.in_use().find(blocks) {
            return refused(format!("a put of the memory at {:#x} is under way; wait for its end first", used.start));
        }
        if let Some(used) = self.own.posted.borrow_mut().in_use().iter().find(blocks) {
            return refused(format!(
                "the memory at {:#x} is posted to a window and its record is not written; wait for the record, take the \
                 buffer back, or close the window first",
                used.start
            ));
        }
        let mut device = self.driver.borrow_mut();
        device.deregister_region(self.process, range, Access::ReadWrite)?;
        device.memory.with(|card| memory.deregister(card, self.process, range));
        Ok(())
    }

    /// Limits how long puts and gets of this node find no buffer ([`Device::set_put_limit`]).
    ///
    /// # Errors
    /// The limit is out of range.
    pub fn set_put_limit(&self, cycles: Option<u64>) -> Result<()> {
        Ok(self.driver.borrow_mut().set_put_limit(cycles)?)
    }

    /// Opens a window.
    ///
    /// # Errors
    /// The options contradict each other, or the NIC refuses them.
    pub fn open_window(&self, options: &WindowOptions) -> Result<OpenWindow> {
        let window = self.driver.borrow_mut().open_window(self.process, options)?;
        Ok(OpenWindow { nic: self.clone(), window, closed: Cell::new(false) })
    }

    /// Moves on until `done` is true, at most `limit` cycles: whether it became true.
    fn run_until(&self, limit: u64, mut done: impl FnMut() -> bool) -> bool {
        let card = self.driver.borrow().memory.clone();
        let mut waited = 0;
        while !done() {
            if waited >= limit {
                return false;
            }
            let step = LOOK.min(limit - waited);
            card.with(|card| card.pass(step));
            waited += step;
        }
        true
    }

    /// Moves on until `done` is true.
    ///
    /// # Errors
    /// It is not after `limit` cycles.
    pub fn wait(&self, what: &str, limit: u64, done: impl FnMut() -> bool) -> Result<()> {
        if self.run_until(limit, done) {
            return Ok(());
        }
        Err(Error::Timeout { what: what.into(), cycles: limit }.into())
    }

    /// Puts memory of the program.
    ///
    /// # Errors
    /// The memory is not registered, the destination does not exist, or the NIC refuses the put.
    pub fn put(&self, buffer: u64, length: u32, target: &Target) -> Result<Op> {
        self.check(target.node.into(), target.process.into())?;
        let memory = buffer..buffer.saturating_add(length.into());
        if !self.memory.borrow().covers(self.process, &memory) {
            return refused("not all of the memory of the put is registered; register it first");
        }
        let put = self.driver.borrow_mut().put(self.process, buffer, length, target)?;
        self.posted(put, memory)
    }

    /// Asks for bytes of a window of another node.
    ///
    /// # Errors
    /// The source does not exist, or the NIC refuses the get.
    pub fn get(&self, length: u32, source: &Target, reply: &Reply) -> Result<Op> {
        self.check(source.node.into(), source.process.into())?;
        let get = self.driver.borrow_mut().get(self.process, length, source, reply)?;
        self.posted(get, 0..0)
    }

    /// Likewise, of the oldest buffer that is not complete.
    ///
    /// # Errors
    /// As of [`Nic::get`].
    pub fn get_active(&self, length: u32, source: &Target, reply: &Reply) -> Result<Op> {
        self.check(source.node.into(), source.process.into())?;
        let get = self.driver.borrow_mut().get_active(self.process, length, source, reply)?;
        self.posted(get, 0..0)
    }

    /// The process at the other end exists.
    pub(crate) fn check(&self, node: usize, process: usize) -> Result<()> {
        let processes = self.driver.borrow().info().processes;
        if node >= self.nodes {
            return no_node(node, self.nodes);
        }
        if process >= processes {
            return no_process(process, processes);
        }
        Ok(())
    }

    /// Keeps what the NIC has taken. The ring is read too, so that it never fills.
    fn posted(&self, put: Put, memory: Range<u64>) -> Result<Op> {
        let mut ends = self.own.ends.borrow_mut();
        let op = ends.post(put, memory);
        ends.read(&self.driver)?;
        Ok(op)
    }

    /// Waits until every byte of a put has been acknowledged, at most `limit` cycles. Each operation is waited for once.
    ///
    /// # Errors
    /// There is no such operation, the time is over, or the put failed ([`PutFailed`](crate::PutFailed)).
    pub fn wait_put(&self, op: Op, limit: u64) -> Result<()> {
        let mut ends = self.own.ends.borrow_mut();
        let mut looks = 0;
        let mut end = Ok(None);
        let ended = self.run_until(limit, || {
            end = self.look(&mut ends, op, looks % LOOKS_PER_REFUSAL == 0);
            looks += 1;
            !matches!(end, Ok(None))
        });
        match end? {
            Some(end) if ended => Ok(end?),
            _ => {
                self.look_for_refusal(&mut ends)?;
                Err(Error::Timeout { what: ends.state(op), cycles: limit }.into())
            }
        }
    }

    fn look(&self, ends: &mut Ends, op: Op, refusals: bool) -> Result<Option<End>> {
        ends.read(&self.driver)?;
        let end = ends.end(op)?;
        if refusals && end.is_none() {
            self.look_for_refusal(ends)?;
        }
        Ok(end)
    }

    /// The NIC keeps the latest refusal of all processes; its number names the put.
    fn look_for_refusal(&self, ends: &mut Ends) -> Result<()> {
        if let Some((number, code)) = self.driver.borrow_mut().last_refusal()? {
            ends.refuse(number, code);
        }
        Ok(())
    }
}

impl OpenWindow {
    /// Posts a buffer with its record.
    ///
    /// # Errors
    /// Buffer or record is not registered, or the NIC refuses them.
    pub fn post(&self, posted: Posted) -> Result<()> {
        self.check(&posted)?;
        self.call(|device, window| device.post(window, posted))?;
        self.nic.own.posted.borrow_mut().post(posted);
        Ok(())
    }

    /// Posts a buffer with a receive map: its number.
    ///
    /// # Errors
    /// As of [`OpenWindow::post`], or there is no map left.
    pub fn post_mapped(&self, posted: Posted, granule: u32) -> Result<u32> {
        self.check(&posted)?;
        let map = self.call(|device, window| device.post_mapped(window, posted, granule))?;
        self.nic.own.posted.borrow_mut().post(posted);
        Ok(map.number)
    }

    fn check(&self, posted: &Posted) -> Result<()> {
        if !posted.record.is_multiple_of(wire::RECORD_BYTES as u64) {
            return argument("a record must be aligned to 16 bytes; use RVMA_Record");
        }
        let registered = self.nic.memory.borrow();
        if memory::bytes(posted).iter().any(|bytes| !registered.covers(self.nic.process, bytes)) {
            return refused("the buffer or its record is not registered; register both first");
        }
        Ok(())
    }

    /// The receive map of this number. The meaning of a bit is known to its owner only.
    pub(crate) fn map(&self, number: u32) -> ReceiveMap {
        ReceiveMap { process: self.window.process, number, granule: 1 }
    }

    /// A call of the driver on the NIC of the window, which may be closed.
    pub fn on_nic<T>(&self, call: impl FnOnce(&mut OpenCard) -> spindle::Result<T>) -> Result<T> {
        Ok(call(&mut self.nic.driver.borrow_mut())?)
    }

    /// A call of the driver on this window.
    ///
    /// # Errors
    /// The window is closed, or the call fails.
    pub fn call<T>(&self, call: impl FnOnce(&mut OpenCard, Window) -> spindle::Result<T>) -> Result<T> {
        if self.closed.get() {
            return refused("the window is closed; open another one");
        }
        self.nic.own.ends.borrow_mut().read(&self.nic.driver)?;
        self.on_nic(|device| call(device, self.window))
    }

    /// Closes the window.
    ///
    /// # Errors
    /// It is closed.
    pub fn close(&self) -> Result<()> {
        self.call(|device, window| device.close_window(window))?;
        self.closed.set(true);
        Ok(())
    }
}
