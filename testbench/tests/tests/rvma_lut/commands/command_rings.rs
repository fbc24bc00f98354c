//! Command rings: posting from host memory.

use crate::rvma_lut::rvma_engine::bench::Bench;
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::message;
use rand::Rng;
use spindle_contract::commands::{self, BYTES};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, rvma, PAGE};
use spindle_harness::run_with_wave_on_failure;

/// A command as it stands in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Post {
    code: u8,
    mailbox: u32,
    buffer: u64,
    size: u32,
    record: u64,
}

impl Post {
    pub fn new(mailbox: u32, buffer: u64, size: u32, record: u64) -> Self {
        Post { code: commands::POST_BUFFER, mailbox, buffer, size, record }
    }

    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut word = |at: usize, value: u32| bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes());
        word(commands::WORD_CODE, self.mailbox << 16 | u32::from(self.code));
        word(commands::WORD_SIZE, self.size);
        word(commands::WORD_BUFFER, self.buffer as u32);
        word(commands::WORD_BUFFER + 1, (self.buffer >> 32) as u32);
        word(commands::WORD_RECORD, self.record as u32);
        word(commands::WORD_RECORD + 1, (self.record >> 32) as u32);
        bytes
    }
}

/// The host's side of a ring.
pub struct Ring {
    pid: u16,
    base: u64,
    places: u32,
    pub tail: u32,
}

impl Ring {
    /// Opens a ring; aligned to 1 MiB, across 4 GiB for some.
    pub fn open(bench: &mut Bench, pid: u16, places: u32) -> Self {
        let base = 0xFF80_0000 + (u64::from(pid) << 20);
        assert_eq!(open_at(bench, pid, base, places * BYTES as u32), doorbell_error::NONE);
        Ring { pid, base, places, tail: 0 }
    }

    pub fn write(&self, bench: &mut Bench, number: u32, post: &Post) {
        bench.host.write(self.base + u64::from(number % self.places) * BYTES as u64, &post.bytes());
    }

    /// Puts commands of these words into the ring.
    pub fn push_words(&mut self, bench: &mut Bench, commands: &[Vec<(usize, u32)>]) {
        for command in commands {
            let mut bytes = [0; BYTES];
            for (at, word) in command {
                bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
            }
            bench.host.write(self.base + u64::from(self.tail % self.places) * BYTES as u64, &bytes);
            self.tail += 1;
        }
    }

    /// Puts commands into the ring.
    pub fn push(&mut self, bench: &mut Bench, posts: &[Post]) {
        for post in posts {
            self.write(bench, self.tail, post);
            self.tail += 1;
        }
    }

    /// Rings the doorbell.
    pub fn kick(&self, bench: &mut Bench) {
        bench.stage(self.pid, doorbell::RING_TAIL, self.tail & 0xFFFF);
    }

    /// RING_DONE: commands carried out, and why the next one is not.
    /// RING_DONE: commands done, and the reason why the ring stands still.
    pub fn done(&self, bench: &mut Bench) -> (u32, u32) {
        let (word, error) = bench.csr(false, doorbell::BASE + u32::from(self.pid) * PAGE + doorbell::RING_DONE, 0);
        assert!(!error && word >> 24 == 0);
        (word & 0xFFFF, word >> 16)
    }

    /// Waits until the ring is empty or stands still.
    pub fn wait(&self, bench: &mut Bench) -> (u32, u32) {
        for _ in 0..20_000 {
            let (count, error) = self.done(bench);
            if count == self.tail & 0xFFFF || error != 0 {
                return (count, error);
            }
        }
        panic!("the ring of process {} does not end: {:?} of {}", self.pid, self.done(bench), self.tail);
    }

    /// What is left in memory would not be in the model's.
    fn wipe(&self, bench: &mut Bench) {
        bench.host.write(self.base, &vec![0; self.places as usize * BYTES]);
    }
}

fn open_at(bench: &mut Bench, pid: u16, base: u64, bytes: u32) -> u32 {
    bench.stage(pid, doorbell::BUFFER_LO, base as u32);
    bench.stage(pid, doorbell::BUFFER_HI, (base >> 32) as u32);
    bench.stage(pid, doorbell::SIZE, bytes);
    bench.stage(pid, doorbell::RING_TAIL, 0);
    bench.ring(pid, doorbell_command::OPEN_COMMANDS).0
}

