//! The initiator against frames that `etherparse` builds: puts from handler memory, from host memory and of context memory,
//! gets, frames of host memory and the array's own frames, at once.

use packet_engine::transmit::initiator::Initiator;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::checksum::ChecksumField;
use spindle_blocks::desc::{CommandIssuer, CsrRequest, HostRead, PutDesc};
use spindle_contract::descriptors::{client, put_op};
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::registers::node;
use spindle_contract::wire::{self, flag, opcode};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_model::frames::{spindle, udp_without_checksum, Ends, SpindleHeader};
use spindle_verilog::prelude::bits;
use std::collections::VecDeque;

const LOCAL_NID: u32 = 77;
const LOCAL_MAC: [u8; 6] = [2, 0x10, 0x20, 0x30, 0x40, 0x50];
const LOCAL_IP: [u8; 4] = [10, 9, 255, 254];
/// Nodes that exist; node n has addresses made of n.
const NODES: u64 = 6;
/// Host addresses with this bit cannot be read. It is the one into which an address just below 256 x 4 GiB carries.
const BROKEN: u64 = 1 << 40;
/// Jobs begin so many bytes below a multiple of 4 GiB.
const BELOW: u64 = 5000;

/// The node with this number has an address with which the sum over the IPv4 header of a full segment carries a second time
/// when it is folded.
const CARRIES: u64 = 2;

