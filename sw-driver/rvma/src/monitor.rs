//! Waiting for a write to a cache line with the instructions of the processor, where it has them: UMONITOR and UMWAIT
//! (x86 with WAITPKG), or WFE (aarch64).

use std::sync::OnceLock;

/// Cycles of the time-stamp counter after which UMWAIT ends without a write: about 1 µs.
#[cfg(target_arch = "x86_64")]
const X86_CYCLES: u64 = 3000;

/// How a short wait looks at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    /// The processor sleeps until the line of the byte is written.
    Line,
    /// The processor looks all the time.
    Spin,
}

impl Monitor {
    /// Of a processor that has the instructions, or has not.
    pub fn of(has_instructions: bool) -> Monitor {
        match has_instructions {
            true => Monitor::Line,
            false => Monitor::Spin,
        }
    }

    /// Of this processor.
    pub fn of_processor() -> Monitor {
        static HERE: OnceLock<Monitor> = OnceLock::new();
        *HERE.get_or_init(|| Monitor::of(detect()))
    }

    /// Waits about a microsecond, or until the line of `byte` is written; or, without the instructions, not at all. Returns at once if
    /// `byte` is not 0.
    ///
    /// # Safety
    /// `byte` can be read, and the processor has the instructions of [`Monitor::Line`].
    pub unsafe fn wait(self, byte: *const u8) {
        match self {
            // SAFETY: as the caller promises.
            Monitor::Line => unsafe { wait_for_line(byte) },
            Monitor::Spin => std::hint::spin_loop(),
        }
    }
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
    unreachable!("the processor has no such instructions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::time::{Duration, Instant};

    /// A byte that another thread writes ends a loop of waits.
    fn ends_by_a_write(monitor: Monitor) {
        let byte = AtomicU8::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                byte.store(1, Ordering::Release);
            });
            while byte.load(Ordering::Acquire) == 0 {
                // SAFETY: the byte can be read, and the tests use instructions that the processor has.
                unsafe { monitor.wait(byte.as_ptr()) };
            }
        });
        assert!(start.elapsed() < Duration::from_secs(5));
        // SAFETY: likewise.
        unsafe { monitor.wait(byte.as_ptr()) };
    }

    #[test]
    fn a_processor_without_the_instructions_looks_all_the_time() {
        assert_eq!([true, false].map(Monitor::of), [Monitor::Line, Monitor::Spin]);
        ends_by_a_write(Monitor::of(false));
    }

    /// Runs the instructions where the processor has them.
    #[test]
    fn a_wait_of_this_processor_ends_by_a_write() {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        {
            let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap();
            let has = flags.split_ascii_whitespace().any(|flag| flag == "waitpkg");
            assert_eq!(Monitor::of_processor(), Monitor::of(has), "the system and the instruction CPUID agree");
        }
        ends_by_a_write(Monitor::of_processor());
    }
}
