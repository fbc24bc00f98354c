/* A cache by the ASCII protocol of memcached over UDP, in context memory: `get` of one key, and `set`. Other commands, and `get` of several
 * keys, are answered with ERROR.
 *
 * A datagram begins with a header: number of the request, number of the datagram, datagrams of the request (1), two more bytes. Requests
 * of several datagrams are dropped. An entry has the text of its own answer after "VALUE ": key, flags, length, value, END. So an answer
 * is one copy, by the NIC, from context memory into the packet. Entries do not expire: the time of a `set` is read and ignored. A set of
 * SET_ENTRIES entries, which the hash of the key selects, has one lock; the search begins at an entry that the hash selects too, and ends
 * at a free one. If none is free, a new key takes the place of another one. */
#include "spin_atomic.h"
#include "spindle.h"

enum { HEADER = 8, KEY = 250, VALUE = 1400, REPLY = 1472, WORD = 6, TEXT = REPLY - HEADER - WORD, SETS = 2, SET_ENTRIES = 16 };
/* As loads find them. */
enum { CRLF = 0x0a0d, ONE = 0x0100, GET_ = 0x20746567, SET_ = 0x20746573 };

SPIN_TAILROOM(REPLY);

/* The hash of a free entry is 0, that of a key never is. Lengths are that of the key in the upper half, and that of the text: a load from
 * context memory takes twelve cycles. */
typedef struct {
    uint32_t hash, lengths;
    uint8_t text[TEXT];
} entry_t;

spin_lock_t locks[SETS];
entry_t entries[SETS][SET_ENTRIES];

/* A part of the request; a line is its rest. */
typedef struct { uint8_t *at, *end; } text_t;

static int reply(const spin_header_t *h, uint32_t length) {
    uint8_t *frame = spin_packet(h);
    spin_ipv4_t *ip = (spin_ipv4_t *)spin_l3(h);
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    length += HEADER + sizeof *udp;
    spin_put16(udp->length, length);
    spin_put16(ip->length, length + sizeof *ip);
    spin_swap_endpoints(frame, ip);
    spin_send_packet_flags(frame, (uint32_t)((uint8_t *)udp - frame) + length, SPIN_SEND_CHECKSUM);
    return SPIN_PROCESS_DATA;
}

static int say(const spin_header_t *h, const char *words, uint32_t length) {
    uint8_t *to = spin_payload(h) + HEADER;
    for (uint32_t i = 0; i < length; i++) {
        to[i] = (uint8_t)words[i];
    }
    return reply(h, length);
}
#define SAY(h, words) say(h, words "\r\n", sizeof words "\r\n" - 1)

/* The next word of a line, after its spaces; empty at the end of the line. */
SPIN_INLINE text_t word(text_t *line) {
    uint8_t *at = line->at, *end = line->end;
    while (at < end && *at == ' ') {
        at++;
    }
    text_t found = {at, at};
    while (at < end && *at != ' ' && *at != '\r') {
        at++;
    }
    found.end = line->at = at;
    return found;
}
/* Whether the line has no more words. */
SPIN_INLINE bool at_end(text_t line) { return line.end - line.at >= 2 && spin_load16(line.at) == CRLF; }
SPIN_INLINE uint32_t length_of(text_t text) { return (uint32_t)(text.end - text.at); }

/* The number that a word is, or one above `most`. */
static uint32_t number(text_t text, uint32_t most) {
    uint32_t value = 0, digits = length_of(text);
    if (digits == 0 || digits > 9) {
        return most + 1;
    }
    for (; text.at < text.end; text.at++) {
        uint32_t digit = (uint32_t)*text.at - '0';
        if (digit > 9) {
            return most + 1;
        }
        value = 10 * value + digit;
    }
    return value > most ? most + 1 : value;
}

static uint32_t hash_of(text_t key) {
    uint32_t hash = 0x811c9dc5u;
    for (; key.end - key.at >= 4; key.at += 4) {
        hash = (hash ^ spin_load32(key.at)) * 0x9e3779b1u;
        hash ^= hash >> 15;
    }
    for (; key.at < key.end; key.at++) {
        hash = (hash ^ *key.at) * 0x01000193u;
    }
    return (hash ^ hash >> 16) | 1;
}

SPIN_INLINE bool same(const uint8_t *a, const uint8_t *b, uint32_t length) {
    for (; length >= 4; length -= 4, a += 4, b += 4) {
        if (spin_load32(a) != spin_load32(b)) {
            return false;
        }
    }
    return length == 0 || (spin_load32(a) ^ spin_load32(b)) << (32 - 8 * length) == 0;
}

/* The set and the entry where the search begins; the lowest bit is always 1. */
SPIN_INLINE uint32_t set_of(uint32_t hash) { return hash / 2 % SETS; }
SPIN_INLINE uint32_t first_of(uint32_t hash) { return hash / 2 / SETS; }

