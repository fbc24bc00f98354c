//! The calls of `include/rvma.h`: RVMA for C programs, on simulated NICs.
//!
//! Every call catches what goes wrong and keeps a sentence for `RVMA_Error`. [`Session`] has the same for Rust, without pointers.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the names of the RVMA paper")]

mod ends;
mod memory;
mod session;

pub use ends::PutFailed;
pub use session::{Nic, OpenWindow, Session};

use anyhow::{anyhow, Context, Result};
use spindle::put::{Kind, Put, Reply, Target};
use spindle::receive_map::MAP_WORDS;
use spindle::rvma::Posted;
use spindle::window::{Counting, WindowOptions};
use spindle::Error;
use spindle_contract::wire;
use spindle_sim::{Routing, WireOptions};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;

const SUCCESS: c_int = 0;
const ERR_ARGUMENT: c_int = -1;
const ERR_REFUSED: c_int = -2;
const ERR_TIMEOUT: c_int = -3;
const ERR_DEVICE: c_int = -4;
const ERR_PUT: c_int = -5;
const MOST_NODES: c_int = 16;

/// `RVMA_Wire`.
#[repr(C)]
pub struct Wire {
    loss: f64,
    duplication: f64,
    paths: u32,
    latency: u32,
    step: u32,
    seed: u64,
}

/// `RVMA_Addr`.
#[repr(C)]
pub struct Addr {
    nid: u16,
    pid: u16,
}

/// `RVMA_Stream`.
#[repr(C)]
pub struct Stream {
    dest_addr: Addr,
    key: u32,
    virtual_addr: u64,
    next: u16,
}

/// `RVMA_Record`.
#[repr(C, align(16))]
pub struct Record {
    length: u32,
    status: u8,
    reserved: u8,
    epoch: u16,
    buffer: u64,
}

const _: () = assert!(size_of::<Record>() == wire::RECORD_BYTES);
// `RVMA_MAP_WORDS`.
const _: () = assert!(MAP_WORDS == 16);

/// `RVMA_Network`: the session and everything that was opened on it.
pub struct Handle {
    session: Session,
    #[expect(clippy::vec_box, reason = "a handle must not move when another one is opened")]
    nics: Vec<Box<NicHandle>>,
    windows: Windows,
}

/// `RVMA_Nic`.
pub struct NicHandle {
    nic: Nic,
    windows: Windows,
}

/// Windows live as long as their network.
type Windows = Rc<RefCell<Vec<Box<OpenWindow>>>>;

thread_local! {
    static WHY: RefCell<CString> = RefCell::default();
}

/// Runs a call; of one that fails keeps the sentence and gives what `failed` makes of its code.
fn guard<T>(failed: impl FnOnce(c_int) -> T, call: impl FnOnce() -> Result<T>) -> T {
    let error = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return value,
        Ok(Err(error)) => error,
        Err(_) => anyhow!("the simulation gave up; what it said is on standard error"),
    };
    let code = match error.downcast_ref::<Error>() {
        Some(Error::Argument(_)) => ERR_ARGUMENT,
        Some(Error::Doorbell { .. }) => ERR_REFUSED,
        Some(Error::Timeout { .. }) => ERR_TIMEOUT,
        _ if error.is::<PutFailed>() => ERR_PUT,
        _ => ERR_DEVICE,
    };
    let sentence = format!("{error:#}").replace('\0', " ");
    WHY.with(|why| *why.borrow_mut() = CString::new(sentence).unwrap_or_default());
    failed(code)
}

fn status(call: impl FnOnce() -> Result<()>) -> c_int {
    guard(|code| code, || call().map(|()| SUCCESS))
}

fn argument(sentence: impl Into<String>) -> anyhow::Error {
    Error::Argument(sentence.into()).into()
}

/// What a pointer of the caller points to.
///
/// # Safety
/// It is null, or points to a living `T` that nobody else uses.
unsafe fn given<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T> {
    // SAFETY: as the caller of this function promises.
    unsafe { pointer.as_mut() }.ok_or_else(|| argument(format!("{what} is NULL")))
}

/// A number of the caller that fits 32 bits.
fn small(number: impl TryInto<u32> + Copy + std::fmt::Display, what: &str) -> Result<u32> {
    number.try_into().map_err(|_| argument(format!("{what} is {number}; it must fit 32 bits without a sign")))
}

/// See `rvma.h`.
///
/// # Safety
/// `wire` is null or points to an `RVMA_Wire`.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Simulate(nodes: c_int, wire: *const Wire) -> *mut Handle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            if !(1..=MOST_NODES).contains(&nodes) {
                return Err(argument(format!("{nodes} nodes cannot be simulated; choose 1 to {MOST_NODES}")));
            }
            // SAFETY: as the caller promises.
            let options = unsafe { wire.as_ref() }.map_or_else(|| Ok(WireOptions::default()), wire_options)?;
            let session = Session::simulate(nodes as usize, options)?;
            Ok(Box::into_raw(Box::new(Handle { session, nics: Vec::new(), windows: Windows::default() })))
        },
    )
}

