//! A card that is open, shared by the processes and threads that use it.

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::memory::NodeMemory;
use crate::process::Process;
use crate::program::ProgramMemory;
use anyhow::Result;
use spindle::rule_table::Action;
use spindle::{ContextId, Device, Error, Icrc, Node as Address, Rule, SharedCard};
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The driver of a NIC.
pub type OpenCard = Device<SharedCard, ProgramMemory>;

/// A call that the library refuses in the NIC's place.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

/// The error of a call that is refused in the present state.
pub fn refused<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Refused(sentence.into()).into())
}

/// The error of an argument.
pub fn argument<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Error::Argument(sentence.into()).into())
}

/// Locks; a panic of another thread is no reason to stop, since the calls under the locks are whole or errors.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nodes that the node table of a card has.
#[derive(Clone, Debug)]
pub struct Peers(Vec<bool>);

impl Peers {
    /// The first so many.
    pub fn first(nodes: usize) -> Peers {
        Peers((0..NODE_TABLE_ENTRIES).map(|number| number < nodes).collect())
    }

    fn has(&self, number: usize) -> bool {
        self.0.get(number).copied().unwrap_or(false)
    }

    fn count(&self) -> usize {
        self.0.iter().filter(|known| **known).count()
    }
}

/// An open card: its driver, what its processes have registered, and the nodes that it knows.
///
/// Locks are taken in this order: `processes`, then those of a process, `memory`, `rules`, `driver`, and the card's own.
pub struct Node {
    card: SharedCard,
    driver: Mutex<OpenCard>,
    memory: Mutex<NodeMemory>,
    peers: Mutex<Peers>,
    /// Rules of contexts, the first one before the others.
    rules: Mutex<Vec<(ContextId, Rule, Action)>>,
    /// The processes that are open.
    processes: Mutex<HashMap<usize, Weak<Process>>>,
    /// Of the vectors that open processes have.
    alarms: Mutex<HashMap<usize, Arc<Alarm>>>,
    clock: Clock,
    by_calls: bool,
}

impl Node {
    /// A card that the driver has opened.
    pub fn new(card: SharedCard, device: OpenCard, peers: Peers) -> Arc<Node> {
        let memory = Mutex::new(NodeMemory::new(device.memory.clone()));
        let (clock, by_calls) = (Clock::new(device.info().clock_mhz), card.lock().time_moves_by_calls());
        Arc::new(Node {
            card,
            driver: Mutex::new(device),
            memory,
            peers: Mutex::new(peers),
            rules: Mutex::default(),
            processes: Mutex::default(),
            alarms: Mutex::default(),
            clock,
            by_calls,
        })
    }

    /// The card itself.
    pub fn card(&self) -> &SharedCard {
        &self.card
    }

    /// Its driver; other threads wait while it is held.
    pub fn driver(&self) -> MutexGuard<'_, OpenCard> {
        lock(&self.driver)
    }

    /// What is registered.
    pub fn memory(&self) -> MutexGuard<'_, NodeMemory> {
        lock(&self.memory)
    }

    /// Rules of contexts.
    pub fn rules(&self) -> MutexGuard<'_, Vec<(ContextId, Rule, Action)>> {
        lock(&self.rules)
    }

    /// The processes that are open.
    pub fn processes(&self) -> MutexGuard<'_, HashMap<usize, Weak<Process>>> {
        lock(&self.processes)
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether the card's time moves by calls only.
    pub fn moves_by_calls(&self) -> bool {
        self.by_calls
    }

    /// The alarm of a process: that of its vector. `None`: the card has no interrupts, or no time of its own to sleep in.
    ///
    /// # Errors
    /// The transport cannot give the interrupt.
    pub fn alarm(&self, process: usize) -> Result<Option<Arc<Alarm>>> {
        let vector = spindle::moderation::vector(process);
        let mut card = self.card.lock();
        if self.by_calls || vector >= card.vectors() {
            return Ok(None);
        }
        let mut alarms = lock(&self.alarms);
        if let Some(alarm) = alarms.get(&vector) {
            return Ok(Some(alarm.clone()));
        }
        let alarm = Arc::new(Alarm::new(card.interrupt(vector)?));
        alarms.insert(vector, alarm.clone());
        Ok(Some(alarm))
    }

    /// Enters a node into the node table, or takes it out.
    ///
    /// # Errors
    /// The number is beyond the table.
    pub fn set_peer(&self, number: usize, address: Option<Address>) -> Result<()> {
        self.driver().set_node(number, address)?;
        self.know_peer(number, address.is_some());
        Ok(())
    }

    /// Enters a node with which the ICRC is used.
    ///
    /// # Errors
    /// The number is beyond the table.
    pub fn set_checked_peer(&self, number: usize, address: Address, icrc: Icrc) -> Result<()> {
        self.driver().set_checked_node(number, address, icrc)?;
        self.know_peer(number, true);
        Ok(())
    }

    /// Remembers that the node table has the node, or no longer has it.
    fn know_peer(&self, number: usize, entered: bool) {
        if let Some(known) = lock(&self.peers).0.get_mut(number) {
            *known = entered;
        }
    }

    /// The process at the other end exists, as far as this node knows.
    pub fn check(&self, node: usize, process: usize) -> Result<()> {
        let processes = self.driver().info().processes;
        let peers = lock(&self.peers);
        if !peers.has(node) {
            let known = peers.count();
            return argument(format!(
                "there is no node {node}; the network has {known}, and RVMA_Set_node enters more"
            ));
        }
        if process >= processes {
            return no_process(process, processes);
        }
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A card that is gone needs no end.
        let _ = self.driver().set_receive(false);
    }
}

/// The error of a process that no card has.
pub fn no_process<T>(process: usize, processes: usize) -> Result<T> {
    argument(format!("there is no process {process}; a node has {processes}, numbered from 0"))
}
