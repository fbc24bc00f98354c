//! The calls of the C library that name addresses of sockets, for addresses of the network; all others go on to the C library.

use crate::card::{self, card};
use crate::connection::drain;
use crate::listener;
use crate::next;
use crate::table::{socket, table, End, Socket};
use libc::{c_int, c_void, sockaddr, sockaddr_in, sockaddr_un, socklen_t, AF_INET, AF_UNIX};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::Once;

/// First port of connections whose program names none.
const FIRST_PORT: u16 = 32768;

/// Sets errno.
fn fail(errno: c_int) -> c_int {
    // SAFETY: the C library gives a place of the thread.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// Reports an error that errno cannot name.
fn report(error: &anyhow::Error, errno: c_int) -> c_int {
    eprintln!("librvma-sockets: {error:#}");
    fail(errno)
}

/// The end that an address of the caller names, if it is one of the network.
///
/// # Safety
/// `address` is null or has `length` bytes.
unsafe fn end_of(address: *const sockaddr, length: socklen_t) -> Option<End> {
    if address.is_null() || (length as usize) < size_of::<sockaddr_in>() || !card::wanted() {
        return None;
    }
    // SAFETY: the address has as many bytes as an IPv4 address; it may lie anywhere.
    let address = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
    if c_int::from(address.sin_family) != AF_INET {
        return None;
    }
    let node = card::node_of(address.sin_addr.s_addr.to_ne_bytes())?;
    Some(End { node, port: u16::from_be(address.sin_port) })
}

/// Writes an end as an address of the caller.
///
/// # Safety
/// `length` is null, or has the room of `address` and is to be written.
unsafe fn write_end(end: End, address: *mut sockaddr, length: *mut socklen_t) {
    if address.is_null() || length.is_null() {
        return;
    }
    // SAFETY: all zeros is an address.
    let mut own: sockaddr_in = unsafe { std::mem::zeroed() };
    own.sin_family = AF_INET as _;
    own.sin_port = end.port.to_be();
    own.sin_addr.s_addr = u32::from_ne_bytes(card::address_of(end.node));
    let bytes = size_of::<sockaddr_in>();
    // SAFETY: as the caller promises; no more is written than there is room.
    unsafe {
        let room = (*length as usize).min(bytes);
        std::ptr::copy_nonoverlapping((&raw const own).cast::<u8>(), address.cast::<u8>(), room);
        *length = bytes as socklen_t;
    }
}

/// Calls a function of the C library with the address of a local socket.
pub fn unix_call(
    socket: &impl AsRawFd,
    address: &SocketAddr,
    call: unsafe fn(c_int, *const sockaddr, socklen_t) -> c_int,
) -> std::io::Result<()> {
    let name = address.as_abstract_name().unwrap_or_default();
    // SAFETY: all zeros is an address.
    let mut own: sockaddr_un = unsafe { std::mem::zeroed() };
    own.sun_family = AF_UNIX as _;
    for (to, from) in own.sun_path[1..].iter_mut().zip(name) {
        *to = *from as _;
    }
    let length = std::mem::offset_of!(sockaddr_un, sun_path) + 1 + name.len();
    // SAFETY: the address has so many bytes.
    match unsafe { call(socket.as_raw_fd(), (&raw const own).cast(), length as socklen_t) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Puts a local socket in the place of the program's, with the flags that the program has set.
fn replace(fd: c_int, with: OwnedFd) -> std::io::Result<()> {
    // SAFETY: both descriptors are open; the calls take no memory.
    unsafe {
        let (status, flags) = (libc::fcntl(fd, libc::F_GETFL), libc::fcntl(fd, libc::F_GETFD));
        let close_on_exec = if flags & libc::FD_CLOEXEC != 0 { libc::O_CLOEXEC } else { 0 };
        if libc::dup3(with.as_raw_fd(), fd, close_on_exec) < 0 {
            return Err(std::io::Error::last_os_error());
        }
        libc::fcntl(fd, libc::F_SETFL, status & libc::O_NONBLOCK);
    }
    Ok(())
}

/// The program waits at its end until its bytes have left.
fn drain_at_exit() {
    extern "C" fn at_exit() {
        // The program writes no more: its descriptors are closed for writing, as the system is about to do.
        let open: Vec<c_int> = table().sockets.keys().copied().collect();
        for fd in open {
            // SAFETY: the call takes no memory; of a descriptor that is closed it is an error.
            unsafe { libc::shutdown(fd, libc::SHUT_WR) };
        }
        drain();
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function takes no arguments and does not unwind.
        let _ = unsafe { libc::atexit(at_exit) };
    });
}

/// See `bind(2)`.
///
/// # Safety
/// As of `bind(2)`.
#[no_mangle]
pub unsafe extern "C" fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: as the caller promises.
    match unsafe { end_of(address, length) } {
        Some(end) => {
            table().sockets.insert(fd, Socket::Bound(end));
            0
        }
        // SAFETY: as the caller promises.
        None => unsafe { next::bind(fd, address, length) },
    }
}

/// See `listen(2)`.
///
/// # Safety
/// As of `listen(2)`.
#[no_mangle]
pub unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    let Some(Socket::Bound(end)) = socket(fd) else {
        // SAFETY: the call takes no memory.
        return unsafe { next::listen(fd, backlog) };
    };
    match listen_at(fd, end, backlog) {
        Ok(()) => 0,
        Err(error) => report(&error, libc::EADDRINUSE),
    }
}

