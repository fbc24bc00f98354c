//! Between a cluster whose accesses of context memory are held until they are acknowledged, and the banked memory.

use crate::processor::types::{RemoteAnswer, RemoteRequest};
use crate::types::Access;
use spindle_verilog::prelude::*;

/// One access at a time: asked once, acknowledged with the answer.
///
/// | neighbour | ports |
/// |---|---|
/// | cluster | in `access`, `valid` (held) / out `ack`, `data` |
/// | L2 | out `request`, `request_valid` / in `request_ready`; in `answer`, `answer_valid` |
///
/// Combinational both ways.
#[derive(LogicBlock, Default)]
pub struct L2Port {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Access of the cluster.
    pub access: Signal<In, Access>,
    /// It is wanted.
    pub valid: Signal<In, Bit>,
    /// It is done.
    pub ack: Signal<Out, Bit>,
    /// The word read.
    pub data: Signal<Out, Bits<32>>,
    /// Request.
    pub request: Signal<Out, RemoteRequest>,
    /// There is one.
    pub request_valid: Signal<Out, Bit>,
    /// It is taken.
    pub request_ready: Signal<In, Bit>,
    /// Answer.
    pub answer: Signal<In, RemoteAnswer>,
    /// There is one.
    pub answer_valid: Signal<In, Bit>,
    asked: Reg<Bit>,
}

impl Logic for L2Port {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, asked);
        let access = self.access.val();
        let mut lane: Bits<2> = bits::<2>(0);
        for i in 0..4 {
            if access.strobe.get_bit(3 - i) {
                lane = bits::<2>(3 - i as u64);
            }
        }
        if !access.write {
            lane = bits::<2>(0);
        }
        let mut last: Bits<2> = bits::<2>(3);
        if access.write {
            for i in 0..4 {
                if access.strobe.get_bit(i) {
                    last = bits::<2>(i as u64);
                }
            }
        }
        self.request.next = RemoteRequest {
            far: true,
            write: access.write,
            address: access.address | bit_cast::<20, 2>(lane),
            size_less_one: last - lane,
            data: access.data >> (bit_cast::<5, 2>(lane) << 3),
            ..Default::default()
        };
        self.request_valid.next = self.valid.val() & !self.asked.q.val();
        if self.answer_valid.val() {
            self.asked.d.next = false;
        } else if self.valid.val() & self.request_ready.val() {
            self.asked.d.next = true;
        }
        self.ack.next = self.answer_valid.val();
        self.data.next = self.answer.val().data;
    }
}
