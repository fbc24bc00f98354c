//! Turns a job into the heads of its frames, and requests the bytes from host memory or context memory.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `from_host` | constant: the planner's puts read payloads |
//! | in `job` | array, sender, responder |
//! | out `lookup` / in `node` | node table: the row, two cycles later |
//! | in `ecn` | node page: sequenced frames are ECN-capable; constant 0 for the responder's frames |
//! | in `own_sum` | node page: the part of the checksum that all own frames share |
//! | out `read` | RVMA engine, array: a segment of host memory or context memory; offered together with its head |
//! | out `head` | framer |
//!
//! One job at a time. Head of a first segment: 6 cycles after the job is taken; of every further one: 5 cycles after the previous
//! one (a full segment takes 24 cycles of the wire). A job of one segment occupies the planner for 6 cycles.
//!
//! A job for a node that the table does not have becomes one head that is `bad`; nothing is read for it. So does the end of a put of a
//! packet, in 2 cycles. Host reads run ahead of
//! the frames by as many segments as heads are queued after this block.

use super::frame_head::*;
use spindle_blocks::{FrameJob, HostRead};
use spindle_contract::descriptors::client;
use spindle_contract::wire::ECN_CAPABLE;
use spindle_verilog::prelude::*;

const GET_EXTRA: u64 = GET_BYTES as u64;

/// What the planner does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
enum Planning {
    /// Waits for a put; its node is being looked up from this cycle on.
    Idle,
    /// Size of the segment.
    Size,
    /// Lengths; the node is there.
    Lengths,
    /// The part of the checksum that all segments share.
    Share,
    /// Sum of the header.
    Sum,
    /// Its checksum.
    Checksum,
    /// The head is offered.
    Offer,
}

/// See the head of this file.
#[block]
pub struct Planner {
    /// The payloads are read for this planner, from host memory or context memory: a constant. The highest bit of its message numbers.
    pub from_host: Signal<In, Bit>,
    /// Frames with a send record are ECN-capable.
    pub ecn: Signal<In, Bit>,
    /// What to send.
    pub job: Sink<FrameJob>,
    /// Node to look up.
    pub lookup: Signal<Out, Bits<8>>,
    /// Its row, two cycles later.
    pub node: Signal<In, NodeRow>,
    /// Sum of our address, of the header words that never change, and of what an IPv4 packet has besides the payload, folded once.
    pub own_sum: Signal<In, Bits<17>>,
    /// Segment of host memory or context memory.
    pub read: Source<HostRead>,
    /// Frame to make.
    pub head: Source<FrameHead>,
    state: Reg<Planning>,
    desc: DFF<FrameJob>,
    entry: DFF<NodeEntry>,
    /// Bytes of this segment and of those after it.
    left: DFF<Bits<32>>,
    offset: DFF<Bits<32>>,
    address_low: DFF<Bits<32>>,
    address_high: DFF<Bits<32>>,
    address_carry: DFF<Bit>,
    size: DFF<Bits<11>>,
    /// The same, and what the field `ecn` adds to the checksum.
    summed: DFF<Bits<11>>,
    more: DFF<Bit>,
    first: DFF<Bit>,
    ip_len: DFF<Bits<16>>,
    udp_len: DFF<Bits<16>>,
    node_sum: DFF<Bits<18>>,
    share: DFF<Bits<19>>,
    sum: DFF<Bits<19>>,
    checksum: DFF<Bits<16>>,
    number: Reg<Bits<31>>,
    _single: bool,
}

impl Planner {
    /// For jobs of one segment only.
    pub fn single() -> Self {
        Self { _single: true, ..Self::blank() }
    }
}

