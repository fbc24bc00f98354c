//! The numbers and functions of the contract against plain definitions of them.

use spindle_contract::params::*;
use spindle_contract::registers::{self, doorbell, global, mailbox_mode, packet, Access, Kind, Word, BLOCKS, PAGE};
use spindle_contract::wire::{self, ethernet, get_reply, icmp, ipv4, spindle, udp};
use spindle_contract::{commands, descriptors, events, memory_map, reasons};

/// Limits of a parameter: the lowest and highest value, and values that no card has.
type Limits = (fn(&mut Config, usize), usize, usize, &'static [usize]);

/// Each parameter with its limits. Those that are a power of two refuse what lies between.
const LIMITS: [Limits; 12] = [
    (|config, value| config.clusters = value, 1, 8, &[0, 9]),
    (|config, value| config.hpus = value, 1, 8, &[0, 9]),
    (|config, value| config.imem_bytes = value, 4096, 65_536, &[2048, 131_072, 6000]),
    (|config, value| config.l2_bytes = value, 4096, 1_048_576, &[2048, 2_097_152, 6000]),
    (|config, value| config.packet_buffer_bytes = value, 16_384, 524_288, &[8192, 1_048_576, 20_000]),
    (|config, value| config.contexts = value, 1, 16, &[0, 17]),
    (|config, value| config.match_rules = value, 8, 64, &[7, 65]),
    (|config, value| config.live_messages = value, 16, 256, &[8, 512, 24]),
    (|config, value| config.peers = value, 16, 256, &[8, 512, 24]),
    (|config, value| config.mailboxes = value, 64, 4096, &[32, 8192, 100]),
    (|config, value| config.posted_buffers = value, 64, 16_384, &[32, 32_768, 100]),
    (|config, value| config.processes = value, 1, 64, &[0, 65]),
];

#[test]
fn every_limit_of_a_configuration_is_inside_and_what_is_beyond_is_refused() {
    // Few HPUs, so that no other limit is met.
    let base = Config { clusters: 1, hpus: 1, ..Config::SIM };
    for (number, (set, low, high, wrong)) in LIMITS.into_iter().enumerate() {
        let judge = |value: usize| {
            let mut config = base;
            set(&mut config, value);
            config.validate()
        };
        assert_eq!((judge(low), judge(high)), (Ok(()), Ok(())), "parameter {number}");
        for value in wrong {
            assert!(judge(*value).is_err(), "parameter {number}: {value}");
        }
    }
    assert_eq!(Config { clusters: 4, hpus: 8, ..Config::SIM }.validate(), Ok(()));
    assert!(Config { clusters: 5, hpus: 7, ..Config::SIM }.validate().is_err_and(|text| text.contains("at most 32")));
    assert_eq!(Config { clock_mhz: 1, ..Config::SIM }.validate(), Ok(()));
    assert!(Config { clock_mhz: 0, ..Config::SIM }.validate().is_err_and(|text| text.contains("clock_mhz")));
}

#[test]
fn the_named_configurations_are_these() {
    let sizes = |config: &Config| {
        let Config { clock_mhz, contexts, match_rules, live_messages, .. } = *config;
        (config.name, clock_mhz, contexts, match_rules, live_messages)
    };
    assert_eq!(sizes(&Config::SIM), ("sim", 250, 16, 64, 256));
    assert_eq!(sizes(&Config::KINTEX7), ("kintex7", 125, 8, 32, 128));
    assert_eq!(sizes(&Config::ALVEO), ("alveo", 250, 16, 64, 256));
    assert_eq!(sizes(&Config::ALVEO32), ("alveo32", 250, 16, 64, 256));
    assert_eq!(Config::default(), Config::SIM);
    for config in Config::ALL {
        assert_eq!((Config::by_name(config.name), config.validate()), (Some(config), Ok(())));
    }
    assert_eq!(Config::by_name("none"), None);
    let memories = |config: &Config| (config.imem_bytes, config.l2_bytes, config.packet_buffer_bytes);
    assert_eq!(memories(&Config::ALVEO), (32_768, 524_288, 524_288));
    assert_eq!(memories(&Config::KINTEX7), (32_768, 131_072, 131_072));
    let derived = |config: &Config| (config.cells(), config.has_ultra_ram(), config.total_hpus(), config.stack_bytes());
    assert_eq!(derived(&Config::ALVEO), (1024, true, 16, 1024));
    assert_eq!(derived(&Config::ALVEO32), (1024, true, 32, 1024));
    assert_eq!(derived(&Config::SIM), (256, false, 8, 1024));
    // 256 KiB of packet buffer still fit block RAM.
    let limit = Config { packet_buffer_bytes: 262_144, hpus: 5, ..Config::SIM };
    assert_eq!((limit.has_ultra_ram(), limit.stack_bytes()), (false, 512));
}

#[test]
fn sizes_that_follow_from_others() {
    assert_eq!((CELL_BEATS, L1_BYTES, L1_STACK_BASE, L1_STACK_BYTES), (8, 65_536, 24_576, 16_384));
    assert_eq!((L1_SCRATCH_BYTES, MATCH_TERMS, MATCH_LITERALS), (18_432, 80, 85));
    // The parts of L1 follow each other.
    assert_eq!(L1_STACK_BASE + L1_STACK_BYTES, L1_SCRATCH_BASE);
    assert_eq!(L1_SCRATCH_BASE + L1_SCRATCH_BYTES, L1_STAGE_BASE);
    assert_eq!((commands::MAX_COMMANDS, events::MAX_RECORDS), (16_384, 32_768));
    assert_eq!((1..8).map(memory_map::base).collect::<Vec<_>>(), (1..8).map(|n| n * 0x1000_0000).collect::<Vec<_>>());
}

#[test]
fn descriptors_are_as_wide_as_their_fields_and_nested_members_stand_in_their_place() {
    let find =
        |name: &str| descriptors::DESCRIPTORS.iter().find(|descriptor| descriptor.name == name).expect("it is there");
    for descriptor in descriptors::DESCRIPTORS {
        assert_eq!(descriptor.bits(), descriptor.fields.iter().map(|field| field.bits).sum::<usize>());
    }
    let command: Vec<&str> = find("command").fields.iter().map(|field| field.name).collect();
    let names = [
        "version",
        "opcode",
        "flags",
        "context",
        "issuer_cluster",
        "issuer_hpu",
        "issuer_handle",
        "frame",
        "msg_slot",
        "pkt",
        "offset",
        "address",
        "stamp",
        "first",
        "length",
        "epoch",
        "spare",
    ];
    assert_eq!(command.len(), names.len(), "{command:?}");
    for (field, name) in command.iter().zip(names) {
        assert!(*field == name || name.ends_with(field), "{field} in the place of {name}");
    }
    assert_eq!(find("command").bits(), 4 + 4 + 8 + 4 + 10 + 16 + 8 + 10 + 32 + 64 + 32 + 11 + 12 + 16 + 1);
}

#[test]
fn trace_lanes_are_the_points_then_those_of_each_hpu() {
    let lanes: Vec<(usize, usize)> = reasons::trace_lanes().collect();
    assert_eq!((lanes.len(), reasons::TRACE_LANES), (16 + 32 * 4, 16 + 32 * 4));
    for (number, lane) in lanes.into_iter().enumerate() {
        let wanted = if number < 16 { (number, 0) } else { (5 + (number - 16) % 4, (number - 16) / 4) };
        assert_eq!(lane, wanted, "lane {number}");
    }
}

#[test]
fn refusals_of_the_wire_follow_from_the_reasons() {
    let codes: Vec<Option<u8>> = (0..reasons::DROP_COUNT + 1).map(wire::nack_of).collect();
    for (reason, code) in codes.into_iter().enumerate() {
        let wanted = match reason {
            reasons::NO_POSTED_BUFFER => Some(1),
            reasons::NO_BUFFER | reasons::NO_MESSAGE_SLOT | reasons::QUOTA | reasons::PAUSED | reasons::HOST_ERROR => {
                Some(2)
            }
            reasons::PSN_WINDOW => Some(3),
            reasons::NO_MAILBOX => Some(16),
            reasons::CLOSED => Some(17),
            reasons::BAD_KEY => Some(18),
            reasons::OUT_OF_BOUNDS => Some(19),
            reasons::STALE_EPOCH => Some(20),
            reasons::NO_CONTEXT => Some(21),
            reasons::HANDLER_FAIL => Some(22),
            reasons::UNSUPPORTED => Some(23),
            reasons::NO_PEER => Some(24),
            _ => None,
        };
        assert_eq!(code, wanted, "reason {reason}");
    }
}

/// Bytes that differ from each other.
fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    next.take(count).collect()
}

