//! Command rings: the words of each command, where it lies, and what the driver makes of a ring that has stopped.

use crate::card::{of_page, page, refused, Handle, Step, TARGET};
use spindle::put::{Reply, Target};
use spindle::rvma::{Posted, Window};
use spindle::{CommandRing, Device, Error, FrameOptions, Kind};
use spindle_contract::commands::{self, BYTES, MAX_COMMANDS};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error};

const PROCESS: u32 = 3;
const TAIL: u32 = page(PROCESS) + doorbell::RING_TAIL;
const DONE: u32 = page(PROCESS) + doorbell::RING_DONE;
const BUFFER: u64 = 0x9_8765_4321;

/// A ring of so many places, open, and its address.
fn ring(places: usize) -> (Handle, Device<Handle, Handle>, CommandRing, u64) {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let ring = device.open_commands(PROCESS as usize, places).unwrap();
    let (base, _, _) = *handle.0.borrow().allocations.last().unwrap();
    handle.steps();
    (handle, device, ring, base)
}

/// What the card has carried out, and why the next command stops the ring.
fn done(handle: &Handle, count: u32, error: u32) {
    handle.poke(DONE, doorbell::RingDone::ZERO.with_done(count).with_error(error).0);
}

fn posted(number: u64) -> Posted {
    Posted { buffer: 0x7_0000_0000 + 64 * number, size: 4096 + number as u32, record: 0x8_0000_0000 + 16 * number }
}

#[test]
fn a_ring_has_a_power_of_two_of_places_within_its_limits() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for places in [0, 1, 3, 6, 16_383, 2 * MAX_COMMANDS] {
        let sentence = refused(device.open_commands(1, places));
        assert_eq!(
            sentence,
            format!("a command ring of {places} places cannot be had; choose a power of two from 2 to 16384")
        );
        assert_eq!(handle.steps(), vec![]);
    }
    for places in [2, 4, MAX_COMMANDS] {
        device.open_commands(1, places).unwrap();
        let (_, bytes, align) = *handle.0.borrow().allocations.last().unwrap();
        assert_eq!((bytes, align), (places * BYTES, places * BYTES), "a ring is aligned to its size");
    }
}

#[test]
fn a_ring_is_named_with_its_tail_at_zero_and_closed_with_no_bytes() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().next = 0x5_0000_1000;
    let ring = device.open_commands(PROCESS as usize, 4).unwrap();
    let opened = |low: u32, high: u32, bytes: u32| {
        of_page(
            page(PROCESS),
            [
                (doorbell::BUFFER_LO, low),
                (doorbell::BUFFER_HI, high),
                (doorbell::SIZE, bytes),
                (doorbell::RING_TAIL, 0),
                (doorbell::COMMAND, doorbell_command::OPEN_COMMANDS),
            ],
        )
    };
    assert_eq!(handle.writes(), opened(0x1000, 5, 256));
    device.close_commands(ring).unwrap();
    assert_eq!(handle.writes(), opened(0, 0, 0));
}

#[test]
fn a_put_and_a_get_have_their_words() {
    let (handle, mut device, mut ring, base) = ring(8);
    let head = |code: u8, flags: u32, cookie: u32| u32::from(code) | flags << 8 | cookie << 16;
    let target = |first: u32, length: u32, buffer: [u32; 2], last: [u32; 2]| {
        [
            first,
            length,
            buffer[0],
            buffer[1],
            0x5566_7788,
            0x1122_3344,
            0xDEAD_BEEF,
            0x0102_0304,
            0xB2C3_00A1,
            last[0],
            last[1],
            0,
            0,
            0,
            0,
            0,
        ]
    };
    let kinds =
        [(Kind::Bound, 0, 0), (Kind::Tagged(0xE123), 2, 0xE123), (Kind::Managed, 4, 0), (Kind::Ordered(9), 6, 9)];
    for (number, (kind, flags, epoch)) in kinds.into_iter().enumerate() {
        assert!(device.add_put(&mut ring, BUFFER, 77, &Target { kind, ..TARGET }, 0xC00C).unwrap());
        let expected = target(head(commands::PUT, flags, 0xC00C), 77, [0x8765_4321, 9], [0, epoch]);
        assert_eq!(handle.words::<16>(base + 64 * number as u64), expected, "{kind:?}");
    }
    let reply = Reply { address: 0x0BAD_CAFE_0000_0003, key: 0x600D, offset: 0x55 };
    for (number, active) in [(4, false), (5, true)] {
        assert!(device.add_get(&mut ring, 1234, &TARGET, &reply, active, 2).unwrap());
        let expected = target(head(commands::GET, active.into(), 2), 1234, [3, 0x0BAD_CAFE], [0x55, 0x600D]);
        assert_eq!(handle.words::<16>(base + 64 * number), expected, "{active}");
    }
}

