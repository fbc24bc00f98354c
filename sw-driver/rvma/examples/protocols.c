/* Node 0 sends node 1 messages by every protocol of rvma_exchange.h; node 1 checks them.
 *
 *     cc protocols.c $(pkg-config --cflags --libs rvma) -o protocols
 *     ./protocols sim: 0 sim: 1                  both nodes in this process, simulated
 *     ./protocols unix:/run/nic0.sock 0 &        two processes, each with a served card:
 *     ./protocols unix:/run/nic1.sock 1              spindle serve, joined by --link
 *
 * Arguments: the address of a card and its number in the network, 0 or 1, for one node or for both.
 *
 * Each step is a call of one of the two nodes, in an order in which one thread can carry out those of both.
 */
#include <rvma_exchange.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROCESS = 4, MESSAGES = 12, SLOTS = 4, SIZE = 4000, LONG = 200000, QUESTION = 100, ANSWER = 8 };
enum { EAGER = 0x100, GET = 0x200, PUT = 0x300, RING = 0x400, CALLS = 0x500, REPLIES = 0x600 };
static const uint64_t SECOND = 1000000000, LINGER = 600000;
static const RVMA_Key KEY = 99;

/* What the cards reach. */
static struct Memory {
    unsigned char eager[RVMAX_EAGER_IN_BYTES(SLOTS, SIZE) + RVMAX_EAGER_OUT_BYTES(SIZE)] __attribute__((aligned(64)));
    unsigned char get[RVMAX_RENDEZVOUS_BYTES] __attribute__((aligned(64)));
    unsigned char put[RVMAX_RENDEZVOUS_BYTES] __attribute__((aligned(64)));
    unsigned char ring[RVMAX_RING_IN_BYTES(SLOTS, SIZE) + RVMAX_RING_OUT_BYTES(SLOTS, SIZE)] __attribute__((aligned(64)));
    unsigned char calls[RVMAX_SERVER_BYTES(SLOTS, QUESTION, ANSWER) + RVMAX_CLIENT_BYTES(QUESTION, ANSWER)]
        __attribute__((aligned(64)));
    unsigned char bytes[LONG];
} __attribute__((aligned(64))) memories[2];

/* The nodes of this process: node 0 sends and calls, node 1 receives and serves. */
static RVMA_Nic *nics[2];
static int here[2];
static RVMAX_Eager_out eager_out;
static RVMAX_Eager_in eager_in;
static RVMAX_Rendezvous_out long_out[2];
static RVMAX_Rendezvous_in long_in[2];
static RVMAX_Ring_out ring_out;
static RVMAX_Ring_in ring_in;
static RVMAX_Client client;
static RVMAX_Server server;
static unsigned char message[SIZE];

static void check(int good, const char *what, const char *why) {
    if (!good) {
        fprintf(stderr, "%s: %s\n", what, why == NULL ? "wrong bytes" : why);
        exit(1);
    }
}

/* A call of the library on an end. */
#define DO(call, of) check((call) == RVMA_SUCCESS, #call, (of).end.why)

static unsigned char byte_of(int number, int64_t at) { return (unsigned char)(at * 31 + at / 251 + number * 77); }

static void fill(unsigned char *bytes, int number, int64_t length) {
    for (int64_t at = 0; at < length; at++) {
        bytes[at] = byte_of(number, at);
    }
}

static void expect(const void *bytes, int number, int64_t length, int64_t wanted) {
    check(length == wanted, "a length", NULL);
    for (int64_t at = 0; at < length; at++) {
        check(((const unsigned char *)bytes)[at] == byte_of(number, at), "a message", NULL);
    }
}

static int64_t length_of(int number) { return 1 + number * 977 % SIZE; }

static RVMAX_End end_of(int node, uint64_t address) {
    RVMAX_End end = {nics[node], {(uint16_t)(1 - node), PROCESS}, address, KEY, NULL};
    return end;
}

