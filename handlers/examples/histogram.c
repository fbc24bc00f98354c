/* Counts the bytes of all payloads by value, in context memory. Each cluster has a row of its own, so that clusters do not contend for a
 * counter; the histogram is the sum of the rows. */
#include "spin_atomic.h"
#include "spindle.h"

enum { VALUES = 256, CLUSTERS = 8 };

uint32_t counts[CLUSTERS][VALUES];

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (!spin_whole_frame(p)) {
        return SPIN_DROP;
    }
    uint32_t *row = counts[p->cluster_id];
    const uint8_t *bytes = spin_payload(p);
    for (uint32_t i = 0; i < p->payload_len; i++) {
        spin_amo_add(&row[bytes[i]], 1);
    }
    return SPIN_SUCCESS;
}
