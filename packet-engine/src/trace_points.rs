//! The packet engine's trace points: the stages that a frame passed, one cycle later.
//!
//! | neighbour | ports |
//! |---|---|
//! | parser, header matcher, ingress join | in `started`, `parsed`, `matched`, `buffered`: pulses with the frame's number |
//! | scheduler | in `placement`: a pulse with the frame's number; `dispatched`: a task |
//! | egress | in `egress_first`, `egress_last`, `egress_frame`: the first and the last beat of a frame leave |
//! | packet engine's edge | out `valid`, `tags`: points 0 to 4 and 9 to 11 of contract `reasons::TRACE_POINTS`, 16 bits of tag each |
//! | packet engine's edge | out `sent`: the task of point 4, in the same cycle |
//! | registers | out `scheduled`: point 4 |
//!
//! Each pulse is registered here except `started`, which comes with the parser's copy of the first beat, one cycle after the
//! wire's.

use spindle_blocks::{TaskDesc, TaskTrace};
use spindle_verilog::prelude::*;

/// See the head of this file.
#[block]
pub struct TracePoints {
    /// The first beat of a frame is there.
    pub started: PulseSink<Bits<16>>,
    /// A frame has been parsed.
    pub parsed: PulseSink<Bits<16>>,
    /// A frame has been matched with its rule.
    pub matched: PulseSink<Bits<16>>,
    /// The scheduler takes a packet.
    pub buffered: PulseSink<Bits<16>>,
    /// A task leaves.
    pub dispatched: PulseSink<TaskDesc>,
    /// The first beat of a frame leaves.
    pub egress_first: Signal<In, Bit>,
    /// The last beat of a frame leaves.
    pub egress_last: Signal<In, Bit>,
    /// The frame of both.
    pub egress_frame: Signal<In, Bits<16>>,
    /// A placement leaves.
    pub placement: PulseSink<Bits<16>>,
    /// Points that were passed.
    pub valid: Signal<Out, Bits<16>>,
    /// By which frames.
    pub tags: Signal<Out, Bits<256>>,
    /// The task that left in the last cycle.
    pub sent: Signal<Out, TaskTrace>,
    /// A task left in the last cycle.
    pub scheduled: Signal<Out, Bit>,
    parsed_at: Reg<Bit>,
    parsed_tag: DFF<Bits<16>>,
    matched_at: Reg<Bit>,
    matched_tag: DFF<Bits<16>>,
    buffered_at: Reg<Bit>,
    buffered_tag: DFF<Bits<16>>,
    sent_task: Reg<TaskTrace>,
    first_at: Reg<Bit>,
    last_at: Reg<Bit>,
    egress_tag: DFF<Bits<16>>,
    placement_at: Reg<Bit>,
    placement_tag: DFF<Bits<16>>,
}

#[hdl]
impl TracePoints {
    fn update(&mut self) {
        self.parsed_at.d.next = self.parsed.valid.val();
        self.parsed_tag.d.next = self.parsed.val();
        self.matched_at.d.next = self.matched.valid.val();
        self.matched_tag.d.next = self.matched.val();
        self.buffered_at.d.next = self.buffered.valid.val();
        self.buffered_tag.d.next = self.buffered.val();
        let dispatched = self.dispatched.val();
        self.sent_task.d.next = TaskTrace {
            valid: self.dispatched.valid.val(),
            frame: dispatched.frame,
            kind: dispatched.kind,
            slot: dispatched.msg_slot,
            cluster: dispatched.cluster,
            hpu: dispatched.hpu,
        };
        self.first_at.d.next = self.egress_first.val();
        self.last_at.d.next = self.egress_last.val();
        self.egress_tag.d.next = self.egress_frame.val();
        self.placement_at.d.next = self.placement.valid.val();
        self.placement_tag.d.next = self.placement.val();

        let front = (
            self.sent_task.q.val().valid,
            self.buffered_at.q.val(),
            self.matched_at.q.val(),
            self.parsed_at.q.val(),
            self.started.valid.val(),
        )
            .cat::<5>();
        let back = (self.placement_at.q.val(), self.last_at.q.val(), self.first_at.q.val()).cat::<3>();
        self.valid.next = (bits::<4>(0), back, bits::<4>(0), front).cat::<16>();
        let front_tags = (
            self.sent_task.q.val().frame,
            self.buffered_tag.q.val(),
            self.matched_tag.q.val(),
            self.parsed_tag.q.val(),
            self.started.val(),
        )
            .cat::<80>();
        let back_tags = (self.placement_tag.q.val(), self.egress_tag.q.val(), self.egress_tag.q.val()).cat::<48>();
        self.tags.next = (bits::<64>(0), back_tags, bits::<64>(0), front_tags).cat::<256>();
        self.sent.next = self.sent_task.q.val();
        self.scheduled.next = self.sent_task.q.val().valid;
    }
}
