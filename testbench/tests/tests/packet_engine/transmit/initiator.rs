//! The initiator against frames that `etherparse` builds: puts from handler memory, from host memory and of context memory,
//! gets and answers to gets, replies, frames of host memory and the array's own frames, at once. Identity and node table change
//! between rounds.

use crate::packet_engine::transmit::packet_sums::any_frame;
use packet_engine::transmit::initiator::Initiator;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::checksum::ChecksumField;
use spindle_blocks::desc::{CommandIssuer, CsrRequest, CsrResponse, FrameJob, HostRead, PutDesc, PutDone};
use spindle_contract::descriptors::{array_address, client, put_op};
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::registers::{node, Access, Register, NODE};
use spindle_contract::wire::{self, flag, opcode};
use spindle_harness::{near, random_bits, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_model::checksums;
use spindle_model::frames::{spindle, udp_without_checksum, Ends, SpindleHeader};
use spindle_model::icrc;
use spindle_verilog::prelude::bits;
use std::collections::VecDeque;

/// Nodes that exist: their places in the table.
const NODES: [u64; 7] = [0, 3, 100, 77, 128, 254, 255];
/// A place that had a node once.
const GONE: u64 = 2;
/// Host addresses with this bit cannot be read. It is the one into which an address just below 256 x 4 GiB carries.
const BROKEN: u64 = 1 << 40;
/// Jobs begin so many bytes below a multiple of 4 GiB.
const BELOW: u64 = 5000;

/// The node at this place has an address with which the sum over the IPv4 header of a full segment carries a second time
/// when it is folded.
const CARRIES: u64 = 100;

/// A node: this one, or one of the table.
#[derive(Clone, Debug)]
struct Node {
    nid: u32,
    mac: [u8; 6],
    ip: [u8; 4],
    port: u16,
    /// Frames for it get an ICRC, frames of it need one.
    icrc: bool,
    requires: bool,
}

impl Node {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        let (icrc, requires) = (rng.random(), rng.random());
        Node { nid: rng.random(), mac: rng.random(), ip: rng.random(), port: rng.random(), icrc, requires }
    }

    /// MAC address as its two registers have it, low and high.
    fn mac(&self) -> (u32, u32) {
        let [a, b, c, d, e, f] = self.mac;
        (u32::from_be_bytes([c, d, e, f]), u32::from(u16::from_be_bytes([a, b])))
    }
}

/// This node, and the nodes of the table with their places.
#[derive(Clone, Debug)]
struct Network {
    own: Node,
    nodes: Vec<(u64, Node)>,
}

impl Network {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        let own = Node::random(rng);
        let nodes = NODES.iter().map(|place| (*place, Node::random(rng))).collect();
        let mut network = Network { own, nodes };
        let at = NODES.iter().position(|place| *place == CARRIES).expect("it exists");
        network.nodes[at].1.icrc = false;
        network.nodes[at].1.ip = [192, 168, 0, 0];
        let segment = spindle(&network.ends(at), 0, 0, &SpindleHeader::default(), &[0; SEGMENT_BYTES]);
        let words = segment[14..34].chunks(2).enumerate().filter(|(i, _)| *i != 5);
        let sum: u32 = words.map(|(_, word)| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
        let [high, low] = (0xFFFF - (sum & 0xFFFF) as u16).to_be_bytes();
        assert!(sum > 0xFFFF);
        network.nodes[at].1.ip = [192, 168, high, low];
        network
    }

    /// Where in the list a node is.
    fn find(&self, place: u64) -> Option<usize> {
        self.nodes.iter().position(|(at, _)| *at == place)
    }

    fn ends(&self, at: usize) -> Ends {
        let node = &self.nodes[at].1;
        Ends { src_mac: self.own.mac, dst_mac: node.mac, src_ip: self.own.ip, dst_ip: node.ip, vlan: None }
    }

    /// A frame to the node at this place.
    fn frame(&self, place: u64, header: &SpindleHeader, payload: &[u8]) -> Option<Frame> {
        let at = self.find(place)?;
        let flags = self.flags(at, header.flags);
        let header = SpindleHeader { src_nid: self.own.nid, flags, ..*header };
        let frame = spindle(&self.ends(at), source_port(header.msg_id), self.nodes[at].1.port, &header, payload);
        Some(without_icrc(frame))
    }

