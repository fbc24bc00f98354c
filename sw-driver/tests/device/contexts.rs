//! Contexts: every register of an installation, what is reserved, and what keeps a context from being removed.

use crate::card::{refused, Handle, Step};
use crate::image;
use spindle::counters::ContextCounters;
use spindle::{ContextId, ContextOptions, Device, Image, Overload};
use spindle_contract::memory_map::{base, CODE};
use spindle_contract::params::Config;
use spindle_contract::registers::{hpu, packet};

const ACTIVE: u32 = hpu::BASE + hpu::CTX_ACTIVE;
const PUTS: u32 = hpu::BASE + hpu::CONTEXT_PUTS;
const LIVE: u32 = packet::BASE + packet::CONTEXT_LIVE;

/// A device with contexts of small images.
fn with_contexts(count: usize) -> (Handle, Device<Handle, Handle>) {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for number in 0..count {
        let context = device.install(&image(8, 0), &ContextOptions::default()).unwrap();
        assert_eq!(context, ContextId(number));
    }
    handle.steps();
    (handle, device)
}

#[test]
fn an_image_is_written_before_the_context_that_names_it() {
    let (handle, mut device) = with_contexts(1);
    let image = Image {
        code: vec![1, 2, 3, 4, 5, 6],
        state: vec![7, 8, 9],
        entries: [None, Some(base(CODE) + 4), None, None],
        ..Image::default()
    };
    let options = ContextOptions {
        watchdog: 77,
        state_bytes: 10,
        host_region: Some((0x1_2345_6000, 0x2000)),
        scratch_bytes: Some(65),
        weight: 3,
        message_quota: 5,
        packet_quota: 6,
        overload: Overload::Place,
        core_mask: 0xF0,
        user_header: 9,
        tailroom: 65,
        process: 15,
    };
    assert_eq!(device.install(&image, &options).unwrap(), ContextId(1));
    let expected = [
        (hpu::IMEM_ADDR, 128),
        (hpu::IMEM_DATA, 0x0403_0201),
        (hpu::IMEM_DATA, 0x0605),
        (hpu::L2_ADDR, 0),
        (hpu::L2_DATA, 0x0009_0807),
        (hpu::L2_DATA, 0),
        (hpu::L2_DATA, 0),
        (hpu::CTX_HEADER, 0),
        (hpu::CTX_PAYLOAD, base(CODE) + 4),
        (hpu::CTX_COMPLETION, 0),
        (hpu::CTX_TASK, 0),
        (hpu::CTX_CODE_BASE, 128),
        (hpu::CTX_CODE_SIZE, 6),
        (hpu::CTX_STATE_BASE, 0),
        (hpu::CTX_STATE_SIZE, 12),
        (hpu::CTX_HOST_LO, 0x2345_6000),
        (hpu::CTX_HOST_HI, 1),
        (hpu::CTX_HOST_SIZE, 0x2000),
        (hpu::CTX_WATCHDOG, 77),
        (hpu::CTX_SCRATCH_BASE, 0xC000),
        (hpu::CTX_SCRATCH_SIZE, 128),
        (hpu::CTX_WEIGHT, 3),
        (hpu::CTX_QUOTA, 6 << 16 | 5),
        (hpu::CTX_OVERLOAD, 1),
        (hpu::CTX_CORE_MASK, 0xF0),
        (hpu::CTX_USER_HEADER, 9),
        (hpu::CTX_TAILROOM, 128),
        (hpu::CTX_PROCESS, 15),
        (hpu::CTX_INSTALL, 1),
    ];
    assert_eq!(handle.writes(), expected.map(|(register, value)| (hpu::BASE + register, value)));
}

/// The tailroom is the larger one of what the image declares and what is wanted, in whole beats.
#[test]
fn a_tailroom_is_the_images_at_least() {
    for (declared, wanted, register) in [
        (0, 0, 0),
        (0, 1, 64),
        (0, 64, 64),
        (100, 0, 128),
        (100, 200, 256),
        (200, 100, 256),
        (1984, 0, 1984),
        (0, 1984, 1984),
    ] {
        let (handle, mut device) = with_contexts(0);
        let options = ContextOptions { tailroom: wanted, ..ContextOptions::default() };
        device.install(&Image { tailroom: declared, ..image(8, 0) }, &options).unwrap();
        let installed = handle.0.borrow().installed[0].1.clone();
        assert_eq!(installed[&hpu::CTX_TAILROOM], register, "{declared}, {wanted}");
    }
}

