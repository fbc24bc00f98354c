//! Words that the macros and the back end both know: `spindle-verilog` includes this file too.

/// Functions whose form the back end chooses.
pub(crate) const INTRINSICS: [&str; 10] = [
    "select",
    "select_hot",
    "ne",
    "eq",
    "first_set",
    "lowest_set",
    "byte_swap",
    "byte_mask",
    "add_with_carry",
    "count_ones",
];

/// A port of the receiver (empty: the receiver itself) and the argument that it takes.
pub(crate) type PortArgument = (&'static str, usize);

/// The assignments that a call with this name and so many arguments stands for; with `true`, they hold if argument 0 is high.
///
/// | call | stands for |
/// |---|---|
/// | `x.load(enable, value)` | `if enable { x.d.next = value; }` |
/// | `x.offer(valid, word)` | `x.next = word; x.valid.next = valid;` |
/// | `x.write(enable, address, data)` | `x.write_enable.next = enable;` and likewise `write_address`, `write_data` |
/// | `x.read(enable, address)` | `x.read_enable.next = enable; x.read_address.next = address;` |
pub(crate) fn assignments(name: &str, arguments: usize) -> Option<(bool, &'static [PortArgument])> {
    match (name, arguments) {
        ("load", 2) => Some((true, &[("d", 1)])),
        ("offer", 2) => Some((false, &[("", 1), ("valid", 0)])),
        ("write", 3) => Some((false, &[("write_enable", 0), ("write_address", 1), ("write_data", 2)])),
        ("read", 2) => Some((false, &[("read_enable", 0), ("read_address", 1)])),
        _ => None,
    }
}
