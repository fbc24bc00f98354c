//! Rules of commands, as functions: their words, the translation of a word, and their executor.

use crate::types::{Destination, Limits};
use spindle_contract::memory_map::{
    self as map, command, ISSUE_BYTES, ISSUE_CHECKSUM, ISSUE_FLAGS_BITS, ISSUE_FLAGS_SHIFT, ISSUE_RELIABLE, ISSUE_TASK,
};
use spindle_contract::params::L1_STAGE_BASE;
use spindle_verilog::prelude::*;

pub(crate) const SEND: u64 = command::SEND_PACKET as u64;
pub(crate) const PLACE: u64 = command::PLACE as u64;
pub(crate) const DMA_OUT: u64 = command::DMA_TO_HOST as u64;
pub(crate) const PRINT: u64 = command::PRINT as u64;
pub(crate) const DMA_IN: u64 = command::DMA_FROM_HOST as u64;
pub(crate) const PUT: u64 = command::PUT as u64;
pub(crate) const PUT_HOST: u64 = command::PUT_HOST as u64;
pub(crate) const GET: u64 = command::GET as u64;
pub(crate) const CAS: u64 = command::HOST_CAS as u64;
pub(crate) const ADD: u64 = command::HOST_ADD as u64;
pub(crate) const EVENT: u64 = command::EVENT as u64;
pub(crate) const COMPLETE: u64 = command::COMPLETE as u64;
pub(crate) const REDIRECT: u64 = command::REDIRECT as u64;
pub(crate) const PUT_CONTEXT: u64 = command::PUT_CONTEXT as u64;
pub(crate) const COMBINE: u64 = command::COMBINE as u64;
pub(crate) const CONTEXT: u64 = map::CONTEXT as u64;
/// Flags of ISSUE, as their field has them: CHECKSUM, TASK or RELIABLE, and BYTES.
const _: () = assert!(
    ISSUE_CHECKSUM >> ISSUE_FLAGS_SHIFT == 1
        && ISSUE_TASK >> ISSUE_FLAGS_SHIFT == 1
        && ISSUE_RELIABLE >> ISSUE_FLAGS_SHIFT == 1
        && ISSUE_BYTES >> ISSUE_FLAGS_SHIFT == 2
);
/// First beat of L1 where bytes of context memory are staged.
pub(crate) const STAGE: u64 = L1_STAGE_BASE as u64 / 64;

/// Class of a command: who carries it out.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CommandClass {
    /// Carried out outside the cluster.
    pub off_cluster: Bit,
    /// The read DMA reads its bytes in L1.
    pub reads: Bit,
    /// Bytes of the host come to L1 or L2.
    pub writes: Bit,
    /// A message for the host, which takes no handle.
    pub is_message: Bit,
    /// A put of handler memory.
    pub put: Bit,
    /// A put of host memory, of context memory or, reliably, of the packet, or a get.
    pub host_put: Bit,
    /// ADDR is an offset in the host region, and is translated for the off-cluster unit.
    pub by_offset: Bit,
}

/// The bytes are read when they are sent, from host memory or from context memory; SOURCE is translated to their
/// address.
#[hdl_fn]
pub(crate) fn reads_later(opcode: Bits<4>) -> Bit {
    (opcode == bits::<4>(PUT_HOST)) | (opcode == bits::<4>(PUT_CONTEXT))
}

/// The command is a reliable put of the task's packet.
#[hdl_fn]
pub(crate) fn puts_packet(opcode: Bits<4>, flags: Bits<ISSUE_FLAGS_BITS>) -> Bit {
    (opcode == bits::<4>(PUT)) & flags.get_bit(0)
}

/// Class of the commands of this opcode; `of_packet`: of a reliable put of the packet, whose bytes the array reads when they are sent.
#[hdl_fn]
pub(crate) fn class_with(opcode: Bits<4>, of_packet: Bit) -> CommandClass {
    let usual = class_of(opcode);
    CommandClass {
        reads: usual.reads & !of_packet,
        put: usual.put & !of_packet,
        host_put: usual.host_put | of_packet,
        ..usual
    }
}

