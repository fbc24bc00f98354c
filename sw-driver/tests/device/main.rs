//! The driver against a card that exists only as a table of registers: what it writes, and what it makes of bad answers.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod card;
mod commands;
mod contexts;
mod counters;
mod events;
mod frames;
mod mailboxes;
mod nodes;
mod opening;
mod prints;
mod puts;
mod regions;
mod residents;
mod rules;
mod shell;
mod stocks;
mod trace;
mod windows;

use card::Handle;
use rand::Rng;
use spindle::events::Outcome;
use spindle::image::UserHeader;
use spindle::reliable::Reliability;
use spindle::resident::{Effect, ResidentRule};
use spindle::rule::Headers;
use spindle::rule_table::Action;
use spindle::rvma::Window;
use spindle::{
    ContextId, ContextOptions, Device, Error, Event, EventKind, Image, Kind, Node, Overload, Rule, Stream, Target,
};
use spindle_contract::events as records;
use spindle_contract::memory_map::{base, CODE, WATCHDOG_MOST};
use spindle_contract::params::{Config, MATCH_TERMS};
use spindle_contract::registers::{
    self, doorbell, doorbell_command, doorbell_error, global, hpu, mailbox_mode, node, packet, PAGE,
};
use spindle_model::packet_engine::header_matcher::{matches, Match};
use std::collections::{HashMap, VecDeque};

fn image(code: usize, state: usize) -> Image {
    let mut image = Image {
        code: (0..code).map(|i| i as u8).collect(),
        state: vec![0x5a; state],
        entries: [Some(base(CODE)), None, Some(base(CODE) + 8), None],
        ..Image::default()
    };
    image.code.resize(code, 0);
    image
}

#[test]
fn a_card_says_what_it_is() {
    for config in Config::ALL {
        let device = Handle::new(&config).open().unwrap();
        let info = device.info();
        assert_eq!(
            (info.clusters, info.hpus, info.contexts, info.match_rules),
            (config.clusters, config.hpus, config.contexts, config.match_rules)
        );
        assert_eq!(
            (info.imem_bytes, info.l2_bytes, info.packet_buffer_bytes),
            (config.imem_bytes, config.l2_bytes, config.packet_buffer_bytes)
        );
        assert_eq!(
            (info.mailboxes, info.posted_buffers, info.processes),
            (config.mailboxes, config.posted_buffers, config.processes)
        );
    }
}

#[test]
fn what_is_no_card_of_ours_is_refused() {
    let refused = |address: u32, value: u32| {
        let handle = Handle::new(&Config::SIM);
        handle.poke(address, value);
        handle.open().err().expect("must be refused")
    };
    assert!(matches!(refused(global::BASE + global::MAGIC, 0xffff_ffff), Error::NotSpindle(0xffff_ffff)));
    assert!(matches!(refused(global::BASE + global::VERSION, 2), Error::Version { card: 2, .. }));
    assert!(matches!(refused(global::BASE + global::BLOCKS, 3), Error::NoBlock("rvma")));
    assert!(matches!(refused(global::BASE + global::BLOCK_LIST + 16 + 8, 0x9000), Error::NoBlock("packet")));
    // An absurd count ends too.
    let handle = Handle::new(&Config::SIM);
    handle.poke(global::BASE + global::BLOCKS, u32::MAX);
    handle.open().unwrap();
}

