//! The page `shell`, the state of MACs, and the DNA.

use super::emission::built;
use rand::Rng;
use spindle_blocks::CsrRequest;
use spindle_boards::hdl::identity::{Built, DnaReader, Identity};
use spindle_boards::hdl::link::{MacLink, MacState};
use spindle_contract::pci::BOARDS;
use spindle_contract::registers::shell::{self, Build};
use spindle_contract::registers::{global, Access, SHELL, SHELL_REVISION};
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_verilog::prelude::bits;
use std::collections::HashMap;

/// One access; returns the word and whether it was an error. The answer comes in the next cycle.
fn access(dut: &Dut<Identity>, address: u32, write: Option<u32>) -> (u32, bool) {
    let (addr, wdata) = (bits(u64::from(address)), bits(u64::from(write.unwrap_or(0))));
    dut.csr.set(CsrRequest { valid: true, write: write.is_some(), addr, wdata });
    dut.eval();
    assert!(!dut.csr_answer.get().ack);
    dut.tick();
    dut.eval();
    let answer = dut.csr_answer.get();
    assert!(answer.ack, "an answer in the cycle after the request");
    dut.csr.set(CsrRequest::default());
    dut.tick();
    dut.eval();
    assert!(!dut.csr_answer.get().ack, "one answer");
    (answer.rdata.to_u32(), answer.error)
}

#[test]
fn every_register_has_its_value() {
    run_with_wave_on_failure("identity", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Identity::new(&built()), "identity");
        let counters = [shell::HOST_REFUSED, shell::HOST_ABANDONED, shell::BAR_SILENT, shell::LINK_LOSSES];
        let mut counts: HashMap<u32, u32> = counters.map(|counter| (counter, 0)).into();
        let mut up = false;
        for _ in 0..300 {
            // Counts go on while nothing is read.
            for _ in 0..rng.random_range(0..20) {
                let (refused, abandoned) = (rng.random_range(0..4u32), rng.random_range(0..4u32));
                let (silent, next) = (rng.random::<bool>(), rng.random::<bool>());
                dut.refused.set(refused);
                dut.abandoned.set(abandoned);
                dut.silent.set(silent);
                dut.link_up.set(next);
                *counts.entry(shell::HOST_REFUSED).or_default() += refused.count_ones();
                *counts.entry(shell::HOST_ABANDONED).or_default() += abandoned.count_ones();
                *counts.entry(shell::BAR_SILENT).or_default() += u32::from(silent);
                *counts.entry(shell::LINK_LOSSES).or_default() += u32::from(up && !next);
                up = next;
                dut.tick();
            }
            dut.refused.set(0);
            dut.abandoned.set(0);
            dut.silent.set(false);
            let dna: [u8; 12] = rng.random();
            dut.dna.set_bytes(&dna);
            let flags: [bool; 4] = rng.random();
            dut.dna_valid.set(flags[0]);
            dut.msix_enable.set(flags[1]);
            dut.vectors_set.set(flags[2]);
            dut.vectors_failed.set(flags[3]);
            let (ltssm, pending) = (rng.random_range(0..64u32), rng.random::<u16>());
            dut.ltssm.set(ltssm);
            dut.irq_pending.set(pending);
            let states: Vec<MacState> = (0..2)
                .map(|_| MacState {
                    up: rng.random(),
                    aligned: rng.random(),
                    local_fault: rng.random(),
                    remote_fault: rng.random(),
                    high_errors: rng.random(),
                    clock_stopped: rng.random(),
                    losses: bits(u64::from(rng.random::<u32>())),
                    rx_overflow: bits(u64::from(rng.random::<u32>())),
                    rx_bad: bits(u64::from(rng.random::<u32>())),
                    tx_failed: bits(u64::from(rng.random::<u32>())),
                })
                .collect();
            let mut wanted: HashMap<u32, u32> = counts.clone();
            for (i, state) in states.iter().enumerate() {
                dut.mac[i].set_bytes(&spindle_verilog::ports::to_bytes(*state));
                let mac = shell::Mac::ZERO
                    .with_up(state.up)
                    .with_aligned(state.aligned)
                    .with_local_fault(state.local_fault)
                    .with_remote_fault(state.remote_fault)
                    .with_high_errors(state.high_errors)
                    .with_clock_stopped(state.clock_stopped);
                let at = 4 * i as u32;
                wanted.insert(shell::MAC + at, mac.0);
                wanted.insert(shell::MAC_LOSSES + at, state.losses.to_u32());
                wanted.insert(shell::RX_OVERFLOW + at, state.rx_overflow.to_u32());
                wanted.insert(shell::RX_BAD + at, state.rx_bad.to_u32());
                wanted.insert(shell::TX_FAILED + at, state.tx_failed.to_u32());
            }
            let pcie = shell::Pcie::ZERO
                .with_up(up)
                .with_msix(flags[1])
                .with_vectors_set(flags[2])
                .with_vectors_failed(flags[3])
                .with_dna_valid(flags[0])
                .with_ltssm(ltssm);
            wanted.insert(shell::PCIE, pcie.0);
            wanted.insert(shell::IRQ_PENDING, pending.into());
            for (i, word) in dna.chunks(4).enumerate() {
                wanted.insert(shell::DNA + 4 * i as u32, u32::from_le_bytes(word.try_into().unwrap()));
            }
            for (i, word) in [0x0123_4567, 0x89ab_cdef, 0x0011_2233, 0x4455_6677, 0x8899_aabb].into_iter().enumerate() {
                wanted.insert(shell::GIT + 4 * i as u32, word);
            }
            wanted.insert(shell::REVISION, SHELL_REVISION);
            wanted.insert(shell::BOARD, 0x50);
            wanted.insert(shell::BUILD, built().build.0);
            wanted.insert(shell::MAC_RATE, 100);
            let identify = rng.random_range(0..2);
            assert_eq!(access(&dut, shell::BASE + shell::IDENTIFY, Some(identify)), (0, false));
            assert_eq!(dut.identify.number(), u64::from(identify));
            wanted.insert(shell::IDENTIFY, identify);
            for register in SHELL.registers {
                for i in 0..register.count {
                    let offset = register.offset + 4 * i;
                    let word = wanted.remove(&offset).unwrap_or_else(|| panic!("{} is not tested", register.name));
                    assert_eq!(access(&dut, shell::BASE + offset, None), (word, false), "{}[{i}]", register.name);
                    if register.access == Access::ReadOnly {
                        assert!(access(&dut, shell::BASE + offset, Some(1)).1, "{} is read only", register.name);
                    }
                }
            }
            assert!(wanted.is_empty());
            for offset in [0x0D0, 0x800, 0xFFC] {
                assert_eq!(access(&dut, shell::BASE + offset, None), (0, true));
                assert!(access(&dut, shell::BASE + offset, Some(1)).1);
            }
            assert_eq!(access(&dut, global::BASE + global::SHELL, None), (shell::BASE, false));
            assert!(access(&dut, global::BASE + global::SHELL, Some(1)).1);
        }
    });
}

