//! Sequence numbers on the whole NIC: a number comes through once, and a packet that is refused does not use its number up.

use crate::nic::bench::{at_once, random_gaps, Nic};
use rand::seq::SliceRandom;
use rand::Rng;
use spindle::peer::Peer;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::wire::{control, opcode};
use spindle_harness::{seeded_rng, with_seeds};
use spindle_model::frames::{spindle, Ends, SpindleHeader};
use spindle_sim::{Options, WireFrame};

const NODE: u32 = 0x0a01_0203;
/// Entry of that node in a table of 64 peers.
const ENTRY: u8 = 3;
const PIECE: usize = 40;

/// A put that is one packet, with message and place in the buffer of its own.
fn put(addr: u64, psn: u32) -> Vec<u8> {
    let header = SpindleHeader {
        flags: 0,
        psn,
        src_nid: NODE,
        addr,
        key: 7,
        msg_id: psn,
        msg_len: PIECE as u32,
        buf_off: psn * PIECE as u32,
        payload_len: PIECE as u16,
        ..SpindleHeader::default()
    };
    spindle(&Ends::default(), 40_000, SPINDLE_PORT, &header, &[psn as u8; PIECE])
}

fn control_packet(code: u32, node: u32, psn: u32, incarnation: u32) -> Vec<u8> {
    let (opcode, flags) = (opcode::CTRL, 0);
    let header =
        SpindleHeader { opcode, flags, psn, src_nid: node, key: incarnation, msg_id: code, ..SpindleHeader::default() };
    spindle(&Ends::default(), 40_000, SPINDLE_PORT, &header, &[])
}

fn drops(nic: &mut Nic, frames: Vec<WireFrame>) -> Vec<(&'static str, u32)> {
    nic.play(frames).drop_names()
}

/// Every number up to three times, in any order: each is answered once.
#[test]
fn a_duplicate_never_reaches_a_handler() {
    with_seeds(|| {
        let mut rng = seeded_rng("a_duplicate_never_reaches_a_handler");
        let mut nic = Nic::new(Options::default());
        nic.handler("ping_pong", "spindle", ContextOptions::default());
        nic.knows(NODE);
        nic.device.set_sequence_filter(true).unwrap();
        nic.device.set_receive(true).unwrap();
        const NUMBERS: u32 = 60;
        let mut numbers: Vec<u32> = (0..NUMBERS).flat_map(|psn| vec![psn; rng.random_range(1..4)]).collect();
        numbers.shuffle(&mut rng);
        let frames: Vec<_> = numbers.iter().map(|psn| put(1, *psn)).collect();
        let played = nic.play(random_gaps(&frames, 20, &mut rng));
        assert_eq!(played.drop_names(), [("duplicate", numbers.len() as u32 - NUMBERS)]);
        let mut answered: Vec<u32> = played.sent.iter().map(|(cause, _)| numbers[*cause]).collect();
        answered.sort_unstable();
        assert_eq!(answered, (0..NUMBERS).collect::<Vec<_>>());
        let expected = Some(Peer { node: NODE, expected: NUMBERS, selective: 0 });
        assert_eq!(nic.device.peer(ENTRY).unwrap(), expected);
        assert_eq!(nic.device.peer(ENTRY + 1).unwrap(), None);
        nic.assert_empty();
    });
}

/// Refused by the RVMA engine, by the scheduler, by the matcher: the same number passes when it comes again. And what
/// control packets do.
#[test]
fn a_refused_packet_leaves_its_number_free() {
    let mut nic = Nic::new(Options::default());
    nic.rule("spindle.addr == 5", Action::Mailbox);
    let context = nic.install("ping_pong", ContextOptions::default()).context;
    nic.rule("spindle.addr == 6", Action::Context(context));
    nic.knows(NODE);
    nic.knows(NODE + 64);
    nic.device.set_sequence_filter(true).unwrap();
    nic.device.set_receive(true).unwrap();
    let peer = |nic: &mut Nic| nic.device.peer(ENTRY).unwrap().map(|peer| (peer.expected, peer.selective));

    assert_eq!(drops(&mut nic, at_once(&[put(5, 0)])), [("no_mailbox", 1)]);
    assert_eq!(drops(&mut nic, at_once(&[put(6, 1)])), [("no_context", 1)]);
    assert_eq!(drops(&mut nic, at_once(&[put(9, 2)])), [("no_rule", 1)]);
    assert_eq!(peer(&mut nic), Some((0, 0)));

    let window = nic.device.init_window(0, 5, 7, 1000).unwrap();
    nic.device.post_buffer(window, 1000).unwrap();
    nic.device.activate(context).unwrap();
    let played = nic.play(at_once(&[put(6, 2), put(6, 1), put(6, 4)]));
    assert_eq!((played.drop_names(), played.sent.len()), (vec![], 3));
    assert_eq!(peer(&mut nic), Some((0, 0b10110)));
    let placed = nic.device.stats().unwrap().frames_placed;
    assert_eq!(drops(&mut nic, at_once(&[put(5, 0), put(5, 0), put(6, 1)])), [("duplicate", 2)]);
    assert_eq!(nic.device.stats().unwrap().frames_placed, placed + 1);
    assert_eq!(peer(&mut nic), Some((3, 0b10)));

    // A NOP takes the number of a message that was given up; a window is 1024 numbers.
    assert_eq!(drops(&mut nic, at_once(&[control_packet(control::NOP, NODE, 3, 0)])), [("control", 1)]);
    assert_eq!(peer(&mut nic), Some((5, 0)));
    assert_eq!(drops(&mut nic, at_once(&[put(6, 5 + 1024)])), [("psn_window", 1)]);
    assert_eq!(drops(&mut nic, at_once(&[control_packet(control::NOP, NODE + 64, 0, 0)])), [("no_peer", 1)]);
    // A new incarnation begins again.
    assert_eq!(drops(&mut nic, at_once(&[control_packet(control::OPEN, NODE, 99, 1)])), [("control", 1)]);
    assert_eq!(peer(&mut nic), Some((0, 0)));
    let played = nic.play(at_once(&[put(6, 0)]));
    assert_eq!((played.drop_names(), played.sent.len()), (vec![], 1));
    nic.assert_empty();
}
