//! Pages of the packet engine: `packet` and `node`.

use spindle_contract_macros::registers;

registers! {
    packet PACKET, id 2, at 0x0_1000: "Packet engine: match rules and frame counters.";
    control CONTROL 0x000 "reception" {
        receive 0 "frames are received";
        host_unmatched 1 "frames that match no rule go to the host window; Spindle packets do not"
    }
    control SPINDLE_PORT 0x004 "UDP destination port of Spindle transport" { spindle_port 15:0 = 4795 }
    control PSN_CONTROL 0x008 "sequence numbers and sources" {
        filter 0 "duplicates, and packets beyond the window of their peer, are dropped";
        source 1 "Spindle packets are dropped unless the node table has their IPv4 source address for their source node"
    }
    stage WORD_SOURCE 0x010 "source of an extracted word: two halves of 16 bits, each from a half-word of the frame with its parity" {
        even 4:0 "number of the even half among half-words 0, 2, 4, ... of a frame without VLAN tag";
        odd 9:5 "number of the odd half among half-words 1, 3, 5, ... of a frame without VLAN tag";
        tagged_even 14:10 "number of the even half in a frame with VLAN tag";
        tagged_odd 19:15 "number of the odd half in a frame with VLAN tag";
        order 21:20 "content of the word" {
            EVEN_FIRST = 0 "the even half is the high half of the word",
            ODD_FIRST = 1 "the odd half is the high half of the word",
            LENGTH = 2 "the word is the length of the frame in bytes",
        }
    }
    commit WORD_COMMIT 0x014 "writes the staged source to the extracted word of this number" { index 31:0 "extracted word" }
    stage TERM_MASK 0x018 "mask of a term";
    stage TERM_LOW 0x01C "lowest value that matches, after the mask";
    stage TERM_HIGH 0x020 "highest value that matches, after the mask";
    commit TERM_COMMIT 0x024 "writes the staged term to the slot of this number; the term compares extracted word slot / 5" { index
        31:0 "slot" }
    stage RULE_POSITIVE[3] 0x030 "literals that must hold: bit t is term t, bit 80 + f is flag f";
    stage RULE_NEGATIVE[3] 0x040 "literals that must not hold: bit t is term t, bit 80 + f is flag f";
    stage RULE_ACTION 0x050 "effect of a rule" {
        action 1:0 "action for a frame that matches" {
            DROP = 0 "the frame is dropped",
            CONTEXT = 1 "the frame goes to an execution context",
            MAILBOX = 2 "the frame goes through its mailbox",
            HOST = 3 "the whole frame goes to the host window; without one the frame is dropped",
        };
        context 7:4 "execution context";
        message 9:8 "definition of a message" {
            PACKET = 0 "every packet is a message",
            HEADER = 1 "the Spindle header names the message",
            FIELD = 2 "an extracted word is the message id",
        };
        message_word 13:12 "FIELD: number of the extracted word, less 12";
        end_term 22:16 "term that holds for the last packet of a message";
        has_end 23 "end_term is used";
        to_host 24 "the packet also goes to the host";
        valid 31 "the rule takes part"
    }
    commit RULE_COMMIT 0x054 "writes the staged rule to the slot of this number; the lowest matching slot wins" { index 31:0 "slot" }
    trigger MATCH_COMMIT 0x058 "a write makes all committed words, terms and rules effective at once, between two frames; while that \
        is under way, no slot can be written" {
        busy 0 "the change is under way"
    }
    control MESSAGE_TIMEOUT 0x060 "units of 1024 cycles after which an incomplete message without an event ends, within 1.5 times \
        that time; 0 = never" {
        message_timeout 15:0
    }
    control HOST_WINDOW 0x064 "mailbox with mode FRAMES that gets the frames for the host" {
        mailbox 15:0 "number that INIT_WINDOW returned";
        process 21:16 "process that owns the mailbox";
        valid 31 "there is such a mailbox"
    }
    stage TASK_ARGUMENT[2] 0x070 "argument of a task, low half and high half";
    stage TASK_DELAY 0x078 "cycles until the task is due, below 2^31, or 2^31: the task that waits with this argument is cancelled";
    trigger TASK_START 0x07C "a write of the number of a context starts a task of the context, or cancels one; while `busy`, a write \
        fails" {
        busy 0 "the last write has not been carried out";
        refused 1 "no task was started by the last write: 16 tasks of the context wait, or it is not active, or it has no task handler; \
            or none that waits had the argument"
    }
    counter FRAMES_IN 0x100 "frames received";
    counter FRAMES_TO_HPU 0x104 "frames accepted for an execution context";
    counter FRAMES_TO_MAILBOX 0x108 "frames handed to the RVMA engine without a handler";
    counter FRAMES_OUT 0x10C "frames sent";
    counter BYTES_IN 0x110 "bytes received, modulo 2^32";
    counter BYTES_OUT 0x114 "bytes sent, modulo 2^32";
    counter TASKS 0x118 "tasks dispatched";
    status MESSAGES_OPEN 0x11C "live messages" { messages_open 15:0 }
    counter MESSAGES_DONE 0x120 "messages that ended without an error";
    counter MESSAGES_FAILED 0x124 "messages that ended with an error of a handler";
    status CELLS_FREE 0x128 "free cells of the packet buffer" { cells_free 10:0 }
    counter FRAMES_HANDLED 0x12C "frames whose handlers all ended without an error";
    counter FRAMES_PLACED 0x130 "frames that the RVMA engine wrote to host memory";
    counter MESSAGES_AGED 0x134 "messages that ended because they made no progress";
    counter FRAMES_TO_HOST 0x138 "frames handed to the RVMA engine for the host window";
    window(ro) CONTEXT_LIVE[16] 0x140 "live messages of each context, tasks that have begun included";
    counter TASKS_BEGUN 0x180 "tasks that handlers or the host started and that have begun";
    counter TASKS_REFUSED 0x184 "commands of handlers and of the host that started no task";
    counter TASKS_CANCELLED 0x188 "tasks that were cancelled before they began";
    counter TASKS_DISSOLVED 0x18C "tasks that ended before they began, because their context was deactivated";
    trigger PEER_QUERY 0x200 "a write reads the entry of this number of the peer table into PEER_*; a read gives 1 until that has \
        happened" {
        busy 0 "the entry has not been read yet"
    }
    status PEER_LIVE 0x204 "the entry has a peer" { peer_live 0 }
    status PEER_NODE 0x208 "node of the peer";
    status PEER_EXPECTED 0x20C "lowest sequence number of the peer that has not been accepted";
    status PEER_SELECTIVE[2] 0x210 "bit i: sequence number PEER_EXPECTED + i has been accepted";
    window(ro) DROPS[64] 0x300 "frames dropped, by reason";
    window(ro) CONTEXT_DROPS[512] 0x800 "frames dropped that a rule had given to a context, by context and reason: \
        word 32 * context + reason";
}

