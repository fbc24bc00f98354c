/* Data node of a RAID 4. Every message writes a part of a chunk: each packet, in any order, reads the old bytes from host memory, puts
 * their difference from the new ones to the parity node, and writes the new ones. The handler that writes the last byte of a chunk
 * acknowledges it to the client. Writes of the same bytes at the same time are the clients' to order. */
#include "spin_buffers.h"

enum {
    WRITES = 8,   /* chunks in the host region */
    PIECE = 1472, /* bytes of a packet at most; a multiple of 64 */
    CLUSTERS = 8,
};

/* The host sets these: the parity block, the client's mailbox of write 0 (that of write i has the address i higher), and the binary
 * logarithm of a chunk's bytes. */
spin_target_t parity, client;
uint32_t chunk_log;

static volatile uint32_t buffers[CLUSTERS], written[WRITES];

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t offset = p->buf_off + p->msg_off, length = p->payload_len, write = offset >> chunk_log;
    if (!spin_whole_frame(p) || length > PIECE || write >= WRITES) {
        return SPIN_DROP;
    }
    volatile uint32_t *taken = &buffers[p->cluster_id];
    uint32_t number = spin_take_buffer(taken, p->hpu_id, p->scratch_size / PIECE);
    uint8_t *difference = spin_scratch() + number * PIECE;
    spin_dma_from_host(difference, offset, length);
    spin_handle_t read = spin_handle();
    spin_wait();
    bool done = !spin_failed(read);
    if (done) {
        spin_target_t to = parity;
        to.offset += offset;
        /* The put reads the difference after the COMBINE has ended. */
        spin_combine(SPIN_XOR, difference, spin_payload(p), length);
        spin_put(&to, difference, length);
        spin_dma_to_host(offset, spin_payload(p), length);
        spin_handle_t store = spin_handle();
        spin_wait();
        done = !spin_failed(store);
    }
    spin_give_buffer(taken, number);
    if (!done) {
        return SPIN_FAIL;
    }
    uint32_t chunk = 1u << chunk_log;
    if (spin_amo_add(&written[write], length) + length == chunk) {
        written[write] = 0;
        /* No command reads the packet any more: the acknowledgement is built in its first bytes. */
        uint8_t *bytes = spin_packet(p);
        spin_store32(bytes, write);
        spin_store32(bytes + 4, chunk);
        spin_target_t to = client;
        to.mailbox += write;
        spin_put(&to, bytes, 8);
    }
    return SPIN_SUCCESS;
}
