/* Unpacks messages into a strided array in host memory, as a vector datatype of MPI does: block i of a message goes to offset i * stride.
 * Packets may arrive in any order, and blocks may cross packets. Packets that do not fit the host region are dropped. */
#include "spindle.h"

/* Bytes; the host may change them while no message is being received. */
uint32_t block_length = 100;
uint32_t stride = 256;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint32_t end = p->msg_off + p->payload_len;
    uint32_t block = p->msg_off / block_length, from = p->msg_off % block_length;
    uint32_t last = (end - 1) / block_length;
    if (!spin_whole_frame(p) || last >= p->host_size / stride || block_length > stride) {
        return SPIN_DROP;
    }
    const uint8_t *bytes = spin_payload(p);
    uint32_t offset = block * stride + from, length = block_length - from;
    for (uint32_t left = p->payload_len; left; left -= length, length = block_length) {
        length = length < left ? length : left;
        spin_dma_to_host(offset, bytes, length);
        bytes += length;
        offset += length + stride - block_length;
    }
    /* The message is complete when its bytes are in host memory. */
    spin_wait();
    return SPIN_SUCCESS;
}
