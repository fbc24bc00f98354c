//! Motifs of handlers: a broadcast down a binomial tree, and an allreduce up a tree of sums and down again.

use crate::motif::{Channel, Mailbox, Motif, Need, Post, Put, Task, MOST_LEVELS, VECTORS, WORD};
use anyhow::{ensure, Context, Result};
use spindle_contract::params::{Config, SEGMENT_BYTES};

/// The children of a node in a binomial tree, that with the most nodes below it first.
pub(crate) fn children(node: usize, nodes: usize) -> impl Iterator<Item = usize> {
    let below = if node == 0 { nodes.next_power_of_two() } else { 1 << node.trailing_zeros() };
    let steps = std::iter::successors(Some(below / 2), |step| Some(step / 2)).take_while(|step| *step > 0);
    steps.map(move |step| node + step).filter(move |child| *child < nodes)
}

/// A handler's task: it passes message `number` of a node on.
fn passes_on(from: u32, number: usize, put: Put) -> Task {
    let need = Need::Got { from, channel: 0, messages: number as u32 + 1 };
    Task { needs: vec![need], handler: true, ..Task::put(put) }
}

/// The sum of the vectors of so many nodes, for a node.
fn total(round: usize, nodes: u16, to: u32, bytes: u32) -> Put {
    Put { mailbox: Mailbox::Total { round: round as u32, nodes }, ..Put::new(to, bytes) }
}

impl Motif {
    /// Messages of these lengths from node 0 to all by a binomial tree, one after another after `apart` cycles: the first node's host puts
    /// them to its children, and handlers pass them on.
    pub fn handler_broadcast(nodes: usize, lengths: &[u32], apart: u64, config: &Config) -> Motif {
        let of = |node: usize| -> Vec<Task> {
            let from = (node > 0).then_some((node & node.wrapping_sub(1)) as u32);
            let task = |number: usize, child: usize| {
                let put = Put { mailbox: Mailbox::Shared(number as u32), ..Put::new(child as u32, lengths[number]) };
                match from {
                    None => Task { at: apart * number as u64, ..Task::put(put) },
                    Some(from) => passes_on(from, number, put),
                }
            };
            let all = (0..lengths.len()).flat_map(|number| children(node, nodes).map(move |child| (number, child)));
            all.map(|(number, child)| task(number, child)).collect()
        };
        Motif::of((0..nodes).map(of).collect(), Post::Ring, config)
    }

    /// Allreduce of vectors of these lengths, one after another after `apart` cycles: hosts put their vectors to the NICs of other nodes,
    /// whose handlers add `fan_in` of them and put the sum to the next level. The last sum goes to node 0, and from there to all hosts as
    /// in a [broadcast by handlers](Motif::handler_broadcast).
    ///
    /// Group G of level l, from 0 on, is added by node `fan_in^(l+1) G + l + 1`: no node puts to itself, since a switch sends no frame
    /// back.
    ///
    /// # Errors
    /// The tree does not suit the nodes, or a vector is longer than a packet or has a part of an element.
    pub fn handler_allreduce(
        nodes: usize,
        lengths: &[u32],
        fan_in: usize,
        apart: u64,
        config: &Config,
    ) -> Result<Motif> {
        let count =
            u16::try_from(nodes).with_context(|| format!("{nodes} nodes; handlers add for {} at most", u16::MAX))?;
        let powers = nodes.is_power_of_two() && fan_in.is_power_of_two() && (2..nodes).contains(&fan_in);
        ensure!(
            powers,
            "{nodes} nodes with a fan-in of {fan_in}; choose powers of two, at least 2, and more nodes than the fan-in"
        );
        let levels = nodes.ilog2().div_ceil(fan_in.ilog2()) as usize;
        ensure!(
            levels <= MOST_LEVELS,
            "a tree of {levels} levels for {nodes} nodes; choose a fan-in with which there are {MOST_LEVELS} at most"
        );
        for bytes in lengths {
            ensure!(
                (*bytes as usize).is_multiple_of(WORD) && (1..=SEGMENT_BYTES).contains(&(*bytes as usize)),
                "a vector of {bytes} bytes; handlers add one packet, whole elements of {WORD} bytes, of at most {SEGMENT_BYTES}"
            );
        }
        // Groups of a level, and the node that adds one.
        let groups = |level: usize| nodes.div_ceil(fan_in.pow(level as u32 + 1));
        let adds = |level: usize, group: usize| fan_in.pow(level as u32 + 1) * group + level + 1;
        // The nodes whose vectors a group adds.
        let inputs = |level: usize, group: usize| -> Vec<u32> {
            let all = fan_in * group..fan_in * (group + 1);
            match level {
                0 => all.map(|node| ((node + 2) % nodes) as u32).collect(),
                _ => {
                    all.filter(|below| *below < groups(level - 1)).map(|below| adds(level - 1, below) as u32).collect()
                }
            }
        };
        let vector = |to: usize, number: usize, level: usize| Put {
            channel: VECTORS + level as Channel,
            mailbox: Mailbox::Sum { round: number as u32, level: level as u8 },
            ..Put::new(to as u32, lengths[number])
        };
        let mut tasks: Vec<Vec<Task>> = vec![vec![]; nodes];
        for (number, bytes) in lengths.iter().enumerate() {
            for (node, tasks) in tasks.iter_mut().enumerate() {
                let group = (node + nodes - 2) % nodes / fan_in;
                let put = vector(adds(0, group), number, 0);
                tasks.push(Task { at: apart * number as u64, ..Task::put(put) });
                let total = |to: usize| total(number, count, to as u32, *bytes);
                let from = if node == 0 { levels } else { node & (node - 1) };
                tasks.extend(children(node, nodes).map(|child| passes_on(from as u32, number, total(child))));
            }
            for level in 0..levels {
                for group in 0..groups(level) {
                    let channel = VECTORS + level as Channel;
                    let need = |from| Need::Got { from, channel, messages: number as u32 + 1 };
                    let put = match level + 1 {
                        next if next == levels => total(number, count, 0, *bytes),
                        next => vector(adds(next, group / fan_in), number, next),
                    };
                    let needs = inputs(level, group).into_iter().map(need).collect();
                    tasks[adds(level, group)].push(Task { needs, handler: true, ..Task::put(put) });
                }
            }
        }
        Ok(Motif::of(tasks, Post::Ring, config))
    }

