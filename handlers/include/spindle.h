/* The handler API.
 *
 * A handler image defines any of
 *     int header_handler(const spin_header_t *h, void *state);
 *     int payload_handler(const spin_payload_t *p, void *state);
 *     int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state);
 *     int task_handler(const spin_task_t *t, void *state);
 * and returns one of the SPIN_* codes of generated/spindle_contract.h. The hardware calls the handlers; there is no start code.
 * Variables live in context memory, which all HPUs share (spin_atomic.h has atomic operations), and start with the values of the
 * image. Constants are stored next to the code. The stack has SPIN_STACK_BYTES; `spindle build` reports how much a handler needs.
 *
 * The packet slot holds the first SPIN_PACKET_BYTES of a longer frame. spin_send_packet() does not send such a frame back
 * (SPIN_SEND_CUT); a handler that answers whole frames returns SPIN_DROP for it: see spin_whole_frame().
 */
#ifndef SPINDLE_H
#define SPINDLE_H

#include "generated/spindle_contract.h"
#include "spin_base.h"
#include "spin_commands.h"

/* Both are views of the task page: a header handler reads the fields of the message, a payload handler those of its packet. */
typedef spin_task_t spin_header_t;
typedef spin_task_t spin_payload_t;

/* Defined in lib/memory.c; the compiler also emits calls to them. */
void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int value, size_t length);
int memcmp(const void *a, const void *b, size_t length);

/* The handlers that an image may define. */
int header_handler(const spin_header_t *h, void *state);
int payload_handler(const spin_payload_t *p, void *state);
int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state);
int task_handler(const spin_task_t *t, void *state);

/* ---- The packet ---------------------------------------------------------------------------------------------------------- */

/* The task page, for completion handlers, which get no pointer to it. */
SPIN_INLINE const spin_task_t *spin_task(void) { return (const spin_task_t *)SPIN_REGION_TASK; }
/* The argument of a task, as spin_start() or the host gave it. A task has no packet; its return code is SPIN_SUCCESS, any other one
 * fails. */
SPIN_INLINE uint64_t spin_argument(const spin_task_t *task) { return (uint64_t)task->addr_hi << 32 | task->addr_lo; }
/* The frame in the packet slot; its first byte is 64-byte aligned. */
SPIN_INLINE uint8_t *spin_packet(const spin_task_t *task) { return (uint8_t *)task->packet; }
/* The IP header in the slot, after a VLAN tag if the frame has one. */
SPIN_INLINE uint8_t *spin_l3(const spin_task_t *task) { return (uint8_t *)task->l3; }
/* The payload in the slot. */
SPIN_INLINE uint8_t *spin_payload(const spin_task_t *task) { return (uint8_t *)task->payload; }
/* Bytes that the handler may use from spin_packet() on: those of the frame in the slot, and the tailroom. */
SPIN_INLINE uint32_t spin_room(const spin_task_t *task) { return task->packet_room; }
/* True if the whole frame is in the slot. */
SPIN_INLINE bool spin_whole_frame(const spin_task_t *task) { return task->packet_len == task->frame_len; }
/* The scratchpad: task->scratch_size bytes of this cluster's L1. It starts as zeros and keeps its content between handlers. All
 * handlers of this context that run in the cluster share it. */
SPIN_INLINE uint8_t *spin_scratch(void) { return (uint8_t *)SPIN_REGION_SCRATCH; }
/* The cycle counter. */
SPIN_INLINE uint32_t spin_cycles(void) {
    uint32_t cycles;
    __asm__ volatile("csrr %0, cycle" : "=r"(cycles));
    return cycles;
}

/* Declares the user header of an image: a structure at the start of the payload of the packet at offset 0. The header handler of a
 * message runs when that packet has arrived; a message whose first packet is shorter than the structure fails. The driver reads name
 * and size from the image. Use it once, in one file:
 *     struct request { uint32_t rank, count; };
 *     SPIN_USER_HEADER(struct request);
 * spin_user_header(h) then points to the structure in the packet; its fields have the byte order of the sender. */
