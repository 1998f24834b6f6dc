#include "lib/base/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "lib/base/fill.h"
#include "lib/base/hash.h"

namespace opreplay {
namespace {

/// One Philox 4x32-10 block; constants from the paper's table 2.
inline PhiloxBlock philox_block(std::uint64_t key, std::uint64_t low, std::uint64_t high) {
  constexpr std::uint64_t k_multiplier0 = 0xD2511F53, k_multiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t k_weyl0 = 0x9E3779B9, k_weyl1 = 0xBB67AE85;
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  auto x0 = static_cast<std::uint32_t>(low), x1 = static_cast<std::uint32_t>(low >> 32);
  auto x2 = static_cast<std::uint32_t>(high), x3 = static_cast<std::uint32_t>(high >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = k_multiplier0 * x0, product1 = k_multiplier1 * x2;
    x0 = static_cast<std::uint32_t>(product1 >> 32) ^ x1 ^ key0;
    x1 = static_cast<std::uint32_t>(product1);
    x2 = static_cast<std::uint32_t>(product0 >> 32) ^ x3 ^ key1;
    x3 = static_cast<std::uint32_t>(product0);
    key0 += k_weyl0;
    key1 += k_weyl1;
  }
  return {{x0, x1, x2, x3}};
}

/// Standard normal quantile of the upper tail probability 2^-32 (mpmath, 40 digits:
/// 6.23026013798904302...).
constexpr double k_outermost = 6.230260137989043;

/// Mills' ratio (tail probability over density) by Laplace's continued fraction, which is exact to
/// the last bit at k_outermost with this depth.
double mills_ratio(double x) {
  double fraction = x;
  for (int i = 64; i >= 1; --i) fraction = x + i / fraction;
  return 1 / fraction;
}

}  // namespace

PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) {
  return philox_block(key, counter_low, counter_high);
}

std::uint64_t stream_key(std::uint64_t seed, std::string_view path) {
  return hash64(std::as_bytes(std::span(path.data(), path.size())), seed);
}

void random_words(std::uint64_t key, Stream stream, std::uint64_t first,
                  std::span<std::uint64_t> words) {
  const auto high = static_cast<std::uint64_t>(stream);
  const auto pair = [](const PhiloxBlock& block, int i) {
    return block.word[i] | std::uint64_t{block.word[i + 1]} << 32;
  };
  std::size_t at = 0;
  std::uint64_t counter = first / 2;
  if (first % 2 != 0 && !words.empty()) words[at++] = pair(philox_block(key, counter++, high), 2);
  for (; at + 2 <= words.size(); at += 2) {
    const PhiloxBlock block = philox_block(key, counter++, high);
    words[at] = pair(block, 0);
    words[at + 1] = pair(block, 2);
  }
  if (at < words.size()) words[at] = pair(philox_block(key, counter, high), 0);
}

std::uint64_t scale_word(std::uint64_t word, std::uint64_t range) {
  if (range == 0) return word;
  // The high half of the 128-bit product, by 32-bit halves.
  const std::uint64_t mask = 0xffffffff;
  const std::uint64_t low = (word & mask) * (range & mask);
  const std::uint64_t cross = (word >> 32) * (range & mask) + (low >> 32);
  const std::uint64_t other = (word & mask) * (range >> 32) + (cross & mask);
  return (word >> 32) * (range >> 32) + (cross >> 32) + (other >> 32);
}

std::vector<std::uint64_t> shuffled(std::uint64_t key, std::uint64_t count) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::vector<std::uint64_t> words(count);
  random_words(key, Stream::shuffle, 0, words);
  for (std::uint64_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[scale_word(words[i - 1], i)]);
  return order;
}

const NormalTable& NormalTable::instance() {
  static const NormalTable table;
  return table;
}

// With m the quantile of tail probability p and R = p/density(m) Mills' ratio:
//   dm/dp = -R/p,  dR/dp = R (1 - m R)/p.
// Integrated from the far tail inwards, where errors die out in proportion to 1/p, by the classical
// Runge-Kutta method. Only + - * / and explicit fma, all correctly rounded by IEEE 754, and no
// product that a compiler could fuse with a sum.
NormalTable::NormalTable() {
  struct State {
    double m, ratio;
  };
  const auto slope = [](double p, const State& s) {
    const double growth = s.ratio / p;
    return State{-growth, growth * std::fma(-s.m, s.ratio, 1.0)};
  };
  const auto moved = [](const State& s, double step, const State& by) {
    return State{std::fma(step, by.m, s.m), std::fma(step, by.ratio, s.ratio)};
  };

  quantiles_.reserve(k_octaves * k_points + 1);
  const auto keep = [&](double m) {
    quantiles_.push_back(static_cast<std::int64_t>(m / k_unit));  // exact scaling, then truncated
  };
  State s{k_outermost, mills_ratio(k_outermost)};
  keep(s.m);
  double octave = 0x1p-32;  // each octave is [octave, 2 octave]
  for (int k = 0; k < k_octaves; ++k, octave *= 2) {
    const double h = octave / k_points;
    for (int j = 0; j < k_points; ++j) {
      const double p = std::fma(h, j, octave);
      const State k1 = slope(p, s);
      const State k2 = slope(p + h / 2, moved(s, h / 2, k1));
      const State k3 = slope(p + h / 2, moved(s, h / 2, k2));
      const State k4 = slope(p + h, moved(s, h, k3));
      s = moved(s, h / 6, k1);
      s = moved(s, h / 3, k2);
      s = moved(s, h / 3, k3);
      s = moved(s, h / 6, k4);
      keep(s.m);
    }
  }
  quantiles_.back() = 0;  // the median
}

}  // namespace opreplay
