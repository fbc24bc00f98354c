//! Read requests: from the reads of the clients to AXI4 read addresses.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPU array, initiator, atomics, command rings (clients 0 to 3) | in `read` |
//! | read buffers | in `room`, `short_room`; out `reserve`, `reserve_beats` |
//! | read answers | out `piece` |
//! | host | the AXI4 read address channel of `host` |
//! | registers | out `burst` (pulse) |
//!
//! A transfer is read in pieces of 16 beats of its client, each of them a run of bursts with its own position in the
//! order of answers. The client's first beat begins with the byte `offset` of the request: the first piece of a long
//! transfer has 1024 - `offset` bytes, so that each of the others begins with a beat. Before a piece is issued its beats
//! are reserved in the client's buffer, so an answer never waits for a client, and a client that does not take its data
//! stalls no other client. A client is chosen for each piece: atomics and command rings first (their reads are rare),
//! then the other two in turn.
//!
//! Request taken → ARVALID: 4 cycles. A request per two cycles and client, a piece per two cycles, a burst per cycle. A
//! piece whose bytes lie in other lanes of host memory than of the client's beats reads one line more than it has beats,
//! at most.

use crate::host_access::bursts::{after_burst, burst_address, burst_beats, burst_ends, Lines};
use crate::prelude::*;

/// Clients of the reader.
pub const CLIENTS: usize = 4;
/// Client: atomics, whose answers need no buffer.
pub const ATOMICS: usize = 2;
/// Client: command rings, which reserve room before a read.
pub const RINGS: usize = 3;
/// The clients with a buffer come first.
pub const BUFFERED: usize = 2;

/// The rest of a client's transfer that has not been cut into pieces.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ReadRun {
    /// High half of the address.
    pub high: Bits<32>,
    /// Low half.
    pub low: Bits<32>,
    /// Byte of the client's beat at which the first one is handed over.
    pub to: Bits<6>,
    /// Last byte, counted from the beginning of that beat.
    pub reach: Bits<16>,
    /// Bytes, less one, if they are one piece.
    pub last: Bits<10>,
    /// At most four beats are left.
    pub short: Bit,
}

/// A piece of a transfer: up to 16 beats.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ReadPiece {
    /// Client.
    pub client: Bits<2>,
    /// Last piece of its transfer.
    pub ends: Bit,
    /// Offset of the first byte in the first line.
    pub offset: Bits<6>,
    /// Offset of the first byte in the client's first beat.
    pub to: Bits<6>,
    /// Bytes, less one.
    pub last: Bits<10>,
    /// Lines, less one.
    pub lines: Bits<5>,
}

/// A piece and its address.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct PlacedPiece {
    client: Bits<2>,
    ends: Bit,
    high: Bits<32>,
    low: Bits<32>,
    to: Bits<6>,
    last: Bits<10>,
}

/// The request side of the reader. See the module text.
#[block]
pub struct ReadRequests {
    /// Read of each client, at least one byte.
    pub read: [Sink<HostRead>; CLIENTS],
    /// A whole piece fits into the client's buffer.
    pub room: [Signal<In, Bit>; BUFFERED],
    /// A piece of up to 4 beats fits into the client's buffer.
    pub short_room: [Signal<In, Bit>; BUFFERED],
    /// Reserve beats in the client's buffer.
    pub reserve: [Signal<Out, Bit>; BUFFERED],
    /// Beats to reserve, less one.
    pub reserve_beats: Signal<Out, Bits<4>>,
    /// Piece whose addresses are issued next; its data follow those of the pieces before.
    pub piece: HeadroomSource<ReadPiece>,
    /// AXI4 read address; there is one id.
    pub host: AxiReadAddressSource,
    /// A burst was issued.
    pub burst: Signal<Out, Bit>,
    runs: [DFF<ReadRun>; CLIENTS],
    run_valid: [Reg<Bit>; CLIENTS],
    second_next: Reg<Bit>,
    placed: DFF<PlacedPiece>,
    placed_valid: Reg<Bit>,
    lines: DFF<Lines>,
    lines_valid: Reg<Bit>,
    address: DFF<Bits<64>>,
    beats: DFF<Bits<2>>,
    address_valid: Reg<Bit>,
    taken: [Signal<Local, Bit>; CLIENTS],
    fits: [Signal<Local, Bit>; BUFFERED],
}

