/* Generated from rtl/contract by `cargo run -p spindle-contract --bin generate`. Do not edit. */
#ifndef SPINDLE_REGISTERS_H
#define SPINDLE_REGISTERS_H

#define SPINDLE_CONTRACT_VERSION         1            /* version of the contract */
#define SPINDLE_MAGIC                    0x53504e44u  /* value of the first register */
#define SPINDLE_BAR_BYTES                0x100000u    /* size of the BAR */
#define SPINDLE_PAGE_BYTES               0x1000u      /* size of a page */

/* Identity, configuration and the list of blocks. */
#define SPINDLE_GLOBAL_ID                1            /* id in the block list */
#define SPINDLE_GLOBAL_BASE              0x00000u     /* address of the page */
#define SPINDLE_GLOBAL_MAGIC             0x000u       /* ro, status: 0x53504E44 ("SPND") */
#define SPINDLE_GLOBAL_VERSION           0x004u       /* ro, status: contract version */
#define SPINDLE_GLOBAL_HPUS              0x008u       /* ro, status: processors and tables */
#define SPINDLE_GLOBAL_HPUS_CLUSTERS_MASK 0x000000ffu  /* clusters */
#define SPINDLE_GLOBAL_HPUS_CLUSTERS_SHIFT 0            /* lowest bit of clusters */
#define SPINDLE_GLOBAL_HPUS_MASK         0x0000ff00u  /* HPUs per cluster */
#define SPINDLE_GLOBAL_HPUS_SHIFT        8            /* lowest bit of hpus */
#define SPINDLE_GLOBAL_HPUS_CONTEXTS_MASK 0x00ff0000u  /* execution contexts */
#define SPINDLE_GLOBAL_HPUS_CONTEXTS_SHIFT 16           /* lowest bit of contexts */
#define SPINDLE_GLOBAL_HPUS_MATCH_RULES_MASK 0xff000000u  /* match rules */
#define SPINDLE_GLOBAL_HPUS_MATCH_RULES_SHIFT 24           /* lowest bit of match_rules */
#define SPINDLE_GLOBAL_TABLES            0x00cu       /* ro, status: tables of the RVMA engine */
#define SPINDLE_GLOBAL_TABLES_MAILBOXES_MASK 0x0000ffffu  /* mailboxes */
#define SPINDLE_GLOBAL_TABLES_MAILBOXES_SHIFT 0            /* lowest bit of mailboxes */
#define SPINDLE_GLOBAL_TABLES_POSTED_BUFFERS_MASK 0xffff0000u  /* posted buffers */
#define SPINDLE_GLOBAL_TABLES_POSTED_BUFFERS_SHIFT 16           /* lowest bit of posted_buffers */
#define SPINDLE_GLOBAL_MEMORIES          0x010u       /* ro, status: sizes of memories in KiB */
#define SPINDLE_GLOBAL_MEMORIES_IMEM_KIB_MASK 0x000000ffu  /* instruction memory of a cluster */
#define SPINDLE_GLOBAL_MEMORIES_IMEM_KIB_SHIFT 0            /* lowest bit of imem_kib */
#define SPINDLE_GLOBAL_MEMORIES_L2_KIB_MASK 0x000fff00u  /* L2, the context memory */
#define SPINDLE_GLOBAL_MEMORIES_L2_KIB_SHIFT 8            /* lowest bit of l2_kib */
#define SPINDLE_GLOBAL_MEMORIES_PACKET_BUFFER_KIB_MASK 0xfff00000u  /* packet buffer */
#define SPINDLE_GLOBAL_MEMORIES_PACKET_BUFFER_KIB_SHIFT 20           /* lowest bit of packet_buffer_kib */
#define SPINDLE_GLOBAL_CLOCK_MHZ         0x014u       /* ro, status: nominal core clock in MHz */
/* ro, status: cycles since reset, low half; a read latches CYCLE_HI */
#define SPINDLE_GLOBAL_CYCLE_LO          0x018u
#define SPINDLE_GLOBAL_CYCLE_HI          0x01cu       /* ro, status: cycles since reset, high half */
#define SPINDLE_GLOBAL_SCRATCH           0x020u       /* rw, control: a word for the driver's own use */
#define SPINDLE_GLOBAL_LIVE_MESSAGES     0x024u       /* ro, status: slots of the message table */
#define SPINDLE_GLOBAL_PROCESSES         0x028u       /* ro, status: doorbell pages */
#define SPINDLE_GLOBAL_BLOCKS            0x02cu       /* ro, status: entries of the block list */
/* rw, trigger: a write resets the whole card: engines, tables, rings, counters, interrupts, registers. Reception
   stops, transactions of host memory that have begun end, then the card is reset; other registers are not accessed
   meanwhile */
#define SPINDLE_GLOBAL_RESET             0x030u
#define SPINDLE_GLOBAL_RESET_BUSY_MASK   0x00000001u  /* the reset is under way */
#define SPINDLE_GLOBAL_RESET_BUSY_SHIFT  0            /* lowest bit of busy */
/* the last reset did not wait for the host any longer: host memory was silent for 65,536 cycles */
#define SPINDLE_GLOBAL_RESET_FORCED_MASK 0x00000002u
#define SPINDLE_GLOBAL_RESET_FORCED_SHIFT 1            /* lowest bit of forced */
/* wo, commit: sets the interrupt vector of a process; after reset process p has vector 1 + p modulo 15 */
#define SPINDLE_GLOBAL_IRQ_MAP           0x034u
#define SPINDLE_GLOBAL_IRQ_MAP_VECTOR_MASK 0x0000000fu  /* vector; 0 is shared with the card's own interrupts */
#define SPINDLE_GLOBAL_IRQ_MAP_VECTOR_SHIFT 0            /* lowest bit of vector */
#define SPINDLE_GLOBAL_IRQ_MAP_PROCESS_MASK 0x00003f00u  /* process */
#define SPINDLE_GLOBAL_IRQ_MAP_PROCESS_SHIFT 8            /* lowest bit of process */
/* rw, control: causes of the card's own interrupt, vector 0; requested when a cause appears, so the host reads on
   until the count of the cause is 0 */
#define SPINDLE_GLOBAL_IRQ_CARD          0x038u
#define SPINDLE_GLOBAL_IRQ_CARD_FAULTS_MASK 0x00000001u  /* a fault report waits (FAULT_COUNT) */
#define SPINDLE_GLOBAL_IRQ_CARD_FAULTS_SHIFT 0            /* lowest bit of faults */
#define SPINDLE_GLOBAL_IRQ_CARD_PRINTS_MASK 0x00000002u  /* a piece of text waits (PRINT_COUNT) */
#define SPINDLE_GLOBAL_IRQ_CARD_PRINTS_SHIFT 1            /* lowest bit of prints */
#define SPINDLE_GLOBAL_IRQ_CARD_RESET    0x00000001u  /* value after reset */
#define SPINDLE_GLOBAL_IRQ_WAITING       0x03cu       /* ro, status: interrupts requested and not yet acknowledged */
#define SPINDLE_GLOBAL_IRQ_WAITING_VECTORS_MASK 0x0000ffffu  /* a bit per vector */
#define SPINDLE_GLOBAL_IRQ_WAITING_VECTORS_SHIFT 0            /* lowest bit of vectors */
/* ro, window, 28 registers: block list, 4 words per entry: id, version, base, size */
#define SPINDLE_GLOBAL_BLOCK_LIST        0x040u
/* ro, status: address of the page `shell`; 0: the card has no shell of a board. A card without one does not answer
   at that page, so this word is read first. A shell answers it in place of the NIC */
#define SPINDLE_GLOBAL_SHELL             0x0c0u

