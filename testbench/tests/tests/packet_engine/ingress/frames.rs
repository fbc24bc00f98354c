//! Random frames of every kind that the parser distinguishes, good and malformed, and a driver for them.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::bundles::RxSinkPorts;
use spindle_contract::params::MAX_FRAME;
use spindle_contract::wire::*;
use spindle_model::icrc;
use spindle_model::packet_engine::parser::ones_complement_sum;

pub const PORT: u16 = 4795;

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Sets the header checksum of an IPv4 packet with 20 bytes of header.
fn seal_ip(ip: &mut [u8]) {
    put16(ip, 10, 0);
    let sum = !ones_complement_sum(&ip[..20]);
    put16(ip, 10, sum);
}

/// An IPv4 packet around `body`, header checksum right.
fn internet(rng: &mut ChaCha8Rng, protocol: u8, body: &[u8]) -> Vec<u8> {
    let mut ip = vec![0; 20];
    ip[0] = 0x45;
    ip[1] = rng.random();
    put16(&mut ip, 2, (20 + body.len()) as u16);
    put16(&mut ip, 4, rng.random());
    put16(&mut ip, 6, if rng.random() { 0x4000 } else { 0 });
    ip[8] = 64;
    ip[9] = protocol;
    rng.fill(&mut ip[12..20]);
    ip.extend_from_slice(body);
    seal_ip(&mut ip);
    ip
}

/// Sets the UDP checksum of an IPv4 packet.
fn seal_udp(ip: &mut [u8]) {
    put16(ip, 26, 0);
    let mut covered = ip[12..20].to_vec();
    covered.extend_from_slice(&[0, IP_UDP, ip[24], ip[25]]);
    covered.extend_from_slice(&ip[20..]);
    let sum = !ones_complement_sum(&covered);
    put16(ip, 26, if sum == 0 { 0xFFFF } else { sum });
}

fn datagram(rng: &mut ChaCha8Rng, dport: u16, payload: &[u8]) -> Vec<u8> {
    let mut udp = vec![0; 8];
    put16(&mut udp, 0, rng.random());
    put16(&mut udp, 2, dport);
    put16(&mut udp, 4, (8 + payload.len()) as u16);
    udp.extend_from_slice(payload);
    let mut ip = internet(rng, IP_UDP, &udp);
    if rng.random_bool(0.7) {
        seal_udp(&mut ip);
    }
    ip
}

/// A payload length: short ones, lengths around the beats, and now and then a long one.
fn length(rng: &mut ChaCha8Rng, limit: usize) -> usize {
    let n = match rng.random_range(0..10) {
        0..=3 => rng.random_range(0..40),
        4..=6 => rng.random_range(0..300),
        7 => 64 * rng.random_range(0..4) + rng.random_range(0..64),
        8 => rng.random_range(0..1500),
        _ => rng.random_range(0..MAX_FRAME),
    };
    n.min(limit)
}

fn bytes(rng: &mut ChaCha8Rng, n: usize) -> Vec<u8> {
    let mut all = vec![0; n];
    rng.fill(&mut all[..]);
    all
}

fn transport(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let op = rng.random_range(1..=spindle_contract::wire::LAST_OPCODE);
    let mut header = bytes(rng, if op == opcode::GET { SPINDLE_GET_BYTES } else { SPINDLE_BYTES });
    let payload = if op == opcode::GET { 0 } else { length(rng, 9000) };
    header[spindle::VERSION] = SPINDLE_VERSION << 4 | (header.len() / 8) as u8;
    header[spindle::OPCODE] = op;
    put16(&mut header, spindle::PAYLOAD_LEN, payload as u16);
    header.extend_from_slice(&bytes(rng, payload));
    icrc::seal(&mut header);
    if rng.random_bool(0.1) {
        let at = rng.random_range(0..header.len());
        header[at] ^= 1 << rng.random_range(0..8);
    }
    let at = header.len();
    match rng.random_range(0..24) {
        0 => header[spindle::VERSION] = rng.random(),
        1 => header[spindle::OPCODE] = rng.random_range(0..10),
        2 => put16(&mut header, spindle::PAYLOAD_LEN, rng.random()),
        3 => header.truncate(rng.random_range(0..at)),
        _ => {}
    }
    header
}

