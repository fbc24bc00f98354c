/* Commands: requests of a handler to the NIC. A command is issued at once and executes while the handler goes on; up to
 * SPIN_COMMAND_HANDLES execute at a time. A command that is not allowed (source bytes outside the handler's regions, an offset outside
 * the host region) ends the handler with FAULT_COMMAND. A handler may return while commands execute.
 *
 * The source bytes of a command are in the packet slot, the scratchpad or context memory, at any address, and are at most 2048. The
 * NIC reads them later: do not change them before the command ends. The packet slot stays allocated until then.
 * Bytes in context memory are copied when the command is issued, 64 per cycle: the handler waits for the copy and may change
 * them afterwards. spin_put_context does not copy them.
 */
#ifndef SPIN_COMMANDS_H
#define SPIN_COMMANDS_H

#include "spin_base.h"

#include "generated/spindle_contract.h"

/* Handle of a command: its bit number in STATUS and ERROR. */
typedef uint32_t spin_handle_t;

SPIN_INLINE volatile uint32_t *spin_command_word(uint32_t offset) {
    return (volatile uint32_t *)(SPIN_REGION_COMMAND + offset);
}
SPIN_INLINE void spin_command_words(uint32_t low, uint32_t high, uint64_t value) {
    *spin_command_word(low) = (uint32_t)value;
    *spin_command_word(high) = (uint32_t)(value >> 32);
}

/* Orders the handler's writes to context memory before a command that reads them; writes to other memories need no fence. */
SPIN_INLINE void spin_before_command(const void *bytes) {
    if (((uint32_t)bytes & SPIN_REGION_MASK) == SPIN_REGION_CONTEXT) {
        __asm__ volatile("fence" ::: "memory");
    }
}

/* Issues a command. Earlier writes of the handler are visible to it. The handler waits while all handles are in use. */
SPIN_INLINE void spin_issue(uint32_t opcode) {
    __asm__ volatile("" ::: "memory");
    *spin_command_word(SPIN_CMD_ISSUE) = opcode;
}
/* The handle of the last issued command. */
SPIN_INLINE spin_handle_t spin_handle(void) { return *spin_command_word(SPIN_CMD_ISSUE); }
/* True if the command has ended. */
SPIN_INLINE bool spin_test(spin_handle_t handle) { return !(*spin_command_word(SPIN_CMD_STATUS) >> handle & 1); }
/* True if the command failed. Valid after it has ended, until a later command of this handler gets the same handle. */
SPIN_INLINE bool spin_failed(spin_handle_t handle) { return *spin_command_word(SPIN_CMD_ERROR) >> handle & 1; }
/* Waits until all commands of this handler have ended. */
SPIN_INLINE void spin_wait(void) {
    (void)*spin_command_word(SPIN_CMD_WAIT);
    __asm__ volatile("" ::: "memory");
}
/* Waits until this command has ended. */
SPIN_INLINE void spin_wait_for(spin_handle_t handle) {
    *spin_command_word(SPIN_CMD_WAIT_HANDLE) = handle;
    spin_wait();
}

/* Issues a command with these arguments. */
SPIN_INLINE void spin_command(uint32_t opcode, const void *bytes, uint32_t length, uint64_t address) {
    spin_before_command(bytes);
    *spin_command_word(SPIN_CMD_SOURCE) = (uint32_t)bytes;
    *spin_command_word(SPIN_CMD_LENGTH) = length;
    spin_command_words(SPIN_CMD_ADDR_LO, SPIN_CMD_ADDR_HI, address);
    spin_issue(opcode);
}

/* ---- The wire ------------------------------------------------------------------------------------------------------------- */

/* Result of spin_send_packet. */
typedef enum {
    SPIN_SEND_OK = 0,
    SPIN_SEND_CUT = 1, /* not sent: the slot holds only the first SPIN_PACKET_BYTES of a longer frame */
} spin_send_t;
/* Flag: the visible part of a longer frame may be sent as a frame. */
#define SPIN_SEND_UNSEEN 1u
/* Flag: the NIC inserts the checksum of the IPv4 header and that of UDP, TCP or ICMP, whatever the fields hold. The frame then waits
 * until its last byte has been read. IPv4 with options, a wrong length and other protocols are sent without: docs/handlers.md. */
