//! Counters and fault reports.

use crate::{Bar, ContextId, Device, HostMemory, Registers, Result};
use spindle_contract::memory_map::FAULTS;
use spindle_contract::reasons::{DROP_COUNT, DROP_REASONS};
use spindle_contract::registers::{hpu, packet, rvma};

/// A snapshot of the card's counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Frames received.
    pub frames_in: u32,
    /// Frames accepted for a context.
    pub frames_to_hpu: u32,
    /// Frames handed to a mailbox without a handler.
    pub frames_to_mailbox: u32,
    /// Frames handed to the host window.
    pub frames_to_host: u32,
    /// Frames sent.
    pub frames_out: u32,
    /// Frames whose handlers all ended well.
    pub frames_handled: u32,
    /// Frames written to host memory by the RVMA engine.
    pub frames_placed: u32,
    /// Frames dropped, by reason.
    pub drops: [u32; DROP_COUNT],
    /// Messages alive.
    pub messages_open: u32,
    /// Messages that ended well.
    pub messages_done: u32,
    /// Messages that failed.
    pub messages_failed: u32,
    /// Messages that ended because their rest never came.
    pub messages_aged: u32,
    /// Free cells of the packet buffer.
    pub cells_free: u32,
    /// Tasks ended.
    pub tasks_done: u32,
    /// Tasks ended by a fault.
    pub tasks_faulted: u32,
    /// Sum over HPUs of cycles in a handler.
    pub busy_cycles: u64,
    /// Instructions retired.
    pub instructions: u64,
    /// Commands issued by handlers.
    pub commands: u32,
    /// Packets written to host memory.
    pub placed_packets: u32,
    /// Payload bytes written.
    pub placed_bytes: u32,
    /// Completion records written.
    pub completions: u32,
    /// Faults that were not reported for lack of room.
    pub faults_lost: u32,
    /// Pieces of printed text that found the queue full.
    pub prints_lost: u32,
}

impl Default for Stats {
    fn default() -> Self {
        Stats {
            frames_in: 0,
            frames_to_hpu: 0,
            frames_to_mailbox: 0,
            frames_to_host: 0,
            frames_out: 0,
            frames_handled: 0,
            frames_placed: 0,
            drops: [0; DROP_COUNT],
            messages_open: 0,
            messages_done: 0,
            messages_failed: 0,
            messages_aged: 0,
            cells_free: 0,
            tasks_done: 0,
            tasks_faulted: 0,
            busy_cycles: 0,
            instructions: 0,
            commands: 0,
            placed_packets: 0,
            placed_bytes: 0,
            completions: 0,
            faults_lost: 0,
            prints_lost: 0,
        }
    }
}

impl Stats {
    /// All frames dropped.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().copied().map(u64::from).sum()
    }

    /// Reasons with a count, by name.
    pub fn drop_reasons(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        DROP_REASONS.iter().zip(self.drops).map(|((name, _), count)| (*name, count)).filter(|(_, count)| *count > 0)
    }

    /// Frames that are still inside: neither handled, placed nor dropped. Modulo 2^32, as the counters are.
    pub fn inside(&self) -> u32 {
        let ended =
            self.drops.iter().fold(self.frames_handled.wrapping_add(self.frames_placed), |sum, n| sum.wrapping_add(*n));
        self.frames_in.wrapping_sub(ended)
    }
}

/// Cause and place of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Cause, as in the contract's list.
    pub cause: u8,
    /// Context.
    pub context: ContextId,
    /// Cluster.
    pub cluster: usize,
    /// HPU in the cluster.
    pub hpu: usize,
    /// Slot of the message.
    pub msg_slot: usize,
    /// Program counter.
    pub pc: u32,
    /// Address of the access.
    pub address: u32,
    /// Sequence number of the frame.
    pub frame: u16,
    /// Kind of handler.
    pub kind: u8,
}

impl Fault {
    /// Name and meaning of the cause.
    pub fn cause_text(&self) -> (&'static str, &'static str) {
        FAULTS
            .iter()
            .find(|(_, code, _)| *code == self.cause)
            .map_or(("unknown", "a cause that this library does not know"), |(name, _, doc)| (*name, *doc))
    }

