/* printf of a handler: see spin_printf.h. */
#ifndef SPINDLE_PSPIN_STDIO_H
#define SPINDLE_PSPIN_STDIO_H

int printf(const char *format, ...) __asm__("spin_printf");

#endif