/* Packet engine: match rules and frame counters. */
#define SPINDLE_PACKET_ID                2            /* id in the block list */
#define SPINDLE_PACKET_BASE              0x01000u     /* address of the page */
#define SPINDLE_PACKET_CONTROL           0x000u       /* rw, control: reception */
#define SPINDLE_PACKET_CONTROL_RECEIVE_MASK 0x00000001u  /* frames are received */
#define SPINDLE_PACKET_CONTROL_RECEIVE_SHIFT 0            /* lowest bit of receive */
/* frames that match no rule go to the host window; Spindle packets do not */
#define SPINDLE_PACKET_CONTROL_HOST_UNMATCHED_MASK 0x00000002u
#define SPINDLE_PACKET_CONTROL_HOST_UNMATCHED_SHIFT 1            /* lowest bit of host_unmatched */
#define SPINDLE_PACKET_SPINDLE_PORT      0x004u       /* rw, control: UDP destination port of Spindle transport */
#define SPINDLE_PACKET_SPINDLE_PORT_MASK 0x0000ffffu  /* UDP destination port of Spindle transport */
#define SPINDLE_PACKET_SPINDLE_PORT_SHIFT 0            /* lowest bit of spindle_port */
#define SPINDLE_PACKET_SPINDLE_PORT_RESET 0x000012bbu  /* value after reset */
#define SPINDLE_PACKET_PSN_CONTROL       0x008u       /* rw, control: sequence numbers and sources */
/* duplicates, and packets beyond the window of their peer, are dropped */
#define SPINDLE_PACKET_PSN_CONTROL_FILTER_MASK 0x00000001u
#define SPINDLE_PACKET_PSN_CONTROL_FILTER_SHIFT 0            /* lowest bit of filter */
/* Spindle packets are dropped unless the node table has their IPv4 source address for their source node */
#define SPINDLE_PACKET_PSN_CONTROL_SOURCE_MASK 0x00000002u
#define SPINDLE_PACKET_PSN_CONTROL_SOURCE_SHIFT 1            /* lowest bit of source */
/* rw, stage: source of an extracted word: two halves of 16 bits, each from a half-word of the frame with its parity */
#define SPINDLE_PACKET_WORD_SOURCE       0x010u
/* number of the even half among half-words 0, 2, 4, ... of a frame without VLAN tag */
#define SPINDLE_PACKET_WORD_SOURCE_EVEN_MASK 0x0000001fu
#define SPINDLE_PACKET_WORD_SOURCE_EVEN_SHIFT 0            /* lowest bit of even */
/* number of the odd half among half-words 1, 3, 5, ... of a frame without VLAN tag */
#define SPINDLE_PACKET_WORD_SOURCE_ODD_MASK 0x000003e0u
#define SPINDLE_PACKET_WORD_SOURCE_ODD_SHIFT 5            /* lowest bit of odd */
#define SPINDLE_PACKET_WORD_SOURCE_TAGGED_EVEN_MASK 0x00007c00u  /* number of the even half in a frame with VLAN tag */
#define SPINDLE_PACKET_WORD_SOURCE_TAGGED_EVEN_SHIFT 10           /* lowest bit of tagged_even */
#define SPINDLE_PACKET_WORD_SOURCE_TAGGED_ODD_MASK 0x000f8000u  /* number of the odd half in a frame with VLAN tag */
#define SPINDLE_PACKET_WORD_SOURCE_TAGGED_ODD_SHIFT 15           /* lowest bit of tagged_odd */
#define SPINDLE_PACKET_WORD_SOURCE_ORDER_MASK 0x00300000u  /* content of the word */
#define SPINDLE_PACKET_WORD_SOURCE_ORDER_SHIFT 20           /* lowest bit of order */
#define SPINDLE_PACKET_WORD_SOURCE_ORDER_EVEN_FIRST 0            /* the even half is the high half of the word */
#define SPINDLE_PACKET_WORD_SOURCE_ORDER_ODD_FIRST 1            /* the odd half is the high half of the word */
#define SPINDLE_PACKET_WORD_SOURCE_ORDER_LENGTH 2            /* the word is the length of the frame in bytes */
/* wo, commit: writes the staged source to the extracted word of this number */
#define SPINDLE_PACKET_WORD_COMMIT       0x014u
#define SPINDLE_PACKET_WORD_COMMIT_INDEX_MASK 0xffffffffu  /* extracted word */
#define SPINDLE_PACKET_WORD_COMMIT_INDEX_SHIFT 0            /* lowest bit of index */
#define SPINDLE_PACKET_TERM_MASK         0x018u       /* rw, stage: mask of a term */
#define SPINDLE_PACKET_TERM_LOW          0x01cu       /* rw, stage: lowest value that matches, after the mask */
#define SPINDLE_PACKET_TERM_HIGH         0x020u       /* rw, stage: highest value that matches, after the mask */
/* wo, commit: writes the staged term to the slot of this number; the term compares extracted word slot / 5 */
#define SPINDLE_PACKET_TERM_COMMIT       0x024u
#define SPINDLE_PACKET_TERM_COMMIT_INDEX_MASK 0xffffffffu  /* slot */
#define SPINDLE_PACKET_TERM_COMMIT_INDEX_SHIFT 0            /* lowest bit of index */
/* rw, stage, 3 registers: literals that must hold: bit t is term t, bit 80 + f is flag f */
#define SPINDLE_PACKET_RULE_POSITIVE     0x030u
/* rw, stage, 3 registers: literals that must not hold: bit t is term t, bit 80 + f is flag f */
#define SPINDLE_PACKET_RULE_NEGATIVE     0x040u
#define SPINDLE_PACKET_RULE_ACTION       0x050u       /* rw, stage: effect of a rule */
#define SPINDLE_PACKET_RULE_ACTION_ACTION_MASK 0x00000003u  /* action for a frame that matches */
#define SPINDLE_PACKET_RULE_ACTION_ACTION_SHIFT 0            /* lowest bit of action */
#define SPINDLE_PACKET_RULE_ACTION_ACTION_DROP 0            /* the frame is dropped */
#define SPINDLE_PACKET_RULE_ACTION_ACTION_CONTEXT 1            /* the frame goes to an execution context */
#define SPINDLE_PACKET_RULE_ACTION_ACTION_MAILBOX 2            /* the frame goes through its mailbox */
/* the whole frame goes to the host window; without one the frame is dropped */
#define SPINDLE_PACKET_RULE_ACTION_ACTION_HOST 3
#define SPINDLE_PACKET_RULE_ACTION_CONTEXT_MASK 0x000000f0u  /* execution context */
#define SPINDLE_PACKET_RULE_ACTION_CONTEXT_SHIFT 4            /* lowest bit of context */
#define SPINDLE_PACKET_RULE_ACTION_MESSAGE_MASK 0x00000300u  /* definition of a message */
#define SPINDLE_PACKET_RULE_ACTION_MESSAGE_SHIFT 8            /* lowest bit of message */
#define SPINDLE_PACKET_RULE_ACTION_MESSAGE_PACKET 0            /* every packet is a message */
#define SPINDLE_PACKET_RULE_ACTION_MESSAGE_HEADER 1            /* the Spindle header names the message */
#define SPINDLE_PACKET_RULE_ACTION_MESSAGE_FIELD 2            /* an extracted word is the message id */
#define SPINDLE_PACKET_RULE_ACTION_MESSAGE_WORD_MASK 0x00003000u  /* FIELD: number of the extracted word, less 12 */
#define SPINDLE_PACKET_RULE_ACTION_MESSAGE_WORD_SHIFT 12           /* lowest bit of message_word */
#define SPINDLE_PACKET_RULE_ACTION_END_TERM_MASK 0x007f0000u  /* term that holds for the last packet of a message */
#define SPINDLE_PACKET_RULE_ACTION_END_TERM_SHIFT 16           /* lowest bit of end_term */
#define SPINDLE_PACKET_RULE_ACTION_HAS_END_MASK 0x00800000u  /* end_term is used */
#define SPINDLE_PACKET_RULE_ACTION_HAS_END_SHIFT 23           /* lowest bit of has_end */
#define SPINDLE_PACKET_RULE_ACTION_TO_HOST_MASK 0x01000000u  /* the packet also goes to the host */
#define SPINDLE_PACKET_RULE_ACTION_TO_HOST_SHIFT 24           /* lowest bit of to_host */
#define SPINDLE_PACKET_RULE_ACTION_VALID_MASK 0x80000000u  /* the rule takes part */
#define SPINDLE_PACKET_RULE_ACTION_VALID_SHIFT 31           /* lowest bit of valid */
/* wo, commit: writes the staged rule to the slot of this number; the lowest matching slot wins */
#define SPINDLE_PACKET_RULE_COMMIT       0x054u
#define SPINDLE_PACKET_RULE_COMMIT_INDEX_MASK 0xffffffffu  /* slot */
#define SPINDLE_PACKET_RULE_COMMIT_INDEX_SHIFT 0            /* lowest bit of index */
/* rw, trigger: a write makes all committed words, terms and rules effective at once, between two frames; while that
   is under way, no slot can be written */
#define SPINDLE_PACKET_MATCH_COMMIT      0x058u
#define SPINDLE_PACKET_MATCH_COMMIT_BUSY_MASK 0x00000001u  /* the change is under way */
#define SPINDLE_PACKET_MATCH_COMMIT_BUSY_SHIFT 0            /* lowest bit of busy */
/* rw, control: units of 1024 cycles after which an incomplete message without an event ends, within 1.5 times that
   time; 0 = never */
#define SPINDLE_PACKET_MESSAGE_TIMEOUT   0x060u
/* units of 1024 cycles after which an incomplete message without an event ends, within 1.5 times that time; 0 =
   never */
#define SPINDLE_PACKET_MESSAGE_TIMEOUT_MASK 0x0000ffffu
#define SPINDLE_PACKET_MESSAGE_TIMEOUT_SHIFT 0            /* lowest bit of message_timeout */
/* rw, control: mailbox with mode FRAMES that gets the frames for the host */
#define SPINDLE_PACKET_HOST_WINDOW       0x064u
#define SPINDLE_PACKET_HOST_WINDOW_MAILBOX_MASK 0x0000ffffu  /* number that INIT_WINDOW returned */
#define SPINDLE_PACKET_HOST_WINDOW_MAILBOX_SHIFT 0            /* lowest bit of mailbox */
#define SPINDLE_PACKET_HOST_WINDOW_PROCESS_MASK 0x003f0000u  /* process that owns the mailbox */
#define SPINDLE_PACKET_HOST_WINDOW_PROCESS_SHIFT 16           /* lowest bit of process */
#define SPINDLE_PACKET_HOST_WINDOW_VALID_MASK 0x80000000u  /* there is such a mailbox */
#define SPINDLE_PACKET_HOST_WINDOW_VALID_SHIFT 31           /* lowest bit of valid */
/* rw, stage, 2 registers: argument of a task, low half and high half */
#define SPINDLE_PACKET_TASK_ARGUMENT     0x070u
/* rw, stage: cycles until the task is due, below 2^31, or 2^31: the task that waits with this argument is cancelled */
#define SPINDLE_PACKET_TASK_DELAY        0x078u
/* rw, trigger: a write of the number of a context starts a task of the context, or cancels one; while `busy`, a
   write fails */
#define SPINDLE_PACKET_TASK_START        0x07cu
#define SPINDLE_PACKET_TASK_START_BUSY_MASK 0x00000001u  /* the last write has not been carried out */
#define SPINDLE_PACKET_TASK_START_BUSY_SHIFT 0            /* lowest bit of busy */
/* no task was started by the last write: 16 tasks of the context wait, or it is not active, or it has no task
   handler; or none that waits had the argument */
#define SPINDLE_PACKET_TASK_START_REFUSED_MASK 0x00000002u
#define SPINDLE_PACKET_TASK_START_REFUSED_SHIFT 1            /* lowest bit of refused */
#define SPINDLE_PACKET_FRAMES_IN         0x100u       /* ro, counter: frames received */
#define SPINDLE_PACKET_FRAMES_TO_HPU     0x104u       /* ro, counter: frames accepted for an execution context */
/* ro, counter: frames handed to the RVMA engine without a handler */
#define SPINDLE_PACKET_FRAMES_TO_MAILBOX 0x108u
#define SPINDLE_PACKET_FRAMES_OUT        0x10cu       /* ro, counter: frames sent */
#define SPINDLE_PACKET_BYTES_IN          0x110u       /* ro, counter: bytes received, modulo 2^32 */
#define SPINDLE_PACKET_BYTES_OUT         0x114u       /* ro, counter: bytes sent, modulo 2^32 */
#define SPINDLE_PACKET_TASKS             0x118u       /* ro, counter: tasks dispatched */
#define SPINDLE_PACKET_MESSAGES_OPEN     0x11cu       /* ro, status: live messages */
#define SPINDLE_PACKET_MESSAGES_OPEN_MASK 0x0000ffffu  /* live messages */
#define SPINDLE_PACKET_MESSAGES_OPEN_SHIFT 0            /* lowest bit of messages_open */
#define SPINDLE_PACKET_MESSAGES_DONE     0x120u       /* ro, counter: messages that ended without an error */
#define SPINDLE_PACKET_MESSAGES_FAILED   0x124u       /* ro, counter: messages that ended with an error of a handler */
#define SPINDLE_PACKET_CELLS_FREE        0x128u       /* ro, status: free cells of the packet buffer */
#define SPINDLE_PACKET_CELLS_FREE_MASK   0x000007ffu  /* free cells of the packet buffer */
#define SPINDLE_PACKET_CELLS_FREE_SHIFT  0            /* lowest bit of cells_free */
/* ro, counter: frames whose handlers all ended without an error */
#define SPINDLE_PACKET_FRAMES_HANDLED    0x12cu
/* ro, counter: frames that the RVMA engine wrote to host memory */
#define SPINDLE_PACKET_FRAMES_PLACED     0x130u
/* ro, counter: messages that ended because they made no progress */
#define SPINDLE_PACKET_MESSAGES_AGED     0x134u
/* ro, counter: frames handed to the RVMA engine for the host window */
#define SPINDLE_PACKET_FRAMES_TO_HOST    0x138u
/* ro, window, 16 registers: live messages of each context, tasks that have begun included */
#define SPINDLE_PACKET_CONTEXT_LIVE      0x140u
/* ro, counter: tasks that handlers or the host started and that have begun */
#define SPINDLE_PACKET_TASKS_BEGUN       0x180u
/* ro, counter: commands of handlers and of the host that started no task */
#define SPINDLE_PACKET_TASKS_REFUSED     0x184u
#define SPINDLE_PACKET_TASKS_CANCELLED   0x188u       /* ro, counter: tasks that were cancelled before they began */
/* ro, counter: tasks that ended before they began, because their context was deactivated */
#define SPINDLE_PACKET_TASKS_DISSOLVED   0x18cu
/* rw, trigger: a write reads the entry of this number of the peer table into PEER_*; a read gives 1 until that has
   happened */
