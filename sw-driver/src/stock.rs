//! A stock of buffers: a window that never runs dry, because what was read is posted again.

use crate::rvma::{Completed, Posted};
use std::collections::VecDeque;

/// The buffers of a stock, and which of them are posted. Memory and window are the owner's.
///
/// A buffer is posted ([`Stock::posting`], [`Stock::posted`]), complete ([`Stock::complete`]), and free again
/// ([`Stock::give`]) when its bytes have been read.
#[derive(Clone, Debug)]
pub struct Stock {
    free: VecDeque<Posted>,
    posted: VecDeque<Posted>,
    /// Buffers that the owner reads.
    taken: Vec<Posted>,
}

impl Stock {
    /// A stock of these buffers, none of which is posted.
    pub fn new(buffers: impl IntoIterator<Item = Posted>) -> Stock {
        Stock { free: buffers.into_iter().collect(), posted: VecDeque::new(), taken: Vec::new() }
    }

    /// `count` buffers of `size` bytes in one piece of memory of [`Stock::bytes`] from `start` on, records first.
    pub fn layout(start: u64, count: usize, size: u32) -> Stock {
        let first = start + records(count);
        let buffer = |at: usize| Posted {
            buffer: first + at as u64 * stride(size),
            size,
            record: start + (at * spindle_contract::wire::RECORD_BYTES) as u64,
        };
        Stock::new((0..count).map(buffer))
    }

    /// Bytes of the memory of [`Stock::layout`].
    pub fn bytes(count: usize, size: u32) -> u64 {
        records(count) + count as u64 * stride(size)
    }

    /// The next buffer to post.
    pub fn posting(&self) -> Option<Posted> {
        self.free.front().copied()
    }

    /// The buffer of [`Stock::posting`] has been posted.
    pub fn posted(&mut self) {
        self.posted.extend(self.free.pop_front());
    }

    /// Posted buffers, the oldest one first.
    pub fn waiting(&self) -> impl Iterator<Item = &Posted> {
        self.posted.iter()
    }

    /// The oldest posted buffer that is complete, by the owner's look at its record. The buffer is taken until it is given back.
    ///
    /// # Errors
    /// A look fails.
    pub fn complete<E>(
        &mut self,
        mut look: impl FnMut(&Posted) -> Result<Option<Completed>, E>,
    ) -> Result<Option<(Posted, Completed)>, E> {
        for at in 0..self.posted.len() {
            if let Some(completed) = look(&self.posted[at])? {
                let buffer = self.posted.remove(at).expect("the place is one of them");
                self.taken.push(buffer);
                return Ok(Some((buffer, completed)));
            }
        }
        Ok(None)
    }

    /// The buffer that was posted first, if it is complete: for windows whose order counts. Likewise taken.
    ///
    /// # Errors
    /// The look fails.
    pub fn first<E>(
        &mut self,
        look: impl FnOnce(&Posted) -> Result<Option<Completed>, E>,
    ) -> Result<Option<(Posted, Completed)>, E> {
        let Some(completed) = self.posted.front().map(look).transpose()?.flatten() else { return Ok(None) };
        let buffer = self.posted.pop_front().expect("it has a first one");
        self.taken.push(buffer);
        Ok(Some((buffer, completed)))
    }

    /// Gives a buffer that was complete back, by its address, so that it is posted again: whether it was taken.
    pub fn give(&mut self, buffer: u64) -> bool {
        let Some(at) = self.taken.iter().position(|taken| taken.buffer == buffer) else { return false };
        self.free.push_back(self.taken.swap_remove(at));
        true
    }
}

/// Buffers begin on lines of the host bus.
const LINE: u64 = 64;

fn stride(size: u32) -> u64 {
    u64::from(size).next_multiple_of(LINE)
}

fn records(count: usize) -> u64 {
    ((count * spindle_contract::wire::RECORD_BYTES) as u64).next_multiple_of(LINE)
}

impl<B: crate::Bar, M: crate::HostMemory> crate::Device<B, M> {
    /// A stock of `count` buffers of `size` bytes for a window, all of them posted.
    ///
    /// # Errors
    /// There is no memory, or the card has no slot for a buffer.
    pub fn stock(&mut self, window: crate::rvma::Window, count: usize, size: u32) -> crate::Result<Stock> {
        if count == 0 || size == 0 {
            return Err(crate::Error::Argument("a stock of no bytes; choose at least one buffer of one byte".into()));
        }
        let memory = self.memory.alloc(Stock::bytes(count, size) as usize, LINE as usize)?;
        let mut stock = Stock::layout(memory, count, size);
        self.restock(window, &mut stock)?;
        Ok(stock)
    }

    /// Posts the free buffers of a stock.
    ///
    /// # Errors
    /// The card refuses one; it stays free.
    pub fn restock(&mut self, window: crate::rvma::Window, stock: &mut Stock) -> crate::Result<()> {
        while let Some(posted) = stock.posting() {
            self.post(window, posted)?;
            stock.posted();
        }
        Ok(())
    }

    /// The oldest complete buffer of a stock. Give it back ([`Stock::give`]) when its bytes have been read, then [`Device::restock`].
    ///
    /// [`Device::restock`]: crate::Device::restock
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn arrived(&self, stock: &mut Stock) -> crate::Result<Option<(Posted, Completed)>> {
        stock.complete(|posted| self.poll(posted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_go_round_in_any_order() {
        let mut stock = Stock::layout(0x1000, 3, 100);
        assert_eq!(Stock::bytes(3, 100), 64 + 3 * 128);
        while stock.posting().is_some() {
            stock.posted();
        }
        let starts: Vec<u64> = stock.waiting().map(|posted| posted.buffer).collect();
        assert_eq!(starts, [0x1040, 0x10C0, 0x1140]);
        let mut done = vec![0x10C0u64];
        let take = |stock: &mut Stock, done: &[u64]| {
            let look = |posted: &Posted| -> Result<_, ()> {
                let completed = Completed { length: 7, status: 1, epoch: 0, buffer: posted.buffer };
                Ok(done.contains(&posted.buffer).then_some(completed))
            };
            stock.complete(look).unwrap().map(|(posted, _)| posted.buffer)
        };
        assert_eq!(take(&mut stock, &done), Some(0x10C0));
        assert_eq!(take(&mut stock, &done), None);
        assert!(!stock.give(0x1040) && stock.give(0x10C0) && !stock.give(0x10C0));
        assert_eq!(stock.posting().unwrap().buffer, 0x10C0);
        stock.posted();
        done = vec![0x1140, 0x1040];
        assert_eq!([take(&mut stock, &done), take(&mut stock, &done)], [Some(0x1040), Some(0x1140)]);
        assert_eq!(stock.waiting().count(), 1);
    }
}
