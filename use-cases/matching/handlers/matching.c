/* Tag matching of MPI. The receiver's NIC has the list of posted receives and that of unexpected messages. An eager message goes from the
 * packet buffer to the buffer of its receive; of a long one only a request comes, which the handler answers by asking the sender's NIC to
 * put the bytes. What no receive waits for is kept until the host posts one that fits.
 *
 * The handlers run in one cluster: both lists are in its scratchpad, under one lock. Messages of a node match in the order of their
 * numbers, and receives in that of theirs: a handler whose turn has not come waits for it. Packets of a node are dispatched in the order
 * of the wire, so the handler that it waits for has begun. */
#include "spin_atomic.h"
#include "spindle.h"

enum { EAGER, REQUEST, READ };
enum {
    NODES = 16,
    SLOTS = 80,   /* receives */
    LIST = 128,   /* places of a list, more than receives or kept messages */
    KEPT = 32,    /* unexpected messages */
    MESSAGES = 256,
    MOST = 4096,  /* bytes of an eager message */
    AHEAD = 64,   /* numbers by which a message can be early */
    BOUNCED = 8,  /* bit of a record where the number of the kept message begins, plus one */
};
/* Of keys and records: there is one. */
#define VALID 0x80000000u
#define SOURCES 0x7fff0000u
#define TAGS 0xffffu

/* READ: the key is the receive's slot. */
struct head { uint32_t kind_number, key, length, offset; };
SPIN_USER_HEADER(struct head);

/* The host sets these: the receiver's mailbox of all its memory, where the buffers of receives begin there, and unexpected messages, and
 * the bytes of a buffer; its mailbox for the bytes of receive 0 (that of receive i has the address i higher); the mailbox of all NICs. */
typedef struct {
    uint32_t memory, buffers, bounces, capacity;
    spin_target_t slots, peers;
} settings_t;
settings_t settings;

/* Bits of `any` may differ. A key of zeros is no entry and matches none, since a key that is looked for is VALID. */
typedef struct { uint32_t key, any; } entry_t;
typedef struct {
    uint32_t first, end;
    entry_t at[LIST];
    uint32_t value[LIST];
} list_t;

typedef struct { uint32_t kind, length, offset; volatile uint32_t ready; } kept_t;

typedef struct {
    spin_lock_t lock;
    volatile uint32_t known;
    settings_t set;
    volatile uint32_t next_message[NODES], next_receive;
    uint32_t taken; /* bits of kept messages */
    list_t posted, unexpected;
    kept_t kept[KEPT];
    /* Of each receive: the record that the host gets, and the message that asks for the bytes. */
    struct { uint32_t record[4], ask[4]; } slot[SLOTS];
    uint8_t end[MESSAGES]; /* receive of a message of several packets, or SLOTS and the number of the kept message */
} matcher_t;

static matcher_t *matcher(void) {
    matcher_t *m = (matcher_t *)spin_scratch();
    if (__builtin_expect(!m->known, 0)) {
        /* Handlers that do this at the same time write the same values. */
        m->set = settings;
        m->known = 1;
    }
    return m;
}

/* Number of the first entry that matches, or the end. */
SPIN_INLINE uint32_t find(const list_t *list, uint32_t key, uint32_t any) {
    uint32_t end = list->end;
    for (uint32_t i = list->first & ~3u; (int32_t)(i - end) < 0; i += 4) {
        const entry_t *e = &list->at[i % LIST];
        /* The loads of four entries follow each other. */
        uint32_t a = (key ^ e[0].key) & ~(any | e[0].any), b = (key ^ e[1].key) & ~(any | e[1].any);
        uint32_t c = (key ^ e[2].key) & ~(any | e[2].any), d = (key ^ e[3].key) & ~(any | e[3].any);
        if (!a) {
            return i;
        }
        if (!b) {
            return i + 1;
        }
        if (!c) {
            return i + 2;
        }
        if (!d) {
            return i + 3;
        }
    }
    return end;
}

static void take(list_t *list, uint32_t i) {
    list->at[i % LIST] = (entry_t){0, 0};
    if (i == list->end - 1) {
        while (list->end != list->first && !list->at[(list->end - 1) % LIST].key) {
            list->end--;
        }
    } else {
        while (!list->at[list->first % LIST].key) {
            list->first++;
        }
    }
}

