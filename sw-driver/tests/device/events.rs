//! Event rings, their interrupts, and the shadow line: when places are given back, and which pointers the card gets.

use crate::card::{of_page, page, refused, Handle, Step};
use spindle::moderation::vector;
use spindle::{Device, EventKind, EventRing, InterruptOptions};
use spindle_contract::events::{self, Head, BYTES, MAX_RECORDS};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, global, Word};

const PROCESS: u32 = 5;
const HEAD: u32 = page(PROCESS) + doorbell::EVENT_HEAD;
const ARM: u32 = 1 << 31;

/// An open ring of so many records, and its address.
fn ring(records: usize) -> (Handle, Device<Handle, Handle>, EventRing, u64) {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let ring = device.open_ring(PROCESS as usize, records).unwrap();
    let (base, _, _) = *handle.0.borrow().allocations.last().unwrap();
    handle.steps();
    (handle, device, ring, base)
}

/// The record of this number, a user's event with the number.
fn record(number: u32) -> Vec<u8> {
    let words = [Head::ZERO.with_kind(events::USER.into()).0, 0, 8, 0, 0, number, 0, number];
    words.map(u32::to_le_bytes).concat()
}

/// The card writes it.
fn put(handle: &Handle, base: u64, records: u32, number: u32) {
    let at = base + u64::from(number.wrapping_sub(1) % records) * BYTES as u64;
    handle.store(at, &record(number));
}

#[test]
fn a_ring_is_zeroed_and_opened_with_its_head_at_zero() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for records in [0, 1, 3, 48, 2 * MAX_RECORDS] {
        let sentence = refused(device.open_ring(1, records));
        assert_eq!(
            sentence,
            format!("an event ring of {records} records cannot be had; choose a power of two from 2 to 32768")
        );
        assert_eq!(handle.steps(), vec![]);
    }
    handle.0.borrow_mut().next = 0x5_0000_1000;
    handle.store(0x5_0000_1000, &[0xFF; 200]);
    let ring = device.open_ring(PROCESS as usize, 4).unwrap();
    assert_eq!(ring.process(), 5);
    assert_eq!(handle.bytes(0x5_0000_1000, 200), [vec![0; 128], vec![0xFF; 72]].concat());
    let opened = |low: u32, high: u32, bytes: u32| {
        let registers = [
            (doorbell::BUFFER_LO, low),
            (doorbell::BUFFER_HI, high),
            (doorbell::SIZE, bytes),
            (doorbell::EVENT_HEAD, 0),
            (doorbell::COMMAND, doorbell_command::OPEN_RING),
        ];
        of_page(page(PROCESS), registers).into_iter().map(|(register, value)| Step::Write(register, value))
    };
    let expected: Vec<Step> = [Step::Memory(0x5_0000_1000, 128)].into_iter().chain(opened(0x1000, 5, 128)).collect();
    assert_eq!(handle.steps(), expected, "the memory first");
    assert_eq!(handle.0.borrow().freed, Vec::<u64>::new());
    device.close_ring(ring).unwrap();
    assert_eq!(handle.steps(), opened(0, 0, 0).collect::<Vec<_>>());
    assert_eq!(handle.0.borrow().freed, vec![0x5_0000_1000]);
    for records in [2, MAX_RECORDS] {
        device.open_ring(1, records).unwrap();
        let (_, bytes, align) = *handle.0.borrow().allocations.last().unwrap();
        assert_eq!((bytes, align), (records * BYTES, records * BYTES));
    }
}

#[test]
fn a_ring_that_the_card_does_not_close_keeps_its_memory() {
    let (handle, mut device, ring, _) = ring(4);
    handle.break_register(Some(page(PROCESS) + doorbell::COMMAND));
    device.close_ring(ring).unwrap_err();
    assert_eq!(handle.0.borrow().freed, Vec::<u64>::new());
}

#[test]
fn places_are_given_back_by_quarters_and_when_the_ring_is_empty() {
    // The smallest rings have no quarter: each record is given back.
    for (records, quarter) in [(2, 1), (4, 1), (8, 2), (64, 16)] {
        let (handle, mut device, mut ring, base) = ring(records as usize);
        let mut credited = 0;
        for number in 1..=3 * records {
            put(&handle, base, records, number);
            let event = device.poll_event(&mut ring).unwrap().expect("it is there");
            assert_eq!((event.number, event.kind), (number, EventKind::User { user: number.into(), length: 8 }));
            let due = number % quarter == 0;
            credited += u32::from(due);
            let expected = if due { vec![(HEAD, number)] } else { vec![] };
            assert_eq!(handle.writes(), expected, "{number} of {records}");
        }
        assert_eq!(credited, 3 * records / quarter);
        put(&handle, base, records, 3 * records + 1);
        device.poll_event(&mut ring).unwrap().expect("it is there");
        handle.steps();
        for _ in 0..2 {
            assert_eq!(device.poll_event(&mut ring).unwrap(), None);
        }
        let expected = if quarter > 1 { vec![(HEAD, 3 * records + 1)] } else { vec![] };
        assert_eq!(handle.writes(), expected, "once, when it is found empty");
    }
}