#define SPINDLE_PACKET_PEER_QUERY        0x200u
#define SPINDLE_PACKET_PEER_QUERY_BUSY_MASK 0x00000001u  /* the entry has not been read yet */
#define SPINDLE_PACKET_PEER_QUERY_BUSY_SHIFT 0            /* lowest bit of busy */
#define SPINDLE_PACKET_PEER_LIVE         0x204u       /* ro, status: the entry has a peer */
#define SPINDLE_PACKET_PEER_LIVE_MASK    0x00000001u  /* the entry has a peer */
#define SPINDLE_PACKET_PEER_LIVE_SHIFT   0            /* lowest bit of peer_live */
#define SPINDLE_PACKET_PEER_NODE         0x208u       /* ro, status: node of the peer */
/* ro, status: lowest sequence number of the peer that has not been accepted */
#define SPINDLE_PACKET_PEER_EXPECTED     0x20cu
/* ro, status, 2 registers: bit i: sequence number PEER_EXPECTED + i has been accepted */
#define SPINDLE_PACKET_PEER_SELECTIVE    0x210u
#define SPINDLE_PACKET_DROPS             0x300u       /* ro, window, 64 registers: frames dropped, by reason */
/* ro, window, 512 registers: frames dropped that a rule had given to a context, by context and reason: word 32 *
   context + reason */
#define SPINDLE_PACKET_CONTEXT_DROPS     0x800u

/* HPU array: contexts, code, context memory, faults, printed text. */
#define SPINDLE_HPU_ID                   3            /* id in the block list */
#define SPINDLE_HPU_BASE                 0x02000u     /* address of the page */
#define SPINDLE_HPU_CTX_HEADER           0x010u       /* rw, stage: entry point of the header handler, 0 = none */
#define SPINDLE_HPU_CTX_PAYLOAD          0x014u       /* rw, stage: entry point of the payload handler, 0 = none */
#define SPINDLE_HPU_CTX_COMPLETION       0x018u       /* rw, stage: entry point of the completion handler, 0 = none */
/* rw, stage: byte offset of the image in instruction memory, a multiple of its size rounded up to a power of two, of
   128 at least */
