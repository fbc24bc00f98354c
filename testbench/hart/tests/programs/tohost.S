# Ends like the public instruction tests: 1 in tohost if all is well, else 2 x number of the test + 1.
#ifndef EXPECTED
#define EXPECTED 42
#endif
        .option norelax
        .section .text
        .globl  _start
_start: li      gp, 2
        li      t0, 6
        li      t1, 7
        mul     t2, t0, t1
        li      t3, EXPECTED
        bne     t2, t3, fail
        # Misaligned, across a word, in initialised data.
        li      gp, 3
        la      t0, data
        lw      t1, 3(t0)
        li      t2, 0x06050403
        bne     t1, t2, fail
        sh      t1, 7(t0)
        lhu     t3, 7(t0)
        li      t2, 0x0403
        bne     t3, t2, fail
        li      gp, 4
        la      t0, counter
        li      t1, 5
        amoadd.w t2, t1, (t0)
        lw      t3, 0(t0)
        sub     t3, t3, t2
        bne     t3, t1, fail
        li      gp, 1
        j       tell
fail:   slli    gp, gp, 1
        ori     gp, gp, 1
tell:   la      t0, tohost
        sw      gp, 0(t0)
1:      j       1b

        .section .data
        .balign 8
data:   .byte   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
        .balign 4
counter: .word  100
        .globl  tohost
tohost: .word   0
