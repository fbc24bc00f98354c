//! Rules in the card's slots: which slots are written when rules change, in which order, and what is done after an error.

use crate::card::{refused, Handle};
use spindle::rule::{MessageRule, Source, Term};
use spindle::rule_table::{Action, Delivery, Message};
use spindle::{ContextId, Error, Rule};
use spindle_contract::params::Config;
use spindle_contract::registers::packet::{self, RuleAction, WordSource};

const AT: u32 = packet::BASE;

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

/// Writes of a term's slot.
fn term(mask: u32, low: u32, high: u32, slot: u32) -> Vec<(u32, u32)> {
    let registers =
        [(packet::TERM_MASK, mask), (packet::TERM_LOW, low), (packet::TERM_HIGH, high), (packet::TERM_COMMIT, slot)];
    registers.map(|(register, value)| (AT + register, value)).to_vec()
}

fn word(source: WordSource, number: u32) -> Vec<(u32, u32)> {
    vec![(AT + packet::WORD_SOURCE, source.0), (AT + packet::WORD_COMMIT, number)]
}

/// Writes of a rule's slot, by its literals.
fn row(positive: u128, negative: u128, action: RuleAction, slot: u32) -> Vec<(u32, u32)> {
    let mut writes = Vec::new();
    for i in 0..3 {
        writes.push((AT + packet::RULE_POSITIVE + 4 * i, (positive >> (32 * i)) as u32));
        writes.push((AT + packet::RULE_NEGATIVE + 4 * i, (negative >> (32 * i)) as u32));
    }
    writes.extend([(AT + packet::RULE_ACTION, action.0), (AT + packet::RULE_COMMIT, slot)]);
    writes
}

/// The end of a change: slots without a rule, and the commit.
fn end(empty: std::ops::Range<u32>) -> Vec<(u32, u32)> {
    let mut writes = vec![(AT + packet::RULE_ACTION, 0)];
    writes.extend(empty.map(|slot| (AT + packet::RULE_COMMIT, slot)));
    writes.push((AT + packet::MATCH_COMMIT, 1));
    writes
}

fn action(kind: u32) -> RuleAction {
    RuleAction::ZERO.with_valid(true).with_action(kind)
}

const UDP: u128 = 1 << 82;
const IPV4: u128 = 1 << 81;

#[test]
fn words_terms_and_rules_are_written_before_the_commit() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    device.add_rule(&rule("udp.dport == 9 && !vlan"), Action::Mailbox).unwrap();
    let mailbox = action(RuleAction::ACTION_MAILBOX).with_message(RuleAction::MESSAGE_HEADER);
    let expected =
        [word(WordSource::word(34, 38), 0), term(0xFFFF, 9, 9, 0), row(UDP | 1, 1 << 80, mailbox, 0), end(1..1)];
    assert_eq!(handle.writes(), expected.concat());
    // What is there already is not written again.
    device.add_rule(&rule("udp.dport == 9 && udp.sport == 7 || frame.len < 100"), Action::Host).unwrap();
    let host = action(RuleAction::ACTION_HOST);
    let expected = [
        term(0xFFFF_0000, 7 << 16, 7 << 16, 1),
        word(WordSource::length(), 1),
        term(0x3FFF, 0, 99, 5),
        row(UDP | 3, 0, host, 1),
        row(1 << 5, 0, host, 2),
        end(3..3),
    ];
    assert_eq!(handle.writes(), expected.concat());
    // Fewer rules: the slots that are left over become empty.
    device.replace_rules([(&rule("udp.dport == 9"), Action::Drop)]).unwrap();
    let expected = [row(UDP | 1, 0, action(RuleAction::ACTION_DROP), 0), end(1..3)];
    assert_eq!(handle.writes(), expected.concat());
    device.clear_rules().unwrap();
    assert_eq!(handle.writes(), end(0..1));
    device.clear_rules().unwrap();
    assert_eq!(handle.writes(), end(0..0));
}

#[test]
fn each_action_has_its_bits() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let context = action(RuleAction::ACTION_CONTEXT);
    for (given, expected) in [
        (Action::Drop, action(RuleAction::ACTION_DROP)),
        (Action::Host, action(RuleAction::ACTION_HOST)),
        (Action::Mailbox, action(RuleAction::ACTION_MAILBOX).with_message(RuleAction::MESSAGE_HEADER)),
        (Action::Context(ContextId(0)), context),
        (Action::Context(ContextId(15)), context.with_context(15)),
        (Action::ContextPerMessage(ContextId(9)), context.with_context(9).with_message(RuleAction::MESSAGE_HEADER)),
    ] {
        device.replace_rules([(&Rule::any(), given)]).unwrap();
        assert_eq!(handle.register(AT + packet::RULE_ACTION), 0, "the last write is for empty slots");
        let writes = handle.writes();
        let written = writes.iter().find(|write| write.0 == AT + packet::RULE_ACTION).unwrap();
        assert_eq!(written.1, expected.0, "{given:?}");
    }
    let delivery = Delivery { context: ContextId(16), message: Message::Packet, end: None, to_host: false };
    for given in [Action::Context(ContextId(16)), Action::ContextPerMessage(ContextId(16)), Action::Deliver(delivery)] {
        let sentence = refused(device.add_rule(&Rule::any(), given));
        assert_eq!(sentence, "there is no context 16; a card has at most 16");
    }
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn a_message_of_a_field_has_a_word_of_its_own() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let slmp = MessageRule::parse("udp[10:4]", "udp[8:2] >= 0x8000").unwrap();
    let (of_udp, delivery) = slmp.of(&rule("udp.dport == 9330"), ContextId(3));
    device.add_rule(&of_udp, Action::Deliver(delivery)).unwrap();
    let expected = action(RuleAction::ACTION_CONTEXT)
        .with_context(3)
        .with_message(RuleAction::MESSAGE_FIELD)
        .with_message_word(3)
        .with_end_term(0)
        .with_has_end(true);
    let writes = [
        word(WordSource::word(42, 46), 0),
        term(0xFFFF_0000, 0x8000_0000, 0xFFFF_0000, 0),
        word(WordSource::word(34, 38), 1),
        term(0xFFFF, 9330, 9330, 5),
        word(WordSource::word(44, 48), 15),
        row(UDP | 1 << 5, 0, expected, 0),
        end(1..1),
    ];
    assert_eq!(handle.writes(), writes.concat());
    // The same field again: its word is there.
    device.add_rule(&of_udp, Action::Deliver(Delivery { to_host: true, ..delivery })).unwrap();
    let writes = [row(UDP | 1 << 5, 0, expected.with_to_host(true), 1), end(2..2)];
    assert_eq!(handle.writes(), writes.concat());
}

