/* Invokes a function of a worker: a request with a valid lease goes straight from the packet buffer to the mailbox of an idle worker.
 * A request of more than one packet, one without a valid lease, and one that finds no idle worker are dropped. */
#include "spin_atomic.h"
#include "spindle.h"

enum { LEASES = 64 };

struct request { uint32_t lease, secret, function, number; };

/* The host's: it grants leases, with a deadline in cycles of the NIC. A secret of 0 is no lease. */
struct { uint32_t secret, deadline; } leases[LEASES];
/* Bit w: worker w waits for a request. */
volatile uint32_t idle;
/* Address of the workers' mailboxes; worker w has that with bit w set. */
uint64_t workers;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const struct request *request = (const struct request *)spin_payload(h);
    uint32_t length = h->payload_len, lease = spin_load32(&request->lease), shown = spin_load32(&request->secret);
    if (length < sizeof *request || length != h->msg_len || lease >= LEASES) {
        return SPIN_DROP;
    }
    uint32_t free = idle, secret = leases[lease].secret, deadline = leases[lease].deadline;
    if (secret == 0 || secret != shown || (int32_t)(deadline - spin_cycles()) <= 0) {
        return SPIN_DROP;
    }
    while (free) {
        uint32_t worker = free & -free;
        free = spin_amo_and(&idle, ~worker);
        if (free & worker) {
            spin_redirect(workers | worker, 0);
            return SPIN_PROCESS_DATA;
        }
    }
    return SPIN_DROP;
}

/* Started by the host: these workers wait again. */
int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    spin_amo_or(&idle, t->addr_lo);
    return SPIN_SUCCESS;
}
