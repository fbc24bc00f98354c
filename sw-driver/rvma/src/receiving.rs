//! Calls of `rvma.h` on windows and their buffers.

use crate::failure::{argument, given, guard, small, status};
use crate::handles::{self, NicHandle, WindowHandle};
use anyhow::Result;
use spindle::receive_map::MAP_WORDS;
use spindle::rvma::{Completed, Posted};
use spindle::window::{Counting, WindowOptions};
use spindle_contract::wire;
use std::ffi::{c_int, c_uint, c_void};

/// `RVMA_Record`.
#[repr(C, align(16))]
pub struct Record {
    length: u32,
    status: u8,
    reserved: u8,
    epoch: u16,
    buffer: u64,
}

impl Record {
    /// What the NIC wrote.
    pub fn of(completed: &Completed) -> Record {
        let Completed { length, status, epoch, buffer } = *completed;
        Record { length, status, reserved: 0, epoch, buffer }
    }
}

const _: () = assert!(size_of::<Record>() == wire::RECORD_BYTES);
// `RVMA_MAP_WORDS`.
const _: () = assert!(MAP_WORDS == 16);

/// `RVMA_SILENT`, `RVMA_SPILL`, `RVMA_CATCH_ALL`, `RVMA_EVENT`.
const SILENT: c_uint = 1;
const SPILL: c_uint = 2;
const CATCH_ALL: c_uint = 4;
const EVENT: c_uint = 8;

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Init_window(
    nic: *mut NicHandle,
    virtual_addr: u64,
    key: u32,
    epoch_threshold: i64,
    epoch_type: c_int,
) -> *mut WindowHandle {
    RVMA_Init_window_with(nic, virtual_addr, key, epoch_threshold, epoch_type, 0, 0)
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Init_window_as(
    nic: *mut NicHandle,
    virtual_addr: u64,
    key: u32,
    epoch_threshold: i64,
    epoch_type: c_int,
    kind: c_int,
) -> *mut WindowHandle {
    RVMA_Init_window_with(nic, virtual_addr, key, epoch_threshold, epoch_type, kind, 0)
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Init_window_with(
    nic: *mut NicHandle,
    virtual_addr: u64,
    key: u32,
    epoch_threshold: i64,
    epoch_type: c_int,
    kind: c_int,
    flags: c_uint,
) -> *mut WindowHandle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            let nic = handles::nic(nic)?;
            let options = window_options(virtual_addr, key, epoch_threshold, epoch_type, kind, flags)?;
            let window = nic.nic.open_window(&options)?;
            Ok(handles::add_window(&nic, window))
        },
    )
}

/// The options of a window that a program names.
///
/// # Errors
/// A kind, type or flag that does not exist, or a threshold beyond 32 bits.
pub fn window_options(
    virtual_addr: u64,
    key: u32,
    epoch_threshold: i64,
    epoch_type: c_int,
    kind: c_int,
    flags: c_uint,
) -> Result<WindowOptions> {
    let counting = match epoch_type {
        0 => Counting::Bytes,
        1 => Counting::Operations,
        other => return Err(argument(format!("there is no epoch type {other}; use RVMA_Epoch_type"))),
    };
    let (tagged, managed) = match kind {
        0 => (false, false),
        1 => (true, false),
        2 => (false, true),
        3 => (true, true),
        other => return Err(no_kind(other)),
    };
    if flags & !(SILENT | SPILL | CATCH_ALL | EVENT) != 0 {
        return Err(argument(format!("there are no window flags {flags:#x}; use RVMA_Window_flags")));
    }
    Ok(WindowOptions {
        address: virtual_addr,
        key,
        threshold: small(epoch_threshold, "the threshold")?,
        counting,
        tagged,
        managed,
        silent: flags & SILENT != 0,
        spills: flags & SPILL != 0,
        catch_all: flags & CATCH_ALL != 0,
        event: flags & EVENT != 0,
        ..Default::default()
    })
}

