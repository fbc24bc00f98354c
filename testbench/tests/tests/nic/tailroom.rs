//! Tailroom, end to end: zeros after each packet, and replies that are longer than their requests.

use crate::nic::bench::{random_gaps, Nic};
use rand::{Rng, RngCore};
use spindle::rule_table::Action;
use spindle::ContextOptions;
use spindle_contract::params::SLOT_BYTES;
use spindle_contract::reasons::{HANDLER_DROP, T_FIRST_BEAT, T_HANDLER_START};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{dns_query, udp, Ends, UDP_HEADERS};
use spindle_model::handlers::{by_name, Circumstances, Outcome};
use spindle_sim::{Options, WireFrame};

/// Sends the whole region, waits, and leaves nothing of it zero.
const ALL: &str = r#"
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_send_packet(spin_packet(h), spin_room(h));
    spin_wait();
    memset(spin_packet(h), 0xa5, spin_room(h));
    return SPIN_PROCESS_DATA;
}"#;

#[test]
fn a_region_is_the_packet_and_zeros() {
    with_seeds(|| {
        let mut random = seeded_rng("nic_tailroom");
        let frames: Vec<Vec<u8>> = (0..160usize)
            .map(|i| {
                let mut payload = vec![0; [18 + i % 64, random.random_range(18..800), 1900 + i][i % 3]];
                random.fill_bytes(&mut payload);
                udp(&Ends::default(), [3, 4][i % 2], 9, &payload)
            })
            .collect();
        let mut nic = Nic::new(Options { seed: seed_of_run("nic_tailroom"), ..Options::default() });
        // Two contexts share the slots.
        let rooms = [192, 0];
        for (port, tailroom) in rooms.into_iter().enumerate() {
            let context = nic.install_source(ALL, ContextOptions { tailroom, ..ContextOptions::default() }).context;
            nic.rule(&format!("udp.sport == {}", 3 + port), Action::Context(context));
            nic.device.activate(context).unwrap();
        }
        nic.device.set_receive(true).unwrap();
        let played = nic.play(random_gaps(&frames, 200, &mut random));
        for (i, frame) in frames.iter().enumerate() {
            let mut wanted = frame[..frame.len().min(SLOT_BYTES)].to_vec();
            wanted.resize((wanted.len() + usize::from(rooms[i % 2])).min(SLOT_BYTES), 0);
            let sent: Vec<&[u8]> =
                played.sent.iter().filter(|sent| sent.0 == i).map(|sent| &sent.1.bytes[..]).collect();
            if frame.len() > SLOT_BYTES {
                // The SDK refuses a frame that is cut.
                assert!(sent.is_empty(), "frame {i} of {} bytes", frame.len());
            } else {
                assert_eq!(sent, [&wanted[..]], "frame {i} of {} bytes", frame.len());
            }
        }
        nic.assert_empty();
    });
}

/// The example `dns`, whose image declares its tailroom: answers are longer than queries, and have right checksums.
#[test]
fn answers_are_longer_than_queries() {
    with_seeds(|| {
        let mut random = seeded_rng("nic_dns");
        let model = by_name("dns").unwrap();
        let frames: Vec<Vec<u8>> = (0..120u16)
            .map(|i| {
                let name = "spindle.".repeat(random.random_range(1..12));
                let kind = if i % 8 == 0 { 28 } else { 1 };
                let ends = Ends { vlan: (i % 3 == 0).then_some(4), ..Ends::default() };
                dns_query(&ends, 1000 + i, i, &name, kind, &[5; 11][..usize::from(i) % 12])
            })
            .collect();
        let mut nic = Nic::new(Options { tx_ready_percent: 80, seed: seed_of_run("nic_dns"), ..Options::default() });
        nic.handler("dns", "udp.dport == 53", ContextOptions::default());
        nic.device.set_receive(true).unwrap();
        let played = nic.play(random_gaps(&frames, 100, &mut random));
        let mut longer = 0;
        let mut drops = 0;
        for (i, frame) in frames.iter().enumerate() {
            let sent: Vec<&Vec<u8>> = played.sent.iter().filter(|sent| sent.0 == i).map(|sent| &sent.1.bytes).collect();
            match model(frame, Circumstances { number: played.numbers[i], host_bytes: 0 }) {
                Outcome::Answer(answer) => {
                    assert_eq!(sent, [&answer], "query {i}");
                    longer += usize::from(answer.len() > frame.len());
                }
                _ => {
                    assert!(sent.is_empty(), "query {i}");
                    drops += 1;
                }
            }
        }
        assert!(longer > 80, "{longer} answers are longer than their queries");
        assert_eq!(played.drops[HANDLER_DROP], drops);
        assert_eq!(nic.device.sends_unsummed().unwrap(), 0);
        nic.assert_empty();
    });
}

/// Cycles from the first beat of frames of `length` bytes to their handler, with this tailroom: that of most frames.
fn to_handler(tailroom: u16, length: usize) -> u64 {
    let mut nic = Nic::new(Options::default());
    nic.handler("ping_pong", "udp", ContextOptions { tailroom, ..ContextOptions::default() });
    nic.device.set_receive(true).unwrap();
    let frames = vec![udp(&Ends::default(), 1, 2, &vec![7; length - UDP_HEADERS]); 24];
    let idle = |bytes: &Vec<u8>| WireFrame { bytes: bytes.clone(), gap: 400, bad: false };
    nic.play(frames.iter().map(idle));
    nic.play(frames.iter().map(idle));
    let mut latencies = nic.card.sim().trace().latencies(T_FIRST_BEAT, T_HANDLER_START);
    latencies.sort_unstable();
    latencies[latencies.len() / 2]
}

/// The packet arrives as soon as the task: n beats of tailroom cost n + 1 cycles.
#[test]
fn cycles_of_a_tailroom() {
    for length in [64, 512] {
        let without = to_handler(0, length);
        let cost: Vec<u64> = [1, 2, 3, 4, 5, 8, 16].map(|beats| to_handler(64 * beats, length) - without).to_vec();
        assert_eq!(cost, [2, 3, 4, 5, 6, 9, 17], "frames of {length} bytes, {without} cycles without");
    }
}
