/* spin_printf: see include/spin_printf.h. Linked into an image only if the image calls it. */
#include "spin_printf.h"

/* Characters that are not sent yet. */
typedef struct {
    union {
        char text[8];
        uint32_t words[2];
    } piece;
    uint32_t count; /* in all; modulo 8 in the piece */
} out_t;

static void flush(out_t *out, uint32_t count) { spin_print(out->piece.words[0], out->piece.words[1], count); }

static void put(out_t *out, char c) {
    uint32_t at = out->count++ & 7;
    out->piece.text[at] = c;
    if (at == 7) {
        flush(out, 8);
    }
}

/* Flags and width of a conversion. */
typedef struct {
    uint32_t width;
    bool left, zeros, prefix;
} field_t;

static void pad(out_t *out, char with, uint32_t length, uint32_t width) {
    for (; length < width; length++) {
        put(out, with);
    }
}

/* `length` characters in a field; a sign or prefix stands before zeros and after spaces. */
static void field(out_t *out, field_t f, const char *sign, const char *text, uint32_t length) {
    uint32_t all = length;
    for (const char *c = sign; *c; c++) {
        all++;
    }
    if (!f.left && !f.zeros) {
        pad(out, ' ', all, f.width);
    }
    while (*sign) {
        put(out, *sign++);
    }
    if (!f.left && f.zeros) {
        pad(out, '0', all, f.width);
    }
    for (uint32_t i = 0; i < length; i++) {
        put(out, text[i]);
    }
    if (f.left) {
        pad(out, ' ', all, f.width);
    }
}

/* value / 10, exact for all 32-bit numbers; a division instruction would dominate the cost of a digit. */
static uint32_t tenth(uint32_t value) { return (uint32_t)((uint64_t)value * 0xcccccccdu >> 35); }

static void number(out_t *out, field_t f, const char *sign, uint32_t value, bool decimal, char ten) {
    char digits[10];
    uint32_t first = sizeof digits;
    do {
        uint32_t rest = decimal ? tenth(value) : value >> 4;
        uint32_t digit = value - rest * (decimal ? 10 : 16);
        value = rest;
        digits[--first] = (char)(digit < 10 ? '0' + digit : ten + digit - 10);
    } while (value);
    field(out, f, sign, digits + first, sizeof digits - first);
}

int spin_vprintf(const char *format, va_list arguments) {
    out_t out = {.count = 0};
    for (; *format; format++) {
        if (*format != '%') {
            put(&out, *format);
            continue;
        }
        const char *from = format++;
        field_t f = {0, false, false, false};
        for (; *format == '-' || *format == '0' || *format == '#'; format++) {
            *(*format == '-' ? &f.left : *format == '0' ? &f.zeros : &f.prefix) = true;
        }
        for (; *format >= '0' && *format <= '9'; format++) {
            f.width = 10 * f.width + (uint32_t)(*format - '0');
        }
        if (*format == 'l' || *format == 'h' || *format == 'z') {
            format++;
        }
        switch (*format) {
        case 'd':
        case 'i': {
            int value = va_arg(arguments, int);
            number(&out, f, value < 0 ? "-" : "", value < 0 ? -(uint32_t)value : (uint32_t)value, true, 0);
            break;
        }
        case 'u': number(&out, f, "", va_arg(arguments, uint32_t), true, 0); break;
        case 'x':
        case 'X': {
            uint32_t value = va_arg(arguments, uint32_t);
            const char *prefix = !f.prefix || !value ? "" : *format == 'x' ? "0x" : "0X";
            number(&out, f, prefix, value, false, *format == 'x' ? 'a' : 'A');
            break;
        }
        case 'p':
            put(&out, '0');
            put(&out, 'x');
            number(&out, (field_t){8, false, true, false}, "", va_arg(arguments, uint32_t), false, 'a');
            break;
        case 'c': {
            char c = (char)va_arg(arguments, int);
            f.zeros = false;
            field(&out, f, "", &c, 1);
            break;
        }
        case 's': {
            const char *text = va_arg(arguments, const char *);
            uint32_t length = 0;
            text = text ? text : "(null)";
            while (text[length]) {
                length++;
            }
            f.zeros = false;
            field(&out, f, "", text, length);
            break;
        }
        case '%': put(&out, '%'); break;
        default:
            /* Unknown conversion: printed unchanged. The loop must still find the end of the format. */
            for (; from < format; from++) {
                put(&out, *from);
            }
            if (!*format) {
                format--;
            } else {
                put(&out, *format);
            }
        }
    }
    if (out.count & 7) {
        flush(&out, out.count & 7);
    }
    return (int)out.count;
}

int spin_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = spin_vprintf(format, arguments);
    va_end(arguments);
    return count;
}
