/* Answers a message of one packet, an array of 32-bit numbers, with their sum. */
#include "spindle.h"

uint32_t key;

int payload_handler(const spin_payload_t *p, void *state) {
    uint32_t *numbers = (uint32_t *)spin_payload(p);
    uint32_t sum = 0;
    (void)state;
    if (p->payload_len != p->msg_len || p->msg_len % 4) {
        return SPIN_FAIL;
    }
    for (uint32_t i = 0; i < p->payload_len / 4; i++) {
        sum += numbers[i];
    }
    /* The answer leaves from the packet, in the place of the first number. */
    numbers[0] = sum;
    spin_target_t sender = {
        .node = p->src_nid,
        .process = p->src_pid,
        .mailbox = (uint64_t)p->addr_hi << 32 | p->addr_lo,
        .key = key,
    };
    spin_put(&sender, numbers, sizeof sum);
    return SPIN_SUCCESS;
}
