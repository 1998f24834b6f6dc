#pragma once
/// Turns recipes (opreplay/values.h) into bytes: the same on every machine, compiler and thread
/// count. Counter-based (Philox 4x32-10), integer-only up to the last conversion.
/// Philox: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opreplay/call.h"
#include "opreplay/values.h"

namespace opreplay {

/// Version of the recipes' bytes; recorded with each run. Changes when any golden byte changes.
inline constexpr int k_fill_version = 1;

/// Four 32-bit outputs for one counter value under a 64-bit key.
struct PhiloxBlock {
  std::uint32_t word[4];
};
PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high);

/// Key of one tensor's stream: from the case's seed and the tensor's path ("self", "tensors.1").
std::uint64_t stream_key(std::uint64_t seed, std::string_view path);

/// Writes the elements of `desc` into `storage` (at least storage_elements(desc) elements of
/// desc.dtype). Elements the tensor does not reach (gaps between strides, before the offset) get
/// other values of the same recipe, so that a target that ignores a stride or offset reads
/// plausible wrong data. The values depend on the logical index only, not on strides; where
/// elements share storage it holds the value of one of them, places last. Values are rounded to the
/// dtype (nearest even; integers saturate): uniform may reach `high` so; a distribution never gives
/// infinity, min and max hold after rounding too. Complex tensors are two components per element;
/// a constant or place is real. Requires recipe kind != file. Throws Error{invalid_input} when
/// literal data has the wrong length or a place lies outside the tensor.
void fill(const Values& recipe, const TensorDesc& desc, std::uint64_t key,
          std::span<std::byte> storage);

}  // namespace opreplay
