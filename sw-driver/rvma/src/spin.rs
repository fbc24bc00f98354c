//! The calls of `include/spin.h`.

use crate::contexts::{Context, Event};
use crate::failure::{argument, bytes_of_memory, given, guard, status};
use crate::handles::{self, ContextHandle, NicHandle, WindowHandle};
use crate::receiving::window_options;
use anyhow::{Context as _, Result};
use spindle::counters::ContextCounters;
use spindle::rule_table::Action;
use spindle::window::WindowOptions;
use spindle::ContextOptions;
use spindle_contract::reasons::{CONTEXT_DROP_COUNT, DROP_REASONS};
use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::path::Path;
use std::sync::LazyLock;

/// `SPIN_Options`.
#[repr(C)]
pub struct SpinOptions {
    watchdog: u32,
    state_bytes: u32,
    host_memory: *mut c_void,
    host_bytes: u32,
    weight: u8,
    message_quota: u16,
    packet_quota: u16,
}

impl SpinOptions {
    /// The driver's options; zero is the default of each.
    fn options(&self) -> ContextOptions {
        let default = ContextOptions::default();
        let or = |given: u32, default: u32| if given == 0 { default } else { given };
        ContextOptions {
            watchdog: or(self.watchdog, default.watchdog),
            state_bytes: or(self.state_bytes, default.state_bytes as u32) as usize,
            host_region: (!self.host_memory.is_null()).then_some((self.host_memory as u64, self.host_bytes)),
            weight: or(self.weight.into(), default.weight.into()) as u8,
            message_quota: self.message_quota,
            packet_quota: self.packet_quota,
            ..default
        }
    }
}

/// `SPIN_Counters`.
#[repr(C)]
pub struct SpinCounters {
    cycles: u64,
    instructions: u64,
    tasks: u32,
    faulted: u32,
    drops: [u32; CONTEXT_DROP_COUNT],
}

// SPIN_REASONS of the header.
const _: () = assert!(CONTEXT_DROP_COUNT == 32);

/// A string of the caller.
///
/// # Safety
/// `text` is null or a string that stays as long as the call.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(argument(format!("{what} is NULL")));
    }
    // SAFETY: as the caller of this function promises.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| argument(format!("{what} is no UTF-8")))
}

fn load(nic: *mut NicHandle, image: &[u8], options: Option<&SpinOptions>) -> Result<*mut ContextHandle> {
    let nic = handles::nic(nic)?;
    let options = options.map(SpinOptions::options).unwrap_or_default();
    let context = Context::load(&nic.nic, image, options)?;
    Ok(handles::add_context(&nic, context))
}

/// See `spin.h`.
///
/// # Safety
/// `image` has `size` bytes; `options` is null or points to options.
#[no_mangle]
pub unsafe extern "C" fn SPIN_Load(
    nic: *mut NicHandle,
    image: *const c_void,
    size: usize,
    options: *const SpinOptions,
) -> *mut ContextHandle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            if image.is_null() {
                return Err(argument("the image is NULL"));
            }
            let size = bytes_of_memory(size, "the image")?;
            // SAFETY: as the caller promises.
            let (image, options) = unsafe { (std::slice::from_raw_parts(image.cast(), size), options.as_ref()) };
            load(nic, image, options)
        },
    )
}

/// See `spin.h`.
///
/// # Safety
/// `path` is null or a string; `options` is null or points to options.
#[no_mangle]
pub unsafe extern "C" fn SPIN_Load_file(
    nic: *mut NicHandle,
    path: *const c_char,
    options: *const SpinOptions,
) -> *mut ContextHandle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            // SAFETY: as the caller promises.
            let (path, options) = unsafe { (text(path, "the path of the image")?, options.as_ref()) };
            let image = std::fs::read(Path::new(path)).with_context(|| format!("the image {path} cannot be read"))?;
            load(nic, &image, options)
        },
    )
}

/// See `spin.h`.
#[no_mangle]
pub extern "C" fn SPIN_Unload(context: *mut ContextHandle) -> c_int {
    status(|| {
        handles::context(context)?.unload()?;
        handles::remove_context(context)
    })
}

/// See `spin.h`.
#[no_mangle]
pub extern "C" fn SPIN_Number(context: *mut ContextHandle) -> c_int {
    guard(|code| code, || Ok(handles::context(context)?.number() as c_int))
}

