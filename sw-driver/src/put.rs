//! Puts and gets of a process: host memory into a mailbox of another node, and from there into a mailbox of its own.

use crate::access::halves;
use crate::rvma::refusal;
use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, mailbox_mode, rvma};

/// How a mailbox takes messages, as far as a sender must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Into the buffer whose turn it is.
    #[default]
    Bound,
    /// Into the buffer of this epoch, its low 16 bits.
    Tagged(u16),
    /// After the previous message; the offset is ignored.
    Managed,
    /// As `Managed`, in the order of the messages' ordinals, of which this is one: [`Stream`] counts them.
    Ordered(u16),
}

impl Kind {
    /// Bits of MODE, and the epoch.
    pub(crate) fn mode(self) -> (u32, u16) {
        match self {
            Kind::Bound => (0, 0),
            Kind::Tagged(epoch) => (mailbox_mode::TAGGED, epoch),
            Kind::Managed => (mailbox_mode::MANAGED, 0),
            Kind::Ordered(ordinal) => (mailbox_mode::STREAM, ordinal),
        }
    }
}

/// A place in a mailbox of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its number in the node table.
    pub node: u8,
    /// Process there.
    pub process: u16,
    /// Address of the mailbox.
    pub address: u64,
    /// Its key.
    pub key: u32,
    /// Offset in the mailbox's buffer.
    pub offset: u32,
    /// How it takes messages.
    pub kind: Kind,
}

/// The sender's end of a stream: a window that [`WindowOptions::stream`](crate::window::WindowOptions::stream) opened
/// takes what is put here in this order, whatever the network does. It belongs to one sender, whose card sends
/// reliably, and begins when the window is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    target: Target,
    /// Ordinal of the next message.
    next: u16,
}

impl Stream {
    /// A stream to this window; the offset and the kind of `target` do not count.
    pub fn new(target: Target) -> Self {
        Stream { target, next: 0 }
    }

    /// Where its next message goes.
    pub fn target(&self) -> Target {
        Target { offset: 0, kind: Kind::Ordered(self.next), ..self.target }
    }
}

/// Where the answer to a get goes: a mailbox of the process that sends the get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Address of the mailbox.
    pub address: u64,
    /// Its key.
    pub key: u32,
    /// Offset in the mailbox's buffer.
    pub offset: u32,
}

/// A put or get that the card has taken. The memory of a put must stay as it is until it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// Its number among all puts and gets of processes, modulo 2^16.
    pub number: u16,
}

/// Cycles for which a put may wait for the one before it: what the longest message takes to leave.
const PATIENCE: u64 = 1 << 32;

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Puts `length` bytes of host memory from `buffer` on, as one message. Returns when the card has taken the
    /// order, which is when the put before it has begun to leave. An empty put, of no bytes, names no memory; a
    /// window that counts operations counts it.
    pub fn put(&mut self, process: usize, buffer: u64, length: u32, target: &Target) -> Result<Put> {
        let (mode, epoch) = target.kind.mode();
        self.stage_bell(process, &[(doorbell::MODE, mode), (doorbell::COUNT, epoch.into())])?;
        self.order(process, "put", doorbell_command::PUT, buffer, length, target)
    }

    /// Puts `length` bytes into a stream, after the previous message. A message that the card does not accept takes no place in the stream.
    ///
    /// A message that the window refuses for good, because it is longer than what is left of the buffer, ends the
    /// stream: later messages are refused until the sender gives it up.
    pub fn put_next(&mut self, process: usize, buffer: u64, length: u32, stream: &mut Stream) -> Result<Put> {
        let put = self.put(process, buffer, length, &stream.target())?;
        stream.next = stream.next.wrapping_add(1);
        Ok(put)
    }

    /// Asks for `length` bytes of the buffer that a window of another node completed last, from `source.offset` on.
    /// They arrive as a put into `reply`'s window of this process. Returns when the card has taken the order.
    ///
    /// What the other node refuses never arrives; where the cards send reliably, the process's event ring has the reason.
    pub fn get(&mut self, process: usize, length: u32, source: &Target, reply: &Reply) -> Result<Put> {
        self.ask(process, length, source, reply, false)
    }

    /// As [`Device::get`], of the oldest buffer that is not complete, in its present state: what has been placed, and what
    /// lay there before. With no buffer posted it is asked again, where the cards send reliably, until there is one.
    pub fn get_active(&mut self, process: usize, length: u32, source: &Target, reply: &Reply) -> Result<Put> {
        self.ask(process, length, source, reply, true)
    }

    fn ask(&mut self, process: usize, length: u32, source: &Target, reply: &Reply, active: bool) -> Result<Put> {
        if length == 0 {
            return Err(Error::Argument("a get of no bytes; get at least one".into()));
        }
        let staging =
            [(doorbell::SIZE, reply.offset), (doorbell::RECORD_LO, reply.key), (doorbell::COUNT, active.into())];
        self.stage_bell(process, &staging)?;
        self.order(process, "get", doorbell_command::GET, reply.address, length, source)
    }

    fn order(
        &mut self,
        process: usize,
        name: &'static str,
        command: u32,
        buffer: u64,
        length: u32,
        target: &Target,
    ) -> Result<Put> {
        let staging = [
            (doorbell::BUFFER_LO, halves(buffer)[0]),
            (doorbell::BUFFER_HI, halves(buffer)[1]),
            (doorbell::LENGTH, length),
            (doorbell::NODE, target.node.into()),
            (doorbell::TARGET_PID, target.process.into()),
            (doorbell::ADDR_LO, halves(target.address)[0]),
            (doorbell::ADDR_HI, halves(target.address)[1]),
            (doorbell::KEY, target.key),
            (doorbell::OFFSET, target.offset),
        ];
        self.stage_bell(process, &staging)?;
        let mut patience = self.patience(PATIENCE)?;
        loop {
            match self.command(process, name, command)? {
                Ok(number) => return Ok(Put { number: number as u16 }),
                // The card keeps one put beside the one that leaves.
                Err(doorbell_error::NO_SLOT) if !self.is_over(&mut patience)? => {}
                Err(code) => return Err(Error::Doorbell { command: name, why: refusal(code) }),
            }
        }
    }

    /// Whether the last byte of a put has left: its memory may be used again. Asked within the 32768 puts that follow it.
    pub fn put_is_over(&mut self, put: &Put) -> Result<bool> {
        let over = self.bar.read32(rvma::BASE + rvma::HOST_PUTS_DONE)? as u16;
        Ok(over.wrapping_sub(put.number) < 1 << 15)
    }

    /// Waits until the last byte of a put has left, at most `cycles` cycles of the card.
    pub fn wait_put(&mut self, put: &Put, cycles: u64) -> Result<()> {
        let mut patience = self.patience(cycles)?;
        while !self.put_is_over(put)? {
            if self.is_over(&mut patience)? {
                return Err(Error::Timeout { what: format!("the end of put {}", put.number), cycles });
            }
        }
        Ok(())
    }

    /// Puts of processes that could not be sent, so far: to a node that does not exist, or from memory that could not be read.
    pub fn failed_puts(&mut self) -> Result<u32> {
        self.bar.read32(rvma::BASE + rvma::HOST_PUTS_FAILED)
    }
}
