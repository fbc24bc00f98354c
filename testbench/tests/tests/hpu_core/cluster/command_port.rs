//! Command port and command unit against a model of two threads, their words and their commands.

use crate::hpu_core::cluster::command_bench::{Commands, CLUSTER, HPU};
use crate::hpu_core::fields::{bits, slice};
use crate::hpu_core::off_cluster_words::{words_of, HANDLE_SHIFT, HPU_SHIFT, OF_PACKET, OPCODE_SHIFT};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base, command};
use spindle_contract::params::L1_STAGE_BASE;
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_model::combine::combine;
use spindle_verilog::ports::Wire;
use spindle_verilog::prelude::{Bit, Out};

const HANDLES: usize = map::COMMAND_HANDLES;
const ALL: u64 = (1 << HANDLES) - 1;
const SLOT: u64 = spindle_contract::params::SLOT_BYTES as u64;

/// Where the byte of L2 at which a command or a segment begins lies in the stage: at the same place of a beat.
fn in_stage(byte: u64) -> u64 {
    L1_STAGE_BASE as u64 + byte % 64
}

/// Longest wait for the answer to ISSUE on this bench.
const PATIENCE: u64 = 60;

/// What the commands of a bank are checked against, as `hpu_core::types::Limits`.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    kind: u64,
    context: u64,
    msg_slot: u64,
    frame: u64,
    has_packet: bool,
    pkt: u64,
    slot: u64,
    packet_size: u64,
    /// Without its tailroom.
    frame_size: u64,
    scratch_beat: u64,
    scratch_size: u64,
    state_base: u64,
    state_size: u64,
    host: u64,
    host_size: u64,
}

impl Limits {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        let has_packet = rng.random_range(0..4) > 0;
        let most = 1 << rng.random_range(12..=20);
        let any = rng.random_range(1..=most);
        let state_size: u64 = [0, 4, 16, 64, 500, 2048, any, any][rng.random_range(0..8)];
        let of_its_size = state_size.next_power_of_two();
        let frame_size = if has_packet { rng.random_range(14..=2048) } else { 0 };
        let tailroom = if has_packet { [0, 0, 64, 640][rng.random_range(0..4)] } else { 0 };
        Self {
            kind: rng.random_range(0..3),
            context: rng.random_range(0..16),
            msg_slot: rng.random_range(0..256),
            frame: rng.random_range(0..0x10000),
            has_packet,
            pkt: rng.random_range(0..1024),
            slot: rng.random_range(0..12),
            packet_size: (frame_size + tailroom).min(2048),
            frame_size,
            scratch_beat: 0x280 + 64 * rng.random_range(0..4),
            scratch_size: 64 * rng.random_range(0..=64),
            state_base: of_its_size * rng.random_range(0..(1 << 20) / of_its_size),
            state_size,
            host: rng.random::<u64>() >> 1,
            host_size: match rng.random_range(0..6) {
                0 => 0,
                1 => 64,
                2 => 0xFFFF_FFFF,
                // Of any length.
                _ => (rng.random::<u32>() >> rng.random_range(0..24)).into(),
            },
        }
    }

    fn bytes(&self) -> Vec<u8> {
        bits(&[
            (self.kind, 2),
            (self.context, 4),
            (self.msg_slot, 8),
            (self.frame, 16),
            (self.has_packet.into(), 1),
            (self.pkt, 10),
            (self.slot, 4),
            (self.packet_size, 12),
            (self.frame_size, 12),
            (self.scratch_beat, 10),
            (self.scratch_size, 16),
            (self.state_base, 20),
            (self.state_size, 21),
            (self.host & 0xFFFF_FFFF, 32),
            (self.host >> 32, 32),
            (self.host_size, 32),
        ])
    }
}

/// In the way of a job: checksums are inserted.
const SUMMED: u64 = 8;

/// What a legal command becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// Way, plus [`SUMMED`] with the flag CHECKSUM, handle, context, frame, first byte in L1, length, host address if it
    /// goes there, target of a COMBINE.
    Job(u64, u64, u64, u64, u64, u64, Option<u64>),
    /// Frame, message slot, packet, handle.
    Place(u64, u64, u64, u64),
    /// Likewise, after offset and mailbox address.
    Redirect([u64; 2], u64, u64, u64, u64),
    /// Of bytes: first one, length, offset, mailbox address, KEY; context, and as above.
    Bytes([u64; 5], u64, u64, u64, u64, u64),
    /// A task: delay and argument, context, frame, handle.
    Task([u64; 2], u64, u64, u64),
    /// Opcode, who, frame, low, high, message slot, length.
    Message([u64; 7]),
    /// A message is done, beside its event: frame, message slot.
    Complete(u64, u64),
    /// Header and words.
    Far(Vec<u32>),
    /// A packet keeps its cells for a put: context, frame, packet.
    Claim(u64, u64, u64),
    /// It cannot: the handle has failed.
    Unkept,
    /// First byte in L1 and bytes of a segment in the stage, which no one issued.
    Segment(u64, u64),
}

/// A thread as its handler sees it.
#[derive(Clone, Copy, Debug)]
struct Thread {
    bank: u64,
    words: [u32; 16],
    mine: u64,
    last: u64,
    /// Handles that WAIT looks at.
    waits: u64,
    /// Handles whose last command of this handler failed.
    failed: u64,
}

impl Thread {
    fn of(bank: u64, last: u64) -> Self {
        Self { bank, words: [0; 16], mine: 0, last, waits: ALL, failed: 0 }
    }
}

const fn at(offset: u32) -> usize {
    offset as usize / 4
}

struct Bench {
    dut: Dut<Commands>,
    rng: ChaCha8Rng,
    limits: [Limits; 4],
    threads: [Thread; 2],
    busy: u64,
    rings: u64,
    /// Contexts whose packets keep as many cells as they may.
    full: u64,
    enabled: u64,
    /// Packet slot of each handle, if it is read or written.
    slots: [Option<u64>; HANDLES],
    /// What must come out, and words of a far command that have come.
    expected: Vec<Outcome>,
    /// A put, and a put of host memory or a get, that the initiator has not taken.
    puts: [bool; 2],
    /// Atomics under way.
    atomics: u64,
    /// What is asked of the L2 copy while it copies; the stage holds the bytes of a command; they have gone to the read DMA.
    copying: Option<(u64, u64)>,
    copied: Option<(u64, u64)>,
    stage_used: bool,
    stage_leaves: bool,
    /// A segment that wants the stage, or has it: its first byte in L2, its bytes; the segments before have begun to leave.
    segment: Option<(u64, u64)>,
    segment_has_stage: bool,
    segment_goes: bool,
    /// The bytes of a command have come to the stage in this cycle.
    decides_again: bool,
    cycles: u64,
    /// SEND_PACKETs with the flag CHECKSUM.
    summed: usize,
    answers: [u64; 3],
    seen: [u64; 13],
    /// Failures that stood while the other thread had the handle.
    outlived: u64,
}

