//! Motifs: what hosts do and send, as lists of tasks that wait for messages. The same list drives a Verilated NIC's host and a model of
//! both, so that the times of the two can be compared.

use crate::handlers;
use crate::programs::{
    collect, data, obey_marks, set_up, window_address, Awaited, Pattern, CLEARED, KEY, PROCESS, SETTLED,
};
use crate::rtl::{self, Host, Program};
use crate::schedule::Schedule;
use crate::transport::Transport;
use crate::tree::children;
use crate::workload::Workload;
use anyhow::{bail, ensure, Context, Result};
use serde::Deserialize;
use spindle::congestion::Congestion;
use spindle::events::EventKind;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::{HostMemory, Kind, Target};
use spindle_contract::params::Config;
use spindle_sim::Arrival;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::sync::{Arc, Mutex};

/// Cycles in which a host opens the window of a message and posts the buffer, at most.
const SET_UP: u64 = 400;
/// Cycles in which a host enters a node, at most, for nodes beyond [`FEW`].
const NODE: u64 = 100;
const FEW: usize = 8;
/// Cycles in which a host installs the handler that adds, and the one that passes totals on, at most, for each cluster.
const INSTALLED: u64 = 2000;
/// Mailboxes from which on a NIC takes longer to clear its tables after reset, and a cycle in which it has: hosts of `alveo` were set up
/// in cycle 34,229.
const MANY_MAILBOXES: usize = 4096;
const MANY_CLEARED: u64 = 40_000;
/// Records of a host's event ring: more than a motif has puts under way.
const EVENTS: usize = 256;

/// Addresses of mailboxes that are the same at all nodes, from their number on.
const SHARED: u64 = 1 << 48;
/// Cycles from one broadcast by handlers to the next: more than one takes on a thousand nodes.
const ROUND: u64 = 5000;

/// High word of the addresses whose messages a handler adds.
pub(crate) const SUMS: u32 = 1 << 17;
/// Bytes of an element of a vector.
pub(crate) const WORD: usize = 4;
/// Levels of a tree of sums at most: a vector of each one lies in the scratchpad of a cluster.
pub(crate) const MOST_LEVELS: usize = 5;
/// The channel of the vectors of level 0; that of level 1 is the next one.
pub const VECTORS: Channel = 16;
/// Cycles from one allreduce by handlers to the next: more than one takes on a thousand nodes.
pub const SUM_ROUND: u64 = 20_000;

/// What a message is for: a receiver counts those of each channel.
pub type Channel = u8;

/// What a task waits for, beside the tasks before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// So many messages of any node and channel.
    Any(u32),
    /// So many messages of a node on a channel.
    Got {
        /// The sender.
        from: u32,
        /// The channel.
        channel: Channel,
        /// Messages, from the start of the motif on.
        messages: u32,
    },
    /// The put of this task of the same node has been acknowledged, and the host has seen it.
    Acked(u32),
}

/// Where a message goes, and what its bytes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mailbox {
    /// One of its own, with bytes of its sender and number.
    #[default]
    Own,
    /// One of this number, the same at all nodes: handlers pass the first node's bytes on.
    Shared(u32),
    /// The handler that adds vectors of a round and a level: bytes of the sender and the round, or a sum. No host sees them.
    Sum {
        /// Number of the allreduce.
        round: u32,
        /// Level in the tree of sums.
        level: u8,
    },
    /// The shared one of this round, with the sum of the vectors of so many nodes, from the first one on.
    Total {
        /// Number of the allreduce.
        round: u32,
        /// Nodes.
        nodes: u16,
    },
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// The receiver.
    pub to: u32,
    /// Its length.
    pub bytes: u32,
    /// What it is for.
    pub channel: Channel,
    /// The NIC keeps it until all that it has sent to the receiver is acknowledged. Models alone have that.
    pub fence: bool,
    /// Where it goes.
    pub mailbox: Mailbox,
}

impl Put {
    /// A message on channel 0, without a fence.
    pub fn new(to: u32, bytes: u32) -> Put {
        Put { to, bytes, channel: 0, fence: false, mailbox: Mailbox::Own }
    }

