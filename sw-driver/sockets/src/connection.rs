//! A connection: a stream in each direction, with credits, and the local socket whose other end the program has.

use crate::card::Card;
use crate::message::{Head, Kind, DATA, HEAD, MOST};
use anyhow::{ensure, Context, Result};
use spindle::put::{Kind as Order, Target};
use spindle::window::WindowOptions;
use spindle_rvma::{Op, WindowStock};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Messages that a sender may have sent and the receiver not consumed.
const DEPTH: u32 = 16;
/// Buffers beyond these, for messages that only carry credit: one for each half of the depth, at most three at a time.
const RESERVE: u32 = 4;
/// Consumed messages after which the sender gets credit.
const CREDIT: u32 = DEPTH / 2;
/// Places from which messages leave.
const PLACES: usize = (DEPTH + RESERVE) as usize;
/// Key of all windows of sockets.
pub const KEY: u32 = 0x534F_434B;
/// Nanoseconds of the card's time between two looks whether both directions have ended.
const LOOK: u64 = 100_000;
/// No limit.
const FOREVER: u64 = u64::MAX;
/// Time that the end of the program waits for its bytes to leave.
const LINGER: Duration = Duration::from_secs(120);

/// Connections whose bytes have not all left.
static SENDING: AtomicUsize = AtomicUsize::new(0);

/// Memory of messages that leave, registered as long as it lives.
pub struct Outbox {
    card: &'static Card,
    memory: Box<[u8]>,
    ops: [Option<Op>; PLACES],
    sent: u32,
}

impl Outbox {
    /// No message yet.
    ///
    /// # Errors
    /// The process has no region left: it has 16, and a connection takes two.
    pub fn new(card: &'static Card) -> Result<Outbox> {
        let memory = vec![0; PLACES * MOST].into_boxed_slice();
        let outbox = Outbox { card, memory, ops: [None; PLACES], sent: 0 };
        card.nic.register(outbox.range()).context("a connection takes two of the 16 regions of a process")?;
        Ok(outbox)
    }

    fn range(&self) -> std::ops::Range<u64> {
        let start = self.memory.as_ptr() as u64;
        start..start + self.memory.len() as u64
    }

    /// Sends a message, as soon as a place is free.
    ///
    /// # Errors
    /// An earlier message did not arrive.
    pub fn send(&mut self, target: &Target, head: &Head, data: &[u8]) -> Result<Op> {
        let place = self.sent as usize % PLACES;
        if let Some(op) = self.ops[place].take() {
            self.card.nic.wait_put(op, FOREVER)?;
        }
        let bytes = &mut self.memory[place * MOST..][..HEAD + data.len()];
        bytes[..HEAD].copy_from_slice(&head.bytes());
        bytes[HEAD..].copy_from_slice(data);
        let op = self.card.nic.put(bytes.as_ptr() as u64, bytes.len() as u32, target)?;
        self.ops[place] = Some(op);
        self.sent = self.sent.wrapping_add(1);
        Ok(op)
    }

    /// Waits until all messages have arrived.
    ///
    /// # Errors
    /// One did not.
    pub fn flush(&mut self) -> Result<()> {
        for op in self.ops.iter_mut().filter_map(Option::take) {
            self.card.nic.wait_put(op, FOREVER)?;
        }
        Ok(())
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        if self.card.nic.deregister(&self.range()).is_err() {
            // The card may still read: better lost than given to others.
            std::mem::forget(std::mem::take(&mut self.memory));
        }
    }
}

/// Own end of a connection before it is joined with the other one.
pub struct Inbound {
    /// Its window.
    pub window: u64,
    stock: WindowStock,
}

impl Inbound {
    /// Opens a window for a stream: each message completes a buffer of its own, in the order of the stream.
    ///
    /// # Errors
    /// The card has no room.
    pub fn open(card: &Card) -> Result<Inbound> {
        let window = fresh();
        let threshold = MOST as u32;
        let options = WindowOptions { address: window, key: KEY, threshold, ..Default::default() }.stream();
        let opened = Arc::new(card.nic.open_window(&options)?);
        let stock = WindowStock::new(opened, (DEPTH + RESERVE) as usize, threshold)?;
        Ok(Inbound { window, stock })
    }

    /// The next message.
    ///
    /// # Errors
    /// None came, or it is none of ours.
    pub fn receive(&self, limit: u64) -> Result<(Head, Vec<u8>)> {
        let mut bytes = self.stock.receive(limit)?;
        let head = Head::parse(&bytes).context("a message that is none of a socket")?;
        Ok((head, bytes.split_off(HEAD)))
    }
}

/// Address of a window that this node has not had.
fn fresh() -> u64 {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
    0x5300_0000_0000_0000 | (time & 0xFFFF_FFFF) << 16 | COUNT.fetch_add(1, Ordering::Relaxed) as u64 & 0xFFFF
}

/// What the two directions know of each other.
#[derive(Default)]
struct Flow {
    /// Messages sent, and those of them that the other end has consumed.
    sent: u32,
    consumed_there: u32,
    /// Messages consumed here, and the count that the other end knows.
    consumed: u32,
    known: u32,
    /// Messages that wait for the program.
    arrived: VecDeque<(Kind, Vec<u8>)>,
    /// Own bytes have all arrived there.
    finished: bool,
    broken: bool,
}

