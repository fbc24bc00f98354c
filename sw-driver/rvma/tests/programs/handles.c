/* Handles that are dead, closed or were never given out are errors, never a crash; and sentences stay. */
#include "check.h"

enum { PROCESS = 1 };
static struct {
    RVMA_Record record;
    unsigned char bytes[64];
} memory;

int main(void) {
    CHECK(RVMA_Shutdown(NULL) == RVMA_SUCCESS);
    RVMA_Network *network = RVMA_Simulate(1, NULL);
    CHECK(network != NULL);
    RVMA_Nic *nic = RVMA_Open_node(network, 0, PROCESS);
    CHECK(nic != NULL && RVMA_Register(nic, &memory, sizeof memory) == RVMA_SUCCESS);
    RVMA_Win win = RVMA_Init_window(nic, 1, 1, 64, RVMA_EPOCH_BYTES), open = RVMA_Init_window(nic, 2, 1, 64, RVMA_EPOCH_BYTES);
    CHECK(win != NULL && open != NULL);
    RVMA_Map map;
    CHECK(RVMA_Post_mapped(memory.bytes, 64, &memory.record, win, 64, &map) == RVMA_SUCCESS);

    /* A closed window. Its map can still be read and given back. */
    CHECK(RVMA_Close_win(win) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(nic, &memory.record, 40000) == RVMA_SUCCESS && memory.record.status == RVMA_CANCELLED);
    FAILS(RVMA_Close_win(win), RVMA_ERR_REFUSED, "closed");
    FAILS(RVMA_Post_buffer(memory.bytes, 64, &memory.record, win), RVMA_ERR_REFUSED, "closed");
    FAILS(RVMA_Win_inc_epoch(win), RVMA_ERR_REFUSED, "closed");
    FAILS(RVMA_Win_get_epoch(win), RVMA_ERR_REFUSED, "closed");
    uint64_t bits[RVMA_MAP_WORDS];
    CHECK(RVMA_Read_map(win, map, bits) == RVMA_SUCCESS && bits[0] == 0);
    CHECK(RVMA_Free_map(win, map) == RVMA_SUCCESS);

    /* Values that were never handles: addresses that can be read, and some that cannot. */
    long garbage[16];
    memset(garbage, 0x5A, sizeof garbage);
    void *values[] = {garbage, &memory, (void *)16, (void *)-1, nic, network};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        FAILS(RVMA_Close_win((RVMA_Win)values[i]), RVMA_ERR_ARGUMENT, "no live handle");
    }
    FAILS(RVMA_Run((RVMA_Network *)garbage, 1), RVMA_ERR_ARGUMENT, "no live handle");
    FAILS(RVMA_Shutdown((RVMA_Network *)garbage), RVMA_ERR_ARGUMENT, "no live handle");
    FAILS(RVMA_Register((RVMA_Nic *)win, &memory, 1), RVMA_ERR_ARGUMENT, "no live handle");
    CHECK(RVMA_Win_rewind((RVMA_Win)garbage, 0) == NULL && strstr(RVMA_Error(), "no live handle"));

    /* A sentence stays as it is, whatever fails after it; the same sentence is the same string. */
    RVMA_Addr nowhere = {4, 0};
    CHECK(RVMA_Put(nic, &memory, 8, &nowhere, 1, 1, 0, NULL) == RVMA_ERR_ARGUMENT);
    const char *kept = RVMA_Error();
    char *copy = malloc(strlen(kept) + 1);
    CHECK(copy != NULL);
    strcpy(copy, kept);
    for (int i = 0; i < 40000; i++) {
        CHECK(RVMA_Open_node(network, 100 + i, 0) == NULL);
        CHECK(i > 10000 || strstr(RVMA_Error(), "there is no node") != NULL);
    }
    CHECK(strstr(RVMA_Error(), "keeps no more sentences") != NULL);
    CHECK(strcmp(kept, copy) == 0);
    CHECK(RVMA_Put(nic, &memory, 8, &nowhere, 1, 1, 0, NULL) == RVMA_ERR_ARGUMENT && RVMA_Error() == kept);
    free(copy);

    /* Everything of a network is dead after its end, while another network lives. */
    RVMA_Network *next = RVMA_Simulate(1, NULL);
    CHECK(next != NULL);
    CHECK(RVMA_Shutdown(network) == RVMA_SUCCESS);
    CHECK(RVMA_Shutdown(network) == RVMA_ERR_ARGUMENT);
    CHECK(RVMA_Run(network, 10) == RVMA_ERR_ARGUMENT);
    CHECK(RVMA_Open_node(network, 0, PROCESS) == NULL);
    CHECK(RVMA_Register(nic, &memory, sizeof memory) == RVMA_ERR_ARGUMENT);
    CHECK(RVMA_Wait(nic, &memory.record, 40) == RVMA_ERR_ARGUMENT);
    CHECK(RVMA_Init_window(nic, 3, 1, 64, RVMA_EPOCH_BYTES) == NULL);
    CHECK(RVMA_Post_buffer(memory.bytes, 64, &memory.record, open) == RVMA_ERR_ARGUMENT);
    CHECK(RVMA_Close_win(open) == RVMA_ERR_ARGUMENT && RVMA_Close_win(win) == RVMA_ERR_ARGUMENT);
    CHECK(RVMA_Open_node(next, 0, PROCESS) != NULL);
    CHECK(RVMA_Shutdown(next) == RVMA_SUCCESS);
    return 0;
}
