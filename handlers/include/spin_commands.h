/* Commands: what a handler asks the NIC to do. Each is issued at once and carried out beside the handler, up to SPIN_COMMAND_HANDLES at a
 * time; one that may not be (bytes that are not the handler's own, an offset outside the host region) ends the handler with FAULT_COMMAND.
 * A handler may return while commands are under way.
 *
 * Bytes lie in the packet slot, the scratchpad or context memory, from a 64-byte aligned address on, at most 2048. They are read later: do not
 * change them before the command is over. The packet slot outlives the handler until then. Bytes in context memory are copied, a word a cycle,
 * while the command is issued: the handler waits for that, and may change them when it goes on. spin_put_context does not copy them.
 */
#ifndef SPIN_COMMANDS_H
#define SPIN_COMMANDS_H

#include "generated/spindle_contract.h"
#include "spin_base.h"

/* A command under way: the number of its bit in STATUS and ERROR. */
typedef uint32_t spin_handle_t;

SPIN_INLINE volatile uint32_t *spin_command_word(uint32_t offset) {
    return (volatile uint32_t *)(SPIN_REGION_COMMAND + offset);
}
SPIN_INLINE void spin_command_words(uint32_t low, uint32_t high, uint64_t value) {
    *spin_command_word(low) = (uint32_t)value;
    *spin_command_word(high) = (uint32_t)(value >> 32);
}

/* What the handler wrote to context memory is there before a command reads it: only such bytes are not in the order of the command port. */
SPIN_INLINE void spin_before_command(const void *bytes) {
    if (((uint32_t)bytes & 0xf0000000u) == SPIN_REGION_CONTEXT) {
        __asm__ volatile("fence" ::: "memory");
    }
}

/* Issues a command. What the handler wrote before is visible to it; it waits while all handles are taken. */
SPIN_INLINE void spin_issue(uint32_t opcode) {
    __asm__ volatile("" ::: "memory");
    *spin_command_word(SPIN_CMD_ISSUE) = opcode;
}
/* The handle of the command issued last. */
SPIN_INLINE spin_handle_t spin_handle(void) { return *spin_command_word(SPIN_CMD_ISSUE); }
/* Has the command ended? */
SPIN_INLINE bool spin_test(spin_handle_t handle) { return !(*spin_command_word(SPIN_CMD_STATUS) >> handle & 1); }
/* Did the command fail? Valid once it has ended and until its handle is taken again. */
SPIN_INLINE bool spin_failed(spin_handle_t handle) { return *spin_command_word(SPIN_CMD_ERROR) >> handle & 1; }
/* Waits until no command of this handler is under way. */
SPIN_INLINE void spin_wait(void) {
    (void)*spin_command_word(SPIN_CMD_WAIT);
    __asm__ volatile("" ::: "memory");
}
/* Waits until this command is over. */
SPIN_INLINE void spin_wait_for(spin_handle_t handle) {
    *spin_command_word(SPIN_CMD_WAIT_HANDLE) = handle;
    spin_wait();
}

/* Issues a command of these arguments. */
SPIN_INLINE void spin_command(uint32_t opcode, const void *bytes, uint32_t length, uint64_t address) {
    spin_before_command(bytes);
    *spin_command_word(SPIN_CMD_SOURCE) = (uint32_t)bytes;
    *spin_command_word(SPIN_CMD_LENGTH) = length;
    spin_command_words(SPIN_CMD_ADDR_LO, SPIN_CMD_ADDR_HI, address);
    spin_issue(opcode);
}

/* ---- The wire ------------------------------------------------------------------------------------------------------------- */

/* What spin_send_packet returns. */
typedef enum {
    SPIN_SEND_OK = 0,
    SPIN_SEND_CUT = 1, /* nothing was sent: these are the first SPIN_PACKET_BYTES of a longer frame, whose rest the handler has not seen */
} spin_send_t;
/* Flag: what the handler sees of a longer frame may be sent as a frame of its own. */
#define SPIN_SEND_UNSEEN 1u

/* Would these bytes be a cut frame? They end where the packet slot ends, and the frame goes on. */
SPIN_INLINE bool spin_send_is_cut(const void *frame, uint32_t length) {
    return (uint32_t)frame + length == SPIN_REGION_PACKET + SPIN_PACKET_BYTES &&
           ((const spin_task_t *)SPIN_REGION_TASK)->frame_len > SPIN_PACKET_BYTES;
}
/* Sends bytes as a frame. Without SPIN_SEND_UNSEEN in `flags`, a frame that would be cut is not sent. */
SPIN_INLINE spin_send_t spin_send_packet_flags(const void *frame, uint32_t length, uint32_t flags) {
    if (!(flags & SPIN_SEND_UNSEEN) && spin_send_is_cut(frame, length)) {
        return SPIN_SEND_CUT;
    }
    spin_before_command(frame);
    *spin_command_word(SPIN_CMD_SOURCE) = (uint32_t)frame;
    *spin_command_word(SPIN_CMD_LENGTH) = length;
    spin_issue(SPIN_OP_SEND_PACKET);
    return SPIN_SEND_OK;
}
/* Sends bytes as a frame, unless that would be cut. */
SPIN_INLINE spin_send_t spin_send_packet(const void *frame, uint32_t length) { return spin_send_packet_flags(frame, length, 0); }
/* Hands this task's packet, as it was received, to the RVMA path. */
SPIN_INLINE void spin_place(void) { spin_issue(SPIN_OP_PLACE); }
/* Puts this task's payload, as it was received, into a mailbox of the context's process, at an offset of its buffer: as a message of its own, which
 * shows no key. A managed mailbox chooses the place itself. A packet is placed once: of its handlers' spin_place and spin_redirect the first one counts. */
