/* Ends of puts: each is waited for once, a limit ends those that find no buffer, and a timeout names the last refusal. */
#include "check.h"

enum { PROCESS = 3, SIZE = 3000 };
static const uint64_t MAILBOX = 0x77;
static unsigned char sent[SIZE];
static struct {
    RVMA_Record record;
    unsigned char bytes[SIZE];
} received;

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
