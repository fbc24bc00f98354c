//! The trace ring alone, against a memory of records that a model makes of the lanes: any lane and frame in any cycle, any access of
//! its page, resets.

use crate::nic::blocks::Slave;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::CsrRequest;
use spindle_contract::params::Config;
use spindle_contract::reasons::{trace_lanes, TRACE_LANES, TRACE_RECORDS, T_FIRST_BEAT};
use spindle_contract::registers::trace;
use spindle_harness::{near, run_with_wave_on_failure, share, Dut};
use spindle_nic::TraceRing;
use spindle_verilog::prelude::bits;
use std::collections::BTreeSet;

/// A NIC with as many HPUs as there are lanes for.
const LARGE: Config = Config { clusters: 8, ..Config::SIM };
const REGISTERS: [u32; 7] = [
    trace::CONTROL,
    trace::SAMPLE_MASK,
    trace::WRITTEN,
    trace::INDEX,
    trace::RECORD_CYCLE,
    trace::RECORD_STAGES,
    trace::RECORD_HPU,
];

/// A cycle in which the followed frame passed stages.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    cycle: u32,
    frame: u16,
    stages: u16,
    hpu: u32,
}

/// Inputs of a cycle but for the register access: lanes that fire, the frame of each lane, the time.
struct Inputs {
    fires: [bool; TRACE_LANES],
    tags: [u16; TRACE_LANES],
    cycle: u32,
}

struct Model {
    hpus: usize,
    control: trace::Control,
    mask: u16,
    followed: Option<u16>,
    /// The record of the last cycle.
    fresh: Option<Record>,
    /// What was ever written; what a memory has at the start is not known.
    ring: [Option<Record>; TRACE_RECORDS],
    written: u32,
    index: usize,
    /// The record that was read while an access stood.
    read: Option<Record>,
}

impl Model {
    fn new(hpus: usize) -> Self {
        Model {
            hpus,
            control: trace::Control(0),
            mask: 0,
            followed: None,
            fresh: None,
            ring: [None; TRACE_RECORDS],
            written: 0,
            index: 0,
            read: None,
        }
    }

    fn records(&self) -> bool {
        self.control.follow() && !self.control.freeze()
    }

    /// Error and word of a register.
    fn read(&self, offset: u32) -> (bool, Option<u64>) {
        let word = match offset {
            trace::CONTROL => Some(self.control.0.into()),
            trace::SAMPLE_MASK => Some(self.mask.into()),
            trace::WRITTEN => Some(self.written.into()),
            trace::INDEX => Some(self.index as u64),
            trace::RECORD_CYCLE => self.read.map(|record| record.cycle.into()),
            trace::RECORD_STAGES => self.read.map(|r| u64::from(r.stages) << 16 | u64::from(r.frame)),
            trace::RECORD_HPU => self.read.map(|record| record.hpu.into()),
            _ => return (true, Some(0)),
        };
        (false, word)
    }

    /// The record of a cycle.
    fn record(&self, inputs: &Inputs) -> Option<Record> {
        if !self.records() {
            return None;
        }
        if let Some(frame) = self.sample(inputs) {
            return Some(Record { cycle: inputs.cycle, frame, stages: 1 << T_FIRST_BEAT, hpu: 0 });
        }
        let frame = self.followed?;
        let (mut stages, mut hpu) = (0, 0);
        for (lane, (point, unit)) in trace_lanes().enumerate() {
            if inputs.fires[lane] && inputs.tags[lane] == frame && unit < self.hpus {
                stages |= 1 << point;
                hpu |= unit as u32;
            }
        }
        (stages != 0).then_some(Record { cycle: inputs.cycle, frame, stages, hpu })
    }

    /// The frame that is followed from this cycle on.
    fn sample(&self, inputs: &Inputs) -> Option<u16> {
        let first = inputs.tags[T_FIRST_BEAT];
        (self.records() && inputs.fires[T_FIRST_BEAT] && first & self.mask == 0).then_some(first)
    }

    /// Goes to the next cycle; `stands` an access, `write` is one that is seen.
    fn step(&mut self, inputs: &Inputs, stands: bool, write: Option<(u32, u32)>) {
        if stands {
            self.read = self.ring[self.index];
        }
        let record = self.record(inputs);
        let followed = self.sample(inputs).or(self.followed);
        self.followed = followed.filter(|_| self.records());
        if let Some(record) = std::mem::replace(&mut self.fresh, record) {
            self.ring[self.written as usize % TRACE_RECORDS] = Some(record);
            self.written += 1;
        }
        match write {
            Some((trace::CONTROL, word)) => {
                let control = trace::Control(word & 3);
                if control.follow() && !self.control.follow() {
                    self.written = 0;
                }
                self.control = control;
            }
            Some((trace::SAMPLE_MASK, word)) => self.mask = word as u16,
            Some((trace::INDEX, word)) => self.index = word as usize % TRACE_RECORDS,
            _ => {}
        }
    }

