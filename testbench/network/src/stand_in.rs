//! A NIC that is no model of any: it asks random nodes, answers what it is asked, and keeps a NIC's times. It shows that a network is
//! the same on any number of ranks, and loads networks of thousands of nodes.

use crate::endpoint::{Endpoint, Frame, Log, Port, Report, VALUES};
use crate::noise::Noise;
use anyhow::Result;

/// Bytes of a stand-in's header: destination, source, kind and number.
const HEADER: usize = 16;
/// A question.
const ASK: u32 = 0;
/// Its answer.
const ANSWER: u32 = 1;

/// What a stand-in does.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Nodes of the network.
    pub nodes: u32,
    /// Questions that it asks, one after another.
    pub asks: u64,
    /// Bytes of a question.
    pub bytes: u32,
    /// Bytes of an answer.
    pub answer: u32,
    /// Whom it asks: this node, or a random one each time.
    pub to: Option<u32>,
    /// Cycles from a frame's first beat to the last beat of what follows, the frame's own beats apart.
    pub latency: u64,
    /// Bytes of a beat.
    pub beat: u32,
    /// Cycles after which a question without an answer is asked again.
    pub timeout: u64,
    /// Seed of its choices.
    pub seed: u64,
    /// Pauses of its host, which asks nothing meanwhile; answers are the NIC's.
    pub noise: Option<Noise>,
}

/// The cycle in which the host of a node goes on.
fn goes_on(options: &Options, node: u32, cycle: u64) -> u64 {
    options.noise.map_or(cycle, |noise| noise.goes_on(node, cycle))
}

#[derive(Clone, Copy)]
struct Question {
    to: u32,
    number: u32,
    /// Cycle in which it is asked again.
    again: u64,
}

/// The stand-in.
pub struct StandIn {
    node: u32,
    options: Options,
    random: u64,
    port: Port,
    /// Cycle from which on the wire is free.
    free: u64,
    log: Log,
    /// The question that waits for its answer.
    waiting: Option<Question>,
    /// Cycle in which it asks next, `u64::MAX` if an answer comes first or all is asked.
    asks_at: u64,
    asked: u64,
    answers: u64,
    again: u64,
    done: Option<u64>,
}

impl StandIn {
    /// The stand-in of a node.
    pub fn new(node: u32, options: Options) -> Self {
        let random = (u64::from(node) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ options.seed;
        let done = (options.asks == 0).then_some(0);
        let asks_at = if options.asks > 0 { goes_on(&options, node, 0) } else { u64::MAX };
        StandIn {
            node,
            options,
            random: random.max(1),
            port: Port::default(),
            free: 0,
            log: Log::default(),
            waiting: None,
            asks_at,
            asked: 0,
            answers: 0,
            again: 0,
            done,
        }
    }

    /// The next of its random numbers (xorshift).
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn send(&mut self, cycle: u64, to: u32, kind: u32, number: u32, length: u32) {
        let length = length.max(HEADER as u32);
        let beats = u64::from(length.div_ceil(self.options.beat));
        let last = (cycle + self.options.latency).max(self.free) + beats;
        self.free = last;
        let words = [to, self.node, kind, number];
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let flow = self.node ^ kind << 31;
        self.port.send(Frame { cycle: last, peer: Some(to), flow, length, bytes, marked: false, hops: 0 });
    }

    fn ask(&mut self, cycle: u64) {
        let number = self.asked as u32;
        let others = u64::from(self.options.nodes - 1);
        let to = match self.options.to {
            Some(to) => to,
            None => ((u64::from(self.node) + 1 + self.draw() % others) % u64::from(self.options.nodes)) as u32,
        };
        self.asked += 1;
        self.asks_at = u64::MAX;
        self.put(cycle, to, number);
    }

    fn put(&mut self, cycle: u64, to: u32, number: u32) {
        self.waiting = Some(Question { to, number, again: cycle + self.options.timeout });
        self.send(cycle, to, ASK, number, self.options.bytes);
    }

    fn receive(&mut self, cycle: u64, frame: &Frame) {
        self.log.add(frame);
        let word = |i: usize| u32::from_le_bytes(frame.bytes[4 * i..4 * i + 4].try_into().expect("four bytes"));
        if frame.bytes.len() < HEADER || word(0) != self.node {
            return; // Corrupted.
        }
        let (from, kind, number) = (word(1), word(2), word(3));
        match kind {
            ASK if from < self.options.nodes => self.send(cycle, from, ANSWER, number, self.options.answer),
            ANSWER if self.waiting.is_some_and(|asked| asked.number == number) => {
                self.waiting = None;
                self.answers += 1;
                match self.asked < self.options.asks {
                    true => match goes_on(&self.options, self.node, cycle + 1) {
                        at if at == cycle + 1 => self.ask(at),
                        at => self.asks_at = at,
                    },
                    false => self.done = Some(cycle),
                }
            }
            _ => {}
        }
    }

    /// The next cycle in which it does something.
    fn next(&self) -> u64 {
        let comes = self.port.comes();
        let again = self.waiting.map_or(u64::MAX, |asked| asked.again);
        self.asks_at.min(comes).min(again)
    }
}

impl Endpoint for StandIn {
    fn step(&mut self, until: u64) -> Result<u64> {
        loop {
            let at = self.next().max(self.port.cycle);
            if at >= until {
                break;
            }
            self.port.cycle = at;
            if self.asks_at <= at {
                self.ask(at);
            }
            while let Some(frame) = self.port.due(at) {
                self.receive(at, &frame);
            }
            if let Some(asked) = self.waiting.filter(|asked| asked.again <= at) {
                self.again += 1;
                self.put(at, asked.to, asked.number);
            }
            self.port.cycle = at + 1;
        }
        let next = self.next();
        Ok(self.port.end(until, next))
    }

    fn inject(&mut self, frame: Frame) -> Result<()> {
        self.port.inject(frame)
    }

    fn take(&mut self) -> Option<Frame> {
        self.port.take()
    }

    fn report(&self) -> Report {
        let mut values = [0; VALUES];
        values[..3].copy_from_slice(&[self.asked, self.answers, self.again]);
        self.log.report(self.done, values)
    }
}
