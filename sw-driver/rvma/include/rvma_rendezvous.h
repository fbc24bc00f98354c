/* Rendezvous, for messages that are not copied: rvma_exchange.h. */
#ifndef RVMA_RENDEZVOUS_H
#define RVMA_RENDEZVOUS_H

#include <rvma_eager.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the bytes of a rendezvous move; both ends name the same. */
typedef enum {
    RVMAX_BY_GET = 0, /* the receiver gets them; the sender's program need not take part until it finishes */
    RVMAX_BY_PUT = 1  /* the sender puts them, when the receiver has posted its buffer; one crossing of the wire less while they move */
} RVMAX_Way;

/* Notices of the ends of a rendezvous to each other. */
enum { RVMAX_ANNOUNCED = 1, RVMAX_POSTED = 2, RVMAX_TAKEN = 3, RVMAX_DECLINED = 4 };
typedef struct {
    uint32_t what, way;
    uint64_t length;
} rvmax_Notice;

/* Messages of a rendezvous, announced and not finished: one. */
enum { RVMAX_NOTICES = 2, RVMAX_NOTICE_BYTES = 16 };

typedef struct {
    RVMAX_End end;
    RVMAX_Way way;
    RVMAX_Eager_out notices;
    RVMAX_Eager_in answers;
    RVMA_Win source;
    RVMA_Record *record;
    const void *bytes;
    int64_t length;
    RVMA_Op op;
    int announced, posted, moving, taken;
} RVMAX_Rendezvous_out;

typedef struct {
    RVMAX_End end;
    RVMAX_Way way;
    RVMAX_Eager_in notices;
    RVMAX_Eager_out answers;
    RVMA_Win destination;
    RVMA_Record *record;
    int64_t length;
    int announced, accepted, taken;
} RVMAX_Rendezvous_in;

#define RVMAX_RENDEZVOUS_BYTES                                                                                   \
    (64 + RVMAX_EAGER_IN_BYTES(RVMAX_NOTICES, RVMAX_NOTICE_BYTES) + RVMAX_EAGER_OUT_BYTES(RVMAX_NOTICE_BYTES))

static inline RVMA_Status rvmax_notify(RVMAX_End *end, RVMAX_Eager_out *out, uint32_t what, RVMAX_Way way, int64_t length,
                                       uint64_t limit_ns) {
    rvmax_Notice notice;
    notice.what = what;
    notice.way = (uint32_t)way;
    notice.length = (uint64_t)length;
    RVMA_Status status = RVMAX_Eager_send(out, &notice, sizeof notice, limit_ns);
    return status == RVMA_SUCCESS ? status : rvmax_fails(end, status, out->end.why);
}

static inline RVMA_Status rvmax_notice(RVMAX_End *end, RVMAX_Eager_in *in, rvmax_Notice *notice, uint64_t limit_ns) {
    void *bytes;
    int64_t length;
    RVMA_Status status = RVMAX_Eager_next(in, &bytes, &length, limit_ns);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(end, status, in->end.why);
    }
    memset(notice, 0, sizeof *notice);
    memcpy(notice, bytes, length < (int64_t)sizeof *notice ? (size_t)length : sizeof *notice);
    int whole = length == RVMAX_NOTICE_BYTES;
    status = RVMAX_Eager_release(in);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(end, status, in->end.why);
    }
    return whole ? RVMA_SUCCESS : rvmax_fails(end, RVMA_ERR_PUT, "the peer's notice is no notice of a rendezvous");
}

static inline RVMA_Status rvmax_way(RVMAX_End *end, RVMAX_Way way) {
    return way == RVMAX_BY_GET || way == RVMAX_BY_PUT ? RVMA_SUCCESS
                                                      : rvmax_fails(end, RVMA_ERR_ARGUMENT, "no way of a rendezvous");
}

/* Closes the sender. A buffer that was announced is the program's again when the call returns. */
static inline void RVMAX_Rendezvous_out_close(RVMAX_Rendezvous_out *out) {
    rvmax_close_window(&out->source);
    RVMAX_Eager_in_close(&out->answers);
}

