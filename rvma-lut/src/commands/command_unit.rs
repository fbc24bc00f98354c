//! Command unit: carries out one doorbell command at a time.
//!
//! | neighbour | ports |
//! |---|---|
//! | doorbell | in `command`; out `staged` |
//! | lookup | out `request`; in `table_result` |
//! | buffer queue | out `queue_command` (held) |
//! | regions | out `region` (held) |
//! | epochs | out `query` (held); in `reply` |
//! | buffer reclaim | out `reclaim` (held) |
//! | event rings | out `ring` (held); in `ring_done` |
//! | command rings | out `commands_valid` (held); in `commands_done` |
//! | kicks | out `shadow_valid` (held); in `shadow_done` |
//! | ring posts | in `rings_idle`: no command of a ring is under way; none begins while `command.busy` |
//! | put arbiter | out `put`; in `put_number` |
//! | receive maps | out `map_assign`: map of the buffer being posted; out `map_query` (held) |
//! | registers | out pulses `mailbox_opened`, `mailbox_closed`, `buffer_posted` |
//!
//! First the staged registers of the command are fetched ([`CommandArguments`]) while the commands of rings that have
//! begun end. INIT_WINDOW asks the table for a number (EXISTS, TABLE_FULL), empties that mailbox's queue, and only then
//! makes the mailbox visible to packets. Every command that names a mailbox asks the table whether the mailbox is open
//! and belongs to the process. Then a buffer is posted, the epochs are read, or buffers are taken back; for CLOSE, the
//! latter between the table's CLOSING and REMOVE. The table's keys contain the process of the doorbell page, so a
//! process can name only its own mailboxes; a put carries that process as its source.

use crate::commands::command_arguments::CommandArguments;
use crate::commands::command_words::*;
use crate::commands::put_arbiter::{put_of_process, ProcessPut};
use crate::completion::receive_maps::{MapQuery, NUMBER as MAP_NUMBER, WORD as MAP_WORD};
use crate::host_access::regions::RegionQuery;
use crate::prelude::*;
use spindle_contract::registers::doorbell_command::*;
use spindle_contract::registers::doorbell_error::*;
use spindle_contract::registers::mailbox_mode;

/// Kind of the command.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct CommandClass {
    /// PUT or GET.
    puts: Bit,
    /// POST_BUFFER or POST_MAPPED.
    posts: Bit,
    /// READ_MAP or FREE_MAP.
    maps: Bit,
    /// OPEN_COMMANDS.
    commands: Bit,
    /// OPEN_SHADOW.
    shadow: Bit,
    /// MODE has MANAGED.
    managed: Bit,
    /// MODE has TAGGED.
    by_tag: Bit,
}

/// The command unit. See the module text.
#[block]
pub struct CommandUnit {
    /// Command of a process, with its result.
    pub command: DoorbellCommandSink,
    /// Read of the staged registers of `command.owner`.
    pub staged: ArgumentSource,
    /// Request to the mailbox table.
    pub request: Source<TableRequest>,
    /// Result of the table.
    pub table_result: PulseSink<TableResult>,
    /// Change of a mailbox's queue.
    pub queue_command: QueueCommandSource,
    /// Memory that the command names.
    pub region: RegionQuerySource,
    /// Query of a mailbox's epochs; held until `reply`.
    pub query: Pulse<EpochQuery>,
    /// Answer to `query`.
    pub reply: PulseSink<EpochReply>,
    /// Buffers of the mailbox to take back.
    pub reclaim: ReclaimSource,
    /// Put or get of the process.
    pub put: Source<PutDesc>,
    /// Number of that put.
    pub put_number: Signal<In, Bits<16>>,
    /// Event ring to open or close; held until `ring_done`.
    pub ring: Pulse<RingCommand>,
    /// Event ring opened or closed.
    pub ring_done: Signal<In, Bit>,
    /// `ring` is a command ring; held until `commands_done`.
    pub commands_valid: Signal<Out, Bit>,
    /// Command ring opened or closed.
    pub commands_done: Signal<In, Bit>,
    /// `ring` is a shadow line; held until `shadow_done`.
    pub shadow_valid: Signal<Out, Bit>,
    /// Shadow line named or removed.
    pub shadow_done: Signal<In, Bit>,
    /// No command of a command ring is under way.
    pub rings_idle: Signal<In, Bit>,
    /// Receive map of the buffer being posted.
    pub map_assign: MapAssignSource,
    /// Read or end of a receive map.
    pub map_query: MapQuerySource,
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
    /// Map of the posted buffer.
    mapped: DFF<Bits<MAP_NUMBER>>,
    error: DFF<Bits<8>>,
    value: DFF<Bits<16>>,
}

