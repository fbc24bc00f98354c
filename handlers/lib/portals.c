/* Memory of handlers with the interface of the sPIN paper (spin_portals.h). Linked into an image only with `--portals`. */
#include "spin_portals.h"

/* -D PTL_STATE_BYTES=BYTES: what `state` points to. */
#ifndef PTL_STATE_BYTES
#define PTL_STATE_BYTES 256
#endif

/* The hardware passes the start of context memory as `state`, where the link script places this section. */
__attribute__((used, aligned(8), section(".spin_state"))) uint8_t spin_state[PTL_STATE_BYTES] = {0};

/* Guards the 64-bit operations: the processor's atomic operations have 32 bits. */
static spin_lock_t lock;

int PtlHandlerCAS(volatile uint64_t *value, uint64_t expected, uint64_t desired) {
    spin_lock(&lock);
    bool equal = *value == expected;
    if (equal) {
        *value = desired;
    }
    spin_unlock(&lock);
    return equal;
}

int PtlHandlerFAdd(volatile uint64_t *value, uint64_t *before, uint64_t increment) {
    spin_lock(&lock);
    *before = *value;
    *value = *before + increment;
    spin_unlock(&lock);
    return PTL_OK;
}
