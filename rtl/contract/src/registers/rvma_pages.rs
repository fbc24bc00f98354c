//! Pages of the RVMA engine: `rvma` and `doorbell`.

use spindle_contract_macros::registers;

registers! {
    rvma RVMA, id 4, at 0x0_3000: "RVMA engine: regions and counters.";
    control CONTROL 0x000 "completion order" {
        posted 0 "when a completion record is written" {
            WAIT_B = 0 "after the write responses of the data",
            POSTED = 1 "after the data were sent, without waiting for the responses",
        }
    }
    stage REGION_FIRST[2] 0x010 "host address of the first page of a region, low half, then high half; bits [11:0] are ignored";
    stage REGION_LAST[2] 0x018 "host address of the last page of a region, likewise";
    commit REGION_COMMIT 0x020 "writes the staged region; without a right the region is removed" {
        region 3:0 "number of the region";
        process 9:4 "process";
        readable 30 "the card may read the region";
        writable 31 "the card may write the region"
    }
    control UNCHECKED[2] 0x028 "bit p: process p may name any host memory, not only its regions";
    control SENDERS[2] 0x030 "bit p: process p may send frames (SEND_FRAME)";
    tally PLACED_PACKETS 0x100 "packets, and redirected ranges of packets, written to host memory";
    tally PLACED_BYTES 0x104 "payload bytes written, modulo 2^32";
    tally COMPLETIONS 0x108 "completion records written";
    tally REFUSED 0x10C "packets and redirected ranges refused (the packet engine counts the reasons of packets)";
    tally DMA_WRITES 0x110 "write bursts issued";
    tally DMA_ERRORS 0x114 "write responses with an error";
    tally MAILBOXES 0x118 "open mailboxes";
    tally BUFFERS 0x11C "buffers posted and not complete";
    tally HANDLER_DMA 0x120 "DMA commands of handlers that ended";
    tally DMA_READS 0x124 "read bursts issued";
    tally READ_ERRORS 0x128 "read responses with an error";
    tally EVENTS 0x12C "event records written, for all processes";
    tally EVENTS_LOST 0x130 "events that found their ring full or closed";
    tally HOST_PUTS_DONE 0x134 "puts of processes that ended, including those that failed";
    tally HOST_PUTS_FAILED 0x138 "puts of processes to a node that does not exist, or whose data could not be read";
    tally HOST_FRAMES 0x13C "frames of SEND_FRAME that were handed on to be read and sent";
    tally HOST_FRAMES_READ 0x140 "of these, in their order, frames whose bytes have been read, or could not be read: the card does not \
        read their memory any more";
}

registers! {
    doorbell DOORBELL, id 5, at 0x1_0000: "Doorbell page of process 0; the page of process p is p * 0x1000 further.";
    stage ADDR_LO 0x000 "mailbox address, low half";
    stage ADDR_HI 0x004 "mailbox address, high half";
    stage KEY 0x008 "mailbox key";
    stage THRESHOLD 0x00C "amount that completes a buffer: bytes, or operations; MANAGED: the buffer retires when fewer bytes than \
        the threshold are left";
    stage MODE 0x010 "kind of mailbox; with PUT, TAGGED and MANAGED of the target" {
        ops 0 "the threshold counts operations: messages whose bytes have all arrived";
        tagged 1 "packets name their epoch, one of the oldest four buffers that are not complete; an eighth of the mailboxes can be \
            TAGGED";
        managed 2 "the receiver chooses the offset: messages lie one after another. Excludes OPS; with TAGGED the mailbox is a stream";
        nack_off 3 "no NACK is sent for packets that are refused";
        drop 4 "no NACK is sent for packets that find no buffer";
        spill 5 "packets that find no buffer go to the catch-all mailbox of the process, if there is one, with their header first";
        catch_all 6 "this MANAGED mailbox is the catch-all of its process: it also gets the packets for which there is no mailbox";
        frames 7 "this mailbox takes whole frames, in multiples of 64 bytes, and nothing else (packet.HOST_WINDOW); with MANAGED and \
            NACK_OFF only";
        event 8 "a buffer that is complete is reported in the event ring of the process (events::BUFFER), after its record"
    }
    stage BUFFER_LO 0x014 "host address of the buffer, low half";
    stage BUFFER_HI 0x018 "host address of the buffer, high half";
    stage SIZE 0x01C "bytes of the buffer";
    stage RECORD_LO 0x020 "host address of the completion record (16-aligned), low half";
    stage RECORD_HI 0x024 "host address of the completion record, high half";
    stage MAILBOX 0x028 "mailbox that POST_BUFFER and later commands act on";
    stage COUNT 0x02C "REWIND, GET_BUF_PTRS: completed buffers to go back; PUT to a TAGGED mailbox: the epoch [15:0], to a stream: \
        the ordinal; GET: bit 0 = from the oldest buffer that is not complete; receive maps: see POST_MAPPED, READ_MAP, FREE_MAP";
    commit COMMAND 0x030 "issues a command (doorbell_command); the staged registers must keep their values until RESULT is not busy";
    status RESULT 0x034 "result of the command" {
        value 15:0 "number that the command returns: INIT_WINDOW the mailbox, PUT and GET their number, POST_MAPPED the map";
        error 23:16 "error (doorbell_error)";
        busy 31 "the command is under way"
    }
    status VALUE_LO 0x038 "64-bit result (epoch, pointer, word of a map), low half";
    status VALUE_HI 0x03C "64-bit result, high half";
    trigger RING_TAIL 0x04C "commands that the host has put into its command ring, modulo 2^16; takes effect at once, and restarts a \
        ring that has stopped" {
        ring_tail 15:0
    }
    stage LENGTH 0x050 "bytes of a put or get; 0: an empty put, which names no memory";
    stage OFFSET 0x054 "offset in the target buffer";
    stage NODE 0x058 "target node";
    stage TARGET_PID 0x05C "target process";
    trigger EVENT_HEAD 0x060 "records that the host has read from its event ring, modulo 2^16; takes effect at once" {
        event_head 15:0;
        arm 31 "one interrupt for the records after these, as IRQ describes; at once if there is such a record already"
    }
    status VALUE_LENGTH 0x064 "bytes placed in the buffer that VALUE points to";
    status RING_DONE 0x068 "command ring" {
        done 15:0 "commands carried out, modulo 2^16";
        error 23:16 "if not 0, the next command cannot be carried out for this reason (doorbell_error), and the ring has stopped"
    }
    trigger IRQ 0x06C "moderation of the interrupt that EVENT_HEAD arms; 0 after reset" {
        events 15:8 "unread records that request the interrupt; 0 as 1";
        time 30:16 "time from the first unread record to the interrupt, in units of 64 cycles; 0: no limit";
        enable 31 "interrupts are requested"
    }
    trigger KICK 0x070 "a write of any value makes the card read the shadow line of the process (shadow), and take RING_TAIL and \
        EVENT_HEAD from it. Kicks that come before the line is read are one";
}