#[test]
fn a_context_without_options_has_a_budget_and_no_limits() {
    let (handle, mut device) = with_contexts(0);
    device.install(&image(8, 0), &ContextOptions::default()).unwrap();
    let installed = handle.0.borrow().installed[0].1.clone();
    for (register, value) in [
        (hpu::CTX_HOST_LO, 0),
        (hpu::CTX_HOST_HI, 0),
        (hpu::CTX_HOST_SIZE, 0),
        (hpu::CTX_STATE_SIZE, 0),
        (hpu::CTX_WATCHDOG, 100_000),
        (hpu::CTX_WEIGHT, 1),
        (hpu::CTX_QUOTA, 0),
        (hpu::CTX_OVERLOAD, 0),
        (hpu::CTX_CORE_MASK, u32::MAX),
        (hpu::CTX_USER_HEADER, 0),
        (hpu::CTX_TAILROOM, 0),
        (hpu::CTX_PROCESS, 0),
    ] {
        assert_eq!(installed[&register], value, "{register:#x}");
    }
    for (overload, code) in [(Overload::Drop, 0), (Overload::Place, 1), (Overload::Pause, 2)] {
        let options = ContextOptions { overload, ..ContextOptions::default() };
        device.install(&image(8, 0), &options).unwrap();
        assert_eq!(handle.register(hpu::BASE + hpu::CTX_OVERLOAD), code);
    }
}

#[test]
fn options_that_the_hardware_would_misunderstand_are_refused_before_anything_is_written() {
    let (handle, mut device) = with_contexts(0);
    let options = ContextOptions::default();
    for (options, sentence) in [
        (ContextOptions { watchdog: 0, ..options }, "the watchdog budget is 0; give a handler at least one cycle"),
        (
            ContextOptions { watchdog: 16_000_001, ..options },
            "a watchdog budget of 16000001 cycles is too large; at most 16000000",
        ),
        (ContextOptions { weight: 0, ..options }, "a context of weight 0 would never run; give it 1 to 255"),
        (
            ContextOptions { message_quota: 512, ..options },
            "a quota of 512 messages is too large; at most 511, 0 = no limit",
        ),
        (
            ContextOptions { packet_quota: 2048, ..options },
            "a quota of 2048 packets is too large; at most 2047, 0 = no limit",
        ),
        (ContextOptions { user_header: 128, ..options }, "a user header of 128 bytes is too long; at most 127"),
        (
            ContextOptions { tailroom: 1985, ..options },
            "a tailroom of 1985 bytes is too large; a packet slot has room for 1984",
        ),
        (
            ContextOptions { core_mask: 0xFFFF_FF00, ..options },
            "no HPU is in the core mask 0xffffff00; the card has HPUs 0xff",
        ),
        (ContextOptions { process: 16, ..options }, "there is no process 16; the card has 16"),
        (
            ContextOptions { scratch_bytes: Some(8193), ..options },
            "a scratchpad of 8193 bytes is too large; a context can have 8192 bytes",
        ),
    ] {
        assert_eq!(refused(device.install(&image(8, 0), &options)), sentence);
        assert_eq!(handle.steps(), vec![]);
    }
    let (code, state) = (Config::SIM.imem_bytes, Config::SIM.l2_bytes);
    for (code, state, sentence) in [
        (code + 1, 0, "the image has 32769 bytes of code, the card's memory for it has 32768; make it smaller"),
        (8, state + 1, "the image has 131076 bytes of state, the card's memory for it has 131072; make it smaller"),
    ] {
        assert_eq!(refused(device.install(&image(code, state), &options)), sentence);
    }
    let options = ContextOptions { state_bytes: state + 1, ..options };
    assert!(refused(device.install(&image(8, 0), &options)).contains("131076 bytes of state"));
    assert_eq!(handle.steps(), vec![]);
    // The whole of both memories.
    device.install(&image(code, state), &ContextOptions::default()).unwrap();
    let sentence = refused(device.install(&image(8, 0), &ContextOptions::default()));
    assert_eq!(sentence, "the card has no room for the handlers' code: 128 wanted, 0 free; remove a context first");
}

#[test]
fn a_card_with_all_hpus_has_a_mask_of_all_bits() {
    let handle = Handle::new(&Config::SIM);
    let hpus = spindle_contract::registers::global::Hpus::of(&Config { clusters: 8, hpus: 4, ..Config::SIM }).0;
    handle.poke(spindle_contract::registers::global::BASE + spindle_contract::registers::global::HPUS, hpus);
    let mut device = handle.open().unwrap();
    let options = ContextOptions { core_mask: 1 << 31, ..ContextOptions::default() };
    device.install(&image(8, 0), &options).unwrap();
    let sentence = refused(device.install(&image(8, 0), &ContextOptions { core_mask: 0, ..options }));
    assert!(sentence.contains("the core mask 0x0; the card has HPUs 0xffffffff"), "{sentence}");
}

