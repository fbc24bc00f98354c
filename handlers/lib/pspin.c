/* Runs PsPIN and FPsPIN handlers: the entry points that the hardware calls convert the task page into a task_t and call the handler that
 * init_handlers names. Linked into an image only with `--pspin` or `--fpspin` (which defines SPINDLE_FPSPIN).
 *
 * Context memory of such an image holds its variables, which include the scratchpads of all clusters, and then the handler memory. The
 * scratchpads are not in L1, because PsPIN handlers also access those of other clusters. */
#include "spin_buffers.h"

#include "pspin/pspin_task.h"
#ifdef SPINDLE_FPSPIN
#include "fpspin/host_data.h"
#endif

/* -D SPINDLE_INIT_HANDLERS=NAME: selects one of several such functions. */
#ifndef SPINDLE_INIT_HANDLERS
#define SPINDLE_INIT_HANDLERS init_handlers
#endif
/* -D SPINDLE_PSPIN_SCRATCHPAD=BYTES: scratchpad of each cluster. */
#ifndef SPINDLE_PSPIN_SCRATCHPAD
#define SPINDLE_PSPIN_SCRATCHPAD 8192
#endif
/* -D SPINDLE_PSPIN_LAST=BYTES: the first bytes of the last arrived frame of a message, kept for its completion handler; a multiple
 * of 4. */
#ifndef SPINDLE_PSPIN_LAST
#define SPINDLE_PSPIN_LAST 64
#endif

uint32_t rt_core_id(void);
uint32_t rt_cluster_id(void);
void SPINDLE_INIT_HANDLERS(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr);

/* Start of the handler memory, after all variables; defined by the link script. */
extern uint8_t spin_handler_mem[];

enum { BUFFER = 1024, LONGEST = 2048, MESSAGES = 256, MACS = 12, TAG = 4, HEADER = 14 };
/* Room for the headers of an empty packet: Ethernet, VLAN tag, IPv4, UDP, the longest Spindle header; without padding. */
enum { EMPTY = 128 };

static uint8_t scratchpads[NB_CLUSTERS][SPINDLE_PSPIN_SCRATCHPAD] __attribute__((aligned(64)));

/* GCC calls this function of libgcc to swap the bytes of a word; it does not know the instruction. */
uint32_t __bswapsi2(uint32_t word) {
    __asm__("rev8 %0, %0" : "+r"(word));
    return word;
}

/* Offset of the first byte after the EtherType. */
SPIN_INLINE uint32_t l3_offset(const uint8_t *frame) {
    return spin_load16(frame + MACS) == __builtin_bswap16(SPIN_ETHERTYPE_VLAN) ? HEADER + TAG : HEADER;
}

/* Offset of pkt_mem in the frame: a PsPIN packet begins with its IP header, an FPsPIN packet with its Ethernet header. */
SPIN_INLINE uint32_t packet_offset(const uint8_t *frame, uint32_t bytes) {
#ifdef SPINDLE_FPSPIN
    (void)frame;
    (void)bytes;
    return 0;
#else
    return bytes ? l3_offset(frame) : 0;
#endif
}

/* ---- The completion handler's packet -------------------------------------------------------------------------------------- */

/* The first bytes of the last arrived packet of a message, as received. */
typedef struct {
    spin_lock_t lock;
    uint32_t frame; /* number of the frame; numbers are counted modulo 65536 */
    uint32_t bytes;
    uint32_t words[SPINDLE_PSPIN_LAST / 4];
} last_t;

#if SPINDLE_PSPIN_LAST > 0
static last_t lasts[MESSAGES];

static void copy_last(last_t *last, const spin_task_t *p) {
    uint32_t bytes = p->packet_len < SPINDLE_PSPIN_LAST ? p->packet_len : SPINDLE_PSPIN_LAST;
    last->frame = p->frame;
    last->bytes = bytes;
    memcpy(last->words, spin_packet(p), bytes);
}
/* Starts the record with the header handler's packet: no other handler of the message runs yet. */
static void keep_first(const spin_task_t *p) {
    last_t *last = &lasts[p->msg_slot];
    last->lock = 0;
    copy_last(last, p);
    spin_fence();
}
/* Replaces an earlier packet by a later one; the handlers run in any order. */
static void keep(const spin_task_t *p) {
    last_t *last = &lasts[p->msg_slot];
    if (p->frame == last->frame) {
        return;
    }
    spin_lock(&last->lock);
    if ((int16_t)(p->frame - last->frame) > 0) {
        copy_last(last, p);
    }
    spin_unlock(&last->lock);
}
SPIN_INLINE const last_t *kept(void) { return &lasts[spin_task()->msg_slot]; }
#else
/* Without memory for the last packet, a completion handler gets none. */
static const last_t none;
static void keep_first(const spin_task_t *p) { (void)p; }
static void keep(const spin_task_t *p) { (void)p; }
SPIN_INLINE const last_t *kept(void) { return &none; }
#endif

