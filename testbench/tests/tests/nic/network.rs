//! Two NICs on a wire: what processes and handlers of one put arrives in mailboxes of the other, in whatever order the wire
//! lets it.

use crate::nic::bench::{example, nodes, Node};
use rand::Rng;
use spindle::rule_table::Action;
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextOptions, Error, HostMemory, Kind, Reply, Target};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::wire::status;
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{put_message, Ends, SpindleHeader};
use spindle_sim::{Routing, WireFrame, WireOptions};

const ADDRESS: u64 = 0x1234;
const KEY: u32 = 0; // of the handler's image
const SIZE: usize = 40_000;

/// Sends a message through the first NIC, whose handlers put it to the second packet by packet; what stands there in the
/// end.
fn passed_on(wire: WireOptions) -> (Vec<u8>, Vec<u8>, Vec<Node>) {
    let mut rng = seeded_rng("passed_on");
    let mut nodes = nodes(2, wire);
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
    with_seeds(|| {
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
    });
}

/// Processes of both NICs put messages of all lengths to each other at the same time.
#[test]
fn processes_put_to_each_other() {
    with_seeds(|| {
        const MESSAGES: usize = 12;
        const PROCESS: usize = 3;
        let mut rng = seeded_rng("processes_put_to_each_other");
        let wire = WireOptions { routing: Routing::Adaptive, paths: 3, step: 700, ..WireOptions::default() };
        let mut nodes = nodes(2, wire);
        let mut sent: [Vec<Vec<u8>>; 2] = Default::default();
        let mut posted: [Vec<_>; 2] = Default::default();
        for (device, (sent, posted)) in nodes.iter_mut().zip(sent.iter_mut().zip(&mut posted)) {
            device.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
            for i in 0..MESSAGES {
                let length = [1, 63, 1408, 1409, 9000][rng.random_range(0..5)] + rng.random_range(0..200);
                sent.push((0..length).map(|_| rng.random()).collect());
                // A mailbox for each message, of the length that the other one sends.
                let window = device.init_window(PROCESS, ADDRESS + i as u64, 5, 1).unwrap();
                posted.push(device.post_buffer(window, 10_000).unwrap());
            }
            device.set_receive(true).unwrap();
        }
        let mut puts: [Vec<_>; 2] = Default::default();
        for (i, pair) in sent[0].iter().zip(&sent[1]).enumerate() {
            for (from, data) in [pair.0, pair.1].into_iter().enumerate() {
                let memory = nodes[from].memory.alloc(data.len(), 1).unwrap() + i as u64;
                nodes[from].memory.write(memory, data).unwrap();
                let address = ADDRESS + i as u64;
                let target = Target {
                    node: 1 - from as u8,
                    process: PROCESS as u16,
                    address,
                    key: 5,
                    offset: 7 * i as u32,
                    kind: Kind::Bound,
                };
                puts[from].push(nodes[from].put(PROCESS, memory, data.len() as u32, &target).unwrap());
            }
        }
        for to in 0..2 {
            for (i, data) in sent[1 - to].iter().enumerate() {
                let completed = nodes[to].wait(&posted[to][i], 100_000).unwrap();
                assert_eq!((completed.status, completed.length as usize), (status::DONE, data.len()));
                let mut got = vec![0; data.len()];
                nodes[to].memory.read(posted[to][i].buffer + 7 * i as u64, &mut got).unwrap();
                assert!(got == *data, "message {i} to {to}");
            }
            assert!(puts[to].iter().all(|put| nodes[to].put_is_over(put).unwrap()));
        }
        // To a node that is not there: over at once, and counted.
        let target = Target { node: 9, process: 0, address: 0, key: 0, offset: 0, kind: Kind::Bound };
        let nowhere = nodes[0].put(PROCESS, 0, 100, &target).unwrap();
        nodes[0].wait_put(&nowhere, 10_000).unwrap();
        assert_eq!((nodes[0].failed_puts().unwrap(), nodes[1].failed_puts().unwrap()), (1, 0));
        // An empty put is an operation, also of a card that does not send reliably. An empty get is refused.
        let options = WindowOptions { address: ADDRESS + 100, key: 5, threshold: 1, ..WindowOptions::default() };
        let options = WindowOptions { counting: Counting::Operations, ..options };
        let window = nodes[1].open_window(PROCESS, &options).unwrap();
        let posted = nodes[1].post_buffer(window, 64).unwrap();
        let target = Target { node: 1, process: PROCESS as u16, address: ADDRESS + 100, key: 5, ..target };
        let empty = nodes[0].put(PROCESS, 0, 0, &target).unwrap();
        nodes[0].wait_put(&empty, 10_000).unwrap();
        let completed = nodes[1].wait(&posted, 100_000).unwrap();
        assert_eq!((completed.status, completed.length), (status::DONE, 0));
        let reply = Reply { address: 0, key: 0, offset: 0 };
        assert!(matches!(nodes[0].get(PROCESS, 0, &target, &reply), Err(Error::Argument(_))));
    });
}

/// A packet that the wire loses is missing, and nothing else is.
#[test]
fn what_the_wire_loses_is_missing() {
    with_seeds(|| {
        let (sent, got, nodes) =
            passed_on(WireOptions { loss: 0.2, seed: seed_of_run("passed_on_lossy"), ..WireOptions::default() });
        let counts = nodes[0].memory.network().counts();
        let missing = sent.chunks(1408).zip(got.chunks(1408)).filter(|(a, b)| a != b).count() as u64;
        assert!(missing > 0 && missing < 20, "{missing}");
        assert_eq!((missing, counts.delivered), (counts.lost, counts.sent - counts.lost));
        assert!(sent.chunks(1408).zip(got.chunks(1408)).all(|(a, b)| a == b || b.iter().all(|byte| *byte == 0)));
    });
}
