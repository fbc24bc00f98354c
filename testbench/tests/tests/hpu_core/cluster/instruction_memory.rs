//! Instruction memory against an array of words.

use crate::hpu_core::dut::Dut;
use crate::hpu_core::fields::code_word;
use crate::hpu_core::processor::isa;
use crate::hpu_core::processor::units::word_of;
use hpu_core::cluster::instruction_memory::InstructionMemory;
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle_harness::run_with_wave_on_failure;

#[test]
fn every_hpu_reads_while_the_host_writes() {
    run_with_wave_on_failure("instruction_memory", |wave| {
        let mut rng = wave.rng();
        let mut dut = Dut::new(wave, &mut InstructionMemory::new(2, 4096), "instruction_memory");
        let table = isa::table();
        let mut words = vec![0u32; 1024];
        let mut fetched = [[None; 2]; 2];
        let mut loaded = [[None; 2]; 2];
        for cycle in 0..20_000 {
            let write = rng.random_range(0..4) == 0;
            // Instructions and constants.
            let at = rng.random_range(0..16);
            let data = match table.choose(&mut rng) {
                Some(instruction) if rng.random_bool(0.7) => word_of(&mut rng, instruction),
                _ => rng.random(),
            };
            dut.set("imem_write", write.into());
            dut.set("imem_address", at);
            dut.set("imem_data", code_word(data));
            // Addresses wrap at the size of the memory.
            let wanted: [(u64, bool, u64, bool); 2] = std::array::from_fn(|_| {
                let mut address = || rng.random_range(0..16) + 1024 * rng.random_range(0..16);
                let (fetch, code) = (address(), address());
                (fetch, rng.random_bool(0.7), code, rng.random_bool(0.7))
            });
            for (h, (fetch, enable, code, valid)) in wanted.iter().enumerate() {
                dut.set(&format!("fetch_{h}_address"), *fetch);
                dut.set(&format!("fetch_{h}_enable"), (*enable).into());
                dut.set(&format!("code_{h}_address"), *code);
                dut.set(&format!("code_{h}_valid"), (*valid).into());
            }
            dut.model.eval();
            for (h, (fetch, enable, code, valid)) in wanted.into_iter().enumerate() {
                if let Some(word) = fetched[h][1] {
                    assert_eq!(dut.get(&format!("fetch_{h}_data")), code_word(word), "cycle {cycle}, HPU {h}");
                }
                if let Some(word) = loaded[h][1] {
                    assert_eq!(dut.get(&format!("code_{h}_data")) as u32, word, "cycle {cycle}, HPU {h}");
                }
                assert_eq!(dut.high(&format!("code_{h}_ready")), !write);
                if enable {
                    fetched[h] = [Some(words[fetch as usize % 1024]), fetched[h][0]];
                }
                loaded[h] = [(valid && !write).then_some(words[code as usize % 1024]), loaded[h][0]];
            }
            if write {
                words[at as usize] = data;
            }
            dut.model.tick();
        }
    });
}
