#pragma once
/// xxh3-64, the one hash of the project: case ids, input and output bytes, rule sets.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace opreplay {

std::uint64_t hash64(std::string_view text);
std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace opreplay