/// The tables that the driver writes mean what the rules mean, whatever the frame.
#[test]
fn rules_reach_the_card_as_they_are_written() {
    spindle_testing::with_seeds(|| {
        let texts = [
            "udp.dport == 9 && ip.src in 10.0.0.0/8",
            "!(icmp || vlan) && frame.len < 100",
            "udp.dport != 9 || spindle.addr == 0x0202020202020202",
            "ip.tos in 3..9 && eth[60:4] > 0x1000000",
            "udp[20:2] == 0x0101 || udp[23] == 2 || vlan.id == 0x101",
        ];
        let rules: Vec<Rule> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let handle = Handle::new(&Config::SIM);
        let mut device = handle.open().unwrap();
        for (i, rule) in rules.iter().enumerate() {
            device.add_rule(rule, Action::Context(ContextId(i))).unwrap();
            assert_eq!(handle.0.borrow().commits, 2 + i, "one commit a rule, and one when the card was opened");
        }
        let mut random = spindle_testing::seeded_rng("rules_reach_the_card_as_they_are_written");
        let mut compare = |rules: &[&Rule], context: &dyn Fn(usize) -> usize| {
            let card = handle.0.borrow();
            let mut won = vec![0; rules.len() + 1];
            for _ in 0..spindle_testing::share(20_000) {
                // Few values, so that every test is met often.
                let mut frame = vec![0u8; random.random_range(14..140)];
                frame.iter_mut().for_each(|byte| *byte = random.random_range(0..3));
                if frame.len() > 40 {
                    frame[15] = random.random_range(0..12);
                    (frame[36], frame[37], frame[26]) = (0, random.random_range(8..10), random.random_range(9..12));
                }
                let headers = Headers { frame: &frame, flags: random.random_range(0..32) };
                let seen = spindle_model::packet_engine::header_matcher::Headers {
                    frame: &frame,
                    vlan: headers.flags & 1 == 1,
                    flags: headers.flags,
                };
                let chosen = match matches(&card.rules, &seen) {
                    Match::Rule { number, .. } => Some(usize::from(card.rules.rules[number].context)),
                    Match::Drop(reason) => {
                        assert_eq!(reason, spindle_contract::reasons::NO_RULE);
                        None
                    }
                    Match::Unmatched => unreachable!("the set has no host window"),
                };
                let wanted = rules.iter().position(|rule| rule.matches(&headers));
                won[wanted.unwrap_or(rules.len())] += 1;
                assert_eq!(chosen, wanted.map(context), "{headers:x?}");
            }
            assert!(won.iter().all(|times| *times > 20), "a rule never won: {won:?}");
        };
        compare(&rules.iter().collect::<Vec<_>>(), &|i| i);

        // Another set, at once.
        let others = [&rules[4], &rules[2]];
        let commits = handle.0.borrow().commits;
        device.replace_rules(others.iter().map(|rule| (*rule, Action::Context(ContextId(7))))).unwrap();
        assert_eq!(handle.0.borrow().commits, commits + 1);
        compare(&others, &|_| 7);
        device.clear_rules().unwrap();
        assert!(handle.0.borrow().rules.rules.iter().all(|rule| !rule.valid));
    });
}

#[test]
fn full_tables_are_said_to_be_full() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    let many: Vec<String> = (0..Config::SIM.match_rules).map(|i| format!("eth.type == {i}")).collect();
    device.add_rule(&many.join(" || ").parse().unwrap(), Action::Drop).unwrap();
    let error = device.add_rule(&"udp".parse().unwrap(), Action::Drop).unwrap_err().to_string();
    assert!(error.contains("alternatives of the rule"), "{error}");
    device.clear_rules().unwrap();
    device.add_rule(&"udp".parse().unwrap(), Action::Drop).unwrap();
    let before = handle.0.borrow().commits;
    let terms: Vec<String> = (0..=MATCH_TERMS).map(|i| format!("eth.type != {i}")).collect();
    let error = device.add_rule(&terms.join(" && ").parse().unwrap(), Action::Drop).unwrap_err().to_string();
    assert!(error.contains("`eth.type`, `ip.tos` 16 words (80 terms)"), "{error}");
    assert_eq!(handle.0.borrow().commits, before, "a rule that is refused changes nothing");
    device.add_rule(&terms[..MATCH_TERMS].join(" && ").parse().unwrap(), Action::Drop).unwrap();
}

#[test]
fn images_are_placed_and_installed() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    let first = device
        .install(
            &image(300, 8),
            &ContextOptions { host_region: Some((0x1_2345_6000, 4096)), ..ContextOptions::default() },
        )
        .unwrap();
    let second = device
        .install(&image(1000, 0), &ContextOptions { watchdog: 9, state_bytes: 100, ..ContextOptions::default() })
        .unwrap();
    {
        let card = handle.0.borrow();
        let [(a, one), (b, two)] = &card.installed[..] else { panic!("two contexts") };
        assert_eq!((*a as usize, *b as usize), (first.0, second.0));
        assert_eq!(
            (one[&hpu::CTX_HEADER], one[&hpu::CTX_PAYLOAD], one[&hpu::CTX_COMPLETION]),
            (base(CODE), 0, base(CODE) + 8)
        );
        assert_eq!((one[&hpu::CTX_HOST_LO], one[&hpu::CTX_HOST_HI], one[&hpu::CTX_HOST_SIZE]), (0x2345_6000, 1, 4096));
        assert_eq!((two[&hpu::CTX_WATCHDOG], two[&hpu::CTX_STATE_SIZE], two[&hpu::CTX_CODE_SIZE]), (9, 100, 1000));
        assert_eq!(two[&hpu::CTX_CODE_BASE] % 1024, 0);
        assert_eq!((one[&hpu::CTX_SCRATCH_BASE], one[&hpu::CTX_SCRATCH_SIZE]), (0xA000, 8192));
        assert_eq!((two[&hpu::CTX_SCRATCH_BASE], two[&hpu::CTX_SCRATCH_SIZE]), (0xC000, 4096));
        let code = two[&hpu::CTX_CODE_BASE];
        assert!((0..250)
            .all(|i| card.imem[&(code + 4 * i)]
                == u32::from_le_bytes(std::array::from_fn(|b| (4 * i as usize + b) as u8))));
    }
    let mut state = [0; 8];
    device.read_state(first, 0, &mut state).unwrap();
    assert_eq!(state, [0x5a; 8]);
    assert!(device.read_state(first, 2, &mut state).is_err());
    device.activate(second).unwrap();
    assert_eq!(handle.0.borrow().registers[&(hpu::BASE + hpu::CTX_ACTIVE)], 1 << second.0);
    assert!(device.activate(ContextId(9)).unwrap_err().to_string().contains("not installed"));
    let large = device.install(&image(40_000, 0), &ContextOptions::default()).unwrap_err().to_string();
    assert!(large.contains("40000 bytes of code") && large.contains("32768"), "{large}");
    for watchdog in [0, WATCHDOG_MOST + 1, u32::MAX] {
        let options = ContextOptions { watchdog, ..ContextOptions::default() };
        let refused = device.install(&image(8, 0), &options).unwrap_err().to_string();
        assert!(refused.contains("watchdog"), "{refused}");
    }
    let full = std::iter::repeat_with(|| device.install(&image(8, 0), &ContextOptions::default()))
        .take(20)
        .find_map(std::result::Result::err);
    assert!(full.unwrap().to_string().contains("execution context"));
}

