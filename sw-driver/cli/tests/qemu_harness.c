/* Runs one handler image outside the NIC: memory at the addresses of the contract, frames from standard input, results to standard
 * output. Linked with the handler by its test; the system calls are Linux's, served by qemu-riscv32.
 *
 * In:  task page (128 bytes), frame length (u32), frame.     Repeated until the end.
 * Out: return code (u32), command port (32 bytes), packet slot, scratchpad (2048 bytes each). */
#include "spindle.h"

static long call(long number, long a, long b, long c, long d, long e) {
    register long a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d, a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = 0, a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

enum { READ = 63, WRITE = 64, EXIT = 93, MMAP = 222 };

static void finish(int code) {
    for (;;) {
        call(EXIT, code, 0, 0, 0, 0);
    }
}

static int take(void *to, uint32_t length) {
    uint8_t *p = to;
    while (length) {
        long n = call(READ, 0, (long)p, (long)length, 0, 0);
        if (n <= 0) {
            return 0;
        }
        p += n;
        length -= (uint32_t)n;
    }
    return 1;
}

static void give(const void *from, uint32_t length) {
    const uint8_t *p = from;
    while (length) {
        long n = call(WRITE, 1, (long)p, (long)length, 0, 0);
        if (n <= 0) {
            finish(3);
        }
        p += n;
        length -= (uint32_t)n;
    }
}

/* Readable and writable memory, private, anonymous, exactly here. */
static void map(uint32_t address) {
    if ((uint32_t)call(MMAP, (long)address, 4096, 3, 0x32, -1) != address) {
        finish(2);
    }
}

void run(void) {
    static uint8_t page[128];
    static const uint32_t regions[] = {SPIN_REGION_PACKET, SPIN_REGION_SCRATCH, SPIN_REGION_CONTEXT, SPIN_REGION_TASK, SPIN_REGION_COMMAND};
    for (uint32_t i = 0; i < sizeof regions / sizeof *regions; i++) {
        map(regions[i]);
    }
    while (take(page, sizeof page)) {
        uint32_t length;
        volatile uint32_t *port = (volatile uint32_t *)SPIN_REGION_COMMAND;
        if (!take(&length, 4) || length > SPIN_PACKET_BYTES || !take((void *)SPIN_REGION_PACKET, length)) {
            finish(4);
        }
        __builtin_memcpy((void *)SPIN_REGION_TASK, page, sizeof page);
        for (int i = 0; i < 8; i++) {
            port[i] = 0;
        }
        uint32_t code = (uint32_t)header_handler((const spin_header_t *)SPIN_REGION_TASK, (void *)SPIN_REGION_CONTEXT);
        give(&code, 4);
        give((const void *)SPIN_REGION_COMMAND, 32);
        give((const void *)SPIN_REGION_PACKET, SPIN_PACKET_BYTES);
        give((const void *)SPIN_REGION_SCRATCH, SPIN_SCRATCH_BYTES);
    }
    finish(0);
}

__asm__(".globl _start\n_start:\n\tcall run\n");
