//! Puts, gets and frames of the command ring.

use crate::rvma_lut::commands::command_rings::Ring;
use crate::rvma_lut::host_access::frame_sums::Transfer;
use crate::rvma_lut::rvma_engine::agents::HostPut;
use crate::rvma_lut::rvma_engine::bench::Bench;
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle_contract::commands::*;
use spindle_contract::descriptors::put_op;
use spindle_contract::events::{self, SENT};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, mailbox_mode, rvma};
use spindle_contract::wire::flag;
use spindle_harness::run_with_wave_on_failure;

/// A command of the ring, and its effect.
type Words = Vec<(usize, u32)>;

fn put(rng: &mut impl Rng, pid: u16, cookie: u16) -> (Words, HostPut) {
    let mode = *[0, mailbox_mode::TAGGED, mailbox_mode::MANAGED, mailbox_mode::STREAM].choose(rng).expect("not empty");
    let (buffer, addr): (u64, u64) = (rng.random_range(0..1 << 40), rng.random());
    let (length, key, offset, epoch) = (rng.random_range(0..1 << 20), rng.random(), rng.random(), rng.random());
    let (node, target): (u8, u16) = (rng.random(), rng.random());
    let words = vec![
        (WORD_CODE, u32::from(PUT) | mode << 8 | u32::from(cookie) << 16),
        (WORD_SIZE, length),
        (WORD_BUFFER, buffer as u32),
        (WORD_BUFFER + 1, (buffer >> 32) as u32),
        (WORD_ADDR, addr as u32),
        (WORD_ADDR + 1, (addr >> 32) as u32),
        (WORD_KEY, key),
        (WORD_OFFSET, offset),
        (WORD_TARGET, u32::from(node) | u32::from(target) << 16),
        (WORD_EPOCH, epoch),
    ];
    let tagged = if mode & mailbox_mode::TAGGED != 0 { flag::EPOCH_VALID } else { 0 };
    let managed = if mode & mailbox_mode::MANAGED != 0 { flag::MANAGED } else { 0 };
    let effect = HostPut {
        op: put_op::PUT,
        node,
        src_pid: pid,
        dst_pid: target,
        addr,
        buf_off: offset,
        key,
        msg_id: epoch,
        length,
        host_address: buffer,
        flags: tagged | managed,
        number: cookie,
        reply: (buffer, 0),
    };
    (words, effect)
}

/// A put is made a get: the buffer is the reply mailbox.
fn get(rng: &mut impl Rng, pid: u16, cookie: u16) -> (Words, HostPut) {
    let (mut words, mut effect) = put(rng, pid, cookie);
    let active: bool = rng.random();
    words[0].1 = u32::from(GET) | u32::from(active) << 8 | u32::from(cookie) << 16;
    let reply_off = rng.random();
    words.push((WORD_REPLY_OFFSET, reply_off));
    effect.op = put_op::GET;
    effect.flags = if active { flag::ACTIVE } else { 0 };
    effect.reply.1 = reply_off;
    (words, effect)
}

fn frame(cookie: u16, event: bool, address: u64, length: usize) -> Words {
    vec![
        (WORD_CODE, u32::from(SEND_FRAME) | u32::from(event) << 8 | u32::from(cookie) << 16),
        (WORD_SIZE, length as u32),
        (WORD_BUFFER, address as u32),
        (WORD_BUFFER + 1, (address >> 32) as u32),
    ]
}

/// A frame with a checksum.
fn with_checksum(mut words: Words, start: u32, offset: u32) -> Words {
    words[0].1 |= FRAME_CHECKSUM << 8;
    words.push((WORD_CHECKSUM, Checksum::ZERO.with_start(start).with_offset(offset).0));
    words
}

fn allow(bench: &mut Bench, senders: u32) {
    bench.csr(true, rvma::BASE + rvma::SENDERS, senders);
}

