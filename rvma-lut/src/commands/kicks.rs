//! Kicks: reads the shadow lines of processes that wrote KICK, and applies their pointers (contract, `shadow`).
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `shadow` (held); out `shadow_done` (pulse) |
//! | doorbell | in `kick` (pulse); in `blocked`: the doorbell writes a pointer in this cycle |
//! | ring reads | out `read`; in `line`, `line_error` (no ready) |
//! | command rings, event rings, moderation | out `tail`, `head`, `arm` (pulses) |
//!
//! A process is marked by its kick, and unmarked when the read of its line is issued; so a kick after that leads to
//! another read, and kicks before are one. Marked processes are served in turn, one read at a time: `kick` → `read` 2
//! cycles if no process is marked, up to 63 more for the search, and one host latency for each process before it.
//! `line` → `tail`, `head`: 1 cycle, plus the cycles in which the doorbell writes a pointer. The two pointers of a line
//! are applied together. A line that the host does not let the card read changes nothing.
//!
//! A shadow line is named or removed while no read is under way, so that the process may reuse the memory.

use crate::prelude::*;
use spindle_contract::descriptors::client;
use spindle_contract::shadow::{BYTES, WORD_EVENT_HEAD, WORD_RING_TAIL};

/// Zero bits of the address of a line.
const LINE_BITS: usize = BYTES.trailing_zeros() as usize;
/// Zero bits that [`RingCommand::base`] leaves out.
const BASE_BITS: usize = 5;

/// States of the sequencer.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum KickState {
    /// Searches a marked process.
    Look,
    /// Offers the read.
    Fetch,
    /// Waits for the line.
    Wait,
    /// Applies the pointers.
    Apply,
}

/// The kicks. See the module text.
#[block]
pub struct Kicks {
    /// Shadow line to name or to remove; held until `shadow_done`.
    pub shadow: PulseSink<RingCommand>,
    /// Shadow line named or removed.
    pub shadow_done: Signal<Out, Bit>,
    /// Process that wrote KICK.
    pub kick: PulseSink<Bits<6>>,
    /// The pointers cannot be applied in this cycle.
    pub blocked: Signal<In, Bit>,
    /// Read of a line.
    pub read: Source<HostRead>,
    /// The line.
    pub line: PulseSink<Bits<512>>,
    /// With `line`: the host answered with an error.
    pub line_error: Signal<In, Bit>,
    /// RING_TAIL of a process.
    pub tail: RingPointerSource,
    /// EVENT_HEAD of a process.
    pub head: RingPointerSource,
    /// With `head`: bit `arm`.
    pub arm: Signal<Out, Bit>,
    lines: LutMemory<Bits<58>, 6>,
    /// Processes with a shadow line, and those that are marked.
    named: Reg<Bits<64>>,
    marked: Reg<Bits<64>>,
    state: Reg<KickState>,
    pid: Reg<Bits<6>>,
    address: DFF<Bits<58>>,
    tail_word: DFF<Bits<16>>,
    head_word: DFF<Bits<16>>,
    arm_bit: DFF<Bit>,
}

#[hdl]
impl Kicks {
    fn update(&mut self) {
        let pid = self.pid.q.val();
        let own = bits::<64>(1) << pid;
        let mut served: Bits<64> = bits::<64>(0);
        let mut named: Bits<64> = self.named.q.val();
        self.shadow_done.next = false;
        self.lines.write(false, self.shadow.val().pid, self.shadow.val().base.get_bits::<58>(LINE_BITS - BASE_BITS));
        self.lines.read_address.next = pid;
        match self.state.q.val() {
            KickState::Look => {
                self.address.d.next = self.lines.read_data.val();
                if self.shadow.valid.val() {
                    let changed = bits::<64>(1) << self.shadow.val().pid;
                    named = if self.shadow.val().open { named | changed } else { named & !changed };
                    self.lines.write_enable.next = true;
                    self.shadow_done.next = true;
                } else if (self.marked.q.val() & own).any() {
                    self.state.d.next = KickState::Fetch;
                } else if self.marked.q.val().any() {
                    self.pid.d.next = pid + 1;
                } else if self.kick.valid.val() {
                    self.pid.d.next = self.kick.val();
                }
            }
            KickState::Fetch => {
                if self.read.ready.val() {
                    served = own;
                    self.state.d.next = KickState::Wait;
                }
            }
            KickState::Wait => {
                let line = self.line.val();
                let head = line.get_bits::<32>(32 * WORD_EVENT_HEAD);
                self.tail_word.d.next = line.get_bits::<16>(32 * WORD_RING_TAIL);
                self.head_word.d.next = head.get_bits::<16>(0);
                self.arm_bit.d.next = head.get_bit(31);
                if self.line.valid.val() {
                    self.state.d.next = if self.line_error.val() { KickState::Look } else { KickState::Apply };
                }
            }
            KickState::Apply => {
                if !self.blocked.val() {
                    self.pid.d.next = pid + 1;
                    self.state.d.next = KickState::Look;
                }
            }
            _ => self.state.d.next = KickState::Look,
        }
        let kicked = repeat::<64>(self.kick.valid.val()) & (bits::<64>(1) << self.kick.val());
        self.named.d.next = named;
        self.marked.d.next = ((self.marked.q.val() & !served) | kicked) & named;
        self.read.offer(
            self.state.q.val() == KickState::Fetch,
            HostRead {
                client: bits::<2>(client::RING),
                address: (self.address.q.val(), bits::<LINE_BITS>(0)).cat::<64>(),
                length: bits::<16>(BYTES),
                ..HostRead::default()
            },
        );
        let applies = (self.state.q.val() == KickState::Apply) & !self.blocked.val();
        self.tail.next = self.tail_word.q.val();
        self.tail.pid.next = pid;
        self.tail.valid.next = applies;
        self.head.next = self.head_word.q.val();
        self.head.pid.next = pid;
        self.head.valid.next = applies;
        self.arm.next = self.arm_bit.q.val();
    }
}
