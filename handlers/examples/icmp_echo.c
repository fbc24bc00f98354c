/* Answers every ping: swaps the addresses, changes type 8 (echo request) to 0 (echo reply), and leaves the checksum to the NIC.
 * Drops all other frames, and frames that do not fit the packet slot. */
#include "spindle.h"

enum { ECHO_REQUEST = 8, ECHO_REPLY = 0 };

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_ICMP);
    if (!ip) {
        return SPIN_DROP;
    }
    spin_icmp_t *icmp = (spin_icmp_t *)(ip + 1);
    if (icmp->type != ECHO_REQUEST || icmp->code != 0) {
        return SPIN_DROP;
    }
    spin_swap_addresses(spin_packet(h), ip);
    icmp->type = ECHO_REPLY;
    /* A frame that is cut in the slot is refused. */
    spin_send_t sent = spin_send_packet_flags(spin_packet(h), h->packet_len, SPIN_SEND_CHECKSUM);
    return sent == SPIN_SEND_OK ? SPIN_PROCESS_DATA : SPIN_DROP;
}
