//! Chooses the event that enters the scheduler's pipeline in a cycle.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `task_done`, `place` | HPU array |
//! | in `placement_done` | RVMA engine |
//! | in `ready_packet` | ready list: a packet whose wait is over |
//! | in `age_check` | age scan |
//! | in `due` | task timers: a task that is due |
//! | in `arrival`, `arrival_pkt` / out `take_arrival` | scheduler: an arrival |
//! | in `room` | scheduler: there is room for what an event may release |
//! | in `flight_pkt` | pipeline: packets whose state is in the pipeline |
//! | out `redirect_to` | dispatch: destination of the REDIRECT in stage A |
//! | out `byte_redirect` | byte redirects: a redirect of bytes, in the cycle in which it is chosen |
//! | out `chosen` | pipeline: combinational |
//!
//! The sources take turns: commands, ended tasks, ended placements, ready packets and arrivals, ages,
//! tasks that are due. One event per cycle. An
//! event of a packet that is in the pipeline lets the others go first, for at most three cycles. Ready packets go before arrivals;
//! there are at most as many as the buffer has cells. Words from outside pass a register.
//!
//! The destination of a REDIRECT is kept here until stage A, so one REDIRECT is chosen in four cycles, as many as its placement
//! takes later; redirects of bytes have a queue of their own. In stage A a REDIRECT uses the port that stores arrivals, in stage R a
//! task: no arrival is chosen in that cycle.

use crate::schedule::age_scan::AgeCheckSink;
use crate::schedule::evaluator::*;
use crate::schedule::message::Link;
use crate::schedule::task_timers::types::DueTask;
use spindle_blocks::{Command, PlacementDone, Skid, TaskDone};
use spindle_contract::memory_map::command;
use spindle_verilog::prelude::*;

/// Stages of the pipeline in which the state of a packet is on its way.
pub const PIPELINE_STAGES: usize = 3;

/// What a REDIRECT names.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RedirectTo {
    /// Mailbox address.
    pub addr: Bits<64>,
    /// Offset in its buffer.
    pub offset: Bits<32>,
    /// Context of the handler.
    pub context: Bits<4>,
}

/// See the head of this file.
#[block]
pub struct EventArbiter {
    /// Ended task.
    pub task_done: Sink<TaskDone>,
    /// PLACE, REDIRECT or COMPLETE command of a handler.
    pub place: Sink<Command>,
    /// Ended placement.
    pub placement_done: Sink<PlacementDone>,
    /// A packet arrives.
    pub arrival: Signal<In, Bit>,
    /// Its head cell.
    pub arrival_pkt: Signal<In, Bits<10>>,
    /// Packet whose wait for its header handler is over.
    pub ready_packet: Sink<Link>,
    /// Message whose age is checked, or slot that gets its first state: then nothing else is chosen.
    pub age_check: AgeCheckSink,
    /// Task that is due.
    pub due: Sink<DueTask>,
    /// There is room for what an event may release.
    pub room: Signal<In, Bit>,
    /// Head cell of the packet in each of the stages after the choice.
    pub flight_pkt: [Signal<In, Bits<10>>; PIPELINE_STAGES],
    /// The event, as far as it is known without the message.
    pub chosen: Pulse<Event>,
    /// The event is a redirect of bytes.
    pub byte_redirect: Pulse<Command>,
    /// Where the REDIRECT that was chosen four cycles before goes.
    pub redirect_to: Signal<Out, RedirectTo>,
    /// The event is the arrival.
    pub take_arrival: Signal<Out, Bit>,
    done_in: Skid<TaskDone>,
    place_in: Skid<Command>,
    placed_in: Skid<PlacementDone>,
    /// Stages that hold the event of a packet, the first after the choice in bit 0.
    in_flight: Reg<Bits<PIPELINE_STAGES>>,
    /// Sources that come after the one that was served last in this round.
    later: Reg<Bits<6>>,
    /// Stages L and R hold a task.
    tasking: Reg<Bits<2>>,
    /// Stages that hold a REDIRECT, the first after the choice in bit 0, stage A in bit 3.
    redirecting: Reg<Bits<4>>,
    redirection: DFF<RedirectTo>,
}

