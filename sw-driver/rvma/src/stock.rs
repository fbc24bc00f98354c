//! Stocks of windows: buffers that the library allocates, registers, and posts again.

use crate::failure::{argument, given, guard, small, status};
use crate::handles::{self, StockHandle, WindowHandle};
use crate::node::{lock, refused};
use crate::receiving::Record;
use crate::waiting::Sign;
use crate::window::OpenWindow;
use anyhow::{Context, Result};
use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};
use spindle::rvma::{Completed, Posted};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Whole pages of the program.
struct Pages(Range<u64>);

impl Pages {
    fn new(bytes: u64) -> Result<Pages> {
        let bytes = bytes.next_multiple_of(PAGE);
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: new pages, where the system chooses.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes as usize, protection, flags) };
        let start = start.with_context(|| format!("there is no memory for a stock of {bytes} bytes"))? as u64;
        Ok(Pages(start..start + bytes))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the pages are ours, and the card reaches them no more.
        let _ = unsafe { munmap(self.0.start as *mut c_void, (self.0.end - self.0.start) as usize) };
    }
}

/// A window's stock.
pub struct WindowStock {
    window: Arc<OpenWindow>,
    stock: Mutex<spindle::Stock>,
    /// `None` if the card still has it at the end.
    memory: Option<Pages>,
}

impl WindowStock {
    /// Allocates and registers `count` buffers of `size` bytes, and posts them to the window.
    ///
    /// # Errors
    /// There is no memory, region or slot for them.
    pub fn new(window: Arc<OpenWindow>, count: usize, size: u32) -> Result<WindowStock> {
        let most = window.nic().node().driver().info().posted_buffers;
        if count > most {
            return Err(argument(format!("a stock of {count} buffers; the card has {most} that are posted")));
        }
        let memory = Pages::new(spindle::Stock::bytes(count, size))?;
        window.nic().register(memory.0.clone())?;
        let stock = Mutex::new(spindle::Stock::layout(memory.0.start, count, size));
        let stock = WindowStock { window, stock, memory: Some(memory) };
        stock.restock()?;
        Ok(stock)
    }

    fn restock(&self) -> Result<()> {
        let mut stock = lock(&self.stock);
        while let Some(posted) = stock.posting() {
            self.window.post(posted)?;
            stock.posted();
        }
        Ok(())
    }

    /// The oldest complete buffer, at most `limit` nanoseconds of the card's time from now.
    ///
    /// # Errors
    /// None is complete, or the card is gone.
    pub fn next(&self, limit: u64) -> Result<(Posted, Completed)> {
        let nic = self.window.nic();
        let look = || lock(&self.stock).complete(|posted| Ok(nic.node().driver().poll(posted)?));
        let arrived = nic.node().until(limit, nic.event(), look)?;
        arrived.ok_or_else(|| nic.timeout("a buffer of the stock".into(), limit))
    }

    /// The bytes of the buffer that was posted first, once it is complete, and posts it again: for windows whose order counts.
    ///
    /// # Errors
    /// None is complete within `limit` nanoseconds of the card's time, or the card is gone.
    pub fn receive(&self, limit: u64) -> Result<Vec<u8>> {
        let nic = self.window.nic();
        let look = || lock(&self.stock).first(|posted| Ok(nic.node().driver().poll(posted)?));
        let arrived = nic.node().until(limit, nic.event(), look)?;
        let (posted, completed) = arrived.ok_or_else(|| nic.timeout("a message".into(), limit))?;
        let length = completed.length.min(posted.size) as usize;
        // SAFETY: the buffer lies in our pages, and the card has written its record, so it writes there no more.
        let bytes = unsafe { std::slice::from_raw_parts(posted.buffer as *const u8, length) }.to_vec();
        self.give(posted.buffer)?;
        Ok(bytes)
    }

    /// Posts a buffer again.
    ///
    /// # Errors
    /// It is not one that the program has taken, or the window is closed.
    pub fn give(&self, buffer: u64) -> Result<()> {
        if !lock(&self.stock).give(buffer) {
            return Err(argument(format!(
                "{buffer:#x} is no buffer that RVMA_Stock_next returned and was not given back"
            )));
        }
        self.restock()
    }

    /// Takes posted buffers back with the window, which is closed, and frees the memory.
    fn end(&mut self) -> Result<()> {
        // A window that is closed is what the end needs.
        let _ = self.window.close();
        let Some(memory) = &self.memory else { return Ok(()) };
        let nic = self.window.nic();
        let gone = || Ok(nic.deregister(&memory.0).is_ok().then_some(()));
        match nic.node().until(END, Sign::default(), gone)? {
            Some(()) => Ok(()),
            None => refused("buffers of the stock did not come back"),
        }
    }
}

/// Nanoseconds within which a closed window gives its buffers back.
const END: u64 = 1_000_000;

impl Drop for WindowStock {
    fn drop(&mut self) {
        if self.end().is_err() {
            // The card may still write: better lost than given to others.
            std::mem::forget(self.memory.take());
        }
    }
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Stock_new(win: *mut WindowHandle, count: c_int, size: i64) -> *mut StockHandle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            let (count, size) = (small(count, "the number of buffers")?, small(size, "the size of the buffers")?);
            if count == 0 || size == 0 {
                return Err(argument("a stock of no bytes; choose at least one buffer of one byte"));
            }
            let stock = WindowStock::new(handles::window(win)?, count as usize, size)?;
            handles::add_stock(win, stock)
        },
    )
}

/// See `rvma.h`.
///
/// # Safety
/// `record` is null or to be written.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Stock_next(stock: *mut StockHandle, record: *mut Record, limit: u64) -> *mut c_void {
    guard(
        |_| std::ptr::null_mut(),
        || {
            let (posted, completed) = handles::stock(stock)?.next(limit)?;
            if !record.is_null() {
                // SAFETY: as the caller promises.
                *unsafe { given(record, "the record") }? = Record::of(&completed);
            }
            Ok(posted.buffer as *mut c_void)
        },
    )
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Stock_give(stock: *mut StockHandle, buffer: *mut c_void) -> c_int {
    status(|| handles::stock(stock)?.give(buffer as u64))
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Stock_free(stock: *mut StockHandle) -> c_int {
    status(|| if stock.is_null() { Ok(()) } else { handles::remove_stock(stock) })
}
