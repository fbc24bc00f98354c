//! Applications as motifs: what each node computes, sends and waits for, and the protocols by which its messages cross the network.
//!
//! | application | its nodes | source |
//! |---|---|---|
//! | sweep | a grid of two dimensions; a wavefront from each corner, twice | Sweep3D, as SST's motif of this name |
//! | halo | a grid of three dimensions, open at its ends; faces, edges and corners | Halo3D26, as SST's motif of this name |
//! | doubling | allreduce: a vector with the node whose number differs in one bit, bit after bit | recursive doubling |
//! | reduction ring | allreduce: a part of the vector to the next node, 2 (n - 1) times | ring of Patarasu and Yuan |
//! | all to all | a message to every other node, beginning with the next one | MPI_Alltoall, linear |
//!
//! A program sends without waiting for the end of a message, and waits for each message that it gets, in its order. An [`Arm`] makes puts
//! and their dependencies of that.

use crate::motif::{Channel, Need, Put, Task};
use anyhow::{ensure, Result};
use serde::Deserialize;

/// Bytes of a flag, a credit, or an announcement.
const SHORT: u32 = 8;
/// The message itself.
const DATA: Channel = 0;
/// A message after a write: its bytes are there.
const FLAG: Channel = 1;
/// A buffer may be written again.
const CREDIT: Channel = 2;
/// A message is to be sent.
const ANNOUNCED: Channel = 3;
/// The receiver has a buffer for it.
const CLEARED: Channel = 4;

/// The protocol of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// A put into a mailbox: complete when all bytes are there, on whatever paths, in the buffer whose turn it is.
    #[default]
    Rvma,
    /// A write with immediate: complete with its last packet, which is right on ordered paths alone.
    WriteImm,
    /// A write, and a send after it at once, which is right on ordered paths alone.
    WriteSend,
    /// A write, and a send that the NIC keeps until the write is acknowledged.
    WriteNicFenceSend,
    /// A write, and a send when the host has seen that the write is acknowledged.
    WriteHostFenceSend,
    /// An announcement, a permission, and the write with immediate; the program goes on meanwhile.
    Rendezvous,
    /// The same, and the program waits until the write is acknowledged.
    RendezvousBlocking,
}

impl Arm {
    /// All of them.
    pub const ALL: [Arm; 7] = [
        Arm::Rvma,
        Arm::WriteImm,
        Arm::WriteSend,
        Arm::WriteNicFenceSend,
        Arm::WriteHostFenceSend,
        Arm::Rendezvous,
        Arm::RendezvousBlocking,
    ];

    /// Its bytes are known to be there only if no path is shorter than another.
    pub fn wants_order(self) -> bool {
        !matches!(self, Arm::Rvma | Arm::WriteNicFenceSend | Arm::WriteHostFenceSend)
    }

    /// Buffers of receivers are written again after a credit.
    fn has_credits(self) -> bool {
        self != Arm::Rvma && !self.is_rendezvous()
    }

    fn is_rendezvous(self) -> bool {
        matches!(self, Arm::Rendezvous | Arm::RendezvousBlocking)
    }

    /// The channel of the message with which a receiver knows that the bytes are there.
    fn last(self) -> Channel {
        match self {
            Arm::WriteSend | Arm::WriteNicFenceSend | Arm::WriteHostFenceSend => FLAG,
            _ => DATA,
        }
    }
}

/// An application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// A wavefront over a grid, from each corner in turn, twice.
    Sweep {
        /// Nodes in both dimensions.
        grid: [u32; 2],
        /// Blocks of a node in each sweep: a message to both next nodes after each.
        blocks: u32,
        /// Sweeps.
        sweeps: u32,
        /// Bytes of a message.
        bytes: u32,
    },
    /// Messages to up to 26 neighbours on a grid.
    Halo {
        /// Nodes in the three dimensions.
        grid: [u32; 3],
        /// Iterations.
        iterations: u32,
        /// Bytes to neighbours across a face, an edge and a corner; none of what has no bytes.
        bytes: [u32; 3],
    },
    /// Allreduce by recursive doubling.
    Doubling {
        /// Nodes, a power of two.
        nodes: u32,
        /// Bytes of the vector.
        bytes: u32,
    },
    /// Allreduce by a ring.
    ReductionRing {
        /// Nodes.
        nodes: u32,
        /// Bytes of the vector.
        bytes: u32,
    },
    /// A message of each node to every other one.
    AllToAll {
        /// Nodes.
        nodes: u32,
        /// Bytes of a message.
        bytes: u32,
    },
}

