//! Link fault signalling.

use super::character::SEQUENCE;
use super::XgmiiSink;
use spindle_verilog::prelude::*;

/// Columns without a fault after which the link is good again.
const QUIET_COLUMNS: u64 = 128;

/// Which fault one column reports, if any.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Column {
    fault: Bit,
    remote: Bit,
}

/// What the state diagram knows, beside the count of columns.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Seen {
    /// Columns of one kind in succession, at most 4.
    count: Bits<3>,
    /// Their kind.
    remote: Bit,
    /// The link has a fault.
    faulty: Bit,
    /// Its kind.
    faulty_remote: Bit,
}

/// The state diagram of 46.3.4 (figure 46-9): what the receiver's columns say of the link.
///
/// | ports | neighbour |
/// |---|---|
/// | in `xgmii`, `enable` | PCS: a word in every enabled cycle |
/// | out `local_fault`, `remote_fault` | [`MacTx`](super::MacTx), in the clock of the receiver |
///
/// A fault is reported when four columns of its kind have come with fewer than 128 other columns between them and none of the
/// other kind. It ends with the 128th column in succession without a fault. Both columns of a word are
/// taken in their order. Latency 2 cycles. At most 5 levels of logic.
#[block]
pub struct LinkFault {
    /// From the PCS.
    pub xgmii: XgmiiSink,
    /// There is a word in this cycle.
    pub enable: Signal<In, Bit>,
    /// This receiver hears nothing.
    pub local_fault: Signal<Out, Bit>,
    /// The other receiver hears nothing.
    pub remote_fault: Signal<Out, Bit>,
    columns: [Reg<Column>; 2],
    seen: Reg<Seen>,
    /// Columns since the last one with a fault; stops at 128 or 129.
    since: Reg<Bits<8>>,
    /// `since` is so great that the next column, or the one after it, is the 128th.
    first_ends: Reg<Bit>,
    second_ends: Reg<Bit>,
}

/// One step of the state diagram, without its count of columns.
#[hdl_fn]
fn after_fault(seen: Seen, remote: Bit) -> Seen {
    let same = (seen.count != 0) & (seen.remote == remote);
    let fourth = same & (seen.count >= 3);
    let mut count: Bits<3> = bits::<3>(1);
    if fourth {
        count = bits::<3>(4);
    } else if same {
        count = seen.count + 1;
    }
    Seen {
        count,
        remote,
        faulty: seen.faulty | fourth,
        faulty_remote: if fourth { remote } else { seen.faulty_remote },
    }
}

#[hdl]
impl LinkFault {
    fn update(&mut self) {
        if self.enable.val() {
            for i in 0..2 {
                let column = self.xgmii.data.val().get_bits::<32>(32 * i);
                let reports = (self.xgmii.control.val().get_bits::<4>(4 * i) == 1)
                    & (column.get_bits::<24>(0) == bits::<24>(SEQUENCE));
                let kind = column.get_bits::<8>(24);
                self.columns[i].d.next =
                    Column { fault: reports & ((kind == 1) | (kind == 2)), remote: kind.get_bit(1) };
            }
            let first = self.columns[0].q.val();
            let second = self.columns[1].q.val();
            let quiet = Seen { count: bits::<3>(0), remote: false, faulty: false, faulty_remote: false };
            let since = self.since.q.val();
            let mut seen: Seen = self.seen.q.val();
            // The count goes on by two: it is even after a fault in the second column, odd after one in the first.
            if first.fault {
                seen = after_fault(seen, first.remote);
            } else if self.first_ends.q.val() {
                seen = quiet;
            }
            if second.fault {
                seen = after_fault(seen, second.remote);
            } else if !first.fault & self.second_ends.q.val() {
                seen = quiet;
            }
            self.seen.d.next = seen;
            let calm = !first.fault & !second.fault;
            self.first_ends.d.next = calm & (since >= (QUIET_COLUMNS - 3));
            self.second_ends.d.next = calm & (since >= (QUIET_COLUMNS - 4));
            if second.fault {
                self.since.d.next = bits::<8>(0);
            } else if first.fault {
                self.since.d.next = bits::<8>(1);
            } else if !since.get_bit(7) {
                self.since.d.next = since + 2;
            }
        }
        let seen = self.seen.q.val();
        self.local_fault.next = seen.faulty & !seen.faulty_remote;
        self.remote_fault.next = seen.faulty & seen.faulty_remote;
    }
}