/// There is no start code: the driver initialises variables, for each context of an image anew, whatever was there before.
#[test]
fn each_context_of_an_image_has_its_own_variables() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    handle.0.borrow_mut().l2 = (0..Config::SIM.l2_bytes as u32).step_by(4).map(|at| (at, 0xDEAD_DEAD)).collect();
    let mut image = image(64, 100);
    image.state[60..].fill(0);
    let options = ContextOptions { state_bytes: 300, ..ContextOptions::default() };
    let contexts = [0; 3].map(|_| device.install(&image, &options).unwrap());
    let bases: Vec<u32> = handle.0.borrow().installed.iter().map(|(_, one)| one[&hpu::CTX_STATE_BASE]).collect();
    let expected = [image.state.clone(), vec![0; 200]].concat();
    let check = |device: &mut Device<Handle, Handle>, context: ContextId| {
        let mut state = [0xFF; 300];
        device.read_state(context, 0, &mut state).unwrap();
        assert!(state[..] == expected[..], "{context:?}: {state:x?}");
    };
    contexts.iter().for_each(|context| check(&mut device, *context));
    // A handler of the second writes all of its memory: the others keep theirs, and so does who comes after it.
    for at in (0..300).step_by(4) {
        handle.0.borrow_mut().l2.insert(bases[1] + at, at);
    }
    check(&mut device, contexts[0]);
    check(&mut device, contexts[2]);
    device.remove(contexts[1]).unwrap();
    let again = device.install(&image, &options).unwrap();
    assert_eq!(handle.0.borrow().installed[3].1[&hpu::CTX_STATE_BASE], bases[1]);
    check(&mut device, again);
}

#[test]
fn printed_text_is_drained() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    assert_eq!(device.prints().unwrap(), []);
    let word = |text: &[u8; 4]| u32::from_le_bytes(*text);
    handle.0.borrow_mut().prints = VecDeque::from([
        [8 | 3 << 4 | 2 << 8 | 1 << 16 | 1 << 24, 0xBEEF, word(b"leng"), word(b"h 64")],
        [1 | 15 << 4, 7, word(b"\n..."), word(b"....")],
    ]);
    let prints = device.prints().unwrap();
    assert_eq!(prints.len(), 2);
    assert_eq!((prints[0].cluster, prints[0].hpu, prints[0].context, prints[0].kind), (1, 2, ContextId(3), 1));
    assert_eq!((prints[0].frame, prints[0].text.as_slice()), (0xBEEF, b"lengh 64".as_slice()));
    assert_eq!((prints[1].context, prints[1].frame, prints[1].text.as_slice()), (ContextId(15), 7, b"\n".as_slice()));
    assert_eq!(device.prints().unwrap(), []);
    handle.poke(hpu::BASE + hpu::PRINT_LOST, 5);
    assert_eq!(device.stats().unwrap().prints_lost, 5);
}

