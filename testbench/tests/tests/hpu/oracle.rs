//! Random programs against an independent simulator, qemu-riscv32: the same bytes at the same addresses on both sides.
//!
//! A program computes, branches forwards, loops, and loads and stores in every region. At its end it stores all registers. The whole memory and the
//! return code are compared.

use crate::assembler::*;
use crate::processor::{Launch, Processor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{base, CODE, CONTEXT, PACKET, RETURN_ADDRESS, SCRATCH, STACK, TASK};
use spindle_contract::params::{L1_SCRATCH_BASE, L1_STACK_BASE, SCRATCH_BYTES, SLOTS, SLOT_BYTES, STACK_BYTES};
use spindle_harness::run_with_wave_on_failure;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: usize = 60;
/// Instructions that the programs of a run execute, at least.
const INSTRUCTIONS: u64 = 40_000;
const CODE_BYTES: u32 = 0x4000;
const STATE_BYTES: usize = 0x1000;

// Registers with a fixed duty; all others are operands.
const SCRATCH_REGISTER: u32 = 3;
const CONTEXT_REGISTER: u32 = 8;
const PACKET_REGISTER: u32 = 9;
const COUNT: u32 = 18;
const POINTER: u32 = 19;
const RESERVED: [u32; 7] = [SP, SCRATCH_REGISTER, TP, CONTEXT_REGISTER, PACKET_REGISTER, COUNT, POINTER];

/// Offset in the context memory at which the registers are stored.
const REGISTERS_AT: u32 = 1024;

fn destination(rng: &mut ChaCha8Rng) -> u32 {
    loop {
        let register = rng.random_range(0..32);
        if !RESERVED.contains(&register) {
            return register;
        }
    }
}

fn constant(rng: &mut ChaCha8Rng) -> u32 {
    let corners = [0, 1, 2, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF];
    match rng.random_range(0..4) {
        0 => corners[rng.random_range(0..corners.len())],
        1 => rng.random_range(0..256),
        _ => rng.random(),
    }
}

/// A load or store at a fixed offset of a region, misaligned where that is allowed.
fn fixed_access(rng: &mut ChaCha8Rng, out: &mut Vec<u32>) {
    let funct3 = [LB, LH, LW, LBU, LHU][rng.random_range(0..5)];
    let size = 1 << (funct3 & 3);
    match rng.random_range(0..10) {
        0 => out.push(load(funct3, destination(rng), TP, rng.random_range(0..128 / size) * size)),
        1 => out.extend([
            auipc(POINTER, 0),
            load(funct3, destination(rng), POINTER, rng.random_range(0..64 / size) * size),
        ]),
        kind => {
            let region = [CONTEXT_REGISTER, PACKET_REGISTER, SCRATCH_REGISTER, SP][rng.random_range(0..4)];
            // Few words, so that loads meet what was stored; the stack lies below its pointer.
            let offset = rng.random_range(0..64 - size) + if region == SP { -64 } else { 0 };
            if kind < 6 {
                out.push(load(funct3, destination(rng), region, offset));
            } else {
                out.push(store(funct3 & 3, rng.random_range(0..32), region, offset));
            }
        }
    }
}

/// An access whose address is computed.
fn computed_access(rng: &mut ChaCha8Rng, out: &mut Vec<u32>) {
    let region = [CONTEXT_REGISTER, PACKET_REGISTER, SCRATCH_REGISTER][rng.random_range(0..3)];
    out.extend([op_imm(7, POINTER, rng.random_range(0..32), 0x1FF), add(POINTER, POINTER, region)]);
    if rng.random() {
        out.push(load(
            [LB, LH, LW, LBU, LHU][rng.random_range(0..5)],
            destination(rng),
            POINTER,
            rng.random_range(0..300),
        ));
    } else {
        out.push(store(rng.random_range(0..3), rng.random_range(0..32), POINTER, rng.random_range(0..300)));
    }
}

fn body(rng: &mut ChaCha8Rng, items: usize, loops: bool, out: &mut Vec<u32>) {
    for _ in 0..items {
        match rng.random_range(0..100) {
            0..12 => out.extend(match destination(rng) {
                0 => [NOP, FENCE],
                register => li(register, constant(rng)),
            }),
            12..44 => out.push(op(
                OPS[rng.random_range(0..OPS.len())],
                destination(rng),
                rng.random_range(0..32),
                rng.random_range(0..32),
            )),
            44..60 => {
                let funct3 = rng.random_range(0..8);
                let immediate = match funct3 {
                    1 => rng.random_range(0..32),
                    5 => rng.random_range(0..32) | if rng.random() { 0x400 } else { 0 },
                    _ => rng.random_range(-2048..2048),
                };
                out.push(op_imm(funct3, destination(rng), rng.random_range(0..32), immediate));
            }
            60..63 => out.push(lui(destination(rng), rng.random_range(0..1 << 20))),
            63..66 => out.push(auipc(destination(rng), rng.random_range(0..1 << 20))),
            66..82 => fixed_access(rng, out),
            82..88 => computed_access(rng, out),
            kind => {
                let mut inner = vec![];
                let items = rng.random_range(1..5);
                body(rng, items, false, &mut inner);
                let beyond = 4 * (inner.len() as i32 + 1);
                match kind {
                    88..93 => {
                        let funct3 = [0, 1, 4, 5, 6, 7][rng.random_range(0..6)];
                        let a = rng.random_range(0..32);
                        let b = if rng.random_range(0..4) == 0 { a } else { rng.random_range(0..32) };
                        out.push(branch(funct3, a, b, beyond));
                    }
                    93..95 => out.push(jal(destination(rng), beyond)),
                    // Bit 0 of the target is ignored.
                    95..97 => out.extend([
                        auipc(POINTER, 0),
                        jalr(destination(rng), POINTER, beyond + 4 + rng.random_range(0..2)),
                    ]),
                    _ if loops => {
                        let items = rng.random_range(3..12);
                        body(rng, items, false, &mut inner);
                        let back = -4 * (inner.len() as i32 + 1);
                        out.push(addi(COUNT, 0, rng.random_range(1..9)));
                        inner.extend([addi(COUNT, COUNT, -1), branch(1, COUNT, 0, back)]);
                    }
                    _ => {}
                }
                out.append(&mut inner);
            }
        }
    }
}

fn program(rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut out = vec![];
    // What the hardware sets is seen first.
    out.extend([
        lui(CONTEXT_REGISTER, base(CONTEXT) >> 12),
        lui(PACKET_REGISTER, base(PACKET) >> 12),
        lui(SCRATCH_REGISTER, base(SCRATCH) >> 12),
    ]);
    body(rng, 250, true, &mut out);
    for register in 1..32 {
        out.push(sw(register, CONTEXT_REGISTER, (REGISTERS_AT + 4 * register) as i32));
    }
    out.extend([lui(RA, RETURN_ADDRESS >> 12), RET]);
    assert!(out.len() * 4 < CODE_BYTES as usize, "the program is too long for its region");
    out
}

/// Memory of a handler before or after it runs.
#[derive(Clone, PartialEq)]
struct Memory {
    packet: Vec<u8>,
    scratch: Vec<u8>,
    context: Vec<u8>,
    stack: Vec<u8>,
}

fn little_endian(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A static executable: the program and its memory where a handler finds them, a start that sets the registers as the
/// hardware does, and at the return address code that writes the memory out and exits with the handler's code.
fn executable(program: &[u32], task: &[u8], memory: &Memory, arguments: [u32; 3]) -> Vec<u8> {
    const LINUX_WRITE: i32 = 64;
    const LINUX_EXIT: i32 = 93;
    let start_at = base(CODE) + CODE_BYTES;
    let mut start = vec![];
    for register in 1..32 {
        let value = match register {
            RA => RETURN_ADDRESS,
            SP => base(STACK) + STACK_BYTES as u32,
            TP => base(TASK),
            10..=12 => arguments[register as usize - 10],
            _ => 0,
        };
        start.extend(li(register, value));
    }
    start.push(jal(0, -(CODE_BYTES as i32 + 4 * start.len() as i32)));
    let mut finish = vec![addi(9, A0, 0)];
    for (region, bytes) in
        [(PACKET, &memory.packet), (SCRATCH, &memory.scratch), (CONTEXT, &memory.context), (STACK, &memory.stack)]
    {
        finish.extend([addi(A0, 0, 1), lui(A1, base(region) >> 12)]);
        finish.extend(li(12, bytes.len() as u32));
        finish.extend([addi(17, 0, LINUX_WRITE), ECALL]);
    }
    finish.extend([addi(A0, 9, 0), addi(17, 0, LINUX_EXIT), ECALL]);
    let segments: [(u32, Vec<u8>); 8] = [
        (base(CODE), little_endian(program)),
        (start_at, little_endian(&start)),
        (base(PACKET), memory.packet.clone()),
        (base(SCRATCH), memory.scratch.clone()),
        (base(CONTEXT), memory.context.clone()),
        (base(STACK), memory.stack.clone()),
        (base(TASK), task.to_vec()),
        (RETURN_ADDRESS, little_endian(&finish)),
    ];
    const PAGE: usize = 4096;
    const HEADER: u32 = 52;
    let mut elf = vec![0x7F, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    elf.extend([2u16, 243].iter().flat_map(|half| half.to_le_bytes()));
    elf.extend(little_endian(&[1, start_at, HEADER, 0, 0]));
    elf.extend([HEADER as u16, 32, segments.len() as u16, 40, 0, 0].iter().flat_map(|half| half.to_le_bytes()));
    for (i, (address, bytes)) in segments.iter().enumerate() {
        let size = bytes.len() as u32;
        elf.extend(little_endian(&[1, ((i + 1) * PAGE * 8) as u32, *address, *address, size, size, 7, PAGE as u32]));
    }
    for (i, (_, bytes)) in segments.iter().enumerate() {
        elf.resize((i + 1) * PAGE * 8, 0);
        elf.extend(bytes);
    }
    elf
}

/// What the independent simulator makes of it: memory and return code.
fn simulate(folder: &Path, elf: &[u8], before: &Memory) -> (Memory, u8) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("program.elf");
    std::fs::write(&path, elf).expect("the target folder can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("the target folder can be written");
    let output = Command::new("timeout").args(["20", "qemu-riscv32"]).arg(&path).output().expect("timeout starts");
    let mut rest = &output.stdout[..];
    let mut take = |like: &[u8]| {
        assert!(rest.len() >= like.len(), "qemu-riscv32 did not run the program to its end: {}", output.status);
        let (head, tail) = rest.split_at(like.len());
        rest = tail;
        head.to_vec()
    };
    let after = Memory {
        packet: take(&before.packet),
        scratch: take(&before.scratch),
        context: take(&before.context),
        stack: take(&before.stack),
    };
    (after, output.status.code().unwrap_or_else(|| panic!("qemu-riscv32 died: {}", output.status)) as u8)
}

fn random_bytes(rng: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    (0..count).map(|_| rng.random()).collect()
}

#[test]
fn random_programs_agree_with_qemu() {
    if !Command::new("qemu-riscv32").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no qemu-riscv32; apt-get install qemu-user");
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hpu-oracle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    run_with_wave_on_failure("hpu_random_programs", |context| {
        let mut rng = context.rng();
        let mut hpu = Processor::new(context, 0);
        let number_port = hpu.model.port("number").expect("the processor has a number");
        for round in 0..PROGRAMS {
            let words = program(&mut rng);
            let task = random_bytes(&mut rng, 128);
            let before = Memory {
                packet: random_bytes(&mut rng, SLOT_BYTES),
                scratch: random_bytes(&mut rng, SCRATCH_BYTES),
                context: random_bytes(&mut rng, STATE_BYTES),
                stack: random_bytes(&mut rng, STACK_BYTES),
            };
            let arguments = [constant(&mut rng), constant(&mut rng), constant(&mut rng)];
            let (expected, code) = simulate(&folder, &executable(&words, &task, &before, arguments), &before);

            let number = rng.random_range(0..4);
            let launch = Launch {
                arguments,
                code_base: rng.random_range(0..4) * CODE_BYTES,
                code_size: CODE_BYTES,
                state_base: rng.random_range(0..8) * STATE_BYTES as u32,
                state_size: STATE_BYTES as u32,
                slot: rng.random_range(0..SLOTS as u32),
                frame: round as u32,
                ..Launch::default()
            };
            hpu.latency = [(1, 1), (1, 5)][round % 2];
            hpu.model.set(number_port, number as u64);
            hpu.code.fill(0);
            hpu.program(launch.code_base, &words);
            // The pages alternate; the processor has to use the one it announced.
            hpu.task = vec![0; 256];
            let page = if round % 2 == 0 { 128 } else { 0 };
            hpu.task[page..page + 128].copy_from_slice(&task);
            let packet_at = launch.slot as usize * SLOT_BYTES;
            let scratch_at = L1_SCRATCH_BASE + number as usize * SCRATCH_BYTES;
            let stack_at = L1_STACK_BASE + number as usize * STACK_BYTES;
            let state_at = launch.state_base as usize;
            hpu.l1 = random_bytes(&mut rng, 1 << 16);
            hpu.l2 = random_bytes(&mut rng, 1 << 20);
            hpu.l1[packet_at..][..SLOT_BYTES].copy_from_slice(&before.packet);
            hpu.l1[scratch_at..][..SCRATCH_BYTES].copy_from_slice(&before.scratch);
            hpu.l1[stack_at..][..STACK_BYTES].copy_from_slice(&before.stack);
            hpu.l2[state_at..][..STATE_BYTES].copy_from_slice(&before.context);
            let (mut l1, mut l2) = (hpu.l1.clone(), hpu.l2.clone());
            let ending = hpu.run(launch);
            assert_eq!(ending.cause, 0, "program {round} faults: {ending:x?}");
            for register in 1..32 {
                let at = (REGISTERS_AT + 4 * register) as usize;
                let expected = u32::from_le_bytes(expected.context[at..at + 4].try_into().expect("four bytes"));
                let found = hpu.l2_word(state_at + at);
                assert_eq!(found, expected, "program {round}: x{register} is {found:#x}, should be {expected:#x}");
            }
            l1[packet_at..][..SLOT_BYTES].copy_from_slice(&expected.packet);
            l1[scratch_at..][..SCRATCH_BYTES].copy_from_slice(&expected.scratch);
            l1[stack_at..][..STACK_BYTES].copy_from_slice(&expected.stack);
            l2[state_at..][..STATE_BYTES].copy_from_slice(&expected.context);
            assert!(
                hpu.l1 == l1,
                "program {round}: L1 differs first at {:?}",
                hpu.l1.iter().zip(&l1).position(|(a, b)| a != b)
            );
            assert!(
                hpu.l2 == l2,
                "program {round}: L2 differs first at {:?}",
                hpu.l2.iter().zip(&l2).position(|(a, b)| a != b)
            );
            assert_eq!(ending.code, code, "program {round}: return code");
        }
        println!("{} instructions in {PROGRAMS} programs, {} cycles", hpu.retired, hpu.model.cycle());
        assert!(hpu.retired >= INSTRUCTIONS, "only {} instructions were executed", hpu.retired);
    });
    std::fs::remove_dir_all(&folder).expect("the target folder can be written");
}
