//! PSN filter: what a sequenced packet may do, from sets of numbers.

use spindle_contract::reasons;
use spindle_contract::wire::PSN_WINDOW;
use std::collections::{HashMap, HashSet};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passes, and its number is held.
    Held,
    /// It is dropped for this reason.
    Dropped(usize),
}

/// A peer.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Its node.
    pub node: u32,
    /// Its incarnation.
    pub incarnation: u32,
    /// Lowest number that has not been accepted.
    pub expected: u32,
    /// Accepted numbers from there on.
    pub accepted: HashSet<u32>,
    /// Numbers whose commit has not come.
    pub held: HashSet<u32>,
}

impl Peer {
    /// What a packet with this number finds.
    pub fn judge(&self, psn: u32) -> Verdict {
        let distance = psn.wrapping_sub(self.expected);
        if distance >= 1 << 31 {
            Verdict::Dropped(reasons::DUPLICATE)
        } else if distance as usize >= PSN_WINDOW {
            Verdict::Dropped(reasons::PSN_WINDOW)
        } else if self.accepted.contains(&psn) || self.held.contains(&psn) {
            Verdict::Dropped(reasons::DUPLICATE)
        } else {
            Verdict::Held
        }
    }

    /// The commit of a held number.
    pub fn commit(&mut self, psn: u32, accepted: bool) {
        assert!(self.held.remove(&psn), "{psn} is not held");
        if accepted {
            self.accepted.insert(psn);
            while self.accepted.remove(&self.expected) {
                self.expected = self.expected.wrapping_add(1);
            }
        }
    }

    /// Bit i: `expected` + i has been accepted.
    pub fn selective(&self) -> u64 {
        (0..64).map(|i| u64::from(self.accepted.contains(&self.expected.wrapping_add(i))) << i).sum()
    }
}

/// All peers, by the low bits of their nodes.
#[derive(Clone, Debug)]
pub struct PsnFilter {
    /// The entries that have a peer.
    pub peers: HashMap<usize, Peer>,
    size: usize,
}

impl PsnFilter {
    /// A table of `size` entries.
    pub fn new(size: usize) -> Self {
        PsnFilter { peers: HashMap::new(), size }
    }

    /// Entry of a node.
    pub fn index(&self, node: u32) -> usize {
        node as usize % self.size
    }

    /// The peer of a node; a node that has none yet gets the entry, with a window at 0, if no one has it.
    pub fn peer(&mut self, node: u32) -> Result<&mut Peer, Verdict> {
        let index = self.index(node);
        let peer = self.peers.entry(index).or_insert_with(|| Peer { node, ..Peer::default() });
        if peer.node == node {
            Ok(peer)
        } else {
            Err(Verdict::Dropped(reasons::NO_PEER))
        }
    }

    /// What a packet finds, without holding its number. A packet that does not pass makes no entry.
    pub fn judge(&self, node: u32, psn: u32) -> Verdict {
        match self.peers.get(&self.index(node)) {
            None => Peer::default().judge(psn),
            Some(peer) if peer.node == node => peer.judge(psn),
            Some(_) => Verdict::Dropped(reasons::NO_PEER),
        }
    }

    /// An OPEN, once nothing is held: a new incarnation has a new window.
    pub fn open(&mut self, node: u32, incarnation: u32) {
        let index = self.index(node);
        if self.peers.get(&index).is_none_or(|peer| peer.node == node && peer.incarnation != incarnation) {
            self.peers.insert(index, Peer { node, incarnation, ..Peer::default() });
        }
    }
}
