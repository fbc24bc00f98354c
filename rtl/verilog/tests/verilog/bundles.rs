//! `#[block]`, bundles and stages: implicit clocks, joins in every direction, parts of bundles, structures between stages.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Word {
    data: Bits<8>,
    last: Bit,
}

/// One word of buffer.
#[block]
struct Slot {
    write: Sink<Word>,
    read: Source<Word>,
    word: DFF<Word>,
    full: Reg<Bit>,
}

#[hdl]
impl Slot {
    fn update(&mut self) {
        let advance = self.read.ready.val() | !self.full.q.val();
        if advance {
            self.word.d.next = self.write.val();
            self.full.d.next = self.write.valid.val();
        }
        self.write.ready.next = advance;
        self.read.next = self.word.q.val();
        self.read.valid.next = self.full.q.val();
    }
}

/// Several signals that move together, without one payload.
#[bundle(mirror = PairSink)]
struct PairSource {
    low: Signal<Out, Bits<4>>,
    high: Signal<Out, Bits<3>>,
    taken: Signal<In, Bit>,
}

/// Splits words, some of them into a pulse.
#[block]
struct Splitter {
    write: Sink<Word>,
    pair: PairSource,
    reported: Pulse<Bits<8>>,
    count: Reg<Bits<5>>,
}

/// What `accept` hands to `answer`.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Accepted {
    moves: Bit,
    mixed: Bits<8>,
}

#[hdl]
impl Splitter {
    fn update(&mut self) {
        let accepted = self.accept(bits::<8>(3));
        self.answer(accepted);
        for i in 0..2 {
            self.lane(i, accepted.moves);
        }
    }

    /// Takes a word every time the pair is taken.
    fn accept(&mut self, shift: Bits<8>) -> Accepted {
        let word = self.write.val();
        let moves = self.write.valid.val() & self.pair.taken.val();
        self.write.ready.next = self.pair.taken.val();
        self.pair.low.next = word.data.get_bits::<4>(0);
        self.pair.high.next = word.data.get_bits::<3>(4);
        Accepted { moves, mixed: word.data + shift }
    }

    fn answer(&mut self, accepted: Accepted) {
        self.reported.next = accepted.mixed;
        self.reported.valid.next = accepted.moves & self.write.val().last;
    }

    fn lane(&mut self, i: usize, moves: Bit) {
        if moves & (self.count.q.val().get_bit(i) == self.write.val().last) {
            self.count.d.next = self.count.q.val() + 1;
        }
    }
}

/// A chain: the block's own sink to a slot, slot to slot, slot to splitter, splitter to the block's own ports.
#[block]
struct Chain {
    write: Sink<Word>,
    pair: PairSource,
    reported: Pulse<Bits<8>>,
    spare_in: [Sink<Word>; 2],
    spare_out: [Source<Word>; 2],
    first: Slot,
    second: Slot,
    splitter: Splitter,
    spares: [Slot; 2],
    none: Vec<Slot>,
}

#[hdl]
impl Chain {
    fn update(&mut self) {
        self.write.join(&mut self.first.write);
        self.first.read.join(&mut self.second.write);
        self.second.read.join(&mut self.splitter.write);
        self.splitter.pair.join(&mut self.pair);
        self.splitter.reported.join(&mut self.reported);
        for i in 0..2 {
            self.spare_in[i].join(&mut self.spares[i].write);
            self.spares[i].read.join(&mut self.spare_out[i]);
        }
    }
}

#[block]
struct Chained {
    x: Signal<In, Word>,
    x_valid: Signal<In, Bit>,
    taken: Signal<In, Bits<3>>,
    ready: Signal<Out, Bits<3>>,
    pair: Signal<Out, Bits<7>>,
    reported: Signal<Out, Bits<8>>,
    told_valid: Signal<Out, Bit>,
    spare: Signal<Out, Word>,
    spare_valid: Signal<Out, Bits<2>>,
    chain: Chain,
}

