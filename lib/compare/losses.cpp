/// Loss functions: the error of each element's loss, then of their sum or mean. Reduction none
/// shows each element; a mean hides what one of them does.
#include <algorithm>
#include <cmath>

#include "lib/compare/model_support.h"
#include "lib/compare/models.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// Losses one by one, how far honest ones may be off, and what a mean divides by.
struct Elements {
  std::vector<double> value, tau;
  double divisor = 0;

  void add(double v, double t) {
    value.push_back(v);
    tau.push_back(t);
  }
};

/// An element of an argument that may be shorter than the output (a weight per class); 1 if absent.
double cycled(const Array* array, std::size_t i) {
  return array && !array->data.empty() ? array->data[i % array->data.size()] : 1;
}

/// x log y with 0 log 0 = 0.
double times_log(double x, double y) { return x == 0 ? 0 : x * std::log(y); }

/// Losses of one prediction against one target; u: unit roundoff of the arithmetic.
class Pointwise {
 public:
  Pointwise(const Evidence& e, std::string kind)
      : kind_(std::move(kind)),
        u_(roundoff(e.dtype).u),
        weight_(find_input(e, {"weight"})),
        positive_(find_input(e, {"pos_weight"})),
        beta_(scalar(e, "beta").value_or(1)),
        delta_(scalar(e, "delta").value_or(1)),
        log_target_(scalar(e, "log_target").value_or(0) != 0) {}

  bool known() const {
    for (const char* kind : {"mse", "l1", "smooth_l1", "huber", "bce", "bce_logits", "kl_div"})
      if (kind_ == kind) return true;
    return false;
  }

  void add(std::size_t i, double x, double t, Elements& out) const {
    const double d = std::abs(x - t);
    if (kind_ == "mse") return out.add(d * d, 4 * u_ * d * d);
    if (kind_ == "l1") return out.add(d, u_ * d);
    if (kind_ == "smooth_l1") {
      const double v = d < beta_ ? d * d / (2 * beta_) : d - beta_ / 2;
      return out.add(v, 6 * u_ * v);
    }
    if (kind_ == "huber") {
      const double v = d <= delta_ ? d * d / 2 : delta_ * (d - delta_ / 2);
      return out.add(v, 6 * u_ * v);
    }
    const double w = std::abs(cycled(weight_, i));
    if (kind_ == "bce") {
      // Both logarithms stop at -100; 1 - x is rounded before its logarithm.
      const double yes = std::abs(t * std::max(std::log(x), -100.0));
      const double no = std::abs((1 - t) * std::max(std::log1p(-x), -100.0));
      return out.add(w * (yes + no), w * u_ * (8 * (yes + no) + 2 * std::abs(1 - t)));
    }
    if (kind_ == "bce_logits") {
      const double p = cycled(positive_, i), soft = std::log1p(std::exp(-std::abs(x)));
      const double v = (1 - t) * x + (1 + (p - 1) * t) * (soft + std::max(-x, 0.0));
      const double slope = 1 / (1 + std::exp(-x)) - t;
      const double condition = std::abs(v) + std::abs(x * slope) + std::abs(x * t);
      return out.add(
          w * v, 8 * u_ * w * std::max(p, 1.0) * (condition + std::abs(x) + std::abs(x * t) + 1));
    }
    if (log_target_)
      return out.add(std::exp(t) * (t - x),
                     u_ * (12 * std::exp(t) * d + 2 * std::exp(t) * std::abs(t) * d));
    const double own = times_log(t, t), cross = t * x;
    out.add(own - cross, u_ * (8 * std::abs(own) + 2 * std::abs(cross) + std::abs(own - cross)));
  }

 private:
  std::string kind_;
  double u_;
  const Array *weight_, *positive_;
  double beta_, delta_;
  bool log_target_;
};

Elements pointwise(const Evidence& e, const Pointwise& loss) {
  const Array &x = need_input(e, {"self", "input"}, "loss"), &t = need_input(e, {"target"}, "loss");
  Elements out;
  for (std::size_t i = 0; i < x.data.size(); ++i)
    loss.add(i, x.data[i], t.data[i % t.data.size()], out);
  out.divisor = static_cast<double>(x.data.size());
  return out;
}

/// The classes of one sample as log-probabilities, each with its error: logits through log_softmax,
/// or given as they are.
struct Classes {
  std::vector<double> value, tau;
};

