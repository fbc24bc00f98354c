/* Adds every message to a vector in host memory (little-endian words of 32 bits), starting at the message's offset in the host region,
 * packet by packet, in any order. Each packet reads the words of the region, adds its own, and writes the sums back. A lock for each
 * 2 KiB of the region makes this exclusive, so messages may overlap. Packets that end outside the region are dropped. */
#include "spin_buffers.h"

enum { BUFFER = 2048, CLUSTERS = 8, LOCKS = 64 };

static volatile uint32_t taken[CLUSTERS];
/* The lock of 2 KiB piece n of the region is locks[n % LOCKS]. */
static spin_lock_t locks[LOCKS];

/* Adds the packet's words to those at `offset`; returns false if host memory could not be read or written. */
static bool add(const spin_payload_t *p, uint8_t *buffer, uint32_t offset) {
    const spin_u16_alias_t *halves = (const spin_u16_alias_t *)spin_payload(p);
    uint32_t *sums = (uint32_t *)buffer;
    spin_dma_from_host(buffer, offset, p->payload_len);
    spin_handle_t read = spin_handle();
    spin_wait();
    if (spin_failed(read)) {
        return false;
    }
    for (uint32_t i = 0; i < p->payload_len / 4; i++) {
        sums[i] += halves[2 * i] | (uint32_t)halves[2 * i + 1] << 16;
    }
    spin_dma_to_host(offset, buffer, p->payload_len);
    spin_handle_t write = spin_handle();
    spin_wait();
    return !spin_failed(write);
}

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t offset = p->buf_off + p->msg_off, length = p->payload_len, count = p->scratch_size / BUFFER;
    bool words = offset % 4 == 0 && length % 4 == 0;
    if (!spin_whole_frame(p) || !count || !words || offset > p->host_size || length > p->host_size - offset) {
        return SPIN_DROP;
    }
    uint32_t number = spin_take_buffer(&taken[p->cluster_id], p->hpu_id, count);
    /* A packet is shorter than a piece, so it touches one or two. Taking the lower lock first avoids a deadlock. */
    uint32_t first = offset / BUFFER % LOCKS, last = (offset + length - 1) / BUFFER % LOCKS;
    uint32_t low = first < last ? first : last, high = first < last ? last : first;
    spin_lock(&locks[low]);
    if (high != low) {
        spin_lock(&locks[high]);
    }
    bool added = add(p, spin_scratch() + number * BUFFER, offset);
    if (high != low) {
        spin_unlock(&locks[high]);
    }
    spin_unlock(&locks[low]);
    spin_give_buffer(&taken[p->cluster_id], number);
    return added ? SPIN_SUCCESS : SPIN_FAIL;
}
