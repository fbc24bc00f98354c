//! A card without a NIC: registers that keep what is written, and an interrupt. What the socket alone takes, beside a served NIC.

use anyhow::{Context, Result};
use rustix::event::{poll, Timespec};
use rustix::io::Errno;
use spindle::config_space::Layout;
use spindle::vfio_user::{Function, Host, Server};
use spindle_contract::pci;
use spindle_contract::registers::{global, MAGIC, PAGE};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A write of any value here fires vector 0.
pub const FIRE: u32 = PAGE - 4;

struct Registers {
    host: Host,
    words: Vec<u32>,
}

impl Registers {
    fn word(&mut self, offset: u64) -> Result<&mut u32, Errno> {
        self.words.get_mut(offset as usize / 4).ok_or(Errno::INVAL)
    }
}

impl Function for Registers {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let word: &mut [u8; 4] = bytes.try_into().map_err(|_| Errno::INVAL)?;
        *word = self.word(offset)?.to_le_bytes();
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let value = u32::from_le_bytes(bytes.try_into().map_err(|_| Errno::INVAL)?);
        if offset == u64::from(FIRE) {
            self.host.interrupts.fire(0);
        }
        *self.word(offset)? = value;
        Ok(())
    }

    fn reset(&mut self) {}
}

/// The card, served by a thread that ends with this value.
pub struct Dummy {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Dummy {
    /// Serves the card at this socket.
    pub fn start(socket: &Path) -> Result<Dummy> {
        let host = Host::new(pci::VECTORS);
        let mut server = Server::bind(socket, Layout::CARD, host.clone()).context("cannot serve the dummy card")?;
        let mut registers = Registers { host, words: vec![0; PAGE as usize / 4] };
        registers.words[(global::BASE + global::MAGIC) as usize / 4] = MAGIC;
        let stop = Arc::new(AtomicBool::new(false));
        let stops = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stops.load(Ordering::Relaxed) {
                let _ = poll(&mut server.poll_fds(), Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
                server.service(&mut registers);
            }
        });
        Ok(Dummy { stop, thread: Some(thread) })
    }
}

impl Drop for Dummy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the server of the dummy card has failed");
        }
    }
}
