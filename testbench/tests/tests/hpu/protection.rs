//! Regions: first and last byte from both sides, every size, read, write and execute; what a fault report says.

use crate::assembler::*;
use crate::processor::{Ending, Launch, Processor, TARGET_COMMAND, TARGET_L1, TARGET_L2, TARGET_TASK};
use rand::Rng;
use spindle_contract::memory_map::{
    base, CODE, COMMAND, COMMAND_PORT_BYTES, CONTEXT, FAULT_BREAK, FAULT_COMMAND, FAULT_FETCH, FAULT_ILLEGAL,
    FAULT_LOAD, FAULT_MISALIGNED, FAULT_STORE, PACKET, SCRATCH, STACK, TASK, TASK_PAGE_BYTES,
};
use spindle_contract::params::{L1_SCRATCH_BASE, L1_STACK_BASE, SCRATCH_BYTES, SLOT_BYTES, STACK_BYTES};
use spindle_harness::run_with_wave_on_failure;

/// Number of the processor on this bench.
const NUMBER: u32 = 3;
const CODE_SIZE: u32 = 0x400;
const STATE_SIZE: u32 = 0x100;
const PACKET_SIZE: u32 = 61;
const SLOT: u32 = 11;
const STATE_BASE: u32 = 0x3_4000;

fn launch() -> Launch {
    Launch {
        code_base: 0x8000,
        code_size: CODE_SIZE,
        state_base: STATE_BASE,
        state_size: STATE_SIZE,
        slot: SLOT,
        packet_size: PACKET_SIZE,
        ..Launch::default()
    }
}

/// One access: the address is a0, the value a1. Returns how it ended; the access instruction is the second one.
fn attempt(hpu: &mut Processor, write: bool, funct3: u32, address: u32) -> Ending {
    let access = if write { store(funct3, A1, A0, 0) } else { load(funct3, 5, A0, 0) };
    hpu.program(0x8000, &[NOP, access, addi(A0, 0, 0), RET]);
    hpu.run(Launch { arguments: [address, 0xA5A5_A5A5, 0], ..launch() })
}

