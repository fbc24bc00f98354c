//! The typed ports of a block over a table of values in place of a model: names, values and bytes of every kind of signal, and
//! the channels of every kind of bundle.

use spindle_verilog::ports::{from_bytes, to_bytes, Channel, HasPorts, PortMaker, WireId, Wires};
use spindle_verilog::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Colour {
    Red,
    Green,
    Blue,
}

/// 15 bits: `data` in bits 0 to 11, `last` in bit 12, `colour` in bits 13 and 14.
#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Word {
    data: Bits<12>,
    last: Bit,
    colour: Colour,
}

/// A stream with a mask of bytes.
#[bundle(mirror = BeatSink)]
struct Beat {
    data: Signal<Out, Bits<16>>,
    keep: Signal<Out, Bits<2>>,
    last: Signal<Out, Bit>,
    valid: Signal<Out, Bit>,
    ready: Signal<In, Bit>,
}

/// A request one way and its answer the other way: two channels of one bundle.
#[bundle(mirror = Server)]
struct Client {
    ask_address: Signal<Out, Bits<5>>,
    ask_valid: Signal<Out, Bit>,
    ask_ready: Signal<In, Bit>,
    answer_data: Signal<In, Bits<9>>,
    answer_valid: Signal<In, Bit>,
}

/// A port of every kind.
#[block]
struct Board {
    pub enable: Signal<In, Bit>,
    pub octet: Signal<In, Bits<8>>,
    pub longest: Signal<In, Bits<64>>,
    pub wide: Signal<In, Bits<65>>,
    pub word: Signal<In, Word>,
    pub lanes: [Signal<In, Bits<4>>; 3],
    pub counts: Vec<Signal<Out, Bits<12>>>,
    pub flag: Signal<Out, Bit>,
    pub shown: Signal<Out, Word>,
    pub read: [Source<Word>; 2],
    pub write: Sink<Word>,
    pub seen: Pulse<Word>,
    pub heard: PulseSink<Word>,
    pub beat: BeatSink,
    pub client: Client,
    _counts: usize,
}

impl Board {
    fn new() -> Self {
        Self { counts: (0..2).map(|_| Signal::default()).collect(), _counts: 2, ..Default::default() }
    }
}

#[hdl]
impl Board {
    fn update(&mut self) {
        let any = self.octet.val().any() | self.longest.val().any() | self.wide.val().any();
        self.flag.next = any & self.enable.val();
        self.shown.next = self.word.val();
        // A field that is named would make a structure of the port, whose width the text does not have.
        let heard = pack::<Word, 15>(self.heard.val()).xor();
        for i in 0..self._counts {
            self.counts[i].next = repeat::<12>(heard) ^ bit_cast::<12, 4>(self.lanes[i].val());
        }
        for i in 0..2 {
            self.read[i].offer(self.write.valid.val() & self.heard.valid.val(), self.write.val());
        }
        self.write.ready.next = self.read[0].ready.val() & self.read[1].ready.val() & self.lanes[2].val().any();
        self.seen.offer(self.beat.valid.val(), self.word.val());
        self.beat.ready.next = self.beat.last.val() & self.beat.keep.val().all() & self.beat.data.val().any();
        self.client.ask_valid.next = self.client.ask_ready.val() & self.client.answer_valid.val();
        self.client.ask_address.next = trunc::<5, 9>(self.client.answer_data.val());
    }
}

/// The ports of an emitted module, with a value each, and the words that wait at channels.
struct Table {
    ports: Vec<(String, u32)>,
    values: RefCell<Vec<Vec<u8>>>,
    words: RefCell<BTreeMap<usize, VecDeque<Vec<u8>>>>,
}

