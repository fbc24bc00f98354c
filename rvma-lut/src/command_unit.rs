//! Command unit: carries out one doorbell command at a time.
//!
//! | neighbour | ports |
//! |---|---|
//! | doorbell | in `start`, `start_pid`, `start_code`; out `busy`, `slow`, `pid`; out `argument_index`, `argument_read`, in `argument`; out `result`, `result_word`, `result_valid` |
//! | lookup | out `request`, `request_valid`; in `request_ready`; in `found`, `found_valid` |
//! | buffer queue | out `queue_command`, `queue_valid` (held); in `queue_done`, `queue_ok`, `queue_small` |
//! | regions | out `region_query`, `region_valid` (held); in `region_done`, `region_ok` |
//! | epochs | out `query`, `query_valid` (held); in `reply`, `reply_valid` |
//! | cutter | out `cut` (held), `cut_closes`; in `cut_done`, `cut_found` |
//! | event rings, command rings | out `ring`, `ring_valid`, `commands_valid` (held); in `ring_done`, `commands_done` |
//! | ring posts | in `calm`: none is under way; they begin nothing while `busy` |
//! | put join | out `put`, `put_valid`; in `put_ready`, `put_number`: a put or get of the host |
//! | receive maps | in `map_any`, `map_next`; out `map_arms`, `map_granule`: of the buffer being posted; out `map_query`, `map_valid` (held); in `map_done`, `map_ok`, `map_word` |
//! | registers | out pulses `mailbox_opened`, `mailbox_closed`, `buffer_posted` |
//!
//! A command's staged registers are fetched, 12 words, of PUT and GET 24; meanwhile what a command ring has begun comes to its end. INIT_WINDOW: ask the table for a number (EXISTS,
//! TABLE_FULL), empty that mailbox's queue, only then make the entry visible to packets. Every command that names a mailbox asks the
//! table whether it is open and the process's own; then a buffer is appended, the epochs are asked, or the cutter is
//! started, between CLOSING and REMOVE if the mailbox is closed. The table's keys carry the process of the page that was written,
//! so a process can name only mailboxes of its own; a put says that it comes from that process.

use crate::command_words::*;
use crate::receive_maps::MapQuery;
use crate::regions::RegionQuery;
use crate::ring_posts::bad_buffer;
use crate::types::{
    BufferEntry, EpochQuery, EpochReply, QueueCommand, RingCommand, TableRequest, TableResult, ASK_EPOCH, ASK_OLDEST,
    ASK_POINTER, ASK_REWIND, CLOSING, INSERT, MODE_CLOSING, NUMBER, PROBE, QUEUE_INIT, QUEUE_POST, REMOVE,
};
use spindle_blocks::desc::PutDesc;
use spindle_contract::params::{RECEIVE_MAPS, RECEIVE_MAP_BITS};
use spindle_contract::registers::doorbell_error;
use spindle_verilog::prelude::*;

/// Bits of the number of a receive map, and of a word of one.
const MAP_NUMBER: usize = RECEIVE_MAPS.ilog2() as usize;
const MAP_WORD: usize = RECEIVE_MAP_BITS.ilog2() as usize - 6;
/// Where the number stands in COUNT, and the bits there that are used.
const MAP_SHIFT: usize = 8;
const MAP_BITS: u64 = ((RECEIVE_MAPS as u64 - 1) << MAP_SHIFT) | ((1 << MAP_WORD) - 1);

