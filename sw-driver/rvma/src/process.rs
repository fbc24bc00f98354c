//! A process of a node: its memory, its puts, its windows.

use crate::alarm::Alarm;
use crate::contexts::Event;
use crate::ends::{Ends, Op, PutFailed};
use crate::memory::PostedBuffers;
use crate::node::{argument, lock, no_process, refused, Node};
use crate::waiting::Sign;
use crate::window::OpenWindow;
use anyhow::{Context as _, Result};
use spindle::congestion::Congestion;
use spindle::put::{Put, Reply, Target};
use spindle::window::WindowOptions;
use spindle::{Access, Error, InterruptOptions};
use spindle_contract::events::MAX_RECORDS;
use spindle_contract::wire::RECORD_STATUS;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Records of a process' event ring, beside those of complete buffers: ends of puts that the library has not read yet.
const RING: usize = 4096;
/// Looks of which one is also for the last refusal: a node sends one in 1024 cycles at most.
const LOOKS_PER_REFUSAL: u64 = 8;

/// How a put or get ended.
type End = std::result::Result<(), PutFailed>;

/// What the NIC does for a process of its node. The last owner closes the process.
pub struct Process {
    node: Arc<Node>,
    number: usize,
    /// `None` only at the end.
    ends: Mutex<Option<Ends>>,
    /// What wakes its waits; `None`: they look now and then.
    alarm: Option<Arc<Alarm>>,
    posted: Mutex<PostedBuffers>,
}

/// A process of a node, as any number of threads use it.
#[derive(Clone)]
pub struct Nic {
    own: Arc<Process>,
}

impl Process {
    /// Buffers that are posted.
    pub fn posted(&self) -> &Mutex<PostedBuffers> {
        &self.posted
    }

    /// What its interrupt sets off; `None`: it has none.
    pub fn alarm(&self) -> Option<&Alarm> {
        self.alarm.as_deref()
    }

    /// Arms its interrupt for the next event: how often the alarm had gone off before that.
    ///
    /// # Errors
    /// The process is closed, or the card is gone.
    pub fn arm(&self, alarm: &Alarm) -> Result<u64> {
        self.ends(|ends| ends.arm(&self.node, alarm))
    }

    /// A call on the ends of its puts.
    fn ends<T>(&self, call: impl FnOnce(&mut Ends) -> Result<T>) -> Result<T> {
        match lock(&self.ends).as_mut() {
            Some(ends) => call(ends),
            None => refused("the process is closed"),
        }
    }
}

impl Drop for Process {
    /// The NIC reaches nothing of the process any more. Errors mean that the card is gone.
    fn drop(&mut self) {
        let ends = lock(&self.ends).take();
        let mut memory = self.node.memory();
        let mut driver = self.node.driver();
        if self.alarm.is_some() {
            let _ = driver.set_interrupt(self.number, None);
        }
        if let Some(ends) = ends {
            let _ = driver.close_ring(ends.into_ring());
        }
        let _ = driver.forget_regions(self.number);
        memory.forget(self.number);
        drop(driver);
        drop(memory);
        self.node.processes().remove(&self.number);
    }
}

