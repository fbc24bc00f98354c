//! Nodes that send what a test has them send, and keep what they get. No test needs all of this.
#![allow(dead_code)]

pub mod command;

use anyhow::Result;
use spindle_network::endpoint::{Endpoint, Frame, Log, Report};
use spindle_network::engine::{missing, Network, Physics, Ranks};
use spindle_network::topology::{Shape, Topology};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Frames that nodes got: node and frame.
pub type Received = Arc<Mutex<Vec<(u32, Frame)>>>;

/// A node that sends these frames.
pub struct Script {
    node: u32,
    sends: VecDeque<Frame>,
    cycle: u64,
    received: Received,
}

impl Endpoint for Script {
    fn step(&mut self, until: u64) -> Result<u64> {
        self.cycle = until;
        Ok(self.sends.front().map_or(u64::MAX, |frame| frame.cycle.max(until)))
    }

    fn inject(&mut self, frame: Frame) -> Result<()> {
        assert!(frame.cycle >= self.cycle, "{frame:?} after {}", self.cycle);
        self.received.lock().unwrap().push((self.node, frame));
        Ok(())
    }

    fn take(&mut self) -> Option<Frame> {
        let now = self.sends.front().is_some_and(|frame| frame.cycle < self.cycle);
        if now {
            self.sends.pop_front()
        } else {
            None
        }
    }

    fn report(&self) -> Report {
        Log::default().report(self.sends.is_empty().then_some(self.cycle), Default::default())
    }
}

/// A frame whose last beat leaves in a cycle.
pub fn frame(cycle: u64, to: u32, length: u32, number: u8) -> Frame {
    let bytes = vec![number; length as usize];
    Frame { cycle, peer: Some(to), flow: number.into(), length, bytes, marked: false, hops: 0 }
}

/// A network of scripts, and what they get. Sends are node and frame, in the order of cycles for each node.
pub fn scripts(shape: &Shape, physics: Physics, sends: Vec<(u32, Frame)>) -> Result<(Network, Received)> {
    let received = Received::default();
    let topology = Topology::new(shape)?;
    let endpoint = |node: u32| -> Result<Box<dyn Endpoint>> {
        let sends = sends.iter().filter(|(from, _)| *from == node).map(|(_, frame)| frame.clone()).collect();
        Ok(Box::new(Script { node, sends, cycle: 0, received: received.clone() }))
    };
    Ok((Network::new(Ranks::join()?, &topology, physics, endpoint)?, received))
}

/// Whether networks can be simulated; if not, the test is skipped.
pub fn there() -> bool {
    let missing = missing();
    if let Some(sentence) = &missing {
        spindle_harness::skip(sentence);
    }
    missing.is_none()
}
