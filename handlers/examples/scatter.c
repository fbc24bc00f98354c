/* Scatters UDP packets: a payload is a list of blocks, each its offset in the mailbox `window` of the context's process (32 bits,
 * big-endian), its length (16 bits) and its bytes. Each block goes from the packet buffer to its place in host memory without a copy. A
 * packet whose list does not end with its payload is dropped, after the blocks that could be read. */
#include "spindle.h"

uint64_t window = 0x5ca77e4;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint8_t *at = spin_payload(h);
    /* What is beyond the slot cannot be named. */
    const uint8_t *end = at + h->payload_len;
    const uint8_t *visible = spin_packet(h) + h->packet_len;
    if (end > visible) {
        end = visible;
    }
    while (end - at > 6) {
        uint32_t length = spin_get16(at + 4);
        if (length == 0 || length > (uint32_t)(end - at) - 6) {
            return SPIN_DROP;
        }
        spin_redirect_bytes(window, spin_get32(at), at + 6, length);
        at += 6 + length;
    }
    return at == end ? SPIN_PROCESS_DATA : SPIN_DROP;
}
