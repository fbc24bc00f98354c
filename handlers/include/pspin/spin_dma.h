/* PsPIN compatibility: copies between the packet, scratchpads, handler memory and variables. The processor copies, so a copy is complete
 * when the call returns. */
#ifndef SPINDLE_PSPIN_SPIN_DMA_H
#define SPINDLE_PSPIN_SPIN_DMA_H

#include <string.h>

#include "../spin_base.h"

#define SPIN_OK 0x0
#define SPIN_FAIL 0x1
#define SPIN_DMA_EXT2LOC 1
#define SPIN_DMA_LOC2EXT 0

typedef uint32_t spin_dma_t;

static inline int spin_dma(void *source, void *dest, size_t size, int direction, int options, spin_dma_t *xfer) {
    (void)direction;
    (void)options;
    if (size == 0) {
        return SPIN_FAIL;
    }
    memcpy(dest, source, size);
    *xfer = 0;
    return SPIN_OK;
}
static inline int spin_dma_wait(spin_dma_t xfer) {
    (void)xfer;
    return SPIN_OK;
}
static inline int spin_dma_test(spin_dma_t xfer, uint32_t *completed) {
    (void)xfer;
    *completed = 1;
    return SPIN_OK;
}

#endif