#[test]
fn regions_end_exactly() {
    // Region, bytes, writable, takes misaligned accesses, target, physical address of its first byte.
    let regions = [
        (CODE, CODE_SIZE, false, false, None, 0),
        (PACKET, PACKET_SIZE, true, true, Some(TARGET_L1), SLOT as usize * SLOT_BYTES),
        (SCRATCH, SCRATCH_BYTES as u32, true, true, Some(TARGET_L1), L1_SCRATCH_BASE + NUMBER as usize * SCRATCH_BYTES),
        (CONTEXT, STATE_SIZE, true, true, Some(TARGET_L2), STATE_BASE as usize),
        (STACK, STACK_BYTES as u32, true, true, Some(TARGET_L1), L1_STACK_BASE + NUMBER as usize * STACK_BYTES),
        (TASK, TASK_PAGE_BYTES, false, false, Some(TARGET_TASK), usize::MAX),
        (COMMAND, COMMAND_PORT_BYTES, true, false, Some(TARGET_COMMAND), 0),
    ];
    run_with_wave_on_failure("hpu_regions", |context| {
        let mut hpu = Processor::new(context, NUMBER);
        hpu.latency = (1, 3);
        for (region, bytes, writable, splits, target, physical) in regions {
            for (funct3, size) in [(LB, 1u32), (LH, 2), (LW, 4)] {
                let first = base(region);
                let far = first + 0x0FFF_FFFF;
                // Offsets by their place: below the region, its two ends, beyond it, the far end of the address range, and 1 MiB and 64 KiB
                // beyond, where the address would look the same to a memory.
                let addresses = [
                    first - size,
                    first - 1,
                    first,
                    first + 1,
                    first + bytes - size,
                    first + bytes - size + 1,
                    first + bytes - 1,
                    first + bytes,
                    first + bytes + 3,
                    first + 0x1_0000 + bytes,
                    first + 0x10_0000,
                    far - 3,
                    far - 2,
                    far - 1,
                    far,
                ];
                for address in addresses {
                    for write in [false, true] {
                        hpu.accesses.clear();
                        let ending = attempt(&mut hpu, write, funct3, address);
                        let inside = address >= first && address - first + size <= bytes;
                        let wanted = if !inside || (write && !writable) {
                            if write {
                                FAULT_STORE
                            } else {
                                FAULT_LOAD
                            }
                        } else if !splits && address % size != 0 {
                            FAULT_MISALIGNED
                        } else {
                            0
                        };
                        let what =
                            format!("{} of {size} at {address:#x}: {ending:x?}", if write { "store" } else { "load" });
                        assert_eq!(ending.cause, wanted, "{what}");
                        if wanted != 0 {
                            assert_eq!((ending.pc, ending.address), (base(CODE) + 4, address), "{what}");
                            assert!(hpu.accesses.is_empty(), "{what} reached a memory");
                        } else if let Some(target) = target {
                            let words = if address % 4 + size > 4 { 2 } else { 1 };
                            assert_eq!(hpu.accesses.len(), words, "{what}");
                            for (i, access) in hpu.accesses.iter().enumerate() {
                                assert_eq!((access.target, access.write), (target, write), "{what}");
                                if region != TASK {
                                    let row = (physical + (address - first) as usize) / 4 * 4 + 4 * i;
                                    assert_eq!(access.address as usize, row, "{what}");
                                }
                            }
                            let strobed: u32 = hpu.accesses.iter().map(|a| u32::from(a.strobe).count_ones()).sum();
                            assert!(!write || strobed == size, "{what} wrote {strobed} bytes");
                        }
                    }
                }
            }
        }
        // Numbers without a region.
        for region in [0u32, 8, 9, 0xE, 0xF] {
            assert_eq!(attempt(&mut hpu, false, LW, region << 28).cause, FAULT_LOAD);
            assert_eq!(attempt(&mut hpu, true, LW, region << 28).cause, FAULT_STORE);
        }
        // A context without state, a task without packet.
        for (region, without) in
            [(CONTEXT, Launch { state_size: 0, ..launch() }), (PACKET, Launch { packet_size: 0, ..launch() })]
        {
            hpu.program(0x8000, &[load(LBU, 5, A0, 0), RET]);
            assert_eq!(hpu.run(Launch { arguments: [base(region), 0, 0], ..without }).cause, FAULT_LOAD);
        }
    });
}

#[test]
fn code_is_only_executed_where_it_is() {
    run_with_wave_on_failure("hpu_fetch", |context| {
        let mut hpu = Processor::new(context, NUMBER);
        let last = base(CODE) + CODE_SIZE - 4;
        // What lies beyond the region would run if it were fetched.
        hpu.code.fill(RET);
        // The last word is code.
        hpu.program(0x8000, &[jalr(0, A0, 0)]);
        let jump = |hpu: &mut Processor, to: u32| hpu.run(Launch { arguments: [to, 0, 0], ..launch() });
        assert_eq!(jump(&mut hpu, last).cause, 0);
        for target in [
            last + 4,
            last + 2,
            base(CODE) - 4,
            base(CODE) + 0x1_0000,
            base(CODE) + 0x0FFF_FFFC,
            0,
            base(PACKET),
            base(CONTEXT),
            base(STACK),
        ] {
            let ending = jump(&mut hpu, target);
            assert_eq!(
                (ending.cause, ending.pc, ending.address),
                (FAULT_FETCH, target, target),
                "a jump to {target:#x}"
            );
        }
        // Falling off the end.
        hpu.program(0x8000 + CODE_SIZE - 4, &[NOP]);
        let ending = jump(&mut hpu, last);
        assert_eq!((ending.cause, ending.pc), (FAULT_FETCH, last + 4));
        // An entry outside.
        let ending = hpu.run(Launch { entry: 0, ..launch() });
        assert_eq!((ending.cause, ending.pc), (FAULT_FETCH, 0));
        // The region moves with the image.
        hpu.program(0xC000, &[addi(A0, 0, 42), RET]);
        assert_eq!(hpu.run(Launch { code_base: 0xC000, ..launch() }).code, 42);
    });
}

