//! The host writer against the places that were given with each read.

use crate::hpu_core::fields::{bits, pack, slice};
use hpu_core::array::host_writer::HostWriter;
use rand::Rng;
use spindle_blocks::RamStyle;
use spindle_contract::memory_map::{COMMAND_HANDLES, HANDLE_BITS};
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::{HashMap, VecDeque};

const CLUSTERS: usize = 3;

/// A read that was asked for.
struct Read {
    tag: Vec<u8>,
    cluster: usize,
    issuer: (u64, u64),
    /// {in L2, beat}.
    place: u64,
    /// Byte of that beat.
    offset: u64,
    length: u64,
    error: bool,
}

impl Read {
    fn beats(&self) -> u64 {
        (self.offset + self.length).div_ceil(64)
    }

    /// Bytes of a beat that are the read's: first one, one after the last.
    fn bytes(&self, beat: u64) -> (u64, u64) {
        (if beat == 0 { self.offset } else { 0 }, (self.offset + self.length - 64 * beat).min(64))
    }
}

#[test]
fn bytes_go_where_they_were_asked_for() {
    run_with_wave_on_failure("host_writer", |wave| {
        let dut = Dut::new(wave, HostWriter::new(CLUSTERS, RamStyle::Block), "host_writer");
        let mut rng = wave.rng();
        let mut asked: VecDeque<Read> = VecDeque::new();
        let mut busy: HashMap<(usize, u64, u64), ()> = HashMap::new();
        let mut over: VecDeque<(usize, (u64, u64), bool)> = VecDeque::new();
        let (mut beat, mut offered, mut done, mut arrived, mut full_rate) = (0, false, 0, 0, 0);
        let (mut stage, mut staged, mut stored): (Option<(usize, u64, u64)>, _, _) = (None, 0, 0);
        // Cluster and rows of a copy, one of which is on the bus, so that the host is not.
        let (mut copy, mut copying): (Option<(usize, u64)>, _) = (None, false);
        for _ in 0..20_000 {
            let issuer = (rng.random_range(0..8), rng.random_range(0..COMMAND_HANDLES as u64));
            let cluster = rng.random_range(0..CLUSTERS);
            let asks = !busy.contains_key(&(cluster, issuer.0, issuer.1)) && rng.random_range(0..12) == 0;
            dut.target.valid.set(asks);
            if asks {
                let in_l2 = rng.random_range(0..3) == 0;
                let place = rng.random_range(0..900) | if in_l2 { 1 << 14 | rng.random_range(0..16) << 10 } else { 0 };
                let length = [rng.random_range(1..=2048), rng.random_range(1..=64)][rng.random_range(0..2)];
                let offset = [0, rng.random_range(0..64), 63][rng.random_range(0..3)];
                let fields = [("cluster", cluster as u64), ("hpu", issuer.0), ("handle", issuer.1), ("length", length)];
                let tag = pack("host_read", &[&fields[..], &[("offset", offset)]].concat());
                dut.target.set(place);
                busy.insert((cluster, issuer.0, issuer.1), ());
                let error = rng.random_range(0..4) == 0;
                asked.push_back(Read { tag, cluster, issuer, place, offset, length, error });
            }
            offered |= asked.len() > usize::from(asks) && rng.random_range(0..8) > 0;
            dut.host_valid.set(offered);
            let beats = asked.front().map_or(0, Read::beats);
            if let Some(read) = asked.front() {
                dut.host_tag.set_bytes(&read.tag);
                dut.host_last.set(beat + 1 == beats);
                dut.host_error.set(beat + 1 == beats && read.error);
            }
            // The L2 copy has rows now and then, of the last one only some bytes.
            if copy.is_none() && rng.random_range(0..48) == 0 {
                copy = Some((rng.random_range(0..CLUSTERS), rng.random_range(1..=33)));
            }
            if let (None, Some((cluster, rows))) = (stage, copy) {
                if rng.random_range(0..4) > 0 {
                    let tail = if rows == 1 { [0, rng.random_range(1..64)][rng.random_range(0..2)] } else { 0 };
                    stage = Some((cluster, rng.random_range(0..0x400), tail));
                }
            }
            dut.copy_valid.set(stage.is_some());
            if let (Some((cluster, beat, tail)), Some((_, rows))) = (stage, copy) {
                dut.copy_cluster.set(cluster);
                dut.copy_beat.set(beat);
                dut.copy_tail.set(tail);
                dut.copy_last.set(rows == 1);
            }
            dut.store_ready.set(rng.random_range(0..4) > 0);
            for i in 0..CLUSTERS {
                dut.ready[i].set(rng.random_range(0..8) > 0);
            }
            dut.done.ready.set(rng.random_range(0..2) == 0);
            dut.eval();
            let stores = dut.store_valid.is_high();
            if stores {
                let read = asked.front().expect("a read is under way");
                let (from, end) = read.bytes(beat);
                assert_eq!(1 << 14 | dut.beat.number(), read.place + beat);
                assert_eq!((dut.store_from.number(), dut.store_end.number()), (from, end % 64));
                assert_eq!(dut.host_ready.is_high(), dut.store_ready.is_high());
                stored += u64::from(dut.store_ready.is_high());
            }
            for i in 0..CLUSTERS {
                let writes = dut.write[i].is_high();
                assert!(!(stores && writes), "what is for L2 goes to no cluster");
                if writes && dut.of_l2_copy.is_high() {
                    let (cluster, beat, tail) = stage.expect("a row of the copy");
                    assert_eq!((cluster, beat), (i, dut.beat.number()));
                    assert_eq!(dut.last.is_high(), copy.is_some_and(|copy| copy.1 == 1));
                    let keep = if tail == 0 { u64::MAX } else { (1 << tail) - 1 };
                    assert_eq!(slice(&dut.keep.bytes(), 0, 64), keep, "the lowest {tail} bytes");
                    assert_eq!(dut.copy_ready.is_high(), dut.ready[i].is_high());
                } else if writes {
                    assert!(!copying, "the rows of a copy are one transfer");
                    let read = asked.front().expect("a read is under way");
                    let last = beat + 1 == beats;
                    assert_eq!(dut.last.is_high(), last);
                    assert_eq!(dut.issuer.bytes(), bits(&[(read.issuer.0, 3), (read.issuer.1, HANDLE_BITS)]));
                    assert_eq!(last && dut.error.is_high(), last && read.error);
                    assert_eq!((i, dut.beat.number()), (read.cluster, read.place + beat));
                    let (from, end) = read.bytes(beat);
                    let keep = (from..end).fold(0, |keep, byte| keep | 1 << byte);
                    assert_eq!(slice(&dut.keep.bytes(), 0, 64), keep);
                    assert_eq!(dut.host_ready.is_high(), dut.ready[i].is_high());
                }
            }
            if dut.done.valid.is_high() && dut.done.ready.is_high() {
                let (cluster, issuer, error) = over.pop_front().expect("a read is over");
                let bytes = dut.done.bytes();
                let wanted = bits(&[
                    (cluster as u64, 3),
                    (issuer.0, 3),
                    (issuer.1, HANDLE_BITS),
                    (error.into(), 1),
                    (0, 1),
                    (0, 64),
                ]);
                assert_eq!(bytes, wanted);
                busy.remove(&(cluster, issuer.0, issuer.1));
                done += 1;
            }
            if dut.copy_ready.is_high() {
                (stage, staged) = (None, staged + 1);
                copy = copy.map(|(cluster, rows)| (cluster, rows - 1)).filter(|copy| copy.1 > 0);
                copying = copy.is_some();
            }
            if offered && dut.host_ready.is_high() {
                (offered, beat) = (false, beat + 1);
                full_rate += 1;
                if beat == beats {
                    let read = asked.pop_front().expect("a read is under way");
                    // A cluster reports the end of its bytes itself.
                    if read.place >> 14 == 1 {
                        over.push_back((read.cluster, read.issuer, read.error));
                    } else {
                        busy.remove(&(read.cluster, read.issuer.0, read.issuer.1));
                        arrived += 1;
                    }
                    beat = 0;
                }
            }
            dut.tick();
        }
        assert!(staged > 200 && stored > 2000, "{staged} beats of the l2_copy, {stored} for L2");
        let most = (done, arrived);
        assert!(
            done > 100 && arrived > 200 && full_rate > 5000,
            "{most:?} reads to L2 and to clusters, {full_rate} beats"
        );
    });
}

