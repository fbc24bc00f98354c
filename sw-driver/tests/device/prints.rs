//! Printed text: how many pieces are taken at once, and what a piece has.

use crate::card::{refused, Handle};
use spindle::{ContextId, Print};
use spindle_contract::params::Config;
use spindle_contract::registers::hpu;

const COUNT: u32 = hpu::BASE + hpu::PRINT_COUNT;

#[test]
fn a_piece_has_the_characters_that_it_names() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let [low, high] = [u32::from_le_bytes(*b"abcd"), u32::from_le_bytes(*b"efgh")];
    for (characters, text) in [(0, ""), (1, "a"), (4, "abcd"), (5, "abcde"), (8, "abcdefgh"), (15, "abcdefgh")] {
        let who = 2 << 24 | 0xC5 << 16 | 0xB6 << 8 | 0xE << 4 | characters;
        handle.0.borrow_mut().prints.push_back([who, 0xBEEF, low, high]);
        let print = Print {
            cluster: 0xC5,
            hpu: 0xB6,
            context: ContextId(14),
            kind: 2,
            frame: 0xBEEF,
            text: text.as_bytes().to_vec(),
        };
        assert_eq!(device.prints().unwrap(), [print], "{characters} characters");
    }
}

#[test]
fn each_piece_is_removed_when_it_was_read() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    assert_eq!((device.prints().unwrap().len(), handle.reads_of(COUNT)), (0, 1));
    assert_eq!(handle.steps(), vec![]);
    handle.answer(COUNT, [64, 2, 0]);
    assert_eq!(device.prints().unwrap().len(), 66);
    assert_eq!(handle.writes(), vec![(hpu::BASE + hpu::PRINT_POP, 1); 66]);
    // More than the queue holds.
    handle.answer(COUNT, [65]);
    let sentence = refused(device.prints());
    assert!(sentence.starts_with("the card reports 65 pieces of text in a queue of 64; reset it"), "{sentence}");
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn text_without_end_is_taken_in_parts() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.answer(COUNT, (0..65).map(|look| if look == 0 { 63 } else { 64 }));
    assert_eq!(device.prints().unwrap().len(), 63 + 64 * 64, "less than 4,096 are there, so there is one more look");
    handle.0.borrow_mut().answers.clear();
    handle.answer(COUNT, [64; 65]);
    assert_eq!(device.prints().unwrap().len(), 4096);
}
