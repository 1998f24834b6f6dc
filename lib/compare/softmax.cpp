/// softmax, log_softmax and logsumexp: the exponentials carry the error of their argument, so the
/// distance to the row's maximum counts.
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"

namespace opreplay {
namespace {

/// The bound of an op along rows: `of_row(row, Rk + 9)` gives a function of one element's x and r.
template <class OfRow>
Bound bound_by_row(const Evidence& e, std::string_view model, OfRow of_row) {
  const Array& x = need_like_output(e, model);
  const Rows rows = rows_along(x.sizes, reduced_dim(e));
  const double sum_error =
      deviations(e.reference.data.size()) * walk(static_cast<double>(rows.length)) + 9;
  Bound bound;
  bound.reduction = true;
  bound.tau.resize(e.reference.data.size());
  for (std::size_t row = 0; row < rows.count(); ++row) {
    const auto tau = of_row(exponentials(x.data, rows, row), sum_error);
    for (std::size_t k = 0; k < rows.length; ++k) {
      const std::size_t i = rows.begin(row) + k * rows.inner;
      bound.tau[i] = tau(x.data[i], e.reference.data[i]);
    }
  }
  return bound;
}

}  // namespace

Bound softmax_bound(const Evidence& e) {
  const Roundoff at = roundoff(e.dtype);
  return bound_by_row(e, "softmax", [at](const Exponentials& row, double sum_error) {
    return [=](double x, double r) {
      const double relative = r > 0 ? at.u * r * ((row.max - x) + row.weighted + sum_error) : 0;
      return relative + at.tiny;
    };
  });
}

Bound log_softmax_bound(const Evidence& e) {
  const Roundoff at = roundoff(e.dtype);
  return bound_by_row(e, "log_softmax", [at](const Exponentials& row, double sum_error) {
    return [=](double x, double r) { return log_softmax_tau(row, at.u, sum_error, x, r); };
  });
}

Bound logsumexp_bound(const Evidence& e) {
  const Array& x = need_input(e, {"self", "input"}, "logsumexp");
  const Groups groups = groups_over(x.sizes, reduced_dims(e));
  std::vector<std::vector<double>> members(groups.count);
  for (std::size_t i = 0; i < x.data.size(); ++i) members[groups.of[i]].push_back(x.data[i]);
  const Roundoff at = roundoff(e.dtype);
  const double sum_error =
      deviations(e.reference.data.size()) * walk(static_cast<double>(groups.length)) + 9;
  Bound bound;
  bound.reduction = true;
  bound.tau.resize(e.reference.data.size());
  for (std::size_t i = 0; i < bound.tau.size() && i < members.size(); ++i) {
    const Exponentials row = exponentials(members[i], {.length = groups.length}, 0);
    bound.tau[i] = at.u * (std::abs(e.reference.data[i]) + std::abs(row.max) + 7 * row.log_sum +
                           row.weighted + sum_error);
  }
  return bound;
}

}  // namespace opreplay
