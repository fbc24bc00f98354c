//! Loads, stores and atomics in X and M1: addresses, rights, and the way to their memory.

use super::bundles::{AccessCheck, RegionWriteSink, RemotePush, StoreQueue};
use super::region_table::RegionTable;
use super::stages::{Executed, Issued};
use super::store_buffer::Leaving;
use super::types::{Region, Target};
use spindle_contract::memory_map::{CMD_ISSUE, CMD_WAIT, FAULT_LOAD, FAULT_MISALIGNED, FAULT_STORE, SCRATCH};
use spindle_verilog::prelude::*;

const ISSUE_WORD: u64 = CMD_ISSUE as u64 / 4;
const WAIT_WORD: u64 = CMD_WAIT as u64 / 4;
/// funct5 of LR.
const LR: u64 = 2;

/// Addresses, region checks, and the reads of L1 and code.
///
/// | neighbour | ports |
/// |---|---|
/// | loader | in `region` |
/// | issue | in `issued`, `valid`, `a` of X; out `sum`; in `advance`: X moves to M1 |
/// | resolve | in `executed`, `live`; out `check` |
/// | store buffer | `queue` |
/// | remote tracker | `remote` |
/// | L1 | out `row`, `reads` of both half ports / in `grant` |
/// | instruction memory | out `code_address`, `code_valid` / in `code_ready` |
/// | command port | out `port_read`; in `replied`, `pending` |
/// | write back | out `from`: memory of the load in M1; `other_granted`: the second half of a load that crosses a word is on its way |
///
/// The region of `a[30:28]` is looked up while the sum is formed, and a load of L1 or code reads at once. M1 checks: a
/// wrong guess costs a cycle in which the region of the sum is looked up; a load that was not granted, or may have
/// overtaken a store, reads again from M1, the two halves of one that crosses a word one after the other. Every other
/// access goes into the store buffer from M1, before its rights are known: if it faults, the buffer drops it one cycle
/// later.
#[block]
pub struct MemoryStage {
    /// Write of a region.
    pub region: RegionWriteSink,
    /// The current thread.
    pub thread: Signal<In, Bit>,
    /// Its bank.
    pub bank: Signal<In, Bits<2>>,
    /// The instruction in X.
    pub issued: Signal<In, Issued>,
    /// X holds an instruction.
    pub valid: Signal<In, Bit>,
    /// Its first operand.
    pub a: Signal<In, Bits<32>>,
    /// a + offset.
    pub sum: Signal<Out, Bits<32>>,
    /// X moves to M1.
    pub advance: Signal<In, Bit>,
    /// The instruction in M1.
    pub executed: Signal<In, Executed>,
    /// M1 holds an instruction.
    pub live: Signal<In, Bit>,
    /// The access in M1.
    pub check: AccessCheck,
    /// Into the store buffer.
    pub queue: StoreQueue,
    /// Remote accesses that go into the store buffer.
    pub remote: RemotePush,
    /// Row to read.
    pub row: [Signal<Out, Bits<13>>; 2],
    /// Read the row.
    pub reads: [Signal<Out, Bit>; 2],
    /// The read is granted.
    pub grant: [Signal<In, Bit>; 2],
    /// Word of instruction memory to read.
    pub code_address: Signal<Out, Bits<14>>,
    /// Load the word.
    pub code_valid: Signal<Out, Bit>,
    /// The load is granted.
    pub code_ready: Signal<In, Bit>,
    /// Read the command port.
    pub port_read: Signal<Out, Bit>,
    /// The command port has taken the command.
    pub replied: Signal<In, Bit>,
    /// Commands of this handler are in flight.
    pub pending: Signal<In, Bit>,
    /// Memory of the load in M1.
    pub from: Signal<Out, Target>,
    /// The half that the load in M1 does not begin in was granted, alone.
    pub other_granted: Signal<Out, Bit>,
    regions: RegionTable,
    found: DFF<Region>,
    in_l1: DFF<Bit>,
    in_l2: DFF<Bit>,
    in_code: DFF<Bit>,
    in_port: DFF<Bit>,
    /// M1 has an access whose region was guessed wrong. After a flush it may be set without an access; then X is empty.
    wrong: Reg<Bit>,
    /// Entries of the store buffer that the load must not overtake.
    overlaps: DFF<Bits<2>>,
    physical: DFF<Bits<20>>,
    even_row: DFF<Bits<13>>,
    sum_next: DFF<Bits<22>>,
    /// The read of the load in M1 is granted.
    settled: Reg<Bit>,
    /// An instruction in M1 is a store or an atomic.
    buffers: Reg<Bit>,
    /// M1 waited for an empty store buffer or a reply in the last cycle.
    yields: Reg<Bit>,
    /// The read is requested from M1.
    retries: Reg<Bit>,
    /// Its other half is granted.
    other_done: Reg<Bit>,
    /// The write of ISSUE has left.
    issue_left: Reg<Bit>,
    first_sum: Signal<Local, Bits<32>>,
    in_bound: Signal<Local, Bit>,
}

