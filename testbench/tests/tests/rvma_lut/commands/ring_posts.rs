//! The ring posts alone, against their three stages: lines of any content, rings that stop, memory, mailboxes and receivers that
//! refuse or wait, in every cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::commands::command_rings::Batch;
use rvma_lut::commands::ring_posts::{RingPosts, PATIENCE};
use rvma_lut::host_access::frame_sends::FrameSend;
use rvma_lut::host_access::frame_sums::FrameChecksum;
use rvma_lut::host_access::regions::RegionQuery;
use rvma_lut::types::{BufferEntry, QueueCommand, TableRequest, TableResult, NUMBER, QUEUE_POST};
use spindle_blocks::desc::{CommandIssuer, PutDesc};
use spindle_contract::commands::*;
use spindle_contract::descriptors::put_op;
use spindle_contract::registers::{doorbell_error, mailbox_mode};
use spindle_contract::wire::flag;
use spindle_harness::{near, random_bits, random_value, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

const MAILBOXES: u64 = 1024;
/// Commands that wait for the table.
const WAITING: usize = 8;
/// Commands of the longest batch.
const BATCH: usize = 16;
const WORDS: usize = BYTES / 4;

type Line = [u32; WORDS];

/// A command that has begun.
#[derive(Clone, Copy, Debug)]
struct Command {
    pid: u64,
    number: u16,
    last: bool,
    line: Line,
    /// `doorbell_error`, as far as it is known.
    error: u32,
}

impl Command {
    /// Error of a command by its line alone, if its batch was read.
    fn judge(pid: u64, line: &Line, senders: u64) -> u32 {
        let (code, flags, number) = (line[WORD_CODE] as u8, line[WORD_CODE] >> 8 & 0xFF, line[WORD_CODE] >> 16);
        let size = line[WORD_SIZE];
        match code {
            NOTHING | PUT | GET => doorbell_error::NONE,
            POST_BUFFER if size == 0 || !line[WORD_RECORD].is_multiple_of(16) => doorbell_error::BAD_ARGUMENT,
            POST_BUFFER if u64::from(number & 0xFFF) >= MAILBOXES => doorbell_error::NO_MAILBOX,
            POST_BUFFER => doorbell_error::NONE,
            SEND_FRAME if flags & !(FRAME_EVENT | FRAME_CHECKSUM) != 0 => doorbell_error::UNSUPPORTED,
            SEND_FRAME if senders >> pid & 1 == 0 => doorbell_error::NO_RIGHT,
            SEND_FRAME if !(MIN_FRAME..=MAX_FRAME).contains(&(size as usize)) => doorbell_error::BAD_ARGUMENT,
            SEND_FRAME if flags & FRAME_CHECKSUM != 0 => {
                let (start, offset) = (line[WORD_CHECKSUM] & 0xFFFF, line[WORD_CHECKSUM] >> 16);
                let possible = |at: u32| at <= MAX_CHECKSUM && at.is_multiple_of(2);
                let good = possible(start) && possible(offset) && start + offset + 2 <= size;
                if good {
                    doorbell_error::NONE
                } else {
                    doorbell_error::BAD_ARGUMENT
                }
            }
            SEND_FRAME => doorbell_error::NONE,
            _ => doorbell_error::UNSUPPORTED,
        }
    }

    fn code(&self) -> u8 {
        self.line[WORD_CODE] as u8
    }

    fn flags(&self) -> u32 {
        self.line[WORD_CODE] >> 8 & 0xFF
    }

    fn cookie(&self) -> u64 {
        u64::from(self.line[WORD_CODE] >> 16)
    }

    fn word(&self, at: usize) -> u64 {
        u64::from(self.line[at])
    }

    fn wide(&self, at: usize) -> u64 {
        self.word(at) | self.word(at + 1) << 32
    }

    fn names_memory(&self) -> bool {
        match self.code() {
            POST_BUFFER | SEND_FRAME => true,
            PUT => self.word(WORD_SIZE) != 0,
            _ => false,
        }
    }

    fn region(&self) -> RegionQuery {
        let posts = self.code() == POST_BUFFER;
        RegionQuery {
            pid: bits(self.pid),
            write: posts,
            address: bits(self.wide(WORD_BUFFER)),
            length: bits(self.word(WORD_SIZE)),
            has_record: posts,
            record: bits(if posts { self.wide(WORD_RECORD) / 16 } else { 0 }),
        }
    }

    fn request(&self) -> TableRequest {
        TableRequest {
            op: bits(NUMBER),
            pid: bits(self.pid),
            mailbox: bits(self.cookie() & 0xFFF),
            generation: bits(self.cookie() >> 12),
            ..TableRequest::default()
        }
    }

    fn post(&self) -> QueueCommand {
        QueueCommand {
            op: bits(QUEUE_POST),
            mailbox: bits(self.cookie() & 0xFFF),
            pid: bits(self.pid),
            buffer: BufferEntry { base: bits(self.wide(WORD_BUFFER)), size: bits(self.word(WORD_SIZE)) },
            record: bits(self.wide(WORD_RECORD) / 16),
            ..QueueCommand::default()
        }
    }

    fn put(&self) -> PutDesc {
        let get = self.code() == GET;
        let flags = if get {
            if self.flags() & 1 != 0 {
                flag::ACTIVE
            } else {
                0
            }
        } else {
            let tagged = if self.flags() & mailbox_mode::TAGGED != 0 { flag::EPOCH_VALID } else { 0 };
            tagged | if self.flags() & mailbox_mode::MANAGED != 0 { flag::MANAGED } else { 0 }
        };
        let of_get = |value: u64| if get { value } else { 0 };
        PutDesc {
            op: bits(u64::from(if get { put_op::GET } else { put_op::PUT })),
            from_host: !get,
            node: bits(self.word(WORD_TARGET) & 0xFF),
            dst_pid: bits(self.word(WORD_TARGET) >> 16),
            src_pid: bits(self.pid),
            addr: bits(self.wide(WORD_ADDR)),
            key: bits(self.word(WORD_KEY)),
            buf_off: bits(self.word(WORD_OFFSET)),
            length: bits(self.word(WORD_SIZE)),
            host_address: bits(if get { 0 } else { self.wide(WORD_BUFFER) }),
            reply_addr: bits(of_get(self.wide(WORD_BUFFER))),
            reply_off: bits(of_get(self.word(WORD_REPLY_OFFSET))),
            reply_key: bits(self.word(WORD_EPOCH)),
            flags: bits(u64::from(flags)),
            context: bits(0u64),
            issuer: CommandIssuer {
                cluster: bits(7u64),
                hpu: bits(7u64),
                handle: bits(u64::from(put_op::HOST_HANDLE)),
            },
            frame: bits(self.cookie()),
        }
    }

    fn frame(&self) -> FrameSend {
        let wanted = self.flags() & FRAME_CHECKSUM != 0;
        let (start, offset) = (self.word(WORD_CHECKSUM) & 0xFFFF, self.word(WORD_CHECKSUM) >> 16);
        let of_checksum = |value: u64| if wanted { value } else { 0 };
        FrameSend {
            pid: bits(self.pid),
            number: bits(u64::from(self.number.wrapping_add(1))),
            cookie: bits(self.cookie()),
            wants_event: self.flags() & FRAME_EVENT != 0,
            address: bits(self.wide(WORD_BUFFER)),
            length: bits(self.word(WORD_SIZE)),
            checksum: FrameChecksum {
                wanted,
                start: bits(of_checksum(start / 2)),
                field: bits(of_checksum((start + offset) / 2)),
            },
        }
    }
}

/// A batch that is offered.
struct Offer {
    batch: Batch,
    error: bool,
    lines: Vec<Line>,
    taken: usize,
}

/// What the block holds at the start of a cycle.
#[derive(Default)]
struct Stages {
    /// The command that was decoded last, and whether its memory is checked.
    next: Option<(Command, bool)>,
    /// Commands that the table was asked for, and its answers.
    waiting: VecDeque<Command>,
    answers: VecDeque<bool>,
    /// The command that is ready, and the one that is with its receiver, with the cycles since then.
    job: Option<Command>,
    posting: Option<(Command, u64)>,
    /// RING_DONE of a process.
    report: Option<(u64, u64)>,
}

/// How often, in percent of the cycles or cases, the surroundings do what they may.
#[derive(Clone, Copy)]
struct Pace {
    offers: u32,
    region: u32,
    table: u32,
    answers: u32,
    queue: u32,
    receivers: u32,
    /// Refusals, of a hundred.
    refuses: u32,
    /// Lines that are bad, of a hundred.
    bad: u32,
}

const PACES: [Pace; 6] = [
    Pace { offers: 100, region: 100, table: 100, answers: 100, queue: 100, receivers: 100, refuses: 4, bad: 1 },
    Pace { offers: 70, region: 30, table: 50, answers: 40, queue: 20, receivers: 50, refuses: 10, bad: 30 },
    // The table answers late: commands wait for it.
    Pace { offers: 100, region: 100, table: 90, answers: 10, queue: 90, receivers: 90, refuses: 4, bad: 2 },
    // Receivers that take a word in 200 or 300 cycles.
    Pace { offers: 100, region: 90, table: 90, answers: 90, queue: 90, receivers: 0, refuses: 2, bad: 2 },
    Pace { offers: 100, region: 100, table: 100, answers: 100, queue: 5, receivers: 80, refuses: 4, bad: 5 },
    Pace { offers: 20, region: 100, table: 20, answers: 100, queue: 100, receivers: 100, refuses: 5, bad: 60 },
];

/// What has happened.
#[derive(Debug, Default)]
struct Seen {
    posted: u32,
    put: u32,
    sent: u32,
    nothing: u32,
    discarded: u32,
    given_up: u32,
    strays: u32,
    full: u32,
    /// Failures by `doorbell_error`.
    errors: [u32; 16],
}

struct Bench {
    dut: Dut<RingPosts>,
    rng: ChaCha8Rng,
    stages: Stages,
    offer: Option<Offer>,
    /// Rings that are stopped.
    stopped: u64,
    /// Number of the next command of each process.
    numbers: [u16; 64],
    /// Requests that the table has not answered.
    asked: usize,
    pause: bool,
    senders: u64,
    pace: Pace,
    seen: Seen,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, RingPosts::new(MAILBOXES as usize), "ring_posts");
        // Commands of a batch follow one another while the batch waits; a put or frame that waits too long is given up.
        for channel in [dut.batch.channel(), dut.put.channel(), dut.frame.channel()] {
            dut.ignore(channel);
        }
        let mut bench = Bench {
            dut,
            rng: wave.rng(),
            stages: Stages::default(),
            offer: None,
            stopped: 0,
            numbers: [0; 64],
            asked: 0,
            pause: false,
            senders: u64::MAX,
            pace: PACES[0],
            seen: Seen::default(),
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.dut.batch.valid.set(false);
        self.dut.table_result.valid.set(false);
        self.dut.reset();
        self.stages = Stages::default();
        (self.offer, self.stopped, self.asked) = (None, 0, 0);
        self.numbers = self.rng.random();
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent >= 100 || self.rng.random_range(0..100) < percent
    }

    /// A line of any command; most can be carried out.
    fn line(&mut self) -> Line {
        let bad = self.pace.bad;
        let rng = &mut self.rng;
        let spoils = |rng: &mut ChaCha8Rng| rng.random_range(0..100) < bad;
        let mut line: Line =
            std::array::from_fn(|_| if rng.random() { rng.random() } else { random_value::<Bits<32>>(rng).to_u32() });
        let code = *[POST_BUFFER, POST_BUFFER, PUT, GET, SEND_FRAME, SEND_FRAME, NOTHING].choose(rng).expect("a code");
        let spoiled = if spoils(rng) { code ^ 1 << rng.random_range(0..8) } else { code };
        let mut flags = rng.random_range(0..256u32);
        if code == SEND_FRAME {
            flags = rng.random_range(0..4);
            flags ^= u32::from(spoils(rng)) << rng.random_range(2..8);
            let size = rng.random_range(MIN_FRAME as u32..=MAX_FRAME as u32);
            let (start, offset) = (2 * rng.random_range(0..128), 2 * rng.random_range(0..128));
            let end: u32 = start + offset + 2;
            line[WORD_SIZE] = match rng.random_range(0..8) {
                0 => end.max(MIN_FRAME as u32),
                1 => MIN_FRAME as u32,
                2 => MAX_FRAME as u32,
                _ => size,
            };
            let size = &mut line[WORD_SIZE];
            if spoils(rng) {
                *size = match rng.random_range(0..6) {
                    0 => MIN_FRAME as u32 - 1,
                    1 => MAX_FRAME as u32 + 1,
                    2 => end - 1,
                    3 => end - 2,
                    4 => end + 1,
                    _ => *size ^ 1 << rng.random_range(0..32),
                };
            }
            line[WORD_CHECKSUM] = start | offset << 16;
            if spoils(rng) {
                line[WORD_CHECKSUM] ^= 1 << rng.random_range(0..32);
            }
        }
        let mut number: u32 = rng.random_range(0..1 << 16);
        if code == POST_BUFFER {
            number = if rng.random() { number & 0xF3FF } else { number & 0xF000 | (MAILBOXES as u32 - 1) };
            number ^= u32::from(spoils(rng)) << rng.random_range(10..12);
            number = if spoils(rng) { number & 0xF000 | MAILBOXES as u32 } else { number };
            line[WORD_RECORD] &= !15;
            line[WORD_RECORD] |= u32::from(spoils(rng)) << rng.random_range(0..4);
            line[WORD_SIZE] = if spoils(rng) { 0 } else { 1 << rng.random_range(0..32) | line[WORD_SIZE] };
        }
        if code == PUT && rng.random_range(0..4) == 0 {
            // An empty put, or one of a few bytes.
            line[WORD_SIZE] = near(rng, 0, 32, 2) as u32;
        }
        line[WORD_CODE] = u32::from(spoiled) | flags << 8 | number << 16;
        line
    }

    /// The next batch.
    fn batch(&mut self) -> Offer {
        // A few processes, so that rings stop with commands under way, or any.
        let pid = if self.rng.random() { self.rng.random_range(0..64) } else { 21 * self.rng.random_range(0..4) };
        let bad = self.pace.bad;
        let (overrun, error) = (self.chance(bad / 4), self.chance(bad / 4));
        let count = if overrun { 1 } else { *[1, 1, 2, 3, 7, 15, BATCH].choose(&mut self.rng).expect("a count") };
        let lines = (0..count).map(|_| self.line()).collect();
        let first = self.numbers[pid as usize];
        self.numbers[pid as usize] = first.wrapping_add(count as u16);
        let batch = Batch { pid: bits(pid), first: bits(u64::from(first)), last: bits(count as u64 - 1), overrun };
        Offer { batch, error: error && !overrun, lines, taken: 0 }
    }

    /// One cycle with random surroundings.
    fn step(&mut self) {
        let pace = self.pace;
        if self.offer.is_none() && self.chance(pace.offers) {
            self.offer = Some(self.batch());
        }
        if self.rng.random_range(0..50) == 0 {
            self.senders ^= 1 << self.rng.random_range(0..64);
        }
        let flips = if self.pause { 10 } else { 1 };
        self.pause ^= self.chance(flips);
        // A ring works again when none of its commands is under way.
        if self.rng.random_range(0..20) == 0 {
            let stages = &self.stages;
            let next = stages.next.map(|(command, _)| command);
            let posting = stages.posting.map(|(command, _)| command);
            let mut busy = 0;
            for command in stages.waiting.iter().copied().chain(next).chain(stages.job).chain(posting) {
                busy |= 1 << command.pid;
            }
            if let Some(offer) = &self.offer {
                busy |= 1 << offer.batch.pid.to_u64();
            }
            self.stopped &= busy;
        }
        let regions = (self.chance(pace.region), !self.chance(pace.refuses));
        let table = self.chance(pace.table);
        // The command unit uses the table as well, while no command of a ring is under way.
        let stray = self.asked == 0 && self.pause && self.idle() && self.rng.random_range(0..4) == 0;
        let answer = if stray {
            self.seen.strays += 1;
            Some(self.rng.random())
        } else {
            (self.asked > 0 && self.chance(pace.answers)).then(|| !self.chance(pace.refuses))
        };
        let queue = (self.chance(pace.queue), !self.chance(pace.refuses), self.chance(pace.refuses));
        let receivers = match pace.receivers {
            0 => [0; 2].map(|_| self.rng.random_range(0..250) == 0),
            percent => [0; 2].map(|_| self.chance(percent)),
        };
        self.cycle(regions, table, answer, queue, receivers);
    }

    fn idle(&self) -> bool {
        let Stages { next, waiting, job, posting, report, .. } = &self.stages;
        next.is_none() && waiting.is_empty() && job.is_none() && posting.is_none() && report.is_none()
    }

    /// Drives a cycle, compares every output, and moves the stages.
    fn cycle(
        &mut self,
        regions: (bool, bool),
        table: bool,
        answer: Option<bool>,
        queue: (bool, bool, bool),
        receivers: [bool; 2],
    ) {
        let dut = &self.dut;
        let rng = &mut self.rng;
        let cycle = dut.cycle();
        dut.batch.valid.set(self.offer.is_some());
        match &self.offer {
            Some(offer) => {
                dut.batch.payload.set(offer.batch);
                dut.batch.error.set(offer.error);
                let bytes: Vec<u8> = offer.lines[offer.taken].iter().flat_map(|word| word.to_le_bytes()).collect();
                dut.batch.line.set(&bytes);
            }
            None => {
                dut.batch.payload.set(random_bits::<Batch>(rng));
                dut.batch.error.set(rng.random::<bool>());
            }
        }
        dut.pause.set(self.pause);
        dut.senders.set(self.senders);
        dut.region.done.set(regions.0);
        dut.region.ok.set(regions.1);
        dut.request.ready.set(table);
        let noise: TableResult = random_bits(rng);
        dut.table_result.valid.set(answer.is_some());
        dut.table_result.payload.set(TableResult { hit: answer.unwrap_or(noise.hit), ..noise });
        dut.queue_command.done.set(queue.0);
        dut.queue_command.ok.set(queue.1);
        dut.queue_command.small.set(queue.2);
        dut.put.ready.set(receivers[0]);
        dut.frame.ready.set(receivers[1]);
        dut.eval();
        // Whether a ring is stopped is known in the cycle in which its process is named.
        let named = dut.batch.current_pid.number();
        let stops = self.stopped >> named & 1 != 0;
        dut.batch.stopped.set(stops);
        dut.eval();
        let at = format!("cycle {cycle}");
        let stages = &mut self.stages;
        assert_eq!(
            dut.report.offered().map(|word| (dut.report_pid.number(), word.to_u64())),
            stages.report.take(),
            "{at}"
        );
        let idle = stages.next.is_none() && stages.waiting.is_empty() && stages.job.is_none();
        assert_eq!(dut.idle.is_high(), idle && stages.posting.is_none() && !dut.report.valid.is_high(), "{at}");

        // A command begins.
        let begins = self.offer.is_some() && stages.next.is_none() && !self.pause;
        let (mut begun, mut ends_batch, mut takes_line) = (None, false, false);
        if let Some(offer) = self.offer.as_mut().filter(|_| begins) {
            let line = offer.lines[offer.taken];
            let pid = offer.batch.pid.to_u64();
            let error = match (offer.batch.overrun, offer.error) {
                (true, _) => doorbell_error::BAD_ARGUMENT,
                (_, true) => doorbell_error::HOST_ERROR,
                _ => Command::judge(pid, &line, self.senders),
            };
            let number = (offer.batch.first.to_u64() as u16).wrapping_add(offer.taken as u16);
            offer.taken += 1;
            ends_batch = offer.taken == offer.lines.len();
            takes_line = !offer.batch.overrun;
            begun = Some(Command { pid, number, last: ends_batch, line, error });
        }
        assert_eq!((dut.batch.ready.is_high(), dut.batch.line_ready.is_high()), (ends_batch, takes_line), "{at}");

        // Its memory is checked, and the table is asked.
        let unchecked = stages.next.filter(|(_, checked)| !checked).map(|(command, _)| command);
        let mut query = dut.region.valid.is_high().then(|| dut.region.payload.get());
        if let Some(query) = query.as_mut().filter(|query| !query.has_record) {
            query.record = bits(0u64);
        }
        assert_eq!(query, unchecked.map(|command| command.region()), "{at}");
        if let Some((command, checked)) = stages.next.as_mut().filter(|next| !next.1 && regions.0) {
            *checked = true;
            if !regions.1 {
                command.error = doorbell_error::OUT_OF_REGION;
            }
        }
        let room = stages.waiting.len() < WAITING;
        let asks = stages.next.filter(|(_, checked)| *checked && room).map(|(command, _)| command);
        self.seen.full += u32::from(!room);
        let mut request = dut.request.offered();
        if let (Some(request), Some(command)) = (&mut request, asks) {
            if command.code() != POST_BUFFER {
                (request.mailbox, request.generation) = (command.request().mailbox, command.request().generation);
            }
        }
        assert_eq!(request, asks.map(|command| command.request()), "{at}");

        // The command that is with its receiver.
        let mut ends: Option<(Command, u32)> = None;
        // A put or frame is given up: its ring begins again with that command.
        let mut leaves = false;
        let mut posted = false;
        let (mut post, mut put, mut frame) = (None, None, None);
        if let Some((command, waits)) = stages.posting {
            let code = command.code();
            let (taken, error) = match code {
                POST_BUFFER => {
                    post = Some(command.post());
                    let error = match queue {
                        (_, _, true) => doorbell_error::BAD_ARGUMENT,
                        (_, false, _) => doorbell_error::NO_SLOT,
                        _ => doorbell_error::NONE,
                    };
                    (queue.0, error)
                }
                _ => {
                    let taken = receivers[usize::from(code == SEND_FRAME)];
                    if code == SEND_FRAME {
                        frame = Some(command.frame());
                    } else {
                        put = Some(command.put());
                    }
                    let late = waits + 1 == PATIENCE;
                    leaves = late && !taken;
                    self.seen.given_up += u32::from(leaves);
                    (taken || late, doorbell_error::NONE)
                }
            };
            if taken {
                ends = Some((command, error));
                posted = code == POST_BUFFER && error == doorbell_error::NONE;
                let count = match code {
                    POST_BUFFER => &mut self.seen.posted,
                    SEND_FRAME => &mut self.seen.sent,
                    _ => &mut self.seen.put,
                };
                *count += u32::from(error == doorbell_error::NONE && !leaves);
            }
        }
        let found = dut.queue_command.valid.is_high().then(|| dut.queue_command.payload.get());
        assert_eq!(found, post, "{at}");
        let mut found = dut.put.offered();
        if let Some(put) = &mut found {
            if put.op.to_u64() == u64::from(put_op::GET) {
                put.host_address = bits(0u64);
            } else {
                (put.reply_addr, put.reply_off) = (bits(0u64), bits(0u64));
            }
        }
        assert_eq!(found, put, "{at}");
        let mut found = dut.frame.offered();
        if let Some(frame) = found.as_mut().filter(|frame| !frame.checksum.wanted) {
            frame.checksum = FrameChecksum::default();
        }
        assert_eq!(found, frame, "{at}");
        assert_eq!(dut.buffer_posted.is_high(), posted, "{at}");

        // The command that is ready goes on when no other is with its receiver.
        let mut starts = None;
        let mut discarded = None;
        if let Some(job) = stages.job {
            assert_eq!(named, job.pid, "{at}");
            if stages.posting.is_none() {
                if stops {
                    discarded = Some(job);
                    self.seen.discarded += 1;
                } else if job.error != 0 || job.code() == NOTHING {
                    ends = Some((job, job.error));
                    self.seen.nothing += u32::from(job.error == 0);
                } else {
                    starts = Some(job);
                }
            }
        }
        let failed = ends.filter(|(_, error)| *error != 0 || leaves).map(|(command, _)| command);
        let found = dut.batch.halt.is_high().then(|| (dut.batch.halt_pid.number(), dut.batch.halt_at.number()));
        assert_eq!(found, failed.map(|command| (command.pid, u64::from(command.number))), "{at}");
        assert_eq!(dut.batch.halt_again.is_high(), leaves, "{at}");
        let over = ends.map(|(command, _)| command).or(discarded);
        assert_eq!(dut.batch.done.is_high(), over.is_some_and(|command| command.last), "{at}");

        // The stages move.
        if let Some((command, error)) = ends {
            self.seen.errors[error as usize] += 1;
            let fails = failed.is_some();
            let done = if fails { command.number } else { command.number.wrapping_add(1) };
            if fails || command.last {
                stages.report = Some((command.pid, u64::from(error) << 16 | u64::from(done)));
            }
            if fails {
                self.stopped |= 1 << command.pid;
            }
        }
        let free = stages.job.is_none();
        stages.job = stages.job.filter(|_| stages.posting.is_some());
        stages.posting = match stages.posting {
            Some((command, waits)) if ends.is_none() => Some((command, waits + 1)),
            _ => starts.map(|command| (command, 0)),
        };
        if free && !stages.waiting.is_empty() && !stages.answers.is_empty() {
            let (mut command, hit) = (stages.waiting.pop_front().unwrap(), stages.answers.pop_front().unwrap());
            if command.error == 0 && command.code() == POST_BUFFER && !hit {
                command.error = doorbell_error::NO_MAILBOX;
            }
            stages.job = Some(command);
        }
        if let Some(hit) = answer.filter(|_| self.asked > 0) {
            stages.answers.push_back(hit);
            self.asked -= 1;
        }
        if asks.is_some() && table {
            stages.waiting.extend(asks);
            stages.next = None;
            self.asked += 1;
        }
        if let Some(command) = begun {
            stages.next = Some((command, command.error != 0 || !command.names_memory()));
        }
        if ends_batch {
            self.offer = None;
        }
        dut.tick();
    }
}

