//! A super-bank of L1: four banks that share one word port.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPUs | in `row[h]`, `wants[h]` / out `grant[h]`, in the same cycle; out `data`, two cycles after the grant of a read |
//! | store lane | in `owner`, `strobe`, `write`, `shared`: the store of this HPU if it is granted; the others read |
//! | | out `stored`: it is granted |
//! | atomic unit | in `lock`: no grants; in `guest`: `row[0]` is its access, done where the lock is |
//! | | out `shared_write`: a write to a scratchpad, or of the atomic unit, was done in the cycle before |
//! | wide side of L1 | in `wide_row[g]`, `wide_strobe[g]`, `wide_write`; in `wide_advance[g]`, a cycle after a read |
//! | | out `wide_read[g]`, from the cycle after that on |
//!
//! Bank b holds the words of the super-bank with `address[6:5]` = b: `b[1]` is the group of the wide side, `b[0]` the
//! half of its beat. A row of the request is `address[15:3]`; its two lowest bits, `address[4:3]`, have chosen the
//! super-bank and are not used here.
//!
//! A bank has 512 words, half of what its block RAM holds. The other half is never read: all four banks carry out an
//! access, three of them there. So they share one set of strobes.
//!
//! Round robin among four HPUs: an HPU waits at most 3 cycles. With more than four, two such groups take turns: at most
//! 7 cycles. The lock comes on top.

use crate::array::rr_arbiter4::RrArbiter4;
use spindle_blocks::{replicate, TdpRam};
use spindle_verilog::prelude::*;

/// The super-bank. See the module text.
#[block]
pub struct SuperBank {
    /// Rows, one per HPU.
    pub row: Vec<Signal<In, Bits<13>>>,
    /// The row is requested, in this super-bank.
    pub wants: Vec<Signal<In, Bit>>,
    /// The HPU is granted.
    pub grant: Vec<Signal<Out, Bit>>,
    /// HPU that may write
    pub owner: Signal<In, Bits<3>>,
    /// these bytes, none if it reads,
    pub strobe: Signal<In, Bits<4>>,
    /// of this word,
    pub write: Signal<In, Bits<32>>,
    /// to a scratchpad; only if there are bytes.
    pub shared: Signal<In, Bit>,
    /// The owner is granted.
    pub stored: Signal<Out, Bit>,
    /// The word read.
    pub data: Signal<Out, Bits<32>>,
    /// No HPU is granted.
    pub lock: Signal<In, Bit>,
    /// The atomic unit has an access where the lock is; it comes as that of HPU 0.
    pub guest: Signal<In, Bit>,
    /// A write to a scratchpad was granted in the cycle before.
    pub shared_write: Signal<Out, Bit>,
    /// The beat read in the cycle before goes to the output.
    pub wide_advance: [Signal<In, Bit>; 2],
    /// Row of the wide side.
    pub wide_row: [Signal<In, Bits<9>>; 2],
    /// Bytes to write, the word of each half of the beat.
    pub wide_strobe: [Signal<In, Bits<8>>; 2],
    /// Words to write, one of each half.
    pub wide_write: Signal<In, Bits<64>>,
    /// Words read.
    pub wide_read: [Signal<Out, Bits<64>>; 2],
    banks: [TdpRam<10, 4, 32>; 4],
    arbiter: RrArbiter4,
    bank: DFF<Bits<2>>,
    bank_read: DFF<Bits<2>>,
    shared_now: Reg<Bit>,
    _hpus: usize,
}

impl SuperBank {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "SuperBank: {hpus} HPUs cannot be served; choose 1 to 8");
        Self { row: replicate(hpus), wants: replicate(hpus), grant: replicate(hpus), _hpus: hpus, ..Self::blank() }
    }
}

#[hdl]
impl SuperBank {
    fn update(&mut self) {
        // The grant.
        let mut wants: Bits<8> = bits::<8>(0);
        for i in 0..self._hpus {
            wants = wants.replace_bit(i, self.wants[i].val() & !self.lock.val());
        }
        if self.guest.val() {
            wants = wants.replace_bit(0, self.lock.val());
        }
        self.arbiter.request.next = wants;
        // A guest does not move the turn.
        self.arbiter.accept.next = !self.lock.val();
        for i in 0..self._hpus {
            self.grant[i].next = self.arbiter.grant.val().get_bit(i);
        }

        // Its row. The word to write stands on the lane, and counts if the granted HPU is the lane's owner.
        let chosen = select(self.arbiter.index.val(), self.row.vals());
        let bank = chosen.get_bits::<2>(2);
        self.bank.d.next = bank;
        self.bank_read.d.next = self.bank.q.val();
        let stored = self.arbiter.any.val() & (self.arbiter.index.val() == self.owner.val());
        let strobe = if stored { self.strobe.val() } else { bits::<4>(0) };
        self.stored.next = stored;
        self.shared_now.d.next = stored & self.shared.val();
        self.shared_write.next = self.shared_now.q.val();

        // The banks: port a is the wide side, port b the word port.
        for b in 0..4 {
            // Without an enable the strobes are registers: a block RAM needs both.
            self.banks[b].a_enable.next = true;
            self.banks[b].a_strobe.next = self.wide_strobe[b / 2].val().get_bits::<4>(4 * (b % 2));
            self.banks[b].a_address.next = (bits::<1>(0), self.wide_row[b / 2].val()).cat::<10>();
            self.banks[b].a_write.next = self.wide_write.val().get_bits::<32>(32 * (b % 2));
            self.banks[b].a_advance.next = self.wide_advance[b / 2].val();
            self.banks[b].b_enable.next = self.arbiter.any.val();
            self.banks[b].b_strobe.next = strobe;
            let elsewhere = bank != bits::<2>(b);
            self.banks[b].b_address.next = (elsewhere, chosen.get_bits::<9>(4)).cat::<10>();
            self.banks[b].b_write.next = self.write.val();
            self.banks[b].b_advance.next = true;
        }
        for g in 0..2 {
            self.wide_read[g].next = (self.banks[2 * g + 1].a_read.val(), self.banks[2 * g].a_read.val()).cat::<64>();
        }
        self.data.next = match self.bank_read.q.val().index() {
            0 => self.banks[0].b_read.val(),
            1 => self.banks[1].b_read.val(),
            2 => self.banks[2].b_read.val(),
            _ => self.banks[3].b_read.val(),
        };
    }
}
