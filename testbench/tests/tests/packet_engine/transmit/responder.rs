//! The responder against a model that counts; the bench plays the PSN filter and the initiator.

use packet_engine::transmit::responder::{Responder, LATENCY};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{FrameJob, PacketReport};
use spindle_blocks::RamStyle;
use spindle_contract::wire::{flag, nack, opcode};
use spindle_harness::{run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_model::packet_engine::responder::{self as model, Report};
use spindle_verilog::prelude::bits;
use std::collections::{HashMap, VecDeque};

/// Cycles that the PSN filter takes, as it does when nothing else happens.
const FILTER: u64 = 72;
/// Cycles after a report in which it may not have been seen by the one who answers.
const LAG: usize = 40;

struct Bench {
    dut: Dut<Responder>,
    now: u64,
    model: model::Responder,
    /// How many reports had been made, in each of the last cycles.
    made: VecDeque<usize>,
    /// The question that is being answered: when the answer comes, and the reports that were certainly known.
    asked: Option<(u64, usize)>,
    expected: u32,
    selective: u64,
    /// The share of answers of the filter that show a hole.
    holes: f64,
    /// The first number that is missing in the next answer; else one near the last report.
    next: Option<u32>,
    jobs: Vec<(u64, FrameJob)>,
    /// Marks in the last acknowledgement of each source.
    echoed: HashMap<u8, u8>,
    /// The answer of the cycle before is a refusal.
    left: Option<bool>,
    /// Reports are to be withheld: the model does not get them.
    withholds: bool,
    withheld: usize,
}

impl Bench {
    fn new(wave: &WaveContext, every: u32, gap: u64) -> Self {
        let dut = Dut::new(wave, Responder::new(RamStyle::Block), "responder");
        dut.control.enable.set(true);
        dut.control.every.set(every);
        dut.control.nack_gap.set(gap);
        let mut bench = Bench {
            dut,
            now: 0,
            model: model::Responder::new(every as usize),
            made: VecDeque::new(),
            asked: None,
            expected: 0,
            selective: 0,
            holes: 0.0,
            next: None,
            jobs: vec![],
            echoed: HashMap::new(),
            left: None,
            withholds: false,
            withheld: 0,
        };
        let mut rng = wave.rng();
        for _ in 0..260 {
            bench.step(&mut rng, None, None, true).unwrap();
        }
        bench
    }

    fn word(report: &Report) -> PacketReport {
        let psn = u64::from(report.psn);
        PacketReport {
            node: bits(report.node),
            src_pid: bits(psn & 0xFFFF),
            dst_pid: bits(psn >> 3 & 0xFFFF),
            addr: bits(psn * 0x1_0000_0003),
            msg_id: bits(psn ^ 0xFFFF),
            psn: bits(psn),
            epoch: bits(psn & 0xFF),
            credit: bits(psn >> 4 & 0xFF),
            code: bits(report.code),
            sequenced: report.sequenced,
            urgent: report.urgent,
            marked: report.marked,
            frame: bits(psn >> 2 & 0xFFFF),
        }
    }

    /// One cycle with a report of the join, of the scheduler.
    fn step(
        &mut self,
        rng: &mut ChaCha8Rng,
        ingress: Option<Report>,
        scheduler: Option<Report>,
        ready: bool,
    ) -> Result<(), String> {
        let dut = &self.dut;
        for (port, report) in [(&dut.ingress_report, ingress), (&dut.scheduler_report, scheduler)] {
            port.offer(report.map(|report| Self::word(&report)));
            if let Some(report) = report.filter(|_| !self.withholds) {
                self.model.report(report);
            }
        }
        self.made.push_front(self.model.count());
        self.made.truncate(LAG + 1);
        dut.job.ready.set(ready);
        let answers = self.asked.is_some_and(|(at, ..)| at == self.now);
        dut.peer_answer.valid.set(answers);
        if answers {
            let near = self.model.last_psn().wrapping_add(rng.random_range(0..8)).wrapping_sub(4);
            self.expected = self.next.unwrap_or(near);
            self.selective = if rng.random_bool(self.holes) { rng.random::<u64>() | 1 << 40 } else { 0 };
        }
        dut.peer_answer.expected.set(self.expected);
        dut.peer_answer.selective.set_bytes(&self.selective.to_le_bytes());
        let asks_now = rng.random_ratio(3, 4);
        dut.peer_request.ready.set(asks_now);
        dut.eval();
        if dut.peer_request.valid.is_high() && asks_now {
            let delay = if ready { FILTER } else { rng.random_range(1..100) };
            let known = *self.made.back().expect("this cycle is there");
            self.asked = Some((self.now + delay, known));
        }
        self.withheld += usize::from(dut.control.nack_withheld.is_high());
        let counted = (dut.control.sent.is_high(), dut.control.nack_sent.is_high());
        assert_eq!(counted, (self.left == Some(false), self.left == Some(true)), "cycle {}", self.now);
        self.left = None;
        if dut.job.valid.is_high() && ready {
            let job = dut.job.get();
            self.check(&job)?;
            self.left = Some(job.opcode.to_u64() == u64::from(opcode::NACK));
            self.jobs.push((self.now, job));
        }
        self.dut.tick();
        self.now += 1;
        Ok(())
    }

    /// An answer is the one that is due, and says what the filter and the report say.
    fn check(&mut self, job: &FrameJob) -> Result<(), String> {
        let (node, psn) = (job.node.to_u64() as u8, job.buf_off.to_u64() as u32);
        let mut sequenced = true;
        let mut code = 0;
        let (mut echoes, mut marks) = (false, 0);
        if job.opcode.to_u64() == u64::from(opcode::NACK) {
            let report = self.model.refuses(psn)?;
            (sequenced, code) = (report.sequenced, report.code);
        } else {
            let (_, known) = self.asked.ok_or("an acknowledgement that no one asked for")?;
            self.model.acknowledges(node, psn, known, (self.selective != 0).then_some(self.expected))?;
            let (least, most) = self.model.marks(node, known);
            marks = (job.key.to_u64() >> 16) as u8;
            if usize::from(marks.wrapping_sub(least as u8)) > most - least {
                return Err(format!("{marks} marks, not {least} to {most}"));
            }
            echoes = self.echoed.insert(node, marks).unwrap_or(0) != marks;
        }
        let of = Self::word(&Report { node, psn, ..Report::default() });
        let (selective, cumulative) = if sequenced { (self.selective, self.expected.wrapping_sub(1)) } else { (0, 0) };
        let expected = FrameJob {
            opcode: bits(if code == 0 { opcode::ACK } else { opcode::NACK }),
            flags: bits(match (sequenced, echoes) {
                (false, _) => flag::UNSEQ,
                (true, false) => 0,
                (true, true) => flag::ECN_ECHO,
            }),
            src_pid: of.dst_pid,
            dst_pid: of.src_pid,
            addr: of.addr,
            key: bits(u64::from(code) << 24 | u64::from(marks) << 16 | of.credit.to_u64()),
            msg_len: bits(selective >> 32),
            msg_off: bits(selective & 0xFFFF_FFFF),
            left: bits(0),
            msg_id: of.msg_id,
            numbered: true,
            psn: bits(cumulative),
            epoch: of.epoch,
            frame: of.frame,
            ..*job
        };
        if *job != expected {
            return Err(format!("{job:x?} is sent, not {expected:x?}"));
        }
        Ok(())
    }

    /// Reports a refused packet and waits so many cycles: the cycles to its refusal, or `None` if there is none.
    fn refuse(&mut self, rng: &mut ChaCha8Rng, node: u8, psn: u32, cycles: u64) -> Option<u64> {
        let report = Report { node, psn, code: nack::NO_MAILBOX, ..Report::default() };
        let (start, from) = (self.now, self.jobs.len());
        let mut before = self.model.clone();
        self.step(rng, Some(report), None, true).unwrap();
        for _ in 0..cycles {
            self.step(rng, None, None, true).unwrap();
        }
        if self.jobs.len() == from {
            // Nothing was due after all.
            std::mem::swap(&mut self.model, &mut before);
            return None;
        }
        Some(self.jobs[from].0 - start)
    }

    fn drain(&mut self, rng: &mut ChaCha8Rng) {
        for _ in 0..200_000 {
            if self.model.settled() {
                return;
            }
            self.step(rng, None, None, true).unwrap_or_else(|error| panic!("cycle {}: {error}", self.now));
        }
        panic!("answers are owed: {:?}", self.model);
    }
}

fn accepted(node: u8, psn: u32, urgent: bool) -> Report {
    Report { node, psn, urgent, sequenced: true, ..Report::default() }
}

/// Random sources, the initiator ready or not. Refusals are few enough that none is lost.
#[test]
fn random() {
    run_with_wave_on_failure("responder_random", |wave| {
        let mut rng = wave.rng();
        for every in [1, 4, 63] {
            let mut bench = Bench::new(wave, every, 0);
            bench.holes = 0.5;
            let mut psn = 0;
            for cycle in 0..40_000u64 {
                let nodes = [128, 3, 1][(cycle / 4_000 % 3) as usize];
                let busy = if cycle / 2_000 % 2 == 0 { 3 } else { 100 };
                // Sources are the join's or the scheduler's, so that the order of their reports is known.
                let mut next = |rng: &mut ChaCha8Rng, refused: bool, side: u8| {
                    psn += 1;
                    Report {
                        node: rng.random_range(0..nodes) * 2 + side,
                        code: if refused { nack::BUSY } else { 0 },
                        urgent: rng.random_ratio(1, 10),
                        sequenced: !refused || rng.random_ratio(1, 2),
                        marked: rng.random_ratio(1, 3),
                        psn,
                    }
                };
                let refused = rng.random_ratio(1, 400);
                let front = (cycle % 2 == 0 && rng.random_ratio(1, busy)).then(|| next(&mut rng, refused, 0));
                let back = rng.random_ratio(1, 2 * busy).then(|| next(&mut rng, refused && front.is_none(), 1));
                let ready = rng.random_ratio(2, 3);
                bench.step(&mut rng, front, back, ready).unwrap_or_else(|error| panic!("cycle {cycle}: {error}"));
            }
            bench.drain(&mut rng);
            assert_eq!(bench.withheld, 0);
            assert!(bench.jobs.len() > 300, "{} answers", bench.jobs.len());
        }
    });
}

/// When an acknowledgement is due, and how long it takes.
#[test]
fn acknowledgements() {
    run_with_wave_on_failure("responder_acknowledgements", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, 4, 0);
        for psn in 0..7 {
            bench.step(&mut rng, Some(accepted(9, psn, false)), None, true).unwrap();
            for _ in 0..300 {
                bench.step(&mut rng, None, None, true).unwrap();
            }
        }
        let answered: Vec<u64> = bench.jobs.iter().map(|(_, job)| job.buf_off.to_u64()).collect();
        assert_eq!(answered, [3], "every fourth packet");
        let (start, from) = (bench.now, bench.jobs.len());
        bench.step(&mut rng, None, Some(accepted(9, 7, true)), true).unwrap();
        bench.drain(&mut rng);
        let waited = bench.jobs[from].0 - start;
        // The filter of the bench takes a question in any of several cycles.
        assert!((LATENCY as u64..LATENCY as u64 + 12).contains(&waited), "{waited} cycles to an acknowledgement");
        // A hundred packets while one acknowledgement is under way are covered by one more.
        let from = bench.jobs.len();
        for psn in 8..108 {
            bench.step(&mut rng, None, Some(accepted(9, psn, true)), true).unwrap();
        }
        bench.drain(&mut rng);
        assert!(bench.jobs.len() - from <= 3, "{} acknowledgements", bench.jobs.len() - from);
        assert_eq!(bench.jobs.last().unwrap().1.buf_off.to_u64(), 107);
    });
}

