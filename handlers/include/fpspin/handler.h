/* FPsPIN compatibility: the API of FPsPIN handlers on top of Spindle's. Build and run such handlers with `--fpspin`; docs/handlers.md
 * describes the differences. The API is PsPIN's except for packets: pkt_mem begins with the Ethernet header, and spin_send_packet sends a
 * whole frame unchanged. */
#ifndef SPINDLE_FPSPIN_HANDLER_H
#define SPINDLE_FPSPIN_HANDLER_H

#include "pspin.h"

#include "../pspin/handler.h"

#endif
