//! Packet sums: the checksums of frames that handlers send with the flag CHECKSUM, inserted while the frames wait for the framer.
//!
//! | neighbour | ports |
//! |---|---|
//! | array | in `write`: beats of frames, payloads and segments; in `checksum`, with them: the beat is of a frame that gets checksums |
//! | framer | out `read`: the same beats |
//! | node page | out `unsummed` (pulse): a frame gets no transport checksum |
//!
//! The checksum fields are in the first beat of a frame, and the sum needs the last one. So a frame with the flag is stored whole
//! before its first beat leaves; all others pass after one cycle, as through any FIFO. The FIFO in LUT RAM holds [`BEATS`] beats,
//! the longest frame of a handler.
//!
//! | cycle | frame with the flag |
//! |---|---|
//! | 0 | its last beat is taken |
//! | 1 | the beat, and whether it has a VLAN tag |
//! | 2 | facts of the headers; the sum of the IPv4 header, in two numbers; bytes that count |
//! | 5 | the sum of the transport, folded |
//! | [`LATENCY`] | its first beat is offered |
//!
//! Frames that enter back to back leave back to back: a frame enters while the frame before leaves. Only a frame that does not fit
//! the FIFO beside the [`LATENCY`] beats of that time leaves bubbles: one of b beats max(0, b + 6 - 32), none up to 1,664 bytes.
//!
//! | frame | IPv4 header checksum | transport checksum |
//! |---|---|---|
//! | UDP, TCP, ICMP in IPv4 without options, with or without 802.1Q tag | inserted | inserted |
//! | fragment; another protocol; a UDP length that is not that of the packet, or too short a packet | inserted | unchanged |
//! | other EtherType or version, options, an IPv4 length below 20 or past the end of the frame | unchanged | unchanged |
//!
//! What the fields held does not count. A UDP checksum of 0 is inserted as 0xFFFF. Bytes after the IPv4 packet are padding.

use super::ArrayBeat;
use spindle_blocks::checksum::{fold, never_zero, sum_of_pair, sum_of_ten, StreamSum, STREAM_SUM_LATENCY};
use spindle_blocks::headers::*;
use spindle_blocks::Fifo;
use spindle_contract::params::{BEAT_BYTES, SLOT_BYTES};
use spindle_contract::wire::{icmp, ipv4, udp, ETHERTYPE_IPV4, ETHERTYPE_VLAN, IP_ICMP, IP_TCP, IP_UDP, VLAN_BYTES};
use spindle_verilog::prelude::*;

/// Cycles from the last beat of a frame with the flag to the offer of its first.
pub const LATENCY: usize = 6;
/// Beats that wait at most.
pub const BEATS: usize = 1 << BEAT_BITS;
const BEAT_BITS: usize = 5;
const _: () = assert!(SLOT_BYTES == BEAT_BYTES * BEATS && STREAM_SUM_LATENCY == 3);

/// The tag in the bits of a beat.
const VLAN_IN_BEAT: u64 = ETHERTYPE_VLAN.swap_bytes() as u64;
const TRANSPORT: usize = ipv4::START + ipv4::BYTES;
/// Words of a beat that are written, for frames without and with tag: checksums of IPv4, ICMP, UDP and TCP. Their numbers in this
/// table are the bits of `places`.
const PLACES: usize = 7;
const WORDS: [usize; PLACES] = [12, 14, 18, 20, 22, 25, 27];
/// Those of transports.
const TRANSPORT_PLACES: usize = 2;
/// Bytes from the transport header to its checksum.
const UDP_FIELD: usize = 6;
const ICMP_FIELD: usize = 2;
const TCP_FIELD: usize = 16;
const _: () = {
    let tag = VLAN_BYTES / 2;
    let ip = (ipv4::START + 10) / 2;
    assert!(WORDS[0] == ip && WORDS[1] == ip + tag);
    let transport = TRANSPORT / 2;
    assert!(udp::START == TRANSPORT && icmp::START == TRANSPORT);
    assert!(WORDS[2] == transport + ICMP_FIELD / 2 && WORDS[3] == WORDS[2] + tag);
    assert!(WORDS[3] == transport + UDP_FIELD / 2 && WORDS[4] == WORDS[3] + tag);
    assert!(WORDS[5] == transport + TCP_FIELD / 2 && WORDS[6] == WORDS[5] + tag);
};
/// First word of a sum: the addresses, which are part of the pseudo header, or the ICMP header.
const ADDRESSES_WORD: usize = (ipv4::START + 12) / 2;
const ICMP_WORD: usize = TRANSPORT / 2;
const FROM_ADDRESSES: [u64; 2] = [from_word(ADDRESSES_WORD), from_word(ADDRESSES_WORD + VLAN_BYTES / 2)];
const FROM_ICMP: [u64; 2] = [from_word(ICMP_WORD), from_word(ICMP_WORD + VLAN_BYTES / 2)];

