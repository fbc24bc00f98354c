/* Receiver of files over UDP, after FPsPIN's SLMP. A segment is a header and bytes of the file; the handler writes the bytes to their place
 * in host memory and marks the segment. Whoever marks the last one of a group acknowledges the group, when its own bytes are in memory; so
 * an acknowledgement means that all bytes of the group are. A segment that comes again writes nothing.
 *
 * A file is opened by a packet with the flag SYN, without bytes: the place holds the file's length, and the sizes are fixed. One file is
 * open at a time; after its last group the host finds the number of the file and its length after the bytes.
 *
 * The rule is one of `udp`. Such a frame has no IP options and is no fragment. */
#include "spin_atomic.h"
#include "spindle.h"

enum {
    HEADERS = 42,
    SEGMENT = 1408, /* bytes of a segment, but for the last one of a file */
    FILE = 2 << 20, /* bytes of a file at most; the host's region has 64 more */
    GROUPS = 128,   /* of a file at most */
    SYN = 0x4000,
    ACK = 0x2000,
};

/* As in SLMP, in network byte order. */
typedef struct { uint8_t flags[2], file[4], place[4]; } slmp_t;

/* The host sets this: the binary logarithm of the segments of a group, 0 to 4. */
uint32_t group_log;

/* The open file, whose number is never 0; its length; groups that are complete; of each group a bit for each segment that is in memory. */
static volatile uint32_t file, bytes, complete, marks[GROUPS];
static spin_lock_t opening;
static uint32_t record[2];

/* Segments of a file less one. */
static uint32_t last_of(uint32_t length) { return (length - 1) / SEGMENT; }

/* Sends the header back, without bytes. */
static int acknowledge(const spin_header_t *h, slmp_t *slmp, uint32_t flags, uint32_t number, uint32_t place) {
    uint8_t *frame = spin_packet(h);
    spin_ipv4_t *ip = (spin_ipv4_t *)(frame + sizeof(spin_eth_t));
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_put16(slmp->flags, flags);
    spin_put32(slmp->file, number);
    spin_put32(slmp->place, place);
    spin_put16(udp->length, sizeof *slmp + sizeof *udp);
    spin_put16(ip->length, sizeof *slmp + sizeof *udp + sizeof *ip);
    spin_swap_endpoints(frame, ip);
    spin_send_packet_flags(frame, HEADERS + sizeof *slmp, SPIN_SEND_CHECKSUM);
    return SPIN_PROCESS_DATA;
}

static __attribute__((noinline)) int open_file(const spin_header_t *h, slmp_t *slmp) {
    uint32_t number = spin_get32(slmp->file), length = spin_get32(slmp->place);
    if (spin_get16(slmp->flags) != SYN || h->payload_len != sizeof *slmp || !number || !length || length > FILE ||
        last_of(length) >> group_log >= GROUPS) {
        return SPIN_DROP;
    }
    spin_lock(&opening);
    if (file != number) {
        file = 0;
        spin_fence();
        bytes = length;
        complete = 0;
        for (uint32_t i = 0; i <= last_of(length) >> group_log; i++) {
            marks[i] = 0;
        }
        spin_fence();
        file = number;
    }
    bool same = bytes == length;
    spin_unlock(&opening);
    return same ? acknowledge(h, slmp, SYN | ACK, number, length) : SPIN_DROP;
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    slmp_t *slmp = (slmp_t *)(spin_packet(h) + HEADERS);
    if (h->payload != (uint32_t)slmp || h->payload_len < sizeof *slmp || !spin_whole_frame(h)) {
        return SPIN_DROP;
    }
    if (spin_get16(slmp->flags)) {
        return open_file(h, slmp);
    }
    uint32_t number = spin_get32(slmp->file), place = spin_get32(slmp->place), length = h->payload_len - sizeof *slmp;
    uint32_t all = bytes, segment = place / SEGMENT;
    uint32_t wanted = all - place < SEGMENT ? all - place : SEGMENT;
    if (!number || number != file || place >= all || segment * SEGMENT != place || length != wanted) {
        return SPIN_DROP;
    }
    uint32_t log = group_log, which = segment >> log, first = which << log, last = last_of(all);
    uint32_t full = which == last >> log ? (2u << (last - first)) - 1 : (1u << (1u << log)) - 1, bit = 1u << (segment - first);
    uint32_t before = marks[which];
    if (before & bit) {
        /* It came again: its group's acknowledgement was lost, or is still to come. */
        return before == full ? acknowledge(h, slmp, ACK, number, which) : SPIN_DROP;
    }
    spin_dma_to_host(place, (uint8_t *)(slmp + 1), length);
    spin_handle_t store = spin_handle();
    spin_wait();
    if (spin_failed(store)) {
        return SPIN_FAIL;
    }
    before = spin_amo_or(&marks[which], bit);
    if ((before | bit) != full || before == full) {
        return SPIN_PROCESS_DATA;
    }
    if (spin_amo_add(&complete, 1) + 1 == (last >> log) + 1) {
        record[0] = number;
        record[1] = all;
        spin_fence();
        spin_dma_to_host(FILE, record, sizeof record);
    }
    return acknowledge(h, slmp, ACK, number, which);
}
