/* PsPIN compatibility: the API of PsPIN handlers on top of Spindle's. Build and run such handlers with `--pspin`; docs/handlers.md lists
 * the differences. lib/pspin.c implements the calls and converts Spindle's task page into task_t. */
#ifndef SPINDLE_PSPIN_HANDLER_H
#define SPINDLE_PSPIN_HANDLER_H

#include "pspin.h"
#include "pspin_task.h"
#include "spin_conf.h"
#include "spin_dma.h"
#include "util.h"

#define __handler__ __attribute__((used))

/* An image defines this function, which names its handlers (NULL: none). */
void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr);

/* Payload and payload length of a UDP packet that starts at `packet`. */
#define GET_IP_UDP_PLD(packet, payload, payload_length)                                                                \
    do {                                                                                                               \
        const ip_hdr_t *spindle_ip = (const ip_hdr_t *)(packet);                                                       \
        (payload) = (uint8_t *)(packet) + 4 * spindle_ip->ihl + sizeof(udp_hdr_t);                                     \
        (payload_length) = spindle_ip->length - sizeof(ip_hdr_t) - sizeof(udp_hdr_t);                                  \
    } while (0)

/* ---- Locks ---------------------------------------------------------------------------------------------------------------- */

static inline int spin_lock_init(spin_lock_t *lock) {
    futex_init(lock);
    return SPIN_OK;
}
/* Returns true if the lock was acquired. */
static inline int spin_lock_try_lock(spin_lock_t *lock) { return futex_try_lock(lock); }
static inline int spin_lock_lock(spin_lock_t *lock) {
    spin_lock(lock);
    return SPIN_OK;
}
static inline int spin_lock_unlock(spin_lock_t *lock) {
    spin_unlock(lock);
    return SPIN_OK;
}

/* Many readers or one writer: the first reader acquires the lock, the last one releases it. */
typedef struct spin_rw_lock {
    spin_lock_t glock;
    volatile int32_t num_readers;
} spin_rw_lock_t;

static inline int spin_rw_lock_r_lock(spin_rw_lock_t *rwlock) {
    if (amo_add(&rwlock->num_readers, 1) == 0) {
        spin_lock(&rwlock->glock);
    }
    return SPIN_OK;
}
static inline int spin_rw_lock_r_unlock(spin_rw_lock_t *rwlock) {
    if (amo_add(&rwlock->num_readers, -1) == 1) {
        spin_unlock(&rwlock->glock);
    }
    return SPIN_OK;
}
static inline int spin_rw_lock_w_lock(spin_rw_lock_t *rwlock) { return spin_lock_lock(&rwlock->glock); }
static inline int spin_rw_lock_w_unlock(spin_rw_lock_t *rwlock) { return spin_lock_unlock(&rwlock->glock); }

/* ---- Commands ------------------------------------------------------------------------------------------------------------- */

/* Handle of a command. */
typedef uint32_t spin_cmd_t;

/* Defined in lib/pspin.c. */
void spindle_pspin_wait(uint32_t handle);
bool spindle_pspin_test(uint32_t handle);
uint32_t spindle_pspin_send(void *data, uint32_t length);
uint32_t spindle_pspin_to_host(uint64_t host_addr, const void *data, uint32_t length);
uint32_t spindle_pspin_from_host(uint64_t host_addr, void *data, uint32_t length);
uint32_t spindle_pspin_put(uint32_t node, const void *data, uint32_t length);
uint32_t spindle_pspin_write_to_host(uint64_t host_addr, uint64_t value);

/* Stores the handle, unless the caller passed NULL. */
static inline int spindle_pspin_issued(uint32_t issued, spin_cmd_t *handle) {
    if (handle) {
        *handle = issued;
    }
    return SPIN_OK;
}

static inline int spin_cmd_wait(spin_cmd_t handle) {
    spindle_pspin_wait(handle);
    return SPIN_OK;
}
static inline int spin_cmd_test(spin_cmd_t handle, bool *completed) {
    *completed = spindle_pspin_test(handle);
    return SPIN_OK;
}
/* Sends an IP packet to the sender of the handler's packet, with the Ethernet header of that packet, addresses exchanged. */
static inline int spin_send_packet(void *data, uint32_t length, spin_cmd_t *handle) {
    return spindle_pspin_issued(spindle_pspin_send(data, length), handle);
}
static inline int spin_dma_to_host(uint64_t host_addr, uint32_t nic_addr, uint32_t length, bool generate_event,
                                   spin_cmd_t *xfer) {
    (void)generate_event;
    return spindle_pspin_issued(spindle_pspin_to_host(host_addr, (const void *)nic_addr, length), xfer);
}
static inline int spin_dma_from_host(uint64_t host_addr, uint32_t nic_addr, uint32_t length, bool generate_event,
                                     spin_cmd_t *xfer) {
    (void)generate_event;
    return spindle_pspin_issued(spindle_pspin_from_host(host_addr, (void *)nic_addr, length), xfer);
}
/* Puts bytes, without a key, into a mailbox of process 0 of a node; the mailbox address is the match bits of the handler's message. */
static inline int spin_rdma_put(uint32_t dest, void *data, uint32_t length, spin_cmd_t *handle) {
    return spindle_pspin_issued(spindle_pspin_put(dest, data, length), handle);
}
/* Writes eight bytes. */
static inline int spin_write_to_host(uint64_t host_addr, uint64_t user_data, spin_cmd_t *xfer) {
    return spindle_pspin_issued(spindle_pspin_write_to_host(host_addr, user_data), xfer);
}
#define spin_host_write spin_write_to_host

#endif
