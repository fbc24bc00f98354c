//! Receive maps: what the host sees of buffers that are not complete.

use crate::rvma_lut::rvma_engine::bench::{Bench, Pace, FULL};
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::{message, OFFSETS};
use rand::seq::SliceRandom;
use rand::Rng;
use spindle_contract::params::{Config, RECEIVE_MAPS, RECEIVE_MAP_BITS};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, mailbox_mode, MAP_SHIFT};
use spindle_harness::run_with_wave_on_failure;
use spindle_sim::host_memory::Timing;

const ADDR: u64 = 0x77;
const KEY: u32 = 5;

impl Bench {
    /// POST_MAPPED: the map, or the error.
    pub fn post_mapped(
        &mut self,
        pid: u16,
        mailbox: u32,
        base: u64,
        size: u32,
        record: u64,
        granule: u32,
    ) -> Result<u32, u32> {
        self.stage_buffer(pid, mailbox, base, size, record);
        self.stage(pid, doorbell::COUNT, granule);
        match self.ring(pid, doorbell_command::POST_MAPPED) {
            (doorbell_error::NONE, map) => Ok(map),
            (error, _) => Err(error),
        }
    }

    /// READ_MAP: 64 bits of a map.
    fn map_word(&mut self, pid: u16, map: u32, word: u32) -> Result<u64, u32> {
        match self.about(pid, 0, map << MAP_SHIFT | word, doorbell_command::READ_MAP) {
            (doorbell_error::NONE, value, _) => Ok(value),
            (error, ..) => Err(error),
        }
    }

    /// The bits that are set in a map.
    fn map(&mut self, pid: u16, map: u32) -> Vec<u32> {
        let words: Vec<u64> =
            (0..RECEIVE_MAP_BITS as u32 / 64).map(|word| self.map_word(pid, map, word).unwrap()).collect();
        (0..RECEIVE_MAP_BITS as u32).filter(|bit| words[*bit as usize / 64] >> (bit % 64) & 1 == 1).collect()
    }

    fn free_map(&mut self, pid: u16, map: u32) -> u32 {
        self.stage(pid, doorbell::COUNT, map << MAP_SHIFT);
        self.ring(pid, doorbell_command::FREE_MAP).0
    }
}

/// Granules of these places.
fn granules(starts: impl IntoIterator<Item = u32>, granule: u32) -> Vec<u32> {
    let mut bits: Vec<u32> = starts.into_iter().map(|start| start >> granule).collect();
    bits.sort_unstable();
    bits.dedup();
    bits.retain(|bit| *bit < RECEIVE_MAP_BITS as u32);
    bits
}

/// A buffer with a map.
#[derive(Clone)]
struct Watched {
    base: u64,
    granule: u32,
    map: u32,
    /// Where its packets begin, those under way included.
    starts: Vec<u32>,
}

impl Watched {
    /// Its map when all packets have been answered.
    fn bits(&self) -> Vec<u32> {
        granules(self.starts.iter().copied(), self.granule)
    }
}

