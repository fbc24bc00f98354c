/* Adds the payloads up, word by word, in the home clusters' scratchpads: under a lock, by a reservation, or by atomic additions. A header
 * handler and a completion handler count messages; the last handler of each notifies the host. */
#include <handler.h>
#include <packets.h>

static spin_lock_t lock;
static spin_rw_lock_t gate;
static int32_t begun, done;

void begin(handler_args_t *args) {
    assert(args->cluster_id == args->task->home_cluster_id && args->cluster_id < NB_CLUSTERS);
    amo_add(&begun, 1);
}

void add(handler_args_t *args) {
    const uint8_t *payload;
    uint32_t length;
    GET_IP_UDP_PLD(args->task->pkt_mem, payload, length);
    volatile uint32_t *sums = args->task->scratchpad[args->cluster_id];
    const uint32_t *words = (const uint32_t *)payload;
    spin_rw_lock_r_lock(&gate);
    for (uint32_t i = 0; i < length / 4; i++) {
        uint32_t old;
        switch (i % 3) {
        case 0: amo_add((volatile int32_t *)&sums[i], (int32_t)words[i]); break;
        case 1:
            do {
                old = sums[i];
            } while (compare_and_swap(&sums[i], old, old + words[i]) != 0);
            break;
        default:
            /* No other way of adding to this word. */
            spin_lock_lock(&lock);
            sums[i] += words[i];
            spin_lock_unlock(&lock);
        }
    }
    spin_rw_lock_r_unlock(&gate);
}

void end(handler_args_t *args) {
    const ip_hdr_t *ip = args->task->pkt_mem;
    assert(ip->protocol == 17 && args->task->pkt_mem_size >= sizeof(pkt_hdr_t));
    spin_rw_lock_w_lock(&gate);
    done++;
    assert(done <= begun);
    spin_rw_lock_w_unlock(&gate);
    uint64_t host = (uint64_t)args->task->host_mem_high << 32 | args->task->host_mem_low;
    spin_host_write(host, 1, NULL);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)handler_mem_ptr;
    *hh = begin;
    *ph = add;
    *th = end;
}
