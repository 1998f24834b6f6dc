#pragma once
/// How much a test does. tests/run.sh sets OPREPLAY_TIER: `ci` samples, `full` leaves nothing out.

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace opreplay::testing {

inline bool full_tier() {
  const char* tier = std::getenv("OPREPLAY_TIER");
  return tier && std::string_view(tier) == "full";
}

/// The seed of what a test samples: OPREPLAY_SEED, else always the same. Show it where a test
/// fails: INFO("OPREPLAY_SEED=" << sample_seed()).
inline std::uint64_t sample_seed() {
  const char* seed = std::getenv("OPREPLAY_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 2026;
}

}  // namespace opreplay::testing