/// Each header parsed and emitted over bytes of any content.
#[test]
fn headers_come_back_over_whatever_lay_there() {
    macro_rules! comes_back {
        ($($header:ident $name:ident),*) => { $(
            for seed in 0..50 {
                let bytes = noise($header::BYTES, seed);
                let header = wire::$name::parse(&bytes);
                for filler in [0x00, 0xFF, 0xA5] {
                    let mut again = vec![filler; $header::BYTES];
                    header.emit(&mut again);
                    assert_eq!(again, bytes, "{}", stringify!($name));
                }
            }
        )* };
    }
    comes_back!(ethernet Ethernet, ipv4 Ipv4, udp Udp, icmp Icmp, spindle Spindle, get_reply GetReply);
}

/// Fields at their bytes, read by hand.
#[test]
fn fields_are_big_endian_at_their_places() {
    let mut bytes = noise(48, 7);
    bytes[0] = 0x16;
    let header = wire::Spindle::parse(&bytes);
    let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    assert_eq!((header.version, header.words, header.opcode), (1, 6, bytes[1]));
    assert_eq!(header.flags, u16::from_be_bytes([bytes[2], bytes[3]]));
    assert_eq!((header.psn, header.src_nid), (word(4), word(8)));
    assert_eq!(header.addr, u64::from(word(16)) << 32 | u64::from(word(20)));
    let ip = noise(20, 9);
    let header = wire::Ipv4::parse(&ip);
    assert_eq!((header.version, header.ihl, header.dscp, header.ecn), (ip[0] >> 4, ip[0] & 15, ip[1] >> 2, ip[1] & 3));
    assert_eq!(header.fragment, u16::from_be_bytes([ip[6], ip[7]]) & 0x3FFF);
    assert_eq!((ethernet::START, ipv4::START, udp::START, icmp::START, spindle::START), (0, 14, 34, 34, 42));
    assert_eq!((wire::HEADER_BYTES, wire::SPINDLE_BYTES, wire::SPINDLE_GET_BYTES), (90, 48, 64));
}