#[test]
fn memories_are_reserved_in_powers_of_two() {
    let (handle, mut device) = with_contexts(0);
    let places: Vec<(u32, u32)> = [(129, 65), (8, 0), (300, 4), (128, 64)]
        .into_iter()
        .map(|(code, state)| {
            device.install(&image(code, state), &ContextOptions::default()).unwrap();
            let card = handle.0.borrow();
            let staged = &card.installed.last().unwrap().1;
            (staged[&hpu::CTX_CODE_BASE], staged[&hpu::CTX_STATE_BASE])
        })
        .collect();
    // 256 and 128; 128 and nothing; 512 and 64; 128 and 64.
    assert_eq!(places, [(0, 0), (256, 0), (512, 128), (384, 192)]);
}

#[test]
fn contexts_are_switched_by_their_bits() {
    let (handle, mut device) = with_contexts(3);
    let written = |device: &mut Device<Handle, Handle>, context: usize, on: bool| {
        let done = if on { device.activate(ContextId(context)) } else { device.deactivate(ContextId(context)) };
        done.unwrap();
        handle.writes()
    };
    assert_eq!(written(&mut device, 0, true), vec![(ACTIVE, 1)]);
    assert_eq!(written(&mut device, 2, true), vec![(ACTIVE, 5)]);
    assert_eq!(written(&mut device, 2, true), vec![(ACTIVE, 5)]);
    assert_eq!(written(&mut device, 0, false), vec![(ACTIVE, 4)]);
    assert_eq!(written(&mut device, 0, false), vec![(ACTIVE, 4)]);
    for context in [3, 15, 16, usize::MAX] {
        let sentence = refused(device.activate(ContextId(context)));
        assert_eq!(sentence, format!("context {context} is not installed; install an image first"));
    }
    // What the card did not take is not believed.
    handle.break_register(Some(ACTIVE));
    device.activate(ContextId(1)).unwrap_err();
    device.deactivate(ContextId(2)).unwrap_err();
    handle.break_register(None);
    handle.steps();
    device.activate(ContextId(0)).unwrap();
    assert_eq!(handle.writes(), vec![(ACTIVE, 5)]);
}

#[test]
fn a_context_with_live_messages_is_not_removed() {
    let (handle, mut device) = with_contexts(2);
    device.activate(ContextId(1)).unwrap();
    handle.poke(LIVE + 4, 1);
    handle.poke(LIVE, 99);
    assert_eq!(device.live_messages(ContextId(1)).unwrap(), 1);
    assert_eq!(device.live_messages(ContextId(15)).unwrap(), 0);
    assert_eq!(refused(device.live_messages(ContextId(16))), "there is no context 16; the card has 16, from 0");
    handle.steps();
    let sentence = refused(device.remove(ContextId(1)));
    assert_eq!(sentence, "context 1 still has 1 live messages; wait until they have ended, then remove it");
    assert_eq!(handle.steps(), vec![Step::Write(ACTIVE, 0)], "it accepts nothing more");
    handle.poke(LIVE + 4, 0);
    device.remove(ContextId(1)).unwrap();
    let sentence = refused(device.remove(ContextId(1)));
    assert_eq!(sentence, "context 1 is not installed; install an image first");
}

#[test]
fn a_context_is_removed_when_no_put_of_context_memory_is_seen_once() {
    let (handle, mut device) = with_contexts(1);
    for (looks, puts) in [(16, 3), (16, 1 << 8), (16, 1 << 8 | 255)] {
        handle.poke(PUTS, puts);
        handle.steps();
        let sentence = refused(device.remove(ContextId(0)));
        let now = puts & 0xFF;
        assert_eq!(
            sentence,
            format!(
                "puts of context memory are under way ({now} now); wait until they have ended, then remove context 0"
            )
        );
        assert_eq!(handle.reads_of(PUTS), looks);
    }
    handle.answer(PUTS, [1; 15]);
    handle.poke(PUTS, 0);
    handle.steps();
    device.remove(ContextId(0)).unwrap();
    assert_eq!(handle.reads_of(PUTS), 16);
    assert_eq!(device.install(&image(8, 0), &ContextOptions::default()).unwrap(), ContextId(0), "its place is free");
}

