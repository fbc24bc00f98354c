/* Writes the payload of every UDP packet to host memory. The host region is an array of slots of 2048 bytes; a packet goes to the
 * slot `frame number modulo slots`, as a header of 64 bytes and the payload:
 *     offset 0  payload length   4  IPv4 source   8  UDP source port   12  UDP destination port   16  frame number   (little-endian)
 * Drops payloads that do not fit after the header, and all packets if the region has no slot or the scratchpad no buffer. */
#include "spin_buffers.h"

enum { SLOT = 2048, HEADER = 64, CLUSTERS = 8 };

/* Allocated buffers of the scratchpad, one word per cluster. */
static volatile uint32_t taken[CLUSTERS];

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    uint32_t slots = h->host_size / SLOT;
    uint32_t count = h->scratch_size / SLOT;
    bool fits = spin_whole_frame(h) && h->payload_len <= SLOT - HEADER && slots > 0 && count > 0;
    if (!spin_ipv4(h, SPIN_IPPROTO_UDP) || !fits) {
        return SPIN_DROP;
    }
    uint32_t buffer = spin_take_buffer(&taken[h->cluster_id], h->hpu_id, count);
    uint8_t *scratch = spin_scratch() + buffer * SLOT;
    uint32_t *record = (uint32_t *)scratch;
    record[0] = h->payload_len;
    record[1] = h->src_nid;
    record[2] = h->src_pid;
    record[3] = h->dst_pid;
    record[4] = h->frame;
    for (uint32_t i = 5; i < HEADER / 4; i++) {
        record[i] = 0;
    }
    /* The source of a command is 64-byte aligned; a UDP payload is not, but starts at an even address: copy half-words. */
    const spin_u16_alias_t *from = (const spin_u16_alias_t *)spin_payload(h);
    spin_u16_alias_t *to = (spin_u16_alias_t *)(scratch + HEADER);
    for (uint32_t i = 0; i < h->payload_len / 2; i++) {
        to[i] = from[i];
    }
    if (h->payload_len & 1) {
        scratch[HEADER + h->payload_len - 1] = spin_payload(h)[h->payload_len - 1];
    }
    spin_dma_to_host(h->frame % slots * SLOT, scratch, HEADER + h->payload_len);
    spin_handle_t handle = spin_handle();
    spin_wait();
    spin_give_buffer(&taken[h->cluster_id], buffer);
    return spin_failed(handle) ? SPIN_FAIL : SPIN_PROCESS_DATA;
}
