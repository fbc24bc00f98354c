/* Partitions UDP packets: the first four bytes of a payload (big-endian) are its key. The hash of the key selects one of `parts` mailboxes
 * of the context's process, with consecutive addresses from `first` on, which receives the whole payload. Managed mailboxes pack the
 * payloads and complete each full buffer. Packets without a key are dropped. */
#include "spindle.h"

uint64_t first = 0x1000;
uint32_t parts = 4;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    if (h->payload_len < 4) {
        return SPIN_DROP;
    }
    uint32_t hash = spin_get32(spin_payload(h)) * 0x9e3779b1u;
    spin_redirect(first + (uint32_t)((uint64_t)hash * parts >> 32), 0);
    return SPIN_PROCESS_DATA;
}
