//! The command port against a model of its two threads, their arguments and their commands.

use crate::cluster::dut::Dut;
use crate::hpu::fields::{bits, slice};
use hpu_core::command_port::CommandPort;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base, command};
use spindle_harness::run_with_wave_on_failure;

/// Longest wait for the answer to ISSUE on this bench.
const PATIENCE: u64 = 60;

/// What the commands of a bank are checked against, as `hpu_core::types::Limits`.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    kind: u64,
    context: u64,
    frame: u64,
    has_packet: bool,
    slot: u64,
    packet_size: u64,
    scratch_beat: u64,
    scratch_size: u64,
    host_size: u64,
}

impl Limits {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        let has_packet = rng.random_range(0..4) > 0;
        Self {
            kind: rng.random_range(0..3),
            context: rng.random_range(0..16),
            frame: rng.random_range(0..0x10000),
            has_packet,
            slot: rng.random_range(0..12),
            packet_size: if has_packet { rng.random_range(14..=2048) } else { 0 },
            scratch_beat: 0x280 + 64 * rng.random_range(0..4),
            scratch_size: 64 * rng.random_range(0..=64),
            host_size: [0, 64, 4096, 0xFFFF_FFFF][rng.random_range(0..4)],
        }
    }

    fn bytes(&self) -> Vec<u8> {
        bits(&[
            (self.kind, 2),
            (self.context, 4),
            (self.frame, 16),
            (self.has_packet.into(), 1),
            (self.slot, 4),
            (self.packet_size, 12),
            (self.scratch_beat, 10),
            (self.scratch_size, 16),
            (self.host_size, 32),
        ])
    }

    /// First beat of the source in L1 if the command is legal.
    fn legal(&self, opcode: u64, [source, length, low, high]: [u64; 4]) -> Option<u64> {
        let (in_packet, in_scratch) = (source >> 28 == u64::from(map::PACKET), source >> 28 == u64::from(map::SCRATCH));
        let bound = if in_packet { self.packet_size } else { self.scratch_size };
        let offset = source & 0xFFF_FFFF;
        let source_ok = (in_packet || in_scratch) && offset % 64 == 0 && offset + length <= bound;
        let host_ok = high == 0 && low + length <= self.host_size;
        let first = if in_packet { self.slot * 32 } else { self.scratch_beat };
        let legal = match opcode as u8 {
            command::SEND_PACKET => source_ok && (14..=2048).contains(&length),
            command::DMA_TO_HOST => source_ok && host_ok && (1..=2048).contains(&length),
            command::PLACE => self.has_packet,
            _ => false,
        };
        (legal && opcode < 16).then_some(first | (offset / 64))
    }
}

/// A thread as its handler sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    bank: u64,
    arguments: [u64; 4],
    mine: u64,
    last: u64,
}

struct Bench {
    dut: Dut,
    rng: ChaCha8Rng,
    limits: [Limits; 4],
    threads: [Thread; 2],
    busy: u64,
    error: u64,
    /// Packet slot of each handle, if it reads one.
    slots: [Option<u64>; 4],
    /// The command that the mover has not taken.
    offered: Option<[u64; 7]>,
    printed: Option<([u64; 4], u64)>,
    answers: [u64; 3],
}

