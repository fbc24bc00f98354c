/* Kernel: returns a UDP packet to its sender. It checks and swaps the first forty bytes as ten words: MAC addresses, IP addresses and UDP
 * ports; no checksum changes by that. Then it sends the frame. */
#include "spindle.h"

enum {
    /* Bytes 12 to 14: IPv4 without options. */
    IPV4 = 0x450008, IPV4_MASK = 0xffffff,
    /* Bytes 20 to 23: no fragment (DF is ignored), UDP. */
    UDP = 0x11000000, UDP_MASK = (int)0xff00ffbf,
    HIGH = (int)0xffff0000, LOW = 0xffff,
};

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    uint32_t *w = (uint32_t *)spin_packet(h);
    uint32_t length = h->packet_len;
    uint32_t w0 = w[0], w1 = w[1], w2 = w[2], w6 = w[6], w7 = w[7], w8 = w[8], w9 = w[9];
    uint32_t other = (length ^ h->frame_len) | ((w[3] & IPV4_MASK) ^ IPV4) | ((w[5] & UDP_MASK) ^ UDP);
    if (other) {
        return SPIN_DROP;
    }
    w[0] = w1 >> 16 | w2 << 16;
    w[1] = w2 >> 16 | w0 << 16;
    w[2] = w0 >> 16 | w1 << 16;
    w[6] = (w6 & LOW) | (w7 & HIGH);
    w[7] = (w8 & LOW) | (w6 & HIGH);
    w[8] = (w7 & LOW) | w9 << 16;
    w[9] = w8 >> 16 | (w9 & HIGH);
    /* `other` has checked that the slot holds the whole frame. */
    spin_send_packet_flags(w, length, SPIN_SEND_UNSEEN);
    return SPIN_PROCESS_DATA;
}