#[test]
fn a_frame_has_its_words_and_the_number_of_commands_up_to_it() {
    let (handle, mut device, mut ring, base) = ring(8);
    let plain = FrameOptions::default();
    for (number, (options, flags, checksum)) in [
        (plain, 0, 0),
        (FrameOptions { event: true, cookie: 0xABCD, ..plain }, 1, 0),
        (FrameOptions { checksum: Some((34, 6)), ..plain }, 2, 6 << 16 | 34),
        (FrameOptions { event: true, checksum: Some((254, 16)), cookie: 1 }, 3, 16 << 16 | 254),
    ]
    .into_iter()
    .enumerate()
    {
        let count = device.add_frame(&mut ring, BUFFER, 1500, options).unwrap();
        assert_eq!(count, Some(number as u16 + 1));
        let mut expected = [0; 16];
        expected[0] = u32::from(commands::SEND_FRAME) | flags << 8 | u32::from(options.cookie) << 16;
        expected[1..5].copy_from_slice(&[1500, 0x8765_4321, 9, checksum]);
        assert_eq!(handle.words::<16>(base + 64 * number as u64), expected, "{options:?}");
    }
}

#[test]
fn posts_zero_their_records_and_are_one_write_of_the_tail() {
    let (handle, mut device, mut ring, base) = ring(4);
    let window = Window { process: PROCESS as usize, mailbox: 0xF00D };
    let buffers: Vec<Posted> = (0..6).map(posted).collect();
    for posted in &buffers {
        handle.store(posted.record, &[0xFF; 16]);
    }
    assert_eq!(device.post_many(&mut ring, window, &buffers).unwrap(), 4, "as many as there is room for");
    let mut expected = Vec::new();
    for (number, posted) in buffers[..4].iter().enumerate() {
        expected.extend([Step::Memory(posted.record, 16), Step::Memory(base + 64 * number as u64, 64)]);
    }
    expected.push(Step::Write(TAIL, 4));
    assert_eq!(handle.steps(), expected, "the card sees commands that are there");
    for (number, posted) in buffers[..4].iter().enumerate() {
        let mut words = [0; 16];
        words[..6].copy_from_slice(&[0xF00D_0002, posted.size, posted.buffer as u32, 7, posted.record as u32, 8]);
        assert_eq!(handle.words::<16>(base + 64 * number as u64), words);
        assert_eq!(handle.bytes(posted.record, 16), vec![0; 16]);
    }
    assert_eq!(handle.bytes(buffers[4].record, 16), vec![0xFF; 16], "what was not posted is as it was");
    assert_eq!(device.post_many(&mut ring, window, &buffers[4..]).unwrap(), 0);
    assert_eq!(device.post_many(&mut ring, window, &[]).unwrap(), 0);
    assert_eq!(handle.steps(), vec![], "nothing was added");
    done(&handle, 1, 0);
    assert_eq!(device.post_many(&mut ring, window, &buffers[4..]).unwrap(), 1);
    assert_eq!(handle.writes(), vec![(TAIL, 5)]);
    assert_eq!(handle.words::<2>(base), [0xF00D_0002, buffers[4].size], "the first place again");
}