/* Opens the sender of a channel for long messages, one at a time. `memory` has RVMAX_RENDEZVOUS_BYTES bytes. */
static inline RVMA_Status RVMAX_Rendezvous_open(RVMAX_Rendezvous_out *out, RVMAX_End end, void *memory, RVMAX_Way way) {
    unsigned char *at = (unsigned char *)memory;
    memset(out, 0, sizeof *out);
    out->end = out->notices.end = out->answers.end = end;
    out->way = way;
    RVMA_Status status = rvmax_check(&out->end, memory, 1, 1);
    if (status == RVMA_SUCCESS) {
        status = rvmax_way(&out->end, way);
    }
    if (status != RVMA_SUCCESS) {
        return status;
    }
    out->record = (RVMA_Record *)memory;
    status = rvmax_eager_open(&out->notices, RVMAX_AT_DATA, at + 64, RVMAX_NOTICE_BYTES);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(&out->end, status, out->notices.end.why);
    }
    status = rvmax_eager_listen(&out->answers, RVMAX_AT_BACK, at + 64 + RVMAX_EAGER_OUT_BYTES(RVMAX_NOTICE_BYTES), RVMAX_NOTICES,
                                RVMAX_NOTICE_BYTES, 0);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(&out->end, status, out->answers.end.why);
    }
    if (way == RVMAX_BY_GET) {
        /* The source of gets: a buffer that never completes. */
        status = rvmax_window(&out->end, RVMAX_AT_BULK, UINT32_MAX, RVMA_EPOCH_OPS, RVMA_BOUND, &out->source);
    }
    if (status != RVMA_SUCCESS) {
        RVMAX_Rendezvous_out_close(out);
    }
    return status;
}

/* Waits until the receiver has been opened, as RVMAX_Eager_connect. */
static inline RVMA_Status RVMAX_Rendezvous_connect(RVMAX_Rendezvous_out *out, uint64_t limit_ns) {
    return rvmax_greet(&out->end, limit_ns);
}

/* Announces a message of 0 to RVMAX_MOST_BYTES bytes of registered memory, which stays as it is until RVMAX_Rendezvous_finish. Waits
 * only until earlier announcements have arrived. RVMA_ERR_REFUSED: the last message is not finished. */
static inline RVMA_Status RVMAX_Rendezvous_announce(RVMAX_Rendezvous_out *out, const void *bytes, int64_t length,
                                                    uint64_t limit_ns) {
    RVMA_Status status = rvmax_check_message(&out->end, bytes, length, 0, RVMAX_MOST_BYTES);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    if (out->announced) {
        return rvmax_fails(&out->end, RVMA_ERR_REFUSED, "the last message is not finished");
    }
    status = rvmax_eager_room(&out->notices, RVMAX_WINDOW, limit_ns);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(&out->end, status, out->notices.end.why);
    }
    out->bytes = bytes;
    out->length = length;
    out->posted = out->moving = out->taken = 0;
    if (out->way == RVMAX_BY_GET && length > 0) {
        status = rvmax_result(&out->end, RVMA_Post_buffer((void *)(uintptr_t)bytes, length, out->record, out->source));
        if (status != RVMA_SUCCESS) {
            return status;
        }
        out->posted = 1;
    }
    out->announced = 1;
    return rvmax_notify(&out->end, &out->notices, RVMAX_ANNOUNCED, out->way, length, limit_ns);
}

/* Waits until the receiver has the message; RVMAX_BY_PUT puts it meanwhile. Then the memory is the program's. RVMA_ERR_REFUSED: the
 * receiver has declined the message; the next one may be announced. */