#define SPINDLE_HPU_CTX_CODE_BASE        0x01cu
#define SPINDLE_HPU_CTX_CODE_BASE_PAGE_MASK 0x0000ff80u  /* offset in units of 128 bytes */
#define SPINDLE_HPU_CTX_CODE_BASE_PAGE_SHIFT 7            /* lowest bit of page */
#define SPINDLE_HPU_CTX_CODE_SIZE        0x020u       /* rw, stage: bytes of code */
#define SPINDLE_HPU_CTX_CODE_SIZE_MASK   0x0001ffffu  /* bytes of code */
#define SPINDLE_HPU_CTX_CODE_SIZE_SHIFT  0            /* lowest bit of ctx_code_size */
/* rw, stage: byte offset of the state in L2, a multiple of its size rounded up to a power of two */
#define SPINDLE_HPU_CTX_STATE_BASE       0x024u
/* byte offset of the state in L2, a multiple of its size rounded up to a power of two */
#define SPINDLE_HPU_CTX_STATE_BASE_MASK  0x000fffffu
#define SPINDLE_HPU_CTX_STATE_BASE_SHIFT 0            /* lowest bit of ctx_state_base */
#define SPINDLE_HPU_CTX_STATE_SIZE       0x028u       /* rw, stage: bytes of state */
#define SPINDLE_HPU_CTX_STATE_SIZE_MASK  0x001fffffu  /* bytes of state */
#define SPINDLE_HPU_CTX_STATE_SIZE_SHIFT 0            /* lowest bit of ctx_state_size */
#define SPINDLE_HPU_CTX_HOST_LO          0x02cu       /* rw, stage: host region, low half of its address */
#define SPINDLE_HPU_CTX_HOST_HI          0x030u       /* rw, stage: host region, high half of its address */
#define SPINDLE_HPU_CTX_HOST_SIZE        0x034u       /* rw, stage: bytes of the host region */
#define SPINDLE_HPU_CTX_WATCHDOG         0x038u       /* rw, stage: cycle budget of a handler, 1 to 16,000,000 */
#define SPINDLE_HPU_CTX_WATCHDOG_MASK    0x00ffffffu  /* cycle budget of a handler, 1 to 16,000,000 */
#define SPINDLE_HPU_CTX_WATCHDOG_SHIFT   0            /* lowest bit of ctx_watchdog */
/* wo, commit: writes the staged context to the slot of this number */
#define SPINDLE_HPU_CTX_INSTALL          0x03cu
#define SPINDLE_HPU_CTX_INSTALL_CONTEXT_MASK 0xffffffffu  /* context */
#define SPINDLE_HPU_CTX_INSTALL_CONTEXT_SHIFT 0            /* lowest bit of context */
#define SPINDLE_HPU_CTX_ACTIVE           0x040u       /* rw, control: bit c: context c accepts packets */
#define SPINDLE_HPU_CTX_ACTIVE_MASK      0x0000ffffu  /* bit c: context c accepts packets */
#define SPINDLE_HPU_CTX_ACTIVE_SHIFT     0            /* lowest bit of ctx_active */
/* rw, stage: byte address of the scratchpad in L1, a multiple of its size rounded up to a power of two */
#define SPINDLE_HPU_CTX_SCRATCH_BASE     0x044u
/* byte address of the scratchpad in L1, a multiple of its size rounded up to a power of two */
#define SPINDLE_HPU_CTX_SCRATCH_BASE_MASK 0x0000ffffu
#define SPINDLE_HPU_CTX_SCRATCH_BASE_SHIFT 0            /* lowest bit of ctx_scratch_base */
#define SPINDLE_HPU_CTX_SCRATCH_SIZE     0x048u       /* rw, stage: bytes of the scratchpad, 0 = none */
#define SPINDLE_HPU_CTX_SCRATCH_SIZE_MASK 0x0000ffffu  /* bytes of the scratchpad, 0 = none */
#define SPINDLE_HPU_CTX_SCRATCH_SIZE_SHIFT 0            /* lowest bit of ctx_scratch_size */
/* rw, stage: bytes of zeros after a packet, as far as its slot of 2048 bytes holds them */
#define SPINDLE_HPU_CTX_TAILROOM         0x04cu
#define SPINDLE_HPU_CTX_TAILROOM_BEATS_MASK 0x000007c0u  /* in units of 64 bytes */
#define SPINDLE_HPU_CTX_TAILROOM_BEATS_SHIFT 6            /* lowest bit of beats */
#define SPINDLE_HPU_IMEM_ADDR            0x050u       /* rw, pointer: byte address for IMEM_DATA */
#define SPINDLE_HPU_IMEM_ADDR_MASK       0x0000ffffu  /* byte address for IMEM_DATA */
#define SPINDLE_HPU_IMEM_ADDR_SHIFT      0            /* lowest bit of imem_addr */
/* wo, window: a write goes to the instruction memories of all clusters; the address then advances by 4 */
#define SPINDLE_HPU_IMEM_DATA            0x054u
#define SPINDLE_HPU_L2_ADDR              0x058u       /* rw, pointer: byte address for L2_DATA */
#define SPINDLE_HPU_L2_ADDR_MASK         0x000fffffu  /* byte address for L2_DATA */
#define SPINDLE_HPU_L2_ADDR_SHIFT        0            /* lowest bit of l2_addr */
/* rw, window: a word of L2; the address advances by 4 after each access */
#define SPINDLE_HPU_L2_DATA              0x05cu
#define SPINDLE_HPU_CTX_WEIGHT           0x060u       /* rw, stage: share of HPU cycles under load, 1 to 255 */
#define SPINDLE_HPU_CTX_WEIGHT_MASK      0x000000ffu  /* share of HPU cycles under load, 1 to 255 */
#define SPINDLE_HPU_CTX_WEIGHT_SHIFT     0            /* lowest bit of ctx_weight */
#define SPINDLE_HPU_CTX_WEIGHT_RESET     0x00000001u  /* value after reset */
#define SPINDLE_HPU_CTX_QUOTA            0x064u       /* rw, stage: limits of a context; 0 = no limit */
#define SPINDLE_HPU_CTX_QUOTA_MESSAGES_MASK 0x000001ffu  /* most live messages */
#define SPINDLE_HPU_CTX_QUOTA_MESSAGES_SHIFT 0            /* lowest bit of messages */
#define SPINDLE_HPU_CTX_QUOTA_PACKETS_MASK 0x07ff0000u  /* most packets inside the NIC */
#define SPINDLE_HPU_CTX_QUOTA_PACKETS_SHIFT 16           /* lowest bit of packets */
#define SPINDLE_HPU_CTX_OVERLOAD         0x068u       /* rw, stage: treatment of packets beyond a limit */
#define SPINDLE_HPU_CTX_OVERLOAD_OVERLOAD_MASK 0x00000003u  /* treatment */
#define SPINDLE_HPU_CTX_OVERLOAD_OVERLOAD_SHIFT 0            /* lowest bit of overload */
/* packets are dropped and counted; the completion handler sees the flag `flow_control` */
#define SPINDLE_HPU_CTX_OVERLOAD_OVERLOAD_DROP 0
#define SPINDLE_HPU_CTX_OVERLOAD_OVERLOAD_PLACE 1            /* packets are placed without running a handler */
#define SPINDLE_HPU_CTX_OVERLOAD_OVERLOAD_PAUSE 2            /* the context accepts nothing until there is room */
/* rw, stage: HPUs that may run the handlers: bit cluster * hpus + hpu */
#define SPINDLE_HPU_CTX_CORE_MASK        0x06cu
#define SPINDLE_HPU_CTX_CORE_MASK_MASK   0xffffffffu  /* HPUs that may run the handlers: bit cluster * hpus + hpu */
#define SPINDLE_HPU_CTX_CORE_MASK_SHIFT  0            /* lowest bit of ctx_core_mask */
#define SPINDLE_HPU_CTX_CORE_MASK_RESET  0xffffffffu  /* value after reset */
#define SPINDLE_HPU_CTX_USER_HEADER      0x070u       /* rw, stage: bytes of user header, 0 = none */
#define SPINDLE_HPU_CTX_USER_HEADER_MASK 0x0000007fu  /* bytes of user header, 0 = none */
#define SPINDLE_HPU_CTX_USER_HEADER_SHIFT 0            /* lowest bit of ctx_user_header */
#define SPINDLE_HPU_CTX_PROCESS          0x074u       /* rw, stage: process whose event ring gets the events */
#define SPINDLE_HPU_CTX_PROCESS_MASK     0x0000003fu  /* process whose event ring gets the events */
#define SPINDLE_HPU_CTX_PROCESS_SHIFT    0            /* lowest bit of ctx_process */
#define SPINDLE_HPU_CTX_TASK             0x078u       /* rw, stage: entry point of the task handler, 0 = none */
#define SPINDLE_HPU_TASKS_DONE           0x100u       /* ro, counter: tasks ended, faults included */
#define SPINDLE_HPU_TASKS_FAULTED        0x104u       /* ro, counter: tasks ended by a fault or the watchdog */
/* ro, counter: cycles in a handler, summed over all HPUs, low half */
#define SPINDLE_HPU_BUSY_LO              0x108u
#define SPINDLE_HPU_BUSY_HI              0x10cu       /* ro, counter: cycles in a handler, high half */
#define SPINDLE_HPU_INSTRET_LO           0x110u       /* ro, counter: instructions retired by all HPUs, low half */
#define SPINDLE_HPU_INSTRET_HI           0x114u       /* ro, counter: instructions retired by all HPUs, high half */
#define SPINDLE_HPU_COMMANDS             0x118u       /* ro, counter: commands issued */
/* ro, status: puts of context memory and reliable puts of packets */
#define SPINDLE_HPU_CONTEXT_PUTS         0x11cu
/* puts of context memory and reliable puts of packets under way */
#define SPINDLE_HPU_CONTEXT_PUTS_UNDER_WAY_MASK 0x000000ffu
#define SPINDLE_HPU_CONTEXT_PUTS_UNDER_WAY_SHIFT 0            /* lowest bit of under_way */
#define SPINDLE_HPU_CONTEXT_PUTS_WAITING_MASK 0x00000100u  /* commands wait that may be such puts */
#define SPINDLE_HPU_CONTEXT_PUTS_WAITING_SHIFT 8            /* lowest bit of waiting */
/* ro, status: fault reports waiting, at most 16; with a full queue, new reports are counted in FAULT_LOST */
#define SPINDLE_HPU_FAULT_COUNT          0x140u
/* fault reports waiting, at most 16; with a full queue, new reports are counted in FAULT_LOST */
#define SPINDLE_HPU_FAULT_COUNT_MASK     0x000000ffu
#define SPINDLE_HPU_FAULT_COUNT_SHIFT    0            /* lowest bit of fault_count */
#define SPINDLE_HPU_FAULT_LOST           0x144u       /* ro, counter: fault reports that found the queue full */
#define SPINDLE_HPU_FAULT_WHO            0x148u       /* ro, status: origin of the oldest report */
#define SPINDLE_HPU_FAULT_WHO_CAUSE_MASK 0x0000000fu  /* fault cause */
#define SPINDLE_HPU_FAULT_WHO_CAUSE_SHIFT 0            /* lowest bit of cause */
#define SPINDLE_HPU_FAULT_WHO_CONTEXT_MASK 0x000000f0u  /* execution context */
#define SPINDLE_HPU_FAULT_WHO_CONTEXT_SHIFT 4            /* lowest bit of context */
#define SPINDLE_HPU_FAULT_WHO_HPU_MASK   0x0000ff00u  /* HPU of the cluster */
#define SPINDLE_HPU_FAULT_WHO_HPU_SHIFT  8            /* lowest bit of hpu */
#define SPINDLE_HPU_FAULT_WHO_CLUSTER_MASK 0x00ff0000u  /* cluster */
#define SPINDLE_HPU_FAULT_WHO_CLUSTER_SHIFT 16           /* lowest bit of cluster */
#define SPINDLE_HPU_FAULT_WHO_MSG_SLOT_MASK 0xff000000u  /* message slot */
#define SPINDLE_HPU_FAULT_WHO_MSG_SLOT_SHIFT 24           /* lowest bit of msg_slot */
#define SPINDLE_HPU_FAULT_PC             0x14cu       /* ro, status: program counter of the oldest report */
#define SPINDLE_HPU_FAULT_ADDRESS        0x150u       /* ro, status: address of the access of the oldest report */
#define SPINDLE_HPU_FAULT_FRAME          0x154u       /* ro, status: packet of the oldest report */
#define SPINDLE_HPU_FAULT_FRAME_FRAME_MASK 0x0000ffffu  /* frame */
#define SPINDLE_HPU_FAULT_FRAME_FRAME_SHIFT 0            /* lowest bit of frame */
#define SPINDLE_HPU_FAULT_FRAME_HANDLER_MASK 0x00030000u  /* kind of handler */
#define SPINDLE_HPU_FAULT_FRAME_HANDLER_SHIFT 16           /* lowest bit of handler */
#define SPINDLE_HPU_FAULT_POP            0x158u       /* wo, commit: removes the oldest report */
#define SPINDLE_HPU_PRINT_COUNT          0x160u       /* ro, status: pieces of text waiting, at most 64 */
#define SPINDLE_HPU_PRINT_COUNT_MASK     0x000000ffu  /* pieces of text waiting, at most 64 */
#define SPINDLE_HPU_PRINT_COUNT_SHIFT    0            /* lowest bit of print_count */
#define SPINDLE_HPU_PRINT_LOST           0x164u       /* ro, counter: pieces of text that found the queue full */
#define SPINDLE_HPU_PRINT_WHO            0x168u       /* ro, status: origin of the oldest piece */
#define SPINDLE_HPU_PRINT_WHO_CHARACTERS_MASK 0x0000000fu  /* characters */
#define SPINDLE_HPU_PRINT_WHO_CHARACTERS_SHIFT 0            /* lowest bit of characters */
#define SPINDLE_HPU_PRINT_WHO_CONTEXT_MASK 0x000000f0u  /* execution context */
#define SPINDLE_HPU_PRINT_WHO_CONTEXT_SHIFT 4            /* lowest bit of context */
#define SPINDLE_HPU_PRINT_WHO_HPU_MASK   0x0000ff00u  /* HPU of the cluster */
#define SPINDLE_HPU_PRINT_WHO_HPU_SHIFT  8            /* lowest bit of hpu */
#define SPINDLE_HPU_PRINT_WHO_CLUSTER_MASK 0x00ff0000u  /* cluster */
#define SPINDLE_HPU_PRINT_WHO_CLUSTER_SHIFT 16           /* lowest bit of cluster */
#define SPINDLE_HPU_PRINT_WHO_HANDLER_MASK 0x03000000u  /* kind of handler */
#define SPINDLE_HPU_PRINT_WHO_HANDLER_SHIFT 24           /* lowest bit of handler */
#define SPINDLE_HPU_PRINT_FRAME          0x16cu       /* ro, status: frame of the oldest piece */
#define SPINDLE_HPU_PRINT_FRAME_MASK     0x0000ffffu  /* frame of the oldest piece */
#define SPINDLE_HPU_PRINT_FRAME_SHIFT    0            /* lowest bit of print_frame */
/* ro, status: characters 0 to 3 of the oldest piece, the first in [7:0] */
#define SPINDLE_HPU_PRINT_LOW            0x170u
#define SPINDLE_HPU_PRINT_HIGH           0x174u       /* ro, status: characters 4 to 7 of the oldest piece */
#define SPINDLE_HPU_PRINT_POP            0x178u       /* wo, commit: removes the oldest piece */
/* ro, counter, 64 registers: cycles in a handler, per HPU (cluster * hpus + hpu), modulo 2^32 */
#define SPINDLE_HPU_HPU_BUSY             0x200u
#define SPINDLE_HPU_HPU_TASKS            0x300u       /* ro, counter, 64 registers: tasks ended, per HPU */
/* ro, counter, 16 registers: tasks of each context that have ended, faults included */
#define SPINDLE_HPU_CONTEXT_TASKS        0x400u
/* ro, counter, 16 registers: tasks of each context that were ended by a fault or the watchdog */
#define SPINDLE_HPU_CONTEXT_FAULTED      0x440u
/* ro, counter, 16 registers: cycles of the ended tasks of each context, from the first fetch to the end, low half */
#define SPINDLE_HPU_CONTEXT_CYCLES_LO    0x480u
/* ro, counter, 16 registers: cycles of the ended tasks of each context, high half */
#define SPINDLE_HPU_CONTEXT_CYCLES_HI    0x4c0u
/* ro, counter, 16 registers: instructions retired by the ended tasks of each context, low half */
#define SPINDLE_HPU_CONTEXT_INSTRET_LO   0x500u
/* ro, counter, 16 registers: instructions retired by the ended tasks of each context, high half */
#define SPINDLE_HPU_CONTEXT_INSTRET_HI   0x540u

/* RVMA engine: regions and counters. */
#define SPINDLE_RVMA_ID                  4            /* id in the block list */
#define SPINDLE_RVMA_BASE                0x03000u     /* address of the page */
#define SPINDLE_RVMA_CONTROL             0x000u       /* rw, control: completion order */
#define SPINDLE_RVMA_CONTROL_POSTED_MASK 0x00000001u  /* when a completion record is written */
#define SPINDLE_RVMA_CONTROL_POSTED_SHIFT 0            /* lowest bit of posted */
#define SPINDLE_RVMA_CONTROL_POSTED_WAIT_B 0            /* after the write responses of the data */
/* after the data were sent, without waiting for the responses */
#define SPINDLE_RVMA_CONTROL_POSTED_POSTED 1
/* rw, stage, 2 registers: host address of the first page of a region, low half, then high half; bits [11:0] are
   ignored */
