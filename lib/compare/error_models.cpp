#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/base/numeric.h"
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"

namespace opreplay {
namespace {

// A term without a value (0 * inf, a derivative at a pole) bounds nothing and adds nothing. No
// bound is infinite: it would make the spacing at |r| + tau meaningless. A reference that was
// computed in T, or in f64 for f64, errs as much as the target may and has been rounded once more;
// what is correctly rounded on both sides (tau 0) stays exact.
void finish(const Evidence& evidence, std::vector<double>& tau) {
  const DType dtype = component_type(evidence.dtype);
  const bool no_better = dtype == DType::f64 || evidence.same_precision;
  const std::vector<double>& reference = evidence.reference.data;
  for (std::size_t i = 0; i < tau.size(); ++i) {
    if (!std::isfinite(reference[i]) || std::isnan(tau[i])) tau[i] = 0;
    if (no_better && tau[i] != 0) tau[i] = 2 * tau[i] + ulp(dtype, reference[i]);
    tau[i] = std::min(tau[i], std::numeric_limits<double>::max() / 4);
  }
}

/// How much a lower format loses on this data: which of two formats is the lower one may depend on
/// K (accumulation in f16 against bf16 inputs).
double loss(const Bound::Downgrade& lower) {
  return std::accumulate(lower.tau.begin(), lower.tau.end(), 0.0);
}

/// What holds for every model, around its own formula.
template <Bound (*Formula)(const Evidence&)>
Bound checked(const Evidence& given) {
  if (!is_floating(component_type(given.dtype))) return exact_bound(given);
  Bound bound = Formula(given);
  finish(given, bound.tau);
  finish(given, bound.tau_wider);
  for (Bound::Downgrade& lower : bound.downgrades) finish(given, lower.tau);
  std::stable_sort(bound.downgrades.begin(), bound.downgrades.end(),
                   [](const auto& a, const auto& b) { return loss(a) < loss(b); });
  return bound;
}

constexpr Needs k_reference{};
constexpr Needs k_terms{.terms = true};
constexpr Needs k_condition{.condition = true};
constexpr Needs k_inputs{.inputs = true};
constexpr Needs k_staged{.staged = true};
constexpr Needs k_witness{.wide = false};
constexpr Needs k_witness_and_inputs{.inputs = true, .wide = false};
constexpr bool k_complex = true;

constexpr std::array k_models = {
    ErrorModel{"exact_copy", k_witness, exact_bound, k_complex},
    ErrorModel{"exact_int", k_witness, exact_bound, k_complex},
    ErrorModel{"elementwise", k_condition, checked<elementwise_bound>, k_complex},
    ErrorModel{"silu", k_condition, checked<elementwise_bound>, k_complex},
    ErrorModel{"sin_cos", k_condition, checked<sin_cos_bound>},
    ErrorModel{"gelu", k_condition, checked<gelu_bound>},
    ErrorModel{"accumulate", k_terms, checked<accumulate_bound>, k_complex},
    ErrorModel{"fft", k_inputs, checked<fft_bound>, k_complex},
    ErrorModel{"softmax", k_inputs, checked<softmax_bound>},
    ErrorModel{"log_softmax", k_inputs, checked<log_softmax_bound>},
    ErrorModel{"normalize", k_inputs, checked<normalize_bound>},
    ErrorModel{"batch_eval", k_inputs, checked<batch_eval_bound>},
    ErrorModel{"rms_norm", k_reference, checked<rms_norm_bound>},
    ErrorModel{"attention", k_inputs, checked<attention_bound>},
    ErrorModel{"generic", k_staged, checked<generic_bound>},
    ErrorModel{"logsumexp", k_inputs, checked<logsumexp_bound>},
    ErrorModel{"moments", k_inputs, checked<moments_bound>},
    ErrorModel{"product", k_inputs, checked<product_bound>},
    ErrorModel{"loss", k_inputs, checked<loss_bound>},
    ErrorModel{"interpolate", k_inputs, checked<interpolate_bound>},
    ErrorModel{"quantile", k_inputs, checked<quantile_bound>},
    ErrorModel{"scatter_reduce", k_inputs, checked<scatter_reduce_bound>},
    ErrorModel{"scatter", k_witness_and_inputs, scatter_bound},
    ErrorModel{"chosen", k_witness_and_inputs, chosen_bound},
    ErrorModel{"random", k_witness_and_inputs, random_bound},
    ErrorModel{"structure", k_witness, structure_bound, k_complex},
};

}  // namespace

Bound exact_bound(const Evidence&) {
  Bound bound;
  bound.exact = true;
  return bound;
}

Bound widened(Bound bound, double factor) {
  const auto widen = [factor](std::vector<double>& tau) {
    for (double& t : tau) t = std::min(factor * t, std::numeric_limits<double>::max() / 4);
  };
  widen(bound.tau);
  widen(bound.tau_wider);
  for (Bound::Downgrade& lower : bound.downgrades) widen(lower.tau);
  bound.rms_limit *= factor;
  return bound;
}

std::span<const ErrorModel> error_models() { return k_models; }

const ErrorModel* find_error_model(std::string_view name) {
  const auto found = std::find_if(k_models.begin(), k_models.end(),
                                  [name](const ErrorModel& model) { return model.name == name; });
  return found == k_models.end() ? nullptr : &*found;
}

}  // namespace opreplay