    /// "header", "payload", "completion" or "task".
    pub fn kind_text(&self) -> &'static str {
        ["header", "payload", "completion", "task"].get(self.kind as usize).copied().unwrap_or("unknown")
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Reads all counters.
    pub fn stats(&mut self) -> Result<Stats> {
        let mut drops = [0; DROP_COUNT];
        for (reason, count) in drops.iter_mut().enumerate() {
            *count = self.bar.read32(packet::BASE + packet::DROPS + 4 * reason as u32)?;
        }
        let mut p = |offset: u32| self.bar.read32(packet::BASE + offset);
        let mut stats = Stats {
            frames_in: p(packet::FRAMES_IN)?,
            frames_to_hpu: p(packet::FRAMES_TO_HPU)?,
            frames_to_mailbox: p(packet::FRAMES_TO_MAILBOX)?,
            frames_to_host: p(packet::FRAMES_TO_HOST)?,
            frames_out: p(packet::FRAMES_OUT)?,
            frames_handled: p(packet::FRAMES_HANDLED)?,
            frames_placed: p(packet::FRAMES_PLACED)?,
            messages_open: p(packet::MESSAGES_OPEN)?,
            messages_done: p(packet::MESSAGES_DONE)?,
            messages_failed: p(packet::MESSAGES_FAILED)?,
            messages_aged: p(packet::MESSAGES_AGED)?,
            cells_free: p(packet::CELLS_FREE)?,
            drops,
            ..Stats::default()
        };
        let mut h = |offset: u32| self.bar.read32(hpu::BASE + offset);
        stats.tasks_done = h(hpu::TASKS_DONE)?;
        stats.tasks_faulted = h(hpu::TASKS_FAULTED)?;
        stats.commands = h(hpu::COMMANDS)?;
        stats.faults_lost = h(hpu::FAULT_LOST)?;
        stats.prints_lost = h(hpu::PRINT_LOST)?;
        stats.busy_cycles = self.read_wide(hpu::BASE + hpu::BUSY_LO, hpu::BASE + hpu::BUSY_HI)?;
        stats.instructions = self.read_wide(hpu::BASE + hpu::INSTRET_LO, hpu::BASE + hpu::INSTRET_HI)?;
        stats.placed_packets = self.bar.read32(rvma::BASE + rvma::PLACED_PACKETS)?;
        stats.placed_bytes = self.bar.read32(rvma::BASE + rvma::PLACED_BYTES)?;
        stats.completions = self.bar.read32(rvma::BASE + rvma::COMPLETIONS)?;
        Ok(stats)
    }

    /// Cycles in a handler and tasks ended, per HPU.
    pub fn hpu_load(&mut self) -> Result<Vec<(u32, u32)>> {
        (0..self.info.total_hpus() as u32)
            .map(|i| {
                Ok((
                    self.bar.read32(hpu::BASE + hpu::HPU_BUSY + 4 * i)?,
                    self.bar.read32(hpu::BASE + hpu::HPU_TASKS + 4 * i)?,
                ))
            })
            .collect()
    }

    /// Takes the oldest fault report.
    pub fn pop_fault(&mut self) -> Result<Option<Fault>> {
        if self.bar.read32(hpu::BASE + hpu::FAULT_COUNT)? == 0 {
            return Ok(None);
        }
        let who: hpu::FaultWho = self.bar.read()?;
        let pc = self.bar.read32(hpu::BASE + hpu::FAULT_PC)?;
        let address = self.bar.read32(hpu::BASE + hpu::FAULT_ADDRESS)?;
        let frame: hpu::FaultFrame = self.bar.read()?;
        self.bar.write32(hpu::BASE + hpu::FAULT_POP, 1)?;
        Ok(Some(Fault {
            cause: who.cause() as u8,
            context: ContextId(who.context() as usize),
            hpu: who.hpu() as usize,
            cluster: who.cluster() as usize,
            msg_slot: who.msg_slot() as usize,
            pc,
            address,
            frame: frame.frame() as u16,
            kind: frame.handler() as u8,
        }))
    }
}
