//! The examples of FPsPIN: the traffic that each gets, the program of the host, and the right answers, written from the documents of the
//! protocols and without FPsPIN's code.

use super::cases::turned;
use super::fpspin::HostSide;
use super::ran::{Did, Ran};
use anyhow::{ensure, Result};
use spindle::HostMemory;
use spindle_cli::fpspin_host::{Request, DATA, PAGE};
use spindle_cli::session::Session;
use spindle_contract::wire::{ETH_BYTES, IPV4_BYTES, UDP_BYTES};
use spindle_model::frames::{echo_request, udp, Ends};

/// Bytes of the shortest frame on a wire, without its check sequence.
const SHORTEST: usize = 60;
/// Numbers of HPUs: each has a page of the host region.
const HPUS: u64 = 16;
/// UDP port of SLMP.
const SLMP_PORT: u16 = 9330;
/// Flags of SLMP: last packet, acknowledgement wanted, acknowledgement.
const EOM: u16 = 0x8000;
const SYN: u16 = 0x4000;
const ACK: u16 = 0x2000;
/// Header of SLMP: flags, message, offset.
const SLMP_BYTES: usize = 10;
/// Most bytes of a message in a packet.
const SEGMENT: usize = 1462;
/// First byte after the UDP header.
const AFTER_UDP: usize = ETH_BYTES + IPV4_BYTES + UDP_BYTES;

/// How the host program answers a request: the length of its answer. The second argument is the host region.
type Answer = fn(&mut Session, u64, &Request, &mut HostSide) -> Result<u32>;

/// An example of FPsPIN.
pub struct Case {
    /// Name in the table.
    pub name: &'static str,
    /// Its folder.
    pub example: &'static str,
    /// Macros.
    pub defines: &'static [&'static str],
    /// Its packets.
    pub rule: &'static str,
    /// The field that names a message, and the test that ends it.
    pub message: Option<(&'static str, &'static str)>,
    /// Idle cycles before a frame.
    pub gap: fn(&[u8]) -> u64,
    /// The frames.
    pub frames: fn() -> Vec<Vec<u8>>,
    /// The program of the host.
    pub answer: Answer,
    /// Compares the outcome of the example with the expected one.
    pub judge: fn(&Ran, &HostSide) -> Result<Did>,
}

/// All examples.
pub const CASES: &[Case] = &[
    Case { name: "icmp_ping", ..ICMP },
    Case { name: "icmp_ping, host", defines: &["DO_HOST=1"], judge: |ran, host| through_host(ran, host, icmp), ..ICMP },
    Case { name: "udp_ping", ..UDP },
    Case {
        name: "udp_ping, host",
        defines: &["DO_HOST=1"],
        judge: |ran, host| through_host(ran, host, |ran, host| udp_counted(ran, host, udp_of_host)),
        ..UDP
    },
    Case {
        name: "slmp",
        example: "slmp",
        defines: &[],
        rule: "udp.dport == 9330",
        message: Some(("udp[10:4]", "udp[8:2] >= 0x8000")),
        // A sender waits for the acknowledgement of its last packet; the packets of a message follow each other closely.
        gap: |frame| if number(&frame[AFTER_UDP + 6..][..4]) == 0 { 12_000 } else { 40 },
        frames: slmp_frames,
        answer: receive,
        judge: slmp,
    },
];

const ICMP: Case = Case {
    name: "",
    example: "icmp_ping",
    defines: &["DO_HOST=0"],
    rule: "icmp.type == 8",
    message: None,
    gap: |_| 200,
    frames: || pings(|i, payload| echo_request(&Ends::default(), 3, i, payload)),
    answer: |session, _, request, _| edit(session, request, icmp_answer),
    judge: icmp,
};

const UDP: Case = Case {
    name: "",
    example: "udp_ping",
    rule: "udp",
    frames: || pings(|i, payload| udp(&Ends::default(), 4000 + i, 9, payload)),
    answer: |session, _, request, _| edit(session, request, udp_answer),
    judge: |ran, host| udp_counted(ran, host, turned),
    ..ICMP
};

