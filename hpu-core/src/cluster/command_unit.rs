//! Command unit of a cluster: decides on the commands that the HPUs issue, one after the other, and starts them.
//!
//! | neighbour | ports |
//! |---|---|
//! | command ports | in `request[h]` / out `request_taken` (a bit per HPU); out `word` |
//! | | in `argument[h]`, `argument_written[h]`, in the same cycle |
//! | | out `answered`, `accept` (a bit per HPU) with `accept_packet`, `accept_slot`, with `done`; out `blocked` |
//! | HPUs | out `done`, `refused`, `full`: one pulse per ISSUE |
//! | task records | out `index`, `looks`; in `limits`, one cycle later and until the next read: task and limits of the command |
//! | array | in `number`, `cycle`; in `enabled`: opcodes that are implemented |
//! | | in `rings_open`: contexts whose process has an open event ring |
//! | | in `packets_full`: contexts whose packets keep as many cells as they may for reliable puts |
//! | read DMA | out `job`: always taken; in `stage_left`: the last beat of the stage was read |
//! | L2 copy | out `stage_request` / in `staged`: the bytes are in the stage; in `segment`: a segment needs it / out `lent`: it gets it |
//! | | in `segment_goes`: the segment in this stage is the next to leave |
//! | scheduler | out `place`; out `placed`: issuer of a PLACE or REDIRECT that is done |
//! | | the end of a TASK and of a redirect of bytes comes as that of a put |
//! | command ports | out `unkept`: issuer of a reliable put of a packet that cannot keep its cells |
//! | reports | out `message` |
//! | off-cluster unit | out `off_cluster`; in `put_left`, `host_put_left`: the initiator has taken a put |
//! | trace | out `issued` (a bit per HPU), `issued_frame` |
//!
//! Round robin among the HPUs. The words of a command are read one per cycle and judged by the
//! [check](crate::cluster::command_check):
//!
//! | cycle | event |
//! |---|---|
//! | 0 | ISSUE is written |
//! | 1 | the HPU is chosen; SOURCE is read; the next words follow, one per cycle |
//! | n + 1 | the last of n words is judged; decision: 3 for SEND_PACKET and PLACE, 5 with ADDR_HI, up to 11 |
//! | n + 2 | `done`, `refused` or `full`; the `job` goes to the read DMA; the next HPU's second word |
//!
//! *done*: the command has its handle, or needs none. *refused*: the command is illegal. *full*: no handle is free, or
//! there is no room for a PLACE or REDIRECT (or for a reliable put of the packet, which needs the same), a message or an off-cluster
//! command, or the initiator has not yet taken
//! the last put (or the last PUT_HOST, PUT_CONTEXT, reliable put of a packet or GET) of the cluster; the command has no effect, and the HPU
//! issues it again when `blocked` falls. With four HPUs an ISSUE waits for three others at most.
//!
//! **Bytes in context memory.** The cluster has one *stage*, a packet slot's worth of L1. A legal SEND_PACKET, PUT,
//! DMA_TO_HOST or COMBINE from L2 takes the stage if it is free (else: *full*), and gets no answer while the [L2
//! copy](crate::array::l2_copy) copies the rows there in which its bytes lie; then the command is read and decided once more, as a command
//! from L1. The stage is free again when the read DMA has read it. Bytes that DMA_FROM_HOST brings to L2 do not pass
//! the stage.
//!
//! **Segments of a PUT_CONTEXT** pass the stage, too, when the initiator sends them, perhaps long after the command:
//! between two commands the stage is *lent*, the L2 copy fills it, and the read DMA gets a job without an issuer when the segments
//! before have begun to leave.
//! Segments and commands that need the stage take turns.
//!
//! | command | is refused unless |
//! |---|---|
//! | SEND_PACKET, PUT, DMA_TO_HOST, DMA_FROM_HOST, COMBINE | SOURCE is an address in the packet, scratch or context region |
//! | | LENGTH is 1 to 2048 (a frame: 14 or more); SOURCE + LENGTH is within the region's bound |
//! | COMBINE | ADDR_LO is an address in the packet or scratch region; ADDR_LO + LENGTH is within the region's bound |
//! | | ADDR_HI is an operation (`memory_map::COMBINE_OPERATIONS`); LENGTH is a multiple of the element's |
//! | DMA_*, HOST_* | [ADDR, ADDR + LENGTH) is inside the context's host region; HOST_*: 4 or 8 bytes, naturally aligned |
//! | PUT_HOST | [SOURCE, SOURCE + LENGTH) is inside the host region, LENGTH is not 0 |
//! | PUT_CONTEXT | [SOURCE, SOURCE + LENGTH) is inside the context region, LENGTH is not 0 |
//! | GET | LENGTH is not 0 |
//! | PUT, PUT_HOST, PUT_CONTEXT, GET | bits 15 to 8 of NODE are 0 |
//! | PUT with RELIABLE | [SOURCE, SOURCE + LENGTH) is inside the packet, without its tailroom |
//! | PLACE, REDIRECT | the task has a packet |
//! | TASK, a REDIRECT with a flag | LENGTH is below 2^31, or `TASK_CANCEL` |
//! | REDIRECT of bytes | SOURCE is an address in the packet region; LENGTH is 1 to 2048; SOURCE + LENGTH is within the frame |
//! | | KEY is an epoch with the flag REDIRECT_EPOCH, or below 2^16 |
//! | EVENT, COMPLETE | the ring of the context's process is open |
//! | PRINT | never: a PRINT has at most eight characters, and no effect if LENGTH is 0 |
//!
//! **A reliable put of the packet** (PUT with RELIABLE) goes two ways: to the scheduler, as a PLACE does and before the end of the
//! handler, so that the packet keeps its cells, and to the off-cluster unit as a PUT_CONTEXT does. While `packets_full` has its context,
//! it goes neither way: it is *done*, and its handle ends with an error in the next cycle.
//!
//! An off-cluster command is written into a queue of words while it is checked; the queue drops a refused one. The
//! order of its words: [`OffClusterCommand`].