registers! {
    node NODE, id 6, at 0x0_4000: "Initiator: identity of this NIC, and the nodes that it sends puts and gets to.";
    control LOCAL_NID 0x000 "number of this node";
    control LOCAL_MAC_LO 0x004 "MAC address of this node, low 32 bits";
    control LOCAL_MAC_HI 0x008 "MAC address of this node, high 16 bits" { local_mac_hi 15:0 }
    control LOCAL_IP 0x00C "IPv4 address of this node";
    stage NODE_MAC_LO 0x010 "MAC address of a node, low 32 bits";
    stage NODE_MAC_HI 0x014 "MAC address of a node, high 16 bits" { node_mac_hi 15:0 }
    stage NODE_IP 0x018 "IPv4 address of a node";
    stage NODE_PORT 0x01C "UDP port of a node" {
        port 15:0 "UDP port";
        use_icrc 16 "Spindle packets to the node have the ICRC";
        require_icrc 17 "Spindle packets of the node that have no ICRC are dropped";
        present 31 "the node exists"
    }
    commit NODE_COMMIT 0x020 "writes the staged node to the table; the number written is the node's number" { node 31:0 "node" }
    control ACK_CONTROL 0x030 "acknowledgements and refusals" {
        respond 0 "the sources of packets get acknowledgements and refusals";
        ack_every 13:8 = 4 "accepted packets of a source for which an acknowledgement is due";
        nack_gap 31:16 = 16 "least time between two refusals to one source, in units of 64 cycles"
    }
    control SEND_CONTROL 0x034 "sequenced sending" {
        sequenced 0 "puts from host memory and gets without the flag UNSEQ carry sequence numbers and are sent again until they are \
            acknowledged";
        retries 11:8 = 8 "timeouts in a row after which a destination is given up"
    }
    control SEND_TIMES 0x038 "times of retransmission, in units of 64 cycles" {
        timeout 15:0 = 1024 "time without an acknowledgement after which segments are sent again";
        hole_time 31:16 = 48 "time after which a segment is sent again if a later one has arrived"
    }
    control SEND_INCARNATION 0x03C "incarnation of the windows that this node opens; with 0 the first window to a node is not opened";
    control SEND_LIMIT 0x040 "age, in units of 1024 cycles, at most 32767, from which a put or get fails if its mailbox is busy or \
        has no buffer; 0: no limit. Holds for puts and gets that begin after the write" {
        send_limit 15:0
    }
    control CONGESTION 0x044 "congestion control" {
        obey_marks 0 "what is in flight to a destination stays within its window, and sequenced packets leave as ECN-capable";
        shrink 5:4 = 1 "a marked packet takes 2^-shrink of a segment from the window of its destination"
    }
    control CONGESTION_WINDOW 0x048 "congestion windows, in segments" {
        least 9:0 = 2 "smallest window, at least 1";
        first 19:10 = 32 "window of a path that was not used yet";
        most 29:20 = 1023 "largest window"
    }
    control SEND_TURNS 0x04C "turns of puts" {
        puts 6:0 = 1 "sequenced puts, at most 64, that are sent in turns, a segment each; with 1 a put is sent to its end first"
    }
    counter PUTS_DONE 0x100 "puts and gets sent";
    counter PUTS_FAILED 0x104 "puts and gets to a node that does not exist, or whose data could not be read";
    counter ACKS_SENT 0x108 "acknowledgements sent";
    counter NACKS_SENT 0x10C "refusals sent";
    counter NACKS_WITHHELD 0x110 "refusals that were not sent, because the source had one recently or too many waited";
    counter SEGMENTS_RESENT 0x114 "segments that were sent again";
    status LAST_REFUSAL 0x118 "the latest refusal of a put or get of a process that is not complete; 0: no refusal since reset" {
        number 15:0 "number of the put or get";
        code 23:16 "code of the refusal (wire::nack)"
    }
    counter SENDS_UNSUMMED 0x120 "frames of SEND_PACKET with the flag CHECKSUM that left without a transport checksum: unchanged if they \
        are no whole IPv4 packet without options, else with the header checksum";
}
