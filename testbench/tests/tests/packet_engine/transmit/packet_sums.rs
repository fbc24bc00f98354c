//! Checksums of the frames of handlers, beside frames without them, payloads and segments, against the model.

use packet_engine::transmit::initiator::packet_sums::{PacketSums, BEATS, LATENCY};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::{MIN_FRAME, SLOT_BYTES};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_model::checksums;
use spindle_model::frames::{echo_request, udp, Ends};
use std::collections::VecDeque;

const UDP: u8 = 17;
const TCP: u8 = 6;
const ICMP: u8 = 1;

/// A frame of `length` bytes (at least 46 and 12 more for TCP) whose checksums are right, with or without a tag.
fn whole(rng: &mut ChaCha8Rng, protocol: u8, tagged: bool, length: usize) -> Vec<u8> {
    let ends = Ends { src_ip: rng.random(), dst_ip: rng.random(), vlan: tagged.then_some(9), ..Ends::default() };
    let payload: Vec<u8> = match rng.random_range(0..6) {
        0 => vec![0; length - l3(tagged) - 28],
        1 => vec![0xFF; length - l3(tagged) - 28],
        _ => (0..length - l3(tagged) - 28).map(|_| rng.random()).collect(),
    };
    let mut frame = match protocol {
        ICMP => echo_request(&ends, rng.random(), rng.random(), &payload),
        _ => udp(&ends, rng.random(), rng.random(), &payload),
    };
    frame[l3(tagged) + 9] = protocol;
    frame
}

/// First byte of the IPv4 header.
fn l3(tagged: bool) -> usize {
    if tagged {
        18
    } else {
        14
    }
}

/// Any frame that a handler may send with the flag: most of them have checksums, some in part, some look as if they had.
pub fn any_frame(rng: &mut ChaCha8Rng, longest: usize) -> Vec<u8> {
    let edges = [46, 47, 58, 62, 63, 64, 65, 66, 127, 128, 129, 192, 1514, SLOT_BYTES - 1, SLOT_BYTES];
    let length = match rng.random_range(0..3) {
        0 => edges[rng.random_range(0..edges.len())].min(longest),
        1 => rng.random_range(58..200),
        _ => rng.random_range(58..=longest),
    };
    let tagged = rng.random();
    let l3 = l3(tagged);
    let protocol = [UDP, UDP, TCP, ICMP, 2, rng.random()][rng.random_range(0..6)];
    let mut frame = whole(rng, protocol, tagged, length);
    let even = 2 * rng.random_range(0..(length - l3 - 28) / 2 + 1);
    if rng.random_range(0..4) == 0 && l3 + 28 + even + 2 <= length {
        // A word of the payload, and the identification, with which the checksums become 0.
        for (at, field) in [
            (l3 + 4, l3 + 10),
            (l3 + 28 + even, l3 + [6, 2, 16][[UDP, ICMP, TCP].iter().position(|p| *p == protocol).unwrap_or(0)] + 20),
        ] {
            if at != field && field + 2 <= length {
                frame[at..at + 2].fill(0);
                checksums::send(&mut frame);
                frame.copy_within(field..field + 2, at);
            }
        }
    }
    // The fields hold anything.
    for at in [l3 + 10, l3 + 22, l3 + 26, l3 + 36] {
        if rng.random() && at + 2 <= length {
            frame[at..at + 2].copy_from_slice(&[rng.random(), rng.random()]);
        }
    }
    match rng.random_range(0..14) {
        // Padding, and a frame that is cut.
        0 => frame.resize((length + rng.random_range(1..80)).min(longest), rng.random()),
        1 => frame.truncate((length - rng.random_range(1..length - MIN_FRAME)).max(MIN_FRAME)),
        // Fields that matter differ in one bit: EtherType, version and length, total length, fragment, protocol, UDP length.
        2..=4 => {
            let fields = [l3 - 2, l3 - 1, l3, l3 + 2, l3 + 3, l3 + 6, l3 + 7, l3 + 9, l3 + 24, l3 + 25];
            frame[fields[rng.random_range(0..fields.len())]] ^= 1 << rng.random_range(0..8);
        }
        5 => {
            // Lengths of both headers that are too short or too long.
            let total = rng.random_range(0..60u16) + [0, (length - l3 - 20) as u16][rng.random_range(0..2)];
            frame[l3 + 2..l3 + 4].copy_from_slice(&total.to_be_bytes());
            frame[l3 + 24..l3 + 26].copy_from_slice(&total.wrapping_sub(20).to_be_bytes());
        }
        _ => {}
    }
    frame
}

/// What comes from the array.
#[derive(Clone)]
struct Item {
    bytes: Vec<u8>,
    tag: u16,
    put: bool,
    segment: bool,
    checksum: bool,
}

impl Item {
    fn frame(bytes: Vec<u8>, checksum: bool) -> Self {
        Item { bytes, tag: 0x5A5A, put: false, segment: false, checksum }
    }

    fn random(rng: &mut ChaCha8Rng) -> Self {
        if rng.random_range(0..4) == 0 {
            let bytes = (0..rng.random_range(1..=SLOT_BYTES)).map(|_| rng.random()).collect();
            let put = rng.random();
            return Item { bytes, tag: rng.random(), put, segment: !put, checksum: false };
        }
        Item { tag: rng.random(), ..Item::frame(any_frame(rng, SLOT_BYTES), rng.random_range(0..4) > 0) }
    }

    fn beats(&self) -> usize {
        self.bytes.len().div_ceil(64)
    }

