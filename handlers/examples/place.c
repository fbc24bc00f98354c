/* Lets every message pass on to its mailbox: the default action of a header handler. What reaches the mailbox is what arrived. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)h;
    (void)state;
    return SPIN_PROCEED;
}
