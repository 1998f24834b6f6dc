/// layer_norm, group_norm, instance_norm, batch_norm (training and not) and rms_norm: the error of
/// the moments enters through (x - mu) * rsqrt(v + eps). A variance as E[x^2] - mu^2 is outside.
#include <limits>
#include <numeric>
#include <optional>

#include "lib/compare/model_support.h"
#include "lib/compare/models.h"
#include "lib/compare/moments.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// Which moments an element belongs to and which weight it gets.
struct Geometry {
  std::size_t sets = 1;      ///< independent means and variances
  std::size_t length = 1;    ///< elements per set
  std::size_t channels = 1;  ///< of a batch or group norm
  std::size_t inner = 1;     ///< elements per channel and sample
  std::size_t weights = 1;   ///< elements of weight and bias
  enum class Kind { layer, group, batch } kind = Kind::layer;

  std::size_t set_of(std::size_t i) const {
    return kind == Kind::batch ? i / inner % channels : i / length;
  }
  std::size_t weight_of(std::size_t i) const {
    return kind == Kind::layer ? i % weights : i / inner % channels;
  }
};

std::size_t size_at(const Array& x, std::size_t dim) {
  return dim < x.sizes.size() ? static_cast<std::size_t>(x.sizes[dim]) : 1;
}

std::size_t product(const std::vector<double>& sizes) {
  return static_cast<std::size_t>(
      std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>()));
}

/// Elements of `normalized_shape`, the trailing dims a layer or rms norm runs over.
std::size_t normalized(const Evidence& e, const Array* weight, std::string_view model) {
  const auto shape = e.scalars.find("normalized_shape");
  if (shape != e.scalars.end()) return product(shape->second);
  if (weight) return weight->data.size();
  throw Error(ExitCode::invalid_input, "oracle model '" + std::string(model) +
                                           "': expected an argument 'normalized_shape', found "
                                           "none; correct the rule of this operator");
}

Geometry geometry(const Evidence& e, const Array& x, const Array* weight) {
  const std::string kind = word_attribute(e, "kind", "layer");
  Geometry g;
  const std::size_t numel = x.data.size();
  if (kind == "layer") {
    g.length = g.weights = normalized(e, weight, "normalize");
    g.sets = g.length == 0 ? 0 : numel / g.length;
    return g;
  }
  g.channels = g.weights = size_at(x, 1);
  const std::size_t samples = size_at(x, 0);
  g.inner = numel == 0 ? 1 : numel / (samples * g.channels);
  if (kind == "batch_train") {
    g.kind = Geometry::Kind::batch;
    g.sets = g.channels;
    g.length = samples * g.inner;
    return g;
  }
  std::optional<double> groups = scalar(e, "num_groups");
  if (!groups) groups = scalar(e, "group");
  if (kind == "instance") groups = static_cast<double>(g.channels);
  if (kind != "group" && kind != "instance")
    throw Error(ExitCode::invalid_input,
                "oracle attribute 'kind': expected layer, group, instance or batch_train, found '" +
                    kind + "'; correct the rule of this operator");
  g.kind = Geometry::Kind::group;
  g.sets = samples * static_cast<std::size_t>(groups.value_or(1));
  g.length = g.sets == 0 ? 1 : numel / g.sets;
  return g;
}

double element(const Array* array, std::size_t i, double otherwise) {
  return array && !array->data.empty() ? array->data[i % array->data.size()] : otherwise;
}

/// A further output (mean, reciprocal deviation, updated statistics): which of the values it can be
/// is told by the reference itself, which is exact to far more digits than they are apart.
struct Candidate {
  std::vector<double> value, tau;
};

Candidate nearest(const std::vector<Candidate>& candidates, const std::vector<double>& reference) {
  const Candidate* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    double distance = 0;
    for (std::size_t i = 0; i < reference.size(); ++i)
      if (std::isfinite(reference[i])) distance += std::abs(candidate.value[i] - reference[i]);
    if (best && !(distance < least)) continue;
    best = &candidate;
    least = distance;
  }
  return *best;
}

