//! Calls that fail: a status for the program, and a sentence for `RVMA_Error`.

use crate::ends::PutFailed;
use crate::node::Refused;
use anyhow::{anyhow, Result};
use spindle::Error;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::{c_char, c_int, CStr, CString};
use std::mem::ManuallyDrop;
use std::panic::{catch_unwind, AssertUnwindSafe};

const SUCCESS: c_int = 0;
const ERR_ARGUMENT: c_int = -1;
const ERR_REFUSED: c_int = -2;
const ERR_TIMEOUT: c_int = -3;
const ERR_DEVICE: c_int = -4;
const ERR_PUT: c_int = -5;

/// Bytes of sentences that a thread keeps.
const KEPT_BYTES: usize = 1 << 20;

/// The sentences of a thread. Each is kept once and never moves, so a program may keep the pointer.
#[derive(Default)]
struct Sentences {
    kept: HashSet<CString>,
    bytes: usize,
}

thread_local! {
    // Not dropped: a program may read a sentence in a destructor of the thread. The size is bounded.
    static SENTENCES: ManuallyDrop<RefCell<Sentences>> = ManuallyDrop::default();
    static LAST: Cell<&'static CStr> = const { Cell::new(c"") };
}

impl Sentences {
    fn keep(&mut self, sentence: String, code: c_int) -> &'static CStr {
        let sentence = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
        if !self.kept.contains(&sentence) {
            let bytes = sentence.as_bytes_with_nul().len();
            if self.bytes + bytes > KEPT_BYTES {
                return full(code);
            }
            self.bytes += bytes;
            self.kept.insert(sentence.clone());
        }
        let kept = self.kept.get(&sentence).map_or(c"", |kept| kept.as_c_str());
        // SAFETY: no sentence is ever removed or changed, and the set is never dropped; the bytes of a `CString` do not move with it.
        unsafe { CStr::from_ptr(kept.as_ptr()) }
    }
}

/// What is left to say when a thread has kept as many sentences as it may.
fn full(code: c_int) -> &'static CStr {
    match code {
        ERR_ARGUMENT => c"an argument is wrong; the thread keeps no more sentences, so the details are lost",
        ERR_REFUSED => c"the call was refused; the thread keeps no more sentences, so the details are lost",
        ERR_TIMEOUT => c"the limit of a wait was reached; the thread keeps no more sentences, so the details are lost",
        ERR_PUT => c"a put did not arrive; the thread keeps no more sentences, so the details are lost",
        _ => c"the NIC does not answer as it should; the thread keeps no more sentences, so the details are lost",
    }
}

/// Runs a call; of one that fails keeps the sentence, and returns what `failed` makes of its code.
pub fn guard<T>(failed: impl FnOnce(c_int) -> T, call: impl FnOnce() -> Result<T>) -> T {
    let error = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return value,
        Ok(Err(error)) => error,
        Err(_) => anyhow!("the simulation failed; the reason is on standard error"),
    };
    let code = match error.downcast_ref::<Error>() {
        Some(Error::Argument(_)) => ERR_ARGUMENT,
        Some(Error::Doorbell { .. }) => ERR_REFUSED,
        Some(Error::Timeout { .. }) => ERR_TIMEOUT,
        _ if error.is::<Refused>() => ERR_REFUSED,
        _ if error.is::<PutFailed>() => ERR_PUT,
        _ => ERR_DEVICE,
    };
    LAST.set(SENTENCES.with(|sentences| sentences.borrow_mut().keep(format!("{error:#}"), code)));
    failed(code)
}

/// Runs a call that returns a status.
pub fn status(call: impl FnOnce() -> Result<()>) -> c_int {
    guard(|code| code, || call().map(|()| SUCCESS))
}

/// The error of an argument.
pub fn argument(sentence: impl Into<String>) -> anyhow::Error {
    Error::Argument(sentence.into()).into()
}

/// What a pointer of the caller points to.
///
/// # Safety
/// It is null, or points to a living `T` that nothing else uses.
pub unsafe fn given<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T> {
    // SAFETY: as the caller of this function promises.
    unsafe { pointer.as_mut() }.ok_or_else(|| argument(format!("{what} is NULL")))
}

/// Checks the number of bytes of the caller's memory.
///
/// # Errors
/// No memory has so many.
pub fn bytes_of_memory(size: usize, what: &str) -> Result<usize> {
    match isize::try_from(size) {
        Ok(_) => Ok(size),
        Err(_) => Err(argument(format!("{what} has {size} bytes, which no memory has; give its size"))),
    }
}

/// A number of the caller that fits 32 bits.
pub fn small(number: impl TryInto<u32> + Copy + std::fmt::Display, what: &str) -> Result<u32> {
    number.try_into().map_err(|_| argument(format!("{what} is {number}; it must fit 32 bits without a sign")))
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Error() -> *const c_char {
    LAST.get().as_ptr()
}
