//! What a description hands to the back end, and how the macros fill the table of constants.
//!
//! `Logic::hdl()` can only return rust-hdl's own `Verilog`. A block therefore leaves its [`Source`] in a slot of the
//! thread and returns a marker; the walk over the design takes it out at once.

use num_bigint::BigUint;
use rust_hdl_core::ast::BlackBox;
use rust_hdl_core::prelude::{Bits, Synth, TypeDescriptor, Verilog, VerilogLiteral};
use std::cell::RefCell;

/// First line of the string returned by a description that left something in the slot.
pub(crate) const MARKER: &str = "// spindle: description handed over";
/// Starts the first line of a hand-written module, followed by the module's name.
pub(crate) const NAMED: &str = "// module: ";
/// Separates the parts of the line that names a module with parameters.
const SHARED: char = '\u{2}';

/// A constant named by a body.
#[derive(Debug, Clone)]
pub enum Value {
    /// An integer without a width.
    Int(i128),
    /// A value of a hardware type.
    Bits(BigUint, TypeDescriptor),
    /// A table of integers or bits.
    List(Vec<Value>),
}

/// The source of a body and everything it names.
#[derive(Debug, Clone)]
pub struct Source {
    pub type_name: &'static str,
    pub file: &'static str,
    pub line: u32,
    pub text: &'static str,
    pub constants: Vec<(&'static str, Value)>,
    pub types: Vec<(&'static str, TypeDescriptor)>,
    pub functions: Vec<NamedFunction>,
}

/// The name of a helper function, and how to get it.
pub type NamedFunction = (&'static str, fn() -> FnSource);

/// A pure helper function.
#[derive(Debug, Clone)]
pub struct FnSource {
    pub params: Vec<(&'static str, TypeDescriptor)>,
    pub result: TypeDescriptor,
    pub body: Source,
}

/// What `#[block]` and `#[hdl] impl` add to the source of `update()`.
#[derive(Debug, Clone)]
pub struct BlockSource {
    /// Field, clock port and reset port (empty if there is none) of every part that is wired implicitly.
    pub parts: &'static [(&'static str, &'static str, &'static str)],
    pub stages: Vec<StageSource>,
}

/// A method of a block that `update()` calls.
#[derive(Debug, Clone)]
pub struct StageSource {
    pub name: &'static str,
    /// A parameter without a type is an integer that is known when the design is emitted.
    pub params: Vec<(&'static str, Option<TypeDescriptor>)>,
    pub result: Option<TypeDescriptor>,
    pub body: Source,
}

/// Reset value and attributes of a `Reg`.
#[derive(Debug, Clone)]
pub(crate) struct RegisterSource {
    pub init: VerilogLiteral,
    pub attributes: Vec<(String, String)>,
}

/// What lies in the slot.
#[derive(Debug, Clone)]
pub(crate) enum HandedOver {
    Source(Source, Option<BlockSource>),
    Register(RegisterSource),
}

thread_local! {
    static SLOT: RefCell<Option<HandedOver>> = const { RefCell::new(None) };
}

/// Leaves the source of a block for the back end.
pub fn hand_over(source: Source, block: Option<BlockSource>) -> Verilog {
    SLOT.with(|slot| *slot.borrow_mut() = Some(HandedOver::Source(source, block)));
    Verilog::Custom(MARKER.to_string())
}

/// Leaves the reset value of a register for the back end.
pub(crate) fn hand_over_register(register: RegisterSource) -> Verilog {
    SLOT.with(|slot| *slot.borrow_mut() = Some(HandedOver::Register(register)));
    Verilog::Custom(MARKER.to_string())
}

/// Takes what the last call of `hdl()` left.
pub(crate) fn take() -> Option<HandedOver> {
    SLOT.with(|slot| slot.borrow_mut().take())
}

/// A hand-written module: its name, and its source between the port list and `endmodule`.
///
/// Ports come from the struct's signals; outputs are declared `output logic`.
pub fn custom(name: &str, body: &str) -> Verilog {
    Verilog::Custom(format!("{NAMED}{name}\n{body}"))
}

/// A hand-written module with parameters, so that instances of all shapes share one module.
///
/// `body` and the widths in `ports` (port, width as a Verilog expression) use the parameters by name. Ports that are not listed have the
/// width of their signal. As the top of a design the module has the values as defaults.
pub fn custom_with(name: &str, parameters: &[(&str, usize)], ports: &[(&str, &str)], body: &str) -> Verilog {
    let parameters: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let ports: Vec<String> = ports.iter().map(|(port, width)| format!("{port}={width}")).collect();
    Verilog::Custom(format!("{NAMED}{name}{SHARED}{}{SHARED}{}\n{body}", parameters.join(","), ports.join(",")))
}

/// A module that a library of the user's tool brings, with the parameters of this instance (name, and value as Verilog).
///
/// `declaration` is the whole module without a body, for tools that do not have the library. Modules of one name have one
/// declaration.
pub fn black_box(name: &str, parameters: &[(&str, &str)], declaration: &str) -> Verilog {
    let parameters: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let name = match parameters.is_empty() {
        true => name.to_string(),
        false => format!("{name}{SHARED}{}", parameters.join(",")),
    };
    Verilog::Blackbox(BlackBox { code: declaration.to_string(), name })
}

/// What `custom_with` appended to the name: parameters with their values, ports with their widths.
pub(crate) fn shared_parts(line: &str) -> (String, Parameters) {
    let list = |part: Option<&str>| -> Vec<(String, String)> {
        let pairs = part.unwrap_or("").split(',').filter_map(|pair| pair.split_once('='));
        pairs.map(|(a, b)| (a.to_string(), b.to_string())).collect()
    };
    let mut parts = line.split(SHARED);
    let name = parts.next().unwrap_or("").trim().to_string();
    (name, Parameters { values: list(parts.next()), widths: list(parts.next()) })
}

/// Parameters of a hand-written module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters {
    /// Name and value at this instance.
    pub values: Vec<(String, String)>,
    /// Port and its width in terms of the parameters.
    pub widths: Vec<(String, String)>,
}

impl Parameters {
    /// What an instance writes after the module's name.
    pub fn instance(&self) -> String {
        let values: Vec<String> = self.values.iter().map(|(name, value)| format!(".{name}({value})")).collect();
        if values.is_empty() {
            String::new()
        } else {
            format!(" #({})", values.join(", "))
        }
    }
}

/// The number in a rust-hdl literal.
pub(crate) fn literal_value(literal: &VerilogLiteral) -> BigUint {
    let text = format!("{literal:x}");
    let digits = text.split("'h").nth(1).unwrap_or("0");
    BigUint::parse_bytes(digits.as_bytes(), 16).unwrap_or_default()
}

/// Wraps a constant, so that one of two traits describes it.
pub struct Describe<'a, T: ?Sized>(pub &'a T);

/// Hardware values: `Bits`, `Bit`, structures, states.
pub trait DescribeSynth {
    /// The value and its type.
    fn describe(&self) -> Value;
}

impl<T: Synth> DescribeSynth for Describe<'_, T> {
    fn describe(&self) -> Value {
        Value::Bits(literal_value(&self.0.verilog()), T::descriptor())
    }
}

