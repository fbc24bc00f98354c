/* Answers DNS queries for the IPv4 address of any name with one address, which the host may set. The answer is up to 16 bytes longer than
 * the query: it grows into the tailroom, and the NIC inserts the checksums. Drops all frames that are no such query. */
#include "spindle.h"

SPIN_TAILROOM(64);

enum { HEADER = 12, A = 1, IN = 1, RESPONSE = 0x84, RECURSION_WANTED = 1, QUERY_MASK = 0xfa };
uint8_t address[4] = {10, 0, 0, 1};

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    /* After the name of the question: type, class; answer: the name again, type, class, time to live, length, address. */
    static const uint8_t answer[16] = {0xc0, HEADER, 0, A, 0, IN, 0, 0, 0, 60, 0, 4};
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint8_t *dns = spin_payload(h), *end = dns + h->payload_len, *p = dns + HEADER;
    if (!ip || !spin_whole_frame(h) || h->payload_len < HEADER || dns[2] & QUERY_MASK || spin_get16(dns + 4) != 1) {
        return SPIN_DROP;
    }
    while (p < end && *p) {
        p += *p + 1;
    }
    if (end - p < 5 || spin_get16(p + 1) != A || spin_get16(p + 3) != IN) {
        return SPIN_DROP;
    }
    /* Additional records of the query give way to the answer. */
    p += 5;
    uint32_t length = (uint32_t)(p - spin_packet(h)) + sizeof answer;
    if (length > spin_room(h)) {
        return SPIN_DROP;
    }
    dns[2] = RESPONSE | (dns[2] & RECURSION_WANTED);
    dns[3] = 0;
    spin_put16(dns + 6, 1);
    spin_put32(dns + 8, 0);
    memcpy(p, answer, sizeof answer - 4);
    memcpy(p + sizeof answer - 4, address, 4);
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_put16(ip->length, length - (uint32_t)(spin_l3(h) - spin_packet(h)));
    spin_put16(udp->length, length - (uint32_t)((uint8_t *)udp - spin_packet(h)));
    spin_swap_endpoints(spin_packet(h), ip);
    spin_send_packet_flags(spin_packet(h), length, SPIN_SEND_CHECKSUM);
    return SPIN_PROCESS_DATA;
}
