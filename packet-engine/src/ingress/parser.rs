//! Parser: reads the headers of every frame, checks lengths and checksums, and describes the frame.
//!
//! | neighbour | ports |
//! |---|---|
//! | wire | in `rx` (`rx_user` with `rx_last`: bad frame); no ready |
//! | packet buffer, header matcher | out `beat`: the stream [`BEAT_LATENCY`] cycle later, 0 after the end of the frame; no ready |
//! | header matcher | out `parsed`: one pulse per frame, in frame order, also for malformed frames; no ready |
//! | header matcher | out `parsed_flags`: one cycle before `parsed` |
//! | PSN filter, header matcher, sender | out `bad_icrc`: one cycle after the `parsed` of a frame whose ICRC is wrong |
//! | PSN filter | out `early_spindle`, `early_peer`, `early_row`: of the frame whose `parsed` comes in the next cycle |
//! | node table | out/in `source`: reads the source of each frame with its first beat on `beat`; the answer comes 2 cycles later |
//! | trace | out `started`: pulse with the first beat on `beat` |
//! | registers | in `rx_enable` (sampled with the first beat of a frame), `spindle_port`, `check_source` |
//!
//! `parsed_valid` comes [`LATENCY`] cycles after the frame's last beat. Never stalls: one beat per cycle for ever, so one-beat
//! frames at one frame per cycle.
//!
//! A frame is dropped for the first of these that holds: RX_DISABLED (nothing else is checked), then in the order of
//! their numbers BAD_FRAME to BAD_TRANSPORT of `spindle_contract::reasons`, then BAD_SOURCE, ICRC_MISSING, and BAD_ICRC, which
//! comes a cycle later, on `bad_icrc`. What is checked:
//!
//! * RUNT: less than an Ethernet header, than the tag it announces, or than an IPv4 header after EtherType 0x0800.
//! * IPv4: version 4 and a header length of at least 5; the total length covers the header (and 8 bytes of UDP or ICMP) and does
//!   not pass the end of the frame, which may be padded. With options (header length above 5) the header checksum is not checked;
//!   such packets and fragments are raw frames (`is_ipv4` = 0), their payload is the whole IP packet.
//! * UDP: length equal to the IP payload; checksum unless 0. ICMP: checksum.
//! * Spindle (UDP to `spindle_port`): version 1, known opcode, header length 6 (GET: 8) words, and header, payload and
//!   ICRC fill the datagram exactly.
//! * BAD_SOURCE, while `check_source` is set: the node table has the node that the low 8 bits of `src_nid` name, with the
//!   frame's IPv4 source address. The table is read while the frame's second beat arrives, so the check adds no cycle.
//! * ICRC_MISSING: the node table does not require that node to use the ICRC, or the frame has the flag ICRC.
//! * BAD_ICRC, of a Spindle packet with the flag ICRC: the last four bytes are the CRC-32C of all bytes from the Spindle header to
//!   them ([`IcrcCheck`]).
//!
//! | cycle | of a last beat |
//! |---|---|
//! | 0 | on `rx` |
//! | 1 | on `beat`; which of its bytes are in the IPv4 packet |
//! | 2 | header window, complete; words of the transport checksum; lanes of the CRC |
//! | 3 | verdict; the CRC's register |
//! | 4 | `parsed`; the CRC is compared |
//! | 5 | `bad_icrc` |
//!
//! Header fields that a frame does not have are 0. `length` of a frame beyond the limit saturates at 16320. Of a dropped
//! frame only `version`, `frame`, `stamp` and `length` mean something.

use crate::{
    bundles::{FrameDescSource, ParserBeatSource, SourceLookupSource},
    ingress::{checksum::TransportSum, header_check::HeaderCheck, icrc_check::IcrcCheck},
};
use spindle_blocks::bundles::RxSink;
use spindle_contract::{
    params::BEAT_BYTES,
    wire::{flag, spindle, ETHERTYPE_VLAN, VLAN_BYTES},
};
use spindle_verilog::prelude::*;

/// Cycles from a beat on `rx_*` to the same beat on `beat_*`.
pub const BEAT_LATENCY: usize = 1;
/// Cycles from a frame's last beat on `rx_*` to `parsed_valid`.
pub const LATENCY: usize = 4;

