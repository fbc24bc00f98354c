/* Sums all words (little-endian, 32 bits) of every message and writes the sum to the host when the message is complete: a record of
 * eight bytes, sum and message id, in slot `id modulo slots` of the host region. The packets of a message add to one counter in context
 * memory, on whichever HPU they run. */
#include "spin_buffers.h"

enum { SLOTS = 256, CLUSTERS = 8 };

static uint32_t sums[SLOTS];
static volatile uint32_t taken[CLUSTERS];

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (!spin_whole_frame(p)) {
        return SPIN_DROP;
    }
    const spin_u32_alias_t *words = (const spin_u32_alias_t *)spin_payload(p);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < p->payload_len / 4; i++) {
        sum += words[i];
    }
    spin_amo_add(&sums[p->msg_slot], sum);
    return SPIN_SUCCESS;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    const spin_task_t *task = spin_task();
    uint32_t sum = spin_amo_swap(&sums[task->msg_slot], 0);
    uint32_t count = task->scratch_size / SPIN_BEAT_BYTES, records = task->host_size / 8;
    (void)flow_control_triggered;
    (void)state;
    if (dropped_bytes || !records || !count) {
        return SPIN_FAIL;
    }
    uint32_t buffer = spin_take_buffer(&taken[task->cluster_id], task->hpu_id, count < 32 ? count : 32);
    uint32_t *record = (uint32_t *)(spin_scratch() + buffer * SPIN_BEAT_BYTES);
    record[0] = sum;
    record[1] = task->msg_id;
    spin_dma_to_host(task->msg_id % records * 8, record, 8);
    spin_wait();
    spin_give_buffer(&taken[task->cluster_id], buffer);
    return SPIN_SUCCESS;
}
