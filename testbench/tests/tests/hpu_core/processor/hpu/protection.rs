//! The borders of every region, to the byte, in every size, for reading and writing; and that what faults does nothing.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use rand::Rng;
use spindle_contract::memory_map::{
    base, CODE, COMMAND, CONTEXT, FAULT_LOAD, FAULT_MISALIGNED, FAULT_STORE, PACKET, SCRATCH, STACK, TASK,
};
use spindle_contract::params::L1_SCRATCH_BASE;
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;
use spindle_hart::{Ending, Hart, Start, Timing};

/// A region as a test gives it to a handler.
struct Region {
    name: &'static str,
    number: u32,
    bound: u32,
    readable: bool,
    writable: bool,
    /// Misaligned accesses take place.
    misaligned: bool,
    words_only: bool,
}

fn regions(start: &Start) -> [Region; 7] {
    let region = |name, number, bound| Region {
        name,
        number,
        bound,
        readable: true,
        writable: true,
        misaligned: true,
        words_only: false,
    };
    [
        Region { writable: false, misaligned: false, ..region("code", CODE, start.code_size) },
        region("packet", PACKET, start.packet.1),
        region("scratch", SCRATCH, start.scratch.1),
        region("context", CONTEXT, start.state.1),
        region("stack", STACK, Hart::stack_bytes()),
        Region { writable: false, ..region("task", TASK, 128) },
        Region { misaligned: false, words_only: true, ..region("command", COMMAND, 64) },
    ]
}

/// Runs one access with the handler's other words around it; x5 = address less `offset`.
fn attempt(hart: &mut Hart, start: &Start, address: u32, offset: i32, word: impl Fn(u32, i32) -> u32) -> Ending {
    let mut words = li(5, address.wrapping_sub(offset as u32)).to_vec();
    words.extend([addi(6, 0, 0x5A), word(5, offset), addi(A0, 0, 3), RET]);
    hart.program(start.code_base as usize, &words);
    hart.run(start.clone())
}

/// What an access of `size` bytes at `address` has to come to.
fn verdict(regions: &[Region], address: u32, size: u32, write: bool) -> u8 {
    let fault = if write { FAULT_STORE } else { FAULT_LOAD };
    let Some(region) = regions.iter().find(|region| region.number == address >> 28) else { return fault };
    let offset = address & 0x0FFF_FFFF;
    let allowed = if write { region.writable } else { region.readable };
    if !allowed || offset.checked_add(size).is_none_or(|end| end > region.bound) {
        return fault;
    }
    let aligned = address.is_multiple_of(size);
    if (!aligned && !region.misaligned) || (region.words_only && size != 4) {
        FAULT_MISALIGNED
    } else {
        0
    }
}