fn wire_options(wire: &Wire) -> Result<WireOptions> {
    let share = |value: f64| (0.0..=1.0).contains(&value);
    if !share(wire.loss) || !share(wire.duplication) {
        return Err(argument("a share of the frames is between 0 and 1"));
    }
    let routing = if wire.paths > 1 { Routing::Adaptive } else { Routing::Ordered };
    let (latency, step, paths) = (wire.latency.into(), wire.step.into(), wire.paths.max(1).into());
    Ok(WireOptions { loss: wire.loss, duplication: wire.duplication, routing, paths, latency, step, seed: wire.seed })
}

/// See `rvma.h`.
///
/// # Safety
/// `network` came from [`RVMA_Simulate`] and was not shut down.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Open(network: *mut Handle, node: c_int, process: c_int) -> *mut NicHandle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            // SAFETY: as the caller promises.
            let network = unsafe { given(network, "the network") }?;
            let nic =
                network.session.open(small(node, "the node")? as usize, small(process, "the process")? as usize)?;
            network.nics.push(Box::new(NicHandle { nic, windows: network.windows.clone() }));
            let nic = network.nics.last_mut().context("it was just pushed")?;
            Ok(&mut **nic as *mut NicHandle)
        },
    )
}

/// See `rvma.h`.
///
/// # Safety
/// `network` came from [`RVMA_Simulate`] and was not shut down.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Run(network: *mut Handle, cycles: u64) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        unsafe { given(network, "the network") }?.session.run(cycles);
        Ok(())
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `network` is null, or came from [`RVMA_Simulate`] and was not shut down. Nothing of it is used afterwards.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Shutdown(network: *mut Handle) {
    if !network.is_null() {
        guard(
            |_| (),
            || {
                // SAFETY: it was made by `Box::into_raw`, and the caller gives it back.
                drop(unsafe { Box::from_raw(network) });
                Ok(())
            },
        );
    }
}

/// See `rvma.h`.
///
/// # Safety
/// `nic` came from [`RVMA_Open`]; the memory can be read and written until the network is shut down.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Register(nic: *mut NicHandle, memory: *mut c_void, size: i64) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let nic = unsafe { given(nic, "the NIC") }?;
        let size = u64::try_from(size).ok().filter(|size| *size > 0 && !memory.is_null());
        let size = size.ok_or_else(|| argument("there are no bytes to register"))?;
        Ok(nic.nic.register(memory as u64..memory as u64 + size)?)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `nic` came from [`RVMA_Open`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Init_window(
    nic: *mut NicHandle,
    virtual_addr: u64,
    key: u32,
    epoch_threshold: i64,
    epoch_type: c_int,
) -> *mut OpenWindow {
    // SAFETY: as the caller promises.
    unsafe { RVMA_Init_window_as(nic, virtual_addr, key, epoch_threshold, epoch_type, 0) }
}

/// See `rvma.h`.
///
/// # Safety
/// `nic` came from [`RVMA_Open`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Init_window_as(
    nic: *mut NicHandle,
    virtual_addr: u64,
    key: u32,
    epoch_threshold: i64,
    epoch_type: c_int,
    kind: c_int,
) -> *mut OpenWindow {
    guard(
        |_| std::ptr::null_mut(),
        || {
            // SAFETY: as the caller promises.
            let nic = unsafe { given(nic, "the NIC") }?;
            let counting = match epoch_type {
                0 => Counting::Bytes,
                1 => Counting::Operations,
                other => return Err(argument(format!("there is no epoch type {other}"))),
            };
            let threshold = small(epoch_threshold, "the threshold")?;
            let (tagged, managed) = match kind {
                0 => (false, false),
                1 => (true, false),
                2 => (false, true),
                3 => (true, true),
                other => return Err(argument(format!("there is no kind of window {other}"))),
            };
            let options = WindowOptions {
                address: virtual_addr,
                key,
                threshold,
                counting,
                tagged,
                managed,
                ..Default::default()
            };
            let mut windows = nic.windows.borrow_mut();
            windows.push(Box::new(nic.nic.open_window(&options)?));
            let window = windows.last_mut().context("it was just pushed")?;
            Ok(&mut **window as *mut OpenWindow)
        },
    )
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`]; buffer and record were registered.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Post_buffer(
    buffer: *mut c_void,
    size: i64,
    notification: *mut Record,
    win: *mut OpenWindow,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let win = unsafe { given(win, "the window") }?;
        let size = small(size, "the size of the buffer")?;
        Ok(win.post(Posted { buffer: buffer as u64, size, record: notification as u64 })?)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`]; buffer and record were registered; `map` is to be written.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Post_mapped(
    buffer: *mut c_void,
    size: i64,
    notification: *mut Record,
    win: *mut OpenWindow,
    granule: u32,
    map: *mut u32,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (win, map) = unsafe { (given(win, "the window")?, given(map, "the map")?) };
        let size = small(size, "the size of the buffer")?;
        let posted = Posted { buffer: buffer as u64, size, record: notification as u64 };
        *map = win.post_mapped(posted, granule)?;
        Ok(())
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`]; `bits` has room for a map.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Read_map(win: *mut OpenWindow, map: u32, bits: *mut [u64; MAP_WORDS]) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (win, bits) = unsafe { (given(win, "the window")?, given(bits, "the room for the map")?) };
        *bits = win.call(|device, window| device.read_map(&win.map(window, map)))?.words;
        Ok(())
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Free_map(win: *mut OpenWindow, map: u32) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let win = unsafe { given(win, "the window") }?;
        Ok(win.call(|device, window| device.free_map(win.map(window, map)))?)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Close_win(win: *mut OpenWindow) -> c_int {
    // SAFETY: as the caller promises.
    status(|| Ok(unsafe { given(win, "the window") }?.call(|device, window| device.close_window(window))?))
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Win_inc_epoch(win: *mut OpenWindow) -> c_int {
    // SAFETY: as the caller promises.
    status(|| Ok(unsafe { given(win, "the window") }?.call(|device, window| device.inc_epoch(window))?))
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Win_get_epoch(win: *mut OpenWindow) -> i64 {
    guard(i64::from, || {
        // SAFETY: as the caller promises.
        let epoch = unsafe { given(win, "the window") }?.call(|device, window| device.epoch(window))?;
        Ok(epoch as i64)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`]; `pointers` has room for `count`.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Win_get_buf_ptrs(
    win: *mut OpenWindow,
    pointers: *mut *mut c_void,
    count: c_int,
) -> c_int {
    guard(
        |code| code,
        || {
            // SAFETY: as the caller promises.
            let win = unsafe { given(win, "the window") }?;
            for back in 0..count {
                let Some(buffer) = win.call(|device, window| device.completed_buffer(window, back as u32))? else {
                    return Ok(back);
                };
                // SAFETY: the caller has room for `count`.
                unsafe { pointers.add(back as usize).write(buffer as *mut c_void) };
            }
            Ok(count.max(0))
        },
    )
}

