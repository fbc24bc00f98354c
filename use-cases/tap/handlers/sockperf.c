/* Answers the messages of sockperf (UDP): they come back with the flag of the client cleared, so that sockperf takes them for its server's.
 * Drops messages that ask for no answer, answers, and frames that are no such message or do not fit the packet slot. */
#include "spindle.h"

/* A message begins with a sequence number (8 bytes), flags (2), and its length (4), big-endian. */
enum { HEADER = 14, FLAGS = 9, CLIENT = 1, ANSWER_WANTED = 2 };

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint8_t *message = spin_payload(h);
    if (!ip || !spin_whole_frame(h) || h->payload_len < HEADER) {
        return SPIN_DROP;
    }
    uint32_t flags = message[FLAGS];
    if ((flags & (CLIENT | ANSWER_WANTED)) != (CLIENT | ANSWER_WANTED)) {
        return SPIN_DROP;
    }
    message[FLAGS] = (uint8_t)(flags & ~CLIENT);
    spin_swap_endpoints(spin_packet(h), ip);
    spin_send_packet_flags(spin_packet(h), h->packet_len, SPIN_SEND_CHECKSUM);
    return SPIN_PROCESS_DATA;
}
