//! Windows, and the buffers that are posted to them.

use crate::arguments::{seconds, Limit};
use crate::core::{lock, Closing, Core, Record};
use crate::failure::{argument, refused, Failure, Result};
use crate::memory::to_write;
use crate::owned::Owned;
use crate::pages::Pages;
use crate::results;
use crate::waiting::wait;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use spindle::put::Reply;
use spindle::rvma::{Completed, Posted};
use spindle_contract::wire::status;
use spindle_rvma::OpenWindow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Names of `wire::status`.
fn status_name(code: u8) -> &'static str {
    match code {
        status::DONE => "complete",
        status::PARTIAL => "partial",
        status::CANCELLED => "cancelled",
        _ => "unknown",
    }
}

/// A buffer that was posted.
struct Entry {
    core: Arc<Core>,
    posted: Posted,
    /// The program's object.
    object: Py<PyAny>,
    record: Record,
    /// The card may write here until the record is there.
    _pages: Option<Arc<Pages>>,
}

impl Entry {
    /// The result for the program: a view of what has arrived.
    fn completion<'py>(&self, py: Python<'py>, completed: &Completed) -> Result<Bound<'py, PyAny>> {
        let view = PyMemoryView::from(self.object.bind(py))?.call_method1("cast", ("B",))?;
        let length = completed.length.min(self.posted.size);
        let data = view.get_item(pyo3::types::PySlice::new(py, 0, length as isize, 1))?;
        let status = status_name(completed.status);
        Ok(results::named(py, "Completion", (data, completed.length, status, completed.epoch, self.object.bind(py)))?)
    }
}

/// A buffer that was posted to a window.
#[pyclass(module = "spindle", frozen, name = "Posted")]
pub struct PostedBuffer(Arc<Entry>);

#[pymethods]
impl PostedBuffer {
    /// What has arrived, if the buffer is complete. This look costs no access to the card.
    fn poll<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        self.0.record.read().map(|completed| self.0.completion(py, &completed)).transpose()
    }

    /// Wait until the buffer is complete.
    #[pyo3(signature = (timeout = None))]
    fn wait<'py>(&self, py: Python<'py>, timeout: Option<Limit>) -> Result<Bound<'py, PyAny>> {
        // What was complete when the card was closed stays so.
        if let Some(completed) = self.poll(py)? {
            return Ok(completed);
        }
        let entry = &self.0;
        match wait(py, &entry.core, timeout, || Ok(entry.record.read()))? {
            Some(completed) => entry.completion(py, &completed),
            None => Err(Failure::Timeout(format!("the buffer was not complete within {}", seconds(timeout)))),
        }
    }

    fn __repr__(&self) -> String {
        let Posted { buffer, size, .. } = self.0.posted;
        format!("<spindle.Posted of {size} bytes at {buffer:#x}>")
    }
}

/// A window: what other nodes put to its address arrives in the buffers that are posted to it, in their order.
#[pyclass(module = "spindle", frozen)]
pub struct Window {
    core: Arc<Core>,
    open: Arc<Closing<OpenWindow>>,
    /// Posted, in their order, and not returned by [`Window::wait`].
    entries: Mutex<VecDeque<Arc<Entry>>>,
    /// Its virtual address.
    #[pyo3(get)]
    address: u64,
    /// The key that senders must know.
    #[pyo3(get)]
    key: u32,
}

impl Window {
    /// A window that was opened.
    pub fn new(core: &Arc<Core>, window: OpenWindow, address: u64, key: u32) -> Window {
        let open = Closing::new(window);
        core.add_window(&open);
        Window { core: core.clone(), open, entries: Mutex::default(), address, key }
    }

    /// Whether the window belongs to this process.
    pub fn is_of(&self, core: &Arc<Core>) -> bool {
        Arc::ptr_eq(&self.core, core)
    }

    /// The window as the place of an answer to a get.
    pub fn as_reply(&self, offset: u32) -> Reply {
        Reply { address: self.address, key: self.key, offset }
    }

    fn get(&self) -> Result<Arc<Owned<OpenWindow>>> {
        self.core.nic()?;
        self.open.get("the window")
    }

    /// The oldest buffer that is complete.
    fn complete(&self) -> Option<(Arc<Entry>, Completed)> {
        let mut entries = lock(&self.entries);
        let (at, completed) = entries.iter().enumerate().find_map(|(at, entry)| Some((at, entry.record.read()?)))?;
        entries.remove(at).map(|entry| (entry, completed))
    }
}

#[pymethods]
impl Window {
    /// Post memory of the card, or a contiguous view of it, as the next buffer.
    fn post(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> Result<PostedBuffer> {
        let window = self.get()?;
        let bytes = to_write(&self.core, buffer, "the buffer")?;
        let size = bytes.length()?;
        let record = py.detach(|| self.core.record())?;
        let posted = Posted { buffer: bytes.range.start, size, record: record.address };
        if let Err(error) = py.detach(|| window.post(posted)) {
            record.unused();
            return Err(error.into());
        }
        let object = buffer.clone().unbind();
        let entry = Arc::new(Entry { core: self.core.clone(), posted, object, record, _pages: bytes.pages });
        lock(&self.entries).push_back(entry.clone());
        Ok(PostedBuffer(entry))
    }

    /// Wait for the oldest buffer that is complete and that no call of ``wait`` has returned.
    #[pyo3(signature = (timeout = None))]
    fn wait<'py>(&self, py: Python<'py>, timeout: Option<Limit>) -> Result<Bound<'py, PyAny>> {
        let mut found = self.complete();
        if found.is_none() {
            if lock(&self.entries).is_empty() {
                return refused("no buffer is posted to the window, so none can be complete; post one");
            }
            found = wait(py, &self.core, timeout, || Ok(self.complete()))?;
        }
        match found {
            Some((entry, completed)) => entry.completion(py, &completed),
            None => Err(Failure::Timeout(format!("no buffer of the window was complete within {}", seconds(timeout)))),
        }
    }

    /// Buffers that were posted, and that no call of ``wait`` has returned.
    #[getter]
    fn posted(&self) -> usize {
        lock(&self.entries).len()
    }

    /// How many buffers have been completed since the window was opened.
    #[getter]
    fn epoch(&self, py: Python<'_>) -> Result<u64> {
        let window = self.get()?;
        Ok(py.detach(|| window.call(|device, window| device.epoch(window)))?)
    }

    /// Take the oldest buffer back that is not complete: its status is ``partial``.
    fn advance(&self, py: Python<'_>) -> Result<()> {
        let window = self.get()?;
        Ok(py.detach(|| window.call(|device, window| device.inc_epoch(window)))?)
    }

    /// Close the window: buffers that are not complete come back with the status ``cancelled``.
    fn close(&self, py: Python<'_>) -> Result<()> {
        if self.core.nic().is_err() {
            return Ok(());
        }
        match self.open.take() {
            Some(window) => Ok(py.detach(|| window.close())?),
            None => Ok(()),
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> Result<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let state = if self.get().is_ok() { "open" } else { "closed" };
        format!("<spindle.Window {:#x}, {state}>", self.address)
    }
}

/// Refuses a window of another card.
pub fn check_owner(core: &Arc<Core>, window: &Window) -> Result<()> {
    match window.is_of(core) {
        true => Ok(()),
        false => argument("the window for the answer belongs to another card; open one on this card"),
    }
}
