//! Windows: their options, what of a window is asked of the card, and the rule that handlers of a context need.

use crate::card::{of_page, page, refused, Handle};
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextId, Device, Error, Result};
use spindle_contract::params::{Config, RECEIVE_MAP_BITS};
use spindle_contract::registers::packet::{self, RuleAction};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, mailbox_mode as mode};
use std::ops::Range;

const WINDOW: Window = Window { process: 4, mailbox: 0xA123 };
const PLAIN: WindowOptions = WindowOptions {
    address: 0x1122_3344_5566_7788,
    key: 0xCAFE,
    threshold: 64,
    counting: Counting::Bytes,
    tagged: false,
    managed: false,
    silent: false,
    spills: false,
    catch_all: false,
    event: false,
    frames: false,
    context: None,
};

#[test]
fn each_option_of_a_window_is_a_bit_of_its_mode() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().doorbell = (0xA123, 0);
    let managed = WindowOptions { managed: true, ..PLAIN };
    for (options, bits) in [
        (PLAIN, 0),
        (WindowOptions { counting: Counting::Operations, ..PLAIN }, mode::OPS),
        (WindowOptions { counting: Counting::Operations, tagged: true, ..PLAIN }, mode::OPS | mode::TAGGED),
        (WindowOptions { tagged: true, ..PLAIN }, mode::TAGGED),
        (managed, mode::MANAGED),
        (WindowOptions { silent: true, ..PLAIN }, mode::NACK_OFF),
        (WindowOptions { spills: true, ..PLAIN }, mode::SPILL),
        (WindowOptions { spills: true, tagged: true, ..PLAIN }, mode::SPILL | mode::TAGGED),
        (WindowOptions { spills: true, ..managed }, mode::SPILL | mode::MANAGED),
        (WindowOptions { catch_all: true, ..managed }, mode::CATCH_ALL | mode::MANAGED),
        (WindowOptions { event: true, ..PLAIN }, mode::EVENT),
        (PLAIN.stream(), mode::STREAM),
        (
            WindowOptions { frames: true, silent: true, event: true, ..managed },
            mode::FRAMES | mode::NACK_OFF | mode::EVENT | mode::MANAGED,
        ),
        (WindowOptions { threshold: 1, ..PLAIN }, 0),
    ] {
        assert_eq!(device.open_window(4, &options).unwrap(), WINDOW);
        let expected = of_page(
            page(4),
            [
                (doorbell::ADDR_LO, 0x5566_7788),
                (doorbell::ADDR_HI, 0x1122_3344),
                (doorbell::KEY, 0xCAFE),
                (doorbell::THRESHOLD, options.threshold),
                (doorbell::MODE, bits),
                (doorbell::COMMAND, doorbell_command::INIT_WINDOW),
            ],
        );
        assert_eq!(handle.writes(), expected, "{options:?}");
    }
    assert_eq!(WindowOptions::default(), WindowOptions { address: 0, key: 0, threshold: 0, ..PLAIN });
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let managed = WindowOptions { managed: true, ..PLAIN };
    let operations = WindowOptions { counting: Counting::Operations, ..PLAIN };
    let frames = WindowOptions { frames: true, silent: true, ..managed };
    let streams = "a stream can neither spill nor be the catch-all; open a managed window";
    let alone = "a window of frames must be managed and silent, and nothing else; open it with these two options";
    let counts = "a managed window or stream cannot count operations: its buffers end when fewer bytes than the \
                  threshold are left; count bytes";
    for (options, sentence) in [
        (WindowOptions { threshold: 0, ..PLAIN }, "a window with a threshold of 0; choose at least 1"),
        (WindowOptions { threshold: 0, ..operations }, "a window with a threshold of 0; choose at least 1"),
        (WindowOptions { managed: false, ..frames }, alone),
        (WindowOptions { silent: false, ..frames }, alone),
        (WindowOptions { tagged: true, ..frames }, alone),
        (WindowOptions { spills: true, ..frames }, alone),
        (WindowOptions { catch_all: true, ..frames }, alone),
        (WindowOptions { context: Some(ContextId(0)), ..frames }, alone),
        (WindowOptions { managed: true, ..operations }, counts),
        (operations.stream(), counts),
        (WindowOptions { spills: true, ..PLAIN.stream() }, streams),
        (WindowOptions { catch_all: true, ..PLAIN.stream() }, streams),
        (
            WindowOptions { catch_all: true, ..PLAIN },
            "the catch-all window must be managed; open it as a managed window",
        ),
        (
            WindowOptions { catch_all: true, tagged: true, ..PLAIN },
            "the catch-all window must be managed; open it as a managed window",
        ),
    ] {
        assert_eq!(refused(device.open_window(4, &options)), sentence, "{options:?}");
        assert_eq!(handle.steps(), vec![]);
    }
}