static void append(list_t *list, uint32_t key, uint32_t any, uint32_t value) {
    if (list->end - list->first == LIST) {
        /* Entries that were taken from the middle leave gaps. */
        uint32_t to = list->first;
        for (uint32_t i = list->first; i != list->end; i++) {
            entry_t e = list->at[i % LIST];
            list->at[i % LIST] = (entry_t){0, 0};
            if (e.key) {
                list->at[to % LIST] = e;
                list->value[to++ % LIST] = list->value[i % LIST];
            }
        }
        list->end = to;
    }
    list->at[list->end % LIST] = (entry_t){key, any};
    list->value[list->end++ % LIST] = value;
}

static void report(matcher_t *m, uint32_t slot) { spin_dma_to_host(slot * 16, m->slot[slot].record, 16); }

/* What the host learns of a receive; and how many cycles the match took. */
static void fill(matcher_t *m, uint32_t slot, uint32_t kind, uint32_t key, uint32_t length, uint32_t cycles) {
    uint32_t *record = m->slot[slot].record;
    record[0] = VALID | kind;
    record[1] = key;
    record[2] = length;
    record[3] = cycles & 0xffff;
}

/* Has the sender's NIC put the bytes of a long message to its receive. */
static void ask(matcher_t *m, uint32_t slot, uint32_t key, uint32_t length, uint32_t offset) {
    uint32_t *bytes = m->slot[slot].ask;
    bytes[0] = READ;
    bytes[1] = slot;
    bytes[2] = length;
    bytes[3] = offset;
    spin_target_t to = m->set.peers;
    to.node = (key & SOURCES) >> 16;
    spin_put(&to, bytes, sizeof(struct head));
    report(m, slot);
}

/* Where the bytes of a message go, in the mailbox of all memory. */
SPIN_INLINE uint32_t place(const matcher_t *m, uint32_t end) {
    return end < SLOTS ? m->set.buffers + end * m->set.capacity : m->set.bounces + (end - SLOTS) * MOST;
}

/* The bytes of a message are in host memory. */
SPIN_INLINE void landed(matcher_t *m, uint32_t end) {
    if (end < SLOTS) {
        report(m, end);
    } else {
        m->kept[end - SLOTS].ready = 1;
    }
}

