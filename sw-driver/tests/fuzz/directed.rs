//! What fuzzing has found, one test each: cards and servers that report what cannot be are errors, not panics or endless
//! waits.

use crate::residents::Table;
use spindle::resident::{Effect, ResidentRule};
use spindle::rule_table::Action;
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::message::*;
use spindle::vfio_user::Client;
use spindle::{Bar, ContextId, ContextOptions, Device, Error, HostMemory, Image, Result};
use spindle_contract::events::{self, Head};
use spindle_contract::memory_map::{base, CODE};
use spindle_contract::params::{Config, L1_SCRATCH_BASE, L1_SCRATCH_BYTES};
use spindle_contract::registers::{self, doorbell, global, hpu, packet, trace, PAGE};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

/// The value of a register by the number of its reads.
type ByReads = fn(u32) -> u32;

/// A card whose registers have fixed values, but for one that a function of the number of its reads gives.
#[derive(Default)]
struct Registers {
    registers: HashMap<u32, u32>,
    changing: Option<(u32, ByReads)>,
    reads: u32,
    cycle: u32,
    memory: HashMap<u64, u8>,
    next: u64,
}

#[derive(Clone)]
struct Card(Rc<RefCell<Registers>>);

impl Card {
    fn new(lies: &[(u32, u32)]) -> Card {
        let mut table = Registers { next: 0x1_0000, ..Registers::default() };
        table.registers.extend(registers::identity(&Config::SIM));
        table.registers.extend(lies.iter().copied());
        Card(Rc::new(RefCell::new(table)))
    }

    fn open(&self) -> Device<Card, Card> {
        Device::open(self.clone(), self.clone()).expect("the card can be opened")
    }

    fn poke(&self, address: u32, value: u32) {
        self.0.borrow_mut().registers.insert(address, value);
    }

    fn change(&self, address: u32, by: ByReads) {
        let mut table = self.0.borrow_mut();
        (table.changing, table.reads) = (Some((address, by)), 0);
    }
}

impl Bar for Card {
    fn read32(&mut self, address: u32) -> Result<u32> {
        let mut table = self.0.borrow_mut();
        table.cycle += 10;
        if let Some((changing, by)) = table.changing.filter(|changing| changing.0 == address) {
            assert_eq!(changing, address);
            table.reads += 1;
            assert!(table.reads < 10_000_000, "the driver reads {address:#x} for ever");
            return Ok(by(table.reads));
        }
        if address == global::BASE + global::CYCLE_LO {
            return Ok(table.cycle);
        }
        Ok(table.registers.get(&address).copied().unwrap_or(0))
    }

    /// Every command is done at once.
    fn write32(&mut self, _: u32, _: u32) -> Result<()> {
        Ok(())
    }
}

impl HostMemory for Card {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let mut table = self.0.borrow_mut();
        let start = table.next.next_multiple_of(align as u64);
        table.next = start + bytes as u64;
        Ok(start)
    }

    fn free(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let table = self.0.borrow();
        for (at, byte) in (address..).zip(bytes) {
            *byte = table.memory.get(&at).copied().unwrap_or(0);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.0.borrow_mut().memory.extend((address..).zip(bytes.iter().copied()));
        Ok(())
    }
}

/// The sentence of a card that reports what cannot be.
#[track_caller]
fn implausible<T>(result: Result<T>) -> String {
    match result {
        Err(error @ Error::Implausible(_)) => error.to_string(),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("the card is believed"),
    }
}

#[test]
fn sizes_that_no_card_has_are_refused_when_it_is_opened() {
    let hpus = |clusters: u32, hpus: u32, contexts: u32| {
        global::Hpus::ZERO.with_clusters(clusters).with_hpus(hpus).with_contexts(contexts).with_match_rules(64).0
    };
    for (register, value, words) in [
        (global::HPUS, hpus(0, 4, 16), "0 HPUs"),
        (global::HPUS, hpus(255, 255, 16), "65025 HPUs"),
        (global::HPUS, hpus(4, 4, 0), "0 execution contexts"),
        (global::HPUS, hpus(4, 4, 33), "33 execution contexts"),
        (global::PROCESSES, 0, "0 doorbell pages"),
        (global::PROCESSES, u32::MAX, "4294967295 doorbell pages"),
        (global::MEMORIES, 0, "0 bytes of context memory"),
    ] {
        let card = Card::new(&[(global::BASE + register, value)]);
        let sentence = implausible(Device::attach(card.clone(), card));
        assert!(sentence.contains(words) && sentence.contains("reset it"), "{sentence}");
    }
}