/// Puts, gets and frames of two rings in random order, with an initiator that pauses: each leaves once, in the order of its ring, and
/// the events of frames come in that order.
#[test]
fn commands_leave_in_their_order() {
    run_with_wave_on_failure("rvma_ring_sends", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (5, 120));
        bench.agents.put_stall = 70;
        bench.agents.readers[1].stall = 30;
        allow(&mut bench, 1 << 3 | 1 << 9);
        let mut rng = context.rng();
        let pids = [3u16, 9];
        let mut rings: Vec<Ring> = pids.iter().map(|pid| Ring::open(&mut bench, *pid, 64)).collect();
        let event_rings = pids.map(|pid| (pid, 0x7000_0000 + (u64::from(pid) << 20)));
        for (pid, base) in event_rings {
            bench.stage(pid, doorbell::BUFFER_LO, base as u32);
            bench.stage(pid, doorbell::BUFFER_HI, 0);
            bench.stage(pid, doorbell::SIZE, 1024 * events::BYTES as u32);
            assert_eq!(bench.ring(pid, doorbell_command::OPEN_RING).0, doorbell_error::NONE);
        }
        let mut puts: [Vec<HostPut>; 2] = Default::default();
        let mut frames: [Vec<(u64, usize)>; 2] = Default::default();
        let mut sent: [Vec<(u32, u32)>; 2] = Default::default();
        for _ in 0..30 {
            for r in 0..2 {
                let mut commands = vec![];
                for _ in 0..rng.random_range(1..20) {
                    let cookie = rng.random();
                    commands.push(match rng.random_range(0..4) {
                        0 => {
                            let (words, effect) = put(&mut rng, pids[r], cookie);
                            puts[r].push(effect);
                            words
                        }
                        1 => {
                            let (words, effect) = get(&mut rng, pids[r], cookie);
                            puts[r].push(effect);
                            words
                        }
                        _ => {
                            let (event, length) = (rng.random(), rng.random_range(MIN_FRAME..=2000));
                            // The two rings send from memory of their own.
                            let address = (r as u64) << 36 | rng.random_range(0..1 << 32);
                            frames[r].push((address, length));
                            if event {
                                sent[r].push((rings[r].tail + commands.len() as u32 + 1, cookie.into()));
                            }
                            frame(cookie, event, address, length)
                        }
                    });
                }
                rings[r].push_words(&mut bench, &commands);
                rings[r].kick(&mut bench);
            }
            for ring in &rings {
                // An initiator that takes nothing for a time holds a ring up, but does not stop it.
                assert_eq!(ring.wait(&mut bench), (ring.tail & 0xFFFF, doorbell_error::NONE));
            }
        }
        bench.drain();
        bench.steps(2000);
        for r in 0..2 {
            let of_ring = |put: &&HostPut| put.src_pid == pids[r];
            let left: Vec<HostPut> = bench.agents.puts.iter().filter(of_ring).copied().collect();
            assert_eq!(left, puts[r], "puts of process {}", pids[r]);
            let left: Vec<(u64, usize)> =
                bench.agents.frames.iter().filter(|(address, _)| address >> 36 == r as u64).copied().collect();
            assert_eq!(left, frames[r], "frames of process {}", pids[r]);
            for (i, (number, cookie)) in sent[r].iter().enumerate() {
                let at = event_rings[r].1 + (i * events::BYTES) as u64;
                let record = bench.host.memory.bytes(at, events::BYTES);
                let word = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|b| record[4 * i + b]));
                let got = [word(0), word(events::WORD_ID), word(events::WORD_SOURCE), word(events::WORD_SEQUENCE)];
                assert_eq!(got, [SENT.into(), *number, *cookie, i as u32 + 1], "event {i} of process {}", pids[r]);
            }
        }
        let count = frames[0].len() + frames[1].len();
        assert_eq!(bench.agents.readers[1].answers.len(), count);
        let counted = [rvma::HOST_FRAMES, rvma::HOST_FRAMES_READ].map(|counter| bench.counter(counter) as usize);
        assert_eq!(counted, [count; 2]);
    });
}

