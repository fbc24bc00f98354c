/* Eager messages: rvma_exchange.h. */
#ifndef RVMA_EAGER_H
#define RVMA_EAGER_H

#include <rvma_end.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The receiver of eager messages. */
typedef struct {
    RVMAX_End end;
    rvmax_Slots in;
    rvmax_Greeted greeted;
} RVMAX_Eager_in;

/* The sender. Messages are copied, so the program may change them at once. */
typedef struct {
    RVMAX_End end;
    unsigned at;
    int64_t size;
    unsigned char *bytes;
    RVMA_Op ops[RVMAX_WINDOW];
    uint64_t sent, arrived;
    int failed;
} RVMAX_Eager_out;

/* Memory of the receiver with `slots` messages of up to `size` bytes, and of the sender. */
#define RVMAX_EAGER_IN_BYTES(slots, size) (RVMAX_SLOTS_BYTES(slots, size) + RVMAX_GREETED_BYTES)
#define RVMAX_EAGER_OUT_BYTES(size) (RVMAX_WINDOW * RVMAX_LINES(size))

/* As RVMAX_Eager_listen, in the window `at`, with or without greetings. */
static inline RVMA_Status rvmax_eager_listen(RVMAX_Eager_in *in, unsigned at, void *memory, unsigned slots, int64_t size,
                                             int greeted) {
    memset(&in->in, 0, sizeof in->in);
    in->greeted.win = NULL;
    RVMA_Status status = rvmax_check(&in->end, memory, slots, size);
    if (status == RVMA_SUCCESS) {
        status = rvmax_window(&in->end, at, 1, RVMA_EPOCH_OPS, RVMA_TAGGED, &in->in.win);
    }
    if (status == RVMA_SUCCESS) {
        status = rvmax_fill(&in->end, &in->in, memory, slots, size);
    }
    if (status == RVMA_SUCCESS && greeted) {
        status = rvmax_be_greeted(&in->end, &in->greeted, (unsigned char *)memory + RVMAX_SLOTS_BYTES(slots, size));
    }
    if (status != RVMA_SUCCESS) {
        rvmax_close_window(&in->in.win);
        rvmax_close_window(&in->greeted.win);
    }
    return status;
}

/* Opens the receiver: `slots` messages of 0 to `size` bytes may wait for the program. A message that finds no slot is sent again by
 * its NIC until there is one. `memory` has RVMAX_EAGER_IN_BYTES(slots, size) bytes. */
static inline RVMA_Status RVMAX_Eager_listen(RVMAX_Eager_in *in, RVMAX_End end, void *memory, unsigned slots, int64_t size) {
    in->end = end;
    return rvmax_eager_listen(in, RVMAX_AT_DATA, memory, slots, size, 1);
}

/* The next message in the order of sending; waits for it. Its bytes are the program's until the release of its slot. RVMA_ERR_REFUSED:
 * the program has all slots. */
static inline RVMA_Status RVMAX_Eager_next(RVMAX_Eager_in *in, void **message, int64_t *length, uint64_t limit_ns) {
    return rvmax_take(&in->end, &in->in, message, length, limit_ns);
}

/* Gives the slot of the oldest message back that RVMAX_Eager_next has returned. */
static inline RVMA_Status RVMAX_Eager_release(RVMAX_Eager_in *in) { return rvmax_release(&in->end, &in->in); }

/* Closes the receiver. The memory is the program's when the call returns; the sender's messages are refused. */
static inline void RVMAX_Eager_in_close(RVMAX_Eager_in *in) {
    rvmax_close_window(&in->greeted.win);
    rvmax_close_window(&in->in.win);
}

/* As RVMAX_Eager_open, to the window `at`. */
static inline RVMA_Status rvmax_eager_open(RVMAX_Eager_out *out, unsigned at, void *memory, int64_t size) {
    out->at = at;
    out->size = size;
    out->bytes = (unsigned char *)memory;
    out->sent = out->arrived = 0;
    out->failed = 0;
    return rvmax_check(&out->end, memory, 1, size);
}

/* Opens the sender of messages of up to `size` bytes, which must not be more than the receiver's. `memory` has
 * RVMAX_EAGER_OUT_BYTES(size) bytes. Does not wait; RVMAX_Eager_connect comes before the first message. */
static inline RVMA_Status RVMAX_Eager_open(RVMAX_Eager_out *out, RVMAX_End end, void *memory, int64_t size) {
    out->end = end;
    return rvmax_eager_open(out, RVMAX_AT_DATA, memory, size);
}

/* Waits until the receiver has been opened. RVMA_ERR_TIMEOUT: there was none within the limit; may be repeated. */
static inline RVMA_Status RVMAX_Eager_connect(RVMAX_Eager_out *out, uint64_t limit_ns) { return rvmax_greet(&out->end, limit_ns); }

/* Waits until fewer than `most` messages are under way. */
static inline RVMA_Status rvmax_eager_room(RVMAX_Eager_out *out, unsigned most, uint64_t limit_ns) {
    if (out->failed) {
        return rvmax_fails(&out->end, RVMA_ERR_REFUSED, "the channel has failed before");
    }
    while (out->sent - out->arrived >= most) {
        RVMA_Status status = RVMA_Wait_put(out->end.nic, out->ops[out->arrived % RVMAX_WINDOW], limit_ns);
        if (status != RVMA_SUCCESS) {
            out->failed = status != RVMA_ERR_TIMEOUT;
            return rvmax_result(&out->end, status);
        }
        out->arrived++;
    }
    return RVMA_SUCCESS;
}

/* Sends a message of 0 to `size` bytes. Waits only while RVMAX_WINDOW messages are under way, until the oldest has arrived. */
static inline RVMA_Status RVMAX_Eager_send(RVMAX_Eager_out *out, const void *bytes, int64_t length, uint64_t limit_ns) {
    RVMA_Status status = rvmax_check_message(&out->end, bytes, length, 0, out->size);
    if (status == RVMA_SUCCESS) {
        status = rvmax_eager_room(out, RVMAX_WINDOW, limit_ns);
    }
    if (status != RVMA_SUCCESS) {
        return status;
    }
    unsigned char *slot = out->bytes + out->sent % RVMAX_WINDOW * RVMAX_LINES(out->size);
    if (length > 0) {
        memcpy(slot, bytes, (size_t)length);
    }
    status = RVMA_Put_to(out->end.nic, slot, length, &out->end.peer, out->end.address + out->at, out->end.key, 0, RVMA_TAGGED,
                         out->sent, &out->ops[out->sent % RVMAX_WINDOW]);
    out->sent += status == RVMA_SUCCESS;
    return rvmax_result(&out->end, status);
}

/* Waits until all messages have arrived in slots; the limit holds for each of the RVMAX_WINDOW that may be under way. The sender needs
 * no other end: after a flush its memory is the program's. */
static inline RVMA_Status RVMAX_Eager_flush(RVMAX_Eager_out *out, uint64_t limit_ns) { return rvmax_eager_room(out, 1, limit_ns); }

#ifdef __cplusplus
}
#endif

#endif
