//! Command unit of a cluster: looks at what the HPUs issue, one command after the other, and sends it on its way.
//!
//! | neighbour | ports |
//! |---|---|
//! | command ports | in `ask[h]`, `ask_valid[h]` / out `taken` (a bit per HPU); out `word`; in `argument[h]`, in the same cycle; out `answered`, `accept` (a bit per HPU) with `accept_packet`, `accept_slot`; out `blocked` |
//! | HPUs | out `done`, `refused`, `full`: one pulse per ISSUE |
//! | task records | out `index`; in `limits`, in the same cycle: whose task it is and what it may |
//! | array | in `number`, `cycle`; in `enabled`: opcodes that have somebody who does them; in `rings_open`: contexts whose process has an open event ring |
//! | mover | out `job`, `job_valid`: always taken |
//! | scheduler | out `place`, `place_valid` / in `place_ready`; out `placed`, `placed_issuer`: it is done |
//! | reports | out `message`, `message_valid` / in `message_ready` |
//! | far unit | out `far_word`, `far_valid` / in `far_ready`: words of the commands that are done outside the cluster; in `put_left`, `host_put_left`: the initiator has taken one |
//! | trace | out `issued` (a bit per HPU), `issued_frame` |
//!
//! Round robin among the HPUs. The words of a command are read one per cycle and checked by one set of comparators:
//!
//! | cycle | what |
//! |---|---|
//! | 0 | ISSUE is written |
//! | 1 | the HPU is chosen; SOURCE is read; the next words follow, one per cycle |
//! | n + 1 | the last of n words is looked at; it is decided: 3 for SEND_PACKET and PLACE, 5 for those with ADDR_HI, up to 11 |
//! | n + 2 | `done`, `refused` or `full`; the `job` goes to the mover; the next HPU's second word |
//!
//! *done*: the command has its handle, or has none. *refused*: it is illegal. *full*: no handle is free, or no room for a PLACE, a message or a far
//! command, or the initiator has not yet taken the last put (or the last PUT_HOST or GET) of the cluster; then nothing has happened, and the HPU asks again when `blocked` has gone. With four HPUs an ISSUE waits for three others at most.
//!
//! | command | is refused unless |
//! |---|---|
//! | SEND_PACKET, PUT, DMA_TO_HOST, DMA_FROM_HOST | SOURCE is a 64-byte aligned address in the packet or scratch region, LENGTH 1 to 2048 (a frame: 14 or more), both within the region's bound |
//! | DMA_*, HOST_* | [ADDR, ADDR + LENGTH) is inside the context's host region; HOST_*: 4 or 8 bytes, naturally aligned |
//! | PUT_HOST | [SOURCE, SOURCE + LENGTH) is inside the host region, LENGTH is not 0 |
//! | GET | LENGTH is not 0 |
//! | PUT, PUT_HOST, GET | bits 15 to 8 of NODE are 0 |
//! | PLACE | the task has a packet |
//! | EVENT, COMPLETE | the ring of the context's process is open |
//! | PRINT | never: it prints at most eight characters, and nothing if LENGTH is 0 |
//!
//! A far command is written into a queue of words while it is checked; a refused one is forgotten there. See [`crate::far_unit`] for their order.

use crate::far_queue::FarQueue;
use crate::types::{Ask, Issuer, Limits, Message, MoveJob, PrintPiece, Way};
use spindle_blocks::desc::Command;
use spindle_blocks::RoundRobin;
use spindle_contract::memory_map::{self as map, command};
use spindle_contract::params::{MIN_FRAME, SLOT_BYTES};
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
const VERSION: u64 = spindle_contract::VERSION as u64;
const PACKET: u64 = map::PACKET as u64;
const SCRATCH: u64 = map::SCRATCH as u64;
const LONGEST: u64 = SLOT_BYTES as u64;
const SHORTEST_FRAME: u64 = MIN_FRAME as u64;
const CHARACTERS: u64 = 8;