static void open_card(int node, const char *address) {
    RVMA_Options options = {.node = (uint32_t)node, .nodes = 2};
    here[node] = 1;
    nics[node] = RVMA_Open(address, PROCESS, &options);
    check(nics[node] != NULL, address, RVMA_Error());
    check(RVMA_Register(nics[node], &memories[node], sizeof memories[node]) == RVMA_SUCCESS, "RVMA_Register", RVMA_Error());
}

static void open_ends(void) {
    struct Memory *memory = &memories[1];
    RVMA_Addr self = {0, PROCESS};
    if (here[1]) {
        DO(RVMAX_Eager_listen(&eager_in, end_of(1, EAGER), memory->eager, SLOTS, SIZE), eager_in);
        DO(RVMAX_Rendezvous_listen(&long_in[0], end_of(1, GET), memory->get, RVMAX_BY_GET), long_in[0]);
        DO(RVMAX_Rendezvous_listen(&long_in[1], end_of(1, PUT), memory->put, RVMAX_BY_PUT), long_in[1]);
        DO(RVMAX_Ring_listen(&ring_in, end_of(1, RING), memory->ring, SLOTS, SIZE), ring_in);
        DO(RVMAX_Server_listen(&server, end_of(1, CALLS), memory->calls, SLOTS, QUESTION, ANSWER), server);
    }
    memory = &memories[0];
    if (here[0]) {
        DO(RVMAX_Eager_open(&eager_out, end_of(0, EAGER), memory->eager, SIZE), eager_out);
        DO(RVMAX_Rendezvous_open(&long_out[0], end_of(0, GET), memory->get, RVMAX_BY_GET), long_out[0]);
        DO(RVMAX_Rendezvous_open(&long_out[1], end_of(0, PUT), memory->put, RVMAX_BY_PUT), long_out[1]);
        DO(RVMAX_Ring_open(&ring_out, end_of(0, RING), memory->ring, SLOTS, SIZE), ring_out);
        DO(RVMAX_Client_open(&client, end_of(0, CALLS), self, REPLIES, memory->calls, QUESTION, ANSWER), client);
        DO(RVMAX_Eager_connect(&eager_out, SECOND), eager_out);
        DO(RVMAX_Rendezvous_connect(&long_out[0], SECOND), long_out[0]);
        DO(RVMAX_Rendezvous_connect(&long_out[1], SECOND), long_out[1]);
        DO(RVMAX_Ring_connect(&ring_out, SECOND), ring_out);
        DO(RVMAX_Client_connect(&client, SECOND), client);
    }
}

static void send_eager(int number) {
    fill(message, number, length_of(number));
    DO(RVMAX_Eager_send(&eager_out, message, length_of(number), SECOND), eager_out);
}

static void receive_eager(int number) {
    void *bytes;
    int64_t length;
    DO(RVMAX_Eager_next(&eager_in, &bytes, &length, SECOND), eager_in);
    expect(bytes, number, length, length_of(number));
    DO(RVMAX_Eager_release(&eager_in), eager_in);
}

static void send_ring(int number) {
    fill(message, number, length_of(number));
    DO(RVMAX_Ring_send(&ring_out, message, length_of(number), SECOND), ring_out);
}

static void receive_ring(int number) {
    void *bytes;
    int64_t length;
    DO(RVMAX_Ring_next(&ring_in, &bytes, &length, SECOND), ring_in);
    expect(bytes, number, length, length_of(number));
    DO(RVMAX_Ring_release(&ring_in, SECOND), ring_in);
}

/* A message in its place, from memory to memory: by get the receiver takes it, by put the sender gives it. */
static void rendezvous(RVMAX_Way way) {
    int64_t length;
    if (here[0]) {
        fill(memories[0].bytes, way, LONG);
        DO(RVMAX_Rendezvous_announce(&long_out[way], memories[0].bytes, LONG, SECOND), long_out[way]);
    }
    if (here[1]) {
        DO(RVMAX_Rendezvous_next(&long_in[way], &length, SECOND), long_in[way]);
        DO(RVMAX_Rendezvous_accept(&long_in[way], memories[1].bytes, LONG, SECOND), long_in[way]);
    }
    if (here[0] && way == RVMAX_BY_PUT) {
        DO(RVMAX_Rendezvous_finish(&long_out[way], SECOND), long_out[way]);
    }
    if (here[1]) {
        DO(RVMAX_Rendezvous_wait(&long_in[way], SECOND), long_in[way]);
        expect(memories[1].bytes, way, length, LONG);
    }
    if (here[0] && way == RVMAX_BY_GET) {
        DO(RVMAX_Rendezvous_finish(&long_out[way], SECOND), long_out[way]);
    }
}

