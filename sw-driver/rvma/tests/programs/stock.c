/* A stocked window never lacks a buffer; and threads that wait on windows of their own. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <pthread.h>

enum { PROCESS = 2, SIZE = 300, BUFFERS = 3, MESSAGES = 12, THREADS = 3 };
static const uint64_t LIMIT = 4000000;
static RVMA_Nic *sender, *receiver;
static unsigned char sent[MESSAGES][SIZE];
static struct {
    RVMA_Record record;
    unsigned char bytes[SIZE];
} places[THREADS];

/* Waits for a message of its window. The main thread waits for the puts meanwhile. */
static void *wait_for(void *place) {
    RVMA_Record *record = place;
    CHECK(RVMA_Wait(receiver, record, LIMIT) == RVMA_SUCCESS && record->status == RVMA_DONE);
    return NULL;
}

int main(void) {
    RVMA_Options first = {.node = 0, .nodes = 2}, second = {.node = 1, .nodes = 2};
    sender = RVMA_Open("sim:sim/stock", PROCESS, &first), receiver = RVMA_Open("sim:sim/stock", PROCESS, &second);
    CHECK(sender && receiver && RVMA_Register(sender, sent, sizeof sent) == RVMA_SUCCESS);
    CHECK(RVMA_Open("sim:sim/stock", PROCESS + 1, NULL) == NULL && strstr(RVMA_Error(), "open as node 0 with other options"));
    /* A process of a card that others keep open is opened, closed and opened again. */
    for (int i = 0; i < 3; i++) {
        RVMA_Nic *again = RVMA_Open("sim:sim/stock", PROCESS + 1, &first);
        CHECK(again != NULL && RVMA_Close(again) == RVMA_SUCCESS);
    }
    for (int i = 0; i < MESSAGES; i++) {
        memset(sent[i], i + 1, SIZE);
    }
    RVMA_Addr to = {1, PROCESS};
    RVMA_Win win = RVMA_Init_window(receiver, 1, 2, SIZE, RVMA_EPOCH_BYTES);
    CHECK(win != NULL && RVMA_Stock_new(win, 0, SIZE) == NULL && strstr(RVMA_Error(), "no bytes"));
    CHECK(RVMA_Stock_new(win, 1, INT64_C(1) << 33) == NULL && strstr(RVMA_Error(), "must fit 32 bits"));
    RVMA_Stock *stock = RVMA_Stock_new(win, BUFFERS, SIZE);
    CHECK(stock != NULL);
    CHECK(RVMA_Stock_next(stock, NULL, 4000) == NULL && strstr(RVMA_Error(), "did not come"));
    for (int i = 0; i < MESSAGES; i++) {
        CHECK(RVMA_Put(sender, sent[i], SIZE, &to, 1, 2, 0, NULL) == RVMA_SUCCESS);
    }
    /* A message that found no buffer came again, perhaps after a later one. */
    int seen[MESSAGES] = {0};
    for (int i = 0; i < MESSAGES; i++) {
        RVMA_Record record;
        unsigned char *bytes = RVMA_Stock_next(stock, &record, LIMIT);
        CHECK(bytes != NULL && record.status == RVMA_DONE && record.length == SIZE && record.epoch == i);
        int message = bytes[0] - 1;
        CHECK(message >= 0 && message < MESSAGES && seen[message]++ == 0 && memcmp(bytes, sent[message], SIZE) == 0);
        FAILS(RVMA_Stock_give(stock, bytes + 1), RVMA_ERR_ARGUMENT, "no buffer that RVMA_Stock_next returned");
        CHECK(RVMA_Stock_give(stock, bytes) == RVMA_SUCCESS);
    }
    CHECK(RVMA_Stock_free(stock) == RVMA_SUCCESS);
    FAILS(RVMA_Stock_give(stock, sent), RVMA_ERR_ARGUMENT, "no live handle");
    FAILS(RVMA_Close_win(win), RVMA_ERR_REFUSED, "closed");

    CHECK(RVMA_Register(receiver, places, sizeof places) == RVMA_SUCCESS);
    pthread_t threads[THREADS];
    RVMA_Op ops[THREADS];
    for (int i = 0; i < THREADS; i++) {
        RVMA_Win own = RVMA_Init_window(receiver, 10 + (uint64_t)i, 2, SIZE, RVMA_EPOCH_BYTES);
        CHECK(own != NULL && RVMA_Post_buffer(places[i].bytes, SIZE, &places[i].record, own) == RVMA_SUCCESS);
        CHECK(pthread_create(&threads[i], NULL, wait_for, &places[i].record) == 0);
    }
    for (int i = THREADS - 1; i >= 0; i--) {
        CHECK(RVMA_Put(sender, sent[i], SIZE, &to, 10 + (uint64_t)i, 2, 0, &ops[i]) == RVMA_SUCCESS);
        CHECK(RVMA_Wait_put(sender, ops[i], LIMIT) == RVMA_SUCCESS);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0 && memcmp(places[i].bytes, sent[i], SIZE) == 0);
    }
    CHECK(RVMA_Close(sender) == RVMA_SUCCESS && RVMA_Close(receiver) == RVMA_SUCCESS && RVMA_Close(NULL) == RVMA_SUCCESS);
    FAILS(RVMA_Close(sender), RVMA_ERR_ARGUMENT, "no live handle");
    return 0;
}
