//! The safe face of a loaded model: ports, evaluation, clocking, waves.

use crate::cache::Cache;
use crate::compile;
use crate::ffi::{Instance, Object, Window};
use crate::linked;
use crate::progress::Progress;
use crate::record::{Recording, WaveOptions};
use crate::source::Source;
use crate::substitute;
use anyhow::{anyhow, Context, Result};
use spindle_testing::Live;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Which way a port of the top module goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortDirection {
    /// Written by the bench.
    Input,
    /// Written by the model.
    Output,
}

/// A port of the top module, as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Its name in Verilog.
    pub name: String,
    /// Its width in bits.
    pub width: u32,
    /// Its direction.
    pub direction: PortDirection,
}

/// A port, looked up once. Valid for every instance of the library it came from.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    index: u32,
    width: u32,
    library: u32,
    input: bool,
}

impl Port {
    /// Width in bits.
    pub fn width(self) -> u32 {
        self.width
    }
}

/// A model that is loaded or linked, from which instances are made.
pub struct Library {
    id: u32,
    top: String,
    path: PathBuf,
    object: &'static Object,
    ports: Vec<PortInfo>,
}

impl Library {
    /// The ports of the top module, in the order of Verilator's header.
    pub fn ports(&self) -> &[PortInfo] {
        &self.ports
    }

    /// The file that holds the model: a shared object, or this program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An instance whose registers and memories start from random bits, always the same ones.
    pub fn instance(self: &Arc<Self>) -> Model {
        self.instance_with_seed(1)
    }

    /// An instance whose registers and memories start from random bits that depend on `seed`.
    pub fn instance_with_seed(self: &Arc<Self>, seed: u64) -> Model {
        // Verilator takes 31 bits, and 0 would mean "by the time of day".
        let folded = ((seed ^ (seed >> 31) ^ (seed >> 62)) & 0x7fff_ffff) as i32;
        Model::new(self.clone(), Some(folded.max(1)))
    }

    /// An instance whose registers and memories start from zero.
    pub fn instance_zeroed(self: &Arc<Self>) -> Model {
        Model::new(self.clone(), None)
    }

    fn port(&self, name: &str) -> Result<Port> {
        let index = self.ports.iter().position(|port| port.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
            anyhow!("`{}` has no port `{name}`; its ports are {}", self.top, names.join(", "))
        })?;
        let info = &self.ports[index];
        let input = info.direction == PortDirection::Input;
        Ok(Port { index: index as u32, width: info.width, library: self.id, input })
    }
}

/// One running instance. See the crate's page for the sampling convention.
///
/// Misuse of a port (a value too wide, an output written, a port of another library) and a model that gives up
/// (`$fatal`, logic that does not settle) panic with a sentence: in a bench that is a failed test.
pub struct Model {
    instance: Instance,
    library: Arc<Library>,
    clock: Option<Port>,
    wave: Option<Recording>,
    /// Receives the cycle of the instance when the instance is dropped.
    last_cycle: Option<Arc<AtomicU64>>,
    /// Names block and cycle in a failure.
    live: Live,
    /// An input has changed since the last evaluation.
    changed: bool,
}

impl Model {
    /// Takes the model of `source` that is linked into the program, or else that in the cache, or else compiles it.
    pub fn build(source: &Source) -> Result<Arc<Library>> {
        Model::build_with(source, &Progress::silent())
    }

    /// As [`Model::build`]; `progress` shows the compilation if there is one.
    pub fn build_with(source: &Source, progress: &Progress) -> Result<Arc<Library>> {
        static OPEN: Mutex<Option<HashMap<PathBuf, Arc<Library>>>> = Mutex::new(None);
        let source = &*substitute::design(source)?;
        let opened = || OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = |key: &PathBuf| opened().as_ref().and_then(|open| open.get(key)).cloned();
        let linked = match linked::linked() {
            [] => None,
            _ => linked::find(&compile::fingerprint(source)?),
        };
        let (key, path, object) = if let Some(linked) = linked {
            // No cache is opened and no tool is looked for.
            let key = PathBuf::from(linked.fingerprint);
            if let Some(library) = known(&key) {
                return Ok(library);
            }
            (key, std::env::current_exe().unwrap_or_default(), Object::linked(linked.face))
        } else {
            let cache = Cache::open()?;
            let name = compile::name(source, &cache)?;
            let key = cache.path(&name.model);
            if let Some(library) = known(&key) {
                return Ok(library);
            }
            // Not while the list is locked: a build takes minutes, and other threads may build other models.
            let checked = compile::shared_object(source, &name, &cache, progress)?;
            (key, checked.path.clone(), Object::open(checked)?)
        };
        let mut open = opened();
        let open = open.get_or_insert_with(HashMap::new);
        if let Some(library) = open.get(&key) {
            return Ok(library.clone());
        }
        let object: &'static Object = Box::leak(Box::new(object));
        let direction = |output| if output { PortDirection::Output } else { PortDirection::Input };
        let ports = object
            .ports
            .iter()
            .map(|(name, width, output)| PortInfo { name: name.clone(), width: *width, direction: direction(*output) })
            .collect();
        let library = Arc::new(Library { id: open.len() as u32, top: source.top.clone(), path, object, ports });
        open.insert(key, library.clone());
        Ok(library)
    }

