/* FPsPIN compatibility: the additions of FPsPIN's pspin.h to PsPIN's. A counter holds the sum and the number of durations; the host reads
 * it. */
#ifndef SPINDLE_FPSPIN_PSPIN_H
#define SPINDLE_FPSPIN_PSPIN_H

#include "../pspin/pspin.h"

#include "host_data.h"
#include "pspin_rt.h"

/* The cycle counter. FPsPIN reads it by a system call; here it is one instruction. */
static inline uint32_t cycles(void) {
    uint32_t now;
    __asm__ volatile("csrr %0, cycle" : "=r"(now));
    return now;
}
/* Counts a duration, in two atomic operations: a reader may see the first without the second. */
static inline void push_counter(volatile struct perf_counter *counter, uint32_t duration) {
    amo_add(&counter->count, 1);
    amo_add(&counter->sum, (int32_t)duration);
}

#endif
