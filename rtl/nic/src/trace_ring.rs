//! The register page `trace`: follows sampled packets, and records the cycles in which each passed a stage.
//!
//! | neighbour | ports |
//! |---|---|
//! | register slave | `csr`, `csr_answer`: an answer comes in the cycle after the request |
//! | engines | in `lanes`, `tags`: the trace ports, lane by lane |
//! | global page | in `cycle`: cycles since reset, low half |
//!
//! Off after reset. A packet whose frame number has zeros under SAMPLE_MASK is followed from its first beat on, until the
//! first beat of the next such packet. Each cycle in which the followed packet passes at least one stage gives one record
//! {HPU, stages, frame, cycle}; stages that are passed in the same cycle share a record. The record is in the ring two cycles
//! later. Nothing is stalled, and no cycle is missed. Records are lost if the ring overwrites them, and a packet that is
//! still inside when the next one is sampled is no longer followed, so the mask must leave a packet the time to leave. For
//! stages that each HPU has, the record names the HPU; if several HPUs work for the packet in the same cycle, the bits of
//! their numbers are OR-ed.

use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_contract::params::Config;
use spindle_contract::reasons::{
    TRACE_COUNT, TRACE_HPU_FIRST, TRACE_HPU_POINTS, TRACE_LANES, TRACE_RECORDS, TRACE_TAG_BITS, T_FIRST_BEAT,
};
use spindle_contract::registers::trace;
use spindle_verilog::prelude::*;

/// Bits of all trace tags.
const TRACE_TAGS: usize = TRACE_LANES * TRACE_TAG_BITS;
/// Bits of a record's number in the ring.
const INDEX_BITS: usize = TRACE_RECORDS.ilog2() as usize;

/// A cycle in which a packet passed stages.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TraceRecord {
    /// Cycles since reset, low half.
    pub cycle: Bits<32>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Stages, by their number in `reasons::TRACE_POINTS`.
    pub stages: Bits<16>,
    /// HPU of those that HPUs have for themselves.
    pub hpu: Bits<5>,
}

/// The ring. See the module text.
#[block]
pub struct TraceRing {
    /// Lanes that fire.
    pub lanes: Signal<In, Bits<TRACE_LANES>>,
    /// Their frames.
    pub tags: Signal<In, Bits<TRACE_TAGS>>,
    /// Cycles since reset, low half.
    pub cycle: Signal<In, Bits<32>>,
    /// Request, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Recording, as bits 0 and 1 of CONTROL.
    control: Reg<Bits<2>>,
    mask: Reg<Bits<16>>,
    follows: Reg<Bit>,
    frame: DFF<Bits<16>>,
    record: DFF<TraceRecord>,
    records: Reg<Bit>,
    ring: SdpMemory<TraceRecord, INDEX_BITS>,
    written: Reg<Bits<32>>,
    index: Reg<Bits<INDEX_BITS>>,
    answer: Reg<CsrResponse>,
    /// Points of each HPU that the packet passes.
    hits: Vec<Signal<Local, Bits<TRACE_HPU_POINTS>>>,
    take: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
    word: Signal<Local, Bits<32>>,
    _hpus: usize,
}

impl TraceRing {
    /// The ring of a NIC of this configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            ring: SdpMemory::new(RamStyle::Block, 1),
            hits: (0..config.total_hpus()).map(|_| Default::default()).collect(),
            _hpus: config.total_hpus(),
            ..Self::blank()
        }
    }
}

