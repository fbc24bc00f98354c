/* Two nodes exchange 1 MiB: each puts its bytes into a window of the other, and checks what it gets.
 *
 *     cc exchange.c $(pkg-config --cflags --libs rvma) -o exchange
 *     ./exchange sim: 0 sim: 1                  both nodes in this process, simulated
 *     ./exchange unix:/run/nic0.sock 0 &        two processes, each with a served card:
 *     ./exchange unix:/run/nic1.sock 1              spindle serve, joined by --link
 *
 * Arguments: the address of a card and its number in the network, 0 or 1, for one node or for both.
 */
#include <rvma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20, PIECES = 16, PIECE = SIZE / PIECES, PROCESS = 4, TRIES = 50 };
static const uint64_t MAILBOX = 0x45584348, READY = 0x52454459, SECOND = 1000000000, LINGER = 600000;
static const RVMA_Key KEY = 99;

/* What the card reaches: records, and the bytes of both directions. */
struct Memory {
    RVMA_Record record, greeted, never;
    unsigned char sent[SIZE], received[SIZE], greeting[64];
};
static struct Memory memories[2];

struct Side {
    uint32_t node;
    RVMA_Nic *nic;
    RVMA_Win win, ready;
    struct Memory *memory;
    RVMA_Op puts[PIECES];
};

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "%s: %s\n", what, RVMA_Error());
        exit(1);
    }
}

static unsigned char byte_of(uint32_t node, unsigned at) { return (unsigned char)(at * 31 + at / 251 + node * 77); }

/* Opens the card, a window with one buffer of all bytes, and after it one that shows that the first is open. */
static void open_side(struct Side *side, const char *address) {
    RVMA_Options options = {.node = side->node, .nodes = 2};
    side->nic = RVMA_Open(address, PROCESS, &options);
    check(side->nic != NULL, address);
    check(RVMA_Register(side->nic, side->memory, sizeof *side->memory) == RVMA_SUCCESS, "RVMA_Register");
    for (unsigned at = 0; at < SIZE; at++) {
        side->memory->sent[at] = byte_of(side->node, at);
    }
    side->win = RVMA_Init_window(side->nic, MAILBOX, KEY, SIZE, RVMA_EPOCH_BYTES);
    check(side->win != NULL, "RVMA_Init_window");
    check(RVMA_Post_buffer(side->memory->received, SIZE, &side->memory->record, side->win) == RVMA_SUCCESS, "RVMA_Post_buffer");
    side->ready = RVMA_Init_window(side->nic, READY, KEY, TRIES, RVMA_EPOCH_OPS);
    check(side->ready != NULL, "RVMA_Init_window");
    check(RVMA_Post_buffer(side->memory->greeting, sizeof side->memory->greeting, &side->memory->greeted, side->ready) == RVMA_SUCCESS,
          "RVMA_Post_buffer");
}

/* Puts `size` bytes from `offset` of this node to the same place of the other node's window at `address`. */
static RVMA_Op put(struct Side *side, uint64_t address, uint64_t offset, int64_t size) {
    RVMA_Addr to = {.nid = (uint16_t)(1 - side->node), .pid = PROCESS};
    RVMA_Op op;
    check(RVMA_Put(side->nic, side->memory->sent + offset, size, &to, address, KEY, offset, &op) == RVMA_SUCCESS, "RVMA_Put");
    return op;
}

/* An empty put is repeated until the other node has opened its windows; all pieces follow without a wait. A put of several
   packets would not do as the first one: the window may open between its packets, and keeps a place for those that were refused. */
static void send_all(struct Side *side) {
    RVMA_Status status = RVMA_ERR_PUT;
    for (int i = 0; status == RVMA_ERR_PUT && i < TRIES; i++) {
        status = RVMA_Wait_put(side->nic, put(side, READY, 0, 0), SECOND);
        if (status == RVMA_ERR_PUT) {
            RVMA_Wait(side->nic, &side->memory->never, SECOND / 10000);
        }
    }
    check(status == RVMA_SUCCESS, "the other node");
    for (unsigned piece = 0; piece < PIECES; piece++) {
        side->puts[piece] = put(side, MAILBOX, (uint64_t)piece * PIECE, PIECE);
    }
}

static void finish(struct Side *side) {
    for (unsigned piece = 0; piece < PIECES; piece++) {
        check(RVMA_Wait_put(side->nic, side->puts[piece], SECOND) == RVMA_SUCCESS, "RVMA_Wait_put");
    }
    check(RVMA_Wait(side->nic, &side->memory->record, SECOND) == RVMA_SUCCESS, "RVMA_Wait");
    check(side->memory->record.status == RVMA_DONE && side->memory->record.length == SIZE, "the record");
    for (unsigned at = 0; at < SIZE; at++) {
        if (side->memory->received[at] != byte_of(1 - side->node, at)) {
            fprintf(stderr, "node %u: byte %u is wrong\n", side->node, at);
            exit(1);
        }
    }
    printf("node %u: %d bytes sent, %u bytes received\n", side->node, SIZE, side->memory->record.length);
}

int main(int count, char **arguments) {
    struct Side sides[2];
    int nodes = (count - 1) / 2;
    if ((count != 3 && count != 5) || (nodes == 2 && atoi(arguments[2]) == atoi(arguments[4]))) {
        fprintf(stderr, "usage: %s ADDRESS NODE [ADDRESS NODE]; nodes are 0 and 1\n", arguments[0]);
        return 2;
    }
    for (int i = 0; i < nodes; i++) {
        sides[i] = (struct Side){.node = atoi(arguments[2 * i + 2]) != 0, .memory = &memories[i]};
        open_side(&sides[i], arguments[2 * i + 1]);
    }
    for (int i = 0; i < nodes; i++) {
        send_all(&sides[i]);
    }
    for (int i = 0; i < nodes; i++) {
        finish(&sides[i]);
    }
    /* The last acknowledgements to the other node leave. The other node sends a segment again if its acknowledgement is
       lost, after four round trips (256 us): the card stays for two of these times. */
    RVMA_Wait(sides[0].nic, &memories[0].never, LINGER);
    for (int i = 0; i < nodes; i++) {
        check(RVMA_Close(sides[i].nic) == RVMA_SUCCESS, "RVMA_Close");
    }
    return 0;
}
