/* Ping-pong, streamed: puts every message back to its sender, packet by packet, without waiting for the rest. The payload goes to the
 * mailbox of the same address at the sender's node (the entry of that number in the node table) and process, at the same offset in its
 * buffer, with the key that the host has set. Each packet becomes a message of its own. */
#include "spin_buffers.h"

enum { BUFFER = 2048, CLUSTERS = 8 };

uint32_t key;

static volatile uint32_t taken[CLUSTERS];

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t count = p->scratch_size / BUFFER;
    if (!spin_whole_frame(p) || !count) {
        return SPIN_DROP;
    }
    uint32_t number = spin_take_buffer(&taken[p->cluster_id], p->hpu_id, count);
    uint8_t *buffer = spin_scratch() + number * BUFFER;
    spin_target_t sender = {
        .node = p->src_nid,
        .process = p->src_pid,
        .mailbox = (uint64_t)p->addr_hi << 32 | p->addr_lo,
        .key = key,
        .offset = p->buf_off + p->msg_off,
    };
    memcpy(buffer, spin_payload(p), p->payload_len);
    spin_put(&sender, buffer, p->payload_len);
    spin_handle_t put = spin_handle();
    spin_wait();
    spin_give_buffer(&taken[p->cluster_id], number);
    return spin_failed(put) ? SPIN_FAIL : SPIN_SUCCESS;
}
