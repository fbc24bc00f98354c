/* The protocols of rvma_exchange.h between nodes of a wire that loses, doubles and reorders frames; and what they refuse. */
#include "check.h"
#include <rvma_exchange.h>

enum { PROCESS = 3, CLIENT = 0, SERVER = 1, OTHER = 2, NODES = 3, SLOTS = 3, SIZE = 3000, LONG = 60000, REPLY = 2000 };
static const uint64_t LIMIT = 8000000, SHORT = 60000;
static const RVMA_Key KEY = 0x5EED;
static RVMA_Nic *nics[NODES];

/* What each node registers: ends, and memory for messages. */
static struct {
    unsigned char ends[4][65536] __attribute__((aligned(64)));
    unsigned char bytes[LONG], got[LONG];
} __attribute__((aligned(64))) nodes[NODES];
static unsigned char scratch[SIZE];

/* The call on an end failed with this status, and the end says why. */
#define REFUSES(call, expected, of, words)              \
    do {                                                \
        CHECK((call) == (expected));                    \
        CHECK(strstr((of).end.why, (words)) != NULL);   \
    } while (0)

static unsigned char byte_of(unsigned message, int64_t at) { return (unsigned char)(at * 7 + at / 251 + message * 101 + 1); }

static void fill(unsigned char *bytes, unsigned message, int64_t length) {
    for (int64_t at = 0; at < length; at++) {
        bytes[at] = byte_of(message, at);
    }
}

static int same(const void *bytes, unsigned message, int64_t length) {
    for (int64_t at = 0; at < length; at++) {
        if (((const unsigned char *)bytes)[at] != byte_of(message, at)) {
            return 0;
        }
    }
    return 1;
}

static int64_t length_of(unsigned message, int64_t least) { return least + (int64_t)message * 977 % (SIZE + 1 - least); }

/* An end of a node whose peer is another node. */
static RVMAX_End end_of(int node, int peer, uint64_t address) {
    RVMAX_End end = {nics[node], {(uint16_t)peer, PROCESS}, address, KEY, NULL};
    return end;
}

