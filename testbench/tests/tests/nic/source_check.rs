//! Frames that name a node whose address they do not have: nothing changes but a counter.

use crate::nic::bench::{nodes, Node};
use spindle::peer::{Peer, Responses};
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{HostMemory, Kind, Put, Target};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::reasons::{BAD_SOURCE, DROP_REASONS};
use spindle_contract::wire::{control, flag, nack, opcode, status, NODE_TABLE_ENTRIES};
use spindle_model::frames::{spindle, Ends, SpindleHeader};
use spindle_sim::{address, WireFrame, WireOptions};

pub(super) const ADDRESS: u64 = 0x77;
pub(super) const KEY: u32 = 9;
const PROCESS: usize = 2;
/// Length of a put: three segments.
pub(super) const LENGTH: usize = 3000;
/// Segments of a put.
const SEGMENTS: u32 = LENGTH.div_ceil(1408) as u32;
/// Cycles in which a frame takes effect, its answer included.
const SETTLED: u64 = 3000;
/// Incarnation of the sender.
const INCARNATION: u32 = 0x5EED;

/// Two NICs that put to each other reliably, and a buffer of the second for two puts of the first.
fn open() -> (Vec<Node>, Posted) {
    let mut nodes = nodes(2, WireOptions::default());
    for node in &mut nodes {
        node.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        node.set_sequence_filter(true).unwrap();
        node.set_responses(Some(Responses { ack_every: 1, ..Responses::default() })).unwrap();
        // No timer moves while the NICs are compared.
        let reliability = Reliability { timeout: 4095, hole_time: 30_000, retries: 15, incarnation: INCARNATION };
        node.set_reliability(Some(reliability)).unwrap();
        node.set_receive(true).unwrap();
    }
    let window = nodes[1].init_window(PROCESS, ADDRESS, KEY, 2 * LENGTH as u32).unwrap();
    let posted = nodes[1].post_buffer(window, 2 * LENGTH as u32).unwrap();
    (nodes, posted)
}

/// Begins a put of bytes of this value to the n-th place of the buffer.
fn put(nodes: &mut [Node], n: usize, value: u8) -> Put {
    let buffer = nodes[0].memory.alloc(LENGTH, 64).unwrap();
    nodes[0].memory.write(buffer, &[value; LENGTH]).unwrap();
    let offset = (n * LENGTH) as u32;
    let target = Target { node: 1, process: PROCESS as u16, address: ADDRESS, key: KEY, offset, kind: Kind::Bound };
    nodes[0].put(PROCESS, buffer, LENGTH as u32, &target).unwrap()
}

/// Counters by name, the peer, and every byte of host memory that is not 0.
pub(super) type State = (Vec<(String, u64)>, Option<Peer>, Vec<(u64, u8)>);

/// Everything that frames change: all counters but those of arrival and of these drops, the peer, and host memory.
pub(super) fn state(node: &mut Node, except: &[usize]) -> State {
    let counters = node.counters().unwrap();
    let arrival = ["frames_in", "bytes_in"];
    let values = counters.counters.iter().filter(|counter| !arrival.contains(&counter.name.as_str()));
    let mut values: Vec<(String, u64)> =
        values.map(|counter| (format!("{}.{}", counter.page, counter.name), counter.value)).collect();
    let drops =
        counters.drop_reasons().filter(|(name, _)| except.iter().all(|reason| *name != DROP_REASONS[*reason].0));
    values.extend(drops.map(|(name, count)| (name.to_owned(), count.into())));
    let bytes = node.memory.card().sim().memory().memory.nonzero();
    (values, node.peer(0).unwrap(), bytes)
}

fn bad_sources(node: &mut Node) -> u32 {
    node.stats().unwrap().drops[BAD_SOURCE]
}

/// Frames that anyone can send: in the name of the first NIC to the second (`to` 1), and of the second to the first; all with these
/// flags.
pub(super) fn forged(to: usize, ends: &Ends, flags: u16) -> Vec<(&'static str, Vec<u8>)> {
    let data = [0xEE; 40];
    let header = SpindleHeader {
        src_nid: 1 - to as u32,
        src_pid: PROCESS as u16,
        dst_pid: PROCESS as u16,
        addr: ADDRESS,
        key: KEY,
        msg_id: 0xBAD,
        flags,
        psn: SEGMENTS,
        msg_len: data.len() as u32,
        payload_len: data.len() as u16,
        ..SpindleHeader::default()
    };
    let empty = SpindleHeader { msg_len: 0, payload_len: 0, ..header };
    let frame = |header: &SpindleHeader, payload: &[u8]| spindle(ends, 50_000, SPINDLE_PORT, header, payload);
    let control = |code, key| frame(&SpindleHeader { opcode: opcode::CTRL, msg_id: code, key, ..empty }, &[]);
    match to {
        1 => vec![
            ("put in the window", frame(&header, &data)),
            ("put without a number", frame(&SpindleHeader { flags: flags | flag::UNSEQ, ..header }, &data)),
            ("put of an old number", frame(&SpindleHeader { psn: 0, ..header }, &data)),
            ("put with a request", frame(&SpindleHeader { flags: flags | flag::ACK_REQ, psn: 1, ..header }, &data)),
            ("answer to a get", frame(&SpindleHeader { opcode: opcode::GET_RESP, ..header }, &data)),
            ("opening", control(control::OPEN, INCARNATION + 7)),
            ("number given up", control(control::NOP, 0)),
        ],
        // All segments of the second put are acknowledged, or refused for good.
        _ => vec![
            ("acknowledgement", frame(&SpindleHeader { opcode: opcode::ACK, psn: 2 * SEGMENTS - 1, ..empty }, &[])),
            (
                "refusal",
                frame(
                    &SpindleHeader {
                        opcode: opcode::NACK,
                        psn: SEGMENTS - 1,
                        buf_off: SEGMENTS,
                        key: u32::from(nack::BAD_KEY) << 24,
                        ..empty
                    },
                    &[],
                ),
            ),
        ],
    }
}

