//! Regions, limits and launch that the [loader](crate::cluster::loader) writes for a task, as functions.

use crate::processor::stages::{block_in_code, CODE_TOP};
use crate::processor::types::{Launch, Region, Target};
use crate::types::{Limits, Origin, TaskContext};
use spindle_blocks::desc::TaskDesc;
use spindle_contract::descriptors::kind;
use spindle_contract::memory_map::{self as map, base, TASK, WATCHDOG_BITS};
use spindle_contract::params::{BEAT_BYTES, L1_TASK_BASE, SLOT_BYTES};
use spindle_verilog::prelude::*;

pub(crate) const TASK_BASE: u64 = base(TASK) as u64;
pub(crate) const COMPLETION: u64 = kind::COMPLETION as u64;

/// Regions of a task, in the order in which they are written: the number of regions left, this one included.
pub(crate) const CODE_LEFT: u64 = 4;
const CONTEXT_LEFT: u64 = 3;
const PACKET_LEFT: u64 = 2;
/// A slot has 2 to the power of this many bytes.
const SLOT_BITS: usize = SLOT_BYTES.trailing_zeros() as usize;
const _: () = assert!(SLOT_BYTES == 1 << SLOT_BITS && SLOT_BITS < 12);
/// Steps of the set-up of a bank.
const STACK_STEP: u64 = 0;
const TASK_STEP: u64 = 1;

/// Number of the region that is written in this step of the set-up of a bank.
#[hdl_fn]
pub(crate) fn set_up_number(step: Bits<2>) -> Bits<3> {
    match step.to_u64() {
        STACK_STEP => bits::<3>(map::STACK),
        TASK_STEP => bits::<3>(map::TASK),
        _ => bits::<3>(map::COMMAND),
    }
}

/// That region, of bank `task_index` = {HPU, bank} with this stack.
#[hdl_fn]
pub(crate) fn set_up_region(step: Bits<2>, task_index: Bits<5>, stack_base: Bits<20>, stack_bytes: Bits<21>) -> Region {
    Region {
        target: if step.get_bit(1) { Target::Command } else { Target::L1 },
        base: match step.to_u64() {
            STACK_STEP => stack_base,
            TASK_STEP => bits::<20>(L1_TASK_BASE) | (bit_cast::<20, 5>(task_index) << 7),
            _ => bits::<20>(0),
        },
        bound: match step.to_u64() {
            STACK_STEP => stack_bytes,
            TASK_STEP => bits::<21>(map::TASK_PAGE_BYTES),
            _ => bits::<21>(map::COMMAND_PORT_BYTES),
        },
        readable: true,
        writable: step != bits::<2>(TASK_STEP),
    }
}

/// Number of the region of a task with which `left` are left.
#[hdl_fn]
pub(crate) fn task_number(left: Bits<3>) -> Bits<3> {
    match left.to_u64() {
        CODE_LEFT => bits::<3>(map::CODE),
        CONTEXT_LEFT => bits::<3>(map::CONTEXT),
        PACKET_LEFT => bits::<3>(map::PACKET),
        _ => bits::<3>(map::SCRATCH),
    }
}

/// Bytes of the packet region: the `size` bytes of the packet and the tailroom, as far as the slot holds them.
#[hdl_fn]
pub(crate) fn packet_bound(size: Bits<12>, tailroom: Bits<5>) -> Bits<12> {
    let beats = zext::<7, 6>(size.get_bits::<6>(6)) + zext::<7, 5>(tailroom);
    if !size.any() {
        bits::<12>(0)
    } else if beats.get_bits::<2>(5).any() {
        bits::<12>(SLOT_BYTES as u64)
    } else {
        (beats.get_bits::<6>(0), size.get_bits::<6>(0)).cat::<12>()
    }
}

/// Bytes of the packet of a task that are loaded: at most a slot; 0 without a packet.
#[hdl_fn]
pub(crate) fn loaded_bytes(desc: TaskDesc) -> Bits<12> {
    if !desc.has_packet {
        bits::<12>(0)
    } else if desc.length.get_bits::<{ 14 - SLOT_BITS }>(SLOT_BITS).any() {
        bits::<12>(SLOT_BYTES as u64)
    } else {
        zext::<12, SLOT_BITS>(desc.length.get_bits::<SLOT_BITS>(0))
    }
}

