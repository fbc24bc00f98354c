/* Remote calls: rvma_exchange.h. */
#ifndef RVMA_CALL_H
#define RVMA_CALL_H

#include <rvma_end.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What stands before the bytes of a request: where the reply goes. */
typedef struct {
    uint32_t magic, number;
    uint64_t address;
    uint32_t key;
    uint16_t nid, pid;
    uint64_t reserved;
} rvmax_Header;

enum { RVMAX_MAGIC = 0x43505652 };

/* A server of any number of clients. */
typedef struct {
    RVMAX_End end;
    rvmax_Slots in;
    rvmax_Greeted greeted;
    int64_t reply_size;
    unsigned char *replies;
    RVMA_Op *ops;
    uint64_t answered, arrived;
    uint64_t malformed;   /* requests that were none, and have been dropped */
    uint64_t undelivered; /* replies that their clients did not take */
} RVMAX_Server;

/* A request. The bytes are the program's until it is answered or dropped. */
typedef struct {
    RVMA_Addr client; /* as the request names it: no proof of who has sent it */
    const void *bytes;
    int64_t length;
    rvmax_Header header;
} RVMAX_Request;

/* A client of one server, with one call at a time. */
typedef struct {
    RVMAX_End end;
    rvmax_Header header;
    RVMA_Win win;
    RVMA_Record *record;
    unsigned char *request, *reply;
    int64_t size, reply_size;
    RVMA_Op op;
    int sending, called;
} RVMAX_Client;

#define RVMAX_SERVER_BYTES(slots, size, reply_size)                                                              \
    (RVMAX_SLOTS_BYTES(slots, (size) + RVMAX_HEADER) + (size_t)(slots) * RVMAX_LINES(reply_size) +               \
     RVMAX_LINES((slots) * sizeof(RVMA_Op)) + RVMAX_GREETED_BYTES)
#define RVMAX_CLIENT_BYTES(size, reply_size) (64 + RVMAX_LINES((size) + RVMAX_HEADER) + RVMAX_LINES(reply_size))

/* Closes a server. The memory of requests is the program's; that of replies too after RVMAX_Server_flush. */
static inline void RVMAX_Server_close(RVMAX_Server *server) {
    rvmax_close_window(&server->greeted.win);
    rvmax_close_window(&server->in.win);
}

/* Opens a server: `slots` requests of up to `size` bytes wait for the program, replies have up to `reply_size` bytes. `end.peer` does
 * not matter. `memory` has RVMAX_SERVER_BYTES(slots, size, reply_size) bytes. A client whose window has no buffer keeps its reply
 * under way; RVMA_Set_put_limit ends such puts. */
static inline RVMA_Status RVMAX_Server_listen(RVMAX_Server *server, RVMAX_End end, void *memory, unsigned slots, int64_t size,
                                              int64_t reply_size) {
    memset(server, 0, sizeof *server);
    server->end = end;
    RVMA_Status status = rvmax_check(&server->end, memory, slots, size);
    if (status == RVMA_SUCCESS) {
        status = rvmax_check(&server->end, memory, slots, reply_size);
    }
    if (status != RVMA_SUCCESS) {
        return status;
    }
    server->reply_size = reply_size;
    server->replies = (unsigned char *)memory + RVMAX_SLOTS_BYTES(slots, size + RVMAX_HEADER);
    server->ops = (RVMA_Op *)(void *)(server->replies + (size_t)slots * RVMAX_LINES(reply_size));
    /* No header may stand where a message begins elsewhere. */
    memset(memory, 0, RVMAX_SLOTS_BYTES(slots, size + RVMAX_HEADER));
    /* Each message closes its buffer, so those of several clients that arrive together have slots of their own. */
    status = rvmax_window(&server->end, RVMAX_AT_DATA, 1, RVMA_EPOCH_OPS, RVMA_BOUND, &server->in.win);
    if (status == RVMA_SUCCESS) {
        status = rvmax_fill(&server->end, &server->in, memory, slots, size + RVMAX_HEADER);
    }
    if (status == RVMA_SUCCESS) {
        status = rvmax_be_greeted(&server->end, &server->greeted, (unsigned char *)server->ops + RVMAX_LINES(slots * sizeof(RVMA_Op)));
    }
    if (status != RVMA_SUCCESS) {
        RVMAX_Server_close(server);
    }
    return status;
}

static inline RVMA_Status rvmax_server_release(RVMAX_Server *server) {
    memset(rvmax_slot(&server->in, server->in.released), 0, RVMAX_HEADER);
    return rvmax_release(&server->end, &server->in);
}

/* The next request; waits for it. Messages that are no requests are dropped and counted, as many as there are slots before the call is
 * RVMA_ERR_TIMEOUT; the limit holds for each. RVMA_ERR_REFUSED: the last request is not answered. */
