/* Parity node of a RAID 4: handlers/examples/parity.c with an acknowledgement. Every message is the difference of old and new bytes of a
 * data node and is added to the parity block in host memory. The handler that adds the last byte of a write, which has a chunk on each
 * of four data nodes, acknowledges the write to the client. */
#include "spin_update.h"

enum {
    WRITES = 8, /* chunks in the host region */
    NODES = 4,  /* data nodes */
};

/* The host sets these: the client's mailbox of write 0 (that of write i has the address i higher), and the binary logarithm of a chunk's
 * bytes. */
spin_target_t client;
uint32_t chunk_log;

static spin_update_t update;
static volatile uint32_t added[WRITES];

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t offset = p->buf_off + p->msg_off, length = p->payload_len, write = offset >> chunk_log;
    if (!spin_whole_frame(p) || write >= WRITES) {
        return SPIN_DROP;
    }
    int result = spin_update_host(&update, SPIN_XOR, offset, spin_payload(p), length);
    if (result != SPIN_SUCCESS) {
        return result;
    }
    uint32_t bytes = NODES << chunk_log;
    if (spin_amo_add(&added[write], length) + length == bytes) {
        added[write] = 0;
        /* No command reads the packet any more: the acknowledgement is built in its first bytes. */
        uint8_t *ack = spin_packet(p);
        spin_store32(ack, write);
        spin_store32(ack + 4, bytes);
        spin_target_t to = client;
        to.mailbox += write;
        spin_put(&to, ack, 8);
    }
    return SPIN_SUCCESS;
}
