// SPDX-License-Identifier: MIT OR Apache-2.0
// Cables, and the instants at which frames arrive.
#include "network.h"
#include "ns3/mpi-interface.h"
#include <algorithm>
#include <cstring>

namespace spindle {

int64_t now() { return ns3::Simulator::Now().GetTimeStep(); }

/// What goes to another rank before the bytes of a frame.
struct Carried {
    uint32_t source, destination, flow, length, marked, hops;
    uint64_t number;
    int64_t tail;
};

void Link::send(Frame frame, int64_t start, int64_t end) {
    auto& counts = network->counts;
    if (Fault::lost(frame, id)) {
        counts.lost++;
        return;
    }
    if (Fault::corrupted(frame, id)) counts.corrupted++;
    counts.under_way++;
    // The head is what a switch waits for. From a NIC the whole frame comes at once: start and end are the same.
    int64_t head = start + delay, tail = end + delay;
    if (device == SPINDLE_NONE) {
        auto event = [to = to, arrival = Arrival{std::move(frame), tail}] { to->arrive(arrival); };
        ns3::Simulator::ScheduleWithContext(context, ns3::FemtoSeconds(head - now()), std::move(event));
        return;
    }
    Carried carried{frame.source, frame.destination, frame.flow, frame.length, frame.marked, frame.hops, frame.number, tail};
    std::vector<uint8_t> bytes(sizeof carried + frame.bytes->size());
    std::memcpy(bytes.data(), &carried, sizeof carried);
    if (!frame.bytes->empty()) std::memcpy(bytes.data() + sizeof carried, frame.bytes->data(), frame.bytes->size());
    auto packet = ns3::Create<ns3::Packet>(bytes.data(), uint32_t(bytes.size()));
    ns3::MpiInterface::SendPacket(packet, ns3::FemtoSeconds(head), context, device);
}

void End::receive(ns3::Ptr<ns3::Packet> packet) {
    std::vector<uint8_t> bytes(packet->GetSize());
    packet->CopyData(bytes.data(), uint32_t(bytes.size()));
    Carried carried;
    std::memcpy(&carried, bytes.data(), sizeof carried);
    auto rest = std::make_shared<std::vector<uint8_t>>(bytes.begin() + sizeof carried, bytes.end());
    Frame frame{carried.source, carried.destination, carried.flow, carried.length,
                carried.number, carried.marked, carried.hops, std::move(rest)};
    arrive(Arrival{std::move(frame), carried.tail});
}

void End::arrive(Arrival arrival) {
    if (now() < network->reached)
        fail("a frame arrives at " + std::to_string(now()) + " fs, and this rank has come to " + std::to_string(network->reached) +
             " fs: the lookahead is longer than the cables between ranks");
    network->reached = now();
    if (m_batch.empty()) ns3::Simulator::ScheduleNow(&End::arbitrate, this);
    m_batch.push_back(std::move(arrival));
}

void End::arbitrate() {
    auto batch = std::move(m_batch);
    m_batch.clear();
    network->counts.under_way -= batch.size();
    std::sort(batch.begin(), batch.end(), [](const Arrival& a, const Arrival& b) {
        return std::tie(a.frame.source, a.frame.number) < std::tie(b.frame.source, b.frame.number);
    });
    for (auto& arrival : batch) take(std::move(arrival));
}

} // namespace spindle
