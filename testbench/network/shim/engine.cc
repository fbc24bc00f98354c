// SPDX-License-Identifier: MIT OR Apache-2.0
// The engine: makes a network of the tables, runs it on ns-3, and joins the ranks of MPI.
#include "network.h"
#include "ns3/mpi-interface.h"
#include "ns3/mpi-receiver.h"
#include <algorithm>
#include <cstdlib>
#include <mpi.h>

namespace spindle {

std::unique_ptr<Network> network;
static std::string error;
static uint32_t rank = 0, ranks = 1;
/// A network of several ranks was made: ns-3 makes no second one in a process.
static bool distributed = false;

void fail(const std::string& text) { throw std::runtime_error(text); }

static int32_t guard(const std::function<void()>& call) {
    try {
        call();
        return 0;
    } catch (const std::exception& caught) {
        error = caught.what();
        return -1;
    }
}

/// A channel between switches of two ranks, of which ns-3 takes the lookahead; the ends are devices, which name the receivers.
static std::pair<uint32_t, uint32_t> remote(int64_t ahead, ns3::Ptr<ns3::Node> a, ns3::Ptr<ns3::Node> b, End* end_a, End* end_b) {
    auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
    channel->SetAttribute("Delay", ns3::TimeValue(ns3::FemtoSeconds(ahead)));
    auto device = [&](ns3::Ptr<ns3::Node> node, End* end) {
        auto device = ns3::CreateObject<ns3::PointToPointNetDevice>();
        node->AddDevice(device);
        device->Attach(channel);
        auto receiver = ns3::CreateObject<ns3::MpiReceiver>();
        if (end) receiver->SetReceiveCallback(ns3::MakeCallback(&End::receive, end));
        device->AggregateObject(receiver);
        return device->GetIfIndex();
    };
    uint32_t first = device(a, end_a);
    return {first, device(b, end_b)};
}

static void create(const SpindleNetwork& tables) {
    if (network) fail("this process has a network already");
    if (distributed) fail("a process makes one network of several ranks; start another process");
    static bool resolved = false;
    if (!resolved) ns3::Time::SetResolution(ns3::Time::FS);
    resolved = true;
    if (ranks > 1) {
        ns3::GlobalValue::Bind("SimulatorImplementationType", ns3::StringValue("ns3::DistributedSimulatorImpl"));
        ns3::MpiInterface::Enable(MPI_COMM_WORLD);
        distributed = true;
    }
    network = std::make_unique<Network>();
    Network& net = *network;
    net.settings = tables;
    const uint32_t switches = tables.switch_count, nodes = tables.node_count;
    net.route_start.assign(tables.route_start, tables.route_start + size_t(switches) * switches + 1);
    net.route_ports.assign(tables.route_ports, tables.route_ports + net.route_start.back());
    std::vector<ns3::Ptr<ns3::Node>> places(switches);
    net.switches.resize(switches);
    for (uint32_t i = 0; i < switches; i++) {
        places[i] = ns3::CreateObject<ns3::Node>(tables.ranks[i]);
        if (tables.ranks[i] == rank) net.switches[i] = std::make_unique<Switch>(i);
    }
    auto own = [&](uint32_t i) -> Switch* { return net.switches[i].get(); };
    auto link = [&](uint32_t id, int64_t delay, int64_t byte) {
        net.links.push_back(std::make_unique<Link>(id, delay, byte));
        return net.links.back().get();
    };
    for (uint32_t i = 0; i < tables.link_count; i++) {
        const SpindleLink& cable = tables.links[i];
        const uint32_t ends[2] = {cable.a, cable.b};
        uint32_t devices[2] = {SPINDLE_NONE, SPINDLE_NONE};
        if (tables.ranks[cable.a] != tables.ranks[cable.b]) {
            // A frame leaves a switch a latency after it came, at the earliest. Less one step of time: ns-3 also runs what lies at the end
            // of a granted window, and a frame of another rank may lie there, too.
            int64_t ahead = cable.delay + tables.latency - 1;
            if (ahead <= 0) fail("a cable between ranks and a switch take no time together; give them 1 ns");
            std::tie(devices[0], devices[1]) = remote(ahead, places[cable.a], places[cable.b], own(cable.a), own(cable.b));
            net.lookahead = net.lookahead ? std::min(net.lookahead, ahead) : ahead;
        }
        for (uint32_t d = 0; d < 2; d++) {
            if (!own(ends[d])) continue;
            Link* output = link(2 * i + d, cable.delay, cable.byte);
            output->to = own(ends[1 - d]);
            output->context = places[ends[1 - d]]->GetId();
            output->device = devices[1 - d];
            own(ends[d])->outputs.emplace_back(2 * i + d, output);
        }
    }
    net.nics.resize(nodes);
    net.node_switch.resize(nodes);
    for (uint32_t i = 0; i < nodes; i++) {
        const SpindleNode& node = tables.nodes[i];
        net.node_switch[i] = node.at;
        if (node.window == 0 || int64_t(node.window) * node.cycle > node.delay)
            fail("the window of node " + std::to_string(i) + " has " + std::to_string(node.window) + " cycles of " +
                 std::to_string(node.cycle) + " fs, and its cable only " + std::to_string(node.delay) +
                 " fs: choose a window of at least one cycle and at most the cable");
        uint32_t other = switches ? tables.ranks[node.at] : tables.nodes[node.at].rank;
        if (other != node.rank) fail("node " + std::to_string(i) + " is not on the rank of the other end of its cable");
        if (node.rank != rank) continue;
        uint32_t id = 2 * (tables.link_count + i);
        net.nics[i] = std::make_unique<Nic>(i, node, std::make_unique<Link>(id, node.delay, node.byte));
        if (!switches) continue;
        Link* down = link(id + 1, node.delay, node.byte);
        down->to = net.nics[i].get();
        down->context = places[node.at]->GetId();
        own(node.at)->nodes.emplace_back(i, down);
        net.nics[i]->up().to = own(node.at);
        net.nics[i]->up().context = places[node.at]->GetId();
    }
    for (uint32_t i = 0; i < nodes; i++) {
        if (!net.nics[i]) continue;
        if (!switches) net.nics[i]->up().to = net.nics[tables.nodes[i].at].get();
        net.nics[i]->begin();
    }
    for (auto& one : net.switches)
        if (one) one->order();
}

/// Combines values of all ranks.
static void combine(uint64_t* values, uint32_t count, MPI_Op operation) {
    if (ranks == 1) return;
    std::vector<uint64_t> all(count);
    MPI_Allreduce(values, all.data(), int(count), MPI_UINT64_T, operation, MPI_COMM_WORLD);
    std::copy(all.begin(), all.end(), values);
}

} // namespace spindle