fn ends(node: u64) -> Ends {
    let ip = |low: u16| [192, 168, (low >> 8) as u8, low as u8];
    let to = |low: u16| Ends {
        src_mac: LOCAL_MAC,
        dst_mac: [2, 0, 0, 0, 1, node as u8],
        src_ip: LOCAL_IP,
        dst_ip: ip(low),
        vlan: None,
    };
    if node == CARRIES {
        let segment = spindle(&to(0), 0, 0, &SpindleHeader::default(), &[0; SEGMENT_BYTES]);
        let words = segment[14..34].chunks(2).enumerate().filter(|(i, _)| *i != 5);
        let sum: u32 = words.map(|(_, word)| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
        assert!(sum > 0xFFFF);
        return to(0xFFFF - sum as u16);
    }
    to(0xC8FF + 0xFF * node as u16)
}

fn port(node: u64) -> u16 {
    4795 + node as u16
}

/// What lies in host memory, and in context memory from address 0 on: different on both sides of a multiple of 4 GiB.
fn host_byte(address: u64) -> u8 {
    (address ^ address >> 7 ^ address >> 19 ^ address >> 32) as u8
}

/// A put or a get, and what is known of it.
#[derive(Clone)]
struct Job {
    desc: PutDesc,
    payload: Vec<u8>,
    /// The payload is read from context memory.
    of_context: bool,
}

/// The frames that a job becomes; none if its node does not exist, no segment that touches broken memory.
fn frames(job: &Job, msg_id: u32) -> Vec<(Vec<u8>, u64)> {
    let desc = &job.desc;
    let node = desc.node.to_u64();
    if node >= NODES {
        return vec![];
    }
    let header = SpindleHeader {
        opcode: if desc.op.to_u64() == u64::from(put_op::GET) { opcode::GET } else { opcode::PUT },
        flags: desc.flags.to_u64() as u16 | flag::UNSEQ,
        psn: 0,
        src_nid: LOCAL_NID,
        src_pid: desc.src_pid.to_u64() as u16,
        dst_pid: desc.dst_pid.to_u64() as u16,
        addr: desc.addr.to_u64(),
        key: desc.key.to_u64() as u32,
        msg_id,
        msg_len: desc.length.to_u64() as u32,
        msg_off: 0,
        buf_off: desc.buf_off.to_u64() as u32,
        payload_len: 0,
        // A put that names an epoch has it where a get has the key of its reply.
        epoch: if desc.flags.to_u64() as u16 & flag::EPOCH_VALID != 0 { desc.reply_key.to_u64() as u16 } else { 0 },
    };
    let source_port = 0xC000 | (msg_id & 0x3FFF) as u16;
    if header.opcode == opcode::GET {
        let mut datagram = header.to_bytes().to_vec();
        datagram[wire::spindle::VERSION] = wire::SPINDLE_VERSION << 4 | (wire::SPINDLE_GET_BYTES / 8) as u8;
        datagram.extend(desc.reply_addr.to_u64().to_be_bytes());
        datagram.extend((desc.reply_off.to_u64() as u32).to_be_bytes());
        datagram.extend((desc.reply_key.to_u64() as u32).to_be_bytes());
        return vec![(udp_without_checksum(&ends(node), source_port, port(node), &datagram), desc.frame.to_u64())];
    }
    job.payload
        .chunks(SEGMENT_BYTES)
        .enumerate()
        .filter(|(i, _)| !desc.from_host || !segment_fails(desc, *i))
        .map(|(i, chunk)| {
            let header =
                SpindleHeader { msg_off: (i * SEGMENT_BYTES) as u32, payload_len: chunk.len() as u16, ..header };
            (spindle(&ends(node), source_port, port(node), &header, chunk), desc.frame.to_u64())
        })
        .collect()
}

/// Segment `number` of a host put cannot be read.
fn segment_fails(desc: &PutDesc, number: usize) -> bool {
    (desc.host_address.to_u64() + (number * SEGMENT_BYTES) as u64) & BROKEN != 0
}

/// Of each segment of a host put, whether it cannot be read; of no other job.
fn failures(job: &Job) -> Vec<bool> {
    let segments = if job.desc.from_host { job.payload.len().div_ceil(SEGMENT_BYTES) } else { 0 };
    (0..segments).map(|i| segment_fails(&job.desc, i)).collect()
}

fn fails(job: &Job) -> bool {
    job.desc.node.to_u64() >= NODES || failures(job).contains(&true)
}

/// What comes on the array's egress stream.
enum Item {
    Frame(Vec<u8>, u64),
    Payload(Vec<u8>),
    Segment(Vec<u8>),
}

/// A transfer of host memory on its way.
struct Transfer {
    bytes: Vec<u8>,
    error: bool,
    at: u64,
    sent: usize,
    /// A checksum that comes with it: byte, value.
    field: Option<(usize, u16)>,
}

/// The checksum that host memory makes of a frame at this address.
fn field(address: u64, length: usize) -> Option<(usize, u16)> {
    let at = 2 * (address as usize >> 3 & 0xFF);
    (address & 4 != 0 && at + 2 <= length).then_some((at, (address >> 9) as u16 ^ 0x5A3C))
}

struct Bench {
    dut: Dut<Initiator>,
    cycle: u64,
    stream: VecDeque<Item>,
    position: usize,
    puts: VecDeque<Job>,
    host_puts: VecDeque<Job>,
    /// Frames of host memory: address, bytes.
    raws: VecDeque<(u64, usize)>,
    expected_raw: VecDeque<Vec<u8>>,
    transfers: VecDeque<Transfer>,
    /// The segment of context memory that the array gathers, and when it has it.
    segment: Option<(u64, Vec<u8>)>,
    segments: usize,
    /// Puts whose first segments cannot be read and the last one can, and the reverse.
    partly: [usize; 2],
    expected_array: VecDeque<(Vec<u8>, u64)>,
    expected_host: VecDeque<(Vec<u8>, u64)>,
    /// {cluster, hpu, handle} → failed, of context memory; in no particular order.
    expected_done: Vec<(u64, bool, bool)>,
    numbers: [u32; 2],
    now: Vec<u8>,
    /// Cycles in which a first beat, a last beat was taken.
    firsts: Vec<u64>,
    lasts: Vec<u64>,
    puts_taken: Vec<u64>,
    host_taken: Vec<u64>,
    read_delay: std::ops::Range<u64>,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let mut bench = Bench {
            dut: Dut::new(wave, Initiator::default(), "initiator"),
            cycle: 0,
            stream: VecDeque::new(),
            position: 0,
            puts: VecDeque::new(),
            host_puts: VecDeque::new(),
            raws: VecDeque::new(),
            expected_raw: VecDeque::new(),
            transfers: VecDeque::new(),
            segment: None,
            segments: 0,
            partly: [0; 2],
            expected_array: VecDeque::new(),
            expected_host: VecDeque::new(),
            expected_done: vec![],
            numbers: [0, 1 << 31],
            now: vec![],
            firsts: vec![],
            lasts: vec![],
            puts_taken: vec![],
            host_taken: vec![],
            read_delay: 1..2,
        };
        bench.write(node::LOCAL_NID, LOCAL_NID);
        let mac = |bytes: [u8; 6]| {
            (
                u32::from_be_bytes(bytes[2..].try_into().expect("four bytes")),
                u32::from(u16::from_be_bytes([bytes[0], bytes[1]])),
            )
        };
        let (low, high) = mac(LOCAL_MAC);
        bench.write(node::LOCAL_MAC_LO, low);
        bench.write(node::LOCAL_MAC_HI, high);
        bench.write(node::LOCAL_IP, u32::from_be_bytes(LOCAL_IP));
        for n in 0..NODES {
            let (low, high) = mac(ends(n).dst_mac);
            bench.write(node::NODE_MAC_LO, low);
            bench.write(node::NODE_MAC_HI, high);
            bench.write(node::NODE_IP, u32::from_be_bytes(ends(n).dst_ip));
            bench.write(node::NODE_PORT, 1 << 31 | u32::from(port(n)));
            bench.write(node::NODE_COMMIT, n as u32);
        }
        bench
    }

    /// A register access: error, value.
    fn access(&mut self, offset: u32, write: Option<u32>) -> (bool, u32) {
        let request = CsrRequest {
            valid: true,
            write: write.is_some(),
            addr: bits(node::BASE + offset),
            wdata: bits(write.unwrap_or(0)),
        };
        self.dut.csr.set(request);
        // The first access waits until the node table has been emptied.
        for _ in 0..wire::NODE_TABLE_ENTRIES + 8 {
            self.dut.eval();
            let answer = self.dut.csr_answer.get();
            if answer.ack {
                self.dut.csr.set(CsrRequest::default());
                self.dut.tick();
                return (answer.error, answer.rdata.to_u64() as u32);
            }
            self.dut.tick();
        }
        panic!("no answer to an access of {offset:#x}");
    }

    fn write(&mut self, offset: u32, value: u32) {
        assert_eq!(self.access(offset, Some(value)), (false, 0), "write to {offset:#x}");
    }

    fn read(&mut self, offset: u32) -> u32 {
        let (error, value) = self.access(offset, None);
        assert!(!error, "read of {offset:#x}");
        value
    }

    fn frame(&mut self, bytes: Vec<u8>, tag: u64) {
        self.expected_array.push_back((bytes.clone(), tag));
        self.stream.push_back(Item::Frame(bytes, tag));
    }

    fn raw(&mut self, address: u64, length: usize) {
        self.raws.push_back((address, length));
        if address & BROKEN == 0 {
            let mut bytes: Vec<u8> = (0..length as u64).map(|i| host_byte(address + i)).collect();
            if let Some((at, value)) = field(address, length) {
                bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
            }
            self.expected_raw.push_back(bytes);
        }
    }

    fn submit(&mut self, job: Job) {
        let host = job.of_context || job.desc.from_host || job.desc.op.to_u64() == u64::from(put_op::GET);
        let number = &mut self.numbers[usize::from(host)];
        let made = frames(&job, *number);
        *number += 1;
        let who =
            job.desc.issuer.cluster.to_u64() << 7 | job.desc.issuer.hpu.to_u64() << 4 | job.desc.issuer.handle.to_u64();
        self.expected_done.push((who, fails(&job), job.of_context));
        if let [first, .., last] = failures(&job)[..] {
            self.partly[usize::from(last)] += usize::from(first != last && job.desc.node.to_u64() < NODES);
        }
        if host {
            self.expected_host.extend(made);
            self.host_puts.push_back(job);
        } else {
            self.expected_array.extend(made);
            self.stream.push_back(Item::Payload(job.payload.clone()));
            self.puts.push_back(job);
        }
    }

    fn idle(&self) -> bool {
        self.stream.is_empty()
            && self.puts.is_empty()
            && self.host_puts.is_empty()
            && self.raws.is_empty()
            && self.expected_raw.is_empty()
            && self.transfers.is_empty()
            && self.expected_array.is_empty()
            && self.expected_host.is_empty()
            && self.expected_done.is_empty()
    }

    fn step(&mut self, rng: &mut ChaCha8Rng, ready: bool, read_ready: bool) {
        let d = &self.dut;
        d.beat.ready.set(ready);
        d.put_read.ready.set(read_ready);
        let segment_ready = self.segment.is_none();
        d.segment.ready.set(segment_ready);
        if let Some((_, bytes)) = self.segment.take_if(|segment| segment.0 <= self.cycle) {
            self.stream.push_back(Item::Segment(bytes));
        }
        d.egress.valid.set(!self.stream.is_empty());
        if let Some(item) = self.stream.front() {
            let (bytes, tag, put, segment) = match item {
                Item::Frame(bytes, tag) => (bytes, *tag, false, false),
                Item::Payload(bytes) => (bytes, 0, true, false),
                Item::Segment(bytes) => (bytes, 0, false, true),
            };
            let chunk = &bytes[self.position..bytes.len().min(self.position + 64)];
            d.egress.data.set_bytes(chunk);
            d.egress.keep.set_bytes(&(u64::MAX >> (64 - chunk.len())).to_le_bytes());
            d.egress.last.set(self.position + 64 >= bytes.len());
            d.egress.frame.set(tag);
            d.egress.put.set(put);
            d.egress.segment.set(segment);
        }
        d.put.valid.set(!self.puts.is_empty());
        if let Some(job) = self.puts.front() {
            d.put.set(job.desc);
        }
        d.host_put.valid.set(!self.host_puts.is_empty());
        if let Some(job) = self.host_puts.front() {
            d.host_put.set(job.desc);
        }
        d.frame.offer(self.raws.front().map(|(address, length)| HostRead {
            client: bits(client::INITIATOR),
            issuer: CommandIssuer { cluster: bits(7u64), hpu: bits(7u64), handle: bits(put_op::FRAME_HANDLE) },
            address: bits(*address),
            length: bits(*length),
            ..HostRead::default()
        }));
        let transfer = self.transfers.front().filter(|t| t.at <= self.cycle);
        d.put_data.valid.set(transfer.is_some());
        if let Some(t) = transfer {
            d.put_data.set_bytes(&t.bytes[t.sent..t.bytes.len().min(t.sent + 64)]);
            d.put_data_last.set(t.sent + 64 >= t.bytes.len());
            d.put_data_error.set(t.error);
            let here = t.field.filter(|(at, _)| (t.sent..t.sent + 64).contains(at));
            d.put_data_field.set(here.map_or(ChecksumField::default(), |(at, value)| ChecksumField {
                present: true,
                word: bits((at - t.sent) / 2),
                value: bits(value),
            }));
        }
        d.eval();

        if !self.stream.is_empty() && d.egress.ready.is_high() {
            self.position += 64;
            let length = match &self.stream[0] {
                Item::Frame(bytes, _) | Item::Payload(bytes) | Item::Segment(bytes) => bytes.len(),
            };
            if self.position >= length {
                self.stream.pop_front();
                self.position = 0;
            }
        }
        if !self.puts.is_empty() && d.put.ready.is_high() {
            self.puts.pop_front();
            self.puts_taken.push(self.cycle);
        }
        if !self.host_puts.is_empty() && d.host_put.ready.is_high() {
            self.host_puts.pop_front();
            self.host_taken.push(self.cycle);
        }
        if d.frame.moves() {
            self.raws.pop_front();
        }
        if transfer.is_some() && d.put_data.ready.is_high() {
            let t = self.transfers.front_mut().expect("it is offered");
            t.sent += 64;
            if t.sent >= t.bytes.len() {
                self.transfers.pop_front();
            }
        }
        if d.put_read.valid.is_high() && read_ready {
            let read = d.put_read.get();
            assert_eq!(read.client.to_u64(), u64::from(client::INITIATOR));
            let (address, length) = (read.address.to_u64(), read.length.to_u64());
            let mut bytes: Vec<u8> = (0..length).map(|i| host_byte(address + i)).collect();
            // Bytes after the end are undefined.
            bytes.resize(bytes.len().next_multiple_of(64), 0xEE);
            let at = self.cycle + rng.random_range(self.read_delay.clone());
            let of_frame =
                read.issuer.handle.to_u64() == u64::from(put_op::FRAME_HANDLE) && read.issuer.cluster.to_u64() == 7;
            let field = if of_frame { field(address, length as usize) } else { None };
            self.transfers.push_back(Transfer { bytes, error: address & BROKEN != 0, at, sent: 0, field });
        }
        if d.segment.valid.is_high() && segment_ready {
            let read = d.segment.get();
            assert_eq!(read.client.to_u64(), u64::from(client::CONTEXT));
            let bytes = (0..read.length.to_u64()).map(|i| host_byte(read.address.to_u64() + i)).collect();
            self.segment = Some((self.cycle + rng.random_range(self.read_delay.clone()), bytes));
            self.segments += 1;
        }
        if d.put_done.valid.is_high() {
            let done = d.put_done.get();
            let who = done.issuer.cluster.to_u64() << 7 | done.issuer.hpu.to_u64() << 4 | done.issuer.handle.to_u64();
            let end = (who, done.error, done.of_context);
            let at = self.expected_done.iter().position(|e| *e == end);
            let at = at.unwrap_or_else(|| panic!("cycle {}: an end that no one waits for: {done:?}", self.cycle));
            self.expected_done.swap_remove(at);
        }
        let valid = d.beat.valid.is_high();
        assert!(valid || self.now.is_empty(), "cycle {}: a gap inside a frame", self.cycle);
        if valid && ready {
            let beat = d.beat.bytes();
            let keep = u64::from_le_bytes(beat[64..72].try_into().expect("eight bytes"));
            let count = keep.trailing_ones() as usize;
            assert!(count > 0 && keep == u64::MAX >> (64 - count), "cycle {}: keep is {keep:#x}", self.cycle);
            let last = beat[72] & 1 == 1;
            assert!(last || count == 64, "cycle {}: a hole inside a frame", self.cycle);
            let tag = (u64::from(beat[72]) | u64::from(beat[73]) << 8 | u64::from(beat[74]) << 16) >> 1 & 0xFFFF;
            if self.now.is_empty() {
                self.firsts.push(self.cycle);
            }
            self.now.extend(&beat[..count]);
            if last {
                self.lasts.push(self.cycle);
                let frame = (std::mem::take(&mut self.now), tag);
                if self.expected_array.front() == Some(&frame) {
                    self.expected_array.pop_front();
                } else if tag == 0 && self.expected_raw.front() == Some(&frame.0) {
                    assert!(beat[count..64].iter().all(|byte| *byte == 0), "cycle {}: bytes after the end", self.cycle);
                    self.expected_raw.pop_front();
                } else {
                    let next = self.expected_host.pop_front();
                    assert!(
                        next.as_ref() == Some(&frame),
                        "cycle {}: got {frame:02x?}\nexpected {next:02x?} or the array's {:02x?}",
                        self.cycle,
                        self.expected_array.front()
                    );
                }
            }
        }
        d.tick();
        self.cycle += 1;
    }

    fn drain(&mut self, rng: &mut ChaCha8Rng) {
        for _ in 0..50_000 {
            if self.idle() {
                return;
            }
            self.step(rng, true, true);
        }
        panic!("the bench is not empty after 50000 cycles");
    }
}

