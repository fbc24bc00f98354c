//! The execution contexts: staged by the host, installed with one write, copied into every task at dispatch.

use crate::types::ContextEntry;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// Entries of all contexts, and the mask of active ones.
///
/// | neighbour | ports |
/// |---|---|
/// | registers | in `staged`, `install`, `install_index`; in `active` |
/// | dispatcher | in `read_enable`, `read_index` / out `entry`, a cycle later and until the next read |
/// | packet engine | out `context_status`: 4 bits a context as `ContextStatus`: active, has_header, has_payload, has_completion |
///
/// An install applies to tasks that are dispatched from the next cycle on; tasks in flight keep the context that they
/// were given.
#[block]
pub struct ContextTable {
    /// Context to install.
    pub staged: Signal<In, ContextEntry>,
    /// Install the context.
    pub install: Signal<In, Bit>,
    /// Number of the context.
    pub install_index: Signal<In, Bits<4>>,
    /// Contexts that accept packets.
    pub active: Signal<In, Bits<16>>,
    /// Read a context.
    pub read_enable: Signal<In, Bit>,
    /// Number of the context.
    pub read_index: Signal<In, Bits<4>>,
    /// The context that was read.
    pub entry: Signal<Out, ContextEntry>,
    /// Status of the contexts, for the scheduler.
    pub context_status: Signal<Out, Bits<64>>,
    entries: SdpMemory<ContextEntry, 4>,
    header: Reg<Bits<16>>,
    payload: Reg<Bits<16>>,
    completion: Reg<Bits<16>>,
    status: Reg<Bits<64>>,
}

impl ContextTable {
    /// A table in a memory of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { entries: SdpMemory::new(style, 1), ..Self::blank() }
    }
}

#[hdl]
impl ContextTable {
    fn update(&mut self) {
        self.entries.write(self.install.val(), self.install_index.val(), self.staged.val());
        self.entries.read(self.read_enable.val(), self.read_index.val());
        self.entry.next = self.entries.read_data.val();
        for c in 0..16 {
            if self.install.val() & (self.install_index.val() == bits::<4>(c)) {
                self.header.d.next = self.header.q.val().replace_bit(c, self.staged.val().header.any());
                self.payload.d.next = self.payload.q.val().replace_bit(c, self.staged.val().payload.any());
                self.completion.d.next = self.completion.q.val().replace_bit(c, self.staged.val().completion.any());
            }
        }
        let mut status: Bits<64> = bits::<64>(0);
        for c in 0..16 {
            status = status.replace_bit(4 * c, self.active.val().get_bit(c));
            status = status.replace_bit(4 * c + 1, self.header.q.val().get_bit(c));
            status = status.replace_bit(4 * c + 2, self.payload.q.val().get_bit(c));
            status = status.replace_bit(4 * c + 3, self.completion.q.val().get_bit(c));
        }
        self.status.d.next = status;
        self.context_status.next = self.status.q.val();
    }
}
