/* Heartbeats without further packets: a UDP packet subscribes its source, which then gets the packet back settings.beats times,
 * every settings.interval cycles. Up to 16 subscribers at a time; a frame that is longer than 256 bytes, and one that finds no place, is
 * dropped. Each beat is a task that sends the stored frame and starts the next one. */
#include "spin_atomic.h"
#include "spindle.h"

enum { SUBSCRIBERS = SPIN_WAITING_TASKS, LONGEST = 256 };

/* The host may set them. 100 microseconds at 250 MHz. */
struct { uint32_t interval, beats; } settings = {25000, 10};
static struct {
    uint32_t length; /* 0: free */
    uint8_t bytes[LONGEST];
} frames[SUBSCRIBERS];

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    if (!ip || !spin_whole_frame(h) || h->packet_len > LONGEST || !settings.beats) {
        return SPIN_DROP;
    }
    uint32_t at = 0;
    while (at < SUBSCRIBERS && spin_compare_swap(&frames[at].length, 0, h->packet_len) != 0) {
        at++;
    }
    if (at == SUBSCRIBERS) {
        return SPIN_DROP;
    }
    spin_swap_endpoints(spin_packet(h), ip);
    memcpy(frames[at].bytes, spin_packet(h), h->packet_len);
    spin_fence();
    spin_start((uint64_t)at << 32 | settings.beats, settings.interval);
    spin_wait();
    if (spin_failed(spin_handle())) {
        frames[at].length = 0;
        return SPIN_DROP;
    }
    return SPIN_PROCESS_DATA;
}

int task_handler(const spin_task_t *t, void *state) {
    (void)state;
    uint32_t at = t->addr_hi, left = t->addr_lo;
    spin_send_packet(frames[at].bytes, frames[at].length);
    if (left > 1) {
        spin_start((uint64_t)at << 32 | (left - 1), settings.interval);
    } else {
        frames[at].length = 0;
    }
    return SPIN_SUCCESS;
}
