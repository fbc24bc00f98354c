/* Parity node of a RAID 4. Every message is the difference of old and new bytes of a data node: a piece, which the other data nodes have
 * too.
 *
 * Short chunks: there is a context with this handler for each cluster, and all differences of a piece go to the same one, so they meet in
 * its scratchpad. The first one to come reads the old parity from the host into a slot, each is added there by COMBINE, and the last one
 * writes the sum to the host. A piece that finds no slot is added in host memory. Each cluster acknowledges its share of a write.
 *
 * Long chunks, for which the slots are too few: one context for all clusters, and every difference is added in host memory, those of a
 * piece one at a time; slots are buffers for old parity. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    WRITES = 8,   /* chunks in the host region */
    NODES = 4,    /* data nodes */
    PIECE = 1408, /* bytes of a piece at most: a full segment */
    PIECES = 16,  /* pieces of a chunk at most */
    SLOTS = 5,    /* slots of a cluster at most: two or five */
    TAIL = 512,
    /* State of a piece: where it is added (the bit of its slot, or IN_HOST), a lock for IN_HOST, and how many differences have come and
     * have been added. */
    WHERE = 3,
    IN_HOST = 3,
    LOCKED = 4,
    COME = 1 << 4,
    ADDED = 1 << 12,
};

/* Old parity that finds no slot passes through the tail. */
SPIN_TAILROOM(TAIL);

/* The host sets these: the client's mailbox of write 0 (that of write i has the address i higher), the binary logarithm of a chunk's bytes,
 * whether the slots of all clusters hold a chunk, the contexts less one, and how many bytes of a chunk are in the pieces whose number has
 * this remainder. */
spin_target_t client;
uint32_t chunk_log, gather, clusters;
uint32_t shares[4];

static volatile uint32_t stored[WRITES], pieces[WRITES][PIECES];

/* What a cluster has at the start of its scratchpad, and after it the slots; words of context memory are twelve cycles away. */
typedef struct {
    volatile uint32_t taken, known;
    spin_target_t client;
    uint32_t chunk_log, gather, clusters, shares[4], end[17];
    uint8_t slots[][PIECE];
} local_t;
_Static_assert(sizeof(local_t) % 64 == 0, "slots begin at multiples of 64");

static local_t *local(void) {
    local_t *here = (local_t *)spin_scratch();
    if (__builtin_expect(!here->known, 0)) {
        /* Handlers that do this at the same time write the same values. */
        here->client = client;
        here->chunk_log = chunk_log;
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

/* Reads the old parity of a piece; true if it is there. */
static bool read(uint8_t *to, uint32_t offset, uint32_t length) {
    spin_dma_from_host(to, offset, length);
    spin_handle_t read = spin_handle();
    spin_wait();
    return !spin_failed(read);
}

/* Writes the parity of a piece; true if it is there. */
static bool write_back(uint32_t offset, const uint8_t *bytes, uint32_t length) {
    spin_dma_to_host(offset, bytes, length);
    spin_handle_t store = spin_handle();
    spin_wait();
    return !spin_failed(store);
}

/* Where a piece is added, decided by its first difference. */
static uint32_t begin(local_t *here, volatile uint32_t *piece, uint32_t offset, uint32_t length) {
    uint32_t slot = here->gather ? take(here, 2) : 0;
    if (slot && !read(slot_of(here, slot), offset, length)) {
        give(here, slot);
        slot = 0;
    }
    uint32_t where = slot ? slot : IN_HOST;
    spin_amo_or(piece, where);
    return where;
}

/* Adds a difference to the parity in host memory. */
static bool add_in_host(local_t *here, volatile uint32_t *piece, uint32_t offset, const spin_payload_t *p) {
    while (spin_amo_or(piece, LOCKED) & LOCKED) {
        spin_yield();
    }
    /* The slot after the lock: no handler waits with a slot. */
    uint32_t length = p->payload_len, slot = take(here, here->gather ? 2 : SLOTS), step = slot ? PIECE : TAIL;
    uint8_t *old = slot ? slot_of(here, slot) : spin_packet(p) + p->packet_len, *sum = spin_payload(p);
    bool done = true;
    spin_handle_t store = 0;
    for (uint32_t at = 0; done && at < length; at += step) {
        uint32_t bytes = length - at < step ? length - at : step;
        done = read(old, offset + at, bytes);
        spin_combine(SPIN_XOR, sum + at, old, bytes);
        spin_handle_t combine = spin_handle();
        if (done && at + step >= length) {
            /* The write reads the sum after the COMBINE has ended. */
            spin_dma_to_host(offset, sum, length);
            store = spin_handle();
        }
        spin_wait_for(combine);
    }
    if (slot) {
        give(here, slot);
    }
    spin_wait();
    done = done && !spin_failed(store);
    spin_amo_and(piece, ~LOCKED);
    return done;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    local_t *here = local();
    uint32_t offset = p->buf_off + p->msg_off, length = p->payload_len, write = offset >> here->chunk_log;
    uint32_t place = offset & ((1u << here->chunk_log) - 1);
    /* place / PIECE: a product is faster. */
    uint32_t number = (place / 128) * 745 >> 13;
    if (!spin_whole_frame(p) || length > PIECE || write >= WRITES || number >= PIECES || number * PIECE != place) {
        return SPIN_DROP;
    }
    volatile uint32_t *piece = &pieces[write][number];
    uint32_t where = 0;
    bool done = true;
    if (!(spin_amo_add(piece, COME) / COME % 16)) {
        where = begin(here, piece, offset, length);
    } else {
        while (!(where = *piece & WHERE)) {
            spin_yield();
        }
    }
    if (where == IN_HOST) {
        done = add_in_host(here, piece, offset, p);
    } else {
        spin_combine(SPIN_XOR, slot_of(here, where), spin_payload(p), length);
    }
    if (spin_amo_add(piece, ADDED) / ADDED + 1 == NODES) {
        if (where != IN_HOST) {
            /* The write reads the sum after the COMBINEs have ended. */
            done = write_back(offset, slot_of(here, where), length);
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
            spin_target_t to = here->client;
            to.mailbox += write;
            to.offset += 8 * class;
            spin_put(&to, ack, 8);
        }
    }
    return done ? SPIN_SUCCESS : SPIN_FAIL;
}