/// Rules of the card that are valid: action, context, message.
fn valid(handle: &Handle) -> Vec<(u8, u8)> {
    let card = handle.0.borrow();
    card.rules.rules.iter().filter(|rule| rule.valid).map(|rule| (rule.action, rule.context)).collect()
}

#[test]
fn handlers_of_a_window_have_a_rule_ahead_of_all_others() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    device.add_rule(&"udp".parse().unwrap(), Action::Drop).unwrap();
    handle.0.borrow_mut().doorbell = (0xA123, 0);
    let options = WindowOptions { context: Some(ContextId(5)), ..PLAIN };
    let window = device.open_window(4, &options).unwrap();
    let context = RuleAction::ACTION_CONTEXT as u8;
    let drop = RuleAction::ACTION_DROP as u8;
    assert_eq!(valid(&handle), [(context, 5), (drop, 0)]);
    assert_eq!([0, 1, 2].map(|slot| device.rule_of_slot(slot)), [None, Some(0), None]);
    device.clear_rules().unwrap();
    assert_eq!(valid(&handle), [(context, 5)], "the rules of windows stay");
    // Another window keeps its rule.
    handle.0.borrow_mut().doorbell = (0xA124, 0);
    let other = device.open_window(4, &WindowOptions { address: 9, ..options }).unwrap();
    assert_eq!(valid(&handle).len(), 2);
    handle.steps();
    device.close_window(window).unwrap();
    assert_eq!(valid(&handle), [(context, 5)]);
    let writes = handle.writes();
    let place = |register: u32| writes.iter().position(|write| write.0 == register).unwrap();
    let commit = packet::BASE + packet::MATCH_COMMIT;
    assert!(
        place(page(4) + doorbell::COMMAND) < place(commit),
        "messages meet a closed window, not one without handlers"
    );
    let commits = handle.0.borrow().commits;
    device.close_window(window).unwrap();
    assert_eq!(handle.0.borrow().commits, commits, "it has no rule any more");
    device.close_window(other).unwrap();
    assert_eq!(valid(&handle), []);
}

#[test]
fn a_window_whose_rule_has_no_room_is_closed_again() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let many: Vec<String> = (0..Config::SIM.match_rules).map(|i| format!("eth.type == {i}")).collect();
    device.add_rule(&many.join(" || ").parse().unwrap(), Action::Drop).unwrap();
    handle.0.borrow_mut().doorbell = (0xA123, 0);
    handle.steps();
    let options = WindowOptions { context: Some(ContextId(5)), ..PLAIN };
    let sentence = refused(device.open_window(4, &options));
    assert!(sentence.contains("no room for the alternatives of the rule: 64 wanted, 63 free"), "{sentence}");
    let commands: Vec<u32> = handle.0.borrow().commands.iter().map(|command| command.1).collect();
    assert_eq!(commands, [doorbell_command::INIT_WINDOW, doorbell_command::CLOSE]);
    assert_eq!(handle.register(page(4) + doorbell::MAILBOX), 0xA123);
    assert_eq!(valid(&handle).len(), 64, "the rules are as they were");
}

#[test]
fn what_is_asked_of_a_window_names_it_and_has_an_answer_of_64_bits() {
    type Ask = fn(&mut Device<Handle, Handle>) -> Result<Option<u64>>;
    let calls: [(&str, Ask, u32, u32); 5] = [
        ("epoch", |device| device.epoch(WINDOW).map(Some), doorbell_command::GET_EPOCH, 0),
        ("inc_epoch", |device| device.inc_epoch(WINDOW).map(|()| None), doorbell_command::INC_EPOCH, 0),
        ("close", |device| device.close_window(WINDOW).map(|()| None), doorbell_command::CLOSE, 0),
        ("completed", |device| device.completed_buffer(WINDOW, 7), doorbell_command::GET_BUF_PTRS, 7),
        ("rewind", |device| device.rewind(WINDOW, 3), doorbell_command::REWIND, 3),
    ];
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.poke(page(4) + doorbell::VALUE_LO, 0x0000_0040);
    handle.poke(page(4) + doorbell::VALUE_HI, 9);
    for (name, ask, command, count) in calls {
        let answer = ask(&mut device).unwrap();
        assert!(answer.is_none() || answer == Some(0x9_0000_0040), "{name}: {answer:x?}");
        assert_eq!(answer.is_some(), !["inc_epoch", "close"].contains(&name));
        let expected =
            of_page(page(4), [(doorbell::MAILBOX, 0xA123), (doorbell::COUNT, count), (doorbell::COMMAND, command)]);
        // The value is that of this command, so it is read last.
        let values = [doorbell::VALUE_LO, doorbell::VALUE_HI].map(|register| page(4) + register);
        let of_page = |read: &u32| *read >= page(4) && *read < page(5);
        let reads: Vec<u32> = handle.0.borrow().reads.iter().copied().filter(of_page).collect();
        assert_eq!(reads, [page(4) + doorbell::RESULT, values[0], values[1]], "{name}");
        assert_eq!(handle.writes(), expected, "{name}");
        // Without an answer: of the history that is no error.
        handle.results(4, [doorbell::Result::ZERO.with_error(doorbell_error::NOTHING).0]);
        match ask(&mut device) {
            Ok(answer) => assert!(answer.is_none() && ["completed", "rewind"].contains(&name), "{name}"),
            Err(error) => assert!(!["completed", "rewind"].contains(&name), "{name}: {error}"),
        }
        handle.results(4, [doorbell::Result::ZERO.with_error(doorbell_error::NO_MAILBOX).0]);
        match ask(&mut device).unwrap_err() {
            Error::Doorbell { why, .. } => assert!(why.contains("there is no such mailbox"), "{name}: {why}"),
            other => panic!("{name}: {other}"),
        }
        handle.steps();
    }
}

