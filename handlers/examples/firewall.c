/* Drops IPv4 packets whose source is in a table of prefixes and forwards every other frame unchanged. VLAN tags, options and fragments make
 * no difference. A frame that does not fit the packet slot is dropped too, because the handler could send only a part of it. */
#include "spindle.h"

enum { VLAN_TAG = 0x8100, SERVICE_TAG = 0x88a8 };

/* Constants are stored next to the code: reading them needs no access to context memory. */
static const struct {
    uint32_t address, mask;
} denied[] = {
    {0xc0000200, 0xffffff00}, /* 192.0.2.0/24 */
    {0x0a090000, 0xffff0000}, /* 10.9.0.0/16 */
    {0xcb007180, 0xffffff80}, /* 203.0.113.128/25 */
};

static bool is_denied(uint32_t source) {
    for (uint32_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        if ((source & denied[i].mask) == denied[i].address) {
            return true;
        }
    }
    return false;
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    if (!spin_whole_frame(h)) {
        return SPIN_DROP;
    }
    /* spin_l3() skips one tag. A second tag must not hide a source. */
    const uint8_t *type = spin_packet(h) + 12, *end = spin_packet(h) + h->packet_len;
    while (end - type >= 6 && (spin_get16(type) == VLAN_TAG || spin_get16(type) == SERVICE_TAG)) {
        type += 4;
    }
    const spin_ipv4_t *ip = (const spin_ipv4_t *)(type + 2);
    bool is_ipv4 = end - type >= 2 + (int)sizeof *ip && spin_get16(type) == SPIN_ETHERTYPE_IPV4;
    if (is_ipv4 && is_denied(spin_get32(ip->src))) {
        return SPIN_DROP;
    }
    spin_send_packet(spin_packet(h), h->packet_len);
    return SPIN_PROCESS_DATA;
}
