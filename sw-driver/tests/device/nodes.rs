//! Nodes, peers, answers and the reliable sender: the fields of their registers and the limits of what is put there.

use crate::card::{refused, Handle};
use spindle::congestion::Congestion;
use spindle::peer::{Peer, Responses};
use spindle::reliable::{Reliability, LONGEST_PUT_LIMIT, MOST_PUT_TURNS};
use spindle::{Icrc, Node};
use spindle_contract::params::Config;
use spindle_contract::registers::{node, packet};

fn of_node<const N: usize>(registers: [(u32, u32); N]) -> Vec<(u32, u32)> {
    registers.map(|(register, value)| (node::BASE + register, value)).to_vec()
}

#[test]
fn addresses_of_this_node_come_back() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let (mac, ip) = ([0x02, 0xA1, 0xB2, 0xC3, 0xD4, 0xE5], [10, 78, 0, 9]);
    device.set_identity(0xCAFE_0009, mac, ip).unwrap();
    let expected = of_node([
        (node::LOCAL_NID, 0xCAFE_0009),
        (node::LOCAL_MAC_LO, 0xB2C3_D4E5),
        (node::LOCAL_MAC_HI, 0x02A1),
        (node::LOCAL_IP, 0x0A4E_0009),
    ]);
    assert_eq!(handle.writes(), expected);
    assert_eq!(device.own_addresses().unwrap(), (0xCAFE_0009, mac, ip));
}

#[test]
fn a_node_is_staged_before_it_is_entered() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    assert_eq!(Node::numbered(7), Node { mac: [2, 0, 0, 0, 1, 7], ip: [10, 78, 0, 7], port: 4795 });
    device.set_node(0, Some(Node { mac: [2, 3, 4, 5, 6, 7], ip: [1, 2, 3, 4], port: 0xFFFF })).unwrap();
    let entered = |low: u32, high: u32, ip: u32, port: u32, number: u32| {
        of_node([
            (node::NODE_MAC_LO, low),
            (node::NODE_MAC_HI, high),
            (node::NODE_IP, ip),
            (node::NODE_PORT, port),
            (node::NODE_COMMIT, number),
        ])
    };
    assert_eq!(handle.writes(), entered(0x0405_0607, 0x0203, 0x0102_0304, 0x8000_FFFF, 0));
    device.set_node(255, None).unwrap();
    assert_eq!(handle.writes(), entered(0, 0, 0, 0, 255));
    let node = Node { mac: [2, 3, 4, 5, 6, 7], ip: [1, 2, 3, 4], port: 0xFFFF };
    for (icrc, flags) in [
        (Icrc { sends: true, requires: false }, 0x1_0000),
        (Icrc { sends: false, requires: true }, 0x2_0000),
        (Icrc::BOTH, 0x3_0000),
    ] {
        device.set_checked_node(9, node, icrc).unwrap();
        assert_eq!(handle.writes(), entered(0x0405_0607, 0x0203, 0x0102_0304, 0x8000_FFFF | flags, 9));
    }
    for number in [256, usize::MAX] {
        let sentence = refused(device.set_node(number, None));
        assert_eq!(sentence, format!("there is no node {number}; the node table has numbers 0 to 255"));
        assert_eq!(refused(device.set_checked_node(number, node, Icrc::BOTH)), sentence);
    }
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn counts_of_the_node_page_are_kept_apart() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let counters = [
        node::PUTS_DONE,
        node::PUTS_FAILED,
        node::ACKS_SENT,
        node::NACKS_SENT,
        node::NACKS_WITHHELD,
        node::SEGMENTS_RESENT,
        node::SENDS_UNSUMMED,
    ];
    (11..).zip(counters).for_each(|(value, register)| handle.poke(node::BASE + register, value));
    assert_eq!(device.puts().unwrap(), (11, 12));
    assert_eq!(device.responses().unwrap(), (13, 14, 15));
    assert_eq!(device.segments_resent().unwrap(), 16);
    assert_eq!(device.sends_unsummed().unwrap(), 17);
}

