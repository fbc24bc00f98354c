//! Opening and resetting a card: what is written, what no card can have, and what is forgotten.

use crate::card::{refused, Handle};
use crate::image;
use spindle::device::{block_list, ListedBlock};
use spindle::rule_table::Action;
use spindle::{Access, ContextId, ContextOptions, Device, Error};
use spindle_contract::params::Config;
use spindle_contract::registers::{global, hpu, packet, rvma, Word, BLOCKS, PAGE};

const CONTROL: u32 = packet::BASE + packet::CONTROL;
const ACTIVE: u32 = hpu::BASE + hpu::CTX_ACTIVE;
const SCRATCH: u32 = global::BASE + global::SCRATCH;
const UNCHECKED: u32 = rvma::BASE + rvma::UNCHECKED;
const RESET: u32 = global::BASE + global::RESET;

#[test]
fn a_card_that_is_opened_is_quiet_before_its_rules_change() {
    let handle = Handle::new(&Config::SIM);
    handle.poke(CONTROL, 3);
    handle.open().unwrap();
    let writes = handle.writes();
    let rules = (0..64).map(|slot| (packet::BASE + packet::RULE_COMMIT, slot));
    let expected: Vec<(u32, u32)> = [(CONTROL, 0), (ACTIVE, 0), (SCRATCH, 0), (packet::BASE + packet::RULE_ACTION, 0)]
        .into_iter()
        .chain(rules)
        .chain([(packet::BASE + packet::MATCH_COMMIT, 1), (UNCHECKED, u32::MAX), (UNCHECKED + 4, u32::MAX)])
        .collect();
    assert_eq!(writes, expected);
}

#[test]
fn who_attaches_or_has_a_share_changes_nothing() {
    let handle = Handle::new(&Config::SIM);
    handle.poke(ACTIVE, 0b101);
    handle.poke(UNCHECKED, 0xFFFF_FFF7);
    handle.poke(UNCHECKED + 4, 0);
    let device = Device::attach(handle.clone(), handle.clone()).unwrap();
    assert_eq!(handle.steps(), vec![]);
    assert_eq!(device.strangers(), [ContextId(0), ContextId(2)]);
    assert_eq!([2, 3, 4].map(|process| device.trusts(process)), [true, false, true]);
    let share = Device::share(handle.clone(), handle.clone()).unwrap();
    assert_eq!(handle.steps(), vec![]);
    assert!(share.strangers().is_empty() && share.trusts(3));
    assert_eq!((share.info().clock_mhz, share.info().live_messages), (250, 256));
}