#[test]
fn kinds_and_accesses_have_their_names() {
    let kinds = [
        (Kind::Control, "control"),
        (Kind::Stage, "stage"),
        (Kind::Commit, "commit"),
        (Kind::Counter, "counter"),
        (Kind::Status, "status"),
        (Kind::Pointer, "pointer"),
        (Kind::Trigger, "trigger"),
        (Kind::Window, "window"),
    ];
    assert!(kinds.into_iter().all(|(kind, name)| kind.name() == name));
    let accesses = [(Access::ReadOnly, "ro"), (Access::WriteOnly, "wo"), (Access::ReadWrite, "rw")];
    assert!(accesses.into_iter().all(|(access, name)| access.name() == name));
}

#[test]
fn registers_have_their_places_and_values_after_reset() {
    assert_eq!(registers::pages().count(), BLOCKS.len() + 1);
    let mut moved = 0;
    for register in registers::pages().flat_map(|page| page.registers) {
        let by_bits = register.fields.iter().fold(0u32, |word, field| word | field.reset << field.low);
        assert_eq!(register.reset(), by_bits, "{}", register.name);
        moved += u32::from(register.fields.iter().any(|field| field.reset > 0 && field.low > 0));
    }
    assert!(moved > 0, "a field above bit 0 has a value after reset");
    assert_eq!(<packet::RuleAction as Word>::ADDRESS, packet::BASE + packet::RULE_ACTION);
    assert_eq!(<global::Hpus as Word>::ADDRESS, global::BASE + 8);
}

#[test]
fn a_card_in_software_has_the_identity_of_the_hardware() {
    for config in Config::ALL {
        let words: std::collections::BTreeMap<u32, u32> = registers::identity(&config).collect();
        let at = |offset: u32| words[&(global::BASE + offset)];
        assert_eq!(
            at(global::HPUS).to_le_bytes(),
            [config.clusters, config.hpus, config.contexts, config.match_rules].map(|n| n as u8)
        );
        assert_eq!(at(global::TABLES), (config.posted_buffers << 16 | config.mailboxes) as u32);
        let memories =
            ((config.packet_buffer_bytes / 1024) << 20) | ((config.l2_bytes / 1024) << 8) | (config.imem_bytes / 1024);
        assert_eq!((at(global::MEMORIES), at(global::PROCESSES)), (memories as u32, config.processes as u32));
        assert_eq!((at(global::MAGIC), at(global::BLOCKS)), (registers::MAGIC, BLOCKS.len() as u32));
        for (number, block) in BLOCKS.iter().enumerate() {
            let entry: Vec<u32> = (0..4).map(|word| at(global::BLOCK_LIST + 16 * number as u32 + 4 * word)).collect();
            let pages = if block.base == doorbell::BASE { config.processes as u32 } else { 1 };
            assert_eq!(entry, [block.id, spindle_contract::VERSION, block.base, pages * PAGE]);
        }
    }
}

/// The value of WORD_SOURCE as the matcher reads it: two halves that follow each other, with a tag and without.
#[test]
fn word_sources_name_their_halves() {
    for untagged in (0..=124).step_by(2) {
        for tagged in [untagged, untagged + 4].into_iter().filter(|tagged| *tagged <= 124) {
            let source = packet::WordSource::word(untagged, tagged);
            let even_first = source.order() == packet::WordSource::ORDER_EVEN_FIRST;
            assert_eq!(even_first, untagged % 4 == 0);
            let halves = |even: u32, odd: u32| (4 * even as usize, 4 * odd as usize + 2);
            for (place, (even, odd)) in [
                (untagged, halves(source.even(), source.odd())),
                (tagged, halves(source.tagged_even(), source.tagged_odd())),
            ] {
                let first = if even_first { (even, odd) } else { (odd, even) };
                assert_eq!(first, (place, place + 2), "{untagged} {tagged}");
            }
        }
    }
    assert_eq!(packet::WordSource::length().order(), packet::WordSource::ORDER_LENGTH);
    assert_eq!(mailbox_mode::STREAM, mailbox_mode::MANAGED + mailbox_mode::TAGGED);
    assert_ne!(mailbox_mode::MANAGED, mailbox_mode::TAGGED);
}