    /// The flags of a packet to the node at this place of the list: the node table alone decides about the ICRC.
    fn flags(&self, at: usize, flags: u16) -> u16 {
        flags & !flag::ICRC | if self.nodes[at].1.icrc { flag::ICRC } else { 0 }
    }
}

/// What the initiator makes of a frame: egress appends the ICRC, which is counted in the headers.
fn without_icrc(mut frame: Vec<u8>) -> Frame {
    let icrc = icrc::has_icrc(&frame[wire::spindle::START..]);
    if icrc {
        frame.truncate(frame.len() - wire::ICRC_BYTES);
    }
    Frame { bytes: frame, icrc }
}

/// A frame as it leaves the initiator.
#[derive(Clone, Debug, Default, PartialEq)]
struct Frame {
    bytes: Vec<u8>,
    /// Egress is to append the ICRC.
    icrc: bool,
}

impl From<Vec<u8>> for Frame {
    fn from(bytes: Vec<u8>) -> Self {
        Frame { bytes, icrc: false }
    }
}

fn source_port(msg_id: u32) -> u16 {
    0xC000 | (msg_id & 0x3FFF) as u16
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
    /// The payload is read from context memory, or from a packet.
    of_context: bool,
}

impl Job {
    /// The packet that it reads.
    fn packet(&self) -> Option<u64> {
        let address = self.desc.host_address.to_u64();
        (self.of_context && address >> array_address::OF_PACKET == 1)
            .then_some(address >> array_address::PACKET & 0x3FF)
    }
}

