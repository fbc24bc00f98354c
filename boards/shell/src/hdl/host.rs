//! Host bridge: the NIC's AXI4 master as a master of the XDMA's slave port.
//!
//! | neighbour | ports |
//! |---|---|
//! | NIC | `engine`: its port `host`, bursts of whole beats, INCR |
//! | XDMA `s_axib` | `pcie`: 512 bits, id 0, region 0 (through [`HostGearbox`](super::gearbox::HostGearbox) where the XDMA has 256 bits) |
//! | XDMA | in `link_up`: synchronous to the clock |
//! | shell page | out `refused`, `abandoned` (pulses): bit 0 a write, bit 1 a read |
//!
//! **Ids.** All bursts go out with id 0, so that the XDMA answers them in order; queues keep the NIC's ids and give them
//! back. The NIC itself uses one id.
//!
//! **Limits.** At most `outstanding` reads and as many writes are under way in the XDMA (32, the IP's own limit); a further
//! address waits at the NIC. At most 32 of each are taken from the NIC.
//!
//! **Guard.** A burst whose address has a bit above `address_bits` set does not go out. Its data are taken, and it is
//! answered with DECERR when its turn comes, a read with all its beats.
//!
//! **Hang guard.** When `link_up` falls, every burst that the NIC still waits for is answered with SLVERR, in order, a read
//! with the beats that are missing; so is every burst that begins while the link is down. The XDMA gets what it is still
//! owed: an address that was offered stays offered, and the rest of a write that has begun follows with no strobes. What
//! the XDMA answers later to bursts that were given up is taken and dropped. When the link is up again, no new burst is
//! taken until all old ones are answered; that lasts for a few cycles per burst.
//!
//! | what | cycles |
//! |---|---|
//! | `engine.aw`, `engine.w`, `engine.ar` → `pcie` | 1 each; W no earlier than AW |
//! | `pcie.b`, `pcie.r` → `engine` | 1 |
//! | last beat of a refused write → its B, if it is the oldest | 2 |
//! | AR of a refused read → its first beat, if it is the oldest | 2 |
//!
//! One beat per cycle in each direction, also for bursts of one beat: the next AW moves with the last beat of the burst
//! before. All outputs to the XDMA, and B and R, come from registers ([`Skid`]); `engine.awready` and `engine.arready` depend
//! on the address that is offered and on `link_up`.

use super::xdma::XdmaHostSource;
use spindle_blocks::{AxiSink, LutFifo, Skid};
use spindle_contract::pci::xdma;
use spindle_verilog::prelude::*;

/// Bits of the counts of bursts: up to 32.
const COUNT: usize = 6;
/// AXI response: the link is down.
const SLVERR: u64 = 2;
/// AXI response: the address is beyond what the bridge reaches.
const DECERR: u64 = 3;

/// What the bridge does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum LinkStep {
    /// Bursts go out.
    Up,
    /// Bursts are answered here.
    Down,
    /// The link is up again; the last of those bursts are answered.
    Recover,
}

/// A burst's address as it goes out.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostAddress {
    /// Address of the first beat.
    pub address: Bits<64>,
    /// Beats less one.
    pub len: Bits<8>,
}

/// A beat of a write as it goes out.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostWord {
    /// Data.
    pub data: Bits<512>,
    /// Bytes to write.
    pub strobes: Bits<64>,
    /// Last beat.
    pub last: Bit,
}

/// A burst that the NIC waits for.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostOrder {
    /// The NIC's id.
    pub id: Bits<8>,
    /// Beats less one; of reads.
    pub len: Bits<8>,
    /// Response that is given here; 0: the burst went out.
    pub response: Bits<2>,
}

/// An answer to a write.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostAnswer {
    /// The NIC's id.
    pub id: Bits<8>,
    /// Response.
    pub response: Bits<2>,
}

/// A beat of a read.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostBeat {
    /// The NIC's id.
    pub id: Bits<8>,
    /// Data; undefined with an error.
    pub data: Bits<512>,
    /// Response.
    pub response: Bits<2>,
    /// Last beat.
    pub last: Bit,
}

