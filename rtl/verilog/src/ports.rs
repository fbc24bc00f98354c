//! The ports of a block as a bench sees them: one typed handle for each, resolved once.
//!
//! `#[block]` makes a structure of handles beside each block, which has the block's name and `Ports` after it, with one field
//! for each public field of the block. A signal becomes a [`Wire`], which keeps the signal's type and direction; a bundle
//! becomes the wires of its signals; arrays and vectors become vectors. The values come from something that implements
//! [`Wires`]: in the tests a model that Verilator made.
//!
//! A bundle with `valid` and `ready` is also a [`Channel`]: whoever runs the model can check the stream law there.

use crate::bundles::{PulsePorts, PulseSinkPorts, SinkPorts, SourcePorts};
use crate::packed::{BitReader, Packed};
use rust_hdl_core::prelude::{Bits, Clock, Direction, In, Signal, Synth};
use std::marker::PhantomData;
use std::rc::Rc;

/// A port of a running model: its place in the table of [`Wires`], and its width in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireId {
    /// Place in the table.
    pub index: u32,
    /// Width in bits.
    pub width: u32,
}

/// A running model whose ports can be set and read.
pub trait Wires {
    /// Looks a port up by its name in the emitted Verilog; panics with a sentence when there is none.
    fn find(&self, name: &str) -> WireId;
    /// Sets an input of at most 64 bits.
    fn set(&self, wire: WireId, value: u64);
    /// Reads a port of at most 64 bits.
    fn get(&self, wire: WireId) -> u64;
    /// Sets an input of any width; missing bytes are zero.
    fn set_bytes(&self, wire: WireId, bytes: &[u8]);
    /// Hands over the bytes of a port of any width.
    fn read(&self, wire: WireId, take: &mut dyn FnMut(&[u8]));
    /// Queues a word at a channel that the bench offers.
    fn send(&self, channel: usize, word: Vec<u8>);
    /// Words that are queued at a channel and have not moved.
    fn pending(&self, channel: usize) -> usize;
    /// The oldest word that has come out of a channel.
    fn receive(&self, channel: usize) -> Option<Vec<u8>>;
}

/// Words with a handshake: the signals of a bundle that the stream law concerns.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Name of its `valid` in the emitted Verilog.
    pub name: String,
    /// The word is offered.
    pub valid: WireId,
    /// The word is taken; a pulse has none.
    pub ready: Option<WireId>,
    /// What must not change while the word waits.
    pub payload: Vec<WireId>,
    /// Bytes that count in a beat, where the bundle has such a mask.
    pub keep: Option<WireId>,
    /// Last beat of a frame, where the bundle has that signal.
    pub last: Option<WireId>,
    /// The block offers, and the bench takes.
    pub from_block: bool,
}

/// Makes the handles of a block, and collects its channels.
pub struct PortMaker {
    wires: Rc<dyn Wires>,
    channels: Vec<Channel>,
}

impl PortMaker {
    /// A maker of handles to these wires.
    pub fn new(wires: Rc<dyn Wires>) -> Self {
        Self { wires, channels: vec![] }
    }

    /// The channels of all bundles that were made, in their order.
    pub fn into_channels(self) -> Vec<Channel> {
        self.channels
    }

    /// Notes a channel; `members` are the signals that go the way of `valid`, by their names in the bundle.
    pub fn channel(
        &mut self,
        bundle: &str,
        prefix: &str,
        ready: Option<WireId>,
        valid: WireId,
        members: &[(&str, WireId)],
        from_block: bool,
    ) -> usize {
        let member = |name: &str| members.iter().find(|m| m.0 == name).map(|m| m.1);
        self.channels.push(Channel {
            name: port_name(bundle, &format!("{prefix}valid")),
            valid,
            ready,
            payload: members.iter().map(|m| m.1).collect(),
            keep: member("keep"),
            last: member("last"),
            from_block,
        });
        self.channels.len() - 1
    }
}

/// The name of a port inside a bundle, as the back end writes it.
pub fn port_name(outer: &str, inner: &str) -> String {
    if outer.is_empty() {
        inner.to_string()
    } else {
        format!("{outer}_{inner}")
    }
}

