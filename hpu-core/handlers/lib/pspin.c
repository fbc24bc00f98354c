/* Runs PsPIN handlers: the entry points that the hardware calls turn the task page into a task_t and call the handler that init_handlers
 * names. Linked into an image only with `--pspin`.
 *
 * Context memory of such an image: its variables (the scratchpads of all clusters are one of them), then the handler memory. Scratchpads
 * lie there and not in L1 because PsPIN handlers read and write those of other clusters too. */
#include "spin_buffers.h"

#include "pspin/pspin_task.h"

/* -D SPINDLE_INIT_HANDLERS=NAME: an image with several such functions. */
#ifndef SPINDLE_INIT_HANDLERS
#define SPINDLE_INIT_HANDLERS init_handlers
#endif
/* -D SPINDLE_PSPIN_SCRATCHPAD=BYTES: of each cluster. */
#ifndef SPINDLE_PSPIN_SCRATCHPAD
#define SPINDLE_PSPIN_SCRATCHPAD 8192
#endif
/* -D SPINDLE_PSPIN_LAST=BYTES: the first bytes of a message's last frame, kept for its completion handler. A multiple of 4. */
#ifndef SPINDLE_PSPIN_LAST
#define SPINDLE_PSPIN_LAST 64
#endif

uint32_t rt_core_id(void);
uint32_t rt_cluster_id(void);
void SPINDLE_INIT_HANDLERS(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr);

/* Behind all variables; from the link script. */
extern uint8_t spin_handler_mem[];

enum { BUFFER = 1024, LONGEST = 2048, MESSAGES = 256, MACS = 12, TAG = 4, HEADER = 14 };

static uint8_t scratchpads[NB_CLUSTERS][SPINDLE_PSPIN_SCRATCHPAD] __attribute__((aligned(64)));
static uint32_t last_frames[MESSAGES][SPINDLE_PSPIN_LAST / 4];

/* Offset of what stands behind the EtherType. */
SPIN_INLINE uint32_t l3_offset(const uint8_t *frame) {
    return spin_get16(frame + MACS) == SPIN_ETHERTYPE_VLAN ? HEADER + TAG : HEADER;
}

/* Calls a handler on a frame of which `bytes` are at hand. */
static void call(handler_fn handler, void *handler_mem, const uint8_t *frame, uint32_t bytes) {
    const spin_task_t *p = spin_task();
    uint32_t l3 = bytes ? l3_offset(frame) : 0;
    uint32_t home = p->msg_id % NB_CLUSTERS;
    /* Packed, as PsPIN's; atomic operations on its fields need aligned words. */
    task_t task __attribute__((aligned(4))) = {
        .handler_mem = handler_mem,
        .handler_mem_size = SPIN_REGION_CONTEXT + p->state_size - (uint32_t)handler_mem,
        .pkt_mem = (void *)(frame + l3),
        .pkt_mem_size = bytes - l3,
        .host_mem_high = p->host_hi,
        .host_mem_low = p->host_lo,
        .host_mem_size = p->host_size,
        .l2_pkt_mem = (void *)(frame + l3),
        .home_cluster_id = home,
        .flow_id = p->msg_id,
    };
    for (uint32_t i = 0; i < NB_CLUSTERS; i++) {
        task.scratchpad[i] = scratchpads[i];
        task.scratchpad_size[i] = SPINDLE_PSPIN_SCRATCHPAD;
    }
    handler_args_t args = {
        .task = &task, .hpu_gid = rt_core_id() + NB_CORES * rt_cluster_id(), .cluster_id = home, .hpu_id = rt_core_id()};
    handler(&args);
}

int header_handler(const spin_header_t *h, void *state) {
    handler_fn hh = NULL, ph = NULL, th = NULL;
    void *handler_mem = spin_handler_mem;
    (void)state;
    SPINDLE_INIT_HANDLERS(&hh, &ph, &th, &handler_mem);
    if (hh) {
        call(hh, handler_mem, spin_packet(h), h->packet_len);
    }
    return SPIN_PROCESS_DATA;
}

int payload_handler(const spin_payload_t *p, void *state) {
    handler_fn hh = NULL, ph = NULL, th = NULL;
    void *handler_mem = spin_handler_mem;
    (void)state;
    SPINDLE_INIT_HANDLERS(&hh, &ph, &th, &handler_mem);
    if (ph) {
        call(ph, handler_mem, spin_packet(p), p->packet_len);
    }
    if (th) {
        const uint32_t *frame = (const uint32_t *)spin_packet(p);
        for (uint32_t i = 0; i < SPINDLE_PSPIN_LAST / 4 && 4 * i + 4 <= p->packet_len; i++) {
            last_frames[p->msg_slot][i] = frame[i];
        }
    }
    return SPIN_SUCCESS;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    handler_fn hh = NULL, ph = NULL, th = NULL;
    void *handler_mem = spin_handler_mem;
    (void)dropped_bytes;
    (void)flow_control_triggered;
    (void)state;
    SPINDLE_INIT_HANDLERS(&hh, &ph, &th, &handler_mem);
    if (th) {
        call(th, handler_mem, (const uint8_t *)last_frames[spin_task()->msg_slot], SPINDLE_PSPIN_LAST);
    }
    return SPIN_SUCCESS;
}

uint32_t rt_core_id(void) { return spin_task()->hpu_id; }
uint32_t rt_cluster_id(void) { return spin_task()->cluster_id; }

/* ---- Commands ------------------------------------------------------------------------------------------------------------- */

