/* Does nothing: what a packet costs. */
#include "load.h"

void nothing(handler_args_t *args) { (void)args; }

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)hh;
    (void)th;
    (void)handler_mem_ptr;
    *ph = nothing;
}
