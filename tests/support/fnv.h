#pragma once
/// FNV-1a, 64 bits: the hash that the Python scripts in tests/data use as well.

#include <cstddef>
#include <cstdint>
#include <span>

namespace opreplay::test {

inline std::uint64_t fnv1a(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace opreplay::test