/// An application with its protocol and the times of its hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// What nodes do.
    pub application: Application,
    /// How messages are sent.
    pub arm: Arm,
    /// Cycles of the processor for a block of a sweep or an iteration of a halo.
    pub compute: u32,
    /// Bytes that a host copies or adds in a cycle.
    pub bytes_a_cycle: f64,
    /// Messages of at most so many bytes are copied at both ends, and need no buffer of the receiver's program: a write with immediate to
    /// a buffer of the library, for arms that are a rendezvous. Messages from one node to another are all short, or all long.
    pub eager: u32,
    /// Hosts copy messages that are not announced, at both ends, with every arm.
    pub copies: bool,
    /// Buffers of a receiver for messages of one sender, in arms whose receivers say when they have read one. RVMA has one posted for
    /// each message.
    pub buffers: u32,
    /// Cycles of a host that posts the buffer, or the receive, of a message, with every arm.
    pub post: u32,
}

/// Something that a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Compute(u32),
    Send { to: u32, bytes: u32 },
    Receive { from: u32, bytes: u32 },
}

impl Application {
    /// Nodes.
    pub fn nodes(&self) -> usize {
        match *self {
            Application::Sweep { grid, .. } => grid.iter().map(|side| *side as usize).product(),
            Application::Halo { grid, .. } => grid.iter().map(|side| *side as usize).product(),
            Application::Doubling { nodes, .. }
            | Application::ReductionRing { nodes, .. }
            | Application::AllToAll { nodes, .. } => nodes as usize,
        }
    }

    /// Messages of all nodes, without those of an arm's protocol; somewhat more, of grids that are open at their ends.
    pub fn messages(&self) -> u64 {
        let nodes = self.nodes() as u64;
        match *self {
            Application::Sweep { blocks, sweeps, .. } => {
                2 * nodes.saturating_mul(blocks.into()).saturating_mul(sweeps.into()).min(u64::MAX / 2)
            }
            Application::Halo { iterations, .. } => nodes.saturating_mul(26 * u64::from(iterations)),
            Application::Doubling { .. } => nodes * u64::from(nodes.ilog2()),
            Application::ReductionRing { .. } => nodes.saturating_mul(2 * (nodes - 1)),
            Application::AllToAll { .. } => nodes.saturating_mul(nodes - 1),
        }
    }

    /// Refuses what makes no sense.
    ///
    /// # Errors
    /// The number of nodes or bytes does not suit.
    pub fn check(&self) -> Result<()> {
        match *self {
            Application::Doubling { nodes, .. } => {
                ensure!(nodes.is_power_of_two(), "recursive doubling on {nodes} nodes; choose a power of two");
            }
            Application::ReductionRing { nodes, bytes } => {
                ensure!(bytes >= nodes, "a vector of {bytes} bytes for {nodes} nodes; give each node a byte at least");
            }
            Application::Halo { bytes, .. } => {
                ensure!(
                    bytes.iter().any(|bytes| *bytes > 0),
                    "a halo without bytes; give faces, edges or corners some"
                );
            }
            Application::Sweep { .. } | Application::AllToAll { .. } => {}
        }
        Ok(())
    }

