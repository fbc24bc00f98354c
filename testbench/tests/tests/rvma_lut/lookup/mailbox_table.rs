//! The mailbox table alone, against a map: look-ups in every cycle while mailboxes come, move and go.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::lookup::mailbox_table::{MailboxTable, LATENCY};
use rvma_lut::types::{TableRequest, TableResult, CLOSING, INSERT, LOOKUP, MODE_CLOSING, NUMBER, PROBE, REMOVE};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_verilog::prelude::bits;
use std::collections::{HashMap, VecDeque};

/// Cycles between two commands of the doorbell, at least.
const BETWEEN: u64 = 32;

type Key = (u16, u64);

/// A question.
#[derive(Clone, Copy, Debug, Default)]
struct Question {
    op: u64,
    key: Key,
    secret: u32,
    mode: u64,
    window: u64,
    number: u64,
    generation: u64,
}

impl Question {
    fn word(&self) -> TableRequest {
        TableRequest {
            op: bits(self.op),
            pid: bits(self.key.0),
            addr: bits(self.key.1),
            key: bits(self.secret),
            mode: bits(self.mode),
            window: bits(self.window),
            mailbox: bits(self.number),
            generation: bits(self.generation),
        }
    }
}

/// An answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Answer {
    hit: bool,
    key_fits: bool,
    full: bool,
    busy: bool,
    number: u64,
    mode: u64,
    window: u64,
    generation: u64,
}

impl Answer {
    fn of(result: TableResult) -> Self {
        Self {
            hit: result.hit,
            key_fits: result.key_fits,
            full: result.full,
            busy: result.busy,
            number: result.mailbox.to_u64(),
            mode: result.mode.to_u64(),
            window: result.window.to_u64(),
            generation: result.generation.to_u64(),
        }
    }
}

/// An open mailbox.
#[derive(Clone, Copy, Debug)]
struct Mailbox {
    number: u64,
    generation: u64,
    secret: u32,
    mode: u64,
    window: u64,
}

/// The table and what must be in it.
struct Pair {
    dut: Dut<MailboxTable>,
    rng: ChaCha8Rng,
    open: HashMap<Key, Mailbox>,
    /// The keys, for a choice at random.
    keys: Vec<Key>,
    /// Generation of the next mailbox of each number.
    generations: HashMap<u64, u64>,
    /// Questions under way, since when, and what was right then.
    asked: VecDeque<(u64, Question, Option<Mailbox>)>,
    cycle: u64,
    /// Packets that found their mailbox, and that found none.
    seen: [u64; 2],
    /// Cycles in which no question was taken.
    stalls: Vec<u64>,
}

impl Pair {
    fn new(wave: &WaveContext, mailboxes: usize) -> Self {
        let dut = Dut::new(wave, MailboxTable::new(mailboxes), &format!("mailbox_table_{mailboxes}"));
        dut.eval();
        for _ in 0..mailboxes / 4 + 2 {
            dut.tick();
            dut.eval();
        }
        assert!(dut.ready.is_high(), "the table is empty");
        Self {
            dut,
            rng: wave.rng(),
            open: HashMap::new(),
            keys: vec![],
            generations: HashMap::new(),
            asked: VecDeque::new(),
            cycle: 0,
            seen: [0; 2],
            stalls: vec![],
        }
    }

    fn fresh_key(&mut self) -> Key {
        (self.rng.random_range(0..16), self.rng.random())
    }

    /// A key that is most likely of no mailbox; also that of an empty place.
    fn other_key(&mut self) -> Key {
        if self.rng.random_ratio(1, 4) {
            (0, 0)
        } else {
            self.fresh_key()
        }
    }

