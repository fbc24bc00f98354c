/* Passes every message on to its mailbox unchanged: the default action of a header handler. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)h;
    (void)state;
    return SPIN_PROCEED;
}
