//! GETs at mailboxes: answered from the buffer completed last, or refused.

use crate::rvma_lut::rvma_engine::agents::HostPut;
use crate::rvma_lut::rvma_engine::bench::{Bench, Pace, FULL};
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::message;
use rand::Rng;
use spindle_contract::params::Config;
use spindle_contract::reasons::{BAD_KEY, NO_MAILBOX, NO_MESSAGE_SLOT, NO_POSTED_BUFFER, OUT_OF_BOUNDS};
use spindle_contract::wire::{flag, opcode};
use spindle_harness::run_with_wave_on_failure;
use spindle_model::rvma_lut::{Put, Rvma};

/// Offsets after the header of a GET without and with a tag.
const OFFSETS: [usize; 2] = [106, 110];

/// A GET of `length` bytes at `offset`.
fn get(pid: u16, addr: u64, key: u32, id: u32, offset: u32, length: u32) -> Put {
    Put {
        opcode: opcode::GET,
        pid,
        addr,
        key,
        message: (0x0A00_0133, 77, id),
        msg_len: length,
        buf_off: offset,
        ..Default::default()
    }
}

/// What the initiator must be asked for.
fn answer(get: &Put, reply: (u64, u32, u32), address: u64) -> HostPut {
    HostPut {
        op: 2,
        node: get.message.0 as u8,
        src_pid: get.pid,
        dst_pid: get.message.1,
        addr: reply.0,
        buf_off: reply.1,
        key: reply.2,
        msg_id: get.message.2,
        length: get.msg_len,
        host_address: address,
        flags: 0,
        number: 0,
        reply: (0, 0),
    }
}

#[test]
fn every_answer_and_every_refusal() {
    run_with_wave_on_failure("rvma_gets", |context| {
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
        twin.open(3, 0x99, 5, 100);
        twin.open(4, 0x99, 5, 1);
        // Across 4 GiB.
        let base = 0x1_FFFF_FFC0;
        twin.post(3, 0x99, base, 200, 0x5000);
        twin.post(3, 0x99, 0x7000, 200, 0x5010);
        let reply = (0x0123_4567_89AB_CDEF, 0x1122_3344, 0x5566_7788);
        let ask = |twin: &mut Twin, get: &Put, tagged: usize| {
            let frame = twin.bench.get(get, reply, OFFSETS[tagged]);
            twin.bench.drain();
            let done = *twin.bench.done.last().unwrap();
            assert_eq!(done.frame, frame);
            twin.bench.done.pop();
            (done.placed, done.reason)
        };
        // Nothing is complete.
        assert_eq!(ask(&mut twin, &get(3, 0x99, 5, 1, 0, 10), 0), (false, NO_POSTED_BUFFER));
        let mut rng = context.rng();
        for put in message(&mut rng, 3, 0x99, 5, 1, 100, 0, 64, 1) {
            twin.put(&put, 90);
        }
        twin.bench.drain();
        for (i, (offset, length)) in [(0, 100), (99, 1), (40, 60), (7, 9)].into_iter().enumerate() {
            let get = get(3, 0x99, 5, 10 + i as u32, offset, length);
            assert_eq!(ask(&mut twin, &get, i % 2), (true, 0));
            assert_eq!(twin.bench.agents.puts.pop(), Some(answer(&get, reply, base + u64::from(offset))));
        }
        for (offset, length) in [(0, 101), (100, 1), (0, 0), (u32::MAX, 2), (50, u32::MAX)] {
            assert_eq!(ask(&mut twin, &get(3, 0x99, 5, 20, offset, length), 0), (false, OUT_OF_BOUNDS), "{offset}");
        }
        assert_eq!(ask(&mut twin, &get(3, 0x99, 6, 20, 0, 1), 0), (false, BAD_KEY));
        assert_eq!(ask(&mut twin, &get(5, 0x99, 5, 20, 0, 1), 0), (false, NO_MAILBOX));
        assert_eq!(ask(&mut twin, &get(4, 0x99, 5, 20, 0, 1), 0), (false, NO_POSTED_BUFFER));
        // What is not complete, as far as the buffer goes.
        let active = |offset, length| Put { flags: flag::ACTIVE, ..get(3, 0x99, 5, 30, offset, length) };
        for (offset, length) in [(0, 200), (199, 1), (3, 90)] {
            let get = active(offset, length);
            assert_eq!(ask(&mut twin, &get, 1), (true, 0));
            assert_eq!(twin.bench.agents.puts.pop(), Some(answer(&get, reply, 0x7000 + u64::from(offset))));
        }
        for (offset, length) in [(0, 201), (200, 1), (7, 0)] {
            assert_eq!(ask(&mut twin, &active(offset, length), 0), (false, OUT_OF_BOUNDS), "{offset}");
        }
        let none = Put { pid: 4, ..active(0, 1) };
        assert_eq!(ask(&mut twin, &none, 0), (false, NO_POSTED_BUFFER), "no buffer is posted");
        // A buffer that is posted again is the host's no more.
        twin.post(3, 0x99, base, 200, 0x5020);
        twin.bench.drain();
        assert_eq!(ask(&mut twin, &get(3, 0x99, 5, 21, 0, 1), 0), (false, NO_POSTED_BUFFER));
        assert_eq!(twin.bench.agents.puts, []);
    });
}

