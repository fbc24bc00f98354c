/* Atomic operations on words of the scratchpad and of context memory, one instruction each: the memory does them, no other HPU sees
 * anything between the read and the write. A word is four bytes, aligned; packet slot, stack and task page are no other HPU's, so they
 * need none of this (in the packet slot and on the stack it works, on the task page and the command port it faults).
 *
 * Cost: the handler waits for the old value, and its HPU runs the other hardware thread meanwhile; nothing else in the cluster waits,
 * but for the accesses of other HPUs to the very bank. A counter that is only added up is cheaper with one element per HPU.
 *
 * Order: a handler sees its own accesses in their order, and so does everybody else those of the scratchpad. Stores to context memory
 * are posted: another HPU may see an atomic operation before a store that the handler did earlier. spin_fence() between the two waits
 * until the store is done; spin_unlock() has one.
 */
#ifndef SPIN_ATOMIC_H
#define SPIN_ATOMIC_H

#include "spin_base.h"

/* Defines `type spin_amo_<name>(volatile type *at, type value)`: *at becomes `*at <operation> value`; returns what it was. */
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
/* Writes *at if the reservation still holds; says whether it did. */
SPIN_INLINE bool spin_sc(volatile uint32_t *at, uint32_t value) {
    uint32_t failed;
    __asm__ volatile("sc.w %0, %2, %1" : "=r"(failed), "+A"(*at) : "r"(value) : "memory");
    return failed == 0;
}

/* Waits until everything that this handler has written can be seen by all. */
SPIN_INLINE void spin_fence(void) { __asm__ volatile("fence rw, rw" ::: "memory"); }

/* Lets the other hardware thread of this HPU run for a while: a division takes 32 cycles and gives the pipeline away meanwhile. */
SPIN_INLINE void spin_yield(void) {
    uint32_t none;
    __asm__ volatile("divu %0, %1, %2" : "=r"(none) : "r"(0xffffffffu), "r"(3));
}

/* *at becomes `wanted` if it is `expected`; returns what it was. */
SPIN_INLINE uint32_t spin_compare_swap(volatile uint32_t *at, uint32_t expected, uint32_t wanted) {
    for (;;) {
        uint32_t old = spin_lr(at);
        if (old != expected || spin_sc(at, wanted)) {
            return old;
        }
        /* The other hardware thread has taken the reservation: it gets the time to use it. */
        spin_yield();
    }
}

/* A lock in the scratchpad (for the HPUs of a cluster) or in context memory (for all); all zeros is free. Hold it for a few instructions:
 * a handler that is ended by a fault or its watchdog never gives it back. */
typedef volatile uint32_t spin_lock_t;

SPIN_INLINE bool spin_try_lock(spin_lock_t *lock) { return spin_amo_swap(lock, 1) == 0; }
/* An older handler goes before a younger one of the same HPU whenever it can. Without yielding it would wait forever for a lock that the
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