    fn new(library: Arc<Library>, seed: Option<i32>) -> Model {
        let mut instance =
            Instance::new(library.object, seed).unwrap_or_else(|error| panic!("{}: {error:#}", library.top));
        for (index, port) in library.ports.iter().enumerate() {
            if port.direction == PortDirection::Input {
                instance.bytes_mut(index).fill(0);
            }
        }
        let clock = library.port("clock").ok().filter(|port| port.width == 1 && port.input);
        let live = Live::new(&library.top);
        let mut model = Model { instance, library, clock, wave: None, last_cycle: None, live, changed: true };
        model.eval();
        model
    }

    /// The library this instance belongs to.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// Looks a port up by name.
    pub fn port(&self, name: &str) -> Result<Port> {
        self.library.port(name)
    }

    /// Whether there is a port of this name.
    pub fn has_port(&self, name: &str) -> bool {
        self.library.ports.iter().any(|port| port.name == name)
    }

    /// Names the clock that [`Model::tick`] drives; `clock` unless said otherwise.
    pub fn set_clock(&mut self, name: &str) -> Result<()> {
        let port = self.port(name)?;
        if port.width != 1 || !port.input {
            return Err(anyhow!("`{name}` cannot be the clock; name a one-bit input"));
        }
        self.clock = Some(port);
        Ok(())
    }

    /// Sets an input of at most 64 bits.
    #[inline]
    #[track_caller]
    pub fn set(&mut self, port: Port, value: u64) {
        self.check(port, true);
        if port.width > 64 || (port.width < 64 && value >> port.width != 0) {
            self.refuse(port, &format!("the value {value:#x} does not fit it; use set_bytes above 64 bits"));
        }
        let storage = self.instance.bytes_mut(port.index as usize);
        let value = value.to_le_bytes();
        let value = &value[..storage.len()];
        if storage != value {
            storage.copy_from_slice(value);
            self.changed = true;
        }
    }

    /// Reads a port of at most 64 bits.
    #[inline]
    #[track_caller]
    pub fn get(&self, port: Port) -> u64 {
        self.check(port, false);
        if port.width > 64 {
            self.refuse(port, "it has more than 64 bits; use get_bytes");
        }
        match *self.instance.bytes(port.index as usize) {
            [a] => a.into(),
            [a, b] => u16::from_le_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
            ref wide => u64::from_le_bytes(wide.try_into().expect("storage of 33 to 64 bits is 8 bytes")),
        }
    }

    /// Whether a port has any bit set.
    #[inline]
    #[track_caller]
    pub fn is_set(&self, port: Port) -> bool {
        self.check(port, false);
        self.instance.bytes(port.index as usize).iter().any(|byte| *byte != 0)
    }

    /// Sets an input of any width from bytes, least significant first; missing bytes are zero.
    #[inline]
    #[track_caller]
    pub fn set_bytes(&mut self, port: Port, bytes: &[u8]) {
        self.check(port, true);
        let used = port.width.div_ceil(8) as usize;
        let spare = used as u32 * 8 - port.width;
        if bytes.len() > used || (bytes.len() == used && u32::from(bytes[used - 1]) >> (8 - spare) != 0) {
            self.refuse(port, &format!("a value of {} bytes does not fit it", bytes.len()));
        }
        let storage = self.instance.bytes_mut(port.index as usize);
        storage[..bytes.len()].copy_from_slice(bytes);
        storage[bytes.len()..].fill(0);
        self.changed = true;
    }

    /// The bytes of a port of any width, least significant first: `ceil(width / 8)` of them.
    #[inline]
    #[track_caller]
    pub fn get_bytes(&self, port: Port) -> &[u8] {
        self.check(port, false);
        &self.instance.bytes(port.index as usize)[..port.width.div_ceil(8) as usize]
    }

    /// Sets an input of any width from 32-bit words, least significant first; missing words are zero.
    #[track_caller]
    pub fn set_words(&mut self, port: Port, words: &[u32]) {
        let used = port.width.div_ceil(8) as usize;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (head, tail) = bytes.split_at(used.min(bytes.len()));
        if tail.iter().any(|byte| *byte != 0) {
            self.refuse(port, &format!("a value of {} words does not fit it", words.len()));
        }
        self.set_bytes(port, head);
    }