#[test]
fn random_commands_are_the_models() {
    run_with_wave_on_failure("ring_posts_random", |wave| {
        let mut bench = Bench::new(wave);
        for round in 0..24 {
            bench.pace = PACES[round % PACES.len()];
            for _ in 0..share(6_000) {
                bench.step();
            }
            if round % 5 == 4 {
                bench.reset();
            }
        }
        let seen = &bench.seen;
        let counts = [seen.posted, seen.put, seen.sent, seen.nothing, seen.discarded, seen.strays, seen.full];
        assert!(counts.iter().all(|count| *count > 100), "{seen:?}");
        assert!(seen.given_up > 3, "{seen:?}");
        let possible = [
            doorbell_error::UNSUPPORTED,
            doorbell_error::NO_MAILBOX,
            doorbell_error::NO_SLOT,
            doorbell_error::BAD_ARGUMENT,
            doorbell_error::HOST_ERROR,
            doorbell_error::OUT_OF_REGION,
            doorbell_error::NO_RIGHT,
        ];
        assert!(possible.iter().all(|error| seen.errors[*error as usize] > 10), "{seen:?}");
    });
}

/// A batch of commands of one process that can be carried out.
fn batch_of(pid: u64, lines: Vec<Line>) -> Offer {
    let batch = Batch { pid: bits(pid), first: bits(0u64), last: bits(lines.len() as u64 - 1), overrun: false };
    Offer { batch, error: false, lines, taken: 0 }
}