#[test]
fn a_map_shows_what_has_arrived() {
    run_with_wave_on_failure("rvma_map", |context| {
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
        twin.bench.host.keep_log = true;
        twin.open(1, ADDR, KEY, 20_000);
        twin.buffers.push((0x10_0003, 20_000, 0x5000));
        twin.model.post_buffer(1, ADDR, 0x10_0003, 20_000, 0x5000).unwrap();
        let number = twin.numbers[&(1, ADDR)];
        let map = twin.bench.post_mapped(1, number, 0x10_0003, 20_000, 0x5000, 8).unwrap();
        assert_eq!(twin.bench.map(1, map), [0u32; 0]);
        let mut parts = message(&mut rng, 1, ADDR, KEY, 9, 10_000, 5_000, 256, 3);
        parts.shuffle(&mut rng);
        let late = parts.split_off(20);
        for put in &parts {
            twin.put(put, OFFSETS[0]);
        }
        twin.bench.drain();
        let starts = |parts: &[spindle_model::rvma_lut::Put]| -> Vec<u32> {
            parts.iter().map(|p| p.buf_off + p.msg_off).collect()
        };
        assert_eq!(twin.bench.map(1, map), granules(starts(&parts), 8));
        // No one else sees it, and words that there are not are none.
        assert_eq!(twin.bench.map_word(2, map, 0), Err(doorbell_error::NO_MAP));
        assert_eq!(twin.bench.free_map(2, map), doorbell_error::NO_MAP);
        assert_eq!(twin.bench.map_word(1, map + 1, 0), Err(doorbell_error::NO_MAP));
        assert_eq!(twin.bench.map_word(1, RECEIVE_MAPS as u32, 0), Err(doorbell_error::BAD_ARGUMENT));
        assert_eq!(twin.bench.map_word(1, map, RECEIVE_MAP_BITS as u32 / 64), Err(doorbell_error::BAD_ARGUMENT));
        assert_eq!(twin.bench.post_mapped(1, number, 0x20_0000, 64, 0x5010, 32), Err(doorbell_error::BAD_ARGUMENT));
        for put in &late {
            twin.put(put, OFFSETS[1]);
        }
        // A second message fills it: the map is that of the whole buffer, and stays when it is complete.
        let rest = message(&mut rng, 1, ADDR, KEY, 10, 10_000, 0, 1024, 4);
        for put in &rest {
            twin.put(put, OFFSETS[0]);
        }
        twin.bench.drain();
        let all = granules(starts(&parts).into_iter().chain(starts(&late)).chain(starts(&rest)), 8);
        assert_eq!(twin.bench.map(1, map), all);
        // The slot's next buffer has nothing to do with it.
        for i in 0..u64::from(Config::SIM.posted_buffers as u32) {
            let free = twin.bench.post_buffer(1, number, 0x100_0000 + i * 0x8000, 20_000, 0x8_0000 + 16 * i);
            assert_eq!(free, Ok(()));
            twin.model.post_buffer(1, ADDR, 0x100_0000 + i * 0x8000, 20_000, 0x8_0000 + 16 * i).unwrap();
            twin.buffers.push((0x100_0000 + i * 0x8000, 20_000, 0x8_0000 + 16 * i));
        }
        for put in message(&mut rng, 1, ADDR, KEY, 11, 20_000, 0, 1408, 5) {
            twin.put(&put, OFFSETS[0]);
        }
        twin.bench.drain();
        assert_eq!(twin.bench.map(1, map), all);
        assert_eq!(twin.bench.free_map(1, map), doorbell_error::NONE);
        assert_eq!(twin.bench.free_map(1, map), doorbell_error::NO_MAP);
        assert_eq!(twin.bench.map_word(1, map, 0), Err(doorbell_error::NO_MAP));
        twin.finish();
    });
}

/// A buffer that is cut keeps its map, and what the host refuses sets no bit.
#[test]
fn what_was_not_written_is_not_in_the_map() {
    run_with_wave_on_failure("rvma_map_errors", |context| {
        let mut rng = context.rng();
        let mut bench = Bench::new(context, &Config::SIM, (1, 30));
        bench.host.failing = vec![0x10_1000..0x10_1400];
        let number = bench.init_window(1, ADDR, KEY, 1 << 20, 0).unwrap();
        let map = bench.post_mapped(1, number, 0x10_0000, 1 << 20, 0x5000, 10).unwrap();
        for put in &message(&mut rng, 1, ADDR, KEY, 3, 8192, 0, 1024, 3)[1..] {
            bench.put(put, OFFSETS[0]);
        }
        bench.drain();
        assert_eq!(bench.map(1, map), [1, 2, 3, 5, 6, 7]);
        assert_eq!(bench.about(1, number, 0, doorbell_command::INC_EPOCH).0, doorbell_error::NONE);
        bench.drain();
        assert_eq!(bench.map(1, map), [1, 2, 3, 5, 6, 7]);
    });
}