/// Plain Rust integers and tables.
pub trait DescribeNumber {
    /// The value.
    fn describe(&self) -> Value;
}

impl<T: Number + ?Sized> DescribeNumber for &Describe<'_, T> {
    fn describe(&self) -> Value {
        self.0.value()
    }
}

/// A constant that is not a hardware value by itself.
pub trait Number {
    /// The value.
    fn value(&self) -> Value;
}

macro_rules! numbers {
    ($($ty:ty)+) => { $(impl Number for $ty { fn value(&self) -> Value { Value::Int(*self as i128) } })+ };
}
numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl Number for bool {
    fn value(&self) -> Value {
        Describe(self).describe_synth()
    }
}

impl<const N: usize> Number for Bits<N> {
    fn value(&self) -> Value {
        Describe(self).describe_synth()
    }
}

impl<T: Synth> Describe<'_, T> {
    fn describe_synth(&self) -> Value {
        DescribeSynth::describe(self)
    }
}

impl<T: Number, const N: usize> Number for [T; N] {
    fn value(&self) -> Value {
        self.as_slice().value()
    }
}

impl<T: Number> Number for Vec<T> {
    fn value(&self) -> Value {
        self.as_slice().value()
    }
}

impl<T: Number> Number for [T] {
    fn value(&self) -> Value {
        Value::List(self.iter().map(Number::value).collect())
    }
}

impl<T: Number + ?Sized> Number for &T {
    fn value(&self) -> Value {
        (**self).value()
    }
}
