//! Counters and fault reports: which register each value comes from, and counters of 64 bits that change while they are read.

use crate::card::{refused, Handle};
use spindle::counters::{ContextCounters, Counter, Counters};
use spindle::stats::{Fault, Stats};
use spindle::ContextId;
use spindle_contract::params::Config;
use spindle_contract::reasons::{CONTEXT_DROP_COUNT, DROP_COUNT};
use spindle_contract::registers::{global, hpu, node, packet, rvma, Kind, BLOCKS};

#[test]
fn each_statistic_is_a_register_of_its_own() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let packets = [
        packet::FRAMES_IN,
        packet::FRAMES_TO_HPU,
        packet::FRAMES_TO_MAILBOX,
        packet::FRAMES_TO_HOST,
        packet::FRAMES_OUT,
        packet::FRAMES_HANDLED,
        packet::FRAMES_PLACED,
        packet::MESSAGES_OPEN,
        packet::MESSAGES_DONE,
        packet::MESSAGES_FAILED,
        packet::MESSAGES_AGED,
        packet::CELLS_FREE,
    ];
    let hpus = [
        hpu::TASKS_DONE,
        hpu::TASKS_FAULTED,
        hpu::COMMANDS,
        hpu::FAULT_LOST,
        hpu::PRINT_LOST,
        hpu::BUSY_LO,
        hpu::BUSY_HI,
        hpu::INSTRET_LO,
        hpu::INSTRET_HI,
    ];
    let placed = [rvma::PLACED_PACKETS, rvma::PLACED_BYTES, rvma::COMPLETIONS];
    let pages = [(packet::BASE, &packets[..], 100), (hpu::BASE, &hpus[..], 200), (rvma::BASE, &placed[..], 300)];
    for (page, registers, first) in pages {
        (first..).zip(registers).for_each(|(value, register)| handle.poke(page + register, value));
    }
    for reason in 0..DROP_COUNT as u32 {
        handle.poke(packet::BASE + packet::DROPS + 4 * reason, 1000 + reason);
    }
    let expected = Stats {
        frames_in: 100,
        frames_to_hpu: 101,
        frames_to_mailbox: 102,
        frames_to_host: 103,
        frames_out: 104,
        frames_handled: 105,
        frames_placed: 106,
        messages_open: 107,
        messages_done: 108,
        messages_failed: 109,
        messages_aged: 110,
        cells_free: 111,
        tasks_done: 200,
        tasks_faulted: 201,
        commands: 202,
        faults_lost: 203,
        prints_lost: 204,
        busy_cycles: 206 << 32 | 205,
        instructions: 208 << 32 | 207,
        placed_packets: 300,
        placed_bytes: 301,
        completions: 302,
        drops: std::array::from_fn(|reason| 1000 + reason as u32),
    };
    assert_eq!(device.stats().unwrap(), expected);
    assert_eq!(expected.dropped(), (0..DROP_COUNT as u64).map(|reason| 1000 + reason).sum::<u64>());
    assert_eq!(expected.drop_reasons().count(), DROP_COUNT);
    assert_eq!(handle.steps(), vec![], "to look changes nothing");
}

#[test]
fn frames_inside_are_those_that_are_not_over() {
    let mut drops = [0; DROP_COUNT];
    (drops[3], drops[9]) = (2, 3);
    let stats = Stats { frames_in: 20, frames_handled: 5, frames_placed: 6, drops, ..Stats::default() };
    assert_eq!((stats.inside(), stats.dropped()), (4, 5));
    assert_eq!(stats.drop_reasons().collect::<Vec<_>>(), [("bad_ip_length", 2), ("no_rule", 3)]);
    assert_eq!(Stats { frames_in: 16, ..stats.clone() }.inside(), 0);
    assert_eq!(Stats { frames_in: 2, frames_placed: u32::MAX - 8, ..stats }.inside(), 1, "modulo 2^32");
    let most = Stats { drops: [u32::MAX; DROP_COUNT], ..Stats::default() };
    assert_eq!(most.dropped(), DROP_COUNT as u64 * u64::from(u32::MAX));
    let contexts = ContextCounters { drops: [u32::MAX; CONTEXT_DROP_COUNT], ..ContextCounters::default() };
    assert_eq!(contexts.dropped(), CONTEXT_DROP_COUNT as u64 * u64::from(u32::MAX));
}

