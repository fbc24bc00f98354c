/* The part of the standard library that handlers have; defined in lib/memory.c. */
#ifndef SPINDLE_PSPIN_STRING_H
#define SPINDLE_PSPIN_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int value, size_t length);
int memcmp(const void *a, const void *b, size_t length);

#endif
