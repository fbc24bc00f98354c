//! The sum that the UDP or ICMP checksum of a frame covers, made while the frame arrives. How sums are kept:
//! [`spindle_blocks::checksum`]. The bytes that are summed go on to the check of the ICRC.

use spindle_blocks::checksum::{Compressor, BEAT_WORDS};
use spindle_contract::params::BEAT_BYTES;
use spindle_contract::wire::{self, ipv4};
use spindle_verilog::prelude::*;

/// 17 (the protocol) minus 20 (IP header bytes) modulo 65535, low byte first: with the total length it makes up what the UDP
/// pseudo header holds besides the addresses.
const PSEUDO_HEADER: u64 = 0xFCFF;
/// First bit of the IPv4 total length in the first beat of a frame without VLAN tag.
const TOTAL_AT: usize = 8 * (ipv4::START + ipv4::TOTAL_LENGTH);
/// First bit of the IPv4 protocol.
const PROTOCOL_AT: usize = 8 * (ipv4::START + ipv4::PROTOCOL);
/// Bits by which a VLAN tag moves both.
const TAG_BITS: usize = 8 * wire::VLAN_BYTES;
// The gates that compare a length with what an untagged and a tagged beat have room for are for this beat.
const _: () = assert!(BEAT_BYTES - 13 == 51 && BEAT_BYTES - 17 == 47);

/// Sums what the UDP or ICMP checksum of each frame covers, one beat per cycle.
///
/// | neighbour | ports |
/// |---|---|
/// | parser (input registers) | in `data`, `valid`, `first` (of a frame), `vlan` (of the frame, with the first beat); no ready |
/// | header check | out `ip_end` 1 cycle after the first beat: index in the frame of the last byte that IPv4 claims |
/// | header check | out `sum`, `carry` 2 cycles after a beat: everything up to it |
/// | ICRC check | out `counted`, `counted_first`, `counted_vlan` 1 cycle after a beat: its bytes that the sum has, the others 0 |
///
/// The sum begins after a 20-byte IP header and ends by the total length; padding does not count. For UDP the pseudo header
/// is in it. It means nothing for other frames. Never stalls.
#[block(no_reset)]
pub struct TransportSum {
    /// Beat.
    pub data: Signal<In, Bits<512>>,
    /// A beat is there.
    pub valid: Signal<In, Bit>,
    /// First beat of a frame.
    pub first: Signal<In, Bit>,
    /// The frame has a VLAN tag.
    pub vlan: Signal<In, Bit>,
    /// Index of the last byte of the IPv4 packet.
    pub ip_end: Signal<Out, Bits<17>>,
    /// First half of the sum.
    pub sum: Signal<Out, Bits<16>>,
    /// Second half of the sum.
    pub carry: Signal<Out, Bits<16>>,
    /// Bytes of a beat that are in the IPv4 packet; of a first beat none before the addresses.
    pub counted: Pulse<Bits<512>>,
    /// The beat is the first one of its frame.
    pub counted_first: Signal<Out, Bit>,
    /// Its frame has a VLAN tag.
    pub counted_vlan: Signal<Out, Bit>,
    tree: Compressor<34>,
    // Stage 1: the bytes of the beat that count, and where they end.
    words: DFF<Bits<512>>,
    stage_valid: DFF<Bit>,
    stage_first: DFF<Bit>,
    has_tag: DFF<Bit>,
    udp: DFF<Bit>,
    total: DFF<Bits<16>>,
    stop: DFF<Bits<17>>,
    beats_left: DFF<Bits<11>>,
    whole: DFF<Bit>,
    empty: DFF<Bit>,
    // Stage 2: the sum.
    total_sum: DFF<Bits<16>>,
    total_carry: DFF<Bits<16>>,
}

