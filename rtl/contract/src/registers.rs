//! The BAR: 32-bit registers in pages of 4 KiB, one block a page, then one doorbell page per process.
//!
//! Blocks describe themselves: the global page lists (id, version, base, size) of each, so one driver walks all versions.

/// "SPND", the first register of the BAR.
pub const MAGIC: u32 = 0x5350_4E44;
/// Bytes of a page.
pub const PAGE: u32 = 0x1000;
/// Address bits of the BAR (1 MiB).
pub const BAR_BITS: usize = 20;

/// A register.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Name.
    pub name: &'static str,
    /// Offset in the page.
    pub offset: u32,
    /// `ro`, `rw` or `wo`.
    pub access: &'static str,
    /// How many, 4 bytes apart.
    pub count: u32,
    /// Meaning.
    pub doc: &'static str,
}

/// A page of registers.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Name.
    pub name: &'static str,
    /// Id in the block list.
    pub id: u32,
    /// Address in the BAR.
    pub base: u32,
    /// Meaning.
    pub doc: &'static str,
    /// Registers.
    pub registers: &'static [Register],
}

macro_rules! block { ($module:ident $konst:ident $id:literal $base:literal $doc:literal { $($reg:ident $off:literal $access:literal $count:literal $rdoc:literal;)* }) => {
    #[doc = $doc]
    pub mod $module {
        /// Id in the block list.
        pub const ID: u32 = $id;
        /// Address of the page in the BAR.
        pub const BASE: u32 = $base;
        $(#[doc = $rdoc] pub const $reg: u32 = $off;)*
    }
    #[doc = $doc]
    pub const $konst: Block = Block { name: stringify!($module), id: $id, base: $base, doc: $doc,
        registers: &[$(Register { name: stringify!($reg), offset: $off, access: $access, count: $count, doc: $rdoc }),*] };
} }

block! { global GLOBAL 1 0x00000 "Identity, configuration and the list of blocks." {
    MAGIC 0x000 "ro" 1 "0x53504E44 (\"SPND\")";
    VERSION 0x004 "ro" 1 "contract version";
    HPUS 0x008 "ro" 1 "clusters [7:0], HPUs per cluster [15:8], contexts [23:16], match rules [31:24]";
    TABLES 0x00C "ro" 1 "mailboxes [15:0], posted buffers [31:16]";
    MEMORIES 0x010 "ro" 1 "KiB of instruction memory [7:0], of L2 [19:8], of packet buffer [31:20]";
    CLOCK_MHZ 0x014 "ro" 1 "nominal core clock";
    CYCLE_LO 0x018 "ro" 1 "cycles since reset; reading it latches CYCLE_HI";
    CYCLE_HI 0x01C "ro" 1 "high half of the cycle counter";
    SCRATCH 0x020 "rw" 1 "for the driver's own use";
    LIVE_MESSAGES 0x024 "ro" 1 "slots of the message table";
    PROCESSES 0x028 "ro" 1 "doorbell pages";
    BLOCKS 0x02C "ro" 1 "entries of the block list";
    BLOCK_LIST 0x040 "ro" 24 "block list, 4 words an entry: id, version, base, size";
} }
block! { packet PACKET 2 0x01000 "Packet engine: match rules and frame counters." {
    CONTROL 0x000 "rw" 1 "bit 0: receive; 0 after reset";
    SPINDLE_PORT 0x004 "rw" 1 "UDP destination port of Spindle transport; 4795 after reset";
    PSN_CONTROL 0x008 "rw" 1 "bit 0 = sequence numbers are filtered: duplicates and what is beyond the window are dropped";
    WORD_SOURCE 0x010 "rw" 1 "staging: where an extracted word comes from (match_source)";
    WORD_COMMIT 0x014 "wo" 1 "puts the staged source into the extracted word of this number";
    TERM_MASK 0x018 "rw" 1 "staging: mask of a term";
    TERM_LOW 0x01C "rw" 1 "staging: lowest value that matches, after the mask";
    TERM_HIGH 0x020 "rw" 1 "staging: highest value that matches, after the mask";
    TERM_COMMIT 0x024 "wo" 1 "puts the staged term into the slot of this number; it looks at extracted word slot / 5";
    RULE_POSITIVE 0x030 "rw" 3 "staging: bit t = term t must match, bit 80 + f = flag f must be set";
    RULE_NEGATIVE 0x040 "rw" 3 "staging: bit t = term t must not match, bit 80 + f = flag f must be clear";
    RULE_ACTION 0x050 "rw" 1 "staging: what a rule says (rule_action)";
    RULE_COMMIT 0x054 "wo" 1 "puts the staged rule into the slot of this number; the lowest matching slot wins";
    MATCH_COMMIT 0x058 "rw" 1 "a write makes the words, terms and rules that were put into slots decide, all at once, between two frames; reads 1 until that has happened, and until then no slot takes anything";
    MESSAGE_TIMEOUT 0x060 "rw" 1 "units of 1024 cycles after which an incomplete message without an event ends, within half as much again; 0 = never, as after reset";
    FRAMES_IN 0x100 "ro" 1 "frames received";
    FRAMES_TO_HPU 0x104 "ro" 1 "frames accepted for an execution context";
    FRAMES_TO_MAILBOX 0x108 "ro" 1 "frames handed to the RVMA engine without a handler";
    FRAMES_OUT 0x10C "ro" 1 "frames sent";
    BYTES_IN 0x110 "ro" 1 "bytes received, modulo 2^32";
    BYTES_OUT 0x114 "ro" 1 "bytes sent, modulo 2^32";
    TASKS 0x118 "ro" 1 "tasks dispatched";
    MESSAGES_OPEN 0x11C "ro" 1 "messages alive now";
    MESSAGES_DONE 0x120 "ro" 1 "messages that ended well";
    MESSAGES_FAILED 0x124 "ro" 1 "messages that a handler failed";
    CELLS_FREE 0x128 "ro" 1 "free cells of the packet buffer";
    FRAMES_HANDLED 0x12C "ro" 1 "frames whose handlers all ended well";
    FRAMES_PLACED 0x130 "ro" 1 "frames that the RVMA engine wrote to host memory";
    MESSAGES_AGED 0x134 "ro" 1 "messages that ended because they made no progress";
    CONTEXT_LIVE 0x140 "ro" 16 "messages alive of each context";
    DROPS 0x180 "ro" 32 "frames dropped, by reason";
    PEER_QUERY 0x200 "rw" 1 "a write reads this entry of the peer table into PEER_*; reads 1 until that has happened";
    PEER_LIVE 0x204 "ro" 1 "bit 0 = the entry has a peer";
    PEER_NODE 0x208 "ro" 1 "node of the peer";
    PEER_EXPECTED 0x20C "ro" 1 "lowest sequence number of the peer that has not been accepted";
    PEER_SELECTIVE 0x210 "ro" 2 "bit i = number PEER_EXPECTED + i has been accepted";
} }
block! { hpu HPU 3 0x02000 "HPU array: contexts, code, context memory, faults, printed text." {
    CTX_HEADER 0x010 "rw" 1 "staging: entry point of the header handler, 0 = none";
    CTX_PAYLOAD 0x014 "rw" 1 "staging: entry point of the payload handler, 0 = none";
    CTX_COMPLETION 0x018 "rw" 1 "staging: entry point of the completion handler, 0 = none";
    CTX_CODE_BASE 0x01C "rw" 1 "staging: byte offset of the image in instruction memory, aligned to its size rounded up to a power of two, 128 at least";
    CTX_CODE_SIZE 0x020 "rw" 1 "staging: bytes of code";
    CTX_STATE_BASE 0x024 "rw" 1 "staging: byte offset of the state in L2, aligned likewise";
    CTX_STATE_SIZE 0x028 "rw" 1 "staging: bytes of state";
    CTX_HOST_LO 0x02C "rw" 1 "staging: host region, low half";
    CTX_HOST_HI 0x030 "rw" 1 "staging: host region, high half";
    CTX_HOST_SIZE 0x034 "rw" 1 "staging: bytes of the host region";
    CTX_WATCHDOG 0x038 "rw" 1 "staging: [23:0] = cycle budget of a handler, 1 to 16,000,000";
    CTX_INSTALL 0x03C "wo" 1 "writes the staged context to the slot of this number";
    CTX_ACTIVE 0x040 "rw" 1 "bit c = context c accepts packets";
    CTX_SCRATCH_BASE 0x044 "rw" 1 "staging: byte address of the scratchpad in L1, a multiple of its size rounded up to a power of two";
    CTX_SCRATCH_SIZE 0x048 "rw" 1 "staging: bytes of the scratchpad, 0 = none";
    IMEM_ADDR 0x050 "rw" 1 "byte address for IMEM_DATA";
    IMEM_DATA 0x054 "wo" 1 "writes a word to the instruction memories of all clusters, address += 4";
    L2_ADDR 0x058 "rw" 1 "byte address for L2_DATA";
    L2_DATA 0x05C "rw" 1 "reads or writes a word of L2, address += 4";
    CTX_WEIGHT 0x060 "rw" 1 "staging: share of HPU cycles under load, 1 to 255; 1 after reset";
    CTX_QUOTA 0x064 "rw" 1 "staging: most live messages [8:0], most packets inside [26:16]; 0 = no limit";
    CTX_OVERLOAD 0x068 "rw" 1 "staging: what becomes of packets beyond a limit (descriptors::overload)";
    CTX_CORE_MASK 0x06C "rw" 1 "staging: HPUs that may run its handlers, bit cluster * hpus + hpu; all after reset";
    CTX_USER_HEADER 0x070 "rw" 1 "staging: bytes of user header, 0 = none";
    CTX_PROCESS 0x074 "rw" 1 "staging: process whose event ring gets its events";
    TASKS_DONE 0x100 "ro" 1 "tasks ended, faults included";
    TASKS_FAULTED 0x104 "ro" 1 "tasks ended by a fault or the watchdog";
    BUSY_LO 0x108 "ro" 1 "sum over HPUs of cycles in a handler, low half";
    BUSY_HI 0x10C "ro" 1 "high half";
    INSTRET_LO 0x110 "ro" 1 "instructions retired by all HPUs, low half";
    INSTRET_HI 0x114 "ro" 1 "high half";
    COMMANDS 0x118 "ro" 1 "commands issued";
    CONTEXT_PUTS 0x11C "ro" 1 "puts of context memory under way [7:0]; commands wait that may be such [8]";
    FAULT_COUNT 0x140 "ro" 1 "fault reports waiting (up to 16); older ones stay, newer ones are counted in FAULT_LOST";
    FAULT_LOST 0x144 "ro" 1 "fault reports that found the queue full";
    FAULT_WHO 0x148 "ro" 1 "oldest report: cause [3:0], context [7:4], HPU [15:8], cluster [23:16], message slot [31:24]";
    FAULT_PC 0x14C "ro" 1 "oldest report: program counter";
    FAULT_ADDRESS 0x150 "ro" 1 "oldest report: address of the access";
    FAULT_FRAME 0x154 "ro" 1 "oldest report: frame [15:0], kind of handler [17:16]";
    FAULT_POP 0x158 "wo" 1 "drops the oldest report";
    PRINT_COUNT 0x160 "ro" 1 "pieces of text waiting (up to 64)";
    PRINT_LOST 0x164 "ro" 1 "pieces of text that found the queue full";
    PRINT_WHO 0x168 "ro" 1 "oldest piece: characters [3:0], context [7:4], HPU [15:8], cluster [23:16], kind of handler [25:24]";
    PRINT_FRAME 0x16C "ro" 1 "oldest piece: frame [15:0]";
    PRINT_LOW 0x170 "ro" 1 "oldest piece: characters 0 to 3, the first in [7:0]";
    PRINT_HIGH 0x174 "ro" 1 "oldest piece: characters 4 to 7";
    PRINT_POP 0x178 "wo" 1 "drops the oldest piece";
    HPU_BUSY 0x200 "ro" 64 "cycles in a handler, per HPU (cluster * hpus + hpu), modulo 2^32";
    HPU_TASKS 0x300 "ro" 64 "tasks ended, per HPU";
} }
block! { rvma RVMA 4 0x03000 "RVMA engine: counters." {
    CONTROL 0x000 "rw" 1 "bit 0: completion order, 0 = WAIT_B, 1 = POSTED";
    REGION_FIRST 0x010 "rw" 2 "staging: host address of the first page of a region, low half, then high half; bits [11:0] of it do not count";
    REGION_LAST 0x018 "rw" 2 "staging: likewise of its last page";
    REGION_COMMIT 0x020 "wo" 1 "makes what is staged a region: number [3:0], process [9:4], the card may read it [30], and write [31]; neither: it is none";
    UNCHECKED 0x028 "rw" 2 "bit p = process p may name any host memory, not only its regions; 0 after reset";
    PLACED_PACKETS 0x100 "ro" 1 "packets written to host memory";
    PLACED_BYTES 0x104 "ro" 1 "payload bytes written, modulo 2^32";
    COMPLETIONS 0x108 "ro" 1 "completion records written";
    REFUSED 0x10C "ro" 1 "packets refused (the packet engine counts the reasons)";
    DMA_WRITES 0x110 "ro" 1 "write bursts issued";
    DMA_ERRORS 0x114 "ro" 1 "write responses with an error";
    MAILBOXES 0x118 "ro" 1 "mailboxes open";
    BUFFERS 0x11C "ro" 1 "buffers posted and not complete";
    HANDLER_DMA 0x120 "ro" 1 "DMA commands of handlers that ended";
    DMA_READS 0x124 "ro" 1 "read bursts issued";
    READ_ERRORS 0x128 "ro" 1 "read responses with an error";
    EVENTS 0x12C "ro" 1 "event records written, of all processes";
    EVENTS_LOST 0x130 "ro" 1 "events that found their ring full or closed";
    HOST_PUTS_DONE 0x134 "ro" 1 "puts of processes that are over, also those that failed";
    HOST_PUTS_FAILED 0x138 "ro" 1 "puts of processes to a node that does not exist, or whose data could not be read";
} }
/// ACK_CONTROL after reset: accepted packets of a source for which an acknowledgement is due.
pub const ACK_EVERY_RESET: u32 = 4;
/// ACK_CONTROL after reset: least time between two refusals to one source, in units of 64 cycles.
pub const NACK_GAP_RESET: u32 = 16;
/// SEND_CONTROL after reset: timeouts in a row after which a destination is given up.
pub const SEND_RETRIES_RESET: u32 = 8;
/// SEND_TIMES after reset.
pub const SEND_TIMES_RESET: u32 = 48 << 16 | 1024;
block! { node NODE 6 0x04000 "Initiator: who this NIC is, and the nodes it puts to." {
    LOCAL_NID 0x000 "rw" 1 "this node's number";
    LOCAL_MAC_LO 0x004 "rw" 1 "its MAC address, low 32 bits";
    LOCAL_MAC_HI 0x008 "rw" 1 "high 16 bits";
    LOCAL_IP 0x00C "rw" 1 "its IPv4 address";
    NODE_MAC_LO 0x010 "rw" 1 "staging: MAC address of a node, low 32 bits";
    NODE_MAC_HI 0x014 "rw" 1 "staging: high 16 bits";
    NODE_IP 0x018 "rw" 1 "staging: IPv4 address of a node";
    NODE_PORT 0x01C "rw" 1 "staging: UDP port of a node [15:0]; bit 31: the node exists";
    NODE_COMMIT 0x020 "wo" 1 "puts the staged node into the table under this number, which is its node number";
    ACK_CONTROL 0x030 "rw" 1 "bit 0 = sources are told what became of their packets; [13:8] = accepted packets of a source for which an acknowledgement is due, 4 after reset; [31:16] = least time between two refusals to one source in units of 64 cycles, 16 after reset";
    SEND_CONTROL 0x034 "rw" 1 "bit 0 = puts from host memory and gets without the flag UNSEQ carry sequence numbers and are sent again until they are acknowledged; [11:8] = timeouts in a row after which a destination is given up, 8 after reset";
    SEND_TIMES 0x038 "rw" 1 "in units of 64 cycles: [15:0] = time without an acknowledgement after which segments are sent again, 1024 after reset; [31:16] = time after which a segment is sent again when a later one arrived, 48 after reset";
    SEND_INCARNATION 0x03C "rw" 1 "incarnation of the windows that this node opens; 0, as after reset: the first one to a node is not opened";
    SEND_LIMIT 0x040 "rw" 1 "[15:0], in units of 1024 cycles, at most 32767: age from which a put or get that a mailbox refuses for lack of a buffer, or because it is busy, has failed; 0, as after reset: it is sent again without a limit. Holds for those that begin after the write";
    PUTS_DONE 0x100 "ro" 1 "puts and gets sent";
    PUTS_FAILED 0x104 "ro" 1 "puts and gets to a node that does not exist, or whose data could not be read";
    ACKS_SENT 0x108 "ro" 1 "acknowledgements sent";
    NACKS_SENT 0x10C "ro" 1 "refusals sent";
    NACKS_WITHHELD 0x110 "ro" 1 "refusals that were not sent, because the source had one recently or too many waited";
    SEGMENTS_RESENT 0x114 "ro" 1 "segments that were sent again";
    LAST_REFUSAL 0x118 "ro" 1 "of the puts and gets of processes that are not over, the one refused last: its number [15:0], code of the refusal (wire::nack) [23:16]; 0: no refusal since reset";
} }
block! { trace TRACE 7 0x05000 "Trace ring: when sampled packets passed each stage." {
    CONTROL 0x000 "rw" 1 "bit 0: packets are followed; its rise empties the ring. Bit 1: frozen, nothing is recorded";
    SAMPLE_MASK 0x004 "rw" 1 "a packet is followed if its frame number has zeros where this has ones [15:0]; 2^n - 1: every 2^n-th packet. It is followed until the next one";
    WRITTEN 0x008 "ro" 1 "records written since the ring was emptied; beyond 512 they overwrite the oldest";
    INDEX 0x00C "rw" 1 "record to be read: record r since the ring was emptied is at r modulo 512";
    RECORD_CYCLE 0x010 "ro" 1 "of the record: cycle, low half, as CYCLE_LO";
    RECORD_STAGES 0x014 "ro" 1 "of the record: frame [15:0], stages that it passed in that cycle [31:16], by their number";
    RECORD_HPU 0x018 "ro" 1 "of the record: HPU (cluster * hpus + hpu) of the stages 5 to 8";
} }
block! { doorbell DOORBELL 5 0x10000 "Doorbell page of process 0; process p is at +p * 0x1000." {
    ADDR_LO 0x000 "rw" 1 "staging: mailbox address, low half";
    ADDR_HI 0x004 "rw" 1 "staging: mailbox address, high half";
    KEY 0x008 "rw" 1 "staging: mailbox key";
    THRESHOLD 0x00C "rw" 1 "staging: what completes a buffer: bytes, or operations; managed: it retires when fewer bytes than this are left";
    MODE 0x010 "rw" 1 "staging: kind of mailbox (mailbox_mode); PUT: of the target, TAGGED and MANAGED count";
    BUFFER_LO 0x014 "rw" 1 "staging: host address of the buffer, low half";
    BUFFER_HI 0x018 "rw" 1 "staging: high half";
    SIZE 0x01C "rw" 1 "staging: bytes of the buffer";
    RECORD_LO 0x020 "rw" 1 "staging: host address of the completion record (16-aligned), low half";
    RECORD_HI 0x024 "rw" 1 "staging: high half";
    MAILBOX 0x028 "rw" 1 "staging: mailbox that POST_BUFFER and later commands act on";
    COUNT 0x02C "rw" 1 "staging: completed buffers to go back, for REWIND and GET_BUF_PTRS; PUT to a TAGGED mailbox: the epoch [15:0], to a stream: the ordinal; GET: bit 0 = from the oldest buffer that is not complete; POST_MAPPED, READ_MAP, FREE_MAP: see there";
    COMMAND 0x030 "wo" 1 "issues a command (doorbell_command); the staged registers must stay until RESULT says ready";
    RESULT 0x034 "ro" 1 "busy [31], error code [23:16] (doorbell_error), value [15:0]: of INIT_WINDOW the mailbox";
    VALUE_LO 0x038 "ro" 1 "64-bit result (epoch, pointer, word of a map), low half";
    VALUE_HI 0x03C "ro" 1 "high half";
    RING_TAIL 0x04C "rw" 1 "commands that the host has put into its command ring, modulo 2^16; takes effect at once, and a ring that stands still goes on";
    LENGTH 0x050 "rw" 1 "staging: bytes of a put or get; 0: an empty put, which names no memory";
    OFFSET 0x054 "rw" 1 "staging: offset in the target buffer";
    NODE 0x058 "rw" 1 "staging: target node";
    TARGET_PID 0x05C "rw" 1 "staging: target process";
    EVENT_HEAD 0x060 "rw" 1 "records that the host has read from its event ring, modulo 2^16; takes effect at once";
    VALUE_LENGTH 0x064 "ro" 1 "bytes placed in the buffer that VALUE points to";
    RING_DONE 0x068 "ro" 1 "command ring: commands carried out [15:0]; [23:16] not 0: the next one cannot be, for this reason (doorbell_error), and the ring stands still";
} }
/// All blocks in the order of the block list.
pub const BLOCKS: &[Block] = &[GLOBAL, PACKET, HPU, RVMA, NODE, TRACE, DOORBELL];

/// Value of WORD_SOURCE. An extracted word is two halves of 16 bits, each from any place of its parity.
pub mod match_source {
    use crate::params::MATCH_BYTES;

    /// Half-words 0, 2, 4... of the frame: number of the even half, of a frame without tag.
    pub const EVEN_SHIFT: u32 = 0;
    /// Number of the odd half.
    pub const ODD_SHIFT: u32 = 5;
    /// Added to both when the frame has a tag.
    pub const TAGGED_SHIFT: u32 = 10;
    /// Which half comes first.
    pub const ORDER_SHIFT: u32 = 20;
    /// Used bits.
    pub const BITS: usize = 22;
    /// Orders: the even half is the high half of the word.
    pub const EVEN_FIRST: u32 = 0;
    /// The odd half is.
    pub const ODD_FIRST: u32 = 1;
    /// The word is the length of the frame in bytes.
    pub const LENGTH: u32 = 2;

    /// The big-endian word at byte `untagged` of a frame without, at byte `tagged` of a frame with a VLAN tag: both even, equal
    /// modulo 4, at most 124. Bytes behind the end of the frame read 0.
    pub const fn word(untagged: usize, tagged: usize) -> u32 {
        assert!(
            untagged.is_multiple_of(2) && untagged % 4 == tagged % 4,
            "an even offset, the same modulo 4 with a tag"
        );
        assert!(untagged <= MATCH_BYTES - 4 && tagged <= MATCH_BYTES - 4, "a word of the first 128 bytes");
        let (even, odd) = (untagged.div_ceil(4) as u32, untagged as u32 / 4);
        let (tagged_even, tagged_odd) = (tagged.div_ceil(4) as u32, tagged as u32 / 4);
        let order = if untagged.is_multiple_of(4) { EVEN_FIRST } else { ODD_FIRST };
        even << EVEN_SHIFT
            | odd << ODD_SHIFT
            | tagged_even << (TAGGED_SHIFT + EVEN_SHIFT)
            | tagged_odd << (TAGGED_SHIFT + ODD_SHIFT)
            | order << ORDER_SHIFT
    }

    /// The length of the frame.
    pub const fn length() -> u32 {
        LENGTH << ORDER_SHIFT
    }
}
/// Fields of RULE_ACTION.
pub mod rule_action {
    /// `descriptors::action`, 2 bits.
    pub const ACTION_SHIFT: u32 = 0;
    /// Execution context, 4 bits.
    pub const CONTEXT_SHIFT: u32 = 4;
    /// What a message is, 2 bits: [`PACKET`], [`HEADER`] or [`FIELD`].
    pub const MESSAGE_SHIFT: u32 = 8;
    /// FIELD: the extracted word that is the message id, less 12; 2 bits.
    pub const MESSAGE_WORD_SHIFT: u32 = 12;
    /// The term that holds for the last packet of a message, 7 bits.
    pub const END_TERM_SHIFT: u32 = 16;
    /// There is such a term.
    pub const END: u32 = 1 << 23;
    /// The packet also goes to the host.
    pub const TO_HOST: u32 = 1 << 24;
    /// The rule takes part.
    pub const VALID: u32 = 1 << 31;
    /// Every packet is a message.
    pub const PACKET: u32 = 0;
    /// The Spindle header names the message.
    pub const HEADER: u32 = 1;
    /// A field is the message id.
    pub const FIELD: u32 = 2;
}

/// Bits of MODE.
pub mod mailbox_mode {
    /// The threshold counts operations: messages whose bytes have all arrived.
    pub const OPS: u32 = 1 << 0;
    /// TAGGED: packets name the epoch they are for, one of the oldest four buffers that are not complete. An eighth of the mailboxes can be.
    pub const TAGGED: u32 = 1 << 1;
    /// The receiver chooses the offset: messages lie behind each other. Excludes OPS.
    pub const MANAGED: u32 = 1 << 2;
    /// A stream: MANAGED, and the epoch of a packet is the ordinal of its message, from 0; messages are bound in that order. Excludes SPILL and CATCH_ALL.
    pub const STREAM: u32 = MANAGED | TAGGED;
    /// No NACK is sent for packets that are refused.
    pub const NACK_OFF: u32 = 1 << 3;
    /// No NACK is sent for packets that find no buffer.
    pub const DROP: u32 = 1 << 4;
    /// Packets that find no buffer go to the catch-all mailbox of the process, if it has one, header first.
    pub const SPILL: u32 = 1 << 5;
    /// This mailbox, MANAGED, is the catch-all of its process: it also gets the packets for which there is no mailbox.
    pub const CATCH_ALL: u32 = 1 << 6;
}
/// Commands of the doorbell page.
pub mod doorbell_command {
    /// Opens a mailbox: ADDR, KEY, THRESHOLD, MODE → mailbox number.
    pub const INIT_WINDOW: u32 = 1;
    /// Posts a buffer: MAILBOX, BUFFER, SIZE, RECORD.
    pub const POST_BUFFER: u32 = 2;
    /// Closes a mailbox: MAILBOX. Its buffers are returned as CANCELLED.
    pub const CLOSE: u32 = 3;
    /// Takes back the oldest buffer that is not complete, as PARTIAL: MAILBOX.
    pub const INC_EPOCH: u32 = 4;
    /// Reads the epoch, the ordinal of the oldest buffer that is not complete: MAILBOX → VALUE.
    pub const GET_EPOCH: u32 = 5;
    /// Reads the pointer of a completed buffer: MAILBOX, COUNT (0 = the last, 1 = the one before) → VALUE, VALUE_LENGTH.
    pub const GET_BUF_PTRS: u32 = 6;
    /// Likewise, and forgets those that were completed after it.
    pub const REWIND: u32 = 7;
    /// Puts host memory into a remote mailbox: BUFFER, LENGTH, NODE, TARGET_PID, ADDR, KEY, OFFSET, MODE, COUNT; RESULT has the number of the put or get,
    /// from 1, modulo 2^16. NO_SLOT: another one still waits.
    pub const PUT: u32 = 9;
    /// Gets from a remote mailbox: LENGTH, NODE, TARGET_PID, ADDR, KEY, OFFSET, COUNT; the answer goes to mailbox BUFFER of this process, offset
    /// SIZE, key RECORD_LO.
    pub const GET: u32 = 10;
    /// Opens the event ring of the process: BUFFER (aligned to SIZE), SIZE (bytes, a power of two, 64 to 1 MiB); SIZE 0 closes it.
    pub const OPEN_RING: u32 = 11;
    /// Opens the command ring of the process (`commands`): BUFFER, SIZE as for OPEN_RING; SIZE 0 closes it. RING_TAIL and RING_DONE
    /// begin at 0: write RING_TAIL before.
    pub const OPEN_COMMANDS: u32 = 12;
    /// POST_BUFFER with a receive map: COUNT = the logarithm of its granule [4:0]; RESULT has the number of the map. Bit i of the map says that a packet whose
    /// first byte lies in granule i of the buffer has been written to host memory.
    pub const POST_MAPPED: u32 = 13;
    /// Reads 64 bits of a receive map: COUNT = word [3:0], map from bit [`MAP_SHIFT`] on → VALUE.
    pub const READ_MAP: u32 = 14;
    /// Gives a receive map back: COUNT as for READ_MAP. Its buffer is not affected.
    pub const FREE_MAP: u32 = 15;
    /// Where a receive map's number stands in COUNT.
    pub const MAP_SHIFT: u32 = 8;
}
/// Errors of the doorbell page.
pub mod doorbell_error {
    /// Done.
    pub const NONE: u32 = 0;
    /// This version of the hardware does not know the command.
    pub const UNSUPPORTED: u32 = 1;
    /// The mailbox table has no room for this address, or all windows of TAGGED mailboxes are taken.
    pub const TABLE_FULL: u32 = 2;
    /// The address is open already.
    pub const EXISTS: u32 = 3;
    /// No such mailbox, or not this process's.
    pub const NO_MAILBOX: u32 = 4;
    /// No buffer slot is free.
    pub const NO_SLOT: u32 = 5;
    /// A misaligned record, a size of 0, a threshold of 0 or above the size, or a ring of another size or alignment than may be.
    pub const BAD_ARGUMENT: u32 = 6;
    /// No incomplete buffer, or no such buffer in the history.
    pub const NOTHING: u32 = 7;
    /// A command of another process is under way that waits for the host or the wire; ask again.
    pub const BUSY: u32 = 8;
    /// Host memory did not give the command.
    pub const HOST_ERROR: u32 = 9;
    /// Host memory outside of the process's regions, or without the right.
    pub const OUT_OF_REGION: u32 = 10;
    /// No receive map is free, or there is no such map of this process.
    pub const NO_MAP: u32 = 11;
}
