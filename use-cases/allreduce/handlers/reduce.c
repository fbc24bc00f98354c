/* Sums vectors of all nodes at one NIC (integers of 32 bits, little-endian). Each node puts a segment of its vector with the number of a
 * slot of this cluster's scratchpad. A handler adds the segment to the slot, by COMBINE; the one that adds the last contribution puts the
 * sum to all nodes. The rule of the context has one value of the low half of the address for each cluster; the high half is the place of
 * the segment in the result, in bytes.
 *
 * A slot takes segments in turns. A node may send the segment of the next turn when it has the sum of the last one. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    SEGMENT = 1408, /* bytes of a segment at most */
    SLOTS = 5,
};

/* The host sets these: the number of nodes, the bytes of the result, and its mailbox, which is alike at all nodes. */
uint32_t nodes, bytes;
spin_target_t result;

struct scratch {
    struct { volatile uint32_t turn, claimed, added, spare; } slots[SLOTS];
    uint8_t sums[SLOTS][SEGMENT];
};

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    struct scratch *s = (struct scratch *)spin_scratch();
    uint32_t number = p->buf_off & 0xff, turn = p->buf_off >> 8, place = p->addr_hi, length = p->payload_len;
    uint32_t all = nodes, end = bytes;
    if (length != p->msg_len || length > SEGMENT || (length | place) % 4 || place > end || length > end - place) {
        return SPIN_DROP;
    }
    if (number >= SLOTS || p->src_nid >= all || s->slots[number].turn != turn) {
        return SPIN_DROP;
    }
    uint32_t own = 1u << p->src_nid;
    if (spin_amo_or(&s->slots[number].claimed, own) & own) {
        return SPIN_DROP;
    }
    uint8_t *sums = s->sums[number], *segment = spin_payload(p);
    spin_combine(SPIN_ADD32, sums, segment, length);
    /* Whoever adds the last one knows that all COMBINEs are issued, and what is issued after them comes after them. */
    if (spin_amo_add(&s->slots[number].added, 1) + 1 < all) {
        return SPIN_SUCCESS;
    }
    /* The sum moves to this packet, from where it leaves: the slot is free for the next turn. */
    spin_combine(SPIN_XOR, segment, segment, length);
    spin_combine(SPIN_ADD32, segment, sums, length);
    spin_combine(SPIN_XOR, sums, sums, SEGMENT);
    s->slots[number].added = 0;
    s->slots[number].claimed = 0;
    s->slots[number].turn = turn + 1;
    spin_target_t to = result;
    to.offset = place;
    for (to.node = 0; to.node < all; to.node++) {
        spin_put(&to, segment, length);
    }
    return SPIN_SUCCESS;
}
