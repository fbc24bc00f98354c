//! A block under test with typed ports: every port by its field in the block, every bundle watched for the stream law.
//!
//! ```no_run
//! # use spindle_harness::{Dut, WaveContext};
//! # use spindle_verilog::prelude::*;
//! #[block]
//! pub struct Counter {
//!     /// Words to count.
//!     pub write: Sink<Bits<8>>,
//!     /// Words that have come.
//!     pub count: Signal<Out, Bits<16>>,
//!     value: Reg<Bits<16>>,
//! }
//! # #[hdl] impl Counter { fn update(&mut self) { self.write.ready.next = true; self.count.next = self.value.q.val(); } }
//! # fn test(wave: &WaveContext) {
//! let dut = Dut::new(wave, Counter::default(), "counter");
//! dut.write.offer(Some(17)); // inputs of this cycle: payload and valid
//! dut.eval(); //               let combinational logic settle
//! assert!(dut.write.moves());
//! dut.tick(); //               check the stream law, go to the next cycle
//! assert_eq!(dut.count.number(), 1);
//!
//! dut.write.send(bits(3)); //  or: queue words, and let `step` offer them
//! dut.step();
//! # }
//! ```

use crate::model::{Model, Port};
use crate::source::Source;
use crate::stream::Pace;
use crate::wave::WaveContext;
use spindle_verilog::ports::{Channel, HasPorts, PortMaker, WireId, Wires};
use spindle_verilog::prelude::Block;
use std::cell::{Ref, RefCell, RefMut};
use std::collections::VecDeque;
use std::ops::Deref;
use std::rc::Rc;

/// The emitted text of a block, one file for each module. With `SPINDLE_EMIT=<folder>` it is written there too.
///
/// # Errors
/// The back end refuses the block.
pub fn source_of(block: &mut impl Block, top: &str) -> Result<Source, spindle_verilog::EmitError> {
    let design = spindle_verilog::emit(block, top)?;
    if let Ok(folder) = std::env::var("SPINDLE_EMIT") {
        let folder = std::path::Path::new(&folder).join(top);
        let written = std::fs::create_dir_all(&folder).and_then(|()| design.write_dir(&folder));
        written.unwrap_or_else(|error| panic!("SPINDLE_EMIT: {} cannot be written: {error}", folder.display()));
    }
    Ok(design.into())
}

/// A block under test. Its ports are the fields of `B::Ports`, which `#[block]` makes of the block's public fields.
///
/// At every [`tick`](Dut::tick) each bundle with `valid` and `ready` is checked, in either direction: `valid` does not fall
/// and the payload does not change until the word has moved; a `keep` is contiguous from byte 0, not empty, and full in
/// every beat but the last. A breach panics with the channel's name and the cycle.
pub struct Dut<B: HasPorts> {
    shared: Rc<Shared>,
    ports: B::Ports,
    reset: Option<Port>,
}

/// The model, and what happens at its channels.
struct Shared {
    model: RefCell<Model>,
    /// The ports that were looked up.
    ports: RefCell<Vec<Port>>,
    channels: RefCell<Vec<Watched>>,
}

/// A channel, the monitor of its law, and the words that the bench sends or has received.
struct Watched {
    channel: Channel,
    watched: bool,
    waiting: bool,
    held: Vec<u8>,
    moved: u64,
    stalls: u64,
    queue: VecDeque<Vec<u8>>,
    pace: Option<Pace>,
    offering: bool,
}

impl Watched {
    fn new(channel: Channel) -> Self {
        Self {
            channel,
            watched: true,
            waiting: false,
            held: vec![],
            moved: 0,
            stalls: 0,
            queue: VecDeque::new(),
            pace: None,
            offering: false,
        }
    }
}

impl Shared {
    fn port(&self, wire: WireId) -> Port {
        self.ports.borrow()[wire.index as usize]
    }
}

impl Wires for Shared {
    fn find(&self, name: &str) -> WireId {
        let port = self.model.borrow().port(name).unwrap_or_else(|error| panic!("{error:#}"));
        let mut ports = self.ports.borrow_mut();
        ports.push(port);
        WireId { index: ports.len() as u32 - 1, width: port.width() }
    }

    #[track_caller]
    fn set(&self, wire: WireId, value: u64) {
        self.model.borrow_mut().set(self.port(wire), value);
    }

    #[track_caller]
    fn get(&self, wire: WireId) -> u64 {
        self.model.borrow().get(self.port(wire))
    }