    /// A handler takes it, and no host sees it.
    fn is_added(&self) -> bool {
        matches!(self.mailbox, Mailbox::Sum { .. })
    }

    /// Address of the mailbox of a node's task.
    pub(crate) fn address(&self, from: usize, task: usize) -> u64 {
        match self.mailbox {
            Mailbox::Own => window_address(from, task),
            Mailbox::Shared(number) | Mailbox::Total { round: number, .. } => SHARED | u64::from(number),
            Mailbox::Sum { round, level } => u64::from(SUMS) << 32 | u64::from(round) << 8 | u64::from(level),
        }
    }

    /// The bytes of a node's task.
    fn contents(&self, from: usize, task: usize) -> Vec<u8> {
        let bytes = self.bytes as usize;
        match self.mailbox {
            Mailbox::Own => data((from, task), bytes),
            Mailbox::Shared(number) => data((0, number as usize), bytes),
            Mailbox::Sum { round, .. } => data((from, round as usize), bytes),
            Mailbox::Total { round, nodes } => {
                let mut sums = vec![0_u32; bytes / WORD];
                for node in 0..nodes {
                    let vector = data((node.into(), round as usize), bytes);
                    let (words, _) = vector.as_chunks::<WORD>();
                    sums.iter_mut()
                        .zip(words)
                        .for_each(|(sum, word)| *sum = sum.wrapping_add(u32::from_le_bytes(*word)));
                }
                sums.iter().flat_map(|sum| sum.to_le_bytes()).collect()
            }
        }
    }
}

/// Something that a host does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// What it waits for.
    pub needs: Vec<Need>,
    /// It waits for no task before it, and none waits for it: an answer to a message, out of the program's order.
    pub aside: bool,
    /// The NIC does it, by a handler. It needs one message, whose bytes it passes on to the mailbox of the same number, or several, which
    /// it adds. A handler passes all messages on to the same nodes, and adds as many vectors of a level in every round.
    pub handler: bool,
    /// Cycle before which it is not begun, counted from the motif's start.
    pub at: u64,
    /// Cycles of the host's processor.
    pub work: u32,
    /// What it sends then.
    pub put: Option<Put>,
}

impl Task {
    /// A message, as soon as the tasks before have been done.
    pub fn put(put: Put) -> Task {
        Task { put: Some(put), ..Task::default() }
    }

    /// A handler that adds.
    pub fn adds(&self) -> bool {
        self.handler && self.needs.len() > 1
    }

    /// The same task, when so many messages have come.
    pub fn after(mut self, messages: u32) -> Task {
        if messages > 0 {
            self.needs.push(Need::Any(messages));
        }
        self
    }
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

/// Where the tasks of a node come from: thousands of nodes need not have them in memory at once.
#[derive(Clone, Debug)]
enum From {
    List(Vec<Vec<Task>>),
    Workload(Workload),
}

/// What all hosts do.
#[derive(Clone, Debug)]
pub struct Motif {
    from: From,
    /// How messages are handed over.
    pub post: Post,
    /// Cycle in which all hosts are set up, and the motif starts.
    pub start: u64,
    /// Messages that each node's host gets.
    gets: Vec<u32>,
    /// Hosts look for acknowledgements though no task waits for one.
    pub watched: bool,
    /// How the NICs obey marks, if they do.
    pub congestion: Option<Congestion>,
    /// Times after which NICs send again; none: those of [`programs`](crate::programs).
    pub reliability: Option<Reliability>,
}

/// What a host with its NIC saw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// For each call that handed messages over, its first cycle and the one in which it was over.
    pub posts: Vec<(u64, u64)>,
    /// Messages that came: sender, number and cycle of the record.
    pub records: Vec<(usize, usize, u64)>,
    /// Puts that were over: number of the task, and cycle in which the host saw it.
    pub acked: Vec<(usize, u64)>,
    /// Frames that came.
    pub arrivals: Vec<Arrival>,
}

/// What the hosts of a motif saw, by node.
pub type AllSeen = Arc<Mutex<Vec<Seen>>>;

impl Motif {
    /// Nodes.
    pub fn nodes(&self) -> usize {
        self.gets.len()
    }