    /// A reset: the memory keeps its words, and gets the record that is on its way.
    fn reset(&mut self) {
        if let Some(record) = self.fresh {
            self.ring[self.written as usize % TRACE_RECORDS] = Some(record);
        }
        *self = Model { ring: self.ring, ..Model::new(self.hpus) };
    }
}

/// An access of any register: the records, and the rest.
fn access(rng: &mut ChaCha8Rng, model: &Model) -> CsrRequest {
    let offset = REGISTERS[rng.random_range(0..REGISTERS.len())];
    let write = match offset {
        // The ring fills between two starts.
        trace::CONTROL => rng.random_bool(0.06),
        trace::SAMPLE_MASK | trace::INDEX => rng.random_bool(0.6),
        _ => rng.random_bool(0.05),
    };
    let word = match offset {
        trace::CONTROL => [1, 1, 1, 1, 0, 2, 3][rng.random_range(0..7)] | rng.random::<u32>() & !3,
        trace::SAMPLE_MASK => {
            let mask = [0u16, 1, 7, 0x5500, 0x8000, rng.random()][rng.random_range(0..6)];
            u32::from(mask) | rng.random::<u32>() << 16
        }
        // Often a record that was just written, or is about to be.
        trace::INDEX if rng.random() => model.written.wrapping_add(rng.random_range(0..4)).wrapping_sub(3),
        _ => rng.random(),
    };
    let addr = near(rng, u64::from(trace::BASE + offset), 12, 12);
    CsrRequest { valid: true, write, addr: bits(addr), wdata: bits(word) }
}

fn plays(name: &str, config: &Config, top: &str) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, TraceRing::new(config), top);
        let mut model = Model::new(config.total_hpus());
        let mut slave = Slave::default();
        let (mut records, mut compared, mut most, mut starts) = (0, 0, 0, 0);
        let mut hpus = BTreeSet::new();
        for cycle in 0..share(60_000) {
            if cycle % 7000 == 6999 {
                slave.request(&mut rng, &dut.csr, None);
                if slave.request.is_none() {
                    dut.reset();
                    model.reset();
                }
            }
            // Phases with few, more and many stages; in all of them a frame is followed for a while.
            let density = [0.002, 0.02, 0.2][cycle / 300 % 3];
            let frame = model.followed.unwrap_or_else(|| rng.random());
            let mut inputs = Inputs { fires: [false; TRACE_LANES], tags: [0; TRACE_LANES], cycle: rng.random() };
            for (fires, tag) in inputs.fires.iter_mut().zip(&mut inputs.tags) {
                *fires = rng.random_bool(density);
                *tag = match rng.random_range(0..4) {
                    0 => rng.random(),
                    1 => near(&mut rng, frame.into(), 16, 1) as u16,
                    _ => frame,
                };
            }
            inputs.fires[T_FIRST_BEAT] = rng.random_bool(0.05);
            if inputs.fires[T_FIRST_BEAT] && rng.random() {
                let selected = rng.random::<u16>() & !model.mask;
                inputs.tags[T_FIRST_BEAT] = near(&mut rng, selected.into(), 16, 3) as u16;
            }
            dut.lanes.set_bytes(&packed(&inputs.fires));
            dut.tags.set_bytes(&inputs.tags.map(u16::to_le_bytes).concat());
            dut.cycle.set(inputs.cycle);
            let next = rng.random_bool(0.5).then(|| access(&mut rng, &model));
            slave.request(&mut rng, &dut.csr, next);
            dut.eval();

            let stands = slave.request.is_some();
            let seen = slave.seen(dut.csr_answer.get());
            let mut write = None;
            if let Some(request) = seen {
                let offset = request.addr.to_u64() as u32 - trace::BASE;
                let (error, word) = model.read(offset);
                slave.due = Some((error, word.filter(|_| error || !request.write)));
                write = request.write.then(|| (offset, request.wdata.to_u64() as u32));
                compared += usize::from(offset >= trace::RECORD_CYCLE && word.is_some() && !request.write);
            }
            starts +=
                usize::from(matches!(write, Some((trace::CONTROL, word)) if word & 1 == 1) && !model.control.follow());
            model.step(&inputs, stands, write);
            if let Some(record) = model.fresh {
                records += 1;
                hpus.insert(record.hpu);
            }
            most = most.max(model.written);
            dut.tick();
        }
        let all = hpus.len() == config.total_hpus();
        assert!(all && most > 520 && starts > 3, "{hpus:?}, {records} records, at most {most}, {starts} starts");
        assert!(records > 3000 && compared > 800, "{records} records, {compared} that were read");
    });
}

/// Bits as bytes, the first in the lowest bit.
fn packed(values: &[bool]) -> Vec<u8> {
    values.chunks(8).map(|byte| byte.iter().rev().fold(0, |bits, bit| bits << 1 | u8::from(*bit))).collect()
}

#[test]
fn records_are_the_models() {
    plays("trace_ring_random", &Config::SIM, "trace_ring");
}

#[test]
fn records_of_32_hpus_are_the_models() {
    plays("trace_ring_random_32", &LARGE, "trace_ring_32");
}