#[hdl]
impl EventArbiter {
    fn update(&mut self) {
        let command = self.place_in.read.val();
        let ended = self.done_in.read.val();
        let placed = self.placed_in.read.val();
        let mut command_waits: Bit = false;
        let mut ended_waits: Bit = false;
        let mut placed_waits: Bit = false;
        let mut ready_waits: Bit = false;
        for i in 0..PIPELINE_STAGES {
            let occupied = self.in_flight.q.val().get_bit(i);
            command_waits = command_waits | (occupied & (self.flight_pkt[i].val() == command.pkt));
            ended_waits = ended_waits | (occupied & (self.flight_pkt[i].val() == ended.pkt));
            placed_waits = placed_waits | (occupied & (self.flight_pkt[i].val() == placed.pkt));
            // Its placement may end while a packet waits, if the rule asked for that.
            ready_waits = ready_waits | (occupied & (self.flight_pkt[i].val() == self.ready_packet.val().pkt));
        }

        // The first source after the one served last, else the first of all.
        let has_ready = self.ready_packet.valid.val() & !ready_waits;
        let redirecting = self.redirecting.q.val();
        let of_bytes = command.flags.get_bit(1);
        let redirects = (command.opcode == bits(command::REDIRECT)) & !of_bytes;
        let target_free = !redirects | !redirecting.get_bits::<3>(0).any();
        let storing = redirecting.get_bit(3) | self.tasking.q.val().get_bit(1);
        let intake = has_ready | (self.arrival.val() & !storing);
        let has_command = self.place_in.read.valid.val();
        let ready = self.room.val() & !self.age_check.clear.val();
        let requests = (
            self.due.valid.val() & ready,
            self.age_check.valid.val() & (self.room.val() | self.age_check.clear.val()),
            intake & ready,
            self.placed_in.read.valid.val() & !placed_waits & ready,
            self.done_in.read.valid.val() & !has_command & !ended_waits & ready,
            has_command & !command_waits & target_free & ready,
        )
            .cat::<6>();
        let later_requests = requests & self.later.q.val();
        let grant = if later_requests.any() { lowest_set(later_requests) } else { lowest_set(requests) };
        let take_place = grant.get_bit(0);
        let take_done = grant.get_bit(1);
        let take_placed = grant.get_bit(2);
        let take_intake = grant.get_bit(3);
        let take_age = grant.get_bit(4);
        let take_task = grant.get_bit(5);
        self.tasking.d.next = (self.tasking.q.val().get_bit(0), take_task).cat::<2>();
        let take_ready = take_intake & has_ready;
        let take_redirect = take_place & redirects;
        self.redirecting.d.next = (redirecting.get_bits::<3>(0), take_redirect).cat::<4>();
        if take_redirect {
            self.redirection.d.next =
                RedirectTo { addr: command.address, offset: command.offset, context: command.context };
        }
        self.redirect_to.next = self.redirection.q.val();
        self.byte_redirect.offer(take_place & of_bytes, command);
        self.in_flight.d.next =
            (self.in_flight.q.val().get_bits::<2>(0), grant.any() & !take_age & !take_task).cat::<PIPELINE_STAGES>();
        if take_place {
            self.later.d.next = bits::<6>(0b111110);
        } else if take_done {
            self.later.d.next = bits::<6>(0b111100);
        } else if take_placed {
            self.later.d.next = bits::<6>(0b111000);
        } else if take_intake {
            self.later.d.next = bits::<6>(0b110000);
        } else if take_age {
            self.later.d.next = bits::<6>(0b100000);
        } else if take_task {
            self.later.d.next = bits::<6>(0);
        }

        self.task_done.join(&mut self.done_in.write);
        self.done_in.read.ready.next = take_done;
        // A task's end waits for the commands that were taken before it; so that these are few, no further ones are taken while
        // it waits. One may come in as an end is served, so neither side can shut the other out.
        let commands_pass = !self.done_in.read.valid.val() | take_done;
        self.place_in.write.offer(self.place.valid.val() & commands_pass, self.place.val());
        self.place.ready.next = self.place_in.write.ready.val() & commands_pass;
        self.place_in.read.ready.next = take_place;
        self.placement_done.join(&mut self.placed_in.write);
        self.placed_in.read.ready.next = take_placed;

        let returned = return_of(ended.kind, ended.code, ended.fault);
        let mut event_out: Event = Event::default();
        event_out.kind = bits::<4>(EVENT_NEW);
        event_out.pkt = self.arrival_pkt.val();
        event_out.frame = command.frame;
        event_out.handler = ended.kind;
        event_out.placed = placed.placed;
        event_out.reason = placed.reason;
        if take_place {
            event_out.kind = if of_bytes { bits::<4>(EVENT_BYTES) } else { bits::<4>(EVENT_PLACE) };
            event_out.pkt = command.pkt;
            event_out.slot = command.msg_slot;
            event_out.redirects = redirects;
            event_out.completes = command.opcode == bits(command::COMPLETE);
        } else if take_done {
            event_out.kind = bits::<4>(EVENT_DONE);
            event_out.pkt = ended.pkt;
            event_out.slot = ended.msg_slot;
            event_out.context = ended.context;
            event_out.returned = returned;
        } else if take_placed {
            event_out.kind = if placed.of_bytes {
                bits::<4>(EVENT_BYTES_PLACED)
            } else if placed.has_slot {
                bits::<4>(EVENT_PLACED)
            } else {
                bits::<4>(EVENT_FAST)
            };
            event_out.pkt = placed.pkt;
            event_out.slot = placed.msg_slot;
        } else if take_ready {
            event_out.kind = bits::<4>(EVENT_RESUME);
            event_out.pkt = self.ready_packet.val().pkt;
            event_out.slot = self.ready_packet.val().slot;
        } else if take_age {
            event_out.kind = bits::<4>(EVENT_AGE);
            event_out.slot = self.age_check.slot.val();
            event_out.clear = self.age_check.clear.val();
        } else if take_task {
            event_out.kind = bits::<4>(EVENT_TASK);
            event_out.context = self.due.val().context;
        }
        self.chosen.offer(grant.any(), event_out);
        self.take_arrival.next = take_intake & !has_ready;
        self.ready_packet.ready.next = take_ready;
        self.age_check.ready.next = take_age;
        self.due.ready.next = take_task;
    }
}
