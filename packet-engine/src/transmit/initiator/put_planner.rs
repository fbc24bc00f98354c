//! Turns puts of handler memory into the heads of their frames: one or two segments each, without a pause between two puts.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `put` | array |
//! | out `lookup` / in `node` | node table: the row, two cycles later |
//! | in `own_sum` | node page: the part of the checksum that all own frames share |
//! | out `head` | framer |
//!
//! | cycle | of a segment |
//! |---|---|
//! | 0 | the put is taken with its first segment; the node is looked up |
//! | 1 | the size is added to `own_sum` |
//! | 2 | the row is there; lengths, the sum of the header |
//! | 3 | the checksum |
//! | 4 | the head is offered |
//!
//! One segment per cycle: after a put of more than 1,408 bytes, which has two, none is taken for a cycle. The sums never stall:
//! what the framer does not take yet waits after them, eight puts at most, and a put is taken only while there is room. A put
//! for a node that the table does not have becomes one head that is `bad`.

use super::frame_head::*;
use spindle_blocks::{CommandIssuer, LutFifo, PutDesc};
use spindle_contract::wire::{flag, opcode};
use spindle_verilog::prelude::*;

/// What the heads of a put have in common.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TakenPut {
    /// Source process.
    pub src_pid: Bits<16>,
    /// Destination process.
    pub dst_pid: Bits<16>,
    /// Mailbox.
    pub addr: Bits<64>,
    /// Key.
    pub key: Bits<32>,
    /// Offset in the buffer.
    pub buf_off: Bits<32>,
    /// Bytes.
    pub length: Bits<12>,
    /// The command.
    pub issuer: CommandIssuer,
    /// Frame number of the issuer's packet.
    pub frame: Bits<16>,
}

/// A segment of a put.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Bytes.
    pub size: Bits<11>,
    /// It is the second one.
    pub second: Bit,
    /// No segment follows.
    pub last: Bit,
}

/// A segment with its lengths.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MeasuredSegment {
    /// The segment.
    pub segment: Segment,
    /// IPv4 total length.
    pub ip_len: Bits<11>,
    /// UDP length.
    pub udp_len: Bits<11>,
}

/// A segment with everything that its head does not share with the put's other one.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PlannedSegment {
    /// The segment and its lengths.
    pub measured: MeasuredSegment,
    /// The node.
    pub node: NodeEntry,
    /// IPv4 header checksum.
    pub checksum: Bits<16>,
}

/// See the head of this file.
#[block]
pub struct PutPlanner {
    /// A put of handler memory: 1 to 2,048 bytes.
    pub put: Sink<PutDesc>,
    /// Node to look up.
    pub lookup: Signal<Out, Bits<8>>,
    /// Its row, two cycles later.
    pub node: Signal<In, NodeRow>,
    /// As in [`Planner`](super::planner::Planner).
    pub own_sum: Signal<In, Bits<17>>,
    /// Frame to make.
    pub head: Source<FrameHead>,
    /// The second segment of the put that was taken enters; its bytes and its node.
    rest_waits: Reg<Bit>,
    rest: DFF<Bits<11>>,
    rest_node: DFF<Bits<8>>,
    entered: Reg<Bit>,
    segment: DFF<Segment>,
    shared: Reg<Bit>,
    shared_segment: DFF<Segment>,
    share: DFF<Bits<18>>,
    summed: Reg<Bit>,
    lengths: DFF<MeasuredSegment>,
    sum: DFF<Bits<19>>,
    entry: DFF<NodeEntry>,
    puts: LutFifo<TakenPut, 3>,
    segments: LutFifo<PlannedSegment, 4>,
    /// Number of the next message.
    number: Reg<Bits<31>>,
}

#[hdl]
impl PutPlanner {
    fn update(&mut self) {
        self.take();
        self.add();
        self.offer();
    }

