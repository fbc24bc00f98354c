/* Sizes beyond 32 bits, and a card whose mailboxes and places for buffers are all taken: what is full says so, serves what it has, and
 * takes more when something has been given back. */
#include "check.h"

enum { PROCESS = 2, SIZE = 64, MAILBOXES = 1024, PLACES = 4096, KEY = 3 };
#define LARGE (INT64_C(1) << 32)
static unsigned char sent[SIZE];
static struct {
    RVMA_Record records[PLACES + 1];
    unsigned char bytes[PLACES + 1][SIZE];
} memory;
static RVMA_Win windows[MAILBOXES + 1];

/* No size is cut to its low half. */
static void sizes(RVMA_Nic *nic) {
    RVMA_Addr to = {1, PROCESS};
    RVMA_Op op;
    CHECK(!RVMA_Init_window(nic, 1, KEY, LARGE + SIZE, RVMA_EPOCH_BYTES) && strstr(RVMA_Error(), "the threshold is 4294967360"));
    CHECK(!RVMA_Init_window(nic, 1, KEY, -1, RVMA_EPOCH_BYTES) && strstr(RVMA_Error(), "the threshold is -1"));
    RVMA_Win win = RVMA_Init_window(nic, 1, KEY, SIZE, RVMA_EPOCH_BYTES);
    CHECK(win != NULL);
    FAILS(RVMA_Post_buffer(memory.bytes[0], LARGE + SIZE, &memory.records[0], win), RVMA_ERR_ARGUMENT, "must fit 32 bits");
    FAILS(RVMA_Post_buffer(memory.bytes[0], -SIZE, &memory.records[0], win), RVMA_ERR_ARGUMENT, "must fit 32 bits");
    RVMA_Map map;
    FAILS(RVMA_Post_mapped(memory.bytes[0], LARGE + SIZE, &memory.records[0], win, 64, &map), RVMA_ERR_ARGUMENT, "must fit 32 bits");
    FAILS(RVMA_Put(nic, sent, LARGE + SIZE, &to, 1, KEY, 0, &op), RVMA_ERR_ARGUMENT, "the size of the put is 4294967360");
    FAILS(RVMA_Put(nic, sent, SIZE, &to, 1, KEY, LARGE, &op), RVMA_ERR_ARGUMENT, "the offset is 4294967296");
    FAILS(RVMA_Get(nic, LARGE + SIZE, &to, 1, KEY, 0, 1, KEY, 0, &op), RVMA_ERR_ARGUMENT, "must fit 32 bits");
    FAILS(RVMA_Get(nic, SIZE, &to, 1, KEY, 0, 1, KEY, LARGE, &op), RVMA_ERR_ARGUMENT, "must fit 32 bits");
    CHECK(!RVMA_Stock_new(win, 2, LARGE) && strstr(RVMA_Error(), "must fit 32 bits"));
    FAILS(RVMA_Register(nic, sent, -1), RVMA_ERR_ARGUMENT, "");
    CHECK(RVMA_Close_win(win) == RVMA_SUCCESS);
}

static void arrives(RVMA_Nic *sender, RVMA_Nic *receiver, uint64_t address, int place) {
    RVMA_Addr to = {1, PROCESS};
    memset(sent, place, sizeof sent);
    CHECK(RVMA_Put(sender, sent, SIZE, &to, address, KEY, 0, NULL) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(receiver, &memory.records[place], 800000) == RVMA_SUCCESS);
    CHECK(memory.records[place].status == RVMA_DONE && memcmp(memory.bytes[place], sent, SIZE) == 0);
}

int main(void) {
    RVMA_Network *network = RVMA_Simulate(2, NULL);
    CHECK(network != NULL);
    RVMA_Nic *sender = RVMA_Open_node(network, 0, PROCESS), *receiver = RVMA_Open_node(network, 1, PROCESS);
    CHECK(sender && receiver);
    CHECK(RVMA_Register(sender, sent, sizeof sent) == RVMA_SUCCESS);
    CHECK(RVMA_Register(receiver, &memory, sizeof memory) == RVMA_SUCCESS);
    sizes(receiver);

    /* Every mailbox of the card. */
    int open = 0;
    while (open <= MAILBOXES && (windows[open] = RVMA_Init_window(receiver, open, KEY, SIZE, RVMA_EPOCH_BYTES))) open++;
    printf("%d windows, then: %s\n", open, RVMA_Error());
    CHECK(open > MAILBOXES * 3 / 4 && open <= MAILBOXES);
    CHECK(strstr(RVMA_Error(), "the mailbox table has no room for this address; close a mailbox"));
    CHECK(strstr(RVMA_Error(), "a window of the card's 1024 mailboxes"));

    /* Every place for a buffer: the first window has one, the last one all others. */
    RVMA_Win first = windows[0], last = windows[open - 1];
    CHECK(RVMA_Post_buffer(memory.bytes[0], SIZE, &memory.records[0], first) == RVMA_SUCCESS);
    int posted = 1;
    while (posted <= PLACES && !RVMA_Post_buffer(memory.bytes[posted], SIZE, &memory.records[posted], last)) posted++;
    printf("%d buffers, then: %s\n", posted, RVMA_Error());
    CHECK(posted == PLACES);
    CHECK(strstr(RVMA_Error(), "no buffer slot is free; wait for a completion"));
    CHECK(strstr(RVMA_Error(), "a buffer of the card's 4096 places"));

    /* The full card serves. A completed buffer and a closed window make room. */
    arrives(sender, receiver, 0, 0);
    CHECK(RVMA_Post_buffer(memory.bytes[PLACES], SIZE, &memory.records[PLACES], first) == RVMA_SUCCESS);
    FAILS(RVMA_Post_buffer(memory.bytes[0], SIZE, &memory.records[0], first), RVMA_ERR_REFUSED, "no buffer slot is free");
    arrives(sender, receiver, open - 1, 1);
    arrives(sender, receiver, open - 1, 2);
    CHECK(RVMA_Close_win(windows[1]) == RVMA_SUCCESS);
    CHECK(RVMA_Init_window(receiver, 1, KEY, SIZE, RVMA_EPOCH_BYTES) != NULL);
    /* The end of the program ends the simulated cards; a thousand windows need not be closed one by one before. */
    fflush(stdout);
    _Exit(0);
}
