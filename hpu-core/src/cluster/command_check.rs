//! Check of a command: examines its words one after the other, and decides whether the command is legal.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `step`, `value`: word number `step` of the command, |
//! | | in the order of [`word_of`](crate::cluster::command_rules), one per cycle |
//! | | in `opcode`, `of_context`, `limits`, held from the first word to the last; in `staged`: its bytes are in the stage |
//! | | in `flags`, likewise: the REDIRECT is a TASK, or of bytes; in `of_packet`: the PUT is a reliable one of the packet |
//! | | in `enabled`: the opcode is implemented; in `ring_open`: the event ring is open |
//! |  | out `legal`, with the last word; out `source`, `length`, `is_long`, `low`, `high`: results, until the next command's words |
//! | | out `destination`: of a COMBINE, likewise |
//! | | out `previous` |
//!
//! One set of comparators for all commands: each word is examined in its cycle, and results that a later word needs are
//! kept. The high half of the host address is there a cycle after its low half.

use crate::cluster::command_rules::{
    operation_legal, reads_later, source_facts, SourceFacts, ADD, CAS, COMBINE, COMPLETE, CONTEXT, DMA_IN, DMA_OUT,
    EVENT, GET, PLACE, PRINT, PUT, PUT_CONTEXT, PUT_HOST, REDIRECT, SEND,
};
use crate::types::Limits;
use spindle_contract::memory_map::{ISSUE_FLAGS_BITS, REDIRECT_EPOCH, TASK_CANCEL};
use spindle_contract::params::{MIN_FRAME, SLOT_BYTES};
use spindle_verilog::prelude::*;

/// No command moves more than 2 to the power of this.
const SLOT_BITS: usize = SLOT_BYTES.trailing_zeros() as usize;
/// The bit of LENGTH that cancels a task.
const CANCEL: usize = TASK_CANCEL.trailing_zeros() as usize;
/// Bits of KEY of a redirect of bytes: the epoch, and that it counts.
const EPOCH_BITS: usize = REDIRECT_EPOCH.trailing_zeros() as usize + 1;
const SHORTEST_FRAME: u64 = MIN_FRAME as u64;

const _: () = assert!(SLOT_BYTES.is_power_of_two() && SLOT_BITS < 12 && MIN_FRAME < 16);

/// The check. See the module text.
#[block(no_reset)]
pub struct CommandCheck {
    /// Number of the word.
    pub step: Signal<In, Bits<4>>,
    /// The word.
    pub value: Signal<In, Bits<32>>,
    /// Opcode of the command.
    pub opcode: Signal<In, Bits<4>>,
    /// The command is a PUT_CONTEXT.
    pub of_context: Signal<In, Bit>,
    /// The REDIRECT is a TASK, or of bytes.
    pub flags: Signal<In, Bits<ISSUE_FLAGS_BITS>>,
    /// The PUT is a reliable one of the packet.
    pub of_packet: Signal<In, Bit>,
    /// Limits of its task.
    pub limits: Signal<In, Limits>,
    /// Its bytes have been copied from L2 to the stage.
    pub staged: Signal<In, Bit>,
    /// The opcode is implemented.
    pub enabled: Signal<In, Bit>,
    /// The process of its context has an open event ring.
    pub ring_open: Signal<In, Bit>,
    /// The command is legal.
    pub legal: Signal<Out, Bit>,
    /// Facts about SOURCE.
    pub source: Signal<Out, SourceFacts>,
    /// Facts about the destination of a COMBINE.
    pub destination: Signal<Out, SourceFacts>,
    /// LENGTH.
    pub length: Signal<Out, Bits<32>>,
    /// LENGTH is 16 or more.
    pub is_long: Signal<Out, Bit>,
    /// Host address, low half.
    pub low: Signal<Out, Bits<32>>,
    /// High half.
    pub high: Signal<Out, Bits<32>>,
    /// The word before.
    pub previous: Signal<Out, Bits<32>>,
    kept_previous: DFF<Bits<32>>,
    kept_source: DFF<SourceFacts>,
    kept_destination: DFF<SourceFacts>,
    kept_length: DFF<Bits<32>>,
    kept_long: DFF<Bit>,
    /// SOURCE and LENGTH are legal together.
    data_legal: DFF<Bit>,
    node_legal: DFF<Bit>,
    /// LENGTH is a delay, or cancels.
    delay_legal: DFF<Bit>,
    /// KEY is an epoch, or 0.
    epoch_legal: DFF<Bit>,
    /// Of an atomic: ADDR is legal, and LENGTH with the alignment. LENGTH is not 0.
    host_legal: DFF<Bit>,
    word_legal: DFF<Bit>,
    not_empty: DFF<Bit>,
    /// Host address: its low half, the carry into its high half, the bytes left in the region (complemented); LENGTH
    /// fits them.
    kept_low: DFF<Bits<32>>,
    carry: DFF<Bit>,
    kept_high: DFF<Bits<32>>,
    outside: DFF<Bit>,
    left: DFF<Bits<32>>,
    fits: DFF<Bit>,
}

