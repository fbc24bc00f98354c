//! Puts and gets by registers: what is staged, in which order, when an order is repeated, and when a put is over.

use crate::card::{of_page, page, refused, Handle, TARGET};
use spindle::put::{Put, Reply};
use spindle::{Device, Error, Kind, Result, Stream, Target};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, rvma};

const PROCESS: usize = 2;
const REPLY: Reply = Reply { address: 0x0BAD_CAFE_0000_0003, key: 0x600D, offset: 0x55 };
const OVER: u32 = rvma::BASE + rvma::HOST_PUTS_DONE;

/// What names a target, and the order.
fn order(buffer: [u32; 2], length: u32, offset: u32, command: u32) -> Vec<(u32, u32)> {
    of_page(
        page(PROCESS as u32),
        [
            (doorbell::BUFFER_LO, buffer[0]),
            (doorbell::BUFFER_HI, buffer[1]),
            (doorbell::LENGTH, length),
            (doorbell::NODE, 0xA1),
            (doorbell::TARGET_PID, 0xB2C3),
            (doorbell::ADDR_LO, 0x5566_7788),
            (doorbell::ADDR_HI, 0x1122_3344),
            (doorbell::KEY, 0xDEAD_BEEF),
            (doorbell::OFFSET, offset),
            (doorbell::COMMAND, command),
        ],
    )
}

fn error(code: u32) -> u32 {
    doorbell::Result::ZERO.with_error(code).0
}

#[test]
fn a_put_names_its_memory_its_target_and_how_that_takes_messages() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().doorbell = (0x1234, 0);
    for (kind, mode, count) in
        [(Kind::Bound, 0, 0), (Kind::Tagged(0xE123), 2, 0xE123), (Kind::Managed, 4, 0), (Kind::Ordered(9), 6, 9)]
    {
        let put = device.put(PROCESS, 0x9_8765_4321, 0, &Target { kind, ..TARGET }).unwrap();
        assert_eq!(put, Put { number: 0x1234 });
        let how = of_page(page(PROCESS as u32), [(doorbell::MODE, mode), (doorbell::COUNT, count)]);
        let expected = [how, order([0x8765_4321, 9], 0, TARGET.offset, doorbell_command::PUT)].concat();
        assert_eq!(handle.writes(), expected, "{kind:?}");
    }
    assert_eq!(Kind::default(), Kind::Bound);
}

#[test]
fn a_get_names_its_source_and_where_the_answer_goes() {
    type Get = fn(&mut Device<Handle, Handle>, u32) -> Result<Put>;
    let calls: [(Get, u32); 2] = [
        (|device, length| device.get(PROCESS, length, &TARGET, &REPLY), 0),
        (|device, length| device.get_active(PROCESS, length, &TARGET, &REPLY), 1),
    ];
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().doorbell = (0xFFFF, 0);
    for (get, active) in calls {
        assert_eq!(get(&mut device, 1).unwrap(), Put { number: 0xFFFF });
        let staged = of_page(
            page(PROCESS as u32),
            [(doorbell::SIZE, REPLY.offset), (doorbell::RECORD_LO, REPLY.key), (doorbell::COUNT, active)],
        );
        let expected = [staged, order([3, 0x0BAD_CAFE], 1, TARGET.offset, doorbell_command::GET)].concat();
        assert_eq!(handle.writes(), expected, "{active}");
        assert_eq!(refused(get(&mut device, 0)), "a get of no bytes; get at least one");
        assert_eq!(handle.steps(), vec![], "what is refused stages nothing");
    }
}

#[test]
fn a_put_of_a_process_that_does_not_exist_is_refused() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for process in [16, 64] {
        let sentence = refused(device.put(process, 0, 1, &TARGET));
        assert_eq!(sentence, format!("process {process} has no doorbell page; the card has 16"));
        assert_eq!(refused(device.get(process, 1, &TARGET, &REPLY)), sentence);
    }
    assert_eq!(handle.steps(), vec![]);
    device.put(15, 0, 1, &TARGET).unwrap();
}