/// What fills the first hole of an acknowledgement is reported at once, also if it came while that was on its way; what comes
/// after the hole is one of many.
#[test]
fn a_filled_hole_is_told() {
    run_with_wave_on_failure("responder_holes", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, 8, 0);
        // Reports a number; answers show a hole at `hole`, if there is one. Returns the numbers that are acknowledged.
        let mut send = |bench: &mut Bench, psn: u32, urgent: bool, hole: Option<u32>, cycles: u64| {
            (bench.holes, bench.next) = (if hole.is_some() { 1.0 } else { 0.0 }, hole);
            let from = bench.jobs.len();
            bench.step(&mut rng, Some(accepted(9, psn, urgent)), None, true).unwrap();
            for _ in 0..cycles {
                bench.step(&mut rng, None, None, true).unwrap();
            }
            bench.jobs[from..].iter().map(|(_, job)| job.buf_off.to_u64()).collect::<Vec<_>>()
        };
        let none: [u64; 0] = [];
        assert_eq!(send(&mut bench, 3, true, Some(1), 300), [3], "it was asked for");
        assert_eq!(send(&mut bench, 4, false, None, 300), none, "it is after the hole");
        assert_eq!(send(&mut bench, 2, false, None, 300), none, "it is not the first that is missing");
        assert_eq!(send(&mut bench, 1, false, None, 300), [1], "it fills the hole");
        assert_eq!(send(&mut bench, 5, false, None, 300), none, "there is no hole any more");
        assert_eq!(send(&mut bench, 8, true, Some(6), 30), none, "its answer is on its way");
        assert_eq!(send(&mut bench, 9, false, Some(6), 5), none, "it is after the hole that will be shown");
        assert_eq!(send(&mut bench, 6, false, Some(6), 70), [8], "it fills that hole");
        assert_eq!(send(&mut bench, 10, false, Some(7), 300), [6], "so there is one more, which shows the next hole");
        assert_eq!(send(&mut bench, 11, false, None, 300), none, "it is after that");
        assert_eq!(send(&mut bench, 7, false, None, 300), [7], "it fills that");
        assert_eq!(send(&mut bench, 12, true, Some(0x1000), 300), [12], "numbers go on");
        assert_eq!(send(&mut bench, 0x1001, false, None, 300), none, "after");
    });
}

