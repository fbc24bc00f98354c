/* FPsPIN compatibility: what FPsPIN's pspin.h has beside that of PsPIN. Counters are sums and numbers of durations; the host reads them. */
#ifndef SPINDLE_FPSPIN_PSPIN_H
#define SPINDLE_FPSPIN_PSPIN_H

#include "../pspin/pspin.h"

#include "host_data.h"
#include "pspin_rt.h"

/* The cycle counter. FPsPIN's comes from a system call; this one is one instruction. */
static inline uint32_t cycles(void) {
    uint32_t now;
    __asm__ volatile("csrr %0, cycle" : "=r"(now));
    return now;
}
/* Counts a duration. Two operations: a reader may see the one without the other. */
static inline void push_counter(volatile struct perf_counter *counter, uint32_t duration) {
    amo_add(&counter->count, 1);
    amo_add(&counter->sum, (int32_t)duration);
}

#endif
