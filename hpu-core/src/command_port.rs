//! Command port of an HPU: argument registers of its two threads, checks, and a table of the commands under way.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPU | in `port`, `port_write`, `port_read`: always taken; out `port_data`, one cycle later; out `issue_done`, `issue_refused`, `issue_full` (one pulse per ISSUE), `port_full`, `port_pending`; in `begins`, `begin_thread`, `begin_bank` |
//! | loader | in `limits_write`, `limits_bank`, `limits`: what the commands of the next handler are checked against |
//! | mover | out `command`, `command_valid` / in `command_ready` |
//! | printer | out `print`, `print_valid` / in `print_ready` |
//! | mover, host | in `complete`, `failed`: handles whose command ended |
//! | slots | in `probe`; out `probe_used`, in the same cycle: a command under way reads this packet slot |
//! | cluster | in `number`, `hpu`; out `issued` |
//!
//! **ISSUE** is answered one cycle after it came if the last argument is four cycles old, else as soon as it is; a PRINT also waits for the printer, at most
//! 7 cycles. *done*: the command has a handle. *refused*: it is illegal. *full*: no handle is free, or the mover has not taken the command
//! before; `port_full` stays high as long as that is so. Then nothing has happened and the HPU asks again.
//!
//! **Checks** run beside the handler. Arguments are kept as words, for both threads; what is checked of an argument is worked out as it arrives, for one
//! thread. When the other thread comes, or a new handler begins, the four arguments go through the same stages once more, in four cycles.
//!
//! A command is refused if the opcode is unknown; for SEND_PACKET and DMA_TO_HOST if the source is not a 64-byte aligned address in the packet or scratch
//! region, the length is not 1 to 2048 (SEND_PACKET: 14 to 2048), or source + length passes the region's bound; for DMA_TO_HOST also if [address,
//! address + length) is not inside the context's host region; for PLACE if the task has no packet. A PRINT is never refused: it prints at most
//! eight characters, and nothing if the length is 0.
//!
//! A new handler finds arguments of zero and no trace of earlier handlers' commands, which go on in their handles. The packet slots they read stay in
//! use; a scratchpad does not: a handler that sends from it waits before it returns.

use crate::processor::types::PortAccess;
use crate::types::{Limits, PortCommand, PrintPiece};
use spindle_blocks::ram::LutMemory;
use spindle_contract::memory_map::{self as map, command};
use spindle_contract::params::{MIN_FRAME, SLOT_BYTES};
use spindle_verilog::prelude::*;

/// Words of the port by their number.
const SOURCE: u64 = map::CMD_SOURCE as u64 / 4;
const LENGTH: u64 = map::CMD_LENGTH as u64 / 4;
const ADDR_LO: u64 = map::CMD_ADDR_LO as u64 / 4;
const ISSUE: u64 = map::CMD_ISSUE as u64 / 4;
const STATUS: u64 = map::CMD_STATUS as u64 / 4;
const ERROR: u64 = map::CMD_ERROR as u64 / 4;
const SEND: u64 = command::SEND_PACKET as u64;
const PLACE: u64 = command::PLACE as u64;
const DMA: u64 = command::DMA_TO_HOST as u64;
const PRINT: u64 = command::PRINT as u64;
const PACKET: u64 = map::PACKET as u64;
const SCRATCH: u64 = map::SCRATCH as u64;
const LONGEST: u64 = SLOT_BYTES as u64;
const SHORTEST_FRAME: u64 = MIN_FRAME as u64;
const CHARACTERS: u64 = 8;
const HANDLES: usize = map::COMMAND_HANDLES;

/// An argument on its way to the checks.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Argument {
    /// Its word.
    pub word: Bits<2>,
    /// Its value.
    pub value: Bits<32>,
}

/// What is known of SOURCE.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct SourceFacts {
    /// It is an aligned address inside the packet or the scratchpad.
    pub legal: Bit,
    /// It is in the packet.
    pub in_packet: Bit,
    /// Beat of L1.
    pub beat: Bits<10>,
    /// Bytes of the region from there on.
    pub left: Bits<16>,
}