/// One refusal to a source in `nack_gap` units of 64 cycles; sources do not notice each other; none while off.
#[test]
fn refusals_are_limited_by_source() {
    run_with_wave_on_failure("responder_refusals", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, 4, 8);
        let answers: Vec<bool> = (0..24).map(|psn| bench.refuse(&mut rng, 5, psn, 63).is_some()).collect();
        let sent = answers.iter().filter(|sent| **sent).count();
        assert!(answers[0] && (3..=4).contains(&sent), "{answers:?}: one in 8 units, 24 units");
        assert_eq!(bench.withheld, 24 - sent);
        assert_eq!(bench.refuse(&mut rng, 6, 100, 63), Some(3), "another source; cycles to its refusal");
        bench.dut.control.enable.set(false);
        assert_eq!(bench.refuse(&mut rng, 7, 101, 63), None, "switched off");
    });
}

/// Refusals of a source in consecutive cycles: the time of each is there for the next one. All are sent without a limit, with a
/// limit only the first one of each source.
#[test]
fn refusals_that_follow_one_another() {
    run_with_wave_on_failure("responder_refusals_that_follow", |wave| {
        let mut rng = wave.rng();
        for gap in [0, 2, 20] {
            let mut bench = Bench::new(wave, 4, gap);
            for round in 0..share(60) as u32 {
                // As many as the queue takes.
                let mut due: Vec<u32> = vec![];
                let mut seen: Vec<u8> = vec![];
                let nodes = rng.random_range(1..4);
                let withheld = bench.withheld;
                let (count, ready) = (rng.random_range(2..=16), rng.random());
                for n in 0..count {
                    let node = rng.random_range(0..nodes) as u8;
                    let psn = 100 * round + n;
                    let report = Report { node, psn, code: nack::BUSY, sequenced: rng.random(), ..Report::default() };
                    bench.withholds = gap > 0 && seen.contains(&node);
                    if !bench.withholds {
                        due.push(psn);
                    }
                    seen.push(node);
                    bench.step(&mut rng, Some(report), None, ready).unwrap();
                }
                bench.withholds = false;
                // Longer than the limit, so that the next round begins anew.
                bench.drain(&mut rng);
                for _ in 0..64 * (gap + 2) {
                    bench.step(&mut rng, None, None, true).unwrap();
                }
                let refused = bench.jobs.iter().map(|(_, job)| job.buf_off.to_u64() as u32);
                let refused: Vec<u32> = refused.filter(|psn| psn / 100 == round).collect();
                assert_eq!(refused, due, "gap {gap}, {seen:?}");
                assert_eq!(bench.withheld - withheld, seen.len() - due.len(), "gap {gap}, {seen:?}");
            }
        }
    });
}