/// What has ports: a signal, a bundle, a block, several of them.
pub trait HasPorts {
    /// The handles.
    type Ports;
    /// Makes the handles; `name` is the port's name in the emitted Verilog, empty for the block itself.
    fn ports(&self, name: &str, maker: &mut PortMaker) -> Self::Ports;
}

/// A port: a signal of direction `D` that carries a `T`.
pub struct Wire<D, T> {
    wires: Rc<dyn Wires>,
    id: WireId,
    types: PhantomData<fn() -> (D, T)>,
}

impl<D, T> Clone for Wire<D, T> {
    fn clone(&self) -> Self {
        Self { wires: self.wires.clone(), id: self.id, types: PhantomData }
    }
}

impl<D: Direction, T: Synth> HasPorts for Signal<D, T> {
    type Ports = Wire<D, T>;
    fn ports(&self, name: &str, maker: &mut PortMaker) -> Wire<D, T> {
        let id = maker.wires.find(name);
        let width = T::BITS.max(1);
        assert!(id.width as usize == width, "port `{name}` has {} bits, and its type {width}", id.width);
        Wire { wires: maker.wires.clone(), id, types: PhantomData }
    }
}

impl<P: HasPorts> HasPorts for Vec<P> {
    type Ports = Vec<P::Ports>;
    fn ports(&self, name: &str, maker: &mut PortMaker) -> Self::Ports {
        self.iter().enumerate().map(|(i, part)| part.ports(&port_name(name, &i.to_string()), maker)).collect()
    }
}

impl<P: HasPorts, const N: usize> HasPorts for [P; N] {
    type Ports = Vec<P::Ports>;
    fn ports(&self, name: &str, maker: &mut PortMaker) -> Self::Ports {
        self.iter().enumerate().map(|(i, part)| part.ports(&port_name(name, &i.to_string()), maker)).collect()
    }
}

impl<D, T> Wire<D, T> {
    /// Which port it is.
    pub fn id(&self) -> WireId {
        self.id
    }

    /// The value as a number, of a port of at most 64 bits.
    #[track_caller]
    pub fn number(&self) -> u64 {
        self.wires.get(self.id)
    }

    /// The bytes, least significant first.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![];
        self.wires.read(self.id, &mut |read| bytes = read.to_vec());
        bytes
    }

    /// Whether the port has these bytes, without a copy of them.
    pub fn has_bytes(&self, bytes: &[u8]) -> bool {
        let mut equal = false;
        self.wires.read(self.id, &mut |read| equal = read == bytes);
        equal
    }
}

impl<D, T: Packed> Wire<D, T> {
    /// The value.
    pub fn get(&self) -> T {
        let mut value = None;
        self.wires.read(self.id, &mut |bytes| value = Some(from_bytes(bytes)));
        value.expect("a port has bytes")
    }
}

impl<D> Wire<D, bool> {
    /// Whether the signal is high.
    pub fn is_high(&self) -> bool {
        self.wires.get(self.id) == 1
    }
}

impl<T> Wire<In, T> {
    /// Sets the input.
    #[track_caller]
    pub fn set(&self, value: impl Word<T>) {
        value.write(&*self.wires, self.id);
    }

    /// Sets the input from bytes, least significant first; missing bytes are zero.
    #[track_caller]
    pub fn set_bytes(&self, bytes: &[u8]) {
        self.wires.set_bytes(self.id, bytes);
    }
}

/// What an input of type `T` can be set to.
pub trait Word<T> {
    /// Sets the input.
    fn write(self, wires: &dyn Wires, wire: WireId);
}

macro_rules! number_words {
    ($($ty:ty)+) => { $(
        impl<const N: usize> Word<Bits<N>> for $ty {
            #[track_caller]
            fn write(self, wires: &dyn Wires, wire: WireId) {
                let value = u64::try_from(self).expect("a port is set to a number from 0 on");
                if wire.width > 64 {
                    wires.set_bytes(wire, &value.to_le_bytes());
                } else {
                    wires.set(wire, value);
                }
            }
        }
    )+ };
}
number_words!(u8 u16 u32 u64 usize i32);

