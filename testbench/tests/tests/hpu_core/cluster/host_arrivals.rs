//! The queue of the host's beats against a list.

use crate::hpu_core::fields::{bits, slice};
use hpu_core::cluster::host_arrivals::HostArrivals;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::HANDLE_BITS;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

/// Beats that have room.
const DEPTH: usize = 32;
/// A beat, as `hpu_core::cluster::host_arrivals::HostArrival`.
#[derive(Clone)]
struct Arrival {
    data: Vec<u8>,
    keep: u64,
    beat: u64,
    last: bool,
    of_copy: bool,
    hpu: u64,
    handle: u64,
    error: bool,
}

impl Arrival {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        Self {
            data: (0..64).map(|_| rng.random()).collect(),
            keep: rng.random(),
            beat: rng.random_range(0..1024),
            last: rng.random_range(0..3) == 0,
            of_copy: rng.random(),
            hpu: rng.random_range(0..8),
            handle: rng.random_range(0..1 << HANDLE_BITS),
            error: rng.random(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let tail = bits(&[
            (self.keep, 64),
            (self.beat, 10),
            (self.last.into(), 1),
            (self.of_copy.into(), 1),
            (self.hpu, 3),
            (self.handle, HANDLE_BITS),
            (self.error.into(), 1),
        ]);
        [&self.data[..], &tail].concat()
    }
}

#[test]
fn beats_and_ends_come_in_order() {
    run_with_wave_on_failure("host_arrivals", |wave| {
        let dut = Dut::new(wave, HostArrivals::default(), "host_arrivals");
        let mut rng = wave.rng();
        dut.reset();
        let (mut queue, mut offered) = (VecDeque::<Arrival>::new(), None::<Arrival>);
        // What ended with the write of the cycle before.
        let mut ended: Option<Arrival> = None;
        let (mut reads, mut copies, mut fulls, mut moved) = (0, 0, 0, 0);
        let (mut come, mut go) = (50, 50);
        for cycle in 0..30_000 {
            if cycle % 200 == 0 {
                (come, go) = [(100, 100), (100, 30), (30, 100), (50, 50)][rng.random_range(0..4)];
            }
            if offered.is_none() && rng.random_range(0..100) < come {
                offered = Some(Arrival::random(&mut rng));
            }
            dut.arrival.valid.set(offered.is_some());
            // Without an offer, the bits are any.
            let shown = offered.clone().unwrap_or_else(|| Arrival { last: true, ..Arrival::random(&mut rng) });
            dut.arrival.set_bytes(&shown.bytes());
            let ready = rng.random_range(0..100) < go;
            dut.write.ready.set(!ready);
            dut.eval();
            let room = dut.arrival.ready.is_high();
            dut.write.ready.set(ready);
            dut.eval();
            assert_eq!(room, dut.arrival.ready.is_high(), "cycle {cycle}: the bus does not see L1");
            assert_eq!(room, queue.len() < DEPTH, "cycle {cycle}: {} beats", queue.len());
            fulls += usize::from(!room);

            let read = ended.as_ref().filter(|end| !end.of_copy);
            assert_eq!(dut.read_ended.valid.is_high(), read.is_some(), "cycle {cycle}: end of a read");
            if let Some(read) = read {
                let wanted = bits(&[(read.hpu, 3), (read.handle, HANDLE_BITS), (read.error.into(), 1)]);
                assert_eq!(dut.read_ended.bytes(), wanted, "cycle {cycle}");
                reads += 1;
            }
            let copy = ended.as_ref().is_some_and(|end| end.of_copy);
            assert_eq!(dut.staged.is_high(), copy, "cycle {cycle}: end of a copy");
            copies += usize::from(copy);

            assert_eq!(dut.write.write.is_high(), !queue.is_empty(), "cycle {cycle}");
            if let Some(oldest) = queue.front() {
                assert_eq!(dut.write.data.bytes(), oldest.data, "cycle {cycle}");
                assert_eq!(slice(&dut.write.keep.bytes(), 0, 64), oldest.keep, "cycle {cycle}");
                assert_eq!(dut.write.beat.number(), oldest.beat, "cycle {cycle}");
            }
            ended = None;
            if ready {
                if let Some(oldest) = queue.pop_front() {
                    moved += 1;
                    ended = Some(oldest).filter(|beat| beat.last);
                }
            }
            if room {
                queue.extend(offered.take());
            }
            dut.tick();
        }
        assert!(
            reads > 1000 && copies > 1000 && fulls > 1000 && moved > 10_000,
            "{reads} reads, {copies} copies, {fulls} cycles full, {moved} beats"
        );
    });
}