/// Every command that cannot be carried out stops its ring.
#[test]
fn what_cannot_be_sent() {
    run_with_wave_on_failure("rvma_ring_sends_refused", |context| {
        use doorbell_error::{BAD_ARGUMENT, NONE, NO_RIGHT, OUT_OF_REGION, UNSUPPORTED};
        let mut bench = Bench::new(context, &Config::SIM, (1, 20));
        let mut rng = context.rng();
        allow(&mut bench, 1 << 3);
        let mut rings = [Ring::open(&mut bench, 3, 32), Ring::open(&mut bench, 4, 32)];
        let good = frame(1, false, 0x10_0000, 100);
        let with = |at: usize, value: u32| {
            let mut words = good.clone();
            words[at].1 = value;
            words
        };
        for (ring, words, error) in [
            (1, good.clone(), NO_RIGHT),
            (0, with(1, MIN_FRAME as u32 - 1), BAD_ARGUMENT),
            (0, with(1, MAX_FRAME as u32 + 1), BAD_ARGUMENT),
            (0, with(1, 0), BAD_ARGUMENT),
            (0, with(0, u32::from(SEND_FRAME) | 4 << 8), UNSUPPORTED),
            // A checksum of odd or far places, and one whose field ends after the frame of 100 bytes.
            (0, with_checksum(good.clone(), 33, 6), BAD_ARGUMENT),
            (0, with_checksum(good.clone(), 34, 7), BAD_ARGUMENT),
            (0, with_checksum(with(1, 1000), MAX_CHECKSUM + 2, 6), BAD_ARGUMENT),
            (0, with_checksum(with(1, 1000), 6, MAX_CHECKSUM + 2), BAD_ARGUMENT),
            (0, with_checksum(with(1, 1000), 0x8000, 0), BAD_ARGUMENT),
            (0, with_checksum(good.clone(), 34, 66), BAD_ARGUMENT),
            (0, with_checksum(with(1, 99), 98, 0), BAD_ARGUMENT),
            (0, with_checksum(with(1, 509), MAX_CHECKSUM, MAX_CHECKSUM), BAD_ARGUMENT),
        ] {
            let first = rings[ring].tail;
            rings[ring].push_words(&mut bench, &[words]);
            rings[ring].kick(&mut bench);
            assert_eq!(rings[ring].wait(&mut bench), (first, error));
            rings[ring].tail = first;
            rings[ring].push_words(&mut bench, &[vec![]]);
            rings[ring].kick(&mut bench);
            bench.steps(200);
            assert_eq!(rings[ring].wait(&mut bench), (first + 1, NONE));
        }
        assert!(bench.agents.frames.is_empty());
        // Memory outside of the regions: of a frame, and of a put with bytes; a get and an empty put name none.
        bench.trust(0);
        let (mut bytes, _) = put(&mut rng, 3, 1);
        bytes[1].1 = 5;
        for words in [good.clone(), bytes.clone()] {
            let first = rings[0].tail;
            rings[0].push_words(&mut bench, &[words]);
            rings[0].kick(&mut bench);
            assert_eq!(rings[0].wait(&mut bench), (first, OUT_OF_REGION));
            rings[0].tail = first;
        }
        let (empty, _) = get(&mut rng, 3, 2);
        bytes[1].1 = 0;
        let first = rings[0].tail;
        rings[0].push_words(&mut bench, &[bytes, empty]);
        rings[0].kick(&mut bench);
        bench.steps(200);
        assert_eq!(rings[0].wait(&mut bench), (first + 2, NONE));
        // The initiator takes nothing: five puts wait, the next one leaves its turn to the other ring, and the first ring goes on by
        // itself.
        bench.trust(u64::MAX);
        bench.agents.put_stall = 100;
        let puts: Vec<Words> = (0..8).map(|cookie| get(&mut rng, 3, cookie).0).collect();
        let first = rings[0].tail;
        rings[0].push_words(&mut bench, &puts);
        rings[0].kick(&mut bench);
        bench.steps(800);
        let (done, error) = rings[0].done(&mut bench);
        assert_eq!((done - first, error), (5, NONE));
        rings[1].push_words(&mut bench, &[vec![], vec![]]);
        rings[1].kick(&mut bench);
        // A put waits for 256 cycles.
        bench.steps(500);
        assert_eq!(rings[1].wait(&mut bench), (3, NONE));
        bench.agents.put_stall = 0;
        bench.steps(600);
        assert_eq!(rings[0].wait(&mut bench), (first + 8, NONE));
    });
}

