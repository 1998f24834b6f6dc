/// Fourier transforms: each component is a sum of as many terms as the transform has points. A fast
/// transform errs less than the sum written out, which some devices use.
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"

namespace opreplay {
namespace {

/// Dims that are transformed: `dim`, else the last ones that `s` has sizes for, else all.
std::vector<double> transformed(const Evidence& e) {
  std::vector<double> dims = reduced_dims(e);
  const auto sizes = e.scalars.find("s");
  if (!dims.empty() || sizes == e.scalars.end()) return dims;
  for (std::size_t d = 0; d < sizes->second.size(); ++d)
    dims.push_back(-1 - static_cast<double>(d));
  return dims;
}

std::vector<std::int64_t> logical_sizes(const Array& array, bool complex) {
  std::vector<std::int64_t> sizes = array.sizes;
  if (complex) sizes.pop_back();
  return sizes;
}

/// Half a spectrum: always, or where the argument that the rule's attribute names says so.
bool onesided(const Evidence& e) {
  const std::string word = word_attribute(e, "onesided", "false");
  return word == "true" || scalar(e, word).value_or(0) != 0;
}

}  // namespace

// The squares of a spectrum sum to K times those of the signal (Parseval), whatever the scale that
// `norm` asks for: their mean over the outputs is the sum of squares of the terms of each.
Bound fft_bound(const Evidence& e) {
  const Array& x = need_input(e, {"self", "input"}, "fft");
  const std::vector<double> dims = transformed(e);
  const auto sizes = logical_sizes(e.reference, e.complex_result);
  const Groups outputs = groups_over(sizes, dims);
  const Groups inputs = groups_over(logical_sizes(x, e.complex_operands), dims);
  double present = static_cast<double>(outputs.length);
  if (onesided(e) && !sizes.empty()) {
    // Half a spectrum has the energy of the whole, but for its ends.
    const auto last = dims.empty() ? -1 : static_cast<std::int64_t>(dims.back());
    const auto at = last < 0 ? last + static_cast<std::int64_t>(sizes.size()) : last;
    const auto half = static_cast<double>(sizes[static_cast<std::size_t>(at)]);
    if (half > 1) present *= (half - 1) / half;
  }

  Evidence terms = e;
  const std::size_t width = e.complex_result ? 2 : 1, n = e.reference.data.size();
  std::vector<double> squares(outputs.count, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const double r = e.reference.data[i];
    squares[outputs.of[i / width]] += r * r / present;
  }
  // Each complex term has two products.
  const double count = 2 * static_cast<double>(std::max(outputs.length, inputs.length));
  terms.count.assign(n, count);
  terms.sum_squares.resize(n);
  terms.sum_abs.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    terms.sum_squares[i] = squares[outputs.of[i / width]];
    terms.sum_abs[i] = std::sqrt(count * terms.sum_squares[i]);
  }
  Bound bound = accumulate_bound(terms);
  // Its errors would cover a gain of a percent; no device is known that transforms in bf16.
  std::erase_if(bound.downgrades,
                [](const Bound::Downgrade& lower) { return lower.format == "bf16 inputs"; });
  return bound;
}

}  // namespace opreplay
