//! The doorbell page of a client. The daemon sees every command that is no entry of a command ring, holds it against the quota, and
//! knows what has to be closed when the client goes.

use crate::card::Card;
use crate::quota::{Bucket, Quota};
use rustix::io::Errno;
use spindle_contract::registers::{doorbell, doorbell_command as command, doorbell_error as error, MAP_SHIFT, PAGE};
use std::collections::{BTreeMap, BTreeSet};

/// Looks at a mailbox that is closed, until its last write is over.
const LOOKS: usize = 1000;

/// What a client has done with its page.
#[derive(Debug)]
pub struct Bell {
    process: usize,
    /// Value that the client wrote to MAILBOX and to COUNT last.
    mailbox: u32,
    count: u32,
    /// Open mailboxes, and how many buffers were posted to each by doorbell.
    mailboxes: BTreeMap<u32, u64>,
    receive_maps: BTreeSet<u32>,
    /// Reclaims that are left.
    bucket: Option<Bucket>,
    /// The last command was refused by the daemon, with this error: RESULT reads so.
    refused: Option<u32>,
}

impl Bell {
    /// The page of a process that has done nothing yet.
    pub fn new(process: usize) -> Bell {
        Bell {
            process,
            mailbox: 0,
            count: 0,
            mailboxes: BTreeMap::new(),
            receive_maps: BTreeSet::new(),
            bucket: None,
            refused: None,
        }
    }

    /// Open mailboxes.
    pub fn mailboxes(&self) -> usize {
        self.mailboxes.len()
    }

    /// Reads a register of the page.
    pub fn read(&mut self, card: &mut Card, offset: u32) -> Result<u32, Errno> {
        match self.refused {
            Some(code) if offset == doorbell::RESULT => Ok(doorbell::Result::ZERO.with_error(code).0),
            _ => card.read(self.page() + offset),
        }
    }

    /// Writes a register of the page.
    pub fn write(&mut self, card: &mut Card, quota: &Quota, offset: u32, value: u32) -> Result<(), Errno> {
        match offset {
            doorbell::COMMAND => return self.command(card, quota, value),
            doorbell::MAILBOX => self.mailbox = value,
            doorbell::COUNT => self.count = value,
            _ => {}
        }
        card.write(self.page() + offset, value)
    }

    fn page(&self) -> u32 {
        doorbell::BASE + self.process as u32 * PAGE
    }

    /// Issues a command, unless the quota forbids it.
    fn command(&mut self, card: &mut Card, quota: &Quota, code: u32) -> Result<(), Errno> {
        self.refused = self.forbidden(card, quota, code)?;
        if self.refused.is_some() {
            log::debug!("process {}: command {code} is beyond its quota", self.process);
            return Ok(());
        }
        let result = card.command(self.process, code)?;
        if result.error() == error::NONE {
            self.note(code, result.value());
        }
        Ok(())
    }

    /// Why the quota forbids a command; the codes are those by which the card refuses for want of room.
    fn forbidden(&mut self, card: &mut Card, quota: &Quota, code: u32) -> Result<Option<u32>, Errno> {
        let forbid = |forbidden: bool, code: u32| Ok(forbidden.then_some(code));
        match code {
            command::INIT_WINDOW => forbid(self.mailboxes.len() >= quota.mailboxes, error::TABLE_FULL),
            command::POST_MAPPED if self.receive_maps.len() >= quota.receive_maps => Ok(Some(error::NO_MAP)),
            command::POST_BUFFER | command::POST_MAPPED => {
                let full = self.mailboxes.values().sum::<u64>() >= quota.buffers && self.posted(card)? >= quota.buffers;
                forbid(full, error::NO_SLOT)
            }
            command::INC_EPOCH | command::CLOSE => {
                let cycle = card.device.cycle();
                let cycle = card.settle(cycle)?;
                let bucket = self.bucket.get_or_insert_with(|| Bucket::full(quota, cycle));
                // The driver repeats what is busy.
                forbid(!bucket.take(quota, cycle), error::BUSY)
            }
            _ => Ok(None),
        }
    }

    /// Remembers what a command that succeeded has changed.
    fn note(&mut self, code: u32, value: u32) {
        match code {
            command::INIT_WINDOW => drop(self.mailboxes.insert(value, 0)),
            command::CLOSE => drop(self.mailboxes.remove(&self.mailbox)),
            command::FREE_MAP => drop(self.receive_maps.remove(&(self.count >> MAP_SHIFT))),
            command::POST_MAPPED => drop(self.receive_maps.insert(value)),
            _ => {}
        }
        if let (command::POST_BUFFER | command::POST_MAPPED, Some(posted)) =
            (code, self.mailboxes.get_mut(&self.mailbox))
        {
            *posted += 1;
        }
    }

    /// Buffers posted by doorbell and not complete, by the epochs of the mailboxes. What the client has staged stays.
    fn posted(&mut self, card: &mut Card) -> Result<u64, Errno> {
        let mut all = 0;
        for (mailbox, posted) in self.mailboxes.clone() {
            let result = card.staged(self.process, command::GET_EPOCH, &[(doorbell::MAILBOX, mailbox)])?;
            if result.error() == error::NONE {
                let low = card.read(self.page() + doorbell::VALUE_LO)?;
                let high = card.read(self.page() + doorbell::VALUE_HI)?;
                all += posted.saturating_sub(u64::from(high) << 32 | u64::from(low));
            }
        }
        card.write(self.page() + doorbell::MAILBOX, self.mailbox)?;
        Ok(all)
    }

    /// Ends everything that the process has begun: its interrupt, its command ring, its windows, its event ring. When this
    /// returns, the card writes no memory that the process named in them.
    pub fn close(&mut self, card: &mut Card) -> Result<(), Errno> {
        let process = self.process;
        card.write(self.page() + doorbell::IRQ, 0)?;
        let none = [(doorbell::BUFFER_LO, 0), (doorbell::BUFFER_HI, 0), (doorbell::SIZE, 0), (doorbell::RING_TAIL, 0)];
        card.staged(process, command::OPEN_COMMANDS, &none)?;
        card.staged(process, command::OPEN_SHADOW, &none[..3])?;
        for mailbox in std::mem::take(&mut self.mailboxes).into_keys() {
            let staged = [(doorbell::MAILBOX, mailbox)];
            card.staged(process, command::CLOSE, &staged)?;
            // Until the last record has left, the mailbox is closing; then there is none.
            let mut gone = false;
            for _ in 0..LOOKS {
                gone = card.staged(process, command::GET_EPOCH, &staged)?.error() == error::NO_MAILBOX;
                if gone {
                    break;
                }
            }
            if !gone {
                log::warn!("mailbox {mailbox} of process {process} does not close");
            }
        }
        for map in std::mem::take(&mut self.receive_maps) {
            card.staged(process, command::FREE_MAP, &[(doorbell::COUNT, map << MAP_SHIFT)])?;
        }
        let none = [(doorbell::BUFFER_LO, 0), (doorbell::BUFFER_HI, 0), (doorbell::SIZE, 0), (doorbell::EVENT_HEAD, 0)];
        card.staged(process, command::OPEN_RING, &none)?;
        self.refused = None;
        Ok(())
    }
}
