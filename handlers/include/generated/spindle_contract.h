/* Generated from rtl/contract by `cargo run -p spindle-contract --bin generate`. Do not edit. */
#ifndef SPINDLE_CONTRACT_H
#define SPINDLE_CONTRACT_H

#include <stdint.h>

#define SPIN_CONTRACT_VERSION            1            /* version of the contract */

/* Regions of a handler's address space. Everything else faults. */
/* rx: instructions and read-only data of the image, bound = code size of the context */
#define SPIN_REGION_CODE                 0x10000000u
/* rw: this task's packet slot, bound = bytes of the frame and of the context's tailroom, at most 2048 */
#define SPIN_REGION_PACKET               0x20000000u
/* rw: scratchpad of the context in this cluster, shared by the HPUs that run it; zero when the context is installed,
   kept between handlers; bound = its size (2048 bytes unless the context asks for another) */
#define SPIN_REGION_SCRATCH              0x30000000u
#define SPIN_REGION_CONTEXT              0x40000000u  /* rw: context memory (L2), bound = state size of the context */
/* rw: stack of this handler, grows down from its end; 1024 bytes with up to 4 HPUs a cluster, else 512 */
#define SPIN_REGION_STACK                0x50000000u
#define SPIN_REGION_TASK                 0x60000000u  /* r: task page: what is known of the packet and the message */
#define SPIN_REGION_COMMAND              0x70000000u  /* rw: command port: aligned words only */

/* Bytes of the regions of fixed size. */
#define SPIN_PACKET_BYTES                2048         /* packet slot: longer frames are cut in it */
#define SPIN_SEGMENT_BYTES               1408         /* payload of a full packet of a put */
#define SPIN_TAILROOM_MAX                1984         /* most bytes of SPIN_TAILROOM */
#define SPIN_SCRATCH_BYTES               2048         /* scratchpad, unless asked otherwise */
#define SPIN_STACK_BYTES                 1024         /* stack with up to 4 HPUs a cluster */
#define SPIN_BEAT_BYTES                  64           /* a beat of L1 */
#define SPIN_COMMAND_HANDLES             8            /* commands in flight per HPU */
#define SPIN_PORT                        4795         /* default UDP port of Spindle transport */

/* The task page: what is known of the packet and of the message. */
typedef struct spin_task {
    uint32_t kind;           /* 0x00 0 header, 1 payload, 2 completion, 3 task */
    uint32_t packet;         /* 0x04 address of the frame (packet region) */
    uint32_t packet_len;     /* 0x08 bytes of the frame in the slot */
    uint32_t payload;        /* 0x0c address of the payload in the slot */
    uint32_t payload_len;    /* 0x10 payload bytes */
    uint32_t opcode;         /* 0x14 Spindle opcode, 0 = raw frame */
    uint32_t src_nid;        /* 0x18 source node; raw: IPv4 source */
    uint32_t src_pid;        /* 0x1c source process; raw: UDP source port */
    uint32_t dst_pid;        /* 0x20 destination process; raw: UDP destination port */
    uint32_t msg_id;         /* 0x24 message */
    uint32_t addr_lo;        /* 0x28 match bits, low half; task: its argument */
    uint32_t addr_hi;        /* 0x2c match bits, high half */
    uint32_t msg_len;        /* 0x30 bytes of the message */
    uint32_t msg_off;        /* 0x34 offset of this packet in the message */
    uint32_t buf_off;        /* 0x38 base offset of the message in the buffer */
    uint32_t flow_control;   /* 0x3c completion: flow control was triggered */
    uint32_t cluster_id;     /* 0x40 cluster */
    uint32_t hpu_id;         /* 0x44 HPU within the cluster */
    uint32_t context;        /* 0x48 execution context */
    uint32_t l3;             /* 0x4c address of the IP header in the slot */
    uint32_t frame_len;      /* 0x50 bytes of the frame */
    uint32_t msg_slot;       /* 0x54 message table slot */
    uint32_t stamp;          /* 0x58 cycle of the frame's first beat; task: the cycle in which it was due */
    uint32_t frame;          /* 0x5c frame sequence number; task: that of the packet whose handlers led to it, 0 = none */
    uint32_t scratch_size;   /* 0x60 bytes of the scratchpad */
    uint32_t dropped_bytes;  /* 0x64 completion: bytes dropped */
    uint32_t host_lo;        /* 0x68 host region, low half of its address */
    uint32_t host_hi;        /* 0x6c host region, high half */
    uint32_t host_size;      /* 0x70 bytes of the host region */
    uint32_t cycle;          /* 0x74 cycle at which the page was written, low half; `cycle` and `time` (CSR) count on */
    uint32_t state_size;     /* 0x78 bytes of context memory */
    uint32_t packet_room;    /* 0x7c bytes of the packet region: packet_len and the tailroom */
} spin_task_t;

