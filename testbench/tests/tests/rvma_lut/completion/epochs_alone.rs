//! The epochs alone, against a queue of buffers and a list of complete ones for each mailbox: any order of completion, any slot,
//! any address; slots that become free and answers in their cycles.

use rand::seq::IndexedRandom;
use rand::Rng;
use rvma_lut::completion::epochs::Epochs;
use rvma_lut::types::{EpochQuery, EpochUpdate, Retired, QUERY_EPOCH, QUERY_OLDEST, QUERY_REWIND};
use spindle_harness::{near, run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const MAILBOXES: usize = 1 << 12;
const SLOTS: usize = 1 << 14;
/// Words of each queue; level at which the sender of updates has to stop, and cycles in which it may still send.
const QUEUE: usize = 16;
const STOP: usize = 12;
const LATE: usize = 3;
/// Complete buffers that are remembered.
const HISTORY: usize = 8;

/// Cycles of an operation, of one that searches the history, and of a query that reads it.
const SHORT: u64 = 4;
const SEARCH: u64 = 14;
const READS: u64 = 5;

#[derive(Clone, Debug, Default)]
struct Mailbox {
    tagged: bool,
    epoch: u64,
    /// Buffers in the order of posting: slot, and whether it is complete.
    buffers: VecDeque<(u64, bool)>,
    /// Complete buffers in a circle: address and bytes.
    history: [Option<(u64, u32)>; HISTORY],
    next: usize,
}

/// What the block does.
enum Doing {
    Idle,
    /// Until this cycle.
    Until(u64),
    /// The oldest slot becomes free, from this cycle on.
    Frees(u64, usize),
}

#[derive(Default)]
struct Counts {
    posted: usize,
    searched: usize,
    freed: usize,
    pointers: usize,
    nothing: usize,
    rewound: usize,
    oldest: usize,
    stops: usize,
}

#[test]
fn random_buffers_are_the_models() {
    run_with_wave_on_failure("epochs_alone_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Epochs::new(MAILBOXES, SLOTS), "epochs");
        let mut counts = Counts::default();
        let mut longest = 0;
        for _ in 0..3 {
            dut.epoch_update.valid.set(false);
            dut.retired.valid.set(false);
            dut.freed.ready.set(false);
            dut.query.valid.set(false);
            dut.reset();
            // Mailboxes and slots that differ in one bit, and others.
            let mailbox = rng.random_range(0..MAILBOXES as u64);
            let numbers: Vec<u64> = [mailbox].into_iter().chain((0..12).map(|bit| mailbox ^ 1 << bit)).collect();
            let few = &numbers[..3];
            let slot = rng.random_range(0..SLOTS as u64);
            let mut free: Vec<u64> = [slot].into_iter().chain((0..14).map(|bit| slot ^ 1 << bit)).collect();
            for _ in 0..500 {
                let slot = rng.random_range(0..SLOTS as u64);
                if !free.contains(&slot) {
                    free.push(slot);
                }
            }
            let places: Vec<u64> = (0..4).map(|_| rng.random()).collect();
            let mut mailboxes: BTreeMap<u64, Mailbox> = BTreeMap::new();
            let mut updates: VecDeque<EpochUpdate> = VecDeque::new();
            let mut retires: VecDeque<Retired> = VecDeque::new();
            // Buffers that are not complete, and updates of each mailbox that wait.
            let mut incomplete: Vec<(u64, u64, u64)> = vec![];
            let mut to_open: Vec<u64> = numbers.clone();
            let mut opened: Vec<u64> = vec![];
            let mut retired: Option<Retired> = None;
            let mut query: Option<EpochQuery> = None;
            let mut doing = Doing::Idle;
            let mut reply: Option<(u64, bool, u64, u32, Option<u64>)> = None;
            let mut rooms = [false; LATE + 1];
            for cycle in 0..share(60_000) as u64 {
                // Phases of many posted buffers, of many complete ones, of queries, and with few of all.
                let phase = cycle / 1000 % 4;
                let (posts, completes, queries, room) = match phase {
                    0 => (0.5, 0.01, 0.02, 1.0),
                    1 => (0.03, 0.9, 0.1, 0.3),
                    2 => (0.01, 0.02, 1.0, 0.9),
                    _ => (0.01, 0.02, 0.1, 1.0),
                };
                let pool = if rng.random() { &numbers[..] } else { few };
                let mut update = None;
                let place = *places.choose(&mut rng).unwrap();
                let base = bits(near(&mut rng, place, 64, 4));
                if rooms[LATE] && rng.random_bool(posts) {
                    let number = *pool.choose(&mut rng).unwrap();
                    if let Some(number) = to_open.pop() {
                        update = Some(EpochUpdate {
                            opens: true,
                            tagged: rng.random(),
                            mailbox: bits(number),
                            ..EpochUpdate::default()
                        });
                        opened.push(number);
                    } else if mailboxes.get(&number).is_some_and(|mailbox| mailbox.buffers.is_empty())
                        && !updates.iter().any(|update| update.mailbox.to_u64() == number)
                        && rng.random_range(0..30) == 0
                    {
                        update = Some(EpochUpdate {
                            opens: true,
                            tagged: rng.random(),
                            mailbox: bits(number),
                            slot: bits(slot),
                            base,
                        });
                    } else if let Some(slot) =
                        (!free.is_empty()).then(|| free.swap_remove(rng.random_range(0..free.len())))
                    {
                        update = Some(EpochUpdate {
                            opens: false,
                            tagged: rng.random(),
                            mailbox: bits(number),
                            slot: bits(slot),
                            base,
                        });
                        incomplete.push((number, slot, base.to_u64()));
                        counts.posted += 1;
                    }
                }
                dut.epoch_update.valid.set(update.is_some());
                if let Some(update) = update {
                    dut.epoch_update.payload.set(update);
                }
                if retired.is_none() && rng.random_bool(completes) {
                    // Half are the oldest ones. The update has been taken before.
                    let oldest = if rng.random() { 0 } else { rng.random_range(0..incomplete.len().max(1)) };
                    if incomplete.get(oldest).is_some_and(|buffer| {
                        !updates.iter().chain(&update).any(|update| update.slot.to_u64() == buffer.1)
                    }) {
                        let (number, slot, base) = incomplete.remove(oldest);
                        let length = bits(u64::from(rng.random::<u32>()));
                        retired = Some(Retired { mailbox: bits(number), slot: bits(slot), base: bits(base), length });
                    }
                }
                dut.retired.offer(retired);
                if query.is_none() && rng.random_bool(queries) {
                    let number = *pool.choose(&mut rng).unwrap();
                    if mailboxes.contains_key(&number) {
                        let back =
                            if rng.random_range(0..6) == 0 { rng.random_range(0..16) } else { rng.random_range(0..3) };
                        query = Some(EpochQuery {
                            op: bits(rng.random_range(0..4)),
                            mailbox: bits(number),
                            back: bits(back),
                        });
                    }
                }
                dut.query.offer(query);
                let ready = rng.random_bool(room);
                dut.freed.ready.set(ready);
                dut.eval();

                let headroom = updates.len() < STOP;
                counts.stops += usize::from(!headroom);
                assert_eq!(dut.epoch_update.headroom.is_high(), headroom, "cycle {cycle}");
                rooms.rotate_right(1);
                rooms[0] = headroom;
                assert_eq!(dut.retired.ready.is_high(), retires.len() < QUEUE, "cycle {cycle}");

                // The slot that becomes free.
                let mut frees = None;
                if let Doing::Frees(from, left) = doing {
                    let number = dut.freed.mailbox.number();
                    if cycle >= from {
                        let mailbox =
                            mailboxes.get(&number).unwrap_or_else(|| panic!("cycle {cycle}: a slot of {number}"));
                        let oldest = mailbox.buffers.front().copied();
                        frees = Some((number, mailbox.tagged, left));
                        assert_eq!(oldest, Some((dut.freed.slot.number(), true)), "cycle {cycle}");
                        assert_eq!(dut.freed.tagged.is_high(), mailbox.tagged, "cycle {cycle}");
                    }
                }
                assert_eq!(dut.freed.valid.is_high(), frees.is_some(), "cycle {cycle}");

                // The answer.
                let answers = reply.filter(|reply| reply.0 == cycle);
                assert_eq!(dut.reply.valid.is_high(), answers.is_some(), "cycle {cycle}");
                if let Some((_, ok, value, length, oldest)) = answers {
                    let found = dut.reply.payload.get();
                    assert_eq!(found.ok, ok, "cycle {cycle}: {query:x?}");
                    if ok {
                        assert_eq!(
                            (found.value.to_u64(), found.length.to_u64() as u32),
                            (value, length),
                            "cycle {cycle}: {query:x?}"
                        );
                    }
                    if let Some(oldest) = oldest {
                        assert_eq!(found.slot.to_u64(), oldest, "cycle {cycle}: {query:x?}");
                    }
                }

                if let Doing::Until(end) = doing {
                    if end == cycle {
                        doing = Doing::Idle;
                    }
                }
                match &mut doing {
                    Doing::Until(_) => {}
                    Doing::Frees(from, left) => {
                        if let Some((number, _, _)) = frees.filter(|_| ready) {
                            let mailbox = mailboxes.get_mut(&number).unwrap();
                            free.push(mailbox.buffers.pop_front().unwrap().0);
                            mailbox.epoch += 1;
                            counts.freed += 1;
                            *left -= 1;
                            *from = cycle + 3;
                            if *left == 0 {
                                // The next buffer is looked at, if there is one.
                                let more = u64::from(!mailbox.buffers.is_empty());
                                doing = Doing::Until(cycle + 3 + more);
                            }
                        }
                    }
                    Doing::Idle => {
                        if let Some(update) = updates.pop_front() {
                            let mailbox = mailboxes.entry(update.mailbox.to_u64()).or_default();
                            let mut cycles = SHORT;
                            if update.opens {
                                *mailbox = Mailbox { tagged: update.tagged, ..Mailbox::default() };
                            } else {
                                if mailbox.history.iter().any(|buffer| buffer.is_some()) {
                                    cycles = SEARCH;
                                }
                                for buffer in &mut mailbox.history {
                                    if buffer.is_some_and(|buffer| buffer.0 == update.base.to_u64()) {
                                        *buffer = None;
                                        counts.searched += 1;
                                    }
                                }
                                mailbox.buffers.push_back((update.slot.to_u64(), false));
                                longest = longest.max(mailbox.buffers.len());
                            }
                            doing = Doing::Until(cycle + cycles);
                        } else if let Some(retired) = retires.pop_front() {
                            let mailbox = mailboxes.get_mut(&retired.mailbox.to_u64()).unwrap();
                            mailbox.history[mailbox.next] =
                                Some((retired.base.to_u64(), retired.length.to_u64() as u32));
                            mailbox.next = (mailbox.next + 1) % HISTORY;
                            let at = mailbox.buffers.iter().position(|buffer| buffer.0 == retired.slot.to_u64());
                            mailbox.buffers[at.expect("a buffer that was posted")].1 = true;
                            let complete = mailbox.buffers.iter().take_while(|buffer| buffer.1).count();
                            doing = if complete > 0 {
                                Doing::Frees(cycle + 3, complete)
                            } else {
                                Doing::Until(cycle + SHORT)
                            };
                        } else if let Some(EpochQuery { op, mailbox, back }) = query {
                            let mailbox = mailboxes.get_mut(&mailbox.to_u64()).unwrap();
                            let op = op.to_u64();
                            if op == QUERY_EPOCH || op == QUERY_OLDEST {
                                let oldest =
                                    mailbox.buffers.front().map(|buffer| buffer.0).filter(|_| op == QUERY_OLDEST);
                                let ok = op == QUERY_EPOCH || oldest.is_some();
                                counts.oldest += usize::from(oldest.is_some());
                                reply = Some((cycle + SHORT - 1, ok, mailbox.epoch, 0, oldest));
                                doing = Doing::Until(cycle + SHORT);
                            } else {
                                let back = back.to_u64() as usize;
                                let at = |back: usize| (mailbox.next + 2 * HISTORY - 1 - back) % HISTORY;
                                let buffer = if back < HISTORY { mailbox.history[at(back)] } else { None };
                                let (base, length) = buffer.unwrap_or_default();
                                reply = Some((cycle + READS - 1, buffer.is_some(), base, length, None));
                                let mut cycles = READS;
                                if op == QUERY_REWIND && buffer.is_some() {
                                    cycles += back as u64;
                                    for number in (0..back).map(at).collect::<Vec<_>>() {
                                        mailbox.history[number] = None;
                                    }
                                    mailbox.next = (mailbox.next + HISTORY - back) % HISTORY;
                                    counts.rewound += back;
                                }
                                counts.pointers += usize::from(buffer.is_some());
                                counts.nothing += usize::from(buffer.is_none());
                                doing = Doing::Until(cycle + cycles);
                            }
                        }
                    }
                }
                if answers.is_some() {
                    (query, reply) = (None, None);
                }
                updates.extend(update);
                if dut.retired.ready.is_high() {
                    retires.extend(retired.take());
                }
                dut.tick();
            }
        }
        let Counts { posted, searched, freed, pointers, nothing, rewound, oldest, stops } = counts;
        let seen = [posted, searched, freed, pointers, nothing, rewound, oldest, stops];
        assert!(
            seen.iter().all(|count| *count > 100),
            "{seen:?} posted, posted again, freed, found, not found, rewound, oldest ones, cycles without room"
        );
        assert!(longest > 30, "{longest} buffers of a mailbox at most");
    });
}
