//! Residents: the order of rules, what is written when they change, and lists that have no room.

use crate::card::{refused, Handle};
use crate::{image, resident_rule};
use spindle::resident::{Effect, ResidentRule};
use spindle::{ContextId, ContextOptions, Device};
use spindle_contract::params::Config;
use spindle_contract::registers::{global, hpu, packet};

const ACTIVE: u32 = hpu::BASE + hpu::CTX_ACTIVE;
const SCRATCH: u32 = global::BASE + global::SCRATCH;

fn attached() -> (Handle, Device<Handle, Handle>) {
    let handle = Handle::new(&Config::SIM);
    let device = Device::attach(handle.clone(), handle.clone()).unwrap();
    (handle, device)
}

fn texts(device: &Device<Handle, Handle>) -> Vec<&str> {
    device.resident_rules().iter().map(|rule| rule.rule.as_str()).collect()
}

fn mailbox(rule: &str) -> ResidentRule {
    resident_rule(rule, Effect::Mailbox)
}

#[test]
fn effects_name_their_context() {
    let context = ContextId(3);
    let field = Effect::Field { context, field: "udp[10:4]".into(), end: "udp[8] == 1".into() };
    for (effect, of, text) in [
        (Effect::Mailbox, None, "mailboxes"),
        (Effect::Host, None, "host"),
        (Effect::Packets(context), Some(context), "context 3, per packet"),
        (Effect::Messages(context), Some(context), "context 3, per message"),
        (field, Some(context), "context 3, per message of udp[10:4]"),
    ] {
        assert_eq!((effect.context(), effect.to_string()), (of, text.to_owned()));
    }
}

#[test]
fn a_resident_has_the_bytes_that_are_set_aside_for_it() {
    let (handle, mut device) = attached();
    let options = ContextOptions { scratch_bytes: Some(100), process: 7, ..ContextOptions::default() };
    device.load_resident("one", &image(129, 65), &options, |_| vec![]).unwrap();
    let [resident] = device.residents() else { panic!("one resident") };
    assert_eq!((resident.name.as_str(), resident.process, resident.bytes()), ("one", 7, [256, 128, 128]));
    let other = Device::attach(handle.clone(), handle.clone()).unwrap();
    assert_eq!(other.residents(), device.residents());
    // The last bytes of L2 are those of the list.
    let most = Config::SIM.l2_bytes - 4096;
    let options = ContextOptions { state_bytes: most + 1, ..ContextOptions::default() };
    let sentence = refused(device.load_resident("two", &image(8, 0), &options, |_| vec![]));
    assert!(sentence.contains(&format!("the card's memory for it has {most}")), "{sentence}");
}

#[test]
fn rules_are_added_once_moved_ahead_and_removed() {
    let (handle, mut device) = attached();
    for text in ["udp", "icmp", "udp", "vlan"] {
        device.add_resident_rule(mailbox(text)).unwrap();
    }
    assert_eq!(texts(&device), ["udp", "icmp", "vlan"]);
    let before = handle.0.borrow().commits;
    device.add_resident_rule(mailbox("icmp")).unwrap();
    assert_eq!(handle.0.borrow().commits, before, "the list has it");
    // The same text with another effect is another rule.
    device.add_resident_rule(resident_rule("icmp", Effect::Host)).unwrap();
    device.put_resident_rules_first(&[mailbox("vlan"), mailbox("spindle")]).unwrap();
    assert_eq!(texts(&device), ["vlan", "spindle", "udp", "icmp", "icmp"]);
    let valid = |handle: &Handle| handle.0.borrow().rules.rules.iter().filter(|rule| rule.valid).count();
    assert_eq!(valid(&handle), 5);
    device.remove_resident_rules(&[mailbox("icmp"), mailbox("nothing that it has")]).unwrap();
    assert_eq!(device.resident_rules().last(), Some(&resident_rule("icmp", Effect::Host)));
    assert_eq!((texts(&device), valid(&handle)), (vec!["vlan", "spindle", "udp", "icmp"], 4));
    let other = Device::attach(handle.clone(), handle.clone()).unwrap();
    assert_eq!(other.resident_rules(), device.resident_rules());
    // The first rule of the list has the first slot.
    assert_eq!(handle.0.borrow().rules.rules[0].positive, 1 << 80);
    assert_eq!(handle.0.borrow().rules.rules[1].positive, 1 << 84);
}

