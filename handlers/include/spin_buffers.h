/* Buffers in the scratchpad, which the handlers of a context share in each cluster. A handler allocates a buffer while it needs one. A
 * word of memory that starts as zero records the allocated buffers: bit b for buffer b.
 *
 *     uint32_t buffer = spin_take_buffer(word, task->hpu_id, task->scratch_size / SIZE);
 *     uint8_t *bytes = spin_scratch() + buffer * SIZE;
 *     ...
 *     spin_give_buffer(word, buffer);
 *
 * The word may be in the scratchpad; in context memory, use one word per cluster. Taking a free buffer and returning it costs about
 * 30 cycles. */
#ifndef SPIN_BUFFERS_H
#define SPIN_BUFFERS_H

#include "spin_atomic.h"
#include "spindle.h"

/* Allocates one of `count` (1 to 32) buffers, searching from number `first`, and returns its number. Waits while none is free. */
SPIN_INLINE uint32_t spin_take_buffer(volatile uint32_t *taken, uint32_t first, uint32_t count) {
    /* Not first % count: a division takes 33 cycles. */
    uint32_t buffer = first;
    while (buffer >= count) {
        buffer -= count;
    }
    while (spin_amo_or(taken, 1u << buffer) >> buffer & 1) {
        spin_yield();
        buffer = buffer + 1 < count ? buffer + 1 : 0;
    }
    return buffer;
}
/* Frees a buffer. No command may use it any more: wait for the command first. */
SPIN_INLINE void spin_give_buffer(volatile uint32_t *taken, uint32_t buffer) { spin_amo_and(taken, ~(1u << buffer)); }

#endif