static inline RVMA_Status RVMAX_Server_next(RVMAX_Server *server, RVMAX_Request *request, uint64_t limit_ns) {
    if (server->in.taken != server->in.released) {
        return rvmax_fails(&server->end, RVMA_ERR_REFUSED, "the last request is not answered");
    }
    for (unsigned i = 0; i < server->in.slots; i++) {
        void *bytes;
        RVMA_Status status = rvmax_take(&server->end, &server->in, &bytes, &request->length, limit_ns);
        if (status != RVMA_SUCCESS) {
            return status;
        }
        memcpy(&request->header, bytes, sizeof request->header);
        request->length -= RVMAX_HEADER;
        request->bytes = (unsigned char *)bytes + RVMAX_HEADER;
        request->client.nid = request->header.nid;
        request->client.pid = request->header.pid;
        if (request->length >= 0 && request->header.magic == RVMAX_MAGIC && request->header.nid < 256 && request->header.pid < 64) {
            return RVMA_SUCCESS;
        }
        server->malformed++;
        status = rvmax_server_release(server);
        if (status != RVMA_SUCCESS) {
            return status;
        }
    }
    return rvmax_fails(&server->end, RVMA_ERR_TIMEOUT, "only messages that are no requests have come");
}

/* Drops the request without a reply. */
static inline RVMA_Status RVMAX_Server_drop(RVMAX_Server *server) { return rvmax_server_release(server); }

/* Waits until fewer than `most` replies are under way. */
static inline RVMA_Status rvmax_server_room(RVMAX_Server *server, unsigned most, uint64_t limit_ns) {
    while (server->answered - server->arrived >= most) {
        RVMA_Status status = RVMA_Wait_put(server->end.nic, server->ops[server->arrived % server->in.slots], limit_ns);
        if (status != RVMA_SUCCESS && status != RVMA_ERR_PUT) {
            return rvmax_result(&server->end, status);
        }
        server->undelivered += status == RVMA_ERR_PUT;
        server->arrived++;
    }
    return RVMA_SUCCESS;
}

/* Answers the request of RVMAX_Server_next with 0 to `reply_size` bytes, which are copied, and gives its slot back. Waits only while
 * replies of all slots are under way; a client that is gone is no error, and counts as undelivered. RVMA_ERR_ARGUMENT: the reply is too
 * long, or the request names no process of the network; answer otherwise, or drop it. */
static inline RVMA_Status RVMAX_Server_reply(RVMAX_Server *server, const RVMAX_Request *request, const void *bytes, int64_t length,
                                             uint64_t limit_ns) {
    RVMA_Status status = rvmax_check_message(&server->end, bytes, length, 0, server->reply_size);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    if (server->in.taken == server->in.released) {
        return rvmax_fails(&server->end, RVMA_ERR_REFUSED, "there is no request to answer");
    }
    status = rvmax_server_room(server, server->in.slots, limit_ns);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    unsigned slot = (unsigned)(server->answered % server->in.slots);
    unsigned char *reply = server->replies + slot * RVMAX_LINES(server->reply_size);
    if (length > 0) {
        memcpy(reply, bytes, (size_t)length);
    }
    const rvmax_Header *header = &request->header;
    status = RVMA_Put_to(server->end.nic, reply, length, &request->client, header->address, header->key, 0, RVMA_TAGGED, header->number,
                         &server->ops[slot]);
    if (status != RVMA_SUCCESS) {
        return rvmax_result(&server->end, status);
    }
    server->answered++;
    return rvmax_server_release(server);
}

/* Waits until no reply is under way; the limit holds for each. */
static inline RVMA_Status RVMAX_Server_flush(RVMAX_Server *server, uint64_t limit_ns) { return rvmax_server_room(server, 1, limit_ns); }

/* Closes a client. The memory is the program's if RVMAX_Call has returned nothing but RVMA_SUCCESS, or with the NIC's end. */
static inline void RVMAX_Client_close(RVMAX_Client *client) { rvmax_close_window(&client->win); }

/* Opens a client: `end` names the server, `self` this process, as the server is to reach it, and `reply_address` a window of this
 * process for replies of up to `reply_size` bytes. `memory` has RVMAX_CLIENT_BYTES(size, reply_size) bytes. */
static inline RVMA_Status RVMAX_Client_open(RVMAX_Client *client, RVMAX_End end, RVMA_Addr self, uint64_t reply_address, void *memory,
                                            int64_t size, int64_t reply_size) {
    memset(client, 0, sizeof *client);
    client->end = end;
    RVMA_Status status = rvmax_check(&client->end, memory, 1, size);
    if (status == RVMA_SUCCESS) {
        status = rvmax_check(&client->end, memory, 1, reply_size);
    }
    if (status != RVMA_SUCCESS) {
        return status;
    }
    client->header.magic = RVMAX_MAGIC;
    client->header.address = reply_address;
    client->header.key = end.key;
    client->header.nid = self.nid;
    client->header.pid = self.pid;
    client->record = (RVMA_Record *)memory;
    client->request = (unsigned char *)memory + 64;
    client->reply = client->request + RVMAX_LINES(size + RVMAX_HEADER);
    client->size = size;
    client->reply_size = reply_size;
    client->win = RVMA_Init_window_as(end.nic, reply_address, end.key, 1, RVMA_EPOCH_OPS, RVMA_TAGGED);
    return client->win == NULL ? rvmax_fails(&client->end, RVMA_ERR_REFUSED, RVMA_Error()) : RVMA_SUCCESS;
}

