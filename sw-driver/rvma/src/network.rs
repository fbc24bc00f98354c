//! Calls of `rvma.h` on networks and NICs.

use crate::failure::{argument, guard, small, status};
use crate::handles::{self, NetworkHandle, NicHandle};
use anyhow::Result;
use std::ffi::{c_int, c_void};
use std::ops::Range;

/// `RVMA_FOREVER`.
const FOREVER: u64 = u64::MAX;

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Open(network: *mut NetworkHandle, node: c_int, process: c_int) -> *mut NicHandle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            let session = handles::network(network)?;
            let nic = session.open(small(node, "the node")? as usize, small(process, "the process")? as usize)?;
            Ok(handles::add_nic(network, nic))
        },
    )
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Shutdown(network: *mut NetworkHandle) -> c_int {
    status(|| if network.is_null() { Ok(()) } else { handles::remove_network(network) })
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Set_put_limit(nic: *mut NicHandle, cycles: u64) -> c_int {
    status(|| handles::nic(nic)?.nic.set_put_limit((cycles != FOREVER).then_some(cycles)))
}

/// See `rvma.h`.
///
/// # Safety
/// The memory can be read and written until it is deregistered or the network is shut down.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Register(nic: *mut NicHandle, memory: *mut c_void, size: i64) -> c_int {
    status(|| handles::nic(nic)?.nic.register(range(memory, size, "register")?))
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Deregister(nic: *mut NicHandle, memory: *mut c_void, size: i64) -> c_int {
    status(|| handles::nic(nic)?.nic.deregister(&range(memory, size, "deregister")?))
}

fn range(memory: *mut c_void, size: i64, call: &str) -> Result<Range<u64>> {
    let start = memory as u64;
    let end = u64::try_from(size).ok().filter(|size| *size > 0 && start != 0).and_then(|size| start.checked_add(size));
    let end =
        end.ok_or_else(|| argument(format!("there are no bytes to {call}; give memory and a size of at least 1")))?;
    Ok(start..end)
}
