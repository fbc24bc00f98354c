// SPDX-License-Identifier: MIT OR Apache-2.0
// Switches: routing, output queues, marks, drops.
#include "network.h"
#include <algorithm>

namespace spindle {

void Switch::order() {
    std::sort(outputs.begin(), outputs.end());
    std::sort(nodes.begin(), nodes.end());
}

static Link* find(const std::vector<std::pair<uint32_t, Link*>>& links, uint32_t number) {
    auto found = std::lower_bound(links.begin(), links.end(), std::make_pair(number, static_cast<Link*>(nullptr)));
    return found != links.end() && found->first == number ? found->second : nullptr;
}

/// The output for a frame that may leave from `ready` on.
Link* Switch::route(const Frame& frame, int64_t ready) const {
    uint32_t target = network->node_switch[frame.destination];
    if (target == m_id) return find(nodes, frame.destination);
    size_t entry = size_t(m_id) * network->settings.switch_count + target;
    uint64_t first = network->route_start[entry], count = network->route_start[entry + 1] - first;
    if (count == 0) return nullptr;
    const uint32_t* ports = &network->route_ports[first];
    switch (network->settings.routing) {
    case SPINDLE_STATIC: // One path to a destination.
        return find(outputs, ports[Fault::hash({0, frame.destination, 0}, 0, 4) % count]);
    case SPINDLE_ECMP: // One path for a flow; each switch draws again.
        return find(outputs, ports[Fault::hash({frame.source, frame.destination, frame.flow}, m_id, 5) % count]);
    default: { // The output that is free first; the frame draws among those that are free at the same time.
        uint64_t draw = Fault::hash(frame.name(), m_id, 6) % count;
        Link* best = nullptr;
        for (uint64_t i = 0; i < count; i++) {
            Link* link = find(outputs, ports[(draw + i) % count]);
            if (!best || std::max(link->free, ready) < std::max(best->free, ready)) best = link;
        }
        return best;
    }
    }
}

/// Marks congestion in the ECN field of an IPv4 header that may be marked, and mends the checksum.
static void mark(Frame& frame) {
    frame.marked = 1;
    const auto& bytes = *frame.bytes;
    // Ethernet, then IPv4: 0x0800, version and length of the header, the ECN field in the low bits of byte 15.
    if (bytes.size() < 34 || bytes[12] != 8 || bytes[13] != 0 || bytes[14] >> 4 != 4) return;
    uint8_t ecn = bytes[15] & 3;
    if (ecn == 0 || ecn == 3) return;
    auto changed = std::make_shared<std::vector<uint8_t>>(bytes);
    (*changed)[15] |= 3;
    // RFC 1624: HC' = ~(~HC + ~m + m').
    uint32_t sum = uint16_t(~(bytes[24] << 8 | bytes[25])) + uint32_t(uint16_t(~(bytes[14] << 8 | bytes[15]))) +
                   uint32_t((*changed)[14] << 8 | (*changed)[15]);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~((sum & 0xFFFF) + (sum >> 16));
    (*changed)[24] = uint8_t(sum >> 8);
    (*changed)[25] = uint8_t(sum);
    frame.bytes = std::move(changed);
}

void Switch::take(Arrival arrival) {
    auto& counts = network->counts;
    const auto& settings = network->settings;
    Frame& frame = arrival.frame;
    frame.hops++;
    counts.hops++;
    int64_t ready = now() + settings.latency;
    Link* link = frame.destination < network->node_switch.size() ? route(frame, ready) : nullptr;
    if (!link) {
        counts.astray++;
        return;
    }
    uint64_t waiting = link->waiting(ready);
    counts.deepest = std::max(counts.deepest, waiting);
    if (waiting + frame.length > settings.queue) {
        counts.dropped++;
        return;
    }
    if (waiting >= settings.mark) {
        mark(frame);
        counts.marked++;
    }
    // The output must not run dry within the frame: the last byte leaves no earlier than it is here. A switch that stores has all of it
    // before it begins.
    int64_t time = link->time(frame.length), tail = arrival.tail + settings.latency;
    int64_t start = std::max(settings.store ? tail : std::max(ready, tail - time), link->free);
    link->free = start + time + link->time(settings.overhead);
    link->send(std::move(frame), start, start + time);
}

} // namespace spindle