#[test]
fn events_are_read_in_order_and_their_places_given_back() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    for records in [0, 1, 3, 48, 1 << 16] {
        assert!(matches!(device.open_ring(0, records), Err(Error::Argument(_))), "{records} records");
    }
    assert!(matches!(device.open_ring(99, 8), Err(Error::Argument(_))), "no such process");
    let mut ring = device.open_ring(1, 8).unwrap();
    let page = doorbell::BASE + PAGE;
    let register = |offset: u32| handle.0.borrow().registers.get(&(page + offset)).copied().unwrap_or(0);
    let base = u64::from(register(doorbell::BUFFER_HI)) << 32 | u64::from(register(doorbell::BUFFER_LO));
    assert_eq!((register(doorbell::SIZE), base % 256), (256, 0));
    assert_eq!(handle.0.borrow().commands.last(), Some(&(page + doorbell::COMMAND, doorbell_command::OPEN_RING)));

    let put = |number: u32, words: [u32; 7]| {
        let at = base + u64::from((number - 1) % 8) * records::BYTES as u64;
        for (i, word) in words.iter().chain([&number]).enumerate() {
            handle.store(at + 4 * i as u64, &word.to_le_bytes());
        }
    };
    assert_eq!(device.poll_event(&mut ring).unwrap(), None);
    assert!(matches!(device.wait_event(&mut ring, 20), Err(Error::Timeout { .. })));
    put(1, [1 | 5 << 8 | 2 << 16 | 1 << 24, 77, 1000, 10, 0x0A00_0001, 0xDDCC_BBAA, 0x1122_3344]);
    put(2, [2 | 3 << 8 | 6 << 16, 0x1000_0010, 2 | 1 << 8 | 9 << 16, 0x2000_0000, 0xBEEF | 1 << 16, 0, 0]);
    put(3, [3 | 3 << 8 | 2 << 16, 0, 0, 0, 7, u32::from_le_bytes(*b"ok??"), 0]);
    put(4, [6, 0, 12, 0, 0, 0, 0]);
    let mut next = || device.wait_event(&mut ring, 20).unwrap();
    let message = EventKind::Message {
        outcome: Outcome::Failed,
        id: 77,
        length: 1000,
        dropped: 10,
        source: 0x0A00_0001,
        match_bits: 0x1122_3344_DDCC_BBAA,
        flow_control: true,
    };
    assert_eq!(next(), Event { number: 1, context: ContextId(5), kind: message });
    assert_eq!(register(doorbell::EVENT_HEAD), 0, "places are given back in quarters");
    let EventKind::Fault(fault) = next().kind else { panic!("a fault") };
    assert_eq!((fault.cause, fault.cluster, fault.hpu, fault.msg_slot, fault.pc), (6, 1, 2, 9, 0x1000_0010));
    assert_eq!((fault.address, fault.frame, fault.kind), (0x2000_0000, 0xBEEF, 1));
    assert_eq!(register(doorbell::EVENT_HEAD), 2);
    let EventKind::Print(print) = next().kind else { panic!("a print") };
    assert_eq!((print.text.as_slice(), print.frame, print.context), (b"ok".as_slice(), 7, ContextId(3)));
    assert_eq!(next().kind, EventKind::Lost(12));
    put(5, [4, 0, 8, 0, 0, 1, 2]);
    assert_eq!(next().kind, EventKind::User { user: 2 << 32 | 1, length: 8 });
    put(6, [7 | 1 << 16, 9, 3000, 18, 0xABCD_0004, 5, 6]);
    let over = EventKind::Put {
        number: 0xABCD,
        acknowledged: false,
        refusal: Some(18),
        id: 9,
        length: 3000,
        node: 4,
        address: 6 << 32 | 5,
    };
    assert_eq!(next().kind, over);
    // The next record is of the previous round, so the ring is empty; the empty poll gives all places back.
    assert_eq!(device.poll_event(&mut ring).unwrap(), None);
    assert_eq!(register(doorbell::EVENT_HEAD), 6);
    device.close_ring(ring).unwrap();
    assert_eq!((register(doorbell::SIZE), register(doorbell::EVENT_HEAD)), (0, 0));
}

#[test]
fn mailboxes_are_waited_for_and_no_longer() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    handle.0.borrow_mut().doorbell = (7, 3);
    let window = device.init_window(2, 0x1_0000_0002, 5, 64).unwrap();
    assert_eq!((window.mailbox, window.process), (7, 2));
    assert_eq!(
        handle.0.borrow().commands,
        [(doorbell::BASE + 2 * registers::PAGE + doorbell::COMMAND, doorbell_command::INIT_WINDOW)]
    );
    handle.0.borrow_mut().doorbell = (doorbell_error::EXISTS << 16, 0);
    assert!(device.init_window(2, 1, 5, 64).unwrap_err().to_string().contains("open already"));
    handle.0.borrow_mut().doorbell = (0, u32::MAX);
    assert!(device.init_window(2, 1, 5, 64).unwrap_err().to_string().contains("did not answer"));
    assert!(device.init_window(99, 1, 5, 64).unwrap_err().to_string().contains("no doorbell page"));

    handle.0.borrow_mut().doorbell = (0, 0);
    let posted = device.post_buffer(window, 64).unwrap();
    assert!(matches!(device.wait(&posted, 1000), Err(Error::Timeout { cycles: 1000, .. })));
    let mut record = [64, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    record[8..].copy_from_slice(&posted.buffer.to_le_bytes());
    let due = handle.0.borrow().cycle + 300;
    handle.0.borrow_mut().complete = Some((due, posted.record, record));
    let completed = device.wait(&posted, 1000).unwrap();
    assert_eq!((completed.length, completed.status, completed.epoch, completed.buffer), (64, 1, 3, posted.buffer));
}

