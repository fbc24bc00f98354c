/* Handlers on the card, for C programs: sPIN as of the host.
 *
 * A program loads an image of handlers (an ELF file that `spindle build` or the SDK makes) into an execution context
 * of a card that rvma.h has opened, and connects the context to packets: by a rule, or by a window.
 *
 *     SPIN_Context context = SPIN_Load_file(nic, "ping_pong.elf", NULL);
 *     SPIN_Connect(context, "udp.dport == 9999", SPIN_EACH_PACKET);
 *     SPIN_Next_event(nic, &event, RVMA_FOREVER);
 *
 * Statuses, RVMA_Error(), limits of time and threads are those of rvma.h. A context ends with its NIC.
 */
#ifndef SPIN_H
#define SPIN_H

#include <rvma.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An image in an execution context of the card. */
typedef struct SPIN_Context_handle *SPIN_Context;

/* How a context is made. All zeros, as if the options were NULL: what the image needs, no limits. */
typedef struct {
    uint32_t watchdog;        /* cycles that a handler may take; 0: 100,000 */
    uint32_t state_bytes;     /* bytes of context memory; less than the image needs: what it needs */
    void *host_memory;        /* memory that handlers may write, registered by RVMA_Register; NULL: none */
    uint32_t host_bytes;      /* its bytes */
    uint8_t weight;           /* share of the processors' time against other contexts, 1 to 255; 0: 1 */
    uint16_t message_quota;   /* most live messages; 0: no limit */
    uint16_t packet_quota;    /* most packets inside; 0: no limit */
} SPIN_Options;

/* What a message is for the handlers that a rule starts. */
typedef enum {
    SPIN_EACH_PACKET = 0, /* each frame is a message */
    SPIN_PER_MESSAGE = 1  /* the Spindle header of the frame names the message */
} SPIN_Messages;

/* Kinds of events. */
enum {
    SPIN_MESSAGE = 1,  /* a message ended: code 0 done, else dropped, failed, aged; id, length, user = match bits */
    SPIN_FAULT = 2,    /* a handler was ended: code = cause, id = program counter, user = address */
    SPIN_PRINT = 3,    /* a handler printed: `length` bytes of `text` */
    SPIN_USER = 4,     /* a handler's event: user, length */
    SPIN_COMPLETE = 5, /* a handler completed the message: user, length */
    SPIN_BUFFER = 6,   /* a buffer of a window ended (RVMA_EVENT: also a full one): code = status, id = mailbox, length, user = address */
    SPIN_LOST = 7,     /* `length` events found no room here */
    SPIN_OTHER = 8,    /* an event that this version does not know; code = its number on the card */
    SPIN_TASK_FAILED = 9 /* a task failed: user = its argument */
};

/* An event of the process: of contexts that it loaded, and of its windows. */
typedef struct {
    uint8_t kind;
    uint8_t code;
    uint16_t context; /* SPIN_Number of the context */
    uint32_t id;
    uint32_t length;
    uint32_t reserved;
    uint64_t user;
    char text[8];
} SPIN_Event;

/* Loads an image, and starts its context; the context gets packets when it is connected. NULL: the image cannot run
 * on the card, or there is no room. */
SPIN_Context SPIN_Load(RVMA_Nic *nic, const void *image, size_t size, const SPIN_Options *options);
/* The same from a file. */
SPIN_Context SPIN_Load_file(RVMA_Nic *nic, const char *path, const SPIN_Options *options);
/* Ends a context: its rules and windows are gone, and its memory is free. RVMA_ERR_REFUSED while messages of it are
 * alive, after a wait of 1 ms of the card's time: call again. */
RVMA_Status SPIN_Unload(SPIN_Context context);
/* Number of the context on the card, as events name it. Negative: an error. */
int SPIN_Number(SPIN_Context context);

/* Has the handlers run on the frames of a rule, for example "udp.dport == 9999 && ip.src in 10.0.0.0/8". The rule that was
 * connected first decides, before windows. */
RVMA_Status SPIN_Connect(SPIN_Context context, const char *rule, SPIN_Messages messages);
/* Takes the rules of a context back. */
RVMA_Status SPIN_Disconnect(SPIN_Context context);
/* A window as of RVMA_Init_window_with, on whose messages the handlers run: they place packets, send them to other
 * windows, or drop them. */
RVMA_Win SPIN_Init_window(SPIN_Context context, uint64_t virtual_addr, RVMA_Key key, int64_t epoch_threshold, RVMA_Epoch_type type,
                          RVMA_Kind kind, unsigned flags);

/* Reads the variables of the handlers, from `offset` (a multiple of 4) of the context's memory on. Handlers may run meanwhile. */
RVMA_Status SPIN_Read_state(SPIN_Context context, size_t offset, void *bytes, size_t size);
/* Writes them, in whole words: the last one is filled with zeros. */
RVMA_Status SPIN_Write_state(SPIN_Context context, size_t offset, const void *bytes, size_t size);

/* Runs the image's task_handler with this argument, without a packet, after so many cycles of the card (below 2^31; 0: at once).
 * RVMA_ERR_ARGUMENT: the image has no task_handler, or 16 tasks of the context wait. */
RVMA_Status SPIN_Start_task(SPIN_Context context, uint64_t argument, uint32_t delay);
/* Cancels one task of the context that waits with this argument. RVMA_ERR_ARGUMENT: none does. */
RVMA_Status SPIN_Cancel_task(SPIN_Context context, uint64_t argument);

/* Number of the reasons for which frames of a context are dropped. */
#define SPIN_REASONS 32

/* What the tasks of a context have used since it was loaded, as the card counts; a task counts when it has ended. */
typedef struct {
    uint64_t cycles;              /* from the first fetch of a task to its end */
    uint64_t instructions;        /* retired by the tasks */
    uint32_t tasks;               /* faults included; modulo 2^32 */
    uint32_t faulted;             /* ended by a fault or the watchdog; modulo 2^32 */
    uint32_t drops[SPIN_REASONS]; /* frames that a rule had given to the context and that were dropped, by reason */
} SPIN_Counters;

/* Reads what a context has counted. The counts of a context at work are some cycles apart. */
RVMA_Status SPIN_Read_counters(SPIN_Context context, SPIN_Counters *counters);
/* The name of a reason of `drops`, for example "handler_drop"; NULL: there is no such reason. The string stays. */
const char *SPIN_Reason(unsigned reason);

/* The next event of the process, in their order; RVMA_ERR_TIMEOUT: none came. The library keeps 65,536 that the
 * program has not taken, and a SPIN_LOST for those after. */
RVMA_Status SPIN_Next_event(RVMA_Nic *nic, SPIN_Event *event, uint64_t limit_ns);

#ifdef __cplusplus
}
#endif

#endif