impl Bench {
    fn outcome(&self, state: &Thread, opcode: u64, flagged: bool, of_bytes: bool, handle: u64) -> Option<Outcome> {
        let limits = &self.limits[state.bank as usize];
        let word = |offset| u64::from(state.words[at(offset)]);
        let (source, length) = (word(map::CMD_SOURCE), word(map::CMD_LENGTH));
        let (low, high) = (word(map::CMD_ADDR_LO), word(map::CMD_ADDR_HI));
        if opcode >= 16 || self.enabled >> opcode & 1 == 0 {
            return None;
        }
        let opcode = opcode as u8;
        let (in_packet, in_scratch) = (source >> 28 == u64::from(map::PACKET), source >> 28 == u64::from(map::SCRATCH));
        let in_context = source >> 28 == u64::from(map::CONTEXT);
        let bound = match source >> 28 {
            region if region == u64::from(map::PACKET) => limits.packet_size,
            region if region == u64::from(map::SCRATCH) => limits.scratch_size,
            _ => limits.state_size,
        };
        let offset = source & 0xFFF_FFFF;
        let inside = (1..=2048).contains(&length) && offset + length <= bound;
        let source_ok = (in_packet || in_scratch || in_context) && inside;
        let from = match () {
            () if opcode != command::DMA_FROM_HOST && in_context => in_stage(limits.state_base + offset),
            () if in_context => (1 << 20) | (limits.state_base + offset),
            () if in_packet => limits.slot * 2048 + offset,
            () => 64 * limits.scratch_beat + offset,
        };
        let host_ok = high == 0 && low + length <= limits.host_size;
        let host = limits.host.wrapping_add(low);
        let node_ok = word(map::CMD_NODE) >> 8 & 0xFF == 0;
        let job = |way, address| Outcome::Job(way, handle, limits.context, limits.frame, from, length, address);
        let who = |count| count | limits.context << 4 | HPU << 8 | CLUSTER << 16 | limits.kind << 24;
        let say =
            |count| Outcome::Message([opcode.into(), who(count), limits.frame, low, high, limits.msg_slot, length]);
        let header = (u64::from(opcode) << OPCODE_SHIFT
            | HPU << HPU_SHIFT
            | handle << HANDLE_SHIFT
            | limits.context << 16
            | limits.frame) as u32;
        let far = |first: u64, address: u64, rest: &[u32]| {
            let words = [first as u32, length as u32, address as u32, (address >> 32) as u32];
            let rest = rest.iter().map(|offset| state.words[at(*offset)]);
            Outcome::Far([header].into_iter().chain(words).chain(rest).collect())
        };
        let given = high << 32 | low;
        let put = [map::CMD_NODE, map::CMD_KEY, map::CMD_OFFSET];
        match opcode {
            command::SEND_PACKET => (source_ok && length >= 14).then(|| job(if flagged { SUMMED } else { 0 }, None)),
            command::PLACE => {
                limits.has_packet.then_some(Outcome::Place(limits.frame, limits.msg_slot, limits.pkt, handle))
            }
            command::REDIRECT if flagged => (length <= u64::from(map::TASK_CANCEL)).then_some(Outcome::Task(
                [length, given],
                limits.context,
                limits.frame,
                handle,
            )),
            command::REDIRECT if of_bytes => {
                let key = word(map::CMD_KEY);
                let inside = (1..=2048).contains(&length) && offset + length <= limits.frame_size;
                (limits.has_packet && in_packet && inside && key < 2 * u64::from(map::REDIRECT_EPOCH)).then_some(
                    Outcome::Bytes(
                        [offset, length, word(map::CMD_OFFSET), given, key],
                        limits.context,
                        limits.frame,
                        limits.msg_slot,
                        limits.pkt,
                        handle,
                    ),
                )
            }
            command::REDIRECT => limits.has_packet.then_some(Outcome::Redirect(
                [length, given],
                limits.frame,
                limits.msg_slot,
                limits.pkt,
                handle,
            )),
            command::DMA_TO_HOST => (source_ok && host_ok).then(|| job(2, Some(host))),
            command::COMBINE => {
                let (to, low) = (low & 0xFFF_FFFF, low >> 28);
                let (bound, base) = match low {
                    region if region == u64::from(map::PACKET) => (limits.packet_size, limits.slot * 2048),
                    region if region == u64::from(map::SCRATCH) => (limits.scratch_size, 64 * limits.scratch_beat),
                    _ => (0, 0),
                };
                let bytes = vec![0; if inside { length as usize } else { 0 }];
                let known = combine(high as u32, &bytes, &bytes).is_some();
                (source_ok && to + length <= bound && known).then(|| {
                    let target = base + to;
                    let lane = target % 64 + target.wrapping_neg() % 4;
                    let operation = (high & 0x1F) << 16 | (high >> 8) << 21 | u64::from(in_context) << 29;
                    let from = from.wrapping_sub(lane) & 0xFFFF;
                    Outcome::Job(4, handle, limits.context, limits.frame, from, length, Some(target | operation))
                })
            }
            command::PRINT => Some(say(length.min(8))),
            command::EVENT | command::COMPLETE => (self.rings >> limits.context & 1 == 1).then(|| say(length.min(8))),
            command::DMA_FROM_HOST => (source_ok && host_ok).then(|| far(from, host, &[])),
            command::PUT if flagged => {
                let inside = (1..=2048).contains(&length) && offset + length <= limits.frame_size;
                (in_packet && inside && node_ok).then(|| {
                    let Outcome::Far(mut words) = far(1 << 30 | limits.pkt << 20 | offset, given, &put) else {
                        unreachable!()
                    };
                    words[0] |= OF_PACKET;
                    if self.full >> limits.context & 1 == 1 {
                        Outcome::Unkept
                    } else {
                        Outcome::Far(words)
                    }
                })
            }
            command::PUT => (source_ok && node_ok).then(|| far(source, given, &put)),
            command::PUT_HOST => (length > 0 && source + length <= limits.host_size && node_ok).then(|| {
                let address = limits.host.wrapping_add(source);
                let Outcome::Far(mut words) = far(address, given, &put) else { unreachable!() };
                words.push((address >> 32) as u32);
                Outcome::Far(words)
            }),
            command::PUT_CONTEXT => {
                let inside = length > 0 && offset + length <= limits.state_size;
                (in_context && inside && node_ok).then(|| {
                    let Outcome::Far(mut words) = far(limits.state_base + offset, given, &put) else { unreachable!() };
                    words.push(0);
                    Outcome::Far(words)
                })
            }
            command::GET => (length > 0 && node_ok).then(|| {
                let more = [map::CMD_OTHER_LO, map::CMD_OTHER_HI, map::CMD_RESULT_LO];
                far(source, given, &[&put[..], &more].concat())
            }),
            command::HOST_CAS | command::HOST_ADD => {
                let aligned = (length == 4 || length == 8) && host % length == 0;
                let more: &[u32] =
                    if opcode == command::HOST_CAS { &[map::CMD_OTHER_LO, map::CMD_OTHER_HI] } else { &[] };
                (aligned && host_ok).then(|| far(source, host, &[&put[..], more].concat()))
            }
            _ => None,
        }
    }

