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

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence() -> String {
        // SAFETY: the pointer is that of a sentence which stays.
        unsafe { CStr::from_ptr(RVMA_Error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn each_kind_of_error_has_its_status_and_its_sentence() {
        let doorbell = || Error::Doorbell { command: "put", why: "there is no room" };
        let timeout = || Error::Timeout { what: "a record".into(), cycles: 7 };
        for (error, status_of, text) in [
            (argument("a wrong one"), ERR_ARGUMENT, "a wrong one"),
            (doorbell().into(), ERR_REFUSED, "the card refuses put: there is no room"),
            (timeout().into(), ERR_TIMEOUT, "a record did not come within 7 cycles"),
            (Error::Memory("gone".into()).into(), ERR_DEVICE, "host memory: gone"),
            (anyhow!("no error of the driver"), ERR_DEVICE, "no error of the driver"),
            (Error::Argument("deep".into()).into(), ERR_ARGUMENT, "deep"),
        ] {
            assert_eq!(status(|| Err(error)), status_of, "{text}");
            assert_eq!(sentence(), text);
        }
        assert_eq!(status(|| Ok(())), SUCCESS);
        assert_eq!(sentence(), "deep", "a call that succeeds leaves the sentence of the last one that failed");
        assert_eq!(status(|| panic!("as the test wants it")), ERR_DEVICE);
        assert_eq!(sentence(), "the simulation failed; the reason is on standard error");
        assert_eq!(guard(|code| code * 10, || Err::<c_int, _>(argument("a\0b"))), 10 * ERR_ARGUMENT);
        assert_eq!(sentence(), "a b");
        assert_eq!(guard(|_| 0, || Ok(5)), 5);
    }

    #[test]
    fn a_thread_keeps_each_sentence_once_and_a_bounded_number_of_bytes() {
        let mut sentences = Sentences::default();
        let first = sentences.keep("one".into(), ERR_ARGUMENT).as_ptr();
        assert_eq!(sentences.keep("one".into(), ERR_ARGUMENT).as_ptr(), first);
        assert_eq!((sentences.bytes, sentences.kept.len()), (4, 1));
        // Exactly as many bytes as are kept, the zero included; then one more.
        let rest = KEPT_BYTES - 4 - 1;
        assert_eq!(sentences.keep("x".repeat(rest), ERR_PUT).to_bytes().len(), rest);
        assert_eq!(sentences.bytes, KEPT_BYTES);
        for (code, start) in [
            (ERR_ARGUMENT, "an argument is wrong"),
            (ERR_REFUSED, "the call was refused"),
            (ERR_TIMEOUT, "the limit of a wait was reached"),
            (ERR_PUT, "a put did not arrive"),
            (ERR_DEVICE, "the NIC does not answer as it should"),
        ] {
            let text = sentences.keep(String::new(), code).to_string_lossy();
            assert_eq!(text, format!("{start}; the thread keeps no more sentences, so the details are lost"));
        }
        assert_eq!(sentences.keep("one".into(), ERR_ARGUMENT).as_ptr(), first, "what is kept is still there");
        // A dropped set would take what pointers name.
        std::mem::forget(sentences);
    }

    #[test]
    fn numbers_and_pointers_of_a_program_are_checked() {
        assert_eq!(small(u32::MAX, "a size").unwrap(), u32::MAX);
        assert_eq!(
            small(1u64 << 32, "a size").unwrap_err().to_string(),
            "a size is 4294967296; it must fit 32 bits without a sign"
        );
        assert_eq!(small(-1, "a size").unwrap_err().to_string(), "a size is -1; it must fit 32 bits without a sign");
        assert_eq!(bytes_of_memory(isize::MAX as usize, "it").unwrap(), isize::MAX as usize);
        assert_eq!(
            bytes_of_memory(isize::MAX as usize + 1, "it").unwrap_err().to_string(),
            "it has 9223372036854775808 bytes, which no memory has; give its size"
        );
        let mut number = 7;
        // SAFETY: the first points to nothing, the second to a number that lives.
        let (null, given) = unsafe { (given::<u32>(std::ptr::null_mut(), "it"), given(&mut number, "it")) };
        assert_eq!(null.unwrap_err().to_string(), "it is NULL");
        assert_eq!(*given.unwrap(), 7);
    }
}
