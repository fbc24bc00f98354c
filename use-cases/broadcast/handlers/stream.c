/* A node of a binomial tree that passes each packet on as it comes: in round k, node i of the first 2^k nodes puts to node i + 2^k. The
 * payload goes to the mailbox of the same address, at the same offset in its buffer, from the packet buffer and reliably; the rule of the
 * context places the packet at this node, beside the handler. The host sets `rank`, the number of this node, `size`, the number of
 * nodes, and the key of the mailboxes, which are alike at all nodes. */
#include "spindle.h"

uint32_t key, rank, size = 1;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    /* Local copies: a variable is in context memory, and is read again after each command. */
    uint32_t self = rank, nodes = size, distance = 1;
    while (distance <= self) {
        distance *= 2;
    }
    spin_target_t child = {
        .process = p->dst_pid,
        .mailbox = (uint64_t)p->addr_hi << 32 | p->addr_lo,
        .key = key,
        .offset = p->buf_off + p->msg_off,
    };
    /* The child with the largest tree of its own comes first. */
    for (; self + distance < nodes; distance *= 2) {
        child.node = self + distance;
        spin_put_packet(&child, spin_payload(p), p->payload_len);
    }
    return SPIN_SUCCESS;
}