/// Bytes of an access less one, by funct3.
#[hdl_fn]
fn size_of(funct3: Bits<3>) -> Bits<2> {
    (funct3.get_bit(1), funct3.get_bit(1) | funct3.get_bit(0)).cat::<2>()
}

/// The access begins in one word and ends in the next.
#[hdl_fn]
fn crosses_word(low: Bits<2>, size_less_one: Bits<2>) -> Bit {
    (size_less_one.get_bit(1) & low.any()) | (size_less_one.get_bit(0) & low.all())
}

/// The access in M1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// Its address.
    pub sum: Bits<32>,
    /// Load.
    pub is_load: Bit,
    /// Store.
    pub is_store: Bit,
    /// Atomic.
    pub is_atomic: Bit,
    /// The region in M1 is that of the address.
    pub right: Bit,
}

/// Where the access in X, or the one that M1 repeats, goes.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Offset in the region.
    pub offset: Bits<20>,
    /// Row of the next word.
    pub next_row: Bits<13>,
    /// Physical address.
    pub physical: Bits<20>,
    /// Physical row of the even words.
    pub even_row: Bits<13>,
}

/// The load in X.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EarlyLoad {
    /// The load in M1 may have overtaken a store that has not left.
    pub conflict: Bit,
    /// X has a load that may read.
    pub loads: Bit,
    /// It crosses a word,
    pub first_crosses: Bit,
    /// reads an even word,
    pub first_even: Bit,
    /// reads an odd word,
    pub first_odd: Bit,
    /// from L1,
    pub loads_l1: Bit,
    /// or from code.
    pub loads_code: Bit,
}

/// Shape of the access in M1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Its bytes less one.
    pub size: Bits<2>,
    /// It crosses a word.
    pub crosses: Bit,
}

/// The read of the load in M1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// It is a load of L1 or code,
    pub fast: Bit,
    /// which is granted.
    pub fetched: Bit,
}

#[hdl]
impl MemoryStage {
    fn update(&mut self) {
        let access = self.access();
        let place = self.find_region(access);
        let early = self.load_early(access);
        let shape = self.check_rights(access);
        let read = self.read_again(access, early, shape, place);
        self.compare_rows(access, early, shape);
        self.leave(access, shape, read);
    }

    /// The access in M1.
    fn access(&mut self) -> Access {
        let executed = self.executed.val();
        Access {
            sum: executed.sum,
            is_load: executed.traits.load,
            is_store: executed.traits.store,
            is_atomic: executed.traits.atomic,
            right: !self.wrong.q.val(),
        }
    }

    /// Forms the address, and looks up the region in parallel: that of the base register, or in M1 that of the sum.
    fn find_region(&mut self, access: Access) -> Place {
        let issued = self.issued.val();
        let looks_again = self.wrong.q.val();
        // What M1 asks for again, it asks for with its own address.
        let repeats = looks_again | self.retries.q.val();

        self.first_sum.next = self.a.val() + issued.offset;
        let first_sum = self.first_sum.val();
        let first_next = self.a.val().get_bits::<22>(0) + sext::<22, 13>(issued.next_offset);
        self.sum.next = first_sum;
        let guess = if repeats { access.sum.get_bits::<3>(28) } else { self.a.val().get_bits::<3>(28) };
        self.region.join(&mut self.regions.region);
        self.regions.read_index.next = (self.bank.val(), guess).cat::<5>();
        let entry = self.regions.entry.val();
        let offset = if repeats { access.sum.get_bits::<20>(0) } else { first_sum.get_bits::<20>(0) };
        let next_row = if repeats { self.sum_next.q.val().get_bits::<13>(3) } else { first_next.get_bits::<13>(3) };
        let physical = offset | entry.base;
        let even_row = next_row | entry.base.get_bits::<13>(3);
        let moves = self.advance.val() & self.valid.val();
        if moves | looks_again {
            self.found.d.next = entry;
            self.in_l1.d.next = entry.target == Target::L1;
            self.in_l2.d.next = entry.target == Target::L2;
            self.in_code.d.next = entry.target == Target::Code;
            self.in_port.d.next = entry.target == Target::Command;
            self.physical.d.next = physical;
            self.even_row.d.next = even_row;
        }
        self.sum_next.load(moves, first_next);
        if self.advance.val() {
            self.wrong.d.next = self.valid.val()
                & issued.traits.accesses
                & (self.a.val().get_bits::<3>(28) != first_sum.get_bits::<3>(28));
            self.overlaps.d.next = self.queue.overlap.val() & repeat::<2>(self.valid.val() & issued.traits.load);
            self.buffers.d.next = self.valid.val() & (issued.traits.store | issued.traits.atomic);
        } else if looks_again {
            // Now the region is right; the stores that the load must not overtake are not known.
            self.wrong.d.next = false;
            self.overlaps.d.next = repeat::<2>(access.is_load);
        }
        Place { offset, next_row, physical, even_row }
    }