/// The number of the last word that a command needs, counted in the order in which they are read.
#[hdl_fn]
pub(crate) fn last_step(opcode: Bits<4>) -> Bits<4> {
    match opcode.to_u64() {
        SEND | PLACE => bits::<4>(1),
        DMA_OUT | PRINT | DMA_IN | EVENT | COMPLETE => bits::<4>(3),
        PUT | ADD => bits::<4>(6),
        PUT_HOST => bits::<4>(7),
        CAS => bits::<4>(8),
        GET => bits::<4>(9),
        _ => bits::<4>(1),
    }
}

/// The word of the port that is read as number `step`.
#[hdl_fn]
fn word_of(step: Bits<4>) -> Bits<4> {
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

/// What a word becomes on its way to the far unit.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum Told {
    /// It is told as it is.
    Plain,
    /// The place in L1 that it names.
    Place,
    /// Low half of the host address.
    Low,
    /// High half.
    High,
}

/// What is known of SOURCE.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct SourceFacts {
    /// It is an aligned address inside the packet or the scratchpad.
    pub legal: Bit,
    /// It is in the packet.
    pub in_packet: Bit,
    /// Beat of L1.
    pub beat: Bits<10>,
    /// Bytes of the region from there on.
    pub left: Bits<16>,
}

/// Whose command was decided in the cycle before.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Decided {
    /// Where its bytes go.
    pub way: Way,
    /// Who issued it.
    pub issuer: Issuer,
    /// Context.
    pub context: Bits<4>,
    /// Frame sequence number.
    pub frame: Bits<16>,
}

/// The command unit. See the module text.
#[derive(LogicBlock, Default)]
pub struct CommandUnit {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Cycles since reset, low half, for the stamp.
    pub cycle: Signal<In, Bits<32>>,
    /// Opcodes that have somebody who does them.
    pub enabled: Signal<In, Bits<16>>,
    /// Contexts whose process has an open event ring.
    pub rings_open: Signal<In, Bits<16>>,
    /// What the HPUs issue.
    pub ask: Vec<Signal<In, Ask>>,
    /// It waits.
    pub ask_valid: Vec<Signal<In, Bit>>,
    /// Word of the port that is read.
    pub word: Signal<Out, Bits<4>>,
    /// What is in it.
    pub argument: Vec<Signal<In, Bits<32>>>,
    /// The unit looks at the ISSUE of this HPU.
    pub taken: Signal<Out, Bits<8>>,
    /// It is decided.
    pub answered: Signal<Out, Bits<8>>,
    /// The command gets its handle.
    pub accept: Signal<Out, Bits<8>>,
    /// It reads the task's packet,
    pub accept_packet: Signal<Out, Bit>,
    /// in this slot.
    pub accept_slot: Signal<Out, Bits<4>>,
    /// Some commands find no room.
    pub blocked: Signal<Out, Bit>,
    /// The command is under way.
    pub done: Signal<Out, Bits<8>>,
    /// It is illegal.
    pub refused: Signal<Out, Bits<8>>,
    /// There is no room for it.
    pub full: Signal<Out, Bits<8>>,
    /// Task of the command, {HPU, bank}.
    pub index: Signal<Out, Bits<5>>,
    /// What it may.
    pub limits: Signal<In, Limits>,
    /// Bytes of L1 to be moved.
    pub job: Signal<Out, MoveJob>,
    /// There are some.
    pub job_valid: Signal<Out, Bit>,
    /// A packet to place.
    pub place: Signal<Out, Command>,
    /// There is one.
    pub place_valid: Signal<Out, Bit>,
    /// It is taken.
    pub place_ready: Signal<In, Bit>,
    /// A PLACE is done.
    pub placed: Signal<Out, Bit>,
    /// Whose.
    pub placed_issuer: Signal<Out, Issuer>,
    /// What a handler says.
    pub message: Signal<Out, Message>,
    /// There is something.
    pub message_valid: Signal<Out, Bit>,
    /// It is taken.
    pub message_ready: Signal<In, Bit>,
    /// Word of a far command.
    pub far_word: Signal<Out, Bits<32>>,
    /// There is one.
    pub far_valid: Signal<Out, Bit>,
    /// It is taken.
    pub far_ready: Signal<In, Bit>,
    /// The put that was under way to the initiator has been taken.
    pub put_left: Signal<In, Bit>,
    /// The put of host memory, or the get.
    pub host_put_left: Signal<In, Bit>,
    /// HPUs that issued a command.
    pub issued: Signal<Out, Bits<8>>,
    /// Frame sequence number of its packet.
    pub issued_frame: Signal<Out, Bits<16>>,
    arbiter: RoundRobin<8>,
    /// The HPU that is looked at.
    hpu: DFF<Bits<3>>,
    mask: DFF<Bits<8>>,
    current: DFF<Ask>,
    known: DFF<Limits>,
    runs: Reg<Bit>,
    /// Number of the word in `value`, and of the last one.
    step: DFF<Bits<4>>,
    last: DFF<Bits<4>>,
    value: DFF<Bits<32>>,
    /// The word before.
    previous: DFF<Bits<32>>,
    told: DFF<Told>,
    source: DFF<SourceFacts>,
    length: DFF<Bits<32>>,
    /// Source and LENGTH go together.
    data_legal: DFF<Bit>,
    node_legal: DFF<Bit>,
    /// Of an atomic: ADDR, and LENGTH with the alignment. Of LENGTH: it is not 0.
    host_legal: DFF<Bit>,
    word_legal: DFF<Bit>,
    some: DFF<Bit>,
    /// Host address: its low half, the carry into its high half, what is left of the region there; and whether LENGTH bytes are.
    low: DFF<Bits<32>>,
    carry: DFF<Bit>,
    high: DFF<Bits<32>>,
    in_host: DFF<Bit>,
    left: DFF<Bits<32>>,
    fits: DFF<Bit>,
    done_mask: Reg<Bits<8>>,
    refused_mask: Reg<Bits<8>>,
    full_mask: Reg<Bits<8>>,
    issued_mask: Reg<Bits<8>>,
    decided: DFF<Decided>,
    moves: Reg<Bit>,
    placing: DFF<Command>,
    place_waits: Reg<Bit>,
    saying: DFF<Message>,
    message_waits: Reg<Bit>,
    far: FarQueue,
    /// It had room for a command.
    far_fits: DFF<Bit>,
    /// The last word of a far command is written; it counts.
    far_closes: Reg<Bit>,
    far_counts: Reg<Bit>,
    /// A put, or a put of host memory or a get, is on its way to the initiator.
    put_leaves: Reg<Bit>,
    host_put_leaves: Reg<Bit>,
    chosen: Signal<Local, Ask>,
    chosen_value: Signal<Local, Bits<32>>,
    _hpus: usize,
}

