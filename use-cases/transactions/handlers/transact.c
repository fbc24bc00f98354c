/* Participant of optimistic transactions, as in FaRM: the coordinator reads records, locks those that it writes, validates those that it
 * has only read, has the new values stored at the backups, and commits. Values are in host memory. The version of a record is a word of
 * context memory, which a lock takes by compare-and-swap: whoever holds it is in the word, so no other owner can commit or unlock.
 *
 * A request is answered in its packet. A request that is not well formed has no answer and no effect. */
#include "spin_atomic.h"
#include "spindle.h"

enum { READ, LOCK, VALIDATE, UNLOCK, LOG, COMMIT };
enum {
    RECORDS = 64,
    PLACE = 64,  /* bytes from a record to the next in the host region; the backups come after all records */
    VALUE = 48,
    SLOTS = 64,  /* answers of the coordinator, four of each owner of locks */
    OWNER = 24,  /* bit of a version where the owner begins */
};
#define LOCKED 0x80000000u

/* LOG and COMMIT have a value after it. The answer has the number first, and whether it was done. */
struct request { uint8_t kind, slot; uint16_t record; uint32_t version, number, spare; };
SPIN_USER_HEADER(struct request);
SPIN_TAILROOM(64);

/* The host sets these: records of this parity are this node's, and it is the backup of the others; where answers go; the versions. */
uint32_t parity;
spin_target_t coordinator;
volatile uint32_t versions[RECORDS], backups[RECORDS];

/* Reads a value into the answer; fails if the record is locked or changes. */
static bool read(uint32_t record, uint8_t *to) {
    uint32_t version = versions[record];
    spin_store32(to + 4, version);
    if (version & LOCKED) {
        return false;
    }
    spin_dma_from_host(to + sizeof(struct request), record * PLACE, VALUE);
    spin_handle_t command = spin_handle();
    spin_wait();
    return !spin_failed(command) && versions[record] == version;
}

/* Writes a value; it is in host memory afterwards. */
static bool write(uint32_t place, const uint8_t *value) {
    spin_dma_to_host(place * PLACE, value, VALUE);
    spin_handle_t command = spin_handle();
    spin_wait();
    return !spin_failed(command);
}

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    uint8_t *bytes = spin_payload(h);
    uint32_t head = spin_load32(bytes), version = spin_load32(bytes + 4), number = spin_load32(bytes + 8);
    uint32_t kind = head & 0xff, slot = head >> 8 & 0xff, record = head >> 16, length = sizeof(struct request);
    spin_target_t to = coordinator;
    bool own = (record & 1) == parity;
    if (h->src_nid != to.node || slot >= SLOTS || record >= RECORDS || version >> OWNER) {
        return SPIN_DROP;
    }
    if (kind > COMMIT || own == (kind == LOG) || h->msg_len != length + (kind >= LOG ? VALUE : 0)) {
        return SPIN_DROP;
    }
    uint32_t held = LOCKED | slot / 4 << OWNER | version, next = (version + 1) & ((1u << OWNER) - 1);
    bool done = false;
    switch (kind) {
    case READ:
        done = read(record, bytes);
        length += VALUE;
        break;
    case LOCK:
        done = spin_compare_swap(&versions[record], version, held) == version;
        break;
    case VALIDATE:
        done = versions[record] == version;
        break;
    case UNLOCK:
        done = spin_compare_swap(&versions[record], held, version) == held;
        break;
    case LOG:
        if (backups[record] == version && write(RECORDS + record, bytes + length)) {
            backups[record] = next;
            done = true;
        }
        break;
    default:
        if (versions[record] == held && write(record, bytes + length)) {
            /* Whoever sees the version finds the value. */
            versions[record] = next;
            done = true;
        }
    }
    spin_fence();
    spin_store32(bytes + 12, done);
    spin_store32(bytes, number);
    to.offset = slot * PLACE;
    spin_put(&to, bytes, length);
    return SPIN_DROP;
}
