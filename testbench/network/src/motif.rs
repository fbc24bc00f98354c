//! Motifs: what hosts do and send, as lists of tasks that wait for messages. The same list drives a Verilated NIC's host and a model of
//! both, so that the times of the two can be compared.

use crate::programs::{
    collect, data, obey_marks, set_up, window_address, Awaited, Pattern, CLEARED, KEY, PROCESS, SETTLED,
};
use crate::rtl::{self, Host, Program};
use crate::transport::Transport;
use crate::workload::Workload;
use anyhow::{bail, ensure, Context, Result};
use serde::Deserialize;
use spindle::congestion::Congestion;
use spindle::events::EventKind;
use spindle::reliable::Reliability;
use spindle::rule_table::{Action, Delivery, Message};
use spindle::{ContextId, ContextOptions, HostMemory, Kind, Target};
use spindle_contract::params::{Config, SEGMENT_BYTES};
use spindle_sdk::Sources;
use spindle_sim::Arrival;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
/// Nodes to which a handler passes a message on, at most.
const MOST_CHILDREN: usize = 16;
/// The handler that does.
const PASS_ON: &str = include_str!("../handlers/pass_on.c");

/// High word of the addresses whose messages a handler adds.
const SUMS: u32 = 1 << 17;
/// Bytes of an element of a vector.
const WORD: usize = 4;
/// Levels of a tree of sums at most: a vector of each one lies in the scratchpad of a cluster.
const MOST_LEVELS: usize = 5;
/// The channel of the vectors of level 0; that of level 1 is the next one.
pub const VECTORS: Channel = 16;
/// Cycles from one allreduce by handlers to the next: more than one takes on a thousand nodes.
pub const SUM_ROUND: u64 = 20_000;
/// The handler that adds.
const SUM: &str = include_str!("../handlers/sum.c");

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
    fn address(&self, from: usize, task: usize) -> u64 {
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

/// The children of a node in a binomial tree, that with the most nodes below it first.
fn children(node: usize, nodes: usize) -> impl Iterator<Item = usize> {
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
    /// Group G of level l, from 0 on, is added by node `fan_in^(l+1) G + l + 1`: no node puts to itself, since a switch sends no frame back.
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
            install_sum(host, &tasks)?;
        }
        let action = match tasks.iter().any(|task| task.handler && !task.adds()) {
            false => Action::Mailbox,
            true => pass_on(host, &tasks)?,
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

/// Installs a handler of this name and text in a context whose variables have these values.
fn install(
    host: &mut Host,
    (name, text): (&str, &str),
    options: &ContextOptions,
    variables: &[(&str, &[u32])],
) -> Result<ContextId> {
    let folder = tempfile::tempdir().context("cannot make a folder for a handler")?;
    let file = folder.path().join(name);
    std::fs::write(&file, text).context("cannot write a handler")?;
    let handler = spindle_sdk::load(&Sources::one(&file)).with_context(|| format!("{name} cannot be compiled"))?;
    let context = host.device.install(&handler.image, options)?;
    for (name, values) in variables {
        let variable = spindle_sdk::variables::variable(&handler.elf, &handler.image, name)?;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        host.device.write_state(context, variable.offset, &bytes)?;
    }
    host.device.activate(context)?;
    Ok(context)
}

/// Installs the handler that passes messages on to the nodes of these tasks, in their order; what to do with Spindle packets.
fn pass_on(host: &mut Host, tasks: &[Task]) -> Result<Action> {
    let puts = tasks.iter().filter(|task| task.handler && !task.adds()).filter_map(|task| task.put);
    let mut nodes: Vec<u32> = Vec::new();
    for put in puts {
        ensure!(
            put.bytes as usize <= SEGMENT_BYTES,
            "a handler passes on messages of one packet, and not {} bytes",
            put.bytes
        );
        if !nodes.contains(&put.to) {
            nodes.push(put.to);
        }
    }
    ensure!(nodes.len() <= MOST_CHILDREN, "a handler passes a message on to {MOST_CHILDREN} nodes at most");
    let count = [nodes.len() as u32];
    let variables: [(&str, &[u32]); 3] = [("key", &[KEY]), ("count", &count), ("nodes", &nodes)];
    let context = install(host, ("pass_on.c", PASS_ON), &ContextOptions::default(), &variables)?;
    Ok(Action::Deliver(Delivery { context, message: Message::SpindleHeader, end: None, to_host: true }))
}

/// Installs the handler that adds the vectors of these tasks, and the rule that gives them to the handler. It runs in one cluster, whose
/// scratchpad has the sums.
fn install_sum(host: &mut Host, tasks: &[Task]) -> Result<()> {
    let (mut inputs, mut nodes, mut highs) = ([0; MOST_LEVELS], [0; MOST_LEVELS], [0; MOST_LEVELS]);
    for task in tasks.iter().filter(|task| task.adds()) {
        let (Some(put), Some(Need::Got { channel, .. })) = (task.put, task.needs.first()) else { continue };
        let level = usize::from(channel - VECTORS);
        inputs[level] = task.needs.len() as u32;
        nodes[level] = put.to;
        highs[level] = (put.address(host.number, 0) >> 32) as u32;
    }
    let hpus = host.device.info().hpus;
    let options = ContextOptions { core_mask: (1 << hpus) - 1, ..ContextOptions::default() };
    let variables: [(&str, &[u32]); 4] = [("key", &[KEY]), ("inputs", &inputs), ("nodes", &nodes), ("highs", &highs)];
    let context = install(host, ("sum.c", SUM), &options, &variables)?;
    let rule = format!("spindle && spindle.addr_hi == {SUMS}");
    host.device.add_rule(&rule.parse()?, Action::ContextPerMessage(context))?;
    Ok(())
}

/// What a host's program still has to know of a task.
#[derive(Clone, Copy, Debug)]
struct Open {
    aside: bool,
    /// Needs that are not met.
    unmet: u8,
    taken: bool,
}

/// Which task a host does next: tasks in their order, and those aside as soon as they can be; of two, the one that comes first in the list.
/// A network has thousands of schedules with hundreds of tasks each, so a task takes few bytes.
#[derive(Debug)]
pub struct Schedule {
    open: Vec<Open>,
    /// Earliest cycles of tasks that have one.
    later: BTreeMap<u32, u64>,
    /// The first task that is not aside and not taken.
    next: usize,
    /// Tasks aside whose needs are met.
    aside: BTreeSet<u32>,
    got: BTreeMap<(u32, Channel), Count>,
    any: Count,
    /// Tasks of puts whose acknowledgements are waited for, in their order, each with the task that waits.
    acked: Vec<(u32, u32)>,
    left: usize,
}

/// Messages that came, and the tasks that wait until there are so many.
#[derive(Debug, Default)]
struct Count {
    came: u32,
    waiting: VecDeque<(u32, u32)>,
}

impl Count {
    /// One more; the tasks that waited for it.
    fn add(&mut self) -> impl Iterator<Item = u32> {
        self.came += 1;
        let met = self.waiting.partition_point(|(messages, _)| *messages <= self.came);
        self.waiting.drain(..met).map(|(_, task)| task).collect::<Vec<_>>().into_iter()
    }
}

impl Schedule {
    /// The tasks of a node, of which none has been done; without those of handlers.
    pub fn new(tasks: &[Task]) -> Schedule {
        let mut schedule = Schedule {
            open: Vec::with_capacity(tasks.len()),
            later: BTreeMap::new(),
            next: 0,
            aside: BTreeSet::new(),
            got: BTreeMap::new(),
            any: Count::default(),
            acked: vec![],
            left: tasks.len(),
        };
        for (k, task) in tasks.iter().enumerate() {
            let k = k as u32;
            if task.handler {
                schedule.open.push(Open { aside: true, unmet: 0, taken: true });
                schedule.left -= 1;
                continue;
            }
            for need in &task.needs {
                let (count, messages) = match *need {
                    Need::Any(messages) => (&mut schedule.any, messages),
                    Need::Got { from, channel, messages } => {
                        (schedule.got.entry((from, channel)).or_default(), messages)
                    }
                    Need::Acked(put) => {
                        schedule.acked.push((put, k));
                        continue;
                    }
                };
                let at = count.waiting.partition_point(|(others, _)| *others <= messages);
                count.waiting.insert(at, (messages, k));
            }
            if task.aside && task.needs.is_empty() {
                schedule.aside.insert(k);
            }
            let unmet = task.needs.len() as u8;
            schedule.open.push(Open { aside: task.aside, unmet, taken: false });
            if task.at > 0 {
                schedule.later.insert(k, task.at);
            }
        }
        schedule.acked.sort();
        schedule.acked.shrink_to_fit();
        schedule.skip();
        schedule
    }

    /// To the next task that has an order.
    fn skip(&mut self) {
        while self.open.get(self.next).is_some_and(|open| open.aside || open.taken) {
            self.next += 1;
        }
    }

    /// Every task has been taken.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    fn met(&mut self, task: u32) {
        let open = &mut self.open[task as usize];
        open.unmet -= 1;
        if open.unmet == 0 && open.aside {
            self.aside.insert(task);
        }
    }

    /// A message has come.
    pub fn got(&mut self, from: u32, channel: Channel) {
        let of = self.got.get_mut(&(from, channel)).map(Count::add);
        for task in self.any.add().chain(of.into_iter().flatten()) {
            self.met(task);
        }
    }

    /// The put of a task has been acknowledged.
    pub fn acked(&mut self, task: u32) {
        let mut at = self.acked.partition_point(|(put, _)| *put < task);
        while let Some((_, waits)) = self.acked.get(at).copied().filter(|(put, _)| *put == task) {
            self.met(waits);
            at += 1;
        }
    }

    /// A task waits for the acknowledgement of this one's put.
    pub fn waits_for_ack(&self, task: u32) -> bool {
        self.acked.binary_search_by_key(&task, |(put, _)| *put).is_ok()
    }

    /// The task that can be done first, and its earliest cycle from the motif's start on.
    fn candidate(&self) -> Option<(u64, u32)> {
        let at = |task: u32| (self.later.get(&task).copied().unwrap_or(0), task);
        let ordered = self.open.get(self.next).filter(|open| open.unmet == 0).map(|_| at(self.next as u32));
        let aside = self.aside.first().map(|task| at(*task));
        ordered.into_iter().chain(aside).min()
    }

    /// The cycle from the motif's start on in which a task can be done, if no message comes; none if there is no such task.
    pub fn next(&self) -> Option<u64> {
        self.candidate().map(|(at, _)| at)
    }

    /// The task that can be done in this cycle, counted from the motif's start.
    pub fn first(&self, cycle: u64) -> Option<u32> {
        self.candidate().filter(|(at, _)| *at <= cycle).map(|(_, task)| task)
    }

    /// A task is done.
    pub fn take(&mut self, task: u32) {
        self.open[task as usize].taken = true;
        self.aside.remove(&task);
        self.left -= 1;
        self.skip();
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

    #[test]
    fn a_ping_pong_is_one_message_after_another() {
        let ends = ends(&Motif::new(Pattern::PingPong, 4, 3, 8, Post::Doorbell, &Config::SIM));
        assert_eq!(ends, [Some(6), Some(5), Some(6), Some(5)]);
    }

    #[test]
    fn tasks_aside_do_not_wait_for_those_before_them() {
        let got = |from, channel, messages| Need::Got { from, channel, messages };
        let first = Task { needs: vec![got(1, 0, 2)], ..Task::default() };
        let aside = Task { needs: vec![got(1, 3, 1), Need::Acked(2)], aside: true, ..Task::default() };
        let last = Task { at: 10, ..Task::default() };
        let mut schedule = Schedule::new(&[first, aside, last]);
        assert_eq!((schedule.first(99), schedule.next()), (None, None));
        schedule.got(1, 3);
        schedule.got(1, 0);
        assert_eq!(schedule.first(99), None);
        schedule.acked(2);
        assert_eq!(schedule.first(0), Some(1));
        schedule.take(1);
        schedule.got(1, 0);
        assert_eq!(schedule.first(0), Some(0));
        schedule.take(0);
        assert_eq!((schedule.first(9), schedule.next(), schedule.is_over()), (None, Some(10), false));
        assert_eq!(schedule.first(10), Some(2));
        schedule.take(2);
        assert!(schedule.is_over());
    }
}