#define SPIN_SEND_CHECKSUM SPIN_ISSUE_CHECKSUM

/* True if these bytes would be a cut frame: they reach the end of the packet slot, and the frame is longer. */
SPIN_INLINE bool spin_send_is_cut(const void *frame, uint32_t length) {
    const spin_task_t *task = (const spin_task_t *)SPIN_REGION_TASK;
    return length > SPIN_REGION_PACKET + SPIN_PACKET_BYTES - 1 - (uint32_t)frame && task->frame_len != task->packet_len;
}
/* Sends bytes as a frame. Without SPIN_SEND_UNSEEN in `flags`, a frame that would be cut is not sent. `flags` are constants. */
SPIN_INLINE spin_send_t spin_send_packet_flags(const void *frame, uint32_t length, uint32_t flags) {
    if (!(flags & SPIN_SEND_UNSEEN) && __builtin_expect(spin_send_is_cut(frame, length), 0)) {
        return SPIN_SEND_CUT;
    }
    spin_before_command(frame);
    *spin_command_word(SPIN_CMD_SOURCE) = (uint32_t)frame;
    *spin_command_word(SPIN_CMD_LENGTH) = length;
    spin_issue(SPIN_OP_SEND_PACKET | (flags & SPIN_SEND_CHECKSUM));
    return SPIN_SEND_OK;
}
/* Sends bytes as a frame, unless the frame would be cut. */
SPIN_INLINE spin_send_t spin_send_packet(const void *frame, uint32_t length) {
    return spin_send_packet_flags(frame, length, 0);
}
/* Sends this task's packet, as received, to the RVMA path. */
SPIN_INLINE void spin_place(void) { spin_issue(SPIN_OP_PLACE); }
/* Places this task's payload, as received, into a mailbox of the context's process, at an offset of its buffer: as a separate message
 * without a key. A managed mailbox chooses the offset. A packet is placed once: the first spin_place or spin_redirect of its handlers
 * counts. */
SPIN_INLINE void spin_redirect(uint64_t mailbox, uint32_t offset) {
    spin_command(SPIN_OP_REDIRECT, (const void *)0, offset, mailbox);
}
/* Key of a redirect of bytes: its message names no epoch. */
#define SPIN_NO_EPOCH 0u
/* Places bytes of this task's packet straight from the packet buffer, as a separate message, into a mailbox of the context's process, at
 * an offset of its buffer. `bytes` is any address of the frame in the packet slot, not of the tailroom, and `length` at least 1. What is
 * placed are the bytes as they were received, whatever handlers have written there. Several at a time, as many as there are
 * handles, and beside spin_place, spin_redirect and the handler's return code, which they do not concern. The command ends when the
 * bytes are in host memory, or fails if the mailbox refuses them. A handler may return at once: the packet stays until then. */
SPIN_INLINE void spin_redirect_key(uint64_t mailbox, uint32_t key, uint32_t offset, const void *bytes, uint32_t length) {
    *spin_command_word(SPIN_CMD_KEY) = key;
    *spin_command_word(SPIN_CMD_OFFSET) = offset;
    spin_command(SPIN_OP_REDIRECT_BYTES, bytes, length, mailbox);
}
/* The same, for a mailbox that takes messages without an epoch. A managed one chooses the offset. */
SPIN_INLINE void spin_redirect_bytes(uint64_t mailbox, uint32_t offset, const void *bytes, uint32_t length) {
    spin_redirect_key(mailbox, SPIN_NO_EPOCH, offset, bytes, length);
}
/* The same, for a TAGGED mailbox: the epoch names the buffer. For a stream it is the ordinal of the message, and the offset does not
 * count; a message that is not the next one is refused. */
SPIN_INLINE void spin_redirect_epoch(uint64_t mailbox, uint16_t epoch, uint32_t offset, const void *bytes, uint32_t length) {
    spin_redirect_key(mailbox, SPIN_REDIRECT_EPOCH | epoch, offset, bytes, length);
}

