//! Every call with any arguments: live, dead and foreign handles, NULL, and numbers of any size. A call ends, without a panic,
//! with a value or with a documented error and its sentence; a handle that is not live is an illegal argument.
//!
//! Pointers are NULL or to memory of the test, as the calls demand. Handles, sizes and numbers are anything.

use crate::c::*;
use crate::card::network;
use crate::handles::{Handles, Kind};
use spindle_contract::memory_map::{base, CODE, CONTEXT};
use spindle_contract::registers::doorbell;
use spindle_fuzz::{Program, Source};
use spindle_rvma::add_network;
use std::ffi::{c_uint, c_void, CStr, CString};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Once};

const ARGUMENT: i64 = -1;
const REFUSED: i64 = -2;
/// The least of `RVMA_Status`.
const LEAST: i64 = -5;

/// Memory of the program.
#[repr(C, align(4096))]
struct Arena([u8; 1 << 16]);

/// Panics of the library, which its calls catch.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            before(panic);
        }));
    });
}

fn reason() -> String {
    // SAFETY: the sentence stays as long as the thread.
    unsafe { CStr::from_ptr(RVMA_Error()) }.to_string_lossy().into_owned()
}

struct Caller<'s, 'a, 'b> {
    source: &'s mut Source<'a, 'b>,
    handles: Handles,
    arena: *mut u8,
    result: Arc<AtomicU32>,
    good: u32,
}

