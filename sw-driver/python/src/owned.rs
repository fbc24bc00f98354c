//! What belongs to the process of the system that made it.

use std::ops::Deref;

/// A value whose end reaches the card. In a child that the program has forked, the value ends silently: the card stays the parent's.
pub struct Owned<T> {
    /// `None` only at the end.
    value: Option<T>,
    process: u32,
}

impl<T> Owned<T> {
    /// A value of this process.
    pub fn new(value: T) -> Owned<T> {
        Owned { value: Some(value), process: std::process::id() }
    }

    /// Whether this is the process that made the value.
    pub fn is_here(&self) -> bool {
        std::process::id() == self.process
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("it goes at the end only")
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            std::mem::forget(self.value.take());
        }
    }
}