#[hdl]
impl TransportSum {
    fn update(&mut self) {
        let data = self.data.val();
        let first = self.first.val();
        let vlan = self.vlan.val();

        // Stage 1.
        let is_udp = (if vlan { data.get_bits::<8>(PROTOCOL_AT + TAG_BITS) } else { data.get_bits::<8>(PROTOCOL_AT) })
            == bits(wire::IP_UDP);
        let total_raw = if vlan { data.get_bits::<16>(TOTAL_AT + TAG_BITS) } else { data.get_bits::<16>(TOTAL_AT) };
        let total = (total_raw.get_bits::<8>(0), total_raw.get_bits::<8>(8)).cat::<16>();
        let stop = zext::<17, 16>(total) + (if vlan { bits::<17>(17) } else { bits::<17>(13) });
        // The packet goes on after the first beat: decided without waiting for `stop`.
        let low = total.get_bits::<6>(0);
        let above_46 = low.get_bit(5) & (low.get_bit(4) | low.get_bits::<4>(0).all());
        let above_50 = low.get_bits::<2>(4).all() & (low.get_bits::<2>(2).any() | low.get_bits::<2>(0).all());
        let beyond = total.get_bits::<10>(6).any() | if vlan { above_46 } else { above_50 };
        let whole = if first { beyond } else { self.whole.q.val() & (self.beats_left.q.val() != 1) };
        let empty = !first & (self.empty.q.val() | !self.whole.q.val());
        self.stage_valid.d.next = self.valid.val();
        if self.valid.val() {
            self.stage_first.d.next = first;
            // Words 13 to 16 of an untagged frame are the IP addresses; a tag moves everything by two words.
            let pseudo_untagged = !first | (is_udp & !vlan);
            let pseudo_both = !first | is_udp;
            let pseudo_tagged = !first | !vlan | is_udp;
            let covered = (
                repeat::<26>(true),
                repeat::<4>(pseudo_tagged),
                repeat::<4>(pseudo_both),
                repeat::<4>(pseudo_untagged),
                repeat::<26>(!first),
            )
                .cat::<64>();
            // Byte i of the beat counts when the packet reaches it; the others count as zero.
            let stop_byte = if first { stop.get_bits::<6>(0) } else { self.stop.q.val().get_bits::<6>(0) };
            let reached = (repeat::<64>(true) >> !stop_byte) | repeat::<64>(whole);
            let counts = covered & reached & repeat::<64>(!empty);
            let mut words: Bits<512> = bits::<512>(0);
            for b in 0..BEAT_BYTES {
                let received = data.get_bits::<8>(8 * b);
                words.set_bits::<8>(8 * b, if counts.get_bit(b) { received } else { bits::<8>(0) });
            }
            self.words.d.next = words;
            self.whole.d.next = whole;
            self.empty.d.next = empty;
            if first {
                self.has_tag.d.next = vlan;
                self.udp.d.next = is_udp;
                self.total.d.next = total_raw;
                self.stop.d.next = stop;
                self.beats_left.d.next = stop.get_bits::<11>(6);
            } else {
                self.beats_left.d.next = self.beats_left.q.val() - 1;
            }
        }
        self.ip_end.next = self.stop.q.val();
        self.counted.offer(self.stage_valid.q.val() & !self.empty.q.val(), self.words.q.val());
        self.counted_first.next = self.stage_first.q.val();
        self.counted_vlan.next = self.has_tag.q.val();

        // Stage 2.
        for i in 0..BEAT_WORDS {
            self.tree.words[i].next = self.words.q.val().get_bits::<16>(16 * i);
        }
        if self.stage_first.q.val() {
            self.tree.words[32].next = bits::<16>(PSEUDO_HEADER) & repeat::<16>(self.udp.q.val());
            self.tree.words[33].next = self.total.q.val() & repeat::<16>(self.udp.q.val());
        } else {
            self.tree.words[32].next = self.total_sum.q.val();
            self.tree.words[33].next = self.total_carry.q.val();
        }
        if self.stage_valid.q.val() {
            self.total_sum.d.next = self.tree.sum.val();
            self.total_carry.d.next = self.tree.carry.val();
        }
        self.sum.next = self.total_sum.q.val();
        self.carry.next = self.total_carry.q.val();
    }
}
