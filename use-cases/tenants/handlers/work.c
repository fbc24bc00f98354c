/* A service of a tenant: a request names its tenant and says for how many rounds to compute; the result goes to the window of the tenant's
 * client, at the place that the request's number has there. A request that names no tenant, no place or too many rounds is dropped. */
#include "spindle.h"

enum { TENANTS = 2, PLACES = 256, MOST_ROUNDS = 4096 };

/* A shorter message fails before its handler runs. */
struct request { uint32_t tenant, number, rounds, seed; };
SPIN_USER_HEADER(struct request);

/* The host sets these. */
spin_target_t clients[TENANTS];

/* Replies that leave: a place of L2 for each. */
static uint32_t replies[TENANTS][PLACES][2];

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const struct request *request = spin_user_header(h);
    uint32_t tenant = request->tenant, number = request->number, rounds = request->rounds, x = request->seed;
    if (tenant >= TENANTS || number >= PLACES || rounds > MOST_ROUNDS) {
        return SPIN_DROP;
    }
    for (; rounds; rounds--) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    uint32_t *reply = replies[tenant][number];
    reply[0] = number;
    reply[1] = x;
    spin_target_t to = clients[tenant];
    to.offset = number * 8;
    spin_put(&to, reply, 8);
    return SPIN_PROCESS_DATA;
}