    /// The tasks of a node.
    pub fn tasks(&self, node: usize) -> Cow<'_, [Task]> {
        match &self.from {
            From::List(tasks) => Cow::Borrowed(&tasks[node]),
            From::Workload(workload) => Cow::Owned(workload.tasks(node as u32)),
        }
    }

    /// Messages that a node's host gets.
    pub fn gets(&self, node: usize) -> usize {
        self.gets[node] as usize
    }

    /// Messages that a node's host gets: sender, number of its task, the message.
    pub fn expected(&self, to: usize) -> Vec<(usize, usize, Put)> {
        let of = |from: usize| -> Vec<(usize, usize, Put)> {
            let puts = self
                .tasks(from)
                .iter()
                .enumerate()
                .filter_map(|(k, task)| Some((from, k, task.put?)))
                .collect::<Vec<_>>();
            puts.into_iter().filter(|(_, _, put)| put.to as usize == to && !put.is_added()).collect()
        };
        (0..self.nodes()).flat_map(of).collect()
    }

    /// Whether the host of a node looks for acknowledgements.
    fn watches(&self, tasks: &[Task]) -> bool {
        self.watched || tasks.iter().flat_map(|task| &task.needs).any(|need| matches!(need, Need::Acked(_)))
    }

    fn from(from: From, nodes: usize, post: Post, config: &Config) -> Motif {
        let mut motif =
            Motif { from, post, start: 0, gets: vec![0; nodes], watched: false, congestion: None, reliability: None };
        let mut installed = 0;
        for node in 0..nodes {
            let tasks = motif.tasks(node);
            if tasks.iter().any(Task::adds) {
                installed = INSTALLED * config.clusters as u64;
            }
            let puts: Vec<Put> = tasks.iter().filter_map(|task| task.put).collect();
            puts.iter().filter(|put| !put.is_added()).for_each(|put| motif.gets[put.to as usize] += 1);
        }
        let cleared = if config.mailboxes < MANY_MAILBOXES { CLEARED } else { MANY_CLEARED };
        let most = motif.gets.iter().max().copied().unwrap_or(0);
        let entered = nodes.min(rtl::MOST).saturating_sub(FEW) as u64;
        motif.start = cleared + 1000 + NODE * entered + SET_UP * u64::from(most) + installed;
        motif
    }

    /// The tasks of every node, for NICs of a configuration.
    pub fn of(tasks: Vec<Vec<Task>>, post: Post, config: &Config) -> Motif {
        let nodes = tasks.len();
        Motif::from(From::List(tasks), nodes, post, config)
    }

    /// The motif of an application.
    pub fn workload(workload: Workload, post: Post, config: &Config) -> Motif {
        let nodes = workload.nodes();
        Motif::from(From::Workload(workload), nodes, post, config)
    }

    /// The sends of a pattern. A broadcast is one message, whatever their number; in a ping-pong the messages are the rounds of a pair.
    /// Messages of a broadcast by handlers follow each other after [`ROUND`] cycles.
    pub fn new(pattern: Pattern, nodes: usize, messages: u32, bytes: u32, post: Post, config: &Config) -> Motif {
        if pattern == Pattern::HandlerBroadcast {
            return Motif::handler_broadcast(nodes, &vec![bytes; messages as usize], ROUND, config);
        }
        let send = |to: usize, after: u32| Task::put(Put::new(to as u32, bytes)).after(after);
        let of = |node: usize| -> Vec<Task> {
            match pattern {
                Pattern::PingPong => (0..messages).map(|round| send(node ^ 1, round + (node % 2) as u32)).collect(),
                Pattern::Broadcast => children(node, nodes).map(|child| send(child, u32::from(node > 0))).collect(),
                _ => (0..messages).filter_map(|k| Some(send(pattern.target(node, k as usize, nodes)?, 0))).collect(),
            }
        };
        Motif::of((0..nodes).map(of).collect(), post, config)
    }

    /// The workload, if it is one.
    pub fn application(&self) -> Option<&Workload> {
        match &self.from {
            From::List(_) => None,
            From::Workload(workload) => Some(workload),
        }
    }

    /// The cycle from the motif's start on in which its last part begins: what comes before that is not of interest.
    pub fn last_part(&self) -> u64 {
        let last = |node: usize| self.tasks(node).iter().map(|task| task.at).max().unwrap_or(0);
        (0..self.nodes()).map(last).max().unwrap_or(0)
    }

    /// How models send. `lossy`: cables lose or change frames.
    pub fn transport(&self, lossy: bool) -> Transport {
        Transport::new(self.congestion, self.reliability, lossy)
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
        let tasks = self.tasks(host.number);
        ensure!(
            !tasks.iter().any(|task| task.put.is_some_and(|put| put.fence)),
            "a NIC has no fence for puts; choose another arm, or nodes of kind `model`"
        );
        if tasks.iter().any(Task::adds) {
            handlers::install_sum(host, &tasks)?;
        }
        let action = match tasks.iter().any(|task| task.handler && !task.adds()) {
            false => Action::Mailbox,
            true => handlers::pass_on(host, &tasks)?,
        };
        set_up(&mut host.device, host.number, host.nodes, action)?;
        obey_marks(&mut host.device, self.congestion)?;
        if self.reliability.is_some() {
            host.device.set_reliability(self.reliability)?;
        }
        let mut waiting = Vec::new();
        let mut channels = BTreeMap::new();
        for (from, k, put) in self.expected(host.number) {
            let window = host.device.init_window(PROCESS, put.address(from, k), KEY, put.bytes)?;
            let posted = host.device.post_buffer(window, put.bytes)?;
            let data = put.contents(from, k);
            waiting.push(Awaited { from, k, data, posted });
            channels.insert((from, k), put.channel);
        }
        let mut staged = Vec::new();
        for (k, task) in tasks.iter().enumerate() {
            let Some(put) = task.put.filter(|_| !task.handler) else {
                staged.push(0);
                continue;
            };
            let from = host.device.memory.alloc(put.bytes as usize, 64)?;
            host.device.memory.write(from, &put.contents(host.number, k))?;
            staged.push(from);
        }
        let places = tasks.len().next_power_of_two().max(2);
        let mut ring = host.device.open_commands(PROCESS, places)?;
        let mut events = if self.watches(&tasks) { Some(host.device.open_ring(PROCESS, EVENTS)?) } else { None };
        host.device.set_receive(true)?;
        let (now, start) = (host.now(), self.start);
        ensure!(now <= start, "the host is set up in cycle {now}, and the motif starts in cycle {start}");
        host.run_to(start);
        drop(host.card.sim().take_entered());
        let mut seen = Seen::default();
        let mut schedule = Schedule::new(&tasks);
        // Tasks of puts by their numbers in events.
        let mut numbers = BTreeMap::new();
        let mut under_way = 0;
        while !schedule.is_over() || !waiting.is_empty() || (events.is_some() && under_way > 0) {
            collect(host, &mut waiting, |got, cycle| {
                seen.records.push((got.from, got.k, cycle));
                schedule.got(got.from as u32, channels[&(got.from, got.k)]);
            })?;
            if let Some(events) = &mut events {
                while let Some(event) = host.device.poll_event(events)? {
                    let EventKind::Put { number, acknowledged: true, .. } = event.kind else {
                        bail!("{event:?} where puts are acknowledged");
                    };
                    let task = numbers.remove(&number).context("the event of a put that was not sent")?;
                    seen.acked.push((task as usize, host.now()));
                    schedule.acked(task);
                    under_way -= 1;
                }
            }
            let mut posted = None;
            while let Some(task) = schedule.first(host.now().saturating_sub(start)) {
                let Task { work, put, .. } = tasks[task as usize];
                if work > 0 && posted.is_some() {
                    break;
                }
                schedule.take(task);
                if work > 0 {
                    host.run(work.into());
                }
                let Some(put) = put else { continue };
                let begun = *posted.get_or_insert(host.now());
                let address = put.address(host.number, task as usize);
                let (node, process) = (put.to as u8, PROCESS as u16);
                let target = Target { node, process, address, key: KEY, offset: 0, kind: Kind::Bound };
                let from = staged[task as usize];
                under_way += 1;
                if self.post == Post::Doorbell {
                    let put = host.device.put(PROCESS, from, put.bytes, &target)?;
                    numbers.insert(put.number, task);
                    seen.posts.push((begun, host.now()));
                    break;
                }
                let added = host.device.add_put(&mut ring, from, put.bytes, &target, task as u16)?;
                ensure!(added, "the ring has no room for message {task}");
                numbers.insert(task as u16, task);
            }
            match (posted, self.post) {
                (Some(begun), Post::Ring) => {
                    host.device.write_commands(&mut ring)?;
                    seen.posts.push((begun, host.now()));
                }
                (Some(_), Post::Doorbell) => {}
                (None, _) => host.run(1),
            }
        }
        // Acknowledgements are still on their way.
        host.run(SETTLED);
        seen.arrivals = host.card.sim().take_entered();
        Ok(seen)
    }
}

