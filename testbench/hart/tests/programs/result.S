# One program for many tests. It fills the range from begin_signature to end_signature with words from memory, one of them in
# .bss, and ends as VARIANT decides: by a store of RESULT to tohost, by a return of RESULT, or by a fault.
#ifndef RESULT
#define RESULT 1
#endif
        .option norelax
        .section .text
        .globl  _start
_start: la      t0, begin_signature
        li      t1, 0x11223344
        sw      t1, 0(t0)
        la      t2, zeroed
        lw      t1, 0(t2)
        sw      t1, 4(t0)
        lb      t1, 3(t0)
        sb      t1, 8(t0)
        li      t1, 0x7e
        sb      t1, 9(t0)
#ifdef RETURNS
        li      a0, RESULT
        ret
#elif defined(JUMPS)
        li      t0, JUMPS
leap:   jr      t0
#elif defined(LOOPS)
1:      j       1b
#else
        li      a0, RESULT
        la      t0, RESULT_AT
        sw      a0, 0(t0)
1:      j       1b
#endif
        # Data lies beside the code: not every section has a size that is a multiple of four.
        .section .rodata, "a"
        .globl  odd_constant
odd_constant: .byte 0xa5, 0x5a, 0xc3

        .section .data
        .globl  begin_signature, end_signature
        .balign 4
begin_signature: .fill 3, 4, 0xdeadbeef
end_signature:
        .globl  RESULT_AT
        .balign 8
RESULT_AT: .word 0, 0

        .section .bss
        .balign 4
zeroed: .space  BSS_BYTES
