/* Unpacks messages into a strided array in host memory, as a vector datatype of MPI does: block i of a message goes to offset i * stride.
 * Packets may arrive in any order, and blocks may cross packets. Packets that do not fit the host region are dropped. */
#include "spin_buffers.h"

enum { BUFFER = 2048, CLUSTERS = 8 };

/* Bytes; the host may change them while no message is being received. */
uint32_t block_length = 100;
uint32_t stride = 256;

static volatile uint32_t taken[CLUSTERS];

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t count = p->scratch_size / BUFFER, end = p->msg_off + p->payload_len;
    uint32_t block = p->msg_off / block_length, from = p->msg_off % block_length;
    uint32_t last = (end - 1) / block_length;
    if (!spin_whole_frame(p) || !count || last >= p->host_size / stride || block_length > stride) {
        return SPIN_DROP;
    }
    uint32_t number = spin_take_buffer(&taken[p->cluster_id], p->hpu_id, count);
    uint8_t *buffer = spin_scratch() + number * BUFFER;
    const uint8_t *bytes = spin_payload(p);
    for (uint32_t left = p->payload_len, used = 0; left; block++, from = 0) {
        uint32_t length = block_length - from < left ? block_length - from : left;
        length = length < BUFFER ? length : BUFFER;
        /* Each piece starts at a multiple of 64: the alignment of a command's source. */
        if (used + length > BUFFER) {
            spin_wait();
            used = 0;
        }
        memcpy(buffer + used, bytes, length);
        spin_dma_to_host(block * stride + from, buffer + used, length);
        used += (length + SPIN_BEAT_BYTES - 1) / SPIN_BEAT_BYTES * SPIN_BEAT_BYTES;
        bytes += length;
        left -= length;
    }
    spin_wait();
    spin_give_buffer(&taken[p->cluster_id], number);
    return SPIN_SUCCESS;
}
