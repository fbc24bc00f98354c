//! Streams: mailboxes that take messages in the order of their ordinals, one after the other.

use crate::rvma_lut::rvma_engine::bench::Bench;
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::message;
use spindle_contract::params::Config;
use spindle_contract::reasons::{CLOSED, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH, UNSUPPORTED};
use spindle_contract::registers::{doorbell_error, mailbox_mode};
use spindle_contract::wire::{flag, status};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::rvma_lut::Put;

const ADDR: u64 = 0x77;
const KEY: u32 = 5;
const FLAGS: u16 = flag::MANAGED | flag::EPOCH_VALID;

/// A stream whose buffers retire when fewer than `least` bytes are left.
fn twin(context: &WaveContext, least: u32) -> Twin {
    let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
    twin.bench.host.keep_log = true;
    twin.open_mode(1, ADDR, KEY, least, mailbox_mode::STREAM);
    twin
}

/// Buffer `i`, after the packets so far.
fn post(twin: &mut Twin, i: u64, size: u32) {
    twin.bench.drain();
    twin.post(1, ADDR, 0x1_0003 + 0x1000 * i, size, 0x5000 + 16 * i);
}

/// The message with this ordinal, in packets of 100 bytes.
fn parts(context: &WaveContext, id: u32, length: u32, ordinal: u16) -> Vec<Put> {
    let mut parts = message(&mut context.rng(), 1, ADDR, KEY, id, length, 7, 100, id as u8);
    parts.iter_mut().for_each(|p| (p.flags, p.epoch) = (FLAGS, ordinal));
    parts
}

/// Gives a packet to both sides and says what the model expects.
fn decision(twin: &mut Twin, put: &Put) -> Result<(), usize> {
    let frame = twin.put(put, 90);
    twin.expected[&frame]
}

/// A message waits for its turn, which comes when the one before it is bound, by whichever of its packets; its other packets
/// come when they like.
#[test]
fn messages_take_turns() {
    run_with_wave_on_failure("rvma_stream_turns", |context| {
        let mut twin = twin(context, 1);
        let messages: Vec<Vec<Put>> = (0..4).map(|i| parts(context, 10 + i, 300, i as u16)).collect();
        assert_eq!(decision(&mut twin, &messages[0][0]), Err(NO_POSTED_BUFFER), "nothing is posted");
        post(&mut twin, 0, 1000);
        // One by one and without a pause: the second is ahead, then it is its turn.
        assert_eq!(decision(&mut twin, &messages[1][0]), Err(NO_POSTED_BUFFER), "the first has no bytes yet");
        for (which, part) in [(0, 2), (1, 1), (2, 0), (1, 2), (0, 0), (2, 2), (2, 1), (1, 0), (0, 1)] {
            assert_eq!(decision(&mut twin, &messages[which][part]), Ok(()), "message {which}, part {part}");
        }
        for (ordinal, expected) in [(0, STALE_EPOCH), (2, STALE_EPOCH), (4, NO_POSTED_BUFFER)] {
            assert_eq!(decision(&mut twin, &parts(context, 20, 50, ordinal)[0]), Err(expected), "ordinal {ordinal}");
        }
        // Half of all ordinals are ahead.
        for (ordinal, expected) in [(0x1002, NO_POSTED_BUFFER), (0x1003, STALE_EPOCH), (0xE002, STALE_EPOCH)] {
            assert_eq!(decision(&mut twin, &parts(context, 21, 50, ordinal)[0]), Err(expected), "ordinal {ordinal:#x}");
        }
        // Too long for what is left: the stream stands still until its turn is taken by one that fits.
        assert_eq!(decision(&mut twin, &parts(context, 22, 101, 3)[0]), Err(OUT_OF_BOUNDS));
        assert_eq!(decision(&mut twin, &parts(context, 23, 10, 4)[0]), Err(NO_POSTED_BUFFER));
        assert_eq!(decision(&mut twin, &parts(context, 24, 100, 3)[0]), Ok(()));
        assert_eq!(decision(&mut twin, &parts(context, 23, 10, 4)[0]), Err(NO_POSTED_BUFFER), "the buffer is full");
        post(&mut twin, 1, 10);
        // An empty message has its turn like any other.
        assert_eq!(decision(&mut twin, &parts(context, 25, 0, 4)[0]), Ok(()));
        assert_eq!(decision(&mut twin, &parts(context, 26, 10, 5)[0]), Ok(()));
        twin.bench.drain();
        let ends: Vec<_> = twin.model.records.iter().map(|r| (r.epoch, r.length, r.status)).collect();
        assert_eq!(ends, [(0, 1000, status::DONE), (1, 10, status::DONE)]);
        twin.finish();
    });
}

