//! Off-cluster queue of a cluster: gathers the words of commands; a refused command is dropped.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `word`, `write`: always taken; in `starts`, with the first word, the header |
//! | | in `keep`, with the last word: the command is kept; a command without it is dropped |
//! | | out `room`: for a command |
//! | off-cluster unit | out `read`: the oldest command that was kept, 1 cycle after its `keep` |
//!
//! A word per cycle, in the order of [`OffClusterCommand`]; a command leaves as a whole. Each word of a command has a LUT RAM of
//! its own, of 16 commands. `room` means that half of them are free, so the user may see it a command late. Words that a command
//! does not have are those of an earlier one.

use spindle_blocks::ram::LutMemory;
use spindle_contract::memory_map::HANDLE_BITS;
use spindle_verilog::prelude::*;

/// Words of the longest command, without its header.
pub const WORDS: usize = 10;

/// Bits of the header, as the command unit writes it.
pub const HEADER_BITS: usize = 28 + HANDLE_BITS;

/// Header of an off-cluster command.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct OffClusterHeader {
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Context.
    pub context: Bits<4>,
    /// Handle.
    pub handle: Bits<HANDLE_BITS>,
    /// HPU.
    pub hpu: Bits<3>,
    /// As in `memory_map::command`.
    pub opcode: Bits<4>,
    /// The PUT is a reliable one of the packet.
    pub of_packet: Bit,
}

/// A command that is carried out outside the clusters, as many words of it as its opcode has. SOURCE and ADDR are translated.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct OffClusterCommand {
    /// Who issued what.
    pub header: OffClusterHeader,
    /// SOURCE; of a DMA_FROM_HOST {in L2, byte of L1 or L2} in bits 20:0; of a reliable put of the packet an `array_address`.
    pub source: Bits<32>,
    /// LENGTH.
    pub length: Bits<32>,
    /// ADDR.
    pub address: Bits<64>,
    /// NODE.
    pub node: Bits<32>,
    /// KEY.
    pub key: Bits<32>,
    /// OFFSET.
    pub offset: Bits<32>,
    /// OTHER; of a PUT_HOST, the low half is the high half of its host address (of other puts, it does not count).
    pub other: Bits<64>,
    /// RESULT_LO.
    pub result: Bits<32>,
}

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
    /// The oldest command.
    pub read: Source<OffClusterCommand>,
    headers: LutMemory<OffClusterHeader, 4>,
    words: [LutMemory<Bits<32>, 4>; WORDS],
    /// Number of the next word after the header.
    number: DFF<Bits<4>>,
    /// Address of the command that is gathered, and of the oldest one.
    write_pointer: Reg<Bits<4>>,
    read_pointer: Reg<Bits<4>>,
}

#[hdl]
impl OffClusterQueue {
    fn update(&mut self) {
        let write_pointer = self.write_pointer.q.val();
        let read_pointer = self.read_pointer.q.val();
        let write = self.write.val();
        let starts = self.starts.val();
        let number = self.number.q.val();
        let word = self.word.val();
        self.number.load(write, if starts { bits::<4>(0) } else { number + 1 });
        self.write_pointer.load(self.keep.val(), write_pointer + 1);
        self.headers.write(
            write & starts,
            write_pointer,
            unpack::<OffClusterHeader, HEADER_BITS>(word.get_bits::<HEADER_BITS>(0)),
        );
        self.headers.read_address.next = read_pointer;
        for i in 0..WORDS {
            self.words[i].write(write & !starts & (number == bits::<4>(i as u64)), write_pointer, word);
            self.words[i].read_address.next = read_pointer;
        }
        let level = write_pointer - read_pointer;
        self.room.next = !level.get_bit(3);
        let any = level.any();
        self.read.offer(
            any,
            OffClusterCommand {
                header: self.headers.read_data.val(),
                source: self.words[0].read_data.val(),
                length: self.words[1].read_data.val(),
                address: (self.words[3].read_data.val(), self.words[2].read_data.val()).cat::<64>(),
                node: self.words[4].read_data.val(),
                key: self.words[5].read_data.val(),
                offset: self.words[6].read_data.val(),
                other: (self.words[8].read_data.val(), self.words[7].read_data.val()).cat::<64>(),
                result: self.words[9].read_data.val(),
            },
        );
        self.read_pointer.load(any & self.read.ready.val(), read_pointer + 1);
    }
}
