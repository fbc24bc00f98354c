/* The interface of the sPIN paper (Hoefler et al., SC17): handlers with the types and calls of Portals 4. Build and run with `--portals`,
 * which includes this header before each source, so that listings of the paper, its slides and its page need no line of their own.
 * docs/handlers.md lists the differences.
 *
 *     __handler int pp_header_handler(const ptl_header_t h, void *state);
 *     __handler int pp_payload_handler(const ptl_payload_t p, void *state);
 *     __handler int pp_completion_handler(int dropped_bytes, bool flow_control_triggered, void *state);
 *
 * Such functions with a common prefix (`pp`) are a handler set. An image may have several; each context runs one of them
 * (`--handlers pp`). connect() makes a set of functions with any names.
 *
 * Each function is an entry point of the hardware as it stands: the ABI passes a structure of this size by its address, and the task page
 * is that structure. There is no code between the hardware and the handler. */
#ifndef SPIN_PORTALS_H
#define SPIN_PORTALS_H

#include "spin_atomic.h"
#include "spindle.h"

/* A function that is compiled for the NIC. The linker keeps it. */
#ifdef __cplusplus
#define SPIN_C extern "C"
#else
#define SPIN_C
#endif
#define __handler SPIN_C __attribute__((used, section(".text.spin_handler")))

/* ---- Types ---------------------------------------------------------------------------------------------------------------- */

typedef uint32_t ptl_size_t;
typedef uint32_t ptl_nid_t; /* index in the node table */
typedef uint32_t ptl_pid_t;
typedef uint32_t ptl_rank_t;
typedef uint64_t ptl_match_bits_t; /* address of a mailbox */
typedef uint64_t ptl_hdr_data_t;
typedef uint32_t ptl_req_ct_t;
typedef uint32_t ptl_ack_req_t;
typedef uint32_t ptl_dma_h;
typedef union {
    struct {
        ptl_nid_t nid;
        ptl_pid_t pid;
    } phys;
    ptl_rank_t rank; /* number of the node; pid stays as it was */
} ptl_process_t;

/* What a header handler sees: a view of the task page. */
typedef struct {
    uint32_t spin_kind_, spin_packet_[4];
    uint32_t type;           /* opcode of the transport; 0 = a raw frame */
    ptl_process_t source_id; /* sender; of a raw frame its IPv4 address and UDP port */
    ptl_pid_t target_id;     /* process to which the message goes; of a raw frame its UDP port */
    uint32_t spin_message_;
    ptl_match_bits_t match_bits;
    ptl_size_t length; /* bytes of the message */
    uint32_t spin_packet_offset_;
    ptl_size_t offset; /* of the message in the buffer of its target */
    uint32_t spin_rest_[17];
} ptl_header_t;

/* What a payload handler sees: likewise. */
typedef struct {
    uint32_t spin_kind_, spin_packet_[2];
    uint8_t *base;     /* first byte of the payload of this packet */
    ptl_size_t length; /* bytes of it */
    uint32_t spin_header_[8];
    ptl_size_t offset; /* of this packet in the message */
    uint32_t spin_rest_[18];
} ptl_payload_t;

_Static_assert(sizeof(ptl_header_t) == sizeof(spin_task_t) && sizeof(ptl_payload_t) == sizeof(spin_task_t) &&
                   offsetof(ptl_header_t, type) == offsetof(spin_task_t, opcode) &&
                   offsetof(ptl_header_t, source_id) == offsetof(spin_task_t, src_nid) &&
                   offsetof(ptl_header_t, target_id) == offsetof(spin_task_t, dst_pid) &&
                   offsetof(ptl_header_t, match_bits) == offsetof(spin_task_t, addr_lo) &&
                   offsetof(ptl_header_t, length) == offsetof(spin_task_t, msg_len) &&
                   offsetof(ptl_header_t, offset) == offsetof(spin_task_t, buf_off) &&
                   offsetof(ptl_payload_t, base) == offsetof(spin_task_t, payload) &&
                   offsetof(ptl_payload_t, length) == offsetof(spin_task_t, payload_len) &&
                   offsetof(ptl_payload_t, offset) == offsetof(spin_task_t, msg_off),
               "headers and payloads are views of the task page");

