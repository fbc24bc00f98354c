/* Entry of a whole program: a stack as large as L1 allows, `main`, and its result as the handler's return code. */
#include "bench.h"

__attribute__((section(".bench"), used)) volatile struct bench_result bench_result;

__attribute__((naked, used, section(".text.header_handler"))) void header_handler(void) {
    __asm__("la t0, bench_stack\n"
            "addi t0, t0, -16\n"
            "sw ra, 0(t0)\n"
            "sw sp, 4(t0)\n"
            "mv sp, t0\n"
            "li a0, 0\n"
            "li a1, 0\n"
            "call main\n"
            "lw ra, 0(sp)\n"
            "lw sp, 4(sp)\n"
            "ret");
}

static uint32_t cycle(void) {
    uint32_t value;
    __asm__ volatile("rdcycle %0" : "=r"(value));
    return value;
}

static uint32_t instret(void) {
    uint32_t value;
    __asm__ volatile("rdinstret %0" : "=r"(value));
    return value;
}

void bench_begin(void) {
    bench_result.instructions = instret();
    bench_result.cycles = cycle();
}

void bench_end(void) {
    uint32_t now = cycle();
    bench_result.instructions = instret() - bench_result.instructions;
    bench_result.cycles = now - bench_result.cycles;
}
