//! The page of the HPU array.

use spindle_contract_macros::registers;

registers! {
    hpu HPU, id 3, at 0x0_2000: "HPU array: contexts, code, context memory, faults, printed text.";
    stage CTX_HEADER 0x010 "entry point of the header handler, 0 = none";
    stage CTX_PAYLOAD 0x014 "entry point of the payload handler, 0 = none";
    stage CTX_COMPLETION 0x018 "entry point of the completion handler, 0 = none";
    stage CTX_CODE_BASE 0x01C "byte offset of the image in instruction memory, a multiple of its size rounded up to a power of two, \
        of 128 at least" {
        page 15:7 "offset in units of 128 bytes"
    }
    stage CTX_CODE_SIZE 0x020 "bytes of code" { ctx_code_size 16:0 }
    stage CTX_STATE_BASE 0x024 "byte offset of the state in L2, a multiple of its size rounded up to a power of two" { ctx_state_base
        19:0 }
    stage CTX_STATE_SIZE 0x028 "bytes of state" { ctx_state_size 20:0 }
    stage CTX_HOST_LO 0x02C "host region, low half of its address";
    stage CTX_HOST_HI 0x030 "host region, high half of its address";
    stage CTX_HOST_SIZE 0x034 "bytes of the host region";
    stage CTX_WATCHDOG 0x038 "cycle budget of a handler, 1 to 16,000,000" { ctx_watchdog 23:0 }
    commit CTX_INSTALL 0x03C "writes the staged context to the slot of this number" { context 31:0 "context" }
    control CTX_ACTIVE 0x040 "bit c: context c accepts packets" { ctx_active 15:0 }
    stage CTX_SCRATCH_BASE 0x044 "byte address of the scratchpad in L1, a multiple of its size rounded up to a power of two" {
        ctx_scratch_base 15:0 }
    stage CTX_SCRATCH_SIZE 0x048 "bytes of the scratchpad, 0 = none" { ctx_scratch_size 15:0 }
    stage CTX_TAILROOM 0x04C "bytes of zeros after a packet, as far as its slot of 2048 bytes holds them" {
        beats 10:6 "in units of 64 bytes"
    }
    pointer IMEM_ADDR 0x050 "byte address for IMEM_DATA" { imem_addr 15:0 }
    window(wo) IMEM_DATA 0x054 "a write goes to the instruction memories of all clusters; the address then advances by 4";
    pointer L2_ADDR 0x058 "byte address for L2_DATA" { l2_addr 19:0 }
    window(rw) L2_DATA 0x05C "a word of L2; the address advances by 4 after each access";
    stage CTX_WEIGHT 0x060 "share of HPU cycles under load, 1 to 255" { ctx_weight 7:0 = 1 }
    stage CTX_QUOTA 0x064 "limits of a context; 0 = no limit" {
        messages 8:0 "most live messages";
        packets 26:16 "most packets inside the NIC"
    }
    stage CTX_OVERLOAD 0x068 "treatment of packets beyond a limit" {
        overload 1:0 "treatment" {
            DROP = 0 "packets are dropped and counted; the completion handler sees the flag `flow_control`",
            PLACE = 1 "packets are placed without running a handler",
            PAUSE = 2 "the context accepts nothing until there is room",
        }
    }
    stage CTX_CORE_MASK 0x06C "HPUs that may run the handlers: bit cluster * hpus + hpu" { ctx_core_mask 31:0 = 0xFFFF_FFFF }
    stage CTX_USER_HEADER 0x070 "bytes of user header, 0 = none" { ctx_user_header 6:0 }
    stage CTX_PROCESS 0x074 "process whose event ring gets the events" { ctx_process 5:0 }
    stage CTX_TASK 0x078 "entry point of the task handler, 0 = none";
    tally TASKS_DONE 0x100 "tasks ended, faults included";
    tally TASKS_FAULTED 0x104 "tasks ended by a fault or the watchdog";
    tally BUSY_LO 0x108 "cycles in a handler, summed over all HPUs, low half";
    tally BUSY_HI 0x10C "cycles in a handler, high half";
    tally INSTRET_LO 0x110 "instructions retired by all HPUs, low half";
    tally INSTRET_HI 0x114 "instructions retired by all HPUs, high half";
    tally COMMANDS 0x118 "commands issued";
    status CONTEXT_PUTS 0x11C "puts of context memory and reliable puts of packets" {
        under_way 7:0 "puts of context memory and reliable puts of packets under way";
        waiting 8 "commands wait that may be such puts"
    }
    status FAULT_COUNT 0x140 "fault reports waiting, at most 16; with a full queue, new reports are counted in FAULT_LOST" {
        fault_count 7:0 }
    tally FAULT_LOST 0x144 "fault reports that found the queue full";
    report FAULT_WHO 0x148 "origin of the oldest report" {
        cause 3:0 "fault cause";
        context 7:4 "execution context";
        hpu 15:8 "HPU of the cluster";
        cluster 23:16 "cluster";
        msg_slot 31:24 "message slot"
    }
    status FAULT_PC 0x14C "program counter of the oldest report";
    status FAULT_ADDRESS 0x150 "address of the access of the oldest report";
    report FAULT_FRAME 0x154 "packet of the oldest report" {
        frame 15:0 "frame";
        handler 17:16 "kind of handler"
    }
    commit FAULT_POP 0x158 "removes the oldest report";
    status PRINT_COUNT 0x160 "pieces of text waiting, at most 64" { print_count 7:0 }
    tally PRINT_LOST 0x164 "pieces of text that found the queue full";
    report PRINT_WHO 0x168 "origin of the oldest piece" {
        characters 3:0 "characters";
        context 7:4 "execution context";
        hpu 15:8 "HPU of the cluster";
        cluster 23:16 "cluster";
        handler 25:24 "kind of handler"
    }
    status PRINT_FRAME 0x16C "frame of the oldest piece" { print_frame 15:0 }
    status PRINT_LOW 0x170 "characters 0 to 3 of the oldest piece, the first in [7:0]";
    status PRINT_HIGH 0x174 "characters 4 to 7 of the oldest piece";
    commit PRINT_POP 0x178 "removes the oldest piece";
    tally HPU_BUSY[64] 0x200 "cycles in a handler, per HPU (cluster * hpus + hpu), modulo 2^32";
    tally HPU_TASKS[64] 0x300 "tasks ended, per HPU";
    tally CONTEXT_TASKS[16] 0x400 "tasks of each context that have ended, faults included";
    tally CONTEXT_FAULTED[16] 0x440 "tasks of each context that were ended by a fault or the watchdog";
    tally CONTEXT_CYCLES_LO[16] 0x480 "cycles of the ended tasks of each context, from the first fetch to the end, \
        low half";
    tally CONTEXT_CYCLES_HI[16] 0x4C0 "cycles of the ended tasks of each context, high half";
    tally CONTEXT_INSTRET_LO[16] 0x500 "instructions retired by the ended tasks of each context, low half";
    tally CONTEXT_INSTRET_HI[16] 0x540 "instructions retired by the ended tasks of each context, high half";
}