#[test]
fn a_record_of_another_round_is_none() {
    let (handle, mut device, mut ring, base) = ring(4);
    for number in [0, 2, 5, u32::MAX] {
        put(&handle, base, 4, 1);
        handle.store(base + 28, &number.to_le_bytes());
        assert_eq!(device.poll_event(&mut ring).unwrap(), None, "{number}");
    }
    put(&handle, base, 4, 1);
    assert_eq!(device.poll_event(&mut ring).unwrap().unwrap().number, 1);
}

#[test]
fn a_record_that_is_written_while_it_is_looked_at_is_whole_or_not_there() {
    let (handle, mut device, mut ring, base) = ring(2);
    for number in 1..=4 {
        handle.0.borrow_mut().late = Some((base + 32 * u64::from((number - 1) % 2), record(number)));
        assert_eq!(device.poll_event(&mut ring).unwrap(), None, "{number} came after the look");
        let event = device.poll_event(&mut ring).unwrap().unwrap();
        assert_eq!((event.number, event.kind), (number, EventKind::User { user: number.into(), length: 8 }));
    }
}

#[test]
fn numbers_of_records_go_on_after_sixteen_bits() {
    let (handle, mut device, mut ring, base) = ring(2);
    for number in 1..=(1 << 16) + 3 {
        put(&handle, base, 2, number);
        assert_eq!(device.poll_event(&mut ring).unwrap().map(|event| event.number), Some(number));
        assert_eq!(handle.register(HEAD), number & 0xFFFF);
        handle.steps();
    }
}

#[test]
fn an_event_whose_place_cannot_be_given_back_comes_again() {
    let (handle, mut device, mut ring, base) = ring(8);
    put(&handle, base, 8, 1);
    put(&handle, base, 8, 2);
    assert_eq!(device.poll_event(&mut ring).unwrap().unwrap().number, 1);
    handle.break_register(Some(HEAD));
    for _ in 0..2 {
        device.poll_event(&mut ring).unwrap_err();
    }
    handle.break_register(None);
    assert_eq!(device.poll_event(&mut ring).unwrap().unwrap().number, 2);
    assert_eq!(handle.writes(), vec![(HEAD, 2)]);
    assert_eq!(device.poll_event(&mut ring).unwrap(), None);
    // Nor is it forgotten that a place is owed.
    put(&handle, base, 8, 3);
    device.poll_event(&mut ring).unwrap().unwrap();
    handle.break_register(Some(HEAD));
    device.poll_event(&mut ring).unwrap_err();
    handle.break_register(None);
    assert_eq!(device.poll_event(&mut ring).unwrap(), None);
    assert_eq!(handle.writes(), vec![(HEAD, 3)]);
}

#[test]
fn a_wait_for_an_event_ends_with_it_or_in_time() {
    let (handle, mut device, mut ring, base) = ring(8);
    let sentence = refused(device.wait_event(&mut ring, 300));
    assert_eq!(sentence, "an event of process 5 did not come within 300 cycles");
    put(&handle, base, 8, 1);
    assert_eq!(device.wait_event(&mut ring, 0).unwrap().number, 1, "what is there needs no time");
}

#[test]
fn an_interrupt_is_armed_for_the_records_after_those_that_were_read() {
    let (handle, mut device, mut ring, base) = ring(8);
    device.arm(&mut ring).unwrap();
    put(&handle, base, 8, 1);
    device.poll_event(&mut ring).unwrap().unwrap();
    device.arm(&mut ring).unwrap();
    assert_eq!(handle.writes(), vec![(HEAD, ARM), (HEAD, ARM | 1)]);
    assert_eq!(device.poll_event(&mut ring).unwrap(), None);
    assert_eq!(handle.writes(), vec![], "its place was given back, and the interrupt stays armed");
    for number in 2..=(1 << 16) + 1 {
        put(&handle, base, 8, number);
        device.poll_event(&mut ring).unwrap().unwrap();
        handle.steps();
    }
    device.arm(&mut ring).unwrap();
    assert_eq!(handle.writes(), vec![(HEAD, ARM | 1)]);
}