#define SPINDLE_RVMA_REGION_FIRST        0x010u
/* rw, stage, 2 registers: host address of the last page of a region, likewise */
#define SPINDLE_RVMA_REGION_LAST         0x018u
/* wo, commit: writes the staged region; without a right the region is removed */
#define SPINDLE_RVMA_REGION_COMMIT       0x020u
#define SPINDLE_RVMA_REGION_COMMIT_REGION_MASK 0x0000000fu  /* number of the region */
#define SPINDLE_RVMA_REGION_COMMIT_REGION_SHIFT 0            /* lowest bit of region */
#define SPINDLE_RVMA_REGION_COMMIT_PROCESS_MASK 0x000003f0u  /* process */
#define SPINDLE_RVMA_REGION_COMMIT_PROCESS_SHIFT 4            /* lowest bit of process */
#define SPINDLE_RVMA_REGION_COMMIT_READABLE_MASK 0x40000000u  /* the card may read the region */
#define SPINDLE_RVMA_REGION_COMMIT_READABLE_SHIFT 30           /* lowest bit of readable */
#define SPINDLE_RVMA_REGION_COMMIT_WRITABLE_MASK 0x80000000u  /* the card may write the region */
#define SPINDLE_RVMA_REGION_COMMIT_WRITABLE_SHIFT 31           /* lowest bit of writable */
/* rw, control, 2 registers: bit p: process p may name any host memory, not only its regions */
#define SPINDLE_RVMA_UNCHECKED           0x028u
/* rw, control, 2 registers: bit p: process p may send frames (SEND_FRAME) */
#define SPINDLE_RVMA_SENDERS             0x030u
/* ro, counter: packets, and redirected ranges of packets, written to host memory */
#define SPINDLE_RVMA_PLACED_PACKETS      0x100u
#define SPINDLE_RVMA_PLACED_BYTES        0x104u       /* ro, counter: payload bytes written, modulo 2^32 */
#define SPINDLE_RVMA_COMPLETIONS         0x108u       /* ro, counter: completion records written */
/* ro, counter: packets and redirected ranges refused (the packet engine counts the reasons of packets) */
#define SPINDLE_RVMA_REFUSED             0x10cu
#define SPINDLE_RVMA_DMA_WRITES          0x110u       /* ro, counter: write bursts issued */
#define SPINDLE_RVMA_DMA_ERRORS          0x114u       /* ro, counter: write responses with an error */
#define SPINDLE_RVMA_MAILBOXES           0x118u       /* ro, counter: open mailboxes */
#define SPINDLE_RVMA_BUFFERS             0x11cu       /* ro, counter: buffers posted and not complete */
#define SPINDLE_RVMA_HANDLER_DMA         0x120u       /* ro, counter: DMA commands of handlers that ended */
#define SPINDLE_RVMA_DMA_READS           0x124u       /* ro, counter: read bursts issued */
#define SPINDLE_RVMA_READ_ERRORS         0x128u       /* ro, counter: read responses with an error */
#define SPINDLE_RVMA_EVENTS              0x12cu       /* ro, counter: event records written, for all processes */
#define SPINDLE_RVMA_EVENTS_LOST         0x130u       /* ro, counter: events that found their ring full or closed */
/* ro, counter: puts of processes that ended, including those that failed */
#define SPINDLE_RVMA_HOST_PUTS_DONE      0x134u
/* ro, counter: puts of processes to a node that does not exist, or whose data could not be read */
#define SPINDLE_RVMA_HOST_PUTS_FAILED    0x138u
/* ro, counter: frames of SEND_FRAME that were handed on to be read and sent */
#define SPINDLE_RVMA_HOST_FRAMES         0x13cu
/* ro, counter: of these, in their order, frames whose bytes have been read, or could not be read: the card does not
   read their memory any more */
#define SPINDLE_RVMA_HOST_FRAMES_READ    0x140u

/* Initiator: identity of this NIC, and the nodes that it sends puts and gets to. */
#define SPINDLE_NODE_ID                  6            /* id in the block list */
#define SPINDLE_NODE_BASE                0x04000u     /* address of the page */
#define SPINDLE_NODE_LOCAL_NID           0x000u       /* rw, control: number of this node */
#define SPINDLE_NODE_LOCAL_MAC_LO        0x004u       /* rw, control: MAC address of this node, low 32 bits */
#define SPINDLE_NODE_LOCAL_MAC_HI        0x008u       /* rw, control: MAC address of this node, high 16 bits */
#define SPINDLE_NODE_LOCAL_MAC_HI_MASK   0x0000ffffu  /* MAC address of this node, high 16 bits */
#define SPINDLE_NODE_LOCAL_MAC_HI_SHIFT  0            /* lowest bit of local_mac_hi */
#define SPINDLE_NODE_LOCAL_IP            0x00cu       /* rw, control: IPv4 address of this node */
#define SPINDLE_NODE_NODE_MAC_LO         0x010u       /* rw, stage: MAC address of a node, low 32 bits */
#define SPINDLE_NODE_NODE_MAC_HI         0x014u       /* rw, stage: MAC address of a node, high 16 bits */
#define SPINDLE_NODE_NODE_MAC_HI_MASK    0x0000ffffu  /* MAC address of a node, high 16 bits */
#define SPINDLE_NODE_NODE_MAC_HI_SHIFT   0            /* lowest bit of node_mac_hi */
#define SPINDLE_NODE_NODE_IP             0x018u       /* rw, stage: IPv4 address of a node */
#define SPINDLE_NODE_NODE_PORT           0x01cu       /* rw, stage: UDP port of a node */
#define SPINDLE_NODE_NODE_PORT_PORT_MASK 0x0000ffffu  /* UDP port */
#define SPINDLE_NODE_NODE_PORT_PORT_SHIFT 0            /* lowest bit of port */
#define SPINDLE_NODE_NODE_PORT_USE_ICRC_MASK 0x00010000u  /* Spindle packets to the node have the ICRC */
#define SPINDLE_NODE_NODE_PORT_USE_ICRC_SHIFT 16           /* lowest bit of use_icrc */
/* Spindle packets of the node that have no ICRC are dropped */
#define SPINDLE_NODE_NODE_PORT_REQUIRE_ICRC_MASK 0x00020000u
#define SPINDLE_NODE_NODE_PORT_REQUIRE_ICRC_SHIFT 17           /* lowest bit of require_icrc */
#define SPINDLE_NODE_NODE_PORT_PRESENT_MASK 0x80000000u  /* the node exists */
#define SPINDLE_NODE_NODE_PORT_PRESENT_SHIFT 31           /* lowest bit of present */
/* wo, commit: writes the staged node to the table; the number written is the node's number */
#define SPINDLE_NODE_NODE_COMMIT         0x020u
#define SPINDLE_NODE_NODE_COMMIT_NODE_MASK 0xffffffffu  /* node */
#define SPINDLE_NODE_NODE_COMMIT_NODE_SHIFT 0            /* lowest bit of node */
#define SPINDLE_NODE_ACK_CONTROL         0x030u       /* rw, control: acknowledgements and refusals */
/* the sources of packets get acknowledgements and refusals */
#define SPINDLE_NODE_ACK_CONTROL_RESPOND_MASK 0x00000001u
#define SPINDLE_NODE_ACK_CONTROL_RESPOND_SHIFT 0            /* lowest bit of respond */
/* accepted packets of a source for which an acknowledgement is due */
#define SPINDLE_NODE_ACK_CONTROL_ACK_EVERY_MASK 0x00003f00u
#define SPINDLE_NODE_ACK_CONTROL_ACK_EVERY_SHIFT 8            /* lowest bit of ack_every */
/* least time between two refusals to one source, in units of 64 cycles */
#define SPINDLE_NODE_ACK_CONTROL_NACK_GAP_MASK 0xffff0000u
#define SPINDLE_NODE_ACK_CONTROL_NACK_GAP_SHIFT 16           /* lowest bit of nack_gap */
#define SPINDLE_NODE_ACK_CONTROL_RESET   0x00100400u  /* value after reset */
#define SPINDLE_NODE_SEND_CONTROL        0x034u       /* rw, control: sequenced sending */
/* puts from host memory and gets without the flag UNSEQ carry sequence numbers and are sent again until they are
   acknowledged */
#define SPINDLE_NODE_SEND_CONTROL_SEQUENCED_MASK 0x00000001u
#define SPINDLE_NODE_SEND_CONTROL_SEQUENCED_SHIFT 0            /* lowest bit of sequenced */
/* timeouts in a row after which a destination is given up */
#define SPINDLE_NODE_SEND_CONTROL_RETRIES_MASK 0x00000f00u
#define SPINDLE_NODE_SEND_CONTROL_RETRIES_SHIFT 8            /* lowest bit of retries */
#define SPINDLE_NODE_SEND_CONTROL_RESET  0x00000800u  /* value after reset */
#define SPINDLE_NODE_SEND_TIMES          0x038u       /* rw, control: times of retransmission, in units of 64 cycles */
/* time without an acknowledgement after which segments are sent again */
#define SPINDLE_NODE_SEND_TIMES_TIMEOUT_MASK 0x0000ffffu
#define SPINDLE_NODE_SEND_TIMES_TIMEOUT_SHIFT 0            /* lowest bit of timeout */
/* time after which a segment is sent again if a later one has arrived */
#define SPINDLE_NODE_SEND_TIMES_HOLE_TIME_MASK 0xffff0000u
#define SPINDLE_NODE_SEND_TIMES_HOLE_TIME_SHIFT 16           /* lowest bit of hole_time */
#define SPINDLE_NODE_SEND_TIMES_RESET    0x00300400u  /* value after reset */
/* rw, control: incarnation of the windows that this node opens; with 0 the first window to a node is not opened */
#define SPINDLE_NODE_SEND_INCARNATION    0x03cu
/* rw, control: age, in units of 1024 cycles, at most 32767, from which a put or get fails if its mailbox is busy or
   has no buffer; 0: no limit. Holds for puts and gets that begin after the write */
#define SPINDLE_NODE_SEND_LIMIT          0x040u
/* age, in units of 1024 cycles, at most 32767, from which a put or get fails if its mailbox is busy or has no
   buffer; 0: no limit. Holds for puts and gets that begin after the write */