impl Nic {
    /// A process of a node.
    ///
    /// # Errors
    /// There is no such process.
    pub fn open(node: &Arc<Node>, process: usize) -> Result<Nic> {
        let count = node.driver().info().processes;
        if process >= count {
            return no_process(process, count);
        }
        if let Some(own) = node.card().lock().process().filter(|own| *own != process) {
            return argument(format!(
                "this is process {own}'s share of the card; open process {own}, or the socket of process {process}"
            ));
        }
        let mut processes = node.processes();
        while let Some(known) = processes.get(&process) {
            if let Some(own) = known.upgrade() {
                return Ok(Nic { own });
            }
            // Another thread is closing it, and removes it at the end.
            drop(processes);
            std::thread::yield_now();
            processes = node.processes();
        }
        let alarm = node.alarm(process)?;
        let mut driver = node.driver();
        // With interrupts each complete buffer is an event, and each post reads the ring, so more than are posted are never unread.
        let buffers = if alarm.is_some() { driver.info().posted_buffers } else { 0 };
        if driver.bar.lock().process().is_none() {
            // The ring is memory of the library, and an earlier opening has left the process confined.
            driver.trust(process)?;
        }
        let ring = driver.open_ring(process, (RING + buffers).next_power_of_two().min(MAX_RECORDS))?;
        if alarm.is_some() {
            if driver.bar.lock().process().is_none() {
                driver.set_vector(process, spindle::moderation::vector(process))?;
            }
            driver.set_interrupt(process, Some(InterruptOptions::default()))?;
        }
        let ends = Mutex::new(Some(Ends::new(ring, alarm.clone())));
        // A program of the library reaches what it registers, and nothing else.
        driver.confine(process)?;
        drop(driver);
        let own = Arc::new(Process { node: node.clone(), number: process, ends, alarm, posted: Mutex::default() });
        processes.insert(process, Arc::downgrade(&own));
        Ok(Nic { own })
    }

    /// Its node.
    pub fn node(&self) -> &Arc<Node> {
        &self.own.node
    }

    /// Its number on the node.
    pub fn process(&self) -> usize {
        self.own.number
    }

    pub(crate) fn own(&self) -> &Process {
        &self.own
    }

    /// Lets the NIC reach this memory of the program.
    ///
    /// # Errors
    /// The process has no region left for it, or the card cannot reach it.
    pub fn register(&self, range: Range<u64>) -> Result<()> {
        let (node, process) = (self.node(), self.process());
        let mut memory = node.memory();
        let mut driver = node.driver();
        driver.register_region(process, range.clone(), Access::ReadWrite)?;
        let mapped = memory.register(process, range.clone());
        if mapped.is_err() {
            driver.deregister_region(process, &range, Access::ReadWrite)?;
        }
        Ok(mapped?)
    }

    /// Takes back what one [`Nic::register`] registered.
    ///
    /// # Errors
    /// The range was not registered as such, or the NIC still uses memory in it.
    pub fn deregister(&self, range: &Range<u64>) -> Result<()> {
        let (node, process) = (self.node(), self.process());
        self.own.ends(|ends| {
            ends.read(node)?;
            let mut posted = lock(&self.own.posted);
            let mut memory = node.memory();
            if !memory.has(process, range) {
                let (size, start) = (range.end - range.start, range.start);
                return argument(format!(
                    "the {size} bytes at {start:#x} were not registered by one call; give what RVMA_Register was given"
                ));
            }
            let blocks = |used: &&Range<u64>| {
                used.start < range.end && range.start < used.end && !memory.keeps(process, range, used)
            };
            if let Some(used) = ends.in_use().find(blocks) {
                return refused(format!("a put of the memory at {:#x} is under way; wait for its end first", used.start));
            }
            if let Some(used) = posted.in_use().iter().find(blocks) {
                return refused(format!(
                    "the memory at {:#x} is posted to a window and its record is not written; wait for the record, take \
                     the buffer back, or close the window first",
                    used.start
                ));
            }
            node.driver().deregister_region(process, range, Access::ReadWrite)?;
            Ok(memory.deregister(process, range)?)
        })
    }

    /// Whether the process has registered all of this memory.
    pub(crate) fn covers(&self, memory: &Range<u64>) -> bool {
        self.node().memory().covers(self.process(), memory)
    }

