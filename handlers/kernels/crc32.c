/* Kernel: writes the CRC-32 of the packet (IEEE 802.3, bit by bit) to the first word of the scratchpad. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint8_t *byte = spin_packet(h);
    uint32_t crc = 0xffffffff;
    uint32_t length = h->packet_len;
    for (uint32_t i = 0; i < length; i++) {
        crc ^= byte[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
        }
    }
    *(uint32_t *)spin_scratch() = ~crc;
    return SPIN_PROCESS_DATA;
}
