/* Sorts UDP packets into partitions: the first four bytes of a payload (big-endian) are its key, whose hash says into which of `parts` mailboxes of
 * the context's process it goes, whole. They lie at `first` and behind; managed ones pack the payloads, and tell their owner of each full buffer.
 * What has no key is dropped. */
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