    /// Limits how long puts and gets of this node find no buffer, in nanoseconds of the card's time.
    ///
    /// # Errors
    /// The limit is out of range.
    pub fn set_put_limit(&self, nanoseconds: Option<u64>) -> Result<()> {
        let node = self.node();
        let limit = nanoseconds.map(|limit| node.clock().cycles(limit));
        let longest = node.clock().nanoseconds(spindle::reliable::LONGEST_PUT_LIMIT);
        if limit.is_some_and(|cycles| !(1..=spindle::reliable::LONGEST_PUT_LIMIT).contains(&cycles)) {
            let given = nanoseconds.unwrap_or_default();
            return argument(format!("a put limit of {given} ns; choose 1 to {longest} ns of this card, or no limit"));
        }
        Ok(node.driver().set_put_limit(limit)?)
    }

    /// Has up to `puts` puts of the node take turns (`Device::set_put_turns`).
    ///
    /// # Errors
    /// The number is out of range.
    pub fn set_put_turns(&self, puts: u8) -> Result<()> {
        Ok(self.node().driver().set_put_turns(puts)?)
    }

    /// Has the node obey the marks of switches (`Device::set_congestion_control`), or not.
    ///
    /// # Errors
    /// A value is out of range.
    pub fn set_congestion_control(&self, congestion: Option<Congestion>) -> Result<()> {
        Ok(self.node().driver().set_congestion_control(congestion)?)
    }

    /// Opens a window.
    ///
    /// # Errors
    /// The options contradict each other, or the NIC refuses them.
    pub fn open_window(&self, options: &WindowOptions) -> Result<OpenWindow> {
        // A thread that sleeps wakes by an event.
        let own = WindowOptions { event: options.event || self.own.alarm.is_some(), ..*options };
        let window = self.own.ends(|ends| {
            let mut driver = self.node().driver();
            let mailboxes = driver.info().mailboxes;
            let window = driver.open_window(self.process(), &own);
            let window = window.with_context(|| format!("a window of the card's {mailboxes} mailboxes"))?;
            drop(driver);
            ends.report(self.node(), window.number(), options.event)?;
            Ok(window)
        })?;
        Ok(OpenWindow::new(self.clone(), window))
    }

    /// Waits for a byte of the program that the NIC changes from 0, at most `limit` nanoseconds of the card's time.
    ///
    /// # Errors
    /// It is 0 after that, or the card is gone.
    ///
    /// # Safety
    /// The byte can be read until the call returns.
    pub unsafe fn wait_byte(&self, what: &str, byte: *const u8, limit: u64) -> Result<()> {
        // SAFETY: as the caller promises; volatile, because the NIC writes it meanwhile.
        let there = || Ok((unsafe { byte.read_volatile() } != 0).then_some(()));
        let record = byte as u64 - RECORD_STATUS as u64;
        // Any other byte has no event.
        let event = lock(&self.own.posted).awaits(record).then_some(&*self.own);
        let done = self.node().until(limit, Sign { byte: Some(byte), event }, there)?;
        // What the NIC wrote before the byte is read after it.
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        done.ok_or_else(|| self.timeout(what.into(), limit))
    }

    /// Looks until there is a result, at most `limit` nanoseconds of the card's time; between two looks the thread sleeps until the
    /// process gets an event. `None`: the time is over.
    ///
    /// # Errors
    /// A look fails, or the card is gone.
    pub fn until<T>(&self, limit: u64, look: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
        self.node().until(limit, self.event(), look)
    }

