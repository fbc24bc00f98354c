/* Adds the words of all packets to a counter in the scratchpad of the cluster. */
#include "load.h"

void add(handler_args_t *args) {
    const uint32_t *words = (const uint32_t *)data(args);
    uint32_t count = bytes(args) / 4, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += words[i];
    }
    amo_add(args->task->scratchpad[args->cluster_id], (int32_t)sum);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)hh;
    (void)th;
    (void)handler_mem_ptr;
    *ph = add;
}