/// Class of the commands of this opcode.
#[hdl_fn]
pub(crate) fn class_of(opcode: Bits<4>) -> CommandClass {
    let swaps = (opcode == bits::<4>(CAS)) | (opcode == bits::<4>(ADD));
    let put = opcode == bits::<4>(PUT);
    let host_put = reads_later(opcode) | (opcode == bits::<4>(GET));
    let writes = opcode == bits::<4>(DMA_IN);
    let by_offset = writes | swaps;
    CommandClass {
        off_cluster: by_offset | put | host_put,
        reads: (opcode == bits::<4>(SEND)) | (opcode == bits::<4>(DMA_OUT)) | (opcode == bits::<4>(COMBINE)) | put,
        writes,
        is_message: (opcode == bits::<4>(PRINT)) | (opcode == bits::<4>(EVENT)) | (opcode == bits::<4>(COMPLETE)),
        put,
        host_put,
        by_offset,
    }
}

/// Where the read DMA brings the bytes of a command.
#[hdl_fn]
pub(crate) fn destination_of(opcode: Bits<4>) -> Destination {
    match opcode.to_u64() {
        DMA_OUT => Destination::Host,
        PUT => Destination::Put,
        COMBINE => Destination::Combiner,
        _ => Destination::Wire,
    }
}

/// An opcode knows these flags of ISSUE; it has one at most.
///
/// | flag | opcodes |
/// |---|---|
/// | 8 | SEND_PACKET (CHECKSUM), REDIRECT (TASK), PUT (RELIABLE) |
/// | 9 | REDIRECT (BYTES) |
#[hdl_fn]
pub(crate) fn knows_flags(opcode: Bits<4>, flags: Bits<ISSUE_FLAGS_BITS>) -> Bit {
    let first = (opcode == bits::<4>(SEND)) | (opcode == bits::<4>(REDIRECT)) | (opcode == bits::<4>(PUT));
    let second = opcode == bits::<4>(REDIRECT);
    match flags.to_u64() {
        0 => true,
        1 => first,
        2 => second,
        _ => false,
    }
}

/// The number of the last word that a command needs, counted in the order in which they are read.
#[hdl_fn]
pub(crate) fn last_step(opcode: Bits<4>, of_bytes: Bit) -> Bits<4> {
    match opcode.to_u64() {
        REDIRECT => {
            if of_bytes {
                bits::<4>(5)
            } else {
                bits::<4>(3)
            }
        }
        SEND | PLACE => bits::<4>(1),
        DMA_OUT | PRINT | DMA_IN | EVENT | COMPLETE | COMBINE => bits::<4>(3),
        PUT | ADD => bits::<4>(6),
        PUT_HOST | PUT_CONTEXT => bits::<4>(7),
        CAS => bits::<4>(8),
        GET => bits::<4>(9),
        _ => bits::<4>(1),
    }
}

/// The word of the port that is read as number `step`. A redirect of bytes ends with the mailbox address, as others do.
#[hdl_fn]
pub(crate) fn word_of(step: Bits<4>, of_bytes: Bit) -> Bits<4> {
    if of_bytes {
        select(
            step.get_bits::<2>(0),
            [
                bits::<4>(map::CMD_ADDR_LO as u64 / 4),
                bits::<4>(map::CMD_ADDR_HI as u64 / 4),
                bits::<4>(map::CMD_KEY as u64 / 4),
                bits::<4>(map::CMD_OFFSET as u64 / 4),
            ],
        )
    } else {
        plain_word_of(step)
    }
}

/// The same for the others.
#[hdl_fn]
fn plain_word_of(step: Bits<4>) -> Bits<4> {
    match step.index() {
        0 => bits::<4>(map::CMD_SOURCE as u64 / 4),
        1 => bits::<4>(map::CMD_LENGTH as u64 / 4),
        2 => bits::<4>(map::CMD_ADDR_LO as u64 / 4),
        3 => bits::<4>(map::CMD_ADDR_HI as u64 / 4),
        4 => bits::<4>(map::CMD_NODE as u64 / 4),
        5 => bits::<4>(map::CMD_KEY as u64 / 4),
        6 => bits::<4>(map::CMD_OFFSET as u64 / 4),
        7 => bits::<4>(map::CMD_OTHER_LO as u64 / 4),
        8 => bits::<4>(map::CMD_OTHER_HI as u64 / 4),
        _ => bits::<4>(map::CMD_RESULT_LO as u64 / 4),
    }
}

