/* Receives SLMP messages by FPsPIN's API: bytes go to the host as they come, packets that want it are acknowledged, and the completion
 * handler reports the length, which it knows from the last packet. */
#include <handler.h>
#include <packets.h>
#include <spin_host.h>

__handler__ void first(handler_args_t *args) {
    slmp_pkt_hdr_t *packet = args->task->pkt_mem;
    uint16_t flags = ntohs(packet->slmp_hdr.flags);
    if (ntohl(packet->slmp_hdr.pkt_off) != 0 || !SYN(flags)) {
        printf("a message begins with flags %#x\n", flags);
    }
    if (ntohl(packet->slmp_hdr.msg_id) != args->task->flow_id) {
        printf("message %u has flow id %u\n", ntohl(packet->slmp_hdr.msg_id), args->task->flow_id);
    }
}

static void acknowledge(slmp_pkt_hdr_t *packet) {
    slmp_pkt_hdr_t came = *packet;
    packet->eth_hdr.src = came.eth_hdr.dest;
    packet->eth_hdr.dest = came.eth_hdr.src;
    packet->ip_hdr.source_id = came.ip_hdr.dest_id;
    packet->ip_hdr.dest_id = came.ip_hdr.source_id;
    packet->ip_hdr.length = htons(sizeof(slmp_pkt_hdr_t) - sizeof(eth_hdr_t));
    packet->ip_hdr.checksum = 0;
    packet->ip_hdr.checksum = ip_checksum(&packet->ip_hdr, sizeof(ip_hdr_t));
    packet->udp_hdr.src_port = came.udp_hdr.dst_port;
    packet->udp_hdr.dst_port = came.udp_hdr.src_port;
    packet->udp_hdr.length = htons(sizeof(udp_hdr_t) + sizeof(slmp_hdr_t));
    packet->udp_hdr.checksum = 0;
    packet->slmp_hdr.flags = htons(MKACK);
    spin_cmd_t send;
    spin_send_packet(packet, sizeof(slmp_pkt_hdr_t), &send);
}

__handler__ void each(handler_args_t *args) {
    slmp_pkt_hdr_t *packet = args->task->pkt_mem;
    spin_cmd_t copy;
    spin_dma_to_host(HOST_ADDR(args) + CORE_COUNT * PAGE_SIZE + ntohl(packet->slmp_hdr.pkt_off), (uint32_t)(packet + 1),
                     SLMP_PAYLOAD_LEN(packet), 0, &copy);
    if (SYN(ntohs(packet->slmp_hdr.flags))) {
        acknowledge(packet);
    }
}

__handler__ void last(handler_args_t *args) {
    slmp_pkt_hdr_t *packet = args->task->pkt_mem;
    uint16_t flags = ntohs(packet->slmp_hdr.flags);
    if (!EOM(flags) || ACK(flags)) {
        printf("a message ends with flags %#x\n", flags);
        return;
    }
    fpspin_host_req(args, ntohl(packet->slmp_hdr.pkt_off) + SLMP_PAYLOAD_LEN(packet));
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)handler_mem_ptr;
    *hh = first;
    *ph = each;
    *th = last;
}