/// A connection.
struct Connection {
    card: &'static Card,
    target: Target,
    order: Mutex<(Outbox, u16)>,
    flow: Mutex<Flow>,
    changed: Condvar,
    local: UnixStream,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves bytes between a local socket and the window of another node, in threads of their own. `accept`: the other end waits to
/// learn our window.
///
/// # Errors
/// There is no memory or thread for it.
pub fn start(
    card: &'static Card,
    inbound: Inbound,
    outbox: Outbox,
    to: (u8, u64),
    local: UnixStream,
    accept: bool,
) -> Result<()> {
    let (node, address) = to;
    let target = Target { node, process: card.process, address, key: KEY, offset: 0, kind: Order::Ordered(0) };
    let (flow, changed) = (Mutex::default(), Condvar::new());
    let connection = Arc::new(Connection { card, target, order: Mutex::new((outbox, 0)), flow, changed, local });
    let window = inbound.window;
    if accept {
        connection.send(Kind::Accept, window, &[])?;
    } else {
        // The other end's first message has been consumed.
        lock(&connection.flow).consumed = 1;
    }
    SENDING.fetch_add(1, Ordering::SeqCst);
    let [receives, delivers, sends] = [(); 3].map(|()| connection.clone());
    thread("receives", move || receives.receive_all(&inbound))?;
    thread("delivers", move || delivers.deliver_all())?;
    thread("sends", move || {
        sends.send_all();
        SENDING.fetch_sub(1, Ordering::SeqCst);
    })
}

/// Starts a thread of the library.
///
/// # Errors
/// The system has none.
pub fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new().name(format!("rvma {name}")).spawn(run).context("a thread cannot be started")?;
    Ok(())
}

/// Waits, at the end of the program, until the bytes that it has written have left.
pub fn drain() {
    let start = Instant::now();
    while SENDING.load(Ordering::SeqCst) > 0 && start.elapsed() < LINGER {
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Connection {
    /// Sends a message with the present credit.
    fn send(&self, kind: Kind, window: u64, data: &[u8]) -> Result<()> {
        let mut order = lock(&self.order);
        let consumed = {
            let mut flow = lock(&self.flow);
            ensure!(!flow.broken, "the connection is broken");
            flow.sent = flow.sent.wrapping_add(1);
            flow.known = flow.consumed;
            flow.consumed
        };
        let head = Head { kind, node: self.card.node, port: 0, consumed, window };
        let (outbox, next) = &mut *order;
        let target = Target { kind: Order::Ordered(*next), ..self.target };
        outbox.send(&target, &head, data)?;
        *next = next.wrapping_add(1);
        Ok(())
    }

    /// Sends what the program writes, as far as the other end has credit.
    fn send_all(&self) {
        let mut bytes = vec![0; DATA];
        let done = loop {
            let mut flow = lock(&self.flow);
            while flow.sent.wrapping_sub(flow.consumed_there) >= DEPTH && !flow.broken {
                flow = self.changed.wait(flow).unwrap_or_else(PoisonError::into_inner);
            }
            drop(flow);
            match (&self.local).read(&mut bytes) {
                Ok(0) | Err(_) => break self.send(Kind::End, 0, &[]),
                Ok(length) => {
                    if let Err(error) = self.send(Kind::Data, 0, &bytes[..length]) {
                        break Err(error);
                    }
                }
            }
        };
        if done.and_then(|()| lock(&self.order).0.flush()).is_err() {
            self.stop();
        }
        lock(&self.flow).finished = true;
    }

    /// Takes messages until the other end has ended. The credit that they carry counts at once.
    fn receive_all(&self, inbound: &Inbound) {
        loop {
            let received = inbound.receive(FOREVER);
            let mut flow = lock(&self.flow);
            let Ok((head, data)) = received else {
                drop(flow);
                return self.stop();
            };
            flow.consumed_there = head.consumed;
            flow.arrived.push_back((head.kind, data));
            self.changed.notify_all();
            if head.kind == Kind::End {
                break;
            }
        }
        // Only credit comes after the end, for what is still sent.
        while !lock(&self.flow).finished {
            if let Ok((head, _)) = inbound.receive(LOOK) {
                lock(&self.flow).consumed_there = head.consumed;
                self.changed.notify_all();
            }
        }
    }

    /// Gives the program what has arrived, and the other end credit for it.
    fn deliver_all(&self) {
        loop {
            let mut flow = lock(&self.flow);
            let (kind, data) = loop {
                if let Some(next) = flow.arrived.pop_front() {
                    break next;
                }
                if flow.broken {
                    return;
                }
                flow = self.changed.wait(flow).unwrap_or_else(PoisonError::into_inner);
            };
            drop(flow);
            if kind == Kind::End {
                let _ = self.local.shutdown(Shutdown::Write);
            } else if (&self.local).write_all(&data).is_err() {
                // The program reads no more; what comes is dropped, as TCP does after a reset.
            }
            let mut flow = lock(&self.flow);
            flow.consumed = flow.consumed.wrapping_add(1);
            let due = flow.consumed.wrapping_sub(flow.known) >= CREDIT;
            drop(flow);
            if due && self.send(Kind::Credit, 0, &[]).is_err() {
                return self.stop();
            }
            if kind == Kind::End {
                return;
            }
        }
    }

    /// The connection is over: the program sees its end.
    fn stop(&self) {
        lock(&self.flow).broken = true;
        self.changed.notify_all();
        let _ = self.local.shutdown(Shutdown::Both);
    }
}
