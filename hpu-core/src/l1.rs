//! L1 of a cluster: 64 KiB of packet slots, stacks and scratchpads, 64 bytes wide for packets and 4 bytes wide for HPUs.
//!
//! | neighbour | ports |
//! |---|---|
//! | access router | in `word_enable`, `word_address`, `word_strobe`, `word_write`; out `word_read`, two cycles later |
//! | mover | in `mover_read`, `mover_beat`; out `mover_data`, one cycle later; never waits |
//! | loader | in `loader_write`, `loader_beat`, `loader_data`; out `loader_ready` |
//! | HPUs | in `scrub_valid`; out `scrub_done` (pulse): stack and scratchpad of the HPU are zero |
//!
//! Two groups of 512 rows × 64 bytes: address bit 6 is the group, bits 15:7 the row, bits 5:2 the bank in the group. A beat number is address bits 15:6.
//!
//! The wide port of a group belongs to the mover first, then to the loader, then to the scrubber. Mover and loader walk through both groups in turn, so both
//! go on at one beat per cycle after at most one cycle of waiting. A scrub takes 34 cycles when nobody else is there.
//!
//! The HPUs share one word port, one access per cycle (the access router arbitrates): an access waits at most one cycle per other HPU. A multi-cycle HPU asks at most
//! every fifth cycle; a port per bank comes with an HPU that asks in every cycle.

use spindle_blocks::ram::AsymRam;
use spindle_blocks::RoundRobin;
use spindle_contract::params::{L1_SCRATCH_BASE, L1_STACK_BASE};
use spindle_verilog::prelude::*;

/// First row of the stacks.
const STACK_ROW: u64 = L1_STACK_BASE as u64 / 128;
/// First row of the scratchpads.
const SCRATCH_ROW: u64 = L1_SCRATCH_BASE as u64 / 128;

/// Zeroes stack and scratchpad of one HPU after the other. 32 rows in each group; the groups go on independently.
#[derive(LogicBlock, Default)]
pub struct Scrubber {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// HPUs that wait for it.
    pub request: Signal<In, Bits<8>>,
    /// HPU whose scrub has ended, a pulse.
    pub done: Signal<Out, Bits<8>>,
    /// Groups that are free in this cycle.
    pub free: Signal<In, Bits<2>>,
    /// Groups in which a row is to be zeroed.
    pub write: Signal<Out, Bits<2>>,
    /// The rows.
    pub row: [Signal<Out, Bits<9>>; 2],
    arbiter: RoundRobin<8>,
    active: Reg<Bit>,
    hpu: Reg<Bits<8>>,
    first_row: DFF<Bits<9>>,
    /// Rows done; 32 = all.
    steps: [Reg<Bits<6>>; 2],
    ended: Reg<Bits<8>>,
}

impl Logic for Scrubber {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, active, hpu, ended, steps);
        dffs!(self, clock, first_row);
        clocks!(self, clock, reset, arbiter);
        let start = !self.active.q.val() & !self.ended.q.val().any();
        self.arbiter.request.next = self.request.val();
        self.arbiter.accept.next = start;
        self.arbiter.lock.next = false;
        self.ended.d.next = bits::<8>(0);
        if start {
            self.active.d.next = self.arbiter.any.val();
            self.hpu.d.next = self.arbiter.grant.val();
            // 16 rows of each kind per HPU.
            self.first_row.d.next = (bits::<2>(0), self.arbiter.index.val().get_bits::<3>(0), bits::<4>(0)).cat::<9>();
        }
        let mut write: Bits<2> = bits::<2>(0);
        for g in 0..2 {
            let step = self.steps[g].q.val();
            let area = if step.get_bit(4) { bits::<9>(SCRATCH_ROW) } else { bits::<9>(STACK_ROW) };
            let wants = self.active.q.val() & !step.get_bit(5);
            write = write.replace_bit(g, wants);
            self.row[g].next = (area + self.first_row.q.val()) | bit_cast::<9, 4>(step.get_bits::<4>(0));
            if wants & self.free.val().get_bit(g) {
                self.steps[g].d.next = step + 1;
            }
            if start {
                self.steps[g].d.next = bits::<6>(0);
            }
        }
        self.write.next = write;
        if self.active.q.val() & self.steps[0].q.val().get_bit(5) & self.steps[1].q.val().get_bit(5) {
            self.active.d.next = false;
            self.ended.d.next = self.hpu.q.val();
        }
        self.done.next = self.ended.q.val();
    }
}

