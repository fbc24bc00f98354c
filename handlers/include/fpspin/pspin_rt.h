/* FPsPIN compatibility: numbers of the running core and cluster, and the page size of the host. */
#ifndef SPINDLE_FPSPIN_RT_H
#define SPINDLE_FPSPIN_RT_H

#include "../pspin/pspin_rt.h"

#define PAGE_SIZE 4096

#endif
