//! Programs of hosts with Verilated NICs: messages to windows of other nodes, checked byte by byte.

use crate::endpoint::VALUES;
use crate::rtl::{Host, Program};
use anyhow::{bail, ensure, Result};
use serde::Deserialize;
use spindle::congestion::Congestion;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{Bar, Device, HostMemory, Kind, Target};
use spindle_contract::wire::{status, NODE_TABLE_ENTRIES};
use spindle_sim::address;

/// Cycle after reset in which the tables of peers are clear: 17 cycles for each peer (docs/transport.md), and what is under way then.
pub const CLEARED: u64 = 17 * NODE_TABLE_ENTRIES as u64 + 64;
/// Accepted packets after which a node acknowledges, unless it has to sooner.
pub const ACK_EVERY: u8 = 8;
/// Cycles after which nothing of a message is under way any more that has come, on a network of short cables.
pub(crate) const SETTLED: u64 = 1500;
/// Process of the windows.
pub(crate) const PROCESS: usize = 0;
/// Key of the windows.
pub(crate) const KEY: u32 = 0x5EED;

/// Paths of one network differ by little; a lost segment is sent again soon.
const RELIABILITY: Reliability = Reliability { timeout: 128, hole_time: 16, retries: 15, incarnation: 0 };

/// The times of NICs that obey marks, or do not.
pub(crate) fn reliability(congestion: Option<Congestion>) -> Reliability {
    match congestion {
        // A round trip through a full output is longer than the time of the others: what was sent again is not to be sent a third time
        // before its acknowledgement can be there.
        Some(_) => Reliability { hole_time: 2 * RELIABILITY.hole_time, ..RELIABILITY },
        None => RELIABILITY,
    }
}

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Each node to the next one.
    Ring,
    /// Each node to the one half of all nodes further on.
    Half,
    /// All nodes to the first one.
    Incast,
    /// Each node to all others in turn; as a motif without a number of messages, one to each with a protocol.
    AllToAll,
    /// Nodes in pairs, to and fro; a motif only.
    PingPong,
    /// The first node to all others by a binomial tree; a motif only.
    Broadcast,
    /// The same, and handlers pass the message on.
    HandlerBroadcast,
    /// A wavefront over a grid from each corner; a motif only, as the ones that follow.
    Sweep,
    /// Messages to all neighbours on a grid of three dimensions.
    Halo,
    /// Allreduce by recursive doubling.
    Doubling,
    /// Allreduce by a ring.
    ReductionRing,
    /// Allreduce by handlers.
    HandlerAllreduce,
}

/// Messages of every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Puts {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// Messages that each node sends.
    pub messages: usize,
    /// Bytes of each.
    pub bytes: usize,
    /// Cycle in which all begin to send: every node must be set up then.
    pub start: u64,
    /// How the NICs obey marks, if they do.
    pub congestion: Option<Congestion>,
    /// Puts of a NIC that take turns.
    pub turns: u8,
}

impl Pattern {
    /// Messages wait for others, so the pattern is no program of puts.
    pub fn is_motif(self) -> bool {
        !matches!(self, Pattern::Ring | Pattern::Half | Pattern::Incast | Pattern::AllToAll)
    }

    /// The node to which message `k` of a node goes; none if that node sends nothing, or only when it has got messages.
    pub fn target(self, from: usize, k: usize, nodes: usize) -> Option<usize> {
        match self {
            Pattern::Ring => Some((from + 1) % nodes),
            Pattern::Half => Some((from + nodes / 2) % nodes),
            Pattern::Incast => (from > 0).then_some(0),
            Pattern::AllToAll => Some((from + 1 + k % (nodes - 1)) % nodes),
            Pattern::PingPong | Pattern::Broadcast | Pattern::HandlerBroadcast => None,
            Pattern::Sweep | Pattern::Halo => None,
            Pattern::Doubling | Pattern::ReductionRing | Pattern::HandlerAllreduce => None,
        }
    }
}

impl Puts {
    /// Messages that a node gets: their senders and numbers.
    pub fn expected(&self, to: usize, nodes: usize) -> Vec<(usize, usize)> {
        let all = (0..nodes).flat_map(|from| (0..self.messages).map(move |k| (from, k)));
        all.filter(|(from, k)| self.pattern.target(*from, *k, nodes) == Some(to)).collect()
    }

    /// The program of every host. Its values: messages that came, cycle in which all had come, cycles of a message from the start to its
    /// record, in the mean and at most.
    pub fn program(self) -> Program {
        Box::new(move |host| self.run(host))
    }