#[test]
fn a_fault_report_is_read_and_then_removed() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    assert_eq!(device.pop_fault().unwrap(), None);
    assert_eq!(handle.steps(), vec![], "there is none");
    handle.poke(hpu::BASE + hpu::FAULT_COUNT, 1);
    handle.poke(hpu::BASE + hpu::FAULT_WHO, 0xA1_B2_C3_D4);
    handle.poke(hpu::BASE + hpu::FAULT_PC, 0x1000_0044);
    handle.poke(hpu::BASE + hpu::FAULT_ADDRESS, 0x4000_0088);
    handle.poke(hpu::BASE + hpu::FAULT_FRAME, 0x0002_BEEF);
    let fault = Fault {
        cause: 4,
        context: ContextId(0xD),
        hpu: 0xC3,
        cluster: 0xB2,
        msg_slot: 0xA1,
        pc: 0x1000_0044,
        address: 0x4000_0088,
        frame: 0xBEEF,
        kind: 2,
    };
    assert_eq!(device.pop_fault().unwrap(), Some(fault));
    assert_eq!(handle.writes(), vec![(hpu::BASE + hpu::FAULT_POP, 1)]);
    let kinds = [0, 1, 2, 3, 4].map(|kind| Fault { kind, ..fault }.kind_text());
    assert_eq!(kinds, ["header", "payload", "completion", "task", "unknown"]);
    for (cause, name) in [(0, "FAULT_NONE"), (4, "FAULT_STORE"), (8, "FAULT_COMMAND"), (9, "unknown"), (255, "unknown")]
    {
        let (found, meaning) = Fault { cause, ..fault }.cause_text();
        assert_eq!(found, name);
        assert_eq!(meaning == "a cause that this library does not know", name == "unknown", "{cause}: {meaning}");
    }
}

#[test]
fn each_hpu_has_its_load() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for hpu_number in 0..9 {
        handle.poke(hpu::BASE + hpu::HPU_BUSY + 4 * hpu_number, 10 + hpu_number);
        handle.poke(hpu::BASE + hpu::HPU_TASKS + 4 * hpu_number, 20 + hpu_number);
    }
    let expected: Vec<(u32, u32)> = (0..8).map(|number| (10 + number, 20 + number)).collect();
    assert_eq!(device.hpu_load().unwrap(), expected);
    let counters = device.counters().unwrap();
    assert_eq!(counters.hpus.iter().map(|hpu| (hpu.busy, hpu.tasks)).collect::<Vec<_>>(), expected);
}

#[test]
fn a_counter_of_64_bits_is_read_until_its_halves_belong_together() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let (low, high) = (hpu::BASE + hpu::BUSY_LO, hpu::BASE + hpu::BUSY_HI);
    let mut busy = |highs: &[u32], lows: &[u32]| {
        handle.answer(high, highs.iter().copied());
        handle.answer(low, lows.iter().copied());
        device.stats().map(|stats| stats.busy_cycles)
    };
    assert_eq!(busy(&[3, 3], &[9]).unwrap(), 3 << 32 | 9);
    // The low half wrapped around between the two.
    assert_eq!(busy(&[3, 4, 4], &[0xFFFF_FFFF, 2]).unwrap(), 4 << 32 | 2);
    assert_eq!(busy(&[1, 2, 3, 4, 5, 6, 7, 8, 8], &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap(), 8 << 32 | 8, "the last try");
    let sentence = refused(busy(&[1, 2, 3, 4, 5, 6, 7, 8, 9], &[1, 2, 3, 4, 5, 6, 7, 8]));
    assert!(sentence.contains("another high half of the counter at 0x210c at each of 8 reads"), "{sentence}");
}

#[test]
fn counters_have_the_name_the_page_and_the_bits_of_their_registers() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let wide = [(hpu::BASE, hpu::BUSY_HI), (hpu::BASE, hpu::INSTRET_HI)];
    for (page, register) in wide {
        handle.poke(page + register, 7);
    }
    let pages = [packet::BASE, hpu::BASE, rvma::BASE, node::BASE];
    for block in BLOCKS.iter().filter(|block| pages.contains(&block.base)) {
        for register in block.registers.iter().filter(|register| !register.name.ends_with("_HI")) {
            handle.poke(block.base + register.offset, block.base + register.offset);
        }
    }
    handle.poke(global::BASE + global::CYCLE_HI, 3);
    handle.0.borrow_mut().cycle = 1000;
    let all = device.counters().unwrap();
    assert_eq!(all.cycle, 3 << 32 | 1005);
    let levels: Vec<&str> = all.counters.iter().filter(|c| c.level).map(|c| c.name.as_str()).collect();
    assert_eq!(levels, ["messages_open", "cells_free", "mailboxes", "buffers"]);
    for counter in &all.counters {
        let block = BLOCKS.iter().find(|block| block.name == counter.page).unwrap();
        let is_it =
            |name: &str| name.to_lowercase() == counter.name || name.to_lowercase() == counter.name.clone() + "_lo";
        let register = block.registers.iter().find(|register| is_it(register.name)).expect("it is a register");
        let (bits, high) = if register.name.ends_with("_LO") { (64, 7) } else { (32, 0) };
        assert_eq!(counter.value, high << 32 | u64::from(block.base + register.offset), "{}", counter.name);
        assert_eq!((counter.bits, counter.meaning), (bits, register.doc), "{}", counter.name);
        assert!(counter.level || register.kind == Kind::Counter, "{}", counter.name);
    }
    let names: Vec<_> = all.counters.iter().map(|counter| (counter.page, counter.name.clone())).collect();
    assert!(!names.iter().any(|(_, name)| name.ends_with("_hi") || name.ends_with("_lo")), "{names:?}");
    for (page, name) in [("hpu", "busy"), ("hpu", "instret"), ("node", "segments_resent"), ("rvma", "host_frames")] {
        assert!(names.contains(&(page, name.to_owned())), "{page} {name}");
    }
    assert_eq!((all.drops.len(), all.live.len(), all.contexts.len()), (DROP_COUNT, 16, 16));
}