/// A stream counts the messages that the card took, over the end of sixteen bits; each says its ordinal and the kind of its target.
#[test]
fn a_stream_counts_its_messages() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    let target = Target { node: 3, process: 1, address: 0x77, key: 9, offset: 50, kind: Kind::Bound };
    let mut stream = Stream::new(target);
    let page = doorbell::BASE + PAGE;
    let staged = |register: u32| handle.0.borrow().registers[&(page + register)];
    for ordinal in 0..(1 << 16) + 3u32 {
        device.put_next(1, 0x1000, 8, &mut stream).unwrap();
        assert_eq!(staged(doorbell::COUNT), ordinal & 0xFFFF);
    }
    assert_eq!((staged(doorbell::MODE), staged(doorbell::OFFSET)), (mailbox_mode::STREAM, 0));
    handle.0.borrow_mut().doorbell = (doorbell_error::OUT_OF_REGION << 16, 0);
    assert!(device.put_next(1, 0x1000, 8, &mut stream).is_err());
    assert_eq!(stream.target().kind, Kind::Ordered(3), "a put that was not taken has no turn");
}

/// Times that the card would take for over at once.
#[test]
fn times_of_the_sender_have_limits() {
    let mut device = Handle::new(&Config::SIM).open().unwrap();
    let mut set =
        |timeout, hole_time| device.set_reliability(Some(Reliability { timeout, hole_time, ..Reliability::default() }));
    set(4095, 32_767).unwrap();
    for (timeout, hole_time, limit) in [(4096, 1, "at most 4095"), (1, 32_768, "at most 32767")] {
        let refused = set(timeout, hole_time).unwrap_err().to_string();
        assert!(refused.contains(limit), "{refused}");
    }
}

#[test]
fn counters_add_up_modulo_their_width() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    handle.poke(packet::BASE + packet::FRAMES_IN, 5);
    handle.poke(packet::BASE + packet::FRAMES_HANDLED, u32::MAX - 1);
    handle.poke(packet::BASE + packet::DROPS + 4 * 9, 4);
    let stats = device.stats().unwrap();
    assert_eq!((stats.inside(), stats.dropped()), (3, 4));
    assert_eq!(stats.drop_reasons().collect::<Vec<_>>(), [("no_rule", 4)]);
    assert_eq!(device.pop_fault().unwrap(), None);
    handle.poke(hpu::BASE + hpu::FAULT_COUNT, 1);
    handle.poke(hpu::BASE + hpu::FAULT_WHO, 0x0501_0236);
    handle.poke(hpu::BASE + hpu::FAULT_FRAME, 0x0001_0042);
    let fault = device.pop_fault().unwrap().unwrap();
    assert_eq!((fault.cause, fault.context.0, fault.hpu, fault.cluster, fault.msg_slot), (6, 3, 2, 1, 5));
    assert_eq!((fault.cause_text().0, fault.kind_text(), fault.frame), ("FAULT_WATCHDOG", "payload", 0x42));
}

#[test]
fn limits_of_a_context_reach_the_card() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    let options = ContextOptions {
        weight: 7,
        message_quota: 300,
        packet_quota: 1025,
        overload: Overload::Pause,
        core_mask: 0x81,
        user_header: 16,
        process: 3,
        ..ContextOptions::default()
    };
    let context = device.install(&image(8, 0), &options).unwrap();
    let installed = handle.0.borrow().installed[0].1.clone();
    for (register, value) in [
        (hpu::CTX_WEIGHT, 7),
        (hpu::CTX_QUOTA, 1025 << 16 | 300),
        (hpu::CTX_OVERLOAD, 2),
        (hpu::CTX_CORE_MASK, 0x81),
        (hpu::CTX_USER_HEADER, 16),
        (hpu::CTX_PROCESS, 3),
    ] {
        assert_eq!(installed[&register], value, "{register:#x}");
    }
    for (options, word) in [
        (ContextOptions { weight: 0, ..options }, "weight 0"),
        (ContextOptions { message_quota: 512, ..options }, "512 messages"),
        (ContextOptions { packet_quota: 2048, ..options }, "2048 packets"),
        (ContextOptions { user_header: 128, ..options }, "128 bytes"),
        (ContextOptions { core_mask: 0x100, ..options }, "core mask 0x100"),
        (ContextOptions { process: 16, ..options }, "process 16"),
    ] {
        let error = device.install(&image(8, 0), &options).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    // The largest values are taken.
    for options in [
        ContextOptions { weight: 255, ..options },
        ContextOptions { message_quota: 511, ..options },
        ContextOptions { packet_quota: 2047, ..options },
        ContextOptions { user_header: 127, ..options },
        ContextOptions { core_mask: 0x80, ..options },
        ContextOptions { process: 15, ..options },
        ContextOptions { watchdog: 1, ..options },
        ContextOptions { watchdog: spindle_contract::memory_map::WATCHDOG_MOST, ..options },
    ] {
        let context = device.install(&image(8, 0), &options).unwrap();
        device.remove(context).unwrap();
    }
    // What is alive keeps its memory.
    handle.poke(packet::BASE + packet::CONTEXT_LIVE, 2);
    let error = device.remove(context).unwrap_err().to_string();
    assert!(error.contains("2 live messages"), "{error}");
    handle.poke(packet::BASE + packet::CONTEXT_LIVE, 0);
    // So does what may be sent again.
    handle.poke(hpu::BASE + hpu::CONTEXT_PUTS, 3);
    let error = device.remove(context).unwrap_err().to_string();
    assert!(error.contains("(3 now)"), "{error}");
    handle.poke(hpu::BASE + hpu::CONTEXT_PUTS, 0);
    device.remove(context).unwrap();
}