#[test]
fn a_put_waits_for_the_one_before_it() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let command = (page(PROCESS as u32) + doorbell::COMMAND, doorbell_command::PUT);
    let waits = error(doorbell_error::NO_SLOT);
    handle.results(PROCESS as u32, [waits, waits, 1 << 31, waits, 5]);
    assert_eq!(device.put(PROCESS, 0, 1, &TARGET).unwrap().number, 5);
    let orders = handle.writes().into_iter().filter(|write| *write == command).count();
    assert_eq!(orders, 4, "three times there was no slot");
    // A card whose clock stands still is not waited for.
    handle.0.borrow_mut().step = 0;
    handle.0.borrow_mut().doorbell = (waits, 0);
    match device.put(PROCESS, 0, 1, &TARGET).unwrap_err() {
        Error::Doorbell { command: "put", why } => assert!(why.contains("no buffer slot is free"), "{why}"),
        other => panic!("{other}"),
    }
    match device.get(PROCESS, 1, &TARGET, &REPLY).unwrap_err() {
        Error::Doorbell { command: "get", .. } => {}
        other => panic!("{other}"),
    }
}

#[test]
fn a_put_that_the_card_refuses_is_ordered_once() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().doorbell = (error(doorbell_error::OUT_OF_REGION), 0);
    let sentence = refused(device.put(PROCESS, 0, 1, &TARGET));
    assert!(sentence.starts_with("the card refuses put: the process names memory outside"), "{sentence}");
    assert_eq!(handle.0.borrow().commands.len(), 1);
}

#[test]
fn a_message_of_no_bytes_has_a_turn_in_its_stream() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let mut stream = Stream::new(Target { offset: 77, kind: Kind::Tagged(9), ..TARGET });
    let turn = |stream: &Stream, ordinal: u16| {
        assert_eq!(stream.target(), Target { offset: 0, kind: Kind::Ordered(ordinal), ..TARGET });
    };
    turn(&stream, 0);
    for (ordinal, length) in [0, 8, 0, 0].into_iter().enumerate() {
        device.put_next(PROCESS, 0x1000, length, &mut stream).unwrap();
        assert_eq!(handle.register(page(PROCESS as u32) + doorbell::COUNT), ordinal as u32);
        assert_eq!(handle.register(page(PROCESS as u32) + doorbell::LENGTH), length);
        turn(&stream, ordinal as u16 + 1);
    }
    // What the card did not take keeps its turn, whether it refused or was silent.
    handle.results(PROCESS as u32, [error(doorbell_error::OUT_OF_REGION)]);
    device.put_next(PROCESS, 0x1000, 0, &mut stream).unwrap_err();
    handle.break_register(Some(page(PROCESS as u32) + doorbell::COMMAND));
    device.put_next(PROCESS, 0x1000, 8, &mut stream).unwrap_err();
    handle.break_register(None);
    turn(&stream, 4);
    device.put_next(PROCESS, 0x1000, 0, &mut stream).unwrap();
    turn(&stream, 5);
}

#[test]
fn a_put_is_over_for_half_of_the_numbers() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for number in [0u16, 1, 0x7FFF, 0x8000, 0xFFFF] {
        for (ahead, over) in [(0, true), (1, true), (32_767, true), (32_768, false), (65_535, false)] {
            // The counter has 32 bits.
            handle.poke(OVER, 0xABC0_0000 | u32::from(number.wrapping_add(ahead)));
            assert_eq!(device.put_is_over(&Put { number }).unwrap(), over, "{number} {ahead}");
        }
    }
}

#[test]
fn a_wait_for_a_put_ends_with_it_or_in_time() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.poke(OVER, 6);
    let sentence = refused(device.wait_put(&Put { number: 7 }, 200));
    assert_eq!(sentence, "the end of put 7 did not come within 200 cycles");
    handle.answer(OVER, [6, 6]);
    handle.poke(OVER, 7);
    handle.steps();
    device.wait_put(&Put { number: 7 }, 1000).unwrap();
    assert_eq!(handle.reads_of(OVER), 3);
    handle.poke(rvma::BASE + rvma::HOST_PUTS_FAILED, 0xF00);
    assert_eq!(device.failed_puts().unwrap(), 0xF00);
}
