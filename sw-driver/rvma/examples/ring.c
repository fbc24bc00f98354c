/* An array goes round a ring of nodes twice: in the first round each node adds its part, in the second each node gets the whole array.
 *
 *     cc ring.c $(pkg-config --cflags --libs rvma) -o ring
 *     spindle network served4.toml &                a simulated network of four cards, which docs/network.md explains
 *     for node in 0 1 2 3; do ./ring unix:/tmp/spindle/nic$node.sock $node 4 & done; wait
 *
 * Arguments: the address of a card, its number in the network, and how many nodes there are, 2 to 16.
 *
 * A node knows neither addresses nor buffers of its neighbour, only the mailbox: the first put of a round goes to the first buffer that
 * the neighbour has posted, the second one to the next.
 */
#include <rvma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESS = 4, MOST = 16, PART = 256, ROUNDS = 2, TRIES = 50 };
static const uint64_t MAILBOX = 0x52494e47, READY = 0x52454459, SECOND = 1000000000;
/* A packet and its acknowledgement in an idle network, with room; and twice the time after which a packet is sent again. */
static const uint64_t ROUND_TRIP = 4000, LINGER = 32000;
static const RVMA_Key KEY = 99;

/* What the card reaches: the array as it is sent, and as it comes in each round. */
static struct Memory {
    RVMA_Record records[ROUNDS], greeted, never;
    uint32_t array[MOST * PART], rounds[ROUNDS][MOST * PART];
    unsigned char greeting[64];
} memory;

static RVMA_Nic *nic;
static uint32_t node, nodes;

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "node %u: %s: %s\n", node, what, RVMA_Error());
        exit(1);
    }
}

/* Number `at` of the part of a node. */
static uint32_t number_of(uint32_t owner, uint32_t at) { return (owner + 1) * 1000003u + at * 7u; }

/* Puts `size` bytes of the array to the next node, and waits until they have arrived. */
static RVMA_Status put(uint64_t address, int64_t size) {
    RVMA_Addr next = {.nid = (uint16_t)((node + 1) % nodes), .pid = PROCESS};
    RVMA_Op op;
    check(RVMA_Put(nic, memory.array, size, &next, address, KEY, 0, &op) == RVMA_SUCCESS, "RVMA_Put");
    return RVMA_Wait_put(nic, op, SECOND);
}

/* Repeats an empty put until the next node has opened its windows. */
static void greet(void) {
    RVMA_Status status = RVMA_ERR_PUT;
    for (int i = 0; status == RVMA_ERR_PUT && i < TRIES; i++) {
        status = put(READY, 0);
        if (status == RVMA_ERR_PUT) {
            RVMA_Wait(nic, &memory.never, ROUND_TRIP);
        }
    }
    check(status == RVMA_SUCCESS, "the next node");
}

/* Waits for the array of a round. */
static void receive(int round, int64_t size) {
    check(RVMA_Wait(nic, &memory.records[round], SECOND) == RVMA_SUCCESS, "RVMA_Wait");
    check(memory.records[round].status == RVMA_DONE && memory.records[round].length == size, "the record");
    memcpy(memory.array, memory.rounds[round], (size_t)size);
}

/* The parts of the first `owners` nodes are what these nodes have sent; their sum. */
static uint64_t sum_of(uint32_t owners) {
    uint64_t sum = 0;
    for (uint32_t owner = 0; owner < owners; owner++) {
        for (uint32_t at = 0; at < PART; at++) {
            uint32_t number = memory.array[owner * PART + at];
            if (number != number_of(owner, at)) {
                fprintf(stderr, "node %u: number %u of node %u is wrong\n", node, at, owner);
                exit(1);
            }
            sum += number;
        }
    }
    return sum;
}

static void add_part(void) {
    for (uint32_t at = 0; at < PART; at++) {
        memory.array[node * PART + at] = number_of(node, at);
    }
}

int main(int count, char **arguments) {
    if (count == 4) {
        node = (uint32_t)atoi(arguments[2]);
        nodes = (uint32_t)atoi(arguments[3]);
    }
    if (nodes < 2 || nodes > MOST || node >= nodes) {
        fprintf(stderr, "usage: %s ADDRESS NODE NODES; 2 to %d nodes, numbered from 0\n", arguments[0], MOST);
        return 2;
    }
    int64_t size = (int64_t)(nodes * PART * sizeof(uint32_t));
    RVMA_Options options = {.node = node, .nodes = nodes, .round_trip_ns = ROUND_TRIP};
    nic = RVMA_Open(arguments[1], PROCESS, &options);
    check(nic != NULL, arguments[1]);
    check(RVMA_Register(nic, &memory, sizeof memory) == RVMA_SUCCESS, "RVMA_Register");
    RVMA_Win win = RVMA_Init_window(nic, MAILBOX, KEY, size, RVMA_EPOCH_BYTES);
    check(win != NULL, "RVMA_Init_window");
    for (int round = 0; round < ROUNDS; round++) {
        check(RVMA_Post_buffer(memory.rounds[round], size, &memory.records[round], win) == RVMA_SUCCESS, "RVMA_Post_buffer");
    }
    /* After the first window, so that it shows that both are open. */
    RVMA_Win ready = RVMA_Init_window(nic, READY, KEY, TRIES, RVMA_EPOCH_OPS);
    check(ready != NULL, "RVMA_Init_window");
    check(RVMA_Post_buffer(memory.greeting, sizeof memory.greeting, &memory.greeted, ready) == RVMA_SUCCESS, "RVMA_Post_buffer");
    greet();

    /* The array leaves node 0 with one part and comes back with all; then it leaves again, and ends where it began. */
    for (int round = 0; round < ROUNDS; round++) {
        if (node > 0) {
            receive(round, size);
            sum_of(round == 0 ? node : nodes);
        }
        if (round == 0) {
            add_part();
        }
        check(put(MAILBOX, size) == RVMA_SUCCESS, "RVMA_Wait_put");
        if (node == 0) {
            receive(round, size);
            sum_of(nodes);
        }
    }
    printf("node %u of %u: %d rounds of %lld bytes, sum %llu\n", node, nodes, ROUNDS, (long long)size, (unsigned long long)sum_of(nodes));
    /* The last acknowledgement to the node before leaves. That node sends a packet again if its acknowledgement is lost. */
    RVMA_Wait(nic, &memory.never, LINGER);
    check(RVMA_Close(nic) == RVMA_SUCCESS, "RVMA_Close");
    return 0;
}
