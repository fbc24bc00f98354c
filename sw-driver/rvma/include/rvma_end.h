/* What the protocols of rvma_exchange.h share: an end, slots of messages, and greetings. Programs use RVMAX_End and the limits
   only; names in small letters are the protocols' own. */
#ifndef RVMA_END_H
#define RVMA_END_H

#include <rvma.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RVMAX_ADDRESSES = 8,     /* window addresses of a channel or a server */
    RVMAX_WINDOW = 4,        /* eager messages that may be under way: the epochs that a TAGGED window takes at a time */
    RVMAX_MOST_SLOTS = 1024, /* slots of an end; a put is waited for before 30,000 others have followed it */
    RVMAX_HEADER = 32        /* bytes of a call before those of the program */
};
/* Bytes of the longest slot. */
#define RVMAX_MOST_BYTES (INT64_C(1) << 30)

/* Where the other end is. A program fills it, and passes it by value; every end keeps its own. */
typedef struct {
    RVMA_Nic *nic;
    RVMA_Addr peer;   /* node and process at the other end; a server needs none */
    uint64_t address; /* the first of RVMAX_ADDRESSES window addresses */
    RVMA_Key key;
    const char *why; /* why the last call that failed on this end has failed; NULL at first */
} RVMAX_End;

/* Windows of a channel, after `address`. */
enum { RVMAX_AT_DATA = 0, RVMAX_AT_GREETING = 1, RVMAX_AT_BACK = 2, RVMAX_AT_BULK = 3 };

/* `size` bytes in whole lines of 64. */
#define RVMAX_LINES(size) (((size_t)(size) + 63) / 64 * 64)

/* ---- For the protocols ---------------------------------------------------------------------------------------------------- */

static inline RVMA_Status rvmax_fails(RVMAX_End *end, RVMA_Status status, const char *why) {
    end->why = why;
    return status;
}

/* The status of a call of `rvma.h`, with its reason. */
static inline RVMA_Status rvmax_result(RVMAX_End *end, RVMA_Status status) {
    return status == RVMA_SUCCESS ? status : rvmax_fails(end, status, RVMA_Error());
}

/* Checks what every end is given. */
static inline RVMA_Status rvmax_check(RVMAX_End *end, const void *memory, unsigned slots, int64_t size) {
    end->why = NULL;
    if (end->nic == NULL) {
        return rvmax_fails(end, RVMA_ERR_ARGUMENT, "the end has no NIC");
    }
    if (memory == NULL || (uintptr_t)memory % 64 != 0) {
        return rvmax_fails(end, RVMA_ERR_ARGUMENT, "the memory of an end is aligned to 64 bytes");
    }
    if (slots < 1 || slots > RVMAX_MOST_SLOTS) {
        return rvmax_fails(end, RVMA_ERR_ARGUMENT, "an end has 1 to RVMAX_MOST_SLOTS slots");
    }
    if (size < 1 || size > RVMAX_MOST_BYTES) {
        return rvmax_fails(end, RVMA_ERR_ARGUMENT, "a slot has 1 to RVMAX_MOST_BYTES bytes");
    }
    return RVMA_SUCCESS;
}

static inline RVMA_Status rvmax_check_message(RVMAX_End *end, const void *bytes, int64_t length, int64_t least, int64_t most) {
    if (length > 0 && bytes == NULL) {
        return rvmax_fails(end, RVMA_ERR_ARGUMENT, "a message of some bytes has no memory");
    }
    if (length < least) {
        return rvmax_fails(end, RVMA_ERR_ARGUMENT, least > 0 ? "an empty message" : "a message of a negative length");
    }
    return length > most ? rvmax_fails(end, RVMA_ERR_ARGUMENT, "the message is longer than a slot of the channel") : RVMA_SUCCESS;
}

/* Opens a window of this end. */
static inline RVMA_Status rvmax_window(RVMAX_End *end, unsigned at, int64_t threshold, RVMA_Epoch_type type, RVMA_Kind kind,
                                       RVMA_Win *win) {
    *win = RVMA_Init_window_as(end->nic, end->address + at, end->key, threshold, type, kind);
    return *win == NULL ? rvmax_fails(end, RVMA_ERR_REFUSED, RVMA_Error()) : RVMA_SUCCESS;
}

static inline void rvmax_close_window(RVMA_Win *win) {
    if (*win != NULL) {
        RVMA_Close_win(*win);
        *win = NULL;
    }
}

/* Waits for a record. A buffer that has not ended by its threshold is none of a message. */
static inline RVMA_Status rvmax_wait(RVMAX_End *end, const RVMA_Record *record, uint64_t limit_ns) {
    RVMA_Status status = rvmax_result(end, RVMA_Wait(end->nic, record, limit_ns));
    if (status == RVMA_SUCCESS && record->status != RVMA_DONE) {
        return rvmax_fails(end, RVMA_ERR_REFUSED, "the buffer has ended without its message");
    }
    return status;
}