/// Every command that cannot be carried out stops its ring there, says why, and is tried again with the next tail.
#[test]
fn a_ring_stops_at_what_cannot_be() {
    run_with_wave_on_failure("rvma_ring_errors", |context| {
        use doorbell_error::{BAD_ARGUMENT, HOST_ERROR, NONE, NO_MAILBOX, UNSUPPORTED};
        let mut bench = Bench::new(context, &Config::SIM, (1, 40));
        let mine = bench.init_window(3, 5, 1, 64, 0).unwrap();
        let other = bench.init_window(4, 5, 1, 64, 0).unwrap();
        for (base, bytes) in [(0x1000, 32), (0x1000, 96), (0x1040, 128), (0x1010, 64), (0, 2 << 20)] {
            assert_eq!(open_at(&mut bench, 3, base, bytes), BAD_ARGUMENT, "{base:#x}, {bytes}");
        }
        let good = Post::new(mine, 0x10_0000, 64, 0x5000);
        let mut ring = Ring::open(&mut bench, 3, 32);
        assert_eq!(ring.done(&mut bench), (0, NONE));
        let wrong = [
            (Post { code: 1, ..good }, UNSUPPORTED),
            (Post { code: 3, ..good }, UNSUPPORTED),
            (Post { size: 0, ..good }, BAD_ARGUMENT),
            (Post { size: 63, ..good }, BAD_ARGUMENT),
            (Post { record: 0x5008, ..good }, BAD_ARGUMENT),
            (Post { mailbox: other, ..good }, NO_MAILBOX),
            (Post { mailbox: mine ^ 1, ..good }, NO_MAILBOX),
            (Post { mailbox: mine ^ 0x1000, ..good }, NO_MAILBOX),
            (Post { mailbox: mine | 0x400, ..good }, NO_MAILBOX),
        ];
        let mut posted = 0;
        for (i, (post, error)) in wrong.into_iter().enumerate() {
            let first = ring.tail;
            let before = i as u32 % 3;
            ring.push(&mut bench, &vec![good; before as usize]);
            ring.push(&mut bench, &[post, good, good]);
            ring.kick(&mut bench);
            assert_eq!(ring.wait(&mut bench), (first + before, error), "{post:?}");
            posted += before;
            assert_eq!(bench.counter(rvma::BUFFERS), posted, "nothing after it was posted");
            // Again the same, then as it should be.
            ring.kick(&mut bench);
            bench.steps(200);
            assert_eq!(ring.wait(&mut bench), (first + before, error));
            let better = if i == 0 { Post::default() } else { good };
            ring.write(&mut bench, first + before, &better);
            ring.kick(&mut bench);
            bench.steps(200);
            assert_eq!(ring.wait(&mut bench), (ring.tail, NONE));
            posted += 2 + u32::from(i != 0);
            assert_eq!(bench.counter(rvma::BUFFERS), posted);
        }
        // More commands than the ring has places.
        let first = ring.tail;
        ring.push(&mut bench, &[good; 33]);
        ring.kick(&mut bench);
        assert_eq!(ring.wait(&mut bench), (first, BAD_ARGUMENT));
        // Memory that cannot be read.
        ring.tail = first + 4;
        let at = ring.base + u64::from(first % 32) * BYTES as u64;
        bench.host.failing = vec![at..at + 4 * BYTES as u64];
        ring.kick(&mut bench);
        bench.steps(200);
        assert_eq!(ring.wait(&mut bench), (first, HOST_ERROR));
        bench.host.failing.clear();
        ring.kick(&mut bench);
        bench.steps(200);
        assert_eq!(ring.wait(&mut bench), (first + 4, NONE));
        // A closed ring does nothing, one that is opened again begins at 0.
        assert_eq!(open_at(&mut bench, 3, 0, 0), NONE);
        ring.kick(&mut bench);
        bench.steps(300);
        assert_eq!(ring.done(&mut bench), (0, NONE));
        let mut ring = Ring::open(&mut bench, 3, 2);
        for round in 1..=5 {
            ring.push(&mut bench, &[good; 2]);
            ring.kick(&mut bench);
            assert_eq!(ring.wait(&mut bench), (2 * round, NONE));
        }
    });
}

