//! Handles of networks, NICs and windows: values that a table of the program knows, never addresses that are followed.
//!
//! Each handle is a number of its own, mixed to a value that no address and no small number is likely to have. The
//! handle of what was shut down is never given out again, so its use is an error, as is the use of a value that was
//! never a handle. Any thread may use any handle. What is removed while another thread uses it ends with that use.

use crate::contexts::Context;
use crate::failure::argument;
use crate::node::lock;
use crate::process::Nic;
use crate::session::Session;
use crate::stock::WindowStock;
use crate::window::OpenWindow;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// `RVMA_Network`; only pointers to it exist, and none is followed.
#[repr(C)]
pub struct NetworkHandle([u8; 0]);

/// `RVMA_Nic`, likewise.
#[repr(C)]
pub struct NicHandle([u8; 0]);

/// `struct RVMA_Window`, likewise.
#[repr(C)]
pub struct WindowHandle([u8; 0]);

/// `struct SPIN_Context_handle`, likewise.
#[repr(C)]
pub struct ContextHandle([u8; 0]);

/// `RVMA_Stock`, likewise.
#[repr(C)]
pub struct StockHandle([u8; 0]);

/// A stock, and the handles that own it.
struct LiveStock {
    network: usize,
    nic: usize,
    stock: Arc<WindowStock>,
}

/// A context and its NIC.
struct LiveContext {
    nic: Arc<LiveNic>,
    context: Arc<Context>,
}

/// A NIC, and the handles that own it.
pub struct LiveNic {
    /// 0: it was opened by its address.
    network: usize,
    handle: usize,
    /// The NIC.
    pub nic: Nic,
}

/// A window, and the handles that own it.
struct LiveWindow {
    network: usize,
    nic: usize,
    window: Arc<OpenWindow>,
}

/// What the program has open. Ordered: what ends together ends in the same order in every run, and takes the same cycles of a card
/// whose time moves by calls.
#[derive(Default)]
struct Table {
    networks: BTreeMap<usize, Arc<Session>>,
    nics: BTreeMap<usize, Arc<LiveNic>>,
    windows: BTreeMap<usize, LiveWindow>,
    contexts: BTreeMap<usize, LiveContext>,
    stocks: BTreeMap<usize, LiveStock>,
}

/// Not dropped at the end of the program: other threads may still use it.
static TABLE: Mutex<Option<Table>> = Mutex::new(None);

fn with<T>(call: impl FnOnce(&mut Table) -> T) -> T {
    call(lock(&TABLE).get_or_insert_default())
}

/// A value that no handle of the program has had.
pub fn fresh() -> usize {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    // The finaliser of SplitMix64, a bijection that maps 0 alone to 0.
    let mut value = COUNT.fetch_add(1, Ordering::Relaxed);
    value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (value ^ value >> 31) as usize
}

/// The error of a handle that no table knows.
pub fn dead(what: &str, handle: usize) -> anyhow::Error {
    argument(if handle == 0 {
        format!("{what} is NULL")
    } else {
        format!("{what} is no live handle: it was closed or its network shut down, or it was never opened")
    })
}

/// Keeps a network.
pub fn add_network(session: Session) -> *mut NetworkHandle {
    let handle = fresh();
    with(|table| table.networks.insert(handle, Arc::new(session)));
    handle as *mut NetworkHandle
}

/// Keeps a NIC of a network, or of no network.
pub fn add_nic(network: *mut NetworkHandle, nic: Nic) -> *mut NicHandle {
    let handle = fresh();
    let live = Arc::new(LiveNic { network: network as usize, handle, nic });
    with(|table| table.nics.insert(handle, live));
    handle as *mut NicHandle
}

/// Keeps a window of a NIC.
pub fn add_window(nic: &LiveNic, window: OpenWindow) -> *mut WindowHandle {
    let handle = fresh();
    let live = LiveWindow { network: nic.network, nic: nic.handle, window: Arc::new(window) };
    with(|table| table.windows.insert(handle, live));
    handle as *mut WindowHandle
}

/// Keeps a stock of a window.
///
/// # Errors
/// The window's handle is not live any more.
pub fn add_stock(window: *mut WindowHandle, stock: WindowStock) -> Result<*mut StockHandle> {
    let handle = fresh();
    let owners = with(|table| table.windows.get(&(window as usize)).map(|live| (live.network, live.nic)));
    let (network, nic) = owners.ok_or_else(|| dead("the window", window as usize))?;
    with(|table| table.stocks.insert(handle, LiveStock { network, nic, stock: Arc::new(stock) }));
    Ok(handle as *mut StockHandle)
}