#[hdl]
impl CommandCheck {
    fn update(&mut self) {
        let step = self.step.val();
        let value = self.value.val();
        let is_task = self.flags.val().get_bit(0);
        let of_bytes = self.flags.val().get_bit(1);
        let given = self.limits.val();
        // The packet buffer has no tailroom.
        let limits = Limits {
            packet_size: if of_bytes | self.of_packet.val() { given.frame_size } else { given.packet_size },
            ..given
        };
        self.kept_previous.d.next = value;
        // Common to all comparisons with small numbers.
        let is_large = value.get_bits::<20>(12).any();
        let is_long = is_large | value.get_bits::<8>(4).any();
        let tail = value.get_bits::<4>(0);

        // SOURCE and LENGTH.
        let of_source = step == bits::<4>(0);
        let facts = source_facts(value, limits, self.staged.val() & of_source);
        self.kept_source.load(of_source, facts);
        let source = self.kept_source.q.val();
        let below = value.get_bits::<SLOT_BITS>(0).any();
        let in_slot = !is_large & (value.get_bit(SLOT_BITS) != below);
        let data_legal = source.legal & in_slot & (source.plenty | (value.get_bits::<12>(0) <= source.left));
        if step == bits::<4>(1) {
            self.kept_length.d.next = value;
            self.kept_long.d.next = is_long;
            self.data_legal.d.next = data_legal;
            self.delay_legal.d.next = !value.get_bit(CANCEL) | !value.get_bits::<CANCEL>(0).any();
        }
        let length = self.kept_length.q.val();
        let length_is_long = self.kept_long.q.val();
        let length_tail = length.get_bits::<4>(0);

        // The host address: an offset in the host region, in ADDR or in SOURCE. Its high half is a cycle late. Bytes of
        // context memory that are read later use the same adders: their address counts from the start of the region,
        // and the low 20 bits of the sum are their address in L2.
        let later = reads_later(self.opcode.val());
        let base = if self.of_context.val() { bit_cast::<32, 20>(limits.state_base) } else { limits.host_low };
        let bound = if self.of_context.val() {
            (bits::<4>(CONTEXT), bits::<7>(0), limits.state_size).cat::<32>()
        } else {
            limits.host_size
        };
        let sum = bit_cast::<33, 32>(value) + bit_cast::<33, 32>(base);
        let left = bit_cast::<33, 32>(bound) - bit_cast::<33, 32>(value);
        if (later & of_source) | (!later & (step == bits::<4>(2))) {
            self.kept_low.d.next = sum.get_bits::<32>(0);
            self.carry.d.next = sum.get_bit(32);
            self.outside.d.next = left.get_bit(32);
            self.left.d.next = left.get_bits::<32>(0);
        }
        self.kept_high.d.next = limits.host_high + bit_cast::<32, 1>(self.carry.q.val().into());
        let left = self.left.q.val();
        let in_host = !self.outside.q.val();
        // One comparison of the lower bits for all lengths; for the higher ones it stands below their lowest bit.
        let low_fits = length.get_bits::<12>(0) <= left.get_bits::<12>(0);
        let high_length = (length.get_bits::<20>(12), !low_fits).cat::<21>();
        let high_left = (left.get_bits::<20>(12), false).cat::<21>();
        self.fits.d.next = high_length <= high_left;
        let short_fits = left.get_bits::<20>(12).any() | low_fits;
        let offset_legal = in_host & short_fits;
        let is_zero = !is_long & !tail.any();
        self.host_legal.load(step == bits::<4>(3), offset_legal & is_zero);

        // The destination of a COMBINE, in ADDR_LO.
        self.kept_destination.load(step == bits::<4>(2), facts);
        let destination = self.kept_destination.q.val();
        let destination_fits = destination.plenty | (length.get_bits::<12>(0) <= destination.left);
        let destination_legal = destination.legal & !destination.in_context & destination_fits;

        // The other words.
        self.node_legal.load(step == bits::<4>(4), !value.get_bits::<8>(8).any());
        let low = self.kept_low.q.val();
        self.epoch_legal.load(step == bits::<4>(2), !value.get_bits::<{ 32 - EPOCH_BITS }>(EPOCH_BITS).any());
        let is_wide = length_tail == bits::<4>(8);
        let aligned = !low.get_bits::<2>(0).any() & !(is_wide & low.get_bit(2));
        self.word_legal.d.next = !length_is_long & (is_wide | (length_tail == bits::<4>(4))) & aligned;
        self.not_empty.d.next = length_is_long | length_tail.any();

        // The verdict. ADDR_HI is in `value` for commands that are decided with it.
        let node_legal = self.node_legal.q.val();
        self.legal.next = match self.opcode.val().to_u64() {
            SEND => data_legal & (is_long | (tail >= bits::<4>(SHORTEST_FRAME))),
            PLACE => limits.origin.has_packet,
            REDIRECT => {
                if is_task {
                    self.delay_legal.q.val()
                } else if of_bytes {
                    self.data_legal.q.val() & source.in_packet & limits.origin.has_packet & self.epoch_legal.q.val()
                } else {
                    limits.origin.has_packet
                }
            }
            DMA_OUT | DMA_IN => self.data_legal.q.val() & offset_legal & is_zero,
            PRINT => true,
            EVENT | COMPLETE => self.ring_open.val(),
            PUT => self.data_legal.q.val() & node_legal & (source.in_packet | !self.of_packet.val()),
            PUT_HOST => self.not_empty.q.val() & in_host & self.fits.q.val() & node_legal,
            PUT_CONTEXT => self.not_empty.q.val() & in_host & self.fits.q.val() & node_legal & source.in_context,
            GET => self.not_empty.q.val() & node_legal,
            CAS | ADD => self.word_legal.q.val() & self.host_legal.q.val(),
            COMBINE => self.data_legal.q.val() & destination_legal & operation_legal(value, length.get_bits::<2>(0)),
            _ => false,
        } & self.enabled.val();
        self.source.next = source;
        self.destination.next = destination;
        self.length.next = length;
        self.is_long.next = length_is_long;
        self.low.next = low;
        self.high.next = self.kept_high.q.val();
        self.previous.next = self.kept_previous.q.val();
    }
}