#[test]
fn sizes_are_believed_up_to_what_registers_and_masks_are_made_for() {
    let hpus = |clusters: u32, hpus: u32, contexts: u32| {
        global::Hpus::ZERO.with_clusters(clusters).with_hpus(hpus).with_contexts(contexts).with_match_rules(64).0
    };
    let memory = |kib: u32| global::Memories::ZERO.with_l2_kib(kib).with_imem_kib(32).0;
    let attach = |register: u32, value: u32| {
        let handle = Handle::new(&Config::SIM);
        handle.poke(global::BASE + register, value);
        Device::attach(handle.clone(), handle)
    };
    for (register, value) in [
        (global::HPUS, hpus(1, 1, 1)),
        (global::HPUS, hpus(8, 4, 16)),
        (global::PROCESSES, 1),
        (global::PROCESSES, 64),
        (global::MEMORIES, memory(1)),
    ] {
        attach(register, value).unwrap();
    }
    for (register, value, sentence) in [
        (global::HPUS, hpus(0, 4, 16), "0 HPUs, where 1 to 32 can be"),
        (global::HPUS, hpus(11, 3, 16), "33 HPUs, where 1 to 32 can be"),
        (global::HPUS, hpus(2, 4, 0), "0 execution contexts, where 1 to 16 can be"),
        (global::HPUS, hpus(2, 4, 17), "17 execution contexts, where 1 to 16 can be"),
        (global::PROCESSES, 0, "0 doorbell pages, where 1 to 64 can be"),
        (global::PROCESSES, 65, "65 doorbell pages, where 1 to 64 can be"),
        (global::MEMORIES, memory(0), "0 bytes of context memory, where 1024 to"),
    ] {
        match attach(register, value).err().expect("it is refused") {
            Error::Implausible(what) => assert!(what.starts_with(sentence), "{what}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_card_of_another_kind_or_version_is_refused() {
    let error = |register: u32, value: u32| {
        let handle = Handle::new(&Config::SIM);
        handle.poke(global::BASE + register, value);
        refused(handle.open())
    };
    let library = spindle_contract::VERSION;
    assert_eq!(
        error(global::MAGIC, 0x1234),
        "this BAR is not a Spindle card's: its first register reads 0x00001234; check that the right device is open"
    );
    assert_eq!(
        error(global::VERSION, library + 1),
        format!(
            "the card has contract version {}, this library speaks {library}; use the library that belongs to the \
             card's image",
            library + 1
        )
    );
    let rest = "; its image is not complete";
    assert_eq!(error(global::BLOCKS, 6), format!("the card has no register block `doorbell`{rest}"));
    // The right id at another address, and the right address of another id.
    assert_eq!(error(global::BLOCK_LIST + 8, 0x1000), format!("the card has no register block `global`{rest}"));
    assert_eq!(error(global::BLOCK_LIST, 9), format!("the card has no register block `global`{rest}"));
}

#[test]
fn the_block_list_is_read_as_far_as_it_has_room() {
    let handle = Handle::new(&Config::SIM);
    let list = block_list(&mut handle.clone()).unwrap();
    assert_eq!(list.len(), BLOCKS.len());
    for (entry, block) in list.iter().zip(BLOCKS) {
        let size = if block.name == "doorbell" { 16 * PAGE } else { PAGE };
        let expected = ListedBlock { id: block.id, version: spindle_contract::VERSION, base: block.base, size };
        assert_eq!(*entry, expected);
        assert_eq!(entry.known().map(|page| page.name), Some(block.name));
    }
    assert!(ListedBlock { id: 99, ..list[0] }.known().is_none());
    for (blocks, entries) in [(0, 0), (1, 1), (u32::MAX, 7)] {
        handle.poke(global::BASE + global::BLOCKS, blocks);
        assert_eq!(block_list(&mut handle.clone()).unwrap().len(), entries);
    }
}

#[test]
fn a_reset_forgets_everything_and_returns_whether_the_card_was_quiet() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for (last, quiet) in [(0, true), (2, false)] {
        let context = device.install(&image(8, 0), &ContextOptions::default()).unwrap();
        device.activate(context).unwrap();
        device.add_rule(&"udp".parse().unwrap(), Action::Drop).unwrap();
        device.confine(3).unwrap();
        device.register_region(3, 0..4096, Access::Read).unwrap();
        handle.answer(RESET, [1, 3, 1, last]);
        handle.steps();
        assert_eq!(device.reset().unwrap(), quiet);
        assert_eq!(handle.writes(), vec![(RESET, 1), (UNCHECKED, u32::MAX), (UNCHECKED + 4, u32::MAX)]);
        assert!(device.activate(context).is_err() && device.rule_of_slot(0).is_none() && device.trusts(3));
        assert!(device.deregister_region(3, &(0..4096), Access::Read).is_err());
    }
    // What the slots of the matcher hold is not known: all are written.
    device.add_rule(&"udp".parse().unwrap(), Action::Drop).unwrap();
    let slots = handle.writes().into_iter().filter(|write| write.0 == packet::BASE + packet::RULE_COMMIT).count();
    assert_eq!(slots, 64);
}

#[test]
fn a_cycle_has_64_bits() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().cycle = 0xFFFF_FF00;
    handle.poke(global::BASE + global::CYCLE_HI, 5);
    assert_eq!(device.cycle().unwrap(), 5 << 32 | 0xFFFF_FF05);
}

#[test]
fn a_message_timeout_is_rounded_up_and_has_an_end() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for (cycles, units) in
        [(0, 0), (1, 1), (1024, 1), (1025, 2), (67_107_840 - 1024, 65_534), (67_107_839, 65_535), (67_107_840, 65_535)]
    {
        device.set_message_timeout(cycles).unwrap();
        assert_eq!(handle.writes(), vec![(packet::MessageTimeout::ADDRESS, units)], "{cycles}");
    }
    for cycles in [67_107_841, u64::MAX] {
        let sentence = refused(device.set_message_timeout(cycles));
        assert_eq!(sentence, format!("a message cannot wait for {cycles} cycles; at most 67107840, 0 = for ever"));
    }
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn reception_is_switched_alone() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.poke(CONTROL, 2);
    for (on, word) in [(true, 3), (true, 3), (false, 2), (false, 2)] {
        device.set_receive(on).unwrap();
        assert_eq!(handle.writes(), vec![(CONTROL, word)]);
        assert_eq!(device.receives().unwrap(), on);
    }
}

#[test]
fn a_reset_is_polled_four_million_times() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    // The register keeps what was written: busy.
    let sentence = refused(device.reset());
    assert_eq!(sentence, "the reset of the card did not come within 4000000 cycles");
    assert_eq!(handle.reads_of(RESET), 1 + 4_000_000);
}
