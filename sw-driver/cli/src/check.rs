//! What should have happened to every frame, by models that know neither the hardware nor the handlers' code, compared with what
//! did happen.

use crate::play::Played;
use anyhow::{bail, ensure, Result};
use spindle::rule::Headers;
use spindle::Rule;
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::reasons::{self, DROP_COUNT, DROP_REASONS};
use spindle_model::handlers::{Circumstances, Handler, Outcome};
use spindle_model::packet_engine::parser::{parse, Verdict};

/// A handler under test: its frames and their expected results.
pub struct Expected<'a> {
    /// Rules, in the order of the card.
    pub rules: &'a [Rule],
    /// Model of its handler.
    pub model: Handler,
    /// Bytes of its host region.
    pub host_bytes: usize,
}

/// What should come out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The answer to each frame, if it gets one.
    pub answers: Vec<Option<Vec<u8>>>,
    /// Bytes of the host region: offset and content, later ones over earlier ones.
    pub host: Vec<(usize, Vec<u8>)>,
    /// Frames dropped, by reason.
    pub drops: [u32; DROP_COUNT],
    /// Frames that were passed on to mailboxes, whose fate is not predicted here.
    pub proceeded: u32,
}

impl Default for Expectation {
    fn default() -> Self {
        Expectation { answers: vec![], host: vec![], drops: [0; DROP_COUNT], proceeded: 0 }
    }
}

/// Predicts what becomes of `frames`: the first of `handlers` with a rule that matches gets a frame.
pub fn predict(handlers: &[Expected], frames: &[Vec<u8>], numbers: &[u16]) -> Expectation {
    let mut expectation = Expectation::default();
    for (frame, number) in frames.iter().zip(numbers) {
        let mut answer = None;
        let mut drop = |reason: usize| expectation.drops[reason] += 1;
        match parse(frame, SPINDLE_PORT) {
            Verdict::Drop(reason) => drop(reason),
            Verdict::Accept(parsed) => {
                let headers = Headers { frame, flags: parsed.flags() };
                match handlers.iter().find(|h| h.rules.iter().any(|rule| rule.matches(&headers))) {
                    None => drop(reasons::NO_RULE),
                    Some(handler) => {
                        match (handler.model)(frame, Circumstances { number: *number, host_bytes: handler.host_bytes })
                        {
                            Outcome::Answer(bytes) => answer = Some(bytes),
                            Outcome::ToHost(offset, bytes) => expectation.host.push((offset, bytes)),
                            Outcome::Drop => drop(reasons::HANDLER_DROP),
                            Outcome::Proceed => expectation.proceeded += 1,
                        }
                    }
                }
            }
        }
        expectation.answers.push(answer);
    }
    expectation
}

/// Compares answers, byte by byte; gives their number.
pub fn compare_answers(expectation: &Expectation, played: &Played) -> Result<usize> {
    let mut seen = vec![false; expectation.answers.len()];
    for (position, reply) in played.replies.iter().enumerate() {
        let Some(cause) = reply.cause else { bail!("frame {position} out has no cause: no frame in has its number") };
        let Some(wanted) = &expectation.answers[cause] else {
            bail!("frame {cause} was answered and should not have been")
        };
        ensure!(!seen[cause], "frame {cause} was answered twice");
        seen[cause] = true;
        compare_bytes(&format!("the answer to frame {cause}"), wanted, &reply.frame.bytes)?;
    }
    if let Some(missing) = (0..seen.len()).find(|i| expectation.answers[*i].is_some() && !seen[*i]) {
        let count = (0..seen.len()).filter(|i| expectation.answers[*i].is_some() && !seen[*i]).count();
        bail!("{count} frames were not answered and should have been, the first is frame {missing}");
    }
    Ok(played.replies.len())
}

/// Compares the counters of drops with the prediction.
pub fn compare_drops(expectation: &Expectation, drops: &[u32; DROP_COUNT]) -> Result<()> {
    for (reason, (name, _)) in DROP_REASONS.iter().enumerate() {
        let (wanted, got) = (expectation.drops[reason], drops[reason]);
        ensure!(wanted == got, "{got} frames were dropped for `{name}`, the model says {wanted}");
    }
    Ok(())
}

/// Compares two strings of bytes and names the first that differs.
pub fn compare_bytes(what: &str, wanted: &[u8], got: &[u8]) -> Result<()> {
    if let Some(at) = (0..wanted.len().min(got.len())).find(|at| wanted[*at] != got[*at]) {
        bail!("{what} differs at byte {at}: {:#04x} instead of {:#04x}", got[at], wanted[at]);
    }
    ensure!(wanted.len() == got.len(), "{what} has {} bytes instead of {}", got.len(), wanted.len());
    Ok(())
}

/// The host region as the expectation wants it, zero where nothing was written.
pub fn host_region(expectation: &Expectation, bytes: usize) -> Vec<u8> {
    let mut region = vec![0; bytes];
    for (offset, content) in &expectation.host {
        region[*offset..offset + content.len()].copy_from_slice(content);
    }
    region
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::Reply;
    use spindle::stats::Stats;
    use spindle_model::frames::{echo_request, udp, Ends};
    use spindle_model::handlers::by_name;
    use spindle_sim::SentFrame;

    fn played(answers: &[Option<Vec<u8>>]) -> Played {
        let replies = answers.iter().enumerate().filter_map(|(i, answer)| {
            Some(Reply { cause: Some(i), frame: SentFrame { bytes: answer.clone()?, first: 0, last: 0 } })
        });
        Played {
            replies: replies.collect(),
            numbers: vec![],
            arrivals: vec![],
            span: (0, 0),
            stats: Stats::default(),
            printed: Vec::new(),
            faults: Vec::new(),
            events_lost: 0,
            interrupted: false,
            drained: true,
        }
    }

    #[test]
    fn every_wrong_byte_is_noticed() {
        let rules = ["udp".parse().unwrap()];
        let handler = Expected { rules: &rules, model: by_name("ping_pong").unwrap(), host_bytes: 0 };
        let ends = Ends::default();
        let frames =
            [udp(&ends, 1, 2, b"one"), echo_request(&ends, 1, 1, b"two"), udp(&ends, 3, 4, b"three"), vec![0; 5]];
        let expectation = predict(&[handler], &frames, &[0, 1, 2, 3]);
        assert_eq!((expectation.drops[reasons::NO_RULE], expectation.drops[reasons::RUNT]), (1, 1));
        assert_eq!(compare_answers(&expectation, &played(&expectation.answers)).unwrap(), 2);
        compare_drops(&expectation, &expectation.drops).unwrap();
        for at in 0..frames[2].len() {
            let mut right = played(&expectation.answers);
            right.replies[1].frame.bytes[at] ^= 1;
            let error = compare_answers(&expectation, &right).unwrap_err().to_string();
            assert!(error.contains(&format!("frame 2 differs at byte {at}:")), "{error}");
        }
        let mut short = played(&expectation.answers);
        short.replies[0].frame.bytes.pop();
        assert!(compare_answers(&expectation, &short).is_err());
        let mut missing = played(&expectation.answers);
        missing.replies.remove(0);
        assert!(compare_answers(&expectation, &missing).unwrap_err().to_string().contains("not answered"));
        let mut surplus = played(&expectation.answers);
        surplus.replies[0].cause = Some(1);
        assert!(compare_answers(&expectation, &surplus).is_err());
        let mut drops = expectation.drops;
        drops[reasons::NO_RULE] += 1;
        assert!(compare_drops(&expectation, &drops).unwrap_err().to_string().contains("no_rule"));
    }
}
