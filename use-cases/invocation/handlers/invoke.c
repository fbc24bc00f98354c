/* Invokes a function of a worker: a request with a valid lease goes straight from the packet buffer to the mailbox of an idle worker.
 * A request of more than one packet, one without a valid lease, and one that finds no idle worker are dropped.
 *
 * The handlers run in one cluster, so they share the scratchpad of its L1, from which loads are fast. The host writes leases to context
 * memory, and starts a task for each one that it has changed. */
#include "spin_atomic.h"
#include "spindle.h"

enum { LEASES = 64, WAITS = 0, CHANGED = 1 };

/* A shorter message fails before its handler runs. */
struct request { uint32_t lease, function, number, spare; };
SPIN_USER_HEADER(struct request);

/* A lease is a random number whose lowest bits are its place in the table; place 0 is not used, and a word of 0 is no lease. The
 * deadline is a cycle of the NIC. */
typedef struct { uint32_t word, deadline; } lease_t;
lease_t leases[LEASES];

struct shared {
    /* Bit w: worker w waits for a request. */
    volatile uint32_t idle;
    uint32_t spare;
    volatile lease_t leases[LEASES];
};

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    struct shared *shared = (struct shared *)spin_scratch();
    /* Volatile, so that the loads stay in this order: each that others depend on is followed by some that need not wait for it. */
    const volatile spin_header_t *task = h;
    const volatile struct request *request = (const volatile struct request *)task->payload;
    uint32_t idle = shared->idle, whole = task->msg_len, now = task->stamp;
    uint32_t shown = request->lease;
    uint32_t mailboxes = task->addr_lo, group = task->addr_hi, worker = idle & -idle;
    volatile lease_t *lease = &shared->leases[shown % LEASES];
    uint32_t word = lease->word, deadline = lease->deadline;
    if (__builtin_expect(word != shown, 0) || __builtin_expect(shown == 0, 0)) {
        return SPIN_DROP;
    }
    if (__builtin_expect((int32_t)(deadline - now) <= 0, 0) || __builtin_expect(whole > SPIN_SEGMENT_BYTES, 0)) {
        return SPIN_DROP;
    }
    while (__builtin_expect(idle != 0, 1)) {
        idle = spin_amo_and(&shared->idle, ~worker);
        if (__builtin_expect((idle & worker) != 0, 1)) {
            /* The mailbox of worker w has the address of the request, and bit w set. */
            spin_redirect((uint64_t)group << 32 | mailboxes | worker, 0);
            return SPIN_PROCESS_DATA;
        }
        worker = idle & -idle;
    }
    return SPIN_DROP;
}

/* Started by the host: these workers wait again, or this lease has changed. */
int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    struct shared *shared = (struct shared *)spin_scratch();
    if (t->addr_hi == WAITS) {
        spin_amo_or(&shared->idle, t->addr_lo);
    } else if (t->addr_hi == CHANGED && t->addr_lo < LEASES) {
        /* No handler may see the new word with the old deadline. */
        volatile lease_t *lease = &shared->leases[t->addr_lo];
        lease->word = 0;
        lease->deadline = leases[t->addr_lo].deadline;
        lease->word = leases[t->addr_lo].word;
    }
    return SPIN_SUCCESS;
}