/// What is known of LENGTH.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct LengthFacts {
    /// 1 to 2048.
    pub legal: Bit,
    /// Enough bytes for a frame.
    pub is_frame: Bit,
    /// More than a PRINT has characters.
    pub long: Bit,
    /// Its low bits.
    pub bytes: Bits<12>,
}

/// What is known of ADDR_LO and ADDR_HI.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AddressFacts {
    /// The low half is inside the host region.
    pub legal: Bit,
    /// Bytes of the host region from there on.
    pub left: Bits<32>,
    /// Low half.
    pub low: Bits<32>,
    /// High half.
    pub high: Bits<32>,
}

/// Which commands would be legal.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// SEND_PACKET.
    pub send: Bit,
    /// DMA_TO_HOST.
    pub dma: Bit,
}

/// The command port. See the module text.
#[derive(LogicBlock, Default)]
pub struct CommandPort {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Number of the HPU in it.
    pub hpu: Signal<In, Bits<3>>,
    /// Access of the HPU.
    pub port: Signal<In, PortAccess>,
    /// It writes.
    pub port_write: Signal<In, Bit>,
    /// It reads.
    pub port_read: Signal<In, Bit>,
    /// The word read, one cycle later.
    pub port_data: Signal<Out, Bits<32>>,
    /// The command is under way.
    pub issue_done: Signal<Out, Bit>,
    /// It is illegal.
    pub issue_refused: Signal<Out, Bit>,
    /// There is no room for it.
    pub issue_full: Signal<Out, Bit>,
    /// There would be no room for a command.
    pub port_full: Signal<Out, Bit>,
    /// Commands of the thread's handler are under way.
    pub port_pending: Signal<Out, Bits<2>>,
    /// A handler begins.
    pub begins: Signal<In, Bit>,
    /// Its thread.
    pub begin_thread: Signal<In, Bit>,
    /// Its bank.
    pub begin_bank: Signal<In, Bits<2>>,
    /// Keep `limits` for a handler to come.
    pub limits_write: Signal<In, Bit>,
    /// Its bank.
    pub limits_bank: Signal<In, Bits<2>>,
    /// What its commands are checked against.
    pub limits: Signal<In, Limits>,
    /// A checked command.
    pub command: Signal<Out, PortCommand>,
    /// There is one.
    pub command_valid: Signal<Out, Bit>,
    /// It is taken.
    pub command_ready: Signal<In, Bit>,
    /// Characters.
    pub print: Signal<Out, PrintPiece>,
    /// There are some.
    pub print_valid: Signal<Out, Bit>,
    /// They are taken.
    pub print_ready: Signal<In, Bit>,
    /// Handles whose command ended.
    pub complete: Signal<In, Bits<4>>,
    /// With it: with an error.
    pub failed: Signal<In, Bits<4>>,
    /// Packet slot that is asked about.
    pub probe: Signal<In, Bits<4>>,
    /// A command under way reads it.
    pub probe_used: Signal<Out, Bit>,
    /// `command` is new in this cycle.
    pub issued: Signal<Out, Bit>,
    /// {thread, word} of the arguments, and which of them were written.
    arguments: LutMemory<Bits<32>, 3>,
    written: [Reg<Bits<4>>; 2],
    limit_table: LutMemory<Limits, 2>,
    /// Those of the current bank; a change of bank sends the arguments through the checks again, so one cycle late is in time.
    limits_now: DFF<Limits>,
    /// Whose arguments are checked.
    thread: Reg<Bit>,
    /// Bank of the handler of each thread.
    banks: [Reg<Bits<2>>; 2],
    /// Arguments that go through the checks once more: next one, with a bit above for "none".
    again: Reg<Bits<3>>,
    argument: DFF<Argument>,
    argument_valid: Reg<Bit>,
    argument_late: Reg<Bit>,
    source: DFF<SourceFacts>,
    length: DFF<LengthFacts>,
    address: DFF<AddressFacts>,
    checked: DFF<Checked>,
    waits: Reg<Bit>,
    opcode: DFF<Bits<4>>,
    done: Reg<Bit>,
    refused: Reg<Bit>,
    full: Reg<Bit>,
    busy: Reg<Bits<4>>,
    error: Reg<Bits<4>>,
    mine: [Reg<Bits<4>>; 2],
    from_packet: Reg<Bits<4>>,
    handle_slot: [DFF<Bits<4>>; 4],
    last_handle: [Reg<Bits<2>>; 2],
    answer: DFF<Bits<32>>,
    offered: DFF<PortCommand>,
    offered_valid: Reg<Bit>,
    fresh: Reg<Bit>,
    word_read: Signal<Local, Bits<32>>,
}

