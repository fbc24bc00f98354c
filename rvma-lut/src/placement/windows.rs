//! Windows: the four oldest buffers of each TAGGED mailbox, and the allocation of windows to mailboxes.
//!
//! | neighbour | ports |
//! |---|---|
//! | buffer queue | in `read_enable`, `window`, `position`; out `entry` |
//! | buffer queue | in `write_enable`, `write_window`, `write_position`, `write_entry` |
//! | buffer queue | out `free`, `any_free`; in `allocate`, `give_back`, `returned_window` (pulses) |
//!
//! `read_enable` → `entry`: 1 cycle; nothing is read in the cycle in which it is written. An eighth of the mailboxes
//! can be TAGGED, and a window belongs to a mailbox from its opening to its end. Windows that were given back go out
//! first, from three cycles later on.

use crate::prelude::*;

/// Bits of the number of a window.
pub const WINDOW_BITS: usize = 9;
/// Address bits of all positions: {window, low bits of the epoch}.
const POSITION_BITS: usize = WINDOW_BITS + 2;

/// A buffer in a window.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WindowEntry {
    /// Messages may still be bound to it.
    pub open: Bit,
    /// Ordinal of the buffer. A position that never held a buffer has an ordinal that does not belong there.
    pub epoch: Bits<16>,
    /// Slot of the buffer.
    pub slot: Bits<14>,
    /// The buffer.
    pub buffer: BufferEntry,
    /// Bytes of the messages bound to the buffer.
    pub reserved: Bits<32>,
    /// Bytes or operations missing up to the threshold.
    pub missing: Bits<32>,
}

/// The windows. See the module text.
#[block]
pub struct Windows {
    /// Read a position.
    pub read_enable: Signal<In, Bit>,
    /// Window.
    pub window: Signal<In, Bits<WINDOW_BITS>>,
    /// Low bits of the epoch.
    pub position: Signal<In, Bits<2>>,
    /// One cycle later: content of the position.
    pub entry: Signal<Out, WindowEntry>,
    /// Write a position.
    pub write_enable: Signal<In, Bit>,
    /// Window.
    pub write_window: Signal<In, Bits<WINDOW_BITS>>,
    /// Low bits of the epoch.
    pub write_position: Signal<In, Bits<2>>,
    /// Content of the position.
    pub write_entry: Signal<In, WindowEntry>,
    /// Window of the next TAGGED mailbox.
    pub free: Signal<Out, Bits<WINDOW_BITS>>,
    /// A window is free.
    pub any_free: Signal<Out, Bit>,
    /// `free` is taken.
    pub allocate: Signal<In, Bit>,
    /// A window is given back.
    pub give_back: Signal<In, Bit>,
    /// With `give_back`: the window.
    pub returned_window: Signal<In, Bits<WINDOW_BITS>>,
    entries: SdpMemory<WindowEntry, POSITION_BITS>,
    returned: BlockFifo<Bits<WINDOW_BITS>, WINDOW_BITS>,
    /// Windows that were taken for the first time.
    fresh: Reg<Bits<10>>,
    _windows: u64,
}

impl Windows {
    /// Windows for a table of `mailboxes`, at least 64; windows that were given back lie in a memory of the given kind.
    pub fn new(mailboxes: usize, style: RamStyle) -> Self {
        let windows = mailboxes / 8;
        Self {
            entries: SdpMemory::with_depth(RamStyle::Block, 1, windows * 4),
            returned: BlockFifo::with_depth(style, windows),
            _windows: windows as u64,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Windows {
    fn update(&mut self) {
        self.entries.read(self.read_enable.val(), (self.window.val(), self.position.val()).cat::<POSITION_BITS>());
        self.entries.write_enable.next = self.write_enable.val();
        self.entries.write_address.next = (self.write_window.val(), self.write_position.val()).cat::<POSITION_BITS>();
        self.entries.write_data.next = self.write_entry.val();
        self.entry.next = self.entries.read_data.val();

        let any_returned = self.returned.read.valid.val();
        self.returned.write.offer(self.give_back.val(), self.returned_window.val());
        self.returned.read.ready.next = self.allocate.val();
        self.free.next = self.fresh.q.val().get_bits::<WINDOW_BITS>(0);
        if any_returned {
            self.free.next = self.returned.read.val();
        }
        self.any_free.next = any_returned | (self.fresh.q.val() != bits::<10>(self._windows));
        self.fresh.load(self.allocate.val() & !any_returned, self.fresh.q.val() + 1);
    }
}
