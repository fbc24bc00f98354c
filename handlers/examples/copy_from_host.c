/* Serves host memory: the payload of a request (UDP) begins with an offset in the host region (four bytes, big-endian). The answer has as
 * many bytes as the request's payload, read from that offset on, and no UDP checksum. Requests outside the region are dropped. */
#include "spin_buffers.h"

enum { BUFFER = 2048, CLUSTERS = 8 };

static volatile uint32_t taken[CLUSTERS];

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint32_t count = h->scratch_size / BUFFER, length = h->payload_len;
    if (!ip || !spin_whole_frame(h) || !count || length < 4) {
        return SPIN_DROP;
    }
    uint32_t offset = spin_get32(spin_payload(h));
    if (offset > h->host_size || length > h->host_size - offset) {
        return SPIN_DROP;
    }
    uint32_t number = spin_take_buffer(&taken[h->cluster_id], h->hpu_id, count);
    uint8_t *buffer = spin_scratch() + number * BUFFER;
    spin_dma_from_host(buffer, offset, length);
    spin_handle_t read = spin_handle();
    spin_wait();
    memcpy(spin_payload(h), buffer, length);
    spin_give_buffer(&taken[h->cluster_id], number);
    if (spin_failed(read)) {
        return SPIN_FAIL;
    }
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_swap_macs(spin_packet(h));
    spin_swap_fields(ip->src, ip->dst, 2);
    spin_swap_fields(udp->sport, udp->dport, 1);
    spin_put16(udp->checksum, 0);
    spin_send_packet(spin_packet(h), h->packet_len);
    return SPIN_PROCESS_DATA;
}
