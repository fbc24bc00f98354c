/* Windows that count operations, catch what finds no place, or are silent; and those that cannot be. */
#include "check.h"

enum { PROCESS = 6, SIZE = 400, HEADER = 48 };
static unsigned char sent[SIZE];
static struct {
    RVMA_Record records[4];
    unsigned char bytes[4][4096];
} memory;

int main(void) {
    RVMA_Network *network = RVMA_Simulate(2, NULL);
    CHECK(network != NULL);
    RVMA_Nic *sender = RVMA_Open_node(network, 0, PROCESS), *receiver = RVMA_Open_node(network, 1, PROCESS);
    CHECK(sender && receiver);
    memset(sent, 9, sizeof sent);
    CHECK(RVMA_Register(sender, sent, sizeof sent) == RVMA_SUCCESS);
    CHECK(RVMA_Register(receiver, &memory, sizeof memory) == RVMA_SUCCESS);
    RVMA_Addr to = {1, PROCESS};
    RVMA_Op op;

    /* Two empty puts and one with bytes complete a buffer that counts three operations. */
    RVMA_Win ops = RVMA_Init_window(receiver, 1, 1, 3, RVMA_EPOCH_OPS);
    CHECK(ops != NULL && RVMA_Post_buffer(memory.bytes[0], SIZE, &memory.records[0], ops) == RVMA_SUCCESS);
    CHECK(RVMA_Put(sender, NULL, 0, &to, 1, 1, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
    CHECK(RVMA_Put(sender, sent, SIZE, &to, 1, 1, 0, NULL) == RVMA_SUCCESS);
    FAILS(RVMA_Wait(receiver, &memory.records[0], 80000), RVMA_ERR_TIMEOUT, "completion record");
    CHECK(RVMA_Put(sender, sent + 7, 0, &to, 1, 1, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(receiver, &memory.records[0], 80000) == RVMA_SUCCESS);
    CHECK(memory.records[0].status == RVMA_DONE && memory.records[0].length == SIZE);
    CHECK(memcmp(memory.bytes[0], sent, SIZE) == 0);
    FAILS(RVMA_Get(sender, 0, &to, 1, 1, 0, 2, 2, 0, NULL), RVMA_ERR_ARGUMENT, "get of no bytes");

    /* An empty put of a window that counts bytes, managed or not, arrives and changes nothing. */
    RVMA_Win plain = RVMA_Init_window(receiver, 7, 1, SIZE, RVMA_EPOCH_BYTES);
    RVMA_Win pile = RVMA_Init_window_as(receiver, 8, 1, 1, RVMA_EPOCH_BYTES, RVMA_MANAGED);
    CHECK(plain != NULL && RVMA_Post_buffer(memory.bytes[2], SIZE, &memory.records[2], plain) == RVMA_SUCCESS);
    CHECK(pile != NULL && RVMA_Post_buffer(memory.bytes[3], SIZE, &memory.records[3], pile) == RVMA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        int size = i * SIZE;
        CHECK(RVMA_Put(sender, sent, size, &to, 7, 1, 0, &op) == RVMA_SUCCESS);
        CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
        CHECK(RVMA_Put_to(sender, sent, size, &to, 8, 1, 0, RVMA_MANAGED, 0, &op) == RVMA_SUCCESS);
        CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
        CHECK(i == 1 || (memory.records[2].status == 0 && memory.records[3].status == 0));
    }
    for (int i = 2; i < 4; i++) {
        CHECK(RVMA_Wait(receiver, &memory.records[i], 80000) == RVMA_SUCCESS && memory.records[i].length == SIZE);
        CHECK(memory.records[i].status == RVMA_DONE && memcmp(memory.bytes[i], sent, SIZE) == 0);
    }

    /* No pointers are asked for: none is written, and none counts. */
    CHECK(RVMA_Win_get_buf_ptrs(plain, NULL, 0) == 0 && RVMA_Win_get_buf_ptrs(plain, NULL, -1) == 0);

    /* Numbers of buffers go on beyond 16 bits, of which the wire has the low ones. */
    memset(&memory.records[3], 0, sizeof memory.records[3]);
    RVMA_Win tagged = RVMA_Init_window_as(receiver, 9, 1, SIZE, RVMA_EPOCH_BYTES, RVMA_TAGGED);
    CHECK(tagged != NULL && RVMA_Post_buffer(memory.bytes[3], SIZE, &memory.records[3], tagged) == RVMA_SUCCESS);
    CHECK(RVMA_Put_to(sender, sent, SIZE, &to, 9, 1, 0, RVMA_TAGGED, 7 << 16, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(receiver, &memory.records[3], 80000) == RVMA_SUCCESS && memory.records[3].epoch == 0);

    /* What cannot be is refused with the reason. */
    CHECK(!RVMA_Init_window_as(receiver, 2, 1, 3, RVMA_EPOCH_OPS, RVMA_MANAGED) && strstr(RVMA_Error(), "cannot count operations"));
    CHECK(!RVMA_Init_window_as(receiver, 2, 1, 3, RVMA_EPOCH_OPS, RVMA_STREAM) && strstr(RVMA_Error(), "cannot count operations"));
    CHECK(!RVMA_Init_window_with(receiver, 2, 1, 3, RVMA_EPOCH_BYTES, RVMA_STREAM, RVMA_SPILL) && strstr(RVMA_Error(), "stream"));
    CHECK(!RVMA_Init_window_with(receiver, 2, 1, 3, RVMA_EPOCH_BYTES, RVMA_STREAM, RVMA_CATCH_ALL) && strstr(RVMA_Error(), "stream"));
    CHECK(!RVMA_Init_window_with(receiver, 2, 1, 3, RVMA_EPOCH_BYTES, RVMA_BOUND, RVMA_CATCH_ALL) &&
          strstr(RVMA_Error(), "must be managed"));
    CHECK(!RVMA_Init_window_with(receiver, 2, 1, 3, RVMA_EPOCH_BYTES, RVMA_BOUND, 64) && strstr(RVMA_Error(), "flags"));
    CHECK(!RVMA_Init_window(receiver, 2, 1, 0, RVMA_EPOCH_BYTES) && strstr(RVMA_Error(), "threshold"));

    /* The catch-all gets what goes to no window, and what finds no buffer in a window that spills: header and payload. */
    RVMA_Win all = RVMA_Init_window_with(receiver, 3, 1, 1, RVMA_EPOCH_BYTES, RVMA_MANAGED, RVMA_CATCH_ALL);
    CHECK(all != NULL && RVMA_Post_buffer(memory.bytes[1], 2 * (HEADER + SIZE), &memory.records[1], all) == RVMA_SUCCESS);
    RVMA_Win spills = RVMA_Init_window_with(receiver, 4, 1, SIZE, RVMA_EPOCH_BYTES, RVMA_BOUND, RVMA_SPILL);
    CHECK(spills != NULL);
    CHECK(RVMA_Put(sender, sent, SIZE, &to, 77, 5, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
    CHECK(RVMA_Put(sender, sent, SIZE, &to, 4, 1, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(receiver, &memory.records[1], 80000) == RVMA_SUCCESS);
    CHECK(memory.records[1].length == 2 * (HEADER + SIZE));
    CHECK(memcmp(memory.bytes[1] + HEADER, sent, SIZE) == 0);
    CHECK(memcmp(memory.bytes[1] + HEADER + SIZE + HEADER, sent, SIZE) == 0);
    CHECK(RVMA_Close_win(all) == RVMA_SUCCESS);

    /* A window that is not silent reports a wrong key at once; the sender of a silent one learns nothing. */
    RVMA_Win loud = RVMA_Init_window(receiver, 5, 1, SIZE, RVMA_EPOCH_BYTES);
    RVMA_Win silent = RVMA_Init_window_with(receiver, 6, 1, SIZE, RVMA_EPOCH_BYTES, RVMA_BOUND, RVMA_SILENT);
    CHECK(loud && silent);
    CHECK(RVMA_Put(sender, sent, SIZE, &to, 5, 2, 0, &op) == RVMA_SUCCESS);
    FAILS(RVMA_Wait_put(sender, op, 200000), RVMA_ERR_PUT, "key");
    CHECK(RVMA_Put(sender, sent, SIZE, &to, 6, 2, 0, &op) == RVMA_SUCCESS);
    FAILS(RVMA_Wait_put(sender, op, 200000), RVMA_ERR_TIMEOUT, "no refusal has been reported");
    CHECK(RVMA_Shutdown(network) == RVMA_SUCCESS);
    return 0;
}
