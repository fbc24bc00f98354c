/* FPsPIN compatibility: the variable that handlers share with the host. The host reads the counters and writes one flag per HPU. */
#ifndef SPINDLE_FPSPIN_HOST_DATA_H
#define SPINDLE_FPSPIN_HOST_DATA_H

#include "../spin_base.h"
#include "../pspin/spin_conf.h"

#define MAX_COUNTERS 16

struct perf_counter {
    uint32_t sum;
    uint32_t count;
};

struct host_data {
    uint64_t flag[CORE_COUNT];
    struct perf_counter counters[MAX_COUNTERS];
};

/* Defined in lib/pspin.c. */
extern volatile struct host_data __host_data;
/* Requests to the host so far, by hpu_gid. */
extern volatile uint8_t dma_idx[CORE_COUNT];

#endif
