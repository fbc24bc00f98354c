//! Descriptors between blocks.
//!
//! One list serves all: [`descriptors!`](crate::descriptors!) hands every descriptor with its fields and widths to a macro of
//! the caller. `rtl/blocks` makes hardware structs of it, this crate the tables, the generator the documentation.
//! Fields are packed from the least significant bit in the order of the list. The width of a field is a number, or
//! `CommandIssuer`: a nested structure, whose members stand in the tables in the place of the field.

/// Calls `$m! { ... }` with the list of descriptors.
#[macro_export]
macro_rules! descriptors { ($m:ident) => { $m! {
    /// A received frame, from the parser to the message table: its place in the packet buffer, and its header fields.
    PacketDesc "packet_desc" {
        version: 4 "contract version",
        frame: 16 "frame sequence number; the tag of all trace points",
        stamp: 32 "cycle of the first beat",
        pkt: 10 "head cell in the packet buffer: names the packet until it is freed",
        cells: 5 "cells of the packet",
        length: 14 "bytes of the frame",
        is_vlan: 1 "has an 802.1Q tag",
        is_ipv4: 1 "IPv4 without options and not a fragment",
        is_udp: 1 "UDP",
        is_icmp: 1 "ICMP",
        is_spindle: 1 "Spindle transport",
        l3_offset: 6 "byte offset of the IP header",
        payload_offset: 7 "byte offset of the Spindle payload, else of the UDP or ICMP payload, else of the Ethernet payload",
        ip_src: 32 "IPv4 source",
        ip_dst: 32 "IPv4 destination",
        src_port: 16 "UDP source port",
        dst_port: 16 "UDP destination port",
        opcode: 8 "Spindle opcode; 0 = raw frame",
        flags: 16 "Spindle flags",
        psn: 32 "packet sequence number",
        src_nid: 32 "source node; raw: IPv4 source",
        src_pid: 16 "source process; raw: UDP source port",
        dst_pid: 16 "destination process; raw: UDP destination port",
        addr: 64 "mailbox address = match bits; raw: 0",
        key: 32 "mailbox key",
        msg_id: 32 "message; raw: the frame number",
        msg_len: 32 "message length; raw: payload_len",
        msg_off: 32 "offset in the message; raw: 0",
        buf_off: 32 "base offset in the buffer",
        payload_len: 16 "payload bytes",
        epoch: 16 "epoch tag",
        action: 2 "action of the matching rule: 0 drop, 1 context, 2 mailbox, 3 host",
        context: 4 "execution context",
        per_message: 1 "0 = the packet is a message, 1 = the Spindle header names the message",
        rule: 6 "the rule that matched",
        ecn: 2 "ECN bits of the IP header",
        by_field: 1 "msg_id is a field of the frame that the rule names",
        ends: 1 "by the rule's end test the last packet of its message",
        to_host: 1 "the packet also goes to the host",
        sequenced: 1 "the PSN filter holds the sequence number until the end of the packet",
        l4_good: 1 "UDP with a checksum, or ICMP: the checksum is right",
        ruled: 1 "a rule matched",
        spare: 10 "zero",
    }
    /// A handler to run, from the payload scheduler to the HPU array.
    TaskDesc "task_desc" {
        version: 4 "contract version",
        kind: 2 "0 header, 1 payload, 2 completion, 3 task",
        context: 4 "execution context",
        msg_slot: 8 "message table slot",
        frame: 16 "frame sequence number (completion: of the message's last packet; task: of the packet of the handler that started \
            it, 0 = the host)",
        stamp: 32 "cycle of the frame's first beat; task: the cycle in which it was due",
        has_packet: 1 "load the packet into L1 (0 for completion and task)",
        pkt: 10 "head cell; task: message table slot",
        length: 14 "bytes of the frame",
        l3_offset: 6 "byte offset of the IP header",
        payload_offset: 7 "byte offset of the payload in the frame",
        payload_len: 16 "payload bytes",
        opcode: 8 "Spindle opcode, 0 = raw",
        src_nid: 32 "source node",
        src_pid: 16 "source process",
        dst_pid: 16 "destination process",
        addr: 64 "match bits; task: its argument",
        msg_id: 32 "message",
        msg_len: 32 "message length",
        msg_off: 32 "offset of this packet in the message",
        buf_off: 32 "base offset in the buffer",
        dropped_bytes: 32 "completion: bytes that handlers dropped",
        flow_control: 1 "completion: something was dropped for lack of room",
        cluster: 3 "cluster that is to run it",
        hpu: 3 "HPU of that cluster",
        dispatched: 32 "cycle in which the task left the packet engine",
        spare: 14 "zero",
    }
    /// End of a task, from the HPU array back to the scheduler.
    TaskDone "task_done" {
        version: 4 "contract version",
        kind: 2 "as in task_desc",
        context: 4 "execution context",
        msg_slot: 8 "message table slot",
        frame: 16 "frame sequence number",
        has_packet: 1 "as in task_desc",
        pkt: 10 "head cell",
        payload_len: 16 "as in task_desc",
        code: 8 "return code of the handler",
        fault: 1 "the handler was ended by a fault or the watchdog",
        cause: 4 "fault cause",
        cycles: 24 "cycles from first fetch to return",
        cluster: 3 "cluster that ran it",
        hpu: 3 "HPU of that cluster",
        instructions: 24 "instructions retired before the one that returned or faulted",
    }
    /// A handler's command to the scheduler: PLACE or REDIRECT for its packet, TASK, or PUT: its packet is being put, and keeps its cells.
    Command "command" {
        version: 4 "contract version",
        opcode: 4 "as in memory_map::command",
        flags: 8 "of REDIRECT, bit 0: it is a TASK (memory_map::ISSUE_TASK); bit 1: it is of bytes (memory_map::ISSUE_BYTES); bit 2: of \
            bytes, and `epoch` counts",
        context: 4 "execution context",
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        frame: 16 "frame sequence number of the issuer's packet",
        msg_slot: 8 "message of the issuer",
        pkt: 10 "packet of the issuer",
        offset: 32 "redirect: offset in the mailbox's buffer; task: delay in cycles, or memory_map::TASK_CANCEL",
        address: 64 "redirect: mailbox address; task: its argument",
        stamp: 32 "cycle of issue",
        first: 11 "redirect of bytes: the first one, in the frame",
        length: 12 "redirect of bytes: how many, 1 to 2048",
        epoch: 16 "redirect of bytes: epoch of a TAGGED mailbox, ordinal of a message of a stream",
        spare: 1 "zero",
    }
    /// Payload of a packet on its way to a mailbox, from the packet engine to the RVMA engine.
    PlacementDesc "placement_desc" {
        version: 4 "contract version",
        frame: 16 "frame sequence number",
        stamp: 32 "cycle of the first beat",
        pkt: 10 "head cell of the packet",
        length: 14 "bytes of the frame",
        payload_offset: 11 "byte offset of the payload in the frame; of a redirect of bytes: of the first one",
        payload_len: 16 "payload bytes",
        opcode: 8 "Spindle opcode",
        flags: 16 "Spindle flags",
        psn: 32 "packet sequence number",
        src_nid: 32 "source node",
        src_pid: 16 "source process",
        dst_pid: 16 "destination process",
        addr: 64 "mailbox address",
        key: 32 "mailbox key",
        msg_id: 32 "message",
        msg_len: 32 "message length",
        msg_off: 32 "offset of the packet in the message",
        buf_off: 32 "base offset of the message in the buffer",
        epoch: 16 "epoch tag",
        has_slot: 1 "the message has state (several packets)",
        msg_slot: 8 "message table slot; of a redirect of bytes: the number of its command",
        from_handler: 1 "issued by `place` or SPIN_PROCEED",
        pending: 1 "a handler of the message returned a *_PENDING code, and none has given COMPLETE: the buffer of the packet \
            completes after the message's pending_end",
        redirected: 1 "REDIRECT of this one packet by a handler, or of bytes of it: the key is not compared, and a managed mailbox chooses \
            the offset; psn and key are 0, and but for a redirect of bytes flags and epoch",
        of_bytes: 1 "REDIRECT of bytes of the packet: beside the packet's own placement",
        host: 1 "the whole frame, for the host window: dst_pid is its process, addr[15:0] the mailbox; the payload is the frame with \
            zeros up to a multiple of 64 bytes",
        rule: 6 "host: the rule that matched",
        checks: 4 "host: code of the event FRAME",
        spare: 6 "zero",
    }
    /// The RVMA engine is done with a packet: its cells may be freed; from the RVMA engine back to the scheduler.
    PlacementDone "placement_done" {
        pkt: 10 "head cell",
        frame: 16 "frame sequence number",
        has_slot: 1 "as in placement_desc",
        msg_slot: 8 "as in placement_desc",
        payload_len: 16 "payload bytes",
        placed: 1 "1 = written to host memory, 0 = refused",
        reason: 5 "why refused (reasons::Drop)",
        of_bytes: 1 "as in placement_desc: the packet's cells stay",
        spare: 6 "zero",
    }
    /// A pending message is done; from the scheduler to the RVMA engine.
    PendingEnd "pending_end" {
        msg_slot: 8 "message table slot",
        frame: 16 "frame whose handler gave COMPLETE, or whose end is the message's",
        ended: 1 "the message has ended, and its slot is free; 0 = a handler gave COMPLETE",
    }
    /// Decision of a mailbox on a packet, before its `PlacementDone`; from the RVMA engine to the responder.
    PlacementOutcome "placement_outcome" {
        pkt: 10 "head cell",
        silent: 1 "no NACK is sent for the packet",
        epoch: 16 "ordinal of the buffer to which the mailbox binds messages",
        credit: 16 "buffers that take messages, that one included",
    }
    /// A completion record to write.
    Completion "completion" {
        version: 4 "contract version",
        frame: 16 "frame whose packet completed the buffer",
        mailbox: 12 "mailbox",
        buffer: 14 "buffer slot",
        record: 64 "host address of the record",
        length: 32 "bytes placed",
        status: 8 "wire::status",
        epoch: 16 "epoch that ended",
        address: 64 "buffer pointer",
        stamp: 32 "cycle of the last write response",
        pid: 6 "process that gets the events of the buffer",
        event: 1 "the process gets an event also if the buffer is complete",
        spare: 9 "zero",
    }
    /// A write from handler memory to host memory, beside a data stream that starts at byte 0 of its first beat.
    DmaDesc "dma_desc" {
        version: 4 "contract version",
        context: 4 "execution context",
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        frame: 16 "frame sequence number",
        address: 64 "host byte address",
        length: 16 "bytes",
        spare: 8 "zero",
    }
    /// A DMA command has been answered by the host.
    DmaDone "dma_done" {
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        error: 1 "the host answered with an error",
        spare: 5 "zero",
    }
    /// A read of host memory; with its data it comes back as their tag.
    HostRead "host_read" {
        client: 2 "0 handler DMA, 1 initiator, 2 command ring, 3 initiator, of context memory or of a packet",
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        context: 4 "execution context; of a frame that is sent: bit 0 = insert a checksum",
        frame: 16 "frame sequence number; of a frame that is sent: first word of the checksum's sum [6:0], the word that it is \
            written to [15:8]",
        address: 64 "host byte address; of bytes that the array reads: as in array_address",
        length: 16 "bytes, at least 1; with `offset` at most 65,536",
        offset: 6 "byte of its first beat at which the first byte is handed over; 0 but for a handler's DMA",
    }
    /// An atomic operation on a word of host memory.
    HostAtomic "host_atomic" {
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        op: 2 "0 compare and swap, 1 fetch and add",
        wide: 1 "1 = 64 bits, 0 = 32 bits",
        address: 64 "host byte address, naturally aligned",
        operand: 64 "value that is stored or added",
        compare: 64 "compare and swap: value that memory must hold",
    }
    /// An atomic operation is over.
    HostAtomicDone "host_atomic_done" {
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        error: 1 "the host answered with an error; memory is as it was unless the write failed half way",
        value: 64 "value before the operation",
    }
    /// An event for the host, on its way to the ring of a process.
    EventDesc "event_desc" {
        pid: 6 "process whose ring gets it",
        kind: 4 "as in events",
        context: 4 "execution context",
        code: 8 "by kind",
        flags: 8 "by kind",
        id: 32 "by kind",
        length: 32 "by kind",
        extra: 32 "by kind",
        source: 32 "by kind",
        user: 64 "by kind",
    }
    /// A put or get for the initiator. The payload of PUT follows on the egress stream (`egress_put`); the descriptor comes first.
    PutDesc "put_desc" {
        op: 2 "0 put, 1 get",
        from_host: 1 "the payload is read from host memory; else, if it is not on the egress stream, from context memory or a packet",
        node: 8 "node table index",
        dst_pid: 16 "process there",
        src_pid: 16 "process here",
        addr: 64 "mailbox address there",
        key: 32 "mailbox key there",
        buf_off: 32 "offset in the buffer there",
        length: 32 "bytes",
        host_address: 64 "where the payload is in host memory; in context memory or in a packet: as in array_address",
        reply_addr: 64 "get: mailbox address here",
        reply_off: 32 "get: offset in the buffer here",
        reply_key: 32 "get: mailbox key here; put with EPOCH_VALID: epoch tag [15:0]",
        flags: 16 "Spindle flags",
        context: 4 "execution context",
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        frame: 16 "frame sequence number of the issuer's packet",
    }
    /// The last beat of a put has left, or a get has been sent.
    PutDone "put_done" {
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        error: 1 "the initiator could not do it",
        of_context: 1 "it was a put of context memory or of a packet",
        spare: 4 "zero",
    }
    /// A frame that the NIC is to make itself, or all frames of a put, inside the packet engine.
    FrameJob "frame_job" {
        opcode: 8 "Spindle opcode",
        flags: 16 "Spindle flags",
        node: 8 "node table index",
        src_pid: 16 "process here",
        dst_pid: 16 "process there",
        addr: 64 "mailbox address there",
        key: 32 "mailbox key there; ACK, NACK: code, marks, credit",
        buf_off: 32 "offset in the buffer there; ACK, NACK: sequence number of the packet they speak of",
        msg_len: 32 "bytes of the message; ACK, NACK: high half of the selective bitmap",
        msg_off: 32 "offset of the first frame's payload in the message; ACK, NACK: low half of the selective bitmap",
        left: 32 "payload bytes of this frame and of the frames that follow",
        single: 1 "this frame only",
        msg_id: 32 "message, if numbered",
        numbered: 1 "msg_id is given; else it is the next of the planner",
        psn: 32 "sequence number",
        epoch: 16 "epoch tag",
        from_host: 1 "the payload is read from host memory, else from context memory or a packet",
        host_address: 64 "where the payload of the first frame is there",
        reply_addr: 64 "get: mailbox address here",
        reply_off: 32 "get: offset in the buffer here",
        reply_key: 32 "get: mailbox key here",
        context: 4 "execution context",
        issuer: CommandIssuer "cluster, HPU and handle of the command",
        frame: 16 "frame sequence number of the issuer's packet",
        tracked: 1 "it has a send record: its end is not the end of the put",
        record: 10 "send record; of a put of a packet that has none: the packet",
        of_packet: 1 "the payload is read from a packet",
        over: 1 "no frame: the put is over, and the frames before were the last that read its packet",
        failed: 1 "over: the put failed",
    }
    /// End of a Spindle packet, for its sender: from the ingress join and the scheduler to the responder.
    PacketReport "packet_report" {
        node: 8 "low bits of the source node",
        src_pid: 16 "source process of the packet",
        dst_pid: 16 "destination process of the packet",
        addr: 64 "mailbox address of the packet",
        msg_id: 32 "message of the packet",
        psn: 32 "sequence number of the packet",
        epoch: 16 "current epoch of its mailbox",
        credit: 16 "buffers that are posted to its mailbox",
        code: 8 "0 = accepted, now or before; else the reason of the refusal (wire::nack)",
        sequenced: 1 "its sequence number counts",
        urgent: 1 "the source waits for an acknowledgement",
        marked: 1 "a switch has marked the packet",
        frame: 16 "frame sequence number of the packet",
    }
    /// A request to the packet buffer: stream this packet.
    ReadRequest "read_request" {
        pkt: 10 "head cell",
        length: 14 "bytes to stream from the start of the frame, at least 1",
        skip: 8 "whole beats to skip at the start",
    }
    /// A register access on its way to a block.
    CsrRequest "csr_request" {
        valid: 1 "held until the answer",
        write: 1 "1 = write",
        addr: 20 "byte address in the BAR, word aligned",
        wdata: 32 "data to write",
    }
    /// The answer to a register access.
    CsrResponse "csr_response" {
        ack: 1 "one cycle",
        error: 1 "no such register (read as 0)",
        rdata: 32 "data read",
    }
    /// What the scheduler needs to know of a context.
    ContextStatus "context_status" {
        active: 1 "packets are accepted",
        has_header: 1 "there is a header handler",
        has_payload: 1 "there is a payload handler",
        has_completion: 1 "there is a completion handler",
    }
    /// What a context may use and what becomes of packets beyond that, from the HPU array to the packet engine at its installation.
    ContextPolicy "context_policy" {
        weight: 8 "share of HPU cycles under load, relative to other contexts, at least 1",
        messages: 9 "most live messages, 0 = no limit",
        packets: 11 "most packets inside, 0 = no limit",
        overload: 2 "what becomes of packets beyond a limit: 0 dropped, 1 placed, 2 refused until there is room \
            (descriptors::overload)",
        user_header: 7 "bytes of user header at the start of a message, 0 = none: the header handler waits for the packet with these",
        core_mask: 32 "HPUs that may run its handlers: bit cluster * hpus + hpu",
        pid: 6 "process whose event ring gets its events",
        tasks: 1 "there is a task handler",
    }
    /// Trace of the ingress join, one record per frame: rule and context, and whether the frame goes on to the scheduler.
    JoinTrace "join_trace" {
        valid: 1 "a record in this cycle; else the other fields have no meaning",
        frame: 16 "frame sequence number",
        ruled: 1 "a rule matched; else rule, action and context have no meaning",
        rule: 6 "the rule that matched, by its slot in the header matcher",
        action: 2 "action of the rule, as in packet_desc",
        context: 4 "execution context of the rule",
        dropped: 1 "the frame ends here and is dropped; 0 = it goes on to the scheduler",
        reason: 6 "drop reason, if dropped",
    }
    /// Trace of the scheduler: a frame joins a message, or ends, or both. A frame that the ingress join passed on ends here once.
    EndTrace "end_trace" {
        frame: 16 "frame sequence number; has a meaning if joined, handled, placed or dropped is 1",
        joined: 1 "the frame joins the message in `slot`",
        begins: 1 "the message begins with this frame, if joined",
        slot: 8 "slot of the message table, if joined",
        handled: 1 "the frame ends: its handlers returned success",
        placed: 1 "the frame ends: it was written to host memory",
        dropped: 1 "the frame ends: it was dropped",
        reason: 5 "drop reason, if dropped",
    }
    /// Trace of the scheduler's tasks: a handler goes to an HPU, in the cycle of trace point `scheduled`.
    TaskTrace "task_trace" {
        valid: 1 "a record in this cycle; else the other fields have no meaning",
        frame: 16 "frame sequence number (completion, task: as in task_desc)",
        kind: 2 "0 header, 1 payload, 2 completion, 3 task",
        slot: 8 "slot of the message table",
        cluster: 3 "cluster that runs it",
        hpu: 3 "HPU of that cluster",
    }
} } }

