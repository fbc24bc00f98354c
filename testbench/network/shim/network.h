// SPDX-License-Identifier: MIT OR Apache-2.0
// Frames, links, switches and NICs on ns-3's events. A frame is known by source and number on every rank; nothing depends on the
// order in which ns-3 runs the events of one instant.
#pragma once
#include "abi.h"
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace spindle {

/// An error whose text the caller shows.
[[noreturn]] void fail(const std::string& text);

/// What a hash takes of a frame.
struct Name {
    uint32_t source, destination;
    uint64_t number;
};

/// A frame under way.
struct Frame {
    uint32_t source, destination, flow, length;
    uint64_t number; ///< Counted by the source.
    uint32_t marked, hops;
    std::shared_ptr<const std::vector<uint8_t>> bytes;
    Name name() const { return {source, destination, number}; }
};

/// A frame whose head is here now.
struct Arrival {
    Frame frame;
    int64_t tail; ///< When its last byte is here.
};

/// The present time.
int64_t now();

/// Where a cable ends: collects the frames whose heads arrive at one instant, and takes them in the order of source and number.
class End {
  public:
    virtual ~End() = default;
    void arrive(Arrival arrival);
    /// Of messages of other ranks.
    void receive(ns3::Ptr<ns3::Packet> packet);

  protected:
    virtual void take(Arrival arrival) = 0;

  private:
    void arbitrate();
    std::vector<Arrival> m_batch;
};

/// One direction of a cable.
class Link {
  public:
    Link(uint32_t id, int64_t delay, int64_t byte) : id(id), delay(delay), byte(byte) {}
    /// The first byte of a frame leaves at `start`, its last at `end`.
    void send(Frame frame, int64_t start, int64_t end);
    /// Bytes that wait at an instant.
    uint64_t waiting(int64_t at) const { return free > at ? (free - at) / byte : 0; }
    /// Time on the wire of so many bytes.
    int64_t time(uint64_t bytes) const { return int64_t(bytes) * byte; }

    uint32_t id;
    int64_t delay, byte;
    int64_t free = 0;                           ///< When the last frame so far has left.
    End* to = nullptr;                          ///< On this rank.
    uint32_t context = ns3::Simulator::NO_CONTEXT; ///< ns-3's node of the other end.
    uint32_t device = SPINDLE_NONE;             ///< ns-3's device of the other end, on another rank.
};

/// A switch: routes a frame as soon as its head is here, and holds it in an output until the output is free.
class Switch : public End {
  public:
    Switch(uint32_t id) : m_id(id) {}
    /// Outputs to other switches, by the numbers of links and directions; outputs to nodes, by their numbers.
    std::vector<std::pair<uint32_t, Link*>> outputs, nodes;
    void order();

  protected:
    void take(Arrival arrival) override;

  private:
    Link* route(const Frame& frame, int64_t ready) const;
    uint32_t m_id;
};

/// A NIC: lags by one window, so that all frames that arrive in the window are known.
class Nic : public End {
  public:
    Nic(uint32_t id, const SpindleNode& node, std::unique_ptr<Link> up);
    void begin();
    Link& up() { return *m_up; }

  protected:
    void take(Arrival arrival) override;

  private:
    void plan(uint64_t cycle);
    void tick(uint64_t until);
    void send(const SpindleFrame& frame, uint64_t since);
    uint32_t m_id;
    SpindleNode m_node;
    std::unique_ptr<Link> m_up;
    uint64_t m_reached = 0; ///< Cycle up to which the NIC is simulated.
    uint64_t m_planned = UINT64_MAX;
    uint64_t m_numbers = 0;
};

/// What a cable does to a frame: decided by a hash of frame and cable, so the same on any rank.
struct Fault {
    static bool lost(const Frame& frame, uint32_t link);
    /// Whether a byte of the frame was changed.
    static bool corrupted(Frame& frame, uint32_t link);
    /// A hash of frame, place and purpose.
    static uint64_t hash(const Name& name, uint32_t place, uint32_t purpose);
};

/// The network of this rank.
struct Network {
    SpindleNetwork settings;
    std::vector<uint64_t> route_start;
    std::vector<uint32_t> route_ports, node_switch;
    std::vector<std::unique_ptr<Link>> links;
    std::vector<std::unique_ptr<Switch>> switches;
    std::vector<std::unique_ptr<Nic>> nics;
    SpindleCounts counts{};
    int64_t reached = 0; ///< No event lies before.
    int64_t lookahead = 0;
};
extern std::unique_ptr<Network> network;

} // namespace spindle
