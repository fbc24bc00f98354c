/* Handlers of a C program: an image on a window and on a rule, its variables, its events, and its end. */
#include "check.h"
#include <spin.h>

enum { PROCESS = 3, SIZE = 600 };
static const uint64_t LIMIT = 1000000;
static struct {
    RVMA_Record record;
    unsigned char sent[SIZE], received[SIZE];
} memory;

int main(int count, char **arguments) {
    CHECK(count == 2);
    RVMA_Options first = {.node = 0, .nodes = 2}, second = {.node = 1, .nodes = 2};
    RVMA_Nic *sender = RVMA_Open("sim:", PROCESS, &first), *receiver = RVMA_Open("sim:", PROCESS, &second);
    CHECK(sender && receiver);
    CHECK(RVMA_Register(sender, &memory, sizeof memory) == RVMA_SUCCESS);
    CHECK(RVMA_Register(receiver, &memory, sizeof memory) == RVMA_SUCCESS);
    memset(memory.sent, 0x3C, SIZE);

    /* What is no image, or not there. */
    CHECK(SPIN_Load(receiver, memory.sent, SIZE, NULL) == NULL);
    CHECK(SPIN_Load_file(receiver, "/nowhere/handler.elf", NULL) == NULL && strstr(RVMA_Error(), "/nowhere/handler.elf"));
    FAILS(SPIN_Unload((SPIN_Context)&memory), RVMA_ERR_ARGUMENT, "no live handle");
    unsigned char outside[64];
    SPIN_Options options = {.host_memory = outside, .host_bytes = sizeof outside};
    CHECK(SPIN_Load_file(receiver, arguments[1], &options) == NULL && strstr(RVMA_Error(), "not registered"));

    /* An image on a window: it counts and reports, and the message is placed. */
    SPIN_Context context = SPIN_Load_file(receiver, arguments[1], NULL);
    CHECK(context != NULL && SPIN_Number(context) == 0);
    RVMA_Win win = SPIN_Init_window(context, 8, 9, SIZE, RVMA_EPOCH_BYTES, RVMA_BOUND, 0);
    CHECK(win != NULL && RVMA_Post_buffer(memory.received, SIZE, &memory.record, win) == RVMA_SUCCESS);
    RVMA_Addr to = {1, PROCESS};
    RVMA_Op op;
    CHECK(RVMA_Put(sender, memory.sent, SIZE, &to, 8, 9, 0, &op) == RVMA_SUCCESS);
    CHECK(RVMA_Wait(receiver, &memory.record, LIMIT) == RVMA_SUCCESS && memory.record.status == RVMA_DONE);
    CHECK(memcmp(memory.received, memory.sent, SIZE) == 0);
    CHECK(RVMA_Wait_put(sender, op, LIMIT) == RVMA_SUCCESS);

    SPIN_Event event;
    CHECK(SPIN_Next_event(receiver, &event, LIMIT) == RVMA_SUCCESS);
    CHECK(event.kind == SPIN_USER && event.user == (0x5350494E00000000ull | 5) && event.context == 0);
    while (SPIN_Next_event(receiver, &event, LIMIT / 20) == RVMA_SUCCESS) {
        CHECK(event.kind == SPIN_MESSAGE && event.code == 0);
    }
    CHECK(strstr(RVMA_Error(), "an event of process 3 did not come"));

    /* Its variables. */
    uint32_t counted;
    CHECK(SPIN_Read_state(context, 0, &counted, sizeof counted) == RVMA_SUCCESS && counted == 6);
    counted = 70;
    CHECK(SPIN_Write_state(context, 0, &counted, sizeof counted) == RVMA_SUCCESS);
    FAILS(SPIN_Read_state(context, 1u << 30, &counted, sizeof counted), RVMA_ERR_ARGUMENT, "context's memory");

    /* What the card has counted of its tasks. */
    SPIN_Counters counters, later;
    CHECK(SPIN_Read_counters(context, &counters) == RVMA_SUCCESS);
    CHECK(counters.tasks > 0 && counters.faulted == 0);
    CHECK(counters.instructions > counters.tasks && counters.cycles > counters.instructions);
    for (unsigned reason = 0; reason < SPIN_REASONS; reason++) {
        CHECK(counters.drops[reason] == 0 && SPIN_Reason(reason) != NULL);
    }
    CHECK(strcmp(SPIN_Reason(14), "handler_drop") == 0 && SPIN_Reason(SPIN_REASONS) == NULL);
    FAILS(SPIN_Read_counters(context, NULL), RVMA_ERR_ARGUMENT, "counters");

    /* A task, for which the image has no handler. */
    FAILS(SPIN_Start_task(context, 1, 0), RVMA_ERR_ARGUMENT, "task_handler");
    FAILS(SPIN_Start_task(context, 1, 1u << 31), RVMA_ERR_ARGUMENT, "cycles");
    FAILS(SPIN_Cancel_task(context, 1), RVMA_ERR_ARGUMENT, "waits");

    /* A rule, ahead of mailboxes: it gets the puts of another address too, and no longer when it is taken back. */
    FAILS(SPIN_Connect(context, "udp.dport ==", SPIN_EACH_PACKET), RVMA_ERR_ARGUMENT, "");
    CHECK(SPIN_Connect(context, "spindle.dst_pid == 3", SPIN_PER_MESSAGE) == RVMA_SUCCESS);
    RVMA_Win other = RVMA_Init_window_with(receiver, 10, 9, SIZE, RVMA_EPOCH_BYTES, RVMA_BOUND, RVMA_EVENT);
    CHECK(other != NULL);
    for (int i = 0; i < 2; i++) {
        CHECK(RVMA_Post_buffer(memory.received, SIZE, &memory.record, other) == RVMA_SUCCESS);
        CHECK(RVMA_Put(sender, memory.sent, SIZE, &to, 10, 9, 0, &op) == RVMA_SUCCESS);
        CHECK(RVMA_Wait_put(sender, op, LIMIT) == RVMA_SUCCESS);
        CHECK(RVMA_Wait(receiver, &memory.record, LIMIT) == RVMA_SUCCESS);
        CHECK(SPIN_Read_state(context, 0, &counted, sizeof counted) == RVMA_SUCCESS && counted == 71);
        CHECK(SPIN_Disconnect(context) == RVMA_SUCCESS);
    }

    /* The one message of the rule had tasks, and nothing was counted after the rule was taken back. */
    CHECK(SPIN_Read_counters(context, &later) == RVMA_SUCCESS && later.tasks > counters.tasks);
    CHECK(later.tasks - counters.tasks <= counters.tasks && later.instructions > counters.instructions);

    /* Both buffers were reported when they were complete. */
    int complete = 0;
    while (SPIN_Next_event(receiver, &event, LIMIT / 20) == RVMA_SUCCESS) {
        if (event.kind == SPIN_BUFFER) {
            CHECK(event.code == RVMA_DONE && event.length == SIZE && event.user == (uint64_t)(uintptr_t)memory.received);
            complete++;
        }
    }
    CHECK(complete == 2);

    /* The end. */
    CHECK(RVMA_Close_win(win) == RVMA_SUCCESS);
    CHECK(SPIN_Unload(context) == RVMA_SUCCESS);
    FAILS(SPIN_Unload(context), RVMA_ERR_ARGUMENT, "no live handle");
    context = SPIN_Load_file(receiver, arguments[1], NULL);
    CHECK(context != NULL && SPIN_Number(context) == 0);
    CHECK(RVMA_Close(receiver) == RVMA_SUCCESS && RVMA_Close(sender) == RVMA_SUCCESS);
    FAILS(SPIN_Number(context), RVMA_ERR_ARGUMENT, "no live handle");
    return 0;
}