/* The entry of a key with its lengths, or a free one with lengths 0, or NULL; the lock of its set is held. */
SPIN_INLINE entry_t *find(text_t key, uint32_t hash, uint32_t *lengths) {
    entry_t *set = entries[set_of(hash)];
    uint32_t length = length_of(key);
    *lengths = 0;
    for (uint32_t i = 0; i < SET_ENTRIES; i++) {
        entry_t *entry = &set[(first_of(hash) + i) % SET_ENTRIES];
        uint32_t present = entry->hash;
        if (present == 0) {
            return entry;
        }
        if (present == hash) {
            uint32_t both = entry->lengths;
            if (both >> 16 == length && same(entry->text, key.at, length)) {
                *lengths = both;
                return entry;
            }
        }
    }
    return NULL;
}

static int get(const spin_header_t *h, text_t line) {
    text_t key = word(&line);
    if (key.at == key.end || length_of(key) > KEY || !at_end(line)) {
        return SAY(h, "ERROR");
    }
    uint32_t hash = hash_of(key), at = set_of(hash), lengths;
    uint8_t *answer = spin_payload(h) + HEADER;
    spin_lock(&locks[at]);
    entry_t *entry = find(key, hash, &lengths);
    if (lengths == 0) {
        spin_unlock(&locks[at]);
        return SAY(h, "END");
    }
    uint32_t length = lengths & 0xffff;
    /* A copy is the xor with zeros. The text has left context memory when the command has been issued. */
    spin_combine(SPIN_XOR, answer + WORD, answer + WORD, length);
    spin_combine(SPIN_XOR, answer + WORD, entry->text, length);
    spin_unlock(&locks[at]);
    for (uint32_t i = 0; i < WORD; i++) {
        answer[i] = (uint8_t)"VALUE "[i];
    }
    return reply(h, WORD + length);
}

static uint8_t *append(uint8_t *to, text_t text) {
    memcpy(to, text.at, length_of(text));
    return to + length_of(text);
}

static int set(const spin_header_t *h, text_t line) {
    text_t key = word(&line), flags = word(&line), expires = word(&line), bytes = word(&line), rest = word(&line);
    uint32_t length = number(bytes, VALUE);
    bool quiet = length_of(rest) == 7 && memcmp(rest.at, "noreply", 7) == 0;
    uint32_t known = 999999999;
    if (key.at == key.end || length_of(key) > KEY || number(flags, known) > known || number(expires, known) > known ||
        (rest.at != rest.end && !quiet) || !at_end(line)) {
        return SAY(h, "CLIENT_ERROR bad command line format");
    }
    text_t value = {line.at + 2, line.at + 2 + length};
    if (length > VALUE || length_of(key) + length_of(flags) + length_of(bytes) + length + 11 > TEXT) {
        return SAY(h, "SERVER_ERROR object too large for cache");
    }
    if (line.end - value.at != (int32_t)length + 2 || spin_load16(value.end) != CRLF) {
        return SAY(h, "CLIENT_ERROR bad data chunk");
    }
    uint32_t hash = hash_of(key), at = set_of(hash), lengths;
    spin_lock(&locks[at]);
    entry_t *entry = find(key, hash, &lengths);
    if (!entry) {
        entry = &entries[at][first_of(hash) % SET_ENTRIES];
    }
    entry->hash = hash;
    uint8_t *to = append(entry->text, key);
    *to++ = ' ';
    to = append(to, flags);
    *to++ = ' ';
    to = append(to, bytes);
    *to++ = '\r';
    *to++ = '\n';
    to = append(to, value);
    for (uint32_t i = 0; i < 7; i++) {
        *to++ = (uint8_t)"\r\nEND\r\n"[i];
    }
    entry->lengths = length_of(key) << 16 | (uint32_t)(to - entry->text);
    spin_unlock(&locks[at]);
    return quiet ? SPIN_DROP : SAY(h, "STORED");
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    spin_ipv4_t *ip = spin_ipv4(h, SPIN_IPPROTO_UDP);
    uint8_t *payload = spin_payload(h), *end = payload + h->payload_len;
    /* One datagram; an answer may need all of the room. */
    if (!ip || !spin_whole_frame(h) || h->payload_len < HEADER || spin_load16(payload + 2) != 0 || spin_load16(payload + 4) != ONE ||
        payload + REPLY > spin_packet(h) + spin_room(h)) {
        return SPIN_DROP;
    }
    /* Of a shorter request these are bytes of the tailroom, and its key is empty. */
    uint32_t command = spin_load32(payload + HEADER);
    text_t line = {payload + HEADER + 4, end};
    return command == GET_ ? get(h, line) : command == SET_ ? set(h, line) : SAY(h, "ERROR");
}