#[test]
fn there_are_so_many_maps() {
    run_with_wave_on_failure("rvma_maps_all", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 30));
        let number = bench.init_window(1, ADDR, KEY, 64, 0).unwrap();
        let post = |bench: &mut Bench, i: u64| bench.post_mapped(1, number, 0x10_0000 + 64 * i, 64, 0x5000 + 16 * i, 0);
        let mut maps: Vec<u32> = (0..RECEIVE_MAPS as u64).map(|i| post(&mut bench, i).unwrap()).collect();
        assert_eq!(post(&mut bench, 8), Err(doorbell_error::NO_MAP));
        assert_eq!(bench.counter(spindle_contract::registers::rvma::BUFFERS), RECEIVE_MAPS as u32);
        assert_eq!(bench.free_map(1, maps[5]), doorbell_error::NONE);
        assert_eq!(post(&mut bench, 9), Ok(maps[5]));
        maps.sort_unstable();
        assert_eq!(maps, (0..RECEIVE_MAPS as u32).collect::<Vec<_>>());
        // A post that fails takes no map.
        assert_eq!(bench.free_map(1, 2), doorbell_error::NONE);
        assert_eq!(bench.post_mapped(1, number, 0x10_0000, 32, 0x5000, 0), Err(doorbell_error::BAD_ARGUMENT));
        assert_eq!(bench.post_mapped(1, number + 1, 0x10_0000, 64, 0x5000, 0), Err(doorbell_error::NO_MAILBOX));
        assert_eq!(post(&mut bench, 10), Ok(2));
        bench.dut.reset();
        bench.steps(3_000);
        bench.trust(u64::MAX);
        let number = bench.init_window(1, ADDR, KEY, 64, 0).unwrap();
        assert_eq!(bench.post_mapped(1, number, 0x10_0000, 64, 0x5000, 0), Ok(0), "a reset takes all back");
    });
}

/// Buffers that get maps and lose them while packets run: a bit stands for bytes that are in memory, none is missing when
/// all has been answered, and none is left over from a buffer before.
#[test]
fn random_maps() {
    run_with_wave_on_failure("rvma_maps_random", |context| {
        let mut rng = context.rng();
        let mut bench = Bench::new(context, &Config::SIM, (1, 1));
        bench.pace = Pace { idle: 20, read_stall: 10, ..FULL };
        bench.host.timing = Timing { aw_stall: 10, w_stall: 10, response_min: 1, response_max: 200, read_stall: 0 };
        let mailboxes: Vec<u32> =
            (0..6).map(|i| bench.init_window(1, i, KEY, 1 << 14, mailbox_mode::NACK_OFF).unwrap()).collect();
        let mut open: Vec<Option<Watched>> = vec![None; mailboxes.len()];
        let mut seen = 0;
        for round in 0..400u64 {
            let i = rng.random_range(0..mailboxes.len());
            match open[i].take() {
                None => {
                    let granule = rng.random_range(4..12);
                    let base = 0x1000_0000 + round * 0x1_0000 + rng.random_range(0..64);
                    let record = 0x5000 + 16 * round;
                    let map = bench.post_mapped(1, mailboxes[i], base, 1 << 14, record, granule).unwrap();
                    assert_eq!(bench.map(1, map), [0u32; 0], "round {round}: a map begins empty");
                    open[i] = Some(Watched { base, granule, map, starts: vec![] });
                }
                Some(mut watched) => match rng.random_range(0..8) {
                    // The buffer is full at once and its map given back while its packets are under way.
                    0 => {
                        let rest = message(&mut rng, 1, i as u64, KEY, round as u32, 1 << 14, 0, 512, i as u8);
                        for put in &rest {
                            bench.put(put, OFFSETS[0]);
                        }
                        bench.steps(rng.random_range(0..400));
                        assert_eq!(bench.free_map(1, watched.map), doorbell_error::NONE);
                    }
                    1 | 2 => {
                        let all_answered = bench.host.idle() && bench.open_packets() == 0;
                        let bits = bench.map(1, watched.map);
                        let known = watched.bits();
                        assert!(bits.iter().all(|bit| known.contains(bit)), "round {round}: {bits:?} of {known:?}");
                        seen += bits.len();
                        if all_answered {
                            assert_eq!(bits, known);
                        }
                        open[i] = Some(watched);
                    }
                    _ => {
                        let at = rng.random_range(0..200) * 16;
                        let put = &message(&mut rng, 1, i as u64, KEY, round as u32, 64, at, 64, 0)[0];
                        let reserved = watched.starts.len() as u32 * 64 + 64;
                        if reserved < 1 << 14 {
                            watched.starts.push(put.buf_off);
                            bench.put(put, OFFSETS[1]);
                        }
                        open[i] = Some(watched);
                    }
                },
            }
        }
        bench.drain();
        for watched in open.into_iter().flatten() {
            assert_eq!(bench.map(1, watched.map), watched.bits());
            for start in watched.starts {
                assert_ne!(bench.host.memory.bytes(watched.base + u64::from(start), 64), [0; 64]);
            }
        }
        assert!(seen > 100, "maps were hardly looked at: {seen} bits");
    });
}