/// The memory. See the module text.
#[derive(LogicBlock, Default)]
pub struct L1 {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// A word access.
    pub word_enable: Signal<In, Bit>,
    /// Its byte address.
    pub word_address: Signal<In, Bits<16>>,
    /// Bytes to write; none = a read.
    pub word_strobe: Signal<In, Bits<4>>,
    /// What to write.
    pub word_write: Signal<In, Bits<32>>,
    /// The word read, two cycles later.
    pub word_read: Signal<Out, Bits<32>>,
    /// The mover reads.
    pub mover_read: Signal<In, Bit>,
    /// This beat.
    pub mover_beat: Signal<In, Bits<10>>,
    /// It, one cycle later.
    pub mover_data: Signal<Out, Bits<512>>,
    /// The loader writes.
    pub loader_write: Signal<In, Bit>,
    /// This beat.
    pub loader_beat: Signal<In, Bits<10>>,
    /// Its bytes.
    pub loader_data: Signal<In, Bits<512>>,
    /// It is written in this cycle.
    pub loader_ready: Signal<Out, Bit>,
    /// HPUs whose stack and scratchpad are to be zeroed.
    pub scrub_valid: Signal<In, Bits<8>>,
    /// They are, a pulse.
    pub scrub_done: Signal<Out, Bits<8>>,
    groups: [AsymRam<9, 13>; 2],
    scrubber: Scrubber,
    mover_group: DFF<Bit>,
    word_group: DFF<Bit>,
    word_group_2: DFF<Bit>,
}

impl Logic for L1 {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, mover_group, word_group, word_group_2);
        clocks!(self, clock, reset, scrubber);
        let mover_odd = self.mover_beat.val().get_bit(0);
        let loader_odd = self.loader_beat.val().get_bit(0);
        let word_odd = self.word_address.val().get_bit(6);
        let word = (self.word_address.val().get_bits::<9>(7), self.word_address.val().get_bits::<4>(2)).cat::<13>();
        let mut free: Bits<2> = bits::<2>(0);
        for g in 0..2 {
            let odd = g == 1;
            let by_mover = self.mover_read.val() & (mover_odd == odd);
            let by_loader = self.loader_write.val() & (loader_odd == odd);
            free = free.replace_bit(g, !by_mover & !by_loader);
            self.groups[g].clock.next = self.clock.val();
            self.groups[g].wide_enable.next = by_mover | by_loader | self.scrubber.write.val().get_bit(g);
            self.groups[g].wide_strobe.next = repeat::<64>(!by_mover);
            self.groups[g].wide_address.next = if by_mover {
                self.mover_beat.val().get_bits::<9>(1)
            } else if by_loader {
                self.loader_beat.val().get_bits::<9>(1)
            } else {
                self.scrubber.row[g].val()
            };
            self.groups[g].wide_write.next = if by_loader { self.loader_data.val() } else { bits::<512>(0) };
            self.groups[g].narrow_enable.next = self.word_enable.val() & (word_odd == odd);
            self.groups[g].narrow_strobe.next = self.word_strobe.val();
            self.groups[g].narrow_address.next = word;
            self.groups[g].narrow_write.next = self.word_write.val();
        }
        self.scrubber.free.next = free;
        self.scrubber.request.next = self.scrub_valid.val();
        self.scrub_done.next = self.scrubber.done.val();
        self.loader_ready.next = !(self.mover_read.val() & (mover_odd == loader_odd));

        self.mover_group.d.next = mover_odd;
        self.mover_data.next =
            if self.mover_group.q.val() { self.groups[1].wide_read.val() } else { self.groups[0].wide_read.val() };
        self.word_group.d.next = word_odd;
        self.word_group_2.d.next = self.word_group.q.val();
        self.word_read.next =
            if self.word_group_2.q.val() { self.groups[1].narrow_read.val() } else { self.groups[0].narrow_read.val() };
    }
}