/// A random put or get; `kind`: 0 device, 1 host, 2 get, 3 context. If it is `broken`, none of its memory can be read.
fn job(rng: &mut ChaCha8Rng, kind: usize, node: u64, length: usize, broken: bool) -> Job {
    let below_the_bit = rng.random_range(0..(BROKEN >> 32) - 1);
    job_below(rng, kind, node, length, below_the_bit << 32 | if broken { BROKEN } else { 0 })
}

/// A put from host memory of which the first segment alone, or the last one, can be read: the carry makes a broken address of
/// one that is not, or the reverse.
fn partly_broken(rng: &mut ChaCha8Rng, breaks: bool) -> Job {
    // So long that a segment begins after the carry.
    let (node, length) = (rng.random_range(0..NODES), rng.random_range(BELOW as usize + SEGMENT_BYTES..9000));
    job_below(rng, 1, node, length, (BROKEN - (1 << 32)) | if breaks { 0 } else { BROKEN })
}

/// The job with an address in these 4 GiB.
fn job_below(rng: &mut ChaCha8Rng, kind: usize, node: u64, length: usize, high: u64) -> Job {
    // Close below their end: the address of a later segment carries into the high half.
    let in_host = high | (0xFFFF_FFFF - rng.random_range(0..BELOW));
    let host_address = if kind == 3 { 4 * rng.random_range(0..0x3_0000) } else { in_host };
    let payload = match kind {
        0 => (0..length).map(|_| rng.random()).collect(),
        1 | 3 => (0..length as u64).map(|i| host_byte(host_address + i)).collect(),
        _ => vec![],
    };
    let desc = PutDesc {
        op: bits(if kind == 2 { put_op::GET } else { put_op::PUT }),
        from_host: kind == 1,
        node: bits(node),
        dst_pid: bits(rng.random::<u16>()),
        src_pid: bits(rng.random::<u16>()),
        addr: bits(rng.random::<u64>()),
        key: bits(rng.random::<u32>()),
        buf_off: bits(rng.random::<u32>()),
        length: bits(length),
        host_address: bits(host_address),
        reply_addr: bits(rng.random::<u64>()),
        reply_off: bits(rng.random::<u32>()),
        reply_key: bits(rng.random::<u32>()),
        flags: bits(rng.random_range(0..4u16) << 2),
        context: bits(rng.random_range(0..16u64)),
        issuer: CommandIssuer {
            cluster: bits(rng.random_range(0..8u64)),
            hpu: bits(rng.random_range(0..8u64)),
            handle: bits(rng.random_range(0..u64::from(put_op::FRAME_HANDLE))),
        },
        frame: bits(rng.random::<u16>()),
    };
    Job { desc, payload, of_context: kind == 3 }
}

