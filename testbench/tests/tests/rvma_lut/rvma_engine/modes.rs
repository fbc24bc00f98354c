//! The kinds of mailboxes, one rule at a time: what completes a buffer, where messages lie, what is said to refused packets.

use crate::rvma_lut::rvma_engine::bench::Bench;
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::message;
use spindle_contract::params::Config;
use spindle_contract::reasons::{NO_MAILBOX, NO_POSTED_BUFFER, OUT_OF_BOUNDS, UNSUPPORTED};
use spindle_contract::registers::{doorbell_error, mailbox_mode};
use spindle_contract::wire::{flag, opcode};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::rvma_lut::Put;

const ADDR: u64 = 0x77;
const KEY: u32 = 5;

fn twin(context: &WaveContext, threshold: u32, mode: u32) -> Twin {
    let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
    twin.bench.host.keep_log = true;
    twin.open_mode(1, ADDR, KEY, threshold, mode);
    twin
}

/// A message of `length` bytes in packets of `segment`, with these flags.
fn parts(context: &WaveContext, id: u32, length: u32, buf_off: u32, segment: u32, flags: u16) -> Vec<Put> {
    let mut parts = message(&mut context.rng(), 1, ADDR, KEY, id, length, buf_off, segment, id as u8);
    parts.iter_mut().for_each(|p| p.flags = flags);
    parts
}

/// Three operations complete a buffer: an empty one, one of one packet and one of four, whose last packet comes last of all.
#[test]
fn operations_complete_a_buffer() {
    run_with_wave_on_failure("rvma_ops", |context| {
        let mut twin = twin(context, 3, mailbox_mode::OPS);
        twin.post(1, ADDR, 0x1_0000, 700, 0x5000);
        twin.post(1, ADDR, 0x2_0000, 700, 0x5010);
        let long = parts(context, 1, 600, 0, 150, 0);
        for put in &long[..3] {
            twin.put(put, 90);
        }
        for put in parts(context, 2, 0, 0, 64, 0).iter().chain(&parts(context, 3, 80, 600, 80, 0)) {
            twin.put(put, 90);
        }
        // The fourth operation belongs to the next buffer, though the first still waits for its bytes.
        twin.put(&parts(context, 4, 33, 0, 64, 0)[0], 90);
        twin.bench.drain();
        assert_eq!(twin.bench.host.memory.bytes(0x5000, 16), [0; 16], "an operation is not complete");
        twin.put(&long[3], 90);
        twin.bench.drain();
        assert_eq!(twin.model.records.iter().map(|r| (r.address, r.length)).collect::<Vec<_>>(), [(0x5000, 680)]);
        // Two empty operations end the second: a buffer may complete without a byte arriving then.
        for id in [5, 6] {
            twin.put(&parts(context, id, 0, 0, 64, 0)[0], 90);
        }
        twin.bench.drain();
        assert_eq!(twin.model.records.len(), 2);
        twin.finish();
    });
}

