/* Answers a query over a table in host memory. The message of a client is the query; tasks read the rows' heads, test them, and put what
 * is wanted into the client's window of results: whole rows, a part of each, or nothing but sums. The last task puts the answer, how
 * many rows there are and the sums, into the client's window of answers. One query at a time: a message that comes meanwhile, and one
 * that is no query, is dropped.
 *
 * The host sets the windows' key. The table is the context's host region. */
#include "spin_buffers.h"
#include "spindle.h"

enum { SELECT, PROJECT, SUM, GROUP, MATCH, OPERATIONS };
enum { WAITING = SPIN_WAITING_TASKS, TILES = 1 << 15, ROWS = 8, PART = 16, TEXT = 48, GROUPS = 8, CLUSTERS = 8 };
enum { PIECE = 64 * ROWS, RESULTS = 0xC0D1, ANSWERS = 0xC0D2 };

/* What the query needs of a row lies in its first 64 bytes. */
typedef struct { uint32_t number, measure, value, group; uint8_t text[TEXT]; } head_t;
/* Wanted are rows whose measure is at least `least`; with MATCH those whose text has `pattern` where `mask` has ones, which it has in
 * the first byte. */
typedef struct { uint32_t operation, row_bytes, rows, least, pattern, mask; } query_t;
/* The number of the query, in the upper half, and that of the next tile that a task may take. */
enum { QUERY = 1 << 16, TILE = QUERY - 1 };
typedef struct { uint32_t bytes, rows, sum, least, most, failed, zero[2]; struct { uint32_t rows, sum; } groups[GROUPS]; } answer_t;
typedef struct { uint32_t node, process; } client_t;

uint32_t key;
static volatile uint32_t busy, number, next, done, taken[CLUSTERS];
static query_t query;
static client_t client;
static volatile answer_t answer;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint8_t *bytes = spin_payload(h);
    if (h->payload_len != sizeof query || h->msg_len != sizeof query) {
        return SPIN_DROP;
    }
    uint32_t row_bytes = spin_load32(bytes + 4), rows = spin_load32(bytes + 8);
    if (spin_load32(bytes) >= OPERATIONS || row_bytes % sizeof(head_t) || row_bytes == 0 || row_bytes > 1024 ||
        rows == 0 || rows > h->host_size / row_bytes || rows > TILES * ROWS || (spin_load32(bytes + 20) & 0xff) != 0xff ||
        spin_amo_swap(&busy, 1)) {
        return SPIN_DROP;
    }
    for (uint32_t i = 0; i < sizeof query / 4; i++) {
        spin_store32((uint32_t *)&query + i, spin_load32(bytes + 4 * i));
    }
    client = (client_t){h->src_nid, h->src_pid};
    answer.least = ~0u;
    uint32_t mine = number += QUERY;
    spin_fence();
    next = mine;
    /* No more can wait; each of these starts another one. Some may still wait from the query before, and help with this one. */
    for (uint32_t task = 0; task < WAITING; task++) {
        spin_start(task, 0);
    }
    return SPIN_PROCESS_DATA;
}