/// The stock of a handle.
///
/// # Errors
/// The handle is not live.
pub fn stock(handle: *mut StockHandle) -> Result<Arc<WindowStock>> {
    let found = with(|table| table.stocks.get(&(handle as usize)).map(|live| live.stock.clone()));
    found.ok_or_else(|| dead("the stock", handle as usize))
}

/// Takes a stock out.
///
/// # Errors
/// The handle is not live.
pub fn remove_stock(handle: *mut StockHandle) -> Result<()> {
    let removed = with(|table| table.stocks.remove(&(handle as usize)));
    removed.map(drop).ok_or_else(|| dead("the stock", handle as usize))
}

/// Keeps a context of a NIC.
pub fn add_context(nic: &Arc<LiveNic>, context: Context) -> *mut ContextHandle {
    let handle = fresh();
    let live = LiveContext { nic: nic.clone(), context: Arc::new(context) };
    with(|table| table.contexts.insert(handle, live));
    handle as *mut ContextHandle
}

/// The context of a handle.
///
/// # Errors
/// The handle is not live.
pub fn context(handle: *mut ContextHandle) -> Result<Arc<Context>> {
    Ok(context_and_nic(handle)?.1)
}

/// The context of a handle, and its NIC.
///
/// # Errors
/// The handle is not live.
pub fn context_and_nic(handle: *mut ContextHandle) -> Result<(Arc<LiveNic>, Arc<Context>)> {
    let known = |live: &LiveContext| (live.nic.clone(), live.context.clone());
    let found = with(|table| table.contexts.get(&(handle as usize)).map(known));
    found.ok_or_else(|| dead("the context", handle as usize))
}

/// Takes a context out.
///
/// # Errors
/// The handle is not live.
pub fn remove_context(handle: *mut ContextHandle) -> Result<()> {
    let removed = with(|table| table.contexts.remove(&(handle as usize)));
    removed.map(drop).ok_or_else(|| dead("the context", handle as usize))
}

/// The network of a handle.
///
/// # Errors
/// The handle is not live.
pub fn network(handle: *mut NetworkHandle) -> Result<Arc<Session>> {
    let found = with(|table| table.networks.get(&(handle as usize)).cloned());
    found.ok_or_else(|| dead("the network", handle as usize))
}

/// The NIC of a handle.
///
/// # Errors
/// The handle is not live.
pub fn nic(handle: *mut NicHandle) -> Result<Arc<LiveNic>> {
    let found = with(|table| table.nics.get(&(handle as usize)).cloned());
    found.ok_or_else(|| dead("the NIC", handle as usize))
}

/// The window of a handle.
///
/// # Errors
/// The handle is not live.
pub fn window(handle: *mut WindowHandle) -> Result<Arc<OpenWindow>> {
    let found = with(|table| table.windows.get(&(handle as usize)).map(|live| live.window.clone()));
    found.ok_or_else(|| dead("the window", handle as usize))
}

/// What is taken out of the table, in the order in which it ends.
struct Taken {
    stocks: Vec<LiveStock>,
    windows: Vec<LiveWindow>,
    contexts: Vec<LiveContext>,
    nics: Vec<Arc<LiveNic>>,
}

/// Takes NICs out, with their windows and contexts; these are dropped when the table is free again.
fn take(table: &mut Table, owned: impl Fn(usize, usize) -> bool) -> Taken {
    let nics = |live: &LiveNic| owned(live.network, live.handle);
    Taken {
        stocks: table.stocks.extract_if(.., |_, live| owned(live.network, live.nic)).map(|(_, live)| live).collect(),
        windows: table.windows.extract_if(.., |_, live| owned(live.network, live.nic)).map(|(_, live)| live).collect(),
        contexts: table.contexts.extract_if(.., |_, live| nics(&live.nic)).map(|(_, live)| live).collect(),
        nics: table.nics.extract_if(.., |_, live| nics(live)).map(|(_, live)| live).collect(),
    }
}

/// Takes a network out, with all NICs, windows and contexts on it.
///
/// # Errors
/// The handle is not live.
pub fn remove_network(handle: *mut NetworkHandle) -> Result<()> {
    let handle = handle as usize;
    let removed = with(|table| {
        let session = table.networks.remove(&handle)?;
        Some((take(table, |network, _| network == handle), session))
    });
    removed.map(drop).ok_or_else(|| dead("the network", handle))
}

/// Takes a NIC out, with all windows and contexts on it.
///
/// # Errors
/// The handle is not live.
pub fn remove_nic(handle: *mut NicHandle) -> Result<()> {
    let handle = handle as usize;
    let Taken { stocks, windows, contexts, nics } = with(|table| take(table, |_, nic| nic == handle));
    drop((stocks, windows, contexts));
    if nics.is_empty() {
        return Err(dead("the NIC", handle));
    }
    Ok(())
}
