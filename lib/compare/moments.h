#pragma once
/// Mean and variance of sets of elements, and how far honest ones may be off: what norms and
/// variances have in common. docs/oracle.md section 3, row `moments`.

#include "lib/compare/model_support.h"

namespace opreplay {

/// Of one set; the variance is biased, `square` is the mean of squares.
struct Moments {
  double mean = 0, variance = 0, square = 0;
  double mean_error = 0, variance_error = 0;
};

/// Moments of `sets` sets of `length` elements; `set_of(i)` is the set of element i.
template <class SetOf>
std::vector<Moments> moments(const Array& x, std::size_t sets, std::size_t length, SetOf set_of,
                             const Roundoff& at, double l) {
  std::vector<Moments> out(sets);
  const double k = static_cast<double>(length), walked = l * walk(k);
  for (std::size_t i = 0; i < x.data.size(); ++i) out[set_of(i)].mean += x.data[i] / k;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    Moments& m = out[set_of(i)];
    const double centred = x.data[i] - m.mean;
    m.variance += centred * centred / k;
    m.square += x.data[i] * x.data[i] / k;
  }
  for (Moments& m : out) {
    m.mean_error = at.u * walked * (std::abs(m.mean) + std::sqrt(m.square / k));
    m.variance_error = at.u * (walked + 4) * m.variance + m.mean_error * m.mean_error +
                       2 * l * at.u * std::abs(m.mean) * std::sqrt(m.variance);
  }
  return out;
}

}  // namespace opreplay