    fn run(&self, host: &mut Host) -> Result<[u64; VALUES]> {
        set_up(&mut host.device, host.number, host.nodes, Action::Mailbox)?;
        host.device.set_put_turns(self.turns)?;
        obey_marks(&mut host.device, self.congestion)?;
        let mut waiting = Vec::new();
        for (from, k) in self.expected(host.number, host.nodes) {
            let window = host.device.init_window(PROCESS, window_address(from, k), KEY, self.bytes as u32)?;
            let posted = host.device.post_buffer(window, self.bytes as u32)?;
            waiting.push(Awaited { from, k, data: data((from, k), self.bytes), posted });
        }
        host.device.set_receive(true)?;
        host.run_to(CLEARED);
        let (now, start) = (host.now(), self.start);
        ensure!(now <= start, "the host is set up in cycle {now}, and all hosts begin in cycle {start}; raise `start`");
        host.run_to(start);
        let (mut came, mut sum, mut last) = (0, 0, 0);
        for k in 0..self.messages {
            let Some(to) = self.pattern.target(host.number, k, host.nodes) else { continue };
            host.pause();
            let data = data((host.number, k), self.bytes);
            let from = host.device.memory.alloc(self.bytes, 64)?;
            host.device.memory.write(from, &data)?;
            let address = window_address(host.number, k);
            let (node, process) = (to as u8, PROCESS as u16);
            let target = Target { node, process, address, key: KEY, offset: 0, kind: Kind::Bound };
            host.device.put(PROCESS, from, self.bytes as u32, &target)?;
            collect(host, &mut waiting, |_, cycle| note(&mut came, &mut sum, &mut last, cycle - start))?;
        }
        while !waiting.is_empty() {
            host.run(1);
            collect(host, &mut waiting, |_, cycle| note(&mut came, &mut sum, &mut last, cycle - start))?;
        }
        Ok([came, if came > 0 { start + last } else { 0 }, sum.checked_div(came).unwrap_or(0), last])
    }
}

fn note(came: &mut u64, sum: &mut u64, last: &mut u64, cycles: u64) {
    *came += 1;
    *sum += cycles;
    *last = (*last).max(cycles);
}

/// A message that is to come.
pub(crate) struct Awaited {
    /// Its sender.
    pub from: usize,
    /// Its number among the messages of the sender.
    pub k: usize,
    /// Its bytes.
    pub data: Vec<u8>,
    /// Its buffer.
    pub posted: Posted,
}

/// Checks the messages that are complete, and calls `done` with the cycle for each.
pub(crate) fn collect(host: &mut Host, waiting: &mut Vec<Awaited>, mut done: impl FnMut(&Awaited, u64)) -> Result<()> {
    let now = host.now();
    let mut i = 0;
    while i < waiting.len() {
        let Awaited { from, k, ref data, posted } = waiting[i];
        let bytes = data.len();
        let Some(completed) = host.device.poll(&posted)? else {
            i += 1;
            continue;
        };
        ensure!(
            completed.status == status::DONE && completed.length as usize == bytes,
            "message {k} of node {from} ended as {completed:?}"
        );
        let mut got = vec![0; bytes];
        host.device.memory.read(posted.buffer, &mut got)?;
        if let Some(at) = got.iter().zip(data).position(|(got, sent)| got != sent) {
            bail!("byte {at} of message {k} of node {from} is not the one that was sent");
        }
        done(&waiting[i], now);
        waiting.swap_remove(i);
    }
    Ok(())
}

/// Address of the window for a message.
pub(crate) fn window_address(from: usize, k: usize) -> u64 {
    (from as u64 + 1) << 32 | k as u64
}

/// Bytes of a message, by its sender and number.
pub(crate) fn data((from, k): (usize, usize), bytes: usize) -> Vec<u8> {
    let first = (from * 31 + k * 7) as u64;
    (0..bytes as u64).map(|i| (first + i + (i >> 8) * 3) as u8).collect()
}

/// Numbers the NIC, enters all nodes, has it send reliably, and says what becomes of Spindle packets.
///
/// # Errors
/// The NIC refuses.
pub fn set_up<B: Bar, M: HostMemory>(
    device: &mut Device<B, M>,
    number: usize,
    nodes: usize,
    action: Action,
) -> Result<()> {
    let own = address(number);
    device.set_identity(number as u32, own.mac, own.ip)?;
    for other in 0..nodes {
        device.set_node(other, Some(address(other)))?;
    }
    device.set_sequence_filter(true)?;
    device.set_responses(Some(Responses { ack_every: ACK_EVERY, ..Responses::default() }))?;
    device.set_reliability(Some(RELIABILITY))?;
    device.add_rule(&"spindle".parse()?, action)?;
    Ok(())
}

/// Has a NIC that sends reliably obey marks, with the times of those that do; none: it does not.
///
/// # Errors
/// The NIC refuses.
pub fn obey_marks<B: Bar, M: HostMemory>(device: &mut Device<B, M>, congestion: Option<Congestion>) -> Result<()> {
    device.set_congestion_control(congestion)?;
    if congestion.is_some() {
        device.set_reliability(Some(reliability(congestion)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_a_receiver() {
        for pattern in [Pattern::Ring, Pattern::Half, Pattern::Incast, Pattern::AllToAll] {
            let puts = Puts { pattern, messages: 5, bytes: 1, start: 0, congestion: None, turns: 1 };
            let nodes = 4;
            let received: usize = (0..nodes).map(|to| puts.expected(to, nodes).len()).sum();
            let senders = if pattern == Pattern::Incast { 3 } else { 4 };
            assert_eq!(received, 5 * senders, "{pattern:?}");
            assert!((0..nodes).all(|from| (0..5).all(|k| pattern.target(from, k, nodes) != Some(from))));
        }
        assert_eq!(Pattern::AllToAll.target(2, 4, 4), Some(0));
    }
}
