//! The examples: the traffic of each, and its expected effect, written from PsPIN's documentation of the API and without its code.

use super::ran::{little_endian, pattern, Did, Ran, SCRATCHPADS, SCRATCHPAD_BYTES};
use super::slp;
use anyhow::{ensure, Result};
use spindle_contract::wire::{ETH_BYTES, IPV4_BYTES, UDP_BYTES};
use spindle_model::frames::{echo_request, udp, Ends};
use std::collections::BTreeMap;

/// Frames of an example, unless it needs another number.
const FRAMES: usize = 32;
/// A gap in which a handler comes to its end, for examples that all write to the same place.
const ONE_BY_ONE: u64 = 8000;
/// Bytes of the shortest frame on a wire, without its check sequence.
const SHORTEST: usize = 60;
/// EtherType for experiments: the frame is no IP packet.
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

/// An example of PsPIN.
pub struct Case {
    /// Its folder.
    pub name: &'static str,
    /// The functions that name its handlers, one for each context.
    pub contexts: &'static [&'static str],
    /// Macros.
    pub defines: &'static [&'static str],
    /// Context memory that it needs.
    pub least_l2_bytes: usize,
    /// What PsPIN's driver writes to the handler memory.
    pub handler_memory: fn() -> Vec<u8>,
    /// Address of the host region, if the example expects one.
    pub host_address: Option<u64>,
    /// Idle cycles before each frame.
    pub gap: u64,
    /// The frames.
    pub frames: fn() -> Vec<Vec<u8>>,
    /// Compares the outcome with the expected one.
    pub judge: fn(&mut Ran) -> Result<Did>,
}

const PLAIN: Case = Case {
    name: "",
    contexts: &["init_handlers"],
    defines: &[],
    least_l2_bytes: 0,
    handler_memory: Vec::new,
    host_address: None,
    gap: 200,
    frames: || packets(1),
    judge: |_| Ok(Did { bytes_to_host: 0, sentence: String::new() }),
};

/// All examples.
pub const CASES: &[Case] = &[
    Case { name: "empty", frames: packets_and_empty_ones, judge: nothing, ..PLAIN },
    Case { name: "ping_pong", frames: packets_and_empty_ones, judge: ping_pong, ..PLAIN },
    Case { name: "copy_to_host", gap: ONE_BY_ONE, frames: packets_and_empty_ones, judge: copy_to_host, ..PLAIN },
    Case { name: "copy_from_host", judge: copy_from_host, ..PLAIN },
    Case { name: "host_direct", host_address: Some(0xdead_0000), judge: host_direct, ..PLAIN },
    Case { name: "aggregate", judge: |ran| aggregate(ran, 0), ..PLAIN },
    Case { name: "reduce", judge: |ran| reduce(ran, 0), ..PLAIN },
    Case {
        name: "aggregate_and_reduce",
        contexts: &["init_handlers", "init_handlers2"],
        frames: || packets(2),
        judge: aggregate_and_reduce,
        ..PLAIN
    },
    Case { name: "histogram", frames: || filled(|random| random % HISTOGRAM), judge: histogram, ..PLAIN },
    Case {
        name: "filtering",
        defines: &["SPINDLE_PSPIN_SCRATCHPAD=0", "SPINDLE_PSPIN_LAST=0"],
        least_l2_bytes: 4 * TABLE,
        handler_memory: || table().flat_map(u32::to_le_bytes).collect(),
        gap: ONE_BY_ONE,
        frames: || (0..FRAMES as u32).map(|i| experiment(&[scramble(i), scramble(!i), i, 4, 5])).collect(),
        judge: filtering,
        ..PLAIN
    },
    Case { name: "ooorb", gap: ONE_BY_ONE, frames: ranges, judge: ooorb, ..PLAIN },
    Case {
        name: "synthetic",
        handler_memory: || SYNTHETIC.into_iter().flat_map(u32::to_le_bytes).collect(),
        gap: ONE_BY_ONE,
        frames: || packets(1).split_off(2),
        judge: synthetic,
        ..PLAIN
    },
    Case { name: "slp", gap: 4 * ONE_BY_ONE, frames: slp::frames, judge: slp::judge, ..PLAIN },
];