    /// A cycle in which all other units do something.
    fn cycle(&mut self) {
        // Atomics end with their result.
        let ends = if self.rng.random_range(0..6) == 0 {
            self.busy & !self.atomics & self.rng.random_range(0..=ALL)
        } else {
            0
        };
        let failed = ends & self.rng.random_range(0..=ALL);
        // What has not come out does not end.
        let waiting = self.expected.iter().fold(0, |handles, outcome| match outcome {
            Outcome::Job(_, handle, ..)
            | Outcome::Place(.., handle)
            | Outcome::Redirect(.., handle)
            | Outcome::Bytes(.., handle)
            | Outcome::Task(.., handle) => handles | 1 << handle,
            Outcome::Message(_)
            | Outcome::Complete(..)
            | Outcome::Segment(..)
            | Outcome::Claim(..)
            | Outcome::Unkept => handles,
            Outcome::Far(words) => handles | 1 << (words[0] >> HANDLE_SHIFT & (map::COMMAND_HANDLES as u32 - 1)),
        });
        let ends = ends & !waiting;
        let probe = self.rng.random_range(0..12);
        self.dut.complete.set(ends);
        self.dut.failed.set(failed);
        let dut = &self.dut;
        for (ready, share) in [(&dut.place.ready, 4), (&dut.message.ready, 3), (&dut.off_cluster.ready, 2)] {
            ready.set(self.rng.random_range(0..share) == 0);
        }
        for (i, port) in [&dut.put_left, &dut.host_put_left].into_iter().enumerate() {
            let left = self.puts[i] && self.expected.is_empty() && self.rng.random_range(0..8) == 0;
            self.puts[i] &= !left;
            port.set(left);
        }
        self.dut.probe.set(probe);
        // The L2 copy copies for a while; then the read DMA reads for a while.
        self.cycles += 1;
        self.dut.cycle.set(self.cycles);
        self.dut.eval();
        let lent = self.dut.lent.is_high();
        if self.segment.is_none() && self.rng.random_range(0..40) == 0 {
            self.segment = Some((self.rng.random_range(0..1 << 20), self.rng.random_range(1..=1408)));
        }
        let (at, length) = self.segment.unwrap_or_default();
        self.dut.segment.set_bytes(&bits(&[(at, 20), (length, 12), (0, 11)]));
        // The L2 copy sees in the next cycle that it has the stage.
        self.dut.segment.valid.set(self.segment.is_some() && (lent || !self.segment_has_stage));
        assert!(!lent || !self.segment_has_stage, "the stage is lent once");
        self.segment_has_stage |= lent;
        let of_segment = self.segment_has_stage;
        self.segment_goes = self.rng.random_range(0..4) == 0;
        self.dut.segment_goes.set(self.segment_goes);
        let asked = self.dut.stage_request.valid.is_high().then(|| slice(&self.dut.stage_request.bytes(), 0, 32));
        let copied = asked.is_some() && self.rng.random_range(0..4) == 0;
        self.dut.staged.set(copied);
        if let (true, Some(ask)) = (of_segment, asked) {
            assert_eq!(Some((ask & 0xF_FFFF, ask >> 20)), self.segment, "the bytes of the segment are asked for");
            self.stage_used = true;
            let segment = self.segment.filter(|_| copied);
            self.expected.extend(segment.map(|(at, length)| Outcome::Segment(in_stage(at), length)));
        } else if let Some(ask) = asked {
            let ask = (ask & 0xF_FFFF, ask >> 20);
            assert_eq!(*self.copying.get_or_insert(ask), ask, "it stands until it is copied");
            self.stage_used = true;
        }
        self.decides_again = copied && !of_segment;
        if self.decides_again {
            self.copied = self.copying.take();
        }
        let left = self.stage_leaves && self.rng.random_range(0..8) == 0;
        self.dut.stage_left.set(left);
        self.stage_leaves &= !left;
        self.stage_used &= !left;
        if left && of_segment {
            (self.segment, self.segment_has_stage) = (None, false);
        }
        self.dut.eval();
        // The record that the unit looks at.
        let index = self.dut.index.number();
        self.dut.limits.set_bytes(&self.limits[index as usize & 3].bytes());
        self.dut.eval();
        let pending = (0..2).fold(0, |bits, t| {
            let thread = &self.threads[t];
            bits | u64::from(self.busy & thread.mine & thread.waits != 0) << t
        });
        assert_eq!(self.dut.port.pending.number(), pending);
        assert!(self.dut.port.full.is_high() || self.busy != ALL);
        let used = (0..HANDLES).any(|h| self.busy >> h & 1 == 1 && self.slots[h] == Some(probe));
        assert_eq!(self.dut.probe_used.is_high(), used, "slot {probe}");
        self.listen();
        self.busy &= !ends;
        for thread in &mut self.threads {
            thread.failed |= ends & failed & thread.mine;
        }
        self.dut.tick();
        for wire in [&self.dut.port.write, &self.dut.port.read, &self.dut.begin.valid] {
            wire.set(false);
        }
    }

