//! Messages between hosts by RVMA and by RDMA, with the same NIC, for the cases that compare the two.
//!
//! * [`Way::Rvma`]: a put into a mailbox whose threshold is the length of a message; its record is the completion, in whatever order the
//!   packets come. Messages that may be under way at a time go to mailboxes of their own (*lanes*), so they may overtake each other.
//! * [`Way::Rdma`]: a write into memory whose address was exchanged once, and a send of one byte into a receive that was posted ahead. The
//!   send could overtake the write, so it leaves when the write has been acknowledged.
//! * [`Way::RdmaImm`]: a write with immediate: one message with one completion, which an RDMA NIC needs ordered routing for.
//!
//! All buffers and receives are posted before the clock runs. Sends that may leave together are started by one register write, and a host
//! that waits for a message sends what acknowledgements have freed meanwhile.

use crate::bench::{window_of, Host, Setting, KEY, PROCESS};
use anyhow::{bail, ensure, Result};
use spindle::rvma::Posted;
use spindle::window::{Counting, WindowOptions};
use spindle::{EventKind, EventRing, Target};

/// How messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Puts into mailboxes.
    Rvma,
    /// Writes, and sends after their acknowledgements.
    Rdma,
    /// Writes with immediate.
    RdmaImm,
}

impl Way {
    /// The way of a mode, and the setting with the routing that it allows.
    ///
    /// # Errors
    /// There is no such mode.
    pub fn of(mode: &str, setting: &Setting) -> Result<(Way, Setting)> {
        let way = match mode {
            "rvma" => Way::Rvma,
            "rdma" => Way::Rdma,
            "rdma-imm" => Way::RdmaImm,
            _ => bail!("mode `{mode}` is no way to send messages"),
        };
        Ok((way, Setting { adaptive: way != Way::RdmaImm, ..setting.clone() }))
    }
}

/// The messages of a channel: how long, how many in all, and how many may be under way at a time.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of each message.
    pub bytes: usize,
    /// Messages in all.
    pub messages: usize,
    /// Messages that may be under way at a time.
    pub lanes: usize,
}

/// The sender's end of a channel.
struct Outgoing {
    to: usize,
    number: usize,
    shape: Shape,
    /// Messages, one after another.
    memory: u64,
    sent: usize,
    /// Of RDMA: which writes were acknowledged, and how many of them were announced, in their order.
    acknowledged: Vec<bool>,
    announced: usize,
}

/// The receiver's end.
struct Incoming {
    shape: Shape,
    /// Messages, one after another.
    memory: u64,
    /// What ends each message.
    ends: Vec<Posted>,
    received: usize,
}

/// Channels of a host.
pub struct Endpoint {
    host: Host,
    way: Way,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// Of RDMA: ends of writes, and a byte to send.
    ring: Option<EventRing>,
    byte: u64,
}

/// Windows of a channel at its receiver: lanes, or memory and receives.
fn address(number: usize, lane: usize) -> u64 {
    ((number as u64 + 1) << 16) | lane as u64
}
const RECEIVES: usize = 0x8000;

impl Endpoint {
    /// A host without channels.
    ///
    /// # Errors
    /// The NIC refuses.
    pub fn new(host: Host, way: Way) -> Result<Endpoint> {
        let ring = if way == Way::Rdma { Some(host.nic(|nic| nic.open_ring(PROCESS, 512))?) } else { None };
        let byte = host.alloc(1)?;
        Ok(Endpoint { host, way, outgoing: Vec::new(), incoming: Vec::new(), ring, byte })
    }

    /// The end of a channel that sends; `number` is the receiver's.
    ///
    /// # Errors
    /// There is no memory.
    pub fn send_to(&mut self, to: usize, number: usize, shape: Shape) -> Result<()> {
        let memory = self.host.alloc(shape.bytes * shape.messages)?;
        let acknowledged = vec![false; shape.messages];
        self.outgoing.push(Outgoing { to, number, shape, memory, sent: 0, acknowledged, announced: 0 });
        Ok(())
    }

    /// The end of a channel that receives; its number is how many there were before. All its buffers are posted.
    ///
    /// # Errors
    /// The NIC has no room.
    pub fn receive_from(&mut self, shape: Shape) -> Result<()> {
        let number = self.incoming.len();
        let Shape { bytes, messages, lanes } = shape;
        let host = &self.host;
        let memory = host.alloc(bytes * messages)?;
        let counted = |address, threshold, counting| {
            let options = WindowOptions { address, key: KEY, threshold, counting, ..WindowOptions::default() };
            host.nic(|nic| nic.open_window(PROCESS, &options))
        };
        let mut ends = Vec::new();
        if self.way == Way::Rdma {
            // More operations than are ever done: memory that never completes.
            let window = counted(address(number, 0), u32::MAX, Counting::Operations)?;
            let posted = Posted { buffer: memory, size: (bytes * messages) as u32, record: host.alloc(64)? };
            host.nic(|nic| nic.post(window, posted))?;
            let receives = counted(address(number, RECEIVES), 1, Counting::Operations)?;
            for _ in 0..messages {
                let posted = Posted { buffer: host.alloc(1)?, size: 1, record: host.alloc(64)? };
                ends.push(host.nic(|nic| nic.post(receives, posted))?);
            }
        } else {
            let (threshold, counting) = match self.way {
                Way::Rvma => (bytes as u32, Counting::Bytes),
                _ => (1, Counting::Operations),
            };
            let windows = (0..lanes)
                .map(|lane| counted(address(number, lane), threshold, counting))
                .collect::<Result<Vec<_>, _>>()?;
            for message in 0..messages {
                let buffer = memory + (message * bytes) as u64;
                let posted = Posted { buffer, size: bytes as u32, record: host.alloc(64)? };
                ends.push(host.nic(|nic| nic.post(windows[message % lanes], posted))?);
            }
        }
        self.incoming.push(Incoming { shape, memory, ends, received: 0 });
        Ok(())
    }