/* ---- Tasks ---------------------------------------------------------------------------------------------------------------- */

/* The handlers and the handler memory that init_handlers names. */
typedef struct {
    handler_fn hh, ph, th;
    void *memory;
} handlers_t;

SPIN_INLINE handlers_t named(void) {
    handlers_t named = {NULL, NULL, NULL, spin_handler_mem};
    SPINDLE_INIT_HANDLERS(&named.hh, &named.ph, &named.th, &named.memory);
    return named;
}

/* Calls a handler on a frame of which `bytes` are readable. `spindle build` knows this function by name: the functions that it calls are
 * those that init_handlers names. */
static __attribute__((noinline)) void spindle_pspin_call(handler_fn handler, void *handler_mem, const uint8_t *frame,
                                                         uint32_t bytes) {
    const spin_task_t *p = spin_task();
    uint32_t offset = packet_offset(frame, bytes);
    uint32_t home = p->msg_id % NB_CLUSTERS;
    task_t task = {
        .handler_mem = handler_mem,
        .handler_mem_size = SPIN_REGION_CONTEXT + p->state_size - (uint32_t)handler_mem,
        .pkt_mem = (void *)(frame + offset),
        .pkt_mem_size = bytes - offset,
        .host_mem_high = p->host_hi,
        .host_mem_low = p->host_lo,
        .host_mem_size = p->host_size,
        .l2_pkt_mem = (void *)(frame + offset),
        .home_cluster_id = home,
        .flow_id = p->msg_id,
    };
    for (uint32_t i = 0; i < NB_CLUSTERS; i++) {
        task.scratchpad[i] = scratchpads[i];
        task.scratchpad_size[i] = SPINDLE_PSPIN_SCRATCHPAD;
    }
    uint32_t core = rt_core_id();
    handler_args_t args = {.task = &task,
                           .hpu_gid = core + NB_CORES * (rt_cluster_id() % NB_CLUSTERS),
                           .cluster_id = home,
                           .hpu_id = core};
    handler(&args);
}

/* Calls the header handler of an empty packet and restores the packet: the payload handler, which runs next in the same task, must see it
 * as it arrived. */
static void call_before_payload(const handlers_t *handlers, const spin_task_t *p) {
    uint8_t original[EMPTY] __attribute__((aligned(4)));
    uint32_t bytes = p->packet_len < EMPTY ? p->packet_len : EMPTY;
    memcpy(original, spin_packet(p), bytes);
    spindle_pspin_call(handlers->hh, handlers->memory, spin_packet(p), p->packet_len);
    /* Commands of the header handler may still read the packet. */
    spin_wait();
    memcpy(spin_packet(p), original, bytes);
    __asm__ volatile("mv gp, zero"); /* see turned() */
}

/* The hardware starts no payload task for a packet without payload; PsPIN does. So the payload handler of the message's first packet runs
 * here if that packet is empty. */
int header_handler(const spin_header_t *h, void *state) {
    handlers_t handlers = named();
    bool empty = h->payload_len == 0 && handlers.ph;
    (void)state;
    if (handlers.th) {
        keep_first(h);
    }
    if (handlers.hh && empty) {
        call_before_payload(&handlers, h);
    } else if (handlers.hh) {
        spindle_pspin_call(handlers.hh, handlers.memory, spin_packet(h), h->packet_len);
    }
    if (empty) {
        spindle_pspin_call(handlers.ph, handlers.memory, spin_packet(h), h->packet_len);
    }
    return SPIN_PROCESS_DATA;
}

int payload_handler(const spin_payload_t *p, void *state) {
    handlers_t handlers = named();
    (void)state;
    /* Before the call: a completion handler sees the packet as it arrived. */
    if (handlers.th) {
        keep(p);
    }
    if (handlers.ph) {
        spindle_pspin_call(handlers.ph, handlers.memory, spin_packet(p), p->packet_len);
    }
    return SPIN_SUCCESS;
}

