#pragma once
/// How the simulated device adds up: an honest device still has an order and an accumulator of its
/// own. Declared per fault file, narrowed per call by faults. Read next: summation.h.

#include <cstdint>

namespace opreplay::sim {

/// In which order the terms of a sum are added.
enum class Order : std::uint8_t {
  cpu,       ///< ascending, one accumulator
  reversed,  ///< descending, one accumulator
  pairwise,  ///< halves added recursively
  blocked,   ///< blocks of `parts` terms, then the block sums
  split_k,   ///< `parts` ranges, then the range sums
  fused,     ///< ascending; product and addition rounded once
  random,    ///< a permutation drawn from `seed`
};

enum class Accumulator : std::uint8_t {
  wide,  ///< f32, and f64 for f64
  f16,
  bf16,
};

struct Arithmetic {
  Order order = Order::cpu;
  std::int64_t parts = 1;
  Accumulator accumulate = Accumulator::wide;
  bool narrow_intermediates = false;  ///< results between two passes are rounded to the dtype
  bool flush_denormals = false;
  bool drop_term = false;  ///< the last term of every sum is lost
  std::uint64_t seed = 0;  ///< of Order::random
  bool operator==(const Arithmetic&) const = default;
};

}  // namespace opreplay::sim