use crate::array::off_cluster_queue::{OffClusterCommand, OffClusterHeader, OffClusterQueue, HEADER_BITS};
use crate::array::rr_arbiter4::RrArbiter4;
use crate::cluster::command_check::CommandCheck;
use crate::cluster::command_rules::{
    class_of, class_with, destination_of, last_step, names_byte, puts_packet, word_of, word_source_of, CommandClass,
    WordSource, COMBINE, COMPLETE, PLACE, PRINT, PUT, PUT_CONTEXT, REDIRECT, STAGE,
};
use crate::types::{
    CombineTarget, Destination, IssueRequest, Issuer, Limits, Message, MoveJob, PrintPiece, StageRequest,
};
use spindle_blocks::{replicate, Command, CommandIssuer};
use spindle_contract::descriptors::array_address;
use spindle_contract::memory_map::{self as map, HANDLE_BITS};
use spindle_verilog::prelude::*;

const CHARACTERS: u64 = 8;
const _: () = assert!(array_address::OF_PACKET == 30 && array_address::PACKET == 20);

/// The command that was decided in the cycle before.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Decided {
    /// Where its bytes go.
    pub destination: Destination,
    /// Checksums are inserted.
    pub checksum: Bit,
    /// Who issued it.
    pub issuer: Issuer,
    /// Context.
    pub context: Bits<4>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// It reads or writes the task's packet,
    pub with_packet: Bit,
    /// in this slot.
    pub slot: Bits<4>,
}

