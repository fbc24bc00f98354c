//! Transmitter: packets of four sources into one stream to the link.
//!
//! | neighbour | ports |
//! |---|---|
//! | completer, MSI-X, read issue, write sender | in `completion`, `message`, `read`, `write` |
//! | `pcie_7x` | out `tx`; in `buffers`, `read_credits` |
//!
//! Packets never mix, and leave in the order in which they are begun. A completion goes first, then a message; reads
//! and writes take turns. So that completions always find a buffer in the core, the other packets begin while at least
//! three are free (`tx_buf_av`); a read begins while the link partner has credits for one (`fc_nph` with `fc_sel` 4,
//! transmit credits that are available), since reads without credits would fill the core's buffers.
//!
//! Source → `tx`: 1 cycle. A beat per cycle, no gap between packets. All outputs come from registers.

use super::ports::{PacketSink, TxAxisSource};
use spindle_blocks::Skid;
use spindle_verilog::prelude::*;

/// Buffers of the core that stay free for completions.
const SPARE_BUFFERS: u64 = 2;

/// A beat to the link.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct TxBeat {
    data: Bits<128>,
    top: Bits<2>,
    last: Bit,
}

/// The transmitter. See the module text.
#[block]
pub struct Transmitter {
    /// Completions.
    pub completion: PacketSink,
    /// Messages of MSI-X.
    pub message: PacketSink,
    /// Memory reads.
    pub read: PacketSink,
    /// Memory writes.
    pub write: PacketSink,
    /// Packets to the link.
    pub tx: TxAxisSource,
    /// Free buffers of the core.
    pub buffers: Signal<In, Bits<6>>,
    /// Credits of the link partner for headers of reads.
    pub read_credits: Signal<In, Bits<8>>,
    /// The source of the packet that has begun.
    holder: Reg<Bits<4>>,
    held: Reg<Bit>,
    write_next: Reg<Bit>,
    room: Reg<Bit>,
    credit: Reg<Bit>,
    output: Skid<TxBeat>,
}

#[hdl]
impl Transmitter {
    fn update(&mut self) {
        self.room.d.next = self.buffers.val() > bits::<6>(SPARE_BUFFERS);
        self.credit.d.next = self.read_credits.val().any();
        let room = self.room.q.val();
        let completion = self.completion.valid.val();
        let message = self.message.valid.val() & room;
        let read = self.read.valid.val() & room & self.credit.q.val();
        let write = self.write.valid.val() & room;
        let others = !completion & !message;
        let write_first = self.write_next.q.val() | !read;
        let choice = (
            others & write & write_first,
            others & read & !(write & self.write_next.q.val()),
            message & !completion,
            completion,
        )
            .cat::<4>();
        let held = self.held.q.val();
        let now = if held { self.holder.q.val() } else { choice };

        let valids =
            (self.write.valid.val(), self.read.valid.val(), self.message.valid.val(), self.completion.valid.val())
                .cat::<4>();
        let of_completion = TxBeat {
            data: self.completion.data.val(),
            top: self.completion.top.val(),
            last: self.completion.last.val(),
        };
        let of_message =
            TxBeat { data: self.message.data.val(), top: self.message.top.val(), last: self.message.last.val() };
        let of_read = TxBeat { data: self.read.data.val(), top: self.read.top.val(), last: self.read.last.val() };
        let of_write = TxBeat { data: self.write.data.val(), top: self.write.top.val(), last: self.write.last.val() };
        let beat = select_hot(now, [of_completion, of_message, of_read, of_write]);
        let offers = (now & valids).any();
        let ready = self.output.write.ready.val();
        self.output.write.offer(offers, beat);
        self.completion.ready.next = ready & now.get_bit(0);
        self.message.ready.next = ready & now.get_bit(1);
        self.read.ready.next = ready & now.get_bit(2);
        self.write.ready.next = ready & now.get_bit(3);
        if offers & ready {
            self.held.d.next = !beat.last;
            self.holder.d.next = now;
            self.write_next.load(now.get_bit(2) | now.get_bit(3), now.get_bit(2));
        }

        let out = self.output.read.val();
        self.tx.tdata.next = out.data;
        self.tx.tlast.next = out.last;
        self.tx.tkeep.next = (
            repeat::<4>(out.top == bits::<2>(3)),
            repeat::<4>(out.top >= bits::<2>(2)),
            repeat::<4>(out.top >= bits::<2>(1)),
            repeat::<4>(true),
        )
            .cat::<16>();
        self.tx.tuser.next = bits::<4>(0);
        self.tx.tvalid.next = self.output.read.valid.val();
        self.output.read.ready.next = self.tx.tready.val();
    }
}
