/* PsPIN compatibility: hardware calls the handlers, so there is nothing to start. */
#include "handler.h"
