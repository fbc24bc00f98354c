/* RVMA: remote virtual memory access, for C programs.
 *
 * A receiver opens a window: a mailbox that senders name by a 64-bit virtual address, without knowing the location
 * of its memory. The receiver posts buffers to the window. The NIC writes what senders put into the oldest buffer;
 * when the threshold of the window is reached, the NIC writes a completion record after the data and continues with
 * the next buffer. The receiver need not make a call in between.
 *
 *     RVMA_Nic *nic = RVMA_Open("0000:65:00.0", 1, NULL);
 *     RVMA_Register(nic, memory, sizeof *memory);
 *     RVMA_Win win = RVMA_Init_window(nic, 0x100, key, size, RVMA_EPOCH_BYTES);
 *     RVMA_Post_buffer(memory->buffer, size, &memory->record, win);
 *     RVMA_Wait(nic, &memory->record, RVMA_FOREVER);
 *
 * A call that fails returns NULL or a negative number; RVMA_Error() returns the reason, a sentence. Any thread may use
 * any handle; several threads may wait at once. Handles are checked: the use of one after RVMA_Close or RVMA_Shutdown,
 * or of a value that was never a handle is RVMA_ERR_ARGUMENT.
 *
 * Limits of time are in nanoseconds of the card's clock, rounded up to its cycles. The time of a simulated card in this
 * program (`sim:`) moves only in calls that wait or access the card; that of a served card moves more slowly than the
 * host's. Of a real card it is the host's. RVMA_FOREVER is no limit; such a wait ends if the card is gone.
 */
#ifndef RVMA_H
#define RVMA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    RVMA_SUCCESS = 0,
    RVMA_ERR_ARGUMENT = -1, /* an illegal argument */
    /* the command is refused in the present state: the window is closed, memory is not registered or in use */
    RVMA_ERR_REFUSED = -2,
    RVMA_ERR_TIMEOUT = -3,  /* the limit of a wait was reached */
    RVMA_ERR_DEVICE = -4,   /* the card cannot be opened, does not answer, answers with an error, or is gone */
    /* a put did not arrive: the destination refused it, had no buffer within the put limit, or does not answer */
    RVMA_ERR_PUT = -5
} RVMA_Status;

/* What a window's threshold counts: bytes, or messages that have arrived as a whole, empty ones included. */
typedef enum { RVMA_EPOCH_BYTES = 0, RVMA_EPOCH_OPS = 1 } RVMA_Epoch_type;

/* Which buffer of a window a message goes to. */
typedef enum {
    RVMA_BOUND = 0,  /* the buffer whose turn it is when the first packet arrives */
    RVMA_TAGGED = 1, /* the buffer whose epoch the sender names: one of the oldest four that are not complete */
    /* the buffer whose turn it is, after the previous message; the sender's offset is ignored. Counts bytes, not
       operations */
    RVMA_MANAGED = 2,
    RVMA_STREAM = 3   /* as RVMA_MANAGED, in the order in which the one sender put them (RVMA_Put_next) */
} RVMA_Kind;

/* Options of a window: flags of RVMA_Init_window_with. */
typedef enum {
    /* senders get no refusals: a put that the window refuses ends when its sender gives the node up */
    RVMA_SILENT = 1,
    /* messages that find no buffer go to the catch-all window of the process, if there is one; not for streams */
    RVMA_SPILL = 2,
    /* the window, which must be RVMA_MANAGED, is the catch-all of its process until it is closed or another one is
       opened: it gets the messages of RVMA_SPILL windows, and the packets to addresses without a window. Each packet
       becomes a message: its 48 header bytes, then its payload. Keys are not compared */
    RVMA_CATCH_ALL = 4,
    /* each complete buffer is an event of the process too, after its record: SPIN_Next_event of spin.h returns a
       SPIN_BUFFER with the status RVMA_DONE. Without the flag only buffers that end before they are full are events */
    RVMA_EVENT = 8
} RVMA_Window_flags;

