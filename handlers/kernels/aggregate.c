/* Kernel: writes the sum and the maximum of the packet's words to the first words of the scratchpad. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint32_t *word = (const uint32_t *)spin_packet(h);
    uint32_t words = h->packet_len / 4, sum = 0, largest = 0;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t value = word[i];
        sum += value;
        largest = value > largest ? value : largest;
    }
    uint32_t *result = (uint32_t *)spin_scratch();
    result[0] = sum;
    result[1] = largest;
    return SPIN_PROCESS_DATA;
}