_Static_assert(sizeof(spin_task_t) == 128 && 128 <= 128, "the task page is as in the contract");

/* Words of the command port, from SPIN_REGION_COMMAND. */
/* virtual address of the data (packet, scratch or context region); dma_from_host: where they go; put_host: offset in
   the context's host region; put_context: address in the context region; get: offset in the buffer here */
#define SPIN_CMD_SOURCE                  0x00u
/* bytes; print: how many characters, 1 to 8; host_cas, host_add: 4 or 8; redirect without BYTES: offset in the
   buffer; task: delay in cycles, below 2^31, or TASK_CANCEL */
#define SPIN_CMD_LENGTH                  0x04u
/* offset in the context's host region; put, get, redirect: mailbox address, low half; print: characters 0 to 3, the
   first in [7:0]; event, complete: user word, low half; task: argument, low half; combine: virtual address of the
   destination (packet or scratch region) */
#define SPIN_CMD_ADDR_LO                 0x08u
/* with a host offset: must be 0; put, get, redirect: mailbox address, high half; print: characters 4 to 7; event,
   complete: user word, high half; task: argument, high half; combine: operation */
#define SPIN_CMD_ADDR_HI                 0x0cu
/* write: opcode [3:0], of SEND_PACKET also the flag ISSUE_CHECKSUM [8], of REDIRECT ISSUE_TASK [8] or ISSUE_BYTES
   [9], of PUT ISSUE_RELIABLE [8]; issues the command, waits while no handle is free; read: handle of the last
   command */
#define SPIN_CMD_ISSUE                   0x10u
#define SPIN_CMD_STATUS                  0x14u        /* bit h = command h is still under way */
/* bit h = the last command of this handler with handle h failed; cleared when a new command of this handler takes
   the handle, and not by those of others */
#define SPIN_CMD_ERROR                   0x18u
/* read: waits until no command of this handler is under way; after a write of WAIT_HANDLE, until that command is
   over */
#define SPIN_CMD_WAIT                    0x1cu
/* read: result of the last host atomic that is over, low half; write: key of the reply to a get */
#define SPIN_CMD_RESULT_LO               0x20u
#define SPIN_CMD_RESULT_HI               0x24u        /* read: its high half */
#define SPIN_CMD_NODE                    0x28u        /* put, get: node table index [7:0], process there [31:16] */
/* put, get: mailbox key there; host_cas, host_add: operand, low half; redirect of bytes: epoch or ordinal [15:0],
   and the flag REDIRECT_EPOCH [16] if the mailbox takes messages by epoch or ordinal; else 0 */
#define SPIN_CMD_KEY                     0x2cu
/* put, get: offset in the buffer there; host_cas, host_add: operand, high half; redirect of bytes: offset in the
   buffer */
#define SPIN_CMD_OFFSET                  0x30u
/* host_cas: value to compare, low half; get: mailbox address here, low half */
#define SPIN_CMD_OTHER_LO                0x34u
#define SPIN_CMD_OTHER_HI                0x38u        /* its high half */
#define SPIN_CMD_WAIT_HANDLE             0x3cu        /* write: handle that the next read of WAIT waits for */

