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

#include "spin_base.h"

#include "generated/spindle_contract.h"
#include "spin_commands.h"

/* Both are views of the task page: a header handler reads the fields of the message, a payload handler those of its packet. */
typedef spin_task_t spin_header_t;
typedef spin_task_t spin_payload_t;

SPIN_C_BEGIN
/* Defined in lib/memory.c; the compiler also emits calls to them. */
void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int value, size_t length);
int memcmp(const void *a, const void *b, size_t length);

/* The handlers that an image may define; with spin_portals.h the first three have other types. */
#ifndef SPIN_PORTALS_H
int header_handler(const spin_header_t *h, void *state);
int payload_handler(const spin_payload_t *p, void *state);
int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state);
#endif
int task_handler(const spin_task_t *t, void *state);
SPIN_C_END

/* ---- The packet ---------------------------------------------------------------------------------------------------------- */

/* The task page, for completion handlers, which get no pointer to it. */
SPIN_INLINE const spin_task_t *spin_task(void) { return (const spin_task_t *)SPIN_REGION_TASK; }
/* The argument of a task, as spin_start() or the host gave it. A task has no packet; its return code is SPIN_SUCCESS, any other one
 * fails. */
SPIN_INLINE uint64_t spin_argument(const spin_task_t *task) { return (uint64_t)task->addr_hi << 32 | task->addr_lo; }
/* A byte of the packet slot, by its address, as the task page has them. The compiler learns that it is not in context memory, so commands
 * that read it need no check: see spin_before_command(). */
SPIN_INLINE uint8_t *spin_packet_address(uint32_t address) {
    if ((address & SPIN_REGION_MASK) != SPIN_REGION_PACKET) {
        __builtin_unreachable();
    }
    return (uint8_t *)address;
}
/* The frame in the packet slot; its first byte is 64-byte aligned. These three are for handlers of a packet. */
SPIN_INLINE uint8_t *spin_packet(const spin_task_t *task) {
    (void)task;
    return (uint8_t *)SPIN_REGION_PACKET;
}
/* The IP header in the slot, after a VLAN tag if the frame has one. */
SPIN_INLINE uint8_t *spin_l3(const spin_task_t *task) { return spin_packet_address(task->l3); }
/* The payload in the slot. */
SPIN_INLINE uint8_t *spin_payload(const spin_task_t *task) { return spin_packet_address(task->payload); }
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

/* Loads and stores at any address of the packet slot, the scratchpad, context memory, the stack and the task page, one instruction each,
 * in the byte order of the processor. The compiler alone would access byte by byte. Constants are in the code region, where a load must
 * be aligned to its size. */
SPIN_INLINE uint32_t spin_load16(const void *p) {
    uint32_t value;
    __asm__("lhu %0, %1" : "=r"(value) : "m"(*(const uint8_t(*)[2])p));
    return value;
}
SPIN_INLINE uint32_t spin_load32(const void *p) {
    uint32_t value;
    __asm__("lw %0, %1" : "=r"(value) : "m"(*(const uint8_t(*)[4])p));
    return value;
}
SPIN_INLINE void spin_store16(void *p, uint32_t value) {
    __asm__("sh %z1, %0" : "=m"(*(uint8_t(*)[2])p) : "rJ"(value));
}
SPIN_INLINE void spin_store32(void *p, uint32_t value) {
    __asm__("sw %z1, %0" : "=m"(*(uint8_t(*)[4])p) : "rJ"(value));
}

/* Numbers in network byte order, at the same addresses. */
SPIN_INLINE uint32_t spin_get16(const uint8_t *p) { return __builtin_bswap32(spin_load16(p)) >> 16; }
SPIN_INLINE uint32_t spin_get32(const uint8_t *p) { return __builtin_bswap32(spin_load32(p)); }
SPIN_INLINE void spin_put16(uint8_t *p, uint32_t value) { spin_store16(p, __builtin_bswap32(value << 16)); }
SPIN_INLINE void spin_put32(uint8_t *p, uint32_t value) { spin_store32(p, __builtin_bswap32(value)); }

