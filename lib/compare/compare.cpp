#include "lib/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "lib/base/numeric.h"
#include "lib/compare/channels.h"

namespace opreplay {
namespace {

/// Whether two finite numbers among `data` differ.
bool varies(const std::vector<double>& data) {
  const auto finite = [](double x) { return std::isfinite(x); };
  const auto first = std::find_if(data.begin(), data.end(), finite);
  return std::any_of(first, data.end(), [&](double x) { return finite(x) && x != *first; });
}

bool any_finite(const std::vector<double>& data) {
  return std::any_of(data.begin(), data.end(), [](double x) { return std::isfinite(x); });
}

/// Whether `property` holds for something that stands for the inputs.
bool inputs_have(const Evidence& evidence,
                 const std::function<bool(const std::vector<double>&)>& property) {
  return property(evidence.magnitude) || property(evidence.sum_squares) ||
         std::any_of(evidence.inputs.begin(), evidence.inputs.end(),
                     [&](const auto& input) { return property(input.second.data); });
}

bool reference_says_nothing(const Evidence& evidence) {
  const std::vector<double>& reference = evidence.reference.data;
  if (reference.size() < 2) return false;
  if (!any_finite(reference)) return inputs_have(evidence, any_finite);
  const bool constant = std::adjacent_find(reference.begin(), reference.end(),
                                           std::not_equal_to<>()) == reference.end();
  return constant && inputs_have(evidence, varies);
}

bool bound_is_loose(const Evidence& evidence, const Bound& bound) {
  const std::vector<double>& reference = evidence.reference.data;
  double squares = 0;
  std::size_t finite = 0;
  for (const double r : reference) {
    if (!std::isfinite(r)) continue;
    squares += r * r;
    ++finite;
  }
  if (finite == 0) return false;
  const double rms = std::sqrt(squares / static_cast<double>(finite));
  // Below the smallest normal number relative precision means nothing.
  const FloatFormat format = float_format(component_type(evidence.dtype));
  const double floor = std::ldexp(1, format.min_exponent);
  // Eight roundings of T: what is right in bf16 is no tighter than that.
  const double share = std::max(0x1p-8, std::ldexp(8, -format.precision));
  std::size_t loose = 0;
  for (std::size_t i = 0; i < reference.size(); ++i)
    if (std::isfinite(reference[i]))
      loose += bound.tau[i] > share * (std::abs(reference[i]) + rms) + floor;
  return 2 * loose > finite;
}

}  // namespace

bool weak_evidence(const Evidence& evidence, const Bound& bound) {
  if (!is_floating(component_type(evidence.dtype)) || bound.postcondition || bound.metadata)
    return false;
  return reference_says_nothing(evidence) || (!bound.exact && bound_is_loose(evidence, bound));
}

OutputComparison compare(const Evidence& evidence, const Bound& bound, Result target,
                         Result witness, OutputComparison out) {
  if (bound.metadata) return out;
  if (bound.postcondition)
    postcondition_channel(evidence, bound, target, out);
  else if (bound.exact)
    exact_channel(evidence, target, witness, out);
  else
    value_channel(evidence, bound, target, witness, out);
  out.weak_evidence = weak_evidence(evidence, bound);
  return out;
}

}  // namespace opreplay
