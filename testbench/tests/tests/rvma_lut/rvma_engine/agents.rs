//! Those who use the host through the engine, played by the bench: readers, issuers of atomics, sources of events.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::rvma_engine::RvmaEnginePorts;
use rvma_lut::RvmaEngine;
use spindle_blocks::bundles::ReadDataSourcePorts;
use spindle_blocks::desc::{CommandIssuer, EventDesc, HostAtomic, HostRead, PendingEnd};
use spindle_contract::descriptors::put_op;
use spindle_harness::Dut;
use spindle_verilog::ports::to_bytes;
use spindle_verilog::prelude::{bits, Packed, SinkPorts};
use std::collections::VecDeque;

/// A descriptor port of the engine: what is queued is offered in order, after random pauses.
pub struct Offers<T: Packed> {
    port: fn(&RvmaEnginePorts) -> &SinkPorts<T>,
    queue: VecDeque<T>,
    offered: bool,
    /// Cycles in which one was taken.
    pub taken: Vec<u64>,
}

impl<T: Packed> Offers<T> {
    fn new(port: fn(&RvmaEnginePorts) -> &SinkPorts<T>) -> Self {
        Self { port, queue: VecDeque::new(), offered: false, taken: vec![] }
    }

    fn drive(&mut self, dut: &Dut<RvmaEngine>, pause: bool) {
        let before = self.offered;
        self.offered |= !self.queue.is_empty() && !pause;
        let port = (self.port)(dut);
        port.valid.set(self.offered);
        if self.offered && !before {
            port.set_bytes(&to_bytes(self.queue[0]));
        }
    }

    fn sample(&mut self, dut: &Dut<RvmaEngine>) {
        if self.offered && (self.port)(dut).moves() {
            self.queue.pop_front();
            self.offered = false;
            self.taken.push(dut.cycle());
        }
    }
}

/// {cluster, hpu, handle} of a handle word, as the descriptors have them.
pub fn issuer(who: u64) -> CommandIssuer {
    CommandIssuer { cluster: bits(who >> 7), hpu: bits(who >> 4 & 7), handle: bits(who & 15) }
}

/// The handle word of an issuer.
pub fn handle_word(issuer: CommandIssuer) -> u64 {
    issuer.cluster.to_u64() << 7 | issuer.hpu.to_u64() << 4 | issuer.handle.to_u64()
}

/// A read that was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Handle word {cluster, hpu, handle} of the tag.
    pub who: u64,
    pub address: u64,
    pub data: Vec<u8>,
    pub error: bool,
    /// Cycles of the first and the last beat.
    pub first: u64,
    pub last: u64,
}

/// A client of the reader.
pub struct Reader {
    pub requests: Offers<HostRead>,
    data: fn(&RvmaEnginePorts) -> &ReadDataSourcePorts<HostRead>,
    beats: Vec<u8>,
    first: u64,
    ready: bool,
    /// Percent of the cycles in which no data are taken.
    pub stall: u32,
    pub answers: Vec<Answer>,
    /// Cycles inside a transfer in which data would have been taken and none were offered.
    pub gaps: u64,
    /// All beats of a transfer have the same error flag.
    pub errors_agree: bool,
    errors: Vec<bool>,
    /// It inserts the checksums that come with its beats.
    inserts: bool,
}

impl Reader {
    fn new(
        request: fn(&RvmaEnginePorts) -> &SinkPorts<HostRead>,
        data: fn(&RvmaEnginePorts) -> &ReadDataSourcePorts<HostRead>,
    ) -> Self {
        Self {
            requests: Offers::new(request),
            data,
            beats: vec![],
            first: 0,
            ready: false,
            stall: 0,
            answers: vec![],
            gaps: 0,
            errors_agree: true,
            errors: vec![],
            inserts: false,
        }
    }

    /// Queues a read.
    pub fn read(&mut self, who: u64, address: u64, length: usize) {
        self.read_to(who, address, length, 0);
    }

