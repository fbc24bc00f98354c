//! Windows beside what [`rvma`](crate::rvma) does with them: how they count, their epochs, what they have received, and their end.

use crate::access::{halves, whole};
use crate::rvma::Window;
use crate::{Bar, ContextId, Device, Error, HostMemory, Result};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, PAGE};

/// What the threshold of a window counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Bytes.
    #[default]
    Bytes,
    /// Messages whose bytes have all arrived.
    Operations,
}

/// How a window is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowOptions {
    /// Address by which senders name it.
    pub address: u64,
    /// Key that they must know.
    pub key: u32,
    /// A buffer is complete after so much of what is counted; of a managed window, when less than this is left of it.
    pub threshold: u32,
    /// What is counted.
    pub counting: Counting,
    /// Senders name the buffer, one of the oldest four that are not complete, by its epoch.
    pub tagged: bool,
    /// The card chooses the offsets: messages lie one after another; senders' offsets are ignored.
    pub managed: bool,
    /// Senders get no NACK for packets that are refused.
    pub silent: bool,
    /// Messages that find no buffer go to the catch-all window of the process, if it has one: packet by packet, header and payload.
    pub spills: bool,
    /// This window, managed, is the catch-all of its process from now on: it also gets the packets for which there is no window.
    pub catch_all: bool,
    /// Each buffer that is complete is reported in the event ring of the process ([`EventKind::Buffer`](crate::EventKind::Buffer)), after
    /// its record.
    pub event: bool,
    /// This window, managed and silent, takes the frames for the host ([`Device::frames_to_host`]) and nothing else.
    pub frames: bool,
    /// Handlers of this context run on its messages, and place them, send them to windows of the context's process,
    /// or drop them. Takes one of the card's match rules, ahead of all that were added, until the window is closed.
    pub context: Option<ContextId>,
}

impl WindowOptions {
    /// The same window as a stream: managed, and messages are taken in the order in which their sender put them
    /// ([`Stream`](crate::put::Stream)). It neither counts operations nor spills, and is no catch-all.
    pub fn stream(self) -> Self {
        WindowOptions { tagged: true, managed: true, ..self }
    }

    /// Refuses what no card has.
    fn check(&self) -> Result<()> {
        let refuse = |sentence: &str| Err(Error::Argument(sentence.into()));
        let counts = self.counting == Counting::Operations;
        match (self.managed, self.tagged) {
            _ if self.threshold == 0 => refuse("a window with a threshold of 0; choose at least 1"),
            _ if self.frames
                && (!self.managed || !self.silent || self.tagged || self.spills || self.catch_all || self.context.is_some()) =>
            {
                refuse("a window of frames must be managed and silent, and nothing else; open it with these two options")
            }
            (true, _) if counts => refuse(
                "a managed window or stream cannot count operations: its buffers end when fewer bytes than the threshold \
                 are left; count bytes",
            ),
            (true, true) if self.spills || self.catch_all => {
                refuse("a stream can neither spill nor be the catch-all; open a managed window")
            }
            (false, _) if self.catch_all => refuse("the catch-all window must be managed; open it as a managed window"),
            _ => Ok(()),
        }
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Opens a window of a process.
    ///
    /// # Errors
    /// The options contradict each other, or the card refuses the window: the address is open already, or there is no room.
    pub fn open_window(&mut self, process: usize, options: &WindowOptions) -> Result<Window> {
        options.check()?;
        let mode = doorbell::Mode::ZERO
            .with_ops(matches!(options.counting, Counting::Operations))
            .with_tagged(options.tagged)
            .with_managed(options.managed)
            .with_nack_off(options.silent)
            .with_spill(options.spills)
            .with_catch_all(options.catch_all)
            .with_frames(options.frames)
            .with_event(options.event);
        let staging = [
            (doorbell::ADDR_LO, halves(options.address)[0]),
            (doorbell::ADDR_HI, halves(options.address)[1]),
            (doorbell::KEY, options.key),
            (doorbell::THRESHOLD, options.threshold),
            (doorbell::MODE, mode.0),
        ];
        let mailbox = self.ring(process, "init_window", doorbell_command::INIT_WINDOW, &staging)?;
        let window = Window { process, mailbox };
        if let Some(context) = options.context {
            if let Err(error) = self.add_window_rule(window, options.address, context) {
                self.close_window(window)?;
                return Err(error);
            }
        }
        Ok(window)
    }

    /// Closes a window: senders are refused from now on, and every buffer that is not complete comes back with a record that says
    /// CANCELLED.
    pub fn close_window(&mut self, window: Window) -> Result<()> {
        self.of_window(window, "close", doorbell_command::CLOSE, 0)?;
        self.remove_window_rule(window)
    }

    /// Takes back the oldest buffer that is not complete, with a record that says PARTIAL and how much has arrived.
    pub fn inc_epoch(&mut self, window: Window) -> Result<()> {
        self.of_window(window, "inc_epoch", doorbell_command::INC_EPOCH, 0).map(|_| ())
    }

    /// The epoch of a window: how many buffers have been completed, from the first on.
    pub fn epoch(&mut self, window: Window) -> Result<u64> {
        self.of_window(window, "get_epoch", doorbell_command::GET_EPOCH, 0)
    }

    /// Address of a completed buffer: 0 steps back is the last one, 1 the one before. The card remembers eight.
    pub fn completed_buffer(&mut self, window: Window, back: u32) -> Result<Option<u64>> {
        self.history(window, "get_buf_ptrs", doorbell_command::GET_BUF_PTRS, back)
    }

    /// The same, and forgets those that were completed after it.
    pub fn rewind(&mut self, window: Window, back: u32) -> Result<Option<u64>> {
        self.history(window, "rewind", doorbell_command::REWIND, back)
    }

    fn history(&mut self, window: Window, name: &'static str, command: u32, back: u32) -> Result<Option<u64>> {
        self.stage_bell(window.process, &[(doorbell::MAILBOX, window.mailbox), (doorbell::COUNT, back)])?;
        match self.command(window.process, name, command)? {
            Ok(_) => self.value(window.process).map(Some),
            Err(doorbell_error::NOTHING) => Ok(None),
            Err(code) => Err(Error::Doorbell { command: name, why: crate::rvma::refusal(code) }),
        }
    }

    fn of_window(&mut self, window: Window, name: &'static str, command: u32, count: u32) -> Result<u64> {
        let staging = [(doorbell::MAILBOX, window.mailbox), (doorbell::COUNT, count)];
        self.ring(window.process, name, command, &staging)?;
        self.value(window.process)
    }

    /// VALUE of a process's page.
    pub(crate) fn value(&mut self, process: usize) -> Result<u64> {
        let page = doorbell::BASE + process as u32 * PAGE;
        let (low, high) = (self.bar.read32(page + doorbell::VALUE_LO)?, self.bar.read32(page + doorbell::VALUE_HI)?);
        Ok(whole(low, high))
    }
}