#define SPINDLE_NODE_SEND_LIMIT_MASK     0x0000ffffu
#define SPINDLE_NODE_SEND_LIMIT_SHIFT    0            /* lowest bit of send_limit */
#define SPINDLE_NODE_CONGESTION          0x044u       /* rw, control: congestion control */
/* what is in flight to a destination stays within its window, and sequenced packets leave as ECN-capable */
#define SPINDLE_NODE_CONGESTION_OBEY_MARKS_MASK 0x00000001u
#define SPINDLE_NODE_CONGESTION_OBEY_MARKS_SHIFT 0            /* lowest bit of obey_marks */
/* a marked packet takes 2^-shrink of a segment from the window of its destination */
#define SPINDLE_NODE_CONGESTION_SHRINK_MASK 0x00000030u
#define SPINDLE_NODE_CONGESTION_SHRINK_SHIFT 4            /* lowest bit of shrink */
#define SPINDLE_NODE_CONGESTION_RESET    0x00000010u  /* value after reset */
#define SPINDLE_NODE_CONGESTION_WINDOW   0x048u       /* rw, control: congestion windows, in segments */
#define SPINDLE_NODE_CONGESTION_WINDOW_LEAST_MASK 0x000003ffu  /* smallest window, at least 1 */
#define SPINDLE_NODE_CONGESTION_WINDOW_LEAST_SHIFT 0            /* lowest bit of least */
#define SPINDLE_NODE_CONGESTION_WINDOW_FIRST_MASK 0x000ffc00u  /* window of a path that was not used yet */
#define SPINDLE_NODE_CONGESTION_WINDOW_FIRST_SHIFT 10           /* lowest bit of first */
#define SPINDLE_NODE_CONGESTION_WINDOW_MOST_MASK 0x3ff00000u  /* largest window */
#define SPINDLE_NODE_CONGESTION_WINDOW_MOST_SHIFT 20           /* lowest bit of most */
#define SPINDLE_NODE_CONGESTION_WINDOW_RESET 0x3ff08002u  /* value after reset */
#define SPINDLE_NODE_SEND_TURNS          0x04cu       /* rw, control: turns of puts */
/* sequenced puts, at most 64, that are sent in turns, a segment each; with 1 a put is sent to its end first */
#define SPINDLE_NODE_SEND_TURNS_PUTS_MASK 0x0000007fu
#define SPINDLE_NODE_SEND_TURNS_PUTS_SHIFT 0            /* lowest bit of puts */
#define SPINDLE_NODE_SEND_TURNS_RESET    0x00000001u  /* value after reset */
#define SPINDLE_NODE_PUTS_DONE           0x100u       /* ro, counter: puts and gets sent */
/* ro, counter: puts and gets to a node that does not exist, or whose data could not be read */
#define SPINDLE_NODE_PUTS_FAILED         0x104u
#define SPINDLE_NODE_ACKS_SENT           0x108u       /* ro, counter: acknowledgements sent */
#define SPINDLE_NODE_NACKS_SENT          0x10cu       /* ro, counter: refusals sent */
/* ro, counter: refusals that were not sent, because the source had one recently or too many waited */
#define SPINDLE_NODE_NACKS_WITHHELD      0x110u
#define SPINDLE_NODE_SEGMENTS_RESENT     0x114u       /* ro, counter: segments that were sent again */
/* ro, status: the latest refusal of a put or get of a process that is not complete; 0: no refusal since reset */
#define SPINDLE_NODE_LAST_REFUSAL        0x118u
#define SPINDLE_NODE_LAST_REFUSAL_NUMBER_MASK 0x0000ffffu  /* number of the put or get */
#define SPINDLE_NODE_LAST_REFUSAL_NUMBER_SHIFT 0            /* lowest bit of number */
#define SPINDLE_NODE_LAST_REFUSAL_CODE_MASK 0x00ff0000u  /* code of the refusal (wire::nack) */
#define SPINDLE_NODE_LAST_REFUSAL_CODE_SHIFT 16           /* lowest bit of code */
/* ro, counter: frames of SEND_PACKET with the flag CHECKSUM that left without a transport checksum: unchanged if
   they are no whole IPv4 packet without options, else with the header checksum */
#define SPINDLE_NODE_SENDS_UNSUMMED      0x120u

/* Trace ring: the cycles in which sampled packets passed each stage. */
#define SPINDLE_TRACE_ID                 7            /* id in the block list */
#define SPINDLE_TRACE_BASE               0x05000u     /* address of the page */
#define SPINDLE_TRACE_CONTROL            0x000u       /* rw, control: recording */
#define SPINDLE_TRACE_CONTROL_FOLLOW_MASK 0x00000001u  /* packets are followed; a rising edge empties the ring */
#define SPINDLE_TRACE_CONTROL_FOLLOW_SHIFT 0            /* lowest bit of follow */
#define SPINDLE_TRACE_CONTROL_FREEZE_MASK 0x00000002u  /* nothing is recorded */
#define SPINDLE_TRACE_CONTROL_FREEZE_SHIFT 1            /* lowest bit of freeze */
/* rw, control: a packet is followed if its frame number has zeros where the mask has ones; 2^n - 1 selects every
   2^n-th packet. A packet is followed until the next selected packet arrives */
#define SPINDLE_TRACE_SAMPLE_MASK        0x004u
/* a packet is followed if its frame number has zeros where the mask has ones; 2^n - 1 selects every 2^n-th packet. A
   packet is followed until the next selected packet arrives */
#define SPINDLE_TRACE_SAMPLE_MASK_MASK   0x0000ffffu
#define SPINDLE_TRACE_SAMPLE_MASK_SHIFT  0            /* lowest bit of sample_mask */
/* ro, status: records written since the ring was emptied; beyond 512, new records overwrite the oldest */
#define SPINDLE_TRACE_WRITTEN            0x008u
/* rw, control: record to be read: record r since the ring was emptied is at r modulo 512 */
#define SPINDLE_TRACE_INDEX              0x00cu
/* record to be read: record r since the ring was emptied is at r modulo 512 */
#define SPINDLE_TRACE_INDEX_MASK         0x000001ffu
#define SPINDLE_TRACE_INDEX_SHIFT        0            /* lowest bit of index */
#define SPINDLE_TRACE_RECORD_CYCLE       0x010u       /* ro, status: cycle of the record, low half, as CYCLE_LO */
#define SPINDLE_TRACE_RECORD_STAGES      0x014u       /* ro, status: frame and stages of the record */
#define SPINDLE_TRACE_RECORD_STAGES_FRAME_MASK 0x0000ffffu  /* frame sequence number */
#define SPINDLE_TRACE_RECORD_STAGES_FRAME_SHIFT 0            /* lowest bit of frame */
/* stages that the frame passed in that cycle, one bit per number */
#define SPINDLE_TRACE_RECORD_STAGES_STAGES_MASK 0xffff0000u
#define SPINDLE_TRACE_RECORD_STAGES_STAGES_SHIFT 16           /* lowest bit of stages */
/* ro, status: HPU (cluster * hpus + hpu) of stages 5 to 8 of the record */
#define SPINDLE_TRACE_RECORD_HPU         0x018u
#define SPINDLE_TRACE_RECORD_HPU_MASK    0x0000001fu  /* HPU (cluster * hpus + hpu) of stages 5 to 8 of the record */
#define SPINDLE_TRACE_RECORD_HPU_SHIFT   0            /* lowest bit of record_hpu */

/* Doorbell page of process 0; the page of process p is p * 0x1000 further. */
#define SPINDLE_DOORBELL_ID              5            /* id in the block list */
#define SPINDLE_DOORBELL_BASE            0x10000u     /* address of the page */
#define SPINDLE_DOORBELL_ADDR_LO         0x000u       /* rw, stage: mailbox address, low half */
#define SPINDLE_DOORBELL_ADDR_HI         0x004u       /* rw, stage: mailbox address, high half */
#define SPINDLE_DOORBELL_KEY             0x008u       /* rw, stage: mailbox key */
/* rw, stage: amount that completes a buffer: bytes, or operations; MANAGED: the buffer retires when fewer bytes than
   the threshold are left */
#define SPINDLE_DOORBELL_THRESHOLD       0x00cu
/* rw, stage: kind of mailbox; with PUT, TAGGED and MANAGED of the target */
#define SPINDLE_DOORBELL_MODE            0x010u
/* the threshold counts operations: messages whose bytes have all arrived */
#define SPINDLE_DOORBELL_MODE_OPS_MASK   0x00000001u
#define SPINDLE_DOORBELL_MODE_OPS_SHIFT  0            /* lowest bit of ops */
/* packets name their epoch, one of the oldest four buffers that are not complete; an eighth of the mailboxes can be
   TAGGED */
#define SPINDLE_DOORBELL_MODE_TAGGED_MASK 0x00000002u
#define SPINDLE_DOORBELL_MODE_TAGGED_SHIFT 1            /* lowest bit of tagged */
/* the receiver chooses the offset: messages lie one after another. Excludes OPS; with TAGGED the mailbox is a stream */
#define SPINDLE_DOORBELL_MODE_MANAGED_MASK 0x00000004u
#define SPINDLE_DOORBELL_MODE_MANAGED_SHIFT 2            /* lowest bit of managed */
#define SPINDLE_DOORBELL_MODE_NACK_OFF_MASK 0x00000008u  /* no NACK is sent for packets that are refused */
#define SPINDLE_DOORBELL_MODE_NACK_OFF_SHIFT 3            /* lowest bit of nack_off */
#define SPINDLE_DOORBELL_MODE_DROP_MASK  0x00000010u  /* no NACK is sent for packets that find no buffer */
#define SPINDLE_DOORBELL_MODE_DROP_SHIFT 4            /* lowest bit of drop */
/* packets that find no buffer go to the catch-all mailbox of the process, if there is one, with their header first */
#define SPINDLE_DOORBELL_MODE_SPILL_MASK 0x00000020u
#define SPINDLE_DOORBELL_MODE_SPILL_SHIFT 5            /* lowest bit of spill */
/* this MANAGED mailbox is the catch-all of its process: it also gets the packets for which there is no mailbox */
#define SPINDLE_DOORBELL_MODE_CATCH_ALL_MASK 0x00000040u
#define SPINDLE_DOORBELL_MODE_CATCH_ALL_SHIFT 6            /* lowest bit of catch_all */
/* this mailbox takes whole frames, in multiples of 64 bytes, and nothing else (packet.HOST_WINDOW); with MANAGED and
   NACK_OFF only */
#define SPINDLE_DOORBELL_MODE_FRAMES_MASK 0x00000080u
#define SPINDLE_DOORBELL_MODE_FRAMES_SHIFT 7            /* lowest bit of frames */
/* a buffer that is complete is reported in the event ring of the process (events::BUFFER), after its record */
#define SPINDLE_DOORBELL_MODE_EVENT_MASK 0x00000100u
#define SPINDLE_DOORBELL_MODE_EVENT_SHIFT 8            /* lowest bit of event */
#define SPINDLE_DOORBELL_BUFFER_LO       0x014u       /* rw, stage: host address of the buffer, low half */
#define SPINDLE_DOORBELL_BUFFER_HI       0x018u       /* rw, stage: host address of the buffer, high half */
#define SPINDLE_DOORBELL_SIZE            0x01cu       /* rw, stage: bytes of the buffer */
/* rw, stage: host address of the completion record (16-aligned), low half */
#define SPINDLE_DOORBELL_RECORD_LO       0x020u
#define SPINDLE_DOORBELL_RECORD_HI       0x024u       /* rw, stage: host address of the completion record, high half */
/* rw, stage: mailbox that POST_BUFFER and later commands act on */
#define SPINDLE_DOORBELL_MAILBOX         0x028u
/* rw, stage: REWIND, GET_BUF_PTRS: completed buffers to go back; PUT to a TAGGED mailbox: the epoch [15:0], to a
   stream: the ordinal; GET: bit 0 = from the oldest buffer that is not complete; receive maps: see POST_MAPPED,
   READ_MAP, FREE_MAP */
#define SPINDLE_DOORBELL_COUNT           0x02cu
/* wo, commit: issues a command (doorbell_command); the staged registers must keep their values until RESULT is not
   busy */
#define SPINDLE_DOORBELL_COMMAND         0x030u
#define SPINDLE_DOORBELL_RESULT          0x034u       /* ro, status: result of the command */
/* number that the command returns: INIT_WINDOW the mailbox, PUT and GET their number, POST_MAPPED the map */
#define SPINDLE_DOORBELL_RESULT_VALUE_MASK 0x0000ffffu
#define SPINDLE_DOORBELL_RESULT_VALUE_SHIFT 0            /* lowest bit of value */
#define SPINDLE_DOORBELL_RESULT_ERROR_MASK 0x00ff0000u  /* error (doorbell_error) */
#define SPINDLE_DOORBELL_RESULT_ERROR_SHIFT 16           /* lowest bit of error */
#define SPINDLE_DOORBELL_RESULT_BUSY_MASK 0x80000000u  /* the command is under way */
#define SPINDLE_DOORBELL_RESULT_BUSY_SHIFT 31           /* lowest bit of busy */
/* ro, status: 64-bit result (epoch, pointer, word of a map), low half */
#define SPINDLE_DOORBELL_VALUE_LO        0x038u
#define SPINDLE_DOORBELL_VALUE_HI        0x03cu       /* ro, status: 64-bit result, high half */
/* rw, trigger: commands that the host has put into its command ring, modulo 2^16; takes effect at once, and restarts
   a ring that has stopped */
