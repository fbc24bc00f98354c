/* Definitions that all headers of the SDK share. */
#ifndef SPIN_BASE_H
#define SPIN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The SDK is C11. In C++ these stand for what C++ calls otherwise, and functions between SPIN_C_BEGIN and SPIN_C_END are those of C. */
#ifdef __cplusplus
#define _Static_assert static_assert
#define restrict __restrict
#define SPIN_C_BEGIN extern "C" {
#define SPIN_C_END }
#else
#define SPIN_C_BEGIN
#define SPIN_C_END
#endif

/* The bits of an address that name its region. */
#define SPIN_REGION_MASK 0xf0000000u
#define SPIN_INLINE static inline __attribute__((always_inline))

#endif
