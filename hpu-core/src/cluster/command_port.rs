//! Command port of an HPU: the words of its two threads, and a table of the commands in flight.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPU | `port`, always taken; in `begin` |
//! | command unit | out `request`: an ISSUE; in `request_taken`: the unit examines it |
//! | | in `word` / out `argument`, `argument_written`, in the same cycle, until the ISSUE is answered; in `answered` |
//! | | in `accept` with `accept_slot`, `accept_packet`: the command has a handle; in `blocked`: there is no room for a command |
//! | cluster | in `complete`, `failed`: handles whose command ended |
//! | | in `result`, `result_handle`: result of a command, before its `complete` |
//! | slots | in `probe`; out `probe_used`, in the same cycle: a command in flight reads this packet slot |
//!
//! The port stores words and answers reads; the [unit](crate::cluster::command_unit) of the cluster decides what a
//! command means and whether it is legal. From the write of ISSUE to its answer the HPU makes no other access, so the
//! unit has the read port of the words to itself.
//!
//! A new handler finds words of zero and no trace of earlier handlers' commands, which continue in their handles. The
//! packet slots that they read stay in use; a scratchpad does not: a handler that sends from it waits before it
//! returns. A result is written in two cycles in which the HPU writes nothing, and is dropped if the handler that
//! requested it has ended.
//!
//! **Waiting.** The HPU reads `port.pending` when it reads WAIT. After a write of WAIT_HANDLE only that command counts,
//! until a read of WAIT found it complete.
//!
//! **Zeroing.** Words of an earlier run count as 0. Runs have 32 numbers, so each run zeroes the word that its number
//! ends with, in a cycle without a write, of which every run has one: each word twice in 32 runs. After reset all words
//! are zeroed, while the loader sets the HPU up; a write ends that.

use crate::cluster::command_rules::{flags_of, FLAG_BITS};
use crate::processor::bundles::{CommandAccessSink, HandlerStartSink};
use crate::types::IssueRequest;
use spindle_blocks::LutMemory;
use spindle_contract::memory_map as map;
use spindle_verilog::prelude::*;

/// Words of the port by their number.
const ISSUE: u64 = map::CMD_ISSUE as u64 / 4;
const STATUS: u64 = map::CMD_STATUS as u64 / 4;
const ERROR: u64 = map::CMD_ERROR as u64 / 4;
const WAIT: u64 = map::CMD_WAIT as u64 / 4;
const WAIT_HANDLE: u64 = map::CMD_WAIT_HANDLE as u64 / 4;
/// Number of RESULT_LO, less its lowest bit.
const RESULT_PAIR: u64 = map::CMD_RESULT_LO as u64 / 8;
/// Number of no packet slot.
const NO_SLOT: u64 = 15;
const HANDLES: usize = map::COMMAND_HANDLES;
/// Bits of ISSUE: flags, and above them bits that no opcode has.
const FLAGS: usize = map::ISSUE_FLAGS;
const NO_FLAGS: usize = FLAGS + FLAG_BITS;
const NO_FLAG_BITS: usize = 32 - NO_FLAGS;

