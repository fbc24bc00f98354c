/* Puts each packet of a message on to other nodes as it comes, from the packet buffer and reliably, to the mailbox of the same address. The
 * host sets `key`, the key of the mailboxes, and the `count` nodes. MOST_CHILDREN is a macro of the compilation. */
#include "spindle.h"

uint32_t key, count, nodes[MOST_CHILDREN];

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    /* Local copies: a variable is in context memory, and is read again after each command. */
    uint32_t left = count;
    const uint32_t *node = nodes;
    spin_target_t to = {
        .process = p->dst_pid,
        .mailbox = (uint64_t)p->addr_hi << 32 | p->addr_lo,
        .key = key,
        .offset = p->buf_off + p->msg_off,
    };
    for (; left; left--) {
        to.node = *node++;
        spin_put_packet(&to, spin_payload(p), p->payload_len);
    }
    return SPIN_SUCCESS;
}
