//! The bench's side of commands that are done outside the cluster: host memory, atomics, the initiator.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, CLUSTER};
use crate::hpu_core::fields::bits;
use crate::hpu_core::off_cluster_words::{words_of, HANDLE_SHIFT, HPU_SHIFT, OPCODE_SHIFT};
use hpu_core::array::off_cluster_queue::OffClusterCommand;
use rand::Rng;
use spindle_contract::memory_map::{self as map, command};
use spindle_contract::params::L1_STAGE_BASE;
use std::collections::VecDeque;

/// What was asked of the initiator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    pub opcode: u8,
    pub context: u64,
    pub frame: u16,
    /// Words after the header.
    pub words: Vec<u32>,
}

/// What became of a far command: HPU, handle, error, result.
type End = (u64, u64, bool, Option<u64>);

/// What is asked for outside, and what it is answered.
#[derive(Default)]
pub struct Far {
    /// Host memory of the host region of [`Context::default`].
    pub memory: Vec<u8>,
    /// Puts and gets, and the payloads that came on the egress stream.
    pub puts: Vec<Put>,
    pub payloads: Vec<Vec<u8>>,
    /// Answers are given.
    pub answers: bool,
    /// They are errors with this chance in percent.
    pub errors: u32,
    /// Atomics in the order in which they were done: host offset, old value.
    pub atomics: Vec<(u64, u64)>,
    /// Beats on their way to L1: place, keep, bytes; and what ends with them.
    pub(super) beats: VecDeque<(u64, u64, Vec<u8>, Option<End>)>,
    pub(super) beat: Option<(u64, u64, Vec<u8>, Option<End>)>,
    pub(super) ends: VecDeque<End>,
    ending: bool,
    /// Bytes on their way from L2 to the stage; they are there.
    staging: bool,
    staged: bool,
    /// So many commands had their bytes staged, and so many read host memory.
    pub stagings: usize,
    pub reads: usize,
    /// The initiator has taken a put, or a put of host memory or a get.
    left: [bool; 2],
}

impl Bench {
    /// A command has come.
    pub(super) fn hear_far(&mut self, command: &OffClusterCommand) {
        let mut words = words_of(command);
        let header = words.remove(0);
        let opcode = (header >> OPCODE_SHIFT) as u8;
        let (hpu, handle) =
            (u64::from(header >> HPU_SHIFT & 7), u64::from(header >> HANDLE_SHIFT) % map::COMMAND_HANDLES as u64);
        let (context, frame) = (u64::from(header >> 16 & 15), header as u16);
        let error = self.chance(self.far.errors);
        let address = u64::from(words[3]) << 32 | u64::from(words[2]);
        let at = address.wrapping_sub(Context::default().host) as usize;
        match opcode {
            command::DMA_FROM_HOST => {
                let bytes = self.far.memory[at..][..words[1] as usize].to_vec();
                self.far.reads += 1;
                // The place is its lowest twenty-one bits. To L2 they go at once.
                let (in_l2, place) = (words[0] >> 20 & 1 == 1, (words[0] & 0xF_FFFF) as usize);
                if in_l2 {
                    self.l2[place..place + bytes.len()].copy_from_slice(&bytes);
                    self.far.ends.push_back((hpu, handle, error, None));
                    return;
                }
                let offset = place % 64;
                let end = offset + bytes.len();
                let padded = [vec![0xDD; offset], bytes, vec![0xEE; end.next_multiple_of(64) - end]].concat();
                let count = padded.len() / 64;
                for (i, beat) in padded.chunks(64).enumerate() {
                    let here = 64 * i..64 * (i + 1);
                    let keep = (offset.max(here.start)..end.min(here.end)).fold(0, |keep, at| keep | 1 << (at % 64));
                    let over = (i + 1 == count).then_some((hpu, handle, error, None));
                    self.far.beats.push_back(((place / 64 + i) as u64, keep, beat.to_vec(), over));
                }
            }
            command::HOST_CAS | command::HOST_ADD => {
                let wide = words[1] == 8;
                assert!(wide || words[1] == 4);
                assert_eq!(address % u64::from(words[1]), 0, "atomics are aligned");
                let pair = |i: usize| u64::from(words[i + 1]) << 32 | u64::from(words[i]);
                let mask = if wide { u64::MAX } else { u32::MAX.into() };
                let size = words[1] as usize;
                let mut old = [0; 8];
                old[..size].copy_from_slice(&self.far.memory[at..][..size]);
                let old = u64::from_le_bytes(old);
                let new = match opcode {
                    command::HOST_ADD => old.wrapping_add(pair(5)) & mask,
                    _ if old == pair(7) & mask => pair(5) & mask,
                    _ => old,
                };
                self.far.memory[at..][..size].copy_from_slice(&new.to_le_bytes()[..size]);
                self.far.atomics.push((at as u64, old));
                self.far.ends.push_back((hpu, handle, error, (!error).then_some(old)));
            }
            _ => {
                self.far.puts.push(Put { opcode, context, frame, words });
                self.far.left[usize::from(opcode != command::PUT)] = true;
                self.far.ends.push_back((hpu, handle, error, None));
            }
        }
    }