/// The command port. See the module text.
#[block(no_default)]
pub struct CommandPort {
    /// Accesses of the HPU.
    pub port: CommandAccessSink,
    /// A handler begins.
    pub begin: HandlerStartSink,
    /// An ISSUE.
    pub request: Pulse<IssueRequest>,
    /// The unit examines it.
    pub request_taken: Signal<In, Bit>,
    /// Word that the unit reads.
    pub word: Signal<In, Bits<4>>,
    /// That word,
    pub argument: Signal<Out, Bits<32>>,
    /// The word was written; else it is 0.
    pub argument_written: Signal<Out, Bit>,
    /// The ISSUE is answered.
    pub answered: Signal<In, Bit>,
    /// The command is in flight.
    pub accept: Signal<In, Bit>,
    /// It reads the packet of its task,
    pub accept_packet: Signal<In, Bit>,
    /// which is in this slot.
    pub accept_slot: Signal<In, Bits<4>>,
    /// The unit has no room for some commands.
    pub blocked: Signal<In, Bit>,
    /// Handles whose command ended.
    pub complete: Signal<In, Bits<4>>,
    /// With it: with an error.
    pub failed: Signal<In, Bits<4>>,
    /// Result of a command.
    pub result: Sink<Bits<64>>,
    /// Its handle.
    pub result_handle: Signal<In, Bits<2>>,
    /// Packet slot.
    pub probe: Signal<In, Bits<4>>,
    /// A command in flight reads the slot.
    pub probe_used: Signal<Out, Bit>,
    /// {thread, word}, with the run in which it was written.
    store: LutMemory<Bits<37>, 5>,
    /// Runs of each thread.
    runs: [Reg<Bits<5>>; 2],
    /// A word is to be zeroed; its address.
    dirty: Reg<Bit>,
    wipe_at: Reg<Bits<5>>,
    /// All words are zeroed, after reset.
    cleared: Reg<Bit>,
    /// Bank of the handler of each thread.
    banks: [Reg<Bits<2>>; 2],
    issued: DFF<IssueRequest>,
    /// Opcode of the ISSUE; 0 if there is no such opcode, or if the opcode has no such flag.
    opcode: DFF<Bits<4>>,
    /// Its flags.
    flags: DFF<Bits<FLAG_BITS>>,
    request_valid: Reg<Bit>,
    /// An ISSUE has no answer yet.
    unanswered: Reg<Bit>,
    /// Handle that the command gets if it is accepted.
    chosen: DFF<Bits<2>>,
    busy: Reg<Bits<4>>,
    error: Reg<Bits<4>>,
    /// Handles whose handler has not ended; its thread.
    owned: [Reg<Bit>; 4],
    owner: [DFF<Bit>; 4],
    /// WAIT waits for one handle alone; that handle.
    waits_for_one: [Reg<Bit>; 2],
    awaited: [DFF<Bits<2>>; 2],
    /// Packet slot that each command reads, or [`NO_SLOT`].
    handle_slot: [Reg<Bits<4>>; 4],
    last_handle: [Reg<Bits<2>>; 2],
    /// The low half of a result is written.
    half: Reg<Bit>,
    answer_high: DFF<Bits<28>>,
    answer_low: DFF<Bits<4>>,
}

/// The result of a command, which is written between the stores of the HPU.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ResultWrite {
    /// Threads of the handlers of all handles.
    pub owners: Bits<4>,
    /// Handles whose handler has not ended.
    pub owned: Bits<4>,
    /// The result is for the second thread.
    pub of_second: Bit,
    /// A half of it is written in this cycle.
    pub keeps: Bit,
}

/// A word that is read from the store.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct StoredWord {
    /// The word,
    pub value: Bits<32>,
    /// if it was written in this run.
    pub exists: Bit,
}

impl Default for CommandPort {
    fn default() -> Self {
        Self { handle_slot: [(); HANDLES].map(|_| Reg::new(bits::<4>(NO_SLOT))), ..Self::blank() }
    }
}

#[hdl]
impl CommandPort {
    fn update(&mut self) {
        let port = self.port.val();
        // A store of a handler that has ended may come after the next one has begun: it has no effect.
        let current = port.bank == (if port.thread { self.banks[1].q.val() } else { self.banks[0].q.val() });
        let stores = self.port.write.val() & current;
        let accepted = if self.accept.val() { bits::<4>(1) << self.chosen.q.val() } else { bits::<4>(0) };
        let runs = (self.runs[1].q.val(), self.runs[0].q.val()).cat::<10>();
        self.take_issue();
        let result = self.take_result();
        let run_begun = self.write_store(stores, result, runs);
        let stored = self.read_store(runs);
        self.follow_threads(stores, result, run_begun);
        self.follow_commands(accepted);
        self.answer(result, stored);
    }

