/* Storage node that checks capabilities. A write begins with a capability and its tag, under a key that the client does not know:
 * SipHash-2-4, or Chaskey-12, which is made for processors of 32 bits. A message whose capability is genuine and allows this write is
 * placed in its mailbox, header and data, by the NIC; of any other no byte is. The write is acknowledged when it is in host memory. */
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
 * place, whether tags are Chaskey's, and the key of the tags. */
spin_target_t client;
uint32_t place_log, chaskey;
uint32_t key[4];

/* The same in the scratchpad of a cluster, where a word is a cycle away instead of twelve, and acknowledgements. */
typedef struct {
    uint32_t acks[WRITES][2];
    volatile uint32_t known;
    uint32_t place_log, chaskey, key[4];
    spin_target_t client;
} local_t;

static local_t *local(void) {
    local_t *here = (local_t *)spin_scratch();
    if (__builtin_expect(!here->known, 0)) {
        /* Handlers that do this at the same time write the same values. */
        here->place_log = place_log;
        here->chaskey = chaskey;
        for (uint32_t i = 0; i < 4; i++) {
            here->key[i] = key[i];
        }
        here->client = client;
        here->known = 1;
    }
    return here;
}

static uint64_t left(uint64_t x, unsigned bits) { return x << bits | x >> (64 - bits); }
static uint32_t turn(uint32_t x, unsigned bits) { return x << bits | x >> (32 - bits); }

/* SipHash-2-4 of the 32 bytes of a capability: 14 rounds of 50 instructions, since each half of a number takes its own. */
static uint64_t siphash(const uint32_t *key, const uint32_t *words) {
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

/* The first 64 bits of Chaskey-12 of the 32 bytes of a capability: 24 rounds of 14 instructions. */
static uint64_t chaskey_of(const uint32_t *key, const uint32_t *words) {
    /* The last block is a whole one: the key doubled in GF(2^128) goes in before and after its rounds. */
    uint32_t last[4] = {key[0] << 1 ^ (key[3] >> 31) * 0x87, key[1] << 1 | key[0] >> 31, key[2] << 1 | key[1] >> 31,
                        key[3] << 1 | key[2] >> 31};
    uint32_t a = key[0] ^ words[0], b = key[1] ^ words[1], c = key[2] ^ words[2], d = key[3] ^ words[3];
    for (uint32_t block = 0;; block++) {
        for (uint32_t round = 0; round < 12; round++) {
            a += b;
            b = turn(b, 5) ^ a;
            a = turn(a, 16);
            c += d;
            d = turn(d, 8) ^ c;
            a += d;
            d = turn(d, 13) ^ a;
            c += b;
            b = turn(b, 7) ^ c;
            c = turn(c, 16);
        }
        if (block) {
            return (uint64_t)(b ^ last[1]) << 32 | (a ^ last[0]);
        }
        a ^= words[4] ^ last[0];
        b ^= words[5] ^ last[1];
        c ^= words[6] ^ last[2];
        d ^= words[7] ^ last[3];
    }
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const struct request *request = spin_user_header(h);
    if (!(request->rights & RIGHT_WRITE) || request->offset != h->buf_off || request->length != h->msg_len) {
        return SPIN_DROP;
    }
    local_t *here = local();
    /* The words of the capability, which need not be aligned, and are read once. */
    uint32_t words[8];
    for (uint32_t i = 0; i < 8; i++) {
        words[i] = spin_load32(&request->client + i);
    }
    uint64_t tag = here->chaskey ? chaskey_of(here->key, words) : siphash(here->key, words);
    if (((uint32_t)tag ^ request->tag[0]) | ((uint32_t)(tag >> 32) ^ request->tag[1])) {
        return SPIN_DROP;
    }
    return SPIN_PROCEED;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    const spin_task_t *task = spin_task();
    (void)flow_control_triggered;
    (void)state;
    local_t *here = local();
    uint32_t write = task->buf_off >> here->place_log;
    if (dropped_bytes || write >= WRITES) {
        return SPIN_SUCCESS;
    }
    uint32_t *ack = here->acks[write];
    ack[0] = write;
    ack[1] = task->msg_len;
    spin_target_t to = here->client;
    to.mailbox += write;
    spin_put(&to, ack, 8);
    return SPIN_SUCCESS;
}
