//! Interrupts: requests of the NIC as user interrupts of the XDMA.
//!
//! | neighbour | ports |
//! |---|---|
//! | NIC | in `request`: level; out `acknowledge`: pulses (`docs/interfaces.md`, Interrupts) |
//! | XDMA | out `usr_irq_req`: level; in `usr_irq_ack`: pulses; in `msix_enable` |
//! | shell page | out `pending`: vectors that were taken from the NIC and that the XDMA has not acknowledged |
//!
//! Runs on the XDMA's clock. A request is taken when MSI-X is enabled: it is acknowledged to the NIC **before** the
//! message is sent, so a cause that comes while the message is on its way is a request of its own. Acknowledged after the
//! message, a cause between the two would be merged with a message that the host may have served already.
//!
//! What was taken is pending until `usr_irq_ack`, and `usr_irq_req` is high while it is pending and MSI-X is enabled. So
//! `msix_enable` = 0 withdraws the request and forgets nothing: it rises again with `msix_enable`. An acknowledgement of a
//! vector that is not requested has no effect.
//!
//! After its acknowledgement a vector rests, so that the XDMA sees the request fall and a storm of causes is thinned; if
//! the NIC requests it still or again, the next message follows.
//!
//! | what | cycles |
//! |---|---|
//! | `request` → `acknowledge`, `usr_irq_req` | 1 |
//! | `usr_irq_ack` → `usr_irq_req` low | 1 |
//! | `usr_irq_ack` → the next `usr_irq_req` of the vector | `2^rest` to `2 * 2^rest`, plus 2 (16 to 32) |
//! | `acknowledge` high | `stretch`: cycles of this clock in one of the NIC's clock |

use spindle_contract::pci::VECTORS;
use spindle_verilog::prelude::*;

/// Logarithm of the cycles of a rest.
pub const REST: u32 = 4;

/// The interrupts. See the module text.
#[block(no_default)]
pub struct IrqBridge {
    /// Vectors that the NIC requests.
    pub request: Signal<In, Bits<VECTORS>>,
    /// Vectors that were taken.
    pub acknowledge: Signal<Out, Bits<VECTORS>>,
    /// Vectors that the XDMA is to send.
    pub usr_irq_req: Signal<Out, Bits<VECTORS>>,
    /// Vectors that the XDMA has sent.
    pub usr_irq_ack: Signal<In, Bits<VECTORS>>,
    /// The host has enabled MSI-X.
    pub msix_enable: Signal<In, Bit>,
    /// Vectors on their way.
    pub pending: Signal<Out, Bits<VECTORS>>,
    held: Reg<Bits<VECTORS>>,
    asked: Reg<Bits<VECTORS>>,
    acknowledged: Reg<Bits<VECTORS>>,
    /// Cycles of the acknowledgements that are left.
    stretched: Reg<Bits<3>>,
    /// Vectors at rest; both fall with two ticks.
    resting: Reg<Bits<VECTORS>>,
    resting_longer: Reg<Bits<VECTORS>>,
    tick: Reg<Bits<8>>,
    _stretch: u64,
    _rest: u32,
}

impl Default for IrqBridge {
    fn default() -> Self {
        Self::new(1, REST)
    }
}

impl IrqBridge {
    /// For a NIC whose clock has `stretch` cycles of this one (1 to 4, its edges together with edges of this one), with
    /// rests of 2^`rest` cycles (3 to 8).
    pub fn new(stretch: u64, rest: u32) -> Self {
        assert!((1..=4).contains(&stretch), "IrqBridge: a stretch of {stretch} cycles is not possible; choose 1 to 4");
        assert!((3..=8).contains(&rest), "IrqBridge: rests of 2^{rest} cycles are not possible; choose 3 to 8");
        Self { _stretch: stretch, _rest: rest, ..Self::blank() }
    }
}

#[hdl]
impl IrqBridge {
    fn update(&mut self) {
        let enabled = repeat::<VECTORS>(self.msix_enable.val());
        // Acknowledgements to the NIC are given together, and for `stretch` cycles.
        let gives = self.stretched.q.val().any();
        let free = repeat::<VECTORS>(!gives) & !self.held.q.val() & !self.resting.q.val() & !self.acknowledged.q.val();
        let takes = self.request.val() & enabled & free;
        let sent = self.asked.q.val() & self.usr_irq_ack.val();
        self.held.d.next = (self.held.q.val() | takes) & !sent;
        self.asked.d.next = ((self.held.q.val() & !sent) | takes) & enabled;
        self.usr_irq_req.next = self.asked.q.val();
        self.pending.next = self.held.q.val();

        self.acknowledge.next = self.acknowledged.q.val();
        if gives {
            self.stretched.d.next = self.stretched.q.val() - 1;
        } else {
            self.acknowledged.d.next = takes;
            self.stretched.d.next = if takes.any() { bits::<3>(self._stretch - 1) } else { bits::<3>(0) };
        }

        self.tick.d.next = self.tick.q.val() + 1;
        let ticks = !(self.tick.q.val() << (8 - self._rest) as u64).any();
        if ticks {
            self.resting_longer.d.next = sent;
            self.resting.d.next = (self.resting.q.val() & self.resting_longer.q.val()) | sent;
        } else {
            self.resting_longer.d.next = self.resting_longer.q.val() | sent;
            self.resting.d.next = self.resting.q.val() | sent;
        }
    }
}
