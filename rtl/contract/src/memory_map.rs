//! What a handler sees: one fixed virtual map. `address[31:28]` selects the region, the rest is an offset that is compared with
//! the region's bound; the physical base is OR-ed in.

/// Bit position of the region number in an address.
pub const REGION_SHIFT: u32 = 28;

/// A region of the handler's address space.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Name.
    pub name: &'static str,
    /// Value of address[31:28].
    pub number: u32,
    /// `r`, `w`, `x` allowed.
    pub access: &'static str,
    /// Meaning and bound.
    pub doc: &'static str,
}

macro_rules! regions { ($($konst:ident $num:literal $name:literal $access:literal $doc:literal;)*) => {
    $(#[doc = $doc] pub const $konst: u32 = $num;)*
    /// All regions; every other number faults.
    pub const REGIONS: &[Region] = &[$(Region { name: $name, number: $num, access: $access, doc: $doc }),*];
} }
regions! {
    CODE 1 "code" "rx" "instructions and read-only data of the image, bound = code size of the context";
    PACKET 2 "packet" "rw" "this task's packet slot, bound = bytes of the frame and of the context's tailroom, at most 2048";
    SCRATCH 3 "scratch" "rw" "scratchpad of the context in this cluster, shared by the HPUs that run it; zero when the context is \
        installed, kept between handlers; bound = its size (2048 bytes unless the context asks for another)";
    CONTEXT 4 "context" "rw" "context memory (L2), bound = state size of the context";
    STACK 5 "stack" "rw" "stack of this handler, grows down from its end; 1024 bytes with up to 4 HPUs a cluster, else 512";
    TASK 6 "task" "r" "task page: what is known of the packet and the message";
    COMMAND 7 "command" "rw" "command port: aligned words only";
}
/// First address of a region.
pub const fn base(region: u32) -> u32 {
    region << REGION_SHIFT
}
/// Jumping here returns from a handler; `ra` holds it at the start.
pub const RETURN_ADDRESS: u32 = 0xF000_0000;

/// A word of the task page or of the command port.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// Name.
    pub name: &'static str,
    /// Byte offset.
    pub offset: u32,
    /// Meaning.
    pub doc: &'static str,
}