static uint64_t sum(const unsigned char *bytes, int64_t length) {
    uint64_t sum = 0;
    for (int64_t at = 0; at < length; at++) {
        sum = sum * 31 + bytes[at];
    }
    return sum;
}

/* The server's answer is the sum of the bytes. */
static void call(int number) {
    int64_t length;
    uint64_t answer;
    if (here[0]) {
        fill(message, number, QUESTION);
        DO(RVMAX_Call_start(&client, message, QUESTION, SECOND), client);
    }
    if (here[1]) {
        RVMAX_Request request;
        DO(RVMAX_Server_next(&server, &request, SECOND), server);
        answer = sum(request.bytes, request.length);
        DO(RVMAX_Server_reply(&server, &request, &answer, sizeof answer, SECOND), server);
    }
    if (here[0]) {
        const void *reply;
        DO(RVMAX_Call_wait(&client, &reply, &length, SECOND), client);
        memcpy(&answer, reply, sizeof answer);
        check(length == sizeof answer && answer == sum(message, QUESTION), "an answer", NULL);
    }
}

int main(int count, char **arguments) {
    int nodes = (count - 1) / 2;
    if ((count != 3 && count != 5) || (nodes == 2 && atoi(arguments[2]) == atoi(arguments[4]))) {
        fprintf(stderr, "usage: %s ADDRESS NODE [ADDRESS NODE]; nodes are 0 and 1\n", arguments[0]);
        return 2;
    }
    for (int i = 0; i < nodes; i++) {
        open_card(atoi(arguments[2 * i + 2]) != 0, arguments[2 * i + 1]);
    }
    open_ends();
    for (int i = 0; i < MESSAGES + SLOTS - 1; i++) {
        if (here[0] && i < MESSAGES) {
            send_eager(i);
        }
        if (here[1] && i >= SLOTS - 1) {
            receive_eager(i - SLOTS + 1);
        }
    }
    rendezvous(RVMAX_BY_GET);
    rendezvous(RVMAX_BY_PUT);
    /* The sender is at most two messages ahead, so that it never waits for a credit that this thread has to send. */
    for (int i = 0; i < MESSAGES + 1; i++) {
        if (here[0] && i < MESSAGES) {
            send_ring(i);
        }
        if (here[1] && i >= 1) {
            receive_ring(i - 1);
        }
    }
    for (int i = 0; i < MESSAGES; i++) {
        call(i);
    }
    for (int node = 0; node < 2; node++) {
        if (here[node]) {
            printf("node %d: %d eager messages, 2 of %d bytes, %d in the ring, %d calls\n", node, MESSAGES, LONG, MESSAGES, MESSAGES);
        }
    }
    /* As in exchange.c: the last acknowledgements to the other node leave before the card is closed. */
    if (here[0]) {
        DO(RVMAX_Eager_flush(&eager_out, SECOND), eager_out);
        DO(RVMAX_Ring_flush(&ring_out, SECOND), ring_out);
    }
    if (here[1]) {
        DO(RVMAX_Server_flush(&server, SECOND), server);
    }
    RVMA_Record never = {0, 0, 0, 0, 0};
    RVMA_Wait(nics[here[0] ? 0 : 1], &never, LINGER);
    for (int node = 0; node < 2; node++) {
        check(!here[node] || RVMA_Close(nics[node]) == RVMA_SUCCESS, "RVMA_Close", RVMA_Error());
    }
    return 0;
}
