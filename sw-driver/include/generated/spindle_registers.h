/* Generated from rtl/contract by `cargo run -p spindle-contract --bin generate`. Do not edit. */
#ifndef SPINDLE_REGISTERS_H
#define SPINDLE_REGISTERS_H

#define SPINDLE_CONTRACT_VERSION         1            /* version of the contract */
#define SPINDLE_MAGIC                    0x53504e44u  /* value of the first register */
#define SPINDLE_BAR_BYTES                0x100000u    /* size of the BAR */
#define SPINDLE_PAGE_BYTES               0x1000u      /* size of a page */

/* Identity, configuration and the list of blocks. */
#define SPINDLE_GLOBAL_ID                1            /* id in the block list */
#define SPINDLE_GLOBAL_BASE              0x00000u     /* address of the page */
#define SPINDLE_GLOBAL_MAGIC             0x000u       /* ro: 0x53504E44 ("SPND") */
#define SPINDLE_GLOBAL_VERSION           0x004u       /* ro: contract version */
#define SPINDLE_GLOBAL_HPUS              0x008u       /* ro: clusters [7:0], HPUs per cluster [15:8], contexts [23:16], match rules [31:24] */
#define SPINDLE_GLOBAL_TABLES            0x00cu       /* ro: mailboxes [15:0], posted buffers [31:16] */
#define SPINDLE_GLOBAL_MEMORIES          0x010u       /* ro: KiB of instruction memory [7:0], of L2 [19:8], of packet buffer [31:20] */
#define SPINDLE_GLOBAL_CLOCK_MHZ         0x014u       /* ro: nominal core clock */
#define SPINDLE_GLOBAL_CYCLE_LO          0x018u       /* ro: cycles since reset; reading it latches CYCLE_HI */
#define SPINDLE_GLOBAL_CYCLE_HI          0x01cu       /* ro: high half of the cycle counter */
#define SPINDLE_GLOBAL_SCRATCH           0x020u       /* rw: for the driver's own use */
#define SPINDLE_GLOBAL_LIVE_MESSAGES     0x024u       /* ro: slots of the message table */
#define SPINDLE_GLOBAL_PROCESSES         0x028u       /* ro: doorbell pages */
#define SPINDLE_GLOBAL_BLOCKS            0x02cu       /* ro: entries of the block list */
#define SPINDLE_GLOBAL_BLOCK_LIST        0x040u       /* ro, 24 registers: block list, 4 words an entry: id, version, base, size */

