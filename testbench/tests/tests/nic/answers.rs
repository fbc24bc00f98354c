//! Every frame that a handler wants is answered, byte for byte as the handler's model says, and no other is.

use crate::nic::bench::{random_gaps, Nic, Played};
use rand::seq::SliceRandom;
use rand::RngCore;
use spindle::rule::Headers;
use spindle::{ContextOptions, Rule};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::reasons::{DROP_COUNT, HANDLER_DROP, NO_RULE};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{echo_request, udp, udp_without_checksum, Ends};
use spindle_model::handlers::{by_name, Circumstances, Outcome};
use spindle_model::packet_engine::parser::{parse, Verdict};
use spindle_sim::{capture, Options};
use std::path::Path;

const HANDLERS: [(&str, &str); 2] = [("ping_pong", "udp"), ("icmp_echo", "icmp.type == 8")];

/// A NIC that answers UDP and pings.
fn answering(mut nic: Nic) -> Nic {
    for (name, rule) in HANDLERS {
        nic.handler(name, rule, ContextOptions::default());
    }
    nic.device.set_receive(true).unwrap();
    nic
}

/// Compares answers and drops with the models; gives the number of answers.
fn judge(frames: &[Vec<u8>], played: &Played) -> Result<usize, String> {
    let rules = HANDLERS.map(|(name, rule)| (by_name(name).unwrap(), rule.parse::<Rule>().unwrap()));
    let mut drops = [0; DROP_COUNT];
    let mut answers = 0;
    for (i, frame) in frames.iter().enumerate() {
        let expected = match parse(frame, SPINDLE_PORT) {
            Verdict::Drop(reason) => Err(reason),
            Verdict::Accept(parsed) => match rules
                .iter()
                .find(|(_, rule)| rule.matches(&Headers { frame, flags: parsed.flags() }))
            {
                None => Err(NO_RULE),
                Some((model, _)) => match model(frame, Circumstances { number: played.numbers[i], host_bytes: 0 }) {
                    Outcome::Answer(answer) => Ok(answer),
                    _ => Err(HANDLER_DROP),
                },
            },
        };
        let got: Vec<&Vec<u8>> =
            played.sent.iter().filter(|(cause, _)| *cause == i).map(|(_, sent)| &sent.bytes).collect();
        match expected {
            Ok(answer) if got == [&answer] => answers += 1,
            Ok(answer) => return Err(format!("frame {i} is to be answered by {answer:?}, answers are {got:?}")),
            Err(_) if !got.is_empty() => return Err(format!("frame {i} is not to be answered")),
            Err(reason) => drops[reason] += 1,
        }
    }
    if drops != played.drops {
        return Err(format!("drops are {:?}", played.drop_names()));
    }
    Ok(answers)
}

#[test]
fn the_capture_with_random_gaps_and_back_pressure() {
    with_seeds(|| the_capture_is_answered(Nic::new));
}

/// Plays the capture into the NIC that `open` gives; half of the time the wire takes nothing.
pub fn the_capture_is_answered(open: impl Fn(Options) -> Nic) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/kernel.pcap");
    let frames: Vec<_> = capture::read(&path).unwrap().into_iter().map(|packet| packet.bytes).collect();
    let mut nic =
        answering(open(Options { tx_ready_percent: 50, seed: seed_of_run("nic_capture"), ..Options::default() }));
    let mut random = seeded_rng("nic_capture");
    let mut played = nic.play(random_gaps(&frames, 200, &mut random));
    let answers = judge(&frames, &played).unwrap();
    // Every datagram and every ping of the capture, counted without our parser.
    let asks = |frame: &&Vec<u8>| frame[12..14] == [8, 0] && (frame[23] == 17 || frame[23] == 1 && frame[34] == 8);
    assert_eq!(answers, frames.iter().filter(asks).count());
    assert!(answers > 100);
    nic.assert_empty();
    // The judge is worth something: one wrong bit, one lost answer.
    played.sent[7].1.bytes[40] ^= 1;
    assert!(judge(&frames, &played).is_err());
    played.sent[7].1.bytes[40] ^= 1;
    played.sent.pop();
    assert!(judge(&frames, &played).is_err());
}

#[test]
fn every_length_from_64_to_1514() {
    with_seeds(|| {
        for (name, tx_ready_percent, limit) in [("nic_lengths", 100, 160), ("nic_lengths_slow", 35, 260)] {
            let seed = seed_of_run(name);
            let mut random = seeded_rng(name);
            // Primes; those lengths that are not near a boundary are shared out over the seeds.
            let step = if tx_ready_percent == 100 { 13 } else { 17 };
            let mut frames: Vec<Vec<u8>> = (64..=1514usize)
                .filter(|length| length % step == seed as usize % step || length % 64 < 2 || *length > 1510)
                .map(|length| {
                    let ends = Ends { vlan: (length % 3 == 0).then_some(9), ..Ends::default() };
                    let mut payload = vec![0; length - if ends.vlan.is_some() { 46 } else { 42 }];
                    random.fill_bytes(&mut payload);
                    match length % 4 {
                        0 => udp_without_checksum(&ends, 7, 8, &payload),
                        1 => echo_request(&ends, 5, length as u16, &payload),
                        _ => udp(&ends, 7, 8, &payload),
                    }
                })
                .collect();
            frames.shuffle(&mut random);
            let mut nic = answering(Nic::new(Options { tx_ready_percent, seed, ..Options::default() }));
            let played = nic.play(random_gaps(&frames, limit, &mut random));
            assert_eq!(judge(&frames, &played), Ok(frames.len()));
            nic.assert_empty();
            if tx_ready_percent == 100 {
                assert_eq!(nic.card.sim().tx_bubbles(), 0, "no hole inside a frame");
            }
        }
    });
}
