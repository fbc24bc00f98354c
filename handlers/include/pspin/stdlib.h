/* The part of the standard library that handlers have. */
#ifndef SPINDLE_PSPIN_STDLIB_H
#define SPINDLE_PSPIN_STDLIB_H

#include <stddef.h>

/* Ends the handler with a fault. */
static inline __attribute__((noreturn)) void abort(void) { __builtin_trap(); }
static inline int abs(int value) { return value < 0 ? -value : value; }

#endif