/// The words of a beat from this one on.
const fn from_word(word: usize) -> u64 {
    (u32::MAX << word) as u64
}
/// Shortest packets: with the header of UDP and ICMP, of TCP.
const SHORT: u64 = 28;
const SHORT_TCP: u64 = 40;

/// A beat that waits.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Waiting {
    beat: ArrayBeat,
    checksum: Bit,
}

/// A beat whose bytes are added.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Added {
    data: Bits<512>,
    keep: Bits<64>,
    first: Bit,
    last: Bit,
}

/// Facts of the headers of a frame.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Facts {
    has_tag: Bit,
    icmp: Bit,
    udp: Bit,
    /// Words that are written if the packet ends in the frame.
    places: Bits<PLACES>,
    /// Protocol and length of the pseudo header, in the byte order of a beat; 0 for ICMP.
    pseudo: Bits<16>,
    /// Sum of the IPv4 header.
    sum: Bits<16>,
    carry: Bits<16>,
}

/// What is inserted into a frame.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Inserted {
    places: Bits<PLACES>,
    header: Bits<16>,
    transport: Bits<16>,
}

/// See the head of this file.
#[block]
pub struct PacketSums {
    /// Beat of the array.
    pub write: Sink<ArrayBeat>,
    /// The beat is of a frame that gets checksums.
    pub checksum: Signal<In, Bit>,
    /// Beat for the framer.
    pub read: Source<ArrayBeat>,
    /// A frame gets no transport checksum.
    pub unsummed: Signal<Out, Bit>,
    beats: Fifo<Waiting, BEAT_BITS>,
    enters: Reg<Bit>,
    // Cycle 1.
    taken: DFF<Added>,
    taken_valid: Reg<Bit>,
    has_tag: DFF<Bit>,
    // Cycle 2.
    facts: DFF<Facts>,
    added: DFF<Added>,
    added_valid: Reg<Bit>,
    /// Bytes from the start of the beat to the end of the packet; 0 if it has ended before.
    left: DFF<Bits<17>>,
    // Cycles 3 to 5.
    transport: StreamSum,
    facts_kept: [DFF<Facts>; STREAM_SUM_LATENCY],
    pair: DFF<Bits<17>>,
    header: DFF<Bits<16>>,
    sums: Fifo<Inserted, BEAT_BITS>,
    in_frame: Reg<Bit>,
}

/// The headers of a frame without its tag.
#[hdl_fn]
fn headers_of(data: Bits<512>, has_tag: Bit) -> Bits<HEADER_BITS> {
    let rest = if has_tag { data.get_bits::<384>(128) } else { data.get_bits::<384>(96) };
    (bits::<240>(0), rest, data.get_bits::<96>(0)).cat::<HEADER_BITS>()
}

