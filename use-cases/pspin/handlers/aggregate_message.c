/* Adds the words of each message to a counter in its home cluster's scratchpad; its completion handler writes the sum to host memory. */
#include "load.h"

enum { MESSAGES = 256 };

static volatile uint32_t *counter(const task_t *task) {
    return (volatile uint32_t *)task->scratchpad[task->home_cluster_id] + task->flow_id % MESSAGES;
}

void add(handler_args_t *args) {
    const uint32_t *words = (const uint32_t *)data(args);
    uint32_t count = bytes(args) / 4, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += words[i];
    }
    amo_add(counter(args->task), (int32_t)sum);
}

void end(handler_args_t *args) {
    const task_t *task = args->task;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t write;
    spin_write_to_host(host + 8 * (task->flow_id % MESSAGES), amo_swap(counter(task), 0), &write);
    spin_cmd_wait(write);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)hh;
    (void)handler_mem_ptr;
    *ph = add;
    *th = end;
}