#[test]
fn waits_end_on_a_card_whose_clock_stands_still() {
    let card = Card::new(&[]);
    let mut device = card.open();
    let mut ring = device.open_ring(0, 4).unwrap();
    card.change(global::BASE + global::CYCLE_LO, |_| 77);
    assert!(matches!(device.wait_event(&mut ring, u64::MAX), Err(Error::Timeout { .. })));
    // One that goes back, as that of a card that another program has reset.
    card.change(global::BASE + global::CYCLE_LO, |reads| if reads < 3 { 1 << 20 } else { reads });
    card.poke(packet::BASE + packet::PEER_QUERY, u32::MAX);
    card.poke(packet::BASE + packet::MATCH_COMMIT, 1);
    assert!(matches!(device.peer(0), Err(Error::Timeout { .. })));
    assert!(matches!(device.clear_rules(), Err(Error::Timeout { .. })));
}

#[test]
fn counters_and_queues_that_never_settle_are_errors() {
    let card = Card::new(&[]);
    let mut device = card.open();
    card.change(hpu::BASE + hpu::BUSY_HI, |reads| reads);
    assert!(implausible(device.stats()).contains("high half"));
    card.poke(hpu::BASE + hpu::PRINT_COUNT, 65);
    assert!(implausible(device.prints()).contains("65 pieces of text in a queue of 64"));
    card.poke(hpu::BASE + hpu::PRINT_COUNT, 64);
    assert_eq!(device.prints().unwrap().len(), 4096, "what never ends is taken in parts");
    card.change(trace::BASE + trace::WRITTEN, |reads| if reads == 1 { 5000 } else { 10 });
    assert!(implausible(device.trace_since(4900)).contains("10 records"));
}

#[test]
fn a_ring_cannot_have_done_more_than_was_written() {
    let card = Card::new(&[]);
    let mut device = card.open();
    let mut ring = device.open_commands(2, 4).unwrap();
    let done = doorbell::BASE + 2 * PAGE + doorbell::RING_DONE;
    card.poke(done, doorbell::RingDone::ZERO.with_done(1).0);
    assert!(implausible(device.posts_left(&mut ring)).contains("1 commands of a ring in which 0 waited"));
    // The ring is as it was: a card that answers as it should is believed again.
    card.poke(done, 0);
    assert_eq!(device.posts_left(&mut ring).unwrap(), 0);
}

#[test]
fn a_frame_outside_of_the_posted_buffers_is_refused() {
    let card = Card::new(&[]);
    let mut device = card.open();
    // The one post is carried out.
    card.poke(doorbell::BASE + doorbell::RING_DONE, 1);
    let mut frames = device.open_frames(0, 1, 2 * 9216).unwrap();
    // The pool, the ring of events, the ring of commands, the buffer; all aligned to their sizes.
    let ring = 0x1_0000u64 + 64 * 8192;
    let buffer = (ring + 1024 * 32).next_multiple_of(256 * 64) + 256 * 64;
    let write = |number: u32, address: u64, length: u32| {
        let head = Head::ZERO.with_kind(events::FRAME.into()).0;
        let words = [head, 0, length, 0, 0, address as u32, (address >> 32) as u32, number];
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        card.clone().write(ring + u64::from(number - 1) * 32, &bytes).unwrap();
    };
    write(1, buffer, 100);
    write(2, buffer + 2 * 9216 - 99, 100);
    write(3, buffer, u32::MAX);
    write(4, u64::MAX, 60);
    assert_eq!(device.receive_frame(&mut frames).unwrap().unwrap().bytes.len(), 100);
    for _ in 2..=4 {
        assert!(implausible(device.receive_frame(&mut frames)).contains("no buffer of its window"));
    }
    assert_eq!(device.receive_frame(&mut frames).unwrap(), None);
}

