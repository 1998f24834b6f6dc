/// Functions of one element: errors in units of the condition |r| + sum |x df/dx|, not of |r|, so
/// that lgamma, logit, lerp... near their roots are right. Factors: OpenCL full profile.
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// cond_f; |r| alone where the worker could not differentiate.
double condition(const Evidence& e, std::size_t i) {
  return e.condition.empty() ? std::abs(e.reference.data[i]) : e.condition[i];
}

double magnitude(const Evidence& e, std::size_t i) {
  return e.magnitude.empty() ? 0 : e.magnitude[i];
}

/// What may be lost by flushing subnormal inputs, intermediates and results.
double flush(const Evidence& e, const Roundoff& at, std::size_t i) {
  return at.tiny * (1 + magnitude(e, i));
}

}  // namespace

bool is_correctly_rounded(const Evidence& e) {
  const std::string kind = word_attribute(e, "kind", "");
  if (kind != "exact" && (kind != "exact_real" || e.complex_operands)) return false;
  const auto alpha = e.scalars.find("alpha");
  return alpha == e.scalars.end() || alpha->second == std::vector<double>{1};
}

Bound elementwise_bound(const Evidence& e) {
  Bound bound;
  bound.tau.resize(e.reference.data.size());
  const Roundoff at = roundoff(e.dtype);
  if (is_correctly_rounded(e)) {
    // Mixed operands: f32 for halves; f64 beside f32.
    const double first = at.narrow ? at.u : 0x1p-53;
    if (e.rounds_twice)
      for (std::size_t i = 0; i < bound.tau.size(); ++i)
        bound.tau[i] = first * std::abs(e.reference.data[i]);
    return bound;
  }
  const double factor = at.w * number_attribute(e, "ulp", 4);
  for (std::size_t i = 0; i < bound.tau.size(); ++i)
    bound.tau[i] = factor * condition(e, i) + flush(e, at, i);
  return bound;
}

// A weak range reduction loses what the condition says, a good one only units of |r|.
Bound sin_cos_bound(const Evidence& e) {
  const Roundoff at = roundoff(e.dtype);
  const double factor = at.w * number_attribute(e, "ulp", 4);
  Bound bound;
  bound.tau.resize(e.reference.data.size());
  bound.tau_wider.resize(bound.tau.size());
  bound.note_wider = "weak range reduction";
  for (std::size_t i = 0; i < bound.tau.size(); ++i) {
    bound.tau[i] = factor * std::abs(e.reference.data[i]) + flush(e, at, i);
    bound.tau_wider[i] = at.w * 4 * condition(e, i) + flush(e, at, i);
  }
  return bound;
}

// gelu, tanhshrink, ndtr...: a difference of terms as large as |x| (or 1), which cancel.
Bound gelu_bound(const Evidence& e) {
  const std::string offset = word_attribute(e, "offset", "magnitude");
  if (offset != "magnitude" && offset != "one")
    throw Error(ExitCode::invalid_input,
                "oracle attribute 'offset': expected magnitude or one, "
                "found '" +
                    offset + "'; correct the rule of this operator");
  const Roundoff at = roundoff(e.dtype);
  const double factor = at.w * number_attribute(e, "ulp", 2);
  Bound bound;
  bound.tau.resize(e.reference.data.size());
  for (std::size_t i = 0; i < bound.tau.size(); ++i)
    bound.tau[i] = factor * (condition(e, i) + (offset == "one" ? 1 : magnitude(e, i)));
  return bound;
}

}  // namespace opreplay
