/* Kernel: looks up the packet's flow (the words of its IPv4 addresses and UDP ports) in a hash table in the scratchpad: sixteen buckets of
 * eight entries of four words, three of the flow and a verdict, which the handler returns. */
#include "spindle.h"

enum { BUCKETS = 16, ENTRIES = 8 };

typedef struct { uint32_t flow[3], verdict; } entry_t;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint32_t *frame = (const uint32_t *)spin_packet(h);
    uint32_t a = frame[7], b = frame[8], c = frame[9];
    uint32_t hash = a ^ b ^ c;
    hash ^= hash >> 16;
    hash ^= hash >> 8;
    const entry_t *entry = (const entry_t *)spin_scratch() + hash % BUCKETS * ENTRIES;
    for (const entry_t *end = entry + ENTRIES; entry != end; entry++) {
        if (((entry->flow[0] ^ a) | (entry->flow[1] ^ b) | (entry->flow[2] ^ c)) == 0) {
            return (int)entry->verdict;
        }
    }
    return SPIN_DROP;
}
