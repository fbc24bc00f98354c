/* Adds every message to a vector in host memory (little-endian words of 32 bits), starting at the message's offset in the host region,
 * packet by packet, in any order. Each packet reads the words of the region, adds its own, and writes the sums back; messages may
 * overlap. Packets that end outside the region are dropped. */
#include "spin_update.h"

static spin_update_t update;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t offset = p->buf_off + p->msg_off;
    if (!spin_whole_frame(p) || (offset | p->payload_len) % 4) {
        return SPIN_DROP;
    }
    return spin_update_host(&update, SPIN_ADD32, offset, spin_payload(p), p->payload_len);
}
