//! The payload scheduler: packets in, tasks and placements out, in sPIN's order.
//!
//! One sequencer serves events in turn: a packet arrived, a packet's wait for its header handler is over, a task ended, a
//! placement ended, a handler wants its packet placed. What an event means is decided by the [`Evaluator`]; the state of
//! messages lies in the [`MessageTable`], that of packets in RAMs indexed by the head cell; [`Dispatch`] holds what cannot leave
//! at once. Packets that wait for a header handler form a list per message; when it returns, the list is appended to the *ready
//! list*, from which they are taken one at a time.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `packet`, `packet_valid` / out `packet_ready` | ingress join |
//! | out `free_pkt`, `free_valid` / in `free_ready` | packet buffer: cells to return |
//! | out `task_desc`, `task_valid` / in `task_ready` | HPU array |
//! | in `task_done`, `task_done_valid` / out `task_done_ready` | HPU array |
//! | in `place`, `place_valid` / out `place_ready` | HPU array; must be taken before the `task_done` of the same handler is offered |
//! | in `contexts` | HPU array: 4 bits a context |
//! | out `placement`, `placement_valid` / in `placement_ready` | RVMA engine |
//! | in `placement_done`, `placement_done_valid` / out `placement_done_ready` | RVMA engine |
//! | out `outcome`, `message_done`, `message_failed`, `to_hpu`, `to_mailbox`, `messages_open` | counters, from registers |
//!
//! Cycles: an event takes 4 (choose, read, evaluate, act). `packet_valid` of a fresh message → `task_valid` 4 when idle;
//! `task_done_valid` → next `task_valid` of the same packet 5; `place_valid` → `placement_valid` 11. No event waits for the array or for host memory, only for the
//! packet buffer to take back cells. The four sources (commands, ended tasks, ended placements, arrivals) take turns, so the
//! event at the head of each is served after at most three others: 16 cycles; an ended task first waits for at most two commands
//! that were taken before it. Waiting packets go before new arrivals; there are
//! at most as many as the buffer has cells.
//!
//! A packet that is a whole message for a mailbox needs none of this: it goes straight to `placement` (1 per cycle, 1 cycle),
//! with `has_slot` = 0, and its cells return when the RVMA engine is done with it (1 per cycle, except in the cycle in which the
//! sequencer acts).

use crate::dispatch::Dispatch;
use crate::evaluator::*;
use crate::message::*;
use crate::message_table::MessageTable;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_blocks::{
    Command, ContextStatus, Fifo, PacketDesc, PlacementDesc, PlacementDone, Skid, TaskDesc, TaskDone,
};
use spindle_contract::{descriptors::action, params::Config, wire::opcode};
use spindle_verilog::prelude::*;

const MAILBOX: u64 = action::MAILBOX as u64;
const PUT: u64 = opcode::PUT as u64;
const GET_RESP: u64 = opcode::GET_RESP as u64;
/// Level of the list of returned cells from which nothing new is begun: at most four more come.
const FREE_STOP: u64 = 11;

/// What the sequencer does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
enum Sequencer {
    /// Chooses an event; the packet's memories are addressed.
    Choose,
    /// The message's state is read.
    Read,
    /// The evaluator decides.
    Evaluate,
    /// The decision is carried out.
    Act,
}

/// A member of a list of packets: the next packet and its message.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Head cell.
    pub pkt: Bits<10>,
    /// Message table slot.
    pub slot: Bits<8>,
}