typedef int (*ptl_header_handler_t)(const ptl_header_t, void *);
typedef int (*ptl_payload_handler_t)(const ptl_payload_t, void *);
typedef int (*ptl_completion_handler_t)(int, bool, void *);

/* Return codes. */
enum {
    SUCCESS = SPIN_SUCCESS,
    SUCCESS_PENDING = SPIN_SUCCESS_PENDING,
    PROCESS_DATA = SPIN_PROCESS_DATA,
    PROCESS_DATA_PENDING = SPIN_PROCESS_DATA_PENDING,
    PROCEED = SPIN_PROCEED,
    PROCEED_PENDING = SPIN_PROCEED_PENDING,
    DROP = SPIN_DROP,
    DROP_PENDING = SPIN_DROP_PENDING,
    FAIL = SPIN_FAIL,
    SEGV = SPIN_FAIL,
};

/* Results of calls, and arguments. */
enum {
    PTL_OK = 0,
    PTL_FAIL = 1,
    PTL_ARG_INVALID = 2, /* an argument for which the NIC has nothing: an acknowledgement, header data, memory of other hosts */
    PTL_NO_ACK_REQ = 0,
    PTL_CT_NONE = 0,
    PTL_LOCAL_ME_CT = 1,
    PTL_ME_HOST_MEM = 0, /* the host region of the context */
    PTL_HANDLER_HOST_MEM = 1,
    PTL_DMA_OVER = 0xff, /* handle of a transfer that had ended when its call returned */
};
typedef enum { PTL_INT32_T, PTL_UINT32_T, PTL_INT64_T, PTL_UINT64_T } ptl_type_t;

/* ---- State and handler sets ----------------------------------------------------------------------------------------------- */

/* What `state` points to: PTL_STATE_BYTES (`-D`, 256 unless set) zeros, unless the host sets the variable `spin_state`
 * (`--set-file spin_state=FILE`). All handler sets of a context's image see the same bytes; each context has its own. */
SPIN_C_BEGIN
extern uint8_t spin_state[];
SPIN_C_END