static inline RVMA_Status RVMAX_Rendezvous_finish(RVMAX_Rendezvous_out *out, uint64_t limit_ns) {
    RVMA_Status status;
    if (!out->announced) {
        return rvmax_fails(&out->end, RVMA_ERR_REFUSED, "no message is announced");
    }
    int declined = 0;
    if (!out->moving && !out->taken) {
        rvmax_Notice notice;
        status = rvmax_notice(&out->end, &out->answers, &notice, limit_ns);
        if (status != RVMA_SUCCESS) {
            return status;
        }
        declined = notice.what == RVMAX_DECLINED;
        out->taken = notice.what == RVMAX_TAKEN;
        if (notice.what == RVMAX_POSTED && out->way == RVMAX_BY_PUT && out->length > 0) {
            status = RVMA_Put(out->end.nic, out->bytes, out->length, &out->end.peer, out->end.address + RVMAX_AT_BULK, out->end.key, 0,
                              &out->op);
            if (status != RVMA_SUCCESS) {
                return rvmax_result(&out->end, status);
            }
            out->moving = 1;
        } else if (!declined && !out->taken) {
            return rvmax_fails(&out->end, RVMA_ERR_PUT, "the peer's answer is none of a rendezvous");
        }
    }
    if (out->moving) {
        status = rvmax_result(&out->end, RVMA_Wait_put(out->end.nic, out->op, limit_ns));
        if (status != RVMA_SUCCESS) {
            return status;
        }
        out->moving = 0;
        out->taken = 1;
    }
    if (out->posted) {
        status = rvmax_result(&out->end, RVMA_Win_inc_epoch(out->source));
        if (status == RVMA_SUCCESS) {
            status = rvmax_result(&out->end, RVMA_Wait(out->end.nic, out->record, RVMA_FOREVER));
        }
        if (status != RVMA_SUCCESS) {
            return status;
        }
        out->posted = 0;
    }
    out->announced = 0;
    return declined ? rvmax_fails(&out->end, RVMA_ERR_REFUSED, "the receiver has declined the message") : RVMA_SUCCESS;
}

/* Closes the receiver. A buffer that was accepted is the program's again when the call returns. */
static inline void RVMAX_Rendezvous_in_close(RVMAX_Rendezvous_in *in) {
    rvmax_close_window(&in->destination);
    RVMAX_Eager_in_close(&in->notices);
}

/* Opens the receiver; `way` is the sender's. `memory` has RVMAX_RENDEZVOUS_BYTES bytes. */
static inline RVMA_Status RVMAX_Rendezvous_listen(RVMAX_Rendezvous_in *in, RVMAX_End end, void *memory, RVMAX_Way way) {
    unsigned char *at = (unsigned char *)memory;
    memset(in, 0, sizeof *in);
    in->end = in->notices.end = in->answers.end = end;
    in->way = way;
    RVMA_Status status = rvmax_check(&in->end, memory, 1, 1);
    if (status == RVMA_SUCCESS) {
        status = rvmax_way(&in->end, way);
    }
    if (status != RVMA_SUCCESS) {
        return status;
    }
    in->record = (RVMA_Record *)memory;
    status = rvmax_eager_open(&in->answers, RVMAX_AT_BACK, at + 64, RVMAX_NOTICE_BYTES);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(&in->end, status, in->answers.end.why);
    }
    status = rvmax_window(&in->end, RVMAX_AT_BULK, 1, RVMA_EPOCH_OPS, RVMA_BOUND, &in->destination);
    if (status == RVMA_SUCCESS) {
        /* With the greetings, which are opened last. */
        status = rvmax_eager_listen(&in->notices, RVMAX_AT_DATA, at + 64 + RVMAX_EAGER_OUT_BYTES(RVMAX_NOTICE_BYTES), RVMAX_NOTICES,
                                    RVMAX_NOTICE_BYTES, 1);
        if (status != RVMA_SUCCESS) {
            in->end.why = in->notices.end.why;
        }
    }
    if (status != RVMA_SUCCESS) {
        RVMAX_Rendezvous_in_close(in);
    }
    return status;
}

/* Waits for an announcement: the length of the message. The call may be repeated until the message is accepted or declined. RVMA_ERR_PUT:
 * the sender names another way, or what it has sent is no announcement. */
static inline RVMA_Status RVMAX_Rendezvous_next(RVMAX_Rendezvous_in *in, int64_t *length, uint64_t limit_ns) {
    if (in->accepted) {
        return rvmax_fails(&in->end, RVMA_ERR_REFUSED, "the last message is not taken");
    }
    if (!in->announced) {
        rvmax_Notice notice;
        RVMA_Status status = rvmax_notice(&in->end, &in->notices, &notice, limit_ns);
        if (status != RVMA_SUCCESS) {
            return status;
        }
        if (notice.what != RVMAX_ANNOUNCED || notice.way != (uint32_t)in->way || notice.length > (uint64_t)RVMAX_MOST_BYTES) {
            return rvmax_fails(&in->end, RVMA_ERR_PUT, "the peer's announcement is none, or of the other way");
        }
        in->announced = 1;
        in->length = (int64_t)notice.length;
    }
    *length = in->length;
    return RVMA_SUCCESS;
}

