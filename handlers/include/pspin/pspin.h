/* PsPIN compatibility: atomic operations and futexes, on aligned words of scratchpads, handler memory and variables. */
#ifndef SPINDLE_PSPIN_PSPIN_H
#define SPINDLE_PSPIN_PSPIN_H

#include <assert.h>
#include <stdlib.h>

#include "../spin_atomic.h"

#define MEM_ALIGNMENT 4
#define ALIGN_UP(number, align) ((((uint32_t)(number)) + ((align) - 1)) & ~((uint32_t)(align) - 1))

typedef uint32_t dma_t;
typedef spin_lock_t futex_t;

#define SPINDLE_AMO(name, type)                                                                                        \
    static inline type amo_##name(volatile type *const at, const type value) { return spin_amo_##name(at, value); }
SPINDLE_AMO(swap, uint32_t)
SPINDLE_AMO(and, uint32_t)
SPINDLE_AMO(or, uint32_t)
SPINDLE_AMO(xor, uint32_t)
SPINDLE_AMO(minu, uint32_t)
SPINDLE_AMO(maxu, uint32_t)
SPINDLE_AMO(min, int32_t)
SPINDLE_AMO(max, int32_t)
#undef SPINDLE_AMO
/* Handlers add to signed and unsigned counters. */
static inline int32_t amo_add(volatile void *const at, const int32_t value) {
    return (int32_t)spin_amo_add((volatile uint32_t *)at, (uint32_t)value);
}
static inline void amo_store(volatile uint32_t *const at, const uint32_t value) { (void)spin_amo_swap(at, value); }

static inline uint32_t load_reserved(volatile const uint32_t *const at) { return spin_lr((volatile uint32_t *)at); }
/* 0: stored. */
static inline unsigned store_conditional(volatile uint32_t *const at, const uint32_t value) { return !spin_sc(at, value); }
/* 0: swapped; -1: the word differs from `old`; 1: the reservation was lost. */
static inline int compare_and_swap(volatile uint32_t *const at, const uint32_t old, const uint32_t wanted) {
    return load_reserved(at) == old ? (int)store_conditional(at, wanted) : -1;
}

static inline void asm_mem_fence(void) { __asm__ volatile("" ::: "memory"); }
static inline void rt_time_wait_cycles(const unsigned cycles) {
    uint32_t start, now;
    __asm__ volatile("csrr %0, cycle" : "=r"(start));
    do {
        spin_yield();
        __asm__ volatile("csrr %0, cycle" : "=r"(now));
    } while (now - start < cycles);
}

static inline void futex_init(futex_t *futex) { amo_store(futex, 0); }
/* Returns true if the lock was acquired. */
static inline int futex_try_lock(futex_t *futex) { return spin_try_lock(futex); }
static inline int futex_lock(futex_t *futex) {
    spin_lock(futex);
    return 1;
}
static inline int futex_lock_s(futex_t *futex) { return futex_lock(futex); }
static inline void futex_unlock(futex_t *futex) { spin_unlock(futex); }

#endif