    /// The sign of waits for what an event reports.
    pub(crate) fn event(&self) -> Sign<'_> {
        Sign { byte: None, event: Some(&self.own) }
    }

    pub(crate) fn timeout(&self, what: String, limit: u64) -> anyhow::Error {
        Error::Timeout { what, cycles: self.node().clock().cycles(limit) }.into()
    }

    /// Puts memory of the program.
    ///
    /// # Errors
    /// The memory is not registered, the destination does not exist, or the NIC refuses the put.
    pub fn put(&self, buffer: u64, length: u32, target: &Target) -> Result<Op> {
        self.check(target.node.into(), target.process.into())?;
        let memory = buffer..buffer.saturating_add(length.into());
        if !self.covers(&memory) {
            return refused("not all of the memory of the put is registered; register it first");
        }
        self.order(memory, |node| node.driver().put(self.process(), buffer, length, target))
    }

    /// Asks for bytes of a window of another node.
    ///
    /// # Errors
    /// The source does not exist, or the NIC refuses the get.
    pub fn get(&self, length: u32, source: &Target, reply: &Reply) -> Result<Op> {
        self.check(source.node.into(), source.process.into())?;
        self.order(0..0, |node| node.driver().get(self.process(), length, source, reply))
    }

    /// Likewise, of the oldest buffer that is not complete.
    ///
    /// # Errors
    /// As of [`Nic::get`].
    pub fn get_active(&self, length: u32, source: &Target, reply: &Reply) -> Result<Op> {
        self.check(source.node.into(), source.process.into())?;
        self.order(0..0, |node| node.driver().get_active(self.process(), length, source, reply))
    }

    /// The process at the other end exists.
    pub(crate) fn check(&self, node: usize, process: usize) -> Result<()> {
        self.node().check(node, process)
    }

    /// Gives the NIC an order and keeps it. The ring is read too, so that it never fills; not before the order is
    /// kept, so that its end finds it.
    fn order(&self, memory: Range<u64>, order: impl FnOnce(&Node) -> spindle::Result<Put>) -> Result<Op> {
        self.own.ends(|ends| {
            let op = ends.post(order(self.node())?, memory);
            ends.read(self.node())?;
            Ok(op)
        })
    }

    /// Waits until every byte of a put has been acknowledged, at most `limit` nanoseconds of the card's time. Each
    /// operation is waited for once.
    ///
    /// # Errors
    /// There is no such operation, the time is over, or the put failed ([`PutFailed`]).
    pub fn wait_put(&self, op: Op, limit: u64) -> Result<()> {
        let mut looks = 0;
        let end = self.node().until(limit, self.event(), || {
            let refusals = looks % LOOKS_PER_REFUSAL == 0;
            looks += 1;
            self.own.ends(|ends| self.look(ends, op, refusals))
        })?;
        match end {
            Some(end) => Ok(end?),
            None => Err(self.timeout(self.put_state(op)?, limit)),
        }
    }

    /// How a put or get ended, if it is over: one look, for waits of the program's own. Each end is given once.
    ///
    /// # Errors
    /// There is no such operation, or the card is gone.
    pub fn put_end(&self, op: Op) -> Result<Option<std::result::Result<(), PutFailed>>> {
        self.own.ends(|ends| self.look(ends, op, false))
    }

    /// What is known of a put or get that is under way, as the subject of a sentence: its last refusal.
    ///
    /// # Errors
    /// The card is gone.
    pub fn put_state(&self, op: Op) -> Result<String> {
        self.own.ends(|ends| {
            self.look_for_refusal(ends)?;
            Ok(ends.state(op))
        })
    }

    fn look(&self, ends: &mut Ends, op: Op, refusals: bool) -> Result<Option<End>> {
        ends.read(self.node())?;
        let end = ends.end(op)?;
        if refusals && end.is_none() {
            self.look_for_refusal(ends)?;
        }
        Ok(end)
    }

    /// The NIC keeps the latest refusal of all processes; its number names the put.
    fn look_for_refusal(&self, ends: &mut Ends) -> Result<()> {
        if let Some((number, code)) = self.node().driver().last_refusal()? {
            ends.refuse(number, code);
        }
        Ok(())
    }

    /// The oldest event of the process that is not the library's own.
    ///
    /// # Errors
    /// The card is gone.
    pub fn take_event(&self) -> Result<Option<Event>> {
        self.own.ends(|ends| {
            ends.read(self.node())?;
            Ok(ends.take_event())
        })
    }

    /// Reads what the NIC has reported, so that the ring does not fill.
    pub(crate) fn read_events(&self) -> Result<()> {
        self.own.ends(|ends| ends.read(self.node()))
    }
}