int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    handlers_t handlers = named();
    (void)dropped_bytes;
    (void)flow_control_triggered;
    (void)state;
    if (handlers.th) {
        spindle_pspin_call(handlers.th, handlers.memory, (const uint8_t *)kept()->words, kept()->bytes);
    }
    return SPIN_SUCCESS;
}

/* A number that is unique among the running handlers of the cluster: an HPU has two hardware threads, and mhartid counts threads. */
uint32_t rt_core_id(void) {
    uint32_t hart;
    __asm__ volatile("csrr %0, mhartid" : "=r"(hart));
    return hart % NB_CORES;
}
uint32_t rt_cluster_id(void) { return spin_task()->cluster_id; }

#ifdef SPINDLE_FPSPIN
/* The host finds and writes this variable by its symbol. */
volatile struct host_data __host_data;
volatile uint8_t dma_idx[CORE_COUNT];
#endif

/* ---- Commands ------------------------------------------------------------------------------------------------------------- */

/* The handle of a command that had ended when the call returned. */
#define OVER 0xffffffffu

void spindle_pspin_wait(uint32_t handle) {
    if (handle != OVER) {
        spin_wait_for(handle);
    }
}
bool spindle_pspin_test(uint32_t handle) { return handle == OVER || spin_test(handle); }

/* Allocates a buffer in L1, which commands can reach. The first word of the scratchpad records the allocated buffers. */
static uint8_t *take(void) {
    uint8_t *buffers = spin_scratch() + SPIN_BEAT_BYTES;
    uint32_t count = (spin_task()->scratch_size - SPIN_BEAT_BYTES) / BUFFER;
    if (spin_task()->scratch_size < SPIN_BEAT_BYTES + BUFFER) {
        __builtin_trap();
    }
    return buffers + BUFFER * spin_take_buffer((volatile uint32_t *)spin_scratch(), spin_task()->hpu_id, count);
}
/* Waits for the command that uses the buffer and frees it. */
static void give(uint8_t *buffer) {
    spin_wait();
    spin_give_buffer((volatile uint32_t *)spin_scratch(), (uint32_t)(buffer - spin_scratch()) / BUFFER);
}

/* True if one command can read or write these bytes without a copy. */
SPIN_INLINE bool direct(const void *data, uint32_t length) {
    uint32_t region = (uint32_t)data & 0xf0000000u;
    return length <= LONGEST &&
           (region == SPIN_REGION_PACKET || region == SPIN_REGION_SCRATCH || region == SPIN_REGION_CONTEXT);
}

#ifdef SPINDLE_FPSPIN
/* Sends bytes that are a whole frame. */
uint32_t spindle_pspin_send(void *data, uint32_t length) {
    if (direct(data, length)) {
        spin_send_packet_flags(data, length, SPIN_SEND_UNSEEN);
        return spin_handle();
    }
    if (length > BUFFER) {
        __builtin_trap();
    }
    uint8_t *own = take();
    memcpy(own, data, length);
    spin_send_packet(own, length);
    give(own);
    return OVER;
}
#else
/* Returns whether the MAC addresses in the packet slot are exchanged, and records that they are from now on. Register gp holds the
 * record: it is 0 when a handler starts, and no other code uses it, because images are linked without a global pointer. */
static bool turned(bool from_now_on) {
    uint32_t before;
    __asm__ volatile("mv %0, gp\n\tor gp, gp, %1" : "=&r"(before) : "r"(from_now_on));
    return before;
}

/* Sends bytes that are an IP packet. */
uint32_t spindle_pspin_send(void *data, uint32_t length) {
    const spin_task_t *p = spin_task();
    uint8_t *frame = spin_packet(p);
    if (p->packet_len == 0 || data != spin_l3(p)) {
        /* A separate frame, with the Ethernet header of the handler's packet. */
        uint8_t *own = take();
        const uint8_t *header = p->packet_len ? frame : (const uint8_t *)kept()->words;
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
    /* PsPIN has no cut packets: of such a frame the part in the slot is sent, and `spindle run` warns about it. */
    spin_send_packet_flags(frame, (uint32_t)((uint8_t *)data - frame) + length, SPIN_SEND_UNSEEN);
    return spin_handle();
}
#endif

/* PsPIN takes host addresses; commands take offsets into the host region and refuse those outside it. */
SPIN_INLINE uint64_t host_offset(uint64_t host_addr) {
    return host_addr - ((uint64_t)spin_task()->host_hi << 32 | spin_task()->host_lo);
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