    /// The host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// All bytes that a channel has received or will.
    ///
    /// # Errors
    /// The address is none.
    pub fn received(&self, channel: usize) -> Result<Vec<u8>> {
        let Incoming { shape, memory, .. } = &self.incoming[channel];
        self.host.read(*memory, shape.bytes * shape.messages)
    }

    /// Sends a message on each of these channels. Writing the bytes takes no time.
    ///
    /// # Errors
    /// The NIC refuses a message, or more are sent than were announced.
    pub async fn send(&mut self, messages: &[(usize, &[u8])]) -> Result<()> {
        let mut puts = Vec::new();
        for (channel, bytes) in messages {
            let out = &mut self.outgoing[*channel];
            let Shape { bytes: size, messages, lanes } = out.shape;
            ensure!(bytes.len() == size && out.sent < messages, "message {} of {} bytes", out.sent, bytes.len());
            let from = out.memory + (out.sent * size) as u64;
            self.host.write(from, bytes)?;
            let target = match self.way {
                Way::Rdma => window_of(out.to, address(out.number, 0), out.sent * size),
                Way::Rvma | Way::RdmaImm => window_of(out.to, address(out.number, out.sent % lanes), 0),
            };
            // The event of a write names it by this.
            puts.push((from, size, target, (channel << 8 | out.sent) as u16));
            out.sent += 1;
        }
        self.host.put_numbered(&puts).await
    }

    /// Waits for the next message of each of these channels.
    ///
    /// # Errors
    /// A message was refused.
    pub async fn receive(&mut self, channels: &[usize]) -> Result<Vec<Vec<u8>>> {
        let mut left = channels.to_vec();
        while !left.is_empty() {
            if let Some(channel) = self.progress(&left).await? {
                left.retain(|other| *other != channel);
            }
        }
        channels
            .iter()
            .map(|channel| {
                let Incoming { shape, memory, received, .. } = &self.incoming[*channel];
                self.host.read(memory + ((received - 1) * shape.bytes) as u64, shape.bytes)
            })
            .collect()
    }

    /// Sends what waits for acknowledgements.
    ///
    /// # Errors
    /// A message was refused.
    pub async fn flush(&mut self) -> Result<()> {
        while self.way == Way::Rdma && self.outgoing.iter().any(|out| out.announced < out.sent) {
            self.progress(&[]).await?;
        }
        Ok(())
    }

    /// Takes the next completion: a message of one of these channels, or the end of a write, which lets its send leave.
    async fn progress(&mut self, channels: &[usize]) -> Result<Option<usize>> {
        enum Taken {
            Message(usize),
            Write(usize, usize),
        }
        let (incoming, ring) = (&self.incoming, &mut self.ring);
        let next = |nic: &mut crate::bench::Node| -> Result<Option<Taken>> {
            while let Some(event) = match ring {
                Some(ring) => nic.poll_event(ring)?,
                None => None,
            } {
                match event.kind {
                    EventKind::Put { acknowledged: true, number, .. } if number != SEND => {
                        return Ok(Some(Taken::Write(usize::from(number >> 8), usize::from(number & 0xFF))))
                    }
                    // A program asks for no completion of its sends.
                    EventKind::Put { acknowledged: true, .. } => {}
                    other => bail!("{other:?} instead of the end of a put"),
                }
            }
            for channel in channels {
                let Incoming { ends, received, .. } = &incoming[*channel];
                if nic.poll(&ends[*received])?.is_some() {
                    return Ok(Some(Taken::Message(*channel)));
                }
            }
            Ok(None)
        };
        match self.host.until(next).await? {
            Taken::Message(channel) => {
                let incoming = &mut self.incoming[channel];
                self.host.record(&incoming.ends[incoming.received]).await?;
                incoming.received += 1;
                Ok(Some(channel))
            }
            Taken::Write(channel, message) => {
                let out = &mut self.outgoing[channel];
                out.acknowledged[message] = true;
                let mut sends: Vec<(u64, usize, Target, u16)> = Vec::new();
                while out.announced < out.sent && out.acknowledged[out.announced] {
                    sends.push((self.byte, 1, window_of(out.to, address(out.number, RECEIVES), 0), SEND));
                    out.announced += 1;
                }
                self.host.overhead().await;
                self.host.put_numbered(&sends).await?;
                Ok(None)
            }
        }
    }
}

/// Number of sends of one byte.
const SEND: u16 = u16::MAX;
