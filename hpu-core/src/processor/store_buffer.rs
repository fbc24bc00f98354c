//! Accesses that have left M1 and wait for their memory, in order.

use super::bundles::StoreQueueSink;
use super::types::{PortAccess, RemoteRequest, Target, WordRequest};
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// Entries.
pub const STORE_ENTRIES: usize = 2;
/// The head goes before a load three cycles after it has become the head; the first of them is not counted.
const PATIENCE: u64 = 2;

/// An access on its way: a store, or a load or atomic of the remote unit.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Leaving {
    /// Where it goes.
    pub target: Target,
    /// Its thread.
    pub thread: Bit,
    /// Its bank.
    pub bank: Bits<2>,
    /// It goes to the remote unit.
    pub remote: Bit,
    /// Store: neither load nor atomic.
    pub writes: Bit,
    /// Atomic.
    pub atomic: Bit,
    /// funct5 of the atomic.
    pub operation: Bits<5>,
    /// Physical byte address.
    pub address: Bits<20>,
    /// Row of the even words, if L1: another one if the access begins in an odd word.
    pub even_row: Bits<13>,
    /// Bytes less one.
    pub size_less_one: Bits<2>,
    /// Right-aligned.
    pub data: Bits<32>,
    /// In a scratchpad.
    pub shared: Bit,
}

/// The store buffer: everything that changes memory, and every remote access, leaves through it in order.
///
/// | neighbour | ports |
/// |---|---|
/// | M1, X | `queue`; in `squash`: the push of the last cycle was a fault |
/// | L1 | out `request`, `valid`, `wants` of both half ports / in `grant` |
/// | remote unit | out `remote` |
/// | command port | out `port`, `port_write` |
/// | threads, endings | in `ends`, `thread`; out `draining`: entries from before a handler's end have not left yet |
///
/// An entry can leave in the cycle after its push, one per cycle, unless it is squashed then: its rights are checked
/// while it is written. The two halves of a store that crosses a word leave together or one after the other. `overlap`
/// compares rows of eight bytes, and is always high for accesses that cross such a row. A head of L1 that has waited three
/// cycles requests the ports by `urgent`, from its fourth on.
#[block]
pub struct StoreBuffer {
    /// Accesses from M1.
    pub queue: StoreQueueSink,
    /// The push of the last cycle is dropped; never together with a push.
    pub squash: Signal<In, Bit>,
    /// Accesses of L1.
    pub request: [Signal<Out, WordRequest>; 2],
    /// The access is offered.
    pub valid: [Signal<Out, Bit>; 2],
    /// The head needs this half port, as far as registers know.
    pub wants: [Signal<Out, Bit>; 2],
    /// The access is granted.
    pub grant: [Signal<In, Bit>; 2],
    /// Access of the remote unit.
    pub remote: Source<RemoteRequest>,
    /// Access of the command port.
    pub port: Signal<Out, PortAccess>,
    /// It is a write.
    pub port_write: Signal<Out, Bit>,
    /// A handler ends.
    pub ends: Signal<In, Bit>,
    /// On this thread.
    pub thread: Signal<In, Bit>,
    /// Threads with entries that were pushed before their handler ended.
    pub draining: Signal<Out, Bits<2>>,
    entries: LutMemory<Leaving, 1>,
    rows: [DFF<Bits<15>>; STORE_ENTRIES],
    crossing: [DFF<Bit>; STORE_ENTRIES],
    used: [Reg<Bit>; STORE_ENTRIES],
    write_at: Reg<Bit>,
    read_at: Reg<Bit>,
    /// Half ports of L1 that an entry still needs: kept beside the memory, since the grants of the whole cluster wait
    /// for them.
    even: [DFF<Bit>; STORE_ENTRIES],
    odd: [DFF<Bit>; STORE_ENTRIES],
    /// Its columns of L1, odd words and even ones, for the same reason.
    columns: [DFF<Bits<4>>; STORE_ENTRIES],
    patience: Reg<Bits<2>>,
    /// The memory has room.
    room: Reg<Bit>,
    /// There was a push in the last cycle.
    pushed: Reg<Bit>,
    /// The head left in the last cycle.
    left_last: Reg<Bit>,
    /// Entries to leave before a thread's old stores are gone, one cycle late.
    left: [Reg<Bits<2>>; 2],
}

/// The store of an entry, in this row and column of a half port.
#[hdl_fn]
fn store_request(entry: Leaving, row: Bits<11>, column: Bits<2>) -> WordRequest {
    WordRequest {
        row: (row, column).cat::<13>(),
        offset: entry.address.get_bits::<3>(0),
        size_less_one: entry.size_less_one,
        data: entry.data,
        shared: entry.shared,
        write: true,
    }
}