impl Caller<'_, '_, '_> {
    fn pick(&mut self, kind: Kind) -> usize {
        self.handles.pick(kind, self.source)
    }

    /// NULL, or a place of the program with room for 4 KiB.
    fn place(&mut self) -> *mut c_void {
        if self.source.chance(8) {
            return std::ptr::null_mut();
        }
        // SAFETY: the place lies in the arena.
        unsafe { self.arena.add(4096 * self.source.below(15) + 16 * self.source.below(8)).cast() }
    }

    /// A size of what lies at a place, or one that no call takes for a size.
    fn size(&mut self) -> i64 {
        match self.source.below(8) {
            0 => self.source.number() as i64,
            1 => -(self.source.below(1000) as i64),
            _ => self.source.below(3000) as i64,
        }
    }

    fn limit(&mut self) -> u64 {
        self.source.number() & 0xF_FFFF
    }

    fn small(&mut self) -> i32 {
        if self.source.chance(8) {
            self.source.number() as i32
        } else {
            self.source.below(5) as i32
        }
    }

    /// A call on a handle: what it may return, and what it must if the handle is not live.
    fn status(&mut self, call: &str, kind: Kind, handle: usize, code: i64) -> bool {
        let live = self.handles.live(kind, handle);
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{call} panics");
        assert!(code >= LEAST, "{call} returns {code}");
        if code < 0 {
            assert!(!reason().is_empty(), "{call} gives no reason");
        }
        if !live {
            assert_eq!(code, ARGUMENT, "{call} of a {kind:?} that is not live: {}", reason());
        }
        self.good += u32::from(code >= 0);
        code >= 0
    }

    /// A call that makes something.
    fn made(&mut self, call: &str, of: (Kind, usize), kind: Kind, value: usize) {
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{call} panics");
        let live = self.handles.live(of.0, of.1);
        if value == 0 {
            assert!(!reason().is_empty(), "{call} gives no reason");
            return;
        }
        assert!(live, "{call} takes a {:?} that is not live", of.0);
        let nic = match of.0 {
            Kind::Network => 0,
            Kind::Nic => of.1,
            _ => self.handles.find(of.0, of.1).map_or(0, |known| known.nic),
        };
        self.handles.add(kind, value, nic);
        self.good += 1;
    }

    /// How the commands of the next call end.
    fn next_result(&mut self) {
        let result = match self.source.below(8) {
            0 => doorbell::Result::ZERO.with_error(self.source.word() & 0xF).0,
            1 => self.source.word() & !doorbell::Result::ZERO.with_busy(true).0,
            _ => self.source.below(32) as u32,
        };
        self.result.store(result, Ordering::Relaxed);
    }

    fn address(&mut self) -> Option<Addr> {
        let number = |source: &mut Source| if source.chance(4) { source.word() as u16 } else { source.below(2) as u16 };
        (!self.source.chance(16)).then(|| Addr { nid: number(self.source), pid: number(self.source) })
    }

    /// A call of any kind.
    fn call(&mut self) {
        self.next_result();
        // SAFETY: pointers are NULL, or to memory of the size that the call reads or writes.
        unsafe {
            match self.source.below(10) {
                0 | 1 => self.nic_call(),
                2 | 3 => self.window_call(),
                4 => self.make_window(),
                5 => self.put(),
                6 => self.stock(),
                7 | 8 => self.context(),
                _ => self.open_and_close(),
            }
        }
    }

    unsafe fn open_and_close(&mut self) {
        let network = self.pick(Kind::Network);
        match self.source.below(8) {
            0..=3 => {
                let (node, process) = (self.small() / 2, self.small());
                let nic = RVMA_Open_node(network, node, process);
                self.made("RVMA_Open_node", (Kind::Network, network), Kind::Nic, nic);
            }
            4 => {
                let nic = self.pick(Kind::Nic);
                let code = RVMA_Close(nic);
                if nic == 0 {
                    assert_eq!(code, 0, "NULL is ignored");
                } else if self.status("RVMA_Close", Kind::Nic, nic, code.into()) {
                    self.handles.remove(Kind::Nic, nic);
                }
            }
            5 => {
                let cycles = self.limit();
                let code = RVMA_Run(network, cycles);
                self.status("RVMA_Run", Kind::Network, network, code.into());
            }
            6 => {
                let addresses = [
                    &b"\0"[..],
                    b"x\0",
                    b"unix:\0",
                    b"unix:/nowhere/x\0",
                    b"0000:ff:1f.7\0",
                    b"\xFF\xFE\0",
                    b"sysfs:0\0",
                ];
                let address = self.source.pick(&addresses).as_ptr();
                let options = Options {
                    node: self.source.word(),
                    nodes: self.source.word(),
                    table: std::ptr::null(),
                    round_trip: self.source.number(),
                };
                let address = if self.source.chance(8) { std::ptr::null() } else { address.cast() };
                let options = if self.source.chance(2) { std::ptr::null() } else { &raw const options };
                let nic = RVMA_Open(address, self.source.word() as i32, options);
                assert!(nic == 0 && !reason().is_empty(), "there is no such card");
            }
            // Of a network that can be had, the model would be built.
            _ => {
                let wire = Wire { loss: f64::NAN, duplication: 0.0, paths: 1, latency: 1, step: 1, seed: 1 };
                let nodes = self.source.word() as i32;
                assert!(RVMA_Simulate(nodes, &wire) == 0 && !reason().is_empty());
            }
        }
        assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    }

    unsafe fn nic_call(&mut self) {
        let nic = self.pick(Kind::Nic);
        let (place, size) = (self.place(), self.size());
        let (call, code) = match self.source.below(11) {
            0 | 1 => ("RVMA_Register", RVMA_Register(nic, place, size)),
            2 => ("RVMA_Deregister", RVMA_Deregister(nic, place, size)),
            3 => ("RVMA_Set_node", RVMA_Set_node(nic, self.source.word() as u16, place)),
            8 => {
                let (nid, icrc) = (self.source.word() as u16, self.source.below(5) as u32);
                ("RVMA_Set_checked_node", RVMA_Set_checked_node(nic, nid, place, icrc))
            }
            9 => ("RVMA_Set_congestion_control", RVMA_Set_congestion_control(nic, place)),
            10 => ("RVMA_Set_put_turns", RVMA_Set_put_turns(nic, self.source.below(80) as c_uint)),
            4 => ("RVMA_Set_put_limit", RVMA_Set_put_limit(nic, self.source.number())),
            5 => ("RVMA_Wait", RVMA_Wait(nic, place, self.limit())),
            6 => ("RVMA_Wait_put", RVMA_Wait_put(nic, self.source.word(), self.limit())),
            _ => ("SPIN_Next_event", SPIN_Next_event(nic, place, self.limit())),
        };
        self.status(call, Kind::Nic, nic, code.into());
        let node = self.place();
        let nid = self.source.word() as u16;
        let good = RVMA_Node_address(nid, node) == 0;
        assert_eq!(good, !node.is_null() && nid < 256, "node {nid}");
    }

    unsafe fn make_window(&mut self) {
        let nic = self.pick(Kind::Nic);
        let (address, key) = (self.source.number(), self.source.word());
        let threshold = self.size();
        let (epoch, kind, flags) = (self.small() % 3, self.small(), self.source.below(18) as u32);
        let (call, window) = match self.source.below(3) {
            0 => ("RVMA_Init_window", RVMA_Init_window(nic, address, key, threshold, epoch)),
            1 => ("RVMA_Init_window_as", RVMA_Init_window_as(nic, address, key, threshold, epoch, kind)),
            _ => ("RVMA_Init_window_with", RVMA_Init_window_with(nic, address, key, threshold, epoch, kind, flags)),
        };
        self.made(call, (Kind::Nic, nic), Kind::Window, window);
    }

    unsafe fn window_call(&mut self) {
        let win = self.pick(Kind::Window);
        let closed = self.handles.find(Kind::Window, win).is_some_and(|known| known.closed);
        let (place, record, size) = (self.place(), self.place(), self.size());
        let number = self.source.word();
        let (call, code) = match self.source.below(11) {
            0 | 1 => ("RVMA_Post_buffer", RVMA_Post_buffer(place, size, record, win).into()),
            2 => {
                let mut map = 0;
                let room = if self.source.chance(8) { std::ptr::null_mut() } else { &raw mut map };
                ("RVMA_Post_mapped", RVMA_Post_mapped(place, size, record, win, number, room).into())
            }
            3 => {
                let code = RVMA_Read_map(win, number, place.cast());
                self.status("RVMA_Read_map", Kind::Window, win, code.into());
                return;
            }
            4 => {
                let code = RVMA_Free_map(win, number);
                self.status("RVMA_Free_map", Kind::Window, win, code.into());
                return;
            }
            5 => ("RVMA_Win_inc_epoch", RVMA_Win_inc_epoch(win).into()),
            6 => ("RVMA_Win_get_epoch", RVMA_Win_get_epoch(win)),
            7 => {
                let count = (self.small()).min(500);
                ("RVMA_Win_get_buf_ptrs", RVMA_Win_get_buf_ptrs(win, place, count).into())
            }
            8 => {
                let back = self.small();
                // NULL is also what the NIC does not remember.
                let buffer = RVMA_Win_rewind(win, back);
                assert!(buffer == 0 || self.handles.live(Kind::Window, win));
                assert_eq!(PANICS.load(Ordering::Relaxed), 0, "RVMA_Win_rewind panics");
                return;
            }
            _ => {
                let code = RVMA_Close_win(win);
                if self.status("RVMA_Close_win", Kind::Window, win, code.into()) {
                    self.handles.find(Kind::Window, win).expect("it is live").closed = true;
                }
                assert!(!closed || i64::from(code) == REFUSED, "a window is closed once");
                return;
            }
        };
        self.status(call, Kind::Window, win, code);
        let nothing = call == "RVMA_Win_get_buf_ptrs" && code == 0;
        assert!(!closed || nothing || [ARGUMENT, REFUSED].contains(&code), "{call} of a closed window returns {code}");
    }

    unsafe fn put(&mut self) {
        let nic = self.pick(Kind::Nic);
        let (place, size, to) = (self.place(), self.size(), self.address());
        let to = to.as_ref().map_or(std::ptr::null(), |to| &raw const *to);
        let (address, key, offset) = (self.source.number(), self.source.word(), self.source.number());
        let mut number = 0;
        let op = if self.source.chance(8) { std::ptr::null_mut() } else { &raw mut number };
        let (kind, epoch) = (self.small(), self.source.number());
        let (call, code) = match self.source.below(5) {
            0 => ("RVMA_Put", RVMA_Put(nic, place, size, to, address, key, offset, op)),
            1 => ("RVMA_Put_to", RVMA_Put_to(nic, place, size, to, address, key, offset, kind, epoch, op)),
            2 => {
                let to = Addr { nid: self.source.below(2) as u16, pid: self.source.word() as u16 };
                let mut stream = Stream { to, key, address, next: self.source.word() as u16 };
                let before = stream.next;
                let room = if self.source.chance(8) { std::ptr::null_mut() } else { &raw mut stream };
                let code = RVMA_Put_next(nic, place, size, room, op);
                let counted = u16::from(code == 0);
                assert_eq!(stream.next, before.wrapping_add(counted), "only a put that was posted counts");
                ("RVMA_Put_next", code)
            }
            3 => ("RVMA_Get", RVMA_Get(nic, size, to, address, key, offset, epoch, key, offset, op)),
            _ => ("RVMA_Get_active", RVMA_Get_active(nic, size, to, address, key, offset, epoch, key, offset, op)),
        };
        let posted = self.status(call, Kind::Nic, nic, code.into());
        if posted && self.source.chance(2) {
            let code = RVMA_Wait_put(nic, number, self.limit());
            self.status("RVMA_Wait_put", Kind::Nic, nic, code.into());
        }
    }

    unsafe fn stock(&mut self) {
        let stock = self.pick(Kind::Stock);
        match self.source.below(4) {
            0 => {
                let win = self.pick(Kind::Window);
                let count = if self.source.chance(4) { self.source.word() as i32 } else { self.source.below(9) as i32 };
                let made = RVMA_Stock_new(win, count, self.size());
                self.made("RVMA_Stock_new", (Kind::Window, win), Kind::Stock, made);
            }
            1 => {
                let (record, limit) = (self.place(), self.limit());
                let buffer = RVMA_Stock_next(stock, record, limit);
                assert!(buffer == 0 || self.handles.live(Kind::Stock, stock));
                assert_eq!(PANICS.load(Ordering::Relaxed), 0, "RVMA_Stock_next panics");
            }
            2 => {
                let code = RVMA_Stock_give(stock, self.source.number() as usize);
                self.status("RVMA_Stock_give", Kind::Stock, stock, code.into());
            }
            _ => {
                let code = RVMA_Stock_free(stock);
                if stock == 0 {
                    assert_eq!(code, 0, "NULL is ignored");
                } else if self.status("RVMA_Stock_free", Kind::Stock, stock, code.into()) {
                    self.handles.remove(Kind::Stock, stock);
                }
            }
        }
    }

    /// An image, mostly a good one.
    fn image(&mut self) -> Vec<u8> {
        let program = Program {
            code: (base(CODE), vec![0x13; 4 * (1 + self.source.below(8))]),
            data: (base(CONTEXT), vec![1; self.source.below(64)]),
            globals: vec![(base(CODE), "header_handler".into())],
            ..Program::default()
        };
        let file = program.file();
        if self.source.chance(4) {
            self.source.mutated(&file)
        } else {
            file
        }
    }

    unsafe fn context(&mut self) {
        let context = self.pick(Kind::Context);
        let place = self.place();
        let size = match self.source.below(8) {
            0 => usize::MAX - self.source.below(64),
            1 => 1 << 63,
            _ => self.source.below(3000),
        };
        let offset = if self.source.chance(4) { self.source.number() as usize } else { 4 * self.source.below(16) };
        let (call, code) = match self.source.below(14) {
            0..=3 => {
                let nic = self.pick(Kind::Nic);
                let image = self.image();
                let options = SpinOptions {
                    watchdog: self.source.word(),
                    state_bytes: self.source.word(),
                    host_memory: if self.source.chance(4) { self.place() } else { std::ptr::null_mut() },
                    host_bytes: self.source.word(),
                    weight: self.source.byte(),
                    message_quota: self.source.word() as u16,
                    packet_quota: self.source.word() as u16,
                };
                let options = if self.source.chance(2) { std::ptr::null() } else { &raw const options };
                let made = match self.source.below(8) {
                    0 => SPIN_Load(nic, std::ptr::null(), size, options),
                    1 => SPIN_Load(nic, image.as_ptr().cast(), usize::MAX, options),
                    2 => SPIN_Load_file(nic, std::ptr::null(), options),
                    3 => SPIN_Load_file(nic, c"/nowhere/x.elf".as_ptr(), options),
                    _ => SPIN_Load(nic, image.as_ptr().cast(), image.len(), options),
                };
                self.made("SPIN_Load", (Kind::Nic, nic), Kind::Context, made);
                return;
            }
            4 => {
                let code = SPIN_Unload(context);
                if self.status("SPIN_Unload", Kind::Context, context, code.into()) {
                    self.handles.remove(Kind::Context, context);
                }
                return;
            }
            5 => ("SPIN_Number", SPIN_Number(context)),
            6 => {
                let text = self.source.mutated_text("udp.dport == 9 && ip.src in 10.0.0.0/8", &["||", "!", "vlan"]);
                let text = CString::new(text.replace('\0', " ")).expect("there is no zero");
                let rule = if self.source.chance(8) { std::ptr::null() } else { text.as_ptr() };
                ("SPIN_Connect", SPIN_Connect(context, rule, self.small()))
            }
            7 => ("SPIN_Disconnect", SPIN_Disconnect(context)),
            8 => {
                let threshold = self.size();
                let window =
                    SPIN_Init_window(context, self.source.number(), 1, threshold, self.small() % 2, self.small(), 0);
                self.made("SPIN_Init_window", (Kind::Context, context), Kind::Window, window);
                return;
            }
            9 => ("SPIN_Read_state", SPIN_Read_state(context, offset, place, size)),
            10 => ("SPIN_Write_state", SPIN_Write_state(context, offset, place, size)),
            11 => ("SPIN_Start_task", SPIN_Start_task(context, self.source.number(), self.source.word())),
            12 => ("SPIN_Cancel_task", SPIN_Cancel_task(context, self.source.number())),
            _ => ("SPIN_Read_counters", SPIN_Read_counters(context, place)),
        };
        self.status(call, Kind::Context, context, code.into());
        let number = self.source.word();
        assert_eq!(SPIN_Reason(number).is_null(), number >= 32);
    }
}

