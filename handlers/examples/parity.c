/* Parity of a RAID or of an erasure code: every message is a block of data, or the difference of an old and a new one, and is added, times
 * a coefficient, to the parity block in host memory, starting at the message's offset in the host region; packet by packet, in any order.
 * With the coefficient 1 this is XOR (RAID 4, 5); others are those of a Reed-Solomon code in GF(2^8), polynomial 0x11d. */
#include "spin_update.h"

/* The host may change it while no message is being received. */
uint32_t coefficient = 1;

static spin_update_t update;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (!spin_whole_frame(p)) {
        return SPIN_DROP;
    }
    return spin_update_host(&update, spin_gf((uint8_t)coefficient), p->buf_off + p->msg_off, spin_payload(p), p->payload_len);
}
