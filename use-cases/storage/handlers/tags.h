/* Tags of 32 bytes by a key of 128 bits, of which sender and receiver know the same. */
#ifndef TAGS_H
#define TAGS_H

#include <stdint.h>

static inline uint64_t left(uint64_t x, unsigned bits) { return x << bits | x >> (64 - bits); }
static inline uint32_t turn(uint32_t x, unsigned bits) { return x << bits | x >> (32 - bits); }

/* SipHash-2-4 of the 32 bytes: 14 rounds of 50 instructions, since each half of a number takes its own. */
static inline uint64_t siphash(const uint32_t *key, const uint32_t *words) {
    uint64_t k0 = (uint64_t)key[1] << 32 | key[0], k1 = (uint64_t)key[3] << 32 | key[2];
    uint64_t a = k0 ^ 0x736f6d6570736575u, b = k1 ^ 0x646f72616e646f6du, c = k0 ^ 0x6c7967656e657261u, d = k1 ^ 0x7465646279746573u;
    for (uint32_t block = 0; block < 6; block++) {
        /* Four blocks of data, one with the length, and the end. */
        uint64_t m = block < 4 ? (uint64_t)words[2 * block + 1] << 32 | words[2 * block] : block == 4 ? (uint64_t)32 << 56 : 0;
        d ^= m;
        if (block == 5) {
            c ^= 0xff;
        }
        for (uint32_t round = block == 5 ? 4 : 2; round; round--) {
            a += b;
            b = left(b, 13) ^ a;
            a = left(a, 32);
            c += d;
            d = left(d, 16) ^ c;
            a += d;
            d = left(d, 21) ^ a;
            c += b;
            b = left(b, 17) ^ c;
            c = left(c, 32);
        }
        a ^= m;
    }
    return a ^ b ^ c ^ d;
}

/* The first 64 bits of Chaskey-12 of the 32 bytes: 24 rounds of 14 instructions. */
static inline uint64_t chaskey_of(const uint32_t *key, const uint32_t *words) {
    /* The last block is a whole one: the key doubled in GF(2^128) goes in before and after its rounds. */
    uint32_t last[4] = {key[0] << 1 ^ (key[3] >> 31) * 0x87, key[1] << 1 | key[0] >> 31, key[2] << 1 | key[1] >> 31,
                        key[3] << 1 | key[2] >> 31};
    uint32_t a = key[0] ^ words[0], b = key[1] ^ words[1], c = key[2] ^ words[2], d = key[3] ^ words[3];
    for (uint32_t block = 0;; block++) {
        for (uint32_t round = 0; round < 12; round++) {
            a += b;
            b = turn(b, 5) ^ a;
            a = turn(a, 16);
            c += d;
            d = turn(d, 8) ^ c;
            a += d;
            d = turn(d, 13) ^ a;
            c += b;
            b = turn(b, 7) ^ c;
            c = turn(c, 16);
        }
        if (block) {
            return (uint64_t)(b ^ last[1]) << 32 | (a ^ last[0]);
        }
        a ^= words[4] ^ last[0];
        b ^= words[5] ^ last[1];
        c ^= words[6] ^ last[2];
        d ^= words[7] ^ last[3];
    }
}

#endif
