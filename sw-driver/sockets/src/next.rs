//! The C library's own calls, which ours stand before.

use libc::{c_char, c_int, c_void, sockaddr, socklen_t};
use std::sync::OnceLock;

/// The next definition of a name after this library's.
macro_rules! next {
    ($name:ident($($argument:ident: $type:ty),*)) => {
        pub unsafe fn $name($($argument: $type),*) -> c_int {
            static FOUND: OnceLock<usize> = OnceLock::new();
            let found = *FOUND.get_or_init(|| symbol(concat!(stringify!($name), "\0")));
            // SAFETY: the C library's function of this name has these arguments, which are the caller's.
            unsafe { std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> c_int>(found)($($argument),*) }
        }
    };
}

fn symbol(name: &'static str) -> usize {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast::<c_char>()) } as usize;
    assert!(found != 0, "the C library has no {name}");
    found
}

next!(bind(fd: c_int, address: *const sockaddr, length: socklen_t));
next!(listen(fd: c_int, backlog: c_int));
next!(accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int));
next!(connect(fd: c_int, address: *const sockaddr, length: socklen_t));
next!(getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t));
next!(getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t));
next!(setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t));
next!(close(fd: c_int));
