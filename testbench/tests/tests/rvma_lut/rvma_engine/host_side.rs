//! The host's side: registers, doorbells, and what memory must look like in the end.

use crate::rvma_lut::rvma_engine::bench::{Bench, PATIENCE};
use spindle_blocks::desc::CsrRequest;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, rvma, PAGE};
use spindle_model::rvma_lut::Rvma;
use spindle_sim::host_memory::SparseMemory;
use spindle_verilog::prelude::bits;
use std::collections::HashMap;

impl Bench {
    /// A register access: the data read and the error flag.
    pub fn csr(&mut self, write: bool, address: u32, data: u32) -> (u32, bool) {
        self.request = Some(CsrRequest { valid: true, write, addr: bits(address), wdata: bits(data) });
        for _ in 0..PATIENCE {
            self.step();
            if let Some(answer) = self.answer.take() {
                return answer;
            }
        }
        panic!("no answer from register {address:#x}");
    }

    /// Only these processes may name everything.
    pub fn trust(&mut self, processes: u64) {
        self.csr(true, rvma::BASE + rvma::UNCHECKED, processes as u32);
        self.csr(true, rvma::BASE + rvma::UNCHECKED + 4, (processes >> 32) as u32);
    }

    /// A counter of the page `rvma`.
    pub fn counter(&mut self, offset: u32) -> u32 {
        let (value, error) = self.csr(false, rvma::BASE + offset, 0);
        assert!(!error, "register {offset:#x} of the page rvma does not exist");
        value
    }

    /// Writes a register of a doorbell page.
    pub fn stage(&mut self, pid: u16, offset: u32, value: u32) {
        let (_, error) = self.csr(true, doorbell::BASE + u32::from(pid) * PAGE + offset, value);
        assert!(!error, "doorbell register {offset:#x} of process {pid} does not exist");
    }

    /// A doorbell command: error and value of RESULT.
    pub fn ring(&mut self, pid: u16, command: u32) -> (u32, u32) {
        self.stage(pid, doorbell::COMMAND, command);
        for _ in 0..20_000 {
            let (result, _) = self.csr(false, doorbell::BASE + u32::from(pid) * PAGE + doorbell::RESULT, 0);
            if result >> 31 == 0 {
                return (result >> 16 & 0xFF, result & 0xFFFF);
            }
        }
        panic!("doorbell command {command} of process {pid} does not end");
    }

    /// A command about an open mailbox: error, VALUE and VALUE_LENGTH.
    pub fn about(&mut self, pid: u16, mailbox: u32, count: u32, command: u32) -> (u32, u64, u32) {
        self.stage(pid, doorbell::MAILBOX, mailbox);
        self.stage(pid, doorbell::COUNT, count);
        let (error, _) = self.ring(pid, command);
        let mut word = |offset| self.csr(false, doorbell::BASE + u32::from(pid) * PAGE + offset, 0).0;
        let (low, high) = (word(doorbell::VALUE_LO), word(doorbell::VALUE_HI));
        (error, u64::from(high) << 32 | u64::from(low), word(doorbell::VALUE_LENGTH))
    }

    /// INIT_WINDOW: the mailbox number, or the error.
    pub fn init_window(&mut self, pid: u16, addr: u64, key: u32, threshold: u32, mode: u32) -> Result<u32, u32> {
        self.stage(pid, doorbell::ADDR_LO, addr as u32);
        self.stage(pid, doorbell::ADDR_HI, (addr >> 32) as u32);
        self.stage(pid, doorbell::KEY, key);
        self.stage(pid, doorbell::THRESHOLD, threshold);
        self.stage(pid, doorbell::MODE, mode);
        match self.ring(pid, doorbell_command::INIT_WINDOW) {
            (0, number) => Ok(number),
            (error, _) => Err(error),
        }
    }

    /// Stages a buffer to be posted.
    pub fn stage_buffer(&mut self, pid: u16, mailbox: u32, base: u64, size: u32, record: u64) {
        self.stage(pid, doorbell::MAILBOX, mailbox);
        self.stage(pid, doorbell::BUFFER_LO, base as u32);
        self.stage(pid, doorbell::BUFFER_HI, (base >> 32) as u32);
        self.stage(pid, doorbell::SIZE, size);
        self.stage(pid, doorbell::RECORD_LO, record as u32);
        self.stage(pid, doorbell::RECORD_HI, (record >> 32) as u32);
    }

    /// POST_BUFFER: the error, if any.
    pub fn post_buffer(&mut self, pid: u16, mailbox: u32, base: u64, size: u32, record: u64) -> Result<(), u32> {
        self.stage_buffer(pid, mailbox, base, size, record);
        match self.ring(pid, doorbell_command::POST_BUFFER) {
            (0, _) => Ok(()),
            (error, _) => Err(error),
        }
    }
}

