//! Cards of a shared library: a table of C functions, so that program and library need not be of one build.
//!
//! A library exports [`ENTRY`], a function that returns its [`Table`]. `librvma-sim.so` has the simulated cards.

use crate::{Bar, Card, Error, HostMemory, Identity, Result};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ops::Range;
use std::os::fd::OwnedFd;

/// Name of the function that returns the table: `extern "C" fn() -> *const Table`.
pub const ENTRY: &str = "spindle_plugin";
/// Layout of [`Table`]; a library of another layout is refused.
pub const ABI: u32 = 1;

/// Result of a call.
const DONE: c_int = 0;
const ARGUMENT: c_int = 1;
const MEMORY: c_int = 2;
const OTHER: c_int = 3;

/// Bytes of a sentence, its final zero included.
const SENTENCE: usize = 512;

/// Where a call leaves the sentence of its error.
#[repr(C)]
pub struct Sentence([c_char; SENTENCE]);

/// The functions of a library of cards. Each returns 0, or a code and a sentence.
///
/// A card is a pointer that only the library follows. It may be used by one thread after the other.
#[repr(C)]
pub struct Table {
    /// [`ABI`].
    pub abi: u32,
    /// Opens the card of an address as node `node` of its network.
    open: unsafe extern "C" fn(*const c_char, u32, *mut *mut c_void, *mut Sentence) -> c_int,
    close: unsafe extern "C" fn(*mut c_void),
    read32: unsafe extern "C" fn(*mut c_void, u32, *mut u32, *mut Sentence) -> c_int,
    write32: unsafe extern "C" fn(*mut c_void, u32, u32, *mut Sentence) -> c_int,
    alloc: unsafe extern "C" fn(*mut c_void, usize, usize, *mut u64, *mut Sentence) -> c_int,
    free: unsafe extern "C" fn(*mut c_void, u64, *mut Sentence) -> c_int,
    read: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut Sentence) -> c_int,
    write: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, *mut Sentence) -> c_int,
    map: unsafe extern "C" fn(*mut c_void, u64, u64, *mut Sentence) -> c_int,
    unmap: unsafe extern "C" fn(*mut c_void, u64, u64, *mut Sentence) -> c_int,
    pause: unsafe extern "C" fn(*mut c_void, u64, *mut Sentence) -> c_int,
    reset: unsafe extern "C" fn(*mut c_void, *mut Sentence) -> c_int,
}

/// Opens the card of an address: what a library of cards provides.
pub trait Factory {
    /// Opens the card as node `node` of its network.
    ///
    /// # Errors
    /// There is no such card, or it is in use.
    fn open(address: &str, node: u32) -> Result<Box<dyn Card>>;
}

impl Table {
    /// The table of a library whose cards time moves by calls, and which have no interrupts.
    pub const fn of<F: Factory>() -> Table {
        Table { abi: ABI, open: open::<F>, close, read32, write32, alloc, free, read, write, map, unmap, pause, reset }
    }
}

/// Runs a call of a card; a panic is an error.
fn run(sentence: *mut Sentence, call: impl FnOnce() -> Result<()>) -> c_int {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    let error = match done {
        Ok(Ok(())) => return DONE,
        Ok(Err(error)) => error,
        Err(_) => Error::Plugin("the library of the card failed; the reason is on standard error".into()),
    };
    let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    let bytes = text.as_bytes();
    let kept = bytes.len().min(SENTENCE - 1);
    // SAFETY: the caller's sentence has SENTENCE bytes; what is left of it is the final zero.
    unsafe {
        (*sentence).0 = [0; SENTENCE];
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), (*sentence).0.as_mut_ptr(), kept);
    }
    match error {
        Error::Argument(_) => ARGUMENT,
        Error::Memory(_) => MEMORY,
        _ => OTHER,
    }
}

/// The card of a pointer.
///
/// # Safety
/// [`open`] returned the pointer, it was not closed, and no other call uses it.
unsafe fn card<'a>(card: *mut c_void) -> &'a mut dyn Card {
    // SAFETY: `open` makes each pointer from such a box.
    unsafe { (*card.cast::<Box<dyn Card>>()).as_mut() }
}

unsafe extern "C" fn open<F: Factory>(
    address: *const c_char,
    node: u32,
    opened: *mut *mut c_void,
    sentence: *mut Sentence,
) -> c_int {
    run(sentence, || {
        // SAFETY: the caller's address ends with a zero.
        let address = unsafe { CStr::from_ptr(address) }.to_string_lossy();
        let card: Box<Box<dyn Card>> = Box::new(F::open(&address, node)?);
        // SAFETY: `opened` is to be written.
        unsafe { opened.write(Box::into_raw(card).cast()) };
        Ok(())
    })
}

