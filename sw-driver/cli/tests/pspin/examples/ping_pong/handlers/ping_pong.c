/* Answers UDP and ICMP packets by PsPIN's API, waiting for each answer in one of three ways. */
#include <handler.h>
#include <packets.h>
#include <spin_dma.h>

static spin_lock_t copying;

__handler__ void answer(handler_args_t *args) {
    pkt_hdr_t *packet = args->task->pkt_mem;
    uint32_t address = packet->ip_hdr.source_id;
    packet->ip_hdr.source_id = packet->ip_hdr.dest_id;
    packet->ip_hdr.dest_id = address;
    uint16_t port = packet->udp_hdr.src_port;
    packet->udp_hdr.src_port = packet->udp_hdr.dst_port;
    packet->udp_hdr.dst_port = port;
    assert(packet->ip_hdr.version == 4 && packet->ip_hdr.ihl == 5);
    assert(packet->ip_hdr.protocol == 1 || packet->udp_hdr.length == packet->ip_hdr.length - sizeof(ip_hdr_t));
    assert(packet->ip_hdr.length <= args->task->pkt_mem_size);

    spin_cmd_t send;
    if (args->task->flow_id % 4 == 3) {
        /* From elsewhere than the packet: the answer is put together in the home cluster's scratchpad. */
        uint8_t *copy = (uint8_t *)args->task->scratchpad[args->cluster_id] + 1;
        spin_dma_t dma;
        spin_lock_lock(&copying);
        assert(spin_dma(packet, copy, packet->ip_hdr.length, SPIN_DMA_LOC2EXT, 0, &dma) == SPIN_OK);
        spin_dma_wait(dma);
        spin_send_packet(copy, packet->ip_hdr.length, &send);
        spin_cmd_wait(send);
        spin_lock_unlock(&copying);
    } else {
        spin_send_packet(packet, packet->ip_hdr.length, &send);
    }
    bool over = args->task->flow_id % 4 == 0;
    while (!over) {
        spin_cmd_test(send, &over);
    }
    if (args->task->flow_id % 4 == 2) {
        spin_cmd_wait(send);
    }
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)handler_mem_ptr;
    *hh = NULL;
    *ph = answer;
    *th = NULL;
}
