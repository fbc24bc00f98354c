//! The trace ring: when sampled packets passed each stage, on the card itself.

use crate::{Bar, Device, Error, HostMemory, Registers, Result};
use spindle_contract::reasons::{TRACE_COUNT, TRACE_RECORDS};
use spindle_contract::registers::trace::{self, Control, RecordHpu, RecordStages, SampleMask};

/// A cycle in which a packet that was followed passed stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Low half of the card's cycle counter, [`Device::cycle`].
    pub cycle: u32,
    /// Frame sequence number.
    pub frame: u16,
    /// Numbers of the stages in `spindle_contract::reasons::TRACE_POINTS`, ascending.
    pub stages: Vec<usize>,
    /// HPU (cluster × hpus + hpu) of the stages that HPUs have for themselves.
    pub hpu: usize,
}

/// What the ring holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The records, oldest first.
    pub records: Vec<TraceRecord>,
    /// Records that newer ones have overwritten.
    pub lost: u32,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Empties the ring and follows every 2^`shift`-th packet (`shift` at most 15) from its first beat to that of the next one.
    ///
    /// A packet that is still inside when the next is sampled is followed no longer, so a larger `shift` sees more of each.
    pub fn start_trace(&mut self, shift: u32) -> Result<()> {
        self.bar.write(Control::ZERO)?;
        self.bar.write(SampleMask::ZERO.with_sample_mask((1 << shift.min(15)) - 1))?;
        self.bar.write(Control::ZERO.with_follow(true))
    }

    /// Switches the trace off; what it has recorded stays.
    pub fn stop_trace(&mut self) -> Result<()> {
        self.bar.write(Control::ZERO)
    }

    /// What the ring holds. It is frozen meanwhile, so what passes while it is read is not recorded.
    pub fn trace(&mut self) -> Result<Trace> {
        let control: Control = self.bar.read()?;
        self.bar.write(control.with_freeze(true))?;
        let trace = self.trace_since(0);
        self.bar.write(control)?;
        trace
    }

    /// What the ring holds from this record on, while it goes on; the first since [`Device::start_trace`] is record 0.
    /// With the number of records read and lost so far, a program follows the ring and misses nothing, as long as it
    /// reads faster than packets pass.
    pub fn trace_since(&mut self, first: u32) -> Result<Trace> {
        let oldest = |written: u32| written.saturating_sub(TRACE_RECORDS as u32).max(first);
        let written = self.bar.read32(trace::BASE + trace::WRITTEN)?;
        let start = oldest(written);
        let mut records = (start..written).map(|number| self.trace_record(number)).collect::<Result<Vec<_>>>()?;
        if records.is_empty() {
            return Ok(Trace { records, lost: start - first });
        }
        // What was overwritten while it was read is not believed.
        let now = self.bar.read32(trace::BASE + trace::WRITTEN)?;
        if now < written {
            return Err(Error::Implausible(format!(
                "{now} records of its trace after {written}: it was reset meanwhile"
            )));
        }
        let valid = oldest(now).min(written);
        records.drain(..(valid - start) as usize);
        Ok(Trace { records, lost: valid - first })
    }

    fn trace_record(&mut self, number: u32) -> Result<TraceRecord> {
        self.bar.write32(trace::BASE + trace::INDEX, number % TRACE_RECORDS as u32)?;
        let cycle = self.bar.read32(trace::BASE + trace::RECORD_CYCLE)?;
        let passed: RecordStages = self.bar.read()?;
        let hpu: RecordHpu = self.bar.read()?;
        let stages = (0..TRACE_COUNT).filter(|stage| passed.stages() >> stage & 1 == 1).collect();
        Ok(TraceRecord { cycle, frame: passed.frame() as u16, stages, hpu: hpu.record_hpu() as usize })
    }
}
