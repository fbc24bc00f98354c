//! Frames between the host and the wire: a window that receives whole frames, and frames sent through the command ring.
//!
//! [`Device::open_frames`] opens a window of frames with its buffers, an event ring and a command ring for a process, and lets the
//! process send. [`Device::frames_to_host`] chooses the frames: those of rules with the action HOST, and on request those that match no
//! rule. [`Device::receive_frame`] copies a frame out of its buffer and posts full buffers again; [`Device::send_frames`] sends many
//! frames with one register write.

use crate::command_ring::{CommandRing, FrameOptions};
use crate::rvma::{Posted, Window};
use crate::window::WindowOptions;
use crate::{Arrived, Bar, Device, Error, Event, EventKind, EventRing, HostMemory, Result};
use spindle_contract::params::MAX_FRAME;
use spindle_contract::registers::{packet, rvma};
use spindle_contract::{commands, wire};
use std::collections::VecDeque;

/// Address of the mailbox of the frames of a process. No packet can name the mailbox: a window of frames takes frames alone.
const ADDRESS: u64 = 0x4652_414D_4553;
/// Bytes below which a buffer retires: the longest frame, in multiples of 64.
const LONGEST: u32 = (MAX_FRAME as u32).next_multiple_of(64);
/// Records of the event ring.
const EVENTS: usize = 1024;
/// Commands of the command ring, which posts buffers too.
const COMMANDS: usize = 256;
/// Places of the pool from which frames are sent.
const SENDING: u32 = 64;
/// Frames after which the card reports with an event that they have been read.
const EVENT_EVERY: u32 = 16;
/// Cycles in which the card carries out the first posts.
const PATIENCE: u64 = 1 << 20;

/// A frame from the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// Bytes, without frame check sequence.
    pub bytes: Vec<u8>,
    /// Number, time, rule and checksums.
    pub arrived: Arrived,
}

/// A frame to send: its bytes, and the checksum that is inserted (see [`Device::send_frame`]).
pub type FrameToSend<'a> = (&'a [u8], Option<(u16, u16)>);

/// A process that receives and sends frames.
#[derive(Debug)]
pub struct Frames {
    window: Window,
    events: EventRing,
    ring: CommandRing,
    /// Buffers in the order in which they are filled.
    buffers: VecDeque<Posted>,
    /// Bytes that the frames received so far take in the first of them.
    taken: u32,
    /// Address of the pool; frames written to it, and frames of it that the card has read.
    pool: u64,
    sent: u32,
    read: u32,
    /// For each frame that may not have been read: the commands up to it.
    numbers: VecDeque<u16>,
    /// A frame that could not be given out, because a buffer could not be posted again.
    kept: Option<ReceivedFrame>,
    /// Events about other things.
    others: VecDeque<Event>,
    lost: u64,
}

impl Frames {
    /// The window that receives the frames.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Events of the process that are not about frames, oldest first.
    pub fn other_events(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.others.drain(..)
    }

    /// Events that found the event ring full; events of received frames are never among them.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Frames that the card has not read yet, as far as is known: at most 64.
    pub fn sending(&self) -> usize {
        self.sent.wrapping_sub(self.read) as usize
    }

