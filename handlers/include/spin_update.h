/* Bytes of the host region that handlers read, combine with their own, and write back, on all clusters at once.
 *
 *     static spin_update_t update;
 *     ...
 *     return spin_update_host(&update, SPIN_ADD32, offset, bytes, length);
 *
 * No other update of the same host bytes through the same spin_update_t comes in between, wherever its handler runs. The
 * locks are bits, one for each SPIN_UPDATE_PIECE bytes, modulo SPIN_UPDATE_WORDS * 32 pieces: updates of different pieces
 * do not wait for each other. The data pass through a buffer in the scratchpad, of SPIN_UPDATE_BYTES bytes: a scratchpad
 * of 8 KiB has five. Bytes in the packet slot are overwritten if the order of the operands does not matter (all operations but
 * products with a constant other than 1): the sums are built there, and the buffer is free while the host takes them. */
#ifndef SPIN_UPDATE_H
#define SPIN_UPDATE_H

#include "spin_buffers.h"

enum {
    SPIN_UPDATE_BYTES = 1472, /* the payload of an Ethernet frame of 1500 bytes; a multiple of 64 */
    SPIN_UPDATE_PIECE = 128,
    SPIN_UPDATE_WORDS = 32,
    SPIN_UPDATE_CLUSTERS = 8,
};

/* What the updates of one host region share: a variable in context memory, zero at first. */
typedef struct {
    volatile uint32_t buffers[SPIN_UPDATE_CLUSTERS];
    volatile uint32_t pieces[SPIN_UPDATE_WORDS];
} spin_update_t;

/* Takes all these bits of a word, or waits until they are free. */
SPIN_INLINE void spin_update_take(volatile uint32_t *word, uint32_t bits) {
    for (;;) {
        uint32_t taken = spin_amo_or(word, bits) & bits;
        if (!taken) {
            return;
        }
        spin_amo_and(word, ~(bits & ~taken));
        spin_yield();
    }
}

/* The result of an operation of spin_combine is the same if both operands change places: it is no product, or one with 1. */
SPIN_INLINE bool spin_is_symmetric(uint32_t operation) {
    return (operation & ((1u << SPIN_GF_SHIFT) - 1)) != SPIN_GF || operation == SPIN_XOR;
}

/* host[offset ..] = host[offset ..] combined with bytes, at most SPIN_UPDATE_BYTES, by an operation of spin_combine. The
 * bytes are in the packet slot, the scratchpad or context memory. Waits for all commands of the handler. Returns
 * SPIN_SUCCESS; SPIN_DROP if the bytes are outside the host region, too many, or none; SPIN_FAIL if the host did not
 * answer. */
SPIN_INLINE int spin_update_host(spin_update_t *update, uint32_t operation, uint32_t offset, const void *bytes,
                                 uint32_t length) {
    const spin_task_t *task = (const spin_task_t *)SPIN_REGION_TASK;
    uint32_t size = task->host_size, buffers = task->scratch_size / SPIN_UPDATE_BYTES;
    if (!length || length > SPIN_UPDATE_BYTES || !buffers || offset > size || length > size - offset) {
        return SPIN_DROP;
    }
    /* At most twelve pieces, so bits of two words at most. The lower word comes first, so no two handlers wait for each
     * other; nor does a handler that has a buffer wait for bits. */
    uint32_t first = offset / SPIN_UPDATE_PIECE, last = (offset + length - 1) / SPIN_UPDATE_PIECE;
    uint32_t from = ~0u << first % 32, upto = ~0u >> (31 - last % 32);
    volatile uint32_t *low = &update->pieces[first / 32 % SPIN_UPDATE_WORDS];
    volatile uint32_t *high = &update->pieces[last / 32 % SPIN_UPDATE_WORDS];
    uint32_t low_bits = from, high_bits = upto;
    if (low == high) {
        low_bits = from & upto;
        high_bits = 0;
    } else if (low > high) {
        volatile uint32_t *other = low;
        low = high;
        high = other;
        low_bits = upto;
        high_bits = from;
    }
    spin_update_take(low, low_bits);
    if (high_bits) {
        spin_update_take(high, high_bits);
    }
    volatile uint32_t *taken = &update->buffers[task->cluster_id];
    uint32_t number = spin_take_buffer(taken, task->hpu_id, buffers < 32 ? buffers : 32);
    uint8_t *buffer = spin_scratch() + number * SPIN_UPDATE_BYTES;
    spin_dma_from_host(buffer, offset, length);
    spin_handle_t read = spin_handle();
    spin_wait();
    bool done = !spin_failed(read);
    if (done) {
        /* The write reads its bytes after the COMBINE has ended. */
        bool in_packet = ((uint32_t)bytes & 0xf0000000u) == SPIN_REGION_PACKET && spin_is_symmetric(operation);
        uint8_t *sums = in_packet ? (uint8_t *)(uintptr_t)bytes : buffer;
        spin_combine(operation, sums, in_packet ? buffer : bytes, length);
        spin_handle_t combine = spin_handle();
        spin_dma_to_host(offset, sums, length);
        spin_handle_t write = spin_handle();
        if (in_packet) {
            spin_wait_for(combine);
            spin_give_buffer(taken, number);
        }
        spin_wait();
        done = !spin_failed(write);
        if (!in_packet) {
            spin_give_buffer(taken, number);
        }
    } else {
        spin_give_buffer(taken, number);
    }
    if (high_bits) {
        spin_amo_and(high, ~high_bits);
    }
    spin_amo_and(low, ~low_bits);
    return done ? SPIN_SUCCESS : SPIN_FAIL;
}

#endif
