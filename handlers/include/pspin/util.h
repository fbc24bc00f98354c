/* PsPIN compatibility: small helpers. */
#ifndef SPINDLE_PSPIN_UTIL_H
#define SPINDLE_PSPIN_UTIL_H

#include <stdio.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define AND(a, b) ((a) & (b))
#define DIV_CEIL(a, b) (((a) + (b) - 1) / (b))
/* By powers of two: FAST_DIV takes the logarithm, FAST_MOD the number. */
#define FAST_DIV(a, log2_b) ((a) >> (log2_b))
#define FAST_MOD(a, b) ((a) & ((b) - 1))

#define STRINGIFY(x) #x
#define LABEL(name) __asm__ volatile(#name ":" ::: "memory")
#define read_csr(csr, value) __asm__ volatile("csrr %0, " STRINGIFY(csr) : "=r"(value))

#define SPIN_PRINTF(format, ...) printf("%s:%s:%d: " format, __FILE__, __func__, __LINE__, ##__VA_ARGS__)
#ifdef LOG
#define DEBUG_PRINT(format, ...) SPIN_PRINTF(format, ##__VA_ARGS__)
#else
#define DEBUG_PRINT(...)
#endif

#ifdef CHECK_ASSERTS
#include <assert.h>
#define ASSERT(condition) assert(condition)
#else
#define ASSERT(condition)
#endif

#endif