    /// The card has read all frames up to this command.
    fn note_read(&mut self, commands: u16) {
        while self.numbers.front().is_some_and(|&number| commands.wrapping_sub(number) < 1 << 15) {
            self.numbers.pop_front();
            self.read = self.read.wrapping_add(1);
        }
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Prepares a process for frames: a window with so many `buffers` of so many `bytes` each, an event ring, a command ring, and the
    /// right to send. Rings that the process had before are forgotten. The window gets frames with [`Device::frames_to_host`].
    ///
    /// # Errors
    /// `bytes` is no multiple of 64 or less than two frames of the greatest length; the card refuses the window.
    pub fn open_frames(&mut self, process: usize, buffers: usize, bytes: u32) -> Result<Frames> {
        if buffers == 0 || !bytes.is_multiple_of(64) || bytes < 2 * LONGEST {
            return Err(Error::Argument(format!(
                "{buffers} buffers of {bytes} bytes cannot receive frames; choose at least one, of a multiple of 64 bytes and at \
                 least {} bytes",
                2 * LONGEST
            )));
        }
        let pool = self.memory.alloc(SENDING as usize * commands::MAX_FRAME, 64)?;
        let events = self.open_ring(process, EVENTS)?;
        let ring = self.open_commands(process, COMMANDS)?;
        let options = WindowOptions {
            address: ADDRESS,
            threshold: LONGEST,
            managed: true,
            silent: true,
            frames: true,
            ..WindowOptions::default()
        };
        let window = self.open_window(process, &options)?;
        let mut frames = Frames {
            window,
            events,
            ring,
            buffers: VecDeque::new(),
            taken: 0,
            pool,
            sent: 0,
            read: 0,
            numbers: VecDeque::new(),
            kept: None,
            others: VecDeque::new(),
            lost: 0,
        };
        for _ in 0..buffers {
            let buffer = self.memory.alloc(bytes as usize, 64)?;
            let record = self.memory.alloc(wire::RECORD_BYTES, wire::RECORD_BYTES)?;
            self.post_frames_buffer(&mut frames, Posted { buffer, size: bytes, record })?;
        }
        self.wait_posts(&mut frames.ring, PATIENCE)?;
        self.set_sender(process, true)?;
        Ok(frames)
    }

    fn post_frames_buffer(&mut self, frames: &mut Frames, posted: Posted) -> Result<()> {
        if self.post_many(&mut frames.ring, frames.window, &[posted])? == 0 {
            self.wait_posts(&mut frames.ring, PATIENCE)?;
            self.post_many(&mut frames.ring, frames.window, &[posted])?;
        }
        frames.buffers.push_back(posted);
        Ok(())
    }

    /// Sends the frames for the host to this window from now on: those of rules with the action HOST and, with `unmatched`, those that
    /// match no rule and are no Spindle packets. `None`: such frames are dropped.
    pub fn frames_to_host(&mut self, window: Option<Window>, unmatched: bool) -> Result<()> {
        let mut chosen = packet::HostWindow::ZERO;
        if let Some(window) = window {
            self.check_window(window)?;
            chosen = chosen.with_mailbox(window.mailbox).with_process(window.process as u32).with_valid(true);
        }
        self.bar.write32(packet::BASE + packet::HOST_WINDOW, chosen.0)?;
        let control = packet::Control(self.bar.read32(packet::BASE + packet::CONTROL)?);
        let control = control.with_host_unmatched(unmatched && window.is_some());
        self.bar.write32(packet::BASE + packet::CONTROL, control.0)
    }

    /// Gives a process the right to send frames, or takes the right away. Frames that have begun to leave go on.
    pub fn set_sender(&mut self, process: usize, may: bool) -> Result<()> {
        self.check_process(process)?;
        let register = rvma::BASE + rvma::SENDERS + 4 * (process as u32 / 32);
        let bit = 1 << (process % 32);
        let senders = self.bar.read32(register)?;
        self.bar.write32(register, if may { senders | bit } else { senders & !bit })
    }

    /// The next frame that has arrived, if there is one. Looking costs no register access; places of the event ring and full buffers
    /// are given back now and then.
    ///
    /// # Errors
    /// A buffer cannot be posted again: see [`Device::posts_left`]. The frame comes with the next call, and the buffer is tried again
    /// with later frames.
    pub fn receive_frame(&mut self, frames: &mut Frames) -> Result<Option<ReceivedFrame>> {
        if let Some(frame) = frames.kept.take() {
            return Ok(Some(frame));
        }
        while let Some(event) = self.poll_event(&mut frames.events)? {
            match event.kind {
                EventKind::Frame(arrived) if !arrived.host_error => {
                    check_frame(frames, &arrived)?;
                    let mut bytes = vec![0; arrived.length as usize];
                    self.memory.read(arrived.address, &mut bytes)?;
                    let frame = ReceivedFrame { bytes, arrived };
                    if let Err(error) = self.take_frame(frames, &arrived) {
                        frames.kept = Some(frame);
                        return Err(error);
                    }
                    return Ok(Some(frame));
                }
                EventKind::Frame(_) => {}
                EventKind::Sent { commands, .. } => frames.note_read(commands),
                EventKind::Lost(count) => frames.lost += u64::from(count),
                _ => frames.others.push_back(event),
            }
        }
        Ok(None)
    }

    /// Posts buffers again that are empty now that the bytes of this frame have been copied.
    fn take_frame(&mut self, frames: &mut Frames, arrived: &Arrived) -> Result<()> {
        self.repost_before(frames, arrived.address)?;
        frames.taken = frames.taken.saturating_add(arrived.length.next_multiple_of(64));
        self.repost_if_empty(frames)
    }

    /// Posts the buffers before the one with this address again. Frames fill buffers in the order of posting, and their events come in
    /// the order of the frames, so every frame of those buffers has been received.
    fn repost_before(&mut self, frames: &mut Frames, address: u64) -> Result<()> {
        let holds = |posted: &Posted| (posted.buffer..posted.buffer + u64::from(posted.size)).contains(&address);
        while let Some(&oldest) = frames.buffers.front() {
            if holds(&oldest) || self.poll(&oldest)?.is_none() {
                break;
            }
            self.repost(frames)?;
        }
        Ok(())
    }

    /// Posts the first buffer again if it is complete and all of its frames have been received.
    fn repost_if_empty(&mut self, frames: &mut Frames) -> Result<()> {
        match frames.buffers.front().map(|oldest| self.poll(oldest)).transpose()?.flatten() {
            Some(completed) if completed.length == frames.taken => self.repost(frames),
            _ => Ok(()),
        }
    }

    fn repost(&mut self, frames: &mut Frames) -> Result<()> {
        if let Some(&oldest) = frames.buffers.front() {
            self.post_frames_buffer(frames, oldest)?;
            frames.buffers.pop_front();
            frames.taken = 0;
        }
        Ok(())
    }

    /// Sends a frame of 14 to 8192 bytes, without frame check sequence; the MAC pads it to 60 bytes. With `checksum`, the first byte of a
    /// sum and the offset of its field from there, the card inserts the checksum (see [`FrameOptions::checksum`]). False: 64 frames
    /// wait to be read by the card; receive, and try again.
    pub fn send_frame(&mut self, frames: &mut Frames, bytes: &[u8], checksum: Option<(u16, u16)>) -> Result<bool> {
        Ok(self.send_frames(frames, &[(bytes, checksum)])? == 1)
    }

    /// Sends as many of these frames as there is room for, with one register write, and returns their number. There is room again after
    /// [`Device::receive_frame`] has seen the events of frames that were read.
    ///
    /// # Errors
    /// A frame is too short or too long, or the card cannot insert its checksum; those before it are sent with the next call.
    pub fn send_frames(&mut self, frames: &mut Frames, batch: &[FrameToSend]) -> Result<usize> {
        let mut sent = 0;
        for (bytes, checksum) in batch {
            if !(commands::MIN_FRAME..=commands::MAX_FRAME).contains(&bytes.len()) {
                return Err(Error::Argument(format!(
                    "a frame of {} bytes cannot be sent; choose {} to {} bytes",
                    bytes.len(),
                    commands::MIN_FRAME,
                    commands::MAX_FRAME
                )));
            }
            checksum.map_or(Ok(()), |place| check_checksum(bytes.len(), place))?;
            if frames.sending() == SENDING as usize {
                break;
            }
            let address = frames.pool + u64::from(frames.sent % SENDING) * commands::MAX_FRAME as u64;
            self.memory.write(address, bytes)?;
            let event = frames.sent.wrapping_add(1).is_multiple_of(EVENT_EVERY);
            let options = FrameOptions { cookie: frames.sent as u16, event, checksum: *checksum };
            let Some(number) = self.add_frame(&mut frames.ring, address, bytes.len() as u32, options)? else { break };
            frames.numbers.push_back(number);
            frames.sent = frames.sent.wrapping_add(1);
            sent += 1;
        }
        self.write_commands(&mut frames.ring)?;
        Ok(sent)
    }

    /// Ends it: no more frames go to the window, the process loses the right to send, its window and its rings are closed. Frames that
    /// the command ring has handed on leave first; commands after them are not carried out. When this returns, the card does not use
    /// the memory of rings, buffers and frames any more.
    ///
    /// # Errors
    /// The wire takes no frames, so the card has not read all that were handed on: their memory must stay until a reset.
    pub fn close_frames(&mut self, frames: Frames) -> Result<()> {
        self.frames_to_host(None, false)?;
        self.close_commands(frames.ring)?;
        self.set_sender(frames.window.process, false)?;
        self.close_window(frames.window)?;
        self.close_ring(frames.events)?;
        self.wait_frames_read(PATIENCE)
    }

    /// Waits until the card has read all frames that command rings of any process have handed on before this call, at most `cycles`
    /// cycles of the card.
    pub fn wait_frames_read(&mut self, cycles: u64) -> Result<()> {
        let handed = self.bar.read32(rvma::BASE + rvma::HOST_FRAMES)?;
        let mut patience = self.patience(cycles)?;
        // At most 32 frames are handed on and not read.
        while handed.wrapping_sub(self.bar.read32(rvma::BASE + rvma::HOST_FRAMES_READ)?) as i32 > 0 {
            if self.is_over(&mut patience)? {
                return Err(Error::Timeout { what: "the end of the frames that are sent".into(), cycles });
            }
        }
        Ok(())
    }
}

/// A frame lies whole in a buffer of the window, and is no longer than frames can be.
fn check_frame(frames: &Frames, arrived: &Arrived) -> Result<()> {
    let Arrived { address, length, .. } = *arrived;
    let end = address.saturating_add(length.into());
    let holds = |posted: &Posted| posted.buffer <= address && end <= posted.buffer + u64::from(posted.size);
    if length <= LONGEST && frames.buffers.iter().any(holds) {
        return Ok(());
    }
    Err(Error::Implausible(format!("a frame of {length} bytes at {address:#x}, where no buffer of its window has it")))
}

/// The card can insert this checksum into a frame of so many bytes.
fn check_checksum(length: usize, (start, offset): (u16, u16)) -> Result<()> {
    let placed = |place: u16| place.is_multiple_of(2) && u32::from(place) <= commands::MAX_CHECKSUM;
    if placed(start) && placed(offset) && usize::from(start) + usize::from(offset) + 2 <= length {
        return Ok(());
    }
    Err(Error::Argument(format!(
        "the card cannot insert a checksum at byte {offset} of a sum from byte {start} of a frame of {length} bytes; choose even \
         numbers up to {} inside the frame, or compute the checksum",
        commands::MAX_CHECKSUM
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_checksums_that_the_card_inserts() {
        for (length, place) in [(42, (34, 6)), (14, (0, 0)), (14, (0, 12)), (510, (254, 254))] {
            assert!(check_checksum(length, place).is_ok(), "{length} {place:?}");
        }
        for (length, place) in
            [(41, (34, 6)), (14, (0, 14)), (60, (33, 6)), (60, (34, 7)), (8192, (256, 0)), (8192, (0, 256))]
        {
            assert!(check_checksum(length, place).is_err(), "{length} {place:?}");
        }
    }
}
