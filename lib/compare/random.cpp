/// Random operators: many results are right. Each has a law (values that may occur, mean, standard
/// deviation), which the result must follow; masks must fit the data. docs/oracle.md section 5.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "lib/base/numeric.h"
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

/// An independent draw: what it may be, and its moments (no deviation = none are known).
struct Law {
  double low = -k_inf, high = k_inf;  ///< both included
  bool whole = false;                 ///< whole numbers only
  double mean = 0;
  std::optional<double> deviation;
  double fourth = 3;  ///< kurtosis: E[(x-mean)^4] / deviation^4
  double step = 0;    ///< how far one rare draw may move the sum (tails heavier than normal)
};

/// Deviations of means in units of their standard error, and the share of rare large draws in them:
/// Bernstein's inequality then leaves less than 1e-7 to chance whatever the number of draws.
constexpr double k_sigmas = 6, k_rare = 18;

/// Sample mean and variance of draws that have `law(i)` each.
template <class LawOf>
void check_moments(std::span<const double> y, LawOf law, Finding& finding) {
  double sum = 0, expected = 0, variance = 0, step = 0, squares = 0, spread = 0;
  std::size_t draws = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Law l = law(i);
    if (!l.deviation || !std::isfinite(y[i])) continue;
    ++draws;
    const double d = *l.deviation, centred = y[i] - l.mean;
    sum += y[i];
    expected += l.mean;
    variance += d * d;
    step = std::max(step, l.step);
    if (d > 0) squares += centred * centred / (d * d) - 1;
    if (d > 0) spread += l.fourth - 1;
  }
  if (draws == 0) return;
  const double n = static_cast<double>(draws);
  const double allowed = k_sigmas * std::sqrt(variance) + k_rare * step;
  if (std::abs(sum - expected) > allowed) {
    finding.whole = true;
    finding.notes.push_back("mean " + number(sum / n) + " of " + std::to_string(draws) +
                            " draws, expected " + number(expected / n) + " within " +
                            number(allowed / n));
  }
  // Squares have heavy tails: only many draws say something of them.
  constexpr double k_enough = 1024;
  if (n >= k_enough && std::abs(squares) > k_sigmas * std::sqrt(spread) + k_rare) {
    finding.whole = true;
    finding.notes.push_back("variance is " + number(1 + squares / n) + " times the expected one");
  }
}

double nearest_legal(const Law& l, double y) {
  const double inside =
      std::isnan(y) ? std::max(l.low, std::min(l.high, l.mean)) : std::clamp(y, l.low, l.high);
  return l.whole ? std::clamp(std::nearbyint(inside), l.low, l.high) : inside;
}

bool legal(const Law& l, double y) {
  return std::isfinite(y) && y >= l.low && y <= l.high && (!l.whole || y == std::nearbyint(y));
}

template <class LawOf>
Finding follow(std::span<const double> y, LawOf law) {
  Finding finding;
  for (std::size_t i = 0; i < y.size(); ++i)
    if (!legal(law(i), y[i])) finding.wrong.push_back({i, nearest_legal(law(i), y[i])});
  if (finding.wrong.empty())
    check_moments(y, law, finding);
  else
    finding.notes.push_back("values outside the support");
  return finding;
}

Law uniform(double low, double high) {
  return {.low = std::min(low, high),
          .high = std::max(low, high),
          .mean = (low + high) / 2,
          .deviation = std::abs(high - low) / std::sqrt(12.0),
          .fourth = 1.8};
}

Law whole_numbers(double low, double end) {
  const double count = std::max(end - low, 1.0);
  return {.low = low,
          .high = low + count - 1,
          .whole = true,
          .mean = low + (count - 1) / 2,
          .deviation = std::sqrt((count * count - 1) / 12),
          .fourth = 1.8};
}

Law coin(double p) {
  const double v = p * (1 - p);
  return {.low = p == 1 ? 1.0 : 0.0,
          .high = p == 0 ? 0.0 : 1.0,
          .whole = true,
          .mean = p,
          .deviation = std::sqrt(v),
          .fourth = v > 0 ? (1 - 3 * v) / v : 1,
          .step = 1};
}

double argument(const Evidence& e, std::initializer_list<const char*> names, double otherwise) {
  for (const char* name : names)
    if (const auto value = scalar(e, name)) return *value;
  return otherwise;
}

/// An element of a tensor argument that broadcasts to the output as a whole or not at all.
double input_or(const Array* array, std::size_t i, std::size_t outputs, double otherwise) {
  if (!array || array->data.empty()) return otherwise;
  return array->data.size() == outputs ? array->data[i]
                                       : (array->data.size() == 1 ? array->data[0] : otherwise);
}

