//! Puts and gets.

use crate::arguments::{choose, seconds, Limit, Number};
use crate::core::{lock, Core};
use crate::failure::{argument, Failure, Result};
use crate::memory::to_send;
use crate::pages::Pages;
use crate::waiting::wait;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use spindle::put::{Kind, Target};
use spindle_rvma::{Op, PutFailed};
use std::sync::{Arc, Mutex, PoisonError};

type End = std::result::Result<(), PutFailed>;

/// A put or get.
#[pyclass(module = "spindle", frozen)]
pub struct Operation {
    core: Arc<Core>,
    op: Op,
    what: &'static str,
    end: Mutex<Option<End>>,
    /// The card reads here until the put is over.
    _pages: Option<Arc<Pages>>,
}

impl Operation {
    /// One that the card has taken.
    pub fn new(core: &Arc<Core>, op: Op, what: &'static str, pages: Option<Arc<Pages>>) -> Operation {
        Operation { core: core.clone(), op, what, end: Mutex::default(), _pages: pages }
    }

    /// How it ended, if it is over. The library gives each end once, so it is kept.
    fn look(&self) -> anyhow::Result<Option<End>> {
        let mut end = lock(&self.end);
        if end.is_none() {
            if let Ok(nic) = self.core.nic() {
                *end = nic.put_end(self.op)?;
            }
        }
        Ok(*end)
    }
}

fn result(end: End) -> Result<()> {
    end.map_err(|failed| Failure::Driver(failed.into()))
}

#[pymethods]
impl Operation {
    /// Whether it is over: acknowledged, or failed.
    fn done(&self, py: Python<'_>) -> Result<bool> {
        let over = py.detach(|| self.look())?.is_some();
        if !over {
            self.core.nic()?;
        }
        Ok(over)
    }

    /// Wait until every byte has been acknowledged. ``PutFailed`` is raised if that will never be.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<Limit>) -> Result<()> {
        // What was over when the card was closed stays so.
        let kept = *lock(&self.end);
        if let Some(end) = kept {
            return result(end);
        }
        match wait(py, &self.core, timeout, || self.look())? {
            Some(end) => result(end),
            None => {
                let nic = self.core.nic()?;
                let state = py.detach(|| nic.put_state(self.op))?;
                Err(Failure::Timeout(format!("{state} did not come within {}", seconds(timeout))))
            }
        }
    }

    fn __repr__(&self) -> String {
        let state = match *lock(&self.end) {
            None => "not waited for",
            Some(Ok(())) => "done",
            Some(Err(_)) => "failed",
        };
        format!("<spindle.Operation: {}, {state}>", self.what)
    }
}

/// Puts an object's bytes.
///
/// # Errors
/// The bytes are not contiguous, the destination does not exist, or the card refuses the put.
pub fn put(py: Python<'_>, core: &Arc<Core>, data: &Bound<'_, PyAny>, target: &Target) -> Result<Operation> {
    let nic = core.nic()?;
    let bytes = to_send(core, data)?;
    let length = bytes.length()?;
    let op = py.detach(|| nic.put(bytes.range.start, length, target))?;
    Ok(Operation::new(core, op, "put", bytes.pages))
}

/// How a window takes messages, by its name; `epoch` belongs to tagged ones.
pub fn kind(name: &str, epoch: Option<Number>) -> Result<Kind> {
    let epoch = epoch.map(|epoch| epoch.fit::<u64>("the epoch")).transpose()?;
    let kinds = [("bound", Kind::Bound), ("tagged", Kind::Tagged(0)), ("managed", Kind::Managed)];
    match (choose("kind of put", name, &kinds)?, epoch) {
        // The wire carries the low half.
        (Kind::Tagged(_), Some(epoch)) => Ok(Kind::Tagged(epoch as u16)),
        (Kind::Tagged(_), None) => argument("a tagged put names the epoch of its buffer; give epoch"),
        (_, Some(_)) => argument(format!("a {name} put has no epoch; leave epoch out, or choose the kind \"tagged\"")),
        (kind, None) => Ok(kind),
    }
}

/// The sender's end of a stream: messages arrive in the order in which they were put.
#[pyclass(module = "spindle", frozen)]
pub struct Stream {
    core: Arc<Core>,
    target: Target,
    /// Ordinal of the next message.
    next: Mutex<u16>,
}

impl Stream {
    /// The end of a stream that begins.
    pub fn new(core: &Arc<Core>, target: Target) -> Stream {
        Stream { core: core.clone(), target, next: Mutex::default() }
    }
}

#[pymethods]
impl Stream {
    /// Put the next message.
    fn put(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> Result<Operation> {
        // Threads that put side by side wait here without the lock of the interpreter. A message that the card does not accept takes no
        // place in the stream.
        let mut next = self.next.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let target = Target { offset: 0, kind: Kind::Ordered(*next), ..self.target };
        let operation = put(py, &self.core, data, &target)?;
        *next = next.wrapping_add(1);
        Ok(operation)
    }

    fn __repr__(&self) -> String {
        format!("<spindle.Stream to {:#x} of node {}>", self.target.address, self.target.node)
    }
}
