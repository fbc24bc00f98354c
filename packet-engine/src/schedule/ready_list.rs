//! The lists of packets that wait for a header handler, and the ready list of packets whose wait is over.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `append`, `linked`, `pkt`, `slot`, `wait_tail` | scheduler: appends a packet to its message's list, after `wait_tail` if linked |
//! | in `splice`, `slot`, `wait_head`, `wait_tail` | scheduler: the list of a message is appended to the ready list |
//! | out `head` | event arbiter: the first packet of the ready list |
//!
//! One append or splice and one packet out per cycle, never stalls: 1 cycle from a splice to `head_valid`. A message's list is
//! given by its first and its last packet, which are in the message's state; this block has the links, one per cell in block RAM,
//! and the ends of the ready list.

use crate::schedule::message::Link;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// See the head of this file.
#[block]
pub struct ReadyList {
    /// The packet waits.
    pub append: Signal<In, Bit>,
    /// Another one of its message waits already.
    pub linked: Signal<In, Bit>,
    /// The waiting packets of the message need wait no longer.
    pub splice: Signal<In, Bit>,
    /// Head cell of the packet.
    pub pkt: Signal<In, Bits<10>>,
    /// Its message.
    pub slot: Signal<In, Bits<8>>,
    /// First packet that waits.
    pub wait_head: Signal<In, Bits<10>>,
    /// Last packet that waits.
    pub wait_tail: Signal<In, Bits<10>>,
    /// First packet whose wait is over.
    pub head: Source<Link>,
    links: SdpMemory<Link, 10>,
    ready_any: Reg<Bit>,
    ready_head: DFF<Link>,
    ready_tail: DFF<Bits<10>>,
    /// The link after the head, while `links` does not have it yet.
    ready_next: DFF<Link>,
    ready_next_holds: Reg<Bit>,
}

impl ReadyList {
    /// For packets of a buffer with `cells` cells.
    pub fn new(cells: usize) -> Self {
        Self { links: SdpMemory::with_depth(RamStyle::sparing(cells), 1, cells), ..Self::blank() }
    }
}

#[hdl]
impl ReadyList {
    fn update(&mut self) {
        self.head.offer(self.ready_any.q.val(), self.ready_head.q.val());

        let appends = self.append.val();
        let splices = self.splice.val();
        let takes = self.head.ready.val();
        let wait_head = self.wait_head.val();
        let slot = self.slot.val();
        let empties = takes & (self.ready_head.q.val().pkt == self.ready_tail.q.val());
        let joins = self.ready_any.q.val() & !empties;
        let write_link = (appends & self.linked.val()) | (splices & joins);
        let link_at = if appends { self.wait_tail.val() } else { self.ready_tail.q.val() };
        let link = Link { pkt: if appends { self.pkt.val() } else { wait_head }, slot };
        let mut head: Link = self.ready_head.q.val();
        if splices & !joins {
            head = Link { pkt: wait_head, slot };
        } else if takes {
            head = if self.ready_next_holds.q.val() { self.ready_next.q.val() } else { self.links.read_data.val() };
        }
        self.ready_head.d.next = head;
        if splices {
            self.ready_any.d.next = true;
            self.ready_tail.d.next = self.wait_tail.val();
        } else if empties {
            self.ready_any.d.next = false;
        }
        self.links.write(write_link, link_at, link);
        self.links.read(true, head.pkt);
        // A link that is written as it is read.
        let overtaken = write_link & (link_at == head.pkt);
        self.ready_next_holds.d.next = overtaken;
        self.ready_next.d.next = link;
    }
}