/// The bridge. See the module text.
#[block(no_default)]
pub struct HostBridge {
    /// The NIC.
    pub engine: AxiSink,
    /// The XDMA.
    pub pcie: XdmaHostSource<512, 64>,
    /// The link is up.
    pub link_up: Signal<In, Bit>,
    /// A burst was answered here because of its address.
    pub refused: Signal<Out, Bits<2>>,
    /// A burst was answered here because the link was down.
    pub abandoned: Signal<Out, Bits<2>>,
    step: Reg<LinkStep>,
    write_addresses: Skid<HostAddress>,
    write_words: Skid<HostWord>,
    write_orders: LutFifo<HostOrder, 5>,
    write_answers: Skid<HostAnswer>,
    read_addresses: Skid<HostAddress>,
    read_orders: LutFifo<HostOrder, 5>,
    read_beats: Skid<HostBeat>,
    /// A write whose last beat the NIC has not given; whether its data are dropped; its beats that are left, less one.
    writing: Reg<Bit>,
    dropping: Reg<Bit>,
    left: DFF<Bits<8>>,
    /// Beats that the XDMA is owed of a write that was given up, less one.
    filling: Reg<Bit>,
    fill: DFF<Bits<8>>,
    /// Bursts in the XDMA, and how many of them were given up.
    writes: Reg<Bits<COUNT>>,
    lost_writes: Reg<Bits<COUNT>>,
    reads: Reg<Bits<COUNT>>,
    lost_reads: Reg<Bits<COUNT>>,
    /// Beats of the oldest read that were given.
    given: Reg<Bits<8>>,
    _outstanding: u64,
    _address_bits: u64,
}

impl Default for HostBridge {
    fn default() -> Self {
        Self::new(xdma::OUTSTANDING, xdma::ADDRESS_BITS)
    }
}

impl HostBridge {
    /// A bridge that has at most so many reads, and as many writes, under way, to addresses of so many bits.
    pub fn new(outstanding: usize, address_bits: u32) -> Self {
        assert!((1..=32).contains(&outstanding), "HostBridge: {outstanding} bursts are not possible; choose 1 to 32");
        assert!((32..64).contains(&address_bits), "HostBridge: {address_bits} address bits; choose 32 to 63");
        Self { _outstanding: outstanding as u64, _address_bits: address_bits.into(), ..Self::blank() }
    }
}

#[hdl]
impl HostBridge {
    fn update(&mut self) {
        let up = self.step.q.val() == LinkStep::Up;
        let open = up | ((self.step.q.val() == LinkStep::Down) & !self.link_up.val());
        self.drive();
        let written = self.write_data(up);
        let write_sent = self.write_address(up, open, written);
        let write_ends = self.answer_writes(up, write_sent);
        let read_sent = self.read_address(up, open);
        let read_ends = self.answer_reads(up, read_sent);
        self.refused.next = (read_ends.get_bit(0), write_ends.get_bit(0)).cat::<2>();
        self.abandoned.next = (read_ends.get_bit(1), write_ends.get_bit(1)).cat::<2>();
        self.follow_link();
    }

    /// Ports of the XDMA.
    fn drive(&mut self) {
        let write = self.write_addresses.read.val();
        self.pcie.awid.next = bits::<8>(0);
        self.pcie.awaddr.next = write.address;
        self.pcie.awregion.next = bits::<4>(0);
        self.pcie.awlen.next = write.len;
        self.pcie.awsize.next = bits::<3>(6);
        self.pcie.awburst.next = bits::<2>(1);
        self.pcie.awvalid.next = self.write_addresses.read.valid.val();
        self.write_addresses.read.ready.next = self.pcie.awready.val();
        let word = self.write_words.read.val();
        self.pcie.wdata.next = word.data;
        self.pcie.wstrb.next = word.strobes;
        self.pcie.wlast.next = word.last;
        self.pcie.wvalid.next = self.write_words.read.valid.val();
        self.write_words.read.ready.next = self.pcie.wready.val();
        let read = self.read_addresses.read.val();
        self.pcie.arid.next = bits::<8>(0);
        self.pcie.araddr.next = read.address;
        self.pcie.arregion.next = bits::<4>(0);
        self.pcie.arlen.next = read.len;
        self.pcie.arsize.next = bits::<3>(6);
        self.pcie.arburst.next = bits::<2>(1);
        self.pcie.arvalid.next = self.read_addresses.read.valid.val();
        self.read_addresses.read.ready.next = self.pcie.arready.val();
    }