/* The handle of a command that was over when the call returned. */
#define OVER 0xffffffffu

void spindle_pspin_wait(uint32_t handle) {
    if (handle != OVER) {
        spin_wait_for(handle);
    }
}
bool spindle_pspin_test(uint32_t handle) { return handle == OVER || spin_test(handle); }

/* Have the MAC addresses in the packet slot changed places? The register gp remembers it: it is 0 when a handler starts, and nothing else
 * uses it, for images are linked without a global pointer. */
static bool turned(bool from_now_on) {
    uint32_t before;
    __asm__ volatile("mv %0, gp\n\tor gp, gp, %1" : "=&r"(before) : "r"(from_now_on));
    return before;
}

/* A buffer in L1, where commands can read. The first word there says which are taken. */
static uint8_t *take(void) {
    uint8_t *buffers = spin_scratch() + SPIN_BEAT_BYTES;
    uint32_t count = (spin_task()->scratch_size - SPIN_BEAT_BYTES) / BUFFER;
    if (spin_task()->scratch_size < SPIN_BEAT_BYTES + BUFFER) {
        __builtin_trap();
    }
    return buffers + BUFFER * spin_take_buffer((volatile uint32_t *)spin_scratch(), spin_task()->hpu_id, count);
}
/* Gives it back when the command that reads it is over. */
static void give(uint8_t *buffer) {
    spin_wait();
    spin_give_buffer((volatile uint32_t *)spin_scratch(), (uint32_t)(buffer - spin_scratch()) / BUFFER);
}

uint32_t spindle_pspin_send(void *data, uint32_t length) {
    const spin_task_t *p = spin_task();
    uint8_t *frame = spin_packet(p);
    if (p->packet_len == 0 || data != spin_l3(p)) {
        /* A frame of its own, with the header of the handler's packet. */
        uint8_t *own = take();
        const uint8_t *header = p->packet_len ? frame : (const uint8_t *)last_frames[p->msg_slot];
        uint32_t l3 = l3_offset(header);
        if (length > BUFFER - l3) {
            __builtin_trap();
        }
        memcpy(own, header, l3);
        if (!p->packet_len || !turned(false)) {
            spin_swap_macs(own);
        }
        memcpy(own + l3, data, length);
        spin_send_packet(own, l3 + length);
        give(own);
        return OVER;
    }
    if (!turned(true)) {
        spin_swap_macs(frame);
    }
    spin_send_packet(frame, (uint32_t)((uint8_t *)data - frame) + length);
    return spin_handle();
}

/* PsPIN's host addresses are the host's own, a command's are offsets into the host region. What lies outside is refused. */
SPIN_INLINE uint64_t host_offset(uint64_t host_addr) {
    return host_addr - ((uint64_t)spin_task()->host_hi << 32 | spin_task()->host_lo);
}

/* Does one command reach these bytes where they are? */
SPIN_INLINE bool direct(const void *data, uint32_t length) {
    uint32_t region = (uint32_t)data & 0xf0000000u;
    return (uint32_t)data % SPIN_BEAT_BYTES == 0 && length <= LONGEST &&
           (region == SPIN_REGION_PACKET || region == SPIN_REGION_SCRATCH || region == SPIN_REGION_CONTEXT);
}

uint32_t spindle_pspin_to_host(uint64_t host_addr, const void *data, uint32_t length) {
    uint64_t offset = host_offset(host_addr);
    if (direct(data, length)) {
        spin_command(SPIN_OP_DMA_TO_HOST, data, length, offset);
        return spin_handle();
    }
    uint8_t *buffer = take();
    for (uint32_t done = 0; done < length; done += BUFFER) {
        uint32_t part = length - done < BUFFER ? length - done : BUFFER;
        spin_wait();
        memcpy(buffer, (const uint8_t *)data + done, part);
        spin_command(SPIN_OP_DMA_TO_HOST, buffer, part, offset + done);
    }
    give(buffer);
    return OVER;
}

uint32_t spindle_pspin_from_host(uint64_t host_addr, void *data, uint32_t length) {
    uint64_t offset = host_offset(host_addr);
    if (direct(data, length)) {
        spin_command(SPIN_OP_DMA_FROM_HOST, data, length, offset);
        return spin_handle();
    }
    uint8_t *buffer = take();
    for (uint32_t done = 0; done < length; done += BUFFER) {
        uint32_t part = length - done < BUFFER ? length - done : BUFFER;
        spin_command(SPIN_OP_DMA_FROM_HOST, buffer, part, offset + done);
        spin_wait();
        memcpy((uint8_t *)data + done, buffer, part);
    }
    give(buffer);
    return OVER;
}

uint32_t spindle_pspin_put(uint32_t node, const void *data, uint32_t length) {
    spin_target_t to = {.node = node, .mailbox = (uint64_t)spin_task()->addr_hi << 32 | spin_task()->addr_lo};
    if (direct(data, length)) {
        spin_put(&to, data, length);
        return spin_handle();
    }
    uint8_t *buffer = take();
    for (; to.offset < length; to.offset += BUFFER) {
        uint32_t part = length - to.offset < BUFFER ? length - to.offset : BUFFER;
        spin_wait();
        memcpy(buffer, (const uint8_t *)data + to.offset, part);
        spin_put(&to, buffer, part);
    }
    give(buffer);
    return OVER;
}

uint32_t spindle_pspin_write_to_host(uint64_t host_addr, uint64_t value) {
    return spindle_pspin_to_host(host_addr, &value, sizeof value);
}
