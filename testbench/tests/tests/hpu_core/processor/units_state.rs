//! Divider, branch predictor, region table, byte lanes, arithmetic of the atomics.

use crate::hpu_core::processor::isa::compute;
use crate::hpu_core::processor::units::{operand, CORNERS};
use hpu_core::cluster::amo_alu::AmoAlu;
use hpu_core::processor::branch_predictor::BranchPredictor;
use hpu_core::processor::byte_lanes::{LoadLanes, StoreLanes};
use hpu_core::processor::divider::{Divider, DIVIDER_LATENCY};
use hpu_core::processor::region_table::RegionTable;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};

fn start(unit: &Dut<Divider>, f3: u32, a: u32, b: u32) {
    unit.start.set(true);
    unit.funct3.set(f3);
    unit.a.set(a);
    unit.b.set(b);
}

/// Divides and takes the result after a while, with other operands at the ports meanwhile.
fn divide(rng: &mut ChaCha8Rng, unit: &Dut<Divider>, f3: u32, a: u32, b: u32) {
    assert_eq!(unit.busy.number(), 0);
    start(unit, f3, a, b);
    unit.tick();
    unit.eval();
    let mut cycles = 1;
    while unit.done.number() == 0 {
        assert_eq!(unit.busy.number(), 1);
        assert!(cycles < DIVIDER_LATENCY, "{a:08x} / {b:08x} takes more than {DIVIDER_LATENCY} cycles");
        // A start while busy is none.
        start(unit, rng.random_range(4..8), rng.random(), rng.random());
        unit.tick();
        unit.eval();
        cycles += 1;
    }
    let by_one = b == 1 || (f3.is_multiple_of(2) && b == u32::MAX);
    assert_eq!(cycles, if by_one { 2 } else { DIVIDER_LATENCY }, "{a:08x} / {b:08x}");
    for wait in 0..=rng.random_range(0..3) {
        let result = &unit.result;
        let magnitude = if unit.takes_remainder.is_high() { &result.remainder } else { &result.quotient };
        let magnitude = magnitude.number() as u32;
        let value = if unit.result.negate.number() == 1 { magnitude.wrapping_neg() } else { magnitude };
        let name = ["div", "divu", "rem", "remu"][f3 as usize - 4];
        assert_eq!(value, compute(name, a, b), "{name} of {a:08x}, {b:08x}, {wait} cycles later");
        unit.start.set(rng.random::<bool>());
        unit.tick();
        unit.eval();
        assert_eq!((unit.done.number(), unit.busy.number()), (1, 1));
    }
    unit.taken.set(true);
    unit.start.set(rng.random::<bool>());
    unit.tick();
    unit.eval();
    unit.taken.set(false);
    unit.start.set(false);
}

#[test]
fn divider_divides() {
    run_with_wave_on_failure("units_divider", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, Divider::default(), "divider");
        unit.loads.set(true);
        unit.reset();
        for a in CORNERS {
            for b in CORNERS {
                (4..8).for_each(|f3| divide(&mut rng, &unit, f3, a, b));
            }
        }
        for i in 0..100_000 {
            let a = operand(&mut rng, 0);
            let b = operand(&mut rng, a);
            divide(&mut rng, &unit, 4 + i % 4, a, b);
            if rng.random_bool(0.05) {
                // Cancelled at any time from its start on: nothing is left of it.
                start(&unit, rng.random_range(4..8), rng.random(), rng.random());
                for _ in 0..rng.random_range(0..34) {
                    unit.tick();
                    unit.eval();
                    unit.start.set(false);
                }
                unit.cancel.set(true);
                unit.tick();
                unit.eval();
                unit.cancel.set(false);
                unit.start.set(false);
                assert_eq!((unit.done.number(), unit.busy.number()), (0, 0));
            }
        }
    });
}

#[test]
fn predictor_remembers_taken_branches() {
    run_with_wave_on_failure("units_predictor", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, BranchPredictor::default(), "branch_predictor");
        // Row: tag, target, sure. `sweep`: cycles in which it knows nothing.
        let mut rows = [None::<(u32, u32, bool)>; 32];
        let mut sweep = 32;
        let mut predicted = 0;
        unit.reset();
        // Few words, so that they meet in the rows; sometimes any.
        let some_pc = |rng: &mut ChaCha8Rng| match rng.random_range(0..10) {
            0 => rng.random_range(0..1 << 14),
            _ => rng.random_range(0..3) << 5 | rng.random_range(0..6),
        };
        for cycle in 0..200_000 {
            let pc = some_pc(&mut rng);
            let update_pc = some_pc(&mut rng);
            let row = update_pc as usize % 32;
            let known = rows[row].filter(|(tag, ..)| *tag == update_pc >> 5);
            let taken = rng.random_bool(0.6);
            let target = rng.random_range(0..1 << 14);
            // A hit may be of an entry that was replaced meanwhile: then it is whatever stands in the row.
            let hit = known.is_some() || (rows[row].is_some() && rng.random_bool(0.1));
            let update = rng.random::<bool>();
            let clear = rng.random_ratio(1, 5000);
            let sure = rows[row].is_some_and(|(.., sure)| sure);
            unit.pc.set(pc);
            unit.update.valid.set(update);
            unit.update.pc.set(update_pc);
            unit.update.taken.set(taken);
            unit.update.target.set(target);
            unit.update.was_hit.set(hit);
            unit.update.was_sure.set(sure);
            unit.clear.set(clear);
            unit.eval();
            let expected = rows[pc as usize % 32].filter(|(tag, ..)| *tag == pc >> 5 && sweep == 0);
            assert_eq!(unit.taken.number() == 1, expected.is_some(), "cycle {cycle}, {pc:04x}");
            if let Some((_, target, sure)) = expected {
                assert_eq!(
                    (unit.target.number() as u32, unit.sure.is_high()),
                    (target, sure),
                    "cycle {cycle}, {pc:04x}"
                );
                predicted += 1;
            }
            if sweep > 0 {
                sweep -= 1;
            } else if update && taken {
                rows[row] = Some((update_pc >> 5, target, true));
            } else if update && hit {
                rows[row] = rows[row].filter(|_| sure).map(|(tag, target, _)| (tag, target, false));
            }
            if clear {
                (rows, sweep) = ([None; 32], 32);
            }
            unit.tick();
            unit.eval();
        }
        assert!(predicted > 50_000, "{predicted}");
    });
}