/// Lengths at which a beat or a segment is just full, and any other.
fn length(rng: &mut ChaCha8Rng, longest: usize) -> usize {
    let edges = [1, 37, 38, 39, 63, 64, 65, 101, 102, 103, 128, 1407, 1408, 1409, 1446, 1472, 2047, 2048];
    let picked =
        if rng.random_bool(0.5) { edges[rng.random_range(0..edges.len())] } else { rng.random_range(1..=longest) };
    picked.min(longest)
}

#[test]
fn random_traffic() {
    run_with_wave_on_failure("initiator_random_traffic", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        bench.read_delay = 1..120;
        const ROUNDS: usize = 12;
        for round in 0..ROUNDS {
            let (ready, read_ready) = (rng.random_range(0.3..=1.0), rng.random_range(0.2..=1.0));
            for i in 0..80 {
                if i < 2 {
                    let job = partly_broken(&mut rng, i == 0);
                    bench.submit(job);
                }
                let node = if rng.random_bool(0.05) { NODES } else { rng.random_range(0..NODES) };
                let broken = rng.random_bool(0.08);
                if rng.random_bool(0.3) {
                    let address = rng.random_range(0..1u64 << 39) | if broken { BROKEN } else { 0 };
                    let length = length(&mut rng, 8192).max(14);
                    bench.raw(address, length);
                }
                match rng.random_range(0..5) {
                    0 => {
                        let bytes = (0..rng.random_range(14..400)).map(|_| rng.random()).collect();
                        bench.frame(bytes, rng.random::<u16>().into());
                    }
                    1 => {
                        let length = length(&mut rng, 2048);
                        let job = job(&mut rng, 0, node, length, broken);
                        bench.submit(job);
                    }
                    kind @ (2 | 3) => {
                        let length = length(&mut rng, 9000);
                        let job = job(&mut rng, if kind == 2 { 1 } else { 3 }, node, length, broken);
                        bench.submit(job);
                    }
                    _ => {
                        let job = job(&mut rng, 2, node, 100_000, false);
                        bench.submit(job);
                    }
                }
            }
            for _ in 0..2000 {
                let (ready, read_ready) = (rng.random_bool(ready), rng.random_bool(read_ready));
                bench.step(&mut rng, ready, read_ready);
            }
            bench.drain(&mut rng);
            assert!(bench.transfers.is_empty(), "round {round}: host memory was read and not used");
        }
        let counted = (bench.read(node::PUTS_DONE), bench.read(node::PUTS_FAILED));
        let submitted = (bench.numbers[0] + bench.numbers[1]) & 0x7FFF_FFFF;
        assert_eq!(counted.0 + counted.1, submitted);
        assert!(counted.1 > 0, "some were to fail");
        assert!(bench.segments > 300, "{} segments of context memory", bench.segments);
        assert_eq!(bench.partly, [ROUNDS; 2], "puts that fail in part");
    });
}