fn listen_at(fd: c_int, end: End, backlog: c_int) -> anyhow::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let card = card()?;
    anyhow::ensure!(card.node == end.node, "10.78.0.{} is not this node, which is {}", end.node, card.node);
    // SAFETY: a new socket, which is ours.
    let local = unsafe { OwnedFd::from_raw_fd(libc::socket(AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0)) };
    let name = format!("rvma-listener {} {}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = SocketAddr::from_abstract_name(name)?;
    unix_call(&local, &path, next::bind)?;
    // SAFETY: the call takes no memory.
    anyhow::ensure!(unsafe { next::listen(local.as_raw_fd(), backlog) } == 0, std::io::Error::last_os_error());
    replace(fd, local)?;
    table().sockets.insert(fd, Socket::Listening(end));
    drain_at_exit();
    listener::listen(card, end, path)
}

/// See `accept(2)`.
///
/// # Safety
/// As of `accept(2)`.
#[no_mangle]
pub unsafe extern "C" fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { accept4(fd, address, length, 0) }
}

/// See `accept4(2)`.
///
/// # Safety
/// As of `accept4(2)`.
#[no_mangle]
pub unsafe extern "C" fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    if !matches!(socket(fd), Some(Socket::Listening(_))) {
        // SAFETY: as the caller promises.
        return unsafe { next::accept4(fd, address, length, flags) };
    }
    // SAFETY: all zeros is an address, and the C library gets its room.
    let (accepted, name) = unsafe {
        let mut local: sockaddr_un = std::mem::zeroed();
        let mut room = size_of::<sockaddr_un>() as socklen_t;
        let accepted = next::accept4(fd, (&raw mut local).cast(), &mut room, flags);
        let start = std::mem::offset_of!(sockaddr_un, sun_path) + 1;
        let bytes = local.sun_path[1..].iter().take((room as usize).saturating_sub(start));
        (accepted, bytes.map(|byte| *byte as u8).collect::<Vec<u8>>())
    };
    if accepted < 0 {
        return accepted;
    }
    let mut known = table();
    if let Some((own, other)) = known.waiting.remove(&name) {
        known.sockets.insert(accepted, Socket::Connected(own, other));
        // SAFETY: as the caller promises.
        unsafe { write_end(other, address, length) };
    }
    accepted
}

/// See `connect(2)`. Returns when the connection is there, of a non-blocking socket too.
///
/// # Safety
/// As of `connect(2)`.
#[no_mangle]
pub unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: as the caller promises.
    let Some(to) = (unsafe { end_of(address, length) }) else {
        // SAFETY: as the caller promises.
        return unsafe { next::connect(fd, address, length) };
    };
    match connect_to(fd, to) {
        Ok(true) => 0,
        Ok(false) => fail(libc::ECONNREFUSED),
        Err(error) => report(&error, libc::ETIMEDOUT),
    }
}

fn connect_to(fd: c_int, to: End) -> anyhow::Result<bool> {
    static PORT: AtomicU16 = AtomicU16::new(0);
    let card = card()?;
    let port = match socket(fd) {
        Some(Socket::Bound(own)) if own.port != 0 => own.port,
        _ => FIRST_PORT + PORT.fetch_add(1, Ordering::Relaxed) % FIRST_PORT,
    };
    let (ours, theirs) = UnixStream::pair()?;
    if listener::connect(card, port, to, ours)?.is_none() {
        return Ok(false);
    }
    replace(fd, theirs.into())?;
    table().sockets.insert(fd, Socket::Connected(End { node: card.node, port }, to));
    drain_at_exit();
    Ok(true)
}

/// See `getsockname(2)`.
///
/// # Safety
/// As of `getsockname(2)`.
#[no_mangle]
pub unsafe extern "C" fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    match socket(fd) {
        Some(Socket::Bound(end) | Socket::Listening(end) | Socket::Connected(end, _)) => {
            // SAFETY: as the caller promises.
            unsafe { write_end(end, address, length) };
            0
        }
        // SAFETY: as the caller promises.
        None => unsafe { next::getsockname(fd, address, length) },
    }
}

/// See `getpeername(2)`.
///
/// # Safety
/// As of `getpeername(2)`.
#[no_mangle]
pub unsafe extern "C" fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    match socket(fd) {
        Some(Socket::Connected(_, other)) => {
            // SAFETY: as the caller promises.
            unsafe { write_end(other, address, length) };
            0
        }
        // SAFETY: as the caller promises.
        _ => unsafe { next::getpeername(fd, address, length) },
    }
}

/// See `setsockopt(2)`. Options of TCP and IP have no meaning for a socket of the network, and are accepted.
///
/// # Safety
/// As of `setsockopt(2)`.
#[no_mangle]
pub unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let ours = matches!(socket(fd), Some(Socket::Listening(_) | Socket::Connected(..)));
    if ours && (level == libc::IPPROTO_TCP || level == libc::IPPROTO_IP) {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe { next::setsockopt(fd, level, name, value, length) }
}

/// See `close(2)`.
///
/// # Safety
/// As of `close(2)`.
#[no_mangle]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    // Programs without sockets of the network, and the C library's own calls, take no lock.
    if card::wanted() {
        table().sockets.remove(&fd);
    }
    // SAFETY: the call takes no memory.
    unsafe { next::close(fd) }
}
