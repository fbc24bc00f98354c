//! Catch-all mailboxes: what finds no mailbox, or no buffer, header and payload.

use crate::rvma_lut::rvma_engine::bench::Bench;
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::{message, payload};
use spindle_contract::params::Config;
use spindle_contract::reasons::{BAD_KEY, NO_MAILBOX, NO_POSTED_BUFFER, OUT_OF_BOUNDS, T_LOOKED_UP, UNSUPPORTED};
use spindle_contract::registers::mailbox_mode::{CATCH_ALL, MANAGED, SPILL, TAGGED};
use spindle_contract::wire::{flag, opcode, SPINDLE_BYTES};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::rvma_lut::Put;

const ADDR: u64 = 0x77;
const CATCHER: u64 = 0xCA;
const KEY: u32 = 5;

fn twin(context: &WaveContext, mode: u32) -> Twin {
    let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
    twin.bench.host.keep_log = true;
    twin.open_mode(1, ADDR, KEY, 300, mode);
    twin
}

/// A message of packets of 100 bytes, with their headers.
fn parts(context: &WaveContext, id: u32, length: u32, addr: u64, flags: u16) -> Vec<Put> {
    let mut rng = context.rng();
    let mut parts = message(&mut rng, 1, addr, KEY, id, length, 0, 100, id as u8);
    parts.iter_mut().for_each(|p| (p.flags, p.header) = (flags, payload(&mut rng, SPINDLE_BYTES)));
    parts
}

fn decision(twin: &mut Twin, put: &Put) -> Result<(), usize> {
    let frame = twin.put(put, 90);
    twin.expected[&frame]
}

/// Packets for which there is no mailbox, each with its header, one after the other; only of the process that has a
/// catch-all, only while it is open, and nothing that another reason forbids.
#[test]
fn what_finds_no_mailbox() {
    run_with_wave_on_failure("rvma_catch_all", |context| {
        let mut twin = twin(context, 0);
        let stray = parts(context, 1, 250, 0x99, flag::MANAGED);
        assert_eq!(decision(&mut twin, &stray[0]), Err(NO_MAILBOX));
        twin.bench.drain();
        twin.open_mode(1, CATCHER, 0, 200, MANAGED | CATCH_ALL);
        assert_eq!(decision(&mut twin, &stray[0]), Err(NO_POSTED_BUFFER), "it has no buffer");
        twin.bench.drain();
        twin.post(1, CATCHER, 0x1_0003, 700, 0x5000);
        twin.post(1, CATCHER, 0x2_0000, 300, 0x5010);
        // Three packets of one message, backwards, and an empty one.
        for put in stray.iter().rev() {
            assert_eq!(decision(&mut twin, put), Ok(()));
        }
        assert_eq!(decision(&mut twin, &parts(context, 2, 0, 0x98, 0)[0]), Ok(()));
        twin.bench.drain();
        assert!(twin.model.records.is_empty());
        // Its own mailbox knows what to do with these.
        assert_eq!(decision(&mut twin, &parts(context, 3, 100, ADDR, 0)[0]), Err(NO_POSTED_BUFFER));
        assert_eq!(decision(&mut twin, &Put { key: 6, ..parts(context, 4, 100, ADDR, 0).remove(0) }), Err(BAD_KEY));
        let control = Put { opcode: opcode::CTRL, ..parts(context, 5, 100, 0x99, 0).remove(0) };
        assert_eq!(decision(&mut twin, &control), Err(UNSUPPORTED));
        for pid in [2, 65, 0x101] {
            assert_eq!(decision(&mut twin, &Put { pid, ..stray[0].clone() }), Err(NO_MAILBOX), "process {pid}");
        }
        // 442 bytes are taken; 110 more leave less than 200.
        assert_eq!(decision(&mut twin, &parts(context, 6, 62, 0x99, 0)[0]), Ok(()));
        twin.bench.drain();
        assert_eq!(twin.model.records.iter().map(|r| r.length).collect::<Vec<_>>(), [552]);
        // Directly, as any managed mailbox; and too long for what is left.
        assert_eq!(
            decision(&mut twin, &Put { key: 0, ..parts(context, 7, 90, CATCHER, flag::MANAGED).remove(0) }),
            Ok(())
        );
        let long = Put { msg_len: 300, payload: vec![7; 300], ..parts(context, 8, 0, 0x99, 0).remove(0) };
        assert_eq!(decision(&mut twin, &long), Err(OUT_OF_BOUNDS));
        twin.close(1, CATCHER).unwrap();
        assert_eq!(decision(&mut twin, &stray[0]), Err(NO_MAILBOX));
        twin.finish();
    });
}

