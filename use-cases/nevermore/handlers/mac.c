/* Lets a message pass only if its tag is genuine and its counter is higher than those of all before it; the NIC then places it. The key is
 * that of one sender. */
#include "spin_atomic.h"
#include "spindle.h"
#include "tags.h"

/* The whole message: the tag covers all other bytes of it. */
struct message {
    uint32_t node, counter, offset, length, data[4];
    uint32_t tag[2];
};
SPIN_USER_HEADER(struct message);

/* Set by the host. */
uint32_t key[4];

/* Counter that the next message must have at least. */
static volatile uint32_t least;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const struct message *message = spin_user_header(h);
    uint32_t words[8];
    for (uint32_t i = 0; i < 8; i++) {
        /* Read once: the message need not be aligned. */
        words[i] = spin_load32(&message->node + i);
    }
    uint32_t counter = words[1], offset = words[2], length = words[3];
    if (h->msg_len != sizeof *message || length != sizeof *message || offset != h->buf_off) {
        return SPIN_DROP;
    }
    uint64_t tag = chaskey_of(key, words);
    if (((uint32_t)tag ^ message->tag[0]) | ((uint32_t)(tag >> 32) ^ message->tag[1])) {
        return SPIN_DROP;
    }
    /* The check and the step are one: of two copies at the same time one passes. */
    return spin_amo_maxu(&least, counter + 1) <= counter ? SPIN_PROCEED : SPIN_DROP;
}
