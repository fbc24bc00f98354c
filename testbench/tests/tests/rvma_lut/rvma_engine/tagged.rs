//! TAGGED mailboxes: packets that name the epoch they are for.

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

fn twin(context: &WaveContext, threshold: u32, mode: u32) -> Twin {
    let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
    twin.bench.host.keep_log = true;
    twin.open_mode(1, ADDR, KEY, threshold, mode);
    twin
}

/// Buffer `i` of 300 bytes.
fn post(twin: &mut Twin, i: u64) {
    twin.post(1, ADDR, 0x1_0000 + 0x1000 * i, 300, 0x5000 + 16 * i);
}

/// A message for an epoch, in packets of 100 bytes.
fn parts(context: &WaveContext, id: u32, length: u32, epoch: u16) -> Vec<Put> {
    let mut parts = message(&mut context.rng(), 1, ADDR, KEY, id, length, 0, 100, id as u8);
    parts.iter_mut().for_each(|p| (p.flags, p.epoch) = (flag::EPOCH_VALID, epoch));
    parts
}

/// Gives a packet to both sides and says what the model expects.
fn decision(twin: &mut Twin, put: &Put) -> Result<(), usize> {
    let frame = twin.put(put, 90);
    twin.expected[&frame]
}

/// Four buffers take messages at once, whichever they name, and complete in any order; the epoch follows the oldest.
#[test]
fn packets_go_where_their_tag_says() {
    run_with_wave_on_failure("rvma_tagged", |context| {
        let mut twin = twin(context, 300, mailbox_mode::TAGGED);
        assert_eq!(decision(&mut twin, &parts(context, 1, 300, 0)[0]), Err(NO_POSTED_BUFFER), "nothing is posted");
        for i in 0..6 {
            post(&mut twin, i);
        }
        let messages: Vec<Vec<Put>> = (0..6).map(|i| parts(context, 10 + i, 300, i as u16)).collect();
        for (tag, expected) in [(3, Ok(())), (4, Err(NO_POSTED_BUFFER)), (1, Ok(())), (0, Ok(())), (2, Ok(()))] {
            assert_eq!(decision(&mut twin, &messages[tag][2]), expected, "tag {tag}");
        }
        assert_eq!(decision(&mut twin, &parts(context, 20, 300, 0xFFFF)[0]), Err(STALE_EPOCH), "before the first");
        // The second and third complete before the first: the epoch stays, and neither takes a message any more.
        for tag in [2, 1] {
            for part in [0, 1] {
                assert_eq!(decision(&mut twin, &messages[tag][part]), Ok(()));
            }
            assert_eq!(twin.epoch(1, ADDR), Ok(0));
        }
        assert_eq!(decision(&mut twin, &parts(context, 21, 100, 2)[0]), Err(STALE_EPOCH));
        assert_eq!(decision(&mut twin, &parts(context, 22, 100, 4)[0]), Err(NO_POSTED_BUFFER));
        // The first: the window moves by three.
        for part in [1, 0] {
            assert_eq!(decision(&mut twin, &messages[0][part]), Ok(()));
        }
        assert_eq!(twin.epoch(1, ADDR), Ok(3));
        for (id, tag, expected) in [(23, 0, STALE_EPOCH), (24, 6, NO_POSTED_BUFFER), (25, 7, NO_POSTED_BUFFER)] {
            assert_eq!(decision(&mut twin, &parts(context, id, 100, tag)[0]), Err(expected), "tag {tag}");
        }
        for tag in [5, 4, 3] {
            let late = if tag == 3 { 2 } else { 3 };
            for (part, packet) in messages[tag].iter().enumerate().take(late) {
                assert_eq!(decision(&mut twin, packet), Ok(()), "tag {tag}, part {part}");
            }
        }
        assert_eq!(twin.epoch(1, ADDR), Ok(6));
        // Empty again; what is posted then takes its messages.
        assert_eq!(decision(&mut twin, &parts(context, 26, 100, 5)[0]), Err(STALE_EPOCH));
        post(&mut twin, 6);
        for put in parts(context, 27, 300, 6) {
            assert_eq!(decision(&mut twin, &put), Ok(()));
        }
        let order: Vec<u16> = {
            twin.bench.drain();
            twin.model.records.iter().map(|r| r.epoch).collect()
        };
        assert_eq!(order, [2, 1, 0, 5, 4, 3, 6]);
        twin.finish();
    });
}

/// A message just after the one that completes its buffer finds the buffer closed, like one that comes later.
#[test]
fn a_buffer_closes_at_once() {
    run_with_wave_on_failure("rvma_tagged_closes", |context| {
        let mut twin = twin(context, 100, mailbox_mode::TAGGED);
        for i in 0..4 {
            post(&mut twin, i);
        }
        for epoch in [0, 2, 3, 1] {
            for (id, expected) in [(1, Ok(())), (2, Err(STALE_EPOCH)), (3, Err(STALE_EPOCH))] {
                let put = parts(context, 10 * u32::from(epoch) + id, 100, epoch).remove(0);
                assert_eq!(decision(&mut twin, &put), expected, "message {id} of epoch {epoch}");
            }
        }
        twin.finish();
    });
}