impl<const N: usize> Word<Bits<N>> for Bits<N> {
    fn write(self, wires: &dyn Wires, wire: WireId) {
        if N <= 64 {
            wires.set(wire, self.into());
        } else {
            write_packed(self, wires, wire);
        }
    }
}

impl<const N: usize> Word<Bits<N>> for &[u8] {
    fn write(self, wires: &dyn Wires, wire: WireId) {
        wires.set_bytes(wire, self);
    }
}

impl<const N: usize, const M: usize> Word<Bits<N>> for &[u8; M] {
    fn write(self, wires: &dyn Wires, wire: WireId) {
        wires.set_bytes(wire, self);
    }
}

impl<const N: usize> Word<Bits<N>> for &Vec<u8> {
    fn write(self, wires: &dyn Wires, wire: WireId) {
        wires.set_bytes(wire, self);
    }
}

impl Word<bool> for bool {
    fn write(self, wires: &dyn Wires, wire: WireId) {
        wires.set(wire, self.into());
    }
}

impl Word<Clock> for bool {
    fn write(self, wires: &dyn Wires, wire: WireId) {
        wires.set(wire, self.into());
    }
}

/// Sets an input to a structure or a state.
#[doc(hidden)]
pub fn write_packed<T: Packed>(value: T, wires: &dyn Wires, wire: WireId) {
    wires.set_bytes(wire, &to_bytes(value));
}

/// The bytes of a value as they lie in a port, least significant first.
pub fn to_bytes<T: Packed>(value: T) -> Vec<u8> {
    let mut bits = Vec::with_capacity(T::BITS);
    value.write_bits(&mut bits);
    bytes_of(&bits)
}

// Beside the generic functions, so that they are compiled once and with this crate's optimisation.
fn bytes_of(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |n, bit| n << 1 | u8::from(*bit))).collect()
}

fn bits_of(bytes: &[u8], count: usize) -> Vec<bool> {
    (0..count).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1).collect()
}

/// The value that lies in the bytes of a port.
pub fn from_bytes<T: Packed>(bytes: &[u8]) -> T {
    T::read_bits(&mut BitReader::new(&bits_of(bytes, T::BITS)))
}

impl<T: Packed> SourcePorts<T> {
    /// The word that the block offers in this cycle.
    pub fn offered(&self) -> Option<T> {
        self.valid.is_high().then(|| self.payload.get())
    }

    /// The word that moves in this cycle.
    pub fn taken(&self) -> Option<T> {
        self.moves().then(|| self.payload.get())
    }

    /// The oldest word that the bench has taken and not handed over, where it takes words by itself.
    pub fn receive(&self) -> Option<T> {
        self.payload.wires.receive(self.channel()).map(|word| from_bytes(&word))
    }
}

impl<T: Packed> SinkPorts<T> {
    /// Queues a word: it is offered from a cycle on that the bench's pace chooses, until it moves.
    pub fn send(&self, word: T) {
        self.payload.wires.send(self.channel(), to_bytes(word));
    }

    /// Words that were sent and have not moved.
    pub fn pending(&self) -> usize {
        self.payload.wires.pending(self.channel())
    }
}

impl<T: Synth> SinkPorts<T> {
    /// Offers a word in this cycle, or none.
    pub fn offer<W: Word<T>>(&self, word: Option<W>) {
        self.valid.set(word.is_some());
        if let Some(word) = word {
            self.payload.set(word);
        }
    }
}

impl<T: Packed> PulsePorts<T> {
    /// The word of this cycle.
    pub fn offered(&self) -> Option<T> {
        self.valid.is_high().then(|| self.payload.get())
    }

    /// The oldest word that the bench has received and not handed over, where it receives words by itself.
    pub fn receive(&self) -> Option<T> {
        self.payload.wires.receive(self.channel()).map(|word| from_bytes(&word))
    }
}

impl<T: Synth> PulseSinkPorts<T> {
    /// Gives the block a word in this cycle, or none.
    pub fn offer<W: Word<T>>(&self, word: Option<W>) {
        self.valid.set(word.is_some());
        if let Some(word) = word {
            self.payload.set(word);
        }
    }
}