/// Managed: messages lie one after the other in the order in which their first packets come, whatever offset they name, and
/// the buffer retires as soon as fewer bytes are left than the mailbox wants.
#[test]
fn a_managed_mailbox_packs_messages() {
    run_with_wave_on_failure("rvma_managed", |context| {
        let mut twin = twin(context, 100, mailbox_mode::MANAGED);
        assert_eq!(
            twin.bench.post_buffer(1, twin.numbers[&(1, ADDR)], 0x1_0000, 99, 0x5000),
            Err(doorbell_error::BAD_ARGUMENT),
            "a buffer without the room that must be left"
        );
        for i in 0..3 {
            twin.post(1, ADDR, 0x1_0003 + 0x1000 * i, 1000, 0x5000 + 16 * i);
        }
        let first = parts(context, 1, 500, 77, 128, flag::MANAGED);
        let second = parts(context, 2, 400, 4000, 128, flag::MANAGED);
        // Interleaved and backwards; 100 bytes are left, which is enough.
        for (a, b) in first.iter().rev().zip(second.iter().rev()) {
            twin.put(a, 90);
            twin.put(b, 94);
        }
        // Too long for what is left: refused, not cut, and not put into the next buffer either.
        let long = twin.put(&parts(context, 3, 101, 0, 200, flag::MANAGED)[0], 90);
        assert_eq!(twin.expected[&long], Err(OUT_OF_BOUNDS));
        twin.bench.drain();
        assert!(twin.model.records.is_empty());
        // One byte: 99 are left, and the buffer is complete.
        twin.put(&parts(context, 4, 1, 0, 200, flag::MANAGED)[0], 90);
        twin.bench.drain();
        assert_eq!(twin.model.records.iter().map(|r| (r.length, r.epoch)).collect::<Vec<_>>(), [(901, 0)]);
        // A whole buffer at once, then exactly down to the limit.
        for put in parts(context, 5, 1000, 0, 250, flag::MANAGED) {
            twin.put(&put, 90);
        }
        for put in parts(context, 6, 901, 0, 300, flag::MANAGED) {
            twin.put(&put, 90);
        }
        twin.bench.drain();
        assert_eq!(twin.model.records.len(), 3);
        // A later packet cannot stretch its message over its neighbour.
        twin.post(1, ADDR, 0x9_0000, 1000, 0x6000);
        let mut liar = parts(context, 7, 300, 0, 100, flag::MANAGED);
        liar[1].msg_len = 700;
        liar[1].msg_off = 400;
        for put in &liar {
            twin.put(put, 90);
        }
        twin.finish();
    });
}

/// A sequenced message that found no buffer is taken when it is repeated; one that is not sequenced is lost as a whole.
#[test]
fn what_finds_no_buffer_may_come_again() {
    run_with_wave_on_failure("rvma_no_buffer", |context| {
        let mut twin = twin(context, 300, 0);
        let kept = parts(context, 1, 300, 0, 100, 0);
        let lost = parts(context, 2, 300, 0, 100, flag::UNSEQ);
        for put in [&kept[0], &lost[0]] {
            let frame = twin.put(put, 90);
            assert_eq!(twin.expected[&frame], Err(NO_POSTED_BUFFER));
        }
        twin.bench.drain();
        twin.post(1, ADDR, 0x1_0000, 300, 0x5000);
        let frame = twin.put(&lost[1], 90);
        assert_eq!(twin.expected[&frame], Err(NO_POSTED_BUFFER));
        for put in [&kept[2], &kept[1], &kept[0]] {
            twin.put(put, 90);
        }
        twin.bench.drain();
        assert_eq!(twin.model.records.len(), 1);
        twin.finish();
    });
}

/// Each packet is given the ordinal of the buffer and how many take messages; a mailbox may want no NACK at all, or none when
/// it has no buffer.
#[test]
fn outcomes() {
    run_with_wave_on_failure("rvma_outcomes", |context| {
        for (mode, quiet, mute) in
            [(0, false, false), (mailbox_mode::DROP, true, false), (mailbox_mode::NACK_OFF, true, true)]
        {
            let mut twin = twin(context, 100, mode);
            let said = |twin: &mut Twin, put: &Put| {
                let frame = twin.put(put, 90);
                twin.bench.drain();
                twin.bench.done.iter().find(|d| d.frame == frame).expect("it ended").outcome
            };
            let whole = |id| parts(context, id, 100, 0, 100, 0).remove(0);
            assert_eq!(said(&mut twin, &whole(0)), (quiet, 0, 0), "mode {mode}");
            for i in 0..3 {
                twin.post(1, ADDR, 0x1_0000 + 0x1000 * i, 100, 0x5000 + 16 * i);
            }
            assert_eq!(said(&mut twin, &whole(1)), (mute, 0, 3));
            let mut outside = whole(2);
            outside.buf_off = 1;
            assert_eq!(said(&mut twin, &outside), (mute, 1, 2));
            assert_eq!(said(&mut twin, &whole(3)), (mute, 1, 2));
            assert_eq!(said(&mut twin, &whole(4)), (mute, 2, 1));
            assert_eq!(said(&mut twin, &whole(5)), (quiet, 3, 0));
            twin.finish();
        }
    });
}

