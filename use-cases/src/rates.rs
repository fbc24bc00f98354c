//! `--measure-host`: what a processor does with memory that is not in its caches, for `host-cost.toml`.

use anyhow::Result;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

/// Bytes that are worked on: more than the caches have.
const BYTES: usize = 64 << 20;
/// Runs; the fastest counts, since others on the machine only make a run slower.
const RUNS: usize = 5;
/// Block and stride of a strided copy.
const BLOCK: usize = 64;
const STRIDE: usize = 2 * BLOCK;

/// Nanoseconds of the fastest run.
fn fastest(mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e9
    };
    (0..RUNS).map(time).fold(f64::INFINITY, f64::min)
}

/// The product in GF(2^8), polynomial 0x11d.
pub fn gf_product(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        let carry = a & 0x80 != 0;
        a <<= 1;
        if carry {
            a ^= 0x1d;
        }
        b >>= 1;
    }
    product
}

/// The section `[memory]` of `host-cost.toml` for this machine.
///
/// # Errors
/// None is known.
pub fn measure() -> Result<String> {
    let from: Vec<u8> = (0..BYTES).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut to = vec![1_u8; BYTES];
    let bytes = BYTES as f64;
    let copy = bytes / fastest(|| black_box(&mut to).copy_from_slice(black_box(&from)));
    let xor = bytes / fastest(|| black_box(&mut to).iter_mut().zip(black_box(&from)).for_each(|(a, b)| *a ^= b));
    let table: Vec<u8> = (0..=255).map(|value| gf_product(value, 0x8e)).collect();
    let gf = bytes
        / fastest(|| {
            black_box(&mut to).iter_mut().zip(black_box(&from)).for_each(|(a, b)| *a ^= table[usize::from(*b)])
        });
    let words: Vec<u32> = from.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    let mut sums = words.clone();
    let add = bytes
        / fastest(|| black_box(&mut sums).iter_mut().zip(black_box(&words)).for_each(|(a, b)| *a = a.wrapping_add(*b)));
    let strided = fastest(|| {
        let (to, from) = (black_box(&mut to), black_box(&from));
        for (to, from) in to.chunks_exact_mut(STRIDE).zip(from.chunks_exact(BLOCK)) {
            to[..BLOCK].copy_from_slice(from);
        }
    });
    let blocks = (BYTES / STRIDE) as f64;
    let block_ns = (strided / blocks - BLOCK as f64 / copy).max(0.0);
    let mut text = String::new();
    writeln!(text, "[memory]")?;
    writeln!(text, "source = \"`spindle use-case --measure-host` on one core of {}\"", processor())?;
    writeln!(text, "evidence = \"M\"")?;
    for (what, name, value) in [
        ("Copy of contiguous bytes.", "copy", copy),
        ("destination ^= source.", "xor", xor),
        ("Multiply-add in GF(2^8) by table.", "gf", gf),
        ("destination += source, 32-bit words.", "add", add),
        ("Nanoseconds for each block of a strided copy, beside its bytes.", "block_ns", block_ns),
    ] {
        writeln!(text, "# {what}\n{name} = {value:.2}")?;
    }
    Ok(text)
}

/// The processor's name, as Linux has it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    line.map_or_else(|| "an unknown processor".into(), |(_, name)| name.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::gf_product;

    #[test]
    fn products_are_those_of_the_field() {
        assert_eq!((gf_product(2, 0x80), gf_product(1, 77), gf_product(0x8e, 2)), (0x1d, 77, 1));
    }
}