#[test]
fn each_context_has_counters_of_its_own() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let registers = [
        hpu::CONTEXT_TASKS,
        hpu::CONTEXT_FAULTED,
        hpu::CONTEXT_CYCLES_LO,
        hpu::CONTEXT_CYCLES_HI,
        hpu::CONTEXT_INSTRET_LO,
        hpu::CONTEXT_INSTRET_HI,
    ];
    for context in 0..16 {
        (0..6).zip(registers).for_each(|(n, at)| handle.poke(hpu::BASE + at + 4 * context, 100 * n + context));
        handle.poke(packet::BASE + packet::CONTEXT_LIVE + 4 * context, 50 + context);
        handle.poke(packet::BASE + packet::CONTEXT_DROPS + 4 * (32 * context + 31), 70 + context);
    }
    handle.poke(packet::BASE + packet::DROPS + 4 * 31, 1);
    let all = device.counters().unwrap();
    for (context, counters) in (0u32..).zip(&all.contexts) {
        let wide = |n: u32| u64::from(100 * (n + 1) + context) << 32 | u64::from(100 * n + context);
        let mut drops = [0; CONTEXT_DROP_COUNT];
        drops[31] = 70 + context;
        let expected =
            ContextCounters { tasks: context, faulted: 100 + context, cycles: wide(2), instructions: wide(4), drops };
        assert_eq!(*counters, expected, "context {context}");
        assert_eq!(all.live[context as usize], 50 + context);
    }
}

#[test]
fn counters_grow_modulo_their_bits() {
    let counter = |value: u64, bits: u32| Counter {
        page: "packet",
        name: "frames_in".into(),
        meaning: "",
        value,
        bits,
        level: false,
    };
    for (bits, now, before, grown) in [
        (32, 5, 5, 0),
        (32, 5, 3, 2),
        (32, 2, 0xFFFF_FFFE, 4),
        (32, 0, 1, 0xFFFF_FFFF),
        (64, 2, u64::MAX - 1, 4),
        (64, 1 << 40, 1, (1 << 40) - 1),
        (16, 1, 0xFFFF, 2),
    ] {
        assert_eq!(counter(now, bits).since(before), grown, "{bits} bits from {before} to {now}");
    }
    let all = |value: u64| Counters { counters: vec![counter(value, 32)], ..Counters::default() };
    let (now, before) = (all(9), all(4));
    assert_eq!(now.grown(&before, "packet", "frames_in"), 5);
    assert_eq!(now.grown(&before, "hpu", "frames_in"), 0);
    assert_eq!(now.grown(&before, "packet", "frames_out"), 0);
    assert_eq!(now.grown(&Counters::default(), "packet", "frames_in"), 0, "there was no earlier value");
}

#[test]
fn counters_of_a_context_grow_one_by_one() {
    let with = |tasks: u32, faulted: u32, cycles: u64, instructions: u64, dropped: u32| {
        let mut drops = [0; CONTEXT_DROP_COUNT];
        drops[2] = dropped;
        ContextCounters { tasks, faulted, cycles, instructions, drops }
    };
    assert_eq!(with(9, 8, 7, 6, 5).since(&with(8, 6, 4, 2, 0)), with(1, 2, 3, 4, 5));
    let most = with(u32::MAX, u32::MAX, u64::MAX, u64::MAX, u32::MAX);
    assert_eq!(with(0, 1, 2, 3, 4).since(&most), with(1, 2, 3, 4, 5));
    assert_eq!(with(0, 0, 0, 0, 7).drop_reasons().collect::<Vec<_>>(), [("too_long", 7)]);
}
