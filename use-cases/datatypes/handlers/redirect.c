/* Unpacks messages into a strided array in host memory, as a vector datatype of MPI does, without a copy: each block goes from the packet
 * buffer to offset i * stride of the mailbox that the message names. The mailbox counts the bytes that have arrived, so its record says
 * that the array is complete. Packets may arrive in any order, and blocks may cross packets. */
#include "spindle.h"

/* Bytes; the host may change them while no message is being received. */
uint32_t block_length = 100;
uint32_t stride = 256;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    /* Local copies: a variable is in context memory, and is read again after each command. */
    uint32_t block = block_length, step = stride;
    uint64_t mailbox = (uint64_t)p->addr_hi << 32 | p->addr_lo;
    uint32_t number = p->msg_off / block, from = p->msg_off - number * block;
    if (!spin_whole_frame(p) || block > step) {
        return SPIN_DROP;
    }
    uint32_t bytes = p->payload;
    uint32_t offset = number * step + from, length = block - from;
    for (uint32_t left = p->payload_len; left; left -= length, length = block) {
        length = length < left ? length : left;
        spin_redirect_bytes(mailbox, offset, spin_packet_address(bytes), length);
        bytes += length;
        offset += length + step - block;
    }
    return SPIN_SUCCESS;
}
