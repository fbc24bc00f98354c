/* Serves unique numbers: each UDP packet increments the counter of its destination port and is answered with the value before. The counters
 * are 64-bit words in the host region, selected by the port modulo their count, and shared with the host: the NIC increments them by
 * atomic operations on host memory. The answer has the number in its first eight bytes (big-endian) and no UDP checksum. Packets whose
 * payload is shorter are dropped. */
#include "spindle.h"

enum { NUMBER = 8 };

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint32_t counters = h->host_size / NUMBER;
    if (!ip || !spin_whole_frame(h) || h->payload_len < NUMBER || !counters) {
        return SPIN_DROP;
    }
    spin_host_add(h->dst_pid % counters * NUMBER, NUMBER, 1);
    spin_handle_t draw = spin_handle();
    spin_wait();
    if (spin_failed(draw)) {
        return SPIN_FAIL;
    }
    uint64_t number = spin_host_result();
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_put32(spin_payload(h), (uint32_t)(number >> 32));
    spin_put32(spin_payload(h) + 4, (uint32_t)number);
    spin_swap_endpoints(spin_packet(h), ip);
    spin_put16(udp->checksum, 0);
    spin_send_packet(spin_packet(h), h->packet_len);
    return SPIN_PROCESS_DATA;
}