#[test]
fn nodes_reach_the_card() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    device.set_identity(9, [2, 1, 0xA, 0xB, 0xC, 0xD], [10, 0, 0, 1]).unwrap();
    let entry = Node { mac: [2, 0, 0, 0, 1, 5], ip: [10, 0, 0, 5], port: 4795 };
    device.set_node(255, Some(entry)).unwrap();
    let word = |register: u32| handle.0.borrow().registers[&(node::BASE + register)];
    assert_eq!((word(node::LOCAL_NID), word(node::LOCAL_IP)), (9, 0x0A00_0001));
    assert_eq!((word(node::LOCAL_MAC_HI), word(node::LOCAL_MAC_LO)), (0x0201, 0x0A0B_0C0D));
    assert_eq!((word(node::NODE_MAC_HI), word(node::NODE_MAC_LO)), (0x0200, 0x0000_0105));
    assert_eq!((word(node::NODE_IP), word(node::NODE_PORT)), (0x0A00_0005, 0x8000_0000 | 4795));
    assert_eq!(word(node::NODE_COMMIT), 255);
    device.set_node(3, None).unwrap();
    assert_eq!((word(node::NODE_PORT), word(node::NODE_COMMIT)), (0, 3));
    assert!(device.set_node(256, None).unwrap_err().to_string().contains("no node 256"));
}

#[test]
fn a_context_waits_for_the_user_header_of_its_image() {
    let header = |bytes| Some(UserHeader { name: "struct request".into(), bytes });
    for (declared, asked, expected) in [
        (None, 0, Some(0)),
        (None, 9, Some(9)),
        (Some(12), 0, Some(12)),
        (Some(12), 12, Some(12)),
        (Some(12), 13, None),
    ] {
        let handle = Handle::new(&Config::SIM);
        let mut device = handle.open().unwrap();
        let image = Image { user_header: declared.and_then(header), ..image(100, 0) };
        let installed = device.install(&image, &ContextOptions { user_header: asked, ..ContextOptions::default() });
        match expected {
            Some(bytes) => {
                installed.unwrap();
                let card = handle.0.borrow();
                assert_eq!(card.installed[0].1[&hpu::CTX_USER_HEADER], bytes, "{declared:?} {asked}");
            }
            None => {
                let error = installed.unwrap_err().to_string();
                assert!(error.contains("`struct request` of 12 bytes") && error.contains("13 bytes"), "{error}");
                assert!(handle.0.borrow().installed.is_empty());
            }
        }
    }
}

#[test]
fn state_is_written_while_handlers_run() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    let context = device.install(&image(100, 40), &ContextOptions::default()).unwrap();
    device.write_state(context, 8, &[1, 2, 3, 4, 5]).unwrap();
    let mut bytes = [0; 16];
    device.read_state(context, 4, &mut bytes).unwrap();
    assert_eq!(bytes, [0x5a, 0x5a, 0x5a, 0x5a, 1, 2, 3, 4, 5, 0, 0, 0, 0x5a, 0x5a, 0x5a, 0x5a]);
    for (offset, length) in [(2, 4), (60, 8), (64, 1)] {
        assert!(device.write_state(context, offset, &vec![0; length]).is_err(), "{offset} {length}");
    }
    assert!(device.write_state(ContextId(3), 0, &[0; 4]).is_err());
}

/// Rule and effect of a resident.
fn resident_rule(rule: &str, effect: Effect) -> ResidentRule {
    ResidentRule { rule: rule.into(), effect }
}

