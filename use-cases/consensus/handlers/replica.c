/* Replica of a log: the leader appends proposals of a client, sends them to the followers, commits what a majority has, and answers the
 * client. Followers append and acknowledge. A follower that hears nothing of a leader for a while asks the others for their votes. The
 * protocol is Raft's: terms, a vote only for a log that lacks nothing, commit only of an entry of the own term and all before it.
 *
 * The handlers run in one cluster: the log and all state are in its scratchpad, under one lock. Committed entries are written to the host
 * region, in order. A message that the wire or the NIC lost is made up for by the next heartbeat. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    VALUE = 64, /* bytes of a proposal */
    LOG = 64,   /* entries that the NIC keeps */
    HOST = 128, /* entries of the host region */
};
enum { FOLLOWER, CANDIDATE, LEADER };
/* Kinds of messages, and arguments of tasks. */
enum { PROPOSE, APPEND, BEAT, ACK, REPAIR, VOTE, GRANT };
enum { TICK = 1, ELECT = 2 };

/* A message; PROPOSE and APPEND have a value after it. */
struct head {
    uint32_t kind, term;
    uint32_t index;    /* of the entry, of the sender's last entry, or of the last entry that a follower has */
    uint32_t previous; /* term of the entry before it; BEAT, VOTE: of the last one */
    uint32_t commit;   /* of the leader */
    uint32_t number;   /* of the request */
    uint32_t entry;    /* APPEND: term of the entry */
    uint32_t flags;
};
enum { NO_REQUEST = 1, AGAIN = 2 }; /* flags: the first entry of a leader; the follower asks for the next entry */
SPIN_USER_HEADER(struct head);
SPIN_TAILROOM(128);

/* An entry as the host sees it. Index and number together are the answer to the client. */
typedef struct { uint32_t term, flags, index, number, value[VALUE / 4]; } entry_t;

/* What a replica knows of the others: this node, the number of replicas, which are nodes 1 and up, the cycles between heartbeats, the
 * mailbox of all replicas and that of the client, which is node 0 and has eight bytes for each of 64 requests. */
typedef struct {
    uint32_t self, replicas, beat;
    spin_target_t peers, client;
} settings_t;

typedef struct {
    spin_lock_t lock;
    settings_t known; /* the first task copies it to the scratchpad, where loads take one cycle */
    uint32_t role, term, last, commit, votes, heard;
    struct head message;
    uint32_t acks[LOG];
    entry_t log[LOG];
} replica_t;

/* The host sets it. */
settings_t settings;

static replica_t *replica(void) { return (replica_t *)spin_scratch(); }
static entry_t *entry(replica_t *r, uint32_t index) { return &r->log[index % LOG]; }
static bool majority(const replica_t *r, uint32_t nodes) { return 2 * (uint32_t)__builtin_popcount(nodes) > r->known.replicas; }

static void copy_value(void *to, const void *from) {
    for (uint32_t i = 0; i < VALUE; i += 16) {
        /* All loads come before the stores that would wait for them. */
        uint32_t a = spin_load32((const uint8_t *)from + i), b = spin_load32((const uint8_t *)from + i + 4);
        uint32_t c = spin_load32((const uint8_t *)from + i + 8), d = spin_load32((const uint8_t *)from + i + 12);
        spin_store32((uint8_t *)to + i, a);
        spin_store32((uint8_t *)to + i + 4, b);
        spin_store32((uint8_t *)to + i + 8, c);
        spin_store32((uint8_t *)to + i + 12, d);
    }
}

/* Fills in a message; its bytes may be at any address. */
static void write_head(void *at, uint32_t kind, replica_t *r, uint32_t index, uint32_t previous) {
    uint8_t *bytes = (uint8_t *)at;
    spin_store32(bytes, kind);
    spin_store32(bytes + 4, r->term);
    spin_store32(bytes + 8, index);
    spin_store32(bytes + 12, previous);
    spin_store32(bytes + 16, r->commit);
}

static void send(const replica_t *r, uint32_t node, const void *bytes, uint32_t length) {
    spin_target_t to = r->known.peers;
    to.node = node;
    spin_put(&to, bytes, length);
}

