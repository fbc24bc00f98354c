//! L1 against an array of bytes, with all users at it at once.

use crate::hpu_core::fields::bits;
use hpu_core::cluster::l1::L1;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_hart::bytes_of_half;
use spindle_verilog::ports::Wire;
use spindle_verilog::prelude::{Bit, Out};
use std::collections::VecDeque;

/// Bytes and where they are written.
type Writes = Vec<(usize, Vec<u8>)>;

const BYTES: usize = 64 << 10;

/// An access of a half port, held until it is granted.
#[derive(Clone, Copy, Debug)]
struct Word {
    address: usize,
    write: bool,
    /// Of a write: where the store begins, its bytes less one, what it stores.
    offset: usize,
    size_less_one: usize,
    data: u32,
    shared: bool,
    waited: usize,
}

/// Addresses that meet often: a few beats of both groups in the part of the memory that belongs to `owner`.
fn address(rng: &mut ChaCha8Rng, owner: usize) -> usize {
    0x4000 * owner + 64 * rng.random_range(0..4) + 4 * rng.random_range(0..16)
}

/// An access as a half port takes it.
fn request(word: &Word) -> Vec<u8> {
    let (row, offset, size) = (word.address as u64 >> 3, word.offset as u64, word.size_less_one as u64);
    bits(&[(row, 13), (offset, 3), (size, 2), (word.data.into(), 32), (word.shared.into(), 1), (word.write.into(), 1)])
}

/// A store, or what a read says of one, of which a byte is in this half port's word.
fn store(rng: &mut ChaCha8Rng, half: usize, address: usize, write: bool) -> Word {
    let size_less_one = [0, 1, 3][rng.random_range(0..3)];
    let offsets: Vec<usize> =
        (0..8).filter(|offset| bytes_of_half(half, *offset, size_less_one, 0).count() > 0).collect();
    let offset = offsets[rng.random_range(0..offsets.len())];
    Word { address, write, offset, size_less_one, data: rng.random(), shared: rng.random(), waited: 0 }
}

fn word(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes"))
}