/// Facts of these headers.
#[hdl_fn]
fn facts_of(h: Bits<HEADER_BITS>, has_tag: Bit) -> Facts {
    let total = ipv4_total_length(h);
    let plain = (ethernet_ethertype(h) == bits(ETHERTYPE_IPV4))
        & (ipv4_version(h) == 4)
        & (ipv4_ihl(h) == 5)
        & (total >= bits::<16>(ipv4::BYTES as u64));
    let whole = plain & !ipv4_fragment(h).any();
    let protocol = ipv4_protocol(h);
    let has_eight = whole & (total >= bits::<16>(SHORT));
    let is_udp = has_eight & (protocol == bits(IP_UDP)) & (udp_length(h) == total - bits::<16>(ipv4::BYTES as u64));
    let is_icmp = has_eight & (protocol == bits(IP_ICMP));
    let is_tcp = whole & (protocol == bits(IP_TCP)) & (total >= bits::<16>(SHORT_TCP));
    let number = if is_tcp {
        total - bits::<16>(ipv4::BYTES as u64 - IP_TCP as u64)
    } else {
        total - bits::<16>(ipv4::BYTES as u64 - IP_UDP as u64)
    };
    let pseudo = (number.get_bits::<8>(0), number.get_bits::<8>(8)).cat::<16>();
    // The checksum itself does not count.
    let words = h.get_bits::<160>(8 * ipv4::START);
    let sums = sum_of_ten((words.get_bits::<64>(96), bits::<16>(0), words.get_bits::<80>(0)).cat::<160>());
    Facts {
        has_tag,
        icmp: is_icmp,
        udp: is_udp,
        places: (
            is_tcp & has_tag,
            is_tcp & !has_tag,
            is_udp & has_tag,
            (is_udp & !has_tag) | (is_icmp & has_tag),
            is_icmp & !has_tag,
            plain & has_tag,
            plain & !has_tag,
        )
            .cat::<PLACES>(),
        pseudo: if is_icmp { bits::<16>(0) } else { pseudo },
        sum: sums.get_bits::<16>(0),
        carry: sums.get_bits::<16>(16),
    }
}

#[hdl]
impl PacketSums {
    fn update(&mut self) {
        self.examine();
        self.add();
        self.finish();
        self.leave();
    }

    /// Cycles 0 to 2: beats of frames with the flag, and the facts of their headers.
    fn examine(&mut self) {
        let waiting = Waiting { beat: self.write.val(), checksum: self.checksum.val() };
        self.beats.write.offer(self.write.valid.val(), waiting);
        self.write.ready.next = self.beats.write.ready.val();
        let beat = self.write.val().beat;
        let moves = self.write.valid.val() & self.beats.write.ready.val();
        let takes = moves & self.checksum.val();
        self.enters.load(moves, !beat.last);
        self.taken_valid.d.next = takes;
        if takes {
            self.taken.d.next =
                Added { data: beat.data, keep: beat.keep, first: !self.enters.q.val(), last: beat.last };
            self.has_tag.d.next = beat.data.get_bits::<16>(96) == VLAN_IN_BEAT;
        }

        let taken = self.taken.q.val();
        let has_tag = self.has_tag.q.val();
        let h = headers_of(taken.data, has_tag);
        self.added_valid.d.next = self.taken_valid.q.val();
        if self.taken_valid.q.val() {
            self.added.d.next = taken;
            let left = self.left.q.val();
            if taken.first {
                self.facts.d.next = facts_of(h, has_tag);
                let start = if has_tag {
                    bits::<17>((ipv4::START + VLAN_BYTES) as u64)
                } else {
                    bits::<17>(ipv4::START as u64)
                };
                self.left.d.next = zext::<17, 16>(ipv4_total_length(h)) + start;
            } else if left.get_bits::<11>(6).any() {
                self.left.d.next = (left.get_bits::<11>(6) - 1, left.get_bits::<6>(0)).cat::<17>();
            } else {
                self.left.d.next = bits::<17>(0);
            }
        }
    }

