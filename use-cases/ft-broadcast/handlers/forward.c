/* A node of a broadcast that survives dead nodes: each node is linked with those at the distances 1, 2, 4 ... in both directions (a
 * binomial graph), and passes a message on along all links when it comes for the first time: a bit for each message. The host gets each
 * message once: they are appended in its region. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    BYTES = 64,     /* of a message; its first word is its number */
    MESSAGES = 128, /* numbers are below */
};

/* The host sets these: this node, the number of nodes, a power of two, and the mailbox, which is alike at all nodes. */
uint32_t rank, size = 1;
spin_target_t peers;

static volatile uint32_t seen[MESSAGES / 32], delivered;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (p->msg_len != BYTES || p->payload_len != BYTES) {
        return SPIN_DROP;
    }
    uint8_t *message = spin_payload(p);
    uint32_t number = spin_load32(message), bit = 1u << number % 32;
    if (number >= MESSAGES) {
        return SPIN_DROP;
    }
    if (spin_amo_or(&seen[number / 32], bit) & bit) {
        return SPIN_DROP;
    }
    uint32_t place = spin_amo_add(&delivered, 1);
    if (place < p->host_size / BYTES) {
        spin_dma_to_host(place * BYTES, message, BYTES);
    }
    uint32_t self = rank, nodes = size, from = p->src_nid;
    spin_target_t to = peers;
    for (uint32_t distance = nodes / 2; distance; distance /= 2) {
        uint32_t up = (self + distance) & (nodes - 1), down = (self - distance) & (nodes - 1);
        if (up != from) {
            to.node = up;
            spin_put(&to, message, BYTES);
        }
        if (down != up && down != from) {
            to.node = down;
            spin_put(&to, message, BYTES);
        }
    }
    return SPIN_SUCCESS;
}
