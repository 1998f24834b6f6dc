#pragma once
/// The random bits behind fill.h: random access into 64-bit streams, and the standard normal.
/// Every operation is exact or correctly rounded, so the bytes are the same everywhere.

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
  NormalTable();
  std::vector<std::int64_t> quantiles_;  ///< in units of 2^-46, by growing tail probability
};

}  // namespace opreplay
