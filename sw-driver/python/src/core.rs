//! A process of a card that a program has open, and what hangs on it: memory, records, windows, contexts.

use crate::context::Loaded;
use crate::failure::{refused, Failure, Result};
use crate::owned::Owned;
use crate::pages::{deregister, Pages};
use crate::space::{Mapping, Space};
use spindle::rvma::Completed;
use spindle::{Device, SharedCard};
use spindle_contract::wire::{RECORD_BYTES, RECORD_STATUS};
use spindle_rvma::{Nic, OpenWindow, ProgramMemory};
use std::ops::Range;
use std::sync::atomic::{fence, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The driver of a card that a program has open.
pub type OpenDevice = Device<SharedCard, ProgramMemory>;

/// Nanoseconds of the card's time within which puts end and closed windows give their buffers back.
const END: u64 = 200_000;
/// Bytes of memory for records that are allocated at a time.
const RECORDS: u64 = 4096;

/// Locks; calls under the locks are whole or errors, so a panic of another thread is no reason to stop.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something of a card that is closed once, by the program or with the card.
pub struct Closing<T>(Mutex<Option<Arc<Owned<T>>>>);

impl<T> Closing<T> {
    /// Open.
    pub fn new(open: T) -> Arc<Closing<T>> {
        Arc::new(Closing(Mutex::new(Some(Arc::new(Owned::new(open))))))
    }

    /// What is open.
    ///
    /// # Errors
    /// It is closed: `what` is named.
    pub fn get(&self, what: &str) -> Result<Arc<Owned<T>>> {
        lock(&self.0).clone().ok_or_else(|| Failure::Refused(format!("{what} is closed; open another one")))
    }

    /// What was open; it is closed for others from now on.
    pub fn take(&self) -> Option<Arc<Owned<T>>> {
        lock(&self.0).take()
    }
}

/// What is open of a process.
#[derive(Default)]
struct Opened {
    pages: Vec<Weak<Pages>>,
    /// Memory without owner that the card still used.
    orphans: Vec<Mapping>,
    windows: Vec<Weak<Closing<OpenWindow>>>,
    contexts: Vec<Weak<Closing<Loaded>>>,
}

/// Places for completion records.
#[derive(Default)]
struct Records {
    pages: Vec<Arc<Pages>>,
    free: Vec<(u64, Arc<Pages>)>,
    /// Without owner, and not written yet.
    waiting: Vec<(u64, Arc<Pages>)>,
}

/// A process of a card, open until the program closes it, or until nothing of it is left.
pub struct Core {
    /// `None`: the program has closed the card. In a forked child the lock may never be free.
    nic: Owned<Mutex<Option<Nic>>>,
    opened: Mutex<Opened>,
    records: Mutex<Records>,
    space: Arc<Space>,
}

impl Core {
    /// An open process.
    pub fn new(nic: Nic) -> Arc<Core> {
        Arc::new(Core {
            nic: Owned::new(Mutex::new(Some(nic))),
            opened: Mutex::default(),
            records: Mutex::default(),
            space: Space::new(),
        })
    }

    /// The process.
    ///
    /// # Errors
    /// The card is closed, or belongs to the program that has forked this one.
    pub fn nic(&self) -> Result<Nic> {
        if !self.nic.is_here() {
            return refused("the card belongs to the program that forked this one; open a card in this one");
        }
        match &*lock(&self.nic) {
            Some(nic) => Ok(nic.clone()),
            None => refused("the card is closed; open it again"),
        }
    }

    /// Where its memory lies.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// Whether the program has closed the card.
    pub fn is_closed(&self) -> bool {
        lock(&self.nic).is_none()
    }

    /// Memory of so many bytes.
    ///
    /// # Errors
    /// As of [`Pages::new`].
    pub fn allocate(self: &Arc<Core>, bytes: u64) -> Result<Arc<Pages>> {
        self.reap();
        let pages = Pages::new(self, bytes)?;
        let mut opened = lock(&self.opened);
        opened.pages.retain(|known| known.strong_count() > 0);
        opened.pages.push(Arc::downgrade(&pages));
        Ok(pages)
    }

    /// The memory of this process in which all these bytes lie.
    pub fn find(&self, bytes: &Range<u64>) -> Option<Arc<Pages>> {
        // What is dropped here for the last time locks the list again.
        let known: Vec<Arc<Pages>> = lock(&self.opened).pages.iter().filter_map(Weak::upgrade).collect();
        let holds = |pages: &Arc<Pages>| {
            let range = pages.range();
            range.start <= bytes.start && bytes.end <= range.end
        };
        known.into_iter().find(holds)
    }

    /// Takes memory without owner back from the card, now or when the card has stopped to use it.
    pub fn take_back(&self, mapping: Mapping) {
        match self.nic() {
            Ok(nic) if deregister(&mapping, &nic).is_ok() => {}
            Ok(_) => lock(&self.opened).orphans.push(mapping),
            // The process has ended since, and it is not known whether the card had stopped to use the memory.
            Err(_) => std::mem::forget(mapping),
        }
    }

    fn reap(&self) {
        let Ok(nic) = self.nic() else { return };
        let orphans = std::mem::take(&mut lock(&self.opened).orphans);
        let used: Vec<Mapping> = orphans.into_iter().filter(|orphan| deregister(orphan, &nic).is_err()).collect();
        lock(&self.opened).orphans.extend(used);
    }

    /// Keeps a window, to close it with the card.
    pub fn add_window(&self, window: &Arc<Closing<OpenWindow>>) {
        let windows = &mut lock(&self.opened).windows;
        windows.retain(|known| known.strong_count() > 0);
        windows.push(Arc::downgrade(window));
    }

    /// Keeps a context, to end it with the card.
    pub fn add_context(&self, context: &Arc<Closing<Loaded>>) {
        let contexts = &mut lock(&self.opened).contexts;
        contexts.retain(|known| known.strong_count() > 0);
        contexts.push(Arc::downgrade(context));
    }

    /// A place for a record.
    ///
    /// # Errors
    /// As of [`Core::allocate`].
    pub fn record(self: &Arc<Core>) -> Result<Record> {
        let mut records = lock(&self.records);
        let waiting = std::mem::take(&mut records.waiting);
        let (free, waiting) = waiting.into_iter().partition(|(address, _)| is_written(*address));
        records.waiting = waiting;
        let freed: Vec<_> = free;
        records.free.extend(freed);
        if records.free.is_empty() {
            let pages = self.allocate(RECORDS)?;
            let places = pages.range().step_by(RECORD_BYTES).map(|address| (address, pages.clone()));
            records.free.extend(places);
            records.pages.push(pages);
        }
        let (address, pages) = records.free.pop().expect("there are some");
        Ok(Record { core: Arc::downgrade(self), address, pages: Some(pages) })
    }

    /// Ends contexts and windows, takes all memory back from the card, and leaves the card. Views of the memory stay valid.
    pub fn close(&self) {
        if !self.nic.is_here() {
            return;
        }
        let Some(nic) = lock(&self.nic).take() else { return };
        let opened = std::mem::take(&mut *lock(&self.opened));
        // A context that is gone and a window that is closed need nothing.
        for window in opened.windows.iter().filter_map(Weak::upgrade).filter_map(|window| window.take()) {
            let _ = window.close();
        }
        for context in opened.contexts.iter().filter_map(Weak::upgrade).filter_map(|context| context.take()) {
            let _ = context.context.unload();
        }
        let pages: Vec<Arc<Pages>> = opened.pages.iter().filter_map(Weak::upgrade).collect();
        let mut orphans = opened.orphans;
        let returned = nic.until(END, || {
            orphans.retain(|orphan| deregister(orphan, &nic).is_err());
            let rest = pages.iter().filter(|pages| pages.deregister(&nic).is_err()).count();
            Ok((rest == 0 && orphans.is_empty()).then_some(()))
        });
        if !matches!(returned, Ok(Some(()))) {
            // The card may still use them: better lost than given to others. Pages that are still registered know it.
            std::mem::forget(orphans);
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether the card has written a record, which lies in memory of the program.
fn is_written(address: u64) -> bool {
    // SAFETY: the record's pages are kept as long as its place. Volatile, because the card writes it.
    unsafe { ((address as usize + RECORD_STATUS) as *const u8).read_volatile() != 0 }
}

/// A place for a record. It is used again when the card has written it.
pub struct Record {
    core: Weak<Core>,
    /// Its address.
    pub address: u64,
    /// `None` only at the end.
    pages: Option<Arc<Pages>>,
}

impl Record {
    /// What the card has written. The bytes stay when the card is closed.
    pub fn read(&self) -> Option<Completed> {
        if !is_written(self.address) {
            return None;
        }
        // All other bytes, and those of the buffer, are there when the status is.
        fence(Ordering::Acquire);
        // SAFETY: the place is this record's, and the card writes it once.
        Completed::parse(&unsafe { (self.address as usize as *const [u8; RECORD_BYTES]).read_volatile() })
    }

    /// Gives a place back that the card was not given.
    pub fn unused(mut self) {
        if let (Some(core), Some(pages)) = (self.core.upgrade(), self.pages.take()) {
            lock(&core.records).free.push((self.address, pages));
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let (Some(core), Some(pages)) = (self.core.upgrade(), self.pages.take()) {
            lock(&core.records).waiting.push((self.address, pages));
        }
    }
}