#[test]
fn every_region_ends_where_it_should() {
    run_with_wave_on_failure("hart_borders", |context| {
        let mut rng = context.rng();
        let mut hart = hart(context, 1);
        hart.timing = Timing { remote: (1, 5), ..Timing::IDLE };
        let odd = [61, 1499, 64, 2048, 1, 0];
        for (round, packet) in odd.into_iter().enumerate() {
            let start = Start {
                code_base: 0x4000,
                code_size: [0x1000, 28, 0x4000][round % 3],
                packet: (0x800, packet),
                scratch: (L1_SCRATCH_BASE as u32 + 0x1000, [2048, 64, 0, 4096][round % 4]),
                state: (0x8000, [4096, 8, 100, 0x4001][round % 4]),
                ..Start::default()
            };
            let regions = regions(&start);
            for region in &regions {
                let first = base(region.number);
                let last = first + region.bound;
                for size in [1u32, 2, 4] {
                    let near = |border: u32| (-5..=4).map(move |distance| border.wrapping_add(distance as u32));
                    for address in near(first).chain(near(last)) {
                        for write in [false, true] {
                            // The base register may be in another region than the address.
                            let offset = if rng.random() { 0 } else { rng.random_range(-2048..2048) };
                            let funct3 = [LB, LH, LW][size.ilog2() as usize];
                            let before = (!write).then(|| (hart.l1.clone(), hart.l2.clone()));
                            let ending = attempt(&mut hart, &start, address, offset, |base, offset| {
                                if write {
                                    store(funct3, 6, base, offset)
                                } else {
                                    load(funct3, 6, base, offset)
                                }
                            });
                            let cause = verdict(&regions, address, size, write);
                            let name = format!(
                                "{} of {size} bytes at {address:#x} ({} of {:#x} bytes)",
                                if write { "store" } else { "load" },
                                region.name,
                                region.bound
                            );
                            assert_eq!(ending.cause, cause, "{name}: {ending:x?}");
                            if cause == 0 {
                                assert_eq!(ending.code, 3, "{name}");
                            } else {
                                assert_eq!((ending.pc, ending.address), (base(CODE) + 12, address), "{name}");
                            }
                            if let Some((l1, l2)) = before {
                                let page = hart.bank_memory(ending.bank).1;
                                assert!(hart.l1[..page] == l1[..page] && hart.l2 == l2, "{name}: memory changes");
                            }
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn other_addresses_are_nowhere() {
    run_with_wave_on_failure("hart_nowhere", |context| {
        let mut hart = hart(context, 0);
        let start = Start::default();
        let regions = regions(&start);
        // Regions that do not exist, and offsets whose upper bits lie: a multiple of the memories' sizes from a good one.
        let mut addresses: Vec<u32> = [0, 8, 9, 10, 11, 12, 13, 14, 15].map(|number: u32| number << 28 | 0x40).into();
        for region in &regions {
            addresses.extend(
                (5..28).map(|bit| base(region.number) | 1 << bit).filter(|at| at & 0x0FFF_FFFF >= region.bound),
            );
        }
        for address in addresses {
            for write in [false, true] {
                for offset in [0, 64, -64] {
                    let ending = attempt(&mut hart, &start, address, offset, |base, offset| {
                        if write {
                            sw(6, base, offset)
                        } else {
                            lw(6, base, offset)
                        }
                    });
                    let cause = verdict(&regions, address, 4, write);
                    assert_ne!(cause, 0);
                    assert_eq!((ending.cause, ending.address), (cause, address), "word at {address:#x}, {ending:x?}");
                }
            }
        }
    });
}

#[test]
fn atomics_are_checked_too() {
    run_with_wave_on_failure("hart_atomic_borders", |context| {
        let mut hart = hart(context, 0);
        let start = Start { packet: (0, 62), state: (0, 0x1002), ..Start::default() };
        let regions = regions(&start);
        for region in &regions {
            let end = base(region.number) + region.bound;
            let addresses = [base(region.number), end - 4, (end - 4) & !3, end & !3, end, base(region.number) + 2];
            for address in addresses {
                for (funct5, reads_only) in [(LR, true), (SC, false), (AMOS[0], false)] {
                    let ending = attempt(&mut hart, &start, address, 0, |base, _| {
                        amo(funct5, 7, base, if funct5 == LR { 0 } else { 6 })
                    });
                    let fault = if reads_only { FAULT_LOAD } else { FAULT_STORE };
                    let offset = address & 0x0FFF_FFFF;
                    let memory = [PACKET, SCRATCH, CONTEXT, STACK].contains(&region.number)
                        || (region.number == TASK && reads_only);
                    let inside = offset + 4 <= region.bound;
                    let causes: &[u8] = match (memory && inside, address.is_multiple_of(4)) {
                        (true, true) => &[0],
                        (true, false) => &[FAULT_MISALIGNED],
                        (false, true) => &[fault],
                        // Both are true of it.
                        (false, false) => &[fault, FAULT_MISALIGNED],
                    };
                    let name = format!("atomic {funct5} at {address:#x} ({})", region.name);
                    assert!(causes.contains(&ending.cause), "{name}: {causes:?}, {ending:x?}");
                    assert!(ending.cause == 0 || ending.address == address, "{name}: {ending:x?}");
                }
            }
        }
    });
}