    /// Queues a read whose first byte is handed over at this byte of a beat.
    pub fn read_to(&mut self, who: u64, address: u64, length: usize, offset: usize) {
        let (issuer, address, length, offset) = (issuer(who), bits(address), bits(length), bits(offset));
        self.requests.queue.push_back(HostRead { issuer, address, length, offset, ..HostRead::default() });
    }

    fn drive(&mut self, dut: &Dut<RvmaEngine>, pause: bool, stall: bool) {
        self.requests.drive(dut, pause);
        self.ready = !stall;
        (self.data)(dut).ready.set(self.ready);
    }

    fn sample(&mut self, dut: &Dut<RvmaEngine>) {
        self.requests.sample(dut);
        if !self.ready {
            return;
        }
        let data = (self.data)(dut);
        if !data.valid.is_high() {
            self.gaps += u64::from(!self.beats.is_empty());
            return;
        }
        if self.beats.is_empty() {
            self.first = dut.cycle();
        }
        let beat = self.beats.len();
        self.beats.extend(data.bytes());
        let field = dut.put_data_field.get();
        if self.inserts && field.present {
            let at = beat + 2 * field.word.to_u64() as usize;
            self.beats[at..at + 2].copy_from_slice(&field.value.to_u16().to_le_bytes());
        }
        self.errors.push(data.error.is_high());
        if data.last.is_high() {
            let tag = data.tag.get();
            let mut data = std::mem::take(&mut self.beats);
            let (length, offset) = (tag.length.to_u64() as usize, tag.offset.to_u64() as usize);
            assert_eq!(data.len(), (offset + length).next_multiple_of(64), "beats of {length} bytes from {offset} on");
            data.truncate(offset + length);
            data.drain(..offset);
            let errors = std::mem::take(&mut self.errors);
            self.errors_agree &= errors.iter().all(|e| *e == errors[0]);
            self.answers.push(Answer {
                who: handle_word(tag.issuer),
                address: tag.address.to_u64(),
                data,
                error: *errors.last().expect("one per beat"),
                first: self.first,
                last: dut.cycle(),
            });
        }
    }
}

/// An atomic operation.
#[derive(Clone, Copy, Debug)]
pub struct Atomic {
    pub who: u64,
    pub op: u8,
    pub wide: bool,
    pub address: u64,
    pub operand: u64,
    pub compare: u64,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicEnd {
    pub who: u64,
    pub error: bool,
    pub value: u64,
    pub cycle: u64,
}

/// A put of host memory that the initiator is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPut {
    pub op: u8,
    pub node: u8,
    pub src_pid: u16,
    pub dst_pid: u16,
    pub addr: u64,
    pub buf_off: u32,
    pub key: u32,
    pub msg_id: u32,
    pub length: u32,
    pub host_address: u64,
    pub flags: u16,
    pub number: u16,
    pub reply: (u64, u32),
}

/// All of them.
pub struct Agents {
    /// HPU array and initiator.
    pub readers: [Reader; 2],
    pub atomics: Offers<HostAtomic>,
    pub atomic_ends: Vec<AtomicEnd>,
    /// Packet engine and HPU array.
    pub events: [Offers<EventDesc>; 2],
    /// Pending messages that are done.
    pub pending_ends: Offers<PendingEnd>,
    /// Percent of the cycles in which nothing new is offered.
    pub idle: u32,
    /// What the initiator was asked for, and when.
    pub puts: Vec<HostPut>,
    pub put_cycles: Vec<u64>,
    /// Percent of the cycles in which it takes nothing.
    pub put_stall: u32,
    takes_put: bool,
    takes_frame: bool,
    /// Frames that the initiator was handed: it reads them at once.
    pub frames: Vec<(u64, usize)>,
    rng: ChaCha8Rng,
}

