//! The functions of the language, as rust-hdl's simulator runs them.

use crate::packed::{from_bits, to_bits, BitReader, Packed};
use rust_hdl_core::prelude::{bit_cast, Bits};

/// Zero extension; panics in simulation when M < N.
pub fn zext<const M: usize, const N: usize>(x: Bits<N>) -> Bits<M> {
    bit_cast(x)
}

/// Truncation to the low M bits.
pub fn trunc<const M: usize, const N: usize>(x: Bits<N>) -> Bits<M> {
    bit_cast(x)
}

/// Sign extension (or truncation) of N bits to M bits.
pub fn sext<const M: usize, const N: usize>(x: Bits<N>) -> Bits<M> {
    let wide: Bits<M> = bit_cast(x);
    if M > N && x.get_bit(N - 1) {
        wide | (Bits::<M>::mask() << N as u64)
    } else {
        wide
    }
}

/// Signed `a < b`.
pub fn signed_lt<const N: usize>(a: Bits<N>, b: Bits<N>) -> bool {
    let (sa, sb) = (a.get_bit(N - 1), b.get_bit(N - 1));
    if sa == sb {
        a < b
    } else {
        sa
    }
}

/// Arithmetic shift right; an amount of N or more leaves only sign bits.
pub fn sra<const N: usize, const M: usize>(a: Bits<N>, amount: Bits<M>) -> Bits<N> {
    let bits = to_bits(a);
    let amount = to_bits(amount).iter().rev().fold(0usize, |n, b| (n << 1 | *b as usize).min(N));
    let shifted: Vec<bool> = (0..N).map(|i| bits[(i + amount).min(N - 1)]).collect();
    from_bits(&shifted)
}

/// Unsigned product, in P bits.
pub fn mul<const P: usize, const A: usize, const B: usize>(a: Bits<A>, b: Bits<B>) -> Bits<P> {
    let a: Bits<P> = bit_cast(a);
    (0..B.min(P)).filter(|i| b.get_bit(*i)).fold(Bits::<P>::default(), |sum, i| sum + (a << i as u64))
}

/// Signed product, in P bits, at least as many as either operand has.
pub fn mul_signed<const P: usize, const A: usize, const B: usize>(a: Bits<A>, b: Bits<B>) -> Bits<P> {
    mul::<P, P, P>(sext(a), sext(b))
}

/// `W` copies of one bit.
pub fn repeat<const W: usize>(bit: bool) -> Bits<W> {
    if bit {
        Bits::<W>::mask()
    } else {
        Bits::<W>::default()
    }
}

/// The bits of a structure or state; N is its width.
pub fn pack<T: Packed, const N: usize>(value: T) -> Bits<N> {
    assert!(N == T::BITS, "pack: the value has {} bits, not {N}; correct the width", T::BITS);
    from_bits(&to_bits(value))
}

/// A structure or state from its bits; N is its width.
pub fn unpack<T: Packed, const N: usize>(bits: Bits<N>) -> T {
    assert!(N == T::BITS, "unpack: the value has {} bits, not {N}; correct the width", T::BITS);
    T::read_bits(&mut BitReader::new(&to_bits(bits)))
}

/// Concatenation: `(high, middle, low).cat::<W>()`, the first member most significant.
pub trait Cat {
    /// All members side by side; W is the sum of their widths.
    fn cat<const W: usize>(self) -> Bits<W>;
}

macro_rules! cat_tuples {
    ($($name:ident)+) => {
        cat_tuples!(@one $($name)+);
        cat_tuples!(@shorter $($name)+);
    };
    (@shorter $first:ident $second:ident) => {};
    (@shorter $first:ident $($rest:ident)+) => { cat_tuples!($($rest)+); };
    (@one $($name:ident)+) => {
        impl<$($name: Packed),+> Cat for ($($name,)+) {
            #[allow(non_snake_case)]
            fn cat<const W: usize>(self) -> Bits<W> {
                let ($($name,)+) = self;
                let members = [$(to_bits($name)),+];
                let bits: Vec<bool> = members.into_iter().rev().flatten().collect();
                assert!(bits.len() == W, "cat: the members have {} bits, not {W}; correct the width", bits.len());
                from_bits(&bits)
            }
        }
    };
}
cat_tuples!(A B C D E F G H I J K L M N O P Q R S T U V X Y);

/// An integer that a description may use as a constant.
pub trait IntegerConstant {
    /// The value; a negative one panics.
    fn literal(self) -> u64;
}

macro_rules! integer_constants {
    ($($ty:ty)*) => {
        $(impl IntegerConstant for $ty {
            fn literal(self) -> u64 {
                u64::try_from(self).unwrap_or_else(|_| panic!("{self} does not fit in 64 bits without sign"))
            }
        })*
    };
}

integer_constants! { u8 u16 u32 u64 usize i32 }

/// A constant of N bits; the width may be left to the context: `kind == bits(kind::PAYLOAD)`.
///
/// The back end refuses a number that N bits cannot hold, with file and line.
pub fn bits<const N: usize>(number: impl IntegerConstant) -> Bits<N> {
    rust_hdl_core::prelude::bits(number.literal())
}