    /// Vectors of these lengths from a number of senders, one round after another after `apart` cycles, which the handler of one more node
    /// adds; the sums go to node 0. A sender begins `each` cycles after the one before it.
    pub fn sums(senders: usize, each: u64, lengths: &[u32], apart: u64, config: &Config) -> Motif {
        let apart = apart + each * senders as u64;
        let vector = |number: usize, from: usize| {
            let mailbox = Mailbox::Sum { round: number as u32, level: 0 };
            let put = Put { channel: VECTORS, mailbox, ..Put::new(senders as u32, lengths[number]) };
            Task { at: apart * number as u64 + each * from as u64, ..Task::put(put) }
        };
        let mut tasks: Vec<Vec<Task>> =
            (0..senders).map(|from| (0..lengths.len()).map(|number| vector(number, from)).collect()).collect();
        let sum = |(number, bytes): (usize, &u32)| {
            let need = |from| Need::Got { from, channel: VECTORS, messages: number as u32 + 1 };
            let put = total(number, senders as u16, 0, *bytes);
            Task { needs: (0..senders as u32).map(need).collect(), handler: true, ..Task::put(put) }
        };
        tasks.push(lengths.iter().enumerate().map(sum).collect());
        // The host of the handler's node is there until all sums have left.
        tasks[0].push(Task::put(Put::new(senders as u32, WORD as u32)).after(lengths.len() as u32));
        Motif::of(tasks, Post::Ring, config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn handlers_add_every_vector_once() {
        for (nodes, fan_in) in [(4, 2), (8, 2), (16, 4), (32, 2), (64, 16), (1024, 8), (1024, 32)] {
            let motif = Motif::handler_allreduce(nodes, &[8, 4], fan_in, 100, &Config::SIM).unwrap();
            let tasks: Vec<Vec<Task>> = (0..nodes).map(|node| motif.tasks(node).into_owned()).collect();
            let puts = || tasks.iter().enumerate().flat_map(|(from, tasks)| tasks.iter().map(move |task| (from, task)));
            assert!(puts().all(|(from, task)| task.put.unwrap().to as usize != from), "{nodes}, {fan_in}");
            // The vectors that are in the sum for which a handler's task needs them, by sender, channel and number.
            let mut sums = BTreeMap::new();
            for (from, task) in puts().filter(|(_, task)| !task.handler) {
                let Put { channel, mailbox, .. } = task.put.unwrap();
                let Mailbox::Sum { round, level: 0 } = mailbox else { panic!("{mailbox:?}") };
                sums.insert((from as u32, channel, round + 1), 1);
            }
            let mut totals = vec![];
            for level in 0..MOST_LEVELS {
                let channel = VECTORS + level as Channel;
                let of_level = |need: &Need| matches!(need, Need::Got { channel: other, .. } if *other == channel);
                for (node, task) in puts().filter(|(_, task)| task.adds() && of_level(&task.needs[0])) {
                    let vectors = task.needs.iter().map(|need| match need {
                        Need::Got { from, channel, messages } => sums.remove(&(*from, *channel, *messages)).unwrap(),
                        need => panic!("{need:?}"),
                    });
                    let vectors: usize = vectors.sum();
                    let put = task.put.unwrap();
                    match put.mailbox {
                        Mailbox::Sum { round, .. } => drop(sums.insert((node as u32, put.channel, round + 1), vectors)),
                        Mailbox::Total { round, .. } => totals.push((round, put.to, vectors)),
                        mailbox => panic!("{mailbox:?}"),
                    }
                }
            }
            assert_eq!((sums.len(), totals), (0, vec![(0, 0, nodes), (1, 0, nodes)]), "{nodes}, {fan_in}");
            assert!((0..nodes).all(|node| motif.gets(node) == 2), "{nodes}, {fan_in}");
        }
    }

    #[test]
    fn trees_of_sums_that_suit_no_handler_are_refused() {
        for (nodes, bytes, fan_in, words) in [
            (12, 8, 4, "choose powers of two"),
            (16, 8, 3, "choose powers of two"),
            (16, 8, 16, "more nodes than the fan-in"),
            (64, 8, 2, "a tree of 6 levels for 64 nodes"),
            (16, 6, 4, "a vector of 6 bytes"),
            (16, 1412, 4, "a vector of 1412 bytes"),
        ] {
            let refused = Motif::handler_allreduce(nodes, &[bytes], fan_in, 100, &Config::SIM).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
