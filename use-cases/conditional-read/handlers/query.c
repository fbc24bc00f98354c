/* Answers a query over a table in host memory. The message of a client is the query; tasks read the rows' heads, test them, and put what
 * is wanted into the client's window of results: whole rows, a part of each, or nothing but sums. The last task puts the answer, how
 * many rows there are and the sums, into the client's window of answers. One query at a time: a message that comes meanwhile, and one
 * that is no query, is dropped.
 *
 * The host sets the windows' key. The table is the context's host region. */
#include "spin_buffers.h"
#include "spindle.h"

enum { SELECT, PROJECT, SUM, GROUP, MATCH, OPERATIONS };
enum { TASKS = 32, ROWS = 16, PART = 16, GROUPS = 8, CLUSTERS = 8 };
enum { RESULTS = 0xC0D1, ANSWERS = 0xC0D2 };

/* What the query needs of a row lies in its first 64 bytes. */
typedef struct { uint32_t number, measure, value, group; uint8_t text[48]; } head_t;
/* Wanted are rows whose measure is at least `least`; with MATCH those whose text has `pattern` where `mask` has ones. */
typedef struct { uint32_t operation, row_bytes, rows, least, pattern, mask; } query_t;
typedef struct { uint32_t bytes, rows, sum, least, most, failed, zero[2]; struct { uint32_t rows, sum; } groups[GROUPS]; } answer_t;

uint32_t key;
static volatile uint32_t busy, done, taken[CLUSTERS];
static query_t query;
static spin_target_t results, answers;
static volatile answer_t answer;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint8_t *bytes = spin_payload(h);
    if (h->payload_len != sizeof query || h->msg_len != sizeof query) {
        return SPIN_DROP;
    }
    uint32_t row_bytes = spin_load32(bytes + 4), rows = spin_load32(bytes + 8);
    if (spin_load32(bytes) >= OPERATIONS || row_bytes % sizeof(head_t) || row_bytes == 0 || row_bytes > 1024 ||
        rows == 0 || rows > h->host_size / row_bytes || spin_amo_swap(&busy, 1)) {
        return SPIN_DROP;
    }
    memcpy(&query, bytes, sizeof query);
    answer.least = ~0u;
    results.node = answers.node = h->src_nid;
    results.process = answers.process = h->src_pid;
    results.key = answers.key = key;
    results.mailbox = RESULTS;
    answers.mailbox = ANSWERS;
    spin_fence();
    /* No more can wait; each of these starts another one. */
    for (uint32_t number = 0; number < TASKS / 2; number++) {
        spin_start(number, 0);
    }
    return SPIN_PROCESS_DATA;
}

/* The text has the pattern at some byte. */
static bool matches(const uint8_t *text, uint32_t pattern, uint32_t mask) {
    for (const uint8_t *end = text + 44; text <= end; text++) {
        if (((spin_load32(text) ^ pattern) & mask) == 0) {
            return true;
        }
    }
    return false;
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

/* The last task ends the query. */
static void finish(void) {
    spin_target_t to = answers;
    spin_put(&to, (const void *)&answer, sizeof answer);
    for (uint32_t i = 0; i < sizeof answer / 4; i++) {
        ((volatile uint32_t *)&answer)[i] = 0;
    }
    done = 0;
    spin_fence();
    busy = 0;
}

int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    if (t->addr_lo < TASKS / 2) {
        spin_start(t->addr_lo + TASKS / 2, 0);
    }
    query_t q = query;
    spin_target_t to = results;
    uint32_t step = q.row_bytes == sizeof(head_t) ? 0 : 1, part = q.operation == PROJECT ? PART : (uint32_t)sizeof(head_t);
    uint32_t found = 0, sum = 0, least = ~0u, most = 0, failed = 0, groups[GROUPS][2] = {{0}};
    volatile uint32_t *word = &taken[t->cluster_id];
    uint32_t buffer = spin_take_buffer(word, t->hpu_id, t->scratch_size / (ROWS * sizeof(head_t)));
    uint8_t *heads = spin_scratch() + buffer * ROWS * sizeof(head_t);
    for (uint32_t first = t->addr_lo * ROWS; first < q.rows; first += TASKS * ROWS) {
        uint32_t rows = q.rows - first < ROWS ? q.rows - first : ROWS, bytes = 0;
        /* Of rows that are longer than a head, the heads alone. The puts of the rows before have ended. */
        spin_wait();
        for (uint32_t i = 0; i < (step ? rows : 1); i++) {
            spin_dma_from_host(heads + i * sizeof(head_t), (first + i) * q.row_bytes, (step ? 1 : rows) * sizeof(head_t));
        }
        spin_wait();
        failed |= *spin_command_word(SPIN_CMD_ERROR);
        for (uint32_t i = 0; i < rows; i++) {
            const head_t *head = (const head_t *)heads + i;
            if (q.operation == MATCH ? !matches(head->text, q.pattern, q.mask) : head->measure < q.least) {
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
            } else if (step && q.operation != PROJECT) {
                /* A long row goes from host memory to the wire. */
                to.offset = spin_amo_add(&answer.bytes, q.row_bytes);
                spin_put_host(&to, (first + i) * q.row_bytes, q.row_bytes);
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
    if (spin_amo_add(&done, 1) == TASKS - 1) {
        finish();
    }
    return SPIN_SUCCESS;
}