#[test]
fn a_receive_map_is_posted_read_and_given_back() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let posted = Posted { buffer: 0x7_0000_0040, size: 4096, record: 0x8_0000_0010 };
    for granule in [0, 3, 1025, u32::MAX] {
        let sentence = refused(device.post_mapped(WINDOW, posted, granule));
        assert_eq!(sentence, format!("a granule of {granule} bytes is no power of two; choose one"));
        assert_eq!(handle.steps(), vec![]);
    }
    handle.0.borrow_mut().doorbell = (6, 0);
    for (granule, log) in [(1, 0), (1024, 10), (1 << 31, 31)] {
        let map = device.post_mapped(WINDOW, posted, granule).unwrap();
        assert_eq!((map.process, map.number, map.granule), (4, 6, granule));
        let expected = of_page(
            page(4),
            [
                (doorbell::MAILBOX, 0xA123),
                (doorbell::BUFFER_LO, 0x40),
                (doorbell::BUFFER_HI, 7),
                (doorbell::SIZE, 4096),
                (doorbell::RECORD_LO, 0x10),
                (doorbell::RECORD_HI, 8),
                (doorbell::COUNT, log),
                (doorbell::COMMAND, doorbell_command::POST_MAPPED),
            ],
        );
        assert_eq!(handle.writes(), expected);
    }
    let map = device.post_mapped(WINDOW, posted, 1024).unwrap();
    handle.steps();
    handle.answer(page(4) + doorbell::VALUE_LO, 1..=16);
    handle.answer(page(4) + doorbell::VALUE_HI, 101..=116);
    let received = device.read_map(&map).unwrap();
    let expected: [u64; 16] = std::array::from_fn(|i| (101 + i as u64) << 32 | (1 + i as u64));
    assert_eq!(received.words, expected);
    assert_eq!(received.granule, 1024);
    let expected: Vec<(u32, u32)> = (0..16)
        .flat_map(|word| {
            let count = 6 << 8 | word;
            of_page(page(4), [(doorbell::COUNT, count), (doorbell::COMMAND, doorbell_command::READ_MAP)])
        })
        .collect();
    assert_eq!(handle.writes(), expected);
    device.free_map(map).unwrap();
    let freed = of_page(page(4), [(doorbell::COUNT, 6 << 8), (doorbell::COMMAND, doorbell_command::FREE_MAP)]);
    assert_eq!(handle.writes(), freed);
}

#[test]
fn a_map_has_a_bit_for_each_granule_and_none_after_the_last() {
    let last = RECEIVE_MAP_BITS as u32 - 1;
    for bit in [0, 1, 63, 64, 100, last] {
        let mut received = spindle::Received { words: [0; 16], granule: 8 };
        received.words[bit as usize / 64] = 1 << (bit % 64);
        for other in [0, 1, 2, 62, 63, 64, 65, 99, 100, 101, last - 1, last, last + 1, last + 64] {
            assert_eq!(received.begins_at(8 * other), other == bit, "bit {bit}, granule {other}");
            assert_eq!(received.begins_at(8 * other + 7), other == bit, "bit {bit}, granule {other}");
        }
    }
    let all = spindle::Received { words: [u64::MAX; 16], granule: 8 };
    assert_eq!(all.missing(0, 8 * (last + 1), 8), Vec::<Range<u32>>::new());
    assert_eq!(all.missing(8, 8 * (last + 1), 8), vec![8 * (last + 1)..8 * (last + 2); 1]);
    let none = spindle::Received { words: [0; 16], granule: 8 };
    assert_eq!(none.missing(100, 20, 8), [100..108, 108..116, 116..120]);
    assert_eq!(none.missing(100, 16, 8), [100..108, 108..116]);
    assert_eq!(none.missing(100, 0, 8), Vec::<Range<u32>>::new());
    assert_eq!(none.missing(100, 2, 0).len(), 2, "segments of no bytes end too");
}
