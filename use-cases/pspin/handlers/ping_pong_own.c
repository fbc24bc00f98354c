/* ping_pong in Spindle's own API. */
#include "spindle.h"

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(p, SPIN_IPPROTO_UDP);
    if (!ip || !spin_whole_frame(p)) {
        return SPIN_DROP;
    }
    spin_swap_endpoints(spin_packet(p), ip);
    spin_send_packet_flags(spin_packet(p), p->packet_len, SPIN_SEND_UNSEEN);
    return SPIN_SUCCESS;
}