/// See the head of this file.
#[derive(LogicBlock)]
pub struct PayloadScheduler {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Accepted packet.
    pub packet: Signal<In, PacketDesc>,
    /// It is offered.
    pub packet_valid: Signal<In, Bit>,
    /// It is taken.
    pub packet_ready: Signal<Out, Bit>,
    /// Packet whose cells return.
    pub free_pkt: Signal<Out, Bits<10>>,
    /// There is one.
    pub free_valid: Signal<Out, Bit>,
    /// It is taken.
    pub free_ready: Signal<In, Bit>,
    /// Task for the array.
    pub task_desc: Signal<Out, TaskDesc>,
    /// It is offered.
    pub task_valid: Signal<Out, Bit>,
    /// It is taken.
    pub task_ready: Signal<In, Bit>,
    /// Ended task.
    pub task_done: Signal<In, TaskDone>,
    /// It is offered.
    pub task_done_valid: Signal<In, Bit>,
    /// It is taken.
    pub task_done_ready: Signal<Out, Bit>,
    /// PLACE command of a handler.
    pub place: Signal<In, Command>,
    /// It is offered.
    pub place_valid: Signal<In, Bit>,
    /// It is taken.
    pub place_ready: Signal<Out, Bit>,
    /// `ContextStatus` of context c in bits 4c+3..4c.
    pub contexts: Signal<In, Bits<64>>,
    /// Placement for the RVMA engine.
    pub placement: Signal<Out, PlacementDesc>,
    /// It is offered.
    pub placement_valid: Signal<Out, Bit>,
    /// It is taken.
    pub placement_ready: Signal<In, Bit>,
    /// Ended placement.
    pub placement_done: Signal<In, PlacementDone>,
    /// It is offered.
    pub placement_done_valid: Signal<In, Bit>,
    /// It is taken.
    pub placement_done_ready: Signal<Out, Bit>,
    /// A frame ended (pulse).
    pub outcome: Signal<Out, Outcome>,
    /// A message ended well (pulse).
    pub message_done: Signal<Out, Bit>,
    /// A message ended because a handler failed (pulse).
    pub message_failed: Signal<Out, Bit>,
    /// A frame was accepted for a context (pulse).
    pub to_hpu: Signal<Out, Bit>,
    /// Frames accepted for a mailbox in one cycle: at most one by each path.
    pub to_mailbox: Signal<Out, Bits<2>>,
    /// Messages alive.
    pub messages_open: Signal<Out, Bits<16>>,
    message_table: MessageTable,
    evaluator: Evaluator,
    dispatch: Dispatch,
    done_in: Skid<TaskDone>,
    place_in: Skid<Command>,
    placed_in: Skid<PlacementDone>,
    freed: Fifo<Bits<10>, 4>,
    states: SdpMemory<PacketState, 10>,
    packets: SdpMemory<StoredPacket, 10>,
    links: SdpMemory<Link, 10>,
    sequencer: Reg<Sequencer>,
    /// Source that was served last, as a mask of those that come after it in this round.
    later: Reg<Bits<4>>,
    incident: DFF<Event>,
    message: DFF<MessageState>,
    current: DFF<StoredPacket>,
    key: DFF<MessageKey>,
    ready_any: Reg<Bit>,
    ready_head: DFF<Link>,
    ready_tail: DFF<Bits<10>>,
    outcome_out: Reg<Outcome>,
    done_out: Reg<Bit>,
    failed_out: Reg<Bit>,
    to_hpu_out: Reg<Bit>,
    to_mailbox_out: Reg<Bits<2>>,
}

impl PayloadScheduler {
    /// A scheduler for the message slots and clusters of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            packet: Default::default(),
            packet_valid: Default::default(),
            packet_ready: Default::default(),
            free_pkt: Default::default(),
            free_valid: Default::default(),
            free_ready: Default::default(),
            task_desc: Default::default(),
            task_valid: Default::default(),
            task_ready: Default::default(),
            task_done: Default::default(),
            task_done_valid: Default::default(),
            task_done_ready: Default::default(),
            place: Default::default(),
            place_valid: Default::default(),
            place_ready: Default::default(),
            contexts: Default::default(),
            placement: Default::default(),
            placement_valid: Default::default(),
            placement_ready: Default::default(),
            placement_done: Default::default(),
            placement_done_valid: Default::default(),
            placement_done_ready: Default::default(),
            outcome: Default::default(),
            message_done: Default::default(),
            message_failed: Default::default(),
            to_hpu: Default::default(),
            to_mailbox: Default::default(),
            messages_open: Default::default(),
            message_table: MessageTable::new(config.live_messages),
            evaluator: Default::default(),
            dispatch: Dispatch::new(config.clusters),
            done_in: Default::default(),
            place_in: Default::default(),
            placed_in: Default::default(),
            freed: Default::default(),
            states: SdpMemory::new(RamStyle::Block, 2),
            packets: SdpMemory::new(RamStyle::Block, 2),
            links: SdpMemory::new(RamStyle::Block, 2),
            sequencer: Default::default(),
            later: Default::default(),
            incident: Default::default(),
            message: Default::default(),
            current: Default::default(),
            key: Default::default(),
            ready_any: Default::default(),
            ready_head: Default::default(),
            ready_tail: Default::default(),
            outcome_out: Default::default(),
            done_out: Default::default(),
            failed_out: Default::default(),
            to_hpu_out: Default::default(),
            to_mailbox_out: Default::default(),
        }
    }
}

