//! Read issue: AXI4 read bursts, as memory read packets.
//!
//! | neighbour | ports |
//! |---|---|
//! | NIC | in `arid`, `araddr`, `arlen`, `arvalid`; out `arready` |
//! | read slots | in `slot`, `slot_free`, `slot_dead`; out `start` (pulse) |
//! | transmitter | out `packet` |
//! | `pcie_7x` | in `open`: the link is up and the function is bus master; in `up`, `id`, `short_read` |
//!
//! A burst is INCR with beats of 64 bytes, does not cross 4 KiB, and reads whole lines: address bits 5:0 are ignored.
//! It is cut at multiples of 256 bytes, or of 128 bytes if that is the maximum read request, so no packet crosses 4
//! KiB. Each piece takes the next slot, whose number is the packet's tag. While `open` is low, a piece takes a slot
//! that has failed already, and no packet is sent. A slot whose tag may not be used (`slot_dead`) is passed over.
//!
//! `arvalid` → `packet`: 2 cycles. A piece per cycle. Header: 3 DWs below 4 GiB, else 4.

use super::header::memory_request;
use super::ports::PacketSource;
use spindle_verilog::prelude::*;

/// Address bits of the slots: 32 reads are under way.
pub const SLOT_BITS: usize = 5;
/// Slots.
pub const SLOTS: usize = 1 << SLOT_BITS;

/// What a slot is for.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// Lines: 1 to 4.
    pub lines: Bits<3>,
    /// Last piece of its burst.
    pub ends: Bit,
    /// Id of the burst.
    pub id: Bits<8>,
    /// A packet is sent: the slot waits for its completions.
    pub waits: Bit,
    /// The slot is passed over.
    pub skipped: Bit,
}

/// The issue. See the module text.
#[block]
pub struct ReadIssue {
    /// Id of the burst.
    pub arid: Signal<In, Bits<8>>,
    /// Byte address.
    pub araddr: Signal<In, Bits<64>>,
    /// Beats less one.
    pub arlen: Signal<In, Bits<8>>,
    /// Offered.
    pub arvalid: Signal<In, Bit>,
    /// Taken.
    pub arready: Signal<Out, Bit>,
    /// The next slot.
    pub slot: Signal<In, Bits<SLOT_BITS>>,
    /// It can be taken.
    pub slot_free: Signal<In, Bit>,
    /// Its tag must not be used, while another slot's may.
    pub slot_dead: Signal<In, Bit>,
    /// No tag may be used.
    pub all_dead: Signal<In, Bit>,
    /// The next slot is taken.
    pub start: Pulse<Piece>,
    /// Packets.
    pub packet: PacketSource,
    /// The link is up and the function is bus master.
    pub open: Signal<In, Bit>,
    /// The link is up.
    pub up: Signal<In, Bit>,
    /// The maximum read request is 128 bytes.
    pub short_read: Signal<In, Bit>,
    /// The function.
    pub id: Signal<In, Bits<16>>,
    busy: Reg<Bit>,
    line: DFF<Bits<58>>,
    rest: DFF<Bits<8>>,
    burst: DFF<Bits<8>>,
    header: DFF<Bits<128>>,
    wide: DFF<Bit>,
    header_valid: Reg<Bit>,
}

#[hdl]
impl ReadIssue {
    fn update(&mut self) {
        let line = self.line.q.val();
        let rest = self.rest.q.val();
        // Lines to the boundary, and of this piece, less one.
        let low = line.get_bits::<2>(0);
        let to_boundary = if self.short_read.val() { (false, !low.get_bit(0)).cat::<2>() } else { !low };
        let ends = rest <= bit_cast::<8, 2>(to_boundary);
        let more = if ends { rest.get_bits::<2>(0) } else { to_boundary };

        let room = !self.header_valid.q.val() | self.packet.ready.val();
        let goes = self.busy.q.val() & self.slot_free.val() & room;
        let skipped = self.slot_dead.val();
        let sends = self.open.val() & !skipped & !self.all_dead.val();
        self.start.next =
            Piece { lines: bit_cast::<3, 2>(more) + 1, ends, id: self.burst.q.val(), waits: sends, skipped };
        self.start.valid.next = goes;
        let done = goes & !skipped & ends;
        if goes & !skipped {
            // A burst does not cross 4 KiB.
            let next = line.get_bits::<6>(0) + bit_cast::<6, 2>(more) + 1;
            self.line.d.next = (line.get_bits::<52>(6), next).cat::<58>();
            self.rest.d.next = rest - bit_cast::<8, 2>(more) - 1;
        }
        let takes = !self.busy.q.val() | done;
        self.arready.next = takes;
        if takes {
            self.busy.d.next = self.arvalid.val();
            self.line.d.next = self.araddr.val().get_bits::<58>(6);
            self.rest.d.next = self.arlen.val();
            self.burst.d.next = self.arid.val();
        }

        if room {
            self.header_valid.d.next = goes & sends;
            self.wide.d.next = line.get_bits::<32>(26).any();
            self.header.d.next = memory_request(
                false,
                self.id.val(),
                bit_cast::<8, SLOT_BITS>(self.slot.val()),
                (line, bits::<4>(0)).cat::<62>(),
                (bits::<3>(0), bit_cast::<3, 2>(more) + 1, bits::<4>(0)).cat::<10>(),
                repeat::<8>(true),
            );
        }
        if !self.up.val() {
            self.header_valid.d.next = false;
        }
        self.packet.data.next = self.header.q.val();
        self.packet.top.next = if self.wide.q.val() { bits::<2>(3) } else { bits::<2>(2) };
        self.packet.last.next = true;
        self.packet.valid.next = self.header_valid.q.val();
    }
}
