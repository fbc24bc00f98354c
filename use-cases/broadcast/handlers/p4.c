/* A node of a binomial tree whose NIC does what triggered operations of Portals 4 do: the message is placed in host memory, and when its
 * last byte is there, the NIC puts it from host memory to the children. The host region is the buffer of the mailbox. The host sets
 * `rank`, the number of this node, `size`, the number of nodes, and the key of the mailboxes, which are alike at all nodes. */
#include "spindle.h"

uint32_t key, rank, size = 1;

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
    uint32_t self = rank, nodes = size, distance = 1;
    while (distance <= self) {
        distance *= 2;
    }
    spin_target_t child = {
        .process = task->dst_pid,
        .mailbox = (uint64_t)task->addr_hi << 32 | task->addr_lo,
        .key = key,
        .offset = task->buf_off,
    };
    /* The child with the largest tree of its own comes first. */
    for (; self + distance < nodes; distance *= 2) {
        child.node = self + distance;
        spin_put_host(&child, task->buf_off, task->msg_len);
    }
    return SPIN_SUCCESS;
}
