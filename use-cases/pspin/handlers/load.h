/* The packets of the load: a UDP payload that begins with this header, and words after it. */
#include <handler.h>
#include <packets.h>

enum {
    HEADERS = sizeof(ip_hdr_t) + sizeof(udp_hdr_t) + 8,
    MESSAGE = 16, /* packets of a message */
    PLACE = 2048, /* bytes of host memory for each packet */
};

typedef struct __attribute__((packed, scalar_storage_order("big-endian"))) {
    uint16_t flags;
    uint32_t message;
    uint16_t number; /* in the message */
} load_t;

static inline const load_t *load(const handler_args_t *args) {
    return (const load_t *)((const pkt_hdr_t *)args->task->pkt_mem + 1);
}

/* The bytes after the headers, and how many they are. */
static inline uint8_t *data(const handler_args_t *args) { return (uint8_t *)args->task->pkt_mem + HEADERS; }
static inline uint32_t bytes(const handler_args_t *args) {
    uint32_t length = ((const ip_hdr_t *)args->task->pkt_mem)->length;
    return length > HEADERS ? length - HEADERS : 0;
}

/* The packet's place in host memory; false if it has none. */
static inline bool place(const handler_args_t *args, uint64_t *host) {
    const task_t *task = args->task;
    const load_t *l = load(args);
    uint32_t message = l->message, number = l->number, offset = (message * MESSAGE + number) * PLACE;
    *host = ((uint64_t)task->host_mem_high << 32 | task->host_mem_low) + offset;
    return message < task->host_mem_size / (MESSAGE * PLACE) && number < MESSAGE;
}