/// A number that looks random.
fn scramble(number: u32) -> u32 {
    let mixed = (number ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
    (mixed ^ mixed >> 15).wrapping_mul(0xc2b2_ae35) ^ mixed >> 13
}

/// UDP packets with payloads of some words, made by `word` of a random number; the port is their number modulo `ports`.
fn udp_packets(ports: usize, word: fn(u32) -> u32) -> Vec<Vec<u8>> {
    let packet = |i: usize| {
        let words = (0..4 + 7 * i as u32).map(|at| word(scramble(1000 * i as u32 + at)));
        udp(&Ends::default(), 4000, (i % ports) as u16, &words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
    };
    (0..FRAMES).map(packet).collect()
}

fn packets(ports: usize) -> Vec<Vec<u8>> {
    udp_packets(ports, |random| random)
}

/// Packets with and without payload, of UDP and ICMP.
fn packets_and_empty_ones() -> Vec<Vec<u8>> {
    let ends = Ends::default();
    let mut frames =
        vec![udp(&ends, 4000, 9, &[]), echo_request(&ends, 7, 1, &[]), echo_request(&ends, 7, 2, b"some bytes")];
    frames.iter_mut().for_each(|frame| frame.resize(SHORTEST.max(frame.len()), 0));
    let others = packets(1);
    others.into_iter().flat_map(|packet| [packet].into_iter().chain(frames.pop())).collect()
}

fn filled(word: fn(u32) -> u32) -> Vec<Vec<u8>> {
    udp_packets(1, word)
}

/// A frame that holds these words after its Ethernet header, and is long enough for the wire.
fn experiment(words: &[u32]) -> Vec<u8> {
    let ends = Ends::default();
    let mut frame = [&ends.dst_mac[..], &ends.src_mac, &EXPERIMENT].concat();
    frame.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    frame.resize(frame.len().max(64), 0);
    frame
}

/// The IP packet of a frame.
pub fn packet(frame: &[u8]) -> &[u8] {
    &frame[ETH_BYTES..]
}

/// The payload of a UDP frame.
pub fn payload(frame: &[u8]) -> &[u8] {
    &packet(frame)[IPV4_BYTES + UDP_BYTES..]
}

/// A UDP frame on its way back: addresses and ports exchanged.
pub fn turned(frame: &[u8]) -> Vec<u8> {
    let mut back = frame.to_vec();
    let udp = ETH_BYTES + IPV4_BYTES;
    for (a, b, bytes) in [(0, 6, 6), (ETH_BYTES + 12, ETH_BYTES + 16, 4), (udp, udp + 2, 2)] {
        (0..bytes).for_each(|i| back.swap(a + i, b + i));
    }
    back
}

fn nothing(ran: &mut Ran) -> Result<Did> {
    ran.answered(|_| vec![])?;
    Ok(Did { bytes_to_host: ran.host_has([])?, sentence: "did nothing".into() })
}

/// The handler sends as many bytes as the IP header says: padding stays here.
fn ping_pong(ran: &mut Ran) -> Result<Did> {
    ran.answered(|frame| {
        let mut answer = turned(frame);
        answer.truncate(ETH_BYTES + usize::from(u16::from_be_bytes([frame[ETH_BYTES + 2], frame[ETH_BYTES + 3]])));
        vec![answer]
    })?;
    Ok(Did { bytes_to_host: ran.host_has([])?, sentence: "each packet came back, ends exchanged".into() })
}

fn copy_to_host(ran: &mut Ran) -> Result<Did> {
    ran.answered(|_| vec![])?;
    let copies: Vec<_> = ran.frames.iter().map(|frame| (0, packet(frame).to_vec())).collect();
    Ok(Did { bytes_to_host: ran.host_has(copies)?, sentence: "each packet went to host memory".into() })
}

/// The Ethernet header of the answer to a frame.
fn header_back(frame: &[u8]) -> Vec<u8> {
    turned(frame)[..ETH_BYTES].to_vec()
}

fn copy_from_host(ran: &mut Ran) -> Result<Did> {
    ran.answered(|frame| vec![[header_back(frame), pattern(packet(frame).len())].concat()])?;
    Ok(Did { bytes_to_host: ran.host_has([])?, sentence: "each packet came back with bytes of the host".into() })
}

/// Parameters of `synthetic`: turns of a loop, bytes to the host and how often, bytes from the host and how often.
const SYNTHETIC: [u32; 5] = [10, 64, 3, 64, 4];

fn synthetic(ran: &mut Ran) -> Result<Did> {
    // The head of the packet goes to the host before the ends change places, and comes back from there.
    let [_, bytes, _, _, answers] = SYNTHETIC.map(|number| number as usize);
    ran.answered(|frame| vec![[header_back(frame), packet(frame).to_vec()].concat(); answers])?;
    let heads: Vec<_> = ran.frames.iter().map(|frame| (0, packet(frame)[..bytes].to_vec())).collect();
    Ok(Did { bytes_to_host: ran.host_has(heads)?, sentence: "each packet to the host, from it, and back".into() })
}

fn host_direct(ran: &mut Ran) -> Result<Did> {
    let value = 0xcafe_bebe_u64.to_le_bytes().to_vec();
    Ok(Did { bytes_to_host: ran.host_has([(0xbeef, value)])?, sentence: "0xcafebebe at 0xdeadbeef".into() })
}

/// The example adds up in its own `task_t`, so what reaches the host is what a completion handler finds there: the scratchpads' addresses.
fn addresses(ran: &Ran, context: usize) -> Result<u64> {
    let address = |cluster| ran.scratchpad_address(context, cluster);
    (0..SCRATCHPADS).map(address).try_fold(0u32, |sum, next| Ok(sum.wrapping_add(next?))).map(u64::from)
}

fn aggregate(ran: &mut Ran, context: usize) -> Result<Did> {
    let sum = addresses(ran, context)?;
    Ok(Did {
        bytes_to_host: ran.host_has([(0, sum.to_le_bytes().to_vec())])?,
        sentence: "the sum of its words of task_t in host memory".into(),
    })
}

/// Words by cluster: a message's home is its number modulo the clusters, and here each packet is a message.
type Sums = BTreeMap<(u32, usize), u32>;

fn compare_scratchpads(ran: &mut Ran, context: usize, sums: &Sums) -> Result<()> {
    for cluster in 0..SCRATCHPADS {
        let words = ran.scratchpad(context, cluster, SCRATCHPAD_BYTES as usize / 4)?;
        for (at, word) in words.iter().enumerate() {
            let wanted = sums.get(&(cluster, at)).copied().unwrap_or(0);
            ensure!(*word == wanted, "word {at} of scratchpad {cluster} is {word:#x} instead of {wanted:#x}");
        }
    }
    Ok(())
}

/// Sums over the payloads of the packets to a port.
fn reduced(ran: &Ran, port: Option<u8>) -> Sums {
    let mut sums = Sums::new();
    let wanted = |frame: &&[u8]| port.is_none_or(|port| frame[ETH_BYTES + IPV4_BYTES + 3] == port);
    for (number, frame) in ran.numbered().filter(|(_, frame)| wanted(frame)) {
        for (at, word) in little_endian(payload(frame)).into_iter().enumerate() {
            let sum = sums.entry((number % SCRATCHPADS, at)).or_default();
            *sum = sum.wrapping_add(word);
        }
    }
    sums
}

fn reduce(ran: &mut Ran, context: usize) -> Result<Did> {
    let sums = reduced(ran, None);
    compare_scratchpads(ran, context, &sums)?;
    let done = 1u64.to_le_bytes().to_vec();
    Ok(Did { bytes_to_host: ran.host_has([(0, done)])?, sentence: "every word's sum in the scratchpads".into() })
}

fn aggregate_and_reduce(ran: &mut Ran) -> Result<Did> {
    let sums = reduced(ran, Some(1));
    compare_scratchpads(ran, 1, &sums)?;
    compare_scratchpads(ran, 0, &Sums::new())?;
    // Both contexts write to the same place; the last packet was for the second one.
    ensure!(addresses(ran, 0)? != 1, "the two contexts write the same");
    let done = 1u64.to_le_bytes().to_vec();
    Ok(Did { bytes_to_host: ran.host_has([(0, done)])?, sentence: "both at once, in two contexts".into() })
}

/// Classes of the histogram.
const HISTOGRAM: u32 = 1024;

fn histogram(ran: &mut Ran) -> Result<Did> {
    let mut counts = Sums::new();
    for (number, frame) in ran.numbered() {
        let words = little_endian(payload(frame));
        // The example counts a word when it reads the next.
        for word in &words[..words.len() - 1] {
            *counts.entry((number % SCRATCHPADS, *word as usize)).or_default() += 1;
        }
    }
    compare_scratchpads(ran, 0, &counts)?;
    let done = 1u64.to_le_bytes().to_vec();
    Ok(Did { bytes_to_host: ran.host_has([(0, done)])?, sentence: "every word counted in the scratchpads".into() })
}

/// Words of the table that `filtering` looks its keys up in.
const TABLE: usize = 1 << 18;
/// Bytes of a key.
const KEY: usize = 8;

fn table() -> impl Iterator<Item = u32> {
    (0..TABLE as u32).map(scramble)
}

/// Jenkins' hash of a key of fewer than 12 bytes, with the example's seeds.
fn jenkins(key: &[u8]) -> u32 {
    let word = |at: usize| (0..4).map(|i| u32::from(key.get(at + i).copied().unwrap_or(0)) << (8 * i)).sum::<u32>();
    let (mut a, mut b) = (0x9e37_79b9u32.wrapping_add(word(0)), 0x9e37_79b9u32.wrapping_add(word(4)));
    let mut c = 0xfeed_beefu32.wrapping_add(key.len() as u32);
    for [right, left, last] in [[13, 8, 13], [12, 16, 5], [3, 10, 15]] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ c >> right;
        b = b.wrapping_sub(c).wrapping_sub(a) ^ a << left;
        c = c.wrapping_sub(a).wrapping_sub(b) ^ b >> last;
    }
    c
}

fn filtering(ran: &mut Ran) -> Result<Did> {
    let table: Vec<u32> = table().collect();
    let copies = ran.frames.iter().map(|frame| {
        let mut copy = packet(frame).to_vec();
        let found = table[jenkins(&copy[..KEY]) as usize % TABLE];
        copy[..4].copy_from_slice(&found.to_le_bytes());
        (0, copy)
    });
    let copies: Vec<_> = copies.collect();
    Ok(Did { bytes_to_host: ran.host_has(copies)?, sentence: "each key looked up, its value in host memory".into() })
}

/// Ranges of a stream, 10 bytes each.
fn ranges() -> Vec<Vec<u8>> {
    (0..FRAMES as u32).map(|i| experiment(&[0, 10 * i, 10 * i + 9])).collect()
}

/// A completion handler takes the range at the front and prints what is left: the start of the list, and the range of a message that
/// does not begin at 0.
fn ooorb(ran: &mut Ran) -> Result<Did> {
    let start = format!("node: [{0}, {0}]", 1u32 << 31);
    let wanted: Vec<String> = (0..FRAMES as u32)
        .flat_map(|i| [start.clone()].into_iter().chain((i > 0).then(|| format!("node: [{}, {}]", 10 * i, 10 * i + 9))))
        .collect();
    let printed: Vec<&str> = ran.played.printed.iter().map(|line| line.text.as_str()).collect();
    ensure!(printed == wanted, "printed {printed:?}");
    Ok(Did { bytes_to_host: ran.host_has([])?, sentence: "each message's ranges, printed at its end".into() })
}
