/* Adds vectors of 32-bit integers (little-endian), one packet each, and puts the sum to the next node of a tree. The low half of the
 * address has the number of the round, from bit 8 on, and the level in the tree. For each level that the node adds, the host sets how many
 * vectors there are, the node that gets the sum, and the high half of the address there: this handler's on the next level, or that of the
 * mailboxes of totals, whose low half is the round. MOST_LEVELS and SEGMENT_BYTES, the bytes of a vector at most, are macros of the
 * compilation.
 *
 * The handler runs in one cluster, whose scratchpad has the sums. A node sends the vector of the next round when it has the total of the
 * last one, which left this node before. */
#include "spin_atomic.h"
#include "spindle.h"

uint32_t key, inputs[MOST_LEVELS], nodes[MOST_LEVELS], highs[MOST_LEVELS];

struct scratch {
    struct { volatile uint32_t round, added; } levels[MOST_LEVELS];
    uint8_t sums[MOST_LEVELS][SEGMENT_BYTES];
};

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    struct scratch *s = (struct scratch *)spin_scratch();
    uint32_t level = p->addr_lo & 0xff, round = p->addr_lo >> 8, length = p->payload_len;
    if (level >= MOST_LEVELS || length != p->msg_len || length > SEGMENT_BYTES || length % 4 || s->levels[level].round != round) {
        return SPIN_DROP;
    }
    uint8_t *sums = s->sums[level];
    spin_combine(SPIN_ADD32, sums, spin_payload(p), length);
    /* Whoever adds the last one knows that all COMBINEs are issued, and what is issued after them comes after them. */
    if (spin_amo_add(&s->levels[level].added, 1) + 1 < inputs[level]) {
        return SPIN_SUCCESS;
    }
    uint32_t high = highs[level];
    spin_target_t to = {
        .node = nodes[level],
        .process = p->dst_pid,
        .mailbox = (uint64_t)high << 32 | (high == p->addr_hi ? p->addr_lo + 1 : round),
        .key = key,
        .offset = 0,
    };
    spin_put(&to, sums, length);
    /* The sum is read before the room of the next round is cleared. */
    spin_wait();
    spin_combine(SPIN_XOR, sums, sums, length);
    s->levels[level].added = 0;
    s->levels[level].round = round + 1;
    return SPIN_SUCCESS;
}
