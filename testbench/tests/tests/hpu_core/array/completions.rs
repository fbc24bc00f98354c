//! Completions: nothing is lost, and everything is reported once.

use crate::hpu_core::fields::{bits, pack, slice};
use hpu_core::array::completions::Completions;
use rand::Rng;
use spindle_contract::descriptors::put_op::HOST_HANDLE;
use spindle_contract::memory_map::{COMMAND_HANDLES, HANDLE_BITS};
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

/// Most handles that can have a put under way, and most atomics.
const PUTS: usize = 256;
const ATOMICS: usize = 16;

/// A completion as the clusters see it: cluster, HPU, handle, error, result.
type Done = (u64, u64, u64, bool, Option<u64>);

#[test]
fn everything_is_told_once() {
    run_with_wave_on_failure("completions", |wave| {
        let dut = Dut::new(wave, Completions::default(), "completions");
        let mut rng = wave.rng();
        // By source: put, atomic, read.
        let mut waiting: [VecDeque<Done>; 3] = Default::default();
        let mut fullest = [0; 2];
        let (mut read, mut reported) = (None, [0; 3]);
        for cycle in 0..30_000u64 {
            // For long times the clusters take nothing, so that all that can be under way ends meanwhile.
            let blocked = cycle % 4000 < 1500;
            let ends = cycle > 29_000;
            let mut end = || -> Done {
                (
                    rng.random_range(0..8),
                    rng.random_range(0..8),
                    rng.random_range(0..COMMAND_HANDLES as u64),
                    rng.random(),
                    None,
                )
            };
            let (put, mut atomic, next) = (end(), end(), end());
            atomic.4 = (!atomic.3).then(|| rng.random());
            let fields =
                |done: &Done| vec![("cluster", done.0), ("hpu", done.1), ("handle", done.2), ("error", done.3.into())];
            let puts = !ends && waiting[0].len() < PUTS && rng.random_range(0..3) == 0;
            let adds = !ends && waiting[1].len() < ATOMICS && rng.random_range(0..3) == 0;
            // The end of a process' put is no one's here.
            let foreign = !puts && rng.random_range(0..3) == 0;
            dut.put_done.valid.set(puts || foreign);
            let shown = if foreign { (put.0, put.1, HOST_HANDLE.into(), put.3, None) } else { put };
            dut.put_done.set_bytes(&pack("put_done", &fields(&shown)));
            dut.atomic_done.valid.set(adds);
            let value = ("value", atomic.4.unwrap_or(0x1234));
            dut.atomic_done.set_bytes(&pack("host_atomic_done", &[&fields(&atomic)[..], &[value]].concat()));
            if read.is_none() && !ends && rng.random_range(0..4) == 0 {
                read = Some(next);
            }
            dut.read_done.valid.set(read.is_some());
            let (cluster, hpu, handle, error, _) = read.unwrap_or((0, 0, 0, false, None));
            let offered = bits(&[(cluster, 3), (hpu, 3), (handle, HANDLE_BITS), (error.into(), 1), (0, 1), (0, 64)]);
            dut.read_done.set_bytes(&offered);
            dut.done.ready.set(!blocked && rng.random_range(0..4) > 0);
            dut.eval();
            if dut.done.valid.is_high() && dut.done.ready.is_high() {
                let bytes = dut.done.bytes();
                let after = 6 + HANDLE_BITS;
                let [cluster, hpu, handle, error, has_result] =
                    [(0, 3), (3, 3), (6, HANDLE_BITS), (after, 1), (after + 1, 1)]
                        .map(|(at, width)| slice(&bytes, at, width));
                let result = (has_result == 1).then(|| slice(&bytes, after + 2, 64));
                let done = (cluster, hpu, handle, error == 1, result);
                let source = (0..3).find(|source| waiting[*source].front() == Some(&done));
                let source = source.unwrap_or_else(|| panic!("{done:?} is not over"));
                waiting[source].pop_front();
                reported[source] += 1;
            }
            if puts {
                waiting[0].push_back(put);
            }
            if adds {
                waiting[1].push_back(atomic);
            }
            if dut.read_done.ready.is_high() {
                waiting[2].extend(read.take());
            }
            fullest = [0, 1].map(|i| fullest[i].max(waiting[i].len()));
            dut.tick();
        }
        assert!(waiting.iter().all(VecDeque::is_empty), "{waiting:?}");
        assert!(
            fullest == [PUTS, ATOMICS] && reported.iter().all(|reported| *reported > 300),
            "{fullest:?} {reported:?}"
        );
    });
}
