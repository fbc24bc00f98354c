//! Patterns of messages as lists of sends, each of which may wait for messages that its node has got: the same list drives a Verilated
//! NIC's host and a model of both, so that the times of the two can be compared.

use crate::programs::{collect, data, set_up, window_address, Awaited, Pattern, CLEARED, KEY, PROCESS, SETTLED};
use crate::rtl::{Host, Program};
use anyhow::{ensure, Result};
use serde::Deserialize;
use spindle::{HostMemory, Kind, Target};
use spindle_contract::params::Config;
use spindle_sim::Arrival;
use std::sync::{Arc, Mutex};

/// Cycles in which a host opens the window of a message and posts the buffer, at most.
const SET_UP: u64 = 400;
/// Mailboxes from which on a NIC takes longer to clear its tables after reset, and a cycle in which it has: hosts of `alveo` were set up
/// in cycle 34,229.
const MANY_MAILBOXES: usize = 4096;
const MANY_CLEARED: u64 = 40_000;

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// The receiver.
    pub to: u32,
    /// Its length.
    pub bytes: u32,
    /// Messages that the sender must have got before.
    pub after: u32,
    /// Cycle before which it is not sent, counted from the motif's start.
    pub at: u64,
}

/// How a host hands messages to its NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Post {
    /// By the registers of a doorbell page, one after another.
    Doorbell,
    /// By the command ring: all that are ready, with one register write.
    Ring,
}

/// A pattern of messages: the sends of every node, in their order.
#[derive(Clone, Debug)]
pub struct Motif {
    /// Of each node.
    pub sends: Vec<Vec<Send>>,
    /// How they are handed over.
    pub post: Post,
    /// Cycle in which all hosts are set up, and the motif starts.
    pub start: u64,
}

/// What a host with its NIC saw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// For each call that handed messages over, its first cycle and the one in which it was over.
    pub posts: Vec<(u64, u64)>,
    /// Messages that came: sender, number and cycle of the record.
    pub records: Vec<(usize, usize, u64)>,
    /// Frames that came.
    pub arrivals: Vec<Arrival>,
}

/// What the hosts of a motif saw, by node.
pub type AllSeen = Arc<Mutex<Vec<Seen>>>;

/// The children of a node in a binomial tree, that with the most nodes below it first.
fn children(node: usize, nodes: usize) -> impl Iterator<Item = usize> {
    let below = if node == 0 { nodes.next_power_of_two() } else { 1 << node.trailing_zeros() };
    let steps = std::iter::successors(Some(below / 2), |step| Some(step / 2)).take_while(|step| *step > 0);
    steps.map(move |step| node + step).filter(move |child| *child < nodes)
}

impl Motif {
    /// Nodes.
    pub fn nodes(&self) -> usize {
        self.sends.len()
    }

    /// Messages that a node gets: sender, number, length.
    pub fn expected(&self, to: usize) -> Vec<(usize, usize, u32)> {
        let of = |from: usize| {
            let sends = self.sends[from].iter().enumerate();
            sends.filter(|(_, send)| send.to as usize == to).map(move |(k, send)| (from, k, send.bytes))
        };
        (0..self.nodes()).flat_map(of).collect()
    }

    /// The sends of every node, for NICs of a configuration.
    pub fn of(sends: Vec<Vec<Send>>, post: Post, config: &Config) -> Motif {
        let mut messages = vec![0; sends.len()];
        sends.iter().flatten().for_each(|send| messages[send.to as usize] += 1);
        let cleared = if config.mailboxes < MANY_MAILBOXES { CLEARED } else { MANY_CLEARED };
        let start = cleared + 1000 + SET_UP * messages.into_iter().max().unwrap_or(0);
        Motif { sends, post, start }
    }

    /// The sends of a pattern. A broadcast is one message, whatever their number; in a ping-pong the messages are the rounds of a pair.
    pub fn new(pattern: Pattern, nodes: usize, messages: u32, bytes: u32, post: Post, config: &Config) -> Motif {
        let send = |to: usize, after: u32| Send { to: to as u32, bytes, after, at: 0 };
        let of = |node: usize| -> Vec<Send> {
            match pattern {
                Pattern::PingPong => (0..messages).map(|round| send(node ^ 1, round + (node % 2) as u32)).collect(),
                Pattern::Broadcast => children(node, nodes).map(|child| send(child, u32::from(node > 0))).collect(),
                _ => (0..messages).filter_map(|k| Some(send(pattern.target(node, k as usize, nodes)?, 0))).collect(),
            }
        };
        Motif::of((0..nodes).map(of).collect(), post, config)
    }

    /// What the hosts are to note.
    pub fn seen(&self) -> AllSeen {
        Arc::new(Mutex::new(vec![Seen::default(); self.nodes()]))
    }