    /// The program of a node, for hosts that add so many bytes in a cycle.
    fn steps(&self, node: u32, compute: u32, bytes_a_cycle: f64) -> Vec<Step> {
        let mut steps = Vec::new();
        match *self {
            Application::Sweep { grid: [width, height], blocks, sweeps, bytes } => {
                let (x, y) = (node % width, node / width);
                // The neighbour in a direction, if the grid does not end there.
                let next = |at: u32, side: u32, up: bool| match up {
                    true => (at + 1 < side).then_some(at + 1),
                    false => at.checked_sub(1),
                };
                for sweep in 0..sweeps {
                    let (right, down) = (sweep & 1 == 0, sweep & 2 == 0);
                    let across = |up: bool| next(x, width, up).map(|x| y * width + x);
                    let along = |up: bool| next(y, height, up).map(|y| y * width + x);
                    for _ in 0..blocks {
                        let before = [across(!right), along(!down)];
                        steps.extend(before.into_iter().flatten().map(|from| Step::Receive { from, bytes }));
                        steps.push(Step::Compute(compute));
                        let after = [across(right), along(down)];
                        steps.extend(after.into_iter().flatten().map(|to| Step::Send { to, bytes }));
                    }
                }
            }
            Application::Halo { grid: [width, height, depth], iterations, bytes } => {
                let place = [node % width, node / width % height, node / (width * height)];
                let neighbours: Vec<(u32, u32)> = (0..27_u32)
                    .filter_map(|direction| {
                        let step = [direction % 3, direction / 3 % 3, direction / 9];
                        let others = step.iter().filter(|step| **step != 1).count();
                        let bytes = *bytes.get(others.checked_sub(1)?).filter(|bytes| **bytes > 0)?;
                        let at = |dimension: usize, side: u32| {
                            (place[dimension] + step[dimension]).checked_sub(1).filter(|at| *at < side)
                        };
                        let (x, y, z) = (at(0, width)?, at(1, height)?, at(2, depth)?);
                        Some((x + width * (y + height * z), bytes))
                    })
                    .collect();
                for _ in 0..iterations {
                    steps.push(Step::Compute(compute));
                    steps.extend(neighbours.iter().map(|(to, bytes)| Step::Send { to: *to, bytes: *bytes }));
                    steps.extend(neighbours.iter().map(|(from, bytes)| Step::Receive { from: *from, bytes: *bytes }));
                }
            }
            Application::Doubling { nodes, bytes } => {
                for bit in 0..nodes.trailing_zeros() {
                    let other = node ^ 1 << bit;
                    steps.push(Step::Send { to: other, bytes });
                    steps.push(Step::Receive { from: other, bytes });
                    steps.push(Step::Compute(cycles(bytes, bytes_a_cycle)));
                }
            }
            Application::ReductionRing { nodes, bytes } => {
                let (to, from) = ((node + 1) % nodes, (node + nodes - 1) % nodes);
                // Part i is as long as those of other nodes, or a byte longer.
                let part = |i: u32| bytes / nodes + u32::from(i % nodes < bytes % nodes);
                for round in 0..2 * (nodes - 1) {
                    let (sent, got) = (node + 2 * nodes - round, node + 2 * nodes - round - 1);
                    steps.push(Step::Send { to, bytes: part(sent) });
                    steps.push(Step::Receive { from, bytes: part(got) });
                    // Sums first, which then go round as they are.
                    let sum = if round < nodes - 1 { cycles(part(got), bytes_a_cycle) } else { 0 };
                    steps.push(Step::Compute(sum));
                }
            }
            Application::AllToAll { nodes, bytes } => {
                steps.extend((1..nodes).map(|k| Step::Send { to: (node + k) % nodes, bytes }));
                steps.extend((1..nodes).map(|k| Step::Receive { from: (node + nodes - k) % nodes, bytes }));
            }
        }
        steps
    }
}

/// Cycles in which a host copies or adds so many bytes.
fn cycles(bytes: u32, bytes_a_cycle: f64) -> u32 {
    (f64::from(bytes) / bytes_a_cycle).ceil() as u32
}

/// The tasks of a node as they grow.
struct Builder<'a> {
    workload: &'a Workload,
    tasks: Vec<Task>,
    /// Messages sent to, and got from each node so far.
    sent: std::collections::BTreeMap<u32, u32>,
    got: std::collections::BTreeMap<u32, u32>,
    /// Senders of messages that the program has got and not read.
    unread: Vec<u32>,
}

