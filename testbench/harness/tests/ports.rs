//! Typed ports: every port of a block by its field, words sent and received, and the stream law at every bundle.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use rand::Rng;
use spindle_harness::{run_with_wave_on_failure, seeded_rng, Dut, Pace};
use spindle_verilog::prelude::*;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A structure of three fields.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Item {
    tag: Bits<3>,
    wide: Bits<100>,
    flag: Bit,
}

/// Beats with the bytes that count.
#[bundle(mirror = FourSink)]
#[derive(Clone, Debug)]
pub struct FourSource {
    pub data: Signal<Out, Bits<32>>,
    pub keep: Signal<Out, Bits<4>>,
    pub last: Signal<Out, Bit>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
}

/// Keeps one word, and hands it on; a fault can be chosen.
#[block]
struct Relay {
    pub fault: Signal<In, Bits<3>>,
    pub write: Sink<Item>,
    pub read: Source<Item>,
    pub copies: [Source<Bits<7>>; 2],
    pub copied: Pulse<Bits<7>>,
    pub beat: FourSource,
    pub taken: Signal<Out, Bits<16>>,
    item: DFF<Item>,
    full: Reg<Bit>,
    age: Reg<Bits<2>>,
    count: Reg<Bits<16>>,
}

/// Faults of [`Relay`].
const WITHDRAWN: u64 = 1;
const CHANGED: u64 = 2;
const HOLE: u64 = 3;
const SHORT: u64 = 4;
const EMPTY: u64 = 5;
const COPY_WITHDRAWN: u64 = 6;

#[hdl]
impl Relay {
    fn update(&mut self) {
        let moves = self.full.q.val() & self.read.ready.val();
        self.write.ready.next = !self.full.q.val() | self.read.ready.val();
        if self.write.ready.val() {
            self.full.d.next = self.write.valid.val();
        }
        if self.write.ready.val() & self.write.valid.val() {
            self.item.d.next = self.write.val();
            self.count.d.next = self.count.q.val() + 1;
        }
        let waits = self.full.q.val() & !moves;
        self.age.d.next = bits(0);
        if waits {
            self.age.d.next = self.age.q.val() + 1;
        }
        let third = self.age.q.val() == bits(2);
        let fault = self.fault.val();
        self.read.next = self.item.q.val();
        if (fault == bits(CHANGED)) & third {
            self.read.next.flag = !self.item.q.val().flag;
        }
        self.read.valid.next = self.full.q.val() & !((fault == bits(WITHDRAWN)) & third);
        for i in 0..2 {
            self.copies[i].next = (self.item.q.val().tag, bits::<4>(i)).cat::<7>();
        }
        self.copies[0].valid.next = self.full.q.val();
        self.copies[1].valid.next = self.full.q.val() & !((fault == bits(COPY_WITHDRAWN)) & third);
        self.copied.next = (self.item.q.val().tag, bits::<4>(9)).cat::<7>();
        self.copied.valid.next = moves;
        self.beat.data.next = self.item.q.val().wide.get_bits::<32>(0);
        self.beat.keep.next = bits(0b0011);
        self.beat.last.next = true;
        self.beat.valid.next = self.full.q.val();
        if fault == bits(HOLE) {
            self.beat.keep.next = bits(0b0101);
        }
        if fault == bits(SHORT) {
            self.beat.last.next = false;
        }
        if fault == bits(EMPTY) {
            self.beat.keep.next = bits(0);
        }
        self.taken.next = self.count.q.val();
    }
}

fn item(rng: &mut impl Rng) -> Item {
    Item {
        tag: bits(rng.random_range(0..8u64)),
        wide: bits::<100>(rng.random::<u64>()) << 36u64 | bits::<100>(rng.random::<u64>()),
        flag: rng.random(),
    }
}

/// Words that are sent arrive in order, whatever the paces; every kind of port is typed.
#[test]
fn words_go_through() {
    run_with_wave_on_failure("ports_words_go_through", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Relay::default(), "relay");
        dut.set_pace(dut.write.channel(), Pace::percent(1, 60));
        dut.set_pace(dut.read.channel(), Pace::runs(2, 5));
        dut.set_pace(dut.copied.channel(), Pace::always());
        dut.copies.iter().for_each(|copy| dut.ignore(copy.channel()));
        dut.ignore(dut.beat.channel());
        let items: Vec<Item> = (0..300).map(|_| item(&mut rng)).collect();
        items.iter().for_each(|item| dut.write.send(*item));
        let mut received = vec![];
        for _ in 0..2000 {
            dut.step();
            if let Some(item) = dut.read.receive() {
                assert_eq!(dut.copied.receive(), Some((item.tag, bits::<4>(9u64)).cat::<7>()));
                received.push(item);
            }
        }
        assert_eq!(received, items);
        assert_eq!(dut.write.pending(), 0);
        assert_eq!(dut.taken.get(), 300);
        assert_eq!(dut.taken.bytes(), [44, 1]);
        assert_eq!(dut.traffic(dut.read.channel()).0, 300);
        assert!(dut.traffic(dut.read.channel()).1 > 50, "the sink held some up");
    });
}

