/* Ping-pong from host memory, for messages of several packets: the handlers gather the payloads in host memory, in any order. When the
 * message is complete, the NIC puts it back from host memory as one message, to the mailbox of the same address at the
 * sender's node and process.
 * The host region holds a message of up to 8 KiB for each slot of the message table; messages that do not fit are dropped. */
#include "spindle.h"

enum { ROOM = 8192 };

uint32_t key;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    bool fits = h->msg_len <= ROOM && h->msg_slot < h->host_size / ROOM;
    return fits ? SPIN_PROCESS_DATA : SPIN_DROP;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (!spin_whole_frame(p)) {
        return SPIN_DROP;
    }
    spin_dma_to_host(p->msg_slot * ROOM + p->msg_off, spin_payload(p), p->payload_len);
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
    spin_target_t sender = {
        .node = task->src_nid,
        .process = task->src_pid,
        .mailbox = (uint64_t)task->addr_hi << 32 | task->addr_lo,
        .key = key,
        .offset = task->buf_off,
    };
    spin_put_host(&sender, task->msg_slot * ROOM, task->msg_len);
    spin_handle_t put = spin_handle();
    spin_wait();
    return spin_failed(put) ? SPIN_FAIL : SPIN_SUCCESS;
}