impl Builder<'_> {
    fn add(&mut self, task: Task) -> u32 {
        self.tasks.push(task);
        self.tasks.len() as u32 - 1
    }

    fn work(&mut self, work: u32) {
        if work > 0 {
            self.add(Task { work, ..Task::default() });
        }
    }

    /// The protocol of a message of so many bytes, and whether its bytes are copied.
    fn protocol(&self, bytes: u32) -> (Arm, bool) {
        let Workload { arm, eager, copies, .. } = *self.workload;
        match arm.is_rendezvous() {
            true if bytes <= eager => (Arm::WriteImm, true),
            true => (arm, false),
            false => (arm, copies),
        }
    }

    fn send(&mut self, to: u32, bytes: u32) {
        let (arm, copied) = self.protocol(bytes);
        if copied {
            self.work(cycles(bytes, self.workload.bytes_a_cycle));
        }
        let sent = self.sent.entry(to).or_default();
        *sent += 1;
        let number = *sent;
        let put = |bytes, channel| Some(Put { channel, ..Put::new(to, bytes) });
        let got = |channel, messages| Need::Got { from: to, channel, messages };
        // Eager messages of a rendezvous have the credits of a write with immediate.
        let credits = number.checked_sub(self.workload.buffers).filter(|credits| *credits > 0 && arm.has_credits());
        let needs: Vec<Need> = credits.map(|credits| got(CREDIT, credits)).into_iter().collect();
        if arm.is_rendezvous() {
            self.add(Task { put: put(SHORT, ANNOUNCED), ..Task::default() });
            let data = self.add(Task {
                needs: vec![got(CLEARED, number)],
                aside: true,
                put: put(bytes, DATA),
                ..Task::default()
            });
            if arm == Arm::RendezvousBlocking {
                self.add(Task { needs: vec![Need::Acked(data)], ..Task::default() });
            }
            return;
        }
        let data = self.add(Task { needs, put: put(bytes, DATA), ..Task::default() });
        match arm {
            Arm::WriteSend => drop(self.add(Task { put: put(SHORT, FLAG), ..Task::default() })),
            Arm::WriteNicFenceSend => {
                let put = Some(Put { channel: FLAG, fence: true, ..Put::new(to, SHORT) });
                self.add(Task { put, ..Task::default() });
            }
            Arm::WriteHostFenceSend => {
                let needs = vec![Need::Acked(data)];
                self.add(Task { needs, aside: true, put: put(SHORT, FLAG), ..Task::default() });
            }
            _ => {}
        }
    }

    fn receive(&mut self, from: u32, bytes: u32) {
        let (arm, copied) = self.protocol(bytes);
        let got = self.got.entry(from).or_default();
        *got += 1;
        let number = *got;
        let need = |channel| vec![Need::Got { from, channel, messages: number }];
        let short = |channel| Some(Put { channel, ..Put::new(from, SHORT) });
        if arm.is_rendezvous() {
            // The buffer is there before the program waits for the message.
            self.add(Task { needs: need(ANNOUNCED), aside: true, put: short(CLEARED), ..Task::default() });
        }
        self.add(Task { needs: need(arm.last()), ..Task::default() });
        if copied {
            self.work(cycles(bytes, self.workload.bytes_a_cycle));
        }
        self.work(self.workload.post);
        if arm.has_credits() {
            self.unread.push(from);
        }
    }

    /// The program computes with what it has got, and then its buffers are free.
    fn compute(&mut self, cycles: u32) {
        self.work(cycles);
        for to in std::mem::take(&mut self.unread) {
            self.add(Task { put: Some(Put { channel: CREDIT, ..Put::new(to, SHORT) }), ..Task::default() });
        }
    }
}

impl Workload {
    /// A workload without computation, copies and eager messages; hosts copy 10 GB/s at 250 MHz, and post a buffer as they write a
    /// register.
    pub fn new(application: Application, arm: Arm) -> Workload {
        let (compute, bytes_a_cycle, buffers, post) = (0, 40.0, 2, 5);
        Workload { application, arm, compute, bytes_a_cycle, eager: 0, copies: false, buffers, post }
    }

    /// Nodes.
    pub fn nodes(&self) -> usize {
        self.application.nodes()
    }

