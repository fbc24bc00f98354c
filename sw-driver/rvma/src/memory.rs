//! Memory of this process, as the simulated NICs reach it: at its own addresses, and only where it was registered.

use spindle_sim::host_memory::Backing;

/// All of it: what was registered is what the simulation maps.
#[derive(Debug)]
pub struct ProcessMemory;

impl Backing for ProcessMemory {
    fn read(&self, address: u64) -> u8 {
        // SAFETY: the caller of RVMA_Register promises that the range can be read and written until the shutdown, and the simulation asks only
        // within it. Volatile, because the program may look at the bytes between two calls.
        unsafe { (address as usize as *const u8).read_volatile() }
    }

    fn write(&self, address: u64, byte: u8) {
        // SAFETY: as in `read`.
        unsafe { (address as usize as *mut u8).write_volatile(byte) }
    }
}
