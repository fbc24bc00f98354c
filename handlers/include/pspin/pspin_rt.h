/* PsPIN compatibility: who runs. */
#ifndef SPINDLE_PSPIN_RT_H
#define SPINDLE_PSPIN_RT_H

#include "pspin.h"

/* In lib/pspin.c. */
uint32_t rt_core_id(void);
uint32_t rt_cluster_id(void);

#endif
