//! Models of NICs whose frames do not all arrive: they send again, count nothing twice, and obey marks.

mod common;

use anyhow::Result;
use common::command::{same, study_with};
use common::there;
use serde_json::Value;
use spindle::congestion::Congestion;
use spindle_contract::params::Config;
use spindle_network::endpoint::{Endpoint, Frame, Outgoing, Report};
use spindle_network::engine::{Network, Physics, Ranks};
use spindle_network::model::{parameters, Model, ACK_BYTES};
use spindle_network::motif::{Motif, Post, Put, Task};
use spindle_network::topology::{Shape, Topology};
use spindle_network::transport::Transport;
use std::sync::Arc;

/// A frame that a model sends, by its number among those of its kind.
#[derive(Clone, Copy, PartialEq)]
enum Sent {
    Data(usize),
    Ack(usize),
}

/// Messages of node 0 to node 1 on a cable that loses the frames that `loses` names; the reports after so many cycles, and those at the
/// end of all programs.
fn two(lengths: &[u32], transport: Transport, cycles: u64, loses: fn(u32, Sent) -> bool) -> [Vec<Report>; 2] {
    let config = Config::SIM;
    let tasks = lengths.iter().map(|bytes| Task::put(Put::new(1, *bytes))).collect();
    let motif = Motif::of(vec![tasks, vec![]], Post::Ring, &config);
    let parameters = Arc::new(parameters(config.name).unwrap());
    let endpoint = |node: u32| -> Result<Box<dyn Endpoint>> {
        let endpoint = Model::new(node, &motif, parameters.clone(), transport);
        let (mut data, mut acks) = (0, 0);
        let passes = move |frame: &Frame| {
            let (count, kind): (_, fn(usize) -> Sent) = match frame.length {
                ACK_BYTES => (&mut acks, Sent::Ack),
                _ => (&mut data, Sent::Data),
            };
            *count += 1;
            !loses(node, kind(*count - 1))
        };
        Ok(Box::new(Outgoing { endpoint, passes }))
    };
    let topology = Topology::new(&Shape::Cable).unwrap();
    let mut network = Network::new(Ranks::join().unwrap(), &topology, Physics::default(), endpoint).unwrap();
    let (mut now, mut ended) = (motif.start, None);
    while now < motif.start + cycles {
        now += 500;
        network.run(now).unwrap();
        if ended.is_none() && network.done().unwrap() {
            ended = Some(network.reports().unwrap());
        }
    }
    let mut all = [ended.expect("all programs end"), network.reports().unwrap()];
    // From the start on.
    all.iter_mut().flatten().for_each(|report| report.values[1] = report.values[1].saturating_sub(motif.start));
    all
}

fn lossy() -> Transport {
    Transport::new(None, None, true)
}

/// Messages that came, cycle of the last record, frames sent again, timeouts.
fn values(reports: &[Report]) -> [u64; 4] {
    let [sender, receiver] = reports else { panic!("two nodes") };
    [receiver.values[0], receiver.values[1], sender.values[2], sender.values[3]]
}

#[test]
fn the_last_frame_of_a_message_is_repaired_by_a_timeout() {
    if !there() {
        return;
    }
    let windows = Transport::new(Some(Congestion::default()), None, false);
    // Without windows the last frame alone asks for an acknowledgement, so all three are sent again.
    for (transport, again) in [(lossy(), 3), (Transport::new(None, None, false), 3), (windows, 1)] {
        let [ended, later] = two(&[4000], transport, 40_000, |node, sent| node == 0 && sent == Sent::Data(2));
        let [came, last, repeated, timeouts] = values(&ended);
        assert_eq!((came, repeated, timeouts), (1, again, 1), "{transport:?}");
        // A timeout of 128 units of 64 cycles, and up to 4,096 cycles until the sender looks.
        assert!((8000..13_500).contains(&last), "{transport:?}: {last}");
        assert_eq!(values(&later), values(&ended), "nothing is sent again after that");
    }
}

#[test]
fn a_hole_is_repaired_by_a_bitmap_and_without_a_timeout() {
    if !there() {
        return;
    }
    // A hole shows when it is 16 units of 64 cycles old: the message is longer than that. What is sent again waits for ten frames before
    // the link, so its acknowledgement comes before it is that old once more.
    for transport in [lossy(), Transport::new(Some(Congestion::default()), None, false)] {
        let loses = |node, sent| node == 0 && sent == Sent::Data(3);
        let [ended, later] = two(&[300_000], transport, 40_000, loses);
        let [came, last, repeated, timeouts] = values(&ended);
        assert_eq!((came, repeated, timeouts), (1, 1, 0), "{transport:?}");
        assert!(last < 8000, "{transport:?}: {last}");
        assert_eq!(values(&later), values(&ended));
    }
}