/* At file level: makes a handler set that has the name of `peer`. A handler that is NULL is absent. `options` may be empty. */
#define connect(peer, options, header, payload, completion)                                                            \
    __attribute__((used, section(".spin_handlers"))) static const struct {                                             \
        char name[32];                                                                                                 \
        ptl_header_handler_t hh;                                                                                       \
        ptl_payload_handler_t ph;                                                                                      \
        ptl_completion_handler_t ch;                                                                                   \
    } SPIN_PASTE(spin_handlers_, __COUNTER__) = {#peer, header, payload, completion};                                  \
    _Static_assert(sizeof #peer <= 32, "the name of a handler set has at most 31 characters")
#define SPIN_PASTE(a, b) SPIN_PASTE_(a, b)
#define SPIN_PASTE_(a, b) a##b

/* ---- Puts and gets -------------------------------------------------------------------------------------------------------- */

SPIN_INLINE ptl_process_t spin_same_process(ptl_process_t process) { return process; }
SPIN_INLINE ptl_process_t spin_process_of_rank(ptl_rank_t rank) {
    ptl_process_t process = {{rank, 0}};
    return process;
}
/* A target is a ptl_process_t, or a number: process 0 of that node. */
#ifdef __cplusplus
static inline ptl_process_t spin_process(ptl_process_t process) { return process; }
static inline ptl_process_t spin_process(ptl_rank_t rank) { return spin_process_of_rank(rank); }
static inline ptl_process_t spin_process(int rank) { return spin_process_of_rank((ptl_rank_t)rank); }
static inline ptl_process_t spin_process(unsigned rank) { return spin_process_of_rank(rank); }
#else
#define spin_process(target) _Generic((target), ptl_process_t: spin_same_process, default: spin_process_of_rank)(target)
#endif

SPIN_INLINE spin_target_t spin_ptl_target(ptl_process_t to, ptl_match_bits_t match_bits, ptl_size_t offset) {
    spin_target_t target = {to.phys.nid, to.phys.pid, match_bits, 0, offset};
    return target;
}
SPIN_INLINE int spin_ptl_put_device(const void *local, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t to,
                                    ptl_match_bits_t match_bits, ptl_size_t offset, ptl_hdr_data_t data) {
    if (ack != PTL_NO_ACK_REQ || data != 0) {
        return PTL_ARG_INVALID;
    }
    spin_target_t target = spin_ptl_target(to, match_bits, offset);
    spin_put(&target, local, length);
    return PTL_OK;
}
SPIN_INLINE int spin_ptl_put_host(ptl_size_t from, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t to,
                                  ptl_match_bits_t match_bits, ptl_size_t offset, ptl_hdr_data_t data) {
    if (ack != PTL_NO_ACK_REQ || data != 0) {
        return PTL_ARG_INVALID;
    }
    spin_target_t target = spin_ptl_target(to, match_bits, offset);
    spin_put_host(&target, from, length);
    return PTL_OK;
}
SPIN_INLINE int spin_ptl_get_host(ptl_size_t to, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t from,
                                  ptl_match_bits_t match_bits, ptl_size_t offset, ptl_hdr_data_t data) {
    if (ack != PTL_NO_ACK_REQ || data != 0) {
        return PTL_ARG_INVALID;
    }
    const spin_task_t *task = spin_task();
    spin_target_t target = spin_ptl_target(from, match_bits, offset);
    spin_get(&target, length, (uint64_t)task->addr_hi << 32 | task->addr_lo, 0, to);
    return PTL_OK;
}

/* Puts bytes of the NIC's memory: of the packet, the scratchpad or the state, at most 2,048. */
#define PtlHandlerPutFromDevice(local, length, ct, ack_req, target_id, match_bits, remote_offset, user_ptr, hdr_data)  \
    ((void)(ct), (void)(user_ptr),                                                                                     \
     spin_ptl_put_device(local, length, ack_req, spin_process(target_id), match_bits, remote_offset, hdr_data))
/* Puts bytes of the host region. */
#define PtlHandlerPutFromHost(offset, length, ct, ack_req, target_id, match_bits, remote_offset, user_ptr, hdr_data)   \
    ((void)(ct), (void)(user_ptr),                                                                                     \
     spin_ptl_put_host(offset, length, ack_req, spin_process(target_id), match_bits, remote_offset, hdr_data))
/* Gets bytes into the mailbox to which the handler's message was sent, at an offset of its buffer. */
#define PtlHandlerGetToHost(offset, length, ct, ack_req, target_id, match_bits, remote_offset, user_ptr, hdr_data)     \
    ((void)(ct), (void)(user_ptr),                                                                                     \
     spin_ptl_get_host(offset, length, ack_req, spin_process(target_id), match_bits, remote_offset, hdr_data))

/* ---- Host memory: offsets in the host region ------------------------------------------------------------------------------ */

SPIN_INLINE int PtlHandlerDMATest(ptl_dma_h handle) { return handle == PTL_DMA_OVER || spin_test(handle); }
/* Waits until a transfer has ended. */
SPIN_INLINE int PtlHandlerDMAWait(ptl_dma_h handle) {
    if (handle == PTL_DMA_OVER) {
        return PTL_OK;
    }
    spin_wait_for(handle);
    return spin_failed(handle) ? PTL_FAIL : PTL_OK;
}
SPIN_INLINE int PtlHandlerDMAToHostNB(const void *local, ptl_size_t offset, ptl_size_t length, unsigned int options,
                                      ptl_dma_h *handle) {
    if (options != PTL_ME_HOST_MEM) {
        return PTL_ARG_INVALID;
    }
    spin_dma_to_host(offset, local, length);
    *handle = spin_handle();
    return PTL_OK;
}
SPIN_INLINE int PtlHandlerDMAToHostB(const void *local, ptl_size_t offset, ptl_size_t length, unsigned int options) {
    ptl_dma_h handle;
    int result = PtlHandlerDMAToHostNB(local, offset, length, options, &handle);
    return result == PTL_OK ? PtlHandlerDMAWait(handle) : result;
}
SPIN_INLINE int PtlHandlerDMAFromHostNB(ptl_size_t offset, void *local, ptl_size_t length, unsigned int options,
                                        ptl_dma_h *handle) {
    if (options != PTL_ME_HOST_MEM) {
        return PTL_ARG_INVALID;
    }
    spin_dma_from_host(local, offset, length);
    *handle = spin_handle();
    return PTL_OK;
}
SPIN_INLINE int PtlHandlerDMAFromHostB(ptl_size_t offset, void *local, ptl_size_t length, unsigned int options) {
    ptl_dma_h handle;
    int result = PtlHandlerDMAFromHostNB(offset, local, length, options, &handle);
    return result == PTL_OK ? PtlHandlerDMAWait(handle) : result;
}
/* Replaces eight bytes of host memory by `desired` if they equal *expected; *expected becomes what was there. */
SPIN_INLINE int PtlHandlerDMACASB(ptl_size_t offset, uint64_t *expected, uint64_t desired, unsigned int options) {
    if (options != PTL_ME_HOST_MEM) {
        return PTL_ARG_INVALID;
    }
    spin_host_compare_swap(offset, sizeof desired, *expected, desired);
    int result = PtlHandlerDMAWait(spin_handle());
    *expected = spin_host_result();
    return result;
}
/* The same: the call returns when the operation has ended. */
SPIN_INLINE int PtlHandlerDMACASNB(ptl_size_t offset, uint64_t *expected, uint64_t desired, unsigned int options,
                                   ptl_dma_h *handle) {
    *handle = PTL_DMA_OVER;
    return PtlHandlerDMACASB(offset, expected, desired, options);
}
/* Adds to an integer of host memory; *before becomes what was there. */
SPIN_INLINE int PtlHandlerDMAFetchAddB(ptl_size_t offset, uint64_t increment, uint64_t *before, ptl_type_t type,
                                       unsigned int options) {
    if (options != PTL_ME_HOST_MEM) {
        return PTL_ARG_INVALID;
    }
    spin_host_add(offset, type == PTL_INT64_T || type == PTL_UINT64_T ? 8 : 4, increment);
    int result = PtlHandlerDMAWait(spin_handle());
    *before = spin_host_result();
    return result;
}
/* The same: the call returns when the operation has ended. */
SPIN_INLINE int PtlHandlerDMAFetchAddNB(ptl_size_t offset, uint64_t increment, uint64_t *before, ptl_type_t type,
                                        unsigned int options, ptl_dma_h *handle) {
    *handle = PTL_DMA_OVER;
    return PtlHandlerDMAFetchAddB(offset, increment, before, type, options);
}

/* ---- The state ------------------------------------------------------------------------------------------------------------ */

SPIN_C_BEGIN
/* Replaces *value by `desired` if it equals `expected`; 1 if it did. Atomic among handlers that use these two functions. */
int PtlHandlerCAS(volatile uint64_t *value, uint64_t expected, uint64_t desired);
/* Adds to *value; *before becomes what was there. Likewise atomic. */
int PtlHandlerFAdd(volatile uint64_t *value, uint64_t *before, uint64_t increment);
SPIN_C_END
/* Lets the other handler of this processor run. */
SPIN_INLINE void PtlHandlerYield(void) { spin_yield(); }

#endif