/// The command unit. See the module text.
#[block]
pub struct CommandUnit {
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Cycles since reset, low half, for the stamp.
    pub cycle: Signal<In, Bits<32>>,
    /// Opcodes that are implemented.
    pub enabled: Signal<In, Bits<16>>,
    /// Contexts whose process has an open event ring.
    pub rings_open: Signal<In, Bits<16>>,
    /// Contexts whose packets keep as many cells as they may.
    pub packets_full: Signal<In, Bits<16>>,
    /// ISSUEs of the HPUs.
    pub request: Vec<PulseSink<IssueRequest>>,
    /// Word of the port that is read.
    pub word: Signal<Out, Bits<4>>,
    /// The word,
    pub argument: Vec<Signal<In, Bits<32>>>,
    /// if it was written; else it is 0.
    pub argument_written: Vec<Signal<In, Bit>>,
    /// The unit examines the ISSUE of this HPU.
    pub request_taken: Signal<Out, Bits<8>>,
    /// The ISSUE is decided.
    pub answered: Signal<Out, Bits<8>>,
    /// The command gets its handle.
    pub accept: Signal<Out, Bits<8>>,
    /// It reads the task's packet,
    pub accept_packet: Signal<Out, Bit>,
    /// in this slot.
    pub accept_slot: Signal<Out, Bits<4>>,
    /// Some commands find no room.
    pub blocked: Signal<Out, Bit>,
    /// The command is in flight.
    pub done: Signal<Out, Bits<8>>,
    /// The command is illegal.
    pub refused: Signal<Out, Bits<8>>,
    /// There is no room for the command.
    pub full: Signal<Out, Bits<8>>,
    /// Task of the command, {HPU, bank}.
    pub index: Signal<Out, Bits<5>>,
    /// The record is read.
    pub looks: Signal<Out, Bit>,
    /// Task and limits of the command whose record was read last.
    pub limits: Signal<In, Limits>,
    /// Bytes of L1 to move.
    pub job: Pulse<MoveJob>,
    /// The read DMA has read the last beat of the stage.
    pub stage_left: Signal<In, Bit>,
    /// Bytes of L2 for the stage.
    pub stage_request: Pulse<StageRequest>,
    /// The bytes are in the stage.
    pub staged: Signal<In, Bit>,
    /// A segment that is to pass the stage.
    pub segment: PulseSink<StageRequest>,
    /// The segment gets the stage; `stage_request` asks for its bytes.
    pub lent: Signal<Out, Bit>,
    /// The segments before this one have begun to leave.
    pub segment_goes: Signal<In, Bit>,
    /// A packet to place or to redirect.
    pub place: Source<Command>,
    /// Issuer of a PLACE or REDIRECT that is done; a TASK and a redirect of bytes end otherwise.
    pub placed: Pulse<Issuer>,
    /// Issuer of a reliable put of a packet that cannot keep its cells: it has failed.
    pub unkept: Pulse<Issuer>,
    /// A PRINT, EVENT or COMPLETE.
    pub message: Source<Message>,
    /// Off-cluster commands.
    pub off_cluster: Source<OffClusterCommand>,
    /// The put on its way to the initiator has been taken.
    pub put_left: Signal<In, Bit>,
    /// The put of host memory, or the get, has been taken.
    pub host_put_left: Signal<In, Bit>,
    /// HPUs that issued a command.
    pub issued: Signal<Out, Bits<8>>,
    /// Frame sequence number of its packet.
    pub issued_frame: Signal<Out, Bits<16>>,
    arbiter: RrArbiter4,
    check: CommandCheck,
    /// The HPU whose command is read.
    hpu: DFF<Bits<3>>,
    mask: DFF<Bits<8>>,
    current: DFF<IssueRequest>,
    /// The command is a PUT_CONTEXT, or a reliable put of the packet.
    of_context: DFF<Bit>,
    of_packet: DFF<Bit>,
    /// The command is carried out outside the cluster.
    is_off_cluster: DFF<Bit>,
    /// The command is a redirect of bytes; its epoch and its offset.
    of_bytes: DFF<Bit>,
    epoch: DFF<Bits<17>>,
    offset: DFF<Bits<32>>,
    /// Word that is read next, if the command has further words.
    next_word: DFF<Bits<4>>,
    runs: Reg<Bit>,
    /// Number of the word in `value`, and of the last one; `value` is the last one.
    step: DFF<Bits<4>>,
    last: DFF<Bits<4>>,
    at_last: DFF<Bit>,
    /// Zero if the word was not written.
    value: DFF<Bits<32>>,
    word_source: DFF<WordSource>,
    takes_byte: DFF<Bit>,
    takes_packet: DFF<Bit>,
    done_mask: Reg<Bits<8>>,
    refused_mask: Reg<Bits<8>>,
    full_mask: Reg<Bits<8>>,
    issued_mask: Reg<Bits<8>>,
    decided: DFF<Decided>,
    fails: Reg<Bit>,
    moves: Reg<Bit>,
    place_reg: DFF<Command>,
    place_reg_valid: Reg<Bit>,
    message_reg: DFF<Message>,
    message_reg_valid: Reg<Bit>,
    queue: OffClusterQueue,
    /// The queue had room for a command.
    off_cluster_fits: DFF<Bit>,
    /// The last word of an off-cluster command is written; the command is kept.
    off_cluster_ends: Reg<Bit>,
    off_cluster_keeps: Reg<Bit>,
    /// A put, or a put of host memory or a get, is on its way to the initiator.
    put_leaves: Reg<Bit>,
    host_put_leaves: Reg<Bit>,
    /// The stage is in use; bytes are copied to it; for the command of this HPU; the bytes are there; the command is to
    /// be decided again.
    stage_used: Reg<Bit>,
    stage_begins: Reg<Bit>,
    stage_fills: Reg<Bit>,
    stage_owner: DFF<Bits<8>>,
    stage_full: Reg<Bit>,
    stage_retries: Reg<Bit>,
    stage_request_reg: DFF<StageRequest>,
    /// The stage is, or was last, a segment's; it was lent in the last cycle; a command found it in use; a segment is ready for
    /// the read DMA.
    of_segment: Reg<Bit>,
    stage_lent: Reg<Bit>,
    stage_missed: Reg<Bit>,
    segment_moves: Reg<Bit>,
    _hpus: usize,
    /// Highest number of an HPU: the mask of HPU numbers.
    _highest: u64,
}

