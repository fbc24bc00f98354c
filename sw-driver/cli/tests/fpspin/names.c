/* Every public name that FPsPIN's headers add to PsPIN's, once. Compiled, not run. */
#include <handler.h>

#include <packets.h>
#include <pspin.h>
#include <pspin_rt.h>
#include <spin_conf.h>
#include <spin_dma.h>
#include <spin_host.h>
#include <util.h>

static_assert(CORE_COUNT == NB_CLUSTERS * NB_CORES && MAX_COUNTERS == 16 && PAGE_SIZE == 4096, "the machine of FPsPIN");

static uint32_t headers(slmp_pkt_hdr_t *packet) {
    pkt_hdr_t *udp = (pkt_hdr_t *)packet;
    mac_addr_t mac = packet->eth_hdr.src;
    packet->eth_hdr.src = packet->eth_hdr.dest;
    packet->eth_hdr.dest = mac;
    ip_hdr_t *ip = &udp->ip_hdr;
    uint32_t sum = ip->version + ip->ihl + ip->tos + ntohs(ip->length) + ip->identification + ip->offset + ip->ttl + ip->protocol;
    sum += ip->checksum + ntohl(ip->source_id) + htonl(ip->dest_id) + packet->eth_hdr.length + mac.data[5];
    sum += udp->udp_hdr.src_port + udp->udp_hdr.dst_port + htons(udp->udp_hdr.length) + udp->udp_hdr.checksum;
    uint16_t flags = bswap_16(packet->slmp_hdr.flags);
    sum += bswap_32(packet->slmp_hdr.msg_id) + packet->slmp_hdr.pkt_off + SLMP_PAYLOAD_LEN(packet);
    return sum + EOM(flags) + SYN(flags) + ACK(flags) + (MKEOM | MKSYN | MKACK) + ip_checksum(ip, sizeof(ip_hdr_t));
}

__handler__ void every_name(handler_args_t *args) {
    uint32_t start = cycles();
    struct perf_counter before = {.sum = __host_data.counters[0].sum, .count = __host_data.counters[0].count};
    fpspin_flag_t flag = {.data = __host_data.flag[HPU_ID(args)]};
    if (fpspin_check_host_mem(args) && HOST_ADDR(args) + DMA_ALIGN < HOST_PLD_ADDR(args) && HOST_ADDR_HPU(args) % DMA_BUS_WIDTH == 0) {
        flag = fpspin_host_req(args, headers(args->task->pkt_mem));
    }
    printf("%#x %u %u %u %u\n", flag.dma_id, flag.len, flag.hpu_id, before.sum + before.count, dma_idx[args->hpu_id]);
    printf("%u %u %u\n", user_core_id(), user_cluster_id(), DO_HOST);
    push_counter(&__host_data.counters[MAX_COUNTERS - 1], cycles() - start);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)handler_mem_ptr;
    *hh = *ph = *th = every_name;
}