#define SPIN_USER_HEADER(type)                                                                                         \
    _Static_assert(sizeof(type) > 0 && sizeof(type) <= 127, "a user header has 1 to 127 bytes");                       \
    __attribute__((used, section(".spin_user_header"))) static const struct {                                          \
        uint32_t bytes;                                                                                                \
        char name[sizeof #type];                                                                                       \
    } spin_user_header_record = {sizeof(type), #type};                                                                 \
    SPIN_INLINE const type *spin_user_header(const spin_task_t *task) { return (const type *)task->payload; }          \
    _Static_assert(1, "")

/* Declares the tailroom of an image: bytes of zeros after each packet in its slot, for replies that are longer than their requests. The
 * NIC rounds them up to a multiple of SPIN_BEAT_BYTES and cuts them at the end of the slot: spin_room() is what there is. Use it once,
 * in one file:
 *     SPIN_TAILROOM(512); */
#define SPIN_TAILROOM(bytes)                                                                                           \
    _Static_assert((bytes) > 0 && (bytes) <= SPIN_TAILROOM_MAX, "a tailroom has 1 to SPIN_TAILROOM_MAX bytes");         \
    __attribute__((used, section(".spin_tailroom"))) static const uint32_t spin_tailroom_record = (bytes);             \
    _Static_assert(1, "")

/* ---- Bytes of headers ---------------------------------------------------------------------------------------------------- */

SPIN_INLINE uint32_t spin_get16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
SPIN_INLINE uint32_t spin_get32(const uint8_t *p) { return spin_get16(p) << 16 | spin_get16(p + 2); }
SPIN_INLINE void spin_put16(uint8_t *p, uint32_t value) {
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}
SPIN_INLINE void spin_put32(uint8_t *p, uint32_t value) {
    spin_put16(p, value >> 16);
    spin_put16(p + 2, value);
}

/* Headers as byte arrays, without alignment or byte order. Read and write the fields with the functions above. */
typedef struct { uint8_t dst[6], src[6], type[2]; } spin_eth_t;
typedef struct { uint8_t version_ihl, tos, length[2], id[2], fragment[2], ttl, protocol, checksum[2], src[4], dst[4]; } spin_ipv4_t;
typedef struct { uint8_t sport[2], dport[2], length[2], checksum[2]; } spin_udp_t;
typedef struct { uint8_t type, code, checksum[2], ident[2], sequence[2]; } spin_icmp_t;
_Static_assert(sizeof(spin_eth_t) == 14 && sizeof(spin_ipv4_t) == 20 && sizeof(spin_udp_t) == 8 && sizeof(spin_icmp_t) == 8,
               "headers have no holes");

/* The IPv4 header if the frame carries `protocol` in an IPv4 packet without options that is not a fragment, else NULL. */
SPIN_INLINE spin_ipv4_t *spin_ipv4(const spin_task_t *task, uint32_t protocol) {
    uint8_t *l3 = spin_l3(task);
    spin_ipv4_t *ip = (spin_ipv4_t *)l3;
    /* DF (bit 14) is ignored; MF and the fragment offset must be zero. */
    bool whole = ((ip->fragment[0] & 0xbf) | ip->fragment[1]) == 0;
    bool plain = spin_get16(l3 - 2) == SPIN_ETHERTYPE_IPV4 && ip->version_ihl == 0x45 && whole;
    return plain && ip->protocol == protocol ? ip : (spin_ipv4_t *)NULL;
}

/* Header fields of even length start at even addresses of the slot, the MAC addresses at multiples of four; these types let a
 * handler use that. */
typedef uint16_t __attribute__((may_alias)) spin_u16_alias_t;
typedef uint32_t __attribute__((may_alias)) spin_u32_alias_t;

/* Exchanges two fields of `halves` half-words at even addresses. */
SPIN_INLINE void spin_swap_fields(void *a, void *b, uint32_t halves) {
    spin_u16_alias_t *x = (spin_u16_alias_t *)a, *y = (spin_u16_alias_t *)b;
    for (uint32_t i = 0; i < halves; i++) {
        uint16_t t = x[i];
        x[i] = y[i];
        y[i] = t;
    }
}
/* Exchanges the MAC addresses of a frame in its slot: twelve bytes as three words. */
SPIN_INLINE void spin_swap_macs(uint8_t *frame) {
    spin_u32_alias_t *w = (spin_u32_alias_t *)frame;
    uint32_t a = w[0], b = w[1], c = w[2];
    w[0] = b >> 16 | c << 16;
    w[1] = c >> 16 | a << 16;
    w[2] = a >> 16 | b << 16;
}

/* ---- Internet checksum --------------------------------------------------------------------------------------------------- */

/* Adds two 16-bit ones' complement numbers. */
SPIN_INLINE uint32_t spin_sum16(uint32_t a, uint32_t b) {
    uint32_t sum = a + b;
    return (sum & 0xffff) + (sum >> 16);
}
/* The ones' complement sum of `length` bytes, continued from `sum`. */
SPIN_INLINE uint32_t spin_sum(const uint8_t *bytes, uint32_t length, uint32_t sum) {
    for (uint32_t i = 0; i + 1 < length; i += 2) {
        sum = spin_sum16(sum, spin_get16(bytes + i));
    }
    return length & 1 ? spin_sum16(sum, (uint32_t)bytes[length - 1] << 8) : sum;
}
/* The checksum after a 16-bit field changed from `before` to `after` (RFC 1624, equation 3). Of the two forms of zero the result is
 * 0xffff: it is correct for every content, while 0 is wrong for a message of zeros and means "no checksum" in UDP. */
SPIN_INLINE uint32_t spin_checksum_update(uint32_t checksum, uint32_t before, uint32_t after) {
    uint32_t sum = spin_sum16(spin_sum16(~checksum & 0xffff, ~before & 0xffff), after);
    return sum == 0xffff ? 0xffff : ~sum & 0xffff;
}

#endif