static void eager(void) {
    enum { MESSAGES = 14 };
    RVMAX_Eager_in in;
    RVMAX_Eager_out out;
    RVMAX_End listens = end_of(SERVER, CLIENT, 0x100), sends = end_of(CLIENT, SERVER, 0x100);
    void *message;
    int64_t length;
    CHECK(RVMAX_EAGER_IN_BYTES(SLOTS, SIZE) <= sizeof nodes[0].ends[0]);

    REFUSES(RVMAX_Eager_listen(&in, listens, nodes[SERVER].ends[0] + 16, SLOTS, SIZE), RVMA_ERR_ARGUMENT, in, "aligned");
    REFUSES(RVMAX_Eager_listen(&in, listens, NULL, SLOTS, SIZE), RVMA_ERR_ARGUMENT, in, "aligned");
    REFUSES(RVMAX_Eager_listen(&in, listens, nodes[SERVER].ends[0], 0, SIZE), RVMA_ERR_ARGUMENT, in, "1 to RVMAX_MOST_SLOTS");
    REFUSES(RVMAX_Eager_listen(&in, listens, nodes[SERVER].ends[0], SLOTS, 0), RVMA_ERR_ARGUMENT, in, "1 to RVMAX_MOST_BYTES");
    REFUSES(RVMAX_Eager_listen(&in, listens, scratch + (64 - (uintptr_t)scratch % 64) % 64, 1, 64), RVMA_ERR_REFUSED, in,
            "not registered");
    RVMAX_End nowhere = listens;
    nowhere.nic = NULL;
    REFUSES(RVMAX_Eager_listen(&in, nowhere, nodes[SERVER].ends[0], SLOTS, SIZE), RVMA_ERR_ARGUMENT, in, "no NIC");

    /* A peer that is absent: the wait ends. */
    CHECK(RVMAX_Eager_open(&out, sends, nodes[CLIENT].ends[0], SIZE) == RVMA_SUCCESS);
    REFUSES(RVMAX_Eager_connect(&out, SHORT), RVMA_ERR_TIMEOUT, out, "");
    out.end.peer.nid = 99;
    CHECK(RVMAX_Eager_connect(&out, SHORT) == RVMA_ERR_ARGUMENT);
    out.end.peer.nid = SERVER;

    CHECK(RVMAX_Eager_listen(&in, listens, nodes[SERVER].ends[0], SLOTS, SIZE) == RVMA_SUCCESS);
    CHECK(RVMAX_Eager_connect(&out, LIMIT) == RVMA_SUCCESS && RVMAX_Eager_connect(&out, LIMIT) == RVMA_SUCCESS);
    REFUSES(RVMAX_Eager_next(&in, &message, &length, 4000), RVMA_ERR_TIMEOUT, in, "did not come");
    REFUSES(RVMAX_Eager_release(&in), RVMA_ERR_REFUSED, in, "not released");
    REFUSES(RVMAX_Eager_send(&out, scratch, SIZE + 1, LIMIT), RVMA_ERR_ARGUMENT, out, "longer than a slot");
    REFUSES(RVMAX_Eager_send(&out, scratch, -1, LIMIT), RVMA_ERR_ARGUMENT, out, "negative");
    REFUSES(RVMAX_Eager_send(&out, NULL, 1, LIMIT), RVMA_ERR_ARGUMENT, out, "no memory");

    unsigned sent = 0, got = 0;
    /* The slots of both sides are full: the next one does not leave. */
    for (; sent < SLOTS + RVMAX_WINDOW; sent++) {
        fill(scratch, sent, length_of(sent, 0));
        CHECK(RVMAX_Eager_send(&out, scratch, length_of(sent, 0), LIMIT) == RVMA_SUCCESS);
        memset(scratch, 0, sizeof scratch);
    }
    CHECK(RVMAX_Eager_send(&out, scratch, 5, SHORT) == RVMA_ERR_TIMEOUT);
    for (; got < MESSAGES; got++) {
        CHECK(RVMAX_Eager_next(&in, &message, &length, LIMIT) == RVMA_SUCCESS);
        CHECK(length == length_of(got, 0) && same(message, got, length));
        CHECK(RVMAX_Eager_release(&in) == RVMA_SUCCESS);
        if (sent < MESSAGES) {
            fill(scratch, sent, length_of(sent, 0));
            CHECK(RVMAX_Eager_send(&out, scratch, length_of(sent, 0), LIMIT) == RVMA_SUCCESS);
            sent++;
        }
    }
    CHECK(RVMAX_Eager_flush(&out, LIMIT) == RVMA_SUCCESS);
    for (unsigned i = 0; i < SLOTS; i++) {
        CHECK(RVMAX_Eager_send(&out, scratch, 1, LIMIT) == RVMA_SUCCESS);
        CHECK(RVMAX_Eager_next(&in, &message, &length, LIMIT) == RVMA_SUCCESS && length == 1);
    }
    REFUSES(RVMAX_Eager_next(&in, &message, &length, LIMIT), RVMA_ERR_REFUSED, in, "all slots");

    /* A receiver that closes ends the channel. */
    RVMAX_Eager_in_close(&in);
    CHECK(RVMAX_Eager_send(&out, scratch, 1, LIMIT) == RVMA_SUCCESS);
    CHECK(RVMAX_Eager_flush(&out, LIMIT) == RVMA_ERR_PUT);
    REFUSES(RVMAX_Eager_send(&out, scratch, 1, LIMIT), RVMA_ERR_REFUSED, out, "failed before");
}

