//! Memories, written as Verilog text that synthesis tools turn into the intended primitive, each with a Rust model.
//!
//! | block | ports | read latency | same address read and written in one cycle |
//! |---|---|---|---|
//! | [`SdpRam`] | 1 write, 1 read | 1 or 2 | the read gives the old word |
//! | [`ByteRam`] | 1 write with byte enables, 1 read | 1 or 2 | old |
//! | [`Ram1w2r`] | 1 write, 2 reads (two copies) | 1 or 2 | old |
//! | [`TdpRam`] | 2 × read or write, byte enables; a clock enable per stage | 2 | old, also at the port that writes (read-first) |
//! | [`CrossMemory`] | 1 write, 1 read, each with a clock of its own | 1 | not allowed |
//! | [`LutRam`] | 1 write, R asynchronous reads | 0 | old until the clock edge |
//!
//! All words are zero at power-up: block RAM, UltraRAM and LUT RAM come up as zero when no contents are given, which is
//! why the zeroing loop is for simulation only. Nothing is cleared by `reset`. There is one clock, unless the table says
//! otherwise. An address beyond the depth reads as zero in the model and must not be used.

use spindle_contract::params::Config;

/// `write` of a memory with one write port.
macro_rules! write_port {
    ([$($generics:tt)*] $memory:ty, $address:ident, $data:ty) => {
        impl<$($generics)*> $memory {
            /// Assigns the write port: `write_enable`, `write_address` and `write_data`.
            pub fn write(&mut self, enable: Bit, address: Bits<$address>, data: $data) {
                self.write_enable.next = enable;
                self.write_address.next = address;
                self.write_data.next = data;
            }
        }
    };
}

/// `read` of a memory with one read port.
macro_rules! read_port {
    ([$($generics:tt)*] $memory:ty, $address:ident) => {
        impl<$($generics)*> $memory {
            /// Assigns the read port: `read_enable` and `read_address`.
            pub fn read(&mut self, enable: Bit, address: Bits<$address>) {
                self.read_enable.next = enable;
                self.read_address.next = address;
            }
        }
    };
}

mod byte;
mod cross;
mod dual;
mod lut;
mod simple;

pub use byte::ByteRam;
pub use cross::CrossMemory;
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

/// Half of what a block RAM holds at its widest, 72 bits.
const HALF_BLOCK_WORDS: usize = 256;

impl RamStyle {
    /// For a memory of this many words where block RAM is what a device runs out of first: LUT RAM if half of each
    /// block RAM would stay empty.
    pub fn sparing(words: usize) -> Self {
        if words <= HALF_BLOCK_WORDS {
            RamStyle::Distributed
        } else {
            RamStyle::Block
        }
    }

    /// For a memory of this many words of `bits` bits that grows with the device: LUT RAM as long as it would fill less
    /// than half a block RAM's bits.
    pub fn by_size(words: usize, bits: usize) -> Self {
        if words <= 16 * HALF_BLOCK_WORDS && words * bits <= 16 << 10 {
            RamStyle::Distributed
        } else {
            RamStyle::Block
        }
    }

    /// For a memory of this many words on the device of `config`: one with UltraRAM for its large memories has block
    /// RAM for all others.
    pub fn on(config: &Config, words: usize) -> Self {
        if config.has_ultra_ram() {
            RamStyle::Block
        } else {
            Self::sparing(words)
        }
    }

    /// For a memory of few words whose reader can wait for block RAM: a device with UltraRAM for its large memories has
    /// some of it left when its LUTs are used up, on others it is the other way round. Latencies are those of block RAM
    /// on both.
    pub fn spare(config: &Config) -> Self {
        if config.has_ultra_ram() {
            RamStyle::Block
        } else {
            RamStyle::Distributed
        }
    }

    /// Value of the `ram_style` attribute.
    pub fn attribute(self) -> &'static str {
        match self {
            RamStyle::Block => "block",
            RamStyle::Distributed => "distributed",
            RamStyle::Ultra => "ultra",
        }
    }
}

/// The storage of a module with the parameters DEPTH and `width`, zero at the start of a simulation.
fn storage(style: RamStyle, width: &str) -> String {
    format!(
        "  (* ram_style = \"{style}\" *) logic [{width}-1:0] words [0:DEPTH-1];\n\
         `ifndef SYNTHESIS\n  initial for (int i = 0; i < DEPTH; i++) words[i] = '0;\n`endif\n",
        style = style.attribute(),
    )
}

/// The word at an address: a depth below `2^ADDRESS` leaves the highest bits unread.
fn word(address: &str) -> String {
    format!("words[{address}[$clog2(DEPTH)-1:0]]")
}

/// Uses address bits that may be unread, so that the lint is quiet.
fn unread_bits(addresses: &[&str]) -> String {
    format!("  wire _unused_ok = &{{1'b0, {}}};\n", addresses.join(", "))
}

/// From the word that was fetched to the output: nothing, or one more register if the parameter LATENCY is 2.
fn output_register(width: &str, output: &str) -> String {
    format!(
        "  if (LATENCY == 1) begin : at_once\n    assign {output} = fetched;\n  end else begin : registered\n    \
         logic [{width}-1:0] held;\n    always @(posedge clock) held <= fetched;\n    assign {output} = held;\n  end\n"
    )
}

/// Panics with a sentence when a memory cannot be built.
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