#[hdl]
impl Planner {
    fn update(&mut self) {
        let desc = self.desc.q.val();
        let entry = self.entry.q.val();
        let get = desc.opcode == bits(spindle_contract::wire::opcode::GET);
        let state = self.state.q.val();

        let idle = state == Planning::Idle;
        self.job.ready.next = idle;
        self.lookup.next = if idle { self.job.val().node } else { desc.node };
        if idle & self.job.valid.val() {
            self.desc.d.next = self.job.val();
            self.left.d.next = self.job.val().left;
            self.offset.d.next = self.job.val().msg_off;
            self.address_low.d.next = self.job.val().host_address.get_bits::<32>(0);
            self.address_high.d.next = self.job.val().host_address.get_bits::<32>(32);
            self.first.d.next = true;
            self.state.d.next = if self.job.val().over { Planning::Offer } else { Planning::Size };
        }

        if state == Planning::Size {
            if self._single {
                self.more.d.next = false;
                self.size.d.next = desc.left.get_bits::<11>(0);
            } else {
                let full = self.left.q.val() > bits::<32>(SEGMENT);
                self.more.d.next = full & !desc.single;
                self.size.d.next = if get {
                    bits::<11>(GET_EXTRA)
                } else if full {
                    bits::<11>(SEGMENT)
                } else {
                    self.left.q.val().get_bits::<11>(0)
                };
            }
            self.state.d.next = Planning::Lengths;
        }
        if state == Planning::Lengths {
            let ecn = bits::<11>(ECN_CAPABLE) & repeat::<11>(self.ecn.val() & desc.tracked);
            self.summed.d.next = self.size.q.val() + ecn;
            let icrc = if self.first.q.val() { self.node.val().entry.icrc } else { entry.icrc };
            self.ip_len.d.next = bit_cast::<16, 11>(ip_length(self.size.q.val(), icrc));
            self.udp_len.d.next = bit_cast::<16, 11>(udp_length_of(self.size.q.val(), icrc));
            if self.first.q.val() {
                self.entry.d.next = self.node.val().entry;
                self.state.d.next = Planning::Share;
            } else {
                self.state.d.next = Planning::Sum;
            }
        }
        self.node_sum.d.next = self.node.val().sum;
        if state == Planning::Share {
            self.share.d.next = bit_cast::<19, 18>(self.node_sum.q.val()) + bit_cast::<19, 17>(self.own_sum.val());
            self.state.d.next = Planning::Sum;
        }
        if state == Planning::Sum {
            self.sum.d.next = self.share.q.val() + bit_cast::<19, 11>(self.summed.q.val());
            self.state.d.next = Planning::Checksum;
        }
        if state == Planning::Checksum {
            self.checksum.d.next = header_checksum(self.sum.q.val());
            self.state.d.next = Planning::Offer;
        }

        let offers = state == Planning::Offer;
        let bad = !entry.present | desc.over;
        let data = desc.left.any();
        let reads = self.from_host.val() & data & !bad;
        let taken = offers & self.head.ready.val() & (self.read.ready.val() | !reads);
        if taken {
            self.first.d.next = false;
            if !self._single {
                self.offset.d.next = self.offset.q.val() + SEGMENT;
                self.left.d.next = self.left.q.val() - SEGMENT;
            }
            if self.more.q.val() & !bad {
                self.state.d.next = Planning::Size;
            } else {
                self.number.load(!desc.numbered, self.number.q.val() + 1);
                self.state.d.next = Planning::Idle;
            }
            let next_low = bit_cast::<33, 32>(self.address_low.q.val()) + SEGMENT;
            self.address_low.d.next = next_low.get_bits::<32>(0);
            self.address_carry.d.next = next_low.get_bit(32);
        }
        if state == Planning::Size {
            self.address_high.load(!self.first.q.val() & self.address_carry.q.val(), self.address_high.q.val() + 1);
        }

        let issuer = FrameIssuer { command: desc.issuer, frame: desc.frame };
        self.head.valid.next = offers & (self.read.ready.val() | !reads);
        self.head.next = FrameHead {
            get,
            data: data & !bad,
            from_host: desc.from_host,
            raw: false,
            bad,
            last: !self.more.q.val() | bad,
            size: self.size.q.val(),
            node: entry,
            ecn: self.ecn.val() & desc.tracked,
            ip_len: self.ip_len.q.val(),
            udp_len: self.udp_len.q.val(),
            checksum: self.checksum.q.val(),
            opcode: desc.opcode,
            flags: desc.flags,
            psn: desc.psn,
            epoch: desc.epoch,
            src_pid: desc.src_pid,
            dst_pid: desc.dst_pid,
            addr: desc.addr,
            key: desc.key,
            msg_id: if desc.numbered { desc.msg_id } else { (self.from_host.val(), self.number.q.val()).cat::<32>() },
            msg_len: desc.msg_len,
            msg_off: self.offset.q.val(),
            buf_off: desc.buf_off,
            reply: (desc.reply_addr, desc.reply_off, desc.reply_key).cat::<128>(),
            issuer,
            tracked: desc.tracked,
            record: desc.record,
            of_packet: desc.of_packet,
            over: desc.over,
            failed: desc.failed,
        };
        self.read.valid.next = offers & reads & self.head.ready.val();
        self.read.next = HostRead {
            client: if desc.from_host { bits::<2>(client::INITIATOR) } else { bits::<2>(client::CONTEXT) },
            issuer: desc.issuer,
            context: desc.context,
            frame: desc.frame,
            address: (self.address_high.q.val(), self.address_low.q.val()).cat::<64>(),
            length: bit_cast::<16, 11>(self.size.q.val()),
            offset: bits::<6>(0),
        };
    }
}