#[hdl]
impl TraceRing {
    fn update(&mut self) {
        let lanes = self.lanes.val();
        let tags = self.tags.val();

        // Which packet is followed.
        let control = self.control.q.val();
        let on = control.get_bit(0) & !control.get_bit(1);
        let first = tags.get_bits::<16>(TRACE_TAG_BITS * T_FIRST_BEAT);
        let samples = on & lanes.get_bit(T_FIRST_BEAT) & !(first & self.mask.q.val()).any();
        self.frame.load(samples, first);
        self.follows.d.next = on & (samples | self.follows.q.val());

        // Which stages it passes: its own lanes, and those of the HPUs.
        let now = self.frame.q.val();
        let mut own: Bits<TRACE_COUNT> = bits::<TRACE_COUNT>(0);
        for i in 0..TRACE_COUNT {
            own = own.replace_bit(i, lanes.get_bit(i) & (tags.get_bits::<16>(TRACE_TAG_BITS * i) == now));
        }
        let mut passed: Bits<4> = bits::<4>(0);
        let mut at: Bits<32> = bits::<32>(0);
        for h in 0..self._hpus {
            self.hits[h].next = lanes.get_bits::<4>(TRACE_COUNT + TRACE_HPU_POINTS * h)
                & (
                    tags.get_bits::<16>(TRACE_TAG_BITS * (TRACE_COUNT + TRACE_HPU_POINTS * h + 3)) == now,
                    tags.get_bits::<16>(TRACE_TAG_BITS * (TRACE_COUNT + TRACE_HPU_POINTS * h + 2)) == now,
                    tags.get_bits::<16>(TRACE_TAG_BITS * (TRACE_COUNT + TRACE_HPU_POINTS * h + 1)) == now,
                    tags.get_bits::<16>(TRACE_TAG_BITS * (TRACE_COUNT + TRACE_HPU_POINTS * h)) == now,
                )
                    .cat::<4>();
            passed = passed | self.hits[h].val();
            at = at.replace_bit(h, self.hits[h].val().any());
        }
        let hpu = (
            (at & 0xFFFF_0000).any(),
            (at & 0xFF00_FF00).any(),
            (at & 0xF0F0_F0F0).any(),
            (at & 0xCCCC_CCCC).any(),
            (at & 0xAAAA_AAAA).any(),
        )
            .cat::<5>();
        let stages = own | (bit_cast::<TRACE_COUNT, 4>(passed) << TRACE_HPU_FIRST as u64);
        let watches = on & self.follows.q.val() & stages.any();
        self.records.d.next = samples | watches;
        self.record.d.next = if samples {
            TraceRecord {
                cycle: self.cycle.val(),
                frame: first,
                stages: bits::<16>(1 << T_FIRST_BEAT),
                hpu: bits::<5>(0),
            }
        } else {
            TraceRecord { cycle: self.cycle.val(), frame: now, stages: stages, hpu: hpu }
        };

        // The ring. Switching on begins anew.
        let request = self.csr.val();
        let offset = request.addr.get_bits::<12>(0);
        self.take.next = request.valid & !self.answer.q.val().ack;
        let writes = self.take.val() & request.write;
        let writes_control = writes & (offset == bits::<12>(trace::CONTROL));
        let starts = writes_control & request.wdata.get_bit(0) & !control.get_bit(0);
        let written = self.written.q.val();
        self.ring.write(self.records.q.val(), written.get_bits::<INDEX_BITS>(0), self.record.q.val());
        if starts {
            self.written.d.next = bits::<32>(0);
        } else if self.records.q.val() {
            self.written.d.next = written + 1;
        }
        // It is read while a request stands for the first cycle or more; the driver writes INDEX at least a cycle before.
        self.ring.read(request.valid, self.index.q.val());
        let read = self.ring.read_data.val();

        // The registers.
        self.control.load(writes_control, request.wdata.get_bits::<2>(0));
        self.mask.load(writes & (offset == bits::<12>(trace::SAMPLE_MASK)), request.wdata.get_bits::<16>(0));
        self.index.load(writes & (offset == bits::<12>(trace::INDEX)), request.wdata.get_bits::<INDEX_BITS>(0));
        self.known.next = true;
        self.word.next = bits::<32>(0);
        match offset.to_u32() {
            trace::CONTROL => self.word.next = bit_cast::<32, 2>(control),
            trace::SAMPLE_MASK => self.word.next = bit_cast::<32, 16>(self.mask.q.val()),
            trace::WRITTEN => self.word.next = written,
            trace::INDEX => self.word.next = bit_cast::<32, INDEX_BITS>(self.index.q.val()),
            trace::RECORD_CYCLE => self.word.next = read.cycle,
            trace::RECORD_STAGES => self.word.next = (read.stages, read.frame).cat::<32>(),
            trace::RECORD_HPU => self.word.next = bit_cast::<32, 5>(read.hpu),
            _ => self.known.next = false,
        }
        self.answer.d.next = CsrResponse::default();
        if self.take.val() {
            self.answer.d.next = CsrResponse {
                ack: true,
                error: !self.known.val(),
                rdata: if self.known.val() { self.word.val() } else { bits::<32>(0) },
            };
        }
        self.csr_answer.next = self.answer.q.val();
    }
}
