/* Writes the payload of every UDP packet to host memory. The host region is an array of slots of 2048 bytes; a packet goes to the
 * slot `frame number modulo slots`, as a record of 32 bytes and the payload:
 *     offset 0  payload length   4  IPv4 source   8  UDP source port   12  UDP destination port   16  frame number   (little-endian)
 * Drops payloads that do not fit after the record, and all packets if the region has no slot. */
#include "spindle.h"

enum { SLOT = 2048 };

/* Takes the place of the last headers in the packet slot, so that one command writes record and payload. */
typedef struct __attribute__((packed)) {
    uint32_t length, source, source_port, destination_port, frame, zero[3];
} record_t;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    uint32_t slots = h->host_size / SLOT;
    bool fits = spin_whole_frame(h) && h->payload_len <= SLOT - sizeof(record_t) && slots > 0;
    if (!spin_ipv4(h, SPIN_IPPROTO_UDP) || !fits) {
        return SPIN_DROP;
    }
    record_t *record = (record_t *)spin_payload(h) - 1;
    *record = (record_t){h->payload_len, h->src_nid, h->src_pid, h->dst_pid, h->frame, {0, 0, 0}};
    spin_dma_to_host(h->frame % slots * SLOT, record, sizeof(record_t) + h->payload_len);
    spin_handle_t handle = spin_handle();
    spin_wait();
    return spin_failed(handle) ? SPIN_FAIL : SPIN_PROCESS_DATA;
}