/* How a buffer ended. */
enum {
    RVMA_DONE = 1,     /* the threshold was reached */
    RVMA_PARTIAL = 2,  /* it was taken back, or the host's memory refused a write */
    RVMA_CANCELLED = 3 /* its window was closed */
};

typedef uint32_t RVMA_Key;

/* A completion record. Post it with a buffer; the NIC fills it when the buffer is complete, all at once: `status` is
 * 0 until then. */
typedef struct {
    uint32_t length; /* bytes that have arrived */
    uint8_t status;
    uint8_t reserved;
    uint16_t epoch;  /* the buffer's number in its window, from 0, modulo 2^16 */
    uint64_t buffer; /* its address */
} __attribute__((aligned(16))) RVMA_Record;

/* Where a put goes: a node of the network and a process on it. */
typedef struct {
    uint16_t nid;
    uint16_t pid;
} RVMA_Addr;

/* The sender's end of a stream: fill the first three, the rest is 0. */
typedef struct {
    RVMA_Addr dest_addr;
    RVMA_Key key;
    uint64_t virtual_addr;
    uint16_t next; /* ordinal of the next message */
} RVMA_Stream;

/* Addresses of a node on the wire. */
typedef struct {
    uint8_t mac[6];
    uint8_t ip[4];
    uint16_t port; /* UDP port of its Spindle transport */
} RVMA_Node;

/* How a card is opened. All zeros, as if the options were NULL: node 0 of 16 nodes with the addresses of their numbers. */
typedef struct {
    uint32_t node;            /* the card's own number in the network, 0 to 255 */
    uint32_t nodes;           /* nodes 0 to `nodes` - 1 are known from the beginning, its own among them; 0: 16 */
    const RVMA_Node *table;   /* their addresses, `nodes` of them; NULL: those of RVMA_Node_address */
    uint64_t round_trip_ns;   /* time of a packet and its acknowledgement while nothing waits; 0: 64,000 */
} RVMA_Options;

/* Simulated NICs on a wire of their own: rvma_sim.h. */
typedef struct RVMA_Network RVMA_Network;
/* A process of a card. */
typedef struct RVMA_Nic RVMA_Nic;
typedef struct RVMA_Window *RVMA_Win;
/* A put or get that was posted by a process. 0 is none. */
typedef uint32_t RVMA_Op;

/* The receive map of a buffer. */
typedef uint32_t RVMA_Map;

#define RVMA_FOREVER UINT64_MAX
/* Words of a receive map. */
#define RVMA_MAP_WORDS 16

/* ---- NICs ----------------------------------------------------------------------------------------------------------------- */

/* Opens a process of a card: 0 to 63, each with windows, memory and puts of its own. The address is
 *
 *     0000:65:00.0         a card that is bound to vfio-pci
 *     sysfs:0000:65:00.0   a card without an IOMMU, by the files of its PCI function
 *     unix:PATH            a served card (`spindle serve`), or one of the daemon
 *     sim:CONFIG           a simulated card in this program; needs librvma-sim.so beside librvma.so. All cards of one
 *                          CONFIG are nodes of one network; each number of a node is opened once
 *
 * The first process of a card opens it and sets it up for the network; further ones of this program share it, and
 * must have the same options. `options` may be NULL. NULL with RVMA_ERR_ARGUMENT or RVMA_ERR_DEVICE's reason if the
 * card does not exist, is in use by another program, or has no such process. */
RVMA_Nic *RVMA_Open(const char *address, int process, const RVMA_Options *options);
/* Closes a NIC with its windows; its buffers are taken back, and the memory is the program's alone. The last NIC of a
 * card closes the card. NULL is ignored. */
