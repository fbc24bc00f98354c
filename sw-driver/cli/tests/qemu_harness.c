/* Runs one handler image outside the NIC: memory at the addresses of the contract, frames from standard input, results to standard
 * output. Linked with the handler by its test; the system calls are Linux's, served by qemu-riscv32.
 *
 * In:  task page (128 bytes), frame length (u32), frame.     Repeated until the end.
 * Out: return code (u32), command port (32 bytes), packet slot, scratchpad (2048 bytes each). */
#define PROGRAM
#include "linux.h"
#include "spindle.h"

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