/// The command unit. See the module text.
#[derive(LogicBlock, Default)]
pub struct CommandUnit {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// A command was written.
    pub start: Signal<In, Bit>,
    /// By this process.
    pub start_pid: Signal<In, Bits<6>>,
    /// The command.
    pub start_code: Signal<In, Bits<32>>,
    /// A command is under way.
    pub busy: Signal<Out, Bit>,
    /// It waits for the host or the wire.
    pub slow: Signal<Out, Bit>,
    /// Of this process.
    pub pid: Signal<Out, Bits<6>>,
    /// Word wanted.
    pub argument_index: Signal<Out, Bits<5>>,
    /// Read it.
    pub argument_read: Signal<Out, Bit>,
    /// The word asked for in the cycle before.
    pub argument: Signal<In, Bits<32>>,
    /// Word for the process's page.
    pub result: Signal<Out, Bits<32>>,
    /// Which; RESULT is the last.
    pub result_word: Signal<Out, Bits<5>>,
    /// Write it.
    pub result_valid: Signal<Out, Bit>,
    /// Question to the table.
    pub request: Signal<Out, TableRequest>,
    /// There is one.
    pub request_valid: Signal<Out, Bit>,
    /// It is taken.
    pub request_ready: Signal<In, Bit>,
    /// The table's answer.
    pub found: Signal<In, TableResult>,
    /// There is one.
    pub found_valid: Signal<In, Bit>,
    /// Change of a queue.
    pub queue_command: Signal<Out, QueueCommand>,
    /// Held until `queue_done`.
    pub queue_valid: Signal<Out, Bit>,
    /// It is done.
    pub queue_done: Signal<In, Bit>,
    /// With it: there was a free slot, or window.
    pub queue_ok: Signal<In, Bit>,
    /// With it: the buffer is too small.
    pub queue_small: Signal<In, Bit>,
    /// Memory that the command names.
    pub region_query: Signal<Out, RegionQuery>,
    /// May the process? Held until `region_done`.
    pub region_valid: Signal<Out, Bit>,
    /// There is an answer.
    pub region_done: Signal<In, Bit>,
    /// With it: it may.
    pub region_ok: Signal<In, Bit>,
    /// Question about epochs.
    pub query: Signal<Out, EpochQuery>,
    /// Held until `reply_valid`.
    pub query_valid: Signal<Out, Bit>,
    /// The answer.
    pub reply: Signal<In, EpochReply>,
    /// There is one.
    pub reply_valid: Signal<In, Bit>,
    /// Take back the oldest buffer; held until `cut_done`.
    pub cut: Signal<Out, Bit>,
    /// All of them.
    pub cut_closes: Signal<Out, Bit>,
    /// It is done.
    pub cut_done: Signal<In, Bit>,
    /// With it: there was one.
    pub cut_found: Signal<In, Bit>,
    /// Put or get of the host.
    pub put: Signal<Out, PutDesc>,
    /// There is one.
    pub put_valid: Signal<Out, Bit>,
    /// It is taken.
    pub put_ready: Signal<In, Bit>,
    /// Its number.
    pub put_number: Signal<In, Bits<16>>,
    /// Event ring to open or close.
    pub ring: Signal<Out, RingCommand>,
    /// Held until `ring_done`.
    pub ring_valid: Signal<Out, Bit>,
    /// It is done.
    pub ring_done: Signal<In, Bit>,
    /// `ring` is a command ring; held until `commands_done`.
    pub commands_valid: Signal<Out, Bit>,
    /// It is done.
    pub commands_done: Signal<In, Bit>,
    /// No command of a command ring is under way.
    pub calm: Signal<In, Bit>,
    /// A receive map is free.
    pub map_any: Signal<In, Bit>,
    /// That one.
    pub map_next: Signal<In, Bits<MAP_NUMBER>>,
    /// The buffer that is posted gets it.
    pub map_arms: Signal<Out, Bit>,
    /// Logarithm of its granule.
    pub map_granule: Signal<Out, Bits<5>>,
    /// Question to a map, or its end.
    pub map_query: Signal<Out, MapQuery>,
    /// Held until `map_done`.
    pub map_valid: Signal<Out, Bit>,
    /// It is answered.
    pub map_done: Signal<In, Bit>,
    /// With it: the map is this process's.
    pub map_ok: Signal<In, Bit>,
    /// And a word of it.
    pub map_word: Signal<In, Bits<64>>,
    /// A mailbox was opened.
    pub mailbox_opened: Signal<Out, Bit>,
    /// A mailbox was closed.
    pub mailbox_closed: Signal<Out, Bit>,
    /// A buffer was posted.
    pub buffer_posted: Signal<Out, Bit>,
    state: Reg<CommandState>,
    owner: Reg<Bits<6>>,
    code: DFF<Bits<4>>,
    opens: DFF<Bit>,
    supported: DFF<Bit>,
    index: Reg<Bits<5>>,
    arriving: Reg<Bit>,
    arrives: DFF<Bits<5>>,
    arguments: [DFF<Bits<32>>; ARGUMENTS],
    mailbox_number: DFF<Bits<12>>,
    /// Of a new mailbox, as the buffer queue wants it.
    threshold: DFF<Bits<32>>,
    answer: DFF<TableResult>,
    found_entry: DFF<EpochReply>,
    /// The map that a buffer gets.
    mapped: DFF<Bits<MAP_NUMBER>>,
    bad_argument: DFF<Bit>,
    bad_mode: DFF<Bit>,
    above: DFF<Bit>,
    bad_ring: DFF<Bit>,
    error: DFF<Bits<8>>,
    value: DFF<Bits<16>>,
    _mailboxes: u64,
}

