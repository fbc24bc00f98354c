//! The only unsafe code of the harness: opening a model's shared object and calling its C face (`shim.cpp`).
//!
//! Why it is sound: a shared object was compiled by this crate, from the shim whose declarations are repeated below, and
//! its name contains the hash of that shim; a linked model was compiled by this crate's build script functions from the
//! same shim. Neither is ever unloaded, and one thread at a time uses a handle.

use crate::cache::Checked;
use anyhow::{anyhow, bail, Context, Result};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd};
use std::ptr::NonNull;

type Handle = *mut c_void;

/// `SpindlePort` of the shim.
#[repr(C)]
pub struct RawPort {
    name: *const c_char,
    width: u32,
    output: u32,
}

/// `SpindleWindow` of the shim.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// First cycle that is recorded.
    pub from: u64,
    /// First cycle that is not recorded any more.
    pub until: u64,
    /// Cycle that begins at time 0.
    pub origin: u64,
    /// Picoseconds of a cycle.
    pub period: u64,
}

type Ports = unsafe extern "C" fn() -> *const RawPort;

/// The functions of a model, in the order of the shim's table.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Face {
    ports: Ports,
    new: unsafe extern "C" fn(c_int, c_int) -> Handle,
    error: unsafe extern "C" fn(Handle) -> *const c_char,
    ready: unsafe extern "C" fn(Handle) -> c_int,
    port: unsafe extern "C" fn(Handle, u32) -> *mut u8,
    eval: unsafe extern "C" fn(Handle) -> c_int,
    ticks: unsafe extern "C" fn(Handle, *mut u8, u64) -> c_int,
    cycle: unsafe extern "C" fn(Handle) -> u64,
    finished: unsafe extern "C" fn(Handle) -> c_int,
    wave_open: unsafe extern "C" fn(Handle, c_int, *const Window) -> c_int,
    wave_close: unsafe extern "C" fn(Handle),
    free: unsafe extern "C" fn(Handle),
}

/// A model that is loaded or linked.
pub(crate) struct Object {
    face: Face,
    /// Name, width in bits, is an output.
    pub ports: Vec<(String, u32, bool)>,
}

impl Object {
    /// Opens a shared object for the rest of the process's life: the open file, even if its name now leads to another file.
    pub fn open(Checked { file, path }: Checked) -> Result<Object> {
        // The file stays open, since the loader takes two libraries of the same name for one.
        let fd = file.into_raw_fd();
        // SAFETY: loading runs the object's initialisers, which are those of Verilator's runtime compiled by us: the
        // file has the hash that this crate recorded when it built the model, in a folder of this user.
        let library = unsafe { libloading::Library::new(format!("/proc/self/fd/{fd}")) }
            .with_context(|| format!("cannot open the model {}; delete it and try again", path.display()))?;
        // The runtime keeps thread-local state with destructors, so the code must never go away.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        macro_rules! symbol {
            ($name:literal) => {{
                // SAFETY: the shim exports $name with the signature of the field it is stored in.
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }
                    .with_context(|| format!("{} lacks `{}`; delete it and try again", path.display(), $name))?
            }};
        }
        let face = Face {
            ports: symbol!("spindle_ports"),
            new: symbol!("spindle_new"),
            error: symbol!("spindle_error"),
            ready: symbol!("spindle_ready"),
            port: symbol!("spindle_port"),
            eval: symbol!("spindle_eval"),
            ticks: symbol!("spindle_ticks"),
            cycle: symbol!("spindle_cycle"),
            finished: symbol!("spindle_finished"),
            wave_open: symbol!("spindle_wave_open"),
            wave_close: symbol!("spindle_wave_close"),
            free: symbol!("spindle_free"),
        };
        Ok(Object { face, ports: read_ports(face.ports) })
    }

    /// A model that is linked into this program.
    pub fn linked(face: &'static Face) -> Object {
        Object { face: *face, ports: read_ports(face.ports) }
    }
}

fn read_ports(list: Ports) -> Vec<(String, u32, bool)> {
    let mut ports = Vec::new();
    // SAFETY: the shim returns a static array that ends with a null name.
    let mut entry = unsafe { list() };
    loop {
        // SAFETY: `entry` has not passed the entry with the null name.
        let RawPort { name, width, output } = unsafe { entry.read() };
        if name.is_null() {
            return ports;
        }
        // SAFETY: a name is a string literal of the shim.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        ports.push((name, width, output != 0));
        // SAFETY: this entry was not the last.
        entry = unsafe { entry.add(1) };
    }
}

