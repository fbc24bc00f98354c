//! The BAR: 32-bit registers in pages of 4 KiB, one block per page, then one doorbell page per process.
//!
//! Each page is declared once, with the kind, reset value and bit fields of its registers. The declaration gives the
//! offsets and typed values that the driver uses, the tables of the C header and of the documentation, and the hardware
//! of the page (`spindle_blocks::pages`).
//! Blocks describe themselves: the global page lists (id, version, base, size) of each, so that one driver walks all versions.

mod hpu_page;
mod nic_pages;
mod packet_pages;
mod rvma_pages;
mod shell_page;

use crate::params::Config;

pub use hpu_page::{hpu, HPU};
pub use nic_pages::{global, trace, GLOBAL, TRACE};
pub use packet_pages::{node, packet, NODE, PACKET};
pub use rvma_pages::{doorbell, rvma, DOORBELL, RVMA};
pub use shell_page::{shell, SHELL, SHELL_MACS, SHELL_REVISION};

/// "SPND", the first register of the BAR.
pub const MAGIC: u32 = 0x5350_4E44;
/// Bytes of a page.
pub const PAGE: u32 = 0x1000;
/// Address bits of the BAR (1 MiB).
pub const BAR_BITS: usize = 20;

/// What a register is for, and what holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A setting that takes effect when it is written.
    Control,
    /// A setting that takes effect with a later commit.
    Stage,
    /// A write makes staged values effective, or issues a command.
    Commit,
    /// A number of events since reset.
    Counter,
    /// A state of the hardware.
    Status,
    /// An address that each access to a window advances.
    Pointer,
    /// A write starts an operation; a read gives its state.
    Trigger,
    /// Words of a memory.
    Window,
}

impl Kind {
    /// Name in the documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Control => "control",
            Kind::Stage => "stage",
            Kind::Commit => "commit",
            Kind::Counter => "counter",
            Kind::Status => "status",
            Kind::Pointer => "pointer",
            Kind::Trigger => "trigger",
            Kind::Window => "window",
        }
    }
}

/// Accesses that a register answers without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads.
    ReadOnly,
    /// Writes.
    WriteOnly,
    /// Both.
    ReadWrite,
}

impl Access {
    /// `ro`, `wo` or `rw`.
    pub const fn name(self) -> &'static str {
        match self {
            Access::ReadOnly => "ro",
            Access::WriteOnly => "wo",
            Access::ReadWrite => "rw",
        }
    }
}

/// A value with a name.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Name.
    pub name: &'static str,
    /// Number.
    pub value: u32,
    /// Meaning.
    pub doc: &'static str,
}

/// Bits of a register.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Lowest bit.
    pub low: u32,
    /// Width in bits.
    pub bits: u32,
    /// Value after reset.
    pub reset: u32,
    /// Meaning.
    pub doc: &'static str,
    /// Values with a name.
    pub values: &'static [Value],
}

/// A register.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Name.
    pub name: &'static str,
    /// Offset in the page.
    pub offset: u32,
    /// What it is for.
    pub kind: Kind,
    /// Accesses without an error.
    pub access: Access,
    /// How many, 4 bytes apart.
    pub count: u32,
    /// Meaning.
    pub doc: &'static str,
    /// Fields from the lowest bit up; none: the whole word is one value.
    pub fields: &'static [Field],
}

impl Register {
    /// The value after reset.
    pub fn reset(&self) -> u32 {
        self.fields.iter().map(|field| field.reset << field.low).sum()
    }
}

/// A page of registers.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Name.
    pub name: &'static str,
    /// Id in the block list.
    pub id: u32,
    /// Address in the BAR.
    pub base: u32,
    /// Meaning.
    pub doc: &'static str,
    /// Registers in the order of their offsets.
    pub registers: &'static [Register],
}

/// The value of a register with fields.
pub trait Word: Copy {
    /// Offset of the register in its page.
    const OFFSET: u32;
    /// Address of the page in the BAR.
    const BASE: u32;
    /// Address of the register in the BAR.
    const ADDRESS: u32 = Self::BASE + Self::OFFSET;
    /// The value that a read returned.
    fn from_bits(word: u32) -> Self;
    /// The word to write.
    fn bits(self) -> u32;
}

/// All pages in the order of the block list.
pub const BLOCKS: &[Page] = &[GLOBAL, PACKET, HPU, RVMA, NODE, TRACE, DOORBELL];

/// All pages: those of the block list, and the page of a board's shell.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    BLOCKS.iter().chain([&SHELL])
}

