/* Answers pings by FPsPIN's API: alone, or with DO_HOST by way of the host, which computes the checksum. */
#include <handler.h>
#include <packets.h>
#include <spin_host.h>

typedef struct __attribute__((__packed__)) {
    eth_hdr_t eth;
    ip_hdr_t ip;
    uint8_t type, code;
    uint16_t checksum;
} ping_t;
static_assert(sizeof(ping_t) == 38, "headers have no holes");

static void turn(ping_t *ping) {
    mac_addr_t mac = ping->eth.dest;
    ping->eth.dest = ping->eth.src;
    ping->eth.src = mac;
    uint32_t address = ping->ip.dest_id;
    ping->ip.dest_id = ping->ip.source_id;
    ping->ip.source_id = address;
}

__handler__ void answer(handler_args_t *args) {
    ping_t *ping = args->task->pkt_mem;
    uint32_t length = args->task->pkt_mem_size;
    spin_cmd_t command;
    assert(ping->ip.version == 4 && ping->ip.ihl == 5 && ping->ip.protocol == 1);
    turn(ping);
    if (DO_HOST && fpspin_check_host_mem(args)) {
        uint64_t data = HOST_PLD_ADDR(args);
        spin_dma_to_host(data, (uint32_t)ping, length, true, &command);
        spin_cmd_wait(command);
        length = fpspin_host_req(args, length).len;
        spin_dma_from_host(data, (uint32_t)ping, length, true, &command);
        spin_cmd_wait(command);
    } else {
        length = sizeof(eth_hdr_t) + ntohs(ping->ip.length);
        ping->type = 0;
        ping->checksum = 0;
        ping->checksum = ip_checksum(&ping->type, length - sizeof(eth_hdr_t) - sizeof(ip_hdr_t));
    }
    spin_send_packet(ping, length, &command);
    spin_cmd_wait(command);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    (void)handler_mem_ptr;
    *hh = *th = NULL;
    *ph = answer;
}
