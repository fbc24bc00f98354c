/* Two nodes: node 0 puts messages into a window of node 1, which never discloses the addresses of its buffers.
 *
 *     cargo build -p spindle-rvma
 *     cc -I sw-driver/rvma/include sw-driver/rvma/examples/two_nodes.c -L target/debug -lspindle_rvma -Wl,-rpath,target/debug -o two_nodes
 *     ./two_nodes
 */
#include <rvma_sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 3, SIZE = 6000, PIECE = 2000, PROCESS = 4 };
static const uint64_t MAILBOX = 0x52564d41;
static const RVMA_Key KEY = 1234;

static unsigned char sent[BUFFERS * SIZE], received[BUFFERS][SIZE];
static RVMA_Record records[BUFFERS];
static struct {
    RVMA_Record record;
    unsigned char bytes[PIECE];
} fetched;

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "%s: %s\n", what, RVMA_Error());
        exit(1);
    }
}

int main(void) {
    /* Frames take one of four paths and overtake each other; some are lost, some come twice. */
    RVMA_Wire wire = {.loss = 0.05, .duplication = 0.02, .paths = 4, .latency = 250, .step = 90, .seed = 7};
    RVMA_Network *network = RVMA_Simulate(2, &wire);
    check(network != NULL, "RVMA_Simulate");
    RVMA_Nic *sender = RVMA_Open_node(network, 0, PROCESS), *receiver = RVMA_Open_node(network, 1, PROCESS);
    check(sender && receiver, "RVMA_Open");
    check(RVMA_Register(sender, sent, sizeof sent) == RVMA_SUCCESS, "RVMA_Register");
    check(RVMA_Register(receiver, received, sizeof received) == RVMA_SUCCESS, "RVMA_Register");
    check(RVMA_Register(receiver, records, sizeof records) == RVMA_SUCCESS, "RVMA_Register");

    /* The receiver: a buffer is complete when all its bytes are there. */
    RVMA_Win win = RVMA_Init_window(receiver, MAILBOX, KEY, SIZE, RVMA_EPOCH_BYTES);
    check(win != NULL, "RVMA_Init_window");
    for (int i = 0; i < BUFFERS; i++) {
        check(RVMA_Post_buffer(received[i], SIZE, &records[i], win) == RVMA_SUCCESS, "RVMA_Post_buffer");
    }
    check(RVMA_Wait(receiver, &records[0], 4000) == RVMA_ERR_TIMEOUT, "no put has arrived yet");

    /* The sender: three puts fill a buffer, one buffer after the other. */
    for (unsigned i = 0; i < sizeof sent; i++) {
        sent[i] = (unsigned char)(i * 31 + i / 251);
    }
    RVMA_Addr to = {.nid = 1, .pid = PROCESS};
    for (int i = 0; i < BUFFERS; i++) {
        for (int at = 0; at < SIZE; at += PIECE) {
            RVMA_Op put;
            RVMA_Status status = RVMA_Put(sender, sent + i * SIZE + at, PIECE, &to, MAILBOX, KEY, (uint64_t)at, &put);
            check(status == RVMA_SUCCESS, "RVMA_Put");
            check(RVMA_Wait_put(sender, put, 400000) == RVMA_SUCCESS, "RVMA_Wait_put");
        }
        check(RVMA_Wait(receiver, &records[i], 400000) == RVMA_SUCCESS, "RVMA_Wait");
        check(records[i].status == RVMA_DONE && records[i].length == SIZE && records[i].epoch == i, "the record");
        check(records[i].buffer == (uint64_t)(uintptr_t)received[i], "the record's buffer");
        check(memcmp(received[i], sent + i * SIZE, SIZE) == 0, "the bytes");
        printf("buffer %d: %u bytes, epoch %u\n", i, records[i].length, records[i].epoch);
    }

    /* What the window remembers. */
    void *last[BUFFERS + 1];
    check(RVMA_Win_get_epoch(win) == BUFFERS, "RVMA_Win_get_epoch");
    check(RVMA_Win_get_buf_ptrs(win, last, BUFFERS + 1) == BUFFERS, "RVMA_Win_get_buf_ptrs");
    check(last[0] == received[BUFFERS - 1] && last[BUFFERS - 1] == received[0], "the pointers");
    check(RVMA_Win_rewind(win, 1) == received[BUFFERS - 2], "RVMA_Win_rewind");

    /* The sender fetches what the receiver's window has completed last, into a window of its own. */
    check(RVMA_Register(sender, &fetched, sizeof fetched) == RVMA_SUCCESS, "RVMA_Register");
    RVMA_Win answers = RVMA_Init_window(sender, MAILBOX, KEY, PIECE, RVMA_EPOCH_BYTES);
    check(answers != NULL, "RVMA_Init_window");
    check(RVMA_Post_buffer(fetched.bytes, PIECE, &fetched.record, answers) == RVMA_SUCCESS, "RVMA_Post_buffer");
    check(RVMA_Get(sender, PIECE, &to, MAILBOX, KEY, 7, MAILBOX, KEY, 0, NULL) == RVMA_SUCCESS, "RVMA_Get");
    check(RVMA_Wait(sender, &fetched.record, 400000) == RVMA_SUCCESS, "RVMA_Wait");
    check(memcmp(fetched.bytes, received[BUFFERS - 2] + 7, PIECE) == 0, "the bytes fetched");

    /* What has arrived of a buffer that is not complete, into the next buffer of the sender's window. */
    check(RVMA_Post_buffer(received[2], SIZE, &records[2], win) == RVMA_SUCCESS, "RVMA_Post_buffer");
    RVMA_Op first;
    check(RVMA_Put(sender, sent, 3000, &to, MAILBOX, KEY, 0, &first) == RVMA_SUCCESS, "RVMA_Put");
    check(RVMA_Wait_put(sender, first, 400000) == RVMA_SUCCESS, "RVMA_Wait_put");
    check(RVMA_Post_buffer(fetched.bytes, PIECE, &fetched.record, answers) == RVMA_SUCCESS, "RVMA_Post_buffer");
    check(RVMA_Get_active(sender, PIECE, &to, MAILBOX, KEY, 500, MAILBOX, KEY, 0, NULL) == RVMA_SUCCESS, "RVMA_Get_active");
    check(RVMA_Wait(sender, &fetched.record, 400000) == RVMA_SUCCESS, "RVMA_Wait");
    check(memcmp(fetched.bytes, sent + 500, PIECE) == 0, "the bytes fetched of the buffer that fills");
    check(RVMA_Put(sender, sent + 3000, SIZE - 3000, &to, MAILBOX, KEY, 3000, NULL) == RVMA_SUCCESS, "RVMA_Put");
    check(RVMA_Wait(receiver, &records[2], 400000) == RVMA_SUCCESS, "RVMA_Wait");

    /* A stream: small messages, put without waiting, lie in the buffer in the order of the puts. */
    RVMA_Win pile = RVMA_Init_window_as(receiver, MAILBOX + 1, KEY, 1, RVMA_EPOCH_BYTES, RVMA_STREAM);
    check(pile != NULL, "RVMA_Init_window_as");
    check(RVMA_Post_buffer(received[1], SIZE, &records[1], pile) == RVMA_SUCCESS, "RVMA_Post_buffer");
    RVMA_Stream stream = {.dest_addr = to, .key = KEY, .virtual_addr = MAILBOX + 1};
    for (int at = 0; at < SIZE; at += 200) {
        check(RVMA_Put_next(sender, sent + at, 200, &stream, NULL) == RVMA_SUCCESS, "RVMA_Put_next");
    }
    check(RVMA_Wait(receiver, &records[1], 4000000) == RVMA_SUCCESS, "RVMA_Wait");
    check(memcmp(received[1], sent, SIZE) == 0, "the bytes of the stream");
    check(RVMA_Close_win(pile) == RVMA_SUCCESS, "RVMA_Close_win");

    /* A message that does not fill its buffer, which the receiver takes back; then the end of the window with one buffer left. */
    RVMA_Map map;
    check(RVMA_Post_mapped(received[0], SIZE, &records[0], win, 1024, &map) == RVMA_SUCCESS, "RVMA_Post_mapped");
    check(RVMA_Post_buffer(received[1], SIZE, &records[1], win) == RVMA_SUCCESS, "RVMA_Post_buffer");
    RVMA_Op part;
    check(RVMA_Put(sender, sent, PIECE, &to, MAILBOX, KEY, 2048, &part) == RVMA_SUCCESS, "RVMA_Put");
    check(RVMA_Wait_put(sender, part, 400000) == RVMA_SUCCESS, "RVMA_Wait_put");
    /* Its map says what is there: two segments, which begin at 2048 and at 2048 + 1408. */
    uint64_t bits[RVMA_MAP_WORDS];
    check(RVMA_Read_map(win, map, bits) == RVMA_SUCCESS, "RVMA_Read_map");
    check(bits[0] == (1u << 2 | 1u << 3) && bits[RVMA_MAP_WORDS - 1] == 0, "the map");
    check(memcmp(received[0] + 2048, sent, PIECE) == 0, "the bytes that the map shows");
    check(RVMA_Free_map(win, map) == RVMA_SUCCESS, "RVMA_Free_map");
    check(RVMA_Free_map(win, map) == RVMA_ERR_REFUSED, "a map is given back once");
    check(RVMA_Win_inc_epoch(win) == RVMA_SUCCESS, "RVMA_Win_inc_epoch");
    check(RVMA_Wait(receiver, &records[0], 40000) == RVMA_SUCCESS, "RVMA_Wait");
    check(records[0].status == RVMA_PARTIAL && records[0].length == PIECE, "the partial record");
    check(RVMA_Close_win(win) == RVMA_SUCCESS, "RVMA_Close_win");
    check(RVMA_Wait(receiver, &records[1], 40000) == RVMA_SUCCESS, "RVMA_Wait");
    check(records[1].status == RVMA_CANCELLED, "the cancelled record");
    check(RVMA_Post_buffer(received[2], SIZE, &records[2], win) == RVMA_ERR_REFUSED, "the window is closed");
    RVMA_Op late;
    check(RVMA_Put(sender, sent, 100, &to, MAILBOX, KEY, 0, &late) == RVMA_SUCCESS, "RVMA_Put");
    check(RVMA_Wait_put(sender, late, 400000) == RVMA_ERR_PUT, "the window is closed");

    check(RVMA_Shutdown(network) == RVMA_SUCCESS, "RVMA_Shutdown");
    printf("all bytes have arrived\n");
    return 0;
}