impl global::Hpus {
    /// The value of a NIC of this configuration.
    pub const fn of(config: &Config) -> Self {
        Self::ZERO
            .with_clusters(config.clusters as u32)
            .with_hpus(config.hpus as u32)
            .with_contexts(config.contexts as u32)
            .with_match_rules(config.match_rules as u32)
    }
}

impl global::Tables {
    /// The value of a NIC of this configuration.
    pub const fn of(config: &Config) -> Self {
        Self::ZERO.with_mailboxes(config.mailboxes as u32).with_posted_buffers(config.posted_buffers as u32)
    }
}

impl global::Memories {
    /// The value of a NIC of this configuration.
    pub const fn of(config: &Config) -> Self {
        Self::ZERO
            .with_imem_kib((config.imem_bytes >> 10) as u32)
            .with_l2_kib((config.l2_bytes >> 10) as u32)
            .with_packet_buffer_kib((config.packet_buffer_bytes >> 10) as u32)
    }
}

/// The block list of a NIC of this configuration: id, version, address in the BAR and bytes of each block.
pub fn block_list(config: &Config) -> impl Iterator<Item = [u32; 4]> + use<> {
    let doorbells = config.processes as u32 * PAGE;
    BLOCKS.iter().map(move |block| {
        let bytes = if block.base == doorbell::BASE { doorbells } else { PAGE };
        [block.id, crate::VERSION, block.base, bytes]
    })
}

/// The constant words of the page `global` of a NIC of this configuration, with their addresses in the BAR: for cards in software.
pub fn identity(config: &Config) -> impl Iterator<Item = (u32, u32)> {
    let words = [
        (global::MAGIC, MAGIC),
        (global::VERSION, crate::VERSION),
        (global::HPUS, global::Hpus::of(config).0),
        (global::TABLES, global::Tables::of(config).0),
        (global::MEMORIES, global::Memories::of(config).0),
        (global::CLOCK_MHZ, config.clock_mhz),
        (global::LIVE_MESSAGES, config.live_messages as u32),
        (global::PROCESSES, config.processes as u32),
        (global::BLOCKS, BLOCKS.len() as u32),
        (global::SHELL, 0),
    ];
    let list = (global::BLOCK_LIST..).step_by(4).zip(block_list(config).flatten());
    words.into_iter().chain(list).map(|(offset, word)| (global::BASE + offset, word))
}

impl packet::WordSource {
    /// The big-endian word at byte `untagged` of a frame without VLAN tag, and at byte `tagged` of a frame with one: both even, equal
    /// modulo 4, at most 124. Bytes after the end of the frame read 0.
    pub const fn word(untagged: usize, tagged: usize) -> Self {
        use crate::params::MATCH_BYTES;
        assert!(
            untagged.is_multiple_of(2) && untagged % 4 == tagged % 4,
            "an even offset, the same modulo 4 with a tag"
        );
        assert!(untagged <= MATCH_BYTES - 4 && tagged <= MATCH_BYTES - 4, "a word of the first 128 bytes");
        Self::ZERO
            .with_even(untagged.div_ceil(4) as u32)
            .with_odd(untagged as u32 / 4)
            .with_tagged_even(tagged.div_ceil(4) as u32)
            .with_tagged_odd(tagged as u32 / 4)
            .with_order(if untagged.is_multiple_of(4) { Self::ORDER_EVEN_FIRST } else { Self::ORDER_ODD_FIRST })
    }

    /// The length of the frame.
    pub const fn length() -> Self {
        Self::ZERO.with_order(Self::ORDER_LENGTH)
    }
}

/// Bits of MODE.
pub mod mailbox_mode {
    use super::doorbell::Mode;