/// An empty put, an empty get, and a frame.
fn lines() -> [Line; 3] {
    [PUT, GET, SEND_FRAME].map(|code| {
        let mut line = [0; WORDS];
        line[WORD_CODE] = code.into();
        line[WORD_SIZE] = if code == SEND_FRAME { 60 } else { 0 };
        line
    })
}

/// A put, get or frame takes two cycles.
#[test]
fn cycles_of_a_command() {
    run_with_wave_on_failure("ring_posts_cycles", |wave| {
        for line in lines() {
            let mut bench = Bench::new(wave);
            bench.offer = Some(batch_of(5, vec![line; BATCH]));
            let begin = bench.dut.cycle();
            let mut taken: Vec<u64> = vec![];
            while taken.len() < BATCH {
                let answer = (bench.asked > 0).then_some(true);
                let cycle = bench.dut.cycle();
                assert!(cycle - begin < 100, "{taken:?}");
                let before = bench.seen.put + bench.seen.sent;
                bench.cycle((true, true), true, answer, (true, true, false), [true; 2]);
                if bench.seen.put + bench.seen.sent > before {
                    taken.push(cycle);
                }
            }
            assert!(taken.windows(2).all(|pair| pair[1] - pair[0] == 2), "{taken:?}");
        }
    });
}

/// A command that its receiver takes in the last cycle of its patience is carried out; a cycle later its ring is left.
#[test]
fn the_last_cycle_of_patience_counts() {
    run_with_wave_on_failure("ring_posts_patience", |wave| {
        for line in lines() {
            for (waits, taken) in [(PATIENCE - 2, true), (PATIENCE - 1, true), (PATIENCE, false)] {
                let mut bench = Bench::new(wave);
                bench.offer = Some(batch_of(40, vec![line]));
                while bench.offer.is_some() || !bench.idle() {
                    let answer = (bench.asked > 0).then_some(true);
                    let ready = bench.stages.posting.is_some_and(|(_, waited)| waited == waits);
                    bench.cycle((true, true), true, answer, (true, true, false), [ready; 2]);
                }
                let seen = &bench.seen;
                assert_eq!((seen.put + seen.sent, seen.given_up), (u32::from(taken), u32::from(!taken)), "{waits}");
            }
        }
    });
}