#[test]
fn residents_are_found_by_the_next_program() {
    let handle = Handle::new(&Config::SIM);
    let attach = || Device::attach(handle.clone(), handle.clone()).unwrap();
    let mut first = attach();
    assert!(first.residents().is_empty());
    let options = ContextOptions { process: 3, ..ContextOptions::default() };
    let rules = |context| vec![resident_rule("udp.dport == 9", Effect::Packets(context))];
    let loaded = first.load_resident("ping", &image(100, 40), &options, rules).unwrap();
    first.add_resident_rule(resident_rule("spindle", Effect::Mailbox)).unwrap();
    let active = |mask: u32| assert_eq!(handle.0.borrow().registers[&(hpu::BASE + hpu::CTX_ACTIVE)], mask);
    active(1);

    // Who looks changes nothing but the pointer into L2.
    let settled = || {
        let card = handle.0.borrow();
        let registers: HashMap<_, _> =
            card.registers.clone().into_iter().filter(|(a, _)| *a != hpu::BASE + hpu::L2_ADDR).collect();
        (registers, card.commits, card.l2.clone())
    };
    let before = settled();
    let mut second = attach();
    assert!(settled() == before, "attaching changed the card");
    assert_eq!((second.residents(), second.resident_rules()), (first.residents(), first.resident_rules()));
    assert_eq!((second.residents()[0].name.as_str(), second.residents()[0].process), ("ping", 3));

    // Another context goes beside the first, and the rules of both are in the card.
    let rules = |context| vec![resident_rule("icmp", Effect::Messages(context))];
    let other = second.load_resident("pong", &image(100, 40), &options, rules).unwrap();
    assert_eq!((loaded, other), (ContextId(0), ContextId(1)));
    active(3);
    let base = |context: usize| handle.0.borrow().installed[context].1[&hpu::CTX_STATE_BASE];
    assert_ne!(base(0), base(1));
    let effects = |device: &Device<Handle, Handle>| {
        let card = handle.0.borrow();
        let valid = card.rules.rules.iter().filter(|rule| rule.valid).count();
        assert_eq!(valid, device.resident_rules().len());
        device.resident_rules().iter().map(|rule| rule.effect.context().map(|c| c.0)).collect::<Vec<_>>()
    };
    assert_eq!(effects(&second), [Some(0), None, Some(1)]);

    // The first context goes; its place is free again for a third program.
    let mut third = attach();
    third.stop_resident(ContextId(0)).unwrap();
    third.remove_resident(ContextId(0)).unwrap();
    active(2);
    assert_eq!(effects(&attach()), [None, Some(1)]);
    let again = attach().load_resident("new", &image(100, 40), &options, |_| vec![]).unwrap();
    assert_eq!(again, ContextId(0));
}

#[test]
fn a_list_that_is_not_valid_is_not_believed() {
    let handle = Handle::new(&Config::SIM);
    let attach = || Device::attach(handle.clone(), handle.clone()).unwrap();
    let load = |name: &str| attach().load_resident(name, &image(100, 40), &ContextOptions::default(), |_| vec![]);
    load("one").unwrap();
    let place = Config::SIM.l2_bytes as u32 - 4096;
    let good = handle.0.borrow().l2[&(place + 8)];
    handle.0.borrow_mut().l2.insert(place + 8, good ^ 1);
    assert!(attach().residents().is_empty());
    assert_eq!(attach().strangers(), [ContextId(0)]);
    let error = load("two").unwrap_err().to_string();
    assert!(error.contains("contexts 0 of this card for itself") && error.contains("reset"), "{error}");
    handle.0.borrow_mut().l2.insert(place + 8, good);
    assert_eq!(attach().residents().len(), 1);
    // A program that opens the card for itself ends the list; so does a reset.
    handle.open().unwrap();
    assert_eq!(handle.0.borrow().registers[&(global::BASE + global::SCRATCH)], 0);
    assert!(attach().residents().is_empty() && attach().strangers().is_empty());
}

#[test]
fn a_resident_without_room_leaves_the_card_as_it_was() {
    let handle = Handle::new(&Config::SIM);
    let mut device = Device::attach(handle.clone(), handle.clone()).unwrap();
    let rules = |context| vec![resident_rule("udp", Effect::Packets(context))];
    device.load_resident("one", &image(100, 40), &ContextOptions::default(), rules).unwrap();
    let before = (device.residents().to_vec(), device.resident_rules().to_vec());
    let refused = |device: &mut Device<Handle, Handle>, rule: String, words: &str| {
        let rules = |context| vec![resident_rule(&rule, Effect::Packets(context))];
        let error = device.load_resident("two", &image(100, 40), &ContextOptions::default(), rules).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        for device in [&*device, &Device::attach(handle.clone(), handle.clone()).unwrap()] {
            assert_eq!((device.residents(), device.resident_rules()), (&before.0[..], &before.1[..]));
        }
        assert_eq!(handle.0.borrow().registers[&(hpu::BASE + hpu::CTX_ACTIVE)], 1);
        assert_eq!(handle.0.borrow().rules.rules.iter().filter(|rule| rule.valid).count(), 1);
    };
    let many: Vec<String> = (0..64).map(|port| format!("udp.dport == {port}")).collect();
    refused(&mut device, "nonsense".into(), "nonsense");
    refused(&mut device, many.join(" || "), "the card has no room for the alternatives");
    refused(&mut device, vec!["udp.dport == 1234"; 400].join(" && "), "list of its contexts and rules");
    assert!(device.stop_resident(ContextId(5)).unwrap_err().to_string().contains("context 5 is not loaded"));
}

