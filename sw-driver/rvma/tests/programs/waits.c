/* Ends of puts: each is waited for once, a limit ends those that find no buffer, and a timeout names the last refusal. A put
 * that the card does not take has no place in its stream. */
#include "check.h"

enum { PROCESS = 3, SIZE = 3000 };
static const uint64_t MAILBOX = 0x77;
static unsigned char sent[SIZE];
static struct {
    RVMA_Record record;
    unsigned char bytes[SIZE];
} received;

/* A message of a stream, of one byte repeated, arrives, and is the next of the stream after an empty one, which fills nothing. */
static void arrives(RVMA_Nic *sender, RVMA_Nic *receiver, RVMA_Win win, RVMA_Stream *stream, int byte) {
    uint16_t next = stream->next;
    RVMA_Op op;
    memset(sent, byte, sizeof sent);
    memset(&received, 0, sizeof received);
    CHECK(RVMA_Post_buffer(received.bytes, SIZE, &received.record, win) == RVMA_SUCCESS);
    CHECK(RVMA_Put_next(sender, NULL, 0, stream, &op) == RVMA_SUCCESS);
    CHECK(stream->next == (uint16_t)(next + 1));
    CHECK(RVMA_Wait_put(sender, op, 800000) == RVMA_SUCCESS);
    CHECK(RVMA_Put_next(sender, sent, SIZE, stream, &op) == RVMA_SUCCESS);
    CHECK(stream->next == (uint16_t)(next + 2));
    CHECK(RVMA_Wait(receiver, &received.record, 800000) == RVMA_SUCCESS);
    CHECK(received.record.status == RVMA_DONE && memcmp(received.bytes, sent, SIZE) == 0);
    CHECK(RVMA_Wait_put(sender, op, 800000) == RVMA_SUCCESS);
}

/* A put into a stream that the call or the card refuses takes no number: the next one arrives, and the window waits for none. */
static void failing_puts_of_a_stream(RVMA_Nic *sender, RVMA_Nic *receiver, RVMA_Addr to) {
    static unsigned char unregistered[SIZE + 2 * 4096];
    unsigned char *outside = unregistered + 4096;
    RVMA_Win win = RVMA_Init_window_as(receiver, MAILBOX + 2, 5, SIZE, RVMA_EPOCH_BYTES, RVMA_STREAM);
    CHECK(win != NULL);
    RVMA_Stream stream = {to, 5, MAILBOX + 2, 0};
    RVMA_Op op;
    for (int message = 1; message <= 3; message++) {
        uint16_t next = stream.next;
        FAILS(RVMA_Put_next(sender, outside, SIZE, &stream, &op), RVMA_ERR_REFUSED, "registered");
        FAILS(RVMA_Put_next(sender, sent, -1, &stream, &op), RVMA_ERR_ARGUMENT, "size");
        FAILS(RVMA_Put_next(sender, sent, (int64_t)1 << 32, &stream, &op), RVMA_ERR_ARGUMENT, "size");
        FAILS(RVMA_Put_next(NULL, sent, SIZE, &stream, &op), RVMA_ERR_ARGUMENT, "NULL");
        stream.dest_addr.nid = 2;
        FAILS(RVMA_Put_next(sender, sent, SIZE, &stream, &op), RVMA_ERR_ARGUMENT, "the network has 2");
        stream.dest_addr.nid = to.nid;
        CHECK(stream.next == next);
        arrives(sender, receiver, win, &stream, message);
    }
}

