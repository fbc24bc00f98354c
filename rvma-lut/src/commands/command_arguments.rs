//! Command arguments: fetches the staged registers of a doorbell command and checks them.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `fetching` (held), `puts`; out `arguments`, `checks`, `done` |
//! | doorbell | out `staged` |
//!
//! 12 words are read, for PUT and GET 24, one per cycle. `done` rises three cycles after the last read, when
//! `arguments` and `checks` are in registers, and falls with `fetching`. Words that were not read hold those of an
//! earlier command.

use crate::commands::command_words::*;
use crate::commands::ring_posts::bad_buffer;
use crate::prelude::*;
use spindle_contract::registers::mailbox_mode;
use spindle_contract::shadow::BYTES as SHADOW_BYTES;

/// The staged registers, named as in the doorbell page.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// ADDR.
    pub addr: Bits<64>,
    /// KEY.
    pub key: Bits<32>,
    /// MODE.
    pub mode: Bits<32>,
    /// BUFFER.
    pub buffer: Bits<64>,
    /// SIZE.
    pub size: Bits<32>,
    /// RECORD.
    pub record: Bits<64>,
    /// MAILBOX.
    pub mailbox: Bits<32>,
    /// COUNT.
    pub count: Bits<32>,
    /// LENGTH.
    pub length: Bits<32>,
    /// OFFSET.
    pub offset: Bits<32>,
    /// NODE.
    pub node: Bits<8>,
    /// TARGET_PID.
    pub target_pid: Bits<16>,
}

/// Errors of the arguments, and the threshold as the buffer queue keeps it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ArgumentChecks {
    /// MODE is not valid.
    pub bad_mode: Bit,
    /// THRESHOLD is 0.
    pub no_threshold: Bit,
    /// The buffer cannot be posted.
    pub bad_buffer: Bit,
    /// COUNT is not a valid granule of a receive map.
    pub bad_granule: Bit,
    /// COUNT names no word of a receive map.
    pub bad_map: Bit,
    /// MAILBOX is not a mailbox number.
    pub above: Bit,
    /// BUFFER and SIZE are not a valid ring.
    pub bad_ring: Bit,
    /// BUFFER and SIZE are not a valid shadow line.
    pub bad_shadow: Bit,
    /// Threshold of a new mailbox; managed: less one.
    pub threshold: Bits<32>,
}

/// The fetch stage of the command unit. See the module text.
#[block]
pub struct CommandArguments {
    /// Fetch; held until the command goes on.
    pub fetching: Signal<In, Bit>,
    /// The command is PUT or GET.
    pub puts: Signal<In, Bit>,
    /// Read of a staged register.
    pub staged: ArgumentSource,
    /// The staged registers.
    pub arguments: Signal<Out, Arguments>,
    /// Their checks.
    pub checks: Signal<Out, ArgumentChecks>,
    /// `arguments` and `checks` are valid.
    pub done: Signal<Out, Bit>,
    index: Reg<Bits<5>>,
    arriving: Reg<Bit>,
    arrives: DFF<Bits<5>>,
    words: [DFF<Bits<32>>; ARGUMENTS],
    checks_out: DFF<ArgumentChecks>,
    _mailboxes: u64,
}

impl CommandArguments {
    /// Arguments of a command unit for a table of `mailboxes` entries.
    pub fn new(mailboxes: usize) -> Self {
        Self { _mailboxes: mailboxes as u64, ..Self::blank() }
    }
}

#[hdl]
impl CommandArguments {
    fn update(&mut self) {
        let fetching = self.fetching.val();
        let last = if self.puts.val() { bits::<5>(TARGET_PID) } else { bits::<5>(COUNT) };
        let index = self.index.q.val();
        // Two more steps: the last word arrives, its checks follow.
        let done = index == last + 2;
        if !fetching {
            self.index.d.next = bits::<5>(0);
        } else if !done {
            self.index.d.next = index + 1;
        }
        self.done.next = done;
        let reads = fetching & (index <= last);
        self.staged.read.next = reads;
        self.staged.index.next = index;
        self.arriving.d.next = reads;
        self.arrives.d.next = index;
        for i in 0..ARGUMENTS {
            self.words[i].load(self.arriving.q.val() & (self.arrives.q.val() == bits::<5>(i)), self.staged.word.val());
        }

        let mode = self.words[MODE].q.val();
        let size = self.words[SIZE].q.val();
        let buffer_lo = self.words[BUFFER_LO].q.val();
        let record_lo = self.words[RECORD_LO].q.val();
        let number = self.words[MAILBOX].q.val();
        let threshold = self.words[THRESHOLD].q.val();
        let count = self.words[COUNT].q.val();
        self.arguments.next = Arguments {
            addr: (self.words[ADDR_HI].q.val(), self.words[ADDR_LO].q.val()).cat::<64>(),
            key: self.words[KEY].q.val(),
            mode: mode,
            buffer: (self.words[BUFFER_HI].q.val(), buffer_lo).cat::<64>(),
            size: size,
            record: (self.words[RECORD_HI].q.val(), record_lo).cat::<64>(),
            mailbox: number,
            count: count,
            length: self.words[LENGTH].q.val(),
            offset: self.words[OFFSET].q.val(),
            node: self.words[NODE].q.val().get_bits::<8>(0),
            target_pid: self.words[TARGET_PID].q.val().get_bits::<16>(0),
        };

        let managed = (mode & bits(mailbox_mode::MANAGED)).any();
        let counts = (mode & bits(mailbox_mode::OPS)).any();
        let by_tag = (mode & bits(mailbox_mode::TAGGED)).any();
        let catches = (mode & bits(mailbox_mode::CATCH_ALL)).any();
        let takes_frames = (mode & bits(mailbox_mode::FRAMES)).any();
        // These modes would take messages out of a stream, or add messages to it.
        let aside = (mode & bits(mailbox_mode::CATCH_ALL | mailbox_mode::SPILL)).any();
        // A ring has a power of two of records, 2 to 2^15, and is aligned to its size; 0 closes it.
        let records = size.get_bits::<16>(5);
        let last_record = records - 1;
        let misaligned = buffer_lo.get_bits::<5>(0).any() | (buffer_lo.get_bits::<16>(5) & last_record).any();
        let odd = size.get_bits::<6>(0).any() | (records & last_record).any() | size.get_bits::<11>(21).any();
        if fetching {
            self.checks_out.d.next = ArgumentChecks {
                bad_mode: ((mode | bits(MODE_BITS)) != bits(MODE_BITS))
                    | (managed & (counts | (by_tag & aside)))
                    | (!managed & catches)
                    | (takes_frames & ((mode & bits(FRAMES_MASK)) != bits(FRAMES_WITH))),
                no_threshold: !threshold.any(),
                bad_buffer: bad_buffer(size, record_lo),
                bad_granule: count.get_bits::<27>(5).any(),
                bad_map: (count & !bits::<32>(MAP_BITS)).any(),
                // A mailbox is {generation, number}.
                above: number.get_bits::<16>(16).any() | (number.get_bits::<12>(0) > bits::<12>(self._mailboxes - 1)),
                bad_ring: odd | (size.any() & misaligned),
                bad_shadow: size.any() & ((size != bits(SHADOW_BYTES)) | buffer_lo.get_bits::<6>(0).any()),
                threshold: if managed { threshold - 1 } else { threshold },
            };
        }
        self.checks.next = self.checks_out.q.val();
    }
}
