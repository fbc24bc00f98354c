//! Host memory: lines that were written, over a pattern.

use std::collections::HashMap;

/// Sparse memory of 64-byte lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    lines: HashMap<u64, [u8; 64]>,
}

fn pattern(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 53) as u8
}

impl Memory {
    pub fn byte(&self, address: u64) -> u8 {
        self.lines.get(&(address / 64)).map_or_else(|| pattern(address), |line| line[address as usize % 64])
    }

    pub fn write(&mut self, address: u64, value: u8) {
        let first = address / 64 * 64;
        let line = self.lines.entry(address / 64);
        line.or_insert_with(|| std::array::from_fn(|i| pattern(first + i as u64)))[address as usize % 64] = value;
    }

    pub fn read(&self, address: u64, bytes: usize) -> Vec<u8> {
        (0..bytes as u64).map(|i| self.byte(address + i)).collect()
    }
}