#[test]
fn regions_are_read_back() {
    run_with_wave_on_failure("units_regions", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, RegionTable::default(), "region_table");
        let mut entries = [None::<u64>; 32];
        for _ in 0..20_000 {
            let write = rng.random::<bool>();
            let (at, from) = (rng.random_range(0..32u32), rng.random_range(0..32u32));
            // Target, base, bound, two rights; the target is one of five, the base a multiple of 16.
            let entry = rng.random_range(0..5) | (rng.random::<u64>() & (((1 << 43) - 1) ^ 15)) << 3;
            unit.region.write.set(write);
            unit.region.index.set(at);
            unit.read_index.set(from);
            unit.region.set_bytes(&entry.to_le_bytes()[..6]);
            unit.eval();
            if let Some(expected) = entries[from as usize] {
                assert_eq!(unit.entry.number(), expected, "entry {from}");
            }
            unit.tick();
            unit.eval();
            if write {
                entries[at as usize] = Some(entry);
            }
        }
    });
}

#[test]
fn loads_of_any_size_at_any_byte() {
    run_with_wave_on_failure("units_load_lanes", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, LoadLanes::default(), "load_lanes");
        for i in 0..100_000u32 {
            // Two words of memory; each byte stands in the lane of its address.
            let words = [0; 2].map(|_| operand(&mut rng, 0));
            let memory: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
            let offset = i % 4;
            let f3 = [0, 1, 2, 4, 5][i as usize / 4 % 5];
            let mut lanes = [0; 4];
            (offset as usize..offset as usize + 4).for_each(|at| lanes[at % 4] = memory[at]);
            unit.word.set(u32::from_le_bytes(lanes));
            unit.offset.set(offset);
            unit.funct3.set(f3);
            unit.eval();
            let at = offset as usize;
            let half = u16::from_le_bytes([memory[at], memory[at + 1]]);
            let expected = match f3 {
                0 => memory[at] as i8 as u32,
                1 => half as i16 as u32,
                2 => u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes")),
                4 => memory[at].into(),
                _ => half.into(),
            };
            assert_eq!((unit.value.number() as u32), expected, "{words:08x?}, offset {offset}, funct3 {f3}");
        }
    });
}

#[test]
fn stores_of_any_size_at_any_byte() {
    run_with_wave_on_failure("units_store_lanes", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, StoreLanes::default(), "store_lanes");
        for i in 0..100_000u32 {
            let data = operand(&mut rng, 0);
            let offset = i % 8;
            let size = i / 8 % 3;
            unit.data.set(data);
            unit.offset.set(offset);
            unit.size_less_one.set((1 << size) - 1);
            unit.eval();
            // Three words of memory; a byte beyond the second is in the even lane again.
            let mut memory = [None; 12];
            for (n, byte) in data.to_le_bytes().into_iter().enumerate().take(1 << size) {
                memory[offset as usize + n] = Some(byte);
            }
            for lane in 0..4 {
                let even = (&unit.even_strobe, memory[lane].or(memory[lane + 8]));
                for (parity, (strobe, byte)) in [even, (&unit.odd_strobe, memory[lane + 4])].into_iter().enumerate() {
                    let place = format!("size {size}, offset {offset}, parity {parity}, lane {lane}");
                    assert_eq!(strobe.number() >> lane & 1 == 1, byte.is_some(), "{place}");
                    if let Some(byte) = byte {
                        assert_eq!(unit.rotated.bytes()[lane], byte, "{data:08x}, {place}");
                    }
                }
            }
        }
    });
}

#[test]
fn atomics_compute() {
    run_with_wave_on_failure("units_amo_alu", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, AmoAlu::default(), "amo_alu");
        let check = |f5: u32, old: u32, operand: u32| {
            unit.old.set(old);
            unit.operand.set(operand);
            unit.funct5.set(f5);
            unit.eval();
            let expected = match f5 {
                0x00 => old.wrapping_add(operand),
                0x01 => operand,
                0x04 => old ^ operand,
                0x08 => old | operand,
                0x0C => old & operand,
                0x10 => (old as i32).min(operand as i32) as u32,
                0x14 => (old as i32).max(operand as i32) as u32,
                0x18 => old.min(operand),
                0x1C => old.max(operand),
                // A store under a condition; what no instruction chooses keeps the word or clears it.
                0x03 => operand,
                0x05 => old,
                _ => 0,
            };
            assert_eq!((unit.result.number() as u32), expected, "operation {f5:02x} of {old:08x}, {operand:08x}");
        };
        let operations = [0x00, 0x01, 0x03, 0x04, 0x05, 0x08, 0x0C, 0x0D, 0x10, 0x14, 0x18, 0x1C];
        for f5 in operations {
            CORNERS.into_iter().for_each(|old| CORNERS.into_iter().for_each(|operand| check(f5, old, operand)));
        }
        for i in 0..100_000 {
            let old = operand(&mut rng, 0);
            let other = operand(&mut rng, old);
            check(operations[i % operations.len()], old, other);
        }
    });
}