/* Headers as byte arrays, without alignment or byte order. Read and write the fields with the functions above. */
typedef struct { uint8_t dst[6], src[6], type[2]; } spin_eth_t;
typedef struct { uint8_t version_ihl, tos, length[2], id[2], fragment[2], ttl, protocol, checksum[2], src[4], dst[4]; } spin_ipv4_t;
typedef struct { uint8_t sport[2], dport[2], length[2], checksum[2]; } spin_udp_t;
typedef struct { uint8_t type, code, checksum[2], ident[2], sequence[2]; } spin_icmp_t;
_Static_assert(sizeof(spin_eth_t) == 14 && sizeof(spin_ipv4_t) == 20 && sizeof(spin_udp_t) == 8 && sizeof(spin_icmp_t) == 8,
               "headers have no holes");

typedef uint16_t __attribute__((may_alias)) spin_u16_alias_t;
typedef uint32_t __attribute__((may_alias)) spin_u32_alias_t;

/* The IPv4 header if the frame carries `protocol`, a constant, in an IPv4 packet without options that is not a fragment, else NULL. */
SPIN_INLINE spin_ipv4_t *spin_ipv4(const spin_task_t *task, uint32_t protocol) {
    uint8_t *l3 = spin_l3(task);
    /* The EtherType is at a multiple of four, with and without a VLAN tag. The words are little-endian: EtherType, version, length of the
     * header; fragment, time to live, protocol. DF (bit 14) is ignored; MF and the fragment offset must be zero. */
    uint32_t type = *(const spin_u32_alias_t *)(l3 - 2), fragment = *(const spin_u32_alias_t *)(l3 + 6);
    bool plain = type << 8 == (0x45u << 16 | __builtin_bswap16(SPIN_ETHERTYPE_IPV4)) << 8;
    return plain && (fragment & 0xff00ffbf) == protocol << 24 ? (spin_ipv4_t *)l3 : (spin_ipv4_t *)NULL;
}

/* Exchanges two fields of `halves` half-words that do not overlap. */
SPIN_INLINE void spin_swap_fields(void *a, void *b, uint32_t halves) {
    uint8_t *x = (uint8_t *)a, *y = (uint8_t *)b;
    for (uint32_t i = 0; i < halves / 2; i++, x += 4, y += 4) {
        uint32_t t = spin_load32(x), u = spin_load32(y);
        spin_store32(x, u);
        spin_store32(y, t);
    }
    if (halves % 2) {
        uint32_t t = spin_load16(x), u = spin_load16(y);
        spin_store16(x, u);
        spin_store16(y, t);
    }
}
/* Exchanges the MAC addresses of a frame. */
SPIN_INLINE void spin_swap_macs(uint8_t *frame) { spin_swap_fields(frame, frame + 6, 3); }
/* Turns a frame round for its way back: exchanges its MAC and IP addresses. All loads come first: each of them is followed by a wait for
 * its value, unless there is another one. No checksum changes, because a ones' complement sum does not depend on the order of its terms. */
SPIN_INLINE void spin_swap_addresses(uint8_t *frame, spin_ipv4_t *ip) {
    uint32_t to = spin_load32(frame), to_rest = spin_load16(frame + 4);
    uint32_t from = spin_load32(frame + 6), from_rest = spin_load16(frame + 10);
    uint32_t source = spin_load32(ip->src), destination = spin_load32(ip->dst);
    spin_store32(frame, from);
    spin_store16(frame + 4, from_rest);
    spin_store32(frame + 6, to);
    spin_store16(frame + 10, to_rest);
    spin_store32(ip->src, destination);
    spin_store32(ip->dst, source);
}
/* The same with the ports of a UDP or TCP packet. */
SPIN_INLINE void spin_swap_endpoints(uint8_t *frame, spin_ipv4_t *ip) {
    uint32_t ports = spin_load32(ip + 1);
    spin_swap_addresses(frame, ip);
    spin_store32(ip + 1, ports << 16 | ports >> 16);
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
