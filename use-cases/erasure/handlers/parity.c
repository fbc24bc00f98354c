/* Parity node of a Reed-Solomon code. Every message is a piece of a chunk of a data node, which the offset names; the other data nodes put
 * the same piece of theirs. Each is multiplied by its node's coefficient in GF(2^8) and added, by COMBINE.
 *
 * Short chunks: there is a context with this handler for each cluster, and all contributions to a piece go to the same one, so they meet in
 * its scratchpad. The first one to come takes a slot and clears it; the last one writes the sum to the host. A piece that finds no slot is
 * added in host memory.
 *
 * Long chunks, for which the slots are too few: one context for all clusters, and every contribution is added in host memory, those of a
 * piece one at a time; slots are buffers for what is there. The first contribution overwrites what an earlier write has left. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    WRITES = 8,   /* places in the host region */
    NODES = 6,    /* data nodes at most */
    PIECE = 1408, /* bytes of a piece at most: a full segment */
    PIECES = 16,  /* pieces of a chunk at most */
    SLOTS = 5,    /* slots of a cluster at most: two or five */
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
 * each, the bytes of a chunk and the binary logarithm of those of its place, whether the slots of all clusters hold a chunk, the contexts
 * less one, and how many bytes of a chunk are in the pieces whose number has this remainder. */
spin_target_t client;
uint32_t nodes, coefficients[NODES], chunk, place_log, gather, clusters, shares[4];

static volatile uint32_t stored[WRITES], pieces[WRITES][PIECES];

/* What a cluster has at the start of its scratchpad, and after it the slots; words of context memory are twelve cycles away. */
typedef struct {
    volatile uint32_t taken, known;
    spin_target_t client;
    uint32_t nodes, coefficients[NODES], chunk, place_log, gather, clusters, shares[4], end[9];
    uint8_t slots[][PIECE];
} local_t;
_Static_assert(sizeof(local_t) % 64 == 0, "slots begin at multiples of 64");

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
        here->gather = gather;
        here->clusters = clusters;
        for (uint32_t i = 0; i < 4; i++) {
            here->shares[i] = shares[i];
        }
        here->known = 1;
    }
    return here;
}

/* The bit of a slot, 0 if none is free. */
static uint32_t take(local_t *here, uint32_t slots) {
    for (uint32_t slot = 1; slot < 1u << slots; slot <<= 1) {
        if (!(spin_amo_or(&here->taken, slot) & slot)) {
            return slot;
        }
    }
    return 0;
}

static void give(local_t *here, uint32_t slot) { spin_amo_and(&here->taken, ~slot); }

static uint8_t *slot_of(local_t *here, uint32_t slot) { return here->slots[__builtin_ctz(slot)]; }

/* Where a piece is added, decided by its first contribution. */
static uint32_t begin(local_t *here, volatile uint32_t *piece, uint32_t length) {
    uint32_t slot = here->gather ? take(here, 2) : 0;
    if (slot) {
        /* Bytes xored with themselves are zeros. COMBINEs of a cluster are one after the other. */
        spin_combine(SPIN_XOR, slot_of(here, slot), slot_of(here, slot), length);
    }
    uint32_t where = slot ? slot : IN_HOST;
    spin_amo_or(piece, where);
    return where;
}

/* Adds a contribution to the sum in host memory. */
static bool add_in_host(local_t *here, volatile uint32_t *piece, uint32_t offset, uint32_t coefficient, const spin_payload_t *p) {
    uint32_t length = p->payload_len;
    uint8_t *sum = spin_payload(p);
    /* x ^ (coefficient ^ 1) * x: the product takes the place of the payload. */
    spin_combine(spin_gf((uint8_t)(coefficient ^ 1)), sum, sum, length);
    uint32_t before;
    while ((before = spin_amo_or(piece, LOCKED | BEGUN)) & LOCKED) {
        spin_yield();
    }
    bool done = true;
    if (before & BEGUN) {
        /* The slot after the lock: no handler waits with a slot. */
        uint32_t slot = take(here, here->gather ? 2 : SLOTS), step = slot ? PIECE : TAIL;
        uint8_t *old = slot ? slot_of(here, slot) : spin_packet(p) + p->packet_len;
        for (uint32_t at = 0; done && at < length; at += step) {
            uint32_t bytes = length - at < step ? length - at : step;
            spin_dma_from_host(old, offset + at, bytes);
            spin_handle_t read = spin_handle();
            spin_wait();
            done = !spin_failed(read);
            spin_combine(SPIN_XOR, sum + at, old, bytes);
            spin_wait_for(spin_handle());
        }
        if (slot) {
            give(here, slot);
        }
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
    volatile uint32_t *piece = &pieces[write][number];
    uint32_t where = 0;
    bool done = true;
    if (!(spin_amo_add(piece, COME) / COME % 16)) {
        where = begin(here, piece, length);
    } else {
        while (!(where = *piece & WHERE)) {
            spin_yield();
        }
    }
    if (where == IN_HOST) {
        done = add_in_host(here, piece, offset, here->coefficients[source], p);
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
            give(here, where);
        }
        *piece = 0;
        uint32_t class = number & here->clusters;
        if (done && spin_amo_add(&stored[write], length) + length == here->shares[class]) {
            stored[write] = 0;
            /* No command reads the packet any more: the acknowledgement is built in its first bytes. */
            uint8_t *ack = spin_packet(p);
            spin_store32(ack, write);
            spin_store32(ack + 4, here->shares[class]);
            spin_target_t client = here->client;
            client.mailbox += write;
            client.offset += 8 * class;
            spin_put(&client, ack, 8);
        }
    }
    return done ? SPIN_SUCCESS : SPIN_FAIL;
}
