//! A dummy card: a few registers, a copy engine, time in steps. And a thread that serves it.

use rustix::event::{poll, Timespec};
use rustix::io::Errno;
use spindle::config_space::Layout;
use spindle::vfio_user::{Doorbell, Function, Host, Server};
use spindle_contract::pci;
use spindle_contract::registers::MAGIC;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use tempfile::TempDir;

/// Scratch register.
pub const SCRATCH: u32 = 0x08;
/// Source of a copy, low half, then high half.
pub const FROM: u32 = 0x10;
/// Target of a copy, likewise.
pub const TO: u32 = 0x18;
/// Bytes of a copy.
pub const BYTES: u32 = 0x20;
/// Starts a copy; the vector to fire.
pub const GO: u32 = 0x24;
/// Result of a copy: 1, or 0x8000_0000 with the errno.
pub const DONE: u32 = 0x28;
/// Counts its writes.
pub const KICK: u32 = 0x2C;
/// A register that refuses accesses.
pub const REFUSES: u32 = 0x30;

pub struct Dummy {
    pub host: Host,
    pub registers: [u32; 64],
    pub cycle: u64,
    pub steps: bool,
    pub resets: Arc<std::sync::atomic::AtomicUsize>,
}

impl Dummy {
    pub fn new(host: Host) -> Dummy {
        let mut dummy = Dummy { host, registers: [0; 64], cycle: 0, steps: true, resets: Arc::default() };
        dummy.registers[0] = MAGIC;
        dummy
    }

    fn long(&self, at: u32) -> u64 {
        let word = |at: u32| u64::from(self.registers[at as usize / 4]);
        word(at) | word(at + 4) << 32
    }

    fn copy(&mut self, vector: usize) {
        let mut bytes = vec![0; self.registers[BYTES as usize / 4].min(1 << 20) as usize];
        let memory = &self.host.memory;
        let done = memory.read(self.long(FROM), &mut bytes).and_then(|()| memory.write(self.long(TO), &bytes));
        self.registers[DONE as usize / 4] = match done {
            Ok(()) => 1,
            Err(error) => 0x8000_0000 | error.raw_os_error() as u32,
        };
        self.host.interrupts.fire(vector);
    }
}

impl Function for Dummy {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        match (offset as u32, bytes.len()) {
            (REFUSES, _) => Err(Errno::PERM),
            (at, 4) if at % 4 == 0 => {
                let value = self.registers.get(at as usize / 4).copied().unwrap_or(0);
                bytes.copy_from_slice(&value.to_le_bytes());
                Ok(())
            }
            _ => Err(Errno::INVAL),
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let value = u32::from_le_bytes(bytes.try_into().map_err(|_| Errno::INVAL)?);
        match offset as u32 {
            GO => self.copy(value as usize),
            KICK => self.registers[KICK as usize / 4] += 1,
            REFUSES => return Err(Errno::PERM),
            at if at % 4 == 0 && (4..256).contains(&at) => self.registers[at as usize / 4] = value,
            _ => return Err(Errno::INVAL),
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.registers[1..].fill(0);
        self.resets.fetch_add(1, Ordering::Relaxed);
    }

    fn own_region(&self) -> u64 {
        if self.steps {
            pci::TIME_REGION_BYTES
        } else {
            0
        }
    }

    fn read_own(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let value = match offset {
            pci::TIME_CYCLE => self.cycle,
            pci::TIME_MODE => 1,
            _ => return Err(Errno::INVAL),
        };
        bytes.copy_from_slice(value.to_le_bytes().get(..bytes.len()).ok_or(Errno::INVAL)?);
        Ok(())
    }

    fn write_own(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let run = u64::from_le_bytes(bytes.try_into().map_err(|_| Errno::INVAL)?);
        match offset == pci::TIME_RUN && run <= pci::TIME_MOST {
            true => self.cycle += run,
            false => return Err(Errno::INVAL),
        }
        Ok(())
    }

    fn doorbells(&self) -> Vec<Doorbell> {
        vec![Doorbell { offset: KICK.into(), value: 1 }]
    }
}

/// A dummy card that a thread serves.
pub struct Served {
    folder: TempDir,
    pub host: Host,
    pub resets: Arc<std::sync::atomic::AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub fn new() -> Served {
        Served::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut Dummy)) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::new(pci::VECTORS);
        let mut server = Server::bind(&folder.path().join("card.sock"), Layout::CARD, host.clone()).unwrap();
        let mut dummy = Dummy::new(host.clone());
        change(&mut dummy);
        let resets = dummy.resets.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stops.load(Ordering::Relaxed) {
                let _ = poll(&mut server.poll_fds(), Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
                server.service(&mut dummy);
            }
        });
        Served { folder, host, resets, stop, thread: Some(thread) }
    }

    pub fn path(&self) -> PathBuf {
        Path::new(self.folder.path()).join("card.sock")
    }

    /// Whether the thread of the server has ended, which only a panic or `stop` does.
    pub fn lives(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the server, as its death would.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
        }
    }
}
