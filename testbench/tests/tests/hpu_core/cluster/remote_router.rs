//! The remote router between random requests, an L2 that keeps their order and an atomic unit that takes its time.

use crate::hpu_core::fields::{bits, slice};
use hpu_core::cluster::remote_router::RemoteRouter;
use rand::Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

/// Thread, write, data, bytes of an answer to come.
type Owed = (u64, u64, u64, usize);

const HPUS: usize = 4;
/// Most requests of L2 in flight.
const MOST: usize = 16;
const WIDTHS: [usize; 8] = [1, 1, 1, 1, 5, 20, 2, 32];

/// A request: thread, far, write, atomic, operation, address, bytes less one, data.
type Request = [u64; 8];

fn fields(bytes: &[u8]) -> Request {
    let mut at = 0;
    WIDTHS.map(|width| {
        at += width;
        slice(bytes, at - width, width)
    })
}

fn random(rng: &mut impl Rng) -> Request {
    let far = rng.random_range(0..5) > 0;
    let atomic = !far || rng.random_range(0..5) == 0;
    let address = if atomic { 4 * rng.random_range(0..8) } else { rng.random_range(0..32) };
    let size = if atomic { 3 } else { [0, 1, 3][rng.random_range(0..3)] };
    let write = !atomic && rng.random();
    [
        rng.random_range(0..2),
        far.into(),
        write.into(),
        atomic.into(),
        rng.random_range(0..32),
        address,
        size,
        rng.random::<u32>().into(),
    ]
}

