/* Serves host memory: the payload of a request (UDP) begins with an offset in the host region (four bytes, big-endian). The answer has as
 * many bytes as the request's payload, read from that offset on, and no UDP checksum. Requests outside the region are dropped. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint32_t length = h->payload_len;
    if (!ip || !spin_whole_frame(h) || length < 4) {
        return SPIN_DROP;
    }
    uint32_t offset = spin_get32(spin_payload(h));
    if (offset > h->host_size || length > h->host_size - offset) {
        return SPIN_DROP;
    }
    /* The bytes of the host replace the payload while the headers are changed. */
    spin_dma_from_host(spin_payload(h), offset, length);
    spin_handle_t read = spin_handle();
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_swap_endpoints(spin_packet(h), ip);
    spin_put16(udp->checksum, 0);
    spin_wait();
    if (spin_failed(read)) {
        return SPIN_FAIL;
    }
    spin_send_packet(spin_packet(h), h->packet_len);
    return SPIN_PROCESS_DATA;
}
