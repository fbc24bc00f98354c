//! Handles of networks, NICs and windows: values that a table of the thread knows, never addresses that are followed.
//!
//! Each handle is a number of its own, mixed to a value that no address and no small number is likely to have. The
//! handle of what was shut down is never given out again, so its use is an error, as is the use of a value that was
//! never a handle.

use crate::failure::argument;
use crate::session::{Nic, OpenWindow, Session};
use anyhow::Result;
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `RVMA_Network`; only pointers to it exist, and none is followed.
#[repr(C)]
pub struct NetworkHandle([u8; 0]);

/// `RVMA_Nic`, likewise.
#[repr(C)]
pub struct NicHandle([u8; 0]);

/// `struct RVMA_Window`, likewise.
#[repr(C)]
pub struct WindowHandle([u8; 0]);

/// A NIC, and the handle of its network.
pub struct LiveNic {
    network: usize,
    /// The NIC.
    pub nic: Nic,
}

/// A window, and the handle of its network.
struct LiveWindow {
    network: usize,
    window: Rc<OpenWindow>,
}

/// What a thread has open.
#[derive(Default)]
struct Table {
    networks: HashMap<usize, Rc<Session>>,
    nics: HashMap<usize, Rc<LiveNic>>,
    windows: HashMap<usize, LiveWindow>,
}

thread_local! {
    // Not dropped with the thread: a simulation uses other variables of the thread, which may be gone then.
    static TABLE: ManuallyDrop<RefCell<Table>> = ManuallyDrop::default();
}

/// A value that no handle of the program has had.
fn fresh() -> usize {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    // The finaliser of SplitMix64, a bijection that maps 0 alone to 0.
    let mut value = COUNT.fetch_add(1, Ordering::Relaxed);
    value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (value ^ value >> 31) as usize
}

fn dead(what: &str, handle: usize) -> anyhow::Error {
    argument(if handle == 0 {
        format!("{what} is NULL")
    } else {
        format!("{what} is no live handle of this thread: its network was shut down, or it was never opened")
    })
}

/// Keeps a network.
pub fn add_network(session: Session) -> *mut NetworkHandle {
    let handle = fresh();
    TABLE.with(|table| table.borrow_mut().networks.insert(handle, Rc::new(session)));
    handle as *mut NetworkHandle
}

/// Keeps a NIC of a network.
pub fn add_nic(network: *mut NetworkHandle, nic: Nic) -> *mut NicHandle {
    let handle = fresh();
    let live = Rc::new(LiveNic { network: network as usize, nic });
    TABLE.with(|table| table.borrow_mut().nics.insert(handle, live));
    handle as *mut NicHandle
}

/// Keeps a window of a NIC.
pub fn add_window(nic: &LiveNic, window: OpenWindow) -> *mut WindowHandle {
    let handle = fresh();
    let live = LiveWindow { network: nic.network, window: Rc::new(window) };
    TABLE.with(|table| table.borrow_mut().windows.insert(handle, live));
    handle as *mut WindowHandle
}

/// The network of a handle.
///
/// # Errors
/// The handle is not live.
pub fn network(handle: *mut NetworkHandle) -> Result<Rc<Session>> {
    let found = TABLE.with(|table| table.borrow().networks.get(&(handle as usize)).cloned());
    found.ok_or_else(|| dead("the network", handle as usize))
}

/// The NIC of a handle.
///
/// # Errors
/// The handle is not live.
pub fn nic(handle: *mut NicHandle) -> Result<Rc<LiveNic>> {
    let found = TABLE.with(|table| table.borrow().nics.get(&(handle as usize)).cloned());
    found.ok_or_else(|| dead("the NIC", handle as usize))
}

/// The window of a handle.
///
/// # Errors
/// The handle is not live.
pub fn window(handle: *mut WindowHandle) -> Result<Rc<OpenWindow>> {
    let found = TABLE.with(|table| table.borrow().windows.get(&(handle as usize)).map(|live| live.window.clone()));
    found.ok_or_else(|| dead("the window", handle as usize))
}

/// Takes a network out, with all NICs and windows on it.
///
/// # Errors
/// The handle is not live.
pub fn remove_network(handle: *mut NetworkHandle) -> Result<()> {
    let handle = handle as usize;
    let removed = TABLE.with(|table| {
        let mut table = table.borrow_mut();
        let session = table.networks.remove(&handle)?;
        let windows: Vec<LiveWindow> =
            table.windows.extract_if(|_, live| live.network == handle).map(|(_, live)| live).collect();
        let nics: Vec<Rc<LiveNic>> =
            table.nics.extract_if(|_, live| live.network == handle).map(|(_, live)| live).collect();
        Some((session, windows, nics))
    });
    // Dropped here, when the table is free again.
    removed.map(drop).ok_or_else(|| dead("the network", handle))
}
