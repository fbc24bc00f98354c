//! Atomics of L1 and L2.

/// What an AMO leaves in memory.
pub fn amo(operation: u64, old: u32, operand: u32) -> u32 {
    match operation {
        0b00001 => operand,
        0b00000 => old.wrapping_add(operand),
        0b00100 => old ^ operand,
        0b01100 => old & operand,
        0b01000 => old | operand,
        0b10000 => (old as i32).min(operand as i32) as u32,
        0b10100 => (old as i32).max(operand as i32) as u32,
        0b11000 => old.min(operand),
        0b11100 => old.max(operand),
        _ => panic!("no AMO has funct5 = {operation:#07b}"),
    }
}
