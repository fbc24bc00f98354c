/* copy_to_host in Spindle's own API: the write ends after the handler has. */
#include "spindle.h"

enum { MESSAGE = 16, PLACE = 2048 };

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    /* The number of the message is that of the load, the packet's own follows in the payload. */
    uint32_t number = spin_get16(spin_payload(p) + 6);
    if (p->msg_id < p->host_size / (MESSAGE * PLACE) && number < MESSAGE) {
        const uint8_t *packet = spin_l3(p);
        spin_dma_to_host((p->msg_id * MESSAGE + number) * PLACE, packet, p->packet_len - (uint32_t)(packet - spin_packet(p)));
    }
    return SPIN_SUCCESS;
}