static void send_all(const replica_t *r, const void *bytes, uint32_t length) {
    spin_target_t to = r->known.peers;
    uint32_t own = r->known.self, count = r->known.replicas;
    for (to.node = 1; to.node <= count; to.node++) {
        if (to.node != own) {
            spin_put(&to, bytes, length);
        }
    }
}

static void append(replica_t *r, uint32_t index, uint32_t term, uint32_t flags, uint32_t number, const void *value) {
    entry_t *e = entry(r, index);
    e->term = term;
    e->flags = flags;
    e->index = index;
    e->number = number;
    copy_value(e->value, value);
    r->acks[index % LOG] = 1u << r->known.self;
    r->last = index;
}

static void answer(const replica_t *r, const entry_t *e) {
    spin_target_t to = r->known.client;
    to.offset = e->number % 64 * 8;
    spin_put(&to, &e->index, 8);
}

/* Commits all entries up to this one: the host gets them, and the client of a leader its answers. */
static void commit(replica_t *r, uint32_t index) {
    while (r->commit < index) {
        const entry_t *e = entry(r, ++r->commit);
        if (r->role == LEADER && !(e->flags & NO_REQUEST)) {
            answer(r, e);
        }
        spin_dma_to_host((e->index - 1) % HOST * sizeof(entry_t), e, sizeof(entry_t));
    }
}

static void propose(replica_t *r, const spin_header_t *h) {
    uint8_t *m = spin_payload(h);
    uint32_t number = spin_load32(m + 20);
    if (r->role != LEADER || r->last - r->commit >= LOG / 2) {
        return;
    }
    if ((int32_t)(number - entry(r, r->last)->number) <= 0) {
        /* A request that is sent again: answered again, if it is committed already. */
        for (uint32_t i = r->commit; i && i + LOG > r->last; i--) {
            if (entry(r, i)->number == number && !(entry(r, i)->flags & NO_REQUEST)) {
                answer(r, entry(r, i));
                return;
            }
        }
        return;
    }
    uint32_t index = r->last + 1;
    write_head(m, APPEND, r, index, entry(r, r->last)->term);
    spin_store32(m + 24, r->term);
    spin_store32(m + 28, 0);
    send_all(r, m, sizeof(struct head) + VALUE);
    append(r, index, r->term, 0, number, m + sizeof(struct head));
}

/* APPEND and BEAT of a leader. */
static void follow(replica_t *r, const spin_header_t *h) {
    uint8_t *m = spin_payload(h);
    uint32_t kind = spin_load32(m), term = spin_load32(m + 4), index = spin_load32(m + 8), previous = spin_load32(m + 12);
    uint32_t committed = spin_load32(m + 16), number = spin_load32(m + 20), of = spin_load32(m + 24), flags = spin_load32(m + 28);
    if ((int32_t)(term - r->term) < 0) {
        return;
    }
    if (term != r->term || r->role != FOLLOWER) {
        r->term = term;
        r->role = FOLLOWER;
    }
    r->heard = spin_cycles();
    /* The entry before the new one, or the last one of the leader, must be the leader's. */
    uint32_t before = kind == APPEND ? index - 1 : index;
    bool fits = before <= r->last && (before <= r->commit || entry(r, before)->term == previous);
    uint32_t have = fits ? index : r->commit;
    write_head(m, fits && !(flags & AGAIN) ? ACK : REPAIR, r, have, 0);
    /* The acknowledgement leaves while the entry is copied: no handler sees the log before. */
    send(r, h->src_nid, m, sizeof(struct head));
    if (fits && kind == APPEND && index > r->commit && (index > r->last || entry(r, index)->term != of)) {
        append(r, index, of, flags & NO_REQUEST, number, m + sizeof(struct head));
    }
    if (fits) {
        commit(r, committed < index ? committed : index);
    }
}