#[test]
fn answers_go_to_whoever_asked() {
    run_with_wave_on_failure("remote_router", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, RemoteRouter::new(HPUS), "remote_router");
        let mut memory = vec![0u8; 64];
        let mut expected_memory = memory.clone();
        let mut wanted: [Option<Request>; HPUS] = [None; HPUS];
        // Answers owed, per HPU: from L2 in order, from the atomic unit in order.
        let mut owed: [[VecDeque<Owed>; 2]; HPUS] = Default::default();
        // Accesses of L2 that were granted, in their order: HPU and request.
        let mut granted: VecDeque<(usize, Request)> = VecDeque::new();
        // Accesses that L2 has taken: when it answers, the HPU, whether a second part follows, the answer.
        let mut l2: VecDeque<(u64, usize, bool, [u64; 3])> = VecDeque::new();
        // The answer that comes out a cycle later: the HPU, and whether it is the atomic unit's. A first part was answered.
        let (mut due, mut half): (Option<(usize, usize)>, bool) = (None, false);
        let mut unit: VecDeque<(u64, usize, [u64; 3])> = VecDeque::new();
        let (mut split, mut answered, mut waited, mut fullest) = (0, [0; 2], [0; HPUS], 0);
        for cycle in 0..40_000u64 {
            let busy = if cycle / 1000 % 2 == 0 { 100 } else { 30 };
            for hpu in 0..HPUS {
                let inside: usize = owed[hpu].iter().map(VecDeque::len).sum();
                if wanted[hpu].is_none() && inside < 8 && cycle < 39_000 && rng.random_range(0..100) < busy {
                    wanted[hpu] = Some(random(&mut rng));
                }
                let shown = wanted[hpu].unwrap_or_else(|| random(&mut rng));
                dut.request[hpu].valid.set(wanted[hpu].is_some());
                let pairs: Vec<_> = shown.iter().copied().zip(WIDTHS).collect();
                dut.request[hpu].set_bytes(&bits(&pairs));
            }
            let (l2_ready, atomic_ready) = (rng.random_range(0..100) < busy, unit.len() < 2 && rng.random());
            dut.l2.ready.set(l2_ready);
            dut.atomic.ready.set(atomic_ready);
            let answer = l2.pop_front_if(|answer| answer.0 <= cycle);
            dut.l2.answer_valid.set(answer.is_some());
            let [thread, write, data] = answer.map_or([1, 1, 0xABCD], |answer| answer.3);
            dut.l2.answer.set_bytes(&bits(&[(thread, 1), (write, 1), (data, 32)]));
            let by_unit = unit.front().filter(|answer| answer.0 <= cycle).copied();
            dut.atomic_answer.valid.set(by_unit.is_some());
            let (_, to, [thread, write, data]) = by_unit.unwrap_or((0, 3, [1, 1, 7]));
            dut.atomic_answer_hpu.set(to);
            dut.atomic_answer.set_bytes(&bits(&[(thread, 1), (write, 1), (data, 32)]));
            dut.eval();

            // Answers: a cycle after L2 or the atomic unit gave the last part.
            let valid = dut.answer_valid.number();
            assert_eq!(valid, due.map_or(0, |(hpu, _)| 1 << hpu), "cycle {cycle}");
            if let Some((hpu, kind)) = due {
                let bytes = dut.answer.bytes();
                let [thread, write, data] = [(0, 1), (1, 1), (2, 32)].map(|(at, width)| slice(&bytes, at, width));
                let fits = |wanted: &Owed| {
                    let mask = u64::MAX >> (64 - 8 * wanted.3);
                    (wanted.0, wanted.1) == (thread, write)
                        && ((kind == 0 && write == 1) || wanted.2 & mask == data & mask)
                };
                let next = owed[hpu][kind].pop_front();
                assert!(
                    next.as_ref().is_some_and(fits),
                    "cycle {cycle}, HPU {hpu}: {thread} {write} {data:#x}, owed {next:x?}"
                );
                answered[kind] += 1;
            }
            // L2 goes first, and nothing comes between two parts.
            assert_eq!(dut.atomic_answer.ready.is_high(), answer.is_none() && !half, "cycle {cycle}");
            due = None;
            if let Some((_, hpu, first, _)) = answer {
                due = (!first).then_some((hpu, 0));
                half = first;
            } else if let Some((_, hpu, _)) = by_unit.filter(|_| !half) {
                due = Some((hpu, 1));
                unit.pop_front();
            }
            // Requests that are taken: the order of the accesses of L2 is that of their grants.
            for hpu in 0..HPUS {
                let taken = dut.request[hpu].ready.is_high();
                let Some(request) = wanted[hpu] else {
                    assert!(!taken);
                    continue;
                };
                if !taken {
                    waited[hpu] += 1;
                    continue;
                }
                let [thread, far, write, atomic, _, address, size, data] = request;
                let (at, bytes) = (address as usize, size as usize + 1);
                if far == 1 {
                    let mut old = [0; 8];
                    let end = (at + bytes).min(64);
                    old[..end - at].copy_from_slice(&expected_memory[at..end]);
                    owed[hpu][0].push_back((thread, write, u64::from_le_bytes(old), bytes));
                    if write == 1 {
                        expected_memory[at..end].copy_from_slice(&data.to_le_bytes()[..end - at]);
                    }
                    granted.push_back((hpu, request));
                    split += usize::from(atomic == 0 && at % 4 + bytes > 4);
                } else {
                    assert!(atomic_ready && dut.atomic.valid.is_high(), "cycle {cycle}");
                    let shown = fields(&dut.atomic.bytes());
                    assert_eq!((shown, dut.atomic_hpu.number() as usize), (request, hpu));
                    let answer = rng.random::<u32>().into();
                    let write = rng.random_range(0..2);
                    owed[hpu][1].push_back((thread, write, answer, 4));
                    let ready = cycle + rng.random_range(1..12);
                    unit.push_back((ready, hpu, [thread, write, answer]));
                }
                wanted[hpu] = None;
            }
            if dut.l2.valid.is_high() && l2_ready {
                let second = dut.l2.second.is_high();
                // The request as it was made, but for the address of the second part.
                let (hpu, mut request) = *granted.front().expect("an access was granted");
                let [thread, _, write, atomic, _, ref mut address, size, data] = request;
                let crosses = atomic == 0 && *address % 4 + size > 3;
                let first = crosses && !second;
                assert!(crosses || !second, "cycle {cycle}");
                *address += if second { 4 } else { 0 };
                let address = *address;
                assert_eq!(
                    (fields(&dut.l2.request.bytes()), dut.l2.hpu.number()),
                    (request, hpu as u64),
                    "cycle {cycle}"
                );
                granted.drain(..usize::from(!first));
                // As L2 does it: byte i of the data is in lane (offset + i) % 4; the second part has the bytes after the
                // word.
                let (row, lane) = (address as usize & !3, address as usize & 3);
                let part = if second { 4..8 } else { 0..4 };
                let in_part = |i: &usize| *i <= size as usize && part.contains(&(lane + i));
                assert!((0..4).any(|i| in_part(&i)), "cycle {cycle}: a part of no bytes");
                // What was not asked for is undefined.
                let mut old = [0; 8];
                old[..4].fill_with(|| rng.random());
                for i in (0..4).filter(in_part) {
                    let at = row + (lane + i) % 4;
                    old[i] = memory[at];
                    if write == 1 {
                        memory[at] = data.to_le_bytes()[i];
                    }
                }
                // Now and then L2 takes so long that there is no room for more.
                let slow = if cycle / 300 % 4 == 3 { 40 } else { 5 };
                l2.push_back((cycle + slow, hpu, first, [thread, write, u64::from_le_bytes(old)]));
                fullest = fullest.max(l2.len());
            }
            dut.tick();
        }
        assert_eq!(fullest, MOST);
        assert!(owed.iter().flatten().all(VecDeque::is_empty), "all is answered");
        assert!(memory == expected_memory);
        assert!(split > 500 && answered[0] > 5000 && answered[1] > 500, "{split} split, {answered:?} answered");
        let most = waited.iter().max().expect("four HPUs");
        assert!(waited.iter().all(|waited| waited * 2 > *most), "the turns are fair: {waited:?}");
    });
}