    /// Before a cycle: beats from the host, and completions.
    pub(super) fn play_far(&mut self) {
        let [put, host_put] = std::mem::take(&mut self.far.left);
        self.dut.put_left.set(put);
        self.dut.host_put_left.set(host_put);
        // What is wanted in the stage comes after what is on its way from the host.
        let staged = std::mem::take(&mut self.far.staged);
        self.dut.staged.set(staged);
        if !self.far.staging && self.dut.stage_request.valid.is_high() && !staged {
            let ask = self.dut.stage_request.number();
            let (from, length) = ((ask & 0xF_FFFF) as usize, (ask >> 20) as usize);
            // The rows in which the bytes lie; the last one of 33 goes into the free bytes of the first one.
            let offset = from % 64;
            for i in 0..(offset + length).div_ceil(64) {
                let beat = self.l2[from - offset + 64 * i..][..64].to_vec();
                let keep = if i == 32 { (1 << offset) - 1 } else { u64::MAX };
                self.far.beats.push_back(((L1_STAGE_BASE / 64 + i % 32) as u64, keep, beat, None));
            }
            self.far.staging = true;
            self.far.stagings += 1;
        }
        if self.far.staging && self.far.beats.is_empty() && self.far.beat.is_none() {
            (self.far.staging, self.far.staged) = (false, true);
        }
        let answers = self.far.answers || self.far.staging;
        if self.far.beat.is_none() && answers && self.moves() {
            self.far.beat = self.far.beats.pop_front();
        }
        self.dut.host_write.set(self.far.beat.is_some());
        if let Some((place, keep, bytes, _)) = &self.far.beat {
            self.dut.host_beat.set(*place);
            self.dut.host_keep.set(*keep);
            self.dut.host_data.set(bytes);
        }
        self.far.ending |= self.far.answers && !self.far.ends.is_empty() && self.moves();
        self.dut.off_cluster_done.valid.set(self.far.ending);
        if let (true, Some((hpu, handle, error, result))) = (self.far.ending, self.far.ends.front().copied()) {
            let done = bits(&[
                (CLUSTER, 3),
                (hpu, 3),
                (handle, map::HANDLE_BITS),
                (error.into(), 1),
                (result.is_some().into(), 1),
                (result.unwrap_or(0x5555), 64),
            ]);
            self.dut.off_cluster_done.set_bytes(&done);
        }
    }

    /// In the cycle: what is taken.
    pub(super) fn end_far(&mut self) {
        if self.far.beat.is_some() && self.dut.host_ready.is_high() {
            if let Some((_, _, _, Some(end))) = self.far.beat.take() {
                self.far.ends.push_back(end);
            }
        }
        if self.far.ending && self.dut.off_cluster_done.ready.is_high() {
            self.far.ends.pop_front();
            self.far.ending = false;
        }
    }

    /// Contexts whose process has an event ring.
    pub fn rings_open(&mut self, contexts: u64) {
        self.dut.rings_open.set(contexts);
    }

    /// What has come out so far is of no more concern.
    pub fn forget(&mut self) {
        self.done.clear();
        self.egress.clear();
        self.summed.clear();
        self.transfers.clear();
        self.places.clear();
        self.redirects.clear();
        self.messages.clear();
        self.far.puts.clear();
        self.far.payloads.clear();
        self.far.atomics.clear();
    }

    /// Host memory with random bytes, and a host that answers.
    pub fn serve_far(&mut self) {
        self.far.answers = true;
        self.far.memory = (0..Context::default().host_size).map(|_| self.rng.random()).collect();
    }
}