Classes read_classes(const std::vector<double>& x, const Rows& rows, std::size_t row, bool logits,
                     double u, double sum_terms) {
  Classes out;
  const Exponentials of = logits ? exponentials(x, rows, row) : Exponentials{};
  for (std::size_t c = 0; c < rows.length; ++c) {
    const double given = x[rows.begin(row) + c * rows.inner];
    const double v = logits ? given - of.max - of.log_sum : given;
    out.value.push_back(v);
    out.tau.push_back(logits ? log_softmax_tau(of, u, sum_terms + 9, given, v) : 0);
  }
  return out;
}

/// nll_loss and cross_entropy_loss: targets are class numbers, or probabilities in a tensor of the
/// input's shape.
Elements by_class(const Evidence& e, bool logits) {
  const Array &x = need_input(e, {"self", "input"}, "loss"), &t = need_input(e, {"target"}, "loss");
  const Array* weight = find_input(e, {"weight"});
  const Rows rows = rows_along(x.sizes, x.sizes.size() < 2 ? 0 : 1);
  const double u = roundoff(e.dtype).u, classes = static_cast<double>(rows.length);
  const double sum_terms = deviations(rows.count()) * walk(classes);
  const double smoothing = scalar(e, "label_smoothing").value_or(0);
  const double ignored = scalar(e, "ignore_index").value_or(-100);
  const bool probabilities =
      t.data.size() == x.data.size() && t.sizes == x.sizes && is_floating(t.dtype);
  Elements out;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    if (!probabilities && t.data[row] == ignored) {
      out.add(0, 0);
      continue;
    }
    const Classes log_p = read_classes(x.data, rows, row, logits, u, sum_terms);
    double value = 0, tau = 0, sum = 0;
    for (std::size_t c = 0; c < rows.length; ++c) {
      const bool hit = !probabilities && static_cast<double>(c) == t.data[row];
      const double given =
          probabilities ? t.data[rows.begin(row) + c * rows.inner] : (hit ? 1.0 : 0.0);
      const double share = given * (1 - smoothing) + smoothing / classes;
      if (share == 0) continue;
      const double w = cycled(weight, c) * share;
      value -= w * log_p.value[c];
      tau += std::abs(w) * log_p.tau[c];
      sum += std::abs(w * log_p.value[c]);
      if (hit) out.divisor += cycled(weight, c);
    }
    if (probabilities) out.divisor += 1;
    const bool many = probabilities || smoothing > 0;
    out.add(value, tau + (3 + (many ? sum_terms : 0)) * u * sum);
  }
  return out;
}

}  // namespace

Bound loss_bound(const Evidence& e) {
  const std::string kind = word_attribute(e, "kind", "");
  const Roundoff at = roundoff(e.dtype);
  const Pointwise loss(e, kind);
  const bool classes = kind == "nll" || kind == "cross_entropy";
  if (!classes && !loss.known())
    throw Error(ExitCode::invalid_input,
                "oracle attribute 'kind': expected mse, l1, smooth_l1, huber, bce, bce_logits, "
                "kl_div, nll or cross_entropy, found '" +
                    kind + "'; correct the rule of this operator");
  Elements each = classes ? by_class(e, kind == "cross_entropy") : pointwise(e, loss);
  const auto n = static_cast<double>(each.value.size());
  Bound bound;
  bound.reduction = true;
  if (classes && e.output == 1) {  // nll_loss_forward: the sum of the weights
    for (const double r : e.reference.data) bound.tau.push_back((n + 2) * at.u * std::abs(r));
    return bound;
  }
  const double reduction = scalar(e, "reduction").value_or(1);
  if (reduction == 0) {
    for (double& tau : each.tau) tau += at.tiny;
    bound.tau = std::move(each.tau);
    return bound;
  }
  double total = 0, sum = 0, squares = 0, tau = 0;
  for (std::size_t i = 0; i < each.value.size(); ++i) {
    total += each.value[i];
    sum += std::abs(each.value[i]);
    squares += each.value[i] * each.value[i];
    tau += each.tau[i];
  }
  tau += sum_error(deviations(1), at.u, std::abs(total), sum, std::sqrt(squares), n);
  if (reduction == 1) tau = tau / each.divisor + 2 * at.u * std::abs(total) / each.divisor;
  bound.tau.assign(e.reference.data.size(), tau + at.tiny);
  return bound;
}

}  // namespace opreplay
