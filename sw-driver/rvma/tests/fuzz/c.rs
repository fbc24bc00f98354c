//! `rvma.h`, `spin.h` and `rvma_sim.h` as a program sees them. Handles are numbers here, since none is followed.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `RVMA_Addr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Addr {
    pub nid: u16,
    pub pid: u16,
}

/// `RVMA_Stream`.
#[repr(C)]
pub struct Stream {
    pub to: Addr,
    pub key: u32,
    pub address: u64,
    pub next: u16,
}

/// `RVMA_Options`.
#[repr(C)]
pub struct Options {
    pub node: u32,
    pub nodes: u32,
    pub table: *const c_void,
    pub round_trip: u64,
}

/// `SPIN_Options`.
#[repr(C)]
pub struct SpinOptions {
    pub watchdog: u32,
    pub state_bytes: u32,
    pub host_memory: *mut c_void,
    pub host_bytes: u32,
    pub weight: u8,
    pub message_quota: u16,
    pub packet_quota: u16,
}

/// `RVMA_Wire`.
#[repr(C)]
pub struct Wire {
    pub loss: f64,
    pub duplication: f64,
    pub paths: u32,
    pub latency: u32,
    pub step: u32,
    pub seed: u64,
}

extern "C" {
    pub fn RVMA_Error() -> *const c_char;
    pub fn RVMA_Open(address: *const c_char, process: c_int, options: *const Options) -> usize;
    pub fn RVMA_Open_node(network: usize, node: c_int, process: c_int) -> usize;
    pub fn RVMA_Close(nic: usize) -> c_int;
    pub fn RVMA_Shutdown(network: usize) -> c_int;
    pub fn RVMA_Set_node(nic: usize, nid: u16, node: *const c_void) -> c_int;
    pub fn RVMA_Set_checked_node(nic: usize, nid: u16, node: *const c_void, icrc: c_uint) -> c_int;
    pub fn RVMA_Node_address(nid: u16, node: *mut c_void) -> c_int;
    pub fn RVMA_Set_put_limit(nic: usize, limit: u64) -> c_int;
    pub fn RVMA_Set_put_turns(nic: usize, puts: c_uint) -> c_int;
    pub fn RVMA_Set_congestion_control(nic: usize, control: *const c_void) -> c_int;
    pub fn RVMA_Register(nic: usize, memory: *mut c_void, size: i64) -> c_int;
    pub fn RVMA_Deregister(nic: usize, memory: *mut c_void, size: i64) -> c_int;
    pub fn RVMA_Init_window(nic: usize, address: u64, key: u32, threshold: i64, epoch: c_int) -> usize;
    pub fn RVMA_Init_window_as(nic: usize, address: u64, key: u32, threshold: i64, epoch: c_int, kind: c_int) -> usize;
    pub fn RVMA_Init_window_with(
        nic: usize,
        address: u64,
        key: u32,
        threshold: i64,
        epoch: c_int,
        kind: c_int,
        flags: c_uint,
    ) -> usize;
    pub fn RVMA_Post_buffer(buffer: *mut c_void, size: i64, record: *mut c_void, win: usize) -> c_int;
    pub fn RVMA_Post_mapped(
        buffer: *mut c_void,
        size: i64,
        record: *mut c_void,
        win: usize,
        granule: u32,
        map: *mut u32,
    ) -> c_int;
    pub fn RVMA_Read_map(win: usize, map: u32, bits: *mut u64) -> c_int;
    pub fn RVMA_Free_map(win: usize, map: u32) -> c_int;
    pub fn RVMA_Close_win(win: usize) -> c_int;
    pub fn RVMA_Win_inc_epoch(win: usize) -> c_int;
    pub fn RVMA_Win_get_epoch(win: usize) -> i64;
    pub fn RVMA_Win_get_buf_ptrs(win: usize, pointers: *mut c_void, count: c_int) -> c_int;
    pub fn RVMA_Win_rewind(win: usize, back: c_int) -> usize;
    pub fn RVMA_Wait(nic: usize, record: *const c_void, limit: u64) -> c_int;
    pub fn RVMA_Stock_new(win: usize, count: c_int, size: i64) -> usize;
    pub fn RVMA_Stock_next(stock: usize, record: *mut c_void, limit: u64) -> usize;
    pub fn RVMA_Stock_give(stock: usize, buffer: usize) -> c_int;
    pub fn RVMA_Stock_free(stock: usize) -> c_int;
    pub fn RVMA_Put(
        nic: usize,
        buffer: *const c_void,
        size: i64,
        to: *const Addr,
        address: u64,
        key: u32,
        offset: u64,
        op: *mut u32,
    ) -> c_int;
    pub fn RVMA_Put_to(
        nic: usize,
        buffer: *const c_void,
        size: i64,
        to: *const Addr,
        address: u64,
        key: u32,
        offset: u64,
        kind: c_int,
        epoch: u64,
        op: *mut u32,
    ) -> c_int;
    pub fn RVMA_Put_next(nic: usize, buffer: *const c_void, size: i64, stream: *mut Stream, op: *mut u32) -> c_int;
    pub fn RVMA_Get(
        nic: usize,
        size: i64,
        from: *const Addr,
        address: u64,
        key: u32,
        offset: u64,
        reply_address: u64,
        reply_key: u32,
        reply_offset: u64,
        op: *mut u32,
    ) -> c_int;
    pub fn RVMA_Get_active(
        nic: usize,
        size: i64,
        from: *const Addr,
        address: u64,
        key: u32,
        offset: u64,
        reply_address: u64,
        reply_key: u32,
        reply_offset: u64,
        op: *mut u32,
    ) -> c_int;
    pub fn RVMA_Wait_put(nic: usize, op: u32, limit: u64) -> c_int;
    pub fn SPIN_Load(nic: usize, image: *const c_void, size: usize, options: *const SpinOptions) -> usize;
    pub fn SPIN_Load_file(nic: usize, path: *const c_char, options: *const SpinOptions) -> usize;
    pub fn SPIN_Unload(context: usize) -> c_int;
    pub fn SPIN_Number(context: usize) -> c_int;
    pub fn SPIN_Connect(context: usize, rule: *const c_char, messages: c_int) -> c_int;
    pub fn SPIN_Disconnect(context: usize) -> c_int;
    pub fn SPIN_Init_window(
        context: usize,
        address: u64,
        key: u32,
        threshold: i64,
        epoch: c_int,
        kind: c_int,
        flags: c_uint,
    ) -> usize;
    pub fn SPIN_Read_state(context: usize, offset: usize, bytes: *mut c_void, size: usize) -> c_int;
    pub fn SPIN_Write_state(context: usize, offset: usize, bytes: *const c_void, size: usize) -> c_int;
    pub fn SPIN_Read_counters(context: usize, counters: *mut c_void) -> c_int;
    pub fn SPIN_Start_task(context: usize, argument: u64, delay: u32) -> c_int;
    pub fn SPIN_Cancel_task(context: usize, argument: u64) -> c_int;
    pub fn SPIN_Reason(reason: c_uint) -> *const c_char;
    pub fn SPIN_Next_event(nic: usize, event: *mut c_void, limit: u64) -> c_int;
    pub fn RVMA_Simulate(nodes: c_int, wire: *const Wire) -> usize;
    pub fn RVMA_Run(network: usize, cycles: u64) -> c_int;
}
