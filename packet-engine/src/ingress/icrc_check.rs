//! ICRC check: computes the CRC-32C of every datagram, and compares it with the ICRC that ends the datagram.
//!
//! | neighbour | ports |
//! |---|---|
//! | transport sum | in `beat` (pulse), `first`, `vlan`: the bytes of a beat that are in the IPv4 packet, the others 0 |
//! | transport sum | in `packet_end`: with `beat`, index in its beat of the packet's last byte |
//! | parser | out `wrong`: [`LATENCY`] cycles after the last beat, for one cycle |
//!
//! | cycle | |
//! |---|---|
//! | 0 | the beat; without what comes before the Spindle header in a first one |
//! | 1 | the sums of its lanes ([`BeatCrc`]) |
//! | 2 | the register, and what it must be after the zeros that fill the last beat; they are compared |
//!
//! Cycle 2 is that of `parsed`: the parser reports a wrong ICRC one cycle after `parsed`, when the frame has changed nothing yet.
//! `wrong` means nothing for a frame without ICRC. One beat per cycle, never stalls.

use spindle_blocks::crc::{advance, begun, residue, BeatCrc, BEAT_CRC_LATENCY, CRC32C};
use spindle_contract::params::BEAT_BYTES;
use spindle_contract::wire::{spindle, VLAN_BYTES};
use spindle_verilog::prelude::*;

/// Cycles from a frame's last beat to `wrong`.
pub const LATENCY: usize = 2;
const _: () = assert!(LATENCY == BEAT_CRC_LATENCY);

/// First byte of the CRC, without and with a VLAN tag.
const START: usize = spindle::START;
const TAGGED_START: usize = spindle::START + VLAN_BYTES;
const BEGUN: u64 = begun(CRC32C, START) as u64;
const TAGGED_BEGUN: u64 = begun(CRC32C, TAGGED_START) as u64;
/// For each bit of the register of a good frame, that bit after a last beat whose last byte is the one of that number.
const RESIDUES: [u64; 32] = residues();

const fn residues() -> [u64; 32] {
    let mut bits = [0; 32];
    let mut end = 0;
    while end < BEAT_BYTES {
        let state = advance(CRC32C, residue(CRC32C), BEAT_BYTES - 1 - end);
        let mut bit = 0;
        while bit < 32 {
            bits[bit] |= ((state >> bit & 1) as u64) << end;
            bit += 1;
        }
        end += 1;
    }
    bits
}

/// See the head of this file.
#[block(no_reset)]
pub struct IcrcCheck {
    /// Bytes of an IPv4 packet.
    pub beat: PulseSink<Bits<512>>,
    /// First beat of a frame.
    pub first: Signal<In, Bit>,
    /// The frame has a VLAN tag.
    pub vlan: Signal<In, Bit>,
    /// Where the packet ends in its last beat.
    pub packet_end: Signal<In, Bits<6>>,
    /// The CRC-32C of the bytes from the Spindle header on is another one.
    pub wrong: Signal<Out, Bit>,
    crc: BeatCrc,
    ended: DFF<Bits<6>>,
    good: DFF<Bits<32>>,
}

#[hdl]
impl IcrcCheck {
    fn update(&mut self) {
        let beat = self.beat.val();
        let first = self.first.val();
        let vlan = self.vlan.val();
        let mut covered: Bits<512> = beat;
        for b in 0..TAGGED_START {
            let counts = if b < START { !first } else { !(first & vlan) };
            covered.set_bits::<8>(8 * b, beat.get_bits::<8>(8 * b) & repeat::<8>(counts));
        }
        self.crc.beat.offer(self.beat.valid.val(), covered);
        self.crc.first.next = first;
        self.crc.start.next = if vlan { bits::<32>(TAGGED_BEGUN) } else { bits::<32>(BEGUN) };
        self.crc.moves.next = true;

        self.ended.d.next = self.packet_end.val();
        let mut good: Bits<32> = bits::<32>(0);
        for i in 0..32 {
            good = good.replace_bit(i, bits::<64>(RESIDUES[i]).get_bit(self.ended.q.val().index()));
        }
        self.good.d.next = good;
        self.wrong.next = ne(self.crc.state.val(), self.good.q.val());
    }
}