    /// Takes puts, and enters a segment per cycle.
    fn take(&mut self) {
        let put = self.put.val();
        let rest_waits = self.rest_waits.q.val();
        let length = put.length.get_bits::<12>(0);
        let longer = length > bits::<12>(SEGMENT);
        let room = self.puts.write.ready.val() & !rest_waits;
        let takes = self.put.valid.val() & room;
        let rest = length - SEGMENT;
        self.rest_waits.d.next = takes & longer;
        self.rest.d.next = rest.get_bits::<11>(0);
        self.rest_node.d.next = put.node;
        self.put.ready.next = room;
        self.puts.write.offer(
            self.put.valid.val() & !rest_waits,
            TakenPut {
                src_pid: put.src_pid,
                dst_pid: put.dst_pid,
                addr: put.addr,
                key: put.key,
                buf_off: put.buf_off,
                length,
                issuer: put.issuer,
                frame: put.frame,
            },
        );
        self.lookup.next = if rest_waits { self.rest_node.q.val() } else { put.node };
        self.entered.d.next = takes | rest_waits;
        self.segment.d.next = Segment {
            size: if rest_waits {
                self.rest.q.val()
            } else if longer {
                bits::<11>(SEGMENT)
            } else {
                length.get_bits::<11>(0)
            },
            second: rest_waits,
            last: rest_waits | !longer,
        };
    }

    /// Lengths and checksum.
    fn add(&mut self) {
        let segment = self.segment.q.val();
        self.shared.d.next = self.entered.q.val();
        self.shared_segment.d.next = segment;
        self.share.d.next = bit_cast::<18, 17>(self.own_sum.val()) + bit_cast::<18, 11>(segment.size);

        let row = self.node.val();
        let shared = self.shared_segment.q.val();
        self.summed.d.next = self.shared.q.val();
        self.lengths.d.next = MeasuredSegment {
            segment: shared,
            ip_len: ip_length(shared.size, row.entry.icrc),
            udp_len: udp_length_of(shared.size, row.entry.icrc),
        };
        self.sum.d.next = bit_cast::<19, 18>(self.share.q.val()) + bit_cast::<19, 18>(row.sum);
        self.entry.d.next = row.entry;

        let entry = self.entry.q.val();
        let summed = self.lengths.q.val();
        // A put without a node has one head.
        let drops = summed.segment.second & !entry.present;
        self.segments.write.offer(
            self.summed.q.val() & !drops,
            PlannedSegment { measured: summed, node: entry, checksum: header_checksum(self.sum.q.val()) },
        );
    }

    /// Offers the head of the oldest segment.
    fn offer(&mut self) {
        let put = self.puts.read.val();
        let planned = self.segments.read.val();
        let measured = planned.measured;
        let segment = measured.segment;
        let bad = !planned.node.present;
        let last = segment.last | bad;
        let waits = self.segments.read.valid.val();
        let taken = self.head.ready.val();
        self.segments.read.ready.next = taken;
        self.puts.read.ready.next = waits & taken & last;
        self.number.load(waits & taken & last, self.number.q.val() + 1);
        self.head.offer(
            waits,
            FrameHead {
                data: !bad,
                bad,
                last,
                size: segment.size,
                node: planned.node,
                ip_len: bit_cast::<16, 11>(measured.ip_len),
                udp_len: bit_cast::<16, 11>(measured.udp_len),
                checksum: planned.checksum,
                opcode: bits::<8>(opcode::PUT),
                flags: bits::<16>(flag::UNSEQ),
                src_pid: put.src_pid,
                dst_pid: put.dst_pid,
                addr: put.addr,
                key: put.key,
                msg_id: bit_cast::<32, 31>(self.number.q.val()),
                msg_len: bit_cast::<32, 12>(put.length),
                msg_off: if segment.second { bits::<32>(SEGMENT) } else { bits::<32>(0) },
                buf_off: put.buf_off,
                issuer: FrameIssuer { command: put.issuer, frame: put.frame },
                ..Default::default()
            },
        );
    }
}
