/* Memory that the NIC may reach: 16 regions, taken back when the NIC no longer uses them. */
#include "check.h"

enum { PROCESS = 2, PAGE = 4096, REGIONS = 16, SIZE = 2000 };

/* Every other page: no two share a region. */
static unsigned char *page(unsigned char *base, int number) { return base + number * 2 * PAGE; }

static RVMA_Record *record(unsigned char *page) { return (RVMA_Record *)(void *)(page + PAGE - sizeof(RVMA_Record)); }

int main(void) {
    unsigned char *raw = calloc(2 * (REGIONS + 2) + 1, PAGE), *base = raw + PAGE - (uintptr_t)raw % PAGE;
    unsigned char sent[SIZE], answer_memory[2 * PAGE], *answer = answer_memory;
    CHECK(raw != NULL);
    memset(sent, 3, sizeof sent);
    RVMA_Network *network = RVMA_Simulate(2, NULL);
    CHECK(network != NULL);
    RVMA_Nic *receiver = RVMA_Open_node(network, 1, PROCESS), *sender = RVMA_Open_node(network, 0, PROCESS);
    CHECK(receiver && sender);
    RVMA_Addr to = {1, PROCESS};
    RVMA_Op op;

    /* All 16 are checked by the NIC: a buffer is received in each. */
    CHECK(RVMA_Register(sender, sent, sizeof sent) == RVMA_SUCCESS);
    RVMA_Win win = RVMA_Init_window(receiver, 9, 9, SIZE, RVMA_EPOCH_BYTES);
    CHECK(win != NULL);
    for (int i = 0; i < REGIONS; i++) {
        CHECK(RVMA_Register(receiver, page(base, i), PAGE) == RVMA_SUCCESS);
        CHECK(RVMA_Post_buffer(page(base, i), SIZE, record(page(base, i)), win) == RVMA_SUCCESS);
        CHECK(RVMA_Put(sender, sent, SIZE, &to, 9, 9, 0, &op) == RVMA_SUCCESS);
        CHECK(RVMA_Wait(receiver, record(page(base, i)), 400000) == RVMA_SUCCESS);
        CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
        CHECK(memcmp(page(base, i), sent, SIZE) == 0);
    }
    FAILS(RVMA_Register(receiver, page(base, REGIONS), PAGE), RVMA_ERR_ARGUMENT, "would need 17 regions, and can have 16");
    FAILS(RVMA_Post_buffer(page(base, REGIONS), SIZE, record(page(base, 0)), win), RVMA_ERR_REFUSED, "not registered");

    /* Only what was registered, as it was registered, is taken back; then there is a region for other memory. */
    FAILS(RVMA_Deregister(receiver, page(base, 4), SIZE), RVMA_ERR_ARGUMENT, "not registered by one call");
    FAILS(RVMA_Deregister(receiver, page(base, REGIONS), PAGE), RVMA_ERR_ARGUMENT, "not registered by one call");
    FAILS(RVMA_Deregister(receiver, NULL, PAGE), RVMA_ERR_ARGUMENT, "no bytes");
    CHECK(RVMA_Deregister(receiver, page(base, 4), PAGE) == RVMA_SUCCESS);
    FAILS(RVMA_Deregister(receiver, page(base, 4), PAGE), RVMA_ERR_ARGUMENT, "not registered by one call");
    FAILS(RVMA_Post_buffer(page(base, 4), SIZE, record(page(base, 0)), win), RVMA_ERR_REFUSED, "not registered");
    CHECK(RVMA_Register(receiver, page(base, REGIONS), PAGE) == RVMA_SUCCESS);

    /* Not while a buffer or its record is posted. */
    unsigned char *buffer = page(base, 5), *notes = page(base, 6);
    CHECK(RVMA_Post_buffer(buffer, SIZE, record(notes), win) == RVMA_SUCCESS);
    FAILS(RVMA_Deregister(receiver, buffer, PAGE), RVMA_ERR_REFUSED, "posted to a window");
    FAILS(RVMA_Deregister(receiver, notes, PAGE), RVMA_ERR_REFUSED, "posted to a window");
    CHECK(RVMA_Win_inc_epoch(win) == RVMA_SUCCESS && RVMA_Wait(receiver, record(notes), 40000) == RVMA_SUCCESS);
    CHECK(RVMA_Deregister(receiver, buffer, PAGE) == RVMA_SUCCESS);

    /* Also with a receive map. */
    RVMA_Map map;
    CHECK(RVMA_Register(receiver, buffer, PAGE) == RVMA_SUCCESS);
    /* Calls that fail post nothing, and take none of the 8 maps. */
    for (int i = 0; i < 8; i++) {
        FAILS(RVMA_Post_mapped(buffer, SIZE, record(notes), win, 64, NULL), RVMA_ERR_ARGUMENT, "the map is NULL");
    }
    CHECK(RVMA_Post_mapped(buffer, SIZE, record(notes), win, 64, &map) == RVMA_SUCCESS);
    FAILS(RVMA_Deregister(receiver, buffer, PAGE), RVMA_ERR_REFUSED, "posted to a window");
    FAILS(RVMA_Deregister(receiver, notes, PAGE), RVMA_ERR_REFUSED, "posted to a window");
    CHECK(RVMA_Win_inc_epoch(win) == RVMA_SUCCESS && RVMA_Wait(receiver, record(notes), 40000) == RVMA_SUCCESS);
    CHECK(RVMA_Free_map(win, map) == RVMA_SUCCESS);
    CHECK(RVMA_Deregister(receiver, buffer, PAGE) == RVMA_SUCCESS);

    /* Not while a put reads it, unless another registration holds the same bytes. */
    CHECK(RVMA_Put(sender, sent, SIZE, &to, 9, 9, 0, &op) == RVMA_SUCCESS);
    FAILS(RVMA_Deregister(sender, sent, sizeof sent), RVMA_ERR_REFUSED, "put");
    CHECK(RVMA_Register(sender, sent, sizeof sent) == RVMA_SUCCESS);
    CHECK(RVMA_Deregister(sender, sent, sizeof sent) == RVMA_SUCCESS);
    FAILS(RVMA_Deregister(sender, sent, sizeof sent), RVMA_ERR_REFUSED, "put");
    memset(page(base, 7), 0, SIZE);
    CHECK(RVMA_Post_buffer(page(base, 7), SIZE, record(page(base, 7)), win) == RVMA_SUCCESS);
    CHECK(RVMA_Wait_put(sender, op, 800000) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(receiver, record(page(base, 7)), 400000) == RVMA_SUCCESS && memcmp(page(base, 7), sent, SIZE) == 0);
    CHECK(RVMA_Deregister(sender, sent, sizeof sent) == RVMA_SUCCESS);
    FAILS(RVMA_Put(sender, sent, SIZE, &to, 9, 9, 0, &op), RVMA_ERR_REFUSED, "registered");

    /* A get of a completed buffer is answered as long as its memory is registered. */
    CHECK(RVMA_Register(sender, answer_memory, sizeof answer_memory) == RVMA_SUCCESS);
    while ((uintptr_t)answer % 16) {
        answer++;
    }
    RVMA_Record *answered = (RVMA_Record *)(void *)answer;
    unsigned char *bytes = answer + sizeof *answered;
    RVMA_Win replies = RVMA_Init_window(sender, 5, 5, 100, RVMA_EPOCH_BYTES);
    CHECK(replies != NULL && RVMA_Post_buffer(bytes, 100, answered, replies) == RVMA_SUCCESS);
    CHECK(RVMA_Get(sender, 100, &to, 9, 9, 0, 5, 5, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(sender, answered, 400000) == RVMA_SUCCESS && memcmp(bytes, sent, 100) == 0);
    CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
    CHECK(RVMA_Post_buffer(bytes, 100, answered, replies) == RVMA_SUCCESS);
    memset(bytes, 1, 100);
    CHECK(RVMA_Deregister(receiver, page(base, 7), PAGE) == RVMA_SUCCESS);
    CHECK(RVMA_Get(sender, 100, &to, 9, 9, 0, 5, 5, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(sender, answered, 400000) == RVMA_ERR_TIMEOUT);
    CHECK(bytes[0] == 1 && bytes[99] == 1);

    /* The same memory, registered again, is reached again. */
    memset(page(base, 7), 8, SIZE);
    CHECK(RVMA_Register(receiver, page(base, 7), PAGE) == RVMA_SUCCESS);
    CHECK(RVMA_Get(sender, 100, &to, 9, 9, 0, 5, 5, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(sender, answered, 400000) == RVMA_SUCCESS && bytes[0] == 8 && bytes[99] == 8);

    /* Half a page that was taken back is still reached by what was named before, as long as the other half is registered. */
    unsigned char *half = page(base, 8);
    CHECK(RVMA_Deregister(receiver, half, PAGE) == RVMA_SUCCESS);
    CHECK(RVMA_Register(receiver, half, PAGE / 2) == RVMA_SUCCESS);
    CHECK(RVMA_Register(receiver, half + PAGE / 2, PAGE / 2) == RVMA_SUCCESS);
    RVMA_Win halves = RVMA_Init_window(receiver, 10, 9, 100, RVMA_EPOCH_BYTES);
    CHECK(halves != NULL && RVMA_Post_buffer(half, 100, record(half), halves) == RVMA_SUCCESS);
    CHECK(RVMA_Put(sender, bytes, 100, &to, 10, 9, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(receiver, record(half), 400000) == RVMA_SUCCESS && half[0] == 8);
    CHECK(RVMA_Wait_put(sender, op, 400000) == RVMA_SUCCESS);
    CHECK(RVMA_Deregister(receiver, half, PAGE / 2) == RVMA_SUCCESS);
    CHECK(RVMA_Post_buffer(bytes, 100, answered, replies) == RVMA_SUCCESS);
    memset(bytes, 1, 100);
    CHECK(RVMA_Get(sender, 100, &to, 10, 9, 0, 5, 5, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(sender, answered, 400000) == RVMA_SUCCESS && bytes[0] == 8 && bytes[99] == 8);
    FAILS(RVMA_Put(receiver, half, 8, &to, 10, 9, 0, &op), RVMA_ERR_REFUSED, "registered");
    CHECK(RVMA_Shutdown(network) == RVMA_SUCCESS);
    free(raw);
    return 0;
}