/* Destination of a put or source of a get: a mailbox of another node. */
typedef struct {
    uint32_t node;    /* index in the node table */
    uint32_t process;
    uint64_t mailbox; /* address of the mailbox; match bits for handlers of that node */
    uint32_t key;
    uint32_t offset;  /* in the mailbox's buffer, bytes */
} spin_target_t;

SPIN_INLINE void spin_put_to(const spin_target_t *to) {
    *spin_command_word(SPIN_CMD_NODE) = to->node | to->process << 16;
    *spin_command_word(SPIN_CMD_KEY) = to->key;
    *spin_command_word(SPIN_CMD_OFFSET) = to->offset;
}
/* Puts bytes as one message, once, without acknowledgement. */
SPIN_INLINE void spin_put(const spin_target_t *to, const void *bytes, uint32_t length) {
    spin_put_to(to);
    spin_command(SPIN_OP_PUT, bytes, length, to->mailbox);
}
/* Puts bytes of this task's packet as one message, reliably, if the NIC is set up for reliable transport. The packet stays in the packet
 * buffer, where the NIC reads the bytes at each transmission, until they are acknowledged, also after the handler has returned: as they
 * arrived, without changes by handlers. The range is inside the packet, without its tailroom, and within the first SPIN_PACKET_BYTES. The
 * command fails at once (spin_failed) while the packets that the context keeps this way are its share of the packet buffer. */
SPIN_INLINE void spin_put_packet(const spin_target_t *to, const void *bytes, uint32_t length) {
    spin_put_to(to);
    spin_command(SPIN_OP_PUT_PACKET, bytes, length, to->mailbox);
}
/* Puts bytes of host memory, starting at an offset in the context's host region. */
SPIN_INLINE void spin_put_host(const spin_target_t *to, uint32_t host_offset, uint32_t length) {
    spin_put_to(to);
    spin_command(SPIN_OP_PUT_HOST, (const void *)host_offset, length, to->mailbox);
}
/* Puts bytes of context memory, any number; reliably, if the NIC is set up for reliable transport. The NIC
 * reads the bytes at each transmission and sends them again until they are acknowledged: no handler may change them before the command
 * ends. */
SPIN_INLINE void spin_put_context(const spin_target_t *to, const void *bytes, uint32_t length) {
    spin_put_to(to);
    spin_command(SPIN_OP_PUT_CONTEXT, bytes, length, to->mailbox);
}
/* Gets bytes from a mailbox of another node into a mailbox of this node. */
SPIN_INLINE void spin_get(const spin_target_t *from, uint32_t length, uint64_t mailbox, uint32_t key, uint32_t offset) {
    spin_put_to(from);
    spin_command_words(SPIN_CMD_OTHER_LO, SPIN_CMD_OTHER_HI, mailbox);
    *spin_command_word(SPIN_CMD_RESULT_LO) = key;
    spin_command(SPIN_OP_GET, (const void *)offset, length, from->mailbox);
}

/* ---- Arithmetic: a COMBINE ------------------------------------------------------------------------------------------------ */

/* Operation of spin_combine: destination ^= constant * source, byte by byte, in GF(2^8) with polynomial 0x11d. */
SPIN_INLINE uint32_t spin_gf(uint8_t constant) { return SPIN_GF | (uint32_t)constant << SPIN_GF_SHIFT; }
/* Combines `length` bytes of the source with as many at the destination, element by element, and writes the results there. The
 * operation is SPIN_XOR, spin_gf(constant), or one for elements of 8, 16 or 32 bits, little-endian: SPIN_ADD32 (modulo 2^32),
 * SPIN_ADDS32 (signed, stops at the ends of the range), SPIN_ADDU32 (unsigned, likewise), SPIN_MIN32, SPIN_MAX32 (signed), SPIN_MINU32,
 * SPIN_MAXU32 (unsigned), and the same names with 8 and 16. There is no operation for floating-point numbers.
 *
 * The destination is in the packet slot or the scratchpad, the source there or in context memory, both at any address. The length is 1 to
 * 2048 bytes, a multiple of the element. Source and destination may be the same bytes; of bytes in which they overlap otherwise the
 * result is undefined.
 *
 * The NIC combines 32 bytes per cycle while the handler goes on: wait before loads of the destination. Commands of the cluster that read
 * the packet slot or the scratchpad (spin_send_packet, spin_put, spin_dma_to_host, spin_combine) and are issued later, by any handler of
 * the cluster, see the result without waiting. So two spin_combine to one destination are one after the other. Loads, stores, atomics,
 * spin_dma_from_host, and handlers of other clusters are not ordered with it: a store to a byte of the destination before the command
 * ends may be lost. */
