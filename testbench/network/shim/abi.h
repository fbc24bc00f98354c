// SPDX-License-Identifier: MIT OR Apache-2.0
// The C ABI of engine and endpoint: `src/abi.rs` has the same structures. Times are femtoseconds, unless they are cycles.
#pragma once
#include <stdint.h>

extern "C" {

/// No switch, no link, no node.
static const uint32_t SPINDLE_NONE = UINT32_MAX;

/// A frame at an endpoint.
struct SpindleFrame {
    uint64_t cycle;       ///< Sent: cycle of the last beat. Received: cycle of the first beat.
    uint32_t peer;        ///< Sent: destination, or SPINDLE_NONE. Received: source.
    uint32_t flow;        ///< Frames of one flow take one path with ECMP.
    uint32_t length;      ///< Bytes on the wire, without preamble and FCS.
    uint32_t carried;     ///< Bytes at `bytes`: all of an Ethernet frame, the header alone of a modelled one.
    const uint8_t* bytes; ///< Valid until the next call.
    uint32_t marked;      ///< A switch has marked the frame: congestion experienced.
    uint32_t hops;        ///< Received: switches on the way.
};

/// A NIC, or what stands for one. Every function returns a negative number after an error, whose text the endpoint keeps.
struct SpindleEndpoint {
    void* context;
    /// Simulates up to the cycle `until` and not that cycle itself. `next`: the first cycle in which there is something to do if no
    /// frame arrives.
    int32_t (*step)(void* context, uint64_t until, uint64_t* next);
    /// A frame comes in.
    int32_t (*inject)(void* context, const SpindleFrame* frame);
    /// The next frame that was sent: 1, or 0 if there is none.
    int32_t (*take)(void* context, SpindleFrame* frame);
};

/// How switches choose among the ports of shortest paths.
enum { SPINDLE_STATIC, SPINDLE_ECMP, SPINDLE_ADAPTIVE };

/// A cable between two switches; direction 0 goes from a to b. Direction d of link l is the output 2 l + d of its switch.
struct SpindleLink {
    uint32_t a, b;
    int64_t delay; ///< Flight time.
    int64_t byte;  ///< Time of one byte.
};

/// A cable between a node and its switch, or the other node where there is no switch.
struct SpindleNode {
    uint32_t at;
    uint32_t rank;
    int64_t delay;
    int64_t byte;
    int64_t cycle;   ///< Clock period of the NIC.
    uint64_t window; ///< Cycles that the NIC simulates at once.
    SpindleEndpoint endpoint; ///< Of nodes of this rank; else null.
};

/// A network.
struct SpindleNetwork {
    const uint32_t* ranks;      ///< Rank of each switch.
    const SpindleLink* links;
    const SpindleNode* nodes;
    const uint64_t* route_start; ///< By switch and destination switch: where its outputs begin in `route_ports`; one more at the end.
    const uint32_t* route_ports;
    uint32_t switch_count, link_count, node_count;
    uint32_t routing;
    int64_t latency;        ///< A frame's head: from the input of a switch to its output.
    uint64_t queue;         ///< Bytes that an output holds; a frame that does not fit is dropped.
    uint64_t mark;          ///< Bytes in an output from which on frames are marked.
    uint32_t overhead;      ///< Bytes between two frames: FCS, gap, preamble.
    uint32_t beat;          ///< Bytes that a NIC takes in a cycle.
    uint32_t store;         ///< 1: switches store a frame before they pass it on.
    uint32_t spare;
    uint64_t seed;
    uint64_t loss;          ///< Share of the frames that a cable loses, times 2^64.
    uint64_t corruption;    ///< Share of the frames of which a cable changes a byte, times 2^64.
};

/// What became of the frames of this rank so far.
struct SpindleCounts {
    uint64_t sent, delivered, dropped, lost, astray, corrupted, marked;
    uint64_t under_way; ///< Modulo 2^64: of frames that change ranks, one side counts up and the other down.
    uint64_t hops, ticks, deepest; ///< `deepest`: most bytes in an output.
};

/// Bytes of the structures: frame, endpoint, link, node, network, counts.
void spindle_network_layout(uint64_t bytes[6]);
/// Text of the last error.
const char* spindle_network_error();
/// Joins the ranks that mpirun has started.
int32_t spindle_network_join(uint32_t* rank, uint32_t* ranks);
/// Makes the network: one at a time.
int32_t spindle_network_create(const SpindleNetwork*);
/// Simulates up to this time.
int32_t spindle_network_run(int64_t until);
int32_t spindle_network_counts(SpindleCounts*);
/// Time by which ranks may differ; 0 with one rank.
int64_t spindle_network_lookahead();
/// Sums and maxima over ranks: each rank has the result.
int32_t spindle_network_sum(uint64_t* values, uint32_t count);
int32_t spindle_network_max(uint64_t* values, uint32_t count);
/// Removes the network.
void spindle_network_destroy();
/// Ends MPI.
void spindle_network_leave();
/// Ends all ranks.
void spindle_network_abort(int32_t status);
}
