/* A ring of slots with credits: rvma_exchange.h. */
#ifndef RVMA_RING_H
#define RVMA_RING_H

#include <rvma_eager.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The receiver of a ring: a slot for each message, which lie in memory one after another, in the order of sending. */
typedef struct {
    RVMAX_End end;
    rvmax_Slots in;
    rvmax_Greeted greeted;
    RVMAX_Eager_out credits;
    uint64_t credited;
} RVMAX_Ring_in;

/* The sender. It never sends a message for which the receiver has no slot. */
typedef struct {
    RVMAX_End end;
    RVMA_Stream stream;
    unsigned slots;
    int64_t size;
    unsigned char *bytes;
    RVMA_Op *ops;
    RVMAX_Eager_in credits;
    uint64_t sent, arrived, released;
    int failed;
} RVMAX_Ring_out;

enum { RVMAX_CREDIT_BYTES = 8 };
#define RVMAX_RING_IN_BYTES(slots, size)                                                                         \
    (RVMAX_SLOTS_BYTES(slots, size) + RVMAX_EAGER_OUT_BYTES(RVMAX_CREDIT_BYTES) + RVMAX_GREETED_BYTES)
#define RVMAX_RING_OUT_BYTES(slots, size)                                                                        \
    ((size_t)(slots) * RVMAX_LINES(size) + RVMAX_LINES((slots) * sizeof(RVMA_Op)) +                              \
     RVMAX_EAGER_IN_BYTES(RVMAX_WINDOW, RVMAX_CREDIT_BYTES))

/* Slots that are released before a credit leaves: so many that at most three credits wait for the sender, which has room for
   RVMAX_WINDOW. */
static inline unsigned rvmax_batch(unsigned slots) { return slots < 2 ? 1 : slots / 2; }

/* Closes the receiver, as RVMAX_Eager_in_close. */
static inline void RVMAX_Ring_in_close(RVMAX_Ring_in *in) {
    rvmax_close_window(&in->greeted.win);
    rvmax_close_window(&in->in.win);
}

/* Opens the receiver of a ring with `slots` messages of 1 to `size` bytes; the sender names the same. `memory` has
 * RVMAX_RING_IN_BYTES(slots, size) bytes. */
static inline RVMA_Status RVMAX_Ring_listen(RVMAX_Ring_in *in, RVMAX_End end, void *memory, unsigned slots, int64_t size) {
    memset(in, 0, sizeof *in);
    in->end = in->credits.end = end;
    RVMA_Status status = rvmax_check(&in->end, memory, slots, size);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    unsigned char *credits = (unsigned char *)memory + RVMAX_SLOTS_BYTES(slots, size);
    status = rvmax_eager_open(&in->credits, RVMAX_AT_BACK, credits, RVMAX_CREDIT_BYTES);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(&in->end, status, in->credits.end.why);
    }
    /* Any message leaves fewer bytes than a slot has, so each has a slot of its own. */
    status = rvmax_window(&in->end, RVMAX_AT_DATA, size, RVMA_EPOCH_BYTES, RVMA_STREAM, &in->in.win);
    if (status == RVMA_SUCCESS) {
        status = rvmax_fill(&in->end, &in->in, memory, slots, size);
    }
    if (status == RVMA_SUCCESS) {
        status = rvmax_be_greeted(&in->end, &in->greeted, credits + RVMAX_EAGER_OUT_BYTES(RVMAX_CREDIT_BYTES));
    }
    if (status != RVMA_SUCCESS) {
        RVMAX_Ring_in_close(in);
    }
    return status;
}

/* The next message, as RVMAX_Eager_next. */
static inline RVMA_Status RVMAX_Ring_next(RVMAX_Ring_in *in, void **message, int64_t *length, uint64_t limit_ns) {
    return rvmax_take(&in->end, &in->in, message, length, limit_ns);
}

/* Gives the slot of the oldest message back. After half of the slots a credit leaves; the call waits only while RVMAX_WINDOW
 * credits have not arrived, and has done nothing if it fails. */
static inline RVMA_Status RVMAX_Ring_release(RVMAX_Ring_in *in, uint64_t limit_ns) {
    int due = in->in.released + 1 - in->credited >= rvmax_batch(in->in.slots);
    RVMA_Status status = due ? rvmax_eager_room(&in->credits, RVMAX_WINDOW, limit_ns) : RVMA_SUCCESS;
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(&in->end, status, in->credits.end.why);
    }
    status = rvmax_release(&in->end, &in->in);
    if (status != RVMA_SUCCESS || !due) {
        return status;
    }
    uint64_t released = in->in.released;
    status = RVMAX_Eager_send(&in->credits, &released, sizeof released, limit_ns);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(&in->end, status, in->credits.end.why);
    }
    in->credited = released;
    return status;
}

