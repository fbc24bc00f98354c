/* Atomic operations on words of the scratchpad and of context memory, one instruction each. The memory executes them; no other HPU sees
 * a state between the read and the write. A word is four bytes, aligned. Packet slot, stack and task page belong to one HPU and need no
 * atomic operations (they work on the packet slot and the stack, and fault on the task page and the command port).
 *
 * Cost: the handler waits for the old value while its HPU runs the other hardware thread. In the cluster only accesses of other HPUs to
 * the same bank wait. A counter that is only incremented is cheaper with one element per HPU.
 *
 * Order: a handler sees its own accesses in program order; other HPUs see accesses to the scratchpad in that order too. Stores to context
 * memory are posted: another HPU may see an atomic operation before an earlier store of the handler. spin_fence() waits until the
 * stores have completed; spin_unlock() includes a fence.
 */
#ifndef SPIN_ATOMIC_H
#define SPIN_ATOMIC_H

#include "spin_base.h"

/* Defines `type spin_amo_<name>(volatile type *at, type value)`: *at becomes `*at <operation> value`; returns the old value. */
#define SPIN_AMO(name, instruction, type)                                                                              \
    SPIN_INLINE type spin_amo_##name(volatile type *at, type value) {                                                  \
        type old;                                                                                                      \
        __asm__ volatile(instruction " %0, %2, %1" : "=r"(old), "+A"(*at) : "r"(value) : "memory");                    \
        return old;                                                                                                    \
    }
SPIN_AMO(swap, "amoswap.w", uint32_t)
SPIN_AMO(add, "amoadd.w", uint32_t)
SPIN_AMO(and, "amoand.w", uint32_t)
SPIN_AMO(or, "amoor.w", uint32_t)
SPIN_AMO(xor, "amoxor.w", uint32_t)
SPIN_AMO(min, "amomin.w", int32_t)
SPIN_AMO(max, "amomax.w", int32_t)
SPIN_AMO(minu, "amominu.w", uint32_t)
SPIN_AMO(maxu, "amomaxu.w", uint32_t)
#undef SPIN_AMO

/* Reads *at and reserves it. */
SPIN_INLINE uint32_t spin_lr(volatile uint32_t *at) {
    uint32_t value;
    __asm__ volatile("lr.w %0, %1" : "=r"(value) : "A"(*at) : "memory");
    return value;
}
/* Writes *at if the reservation still holds; returns true if it did. */
SPIN_INLINE bool spin_sc(volatile uint32_t *at, uint32_t value) {
    uint32_t failed;
    __asm__ volatile("sc.w %0, %2, %1" : "=r"(failed), "+A"(*at) : "r"(value) : "memory");
    return failed == 0;
}

/* Waits until all HPUs can see every write of this handler. */
SPIN_INLINE void spin_fence(void) { __asm__ volatile("fence rw, rw" ::: "memory"); }

/* Lets the other hardware thread of this HPU run: a division takes 32 cycles, in which the pipeline is free for it. */
SPIN_INLINE void spin_yield(void) {
    uint32_t none;
    __asm__ volatile("divu %0, %1, %2" : "=r"(none) : "r"(0xffffffffu), "r"(3));
}

/* Replaces *at by `desired` if it equals `expected`; returns the old value. */
SPIN_INLINE uint32_t spin_compare_swap(volatile uint32_t *at, uint32_t expected, uint32_t desired) {
    for (;;) {
        uint32_t old = spin_lr(at);
        if (old != expected || spin_sc(at, desired)) {
            return old;
        }
        /* The other hardware thread took the reservation: yield so that it can use it. */
        spin_yield();
    }
}

/* A lock in the scratchpad (for the HPUs of a cluster) or in context memory (for all HPUs); 0 is free. Hold it for a few instructions:
 * a handler that ends by a fault or the watchdog never releases it. */
typedef volatile uint32_t spin_lock_t;

SPIN_INLINE bool spin_try_lock(spin_lock_t *lock) { return spin_amo_swap(lock, 1) == 0; }
/* An HPU prefers its older handler to the younger one. Without the yield, the older handler would wait forever for a lock that the
 * younger one holds. */
SPIN_INLINE void spin_lock(spin_lock_t *lock) {
    while (!spin_try_lock(lock)) {
        spin_yield();
    }
}
SPIN_INLINE void spin_unlock(spin_lock_t *lock) {
    spin_fence();
    *lock = 0;
}

#endif
