/* Adds sparse vectors of all nodes at one NIC. A node puts its pairs of place and value (32 bits each, little-endian) as messages of one
 * packet; a handler adds each value to its place in context memory. The handler of the last message of a turn puts the sum, dense, to all
 * nodes.
 *
 * Turns use three vectors in turn: while one takes values, each handler clears its share of the next one, whose sum has been at all nodes
 * since the turn before the last. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    WORDS = 4096, /* of the vector */
    TURNS = 3,
    NODES = 16,
};

/* The host sets these: the number of nodes, the messages of each in a turn (32 at most), and the mailbox of the sum, which is alike at
 * all nodes. */
uint32_t nodes, messages;
spin_target_t result;

static volatile uint32_t sums[TURNS][WORDS];
static volatile uint32_t claimed[NODES], added, turn;

struct pair {
    uint32_t place, value;
};

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t number = p->buf_off & 0xff, count = p->payload_len / sizeof(struct pair), now = turn;
    if (p->payload_len != p->msg_len || p->payload_len % sizeof(struct pair) || p->buf_off >> 8 != now) {
        return SPIN_DROP;
    }
    if (number >= messages || p->src_nid >= nodes) {
        return SPIN_DROP;
    }
    if (spin_amo_or(&claimed[p->src_nid], 1u << number) >> number & 1) {
        return SPIN_DROP;
    }
    volatile uint32_t *sum = sums[now % TURNS], *next = sums[(now + 1) % TURNS];
    const struct pair *pairs = (const struct pair *)spin_payload(p);
    for (uint32_t i = 0; i < count; i++) {
        if (pairs[i].place < WORDS) {
            spin_amo_add(&sum[pairs[i].place], pairs[i].value);
        }
    }
    uint32_t all = nodes * messages, share = (WORDS + all - 1) / all;
    uint32_t from = (number * nodes + p->src_nid) * share, end = from + share < WORDS ? from + share : WORDS;
    for (uint32_t i = from; i < end; i++) {
        next[i] = 0;
    }
    /* The values and zeros are there before the message counts. */
    spin_fence();
    if (spin_amo_add(&added, 1) + 1 < all) {
        return SPIN_SUCCESS;
    }
    for (uint32_t node = 0; node < nodes; node++) {
        claimed[node] = 0;
    }
    added = 0;
    turn = now + 1;
    spin_fence();
    spin_target_t to = result;
    for (to.node = 0; to.node < nodes; to.node++) {
        spin_put_context(&to, (const void *)sum, sizeof sums[0]);
    }
    return SPIN_SUCCESS;
}