/// What a handler sends to a mailbox of its process is a message of its own there, of one packet, whatever message it came
/// with: it takes the place that it names, or that a managed mailbox chooses, shows no key, and is never caught.
#[test]
fn a_redirected_packet_is_a_put_of_its_own() {
    run_with_wave_on_failure("rvma_redirected", |context| {
        let mut twin = twin(context, 800, 0);
        let (ops, managed, tagged, empty) = (ADDR + 1, ADDR + 2, ADDR + 3, ADDR + 4);
        twin.open_mode(1, ops, KEY, 2, mailbox_mode::OPS);
        twin.open_mode(1, managed, KEY, 10, mailbox_mode::MANAGED);
        twin.open_mode(1, tagged, KEY, 10, mailbox_mode::TAGGED);
        twin.open_mode(1, empty, KEY, 10, mailbox_mode::SPILL);
        twin.open_mode(1, 0xCA, KEY, 10, mailbox_mode::MANAGED | mailbox_mode::CATCH_ALL);
        twin.open_mode(2, ADDR + 5, KEY, 1, 0);
        for (i, addr) in (0..).zip([ADDR, ops, managed, tagged, 0xCA]) {
            twin.post(1, addr, 0x1_0003 + 0x1000 * i, 1000, 0x5000 + 16 * i);
        }
        twin.post(2, ADDR + 5, 0x8_0000, 1000, 0x6000);
        // The message that it comes with, of three packets in slot 1, is bound to the first mailbox meanwhile.
        let own = parts(context, 1, 600, 0, 200, 0);
        twin.put(&own[0], 90);
        let redirected = |addr: u64, buf_off: u32, length: usize| Put {
            opcode: opcode::PUT,
            pid: 1,
            addr,
            buf_off,
            message: own[1].message,
            msg_len: length as u32,
            payload: (0..length).map(|i| i as u8 | 1).collect(),
            slot: own[1].slot,
            redirected: true,
            ..Put::default()
        };
        let at = |addr: u64, buf_off: u32| redirected(addr, buf_off, 200);
        let decision = |twin: &mut Twin, put: &Put, offset: usize| {
            let frame = twin.put(put, offset);
            twin.expected[&frame]
        };
        // A raw frame: its payload may begin anywhere.
        assert_eq!(decision(&mut twin, &Put { opcode: 0, ..at(ops, 799) }, 42), Ok(()));
        assert_eq!(decision(&mut twin, &at(ops, 801), 90), Err(OUT_OF_BOUNDS));
        assert_eq!(decision(&mut twin, &at(ops, u32::MAX - 100), 90), Err(OUT_OF_BOUNDS));
        assert_eq!(decision(&mut twin, &redirected(ops, 1000, 0), 90), Ok(()), "an empty one is an operation");
        // The packet itself takes no bytes of its message's, and the offset means nothing to a managed mailbox.
        assert_eq!(decision(&mut twin, &at(managed, u32::MAX), 46), Ok(()));
        assert_eq!(decision(&mut twin, &at(managed, 5), 90), Ok(()));
        assert_eq!(decision(&mut twin, &redirected(managed, 0, 601), 90), Err(OUT_OF_BOUNDS), "600 bytes are left");
        assert_eq!(decision(&mut twin, &at(tagged, 0), 90), Err(UNSUPPORTED), "it names no epoch");
        assert_eq!(decision(&mut twin, &Put { opcode: opcode::GET, ..at(ADDR, 0) }, 106), Err(UNSUPPORTED));
        // No mailbox, or one of another process; no buffer: not caught.
        assert_eq!(decision(&mut twin, &at(ADDR + 5, 0), 90), Err(NO_MAILBOX));
        assert_eq!(decision(&mut twin, &at(empty, 0), 90), Err(NO_POSTED_BUFFER));
        // Bytes at the side of the message's: the threshold counts both.
        assert_eq!(decision(&mut twin, &at(ADDR, 700), 90), Ok(()));
        twin.put(&own[2], 90);
        twin.put(&own[1], 94);
        twin.bench.drain();
        let lengths: Vec<u32> = twin.model.records.iter().map(|record| record.length).collect();
        assert_eq!(lengths, [200, 800], "two operations; the message and what was sent beside it");
        twin.finish();
    });
}