#[test]
fn a_window_of_another_process_is_no_window_of_the_ring() {
    let (handle, mut device, mut ring, _) = ring(4);
    let sentence = refused(device.post_many(&mut ring, Window { process: 2, mailbox: 1 }, &[posted(0)]));
    assert_eq!(sentence, "the window belongs to process 2, the command ring to process 3");
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn the_tail_is_written_when_there_is_something_new_and_only_then() {
    let (handle, mut device, mut ring, _) = ring(8);
    device.write_commands(&mut ring).unwrap();
    assert_eq!(handle.steps(), vec![]);
    for _ in 0..3 {
        assert!(device.add_put(&mut ring, BUFFER, 1, &TARGET, 0).unwrap());
    }
    assert_eq!(handle.writes(), vec![], "the card does not know of them yet");
    device.write_commands(&mut ring).unwrap();
    device.write_commands(&mut ring).unwrap();
    assert_eq!(handle.writes(), vec![(TAIL, 3)]);
    // A write that fails is made again.
    assert!(device.add_put(&mut ring, BUFFER, 1, &TARGET, 0).unwrap());
    handle.break_register(Some(TAIL));
    device.write_commands(&mut ring).unwrap_err();
    handle.break_register(None);
    device.write_commands(&mut ring).unwrap();
    assert_eq!(handle.writes(), vec![(TAIL, 4)]);
}

#[test]
fn a_full_ring_takes_nothing_until_the_card_has_carried_out_a_command() {
    let (handle, mut device, mut ring, base) = ring(2);
    for cookie in 1..=2 {
        assert!(device.add_put(&mut ring, BUFFER, 1, &TARGET, cookie).unwrap());
    }
    let full = handle.bytes(base, 128);
    assert!(!device.add_put(&mut ring, BUFFER, 2, &TARGET, 3).unwrap());
    let reply = Reply { address: 1, key: 2, offset: 3 };
    assert!(!device.add_get(&mut ring, 2, &TARGET, &reply, false, 3).unwrap());
    assert_eq!(device.add_frame(&mut ring, BUFFER, 60, FrameOptions::default()).unwrap(), None);
    assert_eq!(handle.bytes(base, 128), full, "no command is overwritten");
    done(&handle, 1, 0);
    assert!(device.add_put(&mut ring, BUFFER, 2, &TARGET, 3).unwrap());
    assert!(!device.add_put(&mut ring, BUFFER, 2, &TARGET, 4).unwrap());
    assert_eq!(handle.words::<2>(base), [u32::from(commands::PUT) | 3 << 16, 2]);
    assert_eq!(handle.bytes(base + 64, 64), full[64..]);
}

#[test]
fn the_card_is_asked_for_room_only_if_there_seems_to_be_too_little() {
    let (handle, mut device, mut ring, _) = ring(4);
    let mut room = |wanted: usize, reads: usize| {
        handle.steps();
        let room = device.command_room(&mut ring, wanted).unwrap();
        assert_eq!(handle.reads_of(DONE), reads, "{wanted} wanted");
        if room > 0 {
            assert!(device.add_put(&mut ring, BUFFER, 1, &TARGET, 0).unwrap());
        }
        room
    };
    assert_eq!(room(4, 0), 4);
    assert_eq!(room(3, 0), 3);
    assert_eq!(room(3, 1), 2);
    assert_eq!(room(1, 0), 1);
    assert_eq!(room(0, 0), 0);
    assert_eq!(room(1, 1), 0);
    done(&handle, 3, 0);
    assert_eq!(room(2, 1), 3);
}

#[test]
fn counts_of_a_ring_go_on_after_sixteen_bits() {
    let (handle, mut device, mut ring, base) = ring(2);
    for number in 0..(1u32 << 16) + 5 {
        let count = device.add_frame(&mut ring, BUFFER, 60, FrameOptions::default()).unwrap();
        assert_eq!(count, Some((number + 1) as u16), "{number}");
        device.write_commands(&mut ring).unwrap();
        assert_eq!(handle.register(TAIL), (number + 1) & 0xFFFF);
        // The card is one command late.
        done(&handle, number & 0xFFFF, 0);
        handle.steps();
    }
    assert_eq!(device.posts_left(&mut ring).unwrap(), 1);
    device.add_put(&mut ring, BUFFER, 9, &TARGET, 7).unwrap();
    assert_eq!(handle.words::<2>(base + 64), [u32::from(commands::PUT) | 7 << 16, 9], "command 65,541");
}

#[test]
fn a_post_that_waits_for_a_slot_is_tried_again() {
    let (handle, mut device, mut ring, base) = ring(4);
    let window = Window { process: PROCESS as usize, mailbox: 1 };
    device.post_many(&mut ring, window, &[posted(0), posted(1), posted(2)]).unwrap();
    let commands = handle.bytes(base, 256);
    done(&handle, 1, doorbell_error::NO_SLOT);
    handle.steps();
    for _ in 0..2 {
        assert_eq!(device.posts_left(&mut ring).unwrap(), 2);
        assert_eq!(handle.steps(), vec![Step::Write(TAIL, 3)], "the ring goes on with the same command");
    }
    assert_eq!(handle.bytes(base, 256), commands);
    done(&handle, 3, 0);
    assert_eq!(device.posts_left(&mut ring).unwrap(), 0);
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn a_command_that_cannot_be_carried_out_is_skipped_and_reported_once() {
    let (handle, mut device, mut ring, base) = ring(4);
    let window = Window { process: PROCESS as usize, mailbox: 1 };
    device.post_many(&mut ring, window, &[posted(0), posted(1), posted(2)]).unwrap();
    let before = handle.bytes(base, 256);
    done(&handle, 1, doorbell_error::OUT_OF_REGION);
    handle.steps();
    match device.posts_left(&mut ring).unwrap_err() {
        Error::Doorbell { command: "post_many", why } => assert!(why.contains("outside of its regions"), "{why}"),
        other => panic!("{other}"),
    }
    assert_eq!(handle.steps(), vec![Step::Memory(base + 64, 64), Step::Write(TAIL, 3)], "the command, then the ring");
    assert_eq!(handle.bytes(base, 256), [&before[..64], &[0; 64], &before[128..]].concat());
    // Until the card has looked at it, its report stays.
    assert_eq!(device.posts_left(&mut ring).unwrap(), 2);
    assert_eq!(handle.steps(), vec![]);
    // The next one fails for itself.
    done(&handle, 2, doorbell_error::NO_MAILBOX);
    let sentence = refused(device.posts_left(&mut ring));
    assert!(sentence.contains("there is no such mailbox"), "{sentence}");
    assert_eq!(handle.steps(), vec![Step::Memory(base + 128, 64), Step::Write(TAIL, 3)]);
    done(&handle, 3, 0);
    assert_eq!(device.posts_left(&mut ring).unwrap(), 0);
}

#[test]
fn a_wait_for_posts_ends_with_the_last_one_or_in_time() {
    let (handle, mut device, mut ring, _) = ring(4);
    let window = Window { process: PROCESS as usize, mailbox: 1 };
    device.post_many(&mut ring, window, &[posted(0), posted(1)]).unwrap();
    done(&handle, 1, 0);
    let sentence = refused(device.wait_posts(&mut ring, 500));
    assert_eq!(sentence, "posts of process 3 did not come within 500 cycles");
    handle.answer(DONE, [1, 1, 2]);
    done(&handle, 2, 0);
    device.wait_posts(&mut ring, 500).unwrap();
    handle.steps();
    device.wait_posts(&mut ring, 0).unwrap();
    assert_eq!(handle.reads_of(DONE), 1, "one look is enough");
    // As many as wait, and one more than there can be.
    device.post_many(&mut ring, window, &[posted(0), posted(1)]).unwrap();
    done(&handle, 5, 0);
    let sentence = refused(device.posts_left(&mut ring));
    assert!(sentence.contains("3 commands of a ring in which 2 waited as carried out"), "{sentence}");
    done(&handle, 4, 0);
    assert_eq!(device.posts_left(&mut ring).unwrap(), 0);
}

#[test]
fn a_command_that_cannot_be_written_takes_no_place() {
    let (handle, mut device, mut ring, base) = ring(4);
    assert!(device.add_put(&mut ring, BUFFER, 1, &TARGET, 1).unwrap());
    handle.0.borrow_mut().no_memory = true;
    assert_eq!(refused(device.add_put(&mut ring, BUFFER, 2, &TARGET, 2)), "host memory: it is not there");
    device.add_frame(&mut ring, BUFFER, 60, FrameOptions::default()).unwrap_err();
    let window = Window { process: PROCESS as usize, mailbox: 1 };
    device.post_many(&mut ring, window, &[posted(0)]).unwrap_err();
    handle.0.borrow_mut().no_memory = false;
    assert_eq!(device.add_frame(&mut ring, BUFFER, 60, FrameOptions::default()).unwrap(), Some(2));
    device.write_commands(&mut ring).unwrap();
    assert_eq!(handle.register(TAIL), 2);
    assert_eq!(handle.words::<2>(base + 64), [u32::from(commands::SEND_FRAME), 60]);
}

#[test]
fn a_ring_that_does_not_answer_is_as_it_was() {
    let (handle, mut device, mut ring, _) = ring(2);
    let window = Window { process: PROCESS as usize, mailbox: 1 };
    assert_eq!(device.post_many(&mut ring, window, &[posted(0), posted(1)]).unwrap(), 2);
    done(&handle, 1, 0);
    handle.break_register(Some(DONE));
    device.posts_left(&mut ring).unwrap_err();
    device.post_many(&mut ring, window, &[posted(2)]).unwrap_err();
    handle.break_register(None);
    assert_eq!(device.posts_left(&mut ring).unwrap(), 1);
    assert_eq!(device.post_many(&mut ring, window, &[posted(2), posted(3)]).unwrap(), 1);
    // A stopped ring whose tail cannot be written is reported as what it is when that is repeated.
    done(&handle, 2, doorbell_error::NO_SLOT);
    handle.break_register(Some(TAIL));
    device.posts_left(&mut ring).unwrap_err();
    handle.break_register(None);
    handle.steps();
    assert_eq!(device.posts_left(&mut ring).unwrap(), 1);
    assert_eq!(handle.steps(), vec![Step::Write(TAIL, 3)]);
}
