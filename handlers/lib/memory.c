/* Memory functions that a freestanding compiler calls. They move whole words where both addresses allow it. */
#include <stddef.h>
#include <stdint.h>

#include "generated/spindle_contract.h"

typedef uint32_t __attribute__((may_alias)) word_t;

/* Misaligned words can be read from all regions but that of the code, which also holds the constants. */
static int reads_words(const uint8_t *from) {
    return ((uintptr_t)from & 3) == 0 || (uintptr_t)from >> 28 != SPIN_REGION_CODE >> 28;
}

/* The processor reads misaligned words in hardware; the compiler would read bytes. */
static word_t word_at(const uint8_t *from) {
    word_t word;
    __asm__("lw %0, %1" : "=r"(word) : "m"(*(const uint8_t(*)[4])from));
    return word;
}

static void copy_up(uint8_t *to, const uint8_t *from, size_t length) {
    if (reads_words(from)) {
        for (; length && ((uintptr_t)to & 3); length--) {
            *to++ = *from++;
        }
        if (reads_words(from)) {
            for (; length >= 16; length -= 16, to += 16, from += 16) {
                word_t a = word_at(from), b = word_at(from + 4), c = word_at(from + 8), d = word_at(from + 12);
                ((word_t *)to)[0] = a;
                ((word_t *)to)[1] = b;
                ((word_t *)to)[2] = c;
                ((word_t *)to)[3] = d;
            }
            for (; length >= 4; length -= 4, to += 4, from += 4) {
                *(word_t *)to = word_at(from);
            }
        }
    }
    while (length--) {
        *to++ = *from++;
    }
}

void *memcpy(void *restrict to, const void *restrict from, size_t length) {
    copy_up(to, from, length);
    return to;
}

void *memmove(void *to, const void *from, size_t length) {
    if ((uintptr_t)to <= (uintptr_t)from) {
        copy_up(to, from, length);
    } else {
        uint8_t *t = to;
        const uint8_t *f = from;
        while (length--) {
            t[length] = f[length];
        }
    }
    return to;
}

void *memset(void *to, int value, size_t length) {
    uint8_t *t = to;
    if (((uintptr_t)t & 3) == 0) {
        uint32_t word = (uint8_t)value * 0x01010101u;
        for (; length >= 4; length -= 4, t += 4) {
            *(word_t *)t = word;
        }
    }
    while (length--) {
        *t++ = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t length) {
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < length; i++) {
        if (x[i] != y[i]) {
            return x[i] - y[i];
        }
    }
    return 0;
}
