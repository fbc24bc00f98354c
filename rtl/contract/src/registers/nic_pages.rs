//! Pages that concern the whole NIC: `global` and `trace`.

use spindle_contract_macros::registers;

registers! {
    global GLOBAL, id 1, at 0x0_0000: "Identity, configuration and the list of blocks.";
    status MAGIC 0x000 "0x53504E44 (\"SPND\")";
    status VERSION 0x004 "contract version";
    status HPUS 0x008 "processors and tables" {
        clusters 7:0 "clusters";
        hpus 15:8 "HPUs per cluster";
        contexts 23:16 "execution contexts";
        match_rules 31:24 "match rules"
    }
    status TABLES 0x00C "tables of the RVMA engine" {
        mailboxes 15:0 "mailboxes";
        posted_buffers 31:16 "posted buffers"
    }
    status MEMORIES 0x010 "sizes of memories in KiB" {
        imem_kib 7:0 "instruction memory of a cluster";
        l2_kib 19:8 "L2, the context memory";
        packet_buffer_kib 31:20 "packet buffer"
    }
    status CLOCK_MHZ 0x014 "nominal core clock in MHz";
    status CYCLE_LO 0x018 "cycles since reset, low half; a read latches CYCLE_HI";
    status CYCLE_HI 0x01C "cycles since reset, high half";
    control SCRATCH 0x020 "a word for the driver's own use";
    status LIVE_MESSAGES 0x024 "slots of the message table";
    status PROCESSES 0x028 "doorbell pages";
    status BLOCKS 0x02C "entries of the block list";
    trigger RESET 0x030 "a write resets the whole card: engines, tables, rings, counters, interrupts, registers. Reception stops, \
        transactions of host memory that have begun end, then the card is reset; other registers are not accessed meanwhile" {
        busy 0 "the reset is under way";
        forced 1 "the last reset did not wait for the host any longer: host memory was silent for 65,536 cycles"
    }
    commit IRQ_MAP 0x034 "sets the interrupt vector of a process; after reset process p has vector 1 + p modulo 15" {
        vector 3:0 "vector; 0 is shared with the card's own interrupts";
        process 13:8 "process"
    }
    control IRQ_CARD 0x038 "causes of the card's own interrupt, vector 0; requested when a cause appears, so the host reads on until \
        the count of the cause is 0" {
        faults 0 = 1 "a fault report waits (FAULT_COUNT)";
        prints 1 "a piece of text waits (PRINT_COUNT)"
    }
    status IRQ_WAITING 0x03C "interrupts requested and not yet acknowledged" { vectors 15:0 "a bit per vector" }
    window(ro) BLOCK_LIST[28] 0x040 "block list, 4 words per entry: id, version, base, size";
    status SHELL 0x0C0 "address of the page `shell`; 0: the card has no shell of a board. A card without one does not answer at that \
        page, so this word is read first. A shell answers it in place of the NIC";
}

registers! {
    trace TRACE, id 7, at 0x0_5000: "Trace ring: the cycles in which sampled packets passed each stage.";
    control CONTROL 0x000 "recording" {
        follow 0 "packets are followed; a rising edge empties the ring";
        freeze 1 "nothing is recorded"
    }
    control SAMPLE_MASK 0x004 "a packet is followed if its frame number has zeros where the mask has ones; 2^n - 1 selects every \
        2^n-th packet. A packet is followed until the next selected packet arrives" {
        sample_mask 15:0
    }
    status WRITTEN 0x008 "records written since the ring was emptied; beyond 512, new records overwrite the oldest";
    control INDEX 0x00C "record to be read: record r since the ring was emptied is at r modulo 512" { index 8:0 }
    status RECORD_CYCLE 0x010 "cycle of the record, low half, as CYCLE_LO";
    status RECORD_STAGES 0x014 "frame and stages of the record" {
        frame 15:0 "frame sequence number";
        stages 31:16 "stages that the frame passed in that cycle, one bit per number"
    }
    status RECORD_HPU 0x018 "HPU (cluster * hpus + hpu) of stages 5 to 8 of the record" { record_hpu 4:0 }
}