    /// The threshold counts operations.
    pub const OPS: u32 = Mode::ZERO.with_ops(true).0;
    /// Packets name their epoch.
    pub const TAGGED: u32 = Mode::ZERO.with_tagged(true).0;
    /// The receiver chooses the offset.
    pub const MANAGED: u32 = Mode::ZERO.with_managed(true).0;
    /// A stream: the epoch of a packet is the ordinal of its message, from 0; messages are bound in that order.
    /// Excludes SPILL and CATCH_ALL.
    pub const STREAM: u32 = MANAGED | TAGGED;
    /// No NACK is sent for packets that are refused.
    pub const NACK_OFF: u32 = Mode::ZERO.with_nack_off(true).0;
    /// No NACK is sent for packets that find no buffer.
    pub const DROP: u32 = Mode::ZERO.with_drop(true).0;
    /// Packets that find no buffer go to the catch-all mailbox.
    pub const SPILL: u32 = Mode::ZERO.with_spill(true).0;
    /// The mailbox is the catch-all of its process.
    pub const CATCH_ALL: u32 = Mode::ZERO.with_catch_all(true).0;
    /// Whole frames, each an event of its own.
    pub const FRAMES: u32 = Mode::ZERO.with_frames(true).0;
    /// Complete buffers are reported in the event ring of the process.
    pub const EVENT: u32 = Mode::ZERO.with_event(true).0;
}
macro_rules! codes { ($(#[doc = $mdoc:literal] $module:ident $table:ident { $($name:ident $number:literal $doc:literal;)* })*) => { $(
    #[doc = $mdoc]
    pub mod $module {
        $(#[doc = $doc] pub const $name: u32 = $number;)*
    }
    #[doc = $mdoc]
    pub const $table: &[Value] = &[$(Value { name: stringify!($name), value: $number, doc: $doc }),*];
)* } }
codes! {
    /// Commands of the doorbell page: values of COMMAND.
    doorbell_command DOORBELL_COMMANDS {
        INIT_WINDOW 1 "opens a mailbox: ADDR, KEY, THRESHOLD, MODE; RESULT has the number of the mailbox";
        POST_BUFFER 2 "posts a buffer: MAILBOX, BUFFER, SIZE, RECORD";
        CLOSE 3 "closes a mailbox: MAILBOX; its buffers are returned as CANCELLED";
        INC_EPOCH 4 "takes back the oldest buffer that is not complete, as PARTIAL: MAILBOX";
        GET_EPOCH 5 "reads the epoch, the ordinal of the oldest buffer that is not complete: MAILBOX; VALUE has the epoch";
        GET_BUF_PTRS 6 "reads the pointer of a completed buffer: MAILBOX, COUNT (0 = the last, 1 = the one before); VALUE, \
            VALUE_LENGTH";
        REWIND 7 "as GET_BUF_PTRS; the buffers that were completed after that one are forgotten";
        OPEN_SHADOW 8 "names the shadow line of the process (shadow), which KICK reads: BUFFER (64-aligned), SIZE 64; SIZE 0: none";
        PUT 9 "puts host memory into a remote mailbox: BUFFER, LENGTH, NODE, TARGET_PID, ADDR, KEY, OFFSET, MODE, COUNT; RESULT has \
            the number of the put or get, from 1, modulo 2^16. NO_SLOT: another one still waits";
        GET 10 "gets from a remote mailbox: LENGTH, NODE, TARGET_PID, ADDR, KEY, OFFSET, COUNT; the answer goes to mailbox BUFFER of \
            this process, offset SIZE, key RECORD_LO";
        OPEN_RING 11 "opens the event ring of the process: BUFFER (aligned to SIZE), SIZE (bytes, a power of two, 64 to 1 MiB); SIZE \
            0 closes the ring";
        OPEN_COMMANDS 12 "opens the command ring of the process (commands): BUFFER, SIZE as for OPEN_RING; SIZE 0 closes the ring. \
            RING_TAIL and RING_DONE begin at 0: write RING_TAIL before";
        POST_MAPPED 13 "as POST_BUFFER, with a receive map: COUNT = the logarithm of its granule [4:0]; RESULT has the number of the \
            map. Bit i of the map: a packet whose first byte lies in granule i of the buffer has been written to host memory";
        READ_MAP 14 "reads 64 bits of a receive map: COUNT = word [3:0], number of the map [31:8]; VALUE has the bits";
        FREE_MAP 15 "gives a receive map back: COUNT as for READ_MAP; the buffer is not affected";
    }
    /// Errors of the doorbell page: field `error` of RESULT and RING_DONE.
    doorbell_error DOORBELL_ERRORS {
        NONE 0 "no error";
        UNSUPPORTED 1 "this version of the hardware does not know the command";
        TABLE_FULL 2 "the mailbox table has no room for this address, or all windows of TAGGED mailboxes are taken";
        EXISTS 3 "the address is open already";
        NO_MAILBOX 4 "there is no such mailbox of this process";
        NO_SLOT 5 "no buffer slot is free";
        BAD_ARGUMENT 6 "a misaligned record, a size of 0, a threshold of 0 or above the size, or a ring with an illegal size or \
            alignment";
        NOTHING 7 "no incomplete buffer, or no such buffer in the history";
        BUSY 8 "a command of another process waits for the host or the wire; repeat the command";
        HOST_ERROR 9 "a read of the command from host memory failed";
        OUT_OF_REGION 10 "the host memory is outside the regions of the process, or the right is missing";
        NO_MAP 11 "no receive map is free, or there is no such map of this process";
        NO_RIGHT 12 "the process may not send frames (rvma.SENDERS)";
    }
}
/// Lowest bit of the number of a receive map in COUNT.
pub const MAP_SHIFT: u32 = 8;
