//! Calls of `rvma.h` on networks and NICs.

use crate::cards::{self, Options};
use crate::clock::FOREVER;
use crate::failure::{argument, given, guard, small, status};
use crate::handles::{self, NetworkHandle, NicHandle};
use crate::process::Nic;
use anyhow::Result;
use spindle::congestion::Congestion;
use spindle::reliable::MOST_PUT_TURNS;
use spindle::{Icrc, Node};
use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::ops::Range;

/// `RVMA_Node`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeAddress {
    mac: [u8; 6],
    ip: [u8; 4],
    port: u16,
}

/// `RVMA_Congestion`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CongestionControl {
    shrink: u8,
    least: u16,
    first: u16,
    most: u16,
}

/// `RVMA_Options`.
#[repr(C)]
pub struct OpenOptions {
    node: u32,
    nodes: u32,
    table: *const NodeAddress,
    round_trip: u64,
}

/// Nodes of an address table.
const MOST_NODES: u32 = 256;

impl From<NodeAddress> for Node {
    fn from(NodeAddress { mac, ip, port }: NodeAddress) -> Node {
        Node { mac, ip, port }
    }
}

/// See `rvma.h`.
///
/// # Safety
/// `address` is null or a string, `options` is null or points to options, whose table has its nodes.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Open(
    address: *const c_char,
    process: c_int,
    options: *const OpenOptions,
) -> *mut NicHandle {
    guard(
        |_| std::ptr::null_mut(),
        || {
            if address.is_null() {
                return Err(argument("the address of the card is NULL"));
            }
            // SAFETY: as the caller promises.
            let address = unsafe { CStr::from_ptr(address) };
            let address = address.to_str().map_err(|_| argument("the address of the card is no UTF-8"))?;
            // SAFETY: as the caller promises.
            let options = unsafe { options.as_ref() }.map_or_else(|| Ok(Options::default()), open_options)?;
            let process = small(process, "the process")? as usize;
            let nic = Nic::open(&cards::open(address, &options)?, process)?;
            Ok(handles::add_nic(std::ptr::null_mut(), nic))
        },
    )
}

fn open_options(options: &OpenOptions) -> Result<Options> {
    let OpenOptions { node, nodes, table, round_trip } = *options;
    if nodes > MOST_NODES {
        return Err(argument(format!("{nodes} nodes are too many; a node knows {MOST_NODES}")));
    }
    let nodes = if table.is_null() {
        (0..nodes).map(|number| Node::numbered(number as u8)).collect()
    } else {
        // SAFETY: the caller's table has so many nodes.
        unsafe { std::slice::from_raw_parts(table, nodes as usize) }.iter().map(|node| Node::from(*node)).collect()
    };
    Ok(Options { number: node, nodes, round_trip })
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Open_node(network: *mut NetworkHandle, node: c_int, process: c_int) -> *mut NicHandle {
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
pub extern "C" fn RVMA_Close(nic: *mut NicHandle) -> c_int {
    status(|| if nic.is_null() { Ok(()) } else { handles::remove_nic(nic) })
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Shutdown(network: *mut NetworkHandle) -> c_int {
    status(|| if network.is_null() { Ok(()) } else { handles::remove_network(network) })
}

/// See `rvma.h`.
///
/// # Safety
/// `address` is null or points to an address.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Set_node(nic: *mut NicHandle, nid: u16, address: *const NodeAddress) -> c_int {
    status(|| {
        let nic = handles::nic(nic)?;
        // SAFETY: as the caller promises.
        let address = unsafe { address.as_ref() }.map(|address| Node::from(*address));
        nic.nic.node().set_peer(nid.into(), address)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `address` points to an address.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Set_checked_node(
    nic: *mut NicHandle,
    nid: u16,
    address: *const NodeAddress,
    icrc: c_uint,
) -> c_int {
    /// `RVMA_ICRC_SEND` and `RVMA_ICRC_REQUIRE`.
    const SEND: c_uint = 1;
    const REQUIRE: c_uint = 2;
    status(|| {
        let nic = handles::nic(nic)?;
        // SAFETY: as the caller promises.
        let Some(address) = (unsafe { address.as_ref() }) else {
            return Err(argument("the address of the node is NULL; RVMA_Set_node takes a node out"));
        };
        if icrc & !(SEND | REQUIRE) != 0 {
            return Err(argument(format!("{icrc} is no use of the ICRC; add RVMA_ICRC_SEND and RVMA_ICRC_REQUIRE")));
        }
        let icrc = Icrc { sends: icrc & SEND != 0, requires: icrc & REQUIRE != 0 };
        nic.nic.node().set_checked_peer(nid.into(), Node::from(*address), icrc)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `address` is to be written.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Node_address(nid: u16, address: *mut NodeAddress) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let address = unsafe { given(address, "the room for the address") }?;
        let number = u8::try_from(nid).map_err(|_| argument(format!("there is no node {nid}; choose 0 to 255")))?;
        let Node { mac, ip, port } = Node::numbered(number);
        *address = NodeAddress { mac, ip, port };
        Ok(())
    })
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Set_put_limit(nic: *mut NicHandle, limit: u64) -> c_int {
    status(|| handles::nic(nic)?.nic.set_put_limit((limit != FOREVER).then_some(limit)))
}

/// See `rvma.h`.
#[no_mangle]
pub extern "C" fn RVMA_Set_put_turns(nic: *mut NicHandle, puts: c_uint) -> c_int {
    status(|| {
        let puts =
            u8::try_from(puts).map_err(|_| argument(format!("turns of {puts} puts; choose 1 to {MOST_PUT_TURNS}")))?;
        handles::nic(nic)?.nic.set_put_turns(puts)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// `control` is null or points to a choice.
#[no_mangle]
pub unsafe extern "C" fn RVMA_Set_congestion_control(nic: *mut NicHandle, control: *const CongestionControl) -> c_int {
    status(|| {
        let nic = handles::nic(nic)?;
        // SAFETY: as the caller promises.
        let congestion = unsafe { control.as_ref() }.map(|control| {
            let CongestionControl { shrink, least, first, most } = *control;
            Congestion { shrink, least, first, most }
        });
        nic.nic.set_congestion_control(congestion)
    })
}

/// See `rvma.h`.
///
/// # Safety
/// The memory can be read and written until it is deregistered, or the NIC is closed.
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
