//! What a processor does with memory that is not in its caches, for `host-cost.toml`: `spindle use-case --measure-host`.
//!
//! The loops are a crate of their own, since only these need all of the compiler's optimisation in a development build.

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

/// Bytes of a row of a table.
const ROW: usize = 64;

/// Whether four bytes are in a text; the third may be any.
fn has_pattern(text: &[u8], pattern: [u8; 4]) -> bool {
    text.windows(4).any(|four| four[0] == pattern[0] && four[1] == pattern[1] && four[3] == pattern[3])
}

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

/// `to[i] ^= constant * from[i]` in GF(2^8), as fast as this machine does it.
pub fn multiply_add(constant: u8, to: &mut [u8], from: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("ssse3") {
        let whole = to.len().min(from.len()) / 16 * 16;
        // SAFETY: the processor has the instructions.
        unsafe { multiply_add_ssse3(constant, &mut to[..whole], &from[..whole]) };
        return multiply_add_by_table(constant, &mut to[whole..], &from[whole..]);
    }
    multiply_add_by_table(constant, to, from);
}

fn multiply_add_by_table(constant: u8, to: &mut [u8], from: &[u8]) {
    let table: [u8; 256] = std::array::from_fn(|value| gf_product(value as u8, constant));
    to.iter_mut().zip(from).for_each(|(a, b)| *a ^= table[usize::from(*b)]);
}

/// By products of the two halves of a byte, each of 16 looked up in a register, as erasure-coding libraries do.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "ssse3")]
fn multiply_add_ssse3(constant: u8, to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_and_si128, _mm_cvtsi128_si64, _mm_set1_epi8, _mm_set_epi64x};
    use std::arch::x86_64::{_mm_shuffle_epi8, _mm_srli_epi64, _mm_unpackhi_epi64, _mm_xor_si128};
    let load = |bytes: &[u8; 16]| -> __m128i {
        let value = u128::from_le_bytes(*bytes);
        _mm_set_epi64x((value >> 64) as i64, value as i64)
    };
    let products = |shift: u32| -> [u8; 16] { std::array::from_fn(|i| gf_product((i as u8) << shift, constant)) };
    let (low, high) = (load(&products(0)), load(&products(4)));
    let mask = _mm_set1_epi8(0xf);
    for (to, from) in to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0) {
        let bytes = load(from);
        let lows = _mm_shuffle_epi8(low, _mm_and_si128(bytes, mask));
        let highs = _mm_shuffle_epi8(high, _mm_and_si128(_mm_srli_epi64::<4>(bytes), mask));
        let sum = _mm_xor_si128(load(to), _mm_xor_si128(lows, highs));
        let halves = [sum, _mm_unpackhi_epi64(sum, sum)].map(|half| _mm_cvtsi128_si64(half) as u64);
        *to = (u128::from(halves[1]) << 64 | u128::from(halves[0])).to_le_bytes();
    }
}

/// Nanoseconds of SipHash-2-4 of 32 bytes, and of the comparison with a tag.
#[allow(deprecated)] // SipHasher is the standard library's SipHash-2-4.
fn siphash() -> f64 {
    use std::hash::{Hasher, SipHasher};
    const TAGS: usize = 1 << 18;
    let time = fastest(|| {
        for number in 0..TAGS {
            let mut hasher = SipHasher::new_with_keys(black_box(1), black_box(2));
            hasher.write(black_box(&[number as u8; 32]));
            black_box(hasher.finish() == black_box(3));
        }
    });
    time / TAGS as f64
}

/// The sections `[siphash]` and `[memory]` of `host-cost.toml` for this machine.
///
/// # Errors
/// None is known.
pub fn measure() -> Result<String> {
    let from: Vec<u8> = (0..BYTES).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut to = vec![1_u8; BYTES];
    let bytes = BYTES as f64;
    let copy = bytes / fastest(|| black_box(&mut to).copy_from_slice(black_box(&from)));
    let xor = bytes / fastest(|| black_box(&mut to).iter_mut().zip(black_box(&from)).for_each(|(a, b)| *a ^= b));
    let gf = bytes / fastest(|| multiply_add(0x8e, black_box(&mut to), black_box(&from)));
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
    // Each row by itself, as a scan that gives out rows does it.
    let (rows, mut wanted) = (BYTES / ROW, vec![0u32; BYTES / ROW]);
    let filter = bytes
        / fastest(|| {
            let (from, wanted) = (black_box(&from), black_box(&mut wanted));
            let mut found = 0;
            for i in 0..rows {
                wanted[found] = i as u32;
                found += usize::from(from[i * ROW + 4] >= 50);
            }
            black_box(found);
        });
    let search = bytes
        / fastest(|| {
            let found = black_box(&from).chunks_exact(ROW).filter(|row| has_pattern(&row[16..], *b"fo.d")).count();
            black_box(found);
        });
    let mut text = String::new();
    writeln!(text, "[siphash]\nns = {:.1}\n", siphash())?;
    writeln!(text, "[memory]")?;
    writeln!(text, "source = \"`spindle use-case --measure-host` on one core of {}\"", processor())?;
    writeln!(text, "evidence = \"M\"")?;
    for (what, name, value) in [
        ("Copy of contiguous bytes.", "copy", copy),
        ("destination ^= source.", "xor", xor),
        ("Multiply-add in GF(2^8), 16 bytes at a time where the processor can.", "gf", gf),
        ("destination += source, 32-bit words.", "add", add),
        ("Test of a word of each row of 64 bytes.", "filter", filter),
        ("Search of a pattern of four bytes in the text of each row of 64 bytes.", "search", search),
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
    use super::{gf_product, multiply_add};

    #[test]
    fn the_fast_sum_of_products_is_that_of_single_bytes() {
        let from: Vec<u8> = (0..77_usize).map(|i| (i * 37 + 5) as u8).collect();
        let mut to: Vec<u8> = (0..77).map(|i| i * 3).collect();
        let wanted: Vec<u8> = to.iter().zip(&from).map(|(a, b)| a ^ gf_product(*b, 0x53)).collect();
        multiply_add(0x53, &mut to, &from);
        assert_eq!(to, wanted);
    }

    #[test]
    fn products_are_those_of_the_field() {
        assert_eq!((gf_product(2, 0x80), gf_product(1, 77), gf_product(0x8e, 2)), (0x1d, 77, 1));
    }
}