/// A message is bound by its first packet, whatever tags the others carry; its bytes count in the buffer that it was bound
/// to; a packet without a tag is not for this mailbox, nor one with a tag for another.
#[test]
fn a_message_has_one_buffer() {
    run_with_wave_on_failure("rvma_tagged_message", |context| {
        let mut twin = twin(context, 2, mailbox_mode::TAGGED | mailbox_mode::OPS);
        for i in 0..2 {
            post(&mut twin, i);
        }
        let mut wandering = parts(context, 1, 300, 1);
        wandering[2].epoch = 0;
        wandering[0].epoch = 900;
        for part in [1, 2, 0] {
            assert_eq!(decision(&mut twin, &wandering[part]), Ok(()));
        }
        let mut plain = parts(context, 2, 100, 0);
        plain[0].flags = 0;
        assert_eq!(decision(&mut twin, &plain[0]), Err(UNSUPPORTED));
        let mut outside = parts(context, 3, 100, 0);
        outside[0].buf_off = 201;
        assert_eq!(decision(&mut twin, &outside[0]), Err(OUT_OF_BOUNDS));
        assert_eq!(decision(&mut twin, &parts(context, 4, 50, 1)[0]), Ok(()));
        twin.bench.drain();
        assert_eq!(twin.model.records.iter().map(|r| (r.epoch, r.length)).collect::<Vec<_>>(), [(1, 350)]);
        twin.open(1, 0x78, KEY, 100);
        let tagged = Put { addr: 0x78, ..parts(context, 5, 100, 0).remove(0) };
        assert_eq!(decision(&mut twin, &tagged), Err(UNSUPPORTED));
        twin.finish();
    });
}

/// INC_EPOCH ends the oldest buffer, which moves the window; CLOSE returns all; the next mailbox with the same window knows
/// nothing of them.
#[test]
fn cuts_move_the_window() {
    run_with_wave_on_failure("rvma_tagged_cuts", |context| {
        let mut twin = twin(context, 300, mailbox_mode::TAGGED);
        for i in 0..5 {
            post(&mut twin, i);
        }
        let first = parts(context, 1, 300, 0);
        assert_eq!(decision(&mut twin, &first[0]), Ok(()));
        assert_eq!(twin.inc_epoch(1, ADDR), Ok(()));
        assert_eq!(decision(&mut twin, &first[1]), Err(STALE_EPOCH));
        assert_eq!(decision(&mut twin, &parts(context, 2, 100, 0)[0]), Err(STALE_EPOCH));
        let fifth = parts(context, 3, 300, 4);
        assert_eq!(decision(&mut twin, &fifth[0]), Ok(()));
        assert_eq!(twin.epoch(1, ADDR), Ok(1));
        assert_eq!(twin.close(1, ADDR), Ok(()));
        let ends: Vec<(u32, u8)> = twin.model.records.iter().map(|r| (r.length, r.status)).collect();
        let cancelled = |length| (length, status::CANCELLED);
        assert_eq!(ends, [(100, status::PARTIAL), cancelled(0), cancelled(0), cancelled(0), cancelled(100)]);
        twin.open_mode(1, ADDR, KEY, 300, mailbox_mode::TAGGED);
        assert_eq!(decision(&mut twin, &fifth[1]), Err(CLOSED));
        post(&mut twin, 8);
        for tag in 1..5 {
            assert_eq!(decision(&mut twin, &parts(context, 10 + u32::from(tag), 100, tag)[0]), Err(NO_POSTED_BUFFER));
        }
        for put in parts(context, 20, 300, 0) {
            assert_eq!(decision(&mut twin, &put), Ok(()));
        }
        assert_eq!(twin.epoch(1, ADDR), Ok(1));
        twin.finish();
    });
}

/// An eighth of the mailboxes can be TAGGED; one more is refused, and one that is closed makes room.
#[test]
fn windows_run_out() {
    run_with_wave_on_failure("rvma_windows_full", |context| {
        let mut bench = Bench::new(context, &Config { mailboxes: 64, ..Config::SIM }, (1, 1));
        let mut open = vec![];
        for addr in 0..8 {
            open.push(bench.init_window(1, addr, KEY, 100, mailbox_mode::TAGGED).unwrap());
        }
        assert_eq!(bench.init_window(1, 9, KEY, 100, mailbox_mode::TAGGED), Err(doorbell_error::TABLE_FULL));
        assert!(bench.init_window(1, 9, KEY, 100, 0).is_ok(), "any other kind");
        for closed in [3, 5] {
            let close = spindle_contract::registers::doorbell_command::CLOSE;
            assert_eq!(bench.about(1, open[closed], 0, close).0, doorbell_error::NONE);
        }
        for addr in [20, 21] {
            assert!(bench.init_window(1, addr, KEY, 100, mailbox_mode::TAGGED).is_ok());
        }
        assert_eq!(bench.init_window(1, 22, KEY, 100, mailbox_mode::TAGGED), Err(doorbell_error::TABLE_FULL));
    });
}
