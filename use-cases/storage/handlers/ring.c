/* Replication along a chain of storage nodes: each packet is written to host memory and put to the next node as it comes, in any order. The
 * handler that writes the last byte of a write acknowledges this node's copy to the client. */
#include "spin_atomic.h"
#include "spindle.h"

enum { WRITES = 8 /* places in the host region */ };

/* The host sets these: the next node, with key 0 at the end of the chain, the client's mailbox of write 0 (that of write i has the address
 * i higher), and the binary logarithm of the bytes of a place. */
spin_target_t next, client;
uint32_t place_log;

static volatile uint32_t written[WRITES];

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t offset = p->buf_off + p->msg_off, length = p->payload_len, write = offset >> place_log;
    if (!spin_whole_frame(p) || write >= WRITES) {
        return SPIN_DROP;
    }
    if (next.key) {
        spin_target_t to = next;
        to.offset += offset;
        spin_put(&to, spin_payload(p), length);
    }
    spin_dma_to_host(offset, spin_payload(p), length);
    spin_handle_t store = spin_handle();
    spin_wait();
    if (spin_failed(store)) {
        return SPIN_FAIL;
    }
    if (spin_amo_add(&written[write], length) + length == 1u << place_log) {
        written[write] = 0;
        /* No command reads the packet any more: the acknowledgement is built in its first bytes. */
        uint8_t *ack = spin_packet(p);
        spin_store32(ack, write);
        spin_store32(ack + 4, 1u << place_log);
        spin_target_t to = client;
        to.mailbox += write;
        spin_put(&to, ack, 8);
    }
    return SPIN_SUCCESS;
}
