/* Text from a handler to the host: `spindle run` shows it line by line, as "print: cluster.hpu context frame: text".
 *
 *     #include "spin_printf.h"
 *     printf("%u bytes from %08x\n", h->payload_len, h->src_nid);
 *
 * Conversions: %d %i %u %x %X %c %s %p %%, with a width and `-`, `0` or `#` (0x before a hexadecimal number) before it; `l`, `h` and `z` are read over, for all integers
 * have 32 bits. Anything else is printed as it stands. There is no check of the arguments by the compiler: uint32_t is `unsigned int`
 * to one and `unsigned long` to the other.
 *
 * Eight characters leave at a time, by one command that never waits. The card keeps 64 of these pieces for the host; while its queue
 * is full it drops and counts them, so a handler that prints much is no slower than one that prints little, and its text has gaps.
 * A call costs about 60 cycles and 20 for each character, no heap, and the stack that `spindle build` shows.
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

/* Both return the number of characters. */
int spin_printf(const char *format, ...);
int spin_vprintf(const char *format, va_list arguments);

#define printf spin_printf
#define vprintf spin_vprintf

#endif