/// A packet without an ordinal is not for a stream; nor is one with an ordinal for a managed mailbox. A stream neither
/// spills nor counts operations, and is no catch-all.
#[test]
fn a_stream_is_of_one_kind() {
    run_with_wave_on_failure("rvma_stream_kind", |context| {
        let mut twin = twin(context, 1);
        post(&mut twin, 0, 100);
        twin.open_mode(1, 0x78, KEY, 1, mailbox_mode::MANAGED);
        twin.post(1, 0x78, 0x9_0000, 100, 0x6000);
        for (addr, flags) in [(ADDR, flag::MANAGED), (ADDR, flag::EPOCH_VALID), (ADDR, 0), (0x78, FLAGS)] {
            let put = Put { addr, flags, ..parts(context, 1, 10, 0).remove(0) };
            assert_eq!(decision(&mut twin, &put), Err(UNSUPPORTED), "mailbox {addr:#x}, flags {flags:#x}");
        }
        for other in [mailbox_mode::OPS, mailbox_mode::SPILL, mailbox_mode::CATCH_ALL] {
            let opened = twin.bench.init_window(1, 0x79, KEY, 1, mailbox_mode::STREAM | other);
            assert_eq!(opened, Err(doorbell_error::UNSUPPORTED), "{other:#x}");
            assert_eq!(twin.model.init_window(1, 0x79, KEY, 1, mailbox_mode::STREAM | other), opened.map(|_| ()));
        }
        assert_eq!(decision(&mut twin, &parts(context, 2, 100, 0)[0]), Ok(()));
        twin.finish();
    });
}

/// What is cut has had its turn, and the next message goes into the next buffer; a mailbox that is opened again begins with
/// ordinal 0.
#[test]
fn cuts_keep_the_turn() {
    run_with_wave_on_failure("rvma_stream_cuts", |context| {
        let mut twin = twin(context, 1);
        post(&mut twin, 0, 1000);
        post(&mut twin, 1, 1000);
        let first = parts(context, 1, 300, 0);
        let second = parts(context, 2, 300, 1);
        assert_eq!(decision(&mut twin, &first[0]), Ok(()));
        assert_eq!(twin.inc_epoch(1, ADDR), Ok(()));
        assert_eq!(decision(&mut twin, &first[1]), Err(STALE_EPOCH));
        assert_eq!(decision(&mut twin, &parts(context, 3, 100, 0)[0]), Err(STALE_EPOCH));
        assert_eq!(decision(&mut twin, &second[1]), Ok(()));
        // The last buffer goes as well, and none follows.
        assert_eq!(twin.inc_epoch(1, ADDR), Ok(()));
        assert_eq!(decision(&mut twin, &parts(context, 4, 100, 2)[0]), Err(NO_POSTED_BUFFER));
        post(&mut twin, 2, 1000);
        let third = parts(context, 5, 200, 2);
        assert_eq!(decision(&mut twin, &third[0]), Ok(()));
        assert_eq!(twin.close(1, ADDR), Ok(()));
        let ends: Vec<_> = twin.model.records.iter().map(|r| (r.length, r.status)).collect();
        assert_eq!(ends, [(100, status::PARTIAL), (100, status::PARTIAL), (100, status::CANCELLED)]);
        twin.open_mode(1, ADDR, KEY, 1, mailbox_mode::STREAM);
        post(&mut twin, 3, 1000);
        assert_eq!(decision(&mut twin, &third[1]), Err(CLOSED));
        assert_eq!(decision(&mut twin, &parts(context, 6, 100, 3)[0]), Err(NO_POSTED_BUFFER));
        assert_eq!(decision(&mut twin, &parts(context, 7, 100, 0)[0]), Ok(()));
        // A mailbox of another kind with the number of one that was a stream has no turns.
        assert_eq!(twin.close(1, ADDR), Ok(()));
        twin.open_mode(1, ADDR, KEY, 1, mailbox_mode::MANAGED);
        post(&mut twin, 4, 100);
        let plain = Put { flags: flag::MANAGED, epoch: 900, ..parts(context, 8, 100, 0).remove(0) };
        assert_eq!(decision(&mut twin, &plain), Ok(()));
        twin.finish();
    });
}