/// An initiator that takes nothing: nineteen answers wait in all (sixteen, and three in the join), the next GET is to come
/// again, and packets go on.
#[test]
fn answers_that_cannot_leave() {
    run_with_wave_on_failure("rvma_gets_wait", |context| {
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
        twin.open(3, 0x99, 5, 64);
        for i in 0..3 {
            twin.post(3, 0x99, 0x7000 + 0x100 * i, 64, 0x5000 + 16 * i);
        }
        let mut rng = context.rng();
        for put in message(&mut rng, 3, 0x99, 5, 1, 64, 0, 64, 1) {
            twin.put(&put, 90);
        }
        twin.bench.drain();
        twin.bench.done.clear();
        twin.bench.agents.put_stall = 100;
        let gets: Vec<Put> = (0..24).map(|id| get(3, 0x99, 5, id, id, 8)).collect();
        for get in &gets {
            twin.bench.get(get, (get.message.2.into(), 1, 2), OFFSETS[0]);
        }
        twin.bench.drain();
        let placed: Vec<bool> = twin.bench.done.iter().map(|d| d.placed).collect();
        assert_eq!(placed, (0..24).map(|i| i < 19).collect::<Vec<_>>());
        assert!(twin.bench.done.iter().all(|d| d.placed || d.reason == NO_MESSAGE_SLOT));
        for put in message(&mut rng, 3, 0x99, 5, 2, 64, 0, 64, 1) {
            twin.bench.put(&put, 90);
        }
        twin.bench.drain();
        assert!(twin.bench.done.last().unwrap().placed);
        twin.bench.agents.put_stall = 0;
        twin.bench.steps(100);
        let left: Vec<HostPut> = std::mem::take(&mut twin.bench.agents.puts);
        let expected: Vec<HostPut> = gets[..19]
            .iter()
            .map(|get| answer(get, (get.message.2.into(), 1, 2), 0x7000 + u64::from(get.buf_off)))
            .collect();
        assert_eq!(left, expected);
    });
}

/// What the model says to a GET.
fn judge(model: &Rvma, get: &Put, key: u32) -> Result<u64, usize> {
    let source = if get.flags & flag::ACTIVE != 0 {
        model.oldest(get.pid, get.addr)
    } else {
        model.get_buf_ptr(get.pid, get.addr, 0)
    };
    let source = match source {
        Err(spindle_contract::registers::doorbell_error::NO_MAILBOX) => return Err(NO_MAILBOX),
        source => source,
    };
    let end = u64::from(get.buf_off) + u64::from(get.msg_len);
    match source {
        _ if get.key != key => Err(BAD_KEY),
        _ if end >> 32 != 0 => Err(OUT_OF_BOUNDS),
        Err(_) => Err(NO_POSTED_BUFFER),
        Ok((_, length)) if get.msg_len == 0 || end > u64::from(length) => Err(OUT_OF_BOUNDS),
        Ok((base, _)) => Ok(base + u64::from(get.buf_off)),
    }
}