#[test]
fn answers_are_given_as_often_as_the_register_can_say() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let control = node::BASE + node::ACK_CONTROL;
    let default = Responses { ack_every: 4, nack_gap: 16 };
    assert_eq!(Responses::default(), default);
    for (responses, word) in [
        (Some(Responses { ack_every: 1, nack_gap: 0 }), 1 << 8 | 1),
        (Some(Responses { ack_every: 63, nack_gap: 0xFFFF }), 0xFFFF << 16 | 63 << 8 | 1),
        (Some(default), 16 << 16 | 4 << 8 | 1),
        (None, 16 << 16 | 4 << 8),
    ] {
        device.set_responses(responses).unwrap();
        assert_eq!(handle.writes(), vec![(control, word)], "{responses:?}");
    }
    for ack_every in [0, 64, 255] {
        let sentence = refused(device.set_responses(Some(Responses { ack_every, ..default })));
        assert_eq!(sentence, format!("an acknowledgement every {ack_every} packets; choose 1 to 63"));
    }
    assert_eq!(handle.steps(), vec![]);
    for on in [true, false] {
        device.set_sequence_filter(on).unwrap();
        assert_eq!(handle.writes(), vec![(packet::BASE + packet::PSN_CONTROL, 3 * u32::from(on))]);
    }
    for (was, on, word) in [(3, false, 1), (1, true, 3), (0, true, 2), (2, false, 0)] {
        handle.poke(packet::BASE + packet::PSN_CONTROL, was);
        device.set_source_check(on).unwrap();
        assert_eq!(handle.writes(), vec![(packet::BASE + packet::PSN_CONTROL, word)], "{was} {on}");
    }
}

#[test]
fn an_entry_of_the_peer_table_is_read_when_the_card_has_it() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let at = |register: u32| packet::BASE + register;
    handle.poke(at(packet::PEER_NODE), 0xCAFE);
    handle.poke(at(packet::PEER_EXPECTED), 0xFFFF_FFF0);
    handle.poke(at(packet::PEER_SELECTIVE), 5);
    handle.poke(at(packet::PEER_SELECTIVE) + 4, 6);
    handle.answer(at(packet::PEER_QUERY), [1, 1, 0]);
    assert_eq!(device.peer(0xFE).unwrap(), None, "the entry has none");
    assert_eq!(handle.reads_of(at(packet::PEER_QUERY)), 3);
    assert_eq!(handle.writes(), vec![(at(packet::PEER_QUERY), 0xFE)]);
    handle.poke(at(packet::PEER_QUERY), 0);
    handle.poke(at(packet::PEER_LIVE), 1);
    // The fake keeps what was written: bit 0 of an odd entry reads as busy.
    let peer = Peer { node: 0xCAFE, expected: 0xFFFF_FFF0, selective: 6 << 32 | 5 };
    assert_eq!(device.peer(0).unwrap(), Some(peer));
    handle.0.borrow_mut().step = 1000;
    let sentence = refused(device.peer(1));
    assert_eq!(sentence, "an entry of the peer table did not come within 100000 cycles");
}

#[test]
fn the_reliable_sender_has_its_times_before_it_is_switched() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let default = Reliability { timeout: 1024, hole_time: 48, retries: 8, incarnation: 0 };
    assert_eq!(Reliability::default(), default);
    for (reliability, times, incarnation, control) in [
        (None, 48 << 16 | 1024, 0, 8 << 8),
        (Some(default), 48 << 16 | 1024, 0, 8 << 8 | 1),
        (
            Some(Reliability { timeout: 4095, hole_time: 32_767, retries: 15, incarnation: u32::MAX }),
            32_767 << 16 | 4095,
            u32::MAX,
            15 << 8 | 1,
        ),
        (Some(Reliability { timeout: 0, hole_time: 0, retries: 0, incarnation: 7 }), 0, 7, 1),
    ] {
        device.set_reliability(reliability).unwrap();
        let expected =
            of_node([(node::SEND_TIMES, times), (node::SEND_INCARNATION, incarnation), (node::SEND_CONTROL, control)]);
        assert_eq!(handle.writes(), expected, "{reliability:?}");
        assert_eq!(device.sends_reliably().unwrap(), reliability.is_some());
    }
    for (reliability, sentence) in [
        (Reliability { retries: 16, ..default }, "16 retries; choose at most 15"),
        (Reliability { timeout: 4096, ..default }, "a timeout of 4096 units of 64 cycles; choose at most 4095"),
        (Reliability { hole_time: 32_768, ..default }, "a hole time of 32768 units of 64 cycles; choose at most 32767"),
    ] {
        assert_eq!(refused(device.set_reliability(Some(reliability))), sentence);
        assert_eq!(handle.steps(), vec![]);
    }
}

