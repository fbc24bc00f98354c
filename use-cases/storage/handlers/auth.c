/* Storage node that checks capabilities. A write begins with a capability and its tag, under a key that the client does not know:
 * SipHash-2-4, or Chaskey-12, which is made for processors of 32 bits. A message whose capability is genuine and allows this write is
 * placed in its mailbox, header and data, by the NIC; of any other no byte is. The write is acknowledged when it is in host memory. */
#include "spindle.h"
#include "tags.h"

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