impl Bench {
    /// A cycle in which everybody else does something; true if a command ended in it.
    fn cycle(&mut self) {
        let ends = if self.rng.random_range(0..6) == 0 { self.busy & self.rng.random_range(0..16) } else { 0 };
        let failed = ends & self.rng.random_range(0..16);
        let (moves, prints) = (self.rng.random_range(0..4) == 0, self.rng.random_range(0..3) == 0);
        // A command that has not been taken does not end.
        let ends = ends & !self.offered.map_or(0, |offered| 1 << offered[2]);
        let probe = self.rng.random_range(0..12);
        self.dut.set("complete", ends);
        self.dut.set("failed", failed);
        self.dut.set("command_ready", moves.into());
        self.dut.set("print_ready", prints.into());
        self.dut.set("probe", probe);
        self.dut.model.eval();
        let pending = (0..2).fold(0, |bits, t| bits | u64::from(self.busy & self.threads[t].mine != 0) << t);
        assert_eq!(self.dut.get("port_pending"), pending);
        assert_eq!(self.dut.high("port_full"), self.busy == 15 || self.offered.is_some());
        let used = (0..4).any(|h| self.busy >> h & 1 == 1 && self.slots[h] == Some(probe));
        assert_eq!(self.dut.high("probe_used"), used, "slot {probe}");
        assert_eq!(self.dut.high("command_valid"), self.offered.is_some());
        if let Some(wanted) = self.offered {
            let command = self.dut.bytes("command");
            let mut at = 0;
            let is = [4, 2, 2, 16, 10, 12, 32].map(|width| {
                at += width;
                slice(&command, at - width, width)
            });
            // A PLACE carries no source.
            let count = if wanted[0] == u64::from(command::PLACE) { 4 } else { 7 };
            assert_eq!(is[..count], wanted[..count]);
            if moves {
                self.offered = None;
            }
        }
        if self.dut.high("print_valid") && prints {
            let print = self.dut.bytes("print");
            let seen = [(0, 32), (32, 16), (48, 32), (80, 32)].map(|(at, width)| slice(&print, at, width));
            assert!(self.printed.replace((seen, 0)).is_none(), "printed once");
        }
        self.busy &= !ends;
        self.error |= ends & failed;
        self.dut.model.tick();
        for port in ["port_write", "port_read", "begins", "limits_write"] {
            self.dut.set(port, 0);
        }
    }

    fn access(&mut self, kind: &str, thread: usize, bank: u64, word: u64, data: u64) {
        self.dut.set_bytes("port", &bits(&[(thread as u64, 1), (bank, 2), (word, 4), (data, 32)]));
        self.dut.set(kind, 1);
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
        let bytes = self.limits[bank as usize].bytes();
        self.dut.set("limits_write", 1);
        self.dut.set("limits_bank", bank);
        self.dut.set_bytes("limits", &bytes);
        self.cycle();
        let before = self.threads[thread].bank;
        self.dut.set("begins", 1);
        self.dut.set("begin_thread", thread as u64);
        self.dut.set("begin_bank", bank);
        self.cycle();
        self.threads[thread] = Thread { bank, last: self.threads[thread].last, ..Thread::default() };
        // A late store of the handler before is none of the new one's business.
        if self.rng.random() {
            let word = self.rng.random_range(0..4);
            self.access("port_write", thread, before, word, 0x5555);
            self.cycle();
        }
    }

    fn argument(&mut self, limits: &Limits, word: u64) -> u64 {
        let rng = &mut self.rng;
        match word {
            0 => {
                let region = [map::PACKET, map::PACKET, map::SCRATCH, map::SCRATCH, map::STACK][rng.random_range(0..5)];
                let offset = 64 * rng.random_range(0..36);
                let stray = if rng.random_range(0..8) == 0 { 1 << rng.random_range(0..28) } else { 0 };
                u64::from(base(region)) | offset | stray
            }
            1 => {
                let about = [0, 14, 8, 64, limits.packet_size, limits.scratch_size, 2048][rng.random_range(0..7)];
                (about + rng.random_range(0..3) + if rng.random_range(0..16) == 0 { 1 << 16 } else { 0 })
                    .saturating_sub(1)
            }
            2 => [0, rng.random_range(0..4096), limits.host_size, rng.random::<u32>().into()][rng.random_range(0..4)],
            _ => {
                if rng.random_range(0..4) == 0 {
                    rng.random::<u32>().into()
                } else {
                    0
                }
            }
        }
    }

