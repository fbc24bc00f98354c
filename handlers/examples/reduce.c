/* Sums messages element by element (little-endian words of 32 bits): the vector `sums` in context memory is the sum of all messages so far,
 * and `messages` their number. Packets may arrive in any order; packets that reach beyond the vector are dropped. */
#include "spin_atomic.h"
#include "spindle.h"

enum { ELEMENTS = 4096 };

uint32_t sums[ELEMENTS];
uint32_t messages;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t first = p->msg_off / 4, count = p->payload_len / 4;
    if (!spin_whole_frame(p) || p->msg_off % 4 || first > ELEMENTS || count > ELEMENTS - first) {
        return SPIN_DROP;
    }
    const spin_u32_alias_t *words = (const spin_u32_alias_t *)spin_payload(p);
    for (uint32_t i = 0; i < count; i++) {
        spin_amo_add(&sums[first + i], words[i]);
    }
    return SPIN_SUCCESS;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    (void)flow_control_triggered;
    (void)state;
    spin_amo_add(&messages, 1);
    return dropped_bytes ? SPIN_FAIL : SPIN_SUCCESS;
}