static void rendezvous(RVMAX_Way way, uint64_t address) {
    static const int64_t LENGTHS[] = {LONG, 1, 0, 1409};
    RVMAX_Rendezvous_in in;
    RVMAX_Rendezvous_out out;
    int64_t length;
    unsigned char *from = nodes[CLIENT].bytes, *to = nodes[SERVER].got;
    REFUSES(RVMAX_Rendezvous_listen(&in, end_of(SERVER, CLIENT, address), nodes[SERVER].ends[0], (RVMAX_Way)7), RVMA_ERR_ARGUMENT,
            in, "no way");
    CHECK(RVMAX_Rendezvous_open(&out, end_of(CLIENT, SERVER, address), nodes[CLIENT].ends[0], way) == RVMA_SUCCESS);
    CHECK(RVMAX_Rendezvous_connect(&out, SHORT) == RVMA_ERR_TIMEOUT);
    CHECK(RVMAX_Rendezvous_listen(&in, end_of(SERVER, CLIENT, address), nodes[SERVER].ends[0], way) == RVMA_SUCCESS);
    CHECK(RVMAX_Rendezvous_connect(&out, LIMIT) == RVMA_SUCCESS);

    REFUSES(RVMAX_Rendezvous_finish(&out, LIMIT), RVMA_ERR_REFUSED, out, "no message");
    REFUSES(RVMAX_Rendezvous_next(&in, &length, 4000), RVMA_ERR_TIMEOUT, in, "did not come");
    REFUSES(RVMAX_Rendezvous_accept(&in, to, LONG, LIMIT), RVMA_ERR_REFUSED, in, "no message");
    REFUSES(RVMAX_Rendezvous_wait(&in, LIMIT), RVMA_ERR_REFUSED, in, "no message");
    REFUSES(RVMAX_Rendezvous_announce(&out, from, RVMAX_MOST_BYTES + 1, LIMIT), RVMA_ERR_ARGUMENT, out, "longer");
    for (unsigned i = 0; i < sizeof LENGTHS / sizeof *LENGTHS; i++) {
        fill(from, i, LENGTHS[i]);
        memset(to, 0xEE, LONG);
        CHECK(RVMAX_Rendezvous_announce(&out, from, LENGTHS[i], LIMIT) == RVMA_SUCCESS);
        REFUSES(RVMAX_Rendezvous_announce(&out, from, 1, LIMIT), RVMA_ERR_REFUSED, out, "not finished");
        CHECK(RVMAX_Rendezvous_next(&in, &length, LIMIT) == RVMA_SUCCESS && length == LENGTHS[i]);
        CHECK(RVMAX_Rendezvous_next(&in, &length, LIMIT) == RVMA_SUCCESS && length == LENGTHS[i]);
        if (length > 0) {
            REFUSES(RVMAX_Rendezvous_accept(&in, to, length - 1, LIMIT), RVMA_ERR_ARGUMENT, in, "longer than the buffer");
            REFUSES(RVMAX_Rendezvous_finish(&out, 4000), RVMA_ERR_TIMEOUT, out, "did not come");
        }
        CHECK(RVMAX_Rendezvous_accept(&in, to, length, LIMIT) == RVMA_SUCCESS);
        REFUSES(RVMAX_Rendezvous_accept(&in, to, length, LIMIT), RVMA_ERR_REFUSED, in, "no message");
        if (way == RVMAX_BY_PUT && length > 0) {
            CHECK(RVMAX_Rendezvous_wait(&in, 4000) == RVMA_ERR_TIMEOUT);
            CHECK(RVMAX_Rendezvous_finish(&out, LIMIT) == RVMA_SUCCESS);
            memset(from, 0, LONG);
            CHECK(RVMAX_Rendezvous_wait(&in, LIMIT) == RVMA_SUCCESS);
        } else {
            CHECK(RVMAX_Rendezvous_wait(&in, LIMIT) == RVMA_SUCCESS);
            CHECK(RVMAX_Rendezvous_finish(&out, LIMIT) == RVMA_SUCCESS);
        }
        CHECK(same(to, i, length) && (length == LONG || to[length] == 0xEE));
    }

    /* A message that the receiver does not want. */
    CHECK(RVMAX_Rendezvous_announce(&out, from, LONG, LIMIT) == RVMA_SUCCESS);
    CHECK(RVMAX_Rendezvous_next(&in, &length, LIMIT) == RVMA_SUCCESS);
    CHECK(RVMAX_Rendezvous_decline(&in, LIMIT) == RVMA_SUCCESS);
    REFUSES(RVMAX_Rendezvous_finish(&out, LIMIT), RVMA_ERR_REFUSED, out, "declined");

    /* A receiver that closes gives its buffer back. */
    CHECK(RVMAX_Rendezvous_announce(&out, from, LONG, LIMIT) == RVMA_SUCCESS);
    CHECK(RVMAX_Rendezvous_next(&in, &length, LIMIT) == RVMA_SUCCESS);
    in.way = way == RVMAX_BY_PUT ? RVMAX_BY_GET : RVMAX_BY_PUT;
    in.announced = 0;
    CHECK(RVMAX_Eager_send(&out.notices, "none", 4, LIMIT) == RVMA_SUCCESS);
    REFUSES(RVMAX_Rendezvous_next(&in, &length, LIMIT), RVMA_ERR_PUT, in, "no notice");
    rvmax_Notice other = {RVMAX_ANNOUNCED, (uint32_t)way, 5};
    CHECK(RVMAX_Eager_send(&out.notices, &other, sizeof other, LIMIT) == RVMA_SUCCESS);
    REFUSES(RVMAX_Rendezvous_next(&in, &length, LIMIT), RVMA_ERR_PUT, in, "other way");
    RVMAX_Rendezvous_in_close(&in);
    RVMAX_Rendezvous_out_close(&out);
}

