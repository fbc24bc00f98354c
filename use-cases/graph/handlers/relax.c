/* Relaxation of the vertices of a node: a batch offers distances to vertices, the handler keeps the least ones, and the host gets a list
 * of those that are less than before. When all batches of a round are there, the host gets a record. Batches of the next round may come
 * before. A batch that is not well formed has no effect. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    PEERS = 3,       /* nodes that send batches */
    VERTICES = 1024, /* room for the vertices of this node */
    RECORDS = 64,    /* bytes of the host region before the lists */
    GROUP = 32,      /* bytes of the pairs whose distances are loaded together */
};

/* The first two count batches of their sender in this round; the sender has relaxed the edges of `active` vertices. */
struct batch { uint16_t number, batches, pairs, active; uint32_t round; };
struct pair { uint32_t vertex, distance; };

/* The host sets these: its vertices, a power of two; the least distance of each so far; the round that has not ended. */
uint32_t vertices;
volatile uint32_t distances[VERTICES];
volatile uint32_t open_round;

/* Of even and odd rounds: the nodes that have sent a first batch, times 2^24, plus batches that they have announced, minus those that
 * have come; pairs in the list; active vertices. */
static volatile uint32_t balance[2], listed[2], active[2];

/* Takes a pair, whose vertex had this distance: appends it to the list if it is less. The end of the list. */
SPIN_INLINE uint8_t *offer(const uint8_t *at, uint32_t before, uint8_t *end) {
    uint32_t vertex = spin_load32(at), distance = spin_load32(at + 4);
    if (distance < before && distance < spin_amo_minu(&distances[vertex], distance)) {
        spin_store32(end, vertex);
        spin_store32(end + 4, distance);
        end += sizeof(struct pair);
    }
    return end;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t length = p->payload_len;
    if (length < sizeof(struct batch) || length != p->msg_len) {
        return SPIN_DROP;
    }
    uint8_t *bytes = spin_payload(p);
    uint32_t count = spin_load32(bytes), number = count & 0xffff, batches = count >> 16;
    uint32_t more = spin_load32(bytes + 4), pairs = more & 0xffff, round = spin_load32(bytes + 8);
    uint32_t mine = vertices, now = open_round;
    if (length != sizeof(struct batch) + pairs * sizeof(struct pair) || number >= batches || round - now > 1) {
        return SPIN_DROP;
    }
    uint8_t *first = bytes + sizeof(struct batch), *last = first + pairs * sizeof(struct pair);
    uint32_t any = 0;
    for (uint8_t *at = first; at != last; at += sizeof(struct pair)) {
        any |= spin_load32(at);
    }
    if (any >= mine) {
        return SPIN_DROP;
    }
    /* The list takes the place of pairs that have been read. */
    uint8_t *end = first;
    uint8_t *at = first;
    for (; last - at >= GROUP; at += GROUP) {
        /* Loads that follow each other wait for context memory once. */
        uint32_t a = distances[spin_load32(at)], b = distances[spin_load32(at + 8)];
        uint32_t c = distances[spin_load32(at + 16)], d = distances[spin_load32(at + 24)];
        end = offer(at, a, end);
        end = offer(at + 8, b, end);
        end = offer(at + 16, c, end);
        end = offer(at + 24, d, end);
    }
    for (; at != last; at += sizeof(struct pair)) {
        end = offer(at, distances[spin_load32(at)], end);
    }
    uint32_t odd = round & 1, bytes_listed = end - first;
    if (bytes_listed) {
        uint32_t room = (p->host_size - RECORDS) / 2;
        uint32_t place = spin_amo_add(&listed[odd], bytes_listed);
        if (place + bytes_listed <= room) {
            spin_dma_to_host(RECORDS + odd * room + place, first, bytes_listed);
            spin_wait();
        }
    }
    uint32_t change = -1u;
    if (number == 0) {
        spin_amo_add(&active[odd], more >> 16);
        change = (1u << 24) + batches - 1;
    }
    /* The list of this batch is in host memory. */
    if (spin_amo_add(&balance[odd], change) + change == (uint32_t)PEERS << 24) {
        spin_store32(bytes, listed[odd]);
        spin_store32(bytes + 4, active[odd]);
        spin_store32(bytes + 8, round);
        balance[odd] = 0;
        listed[odd] = 0;
        active[odd] = 0;
        open_round = round + 1;
        spin_fence();
        spin_dma_to_host(odd * 16, bytes, 12);
    }
    return SPIN_SUCCESS;
}
