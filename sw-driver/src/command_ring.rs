//! Command rings: posting many buffers, putting, getting and sending many frames with one register access.

use crate::access::halves;
use crate::put::{Reply, Target};
use crate::rvma::{refusal, Posted, Window};
use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::commands::{self, BYTES, MAX_COMMANDS};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, PAGE};
use spindle_contract::wire;

/// The command ring of a process, open.
#[derive(Debug)]
pub struct CommandRing {
    process: usize,
    base: u64,
    places: u32,
    /// Commands written, and those that the card had carried out when it was asked last.
    tail: u32,
    done: u32,
    /// Commands written before the last write of RING_TAIL.
    kicked: u32,
    /// Command that was made nothing of, and may still be reported as failed.
    mended: Option<u32>,
}

/// How a frame is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameOptions {
    /// Returned by the event.
    pub cookie: u16,
    /// The event SENT says when the frame has been read, and with it all frames of the process before it.
    pub event: bool,
    /// The card inserts a checksum, as `virtio_net_hdr` describes: the first byte of the sum, and the offset of the field from there.
    /// Both are even and at most 254, and the field lies in the frame; it holds the sum of the pseudo header. A checksum of 0 is
    /// inserted as 0xFFFF. The card refuses other places as a bad argument.
    pub checksum: Option<(u16, u16)>,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Allocates the command ring of a process and opens it; `places` is a power of two from 2 to 16384. One that the process had before
    /// is forgotten.
    pub fn open_commands(&mut self, process: usize, places: usize) -> Result<CommandRing> {
        if !places.is_power_of_two() || !(2..=MAX_COMMANDS).contains(&places) {
            return Err(Error::Argument(format!(
                "a command ring of {places} places cannot be had; choose a power of two from 2 to {MAX_COMMANDS}"
            )));
        }
        let bytes = places * BYTES;
        let base = self.memory.alloc(bytes, bytes)?;
        self.commands_command(process, base, bytes as u32)?;
        Ok(CommandRing { process, base, places: places as u32, tail: 0, done: 0, kicked: 0, mended: None })
    }

    /// Closes a ring. When this returns the card does not read its memory any more; commands that were not carried out never will be.
    pub fn close_commands(&mut self, ring: CommandRing) -> Result<()> {
        self.commands_command(ring.process, 0, 0)
    }

    fn commands_command(&mut self, process: usize, base: u64, bytes: u32) -> Result<()> {
        let [base_lo, base_hi] = halves(base);
        let staging = [
            (doorbell::BUFFER_LO, base_lo),
            (doorbell::BUFFER_HI, base_hi),
            (doorbell::SIZE, bytes),
            (doorbell::RING_TAIL, 0),
        ];
        self.ring(process, "open_commands", doorbell_command::OPEN_COMMANDS, &staging)?;
        Ok(())
    }

    /// Posts as many of these buffers as the ring has room for, and returns their number. Their records are zeroed.
    /// RING_TAIL is written once, for all.
    ///
    /// # Errors
    /// An earlier post could not be carried out: see [`Device::posts_left`].
    pub fn post_many(&mut self, ring: &mut CommandRing, window: Window, buffers: &[Posted]) -> Result<usize> {
        if window.process != ring.process {
            return Err(Error::Argument(format!(
                "the window belongs to process {}, the command ring to process {}",
                window.process, ring.process
            )));
        }
        self.check_window(window)?;
        let taken = buffers.len().min(self.command_room(ring, buffers.len())?);
        for posted in &buffers[..taken] {
            self.memory.write(posted.record, &[0; wire::RECORD_BYTES])?;
            self.add(ring, &post_command(window.mailbox, posted))?;
        }
        self.write_commands(ring)?;
        Ok(taken)
    }

    /// Adds a put to the ring, as [`Device::put`]; its event has the cookie as number. False: the ring is full. The card sees the
    /// command with the next [`Device::write_commands`], and reads the bytes until the event PUT.
    ///
    /// # Errors
    /// As [`Device::post_many`].
    pub fn add_put(
        &mut self,
        ring: &mut CommandRing,
        buffer: u64,
        length: u32,
        target: &Target,
        cookie: u16,
    ) -> Result<bool> {
        let (mode, epoch) = target.kind.mode();
        let head = send_head(commands::PUT, mode, cookie);
        self.add_if_room(
            ring,
            &with_target(
                target,
                &[
                    (commands::WORD_CODE, head),
                    (commands::WORD_SIZE, length),
                    (commands::WORD_BUFFER, halves(buffer)[0]),
                    (commands::WORD_BUFFER + 1, halves(buffer)[1]),
                    (commands::WORD_EPOCH, epoch.into()),
                ],
            ),
        )
    }

    /// Adds a get to the ring, as [`Device::get`] or, with `active`, [`Device::get_active`]; its event has the cookie as number. False:
    /// the ring is full.
    ///
    /// # Errors
    /// As [`Device::post_many`].
    pub fn add_get(
        &mut self,
        ring: &mut CommandRing,
        length: u32,
        source: &Target,
        reply: &Reply,
        active: bool,
        cookie: u16,
    ) -> Result<bool> {
        self.add_if_room(
            ring,
            &with_target(
                source,
                &[
                    (commands::WORD_CODE, send_head(commands::GET, active.into(), cookie)),
                    (commands::WORD_SIZE, length),
                    (commands::WORD_BUFFER, halves(reply.address)[0]),
                    (commands::WORD_BUFFER + 1, halves(reply.address)[1]),
                    (commands::WORD_REPLY_OFFSET, reply.offset),
                    (commands::WORD_EPOCH, reply.key),
                ],
            ),
        )
    }

    /// Adds a frame to the ring: 14 to 8192 bytes of host memory that leave as they are, but for a checksum that the card inserts. The
    /// process needs the right to send ([`Device::set_sender`]). Returns the number of commands up to this one, modulo 2^16, with which
    /// the event SENT names it; none if the ring is full.
    ///
    /// # Errors
    /// As [`Device::post_many`].
    pub fn add_frame(
        &mut self,
        ring: &mut CommandRing,
        address: u64,
        length: u32,
        options: FrameOptions,
    ) -> Result<Option<u16>> {
        let mut flags = commands::FRAME_EVENT * u32::from(options.event);
        let mut checksum = commands::Checksum::ZERO;
        if let Some((start, offset)) = options.checksum {
            flags |= commands::FRAME_CHECKSUM;
            checksum = checksum.with_start(start.into()).with_offset(offset.into());
        }
        let command = words(&[
            (commands::WORD_CODE, send_head(commands::SEND_FRAME, flags, options.cookie)),
            (commands::WORD_SIZE, length),
            (commands::WORD_BUFFER, halves(address)[0]),
            (commands::WORD_BUFFER + 1, halves(address)[1]),
            (commands::WORD_CHECKSUM, checksum.0),
        ]);
        Ok(self.add_if_room(ring, &command)?.then_some(ring.tail as u16))
    }

    /// Hands the card the commands that were added since the last call: one register write, none if there are none.
    pub fn write_commands(&mut self, ring: &mut CommandRing) -> Result<()> {
        if ring.kicked != ring.tail {
            self.write_tail(ring)?;
            ring.kicked = ring.tail;
        }
        Ok(())
    }

    /// Free places of a ring, of which so many are wanted: the card is asked only if there seem to be fewer.
    ///
    /// # Errors
    /// As [`Device::post_many`].
    pub fn command_room(&mut self, ring: &mut CommandRing, wanted: usize) -> Result<usize> {
        if ring.tail.wrapping_sub(ring.done) as usize + wanted > ring.places as usize {
            self.posts_left(ring)?;
        }
        Ok((ring.places - ring.tail.wrapping_sub(ring.done)) as usize)
    }

    fn add_if_room(&mut self, ring: &mut CommandRing, command: &[u8; BYTES]) -> Result<bool> {
        let room = self.command_room(ring, 1)? > 0;
        if room {
            self.add(ring, command)?;
        }
        Ok(room)
    }

    fn add(&mut self, ring: &mut CommandRing, command: &[u8; BYTES]) -> Result<()> {
        let at = ring.base + u64::from(ring.tail % ring.places) * BYTES as u64;
        self.memory.write(at, command)?;
        ring.tail = ring.tail.wrapping_add(1);
        Ok(())
    }

    /// How many posts of a ring have not been carried out. Posts that wait for a free buffer slot are tried again.
    ///
    /// # Errors
    /// The oldest of them cannot be carried out. The ring skips it, and continues with the next one.
    pub fn posts_left(&mut self, ring: &mut CommandRing) -> Result<u32> {
        let page = doorbell::BASE + ring.process as u32 * PAGE;
        let state = doorbell::RingDone(self.bar.read32(page + doorbell::RING_DONE)?);
        let ahead = u32::from((state.done() as u16).wrapping_sub(ring.done as u16));
        let waiting = ring.tail.wrapping_sub(ring.done);
        if ahead > waiting {
            return Err(Error::Implausible(format!(
                "{ahead} commands of a ring in which {waiting} waited as carried out"
            )));
        }
        ring.done = ring.done.wrapping_add(ahead);
        let left = waiting - ahead;
        match state.error() {
            doorbell_error::NONE => {}
            _ if ring.mended == Some(ring.done) => {}
            doorbell_error::NO_SLOT => self.write_tail(ring)?,
            code => {
                let at = ring.base + u64::from(ring.done % ring.places) * BYTES as u64;
                self.memory.write(at, &[commands::NOTHING; BYTES])?;
                ring.mended = Some(ring.done);
                self.write_tail(ring)?;
                return Err(Error::Doorbell { command: "post_many", why: refusal(code) });
            }
        }
        Ok(left)
    }

    /// Waits until all posts of a ring have been carried out, at most `cycles` cycles of the card.
    pub fn wait_posts(&mut self, ring: &mut CommandRing, cycles: u64) -> Result<()> {
        let mut patience = self.patience(cycles)?;
        while self.posts_left(ring)? > 0 {
            if self.is_over(&mut patience)? {
                return Err(Error::Timeout { what: format!("posts of process {}", ring.process), cycles });
            }
        }
        Ok(())
    }

    fn write_tail(&mut self, ring: &CommandRing) -> Result<()> {
        let page = doorbell::BASE + ring.process as u32 * PAGE;
        self.bar.write32(page + doorbell::RING_TAIL, ring.tail & 0xFFFF)
    }
}

