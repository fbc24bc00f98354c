//! Ten thousand random operations against the model: posts, puts of 1 byte to 1 MiB whose packets are mixed and some of
//! which never come, early packets of later epochs, wrong ones, and between them every call of the mailboxes' owners.
//!
//! `SPINDLE_RVMA_MIB` is how many MiB of long puts each of the four cases may send; 64 without it, 256 MiB in all.

use crate::rvma_lut::rvma_engine::bench::{Bench, Pace, FULL};
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::{message, OFFSETS};
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::{Config, SEGMENT_BYTES};
use spindle_contract::reasons::{
    BAD_KEY, CLOSED, NO_MAILBOX, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH, UNSUPPORTED,
};
use spindle_contract::registers::mailbox_mode::{MANAGED, OPS, TAGGED};
use spindle_contract::wire::flag;
use spindle_harness::{run_with_wave_on_failure, share};
use spindle_model::rvma_lut::Put;
use spindle_sim::host_memory::Timing;

/// Operations of a case; there are four.
const OPERATIONS: usize = 2500;
const LONGEST: usize = 1 << 20;
/// Length up to which puts are short, which most are.
const SHORT: f64 = 4096.0;
/// Frame numbers have 16 bits, and each is used once.
const MOST_PACKETS: usize = 60_000;

/// A mailbox: process, address, key, threshold, mode.
type Mailbox = (u16, u64, u32, u32, u32);

struct Player {
    twin: Twin,
    rng: ChaCha8Rng,
    mailboxes: Vec<Mailbox>,
    /// Bytes of long puts that may still be sent.
    long: usize,
    operations: usize,
    /// Buffers that were posted again.
    again: usize,
    next_base: u64,
    next_record: u64,
    messages: u32,
    packets: usize,
}

impl Player {
    fn post(&mut self, which: usize, size: u32) {
        let (pid, addr, _, threshold, _) = self.mailboxes[which];
        // Some are posted again: one of the history, with its old size.
        let back = self.rng.random_range(0..32);
        let again = self.twin.model.get_buf_ptr(pid, addr, back).ok();
        let (base, size) = match again {
            Some((base, _)) => {
                self.again += 1;
                let buffer = self.twin.buffers.iter().rfind(|buffer| buffer.0 == base).expect("it was posted");
                (base, buffer.1)
            }
            None => (self.next_base + self.rng.random_range(0..200), size.max(threshold)),
        };
        self.next_base = self.next_base.max(base + u64::from(size) + 300);
        self.twin.post(pid, addr, base, size, self.next_record);
        self.next_record += 16;
        self.operations += 1;
    }

    /// Bytes of the next put: log-uniform, long ones as far as the budget goes.
    fn length(&mut self) -> usize {
        let reach: f64 = if self.long > 0 && self.rng.random_range(0..10) == 0 { LONGEST as f64 } else { SHORT };
        let length = reach.powf(self.rng.random::<f64>()).round().max(1.0) as usize;
        if length > SHORT as usize {
            self.long = self.long.saturating_sub(length);
        }
        length
    }

    /// Packets of a put, in the order of their offsets, to the epoch that is given.
    fn put(&mut self, which: usize, epoch: u64, length: usize) -> Vec<Put> {
        let (pid, addr, key, _, mode) = self.mailboxes[which];
        let rng = &mut self.rng;
        self.messages += 1;
        self.operations += 1;
        let segment =
            if length > SHORT as usize { SEGMENT_BYTES } else { rng.random_range(length / 12 + 1..SEGMENT_BYTES + 1) };
        let (buf_off, slot) = (rng.random_range(0..300), self.messages as u8);
        let mut parts = message(rng, pid, addr, key, self.messages, length as u32, buf_off, segment as u32, slot);
        let flags = if mode & MANAGED != 0 { flag::MANAGED } else { 0 }
            | if mode & TAGGED != 0 { flag::EPOCH_VALID } else { 0 }
            | if rng.random() { flag::UNSEQ } else { 0 };
        parts.iter_mut().for_each(|p| (p.flags, p.epoch) = (flags, epoch as u16));
        match rng.random_range(0..50) {
            0 => parts.iter_mut().for_each(|p| p.key ^= 1 << (p.message.2 % 32)),
            1 => parts.iter_mut().for_each(|p| p.addr ^= 1 << 40),
            2 => parts.iter_mut().for_each(|p| p.flags ^= flag::MANAGED),
            3 => parts.iter_mut().for_each(|p| p.buf_off = u32::MAX - 10),
            4 => parts.iter_mut().for_each(|p| p.buf_off = 2 << 20),
            _ => {}
        }
        // What the network loses for ever.
        if rng.random_range(0..6) == 0 {
            parts.truncate(rng.random_range(0..parts.len()));
        }
        self.packets += parts.len();
        parts
    }

    /// A call of a mailbox's owner.
    fn call(&mut self, which: usize) {
        let (pid, addr, key, threshold, mode) = self.mailboxes[which];
        let back = self.rng.random_range(0..9);
        self.operations += 1;
        match self.rng.random_range(0..10) {
            0..3 => drop(self.twin.inc_epoch(pid, addr)),
            3 => {
                self.twin.close(pid, addr).unwrap();
                self.twin.open_mode(pid, addr, key, threshold, mode);
                self.operations += 1;
            }
            4..6 => drop(self.twin.epoch(pid, addr)),
            6..9 => drop(self.twin.buf_ptr(pid, addr, back)),
            _ => drop(self.twin.rewind(pid, addr, back)),
        }
    }