impl Agents {
    pub fn new(rng: ChaCha8Rng) -> Self {
        Self {
            readers: [
                Reader::new(|dut| &dut.host_read, |dut| &dut.host_data),
                Reader { inserts: true, ..Reader::new(|dut| &dut.put_read, |dut| &dut.put_data) },
            ],
            atomics: Offers::new(|dut| &dut.host_atomic),
            atomic_ends: vec![],
            events: [Offers::new(|dut| &dut.message_event), Offers::new(|dut| &dut.array_event)],
            pending_ends: Offers::new(|dut| &dut.pending_end),
            idle: 0,
            puts: vec![],
            put_cycles: vec![],
            put_stall: 0,
            takes_put: false,
            takes_frame: false,
            frames: vec![],
            rng,
        }
    }

    /// Queues an atomic operation.
    pub fn atomic(&mut self, a: &Atomic) {
        self.atomics.queue.push_back(HostAtomic {
            issuer: issuer(a.who),
            op: bits(a.op),
            wide: a.wide,
            address: bits(a.address),
            operand: bits(a.operand),
            compare: bits(a.compare),
        });
    }

    /// Queues an event at source 0 (packet engine) or 1 (HPU array).
    pub fn event(&mut self, source: usize, event: EventDesc) {
        self.events[source].queue.push_back(event);
    }

    /// The message of a slot is done.
    pub fn pending_end(&mut self, slot: u8, ended: bool) {
        self.pending_ends.queue.push_back(PendingEnd { msg_slot: bits(slot), frame: bits(0xFACE_u64), ended });
    }

    /// Nothing waits to be offered.
    pub fn idle(&self) -> bool {
        let readers = self.readers.iter().all(|r| r.requests.queue.is_empty() && r.beats.is_empty());
        readers
            && self.pending_ends.queue.is_empty()
            && self.atomics.queue.is_empty()
            && self.events.iter().all(|events| events.queue.is_empty())
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent > 0 && self.rng.random_range(0..100) < percent
    }

    /// Sets the engine's inputs.
    pub fn drive(&mut self, dut: &Dut<RvmaEngine>) {
        for i in 0..2 {
            let (pause, stall) = (self.chance(self.idle), self.chance(self.readers[i].stall));
            self.readers[i].drive(dut, pause, stall);
            let pause = self.chance(self.idle);
            self.events[i].drive(dut, pause);
        }
        let pause = self.chance(self.idle);
        self.atomics.drive(dut, pause);
        let pause = self.chance(self.idle);
        self.pending_ends.drive(dut, pause);
        self.takes_put = !self.chance(self.put_stall);
        dut.host_put.ready.set(self.takes_put);
        self.takes_frame = !self.chance(self.put_stall);
        dut.frame.ready.set(self.takes_frame);
    }

    /// Takes note of what was handed over.
    pub fn sample(&mut self, dut: &Dut<RvmaEngine>) {
        for i in 0..2 {
            self.readers[i].sample(dut);
            self.events[i].sample(dut);
        }
        self.atomics.sample(dut);
        self.pending_ends.sample(dut);
        if let Some(put) = dut.host_put.taken() {
            assert_eq!(put.from_host, put.op.to_u8() != put_op::GET);
            self.put_cycles.push(dut.cycle());
            self.puts.push(HostPut {
                op: put.op.to_u8(),
                node: put.node.to_u8(),
                src_pid: put.src_pid.to_u16(),
                dst_pid: put.dst_pid.to_u16(),
                addr: put.addr.to_u64(),
                buf_off: put.buf_off.to_u32(),
                key: put.key.to_u32(),
                msg_id: put.reply_key.to_u32(),
                length: put.length.to_u32(),
                host_address: put.host_address.to_u64(),
                flags: put.flags.to_u16(),
                number: put.frame.to_u16(),
                reply: (put.reply_addr.to_u64(), put.reply_off.to_u32()),
            });
        }
        if let Some(frame) = dut.frame.taken() {
            self.frames.push((frame.address.to_u64(), frame.length.to_u64() as usize));
            self.readers[1].requests.queue.push_back(frame);
        }
        if let Some(done) = dut.atomic_done.offered() {
            self.atomic_ends.push(AtomicEnd {
                who: handle_word(done.issuer),
                error: done.error,
                value: done.value.to_u64(),
                cycle: dut.cycle(),
            });
        }
    }
}