using namespace spindle;

void spindle_network_layout(uint64_t bytes[6]) {
    const uint64_t sizes[6] = {sizeof(SpindleFrame), sizeof(SpindleEndpoint), sizeof(SpindleLink),
                               sizeof(SpindleNode), sizeof(SpindleNetwork), sizeof(SpindleCounts)};
    std::copy(sizes, sizes + 6, bytes);
}

const char* spindle_network_error() { return error.c_str(); }

int32_t spindle_network_join(uint32_t* own, uint32_t* all) {
    return guard([&] {
        int there = 0;
        MPI_Initialized(&there);
        // Variables of Open MPI's launcher, and of Slurm's and others' by PMIx and PMI.
        auto launched = [](const char* name) { return std::getenv(name) != nullptr; };
        if (!there && (launched("OMPI_COMM_WORLD_SIZE") || launched("PMIX_RANK") || launched("PMI_RANK"))) {
            int provided = 0;
            if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) fail("MPI cannot be started");
            there = 1;
        }
        int r = 0, n = 1;
        if (there) {
            MPI_Comm_rank(MPI_COMM_WORLD, &r);
            MPI_Comm_size(MPI_COMM_WORLD, &n);
        }
        *own = rank = uint32_t(r);
        *all = ranks = uint32_t(n);
    });
}

int32_t spindle_network_create(const SpindleNetwork* tables) {
    return guard([&] { create(*tables); });
}

int32_t spindle_network_run(int64_t until) {
    return guard([&] {
        ns3::Simulator::Stop(ns3::FemtoSeconds(until - now()));
        ns3::Simulator::Run();
    });
}

int32_t spindle_network_counts(SpindleCounts* counts) {
    *counts = network->counts;
    return 0;
}

int64_t spindle_network_lookahead() { return network->lookahead; }

int32_t spindle_network_sum(uint64_t* values, uint32_t count) {
    return guard([&] { combine(values, count, MPI_SUM); });
}

int32_t spindle_network_max(uint64_t* values, uint32_t count) {
    return guard([&] { combine(values, count, MPI_MAX); });
}

void spindle_network_destroy() {
    // With several ranks ns-3 has receives under way until MPI ends.
    if (!distributed) ns3::Simulator::Destroy();
    network.reset();
}

void spindle_network_leave() {
    int there = 0, gone = 0;
    MPI_Initialized(&there);
    MPI_Finalized(&gone);
    if (there && !gone) MPI_Finalize();
}

void spindle_network_abort(int32_t status) {
    if (ranks > 1) MPI_Abort(MPI_COMM_WORLD, status);
}