/* The receiver asks for bytes of this host. */
static int answer(const matcher_t *m, const spin_header_t *h, uint32_t slot, uint32_t length, uint32_t offset) {
    uint32_t size = h->host_size;
    if (h->src_nid != m->set.slots.node || h->msg_len != sizeof(struct head) || slot >= SLOTS) {
        return SPIN_DROP;
    }
    if (!length || offset > size || length > size - offset) {
        return SPIN_DROP;
    }
    spin_target_t to = m->set.slots;
    to.mailbox += slot;
    spin_put_host(&to, offset, length);
    return SPIN_DROP;
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    matcher_t *m = matcher();
    const uint8_t *bytes = spin_payload(h);
    uint32_t kind = spin_load32(bytes), key = spin_load32(bytes + 4), length = spin_load32(bytes + 8);
    uint32_t offset = spin_load32(bytes + 12), number = kind >> 16, from = h->src_nid;
    kind &= 0xffff;
    if (kind == READ) {
        return answer(m, h, key, length, offset);
    }
    uint32_t most = kind == EAGER && m->set.capacity > MOST ? MOST : m->set.capacity;
    if (kind > REQUEST || length > most || h->msg_len != sizeof(struct head) + (kind == EAGER ? length : 0)) {
        return SPIN_DROP;
    }
    if (from >= NODES || (key & ~TAGS) != (VALID | from << 16)) {
        return SPIN_DROP;
    }
    /* Without the lock: only the handler whose turn it is changes the number. */
    for (uint32_t early; (early = (number - m->next_message[from]) & 0xffff) != 0; spin_yield()) {
        if (early > AHEAD) {
            return SPIN_DROP;
        }
    }
    bool whole = h->payload_len == h->msg_len;
    spin_lock(&m->lock);
    uint32_t i = find(&m->posted, key, 0), end;
    if (__builtin_expect(i != m->posted.end, 1)) {
        end = m->posted.value[i % LIST];
        uint32_t matched = spin_cycles();
        if (kind == EAGER && whole && length) {
            spin_redirect_bytes(m->set.memory, place(m, end), bytes + sizeof(struct head), length);
        }
        /* The data are under way meanwhile. */
        take(&m->posted, i);
        m->next_message[from] = (number + 1) & 0xffff;
        spin_unlock(&m->lock);
        fill(m, end, kind, key, length, matched - h->cycle);
        if (kind == REQUEST) {
            ask(m, end, key, length, offset);
            return SPIN_DROP;
        }
    } else {
        m->next_message[from] = (number + 1) & 0xffff;
        uint32_t k = __builtin_ctz(~m->taken);
        if (!~m->taken) {
            spin_unlock(&m->lock);
            return SPIN_FAIL;
        }
        m->taken |= 1u << k;
        m->kept[k] = (kept_t){kind, length, offset, kind == REQUEST};
        append(&m->unexpected, key, 0, k);
        spin_unlock(&m->lock);
        if (kind == REQUEST) {
            return SPIN_DROP;
        }
        end = SLOTS + k;
        if (whole && length) {
            spin_redirect_bytes(m->set.memory, place(m, end), bytes + sizeof(struct head), length);
        }
    }
    if (!whole) {
        m->end[h->msg_slot] = end;
        return SPIN_PROCESS_DATA;
    }
    spin_wait();
    landed(m, end);
    return SPIN_DROP;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    matcher_t *m = matcher();
    uint32_t end = m->end[p->msg_slot], offset = p->msg_off, skip = offset ? 0 : sizeof(struct head);
    uint32_t to = place(m, end) + offset + skip - sizeof(struct head);
    spin_redirect_bytes(m->set.memory, to, spin_payload(p) + skip, p->payload_len - skip);
    if (end < SLOTS) {
        m->slot[end].record[3] = (m->slot[end].record[3] & 0xffff) | (spin_cycles() - p->cycle) << 16;
    }
    spin_wait();
    return spin_failed(spin_handle()) ? SPIN_FAIL : SPIN_SUCCESS;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    (void)flow_control_triggered;
    (void)state;
    matcher_t *m = matcher();
    if (!dropped_bytes) {
        landed(m, m->end[spin_task()->msg_slot]);
    }
    return SPIN_SUCCESS;
}

/* The host posts a receive: tag, source and two bits for any of them; the receive's number and slot, and the kept message that the host
 * has copied, plus one. */
int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    matcher_t *m = matcher();
    uint32_t wanted = t->addr_lo, number = t->addr_hi & 0xffff, slot = t->addr_hi >> 16 & 0xff, copied = t->addr_hi >> 24;
    uint32_t key = VALID | (wanted & 0x3fffffff), any = (wanted >> 30 & 1 ? SOURCES : 0) | (wanted >> 31 ? TAGS : 0);
    if (slot >= SLOTS || copied > KEPT) {
        return SPIN_FAIL;
    }
    while (m->next_receive != number) {
        spin_yield();
    }
    spin_lock(&m->lock);
    m->next_receive = (number + 1) & 0xffff;
    if (copied) {
        m->taken &= ~(1u << (copied - 1));
    }
    uint32_t i = find(&m->unexpected, key, any);
    if (i == m->unexpected.end) {
        append(&m->posted, key, any, slot);
        spin_unlock(&m->lock);
        return SPIN_SUCCESS;
    }
    uint32_t k = m->unexpected.value[i % LIST], of = m->unexpected.at[i % LIST].key;
    kept_t kept = m->kept[k];
    take(&m->unexpected, i);
    if (kept.kind == REQUEST) {
        m->taken &= ~(1u << k);
    }
    spin_unlock(&m->lock);
    fill(m, slot, kept.kind, of, kept.length, 0);
    if (kept.kind == REQUEST) {
        ask(m, slot, of, kept.length, kept.offset);
        return SPIN_SUCCESS;
    }
    m->slot[slot].record[0] |= (k + 1) << BOUNCED;
    while (!m->kept[k].ready) {
        spin_yield();
    }
    report(m, slot);
    return SPIN_SUCCESS;
}
