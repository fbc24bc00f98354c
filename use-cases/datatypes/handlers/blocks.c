/* Sends a strided array of host memory block by block, as a vector datatype of MPI describes it: block i of the message lies at
 * i * stride of the host region, and is a put of its own to its place in the target's window, which counts bytes. The host starts one
 * task with the message's bytes; it starts the others.
 *
 * The host sets the type and the target while no message is being sent, and the array reaches as far as the message. */
#include "spin_atomic.h"
#include "spindle.h"

/* Blocks that a task takes at a time. */
enum { TASKS = SPIN_WAITING_TASKS, BLOCKS = 8 };

uint32_t block_length = 100;
uint32_t stride = 256;
spin_target_t target;
static volatile uint32_t next;

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
    uint32_t block = block_length, step = stride, group = BLOCKS * block;
    for (uint32_t at = spin_amo_add(&next, group); at < bytes; at = spin_amo_add(&next, group)) {
        uint32_t end = bytes - at < group ? bytes : at + group, offset = at / block * step;
        for (; at < end; at += block, offset += step) {
            to.offset = at;
            spin_put_host(&to, offset, end - at < block ? end - at : block);
        }
    }
    spin_wait();
    return SPIN_SUCCESS;
}