RVMA_Status RVMA_Close(RVMA_Nic *nic);
/* A process of a node of a network of rvma_sim.h. */
RVMA_Nic *RVMA_Open_node(RVMA_Network *network, int node, int process);
/* Closes a network and frees all NICs and windows on it: their handles are dead. NULL is ignored. */
RVMA_Status RVMA_Shutdown(RVMA_Network *network);
/* Enters a node into the card's table of nodes, or takes it out (NULL). Holds for all processes of the card. */
RVMA_Status RVMA_Set_node(RVMA_Nic *nic, uint16_t nid, const RVMA_Node *node);
/* Packets to the node carry the CRC-32C of their header and payload. */
#define RVMA_ICRC_SEND 1u
/* Packets of the node that carry none are dropped. A packet that carries one is always checked. */
#define RVMA_ICRC_REQUIRE 2u
/* Enters a node with which the CRC is used: `icrc` is a sum of the two above. Both cards of a pair are to be set alike. */
RVMA_Status RVMA_Set_checked_node(RVMA_Nic *nic, uint16_t nid, const RVMA_Node *node, unsigned icrc);
/* The addresses that node `nid`, 0 to 255, has where the program names no others: 02:00:00:00:01:nid, 10.78.0.nid. */
RVMA_Status RVMA_Node_address(uint16_t nid, RVMA_Node *node);
/* Limits the time in which puts and gets of the card of `nic` find no buffer. A put or get that is refused for lack
 * of a buffer, or because the destination is busy, `limit_ns` (rounded up to 1024 cycles, at most 33,553,408 cycles,
 * which are 134 ms at 250 MHz) after it began to leave has failed: RVMA_Wait_put returns RVMA_ERR_PUT and the reason.
 * RVMA_FOREVER, the default: the put or get is sent again until the destination takes it. Holds for all processes of
 * the card, and for puts and gets that begin to leave after the call. */
RVMA_Status RVMA_Set_put_limit(RVMA_Nic *nic, uint64_t limit_ns);
/* Has up to `puts` puts of the card of `nic`, 1 to 64, take turns, a segment each, so that a short put does not wait for the
 * end of a long one. 1, the default: each is sent to its end first, so puts to one node over one path arrive in their
 * order. Holds for all processes of the card. */
RVMA_Status RVMA_Set_put_turns(RVMA_Nic *nic, unsigned puts);
/* How the card keeps the segments in flight to a node within a window, which packets that a switch has marked shrink. */
typedef struct {
    uint8_t shrink;           /* a marked packet takes 2^-shrink of a segment from the window; at most 3, usually 1 */
    uint16_t least;           /* smallest window in segments, at least 1, usually 2 */
    uint16_t first;           /* window of a path that was not used yet: what is in flight on an idle path, usually 32 */
    uint16_t most;            /* largest window, at most 1023 */
} RVMA_Congestion;
/* Has the card obey the marks of switches; NULL, the default: it does not. Holds for all processes of the card, and
 * is to be called while no put is under way. The nodes that receive need nothing. */
RVMA_Status RVMA_Set_congestion_control(RVMA_Nic *nic, const RVMA_Congestion *control);

/* Permits the NIC to access memory of this program for the process: buffers, records, and what is put. The memory
 * must stay until it is deregistered or the NIC is closed. The NIC has 16 regions of whole pages of 4 KiB for
 * a process; memory whose pages overlap or touch each other shares one. */
RVMA_Status RVMA_Register(RVMA_Nic *nic, void *memory, int64_t size);
/* Undoes one RVMA_Register of the same memory and size. Refused with RVMA_ERR_REFUSED while the NIC uses some of it:
 * a buffer or record that is posted and whose record's `status` is 0, or the bytes of a put that is under way. After
 * that posts and puts that name the memory are refused, and the NIC reaches no page of it in which no other memory is
 * registered: the program may free it. A get of another node from a completed buffer there gets no answer. */
RVMA_Status RVMA_Deregister(RVMA_Nic *nic, void *memory, int64_t size);

/* ---- Receiving ------------------------------------------------------------------------------------------------------------ */

/* Opens a window. Its buffers are complete after `epoch_threshold` bytes or operations. */
RVMA_Win RVMA_Init_window(RVMA_Nic *nic, uint64_t virtual_addr, RVMA_Key key, int64_t epoch_threshold, RVMA_Epoch_type type);
/* The same for windows of any kind. Of a managed one a buffer is complete when fewer than `epoch_threshold` bytes
 * are left. */