#define SPINDLE_DOORBELL_RING_TAIL       0x04cu
/* commands that the host has put into its command ring, modulo 2^16; takes effect at once, and restarts a ring that
   has stopped */
#define SPINDLE_DOORBELL_RING_TAIL_MASK  0x0000ffffu
#define SPINDLE_DOORBELL_RING_TAIL_SHIFT 0            /* lowest bit of ring_tail */
/* rw, stage: bytes of a put or get; 0: an empty put, which names no memory */
#define SPINDLE_DOORBELL_LENGTH          0x050u
#define SPINDLE_DOORBELL_OFFSET          0x054u       /* rw, stage: offset in the target buffer */
#define SPINDLE_DOORBELL_NODE            0x058u       /* rw, stage: target node */
#define SPINDLE_DOORBELL_TARGET_PID      0x05cu       /* rw, stage: target process */
/* rw, trigger: records that the host has read from its event ring, modulo 2^16; takes effect at once */
#define SPINDLE_DOORBELL_EVENT_HEAD      0x060u
/* records that the host has read from its event ring, modulo 2^16; takes effect at once */
#define SPINDLE_DOORBELL_EVENT_HEAD_MASK 0x0000ffffu
#define SPINDLE_DOORBELL_EVENT_HEAD_SHIFT 0            /* lowest bit of event_head */
/* one interrupt for the records after these, as IRQ describes; at once if there is such a record already */
#define SPINDLE_DOORBELL_EVENT_HEAD_ARM_MASK 0x80000000u
#define SPINDLE_DOORBELL_EVENT_HEAD_ARM_SHIFT 31           /* lowest bit of arm */
#define SPINDLE_DOORBELL_VALUE_LENGTH    0x064u       /* ro, status: bytes placed in the buffer that VALUE points to */
#define SPINDLE_DOORBELL_RING_DONE       0x068u       /* ro, status: command ring */
#define SPINDLE_DOORBELL_RING_DONE_DONE_MASK 0x0000ffffu  /* commands carried out, modulo 2^16 */
#define SPINDLE_DOORBELL_RING_DONE_DONE_SHIFT 0            /* lowest bit of done */
/* if not 0, the next command cannot be carried out for this reason (doorbell_error), and the ring has stopped */
#define SPINDLE_DOORBELL_RING_DONE_ERROR_MASK 0x00ff0000u
#define SPINDLE_DOORBELL_RING_DONE_ERROR_SHIFT 16           /* lowest bit of error */
/* rw, trigger: moderation of the interrupt that EVENT_HEAD arms; 0 after reset */
#define SPINDLE_DOORBELL_IRQ             0x06cu
#define SPINDLE_DOORBELL_IRQ_EVENTS_MASK 0x0000ff00u  /* unread records that request the interrupt; 0 as 1 */
#define SPINDLE_DOORBELL_IRQ_EVENTS_SHIFT 8            /* lowest bit of events */
/* time from the first unread record to the interrupt, in units of 64 cycles; 0: no limit */
#define SPINDLE_DOORBELL_IRQ_TIME_MASK   0x7fff0000u
#define SPINDLE_DOORBELL_IRQ_TIME_SHIFT  16           /* lowest bit of time */
#define SPINDLE_DOORBELL_IRQ_ENABLE_MASK 0x80000000u  /* interrupts are requested */
#define SPINDLE_DOORBELL_IRQ_ENABLE_SHIFT 31           /* lowest bit of enable */
/* rw, trigger: a write of any value makes the card read the shadow line of the process (shadow), and take RING_TAIL
   and EVENT_HEAD from it. Kicks that come before the line is read are one */
#define SPINDLE_DOORBELL_KICK            0x070u

/* Shell of a board: what was built, the state of the links, what the shell counts. Only cards whose global.SHELL names the page have it. RESET does not reset the page; a reset of PCIe does. */
#define SPINDLE_SHELL_ID                 8            /* id in the block list */
#define SPINDLE_SHELL_BASE               0x0f000u     /* address of the page */
#define SPINDLE_SHELL_REVISION           0x000u       /* ro, status: version of this page, 1 */
#define SPINDLE_SHELL_BOARD              0x004u       /* ro, status: board */
#define SPINDLE_SHELL_BOARD_MASK         0x0000ffffu  /* number of the board, which is its PCI subsystem id */
#define SPINDLE_SHELL_BOARD_SHIFT        0            /* lowest bit of board */
#define SPINDLE_SHELL_BUILD              0x008u       /* ro, status: what was built */
#define SPINDLE_SHELL_BUILD_CONFIGURATION_MASK 0x0000000fu  /* configuration of the NIC */
#define SPINDLE_SHELL_BUILD_CONFIGURATION_SHIFT 0            /* lowest bit of configuration */
#define SPINDLE_SHELL_BUILD_CONFIGURATION_CUSTOM 0            /* none of the named ones */
#define SPINDLE_SHELL_BUILD_CONFIGURATION_SIM 1            /* sim */
#define SPINDLE_SHELL_BUILD_CONFIGURATION_KINTEX7 2            /* kintex7 */
#define SPINDLE_SHELL_BUILD_CONFIGURATION_ALVEO 3            /* alveo */
#define SPINDLE_SHELL_BUILD_CONFIGURATION_ALVEO32 4            /* alveo32 */
#define SPINDLE_SHELL_BUILD_MACS_MASK    0x000000f0u  /* MACs */
#define SPINDLE_SHELL_BUILD_MACS_SHIFT   4            /* lowest bit of macs */
#define SPINDLE_SHELL_BUILD_DIVIDER_MASK 0x00000f00u  /* cycles of the PCIe clock in a cycle of the core */
#define SPINDLE_SHELL_BUILD_DIVIDER_SHIFT 8            /* lowest bit of divider */
#define SPINDLE_SHELL_BUILD_RSFEC_MASK   0x00001000u  /* the MACs use RS-FEC */
#define SPINDLE_SHELL_BUILD_RSFEC_SHIFT  12           /* lowest bit of rsfec */
#define SPINDLE_SHELL_BUILD_PAUSE_MASK   0x00002000u  /* the MACs send pause frames */
#define SPINDLE_SHELL_BUILD_PAUSE_SHIFT  13           /* lowest bit of pause */
#define SPINDLE_SHELL_BUILD_MODIFIED_MASK 0x00004000u  /* the checkout had changes that GIT does not name */
#define SPINDLE_SHELL_BUILD_MODIFIED_SHIFT 14           /* lowest bit of modified */
#define SPINDLE_SHELL_BUILD_DNA_BITS_MASK 0x00ff0000u  /* bits of the device's DNA */
#define SPINDLE_SHELL_BUILD_DNA_BITS_SHIFT 16           /* lowest bit of dna_bits */
#define SPINDLE_SHELL_MAC_RATE           0x00cu       /* ro, status: rate of a MAC */
#define SPINDLE_SHELL_MAC_RATE_GBPS_MASK 0x0000ffffu  /* Gbit/s */
#define SPINDLE_SHELL_MAC_RATE_GBPS_SHIFT 0            /* lowest bit of gbps */
/* ro, status, 5 registers: hash of the commit, 8 digits a word, the first ones in word 0 */
#define SPINDLE_SHELL_GIT                0x010u
/* ro, status, 3 registers: DNA of the device, the lowest bits in word 0; valid with dna_valid */
#define SPINDLE_SHELL_DNA                0x024u
#define SPINDLE_SHELL_PCIE               0x030u       /* ro, status: PCIe */
#define SPINDLE_SHELL_PCIE_UP_MASK       0x00000001u  /* the link is up */
#define SPINDLE_SHELL_PCIE_UP_SHIFT      0            /* lowest bit of up */
#define SPINDLE_SHELL_PCIE_MSIX_MASK     0x00000002u  /* the host has enabled MSI-X */
#define SPINDLE_SHELL_PCIE_MSIX_SHIFT    1            /* lowest bit of msix */
#define SPINDLE_SHELL_PCIE_VECTORS_SET_MASK 0x00000004u  /* the vector map of the bridge was written and reads back */
#define SPINDLE_SHELL_PCIE_VECTORS_SET_SHIFT 2            /* lowest bit of vectors_set */
/* the vector map of the bridge could not be written, or does not read back */
#define SPINDLE_SHELL_PCIE_VECTORS_FAILED_MASK 0x00000008u
#define SPINDLE_SHELL_PCIE_VECTORS_FAILED_SHIFT 3            /* lowest bit of vectors_failed */
#define SPINDLE_SHELL_PCIE_DNA_VALID_MASK 0x00000010u  /* DNA has been read */
#define SPINDLE_SHELL_PCIE_DNA_VALID_SHIFT 4            /* lowest bit of dna_valid */
#define SPINDLE_SHELL_PCIE_LTSSM_MASK    0x00003f00u  /* state of the link as the PCIe block numbers it */
#define SPINDLE_SHELL_PCIE_LTSSM_SHIFT   8            /* lowest bit of ltssm */
#define SPINDLE_SHELL_IRQ_PENDING        0x034u       /* ro, status: interrupts */
#define SPINDLE_SHELL_IRQ_PENDING_MASK   0x0000ffffu  /* requests that wait for the PCIe block, a bit per vector */
#define SPINDLE_SHELL_IRQ_PENDING_SHIFT  0            /* lowest bit of irq_pending */
/* ro, counter: bursts to addresses of host memory that the bridge cannot reach, answered with an error */
#define SPINDLE_SHELL_HOST_REFUSED       0x038u
/* ro, counter: bursts that were answered with an error because the link was down */
#define SPINDLE_SHELL_HOST_ABANDONED     0x03cu
/* ro, counter: register accesses that the shell ended because the NIC did not answer */
#define SPINDLE_SHELL_BAR_SILENT         0x040u
/* ro, counter: times the link went down without a reset of PCIe */
#define SPINDLE_SHELL_LINK_LOSSES        0x044u
#define SPINDLE_SHELL_IDENTIFY           0x048u       /* rw, control: for people who look for the board */
#define SPINDLE_SHELL_IDENTIFY_MASK      0x00000001u  /* the LEDs blink */
#define SPINDLE_SHELL_IDENTIFY_SHIFT     0            /* lowest bit of identify */
#define SPINDLE_SHELL_MAC                0x050u       /* ro, status, 2 registers: MAC */
#define SPINDLE_SHELL_MAC_UP_MASK        0x00000001u  /* frames can pass in both directions */
#define SPINDLE_SHELL_MAC_UP_SHIFT       0            /* lowest bit of up */
#define SPINDLE_SHELL_MAC_ALIGNED_MASK   0x00000002u  /* the receiver is aligned, or has block lock */
#define SPINDLE_SHELL_MAC_ALIGNED_SHIFT  1            /* lowest bit of aligned */
#define SPINDLE_SHELL_MAC_LOCAL_FAULT_MASK 0x00000004u  /* the receiver reports a local fault */
#define SPINDLE_SHELL_MAC_LOCAL_FAULT_SHIFT 2            /* lowest bit of local_fault */
#define SPINDLE_SHELL_MAC_REMOTE_FAULT_MASK 0x00000008u  /* the other end reports a fault */
#define SPINDLE_SHELL_MAC_REMOTE_FAULT_SHIFT 3            /* lowest bit of remote_fault */
#define SPINDLE_SHELL_MAC_HIGH_ERRORS_MASK 0x00000010u  /* the receiver reports a high rate of bit errors */
#define SPINDLE_SHELL_MAC_HIGH_ERRORS_SHIFT 4            /* lowest bit of high_errors */
/* the MAC's clock, that of its receiver or of its transmitter, stands still; the other bits are 0 meanwhile */
#define SPINDLE_SHELL_MAC_CLOCK_STOPPED_MASK 0x00000020u
#define SPINDLE_SHELL_MAC_CLOCK_STOPPED_SHIFT 5            /* lowest bit of clock_stopped */
#define SPINDLE_SHELL_MAC_LOSSES         0x058u       /* ro, counter, 2 registers: times `up` of a MAC fell */
/* ro, counter, 2 registers: frames that the shell dropped because its receive FIFO was full */
#define SPINDLE_SHELL_RX_OVERFLOW        0x060u
#define SPINDLE_SHELL_RX_BAD             0x068u       /* ro, counter, 2 registers: frames that a MAC marked as bad */
/* ro, counter, 2 registers: frames that a MAC did not send whole */
#define SPINDLE_SHELL_TX_FAILED          0x070u