unsafe extern "C" fn close(opened: *mut c_void) {
    // SAFETY: `open` made the pointer, and the caller uses it no more.
    drop(unsafe { Box::from_raw(opened.cast::<Box<dyn Card>>()) });
}

unsafe extern "C" fn read32(opened: *mut c_void, address: u32, value: *mut u32, sentence: *mut Sentence) -> c_int {
    // SAFETY: pointers are as of `card`, and `value` is to be written.
    run(sentence, || unsafe {
        value.write(card(opened).read32(address)?);
        Ok(())
    })
}

unsafe extern "C" fn write32(opened: *mut c_void, address: u32, value: u32, sentence: *mut Sentence) -> c_int {
    // SAFETY: as of `card`.
    run(sentence, || unsafe { card(opened) }.write32(address, value))
}

unsafe extern "C" fn alloc(
    opened: *mut c_void,
    bytes: usize,
    align: usize,
    address: *mut u64,
    sentence: *mut Sentence,
) -> c_int {
    // SAFETY: pointers are as of `card`, and `address` is to be written.
    run(sentence, || unsafe {
        address.write(card(opened).alloc(bytes, align)?);
        Ok(())
    })
}

unsafe extern "C" fn free(opened: *mut c_void, address: u64, sentence: *mut Sentence) -> c_int {
    // SAFETY: as of `card`.
    run(sentence, || unsafe { card(opened) }.free(address))
}

unsafe extern "C" fn read(
    opened: *mut c_void,
    address: u64,
    bytes: *mut u8,
    length: usize,
    sentence: *mut Sentence,
) -> c_int {
    // SAFETY: pointers are as of `card`, and `bytes` has room for `length`.
    run(sentence, || unsafe { card(opened).read(address, std::slice::from_raw_parts_mut(bytes, length)) })
}

unsafe extern "C" fn write(
    opened: *mut c_void,
    address: u64,
    bytes: *const u8,
    length: usize,
    sentence: *mut Sentence,
) -> c_int {
    // SAFETY: pointers are as of `card`, and `bytes` has `length` bytes.
    run(sentence, || unsafe { card(opened).write(address, std::slice::from_raw_parts(bytes, length)) })
}

unsafe extern "C" fn map(opened: *mut c_void, start: u64, end: u64, sentence: *mut Sentence) -> c_int {
    // SAFETY: as of `card`.
    run(sentence, || unsafe { card(opened) }.map(&(start..end)))
}

unsafe extern "C" fn unmap(opened: *mut c_void, start: u64, end: u64, sentence: *mut Sentence) -> c_int {
    // SAFETY: as of `card`.
    run(sentence, || unsafe { card(opened) }.unmap(&(start..end)))
}

unsafe extern "C" fn pause(opened: *mut c_void, cycles: u64, sentence: *mut Sentence) -> c_int {
    // SAFETY: as of `card`.
    run(sentence, || unsafe { card(opened) }.pause(cycles))
}

unsafe extern "C" fn reset(opened: *mut c_void, sentence: *mut Sentence) -> c_int {
    // SAFETY: as of `card`.
    run(sentence, || unsafe { card(opened) }.reset())
}

/// A card of a library.
pub struct PluginCard {
    table: &'static Table,
    card: *mut c_void,
    address: String,
}

// SAFETY: a card of a table may be used by one thread after the other, and `PluginCard` is no `Sync`.
unsafe impl Send for PluginCard {}

impl PluginCard {
    /// Opens a card of a library.
    ///
    /// # Errors
    /// The library has another layout, or refuses the address.
    ///
    /// # Safety
    /// `table` is what a function [`ENTRY`] returned, and its library stays loaded.
    pub unsafe fn open(table: *const Table, address: &str, node: u32) -> Result<PluginCard> {
        // SAFETY: of every layout the first word is the number of the layout.
        let abi = unsafe { table.cast::<u32>().read() };
        if abi != ABI {
            return Err(Error::Plugin(format!(
                "the library of the card has interface {abi}, this program has {ABI}; install both from one release"
            )));
        }
        // SAFETY: the layout is ours, and the caller promises that the library stays.
        let table: &'static Table = unsafe { &*table };
        let text = CString::new(address).map_err(|_| Error::Argument("an address has no zero bytes".into()))?;
        let mut card = std::ptr::null_mut();
        // SAFETY: the address ends with a zero, `card` is to be written.
        call(|sentence| unsafe { (table.open)(text.as_ptr(), node, &mut card, sentence) })?;
        Ok(PluginCard { table, card, address: address.into() })
    }
}

