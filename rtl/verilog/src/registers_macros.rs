//! `regs!`, `dffs!` and `clocks!`: the wiring every block repeats.

/// Gives the elements of an array or vector, or the one thing itself, by mutable reference.
#[doc(hidden)]
pub struct Each<'a, T>(pub &'a mut T);

impl<'a, T, const N: usize> Each<'a, [T; N]> {
    #[allow(missing_docs)]
    pub fn each(self) -> std::slice::IterMut<'a, T> {
        self.0.iter_mut()
    }
}

impl<'a, T> Each<'a, Vec<T>> {
    #[allow(missing_docs)]
    pub fn each(self) -> std::slice::IterMut<'a, T> {
        self.0.iter_mut()
    }
}

/// Anything that is neither an array nor a vector (inherent methods win over this trait).
#[doc(hidden)]
pub trait EachOne<'a> {
    /// What is given.
    type Item;
    /// The thing itself, once.
    fn each(self) -> std::iter::Once<&'a mut Self::Item>;
}

impl<'a, T> EachOne<'a> for Each<'a, T> {
    type Item = T;
    fn each(self) -> std::iter::Once<&'a mut T> {
        std::iter::once(self.0)
    }
}

/// The elements of a field.
#[doc(hidden)]
#[macro_export]
macro_rules! each {
    ($field:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::EachOne as _;
        $crate::__private::Each(&mut $field).each()
    }};
}

/// `regs!(self, clock, reset, a, b)`: connects clock and reset of [`Reg`](crate::prelude::Reg) fields and makes them hold
/// their value by default. An entry may be an element `a[i]`, or a whole array or `Vec` of registers.
#[macro_export]
macro_rules! regs {
    ($self:ident, $clock:ident, $reset:ident, $($name:ident $([$index:expr])*),+ $(,)?) => {
        $(
            for register in $crate::each!($self.$name $([$index])*) {
                register.clock.next = $self.$clock.val();
                register.reset.next = $self.$reset.val();
                register.d.next = register.q.val();
            }
        )+
    };
}

/// `dffs!(self, clock, a, b)`: the same for `DFF` fields, which have no reset.
#[macro_export]
macro_rules! dffs {
    ($self:ident, $clock:ident, $($name:ident $([$index:expr])*),+ $(,)?) => {
        $(
            for register in $crate::each!($self.$name $([$index])*) {
                register.clock.next = $self.$clock.val();
                register.d.next = register.q.val();
            }
        )+
    };
}

/// `clocks!(self, clock, reset, sub, subs)`: connects clock and reset of submodules, of an element `subs[i]`, or of a whole
/// array or `Vec` of submodules.
#[macro_export]
macro_rules! clocks {
    ($self:ident, $clock:ident, $reset:ident, $($name:ident $([$index:expr])*),+ $(,)?) => {
        $(
            for sub in $crate::each!($self.$name $([$index])*) {
                sub.clock.next = $self.$clock.val();
                sub.reset.next = $self.$reset.val();
            }
        )+
    };
}