/// A message that finds no buffer goes there as a whole, also when a buffer is posted before it ends; the next message takes
/// the buffer. A mailbox without SPILL refuses as ever.
#[test]
fn what_finds_no_buffer() {
    run_with_wave_on_failure("rvma_spill", |context| {
        let mut twin = twin(context, SPILL);
        twin.open_mode(1, 0x78, KEY, 300, TAGGED | SPILL);
        twin.open(1, 0x79, KEY, 300);
        assert_eq!(decision(&mut twin, &parts(context, 1, 100, ADDR, 0)[0]), Err(NO_POSTED_BUFFER), "no catch-all");
        twin.bench.drain();
        twin.open_mode(1, CATCHER, 0, 200, MANAGED | CATCH_ALL);
        twin.post(1, CATCHER, 0x1_0000, 4000, 0x5000);
        let early = parts(context, 2, 300, ADDR, 0);
        let ahead = parts(context, 3, 250, 0x78, flag::EPOCH_VALID);
        for put in [&early[1], &ahead[0]] {
            assert_eq!(decision(&mut twin, put), Ok(()));
        }
        assert_eq!(decision(&mut twin, &parts(context, 4, 100, 0x79, 0)[0]), Err(NO_POSTED_BUFFER));
        twin.bench.drain();
        twin.post(1, ADDR, 0x2_0000, 300, 0x5010);
        twin.post(1, 0x78, 0x3_0000, 300, 0x5020);
        for put in [&early[2], &ahead[2], &early[0], &ahead[1]] {
            assert_eq!(decision(&mut twin, put), Ok(()));
        }
        for put in parts(context, 5, 300, ADDR, 0).iter().chain(&parts(context, 6, 300, 0x78, flag::EPOCH_VALID)) {
            assert_eq!(decision(&mut twin, put), Ok(()));
        }
        twin.bench.drain();
        assert_eq!(twin.model.records.len(), 2);
        // Back to back: every packet takes a second turn.
        for id in 10..30 {
            assert_eq!(decision(&mut twin, &parts(context, id, 50, ADDR, 0)[0]), Ok(()));
        }
        twin.bench.drain();
        twin.inc_epoch(1, CATCHER).unwrap();
        assert_eq!(twin.model.records.last().unwrap().length, 550 + 6 * 48 + 20 * 98);
        twin.finish();
    });
}

/// No mailbox costs nothing more; no buffer a second turn, so such packets bind one per four cycles.
#[test]
fn cycles() {
    run_with_wave_on_failure("rvma_catch_all_cycles", |context| {
        let mut twin = twin(context, SPILL);
        twin.open_mode(1, CATCHER, 0, 200, MANAGED | CATCH_ALL);
        twin.post(1, CATCHER, 0x1_0000, 100_000, 0x5000);
        let looked_up = |twin: &mut Twin, puts: &[Put]| -> Vec<u64> {
            twin.bench.drain();
            let frames: Vec<u16> = puts.iter().map(|put| twin.put(put, 90)).collect();
            twin.bench.drain();
            let accepted = twin.bench.accepted.iter().find(|a| a.0 == frames[0]).unwrap().1;
            let trace = &twin.bench.trace;
            frames
                .iter()
                .map(|f| trace.iter().find(|t| (t.0, t.1) == (T_LOOKED_UP, *f)).unwrap().2 - accepted)
                .collect()
        };
        let single = |id, addr| parts(context, id, 50, addr, 0).remove(0);
        assert_eq!(looked_up(&mut twin, &[single(1, 0x99)]), [13]);
        assert_eq!(looked_up(&mut twin, &[single(2, ADDR)]), [17]);
        let many: Vec<Put> = (10..40).map(|id| single(id, ADDR)).collect();
        let cycles = looked_up(&mut twin, &many);
        println!("thirty packets that find no buffer: {cycles:?}");
        assert_eq!(cycles.last().unwrap() - cycles[1], 4 * 28);
        twin.finish();
    });
}
