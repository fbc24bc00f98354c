/* Answers packets with bytes of the host: read into the packet, or into a variable and copied. */
#include <handler.h>
#include <packets.h>

static uint8_t copy[4][2048];
static spin_lock_t locks[4];

void answer(handler_args_t *args) {
    task_t *task = args->task;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t length = ((ip_hdr_t *)task->pkt_mem)->length, mine = task->home_cluster_id;
    spin_cmd_t read, send;
    if (task->flow_id / 4 % 2) {
        spin_dma_from_host(host, (uint32_t)task->pkt_mem, length, false, &read);
        spin_cmd_wait(read);
    } else {
        spin_lock_lock(&locks[mine]);
        spin_dma_from_host(host + 1, (uint32_t)copy[mine], length - 1, true, &read);
        spin_cmd_wait(read);
        memcpy((uint8_t *)task->pkt_mem + 1, copy[mine], length - 1);
        spin_lock_unlock(&locks[mine]);
        spin_dma_from_host(host, (uint32_t)task->pkt_mem, 1, false, &read);
        spin_cmd_wait(read);
    }
    spin_send_packet(task->pkt_mem, length, &send);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)hh;
    (void)th;
    (void)handler_mem_ptr;
    *ph = answer;
}