    /// One cycle: this question if the table takes it, else a packet's at random. The answer of `LATENCY` cycles ago, if it
    /// was to a command.
    fn step(&mut self, command: Option<Question>, packets: bool) -> (bool, Option<Answer>) {
        let ready = self.dut.ready.is_high();
        let question = command.or_else(|| {
            let key = if !self.keys.is_empty() && self.rng.random_ratio(7, 8) {
                self.keys[self.rng.random_range(0..self.keys.len())]
            } else {
                self.other_key()
            };
            // A process that there is not has no mailboxes.
            let pid = key.0 | u16::from(self.rng.random_ratio(1, 16)) << self.rng.random_range(6..16);
            let secret = self.open.get(&key).map_or(1, |m| m.secret) ^ u32::from(self.rng.random_ratio(1, 8));
            (packets && self.rng.random_ratio(15, 16)).then_some(Question {
                op: LOOKUP,
                key: (pid, key.1),
                secret,
                ..Default::default()
            })
        });
        let taken = question.filter(|_| ready);
        self.dut.request.offer(taken.map(|question| question.word()));
        if let Some(question) = taken {
            self.asked.push_back((self.cycle, question, self.open.get(&question.key).copied()));
        }
        if !ready {
            self.stalls.push(self.cycle);
        }
        self.dut.eval();
        let mut reported = None;
        let due = self.asked.front().is_some_and(|(since, ..)| since + LATENCY as u64 == self.cycle);
        assert_eq!(self.dut.result.valid.is_high(), due, "cycle {}", self.cycle);
        if due {
            let (_, question, then) = self.asked.pop_front().expect("it is due");
            let answer = Answer::of(self.dut.result.get());
            if question.op == LOOKUP {
                // A change that was made meanwhile may be seen or not.
                let now = self.open.get(&question.key).copied();
                let right = [then, now].iter().any(|mailbox| match mailbox {
                    Some(m) => {
                        answer.hit
                            && answer.number == m.number
                            && answer.key_fits == (question.secret == m.secret)
                            && (answer.mode, answer.window) == (m.mode, m.window)
                            && answer.generation == m.generation
                    }
                    None => !answer.hit,
                });
                assert!(right, "{question:x?} is answered by {answer:x?}; the mailbox is {then:x?}, now {now:x?}");
                self.seen[usize::from(!answer.hit)] += 1;
            } else {
                reported = Some(answer);
            }
        }
        self.dut.tick();
        self.dut.eval();
        self.cycle += 1;
        (command.is_some() && ready, reported)
    }

    /// A command, and its answer.
    fn command(&mut self, question: Question) -> Answer {
        let mut left = Some(question);
        for _ in 0..200 {
            let (taken, answer) = self.step(left, true);
            if taken {
                self.apply(&question);
                left = None;
            }
            if let Some(answer) = answer {
                return answer;
            }
        }
        panic!("no answer to {question:?}");
    }

    /// What a command changes.
    fn apply(&mut self, question: &Question) {
        match question.op {
            INSERT => {
                let mailbox = Mailbox {
                    number: question.number,
                    generation: question.generation,
                    secret: question.secret,
                    mode: question.mode,
                    window: question.window,
                };
                assert!(self.open.values().all(|m| m.number != question.number), "{question:?}: a number twice");
                self.open.insert(question.key, mailbox);
                self.keys.push(question.key);
            }
            CLOSING => {
                let open = self.open.get_mut(&question.key).expect("it is open");
                (open.mode, open.window, open.generation) = (question.mode, question.window, question.generation);
            }
            REMOVE => {
                self.open.remove(&question.key);
                self.keys.retain(|key| *key != question.key);
                self.generations.insert(question.number, question.generation);
            }
            _ => {}
        }
    }

    /// Opens a mailbox, or hears that there is no room.
    fn open(&mut self, key: Key) -> bool {
        let secret = self.rng.random();
        let (mode, window) = (self.rng.random_range(0..MODE_CLOSING), self.rng.random_range(0..512));
        let mut answer = Answer { full: true, busy: true, ..Default::default() };
        for _ in 0..2000 {
            answer = self.command(Question { op: PROBE, key, ..Default::default() });
            assert_eq!(answer.hit, self.open.contains_key(&key));
            if !(answer.full && answer.busy) {
                break;
            }
        }
        assert!(!(answer.full && answer.busy), "the stash never rests");
        if answer.full || answer.hit {
            return false;
        }
        let Answer { number, generation, .. } = answer;
        assert!(self.generations.get(&number).is_none_or(|next| *next == generation), "{answer:?}");
        self.command(Question { op: INSERT, key, secret, mode, window, number, generation });
        self.pause();
        true
    }

