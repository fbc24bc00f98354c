/* Data node of a RAID 4. Every message writes a part of a chunk: each packet, in any order, reads the old bytes from host memory, puts
 * their difference from the new ones to the parity node, and writes the new ones. The handler that writes the last byte of a chunk
 * acknowledges it to the client. Writes of the same bytes at the same time are the clients' to order. */
#include "spin_buffers.h"

enum {
    WRITES = 8,   /* chunks in the host region */
    PIECE = 1408, /* bytes of a packet at most: a full segment; a multiple of 64 */
    BUFFERS = 5,
    PIECES = 16, /* pieces of a chunk at most */
};

/* The host sets these: the parity block (that of cluster i of the parity node has the address i higher), the client's mailbox of write 0
 * (that of write i has the address i higher), the binary logarithm of a chunk's bytes, and the parity node's clusters less one. */
spin_target_t parity, client;
uint32_t chunk_log, clusters;

static volatile uint32_t written[WRITES];

/* What a cluster has in its scratchpad: the buffers of old bytes, which of them are taken, and the variables above, whose words are a
 * cycle away here and twelve in context memory. */
typedef struct {
    uint8_t buffers[BUFFERS][PIECE];
    volatile uint32_t taken, known;
    spin_target_t parity, client;
    uint32_t chunk_log, clusters;
} local_t;

static local_t *local(void) {
    local_t *here = (local_t *)spin_scratch();
    if (__builtin_expect(!here->known, 0)) {
        /* Handlers that do this at the same time write the same values. */
        here->parity = parity;
        here->client = client;
        here->chunk_log = chunk_log;
        here->clusters = clusters;
        here->known = 1;
    }
    return here;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    local_t *here = local();
    uint32_t offset = p->buf_off + p->msg_off, length = p->payload_len, write = offset >> here->chunk_log;
    /* place / PIECE: a product is faster. */
    uint32_t place = offset & ((1u << here->chunk_log) - 1), piece = (place / 128) * 745 >> 13;
    if (!spin_whole_frame(p) || length > PIECE || write >= WRITES || piece >= PIECES || piece * PIECE != place) {
        return SPIN_DROP;
    }
    uint32_t number = spin_take_buffer(&here->taken, p->hpu_id, BUFFERS);
    uint8_t *difference = here->buffers[number];
    spin_dma_from_host(difference, offset, length);
    spin_handle_t read = spin_handle();
    spin_target_t to = here->parity;
    to.mailbox += (write + piece) & here->clusters;
    to.offset += offset;
    spin_wait();
    bool done = !spin_failed(read);
    if (done) {
        /* The put reads the difference after the COMBINE has ended. */
        spin_combine(SPIN_XOR, difference, spin_payload(p), length);
        spin_put(&to, difference, length);
        spin_dma_to_host(offset, spin_payload(p), length);
        spin_handle_t store = spin_handle();
        spin_wait();
        done = !spin_failed(store);
    }
    spin_give_buffer(&here->taken, number);
    if (!done) {
        return SPIN_FAIL;
    }
    uint32_t chunk = 1u << here->chunk_log;
    if (spin_amo_add(&written[write], length) + length == chunk) {
        written[write] = 0;
        /* No command reads the packet any more: the acknowledgement is built in its first bytes. */
        uint8_t *bytes = spin_packet(p);
        spin_store32(bytes, write);
        spin_store32(bytes + 4, chunk);
        to = here->client;
        to.mailbox += write;
        spin_put(&to, bytes, 8);
    }
    return SPIN_SUCCESS;
}
