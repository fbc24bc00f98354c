//! The accepted numbers of each peer, and the lowest number that has not been accepted: the base.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `op` / out `ready` | filter, sequencer; not ready in the cycle in which a base advances to its next row |
//! | out `row`, `was_accepted` | 2 cycles later, from registers: the row after the operation, and whether `index` was accepted in it |
//! | out `base_write`, `base_peer`, `base` | filter: 2 cycles later: a base has changed |
//! | out `advances` | sequencer: a base may go on to another row; from the third cycle after the operation that has moved it |
//!
//! One operation per cycle. The base is a row and an offset in it. Bits below the offset already belong to the next lap; the
//! first number of the row above it that has not been accepted is the new base. A row without one
//! sends the base to the next row, whose bits may be set already: that row is checked in an operation of its own.
//!
//! An operation uses the base of up to 2 cycles before. That does no harm. A smaller offset hides less: but a number of the next
//! lap can only be held once the new base is known, and accepted after that. A row before the base's is found full again, which has
//! the same result; a row that the base has reached meanwhile is checked afterwards.

use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// [`AcceptedOp::kind`]: the number has been accepted.
pub const ACCEPTED_MARK: u64 = 0;
/// [`AcceptedOp::kind`]: the base has come to this row.
pub const ACCEPTED_ADVANCE: u64 = 1;
/// [`AcceptedOp::kind`]: the row becomes zero; row 0: so does the base.
pub const ACCEPTED_CLEAR: u64 = 2;
/// [`AcceptedOp::kind`]: the row is read.
pub const ACCEPTED_READ: u64 = 3;

/// What is done to a row.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AcceptedOp {
    /// One of the `ACCEPTED_*` constants.
    pub kind: Bits<2>,
    /// Peer.
    pub peer: Bits<8>,
    /// Row, and the lowest bit of its lap above it.
    pub row: Bits<5>,
    /// Number in the row.
    pub index: Bits<6>,
}

/// See the head of this file.
#[block]
pub struct AcceptedNumbers {
    /// Operation.
    pub op: PulseSink<AcceptedOp>,
    /// The operation is taken.
    pub ready: Signal<Out, Bit>,
    /// Row of the operation two cycles before.
    pub row: Signal<Out, Bits<64>>,
    /// Its number was accepted.
    pub was_accepted: Signal<Out, Bit>,
    /// A base has changed.
    pub base_write: Signal<Out, Bit>,
    /// Whose.
    pub base_peer: Signal<Out, Bits<8>>,
    /// The base.
    pub base: Signal<Out, Bits<32>>,
    /// A base has come to the end of a row, and the next row has not been examined.
    pub advances: Signal<Out, Bit>,
    rows: SdpMemory<Bits<64>, 12>,
    bases: SdpMemory<Bits<32>, 8>,
    advancing: Reg<Bit>,
    advance: DFF<AcceptedOp>,
    // 1: the row is there.
    changing: Reg<Bit>,
    change: DFF<AcceptedOp>,
    /// The operation before has the same row.
    again: Reg<Bit>,
    last_row: DFF<Bits<64>>,
    // 2: the base moves to the first number that has not been accepted.
    finding: Reg<Bit>,
    find: DFF<AcceptedOp>,
    /// Its numbers that have not been accepted, from the base on.
    ahead: DFF<Bits<64>>,
    bit_out: DFF<Bit>,
    base_row: DFF<Bits<26>>,
    /// The base is in the row.
    base_here: DFF<Bit>,
}

impl AcceptedNumbers {
    /// The numbers of `peers` peers, and the lowest of each, in memories of the given kinds.
    pub fn new(peers: usize, style: RamStyle, bases: RamStyle) -> Self {
        Self {
            rows: SdpMemory::with_depth(style, 1, peers * super::ROWS),
            bases: SdpMemory::with_depth(bases, 1, peers),
            ..Self::blank()
        }
    }
}

#[hdl]
impl AcceptedNumbers {
    fn update(&mut self) {
        // 0: read the row and the base.
        let op = if self.advancing.q.val() { self.advance.q.val() } else { self.op.val() };
        let change = self.change.q.val();
        let begins = self.advancing.q.val() | self.op.valid.val();
        self.ready.next = !self.advancing.q.val();
        self.changing.d.next = begins;
        self.change.d.next = op;
        let row_address = (op.peer, op.row.get_bits::<4>(0)).cat::<12>();
        let change_address = (change.peer, change.row.get_bits::<4>(0)).cat::<12>();
        self.again.d.next = self.changing.q.val() & (row_address == change_address);
        self.rows.read(begins, row_address);
        self.bases.read(begins, op.peer);

        // 1: change it, and find its numbers that have not been accepted: those whose bit is that of the lap.
        let old = if self.again.q.val() { self.last_row.q.val() } else { self.rows.read_data.val() };
        let lap = change.row.get_bit(4);
        let marks = change.kind == ACCEPTED_MARK;
        let chosen = (bits::<64>(1) << change.index) & repeat::<64>(marks);
        let row = ((old & !chosen) | (repeat::<64>(!lap) & chosen)) & repeat::<64>(change.kind != ACCEPTED_CLEAR);
        self.row.next = self.last_row.q.val();
        self.last_row.d.next = row;
        self.rows.write(self.changing.q.val() & (marks | (change.kind == ACCEPTED_CLEAR)), change_address, row);
        let base_seen = self.bases.read_data.val();
        let base_row = base_seen.get_bits::<26>(6);
        let base_here = base_row.get_bits::<5>(0) == change.row;
        let passed = base_seen.get_bits::<6>(0) & repeat::<6>(base_here);
        let open = row ^ repeat::<64>(!lap);
        let ahead = open & (repeat::<64>(true) << passed);
        self.finding.d.next = self.changing.q.val() & (change.kind != ACCEPTED_READ);
        self.find.d.next = change;
        self.ahead.d.next = ahead;
        self.bit_out.d.next = !open.get_bit(change.index.index());
        self.was_accepted.next = self.bit_out.q.val();

        self.base_row.d.next = base_row;
        self.base_here.d.next = base_here & (change.kind != ACCEPTED_CLEAR);

        // 2: move the base.
        let find = self.find.q.val();
        let ahead = self.ahead.q.val();
        let full = !ahead.any();
        let offset = first_set::<6, 64>(ahead) & repeat::<6>(!full);
        let first = (find.kind == ACCEPTED_CLEAR) & !find.row.any();
        let mut new_row: Bits<26> = self.base_row.q.val();
        if first {
            new_row = bits::<26>(0);
        } else if full {
            new_row = self.base_row.q.val() + 1;
        }
        let base = (new_row, offset & repeat::<6>(!first)).cat::<32>();
        let writes = self.finding.q.val() & (first | self.base_here.q.val());
        self.bases.write(writes, find.peer, base);
        self.base_write.next = writes;
        self.base_peer.next = find.peer;
        self.base.next = base;
        self.advances.next = self.advancing.q.val()
            | (self.changing.q.val() & (change.kind == ACCEPTED_ADVANCE))
            | (self.finding.q.val() & (find.kind == ACCEPTED_ADVANCE));
        self.advancing.d.next = self.finding.q.val() & self.base_here.q.val() & full;
        self.advance.d.next =
            AcceptedOp { kind: bits::<2>(ACCEPTED_ADVANCE), peer: find.peer, row: find.row + 1, index: bits::<6>(0) };
    }
}
