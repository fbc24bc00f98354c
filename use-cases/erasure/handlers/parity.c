/* Parity node of a Reed-Solomon code. Every message is a piece of a chunk of a data node, which the offset names; the other data nodes put
 * the same piece of theirs. Each is multiplied by its node's coefficient in GF(2^8) and added, by COMBINE.
 *
 * There is a context with this handler for each cluster, and all contributions to a piece go to the same one, so they meet in its
 * scratchpad. The first one to come takes a slot, which is zeros; the last one writes the sum to the host and clears the slot. A piece that
 * finds no slot is added in host memory, one contribution at a time; the first one overwrites what an earlier write has left.
 */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    WRITES = 8,   /* places in the host region */
    NODES = 6,    /* data nodes at most */
    PIECE = 1408, /* bytes of a piece at most: a full segment */
    PIECES = 16,  /* pieces of a chunk at most */
    SLOTS = 2,    /* slots of a cluster */
    TAIL = 512,
    SOURCE_SHIFT = 24,
    /* State of a piece: where it is added (the bit of its slot, or IN_HOST), for IN_HOST a lock and whether the sum has begun, and how many
     * contributions have come and have been added. */
    WHERE = 3,
    IN_HOST = 3,
    LOCKED = 4,
    BEGUN = 8,
    COME = 1 << 4,
    ADDED = 1 << 12,
};

/* Sums that find no slot pass through the tail. */
SPIN_TAILROOM(TAIL);

/* The host sets these: the client's mailbox of write 0 (that of write i has the address i higher), the data nodes and the coefficient of
 * each, the bytes of a chunk and the binary logarithm of those of its place, the contexts less one, and how many bytes of a chunk are in
 * the pieces whose number has this remainder. */
spin_target_t client;
uint32_t nodes, coefficients[NODES], chunk, place_log, clusters, shares[4];

/* What a cluster has in its scratchpad, whose words are a cycle away, and those of context memory twelve: the variables above, which slots
 * are taken, the bytes of each write that are in the host's memory, and the state of pieces. */
typedef struct {
    volatile uint32_t taken, known;
    spin_target_t client;
    uint32_t nodes, coefficients[NODES], chunk, place_log, clusters, shares[4];
    volatile uint32_t stored[WRITES], pieces[WRITES][PIECES];
    uint8_t slots[SLOTS][PIECE] __attribute__((aligned(64)));
} local_t;

static local_t *local(void) {
    local_t *here = (local_t *)spin_scratch();
    if (__builtin_expect(!here->known, 0)) {
        /* Handlers that do this at the same time write the same values. */
        here->client = client;
        here->nodes = nodes;
        for (uint32_t i = 0; i < NODES; i++) {
            here->coefficients[i] = coefficients[i];
        }
        here->chunk = chunk;
        here->place_log = place_log;
        here->clusters = clusters;
        for (uint32_t i = 0; i < 4; i++) {
            here->shares[i] = shares[i];
        }
        here->known = 1;
    }
    return here;
}

/* The bit of a slot, 0 if none is free. */
static uint32_t take(local_t *here) {
    for (uint32_t slot = 1; slot < 1u << SLOTS; slot <<= 1) {
        if (!(spin_amo_or(&here->taken, slot) & slot)) {
            return slot;
        }
    }
    return 0;
}

/* Gives a slot back as zeros: bytes xored with themselves. */
static void give(local_t *here, uint32_t slot, uint32_t length) {
    uint8_t *bytes = here->slots[__builtin_ctz(slot)];
    spin_combine(SPIN_XOR, bytes, bytes, length);
    spin_wait_for(spin_handle());
    spin_amo_and(&here->taken, ~slot);
}

static uint8_t *slot_of(local_t *here, uint32_t slot) { return here->slots[__builtin_ctz(slot)]; }

/* Where a piece is added, decided by its first contribution. */
static uint32_t begin(local_t *here, volatile uint32_t *piece) {
    uint32_t slot = take(here), where = slot ? slot : IN_HOST;
    spin_amo_or(piece, where);
    return where;
}

/* Adds a contribution to the sum in host memory. */
static bool add_in_host(volatile uint32_t *piece, uint32_t offset, uint32_t coefficient, const spin_payload_t *p) {
    uint32_t length = p->payload_len;
    uint8_t *sum = spin_payload(p), *old = spin_packet(p) + p->packet_len;
    /* x ^ (coefficient ^ 1) * x: the product takes the place of the payload. */
    spin_combine(spin_gf((uint8_t)(coefficient ^ 1)), sum, sum, length);
    uint32_t before;
    while ((before = spin_amo_or(piece, LOCKED | BEGUN)) & LOCKED) {
        spin_yield();
    }
    bool done = true;
    for (uint32_t at = 0; (before & BEGUN) && done && at < length; at += TAIL) {
        uint32_t bytes = length - at < TAIL ? length - at : TAIL;
        spin_dma_from_host(old, offset + at, bytes);
        spin_handle_t read = spin_handle();
        spin_wait();
        done = !spin_failed(read);
        spin_combine(SPIN_XOR, sum + at, old, bytes);
        spin_wait_for(spin_handle());
    }
    /* The write reads the sum after the COMBINE has ended. */
    spin_dma_to_host(offset, sum, length);
    spin_handle_t store = spin_handle();
    spin_wait();
    done = done && !spin_failed(store);
    spin_amo_and(piece, ~LOCKED);
    return done;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    local_t *here = local();
    uint32_t to = p->buf_off + p->msg_off, source = to >> SOURCE_SHIFT, offset = to & ((1u << SOURCE_SHIFT) - 1);
    uint32_t length = p->payload_len, write = offset >> here->place_log, place = offset & ((1u << here->place_log) - 1);
    /* place / PIECE: a product is faster. */
    uint32_t number = (place / 128) * 745 >> 13;
    if (!spin_whole_frame(p) || source >= here->nodes || write >= WRITES || number >= PIECES || number * PIECE != place ||
        length > PIECE || place + length > here->chunk) {
        return SPIN_DROP;
    }
    volatile uint32_t *piece = &here->pieces[write][number];
    uint32_t where = 0;
    bool done = true;
    if (!(spin_amo_add(piece, COME) / COME % 16)) {
        where = begin(here, piece);
    } else {
        while (!(where = *piece & WHERE)) {
            spin_yield();
        }
    }
    if (where == IN_HOST) {
        done = add_in_host(piece, offset, here->coefficients[source], p);
    } else {
        spin_combine(spin_gf((uint8_t)here->coefficients[source]), slot_of(here, where), spin_payload(p), length);
    }
    if (spin_amo_add(piece, ADDED) / ADDED + 1 == here->nodes) {
        if (where != IN_HOST) {
            /* The write reads the sum after the COMBINEs have ended. */
            spin_dma_to_host(offset, slot_of(here, where), length);
            spin_handle_t store = spin_handle();
            spin_wait();
            done = !spin_failed(store);
        }
        *piece = 0;
        uint32_t class = number & here->clusters;
        if (done && spin_amo_add(&here->stored[write], length) + length == here->shares[class]) {
            here->stored[write] = 0;
            /* No command reads the packet any more: the acknowledgement is built in its first bytes. */
            uint8_t *ack = spin_packet(p);
            spin_store32(ack, write);
            spin_store32(ack + 4, here->shares[class]);
            spin_target_t client = here->client;
            client.mailbox += write;
            client.offset += 8 * class;
            spin_put(&client, ack, 8);
        }
        if (where != IN_HOST) {
            give(here, where, length);
        }
    }
    return done ? SPIN_SUCCESS : SPIN_FAIL;
}
