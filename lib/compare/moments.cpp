/// Variance, deviation and norms: roots and squares of a reduction, whose error they halve or keep.
#include "lib/compare/moments.h"

#include "lib/compare/models.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

const Array& data_of(const Evidence& e) {
  return need_input(e, {"self", "input", "x1", "v"}, "moments");
}

void need_groups(const Evidence& e, const Groups& groups) {
  if (groups.count == e.reference.data.size()) return;
  throw Error(ExitCode::invalid_input, "oracle model 'moments': expected an output of " +
                                           std::to_string(groups.count) + " elements, found " +
                                           std::to_string(e.reference.data.size()) +
                                           "; correct `reduce` in the rule of this operator");
}

/// What is subtracted from K: `correction`, or the older `unbiased`.
double correction(const Evidence& e) {
  if (const auto given = scalar(e, "correction")) return *given;
  return scalar(e, "unbiased").value_or(1);
}

/// var, std, and the mean that var_mean and std_mean give beside them. E[x^2] - mu^2 is outside.
std::vector<double> spread(const Evidence& e, const std::string& kind) {
  const Array& x = data_of(e);
  const Groups groups = groups_over(x.sizes, reduced_dims(e));
  need_groups(e, groups);
  const Roundoff at = roundoff(e.dtype);
  const double k = static_cast<double>(groups.length);
  const double rescaled = k / std::max(k - correction(e), 1.0);
  const auto group_of = [&groups](std::size_t i) { return groups.of[i]; };
  std::vector<double> tau;
  for (const Moments& m :
       moments(x, groups.count, groups.length, group_of, at, deviations(e.reference.data.size()))) {
    const double r = std::abs(e.reference.data[tau.size()]);
    if (e.output == 1) {
      tau.push_back(m.mean_error + at.u * std::abs(m.mean));
    } else if (kind == "var") {
      tau.push_back(m.variance_error * rescaled + 2 * at.u * r + at.tiny);
    } else {
      const double t = m.variance_error * rescaled + 2 * at.u * r * r;
      tau.push_back(std::min(r > 0 ? t / (2 * r) : t, std::sqrt(t)) + 2 * at.u * r + at.tiny);
    }
  }
  return tau;
}

/// The p of a norm; 2 where the call does not say.
double order(const Evidence& e) {
  for (const char* name : {"ord", "p"})
    if (const auto given = scalar(e, name)) return *given;
  return 2;
}

Bound norm(const Evidence& e) {
  const double p = order(e);
  if (std::isinf(p) || p == 0) return exact_bound(e);  // one of the elements, or how many
  Bound bound;
  bound.reduction = true;
  const Roundoff at = roundoff(e.dtype);
  const std::size_t n = e.reference.data.size();
  const double k = static_cast<double>(data_of(e).data.size()) /
                   static_cast<double>(std::max<std::size_t>(n, 1));
  const double walked = deviations(n) * walk(k);
  const double factor = p == 2 ? walked / 2 + 4 : (walked + 32) / std::abs(p) + 32;
  for (const double r : e.reference.data)
    bound.tau.push_back(at.u * std::abs(r) * factor + std::sqrt(k) * std::sqrt(at.tiny) * (r == 0));
  return bound;
}

/// v * (g / |v|): K elements per norm; the norms beside it are norms.
Bound weight_norm(const Evidence& e) {
  const Roundoff at = roundoff(e.dtype);
  const Array &v = data_of(e), &g = need_input(e, {"g"}, "moments");
  const double k = static_cast<double>(v.data.size()) /
                   static_cast<double>(std::max<std::size_t>(g.data.size(), 1));
  const double factor = at.u * (deviations(e.reference.data.size()) * walk(k) / 2 + 8);
  Bound bound;
  bound.reduction = true;
  for (const double r : e.reference.data) bound.tau.push_back(factor * std::abs(r) + at.tiny);
  return bound;
}

}  // namespace

Bound moments_bound(const Evidence& e) {
  const std::string kind = word_attribute(e, "kind", "");
  if (kind == "norm") return norm(e);
  if (kind == "weight_norm") return weight_norm(e);
  if (kind != "var" && kind != "std")
    throw Error(ExitCode::invalid_input,
                "oracle attribute 'kind': expected var, std, norm or weight_norm, found '" + kind +
                    "'; correct the rule of this operator");
  Bound bound;
  bound.reduction = true;
  bound.tau = spread(e, kind);
  return bound;
}

}  // namespace opreplay