impl CommandUnit {
    /// A command unit for a table of `mailboxes` entries.
    pub fn new(mailboxes: usize) -> Self {
        Self { words: CommandArguments::new(mailboxes), ..Self::blank() }
    }
}

#[hdl]
impl CommandUnit {
    fn update(&mut self) {
        let kind = self.classify();
        let pid = bit_cast::<16, 6>(self.owner.q.val());
        self.query_mailbox(pid);
        self.hand_over(kind);
        self.put_desc(kind, pid);
        self.step(kind);
        self.write_result();
    }

    /// The kind of the command; fetches its arguments.
    fn classify(&mut self) -> CommandClass {
        let code = self.code.q.val();
        let puts = (code == bits(PUT)) | (code == bits(GET));
        let posts = (code == bits(POST_BUFFER)) | (code == bits(POST_MAPPED));
        let maps = (code == bits(READ_MAP)) | (code == bits(FREE_MAP));
        let commands = code == bits(OPEN_COMMANDS);
        let shadow = code == bits(OPEN_SHADOW);
        let staged = self.words.arguments.val();
        let managed = (staged.mode & bits(mailbox_mode::MANAGED)).any();
        let by_tag = (staged.mode & bits(mailbox_mode::TAGGED)).any();
        self.words.fetching.next = self.state.q.val() == CommandState::Fetch;
        self.words.puts.next = puts;
        self.words.staged.join(&mut self.staged);
        CommandClass { puts, posts, maps, commands, shadow, managed, by_tag }
    }

