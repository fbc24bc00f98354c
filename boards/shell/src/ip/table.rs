//! The table of ports, and the macro that makes a block of a table.

/// Direction of a port, seen from the vendor block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Into the block.
    In,
    /// Out of the block.
    Out,
    /// Both.
    InOut,
}

/// What a port of a vendor block is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// In the top: a pad, a primitive, or another port of a vendor block.
    Top,
    /// A port of the shell of the same name, with the module's name and `_` before it.
    Shell,
    /// An input with a constant value.
    Tie(u64),
    /// An input that takes the output of this name of the same block.
    Loop(&'static str),
    /// An output that nothing reads, but for an input of the same block that is [`Use::Loop`].
    Open,
}

/// A port of a vendor block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name in the block.
    pub name: &'static str,
    /// Direction, seen from the block.
    pub direction: Direction,
    /// Bits.
    pub width: usize,
    /// The port is a clock.
    pub is_clock: bool,
    /// The clock of the port, a port of the same block; empty where the signal is asynchronous, serial, or a clock itself.
    pub clock: &'static str,
    /// What the port is connected to.
    pub used: Use,
}

/// Makes a block of a table.
///
/// `Name<PARAMETERS> "module" [VERILOG_PARAMETER = "default"] { port: Direction Type [bits] @ "clock" => use; .. }`. A type is
/// `Bit`, `Clock` or `Bits`.
macro_rules! vendor_block {
    ($(#[$doc:meta])* $name:ident $(<$($p:ident),+>)? $module:literal [$($parameter:ident = $default:literal),*] {
        $($port:ident : $direction:ident $ty:ident $([$bits:tt])? @ $clock:literal => $used:ident $(($value:literal))?;)*
    }) => {
        $(#[$doc])*
        #[spindle_verilog::prelude::block(combinational)]
        #[allow(non_snake_case)]
        pub struct $name $(<$(const $p: usize),+>)? {
            $(
                #[doc = concat!("`", stringify!($port), "`; clock: `", $clock, "`.")]
                pub $port: rust_hdl_core::prelude::Signal<
                    rust_hdl_core::prelude::$direction,
                    vendor_block!(@ty $ty $([$bits])?),
                >,
            )*
            _module: String,
            _parameters: Vec<(String, String)>,
        }

        impl $(<$(const $p: usize),+>)? $name $(<$($p),+>)? {
            /// Parameters of the module, with their defaults.
            const PARAMETERS: &'static [(&'static str, &'static str)] = &[$((stringify!($parameter), $default)),*];

            /// An instance of the module of this name: that of the primitive, or that of a generated IP.
            pub fn of_module(module: &str) -> Self {
                Self { _module: module.to_string(), ..Self::blank() }
            }

            /// An instance with this Verilog parameter.
            ///
            /// # Panics
            /// If the module does not have the parameter.
            #[must_use]
            pub fn with_parameter(mut self, name: &str, value: &str) -> Self {
                let known = Self::PARAMETERS.iter().any(|(parameter, _)| *parameter == name);
                assert!(known, "the block has no parameter `{name}`; correct the name");
                self._parameters.push((name.to_string(), value.to_string()));
                self
            }

            /// The table.
            pub fn ports() -> Vec<$crate::ip::Port> {
                vec![$($crate::ip::Port {
                    name: stringify!($port),
                    direction: $crate::ip::Direction::$direction,
                    width: <vendor_block!(@ty $ty $([$bits])?) as rust_hdl_core::prelude::Synth>::BITS,
                    is_clock: stringify!($ty) == "Clock",
                    clock: $clock,
                    used: $crate::ip::Use::$used $(($value))?,
                }),*]
            }
        }

        impl $(<$(const $p: usize),+>)? rust_hdl_core::prelude::Logic for $name $(<$($p),+>)? {
            fn update(&mut self) {}

            fn connect(&mut self) {
                $(vendor_block!(@connect $direction self.$port);)*
            }

            fn hdl(&self) -> rust_hdl_core::prelude::Verilog {
                let module = if self._module.is_empty() { $module } else { &self._module };
                let parameters: Vec<(&str, &str)> =
                    self._parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                let declaration = $crate::write::stub::declaration(module, Self::PARAMETERS, &Self::ports());
                spindle_verilog::black_box(module, &parameters, &declaration)
            }
        }
    };
    (@ty Bit) => { rust_hdl_core::prelude::Bit };
    (@ty Clock) => { rust_hdl_core::prelude::Clock };
    (@ty Bits [$bits:tt]) => { rust_hdl_core::prelude::Bits<$bits> };
    (@connect In $($port:tt)*) => {};
    (@connect Out $($port:tt)*) => { $($port)*.connect() };
    (@connect InOut $($port:tt)*) => { $($port)*.connect() };
}