/* Packet engine: match rules and frame counters. */
#define SPINDLE_PACKET_ID                2            /* id in the block list */
#define SPINDLE_PACKET_BASE              0x01000u     /* address of the page */
#define SPINDLE_PACKET_CONTROL           0x000u       /* rw: bit 0: receive; 0 after reset */
#define SPINDLE_PACKET_SPINDLE_PORT      0x004u       /* rw: UDP destination port of Spindle transport; 4795 after reset */
#define SPINDLE_PACKET_PSN_CONTROL       0x008u       /* rw: bit 0 = sequence numbers are filtered: duplicates and what is beyond the window are dropped */
#define SPINDLE_PACKET_WORD_SOURCE       0x010u       /* rw: staging: where an extracted word comes from (match_source) */
#define SPINDLE_PACKET_WORD_COMMIT       0x014u       /* wo: puts the staged source into the extracted word of this number */
#define SPINDLE_PACKET_TERM_MASK         0x018u       /* rw: staging: mask of a term */
#define SPINDLE_PACKET_TERM_LOW          0x01cu       /* rw: staging: lowest value that matches, after the mask */
#define SPINDLE_PACKET_TERM_HIGH         0x020u       /* rw: staging: highest value that matches, after the mask */
#define SPINDLE_PACKET_TERM_COMMIT       0x024u       /* wo: puts the staged term into the slot of this number; it looks at extracted word slot / 5 */
#define SPINDLE_PACKET_RULE_POSITIVE     0x030u       /* rw, 3 registers: staging: bit t = term t must match, bit 80 + f = flag f must be set */
#define SPINDLE_PACKET_RULE_NEGATIVE     0x040u       /* rw, 3 registers: staging: bit t = term t must not match, bit 80 + f = flag f must be clear */
#define SPINDLE_PACKET_RULE_ACTION       0x050u       /* rw: staging: what a rule says (rule_action) */
#define SPINDLE_PACKET_RULE_COMMIT       0x054u       /* wo: puts the staged rule into the slot of this number; the lowest matching slot wins */
#define SPINDLE_PACKET_MATCH_COMMIT      0x058u       /* rw: a write makes the words, terms and rules that were put into slots decide, all at once, between two frames; reads 1 until that has happened, and until then no slot takes anything */
#define SPINDLE_PACKET_MESSAGE_TIMEOUT   0x060u       /* rw: units of 1024 cycles after which an incomplete message without an event ends, within half as much again; 0 = never, as after reset */
#define SPINDLE_PACKET_FRAMES_IN         0x100u       /* ro: frames received */
#define SPINDLE_PACKET_FRAMES_TO_HPU     0x104u       /* ro: frames accepted for an execution context */
#define SPINDLE_PACKET_FRAMES_TO_MAILBOX 0x108u       /* ro: frames handed to the RVMA engine without a handler */
#define SPINDLE_PACKET_FRAMES_OUT        0x10cu       /* ro: frames sent */
#define SPINDLE_PACKET_BYTES_IN          0x110u       /* ro: bytes received, modulo 2^32 */
#define SPINDLE_PACKET_BYTES_OUT         0x114u       /* ro: bytes sent, modulo 2^32 */
#define SPINDLE_PACKET_TASKS             0x118u       /* ro: tasks dispatched */
#define SPINDLE_PACKET_MESSAGES_OPEN     0x11cu       /* ro: messages alive now */
#define SPINDLE_PACKET_MESSAGES_DONE     0x120u       /* ro: messages that ended well */
#define SPINDLE_PACKET_MESSAGES_FAILED   0x124u       /* ro: messages that a handler failed */
#define SPINDLE_PACKET_CELLS_FREE        0x128u       /* ro: free cells of the packet buffer */
#define SPINDLE_PACKET_FRAMES_HANDLED    0x12cu       /* ro: frames whose handlers all ended well */
#define SPINDLE_PACKET_FRAMES_PLACED     0x130u       /* ro: frames that the RVMA engine wrote to host memory */
#define SPINDLE_PACKET_MESSAGES_AGED     0x134u       /* ro: messages that ended because they made no progress */
#define SPINDLE_PACKET_CONTEXT_LIVE      0x140u       /* ro, 16 registers: messages alive of each context */
#define SPINDLE_PACKET_DROPS             0x180u       /* ro, 32 registers: frames dropped, by reason */
#define SPINDLE_PACKET_PEER_QUERY        0x200u       /* rw: a write reads this entry of the peer table into PEER_*; reads 1 until that has happened */
#define SPINDLE_PACKET_PEER_LIVE         0x204u       /* ro: bit 0 = the entry has a peer */
#define SPINDLE_PACKET_PEER_NODE         0x208u       /* ro: node of the peer */
#define SPINDLE_PACKET_PEER_EXPECTED     0x20cu       /* ro: lowest sequence number of the peer that has not been accepted */
#define SPINDLE_PACKET_PEER_SELECTIVE    0x210u       /* ro, 2 registers: bit i = number PEER_EXPECTED + i has been accepted */

