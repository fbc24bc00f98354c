//! A card that is open, shared by the processes and threads that use it.

use crate::clock::{Clock, FOREVER};
use crate::memory::NodeMemory;
use crate::monitor;
use crate::process::Process;
use crate::program::ProgramMemory;
use anyhow::Result;
use spindle::rule_table::Action;
use spindle::{ContextId, Device, Error, Node as Address, Rule, SharedCard};
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Cycles between two looks at a record, of a card whose time moves by calls.
const LOOK: u64 = 64;
/// How long a wait looks all the time before it sleeps.
const SPIN: Duration = Duration::from_micros(20);
/// Shortest and longest sleep between two looks.
const SLEEP: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// Time after which a wait looks at the card's clock.
const CLOCK: Duration = Duration::from_millis(10);
/// Likewise, of a wait without a limit: only to notice that the card is gone.
const ALIVE: Duration = Duration::from_millis(500);

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

    /// Enters a node into the node table, or takes it out.
    ///
    /// # Errors
    /// The number is beyond the table.
    pub fn set_peer(&self, number: usize, address: Option<Address>) -> Result<()> {
        self.driver().set_node(number, address)?;
        if let Some(known) = lock(&self.peers).0.get_mut(number) {
            *known = address.is_some();
        }
        Ok(())
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

    /// Looks until there is a result, at most `limit` nanoseconds of the card's time; `None`: the time is over.
    ///
    /// `record` is a byte whose change is waited for, if it is one.
    ///
    /// # Errors
    /// A look fails, or the card is gone.
    pub fn until<T>(
        &self,
        limit: u64,
        record: Option<*const u8>,
        look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        if self.by_calls {
            self.move_until(self.clock.cycles(limit), look)
        } else {
            self.sleep_until(limit, record, look)
        }
    }

    /// Of a card whose time moves by calls.
    fn move_until<T>(&self, limit: u64, mut look: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
        let mut waited = 0;
        loop {
            if let Some(result) = look()? {
                return Ok(Some(result));
            }
            if waited >= limit {
                return Ok(None);
            }
            let step = LOOK.min(limit - waited);
            self.card.lock().pause(step)?;
            waited += step;
        }
    }

    /// Of a card whose time moves by itself, perhaps more slowly than the host's: the limit is one of the card's clock.
    fn sleep_until<T>(
        &self,
        limit: u64,
        record: Option<*const u8>,
        mut look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let (begin, mut sleep) = (Instant::now(), SLEEP.0);
        let mut watch = Watch { start: None, last: begin, limit };
        loop {
            if let Some(result) = look()? {
                return Ok(Some(result));
            }
            if begin.elapsed() < SPIN {
                match record {
                    // SAFETY: the record can be read as long as the wait for it lasts.
                    Some(byte) => unsafe { monitor::wait(byte) },
                    None => std::hint::spin_loop(),
                }
                continue;
            }
            if watch.over(self)? {
                // What came until then counts.
                return look();
            }
            std::thread::sleep(sleep.min(Duration::from_nanos(limit).max(SLEEP.0)));
            sleep = (sleep * 2).min(SLEEP.1);
        }
    }
}

/// A limit of the card's time, which is looked at now and then.
struct Watch {
    start: Option<u64>,
    last: Instant,
    limit: u64,
}

impl Watch {
    /// Whether the limit is over.
    fn over(&mut self, node: &Node) -> Result<bool> {
        let pace = if self.limit == FOREVER { ALIVE } else { CLOCK.min(Duration::from_nanos(self.limit)) };
        if self.start.is_some() && self.last.elapsed() < pace {
            return Ok(false);
        }
        self.last = Instant::now();
        let now = node.driver().cycle()?;
        let start = *self.start.get_or_insert(now);
        Ok(self.limit != FOREVER && now.saturating_sub(start) >= node.clock.cycles(self.limit))
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