/// (mask, match) of every instruction that the processor claims to execute: RV32IM, FENCE, reads of the counters.
fn legal(word: u32) -> bool {
    let register_register = OPS.map(|operation| (0xFE00_707F, op(operation, 0, 0, 0)));
    let counters = [0xC00, 0xC01, 0xC02, 0xC80, 0xC81, 0xC82].map(|csr| (0xFFFF_F07F, csrr(0, csr)));
    let shifts =
        [(0xFE00_707F, op_imm(1, 0, 0, 0)), (0xFE00_707F, op_imm(5, 0, 0, 0)), (0xFE00_707F, op_imm(5, 0, 0, 0x400))];
    let immediates = [0, 2, 3, 4, 6, 7].map(|funct3| (0x707F, op_imm(funct3, 0, 0, 0)));
    let loads = [LB, LH, LW, LBU, LHU].map(|funct3| (0x707F, load(funct3, 0, 0, 0)));
    let stores = [SB, SH, SW].map(|funct3| (0x707F, store(funct3, 0, 0, 0)));
    let branches = [0, 1, 4, 5, 6, 7].map(|funct3| (0x707F, branch(funct3, 0, 0, 0)));
    let others =
        [(0x7F, lui(0, 0)), (0x7F, auipc(0, 0)), (0x7F, jal(0, 0)), (0x707F, jalr(0, 0, 0)), (0x707F, FENCE & 0x707F)];
    let tables: [&[(u32, u32)]; 8] =
        [&register_register, &counters, &shifts, &immediates, &loads, &stores, &branches, &others];
    tables.iter().any(|table| table.iter().any(|(mask, value)| word & mask == *value))
}

#[test]
fn words_that_are_no_instructions_fault() {
    run_with_wave_on_failure("hpu_illegal", |context| {
        let mut hpu = Processor::new(context, NUMBER);
        let mut rng = context.rng();
        for word in [ECALL, EBREAK] {
            hpu.program(0x8000, &[NOP, word]);
            let ending = hpu.run(launch());
            assert_eq!((ending.cause, ending.pc), (FAULT_BREAK, base(CODE) + 4));
        }
        let mut seen = [0; 2];
        // MRET, WFI, FENCE.I, a write of a counter, AMOADD, SH1ADD, a compressed NOP, all zeros, all ones.
        let known = [
            0x3020_0073,
            0x1050_0073,
            0x0000_100F,
            0xC000_1073,
            0x0000_202F,
            0x2020_A033,
            0x0001,
            0,
            u32::MAX,
            csrr(5, 0xC03),
            csrr(5, 0xB00),
        ];
        for (i, random) in (0..3000).map(|_| rng.random::<u32>()).enumerate() {
            let word = match i {
                _ if i < known.len() => known[i],
                // Every major opcode is met, and its smaller fields are often right.
                _ if i % 2 == 0 => random | 3,
                _ => random & 0x4000_707F | 3,
            };
            // A word that is legal must do anything but fault as illegal; where it goes does not matter.
            hpu.program(0x8000, &[NOP, word]);
            let ending = hpu.run(Launch { watchdog: 200, ..launch() });
            let refused = ending.cause == FAULT_ILLEGAL && ending.pc == base(CODE) + 4;
            assert!(word != ECALL && word != EBREAK);
            assert_eq!(refused, !legal(word), "{word:#010x}: {ending:x?}");
            seen[usize::from(refused)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 300), "legal and illegal words were {seen:?}");
    });
}

#[test]
fn a_refused_command_faults_at_its_store() {
    run_with_wave_on_failure("hpu_refused", |context| {
        let mut hpu = Processor::new(context, NUMBER);
        hpu.latency = (1, 4);
        hpu.refused = vec![0x10];
        hpu.command[5] = 0x1234_5678;
        let words = [lui(8, base(COMMAND) >> 12), sw(A0, 8, 0), lw(A0, 8, 0x14), sw(A0, 8, 0x10), RET];
        hpu.program(0x8000, &words);
        let ending = hpu.run(launch());
        assert_eq!((ending.cause, ending.pc, ending.address), (FAULT_COMMAND, base(CODE) + 12, base(COMMAND) + 0x10));
        assert_eq!(hpu.accesses.last().map(|a| a.data), Some(0x1234_5678), "what was read is what is written");
        // The refusal does not stick.
        hpu.refused.clear();
        assert_eq!(hpu.run(launch()).cause, 0);
    });
}