impl Table {
    /// The ports in the head of a module: `input logic [3:0] lanes_0, lanes_1`.
    fn of(text: &str) -> Rc<Self> {
        let head = text.split_once("(\n").expect("a module has ports").1.split_once("\n);").expect("the list ends").0;
        let mut ports = vec![];
        for line in head.lines() {
            let (kind, names) = line.trim().trim_end_matches(',').split_once("logic ").expect("a port is logic");
            assert!(["input ", "output "].contains(&kind), "{line}");
            let (width, names) = match names.strip_prefix('[').and_then(|range| range.split_once(":0] ")) {
                Some((highest, names)) => (highest.parse::<u32>().expect("a range has a bound") + 1, names),
                None => (1, names),
            };
            ports.extend(names.split(", ").map(|name| (name.to_string(), width)));
        }
        let values = ports.iter().map(|(_, width)| vec![0; width.div_ceil(8) as usize]).collect();
        Rc::new(Self { ports, values: RefCell::new(values), words: RefCell::default() })
    }

    /// Sets a port as the model would.
    fn drive(&self, name: &str, value: u64) {
        self.set_bytes(self.find(name), &value.to_le_bytes());
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        self.values.borrow()[self.find(name).index as usize].clone()
    }
}

impl Wires for Table {
    fn find(&self, name: &str) -> WireId {
        let index = self.ports.iter().position(|(known, _)| known == name);
        let index = index.unwrap_or_else(|| panic!("no port `{name}`"));
        WireId { index: index as u32, width: self.ports[index].1 }
    }

    fn set(&self, wire: WireId, value: u64) {
        assert!(wire.width <= 64, "a number for {wire:?}");
        self.set_bytes(wire, &value.to_le_bytes());
    }