    /// Cycle 2: the bytes that count are added.
    fn add(&mut self) {
        let facts = self.facts.q.val();
        let added = self.added.q.val();
        let left = self.left.q.val();
        let more = left.get_bits::<11>(6).any();
        let covered = !(repeat::<64>(true) << left.get_bits::<6>(0)) | repeat::<64>(more);
        // In the first beat: from the start of the sum on, without the checksum.
        let from = if facts.has_tag {
            if facts.icmp {
                bits::<32>(FROM_ICMP[1])
            } else {
                bits::<32>(FROM_ADDRESSES[1])
            }
        } else if facts.icmp {
            bits::<32>(FROM_ICMP[0])
        } else {
            bits::<32>(FROM_ADDRESSES[0])
        };
        let mut fields: Bits<32> = bits::<32>(0);
        for k in TRANSPORT_PLACES..PLACES {
            fields = fields.replace_bit(WORDS[k], facts.places.get_bit(k));
        }
        let begun = (from & !fields) | repeat::<32>(!added.first);
        let mut words: Bits<512> = bits::<512>(0);
        for b in 0..BEAT_BYTES {
            let counts = begun.get_bit(b / 2) & covered.get_bit(b);
            words.set_bits::<8>(8 * b, added.data.get_bits::<8>(8 * b) & repeat::<8>(counts));
        }
        // The MAC addresses do not count, and leave room for the pseudo header.
        let low = words.get_bits::<16>(0) | (facts.pseudo & repeat::<16>(added.first));
        words.set_bits::<16>(0, low);
        self.transport.beat.offer(self.added_valid.q.val(), words);
        self.transport.first.next = added.first;
        self.transport.last.next = added.last;

        // The packet ends in the frame if all its bytes in the last beat are bytes of the frame.
        let ends = (left <= bits::<17>(BEAT_BYTES as u64)) & !(covered & !added.keep).any();
        self.facts_kept[0].d.next = facts;
        self.facts_kept[0].d.next.places = facts.places & repeat::<PLACES>(ends);
        for i in 1..STREAM_SUM_LATENCY {
            self.facts_kept[i].d.next = self.facts_kept[i - 1].q.val();
        }
        self.pair.d.next = sum_of_pair(self.facts_kept[0].q.val().sum, self.facts_kept[0].q.val().carry);
        self.header.d.next = !fold(self.pair.q.val());
    }

    /// Cycle 5: what is inserted.
    fn finish(&mut self) {
        let facts = self.facts_kept[STREAM_SUM_LATENCY - 1].q.val();
        let total = self.transport.total.val();
        let done = self.transport.total.valid.val();
        self.sums.write.offer(
            done,
            Inserted {
                places: facts.places,
                header: self.header.q.val(),
                transport: if facts.udp { never_zero(total) } else { !total },
            },
        );
        let fits = facts.places.get_bits::<{ PLACES - TRANSPORT_PLACES }>(TRANSPORT_PLACES).any();
        self.unsummed.next = done & !fits;
    }

    /// Beats leave; the first one of a frame with the flag with the checksums, when they are there.
    fn leave(&mut self) {
        let head = self.beats.read.val();
        let wants = head.checksum & !self.in_frame.q.val();
        let held = wants & !self.sums.read.valid.val();
        let takes = self.read.ready.val() & !held;
        let moves = takes & self.beats.read.valid.val();
        self.beats.read.ready.next = takes;
        self.sums.read.ready.next = moves & wants;
        self.in_frame.load(moves, !head.beat.beat.last);
        let inserted = self.sums.read.val();
        let mut data: Bits<512> = head.beat.beat.data;
        for k in 0..PLACES {
            let value = if k < TRANSPORT_PLACES { inserted.header } else { inserted.transport };
            let placed = wants & inserted.places.get_bit(k);
            let word = head.beat.beat.data.get_bits::<16>(16 * WORDS[k]);
            data.set_bits::<16>(16 * WORDS[k], if placed { value } else { word });
        }
        let mut beat: ArrayBeat = head.beat;
        beat.beat.data = data;
        self.read.offer(self.beats.read.valid.val() & !held, beat);
    }
}