/// Engine and model side by side.
pub struct Twin {
    pub bench: Bench,
    pub model: Rvma,
    /// What the model expects of each frame.
    pub expected: HashMap<u16, Result<(), usize>>,
    /// Packets that handlers sent here, and which the model placed.
    pub redirected: usize,
    /// Mailbox numbers.
    pub numbers: HashMap<(u16, u64), u32>,
    /// Buffers: base, size, record.
    pub buffers: Vec<(u64, u32, u64)>,
    /// Address of the event ring of each process that has one, and its records so far.
    pub rings: HashMap<u16, (u64, u32)>,
    reported: usize,
    /// Bytes of handler DMA, and of events.
    pub handler_bytes: Vec<(u64, Vec<u8>)>,
}

impl Twin {
    pub fn new(bench: Bench) -> Self {
        Self {
            bench,
            model: Rvma::default(),
            expected: HashMap::new(),
            redirected: 0,
            numbers: HashMap::new(),
            buffers: vec![],
            rings: HashMap::new(),
            reported: 0,
            handler_bytes: vec![],
        }
    }

    /// Opens a mailbox on both sides.
    pub fn open(&mut self, pid: u16, addr: u64, key: u32, threshold: u32) {
        self.open_mode(pid, addr, key, threshold, 0);
    }

    /// Opens a mailbox of that mode.
    pub fn open_mode(&mut self, pid: u16, addr: u64, key: u32, threshold: u32, mode: u32) {
        let number = self.bench.init_window(pid, addr, key, threshold, mode).expect("the table has room");
        self.model.init_window(pid, addr, key, threshold, mode).unwrap();
        self.numbers.insert((pid, addr), number);
    }

    /// Posts a buffer on both sides.
    pub fn post(&mut self, pid: u16, addr: u64, base: u64, size: u32, record: u64) {
        let number = self.numbers[&(pid, addr)];
        assert_eq!(
            self.bench.post_buffer(pid, number, base, size, record),
            self.model.post_buffer(pid, addr, base, size, record)
        );
        self.buffers.push((base, size, record));
    }

    /// Opens the event ring of a process, of so many bytes.
    pub fn open_ring(&mut self, pid: u16, base: u64, bytes: u32) {
        self.bench.stage(pid, doorbell::BUFFER_LO, base as u32);
        self.bench.stage(pid, doorbell::BUFFER_HI, (base >> 32) as u32);
        self.bench.stage(pid, doorbell::SIZE, bytes);
        assert_eq!(self.bench.ring(pid, doorbell_command::OPEN_RING).0, doorbell_error::NONE);
        self.rings.insert(pid, (base, 0));
    }

    /// Expects the events of buffers of this mailbox that ended since the last call.
    pub fn report(&mut self, mailbox: u32) {
        for unfilled in &self.model.unfilled[self.reported..] {
            if let Some((base, count)) = self.rings.get_mut(&unfilled.pid) {
                *count += 1;
                let bytes = unfilled.bytes(mailbox & 0xFFF, *count);
                self.handler_bytes.push((*base + u64::from(*count - 1) * bytes.len() as u64, bytes));
            }
        }
        self.reported = self.model.unfilled.len();
    }

    /// A command about a mailbox, when all packets so far have ended.
    fn about(&mut self, pid: u16, addr: u64, count: u32, command: u32) -> Result<(u64, u32), u32> {
        self.bench.drain();
        match self.bench.about(pid, self.numbers[&(pid, addr)], count, command) {
            (doorbell_error::NONE, value, length) => Ok((value, length)),
            (error, ..) => Err(error),
        }
    }

    /// GET_EPOCH, on both sides.
    pub fn epoch(&mut self, pid: u16, addr: u64) -> Result<u64, u32> {
        let got = self.about(pid, addr, 0, doorbell_command::GET_EPOCH).map(|(epoch, _)| epoch);
        assert_eq!(got, self.model.get_epoch(pid, addr));
        got
    }

    /// GET_BUF_PTRS, on both sides.
    pub fn buf_ptr(&mut self, pid: u16, addr: u64, back: u32) -> Result<(u64, u32), u32> {
        let got = self.about(pid, addr, back, doorbell_command::GET_BUF_PTRS);
        assert_eq!(got, self.model.get_buf_ptr(pid, addr, back as usize));
        got
    }

    /// REWIND, on both sides.
    pub fn rewind(&mut self, pid: u16, addr: u64, back: u32) -> Result<(u64, u32), u32> {
        let got = self.about(pid, addr, back, doorbell_command::REWIND);
        assert_eq!(got, self.model.rewind(pid, addr, back as usize));
        got
    }

    /// INC_EPOCH, on both sides.
    pub fn inc_epoch(&mut self, pid: u16, addr: u64) -> Result<(), u32> {
        let got = self.about(pid, addr, 0, doorbell_command::INC_EPOCH).map(|_| ());
        assert_eq!(got, self.model.inc_epoch(pid, addr));
        self.report(self.numbers[&(pid, addr)]);
        got
    }