    /// Takes an ISSUE, with the handle that the command would get: a free one stays free, since only this port takes
    /// one.
    fn take_issue(&mut self) {
        let port = self.port.val();
        let busy = self.busy.q.val();
        let issues = self.port.write.val() & (port.word == bits::<4>(ISSUE));
        let handle = first_set::<2, 4>(!busy);
        let opcode = port.data.get_bits::<4>(0);
        let flags = port.data.get_bits::<FLAG_BITS>(FLAGS);
        let others = port.data.get_bits::<4>(4).any() | port.data.get_bits::<NO_FLAG_BITS>(NO_FLAGS).any();
        let known = !others & !(flags & !flags_of(opcode)).any();
        if issues {
            self.issued.d.next.thread = port.thread;
            self.issued.d.next.bank = port.bank;
            self.opcode.d.next = if known { opcode } else { bits::<4>(0) };
            self.flags.d.next = flags;
        }
        self.request_valid.d.next = issues | (self.request_valid.q.val() & !self.request_taken.val());
        self.unanswered.d.next = issues | (self.unanswered.q.val() & !self.answered.val());
        self.request.next = self.issued.q.val();
        self.request.next.opcode = self.opcode.q.val();
        self.request.next.flags = self.flags.q.val();
        self.request.next.handle = handle;
        self.request.next.full = busy.all();
        self.request.valid.next = self.request_valid.q.val();
        self.chosen.load(self.request_taken.val(), handle);
    }

    /// Takes the result of a command, for which the HPU has to write nothing.
    fn take_result(&mut self) -> ResultWrite {
        let owners =
            (self.owner[3].q.val(), self.owner[2].q.val(), self.owner[1].q.val(), self.owner[0].q.val()).cat::<4>();
        let owned =
            (self.owned[3].q.val(), self.owned[2].q.val(), self.owned[1].q.val(), self.owned[0].q.val()).cat::<4>();
        let has_owner = owned.get_bit(self.result_handle.val().index());
        let of_second = owners.get_bit(self.result_handle.val().index());
        let keeps = self.result.valid.val() & has_owner & !self.port.write.val();
        self.half.d.next = if self.result.valid.val() & has_owner { self.half.q.val() ^ keeps } else { false };
        self.result.ready.next = !has_owner | (keeps & self.half.q.val());
        ResultWrite { owners, owned, of_second, keeps }
    }

    /// Writes the words.
    fn write_store(&mut self, stores: Bit, result: ResultWrite, runs: Bits<10>) -> Bits<5> {
        let port = self.port.val();
        let wipe_at = self.wipe_at.q.val();
        let by_port = (port.thread, port.word).cat::<5>();
        let by_result = (result.of_second, bits::<3>(RESULT_PAIR), self.half.q.val()).cat::<5>();
        let at = if stores {
            by_port
        } else if result.keeps {
            by_result
        } else {
            wipe_at
        };
        let writes = stores | result.keeps;
        let wipes = (self.dirty.q.val() | !self.cleared.q.val()) & !writes;
        let run_written = if at.get_bit(4) { runs.get_bits::<5>(5) } else { runs.get_bits::<5>(0) };
        self.store.write_enable.next = writes | wipes;
        self.store.write_address.next = at;
        let word = if stores {
            port.data
        } else if !result.keeps {
            bits::<32>(0)
        } else if self.half.q.val() {
            self.result.val().get_bits::<32>(32)
        } else {
            self.result.val().get_bits::<32>(0)
        };
        self.store.write_data.next = (run_written, word).cat::<37>();
        let beginner = self.begin.thread.val();
        let run_begun = (if beginner { runs.get_bits::<5>(5) } else { runs.get_bits::<5>(0) }) + 1;
        if !self.cleared.q.val() {
            self.wipe_at.d.next = wipe_at + 1;
            self.cleared.d.next = writes | wipe_at.all();
        } else if self.begin.valid.val() {
            self.wipe_at.d.next = (beginner, run_begun.get_bits::<4>(0)).cat::<5>();
            self.dirty.d.next = true;
        } else if at == wipe_at {
            // It is zeroed, or the run has written it already.
            self.dirty.d.next = false;
        }
        run_begun
    }

    /// Reads a word: for the command unit as long as an ISSUE has no answer, else for the HPU.
    fn read_store(&mut self, runs: Bits<10>) -> StoredWord {
        let read_thread = if self.unanswered.q.val() { self.issued.q.val().thread } else { self.port.val().thread };
        let read_word = if self.unanswered.q.val() { self.word.val() } else { self.port.val().word };
        self.store.read_address.next = (read_thread, read_word).cat::<5>();
        let run = if read_thread { runs.get_bits::<5>(5) } else { runs.get_bits::<5>(0) };
        let value = self.store.read_data.val().get_bits::<32>(0);
        let exists = self.store.read_data.val().get_bits::<5>(32) == run;
        self.argument.next = value;
        self.argument_written.next = exists;
        StoredWord { value, exists }
    }