#[hdl]
impl StoreBuffer {
    fn update(&mut self) {
        let write_at = self.write_at.q.val();
        let read_at = self.read_at.q.val();
        let both = self.used[0].q.val() & self.used[1].q.val();
        let any = self.used[0].q.val() | self.used[1].q.val();
        let full = !self.room.q.val();
        self.queue.full.next = full;
        self.queue.empty.next = !any;
        self.pushed.d.next = self.queue.push.val();
        // The newest entry, which may be the head, is dropped.
        let squashes = self.squash.val() & self.pushed.q.val();
        let may_leave = any & !(squashes & !both);

        // The access in M1 is written as long as there is room; only a push makes it count.
        self.entries.write(!full, write_at.into(), self.queue.entry.val());
        self.entries.read_address.next = read_at.into();
        let head = self.entries.read_data.val();

        // The head leaves.
        let wants_even = if read_at { self.even[1].q.val() } else { self.even[0].q.val() };
        let wants_odd = if read_at { self.odd[1].q.val() } else { self.odd[0].q.val() };
        let in_l1 = any & (wants_even | wants_odd);
        let may_use = self.queue.may_use.val();
        self.valid[0].next = may_leave & wants_even & may_use;
        self.valid[1].next = may_leave & wants_odd & may_use;
        self.wants[0].next = any & wants_even;
        self.wants[1].next = any & wants_odd;
        let even_taken = !wants_even | self.grant[0].val();
        let odd_taken = !wants_odd | self.grant[1].val();
        self.remote.valid.next = may_leave & head.remote;
        self.port_write.next = may_leave & (head.target == Target::Command);
        let leaves = may_leave
            & (if head.remote {
                self.remote.ready.val()
            } else if in_l1 {
                // A half is still needed, so the entry needs the ports to leave; whether they are free comes late.
                may_use & even_taken & odd_taken
            } else {
                true
            });
        // Patience is lost for accesses of L1 alone, and begins anew a cycle late: the grants of this cycle are of no
        // concern to it.
        self.queue.urgent.next = (self.patience.q.val() == PATIENCE) & !self.left_last.q.val();
        if self.left_last.q.val() | (self.pushed.q.val() & !both) | !in_l1 {
            self.patience.d.next = bits::<2>(0);
        } else if self.patience.q.val() != PATIENCE {
            self.patience.d.next = self.patience.q.val() + 1;
        }
        self.offer_head(head, read_at);

        // Occupation.
        self.write_at.load(self.queue.push.val() | squashes, !write_at);
        self.read_at.load(leaves, !read_at);
        self.room.d.next = leaves | !(both | (any & self.queue.push.val()));
        self.left_last.d.next = leaves;
        let entry = self.queue.entry.val();
        let entry_row = self.queue.entry_row.val();
        let entry_in_l1 = (entry.target == Target::L1) & !entry.remote;
        let second_word = entry.address.get_bit(2);
        let entry_crosses = second_word & self.queue.entry_crosses.val();
        let mut overlap: Bits<STORE_ENTRIES> = bits::<STORE_ENTRIES>(0);
        for i in 0..STORE_ENTRIES {
            self.used[i].load(leaves & (read_at == (i == 1)), false);
            if squashes & (write_at != (i == 1)) {
                self.used[i].d.next = false;
            } else if self.queue.push.val() & (write_at == (i == 1)) {
                self.used[i].d.next = true;
            }
            if !full & (write_at == (i == 1)) {
                self.rows[i].d.next = entry_row;
                self.crossing[i].d.next = entry_crosses;
                self.columns[i].d.next = (entry.address.get_bits::<2>(3), entry.even_row.get_bits::<2>(0)).cat::<4>();
                self.even[i].d.next = entry_in_l1 & (!second_word | self.queue.entry_crosses.val());
                self.odd[i].d.next = entry_in_l1 & (second_word | self.queue.entry_crosses.val());
            } else if may_use & (read_at == (i == 1)) {
                // No load uses the ports, so the grant is for the head.
                self.even[i].d.next = self.even[i].q.val() & !self.grant[0].val();
                self.odd[i].d.next = self.odd[i].q.val() & !self.grant[1].val();
            }
            let looks = self.queue.look_row.val();
            let crosses = self.queue.look_crosses.val();
            let old = self.used[i].q.val() & ((self.rows[i].q.val() == looks) | self.crossing[i].q.val() | crosses);
            let comes = self.queue.may_push.val() & (write_at == (i == 1));
            let added = comes & ((entry_row == looks) | entry_crosses | crosses);
            overlap = overlap.replace_bit(i, old | added);
        }
        self.queue.overlap.next = overlap;
        self.queue.waiting.next = (self.used[1].q.val(), self.used[0].q.val()).cat::<STORE_ENTRIES>();

        self.drain(both, any, squashes);
    }

    /// Offers the head to its memory.
    fn offer_head(&mut self, head: Leaving, read_at: Bit) {
        let columns = if read_at { self.columns[1].q.val() } else { self.columns[0].q.val() };
        self.request[0].next = store_request(head, head.even_row.get_bits::<11>(2), columns.get_bits::<2>(0));
        self.request[1].next = store_request(head, head.address.get_bits::<11>(5), columns.get_bits::<2>(2));
        self.remote.next = RemoteRequest {
            thread: head.thread,
            to_l2: head.target == Target::L2,
            write: head.writes,
            atomic: head.atomic,
            operation: head.operation,
            address: head.address,
            size_less_one: head.size_less_one,
            data: head.data,
        };
        self.port.next =
            PortAccess { thread: head.thread, bank: head.bank, word: head.address.get_bits::<4>(2), data: head.data };
    }

    /// Counts the entries that leave before an ended handler's stores are gone.
    fn drain(&mut self, both: Bit, any: Bit, squashes: Bit) {
        let waiting = (both & !squashes, any & (both == squashes)).cat::<2>();
        for i in 0..2 {
            if self.ends.val() & (self.thread.val() == (i == 1)) {
                self.left[i].d.next = waiting;
            } else if self.left_last.q.val() & self.left[i].q.val().any() {
                self.left[i].d.next = self.left[i].q.val() - 1;
            }
        }
        self.draining.next = (self.left[1].q.val().any(), self.left[0].q.val().any()).cat::<2>();
    }
}