/// A command of these words.
fn words(words: &[(usize, u32)]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (at, word) in words {
        bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The first word of PUT, GET and SEND_FRAME.
fn send_head(code: u8, flags: u32, cookie: u16) -> u32 {
    commands::Send::ZERO.with_code(code.into()).with_flags(flags).with_cookie(cookie.into()).0
}

/// A command of these words and those that name a remote mailbox.
fn with_target(target: &Target, rest: &[(usize, u32)]) -> [u8; BYTES] {
    let [addr_lo, addr_hi] = halves(target.address);
    let place = commands::Target::ZERO.with_node(target.node.into()).with_process(target.process.into());
    let named = [
        (commands::WORD_ADDR, addr_lo),
        (commands::WORD_ADDR + 1, addr_hi),
        (commands::WORD_KEY, target.key),
        (commands::WORD_OFFSET, target.offset),
        (commands::WORD_TARGET, place.0),
    ];
    words(&[&named, rest].concat())
}

/// The command that posts a buffer.
fn post_command(mailbox: u32, posted: &Posted) -> [u8; BYTES] {
    let head = commands::Head::ZERO.with_code(commands::POST_BUFFER.into()).with_mailbox(mailbox);
    let [buffer_lo, buffer_hi] = halves(posted.buffer);
    let [record_lo, record_hi] = halves(posted.record);
    words(&[
        (commands::WORD_CODE, head.0),
        (commands::WORD_SIZE, posted.size),
        (commands::WORD_BUFFER, buffer_lo),
        (commands::WORD_BUFFER + 1, buffer_hi),
        (commands::WORD_RECORD, record_lo),
        (commands::WORD_RECORD + 1, record_hi),
    ])
}