impl CommandUnit {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "CommandUnit: {hpus} HPUs cannot be served; choose 1 to 8");
        Self {
            request: replicate(hpus),
            argument: replicate(hpus),
            argument_written: replicate(hpus),
            _hpus: hpus,
            _highest: hpus.next_power_of_two() as u64 - 1,
            ..Self::blank()
        }
    }
}

/// The decision on a command.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The command starts.
    pub takes: Bit,
    /// Its bytes are copied to the stage first,
    pub fills: Bit,
    /// which is in use.
    pub misses: Bit,
    /// It is decided again, with its bytes in the stage.
    pub stays: Bit,
    /// Its bytes are in the stage.
    pub staged: Bit,
    /// It is a PLACE or REDIRECT, or a put whose packet keeps its cells.
    pub is_place: Bit,
    /// It is a put whose packet cannot keep its cells.
    pub fails: Bit,
    /// An off-cluster command finds no room.
    pub off_cluster_full: Bit,
}

#[hdl]
impl CommandUnit {
    fn update(&mut self) {
        let opcode = self.current.q.val().opcode;
        let command_class = class_with(opcode, self.of_packet.q.val());
        let issuer = Issuer { hpu: self.hpu.q.val(), handle: self.current.q.val().handle };
        let ends = self.runs.q.val() & self.at_last.q.val();
        // After an off-cluster command a cycle is left for its last word.
        let looks = !self.runs.q.val() | (self.at_last.q.val() & !self.is_off_cluster.q.val());
        let grant = self.choose(looks, ends);
        let decision = self.decide(opcode, command_class, ends);
        self.use_stage(decision, ends, grant);
        self.start_job(opcode, command_class, issuer, decision.takes);
        self.start_place(opcode, issuer, decision);
        self.start_message(opcode, command_class, issuer, decision.takes);
        self.write_words(opcode, command_class, issuer, decision, looks, ends);
    }