    /// Beats of writes. Returns whether the last beat of a burst moves.
    fn write_data(&mut self, up: Bit) -> Bit {
        let writing = self.writing.q.val();
        let passes = writing & !self.dropping.q.val() & up;
        let drops = writing & self.dropping.q.val();
        let ready = drops | (passes & self.write_words.write.ready.val());
        self.engine.wready.next = ready;
        let moves = self.engine.wvalid.val() & ready;
        let ends = moves & self.engine.wlast.val();
        self.left.load(moves, self.left.q.val() - 1);
        self.writing.load(ends, false);

        // What the XDMA is owed of a burst that is given up.
        let fills = self.filling.q.val();
        let last_fill = !self.fill.q.val().any();
        self.write_words.write.offer(
            fills | (passes & self.engine.wvalid.val()),
            HostWord {
                data: self.engine.wdata.val(),
                strobes: if fills { bits::<64>(0) } else { self.engine.wstrb.val() },
                last: if fills { last_fill } else { self.engine.wlast.val() },
            },
        );
        if fills & self.write_words.write.ready.val() {
            self.fill.d.next = self.fill.q.val() - 1;
            self.filling.d.next = !last_fill;
        }
        if writing & !self.dropping.q.val() & !up {
            self.dropping.d.next = true;
            self.filling.d.next = true;
            self.fill.d.next = self.left.q.val();
        }
        ends
    }

    /// Addresses of writes. Returns whether one goes out.
    fn write_address(&mut self, up: Bit, open: Bit, written: Bit) -> Bit {
        let far = (self.engine.awaddr.val() >> self._address_bits).any();
        let here = far | !up;
        let out = self.write_addresses.write.ready.val() & (self.writes.q.val() < bits::<COUNT>(self._outstanding));
        let free = open & (!self.writing.q.val() | written) & self.write_orders.write.ready.val();
        let ready = free & (here | out);
        self.engine.awready.next = ready;
        let moves = self.engine.awvalid.val() & ready;
        let code = if far { bits::<2>(DECERR) } else { bits::<2>(SLVERR) };
        self.write_orders.write.offer(
            moves,
            HostOrder {
                id: self.engine.awid.val(),
                len: bits::<8>(0),
                response: if here { code } else { bits::<2>(0) },
            },
        );
        self.write_addresses
            .write
            .offer(moves & !here, HostAddress { address: self.engine.awaddr.val(), len: self.engine.awlen.val() });
        if moves {
            self.writing.d.next = true;
            self.dropping.d.next = here;
            self.left.d.next = self.engine.awlen.val();
        }
        moves & !here
    }

    /// Answers to writes. Returns whether one is refused (bit 0), or abandoned (bit 1).
    fn answer_writes(&mut self, up: Bit, sent: Bit) -> Bits<2> {
        let order = self.write_orders.read.val();
        let waits = self.write_orders.read.valid.val();
        let here = order.response.any() | !up;
        // Only the newest burst can lack data.
        let whole = !(self.writing.q.val() & (self.write_orders.level.val() == bits::<16>(1)));
        let lost = self.lost_writes.q.val().any();
        let offers = waits & (if here { whole } else { self.pcie.bvalid.val() & !lost });
        let code = if order.response.any() { order.response } else { bits::<2>(SLVERR) };
        self.write_answers
            .write
            .offer(offers, HostAnswer { id: order.id, response: if here { code } else { self.pcie.bresp.val() } });
        let moves = offers & self.write_answers.write.ready.val();
        self.write_orders.read.ready.next = moves;
        let takes = lost | !up | (waits & !here & self.write_answers.write.ready.val());
        self.pcie.bready.next = takes;
        let answered = self.pcie.bvalid.val() & takes;
        if sent & !answered {
            self.writes.d.next = self.writes.q.val() + 1;
        } else if answered & !sent {
            self.writes.d.next = self.writes.q.val() - 1;
        }
        if !up {
            self.lost_writes.d.next = self.writes.q.val() - bit_cast::<COUNT, 1>(answered.into());
        } else if lost & answered {
            self.lost_writes.d.next = self.lost_writes.q.val() - 1;
        }
        self.engine.bid.next = self.write_answers.read.val().id;
        self.engine.bresp.next = self.write_answers.read.val().response;
        self.engine.bvalid.next = self.write_answers.read.valid.val();
        self.write_answers.read.ready.next = self.engine.bready.val();
        let refused = order.response == bits::<2>(DECERR);
        (moves & here & !refused, moves & refused).cat::<2>()
    }

