//! Results in M1, M2 and M3: their source, forwarding, and the register write.

use super::bundles::Results;
use super::byte_lanes::{next_word_lanes, LoadLanes};
use super::stages::{Executed, Issued, Producer};
use super::types::Target;
use spindle_verilog::prelude::*;

/// The results after X.
///
/// | neighbour | ports |
/// |---|---|
/// | endings | out `lands`, `lands_bank`; in `bank` of the current thread |
/// | issue, resolve | in `issued`, `writes` of X; in `executed`, `live`, `holds` of M1; in `flush` |
/// | | in `ends`: an ended handler writes nothing |
/// | execute | in `value`, `multiplies`, `wants_high` of M1; in `product` of M2 |
/// | memory stage | in `from`, `other_granted` |
/// | L1, instruction memory, command port | in `l1_data`, `code_data`, `port_data` of the load in M2 |
/// | operands | out `results` |
///
/// M2 chooses each byte of a load out of the word of its lane: that is the result of an aligned word. M3 rotates and
/// extends the others. If the two halves of a load were granted apart, the bytes of the second word come first and wait
/// in their lanes of M3's register, which is unused until then.
#[block]
pub struct WriteBack {
    /// The current thread.
    pub thread: Signal<In, Bit>,
    /// The instruction in X.
    pub issued: Signal<In, Issued>,
    /// It writes a register.
    pub writes: Signal<In, Bit>,
    /// D and X are dropped.
    pub flush: Signal<In, Bit>,
    /// The instruction in M1.
    pub executed: Signal<In, Executed>,
    /// M1 holds an instruction.
    pub live: Signal<In, Bit>,
    /// It stays.
    pub holds: Signal<In, Bit>,
    /// The current handler ends, or the instruction that left M1 in the last cycle has not taken effect.
    pub ends: Signal<In, Bit>,
    /// Result of M1.
    pub value: Signal<In, Bits<32>>,
    /// M1 has a multiplication,
    pub multiplies: Signal<In, Bit>,
    /// of which the high word is wanted.
    pub wants_high: Signal<In, Bit>,
    /// Low and high word of the product in M2.
    pub product: [Signal<In, Bits<32>>; 2],
    /// Memory of the load in M1.
    pub from: Signal<In, Target>,
    /// The half in which it does not begin was granted, alone.
    pub other_granted: Signal<In, Bit>,
    /// Even and odd word of L1.
    pub l1_data: [Signal<In, Bits<32>>; 2],
    /// Word of the instruction memory.
    pub code_data: Signal<In, Bits<32>>,
    /// Word of the command port.
    pub port_data: Signal<In, Bits<32>>,
    /// Results of M1, M2 and M3.
    pub results: Results,
    /// M3 has a result, or had one if its handler had not just returned.
    pub lands: Signal<Out, Bit>,
    /// The bank of that handler.
    pub lands_bank: Signal<Out, Bits<2>>,
    /// Bank of the current thread.
    pub bank: Signal<In, Bits<2>>,
    lanes: LoadLanes,
    first_writes: Reg<Bit>,
    first_ready: DFF<Bit>,
    /// Result of M1.
    second_value: DFF<Bits<32>>,
    /// Result of M2: 0 = that, 1 = low, 2 = high word of the product, 3 = the loaded word.
    second_pick: DFF<Bits<2>>,
    second_writes: Reg<Bit>,
    second_rd: DFF<Bits<5>>,
    second_thread: DFF<Bit>,
    second_bank: DFF<Bits<2>>,
    second_loads: Reg<Bit>,
    /// M2 holds an instruction.
    second_moves: Reg<Bit>,
    /// M2's word counts: it holds a load, or the other word of the one in M1 is there.
    second_reads: Reg<Bit>,
    /// It is one of code or the command port, not of L1.
    second_elsewhere: DFF<Bit>,
    /// Lanes of the odd word, not the even one; of the command port, not the code.
    second_odd: DFF<Bits<4>>,
    second_offset: DFF<Bits<2>>,
    second_funct3: DFF<Bits<3>>,
    second_whole: DFF<Bit>,
    third_writes: Reg<Bit>,
    third_rd: DFF<Bits<5>>,
    writer: DFF<Bit>,
    landing: DFF<Bit>,
    third_bank: DFF<Bits<2>>,
    third_word: [DFF<Bits<8>>; 4],
    third_offset: DFF<Bits<2>>,
    third_funct3: DFF<Bits<3>>,
    other_read: Reg<Bit>,
    other_there: Reg<Bit>,
    /// M3's lanes hold the bytes of the other word, for the load that has not reached M3.
    keeps: Reg<Bit>,
}