Candidate statistics(const Evidence& e, const Geometry& g, const Roundoff& at,
                     const std::vector<Moments>& sets, double eps) {
  const Array* old_mean = find_input(e, {"running_mean"});
  const Array* old_variance = find_input(e, {"running_var"});
  const double momentum = scalar(e, "momentum").value_or(0.1);
  const double k = static_cast<double>(g.length), unbiased = k > 1 ? k / (k - 1) : 1;
  Candidate mean, deviation, running_mean, running_variance;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const Moments& m = sets[s];
    const double rs = 1 / std::sqrt(m.variance + eps),
                 relative = m.variance_error / (m.variance + eps);
    mean.value.push_back(m.mean);
    mean.tau.push_back(m.mean_error + at.u * std::abs(m.mean));
    deviation.value.push_back(rs);
    deviation.tau.push_back(rs * (relative / 2 + relative * relative + 4 * at.u));
    const auto blend = [&](Candidate& to, double before, double now, double error) {
      const double kept = (1 - momentum) * before, added = momentum * now;
      to.value.push_back(kept + added);
      to.tau.push_back(momentum * error + 3 * at.u * (std::abs(kept) + std::abs(added)));
    };
    blend(running_mean, element(old_mean, s, 0), m.mean, m.mean_error);
    blend(running_variance, element(old_variance, s, 0), m.variance * unbiased,
          m.variance_error * unbiased);
  }
  return nearest({mean, deviation, running_mean, running_variance}, e.reference.data);
}

Bound batch_eval(const Evidence& e, const Array& x, double eps) {
  const Roundoff at = roundoff(e.dtype);
  const Array& mean = need_input(e, {"running_mean", "mean"}, "batch_eval");
  const Array& variance = need_input(e, {"running_var", "var"}, "batch_eval");
  const Array *weight = find_input(e, {"weight"}), *bias = find_input(e, {"bias"});
  const std::size_t channels = std::max<std::size_t>(size_at(x, 1), 1);
  const std::size_t inner = x.data.size() / std::max<std::size_t>(size_at(x, 0) * channels, 1);
  Bound bound;
  bound.tau.assign(e.reference.data.size(), 0);
  // Statistics that are outputs as well are handed through unchanged.
  if (e.reference.data.size() != x.data.size()) return bound;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const std::size_t c = i / inner % channels;
    const double a = std::abs(element(weight, c, 1)) / std::sqrt(variance.data[c] + eps);
    bound.tau[i] = at.u * (4 * a * (std::abs(x.data[i]) + std::abs(mean.data[c])) +
                           2 * std::abs(element(bias, c, 0)) + std::abs(e.reference.data[i]));
  }
  return bound;
}

}  // namespace

Bound normalize_bound(const Evidence& e) {
  const Array& x = need_input(e, {"input", "self"}, "normalize");
  const double eps = scalar(e, "eps").value_or(1e-5);
  // One rule serves both modes of batch and instance norm: the call says which it is.
  if (scalar(e, "training").value_or(1) == 0 || scalar(e, "use_input_stats").value_or(1) == 0)
    return batch_eval(e, x, eps);

  const Array *weight = find_input(e, {"weight"}), *bias = find_input(e, {"bias"});
  const Roundoff at = roundoff(e.dtype);
  const Geometry g = geometry(e, x, weight);
  const double l = deviations(e.reference.data.size());
  const std::vector<Moments> sets = moments(
      x, g.sets, g.length, [&g](std::size_t i) { return g.set_of(i); }, at, l);
  Bound bound;
  bound.reduction = true;
  if (e.reference.data.size() == sets.size() && x.data.size() != sets.size()) {
    const Candidate which = statistics(e, g, at, sets, eps);
    bound.tau = which.tau;
    // Welford's mean over an infinity is NaN, that of a sum is infinite.
    bound.other_class = which.value;
    return bound;
  }
  need_like_output(e, "normalize");
  bound.tau.resize(x.data.size());
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const Moments& m = sets[g.set_of(i)];
    const double rs = 1 / std::sqrt(m.variance + eps), z = (x.data[i] - m.mean) * rs;
    const double relative = m.variance_error / (m.variance + eps);
    const double core = rs * (m.mean_error + 2 * at.u * (std::abs(x.data[i]) + std::abs(m.mean))) +
                        std::abs(z) * (relative / 2 + relative * relative + 4 * at.u);
    const std::size_t c = g.weight_of(i);
    bound.tau[i] = std::abs(element(weight, c, 1)) * core +
                   at.u * (std::abs(e.reference.data[i]) + std::abs(element(bias, c, 0)));
  }
  return bound;
}

Bound batch_eval_bound(const Evidence& e) {
  return batch_eval(e, need_input(e, {"input", "self"}, "batch_eval"),
                    scalar(e, "eps").value_or(1e-5));
}

Bound rms_norm_bound(const Evidence& e) {
  const Roundoff at = roundoff(e.dtype);
  const double k = static_cast<double>(normalized(e, nullptr, "rms_norm"));
  const double factor = at.u * (deviations(e.reference.data.size()) * walk(k) / 2 + 6);
  Bound bound;
  bound.reduction = true;
  for (const double r : e.reference.data) bound.tau.push_back(factor * std::abs(r));
  return bound;
}

}  // namespace opreplay