#[test]
fn numbers_of_a_program_beyond_all_sizes_are_arguments() {
    let card = Card::new(&[]);
    let mut device = card.open();
    let image = Image { code: vec![0x13; 4], entries: [Some(base(CODE)), None, None, None], ..Image::default() };
    let options = ContextOptions { state_bytes: 64, ..ContextOptions::default() };
    let context = device.install(&image, &options).unwrap();
    // Offset and length that add up to less than the size, modulo 2^64.
    let mut bytes = [0; 8];
    assert!(matches!(device.read_state(context, usize::MAX - 3, &mut bytes), Err(Error::Argument(_))));
    assert!(matches!(device.write_state(context, usize::MAX - 3, &bytes), Err(Error::Argument(_))));
    device.read_state(context, 56, &mut bytes).unwrap();
    let stranger = ContextId(16);
    let rule = "udp".parse().unwrap();
    for action in [Action::Context(stranger), Action::ContextPerMessage(stranger)] {
        let sentence = device.add_rule(&rule, action).unwrap_err().to_string();
        assert!(sentence.contains("there is no context 16"), "{sentence}");
    }
    let resident = ResidentRule { rule: "udp".into(), effect: Effect::Packets(ContextId(usize::MAX)) };
    assert!(device.add_resident_rule(resident).is_err());
    assert!(matches!(device.live_messages(ContextId(usize::MAX)), Err(Error::Argument(_))));
}

#[test]
fn a_receive_map_ends_with_the_last_offset() {
    let received = spindle::receive_map::Received { words: [0; 16], granule: 1024 };
    assert_eq!(received.missing(u32::MAX - 10, 100, 1408), vec![u32::MAX - 10..u32::MAX; 1]);
    assert_eq!(received.missing(0, 10, u32::MAX), vec![0..10; 1]);
}

/// A card of a server that gives these answers and closes.
fn card_of(answers: Vec<Vec<u8>>) -> Result<UserCard> {
    let (ours, mut server) = UnixStream::pair().unwrap();
    for (number, body) in answers.into_iter().enumerate() {
        let size = (Header::BYTES + body.len()) as u32;
        let header = Header { id: number as u16 + 1, command: 0, size, flags: flags::REPLY, error: 0 };
        server.write_all(&[header.bytes(), body].concat()).unwrap();
    }
    server.shutdown(Shutdown::Write).unwrap();
    // Its requests have somewhere to go until the card is dropped.
    std::mem::forget(server);
    UserCard::over(Client::over(ours, "unix:test".into(), Duration::from_secs(5))?)
}

/// The answers with which a card is opened, of a server with this window and so many vectors.
fn opening(window: [u64; 2], vectors: u32) -> Vec<Vec<u8>> {
    let interrupts = |index: u32, count: u32| IrqInfo { argsz: 16, flags: 1, index, count }.bytes();
    let access = RegionAccess { offset: 0, region: 7, count: 4 }.bytes();
    vec![
        version_body(Capabilities { window: Some(window), ..Capabilities::own() }),
        DeviceInfo { argsz: 16, flags: 3, regions: 9, irqs: 5 }.bytes(),
        RegionInfo { argsz: 32, size: 1 << 20, ..RegionInfo::default() }.bytes(),
        [access.clone(), vec![0; 4]].concat(),
        interrupts(2, vectors),
        access,
        interrupts(3, 0),
    ]
}

#[test]
fn vectors_and_windows_that_no_server_has_are_errors() {
    let error = card_of(opening([4 << 30, 8 << 30], u32::MAX)).unwrap_err().to_string();
    assert!(error.contains("4294967295 interrupt vectors"), "{error}");
    for window in [[u64::MAX - 1, u64::MAX], [8 << 30, 4 << 30]] {
        let mut card = card_of(opening(window, 16)).unwrap();
        assert!(matches!(card.alloc(100, 64), Err(Error::Full { .. })), "{window:x?}");
    }
}

/// The list of residents says where a context lies; sums of places and sizes did not fit a number.
#[test]
fn a_resident_that_the_card_cannot_have_is_none() {
    let image = Image { code: vec![0x13; 64], entries: [Some(base(CODE)), None, None, None], ..Image::default() };
    let most = usize::MAX;
    for pieces in [
        format!("0\t{most}\t0\t64\t0\t0"),
        format!("{most}\t1\t0\t64\t0\t0"),
        format!("0\t64\t{most}\t{most}\t0\t0"),
        format!("0\t64\t0\t64\t{most}\t{most}"),
        format!("0\t64\t0\t64\t{}\t64", L1_SCRATCH_BASE + L1_SCRATCH_BYTES),
        format!("0\t64\t{}\t64\t0\t0", Config::SIM.l2_bytes),
    ] {
        let table = Table::new(&Config::SIM, &format!("context\t0\t0\t{pieces}\tx\n"), 1);
        let mut device = Device::attach(&table, &table).unwrap();
        assert!(device.residents().is_empty() && device.strangers() == [ContextId(0)], "{pieces}");
        assert!(device.read_state(ContextId(0), 0, &mut [0; 4]).is_err());
        device.install(&image, &ContextOptions::default()).unwrap();
    }
}