    /// X: a load reads at once; whether it moves on comes too late to matter. But if M1 waits for the store buffer, the
    /// ports are left to the buffer; at a fence, at the command port or after a command from the next cycle on.
    fn load_early(&mut self, access: Access) -> EarlyLoad {
        let executed = self.executed.val();
        let first_sum = self.first_sum.val();
        let conflict = (self.overlaps.q.val() & self.queue.waiting.val()).any();
        self.yields.d.next = self.live.val()
            & ((((access.is_load & self.in_port.q.val()) | executed.traits.fences) & !self.queue.empty.val())
                | (self.issue_left.q.val() & !self.replied.val()));
        let waits = conflict
            | (self.buffers.q.val() & self.queue.full.val())
            | (self.yields.q.val() & !self.queue.empty.val())
            | self.queue.urgent.val()
            | self.retries.q.val();
        let loads = self.valid.val() & self.issued.val().traits.load & !waits;
        let first_crosses = crosses_word(first_sum.get_bits::<2>(0), size_of(self.issued.val().funct3));
        let first_even = !first_sum.get_bit(2) | first_crosses;
        let first_odd = first_sum.get_bit(2) | first_crosses;
        let loads_l1 = loads & (self.regions.entry.val().target == Target::L1);
        let loads_code = loads & (self.regions.entry.val().target == Target::Code);
        EarlyLoad { conflict, loads, first_crosses, first_even, first_odd, loads_l1, loads_code }
    }

    /// M1: rights. The offset after the last byte is compared with the bound.
    fn check_rights(&mut self, access: Access) -> Shape {
        let executed = self.executed.val();
        let found = self.found.q.val();
        let size = size_of(executed.funct3);
        let low = access.sum.get_bits::<2>(0);
        let crosses = crosses_word(low, size);
        let aligned = !(low & size).any();
        let reach = bit_cast::<3, 2>(low) + bit_cast::<3, 2>(size) + 1;
        let end_word =
            if reach.get_bit(2) { self.sum_next.q.val().get_bits::<20>(2) } else { access.sum.get_bits::<20>(2) };
        let end_offset = (end_word, reach.get_bits::<2>(0)).cat::<22>();
        self.in_bound.next = end_offset <= bit_cast::<22, 21>(found.bound);
        let in_range = !access.sum.get_bit(31) & !access.sum.get_bits::<7>(21).any();
        let is_lr = access.is_atomic & (executed.funct5 == LR);
        let granted = (found.readable | access.is_store)
            & (found.writable | access.is_load | is_lr)
            & (!access.is_atomic | self.in_l1.q.val() | self.in_l2.q.val());
        let allowed = in_range & granted & self.in_bound.val();
        let whole = aligned & (!self.in_port.q.val() | size.all());
        let wrong_shape = (access.is_atomic | self.in_code.q.val() | self.in_port.q.val()) & !whole;
        self.check.faults.next = executed.traits.accesses & access.right & (!allowed | wrong_shape);
        self.check.cause.next = if allowed {
            bits::<4>(FAULT_MISALIGNED)
        } else if access.is_load | is_lr {
            bits::<4>(FAULT_LOAD)
        } else {
            bits::<4>(FAULT_STORE)
        };
        Shape { size, crosses }
    }

