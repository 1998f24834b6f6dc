/// Operators that return places of elements (topk, sort, argmax, median, max pooling): of equal
/// elements any may be chosen, so the element at the place counts. docs/oracle.md section 5.
#include <cmath>
#include <set>

#include "lib/compare/model_support.h"
#include "lib/compare/models.h"

namespace opreplay {
namespace {

/// Rows that the places count in: one dim, the last `plane` dims together, or everything.
Rows rows_of(const Evidence& e, const Array& x) {
  Rows rows;
  if (e.attributes.contains("plane")) {
    const auto plane = static_cast<std::size_t>(number_attribute(e, "plane", 2));
    for (std::size_t d = 0; d < x.sizes.size(); ++d)
      (d + plane < x.sizes.size() ? rows.outer : rows.length) *=
          static_cast<std::size_t>(x.sizes[d]);
    return rows;
  }
  const std::vector<double> dims = reduced_dims(e);
  if (!dims.empty()) return rows_along(x.sizes, static_cast<std::int64_t>(dims.front()));
  rows.length = x.data.size();
  return rows;
}

}  // namespace

Bound chosen_bound(const Evidence& e) {
  const bool is_index = static_cast<double>(e.output) == number_attribute(e, "index", 0);
  if (!is_index || scalar(e, "stable").value_or(0) != 0) return exact_bound(e);
  const Array& x = need_input(e, {"self", "input"}, "chosen");
  const Rows rows = rows_of(e, x);
  const bool distinct = e.attributes.contains("distinct");
  Bound bound;
  bound.postcondition = [&e, &x, rows, distinct](std::span<const double> places) {
    const std::vector<double>& reference = e.reference.data;
    const std::size_t chosen = rows.count() == 0 ? 0 : places.size() / rows.count();
    Finding finding;
    for (std::size_t row = 0; row < rows.count(); ++row) {
      const std::size_t from = row / rows.inner * chosen * rows.inner + row % rows.inner;
      const auto element = [&](double place) {
        return x.data[rows.begin(row) + static_cast<std::size_t>(place) * rows.inner];
      };
      std::set<double> seen;
      for (std::size_t k = 0; k < chosen; ++k) {
        const std::size_t i = from + k * rows.inner;
        const double place = places[i];
        const bool inside = place >= 0 && place < static_cast<double>(rows.length);
        const bool right = inside && same_number(element(place), element(reference[i])) &&
                           (!distinct || seen.insert(place).second);
        if (!right) finding.wrong.push_back({i, reference[i]});
      }
    }
    if (!finding.wrong.empty())
      finding.notes.push_back("places outside, of another element, or given twice");
    return finding;
  };
  return bound;
}

}  // namespace opreplay
