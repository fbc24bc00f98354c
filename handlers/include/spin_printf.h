/* Text output of a handler: `spindle run` prints each line as "print: cluster.hpu context frame: text".
 *
 *     #include "spin_printf.h"
 *     printf("%u bytes from %08x\n", h->payload_len, h->src_nid);
 *
 * Conversions: %d %i %u %x %X %c %s %p %%, with a width, preceded by `-`, `0` or `#` (0x before a hexadecimal number). `l`, `h` and `z`
 * are ignored, because all integers have 32 bits. Any other conversion is printed unchanged. The compiler does not check the arguments:
 * uint32_t is `unsigned int` for one compiler and `unsigned long` for another.
 *
 * Each command carries eight characters and never waits. The card queues 64 commands for the host; it drops and counts further ones
 * while the queue is full. Printing therefore never slows a handler down, but its text may have gaps. A call costs about 60 cycles and
 * 20 per character, no heap, and the stack that `spindle build` reports.
 */
#ifndef SPIN_PRINTF_H
#define SPIN_PRINTF_H

#include <stdarg.h>

#include "spindle.h"

/* Prints up to eight characters, the first in the lowest byte of `low`. */
SPIN_INLINE void spin_print(uint32_t low, uint32_t high, uint32_t count) {
    *spin_command_word(SPIN_CMD_ADDR_LO) = low;
    *spin_command_word(SPIN_CMD_ADDR_HI) = high;
    *spin_command_word(SPIN_CMD_LENGTH) = count;
    spin_issue(SPIN_OP_PRINT);
}

SPIN_C_BEGIN
/* Both return the number of printed characters. */
int spin_printf(const char *format, ...);
int spin_vprintf(const char *format, va_list arguments);
SPIN_C_END

#define printf spin_printf
#define vprintf spin_vprintf

#endif
