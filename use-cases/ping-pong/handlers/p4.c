/* Ping-pong as a triggered operation does it (Portals 4): the NIC places the message in host memory, and when the last byte is there,
 * puts the message back from host memory. No processor of the host takes part. */
#include "spindle.h"

uint32_t key;

int header_handler(const spin_header_t *h, void *state) {
    (void)h;
    (void)state;
    return SPIN_PROCEED;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    const spin_task_t *task = spin_task();
    (void)flow_control_triggered;
    (void)state;
    if (dropped_bytes) {
        return SPIN_FAIL;
    }
    spin_target_t sender = {
        .node = task->src_nid,
        .process = task->src_pid,
        .mailbox = (uint64_t)task->addr_hi << 32 | task->addr_lo,
        .key = key,
        .offset = task->buf_off,
    };
    /* The host region of the context is the mailbox's buffer. */
    spin_put_host(&sender, task->buf_off, task->msg_len);
    return SPIN_SUCCESS;
}
