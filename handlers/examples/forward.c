/* Forwards the payload of every packet of a message to a mailbox of another node, at its offset in the message, as soon as the packet has
 * arrived. The host sets `next`: the node (an entry of the node table), its process, the mailbox and its key. */
#include "spindle.h"

spin_target_t next;

int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    spin_target_t to = next;
    to.offset += p->msg_off;
    spin_put(&to, spin_payload(p), p->payload_len);
    return SPIN_SUCCESS;
}
