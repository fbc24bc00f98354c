//! Commands of running handlers, end to end: bytes of context memory, puts and gets, atomics on host memory, events.

use crate::nic::bench::{random_gaps, Nic};
use spindle::rule_table::Action;
use spindle::{ContextOptions, EventKind, HostMemory, Node};
use spindle_contract::wire::{self, opcode};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{udp, Ends, UDP_HEADERS};
use spindle_sim::Options;

const FRAMES: usize = 16;
const MOST: usize = 1024;
const HOST_BYTES: usize = 0x1_0000;
/// Host offsets of what comes back, and of the counter.
const BACK: usize = 0x8000;
const COUNTER: usize = 0xFF00;
const PROCESS: usize = 3;

/// Each frame names a piece of host memory. The handler fetches it into context memory, at any byte, from where it goes back to another
/// place in host memory, into a mailbox of another node, and out as a frame after the headers of the frame that came. Then
/// the handler draws a number, and says what it has seen.
const HANDLER: &str = r#"
#include "spindle.h"

enum { FRAMES = 16, MOST = 1024, BACK = 0x8000, COUNTER = 0xff00, HEADERS = 42 };
/* One piece begins where another one ends. */
static uint8_t pieces[FRAMES * MOST];

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    uint32_t number = *spin_payload(h), length = 600 + 13 * number;
    uint8_t *piece = pieces + 600 * number + 13 * number * (number - 1) / 2;
    spin_dma_from_host(piece, MOST * number, length);
    spin_wait();
    uint32_t sum = 0;
    for (uint32_t i = 0; i < length; i++) {
        sum += piece[i];
    }
    spin_dma_to_host(BACK + MOST * number, piece, length);
    spin_target_t there = {.node = 1, .process = 5, .mailbox = 0x1234567800ull + number, .key = 77, .offset = 64 * number};
    spin_put(&there, piece + 64, length - 64);
    /* The bytes that have gone are free. */
    memcpy(piece, spin_packet(h), HEADERS);
    spin_send_packet(piece, length);
    spin_get(&there, 100 + number, 0x99, 7, 0);

    uint64_t before, now = 0;
    do {
        before = now;
        spin_host_compare_swap(COUNTER, 8, before, before + 1);
        spin_wait_for(spin_handle());
        now = spin_host_result();
    } while (now != before);
    spin_wait();
    spin_event(sum, (uint64_t)number << 32 | before);
    spin_complete(length, number);
    return SPIN_PROCESS_DATA;
}"#;

fn length(number: usize) -> usize {
    600 + 13 * number
}

fn big(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[test]
fn handlers_move_context_memory_and_tell_the_host() {
    with_seeds(|| {
        let mut nic = Nic::new(Options { seed: seed_of_run("nic_commands"), ..Options::default() });
        let host = nic.device.memory.alloc(HOST_BYTES, 4096).unwrap();
        let mut pattern: Vec<u8> = (0..HOST_BYTES).map(|i| (i * 7 + i / 251) as u8).collect();
        pattern[COUNTER..][..8].fill(0);
        nic.device.memory.write(host, &pattern).unwrap();
        let options = ContextOptions {
            host_region: Some((host, HOST_BYTES as u32)),
            process: PROCESS as u8,
            ..ContextOptions::default()
        };
        let context = nic.install_source(HANDLER, options).context;
        nic.rule("udp", Action::Context(context));
        nic.device.activate(context).unwrap();
        nic.device.set_node(1, Some(Node { mac: [2, 0, 0, 0, 0, 9], ip: [10, 0, 0, 9], port: 4795 })).unwrap();
        let mut ring = nic.device.open_ring(PROCESS, 128).unwrap();
        nic.device.set_receive(true).unwrap();
        let frames: Vec<_> = (0..FRAMES).map(|i| udp(&Ends::default(), 1, 9, &[i as u8; 60])).collect();
        let mut random = seeded_rng("nic_commands");
        let played = nic.play(random_gaps(&frames, 300, &mut random));
        assert_eq!(nic.device.puts().unwrap(), (2 * FRAMES as u32, 0));

        let mut after = vec![0; HOST_BYTES];
        nic.device.memory.read(host, &mut after).unwrap();
        let mut wanted = pattern.clone();
        for (number, frame) in frames.iter().enumerate() {
            let piece = &pattern[MOST * number..][..length(number)];
            wanted[BACK + MOST * number..][..piece.len()].copy_from_slice(piece);
            let sent: Vec<&[u8]> =
                played.sent.iter().filter(|sent| sent.0 == number).map(|sent| &sent.1.bytes[..]).collect();
            assert_eq!(sent.len(), 3, "a frame, a put and a get");
            let raw = [&frame[..UDP_HEADERS], &piece[UDP_HEADERS..]].concat();
            assert!(sent.contains(&&raw[..]), "frame {number} comes out of context memory");
            let of = |code: u8| {
                let is = |bytes: &&&[u8]| **bytes != &raw[..] && bytes[UDP_HEADERS + wire::spindle::OPCODE] == code;
                &sent.iter().find(is).expect("it is sent")[UDP_HEADERS..]
            };
            let put = of(opcode::PUT);
            assert_eq!(&put[wire::SPINDLE_BYTES..], &piece[64..], "payload of put {number}");
            let get = of(opcode::GET);
            for message in [put, get] {
                assert_eq!(big(&message[wire::spindle::ADDR..][..8]), 0x12_3456_7800 + number as u64);
            }
            assert_eq!(big(&get[wire::spindle::MSG_LEN..][..4]), 100 + number as u64);
        }
        wanted[COUNTER] = FRAMES as u8;
        assert!(after == wanted, "host memory");

        let (mut drawn, mut complete) = (vec![], vec![]);
        while let Some(event) = nic.device.poll_event(&mut ring).unwrap() {
            match event.kind {
                EventKind::User { user, length: sum } => {
                    let number = (user >> 32) as usize;
                    let piece = &pattern[MOST * number..][..length(number)];
                    assert_eq!(sum, piece.iter().map(|byte| u32::from(*byte)).sum::<u32>(), "sum of piece {number}");
                    drawn.push(user as u32);
                }
                EventKind::Complete { user, length: bytes } => {
                    assert_eq!(bytes as usize, length(user as usize));
                    complete.push(user as usize);
                }
                EventKind::Message { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        drawn.sort_unstable();
        complete.sort_unstable();
        assert!(drawn.into_iter().eq(0..FRAMES as u32), "each number is drawn once");
        assert!(complete.into_iter().eq(0..FRAMES), "each handler has reported its end");
    });
}