/// Frames of many lengths, odd ones and an empty one among them, as long as a wire wants them.
fn pings(frame: fn(u16, &[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    let payload = |i: u16| (0..i * i).map(|at| (at * 7 + i) as u8).collect::<Vec<u8>>();
    let mut frames: Vec<_> = (0..38).map(|i| frame(i, &payload(i))).collect();
    frames.iter_mut().for_each(|frame| frame.resize(SHORTEST.max(frame.len()), 0));
    frames
}

/// A big-endian number.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Bytes of the frame that its IP header names: without padding.
fn ip_end(frame: &[u8]) -> usize {
    ETH_BYTES + number(&frame[ETH_BYTES + 2..][..2])
}

/// The Internet checksum, of which the sum zero is 0xffff before it is inverted.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let sum = bytes.chunks(2).map(word).fold(0xffff, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    (!sum as u16).to_be_bytes()
}

/// Computes a checksum of `bytes` of the frame, at this place in them.
fn fill_checksum(frame: &mut [u8], bytes: std::ops::Range<usize>, at: usize) {
    frame[bytes.start + at..][..2].fill(0);
    let sum = checksum(&frame[bytes.clone()]);
    frame[bytes.start + at..][..2].copy_from_slice(&sum);
}

/// The echo reply in place of a request: type and checksum.
fn icmp_answer(frame: &mut Vec<u8>) {
    frame.truncate(ip_end(frame));
    let message = ETH_BYTES + IPV4_BYTES..frame.len();
    frame[message.start] = 0;
    fill_checksum(frame, message, 2);
}

/// The answer of a UDP server: without UDP checksum, and with a new one of its IP header.
fn udp_answer(frame: &mut Vec<u8>) {
    frame.truncate(ip_end(frame));
    frame[AFTER_UDP - 2..][..2].fill(0);
    fill_checksum(frame, ETH_BYTES..ETH_BYTES + IPV4_BYTES, 10);
}

/// The host's part of a ping: edits the frame in the page.
fn edit(session: &mut Session, request: &Request, answer: fn(&mut Vec<u8>)) -> Result<u32> {
    let mut frame = vec![0; request.length as usize];
    session.device.memory.read(request.data, &mut frame)?;
    answer(&mut frame);
    session.device.memory.write(request.data, &frame)?;
    Ok(frame.len() as u32)
}

fn icmp(ran: &Ran, _: &HostSide) -> Result<Did> {
    ran.answered(|frame| {
        // Ports stay: they are type, code and checksum.
        let mut answer = [&turned(frame)[..ETH_BYTES + IPV4_BYTES], &frame[ETH_BYTES + IPV4_BYTES..]].concat();
        icmp_answer(&mut answer);
        vec![answer]
    })?;
    Ok(Did { bytes_to_host: 0, sentence: "an echo reply to each request".into() })
}

fn udp_of_host(frame: &[u8]) -> Vec<u8> {
    let mut answer = turned(frame);
    udp_answer(&mut answer);
    answer
}

/// Answers, and the counters: 0 of the handler, 2 of the counter itself.
fn udp_counted(ran: &Ran, host: &HostSide, answer: fn(&[u8]) -> Vec<u8>) -> Result<Did> {
    ran.answered(|frame| vec![answer(frame)])?;
    for counter in [0, 2] {
        let (sum, count) = host.counters.get(counter).copied().unwrap_or_default();
        ensure!(count as usize == ran.frames.len(), "counter {counter} counts {count} of {} packets", ran.frames.len());
        ensure!(sum > count, "counter {counter} has {sum} cycles for {count} packets");
    }
    Ok(Did { bytes_to_host: 0, sentence: "each packet came back, ends exchanged; counters count".into() })
}

/// The same, and each packet went to the host and back.
fn through_host(ran: &Ran, host: &HostSide, judge: fn(&Ran, &HostSide) -> Result<Did>) -> Result<Did> {
    let did = judge(ran, host)?;
    let mut wanted: Vec<u32> = ran.frames.iter().map(|frame| frame.len() as u32).collect();
    let mut found = host.requests.clone();
    wanted.sort_unstable();
    found.sort_unstable();
    ensure!(found == wanted, "the host got requests of {found:?} bytes instead of {wanted:?}");
    let bytes_to_host = wanted.iter().sum::<u32>() as usize;
    Ok(Did { bytes_to_host, sentence: format!("{}, by way of the host", did.sentence) })
}

/// Messages that are sent: number, whether each packet wants an acknowledgement, bytes.
fn slmp_messages() -> Vec<(u32, bool, Vec<u8>)> {
    let sizes = [1, 700, SEGMENT, SEGMENT + 1, 4 * SEGMENT, 20_001];
    let bytes = |i: usize, size: usize| (0..size).map(|at| (at * 13 + at / 251 + i * 31) as u8).collect();
    let message = |(i, size): (usize, &usize)| (0x543c_fc6c ^ (i as u32 * 0x0101_0007), i % 2 == 1, bytes(i, *size));
    sizes.iter().enumerate().map(message).collect()
}

fn slmp_frames() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for (id, all, bytes) in slmp_messages() {
        let last = (bytes.len() - 1) / SEGMENT;
        for (i, part) in bytes.chunks(SEGMENT).enumerate() {
            let flags = if i == last { EOM } else { 0 } | if all || i == 0 || i == last { SYN } else { 0 };
            let header = [&flags.to_be_bytes()[..], &id.to_be_bytes(), &((i * SEGMENT) as u32).to_be_bytes()].concat();
            frames.push(udp(&Ends::default(), 47_973, SLMP_PORT, &[&header, part].concat()));
        }
    }
    frames
}

