/* Data node of a Reed-Solomon code. Every message writes a chunk: each packet, in any order, is put to all parity nodes and written to host
 * memory as it comes. The handler that writes the last byte of a chunk acknowledges it to the client. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    WRITES = 8,   /* places in the host region */
    PIECE = 1408, /* bytes of a packet at most: a full segment */
    PIECES = 16,  /* pieces of a chunk at most */
    PARITIES = 3, /* parity nodes at most */
};

/* The host sets these: the parity nodes' mailboxes (that of cluster i has the address i higher; the offset names this node) and how many
 * they are, the client's mailbox of write 0 (that of write i has the address i higher), the bytes of a chunk and the binary logarithm of
 * those of its place, and the clusters of the parity nodes less one. */
spin_target_t parity[PARITIES], client;
uint32_t parities, chunk, place_log, clusters;

static volatile uint32_t written[WRITES];

/* The same in the scratchpad of a cluster: a word of context memory is twelve cycles away. */
typedef struct {
    volatile uint32_t known;
    uint32_t parities, chunk, place_log, clusters;
    spin_target_t parity[PARITIES], client;
} local_t;

static local_t *local(void) {
    local_t *here = (local_t *)spin_scratch();
    if (__builtin_expect(!here->known, 0)) {
        /* Handlers that do this at the same time write the same values. */
        here->parities = parities;
        here->chunk = chunk;
        here->place_log = place_log;
        here->clusters = clusters;
        for (uint32_t i = 0; i < PARITIES; i++) {
            here->parity[i] = parity[i];
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
    /* place / PIECE: a product is faster. */
    uint32_t place = offset & ((1u << here->place_log) - 1), piece = (place / 128) * 745 >> 13;
    if (!spin_whole_frame(p) || write >= WRITES || piece >= PIECES || piece * PIECE != place || length > PIECE ||
        place + length > here->chunk) {
        return SPIN_DROP;
    }
    for (uint32_t i = 0; i < here->parities; i++) {
        spin_target_t to = here->parity[i];
        to.mailbox += (write + piece) & here->clusters;
        to.offset += offset;
        spin_put(&to, spin_payload(p), length);
    }
    spin_dma_to_host(offset, spin_payload(p), length);
    spin_handle_t store = spin_handle();
    spin_wait_for(store);
    if (spin_failed(store)) {
        return SPIN_FAIL;
    }
    if (spin_amo_add(&written[write], length) + length == here->chunk) {
        written[write] = 0;
        /* The puts may still read the payload, but not the header in front of it: the acknowledgement is built there. */
        uint8_t *ack = spin_packet(p);
        spin_store32(ack, write);
        spin_store32(ack + 4, here->chunk);
        spin_target_t to = here->client;
        to.mailbox += write;
        spin_put(&to, ack, 8);
    }
    return SPIN_SUCCESS;
}
