/* Platform functions of Embench. */
#include "../bench.h"
#include "support.h"

void initialise_board(void) {}
void start_trigger(void) { bench_begin(); }
void stop_trigger(void) { bench_end(); }
