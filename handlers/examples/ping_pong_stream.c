/* Ping-pong, streamed: puts every message back to its sender, packet by packet, without waiting for the rest. The payload goes to the
 * mailbox of the same address at the sender's node (the entry of that number in the node table) and process, at the same offset in its
 * buffer, with the key that the host has set. Each packet becomes a message of its own. */
#include "spindle.h"

uint32_t key;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (!spin_whole_frame(p)) {
        return SPIN_DROP;
    }
    spin_target_t sender = {
        .node = p->src_nid,
        .process = p->src_pid,
        .mailbox = (uint64_t)p->addr_hi << 32 | p->addr_lo,
        .key = key,
        .offset = p->buf_off + p->msg_off,
    };
    spin_put(&sender, spin_payload(p), p->payload_len);
    spin_handle_t put = spin_handle();
    spin_wait();
    return spin_failed(put) ? SPIN_FAIL : SPIN_SUCCESS;
}
