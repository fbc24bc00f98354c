/* A handler without packets: adds the arguments of its tasks. */
#include "spin_atomic.h"
#include "spindle.h"

static volatile uint32_t sum;

int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    spin_amo_add(&sum, t->addr_lo);
    return SPIN_SUCCESS;
}