    fn close(&mut self, key: Key) {
        let Mailbox { number, generation, secret, window, .. } = self.open[&key];
        let generation = (generation + 1) & 0xF;
        let question = Question { op: CLOSING, key, secret, mode: MODE_CLOSING, window, number, generation };
        self.command(question);
        self.pause();
        self.command(Question { op: REMOVE, ..question });
        self.pause();
    }

    /// Is the number of a mailbox known, with its generation and process, and with none other?
    fn check_number(&mut self, key: Key) {
        let m = self.open[&key];
        let right = Question { op: NUMBER, key, number: m.number, generation: m.generation, ..Default::default() };
        assert!(self.command(right).hit, "{right:?}");
        let others =
            [Question { key: (key.0 ^ 1, key.1), ..right }, Question { generation: (m.generation + 1) & 0xF, ..right }];
        for question in others {
            assert!(!self.command(question).hit, "{question:?}");
        }
    }

    fn pause(&mut self) {
        for _ in 0..BETWEEN {
            self.step(None, true);
        }
    }

    fn any_key(&mut self) -> Key {
        self.keys[self.rng.random_range(0..self.keys.len())]
    }
}

/// At random addresses nine tenths of the places are taken without a refusal, mailboxes come and go there, and no look-up
/// ever misses one. Then it is filled until it refuses, and emptied.
fn fill(wave: &WaveContext, mailboxes: usize, changes: usize) {
    let mut pair = Pair::new(wave, mailboxes);
    while pair.open.len() < mailboxes * 9 / 10 {
        let key = pair.fresh_key();
        assert!(pair.open(key), "refused when {} of {mailboxes} mailboxes are open", pair.open.len());
    }
    for _ in 0..changes {
        let key = pair.any_key();
        assert!(!pair.open(key), "it exists");
        pair.check_number(key);
        pair.close(key);
        let key = if pair.rng.random() { key } else { pair.fresh_key() };
        assert!(pair.open(key), "a mailbox less, a mailbox more");
    }
    let mut refused = 0;
    while refused < 3 {
        let key = pair.fresh_key();
        refused += u32::from(!pair.open(key));
    }
    println!("{} of {mailboxes} mailboxes; {:?} look-ups in {} cycles", pair.open.len(), pair.seen, pair.cycle);
    assert!(pair.open.len() <= mailboxes);
    let all = pair.keys.clone();
    for key in all {
        pair.check_number(key);
        pair.close(key);
    }
    for _ in 0..LATENCY {
        pair.step(None, false);
    }
    assert!(pair.open.is_empty() && pair.asked.is_empty() && pair.seen.iter().all(|n| *n > 1000));
}

#[test]
fn a_table_fills_and_forgets_nothing() {
    run_with_wave_on_failure("a_table_fills_and_forgets_nothing", |wave| fill(wave, 256, 200));
}

#[test]
fn the_smallest_table_fills() {
    run_with_wave_on_failure("the_smallest_table_fills", |wave| fill(wave, 64, 60));
}

/// A new mailbox sinks in the stash, has its places read, and goes to one of them: two cycles in which no question is taken.
#[test]
fn cycles_of_an_insertion() {
    run_with_wave_on_failure("cycles_of_an_insertion", |wave| {
        let mut pair = Pair::new(wave, 64);
        let number = pair.command(Question { op: PROBE, key: (3, 5), ..Default::default() }).number;
        pair.step(Some(Question { op: INSERT, key: (3, 5), number, ..Default::default() }), false);
        let start = pair.cycle - 1;
        pair.stalls.clear();
        for _ in 0..2 * BETWEEN {
            pair.step(None, false);
        }
        let stalls: Vec<u64> = pair.stalls.iter().map(|cycle| cycle - start).collect();
        assert_eq!(stalls, [1, 5]);
    });
}
