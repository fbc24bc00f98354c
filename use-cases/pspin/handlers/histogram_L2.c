/* Counts the words of all packets by value, in a table for all clusters. */
#include "load.h"

enum { CLASSES = 1024 };

uint32_t counts[CLASSES];

void classify(handler_args_t *args) {
    const uint32_t *words = (const uint32_t *)data(args);
    uint32_t count = bytes(args) / 4;
    for (uint32_t i = 0; i < count; i++) {
        amo_add(&counts[words[i] % CLASSES], 1);
    }
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)hh;
    (void)th;
    (void)handler_mem_ptr;
    *ph = classify;
}
