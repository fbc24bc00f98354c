/* A name server: answers queries for the IPv4 and IPv6 addresses of the names of a zone, which the host writes to context memory. A name
 * that the zone has not is answered with NXDOMAIN, and a type that a name has not with no record, both without the SOA record that would
 * let resolvers keep them. Drops all frames that are no query with one question of class IN.
 *
 * A name is compared in the form of the wire, with letters in lower case, four bytes at a time: a load from context memory takes twelve
 * cycles. */
#include "spindle.h"

/* A, AAAA, IN and ONE as loads find them. */
enum { HEADER = 12, LABEL = 63, A = 1 << 8, AAAA = 28 << 8, IN = 1 << 8, ONE = 1 << 8 };
enum { QUERY_MASK = 0xfa, RESPONSE = 0x84, RECURSION_WANTED = 1, NXDOMAIN = 3 };
/* Bytes of an answer before its data: the name again (a pointer to the question), type, class, time to live, length of the data. */
enum { RECORD = 12, SECONDS = 60, ENTRIES = 64, NAME = 36 };

SPIN_TAILROOM(64);

/* The name ends with zeros. A free entry has the hash 0, a name never has. */
typedef struct { uint32_t hash, has_a, has_aaaa; uint8_t a[4], aaaa[16], name[NAME]; } entry_t;
entry_t zone[ENTRIES];

/* The bytes of a word that are capital letters, in lower case. Lengths of labels are smaller than letters. */
SPIN_INLINE uint32_t lower(uint32_t word) {
    uint32_t low = word & 0x7f7f7f7fu;
    uint32_t capital = (low + 0x3f3f3f3fu) & ~(low + 0x25252525u) & ~word & 0x80808080u;
    return word | capital >> 2;
}

/* No name is the beginning of another one, since it ends with an empty label. */
SPIN_INLINE bool is(const entry_t *entry, const uint32_t *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (spin_load32(entry->name + 4 * i) != words[i]) {
            return false;
        }
    }
    return true;
}

/* The entry of a name, or NULL. */
static const entry_t *find(const uint8_t *name, uint32_t length) {
    if (length > NAME) {
        return NULL;
    }
    uint32_t words[NAME / 4], count = 0, hash = 0;
    for (uint32_t at = 0; at < length; at += 4) {
        uint32_t word = lower(spin_load32(name + at)), rest = length - at;
        if (rest < 4) {
            /* The type of the question lies there. */
            word &= (1u << 8 * rest) - 1;
        }
        words[count++] = word;
        hash = (hash ^ word) * 0x9e3779b1u;
        hash ^= hash >> 15;
    }
    hash |= 1;
    for (uint32_t probe = 0; probe < ENTRIES; probe++) {
        const entry_t *entry = &zone[(hash / 2 + probe) % ENTRIES];
        uint32_t present = entry->hash;
        if (present == 0) {
            break;
        }
        if (present == hash && is(entry, words, count)) {
            return entry;
        }
    }
    return NULL;
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint8_t *dns = spin_payload(h), *end = dns + h->payload_len, *name = dns + HEADER, *p = name;
    if (!ip || !spin_whole_frame(h) || h->payload_len < HEADER || dns[2] & QUERY_MASK || spin_load16(dns + 4) != ONE) {
        return SPIN_DROP;
    }
    while (p < end && *p && *p <= LABEL) {
        p += *p + 1;
    }
    if (end - p < 5 || *p || spin_load16(p + 3) != IN) {
        return SPIN_DROP;
    }
    uint32_t type = spin_load16(p + 1);
    const entry_t *entry = find(name, (uint32_t)(p + 1 - name));
    /* Additional records of the query give way to the answer. */
    p += 5;
    uint32_t bytes = !entry ? 0 : type == A && entry->has_a ? 4 : type == AAAA && entry->has_aaaa ? 16 : 0;
    uint32_t length = (uint32_t)(p - spin_packet(h)) + (bytes ? RECORD + bytes : 0);
    if (length > spin_room(h)) {
        return SPIN_DROP;
    }
    dns[2] = RESPONSE | (dns[2] & RECURSION_WANTED);
    dns[3] = entry ? 0 : NXDOMAIN;
    spin_store16(dns + 6, bytes ? ONE : 0);
    spin_store32(dns + 8, 0);
    if (bytes) {
        spin_put16(p, 0xc000 | HEADER);
        spin_store16(p + 2, type);
        spin_store16(p + 4, IN);
        spin_put32(p + 6, SECONDS);
        spin_put16(p + 10, bytes);
        const uint8_t *from = type == A ? entry->a : entry->aaaa;
        for (uint32_t at = 0; at < bytes; at += 4) {
            spin_store32(p + RECORD + at, spin_load32(from + at));
        }
    }
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_put16(ip->length, length - (uint32_t)(spin_l3(h) - spin_packet(h)));
    spin_put16(udp->length, length - (uint32_t)((uint8_t *)udp - spin_packet(h)));
    spin_swap_endpoints(spin_packet(h), ip);
    spin_send_packet_flags(spin_packet(h), length, SPIN_SEND_CHECKSUM);
    return SPIN_PROCESS_DATA;
}
