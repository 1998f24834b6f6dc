/// softmax, log_softmax and logsumexp: the exponentials carry the error of their argument, so the
/// distance to the row's maximum counts.
#include <algorithm>
#include <limits>

#include "lib/compare/model_support.h"
#include "lib/compare/models.h"

namespace opreplay {
namespace {

/// One row: x, its maximum and what the formulas need of it.
struct Row {
  double max = -std::numeric_limits<double>::infinity();
  double log_sum = 0;   ///< lse' = log sum exp(x - max)
  double weighted = 0;  ///< sum of p d, d = max - x
};

Row read_row(const std::vector<double>& x, const Rows& rows, std::size_t row) {
  Row out;
  const std::size_t begin = rows.begin(row);
  for (std::size_t k = 0; k < rows.length; ++k)
    out.max = std::max(out.max, x[begin + k * rows.inner]);
  double sum = 0, weighted = 0;
  for (std::size_t k = 0; k < rows.length; ++k) {
    const double d = out.max - x[begin + k * rows.inner], e = std::exp(-d);
    sum += e;
    if (e > 0) weighted += e * d;  // a masked element weighs nothing
  }
  out.log_sum = std::log(sum);
  out.weighted = weighted / sum;
  return out;
}

/// Calls visit(row, first element of the row, Rk + 9) for every row.
template <class Visit>
void for_each_row(const Evidence& e, const Array& x, Visit visit) {
  const Rows rows = rows_along(x.sizes, reduced_dim(e));
  const double sum_error =
      deviations(e.reference.data.size()) * walk(static_cast<double>(rows.length)) + 9;
  for (std::size_t row = 0; row < rows.count(); ++row)
    visit(rows, row, read_row(x.data, rows, row), sum_error);
}

}  // namespace

Bound softmax_bound(const Evidence& e) {
  const Array& x = need_like_output(e, "softmax");
  const Roundoff at = roundoff(e.dtype);
  Bound bound;
  bound.reduction = true;
  bound.tau.resize(e.reference.data.size());
  for_each_row(e, x, [&](const Rows& rows, std::size_t row, const Row& of, double sum) {
    for (std::size_t k = 0; k < rows.length; ++k) {
      const std::size_t i = rows.begin(row) + k * rows.inner;
      const double r = e.reference.data[i], d = of.max - x.data[i];
      const double relative = r > 0 ? at.u * r * (d + of.weighted + sum) : 0;
      bound.tau[i] = relative + at.tiny;
    }
  });
  return bound;
}

Bound log_softmax_bound(const Evidence& e) {
  const Array& x = need_like_output(e, "log_softmax");
  const Roundoff at = roundoff(e.dtype);
  Bound bound;
  bound.reduction = true;
  bound.tau.resize(e.reference.data.size());
  for_each_row(e, x, [&](const Rows& rows, std::size_t row, const Row& of, double sum) {
    const double shared = 2 * std::abs(of.max) + 7 * of.log_sum + of.weighted + sum;
    for (std::size_t k = 0; k < rows.length; ++k) {
      const std::size_t i = rows.begin(row) + k * rows.inner;
      bound.tau[i] = at.u * (2 * std::abs(x.data[i]) + std::abs(e.reference.data[i]) + shared);
    }
  });
  return bound;
}

}  // namespace opreplay
