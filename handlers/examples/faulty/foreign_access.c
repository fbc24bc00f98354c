/* Writes outside its memory: one byte after its packet slot. The store faults and ends the handler. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    volatile uint8_t *foreign = spin_packet(h) + SPIN_PACKET_BYTES;
    *foreign = 0;
    return SPIN_PROCESS_DATA;
}