/* HPU array: contexts, code, context memory, faults, printed text. */
#define SPINDLE_HPU_ID                   3            /* id in the block list */
#define SPINDLE_HPU_BASE                 0x02000u     /* address of the page */
#define SPINDLE_HPU_CTX_HEADER           0x010u       /* rw: staging: entry point of the header handler, 0 = none */
#define SPINDLE_HPU_CTX_PAYLOAD          0x014u       /* rw: staging: entry point of the payload handler, 0 = none */
#define SPINDLE_HPU_CTX_COMPLETION       0x018u       /* rw: staging: entry point of the completion handler, 0 = none */
#define SPINDLE_HPU_CTX_CODE_BASE        0x01cu       /* rw: staging: byte offset of the image in instruction memory, aligned to its size rounded up to a power of two, 128 at least */
#define SPINDLE_HPU_CTX_CODE_SIZE        0x020u       /* rw: staging: bytes of code */
#define SPINDLE_HPU_CTX_STATE_BASE       0x024u       /* rw: staging: byte offset of the state in L2, aligned likewise */
#define SPINDLE_HPU_CTX_STATE_SIZE       0x028u       /* rw: staging: bytes of state */
#define SPINDLE_HPU_CTX_HOST_LO          0x02cu       /* rw: staging: host region, low half */
#define SPINDLE_HPU_CTX_HOST_HI          0x030u       /* rw: staging: host region, high half */
#define SPINDLE_HPU_CTX_HOST_SIZE        0x034u       /* rw: staging: bytes of the host region */
#define SPINDLE_HPU_CTX_WATCHDOG         0x038u       /* rw: staging: [23:0] = cycle budget of a handler, 1 to 16,000,000 */
#define SPINDLE_HPU_CTX_INSTALL          0x03cu       /* wo: writes the staged context to the slot of this number */
#define SPINDLE_HPU_CTX_ACTIVE           0x040u       /* rw: bit c = context c accepts packets */
#define SPINDLE_HPU_CTX_SCRATCH_BASE     0x044u       /* rw: staging: byte address of the scratchpad in L1, a multiple of its size rounded up to a power of two */
#define SPINDLE_HPU_CTX_SCRATCH_SIZE     0x048u       /* rw: staging: bytes of the scratchpad, 0 = none */
#define SPINDLE_HPU_IMEM_ADDR            0x050u       /* rw: byte address for IMEM_DATA */
#define SPINDLE_HPU_IMEM_DATA            0x054u       /* wo: writes a word to the instruction memories of all clusters, address += 4 */
#define SPINDLE_HPU_L2_ADDR              0x058u       /* rw: byte address for L2_DATA */
#define SPINDLE_HPU_L2_DATA              0x05cu       /* rw: reads or writes a word of L2, address += 4 */
#define SPINDLE_HPU_CTX_WEIGHT           0x060u       /* rw: staging: share of HPU cycles under load, 1 to 255; 1 after reset */
#define SPINDLE_HPU_CTX_QUOTA            0x064u       /* rw: staging: most live messages [8:0], most packets inside [26:16]; 0 = no limit */
#define SPINDLE_HPU_CTX_OVERLOAD         0x068u       /* rw: staging: what becomes of packets beyond a limit (descriptors::overload) */
#define SPINDLE_HPU_CTX_CORE_MASK        0x06cu       /* rw: staging: HPUs that may run its handlers, bit cluster * hpus + hpu; all after reset */
#define SPINDLE_HPU_CTX_USER_HEADER      0x070u       /* rw: staging: bytes of user header, 0 = none */
#define SPINDLE_HPU_CTX_PROCESS          0x074u       /* rw: staging: process whose event ring gets its events */
#define SPINDLE_HPU_TASKS_DONE           0x100u       /* ro: tasks ended, faults included */
#define SPINDLE_HPU_TASKS_FAULTED        0x104u       /* ro: tasks ended by a fault or the watchdog */
#define SPINDLE_HPU_BUSY_LO              0x108u       /* ro: sum over HPUs of cycles in a handler, low half */
#define SPINDLE_HPU_BUSY_HI              0x10cu       /* ro: high half */
#define SPINDLE_HPU_INSTRET_LO           0x110u       /* ro: instructions retired by all HPUs, low half */
#define SPINDLE_HPU_INSTRET_HI           0x114u       /* ro: high half */
#define SPINDLE_HPU_COMMANDS             0x118u       /* ro: commands issued */
#define SPINDLE_HPU_CONTEXT_PUTS         0x11cu       /* ro: puts of context memory under way [7:0]; commands wait that may be such [8] */
#define SPINDLE_HPU_FAULT_COUNT          0x140u       /* ro: fault reports waiting (up to 16); older ones stay, newer ones are counted in FAULT_LOST */
#define SPINDLE_HPU_FAULT_LOST           0x144u       /* ro: fault reports that found the queue full */
#define SPINDLE_HPU_FAULT_WHO            0x148u       /* ro: oldest report: cause [3:0], context [7:4], HPU [15:8], cluster [23:16], message slot [31:24] */
#define SPINDLE_HPU_FAULT_PC             0x14cu       /* ro: oldest report: program counter */
#define SPINDLE_HPU_FAULT_ADDRESS        0x150u       /* ro: oldest report: address of the access */
#define SPINDLE_HPU_FAULT_FRAME          0x154u       /* ro: oldest report: frame [15:0], kind of handler [17:16] */
#define SPINDLE_HPU_FAULT_POP            0x158u       /* wo: drops the oldest report */
#define SPINDLE_HPU_PRINT_COUNT          0x160u       /* ro: pieces of text waiting (up to 64) */
#define SPINDLE_HPU_PRINT_LOST           0x164u       /* ro: pieces of text that found the queue full */
#define SPINDLE_HPU_PRINT_WHO            0x168u       /* ro: oldest piece: characters [3:0], context [7:4], HPU [15:8], cluster [23:16], kind of handler [25:24] */
#define SPINDLE_HPU_PRINT_FRAME          0x16cu       /* ro: oldest piece: frame [15:0] */
#define SPINDLE_HPU_PRINT_LOW            0x170u       /* ro: oldest piece: characters 0 to 3, the first in [7:0] */
#define SPINDLE_HPU_PRINT_HIGH           0x174u       /* ro: oldest piece: characters 4 to 7 */
#define SPINDLE_HPU_PRINT_POP            0x178u       /* wo: drops the oldest piece */
#define SPINDLE_HPU_HPU_BUSY             0x200u       /* ro, 64 registers: cycles in a handler, per HPU (cluster * hpus + hpu), modulo 2^32 */
#define SPINDLE_HPU_HPU_TASKS            0x300u       /* ro, 64 registers: tasks ended, per HPU */