/// The error of a kind of window that does not exist.
pub fn no_kind(kind: c_int) -> anyhow::Error {
    argument(format!("there is no kind of window {kind}; use RVMA_Kind"))
}

fn posted(buffer: *mut c_void, size: i64, notification: *mut Record) -> Result<Posted> {
    let size = small(size, "the size of the buffer")?;
    Ok(Posted { buffer: buffer as u64, size, record: notification as u64 })
}

/// See `rvma.h`.
///
/// # Safety
/// Buffer and record are registered memory of this process.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Post_buffer(
    buffer: *mut c_void,
    size: i64,
    notification: *mut Record,
    win: *mut WindowHandle,
) -> c_int {
    status(|| handles::window(win)?.post(posted(buffer, size, notification)?))
}

/// See `rvma.h`.
///
/// # Safety
/// Buffer and record are registered memory of this process; `map` is to be written.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Post_mapped(
    buffer: *mut c_void,
    size: i64,
    notification: *mut Record,
    win: *mut WindowHandle,
    granule: u32,
    map: *mut u32,
) -> c_int {
    status(|| {
        let win = handles::window(win)?;
        // SAFETY: as the caller promises.
        let map = unsafe { given(map, "the map") }?;
        *map = win.post_mapped(posted(buffer, size, notification)?, granule)?;
        Ok(())
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `bits` has room for a map.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Read_map(win: *mut WindowHandle, map: u32, bits: *mut [u64; MAP_WORDS]) -> c_int {
    status(|| {
        let win = handles::window(win)?;
        // SAFETY: as the caller promises.
        let bits = unsafe { given(bits, "the room for the map") }?;
        *bits = win.on_nic(|device| device.read_map(&win.map(map)))?.words;
        Ok(())
    })
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Free_map(win: *mut WindowHandle, map: u32) -> c_int {
    status(|| {
        let win = handles::window(win)?;
        win.on_nic(|device| device.free_map(win.map(map)))
    })
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Close_win(win: *mut WindowHandle) -> c_int {
    status(|| handles::window(win)?.close())
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Win_inc_epoch(win: *mut WindowHandle) -> c_int {
    status(|| handles::window(win)?.call(|device, window| device.inc_epoch(window)))
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Win_get_epoch(win: *mut WindowHandle) -> i64 {
    guard(i64::from, || Ok(handles::window(win)?.call(|device, window| device.epoch(window))? as i64))
}

/// See `rvma.h`.
///
/// # Safety
/// `pointers` has room for `count`.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Win_get_buf_ptrs(
    win: *mut WindowHandle,
    pointers: *mut *mut c_void,
    count: c_int,
) -> c_int {
    guard(
        |code| code,
        || {
            let win = handles::window(win)?;
            if pointers.is_null() && count > 0 {
                return Err(argument("the room for the pointers is NULL"));
            }
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
#[no_mangle]
pub extern "C" fn RVMA_Win_rewind(win: *mut WindowHandle, back: c_int) -> *mut c_void {
    guard(
        |_| std::ptr::null_mut(),
        || {
            let back = small(back, "the number of buffers to go back")?;
            let buffer = handles::window(win)?.call(|device, window| device.rewind(window, back))?;
            buffer.map(|buffer| buffer as *mut c_void).ok_or_else(|| argument("the NIC does not remember that buffer"))
        },
    )
}

/// See `rvma.h`.
///
/// # Safety
/// `notification` is null or points to a record.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Wait(nic: *mut NicHandle, notification: *const Record, limit: u64) -> c_int {
    status(|| {
        let nic = handles::nic(nic)?;
        if notification.is_null() {
            return Err(argument("the record is NULL"));
        }
        // SAFETY: it points to a record.
        let byte = unsafe { &raw const (*notification).status };
        // SAFETY: the caller's record stays.
        unsafe { nic.nic.wait_byte("a completion record", byte, limit) }
    })
}