#[test]
fn state_is_read_and_written_inside_of_what_is_reserved() {
    let (handle, mut device) = with_contexts(0);
    device.install(&image(8, 4), &ContextOptions::default()).unwrap();
    let context = device.install(&image(8, 100), &ContextOptions::default()).unwrap();
    handle.steps();
    device.write_state(context, 124, &[1, 2, 3]).unwrap();
    let at = 128 + 124;
    let expected = [(hpu::BASE + hpu::L2_ADDR, at), (hpu::BASE + hpu::L2_DATA, 0x0003_0201)];
    assert_eq!(handle.writes(), expected);
    let mut bytes = [0xFF; 3];
    device.read_state(context, 124, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 3]);
    assert_eq!(handle.writes(), vec![(hpu::BASE + hpu::L2_ADDR, at)]);
    device.read_state(context, 128, &mut []).unwrap();
    device.write_state(context, 128, &[]).unwrap();
    handle.steps();
    for (offset, length, rounded) in [(124, 5, 8), (128, 1, 4), (2, 4, 4), (0, 129, 132)] {
        let sentence = refused(device.write_state(context, offset, &vec![0; length]));
        assert_eq!(
            sentence,
            format!(
                "{rounded} bytes from {offset} on are not in the 128 bytes of the context's memory, or not aligned to 4"
            )
        );
        assert!(device.read_state(context, offset, &mut vec![0; length]).is_err());
    }
    assert_eq!(refused(device.read_state(ContextId(2), 0, &mut [0])), "context 2 is not installed");
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn what_a_context_used_before_its_installation_is_not_its_own() {
    let (handle, mut device) = with_contexts(0);
    let at = |register: u32| hpu::BASE + register + 4;
    let drops = packet::BASE + packet::CONTEXT_DROPS + 4 * 32;
    let count = |tasks: u32, cycles: u32, high: u32, dropped: u32| {
        handle.poke(at(hpu::CONTEXT_TASKS), tasks);
        handle.poke(at(hpu::CONTEXT_FAULTED), tasks + 1);
        handle.poke(at(hpu::CONTEXT_CYCLES_LO), cycles);
        handle.poke(at(hpu::CONTEXT_CYCLES_HI), high);
        handle.poke(at(hpu::CONTEXT_INSTRET_LO), cycles + 1);
        handle.poke(at(hpu::CONTEXT_INSTRET_HI), high + 1);
        handle.poke(packet::BASE + packet::DROPS + 4 * 26, 1);
        handle.poke(drops + 4 * 26, dropped);
        // Of a reason for which no frame was dropped, none is read.
        handle.poke(drops + 4 * 27, 1000);
    };
    count(10, 5, 7, 2);
    device.install(&image(8, 0), &ContextOptions::default()).unwrap();
    let context = device.install(&image(8, 0), &ContextOptions::default()).unwrap();
    assert_eq!(device.context_counters(context).unwrap(), ContextCounters::default());
    count(13, 4, 8, 7);
    let counters = device.context_counters(context).unwrap();
    assert_eq!((counters.tasks, counters.faulted), (3, 3));
    assert_eq!((counters.cycles, counters.instructions), (u64::from(u32::MAX), u64::from(u32::MAX)));
    assert_eq!(counters.drop_reasons().collect::<Vec<_>>(), [("quota", 5)]);
    assert_eq!(counters.dropped(), 5);
    assert_eq!(device.context_counters(ContextId(0)).unwrap(), ContextCounters::default());
    assert_eq!(refused(device.context_counters(ContextId(16))), "there is no context 16; the card has 16, from 0");
    // Another program's view has all of it.
    let mut other = Device::attach(handle.clone(), handle.clone()).unwrap();
    assert_eq!(other.context_counters(context).unwrap().tasks, 13);
    assert_eq!(device.counters().unwrap().contexts[1].tasks, 13);
    assert_eq!(device.counters().unwrap().contexts[1].drops[26], 7);
}

#[test]
fn a_context_that_was_not_installed_leaves_its_place() {
    let (handle, mut device) = with_contexts(1);
    for broken in [hpu::IMEM_DATA, hpu::L2_ADDR, hpu::CTX_WEIGHT, hpu::CTX_INSTALL] {
        handle.break_register(Some(hpu::BASE + broken));
        device.install(&image(8, 4), &ContextOptions::default()).unwrap_err();
        handle.break_register(None);
        assert!(device.activate(ContextId(1)).is_err(), "{broken:#x}");
    }
    assert_eq!(device.install(&image(8, 4), &ContextOptions::default()).unwrap(), ContextId(1));
    assert_eq!(handle.register(hpu::BASE + hpu::CTX_CODE_BASE), 128, "the place after the first context");
    assert_eq!(handle.register(hpu::BASE + hpu::CTX_STATE_BASE), 0);
}
