/* Counts the messages of its window, reports each, and places them. */
#include "spindle.h"
#include "spin_atomic.h"

static volatile uint32_t counted = 5;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    uint32_t before = spin_amo_add(&counted, 1);
    spin_event(h->payload_len, 0x5350494E00000000ull | before);
    return SPIN_PROCEED;
}