    /// Some posts, some puts mixed with each other, some calls, and packets that come after them.
    fn round(&mut self) {
        let lengths: Vec<usize> = (0..24).map(|_| self.length()).collect();
        let longest = *lengths.iter().max().expect("there are some") as u32;
        for which in 0..self.mailboxes.len() {
            for _ in 0..self.rng.random_range(0..4) {
                let size = longest + self.rng.random_range(0..4000);
                self.post(which, size);
            }
        }
        // The hardware's epochs lag the model's while packets are under way: a tag is one of those that are open now.
        let epochs: Vec<u64> =
            self.mailboxes.iter().map(|b| self.twin.model.get_epoch(b.0, b.1).expect("it is open")).collect();
        let (mut packets, mut late) = (vec![], vec![]);
        for length in lengths {
            let which = self.rng.random_range(0..self.mailboxes.len());
            let epoch = epochs[which] + self.rng.random_range(0..4);
            let mut parts = self.put(which, epoch, length);
            if self.rng.random_range(0..4) == 0 {
                late.extend(parts.pop());
            }
            packets.extend(parts);
        }
        self.send(packets);
        for _ in 0..self.rng.random_range(0..8) {
            let which = self.rng.random_range(0..self.mailboxes.len());
            self.call(which);
        }
        self.send(late);
        self.twin.bench.drain();
    }

    /// Packets in any order.
    fn send(&mut self, mut packets: Vec<Put>) {
        packets.shuffle(&mut self.rng);
        for put in &packets {
            self.twin.put(put, OFFSETS[self.rng.random_range(0..2)]);
            if self.twin.bench.open_packets() > 900 {
                self.twin.bench.run_until("room", |b| b.open_packets() < 500);
            }
        }
    }
}

fn play(name: &str, pace: Pace, timing: Timing) {
    run_with_wave_on_failure(name, |context| {
        let mebibytes =
            std::env::var("SPINDLE_RVMA_MIB").map_or(64, |text| text.parse().expect("SPINDLE_RVMA_MIB is a number"));
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 1)));
        twin.bench.pace = pace;
        twin.bench.host.timing = timing;
        let modes = [0, OPS, MANAGED, TAGGED, 0, TAGGED | OPS, MANAGED, TAGGED];
        let mailboxes: Vec<Mailbox> = modes
            .iter()
            .enumerate()
            .map(|(i, mode)| {
                let threshold = rng.random_range(1..if mode & OPS == 0 { 3000 } else { 4 });
                ((i % 3) as u16, 0x100 + i as u64 / 3, rng.random(), threshold, *mode)
            })
            .collect();
        for (pid, addr, key, threshold, mode) in &mailboxes {
            twin.open_mode(*pid, *addr, *key, *threshold, *mode);
        }
        let (next_base, next_record) = (0x1_0000_0000 - 20_000, 0x90_0000_0000);
        let mut player = Player {
            twin,
            rng,
            mailboxes,
            long: share(mebibytes << 20),
            operations: 0,
            again: 0,
            next_base,
            next_record,
            messages: 0,
            packets: 0,
        };
        while player.operations < share(OPERATIONS) || (player.long > 0 && player.packets < share(MOST_PACKETS)) {
            player.round();
        }
        let Player { twin, operations, packets, again, .. } = player;
        assert!(again > operations / 100, "only {again} buffers were posted again");
        for reason in [UNSUPPORTED, NO_MAILBOX, BAD_KEY, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH, CLOSED] {
            assert!(twin.expected.values().any(|e| *e == Err(reason)), "no packet was refused for reason {reason}");
        }
        let (bytes, records) = (twin.model.memory.len(), twin.model.records.len());
        assert!(records > operations / 10, "only {records} buffers were completed");
        println!("{operations} operations, {packets} packets, {bytes} bytes placed, {records} records");
        twin.finish_unlogged();
    });
}

#[test]
fn at_full_speed() {
    let timing = Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 1, read_stall: 0 };
    play("rvma_operations_full_speed", FULL, timing);
}

#[test]
fn with_a_usual_host() {
    let timing = Timing { aw_stall: 5, w_stall: 5, response_min: 40, response_max: 120, read_stall: 0 };
    play("rvma_operations_usual", FULL, timing);
}

#[test]
fn with_a_host_that_reorders() {
    let timing = Timing { aw_stall: 0, w_stall: 10, response_min: 1, response_max: 1000, read_stall: 0 };
    play("rvma_operations_reordering", Pace { idle: 5, read_stall: 5, done_stall: 20 }, timing);
}

#[test]
fn with_addresses_behind_data() {
    let timing = Timing { aw_stall: 60, w_stall: 0, response_min: 1, response_max: 200, read_stall: 0 };
    play("rvma_operations_late_addresses", Pace { idle: 10, read_stall: 20, done_stall: 0 }, timing);
}
