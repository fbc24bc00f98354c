//! The machine: file systems, modules, the end.

use anyhow::{Context, Result};
use rustix::fs::{open, Mode, OFlags};
use rustix::mount::{mount, MountFlags};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::system::{reboot, RebootCommand};
use std::fs::{create_dir_all, read_to_string, File};
use std::os::fd::AsRawFd;

/// Flag of a module's file that the kernel unpacks.
const COMPRESSED: libc::c_int = 4;

/// Mounts what programs expect, and takes the console.
pub fn begin() -> Result<()> {
    for (kind, folder) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("hugetlbfs", "/dev/hugepages"), ("tmpfs", "/tmp")]
    {
        create_dir_all(folder)?;
        mount("none", folder, kind, MountFlags::empty(), None).with_context(|| format!("cannot mount {folder}"))?;
    }
    // There is no console before /dev.
    let console = open("/dev/console", OFlags::RDWR, Mode::empty())?;
    dup2_stdin(&console)?;
    dup2_stdout(&console)?;
    dup2_stderr(&console)?;
    let kernel = read_to_string("/proc/sys/kernel/osrelease")?;
    let up = read_to_string("/proc/uptime")?;
    println!("guest: kernel {}, {} s after the start", kernel.trim(), up.split(' ').next().unwrap_or_default());
    Ok(())
}

/// Loads the modules that the file `/modules` lists, in its order.
pub fn load_modules() -> Result<()> {
    for name in read_to_string("/modules")?.lines() {
        let file = File::open(format!("/{name}")).with_context(|| format!("cannot open the module {name}"))?;
        let flags = if name.ends_with(".xz") { COMPRESSED } else { 0 };
        // SAFETY: the arguments are a descriptor, a string that ends with 0, and flags.
        let result = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), flags) };
        if result != 0 {
            return Err(std::io::Error::last_os_error()).with_context(|| format!("cannot load the module {name}"));
        }
    }
    Ok(())
}

/// Switches the machine off.
pub fn switch_off() -> ! {
    rustix::fs::sync();
    let error = reboot(RebootCommand::PowerOff);
    panic!("the machine does not switch off: {error:?}");
}

/// Memory of this program that the card writes.
pub struct Bytes(Vec<std::sync::atomic::AtomicU8>);

impl Bytes {
    /// So many bytes, all alike.
    pub fn new(count: usize, value: u8) -> Bytes {
        Bytes((0..count).map(|_| value.into()).collect())
    }

    /// Its address.
    pub fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    /// The addresses of its bytes.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.address()..self.address() + self.0.len() as u64
    }

    /// The byte at an address.
    pub fn byte(&self, address: u64) -> u8 {
        self.0[(address - self.address()) as usize].load(std::sync::atomic::Ordering::Acquire)
    }
}
