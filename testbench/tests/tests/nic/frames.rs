//! Frames between the wire and the host: to the host by a rule or without one, and from the command ring.

use crate::nic::bench::{at_once, random_gaps, Nic};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use spindle_contract::params::{MAX_FRAME, SPINDLE_PORT};
use spindle_contract::reasons::{NO_POSTED_BUFFER, NO_RULE, RULE_DROP};
use spindle_harness::{seeded_rng, with_seeds};
use spindle_model::frames::{echo_request, spindle, udp, udp_without_checksum, Ends, SpindleHeader};
use spindle_model::packet_engine::parser::ones_complement_sum;
use spindle_sim::Options;

/// Process of the interface, and the size of its buffers.
const PROCESS: usize = 2;
const BUFFER: u32 = 32 << 10;

/// Frames of several kinds, whether a rule sends them to the host, and the result of the card's check of their checksums.
fn samples(random: &mut ChaCha8Rng) -> Vec<(Vec<u8>, bool, bool, bool)> {
    let ends = Ends::default();
    let tagged = Ends { vlan: Some(5), ..Ends::default() };
    let mut payload = |longest: usize| (0..random.random_range(1..longest)).map(|i| i as u8).collect::<Vec<u8>>();
    let mut arp = vec![0xFF; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut tcp = udp(&ends, 5, 6, &payload(1400));
    tcp[23] = 6;
    // The checksum of the header counts the protocol.
    let sum = u16::from_be_bytes([tcp[24], tcp[25]]);
    let sum = u32::from(sum) + 17 - 6;
    tcp[24..26].copy_from_slice(&((sum & 0xFFFF) as u16 + (sum >> 16) as u16).to_be_bytes());
    vec![
        (udp(&ends, 1, 700, &payload(1400)), true, true, true),
        (udp(&ends, 1, 800, &payload(200)), false, true, true),
        (udp_without_checksum(&ends, 1, 800, &payload(100)), false, true, false),
        (udp(&tagged, 1, 700, &payload(1400)), true, true, true),
        (echo_request(&ends, 1, 1, &payload(500)), false, true, true),
        (arp, false, false, false),
        (tcp, false, true, false),
        (vec![0x55; MAX_FRAME], false, false, false),
        (vec![0x55; 14], false, false, false),
    ]
}

/// Frames of all kinds and lengths among those of a handler: each is received once, in its order and byte for byte; the others are
/// dropped for their reason while there is no window.
#[test]
fn frames_to_the_host() {
    with_seeds(|| {
        let mut nic = Nic::new(Options::default());
        let mut random = seeded_rng("nic_frames_to_the_host");
        nic.rule("udp.dport == 700", Action::Host);
        nic.handler("ping_pong", "udp.dport == 9", ContextOptions::default());
        nic.device.set_receive(true).unwrap();
        let played = nic.play(at_once(&[udp(&Ends::default(), 1, 700, &[1; 50]), vec![0x55; 60]]));
        assert_eq!((played.drops[RULE_DROP], played.drops[NO_RULE]), (1, 1));

        let mut frames = nic.device.open_frames(PROCESS, 4, BUFFER).unwrap();
        nic.device.frames_to_host(Some(frames.window()), false).unwrap();
        let played = nic.play(at_once(&[udp(&Ends::default(), 1, 700, &[1; 50]), vec![0x55; 60]]));
        assert_eq!((played.drops[RULE_DROP], played.drops[NO_RULE], played.stats.frames_to_host), (0, 1, 1));
        assert_eq!(nic.device.receive_frame(&mut frames).unwrap().expect("it is there").arrived.rule, Some(0));
        nic.device.frames_to_host(Some(frames.window()), true).unwrap();
        let header = SpindleHeader { payload_len: 10, msg_len: 10, ..SpindleHeader::default() };
        let played = nic.play(at_once(&[spindle(&Ends::default(), 5, SPINDLE_PORT, &header, &[1; 10])]));
        assert_eq!(played.drops[NO_RULE], 1, "a Spindle packet without a rule is refused");

        let (mut received, mut to_host) = (0, 1);
        for round in 0..6 {
            let mut sent = samples(&mut random);
            sent.extend(samples(&mut random));
            let mut wire: Vec<Vec<u8>> = sent.iter().map(|sample| sample.0.clone()).collect();
            wire.insert(round, udp(&Ends::default(), 1, 9, &[7; 30]));
            let played = nic.play(random_gaps(&wire, 30, &mut random));
            assert_eq!(played.drop_names(), [], "round {round}");
            assert_eq!(played.sent.len(), 1, "the handler answered");
            to_host += sent.len() as u32;
            assert_eq!(played.stats.frames_to_host, to_host);
            for (bytes, ruled, ip, l4) in sent {
                let frame = nic.device.receive_frame(&mut frames).unwrap().expect("it is there");
                assert_eq!(frame.bytes, bytes);
                let arrived = frame.arrived;
                assert_eq!((arrived.rule, arrived.ip_checksum, arrived.l4_checksum), (ruled.then_some(0), ip, l4));
                assert_eq!(arrived.vlan, bytes.get(12..14) == Some(&[0x81, 0x00]));
                received += 1;
            }
            assert_eq!(nic.device.receive_frame(&mut frames).unwrap(), None);
        }
        assert!(received > 100 && frames.lost() == 0);

        // The host does not read: the buffers fill, the rest is dropped, and later frames come again.
        let long = vec![vec![0x55; 4000]; 60];
        let played = nic.play(at_once(&long));
        let dropped = played.drops[NO_POSTED_BUFFER];
        assert!(dropped > 10, "{dropped} dropped");
        for _ in 0..60 - dropped {
            assert_eq!(nic.device.receive_frame(&mut frames).unwrap().expect("it is there").bytes, long[0]);
        }
        let played = nic.play(at_once(&long[..3]));
        assert_eq!(played.drop_names(), []);
        nic.device.close_frames(frames).unwrap();
        let played = nic.play(at_once(&[udp(&Ends::default(), 1, 700, &[1; 50])]));
        assert_eq!(played.drops[RULE_DROP], 1);
        nic.assert_empty();
    });
}

/// A process that ends while a slow wire takes its frames: when `close_frames` returns the card reads none of its memory, and what was
/// handed on has left as it was.
#[test]
fn frames_leave_before_their_memory_goes() {
    with_seeds(|| {
        let mut nic = Nic::new(Options { tx_ready_percent: 20, ..Options::default() });
        let mut random = seeded_rng("nic_frames_leave_before_their_memory_goes");
        for frames_before in [1, 10, 50] {
            let mut frames = nic.device.open_frames(PROCESS, 1, BUFFER).unwrap();
            let sent: Vec<Vec<u8>> = (0..frames_before).map(|n| vec![n + 1; random.random_range(14..=8192)]).collect();
            let batch: Vec<_> = sent.iter().map(|bytes| (&bytes[..], None)).collect();
            assert_eq!(nic.device.send_frames(&mut frames, &batch).unwrap(), sent.len());
            nic.card.sim().run(random.random_range(0..2000));
            nic.device.close_frames(frames).unwrap();
            let mut sim = nic.card.sim();
            assert!(sim.memory().idle(), "a read is under way");
            sim.memory().memory = Default::default();
            sim.run(100_000);
            let left: Vec<Vec<u8>> = sim.take_sent().into_iter().map(|frame| frame.bytes).collect();
            assert!(left.len() <= sent.len() && left == sent[..left.len()], "{} of {} frames", left.len(), sent.len());
            drop(sim);
            // As a program that begins anew.
            assert!(nic.device.reset().unwrap());
        }
    });
}

/// HOST_WINDOW changes between two processes while frames arrive: no frame is dropped, and each process has its frames in order.
#[test]
fn the_window_moves_while_frames_arrive() {
    with_seeds(|| {
        let mut nic = Nic::new(Options::default());
        let mut random = seeded_rng("nic_the_window_moves_while_frames_arrive");
        nic.rule("udp.dport == 700", Action::Host);
        nic.device.set_receive(true).unwrap();
        let processes = [PROCESS, 9];
        let mut windows = processes.map(|process| nic.device.open_frames(process, 4, BUFFER).unwrap());
        nic.device.frames_to_host(Some(windows[0].window()), false).unwrap();
        const FRAMES: u32 = 600;
        let wire: Vec<Vec<u8>> = (0..FRAMES).map(|n| udp(&Ends::default(), 1, 700, &n.to_be_bytes())).collect();
        // As fast as host memory takes them, so that no frame is dropped for want of a cell.
        for frame in random_gaps(&wire, 16, &mut random) {
            nic.card.sim().inject(frame);
        }
        let mut received: [Vec<u32>; 2] = Default::default();
        let mut changes = 0;
        while received[0].len() + received[1].len() < FRAMES as usize {
            if nic.card.sim().pending() > 0 {
                changes += 1;
                nic.device.frames_to_host(Some(windows[changes % 2].window()), false).unwrap();
            }
            nic.card.sim().run(random.random_range(1..60));
            for (frames, received) in windows.iter_mut().zip(&mut received) {
                while let Some(frame) = nic.device.receive_frame(frames).unwrap() {
                    received.push(u32::from_be_bytes(frame.bytes[42..46].try_into().unwrap()));
                }
            }
            assert!(nic.card.sim().cycle() < 200_000, "{} and {} frames", received[0].len(), received[1].len());
        }
        assert!(changes > 10 && received.iter().all(|numbers| numbers.len() > 100 && numbers.is_sorted()), "{changes}");
        let mut all = received.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..FRAMES));
        for frames in windows {
            nic.device.close_frames(frames).unwrap();
        }
        nic.assert_empty();
    });
}

