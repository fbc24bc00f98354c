//! A listening socket: a window of its port gets requests, and each becomes a connection to the local socket of the program.

use crate::card::Card;
use crate::connection::{start, thread, Inbound, Outbox, KEY};
use crate::message::{Head, Kind, HEAD};
use crate::table::{table, End};
use anyhow::{Context, Result};
use spindle::put::{Kind as Order, Target};
use spindle::window::{Counting, WindowOptions};
use spindle_contract::wire::nack;
use spindle_rvma::{PutFailed, WindowStock};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// Requests that wait for the library.
const REQUESTS: usize = 8;
/// Bytes of a request's buffer.
const REQUEST_BYTES: u32 = 64;
/// No limit.
const FOREVER: u64 = u64::MAX;

/// The window of a port.
fn window_of(port: u16) -> u64 {
    0x4C49_5354_0000_0000 | u64::from(port)
}

/// Takes requests for a port, and connects to the local socket `path` for each.
///
/// # Errors
/// The port is taken, or the card has no room.
pub fn listen(card: &'static Card, own: End, path: SocketAddr) -> Result<()> {
    let options = WindowOptions {
        address: window_of(own.port),
        key: KEY,
        threshold: 1,
        counting: Counting::Operations,
        ..Default::default()
    };
    let window = Arc::new(card.nic.open_window(&options)?);
    let requests = WindowStock::new(window, REQUESTS, REQUEST_BYTES)?;
    thread("listens", move || {
        while let Ok(request) = requests.receive(FOREVER) {
            let Some(head) = Head::parse(&request).filter(|head| head.kind == Kind::Open) else { continue };
            // A request that cannot be served is as if it had not come; its program gives up.
            if let Err(error) = accept(card, own, &head, &path) {
                eprintln!("librvma-sockets: a connection from node {} is not accepted: {error:#}", head.node);
            }
        }
    })
}

fn accept(card: &'static Card, own: End, head: &Head, path: &SocketAddr) -> Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (inbound, outbox) = (Inbound::open(card)?, Outbox::new(card)?);
    // The local socket has a name, by which accept() finds the address of the other end.
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("rvma-sockets {} {count}", std::process::id()).into_bytes();
    let other = End { node: head.node, port: head.port };
    table().waiting.insert(name.clone(), (own, other));
    let local = named(&name, path).context("the program's socket is closed")?;
    start(card, inbound, outbox, (head.node, head.window), local, true)
}

/// A local socket with an abstract name, connected to a path.
fn named(name: &[u8], path: &SocketAddr) -> Result<UnixStream> {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: a new socket, which is ours.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        anyhow::ensure!(fd >= 0, std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    };
    let own = SocketAddr::from_abstract_name(name)?;
    crate::calls::unix_call(&socket, &own, crate::next::bind)?;
    crate::calls::unix_call(&socket, path, crate::next::connect)?;
    Ok(socket.into())
}

/// Connects to a port of another node; `Ok(None)`: nothing listens there.
///
/// # Errors
/// The other node does not answer, or the card has no room.
pub fn connect(card: &'static Card, own_port: u16, to: End, local: UnixStream) -> Result<Option<()>> {
    let (inbound, mut outbox) = (Inbound::open(card)?, Outbox::new(card)?);
    let head = Head { kind: Kind::Open, node: card.node, port: own_port, consumed: 0, window: inbound.window };
    let (address, process) = (window_of(to.port), card.process);
    let target = Target { node: to.node, process, address, key: KEY, offset: 0, kind: Order::Bound };
    debug_assert!(HEAD <= REQUEST_BYTES as usize);
    outbox.send(&target, &head, &[])?;
    if let Err(error) = outbox.flush() {
        return match error.downcast_ref::<PutFailed>() {
            Some(PutFailed { refusal: Some(nack::NO_MAILBOX) }) => Ok(None),
            _ => Err(error),
        };
    }
    let (answer, _) = inbound.receive(FOREVER)?;
    anyhow::ensure!(answer.kind == Kind::Accept, "the other node answers with another message");
    start(card, inbound, outbox, (to.node, answer.window), local, false)?;
    Ok(Some(()))
}
