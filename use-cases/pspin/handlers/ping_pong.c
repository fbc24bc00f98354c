/* Returns the packet to its sender: addresses and ports change places, no checksum changes. */
#include "load.h"

void answer(handler_args_t *args) {
    pkt_hdr_t *packet = args->task->pkt_mem;
    uint32_t address = packet->ip_hdr.source_id;
    packet->ip_hdr.source_id = packet->ip_hdr.dest_id;
    packet->ip_hdr.dest_id = address;
    uint16_t port = packet->udp_hdr.src_port;
    packet->udp_hdr.src_port = packet->udp_hdr.dst_port;
    packet->udp_hdr.dst_port = port;
    spin_send_packet(packet, packet->ip_hdr.length, NULL);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)hh;
    (void)th;
    (void)handler_mem_ptr;
    *ph = answer;
}