    /// What comes out is what was expected.
    fn listen(&mut self) {
        let fields = |bytes: &[u8], widths: &[usize]| -> Vec<u64> {
            let mut at = 0;
            widths
                .iter()
                .map(|width| {
                    at += width;
                    slice(bytes, at - width, *width)
                })
                .collect()
        };
        let mut come = vec![];
        if self.dut.job.valid.is_high() {
            let f = fields(&self.dut.job.bytes(), &[3, 1, 3, map::HANDLE_BITS, 4, 16, 16, 12, 64]);
            // A segment has no issuer.
            assert!(f[0] == 3 || f[2] == HPU);
            if f[6] / SLOT == L1_STAGE_BASE as u64 / SLOT && f[0] != 4 || f[0] == 4 && f[8] >> 29 & 1 == 1 {
                self.stage_leaves = true;
                self.seen[4] += 1;
            }
            come.push(if f[0] == 3 {
                assert!(self.segment_goes && f[1] == 0, "a segment leaves when it is its turn");
                Outcome::Segment(f[6], f[7])
            } else {
                let address = [2, 4].contains(&f[0]).then_some(f[8]);
                Outcome::Job(f[0] | (SUMMED * f[1]), f[3], f[4], f[5], f[6], f[7], address)
            });
        }
        if self.dut.place.valid.is_high() && self.dut.place.ready.number() == 1 {
            let place = self.dut.place.bytes();
            let get = |name| crate::hpu_core::fields::field("command", &place, name);
            let (frame, slot, pkt, handle) = (get("frame"), get("msg_slot"), get("pkt"), get("handle"));
            come.push(if get("opcode") == u64::from(command::COMPLETE) {
                assert_eq!(get("flags"), 0);
                Outcome::Complete(frame, slot)
            } else if get("flags") == 1 {
                assert_eq!(get("opcode"), u64::from(command::REDIRECT));
                Outcome::Task([get("offset"), get("address")], get("context"), frame, handle)
            } else if get("flags") & 2 != 0 {
                assert_eq!(get("opcode"), u64::from(command::REDIRECT));
                // The epoch of one without does not count.
                let key = get("epoch") | (get("flags") >> 2) << 16;
                let words = [get("first"), get("length"), get("offset"), get("address"), key];
                Outcome::Bytes(words, get("context"), frame, slot, pkt, handle)
            } else if get("opcode") == u64::from(command::PUT) {
                Outcome::Claim(get("context"), frame, pkt)
            } else if get("opcode") == u64::from(command::REDIRECT) {
                assert_eq!(get("flags"), 0);
                Outcome::Redirect([get("offset"), get("address")], frame, slot, pkt, handle)
            } else {
                Outcome::Place(frame, slot, pkt, handle)
            });
        }
        if self.dut.message.valid.is_high() && self.dut.message.ready.number() == 1 {
            let f = fields(&self.dut.message.bytes(), &[4, 32, 16, 32, 32, 8, 32]);
            come.push(Outcome::Message(f.try_into().expect("seven fields")));
        }
        if let Some(command) = self.dut.off_cluster.taken() {
            come.push(Outcome::Far(words_of(&command)));
        }
        for outcome in come {
            // A put of handler memory gives the initiator no place: its bytes come with the job.
            // Of a place in L2 twenty bits count.
            let same = |wanted: &Outcome| match (wanted, &outcome) {
                (Outcome::Far(a), Outcome::Far(b)) if a[0] >> OPCODE_SHIFT == u32::from(command::PUT_CONTEXT) => {
                    (a[0], a[1], &a[2..8]) == (b[0], b[1] & 0xF_FFFF, &b[2..8])
                }
                (Outcome::Far(a), Outcome::Far(b)) if a[0] >> OPCODE_SHIFT == u32::from(command::PUT) => {
                    a[2..] == b[2..]
                }
                // So do twenty-one of a place in L1 or L2.
                (Outcome::Far(a), Outcome::Far(b)) if a[0] >> OPCODE_SHIFT == u32::from(command::DMA_FROM_HOST) => {
                    (a[0], a[1], &a[2..]) == (b[0], b[1] & 0x1F_FFFF, &b[2..])
                }
                _ => *wanted == outcome,
            };
            let place = self.expected.iter().position(same);
            let place = place.unwrap_or_else(|| panic!("{outcome:x?} comes instead of {:x?}", self.expected));
            self.expected.remove(place);
            self.seen[match outcome {
                Outcome::Job(4, ..) => 7,
                Outcome::Job(..) => 0,
                Outcome::Place(..) => 1,
                Outcome::Message(_) => 2,
                Outcome::Complete(..) => 10,
                Outcome::Far(_) => 3,
                Outcome::Redirect(..) => 5,
                Outcome::Segment(..) => 6,
                Outcome::Task(..) => 8,
                Outcome::Bytes(..) => 9,
                Outcome::Claim(..) => 11,
                Outcome::Unkept => 12,
            }] += 1;
        }
    }

    fn access(&mut self, write: bool, thread: usize, bank: u64, word: usize, data: u32) {
        self.dut.port.set_bytes(&bits(&[(thread as u64, 1), (bank, 2), (word as u64, 4), (data.into(), 32)]));
        let kind = if write { &self.dut.port.write } else { &self.dut.port.read };
        kind.set(true);
    }

    fn begin(&mut self, thread: usize) {
        let other = self.threads[1 - thread].bank;
        let bank = loop {
            let bank = self.rng.random_range(0..4);
            if bank != other && bank != self.threads[thread].bank {
                break bank;
            }
        };
        self.limits[bank as usize] = Limits::random(&mut self.rng);
        self.dut.begin.valid.set(true);
        self.dut.begin.thread.set(thread == 1);
        self.dut.begin.bank.set(bank);
        self.cycle();
        let before = self.threads[thread];
        self.threads[thread] = Thread::of(bank, before.last);
        // A late store of the handler before is none of the new one's business.
        if self.rng.random() {
            let word = self.rng.random_range(0..4);
            self.access(true, thread, before.bank, word, 0x5555);
            self.cycle();
        }
    }

