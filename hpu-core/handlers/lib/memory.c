/* What a freestanding compiler may call by itself. Whole words where both ends allow it. */
#include <stddef.h>
#include <stdint.h>

typedef uint32_t __attribute__((may_alias)) word_t;

static void copy_up(uint8_t *to, const uint8_t *from, size_t length) {
    if ((((uintptr_t)to | (uintptr_t)from) & 3) == 0) {
        for (; length >= 4; length -= 4, to += 4, from += 4) {
            *(word_t *)to = *(const word_t *)from;
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
