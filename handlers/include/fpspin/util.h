/* FPsPIN compatibility: PsPIN's helpers, and the HPU that runs a handler. */
#ifndef SPINDLE_FPSPIN_UTIL_H
#define SPINDLE_FPSPIN_UTIL_H

#include "../pspin/util.h"

#include "pspin_rt.h"

static inline unsigned int user_core_id(void) { return rt_core_id(); }
static inline unsigned int user_cluster_id(void) { return rt_cluster_id(); }

#endif