    /// A value for a word of a thread, that has these words already: often one at a limit.
    fn argument(&mut self, limits: &Limits, words: &[u32; 16], word: usize) -> u32 {
        let rng = &mut self.rng;
        let any: u32 = rng.random();
        match word {
            0 if rng.random_range(0..4) > 0 => {
                let region =
                    [map::PACKET, map::PACKET, map::SCRATCH, map::SCRATCH, map::CONTEXT, map::CONTEXT, map::STACK]
                        [rng.random_range(0..7)];
                let stray = if rng.random_range(0..8) == 0 { 1 << rng.random_range(0..28) } else { 0 };
                let byte = [0, 0, 42, rng.random_range(0..64)][rng.random_range(0..4)];
                let far = if region == map::CONTEXT { limits.state_size as u32 / 64 } else { 0 };
                base(region) | (64 * rng.random_range(0..36.max(far)) + byte) | stray
            }
            0 => [0, any & 0xFFF, any % (limits.host_size as u32).max(1), any][rng.random_range(0..4)],
            1 => {
                let sizes = [limits.packet_size, limits.scratch_size, limits.state_size];
                let left = sizes.map(|size| size.saturating_sub((words[0] & 0xFFF_FFFF).into()));
                let about = [1, 14, 8, 9, 5, 64, 2048, left[0], left[1], left[2], sizes[0], sizes[1], sizes[2]]
                    [rng.random_range(0..13)];
                let more = rng.random_range(0..3) + if rng.random_range(0..16) == 0 { 1 << 16 } else { 0 };
                (about + more).saturating_sub(1) as u32
            }
            2 => {
                let aligned = 8 - (limits.host & 7) as u32;
                let left = (limits.host_size as u32)
                    .wrapping_sub(words[1])
                    .wrapping_add(rng.random_range(0..3))
                    .wrapping_sub(1);
                let inside = any % (limits.host_size as u32).max(1);
                [0, aligned, left, left, inside, any][rng.random_range(0..6)]
            }
            3 => any * u32::from(rng.random_range(0..4) == 0),
            10 => any & if rng.random_range(0..4) > 0 { 0xFFFF_00FF } else { u32::MAX },
            _ => any,
        }
    }

    /// Arguments of a put of host or context memory whose end is about that of the region.
    fn reach(&mut self, thread: usize, of_context: bool) {
        let limits = self.limits[self.threads[thread].bank as usize];
        let (base, bound) = if of_context { (base(map::CONTEXT), limits.state_size) } else { (0, limits.host_size) };
        let from = self.rng.random_range(0..=bound) >> [0, 0, 32][self.rng.random_range(0..3)];
        let length = (bound - from + self.rng.random_range(0..3)).saturating_sub(1);
        self.store(thread, map::CMD_SOURCE, base.wrapping_add(from as u32));
        self.store(thread, map::CMD_LENGTH, length as u32);
        self.store(thread, map::CMD_NODE, 0x5_0009);
    }

    /// Arguments of a put of the packet whose end is about that of the packet.
    fn reach_packet(&mut self, thread: usize) {
        let limits = self.limits[self.threads[thread].bank as usize];
        let from = self.rng.random_range(0..=limits.frame_size);
        let left = limits.frame_size - from;
        let length = [left, left, left + 1, left / 2, left + 64][self.rng.random_range(0..5)];
        self.store(thread, map::CMD_SOURCE, base(map::PACKET) | from as u32);
        self.store(thread, map::CMD_LENGTH, length as u32);
        self.store(thread, map::CMD_NODE, 0x5_0009);
    }

    /// A thread stores a word, in a cycle.
    fn store(&mut self, thread: usize, offset: u32, value: u32) {
        let bank = self.threads[thread].bank;
        self.access(true, thread, bank, at(offset), value);
        self.cycle();
        self.threads[thread].words[at(offset)] = value;
    }

    /// Arguments that suit a command which moves bytes of one of the regions, or combines them.
    fn suit(&mut self, thread: usize, combines: bool) {
        let limits = self.limits[self.threads[thread].bank as usize];
        let regions =
            [(map::PACKET, limits.packet_size), (map::SCRATCH, limits.scratch_size), (map::CONTEXT, limits.state_size)];
        let (region, bound) = regions[self.rng.random_range(0..3)];
        let from = if self.rng.random() { self.rng.random_range(0..bound.max(1)) } else { 0 };
        let length = (bound - from.min(bound)).min(2048).min(self.rng.random_range(1..256));
        let (region_to, bound_to) = regions[[0, 1, 0, 1, 2][self.rng.random_range(0..5)]];
        let to = base(region_to) | bound_to.saturating_sub(self.rng.random_range(1..256)) as u32;
        let operations = map::COMBINE_OPERATIONS;
        let operation = operations[self.rng.random_range(0..operations.len())].1;
        // In the host's region: at its beginning, at its end, or anywhere.
        let end = limits.host_size.saturating_sub(length);
        let place = [0, end, end + 1, end / 2][self.rng.random_range(0..4)] as u32;
        let (low, high) = if combines { (to, operation) } else { (place, 0) };
        let words =
            [(map::CMD_SOURCE, base(region) | from as u32), (map::CMD_LENGTH, length as u32), (map::CMD_ADDR_LO, low)];
        for (offset, value) in words.into_iter().chain([(map::CMD_ADDR_HI, high), (map::CMD_NODE, 0x7_0003)]) {
            self.store(thread, offset, value);
        }
    }

    /// Arguments that suit a redirect of bytes, or nearly so.
    fn suit_bytes(&mut self, thread: usize) {
        let limits = self.limits[self.threads[thread].bank as usize];
        let rng = &mut self.rng;
        let from = if rng.random() { rng.random_range(0..limits.frame_size.max(1)) } else { rng.random_range(0..64) };
        let left = limits.frame_size.saturating_sub(from);
        let length = [left, left + 1, 1, left.min(rng.random_range(1..256))][rng.random_range(0..4)];
        let region = [map::PACKET, map::PACKET, map::PACKET, map::SCRATCH][rng.random_range(0..4)];
        let key = rng.random_range(0..1 << 17) | [0, 0, 0, 1 << rng.random_range(17..32)][rng.random_range(0..4)];
        let words: [u32; 2] = rng.random();
        self.store(thread, map::CMD_SOURCE, base(region) | from as u32);
        self.store(thread, map::CMD_LENGTH, length as u32);
        self.store(thread, map::CMD_KEY, key);
        self.store(thread, map::CMD_OFFSET, words[0]);
        self.store(thread, map::CMD_ADDR_LO, words[1]);
    }