/// See `spin.h`.
///
/// # Safety
/// `rule` is null or a string.
#[no_mangle]
pub unsafe extern "C" fn SPIN_Connect(context: *mut ContextHandle, rule: *const c_char, messages: c_int) -> c_int {
    status(|| {
        let context = handles::context(context)?;
        // SAFETY: as the caller promises.
        let rule = unsafe { text(rule, "the rule") }?;
        let rule = rule.parse().map_err(|error: spindle::rule::SyntaxError| argument(error.to_string()))?;
        let action = match messages {
            0 => Action::Context(context.id()),
            1 => Action::ContextPerMessage(context.id()),
            other => return Err(argument(format!("there are no messages of kind {other}; use SPIN_Messages"))),
        };
        context.connect(rule, action)
    })
}

/// See `spin.h`.
#[no_mangle]
pub extern "C" fn SPIN_Disconnect(context: *mut ContextHandle) -> c_int {
    status(|| handles::context(context)?.disconnect())
}

/// See `spin.h`.
#[no_mangle]
pub extern "C" fn SPIN_Init_window(
    context: *mut ContextHandle,
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
            let (nic, context) = handles::context_and_nic(context)?;
            let options = window_options(virtual_addr, key, epoch_threshold, epoch_type, kind, flags)?;
            let window = nic.nic.open_window(&WindowOptions { context: Some(context.id()), ..options })?;
            Ok(handles::add_window(&nic, window))
        },
    )
}

/// See `spin.h`.
///
/// # Safety
/// `bytes` has room for `size`.
#[no_mangle]
pub unsafe extern "C" fn SPIN_Read_state(
    context: *mut ContextHandle,
    offset: usize,
    bytes: *mut c_void,
    size: usize,
) -> c_int {
    status(|| {
        let context = handles::context(context)?;
        if bytes.is_null() {
            return Err(argument("the room for the state is NULL"));
        }
        let size = bytes_of_memory(size, "the room for the state")?;
        // SAFETY: as the caller promises.
        context.read_state(offset, unsafe { std::slice::from_raw_parts_mut(bytes.cast(), size) })
    })
}

/// See `spin.h`.
///
/// # Safety
/// `bytes` has `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn SPIN_Write_state(
    context: *mut ContextHandle,
    offset: usize,
    bytes: *const c_void,
    size: usize,
) -> c_int {
    status(|| {
        let context = handles::context(context)?;
        if bytes.is_null() {
            return Err(argument("the state to write is NULL"));
        }
        let size = bytes_of_memory(size, "the state to write")?;
        // SAFETY: as the caller promises.
        context.write_state(offset, unsafe { std::slice::from_raw_parts(bytes.cast(), size) })
    })
}

/// See `spin.h`.
///
/// # Safety
/// `counters` is null or to be written.
#[no_mangle]
pub unsafe extern "C" fn SPIN_Read_counters(context: *mut ContextHandle, counters: *mut SpinCounters) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let room = unsafe { given(counters, "the room for the counters") }?;
        let ContextCounters { tasks, faulted, cycles, instructions, drops } = handles::context(context)?.counters()?;
        *room = SpinCounters { cycles, instructions, tasks, faulted, drops };
        Ok(())
    })
}

/// See `spin.h`.
#[no_mangle]
pub extern "C" fn SPIN_Start_task(context: *mut ContextHandle, argument: u64, delay: u32) -> c_int {
    status(|| handles::context(context)?.start_task(argument, delay))
}

/// See `spin.h`.
#[no_mangle]
pub extern "C" fn SPIN_Cancel_task(context: *mut ContextHandle, argument: u64) -> c_int {
    status(|| handles::context(context)?.cancel_task(argument))
}

/// See `spin.h`.
#[no_mangle]
pub extern "C" fn SPIN_Reason(reason: c_uint) -> *const c_char {
    static NAMES: LazyLock<Vec<CString>> = LazyLock::new(|| {
        let name = |(name, _): &(&str, &str)| CString::new(*name).unwrap_or_default();
        // A context counts no others: they are found before a rule.
        DROP_REASONS.iter().take(CONTEXT_DROP_COUNT).map(name).collect()
    });
    NAMES.get(reason as usize).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// See `spin.h`.
///
/// # Safety
/// `event` is null or to be written.
#[no_mangle]
pub unsafe extern "C" fn SPIN_Next_event(nic: *mut NicHandle, event: *mut Event, limit: u64) -> c_int {
    status(|| {
        let nic = handles::nic(nic)?;
        // SAFETY: as the caller promises.
        *unsafe { given(event, "the room for the event") }? = nic.nic.next_event(limit)?;
        Ok(())
    })
}