RVMA_Win RVMA_Init_window_as(RVMA_Nic *nic, uint64_t virtual_addr, RVMA_Key key, int64_t epoch_threshold, RVMA_Epoch_type type,
                             RVMA_Kind kind);
/* The same with RVMA_Window_flags, or-ed. Refused with RVMA_ERR_ARGUMENT: operations of a managed window or a
 * stream, a stream that spills or is a catch-all, a catch-all that is not RVMA_MANAGED. */
RVMA_Win RVMA_Init_window_with(RVMA_Nic *nic, uint64_t virtual_addr, RVMA_Key key, int64_t epoch_threshold, RVMA_Epoch_type type,
                               RVMA_Kind kind, unsigned flags);
/* Adds a buffer after those that the window has. The record is cleared. */
RVMA_Status RVMA_Post_buffer(void *buffer, int64_t size, RVMA_Record *notification, RVMA_Win win);
/* The same with a receive map, which shows the parts that have arrived before the buffer is complete: a bit for each
 * `granule` bytes, a power of two, of the first 1024 granules. A granule no longer than a segment (1408 bytes) distinguishes
 * segments. A NIC has 8 maps. */
RVMA_Status RVMA_Post_mapped(void *buffer, int64_t size, RVMA_Record *notification, RVMA_Win win, uint32_t granule, RVMA_Map *map);
/* Bit i, bits[i / 64] >> i % 64 & 1: a packet whose first byte lies in granule i has arrived, and its bytes are
 * there. Also when the buffer is complete. */
RVMA_Status RVMA_Read_map(RVMA_Win win, RVMA_Map map, uint64_t bits[RVMA_MAP_WORDS]);
/* Gives a map back. */
RVMA_Status RVMA_Free_map(RVMA_Win win, RVMA_Map map);
/* Refuses senders from now on; buffers that are not complete come back as RVMA_CANCELLED. Of a closed window only
 * RVMA_Read_map and RVMA_Free_map work; all other calls, a second RVMA_Close_win too, are RVMA_ERR_REFUSED. */
RVMA_Status RVMA_Close_win(RVMA_Win win);
/* Takes the oldest buffer back in its present state, as RVMA_PARTIAL. */
RVMA_Status RVMA_Win_inc_epoch(RVMA_Win win);
/* Number of buffers that have been completed since the window was opened. */
int64_t RVMA_Win_get_epoch(RVMA_Win win);
/* Addresses of the buffers that were completed last, the last one first; returns how many. The NIC remembers eight. */
int RVMA_Win_get_buf_ptrs(RVMA_Win win, void *notification_ptrs[], int count);
/* Address of the buffer that was completed `back` buffers before the last one; buffers completed after that one are
 * forgotten. NULL: the NIC does not remember that buffer. */
void *RVMA_Win_rewind(RVMA_Win win, int back);
/* Waits for a record. A program may also read `status` itself; the time of simulated cards in the program moves by
 * calls only, so it calls RVMA_Wait with some limit between two reads. Every wait of the library looks for 20 µs, at
 * a record with the processor's instructions for it where it has them (UMWAIT, WFE), then sleeps until the card's
 * interrupt. For that each complete buffer is a record of the process' event ring, which programs do not see unless they
 * ask for it (RVMA_EVENT). Of a card without interrupts (sysfs:), and of a record that `nic` has not posted, it sleeps at
 * most 1 ms between looks. */
RVMA_Status RVMA_Wait(RVMA_Nic *nic, const RVMA_Record *notification, uint64_t limit_ns);

/* A stock of buffers that the library allocates, registers and posts to a window. */
typedef struct RVMA_Stock RVMA_Stock;
/* Keeps a window stocked with `count` buffers of `size` bytes, all of them posted at once. They take one region. Post no
 * other buffers to the window. */
RVMA_Stock *RVMA_Stock_new(RVMA_Win win, int count, int64_t size);
/* The oldest complete buffer, and its record if `record` is not NULL. NULL: none came within the limit (RVMA_Error has
 * "did not come"). The bytes are the program's until it gives the buffer back. */
