// SPDX-License-Identifier: MIT OR Apache-2.0
// Loss and corruption.
#include "network.h"

namespace spindle {

/// The finaliser of SplitMix64.
static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

uint64_t Fault::hash(const Name& name, uint32_t place, uint32_t purpose) {
    uint64_t hash = mix(mix(network->settings.seed) ^ (uint64_t(purpose) << 32 | place));
    hash = mix(hash ^ (uint64_t(name.source) << 32 | name.destination));
    return mix(hash ^ name.number);
}

bool Fault::lost(const Frame& frame, uint32_t link) {
    return network->settings.loss > 0 && hash(frame.name(), link, 1) < network->settings.loss;
}

bool Fault::corrupted(Frame& frame, uint32_t link) {
    uint64_t share = network->settings.corruption;
    if (share == 0 || frame.bytes->empty() || hash(frame.name(), link, 2) >= share) return false;
    uint64_t draw = hash(frame.name(), link, 3);
    auto changed = std::make_shared<std::vector<uint8_t>>(*frame.bytes);
    (*changed)[(draw >> 8) % changed->size()] ^= uint8_t(1 + (draw & 0xFF) % 255);
    frame.bytes = std::move(changed);
    return true;
}

} // namespace spindle
