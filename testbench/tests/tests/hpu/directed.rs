//! Single instructions with known answers, and what a handler finds in its registers.

use crate::assembler::*;
use crate::processor::{Launch, Processor};
use spindle_contract::memory_map::{base, CONTEXT, RETURN_ADDRESS, STACK, TASK};
use spindle_contract::params::STACK_BYTES;
use spindle_harness::run_with_wave_on_failure;

/// x8 = context memory.
fn with_context(words: &[u32]) -> Vec<u32> {
    [&[lui(8, base(CONTEXT) >> 12)], words].concat()
}

#[test]
fn a_return_code_is_the_low_byte_of_a0() {
    run_with_wave_on_failure("hpu_return", |context| {
        let mut hpu = Processor::new(context, 0);
        for code in [0, 1, 7, 0xFF, 0x17F] {
            let ending = hpu.run_program(&[addi(A0, 0, code), RET]);
            assert_eq!((ending.code, ending.cause), (code as u8, 0));
        }
    });
}

#[test]
fn arithmetic_at_its_corners() {
    const MIN: u32 = 0x8000_0000;
    const ALL: u32 = 0xFFFF_FFFF;
    // (funct7, funct3), a, b, result: from the instruction set's definition.
    let cases: &[((u32, u32), u32, u32, u32)] = &[
        ((0x00, 0), ALL, 1, 0),
        ((0x20, 0), 0, 1, ALL),
        ((0x00, 1), 1, 31, MIN),
        ((0x00, 1), 1, 32, 1),
        ((0x00, 2), MIN, 0, 1),
        ((0x00, 2), 0, MIN, 0),
        ((0x00, 3), MIN, 0, 0),
        ((0x00, 3), 0, MIN, 1),
        ((0x00, 5), MIN, 31, 1),
        ((0x20, 5), MIN, 31, ALL),
        ((0x01, 0), ALL, ALL, 1),
        ((0x01, 1), MIN, MIN, 0x4000_0000),
        ((0x01, 1), ALL, 1, ALL),
        ((0x01, 2), ALL, ALL, ALL),
        ((0x01, 2), MIN, ALL, MIN),
        ((0x01, 3), ALL, ALL, 0xFFFF_FFFE),
        ((0x01, 4), 7, 0, ALL),
        ((0x01, 4), ALL, 0, ALL),
        ((0x01, 4), MIN, ALL, MIN),
        ((0x01, 4), (-7i32) as u32, 2, (-3i32) as u32),
        ((0x01, 5), 7, 0, ALL),
        ((0x01, 5), MIN, ALL, 0),
        ((0x01, 6), (-7i32) as u32, 2, ALL),
        ((0x01, 6), (-7i32) as u32, 0, (-7i32) as u32),
        ((0x01, 6), MIN, ALL, 0),
        ((0x01, 7), MIN, ALL, MIN),
        ((0x01, 7), 7, 0, 7),
    ];
    run_with_wave_on_failure("hpu_arithmetic", |context| {
        let mut hpu = Processor::new(context, 0);
        for (operation, a, b, result) in cases {
            let words =
                with_context(&[&li(5, *a)[..], &li(6, *b), &[op(*operation, 7, 5, 6), sw(7, 8, 0), RET]].concat());
            assert_eq!(hpu.run_program(&words).cause, 0);
            assert_eq!(hpu.l2_word(0), *result, "{operation:x?} of {a:#x} and {b:#x}");
        }
    });
}

#[test]
fn a_handler_finds_its_launch_and_nothing_of_its_predecessor() {
    run_with_wave_on_failure("hpu_registers", |context| {
        let mut hpu = Processor::new(context, 0);
        // The first handler fills every register, by ALU and by load.
        let mut fill = vec![];
        for register in 1..32 {
            fill.extend(li(register, 0xBAD0_0000 | register));
        }
        fill.extend([lui(1, RETURN_ADDRESS >> 12), RET]);
        // The second stores all it has, through a region that needs no register of its own: x8 comes last.
        let mut show = vec![];
        show.push(lui(8, base(CONTEXT) >> 12));
        for register in (1..32).filter(|r| *r != 8) {
            show.push(sw(register, 8, 4 * register as i32));
        }
        show.push(RET);
        hpu.program(0, &fill);
        hpu.program(0x1000, &show);
        // And one that uses x8 before anything has written it: it must be 0, so the store faults at address 0x7C.
        hpu.program(0x2000, &[sw(5, 8, 0x7C), RET]);
        let arguments = [0x1111_1111, 0x2222_2222, 0x3333_3333];
        for _ in 0..3 {
            hpu.run(Launch::default());
            let ending = hpu.run(Launch { entry: 0x1000_1000, arguments, ..Launch::default() });
            assert_eq!((ending.cause, ending.code), (0, 0x11));
            for register in (1..32).filter(|r| *r != 8) {
                let expected = match register {
                    1 => RETURN_ADDRESS,
                    2 => base(STACK) + STACK_BYTES as u32,
                    4 => base(TASK),
                    10 => arguments[0],
                    11 => arguments[1],
                    12 => arguments[2],
                    _ => 0,
                };
                assert_eq!(hpu.l2_word(4 * register), expected, "x{register}");
            }
            hpu.run(Launch::default());
            assert_eq!(hpu.run(Launch { entry: 0x1000_2000, ..Launch::default() }).address, 0x7C);
        }
    });
}

#[test]
fn counters_count() {
    run_with_wave_on_failure("hpu_counters", |context| {
        let mut hpu = Processor::new(context, 0);
        let words = with_context(&[
            csrr(5, 0xC00),
            csrr(6, 0xC00),
            csrr(7, 0xC01),
            csrr(28, 0xC02),
            csrr(29, 0xC02),
            csrr(30, 0xC80),
            csrr(31, 0xC82),
            sw(5, 8, 0),
            sw(6, 8, 4),
            sw(7, 8, 8),
            sw(28, 8, 12),
            sw(29, 8, 16),
            sw(30, 8, 20),
            sw(31, 8, 24),
            RET,
        ]);
        assert_eq!(hpu.run_program(&words).cause, 0);
        let word = |i: usize| hpu.l2_word(4 * i);
        assert_eq!([word(1) - word(0), word(2) - word(1)], [3, 3], "cycles between two reads");
        assert_eq!(word(4) - word(3), 1, "instructions between two reads");
        assert_eq!([word(5), word(6)], [0, 0], "high halves");
    });
}
