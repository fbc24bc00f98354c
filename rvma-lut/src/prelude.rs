//! Names that most blocks of this engine use.

pub use crate::bundles::*;
pub use crate::types::*;
pub use spindle_blocks::bundles::*;
pub use spindle_blocks::desc::*;
pub use spindle_blocks::fifo::BlockFifo;
pub use spindle_blocks::ram::{LutMemory, LutRam, SdpMemory, SdpRam};
pub use spindle_blocks::{Fifo, RamStyle, Slice};
pub use spindle_verilog::prelude::*;
