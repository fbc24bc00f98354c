//! Two NICs on a wire: what handlers of one put arrives in mailboxes of the other, in whatever order the wire lets it.

use crate::nic::bench::{example, network};
use rand::Rng;
use spindle::rule_table::Action;
use spindle::{ContextOptions, Device, HostMemory};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::wire::status;
use spindle_harness::seeded_rng;
use spindle_model::frames::{put_message, Ends, SpindleHeader};
use spindle_sim::{address, NetworkNode, Routing, WireFrame, WireOptions};

type Node = Device<NetworkNode, NetworkNode>;

const ADDRESS: u64 = 0x1234;
const KEY: u32 = 0; // of the handler's image
const SIZE: usize = 40_000;

/// Opens both NICs, each with the other in its node table.
fn open(wire: WireOptions) -> Vec<Node> {
    let network = network(2, wire);
    let open = |number: usize| {
        let node = network.node(number);
        let mut device = Device::open(node.clone(), node).unwrap();
        let own = address(number);
        device.set_identity(number as u32, own.mac, own.ip).unwrap();
        (0..2).for_each(|other| device.set_node(other, Some(address(other))).unwrap());
        device
    };
    (0..2).map(open).collect()
}

/// Sends a message through the first NIC, whose handlers put it to the second packet by packet; what stands there in the end.
fn passed_on(wire: WireOptions) -> (Vec<u8>, Vec<u8>, Vec<Node>) {
    let mut rng = seeded_rng("passed_on");
    let mut nodes = open(wire);
    let context = nodes[0].install(&example("ping_pong_stream"), &ContextOptions::default()).unwrap();
    nodes[0].add_rule(&"spindle".parse().unwrap(), Action::ContextPerMessage(context)).unwrap();
    nodes[0].activate(context).unwrap();
    nodes[0].set_receive(true).unwrap();
    nodes[1].add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
    let window = nodes[1].init_window(0, ADDRESS, KEY, SIZE as u32).unwrap();
    let posted = nodes[1].post_buffer(window, SIZE as u32).unwrap();
    nodes[1].set_receive(true).unwrap();

    let data: Vec<u8> = (0..SIZE).map(|_| rng.random()).collect();
    let header = SpindleHeader { src_nid: 1, addr: ADDRESS, ..SpindleHeader::default() };
    for bytes in put_message(&Ends::default(), SPINDLE_PORT, &header, &data, 1408) {
        nodes[0].memory.card().sim().inject(WireFrame { bytes, gap: 0, bad: false });
    }
    // Waiting on the second moves the first as well.
    let mut got = vec![0; SIZE];
    if let Ok(completed) = nodes[1].wait(&posted, 60_000) {
        assert_eq!((completed.status, completed.length as usize), (status::DONE, SIZE));
    }
    nodes[1].memory.read(posted.buffer, &mut got).unwrap();
    (data, got, nodes)
}

#[test]
fn puts_arrive_over_one_path_and_over_many() {
    for routing in [Routing::Ordered, Routing::Adaptive] {
        let wire = WireOptions { routing, paths: 5, step: 130, ..WireOptions::default() };
        let (sent, got, nodes) = passed_on(wire);
        assert!(sent == got, "{routing:?}");
        let counts = nodes[0].memory.network().counts();
        let frames = SIZE.div_ceil(1408) as u64;
        assert_eq!((counts.sent, counts.delivered, counts.lost, counts.astray), (frames, frames, 0, 0));
        let cycles: Vec<u64> = nodes.iter().map(|node| node.memory.card().sim().cycle()).collect();
        assert!(cycles[0].abs_diff(cycles[1]) < 100, "both NICs count the same cycles: {cycles:?}");
    }
}

/// A packet that the wire loses is missing, and nothing else is.
#[test]
fn what_the_wire_loses_is_missing() {
    let (sent, got, nodes) = passed_on(WireOptions { loss: 0.2, seed: 3, ..WireOptions::default() });
    let counts = nodes[0].memory.network().counts();
    let missing = sent.chunks(1408).zip(got.chunks(1408)).filter(|(a, b)| a != b).count() as u64;
    assert!(missing > 0 && missing < 20, "{missing}");
    assert_eq!((missing, counts.delivered), (counts.lost, counts.sent - counts.lost));
    assert!(sent.chunks(1408).zip(got.chunks(1408)).all(|(a, b)| a == b || b.iter().all(|byte| *byte == 0)));
}