/* RVMA engine: counters. */
#define SPINDLE_RVMA_ID                  4            /* id in the block list */
#define SPINDLE_RVMA_BASE                0x03000u     /* address of the page */
#define SPINDLE_RVMA_CONTROL             0x000u       /* rw: bit 0: completion order, 0 = WAIT_B, 1 = POSTED */
#define SPINDLE_RVMA_REGION_FIRST        0x010u       /* rw, 2 registers: staging: host address of the first page of a region, low half, then high half; bits [11:0] of it do not count */
#define SPINDLE_RVMA_REGION_LAST         0x018u       /* rw, 2 registers: staging: likewise of its last page */
#define SPINDLE_RVMA_REGION_COMMIT       0x020u       /* wo: makes what is staged a region: number [3:0], process [9:4], the card may read it [30], and write [31]; neither: it is none */
#define SPINDLE_RVMA_UNCHECKED           0x028u       /* rw, 2 registers: bit p = process p may name any host memory, not only its regions; 0 after reset */
#define SPINDLE_RVMA_PLACED_PACKETS      0x100u       /* ro: packets written to host memory */
#define SPINDLE_RVMA_PLACED_BYTES        0x104u       /* ro: payload bytes written, modulo 2^32 */
#define SPINDLE_RVMA_COMPLETIONS         0x108u       /* ro: completion records written */
#define SPINDLE_RVMA_REFUSED             0x10cu       /* ro: packets refused (the packet engine counts the reasons) */
#define SPINDLE_RVMA_DMA_WRITES          0x110u       /* ro: write bursts issued */
#define SPINDLE_RVMA_DMA_ERRORS          0x114u       /* ro: write responses with an error */
#define SPINDLE_RVMA_MAILBOXES           0x118u       /* ro: mailboxes open */
#define SPINDLE_RVMA_BUFFERS             0x11cu       /* ro: buffers posted and not complete */
#define SPINDLE_RVMA_HANDLER_DMA         0x120u       /* ro: DMA commands of handlers that ended */
#define SPINDLE_RVMA_DMA_READS           0x124u       /* ro: read bursts issued */
#define SPINDLE_RVMA_READ_ERRORS         0x128u       /* ro: read responses with an error */
#define SPINDLE_RVMA_EVENTS              0x12cu       /* ro: event records written, of all processes */
#define SPINDLE_RVMA_EVENTS_LOST         0x130u       /* ro: events that found their ring full or closed */
#define SPINDLE_RVMA_HOST_PUTS_DONE      0x134u       /* ro: puts of processes that are over, also those that failed */
#define SPINDLE_RVMA_HOST_PUTS_FAILED    0x138u       /* ro: puts of processes to a node that does not exist, or whose data could not be read */

