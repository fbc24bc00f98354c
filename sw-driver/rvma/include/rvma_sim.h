/* Simulated NICs for programs that use rvma.h.
 *
 * The NICs are the emitted hardware, simulated cycle by cycle. Time passes for them only in calls of rvma.h and of this
 * header. The library has these calls if it was built with its feature `sim`, which is the default. A program that needs
 * no wire of its own kind opens simulated cards by RVMA_Open("sim:CONFIG", ...), with every library.
 */
#ifndef RVMA_SIM_H
#define RVMA_SIM_H

#include <rvma.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the wire between simulated NICs does. */
typedef struct {
    double loss;        /* share of the frames that are lost */
    double duplication; /* share of the frames that arrive twice */
    uint32_t paths;     /* more than 1: frames take any of them and overtake each other */
    uint32_t latency;   /* cycles on the shortest path */
    uint32_t step;      /* by which each path is longer than the one before */
    uint64_t seed;
} RVMA_Wire;

/* `nodes` (1 to 16) simulated NICs on a wire; NULL is a faithful wire of 250 cycles. Without a linked model, the first call
 * builds the model, which takes minutes. RVMA_Shutdown ends the simulation. */
RVMA_Network *RVMA_Simulate(int nodes, const RVMA_Wire *wire);
/* Lets time pass. */
RVMA_Status RVMA_Run(RVMA_Network *network, uint64_t cycles);

#ifdef __cplusplus
}
#endif

#endif
