//! Interrupts: requests of processes and of the card, by vector.
//!
//! | neighbour | ports |
//! |---|---|
//! | RVMA engine | in `ring` (pulse): the event ring of this process requests an interrupt |
//! | HPU array | in `causes`: bit 0 a fault report waits, bit 1 a piece of text waits |
//! | global page | in `route` (pulse), `route_vector`; in `masks`; out `waiting` |
//! | host | out `request`: level; in `acknowledge`: pulses |
//!
//! A request stays until the host acknowledges it. Causes that come before the acknowledgement are one interrupt with
//! it; a cause in the cycle of the acknowledgement, or later, is a new request. So no cause is lost.
//!
//! `ring` → `request`: 3 cycles; one per cycle. `causes` → `request`: 2 cycles, when a cause rises that its mask
//! lets pass, or when the mask opens while the cause is there. After reset the vectors of processes are set to
//! 1 + process modulo 15, which takes 64 cycles; a `route` that comes meanwhile waits, the last one alone.

use spindle_contract::pci::VECTORS;
use spindle_verilog::prelude::*;

use spindle_blocks::ram::LutMemory;

/// The last vector.
const LAST: u64 = VECTORS as u64 - 1;

/// The interrupts. See the module text.
#[block]
pub struct Interrupts {
    /// Process whose event ring requests an interrupt.
    pub ring: PulseSink<Bits<6>>,
    /// Causes of the card's own interrupt.
    pub causes: Signal<In, Bits<2>>,
    /// Causes that count.
    pub masks: Signal<In, Bits<2>>,
    /// Process that gets another vector.
    pub route: PulseSink<Bits<6>>,
    /// That vector.
    pub route_vector: Signal<In, Bits<4>>,
    /// Vectors that are requested.
    pub request: Signal<Out, Bits<VECTORS>>,
    /// Vectors that the host has taken.
    pub acknowledge: Signal<In, Bits<VECTORS>>,
    /// As `request`.
    pub waiting: Signal<Out, Bits<VECTORS>>,
    vectors: LutMemory<Bits<4>, 6>,
    /// The walk after reset, and the vector of the process where it stands.
    walk_over: Reg<Bit>,
    walk_at: Reg<Bits<6>>,
    walk_vector: Reg<Bits<4>>,
    mapping: Reg<Bit>,
    map_pid: DFF<Bits<6>>,
    map_to: DFF<Bits<4>>,
    pid: DFF<Bits<6>>,
    pid_valid: Reg<Bit>,
    vector: DFF<Bits<4>>,
    vector_valid: Reg<Bit>,
    counted: Reg<Bits<2>>,
    rises: Reg<Bit>,
    requested: Reg<Bits<VECTORS>>,
}

impl Interrupts {
    /// The interrupts.
    pub fn new() -> Self {
        Self { walk_vector: Reg::new(bits::<4>(1)), ..Self::blank() }
    }
}

#[hdl]
impl Interrupts {
    fn update(&mut self) {
        // The table.
        let walks = !self.walk_over.q.val();
        if self.route.valid.val() {
            self.mapping.d.next = true;
            self.map_pid.d.next = self.route.val();
            self.map_to.d.next = self.route_vector.val();
        } else if !walks {
            self.mapping.d.next = false;
        }
        self.vectors.write(walks | self.mapping.q.val(), self.map_pid.q.val(), self.map_to.q.val());
        if walks {
            self.vectors.write_address.next = self.walk_at.q.val();
            self.vectors.write_data.next = self.walk_vector.q.val();
            self.walk_at.d.next = self.walk_at.q.val() + 1;
            self.walk_vector.d.next =
                if self.walk_vector.q.val() == bits::<4>(LAST) { bits::<4>(1) } else { self.walk_vector.q.val() + 1 };
            self.walk_over.d.next = self.walk_at.q.val().all();
        }

        // Requests.
        self.pid_valid.d.next = self.ring.valid.val();
        self.pid.d.next = self.ring.val();
        self.vectors.read_address.next = self.pid.q.val();
        self.vector_valid.d.next = self.pid_valid.q.val();
        self.vector.d.next = self.vectors.read_data.val();
        let counted = self.causes.val() & self.masks.val();
        self.counted.d.next = counted;
        self.rises.d.next = (counted & !self.counted.q.val()).any();
        let of_process = repeat::<VECTORS>(self.vector_valid.q.val()) & (bits::<VECTORS>(1) << self.vector.q.val());
        let of_card = bit_cast::<VECTORS, 1>(self.rises.q.val().into());
        self.requested.d.next = (self.requested.q.val() & !self.acknowledge.val()) | of_process | of_card;
        self.request.next = self.requested.q.val();
        self.waiting.next = self.requested.q.val();
    }
}