/// Random words of every HPU, packets, pages, scrubs and the read DMA, each in its own part of the memory except for reads,
/// which go anywhere.
fn traffic(hpus: usize, name: &str, cycles: usize) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, L1::new(hpus), name);
        // What registers hold before the first edge may be written somewhere; the beats in use start as zeros.
        let mut memory = vec![0u8; BYTES];
        dut.scrub.write.set(true);
        for beat in (0..3).flat_map(|part| (0..4).map(move |beat| 0x100 * part + beat)) {
            dut.scrub.beat.set(beat);
            dut.tick();
        }
        dut.scrub.write.set(false);
        dut.tick();
        let mut words: Vec<Option<Word>> = vec![None; 2 * hpus];
        // What the half ports, and the wide port, are to show in this cycle and the next one.
        let mut shown: Vec<VecDeque<Option<u32>>> = vec![VecDeque::from([None, None]); 2 * hpus];
        let mut wide: VecDeque<Option<(usize, Vec<u8>)>> = VecDeque::from([None, None]);
        let mut shared = 0u64;
        let mut groups: [Option<Vec<u8>>; 2] = [None, None];
        // The write that the register holds: it is in the memory a cycle later. Whether it was taken after it had been
        // refused, and whether one was refused now.
        let mut pending: Option<(usize, Writes)> = None;
        let (mut forced, mut late) = (false, false);
        let (mut packet, mut scrub, mut dma) = (None::<(usize, Vec<u8>, u64)>, None::<usize>, None::<usize>);
        // A beat of the host; it is the host's turn, not a packet's; how often both were there.
        let (mut host, mut host_turn, mut both) = (None::<(usize, Vec<u8>, u64)>, false, 0);
        // Beats that the host has written in its turn; how often a turn ended with the fourth.
        let (mut host_beats, mut turns_ended, mut host_pause) = (0, 0, 4);
        // A beat of a COMBINE, and the cycles it has waited.
        let (mut combined, mut combined_waited, mut combines) = (None::<(usize, Vec<u8>, u64)>, 0, 0);
        let (mut refused, mut forcings) = (0, 0);
        let mut page: Option<(usize, bool)> = None;
        // HPU whose store the super-bank refused last, of even and of odd words.
        let mut keeps: [Option<usize>; 2] = [None, None];
        let mut stores_waited = 0;
        let (mut granted, mut collided, mut waited_most, mut reads, mut moved, mut atomics) = (0, 0, 0, 0, 0, 0);
        let mut busy = 50;
        for cycle in 0..cycles {
            if cycle % 500 == 0 {
                busy = [10, 50, 100][rng.random_range(0..3)];
                host_pause = [1, 4][rng.random_range(0..2)];
            }
            let mut announced = vec![false; 2 * hpus];
            // Word accesses: HPU h writes its own half ports' words only (two writers of one word are not ordered), and
            // reads all.
            for (port, held) in words.iter_mut().enumerate() {
                if held.is_none() && rng.random_range(0..100) < busy {
                    let write = rng.random();
                    let part = if write { 0 } else { rng.random_range(0..3) };
                    let at = (address(&mut rng, part) & !4) | (4 * (port % 2));
                    let at = if write { (at & !0x38) | (8 * (port / 2 % 4) + 0x100 * (port / 8)) } else { at };
                    *held = Some(store(&mut rng, port % 2, at, write));
                }
                dut.word[port].valid.set(held.is_some());
                // A store is announced, and so may be one that does not come.
                announced[port] = held.is_some_and(|access| access.write) || rng.random_range(0..8) == 0;
                dut.word[port].stores.set(announced[port]);
                let at = rng.random_range(0..BYTES);
                let word = held.unwrap_or(store(&mut rng, port % 2, at, at % 2 == 0));
                dut.word[port].set_bytes(&request(&word));
            }
            // The atomic unit has locked the super-bank of its word, and comes through the half ports of HPU 0.
            let guest = (rng.random_range(0..10) == 0)
                .then(|| (address(&mut rng, 2), rng.random::<bool>().then(|| rng.random::<u32>())));
            let lock = match guest {
                Some((at, _)) => 1 << (at / 4 % 8),
                None if rng.random_range(0..4) == 0 => rng.random::<u64>() & 0xFF,
                None => 0,
            };
            dut.lock.set(lock);
            dut.guest.valid.set(guest.is_some());
            let (at, written) = guest.unwrap_or((rng.random_range(0..BYTES), None));
            // What a guest that reads says of data is looked at by no one; without a guest all but the row is zero.
            let data = written.unwrap_or(if guest.is_some() { 77 } else { 0 });
            let write = written.is_some();
            let (offset, size_less_one) = if write { (at & 4, 3) } else { (0, 0) };
            let access = Word { address: at, write, offset, size_less_one, data, shared: write, waited: 0 };
            dut.guest.set_bytes(&request(&access));
            // The wide side.
            if packet.is_none() && rng.random_range(0..3) == 0 {
                packet = Some((address(&mut rng, 1) / 64, (0..64).map(|_| rng.random()).collect(), u64::MAX));
            }
            if host.is_none() && rng.random_range(0..host_pause) == 0 {
                let keep = if rng.random_range(0..4) == 0 { rng.random() } else { u64::MAX };
                host = Some((address(&mut rng, 1) / 64, (0..64).map(|_| rng.random()).collect(), keep));
            }
            if combined.is_none() && rng.random_range(0..4) == 0 {
                let keep = [rng.random(), u64::MAX][rng.random_range(0..2)];
                combined = Some((address(&mut rng, 1) / 64, (0..64).map(|_| rng.random()).collect(), keep));
            }
            if page.is_none() && rng.random_range(0..8) == 0 {
                page = Some((address(&mut rng, 1) / 64, rng.random()));
            }
            if scrub.is_none() && rng.random_range(0..4) == 0 {
                scrub = Some(address(&mut rng, 1) / 64);
            }
            let halves: [Vec<u8>; 2] = std::array::from_fn(|_| (0..64).map(|_| rng.random()).collect());
            dut.combined.write.set(combined.is_some());
            dut.combined.beat.set(combined.as_ref().map_or(8, |c| c.0 as u64));
            dut.combined.data.set_bytes(combined.as_ref().map_or(&halves[1], |c| &c.1));
            dut.combined.keep.set(combined.as_ref().map_or(rng.random(), |c| c.2));
            dut.packet_write.set(packet.is_some());
            dut.packet_beat.set(packet.as_ref().map_or(7, |p| p.0 as u64));
            dut.packet_data.set_bytes(packet.as_ref().map_or(&halves[0], |p| &p.1));
            dut.host.write.set(host.is_some());
            dut.host.beat.set(host.as_ref().map_or(6, |h| h.0 as u64));
            dut.host.data.set_bytes(host.as_ref().map_or(&halves[1], |h| &h.1));
            dut.host.keep.set(host.as_ref().map_or(rng.random(), |h| h.2));
            dut.page.write.set(page.is_some());
            dut.page.beat.set(page.map_or(9, |p| p.0 as u64));
            dut.page.half.set(page.is_some_and(|p| p.1));
            dut.page_low.set_bytes(&halves[0]);
            dut.page_high.set_bytes(&halves[1]);
            dut.scrub.write.set(scrub.is_some());
            dut.scrub.beat.set(scrub.unwrap_or(3));
            dut.wide.read.set(dma.is_some());
            dut.wide.beat.set(dma.unwrap_or(5));
            dut.eval();
            // What the read DMA reads in the next cycle: the same again, if it was refused.
            let reads_now = if dut.wide.ready.is_high() { dma.take() } else { None };
            let dma_next = dma.or_else(|| {
                let part = rng.random_range(0..3);
                (rng.random_range(0..100) < busy).then(|| address(&mut rng, part) / 64)
            });
            dut.wide.next.set(dma_next.is_some());
            dut.wide.next_odd.set(dma_next.unwrap_or_else(|| rng.random_range(0..2)) % 2 == 1);
            dut.eval();

            // What was read two cycles ago.
            for (port, shown) in shown.iter_mut().enumerate() {
                if let Some(expected) = shown.pop_front().expect("two places") {
                    assert_eq!(dut.word[port].data.number() as u32, expected, "cycle {cycle}, half port {port}");
                    reads += 1;
                }
            }
            // What the read DMA read stays until it reads that group again.
            if let Some((group, expected)) = wide.pop_front().expect("two places") {
                groups[group] = Some(expected);
                moved += 1;
            }
            for (group, expected) in groups.iter().enumerate() {
                if let Some(expected) = expected {
                    let is = dut.wide_data[group].bytes();
                    let wrong = is.iter().zip(expected).position(|(is, should)| is != should);
                    assert_eq!(wrong, None, "cycle {cycle}: first wrong byte of group {group}");
                }
            }
            assert_eq!(dut.shared_write.number(), shared, "cycle {cycle}");

            // Grants: one per super-bank, none if it is locked, one if a port requests.
            let mut served = [false; 8];
            let mut asked = [false; 8];
            // Stores: of each half one HPU's may be written; no one's beside a guest. Who announces alone is that HPU, and
            // who was refused stays it.
            let mut lanes = [0; 2];
            let owner: [Option<usize>; 2] = std::array::from_fn(|half| {
                let among: Vec<usize> = (0..hpus).filter(|hpu| announced[2 * hpu + half]).collect();
                keeps[half].or((among.len() == 1).then(|| among[0])).filter(|_| guest.is_none())
            });
            let refused_before = keeps;
            keeps = if guest.is_some() { keeps } else { [None, None] };
            shared = 0;
            let mut writes = vec![];
            for port in 0..2 * hpus {
                let got = dut.word[port].grant.is_high();
                if let (true, Some((at, written))) = (port < 2, guest) {
                    assert!(!got, "cycle {cycle}: HPU 0 gets no grant beside a guest");
                    let read = written.is_none() && at / 4 % 2 == port;
                    // It has lost its turn.
                    words[port].iter_mut().for_each(|access| access.waited = 0);
                    shown[port].push_back(read.then(|| word(&memory, at)));
                    continue;
                }
                let Some(access) = words[port].as_mut() else {
                    assert!(!got);
                    shown[port].push_back(None);
                    continue;
                };
                let bank = access.address / 4 % 8;
                let locked = lock >> bank & 1 == 1;
                let stores = access.write;
                let (hpu, half) = (port / 2, port % 2);
                let is_owner = owner[half] == Some(hpu);
                asked[bank] |= !locked && (!stores || is_owner);
                if !got {
                    access.waited += usize::from(!locked);
                    if stores && is_owner {
                        keeps[half] = Some(hpu);
                    }
                    shown[port].push_back(None);
                    continue;
                }
                assert!(!locked && !served[bank], "cycle {cycle}: super-bank {bank} is locked, or serves two");
                served[bank] = true;
                granted += 1;
                if stores {
                    lanes[half] += 1;
                    assert!(
                        refused_before[half].is_none_or(|keeper| keeper == hpu),
                        "cycle {cycle}: HPU {hpu} stores before the one that was refused"
                    );
                }
                collided += usize::from(access.waited > 0);
                if !stores {
                    waited_most = waited_most.max(access.waited);
                    shown[port].push_back(Some(word(&memory, access.address)));
                } else {
                    stores_waited = stores_waited.max(access.waited);
                    shown[port].push_back(None);
                    shared |= u64::from(access.shared) << bank;
                    writes.push(*access);
                }
                words[port] = None;
            }
            for bank in 0..8 {
                assert!(
                    served[bank] || !asked[bank],
                    "cycle {cycle}: super-bank {bank} does not serve although it is asked"
                );
            }
            let most = usize::from(guest.is_none());
            assert!(lanes.iter().all(|&stores| stores <= most), "cycle {cycle}: {lanes:?} stores of a half");

            // Reads of the wide side see the memory before this cycle's writes.
            let written = pending.as_ref().map(|p| p.0 % 2);
            if let Some(beat) = reads_now {
                assert_ne!(written, Some(beat % 2), "cycle {cycle}: a group is read and written");
            }
            let refuses = dma.is_some();
            assert!(
                !refuses || forced && written == dma.map(|beat| beat % 2),
                "cycle {cycle}: the l1_read_dma waits only for a write that has waited for it"
            );
            refused += usize::from(refuses);
            wide.push_back(reads_now.map(|beat| (beat % 2, memory[64 * beat..][..64].to_vec())));
            if let Some((at, written)) = guest {
                atomics += 1;
                if let Some(data) = written {
                    memory[at..at + 4].copy_from_slice(&data.to_le_bytes());
                    shared |= 1 << (at / 4 % 8);
                }
            }
            for access in writes {
                let half = access.address / 4 % 2;
                for (byte, value) in bytes_of_half(half, access.offset, access.size_less_one, access.data) {
                    memory[access.address + byte] = value;
                }
            }
            for (at, bytes) in pending.take().map_or(vec![], |p| p.1) {
                memory[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            // A write waits for the read DMA alone, and once.
            let room = |beat: usize| late || dma_next.is_none_or(|next| next % 2 != beat % 2);
            let others = combined.is_none() && if host_turn { host.is_none() } else { packet.is_none() };
            let offered = !others || page.is_some() || scrub.is_some();
            let offers = (packet.is_some(), host.is_some());
            both += usize::from(offers == (true, true));
            for group in 0..2 {
                let may = combined.is_none() && room(group);
                assert_eq!(dut.packet_room[group].is_high(), may && !host_turn, "cycle {cycle}: packets");
                let host_group = host.as_ref().map_or(6, |h| h.0) % 2;
                assert!(host_group != group || dut.host.ready.is_high() == (may && host_turn), "cycle {cycle}: host");
            }
            let kept = |(beat, data, keep): (usize, Vec<u8>, u64)| {
                let kept = (0..64).filter(|byte| keep >> byte & 1 == 1);
                (beat, kept.map(|byte| (64 * beat + byte, vec![data[byte]])).collect::<Writes>())
            };
            let taken = if let Some(beat) = combined.as_ref().map(|c| c.0) {
                assert_eq!(dut.combined.ready.is_high(), room(beat), "cycle {cycle}");
                combined_waited = if room(beat) { 0 } else { combined_waited + 1 };
                assert!(combined_waited < 2, "cycle {cycle}: a COMBINE waits once");
                combines += 1;
                room(beat).then(|| kept(combined.take().expect("it is offered")))
            } else if let (true, Some(beat)) = (host_turn, host.as_ref().map(|h| h.0)) {
                room(beat).then(|| kept(host.take().expect("it is offered")))
            } else if let (false, Some(beat)) = (host_turn, packet.as_ref().map(|p| p.0)) {
                room(beat).then(|| kept(packet.take().expect("it is offered")))
            } else if let (true, Some((beat, half))) = (others, page) {
                assert_eq!(dut.page.ready.is_high(), room(beat), "cycle {cycle}");
                room(beat).then(|| page.take()).map(|_| (beat, vec![(64 * beat, halves[usize::from(half)].clone())]))
            } else if let (true, Some(beat)) = (others, scrub) {
                assert_eq!(dut.scrub.ready.is_high(), room(beat), "cycle {cycle}");
                room(beat).then(|| scrub.take()).map(|_| (beat, vec![(64 * beat, vec![0; 64])]))
            } else {
                None
            };
            let waits = |ready: &Wire<Out, Bit>, offers: bool| assert!(!offers || !ready.is_high(), "cycle {cycle}");
            if !others {
                waits(&dut.page.ready, page.is_some());
                waits(&dut.scrub.ready, scrub.is_some());
            }
            let host_wrote = offers.1 && host.is_none();
            let ends = host_wrote && host_beats == 3;
            host_beats = if host_turn { (host_beats + usize::from(host_wrote)) % 4 } else { 0 };
            turns_ended += usize::from(host_turn && ends && offers.0);
            host_turn = match (host_turn, offers) {
                // It waits for its own write, or writes its four beats.
                (true, (_, true)) if !ends => true,
                (false, (true, _)) if packet.is_some() => false,
                (true, (packet, host)) => host && !packet,
                (false, (_, host)) => host,
            };
            pending = taken;
            forced = pending.is_some() && late;
            forcings += usize::from(forced);
            late = offered && pending.is_none();
            dma = dma_next;
            dut.tick();
        }
        assert!(
            refused > cycles / 500 && forcings > cycles / 100 && both > cycles / 100 && turns_ended > cycles / 200,
            "the l1_read_dma waited {refused} times, {forcings} writes after they had waited, {both} packets and host at once, \
             {turns_ended} turns of four beats"
        );
        assert!(waited_most < if hpus > 4 { 8 } else { hpus.max(2) }, "a load waited {waited_most} cycles");
        // Each of the others has the lane as long as its super-bank lets it wait, or once for nothing; locks and guests come
        // on top.
        assert!(stores_waited < 16 * hpus, "a store waited {stores_waited} cycles");
        assert!(
            granted > cycles / 2 && collided > cycles / 50 || hpus == 1,
            "{granted} grants, {collided} after others"
        );
        assert!(
            reads > cycles / 5 && moved > cycles / 20 && atomics > cycles / 20 && combines > cycles / 20,
            "{reads} words and {moved} beats read, {atomics} atomics, {combines} beats of COMBINEs"
        );
    });
}

#[test]
fn four_hpus_against_an_array() {
    traffic(4, "l1", 30_000);
}

#[test]
fn eight_hpus_against_an_array() {
    traffic(8, "l1_8", 20_000);
}

#[test]
fn one_hpu_against_an_array() {
    traffic(1, "l1_1", 10_000);
}