#[test]
fn every_frame_is_the_rule_without_a_text() {
    let (handle, mut device) = attached();
    device.add_resident_rule(resident_rule("", Effect::Host)).unwrap();
    let card = handle.0.borrow();
    assert_eq!((card.rules.rules[0].valid, card.rules.rules[0].positive, card.rules.rules[0].negative), (true, 0, 0));
}

#[test]
fn rules_that_the_card_cannot_have_leave_the_list() {
    let (handle, mut device) = attached();
    device.add_resident_rule(mailbox("udp")).unwrap();
    let before = (handle.register(SCRATCH), handle.0.borrow().l2.clone());
    let commits = handle.0.borrow().commits;
    let many: Vec<String> = (0..64).map(|port| format!("udp.dport == {port}")).collect();
    for (rule, words) in [
        (mailbox("nonsense"), "there is no field `nonsense`"),
        (mailbox(&many.join(" || ")), "no room for the alternatives"),
        (mailbox(&["udp.dport == 1"; 400].join(" && ")), "no room for the list of its contexts and rules"),
    ] {
        for result in
            [device.add_resident_rule(rule.clone()), device.put_resident_rules_first(std::slice::from_ref(&rule))]
        {
            let sentence = refused(result);
            assert!(sentence.contains(words), "{sentence}");
        }
        assert_eq!(texts(&device), ["udp"]);
        assert_eq!(handle.0.borrow().commits, commits);
        let other = Device::attach(handle.clone(), handle.clone()).unwrap();
        assert_eq!(texts(&other), ["udp"]);
    }
    assert_eq!(handle.register(SCRATCH), before.0);
}

/// Bytes of the list of one rule of so many spaces, with its length.
fn list_of(spaces: usize) -> (ResidentRule, usize) {
    let rule = mailbox(&format!("udp{}", " ".repeat(spaces)));
    let bytes = 4 + "mailbox\t".len() + rule.rule.len() + 1;
    (rule, bytes)
}

#[test]
fn a_list_fills_its_place_to_the_last_byte() {
    let (handle, mut device) = attached();
    let (_, short) = list_of(0);
    let (rule, bytes) = list_of(4096 - short);
    assert_eq!(bytes, 4096);
    device.add_resident_rule(rule.clone()).unwrap();
    let other = Device::attach(handle.clone(), handle.clone()).unwrap();
    assert_eq!(other.resident_rules(), std::slice::from_ref(&rule));
    device.remove_resident_rules(&[rule]).unwrap();
    let (rule, bytes) = list_of(4097 - short);
    let sentence = refused(device.add_resident_rule(rule));
    assert!(sentence.contains(&format!("{bytes} wanted, 4096 free")), "{sentence}");
    assert!(sentence.contains("unload a context, or use fewer or shorter rules"), "{sentence}");
    // A small L2 gives a sixteenth of it.
    let config = Config { l2_bytes: 4096, ..Config::SIM };
    let handle = Handle::new(&config);
    let mut device = Device::attach(handle.clone(), handle.clone()).unwrap();
    device.add_resident_rule(list_of(256 - short).0).unwrap();
    assert_eq!(Device::attach(handle.clone(), handle.clone()).unwrap().resident_rules().len(), 1);
    assert_eq!(handle.0.borrow().l2.keys().min(), Some(&(4096 - 256)));
    device.remove_resident_rules(&[list_of(256 - short).0]).unwrap();
    let sentence = refused(device.add_resident_rule(list_of(257 - short).0));
    assert!(sentence.contains("257 wanted, 256 free"), "{sentence}");
}

