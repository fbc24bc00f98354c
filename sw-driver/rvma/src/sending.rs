//! Calls of `rvma.h` that put and get.

use crate::ends::Op;
use crate::failure::{argument, given, small, status};
use crate::handles::{self, NicHandle};
use crate::process::Nic;
use crate::receiving::no_kind;
use anyhow::Result;
use spindle::put::{Kind, Reply, Target};
use std::ffi::{c_int, c_void};

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

/// A window of another node.
fn target(nic: &Nic, to: &Addr, address: u64, key: u32, offset: u64, kind: Kind) -> Result<Target> {
    nic.check(to.nid.into(), to.pid.into())?;
    // A node table has fewer entries than 257.
    let node = to.nid as u8;
    Ok(Target { node, process: to.pid, address, key, offset: small(offset, "the offset")?, kind })
}

/// Stores the number of what was posted for the caller.
///
/// # Safety
/// `op` is null or to be written.
unsafe fn done(op: *mut u32, posted: Op) -> Result<()> {
    if !op.is_null() {
        // SAFETY: as the caller of this function promises.
        unsafe { op.write(posted.0) };
    }
    Ok(())
}

/// See `rvma.h`.
///
/// # Safety
/// `dest_addr` is null or points to an address, `op` is null or to be written.
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
        let nic = handles::nic(nic)?;
        // SAFETY: as the caller promises.
        let to = unsafe { given(dest_addr.cast_mut(), "the destination") }?;
        let kind = match kind {
            0 => Kind::Bound,
            // The wire carries the low half.
            1 => Kind::Tagged(epoch as u16),
            2 => Kind::Managed,
            3 => Kind::Ordered(epoch as u16),
            other => return Err(no_kind(other)),
        };
        let target = target(&nic.nic, to, virtual_addr, key, offset, kind)?;
        let put = nic.nic.put(send_buffer as u64, small(size, "the size of the put")?, &target)?;
        // SAFETY: `op` is as the caller promises.
        unsafe { done(op, put) }
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `stream` is null or the caller's, `op` is null or to be written.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Put_next(
    nic: *mut NicHandle,
    send_buffer: *const c_void,
    size: i64,
    stream: *mut Stream,
    op: *mut u32,
) -> c_int {
    status(|| {
        let nic = handles::nic(nic)?;
        // SAFETY: as the caller promises.
        let stream = unsafe { given(stream, "the stream") }?;
        let target =
            target(&nic.nic, &stream.dest_addr, stream.virtual_addr, stream.key, 0, Kind::Ordered(stream.next))?;
        let put = nic.nic.put(send_buffer as u64, small(size, "the size of the put")?, &target)?;
        stream.next = stream.next.wrapping_add(1);
        // SAFETY: `op` is as the caller promises.
        unsafe { done(op, put) }
    })
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
        nic: *mut NicHandle,
        from: Option<&Addr>,
        get: impl FnOnce(&Nic, u32, &Target, &Reply) -> Result<Op>,
    ) -> Result<Op> {
        let nic = handles::nic(nic)?;
        let from = from.ok_or_else(|| argument("the source is NULL"))?;
        let source = target(&nic.nic, from, self.virtual_addr, self.key, self.offset, Kind::Bound)?;
        let offset = small(self.reply_offset, "the offset of the answer")?;
        let reply = Reply { address: self.reply_addr, key: self.reply_key, offset };
        get(&nic.nic, small(self.size, "the size of the get")?, &source, &reply)
    }
}

/// See `rvma.h`.
///
/// # Safety
/// `src_addr` is null or points to an address, `op` is null or to be written.
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
    let wanted = Wanted { size, virtual_addr, key, offset, reply_addr, reply_key, reply_offset };
    // SAFETY: `src_addr` and `op` are as the caller promises.
    status(|| unsafe { done(op, wanted.ask(nic, src_addr.as_ref(), Nic::get)?) })
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
    let wanted = Wanted { size, virtual_addr, key, offset, reply_addr, reply_key, reply_offset };
    // SAFETY: `src_addr` and `op` are as the caller promises.
    status(|| unsafe { done(op, wanted.ask(nic, src_addr.as_ref(), Nic::get_active)?) })
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Wait_put(nic: *mut NicHandle, op: u32, limit: u64) -> c_int {
    status(|| handles::nic(nic)?.nic.wait_put(Op(op), limit))
}