/* ACK and REPAIR of a follower. */
static void count(replica_t *r, const spin_header_t *h) {
    uint8_t *m = spin_payload(h);
    uint32_t kind = spin_load32(m), term = spin_load32(m + 4), have = spin_load32(m + 8);
    if (r->role != LEADER || term != r->term || have > r->last || have + LOG <= r->last) {
        return;
    }
    if (have > r->commit) {
        uint32_t nodes = r->acks[have % LOG] |= 1u << h->src_nid;
        if (majority(r, nodes) && entry(r, have)->term == term) {
            commit(r, have);
        }
    }
    if (kind == REPAIR && have < r->last) {
        const entry_t *e = entry(r, have + 1);
        write_head(m, APPEND, r, have + 1, entry(r, have)->term);
        spin_store32(m + 20, e->number);
        spin_store32(m + 24, e->term);
        spin_store32(m + 28, e->flags | AGAIN);
        copy_value(m + sizeof(struct head), e->value);
        send(r, h->src_nid, m, sizeof(struct head) + VALUE);
    }
}

static void vote(replica_t *r, const spin_header_t *h) {
    uint8_t *m = spin_payload(h);
    uint32_t term = spin_load32(m + 4), last = spin_load32(m + 8), of = spin_load32(m + 12), own = entry(r, r->last)->term;
    if ((int32_t)(term - r->term) <= 0) {
        return;
    }
    r->term = term;
    r->role = FOLLOWER;
    if (of > own || (of == own && last >= r->last)) {
        r->heard = spin_cycles();
        write_head(m, GRANT, r, 0, 0);
        send(r, h->src_nid, m, sizeof(struct head));
    }
}

static void lead(replica_t *r, const spin_header_t *h) {
    uint8_t *m = spin_payload(h);
    if (r->role != CANDIDATE || spin_load32(m + 4) != r->term) {
        return;
    }
    r->votes |= 1u << h->src_nid;
    if (!majority(r, r->votes)) {
        return;
    }
    /* Entries of earlier terms commit with one of this term. The tailroom is its value. */
    r->role = LEADER;
    uint32_t number = entry(r, r->last)->number;
    write_head(m, APPEND, r, r->last + 1, entry(r, r->last)->term);
    spin_store32(m + 20, number);
    spin_store32(m + 24, r->term);
    spin_store32(m + 28, NO_REQUEST);
    send_all(r, m, sizeof(struct head) + VALUE);
    append(r, r->last + 1, r->term, NO_REQUEST, number, m + sizeof(struct head));
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    replica_t *r = replica();
    uint32_t kind = spin_load32(spin_payload(h)), from = h->src_nid;
    bool value = kind == PROPOSE || kind == APPEND;
    if (h->msg_len != sizeof(struct head) + (value ? VALUE : 0) || kind > GRANT) {
        return SPIN_DROP;
    }
    /* A proposal is the client's, all else a replica's. */
    if ((kind == PROPOSE) != (from == r->known.client.node) || from > r->known.replicas || from == r->known.self) {
        return SPIN_DROP;
    }
    spin_lock(&r->lock);
    if (kind == PROPOSE) {
        propose(r, h);
    } else if (kind <= BEAT) {
        follow(r, h);
    } else if (kind <= REPAIR) {
        count(r, h);
    } else if (kind == VOTE) {
        vote(r, h);
    } else {
        lead(r, h);
    }
    spin_unlock(&r->lock);
    return SPIN_PROCESS_DATA;
}

/* At each tick a leader sends its heartbeat, and others look how long it is since they heard one. A node of a higher number waits longer,
 * so that they do not all ask for votes at once. */
int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    replica_t *r = replica();
    spin_lock(&r->lock);
    if (!r->known.self) {
        r->known = settings;
        r->heard = spin_cycles();
    }
    bool late = spin_cycles() - r->heard > (2 + r->known.self) * r->known.beat;
    if (t->addr_lo == ELECT || (r->role != LEADER && late)) {
        r->role = CANDIDATE;
        r->term++;
        r->votes = 1u << r->known.self;
        r->heard = spin_cycles();
    }
    if (r->role != FOLLOWER) {
        write_head(&r->message, r->role == LEADER ? BEAT : VOTE, r, r->last, entry(r, r->last)->term);
        r->message.flags = 0;
        send_all(r, &r->message, sizeof(struct head));
    }
    spin_unlock(&r->lock);
    if (t->addr_lo == TICK) {
        spin_start(TICK, r->known.beat);
    }
    return SPIN_SUCCESS;
}