    #[track_caller]
    fn set_bytes(&self, wire: WireId, bytes: &[u8]) {
        self.model.borrow_mut().set_bytes(self.port(wire), bytes);
    }

    fn read(&self, wire: WireId, take: &mut dyn FnMut(&[u8])) {
        take(self.model.borrow().get_bytes(self.port(wire)));
    }

    fn send(&self, channel: usize, word: Vec<u8>) {
        let watched = &mut self.channels.borrow_mut()[channel];
        watched.pace.get_or_insert_with(Pace::always);
        watched.queue.push_back(word);
    }

    fn pending(&self, channel: usize) -> usize {
        self.channels.borrow()[channel].queue.len()
    }

    fn receive(&self, channel: usize) -> Option<Vec<u8>> {
        let watched = &mut self.channels.borrow_mut()[channel];
        let name = &watched.channel.name;
        assert!(watched.pace.is_some(), "`{name}` is not received; give the bench's pace there with Dut::set_pace");
        watched.queue.pop_front()
    }
}

impl<B: HasPorts> Deref for Dut<B> {
    type Target = B::Ports;
    fn deref(&self) -> &B::Ports {
        &self.ports
    }
}

impl<B: HasPorts + Block> Dut<B> {
    /// Emits, compiles, loads and resets a block; its waves are recorded when the test is repeated after a failure.
    pub fn new(wave: &WaveContext, mut block: B, top: &str) -> Self {
        let source = source_of(&mut block, top).unwrap_or_else(|error| panic!("{top}: {error}"));
        Self::of(wave, &source, &block)
    }

    /// The same with every register zero at the start, as rust-hdl's simulator has it, and without a reset.
    pub fn zeroed(mut block: B, top: &str) -> Self {
        let source = source_of(&mut block, top).unwrap_or_else(|error| panic!("{top}: {error}"));
        let library = Model::build(&source).unwrap_or_else(|error| panic!("{top}: {error:#}"));
        Self::over(library.instance_zeroed(), &block)
    }
}

impl<B: HasPorts> Dut<B> {
    /// Compiles, loads and resets a block that was emitted as `source`.
    pub fn of(wave: &WaveContext, source: &Source, block: &B) -> Self {
        let model = wave.model(source).unwrap_or_else(|error| panic!("{}: {error:#}", source.top));
        let dut = Self::over(model, block);
        dut.reset();
        dut
    }

    /// The typed ports of a running model of a block.
    pub fn over(model: Model, block: &B) -> Self {
        let reset = model.port("reset").ok();
        let shared =
            Rc::new(Shared { model: RefCell::new(model), ports: RefCell::default(), channels: RefCell::default() });
        let mut maker = PortMaker::new(shared.clone());
        let ports = block.ports("", &mut maker);
        *shared.channels.borrow_mut() = maker.into_channels().into_iter().map(Watched::new).collect();
        Self { shared, ports, reset }
    }

