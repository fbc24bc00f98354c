/* FPsPIN compatibility: headers of a frame. Fields are in network byte order; handlers convert them with ntohs() and ntohl(). */
#ifndef SPINDLE_FPSPIN_PACKETS_H
#define SPINDLE_FPSPIN_PACKETS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SPINDLE_PACKED __attribute__((__packed__))

typedef struct SPINDLE_PACKED mac_addr {
    uint8_t data[6];
} mac_addr_t;

typedef struct SPINDLE_PACKED eth_hdr {
    mac_addr_t dest;
    mac_addr_t src;
    uint16_t length;
} eth_hdr_t;

typedef struct SPINDLE_PACKED ip_hdr {
    uint8_t ihl : 4; /* in words of 4 bytes */
    uint8_t version : 4;
    uint8_t tos;
    uint16_t length;
    uint16_t identification;
    uint16_t offset;
    uint8_t ttl;
    uint8_t protocol;
    uint16_t checksum;
    uint32_t source_id;
    uint32_t dest_id;
} ip_hdr_t;

typedef struct SPINDLE_PACKED udp_hdr {
    uint16_t src_port;
    uint16_t dst_port;
    uint16_t length;
    uint16_t checksum;
} udp_hdr_t;

/* SLMP: messages over UDP. Each packet names its message and its offset there. */
typedef struct SPINDLE_PACKED slmp_hdr {
    uint16_t flags;
    uint32_t msg_id;
    uint32_t pkt_off;
} slmp_hdr_t;

typedef struct SPINDLE_PACKED pkt_hdr {
    eth_hdr_t eth_hdr;
    ip_hdr_t ip_hdr;
    udp_hdr_t udp_hdr;
} pkt_hdr_t;

typedef struct SPINDLE_PACKED slmp_pkt_hdr {
    eth_hdr_t eth_hdr;
    ip_hdr_t ip_hdr;
    udp_hdr_t udp_hdr;
    slmp_hdr_t slmp_hdr;
} slmp_pkt_hdr_t;

_Static_assert(sizeof(eth_hdr_t) == 14 && sizeof(ip_hdr_t) == 20 && sizeof(udp_hdr_t) == 8 && sizeof(slmp_hdr_t) == 10,
               "headers have no holes");

/* Flags of SLMP: the last packet of a message; the sender waits for an acknowledgement; an acknowledgement. */
#define MKEOM 0x8000
#define MKSYN 0x4000
#define MKACK 0x2000
#define EOM(flags) ((flags) & MKEOM)
#define SYN(flags) ((flags) & MKSYN)
#define ACK(flags) ((flags) & MKACK)

/* An HPU is little-endian. */
static inline uint16_t bswap_16(uint16_t value) { return __builtin_bswap16(value); }
static inline uint32_t bswap_32(uint32_t value) { return __builtin_bswap32(value); }
#define htons(value) bswap_16(value)
#define ntohs(value) bswap_16(value)
#define htonl(value) bswap_32(value)
#define ntohl(value) bswap_32(value)

/* Bytes of an SLMP packet after its header. */
#define SLMP_PAYLOAD_LEN(headers) (ntohs((headers)->udp_hdr.length) - sizeof(udp_hdr_t) - sizeof(slmp_hdr_t))

/* The Internet checksum of these bytes, in network order; a sum of zero gives 0, not 0xffff. */
static inline uint16_t ip_checksum(void *data, size_t length) {
    const uint8_t *bytes = (const uint8_t *)data;
    uint32_t sum = 0xffff;
    for (size_t i = 0; i < length; i++) {
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

#endif
