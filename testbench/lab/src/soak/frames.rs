//! Frames of all kinds, good and bad.

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngCore};
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::{MAX_FRAME, SPINDLE_PORT};
use spindle_contract::wire::{control, flag, opcode};
use spindle_model::frames::{echo_request, put_message, spindle, udp, udp_without_checksum, Ends, SpindleHeader};
use spindle_sim::WireFrame;

/// Ports of the rules.
pub const PORTS: u16 = 8;
/// Addresses of mailboxes.
pub const ADDRESSES: u64 = 12;
/// The only right key.
pub const KEY: u32 = 0x5EED;
/// Processes with mailboxes.
pub const PROCESSES: u16 = 4;

/// The frames of something that a sender does: a datagram, a message of several packets, or noise.
pub fn some(rng: &mut ChaCha8Rng) -> Vec<WireFrame> {
    let ends = Ends { vlan: rng.random_bool(0.2).then_some(7), ..Ends::default() };
    let mut frames = match rng.random_range(0..16) {
        0..=4 => {
            let payload = bytes(rng, 1400);
            let port = rng.random_range(0..PORTS);
            vec![if rng.random_bool(0.1) {
                udp_without_checksum(&ends, 5, port, &payload)
            } else {
                udp(&ends, 5, port, &payload)
            }]
        }
        5..=6 => vec![echo_request(&ends, 1, rng.random(), &bytes(rng, 1400))],
        7..=11 => message(rng, &ends),
        12 => vec![single(rng, &ends)],
        13 => vec![udp(&ends, 5, rng.random_range(0..PORTS), &bytes(rng, 8900))],
        14 => vec![noise(rng)],
        _ => (0..rng.random_range(1..20)).map(|_| udp(&ends, 5, rng.random_range(0..PORTS), &bytes(rng, 30))).collect(),
    };
    // Late, lost and doubled packets.
    match rng.random_range(0..6) {
        0 => frames.shuffle(rng),
        1 => frames.truncate(rng.random_range(0..=frames.len())),
        2 => frames.extend(frames.choose(rng).cloned()),
        _ => {}
    }
    if rng.random_bool(0.1) {
        frames.iter_mut().for_each(|frame| damage(rng, frame));
    }
    let gap = *[0, 0, 3, 60].choose(rng).expect("there are some");
    let mut wire = |bytes| WireFrame { bytes, gap: rng.random_range(0..=gap), bad: rng.random_bool(0.01) };
    frames.into_iter().filter(|frame| !frame.is_empty()).map(&mut wire).collect()
}

fn bytes(rng: &mut ChaCha8Rng, longest: usize) -> Vec<u8> {
    // Short ones are frequent, so that headers end in every beat.
    let longest = if rng.random() { longest.min(100) } else { longest };
    let mut bytes = vec![0; rng.random_range(0..=longest)];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// A header that is right more often than not.
fn header(rng: &mut ChaCha8Rng) -> SpindleHeader {
    let seldom = |rng: &mut ChaCha8Rng| rng.random_bool(0.03);
    SpindleHeader {
        opcode: if seldom(rng) { rng.random() } else { opcode::PUT },
        flags: if rng.random_bool(0.6) { flag::UNSEQ } else { 0 }
            | if seldom(rng) { rng.random::<u16>() & 0x3F } else { 0 },
        psn: if seldom(rng) { rng.random() } else { rng.random_range(0..64) },
        src_nid: rng.random_range(0..4),
        src_pid: rng.random_range(0..PROCESSES),
        dst_pid: rng.random_range(0..PROCESSES),
        addr: if seldom(rng) { rng.random() } else { rng.random_range(0..ADDRESSES) },
        key: if seldom(rng) { rng.random() } else { KEY },
        msg_id: rng.random_range(0..400),
        buf_off: if seldom(rng) { rng.random() } else { rng.random_range(0..2000) },
        epoch: rng.random_range(0..4),
        ..SpindleHeader::default()
    }
}

/// A put of one or several packets.
fn message(rng: &mut ChaCha8Rng, ends: &Ends) -> Vec<Vec<u8>> {
    let mut data = bytes(rng, 9000);
    data.push(1);
    let segment = [64, 333, 1408][rng.random_range(0..3)];
    put_message(ends, SPINDLE_PORT, &header(rng), &data, segment)
}

/// Gets, answers, acknowledgements and control packets, with lengths that need not fit.
fn single(rng: &mut ChaCha8Rng, ends: &Ends) -> Vec<u8> {
    let codes = [opcode::GET, opcode::CTRL, opcode::ACK, opcode::NACK, opcode::GET_RESP];
    let payload = bytes(rng, 200);
    let length = if rng.random() { payload.len() as u32 } else { rng.random_range(0..70_000) };
    let header = SpindleHeader {
        opcode: *codes.choose(rng).expect("there are some"),
        msg_len: length,
        payload_len: if rng.random() { payload.len() as u16 } else { rng.random() },
        msg_off: rng.random_range(0..100),
        ..header(rng)
    };
    let header = match rng.random_range(0..3) {
        0 => SpindleHeader { msg_id: [control::NOP, control::OPEN][rng.random_range(0..2)], ..header },
        _ => header,
    };
    spindle(ends, 5, SPINDLE_PORT, &header, &payload)
}

/// Bytes of any length, also longer than a frame may be.
fn noise(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let longest = [13, 60, 1514, MAX_FRAME + 70][rng.random_range(0..4)];
    let mut bytes = vec![0; rng.random_range(1..=longest)];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// Changes a byte, mostly of the headers, or cuts the frame.
fn damage(rng: &mut ChaCha8Rng, frame: &mut Vec<u8>) {
    if frame.is_empty() {
        return;
    }
    if rng.random_bool(0.3) {
        frame.truncate(rng.random_range(1..=frame.len()));
    }
    let at = rng.random_range(0..frame.len().min(110));
    frame[at] ^= 1 << rng.random_range(0..8);
}