#[test]
fn a_confined_process_can_be_trusted_again() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    device.confine(35).unwrap_err();
    device.confine(9).unwrap();
    let mut other = Device::attach(handle.clone(), handle.clone()).unwrap();
    assert_eq!((other.trusts(9), other.trusts(8), other.trusts(64)), (false, true, false));
    other.trust(9).unwrap();
    assert!(Device::attach(handle.clone(), handle.clone()).unwrap().trusts(9));
}

#[test]
fn every_counter_of_the_contract_is_read() {
    let handle = Handle::new(&Config::SIM);
    let mut device = handle.open().unwrap();
    handle.poke(packet::BASE + packet::FRAMES_IN, 7);
    handle.poke(packet::BASE + packet::DROPS + 4 * 9, 3);
    handle.poke(hpu::BASE + hpu::BUSY_LO, 5);
    handle.poke(hpu::BASE + hpu::BUSY_HI, 1);
    handle.poke(hpu::BASE + hpu::HPU_TASKS + 4 * 7, 2);
    handle.poke(packet::BASE + packet::CONTEXT_LIVE + 4 * 15, 4);
    let first = device.counters().unwrap();
    assert_eq!(first.get("packet", "frames_in").unwrap().value, 7);
    assert_eq!(first.get("hpu", "busy").unwrap().value, 1 << 32 | 5);
    assert_eq!(first.drop_reasons().filter(|(_, count)| *count > 0).collect::<Vec<_>>(), [("no_rule", 3)]);
    assert_eq!((first.hpus.len(), first.hpus[7].tasks, first.live[15]), (8, 2, 4));
    assert!(first.get("rvma", "mailboxes").unwrap().level && !first.get("node", "puts_done").unwrap().level);
    for block in registers::BLOCKS {
        for register in block.registers.iter().filter(|r| r.kind == registers::Kind::Counter && r.count == 1) {
            let name = register.name.trim_end_matches("_LO").trim_end_matches("_HI").to_lowercase();
            assert!(first.get(block.name, &name).is_some(), "{} of {} is missing", register.name, block.name);
        }
    }
    // A counter of 32 bits wraps around.
    handle.poke(packet::BASE + packet::FRAMES_IN, u32::MAX);
    let second = device.counters().unwrap();
    handle.poke(packet::BASE + packet::FRAMES_IN, 4);
    assert_eq!(device.counters().unwrap().grown(&second, "packet", "frames_in"), 5);
}

/// Windows that this card cannot have given, and processes that it does not have, are wrong arguments.
#[test]
fn windows_and_processes_of_other_cards_are_refused() {
    let mut device = Handle::new(&Config::SIM).open().unwrap();
    let window = Window { process: 15, mailbox: 0xFFFF };
    device.frames_to_host(Some(window), true).unwrap();
    device.set_sender(15, true).unwrap();
    let mut ring = device.open_commands(15, 64).unwrap();
    let long = Window { mailbox: 0x1_0000, ..window };
    let results = [
        (device.frames_to_host(Some(long), true), "0x10000 is no handle of a mailbox"),
        (device.post_many(&mut ring, long, &[]).map(|_| ()), "0x10000 is no handle of a mailbox"),
        (device.frames_to_host(Some(Window { process: 16, ..window }), true), "process 16 has no doorbell page"),
        (device.frames_to_host(Some(Window { process: 64, ..window }), true), "process 64 has no doorbell page"),
        (device.set_sender(16, true), "process 16 has no doorbell page"),
    ];
    for (result, sentence) in results {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
}

/// Which frames go to the host stays as it is when reception is switched; a card that is opened begins anew.
#[test]
fn reception_is_a_bit_of_its_own() {
    let handle = Handle::new(&Config::SIM);
    let control = || packet::Control(handle.0.borrow().registers[&(packet::BASE + packet::CONTROL)]);
    let mut device = handle.open().unwrap();
    device.frames_to_host(Some(Window { process: 1, mailbox: 2 }), true).unwrap();
    device.set_receive(true).unwrap();
    assert!(control().receive() && control().host_unmatched() && device.receives().unwrap());
    device.set_receive(false).unwrap();
    assert!(!control().receive() && control().host_unmatched());
    handle.open().unwrap();
    assert_eq!(control(), packet::Control::ZERO);
}
