//! Memories, written as Verilog text that synthesis tools turn into the intended primitive, each with a Rust model.
//!
//! | block | ports | read latency | same address read and written in one cycle |
//! |---|---|---|---|
//! | [`SdpRam`] | 1 write, 1 read | 1 or 2 | the read gives the old word |
//! | [`ByteRam`] | 1 write with byte enables, 1 read | 1 or 2 | old |
//! | [`Ram1w2r`] | 1 write, 2 reads (two copies) | 1 or 2 | old |
//! | [`TdpRam`] | 2 × read or write, byte enables; a clock enable per stage | 2 | old, also at the port that writes (read-first) |
//! | [`LutRam`] | 1 write, R asynchronous reads | 0 | old until the clock edge |
//!
//! All words are zero at power-up: block RAM, UltraRAM and LUT RAM come up as zero when no contents are given, which is why
//! the zeroing loop is for simulation only. Nothing is cleared by `reset`. There is one clock. An address beyond the depth
//! reads as zero in the model and must not be used.

use spindle_verilog::custom_with;
use spindle_verilog::prelude::Verilog;

mod byte;
mod dual;
mod lut;
mod simple;

pub use byte::ByteRam;
pub use dual::TdpRam;
pub use lut::{LutMemory, LutRam};
pub use simple::{Ram1w2r, SdpMemory, SdpRam};

/// Which primitive a memory should become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RamStyle {
    /// Block RAM (RAMB18/RAMB36).
    #[default]
    Block,
    /// LUT RAM.
    Distributed,
    /// UltraRAM: UltraScale+ only, 4096 × 72, one clock.
    Ultra,
}

impl RamStyle {
    /// Value of the `ram_style` attribute.
    pub fn attribute(self) -> &'static str {
        match self {
            RamStyle::Block => "block",
            RamStyle::Distributed => "distributed",
            RamStyle::Ultra => "ultra",
        }
    }
}

/// Declaration of the storage, zero at the start of a simulation.
fn storage(style: RamStyle, width: usize, depth: usize) -> String {
    format!(
        "  (* ram_style = \"{style}\" *) logic [{high}:0] words [0:{last}];\n\
         `ifndef SYNTHESIS\n  initial for (int i = 0; i < {depth}; i++) words[i] = '0;\n`endif\n",
        style = style.attribute(),
        high = width - 1,
        last = depth - 1,
    )
}

/// The part of an address that selects one of `depth` words.
fn index(address: &str, address_bits: usize, depth: usize) -> String {
    let used = depth.next_power_of_two().trailing_zeros() as usize;
    if used == address_bits {
        address.to_string()
    } else {
        format!("{address}[{high}:0]", high = used - 1)
    }
}

/// Collects the address bits that a reduced depth leaves unread, for the lint's sake; nothing at full depth.
fn unread_bits(address: &str, address_bits: usize, depth: usize) -> String {
    let used = depth.next_power_of_two().trailing_zeros() as usize;
    if used == address_bits {
        return String::new();
    }
    format!("  wire unused_{address} = &{{1'b0, {address}[{high}:{used}]}};\n", high = address_bits - 1)
}

/// The statements behind a read stage: the output itself, or one more register. `high` is the number of the highest bit.
fn output_register(latency: usize, high: &str, stage: &str, output: &str) -> String {
    if latency == 1 {
        format!("  assign {output} = {stage};\n")
    } else {
        format!(
            "  logic [{high}:0] {stage}_held;\n  always @(posedge clock) {stage}_held <= {stage};\n  assign {output} = {stage}_held;\n"
        )
    }
}

/// [`storage`] of a module with the parameters DEPTH and WIDTH.
fn shared_storage(style: RamStyle) -> String {
    format!(
        "  (* ram_style = \"{style}\" *) logic [WIDTH-1:0] words [0:DEPTH-1];\n\
         `ifndef SYNTHESIS\n  initial for (int i = 0; i < DEPTH; i++) words[i] = '0;\n`endif\n",
        style = style.attribute(),
    )
}

/// A memory module: one text with parameters where the depth uses all address bits, else one of its own.
fn shared(
    name: &str,
    (bits, depth, width): (usize, usize, usize),
    addresses: &[&str],
    words: &[&str],
    body: &str,
) -> Verilog {
    let name = if depth == 1 << bits { name.to_string() } else { format!("{name}_{depth}of{}", 1usize << bits) };
    let ports: Vec<(&str, &str)> =
        addresses.iter().map(|port| (*port, "ADDRESS")).chain(words.iter().map(|port| (*port, "WIDTH"))).collect();
    custom_with(&name, &[("ADDRESS", bits), ("DEPTH", depth), ("WIDTH", width)], &ports, body)
}

/// Panics with a sentence when a memory cannot be built as asked.
fn check(what: &str, address_bits: usize, depth: usize, latency: usize) {
    assert!(
        (1..=24).contains(&address_bits),
        "{what}: the address must have 1 to 24 bits, not {address_bits}; choose another A"
    );
    assert!(
        depth >= 2 && depth <= 1 << address_bits,
        "{what}: a depth of {depth} words does not fit {address_bits} address bits; use 2 to {} words",
        1usize << address_bits
    );
    assert!(
        latency == 1 || latency == 2,
        "{what}: the read latency is 1 or 2 cycles, not {latency}; choose one of them"
    );
}