    /// Beat `i` at the port, with bytes after its end that mean nothing.
    fn beat(&self, i: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
        let chunk = &self.bytes[64 * i..self.bytes.len().min(64 * (i + 1))];
        let mut port: Vec<u8> = (0..64).map(|_| rng.random()).collect();
        port[..chunk.len()].copy_from_slice(chunk);
        port.extend((u64::MAX >> (64 - chunk.len())).to_le_bytes());
        let rest = u32::from(i + 1 == self.beats())
            | u32::from(self.tag) << 1
            | u32::from(self.put) << 17
            | u32::from(self.segment) << 18;
        port.extend(&rest.to_le_bytes()[..3]);
        port
    }
}

/// Passes items with these chances, in percent, that the next one comes at once and that a beat may leave. Returns the cycles in
/// which the first beat of each left.
fn pass(wave: &WaveContext, items: &[Item], [comes, leaves]: [u32; 2]) -> Vec<u64> {
    let dut = Dut::new(wave, PacketSums::default(), "packet_sums");
    let (mut rng, mut filler) = (wave.rng(), wave.rng());
    let mut chance = move |percent: u32| percent == 100 || rng.random_range(0..100) < percent;
    let (mut written, mut position, mut offered) = (0, 0, None);
    // Cycle from which the first beat of each item that has come is to be offered.
    let mut due: VecDeque<Option<u64>> = VecDeque::new();
    let (mut held, mut unsummed, mut bare) = (0, 0, 0);
    let mut now: Vec<u8> = vec![];
    let (mut firsts, mut last_left) = (vec![], 0);
    while firsts.len() < items.len() || !now.is_empty() || written < items.len() || held > 0 {
        let cycle = dut.cycle();
        assert!(cycle < 2_000_000, "{} of {} left", firsts.len(), items.len());
        if offered.is_none() && written < items.len() && (position > 0 || chance(comes)) {
            offered = Some(items[written].beat(position, &mut filler));
        }
        dut.write.valid.set(offered.is_some());
        if let Some(beat) = &offered {
            dut.write.set_bytes(beat);
            dut.checksum.set(items[written].checksum);
        }
        let ready = chance(leaves);
        dut.read.ready.set(ready);
        dut.eval();
        unsummed += usize::from(dut.unsummed.is_high());
        assert_eq!(dut.write.ready.is_high(), held < BEATS, "cycle {cycle}: {held} beats wait");

        // What leaves.
        let begins = due.front().copied().flatten().map(|due| due.max(last_left + 1));
        let valid = dut.read.valid.is_high();
        assert_eq!(valid, !now.is_empty() || begins.is_some_and(|due| cycle >= due), "cycle {cycle}: due {begins:?}");
        let mut popped = false;
        if valid && ready {
            let item = &items[firsts.len() - usize::from(!now.is_empty())];
            if now.is_empty() {
                firsts.push(cycle);
            }
            let i = now.len() / 64;
            let found = dut.read.bytes();
            let wanted = item.beat(i, &mut filler);
            assert_eq!(found[64..75], wanted[64..75], "cycle {cycle}: beat {i} of {:02x?}", item.bytes);
            now.extend(&found[..item.bytes.len().min(64 * (i + 1)) - 64 * i]);
            popped = true;
            if now.len() == item.bytes.len() {
                let mut expected = item.bytes.clone();
                if item.checksum {
                    bare += usize::from(!checksums::send(&mut expected));
                }
                assert_eq!(now, expected, "cycle {cycle}: {item_bytes:02x?}", item_bytes = item.bytes);
                now.clear();
                due.pop_front();
                last_left = cycle;
            }
        }
        // What comes.
        if offered.is_some() && held < BEATS {
            let item = &items[written];
            if position == 0 {
                due.push_back((!item.checksum).then_some(cycle + 1));
            }
            position += 1;
            held += 1;
            offered = None;
            if position == item.beats() {
                if item.checksum {
                    *due.back_mut().expect("it has come") = Some(cycle + LATENCY as u64);
                }
                (written, position) = (written + 1, 0);
            }
        }
        held -= usize::from(popped);
        dut.tick();
    }
    assert_eq!(unsummed, bare, "frames without a transport checksum");
    firsts
}

#[test]
fn random_frames() {
    run_with_wave_on_failure("packet_sums", |wave| {
        let mut rng = wave.rng();
        for pace in [[100, 100], [30, 100], [100, 40], [60, 70]] {
            let items: Vec<Item> = (0..600).map(|_| Item::random(&mut rng)).collect();
            pass(wave, &items, pace);
        }
    });
}

/// Every length, with every transport, tagged and not.
#[test]
fn every_length() {
    run_with_wave_on_failure("packet_sums_lengths", |wave| {
        let mut rng = wave.rng();
        let mut items = vec![];
        for length in 58..=SLOT_BYTES {
            let kind = rng.random_range(0..6);
            items.push(Item::frame(whole(&mut rng, [UDP, TCP, ICMP][kind % 3], kind > 2, length), true));
        }
        // The shortest beats have all of them.
        for length in 58..=200 {
            for kind in 0..6 {
                items.push(Item::frame(whole(&mut rng, [UDP, TCP, ICMP][kind % 3], kind > 2, length), true));
            }
        }
        pass(wave, &items, [100, 100]);
    });
}

/// Frames that come back to back leave back to back, unless two do not fit.
#[test]
fn checksums_cost_no_rate() {
    run_with_wave_on_failure("packet_sums_rate", |wave| {
        let mut rng = wave.rng();
        for (length, beats, bubbles) in
            [(60, 1, 0), (64, 1, 0), (65, 2, 0), (1518, 24, 0), (1664, 26, 0), (2048, 32, 6)]
        {
            let items = vec![Item::frame(whole(&mut rng, UDP, false, length), true); 60];
            let firsts = pass(wave, &items, [100, 100]);
            assert_eq!(firsts[59] - firsts[20], 39 * (beats + bubbles), "{length} bytes");
        }
    });
}
