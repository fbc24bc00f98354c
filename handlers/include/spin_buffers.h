/* Buffers in the scratchpad. The handlers of a context share it in each cluster, so each takes a buffer while it needs one. A word of
 * memory that starts as zero says which are taken: bit b for buffer b.
 *
 *     uint32_t buffer = spin_take_buffer(word, task->hpu_id, task->scratch_size / SIZE);
 *     uint8_t *bytes = spin_scratch() + buffer * SIZE;
 *     ...
 *     spin_give_buffer(word, buffer);
 *
 * The word may lie in the scratchpad too; in context memory there is one for each cluster. Taking a free buffer and giving it back costs
 * about 30 cycles. */
#ifndef SPIN_BUFFERS_H
#define SPIN_BUFFERS_H

#include "spin_atomic.h"
#include "spindle.h"

/* The number of a buffer that is now this handler's, of `count` (1 to 32), from the one numbered `first` on; waits while none is free. */
SPIN_INLINE uint32_t spin_take_buffer(volatile uint32_t *taken, uint32_t first, uint32_t count) {
    for (uint32_t i = first;; i++) {
        uint32_t buffer = i % count;
        if (!(spin_amo_or(taken, 1u << buffer) >> buffer & 1)) {
            return buffer;
        }
        spin_yield();
    }
}
/* Nothing may be under way from or to the buffer: wait for its command first. */
SPIN_INLINE void spin_give_buffer(volatile uint32_t *taken, uint32_t buffer) { spin_amo_and(taken, ~(1u << buffer)); }

#endif