/// A field of a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Width in bits.
    pub bits: usize,
    /// Meaning.
    pub doc: &'static str,
}

/// A descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Name.
    pub name: &'static str,
    /// Meaning.
    pub doc: &'static str,
    /// Fields from the least significant bit.
    pub fields: &'static [Field],
}

impl Descriptor {
    /// Width in bits.
    pub const fn bits(&self) -> usize {
        let (mut i, mut n) = (0, 0);
        while i < self.fields.len() {
            n += self.fields[i].bits;
            i += 1;
        }
        n
    }
}

/// Members of `CommandIssuer`: the command of a handler.
pub const COMMAND_ISSUER: &[Field] = &[
    Field { name: "cluster", bits: 3, doc: "cluster of the issuer" },
    Field { name: "hpu", bits: 3, doc: "HPU of that cluster" },
    Field { name: "handle", bits: 4, doc: "handle of the command in the issuer's command table" },
];

/// Number of fields in all parts.
const fn count(parts: &[&[Field]]) -> usize {
    let (mut i, mut n) = (0, 0);
    while i < parts.len() {
        n += parts[i].len();
        i += 1;
    }
    n
}

/// The fields of all parts, one after another.
const fn flatten<const N: usize>(parts: &[&[Field]]) -> [Field; N] {
    let mut fields = [parts[0][0]; N];
    let (mut part, mut i, mut n) = (0, 0, 0);
    while n < N {
        if i == parts[part].len() {
            (part, i) = (part + 1, 0);
        }
        fields[n] = parts[part][i];
        (i, n) = (i + 1, n + 1);
    }
    fields
}

