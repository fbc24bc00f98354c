// SPDX-License-Identifier: MIT OR Apache-2.0
// NICs: windows of cycles, frames in and out.
#include "network.h"
#include <algorithm>

namespace spindle {

Nic::Nic(uint32_t id, const SpindleNode& node, std::unique_ptr<Link> up) : m_id(id), m_node(node), m_up(std::move(up)) {}

void Nic::begin() { plan(0); }

/// Has the window simulated in which this cycle lies, after all frames that arrive in the window.
void Nic::plan(uint64_t cycle) {
    cycle = std::max(cycle, m_reached);
    if (cycle == UINT64_MAX) return;
    uint64_t until = (cycle / m_node.window + 1) * m_node.window;
    if (until >= m_planned) return;
    m_planned = until;
    // One step of time before the end: what the NIC sends may be at the other end of its cable at the end itself.
    int64_t at = int64_t(until) * m_node.cycle - 1;
    ns3::Simulator::Schedule(ns3::FemtoSeconds(at - now()), [this, until] {
        if (until == m_planned) tick(until); // else an earlier window has taken its place
    });
}

void Nic::tick(uint64_t until) {
    network->reached = now();
    network->counts.ticks++;
    m_planned = UINT64_MAX;
    uint64_t next = UINT64_MAX, since = m_reached;
    if (m_node.endpoint.step(m_node.endpoint.context, until, &next) < 0) fail("");
    m_reached = until;
    SpindleFrame frame;
    int32_t taken;
    while ((taken = m_node.endpoint.take(m_node.endpoint.context, &frame)) > 0) send(frame, since);
    if (taken < 0) fail("");
    plan(next);
}

void Nic::send(const SpindleFrame& sent, uint64_t since) {
    network->counts.sent++;
    uint64_t window = m_node.window;
    if (sent.cycle < since || sent.cycle + window < m_reached)
        fail("node " + std::to_string(m_id) + " hands over a frame of cycle " + std::to_string(sent.cycle) + " after cycle " +
             std::to_string(m_reached) + ": the frame lies in the past, more than a window of " + std::to_string(window) + " cycles ago");
    if (sent.carried > 16000)
        fail("node " + std::to_string(m_id) + " sends a frame of " + std::to_string(sent.carried) + " bytes; send at most 16000");
    if (sent.peer == SPINDLE_NONE || sent.length == 0) {
        network->counts.astray++;
        return;
    }
    Frame frame{m_id, sent.peer, sent.flow, sent.length, m_numbers++, 0, 0,
                std::make_shared<std::vector<uint8_t>>(sent.bytes, sent.bytes + sent.carried)};
    // The frame is known when its last beat is, so the cable takes it whole; a cable slower than the NIC takes longer.
    int64_t end = std::max(int64_t(sent.cycle) * m_node.cycle, m_up->free + m_up->time(sent.length));
    m_up->free = end + m_up->time(network->settings.overhead);
    m_up->send(std::move(frame), end, end);
}

void Nic::take(Arrival arrival) {
    Frame& frame = arrival.frame;
    if (frame.destination != m_id) {
        network->counts.astray++;
        return;
    }
    // Beats enter one a cycle; the first one so late that none is missing.
    const int64_t beat = network->settings.beat, cycle = m_node.cycle;
    int64_t start = std::max(now(), arrival.tail - (frame.length + beat - 1) / beat * cycle);
    SpindleFrame received{uint64_t((start + cycle - 1) / cycle), frame.source, frame.flow, frame.length,
                          uint32_t(frame.bytes->size()), frame.bytes->data(), frame.marked, frame.hops};
    if (m_node.endpoint.inject(m_node.endpoint.context, &received) < 0) fail("");
    network->counts.delivered++;
    plan(received.cycle);
}

} // namespace spindle