/// Cycle by cycle: what is offered, and what moves.
#[test]
fn cycles_are_driven_by_hand() {
    run_with_wave_on_failure("ports_cycles_are_driven_by_hand", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Relay::default(), "relay");
        let word = item(&mut rng);
        dut.write.offer(Some(word));
        dut.eval();
        assert!(dut.write.moves() && dut.read.offered().is_none());
        dut.tick();
        dut.write.offer(None::<Item>);
        dut.eval();
        assert_eq!((dut.read.offered(), dut.read.taken()), (Some(word), None));
        assert_eq!(dut.read.get(), word);
        assert!(dut.read.has_bytes(&spindle_verilog::ports::to_bytes(word)));
        assert_eq!(dut.copies[1].offered(), Some((word.tag, bits::<4>(1u64)).cat::<7>()));
        dut.read.ready.set(true);
        dut.copies.iter().for_each(|copy| copy.ready.set(true));
        dut.beat.ready.set(true);
        dut.eval();
        assert_eq!((dut.read.taken(), dut.copied.offered().is_some()), (Some(word), true));
        assert!(dut.beat.moves() && dut.beat.keep.number() == 3);
        dut.tick();
        dut.eval();
        assert_eq!(dut.read.offered(), None);
    });
}

/// What the monitor says of a relay with a fault, while the sink waits in every third cycle only.
fn breach(fault: u64) -> Option<String> {
    let name = format!("ports_breach_{fault}");
    let said = std::cell::RefCell::new(None);
    run_with_wave_on_failure(&name, |wave| {
        let mut rng = seeded_rng(&name);
        let dut = Dut::new(wave, Relay::default(), "relay");
        dut.fault.set(fault);
        let run = AssertUnwindSafe(|| {
            for cycle in 0..200 {
                if dut.write.pending() == 0 {
                    dut.write.send(item(&mut rng));
                }
                let ready = cycle % 5 == 4;
                dut.read.ready.set(ready);
                dut.beat.ready.set(ready);
                dut.copies.iter().for_each(|copy| copy.ready.set(ready));
                dut.step();
            }
        });
        let text = |panic: Box<dyn std::any::Any + Send>| *panic.downcast::<String>().expect("a sentence");
        *said.borrow_mut() = catch_unwind(run).err().map(text);
    });
    said.take()
}

/// Every breach is found, at its channel; a relay without a fault passes.
#[test]
fn each_breach_is_found() {
    assert_eq!(breach(0), None);
    for (fault, channel, words) in [
        (WITHDRAWN, "`read_valid`", "valid fell before the word had moved"),
        (CHANGED, "`read_valid`", "the payload changed while the word waited"),
        (HOLE, "`beat_valid`", "keep has a hole"),
        (SHORT, "`beat_valid`", "a beat that is not the last is not full"),
        (EMPTY, "`beat_valid`", "a beat without bytes"),
        (COPY_WITHDRAWN, "`copies_1_valid`", "valid fell before the word had moved"),
    ] {
        let sentence = breach(fault).unwrap_or_else(|| panic!("{words}: not found"));
        assert!(sentence.contains(channel) && sentence.contains(words), "{sentence}");
        assert!(sentence.contains("the block breaks the stream law"), "{sentence}");
    }
}

/// A bench that withdraws a word is found as well.
#[test]
#[should_panic(expected = "`write_valid`, cycle 5: the bench breaks the stream law: valid fell")]
fn a_breach_of_the_bench_is_found() {
    let library = spindle_harness::Model::build(&spindle_harness::source_of(&mut Relay::default(), "relay").unwrap());
    let dut = Dut::over(library.unwrap().instance(), &Relay::default());
    dut.reset();
    dut.write.offer(Some(Item::default()));
    dut.tick();
    dut.tick();
    dut.write.offer(None::<Item>);
    dut.tick();
}