impl CommandUnit {
    /// A command unit in front of a table of `mailboxes` entries.
    pub fn new(mailboxes: usize) -> Self {
        Self { _mailboxes: mailboxes as u64, ..Default::default() }
    }
}

impl Logic for CommandUnit {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, state, owner, index, arriving);
        dffs!(
            self,
            clock,
            code,
            opens,
            supported,
            arrives,
            arguments,
            mailbox_number,
            threshold,
            answer,
            found_entry,
            mapped,
            bad_argument,
            bad_mode,
            above,
            bad_ring,
            error,
            value
        );
        let fetching = self.state.q.val() == CommandState::Fetch;
        let pid = bit_cast::<16, 6>(self.owner.q.val());
        let opens = self.opens.q.val();
        let code = self.code.q.val();
        let puts = (code == PUT) | (code == GET);
        let posts = (code == POST_BUFFER) | (code == POST_MAPPED);
        let last = if puts { bits::<5>(LAST) } else { bits::<5>(LAST_SHORT) };

        // Arguments arrive one cycle after they were asked for.
        self.argument_read.next = fetching & (self.index.q.val() <= last);
        self.argument_index.next = self.index.q.val();
        self.arriving.d.next = fetching & (self.index.q.val() <= last);
        self.arrives.d.next = self.index.q.val();
        for i in 0..ARGUMENTS {
            if self.arriving.q.val() & (self.arrives.q.val() == bits::<5>(i as u64)) {
                self.arguments[i].d.next = self.argument.val();
            }
        }
        let size = self.arguments[SIZE].q.val();
        let mode = self.arguments[MODE].q.val();
        let record_lo = self.arguments[RECORD_LO].q.val();
        let threshold = self.arguments[THRESHOLD].q.val();
        let number = self.arguments[MAILBOX].q.val();
        let managed = (mode & MANAGED).any();
        let counts = (mode & OPS).any();
        let by_tag = (mode & TAGGED).any();
        let catches = (mode & CATCH_ALL).any();
        // What would take messages of a stream elsewhere, or bring it others.
        let aside = (mode & (CATCH_ALL | SPILL)).any();
        self.bad_mode.d.next =
            ((mode | MODE_BITS) != MODE_BITS) | (managed & (counts | (by_tag & aside))) | (!managed & catches);
        self.threshold.d.next = if managed { threshold - 1 } else { threshold };
        let map_at = self.arguments[COUNT].q.val();
        let maps = (code == READ_MAP) | (code == FREE_MAP);
        let beyond = (code == POST_MAPPED) & map_at.get_bits::<27>(5).any();
        self.bad_argument.d.next = if opens {
            !threshold.any()
        } else if maps {
            (map_at & !bits::<32>(MAP_BITS)).any()
        } else {
            bad_buffer(size, record_lo) | beyond
        };
        // A mailbox is {generation, number}.
        self.above.d.next =
            number.get_bits::<16>(16).any() | (number.get_bits::<12>(0) > bits::<12>(self._mailboxes - 1));

        // A ring has a power of two of records, 2 to 2^15, and is aligned to its size; 0 closes it.
        let buffer_lo = self.arguments[BUFFER_LO].q.val();
        let records = size.get_bits::<16>(5);
        let last_record = records - 1;
        let misaligned = buffer_lo.get_bits::<5>(0).any() | (buffer_lo.get_bits::<16>(5) & last_record).any();
        let odd = size.get_bits::<6>(0).any() | (records & last_record).any() | size.get_bits::<11>(21).any();
        self.bad_ring.d.next = odd | (size.any() & misaligned);
        let commands = code == OPEN_COMMANDS;
        self.ring_valid.next = (self.state.q.val() == CommandState::Ring) & !commands;
        self.commands_valid.next = (self.state.q.val() == CommandState::Ring) & commands;
        self.ring.next = RingCommand {
            pid: self.owner.q.val(),
            open: records.any(),
            base: (self.arguments[BUFFER_HI].q.val(), buffer_lo.get_bits::<27>(5)).cat::<59>(),
            last: last_record.get_bits::<15>(0),
        };

        self.request_valid.next = (self.state.q.val() == CommandState::Ask)
            | (self.state.q.val() == CommandState::Insert)
            | (self.state.q.val() == CommandState::Closing)
            | (self.state.q.val() == CommandState::Remove);
        self.request.next = TableRequest {
            op: bits::<3>(NUMBER),
            pid: pid,
            addr: (self.arguments[ADDR_HI].q.val(), self.arguments[ADDR_LO].q.val()).cat::<64>(),
            key: self.arguments[KEY].q.val(),
            mode: mode.get_bits::<9>(0),
            // The buffer queue chooses it.
            window: bits::<9>(0),
            mailbox: self.mailbox_number.q.val(),
            generation: number.get_bits::<4>(12),
        };
        if self.state.q.val() == CommandState::Insert {
            self.request.next.op = bits::<3>(INSERT);
            self.request.next.generation = self.answer.q.val().generation;
        } else if self.state.q.val() == CommandState::Closing {
            self.request.next.op = bits::<3>(CLOSING);
            self.request.next.mode = bits::<9>(MODE_CLOSING);
            self.request.next.generation = self.answer.q.val().generation + 1;
        } else if self.state.q.val() == CommandState::Remove {
            self.request.next.op = bits::<3>(REMOVE);
            self.request.next.generation = self.answer.q.val().generation + 1;
        } else if opens {
            self.request.next.op = bits::<3>(PROBE);
        }
        self.query_valid.next = (self.state.q.val() == CommandState::Query) & !self.reply_valid.val();
        self.query.next = EpochQuery {
            op: bits::<2>(ASK_EPOCH),
            mailbox: self.mailbox_number.q.val(),
            back: self.arguments[COUNT].q.val().get_bits::<4>(0),
        };
        if self.arguments[COUNT].q.val().get_bits::<28>(4).any() {
            self.query.next.back = bits::<4>(15);
        }
        if self.state.q.val() == CommandState::Cut {
            self.query.next.op = bits::<2>(ASK_OLDEST);
        } else if code == GET_BUF_PTRS {
            self.query.next.op = bits::<2>(ASK_POINTER);
        } else if code == REWIND {
            self.query.next.op = bits::<2>(ASK_REWIND);
        }
        self.cut.next = self.state.q.val() == CommandState::Cut;
        self.cut_closes.next = code == CLOSE;
        self.region_valid.next = self.state.q.val() == CommandState::Permit;
        self.region_query.next = RegionQuery {
            pid: self.owner.q.val(),
            write: posts | (code == OPEN_RING),
            address: (self.arguments[BUFFER_HI].q.val(), buffer_lo).cat::<64>(),
            length: if puts { self.arguments[LENGTH].q.val() } else { size },
            has_record: posts,
            record: (self.arguments[RECORD_HI].q.val(), record_lo.get_bits::<28>(4)).cat::<60>(),
        };
        self.put_valid.next = self.state.q.val() == CommandState::Put;
        // GET: the buffer's registers say where in this node the answer goes.
        let buffer = (self.arguments[BUFFER_HI].q.val(), buffer_lo).cat::<64>();
        self.put.next = PutDesc {
            op: bits::<2>(0),
            from_host: true,
            node: self.arguments[NODE].q.val().get_bits::<8>(0),
            dst_pid: self.arguments[TARGET_PID].q.val().get_bits::<16>(0),
            src_pid: pid,
            addr: (self.arguments[ADDR_HI].q.val(), self.arguments[ADDR_LO].q.val()).cat::<64>(),
            key: self.arguments[KEY].q.val(),
            buf_off: self.arguments[OFFSET].q.val(),
            length: self.arguments[LENGTH].q.val(),
            host_address: buffer,
            reply_addr: buffer,
            reply_off: size,
            reply_key: record_lo,
            // No processor: nobody waits for its end.
            cluster: bits::<3>(7),
            hpu: bits::<3>(7),
            ..Default::default()
        };
        if code == GET {
            self.put.next.op = bits::<2>(1);
            self.put.next.from_host = false;
            self.put.next.flags = bits::<16>(ACTIVE_FLAG) & repeat::<16>(self.arguments[COUNT].q.val().get_bit(0));
        } else {
            // A put has no reply: that word says for which epoch it is.
            self.put.next.reply_key = self.arguments[COUNT].q.val();
            self.put.next.flags =
                (bits::<16>(EPOCH_FLAG) & repeat::<16>(by_tag)) | (bits::<16>(MANAGED_FLAG) & repeat::<16>(managed));
        }
        // Receive maps.
        if self.state.q.val() == CommandState::Check {
            self.mapped.d.next = self.map_next.val();
        }
        self.map_arms.next = (self.state.q.val() == CommandState::Queue) & (code == POST_MAPPED);
        self.map_granule.next = map_at.get_bits::<5>(0);
        self.map_valid.next = self.state.q.val() == CommandState::Map;
        self.map_query.next = MapQuery {
            pid: self.owner.q.val(),
            number: map_at.get_bits::<MAP_NUMBER>(MAP_SHIFT),
            word: map_at.get_bits::<MAP_WORD>(0),
            free: code == FREE_MAP,
        };
        self.queue_valid.next = self.state.q.val() == CommandState::Queue;
        self.queue_command.next = QueueCommand {
            op: if opens { bits::<2>(QUEUE_INIT) } else { bits::<2>(QUEUE_POST) },
            opens: opens,
            slot: bits::<14>(0),
            cancelled: code == CLOSE,
            mailbox: self.mailbox_number.q.val(),
            pid: self.owner.q.val(),
            threshold: self.threshold.q.val(),
            ops: counts,
            managed: managed,
            tagged: by_tag & !managed,
            ordered: by_tag & managed,
            buffer: BufferEntry { base: buffer, size: size },
            record: (self.arguments[RECORD_HI].q.val(), record_lo.get_bits::<28>(4)).cat::<60>(),
        };
        self.mailbox_opened.next = false;
        self.buffer_posted.next = false;
        self.mailbox_closed.next = false;

        match self.state.q.val() {
            CommandState::Idle => {
                self.owner.d.next = self.start_pid.val();
                self.opens.d.next = self.start_code.val() == INIT_WINDOW;
                let wanted = self.start_code.val();
                self.code.d.next = wanted.get_bits::<4>(0);
                self.supported.d.next = (wanted == INIT_WINDOW)
                    | (wanted == POST_BUFFER)
                    | (wanted == CLOSE)
                    | (wanted == INC_EPOCH)
                    | (wanted == GET_EPOCH)
                    | (wanted == GET_BUF_PTRS)
                    | (wanted == REWIND)
                    | (wanted == PUT)
                    | (wanted == GET)
                    | (wanted == OPEN_RING)
                    | (wanted == OPEN_COMMANDS)
                    | (wanted == POST_MAPPED)
                    | (wanted == READ_MAP)
                    | (wanted == FREE_MAP);
                self.index.d.next = bits::<5>(0);
                self.error.d.next = bits::<8>(doorbell_error::NONE as u64);
                self.value.d.next = bits::<16>(0);
                if self.start.val() {
                    self.state.d.next = CommandState::Fetch;
                }
            }
            CommandState::Fetch => {
                // One more step for the last word to arrive, and one for the flags made of it.
                if self.index.q.val() != last + 2 {
                    self.index.d.next = self.index.q.val() + 1;
                } else if self.calm.val() {
                    self.state.d.next = CommandState::Check;
                }
            }
            CommandState::Check => {
                self.mailbox_number.d.next = number.get_bits::<12>(0);
                self.state.d.next = CommandState::Finish;
                if !self.supported.q.val() | (opens & self.bad_mode.q.val()) {
                    self.error.d.next = bits::<8>(UNSUPPORTED);
                } else if (code == OPEN_RING) | commands {
                    if self.bad_ring.q.val() {
                        self.error.d.next = bits::<8>(BAD_ARGUMENT);
                    } else if size.any() {
                        self.state.d.next = CommandState::Permit;
                    } else {
                        self.state.d.next = CommandState::Ring;
                    }
                } else if maps & self.bad_argument.q.val() {
                    self.error.d.next = bits::<8>(BAD_ARGUMENT);
                } else if maps {
                    self.state.d.next = CommandState::Map;
                } else if puts {
                    if self.arguments[LENGTH].q.val().any() {
                        // What a GET brings goes into buffers that were posted.
                        self.state.d.next = CommandState::Put;
                        if code == PUT {
                            self.state.d.next = CommandState::Permit;
                        }
                    } else {
                        self.error.d.next = bits::<8>(BAD_ARGUMENT);
                    }
                } else if self.bad_argument.q.val() & (opens | posts) {
                    self.error.d.next = bits::<8>(BAD_ARGUMENT);
                } else if !opens & self.above.q.val() {
                    self.error.d.next = bits::<8>(NO_MAILBOX);
                } else if (code == POST_MAPPED) & !self.map_any.val() {
                    self.error.d.next = bits::<8>(NO_MAP);
                } else if posts {
                    self.state.d.next = CommandState::Permit;
                } else {
                    self.state.d.next = CommandState::Ask;
                }
            }
            CommandState::Permit => {
                if self.region_done.val() & !self.region_ok.val() {
                    self.error.d.next = bits::<8>(OUT_OF_REGION);
                    self.state.d.next = CommandState::Finish;
                } else if self.region_done.val() {
                    self.state.d.next = CommandState::Ask;
                    if puts {
                        self.state.d.next = CommandState::Put;
                    } else if !posts {
                        self.state.d.next = CommandState::Ring;
                    }
                }
            }
            CommandState::Ask => {
                if self.request_ready.val() {
                    self.state.d.next = CommandState::Answer;
                }
            }
            CommandState::Answer => {
                self.answer.d.next = self.found.val();
                if self.found_valid.val() {
                    self.state.d.next = CommandState::Judge;
                }
            }
            CommandState::Judge => {
                let found = self.answer.q.val();
                self.state.d.next = CommandState::Finish;
                if opens {
                    self.mailbox_number.d.next = found.mailbox;
                    if found.hit {
                        self.error.d.next = bits::<8>(EXISTS);
                    } else if found.full & found.busy {
                        // Mailboxes are being moved to make room: ask again.
                        self.state.d.next = CommandState::Ask;
                    } else if found.full {
                        self.error.d.next = bits::<8>(TABLE_FULL);
                    } else {
                        self.state.d.next = CommandState::Queue;
                    }
                } else if !found.hit {
                    self.error.d.next = bits::<8>(NO_MAILBOX);
                } else if posts {
                    self.state.d.next = CommandState::Queue;
                } else if code == CLOSE {
                    self.state.d.next = CommandState::Closing;
                } else if code == INC_EPOCH {
                    self.state.d.next = CommandState::Cut;
                } else {
                    self.state.d.next = CommandState::Query;
                }
            }
            CommandState::Query => {
                self.found_entry.d.next = self.reply.val();
                if self.reply_valid.val() {
                    self.state.d.next = CommandState::Length;
                    if !self.reply.val().ok {
                        self.error.d.next = bits::<8>(NOTHING);
                        self.state.d.next = CommandState::Finish;
                    }
                }
            }
            CommandState::Closing => {
                if self.request_ready.val() {
                    self.state.d.next = CommandState::Cut;
                }
            }
            CommandState::Cut => {
                if self.cut_done.val() {
                    self.state.d.next = CommandState::Finish;
                    if code == CLOSE {
                        self.state.d.next = CommandState::Remove;
                    } else if !self.cut_found.val() {
                        self.error.d.next = bits::<8>(NOTHING);
                    }
                }
            }
            CommandState::Remove => {
                if self.request_ready.val() {
                    self.mailbox_closed.next = true;
                    self.state.d.next = CommandState::Finish;
                }
            }
            CommandState::Put => {
                // It is taken now or not at all: other processes do not wait for a put to leave.
                self.value.d.next = self.put_number.val();
                if !self.put_ready.val() {
                    self.error.d.next = bits::<8>(NO_SLOT);
                }
                self.state.d.next = CommandState::Finish;
            }
            CommandState::Length => {
                self.state.d.next = CommandState::Low;
            }
            CommandState::Low => {
                self.state.d.next = CommandState::High;
            }
            CommandState::High => {
                self.state.d.next = CommandState::Finish;
            }
            CommandState::Queue => {
                if self.queue_done.val() {
                    self.state.d.next = CommandState::Finish;
                    if opens & self.queue_ok.val() {
                        self.state.d.next = CommandState::Insert;
                    } else if opens {
                        self.error.d.next = bits::<8>(TABLE_FULL);
                    } else if self.queue_small.val() {
                        self.error.d.next = bits::<8>(BAD_ARGUMENT);
                    } else if self.queue_ok.val() {
                        self.buffer_posted.next = true;
                        if code == POST_MAPPED {
                            self.value.d.next = bit_cast::<16, MAP_NUMBER>(self.mapped.q.val());
                        }
                    } else {
                        self.error.d.next = bits::<8>(NO_SLOT);
                    }
                }
            }
            CommandState::Insert => {
                self.value.d.next = (self.answer.q.val().generation, self.mailbox_number.q.val()).cat::<16>();
                if self.request_ready.val() {
                    self.mailbox_opened.next = true;
                    self.state.d.next = CommandState::Finish;
                }
            }
            CommandState::Map => {
                self.found_entry.d.next.value = self.map_word.val();
                if self.map_done.val() & !self.map_ok.val() {
                    self.error.d.next = bits::<8>(NO_MAP);
                    self.state.d.next = CommandState::Finish;
                } else if self.map_done.val() {
                    self.state.d.next = CommandState::Low;
                    if code == FREE_MAP {
                        self.state.d.next = CommandState::Finish;
                    }
                }
            }
            CommandState::Ring => {
                if self.ring_done.val() {
                    self.state.d.next = CommandState::Finish;
                } else if self.commands_done.val() {
                    self.state.d.next = CommandState::Clear;
                }
            }
            CommandState::Clear => {
                self.state.d.next = CommandState::Finish;
            }
            CommandState::Finish => {
                self.state.d.next = CommandState::Idle;
            }
            _ => {
                self.state.d.next = CommandState::Idle;
            }
        }
        self.busy.next = self.state.q.val() != CommandState::Idle;
        self.slow.next = (self.state.q.val() == CommandState::Cut)
            | (self.state.q.val() == CommandState::Put)
            | (self.state.q.val() == CommandState::Map)
            | (self.state.q.val() == CommandState::Ring);
        self.pid.next = self.owner.q.val();
        let told = self.found_entry.q.val();
        self.result.next = (bits::<8>(0), self.error.q.val(), self.value.q.val()).cat::<32>();
        self.result_word.next = bits::<5>(RESULT);
        self.result_valid.next = true;
        if self.state.q.val() == CommandState::Length {
            self.result.next = told.length;
            self.result_word.next = bits::<5>(VALUE_LENGTH);
        } else if self.state.q.val() == CommandState::Low {
            self.result.next = told.value.get_bits::<32>(0);
            self.result_word.next = bits::<5>(VALUE_LO);
        } else if self.state.q.val() == CommandState::High {
            self.result.next = told.value.get_bits::<32>(32);
            self.result_word.next = bits::<5>(VALUE_HI);
        } else if self.state.q.val() == CommandState::Clear {
            self.result.next = bits::<32>(0);
            self.result_word.next = bits::<5>(RING_DONE);
        } else {
            self.result_valid.next = self.state.q.val() == CommandState::Finish;
        }
    }
}
