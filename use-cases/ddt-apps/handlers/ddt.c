/* Unpacks messages into host memory as a type of MPI describes: a message is a sequence of elements of the type, and the host has compiled
 * the type to a list of blocks. Packets may arrive in any order, and blocks may cross packets. */
#include "spindle.h"

enum { BLOCKS = 256 /* blocks of an element at most */ };

/* The host sets these: bytes of an element in the message, and from one to the next in memory; its blocks: where each begins in the
 * message, with the end of the last, and in memory. */
uint32_t size, extent, blocks;
uint32_t starts[BLOCKS + 1], offsets[BLOCKS];

/* The same in the scratchpad of a cluster: a word of context memory is twelve cycles away. */
typedef struct {
    volatile uint32_t known;
    uint32_t size, extent, blocks, starts[BLOCKS + 1], offsets[BLOCKS];
} type_t;

static type_t *type(void) {
    type_t *here = (type_t *)spin_scratch();
    if (__builtin_expect(!here->known, 0)) {
        /* Handlers that do this at the same time write the same values. */
        here->size = size;
        here->extent = extent;
        uint32_t count = blocks;
        here->blocks = count;
        for (uint32_t i = 0; i < count; i++) {
            here->starts[i] = starts[i];
            here->offsets[i] = offsets[i];
        }
        here->starts[count] = starts[count];
        here->known = 1;
    }
    return here;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    const type_t *t = type();
    uint32_t bytes = t->size, element = p->msg_off / bytes, last = (p->msg_off + p->payload_len - 1) / bytes;
    if (!spin_whole_frame(p) || ((uint64_t)last + 1) * t->extent > p->host_size) {
        return SPIN_DROP;
    }
    /* The block in which the packet begins. */
    uint32_t at = p->msg_off - element * bytes, block = 0, end = t->blocks;
    while (end - block > 1) {
        uint32_t middle = (block + end) / 2;
        if (t->starts[middle] <= at) {
            block = middle;
        } else {
            end = middle;
        }
    }
    uint32_t base = element * t->extent, from = p->payload;
    for (uint32_t left = p->payload_len; left;) {
        uint32_t length = t->starts[block + 1] - at;
        length = length < left ? length : left;
        spin_dma_to_host(base + t->offsets[block] + at - t->starts[block], spin_packet_address(from), length);
        from += length;
        left -= length;
        at += length;
        block++;
        if (block == t->blocks) {
            block = 0;
            at = 0;
            base += t->extent;
        }
    }
    /* The message is complete when its bytes are in host memory. */
    spin_wait();
    return SPIN_SUCCESS;
}