/// Frames with and without checksums, among them frames in memory that cannot be read, and reads of puts between: every frame is
/// the model's, whatever the reader and the host do.
#[test]
fn checksums_are_inserted() {
    run_with_wave_on_failure("rvma_ring_sends_checksums", |context| {
        for (config, latency, stall) in
            [(Config::SIM, (1, 20), 40), (Config::SIM, (20, 20), 0), (Config::ALVEO, (5, 60), 10)]
        {
            let mut bench = Bench::new(context, &config, latency);
            bench.agents.readers[1].stall = stall;
            allow(&mut bench, 1 << 3);
            let mut ring = Ring::open(&mut bench, 3, 64);
            let mut rng = context.rng();
            let mut expected = vec![];
            let mut at = 0x20_0000;
            const BROKEN: u64 = 0x4000_0000;
            bench.host.failing = vec![BROKEN..BROKEN + 0x100_0000];
            for _ in 0..12 {
                let mut commands = vec![];
                for _ in 0..rng.random_range(8..32) {
                    let transfer = Transfer::random(&mut rng);
                    let broken = rng.random_range(0..10) == 0;
                    let address = at + if broken { BROKEN - 0x20_0000 } else { rng.random_range(0..64) };
                    if !broken {
                        bench.host.write(address, &transfer.bytes);
                        at += 8192 + 64;
                    }
                    let words = frame(rng.random(), rng.random(), address, transfer.bytes.len());
                    commands.push(match transfer.checksum {
                        Some((start, offset)) => with_checksum(words, start as u32, offset as u32),
                        None => words,
                    });
                    expected.push((!broken).then(|| transfer.expected()));
                }
                ring.push_words(&mut bench, &commands);
                ring.kick(&mut bench);
                // Segments of a put on the same way.
                bench.agents.readers[1].read(8, 0x20_0000, rng.random_range(1..1409));
                bench.run_until("the ring", |bench| {
                    bench.agents.readers[1].answers.iter().filter(|a| a.who & 15 == 9).count() == expected.len()
                });
                assert_eq!(ring.wait(&mut bench), (ring.tail & 0xFFFF, doorbell_error::NONE));
            }
            bench.drain();
            let answers = &bench.agents.readers[1].answers;
            let frames: Vec<_> = answers.iter().filter(|a| a.who & 15 == 9).collect();
            let puts: Vec<_> = answers.iter().filter(|a| a.who & 15 == 8).collect();
            assert_eq!((frames.len(), puts.len()), (expected.len(), 12));
            for (i, (answer, expected)) in frames.iter().zip(&expected).enumerate() {
                assert_eq!(answer.error, expected.is_none(), "frame {i}");
                assert!(expected.as_ref().is_none_or(|bytes| *bytes == answer.data), "frame {i}");
            }
            for put in puts {
                assert_eq!(put.data, bench.host.memory.bytes(0x20_0000, put.data.len()));
            }
            assert_eq!(bench.agents.readers[1].gaps, 0, "a frame leaves without a gap");
        }
    });
}

/// Cycles per command, from the tail to the last one handed on.
fn pace(bench: &mut Bench, ring: &mut Ring, command: impl Fn(u16) -> Words, ends: impl Fn(&Bench) -> Vec<u64>) -> f64 {
    let from = ends(bench).len();
    let commands: Vec<Words> = (0..500).map(command).collect();
    ring.push_words(bench, &commands);
    ring.kick(bench);
    bench.run_until("commands", |bench| ends(bench).len() == from + 500);
    assert_eq!(ring.wait(bench), (ring.tail & 0xFFFF, doorbell_error::NONE));
    let ends = ends(bench);
    (ends[from + 480] - ends[from + 80]) as f64 / 400.0
}

#[test]
fn cycles_per_send() {
    run_with_wave_on_failure("rvma_ring_sends_cycles", |context| {
        // The least bits per cycle in frames of 1500 bytes. The read buffer of `sim` holds 128 beats, which a host with a latency of
        // 100 cycles does not keep full; that of `alveo` holds 256.
        for (config, latency, least) in
            [(Config::SIM, 20, 450.0), (Config::SIM, 100, 400.0), (Config::ALVEO, 100, 450.0)]
        {
            let mut bench = Bench::new(context, &config, (latency, latency));
            allow(&mut bench, 2);
            let mut ring = Ring::open(&mut bench, 1, 1024);
            let per_put = pace(
                &mut bench,
                &mut ring,
                |cookie| {
                    let words = [(WORD_CODE, u32::from(PUT) | u32::from(cookie) << 16), (WORD_SIZE, 64)];
                    words.to_vec()
                },
                |bench| bench.agents.put_cycles.clone(),
            );
            let answers = |bench: &Bench| bench.agents.readers[1].answers.iter().map(|a| a.last).collect::<Vec<u64>>();
            let short = pace(&mut bench, &mut ring, |cookie| frame(cookie, true, 0x1000, 64), answers);
            let long = pace(&mut bench, &mut ring, |cookie| frame(cookie, true, 0x1000, 1500), answers);
            let summed = |length| move |cookie| with_checksum(frame(cookie, true, 0x1000, length), 34, 6);
            let short_sum = pace(&mut bench, &mut ring, summed(64), answers);
            let long_sum = pace(&mut bench, &mut ring, summed(1500), answers);
            println!(
                "{} latency {latency}: {per_put:.2} cycles per put, {short:.2} per frame of 64 bytes, {long:.2} of 1500; with a \
                 checksum {short_sum:.2} and {long_sum:.2}",
                config.name
            );
            // Where the buffer limits the rate, 3 cycles more in the buffer count.
            let more = if latency == 20 { 0.1 } else { 1.0 };
            assert!(short_sum <= short + more && long_sum <= long + more, "checksums are slower");
            assert!(per_put <= 5.0, "{per_put} cycles per put");
            assert!(short <= if latency == 20 { 6.0 } else { 8.0 }, "{short} cycles per frame of 64 bytes");
            assert!(12_000.0 / long >= least, "{} bits per cycle in frames of 1500 bytes", 12_000.0 / long);
        }
    });
}