/// Bytes of Verilator's storage for a port of `width` bits: 1, 2, 4, 8, or whole 32-bit words above 64 bits.
pub(crate) fn storage_bytes(width: u32) -> usize {
    match width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        33..=64 => 8,
        _ => width.div_ceil(32) as usize * 4,
    }
}

/// One instance of a model.
pub(crate) struct Instance {
    object: &'static Object,
    handle: Handle,
    /// Address and length of each port's storage inside the model, as long as `handle` lives.
    ports: Vec<(NonNull<u8>, usize)>,
}

// SAFETY: a model has no tie to the thread that made it; `Instance` is not `Sync`, so one thread uses it at a time.
unsafe impl Send for Instance {}

impl Instance {
    /// A new instance; `random_seed` fills registers and memories with reproducible random bits, `None` with zeros.
    pub fn new(object: &'static Object, random_seed: Option<i32>) -> Result<Instance> {
        // SAFETY: plain call; the handle is freed in `drop` only.
        let handle = unsafe { (object.face.new)(random_seed.is_some().into(), random_seed.unwrap_or(1)) };
        let mut instance = Instance { object, handle, ports: Vec::new() };
        // SAFETY: the handle is alive.
        if unsafe { (object.face.ready)(handle) } == 0 {
            bail!("the model cannot be created: {}", instance.error());
        }
        for (index, (name, width, _)) in object.ports.iter().enumerate() {
            // SAFETY: the handle is alive and owns a model.
            let address = NonNull::new(unsafe { (object.face.port)(handle, index as u32) })
                .ok_or_else(|| anyhow!("the model has no storage for port {name}"))?;
            instance.ports.push((address, storage_bytes(*width)));
        }
        Ok(instance)
    }

    /// The storage of port `index`.
    #[inline]
    pub fn bytes(&self, index: usize) -> &[u8] {
        let (address, length) = self.ports[index];
        // SAFETY: the storage lives as long as `self` and only changes through `&mut self`.
        unsafe { std::slice::from_raw_parts(address.as_ptr(), length) }
    }

    /// The storage of port `index`, to be written.
    #[inline]
    pub fn bytes_mut(&mut self, index: usize) -> &mut [u8] {
        let (address, length) = self.ports[index];
        // SAFETY: as in `bytes`, and `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(address.as_ptr(), length) }
    }

    /// Lets combinational logic settle.
    #[inline]
    pub fn eval(&mut self) -> Result<(), String> {
        // SAFETY: the handle is alive; no reference into the model is.
        let code = unsafe { (self.object.face.eval)(self.handle) };
        self.check(code)
    }

    /// `count` cycles of the one-bit port `clock`.
    #[inline]
    pub fn ticks(&mut self, clock: usize, count: u64) -> Result<(), String> {
        let address = self.ports[clock].0.as_ptr();
        // SAFETY: as in `eval`; `address` is the storage of a port, at least one byte.
        let code = unsafe { (self.object.face.ticks)(self.handle, address, count) };
        self.check(code)
    }

    /// Cycles since the instance was made.
    pub fn cycle(&self) -> u64 {
        // SAFETY: the handle is alive.
        unsafe { (self.object.face.cycle)(self.handle) }
    }

    /// Whether the model has executed `$finish`.
    pub fn finished(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { (self.object.face.finished)(self.handle) != 0 }
    }

    /// Writes a wave into `pipe` from now on, which another thread must read.
    pub fn wave_open(&mut self, pipe: BorrowedFd<'_>, window: &Window) -> Result<()> {
        // SAFETY: the handle is alive, the shim copies `window`; the caller keeps the pipe open until `wave_close`, and a
        // closed one would be an error of `write`.
        let code = unsafe { (self.object.face.wave_open)(self.handle, pipe.as_raw_fd(), window) };
        self.check(code).map_err(|error| anyhow!("{error}"))
    }

    /// Ends the recording.
    pub fn wave_close(&mut self) {
        // SAFETY: the handle is alive.
        unsafe { (self.object.face.wave_close)(self.handle) }
    }

    #[inline]
    fn check(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            Ok(())
        } else {
            Err(self.error())
        }
    }

    fn error(&self) -> String {
        // SAFETY: the handle is alive; the shim's string lives until the next call, and we copy it.
        unsafe { CStr::from_ptr((self.object.face.error)(self.handle)) }.to_string_lossy().into_owned()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the handle is alive and never used again.
        unsafe { (self.object.face.free)(self.handle) }
    }
}