/* Takes the announced message into registered memory of `size` bytes: the bytes begin to move. RVMA_ERR_ARGUMENT: the message is longer
 * than that; the program may accept it with more memory, or decline it. Waits only until earlier answers have arrived. */
static inline RVMA_Status RVMAX_Rendezvous_accept(RVMAX_Rendezvous_in *in, void *buffer, int64_t size, uint64_t limit_ns) {
    if (!in->announced || in->accepted) {
        return rvmax_fails(&in->end, RVMA_ERR_REFUSED, "no message is announced");
    }
    RVMA_Status status = rvmax_check_message(&in->end, buffer, size, 0, RVMAX_MOST_BYTES);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    if (size < in->length) {
        return rvmax_fails(&in->end, RVMA_ERR_ARGUMENT, "the message is longer than the buffer");
    }
    status = rvmax_eager_room(&in->answers, RVMAX_WINDOW, limit_ns);
    if (status != RVMA_SUCCESS) {
        return rvmax_fails(&in->end, status, in->answers.end.why);
    }
    if (in->length > 0) {
        status = rvmax_result(&in->end, RVMA_Post_buffer(buffer, in->length, in->record, in->destination));
        if (status != RVMA_SUCCESS) {
            return status;
        }
    }
    in->accepted = 1;
    in->taken = in->length == 0;
    if (in->length > 0 && in->way == RVMAX_BY_GET) {
        uint64_t bulk = in->end.address + RVMAX_AT_BULK;
        return rvmax_result(&in->end, RVMA_Get_active(in->end.nic, in->length, &in->end.peer, bulk, in->end.key, 0, bulk, in->end.key, 0,
                                                      NULL));
    }
    return in->length > 0 ? rvmax_notify(&in->end, &in->answers, RVMAX_POSTED, in->way, in->length, limit_ns) : RVMA_SUCCESS;
}

/* Waits until the accepted message is there. After RVMA_ERR_TIMEOUT the buffer is still the NIC's: wait again, or close the end. */
static inline RVMA_Status RVMAX_Rendezvous_wait(RVMAX_Rendezvous_in *in, uint64_t limit_ns) {
    RVMA_Status status;
    if (!in->accepted) {
        return rvmax_fails(&in->end, RVMA_ERR_REFUSED, "no message is accepted");
    }
    if (!in->taken) {
        status = rvmax_wait(&in->end, in->record, limit_ns);
        if (status != RVMA_SUCCESS) {
            return status;
        }
        if (in->record->length != (uint64_t)in->length) {
            return rvmax_fails(&in->end, RVMA_ERR_PUT, "the peer has put another length than it announced");
        }
        in->taken = 1;
    }
    /* The sender of a put has its acknowledgement. */
    if (in->way == RVMAX_BY_GET || in->length == 0) {
        status = rvmax_notify(&in->end, &in->answers, RVMAX_TAKEN, in->way, in->length, limit_ns);
        if (status != RVMA_SUCCESS) {
            return status;
        }
    }
    in->announced = in->accepted = 0;
    return RVMA_SUCCESS;
}

/* Declines the announced message: RVMAX_Rendezvous_finish of the sender is RVMA_ERR_REFUSED. */
static inline RVMA_Status RVMAX_Rendezvous_decline(RVMAX_Rendezvous_in *in, uint64_t limit_ns) {
    if (!in->announced || in->accepted) {
        return rvmax_fails(&in->end, RVMA_ERR_REFUSED, "no message is announced");
    }
    RVMA_Status status = rvmax_notify(&in->end, &in->answers, RVMAX_DECLINED, in->way, in->length, limit_ns);
    in->announced = status != RVMA_SUCCESS;
    return status;
}

#ifdef __cplusplus
}
#endif

#endif
