/* Kernel: copies the packet to the scratchpad, word by word. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint32_t *from = (const uint32_t *)spin_packet(h);
    uint32_t *to = (uint32_t *)spin_scratch();
    uint32_t words = h->packet_len / 4;
    for (uint32_t i = 0; i < words; i++) {
        to[i] = from[i];
    }
    return SPIN_PROCESS_DATA;
}