macro_rules! part {
    ($field:ident CommandIssuer $doc:literal) => {
        COMMAND_ISSUER
    };
    ($field:ident $bits:tt $doc:literal) => {
        &[Field { name: stringify!($field), bits: $bits, doc: $doc }]
    };
}
macro_rules! table { ($(#[doc = $doc:literal] $ty:ident $name:literal { $($field:ident: $bits:tt $fdoc:literal,)* })*) => {
    /// All descriptors.
    pub const DESCRIPTORS: &[Descriptor] = &[$({
        const PARTS: &[&[Field]] = &[$(part!($field $bits $fdoc)),*];
        const FIELDS: [Field; count(PARTS)] = flatten(PARTS);
        Descriptor { name: $name, doc: $doc, fields: &FIELDS }
    }),*];
} }
descriptors!(table);

/// Kinds of task.
pub mod kind {
    /// Header handler.
    pub const HEADER: u8 = 0;
    /// Payload handler.
    pub const PAYLOAD: u8 = 1;
    /// Completion handler.
    pub const COMPLETION: u8 = 2;
    /// Task handler: started by a handler or by the host, without a packet.
    pub const TASK: u8 = 3;
}

/// What becomes of packets beyond the limits of a context.
pub mod overload {
    /// Packets are dropped and counted; the completion handler sees `flow_control`.
    pub const DROP: u8 = 0;
    /// Placed without running a handler.
    pub const PLACE: u8 = 1;
    /// The context accepts nothing until there is room.
    pub const PAUSE: u8 = 2;
}

/// Who reads host memory, or context memory (`host_read.client`).
pub mod client {
    /// A handler's DMA.
    pub const HANDLER: u8 = 0;
    /// A put of the initiator.
    pub const INITIATOR: u8 = 1;
    /// A command ring.
    pub const RING: u8 = 2;
    /// A put of the initiator from context memory or from a packet: the array reads for it.
    pub const CONTEXT: u8 = 3;
}

/// Address of bytes that the array reads for the initiator: a byte of L2 in the low 20 bits, or a byte of a packet.
pub mod array_address {
    /// The bit that says that it is one of a packet, counted from the start of the frame.
    pub const OF_PACKET: usize = 30;
    /// Lowest bit of the packet's head cell.
    pub const PACKET: usize = 20;
}

/// What the initiator is asked for (`put_desc.op`).
pub mod put_op {
    /// Write into a mailbox of another node.
    pub const PUT: u8 = 0;
    /// Ask for what a mailbox of another node received.
    pub const GET: u8 = 1;
    /// Answer a GET: a put of host memory whose message number is `reply_key`.
    pub const GET_RESP: u8 = 2;
    /// Handle of the puts of processes, which no handler has.
    pub const HOST_HANDLE: u8 = 8;
    /// Handle of the reads of SEND_FRAME.
    pub const FRAME_HANDLE: u8 = 9;
}

/// Actions of a match rule.
pub mod action {
    /// Drop the frame.
    pub const DROP: u8 = 0;
    /// Give it to an execution context.
    pub const CONTEXT: u8 = 1;
    /// Place it through its mailbox.
    pub const MAILBOX: u8 = 2;
    /// Place the whole frame in the host window.
    pub const HOST: u8 = 3;
}

/// Where the header matcher finds a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchPlace {
    /// The flag of this number: a literal of a rule, no term.
    Flag(usize),
    /// In the big-endian word at this byte of a frame without VLAN tag.
    Word {
        /// Even.
        offset: usize,
        /// A tag moves the field by 4 bytes.
        behind_tag: bool,
        /// Least significant bit in the word.
        shift: usize,
    },
    /// The length of the frame.
    Length,
}

