#pragma once
/// The random bits behind fill.h: random access into 64-bit streams, and the standard normal.
/// Every operation is exact or correctly rounded, so the bytes are the same everywhere.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace opreplay {

/// Independent streams of one tensor.
enum class Stream : std::uint64_t {
  elements,  ///< by logical index (complex: by component)
  gaps,      ///< by position in the storage
  shuffle,   ///< exchanges of a seeded order
  places,    ///< the column of one_per_row, by row
};

/// Writes the 64-bit words first, first+1, ... of a stream.
void random_words(std::uint64_t key, Stream stream, std::uint64_t first,
                  std::span<std::uint64_t> words);

/// floor(word * range / 2^64): a number in [0, range), uniform to within range/2^64 (Lemire 2019);
/// `word` itself when range is 0, which stands for 2^64.
std::uint64_t scale_word(std::uint64_t word, std::uint64_t range);

/// A seeded order of 0..count-1 (Durstenfeld's shuffle).
std::vector<std::uint64_t> shuffled(std::uint64_t key, std::uint64_t count);

/// The inverse of the normal distribution, tabulated: 31 octaves of the tail probability, 128
/// points each, linear in between. Never farther out than 6.23 (probability 2^-32 each side);
/// within 5e-6 of the true quantile inside.
class NormalTable {
 public:
  /// The one table; built on first use in well under a millisecond.
  static const NormalTable& instance();

  /// The standard normal number of a uniform word, a multiple of 2^-46.
  double operator()(std::uint64_t word) const;

 private:
  static constexpr int k_octaves = 31, k_points = 128, k_fraction_bits = 24;
  static constexpr double k_unit = 0x1p-46;

  NormalTable();
  std::vector<std::int64_t> quantiles_;  ///< in units of 2^-46, by growing tail probability
};

inline double NormalTable::operator()(std::uint64_t word) const {
  const bool negative = (word >> 63) != 0;
  // 63 bits of tail probability in units of 2^-64; the innermost octave has its top bit set.
  const std::uint64_t tail = std::max(word << 1, std::uint64_t{1} << 33);
  const int leading = std::countl_zero(tail);
  const std::uint64_t below = tail << leading << 1;  // what follows the leading one
  const auto index = static_cast<std::size_t>(k_octaves - 1 - leading) * k_points + (below >> 57);
  const auto fraction =
      static_cast<std::int64_t>((below >> (57 - k_fraction_bits)) & ((1 << k_fraction_bits) - 1));
  const std::int64_t from = quantiles_[index], step = quantiles_[index + 1] - from;
  const std::int64_t fixed = from + ((step * fraction) >> k_fraction_bits);
  return static_cast<double>(negative ? -fixed : fixed) * k_unit;
}

}  // namespace opreplay