    /// What the host of a node does.
    pub fn tasks(&self, node: u32) -> Vec<Task> {
        let mut builder = Builder {
            workload: self,
            tasks: vec![],
            sent: Default::default(),
            got: Default::default(),
            unread: vec![],
        };
        for step in self.application.steps(node, self.compute, self.bytes_a_cycle) {
            match step {
                Step::Compute(cycles) => builder.compute(cycles),
                Step::Send { to, bytes } => builder.send(to, bytes),
                Step::Receive { from, bytes } => builder.receive(from, bytes),
            }
        }
        builder.tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const APPLICATIONS: [Application; 5] = [
        Application::Sweep { grid: [4, 3], blocks: 2, sweeps: 8, bytes: 100 },
        Application::Halo { grid: [2, 3, 2], iterations: 3, bytes: [300, 20, 8] },
        Application::Doubling { nodes: 8, bytes: 50 },
        Application::ReductionRing { nodes: 5, bytes: 52 },
        Application::AllToAll { nodes: 6, bytes: 70 },
    ];

    #[test]
    fn what_is_sent_is_received_in_its_order() {
        for application in APPLICATIONS {
            let (mut sent, mut received) = (BTreeMap::<(u32, u32), Vec<u32>>::new(), BTreeMap::new());
            for node in 0..application.nodes() as u32 {
                for step in application.steps(node, 1, 40.0) {
                    match step {
                        Step::Send { to, bytes } => sent.entry((node, to)).or_default().push(bytes),
                        Step::Receive { from, bytes } => received.entry((from, node)).or_insert(vec![]).push(bytes),
                        Step::Compute(_) => {}
                    }
                }
            }
            assert_eq!(sent, received, "{application:?}");
            assert!(sent.keys().all(|(from, to)| from != to), "{application:?}");
        }
    }

    #[test]
    fn the_papers_grids_have_the_messages_of_their_motifs() {
        let messages = |application: Application| -> usize {
            let sends =
                |node| application.steps(node, 0, 40.0).iter().filter(|step| matches!(step, Step::Send { .. })).count();
            (0..application.nodes() as u32).map(sends).sum()
        };
        // 24 blocks over 63 x 128 and 64 x 127 borders.
        assert_eq!(messages(Application::Sweep { grid: [64, 128], blocks: 3, sweeps: 8, bytes: 19_200 }), 388_608);
        let halo = |bytes| messages(Application::Halo { grid: [32, 16, 16], iterations: 1, bytes });
        assert_eq!((halo([8192, 256, 8]), halo([8192, 0, 0])), (190_712, 46_592));
    }

    #[test]
    fn every_arm_of_every_application_ends() {
        use crate::motif::{Motif, Post};
        use crate::schedule::Schedule;
        use spindle_contract::params::Config;
        for application in APPLICATIONS {
            for arm in Arm::ALL {
                for (eager, copies) in [(0, false), (60, true)] {
                    let workload = Workload { compute: 3, eager, copies, ..Workload::new(application, arm) };
                    let motif = Motif::workload(workload, Post::Ring, &Config::SIM);
                    let mut schedules: Vec<Schedule> =
                        (0..motif.nodes()).map(|node| Schedule::new(&motif.tasks(node))).collect();
                    let (mut came, mut moved) = (vec![0; motif.nodes()], true);
                    while std::mem::take(&mut moved) {
                        for node in 0..motif.nodes() {
                            while let Some(task) = schedules[node].first(u64::MAX) {
                                moved = true;
                                schedules[node].take(task);
                                let Some(put) = motif.tasks(node)[task as usize].put else { continue };
                                schedules[put.to as usize].got(node as u32, put.channel);
                                schedules[node].acked(task);
                                came[put.to as usize] += 1;
                            }
                        }
                    }
                    assert!(schedules.iter().all(Schedule::is_over), "{workload:?}");
                    assert!((0..motif.nodes()).all(|node| came[node] == motif.gets(node)), "{workload:?}");
                }
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (application, words) in [
            (Application::Doubling { nodes: 12, bytes: 8 }, "a power of two"),
            (Application::ReductionRing { nodes: 12, bytes: 8 }, "give each node a byte"),
            (Application::Halo { grid: [2, 2, 2], iterations: 1, bytes: [0; 3] }, "a halo without bytes"),
        ] {
            let refused = application.check().unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