#[test]
fn congestion_windows_are_there_before_they_are_obeyed() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let default = Congestion { shrink: 1, least: 2, first: 32, most: 1023 };
    assert_eq!(Congestion::default(), default);
    let windows = |least: u32, first: u32, most: u32| most << 20 | first << 10 | least;
    for (congestion, expected, control) in [
        (None, windows(2, 32, 1023), 1 << 4),
        (Some(default), windows(2, 32, 1023), 1 << 4 | 1),
        (Some(Congestion { shrink: 3, least: 1, first: 1, most: 1 }), windows(1, 1, 1), 3 << 4 | 1),
    ] {
        device.set_congestion_control(congestion).unwrap();
        let expected = of_node([(node::CONGESTION_WINDOW, expected), (node::CONGESTION, control)]);
        assert_eq!(handle.writes(), expected, "{congestion:?}");
        assert_eq!(device.obeys_marks().unwrap(), congestion.is_some());
    }
    let order = "segments; choose 1 to 1023, none smaller than the one before";
    for (congestion, sentence) in [
        (Congestion { shrink: 4, ..default }, "a mark that takes 2^-4 of a segment; choose at most 3".into()),
        (Congestion { least: 0, ..default }, format!("windows of 0, 32 and 1023 {order}")),
        (Congestion { first: 1, ..default }, format!("windows of 2, 1 and 1023 {order}")),
        (Congestion { most: 31, ..default }, format!("windows of 2, 32 and 31 {order}")),
        (Congestion { most: 1024, ..default }, format!("windows of 2, 32 and 1024 {order}")),
    ] {
        assert_eq!(refused(device.set_congestion_control(Some(congestion))), sentence);
        assert_eq!(handle.steps(), vec![]);
    }
}

#[test]
fn a_put_limit_is_rounded_up_and_has_an_end() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    assert_eq!(LONGEST_PUT_LIMIT, 33_553_408);
    for (cycles, units) in [
        (None, 0),
        (Some(1), 1),
        (Some(1023), 1),
        (Some(1024), 1),
        (Some(1025), 2),
        (Some(LONGEST_PUT_LIMIT - 1024), 32_766),
        (Some(LONGEST_PUT_LIMIT - 1023), 32_767),
        (Some(LONGEST_PUT_LIMIT), 32_767),
    ] {
        device.set_put_limit(cycles).unwrap();
        assert_eq!(handle.writes(), vec![(node::BASE + node::SEND_LIMIT, units)], "{cycles:?}");
    }
    for cycles in [0, LONGEST_PUT_LIMIT + 1, u64::MAX] {
        let sentence = refused(device.set_put_limit(Some(cycles)));
        assert_eq!(sentence, format!("a put limit of {cycles} cycles; choose 1 to 33553408, or no limit"));
    }
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn turns_of_puts_have_an_end() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for puts in [1, 2, MOST_PUT_TURNS] {
        device.set_put_turns(puts).unwrap();
        assert_eq!(handle.writes(), vec![(node::BASE + node::SEND_TURNS, puts.into())]);
    }
    for puts in [0, MOST_PUT_TURNS + 1, u8::MAX] {
        assert_eq!(refused(device.set_put_turns(puts)), format!("turns of {puts} puts; choose 1 to 64"));
    }
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn the_last_refusal_has_the_number_of_its_put() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for (word, refusal) in [
        (0, None),
        // A number without a code is none.
        (0xABCD, None),
        (18 << 16 | 0xABCD, Some((0xABCD, 18))),
        (1 << 16, Some((0, 1))),
        (0xFFFF_FFFF, Some((0xFFFF, 255))),
    ] {
        handle.poke(node::BASE + node::LAST_REFUSAL, word);
        assert_eq!(device.last_refusal().unwrap(), refusal, "{word:#x}");
    }
}
