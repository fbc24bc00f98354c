//! Waiting for a write to a cache line with the instructions of the processor, where it has them: UMONITOR and UMWAIT
//! (x86 with WAITPKG), or WFE (aarch64).

use std::sync::OnceLock;

/// Cycles of the time-stamp counter after which UMWAIT ends without a write: about 1 µs.
#[cfg(target_arch = "x86_64")]
const X86_CYCLES: u64 = 3000;

/// Whether the processor waits for a line without spinning.
pub fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(detect)
}

#[cfg(target_arch = "x86_64")]
fn detect() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    /// Leaf 7, ECX: WAITPKG.
    const WAITPKG: u32 = 1 << 5;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & WAITPKG != 0
}

#[cfg(target_arch = "aarch64")]
fn detect() -> bool {
    // Every processor of the architecture has WFE, and Linux lets programs use it.
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detect() -> bool {
    false
}

/// Waits about a microsecond, or until the line of `byte` is written. Returns at once if `byte` is not 0.
///
/// # Safety
/// `byte` can be read.
pub unsafe fn wait(byte: *const u8) {
    if available() {
        // SAFETY: the processor has the instructions, and the caller's byte can be read.
        unsafe { wait_for_line(byte) }
    } else {
        std::hint::spin_loop();
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn wait_for_line(byte: *const u8) {
    // SAFETY: UMONITOR reads no memory of the program; UMWAIT ends at the given time. The byte can be read.
    unsafe {
        std::arch::asm!("umonitor {0}", in(reg) byte, options(nostack, preserves_flags));
        // A write before UMONITOR wakes no one.
        if byte.read_volatile() != 0 {
            return;
        }
        let end = std::arch::x86_64::_rdtsc() + X86_CYCLES;
        std::arch::asm!("umwait {0:e}", in(reg) 0u32, in("eax") end as u32, in("edx") (end >> 32) as u32, options(nostack));
    }
}

#[cfg(target_arch = "aarch64")]
unsafe fn wait_for_line(byte: *const u8) {
    // SAFETY: LDAXRB reads the byte and sets the monitor; a write to the line is an event, as is the timer of the system.
    unsafe {
        let value: u32;
        std::arch::asm!("ldaxrb {0:w}, [{1}]", out(reg) value, in(reg) byte, options(nostack, preserves_flags));
        if value == 0 {
            std::arch::asm!("wfe", options(nostack, preserves_flags));
        }
        std::arch::asm!("clrex", options(nostack, preserves_flags));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn wait_for_line(_byte: *const u8) {
    std::hint::spin_loop();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn a_wait_ends_with_and_without_a_write() {
        let byte = AtomicU8::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                byte.store(1, Ordering::Release);
            });
            while byte.load(Ordering::Acquire) == 0 {
                // SAFETY: the byte can be read.
                unsafe { wait(byte.as_ptr()) };
            }
        });
        assert!(start.elapsed() < Duration::from_secs(5));
        // SAFETY: the byte can be read.
        unsafe { wait(byte.as_ptr()) };
    }
}