#[test]
fn what_is_no_commit_is_refused() {
    for commit in ["", "123", "0123456789abcdef00112233445566778899aabg", "0123456789abcdef00112233445566778899aabbc"] {
        let sentence = Built::new(&BOARDS[0], commit, Build::ZERO, 10).unwrap_err();
        assert!(sentence.contains("40 hexadecimal digits"), "{sentence}");
    }
    let numbers: std::collections::HashSet<u16> = BOARDS.iter().map(|board| board.number).collect();
    assert_eq!(numbers.len(), BOARDS.len(), "two boards have one number");
}

/// The primitive shifts its highest bit out first; it moves at rising edges of its clock.
#[test]
fn the_dna_is_read() {
    run_with_wave_on_failure("dna_reader", |wave| {
        let mut rng = wave.rng();
        for bits in [96u32, 57] {
            let dut = Dut::new(wave, DnaReader::new(bits.into()), &format!("dna_reader_{bits}"));
            for _ in 0..5 {
                let dna = rng.random::<u128>() & ((1 << bits) - 1);
                let mut shift: u128 = rng.random();
                let mut before = true;
                dut.reset();
                let (mut cycles, mut last_edge, mut changed) = (0u64, 0, 0);
                let mut inputs = (false, false);
                while !dut.valid.is_high() {
                    dut.eval();
                    let now = dut.dna_clk.is_high();
                    let present = (dut.dna_read.is_high(), dut.dna_shift.is_high());
                    if present != inputs {
                        (changed, inputs) = (cycles, present);
                    }
                    if now && !before {
                        assert!(cycles < 16 || cycles - last_edge == 16, "a period of 16 cycles");
                        assert!(cycles - changed >= 6, "the inputs stand before the edge");
                        last_edge = cycles;
                        if dut.dna_read.is_high() {
                            shift = dna;
                        } else if dut.dna_shift.is_high() {
                            shift = shift << 1 | u128::from(dut.dna_din.is_high());
                        }
                    }
                    before = now;
                    dut.dna_dout.set(shift >> (bits - 1) & 1 == 1);
                    dut.tick();
                    cycles += 1;
                    assert!(cycles < 4000);
                    dut.eval();
                }
                assert_eq!(cycles, 16 * u64::from(bits));
                dut.ticks(100);
                let read = dut.dna.bytes();
                assert_eq!(read, dna.to_le_bytes()[..12], "{bits} bits");
                assert!(!dut.dna_shift.is_high());
            }
        }
    });
}

