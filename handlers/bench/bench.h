/* Results of a measured program: the first words of its data. */
#ifndef SPINDLE_BENCH_H
#define SPINDLE_BENCH_H

#include <stdint.h>

struct bench_result {
    /* Between bench_begin and bench_end; 0 = the program does not call them. */
    uint32_t cycles, instructions;
    /* Iterations of the measured work, if the program reports them; else 0. */
    uint32_t turns;
};

extern volatile struct bench_result bench_result;

void bench_begin(void);
void bench_end(void);

#endif
