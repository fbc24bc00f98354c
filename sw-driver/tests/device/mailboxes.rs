//! Doorbell commands: what is staged, how results are read, and which windows and processes a card cannot have.

use crate::card::{of_page, page, refused, Handle, Step};
use spindle::rvma::{Completed, Posted, Window};
use spindle::Error;
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error};

const WINDOW: Window = Window { process: 4, mailbox: 0xA123 };

#[test]
fn a_window_has_the_number_of_its_mailbox_without_generation() {
    for (mailbox, number) in [(0, 0), (0xFFF, 0xFFF), (0x1000, 0), (0xA123, 0x123), (0xFFFF, 0xFFF)] {
        assert_eq!(Window { process: 0, mailbox }.number(), number, "{mailbox:#x}");
    }
}

#[test]
fn a_window_is_opened_with_what_is_staged_before_the_command() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().doorbell = (0xA123, 0);
    assert_eq!(device.init_window(4, 0x1122_3344_5566_7788, 0xCAFE, 4096).unwrap(), WINDOW);
    let expected = of_page(
        page(4),
        [
            (doorbell::ADDR_LO, 0x5566_7788),
            (doorbell::ADDR_HI, 0x1122_3344),
            (doorbell::KEY, 0xCAFE),
            (doorbell::THRESHOLD, 4096),
            (doorbell::MODE, 0),
            (doorbell::COMMAND, doorbell_command::INIT_WINDOW),
        ],
    );
    assert_eq!(handle.writes(), expected);
}

#[test]
fn a_buffer_is_posted_after_its_record_was_zeroed() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let posted = Posted { buffer: 0x7_0000_0040, size: 4096, record: 0x8_0000_0010 };
    handle.store(posted.record, &[0xFF; 20]);
    assert_eq!(device.post(WINDOW, posted).unwrap(), posted);
    let writes = of_page(
        page(4),
        [
            (doorbell::MAILBOX, 0xA123),
            (doorbell::BUFFER_LO, 0x40),
            (doorbell::BUFFER_HI, 7),
            (doorbell::SIZE, 4096),
            (doorbell::RECORD_LO, 0x10),
            (doorbell::RECORD_HI, 8),
            (doorbell::COMMAND, doorbell_command::POST_BUFFER),
        ],
    );
    let zeroed = [Step::Memory(posted.record, 16)];
    let expected: Vec<Step> =
        zeroed.into_iter().chain(writes.into_iter().map(|(register, value)| Step::Write(register, value))).collect();
    assert_eq!(handle.steps(), expected);
    assert_eq!(handle.bytes(posted.record, 20), [vec![0; 16], vec![0xFF; 4]].concat());

    let posted = device.post_buffer(WINDOW, 100).unwrap();
    let allocated = handle.0.borrow().allocations.clone();
    assert_eq!(allocated[..], [(posted.buffer, 100, 64), (posted.record, 16, 16)]);
    assert_eq!(posted.size, 100);
}

#[test]
fn a_record_is_read_when_its_status_is_there() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let posted = Posted { buffer: 0x7_0000_0040, size: 4096, record: 0x2000 };
    let mut record = [0x34, 0x12, 0, 0, 0, 0, 0x78, 0x56, 0x40, 0, 0, 0, 7, 0, 0, 0];
    handle.store(posted.record, &record);
    assert_eq!(device.poll(&posted).unwrap(), None, "its status is 0");
    record[4] = 2;
    handle.store(posted.record, &record);
    let completed = Completed { length: 0x1234, status: 2, epoch: 0x5678, buffer: 0x7_0000_0040 };
    assert_eq!(device.poll(&posted).unwrap(), Some(completed));
    assert_eq!(device.wait(&posted, 0).unwrap(), completed, "what is there needs no time");
    handle.store(posted.record, &[0; 16]);
    let sentence = refused(device.wait(&posted, 300));
    assert_eq!(sentence, "the completion record at 0x2000 did not come within 300 cycles");
}

#[test]
fn a_command_is_asked_for_its_result_ten_thousand_times() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().doorbell = (7, 9_999);
    assert_eq!(device.init_window(0, 1, 2, 3).unwrap().mailbox, 7);
    handle.0.borrow_mut().doorbell = (7, 10_000);
    match device.init_window(0, 1, 2, 3).unwrap_err() {
        Error::Doorbell { command: "init_window", why } => {
            assert_eq!(why, "it did not answer; the card may need a reset")
        }
        other => panic!("{other}"),
    }
    assert_eq!(handle.0.borrow().doorbell.1, 0);
}

#[test]
fn a_command_that_met_one_of_another_process_is_repeated() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let busy = doorbell::Result::ZERO.with_error(doorbell_error::BUSY).0;
    handle.results(4, [busy, 1 << 31, busy, 9]);
    assert_eq!(device.init_window(4, 1, 2, 3).unwrap().mailbox, 9);
    let command = (page(4) + doorbell::COMMAND, doorbell_command::INIT_WINDOW);
    assert_eq!(handle.0.borrow().commands, vec![command; 3]);
    assert_eq!(handle.writes().len(), 5 + 3, "what is staged is staged once");
    // Not for ever.
    handle.0.borrow_mut().doorbell = (busy, 0);
    assert!(refused(device.init_window(4, 1, 2, 3)).contains("did not answer"));
}

#[test]
fn each_error_of_the_card_has_its_sentence() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let mut why = |code: u32| {
        handle.0.borrow_mut().doorbell = (doorbell::Result::ZERO.with_error(code).with_value(7).0, 0);
        match device.init_window(0, 1, 2, 3).unwrap_err() {
            Error::Doorbell { command: "init_window", why } => why,
            other => panic!("{other}"),
        }
    };
    for (code, words) in [
        (doorbell_error::UNSUPPORTED, "does not know the command"),
        (doorbell_error::TABLE_FULL, "no room for this address"),
        (doorbell_error::EXISTS, "open already"),
        (doorbell_error::NO_MAILBOX, "no such mailbox"),
        (doorbell_error::NO_SLOT, "no buffer slot is free"),
        (doorbell_error::NO_MAP, "no receive map is free"),
        (doorbell_error::NO_RIGHT, "set_sender"),
        (doorbell_error::NOTHING, "no incomplete buffer"),
        (doorbell_error::OUT_OF_REGION, "outside of its regions"),
        (doorbell_error::HOST_ERROR, "could not read the command"),
        (doorbell_error::BAD_ARGUMENT, "aligned to 16"),
        (13, "does not know"),
        (255, "an error code that this library does not know"),
    ] {
        assert!(why(code).contains(words), "{code}: {}", why(code));
    }
}

#[test]
fn every_command_checks_its_process() {
    for config in [Config::SIM, Config::ALVEO] {
        let (handle, mut device) = Handle::opened(&config);
        device.init_window(config.processes - 1, 1, 2, 3).unwrap();
        handle.steps();
        let sentence = refused(device.init_window(config.processes, 1, 2, 3));
        let processes = config.processes;
        assert_eq!(sentence, format!("process {processes} has no doorbell page; the card has {processes}"));
        assert_eq!(handle.steps(), vec![]);
    }
}