/* Waits until the server has been opened, as RVMAX_Eager_connect. */
static inline RVMA_Status RVMAX_Client_connect(RVMAX_Client *client, uint64_t limit_ns) { return rvmax_greet(&client->end, limit_ns); }

/* Waits until the server has the last request. */
static inline RVMA_Status rvmax_requested(RVMAX_Client *client, uint64_t limit_ns) {
    if (!client->sending) {
        return RVMA_SUCCESS;
    }
    RVMA_Status status = RVMA_Wait_put(client->end.nic, client->op, limit_ns);
    client->sending = status == RVMA_ERR_TIMEOUT;
    return rvmax_result(&client->end, status);
}

/* Sends a request of 0 to `size` bytes, which are copied. Waits only while a request that was cancelled has not left. RVMA_ERR_REFUSED:
 * the last call has no reply yet. */
static inline RVMA_Status RVMAX_Call_start(RVMAX_Client *client, const void *bytes, int64_t length, uint64_t limit_ns) {
    RVMA_Status status = rvmax_check_message(&client->end, bytes, length, 0, client->size);
    if (status != RVMA_SUCCESS) {
        return status;
    }
    if (client->called) {
        return rvmax_fails(&client->end, RVMA_ERR_REFUSED, "the last call has no reply yet; wait for it or cancel it");
    }
    /* Whether the server has taken a request that was cancelled does not matter, only that its memory is free. */
    if (rvmax_requested(client, limit_ns) == RVMA_ERR_TIMEOUT) {
        return RVMA_ERR_TIMEOUT;
    }
    status = rvmax_result(&client->end, RVMA_Post_buffer(client->reply, client->reply_size, client->record, client->win));
    if (status != RVMA_SUCCESS) {
        return status;
    }
    client->called = 1;
    memcpy(client->request, &client->header, sizeof client->header);
    if (length > 0) {
        memcpy(client->request + RVMAX_HEADER, bytes, (size_t)length);
    }
    status = RVMA_Put(client->end.nic, client->request, length + RVMAX_HEADER, &client->end.peer, client->end.address + RVMAX_AT_DATA,
                      client->end.key, 0, &client->op);
    client->sending = status == RVMA_SUCCESS;
    return rvmax_result(&client->end, status);
}

/* Waits for the reply: the limit holds for the request, and as long for the reply. Its bytes are the program's until the next call.
 * RVMA_ERR_PUT: the server has not taken the request. RVMA_ERR_TIMEOUT: whether the server has answered is not known; wait again, or
 * cancel the call. */
static inline RVMA_Status RVMAX_Call_wait(RVMAX_Client *client, const void **reply, int64_t *length, uint64_t limit_ns) {
    if (!client->called) {
        return rvmax_fails(&client->end, RVMA_ERR_REFUSED, "there is no call");
    }
    RVMA_Status status = rvmax_requested(client, limit_ns);
    if (status == RVMA_SUCCESS) {
        status = rvmax_wait(&client->end, client->record, limit_ns);
    }
    if (status == RVMA_SUCCESS) {
        *reply = client->reply;
        *length = client->record->length;
        client->called = 0;
        client->header.number++;
    }
    return status;
}

/* Ends a call without its reply. A reply that comes later names an epoch that is over: the NIC refuses it, so it touches neither memory
 * nor the next call. The server may still carry the request out. */
static inline RVMA_Status RVMAX_Call_cancel(RVMAX_Client *client) {
    if (!client->called) {
        return rvmax_fails(&client->end, RVMA_ERR_REFUSED, "there is no call");
    }
    /* A reply that has come by now ends its buffer in the same way. */
    RVMA_Status status = RVMA_Win_inc_epoch(client->win);
    if (status != RVMA_SUCCESS && client->record->status == 0) {
        return rvmax_result(&client->end, status);
    }
    status = rvmax_result(&client->end, RVMA_Wait(client->end.nic, client->record, RVMA_FOREVER));
    if (status == RVMA_SUCCESS) {
        client->called = 0;
        client->header.number++;
    }
    return status;
}

/* A call: sends the request and waits for the reply, each within the limit; a call that fails is cancelled. A server carries a request out
 * once at most. */
static inline RVMA_Status RVMAX_Call(RVMAX_Client *client, const void *bytes, int64_t length, const void **reply,
                                     int64_t *reply_length, uint64_t limit_ns) {
    RVMA_Status status = RVMAX_Call_start(client, bytes, length, limit_ns);
    if (status == RVMA_SUCCESS) {
        status = RVMAX_Call_wait(client, reply, reply_length, limit_ns);
    } else if (!client->called) {
        return status;
    }
    if (status != RVMA_SUCCESS) {
        const char *why = client->end.why;
        RVMAX_Call_cancel(client);
        client->end.why = why;
    }
    return status;
}

#ifdef __cplusplus
}
#endif

#endif