/// Events of a faster and of a slower clock are all counted; levels arrive.
#[test]
fn events_of_another_clock_are_counted() {
    run_with_wave_on_failure("mac_link", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, MacLink::default(), "mac_link");
        for (mac, core) in [(3103u64, 4000u64), (3103, 8000), (6400, 4000), (1000, 14_000)] {
            let rise = |edges: [bool; 2]| {
                dut.mac_clock.set(edges[0]);
                dut.core_clock.set(edges[1]);
                dut.eval();
                dut.mac_clock.set(false);
                dut.core_clock.set(false);
                dut.eval();
            };
            dut.events.set(0);
            dut.levels.set(0);
            dut.failed.set(7);
            dut.stopped.set(false);
            for (level, edges) in [(true, 8), (false, 6)] {
                dut.mac_reset.set(level);
                dut.core_reset.set(level);
                (0..edges).for_each(|_| rise([true, true]));
            }
            let period = [mac, core];
            let mut next = [rng.random_range(0..mac), rng.random_range(0..core)];
            let (mut sums, mut losses, mut levels) = ([0u64; 2], 0, 0u64);
            let mut stable = 0;
            let mut step = |events: u64, levels: u64| {
                let now = next[0].min(next[1]);
                let edges = [next[0] == now, next[1] == now];
                if edges[0] {
                    dut.events.set(events);
                    dut.levels.set(levels);
                    dut.eval();
                }
                rise(edges);
                for i in 0..2 {
                    next[i] += if edges[i] { period[i] } else { 0 };
                }
                edges
            };
            for _ in 0..20_000 {
                let events = rng.random_range(0..4u64);
                stable += 1;
                let new = if stable > 80 && rng.random_range(0..20) == 0 { rng.random_range(0..32) } else { levels };
                if step(events, new)[0] {
                    (0..2).for_each(|i| sums[i] += events >> i & 1);
                    if new != levels {
                        losses += levels & !new & 1;
                        (levels, stable) = (new, 0);
                    }
                }
            }
            // The last events arrive within 5 edges of the core.
            let mut edges = 0;
            while edges < 5 {
                edges += u64::from(step(0, levels)[1]);
            }
            let state = dut.state.get();
            let counted = [state.rx_overflow, state.rx_bad].map(|count| count.to_u64());
            assert_eq!((counted, state.tx_failed.to_u64()), (sums, 7), "{mac} ps and {core} ps");
            (0..200).for_each(|_| {
                step(0, levels);
            });
            let state = dut.state.get();
            let flags = [state.up, state.aligned, state.local_fault, state.remote_fault, state.high_errors];
            let shown = flags.iter().rev().fold(0, |word, flag| word << 1 | u64::from(*flag));
            assert_eq!((shown, state.losses.to_u64(), state.clock_stopped), (levels, losses, false));
            assert!(losses > 10);

            // A clock that stands: the link is down at once, whatever the levels are, and up again by the levels.
            (0..200).for_each(|_| {
                step(0, 0b11);
            });
            let before = dut.state.get();
            assert!(before.up && before.aligned);
            dut.stopped.set(true);
            dut.eval();
            let mac_state = |up: bool, losses: u64| MacState {
                up,
                aligned: up,
                local_fault: false,
                remote_fault: false,
                high_errors: false,
                clock_stopped: !up,
                losses: bits(losses),
                ..before
            };
            let lost = before.losses.to_u64();
            assert_eq!(dut.state.get(), mac_state(false, lost));
            (0..4).for_each(|_| rise([false, true]));
            assert_eq!(dut.state.get(), mac_state(false, lost + 1), "one loss");
            dut.stopped.set(false);
            dut.eval();
            assert_eq!(dut.state.get(), mac_state(true, lost + 1));
        }
    });
}
