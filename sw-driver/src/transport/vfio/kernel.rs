//! A kernel for tests: it answers the ioctls of a thread, and keeps them in a list.

use rustix::fd::{IntoRawFd, OwnedFd};
use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;

/// An ioctl: its number from VFIO's first one on, and the words of its structure, or its number.
pub type Call = (u32, Vec<u32>);

/// What the kernel knows, and what it was asked.
pub struct Kernel {
    pub version: i32,
    pub viable: bool,
    pub type1: bool,
    pub resettable: bool,
    /// Flags of BAR 0 and its bytes.
    pub bar: (u32, u64),
    /// Place of the configuration space in the device's file.
    pub config: u64,
    /// Vectors of MSI-X, and of each of the kernel's own signals.
    pub vectors: [u32; 3],
    /// Ranges of the IOMMU, last addresses included.
    pub ranges: Vec<[u64; 2]>,
    /// Opened as the device.
    pub device: Option<OwnedFd>,
    /// This ioctl fails.
    pub fails: Option<u32>,
    pub calls: Vec<Call>,
    /// What the IOMMU maps: first address and bytes.
    pub maps: Vec<(u64, u64)>,
}

thread_local! {
    static KERNEL: RefCell<Option<Rc<RefCell<Kernel>>>> = const { RefCell::new(None) };
}

impl Kernel {
    /// From now on the kernel of this thread: one with everything that a card needs.
    pub fn begin() -> Rc<RefCell<Kernel>> {
        let kernel = Kernel {
            version: 0,
            viable: true,
            type1: true,
            resettable: true,
            bar: (7, 1 << 20),
            config: 1 << 20,
            vectors: [16, 1, 1],
            ranges: vec![[0, 0xFEDF_FFFF], [0xFEF0_0000, 0x7F_FFFF_FFFF]],
            device: None,
            fails: None,
            calls: Vec::new(),
            maps: Vec::new(),
        };
        let kernel = Rc::new(RefCell::new(kernel));
        KERNEL.set(Some(kernel.clone()));
        kernel
    }

    /// The calls since the last look.
    pub fn calls(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }

    /// # Safety
    /// `words` is what the request wants.
    unsafe fn answer(&mut self, number: u32, words: *mut u32) -> i32 {
        // SAFETY: the first word of a structure is its size, and all of it can be written.
        let structure = |words: *mut u32| unsafe { std::slice::from_raw_parts_mut(words, (*words / 4) as usize) };
        let long = |words: &mut [u32], at: usize, value: u64| {
            (words[at], words[at + 1]) = (value as u32, (value >> 32) as u32);
        };
        let asked = match number {
            0..=2 | 11 => vec![words.addr() as u32],
            // SAFETY: a descriptor, and a text that ends with a zero.
            4 => vec![unsafe { *words }],
            6 => unsafe { CStr::from_ptr(words.cast()) }.to_bytes().iter().map(|byte| u32::from(*byte)).collect(),
            _ => structure(words).to_vec(),
        };
        self.calls.push((number, asked.clone()));
        if self.fails == Some(number) {
            // SAFETY: the thread's own error number.
            unsafe { *libc::__errno_location() = libc::EIO };
            return -1;
        }
        match number {
            0 => return self.version,
            1 => return i32::from(self.type1 && asked == [3]),
            3 => structure(words)[1] = if self.viable { 0b11 } else { 0b10 },
            6 => return self.device.take().map_or(-1, IntoRawFd::into_raw_fd),
            7 => structure(words)[1] = if self.resettable { 0b11 } else { 0b10 },
            8 => {
                let words = structure(words);
                let (flags, bytes, offset) =
                    if words[2] == 0 { (self.bar.0, self.bar.1, 0) } else { (3, 4096, self.config) };
                words[1] = flags;
                long(words, 4, bytes);
                long(words, 6, offset);
            }
            9 => {
                let words = structure(words);
                words[3] =
                    words[2].checked_sub(2).and_then(|kind| self.vectors.get(kind as usize)).map_or(0, |count| *count);
            }
            12 => {
                // The structure has 24 bytes, the capability of ranges 16 and 16 for each.
                let (room, needed) = (asked[0], 24 + 16 + 16 * self.ranges.len() as u32);
                let words = structure(words);
                (words[0], words[1]) = (needed, 0b11);
                long(words, 2, 0x4020_1000);
                if room >= needed {
                    words[4] = 24;
                    words[6..10].copy_from_slice(&[1 | 1 << 16, 0, self.ranges.len() as u32, 0]);
                    for (at, [first, last]) in self.ranges.iter().enumerate() {
                        long(words, 10 + 4 * at, *first);
                        long(words, 12 + 4 * at, *last);
                    }
                }
            }
            13 => self.maps.push((wide(&asked, 4), wide(&asked, 6))),
            14 => match self.maps.iter().position(|map| *map == (wide(&asked, 2), wide(&asked, 4))) {
                Some(at) => drop(self.maps.swap_remove(at)),
                None => long(structure(words), 4, 0),
            },
            _ => {}
        }
        0
    }
}

/// A value of two words.
pub fn wide(words: &[u32], at: usize) -> u64 {
    u64::from(words[at + 1]) << 32 | u64::from(words[at])
}

/// The answer of this thread's kernel, if it has one.
pub fn answer(request: u64, argument: *mut u32) -> Option<i32> {
    let kernel = KERNEL.with_borrow(Clone::clone)?;
    let mut kernel = kernel.borrow_mut();
    // SAFETY: the argument is that of the request.
    Some(unsafe { kernel.answer((request & 0xFF) as u32 - 100, argument) })
}