/// UDP frames whose checksum the host leaves to the card are those of an independent packet builder.
#[test]
fn checksums_are_inserted() {
    with_seeds(|| {
        let mut nic = Nic::new(Options::default());
        let mut random = seeded_rng("nic_checksums_are_inserted");
        let mut frames = nic.device.open_frames(PROCESS, 1, BUFFER).unwrap();
        let (plain, tagged) = (Ends::default(), Ends { vlan: Some(5), ..Ends::default() });
        let mut built: Vec<Vec<u8>> = (0..80)
            .map(|i| {
                let payload: Vec<u8> = (0..random.random_range(0..1473)).map(|_| random.random()).collect();
                udp(if i % 4 == 0 { &tagged } else { &plain }, 5, 1000 + i, &payload)
            })
            .collect();
        // A checksum of 0 is sent as 0xFFFF: the payload is what is missing.
        let mut zero = udp(&plain, 5, 6, &[0, 0, 1, 2, 3]);
        let rest = [zero[40], zero[41]];
        zero[40..44].copy_from_slice(&[0xFF, 0xFF, rest[0], rest[1]]);
        built.push(zero);
        let given: Vec<_> = built
            .iter()
            .map(|bytes| {
                let ip = if bytes[12..14] == [0x81, 0] { 18 } else { 14 };
                let udp = ip + 20;
                let pseudo = [&bytes[ip + 12..ip + 20], &[0, 17], &bytes[udp + 4..udp + 6]].concat();
                let mut given = bytes.clone();
                given[udp + 6..udp + 8].copy_from_slice(&ones_complement_sum(&pseudo).to_be_bytes());
                (given, Some((udp as u16, 6)))
            })
            .collect();
        assert!(built.iter().zip(&given).all(|(built, given)| *built != given.0));
        let mut left: Vec<_> = given.iter().map(|(bytes, place)| (&bytes[..], *place)).collect();
        let mut sent = vec![];
        while !left.is_empty() || sent.len() < built.len() {
            let taken = nic.device.send_frames(&mut frames, &left).unwrap();
            left.drain(..taken);
            nic.card.sim().run(500);
            sent.extend(nic.card.sim().take_sent().into_iter().map(|frame| frame.bytes));
            assert_eq!(nic.device.receive_frame(&mut frames).unwrap(), None);
            assert!(nic.card.sim().cycle() < 500_000, "{} of {} left", left.len(), built.len());
        }
        assert_eq!(sent, built);
        for place in [(35, 6), (34, 256), (34, 26)] {
            assert!(nic.device.send_frame(&mut frames, &given[0].0[..60], Some(place)).is_err(), "{place:?}");
        }
        nic.device.close_frames(frames).unwrap();
        nic.assert_empty();
    });
}