/* The text has the pattern at some byte. Words of the text that have its first byte nowhere need no further look. */
static bool matches(const uint8_t *text, uint32_t pattern, uint32_t mask) {
    const uint32_t ones = 0x01010101, first = (pattern & 0xff) * ones;
    for (uint32_t i = 0; i < TEXT; i += 4) {
        uint32_t other = spin_load32(text + i) ^ first;
        if (((other - ones) & ~other & ones << 7) == 0) {
            continue;
        }
        for (uint32_t at = i; at < i + 4 && at <= TEXT - 4; at++) {
            if (((spin_load32(text + at) ^ pattern) & mask) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The rows that are wanted: bit i for row i. */
static uint32_t wanted(const head_t *heads, uint32_t rows, const query_t *q) {
    uint32_t bits = 0;
    if (q->operation == MATCH) {
        for (uint32_t i = 0; i < rows; i++) {
            bits |= (uint32_t)matches(heads[i].text, q->pattern, q->mask) << i;
        }
    } else {
        for (uint32_t i = 0; i < rows; i++) {
            bits |= (uint32_t)(heads[i].measure >= q->least) << i;
        }
    }
    return bits;
}

static void copy(uint8_t *to, const uint8_t *from, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += 16) {
        uint32_t a = spin_load32(from + i), b = spin_load32(from + i + 4);
        uint32_t c = spin_load32(from + i + 8), d = spin_load32(from + i + 12);
        spin_store32(to + i, a);
        spin_store32(to + i + 4, b);
        spin_store32(to + i + 8, c);
        spin_store32(to + i + 12, d);
    }
}

/* The task that has looked at the last tile ends the query. */
static void finish(void) {
    spin_target_t to = {client.node, client.process, ANSWERS, key, 0};
    spin_put(&to, (const void *)&answer, sizeof answer);
    for (uint32_t i = 0; i < sizeof answer / 4; i++) {
        ((volatile uint32_t *)&answer)[i] = 0;
    }
    done = 0;
    spin_fence();
    busy = 0;
}

/* Has the heads of rows read: those of short rows in one piece. */
static void read_heads(uint8_t *heads, uint32_t first, uint32_t rows, uint32_t row_bytes) {
    if (row_bytes == sizeof(head_t)) {
        spin_dma_from_host(heads, first * row_bytes, rows * sizeof(head_t));
        return;
    }
    for (uint32_t i = 0; i < rows; i++) {
        spin_dma_from_host(heads + i * sizeof(head_t), (first + i) * row_bytes, sizeof(head_t));
    }
}

SPIN_INLINE uint32_t rows_at(uint32_t first, uint32_t rows) { return rows - first < ROWS ? rows - first : ROWS; }

int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    /* A tile of the query that is there afterwards: a task of the query before takes none of this one by an old number. */
    uint32_t tile = spin_amo_add(&next, 1), mine = number;
    query_t q = query;
    uint32_t tiles = (q.rows + ROWS - 1) / ROWS, looked_at = 0;
    if ((tile ^ mine) >= tiles) {
        return SPIN_SUCCESS;
    }
    if (t->addr_lo < WAITING) {
        spin_start(t->addr_lo + WAITING, 0);
    }
    spin_target_t to = {client.node, client.process, RESULTS, key, 0};
    bool whole = q.operation == SELECT || q.operation == MATCH, is_long = q.row_bytes != sizeof(head_t);
    uint32_t part = q.operation == PROJECT ? PART : (uint32_t)sizeof(head_t);
    uint32_t found = 0, sum = 0, least = ~0u, most = 0, failed = 0, groups[GROUPS][2] = {{0}};
    volatile uint32_t *word = &taken[t->cluster_id];
    uint32_t buffer = spin_take_buffer(word, t->hpu_id, t->scratch_size / (2 * PIECE));
    /* Two pieces: one is read while the rows of the other one are looked at. */
    uint8_t *heads = spin_scratch() + 2 * buffer * PIECE, *other = heads + PIECE;
    uint32_t first = (tile & TILE) * ROWS;
    read_heads(heads, first, rows_at(first, q.rows), q.row_bytes);
    for (uint32_t ahead; first < q.rows; first = ahead) {
        uint32_t rows = rows_at(first, q.rows), bytes = 0;
        ahead = (spin_amo_add(&next, 1) & TILE) * ROWS;
        looked_at++;
        /* This piece is there, and what was put of the other one has left. */
        spin_wait();
        failed |= *spin_command_word(SPIN_CMD_ERROR);
        if (ahead < q.rows) {
            read_heads(other, ahead, rows_at(ahead, q.rows), q.row_bytes);
        }
        uint32_t bits = wanted((const head_t *)heads, rows, &q), row = first;
        for (const head_t *head = (const head_t *)heads; bits; bits >>= 1, head++, row++) {
            if (!(bits & 1)) {
                continue;
            }
            found++;
            if (q.operation == SUM) {
                sum += head->value;
                least = head->value < least ? head->value : least;
                most = head->value > most ? head->value : most;
            } else if (q.operation == GROUP) {
                groups[head->group % GROUPS][0]++;
                groups[head->group % GROUPS][1] += head->value;
            } else if (whole && is_long) {
                /* A long row goes from host memory to the wire. */
                to.offset = spin_amo_add(&answer.bytes, q.row_bytes);
                spin_put_host(&to, row * q.row_bytes, q.row_bytes);
            } else {
                /* Rows that are wanted move together, to leave as one message. */
                if (heads + bytes != (const uint8_t *)head) {
                    copy(heads + bytes, (const uint8_t *)head, part);
                }
                bytes += part;
            }
        }
        if (bytes) {
            to.offset = spin_amo_add(&answer.bytes, bytes);
            spin_put(&to, heads, bytes);
        }
        uint8_t *free = heads;
        heads = other;
        other = free;
    }
    spin_wait();
    spin_give_buffer(word, buffer);
    spin_amo_add(&answer.rows, found);
    spin_amo_or(&answer.failed, failed);
    if (q.operation == SUM) {
        spin_amo_add(&answer.sum, sum);
        spin_amo_minu(&answer.least, least);
        spin_amo_maxu(&answer.most, most);
    }
    for (uint32_t i = 0; q.operation == GROUP && i < GROUPS; i++) {
        spin_amo_add(&answer.groups[i].rows, groups[i][0]);
        spin_amo_add(&answer.groups[i].sum, groups[i][1]);
    }
    spin_fence();
    if (spin_amo_add(&done, looked_at) + looked_at == tiles) {
        finish();
    }
    return SPIN_SUCCESS;
}