    /// The model, for what is not a port.
    pub fn model(&self) -> Ref<'_, Model> {
        self.shared.model.borrow()
    }

    /// The model, for agents that drive ports by name.
    pub fn model_mut(&self) -> RefMut<'_, Model> {
        self.shared.model.borrow_mut()
    }

    /// Cycles since the instance was made.
    pub fn cycle(&self) -> u64 {
        self.model().cycle()
    }

    /// Lets combinational logic settle.
    #[track_caller]
    pub fn eval(&self) {
        self.model_mut().eval();
    }

    /// Checks the stream law at every channel, and goes to the next cycle.
    #[track_caller]
    pub fn tick(&self) {
        self.check();
        self.model_mut().tick();
    }

    /// So many cycles with the inputs as they stand.
    #[track_caller]
    pub fn ticks(&self, count: u64) {
        (0..count).for_each(|_| self.tick());
    }

    /// Holds `reset` high for three cycles where there is one, and forgets what was under way.
    #[track_caller]
    pub fn reset(&self) {
        self.reset_for(3);
    }

    /// The same for so many cycles.
    #[track_caller]
    pub fn reset_for(&self, cycles: u64) {
        let mut model = self.model_mut();
        if self.reset.is_some() {
            model.reset(cycles);
        }
        model.eval();
        for watched in self.shared.channels.borrow_mut().iter_mut() {
            (watched.waiting, watched.offering) = (false, false);
            watched.queue.clear();
        }
    }

    /// When the bench is willing at a channel: to offer words that were sent, or to receive words, in [`Dut::step`].
    pub fn set_pace(&self, channel: usize, pace: Pace) {
        self.shared.channels.borrow_mut()[channel].pace = Some(pace);
    }

    /// One cycle: offers what was sent, receives what comes, and [`Dut::tick`].
    #[track_caller]
    pub fn step(&self) {
        self.drive();
        self.eval();
        self.sample();
        self.tick();
    }

    /// Sets `valid`, payload and `ready` of the channels that the bench plays by itself; before `eval`.
    pub fn drive(&self) {
        for watched in self.shared.channels.borrow_mut().iter_mut() {
            let Some(pace) = &mut watched.pace else { continue };
            let channel = &watched.channel;
            if channel.from_block {
                if let Some(ready) = channel.ready {
                    self.shared.set(ready, pace.decide().into());
                }
            } else {
                if !watched.offering {
                    watched.offering = !watched.queue.is_empty() && pace.decide();
                    if watched.offering {
                        self.shared.set_bytes(channel.payload[0], &watched.queue[0]);
                    }
                }
                self.shared.set(channel.valid, watched.offering.into());
            }
        }
    }

    /// Notices which words move at those channels; after `eval`.
    pub fn sample(&self) {
        let model = self.model();
        let high = |wire: WireId| model.is_set(self.shared.port(wire));
        for watched in self.shared.channels.borrow_mut().iter_mut().filter(|watched| watched.pace.is_some()) {
            let channel = &watched.channel;
            if high(channel.valid) && channel.ready.is_none_or(high) {
                if channel.from_block {
                    watched.queue.push_back(model.get_bytes(self.shared.port(channel.payload[0])).to_vec());
                } else {
                    watched.queue.pop_front();
                    watched.offering = false;
                }
            }
        }
    }

    /// Does not check the law at a channel: for inputs that keep no protocol, and signals that are no stream.
    pub fn ignore(&self, channel: usize) {
        self.shared.channels.borrow_mut()[channel].watched = false;
    }

    /// Does not check the law at any channel.
    pub fn ignore_all(&self) {
        self.shared.channels.borrow_mut().iter_mut().for_each(|watched| watched.watched = false);
    }

    /// Words that have moved at a channel, and cycles in which one waited.
    pub fn traffic(&self, channel: usize) -> (u64, u64) {
        let watched = &self.shared.channels.borrow()[channel];
        (watched.moved, watched.stalls)
    }

    /// Checks the stream law of this cycle at every channel.
    #[track_caller]
    fn check(&self) {
        self.eval();
        let model = self.model();
        let in_reset = self.reset.is_some_and(|reset| model.is_set(reset));
        for watched in self.shared.channels.borrow_mut().iter_mut().filter(|watched| watched.watched) {
            if in_reset {
                watched.waiting = false;
            } else {
                watched.check(&model, &self.shared);
            }
        }
    }
}

impl Watched {
    #[track_caller]
    fn check(&mut self, model: &Model, shared: &Shared) {
        let channel = &self.channel;
        let broken = |what: &str| -> ! {
            let side = if channel.from_block { "the block" } else { "the bench" };
            panic!("`{}`, cycle {}: {side} breaks the stream law: {what}", channel.name, model.cycle())
        };
        if !model.is_set(shared.port(channel.valid)) {
            if self.waiting {
                broken("valid fell before the word had moved");
            }
            return;
        }
        let parts = channel.payload.iter().map(|wire| model.get_bytes(shared.port(*wire)));
        if self.waiting && !parts.clone().flatten().eq(self.held.iter()) {
            broken("the payload changed while the word waited");
        }
        if let Some(keep) = channel.keep {
            let keep = model.get_bytes(shared.port(keep));
            let count: u32 = keep.iter().map(|byte| byte.count_ones()).sum();
            let last = channel.last.is_none_or(|last| model.is_set(shared.port(last)));
            let contiguous = (0..8 * keep.len()).all(|i| (keep[i / 8] >> (i % 8) & 1 == 1) == (i < count as usize));
            match count as usize {
                _ if !contiguous => broken("keep has a hole or does not begin at byte 0"),
                0 => broken("a beat without bytes"),
                count if !last && count != 8 * keep.len() => broken("a beat that is not the last is not full"),
                _ => {}
            }
        }
        if channel.ready.is_none_or(|ready| model.is_set(shared.port(ready))) {
            self.waiting = false;
            self.moved += 1;
        } else {
            self.stalls += 1;
            if !self.waiting {
                self.waiting = true;
                self.held.clear();
                parts.for_each(|part| self.held.extend_from_slice(part));
            }
        }
    }
}