    fn issue(&mut self, thread: usize) {
        let opcode = if self.rng.random_range(0..12) == 0 {
            self.rng.random::<u32>().into()
        } else {
            match self.rng.random_range(0..16) {
                0 | 1 => u64::from(command::COMBINE),
                2 | 3 => u64::from(command::REDIRECT),
                4 | 5 => u64::from(command::PUT),
                _ => self.rng.random_range(1..16),
            }
        };
        let redirects = opcode == u64::from(command::REDIRECT);
        let reliable = opcode == u64::from(command::PUT) && self.rng.random();
        // One flag is legal for SEND_PACKET, REDIRECT and PUT alone, another for REDIRECT, and no other is.
        let word = match self.rng.random_range(0..8) {
            _ if reliable => opcode | u64::from(map::ISSUE_RELIABLE),
            0 | 1 if [command::SEND_PACKET, command::REDIRECT, command::PUT].map(u64::from).contains(&opcode) => {
                opcode | u64::from(map::ISSUE_CHECKSUM)
            }
            2..5 if redirects => opcode | u64::from(map::ISSUE_BYTES),
            5 if redirects && self.rng.random() => opcode | u64::from(map::ISSUE_BYTES | map::ISSUE_TASK),
            0 if self.rng.random() => opcode | u64::from(map::ISSUE_CHECKSUM),
            2 if self.rng.random_range(0..4) == 0 => opcode | u64::from(map::ISSUE_BYTES),
            1 if self.rng.random_range(0..4) == 0 => opcode | 1 << self.rng.random_range(4..32),
            _ => opcode,
        };
        let of_bytes = word == u64::from(map::ISSUE_BYTES | u32::from(command::REDIRECT));
        let combines = opcode == u64::from(command::COMBINE);
        let of_context = opcode == u64::from(command::PUT_CONTEXT);
        if reliable && self.rng.random_range(0..4) > 0 {
            self.reach_packet(thread);
        } else if (of_context || opcode == u64::from(command::PUT_HOST)) && self.rng.random_range(0..3) > 0 {
            self.reach(thread, of_context);
        } else if of_bytes && self.rng.random_range(0..4) > 0 {
            self.suit_bytes(thread);
        } else if self.rng.random_range(0..if combines { 2 } else { 3 }) == 0 {
            self.suit(thread, combines);
        }
        let state = self.threads[thread];
        let summed = word == u64::from(map::ISSUE_CHECKSUM | u32::from(command::SEND_PACKET));
        self.summed += usize::from(summed);
        let of_packet = word == u64::from(map::ISSUE_RELIABLE | u32::from(command::PUT));
        let flagged = summed || of_packet || word == u64::from(map::ISSUE_TASK | u32::from(command::REDIRECT));
        let opcode = if flagged || of_bytes { word & 15 } else { word };
        self.access(true, thread, state.bank, at(map::CMD_ISSUE), word as u32);
        self.threads[thread].words[at(map::CMD_ISSUE)] = word as u32;
        let (mut answer, mut cycles) = (0, 0);
        let reports = [command::PRINT, command::EVENT, command::COMPLETE].map(u64::from).contains(&opcode);
        let mut before = self.busy;
        let was_used = self.stage_used;
        self.copied = None;
        while answer == 0 {
            // The handle is chosen when the unit takes the command, the earlier the lower.
            self.cycle();
            answer = self.dut.done.number() | self.dut.refused.number() << 1 | self.dut.full.number() << 2;
            cycles += 1;
            assert!(cycles < PATIENCE, "no answer to opcode {opcode:#x}");
            if cycles == 1 || self.decides_again {
                before = self.busy;
            }
        }
        let handle = u64::from((!before).trailing_zeros());
        let outcome = self.outcome(&state, opcode, flagged, of_bytes, handle % HANDLES as u64);
        let legal = outcome.is_some();
        let words = state.words;
        assert_eq!(
            answer == 2,
            !legal,
            "opcode {opcode}, answer {answer}, {words:x?} {:x?}",
            self.limits[state.bank as usize]
        );
        self.answers[answer.trailing_zeros() as usize] += 1;
        let reads = [command::SEND_PACKET, command::DMA_TO_HOST, command::PUT, command::COMBINE];
        let staged = reads.map(u64::from).contains(&opcode) && words[0] >> 28 == map::CONTEXT;
        let wanted = (staged && answer == 1).then(|| {
            let limits = self.limits[state.bank as usize];
            (limits.state_base + u64::from(words[0] & 0xFFF_FFFF), words[1].into())
        });
        assert_eq!(self.copied, wanted, "what is done from L2 is copied first, and nothing else");
        assert!(!(staged && was_used && answer == 1 && self.stage_leaves), "the stage has one owner");
        // The HPU goes on in the cycle after the answer, and the port has the command's handle by then.
        if answer != 1 {
            self.cycle();
            return;
        }
        if let Some(Outcome::Message([_, who, ..])) = outcome {
            if opcode != u64::from(command::PRINT) || who & 15 > 0 {
                self.expected.extend(outcome);
            }
            if opcode == u64::from(command::COMPLETE) {
                let limits = self.limits[state.bank as usize];
                self.expected.push(Outcome::Complete(limits.frame, limits.msg_slot));
            }
            self.cycle();
            return;
        }
        assert!(!reports && before != ALL, "a command has a handle");
        let unkept = outcome == Some(Outcome::Unkept);
        let is_put = opcode == u64::from(command::PUT) && !of_packet;
        let host_put = of_packet && !unkept
            || [command::PUT_HOST, command::PUT_CONTEXT, command::GET].map(u64::from).contains(&opcode);
        assert!(!(is_put && self.puts[0] || host_put && self.puts[1]), "one at a time goes to the initiator");
        self.puts[0] |= is_put;
        self.puts[1] |= host_put;
        if is_put {
            let limits = self.limits[state.bank as usize];
            let source = u64::from(words[0]);
            let from = match (source >> 28) as u32 {
                map::PACKET => limits.slot * 2048 + (source & 0xFFFF),
                map::SCRATCH => 64 * limits.scratch_beat + (source & 0xFFFF),
                _ => in_stage(limits.state_base + (source & 0xFFF_FFFF)),
            };
            self.expected.push(Outcome::Job(1, handle, limits.context, limits.frame, from, words[1].into(), None));
        }
        if unkept {
            self.seen[12] += 1;
        } else {
            let Limits { context, frame, pkt, .. } = self.limits[state.bank as usize];
            self.expected.extend(of_packet.then_some(Outcome::Claim(context, frame, pkt)));
            self.expected.extend(outcome);
        }
        self.cycle();
        self.busy |= u64::from(!unkept) << handle;
        self.threads[thread].failed &= !(1 << handle);
        self.threads[thread].failed |= u64::from(unkept) << handle;
        self.outlived += self.threads[1 - thread].failed >> handle & 1;
        let atomic = [command::HOST_CAS, command::HOST_ADD].map(u64::from).contains(&opcode);
        self.atomics = self.atomics & !(1 << handle) | u64::from(atomic) << handle;
        self.threads[1 - thread].mine &= !(1 << handle);
        self.threads[thread].mine |= 1 << handle;
        self.threads[thread].last = handle;
        let moves =
            [command::SEND_PACKET, command::DMA_TO_HOST, command::DMA_FROM_HOST, command::PUT, command::COMBINE];
        let in_packet = moves.map(u64::from).contains(&opcode) && !of_packet && words[0] >> 28 == map::PACKET
            || opcode == u64::from(command::COMBINE) && words[at(map::CMD_ADDR_LO)] >> 28 == map::PACKET;
        self.slots[handle as usize] = in_packet.then_some(self.limits[state.bank as usize].slot);
    }