/// The tag's EtherType as it stands in a beat: low byte first.
const VLAN_IN_BEAT: u64 = ETHERTYPE_VLAN.swap_bytes() as u64;
/// First bit of the low byte of `src_nid` in the first beat of a frame without VLAN tag.
const NODE_AT: usize = 8 * (spindle::START + spindle::SRC_NID + 3);
/// Bits by which a VLAN tag moves it.
const TAG_BITS: usize = 8 * VLAN_BYTES;
// The address of the table is there before the frame has ended: a Spindle packet has two beats at least.
const _: () = assert!(NODE_AT + TAG_BITS + 8 <= 8 * BEAT_BYTES);
/// The beat counter stops here; no accepted frame comes near.
const LAST_INDEX: u64 = 254;
// The numbers from 0 to 63 that have a certain bit set.
const INDEX_BIT_0: u64 = 0xAAAA_AAAA_AAAA_AAAA;
const INDEX_BIT_1: u64 = 0xCCCC_CCCC_CCCC_CCCC;
const INDEX_BIT_2: u64 = 0xF0F0_F0F0_F0F0_F0F0;
const INDEX_BIT_3: u64 = 0xFF00_FF00_FF00_FF00;
const INDEX_BIT_4: u64 = 0xFFFF_0000_FFFF_0000;
const INDEX_BIT_5: u64 = 0xFFFF_FFFF_0000_0000;

/// See the head of this file.
#[block]
pub struct Parser {
    /// Bytes from the wire.
    pub rx: RxSink,
    /// Reception is on.
    pub rx_enable: Signal<In, Bit>,
    /// UDP port of Spindle transport.
    pub spindle_port: Signal<In, Bits<16>>,
    /// Spindle packets come from the address that the node table has for their source.
    pub check_source: Signal<In, Bit>,
    /// Source of a frame, and its address.
    pub source: SourceLookupSource,
    /// Beat of a frame.
    pub beat: ParserBeatSource,
    /// Fields of the headers; `pkt`, `cells` and the matcher's fields are 0.
    pub parsed: FrameDescSource,
    /// Flags of the rule language (`spindle_contract::descriptors::MATCH_FIELDS`), one cycle before the rest.
    pub parsed_flags: Signal<Out, Bits<5>>,
    /// The frame whose `parsed` came in the last cycle was not dropped there, and its ICRC is wrong.
    pub bad_icrc: Signal<Out, Bit>,
    /// The next frame goes to the Spindle port and has at least two beats.
    pub early_spindle: Signal<Out, Bit>,
    /// Low bits of its source.
    pub early_peer: Signal<Out, Bits<8>>,
    /// Bits 9 to 6 of its sequence number.
    pub early_row: Signal<Out, Bits<4>>,
    /// The first beat of a frame is on `beat_*`.
    pub started: Pulse<Bits<16>>,
    transport: TransportSum,
    check: HeaderCheck,
    icrc: IcrcCheck,
    icrc_wrong: Reg<Bit>,
    cycle: Reg<Bits<32>>,
    in_frame: Reg<Bit>,
    next_frame: Reg<Bits<16>>,
    // The input registers.
    data: DFF<Bits<512>>,
    valid: Reg<Bit>,
    last: DFF<Bit>,
    user: DFF<Bit>,
    first: DFF<Bit>,
    second: DFF<Bit>,
    vlan: DFF<Bit>,
    /// Beats of the frame before this one.
    index: DFF<Bits<8>>,
    /// Bytes of the beat, less one.
    tail: DFF<Bits<6>>,
    frame: DFF<Bits<16>>,
    stamp: DFF<Bits<32>>,
    disabled: DFF<Bit>,
    // The window: the first two beats as one header without tag. Byte k of it is byte k of the frame, with a tag byte k + 4 for
    // k >= 12; bytes of a second beat that has not come are zero.
    macs: DFF<Bits<96>>,
    front: DFF<Bits<384>>,
    /// Bytes 60 to 63: of the first beat, or with a tag of the second.
    seam: DFF<Bits<32>>,
    back: DFF<Bits<208>>,
    // Beside the window.
    done: Reg<Bit>,
    done_vlan: DFF<Bit>,
    done_bad: DFF<Bit>,
    done_disabled: DFF<Bit>,
    done_end: DFF<Bits<14>>,
    done_frame: DFF<Bits<16>>,
    done_stamp: DFF<Bits<32>>,
}

