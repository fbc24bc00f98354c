/* PsPIN compatibility: headers of a packet. The fields are big-endian on the wire; the compiler swaps the bytes of each access, so that
 * handlers read and write plain numbers. */
#ifndef SPINDLE_PSPIN_PACKETS_H
#define SPINDLE_PSPIN_PACKETS_H

#include <stdint.h>

#ifdef __clang__
#error "Clang has no structures in network byte order: compile handlers that include packets.h with GCC"
#endif
#define SPINDLE_NETWORK_ORDER __attribute__((__packed__, scalar_storage_order("big-endian")))

typedef struct SPINDLE_NETWORK_ORDER ip_hdr {
    uint8_t version : 4;
    uint8_t ihl : 4;         /* in words of 4 bytes */
    uint8_t tos;
    uint16_t length;         /* of the packet, this header included */
    uint16_t identification;
    uint16_t offset;
    uint8_t ttl;
    uint8_t protocol;
    uint16_t checksum;
    uint32_t source_id;
    uint32_t dest_id;
} ip_hdr_t;

typedef struct SPINDLE_NETWORK_ORDER udp_hdr {
    uint16_t src_port;
    uint16_t dst_port;
    uint16_t length;
    uint16_t checksum;
} udp_hdr_t;

typedef struct __attribute__((__packed__)) pkt_hdr {
    ip_hdr_t ip_hdr;
    udp_hdr_t udp_hdr;
} pkt_hdr_t;

_Static_assert(sizeof(ip_hdr_t) == 20 && sizeof(udp_hdr_t) == 8, "headers have no holes");

#endif