/// From a device put taken to its first beat, from there one beat per cycle; and a full-size host put without a pause
/// between its frames.
#[test]
fn cycles() {
    run_with_wave_on_failure("initiator_cycles", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        let put = job(&mut rng, 0, 1, 2048, false);
        bench.submit(put);
        bench.drain(&mut rng);
        assert_eq!(bench.firsts[0] - bench.puts_taken[0], 7, "device put taken → first beat");
        // 1498 and 730 bytes: 24 and 12 beats; the second head is there when the first frame ends.
        assert_eq!(bench.lasts[0] - bench.firsts[0] + 1, 24);
        assert_eq!(bench.firsts[1], bench.lasts[0] + 1, "no pause between the segments");
        assert_eq!(bench.lasts[1] - bench.firsts[1] + 1, 12);

        let (from, frames) = (bench.firsts.len(), 40);
        bench.read_delay = 60..61;
        let put = job(&mut rng, 1, 2, frames * SEGMENT_BYTES, false);
        bench.submit(put);
        bench.drain(&mut rng);
        assert_eq!(bench.firsts.len() - from, frames);
        let cycles = bench.lasts[from + frames - 1] - bench.firsts[from] + 1;
        assert_eq!(cycles, 24 * frames as u64, "host put, 60 cycles of latency: a frame every 24 cycles");
        assert_eq!(bench.firsts[from] - bench.host_taken[0], 75, "host put taken → first beat, host latency 60");

        // Frames of host memory: a beat per cycle; of short ones, 16 are under way at a time.
        for (bytes, least, most) in [(1500, 24.0, 24.0), (8192, 128.0, 128.0), (60, 2.0, 4.5)] {
            let from = bench.firsts.len();
            (0..frames).for_each(|i| bench.raw(64 * i as u64, bytes));
            bench.drain(&mut rng);
            let cycles = (bench.firsts[from + frames - 1] - bench.firsts[from + 10]) as f64 / (frames as f64 - 11.0);
            assert!((least..=most).contains(&cycles), "{cycles} cycles per frame of {bytes} bytes");
        }

        // Of context memory, one segment at a time.
        let (from, taken) = (bench.firsts.len(), bench.host_taken.len());
        let put = job(&mut rng, 3, 2, 2 * SEGMENT_BYTES, false);
        bench.submit(put);
        bench.drain(&mut rng);
        assert_eq!(bench.firsts[from] - bench.host_taken[taken], 73, "put of context memory taken → first beat");
        assert_eq!(bench.firsts[from + 1] - bench.firsts[from], 61, "the next one is asked for after it");

        // Small puts one after the other: the planner is the limit.
        let from = bench.firsts.len();
        for _ in 0..20 {
            let put = job(&mut rng, 0, 3, 16, false);
            bench.submit(put);
        }
        bench.drain(&mut rng);
        assert_eq!(bench.firsts[from + 19] - bench.firsts[from], 19 * 7, "a put every 7 cycles");
    });
}

