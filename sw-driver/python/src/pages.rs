//! Memory of the program that a card reaches: whole pages, registered as long as they are used.

use crate::core::Core;
use crate::failure::{refused, Failure, Result};
use crate::space::Mapping;
use spindle_rvma::Nic;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Takes pages back from the card.
///
/// # Errors
/// The card still uses them.
pub fn deregister(mapping: &Mapping, nic: &Nic) -> anyhow::Result<()> {
    match nic.deregister(mapping.range()) {
        // A card that is gone reaches nothing.
        Err(error) if matches!(error.downcast_ref(), Some(spindle::Error::Gone { .. })) => Ok(()),
        other => other,
    }
}

/// Pages that a card reaches. Their owners are memory objects, buffers that are posted, and puts; when the last one goes, the card has to
/// give them back first.
pub struct Pages {
    core: Weak<Core>,
    /// `None` only at the end.
    mapping: Option<Mapping>,
    registered: AtomicBool,
    /// Contexts whose handlers may write here.
    handlers: AtomicUsize,
}

/// Memory that handlers may write as long as this value exists.
pub struct HandlerMemory(Arc<Pages>);

impl HandlerMemory {
    /// Handlers may write these pages from now on.
    pub fn new(pages: Arc<Pages>) -> HandlerMemory {
        pages.handlers.fetch_add(1, Ordering::AcqRel);
        HandlerMemory(pages)
    }
}

impl Drop for HandlerMemory {
    fn drop(&mut self) {
        self.0.handlers.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Pages {
    /// Allocates and registers pages for so many bytes, at least one.
    ///
    /// # Errors
    /// There is no memory, or the card cannot reach more.
    pub fn new(core: &Arc<Core>, bytes: u64) -> Result<Arc<Pages>> {
        let nic = core.nic()?;
        let none = || Failure::Memory(format!("there is no memory of {bytes} bytes; ask for less"));
        let mapping = Mapping::new(core.space(), bytes).ok_or_else(none)?;
        nic.register(mapping.range().clone())?;
        let pages = Pages {
            core: Arc::downgrade(core),
            mapping: Some(mapping),
            registered: AtomicBool::new(true),
            handlers: AtomicUsize::new(0),
        };
        Ok(Arc::new(pages))
    }

    fn mapping(&self) -> &Mapping {
        self.mapping.as_ref().expect("it goes at the end only")
    }

    /// Their addresses, which are those of the card as well.
    pub fn range(&self) -> Range<u64> {
        self.mapping().range().clone()
    }

    /// Takes them back from the card. Their bytes stay.
    ///
    /// # Errors
    /// The card still uses them.
    pub fn deregister(&self, nic: &Nic) -> Result<()> {
        if self.handlers.load(Ordering::Acquire) > 0 {
            return refused("handlers may write the memory; unload them first");
        }
        if self.registered.load(Ordering::Acquire) {
            deregister(self.mapping(), nic)?;
            self.registered.store(false, Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let Some(mapping) = self.mapping.take() else { return };
        if !*self.registered.get_mut() {
            return;
        }
        match self.core.upgrade() {
            Some(core) => core.take_back(mapping),
            // The card was closed while it used them, and may still write: better lost than given to others.
            None => std::mem::forget(mapping),
        }
    }
}
