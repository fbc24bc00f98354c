/* Three handler sets with the interface of the sPIN paper, each for a context of its own (`--portals --handlers echo`).
 *
 * echo    a message of one packet goes back to its sender from the packet, a longer one from host memory when all of it is there
 * total   adds the 64-bit numbers of all messages in context memory, and counts messages in host memory
 * swap    exchanges the first eight bytes of host memory for those of the message, if they are what the message expects
 *
 * The host region holds one message of up to ROOM bytes at a time for echo. */
enum { ROOM = 65536 };

typedef struct {
    ptl_process_t source;
    ptl_match_bits_t match_bits;
    ptl_size_t length;
    bool stored;
} echo_t;

__handler int echo_header_handler(const ptl_header_t h, void *state) {
    echo_t *e = (echo_t *)state;
    if (h.length > ROOM) {
        return DROP;
    }
    e->source = h.source_id;
    e->match_bits = h.match_bits;
    e->length = h.length;
    e->stored = h.length > SPIN_SEGMENT_BYTES;
    spin_fence();
    return PROCESS_DATA;
}

__handler int echo_payload_handler(const ptl_payload_t p, void *state) {
    const echo_t *e = (const echo_t *)state;
    if (e->stored) {
        return PtlHandlerDMAToHostB(p.base, p.offset, p.length, PTL_ME_HOST_MEM) == PTL_OK ? SUCCESS : FAIL;
    }
    PtlHandlerPutFromDevice(p.base, p.length, PTL_LOCAL_ME_CT, PTL_NO_ACK_REQ, e->source, e->match_bits, 0, NULL, 0);
    return SUCCESS;
}

__handler int echo_completion_handler(int dropped_bytes, bool flow_control_triggered, void *state) {
    const echo_t *e = (const echo_t *)state;
    if (e->stored && dropped_bytes == 0) {
        PtlHandlerPutFromHost(0, e->length, PTL_LOCAL_ME_CT, PTL_NO_ACK_REQ, e->source, e->match_bits, 0, NULL, 0);
    }
    return SUCCESS;
}

__handler int add_numbers(const ptl_payload_t p, void *state) {
    uint64_t sum = 0, before;
    for (ptl_size_t at = 0; at + 8 <= p.length; at += 8) {
        sum += spin_load32(p.base + at) + ((uint64_t)spin_load32(p.base + at + 4) << 32);
    }
    return PtlHandlerFAdd((volatile uint64_t *)state, &before, sum) == PTL_OK ? SUCCESS : FAIL;
}

__handler int count_message(int dropped_bytes, bool flow_control_triggered, void *state) {
    uint64_t before;
    return PtlHandlerDMAFetchAddB(8, 1, &before, PTL_UINT64_T, PTL_ME_HOST_MEM) == PTL_OK ? SUCCESS : FAIL;
}

connect(total, /* no options */, NULL, &add_numbers, &count_message);

/* A number from the payload, which may begin at any byte. */
static uint64_t number(const uint8_t *bytes) {
    return spin_load32(bytes) + ((uint64_t)spin_load32(bytes + 4) << 32);
}

__handler int swap_payload_handler(const ptl_payload_t p, void *state) {
    if (p.length != 16) {
        return DROP;
    }
    uint64_t expected = number(p.base);
    int result = PtlHandlerDMACASB(0, &expected, number(p.base + 8), PTL_ME_HOST_MEM);
    /* An acknowledgement and header data are refused with a code, not ignored. */
    ptl_process_t nowhere = {.rank = 0};
    bool refused = PtlHandlerPutFromDevice(p.base, 8, PTL_CT_NONE, 1, nowhere, 0, 0, NULL, 0) == PTL_ARG_INVALID &&
                   PtlHandlerPutFromHost(0, 8, PTL_CT_NONE, PTL_NO_ACK_REQ, 0, 0, 0, NULL, 1) == PTL_ARG_INVALID &&
                   PtlHandlerDMAToHostB(p.base, 0, 8, PTL_HANDLER_HOST_MEM) == PTL_ARG_INVALID;
    if (!refused) {
        return FAIL;
    }
    return PtlHandlerCAS((volatile uint64_t *)state, 0, expected) || result != PTL_OK ? SUCCESS : DROP;
}
