/// Sums of products or of elements in any order: mm, conv, dot, sum, mean, pools, index_add...
#include "lib/base/numeric.h"
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"

namespace opreplay {
namespace {

/// What one output is made of: `count` (K) terms.
struct Terms {
  double r, sum_abs, root_squares;  ///< |r|, S and q; of a mean divided by K as r is
  double count;
  double roundings;  ///< K, or K + 2 for a mean: the division or a rounded reciprocal
  double spread;     ///< standard deviation of the terms
  double total;      ///< sum of |terms| before any division
};

/// K of a mean: the window of a pooling, else how many inputs share an output.
double averaged(const Evidence& e) {
  const auto kernel = e.scalars.find("kernel_size");
  if (kernel != e.scalars.end()) {
    double product = 1;
    for (const double size : kernel->second) product *= size;
    return product;
  }
  const Array& input = need_input(e, {"self", "input"}, "accumulate");
  return static_cast<double>(input.data.size()) /
         static_cast<double>(std::max<std::size_t>(e.reference.data.size(), 1));
}

class TermsOf {
 public:
  explicit TermsOf(const Evidence& e)
      : e_(e), mean_(e.attributes.contains("mean")), averaged_(mean_ ? averaged(e) : 0) {}

  Terms at(std::size_t i) const {
    const double r = std::abs(e_.reference.data[i]), s = e_.sum_abs[i], q2 = e_.sum_squares[i];
    if (mean_) {
      const double k = averaged_;
      return {r, s, std::sqrt(q2 / k), k, k + 2, std::sqrt(std::max(0.0, q2 - r * r)), s * k};
    }
    const double k = e_.count[i], mean = r / k;
    return {r, s, std::sqrt(q2), k, k, std::sqrt(std::max(0.0, q2 / k - mean * mean)), s};
  }

 private:
  const Evidence& e_;
  bool mean_;
  double averaged_;
};

/// The bound of honest accumulation with unit roundoff `u`: random walk or worst case, whichever is
/// smaller; the worst case of repeated equal rounding errors where the data is biased.
class Accumulation {
 public:
  Accumulation(const Evidence& e, const Roundoff& at)
      : few_levels_(e.distinct_magnitudes > 0 && e.distinct_magnitudes <= 32),
        u_(at.u),
        denorm_(at.denorm),
        deviations_(deviations(e.reference.data.size())) {}

  /// Terms narrower than the spacing of the sum round the same way each time.
  bool biased(const Terms& t) const { return few_levels_ || t.spread < 4 * u_ * t.total; }

  double tau(const Terms& t, double u) const {
    const double random = deviations_ * walk(t.roundings) * u * (t.r + t.root_squares);
    double tau = std::min(random, (t.roundings + 2) * u * t.sum_abs);
    if (biased(t)) tau = std::max(tau, (t.roundings / 2 + 2) * u * t.sum_abs);
    return tau + t.count * denorm_;  // products may be subnormal
  }

  double tau(const Terms& t) const { return tau(t, u_); }

  /// Inputs rounded to a format of unit roundoff `u_in` before they are multiplied.
  double rounded_inputs(const Terms& t, double u_in) const {
    return 4 * u_in * t.r + deviations_ * (2 * u_in / std::sqrt(3.0)) * t.root_squares;
  }

 private:
  bool few_levels_;
  double u_, denorm_, deviations_;
};

/// |r - bias| by element, where the op has a bias (attribute `bias`: the dim of the result that it
/// runs along); empty for calls without one.
std::vector<double> before_bias(const Evidence& e) {
  const Array* bias = e.attributes.contains("bias") ? find_input(e, {"bias"}) : nullptr;
  if (bias == nullptr) return {};
  const auto dim = static_cast<std::int64_t>(number_attribute(e, "bias", -1));
  const Rows rows = rows_along(e.reference.sizes, dim);
  if (bias->data.size() != rows.length) return {};
  std::vector<double> out(e.reference.data.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::abs(e.reference.data[i] - bias->data[i / rows.inner % rows.length]);
  return out;
}

/// Composite ops on half precision may add the bias in a kernel of its own: the product is rounded
/// to T in between.
void allow_rounded_product(const Evidence& e, const Roundoff& at, Bound& bound) {
  const std::vector<double> product = before_bias(e);
  if (product.empty() || !at.narrow) return;
  bound.note_wider = "T-rounded intermediates";
  bound.tau_wider.resize(product.size());
  const double smallest = ulp(e.dtype, 0);
  for (std::size_t i = 0; i < product.size(); ++i)
    bound.tau_wider[i] = bound.tau[i] + at.u_t * (product[i] + bound.tau[i]) + 0.5 * smallest;
}

}  // namespace

Bound accumulate_bound(const Evidence& e) {
  const auto switched = e.attributes.find("adds_if");
  if (switched != e.attributes.end() && scalar(e, switched->second).value_or(0) == 0)
    return exact_bound(e);
  const std::size_t n = e.reference.data.size();
  const Roundoff at = roundoff(e.dtype);
  const TermsOf terms(e);
  const Accumulation sum(e, at);
  Bound bound;
  bound.reduction = true;
  bound.tau.resize(n);
  // A reference that errs as the target does is no measure of mean squares.
  bool unbiased = n >= 64 && e.dtype != DType::f64 && !e.same_precision;
  for (std::size_t i = 0; i < n; ++i) {
    const Terms t = terms.at(i);
    bound.tau[i] = sum.tau(t);
    unbiased = unbiased && !sum.biased(t);
  }
  if (unbiased) {
    bound.rms_limit = 2;
    bound.rms_scale.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Terms t = terms.at(i);
      bound.rms_scale[i] = at.u * walk(t.roundings) * (t.r + t.root_squares);
    }
  }

  allow_rounded_product(e, at, bound);

  const auto lower = [&](std::string format, auto tau) {
    bound.downgrades.push_back({std::move(format), std::vector<double>(n)});
    Bound::Downgrade& down = bound.downgrades.back();
    for (std::size_t i = 0; i < n; ++i) down.tau[i] = tau(terms.at(i));
  };
  constexpr double k_u_f32 = 0x1p-24, k_u_10_bits = 0x1p-11, k_u_bf16 = 0x1p-8;
  if (e.dtype == DType::f64)
    lower("f32 arithmetic",
          [&](const Terms& t) { return sum.tau(t, k_u_f32) + sum.rounded_inputs(t, k_u_f32); });
  if (at.narrow)
    lower("accumulation in " + std::string(name(e.dtype)),
          [&](const Terms& t) { return sum.tau(t, at.u_t); });
  // A format is lower only than a finer T.
  if (at.u_t < k_u_10_bits)
    lower("10-bit mantissa inputs",
          [&](const Terms& t) { return sum.tau(t) + sum.rounded_inputs(t, k_u_10_bits); });
  if (at.u_t < k_u_bf16)
    lower("bf16 inputs",
          [&](const Terms& t) { return sum.tau(t) + sum.rounded_inputs(t, k_u_bf16); });
  return bound;
}

}  // namespace opreplay