impl Logic for CommandPort {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, written, thread, banks, again, argument_valid, argument_late, waits, done, refused);
        regs!(self, clock, reset, full, busy, error, mine, from_packet, last_handle, offered_valid, fresh);
        dffs!(
            self,
            clock,
            limits_now,
            argument,
            source,
            length,
            address,
            checked,
            opcode,
            handle_slot,
            answer,
            offered
        );
        let port = self.port.val();
        let thread = self.thread.q.val();
        let bank = if thread { self.banks[1].q.val() } else { self.banks[0].q.val() };
        // A store of a handler that has ended may come after the next one has begun; it is none of its business.
        let current = port.bank == (if port.thread { self.banks[1].q.val() } else { self.banks[0].q.val() });
        let accesses = (self.port_write.val() & current) | self.port_read.val();
        let stages = self.port_write.val() & current & !port.word.get_bits::<2>(2).any();

        // Whose arguments are looked at. A change sends all four through the checks again.
        if self.begins.val() {
            self.thread.d.next = self.begin_thread.val();
        } else if accesses {
            self.thread.d.next = port.thread;
        }
        let changes = self.begins.val() | (accesses & (port.thread != thread));
        let again = self.again.q.val();
        let repeats = !again.get_bit(2) & !accesses;
        if changes {
            self.again.d.next = bits::<3>(0);
        } else if repeats {
            self.again.d.next = again + 1;
        }

        // The arguments.
        self.arguments.clock.next = self.clock.val();
        self.arguments.write_enable.next = stages;
        self.arguments.write_address.next = (port.thread, port.word.get_bits::<2>(0)).cat::<3>();
        self.arguments.write_data.next = port.data;
        self.arguments.read_address.next = if accesses {
            (port.thread, port.word.get_bits::<2>(0)).cat::<3>()
        } else {
            (thread, again.get_bits::<2>(0)).cat::<3>()
        };
        let read_thread = if accesses { port.thread } else { thread };
        let read_word = if accesses { port.word.get_bits::<2>(0) } else { again.get_bits::<2>(0) };
        let written = if read_thread { self.written[1].q.val() } else { self.written[0].q.val() };
        let exists = (written >> read_word).get_bit(0);
        self.word_read.next = self.arguments.read_data.val() & repeat::<32>(exists);
        for t in 0..2 {
            let of_port = port.thread == (t == 1);
            let of_begin = self.begin_thread.val() == (t == 1);
            if self.begins.val() & of_begin {
                self.banks[t].d.next = self.begin_bank.val();
                self.written[t].d.next = bits::<4>(0);
            } else if stages & of_port {
                self.written[t].d.next = self.written[t].q.val() | (bits::<4>(1) << port.word.get_bits::<2>(0));
            }
        }
        self.argument_valid.d.next = stages | repeats;
        self.argument_late.d.next = self.argument_valid.q.val();
        self.argument.d.next =
            Argument { word: read_word, value: if stages { port.data } else { self.word_read.val() } };

        // First stage of the checks: an argument by itself.
        self.limit_table.clock.next = self.clock.val();
        self.limit_table.write_enable.next = self.limits_write.val();
        self.limit_table.write_address.next = self.limits_bank.val();
        self.limit_table.write_data.next = self.limits.val();
        self.limit_table.read_address.next = bank;
        self.limits_now.d.next = self.limit_table.read_data.val();
        let limits = self.limits_now.q.val();
        let value = self.argument.q.val().value;
        let in_packet = value.get_bits::<4>(28) == bits::<4>(PACKET);
        let in_scratch = value.get_bits::<4>(28) == bits::<4>(SCRATCH);
        let bound = if in_packet { bit_cast::<16, 12>(limits.packet_size) } else { limits.scratch_size };
        let first_beat =
            if in_packet { (bits::<1>(0), limits.slot, bits::<5>(0)).cat::<10>() } else { limits.scratch_beat };
        let source_left = bit_cast::<17, 16>(bound) - bit_cast::<17, 16>(value.get_bits::<16>(0));
        let host_left = bit_cast::<33, 32>(limits.host_size) - bit_cast::<33, 32>(value);
        if self.argument_valid.q.val() {
            match self.argument.q.val().word.to_u64() {
                SOURCE => {
                    self.source.d.next = SourceFacts {
                        legal: (in_packet | in_scratch)
                            & !value.get_bits::<6>(0).any()
                            & !value.get_bits::<12>(16).any()
                            & !source_left.get_bit(16),
                        in_packet: in_packet,
                        beat: first_beat | value.get_bits::<10>(6),
                        left: source_left.get_bits::<16>(0),
                    };
                }
                LENGTH => {
                    self.length.d.next = LengthFacts {
                        legal: value.any() & (value <= bits::<32>(LONGEST)),
                        is_frame: value >= bits::<32>(SHORTEST_FRAME),
                        long: value > bits::<32>(CHARACTERS),
                        bytes: value.get_bits::<12>(0),
                    };
                }
                ADDR_LO => {
                    self.address.d.next.legal = !host_left.get_bit(32);
                    self.address.d.next.left = host_left.get_bits::<32>(0);
                    self.address.d.next.low = value;
                }
                _ => {
                    self.address.d.next.high = value;
                }
            }
        }

        // Second stage: arguments together.
        let source = self.source.q.val();
        let length = self.length.q.val();
        let address = self.address.q.val();
        let source_ok = source.legal & length.legal & (bit_cast::<16, 12>(length.bytes) <= source.left);
        let host_ok = address.legal
            & !address.high.any()
            & (address.left.get_bits::<20>(12).any() | (length.bytes <= address.left.get_bits::<12>(0)));
        self.checked.d.next = Checked { send: source_ok & length.is_frame, dma: source_ok & host_ok };

        // ISSUE: the opcode waits until the checks have seen all arguments.
        let comes = self.port_write.val() & (port.word == bits::<4>(ISSUE));
        let asks = comes | self.waits.q.val();
        let known = !port.data.get_bits::<28>(4).any();
        let opcode =
            if self.waits.q.val() { self.opcode.q.val() } else { port.data.get_bits::<4>(0) & repeat::<4>(known) };
        self.opcode.d.next = opcode;
        let settled = again.get_bit(2) & !changes & !self.argument_valid.q.val() & !self.argument_late.q.val();
        let busy = self.busy.q.val();
        let checked = self.checked.q.val();
        let is_send = opcode == bits::<4>(SEND);
        let is_place = opcode == bits::<4>(PLACE);
        let is_dma = opcode == bits::<4>(DMA);
        let is_print = opcode == bits::<4>(PRINT);
        let legal = (is_send & checked.send) | (is_dma & checked.dma) | (is_place & limits.has_packet);
        let occupied = busy.all() | self.offered_valid.q.val();
        let decides = asks & settled;
        let takes = decides & legal & !occupied;
        let count = if length.long { bits::<4>(CHARACTERS) } else { length.bytes.get_bits::<4>(0) };
        let prints = decides & is_print & count.any();
        let printed = decides & is_print & (!count.any() | self.print_ready.val());
        self.done.d.next = takes | printed;
        self.refused.d.next = decides & !legal & !is_print;
        self.full.d.next = decides & legal & occupied;
        self.waits.d.next = asks & (!settled | (is_print & !printed));
        self.issue_done.next = self.done.q.val();
        self.issue_refused.next = self.refused.q.val();
        self.issue_full.next = self.full.q.val();
        self.port_full.next = occupied;
        self.print_valid.next = prints;
        self.print.next = PrintPiece {
            who: (
                bits::<6>(0),
                limits.kind,
                bit_cast::<8, 3>(self.number.val()),
                bit_cast::<8, 3>(self.hpu.val()),
                limits.context,
                count,
            )
                .cat::<32>(),
            frame: limits.frame,
            low: address.low,
            high: address.high,
        };

        // The table of commands.
        let handle = if !busy.get_bit(0) {
            bits::<2>(0)
        } else if !busy.get_bit(1) {
            bits::<2>(1)
        } else if !busy.get_bit(2) {
            bits::<2>(2)
        } else {
            bits::<2>(3)
        };
        let taken = if takes { bits::<4>(1) << handle } else { bits::<4>(0) };
        self.busy.d.next = (busy & !self.complete.val()) | taken;
        self.error.d.next = (self.error.q.val() | (self.complete.val() & self.failed.val())) & !taken;
        for t in 0..2 {
            let of_issue = thread == (t == 1);
            let of_begin = self.begin_thread.val() == (t == 1);
            if self.begins.val() & of_begin {
                self.mine[t].d.next = bits::<4>(0);
            } else if takes {
                // A handle has one owner.
                self.mine[t].d.next =
                    if of_issue { self.mine[t].q.val() | taken } else { self.mine[t].q.val() & !taken };
            }
            if takes & of_issue {
                self.last_handle[t].d.next = handle;
            }
        }
        if takes {
            self.from_packet.d.next =
                (self.from_packet.q.val() & !taken) | (taken & repeat::<4>((is_send | is_dma) & source.in_packet));
            self.offered.d.next = PortCommand {
                opcode: opcode,
                bank: bank,
                handle: handle,
                frame: limits.frame,
                beat: source.beat,
                length: length.bytes,
                offset: address.low,
            };
            self.offered_valid.d.next = true;
        } else if self.command_ready.val() {
            self.offered_valid.d.next = false;
        }
        let mut used: Bit = false;
        for i in 0..HANDLES {
            if taken.get_bit(i) {
                self.handle_slot[i].d.next = limits.slot;
            }
            used = used
                | (busy.get_bit(i)
                    & self.from_packet.q.val().get_bit(i)
                    & (self.handle_slot[i].q.val() == self.probe.val()));
        }
        self.probe_used.next = used;
        self.fresh.d.next = takes;
        self.issued.next = self.fresh.q.val();
        self.command.next = self.offered.q.val();
        self.command_valid.next = self.offered_valid.q.val();

        // What the HPU reads.
        self.port_pending.next = ((busy & self.mine[1].q.val()).any(), (busy & self.mine[0].q.val()).any()).cat::<2>();
        let owned = if port.thread { self.mine[1].q.val() } else { self.mine[0].q.val() };
        let last = if port.thread { self.last_handle[1].q.val() } else { self.last_handle[0].q.val() };
        self.answer.d.next = match port.word.to_u64() {
            ISSUE => bit_cast::<32, 2>(last),
            STATUS => bit_cast::<32, 4>(busy & owned),
            ERROR => bit_cast::<32, 4>(self.error.q.val() & owned),
            _ => self.word_read.val() & repeat::<32>(!port.word.get_bits::<2>(2).any()),
        };
        self.port_data.next = self.answer.q.val();
    }
}