#[test]
fn four_words_can_name_messages() {
    let (_, mut device) = Handle::opened(&Config::SIM);
    let end = Some(Term { source: Source::Length, mask: u32::MAX, low: 0, high: 64 });
    let deliver = |offset: usize| {
        let message = Message::Field(Source::Frame { offset, behind_tag: true });
        Action::Deliver(Delivery { context: ContextId(1), message, end, to_host: false })
    };
    for offset in [42, 46, 50, 54, 42] {
        device.add_rule(&Rule::any(), deliver(offset)).unwrap();
    }
    match device.add_rule(&Rule::any(), deliver(58)).unwrap_err() {
        Error::Terms(crowd) => assert_eq!(
            crowd,
            "`spindle.addr_hi`: taken are `frame.len` 1 word (1 term), `spindle.opcode`, `spindle.flags` 1 word (0 \
             terms), `spindle.psn` 1 word (0 terms), `spindle.src_nid` 1 word (0 terms), `spindle.src_pid`, \
             `spindle.dst_pid` 1 word (0 terms)"
        ),
        other => panic!("{other}"),
    }
    assert_eq!((device.rule_of_slot(4), device.rule_of_slot(5)), (Some(4), None));
}

#[test]
fn a_rule_has_as_many_slots_as_alternatives() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let many = |count: usize, first: usize| {
        let tests: Vec<String> = (first..first + count).map(|i| format!("udp.dport == {i}")).collect();
        rule(&tests.join(" || "))
    };
    device.add_rule(&many(60, 0), Action::Drop).unwrap();
    let commits = handle.0.borrow().commits;
    match device.add_rule(&many(5, 60), Action::Drop).unwrap_err() {
        Error::Full { wanted: 5, free: 4, .. } => {}
        other => panic!("{other}"),
    }
    assert_eq!(handle.0.borrow().commits, commits);
    device.add_rule(&many(4, 60), Action::Drop).unwrap();
    assert_eq!([0, 59, 60, 63].map(|slot| device.rule_of_slot(slot)), [Some(0), Some(0), Some(1), Some(1)]);
    assert_eq!(device.rule_of_slot(64), None);
    match device.add_rule(&rule("udp"), Action::Drop).unwrap_err() {
        Error::Full { wanted: 1, free: 0, .. } => {}
        other => panic!("{other}"),
    }
    // A set that does not fit leaves the one before it.
    let one = many(1, 0);
    device.replace_rules([(&many(64, 0), Action::Drop), (&one, Action::Drop)]).unwrap_err();
    assert_eq!(device.rule_of_slot(63), Some(1));
}

#[test]
fn a_change_that_fails_is_made_whole_by_the_next_one() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    device.add_rule(&rule("udp.dport == 9"), Action::Drop).unwrap();
    for broken in [packet::RULE_COMMIT, packet::MATCH_COMMIT] {
        handle.break_register(Some(AT + broken));
        device.add_rule(&rule("udp.dport == 10"), Action::Host).unwrap_err();
        assert_eq!((device.rule_of_slot(0), device.rule_of_slot(1)), (Some(0), None), "the rules stay as they are");
        handle.break_register(None);
    }
    handle.steps();
    device.add_rule(&rule("icmp"), Action::Host).unwrap();
    let expected = [
        word(WordSource::word(34, 38), 0),
        term(0xFFFF, 9, 9, 0),
        row(UDP | 1, 0, action(RuleAction::ACTION_DROP), 0),
        row(1 << 83, 0, action(RuleAction::ACTION_HOST), 1),
        end(2..64),
    ];
    assert_eq!(handle.writes(), expected.concat(), "what the slots hold was not known");
    device.add_rule(&rule("ip.proto == 6"), Action::Host).unwrap();
    let expected = [
        word(WordSource::word(22, 26), 1),
        term(0xFF_0000, 6 << 16, 6 << 16, 5),
        row(IPV4 | 1 << 5, 0, action(RuleAction::ACTION_HOST), 2),
        end(3..3),
    ];
    assert_eq!(handle.writes(), expected.concat());
}

#[test]
fn a_commit_is_waited_for_before_slots_are_written_and_after() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let commit = AT + packet::MATCH_COMMIT;
    handle.answer(commit, [1, 1, 0, 1, 0]);
    device.add_rule(&rule("udp"), Action::Drop).unwrap();
    assert_eq!(handle.reads_of(commit), 5);
    handle.0.borrow_mut().step = 20_000;
    handle.steps();
    handle.poke(commit, 1);
    let sentence = refused(device.add_rule(&rule("icmp"), Action::Drop));
    assert_eq!(sentence, "the commit of the match rules did not come within 100000 cycles");
    assert_eq!(handle.writes(), vec![], "no slot is written while the card changes its rules");
}