    /// An atomic ends: its result is there when its handle is free, if its handler is.
    fn give_result(&mut self) {
        if self.busy & self.atomics == 0 || !self.expected.is_empty() {
            return;
        }
        let handle = u64::from((self.busy & self.atomics).trailing_zeros());
        let value: u64 = self.rng.random();
        self.dut.off_cluster_done.set_bytes(&bits(&[
            (0, 3),
            (HPU, 3),
            (handle, map::HANDLE_BITS),
            (0, 1),
            (1, 1),
            (value, 64),
        ]));
        self.dut.result_valid.set(true);
        let owner = (0..2).find(|t| self.threads[*t].mine >> handle & 1 == 1);
        let mut cycles = 0;
        let mut ready = false;
        while !ready {
            // The HPU may write meanwhile.
            if cycles < 4 && self.rng.random() {
                let thread = self.rng.random_range(0..2usize);
                let (word, data) = (11, self.rng.random());
                let bank = self.threads[thread].bank;
                self.access(true, thread, bank, word, data);
                self.threads[thread].words[word] = data;
            }
            self.dut.eval();
            ready = self.dut.result_ready.is_high();
            self.cycle();
            cycles += 1;
            assert!(cycles < PATIENCE, "a result is kept");
        }
        self.dut.result_valid.set(false);
        self.atomics &= !(1 << handle);
        if let Some(owner) = owner {
            self.threads[owner].words[8] = value as u32;
            self.threads[owner].words[9] = (value >> 32) as u32;
        }
    }
}

#[test]
fn two_threads_against_a_model() {
    run_with_wave_on_failure("command_port", |wave| {
        let dut = Dut::new(wave, Commands::new(), "commands");
        let mut bench = Bench {
            dut,
            rng: wave.rng(),
            limits: [Limits::default(); 4],
            threads: [Thread::of(0, 0), Thread::of(1, 0)],
            busy: 0,
            rings: 0,
            full: 0,
            enabled: 0xFFFF,
            slots: [None; HANDLES],
            expected: vec![],
            puts: [false; 2],
            atomics: 0,
            copying: None,
            copied: None,
            stage_used: false,
            stage_leaves: false,
            segment: None,
            segment_has_stage: false,
            segment_goes: false,
            decides_again: false,
            cycles: 0,
            summed: 0,
            answers: [0; 3],
            seen: [0; 13],
            outlived: 0,
        };
        (0..2).for_each(|thread| bench.begin(thread));
        for step in 0..24_000 {
            if step % 500 == 0 {
                bench.rings = bench.rng.random_range(0..0x10000);
                bench.enabled = 0xFFFF & !(1 << bench.rng.random_range(0..15));
                let (rings, enabled) = (bench.rings, bench.enabled);
                bench.dut.rings_open.set(rings);
                bench.full = bench.rng.random::<u64>() & bench.rng.random_range(0..0x10000);
                let full = bench.full;
                bench.dut.packets_full.set(full);
                bench.dut.enabled.set(enabled);
            }
            let thread = bench.rng.random_range(0..2usize);
            let state = bench.threads[thread];
            let limits = bench.limits[state.bank as usize];
            match bench.rng.random_range(0..24) {
                0 => bench.begin(thread),
                1..12 => {
                    let word = [0, 0, 1, 1, 2, 2, 3, 8, 10, 10, 11, 12, 13, 14, 15][bench.rng.random_range(0..15)];
                    let value = bench.argument(&limits, &state.words, word);
                    bench.access(true, thread, state.bank, word, value);
                    bench.cycle();
                    bench.threads[thread].words[word] = value;
                    if word == at(map::CMD_WAIT_HANDLE) {
                        bench.threads[thread].waits = 1 << (value % HANDLES as u32);
                    }
                }
                12..15 => {
                    let word = bench.rng.random_range(0..16);
                    bench.access(false, thread, state.bank, word, 0);
                    let wanted = match word {
                        4 => state.last,
                        5 => bench.busy & state.mine,
                        6 => state.failed,
                        _ => state.words[word].into(),
                    };
                    let over = bench.busy & state.mine & state.waits == 0;
                    bench.cycle();
                    assert_eq!(bench.dut.port.data.number(), wanted, "word {word} of thread {thread}");
                    if word == at(map::CMD_WAIT) && over {
                        bench.threads[thread].waits = ALL;
                    }
                }
                15..22 => bench.issue(thread),
                22 => bench.give_result(),
                _ => bench.cycle(),
            }
        }
        (0..400).for_each(|_| bench.cycle());
        // Other segments come meanwhile: there is a moment without one.
        (0..2000).for_each(|_| {
            if !bench.expected.is_empty() {
                bench.cycle()
            }
        });
        assert!(bench.expected.is_empty(), "{:?}", bench.expected);
        assert!(bench.answers.iter().all(|count| *count > 30), "done, refused, full: {:?}", bench.answers);
        assert!(
            bench.seen.iter().all(|count| *count > 20),
            "jobs, places, messages, far, staged, redirects, segments, combines, tasks, ranges, completes, claims, unkept: {:?}",
            bench.seen
        );
        assert!(bench.outlived > 20, "{} failures outlived their handle", bench.outlived);
        assert!(bench.summed > 20, "{} frames with checksums", bench.summed);
    });
}

