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

/// A beat on its way to L1.
pub(super) struct Arrival {
    place: u64,
    keep: u64,
    bytes: Vec<u8>,
    /// Last beat of its transfer.
    last: bool,
    /// The read: HPU, handle, error; none for a row of L2.
    read: Option<(u64, u64, bool)>,
}

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
    /// Beats on their way to L1, and the one that is offered.
    pub(super) beats: VecDeque<Arrival>,
    pub(super) beat: Option<Arrival>,
    pub(super) ends: VecDeque<End>,
    ending: bool,
    /// Bytes are on their way from L2 to the stage.
    staging: bool,
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
                    let (place, last) = ((place / 64 + i) as u64, i + 1 == count);
                    let read = Some((hpu, handle, error));
                    self.far.beats.push_back(Arrival { place, keep, bytes: beat.to_vec(), last, read });
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
        if !self.far.staging && self.dut.stage_request.valid.is_high() {
            let ask = self.dut.stage_request.number();
            let (from, length) = ((ask & 0xF_FFFF) as usize, (ask >> 20) as usize);
            // The rows in which the bytes lie; the last one of 33 goes into the free bytes of the first one.
            let offset = from % 64;
            let rows = (offset + length).div_ceil(64);
            for i in 0..rows {
                let bytes = self.l2[from - offset + 64 * i..][..64].to_vec();
                let keep = if i == 32 { (1 << offset) - 1 } else { u64::MAX };
                let place = (L1_STAGE_BASE / 64 + i % 32) as u64;
                self.far.beats.push_back(Arrival { place, keep, bytes, last: i + 1 == rows, read: None });
            }
            self.far.staging = true;
            self.far.stagings += 1;
        }
        let answers = self.far.answers || self.far.staging;
        if self.far.beat.is_none() && answers && self.moves() {
            self.far.beat = self.far.beats.pop_front();
        }
        self.dut.arrival.valid.set(self.far.beat.is_some());
        if let Some(Arrival { place, keep, bytes, last, read }) = &self.far.beat {
            // As `hpu_core::cluster::host_arrivals::HostArrival`. Without a meaning, the error is set.
            let (hpu, handle, error) = read.unwrap_or((5, 1, true));
            let of_copy = read.is_none();
            let tag = [(*place, 10), ((*last).into(), 1), (of_copy.into(), 1), (hpu, 3), (handle, map::HANDLE_BITS)];
            let tail = bits(&[&[(*keep, 64)], &tag[..], &[((error || !last).into(), 1)]].concat());
            self.dut.arrival.set_bytes(&[&bytes[..], &tail].concat());
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
        if self.far.beat.is_some() && self.dut.arrival.ready.is_high() {
            self.far.beat = None;
        }
        if self.dut.staged.is_high() {
            assert!(self.far.staging && self.far.beats.iter().all(|beat| beat.read.is_some()), "all rows have come");
            self.far.staging = false;
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