/// The law of each draw, by the rule's attribute `law`; null if it is none of independent draws.
std::function<Law(std::size_t)> law_of(const Evidence& e, const std::string& name) {
  const std::size_t n = e.reference.data.size();
  const auto every = [](Law law) { return [law](std::size_t) { return law; }; };
  if (name == "uniform") return every(uniform(argument(e, {"from"}, 0), argument(e, {"to"}, 1)));
  if (name == "normal") {
    const Array *mean = find_input(e, {"mean"}), *deviation = find_input(e, {"std"});
    const double m = argument(e, {"mean"}, 0), s = argument(e, {"std"}, 1);
    return [=](std::size_t i) {
      return Law{.mean = input_or(mean, i, n, m), .deviation = input_or(deviation, i, n, s)};
    };
  }
  if (name == "whole") {
    // Without bounds an integer of the dtype: only its sign is known.
    if (!scalar(e, "high") && !scalar(e, "to")) return every({.low = 0, .whole = true});
    return every(whole_numbers(argument(e, {"low", "from"}, 0), argument(e, {"high", "to"}, 1)));
  }
  if (name == "bernoulli") {
    const Array* p = find_input(e, {"p"});
    if (!p && !scalar(e, "p")) p = find_input(e, {"self"});
    const double all = argument(e, {"p"}, 0.5);
    return [=](std::size_t i) { return coin(input_or(p, i, n, all)); };
  }
  if (name == "exponential") {
    const double scale = 1 / argument(e, {"lambd"}, 1);
    return every({.low = 0, .mean = scale, .deviation = scale, .fourth = 9, .step = scale});
  }
  if (name == "geometric") {
    const double p = argument(e, {"p"}, 0.5);
    return every({.low = 1,
                  .whole = true,
                  .mean = 1 / p,
                  .deviation = std::sqrt(1 - p) / p,
                  .fourth = 9 + p * p / std::max(1 - p, 1e-9),
                  .step = 1 / p});
  }
  if (name == "any") return every({});
  return nullptr;
}

/// Whether y is v as an op of so many roundings gives it.
bool close(DType dtype, double y, double v, double magnitude, double roundings) {
  return std::abs(y - v) <=
         roundings * std::ldexp(1, -float_format(dtype).precision) * magnitude + ulp(dtype, 0);
}

/// `count` of `draws` had something that each has with probability p.
void check_share(const std::string& of_what, double count, double draws, double p,
                 Finding& finding) {
  const double allowed = k_sigmas * std::sqrt(draws * p * (1 - p)) + k_rare * (p > 0 && p < 1);
  if (std::abs(count - draws * p) <= allowed) return;
  finding.whole = true;
  finding.notes.push_back("share of " + of_what + " " + number(count / draws) + ", expected " +
                          number(p) + " within " + number(allowed / draws));
}

/// Dropout: each element is 0 or as the kept ones become; how many are dropped follows p. A channel
/// or an element at a time, `share` elements together.
Finding dropped(std::span<const double> y, const Evidence& e, const Array& x, double p) {
  const double kept = p < 1 ? 1 / (1 - p) : 0;
  Finding finding;
  double seen = 0, zeros = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double scaled = x.data[i] * kept;
    const bool keeps = std::isnan(scaled)   ? std::isnan(y[i])
                       : std::isinf(scaled) ? y[i] == scaled
                                            : close(e.dtype, y[i], scaled, std::abs(scaled), 4);
    const bool drops = y[i] == 0 && p > 0;
    if (!(p < 1 && keeps) && !drops) finding.wrong.push_back({i, p < 1 ? scaled : 0});
    if (x.data[i] == 0) continue;  // either way 0: says nothing
    ++seen;
    zeros += drops;
  }
  if (!finding.wrong.empty()) finding.notes.push_back("values that are neither 0 nor scaled");
  check_share("zeros", zeros, seen, p, finding);
  return finding;
}

/// alpha_dropout: a x + b, or a * alpha' + b in place of x; a and b keep mean 0 and variance 1.
/// Klambauer et al., "Self-Normalizing Neural Networks", 2017, section 2 (new dropout technique).
Finding alpha_dropped(std::span<const double> y, const Evidence& e, const Array& x, double p) {
  constexpr double k_alpha = -1.7580993408473766;  // -scale * alpha of selu
  Finding finding;
  if (p >= 1) {
    for (std::size_t i = 0; i < y.size(); ++i)
      if (y[i] != 0) finding.wrong.push_back({i, 0});
    return finding;
  }
  const double a = 1 / std::sqrt((k_alpha * k_alpha * p + 1) * (1 - p)), b = -a * p * k_alpha;
  double drops = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double kept = a * x.data[i] + b, gone = a * k_alpha + b;
    const bool keeps = close(e.dtype, y[i], kept, std::abs(a * x.data[i]) + std::abs(b), 8);
    const bool lost = close(e.dtype, y[i], gone, std::abs(a * k_alpha) + std::abs(b), 8);
    if (!keeps && !(lost && p > 0)) finding.wrong.push_back({i, kept});
    drops += lost && !keeps;
  }
  check_share("dropped elements", drops, static_cast<double>(y.size()), p, finding);
  return finding;
}

