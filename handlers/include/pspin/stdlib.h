/* What a handler has of the standard library. */
#ifndef SPINDLE_PSPIN_STDLIB_H
#define SPINDLE_PSPIN_STDLIB_H

#include <stddef.h>

/* Ends the handler by a fault. */
static inline __attribute__((noreturn)) void abort(void) { __builtin_trap(); }
static inline int abs(int value) { return value < 0 ? -value : value; }

#endif