/// See `rvma.h`.
///
/// # Safety
/// `win` came from [`RVMA_Init_window`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Win_rewind(win: *mut OpenWindow, back: c_int) -> *mut c_void {
    guard(
        |_| std::ptr::null_mut(),
        || {
            let back = small(back, "the way back")?;
            // SAFETY: as the caller promises.
            let buffer = unsafe { given(win, "the window") }?.call(|device, window| device.rewind(window, back))?;
            buffer.map(|buffer| buffer as *mut c_void).ok_or_else(|| argument("the NIC does not remember that buffer"))
        },
    )
}

/// See `rvma.h`.
///
/// # Safety
/// `nic` came from [`RVMA_Open`]; `notification` points to a record.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Wait(nic: *mut NicHandle, notification: *const Record, limit: u64) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let nic = unsafe { given(nic, "the NIC") }?;
        if notification.is_null() {
            return Err(argument("the record is NULL"));
        }
        // SAFETY: it points to a record, of which the NIC writes bytes meanwhile.
        let there = || unsafe { (&raw const (*notification).status).read_volatile() } != 0;
        Ok(nic.nic.wait("a completion record", limit, there)?)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `nic` came from [`RVMA_Open`]; the memory of the put was registered; `dest_addr` points to an address, `op` is null or to be written.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Put(
    nic: *mut NicHandle,
    send_buffer: *const c_void,
    size: i64,
    dest_addr: *const Addr,
    virtual_addr: u64,
    key: u32,
    offset: u64,
    op: *mut u32,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { RVMA_Put_to(nic, send_buffer, size, dest_addr, virtual_addr, key, offset, 0, 0, op) }
}

/// A window of another node.
fn target(to: &Addr, address: u64, key: u32, offset: u64, kind: Kind) -> Result<Target> {
    let node = u8::try_from(to.nid).map_err(|_| argument(format!("there is no node {}", to.nid)))?;
    Ok(Target { node, process: to.pid, address, key, offset: small(offset, "the offset")?, kind })
}

