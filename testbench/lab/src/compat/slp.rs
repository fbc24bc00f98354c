//! The example `slp`: a perceptron that one packet trains and the others query.

use super::cases::{payload, turned};
use super::ran::{little_endian, Did, Ran};
use anyhow::Result;
use spindle_contract::wire::{ETH_BYTES, IPV4_BYTES, UDP_BYTES};
use spindle_model::frames::{udp, Ends};

/// Inputs of the perceptron.
const INPUTS: usize = 8;
/// Kind of a packet and number of its samples, each in a word.
const HEADER: usize = 8;
const TRAIN: u8 = 0;
const ASK: u8 = 1;

/// Samples of a packet: small numbers, and whether they lie above a plane.
fn samples(packet: i32, count: i32) -> Vec<([i32; INPUTS], i32)> {
    let input =
        |sample: i32| std::array::from_fn(|k| (packet * 31 + sample * 7 + k as i32 * 5 + sample * k as i32) % 11);
    (0..count).map(input).map(|x: [i32; INPUTS]| (x, i32::from(x[0] - 2 * x[1] > 1))).collect()
}

fn body(kind: u8, samples: &[([i32; INPUTS], i32)]) -> Vec<u8> {
    let mut words = vec![i32::from(kind), samples.len() as i32];
    words.extend(samples.iter().flat_map(|(inputs, _)| inputs));
    if kind == TRAIN {
        words.extend(samples.iter().map(|(_, output)| output));
    }
    words.into_iter().flat_map(i32::to_le_bytes).collect()
}

/// One packet to learn from, the rest to answer.
pub fn frames() -> Vec<Vec<u8>> {
    let packet = |i: i32| match i {
        0 => body(TRAIN, &samples(0, 24)),
        _ => body(ASK, &samples(i, 3 + i)),
    };
    (0..16).map(|i| udp(&Ends::default(), 0xdead, 0xbeef, &packet(i))).collect()
}

fn answer(weights: &[i32], inputs: &[i32]) -> i32 {
    let sum: i32 = inputs.iter().zip(weights).map(|(x, w)| x * w).sum::<i32>() + weights[INPUTS];
    i32::from(sum >= 0)
}

/// Weights after one pass over the samples.
fn trained(samples: &[([i32; INPUTS], i32)]) -> Vec<i32> {
    let mut weights = vec![0; INPUTS + 1];
    for (inputs, output) in samples {
        let error = output - answer(&weights, inputs);
        for (weight, x) in weights.iter_mut().zip(inputs.iter().chain([&1])) {
            *weight += error * x;
        }
    }
    weights
}

/// The answer to a packet: its header, then a word for each sample; lengths are right, checksums are left as they were.
fn reply(frame: &[u8], weights: &[i32]) -> Vec<u8> {
    let words: Vec<i32> = little_endian(&payload(frame)[HEADER..]).into_iter().map(|word| word as i32).collect();
    let answers: Vec<u8> = words.chunks(INPUTS).flat_map(|inputs| answer(weights, inputs).to_le_bytes()).collect();
    let bytes = UDP_BYTES + HEADER + answers.len();
    let mut back = turned(frame)[..ETH_BYTES + IPV4_BYTES + bytes].to_vec();
    back[ETH_BYTES + 2..][..2].copy_from_slice(&((IPV4_BYTES + bytes) as u16).to_be_bytes());
    back[ETH_BYTES + IPV4_BYTES + 4..][..2].copy_from_slice(&(bytes as u16).to_be_bytes());
    back.truncate(back.len() - answers.len());
    back.extend(answers);
    back
}

/// Weights are learned in the scratchpad of cluster 0 and copied to those of the others.
pub fn judge(ran: &mut Ran) -> Result<Did> {
    let weights = trained(&samples(0, 24));
    for cluster in 0..super::ran::SCRATCHPADS {
        let found: Vec<i32> = ran.scratchpad(0, cluster, INPUTS + 1)?.into_iter().map(|word| word as i32).collect();
        anyhow::ensure!(found == weights, "the weights of cluster {cluster} are {found:?} instead of {weights:?}");
    }
    ran.answered(|frame| match payload(frame)[0] {
        ASK => vec![reply(frame, &weights)],
        _ => vec![],
    })?;
    Ok(Did {
        bytes_to_host: ran.host_has([])?,
        sentence: "trained by the first packet, right answers to the others".into(),
    })
}