/* Opcodes of commands. */
#define SPIN_OP_SEND_PACKET              1            /* send the bytes as a frame */
#define SPIN_OP_PLACE                    2            /* hand the original packet to the RVMA path */
#define SPIN_OP_DMA_TO_HOST              3            /* write the bytes to host memory */
/* print up to eight characters: they go to the host's print queue, or are counted as lost; takes no handle */
#define SPIN_OP_PRINT                    4
#define SPIN_OP_DMA_FROM_HOST            5            /* read bytes from host memory */
#define SPIN_OP_PUT                      6            /* put the bytes into a mailbox of another node */
#define SPIN_OP_PUT_HOST                 7            /* put bytes of host memory into a mailbox of another node */
#define SPIN_OP_GET                      8            /* fetch from a mailbox of another node into one here */
/* compare and swap 4 or 8 bytes of host memory; the result is what was there */
#define SPIN_OP_HOST_CAS                 9
/* add to 4 or 8 bytes of host memory; the result is what was there */
#define SPIN_OP_HOST_ADD                 10
#define SPIN_OP_EVENT                    11           /* write an event into the process' event ring; takes no handle */
/* the handler's message, whose completion was left to a command, is done: its buffers are no longer held, and an
   event says so; takes no handle */
#define SPIN_OP_COMPLETE                 12
/* put the packet's payload, or bytes of the packet, as a message of its own, into a mailbox of the context's process */
#define SPIN_OP_REDIRECT                 13
/* put bytes of context memory into a mailbox of another node; they are read again whenever they are sent again */
#define SPIN_OP_PUT_CONTEXT              14
/* combine bytes with as many bytes at a destination in packet or scratchpad, element by element */
#define SPIN_OP_COMBINE                  15
#define SPIN_ISSUE_CHECKSUM              0x100u       /* with SPIN_OP_SEND_PACKET: the NIC inserts the checksums */
#define SPIN_OP_TASK                     0x10du       /* start a task of the context, or cancel one */
#define SPIN_OP_PUT_PACKET               0x106u       /* put bytes of the packet until they are acknowledged */
/* delay of SPIN_OP_TASK: the task that waits with this argument is cancelled */
#define SPIN_TASK_CANCEL                 0x80000000u
#define SPIN_WAITING_TASKS               16           /* tasks of a context that can wait at a time */
#define SPIN_OP_REDIRECT_BYTES           0x20du       /* put bytes of the packet into a mailbox */
/* key of SPIN_OP_REDIRECT_BYTES: bits 15 to 0 are the epoch or ordinal */
#define SPIN_REDIRECT_EPOCH              0x10000u

/* Operations of COMBINE. Bytes of elements of more than 8 bits are little-endian. */
/* destination ^= constant * source in GF(2^8) with polynomial 0x11d; the constant is in [15:8] */
#define SPIN_GF                          0x0u
#define SPIN_XOR                         0x100u       /* destination ^= source: GF with the constant 1 */
#define SPIN_ADD8                        0x4u         /* destination += source, elements of 8 bits, modulo 2^8 */
#define SPIN_ADD16                       0x5u         /* 16 bits, modulo 2^16 */
#define SPIN_ADD32                       0x6u         /* 32 bits, modulo 2^32 */
#define SPIN_ADDS8                       0x8u         /* signed sum, 8 bits; beyond -128 or 127 it is that number */
#define SPIN_ADDS16                      0x9u         /* 16 bits; beyond -2^15 or 2^15 - 1 it is that number */
#define SPIN_ADDS32                      0xau         /* 32 bits; beyond -2^31 or 2^31 - 1 it is that number */
#define SPIN_ADDU8                       0xcu         /* unsigned sum, 8 bits; beyond 255 it is 255 */
#define SPIN_ADDU16                      0xdu         /* 16 bits; beyond 2^16 - 1 it is that number */
#define SPIN_ADDU32                      0xeu         /* 32 bits; beyond 2^32 - 1 it is that number */
#define SPIN_MIN8                        0x10u        /* the smaller one, signed, 8 bits */
#define SPIN_MIN16                       0x11u        /* 16 bits */
#define SPIN_MIN32                       0x12u        /* 32 bits */
#define SPIN_MINU8                       0x14u        /* the smaller one, unsigned, 8 bits */
#define SPIN_MINU16                      0x15u        /* 16 bits */
#define SPIN_MINU32                      0x16u        /* 32 bits */
#define SPIN_MAX8                        0x18u        /* the larger one, signed, 8 bits */
#define SPIN_MAX16                       0x19u        /* 16 bits */
#define SPIN_MAX32                       0x1au        /* 32 bits */
#define SPIN_MAXU8                       0x1cu        /* the larger one, unsigned, 8 bits */
#define SPIN_MAXU16                      0x1du        /* 16 bits */
#define SPIN_MAXU32                      0x1eu        /* 32 bits */
#define SPIN_GF_SHIFT                    8            /* bit of the operation where the constant of GF begins */

