//! Frames that handlers send with the flag CHECKSUM, end to end.

use crate::nic::bench::{random_gaps, Nic};
use rand::Rng;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::checksums;
use spindle_model::frames::{echo_request, udp, Ends};
use spindle_sim::Options;

/// Changes the hops of the IP header and the last byte, spoils the header checksum, and sends the frame with the flag: from the packet
/// slot, from the scratchpad or from context memory.
const HANDLER: &str = r#"
#include "spindle.h"
enum { MOST = 512 };
static uint8_t copies[32][MOST] __attribute__((aligned(64)));

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    uint8_t *frame = spin_packet(h), *ip = spin_l3(h);
    ip[8]--;
    ip[10] ^= 0x77;
    frame[h->packet_len - 1] ^= 0x5a;
    if (h->packet_len <= MOST && (h->frame & 1)) {
        uint8_t *copy = copies[h->frame / 2 % 32] + 1;
        memcpy(copy, frame, h->packet_len - 1);
        copy[h->packet_len - 1] = frame[h->packet_len - 1];
        frame = copy;
    }
    spin_send_packet_flags(frame, h->packet_len, SPIN_SEND_CHECKSUM);
    return SPIN_PROCESS_DATA;
}"#;

fn l3(frame: &[u8]) -> usize {
    if frame[12..14] == [0x81, 0] {
        18
    } else {
        14
    }
}

/// What the handler makes of a frame, and whether it gets a transport checksum.
fn answer(frame: &[u8]) -> (Vec<u8>, bool) {
    let mut answer = frame.to_vec();
    let ip = l3(frame);
    answer[ip + 8] = answer[ip + 8].wrapping_sub(1);
    answer[ip + 10] ^= 0x77;
    *answer.last_mut().unwrap() ^= 0x5A;
    let summed = checksums::send(&mut answer);
    (answer, summed)
}

#[test]
fn frames_get_their_checksums() {
    with_seeds(|| {
        let mut random = seeded_rng("nic_checksums");
        let mut frames = vec![];
        for i in 0..240usize {
            let length = [60, 64, 65, 128, 510, 1514, random.random_range(60..1500)][i % 7];
            let ends = Ends { vlan: random.random::<bool>().then_some(9), src_ip: random.random(), ..Ends::default() };
            let payload: Vec<u8> =
                (0..length - if ends.vlan.is_some() { 46 } else { 42 }).map(|_| random.random()).collect();
            let mut frame = match i % 3 {
                0 => echo_request(&ends, i as u16, 3, &payload),
                _ => udp(&ends, i as u16, 9, &payload),
            };
            let ip = l3(&frame);
            match i % 11 {
                // TCP, a protocol without a checksum, a fragment, options, another EtherType.
                1 | 2 => frame[ip + 9] = 6,
                3 => frame[ip + 9] = 47,
                4 => frame[ip + 6] = 0x20,
                5 => frame[ip] = 0x46,
                6 => frame[ip - 2] = 0x88,
                // Padding.
                7 => frame.extend([0xEE; 20]),
                _ => {}
            }
            checksums::send(&mut frame);
            frames.push(frame);
        }
        let mut nic =
            Nic::new(Options { tx_ready_percent: 70, seed: seed_of_run("nic_checksums"), ..Options::default() });
        let context = nic.install_source(HANDLER, ContextOptions::default()).context;
        nic.rule("frame.len >= 0", Action::Context(context));
        nic.device.activate(context).unwrap();
        nic.device.set_receive(true).unwrap();
        let played = nic.play(random_gaps(&frames, 120, &mut random));
        assert_eq!(played.drop_names(), []);
        let mut bare = 0;
        for (i, frame) in frames.iter().enumerate() {
            let (wanted, summed) = answer(frame);
            bare += u32::from(!summed);
            let sent: Vec<&[u8]> =
                played.sent.iter().filter(|sent| sent.0 == i).map(|sent| &sent.1.bytes[..]).collect();
            assert_eq!(sent, [&wanted[..]], "frame {i}");
        }
        assert_eq!(nic.device.sends_unsummed().unwrap(), bare);
        assert!(bare > 60 && (bare as usize) < frames.len() / 2, "{bare}");
        nic.assert_empty();
    });
}