/* Closes the sender. Flush first: the memory of messages under way is the NIC's. */
static inline void RVMAX_Ring_out_close(RVMAX_Ring_out *out) { RVMAX_Eager_in_close(&out->credits); }

/* Opens the sender. `memory` has RVMAX_RING_OUT_BYTES(slots, size) bytes. */
static inline RVMA_Status RVMAX_Ring_open(RVMAX_Ring_out *out, RVMAX_End end, void *memory, unsigned slots, int64_t size) {
    memset(out, 0, sizeof *out);
    out->end = out->credits.end = end;
    RVMA_Status status = rvmax_check(&out->end, memory, slots, size);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    out->stream.dest_addr = end.peer;
    out->stream.key = end.key;
    out->stream.virtual_addr = end.address + RVMAX_AT_DATA;
    out->slots = slots;
    out->size = size;
    out->bytes = (unsigned char *)memory;
    out->ops = (RVMA_Op *)(void *)(out->bytes + (size_t)slots * RVMAX_LINES(size));
    unsigned char *credits = (unsigned char *)out->ops + RVMAX_LINES(slots * sizeof(RVMA_Op));
    status = rvmax_eager_listen(&out->credits, RVMAX_AT_BACK, credits, RVMAX_WINDOW, RVMAX_CREDIT_BYTES, 0);
    return status == RVMA_SUCCESS ? status : rvmax_fails(&out->end, status, out->credits.end.why);
}

/* Waits until the receiver has been opened, as RVMAX_Eager_connect. */
static inline RVMA_Status RVMAX_Ring_connect(RVMAX_Ring_out *out, uint64_t limit_ns) { return rvmax_greet(&out->end, limit_ns); }

/* Waits until fewer than `most` messages are under way. */
static inline RVMA_Status rvmax_ring_room(RVMAX_Ring_out *out, unsigned most, uint64_t limit_ns) {
    while (out->sent - out->arrived >= most) {
        RVMA_Status status = RVMA_Wait_put(out->end.nic, out->ops[out->arrived % out->slots], limit_ns);
        if (status != RVMA_SUCCESS) {
            out->failed = status != RVMA_ERR_TIMEOUT;
            return rvmax_result(&out->end, status);
        }
        out->arrived++;
    }
    return RVMA_SUCCESS;
}

/* Sends a message of 1 to `size` bytes, which are copied. Waits while the receiver has no free slot. RVMA_ERR_TIMEOUT: the receiver has
 * released none within the limit; nothing was sent. */
static inline RVMA_Status RVMAX_Ring_send(RVMAX_Ring_out *out, const void *bytes, int64_t length, uint64_t limit_ns) {
    RVMA_Status status = rvmax_check_message(&out->end, bytes, length, 1, out->size);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    if (out->failed) {
        return rvmax_fails(&out->end, RVMA_ERR_REFUSED, "the channel has failed before");
    }
    while (out->sent - out->released == out->slots) {
        void *credit;
        int64_t credit_length;
        uint64_t released = 0;
        status = RVMAX_Eager_next(&out->credits, &credit, &credit_length, limit_ns);
        if (status == RVMA_SUCCESS) {
            memcpy(&released, credit, sizeof released);
            status = RVMAX_Eager_release(&out->credits);
        }
        if (status != RVMA_SUCCESS) {
            return rvmax_fails(&out->end, status, out->credits.end.why);
        }
        if (credit_length != RVMAX_CREDIT_BYTES || released < out->released || released > out->sent) {
            out->failed = 1;
            return rvmax_fails(&out->end, RVMA_ERR_PUT, "the peer's credit is none of this ring");
        }
        out->released = released;
    }
    /* The message whose slot is free has arrived; its acknowledgement may come after the credit. */
    status = rvmax_ring_room(out, out->slots, limit_ns);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    unsigned char *slot = out->bytes + out->sent % out->slots * RVMAX_LINES(out->size);
    memcpy(slot, bytes, (size_t)length);
    status = RVMA_Put_next(out->end.nic, slot, length, &out->stream, &out->ops[out->sent % out->slots]);
    out->sent += status == RVMA_SUCCESS;
    return rvmax_result(&out->end, status);
}

/* Waits until all messages have arrived in slots; the limit holds for each of them. */
static inline RVMA_Status RVMAX_Ring_flush(RVMAX_Ring_out *out, uint64_t limit_ns) { return rvmax_ring_room(out, 1, limit_ns); }

#ifdef __cplusplus
}
#endif

#endif