#[test]
fn lost_acknowledgements_have_frames_sent_again_which_count_once() {
    if !there() {
        return;
    }
    for (transport, again) in [(lossy(), 3), (Transport::new(Some(Congestion::default()), None, false), 1)] {
        // Neither the acknowledgement of the message nor that of the first frame that is sent again comes.
        let [ended, later] = two(&[4000], transport, 60_000, |node, sent| match sent {
            Sent::Ack(number) => node == 1 && number < 2,
            Sent::Data(_) => false,
        });
        assert_eq!(values(&ended)[0], 1);
        let [came, last, repeated, timeouts] = values(&later);
        assert_eq!((came, last), (1, values(&ended)[1]), "the message comes once");
        assert!(timeouts >= 1 && repeated >= again, "{transport:?}: {repeated} frames, {timeouts} timeouts");
        let frames = later[1].received;
        assert!(frames == 3 + repeated, "{frames} frames came, {repeated} were sent again");
    }
}

#[test]
fn a_node_that_never_answers_is_given_up_with_a_sentence() {
    if !there() {
        return;
    }
    let text = "[topology]\nkind = 'star'\nnodes = 2\n[cables]\nloss = 1.0\n[nodes]\nkind = 'model'\n\
                [program]\nkind = 'motif'\npattern = 'ring'\nmessages = 1\nbytes = 8\n";
    let words = study_with(text, 1, &[], &[]).unwrap_err();
    assert!(words.contains("after 15 timeouts in a row, and gives it up; give cables less loss"), "{words}");
}

fn sum(result: &Value, name: &str) -> u64 {
    result["nodes"].as_array().unwrap().iter().map(|node| node[name].as_u64().unwrap()).sum()
}

const LOSSY: &str = "[topology]\nkind = 'fat_tree'\ndown = [2, 4]\nup = [2]\n\
                     [cables]\nloss = 0.01\ncorruption = 0.004\n\
                     [switches]\nrouting = 'adaptive'\n\
                     [nodes]\nkind = 'model'\n\
                     [program]\nkind = 'motif'\npattern = 'all_to_all'\nmessages = 14\nbytes = 20000\n";

#[test]
fn motifs_on_lossy_cables_end_with_all_messages_and_are_the_same_on_1_and_2_ranks() {
    if !there() {
        return;
    }
    for more in ["", "[congestion]\nfirst = 16\n"] {
        let result = same(&format!("{LOSSY}{more}"), &[2]);
        assert!(result["nodes"].as_array().unwrap().iter().all(|node| node["messages"] == 14), "{result:#}");
        for count in ["lost", "corrupted"] {
            assert!(result["frames"][count].as_u64().unwrap() > 0, "{count}: {}", result["frames"]);
        }
        assert!(sum(&result, "repeated") > 10);
    }
    // An application, whose hosts wait for acknowledgements.
    let text = LOSSY.replace(
        "pattern = 'all_to_all'\nmessages = 14\nbytes = 20000\n",
        "pattern = 'halo'\ngrid = [2, 2, 2]\niterations = 4\nbytes = 8192\narm = 'write_host_fence_send'\n",
    );
    let result = same(&text, &[2]);
    assert!(result["nodes"].as_array().unwrap().iter().all(|node| node["messages"].as_u64() > Some(20)), "{result:#}");
}

const INCAST: &str = "[topology]\nkind = 'star'\nnodes = 16\n[switches]\nqueue_bytes = 32768\nmark_bytes = 8192\n\
                      [nodes]\nkind = 'model'\n\
                      [program]\nkind = 'motif'\npattern = 'incast'\nmessages = 1\nbytes = 400000\n";

#[test]
fn an_incast_through_a_short_output_ends_and_marks_bound_the_drops() {
    if !there() {
        return;
    }
    let with = |more: &str| study_with(&format!("{INCAST}{more}"), 1, &[], &[]).unwrap().0;
    let (obeyed, ignored) = (with("[congestion]\nfirst = 8\n"), with(""));
    let cycles = |result: &Value| {
        let last = result["nodes"][0]["last_message_cycle"].as_u64().unwrap();
        last - result["start_cycle"].as_u64().unwrap()
    };
    let frames = |result: &Value, name: &str| result["frames"][name].as_u64().unwrap();
    for result in [&obeyed, &ignored] {
        assert_eq!(result["nodes"][0]["messages"], 15);
        assert!(frames(result, "dropped") > 0, "{}", result["frames"]);
    }
    // Of 15 times 285 frames; the first windows are 120 frames, of which 22 fit into the output.
    assert!(frames(&obeyed, "dropped") < 300, "{}", obeyed["frames"]);
    assert!(frames(&ignored, "dropped") > 4 * frames(&obeyed, "dropped"), "{}", ignored["frames"]);
    assert!(frames(&obeyed, "marked") > 100, "{}", obeyed["frames"]);
    // The line takes 24 cycles for each frame.
    assert!(cycles(&obeyed) < 15 * 285 * 24 * 5 / 4, "{}", cycles(&obeyed));
    assert!(cycles(&ignored) > cycles(&obeyed), "{} and {}", cycles(&ignored), cycles(&obeyed));
}