    /// CLOSE, on both sides.
    pub fn close(&mut self, pid: u16, addr: u64) -> Result<(), u32> {
        let got = self.about(pid, addr, 0, doorbell_command::CLOSE).map(|_| ());
        assert_eq!(got, self.model.close(pid, addr));
        self.report(self.numbers[&(pid, addr)]);
        self.numbers.remove(&(pid, addr));
        got
    }

    /// A pending message is done, on both sides.
    pub fn pending_end(&mut self, slot: u8, ended: bool) {
        self.bench.agents.pending_end(slot, ended);
        self.model.pending_end(slot, ended);
    }

    /// When all packets so far have ended, as many records are written as the model has.
    pub fn check_records(&mut self, what: &str) {
        self.bench.drain();
        // The count follows the host's answer.
        self.bench.steps(10);
        let written = self.bench.counter(rvma::COMPLETIONS);
        assert_eq!(written as usize, self.model.records.len(), "records: {what}");
    }

    /// Gives a packet to both sides.
    pub fn put(&mut self, put: &spindle_model::rvma_lut::Put, payload_offset: usize) -> u16 {
        let frame = self.bench.put(put, payload_offset);
        let decision = self.model.put(put);
        self.redirected += usize::from(put.redirected && decision.is_ok());
        assert!(self.expected.insert(frame, decision).is_none(), "frame numbers have wrapped");
        frame
    }

    /// Waits for the end and compares everything: refusals, host memory byte for byte, records, their order after the data,
    /// and the counters.
    pub fn finish(self) -> Bench {
        assert!(self.bench.host.keep_log, "the order of records is checked in the log");
        self.finish_unlogged()
    }

    /// The same without the order of records and the number of bursts, which need the log.
    pub fn finish_unlogged(mut self) -> Bench {
        self.bench.drain();
        let bench = &mut self.bench;
        assert_eq!(bench.done.len(), self.expected.len(), "every placement ends exactly once");
        for done in &bench.done {
            let expected = self.expected[&done.frame];
            let got = if done.placed { Ok(()) } else { Err(done.reason) };
            assert_eq!(got, expected, "frame {} ended otherwise than in the model", done.frame);
        }

        let mut memory = SparseMemory::default();
        for (address, byte) in &self.model.memory {
            memory.write(*address, &[*byte]);
        }
        for (address, bytes) in &self.handler_bytes {
            memory.write(*address, bytes);
        }
        for record in &self.model.records {
            memory.write(record.address, &record.bytes());
        }
        let (got, wanted) = (bench.host.memory.nonzero(), memory.nonzero());
        let differs = got.iter().zip(&wanted).position(|(a, b)| a != b).unwrap_or(got.len().min(wanted.len()));
        assert!(
            got == wanted,
            "host memory differs: the first difference is {:x?} instead of {:x?}",
            got.get(differs),
            wanted.get(differs)
        );

        // A record leaves after the last answer for its buffer's data, and nothing follows.
        for (base, size, record) in &self.buffers {
            let range = *base..base + u64::from(*size);
            let data = bench.host.log.iter().filter(|b| b.bytes.iter().any(|(a, _)| range.contains(a)));
            let last = data.map(|b| b.response_cycle).max().unwrap_or(0);
            for burst in bench.host.log.iter().filter(|b| b.bytes.first().is_some_and(|(a, _)| a == record)) {
                assert_eq!(burst.bytes.len(), 16, "a record is one write of 16 bytes");
                assert!(
                    burst.offered_cycle > last,
                    "the record at {record:#x} left in cycle {}, the last answer came in {last}",
                    burst.offered_cycle
                );
            }
        }

        let placed: Vec<_> = bench.done.iter().filter(|d| d.placed).copied().collect();
        assert_eq!(bench.counter(rvma::PLACED_PACKETS), placed.len() as u32);
        assert_eq!(bench.counter(rvma::REFUSED), (self.expected.len() - placed.len()) as u32);
        assert_eq!(bench.counter(rvma::COMPLETIONS), self.model.records.len() as u32);
        if bench.host.keep_log {
            assert_eq!(bench.counter(rvma::DMA_WRITES), bench.host.log.len() as u32);
            assert_eq!(bench.counter(rvma::DMA_ERRORS), bench.host.log.iter().filter(|b| b.failed).count() as u32);
        }
        assert_eq!(bench.counter(rvma::MAILBOXES), self.numbers.len() as u32);
        assert_eq!(bench.counter(rvma::BUFFERS), (self.buffers.len() - self.model.records.len()) as u32);
        assert_eq!(bench.counter(rvma::HANDLER_DMA), bench.dma_done.len() as u32);
        self.bench
    }
}