#[hdl]
impl ReadRequests {
    fn update(&mut self) {
        // The lines of the present piece give a burst per cycle while AR has room.
        let lines = self.lines.q.val();
        let address_open = self.address_valid.q.val() & !self.host.arready.val();
        let issue = self.lines_valid.q.val() & !address_open;
        self.burst.next = issue;
        self.address_valid.load(!address_open, issue);
        if issue {
            self.address.d.next = burst_address(lines);
            self.beats.d.next = burst_beats(lines);
            self.lines.d.next = after_burst(lines);
            self.lines_valid.d.next = !burst_ends(lines);
        }

        // The next piece goes there, and into the order of answers.
        let placed = self.placed.q.val();
        let reach = bit_cast::<11, 10>(placed.last) + bit_cast::<11, 6>(placed.low.get_bits::<6>(0));
        let moves = self.placed_valid.q.val() & !self.lines_valid.q.val() & self.piece.headroom.val();
        if moves {
            self.placed_valid.d.next = false;
            self.lines_valid.d.next = true;
            self.lines.d.next = Lines {
                high: placed.high,
                line: placed.low.get_bits::<26>(6),
                rest: bit_cast::<11, 5>(reach.get_bits::<5>(6)),
            };
        }
        self.piece.next = ReadPiece {
            client: placed.client,
            ends: placed.ends,
            offset: placed.low.get_bits::<6>(0),
            to: placed.to,
            last: placed.last,
            lines: reach.get_bits::<5>(6),
        };
        self.piece.valid.next = moves;

        // Choice of a client, while no piece waits.
        let free = !self.placed_valid.q.val();
        let atomic = self.run_valid[ATOMICS].q.val();
        let urgent = atomic | self.run_valid[RINGS].q.val();
        for i in 0..BUFFERED {
            let short = self.runs[i].q.val().short & self.short_room[i].val();
            self.fits[i].next = self.run_valid[i].q.val() & (self.room[i].val() | short);
        }
        let first = self.fits[0].val();
        let second = self.fits[1].val();
        let take_second = second & (self.second_next.q.val() | !first);
        self.taken[ATOMICS].next = free & atomic;
        self.taken[RINGS].next = free & urgent & !atomic;
        self.taken[1].next = free & !urgent & take_second;
        self.taken[0].next = free & !urgent & first & !take_second;
        let client = (urgent, if urgent { !atomic } else { take_second }).cat::<2>();
        let chosen = select(
            client,
            [self.runs[0].q.val(), self.runs[1].q.val(), self.runs[ATOMICS].q.val(), self.runs[RINGS].q.val()],
        );
        let run = chosen;
        let ends = !run.reach.get_bits::<6>(10).any();
        // A piece that is not the last one fills its beats: 1024 - `to` bytes.
        let last = if ends { run.last } else { (repeat::<4>(true), !run.to).cat::<10>() };
        if free {
            self.placed_valid.d.next = urgent | first | second;
            self.placed.d.next = PlacedPiece { client, ends, high: run.high, low: run.low, to: run.to, last };
        }
        self.second_next.load(free & !urgent & (first | second), !take_second);
        self.reserve_beats.next = if ends { run.reach.get_bits::<4>(6) } else { repeat::<4>(true) };
        for i in 0..BUFFERED {
            self.reserve[i].next = self.taken[i].val();
        }

        // What is left of the transfer; the next one.
        for i in 0..CLIENTS {
            let rest = self.runs[i].q.val();
            let block = rest.low.get_bits::<22>(10);
            // 1024 bytes on, less those before the first one in its beat.
            let in_block = bit_cast::<11, 10>(rest.low.get_bits::<10>(0)) - bit_cast::<11, 6>(rest.to);
            let next_block = !in_block.get_bit(10);
            if self.taken[i].val() {
                self.run_valid[i].d.next = !ends;
                let blocks = if next_block { block + 1 } else { block };
                self.runs[i].d.next.low = (blocks, in_block.get_bits::<10>(0)).cat::<32>();
                self.runs[i].d.next.to = bits::<6>(0);
                self.runs[i].d.next.reach =
                    (rest.reach.get_bits::<6>(10) - 1, rest.reach.get_bits::<10>(0)).cat::<16>();
                self.runs[i].d.next.last = rest.reach.get_bits::<10>(0);
                self.runs[i].d.next.short = (rest.reach.get_bits::<6>(10) == 1) & !rest.reach.get_bits::<2>(8).any();
                if next_block & block.all() {
                    self.runs[i].d.next.high = rest.high + 1;
                }
            }
            let read = self.read[i].val();
            let length_less_one = read.length - 1;
            let end_less_one = length_less_one + bit_cast::<16, 6>(read.offset);
            if !self.run_valid[i].q.val() {
                self.run_valid[i].d.next = self.read[i].valid.val();
                self.runs[i].d.next = ReadRun {
                    high: read.address.get_bits::<32>(32),
                    low: read.address.get_bits::<32>(0),
                    to: read.offset,
                    reach: end_less_one,
                    last: length_less_one.get_bits::<10>(0),
                    short: !end_less_one.get_bits::<8>(8).any(),
                };
            }
            self.read[i].ready.next = !self.run_valid[i].q.val();
        }

        self.host.arid.next = bits::<8>(0);
        self.host.araddr.next = self.address.q.val();
        self.host.arlen.next = bit_cast::<8, 2>(self.beats.q.val());
        self.host.arsize.next = bits::<3>(6);
        self.host.arburst.next = bits::<2>(1);
        self.host.arvalid.next = self.address_valid.q.val();
    }
}