#[test]
fn an_issue_is_answered_in_time() {
    run_with_wave_on_failure("command_cycles", |wave| {
        let dut = Dut::new(wave, Commands::new(), "commands");
        dut.enabled.set(0xFFFF);
        dut.rings_open.set(0xFFFF);
        let readies = [&dut.place.ready, &dut.message.ready, &dut.off_cluster.ready];
        for wire in readies.into_iter().chain([&dut.put_left, &dut.host_put_left]) {
            wire.set(true);
        }
        let limits = Limits {
            has_packet: true,
            packet_size: 64,
            frame_size: 64,
            host: 0x1000,
            host_size: 4096,
            state_size: 64,
            ..Limits::default()
        };
        dut.limits.set_bytes(&limits.bytes());
        // Arguments that suit all of them.
        for (offset, value) in [(map::CMD_SOURCE, base(map::PACKET)), (map::CMD_LENGTH, 8)] {
            dut.port.set_bytes(&bits(&[(0, 1), (0, 2), (at(offset) as u64, 4), (value.into(), 32)]));
            dut.port.write.set(true);
            dut.tick();
        }
        let expected = [
            (command::PLACE, 4),
            (command::DMA_TO_HOST, 6),
            (command::PRINT, 6),
            (command::DMA_FROM_HOST, 6),
            (command::PUT, 9),
            (command::GET, 12),
            (command::HOST_CAS, 11),
            (command::HOST_ADD, 9),
            (command::EVENT, 6),
            (command::COMPLETE, 6),
            (command::REDIRECT, 6),
            (command::COMBINE, 6),
        ]
        .map(|(opcode, cycles)| (u32::from(opcode), cycles));
        let of_bytes = u32::from(command::REDIRECT) | map::ISSUE_BYTES;
        for (opcode, cycles) in expected.into_iter().chain([(of_bytes, 8)]) {
            // The last one has a destination in the packet.
            let combines = opcode == u32::from(command::COMBINE);
            let target = [(map::CMD_ADDR_LO, base(map::PACKET)), (map::CMD_ADDR_HI, 0x100)];
            for (offset, value) in target.into_iter().filter(|_| combines) {
                dut.port.set_bytes(&bits(&[(0, 1), (0, 2), (at(offset) as u64, 4), (value.into(), 32)]));
                dut.port.write.set(true);
                dut.tick();
            }
            let issue = [(0, 1), (0, 2), (at(map::CMD_ISSUE) as u64, 4), (opcode.into(), 32)];
            dut.port.set_bytes(&bits(&issue));
            dut.port.write.set(true);
            let mut taken = 0;
            while !dut.done.is_high() {
                dut.tick();
                dut.port.write.set(false);
                dut.eval();
                taken += 1;
                assert!(taken < PATIENCE && !dut.refused.is_high() && !dut.full.is_high(), "opcode {opcode}");
            }
            assert_eq!(taken, cycles, "cycles from the write of ISSUE to its answer, opcode {opcode}");
            dut.complete.set(ALL);
            (0..20).for_each(|_| dut.tick());
            dut.complete.set(0);
        }
        for offset in [map::CMD_ADDR_LO, map::CMD_ADDR_HI] {
            dut.port.set_bytes(&bits(&[(0, 1), (0, 2), (at(offset) as u64, 4), (0, 32)]));
            dut.port.write.set(true);
            dut.tick();
        }
        // Bytes of L2 that are read later go the way of far commands.
        dut.port.set_bytes(&bits(&[(0, 1), (0, 2), (0, 4), (base(map::CONTEXT).into(), 32)]));
        dut.port.write.set(true);
        dut.tick();
        dut.port.set_bytes(&bits(&[(0, 1), (0, 2), (4, 4), (command::PUT_CONTEXT.into(), 32)]));
        dut.tick();
        dut.port.write.set(false);
        let taken = (1..PATIENCE).find(|_| {
            dut.eval();
            let done = dut.done.is_high();
            dut.tick();
            done
        });
        assert_eq!(taken, Some(10));
        dut.complete.set(ALL);
        dut.tick();
        dut.complete.set(0);
        // A segment: a cycle to lend it the stage, and one from its last row there to the read DMA, when it is its turn.
        let ask = 0x4_302A | 700 << 20;
        dut.segment.valid.set(true);
        dut.segment.set_bytes(&bits(&[(ask & 0xF_FFFF, 20), (ask >> 20, 12), (0, 11)]));
        dut.tick();
        dut.segment.valid.set(false);
        dut.eval();
        assert!(dut.lent.is_high() && dut.stage_request.valid.is_high());
        assert_eq!(dut.stage_request.number(), ask);
        dut.staged.set(true);
        dut.tick();
        dut.staged.set(false);
        for _ in 0..3 {
            dut.eval();
            assert!(!dut.job.valid.is_high() && !dut.stage_request.valid.is_high() && !dut.lent.is_high());
            dut.tick();
        }
        dut.segment_goes.set(true);
        dut.eval();
        assert!(dut.job.valid.is_high());
        let job = dut.job.bytes();
        let from = 27 + map::HANDLE_BITS;
        assert_eq!((slice(&job, from, 16), slice(&job, from + 16, 12)), (in_stage(0x2A), 700));
        dut.tick();
        dut.eval();
        assert!(!dut.job.valid.is_high(), "it leaves once");
        dut.stage_left.set(true);
        dut.tick();
        dut.stage_left.set(false);
        // Staged bytes of a command: as many cycles until the L2 copy is asked, and again as many after its answer.
        dut.port.set_bytes(&bits(&[(0, 1), (0, 2), (0, 4), (base(map::CONTEXT).into(), 32)]));
        dut.port.write.set(true);
        dut.tick();
        dut.port.set_bytes(&bits(&[(0, 1), (0, 2), (4, 4), (command::DMA_TO_HOST.into(), 32)]));
        dut.tick();
        dut.port.write.set(false);
        let wait = |port: &Wire<Out, Bit>, stages: bool| {
            (1..PATIENCE).find(|_| {
                dut.eval();
                let there = port.is_high();
                dut.staged.set(there && stages);
                dut.tick();
                there
            })
        };
        assert_eq!((wait(&dut.stage_request.valid, true), wait(&dut.done, false)), (Some(7), Some(6)));
    });
}