/// Runs a function of a table.
fn call(call: impl FnOnce(*mut Sentence) -> c_int) -> Result<()> {
    let mut sentence = Sentence([0; SENTENCE]);
    let code = call(&mut sentence);
    if code == DONE {
        return Ok(());
    }
    // The library may have filled the sentence to its end.
    sentence.0[SENTENCE - 1] = 0;
    // SAFETY: the last byte is 0.
    let text = unsafe { CStr::from_ptr(sentence.0.as_ptr()) }.to_string_lossy().into_owned();
    Err(match code {
        ARGUMENT => Error::Argument(text),
        MEMORY => Error::Memory(text.trim_start_matches("host memory: ").into()),
        _ => Error::Plugin(text),
    })
}

impl Drop for PluginCard {
    fn drop(&mut self) {
        // SAFETY: the card is open, and this is its last use.
        unsafe { (self.table.close)(self.card) }
    }
}

// SAFETY of the calls: the card is open, pointers to results are to be written, and lengths are those of their slices.
impl Bar for PluginCard {
    fn read32(&mut self, address: u32) -> Result<u32> {
        let mut value = 0;
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.read32)(self.card, address, &mut value, sentence) })?;
        Ok(value)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.write32)(self.card, address, value, sentence) })
    }
}

impl HostMemory for PluginCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let mut address = 0;
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.alloc)(self.card, bytes, align, &mut address, sentence) })?;
        Ok(address)
    }

    fn free(&mut self, address: u64) -> Result<()> {
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.free)(self.card, address, sentence) })
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.read)(self.card, address, bytes.as_mut_ptr(), bytes.len(), sentence) })
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.write)(self.card, address, bytes.as_ptr(), bytes.len(), sentence) })
    }
}

impl Card for PluginCard {
    fn identity(&self) -> Identity {
        Identity { address: self.address.clone(), transport: "sim", pci: None }
    }

    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.map)(self.card, range.start, range.end, sentence) })
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.unmap)(self.card, range.start, range.end, sentence) })
    }

    fn vectors(&self) -> usize {
        0
    }

    fn interrupt(&mut self, _vector: usize) -> Result<OwnedFd> {
        Err(Error::Argument("this card has no interrupts; poll".into()))
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.pause)(self.card, cycles, sentence) })
    }

    fn time_moves_by_calls(&self) -> bool {
        true
    }

    fn reset(&mut self) -> Result<()> {
        // SAFETY: as above.
        call(|sentence| unsafe { (self.table.reset)(self.card, sentence) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_with_a_zero_whatever_its_length() {
        #[repr(C)]
        struct Guarded {
            sentence: Sentence,
            guard: [u8; 8],
        }
        for (length, kept) in [(0, 0), (1, 1), (510, 510), (511, 511), (512, 511), (2000, 511)] {
            let mut guarded = Guarded { sentence: Sentence([0x55; SENTENCE]), guard: [0xA5; 8] };
            // The whole structure is the pointer's, so that a write after the sentence is seen.
            let sentence = std::ptr::from_mut(&mut guarded).cast::<Sentence>();
            assert_eq!(run(sentence, || Err(Error::Plugin("x".repeat(length)))), OTHER);
            assert_eq!(guarded.guard, [0xA5; 8]);
            let text: Vec<c_char> = [vec![b'x' as c_char; kept], vec![0; SENTENCE - kept]].concat();
            assert!(guarded.sentence.0[..] == text[..], "{length} letters");
        }
        let mut sentence = Sentence([0x55; SENTENCE]);
        assert_eq!(run(&mut sentence, || Ok(())), DONE);
        assert_eq!(run(&mut sentence, || Err(Error::Argument("a".into()))), ARGUMENT);
        assert_eq!(run(&mut sentence, || Err(Error::Memory("a".into()))), MEMORY);
        assert_eq!(run(&mut sentence, || panic!("as the test wants it")), OTHER);
    }

    #[test]
    fn a_library_that_fills_its_sentence_is_read_to_the_last_byte_but_one() {
        let full = |sentence: *mut Sentence| {
            // SAFETY: the caller's sentence lives.
            unsafe { (*sentence).0 = [b'x' as c_char; SENTENCE] };
            7
        };
        assert_eq!(call(full).unwrap_err().to_string(), "x".repeat(SENTENCE - 1));
        assert!(call(|_| DONE).is_ok());
    }
}
