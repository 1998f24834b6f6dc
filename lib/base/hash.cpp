#include "lib/base/hash.h"

// The header is third-party code: its conversions are not ours to mend.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

namespace opreplay {

std::uint64_t hash64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace opreplay
