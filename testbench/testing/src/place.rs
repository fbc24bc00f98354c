//! The models that run on a thread, and how far they have come: a failure names them.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

thread_local! {
    static LIVE: RefCell<Vec<Weak<Shared>>> = const { RefCell::new(Vec::new()) };
}

struct Shared {
    block: String,
    cycle: AtomicU64,
}

/// A model that runs on this thread, until it is dropped.
pub struct Live(Arc<Shared>);

impl Live {
    /// A model of `block`, in cycle 0.
    pub fn new(block: &str) -> Live {
        crate::scope::explain_panics();
        let shared = Arc::new(Shared { block: block.to_owned(), cycle: AtomicU64::new(0) });
        LIVE.with_borrow_mut(|live| {
            live.retain(|model| model.strong_count() > 0);
            live.push(Arc::downgrade(&shared));
        });
        Live(shared)
    }

    /// The model has come to `cycle`.
    #[inline]
    pub fn at(&self, cycle: u64) {
        self.0.cycle.store(cycle, Ordering::Relaxed);
    }
}

/// The models of this thread with their cycles; `None` where there is none.
pub(crate) fn place() -> Option<String> {
    // A thread that ends has no list any more.
    let models = LIVE.try_with(|live| live.borrow().iter().filter_map(Weak::upgrade).collect::<Vec<_>>());
    let models = models.unwrap_or_default();
    let texts: Vec<String> = models
        .iter()
        .map(|model| format!("`{}` in cycle {}", model.block, model.cycle.load(Ordering::Relaxed)))
        .collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_while_they_live() {
        assert_eq!(place(), None);
        let parser = Live::new("parser");
        parser.at(12);
        let nic = Live::new("nic");
        assert_eq!(place().unwrap(), "`parser` in cycle 12, `nic` in cycle 0");
        drop(parser);
        assert_eq!(place().unwrap(), "`nic` in cycle 0");
        drop(nic);
        assert_eq!(place(), None);
    }
}