SPIN_INLINE void spin_redirect(uint64_t mailbox, uint32_t offset) {
    spin_command(SPIN_OP_REDIRECT, (const void *)0, offset, mailbox);
}

/* A place in a mailbox of another node. */
typedef struct {
    uint32_t node;    /* of the node table */
    uint32_t process;
    uint64_t mailbox; /* its address, the match bits of handlers there */
    uint32_t key;
    uint32_t offset;  /* in the mailbox's buffer */
} spin_target_t;

SPIN_INLINE void spin_put_to(const spin_target_t *to) {
    *spin_command_word(SPIN_CMD_NODE) = to->node | to->process << 16;
    *spin_command_word(SPIN_CMD_KEY) = to->key;
    *spin_command_word(SPIN_CMD_OFFSET) = to->offset;
}
/* Puts bytes there, as a message, once: nobody acknowledges them. */
SPIN_INLINE void spin_put(const spin_target_t *to, const void *bytes, uint32_t length) {
    spin_put_to(to);
    spin_command(SPIN_OP_PUT, bytes, length, to->mailbox);
}
/* Puts bytes of host memory there, from an offset in the context's host region on. */
SPIN_INLINE void spin_put_host(const spin_target_t *to, uint32_t host_offset, uint32_t length) {
    spin_put_to(to);
    spin_command(SPIN_OP_PUT_HOST, (const void *)host_offset, length, to->mailbox);
}
/* Puts bytes of context memory there, as many as it has, from a multiple of 4 on; reliably, if the NIC is set up for that. They are read whenever they are sent, and
 * sent again until they have been acknowledged: no handler may change them before the command is over. */
SPIN_INLINE void spin_put_context(const spin_target_t *to, const void *bytes, uint32_t length) {
    spin_put_to(to);
    spin_command(SPIN_OP_PUT_CONTEXT, bytes, length, to->mailbox);
}
/* Fetches bytes from there into a mailbox of this node. */
SPIN_INLINE void spin_get(const spin_target_t *from, uint32_t length, uint64_t mailbox, uint32_t key, uint32_t offset) {
    spin_put_to(from);
    spin_command_words(SPIN_CMD_OTHER_LO, SPIN_CMD_OTHER_HI, mailbox);
    *spin_command_word(SPIN_CMD_RESULT_LO) = key;
    spin_command(SPIN_OP_GET, (const void *)offset, length, from->mailbox);
}

/* ---- The host: offsets are in the context's host region --------------------------------------------------------------------- */

/* Writes bytes there. */
SPIN_INLINE void spin_dma_to_host(uint32_t offset, const void *bytes, uint32_t length) {
    spin_command(SPIN_OP_DMA_TO_HOST, bytes, length, offset);
}
/* Reads bytes from there. */
SPIN_INLINE void spin_dma_from_host(void *bytes, uint32_t offset, uint32_t length) {
    spin_command(SPIN_OP_DMA_FROM_HOST, bytes, length, offset);
}

/* What the last atomic operation on host memory found; valid when it is over. */
SPIN_INLINE uint64_t spin_host_result(void) {
    uint32_t low = *spin_command_word(SPIN_CMD_RESULT_LO);
    return (uint64_t)*spin_command_word(SPIN_CMD_RESULT_HI) << 32 | low;
}
/* Adds to a number of `length` bytes (4 or 8), which is aligned to its length. */
SPIN_INLINE void spin_host_add(uint32_t offset, uint32_t length, uint64_t value) {
    spin_command_words(SPIN_CMD_KEY, SPIN_CMD_OFFSET, value);
    spin_command(SPIN_OP_HOST_ADD, (const void *)0, length, offset);
}
/* The number becomes `wanted` if it is `expected`. */
SPIN_INLINE void spin_host_compare_swap(uint32_t offset, uint32_t length, uint64_t expected, uint64_t wanted) {
    spin_command_words(SPIN_CMD_KEY, SPIN_CMD_OFFSET, wanted);
    spin_command_words(SPIN_CMD_OTHER_LO, SPIN_CMD_OTHER_HI, expected);
    spin_command(SPIN_OP_HOST_CAS, (const void *)0, length, offset);
}

/* Writes an event with these numbers into the event ring of the context's process. */
SPIN_INLINE void spin_event(uint32_t length, uint64_t user) { spin_command(SPIN_OP_EVENT, (const void *)0, length, user); }
/* Tells the host that a message is done whose end a handler had put off with a PENDING code. */
SPIN_INLINE void spin_complete(uint32_t length, uint64_t user) {
    spin_command(SPIN_OP_COMPLETE, (const void *)0, length, user);
}

#endif