int main(void) {
    RVMA_Network *network = RVMA_Simulate(2, NULL);
    CHECK(network != NULL);
    RVMA_Nic *sender = RVMA_Open_node(network, 0, PROCESS), *other = RVMA_Open_node(network, 0, PROCESS + 1);
    RVMA_Nic *receiver = RVMA_Open_node(network, 1, PROCESS);
    CHECK(sender && other && receiver);
    CHECK(RVMA_Register(sender, sent, sizeof sent) == RVMA_SUCCESS);
    CHECK(RVMA_Register(receiver, &received, sizeof received) == RVMA_SUCCESS);
    RVMA_Win win = RVMA_Init_window(receiver, MAILBOX, 5, SIZE, RVMA_EPOCH_BYTES);
    CHECK(win != NULL);
    RVMA_Addr to = {1, PROCESS}, nowhere = {2, PROCESS}, far = {300, PROCESS}, no_process = {1, 999};
    RVMA_Op first, second;

    /* Destinations that do not exist are refused by the call. */
    FAILS(RVMA_Put(sender, sent, SIZE, &nowhere, MAILBOX, 5, 0, &first), RVMA_ERR_ARGUMENT, "there is no node 2; the network has 2");
    FAILS(RVMA_Put(sender, sent, SIZE, &far, MAILBOX, 5, 0, &first), RVMA_ERR_ARGUMENT, "there is no node 300; the network has 2");
    FAILS(RVMA_Put(sender, sent, SIZE, &no_process, MAILBOX, 5, 0, &first), RVMA_ERR_ARGUMENT, "there is no process 999");
    FAILS(RVMA_Get(sender, 8, &nowhere, MAILBOX, 5, 0, 1, 1, 0, &first), RVMA_ERR_ARGUMENT, "the network has 2");
    RVMA_Stream stream = {nowhere, 5, MAILBOX, 0};
    FAILS(RVMA_Put_next(sender, sent, SIZE, &stream, &first), RVMA_ERR_ARGUMENT, "the network has 2");
    CHECK(stream.next == 0);
    failing_puts_of_a_stream(sender, receiver, to);

    /* No operation has been posted. */
    FAILS(RVMA_Wait_put(sender, 0, 4000), RVMA_ERR_ARGUMENT, "unknown");
    FAILS(RVMA_Wait_put(sender, 0xABCDEF01u, 4000), RVMA_ERR_ARGUMENT, "unknown");

    /* A put that arrives; a second wait for it is an error at once, with any limit. */
    CHECK(RVMA_Post_buffer(received.bytes, SIZE, &received.record, win) == RVMA_SUCCESS);
    CHECK(RVMA_Put(sender, sent, SIZE, &to, MAILBOX, 5, 0, &first) == RVMA_SUCCESS);
    FAILS(RVMA_Wait_put(other, first, 4000), RVMA_ERR_ARGUMENT, "unknown");
    CHECK(RVMA_Wait_put(sender, first, 400000) == RVMA_SUCCESS);
    FAILS(RVMA_Wait_put(sender, first, RVMA_FOREVER), RVMA_ERR_ARGUMENT, "waited for once");
    FAILS(RVMA_Wait_put(sender, first + 1, RVMA_FOREVER), RVMA_ERR_ARGUMENT, "unknown");

    /* Without a limit a put without a buffer waits for one: a timeout names the refusal, and the put arrives when there is a buffer. */
    CHECK(RVMA_Put(sender, sent, SIZE, &to, MAILBOX, 5, 0, &first) == RVMA_SUCCESS);
    FAILS(RVMA_Wait_put(sender, first, 240000), RVMA_ERR_TIMEOUT, "last refusal: no buffer is posted to the window");
    CHECK(RVMA_Post_buffer(received.bytes, SIZE, &received.record, win) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(sender, first, 800000) == RVMA_SUCCESS);
    FAILS(RVMA_Put(sender, sent, SIZE, &to, MAILBOX, 5, 0, &first) == RVMA_SUCCESS ? RVMA_Wait_put(sender, first, 0) : RVMA_SUCCESS,
          RVMA_ERR_TIMEOUT, "no refusal has been reported");
    CHECK(RVMA_Post_buffer(received.bytes, SIZE, &received.record, win) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(sender, first, 800000) == RVMA_SUCCESS);

    /* With a limit it ends, and so does a get of a window that has completed nothing. */
    FAILS(RVMA_Set_put_limit(sender, 0), RVMA_ERR_ARGUMENT, "put limit");
    FAILS(RVMA_Set_put_limit(sender, 1u << 30), RVMA_ERR_ARGUMENT, "put limit");
    CHECK(RVMA_Set_put_limit(sender, 80000) == RVMA_SUCCESS);
    FAILS(RVMA_Set_put_turns(sender, 0), RVMA_ERR_ARGUMENT, "turns of 0 puts; choose 1 to 64");
    FAILS(RVMA_Set_put_turns(sender, 256), RVMA_ERR_ARGUMENT, "turns of 256 puts; choose 1 to 64");
    CHECK(RVMA_Set_put_turns(sender, 8) == RVMA_SUCCESS);
    RVMA_Congestion control = {1, 2, 1, 1023};
    FAILS(RVMA_Set_congestion_control(sender, &control), RVMA_ERR_ARGUMENT, "windows of 2, 1 and 1023 segments");
    control.first = 8;
    CHECK(RVMA_Set_congestion_control(sender, &control) == RVMA_SUCCESS);
    RVMA_Win empty = RVMA_Init_window(receiver, MAILBOX + 1, 5, 8, RVMA_EPOCH_BYTES);
    CHECK(empty != NULL);
    CHECK(RVMA_Put(sender, sent, SIZE, &to, MAILBOX, 5, 0, &first) == RVMA_SUCCESS);
    CHECK(RVMA_Get(sender, 8, &to, MAILBOX + 1, 5, 0, 1, 1, 0, &second) == RVMA_SUCCESS);
    FAILS(RVMA_Wait_put(sender, first, 40000), RVMA_ERR_TIMEOUT, "10000 cycles");
    FAILS(RVMA_Wait_put(sender, first, 400000), RVMA_ERR_PUT, "no buffer is posted to the window");
    FAILS(RVMA_Wait_put(sender, second, 400000), RVMA_ERR_PUT, "no buffer is posted to the window");
    FAILS(RVMA_Wait_put(sender, second, 400000), RVMA_ERR_ARGUMENT, "waited for once");

    /* What failed has left no trace: the next put to the window arrives. */
    CHECK(RVMA_Set_put_limit(sender, RVMA_FOREVER) == RVMA_SUCCESS);
    memset(sent, 7, sizeof sent);
    CHECK(RVMA_Post_buffer(received.bytes, SIZE, &received.record, win) == RVMA_SUCCESS);
    CHECK(RVMA_Put(sender, sent, SIZE, &to, MAILBOX, 5, 0, &first) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(receiver, &received.record, 800000) == RVMA_SUCCESS);
    CHECK(received.record.status == RVMA_DONE && memcmp(received.bytes, sent, SIZE) == 0);
    CHECK(RVMA_Wait_put(sender, first, 800000) == RVMA_SUCCESS);
    CHECK(RVMA_Shutdown(network) == RVMA_SUCCESS);
    return 0;
}
