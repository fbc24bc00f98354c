//! `RoundRobin` against its definition, and `StreamArbiter` with frames.

use crate::blocks::common::random_bytes;
use rand::Rng;
use spindle_blocks::{RoundRobin, StreamArbiter};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

fn round_robin<const N: usize>(wave: &WaveContext, name: &str) {
    let mut rng = wave.rng();
    let dut = Dut::new(wave, RoundRobin::<N>::default(), name);
    dut.reset();
    let (mut last, mut holder) = (N - 1, None);
    let mut granted = [0; N];
    for cycle in 0..8000 {
        let request: u64 = match rng.random_range(0..4) {
            0 => (1 << N) - 1,
            1 => 0,
            2 => 1 << rng.random_range(0..N),
            _ => rng.random::<u64>() & ((1 << N) - 1),
        };
        let (accept, lock) = (rng.random_bool(0.7), rng.random_bool(0.4));
        dut.request.set(request);
        dut.accept.set(accept);
        dut.lock.set(lock);
        dut.eval();
        let asks = |i: usize| request >> i & 1 == 1;
        let expected = match holder {
            Some(holder) => asks(holder).then_some(holder),
            None => (1..=N).map(|step| (last + step) % N).find(|i| asks(*i)),
        };
        assert_eq!(
            dut.grant.number(),
            expected.map_or(0, |i| 1 << i),
            "cycle {cycle}: request {request:#b} after {last}"
        );
        assert_eq!(dut.index.number(), expected.unwrap_or(0) as u64, "cycle {cycle}");
        assert_eq!(dut.any.is_high(), expected.is_some(), "cycle {cycle}");
        if let (Some(i), true) = (expected, accept) {
            (last, holder) = (i, lock.then_some(i));
            granted[i] += 1;
        }
        dut.tick();
    }
    assert!(granted.iter().all(|n| *n > 0), "{granted:?}");
}

#[test]
fn round_robin_follows_its_definition() {
    run_with_wave_on_failure("round_robin_follows_its_definition", |wave| {
        round_robin::<1>(wave, "round_robin_1");
        round_robin::<2>(wave, "round_robin_2");
        round_robin::<5>(wave, "round_robin_5");
        round_robin::<16>(wave, "round_robin_16");
        round_robin::<32>(wave, "round_robin_32");
    });
}

/// A beat: bytes, valid bytes, last.
type TestBeat = ([u8; 64], u32, bool);

fn streams(wave: &WaveContext, n: usize, name: &str) {
    let mut rng = wave.rng();
    let dut = Dut::new(wave, StreamArbiter::new(n), name);
    dut.reset();
    let frame = |rng: &mut rand_chacha::ChaCha8Rng| -> Vec<TestBeat> {
        let beats = rng.random_range(1..5);
        (1..=beats)
            .map(|b| (random_bytes(rng), if b == beats { rng.random_range(1..=64) } else { 64 }, b == beats))
            .collect()
    };
    // What each input still has to send, and what it has sent and not seen again.
    let mut waiting: Vec<VecDeque<TestBeat>> = vec![VecDeque::new(); n];
    let mut inside: Vec<VecDeque<TestBeat>> = vec![VecDeque::new(); n];
    let mut offered: Vec<bool> = vec![false; n];
    let (mut open, mut moved): (Option<usize>, usize) = (None, 0);
    for cycle in 0..3000 {
        let busy = cycle < 2500;
        let crowded = cycle % 512 < 256;
        for i in 0..n {
            if busy && waiting[i].len() < 8 {
                waiting[i].extend(frame(&mut rng));
            }
            offered[i] |= !waiting[i].is_empty() && (crowded || rng.random_bool(0.4));
            let (data, bytes, last) = waiting[i].front().copied().unwrap_or(([0; 64], 64, false));
            dut.sink_valid[i].set(offered[i]);
            dut.sink_data[i].set(&data);
            // Of other beats it means nothing.
            let tail = if last { u64::from(bytes) % 64 } else { rng.random_range(0..64) };
            dut.sink_tail[i].set(tail);
            dut.sink_last[i].set(last);
        }
        let ready = crowded || rng.random_bool(0.6);
        dut.source.ready.set(ready);
        dut.eval();
        let valid = dut.source.valid.is_high();
        if crowded && cycle % 512 > 8 && busy {
            assert!(valid, "cycle {cycle}: a bubble although all sources offer beats");
        }
        if valid && ready {
            let index = dut.source_index.number() as usize;
            assert!(open.is_none_or(|o| o == index), "cycle {cycle}: frames are mixed");
            let (data, bytes, last) = inside[index].pop_front().expect("a beat that no one sent");
            assert_eq!(dut.source.data.bytes(), data, "cycle {cycle}");
            assert_eq!(dut.source.keep.number(), u64::MAX >> (64 - bytes), "cycle {cycle}");
            assert_eq!(dut.source.last.is_high(), last, "cycle {cycle}");
            open = (!last).then_some(index);
            moved += 1;
        }
        for i in 0..n {
            if offered[i] && dut.sink_ready[i].is_high() {
                inside[i].push_back(waiting[i].pop_front().expect("a beat was offered"));
                offered[i] = false;
            }
        }
        dut.tick();
    }
    assert!(inside.iter().all(VecDeque::is_empty) && waiting.iter().all(VecDeque::is_empty), "beats were lost");
    assert!(moved > 1200, "only {moved} beats moved");
}

#[test]
fn stream_arbiter_keeps_frames_whole() {
    run_with_wave_on_failure("stream_arbiter_keeps_frames_whole", |wave| {
        streams(wave, 1, "stream_arbiter_1");
        streams(wave, 3, "stream_arbiter_3");
        streams(wave, 8, "stream_arbiter_8");
    });
}