#[test]
fn a_list_is_void_while_it_is_written() {
    let (handle, mut device) = attached();
    device.add_resident_rule(mailbox("udp")).unwrap();
    handle.steps();
    device.add_resident_rule(mailbox("icmp")).unwrap();
    let writes = handle.writes();
    let scratch: Vec<usize> = (0..writes.len()).filter(|at| writes[*at].0 == SCRATCH).collect();
    let [void, valid] = scratch[..] else { panic!("two writes of SCRATCH: {writes:x?}") };
    assert_eq!((void, writes[0].1), (0, 0));
    assert_ne!(writes[valid].1, 0);
    let l2 = [hpu::L2_ADDR, hpu::L2_DATA].map(|register| hpu::BASE + register);
    assert!(writes[1..valid].iter().all(|write| l2.contains(&write.0)), "{writes:x?}");
    assert!(writes[valid + 1..].iter().any(|write| write.0 == packet::BASE + packet::MATCH_COMMIT));
}

#[test]
fn a_context_is_active_before_its_rules_and_stopped_after_them() {
    let (handle, mut device) = attached();
    let rules = |context| vec![resident_rule("udp", Effect::Packets(context))];
    handle.steps();
    let context = device.load_resident("one", &image(8, 0), &ContextOptions::default(), rules).unwrap();
    let place = |writes: &[(u32, u32)], register: u32| writes.iter().position(|write| write.0 == register).unwrap();
    let commit = packet::BASE + packet::MATCH_COMMIT;
    let writes = handle.writes();
    assert!(place(&writes, hpu::BASE + hpu::CTX_INSTALL) < place(&writes, ACTIVE));
    assert!(place(&writes, ACTIVE) < place(&writes, commit));
    device.add_resident_rule(mailbox("icmp")).unwrap();
    handle.steps();
    device.stop_resident(context).unwrap();
    let writes = handle.writes();
    assert!(place(&writes, commit) < place(&writes, ACTIVE));
    assert_eq!((texts(&device), device.residents().len()), (vec!["icmp"], 1));
    device.remove_resident(context).unwrap();
    assert!(device.residents().is_empty());
    let other = Device::attach(handle.clone(), handle.clone()).unwrap();
    assert!(other.residents().is_empty() && texts(&other) == ["icmp"]);
    assert_eq!(
        refused(device.stop_resident(context)),
        "context 0 is not loaded; `spindle info` lists the contexts of the card"
    );
}

#[test]
fn a_resident_that_has_not_drained_stays_in_the_list() {
    let (handle, mut device) = attached();
    let context = device.load_resident("one", &image(8, 0), &ContextOptions::default(), |_| vec![]).unwrap();
    device.stop_resident(context).unwrap();
    handle.poke(packet::BASE + packet::CONTEXT_LIVE, 1);
    device.remove_resident(context).unwrap_err();
    let mut other = Device::attach(handle.clone(), handle.clone()).unwrap();
    assert_eq!((other.residents(), other.residents().len()), (device.residents(), 1));
    handle.poke(packet::BASE + packet::CONTEXT_LIVE, 0);
    other.remove_resident(context).unwrap();
    assert!(other.residents().is_empty());
}

#[test]
fn a_card_with_contexts_of_another_program_is_left_alone() {
    let handle = Handle::new(&Config::SIM);
    handle.poke(ACTIVE, 0b1010);
    let mut device = Device::attach(handle.clone(), handle.clone()).unwrap();
    let sentence = "a program has loaded contexts 1, 3 of this card for itself, and its rules are not known; end it \
                    and reset the card";
    for result in [
        device.load_resident("one", &image(8, 0), &ContextOptions::default(), |_| vec![]).map(|_| ()),
        device.add_resident_rule(mailbox("udp")),
        device.put_resident_rules_first(&[mailbox("udp")]),
        device.remove_resident_rules(&[]),
    ] {
        assert_eq!(refused(result), sentence);
    }
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn a_list_that_is_longer_than_its_place_is_not_read() {
    let place = Config::SIM.l2_bytes as u32 - 4096;
    for length in [4093, u32::MAX] {
        let handle = Handle::new(&Config::SIM);
        handle.poke(SCRATCH, 1);
        handle.0.borrow_mut().l2.insert(place, length);
        let device = Device::attach(handle.clone(), handle.clone()).unwrap();
        assert!(device.residents().is_empty() && device.resident_rules().is_empty());
        assert_eq!(handle.reads_of(hpu::BASE + hpu::L2_DATA), 1, "its length alone");
    }
}
