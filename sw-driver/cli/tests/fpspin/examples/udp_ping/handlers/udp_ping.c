/* Answers datagrams by FPsPIN's API, and counts cycles: 0 of the handler, 1 of the way by the host, 2 of reading the counter. */
#include "pspin.h"
#include <handler.h>
#include <packets.h>
#include <spin_dma.h>
#include <spin_host.h>

#define EXCHANGE(type, a, b)                                                                                           \
    do {                                                                                                               \
        type exchanged = a;                                                                                            \
        a = b;                                                                                                         \
        b = exchanged;                                                                                                 \
    } while (0)

__handler__ void answer(handler_args_t *args) {
    uint32_t before = cycles();
    uint32_t start = cycles();
    push_counter(&__host_data.counters[2], start - before);
    pkt_hdr_t *headers = args->task->l2_pkt_mem;
    uint16_t length = args->task->pkt_mem_size;
    EXCHANGE(mac_addr_t, headers->eth_hdr.src, headers->eth_hdr.dest);
    EXCHANGE(uint32_t, headers->ip_hdr.source_id, headers->ip_hdr.dest_id);
    EXCHANGE(uint16_t, headers->udp_hdr.src_port, headers->udp_hdr.dst_port);
    spin_cmd_t command;
    if (DO_HOST) {
        uint32_t host = cycles();
        assert(fpspin_check_host_mem(args) && PAGE_SIZE > DMA_ALIGN);
        spin_dma_to_host(HOST_ADDR_HPU(args) + DMA_ALIGN, (uint32_t)headers, length, 0, &command);
        spin_cmd_wait(command);
        fpspin_flag_t flag = fpspin_host_req(args, length);
        spin_dma_from_host(HOST_PLD_ADDR(args), (uint32_t)headers, flag.len, 0, &command);
        spin_cmd_wait(command);
        length = flag.len;
        push_counter(&__host_data.counters[1], cycles() - host);
    }
    spin_send_packet(headers, length, &command);
    push_counter(&__host_data.counters[0], cycles() - start);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)handler_mem_ptr;
    *hh = *th = NULL;
    *ph = answer;
}