#[hdl]
impl WriteBack {
    fn update(&mut self) {
        let executed = self.executed.val();
        let issued = self.issued.val().traits;

        // M1.
        if !self.holds.val() {
            self.first_writes.d.next = self.writes.val() & !self.flush.val();
            self.first_ready.d.next = !issued.late | issued.bits_unit;
        }
        self.results.first.next = Producer {
            writes: self.first_writes.q.val(),
            ready: self.first_ready.q.val(),
            rd: executed.rd,
            value: self.value.val(),
        };

        // M2.
        let moves = self.live.val() & !self.holds.val();
        let loads = executed.traits.load;
        self.second_writes.d.next = moves & self.first_writes.q.val() & !self.ends.val();
        self.second_moves.d.next = moves;
        self.second_loads.d.next = moves & loads;
        self.second_value.d.next = self.value.val();
        // A half that came apart is looked at while its load is still in M1.
        let multiplies = self.multiplies.val();
        let wants_high = self.wants_high.val();
        self.second_pick.d.next = (loads | (multiplies & wants_high), loads | (multiplies & !wants_high)).cat::<2>();
        self.second_rd.d.next = executed.rd;
        self.second_thread.d.next = self.thread.val();
        self.second_bank.d.next = self.bank.val();
        self.second_reads.d.next = (moves & loads) | (self.other_read.q.val() & !self.ends.val());
        let elsewhere = (self.from.val() == Target::Code) | (self.from.val() == Target::Command);
        let offset = executed.sum.get_bits::<2>(0);
        self.second_elsewhere.d.next = elsewhere;
        self.second_odd.d.next = if elsewhere {
            repeat::<4>(self.from.val() == Target::Command)
        } else {
            next_word_lanes(offset) ^ repeat::<4>(executed.sum.get_bit(2))
        };
        self.second_offset.d.next = offset;
        self.second_funct3.d.next = executed.funct3;
        self.second_whole.d.next = !loads | (executed.funct3.get_bit(1) & !offset.any());
        let elsewhere = repeat::<32>(self.second_elsewhere.q.val());
        let odd = byte_mask(self.second_odd.q.val());
        let word = (self.l1_data[0].val() & !elsewhere & !odd)
            | (self.l1_data[1].val() & !elsewhere & odd)
            | (self.code_data.val() & elsewhere & !odd)
            | (self.port_data.val() & elsewhere & odd);
        let second_value = select(
            self.second_pick.q.val(),
            [self.second_value.q.val(), self.product[0].val(), self.product[1].val(), word],
        );
        self.results.second.next = Producer {
            writes: self.second_writes.q.val(),
            ready: self.second_whole.q.val(),
            rd: self.second_rd.q.val(),
            value: second_value,
        };

        // M3.
        self.third_writes.d.next = self.second_writes.q.val() & !self.ends.val();
        self.third_rd.d.next = self.second_rd.q.val();
        self.writer.d.next = self.second_thread.q.val();
        self.landing.d.next = self.second_writes.q.val();
        self.third_bank.d.next = self.second_bank.q.val();
        let third_enable = self.second_moves.q.val() | self.second_reads.q.val();
        let kept = next_word_lanes(self.second_offset.q.val()) & repeat::<4>(self.keeps.q.val());
        for i in 0..4 {
            self.third_word[i].load(third_enable & !kept.get_bit(i), second_value.get_bits::<8>(8 * i));
        }
        // Whatever is not a narrow load passes the lanes as an aligned word.
        let whole = self.second_whole.q.val();
        self.third_offset.d.next = if whole { bits::<2>(0) } else { self.second_offset.q.val() };
        self.third_funct3.d.next = if whole { bits::<3>(2) } else { self.second_funct3.q.val() };
        self.other_read.d.next = self.other_granted.val() & !self.ends.val();
        self.other_there.d.next = self.other_read.q.val() & !self.ends.val();
        self.keeps.d.next =
            (self.other_there.q.val() | self.keeps.q.val()) & !self.second_loads.q.val() & !self.ends.val();
        self.lanes.word.next = (
            self.third_word[3].q.val(),
            self.third_word[2].q.val(),
            self.third_word[1].q.val(),
            self.third_word[0].q.val(),
        )
            .cat::<32>();
        self.lanes.offset.next = self.third_offset.q.val();
        self.lanes.funct3.next = self.third_funct3.q.val();
        self.results.third.next = Producer {
            writes: self.third_writes.q.val(),
            ready: true,
            rd: self.third_rd.q.val(),
            value: self.lanes.value.val(),
        };
        self.results.third_thread.next = self.writer.q.val();
        self.lands.next = self.landing.q.val();
        self.lands_bank.next = self.third_bank.q.val();
    }
}
