//! Memory that the card and the program share: an object with the buffer protocol.

use crate::core::{lock, Core};
use crate::failure::{argument, refused, Failure, Result};
use crate::pages::Pages;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Memory that a card and the program share, with the buffer protocol: ``numpy.asarray(memory)`` is a view, not a copy.
///
/// The memory is freed when the object and all views of it are gone, and the card uses it no more.
#[pyclass(module = "spindle", frozen)]
pub struct Memory {
    core: Arc<Core>,
    bytes: usize,
    /// `None`: it was freed.
    pages: Mutex<Option<Arc<Pages>>>,
    /// Views that exist.
    views: AtomicUsize,
}

impl Memory {
    /// Memory of so many bytes.
    ///
    /// # Errors
    /// There is no memory, or the card cannot reach more.
    pub fn new(core: &Arc<Core>, bytes: usize) -> Result<Memory> {
        if bytes == 0 || bytes > isize::MAX as usize {
            return argument(format!("a memory of {bytes} bytes; choose at least 1, and what the machine has"));
        }
        let pages = core.allocate(bytes as u64)?;
        Ok(Memory { core: core.clone(), bytes, pages: Mutex::new(Some(pages)), views: AtomicUsize::new(0) })
    }

    fn start(&self) -> Result<u64> {
        match &*lock(&self.pages) {
            Some(pages) => Ok(pages.range().start),
            None => refused("the memory was freed; allocate it again"),
        }
    }
}

#[pymethods]
impl Memory {
    /// Its address, in the program and for the card.
    #[getter]
    fn address(&self) -> Result<u64> {
        self.start()
    }

    fn __len__(&self) -> usize {
        self.bytes
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        PyMemoryView::from(slf)?.get_item(key)
    }

    fn __setitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        PyMemoryView::from(slf)?.set_item(key, value)
    }

    /// Free the memory now. Refused while views exist, a put of it is under way, or a buffer in it is posted.
    fn free(&self, py: Python<'_>) -> Result<()> {
        match self.views.load(Ordering::Acquire) {
            0 => {}
            views => {
                let sentence = format!("the memory has {views} views, such as numpy arrays; delete these first");
                return Err(PyBufferError::new_err(sentence).into());
            }
        }
        // Taken out at once, so that no view of another thread begins meanwhile.
        let Some(pages) = lock(&self.pages).take() else { return Ok(()) };
        let Ok(nic) = self.core.nic() else { return Ok(()) };
        if let Err(error) = py.detach(|| pages.deregister(&nic)) {
            *lock(&self.pages) = Some(pages);
            return Err(error);
        }
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> Result<()> {
        self.free(py)
    }

    fn __repr__(&self) -> String {
        match self.start() {
            Ok(start) => format!("<spindle.Memory of {} bytes at {start:#x}>", self.bytes),
            Err(_) => "<spindle.Memory, freed>".into(),
        }
    }

    /// # Safety
    /// Python calls it with room for a view.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let this = slf.get();
        let start = this.start().map_err(|_| PyBufferError::new_err("the memory was freed; allocate it again"))?;
        // SAFETY: the view keeps a reference to this object, which keeps the pages as long as it has views.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start as *mut c_void, this.bytes as isize, 0, flags) };
        if filled != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        this.views.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// # Safety
    /// Python calls it once for each view.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.views.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Bytes of an object, where they lie.
pub struct Bytes {
    /// Memory of the card that holds them; `None` if there are none.
    pub pages: Option<Arc<Pages>>,
    /// Their addresses.
    pub range: Range<u64>,
}

impl Bytes {
    /// Their count, if the card can have so many in one message or buffer.
    pub fn length(&self) -> Result<u32> {
        let bytes = self.range.end - self.range.start;
        u32::try_from(bytes).or_else(|_| argument(format!("{bytes} bytes are too many at once; the most are 2^32 - 1")))
    }
}

/// A view of an object's bytes, which lie one after another.
fn view(object: &Bound<'_, PyAny>, what: &str) -> Result<PyUntypedBuffer> {
    let view = PyUntypedBuffer::get(object)?;
    if !view.is_c_contiguous() {
        return argument(format!("the bytes of {what} do not lie one after another; give a contiguous array"));
    }
    Ok(view)
}

fn range_of(view: &PyUntypedBuffer) -> Range<u64> {
    let start = view.buf_ptr() as u64;
    start..start + view.len_bytes() as u64
}

/// Bytes to send: those of the card's memory where they lie, others copied into memory of the card.
///
/// # Errors
/// The object has no bytes, or not one after another, or there is no memory for the copy.
pub fn to_send(core: &Arc<Core>, object: &Bound<'_, PyAny>) -> Result<Bytes> {
    let view = view(object, "what is put")?;
    let range = range_of(&view);
    if range.is_empty() {
        return Ok(Bytes { pages: None, range: 0..0 });
    }
    if let Some(pages) = core.find(&range) {
        return Ok(Bytes { pages: Some(pages), range });
    }
    let bytes = range.end - range.start;
    let pages = object.py().detach(|| core.allocate(bytes))?;
    let start = pages.range().start;
    // SAFETY: the pages are new and have so many bytes; the view keeps the object's bytes, which no other thread of Python changes, since
    // this one has the lock of the interpreter.
    unsafe { std::ptr::copy_nonoverlapping(range.start as *const u8, start as *mut u8, bytes as usize) };
    Ok(Bytes { pages: Some(pages), range: start..start + bytes })
}

/// Bytes that the card may write: memory of the card.
///
/// # Errors
/// The object is not in memory of the card, or cannot be written, or is empty.
pub fn to_write(core: &Arc<Core>, object: &Bound<'_, PyAny>, what: &str) -> Result<Bytes> {
    let view = view(object, what)?;
    let range = range_of(&view);
    if view.readonly() {
        return argument(format!("{what} is read-only; give memory of card.alloc or a writable view of it"));
    }
    if range.is_empty() {
        return argument(format!("{what} has no bytes; give at least 1"));
    }
    match core.find(&range) {
        Some(pages) => Ok(Bytes { pages: Some(pages), range }),
        // A closed card has no memory either.
        None => core.nic().and_then(|_| {
            Err(Failure::Argument(format!(
                "{what} is not memory of this card; give what card.alloc returns, or a view of it such as a numpy array"
            )))
        }),
    }
}