/* Initiator: who this NIC is, and the nodes it puts to. */
#define SPINDLE_NODE_ID                  6            /* id in the block list */
#define SPINDLE_NODE_BASE                0x04000u     /* address of the page */
#define SPINDLE_NODE_LOCAL_NID           0x000u       /* rw: this node's number */
#define SPINDLE_NODE_LOCAL_MAC_LO        0x004u       /* rw: its MAC address, low 32 bits */
#define SPINDLE_NODE_LOCAL_MAC_HI        0x008u       /* rw: high 16 bits */
#define SPINDLE_NODE_LOCAL_IP            0x00cu       /* rw: its IPv4 address */
#define SPINDLE_NODE_NODE_MAC_LO         0x010u       /* rw: staging: MAC address of a node, low 32 bits */
#define SPINDLE_NODE_NODE_MAC_HI         0x014u       /* rw: staging: high 16 bits */
#define SPINDLE_NODE_NODE_IP             0x018u       /* rw: staging: IPv4 address of a node */
#define SPINDLE_NODE_NODE_PORT           0x01cu       /* rw: staging: UDP port of a node [15:0]; bit 31: the node exists */
#define SPINDLE_NODE_NODE_COMMIT         0x020u       /* wo: puts the staged node into the table under this number, which is its node number */
#define SPINDLE_NODE_ACK_CONTROL         0x030u       /* rw: bit 0 = sources are told what became of their packets; [13:8] = accepted packets of a source for which an acknowledgement is due, 4 after reset; [31:16] = least time between two refusals to one source in units of 64 cycles, 16 after reset */
#define SPINDLE_NODE_SEND_CONTROL        0x034u       /* rw: bit 0 = puts from host memory and gets without the flag UNSEQ carry sequence numbers and are sent again until they are acknowledged; [11:8] = timeouts in a row after which a destination is given up, 8 after reset */
#define SPINDLE_NODE_SEND_TIMES          0x038u       /* rw: in units of 64 cycles: [15:0] = time without an acknowledgement after which segments are sent again, 1024 after reset; [31:16] = time after which a segment is sent again when a later one arrived, 48 after reset */
#define SPINDLE_NODE_SEND_INCARNATION    0x03cu       /* rw: incarnation of the windows that this node opens; 0, as after reset: the first one to a node is not opened */
#define SPINDLE_NODE_SEND_LIMIT          0x040u       /* rw: [15:0], in units of 1024 cycles, at most 32767: age from which a put or get that a mailbox refuses for lack of a buffer, or because it is busy, has failed; 0, as after reset: it is sent again without a limit. Holds for those that begin after the write */
#define SPINDLE_NODE_PUTS_DONE           0x100u       /* ro: puts and gets sent */
#define SPINDLE_NODE_PUTS_FAILED         0x104u       /* ro: puts and gets to a node that does not exist, or whose data could not be read */
#define SPINDLE_NODE_ACKS_SENT           0x108u       /* ro: acknowledgements sent */
#define SPINDLE_NODE_NACKS_SENT          0x10cu       /* ro: refusals sent */
#define SPINDLE_NODE_NACKS_WITHHELD      0x110u       /* ro: refusals that were not sent, because the source had one recently or too many waited */
#define SPINDLE_NODE_SEGMENTS_RESENT     0x114u       /* ro: segments that were sent again */
#define SPINDLE_NODE_LAST_REFUSAL        0x118u       /* ro: of the puts and gets of processes that are not over, the one refused last: its number [15:0], code of the refusal (wire::nack) [23:16]; 0: no refusal since reset */

