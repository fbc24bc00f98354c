//! Why a frame was dropped, and the points at which frames are traced.

macro_rules! reasons { ($($konst:ident $num:literal $name:literal $doc:literal;)*) => {
    $(#[doc = $doc] pub const $konst: usize = $num;)*
    /// Name and meaning of each reason; the index is the number.
    pub const DROP_REASONS: &[(&str, &str)] = &[$(($name, $doc)),*];
} }
reasons! {
    BAD_FRAME 0 "bad_frame" "the MAC marked the frame as bad (tuser)";
    RUNT 1 "runt" "shorter than its headers";
    TOO_LONG 2 "too_long" "longer than 9216 bytes";
    BAD_IP_LENGTH 3 "bad_ip_length" "the IPv4 total length does not fit the frame or its own header";
    BAD_IP_CHECKSUM 4 "bad_ip_checksum" "the IPv4 header checksum is wrong";
    BAD_UDP_LENGTH 5 "bad_udp_length" "the UDP length differs from what IPv4 carries";
    BAD_UDP_CHECKSUM 6 "bad_udp_checksum" "the UDP checksum is neither 0 nor right";
    BAD_ICMP_CHECKSUM 7 "bad_icmp_checksum" "the ICMP checksum is wrong";
    BAD_TRANSPORT 8 "bad_transport" "the Spindle header has an unknown version, opcode or length";
    NO_RULE 9 "no_rule" "no rule matches the frame";
    RULE_DROP 10 "rule_drop" "the action of the rule is drop";
    NO_BUFFER 11 "no_buffer" "the packet buffer was full";
    NO_CONTEXT 12 "no_context" "the rule's context is not active";
    NO_MESSAGE_SLOT 13 "no_message_slot" "the message table was full";
    HANDLER_DROP 14 "handler_drop" "a handler returned DROP";
    HANDLER_FAIL 15 "handler_fail" "a handler failed, faulted or ran into the watchdog";
    NO_MAILBOX 16 "no_mailbox" "no such mailbox";
    BAD_KEY 17 "bad_key" "the key does not open the mailbox";
    NO_POSTED_BUFFER 18 "no_posted_buffer" "no buffer is posted to the mailbox";
    OUT_OF_BOUNDS 19 "out_of_bounds" "the message ends after the end of the buffer";
    UNSUPPORTED 20 "unsupported" "a Spindle opcode or mode that this version does not serve";
    RX_DISABLED 21 "rx_disabled" "reception is switched off";
    HOST_ERROR 22 "host_error" "host memory answered with an error";
    DUPLICATE 23 "duplicate" "a packet with this sequence number was accepted before or is being judged";
    PSN_WINDOW 24 "psn_window" "the sequence number is beyond the window of its peer";
    NO_PEER 25 "no_peer" "no entry of the peer table is left for the source";
    QUOTA 26 "quota" "the context had its quota of messages or packets, and drops what is beyond";
    PAUSED 27 "paused" "the context had its quota of messages or packets, and its sources wait";
    MESSAGE_AGED 28 "message_aged" "the message made no progress for the time that MESSAGE_TIMEOUT names";
    CONTROL 29 "control" "a control packet, which the PSN filter served";
    CLOSED 30 "closed" "the mailbox is being closed";
    STALE_EPOCH 31 "stale_epoch" "the epoch is over, or the buffer was taken back";
    BAD_SOURCE 32 "bad_source" "the IPv4 source of a Spindle packet is not the address that the node table has for its source node";
    BAD_ICRC 33 "bad_icrc" "the ICRC of a Spindle packet is not the CRC-32C of its header and payload";
    ICRC_MISSING 34 "icrc_missing" "a Spindle packet of a node that must use the ICRC has none";
}
/// Number of reasons.
pub const DROP_COUNT: usize = DROP_REASONS.len();
/// Reasons from this number on are found by the parser, before a rule can give the frame to a context.
pub const CONTEXT_DROP_COUNT: usize = 32;
const _: () = assert!(DROP_COUNT <= 64, "a reason has six bits, and DROPS has 64 places");

macro_rules! points { ($($konst:ident $num:literal $name:literal $doc:literal;)*) => {
    $(#[doc = $doc] pub const $konst: usize = $num;)*
    /// Name and meaning of each trace point; the index is the number of the point.
    pub const TRACE_POINTS: &[(&str, &str)] = &[$(($name, $doc)),*];
} }
points! {
    T_FIRST_BEAT 0 "first_beat" "first beat of a frame accepted";
    T_PARSED 1 "parsed" "headers and checksums known";
    T_MATCHED 2 "matched" "rule known";
    T_BUFFERED 3 "buffered" "last beat written and descriptor handed to the message table";
    T_SCHEDULED 4 "scheduled" "task handed to the HPU array";
    T_LOADED 5 "loaded" "packet and arguments are in L1";
    T_HANDLER_START 6 "handler_start" "first instruction fetched";
    T_HANDLER_END 7 "handler_end" "return resolved";
    T_COMMAND 8 "command" "command issued by a handler";
    T_EGRESS_FIRST 9 "egress_first" "first beat of an outgoing frame accepted";
    T_EGRESS_LAST 10 "egress_last" "last beat of an outgoing frame accepted";
    T_PLACEMENT 11 "placement" "placement descriptor handed to the RVMA engine";
    T_LOOKED_UP 12 "looked_up" "mailbox and buffer known";
    T_DMA_FIRST 13 "dma_first" "first beat of the packet's payload accepted on AXI W";
    T_DMA_DONE 14 "dma_done" "last write response of the packet";
    T_RECORD 15 "record" "completion record's AWVALID";
}
/// Number of trace points.
pub const TRACE_COUNT: usize = TRACE_POINTS.len();
/// Width of a trace tag: the frame sequence number.
pub const TRACE_TAG_BITS: usize = 16;
/// Records of the trace ring.
pub const TRACE_RECORDS: usize = 512;
/// First of the points that every HPU has for itself (loaded, handler_start, handler_end, command).
pub const TRACE_HPU_FIRST: usize = T_LOADED;
/// Number of those points.
pub const TRACE_HPU_POINTS: usize = 4;
/// HPUs that the trace ports have lanes for.
pub const TRACE_HPUS: usize = 32;
/// Lanes of the trace ports: one per point, then [`TRACE_HPU_POINTS`] per HPU.
///
/// `trace_valid[i]`: lane i fires in this cycle, for the frame in `trace_tags[16 i + 15 : 16 i]`. The lanes of HPU points
/// among the first [`TRACE_COUNT`] never fire.
pub const TRACE_LANES: usize = TRACE_COUNT + TRACE_HPUS * TRACE_HPU_POINTS;

/// Point and HPU (cluster * hpus + hpu, 0 for points that are not an HPU's) of each lane.
pub fn trace_lanes() -> impl Iterator<Item = (usize, usize)> {
    (0..TRACE_LANES).map(|lane| match lane.checked_sub(TRACE_COUNT) {
        None => (lane, 0),
        Some(i) => (TRACE_HPU_FIRST + i % TRACE_HPU_POINTS, i / TRACE_HPU_POINTS),
    })
}