static void ring(unsigned slots, uint64_t address) {
    enum { MESSAGES = 17 };
    RVMAX_Ring_in in;
    RVMAX_Ring_out out;
    void *message;
    int64_t length;
    CHECK(RVMAX_RING_IN_BYTES(4, SIZE) <= sizeof nodes[0].ends[0] && RVMAX_RING_OUT_BYTES(4, SIZE) <= sizeof nodes[0].ends[0]);
    CHECK(RVMAX_Ring_open(&out, end_of(CLIENT, SERVER, address), nodes[CLIENT].ends[0], slots, SIZE) == RVMA_SUCCESS);
    CHECK(RVMAX_Ring_connect(&out, SHORT) == RVMA_ERR_TIMEOUT);
    CHECK(RVMAX_Ring_listen(&in, end_of(SERVER, CLIENT, address), nodes[SERVER].ends[0], slots, SIZE) == RVMA_SUCCESS);
    CHECK(RVMAX_Ring_connect(&out, LIMIT) == RVMA_SUCCESS);
    REFUSES(RVMAX_Ring_send(&out, scratch, 0, LIMIT), RVMA_ERR_ARGUMENT, out, "empty");
    REFUSES(RVMAX_Ring_send(&out, scratch, SIZE + 1, LIMIT), RVMA_ERR_ARGUMENT, out, "longer than a slot");
    REFUSES(RVMAX_Ring_release(&in, LIMIT), RVMA_ERR_REFUSED, in, "not released");
    unsigned sent = 0, got = 0;
    while (got < MESSAGES) {
        while (sent < MESSAGES && sent - got < slots) {
            fill(scratch, sent, length_of(sent, 1));
            /* A credit comes for half of the slots. */
            int due = sent - got <= slots / 2;
            RVMA_Status status = RVMAX_Ring_send(&out, scratch, length_of(sent, 1), due ? LIMIT : 8000);
            CHECK(status == RVMA_SUCCESS || (status == RVMA_ERR_TIMEOUT && !due));
            if (status != RVMA_SUCCESS) {
                break;
            }
            sent++;
        }
        /* Without a slot nothing is sent. */
        CHECK(sent - got < slots || RVMAX_Ring_send(&out, scratch, 1, 4000) == RVMA_ERR_TIMEOUT);
        CHECK(RVMAX_Ring_next(&in, &message, &length, LIMIT) == RVMA_SUCCESS);
        CHECK(length == length_of(got, 1) && same(message, got, length));
        CHECK(RVMAX_Ring_release(&in, LIMIT) == RVMA_SUCCESS);
        got++;
    }
    CHECK(RVMAX_Ring_flush(&out, LIMIT) == RVMA_SUCCESS);
    REFUSES(RVMAX_Ring_next(&in, &message, &length, 4000), RVMA_ERR_TIMEOUT, in, "did not come");

    /* A credit for more than was sent is none. */
    uint64_t credit = UINT64_MAX;
    CHECK(RVMAX_Eager_send(&in.credits, &credit, sizeof credit, LIMIT) == RVMA_SUCCESS);
    RVMA_Status status = RVMA_SUCCESS;
    for (unsigned i = 0; i <= 2 * slots && status == RVMA_SUCCESS; i++) {
        status = RVMAX_Ring_send(&out, scratch, 1, LIMIT);
    }
    CHECK(status == RVMA_ERR_PUT && strstr(out.end.why, "credit"));
    REFUSES(RVMAX_Ring_send(&out, scratch, 1, LIMIT), RVMA_ERR_REFUSED, out, "failed before");
    CHECK(RVMAX_Ring_flush(&out, LIMIT) == RVMA_SUCCESS);
    RVMAX_Ring_out_close(&out);
    RVMAX_Ring_in_close(&in);
}

