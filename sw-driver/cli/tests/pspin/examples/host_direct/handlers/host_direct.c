/* Writes a number to a fixed address of the host. */
#include <handler.h>

void write_it(handler_args_t *args) {
    (void)args;
    spin_cmd_t over;
    spin_write_to_host(0xdeadbeef, 0xcafebebe, &over);
    spin_cmd_wait(over);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)hh;
    (void)ph;
    (void)handler_mem_ptr;
    *th = write_it;
}