/* Return codes of handlers; others count as SPIN_FAIL. */
#define SPIN_SUCCESS                     0            /* payload, completion: done */
#define SPIN_PROCESS_DATA                0            /* header: run the payload handlers */
#define SPIN_DROP                        1            /* drop the message (header) or this packet (payload) */
#define SPIN_PROCEED                     2            /* header: place the data, no payload handlers */
#define SPIN_FAIL                        3            /* end the message with an error */
#define SPIN_PROCESS_DATA_PENDING        4            /* as PROCESS_DATA, completion by command */
#define SPIN_DROP_PENDING                5            /* as DROP, completion by command */
#define SPIN_PROCEED_PENDING             6            /* as PROCEED, completion by command */
#define SPIN_SUCCESS_PENDING             7            /* completion: done, completion by command */

/* Kinds of handler. */
#define SPIN_KIND_HEADER                 0            /* header handler */
#define SPIN_KIND_PAYLOAD                1            /* payload handler */
#define SPIN_KIND_COMPLETION             2            /* completion handler */
#define SPIN_KIND_TASK                   3            /* task handler */

/* Wire formats. */
#define SPIN_ETHERTYPE_IPV4              2048         /* EtherType of IPv4 */
#define SPIN_ETHERTYPE_VLAN              33024        /* EtherType of an 802.1Q tag */
#define SPIN_IPPROTO_ICMP                1            /* IPv4 protocol number of ICMP */
#define SPIN_IPPROTO_UDP                 17           /* IPv4 protocol number of UDP */
#define SPIN_IPV4_BYTES                  20           /* IPv4 header without options */
#define SPIN_UDP_BYTES                   8            /* UDP header */
#define SPIN_ICMP_BYTES                  8            /* ICMP echo header */
#define SPIN_TRANSPORT_BYTES             48           /* Spindle transport header */

/* Byte offsets in the IPv4 header. */
#define SPIN_IPV4_VERSION                0            /* 4 bits: version, 4 */
#define SPIN_IPV4_DSCP                   1            /* 6 bits: differentiated services */
#define SPIN_IPV4_TOTAL_LENGTH           2            /* 16 bits: bytes of the packet, the header included */
#define SPIN_IPV4_IDENTIFICATION         4            /* 16 bits: identification */
#define SPIN_IPV4_EVIL                   6            /* 1 bits: zero */
#define SPIN_IPV4_TTL                    8            /* 8 bits: hops left */
#define SPIN_IPV4_PROTOCOL               9            /* 8 bits: protocol */
#define SPIN_IPV4_CHECKSUM               10           /* 16 bits: checksum of the header */
#define SPIN_IPV4_SRC                    12           /* 32 bits: source address */
#define SPIN_IPV4_DST                    16           /* 32 bits: destination address */

/* Byte offsets in the UDP header. */
#define SPIN_UDP_SRC_PORT                0            /* 16 bits: source port */
#define SPIN_UDP_DST_PORT                2            /* 16 bits: destination port */
#define SPIN_UDP_LENGTH                  4            /* 16 bits: bytes of the datagram, the header included */
#define SPIN_UDP_CHECKSUM                6            /* 16 bits: checksum; 0: none */