    /// The program of a host with a Verilated NIC; what the host sees goes to `seen`. Its values: messages that came, cycle in which the
    /// last one had come, 0 if none came, and twice 0.
    pub fn program(self: &Arc<Motif>, seen: &AllSeen) -> Program {
        let (motif, seen) = (self.clone(), seen.clone());
        Box::new(move |host| {
            let own = motif.run(host)?;
            let last = own.records.iter().map(|(_, _, cycle)| *cycle).max().unwrap_or(0);
            let values = [own.records.len() as u64, last, 0, 0];
            let mut all = seen.lock().expect("no host panics while it writes what it saw");
            all[host.number] = own;
            Ok(values)
        })
    }

    fn run(&self, host: &mut Host) -> Result<Seen> {
        let sends = &self.sends[host.number];
        set_up(&mut host.device, host.number, host.nodes)?;
        let mut waiting = Vec::new();
        for (from, k, bytes) in self.expected(host.number) {
            let window = host.device.init_window(PROCESS, window_address(from, k), KEY, bytes)?;
            let posted = host.device.post_buffer(window, bytes)?;
            waiting.push(Awaited { from, k, bytes: bytes as usize, posted });
        }
        let mut staged = Vec::new();
        for (k, send) in sends.iter().enumerate() {
            let from = host.device.memory.alloc(send.bytes as usize, 64)?;
            host.device.memory.write(from, &data(host.number, k, send.bytes as usize))?;
            staged.push(from);
        }
        let places = sends.len().next_power_of_two().max(2);
        let mut ring = host.device.open_commands(PROCESS, places)?;
        host.device.set_receive(true)?;
        let (now, start) = (host.now(), self.start);
        ensure!(now <= start, "the host is set up in cycle {now}, and the motif starts in cycle {start}");
        host.run_to(start);
        drop(host.card.sim().take_entered());
        let mut seen = Seen::default();
        let mut next = 0;
        while next < sends.len() || !waiting.is_empty() {
            collect(host, &mut waiting, |got, cycle| seen.records.push((got.from, got.k, cycle)))?;
            let (begun, came) = (host.now(), seen.records.len());
            let first = next;
            while let Some(send) = sends.get(next) {
                if send.after as usize > came || begun < start + send.at {
                    break;
                }
                let address = window_address(host.number, next);
                let (node, process) = (send.to as u8, PROCESS as u16);
                let target = Target { node, process, address, key: KEY, offset: 0, kind: Kind::Bound };
                let from = staged[next];
                next += 1;
                match self.post {
                    Post::Doorbell => {
                        host.device.put(PROCESS, from, send.bytes, &target)?;
                        break;
                    }
                    Post::Ring => {
                        let added = host.device.add_put(&mut ring, from, send.bytes, &target, next as u16)?;
                        ensure!(added, "the ring has no room for message {next}");
                    }
                }
            }
            if next == first {
                host.run(1);
                continue;
            }
            host.device.write_commands(&mut ring)?;
            seen.posts.push((begun, host.now()));
        }
        // Acknowledgements are still on their way.
        host.run(SETTLED);
        seen.arrivals = host.card.sim().take_entered();
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a message as soon as its node has got what it waits for; messages take a unit of time, and nodes send one at a time.
    fn ends(motif: &Motif) -> Vec<Option<u64>> {
        let nodes = motif.nodes();
        let mut came: Vec<Vec<u64>> = vec![vec![]; nodes];
        let (mut next, mut free) = (vec![0; nodes], vec![0; nodes]);
        while let Some((node, send, at)) = (0..nodes).find_map(|node| {
            let send = motif.sends[node].get(next[node])?;
            let after = send.after as usize;
            let ready = if after == 0 { 0 } else { *came[node].get(after - 1)? };
            Some((node, *send, ready.max(free[node])))
        }) {
            (next[node], free[node]) = (next[node] + 1, at + 1);
            came[send.to as usize].push(at + 1);
        }
        assert!((0..nodes).all(|node| next[node] == motif.sends[node].len()), "all is sent");
        came.iter().map(|came| came.last().copied()).collect()
    }

    #[test]
    fn a_broadcast_reaches_every_node_once_in_logarithmic_time() {
        for nodes in [2, 3, 8, 11, 1024] {
            let motif = Motif::new(Pattern::Broadcast, nodes, 1, 8, Post::Ring, &Config::SIM);
            let ends = ends(&motif);
            assert!(ends[0].is_none() && ends[1..].iter().all(Option::is_some), "{nodes}: {ends:?}");
            assert!((1..nodes).all(|node| motif.expected(node).len() == 1), "{nodes}");
            let steps = u64::from(nodes.next_power_of_two().trailing_zeros());
            assert_eq!(ends.iter().flatten().max(), Some(&steps), "{nodes}");
        }
    }

    #[test]
    fn a_ping_pong_is_one_message_after_another() {
        let ends = ends(&Motif::new(Pattern::PingPong, 4, 3, 8, Post::Doorbell, &Config::SIM));
        assert_eq!(ends, [Some(6), Some(5), Some(6), Some(5)]);
    }
}
