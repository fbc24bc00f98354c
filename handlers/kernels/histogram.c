/* Kernel: counts the packet's words by their low bits, in a table in the scratchpad, and sums them up. */
#include "spindle.h"

enum { BINS = 64 };

typedef struct { uint32_t count[BINS], sum; } histogram_t;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint32_t *word = (const uint32_t *)spin_packet(h);
    histogram_t *histogram = (histogram_t *)spin_scratch();
    uint32_t words = h->packet_len / 4, sum = histogram->sum;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t value = word[i];
        sum += value;
        histogram->count[value % BINS]++;
    }
    histogram->sum = sum;
    return SPIN_PROCESS_DATA;
}