/* Byte offsets in the ICMP echo header. */
#define SPIN_ICMP_KIND                   0            /* 8 bits: type */
#define SPIN_ICMP_CODE                   1            /* 8 bits: code */
#define SPIN_ICMP_CHECKSUM               2            /* 16 bits: checksum */
#define SPIN_ICMP_IDENTIFIER             4            /* 16 bits: identifier */
#define SPIN_ICMP_SEQUENCE               6            /* 16 bits: sequence number */

/* Byte offsets in the Spindle header. */
#define SPIN_TRANSPORT_VERSION           0            /* 4 bits: version */
#define SPIN_TRANSPORT_OPCODE            1            /* 8 bits: operation */
#define SPIN_TRANSPORT_FLAGS             2            /* 16 bits: flag bits */
/* 32 bits: packet sequence number per (source NIC, destination NIC) */
#define SPIN_TRANSPORT_PSN               4
#define SPIN_TRANSPORT_SRC_NID           8            /* 32 bits: source node */
#define SPIN_TRANSPORT_SRC_PID           12           /* 16 bits: source process */
#define SPIN_TRANSPORT_DST_PID           14           /* 16 bits: destination process */
#define SPIN_TRANSPORT_ADDR              16           /* 64 bits: RVMA mailbox address, also sPIN's match bits */
#define SPIN_TRANSPORT_KEY               24           /* 32 bits: mailbox key */
#define SPIN_TRANSPORT_MSG_ID            28           /* 32 bits: message, unique per (src_nid, src_pid) while live */
#define SPIN_TRANSPORT_MSG_LEN           32           /* 32 bits: message length in bytes */
#define SPIN_TRANSPORT_MSG_OFF           36           /* 32 bits: offset of this packet in the message */
#define SPIN_TRANSPORT_BUF_OFF           40           /* 32 bits: base offset of the message in the buffer */
#define SPIN_TRANSPORT_PAYLOAD_LEN       44           /* 16 bits: bytes that follow */
/* 16 bits: low bits of the target epoch, valid with EPOCH_VALID */
#define SPIN_TRANSPORT_EPOCH             46

/* Opcodes of the Spindle header. */
#define SPIN_TRANSPORT_OP_PUT            1            /* writes into a mailbox */
#define SPIN_TRANSPORT_OP_GET            2            /* reads from a mailbox */
#define SPIN_TRANSPORT_OP_GET_RESP       3            /* answers a GET: a PUT into the initiator's mailbox */
#define SPIN_TRANSPORT_OP_ACK            4            /* acknowledges packets */
#define SPIN_TRANSPORT_OP_NACK           5            /* refuses a packet */
#define SPIN_TRANSPORT_OP_CTRL           6            /* controls the sequence numbers: OPEN, NOP */

/* Flags of the Spindle header. */
#define SPIN_TRANSPORT_FLAG_ACK_REQ      1            /* the sender requests an acknowledgement of this packet */
#define SPIN_TRANSPORT_FLAG_UNSEQ        2            /* `psn` is ignored, and no acknowledgement is sent */
#define SPIN_TRANSPORT_FLAG_EPOCH_VALID  4            /* `epoch` is valid (TAGGED mode) */
#define SPIN_TRANSPORT_FLAG_MANAGED      8            /* the receiver chooses the offset */
#define SPIN_TRANSPORT_FLAG_RETX         16           /* the packet is a retransmission */
/* ACK: packets of the source were marked by a switch since the last ACK; bits 23:16 of `key` count all of them */
#define SPIN_TRANSPORT_FLAG_ECN_ECHO     32
/* 4 bytes follow the payload, which `payload_len` does not count: the CRC-32C of Spindle header and payload */
#define SPIN_TRANSPORT_FLAG_ICRC         64
/* GET: reads the oldest buffer that is not complete, instead of the buffer completed last */
#define SPIN_TRANSPORT_FLAG_ACTIVE       128

#endif