    /// Requests to the mailbox table, the epochs and the buffer reclaim.
    fn query_mailbox(&mut self, pid: Bits<16>) {
        let staged = self.words.arguments.val();
        let answer = self.answer.q.val();
        self.request.valid.next = (self.state.q.val() == CommandState::Request)
            | (self.state.q.val() == CommandState::Insert)
            | (self.state.q.val() == CommandState::Closing)
            | (self.state.q.val() == CommandState::Remove);
        self.request.next = TableRequest {
            op: bits::<3>(NUMBER),
            pid: pid,
            addr: staged.addr,
            key: staged.key,
            // The bits that packets need.
            mode: bit_cast::<9, 8>(staged.mode.get_bits::<8>(0)),
            // The buffer queue chooses the window.
            window: bits::<9>(0),
            mailbox: self.mailbox_number.q.val(),
            generation: staged.mailbox.get_bits::<4>(12),
        };
        if self.state.q.val() == CommandState::Insert {
            self.request.next.op = bits::<3>(INSERT);
            self.request.next.generation = answer.generation;
        } else if self.state.q.val() == CommandState::Closing {
            self.request.next.op = bits::<3>(CLOSING);
            self.request.next.mode = bits::<9>(MODE_CLOSING);
            self.request.next.generation = answer.generation + 1;
        } else if self.state.q.val() == CommandState::Remove {
            self.request.next.op = bits::<3>(REMOVE);
            self.request.next.generation = answer.generation + 1;
        } else if self.opens.q.val() {
            self.request.next.op = bits::<3>(PROBE);
        }

        // Epochs and buffer reclaim.
        let code = self.code.q.val();
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
        } else if code == bits(GET_BUF_PTRS) {
            self.query.next.op = bits::<2>(QUERY_POINTER);
        } else if code == bits(REWIND) {
            self.query.next.op = bits::<2>(QUERY_REWIND);
        }
        self.reclaim.valid.next = self.state.q.val() == CommandState::Reclaim;
        self.reclaim.closes.next = code == bits(CLOSE);
    }

    /// Rings, regions, buffer queue and receive maps.
    fn hand_over(&mut self, kind: CommandClass) {
        let staged = self.words.arguments.val();
        let code = self.code.q.val();
        let opens = self.opens.q.val();
        let record = staged.record.get_bits::<60>(4);
        self.ring.valid.next = (self.state.q.val() == CommandState::Ring) & !kind.commands & !kind.shadow;
        self.commands_valid.next = (self.state.q.val() == CommandState::Ring) & kind.commands;
        self.shadow_valid.next = (self.state.q.val() == CommandState::Ring) & kind.shadow;
        self.ring.next = RingCommand {
            pid: self.owner.q.val(),
            open: staged.size.get_bits::<16>(5).any(),
            base: staged.buffer.get_bits::<59>(5),
            last: (staged.size.get_bits::<16>(5) - 1).get_bits::<15>(0),
        };
        self.region.valid.next = self.state.q.val() == CommandState::Permit;
        self.region.next = RegionQuery {
            pid: self.owner.q.val(),
            write: kind.posts | (code == bits(OPEN_RING)),
            address: staged.buffer,
            length: if kind.puts { staged.length } else { staged.size },
            has_record: kind.posts,
            record: record,
        };
        self.queue_command.valid.next = self.state.q.val() == CommandState::Queue;
        self.queue_command.next = QueueCommand {
            op: if opens { bits::<2>(QUEUE_INIT) } else { bits::<2>(QUEUE_POST) },
            opens: opens,
            slot: bits::<14>(0),
            cancelled: code == bits(CLOSE),
            mailbox: self.mailbox_number.q.val(),
            pid: self.owner.q.val(),
            threshold: self.words.checks.val().threshold,
            ops: (staged.mode & bits(mailbox_mode::OPS)).any(),
            managed: kind.managed,
            tagged: kind.by_tag & !kind.managed,
            ordered: kind.by_tag & kind.managed,
            event: (staged.mode & bits(mailbox_mode::EVENT)).any(),
            buffer: BufferEntry { base: staged.buffer, size: staged.size },
            record: record,
        };
        self.mapped.load(self.state.q.val() == CommandState::Check, self.map_assign.next.val());
        self.map_assign.assign.next = (self.state.q.val() == CommandState::Queue) & (code == bits(POST_MAPPED));
        self.map_assign.granule.next = staged.count.get_bits::<5>(0);
        self.map_query.valid.next = self.state.q.val() == CommandState::Map;
        self.map_query.next = MapQuery {
            pid: self.owner.q.val(),
            number: staged.count.get_bits::<MAP_NUMBER>(MAP_SHIFT),
            word: staged.count.get_bits::<MAP_WORD>(0),
            free: code == bits(FREE_MAP),
        };
    }

    /// A put or get. GET: the buffer's registers name the destination of the answer in this node.
    fn put_desc(&mut self, kind: CommandClass, pid: Bits<16>) {
        let staged = self.words.arguments.val();
        self.put.valid.next = self.state.q.val() == CommandState::Put;
        let process_put = ProcessPut {
            get: self.code.q.val() == bits(GET),
            active: staged.count.get_bit(0),
            tagged: kind.by_tag,
            managed: kind.managed,
        };
        let places = PutDesc {
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
            // A put has no reply: the word holds the epoch that the put names.
            reply_key: if process_put.get { staged.record.get_bits::<32>(0) } else { staged.count },
            ..PutDesc::default()
        };
        self.put.next = put_of_process(process_put, places);
    }

    /// The sequencer.
    fn step(&mut self, kind: CommandClass) {
        let code = self.code.q.val();
        self.mailbox_opened.next = false;
        self.buffer_posted.next = false;
        self.mailbox_closed.next = false;
        match self.state.q.val() {
            CommandState::Idle => self.begin(),
            CommandState::Fetch => {
                self.state.load(self.words.done.val() & self.rings_idle.val(), CommandState::Check);
            }
            CommandState::Check => self.check(kind),
            CommandState::Permit => {
                if self.region.done.val() & !self.region.ok.val() {
                    self.fail(OUT_OF_REGION);
                } else if self.region.done.val() {
                    self.state.d.next = CommandState::Request;
                    if kind.puts {
                        self.state.d.next = CommandState::Put;
                    } else if !kind.posts {
                        self.state.d.next = CommandState::Ring;
                    }
                }
            }
            CommandState::Request => {
                self.state.load(self.request.ready.val(), CommandState::Result);
            }
            CommandState::Result => {
                self.answer.d.next = self.table_result.val();
                self.state.load(self.table_result.valid.val(), CommandState::Decide);
            }
            CommandState::Decide => self.decide(kind),
            CommandState::Query => {
                self.found.d.next = self.reply.val();
                if self.reply.valid.val() {
                    self.state.d.next = CommandState::Length;
                    if !self.reply.val().ok {
                        self.fail(NOTHING);
                    }
                }
            }
            CommandState::Closing => {
                self.state.load(self.request.ready.val(), CommandState::Reclaim);
            }
            CommandState::Reclaim => {
                if self.reclaim.done.val() {
                    self.state.d.next = CommandState::Finish;
                    if code == bits(CLOSE) {
                        self.state.d.next = CommandState::Remove;
                    } else if !self.reclaim.found.val() {
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
                // The put is taken now or refused: other processes do not wait for a put to leave.
                self.value.d.next = self.put_number.val();
                self.error.load(!self.put.ready.val(), bits::<8>(NO_SLOT));
                self.state.d.next = CommandState::Finish;
            }
            CommandState::Length => self.state.d.next = CommandState::Low,
            CommandState::Low => self.state.d.next = CommandState::High,
            CommandState::High => self.state.d.next = CommandState::Finish,
            CommandState::Queue => {
                if self.queue_command.done.val() {
                    self.queue_changed();
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
                self.found.d.next.value = self.map_query.word.val();
                if self.map_query.done.val() & !self.map_query.ok.val() {
                    self.fail(NO_MAP);
                } else if self.map_query.done.val() {
                    self.state.d.next = if code == bits(FREE_MAP) { CommandState::Finish } else { CommandState::Low };
                }
            }
            CommandState::Ring => {
                if self.ring_done.val() | self.shadow_done.val() {
                    self.state.d.next = CommandState::Finish;
                } else if self.commands_done.val() {
                    self.state.d.next = CommandState::Clear;
                }
            }
            CommandState::Clear => self.state.d.next = CommandState::Finish,
            CommandState::Finish => self.state.d.next = CommandState::Idle,
            _ => self.state.d.next = CommandState::Idle,
        }
    }

    /// Ends the command with an error.
    fn fail(&mut self, error: u32) {
        self.error.d.next = bits::<8>(error);
        self.state.d.next = CommandState::Finish;
    }

    fn begin(&mut self) {
        let code_written = self.command.code.val();
        self.owner.d.next = self.command.pid.val();
        self.opens.d.next = code_written == bits(INIT_WINDOW);
        self.code.d.next = code_written.get_bits::<4>(0);
        self.supported.d.next = (code_written == bits(INIT_WINDOW))
            | (code_written == bits(POST_BUFFER))
            | (code_written == bits(CLOSE))
            | (code_written == bits(INC_EPOCH))
            | (code_written == bits(GET_EPOCH))
            | (code_written == bits(GET_BUF_PTRS))
            | (code_written == bits(REWIND))
            | (code_written == bits(PUT))
            | (code_written == bits(GET))
            | (code_written == bits(OPEN_RING))
            | (code_written == bits(OPEN_COMMANDS))
            | (code_written == bits(OPEN_SHADOW))
            | (code_written == bits(POST_MAPPED))
            | (code_written == bits(READ_MAP))
            | (code_written == bits(FREE_MAP));
        self.error.d.next = bits::<8>(NONE);
        self.value.d.next = bits::<16>(0);
        self.state.load(self.command.start.val(), CommandState::Fetch);
    }

    /// Checks the arguments; the first state that the command needs follows.
    fn check(&mut self, kind: CommandClass) {
        let code = self.code.q.val();
        let opens = self.opens.q.val();
        let staged = self.words.arguments.val();
        let checks = self.words.checks.val();
        self.mailbox_number.d.next = staged.mailbox.get_bits::<12>(0);
        self.state.d.next = CommandState::Finish;
        if !self.supported.q.val() | (opens & checks.bad_mode) {
            self.error.d.next = bits::<8>(UNSUPPORTED);
        } else if (code == bits(OPEN_RING)) | kind.commands | kind.shadow {
            let bad_memory = if kind.shadow { checks.bad_shadow } else { checks.bad_ring };
            if bad_memory {
                self.error.d.next = bits::<8>(BAD_ARGUMENT);
            } else if staged.size.any() {
                self.state.d.next = CommandState::Permit;
            } else {
                self.state.d.next = CommandState::Ring;
            }
        } else if kind.maps & checks.bad_map {
            self.error.d.next = bits::<8>(BAD_ARGUMENT);
        } else if kind.maps {
            self.state.d.next = CommandState::Map;
        } else if kind.puts {
            // The answer to a GET goes into posted buffers, which were checked; an empty put reads no memory.
            if (code == bits(PUT)) & staged.length.any() {
                self.state.d.next = CommandState::Permit;
            } else if (code == bits(PUT)) | staged.length.any() {
                self.state.d.next = CommandState::Put;
            } else {
                self.error.d.next = bits::<8>(BAD_ARGUMENT);
            }
        } else if (opens & checks.no_threshold)
            | (kind.posts & checks.bad_buffer)
            | ((code == bits(POST_MAPPED)) & checks.bad_granule)
        {
            self.error.d.next = bits::<8>(BAD_ARGUMENT);
        } else if !opens & checks.above {
            self.error.d.next = bits::<8>(NO_MAILBOX);
        } else if (code == bits(POST_MAPPED)) & !self.map_assign.any.val() {
            self.error.d.next = bits::<8>(NO_MAP);
        } else if kind.posts {
            self.state.d.next = CommandState::Permit;
        } else {
            self.state.d.next = CommandState::Request;
        }
    }

    /// Decides by the table's result.
    fn decide(&mut self, kind: CommandClass) {
        let code = self.code.q.val();
        let found = self.answer.q.val();
        self.state.d.next = CommandState::Finish;
        if self.opens.q.val() {
            self.mailbox_number.d.next = found.mailbox;
            if found.hit {
                self.error.d.next = bits::<8>(EXISTS);
            } else if found.full & found.busy {
                // Mailboxes are being moved to make room: ask again.
                self.state.d.next = CommandState::Request;
            } else if found.full {
                self.error.d.next = bits::<8>(TABLE_FULL);
            } else {
                self.state.d.next = CommandState::Queue;
            }
        } else if !found.hit {
            self.error.d.next = bits::<8>(NO_MAILBOX);
        } else if kind.posts {
            self.state.d.next = CommandState::Queue;
        } else if code == bits(CLOSE) {
            self.state.d.next = CommandState::Closing;
        } else if code == bits(INC_EPOCH) {
            self.state.d.next = CommandState::Reclaim;
        } else {
            self.state.d.next = CommandState::Query;
        }
    }

    fn queue_changed(&mut self) {
        self.state.d.next = CommandState::Finish;
        if self.opens.q.val() & self.queue_command.ok.val() {
            self.state.d.next = CommandState::Insert;
        } else if self.opens.q.val() {
            self.error.d.next = bits::<8>(TABLE_FULL);
        } else if self.queue_command.small.val() {
            self.error.d.next = bits::<8>(BAD_ARGUMENT);
        } else if self.queue_command.ok.val() {
            self.buffer_posted.next = true;
            self.value.load(self.code.q.val() == bits(POST_MAPPED), bit_cast::<16, MAP_NUMBER>(self.mapped.q.val()));
        } else {
            self.error.d.next = bits::<8>(NO_SLOT);
        }
    }

    /// Words for the process's page.
    fn write_result(&mut self) {
        self.command.busy.next = self.state.q.val() != CommandState::Idle;
        self.command.slow.next = (self.state.q.val() == CommandState::Reclaim)
            | (self.state.q.val() == CommandState::Put)
            | (self.state.q.val() == CommandState::Map)
            | (self.state.q.val() == CommandState::Ring);
        self.command.owner.next = self.owner.q.val();
        let epoch_reply = self.found.q.val();
        self.command.result.next = (bits::<8>(0), self.error.q.val(), self.value.q.val()).cat::<32>();
        self.command.result_word.next = bits::<5>(RESULT);
        self.command.result_valid.next = true;
        if self.state.q.val() == CommandState::Length {
            self.command.result.next = epoch_reply.length;
            self.command.result_word.next = bits::<5>(VALUE_LENGTH);
        } else if self.state.q.val() == CommandState::Low {
            self.command.result.next = epoch_reply.value.get_bits::<32>(0);
            self.command.result_word.next = bits::<5>(VALUE_LO);
        } else if self.state.q.val() == CommandState::High {
            self.command.result.next = epoch_reply.value.get_bits::<32>(32);
            self.command.result_word.next = bits::<5>(VALUE_HI);
        } else if self.state.q.val() == CommandState::Clear {
            self.command.result.next = bits::<32>(0);
            self.command.result_word.next = bits::<5>(RING_DONE);
        } else {
            self.command.result_valid.next = self.state.q.val() == CommandState::Finish;
        }
    }
}
