//! Handlers with the interface of the sPIN paper: several sets of one image in contexts of their own, and C++.

use crate::nic::bench::{nodes, Node};
use rand::Rng;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, HostMemory, Image, Kind, Target};
use spindle_contract::wire::status;
use spindle_harness::{seeded_rng, with_seeds};
use spindle_sdk::Sources;
use spindle_sim::WireOptions;
use std::path::Path;

/// Mailbox of the first message, and process at both ends.
const ADDRESS: u64 = 0x4_0000_0010;
const PROCESS: usize = 0;
/// Bytes of the host region of a context.
const ROOM: usize = 65_536;

/// A handler set of an example.
fn image(file: &str, set: &str) -> Image {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples/portals").join(file);
    let sources = Sources { portals: true, handlers: Some(set.into()), ..Sources::one(&path) };
    spindle_sdk::load(&sources).unwrap_or_else(|error| panic!("{error:#}")).image
}

/// Has a set run on messages to an address; the context and its host region.
fn install(node: &mut Node, image: &Image, address: u64) -> (ContextId, u64) {
    let host = node.memory.alloc(ROOM, 4096).unwrap();
    let options = ContextOptions { host_region: Some((host, ROOM as u32)), ..ContextOptions::default() };
    let context = node.install(image, &options).unwrap();
    node.add_rule(&format!("spindle.addr == {address:#x}").parse().unwrap(), Action::ContextPerMessage(context))
        .unwrap();
    node.activate(context).unwrap();
    (context, host)
}

/// Puts bytes to a mailbox of another node, and waits until they have left.
fn put(node: &mut Node, to: u8, address: u64, data: &[u8]) {
    let memory = node.memory.alloc(data.len(), 64).unwrap();
    node.memory.write(memory, data).unwrap();
    let target = Target { node: to, process: PROCESS as u16, address, key: 0, offset: 0, kind: Kind::Bound };
    let put = node.put(PROCESS, memory, data.len() as u32, &target).unwrap();
    node.wait_put(&put, 20_000).unwrap();
}

/// Lets the other nodes finish what has arrived.
fn settle(nodes: &mut [Node]) {
    nodes[1].memory.network().run(6_000);
}

fn number(node: &Node, address: u64) -> u64 {
    let mut bytes = [0; 8];
    node.memory.read(address, &mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

#[test]
fn sets_of_an_image_have_contexts_of_their_own() {
    with_seeds(|| {
        let mut rng = seeded_rng("sets_of_an_image");
        let mut nodes = nodes(2, WireOptions::default());
        let [echo, total, swap] = ["echo", "total", "swap"].map(|set| image("relay.c", set));
        let [for_total, for_swap] = [ADDRESS + 1, ADDRESS + 2];
        install(&mut nodes[0], &echo, ADDRESS);
        let (adder, counted) = install(&mut nodes[0], &total, for_total);
        let (swapper, swapped) = install(&mut nodes[0], &swap, for_swap);
        nodes[0].memory.write(counted, &[0; 16]).unwrap();
        let first: u64 = rng.random();
        nodes[0].memory.write(swapped, &first.to_le_bytes()).unwrap();
        nodes[0].set_receive(true).unwrap();
        nodes[1].add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        nodes[1].set_receive(true).unwrap();

        // Back from the packet, and from host memory.
        for length in [1, 8, 1000, 1408, 1409, 20_000] {
            let data: Vec<u8> = (0..length).map(|_| rng.random()).collect();
            let window = nodes[1].init_window(PROCESS, ADDRESS, 0, length as u32).unwrap();
            let posted = nodes[1].post_buffer(window, length as u32).unwrap();
            put(&mut nodes[1], 0, ADDRESS, &data);
            let completed = nodes[1].wait(&posted, 60_000).unwrap();
            assert_eq!((completed.status, completed.length as usize), (status::DONE, length));
            let mut got = vec![0; length];
            nodes[1].memory.read(posted.buffer, &mut got).unwrap();
            assert!(got == data, "a message of {length} bytes");
            nodes[1].close_window(window).unwrap();
        }

        // Sums in context memory, a count in host memory.
        let (mut sum, messages) = (0u64, 5);
        for _ in 0..messages {
            let numbers: Vec<u64> = (0..rng.random_range(1..600)).map(|_| rng.random()).collect();
            sum = numbers.iter().fold(sum, |sum, number| sum.wrapping_add(*number));
            put(
                &mut nodes[1],
                0,
                for_total,
                &numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>(),
            );
        }
        settle(&mut nodes);
        let mut state = [0; 8];
        nodes[0].read_state(adder, 0, &mut state).unwrap();
        assert_eq!((u64::from_le_bytes(state), number(&nodes[0], counted + 8)), (sum, messages));

        // A swap that fits, one that does not, and a message that is none.
        let [second, third]: [u64; 2] = rng.random();
        let request = |expected: u64, desired: u64| [expected.to_le_bytes(), desired.to_le_bytes()].concat();
        put(&mut nodes[1], 0, for_swap, &request(first, second));
        put(&mut nodes[1], 0, for_swap, &request(first, third));
        put(&mut nodes[1], 0, for_swap, &request(second, third)[..15]);
        settle(&mut nodes);
        assert_eq!(number(&nodes[0], swapped), second);
        nodes[0].read_state(swapper, 0, &mut state).unwrap();
        assert_eq!(u64::from_le_bytes(state), first, "the value that was there at the first swap");
        assert_eq!(nodes[0].context_counters(swapper).unwrap().faulted, 0, "what the NIC lacks is refused by a code");
    });
}

#[test]
fn a_tree_in_cpp_reaches_every_node() {
    with_seeds(|| {
        const NODES: usize = 6;
        let mut rng = seeded_rng("a_tree_in_cpp");
        let mut nodes = nodes(NODES, WireOptions::default());
        let tree = image("tree.cpp", "tree");
        let data: Vec<u8> = (0..3000).map(|_| rng.random()).collect();
        let mut posted = Vec::new();
        for (rank, node) in nodes.iter_mut().enumerate() {
            let (context, _) = install(node, &tree, ADDRESS);
            let state = [rank as u32, NODES as u32].map(u32::to_le_bytes).concat();
            node.write_state(context, 0, &state).unwrap();
            let window = node.init_window(PROCESS, ADDRESS, 0, data.len() as u32).unwrap();
            posted.push(node.post_buffer(window, data.len() as u32).unwrap());
            node.set_receive(true).unwrap();
        }
        put(&mut nodes[NODES - 1], 0, ADDRESS, &data);
        for (rank, (node, posted)) in nodes.iter_mut().zip(&posted).enumerate() {
            let completed = node.wait(posted, 60_000).unwrap();
            assert_eq!((completed.status, completed.length as usize), (status::DONE, data.len()), "node {rank}");
            let mut got = vec![0; data.len()];
            node.memory.read(posted.buffer, &mut got).unwrap();
            assert!(got == data, "node {rank}");
        }
    });
}