/// Beats of a packet of `size` bytes.
#[hdl_fn]
pub(crate) fn packet_beats(size: Bits<12>) -> Bits<6> {
    size.get_bits::<6>(6) + bit_cast::<6, 1>(size.get_bits::<6>(0).any().into())
}

/// Beats of zeros after a packet of so many beats: the tailroom, as far as the slot holds it.
#[hdl_fn]
pub(crate) fn tail_beats(beats: Bits<6>, tailroom: Bits<5>) -> Bits<5> {
    let room = (bits::<6>((SLOT_BYTES / BEAT_BYTES) as u64) - beats).get_bits::<5>(0);
    if !beats.any() {
        bits::<5>(0)
    } else if tailroom > room {
        room
    } else {
        tailroom
    }
}

/// That region, of a task with a packet region of `bound` bytes in `slot`. Base and bound are chosen by the two low bits of
/// `left`.
#[hdl_fn]
pub(crate) fn task_region(left: Bits<3>, entry: TaskContext, slot: Bits<4>, bound: Bits<12>) -> Region {
    // By the two low bits of `left`: the code, the scratchpad, the packet, the state.
    let number = left.get_bits::<2>(0);
    let limits = entry.limits;
    let packet_base = (bits::<5>(0), slot, bits::<11>(0)).cat::<20>();
    Region {
        target: select(number, [Target::Code, Target::L1, Target::L1, Target::L2]),
        base: select(
            number,
            [
                bit_cast::<20, 16>(limits.code_base),
                bit_cast::<20, 16>(limits.scratch_base),
                packet_base,
                limits.state_base,
            ],
        ),
        bound: select(
            number,
            [
                bit_cast::<21, 17>(limits.code_size),
                bit_cast::<21, 16>(limits.scratch_size),
                bit_cast::<21, 12>(bound),
                limits.state_size,
            ],
        ),
        readable: true,
        writable: number.any(),
    }
}

/// Limits of the commands of a task whose packet has `size` bytes in its slot and `bound` bytes with its tailroom.
#[hdl_fn]
pub(crate) fn limits_of(desc: TaskDesc, entry: TaskContext, slot: Bits<4>, size: Bits<12>, bound: Bits<12>) -> Limits {
    Limits {
        origin: Origin {
            kind: desc.kind,
            context: desc.context,
            msg_slot: desc.msg_slot,
            frame: desc.frame,
            has_packet: desc.has_packet,
            pkt: desc.pkt,
            slot,
        },
        packet_size: bound,
        frame_size: size,
        scratch_beat: entry.limits.scratch_base.get_bits::<10>(6),
        scratch_size: entry.limits.scratch_size,
        state_base: entry.limits.state_base,
        state_size: entry.limits.state_size,
        host_low: entry.limits.host_lo,
        host_high: entry.limits.host_hi,
        host_size: entry.limits.host_size,
    }
}

/// The launch of a task with this first argument.
#[hdl_fn]
pub(crate) fn launch_of(desc: TaskDesc, entry: TaskContext, a0: Bits<32>) -> Launch {
    let completes = desc.kind == bits::<2>(COMPLETION);
    // An entry outside the code region becomes a misaligned one: it faults.
    let stray = entry.handler.get_bits::<15>(17) != CODE_TOP;
    let base = entry.limits.code_base.get_bits::<9>(7);
    let pc = (entry.handler.get_bits::<16>(2), entry.handler.get_bit(1) | stray).cat::<17>();
    Launch {
        entry: pc,
        block: block_in_code(pc, base),
        a0,
        completes,
        flow_control: desc.flow_control,
        code_base: base,
        code_size: entry.limits.code_size.get_bits::<15>(2),
        watchdog: entry.limits.watchdog,
        no_budget: !entry.limits.watchdog.get_bits::<{ WATCHDOG_BITS - 1 }>(1).any(),
        frame: desc.frame,
    }
}
