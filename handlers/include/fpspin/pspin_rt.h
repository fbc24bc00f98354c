/* FPsPIN compatibility: the HPU that runs a handler, and the size of a page of the host. */
#ifndef SPINDLE_FPSPIN_RT_H
#define SPINDLE_FPSPIN_RT_H

#include "../pspin/pspin_rt.h"

#define PAGE_SIZE 4096

#endif
