/* Sends a strided array of host memory as a vector datatype of MPI describes it: block i of the message lies at i * stride of the host
 * region. The host starts one task with the message's bytes; it starts the others, and each takes segment after segment: it has the
 * blocks read to a buffer, side by side, and puts the buffer to its place in the target's window. The window counts bytes.
 *
 * The host sets the type and the target while no message is being sent, and the array reaches as far as the message. */
#include "spin_buffers.h"
#include "spindle.h"

enum { TASKS = SPIN_WAITING_TASKS, SEGMENT = SPIN_SEGMENT_BYTES, CLUSTERS = 8 };

uint32_t block_length = 100;
uint32_t stride = 256;
spin_target_t target;
static volatile uint32_t next, taken[CLUSTERS];

/* Has the blocks of the message's bytes from `at` on read. */
static void gather(uint8_t *to, uint32_t at, uint32_t left) {
    uint32_t block = block_length, step = stride;
    uint32_t number = at / block, from = at - number * block;
    uint32_t offset = number * step + from, length = block - from;
    for (; left; left -= length, length = block) {
        length = length < left ? length : left;
        spin_dma_from_host(to, offset, length);
        to += length;
        offset += length + step - block;
    }
}

SPIN_INLINE uint32_t segment(uint32_t at, uint32_t bytes) { return bytes - at < SEGMENT ? bytes - at : SEGMENT; }

int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    uint32_t bytes = t->addr_lo;
    if (!t->addr_hi) {
        next = 0;
        spin_fence();
        for (uint32_t task = 1; task < TASKS; task++) {
            spin_start((uint64_t)task << 32 | bytes, 0);
        }
    }
    spin_target_t to = target;
    volatile uint32_t *word = &taken[t->cluster_id];
    uint32_t buffer = spin_take_buffer(word, t->hpu_id, t->scratch_size / (2 * SEGMENT));
    /* Two segments: one is read while the other one leaves. */
    uint8_t *now = spin_scratch() + 2 * buffer * SEGMENT, *then = now + SEGMENT;
    uint32_t at = spin_amo_add(&next, SEGMENT);
    if (at < bytes) {
        gather(now, at, segment(at, bytes));
    }
    while (at < bytes) {
        uint32_t ahead = spin_amo_add(&next, SEGMENT);
        spin_wait();
        to.offset = at;
        spin_put(&to, now, segment(at, bytes));
        uint8_t *other = then;
        then = now;
        now = other;
        if (ahead < bytes) {
            gather(now, ahead, segment(ahead, bytes));
        }
        at = ahead;
    }
    spin_wait();
    spin_give_buffer(word, buffer);
    return SPIN_SUCCESS;
}
