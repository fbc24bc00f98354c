//! Command unit: carries out one doorbell command at a time.
//!
//! | neighbour | ports |
//! |---|---|
//! | doorbell | in `start`, `start_pid`, `start_code`; out `busy`, `slow`, `pid`; out `argument_index`, `argument_read`, in `argument`; out `result`, `result_word`, `result_valid` |
//! | lookup | out `request`, `request_valid`; in `request_ready`; in `table_result`, `found_valid` |
//! | buffer queue | out `queue_command`, `queue_valid` (held); in `queue_done`, `queue_ok`, `queue_small` |
//! | regions | out `region_query`, `region_valid` (held); in `region_done`, `region_ok` |
//! | epochs | out `query`, `query_valid` (held); in `reply`, `reply_valid` |
//! | buffer reclaim | out `reclaim` (held), `reclaim_closes`; in `reclaim_done`, `reclaim_found` |
//! | event rings, command rings | out `ring`, `ring_valid`, `commands_valid` (held); in `ring_done`, `commands_done` |
//! | ring posts | in `rings_idle`: none is under way; they begin nothing while `busy` |
//! | put join | out `put`, `put_valid`; in `put_ready`, `put_number`: a put or get of the host |
//! | receive maps | in `map_any`, `map_next`; out `map_arms`, `map_granule`: of the buffer being posted; out `map_query`, `map_valid` (held); in `map_done`, `map_ok`, `map_word` |
//! | registers | out pulses `mailbox_opened`, `mailbox_closed`, `buffer_posted` |
//!
//! A command's staged registers are fetched ([`CommandArguments`]); meanwhile what a command ring has begun comes to its end. INIT_WINDOW: ask the table for a number (EXISTS,
//! TABLE_FULL), empty that mailbox's queue, only then make the entry visible to packets. Every command that names a mailbox asks the
//! table whether it is open and the process's own; then a buffer is appended, the epochs are asked, or the buffer reclaim is
//! started, between CLOSING and REMOVE if the mailbox is closed. The table's keys carry the process of the page that was written,
//! so a process can name only mailboxes of its own; a put says that it comes from that process.

use crate::commands::command_arguments::CommandArguments;
use crate::commands::command_words::*;
use crate::completion::receive_maps::{MapQuery, NUMBER as MAP_NUMBER, WORD as MAP_WORD};
use crate::host_access::regions::RegionQuery;
use crate::types::{
    BufferEntry, EpochQuery, EpochReply, QueueCommand, RingCommand, TableRequest, TableResult, CLOSING, INSERT,
    MODE_CLOSING, NUMBER, PROBE, QUERY_EPOCH, QUERY_OLDEST, QUERY_POINTER, QUERY_REWIND, QUEUE_INIT, QUEUE_POST,
    REMOVE,
};
use spindle_blocks::desc::PutDesc;
use spindle_contract::registers::doorbell_error;
use spindle_verilog::prelude::*;

/// The command unit. See the module text.
#[block]
pub struct CommandUnit {
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
    pub result: Pulse<Bits<32>>,
    /// Which; RESULT is the last.
    pub result_word: Signal<Out, Bits<5>>,
    /// Question to the table.
    pub request: Source<TableRequest>,
    /// The table's answer.
    pub table_result: PulseSink<TableResult>,
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
    pub query: Pulse<EpochQuery>,
    /// The answer.
    pub reply: PulseSink<EpochReply>,
    /// Take back the oldest buffer; held until `reclaim_done`.
    pub reclaim: Signal<Out, Bit>,
    /// All of them.
    pub reclaim_closes: Signal<Out, Bit>,
    /// It is done.
    pub reclaim_done: Signal<In, Bit>,
    /// With it: there was one.
    pub reclaim_found: Signal<In, Bit>,
    /// Put or get of the host.
    pub put: Source<PutDesc>,
    /// Its number.
    pub put_number: Signal<In, Bits<16>>,
    /// Event ring to open or close.
    pub ring: Pulse<RingCommand>,
    /// It is done.
    pub ring_done: Signal<In, Bit>,
    /// `ring` is a command ring; held until `commands_done`.
    pub commands_valid: Signal<Out, Bit>,
    /// It is done.
    pub commands_done: Signal<In, Bit>,
    /// No command of a command ring is under way.
    pub rings_idle: Signal<In, Bit>,
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
    words: CommandArguments,
    mailbox_number: DFF<Bits<12>>,
    answer: DFF<TableResult>,
    found: DFF<EpochReply>,
    /// The map that a buffer gets.
    mapped: DFF<Bits<MAP_NUMBER>>,
    error: DFF<Bits<8>>,
    value: DFF<Bits<16>>,
}