#[test]
fn fuzz_c_call() {
    count_panics();
    let mut arena = Box::new(Arena([0; 1 << 16]));
    spindle_fuzz::run("c_call", 1500, |source| {
        let round_trip = if source.chance(4) { source.number() } else { 2000 };
        let (session, result) = network(round_trip);
        let handle = add_network(session) as usize;
        let arena = arena.0.as_mut_ptr();
        let mut program = Caller { source, handles: Handles::default(), arena, result, good: 0 };
        program.handles.add(Kind::Network, handle, 0);
        for process in 0..2 {
            // SAFETY: handles are not followed.
            let nic = unsafe { RVMA_Open_node(handle, 0, process) };
            program.made("RVMA_Open_node", (Kind::Network, handle), Kind::Nic, nic);
        }
        program.good = 0;
        for _ in 0..24 {
            if program.source.is_empty() {
                break;
            }
            program.call();
        }
        let good = program.good;
        program.result.store(0, Ordering::Relaxed);
        // SAFETY: as above.
        assert_eq!(unsafe { RVMA_Shutdown(handle) }, 0);
        program.handles.remove(Kind::Network, handle);
        // SAFETY: as above.
        assert_eq!(i64::from(unsafe { RVMA_Shutdown(handle) }), ARGUMENT, "a network ends once");
        assert_eq!(PANICS.load(Ordering::Relaxed), 0);
        good > 3
    });
}
