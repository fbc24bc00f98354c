/* Definitions that all headers of the SDK share. */
#ifndef SPIN_BASE_H
#define SPIN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bits of an address that name its region. */
#define SPIN_REGION_MASK 0xf0000000u
#define SPIN_INLINE static inline __attribute__((always_inline))

#endif
