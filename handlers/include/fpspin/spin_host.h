/* FPsPIN compatibility: requests to the host. Each HPU has a page of the context's host region: a flag, and from DMA_ALIGN on the data. The
 * handler writes the flag; the host answers by a flag in __host_data. `spindle run --fpspin` is such a host. */
#ifndef SPINDLE_FPSPIN_SPIN_HOST_H
#define SPINDLE_FPSPIN_SPIN_HOST_H

#include "handler.h"

/* Packets go through the host. FPsPIN's examples set it on the command line (-D DO_HOST=1). */
#ifndef DO_HOST
#define DO_HOST 0
#endif

/* Eight bytes, written and read as one number. */
typedef struct {
    union {
        struct __attribute__((__packed__)) {
            uint8_t dma_id;
            uint32_t len;
            uint16_t hpu_id;
        };
        uint64_t data;
    };
} fpspin_flag_t;
static_assert(sizeof(fpspin_flag_t) == sizeof(uint64_t), "a flag is one number");

#define DMA_BUS_WIDTH 512
#define DMA_ALIGN (DMA_BUS_WIDTH / 8)

#define HPU_ID(args) ((args)->hpu_gid)
#define HOST_ADDR(args) ((uint64_t)(args)->task->host_mem_high << 32 | (args)->task->host_mem_low)
#define HOST_ADDR_HPU(args) (HOST_ADDR(args) + HPU_ID(args) * PAGE_SIZE)
#define HOST_PLD_ADDR(args) (HOST_ADDR_HPU(args) + DMA_ALIGN)

/* True if the context has a page of host memory for each HPU. */
static inline bool fpspin_check_host_mem(handler_args_t *args) {
    return HOST_ADDR(args) != 0 && args->task->host_mem_size >= CORE_COUNT * PAGE_SIZE;
}

/* Reports `len` bytes to the host and waits for the answer. */
static inline fpspin_flag_t fpspin_host_req(handler_args_t *args, uint32_t len) {
    uint32_t hpu = HPU_ID(args);
    fpspin_flag_t request = {.data = 0}, answer;
    request.dma_id = ++dma_idx[hpu];
    request.len = len;
    request.hpu_id = (uint16_t)hpu;
    spin_cmd_t write;
    spin_write_to_host(HOST_ADDR_HPU(args), request.data, &write);
    spin_cmd_wait(write);
    do {
        answer.data = __host_data.flag[hpu];
    } while (answer.dma_id != request.dma_id);
    if (answer.hpu_id != hpu) {
        printf("the host answers HPU %u instead of %u\n", answer.hpu_id, hpu);
    }
    return answer;
}

#endif