    fn get(&self, wire: WireId) -> u64 {
        assert!(wire.width <= 64, "a number of {wire:?}");
        self.values.borrow()[wire.index as usize].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn set_bytes(&self, wire: WireId, bytes: &[u8]) {
        let value = &mut self.values.borrow_mut()[wire.index as usize];
        let given = |at: usize| bytes.get(at).copied().unwrap_or(0);
        (0..value.len()).for_each(|at| value[at] = given(at));
    }

    fn read(&self, wire: WireId, take: &mut dyn FnMut(&[u8])) {
        take(&self.values.borrow()[wire.index as usize]);
    }

    fn send(&self, channel: usize, word: Vec<u8>) {
        self.words.borrow_mut().entry(channel).or_default().push_back(word);
    }

    fn pending(&self, channel: usize) -> usize {
        self.words.borrow().get(&channel).map_or(0, VecDeque::len)
    }

    fn receive(&self, channel: usize) -> Option<Vec<u8>> {
        self.words.borrow_mut().get_mut(&channel)?.pop_front()
    }
}

fn board() -> (Rc<Table>, BoardPorts, Vec<Channel>) {
    let mut board = Board::new();
    let design = spindle_verilog::emit(&mut board, "board").unwrap_or_else(|error| panic!("{error}"));
    let table = Table::of(&design.modules.last().expect("a design has modules").text);
    let mut maker = PortMaker::new(table.clone());
    let ports = board.ports("", &mut maker);
    (table, ports, maker.into_channels())
}

/// `Word { data: 0xabc, last: true, colour: Blue }`: 2 << 13 | 1 << 12 | 0xabc.
const WORD: u64 = 0x5abc;

fn word() -> Word {
    Word { data: bits::<12>(0xabc), last: true, colour: Colour::Blue }
}

#[test]
fn every_handle_is_the_port_of_its_name() {
    let (table, ports, _) = board();
    let id = |name: &str| table.find(name);
    assert_eq!(ports.enable.id(), id("enable"));
    assert_eq!(ports.wide.clone().id(), id("wide"));
    assert_eq!(ports.lanes.iter().map(|lane| lane.id()).collect::<Vec<_>>(), ["lanes_0", "lanes_1", "lanes_2"].map(id));
    assert_eq!(ports.counts.iter().map(|count| count.id()).collect::<Vec<_>>(), ["counts_0", "counts_1"].map(id));
    // The payload of a bundle has the name of the bundle, which stands for it.
    assert_eq!(ports.read.len(), 2);
    let second = &ports.read[1];
    assert_eq!([second.id(), second.valid.id(), second.ready.id()], ["read_1", "read_1_valid", "read_1_ready"].map(id));
    assert_eq!([ports.beat.keep.id(), ports.client.ask_address.id()], ["beat_keep", "client_ask_address"].map(id));
    assert_eq!((ports.wide.id().width, ports.word.id().width, ports.flag.id().width), (65, 15, 1));
}

#[test]
fn inputs_take_numbers_bits_bytes_and_structures() {
    let (table, ports, _) = board();
    for level in [true, false] {
        ports.enable.set(level);
        assert_eq!(table.bytes("enable"), [u8::from(level)]);
    }
    ports.octet.set(0xa5u8);
    assert_eq!(table.bytes("octet"), [0xa5]);
    ports.octet.set(bits::<8>(0x5a));
    assert_eq!(table.bytes("octet"), [0x5a]);
    ports.longest.set(0x0102_0304_0506_0708u64);
    assert_eq!(table.bytes("longest"), [8, 7, 6, 5, 4, 3, 2, 1]);
    // What no number of 64 bits holds is set as bytes, a number too.
    ports.wide.set(u64::MAX);
    assert_eq!(table.bytes("wide"), [255, 255, 255, 255, 255, 255, 255, 255, 0]);
    ports.wide.set(Bits::<65>::mask() - 1);
    assert_eq!(table.bytes("wide"), [254, 255, 255, 255, 255, 255, 255, 255, 1]);
    ports.wide.set(&[1u8, 2, 3]);
    assert_eq!(table.bytes("wide"), [1, 2, 3, 0, 0, 0, 0, 0, 0]);
    ports.wide.set(&vec![4u8, 5]);
    assert_eq!(table.bytes("wide"), [4, 5, 0, 0, 0, 0, 0, 0, 0]);
    ports.wide.set_bytes(&[6]);
    assert_eq!(table.bytes("wide"), [6, 0, 0, 0, 0, 0, 0, 0, 0]);
    ports.word.set(word());
    assert_eq!(table.bytes("word"), [0xbc, 0x5a]);
    ports.clock.set(true);
    assert_eq!(table.bytes("clock"), [1]);
}

#[test]
fn ports_are_read_as_levels_numbers_bytes_and_values() {
    let (table, ports, _) = board();
    for level in [true, false] {
        table.drive("flag", u64::from(level));
        assert_eq!((ports.flag.is_high(), ports.flag.get(), ports.flag.number()), (level, level, u64::from(level)));
    }
    table.drive("counts_1", 0x8f1);
    assert_eq!((ports.counts[1].number(), ports.counts[1].get()), (0x8f1, bits::<12>(0x8f1)));
    assert_eq!(ports.counts[0].number(), 0);
    table.drive("shown", WORD);
    assert_eq!(ports.shown.get(), word());
    assert_eq!(ports.shown.bytes(), [0xbc, 0x5a]);
    assert!(ports.shown.has_bytes(&[0xbc, 0x5a]));
    assert!(!ports.shown.has_bytes(&[0xbc]) && !ports.shown.has_bytes(&[0xbd, 0x5a]));
}

#[test]
fn bytes_hold_the_lowest_bits_first() {
    for (value, bytes) in [(0u64, [0, 0]), (1, [1, 0]), (0x80, [0x80, 0]), (0x100, [0, 1]), (0xa53, [0x53, 0xa])] {
        assert_eq!(to_bytes(bits::<12>(value)), bytes);
        assert_eq!(from_bytes::<Bits<12>>(&bytes), bits::<12>(value));
    }
    assert_eq!((to_bytes(true), from_bytes::<bool>(&[1]), from_bytes::<bool>(&[0])), (vec![1], true, false));
}

#[test]
fn channels_have_the_signals_that_the_stream_law_concerns() {
    let (table, ports, channels) = board();
    let id = |name: &str| table.find(name);
    let shown: Vec<_> = channels
        .iter()
        .map(|c| (c.name.as_str(), c.valid, c.ready, c.payload.clone(), c.keep, c.last, c.from_block))
        .collect();
    let channel = |name: &'static str, ready: &str, payload: &[&str], from_block: bool| {
        let ready = (!ready.is_empty()).then(|| id(ready));
        (name, id(name), ready, payload.iter().map(|name| id(name)).collect::<Vec<_>>(), None, None, from_block)
    };
    let mut beat = channel("beat_valid", "beat_ready", &["beat_data", "beat_keep", "beat_last"], false);
    (beat.4, beat.5) = (Some(id("beat_keep")), Some(id("beat_last")));
    let wanted = [
        channel("read_0_valid", "read_0_ready", &["read_0"], true),
        channel("read_1_valid", "read_1_ready", &["read_1"], true),
        channel("write_valid", "write_ready", &["write"], false),
        channel("seen_valid", "", &["seen"], true),
        channel("heard_valid", "", &["heard"], false),
        beat,
        channel("client_ask_valid", "client_ask_ready", &["client_ask_address"], true),
        channel("client_answer_valid", "", &["client_answer_data"], false),
    ];
    assert_eq!(shown, wanted);
    // A bundle with a plain `valid` knows its place among them.
    let places = [ports.read[1].channel(), ports.write.channel(), ports.seen.channel(), ports.heard.channel()];
    assert_eq!((places, ports.beat.channel()), ([1, 2, 3, 4], 5));
}

