//! Waits: without the lock of the interpreter, and open to Ctrl-C.

use crate::arguments::Limit;
use crate::core::Core;
use crate::failure::Result;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Time between two looks at the signals of the program.
const SLICE: Duration = Duration::from_millis(50);

/// Looks until there is a result, at most so long; `None`: the time is over. Other threads of the program go on meanwhile, and
/// signal handlers of Python run.
///
/// # Errors
/// A look fails, the card is closed or gone, or a signal handler raises an exception.
pub fn wait<T: Send>(
    py: Python<'_>,
    core: &Core,
    limit: Option<Limit>,
    mut look: impl FnMut() -> anyhow::Result<Option<T>> + Send,
) -> Result<Option<T>> {
    let end = limit.and_then(|Limit(limit)| Instant::now().checked_add(limit));
    loop {
        let begin = Instant::now();
        let until = end.map_or(begin + SLICE, |end| end.min(begin + SLICE));
        let found = py.detach(|| -> Result<Option<T>> {
            let nic = core.nic()?;
            // A result, or `None` inside when the slice is over: a slice is one of the host's time, and the card may be slower.
            let sliced = nic.until(SLICE.as_nanos() as u64, || {
                Ok(match look()? {
                    Some(result) => Some(Some(result)),
                    None => (core.is_closed() || Instant::now() >= until).then_some(None),
                })
            })?;
            Ok(sliced.flatten())
        })?;
        if found.is_some() {
            return Ok(found);
        }
        py.check_signals()?;
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(None);
        }
    }
}