/// From where a frame to a NIC comes.
pub(super) fn ends(to: usize, src_ip: [u8; 4], vlan: Option<u16>) -> Ends {
    let (other, own) = (address(1 - to), address(to));
    Ends { src_mac: other.mac, dst_mac: own.mac, src_ip, dst_ip: own.ip, vlan }
}

pub(super) fn inject(node: &Node, bytes: Vec<u8>) {
    node.memory.card().sim().inject(WireFrame { bytes, gap: 0, bad: false });
    node.memory.network().run(SETTLED);
}

/// The first put has arrived, the second is under way: its frames are lost.
pub(super) fn between_two_puts() -> (Vec<Node>, Posted, Put) {
    let (mut nodes, posted) = open();
    let first = put(&mut nodes, 0, 1);
    nodes[0].wait_put(&first, 100_000).unwrap();
    nodes[0].memory.network().set_wire(|wire| wire.loss = 1.0);
    let second = put(&mut nodes, 1, 2);
    nodes[0].memory.network().run(SETTLED);
    assert!(!nodes[0].put_is_over(&second).unwrap());
    (nodes, posted, second)
}

#[test]
fn a_frame_of_another_address_changes_a_counter_and_nothing_else() {
    let (mut nodes, posted, second) = between_two_puts();
    let mut rejected = [0, 0];
    for to in [1, 0] {
        let own = u32::from_be_bytes(address(1 - to).ip);
        let elsewhere = [(own ^ 1, None), (own ^ 1 << 31, Some(5)), (own ^ 1 << 16, None), (0, None), (!own, Some(9))];
        for (ip, vlan) in elsewhere {
            for (what, frame) in forged(to, &ends(to, ip.to_be_bytes(), vlan), 0) {
                let before = state(&mut nodes[to], &[BAD_SOURCE]);
                inject(&nodes[to], frame);
                assert_eq!(state(&mut nodes[to], &[BAD_SOURCE]), before, "{what} to {to} from {ip:#x}");
                rejected[to] += 1;
                assert_eq!(bad_sources(&mut nodes[to]), rejected[to], "{what} to {to}");
            }
        }
    }
    assert!(!nodes[0].put_is_over(&second).unwrap(), "no forged answer ends a put");
    // The true packets come through, and the true answers.
    nodes[0].memory.network().set_wire(|wire| wire.loss = 0.0);
    nodes[0].wait_put(&second, 3_000_000).unwrap();
    let completed = nodes[1].wait(&posted, 10_000).unwrap();
    assert_eq!((completed.status, completed.length as usize), (status::DONE, 2 * LENGTH));
    let mut got = vec![0; 2 * LENGTH];
    nodes[1].memory.read(posted.buffer, &mut got).unwrap();
    assert!(got == [[1; LENGTH], [2; LENGTH]].concat());
    assert_eq!([bad_sources(&mut nodes[0]), bad_sources(&mut nodes[1])], [rejected[0], rejected[1]]);
}

/// The same frames take effect if they have the address, or if sources are not checked: the frames are good.
#[test]
fn each_of_those_frames_takes_effect_if_sources_are_not_checked() {
    for to in [1, 0] {
        for check in [true, false] {
            let own = address(1 - to).ip;
            let ip = if check { own } else { [1, 2, 3, 4] };
            for n in 0..forged(to, &ends(to, ip, None), 0).len() {
                let (mut nodes, _, second) = between_two_puts();
                nodes[to].set_source_check(check).unwrap();
                let (what, frame) = forged(to, &ends(to, ip, None), 0).swap_remove(n);
                let before = state(&mut nodes[to], &[BAD_SOURCE]);
                inject(&nodes[to], frame);
                assert_ne!(state(&mut nodes[to], &[BAD_SOURCE]), before, "{what} to {to}");
                assert_eq!(bad_sources(&mut nodes[to]), 0);
                if what == "acknowledgement" {
                    assert!(nodes[0].put_is_over(&second).unwrap(), "it ends a put whose bytes were lost");
                }
            }
        }
    }
}

/// Every other entry of the table is empty: its node has no address, not even 0.
#[test]
fn a_node_that_the_table_does_not_have_is_refused() {
    let (mut nodes, _) = open();
    nodes[1].set_node(7, Some(address(7))).unwrap();
    nodes[1].set_node(7, None).unwrap();
    let mut frames = 0;
    for nid in (2..NODE_TABLE_ENTRIES as u32).step_by(23).chain([7, 255]) {
        for ip in [address(0).ip, address(nid as usize).ip, [0; 4]] {
            let header = SpindleHeader { src_nid: nid, addr: ADDRESS, key: KEY, ..SpindleHeader::default() };
            let before = state(&mut nodes[1], &[BAD_SOURCE]);
            inject(&nodes[1], spindle(&ends(1, ip, None), 50_000, SPINDLE_PORT, &header, &[]));
            assert_eq!(state(&mut nodes[1], &[BAD_SOURCE]), before, "node {nid}");
            frames += 1;
        }
    }
    assert_eq!(bad_sources(&mut nodes[1]), frames);
    // What is no Spindle packet may come from anywhere.
    let other = spindle_model::frames::udp(&ends(1, [9, 9, 9, 9], None), 1, 2, &[7; 100]);
    inject(&nodes[1], other);
    assert_eq!(bad_sources(&mut nodes[1]), frames);
}
