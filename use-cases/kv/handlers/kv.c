/* A key-value store in context memory: GET, SET and compare-and-set of values of 64 bytes over UDP. A request is a header and, unless it
 * is a GET, a value; the reply has the same header, and after a GET that found its key, the value.
 *
 * The table is open-addressed, without removal. An entry has two values, of which its version selects one; a change writes the other one
 * under the entry's lock. The NIC copies a value in one cycle, since it is a row of context memory, so a GET takes no lock.
 *
 * The rule is one of `udp`. Such a frame has no IP options and is no fragment, so where its payload lies says that it has no tag either. */
#include "spin_atomic.h"
#include "spindle.h"

enum { ENTRIES = 256, PROBES = 16, HEADERS = 42, VALUE = 64, GET = 1, SET = 2, CAS = 3, DONE = 0, FAILED = 1, CHANGED = -1 };

SPIN_TAILROOM(VALUE);

/* Words lie at multiples of four in the frame. A CAS stores its value if the first word of the present one is as expected. */
typedef struct { uint8_t operation, status, id[4], key[2][4], expected[4], value[]; } message_t;

/* A load from context memory takes twelve cycles, so an entry is two words: the low half of the key, and a word of the rest. The halves
 * give a hash of 32 bits, from which with the low half the high one follows. Its upper byte is the entry where the search begins; the
 * word has the other 24 bits, how many entries further the key was put (4 bits), and the version (4 bits, 1 to 15). 0: free. */
typedef struct { uint32_t low, rest; } entry_t;
enum { FURTHER = 16, VERSIONS = 15 };

volatile entry_t entries[ENTRIES];
spin_lock_t locks[ENTRIES];
uint8_t values[ENTRIES][2][VALUE] __attribute__((aligned(64)));

SPIN_INLINE uint32_t hash(uint32_t low, uint32_t high) { return (low ^ high) * 0x9e3779b1u; }
/* The entry's version if it is that of the key, else 0 or more than VERSIONS. `wanted` is the word with version 0. */
SPIN_INLINE uint32_t version_of(uint32_t rest, uint32_t wanted) { return rest ^ wanted; }
SPIN_INLINE bool is_version(uint32_t version) { return version - 1 < VERSIONS; }
/* Even and odd ones take turns. */
SPIN_INLINE uint32_t next(uint32_t version) { return version == VERSIONS ? 2 : version + 1; }

SPIN_INLINE int reply(uint8_t *frame, uint32_t length) {
    spin_ipv4_t *ip = (spin_ipv4_t *)(frame + sizeof(spin_eth_t));
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_put16(udp->length, length + sizeof *udp);
    spin_put16(ip->length, length + sizeof *udp + sizeof *ip);
    spin_swap_endpoints(frame, ip);
    spin_send_packet_flags(frame, HEADERS + length, SPIN_SEND_CHECKSUM);
    return SPIN_PROCESS_DATA;
}

/* Stores a value; fails if there is no room, or if it is a CAS and the present value is another one. */
static bool store(message_t *m, uint32_t low, uint32_t key, bool compare) {
    uint32_t at = key >> 24, wanted = key << 8;
    for (uint32_t probe = 0; probe < PROBES; probe++, at = (at + 1) % ENTRIES, wanted += FURTHER) {
        volatile entry_t *entry = &entries[at];
        uint32_t rest = entry->rest;
        if (rest && !(is_version(version_of(rest, wanted)) && entry->low == low)) {
            continue;
        }
        spin_lock(&locks[at]);
        rest = entry->rest;
        uint32_t version = rest ? version_of(rest, wanted) : 0;
        bool own = rest == 0 || (is_version(version) && entry->low == low), stored = false;
        if (own) {
            volatile uint32_t *present = (uint32_t *)values[at][version & 1], *other = (uint32_t *)values[at][~version & 1];
            stored = !compare || (version && *present == spin_load32(m->expected));
            if (stored) {
                for (uint32_t i = 0; i < VALUE / 4; i++) {
                    other[i] = spin_load32(m->value + 4 * i);
                }
                entry->low = low;
                spin_fence();
                entry->rest = wanted | next(version);
            }
        }
        spin_unlock(&locks[at]);
        if (own) {
            return stored;
        }
        /* Another key took the free entry meanwhile. */
    }
    return false;
}

/* A request that is no GET, or no request. */
static __attribute__((noinline)) int change(const spin_header_t *h, message_t *m, uint32_t low, uint32_t key) {
    uint32_t operation = m->operation;
    if (h->payload_len != sizeof *m + VALUE || (operation != SET && operation != CAS)) {
        return SPIN_DROP;
    }
    m->status = store(m, low, key, operation == CAS) ? DONE : FAILED;
    return reply(spin_packet(h), sizeof *m);
}

/* Answers a GET, or returns CHANGED: the value is no longer valid, and was copied. */
SPIN_INLINE int look(message_t *m, uint32_t low, uint32_t key) {
    uint32_t at = key >> 24, wanted = key << 8;
    for (uint32_t probe = 0; probe < PROBES; probe++, at = (at + 1) % ENTRIES, wanted += FURTHER) {
        volatile entry_t *entry = &entries[at];
        uint32_t rest = entry->rest, version = version_of(rest, wanted);
        if (is_version(version) && entry->low == low) {
            /* As spin_combine(SPIN_XOR, m->value, values[at][version & 1], VALUE), without the fence: nothing was stored. */
            *spin_command_word(SPIN_CMD_SOURCE) = (uint32_t)values[at][version & 1];
            *spin_command_word(SPIN_CMD_LENGTH) = VALUE;
            spin_command_words(SPIN_CMD_ADDR_LO, SPIN_CMD_ADDR_HI, (uint64_t)SPIN_XOR << 32 | (uint32_t)m->value);
            spin_issue(SPIN_OP_COMBINE);
            /* The value has been copied. No change writes to it before another value is the valid one. */
            if (entry->rest == rest) {
                m->status = DONE;
                return reply(spin_packet(spin_task()), sizeof *m + VALUE);
            }
            return CHANGED;
        }
        if (rest == 0) {
            break;
        }
    }
    m->status = FAILED;
    return reply(spin_packet(spin_task()), sizeof *m);
}

static __attribute__((noinline)) int look_again(message_t *m, uint32_t low, uint32_t key) {
    int code;
    do {
        /* Zeros in the place of the value. */
        spin_combine(SPIN_XOR, m->value, m->value, VALUE);
        code = look(m, low, key);
    } while (code == CHANGED);
    return code;
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    uint8_t *frame = spin_packet(h);
    message_t *m = (message_t *)(frame + HEADERS);
    if (h->payload != (uint32_t)m) {
        return SPIN_DROP;
    }
    /* Of a shorter request these are bytes of the tailroom. Its length is looked at below. */
    uint32_t low = spin_load32(m->key[0]), key = hash(low, spin_load32(m->key[1]));
    if (m->operation != GET) {
        return change(h, m, low, key);
    }
    /* The value is combined with the zeros of the tailroom, which begins after the request. */
    if (h->payload_len != sizeof *m || h->packet_len != HEADERS + sizeof *m) {
        return SPIN_DROP;
    }
    int code = look(m, low, key);
    return code == CHANGED ? look_again(m, low, key) : code;
}
