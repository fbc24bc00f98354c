//! A window of a process.

use crate::memory;
use crate::node::{argument, lock, refused, OpenCard};
use crate::process::Nic;
use anyhow::{Context as _, Result};
use spindle::rvma::{Posted, Window};
use spindle::ReceiveMap;
use spindle_contract::wire;
use std::sync::atomic::{AtomicBool, Ordering};

/// A window, as any number of threads use it. It is closed with its last owner.
pub struct OpenWindow {
    nic: Nic,
    window: Window,
    closed: AtomicBool,
}

impl OpenWindow {
    pub(crate) fn new(nic: Nic, window: Window) -> OpenWindow {
        OpenWindow { nic, window, closed: AtomicBool::new(false) }
    }

    /// The process that it belongs to.
    pub fn nic(&self) -> &Nic {
        &self.nic
    }

    /// Posts a buffer with its record.
    ///
    /// # Errors
    /// Buffer or record is not registered, or the NIC refuses them.
    pub fn post(&self, posted: Posted) -> Result<()> {
        self.check(&posted)?;
        let full = || format!("a buffer of the card's {} places", self.nic.node().driver().info().posted_buffers);
        self.call(|device, window| device.post(window, posted)).with_context(full)?;
        lock(self.nic.own().posted()).post(posted);
        Ok(())
    }

    /// Posts a buffer with a receive map: its number.
    ///
    /// # Errors
    /// As of [`OpenWindow::post`], or there is no map left.
    pub fn post_mapped(&self, posted: Posted, granule: u32) -> Result<u32> {
        self.check(&posted)?;
        let map = self.call(|device, window| device.post_mapped(window, posted, granule))?;
        lock(self.nic.own().posted()).post(posted);
        Ok(map.number)
    }

    fn check(&self, posted: &Posted) -> Result<()> {
        if !posted.record.is_multiple_of(wire::RECORD_BYTES as u64) {
            return argument("a record must be aligned to 16 bytes; use RVMA_Record");
        }
        if memory::bytes(posted).iter().any(|bytes| !self.nic.covers(bytes)) {
            return refused("the buffer or its record is not registered; register both first");
        }
        Ok(())
    }

    /// The receive map of this number. The meaning of a bit is known to its owner only.
    pub(crate) fn map(&self, number: u32) -> ReceiveMap {
        ReceiveMap { process: self.window.process, number, granule: 1 }
    }

    /// A call of the driver on the NIC of the window, which may be closed.
    pub fn on_nic<T>(&self, call: impl FnOnce(&mut OpenCard) -> spindle::Result<T>) -> Result<T> {
        Ok(call(&mut self.nic.node().driver())?)
    }

    /// A call of the driver on this window.
    ///
    /// # Errors
    /// The window is closed, or the call fails.
    pub fn call<T>(&self, call: impl FnOnce(&mut OpenCard, Window) -> spindle::Result<T>) -> Result<T> {
        if self.closed.load(Ordering::Acquire) {
            return closed();
        }
        self.nic.read_events()?;
        self.on_nic(|device| call(device, self.window))
    }

    /// Closes the window.
    ///
    /// # Errors
    /// It is closed.
    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return closed();
        }
        self.nic.read_events()?;
        let done = self.on_nic(|device| device.close_window(self.window));
        if done.is_err() {
            self.closed.store(false, Ordering::Release);
        }
        done
    }
}

fn closed<T>() -> Result<T> {
    refused("the window is closed; open another one")
}

impl Drop for OpenWindow {
    fn drop(&mut self) {
        // A window that is closed, and a card that is gone, need nothing.
        let _ = self.close();
    }
}