#[hdl]
impl Parser {
    fn update(&mut self) {
        // Input registers.
        self.cycle.d.next = self.cycle.q.val() + 1;
        self.valid.d.next = self.rx.valid.val();
        if self.rx.valid.val() {
            let starts = !self.in_frame.q.val();
            let keep = self.rx.keep.val();
            // `keep` is contiguous: the number of its highest bit, from that bit alone.
            let highest = keep & !(keep >> 1);
            let tail = (
                (highest & INDEX_BIT_5).any(),
                (highest & INDEX_BIT_4).any(),
                (highest & INDEX_BIT_3).any(),
                (highest & INDEX_BIT_2).any(),
                (highest & INDEX_BIT_1).any(),
                (highest & INDEX_BIT_0).any(),
            )
                .cat::<6>();
            self.in_frame.d.next = !self.rx.last.val();
            let mut data: Bits<512> = bits::<512>(0);
            for b in 0..BEAT_BYTES {
                let received = self.rx.data.val().get_bits::<8>(8 * b);
                data.set_bits::<8>(8 * b, if keep.get_bit(b) { received } else { bits::<8>(0) });
            }
            self.data.d.next = data;
            self.last.d.next = self.rx.last.val();
            self.user.d.next = self.rx.user.val();
            self.first.d.next = starts;
            self.second.d.next = !starts & self.first.q.val();
            self.tail.d.next = tail;
            if starts {
                self.next_frame.d.next = self.next_frame.q.val() + 1;
                self.frame.d.next = self.next_frame.q.val();
                self.stamp.d.next = self.cycle.q.val();
                self.disabled.d.next = !self.rx_enable.val();
                self.vlan.d.next = self.rx.data.val().get_bits::<16>(96) == VLAN_IN_BEAT;
                self.index.d.next = bits::<8>(0);
            } else if self.index.q.val() != LAST_INDEX {
                self.index.d.next = self.index.q.val() + 1;
            }
        }
        let data = self.data.q.val();
        let position = (self.index.q.val(), self.tail.q.val()).cat::<14>();
        self.beat.data.next = data;
        self.beat.first.next = self.first.q.val();
        self.beat.second.next = self.second.q.val();
        self.beat.vlan.next = self.vlan.q.val();
        self.beat.end.next = position;
        self.beat.last.next = self.last.q.val();
        self.beat.valid.next = self.valid.q.val();
        self.started.offer(self.valid.q.val() & self.first.q.val(), self.frame.q.val());

        // The source of the frame is looked up.
        self.source.read.next = self.valid.q.val() & self.first.q.val();
        self.source.node.next =
            if self.vlan.q.val() { data.get_bits::<8>(NODE_AT + TAG_BITS) } else { data.get_bits::<8>(NODE_AT) };
        self.check.check_source.next = self.check_source.val();
        self.check.source_present.next = self.source.present.val();
        self.check.source_ip.next = self.source.ip.val();
        self.check.source_requires.next = self.source.requires.val();

        // Header window and transport checksum.
        if self.valid.q.val() & self.first.q.val() {
            self.macs.d.next = data.get_bits::<96>(0);
            self.front.d.next = if self.vlan.q.val() { data.get_bits::<384>(128) } else { data.get_bits::<384>(96) };
            self.seam.d.next = data.get_bits::<32>(480) & repeat::<32>(!self.vlan.q.val());
            self.back.d.next = bits::<208>(0);
        } else if self.valid.q.val() & self.second.q.val() {
            if self.vlan.q.val() {
                self.seam.d.next = data.get_bits::<32>(0);
                self.back.d.next = data.get_bits::<208>(32);
            } else {
                self.back.d.next = data.get_bits::<208>(0);
            }
        }
        self.transport.data.next = data;
        self.transport.valid.next = self.valid.q.val();
        self.transport.first.next = self.first.q.val();
        self.transport.vlan.next = self.vlan.q.val();
        self.transport.counted.join(&mut self.icrc.beat);
        self.icrc.first.next = self.transport.counted_first.val();
        self.icrc.vlan.next = self.transport.counted_vlan.val();
        self.icrc.packet_end.next = self.transport.ip_end.val().get_bits::<6>(0);
        self.done.d.next = self.valid.q.val() & self.last.q.val();
        self.done_vlan.d.next = self.vlan.q.val();
        self.done_bad.d.next = self.user.q.val();
        self.done_disabled.d.next = self.disabled.q.val();
        self.done_end.d.next = position;
        self.done_frame.d.next = self.frame.q.val();
        self.done_stamp.d.next = self.stamp.q.val();

        self.check.spindle_port.next = self.spindle_port.val();
        self.check.header.next =
            (self.back.q.val(), self.seam.q.val(), self.front.q.val(), self.macs.q.val()).cat::<720>();
        self.check.vlan.next = self.done_vlan.q.val();
        self.check.bad_frame.next = self.done_bad.q.val();
        self.check.disabled.next = self.done_disabled.q.val();
        self.check.frame_end.next = self.done_end.q.val();
        self.check.frame.next = self.done_frame.q.val();
        self.check.stamp.next = self.done_stamp.q.val();
        self.check.valid.next = self.done.q.val();
        self.check.ip_end.next = self.transport.ip_end.val();
        self.check.transport_sum.next = self.transport.sum.val();
        self.check.transport_carry.next = self.transport.carry.val();
        self.early_spindle.next = self.check.early_spindle.val();
        self.early_peer.next = self.check.early_peer.val();
        self.early_row.next = self.check.early_row.val();
        let parsed = self.check.parsed.val();
        let has_icrc = parsed.is_spindle & (parsed.flags & bits(flag::ICRC)).any();
        self.icrc_wrong.d.next =
            self.check.parsed.valid.val() & !self.check.parsed.drop.val() & has_icrc & self.icrc.wrong.val();
        self.bad_icrc.next = self.icrc_wrong.q.val();
        self.check.parsed.join(&mut self.parsed);
        self.parsed_flags.next = self.check.parsed_flags.val();
    }
}