impl CommandUnit {
    /// A command unit in front of a table of `mailboxes` entries.
    pub fn new(mailboxes: usize) -> Self {
        Self { words: CommandArguments::new(mailboxes), ..Self::blank() }
    }
}

#[hdl]
impl CommandUnit {
    fn update(&mut self) {
        let pid = bit_cast::<16, 6>(self.owner.q.val());
        let opens = self.opens.q.val();
        let code = self.code.q.val();
        let puts = (code == PUT) | (code == GET);
        let posts = (code == POST_BUFFER) | (code == POST_MAPPED);
        let maps = (code == READ_MAP) | (code == FREE_MAP);
        self.words.fetching.next = self.state.q.val() == CommandState::Fetch;
        self.words.puts.next = puts;
        self.words.argument.next = self.argument.val();
        self.argument_read.next = self.words.argument_read.val();
        self.argument_index.next = self.words.argument_index.val();
        let staged = self.words.arguments.val();
        let checks = self.words.checks.val();
        let record = staged.record.get_bits::<60>(4);
        let managed = (staged.mode & MANAGED).any();
        let by_tag = (staged.mode & TAGGED).any();

        let commands = code == OPEN_COMMANDS;
        self.ring.valid.next = (self.state.q.val() == CommandState::Ring) & !commands;
        self.commands_valid.next = (self.state.q.val() == CommandState::Ring) & commands;
        self.ring.next = RingCommand {
            pid: self.owner.q.val(),
            open: staged.size.get_bits::<16>(5).any(),
            base: staged.buffer.get_bits::<59>(5),
            last: (staged.size.get_bits::<16>(5) - 1).get_bits::<15>(0),
        };

        self.request.valid.next = (self.state.q.val() == CommandState::Request)
            | (self.state.q.val() == CommandState::Insert)
            | (self.state.q.val() == CommandState::Closing)
            | (self.state.q.val() == CommandState::Remove);
        self.request.next = TableRequest {
            op: bits::<3>(NUMBER),
            pid: pid,
            addr: staged.addr,
            key: staged.key,
            mode: staged.mode.get_bits::<9>(0),
            // The buffer queue chooses it.
            window: bits::<9>(0),
            mailbox: self.mailbox_number.q.val(),
            generation: staged.mailbox.get_bits::<4>(12),
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
        self.query.valid.next = (self.state.q.val() == CommandState::Query) & !self.reply.valid.val();
        self.query.next = EpochQuery {
            op: bits::<2>(QUERY_EPOCH),
            mailbox: self.mailbox_number.q.val(),
            back: staged.count.get_bits::<4>(0),
        };
        if staged.count.get_bits::<28>(4).any() {
            self.query.next.back = bits::<4>(15);
        }
        if self.state.q.val() == CommandState::Reclaim {
            self.query.next.op = bits::<2>(QUERY_OLDEST);
        } else if code == GET_BUF_PTRS {
            self.query.next.op = bits::<2>(QUERY_POINTER);
        } else if code == REWIND {
            self.query.next.op = bits::<2>(QUERY_REWIND);
        }
        self.reclaim.next = self.state.q.val() == CommandState::Reclaim;
        self.reclaim_closes.next = code == CLOSE;
        self.region_valid.next = self.state.q.val() == CommandState::Permit;
        self.region_query.next = RegionQuery {
            pid: self.owner.q.val(),
            write: posts | (code == OPEN_RING),
            address: staged.buffer,
            length: if puts { staged.length } else { staged.size },
            has_record: posts,
            record: record,
        };
        self.put.valid.next = self.state.q.val() == CommandState::Put;
        // GET: the buffer's registers say where in this node the answer goes.
        self.put.next = PutDesc {
            op: bits::<2>(0),
            from_host: true,
            node: staged.node,
            dst_pid: staged.target_pid,
            src_pid: pid,
            addr: staged.addr,
            key: staged.key,
            buf_off: staged.offset,
            length: staged.length,
            host_address: staged.buffer,
            reply_addr: staged.buffer,
            reply_off: staged.size,
            reply_key: staged.record.get_bits::<32>(0),
            // No processor: nobody waits for its end.
            cluster: bits::<3>(7),
            hpu: bits::<3>(7),
            ..Default::default()
        };
        if code == GET {
            self.put.next.op = bits::<2>(1);
            self.put.next.from_host = false;
            self.put.next.flags = bits::<16>(ACTIVE_FLAG) & repeat::<16>(staged.count.get_bit(0));
        } else {
            // A put has no reply: that word says for which epoch it is.
            self.put.next.reply_key = staged.count;
            self.put.next.flags =
                (bits::<16>(EPOCH_FLAG) & repeat::<16>(by_tag)) | (bits::<16>(MANAGED_FLAG) & repeat::<16>(managed));
        }
        // Receive maps.
        if self.state.q.val() == CommandState::Check {
            self.mapped.d.next = self.map_next.val();
        }
        self.map_arms.next = (self.state.q.val() == CommandState::Queue) & (code == POST_MAPPED);
        self.map_granule.next = staged.count.get_bits::<5>(0);
        self.map_valid.next = self.state.q.val() == CommandState::Map;
        self.map_query.next = MapQuery {
            pid: self.owner.q.val(),
            number: staged.count.get_bits::<MAP_NUMBER>(MAP_SHIFT),
            word: staged.count.get_bits::<MAP_WORD>(0),
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
            threshold: checks.threshold,
            ops: (staged.mode & OPS).any(),
            managed: managed,
            tagged: by_tag & !managed,
            ordered: by_tag & managed,
            buffer: BufferEntry { base: staged.buffer, size: staged.size },
            record: record,
        };
        self.mailbox_opened.next = false;
        self.buffer_posted.next = false;
        self.mailbox_closed.next = false;

        match self.state.q.val() {
            CommandState::Idle => {
                self.owner.d.next = self.start_pid.val();
                self.opens.d.next = self.start_code.val() == INIT_WINDOW;
                let code_written = self.start_code.val();
                self.code.d.next = code_written.get_bits::<4>(0);
                self.supported.d.next = (code_written == INIT_WINDOW)
                    | (code_written == POST_BUFFER)
                    | (code_written == CLOSE)
                    | (code_written == INC_EPOCH)
                    | (code_written == GET_EPOCH)
                    | (code_written == GET_BUF_PTRS)
                    | (code_written == REWIND)
                    | (code_written == PUT)
                    | (code_written == GET)
                    | (code_written == OPEN_RING)
                    | (code_written == OPEN_COMMANDS)
                    | (code_written == POST_MAPPED)
                    | (code_written == READ_MAP)
                    | (code_written == FREE_MAP);
                self.error.d.next = bits::<8>(doorbell_error::NONE);
                self.value.d.next = bits::<16>(0);
                if self.start.val() {
                    self.state.d.next = CommandState::Fetch;
                }
            }
            CommandState::Fetch => {
                if self.words.done.val() & self.rings_idle.val() {
                    self.state.d.next = CommandState::Check;
                }
            }
            CommandState::Check => {
                self.mailbox_number.d.next = staged.mailbox.get_bits::<12>(0);
                self.state.d.next = CommandState::Finish;
                if !self.supported.q.val() | (opens & checks.bad_mode) {
                    self.error.d.next = bits::<8>(UNSUPPORTED);
                } else if (code == OPEN_RING) | commands {
                    if checks.bad_ring {
                        self.error.d.next = bits::<8>(BAD_ARGUMENT);
                    } else if staged.size.any() {
                        self.state.d.next = CommandState::Permit;
                    } else {
                        self.state.d.next = CommandState::Ring;
                    }
                } else if maps & checks.bad_map {
                    self.error.d.next = bits::<8>(BAD_ARGUMENT);
                } else if maps {
                    self.state.d.next = CommandState::Map;
                } else if puts {
                    // What a GET brings goes into buffers that were posted; an empty put reads no memory.
                    if (code == PUT) & staged.length.any() {
                        self.state.d.next = CommandState::Permit;
                    } else if (code == PUT) | staged.length.any() {
                        self.state.d.next = CommandState::Put;
                    } else {
                        self.error.d.next = bits::<8>(BAD_ARGUMENT);
                    }
                } else if (opens & checks.no_threshold)
                    | (posts & checks.bad_buffer)
                    | ((code == POST_MAPPED) & checks.bad_granule)
                {
                    self.error.d.next = bits::<8>(BAD_ARGUMENT);
                } else if !opens & checks.above {
                    self.error.d.next = bits::<8>(NO_MAILBOX);
                } else if (code == POST_MAPPED) & !self.map_any.val() {
                    self.error.d.next = bits::<8>(NO_MAP);
                } else if posts {
                    self.state.d.next = CommandState::Permit;
                } else {
                    self.state.d.next = CommandState::Request;
                }
            }
            CommandState::Permit => {
                if self.region_done.val() & !self.region_ok.val() {
                    self.error.d.next = bits::<8>(OUT_OF_REGION);
                    self.state.d.next = CommandState::Finish;
                } else if self.region_done.val() {
                    self.state.d.next = CommandState::Request;
                    if puts {
                        self.state.d.next = CommandState::Put;
                    } else if !posts {
                        self.state.d.next = CommandState::Ring;
                    }
                }
            }
            CommandState::Request => {
                if self.request.ready.val() {
                    self.state.d.next = CommandState::Result;
                }
            }
            CommandState::Result => {
                self.answer.d.next = self.table_result.val();
                if self.table_result.valid.val() {
                    self.state.d.next = CommandState::Decide;
                }
            }
            CommandState::Decide => {
                let table_result = self.answer.q.val();
                self.state.d.next = CommandState::Finish;
                if opens {
                    self.mailbox_number.d.next = table_result.mailbox;
                    if table_result.hit {
                        self.error.d.next = bits::<8>(EXISTS);
                    } else if table_result.full & table_result.busy {
                        // Mailboxes are being moved to make room: ask again.
                        self.state.d.next = CommandState::Request;
                    } else if table_result.full {
                        self.error.d.next = bits::<8>(TABLE_FULL);
                    } else {
                        self.state.d.next = CommandState::Queue;
                    }
                } else if !table_result.hit {
                    self.error.d.next = bits::<8>(NO_MAILBOX);
                } else if posts {
                    self.state.d.next = CommandState::Queue;
                } else if code == CLOSE {
                    self.state.d.next = CommandState::Closing;
                } else if code == INC_EPOCH {
                    self.state.d.next = CommandState::Reclaim;
                } else {
                    self.state.d.next = CommandState::Query;
                }
            }
            CommandState::Query => {
                self.found.d.next = self.reply.val();
                if self.reply.valid.val() {
                    self.state.d.next = CommandState::Length;
                    if !self.reply.val().ok {
                        self.error.d.next = bits::<8>(NOTHING);
                        self.state.d.next = CommandState::Finish;
                    }
                }
            }
            CommandState::Closing => {
                if self.request.ready.val() {
                    self.state.d.next = CommandState::Reclaim;
                }
            }
            CommandState::Reclaim => {
                if self.reclaim_done.val() {
                    self.state.d.next = CommandState::Finish;
                    if code == CLOSE {
                        self.state.d.next = CommandState::Remove;
                    } else if !self.reclaim_found.val() {
                        self.error.d.next = bits::<8>(NOTHING);
                    }
                }
            }
            CommandState::Remove => {
                if self.request.ready.val() {
                    self.mailbox_closed.next = true;
                    self.state.d.next = CommandState::Finish;
                }
            }
            CommandState::Put => {
                // It is taken now or not at all: other processes do not wait for a put to leave.
                self.value.d.next = self.put_number.val();
                if !self.put.ready.val() {
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
                if self.request.ready.val() {
                    self.mailbox_opened.next = true;
                    self.state.d.next = CommandState::Finish;
                }
            }
            CommandState::Map => {
                self.found.d.next.value = self.map_word.val();
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
        self.slow.next = (self.state.q.val() == CommandState::Reclaim)
            | (self.state.q.val() == CommandState::Put)
            | (self.state.q.val() == CommandState::Map)
            | (self.state.q.val() == CommandState::Ring);
        self.pid.next = self.owner.q.val();
        let epoch_reply = self.found.q.val();
        self.result.next = (bits::<8>(0), self.error.q.val(), self.value.q.val()).cat::<32>();
        self.result_word.next = bits::<5>(RESULT);
        self.result.valid.next = true;
        if self.state.q.val() == CommandState::Length {
            self.result.next = epoch_reply.length;
            self.result_word.next = bits::<5>(VALUE_LENGTH);
        } else if self.state.q.val() == CommandState::Low {
            self.result.next = epoch_reply.value.get_bits::<32>(0);
            self.result_word.next = bits::<5>(VALUE_LO);
        } else if self.state.q.val() == CommandState::High {
            self.result.next = epoch_reply.value.get_bits::<32>(32);
            self.result_word.next = bits::<5>(VALUE_HI);
        } else if self.state.q.val() == CommandState::Clear {
            self.result.next = bits::<32>(0);
            self.result_word.next = bits::<5>(RING_DONE);
        } else {
            self.result.valid.next = self.state.q.val() == CommandState::Finish;
        }
    }
}