/// The frames that a job becomes; none if its node does not exist, no segment that touches broken memory.
fn frames(network: &Network, job: &Job, msg_id: u32) -> Vec<(Frame, u64)> {
    let desc = &job.desc;
    let Some(at) = network.find(desc.node.to_u64()) else { return vec![] };
    let (place, tag) = (desc.node.to_u64(), desc.frame.to_u64());
    let op = desc.op.to_u64() as u8;
    let header = SpindleHeader {
        opcode: match op {
            put_op::GET => opcode::GET,
            put_op::GET_RESP => opcode::GET_RESP,
            _ => opcode::PUT,
        },
        flags: network.flags(at, desc.flags.to_u64() as u16 | flag::UNSEQ),
        psn: 0,
        src_nid: network.own.nid,
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
    if op == put_op::GET {
        let mut datagram = header.to_bytes().to_vec();
        datagram[wire::spindle::VERSION] = wire::SPINDLE_VERSION << 4 | (wire::SPINDLE_GET_BYTES / 8) as u8;
        datagram.extend(desc.reply_addr.to_u64().to_be_bytes());
        datagram.extend((desc.reply_off.to_u64() as u32).to_be_bytes());
        datagram.extend((desc.reply_key.to_u64() as u32).to_be_bytes());
        icrc::seal(&mut datagram);
        let port = network.nodes[at].1.port;
        let frame = udp_without_checksum(&network.ends(at), source_port(msg_id), port, &datagram);
        return vec![(without_icrc(frame), tag)];
    }
    if job.payload.is_empty() {
        return network.frame(place, &header, &[]).map(|bytes| (bytes, tag)).into_iter().collect();
    }
    job.payload
        .chunks(SEGMENT_BYTES)
        .enumerate()
        .filter(|(i, _)| !desc.from_host || !segment_fails(desc, *i))
        .filter_map(|(i, chunk)| {
            let header =
                SpindleHeader { msg_off: (i * SEGMENT_BYTES) as u32, payload_len: chunk.len() as u16, ..header };
            Some((network.frame(place, &header, chunk)?, tag))
        })
        .collect()
}

/// The frame of a reply, if its node exists.
fn reply_frame(network: &Network, job: &FrameJob) -> Option<(Frame, u64)> {
    let header = SpindleHeader {
        opcode: job.opcode.to_u64() as u8,
        flags: job.flags.to_u64() as u16,
        psn: job.psn.to_u64() as u32,
        src_nid: network.own.nid,
        src_pid: job.src_pid.to_u64() as u16,
        dst_pid: job.dst_pid.to_u64() as u16,
        addr: job.addr.to_u64(),
        key: job.key.to_u64() as u32,
        msg_id: job.msg_id.to_u64() as u32,
        msg_len: job.msg_len.to_u64() as u32,
        msg_off: job.msg_off.to_u64() as u32,
        buf_off: job.buf_off.to_u64() as u32,
        payload_len: 0,
        epoch: job.epoch.to_u64() as u16,
    };
    Some((network.frame(job.node.to_u64(), &header, &[])?, job.frame.to_u64()))
}

/// The segments of host memory or context memory that a job reads.
fn reads(network: &Network, job: &Job) -> Vec<HostRead> {
    let desc = &job.desc;
    if !(desc.from_host || job.of_context) || network.find(desc.node.to_u64()).is_none() {
        return vec![];
    }
    let read = |(i, chunk): (usize, &[u8])| HostRead {
        client: bits(if desc.from_host { client::INITIATOR } else { client::CONTEXT }),
        issuer: desc.issuer,
        context: desc.context,
        frame: desc.frame,
        address: bits(desc.host_address.to_u64() + (i * SEGMENT_BYTES) as u64),
        length: bits(chunk.len()),
        offset: bits(0u64),
    };
    job.payload.chunks(SEGMENT_BYTES).enumerate().map(read).collect()
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

fn fails(network: &Network, job: &Job) -> bool {
    network.find(job.desc.node.to_u64()).is_none() || failures(job).contains(&true)
}

/// What comes on the array's egress stream.
enum Item {
    /// Bytes, tag, and whether it gets checksums.
    Frame(Vec<u8>, u64, bool),
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
    network: Network,
    stream: VecDeque<Item>,
    position: usize,
    puts: VecDeque<Job>,
    host_puts: VecDeque<Job>,
    replies: VecDeque<FrameJob>,
    /// Frames of host memory, and those whose reads have not come.
    raws: VecDeque<HostRead>,
    raw_reads: VecDeque<HostRead>,
    expected_raw: VecDeque<Vec<u8>>,
    /// Segments that puts read, of host memory and of context memory.
    reads: VecDeque<HostRead>,
    context_reads: VecDeque<HostRead>,
    transfers: VecDeque<Transfer>,
    /// The segment of context memory that the array gathers, and when it has it.
    segment: Option<(u64, Vec<u8>)>,
    segments: usize,
    /// Puts whose first segments cannot be read and the last one can, and the reverse.
    partly: [usize; 2],
    expected_array: VecDeque<(Frame, u64)>,
    expected_host: VecDeque<(Frame, u64)>,
    expected_replies: VecDeque<(Frame, u64)>,
    /// In no particular order.
    expected_done: Vec<PutDone>,
    /// Packets of puts that are not over, and how many puts of packets are.
    expected_packets: Vec<u64>,
    packets: usize,
    /// Numbers of messages, and puts and gets so far that succeed, that fail.
    numbers: [u32; 2],
    ends: [u32; 2],
    /// Pulses of the responder that were given: acknowledgements, refusals, refusals that were withheld.
    pulses: [u32; 3],
    /// Frames that wanted checksums and have none of their transport.
    unsummed: u32,
    now: Vec<u8>,
    now_icrc: bool,
    /// Cycles in which a first beat, a last beat was taken.
    firsts: Vec<u64>,
    lasts: Vec<u64>,
    puts_taken: Vec<u64>,
    host_taken: Vec<u64>,
    read_delay: std::ops::Range<u64>,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let mut rng = wave.rng();
        let network = Network::random(&mut rng);
        let mut bench = Bench {
            dut: Dut::new(wave, Initiator::default(), "initiator"),
            cycle: 0,
            network,
            stream: VecDeque::new(),
            position: 0,
            puts: VecDeque::new(),
            host_puts: VecDeque::new(),
            replies: VecDeque::new(),
            raws: VecDeque::new(),
            raw_reads: VecDeque::new(),
            expected_raw: VecDeque::new(),
            reads: VecDeque::new(),
            context_reads: VecDeque::new(),
            transfers: VecDeque::new(),
            segment: None,
            segments: 0,
            partly: [0; 2],
            expected_array: VecDeque::new(),
            expected_host: VecDeque::new(),
            expected_replies: VecDeque::new(),
            expected_done: vec![],
            expected_packets: vec![],
            packets: 0,
            numbers: [0, 1 << 31],
            ends: [0; 2],
            pulses: [0; 3],
            unsummed: 0,
            now: vec![],
            now_icrc: false,
            firsts: vec![],
            lasts: vec![],
            puts_taken: vec![],
            host_taken: vec![],
            read_delay: 1..2,
        };
        bench.dut.put_event.ready.set(true);
        let once = Node::random(&mut rng);
        bench.commit(GONE, &once, true);
        bench.configure();
        bench
    }

    /// Writes identity and node table.
    fn configure(&mut self) {
        let Network { own, nodes } = self.network.clone();
        self.write(node::LOCAL_NID, own.nid);
        self.write(node::LOCAL_MAC_LO, own.mac().0);
        self.write(node::LOCAL_MAC_HI, own.mac().1);
        self.write(node::LOCAL_IP, u32::from_be_bytes(own.ip));
        for (place, node) in &nodes {
            self.commit(*place, node, true);
        }
        self.commit(GONE, &nodes[0].1, false);
    }

    /// What the parser is given of each node that the table has, or had.
    fn check_sources(&mut self) {
        for pulse in [&self.dut.acks.sent, &self.dut.acks.nack_sent, &self.dut.acks.nack_withheld] {
            pulse.set(false);
        }
        for place in NODES.into_iter().chain([GONE]) {
            self.dut.source.node.set(place);
            self.dut.source.read.set(true);
            self.dut.tick();
            self.dut.source.read.set(false);
            self.dut.tick();
            self.dut.eval();
            assert_eq!(self.dut.source.present.is_high(), place != GONE, "node {place}");
            if let Some(at) = self.network.find(place) {
                let node = &self.network.nodes[at].1;
                assert_eq!(self.dut.source.ip.number(), u64::from(u32::from_be_bytes(node.ip)), "node {place}");
                assert_eq!(self.dut.source.requires.is_high(), node.requires, "node {place}");
            }
        }
    }

    fn commit(&mut self, place: u64, node: &Node, present: bool) {
        let (low, high) = node.mac();
        self.write(node::NODE_MAC_LO, low);
        self.write(node::NODE_MAC_HI, high);
        self.write(node::NODE_IP, u32::from_be_bytes(node.ip));
        let port = node::NodePort::ZERO.with_port(node.port.into()).with_present(present);
        self.write(node::NODE_PORT, port.with_use_icrc(node.icrc).with_require_icrc(node.requires).0);
        self.write(node::NODE_COMMIT, place as u32);
    }

    /// A register access: error, value.
    fn access(&mut self, offset: u32, write: Option<u32>) -> (bool, u32) {
        let request = CsrRequest {
            valid: true,
            write: write.is_some(),
            addr: bits(node::BASE + offset),
            wdata: bits(write.unwrap_or(0)),
        };
        for pulse in [&self.dut.acks.sent, &self.dut.acks.nack_sent, &self.dut.acks.nack_withheld] {
            pulse.set(false);
        }
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
        self.expected_array.push_back((bytes.clone().into(), tag));
        self.stream.push_back(Item::Frame(bytes, tag, false));
    }

    /// A frame that gets checksums.
    fn summed_frame(&mut self, bytes: Vec<u8>, tag: u64) {
        let mut sent = bytes.clone();
        self.unsummed += u32::from(!checksums::send(&mut sent));
        self.expected_array.push_back((sent.into(), tag));
        self.stream.push_back(Item::Frame(bytes, tag, true));
    }

    fn raw(&mut self, rng: &mut ChaCha8Rng, address: u64, length: usize) {
        let mut read: HostRead = random_bits(rng);
        (read.client, read.issuer.handle) = (bits(client::INITIATOR), bits(put_op::FRAME_HANDLE));
        (read.address, read.length) = (bits(address), bits(length));
        self.raws.push_back(read);
        self.raw_reads.push_back(read);
        if address & BROKEN == 0 {
            let mut bytes: Vec<u8> = (0..length as u64).map(|i| host_byte(address + i)).collect();
            if let Some((at, value)) = field(address, length) {
                bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
            }
            self.expected_raw.push_back(bytes);
        }
    }

    fn submit(&mut self, job: Job) {
        let op = job.desc.op.to_u64() as u8;
        let host = job.of_context || job.desc.from_host || op == put_op::GET;
        let number = &mut self.numbers[usize::from(host)];
        let of_response = job.desc.reply_key.to_u64() as u32;
        let made = frames(&self.network, &job, if op == put_op::GET_RESP { of_response } else { *number });
        *number += u32::from(op != put_op::GET_RESP);
        let error = fails(&self.network, &job);
        let of_context = job.of_context;
        self.expected_done.push(PutDone { issuer: job.desc.issuer, error, of_context, ..PutDone::default() });
        self.expected_packets.extend(job.packet());
        self.ends[usize::from(error)] += 1;
        if let [first, .., last] = failures(&job)[..] {
            let exists = self.network.find(job.desc.node.to_u64()).is_some();
            self.partly[usize::from(last)] += usize::from(first != last && exists);
        }
        let to = if of_context { &mut self.context_reads } else { &mut self.reads };
        to.extend(reads(&self.network, &job));
        if host {
            self.expected_host.extend(made);
            self.host_puts.push_back(job);
        } else {
            self.expected_array.extend(made);
            self.stream.push_back(Item::Payload(job.payload.clone()));
            self.puts.push_back(job);
        }
    }

    fn reply(&mut self, job: FrameJob) {
        self.expected_replies.extend(reply_frame(&self.network, &job));
        self.replies.push_back(job);
    }

    fn idle(&self) -> bool {
        self.stream.is_empty()
            && self.puts.is_empty()
            && self.host_puts.is_empty()
            && self.raws.is_empty()
            && self.replies.is_empty()
            && self.expected_raw.is_empty()
            && self.expected_replies.is_empty()
            && self.raw_reads.is_empty()
            && self.reads.is_empty()
            && self.context_reads.is_empty()
            && self.transfers.is_empty()
            && self.expected_array.is_empty()
            && self.expected_host.is_empty()
            && self.expected_done.is_empty()
            && self.expected_packets.is_empty()
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
            let (bytes, tag, put, segment, checksum) = match item {
                Item::Frame(bytes, tag, checksum) => (bytes, *tag, false, false, *checksum),
                Item::Payload(bytes) => (bytes, 0, true, false, false),
                Item::Segment(bytes) => (bytes, 0, false, true, false),
            };
            let chunk = &bytes[self.position..bytes.len().min(self.position + 64)];
            d.egress.data.set_bytes(chunk);
            d.egress.keep.set_bytes(&(u64::MAX >> (64 - chunk.len())).to_le_bytes());
            d.egress.last.set(self.position + 64 >= bytes.len());
            d.egress.frame.set(tag);
            d.egress.put.set(put);
            d.egress.segment.set(segment);
            d.egress.checksum.set(checksum);
        }
        d.put.valid.set(!self.puts.is_empty());
        if let Some(job) = self.puts.front() {
            d.put.set(job.desc);
        }
        d.host_put.valid.set(!self.host_puts.is_empty());
        if let Some(job) = self.host_puts.front() {
            d.host_put.set(job.desc);
        }
        d.frame.offer(self.raws.front().copied());
        d.reply.offer(self.replies.front().copied());
        for (pulse, count) in [&d.acks.sent, &d.acks.nack_sent, &d.acks.nack_withheld].into_iter().zip(&mut self.pulses)
        {
            let now = rng.random_ratio(1, 16);
            pulse.set(now);
            *count += u32::from(now);
        }
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
                Item::Frame(bytes, ..) | Item::Payload(bytes) | Item::Segment(bytes) => bytes.len(),
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
        if d.reply.moves() {
            self.replies.pop_front();
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
            let of_frame = read.issuer.handle.to_u64() == u64::from(put_op::FRAME_HANDLE);
            let expected = if of_frame { self.raw_reads.pop_front() } else { self.reads.pop_front() };
            assert_eq!(Some(read), expected, "cycle {}", self.cycle);
            let (address, length) = (read.address.to_u64(), read.length.to_u64());
            let mut bytes: Vec<u8> = (0..length).map(|i| host_byte(address + i)).collect();
            // Bytes after the end are undefined.
            bytes.resize(bytes.len().next_multiple_of(64), 0xEE);
            let at = self.cycle + rng.random_range(self.read_delay.clone());
            let field = if of_frame { field(address, length as usize) } else { None };
            self.transfers.push_back(Transfer { bytes, error: address & BROKEN != 0, at, sent: 0, field });
        }
        if d.segment.valid.is_high() && segment_ready {
            let read = d.segment.get();
            assert_eq!(Some(read), self.context_reads.pop_front(), "cycle {}", self.cycle);
            let bytes = (0..read.length.to_u64()).map(|i| host_byte(read.address.to_u64() + i)).collect();
            self.segment = Some((self.cycle + rng.random_range(self.read_delay.clone()), bytes));
            self.segments += 1;
        }
        if d.packet_ended.valid.is_high() {
            assert!(d.put_done.valid.is_high() && d.put_done.get().of_context, "with the end of the put");
            let pkt = d.packet_ended.number();
            let at = self.expected_packets.iter().position(|expected| *expected == pkt);
            self.expected_packets.swap_remove(at.unwrap_or_else(|| panic!("no put of packet {pkt}")));
            self.packets += 1;
        }
        if d.put_done.valid.is_high() {
            let done = d.put_done.get();
            let at = self.expected_done.iter().position(|expected| *expected == done);
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
            let icrc = beat[74] >> 1 & 1 == 1;
            if self.now.is_empty() {
                self.firsts.push(self.cycle);
                self.now_icrc = icrc;
            }
            assert_eq!(icrc, self.now_icrc, "cycle {}: a frame with and without ICRC", self.cycle);
            self.now.extend(&beat[..count]);
            if last {
                self.lasts.push(self.cycle);
                let frame = (Frame { bytes: std::mem::take(&mut self.now), icrc }, tag);
                if self.expected_array.front() == Some(&frame) {
                    self.expected_array.pop_front();
                } else if tag == 0 && !icrc && self.expected_raw.front() == Some(&frame.0.bytes) {
                    assert!(beat[count..64].iter().all(|byte| *byte == 0), "cycle {}: bytes after the end", self.cycle);
                    self.expected_raw.pop_front();
                } else if self.expected_replies.front() == Some(&frame) {
                    self.expected_replies.pop_front();
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
        panic!(
            "not over after 50000 cycles: frames of the array {}, of the host {}, replies {}, ends {}",
            self.expected_array.len(),
            self.expected_host.len(),
            self.expected_replies.len(),
            self.expected_done.len()
        );
    }
}

/// A random put or get; `kind`: 0 device, 1 host, 2 get, 3 context, 4 answer to a get. If it is `broken`, none of its memory can be read.
fn job(rng: &mut ChaCha8Rng, kind: usize, node: u64, length: usize, broken: bool) -> Job {
    let below_the_bit = rng.random_range(0..(BROKEN >> 32) - 1);
    job_below(rng, kind, node, length, below_the_bit << 32 | if broken { BROKEN } else { 0 })
}

/// A put from host memory of which the first segment alone, or the last one, can be read: the carry makes a broken address of
/// one that is not, or the reverse.
fn partly_broken(rng: &mut ChaCha8Rng, breaks: bool) -> Job {
    // So long that a segment begins after the carry.
    let (node, length) = (some_node(rng), rng.random_range(BELOW as usize + SEGMENT_BYTES..9000));
    job_below(rng, 1, node, length, (BROKEN - (1 << 32)) | if breaks { 0 } else { BROKEN })
}

/// The job with an address in these 4 GiB.
fn job_below(rng: &mut ChaCha8Rng, kind: usize, node: u64, length: usize, high: u64) -> Job {
    // Close below their end: the address of a later segment carries into the high half.
    let in_host = high | (0xFFFF_FFFF - rng.random_range(0..BELOW));
    let of_packet = kind == 3 && (1..=2048).contains(&length) && rng.random();
    let host_address = match kind {
        3 if of_packet => {
            let from = rng.random_range(0..=2048 - length as u64);
            1 << array_address::OF_PACKET | rng.random_range(0..1024) << array_address::PACKET | from
        }
        3 => 4 * rng.random_range(0..0x3_0000),
        _ => in_host,
    };
    let payload = match kind {
        0 => (0..length).map(|_| rng.random()).collect(),
        1 | 3 | 4 => (0..length as u64).map(|i| host_byte(host_address + i)).collect(),
        _ => vec![],
    };
    let desc = PutDesc {
        op: bits(match kind {
            2 => put_op::GET,
            4 => put_op::GET_RESP,
            _ => put_op::PUT,
        }),
        from_host: kind == 1 || kind == 4,
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
        // Puts of handler memory have no flags.
        flags: bits(if kind == 0 { 0 } else { rng.random::<u16>() }),
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

/// A node that exists.
fn some_node(rng: &mut ChaCha8Rng) -> u64 {
    NODES[rng.random_range(0..NODES.len())]
}

/// A reply as a responder makes one: without a payload, numbered.
fn reply(rng: &mut ChaCha8Rng, node: u64) -> FrameJob {
    let opcode = if rng.random() { opcode::ACK } else { opcode::NACK };
    let mut job = FrameJob { opcode: bits(opcode), node: bits(node), single: true, numbered: true, ..random_bits(rng) };
    (job.left, job.from_host, job.tracked) = (bits(0), false, false);
    (job.of_packet, job.over, job.failed) = (false, false, false);
    job
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
                // Places that have no node differ in one bit from one that has.
                let mut node = some_node(&mut rng);
                if rng.random_bool(0.06) {
                    node = if rng.random_bool(0.2) { GONE } else { near(&mut rng, node, 8, 1) };
                }
                let broken = rng.random_bool(0.08);
                if rng.random_bool(0.3) {
                    let address = rng.random_range(0..1u64 << 39) | if broken { BROKEN } else { 0 };
                    let length = length(&mut rng, 8192).max(14);
                    bench.raw(&mut rng, address, length);
                }
                if rng.random_bool(0.4) {
                    let job = reply(&mut rng, node);
                    bench.reply(job);
                }
                match rng.random_range(0..6) {
                    0 if rng.random() => {
                        let bytes = (0..rng.random_range(14..400)).map(|_| rng.random()).collect();
                        bench.frame(bytes, rng.random::<u16>().into());
                    }
                    0 => {
                        let bytes = any_frame(&mut rng, 2048);
                        bench.summed_frame(bytes, rng.random::<u16>().into());
                    }
                    1 => {
                        let length = length(&mut rng, 2048);
                        let job = job(&mut rng, 0, node, length, broken);
                        bench.submit(job);
                    }
                    kind @ (2..=4) => {
                        // Host memory and context memory may be put without a byte, too.
                        let length = if rng.random_bool(0.05) { 0 } else { length(&mut rng, 9000) };
                        let job = job(&mut rng, [1, 3, 4][kind - 2], node, length, broken);
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
            bench.check_sources();
            bench.network = Network::random(&mut rng);
            bench.configure();
        }
        let pulses = [node::ACKS_SENT, node::NACKS_SENT, node::NACKS_WITHHELD].map(|counter| bench.read(counter));
        assert_eq!(pulses, bench.pulses);
        assert_eq!(bench.read(node::SENDS_UNSUMMED), bench.unsummed);
        let counted = (bench.read(node::PUTS_DONE), bench.read(node::PUTS_FAILED));
        assert_eq!([counted.0, counted.1], bench.ends);
        assert!(counted.1 > 0, "some were to fail");
        assert!(bench.segments > 150, "{} segments of context memory and of packets", bench.segments);
        assert!(bench.packets > 15, "{} puts of packets", bench.packets);
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
        let put = job(&mut rng, 0, 3, 2048, false);
        bench.submit(put);
        bench.drain(&mut rng);
        assert_eq!(bench.firsts[0] - bench.puts_taken[0], 4, "device put taken → first beat");
        // 1498 and 730 bytes: 24 and 12 beats; the second head is there when the first frame ends.
        assert_eq!(bench.lasts[0] - bench.firsts[0] + 1, 24);
        assert_eq!(bench.firsts[1], bench.lasts[0] + 1, "no pause between the segments");
        assert_eq!(bench.lasts[1] - bench.firsts[1] + 1, 12);

        let (from, frames) = (bench.firsts.len(), 40);
        bench.read_delay = 60..61;
        let put = job(&mut rng, 1, CARRIES, frames * SEGMENT_BYTES, false);
        bench.submit(put);
        bench.drain(&mut rng);
        assert_eq!(bench.firsts.len() - from, frames);
        let cycles = bench.lasts[from + frames - 1] - bench.firsts[from] + 1;
        assert_eq!(cycles, 24 * frames as u64, "host put, 60 cycles of latency: a frame every 24 cycles");
        assert_eq!(bench.firsts[from] - bench.host_taken[0], 75, "host put taken → first beat, host latency 60");

        // Frames of host memory: a beat per cycle; of short ones, 16 are under way at a time.
        for (bytes, least, most) in [(1500, 24.0, 24.0), (8192, 128.0, 128.0), (60, 2.0, 4.5)] {
            let from = bench.firsts.len();
            (0..frames).for_each(|i| bench.raw(&mut rng, 64 * i as u64, bytes));
            bench.drain(&mut rng);
            let cycles = (bench.firsts[from + frames - 1] - bench.firsts[from + 10]) as f64 / (frames as f64 - 11.0);
            assert!((least..=most).contains(&cycles), "{cycles} cycles per frame of {bytes} bytes");
        }

        // Of context memory, one segment at a time.
        let (from, taken) = (bench.firsts.len(), bench.host_taken.len());
        let put = job(&mut rng, 3, CARRIES, 2 * SEGMENT_BYTES, false);
        bench.submit(put);
        bench.drain(&mut rng);
        assert_eq!(bench.firsts[from] - bench.host_taken[taken], 73, "put of context memory taken → first beat");
        assert_eq!(bench.firsts[from + 1] - bench.firsts[from], 61, "the next one is asked for after it");

        // Small puts one after the other: the wire is the limit.
        for bytes in [1, 8, 38] {
            let from = bench.firsts.len();
            for _ in 0..40 {
                let put = job(&mut rng, 0, 3, bytes, false);
                bench.submit(put);
            }
            bench.drain(&mut rng);
            assert_eq!(bench.firsts[from + 39] - bench.firsts[from], 39 * 2, "a put of {bytes} bytes every 2 cycles");
        }
    });
}

/// Bits of a register that hold what is written.
fn held(register: &Register) -> u32 {
    let field = |low: u32, bits: u32| (u64::MAX >> (64 - bits) << low) as u32;
    let fields = register.fields.iter().map(|f| field(f.low, f.bits)).fold(0, |all, bits| all | bits);
    if register.fields.is_empty() {
        u32::MAX
    } else {
        fields
    }
}

/// Random accesses of the page against its words, and what other blocks are shown of them.
#[test]
fn registers() {
    run_with_wave_on_failure("initiator_registers", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Initiator::default(), "initiator");
        dut.csr.set(CsrRequest::default());
        // The table is emptied first.
        dut.ticks(wire::NODE_TABLE_ENTRIES as u64 + 8);
        let mut words: Vec<u32> = NODE.registers.iter().map(Register::reset).collect();
        let (mut errors, mut committed) = (0, 0);
        for access in 0..share(6000) {
            let register = rng.random_range(0..words.len());
            let address = near(&mut rng, u64::from(NODE.base + NODE.registers[register].offset), 12, 8);
            let found = NODE.registers.iter().position(|r| u64::from(NODE.base + r.offset) == address);
            let write: bool = rng.random();
            let commits = found.is_some_and(|at| NODE.registers[at].offset == node::NODE_COMMIT);
            let place = rng.random_range(0..wire::NODE_TABLE_ENTRIES as u64);
            let word = if commits { near(&mut rng, place, 32, 2) as u32 } else { rng.random() };
            dut.csr.set(CsrRequest { valid: true, write, addr: bits(address), wdata: bits(word) });
            for _ in 0..3 {
                dut.eval();
                assert_eq!(dut.csr_answer.get(), CsrResponse::default(), "access {access}: early");
                dut.tick();
            }
            dut.eval();
            let access_of = found.map(|at| NODE.registers[at].access);
            let known = match access_of {
                Some(Access::ReadOnly) => !write,
                Some(Access::WriteOnly) => write && (!commits || u64::from(word) < wire::NODE_TABLE_ENTRIES as u64),
                Some(Access::ReadWrite) => true,
                None => false,
            };
            let read = found.filter(|_| known && !write).map_or(0, |at| words[at]);
            let expected = CsrResponse { ack: true, error: !known, rdata: bits(read) };
            assert_eq!(dut.csr_answer.get(), expected, "access {access} of {address:#x}");
            errors += usize::from(!known);
            committed += usize::from(commits && known);
            if let Some(at) = found.filter(|_| known && write) {
                words[at] = word & held(&NODE.registers[at]);
            }
            dut.csr.set(CsrRequest::default());
            dut.ticks(rng.random_range(1..4));
            let word = |offset| words[NODE.registers.iter().position(|r| r.offset == offset).expect("it exists")];
            let control = node::AckControl(word(node::ACK_CONTROL));
            dut.eval();
            assert_eq!(dut.acks.enable.is_high(), control.respond());
            assert_eq!(dut.acks.every.number() as u32, control.ack_every());
            assert_eq!(dut.acks.nack_gap.number() as u32, control.nack_gap());
            assert_eq!(dut.send.is_high(), node::SendControl(word(node::SEND_CONTROL)).sequenced());
        }
        assert!(errors > 200 && committed > 10, "{errors} errors, {committed} commits");
    });
}