/// GETs among packets, at mailboxes whose buffers are complete, with all agents pausing at random.
fn storm(name: &str, pace: Pace, put_stall: u32) {
    run_with_wave_on_failure(name, |context| {
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 60)));
        twin.bench.pace = pace;
        // Mailboxes 0 to 7 are asked, of which the last two never complete a buffer; mailbox 9 takes packets meanwhile.
        twin.open(2, 9, 3, 1 << 24);
        twin.post(2, 9, 0x4000_0000, 1 << 24, 0x6000);
        let mut expected = vec![];
        let mut id = 1000;
        for round in 0..8u64 {
            for addr in 0..8u64 {
                if round == 0 {
                    twin.open(1, addr, 7, 200);
                }
                let at = 0x10_0000 + (round * 8 + addr) * 0x1000;
                twin.post(1, addr, at + rng.random_range(0..64), 1000, 0x9000 + (round * 8 + addr) * 16);
                id += 1;
                if addr < 6 {
                    let length = rng.random_range(200..900);
                    for put in message(&mut rng, 1, addr, 7, id, length, 0, 128, 1) {
                        twin.put(&put, 64);
                    }
                }
                twin.bench.drain();
            }
            twin.bench.agents.put_stall = put_stall;
            for _ in 0..60 {
                id += 1;
                if rng.random_range(0..3) == 0 {
                    for put in message(&mut rng, 2, 9, 3, id, 300, id * 512 % (1 << 23), 128, id as u8) {
                        twin.put(&put, 90);
                    }
                    continue;
                }
                let (offset, length) = (rng.random_range(0..500), rng.random_range(0..500));
                let key = if rng.random_range(0..10) == 0 { 8 } else { 7 };
                let mut get = get(1, rng.random_range(0..9), key, id, offset, length);
                // Half of them of what is not complete: one mailbox in four has such a buffer.
                get.flags = flag::ACTIVE * u16::from(rng.random_bool(0.5));
                let reply = (rng.random(), rng.random(), rng.random());
                let judged = judge(&twin.model, &get, 7);
                let frame = twin.bench.get(&get, reply, OFFSETS[rng.random_range(0..2)]);
                twin.expected.insert(frame, judged.map(|_| ()));
                expected.extend(judged.map(|address| answer(&get, reply, address)));
                // Never so many that one is turned away.
                if rng.random_range(0..8) == 0 {
                    twin.bench.drain();
                    twin.bench.steps(400);
                }
            }
            twin.bench.agents.put_stall = 0;
            twin.bench.drain();
            twin.bench.steps(100);
        }
        assert!(expected.len() > 60, "{} GETs were answered", expected.len());
        assert_eq!(twin.bench.agents.puts, expected);
        twin.finish_unlogged();
    });
}

#[test]
fn random_gets_at_full_speed() {
    storm("rvma_gets_fast", FULL, 0);
}

#[test]
fn random_gets_with_pauses() {
    storm("rvma_gets_slow", Pace { idle: 30, read_stall: 40, done_stall: 30 }, 60);
}

/// From the GET to the put that answers it, and how far apart two are.
#[test]
fn cycles_of_an_answer() {
    run_with_wave_on_failure("rvma_gets_cycles", |context| {
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (20, 20)));
        twin.open(3, 0x99, 5, 64);
        twin.post(3, 0x99, 0x7000, 64, 0x5000);
        let mut rng = context.rng();
        for put in message(&mut rng, 3, 0x99, 5, 1, 64, 0, 64, 1) {
            twin.put(&put, 90);
        }
        twin.bench.drain();
        twin.bench.accepted.clear();
        for id in 0..4 {
            twin.bench.get(&get(3, 0x99, 5, id, 0, 8), (1, 2, 3), OFFSETS[0]);
        }
        twin.bench.drain();
        let cycles = &twin.bench.agents.put_cycles;
        let first = cycles[0] - twin.bench.accepted[0].1;
        let apart: Vec<u64> = cycles.windows(2).map(|pair| pair[1] - pair[0]).collect();
        println!("placement accepted to put {first}, one per {apart:?}");
        assert_eq!((first, apart), (30, vec![16; 3]));
    });
}