    /// Chooses an HPU if the unit `looks` for one, and reads the next word.
    fn choose(&mut self, looks: Bit, ends: Bit) -> Bits<8> {
        let step = self.step.q.val();
        let retries = if self.stage_retries.q.val() { self.stage_owner.q.val() } else { bits::<8>(0) };
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._hpus {
            request = request.replace_bit(i, self.request[i].valid.val() | retries.get_bit(i));
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = looks;
        let grant = if looks { self.arbiter.grant.val() } else { bits::<8>(0) };
        let number = (if looks { self.arbiter.index.val() } else { self.hpu.q.val() }) & self._highest;
        let chosen = select(number, self.request.vals());
        let argument = select(number, self.argument.vals());
        let is_written = select(number, self.argument_written.vals());
        self.request_taken.next = grant;
        self.word.next = if looks { bits::<4>(map::CMD_SOURCE as u64 / 4) } else { self.next_word.q.val() };
        self.next_word.d.next = word_of(step + 2, self.of_bytes.q.val());
        self.index.next = (number, chosen.bank).cat::<5>();
        self.looks.next = looks;
        self.value.d.next = if is_written { argument } else { bits::<32>(0) };
        self.step.d.next = step + 1;
        // A command has two words at least.
        self.at_last.d.next = !looks & (step + 1 == self.last.q.val());
        if looks {
            self.runs.d.next = self.arbiter.any.val();
            self.hpu.d.next = number;
            self.mask.d.next = grant;
            self.current.d.next = chosen;
            self.of_context.d.next = chosen.opcode == bits::<4>(PUT_CONTEXT);
            self.of_packet.d.next = puts_packet(chosen.opcode, chosen.flags);
            self.is_off_cluster.d.next = class_of(chosen.opcode).off_cluster;
            self.next_word.d.next = bits::<4>(map::CMD_LENGTH as u64 / 4);
            self.step.d.next = bits::<4>(0);
            self.of_bytes.d.next = chosen.flags.get_bit(1);
            self.last.d.next = last_step(chosen.opcode, chosen.flags.get_bit(1));
            self.off_cluster_fits.d.next = self.queue.room.val();
        } else if ends {
            self.runs.d.next = false;
        }
        grant
    }

    /// Judges the command: whether it is legal, and whether there is room for it.
    fn decide(&mut self, opcode: Bits<4>, command_class: CommandClass, ends: Bit) -> Decision {
        let mask = self.mask.q.val();
        let staged = self.stage_full.q.val() & (self.stage_owner.q.val() & mask).any();
        self.check.step.next = self.step.q.val();
        self.check.value.next = self.value.q.val();
        self.check.opcode.next = opcode;
        self.check.of_context.next = self.of_context.q.val();
        self.check.limits.next = self.limits.val();
        self.check.staged.next = staged;
        self.check.flags.next = self.current.q.val().flags;
        self.check.of_packet.next = self.of_packet.q.val();
        self.check.enabled.next = self.enabled.val().get_bit(opcode.index());
        self.check.ring_open.next = self.rings_open.val().get_bit(self.limits.val().origin.context.index());

        let of_packet = self.of_packet.q.val();
        let is_place = (opcode == bits::<4>(PLACE)) | (opcode == bits::<4>(REDIRECT)) | of_packet;
        let fails = of_packet & self.packets_full.val().get_bit(self.limits.val().origin.context.index());
        let completes = opcode == bits::<4>(COMPLETE);
        let place_full = self.place_reg_valid.q.val();
        let message_full = self.message_reg_valid.q.val();
        let off_cluster_full = !self.off_cluster_fits.q.val();
        let put_leaves = self.put_leaves.q.val();
        let host_put_leaves = self.host_put_leaves.q.val();
        let stage_used = self.stage_used.q.val();
        let occupied = if command_class.is_message {
            message_full | (completes & place_full)
        } else {
            self.current.q.val().full
                | (is_place & place_full)
                | (command_class.off_cluster & off_cluster_full)
                | (command_class.put & put_leaves)
                | (command_class.host_put & host_put_leaves)
        };
        self.blocked.next =
            place_full | message_full | put_leaves | host_put_leaves | stage_used | !self.queue.room.val();

        // A command whose bytes are in L2 waits for the stage, then for the room that others may have taken meanwhile.
        let decides = ends & self.check.legal.val();
        let stages = command_class.reads & self.check.source.val().in_context & !staged;
        let fills = decides & stages & !occupied & !stage_used;
        let misses = decides & stages & !occupied & stage_used;
        let stays = fills | (decides & staged & occupied);
        let takes = decides & !stages & !occupied;
        let accepts = takes & !command_class.is_message;
        self.done_mask.d.next = if takes { mask } else { bits::<8>(0) };
        self.refused_mask.d.next = if ends & !self.check.legal.val() { mask } else { bits::<8>(0) };
        self.full_mask.d.next = if decides & !takes & !stays { mask } else { bits::<8>(0) };
        self.issued_mask.d.next = if accepts { mask } else { bits::<8>(0) };
        self.answered.next = self.done_mask.q.val() | self.refused_mask.q.val() | self.full_mask.q.val();
        self.accept.next = self.issued_mask.q.val();
        self.put_leaves.d.next = (takes & command_class.put) | (put_leaves & !self.put_left.val());
        self.host_put_leaves.d.next =
            (takes & command_class.host_put & !fails) | (host_put_leaves & !self.host_put_left.val());
        self.fails.d.next = takes & fails;
        self.unkept.offer(self.fails.q.val(), self.decided.q.val().issuer);
        self.done.next = self.done_mask.q.val();
        self.refused.next = self.refused_mask.q.val();
        self.full.next = self.full_mask.q.val();
        self.issued.next = self.issued_mask.q.val();
        Decision { takes, fills, misses, stays, staged, is_place, fails, off_cluster_full }
    }

    /// Gives the stage to commands and segments in turn. A command that found it in use goes before the next segment;
    /// the claim lapses, since that command may have been given up with its handler.
    fn use_stage(&mut self, decision: Decision, ends: Bit, grant: Bits<8>) {
        let of_segment = self.of_segment.q.val();
        let stage_used = self.stage_used.q.val();
        let stage_missed = self.stage_missed.q.val();
        let fills = decision.fills;
        let staged = decision.staged;
        let owner = self.stage_owner.q.val();
        let lapses = !self.cycle.val().get_bits::<6>(0).any();
        let lends = self.segment.valid.val() & !stage_used & !ends & !(of_segment & stage_missed);
        self.stage_missed.d.next = decision.misses | (stage_missed & !fills & (stage_used | !lapses));
        self.of_segment.d.next = lends | (of_segment & !fills);
        self.stage_used.d.next = fills | lends | (stage_used & !self.stage_left.val());
        self.stage_begins.d.next = fills;
        let begins = self.stage_begins.q.val();
        self.stage_fills.d.next = begins | lends | (self.stage_fills.q.val() & !self.staged.val());
        let own_staged = self.staged.val() & !of_segment;
        self.stage_full.d.next = own_staged | (self.stage_full.q.val() & !(decision.takes & staged));
        self.stage_retries.d.next =
            own_staged | (decision.stays & staged) | (self.stage_retries.q.val() & !(grant & owner).any());
        self.stage_owner.load(fills, self.mask.q.val());
        self.stage_lent.d.next = lends;
        self.lent.next = self.stage_lent.q.val();
        let waits = self.moves.q.val() | !self.segment_goes.val();
        self.segment_moves.d.next = (self.staged.val() & of_segment) | (self.segment_moves.q.val() & waits);
        // LENGTH is the last word of a SEND_PACKET, so it is known only now.
        if begins {
            let source = self.check.source.val();
            self.stage_request_reg.d.next = StageRequest {
                at: (source.beat, source.offset).cat::<20>(),
                length: self.check.length.val().get_bits::<12>(0),
                ..Default::default()
            };
        } else if lends {
            self.stage_request_reg.d.next = self.segment.val();
        }
        self.stage_request.offer(self.stage_fills.q.val(), self.stage_request_reg.q.val());
    }

    /// Hands bytes of L1 to the read DMA.
    fn start_job(&mut self, opcode: Bits<4>, command_class: CommandClass, issuer: Issuer, takes: Bit) {
        let limits = self.limits.val();
        let moves = self.moves.q.val();
        let segment_moves = self.segment_moves.q.val() & !moves & self.segment_goes.val();
        self.decided.d.next = Decided {
            destination: destination_of(opcode),
            checksum: self.current.q.val().flags.get_bit(0),
            issuer,
            context: limits.origin.context,
            frame: limits.origin.frame,
            with_packet: (self.check.source.val().in_packet & (command_class.reads | command_class.writes))
                | (self.check.destination.val().in_packet & (opcode == bits::<4>(COMBINE))),
            slot: limits.origin.slot,
        };
        let decided = self.decided.q.val();
        self.accept_packet.next = decided.with_packet;
        self.accept_slot.next = decided.slot;
        self.issued_frame.next = decided.frame;
        self.moves.d.next = takes & command_class.reads;
        self.job.valid.next = moves | segment_moves;
        let segment = self.stage_request_reg.q.val();
        // A segment has no issuer that waits for its end, and is no transfer of the host: the other fields do not
        // count.
        let length = self.check.length.val();
        let source = self.check.source.val();
        let from = (source.beat.get_bits::<10>(0), source.offset).cat::<16>();
        // Of a COMBINE: the source's address of lane 0 of the destination's first beat. The first element is in the lane
        // of its first byte, or up to three lanes further up.
        let destination = self.check.destination.val();
        let combines = decided.destination == Destination::Combiner;
        let lane = (bit_cast::<7, 6>(destination.offset) + 3).get_bits::<5>(2);
        let lane = (lane & repeat::<5>(combines), bits::<2>(0)).cat::<7>();
        // ADDR_HI was the last word.
        let operation = self.check.previous.val();
        let target = CombineTarget {
            to: (destination.beat.get_bits::<10>(0), destination.offset).cat::<16>(),
            operation: operation.get_bits::<5>(0),
            constant: operation.get_bits::<8>(8),
            staged: source.beat.get_bits::<5>(5) == bits::<5>(STAGE / 32),
            spare: bits::<34>(0),
        };
        self.job.next = MoveJob {
            destination: if moves { decided.destination } else { Destination::Segment },
            checksum: moves & decided.checksum,
            issuer: decided.issuer,
            context: decided.context,
            frame: decided.frame,
            at: if moves {
                from - bit_cast::<16, 7>(lane)
            } else {
                (bits::<10>(STAGE), segment.at.get_bits::<6>(0)).cat::<16>()
            },
            length: if moves { length.get_bits::<12>(0) } else { segment.length },
            address: if combines { pack(target) } else { (self.check.high.val(), self.check.low.val()).cat::<64>() },
        };
    }

    /// Hands a PLACE, REDIRECT or COMPLETE to the scheduler, or a put whose packet keeps its cells.
    fn start_place(&mut self, opcode: Bits<4>, issuer: Issuer, decision: Decision) {
        let limits = self.limits.val();
        let place_full = self.place_reg_valid.q.val();
        let places = decision.takes & !decision.fails & (decision.is_place | (opcode == bits::<4>(COMPLETE)));
        let of_bytes = self.of_bytes.q.val();
        self.epoch.load(self.step.q.val() == bits::<4>(2), self.value.q.val().get_bits::<17>(0));
        self.offset.load(self.step.q.val() == bits::<4>(3), self.value.q.val());
        let source = self.check.source.val();
        let flags = self.current.q.val().flags & repeat::<2>(opcode == bits::<4>(REDIRECT));
        let by_epoch = self.epoch.q.val().get_bit(16) & of_bytes;
        self.place_reg_valid.d.next = places | (place_full & !self.place.ready.val());
        if places {
            self.place_reg.d.next = Command {
                version: bits::<4>(spindle_contract::VERSION),
                opcode,
                flags: (bits::<5>(0), by_epoch, flags).cat::<8>(),
                context: limits.origin.context,
                issuer: CommandIssuer {
                    cluster: self.number.val(),
                    hpu: issuer.hpu,
                    handle: zext::<4, HANDLE_BITS>(issuer.handle),
                },
                frame: limits.origin.frame,
                msg_slot: limits.origin.msg_slot,
                pkt: limits.origin.pkt,
                offset: if of_bytes { self.offset.q.val() } else { self.check.length.val() },
                address: (self.value.q.val(), self.check.previous.val()).cat::<64>(),
                stamp: self.cycle.val(),
                first: (source.beat.get_bits::<5>(0), source.offset).cat::<11>(),
                length: self.check.length.val().get_bits::<12>(0),
                epoch: self.epoch.q.val().get_bits::<16>(0),
                ..Default::default()
            };
        }
        let place_reg = self.place_reg.q.val();
        self.place.offer(place_full, place_reg);
        // A COMPLETE has no handle, and the end of others comes with that of a put.
        let ends_later = place_reg.flags.get_bits::<2>(0).any()
            | (place_reg.opcode == bits::<4>(COMPLETE))
            | (place_reg.opcode == bits::<4>(PUT));
        self.placed.valid.next = place_full & self.place.ready.val() & !ends_later;
        self.placed.next =
            Issuer { hpu: place_reg.issuer.hpu, handle: place_reg.issuer.handle.get_bits::<HANDLE_BITS>(0) };
    }

    /// Hands a PRINT, EVENT or COMPLETE to the reports.
    fn start_message(&mut self, opcode: Bits<4>, command_class: CommandClass, issuer: Issuer, takes: Bit) {
        let limits = self.limits.val();
        let length = self.check.length.val();
        let message_full = self.message_reg_valid.q.val();
        let tail = length.get_bits::<4>(0);
        let count =
            if self.check.is_long.val() | (tail > bits::<4>(CHARACTERS)) { bits::<4>(CHARACTERS) } else { tail };
        let sends_message = takes & command_class.is_message & ((opcode != bits::<4>(PRINT)) | count.any());
        self.message_reg_valid.d.next = sends_message | (message_full & !self.message.ready.val());
        if sends_message {
            self.message_reg.d.next = Message {
                opcode,
                piece: PrintPiece {
                    who: (
                        bits::<6>(0),
                        limits.origin.kind,
                        bit_cast::<8, 3>(self.number.val()),
                        bit_cast::<8, 3>(issuer.hpu),
                        limits.origin.context,
                        count,
                    )
                        .cat::<32>(),
                    frame: limits.origin.frame,
                    low: self.check.previous.val(),
                    high: self.value.q.val(),
                },
                msg_slot: limits.origin.msg_slot,
                length,
            };
        }
        self.message.offer(message_full, self.message_reg.q.val());
    }

    /// Writes the words of an off-cluster command: a header, then each word one cycle after its check.
    fn write_words(
        &mut self,
        opcode: Bits<4>,
        command_class: CommandClass,
        issuer: Issuer,
        decision: Decision,
        looks: Bit,
        ends: Bit,
    ) {
        let limits = self.limits.val();
        let step = self.step.q.val();
        let runs = self.runs.q.val();
        self.word_source.d.next = if looks { WordSource::Header } else { word_source_of(opcode, step) };
        self.takes_byte.d.next = !looks & names_byte(opcode, step);
        self.takes_packet.d.next = !looks & self.of_packet.q.val() & (step == bits::<4>(0));
        let origin = limits.origin;
        let header = OffClusterHeader {
            opcode,
            hpu: issuer.hpu,
            handle: issuer.handle,
            context: origin.context,
            frame: origin.frame,
            of_packet: self.of_packet.q.val(),
        };
        let head: Bits<HEADER_BITS> = pack(header);
        let header = zext::<32, HEADER_BITS>(head);
        let chosen_word = match self.word_source.q.val() {
            WordSource::Plain => self.check.previous.val(),
            WordSource::Header => header,
            WordSource::Low => self.check.low.val(),
            WordSource::High => self.check.high.val(),
        };
        // The byte of L1 or L2 stands in the lowest bits of the word that names it, whose other bits do not count.
        let source = self.check.source.val();
        let place = (source.in_context, source.beat, source.offset).cat::<21>();
        let lower = if self.takes_byte.q.val() { place } else { chosen_word.get_bits::<21>(0) };
        let heads = runs & (step == bits::<4>(0));
        self.off_cluster_ends.d.next = ends & command_class.off_cluster & !decision.off_cluster_full;
        self.off_cluster_keeps.d.next = decision.takes & command_class.off_cluster & !decision.fails;
        self.queue.starts.next = heads;
        // SOURCE of a reliable put of the packet becomes an `array_address`.
        let of_packet = (bits::<2>(1), limits.origin.pkt, chosen_word.get_bits::<20>(0)).cat::<32>();
        self.queue.word.next =
            if self.takes_packet.q.val() { of_packet } else { (chosen_word.get_bits::<11>(21), lower).cat::<32>() };
        self.queue.write.next =
            (runs & command_class.off_cluster & !decision.off_cluster_full) | self.off_cluster_ends.q.val();
        self.queue.keep.next = self.off_cluster_keeps.q.val();
        self.queue.read.join(&mut self.off_cluster);
    }
}