#[hdl]
impl Chained {
    fn update(&mut self) {
        self.chain.write.next = self.x.val();
        self.chain.write.valid.next = self.x_valid.val();
        self.chain.pair.taken.next = self.taken.val().get_bit(2);
        for i in 0..2 {
            self.chain.spare_in[i].next = self.x.val();
            self.chain.spare_in[i].valid.next = self.x_valid.val();
            self.chain.spare_out[i].ready.next = self.taken.val().get_bit(i);
        }
        self.ready.next =
            (self.chain.write.ready.val(), self.chain.spare_in[1].ready.val(), self.chain.spare_in[0].ready.val())
                .cat::<3>();
        self.pair.next = (self.chain.pair.high.val(), self.chain.pair.low.val()).cat::<7>();
        self.reported.next = self.chain.reported.val();
        self.told_valid.next = self.chain.reported.valid.val();
        self.spare.next = self.chain.spare_out[1].val();
        self.spare_valid.next = (self.chain.spare_out[1].valid.val(), self.chain.spare_out[0].valid.val()).cat::<2>();
    }
}

differential!(joined_bundles, Chained::default(), reset,
    in [x x_valid taken], out [ready pair reported told_valid spare spare_valid]);

/// A bundle of which another one is a part.
#[bundle(mirror = WholeSink)]
struct WholeSource {
    word: Signal<Out, Bits<6>>,
    mark: Signal<Out, Bit>,
    user: Signal<Out, Bits<2>>,
    taken: Signal<In, Bit>,
}

/// [`WholeSource`] without `user`.
#[bundle(mirror = PartSink, part_of(WholeSource, WholeSink))]
struct PartSource {
    word: Signal<Out, Bits<6>>,
    mark: Signal<Out, Bit>,
    taken: Signal<In, Bit>,
}

/// Delays a word by a cycle, without a reset.
#[block(no_reset)]
struct Delay {
    input: PartSink,
    output: PartSource,
    word: DFF<Bits<6>>,
    marks: [DFF<Bit>; 2],
}

#[hdl]
impl Delay {
    fn update(&mut self) {
        self.word.d.next = self.input.word.val();
        for i in 0..2 {
            self.marks[i].d.next = self.input.mark.val() ^ (i == 1);
        }
        self.output.word.next = self.word.q.val();
        self.output.mark.next = self.marks[0].q.val() | !self.marks[1].q.val();
        self.input.taken.next = self.output.taken.val();
    }
}

/// Whole bundles outside, parts of them inside, and an own method for each kind of number.
#[block]
struct Parts {
    input: WholeSink,
    output: WholeSource,
    delay: Delay,
    seen: Reg<Bits<9>>,
    count: Signal<Out, Bits<9>>,
}

/// Constants of several integer types.
const STEP: u8 = 3;
const LIMIT: usize = 400;

#[hdl]
impl Parts {
    fn update(&mut self) {
        self.input.join(&mut self.delay.input);
        self.delay.output.join(&mut self.output);
        self.output.user.next = !self.input.user.val();
        self.count.next = self.seen.q.val();
        if self.seen.q.val() >= bits(LIMIT) {
            self.seen.d.next = bits(0);
        } else if self.input.mark.val() {
            self.seen.d.next = self.seen.q.val() + bits::<9>(STEP);
        }
    }
}

#[block]
struct PartsInside {
    word: Signal<In, Bits<6>>,
    flags: Signal<In, Bits<4>>,
    seen: Signal<Out, Bits<6>>,
    answers: Signal<Out, Bits<4>>,
    count: Signal<Out, Bits<9>>,
    parts: Parts,
}

#[hdl]
impl PartsInside {
    fn update(&mut self) {
        let flags = self.flags.val();
        self.parts.input.word.next = self.word.val();
        self.parts.input.mark.next = flags.get_bit(0);
        self.parts.input.user.next = flags.get_bits::<2>(1);
        self.parts.output.taken.next = flags.get_bit(3);
        self.seen.next = self.parts.output.word.val();
        self.answers.next =
            (self.parts.input.taken.val(), self.parts.output.user.val(), self.parts.output.mark.val()).cat::<4>();
        self.count.next = self.parts.count.val();
    }
}

differential!(parts_of_bundles, PartsInside::default(), reset, in [word flags], out [seen answers count]);
