/* PsPIN compatibility: the arguments of a handler, with the fields and the order that PsPIN handlers expect. */
#ifndef SPINDLE_PSPIN_TASK_H
#define SPINDLE_PSPIN_TASK_H

#include "../spin_base.h"
#include "spin_conf.h"

typedef struct task {
    void *handler_mem;       /* context memory after the image's variables and the scratchpads, or what init_handlers names */
    size_t handler_mem_size;
    void *pkt_mem;           /* the packet from its IP header on (of a frame that is not IP: after its EtherType); FPsPIN: the frame */
    size_t pkt_mem_size;
    void *scratchpad[NB_CLUSTERS];
    size_t scratchpad_size[NB_CLUSTERS];
    uint32_t host_mem_high;  /* the context's host region */
    uint32_t host_mem_low;
    size_t host_mem_size;
    void *l2_pkt_mem;        /* the same as pkt_mem */
    uint32_t home_cluster_id;
    uint32_t flow_id;        /* the message */
} __attribute__((__packed__, __aligned__(4))) task_t; /* all fields are words */

typedef struct handler_args {
    task_t *task;
    uint32_t hpu_gid;
    uint32_t cluster_id;     /* the message's home cluster, for all of its handlers */
    uint32_t hpu_id;
} handler_args_t;

typedef void (*handler_fn)(handler_args_t *args);

#endif
