/* PsPIN compatibility: numbers of the running core and cluster. */
#ifndef SPINDLE_PSPIN_RT_H
#define SPINDLE_PSPIN_RT_H

#include "pspin.h"

/* Defined in lib/pspin.c. */
uint32_t rt_core_id(void);
uint32_t rt_cluster_id(void);

#endif
