/* Storage node that checks capabilities. A write begins with a capability and its tag, SipHash-2-4 under a key that the client does not
 * know. A message whose capability is genuine and allows this write is placed in its mailbox, header and data, by the NIC; of any other
 * no byte is. The write is acknowledged when it is in host memory. */
#include "spindle.h"

enum {
    WRITES = 8, /* places in the mailbox's buffer */
    RIGHT_WRITE = 2,
};

/* A capability: these bytes of the node, starting at this offset, may be written. */
struct request {
    uint32_t client, rights, offset, length, serial[4];
    uint32_t tag[2];
    uint32_t reserved[6];
};
SPIN_USER_HEADER(struct request);

/* The host sets these: the client's mailbox of write 0 (that of write i has the address i higher), the binary logarithm of the bytes of a
 * place, and the key of the tags. */
spin_target_t client;
uint32_t place_log;
uint32_t key[4];

static uint32_t acks[WRITES][2];

static uint64_t left(uint64_t x, unsigned bits) { return x << bits | x >> (64 - bits); }

/* The tag of the 32 bytes of a capability. */
static uint64_t tag_of(const uint32_t *words) {
    uint64_t k0 = (uint64_t)key[1] << 32 | key[0], k1 = (uint64_t)key[3] << 32 | key[2];
    uint64_t a = k0 ^ 0x736f6d6570736575u, b = k1 ^ 0x646f72616e646f6du, c = k0 ^ 0x6c7967656e657261u, d = k1 ^ 0x7465646279746573u;
    for (uint32_t block = 0; block < 6; block++) {
        /* Four blocks of data, one with the length, and the end. */
        uint64_t m = block < 4 ? (uint64_t)words[2 * block + 1] << 32 | words[2 * block] : block == 4 ? (uint64_t)32 << 56 : 0;
        d ^= m;
        if (block == 5) {
            c ^= 0xff;
        }
        for (uint32_t round = block == 5 ? 4 : 2; round; round--) {
            a += b;
            b = left(b, 13) ^ a;
            a = left(a, 32);
            c += d;
            d = left(d, 16) ^ c;
            a += d;
            d = left(d, 21) ^ a;
            c += b;
            b = left(b, 17) ^ c;
            c = left(c, 32);
        }
        a ^= m;
    }
    return a ^ b ^ c ^ d;
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const struct request *request = spin_user_header(h);
    if (!(request->rights & RIGHT_WRITE) || request->offset != h->buf_off || request->length != h->msg_len) {
        return SPIN_DROP;
    }
    uint64_t tag = tag_of(&request->client);
    if (((uint32_t)tag ^ request->tag[0]) | ((uint32_t)(tag >> 32) ^ request->tag[1])) {
        return SPIN_DROP;
    }
    return SPIN_PROCEED;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    const spin_task_t *task = spin_task();
    (void)flow_control_triggered;
    (void)state;
    uint32_t write = task->buf_off >> place_log;
    if (dropped_bytes || write >= WRITES) {
        return SPIN_SUCCESS;
    }
    acks[write][0] = write;
    acks[write][1] = task->msg_len;
    spin_target_t to = client;
    to.mailbox += write;
    spin_put(&to, acks[write], 8);
    return SPIN_SUCCESS;
}
