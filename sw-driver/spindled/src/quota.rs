//! Limits of a client, for what all clients share.

use rustix::io::Errno;

/// What one client may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Mailboxes that are open.
    pub mailboxes: usize,
    /// Buffers posted by doorbell and not complete. Those posted through a command ring are limited by the card's own table alone.
    pub buffers: u64,
    /// Receive maps.
    pub receive_maps: usize,
    /// Maps of memory.
    pub maps: usize,
    /// Bytes of mapped memory.
    pub bytes: u64,
    /// Cycles of the card for each INC_EPOCH or CLOSE: either stops the command rings of all processes for up to 420 cycles.
    pub reclaim_cycles: u64,
    /// INC_EPOCHs and CLOSEs that may come at once.
    pub reclaim_burst: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Quota {
            mailboxes: 64,
            buffers: 1024,
            receive_maps: 8,
            maps: 256,
            bytes: 1 << 30,
            reclaim_cycles: 4096,
            reclaim_burst: 16,
        }
    }
}

/// Commands that a client may still give, which grow with the card's time.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    left: u64,
    filled: u64,
}

impl Bucket {
    /// A full one, at this cycle.
    pub fn full(quota: &Quota, cycle: u64) -> Bucket {
        Bucket { left: quota.reclaim_burst, filled: cycle }
    }

    /// Takes one command; false: there is none, and the client has to wait.
    pub fn take(&mut self, quota: &Quota, cycle: u64) -> bool {
        let step = quota.reclaim_cycles.max(1);
        let grown = cycle.saturating_sub(self.filled) / step;
        self.left = (self.left + grown).min(quota.reclaim_burst);
        // A full bucket does not save time for later.
        self.filled = if self.left == quota.reclaim_burst { cycle } else { self.filled + grown * step };
        let some = self.left > 0;
        self.left -= u64::from(some);
        some
    }
}

/// Whether a client may map so many bytes more, beside those that it has mapped.
pub(crate) fn may_map(quota: &Quota, maps: usize, mapped: u64, more: u64) -> Result<(), Errno> {
    match maps < quota.maps && mapped.saturating_add(more) <= quota.bytes {
        true => Ok(()),
        false => Err(Errno::NOSPC),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_back_with_the_cards_time() {
        let quota = Quota { reclaim_burst: 3, reclaim_cycles: 100, ..Quota::default() };
        let mut bucket = Bucket::full(&quota, 1000);
        let taken = |bucket: &mut Bucket, cycle: u64| (0..10).filter(|_| bucket.take(&quota, cycle)).count();
        assert_eq!(taken(&mut bucket, 1000), 3);
        assert_eq!(taken(&mut bucket, 1099), 0);
        assert_eq!(taken(&mut bucket, 1150), 1);
        assert_eq!(taken(&mut bucket, 1199), 0);
        assert_eq!(taken(&mut bucket, 1200), 1, "a part of a step is not lost");
        assert_eq!(taken(&mut bucket, 1_000_000), 3, "and not more than the burst is saved");
        assert_eq!(taken(&mut bucket, 5), 0, "a card that was reset counts from 0 again");
    }
}