SPIN_INLINE void spin_combine(uint32_t operation, void *destination, const void *source, uint32_t length) {
    spin_command(SPIN_OP_COMBINE, source, length, (uint64_t)operation << 32 | (uint32_t)destination);
}

/* ---- Tasks: task_handler() of this context, without a packet ------------------------------------------------------------- */

/* Starts a task with this argument after so many cycles, fewer than 2^31; 0 = at once. The command ends as soon as the task waits; it
 * fails (spin_failed) if SPIN_WAITING_TASKS of the context wait already, or if the image has no task handler. A task that is due waits
 * on while the context has its quota of messages. The tasks that wait end when the context is deactivated. */
SPIN_INLINE void spin_start(uint64_t argument, uint32_t delay) {
    *spin_command_word(SPIN_CMD_LENGTH) = delay;
    spin_command_words(SPIN_CMD_ADDR_LO, SPIN_CMD_ADDR_HI, argument);
    spin_issue(SPIN_OP_TASK);
}
/* Cancels one task of the context that waits with this argument. The command fails if there is none: none was started, or it has
 * begun. */
SPIN_INLINE void spin_cancel(uint64_t argument) { spin_start(argument, SPIN_TASK_CANCEL); }

/* ---- The host: offsets are relative to the context's host region ------------------------------------------------------------ */

/* Writes bytes to host memory. */
SPIN_INLINE void spin_dma_to_host(uint32_t offset, const void *bytes, uint32_t length) {
    spin_command(SPIN_OP_DMA_TO_HOST, bytes, length, offset);
}
/* Reads bytes from host memory to any address in the packet slot, the scratchpad or context memory. */
SPIN_INLINE void spin_dma_from_host(void *bytes, uint32_t offset, uint32_t length) {
    spin_command(SPIN_OP_DMA_FROM_HOST, bytes, length, offset);
}

/* The value before the last atomic operation on host memory; valid after it has ended. */
SPIN_INLINE uint64_t spin_host_result(void) {
    uint32_t low = *spin_command_word(SPIN_CMD_RESULT_LO);
    return (uint64_t)*spin_command_word(SPIN_CMD_RESULT_HI) << 32 | low;
}
/* Adds to an integer of `length` bytes (4 or 8), aligned to its length. */
SPIN_INLINE void spin_host_add(uint32_t offset, uint32_t length, uint64_t value) {
    spin_command_words(SPIN_CMD_KEY, SPIN_CMD_OFFSET, value);
    spin_command(SPIN_OP_HOST_ADD, (const void *)0, length, offset);
}
/* Replaces the integer by `desired` if it equals `expected`. */
SPIN_INLINE void spin_host_compare_swap(uint32_t offset, uint32_t length, uint64_t expected, uint64_t desired) {
    spin_command_words(SPIN_CMD_KEY, SPIN_CMD_OFFSET, desired);
    spin_command_words(SPIN_CMD_OTHER_LO, SPIN_CMD_OTHER_HI, expected);
    spin_command(SPIN_OP_HOST_CAS, (const void *)0, length, offset);
}

/* Writes an event with these values into the event ring of the context's process. */
SPIN_INLINE void spin_event(uint32_t length, uint64_t user) { spin_command(SPIN_OP_EVENT, (const void *)0, length, user); }
/* This handler's message is done: writes an event with these values, and, if its header handler returned a PENDING code, ends the holds
 * on the buffers in which its packets were placed, so that they complete. The end of the message does that too. A fault unless the
 * context's process has an event ring. */
SPIN_INLINE void spin_complete(uint32_t length, uint64_t user) {
    spin_command(SPIN_OP_COMPLETE, (const void *)0, length, user);
}

#endif
