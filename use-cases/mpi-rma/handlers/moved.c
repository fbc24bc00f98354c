/* Has the puts to a window that moved: each packet goes straight from the packet buffer to the window of the process that has it now, in
 * the epoch that the origin names. A packet of another kind is dropped; what lies outside of the window, or names an epoch for which
 * there is no buffer, is refused by the window. */
#include "spindle.h"

/* The window's address in the process of this context, and the epoch in which it came there. */
uint64_t window = 0;
uint32_t first = 0;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint8_t *payload = spin_payload(h);
    const uint8_t *header = payload - SPIN_TRANSPORT_BYTES;
    uint32_t flags = spin_get16(header + SPIN_TRANSPORT_FLAGS);
    uint32_t wanted = SPIN_TRANSPORT_FLAG_EPOCH_VALID, epoch = spin_get16(header + SPIN_TRANSPORT_EPOCH);
    if (h->opcode != SPIN_TRANSPORT_OP_PUT || !(flags & wanted) || h->payload_len == 0 || !spin_whole_frame(h)) {
        return SPIN_DROP;
    }
    spin_redirect_epoch(window, (uint16_t)(epoch - first), h->buf_off + h->msg_off, payload, h->payload_len);
    return SPIN_PROCESS_DATA;
}