#[test]
fn registers() {
    run_with_wave_on_failure("initiator_registers", |wave| {
        let mut bench = Bench::new(wave);
        assert_eq!(bench.read(node::LOCAL_NID), LOCAL_NID);
        assert_eq!(bench.read(node::LOCAL_MAC_LO), 0x2030_4050);
        assert_eq!(bench.read(node::LOCAL_MAC_HI), 0x0210);
        assert_eq!(bench.read(node::LOCAL_IP), u32::from_be_bytes(LOCAL_IP));
        bench.write(node::NODE_MAC_LO, 0x0102_0304);
        bench.write(node::NODE_MAC_HI, 0xABCD);
        bench.write(node::NODE_IP, 5);
        bench.write(node::NODE_PORT, 0x8000_1234);
        assert_eq!(bench.read(node::NODE_MAC_LO), 0x0102_0304);
        assert_eq!(bench.read(node::NODE_MAC_HI), 0xABCD);
        assert_eq!(bench.read(node::NODE_IP), 5);
        assert_eq!(bench.read(node::NODE_PORT), 0x8000_1234);
        for (offset, write) in
            [(node::NODE_COMMIT, Some(256)), (node::NODE_COMMIT, None), (node::PUTS_DONE, Some(1)), (0x200, None)]
        {
            assert_eq!(bench.access(offset, write), (true, 0), "{offset:#x} {write:?}");
        }
    });
}