/// Source of a word on its way to the off-cluster unit.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum WordSource {
    /// The word as it was written.
    Plain,
    /// The header, before the first word.
    Header,
    /// Low half of the host address.
    Low,
    /// High half.
    High,
}

/// Source of word number `step`.
#[hdl_fn]
pub(crate) fn word_source_of(opcode: Bits<4>, step: Bits<4>) -> WordSource {
    let by_offset = class_of(opcode).by_offset;
    let later = reads_later(opcode);
    if (later & (step == bits::<4>(0))) | (by_offset & (step == bits::<4>(2))) {
        WordSource::Low
    } else if (later & (step == bits::<4>(7))) | (by_offset & (step == bits::<4>(3))) {
        WordSource::High
    } else {
        WordSource::Plain
    }
}

/// Bits 20:0 of the word become the byte of L1 or L2 that it names.
#[hdl_fn]
pub(crate) fn names_byte(opcode: Bits<4>, step: Bits<4>) -> Bit {
    class_of(opcode).writes & (step == bits::<4>(0))
}

/// ADDR_HI is the operation of a COMBINE, for this length.
#[hdl_fn]
pub(crate) fn operation_legal(word: Bits<32>, length: Bits<2>) -> Bit {
    let size = word.get_bits::<2>(0);
    let is_product = !word.get_bits::<3>(2).any();
    let constant = word.get_bits::<8>(8);
    let suits_kind = if is_product { !size.any() } else { !constant.any() };
    let whole = match size.to_u64() {
        0 => true,
        1 => !length.get_bit(0),
        2 => !length.any(),
        _ => false,
    };
    suits_kind & whole & !word.get_bits::<16>(16).any() & !word.get_bits::<3>(5).any()
}

/// Facts about SOURCE, or about the destination of a COMBINE.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct SourceFacts {
    /// It is inside the packet, the scratchpad or the state.
    pub legal: Bit,
    /// It is in the packet.
    pub in_packet: Bit,
    /// It is in the state, in L2.
    pub in_context: Bit,
    /// Beat of L1 or L2,
    pub beat: Bits<14>,
    /// and byte of the beat.
    pub offset: Bits<6>,
    /// Bytes of the region from there on, less than 4096;
    pub left: Bits<12>,
    /// or at least that many.
    pub plenty: Bit,
}

/// Facts about an address; `staged` if its bytes have been copied from L2 to L1.
#[hdl_fn]
pub(crate) fn source_facts(address: Bits<32>, limits: Limits, staged: Bit) -> SourceFacts {
    let in_packet = address.get_bits::<4>(28) == bits::<4>(map::PACKET);
    let in_scratch = address.get_bits::<4>(28) == bits::<4>(map::SCRATCH);
    let in_context = address.get_bits::<4>(28) == bits::<4>(CONTEXT);
    let bound = if in_packet {
        bit_cast::<22, 12>(limits.packet_size)
    } else if in_context {
        bit_cast::<22, 21>(limits.state_size)
    } else {
        bit_cast::<22, 16>(limits.scratch_size)
    };
    let first_beat = if in_packet {
        (bits::<5>(0), limits.origin.slot, bits::<5>(0)).cat::<14>()
    } else if in_context {
        limits.state_base.get_bits::<14>(6)
    } else {
        bit_cast::<14, 10>(limits.scratch_beat)
    };
    let left = bound - bit_cast::<22, 20>(address.get_bits::<20>(0));
    let state_offset = if in_context { limits.state_base.get_bits::<6>(0) } else { bits::<6>(0) };
    let offset = state_offset | address.get_bits::<6>(0);
    SourceFacts {
        legal: (in_packet | in_scratch | in_context) & !address.get_bits::<8>(20).any() & !left.get_bit(21),
        in_packet,
        in_context,
        beat: if staged { bits::<14>(STAGE) } else { first_beat | address.get_bits::<14>(6) },
        offset,
        left: left.get_bits::<12>(0),
        plenty: left.get_bits::<9>(12).any(),
    }
}
