/* Ping-pong, stored: a message of one packet is put back straight from the packet; of a longer one the payloads are gathered in host
 * memory, and the message is put back from there when it is complete. */
#include "spindle.h"

uint32_t key;

static void answer_to(const spin_task_t *task, spin_target_t *sender) {
    sender->node = task->src_nid;
    sender->process = task->src_pid;
    sender->mailbox = (uint64_t)task->addr_hi << 32 | task->addr_lo;
    sender->key = key;
    sender->offset = task->buf_off;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (p->payload_len == p->msg_len) {
        spin_target_t sender;
        answer_to(p, &sender);
        spin_put(&sender, spin_payload(p), p->payload_len);
        return SPIN_SUCCESS;
    }
    spin_dma_to_host(p->buf_off + p->msg_off, spin_payload(p), p->payload_len);
    /* The message is complete when its bytes are in host memory. */
    spin_wait();
    return SPIN_SUCCESS;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    const spin_task_t *task = spin_task();
    (void)flow_control_triggered;
    (void)state;
    if (dropped_bytes) {
        return SPIN_FAIL;
    }
    if (task->msg_len > SPIN_SEGMENT_BYTES) {
        spin_target_t sender;
        answer_to(task, &sender);
        spin_put_host(&sender, task->buf_off, task->msg_len);
    }
    return SPIN_SUCCESS;
}
