/* Serves one file of host memory by TFTP (RFC 1350), read only. The file is the context's host region; the host sets its name.
 *
 * There is no state: a request for the file is answered with its first block, and the acknowledgement of a block with the next one, so a
 * block that is lost is sent again when the client repeats what it sent. All packets come from the port of the request instead of a port of
 * the transfer; clients accept that. Options of a request are ignored, as by a server that does not know RFC 2347. */
#include "spindle.h"

enum { READ = 1, WRITE = 2, DATA = 3, ACKNOWLEDGEMENT = 4, ERROR = 5, NOT_FOUND = 1, REFUSED = 2, BLOCK = 512, HEADER = 4, NAME = 64 };

SPIN_TAILROOM(HEADER + BLOCK);

/* With the zero at its end. */
uint8_t name[NAME] = "spindle.bin";

/* Sends a packet of so many bytes back. */
static int reply(const spin_header_t *h, spin_ipv4_t *ip, uint32_t length) {
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    length += sizeof *udp;
    spin_put16(udp->length, length);
    spin_put16(ip->length, length + sizeof *ip);
    spin_swap_endpoints(spin_packet(h), ip);
    spin_send_packet_flags(spin_packet(h), (uint32_t)((uint8_t *)udp - spin_packet(h)) + length, SPIN_SEND_CHECKSUM);
    return SPIN_PROCESS_DATA;
}

static int refuse(const spin_header_t *h, spin_ipv4_t *ip, uint8_t *tftp, uint32_t code) {
    spin_put16(tftp, ERROR);
    spin_put16(tftp + 2, code);
    /* An empty text. */
    tftp[HEADER] = 0;
    return reply(h, ip, HEADER + 1);
}

/* Whether the text begins with the file's name and its zero. The mode after it does not count: it is taken for `octet`. */
static bool is_wanted(const uint8_t *text, const uint8_t *end) {
    for (uint32_t i = 0; i < NAME && text + i < end; i++) {
        if (text[i] != name[i]) {
            return false;
        }
        if (text[i] == 0) {
            return true;
        }
    }
    return false;
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint8_t *tftp = spin_payload(h);
    if (!ip || !spin_whole_frame(h) || h->payload_len < HEADER || tftp + HEADER + BLOCK > spin_packet(h) + spin_room(h)) {
        return SPIN_DROP;
    }
    uint32_t block = 0;
    switch (spin_get16(tftp)) {
    case READ:
        if (!is_wanted(tftp + 2, tftp + h->payload_len)) {
            return refuse(h, ip, tftp, NOT_FOUND);
        }
        break;
    case WRITE:
        return refuse(h, ip, tftp, REFUSED);
    case ACKNOWLEDGEMENT:
        block = spin_get16(tftp + 2);
        break;
    default:
        return SPIN_DROP;
    }
    /* The last block is shorter than the others, and may be empty; nothing answers its acknowledgement. A file of more blocks than the
     * numbers name is cut. */
    uint32_t offset = block * BLOCK;
    if (offset > h->host_size || block == 0xffff) {
        return SPIN_DROP;
    }
    uint32_t length = h->host_size - offset < BLOCK ? h->host_size - offset : BLOCK;
    spin_handle_t read = 0;
    if (length) {
        spin_dma_from_host(tftp + HEADER, offset, length);
        read = spin_handle();
    }
    spin_put16(tftp, DATA);
    spin_put16(tftp + 2, block + 1);
    spin_wait();
    if (length && spin_failed(read)) {
        return SPIN_FAIL;
    }
    return reply(h, ip, HEADER + length);
}