/// See `rvma.h`.
///
/// # Safety
/// `nic` came from [`RVMA_Open`]; `src_addr` points to an address, `op` is null or to be written.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Get(
    nic: *mut NicHandle,
    size: i64,
    src_addr: *const Addr,
    virtual_addr: u64,
    key: u32,
    offset: u64,
    reply_addr: u64,
    reply_key: u32,
    reply_offset: u64,
    op: *mut u32,
) -> c_int {
    // SAFETY: as the caller promises.
    let (nic, from) = unsafe { (nic.as_mut(), src_addr.as_ref()) };
    let wanted = Wanted { size, virtual_addr, key, offset, reply_addr, reply_key, reply_offset };
    // SAFETY: `op` is as the caller promises.
    status(|| unsafe { done(op, wanted.ask(nic, from, Nic::get)?) })
}

/// See `rvma.h`.
///
/// # Safety
/// As of [`RVMA_Get`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Get_active(
    nic: *mut NicHandle,
    size: i64,
    src_addr: *const Addr,
    virtual_addr: u64,
    key: u32,
    offset: u64,
    reply_addr: u64,
    reply_key: u32,
    reply_offset: u64,
    op: *mut u32,
) -> c_int {
    // SAFETY: as the caller promises.
    let (nic, from) = unsafe { (nic.as_mut(), src_addr.as_ref()) };
    let wanted = Wanted { size, virtual_addr, key, offset, reply_addr, reply_key, reply_offset };
    // SAFETY: `op` is as the caller promises.
    status(|| unsafe { done(op, wanted.ask(nic, from, Nic::get_active)?) })
}

/// What a get names.
struct Wanted {
    size: i64,
    virtual_addr: u64,
    key: u32,
    offset: u64,
    reply_addr: u64,
    reply_key: u32,
    reply_offset: u64,
}

impl Wanted {
    fn ask(
        &self,
        nic: Option<&mut NicHandle>,
        from: Option<&Addr>,
        get: impl FnOnce(&Nic, u32, &Target, &Reply) -> spindle::Result<Put>,
    ) -> Result<Put> {
        let nic = nic.ok_or_else(|| argument("the NIC is NULL"))?;
        let from = from.ok_or_else(|| argument("the source is NULL"))?;
        let source = target(from, self.virtual_addr, self.key, self.offset, Kind::Bound)?;
        let offset = small(self.reply_offset, "the offset of the answer")?;
        let reply = Reply { address: self.reply_addr, key: self.reply_key, offset };
        Ok(get(&nic.nic, small(self.size, "the size of the get")?, &source, &reply)?)
    }
}

/// Tells the caller the number of what was posted.
///
/// # Safety
/// `op` is null or to be written.
unsafe fn done(op: *mut u32, put: Put) -> Result<()> {
    if !op.is_null() {
        // SAFETY: as the caller of this function promises.
        unsafe { op.write(put.number.into()) };
    }
    Ok(())
}

/// See `rvma.h`.
///
/// # Safety
/// As of [`RVMA_Put`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Put_to(
    nic: *mut NicHandle,
    send_buffer: *const c_void,
    size: i64,
    dest_addr: *const Addr,
    virtual_addr: u64,
    key: u32,
    offset: u64,
    kind: c_int,
    epoch: u64,
    op: *mut u32,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (nic, to) = unsafe { (given(nic, "the NIC")?, given(dest_addr.cast_mut(), "the destination")?) };
        let kind = match kind {
            0 => Kind::Bound,
            // The wire carries the low half.
            1 => Kind::Tagged(epoch as u16),
            2 => Kind::Managed,
            3 => Kind::Ordered(epoch as u16),
            other => return Err(argument(format!("there is no kind of window {other}"))),
        };
        let target = target(to, virtual_addr, key, offset, kind)?;
        let put = nic.nic.put(send_buffer as u64, small(size, "the size of the put")?, &target)?;
        // SAFETY: `op` is as the caller promises.
        unsafe { done(op, put) }
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `nic` came from [`RVMA_Open`]; the memory of the put was registered; `stream` is the caller's, `op` is null or to be written.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Put_next(
    nic: *mut NicHandle,
    send_buffer: *const c_void,
    size: i64,
    stream: *mut Stream,
    op: *mut u32,
) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let (nic, stream) = unsafe { (given(nic, "the NIC")?, given(stream, "the stream")?) };
        let target = target(&stream.dest_addr, stream.virtual_addr, stream.key, 0, Kind::Ordered(stream.next))?;
        let put = nic.nic.put(send_buffer as u64, small(size, "the size of the put")?, &target)?;
        stream.next = stream.next.wrapping_add(1);
        // SAFETY: `op` is as the caller promises.
        unsafe { done(op, put) }
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `nic` came from [`RVMA_Open`].
#[no_mangle]
pub unsafe extern "C" fn RVMA_Wait_put(nic: *mut NicHandle, op: u32, limit: u64) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        unsafe { given(nic, "the NIC") }?.nic.wait_put(&Put { number: op as u16 }, limit)
    })
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Error() -> *const c_char {
    WHY.with(|why| why.borrow().as_ptr())
}