/// Frames of all lengths leave as they are, in their order, also when there are more than the card takes at once.
#[test]
fn frames_from_the_host() {
    with_seeds(|| {
        let mut nic = Nic::new(Options::default());
        let mut random = seeded_rng("nic_frames_from_the_host");
        let mut frames = nic.device.open_frames(PROCESS, 1, BUFFER).unwrap();
        assert!(nic.device.send_frame(&mut frames, &[0; 13], None).is_err());
        assert!(nic.device.send_frame(&mut frames, &[0; 8193], None).is_err());
        let mut all: Vec<Vec<u8>> =
            [14, 15, 60, 63, 64, 65, 127, 128, 129, 1514, 8191, 8192].map(|n| vec![n as u8; n]).into();
        all.extend((0..120).map(|_| (0..random.random_range(14..3000)).map(|_| random.random()).collect()));
        let mut left = &all[..];
        let mut sent = vec![];
        while !left.is_empty() || sent.len() < all.len() {
            let batch: Vec<_> = left.iter().take(40).map(|bytes| (&bytes[..], None)).collect();
            let taken = nic.device.send_frames(&mut frames, &batch).unwrap();
            left = &left[taken..];
            nic.card.sim().run(500);
            sent.extend(nic.card.sim().take_sent().into_iter().map(|frame| frame.bytes));
            assert_eq!(nic.device.receive_frame(&mut frames).unwrap(), None);
            assert!(nic.card.sim().cycle() < 1_000_000, "{} of {} left", left.len(), all.len());
        }
        assert_eq!(sent, all);
        // Without the right the ring stops, and goes on with it.
        nic.device.set_sender(PROCESS, false).unwrap();
        nic.device.send_frame(&mut frames, &[1; 60], None).unwrap();
        nic.card.sim().run(1000);
        assert_eq!(nic.card.sim().take_sent().len(), 0);
        nic.device.close_frames(frames).unwrap();
        nic.assert_empty();
    });
}
