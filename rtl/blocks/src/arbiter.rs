//! Round-robin arbitration.

use crate::bundles::FrameSource;
use crate::replicate;
use crate::skid::Slice;
use crate::stream::Beat;
use spindle_verilog::prelude::*;

/// Round-robin choice among N requests, with a lock for packets.
///
/// | ports | meaning |
/// |---|---|
/// | in `request` | bit i = requester i has a request |
/// | in `accept` | the grant of this cycle is used |
/// | in `lock` | together with `accept`: the same requester keeps the grant (its packet goes on) |
/// | out `grant`, `index`, `any` | one-hot, binary, and whether there is a grant |
///
/// The grant is combinational in `request` (6 levels for N = 16, 8 for N = 32) and moves on only with `accept`; the
/// requester granted last has the lowest priority next. While locked, no other requester is granted even if the holder
/// pauses. At most 32 requesters.
#[block(no_default)]
pub struct RoundRobin<const N: usize> {
    /// Requests.
    pub request: Signal<In, Bits<N>>,
    /// The grant of this cycle is used.
    pub accept: Signal<In, Bit>,
    /// With `accept`: the requester keeps the grant.
    pub lock: Signal<In, Bit>,
    /// The grant, one-hot.
    pub grant: Signal<Out, Bits<N>>,
    /// Number of the granted requester.
    pub index: Signal<Out, Bits<8>>,
    /// A requester is granted.
    pub any: Signal<Out, Bit>,
    /// Requesters after the one granted last.
    after_last: Reg<Bits<N>>,
    holder: Reg<Bits<N>>,
    locked: Reg<Bit>,
    /// log2 of N, rounded up.
    _steps: usize,
}

impl<const N: usize> Default for RoundRobin<N> {
    fn default() -> Self {
        assert!(
            (1..=32).contains(&N),
            "RoundRobin: {N} requesters cannot be served in one cycle; use 1 to 32, or a tree of arbiters"
        );
        Self { _steps: N.next_power_of_two().trailing_zeros() as usize, ..Self::blank() }
    }
}

#[hdl]
impl<const N: usize> RoundRobin<N> {
    fn update(&mut self) {
        // Two priority choices side by side: among the requesters after the last grant, and among all.
        let later = self.request.val() & self.after_last.q.val();
        let mut later_seen: Bits<N> = later;
        let mut all_seen: Bits<N> = self.request.val();
        for step in 0..self._steps {
            later_seen = later_seen | (later_seen << (1u64 << step));
            all_seen = all_seen | (all_seen << (1u64 << step));
        }
        let later_after = later_seen << 1;
        let all_after = all_seen << 1;
        let mut choice: Bits<N> = self.request.val() & !all_after;
        let mut after: Bits<N> = all_after;
        if later.any() {
            choice = later & !later_after;
            after = later_after;
        }
        if self.locked.q.val() {
            choice = self.holder.q.val() & self.request.val();
            after = self.after_last.q.val();
        }
        if self.accept.val() & choice.any() {
            self.after_last.d.next = after;
            self.holder.d.next = choice;
            self.locked.d.next = self.lock.val();
        }
        let mut number: Bits<8> = bits::<8>(0);
        for i in 0..N {
            if choice.get_bit(i) {
                number = number | bits::<8>(i);
            }
        }
        self.grant.next = choice;
        self.index.next = number;
        self.any.next = choice.any();
    }
}

/// N streams of 512 bits into one, frame by frame, round robin.
///
/// | ports | neighbour |
/// |---|---|
/// | in `sink_data[i]`, `sink_last[i]` with `sink_tail[i]`, `sink_valid[i]` / out `sink_ready[i]` | sources |
/// | out `source_data`, `source_keep`, `source_last`, `source_valid` / in `source_ready` | sink |
/// | out `source_index` | which input the beat comes from |
///
/// Latency 1 cycle (all outputs towards the sink are registers). One beat per cycle, no bubble inside a frame nor
/// between frames. A frame is never mixed with another; while its source pauses, the output pauses. `sink_ready`
/// follows `source_ready` in the same cycle.
#[block]
pub struct StreamArbiter {
    /// Bytes of each input.
    pub sink_data: Vec<Signal<In, Bits<512>>>,
    /// Last beat of a frame,
    pub sink_last: Vec<Signal<In, Bit>>,
    /// of so many bytes; 0 = all.
    pub sink_tail: Vec<Signal<In, Bits<6>>>,
    /// A beat is offered.
    pub sink_valid: Vec<Signal<In, Bit>>,
    /// The beat is taken.
    pub sink_ready: Vec<Signal<Out, Bit>>,
    /// Bytes.
    pub source: FrameSource,
    /// Input of the beat.
    pub source_index: Signal<Out, Bits<8>>,
    arbiter: RoundRobin<8>,
    output: Slice<TaggedBeat>,
    _n: usize,
}

/// A beat and its input.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TaggedBeat {
    /// The beat.
    pub beat: Beat,
    /// Input.
    pub index: Bits<8>,
}

impl StreamArbiter {
    /// An arbiter for `n` streams, 1 to 8.
    pub fn new(n: usize) -> Self {
        assert!(
            (1..=8).contains(&n),
            "StreamArbiter: {n} streams cannot be joined in one block; use 1 to 8, or a tree"
        );
        Self {
            sink_data: replicate(n),
            sink_last: replicate(n),
            sink_tail: replicate(n),
            sink_valid: replicate(n),
            sink_ready: replicate(n),
            _n: n,
            ..Self::blank()
        }
    }
}

#[hdl]
impl StreamArbiter {
    fn update(&mut self) {
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._n {
            request = request.replace_bit(i, self.sink_valid[i].val());
        }
        self.arbiter.request.next = request;
        let grant = self.arbiter.grant.val();
        let room = self.output.write.ready.val();
        let index = self.arbiter.index.val();
        for i in 0..self._n {
            self.sink_ready[i].next = room & grant.get_bit(i);
        }
        self.arbiter.accept.next = room;
        let number = index.get_bits::<3>(0);
        let last = select(number, self.sink_last.vals());
        let tail = select(number, self.sink_tail.vals());
        self.arbiter.lock.next = !last;
        // The mask is made once, after the choice.
        let partial = last & tail.any();
        let keep = if partial { !(repeat::<64>(true) << tail) } else { repeat::<64>(true) };
        self.output.write.next =
            TaggedBeat { beat: Beat { data: select(number, self.sink_data.vals()), keep, last }, index };
        self.output.write.valid.next = self.arbiter.any.val();
        self.output.read.ready.next = self.source.ready.val();
        self.source.data.next = self.output.read.val().beat.data;
        self.source.keep.next = self.output.read.val().beat.keep;
        self.source.last.next = self.output.read.val().beat.last;
        self.source_index.next = self.output.read.val().index;
        self.source.valid.next = self.output.read.valid.val();
    }
}