    fn issue(&mut self, thread: usize) {
        let state = self.threads[thread];
        let limits = self.limits[state.bank as usize];
        let opcode = if self.rng.random_range(0..12) == 0 {
            self.rng.random::<u32>().into()
        } else {
            self.rng.random_range(1..5)
        };
        let beat = limits.legal(opcode, state.arguments);
        self.access("port_write", thread, state.bank, 4, opcode);
        self.printed = None;
        let (mut answer, mut cycles) = (0, 0);
        while answer == 0 {
            // Whether there is room is decided in the cycle before the answer.
            let (busy, offered) = (self.busy, self.offered);
            self.cycle();
            answer = self.dut.get("issue_done") | self.dut.get("issue_refused") << 1 | self.dut.get("issue_full") << 2;
            cycles += 1;
            assert!(cycles < PATIENCE, "no answer to opcode {opcode:#x}");
            if answer == 1 && opcode != u64::from(command::PRINT) {
                let handle = (0..4).find(|handle| busy >> handle & 1 == 0).expect("a handle is free");
                assert!(beat.is_some() && offered.is_none(), "{opcode} {:x?} {limits:x?}", state.arguments);
                self.busy |= 1 << handle;
                self.error &= !(1 << handle);
                self.threads[1 - thread].mine &= !(1 << handle);
                self.threads[thread].mine |= 1 << handle;
                self.threads[thread].last = handle;
                let in_packet =
                    opcode != u64::from(command::PLACE) && state.arguments[0] >> 28 == u64::from(map::PACKET);
                self.slots[handle as usize] = in_packet.then_some(limits.slot);
                let [_, length, low, _] = state.arguments;
                self.offered =
                    Some([opcode, state.bank, handle, limits.frame, beat.unwrap_or(0) & 0x3FF, length & 0xFFF, low]);
            }
            match answer {
                2 => assert!(
                    beat.is_none() && opcode != u64::from(command::PRINT),
                    "{opcode} {:x?} {limits:x?}",
                    state.arguments
                ),
                4 => assert!(beat.is_some() && (busy == 15 || offered.is_some())),
                _ => assert!(answer < 2),
            }
        }
        if opcode == u64::from(command::PRINT) {
            assert_eq!(answer, 1);
            let count = state.arguments[1].min(8);
            let who = count | limits.context << 4 | 5 << 8 | 6 << 16 | limits.kind << 24;
            let seen = self.printed.take().map(|printed| printed.0);
            let wanted = (count > 0).then_some([who, limits.frame, state.arguments[2], state.arguments[3]]);
            assert_eq!(seen, wanted, "what is printed");
        } else {
            assert!(self.printed.is_none());
            self.answers[answer.trailing_zeros() as usize] += 1;
        }
    }
}

#[test]
fn two_threads_against_a_model() {
    run_with_wave_on_failure("command_port", |wave| {
        let dut = Dut::new(wave, &mut CommandPort::default(), "command_port");
        let threads = [Thread::default(), Thread { bank: 1, ..Thread::default() }];
        let (busy, error, slots) = (0, 0, [None; 4]);
        let mut bench = Bench {
            dut,
            rng: wave.rng(),
            limits: [Limits::default(); 4],
            threads,
            busy,
            error,
            slots,
            offered: None,
            printed: None,
            answers: [0; 3],
        };
        bench.dut.set("number", 6);
        bench.dut.set("hpu", 5);
        (0..2).for_each(|thread| bench.begin(thread));
        for _ in 0..12_000 {
            let thread = bench.rng.random_range(0..2usize);
            let state = bench.threads[thread];
            let limits = bench.limits[state.bank as usize];
            match bench.rng.random_range(0..20) {
                0 => bench.begin(thread),
                1..9 => {
                    let word = bench.rng.random_range(0..4);
                    let value = bench.argument(&limits, word);
                    bench.access("port_write", thread, state.bank, word, value);
                    bench.threads[thread].arguments[word as usize] = value;
                    bench.cycle();
                }
                9..12 => {
                    let word = bench.rng.random_range(0..8);
                    bench.access("port_read", thread, state.bank, word, 0);
                    let wanted = match word {
                        0..4 => state.arguments[word as usize],
                        4 => state.last,
                        5 => bench.busy & state.mine,
                        6 => bench.error & state.mine,
                        _ => 0,
                    };
                    bench.cycle();
                    assert_eq!(bench.dut.get("port_data"), wanted, "word {word} of thread {thread}");
                }
                12..18 => bench.issue(thread),
                _ => bench.cycle(),
            }
        }
        assert!(bench.answers.iter().all(|count| *count > 30), "done, refused, full: {:?}", bench.answers);
    });
}
