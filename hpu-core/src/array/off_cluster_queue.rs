//! Off-cluster queue of a cluster: words of commands; the words of a refused command are dropped.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `word`, `write`: always taken; in `starts`, with the first word: words after the last `keep` are dropped |
//! | | in `keep`, with the last word |
//! | | out `room`: for a whole command |
//! | off-cluster unit | out `read`: words that are kept, 1 cycle after their `keep` |
//!
//! 64 words. `room` means that half of them are free, so the user may see it a command late.

use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// The queue. See the module text.
#[block]
pub struct OffClusterQueue {
    /// A word.
    pub word: Signal<In, Bits<32>>,
    /// Write the word.
    pub write: Signal<In, Bit>,
    /// The word is the first of a command.
    pub starts: Signal<In, Bit>,
    /// The word is the last of a command that is kept.
    pub keep: Signal<In, Bit>,
    /// There is room for a command.
    pub room: Signal<Out, Bit>,
    /// The oldest word.
    pub read: Source<Bits<32>>,
    store: LutMemory<Bits<32>, 6>,
    /// Address of the next word, end of the kept words, and their start.
    write_pointer: DFF<Bits<6>>,
    kept_end: Reg<Bits<6>>,
    read_pointer: Reg<Bits<6>>,
}

#[hdl]
impl OffClusterQueue {
    fn update(&mut self) {
        let kept_end = self.kept_end.q.val();
        let read_pointer = self.read_pointer.q.val();
        let at = if self.starts.val() { kept_end } else { self.write_pointer.q.val() };
        self.write_pointer.load(self.write.val(), at + 1);
        self.kept_end.load(self.keep.val(), at + 1);
        self.store.write(self.write.val(), at, self.word.val());
        self.store.read_address.next = read_pointer;
        let level = kept_end - read_pointer;
        self.room.next = !level.get_bit(5);
        self.read.next = self.store.read_data.val();
        let any = level.any();
        self.read.valid.next = any;
        self.read_pointer.load(any & self.read.ready.val(), read_pointer + 1);
    }
}