    /// M1: reads that have not been granted, or were granted too early.
    fn read_again(&mut self, access: Access, early: EarlyLoad, shape: Shape, place: Place) -> Read {
        let in_code = self.in_code.q.val();
        let fast = self.live.val() & access.is_load & access.right & (self.in_l1.q.val() | in_code);
        let fetched = self.settled.q.val() & !early.conflict;
        let first_half = shape.crosses & !self.other_done.q.val();
        let retries_l1 = self.retries.q.val() & self.in_l1.q.val();
        let retries_code = self.retries.q.val() & in_code;
        let retry_odd = access.sum.get_bit(2) ^ first_half;
        let retry_granted = if in_code {
            self.code_ready.val()
        } else if retry_odd {
            self.grant[1].val()
        } else {
            self.grant[0].val()
        };
        let even_settled = !early.first_even | self.grant[0].val();
        let odd_settled = !early.first_odd | self.grant[1].val();
        self.other_granted.next = retries_l1 & retry_granted & first_half;
        if self.advance.val() {
            self.settled.d.next =
                (early.loads_l1 & even_settled & odd_settled) | (early.loads_code & self.code_ready.val());
            self.retries.d.next = false;
            self.other_done.d.next = false;
        } else {
            let got = self.retries.q.val() & retry_granted;
            self.settled.d.next = fast & (fetched | (got & !first_half));
            self.retries.d.next = fast & !fetched & !early.conflict & !(got & !first_half);
            self.other_done.d.next = fast & (self.other_done.q.val() | (got & first_half));
        }

        // The region comes too late for the grant. So every load reads L1, and the super-bank is that of the offset,
        // since bases are multiples of a beat.
        self.reads[0].next = (early.loads & early.first_even) | (retries_l1 & !retry_odd);
        self.reads[1].next = (early.loads & early.first_odd) | (retries_l1 & retry_odd);
        self.row[0].next = (place.even_row.get_bits::<11>(2), place.next_row.get_bits::<2>(0)).cat::<13>();
        self.row[1].next = (place.physical.get_bits::<11>(5), place.offset.get_bits::<2>(3)).cat::<13>();
        self.queue.may_use.next = !early.loads & !self.retries.q.val();
        self.code_valid.next = early.loads_code | retries_code;
        self.code_address.next = place.physical.get_bits::<14>(2);
        Read { fast, fetched }
    }

    /// What the store buffer compares: regions do not overlap, so bytes that are the same in L1 have the same address,
    /// and the comparison need not wait for the region.
    fn compare_rows(&mut self, access: Access, early: EarlyLoad, shape: Shape) {
        let first_sum = self.first_sum.val();
        // Regions do not overlap: what is the same in L1 has the same address. So the comparison need not wait for the
        // region.
        self.queue.look_row.next = (self.a.val().get_bits::<3>(28), first_sum.get_bits::<12>(3)).cat::<15>();
        self.queue.entry_row.next = (access.sum.get_bits::<3>(28), access.sum.get_bits::<12>(3)).cat::<15>();
        self.queue.look_crosses.next = early.first_crosses & first_sum.get_bit(2);
        self.queue.entry_crosses.next = shape.crosses;
        self.queue.may_push.next = self.live.val() & self.executed.val().traits.accesses;
        self.from.next = self.found.q.val().target;
    }

    /// M1: accesses that leave through the store buffer, and reads of the command port.
    fn leave(&mut self, access: Access, shape: Shape, read: Read) {
        let live = self.live.val();
        let in_l2 = self.in_l2.q.val();
        let word = access.sum.get_bits::<4>(2);
        let issues = access.is_store & self.in_port.q.val() & (word == bits::<4>(ISSUE_WORD));
        let long = access.is_atomic | (access.is_load & in_l2);
        let pushes = access.right & (long | (access.is_store & !self.issue_left.q.val()));
        let has_room = !self.queue.full.val()
            & !(long & self.remote.read_stalls.val())
            & !(access.is_store & in_l2 & self.remote.write_stalls.val());
        let push = live & pushes & has_room;
        self.queue.push.next = push;
        self.remote.read.next = push & long;
        self.remote.write.next = push & access.is_store & in_l2;
        self.check.leaves_long.next = pushes & has_room & long;
        self.queue.entry.next = Leaving {
            target: self.found.q.val().target,
            thread: self.thread.val(),
            bank: self.bank.val(),
            remote: access.is_atomic | in_l2,
            writes: access.is_store,
            atomic: access.is_atomic,
            operation: self.executed.val().funct5,
            address: self.physical.q.val(),
            even_row: self.even_row.q.val(),
            size_less_one: shape.size,
            data: self.executed.val().b,
            shared: access.sum.get_bits::<3>(28) == bits::<3>(SCRATCH),
        };
        // ISSUE waits for its reply in M1.
        self.check.issuing.next = self.issue_left.q.val();
        if self.advance.val() | !live {
            self.issue_left.d.next = false;
        } else if push & issues {
            self.issue_left.d.next = true;
        }

        // Reads of the command port come after all that was written to it.
        let reads_port = access.is_load & access.right & self.in_port.q.val();
        self.port_read.next = live & reads_port & self.queue.empty.val();
        self.check.again.next =
            reads_port & self.queue.empty.val() & (word == bits::<4>(WAIT_WORD)) & self.pending.val();
        self.check.stalls.next = (live & self.wrong.q.val())
            | (read.fast & !read.fetched)
            | (live
                & ((pushes & !has_room)
                    | (issues & access.right & !self.replied.val())
                    | (reads_port & !self.queue.empty.val())));
    }
}
