#pragma once
/// What the error models share: roundoffs of a dtype, the statistical factors, attributes of the
/// rule, rows of a tensor. Notation: docs/oracle.md section 3.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compare/error_model.h"

namespace opreplay {

/// Sizes of rounding errors when results are of dtype T and sums are kept in f32 (f64 for f64).
struct Roundoff {
  double u;       ///< unit roundoff of the accumulator
  double w;       ///< 2u, spacing of 1 in the accumulator
  double u_t;     ///< unit roundoff of T
  double tiny;    ///< smallest normal number of the accumulator: what flushing loses
  double denorm;  ///< smallest subnormal number of the accumulator
  bool narrow;    ///< T is narrower than the accumulator
};
Roundoff roundoff(DType dtype);

/// L: how many standard deviations the worst of `outputs` normal errors stays within, but for a
/// chance of 1e-9.
double deviations(std::size_t outputs);

/// sqrt(max(K,3)/3): the standard deviation of K rounding errors in units of one's bound.
inline double walk(double terms) { return std::sqrt(std::max(terms, 3.0) / 3); }

/// The rule's attribute, or `otherwise` where it is left out. A number that is none throws
/// Error{invalid_input}.
double number_attribute(const Evidence& evidence, const std::string& name, double otherwise);
std::string word_attribute(const Evidence& evidence, const std::string& name,
                           const std::string& otherwise);

/// A number argument of the call; nothing if it is absent.
std::optional<double> scalar(const Evidence& evidence, const std::string& name);

/// A tensor argument of the call, or null if it was None. The first of `names` that is there.
const Array* find_input(const Evidence& evidence, std::initializer_list<const char*> names);
/// The same, or Error{invalid_input} naming the model that lacks it.
const Array& need_input(const Evidence& evidence, std::initializer_list<const char*> names,
                        std::string_view model);

/// The op's first argument (`self` or `input`), or Error{invalid_input} unless it has as many
/// elements as the output.
const Array& need_like_output(const Evidence& evidence, std::string_view model);

/// A tensor as outer x length x inner: rows along one dim.
struct Rows {
  std::size_t outer = 1, length = 1, inner = 1;

  std::size_t begin(std::size_t row) const { return row / inner * length * inner + row % inner; }
  std::size_t count() const { return outer * inner; }
};
/// Rows along `dim` (negative counts from the end; a 0-dim tensor is one row of one element).
Rows rows_along(const std::vector<std::int64_t>& sizes, std::int64_t dim);
/// The dim the rule's attribute `reduce` names: an argument of the call, or a number. Default -1.
std::int64_t reduced_dim(const Evidence& evidence);

/// A tensor whose reduced dims are folded: groups in row-major order of the kept dims, as the
/// reduction gives them.
struct Groups {
  std::size_t count = 1;        ///< groups
  std::size_t length = 1;       ///< elements in each
  std::vector<std::size_t> of;  ///< group of each element, row-major
};
/// Groups of the tensor over `dims` (negative count from the end); no dims = all of them.
Groups groups_over(const std::vector<std::int64_t>& sizes, const std::vector<double>& dims);
/// The dims the rule's attribute `reduce` names: an argument of the call (a number or a list), or a
/// number; none = all dims.
std::vector<double> reduced_dims(const Evidence& evidence);

/// Equal, or both NaN.
inline bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// One row x of a softmax: its maximum and what the formulas need of it.
struct Exponentials {
  double max = -std::numeric_limits<double>::infinity();
  double log_sum = 0;   ///< lse' = log sum exp(x - max)
  double weighted = 0;  ///< sum of p d, d = max - x
};
Exponentials exponentials(const std::vector<double>& x, const Rows& rows, std::size_t row);

/// tau of the log-probability r of an element x of the row. sum_error: Rk + 9.
inline double log_softmax_tau(const Exponentials& row, double u, double sum_error, double x,
                              double r) {
  return u * (2 * std::abs(x) + std::abs(r) +
              (2 * std::abs(row.max) + 7 * row.log_sum + row.weighted + sum_error));
}

/// Adds the accumulation of `count` terms to what is known of them: |result|, the sum of |terms|
/// and the root of the sum of their squares. L, u: deviations() and Roundoff::u.
inline double sum_error(double l, double u, double r, double sum_abs, double root_squares,
                        double count) {
  return std::min(l * walk(count) * u * (r + root_squares), (count + 2) * u * sum_abs);
}

}  // namespace opreplay
