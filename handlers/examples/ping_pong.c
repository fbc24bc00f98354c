/* Ping-pong, stored: answers every UDP packet with itself, from the packet slot: MAC and IP addresses and UDP ports change places, everything else stays, and so do all
 * checksums, because a ones' complement sum does not care for the order of its terms. Drops what is not UDP over plain IPv4, and
 * frames that do not fit the packet slot. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    if (!ip) {
        return SPIN_DROP;
    }
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_swap_macs(spin_packet(h));
    spin_swap_fields(ip->src, ip->dst, 2);
    spin_swap_fields(udp->sport, udp->dport, 1);
    /* A frame that is cut in the slot is not sent. */
    return spin_send_packet(spin_packet(h), h->packet_len) == SPIN_SEND_OK ? SPIN_PROCESS_DATA : SPIN_DROP;
}