#[test]
fn a_beat_per_cycle() {
    run_with_wave_on_failure("host_writer_bus", |wave| {
        // A cycle before the first beat; bytes that do not begin with a beat take one beat more.
        for (offset, cycles) in [(0, 33), (1, 34), (63, 34)] {
            let dut = Dut::new(wave, HostWriter::new(CLUSTERS, RamStyle::Block), "host_writer");
            dut.ready[0].set(true);
            dut.host_tag.set_bytes(&pack("host_read", &[("length", 2048), ("offset", offset)]));
            let whole = 32 + u64::from(offset > 0);
            dut.target.valid.set(true);
            for _ in 0..4 {
                dut.tick();
                dut.target.valid.set(false);
            }
            dut.host_valid.set(true);
            let (mut beats, mut taken) = (0, 0);
            while beats < whole {
                dut.host_last.set(beats + 1 == whole);
                dut.eval();
                beats += dut.host_ready.number();
                dut.tick();
                taken += 1;
            }
            assert_eq!(taken, cycles, "cycles for 2 KiB from byte {offset} on");
        }
    });
}

/// Both have a beat in every cycle: transfers of the host and of the L2 copy alternate.
#[test]
fn host_and_l2_copy_take_turns() {
    run_with_wave_on_failure("host_writer_turns", |wave| {
        let dut = Dut::new(wave, HostWriter::new(CLUSTERS, RamStyle::Block), "host_writer");
        (0..CLUSTERS).for_each(|i| dut.ready[i].set(true));
        dut.host_tag.set_bytes(&pack("host_read", &[("length", 64)]));
        let held = [&dut.target.valid, &dut.host_valid, &dut.host_last, &dut.copy_valid, &dut.copy_last];
        held.iter().for_each(|wire| wire.set(true));
        dut.done.ready.set(true);
        let mut of_host = vec![];
        for _ in 0..100 {
            dut.eval();
            let (host, copy) = (dut.host_ready.is_high(), dut.copy_ready.is_high());
            if host || copy {
                of_host.push(host);
            }
            dut.tick();
        }
        // Places of reads are known some cycles after they were given.
        let turns: Vec<bool> = of_host.into_iter().skip_while(|host| !host).collect();
        assert!(turns.len() > 40 && turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
    });
}