    /// A port of any width as 32-bit words, least significant first.
    #[track_caller]
    pub fn get_words(&self, port: Port) -> Vec<u32> {
        let word = |part: &[u8]| part.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        self.get_bytes(port).chunks(4).map(word).collect()
    }

    /// Lets combinational logic settle after inputs have changed; costs nothing when none has.
    #[inline]
    #[track_caller]
    pub fn eval(&mut self) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        if let Err(error) = self.instance.eval() {
            self.give_up(&error);
        }
    }

    /// Takes the rising edge with the inputs as they stand, then the falling edge.
    #[inline]
    #[track_caller]
    pub fn tick(&mut self) {
        self.ticks(1);
    }

    /// `count` cycles with the inputs as they stand, without coming back in between.
    #[inline]
    #[track_caller]
    pub fn ticks(&mut self, count: u64) {
        let Some(clock) = self.clock else {
            panic!("`{}` has no one-bit input `clock`; name its clock with set_clock", self.library.top)
        };
        if let Err(error) = self.instance.ticks(clock.index as usize, count) {
            self.give_up(&error);
        }
        self.live.at(self.instance.cycle());
    }

    /// Holds the input `reset` high for `cycles` cycles.
    #[track_caller]
    pub fn reset(&mut self, cycles: u64) {
        let reset = self.port("reset").unwrap_or_else(|error| panic!("{error}"));
        self.set(reset, 1);
        self.ticks(cycles);
        self.set(reset, 0);
        self.eval();
    }

    /// Cycles since the instance was made.
    pub fn cycle(&self) -> u64 {
        self.instance.cycle()
    }

    /// Whether the model has executed `$finish`.
    pub fn finished(&self) -> bool {
        self.instance.finished()
    }

    /// Records every signal from now on, with the times of [`WaveOptions::default`].
    pub fn trace_open(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.trace_open_with(path, &WaveOptions::default())
    }

    /// Records every signal from cycle `from` on.
    pub fn trace_open_at(&mut self, path: impl AsRef<Path>, from: u64) -> Result<()> {
        self.trace_open_with(path, &WaveOptions { window: from..u64::MAX, ..WaveOptions::default() })
    }

    /// Records into a file: FST if its name ends in `.fst`, else VCD. Cycle `n` begins `n` periods after cycle 0 and
    /// its rising edge, which ends the cycle, is half a period later.
    ///
    /// # Errors
    /// The model was built without wave recording, the file cannot be written, or a scope is not in the design.
    pub fn trace_open_with(&mut self, path: impl AsRef<Path>, options: &WaveOptions) -> Result<()> {
        self.trace_close()?;
        let window = Window {
            from: options.window.start.max(self.cycle()),
            until: options.window.end,
            origin: options.origin,
            period: options.period_ps,
        };
        let recording = Recording::start(path.as_ref(), options)?;
        // Errors of the file and of the selection are known when the header has been written.
        let opened = self.instance.wave_open(recording.pipe(), &window).and_then(|()| recording.wait_until_ready());
        self.wave = Some(recording);
        if opened.is_err() {
            self.trace_close().ok();
            let _ = std::fs::remove_file(path.as_ref());
        }
        opened.with_context(|| format!("no wave at {}", path.as_ref().display()))
    }

    /// Has `cycle` written when the instance is dropped: the cycle that it had come to.
    pub(crate) fn report_last_cycle(&mut self, cycle: Arc<AtomicU64>) {
        self.last_cycle = Some(cycle);
    }

    /// Ends the recording; dropping the model does so too.
    ///
    /// # Errors
    /// The file could not be written to its end.
    pub fn trace_close(&mut self) -> Result<()> {
        self.instance.wave_close();
        self.wave.take().map_or(Ok(()), Recording::finish)
    }

    #[inline]
    #[track_caller]
    fn check(&self, port: Port, write: bool) {
        if port.library != self.library.id {
            panic!("a port of another model was used with `{}`; look it up with port()", self.library.top);
        }
        if write && !port.input {
            self.refuse(port, "it is an output and cannot be set");
        }
    }

    #[cold]
    #[track_caller]
    fn refuse(&self, port: Port, why: &str) -> ! {
        let name = &self.library.ports[port.index as usize].name;
        panic!("port `{name}` of `{}` is {} bits wide: {why}", self.library.top, port.width)
    }

    #[cold]
    #[track_caller]
    fn give_up(&self, error: &str) -> ! {
        panic!("`{}` gave up in cycle {}: {error}", self.library.top, self.cycle())
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(last) = &self.last_cycle {
            last.store(self.cycle(), Ordering::Relaxed);
        }
        if let (true, Some(wave)) = (std::thread::panicking(), &self.wave) {
            eprintln!("`{}` stopped in cycle {}; wave: {}", self.library.top, self.cycle(), wave.path().display());
        }
        if let Err(error) = self.trace_close() {
            eprintln!("`{}`: {error:#}", self.library.top);
        }
    }
}
