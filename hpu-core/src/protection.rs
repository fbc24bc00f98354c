//! Regions: what a virtual address may be used for, and where it lies.
//!
//! `address[31:28]` selects the region; the offset of the access's last byte is compared with one bound; the base is OR-ed in. The check takes two
//! cycles beside the access itself: the region's bound is chosen in the first, compared in the second, so that no add is chained to a compare.

use crate::types::{Launch, Target};
use spindle_contract::memory_map::{self, CODE, COMMAND, CONTEXT, PACKET, SCRATCH, STACK, TASK};
use spindle_contract::params::{L1_SCRATCH_BASE, L1_STACK_BASE, SCRATCH_BYTES, SLOT_BYTES, STACK_BYTES};
use spindle_verilog::prelude::*;

const SLOT_SHIFT: usize = SLOT_BYTES.trailing_zeros() as usize;
const STACK_SHIFT: usize = STACK_BYTES.trailing_zeros() as usize;
const SCRATCH_SHIFT: usize = SCRATCH_BYTES.trailing_zeros() as usize;

/// A region resolved for one access.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// Where the access goes.
    pub target: Target,
    /// Physical address of the first byte, if the bound holds.
    pub address: Bits<20>,
    /// Bytes of the region.
    pub bound: Bits<21>,
    /// Offset of the last byte of the access; one bit more than an offset, so that it never wraps.
    pub last: Bits<29>,
    /// Reads are allowed.
    pub readable: Bit,
    /// Writes are allowed.
    pub writable: Bit,
}

/// Chooses region, base and bound. Combinational; the caller registers `resolved` and compares `last < bound` in the next cycle.
///
/// | neighbour | ports |
/// |---|---|
/// | HPU | in `launch`, `hpu`, `page`, `address`, `size_less_one`; out `resolved` |
#[derive(LogicBlock, Default)]
pub struct Protection {
    /// The running handler.
    pub launch: Signal<In, Launch>,
    /// Number of the HPU in its cluster.
    pub hpu: Signal<In, Bits<3>>,
    /// Task page in use.
    pub page: Signal<In, Bit>,
    /// Virtual address.
    pub address: Signal<In, Bits<32>>,
    /// Bytes of the access less one: 0, 1, 3.
    pub size_less_one: Signal<In, Bits<2>>,
    /// The region.
    pub resolved: Signal<Out, Resolved>,
}

impl Logic for Protection {
    #[hdl]
    fn update(&mut self) {
        let launch = self.launch.val();
        let region = self.address.val().get_bits::<4>(28);
        let offset = self.address.val().get_bits::<28>(0);
        let low = self.address.val().get_bits::<20>(0);
        self.resolved.next = Resolved {
            target: Target::Nowhere,
            address: bits::<20>(0),
            bound: bits::<21>(0),
            last: bit_cast::<29, 28>(offset) + bit_cast::<29, 2>(self.size_less_one.val()),
            readable: false,
            writable: false,
        };
        if region == bits::<4>(CODE as u64) {
            self.resolved.next.target = Target::Code;
            self.resolved.next.address = low | bit_cast::<20, 16>(launch.code_base);
            self.resolved.next.bound = bit_cast::<21, 17>(launch.code_size);
            self.resolved.next.readable = true;
        } else if region == bits::<4>(PACKET as u64) {
            self.resolved.next.target = Target::L1;
            self.resolved.next.address = low | (bit_cast::<20, 4>(launch.slot) << SLOT_SHIFT as u64);
            self.resolved.next.bound = bit_cast::<21, 12>(launch.packet_size);
            self.resolved.next.readable = true;
            self.resolved.next.writable = true;
        } else if region == bits::<4>(SCRATCH as u64) {
            self.resolved.next.target = Target::L1;
            self.resolved.next.address = low
                | (bits::<20>(L1_SCRATCH_BASE as u64) + (bit_cast::<20, 3>(self.hpu.val()) << SCRATCH_SHIFT as u64));
            self.resolved.next.bound = bits::<21>(SCRATCH_BYTES as u64);
            self.resolved.next.readable = true;
            self.resolved.next.writable = true;
        } else if region == bits::<4>(CONTEXT as u64) {
            self.resolved.next.target = Target::L2;
            self.resolved.next.address = low | launch.state_base;
            self.resolved.next.bound = launch.state_size;
            self.resolved.next.readable = true;
            self.resolved.next.writable = true;
        } else if region == bits::<4>(STACK as u64) {
            self.resolved.next.target = Target::L1;
            self.resolved.next.address =
                low | (bits::<20>(L1_STACK_BASE as u64) + (bit_cast::<20, 3>(self.hpu.val()) << STACK_SHIFT as u64));
            self.resolved.next.bound = bits::<21>(STACK_BYTES as u64);
            self.resolved.next.readable = true;
            self.resolved.next.writable = true;
        } else if region == bits::<4>(TASK as u64) {
            self.resolved.next.target = Target::Task;
            self.resolved.next.address = low | (bit_cast::<20, 1>(self.page.val().into()) << 7);
            self.resolved.next.bound = bits::<21>(memory_map::TASK_PAGE_BYTES as u64);
            self.resolved.next.readable = true;
        } else if region == bits::<4>(COMMAND as u64) {
            self.resolved.next.target = Target::Command;
            self.resolved.next.address = low;
            self.resolved.next.bound = bits::<21>(memory_map::COMMAND_PORT_BYTES as u64);
            self.resolved.next.readable = true;
            self.resolved.next.writable = true;
        }
    }
}