impl Display for Motif {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        if let From::Workload(workload) = &self.from {
            return write!(f, "{:?} by {:?}", workload.application, workload.arm);
        }
        let puts = |node: usize| self.tasks(node).iter().filter_map(|task| task.put).collect::<Vec<Put>>();
        let most = (0..self.nodes()).map(puts).max_by_key(Vec::len).unwrap_or_default();
        write!(f, "{} of {} bytes by {:?}", most.len(), most.first().map_or(0, |put| put.bytes), self.post)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does tasks as soon as they can be; messages take a unit of time, and nodes send one at a time. When the last
    /// message of each node came.
    fn ends(motif: &Motif) -> Vec<Option<u64>> {
        let nodes = motif.nodes();
        let mut schedules: Vec<Schedule> = (0..nodes).map(|node| Schedule::new(&motif.tasks(node))).collect();
        let mut under_way = vec![];
        let mut ends = vec![None; nodes];
        let mut now = 0;
        while schedules.iter().any(|schedule| !schedule.is_over()) || !under_way.is_empty() {
            for (from, to, channel) in std::mem::take(&mut under_way) {
                schedules[to as usize].got(from, channel);
                ends[to as usize] = Some(now);
            }
            for (node, schedule) in schedules.iter_mut().enumerate() {
                let Some(task) = schedule.first(now) else { continue };
                schedule.take(task);
                let put = motif.tasks(node)[task as usize].put;
                under_way.extend(put.map(|put| (node as u32, put.to, put.channel)));
            }
            now += 1;
            assert!(now < 10_000, "the motif does not end: {schedules:?}");
        }
        ends
    }

