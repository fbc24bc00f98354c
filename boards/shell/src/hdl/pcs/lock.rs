//! Block lock.

use spindle_verilog::prelude::*;

/// Headers of a test.
const TEST: u64 = 64;
/// Invalid ones among them that end the lock.
const INVALID: u64 = 16;

/// The lock state diagram of clause 49 (figure 49-14).
///
/// | ports | meaning |
/// |---|---|
/// | in `valid`, `good` | a header came, and its bits differ |
/// | out `slip` | one cycle: the transceiver is to move its blocks by one bit |
/// | out `locked` | headers are where they are looked for |
///
/// 64 valid headers in succession lock. While locked, 16 invalid ones among 64 headers unlock and slip; without lock the
/// first invalid one slips. After a slip, `wait` headers are not looked at, while the transceiver moves. So every position is tried
/// within 66 · (64 + `wait`) headers. Latency: `locked` and `slip` are registers, one cycle after the header. At most 4 levels of
/// logic.
#[block(no_default)]
pub struct BlockLock {
    /// There is a header.
    pub valid: Signal<In, Bit>,
    /// Its bits differ.
    pub good: Signal<In, Bit>,
    /// Move by one bit.
    pub slip: Signal<Out, Bit>,
    /// Blocks are found.
    pub locked: Signal<Out, Bit>,
    count: Reg<Bits<6>>,
    invalid: Reg<Bits<4>>,
    any_invalid: Reg<Bit>,
    has_lock: Reg<Bit>,
    slips: Reg<Bit>,
    waiting: Reg<Bit>,
    unseen: Reg<Bits<6>>,
    _wait: u64,
}

impl BlockLock {
    /// `wait` headers, 1 to 63, pass unseen after a slip.
    pub fn new(wait: u64) -> Self {
        assert!(
            (1..=63).contains(&wait),
            "BlockLock: 1 to 63 headers pass after a slip, not {wait}; choose another wait"
        );
        Self { _wait: wait - 1, ..Self::blank() }
    }
}

impl Default for BlockLock {
    /// 32 headers pass after a slip.
    fn default() -> Self {
        Self::new(32)
    }
}

#[hdl]
impl BlockLock {
    fn update(&mut self) {
        self.slips.d.next = false;
        if self.valid.val() {
            if self.waiting.q.val() {
                self.unseen.d.next = self.unseen.q.val() - 1;
                self.waiting.d.next = self.unseen.q.val() != 0;
            } else {
                let bad = !self.good.val();
                let ends = self.count.q.val() == (TEST - 1);
                let too_many = bad & (!self.has_lock.q.val() | (self.invalid.q.val() == (INVALID - 1)));
                self.count.d.next = self.count.q.val() + 1;
                if bad {
                    self.invalid.d.next = self.invalid.q.val() + 1;
                    self.any_invalid.d.next = true;
                }
                if ends {
                    self.invalid.d.next = bits::<4>(0);
                    self.any_invalid.d.next = false;
                    if !bad & !self.any_invalid.q.val() {
                        self.has_lock.d.next = true;
                    }
                }
                if too_many {
                    self.has_lock.d.next = false;
                    self.slips.d.next = true;
                    self.waiting.d.next = true;
                    self.unseen.d.next = bits::<6>(self._wait);
                    self.count.d.next = bits::<6>(0);
                    self.invalid.d.next = bits::<4>(0);
                    self.any_invalid.d.next = false;
                }
            }
        }
        self.slip.next = self.slips.q.val();
        self.locked.next = self.has_lock.q.val();
    }
}