/* Commands: values of SPINDLE_DOORBELL_COMMAND. */
/* opens a mailbox: ADDR, KEY, THRESHOLD, MODE; RESULT has the number of the mailbox */
#define SPINDLE_COMMAND_INIT_WINDOW      1
#define SPINDLE_COMMAND_POST_BUFFER      2            /* posts a buffer: MAILBOX, BUFFER, SIZE, RECORD */
/* closes a mailbox: MAILBOX; its buffers are returned as CANCELLED */
#define SPINDLE_COMMAND_CLOSE            3
/* takes back the oldest buffer that is not complete, as PARTIAL: MAILBOX */
#define SPINDLE_COMMAND_INC_EPOCH        4
/* reads the epoch, the ordinal of the oldest buffer that is not complete: MAILBOX; VALUE has the epoch */
#define SPINDLE_COMMAND_GET_EPOCH        5
/* reads the pointer of a completed buffer: MAILBOX, COUNT (0 = the last, 1 = the one before); VALUE, VALUE_LENGTH */
#define SPINDLE_COMMAND_GET_BUF_PTRS     6
/* as GET_BUF_PTRS; the buffers that were completed after that one are forgotten */
#define SPINDLE_COMMAND_REWIND           7
/* names the shadow line of the process (shadow), which KICK reads: BUFFER (64-aligned), SIZE 64; SIZE 0: none */
#define SPINDLE_COMMAND_OPEN_SHADOW      8
/* puts host memory into a remote mailbox: BUFFER, LENGTH, NODE, TARGET_PID, ADDR, KEY, OFFSET, MODE, COUNT; RESULT
   has the number of the put or get, from 1, modulo 2^16. NO_SLOT: another one still waits */
#define SPINDLE_COMMAND_PUT              9
/* gets from a remote mailbox: LENGTH, NODE, TARGET_PID, ADDR, KEY, OFFSET, COUNT; the answer goes to mailbox BUFFER
   of this process, offset SIZE, key RECORD_LO */
#define SPINDLE_COMMAND_GET              10
/* opens the event ring of the process: BUFFER (aligned to SIZE), SIZE (bytes, a power of two, 64 to 1 MiB); SIZE 0
   closes the ring */
#define SPINDLE_COMMAND_OPEN_RING        11
/* opens the command ring of the process (commands): BUFFER, SIZE as for OPEN_RING; SIZE 0 closes the ring. RING_TAIL
   and RING_DONE begin at 0: write RING_TAIL before */
#define SPINDLE_COMMAND_OPEN_COMMANDS    12
/* as POST_BUFFER, with a receive map: COUNT = the logarithm of its granule [4:0]; RESULT has the number of the map.
   Bit i of the map: a packet whose first byte lies in granule i of the buffer has been written to host memory */
#define SPINDLE_COMMAND_POST_MAPPED      13
/* reads 64 bits of a receive map: COUNT = word [3:0], number of the map [31:8]; VALUE has the bits */
#define SPINDLE_COMMAND_READ_MAP         14
/* gives a receive map back: COUNT as for READ_MAP; the buffer is not affected */
#define SPINDLE_COMMAND_FREE_MAP         15

/* Errors: SPINDLE_DOORBELL_RESULT_ERROR and SPINDLE_DOORBELL_RING_DONE_ERROR. */
#define SPINDLE_ERROR_NONE               0            /* no error */
#define SPINDLE_ERROR_UNSUPPORTED        1            /* this version of the hardware does not know the command */
/* the mailbox table has no room for this address, or all windows of TAGGED mailboxes are taken */
#define SPINDLE_ERROR_TABLE_FULL         2
#define SPINDLE_ERROR_EXISTS             3            /* the address is open already */
#define SPINDLE_ERROR_NO_MAILBOX         4            /* there is no such mailbox of this process */
#define SPINDLE_ERROR_NO_SLOT            5            /* no buffer slot is free */
/* a misaligned record, a size of 0, a threshold of 0 or above the size, or a ring with an illegal size or alignment */
#define SPINDLE_ERROR_BAD_ARGUMENT       6
#define SPINDLE_ERROR_NOTHING            7            /* no incomplete buffer, or no such buffer in the history */
/* a command of another process waits for the host or the wire; repeat the command */
#define SPINDLE_ERROR_BUSY               8
#define SPINDLE_ERROR_HOST_ERROR         9            /* a read of the command from host memory failed */
/* the host memory is outside the regions of the process, or the right is missing */
#define SPINDLE_ERROR_OUT_OF_REGION      10
/* no receive map is free, or there is no such map of this process */
#define SPINDLE_ERROR_NO_MAP             11
#define SPINDLE_ERROR_NO_RIGHT           12           /* the process may not send frames (rvma.SENDERS) */

/* Reasons for dropping a frame: index of SPINDLE_PACKET_DROPS. */
#define SPINDLE_DROP_BAD_FRAME           0            /* the MAC marked the frame as bad (tuser) */
#define SPINDLE_DROP_RUNT                1            /* shorter than its headers */
#define SPINDLE_DROP_TOO_LONG            2            /* longer than 9216 bytes */
/* the IPv4 total length does not fit the frame or its own header */
#define SPINDLE_DROP_BAD_IP_LENGTH       3
#define SPINDLE_DROP_BAD_IP_CHECKSUM     4            /* the IPv4 header checksum is wrong */
#define SPINDLE_DROP_BAD_UDP_LENGTH      5            /* the UDP length differs from what IPv4 carries */
#define SPINDLE_DROP_BAD_UDP_CHECKSUM    6            /* the UDP checksum is neither 0 nor right */
#define SPINDLE_DROP_BAD_ICMP_CHECKSUM   7            /* the ICMP checksum is wrong */
#define SPINDLE_DROP_BAD_TRANSPORT       8            /* the Spindle header has an unknown version, opcode or length */
#define SPINDLE_DROP_NO_RULE             9            /* no rule matches the frame */
#define SPINDLE_DROP_RULE_DROP           10           /* the action of the rule is drop */
#define SPINDLE_DROP_NO_BUFFER           11           /* the packet buffer was full */
#define SPINDLE_DROP_NO_CONTEXT          12           /* the rule's context is not active */
#define SPINDLE_DROP_NO_MESSAGE_SLOT     13           /* the message table was full */
#define SPINDLE_DROP_HANDLER_DROP        14           /* a handler returned DROP */
#define SPINDLE_DROP_HANDLER_FAIL        15           /* a handler failed, faulted or ran into the watchdog */
#define SPINDLE_DROP_NO_MAILBOX          16           /* no such mailbox */
#define SPINDLE_DROP_BAD_KEY             17           /* the key does not open the mailbox */
#define SPINDLE_DROP_NO_POSTED_BUFFER    18           /* no buffer is posted to the mailbox */
#define SPINDLE_DROP_OUT_OF_BOUNDS       19           /* the message ends after the end of the buffer */
#define SPINDLE_DROP_UNSUPPORTED         20           /* a Spindle opcode or mode that this version does not serve */
#define SPINDLE_DROP_RX_DISABLED         21           /* reception is switched off */
#define SPINDLE_DROP_HOST_ERROR          22           /* host memory answered with an error */
/* a packet with this sequence number was accepted before or is being judged */
#define SPINDLE_DROP_DUPLICATE           23
#define SPINDLE_DROP_PSN_WINDOW          24           /* the sequence number is beyond the window of its peer */
#define SPINDLE_DROP_NO_PEER             25           /* no entry of the peer table is left for the source */
/* the context had its quota of messages or packets, and drops what is beyond */
#define SPINDLE_DROP_QUOTA               26
/* the context had its quota of messages or packets, and its sources wait */
#define SPINDLE_DROP_PAUSED              27
/* the message made no progress for the time that MESSAGE_TIMEOUT names */
#define SPINDLE_DROP_MESSAGE_AGED        28
#define SPINDLE_DROP_CONTROL             29           /* a control packet, which the PSN filter served */
#define SPINDLE_DROP_CLOSED              30           /* the mailbox is being closed */
#define SPINDLE_DROP_STALE_EPOCH         31           /* the epoch is over, or the buffer was taken back */
/* the IPv4 source of a Spindle packet is not the address that the node table has for its source node */
#define SPINDLE_DROP_BAD_SOURCE          32
/* the ICRC of a Spindle packet is not the CRC-32C of its header and payload */
#define SPINDLE_DROP_BAD_ICRC            33
#define SPINDLE_DROP_ICRC_MISSING        34           /* a Spindle packet of a node that must use the ICRC has none */

/* Completion record in host memory, little-endian. */
#define SPINDLE_RECORD_LENGTH            0            /* offset of the length, u32 */
#define SPINDLE_RECORD_STATUS            4            /* offset of the status, u8; 0 = not complete */
#define SPINDLE_RECORD_EPOCH             6            /* offset of the epoch, u16 */
#define SPINDLE_RECORD_BUFFER            8            /* offset of the buffer pointer, u64 */
#define SPINDLE_RECORD_BYTES             16           /* size of a record */

#endif