fn echo(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let payload = length(rng, 9000);
    let mut icmp = bytes(rng, 8 + payload);
    put16(&mut icmp, 2, 0);
    let sum = !ones_complement_sum(&icmp);
    put16(&mut icmp, 2, sum);
    if rng.random_bool(0.15) {
        // Every word is minus zero, which is right for an even length.
        icmp.fill(0xFF);
    }
    internet(rng, IP_ICMP, &icmp)
}

/// Makes an IPv4 packet wrong, or odd, in one way.
fn damage(rng: &mut ChaCha8Rng, ip: &mut Vec<u8>) {
    let end = ip.len();
    match rng.random_range(0..14) {
        0 => put16(ip, 2, rng.random()),
        1 => put16(ip, 2, (end as u16).wrapping_add(rng.random_range(0..3)).wrapping_sub(1)),
        2 => put16(ip, 2, rng.random_range(0..40)),
        3 => ip[10] ^= 1 << rng.random_range(0..8),
        4 => ip[0] = rng.random(),
        5 => ip[0] = 0x46 + rng.random_range(0..10),
        6 => put16(ip, 6, rng.random()),
        7 if end > 25 => put16(ip, 24, rng.random_range(0..60)),
        8 if end > 25 => ip[25] ^= 1,
        9 if end > 28 => ip[26] ^= 1 << rng.random_range(0..8),
        10 if end > 28 => ip[rng.random_range(20..end)] ^= 1 << rng.random_range(0..8),
        11 if end > 28 => ip[end - 1] ^= 0x10,
        12 => ip.truncate(rng.random_range(0..end)),
        _ => {
            let at = rng.random_range(0..end);
            ip[at] = rng.random();
        }
    }
    if ip.len() >= 20 && rng.random_bool(0.8) {
        let wrong = ip[10];
        seal_ip(ip);
        if rng.random_bool(0.1) {
            ip[10] = wrong;
        }
    }
}

/// A frame of any kind.
pub fn any(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut frame = bytes(rng, 12);
    if rng.random_bool(0.3) {
        frame.extend_from_slice(&ETHERTYPE_VLAN.to_be_bytes());
        frame.extend_from_slice(&bytes(rng, 2));
    }
    let kind = rng.random_range(0..16);
    let mut body = match kind {
        0..=5 => {
            let inner = transport(rng);
            datagram(rng, PORT, &inner)
        }
        6..=8 => {
            let n = length(rng, 9000);
            let (inner, port) = (bytes(rng, n), rng.random());
            datagram(rng, port, &inner)
        }
        9..=11 => echo(rng),
        12 => {
            let n = length(rng, 9000);
            let (inner, protocol) = (bytes(rng, n), rng.random());
            internet(rng, protocol, &inner)
        }
        _ => {
            let n = length(rng, 9150);
            bytes(rng, n)
        }
    };
    if kind <= 12 {
        frame.extend_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        if rng.random_bool(0.3) {
            damage(rng, &mut body);
        }
    } else {
        let other: u16 = [0x0806, 0x86DD, 0x88A8, ETHERTYPE_VLAN, rng.random()][rng.random_range(0..5)];
        frame.extend_from_slice(&other.to_be_bytes());
    }
    frame.extend_from_slice(&body);
    if rng.random_bool(0.3) {
        // Padding, as a MAC delivers it.
        let n = 60usize.saturating_sub(frame.len()) + if rng.random_bool(0.1) { rng.random_range(0..100) } else { 0 };
        frame.extend_from_slice(&bytes(rng, n));
    }
    match rng.random_range(0..60) {
        0 => frame.truncate(rng.random_range(1..64)),
        1 => {
            let n = MAX_FRAME - 3 + rng.random_range(0..8);
            let fill = bytes(rng, n);
            frame.extend_from_slice(&fill);
            frame.truncate(n);
        }
        _ => {}
    }
    frame
}

/// Puts beat `index` of a frame on `rx_*`; true with the last one.
pub fn drive_beat(rx: &RxSinkPorts, frame: &[u8], index: usize, bad: bool, junk: u8) -> bool {
    let part = &frame[64 * index..frame.len().min(64 * index + 64)];
    let last = 64 * index + 64 >= frame.len();
    // Bytes beyond the end are not zero on a real wire.
    let mut data = [junk; 64];
    data[..part.len()].copy_from_slice(part);
    rx.data.set_bytes(&data);
    rx.keep.set(if part.len() == 64 { u64::MAX } else { (1 << part.len()) - 1 });
    rx.last.set(last);
    rx.user.set(bad && last);
    rx.valid.set(true);
    last
}
