//! Router: which block a packet from the link is for, and whether it is whole.
//!
//! | neighbour | ports |
//! |---|---|
//! | aligner | in `beat` |
//! | BAR target | out `request`: beats; out `verdict`: whether a request is to be carried out |
//! | read returns | out `completion` (pulse) |
//! | shell | out `malformed`, `unsupported`, `poisoned` (pulses) |
//!
//! Requests are memory reads, memory writes, and whatever else wants an answer. A write that is poisoned or hits no BAR
//! of the bridge, a message and a packet of an unknown type are dropped here. A request is to be carried out if it has
//! as many DWs as its header says; else it gets no answer, as for every malformed packet. Writes of more than 128 DWs,
//! the largest payload that the core is configured for, are malformed. At most 34 beats of a packet are passed on.
//!
//! `beat` → `request`, `completion`: 0 cycles. A completion never waits.

use super::header::{has_data, kind_of, packet_length, payload_length};
use super::ports::RxBeat;
use spindle_verilog::prelude::*;

/// DWs of the largest payload.
const LARGEST: u64 = 128;
/// Number of the BAR of the registers, and of that of MSI-X.
const REGISTER_BAR: usize = spindle_contract::pci::REGISTER_BAR;
const MSIX_BAR: usize = spindle_contract::pci::MSIX_BAR;

/// A beat of a request.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RequestBeat {
    /// Four DWs.
    pub data: Bits<128>,
    /// Last beat of the packet.
    pub last: Bit,
    /// The registers are hit.
    pub registers: Bit,
    /// The MSI-X table is hit.
    pub msix: Bit,
}

/// A beat of a completion.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CompletionBeat {
    /// Four DWs.
    pub data: Bits<128>,
    /// First beat of the packet.
    pub first: Bit,
    /// Last beat of the packet.
    pub last: Bit,
    /// With `last`: the packet has as many DWs as its header says.
    pub whole: Bit,
}

/// The router. See the module text.
#[block]
pub struct Router {
    /// Aligned packets.
    pub beat: Sink<RxBeat>,
    /// Requests.
    pub request: Source<RequestBeat>,
    /// The oldest request is to be carried out; offered with its last beat.
    pub verdict: Source<Bit>,
    /// Completions.
    pub completion: Pulse<CompletionBeat>,
    /// A packet is not whole.
    pub malformed: Signal<Out, Bit>,
    /// A request has no target.
    pub unsupported: Signal<Out, Bit>,
    /// A write was poisoned.
    pub poisoned: Signal<Out, Bit>,
    to_request: Reg<Bit>,
    to_completion: Reg<Bit>,
    /// DWs that the packet still has, by its header.
    left: DFF<Bits<11>>,
    broken: DFF<Bit>,
}

#[hdl]
impl Router {
    fn update(&mut self) {
        let beat = self.beat.val();
        let valid = self.beat.valid.val();
        let dw0 = beat.data.get_bits::<32>(0);
        let kind = kind_of(dw0);
        let registers = beat.bars.get_bit(REGISTER_BAR);
        let msix = beat.bars.get_bit(MSIX_BAR);
        let hit = registers | msix;
        let poison = kind.write & dw0.get_bit(14);
        let oversize = has_data(dw0) & (payload_length(dw0) > bits::<11>(LARGEST));
        let wanted = kind.read | kind.refused | (kind.write & hit & !poison);
        let to_request = if beat.first { wanted } else { self.to_request.q.val() };
        let to_completion = if beat.first { kind.completion } else { self.to_completion.q.val() };

        // Length.
        let left = if beat.first { packet_length(dw0) } else { self.left.q.val() };
        let here = bit_cast::<11, 2>(beat.top) + 1;
        let broken_before = if beat.first { oversize & !kind.completion } else { self.broken.q.val() };
        let ends_right = left == here;
        let broken = broken_before | if beat.last { beat.cut | !ends_right } else { left <= bits::<11>(4) };
        let whole = !broken;

        // Beats of a packet that is too long are not passed on, but for the last one.
        let pass = to_request & (beat.last | beat.first | !broken);
        let ends = to_request & beat.last;
        let moves = valid & (!pass | self.request.ready.val()) & (!ends | self.verdict.ready.val());
        self.request.next = RequestBeat { data: beat.data, last: beat.last, registers, msix };
        self.request.valid.next = valid & pass & (!ends | self.verdict.ready.val());
        self.verdict.next = whole;
        self.verdict.valid.next = valid & ends & (!pass | self.request.ready.val());
        self.completion.next = CompletionBeat { data: beat.data, first: beat.first, last: beat.last, whole };
        self.completion.valid.next = valid & to_completion;
        self.beat.ready.next = moves | !valid;
        if moves {
            self.to_request.d.next = to_request & !beat.last;
            self.to_completion.d.next = to_completion & !beat.last;
            self.left.d.next = left - 4;
            self.broken.d.next = broken;
        }
        let misses = beat.first & (kind.refused | ((kind.read | kind.write) & !hit));
        self.malformed.next = moves & beat.last & broken & to_request;
        self.unsupported.next = moves & misses;
        self.poisoned.next = moves & beat.first & poison;
    }
}