/* Trace ring: when sampled packets passed each stage. */
#define SPINDLE_TRACE_ID                 7            /* id in the block list */
#define SPINDLE_TRACE_BASE               0x05000u     /* address of the page */
#define SPINDLE_TRACE_CONTROL            0x000u       /* rw: bit 0: packets are followed; its rise empties the ring. Bit 1: frozen, nothing is recorded */
#define SPINDLE_TRACE_SAMPLE_MASK        0x004u       /* rw: a packet is followed if its frame number has zeros where this has ones [15:0]; 2^n - 1: every 2^n-th packet. It is followed until the next one */
#define SPINDLE_TRACE_WRITTEN            0x008u       /* ro: records written since the ring was emptied; beyond 512 they overwrite the oldest */
#define SPINDLE_TRACE_INDEX              0x00cu       /* rw: record to be read: record r since the ring was emptied is at r modulo 512 */
#define SPINDLE_TRACE_RECORD_CYCLE       0x010u       /* ro: of the record: cycle, low half, as CYCLE_LO */
#define SPINDLE_TRACE_RECORD_STAGES      0x014u       /* ro: of the record: frame [15:0], stages that it passed in that cycle [31:16], by their number */
#define SPINDLE_TRACE_RECORD_HPU         0x018u       /* ro: of the record: HPU (cluster * hpus + hpu) of the stages 5 to 8 */

/* Doorbell page of process 0; process p is at +p * 0x1000. */
#define SPINDLE_DOORBELL_ID              5            /* id in the block list */
#define SPINDLE_DOORBELL_BASE            0x10000u     /* address of the page */
#define SPINDLE_DOORBELL_ADDR_LO         0x000u       /* rw: staging: mailbox address, low half */
#define SPINDLE_DOORBELL_ADDR_HI         0x004u       /* rw: staging: mailbox address, high half */
#define SPINDLE_DOORBELL_KEY             0x008u       /* rw: staging: mailbox key */
#define SPINDLE_DOORBELL_THRESHOLD       0x00cu       /* rw: staging: what completes a buffer: bytes, or operations; managed: it retires when fewer bytes than this are left */
#define SPINDLE_DOORBELL_MODE            0x010u       /* rw: staging: kind of mailbox (mailbox_mode); PUT: of the target, TAGGED and MANAGED count */
#define SPINDLE_DOORBELL_BUFFER_LO       0x014u       /* rw: staging: host address of the buffer, low half */
#define SPINDLE_DOORBELL_BUFFER_HI       0x018u       /* rw: staging: high half */
#define SPINDLE_DOORBELL_SIZE            0x01cu       /* rw: staging: bytes of the buffer */
#define SPINDLE_DOORBELL_RECORD_LO       0x020u       /* rw: staging: host address of the completion record (16-aligned), low half */
#define SPINDLE_DOORBELL_RECORD_HI       0x024u       /* rw: staging: high half */
#define SPINDLE_DOORBELL_MAILBOX         0x028u       /* rw: staging: mailbox that POST_BUFFER and later commands act on */
#define SPINDLE_DOORBELL_COUNT           0x02cu       /* rw: staging: completed buffers to go back, for REWIND and GET_BUF_PTRS; PUT to a TAGGED mailbox: the epoch [15:0], to a stream: the ordinal; GET: bit 0 = from the oldest buffer that is not complete; POST_MAPPED, READ_MAP, FREE_MAP: see there */
#define SPINDLE_DOORBELL_COMMAND         0x030u       /* wo: issues a command (doorbell_command); the staged registers must stay until RESULT says ready */
#define SPINDLE_DOORBELL_RESULT          0x034u       /* ro: busy [31], error code [23:16] (doorbell_error), value [15:0]: of INIT_WINDOW the mailbox */
#define SPINDLE_DOORBELL_VALUE_LO        0x038u       /* ro: 64-bit result (epoch, pointer, word of a map), low half */
#define SPINDLE_DOORBELL_VALUE_HI        0x03cu       /* ro: high half */
#define SPINDLE_DOORBELL_RING_TAIL       0x04cu       /* rw: commands that the host has put into its command ring, modulo 2^16; takes effect at once, and a ring that stands still goes on */
#define SPINDLE_DOORBELL_LENGTH          0x050u       /* rw: staging: bytes of a put or get; 0: an empty put, which names no memory */
#define SPINDLE_DOORBELL_OFFSET          0x054u       /* rw: staging: offset in the target buffer */
#define SPINDLE_DOORBELL_NODE            0x058u       /* rw: staging: target node */
#define SPINDLE_DOORBELL_TARGET_PID      0x05cu       /* rw: staging: target process */
#define SPINDLE_DOORBELL_EVENT_HEAD      0x060u       /* rw: records that the host has read from its event ring, modulo 2^16; takes effect at once */
#define SPINDLE_DOORBELL_VALUE_LENGTH    0x064u       /* ro: bytes placed in the buffer that VALUE points to */
#define SPINDLE_DOORBELL_RING_DONE       0x068u       /* ro: command ring: commands carried out [15:0]; [23:16] not 0: the next one cannot be, for this reason (doorbell_error), and the ring stands still */

