/* Forwards UDP packets whose destination is in a table, with the port that the table gives; the NIC inserts the checksum. Drops all others.
 * The table is a hash table with open addressing in context memory, which the host fills. An entry has the destination address (0: free),
 * the destination port in the lower half of `ports` and the new port in the upper half. */
#include "spindle.h"

enum { ENTRIES = 512 };

struct {
    uint32_t address, ports;
} table[ENTRIES];

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    if (!ip || !spin_whole_frame(h)) {
        return SPIN_DROP;
    }
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    uint32_t address = spin_get32(ip->dst), port = h->dst_pid;
    uint32_t at = ((address ^ port << 16) * 0x9e3779b1u) >> 23;
    for (uint32_t tries = 0; tries < ENTRIES; tries++, at = (at + 1) % ENTRIES) {
        uint32_t ports = table[at].ports;
        if (table[at].address == 0) {
            break;
        }
        if (table[at].address == address && (ports & 0xffff) == port) {
            spin_put16(udp->dport, ports >> 16);
            spin_send_packet_flags(spin_packet(h), h->packet_len, SPIN_SEND_CHECKSUM);
            return SPIN_PROCESS_DATA;
        }
    }
    return SPIN_DROP;
}
