//! The user side of the core: packets as beats, straddled ones included, with stalls on both sides.

use super::packet::Packet;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::tlp::TlpBridge;
use spindle_harness::Dut;
use std::collections::VecDeque;

/// The pins of the core's packets.
pub trait Core {
    /// A beat for the card: DWs and `tuser`; new in this cycle, or the one of before.
    fn offer(&mut self, beat: Option<&([u32; 4], u32)>, fresh: bool);
    /// Whether the core takes a beat of the card.
    fn set_ready(&mut self, ready: bool);
    /// Whether the card takes the beat.
    fn takes(&self) -> bool;
    /// The card's beat: data, `tkeep`, `tlast`.
    fn offered(&self) -> Option<(Vec<u8>, u64, bool)>;
    /// This cycle.
    fn cycle(&self) -> u64;
}

impl Core for &Dut<TlpBridge> {
    fn offer(&mut self, beat: Option<&([u32; 4], u32)>, fresh: bool) {
        if let (Some((lanes, user)), true) = (beat, fresh) {
            self.m_axis_rx.tdata.set_bytes(&lanes.map(u32::to_le_bytes).concat());
            self.m_axis_rx.tuser.set(*user);
        }
        self.m_axis_rx.tvalid.set(beat.is_some());
    }

    fn set_ready(&mut self, ready: bool) {
        self.s_axis_tx.tready.set(ready);
    }

    fn takes(&self) -> bool {
        self.m_axis_rx.tready.is_high()
    }

    fn offered(&self) -> Option<(Vec<u8>, u64, bool)> {
        let tx = &self.s_axis_tx;
        if !tx.tvalid.is_high() {
            return None;
        }
        assert_eq!(tx.tuser.number(), 0);
        Some((tx.tdata.bytes(), tx.tkeep.number(), tx.tlast.is_high()))
    }

    fn cycle(&self) -> u64 {
        Dut::cycle(self)
    }
}

/// How willing the core is.
#[derive(Clone, Copy, Debug)]
pub struct LinkPace {
    /// Percent of the cycles with a beat on receive.
    pub rx: u32,
    /// Percent of the cycles with ready on transmit.
    pub tx: u32,
    /// Percent of the packets that straddle where they can.
    pub straddle: u32,
}

impl LinkPace {
    pub const FULL: Self = Self { rx: 100, tx: 100, straddle: 100 };

    pub fn random(rng: &mut ChaCha8Rng) -> Self {
        let pick = |rng: &mut ChaCha8Rng, of: [u32; 4]| of[rng.random_range(0..4)];
        Self {
            rx: pick(rng, [100, 90, 50, 20]),
            tx: pick(rng, [100, 90, 50, 20]),
            straddle: pick(rng, [100, 50, 0, 50]),
        }
    }
}

/// The core.
pub struct Link {
    pub pace: LinkPace,
    rng: ChaCha8Rng,
    to_card: VecDeque<Packet>,
    /// The packet that has begun, and its next DW.
    current: Option<(Packet, usize)>,
    beat: Option<([u32; 4], u32)>,
    /// Packets from the card.
    from_card: VecDeque<Vec<u32>>,
    sending: Vec<u32>,
    held: Option<(Vec<u8>, u64, bool)>,
    ready: bool,
    /// Cycles of the first and the last beat of the newest packet from the card.
    pub began: u64,
    pub ended: u64,
    /// Cycle in which the last beat was taken from the queue to the card.
    pub taken: u64,
    /// Data beats that have moved from and to the card.
    pub beats: [u64; 2],
}

impl Link {
    pub fn new(pace: LinkPace, rng: ChaCha8Rng) -> Self {
        Self {
            pace,
            rng,
            to_card: VecDeque::new(),
            current: None,
            beat: None,
            from_card: VecDeque::new(),
            sending: vec![],
            held: None,
            ready: false,
            began: 0,
            ended: 0,
            taken: 0,
            beats: [0; 2],
        }
    }

    pub fn send(&mut self, packet: Packet) {
        assert!(!packet.dws.is_empty());
        self.to_card.push_back(packet);
    }

    /// Packets that have not left.
    pub fn pending(&self) -> usize {
        self.to_card.len() + self.current.is_some() as usize + self.beat.is_some() as usize
    }

    pub fn receive(&mut self) -> Option<Vec<u32>> {
        self.from_card.pop_front()
    }

    /// The link goes down: the core forgets everything.
    pub fn reset(&mut self) {
        self.to_card.clear();
        self.from_card.clear();
        self.sending.clear();
        (self.current, self.beat, self.held) = (None, None, None);
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent == 100 || self.rng.random_range(0..100) < percent
    }

    /// The next beat: DWs and `tuser`.
    fn fill(&mut self) -> Option<([u32; 4], u32)> {
        let (mut lanes, mut user) = ([0xDEAD_DEAD; 4], 0);
        let mut lane = 0;
        if self.current.is_none() {
            self.current = Some((self.to_card.pop_front()?, 0));
            user |= 1 << 14;
        }
        loop {
            let (packet, at) = self.current.as_mut()?;
            user = user & !0x3FC | (packet.bars as u32) << 2;
            while lane < 4 && *at < packet.dws.len() {
                lanes[lane] = packet.dws[*at];
                (lane, *at) = (lane + 1, *at + 1);
            }
            if *at < packet.dws.len() {
                return Some((lanes, user));
            }
            let cut = packet.cut;
            self.current = None;
            if !cut {
                user |= 1 << 21 | (4 * lane as u32 - 1) << 17;
            }
            let (straddles, another) = (self.pace.straddle, !self.to_card.is_empty());
            if lane > 2 || !another || !self.chance(straddles) {
                return Some((lanes, user));
            }
            // The next packet starts in the middle.
            lane = 2;
            user |= 1 << 14 | 8 << 10;
            self.current = self.to_card.pop_front().map(|packet| (packet, 0));
        }
    }

    /// Inputs of this cycle.
    pub fn drive(&mut self, core: &mut impl Core) {
        let fresh = self.beat.is_none() && self.chance(self.pace.rx);
        if fresh {
            self.beat = self.fill();
        }
        core.offer(self.beat.as_ref(), fresh);
        self.ready = self.chance(self.pace.tx);
        core.set_ready(self.ready);
    }

    /// What moves in this cycle.
    pub fn sample(&mut self, core: &mut impl Core) {
        if self.beat.is_some() && core.takes() {
            self.beat = None;
            self.beats[1] += 1;
            self.taken = core.cycle();
        }
        let now = core.offered();
        if let Some(held) = &self.held {
            assert!(now.as_ref() == Some(held), "a beat on s_axis_tx changed before it was taken");
        }
        self.held = now.clone().filter(|_| !self.ready);
        let Some((data, keep, last)) = now.filter(|_| self.ready) else { return };
        let dws = keep.count_ones() as usize / 4;
        assert!([0xF, 0xFF, 0xFFF, 0xFFFF].contains(&keep) && (last || dws == 4), "keep {keep:x}, last {last}");
        if self.sending.is_empty() {
            self.began = core.cycle();
        }
        self.beats[0] += 1;
        self.sending.extend(data.chunks(4).take(dws).map(|dw| u32::from_le_bytes(dw.try_into().expect("4 bytes"))));
        if last {
            self.ended = core.cycle();
            self.from_card.push_back(std::mem::take(&mut self.sending));
        }
    }
}