#[test]
fn an_interrupt_comes_by_records_or_by_time() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let irq = page(PROCESS) + doorbell::IRQ;
    assert_eq!(InterruptOptions::default(), InterruptOptions { events: 1, cycles: 0 });
    let most = 64 * 32_767;
    for (options, word) in [
        (None, 0),
        (Some(InterruptOptions::default()), 1 << 31 | 1 << 8),
        (Some(InterruptOptions { events: 255, cycles: 1 }), 1 << 31 | 1 << 16 | 255 << 8),
        (Some(InterruptOptions { events: 2, cycles: 64 }), 1 << 31 | 1 << 16 | 2 << 8),
        (Some(InterruptOptions { events: 2, cycles: 65 }), 1 << 31 | 2 << 16 | 2 << 8),
        (Some(InterruptOptions { events: 0, cycles: most }), 1 << 31 | 32_767 << 16),
    ] {
        device.set_interrupt(PROCESS as usize, options).unwrap();
        assert_eq!(handle.writes(), vec![(irq, word)], "{options:?}");
    }
    let sentence = refused(device.set_interrupt(5, Some(InterruptOptions { events: 1, cycles: most + 1 })));
    assert_eq!(sentence, "an interrupt cannot wait for 2097089 cycles; at most 2097088, 0 = no limit");
    assert!(refused(device.set_interrupt(16, None)).contains("process 16 has no doorbell page"));
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn processes_and_vectors_that_do_not_exist_are_refused() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for (process, number) in [(0, 0), (15, 15), (3, vector(3))] {
        device.set_vector(process, number).unwrap();
        assert_eq!(handle.writes(), vec![(global::IrqMap::ADDRESS, (process as u32) << 8 | number as u32)]);
    }
    for (process, number) in [(16, 0), (0, 16), (16, 16)] {
        assert_eq!(
            refused(device.set_vector(process, number)),
            format!("process {process} cannot have vector {number}; the card has 16 processes and 16 vectors")
        );
        assert_eq!(handle.steps(), vec![]);
    }
    for (faults, prints) in [(false, false), (true, false), (false, true), (true, true)] {
        device.set_card_interrupt(faults, prints).unwrap();
        let word = u32::from(faults) | u32::from(prints) << 1;
        assert_eq!(handle.writes(), vec![(global::IrqCard::ADDRESS, word)]);
    }
}

#[test]
fn a_shadow_line_has_the_pointers_of_both_rings() {
    let (handle, mut device, mut ring, base) = ring(8);
    handle.0.borrow_mut().next = 0x6_0000_0010;
    handle.store(0x6_0000_0040, &[0xFF; 64]);
    let shadow = device.open_shadow(PROCESS as usize).unwrap();
    let opened = |low: u32, high: u32, bytes: u32| {
        let registers = [
            (doorbell::BUFFER_LO, low),
            (doorbell::BUFFER_HI, high),
            (doorbell::SIZE, bytes),
            (doorbell::COMMAND, doorbell_command::OPEN_SHADOW),
        ];
        of_page(page(PROCESS), registers).into_iter().map(|(register, value)| Step::Write(register, value))
    };
    let expected: Vec<Step> = [Step::Memory(0x6_0000_0040, 64)].into_iter().chain(opened(0x40, 6, 64)).collect();
    assert_eq!(handle.steps(), expected);
    assert_eq!(*handle.0.borrow().allocations.last().unwrap(), (0x6_0000_0040, 64, 64));
    assert_eq!((shadow.line, handle.bytes(0x6_0000_0040, 64)), (0x6_0000_0040, vec![0; 64]));
    device.shadow_tail(&shadow, 0xABCD_1234).unwrap();
    put(&handle, base, 8, 1);
    device.poll_event(&mut ring).unwrap().unwrap();
    for (arm, word) in [(false, 1), (true, ARM | 1)] {
        device.shadow_head(&shadow, &ring, arm).unwrap();
        assert_eq!(handle.words::<16>(shadow.line)[..3], [0x1234, word, 0]);
    }
    handle.steps();
    device.kick(&shadow).unwrap();
    assert_eq!(handle.writes(), vec![(page(PROCESS) + doorbell::KICK, 1)]);
    device.close_shadow(shadow).unwrap();
    assert_eq!(handle.steps(), opened(0, 0, 0).collect::<Vec<_>>());
    let own = device.open_shadow_at(PROCESS as usize, 0x1_0000_0080).unwrap();
    assert_eq!(own.line, 0x1_0000_0080);
    assert_eq!(handle.steps(), opened(0x80, 1, 64).collect::<Vec<_>>(), "its memory is the caller's");
}
