/* Every public name of the PsPIN headers, once. Compiled, not run. */
#include <handler.h>

#include <assert.h>
#include <hpu.h>
#include <pspin.h>
#include <pspin_rt.h>
#include <spin_conf.h>
#include <spin_dma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <util.h>
#ifndef __clang__
#include <packets.h>
#endif

volatile __attribute__((section(".l2_handler_data"))) uint8_t handler_memory[] = {1, 2, 3};
static int32_t numbers[PKT_SIZE / sizeof(int32_t)];
static uint32_t words[CORE_COUNT];

static uint32_t atomics(void) {
    uint32_t sum = amo_swap(&words[0], 1) + amo_and(&words[0], 3) + amo_or(&words[0], 4) + amo_xor(&words[0], 5);
    sum += amo_minu(&words[1], 6) + amo_maxu(&words[1], 7);
    sum += (uint32_t)(amo_min(&numbers[0], -1) + amo_max(&numbers[0], 2) + amo_add(&numbers[1], -3));
    amo_store(&words[2], load_reserved(&words[3]));
    asm_mem_fence();
    rt_time_wait_cycles(100);
    return sum + store_conditional(&words[3], 8) + (uint32_t)compare_and_swap(&words[4], 0, 9);
}

static int locks(void) {
    static futex_t futex;
    static spin_lock_t lock;
    static spin_rw_lock_t gate;
    futex_init(&futex);
    int got = futex_try_lock(&futex) + futex_lock(&futex) + futex_lock_s(&futex);
    futex_unlock(&futex);
    spin_lock_init(&lock);
    got += spin_lock_try_lock(&lock) + spin_lock_lock(&lock) + spin_lock_unlock(&lock);
    got += spin_rw_lock_r_lock(&gate) + spin_rw_lock_r_unlock(&gate);
    return got + spin_rw_lock_w_lock(&gate) + spin_rw_lock_w_unlock(&gate) + (int)gate.glock + gate.num_readers;
}

static void commands(task_t *task) {
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;
    bool over;
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &command);
    spin_cmd_test(command, &over);
    spin_dma_to_host(host, (uint32_t)task->l2_pkt_mem, task->host_mem_size, over, &command);
    spin_dma_from_host(host, (uint32_t)task->l2_pkt_mem, 64, over, &command);
    spin_rdma_put(1, task->pkt_mem, 64, &command);
    spin_write_to_host(host, 1, &command);
    spin_host_write(host, 2, NULL);
    spin_cmd_wait(command);
    spin_dma_t dma;
    uint32_t completed;
    if (spin_dma(task->handler_mem, task->scratchpad[NB_CLUSTERS - 1], task->scratchpad_size[0], SPIN_DMA_EXT2LOC, 0, &dma) == SPIN_FAIL) {
        abort();
    }
    spin_dma_test(dma, &completed);
    spin_dma_wait(dma);
    spin_dma(handler_memory + 0 == NULL ? NULL : task->handler_mem, task->pkt_mem, task->handler_mem_size, SPIN_DMA_LOC2EXT, 0, &dma);
}

#ifndef __clang__
static uint32_t headers(void *packet) {
    pkt_hdr_t *h = packet;
    ip_hdr_t *ip = &h->ip_hdr;
    udp_hdr_t *udp = &h->udp_hdr;
    uint8_t *payload;
    uint32_t length;
    GET_IP_UDP_PLD(packet, payload, length);
    uint32_t sum = ip->version + ip->ihl + ip->tos + ip->length + ip->identification + ip->offset + ip->ttl + ip->protocol;
    sum += ip->checksum + ip->source_id + ip->dest_id + udp->src_port + udp->dst_port + udp->length + udp->checksum;
    return sum + payload[0] + length;
}
#else
static uint32_t headers(void *packet) { return *(uint8_t *)packet; }
#endif

__handler__ void every_name(handler_args_t *args) {
    uint32_t cycles;
    read_csr(cycle, cycles);
    printf("%u %u %u\n", rt_core_id() + args->hpu_id, rt_cluster_id() + args->cluster_id, args->hpu_gid + cycles);
    SPIN_PRINTF("%u\n", MIN(1, 2) + MAX(3, 4) + AND(5, 6) + DIV_CEIL(7, 8) + FAST_DIV(9, 1) + FAST_MOD(10, 8));
    DEBUG_PRINT("%d\n", abs(-1));
    ASSERT(args->task->home_cluster_id < NB_CLUSTERS);
    assert(ALIGN_UP(args->task->flow_id, MEM_ALIGNMENT) % MEM_ALIGNMENT == 0);
    memset(numbers, 0, sizeof numbers);
    memmove(numbers + 1, numbers, 8);
    memcpy(words, numbers, 8);
    words[NUM_CLUSTER_HPUS] = (uint32_t)memcmp(words, numbers, 8) + headers(args->task->pkt_mem) + atomics();
    words[NB_CORES + 1] = (uint32_t)locks() + SPIN_OK;
    commands(args->task);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    *hh = *ph = *th = every_name;
    *handler_mem_ptr = (void *)handler_memory;
}