/// Slots run out: the ring stands still and loses nothing.
#[test]
fn a_ring_waits_for_slots() {
    run_with_wave_on_failure("rvma_ring_slots", |context| {
        let config = Config { posted_buffers: 64, ..Config::SIM };
        let mut twin = Twin::new(Bench::new(context, &config, (1, 40)));
        twin.open(2, 9, 7, 16);
        let mailbox = twin.numbers[&(2, 9)];
        let mut ring = Ring::open(&mut twin.bench, 2, 128);
        let post = |i: u32| Post::new(mailbox, 0x10_0000 + u64::from(i) * 64, 16, 0x8000 + u64::from(i) * 16);
        let posts: Vec<Post> = (0..100).map(post).collect();
        ring.push(&mut twin.bench, &posts);
        ring.kick(&mut twin.bench);
        assert_eq!(ring.wait(&mut twin.bench), (64, doorbell_error::NO_SLOT));
        for post in &posts {
            twin.model.post_buffer(2, 9, post.buffer, post.size, post.record).unwrap();
            twin.buffers.push((post.buffer, post.size, post.record));
        }
        let mut rng = context.rng();
        for id in 0..100 {
            for put in message(&mut rng, 2, 9, 7, id, 16, 0, 16, 0) {
                twin.put(&put, 90);
            }
            if id % 25 == 24 {
                twin.bench.drain();
                ring.kick(&mut twin.bench);
                twin.bench.steps(300);
            }
        }
        assert_eq!(ring.wait(&mut twin.bench), (100, doorbell_error::NONE));
        ring.wipe(&mut twin.bench);
        twin.finish_unlogged();
    });
}

/// Rings of several processes with wrong commands among the right ones, the doorbell beside them, and packets all the time.
#[test]
fn random_rings_are_the_models() {
    run_with_wave_on_failure("rvma_ring_random", |context| {
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (5, 200)));
        let processes = [(0u16, 2u32), (1, 16), (7, 64), (15, 256)];
        let mut rings: Vec<Ring> = vec![];
        for (pid, places) in processes {
            for addr in 0..3 {
                twin.open(pid, addr, 3, 32);
            }
            rings.push(Ring::open(&mut twin.bench, pid, places));
        }
        let mut next = 0u64;
        let mut fresh = || {
            next += 1;
            (0x4000_0000 + next * 256, 0x2000_0000 + next * 16)
        };
        // A buffer that packets go into meanwhile.
        twin.open(9, 1, 3, 1 << 20);
        twin.post(9, 1, 0x8000_0000, 1 << 20, 0x7000);
        let mut stopped = 0;
        let mut frames = 0;
        for _ in 0..40 {
            let mut plans = vec![];
            for (ring, (pid, places)) in rings.iter_mut().zip(processes) {
                let mut plan = vec![];
                for _ in 0..rng.random_range(0..=places.min(70)) {
                    let addr = rng.random_range(0..2);
                    let (buffer, record) = fresh();
                    let good = Post::new(twin.numbers[&(pid, addr)], buffer, rng.random_range(32..200), record);
                    let post = match rng.random_range(0..60) {
                        0 => Post { size: 31, ..good },
                        1 => Post { record: record + 1, ..good },
                        2 => Post { code: 77, ..good },
                        3 => Post { mailbox: 0xFFFF, ..good },
                        4 => Post::default(),
                        _ => good,
                    };
                    plan.push((addr, post));
                }
                let posts: Vec<Post> = plan.iter().map(|p| p.1).collect();
                ring.push(&mut twin.bench, &posts);
                ring.kick(&mut twin.bench);
                plans.push(plan);
            }
            for id in frames..frames + 8 {
                for put in message(&mut rng, 9, 1, 3, id, 128, 128 * (id % 64), 64, id as u8) {
                    twin.put(&put, 64);
                }
            }
            frames += 8;
            // The doorbell works beside the rings.
            for _ in 0..rng.random_range(0..3) {
                let (buffer, record) = fresh();
                let pid = processes[rng.random_range(0..4usize)].0;
                twin.post(pid, 2, buffer, 64, record);
            }
            for ((ring, plan), (pid, _)) in rings.iter().zip(&plans).zip(processes) {
                let first = ring.tail - plan.len() as u32;
                for (i, (addr, post)) in plan.iter().enumerate() {
                    let valid = post.code == commands::POST_BUFFER && post.mailbox == twin.numbers[&(pid, *addr)];
                    let expected = match post.code {
                        commands::NOTHING => Ok(()),
                        commands::POST_BUFFER if valid => {
                            let posted = twin.model.post_buffer(pid, *addr, post.buffer, post.size, post.record);
                            posted.inspect(|()| twin.buffers.push((post.buffer, post.size, post.record)))
                        }
                        commands::POST_BUFFER => Err(doorbell_error::NO_MAILBOX),
                        _ => Err(doorbell_error::UNSUPPORTED),
                    };
                    if let Err(code) = expected {
                        let number = first + i as u32;
                        assert_eq!(ring.wait(&mut twin.bench), (number & 0xFFFF, code), "{post:?}");
                        ring.write(&mut twin.bench, number, &Post::default());
                        ring.kick(&mut twin.bench);
                        twin.bench.steps(1500);
                        stopped += 1;
                    }
                }
                assert_eq!(ring.wait(&mut twin.bench), (ring.tail & 0xFFFF, doorbell_error::NONE));
            }
        }
        assert!(stopped > 40, "only {stopped} commands were wrong");
        // What was posted is found in its order.
        for (pid, _) in processes {
            for addr in 0..3 {
                for id in 0..20 {
                    let id = 100_000 + id + 32 * addr as u32;
                    for put in message(&mut rng, pid, addr, 3, id, 32, 0, 32, 0) {
                        twin.put(&put, 64);
                    }
                }
            }
            twin.bench.drain();
        }
        for ring in &rings {
            ring.wipe(&mut twin.bench);
        }
        twin.finish_unlogged();
    });
}

