//! Catch-all: for each process the mailbox that gets what finds no other, header and payload.
//!
//! | neighbour | ports |
//! |---|---|
//! | lookup | in `command`, `command_valid` (what the table is asked); in `owner`; out `mailbox_number`, `open` |
//!
//! `owner` → `mailbox_number`, `open`: in the same cycle. A mailbox opened as CATCH_ALL is its process's from the next cycle on, in place
//! of one that was it before, and until it is being closed.

use crate::types::{Packet, TableRequest, CLOSING, INSERT};
use spindle_blocks::ram::LutRam;
use spindle_contract::registers::mailbox_mode;
use spindle_contract::wire::SPINDLE_BYTES;
use spindle_verilog::prelude::*;

const CATCH_ALL: u64 = mailbox_mode::CATCH_ALL as u64;

/// A packet as a message of its own that begins with its header, which lies before the payload in the frame.
#[hdl_fn]
pub fn with_header(packet: Packet) -> Packet {
    let length = packet.payload_len + SPINDLE_BYTES as u64;
    Packet {
        payload_offset: packet.payload_offset - SPINDLE_BYTES as u64,
        payload_len: length,
        msg_len: bit_cast::<32, 16>(length),
        start: bits::<32>(0),
        end: bit_cast::<32, 16>(length),
        outside: false,
        caught: true,
        ..packet
    }
}

/// The table of catch-all mailboxes. See the module text.
#[derive(LogicBlock, Default)]
pub struct CatchAll {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// What the mailbox table is told.
    pub command: Signal<In, TableRequest>,
    /// It is told something.
    pub command_valid: Signal<In, Bit>,
    /// Process of a packet.
    pub owner: Signal<In, Bits<6>>,
    /// Its catch-all mailbox.
    pub mailbox_number: Signal<Out, Bits<12>>,
    /// There is one.
    pub open: Signal<Out, Bit>,
    /// For packets, and for commands.
    numbers: LutRam<6, 12, 2>,
    opened: Reg<Bits<64>>,
}

impl Logic for CatchAll {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, opened);
        let command = self.command.val();
        let asker = command.pid.get_bits::<6>(0);
        let opens = self.command_valid.val() & (command.op == INSERT) & (command.mode & bits::<9>(CATCH_ALL)).any();
        self.numbers.clock.next = self.clock.val();
        self.numbers.write_enable.next = opens;
        self.numbers.write_address.next = asker;
        self.numbers.write_data.next = command.mailbox;
        self.numbers.read_address[0].next = self.owner.val();
        self.numbers.read_address[1].next = asker;
        self.mailbox_number.next = self.numbers.read_data[0].val();
        self.open.next = self.opened.q.val().get_bit(self.owner.val().index());
        let closes =
            self.command_valid.val() & (command.op == CLOSING) & (self.numbers.read_data[1].val() == command.mailbox);
        if opens | closes {
            self.opened.d.next = self.opened.q.val().replace_bit(asker.index(), opens);
        }
    }
}
