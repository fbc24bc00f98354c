/* Unpacks messages into a strided array in host memory, as a vector datatype of MPI does: block i of a message goes to offset i * stride.
 * Packets may arrive in any order, and blocks may cross packets. Packets that do not fit the host region are dropped. */
#include "spindle.h"

/* Bytes; the host may change them while no message is being received. */
uint32_t block_length = 100;
uint32_t stride = 256;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    /* Local copies: a variable is in context memory, and is read again after each command. */
    uint32_t block = block_length, step = stride;
    uint32_t number = p->msg_off / block, from = p->msg_off - number * block;
    uint32_t last = (p->msg_off + p->payload_len - 1) / block;
    if (!spin_whole_frame(p) || ((uint64_t)last + 1) * step > p->host_size || block > step) {
        return SPIN_DROP;
    }
    uint32_t bytes = p->payload;
    uint32_t offset = number * step + from, length = block - from;
    for (uint32_t left = p->payload_len; left; left -= length, length = block) {
        length = length < left ? length : left;
        spin_dma_to_host(offset, spin_packet_address(bytes), length);
        bytes += length;
        offset += length + step - block;
    }
    /* The message is complete when its bytes are in host memory. */
    spin_wait();
    return SPIN_SUCCESS;
}