    #[test]
    fn a_broadcast_reaches_every_node_once_in_logarithmic_time() {
        for nodes in [2, 3, 8, 11, 1024] {
            let motif = Motif::new(Pattern::Broadcast, nodes, 1, 8, Post::Ring, &Config::SIM);
            let ends = ends(&motif);
            assert!(ends[0].is_none() && ends[1..].iter().all(Option::is_some), "{nodes}: {ends:?}");
            assert!((1..nodes).all(|node| motif.gets(node) == 1), "{nodes}");
            let steps = u64::from(nodes.next_power_of_two().trailing_zeros());
            assert_eq!(ends.iter().flatten().max(), Some(&steps), "{nodes}");
        }
    }

    #[test]
    fn a_total_is_the_sum_of_the_vectors() {
        let put = |mailbox| Put { mailbox, ..Put::new(0, 8) };
        let vectors: Vec<Vec<u8>> =
            (0..3).map(|node| put(Mailbox::Sum { round: 5, level: 0 }).contents(node, 9)).collect();
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        let total = put(Mailbox::Total { round: 5, nodes: 3 }).contents(1, 2);
        for at in [0, 4] {
            let sum = vectors.iter().fold(0_u32, |sum, vector| sum.wrapping_add(word(vector, at)));
            assert_eq!(word(&total, at), sum);
        }
        assert_ne!(vectors[0], vectors[1]);
    }

    #[test]
    fn a_ping_pong_is_one_message_after_another() {
        let ends = ends(&Motif::new(Pattern::PingPong, 4, 3, 8, Post::Doorbell, &Config::SIM));
        assert_eq!(ends, [Some(6), Some(5), Some(6), Some(5)]);
    }
}
