/* Never returns: the watchdog ends it. */
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)h;
    (void)state;
    for (;;) {
        __asm__ volatile("");
    }
}
