//! Frames of the contexts that were dropped, by context and reason.
//!
//! | neighbour | ports |
//! |---|---|
//! | ingress join | in `joined`: the record of a frame, which may say that the frame is dropped |
//! | scheduler | in `dropped`: a frame ends as dropped, with its reason and context |
//! | registers | in `read_context`, `read_reason` / out `count`, 2 cycles later, with drops up to 6 cycles before |
//! | registers | out `clearing`: high for 256 cycles after reset, while drops are not counted |
//!
//! A frame is counted if a rule had given it to a context, by the context of that rule. Both sources have their own
//! bank with the reasons that the source can give, so both are taken in the same cycle, and neither stalls. No reason
//! comes from both: the parser's BAD_TRANSPORT is found before the rule, as are all reasons from CONTEXT_DROP_COUNT on.
//! Counts wrap at 2^32.

use spindle_blocks::{JoinTrace, RamStyle, SumBank};
use spindle_contract::descriptors::action;
use spindle_contract::params::Config;
use spindle_contract::reasons;
use spindle_verilog::prelude::*;

/// A reason among those that one source can give.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Reason {
    /// The source can give the reason.
    pub known: Bit,
    /// Its place among them.
    pub place: Bits<4>,
}

/// The reasons of the ingress join, for a frame that a rule has given to a context: 8 places.
#[hdl_fn]
pub fn join_reason(reason: Bits<5>) -> Reason {
    let mut known: Bit = true;
    let mut place: Bits<4> = bits::<4>(0);
    match reason.index() {
        reasons::NO_BUFFER => place = bits::<4>(0),
        reasons::DUPLICATE => place = bits::<4>(1),
        reasons::PSN_WINDOW => place = bits::<4>(2),
        reasons::NO_PEER => place = bits::<4>(3),
        reasons::CONTROL => place = bits::<4>(4),
        _ => known = false,
    }
    Reason { known, place }
}

/// The reasons of the scheduler: its own, and those for which the RVMA engine refuses a placement.
#[hdl_fn]
pub fn end_reason(reason: Bits<5>) -> Reason {
    let mut known: Bit = true;
    let mut place: Bits<4> = bits::<4>(0);
    match reason.index() {
        reasons::NO_CONTEXT => place = bits::<4>(0),
        reasons::NO_MESSAGE_SLOT => place = bits::<4>(1),
        reasons::HANDLER_DROP => place = bits::<4>(2),
        reasons::HANDLER_FAIL => place = bits::<4>(3),
        reasons::NO_MAILBOX => place = bits::<4>(4),
        reasons::BAD_KEY => place = bits::<4>(5),
        reasons::NO_POSTED_BUFFER => place = bits::<4>(6),
        reasons::OUT_OF_BOUNDS => place = bits::<4>(7),
        reasons::UNSUPPORTED => place = bits::<4>(8),
        reasons::HOST_ERROR => place = bits::<4>(9),
        reasons::QUOTA => place = bits::<4>(10),
        reasons::PAUSED => place = bits::<4>(11),
        reasons::MESSAGE_AGED => place = bits::<4>(12),
        reasons::CLOSED => place = bits::<4>(13),
        reasons::STALE_EPOCH => place = bits::<4>(14),
        reasons::BAD_TRANSPORT => place = bits::<4>(15),
        _ => known = false,
    }
    Reason { known, place }
}

/// A dropped frame of a context.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ContextDrop {
    /// Its context.
    pub context: Bits<4>,
    /// Reason of the drop.
    pub reason: Bits<5>,
}

/// See the head of this file.
#[block]
pub struct ContextDrops {
    /// A frame leaves the ingress join.
    pub joined: Signal<In, JoinTrace>,
    /// The scheduler drops a frame.
    pub dropped: PulseSink<ContextDrop>,
    /// Context to read.
    pub read_context: Signal<In, Bits<4>>,
    /// Reason to read.
    pub read_reason: Signal<In, Bits<5>>,
    /// The frames of that context that were dropped for that reason.
    pub count: Signal<Out, Bits<32>>,
    /// The counts are being cleared.
    pub clearing: Signal<Out, Bit>,
    joins: SumBank<7>,
    ends: SumBank<8>,
    /// A drop with its reason among those of its source.
    join_counts: Reg<Bit>,
    join_at: DFF<Bits<7>>,
    end_counts: Reg<Bit>,
    end_at: DFF<Bits<8>>,
    of_join: DFF<Bit>,
    of_end: DFF<Bit>,
    count_reg: DFF<Bits<32>>,
}

impl ContextDrops {
    /// For the device of a configuration.
    pub fn new(config: &Config) -> Self {
        let style = RamStyle::spare(config);
        Self { joins: SumBank::new(style), ends: SumBank::new(style), ..Self::blank() }
    }
}

#[hdl]
impl ContextDrops {
    fn update(&mut self) {
        let joined = self.joined.val();
        let of_context =
            joined.valid & joined.ruled & !joined.reason.get_bit(5) & (joined.action == bits(action::CONTEXT));
        let join_place = join_reason(joined.reason.get_bits::<5>(0));
        self.join_counts.d.next = of_context & joined.dropped & join_place.known;
        self.join_at.d.next = (joined.context, join_place.place.get_bits::<3>(0)).cat::<7>();
        self.joins.add.next = self.join_counts.q.val();
        self.joins.index.next = self.join_at.q.val();
        self.joins.amount.next = bits::<32>(1);

        let dropped = self.dropped.val();
        let end_place = end_reason(dropped.reason);
        self.end_counts.d.next = self.dropped.valid.val() & end_place.known;
        self.end_at.d.next = (dropped.context, end_place.place).cat::<8>();
        self.ends.add.next = self.end_counts.q.val();
        self.ends.index.next = self.end_at.q.val();
        self.ends.amount.next = bits::<32>(1);

        let read_join = join_reason(self.read_reason.val());
        let read_end = end_reason(self.read_reason.val());
        self.joins.read_index.next = (self.read_context.val(), read_join.place.get_bits::<3>(0)).cat::<7>();
        self.ends.read_index.next = (self.read_context.val(), read_end.place).cat::<8>();
        self.of_join.d.next = read_join.known;
        self.of_end.d.next = read_end.known;
        self.count_reg.d.next = if self.of_end.q.val() {
            self.ends.read_sum.val()
        } else if self.of_join.q.val() {
            self.joins.read_sum.val()
        } else {
            bits::<32>(0)
        };
        self.count.next = self.count_reg.q.val();
        self.clearing.next = self.ends.clearing.val();
    }
}