/// rrelu: x, or x times a slope between `lower` and `upper` where x is not positive.
Finding leaked(std::span<const double> y, const Evidence& e, const Array& x) {
  const double lower = argument(e, {"lower"}, 1.0 / 8), upper = argument(e, {"upper"}, 1.0 / 3);
  const double slack = 4 * std::ldexp(1, -float_format(e.dtype).precision);
  Finding finding;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double v = x.data[i];
    if (v > 0 || v == 0) {
      if (y[i] != v) finding.wrong.push_back({i, v});
      continue;
    }
    const double slope = y[i] / v;
    if (!(slope >= lower * (1 - slack) && slope <= upper * (1 + slack))) {
      finding.wrong.push_back({i, v * std::clamp(slope, lower, upper)});
      continue;
    }
    slopes.push_back(slope);
  }
  if (!finding.wrong.empty()) finding.notes.push_back("slopes outside lower and upper");
  const Law law = uniform(lower, upper);
  check_moments(
      slopes, [&](std::size_t) { return law; }, finding);
  return finding;
}

/// randperm: each of 0..n-1 once.
Finding permuted(std::span<const double> y) {
  std::vector<bool> seen(y.size(), false);
  Finding finding;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool inside =
        y[i] >= 0 && y[i] < static_cast<double>(y.size()) && y[i] == std::nearbyint(y[i]);
    const auto at = inside ? static_cast<std::size_t>(y[i]) : 0;
    if (!inside || seen[at]) finding.wrong.push_back({i, static_cast<double>(i)});
    if (inside) seen[at] = true;
  }
  if (!finding.wrong.empty()) finding.notes.push_back("not a permutation");
  // 1,024 numbers are in order by chance never.
  if (y.size() >= 1024 && std::is_sorted(y.begin(), y.end())) {
    finding.whole = true;
    finding.notes.push_back("numbers in order");
  }
  return finding;
}

/// multinomial: categories of positive weight; without replacement each at most once in a row.
Finding drawn(std::span<const double> y, const Evidence& e, const Array& weights) {
  const auto categories =
      weights.sizes.empty() ? 1 : static_cast<std::size_t>(weights.sizes.back());
  const auto samples =
      e.reference.sizes.empty() ? 1 : static_cast<std::size_t>(e.reference.sizes.back());
  const bool replaces = scalar(e, "replacement").value_or(0) != 0;
  Finding finding;
  std::set<double> row;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i % samples == 0) row.clear();
    const double* weight = weights.data.data() + i / samples * categories;
    const bool inside = y[i] >= 0 && y[i] < static_cast<double>(categories) &&
                        weight[static_cast<std::size_t>(y[i])] > 0;
    const bool again = !row.insert(y[i]).second && !replaces;
    if (!inside || again) finding.wrong.push_back({i, e.reference.data[i]});
  }
  if (!finding.wrong.empty())
    finding.notes.push_back("categories outside, without weight, or drawn again");
  return finding;
}

/// The mode in which the op draws nothing: its result is the input.
bool idle(const Evidence& e) { return argument(e, {"train", "training"}, 1) == 0; }

Bound by(std::function<Finding(std::span<const double>)> postcondition) {
  Bound bound;
  bound.postcondition = std::move(postcondition);
  return bound;
}

}  // namespace

Bound random_bound(const Evidence& e) {
  const std::string name = word_attribute(e, "law", "");
  if (auto law = law_of(e, name))
    return by([law = std::move(law)](std::span<const double> y) { return follow(y, law); });
  if (name == "permutation") return by(permuted);
  if (name == "multinomial") {
    const Array& weights = need_input(e, {"self"}, "random");
    return by([&e, &weights](std::span<const double> y) { return drawn(y, e, weights); });
  }
  if (name != "dropout" && name != "alpha_dropout" && name != "rrelu")
    throw Error(
        ExitCode::invalid_input,
        "oracle attribute 'law': expected uniform, normal, whole, bernoulli, exponential, "
        "geometric, any, permutation, multinomial, dropout, alpha_dropout or rrelu, found '" +
            name + "'; correct the rule of this operator");
  // rrelu has a slope of its own then; the others hand their input through.
  if (idle(e)) return exact_bound(e);
  const double p = argument(e, {"p"}, 0.5);
  if (name == "dropout" && e.output == 1)  // the mask of what is kept
    return by([p](std::span<const double> y) {
      return follow(y, [p](std::size_t) { return coin(1 - p); });
    });
  const Array& x = need_like_output(e, "random");
  if (name == "dropout")
    return by([&e, &x, p](std::span<const double> y) { return dropped(y, e, x, p); });
  if (name == "alpha_dropout")
    return by([&e, &x, p](std::span<const double> y) { return alpha_dropped(y, e, x, p); });
  return by([&e, &x](std::span<const double> y) { return leaked(y, e, x); });
}

Bound structure_bound(const Evidence&) {
  Bound bound;
  bound.metadata = true;
  return bound;
}

}  // namespace opreplay
