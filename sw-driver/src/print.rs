//! What handlers print.

use crate::access::whole;
use crate::{Bar, ContextId, Device, Error, HostMemory, Registers, Result};
use spindle_contract::registers::hpu;

/// Pieces that the card's queue holds.
const QUEUE: u32 = 64;
/// Pieces after which one call takes no more.
const MOST_AT_ONCE: usize = 4096;

/// Up to eight characters that a handler printed. The pieces of one handler come in the order in which it printed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Print {
    /// Cluster.
    pub cluster: usize,
    /// HPU in the cluster.
    pub hpu: usize,
    /// Context.
    pub context: ContextId,
    /// Kind of handler.
    pub kind: u8,
    /// Sequence number of the frame.
    pub frame: u16,
    /// One to eight bytes, as the handler gave them.
    pub text: Vec<u8>,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Takes everything that waits in the print queue, at most some 4,096 pieces at once; nothing there costs one register read. Pieces
    /// that found the queue full are
    /// counted in [`Stats::prints_lost`](crate::stats::Stats::prints_lost).
    pub fn prints(&mut self) -> Result<Vec<Print>> {
        let mut prints = Vec::new();
        loop {
            let waiting = self.bar.read32(hpu::BASE + hpu::PRINT_COUNT)?;
            if waiting > QUEUE {
                return Err(Error::Implausible(format!("{waiting} pieces of text in a queue of {QUEUE}")));
            }
            // Handlers that print without end do not hold the caller up.
            if waiting == 0 || prints.len() >= MOST_AT_ONCE {
                return Ok(prints);
            }
            for _ in 0..waiting {
                prints.push(self.pop_print()?);
            }
        }
    }

    /// Takes the oldest piece; there is one.
    fn pop_print(&mut self) -> Result<Print> {
        let who: hpu::PrintWho = self.bar.read()?;
        let frame = self.bar.read32(hpu::BASE + hpu::PRINT_FRAME)?;
        let low = self.bar.read32(hpu::BASE + hpu::PRINT_LOW)?;
        let high = self.bar.read32(hpu::BASE + hpu::PRINT_HIGH)?;
        self.bar.write32(hpu::BASE + hpu::PRINT_POP, 1)?;
        let characters = whole(low, high).to_le_bytes();
        Ok(Print {
            cluster: who.cluster() as usize,
            hpu: who.hpu() as usize,
            context: ContextId(who.context() as usize),
            kind: who.handler() as u8,
            frame: frame as u16,
            text: characters[..(who.characters() as usize).min(characters.len())].to_vec(),
        })
    }
}