impl CommandUnit {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "CommandUnit: {hpus} HPUs cannot be served; choose 1 to 8");
        Self {
            ask: (0..hpus).map(|_| Default::default()).collect(),
            ask_valid: (0..hpus).map(|_| Default::default()).collect(),
            argument: (0..hpus).map(|_| Default::default()).collect(),
            _hpus: hpus,
            ..Default::default()
        }
    }
}

impl Logic for CommandUnit {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, runs, done_mask, refused_mask, full_mask, issued_mask, moves, place_waits);
        regs!(self, clock, reset, message_waits, far_closes, far_counts, put_leaves, host_put_leaves);
        dffs!(self, clock, hpu, mask, current, known, step, last, value, previous, told, source, length, data_legal);
        dffs!(self, clock, node_legal, host_legal, word_legal, some, low, carry, high, in_host, left, fits, decided);
        dffs!(self, clock, placing, saying, far_fits);
        clocks!(self, clock, reset, arbiter, far);
        let runs = self.runs.q.val();
        let step = self.step.q.val();
        let value = self.value.q.val();
        let current = self.current.q.val();
        let opcode = current.opcode;
        let known = self.known.q.val();
        let is_far = (opcode == bits::<4>(DMA_IN))
            | (opcode == bits::<4>(PUT))
            | (opcode == bits::<4>(PUT_HOST))
            | (opcode == bits::<4>(GET))
            | (opcode == bits::<4>(CAS))
            | (opcode == bits::<4>(ADD));
        let ends = runs & (step == self.last.q.val());

        // Whose turn it is. Behind a far command a cycle is left for its last word.
        let looks = (!runs | ends) & !(ends & is_far);
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._hpus {
            request = request.replace_bit(i, self.ask_valid[i].val());
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = looks;
        self.arbiter.lock.next = false;
        let grant = self.arbiter.grant.val();
        let begins = looks & self.arbiter.any.val();
        let select = if looks { self.arbiter.index.val().get_bits::<3>(0) } else { self.hpu.q.val() };
        self.chosen.next = Ask::default();
        self.chosen_value.next = bits::<32>(0);
        for i in 0..self._hpus {
            if select == bits::<3>(i as u64) {
                self.chosen.next = self.ask[i].val();
                self.chosen_value.next = self.argument[i].val();
            }
        }
        let chosen = self.chosen.val();
        self.taken.next = if looks { grant } else { bits::<8>(0) };
        self.word.next = if looks { bits::<4>(map::CMD_SOURCE as u64 / 4) } else { word_of(step + 1) };
        self.index.next = (select, chosen.bank).cat::<5>();
        self.value.d.next = self.chosen_value.val();
        self.previous.d.next = value;
        if looks {
            self.runs.d.next = begins;
            self.hpu.d.next = select;
            self.mask.d.next = grant;
            self.current.d.next = chosen;
            self.known.d.next = self.limits.val();
            self.step.d.next = bits::<4>(0);
            self.last.d.next = last_step(chosen.opcode);
        } else {
            self.step.d.next = step + 1;
            if ends {
                self.runs.d.next = false;
            }
        }

        // SOURCE.
        let of_source = step == bits::<4>(0);
        let in_packet = value.get_bits::<4>(28) == bits::<4>(PACKET);
        let in_scratch = value.get_bits::<4>(28) == bits::<4>(SCRATCH);
        let bound =
            if in_packet { bit_cast::<17, 12>(known.packet_size) } else { bit_cast::<17, 16>(known.scratch_size) };
        let first_beat =
            if in_packet { (bits::<1>(0), known.origin.slot, bits::<5>(0)).cat::<10>() } else { known.scratch_beat };
        let source_left = bound - bit_cast::<17, 16>(value.get_bits::<16>(0));
        if of_source {
            self.source.d.next = SourceFacts {
                legal: (in_packet | in_scratch)
                    & !value.get_bits::<6>(0).any()
                    & !value.get_bits::<12>(16).any()
                    & !source_left.get_bit(16),
                in_packet: in_packet,
                beat: first_beat | value.get_bits::<10>(6),
                left: source_left.get_bits::<16>(0),
            };
        }

        // LENGTH.
        let source = self.source.q.val();
        let of_length = step == bits::<4>(1);
        let in_slot = value.any() & (value <= bits::<32>(LONGEST));
        let data_legal = source.legal & in_slot & (bit_cast::<16, 12>(value.get_bits::<12>(0)) <= source.left);
        if of_length {
            self.length.d.next = value;
            self.data_legal.d.next = data_legal;
        }
        let length = self.length.q.val();

        // The host address: an offset in the host region, in ADDR or in SOURCE. Its high half is a cycle late.
        let of_host = opcode == bits::<4>(PUT_HOST);
        let of_address = step == bits::<4>(2);
        let sum = bit_cast::<33, 32>(known.host_low) + bit_cast::<33, 32>(value);
        let host_left = bit_cast::<33, 32>(known.host_size) - bit_cast::<33, 32>(value);
        if (of_host & of_source) | (!of_host & of_address) {
            self.low.d.next = sum.get_bits::<32>(0);
            self.carry.d.next = sum.get_bit(32);
            self.in_host.d.next = !host_left.get_bit(32);
            self.left.d.next = host_left.get_bits::<32>(0);
        }
        self.high.d.next = known.host_high + bit_cast::<32, 1>(self.carry.q.val().into());
        let left = self.left.q.val();
        self.fits.d.next = length <= left;
        let short_fits = left.get_bits::<20>(12).any() | (length.get_bits::<12>(0) <= left.get_bits::<12>(0));
        let offset_legal = self.in_host.q.val() & short_fits;
        if step == bits::<4>(3) {
            self.host_legal.d.next = offset_legal & !value.any();
        }

        // The other words.
        if step == bits::<4>(4) {
            self.node_legal.d.next = !value.get_bits::<8>(8).any();
        }
        let low = self.low.q.val();
        let is_wide = length == bits::<32>(8);
        let aligned = !low.get_bits::<2>(0).any() & !(is_wide & low.get_bit(2));
        self.word_legal.d.next = (is_wide | (length == bits::<32>(4))) & aligned;
        self.some.d.next = length.any();

        // The decision. ADDR_HI is in `value` for those that are decided with it.
        let dma_legal = self.data_legal.q.val() & offset_legal & !value.any();
        let there = self.node_legal.q.val();
        let legal = match opcode.to_u64() {
            SEND => data_legal & (value >= bits::<32>(SHORTEST_FRAME)),
            PLACE => known.origin.has_packet,
            DMA_OUT | DMA_IN => dma_legal,
            PRINT => true,
            EVENT | COMPLETE => self.rings_open.val().get_bit(known.origin.context.index()),
            PUT => self.data_legal.q.val() & there,
            PUT_HOST => self.some.q.val() & self.in_host.q.val() & self.fits.q.val() & there,
            GET => self.some.q.val() & there,
            CAS | ADD => self.word_legal.q.val() & self.host_legal.q.val(),
            _ => false,
        } & self.enabled.val().get_bit(opcode.index());
        let is_place = opcode == bits::<4>(PLACE);
        let is_print = opcode == bits::<4>(PRINT);
        let tells = is_print | (opcode == bits::<4>(EVENT)) | (opcode == bits::<4>(COMPLETE));
        let place_full = self.place_waits.q.val();
        let message_full = self.message_waits.q.val();
        let far_full = !self.far_fits.q.val();
        let is_put = opcode == bits::<4>(PUT);
        let asks_host = of_host | (opcode == bits::<4>(GET));
        let put_leaves = self.put_leaves.q.val();
        let host_put_leaves = self.host_put_leaves.q.val();
        let occupied = if tells {
            message_full
        } else {
            current.full
                | (is_place & place_full)
                | (is_far & far_full)
                | (is_put & put_leaves)
                | (asks_host & host_put_leaves)
        };
        let takes = ends & legal & !occupied;
        let mask = self.mask.q.val();
        self.done_mask.d.next = if takes { mask } else { bits::<8>(0) };
        self.refused_mask.d.next = if ends & !legal { mask } else { bits::<8>(0) };
        self.full_mask.d.next = if ends & legal & occupied { mask } else { bits::<8>(0) };
        let begins_command = takes & !tells;
        self.issued_mask.d.next = if begins_command { mask } else { bits::<8>(0) };
        self.answered.next = if ends { mask } else { bits::<8>(0) };
        self.accept.next = if begins_command { mask } else { bits::<8>(0) };
        self.put_leaves.d.next = (takes & is_put) | (put_leaves & !self.put_left.val());
        self.host_put_leaves.d.next = (takes & asks_host) | (host_put_leaves & !self.host_put_left.val());
        let is_dma = opcode == bits::<4>(DMA_OUT);
        let reads = (opcode == bits::<4>(SEND)) | is_put | is_dma;
        let writes = opcode == bits::<4>(DMA_IN);
        self.accept_packet.next = (reads | writes) & source.in_packet;
        self.accept_slot.next = known.origin.slot;
        self.done.next = self.done_mask.q.val();
        self.refused.next = self.refused_mask.q.val();
        self.full.next = self.full_mask.q.val();
        self.issued.next = self.issued_mask.q.val();
        self.blocked.next = place_full | message_full | put_leaves | host_put_leaves | !self.far.room.val();

        // What it becomes: bytes to move,
        let issuer = Issuer { hpu: self.hpu.q.val(), handle: current.handle };
        self.decided.d.next = Decided {
            way: if is_dma {
                Way::Host
            } else if is_put {
                Way::Put
            } else {
                Way::Wire
            },
            issuer: issuer,
            context: known.origin.context,
            frame: known.origin.frame,
        };
        let decided = self.decided.q.val();
        self.issued_frame.next = decided.frame;
        self.moves.d.next = takes & reads;
        self.job_valid.next = self.moves.q.val();
        self.job.next = MoveJob {
            way: decided.way,
            issuer: decided.issuer,
            context: decided.context,
            frame: decided.frame,
            beat: source.beat,
            length: length.get_bits::<12>(0),
            address: (self.high.q.val(), low).cat::<64>(),
        };

        // a packet to place,
        let places = takes & is_place;
        self.place_waits.d.next = places | (place_full & !self.place_ready.val());
        if places {
            self.placing.d.next = Command {
                version: bits::<4>(VERSION),
                opcode: opcode,
                flags: bits::<8>(0),
                context: known.origin.context,
                cluster: self.number.val(),
                hpu: issuer.hpu,
                handle: bit_cast::<4, 2>(issuer.handle),
                frame: known.origin.frame,
                msg_slot: known.origin.msg_slot,
                pkt: known.origin.pkt,
                source: bits::<16>(0),
                length: bits::<16>(0),
                address: bits::<64>(0),
                stamp: self.cycle.val(),
                spare: bits::<16>(0),
            };
        }
        let placing = self.placing.q.val();
        self.place.next = placing;
        self.place_valid.next = place_full;
        self.placed.next = place_full & self.place_ready.val();
        self.placed_issuer.next = Issuer { hpu: placing.hpu, handle: placing.handle.get_bits::<2>(0) };

        // something to say,
        let count = if length > bits::<32>(CHARACTERS) { bits::<4>(CHARACTERS) } else { length.get_bits::<4>(0) };
        let says = takes & tells & (!is_print | count.any());
        self.message_waits.d.next = says | (message_full & !self.message_ready.val());
        if says {
            self.saying.d.next = Message {
                opcode: opcode,
                piece: PrintPiece {
                    who: (
                        bits::<6>(0),
                        known.origin.kind,
                        bit_cast::<8, 3>(self.number.val()),
                        bit_cast::<8, 3>(issuer.hpu),
                        known.origin.context,
                        count,
                    )
                        .cat::<32>(),
                    frame: known.origin.frame,
                    low: self.previous.q.val(),
                    high: value,
                },
                msg_slot: known.origin.msg_slot,
                length: length,
            };
        }
        self.message.next = self.saying.q.val();
        self.message_valid.next = message_full;

        // or words for the far unit: first who asks, then each word one cycle behind its check.
        let by_offset = writes | (opcode == bits::<4>(CAS)) | (opcode == bits::<4>(ADD));
        self.told.d.next = match step.index() {
            0 => {
                if of_host {
                    Told::Low
                } else if writes {
                    Told::Place
                } else {
                    Told::Plain
                }
            }
            2 => {
                if by_offset {
                    Told::Low
                } else {
                    Told::Plain
                }
            }
            3 => {
                if by_offset {
                    Told::High
                } else {
                    Told::Plain
                }
            }
            7 => {
                if of_host {
                    Told::High
                } else {
                    Told::Plain
                }
            }
            _ => Told::Plain,
        };
        let header =
            (bits::<3>(0), opcode, issuer.hpu, issuer.handle, known.origin.context, known.origin.frame).cat::<32>();
        let told = match self.told.q.val() {
            Told::Plain => self.previous.q.val(),
            Told::Place => bit_cast::<32, 10>(source.beat),
            Told::Low => low,
            Told::High => self.high.q.val(),
        };
        let heads = runs & of_source;
        self.far_closes.d.next = ends & is_far & !far_full;
        self.far_counts.d.next = takes & is_far;
        let closes = self.far_closes.q.val();
        self.far.starts.next = heads;
        self.far.word.next = if heads { header } else { told };
        self.far.write.next = (runs & is_far & !far_full) | closes;
        self.far.keep.next = self.far_counts.q.val();
        if looks {
            self.far_fits.d.next = self.far.room.val();
        }
        self.far_word.next = self.far.read.val();
        self.far_valid.next = self.far.read_valid.val();
        self.far.read_ready.next = self.far_ready.val();
    }
}
