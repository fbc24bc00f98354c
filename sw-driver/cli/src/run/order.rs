//! Replies out of order.
//!
//! Replies are taken in the order of their first beats on TX. A reply is out of order if the frame that caused it
//! entered before the frame that caused an earlier reply (RFC 4737's definition, with the frame's place in the capture
//! as sequence number). Several replies to one frame are in order.

use crate::play::Played;
use serde::Serialize;
use spindle_contract::params::SPINDLE_PORT;
use spindle_model::packet_engine::parser::{parse, Verdict};
use std::collections::HashMap;

/// Replies out of order.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct OutOfOrder {
    /// Among all replies of the context.
    pub replies: usize,
    /// Among the replies to frames of the same flow.
    pub within_flows: usize,
    /// Flows with a reply.
    pub flows: usize,
    /// `message`, or `addresses and ports`.
    pub flow: &'static str,
}

/// Frames of the same flow have the same key.
type Key = (Vec<u8>, u64);

/// The flow of a frame: its message if handlers run per message, else its addresses, protocol and ports.
fn key(frame: &[u8], messages: bool) -> Key {
    let addresses = frame.get(..12).unwrap_or(frame).to_vec();
    match parse(frame, SPINDLE_PORT) {
        Verdict::Accept(parsed) if messages && parsed.is_spindle => {
            let source = [&parsed.src_nid.to_be_bytes()[..], &parsed.src_pid.to_be_bytes()].concat();
            (source, parsed.msg_id.into())
        }
        Verdict::Accept(parsed) if parsed.is_ipv4 => {
            let ends = [parsed.ip_src.to_be_bytes(), parsed.ip_dst.to_be_bytes()].concat();
            let kind = u64::from(parsed.is_udp) << 1 | u64::from(parsed.is_icmp);
            (ends, kind << 32 | u64::from(parsed.src_port) << 16 | u64::from(parsed.dst_port))
        }
        _ => (addresses, 0),
    }
}

impl OutOfOrder {
    /// Of the replies of a run.
    pub fn of(played: &Played, frames: &[Vec<u8>], messages: bool) -> OutOfOrder {
        let causes = played.replies.iter().filter_map(|reply| reply.cause);
        let flow = if messages { "message" } else { "addresses and ports" };
        OutOfOrder { flow, ..count(causes.map(|cause| (cause, key(&frames[cause], messages)))) }
    }
}

/// Of causes in the order of the replies.
fn count(causes: impl Iterator<Item = (usize, Key)>) -> OutOfOrder {
    let mut order = OutOfOrder::default();
    let mut latest = None;
    let mut latest_of = HashMap::new();
    for (cause, key) in causes {
        order.replies += usize::from(latest > Some(cause));
        latest = latest.max(Some(cause));
        let of_flow = latest_of.entry(key).or_insert(cause);
        order.within_flows += usize::from(*of_flow > cause);
        *of_flow = cause.max(*of_flow);
    }
    order.flows = latest_of.len();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use spindle_model::frames::{udp, Ends};

    #[test]
    fn late_replies_are_counted_once_each() {
        let flows = |causes: &[(usize, u64)]| count(causes.iter().map(|(cause, flow)| (*cause, (Vec::new(), *flow))));
        let in_order = flows(&[(0, 1), (1, 2), (1, 2), (5, 1)]);
        assert_eq!((in_order.replies, in_order.within_flows, in_order.flows), (0, 0, 2));
        // 3 overtakes 1 and 2 of another flow and 0 of its own.
        let overtaken = flows(&[(3, 1), (1, 2), (2, 2), (0, 1), (4, 1)]);
        assert_eq!((overtaken.replies, overtaken.within_flows), (3, 1));
    }

    #[test]
    fn flows_are_told_apart_by_ports() {
        let ends = Ends::default();
        let [a, b, c] = [(1, 9), (1, 9), (2, 9)].map(|(from, to)| udp(&ends, from, to, b"payload"));
        assert!(key(&a, false) == key(&b, false) && key(&a, false) != key(&c, false));
        assert!(key(&a[..5], false) != key(&a, false));
    }
}