/// Cycles from the tail to the end of so many posts.
pub fn posting(bench: &mut Bench, ring: &mut Ring, mailbox: u32, count: u32) -> u64 {
    let posts: Vec<Post> =
        (0..count).map(|i| Post::new(mailbox, 0x10_0000 + u64::from(i) * 64, 64, 0x8000 + u64::from(i) * 16)).collect();
    ring.push(bench, &posts);
    let start = bench.dut.cycle();
    ring.kick(bench);
    assert_eq!(ring.wait(bench), (ring.tail & 0xFFFF, doorbell_error::NONE));
    bench.dut.cycle() - start
}

#[test]
fn cycles_per_post() {
    run_with_wave_on_failure("rvma_ring_cycles", |context| {
        for (traffic, latency, per_post) in [(false, 20, 6.1), (false, 200, 6.1), (true, 60, 8.0)] {
            let mut bench = Bench::new(context, &Config::SIM, (latency, latency));
            let mailbox = bench.init_window(1, 5, 1, 64, 0).unwrap();
            let mut ring = Ring::open(&mut bench, 1, 1024);
            let one = posting(&mut bench, &mut ring, mailbox, 1);
            if traffic {
                let number = bench.init_window(0, 1, 2, 1 << 24, 0).unwrap();
                bench.post_buffer(0, number, 0x1000_0000, 1 << 24, 0x5000).unwrap();
                let mut rng = context.rng();
                for id in 0..600 {
                    for put in message(&mut rng, 0, 1, 2, id, 1408, id * 2048, 1408, 0) {
                        bench.put(&put, 64);
                    }
                }
                bench.steps(200);
            }
            let short = posting(&mut bench, &mut ring, mailbox, 128);
            let packets = bench.done.len();
            let long = posting(&mut bench, &mut ring, mailbox, 640);
            let per = (long - short) as f64 / 512.0;
            let passed = bench.done.len() - packets;
            println!("latency {latency}, traffic {traffic}: one post {one}, 128 {short}, 640 {long}: {per:.2} a post, {passed} packets");
            assert!(per <= per_post && per >= 6.0, "{per} cycles per post");
            if traffic {
                assert!(
                    passed as u64 >= long / 22 - 2,
                    "packets of 1408 bytes at full rate: {passed} in {long} cycles"
                );
            }
        }
    });
}