/* Slots of an end that receives: buffers of a window that are posted in turn, each with its record. */
typedef struct {
    RVMA_Win win;
    unsigned slots;
    int64_t size;
    unsigned char *bytes;
    RVMA_Record *records;
    uint64_t taken, released;
} rvmax_Slots;

#define RVMAX_SLOTS_BYTES(slots, size) ((size_t)(slots) * (RVMAX_LINES(size) + 64))

static inline unsigned char *rvmax_slot(const rvmax_Slots *in, uint64_t number) {
    return in->bytes + number % in->slots * RVMAX_LINES(in->size);
}

/* Records stand in lines of their own, so that a look at one does not share a line with a write of another. */
static inline RVMA_Record *rvmax_record(const rvmax_Slots *in, uint64_t number) { return in->records + number % in->slots * 4; }

static inline RVMA_Status rvmax_post(RVMAX_End *end, rvmax_Slots *in, uint64_t number) {
    return rvmax_result(end, RVMA_Post_buffer(rvmax_slot(in, number), in->size, rvmax_record(in, number), in->win));
}

/* All slots are posted to a window that is open. */
static inline RVMA_Status rvmax_fill(RVMAX_End *end, rvmax_Slots *in, void *memory, unsigned slots, int64_t size) {
    in->slots = slots;
    in->size = size;
    in->records = (RVMA_Record *)memory;
    in->bytes = (unsigned char *)memory + (size_t)slots * 64;
    in->taken = in->released = 0;
    for (unsigned i = 0; i < slots; i++) {
        RVMA_Status status = rvmax_post(end, in, i);
        if (status != RVMA_SUCCESS) {
            return status;
        }
    }
    return RVMA_SUCCESS;
}

/* The oldest message that was not taken. */
static inline RVMA_Status rvmax_take(RVMAX_End *end, rvmax_Slots *in, void **message, int64_t *length, uint64_t limit_ns) {
    if (in->taken - in->released == in->slots) {
        return rvmax_fails(end, RVMA_ERR_REFUSED, "the program has all slots; it releases one first");
    }
    RVMA_Status status = rvmax_wait(end, rvmax_record(in, in->taken), limit_ns);
    if (status == RVMA_SUCCESS) {
        *message = rvmax_slot(in, in->taken);
        *length = rvmax_record(in, in->taken)->length;
        in->taken++;
    }
    return status;
}

/* The oldest message that was taken: its slot is posted again. */
static inline RVMA_Status rvmax_release(RVMAX_End *end, rvmax_Slots *in) {
    if (in->taken == in->released) {
        return rvmax_fails(end, RVMA_ERR_REFUSED, "no message was taken that is not released");
    }
    RVMA_Status status = rvmax_post(end, in, in->released);
    in->released += status == RVMA_SUCCESS;
    return status;
}

/* The window of greetings: a buffer that takes more operations than are ever done. */
typedef struct {
    RVMA_Win win;
} rvmax_Greeted;

#define RVMAX_GREETED_BYTES 128

static inline RVMA_Status rvmax_be_greeted(RVMAX_End *end, rvmax_Greeted *greeted, void *memory) {
    RVMA_Status status = rvmax_window(end, RVMAX_AT_GREETING, UINT32_MAX, RVMA_EPOCH_OPS, RVMA_BOUND, &greeted->win);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    return rvmax_result(end, RVMA_Post_buffer((unsigned char *)memory + 64, 64, (RVMA_Record *)memory, greeted->win));
}

/* Puts an empty message to the window of greetings, which is opened last, until it is taken. Only a put of one packet arrives as a
   whole or not at all, so no message is sent before. Pauses grow with the time that has passed; together with the waits they
   take the limit at most. */
static inline RVMA_Status rvmax_greet(RVMAX_End *end, uint64_t limit_ns) {
    static const uint64_t FIRST = 50000;
    RVMA_Record never;
    RVMA_Op op = 0;
    uint64_t left = limit_ns, slice = FIRST;
    memset(&never, 0, sizeof never);
    for (;;) {
        if (op == 0) {
            RVMA_Status status = RVMA_Put(end->nic, NULL, 0, &end->peer, end->address + RVMAX_AT_GREETING, end->key, 0, &op);
            if (status != RVMA_SUCCESS) {
                return rvmax_result(end, status);
            }
        }
        uint64_t most = slice < left ? slice : left;
        RVMA_Status status = RVMA_Wait_put(end->nic, op, most);
        if (status != RVMA_ERR_PUT && status != RVMA_ERR_TIMEOUT) {
            return rvmax_result(end, status);
        }
        if (limit_ns != RVMA_FOREVER) {
            left -= most;
        }
        if (left == 0) {
            return rvmax_fails(end, RVMA_ERR_TIMEOUT, RVMA_Error());
        }
        if (status == RVMA_ERR_PUT) {
            op = 0;
            most = slice < left ? slice : left;
            RVMA_Wait(end->nic, &never, most);
            if (limit_ns != RVMA_FOREVER) {
                left -= most;
            }
        }
        slice += slice / 2;
    }
}

#ifdef __cplusplus
}
#endif

#endif