/// A field of the rule language.
#[derive(Clone, Copy, Debug)]
pub struct MatchField {
    /// Name in the rule language.
    pub name: &'static str,
    /// Where it is.
    pub place: MatchPlace,
    /// Width in bits.
    pub bits: usize,
    /// Meaning.
    pub doc: &'static str,
}

macro_rules! place {
    (flag $n:literal) => {
        MatchPlace::Flag($n)
    };
    (length) => {
        MatchPlace::Length
    };
    (frame $offset:literal $shift:literal) => {
        MatchPlace::Word { offset: $offset, behind_tag: false, shift: $shift }
    };
    (moved $offset:literal $shift:literal) => {
        MatchPlace::Word { offset: $offset, behind_tag: true, shift: $shift }
    };
}
macro_rules! mf { ($($name:literal [$($place:tt)*] $bits:literal $doc:literal;)*) => {
    /// Fields of the rule language. What a frame without the header has in a field's place has no meaning.
    pub const MATCH_FIELDS: &[MatchField] = &[$(MatchField { name: $name, place: place!($($place)*), bits: $bits, doc: $doc }),*];
} }
mf! {
    "vlan" [flag 0] 1 "has an 802.1Q tag";
    "ipv4" [flag 1] 1 "is IPv4 without options and not a fragment";
    "udp" [flag 2] 1 "is UDP over such an IPv4";
    "icmp" [flag 3] 1 "is ICMP over such an IPv4";
    "spindle" [flag 4] 1 "is Spindle transport";
    "frame.len" [length] 14 "bytes of the frame";
    "eth.dst_hi" [frame 0 16] 16 "high 16 bits of the destination MAC";
    "eth.dst_lo" [frame 2 0] 32 "low 32 bits of the destination MAC";
    "eth.src_hi" [frame 6 16] 16 "high 16 bits of the source MAC";
    "eth.src_lo" [frame 8 0] 32 "low 32 bits of the source MAC";
    "eth.type" [moved 12 16] 16 "EtherType after a VLAN tag";
    "vlan.id" [frame 12 0] 12 "VLAN id";
    "ip.tos" [moved 12 0] 8 "IPv4 type of service";
    "ip.proto" [moved 22 16] 8 "IPv4 protocol";
    "ip.src" [moved 26 0] 32 "IPv4 source";
    "ip.dst" [moved 30 0] 32 "IPv4 destination";
    "udp.sport" [moved 34 16] 16 "UDP source port";
    "udp.dport" [moved 34 0] 16 "UDP destination port";
    "icmp.type" [moved 34 24] 8 "ICMP type";
    "icmp.code" [moved 34 16] 8 "ICMP code";
    "spindle.opcode" [moved 42 16] 8 "Spindle opcode";
    "spindle.flags" [moved 42 0] 16 "Spindle flags";
    "spindle.psn" [moved 46 0] 32 "packet sequence number";
    "spindle.src_nid" [moved 50 0] 32 "source node";
    "spindle.src_pid" [moved 54 16] 16 "source process";
    "spindle.dst_pid" [moved 54 0] 16 "destination process";
    "spindle.addr_hi" [moved 58 0] 32 "high half of the mailbox address = match bits";
    "spindle.addr_lo" [moved 62 0] 32 "low half of the mailbox address = match bits";
    "spindle.key" [moved 66 0] 32 "mailbox key";
    "spindle.msg_id" [moved 70 0] 32 "message";
    "spindle.msg_len" [moved 74 0] 32 "message length";
    "spindle.msg_off" [moved 78 0] 32 "offset in the message";
    "spindle.buf_off" [moved 82 0] 32 "base offset in the buffer";
    "spindle.payload_len" [moved 86 16] 16 "payload bytes";
    "spindle.epoch" [moved 86 0] 16 "epoch tag";
}