void *RVMA_Stock_next(RVMA_Stock *stock, RVMA_Record *record, uint64_t limit_ns);
/* Posts a buffer of RVMA_Stock_next again. */
RVMA_Status RVMA_Stock_give(RVMA_Stock *stock, void *buffer);
/* Closes the window and frees the buffers; NULL is ignored. RVMA_Close does so too. */
RVMA_Status RVMA_Stock_free(RVMA_Stock *stock);

/* ---- Sending -------------------------------------------------------------------------------------------------------------- */

/* Puts memory into a window of another node, `offset` bytes after the start of its buffer, as one message. A put of
 * 0 bytes names no memory (`send_buffer` may be NULL); a window that counts operations counts it. A node or process
 * that does not exist is RVMA_ERR_ARGUMENT.
 *
 * A put that fails may have delivered some of its packets; the buffer that took them waits for the others. So a program
 * that does not know whether the other node has opened its window asks with a put of one packet, which arrives whole or
 * not at all, as exchange.c does; and a receiver takes such a buffer back with RVMA_Win_inc_epoch. */
RVMA_Status RVMA_Put(RVMA_Nic *nic, const void *send_buffer, int64_t size, const RVMA_Addr *dest_addr, uint64_t virtual_addr,
                     RVMA_Key key, uint64_t offset, RVMA_Op *op);
/* The same for windows of any kind; `epoch` is the number of the buffer (RVMA_TAGGED) or of the message
 * (RVMA_STREAM), from 0. */
RVMA_Status RVMA_Put_to(RVMA_Nic *nic, const void *send_buffer, int64_t size, const RVMA_Addr *dest_addr, uint64_t virtual_addr,
                        RVMA_Key key, uint64_t offset, RVMA_Kind kind, uint64_t epoch, RVMA_Op *op);
/* Puts memory into a stream, after the previous message, and increments the count. A window is the stream of one
 * sender, from its opening on. A message longer than what is left of the window's buffer is refused, as are all
 * messages after it. */
RVMA_Status RVMA_Put_next(RVMA_Nic *nic, const void *send_buffer, int64_t size, RVMA_Stream *stream, RVMA_Op *op);
/* Gets bytes of the buffer that a window of another node completed last, from `offset` on. They arrive as a put into
 * a window of this process: `reply_addr`, `reply_key`, `reply_offset`. */
RVMA_Status RVMA_Get(RVMA_Nic *nic, int64_t size, const RVMA_Addr *src_addr, uint64_t virtual_addr, RVMA_Key key, uint64_t offset,
                     uint64_t reply_addr, RVMA_Key reply_key, uint64_t reply_offset, RVMA_Op *op);
/* As RVMA_Get, from the oldest buffer that is not complete. */
RVMA_Status RVMA_Get_active(RVMA_Nic *nic, int64_t size, const RVMA_Addr *src_addr, uint64_t virtual_addr, RVMA_Key key,
                            uint64_t offset, uint64_t reply_addr, RVMA_Key reply_key, uint64_t reply_offset, RVMA_Op *op);
/* Waits until every byte of a put has arrived and its memory may be used again. Each put is
 * waited for once, if at all, before 30,000 others have followed it: a second wait, and one for an operation that
 * this process never posted, is RVMA_ERR_ARGUMENT at once. After RVMA_ERR_TIMEOUT, whose reason names the last
 * refusal of the put, it may be waited for again. A get is over when its source has taken it; its answer is a put
 * into the window of the reply. */
RVMA_Status RVMA_Wait_put(RVMA_Nic *nic, RVMA_Op op, uint64_t limit_ns);

/* ---- Errors --------------------------------------------------------------------------------------------------------------- */

/* The reason why the last failed call of this thread failed; "" if no call has failed. The string is constant and
 * stays valid as long as the thread. A thread keeps 1 MiB of different sentences; errors after that have a sentence
 * without details. */
const char *RVMA_Error(void);

#ifdef __cplusplus
}
#endif

#endif