    /// Follows the handlers of both threads, and what their WAIT waits for.
    fn follow_threads(&mut self, stores: Bit, result: ResultWrite, run_begun: Bits<5>) {
        let port = self.port.val();
        let mut pending: Bits<2> = bits::<2>(0);
        for t in 0..2 {
            let all = repeat::<4>(!self.waits_for_one[t].q.val());
            let looked_at = all | (bits::<4>(1) << self.awaited[t].q.val());
            let mine = result.owned & !(result.owners ^ repeat::<4>(t == 1));
            pending = pending.replace_bit(t, (self.busy.q.val() & mine & looked_at).any());
        }
        for t in 0..2 {
            let accesses = port.thread == (t == 1);
            let of_thread = self.issued.q.val().thread == (t == 1);
            if self.begin.valid.val() & (self.begin.thread.val() == (t == 1)) {
                self.banks[t].d.next = self.begin.bank.val();
                self.runs[t].d.next = run_begun;
                self.waits_for_one[t].d.next = false;
            } else {
                if stores & accesses & (port.word == bits::<4>(WAIT_HANDLE)) {
                    self.waits_for_one[t].d.next = true;
                    self.awaited[t].d.next = port.data.get_bits::<2>(0);
                } else if self.port.read.val() & accesses & (port.word == bits::<4>(WAIT)) & !pending.get_bit(t) {
                    self.waits_for_one[t].d.next = false;
                }
            }
            self.last_handle[t].load(self.accept.val() & of_thread, self.chosen.q.val());
        }
        self.port.pending.next = pending;
        self.port.full.next = self.busy.q.val().all() | self.blocked.val();
    }

    /// Keeps the table of commands in flight. A command may end in the cycle in which it is accepted.
    fn follow_commands(&mut self, accepted: Bits<4>) {
        let begins = self.begin.valid.val();
        let beginner = self.begin.thread.val();
        self.busy.d.next = (self.busy.q.val() | accepted) & !self.complete.val();
        self.error.d.next = (self.error.q.val() & !accepted) | (self.complete.val() & self.failed.val());
        let mut used: Bit = false;
        for i in 0..HANDLES {
            // A handle is its handler's until the next one of the thread begins.
            let request_taken = accepted.get_bit(i);
            let owner = if request_taken { self.issued.q.val().thread } else { self.owner[i].q.val() };
            self.owner[i].d.next = owner;
            self.owned[i].d.next = (request_taken | self.owned[i].q.val()) & !(begins & (owner == beginner));
            if self.complete.val().get_bit(i) | (accepted.get_bit(i) & !self.accept_packet.val()) {
                self.handle_slot[i].d.next = bits::<4>(NO_SLOT);
            } else if accepted.get_bit(i) {
                self.handle_slot[i].d.next = self.accept_slot.val();
            }
            used = used | (self.handle_slot[i].q.val() == self.probe.val());
        }
        self.probe_used.next = used;
    }

    /// Answers the HPU.
    fn answer(&mut self, result: ResultWrite, stored: StoredWord) {
        let port = self.port.val();
        let owned = result.owned & !(result.owners ^ repeat::<4>(port.thread));
        let last = if port.thread { self.last_handle[1].q.val() } else { self.last_handle[0].q.val() };
        let special =
            (port.word == bits::<4>(ISSUE)) | (port.word == bits::<4>(STATUS)) | (port.word == bits::<4>(ERROR));
        self.answer_low.d.next = match port.word.to_u64() {
            ISSUE => bit_cast::<4, 2>(last),
            STATUS => self.busy.q.val() & owned,
            ERROR => self.error.q.val() & owned,
            _ => stored.value.get_bits::<4>(0) & repeat::<4>(stored.exists),
        };
        self.answer_high.d.next = if special | !stored.exists { bits::<28>(0) } else { stored.value.get_bits::<28>(4) };
        self.port.data.next = (self.answer_high.q.val(), self.answer_low.q.val()).cat::<32>();
    }
}
