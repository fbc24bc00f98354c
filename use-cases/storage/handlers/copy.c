/* Replication over storage nodes: each packet is written to host memory and put to the next nodes as it comes, in any order: to one, in a
 * ring, or to several, in a tree. The handler that writes the last byte of a write acknowledges this node's copy to the client. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    WRITES = 8, /* places in the host region */
    CHILDREN = 2,
};

/* The host sets these: the next nodes and how many they are, the client's mailbox of write 0 (that of write i has the address i higher),
 * and the binary logarithm of the bytes of a place. */
spin_target_t next[CHILDREN], client;
uint32_t children, place_log;

static volatile uint32_t written[WRITES];

/* The same in the scratchpad of a cluster: a word of context memory is twelve cycles away. */
typedef struct {
    volatile uint32_t known;
    uint32_t children, place_log;
    spin_target_t next[CHILDREN], client;
} local_t;

static local_t *local(void) {
    local_t *here = (local_t *)spin_scratch();
    if (__builtin_expect(!here->known, 0)) {
        /* Handlers that do this at the same time write the same values. */
        here->children = children;
        here->place_log = place_log;
        for (uint32_t i = 0; i < CHILDREN; i++) {
            here->next[i] = next[i];
        }
        here->client = client;
        here->known = 1;
    }
    return here;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    local_t *here = local();
    uint32_t offset = p->buf_off + p->msg_off, length = p->payload_len, write = offset >> here->place_log;
    if (!spin_whole_frame(p) || write >= WRITES) {
        return SPIN_DROP;
    }
    for (uint32_t i = 0; i < here->children; i++) {
        spin_target_t to = here->next[i];
        to.offset += offset;
        spin_put(&to, spin_payload(p), length);
    }
    spin_dma_to_host(offset, spin_payload(p), length);
    spin_handle_t store = spin_handle();
    spin_wait_for(store);
    if (spin_failed(store)) {
        return SPIN_FAIL;
    }
    if (spin_amo_add(&written[write], length) + length == 1u << here->place_log) {
        written[write] = 0;
        /* The puts may still read the payload, but not the header in front of it: the acknowledgement is built there. */
        uint8_t *ack = spin_packet(p);
        spin_store32(ack, write);
        spin_store32(ack + 4, 1u << here->place_log);
        spin_target_t to = here->client;
        to.mailbox += write;
        spin_put(&to, ack, 8);
    }
    return SPIN_SUCCESS;
}
