/* Ping-pong, stored: returns every UDP packet from the packet slot with MAC addresses, IP addresses and UDP ports exchanged. All checksums
 * stay valid, because a ones' complement sum does not depend on the order of its terms. Drops all packets that are not UDP over plain
 * IPv4, and frames that do not fit the packet slot. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    if (!ip) {
        return SPIN_DROP;
    }
    spin_swap_endpoints(spin_packet(h), ip);
    /* A frame that is cut in the slot is refused. */
    return spin_send_packet(spin_packet(h), h->packet_len) == SPIN_SEND_OK ? SPIN_PROCESS_DATA : SPIN_DROP;
}