    /// Addresses of reads. Returns whether one goes out.
    fn read_address(&mut self, up: Bit, open: Bit) -> Bit {
        let far = (self.engine.araddr.val() >> self._address_bits).any();
        let here = far | !up;
        let out = self.read_addresses.write.ready.val() & (self.reads.q.val() < bits::<COUNT>(self._outstanding));
        let ready = open & self.read_orders.write.ready.val() & (here | out);
        self.engine.arready.next = ready;
        let moves = self.engine.arvalid.val() & ready;
        let code = if far { bits::<2>(DECERR) } else { bits::<2>(SLVERR) };
        self.read_orders.write.offer(
            moves,
            HostOrder {
                id: self.engine.arid.val(),
                len: self.engine.arlen.val(),
                response: if here { code } else { bits::<2>(0) },
            },
        );
        self.read_addresses
            .write
            .offer(moves & !here, HostAddress { address: self.engine.araddr.val(), len: self.engine.arlen.val() });
        moves & !here
    }

    /// Beats of reads. Returns whether one is refused (bit 0), or abandoned (bit 1).
    fn answer_reads(&mut self, up: Bit, sent: Bit) -> Bits<2> {
        let order = self.read_orders.read.val();
        let waits = self.read_orders.read.valid.val();
        let here = order.response.any() | !up;
        let lost = self.lost_reads.q.val().any();
        let offers = waits & (here | (self.pcie.rvalid.val() & !lost));
        let code = if order.response.any() { order.response } else { bits::<2>(SLVERR) };
        let last = self.given.q.val() == order.len;
        self.read_beats.write.offer(
            offers,
            HostBeat {
                id: order.id,
                data: self.pcie.rdata.val(),
                response: if here { code } else { self.pcie.rresp.val() },
                last: last,
            },
        );
        let moves = offers & self.read_beats.write.ready.val();
        self.given.load(moves, if last { bits::<8>(0) } else { self.given.q.val() + 1 });
        let ends = moves & last;
        self.read_orders.read.ready.next = ends;
        let takes = lost | !up | (waits & !here & self.read_beats.write.ready.val());
        self.pcie.rready.next = takes;
        let answered = self.pcie.rvalid.val() & takes & self.pcie.rlast.val();
        if sent & !answered {
            self.reads.d.next = self.reads.q.val() + 1;
        } else if answered & !sent {
            self.reads.d.next = self.reads.q.val() - 1;
        }
        if !up {
            self.lost_reads.d.next = self.reads.q.val() - bit_cast::<COUNT, 1>(answered.into());
        } else if lost & answered {
            self.lost_reads.d.next = self.lost_reads.q.val() - 1;
        }
        let beat = self.read_beats.read.val();
        self.engine.rid.next = beat.id;
        self.engine.rdata.next = beat.data;
        self.engine.rresp.next = beat.response;
        self.engine.rlast.next = beat.last;
        self.engine.rvalid.next = self.read_beats.read.valid.val();
        self.read_beats.read.ready.next = self.engine.rready.val();
        let refused = order.response == bits::<2>(DECERR);
        (ends & here & !refused, ends & refused).cat::<2>()
    }

    /// The link.
    fn follow_link(&mut self) {
        let waits = self.write_orders.read.valid.val() | self.read_orders.read.valid.val() | self.filling.q.val();
        match self.step.q.val() {
            LinkStep::Up => self.step.load(!self.link_up.val(), LinkStep::Down),
            LinkStep::Down => self.step.load(self.link_up.val(), LinkStep::Recover),
            _ => {
                if !self.link_up.val() {
                    self.step.d.next = LinkStep::Down;
                } else if !waits {
                    self.step.d.next = LinkStep::Up;
                }
            }
        }
    }
}