macro_rules! words { ($table:ident $tdoc:literal $($konst:ident $off:literal $name:literal $doc:literal;)*) => {
    $(#[doc = $doc] pub const $konst: u32 = $off;)*
    #[doc = $tdoc]
    pub const $table: &[Word] = &[$(Word { name: $name, offset: $off, doc: $doc }),*];
} }
words! { TASK_PAGE "Words of the task page. `spin_header_t` and `spin_payload_t` start at offset 0."
    TASK_KIND 0x00 "kind" "0 header, 1 payload, 2 completion, 3 task";
    TASK_PACKET 0x04 "packet" "address of the frame (packet region)";
    TASK_PACKET_LEN 0x08 "packet_len" "bytes of the frame in the slot";
    TASK_PAYLOAD 0x0C "payload" "address of the payload in the slot";
    TASK_PAYLOAD_LEN 0x10 "payload_len" "payload bytes";
    TASK_OPCODE 0x14 "opcode" "Spindle opcode, 0 = raw frame";
    TASK_SRC_NID 0x18 "src_nid" "source node; raw: IPv4 source";
    TASK_SRC_PID 0x1C "src_pid" "source process; raw: UDP source port";
    TASK_DST_PID 0x20 "dst_pid" "destination process; raw: UDP destination port";
    TASK_MSG_ID 0x24 "msg_id" "message";
    TASK_ADDR_LO 0x28 "addr_lo" "match bits, low half; task: its argument";
    TASK_ADDR_HI 0x2C "addr_hi" "match bits, high half";
    TASK_MSG_LEN 0x30 "msg_len" "bytes of the message";
    TASK_MSG_OFF 0x34 "msg_off" "offset of this packet in the message";
    TASK_BUF_OFF 0x38 "buf_off" "base offset of the message in the buffer";
    TASK_FLOW 0x3C "flow_control" "completion: flow control was triggered";
    TASK_CLUSTER 0x40 "cluster_id" "cluster";
    TASK_HPU 0x44 "hpu_id" "HPU within the cluster";
    TASK_CONTEXT 0x48 "context" "execution context";
    TASK_L3 0x4C "l3" "address of the IP header in the slot";
    TASK_FRAME_LEN 0x50 "frame_len" "bytes of the frame";
    TASK_MSG_SLOT 0x54 "msg_slot" "message table slot";
    TASK_STAMP 0x58 "stamp" "cycle of the frame's first beat; task: the cycle in which it was due";
    TASK_FRAME 0x5C "frame" "frame sequence number; task: that of the packet whose handlers led to it, 0 = none";
    TASK_SCRATCH_SIZE 0x60 "scratch_size" "bytes of the scratchpad";
    TASK_DROPPED 0x64 "dropped_bytes" "completion: bytes dropped";
    TASK_HOST_LO 0x68 "host_lo" "host region, low half of its address";
    TASK_HOST_HI 0x6C "host_hi" "host region, high half";
    TASK_HOST_SIZE 0x70 "host_size" "bytes of the host region";
    TASK_CYCLE 0x74 "cycle" "cycle at which the page was written, low half; `cycle` and `time` (CSR) count on";
    TASK_STATE_SIZE 0x78 "state_size" "bytes of context memory";
    TASK_ROOM 0x7C "packet_room" "bytes of the packet region: packet_len and the tailroom";
}
/// Bytes of the task page (its bound).
pub const TASK_PAGE_BYTES: u32 = 0x80;

words! { COMMAND_PORT "Words of the command port. Write the arguments, then the opcode to ISSUE, which reads back the command's \
    handle. Words that were not written are 0."
    CMD_SOURCE 0x00 "source" "virtual address of the data (packet, scratch or context region); dma_from_host: where they \
        go; put_host: offset in the context's host region; put_context: address in the context region; get: offset in the buffer \
        here";
    CMD_LENGTH 0x04 "length" "bytes; print: how many characters, 1 to 8; host_cas, host_add: 4 or 8; redirect without BYTES: offset in \
        the buffer; task: delay in cycles, below 2^31, or TASK_CANCEL";
    CMD_ADDR_LO 0x08 "addr_lo" "offset in the context's host region; put, get, redirect: mailbox address, low half; print: characters \
        0 to 3, the first in [7:0]; event, complete: user word, low half; task: argument, low half; combine: \
        virtual address of the destination (packet or scratch region)";
    CMD_ADDR_HI 0x0C "addr_hi" "with a host offset: must be 0; put, get, redirect: mailbox address, high half; print: characters 4 to \
        7; event, complete: user word, high half; task: argument, high half; combine: operation";
    CMD_ISSUE 0x10 "issue" "write: opcode [3:0], of SEND_PACKET also the flag ISSUE_CHECKSUM [8], of REDIRECT ISSUE_TASK [8] \
        or ISSUE_BYTES [9], of PUT ISSUE_RELIABLE [8]; issues the command, waits while no handle is free; read: handle of the last command";
    CMD_STATUS 0x14 "status" "bit h = command h is still under way";
    CMD_ERROR 0x18 "error" "bit h = the last command of this handler with handle h failed; cleared when a new command of this handler \
        takes the handle, and not by those of others";
    CMD_WAIT 0x1C "wait" "read: waits until no command of this handler is under way; after a write of WAIT_HANDLE, until that command \
        is over";
    CMD_RESULT_LO 0x20 "result_lo" "read: result of the last host atomic that is over, low half; write: key of the reply to a get";
    CMD_RESULT_HI 0x24 "result_hi" "read: its high half";
    CMD_NODE 0x28 "node" "put, get: node table index [7:0], process there [31:16]";
    CMD_KEY 0x2C "key" "put, get: mailbox key there; host_cas, host_add: operand, low half; redirect of bytes: epoch or ordinal [15:0], \
        and the flag REDIRECT_EPOCH [16] if the mailbox takes messages by epoch or ordinal; else 0";
    CMD_OFFSET 0x30 "offset" "put, get: offset in the buffer there; host_cas, host_add: operand, high half; redirect of bytes: offset in \
        the buffer";
    CMD_OTHER_LO 0x34 "other_lo" "host_cas: value to compare, low half; get: mailbox address here, low half";
    CMD_OTHER_HI 0x38 "other_hi" "its high half";
    CMD_WAIT_HANDLE 0x3C "wait_handle" "write: handle that the next read of WAIT waits for";
}
/// Bytes of the command port (its bound).
pub const COMMAND_PORT_BYTES: u32 = 0x40;
/// Bits of a handler's cycle budget and of the clock that it is compared with.
pub const WATCHDOG_BITS: usize = 24;
/// The largest cycle budget, 64 ms at 250 MHz. The clock counts further, until a handler that has used up its budget has ended.
pub const WATCHDOG_MOST: u32 = 16_000_000;
/// Flag of ISSUE with SEND_PACKET: the NIC inserts the IPv4 header checksum and the UDP, TCP or ICMP checksum of the frame.
pub const ISSUE_CHECKSUM: u32 = 1 << 8;
/// Flag of ISSUE with REDIRECT: the command is a TASK. It starts a task of the handler's context, or cancels one: LENGTH is the delay or
/// [`TASK_CANCEL`], ADDR the argument. The same bit as [`ISSUE_CHECKSUM`].
pub const ISSUE_TASK: u32 = 1 << 8;
/// Flag of ISSUE with REDIRECT: bytes of the packet, as it was received, instead of its payload. SOURCE is their address in the packet
/// region, inside the frame; OFFSET is the offset in the mailbox's buffer, KEY the epoch. The command ends when they are placed.
pub const ISSUE_BYTES: u32 = 1 << 9;
/// Lowest bit of the flags in ISSUE, and their number.
pub const ISSUE_FLAGS_SHIFT: u32 = 8;
/// See [`ISSUE_FLAGS_SHIFT`].
pub const ISSUE_FLAGS_BITS: usize = 2;
/// Flag of KEY of a REDIRECT of bytes: the message names the epoch, or its ordinal, in KEY[15:0]. TAGGED mailboxes and streams want it,
/// others refuse it.
pub const REDIRECT_EPOCH: u32 = 1 << 16;
/// Flag of ISSUE with PUT: the bytes are the packet's, are read from the packet buffer whenever they are sent, and are sent until they are
/// acknowledged. The packet keeps its cells until then. The same bit as [`ISSUE_CHECKSUM`].
pub const ISSUE_RELIABLE: u32 = 1 << 8;
/// LENGTH of a TASK that cancels the task of its context with this argument that waits.
pub const TASK_CANCEL: u32 = 1 << 31;
/// Bits of the handle of a command.
pub const HANDLE_BITS: usize = 3;
/// Handles (commands in flight) per HPU. The numbers after them, in the four bits of `CommandIssuer`, are not those of handlers.
pub const COMMAND_HANDLES: usize = 1 << HANDLE_BITS;
const _: () = assert!(COMMAND_HANDLES <= crate::descriptors::put_op::HOST_HANDLE as usize);

macro_rules! commands { ($($konst:ident $num:literal $doc:literal;)*) => {
    /// Command opcodes.
    pub mod command {
        $(#[doc = $doc] pub const $konst: u8 = $num;)*
    }
    /// Name, opcode and meaning of every command.
    pub const COMMANDS: &[(&str, u8, &str)] = &[$((stringify!($konst), $num, $doc)),*];
} }
commands! {
    SEND_PACKET 1 "send the bytes as a frame";
    PLACE 2 "hand the original packet to the RVMA path";
    DMA_TO_HOST 3 "write the bytes to host memory";
    PRINT 4 "print up to eight characters: they go to the host's print queue, or are counted as lost; takes no handle";
    DMA_FROM_HOST 5 "read bytes from host memory";
    PUT 6 "put the bytes into a mailbox of another node";
    PUT_HOST 7 "put bytes of host memory into a mailbox of another node";
    GET 8 "fetch from a mailbox of another node into one here";
    HOST_CAS 9 "compare and swap 4 or 8 bytes of host memory; the result is what was there";
    HOST_ADD 10 "add to 4 or 8 bytes of host memory; the result is what was there";
    EVENT 11 "write an event into the process' event ring; takes no handle";
    COMPLETE 12 "the handler's message, whose completion was left to a command, is done: its buffers are no longer held, and an event \
        says so; takes no handle";
    REDIRECT 13 "put the packet's payload, or bytes of the packet, as a message of its own, into a mailbox of the context's process";
    PUT_CONTEXT 14 "put bytes of context memory into a mailbox of another node; they are read again whenever they are sent again";
    COMBINE 15 "combine bytes with as many bytes at a destination in packet or scratchpad, element by element";
}

macro_rules! codes { ($table:ident $tdoc:literal $($konst:ident $num:literal $doc:literal;)*) => {
    $(#[doc = $doc] pub const $konst: u8 = $num;)*
    #[doc = $tdoc]
    pub const $table: &[(&str, u8, &str)] = &[$((stringify!($konst), $num, $doc)),*];
} }

/// Parts of a combine operation: how elements are combined, and their size.
pub mod combine {
    /// Bits [1:0]: an element has 2 to the power of this many bytes, at most 4.
    pub const SIZE_BITS: usize = 2;
    /// Bits [4:2]: destination ^= constant * source, byte by byte, in GF(2^8).
    pub const GF: u32 = 0;
    /// Sum, modulo the range of the element.
    pub const ADD: u32 = 1;
    /// Sum of signed elements; one that is out of range becomes the end of the range that it passed.
    pub const ADDS: u32 = 2;
    /// Sum of unsigned elements; one that is out of range becomes the largest element.
    pub const ADDU: u32 = 3;
    /// The smaller one of two signed elements.
    pub const MIN: u32 = 4;
    /// The smaller one of two unsigned elements.
    pub const MINU: u32 = 5;
    /// The larger one of two signed elements.
    pub const MAX: u32 = 6;
    /// The larger one of two unsigned elements.
    pub const MAXU: u32 = 7;
    /// Bits [15:8]: the constant, of GF alone.
    pub const CONSTANT_SHIFT: u32 = 8;
    /// Products in GF(2^8) are reduced by x^8 + x^4 + x^3 + x^2 + 1, the polynomial of most Reed-Solomon codes.
    pub const POLYNOMIAL: u32 = 0x11D;
    /// An operation.
    pub const fn operation(kind: u32, size_log: u32) -> u32 {
        kind << SIZE_BITS | size_log
    }
}
macro_rules! operations { ($($konst:ident $kind:ident $size:literal $constant:literal $doc:literal;)*) => {
    /// Operations of COMBINE, as ADDR_HI has them, with their meaning.
    pub const COMBINE_OPERATIONS: &[(&str, u32, &str)] =
        &[$((stringify!($konst), combine::operation(combine::$kind, $size) | $constant << combine::CONSTANT_SHIFT, $doc)),*];
} }
operations! {
    GF GF 0 0 "destination ^= constant * source in GF(2^8) with polynomial 0x11d; the constant is in [15:8]";
    XOR GF 0 1 "destination ^= source: GF with the constant 1";
    ADD8 ADD 0 0 "destination += source, elements of 8 bits, modulo 2^8";
    ADD16 ADD 1 0 "16 bits, modulo 2^16";
    ADD32 ADD 2 0 "32 bits, modulo 2^32";
    ADDS8 ADDS 0 0 "signed sum, 8 bits; beyond -128 or 127 it is that number";
    ADDS16 ADDS 1 0 "16 bits; beyond -2^15 or 2^15 - 1 it is that number";
    ADDS32 ADDS 2 0 "32 bits; beyond -2^31 or 2^31 - 1 it is that number";
    ADDU8 ADDU 0 0 "unsigned sum, 8 bits; beyond 255 it is 255";
    ADDU16 ADDU 1 0 "16 bits; beyond 2^16 - 1 it is that number";
    ADDU32 ADDU 2 0 "32 bits; beyond 2^32 - 1 it is that number";
    MIN8 MIN 0 0 "the smaller one, signed, 8 bits";
    MIN16 MIN 1 0 "16 bits";
    MIN32 MIN 2 0 "32 bits";
    MINU8 MINU 0 0 "the smaller one, unsigned, 8 bits";
    MINU16 MINU 1 0 "16 bits";
    MINU32 MINU 2 0 "32 bits";
    MAX8 MAX 0 0 "the larger one, signed, 8 bits";
    MAX16 MAX 1 0 "16 bits";
    MAX32 MAX 2 0 "32 bits";
    MAXU8 MAXU 0 0 "the larger one, unsigned, 8 bits";
    MAXU16 MAXU 1 0 "16 bits";
    MAXU32 MAXU 2 0 "32 bits";
}
codes! { RETURN_CODES "Return codes of handlers (a0 at return); others count as SPIN_FAIL."
    SPIN_SUCCESS 0 "payload, completion: done";
    SPIN_PROCESS_DATA 0 "header: run the payload handlers";
    SPIN_DROP 1 "drop the message (header) or this packet (payload)";
    SPIN_PROCEED 2 "header: place the data, no payload handlers";
    SPIN_FAIL 3 "end the message with an error";
    SPIN_PROCESS_DATA_PENDING 4 "as PROCESS_DATA, completion by command";
    SPIN_DROP_PENDING 5 "as DROP, completion by command";
    SPIN_PROCEED_PENDING 6 "as PROCEED, completion by command";
    SPIN_SUCCESS_PENDING 7 "completion: done, completion by command";
}
codes! { FAULTS "Causes of a fault."
    FAULT_NONE 0 "no fault";
    FAULT_FETCH 1 "instruction fetch outside the code region, or misaligned";
    FAULT_ILLEGAL 2 "illegal instruction";
    FAULT_LOAD 3 "load outside a region or from one that may not be read";
    FAULT_STORE 4 "store outside a region or to one that may not be written";
    FAULT_MISALIGNED 5 "misaligned load or store in a region that has none";
    FAULT_WATCHDOG 6 "the handler used up its cycle budget";
    FAULT_BREAK 7 "ebreak or ecall";
    FAULT_COMMAND 8 "command with an illegal opcode, address, alignment or length";
}
