//! Completer: the words of a read, as a completion.
//!
//! | neighbour | ports |
//! |---|---|
//! | BAR target | in `word` (pulse), `word_at`; in `header`, taken with the last beat of the completion |
//! | transmitter | out `packet` |
//!
//! A completion has up to 32 DWs: one never crosses a multiple of 128 bytes, at which a completer of an endpoint may
//! cut. Word n of the completion is DW n + 3 of the packet. The words lie in four banks of LUT RAM, 16 × 32 bits each,
//! by the DW of the beat, so a beat is read at once.
//!
//! `header` offered → `packet`: 0 cycles; a beat per cycle.

use super::ports::PacketSource;
use spindle_blocks::LutMemory;
use spindle_verilog::prelude::*;

/// Header of a completion.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CompletionHeader {
    /// DWs 0 to 2.
    pub dws: Bits<96>,
    /// DWs of data, at most 32.
    pub words: Bits<6>,
}

/// The completer. See the module text.
#[block]
pub struct Completer {
    /// Word of the next completion, lowest address in the lowest byte.
    pub word: PulseSink<Bits<32>>,
    /// Its number.
    pub word_at: Signal<In, Bits<5>>,
    /// Completion to send; its words have come.
    pub header: Sink<CompletionHeader>,
    /// Completions.
    pub packet: PacketSource,
    banks: [LutMemory<Bits<32>, 4>; 4],
    row: Reg<Bits<4>>,
}

#[hdl]
impl Completer {
    fn update(&mut self) {
        let place = bit_cast::<6, 5>(self.word_at.val()) + 3;
        for i in 0..4 {
            let here = self.word.valid.val() & (place.get_bits::<2>(0) == bits::<2>(i as u64));
            self.banks[i].write(here, place.get_bits::<4>(2), byte_swap(self.word.val()));
            self.banks[i].read_address.next = self.row.q.val();
        }
        let header = self.header.val();
        let d0 = self.banks[0].read_data.val();
        let d1 = self.banks[1].read_data.val();
        let d2 = self.banks[2].read_data.val();
        let d3 = self.banks[3].read_data.val();
        let row = self.row.q.val();
        let lower = if row.any() { (d2, d1, d0).cat::<96>() } else { header.dws };
        // The number of the last DW.
        let top = bit_cast::<7, 6>(header.words) + 2;
        let last = top.get_bits::<5>(2) == bit_cast::<5, 4>(row);
        self.packet.data.next = (d3, lower).cat::<128>();
        self.packet.top.next = if last { top.get_bits::<2>(0) } else { bits::<2>(3) };
        self.packet.last.next = last;
        self.packet.valid.next = self.header.valid.val();
        let moves = self.header.valid.val() & self.packet.ready.val();
        self.header.ready.next = self.packet.ready.val() & last;
        self.row.load(moves, if last { bits::<4>(0) } else { row + 1 });
    }
}