/* Answers one request with its bytes in reverse. */
static void serve(RVMAX_Server *server) {
    RVMAX_Request request;
    CHECK(RVMAX_Server_next(server, &request, LIMIT) == RVMA_SUCCESS);
    REFUSES(RVMAX_Server_next(server, &request, LIMIT), RVMA_ERR_REFUSED, *server, "not answered");
    REFUSES(RVMAX_Server_reply(server, &request, scratch, REPLY + 1, LIMIT), RVMA_ERR_ARGUMENT, *server, "longer");
    int64_t length = request.length < REPLY ? request.length : REPLY;
    for (int64_t at = 0; at < length; at++) {
        scratch[at] = ((const unsigned char *)request.bytes)[length - 1 - at];
    }
    CHECK(RVMAX_Server_reply(server, &request, scratch, length, LIMIT) == RVMA_SUCCESS);
    REFUSES(RVMAX_Server_reply(server, &request, scratch, length, LIMIT), RVMA_ERR_REFUSED, *server, "no request");
}

static int reversed(const unsigned char *bytes, unsigned message, int64_t length) {
    for (int64_t at = 0; at < length; at++) {
        if (bytes[at] != byte_of(message, length - 1 - at)) {
            return 0;
        }
    }
    return 1;
}

/* A message that is no request. */
static void disturb(int64_t length, uint64_t offset) {
    RVMA_Addr to = {SERVER, PROCESS};
    RVMA_Op op;
    CHECK(RVMA_Put(nics[OTHER], nodes[OTHER].bytes, length, &to, 0x500, KEY, offset, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(nics[OTHER], op, LIMIT) == RVMA_SUCCESS);
}

static void calls(void) {
    RVMAX_Server server;
    RVMAX_Client clients[2];
    RVMAX_Request request;
    const void *reply;
    int64_t length;
    static const int NODE[] = {CLIENT, OTHER};
    unsigned char *bytes = nodes[CLIENT].bytes;
    CHECK(RVMAX_SERVER_BYTES(SLOTS, SIZE, REPLY) <= sizeof nodes[0].ends[0]);
    for (int i = 0; i < 2; i++) {
        RVMA_Addr self = {(uint16_t)NODE[i], PROCESS};
        CHECK(RVMAX_Client_open(&clients[i], end_of(NODE[i], SERVER, 0x500), self, 0x600, nodes[NODE[i]].ends[1], SIZE, REPLY) ==
              RVMA_SUCCESS);
    }
    /* No server yet: the wait for one ends, and a call fails. */
    CHECK(RVMAX_Client_connect(&clients[0], SHORT) == RVMA_ERR_TIMEOUT);
    CHECK(RVMAX_Call(&clients[0], bytes, 5, &reply, &length, LIMIT) == RVMA_ERR_PUT);
    CHECK(RVMAX_Server_listen(&server, end_of(SERVER, 0, 0x500), nodes[SERVER].ends[1], SLOTS, SIZE, REPLY) == RVMA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        CHECK(RVMAX_Client_connect(&clients[i], LIMIT) == RVMA_SUCCESS);
        REFUSES(RVMAX_Call_wait(&clients[i], &reply, &length, LIMIT), RVMA_ERR_REFUSED, clients[i], "no call");
        REFUSES(RVMAX_Call_cancel(&clients[i]), RVMA_ERR_REFUSED, clients[i], "no call");
        REFUSES(RVMAX_Call_start(&clients[i], bytes, SIZE + 1, LIMIT), RVMA_ERR_ARGUMENT, clients[i], "longer");
    }
    REFUSES(RVMAX_Server_next(&server, &request, 4000), RVMA_ERR_TIMEOUT, server, "did not come");

    /* Two clients at a time, over all slots several times, with messages between that are no requests. */
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 2; i++) {
            int64_t size = length_of(round + i, 0);
            fill(scratch, round * 2 + i, size);
            CHECK(RVMAX_Call_start(&clients[i], scratch, size, LIMIT) == RVMA_SUCCESS);
            REFUSES(RVMAX_Call_start(&clients[i], scratch, size, LIMIT), RVMA_ERR_REFUSED, clients[i], "no reply yet");
        }
        serve(&server);
        serve(&server);
        for (unsigned i = 0; i < 2; i++) {
            int64_t size = length_of(round + i, 0), wanted = size < REPLY ? size : REPLY;
            CHECK(RVMAX_Call_wait(&clients[i], &reply, &length, LIMIT) == RVMA_SUCCESS && length == wanted);
            /* The server reverses as many as it answers. */
            CHECK(reversed(reply, round * 2 + i, wanted));
        }
        memset(nodes[OTHER].bytes, 0, 64);
        disturb(round == 1 ? 0 : 31, 0);
        disturb(RVMAX_HEADER, round == 2 ? 64 : 0);
    }
    CHECK(server.malformed >= 10 && server.undelivered == 0);

    /* A header of a request that names nodes that are none. */
    rvmax_Header header = clients[1].header;
    header.nid = 256;
    memcpy(nodes[OTHER].bytes, &header, sizeof header);
    disturb(RVMAX_HEADER, 0);
    CHECK(RVMAX_Server_next(&server, &request, SHORT) == RVMA_ERR_TIMEOUT);
    CHECK(server.malformed == 13);
    header.nid = 77;
    memcpy(nodes[OTHER].bytes, &header, sizeof header);
    disturb(RVMAX_HEADER, 0);
    CHECK(RVMAX_Server_next(&server, &request, LIMIT) == RVMA_SUCCESS && request.length == 0 && request.client.nid == 77);
    CHECK(RVMAX_Server_reply(&server, &request, NULL, 0, LIMIT) == RVMA_ERR_ARGUMENT);
    CHECK(RVMAX_Server_drop(&server) == RVMA_SUCCESS);

    /* The reply of a call that was given up is refused by the NIC; the next call has its own. */
    fill(scratch, 90, 700);
    CHECK(RVMAX_Call(&clients[0], scratch, 700, &reply, &length, SHORT) == RVMA_ERR_TIMEOUT && strstr(clients[0].end.why, "did not come"));
    memset(clients[0].reply, 0xEE, REPLY);
    serve(&server);
    CHECK(RVMAX_Server_flush(&server, LIMIT) == RVMA_SUCCESS && server.undelivered == 1);
    CHECK(clients[0].reply[0] == 0xEE && clients[0].reply[REPLY - 1] == 0xEE);
    fill(scratch, 91, 300);
    CHECK(RVMAX_Call_start(&clients[0], scratch, 300, LIMIT) == RVMA_SUCCESS);
    serve(&server);
    CHECK(RVMAX_Call_wait(&clients[0], &reply, &length, LIMIT) == RVMA_SUCCESS && length == 300 && reversed(reply, 91, 300));

    /* A client that is gone does not stop the server. */
    CHECK(RVMAX_Call_start(&clients[1], scratch, 10, LIMIT) == RVMA_SUCCESS);
    CHECK(RVMAX_Call_start(&clients[0], scratch, 10, LIMIT) == RVMA_SUCCESS);
    RVMAX_Client_close(&clients[1]);
    serve(&server);
    serve(&server);
    CHECK(RVMAX_Call_wait(&clients[0], &reply, &length, LIMIT) == RVMA_SUCCESS && length == 10);
    CHECK(RVMAX_Server_flush(&server, LIMIT) == RVMA_SUCCESS && server.undelivered == 2);
    RVMAX_Client_close(&clients[0]);
    RVMAX_Server_close(&server);
}

int main(void) {
    RVMA_Wire wire = {0.02, 0.02, 4, 250, 50, 11};
    RVMA_Network *network = RVMA_Simulate(NODES, &wire);
    CHECK(network != NULL);
    for (int i = 0; i < NODES; i++) {
        nics[i] = RVMA_Open_node(network, i, PROCESS);
        CHECK(nics[i] != NULL && RVMA_Register(nics[i], &nodes[i], sizeof nodes[i]) == RVMA_SUCCESS);
    }
    eager();
    rendezvous(RVMAX_BY_GET, 0x200);
    rendezvous(RVMAX_BY_PUT, 0x300);
    ring(4, 0x400);
    ring(1, 0x440);
    calls();
    CHECK(RVMA_Shutdown(network) == RVMA_SUCCESS);
    return 0;
}