#[test]
fn a_source_offers_moves_and_is_received() {
    let (table, ports, _) = board();
    let read = &ports.read[1];
    table.drive("read_1", WORD);
    for (valid, ready) in [(false, false), (false, true), (true, false), (true, true)] {
        table.drive("read_1_valid", u64::from(valid));
        read.ready.set(ready);
        assert_eq!(read.offered(), valid.then(word));
        assert_eq!(read.moves(), valid && ready);
        assert_eq!(read.taken(), (valid && ready).then(word));
    }
    assert_eq!(read.receive(), None);
    table.send(read.channel(), vec![0xbc, 0x5a]);
    table.send(read.channel(), vec![0, 0]);
    assert_eq!((read.receive(), read.receive(), read.receive()), (Some(word()), Some(Word::default()), None));
}

#[test]
fn a_sink_takes_words_at_once_or_from_its_queue() {
    let (table, ports, _) = board();
    assert_eq!(ports.write.pending(), 0);
    ports.write.send(word());
    ports.write.send(Word::default());
    assert_eq!(ports.write.pending(), 2);
    assert_eq!(table.receive(ports.write.channel()), Some(vec![0xbc, 0x5a]));
    assert_eq!(ports.write.pending(), 1);
    ports.write.offer(Some(word()));
    assert_eq!((table.bytes("write"), table.bytes("write_valid")), (vec![0xbc, 0x5a], vec![1]));
    // Without a word the payload stays, since no one looks at it.
    ports.write.offer(None::<Word>);
    assert_eq!((table.bytes("write"), table.bytes("write_valid")), (vec![0xbc, 0x5a], vec![0]));
}

#[test]
fn pulses_count_in_their_cycle() {
    let (table, ports, _) = board();
    table.drive("seen", WORD);
    assert_eq!(ports.seen.offered(), None);
    table.drive("seen_valid", 1);
    assert_eq!(ports.seen.offered(), Some(word()));
    assert_eq!(ports.seen.receive(), None);
    table.send(ports.seen.channel(), vec![0xbc, 0x5a]);
    assert_eq!((ports.seen.receive(), ports.seen.receive()), (Some(word()), None));
    ports.heard.offer(Some(word()));
    assert_eq!((table.bytes("heard"), table.bytes("heard_valid")), (vec![0xbc, 0x5a], vec![1]));
    ports.heard.offer(None::<Word>);
    assert_eq!(table.bytes("heard_valid"), [0]);
}

/// A block whose port is `octet`, of another width than that of [`Board`].
#[block(combinational)]
struct Narrow {
    pub octet: Signal<In, Bits<7>>,
    pub flag: Signal<Out, Bit>,
}

#[hdl]
impl Narrow {
    fn update(&mut self) {
        self.flag.next = self.octet.val().any();
    }
}

#[test]
#[should_panic(expected = "port `octet` has 8 bits, and its type 7")]
fn a_port_of_another_width_is_refused() {
    let (table, ..) = board();
    Narrow::default().ports("", &mut PortMaker::new(table));
}

#[test]
#[should_panic(expected = "a port is set to a number from 0 on")]
fn no_port_takes_a_negative_number() {
    let (_, ports, _) = board();
    ports.octet.set(-1);
}
