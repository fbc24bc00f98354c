/* Forwards every UDP packet along a binomial tree of nodes: in round k, node i of the first 2^k nodes sends to node i + 2^k. The MAC and
 * IP addresses of consecutive nodes end in consecutive numbers. The host sets `rank`, the number of this node, and `size`, the number of
 * nodes. The node writes its own copy, from the IP header on, to the host region, in slot `frame number modulo slots` of 2048 bytes. */
#include "spindle.h"

enum { SLOT = 2048 };

uint32_t rank, size = 1;

/* Sets sender and receiver: the last bytes of the MAC and IP addresses. */
static void readdress(uint8_t *frame, spin_ipv4_t *ip, uint32_t from, uint32_t to) {
    ip->src[3] = (uint8_t)from;
    ip->dst[3] = (uint8_t)to;
    frame[5] = (uint8_t)to;
    frame[11] = (uint8_t)from;
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint32_t slots = h->host_size / SLOT;
    if (!ip || !spin_whole_frame(h) || !slots) {
        return SPIN_DROP;
    }
    uint32_t length = (uint32_t)(spin_packet(h) + h->packet_len - (uint8_t *)ip);
    spin_dma_to_host(h->frame % slots * SLOT, ip, length);
    uint32_t first = ip->dst[3] - rank, distance = 1;
    while (distance <= rank) {
        distance *= 2;
    }
    for (; rank + distance < size; distance *= 2) {
        /* The command before still reads the slot. */
        spin_wait();
        readdress(spin_packet(h), ip, first + rank, first + rank + distance);
        spin_send_packet_flags(spin_packet(h), h->packet_len, SPIN_SEND_CHECKSUM);
    }
    return SPIN_PROCESS_DATA;
}
