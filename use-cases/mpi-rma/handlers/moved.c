/* Has the puts to a window that may move. Before the move the process that they name gets them; after it each packet goes straight from
 * the packet buffer to the window of the process of this context, in the epoch that the origin names. A packet of another kind is dropped
 * then; what lies outside of the window, or names an epoch for which there is no buffer, is refused by the window. */
#include "spindle.h"

/* The window's address in the process of this context, and the epoch in which it comes there. */
uint64_t window = 0;
uint32_t first = 0;
/* Not 0: it is there. The host writes it while no put is under way. */
volatile uint32_t moved = 0;

int header_handler(const spin_header_t *h, void *state) {
    (void)h;
    (void)state;
    return moved ? SPIN_PROCESS_DATA : SPIN_PROCEED;
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    const uint8_t *payload = spin_payload(p);
    const uint8_t *header = payload - SPIN_TRANSPORT_BYTES;
    uint32_t flags = spin_get16(header + SPIN_TRANSPORT_FLAGS);
    uint32_t wanted = SPIN_TRANSPORT_FLAG_EPOCH_VALID, epoch = spin_get16(header + SPIN_TRANSPORT_EPOCH);
    if (p->opcode != SPIN_TRANSPORT_OP_PUT || !(flags & wanted) || p->payload_len == 0 || !spin_whole_frame(p)) {
        return SPIN_DROP;
    }
    spin_redirect_epoch(window, (uint16_t)(epoch - first), p->buf_off + p->msg_off, payload, p->payload_len);
    return SPIN_SUCCESS;
}