impl Logic for PayloadScheduler {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, message_table, dispatch, done_in, place_in, placed_in, freed);
        regs!(
            self,
            clock,
            reset,
            sequencer,
            later,
            ready_any,
            outcome_out,
            done_out,
            failed_out,
            to_hpu_out,
            to_mailbox_out
        );
        dffs!(self, clock, incident, message, current, key, ready_head, ready_tail);
        self.evaluator.clock.next = self.clock.val();

        let choosing = self.sequencer.q.val() == Sequencer::Choose;
        let reading = self.sequencer.q.val() == Sequencer::Read;
        let evaluating = self.sequencer.q.val() == Sequencer::Evaluate;
        let acting = self.sequencer.q.val() == Sequencer::Act;
        let incident = self.incident.q.val();
        let arrives = incident.kind == EVENT_NEW;
        let verdict = self.evaluator.verdict.val();
        let room = self.freed.level.val() < FREE_STOP;

        // Arrivals. A whole message for a mailbox takes the fast path; the others are events.
        let packet = self.packet.val();
        let for_mailbox = packet.action == MAILBOX;
        let served = (packet.opcode == PUT) | (packet.opcode == GET_RESP);
        let whole = !packet.is_spindle | (packet.msg_len == bit_cast::<32, 16>(packet.payload_len));
        let single = whole | (!packet.per_message & !for_mailbox);
        let fast = for_mailbox & served & whole;
        let fast_order = Order { pkt: packet.pkt, ..Default::default() };
        self.dispatch.fast.next = placement_of(fast_order, false, stored(packet));
        self.dispatch.fast_valid.next = self.packet_valid.val() & fast;
        let fast_taken = self.packet_valid.val() & fast & self.dispatch.fast_ready.val();
        self.packet_ready.next = if fast { self.dispatch.fast_ready.val() } else { evaluating & arrives };

        // Feedback comes through registers.
        let command = self.place_in.read.val();
        let ended = self.done_in.read.val();
        let placed = self.placed_in.read.val();

        // Choose: the first source behind the one served last, else the first of all.
        let arrival = self.packet_valid.val() & !fast;
        let wants = (
            self.ready_any.q.val() | arrival,
            self.placed_in.read_valid.val() & placed.has_slot,
            self.done_in.read_valid.val() & !self.place_in.read_valid.val(),
            self.place_in.read_valid.val(),
        )
            .cat::<4>();
        let behind = wants & self.later.q.val();
        let pool = if behind.any() { behind } else { wants };
        let take_place = choosing & room & pool.get_bit(0);
        let take_done = choosing & room & pool.get_bit(1) & !pool.get_bit(0);
        let take_placed = choosing & room & pool.get_bit(2) & !pool.get_bit(1) & !pool.get_bit(0);
        let take_intake = choosing & room & (pool == 8);
        let take_walk = take_intake & self.ready_any.q.val();
        let take_new = take_intake & !self.ready_any.q.val();

        self.done_in.write.next = self.task_done.val();
        self.done_in.write_valid.next = self.task_done_valid.val();
        self.task_done_ready.next = self.done_in.write_ready.val();
        self.place_in.write.next = self.place.val();
        // A task's end waits for the commands that were taken before it; so that these are few, no further ones are taken while
        // it waits. One may come in as an end is served, so neither side can shut the other out.
        let commands_pass = !self.done_in.read_valid.val() | take_done;
        self.place_in.write_valid.next = self.place_valid.val() & commands_pass;
        self.place_ready.next = self.place_in.write_ready.val() & commands_pass;
        self.placed_in.write.next = self.placement_done.val();
        self.placed_in.write_valid.next = self.placement_done_valid.val();
        self.placement_done_ready.next = self.placed_in.write_ready.val();
        self.place_in.read_ready.next = take_place;
        self.done_in.read_ready.next = take_done;

        let mut pkt: Bits<10> = packet.pkt;
        if take_place {
            pkt = command.pkt;
            self.later.d.next = bits::<4>(14);
        } else if take_done {
            pkt = ended.pkt;
            self.later.d.next = bits::<4>(12);
        } else if take_placed {
            pkt = placed.pkt;
            self.later.d.next = bits::<4>(8);
        } else if take_intake {
            self.later.d.next = bits::<4>(0);
            if take_walk {
                pkt = self.ready_head.q.val().pkt;
            }
        }
        self.states.clock.next = self.clock.val();
        self.states.read_enable.next = choosing;
        self.states.read_address.next = pkt;
        self.packets.clock.next = self.clock.val();
        self.packets.read_enable.next = choosing;
        self.packets.read_address.next = pkt;
        self.links.clock.next = self.clock.val();
        self.links.read_enable.next = choosing;
        self.links.read_address.next = self.ready_head.q.val().pkt;

        if choosing {
            self.incident.d.next = Event {
                kind: if take_place {
                    bits::<3>(EVENT_PLACE)
                } else if take_done {
                    bits::<3>(EVENT_DONE)
                } else if take_placed {
                    bits::<3>(EVENT_PLACED)
                } else if take_walk {
                    bits::<3>(EVENT_WALK)
                } else {
                    bits::<3>(EVENT_NEW)
                },
                pkt: pkt,
                slot: if take_place {
                    command.msg_slot
                } else if take_done {
                    ended.msg_slot
                } else if take_placed {
                    placed.msg_slot
                } else {
                    self.ready_head.q.val().slot
                },
                frame: command.frame,
                handler: ended.kind,
                answer: answer_of(ended.kind, ended.code, ended.fault),
                placed: placed.placed,
                reason: placed.reason,
                ..Default::default()
            };
            if take_place | take_done | take_placed | take_walk | take_new {
                self.sequencer.d.next = Sequencer::Read;
            }
        }

        // Read: the table has looked the arrival up meanwhile.
        let lookup = MessageKey {
            class: packet.opcode.get_bits::<4>(0),
            mailbox: for_mailbox,
            context: packet.context,
            src_nid: packet.src_nid,
            src_pid: packet.src_pid,
            msg_id: packet.msg_id,
        };
        self.message_table.lookup.next = lookup;
        let hit = self.message_table.hit.val() & !single;
        let arrival_slot = if hit { self.message_table.hit_slot.val() } else { self.message_table.free_slot.val() };
        let slot = if arrives { arrival_slot } else { incident.slot };
        self.message_table.read_slot.next = slot;
        let at = (packet.context, bits::<2>(0)).cat::<6>();
        let status = self.contexts.val().get_bits::<4>(at.index());
        if reading {
            self.message.d.next = self.message_table.state.val();
            self.sequencer.d.next = Sequencer::Evaluate;
            if arrives {
                self.incident.d.next = Event {
                    kind: bits::<3>(EVENT_NEW),
                    pkt: packet.pkt,
                    slot: slot,
                    frame: packet.frame,
                    payload_len: packet.payload_len,
                    total: if single { bit_cast::<32, 16>(packet.payload_len) } else { packet.msg_len },
                    named: !single,
                    mailbox: for_mailbox,
                    unsupported: !served,
                    hit: hit,
                    free: self.message_table.free.val(),
                    context: packet.context,
                    status: unpack::<ContextStatus, 4>(status),
                    ..Default::default()
                };
            }
        }

        // Evaluate.
        self.evaluator.incident.next = incident;
        self.evaluator.stored_len.next = self.packets.read_data.val().payload_len;
        self.evaluator.message.next = self.message.q.val();
        self.evaluator.packet.next = self.states.read_data.val();
        if evaluating {
            self.current.d.next = if arrives { stored(packet) } else { self.packets.read_data.val() };
            self.key.d.next = lookup;
            self.sequencer.d.next = Sequencer::Act;
        }

        // Act.
        if acting {
            self.sequencer.d.next = Sequencer::Choose;
        }
        self.message_table.write.next = acting & verdict.write_message;
        self.message_table.write_slot.next = incident.slot;
        self.message_table.write_state.next = verdict.message;
        self.message_table.claim.next = acting & verdict.claim;
        self.message_table.claim_named.next = incident.named;
        self.message_table.give_back.next = acting & verdict.release;
        self.message_table.slot.next = incident.slot;
        self.message_table.key.next = self.key.q.val();
        self.states.write_enable.next = acting & verdict.write_packet;
        self.states.write_address.next = incident.pkt;
        self.states.write_data.next = verdict.packet;
        self.packets.write_enable.next = acting & verdict.accept;
        self.packets.write_address.next = incident.pkt;
        self.packets.write_data.next = self.current.q.val();

        // Lists: append to the message's, or the message's to the ready list.
        let message = self.message.q.val();
        let link_waiting = verdict.append & message.waiting;
        let link_ready = verdict.splice & self.ready_any.q.val();
        self.links.write_enable.next = acting & (link_waiting | link_ready);
        self.links.write_address.next = if verdict.append { message.wait_tail } else { self.ready_tail.q.val() };
        self.links.write_data.next =
            Link { pkt: if verdict.append { incident.pkt } else { message.wait_head }, slot: incident.slot };
        if acting & verdict.splice {
            self.ready_any.d.next = true;
            self.ready_tail.d.next = message.wait_tail;
            if !self.ready_any.q.val() {
                self.ready_head.d.next = Link { pkt: message.wait_head, slot: incident.slot };
            }
        } else if acting & (incident.kind == EVENT_WALK) {
            self.ready_any.d.next = self.ready_head.q.val().pkt != self.ready_tail.q.val();
            self.ready_head.d.next = self.links.read_data.val();
        }

        // Orders.
        self.dispatch.store.next = acting & verdict.accept;
        self.dispatch.store_pkt.next = incident.pkt;
        self.dispatch.store_packet.next = self.current.q.val();
        self.dispatch.order.next = Order {
            pkt: incident.pkt,
            slot: incident.slot,
            kind: verdict.handler,
            from_handler: verdict.from_handler,
            dropped: verdict.message.dropped,
            flow_control: verdict.message.flow_control,
        };
        self.dispatch.packet.next = self.current.q.val();
        self.dispatch.task_push.next = acting & verdict.task;
        self.dispatch.place_push.next = acting & verdict.place;
        self.task_desc.next = self.dispatch.task_desc.val();
        self.task_valid.next = self.dispatch.task_valid.val();
        self.dispatch.task_ready.next = self.task_ready.val();
        self.placement.next = self.dispatch.placement.val();
        self.placement_valid.next = self.dispatch.placement_valid.val();
        self.dispatch.placement_ready.next = self.placement_ready.val();

        // Ended fast placements share the way out, in cycles in which the sequencer does not need it.
        let fast_done = self.placed_in.read_valid.val() & !placed.has_slot & !acting & room;
        self.placed_in.read_ready.next = take_placed | fast_done;
        self.freed.write.next = if acting { incident.pkt } else { placed.pkt };
        self.freed.write_valid.next = (acting & verdict.free) | fast_done;
        self.free_pkt.next = self.freed.read.val();
        self.free_valid.next = self.freed.read_valid.val();
        self.freed.read_ready.next = self.free_ready.val();

        self.outcome_out.d.next = Default::default();
        if acting {
            self.outcome_out.d.next = verdict.outcome;
        } else if fast_done {
            self.outcome_out.d.next =
                Outcome { handled: false, placed: placed.placed, dropped: !placed.placed, reason: placed.reason };
        }
        self.done_out.d.next = (acting & verdict.message_done) | fast_done;
        self.failed_out.d.next = acting & verdict.message_failed;
        self.to_hpu_out.d.next = acting & verdict.accept & !incident.mailbox;
        let tracked = acting & verdict.accept & incident.mailbox;
        self.to_mailbox_out.d.next = (tracked & fast_taken, tracked ^ fast_taken).cat::<2>();
        self.outcome.next = self.outcome_out.q.val();
        self.message_done.next = self.done_out.q.val();
        self.message_failed.next = self.failed_out.q.val();
        self.to_hpu.next = self.to_hpu_out.q.val();
        self.to_mailbox.next = self.to_mailbox_out.q.val();
        self.messages_open.next = self.message_table.open.val();
    }
}
