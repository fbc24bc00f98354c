//! Functions whose form in hardware the back end chooses (`lower/intrinsics.rs`), as rust-hdl's simulator runs them.

use crate::bundles::{Pulse, PulseSink, Sink, Source};
use crate::packed::{from_bits, to_bits, BitReader, Packed};
use rust_hdl_core::prelude::{bit_cast, Bits, In, Local, Out, Signal, Synth};

/// Signals or bundles side by side.
pub trait Values<T> {
    /// The value of each, for [`select`] and [`select_hot`].
    fn vals(&self) -> Vec<T>;
}

macro_rules! values {
    ($($signal:ty)*) => {
        $(impl<T: Synth> Values<T> for [$signal] {
            fn vals(&self) -> Vec<T> {
                self.iter().map(|signal| signal.val()).collect()
            }
        })*
    };
}
values!(Signal<In, T> Signal<Out, T> Signal<Local, T> Source<T> Sink<T> Pulse<T> PulseSink<T>);

/// The value of this number; zero if there is none.
pub fn select<const S: usize, T: Packed + Copy>(index: Bits<S>, values: impl AsRef<[T]>) -> T {
    let bits = to_bits(index);
    let number = bits.iter().rev().fold(0usize, |n, bit| n << 1 | *bit as usize);
    values.as_ref().get(number).copied().unwrap_or_else(zero)
}

/// The value whose bit is set; all of them, joined by OR, if several are, zero if none is.
pub fn select_hot<const N: usize, T: Packed + Copy>(hot: Bits<N>, values: impl AsRef<[T]>) -> T {
    let mut joined = vec![false; T::BITS];
    for (_, value) in values.as_ref().iter().enumerate().filter(|(number, _)| hot.get_bit(*number)) {
        joined.iter_mut().zip(to_bits(*value)).for_each(|(joined, bit)| *joined |= bit);
    }
    T::read_bits(&mut BitReader::new(&joined))
}

/// `a != b`, in the form that wide values want.
pub fn ne<T: PartialEq>(a: T, b: T) -> bool {
    a != b
}

/// `a == b`, in the form that wide values want.
pub fn eq<T: PartialEq>(a: T, b: T) -> bool {
    a == b
}

/// Number of the lowest bit that is set, N - 1 if no other is: M bits, which hold that.
pub fn first_set<const M: usize, const N: usize>(x: Bits<N>) -> Bits<M> {
    let number = (0..N).find(|i| x.get_bit(*i)).unwrap_or(N - 1);
    Bits::from(number as u64)
}

/// The lowest bit that is set, alone.
pub fn lowest_set<const N: usize>(x: Bits<N>) -> Bits<N> {
    let lowest = (0..N).find(|i| x.get_bit(*i));
    from_bits(&(0..N).map(|i| lowest == Some(i)).collect::<Vec<_>>())
}

/// The bytes in reverse order.
pub fn byte_swap<const N: usize>(x: Bits<N>) -> Bits<N> {
    let bits = to_bits(x);
    from_bits(&bits.rchunks(8).flatten().copied().collect::<Vec<_>>())
}

/// Eight copies of each bit; M is 8 N.
pub fn byte_mask<const M: usize, const N: usize>(lanes: Bits<N>) -> Bits<M> {
    assert!(M == 8 * N, "byte_mask: {N} lanes have {} bits, not {M}; correct the width", 8 * N);
    from_bits(&(0..M).map(|i| lanes.get_bit(i / 8)).collect::<Vec<_>>())
}

/// `a + b + carry` with the carry out on top; M is N + 1.
pub fn add_with_carry<const M: usize, const N: usize>(a: Bits<N>, b: Bits<N>, carry: bool) -> Bits<M> {
    assert!(M == N + 1, "add_with_carry: the sum has {} bits, not {M}; correct the width", N + 1);
    let sum = bit_cast::<M, N>(a) + bit_cast::<M, N>(b);
    if carry {
        sum + 1
    } else {
        sum
    }
}

/// How many bits are set: M bits, which hold N.
pub fn count_ones<const M: usize, const N: usize>(x: Bits<N>) -> Bits<M> {
    Bits::from((0..N).filter(|i| x.get_bit(*i)).count() as u64)
}

fn zero<T: Packed>() -> T {
    T::read_bits(&mut BitReader::new(&vec![false; T::BITS]))
}