/* Reasons for dropping a frame: index of SPINDLE_PACKET_DROPS. */
#define SPINDLE_DROP_BAD_FRAME           0            /* the MAC marked the frame as bad (tuser) */
#define SPINDLE_DROP_RUNT                1            /* shorter than its headers */
#define SPINDLE_DROP_TOO_LONG            2            /* longer than 9216 bytes */
#define SPINDLE_DROP_BAD_IP_LENGTH       3            /* the IPv4 total length does not fit the frame or its own header */
#define SPINDLE_DROP_BAD_IP_CHECKSUM     4            /* the IPv4 header checksum is wrong */
#define SPINDLE_DROP_BAD_UDP_LENGTH      5            /* the UDP length differs from what IPv4 carries */
#define SPINDLE_DROP_BAD_UDP_CHECKSUM    6            /* the UDP checksum is neither 0 nor right */
#define SPINDLE_DROP_BAD_ICMP_CHECKSUM   7            /* the ICMP checksum is wrong */
#define SPINDLE_DROP_BAD_TRANSPORT       8            /* the Spindle header has an unknown version, opcode or length */
#define SPINDLE_DROP_NO_RULE             9            /* no rule wants the frame */
#define SPINDLE_DROP_RULE_DROP           10           /* a rule says drop */
#define SPINDLE_DROP_NO_BUFFER           11           /* the packet buffer was full */
#define SPINDLE_DROP_NO_CONTEXT          12           /* the rule's context is not active */
#define SPINDLE_DROP_NO_MESSAGE_SLOT     13           /* the message table was full */
#define SPINDLE_DROP_HANDLER_DROP        14           /* a handler returned DROP */
#define SPINDLE_DROP_HANDLER_FAIL        15           /* a handler failed, faulted or ran into the watchdog */
#define SPINDLE_DROP_NO_MAILBOX          16           /* no such mailbox */
#define SPINDLE_DROP_BAD_KEY             17           /* the key does not open the mailbox */
#define SPINDLE_DROP_NO_POSTED_BUFFER    18           /* no buffer is posted to the mailbox */
#define SPINDLE_DROP_OUT_OF_BOUNDS       19           /* the message ends behind the buffer */
#define SPINDLE_DROP_UNSUPPORTED         20           /* a Spindle opcode or mode that this version does not serve */
#define SPINDLE_DROP_RX_DISABLED         21           /* reception is switched off */
#define SPINDLE_DROP_HOST_ERROR          22           /* host memory answered with an error */
#define SPINDLE_DROP_DUPLICATE           23           /* a packet with this sequence number was accepted before or is being judged */
#define SPINDLE_DROP_PSN_WINDOW          24           /* the sequence number is beyond the window of its peer */
#define SPINDLE_DROP_NO_PEER             25           /* no entry of the peer table is left for the source */
#define SPINDLE_DROP_QUOTA               26           /* the context had its quota of messages or packets, and drops what is beyond */
#define SPINDLE_DROP_PAUSED              27           /* the context had its quota of messages or packets, and lets its sources wait */
#define SPINDLE_DROP_MESSAGE_AGED        28           /* the message made no progress for the time that MESSAGE_TIMEOUT names */
#define SPINDLE_DROP_CONTROL             29           /* a control packet, which the PSN filter served */
#define SPINDLE_DROP_CLOSED              30           /* the mailbox is being closed */
#define SPINDLE_DROP_STALE_EPOCH         31           /* the epoch is over, or the buffer was taken back */

/* Completion record in host memory, little-endian. */
#define SPINDLE_RECORD_LENGTH            0            /* offset of the length, u32 */
#define SPINDLE_RECORD_STATUS            4            /* offset of the status, u8; 0 = not complete */
#define SPINDLE_RECORD_EPOCH             6            /* offset of the epoch, u16 */
#define SPINDLE_RECORD_BUFFER            8            /* offset of the buffer pointer, u64 */
#define SPINDLE_RECORD_BYTES             16           /* size of a record */

#endif