/// A refusal that finds no room is lost, and is not the last one to its source: the next one is sent, whatever the limit.
#[test]
fn a_refusal_without_room_does_not_withhold_the_next() {
    /// One is offered, 16 wait.
    const ROOM: u8 = 17;
    run_with_wave_on_failure("responder_refusals_without_room", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, 4, 1000);
        for node in 0..ROOM + 8 {
            bench.withholds = node >= ROOM;
            let report = Report { node, psn: node.into(), code: nack::BUSY, ..Report::default() };
            // Time for the first one to be offered.
            bench.step(&mut rng, Some(report), None, false).unwrap();
            bench.step(&mut rng, None, None, false).unwrap();
        }
        bench.withholds = false;
        bench.drain(&mut rng);
        assert_eq!((bench.jobs.len(), bench.withheld), (ROOM.into(), 8));
        for node in 0..ROOM + 8 {
            let sent = bench.refuse(&mut rng, node, 100 + u32::from(node), 63);
            assert_eq!(sent, (node >= ROOM).then_some(3), "source {node}");
        }
    });
}

/// Time has 22 bits and begins in their middle. The limit is the same before, while and after time begins again.
#[test]
fn the_limit_holds_when_time_begins_again() {
    const GAP: u64 = 8;
    const HALF: u64 = 1 << 21;
    /// Units of the time.
    const TURN: u64 = 1 << 16;
    run_with_wave_on_failure("responder_time_begins_again", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, 4, GAP);
        // Some gaps before time begins again.
        let idle = HALF - bench.now - 5 * 64 * GAP;
        bench.dut.ticks(idle);
        bench.now += idle;
        // A source that was never refused counts as one that was refused at time 0.
        let mut last = [0; 4];
        let mut sent_withheld = [[0; 2]; 2];
        for psn in 0.. {
            let unit = (HALF + bench.now) / 64 % TURN;
            let (node, begins_again) = (rng.random_range(0..last.len()), bench.now > HALF);
            let since = (unit + TURN - last[node]) % TURN;
            let cycles = rng.random_range(8..200);
            let answer = bench.refuse(&mut rng, node as u8, psn, cycles);
            let expected = (since >= GAP).then_some(3);
            assert_eq!(answer, expected, "{since} units after the last refusal of source {node}, in unit {unit}");
            if expected.is_some() {
                last[node] = unit;
            }
            sent_withheld[usize::from(begins_again)][usize::from(expected.is_none())] += 1;
            if bench.now > HALF + 20 * 64 * GAP {
                break;
            }
        }
        println!("sent and withheld, before and after: {sent_withheld:?}");
        assert!(sent_withheld.as_flattened().iter().all(|count| *count > 5), "{sent_withheld:?}");
        assert_eq!(bench.withheld, sent_withheld[0][1] + sent_withheld[1][1]);
    });
}