/// The receiver of messages: takes the bytes that lie after the HPUs' pages.
fn receive(session: &mut Session, region: u64, request: &Request, side: &mut HostSide) -> Result<u32> {
    let page = (request.data - DATA - region) / PAGE;
    ensure!(page < HPUS, "a request came by page {page}");
    let mut message = vec![0; request.length as usize];
    session.device.memory.read(region + HPUS * PAGE, &mut message)?;
    side.received.push(message);
    Ok(0)
}

/// The acknowledgement of a packet.
fn acknowledgement(frame: &[u8]) -> Vec<u8> {
    let mut answer = turned(frame)[..AFTER_UDP + SLMP_BYTES].to_vec();
    let length = UDP_BYTES + SLMP_BYTES;
    answer[ETH_BYTES + 2..][..2].copy_from_slice(&((IPV4_BYTES + length) as u16).to_be_bytes());
    answer[ETH_BYTES + IPV4_BYTES + 4..][..4].copy_from_slice(&[0, length as u8, 0, 0]);
    answer[AFTER_UDP..][..2].copy_from_slice(&ACK.to_be_bytes());
    fill_checksum(&mut answer, ETH_BYTES..ETH_BYTES + IPV4_BYTES, 10);
    answer
}

fn slmp(ran: &Ran, host: &HostSide) -> Result<Did> {
    ran.answered(|frame| match number(&frame[AFTER_UDP..][..2]) as u16 & SYN {
        0 => vec![],
        _ => vec![acknowledgement(frame)],
    })?;
    let printed: Vec<&str> = ran.played.printed.iter().map(|line| line.text.as_str()).collect();
    ensure!(printed.is_empty(), "printed {printed:?}");
    let messages: Vec<Vec<u8>> = slmp_messages().into_iter().map(|(_, _, bytes)| bytes).collect();
    ensure!(
        host.received.len() == messages.len(),
        "the host got {} of {} messages",
        host.received.len(),
        messages.len()
    );
    for (i, (message, wanted)) in host.received.iter().zip(&messages).enumerate() {
        spindle_cli::check::compare_bytes(&format!("message {i}"), wanted, message)?;
    }
    let bytes_to_host = messages.iter().map(Vec::len).sum();
    Ok(Did { bytes_to_host, sentence: "each message at the host, its packets acknowledged".into() })
}
