/// Elements put where an index says: of several written to one place any may remain (scatter), or
/// they are reduced (scatter_reduce), each place with a number of terms of its own.
#include <cmath>
#include <functional>

#include "lib/compare/model_support.h"
#include "lib/compare/models.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

std::vector<std::size_t> strides_of(const std::vector<std::int64_t>& sizes) {
  std::vector<std::size_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * static_cast<std::size_t>(sizes[d]);
  return strides;
}

/// Calls write(place in self, place in src) for every element of `index`.
void for_each_write(const Evidence& e, std::string_view model,
                    const std::function<void(std::size_t, std::size_t)>& write) {
  const Array &self = need_input(e, {"self"}, model), &index = need_input(e, {"index"}, model);
  const Array& src = need_input(e, {"src"}, model);
  const auto rank = static_cast<std::int64_t>(self.sizes.size());
  const auto given = static_cast<std::int64_t>(scalar(e, "dim").value_or(0));
  const auto dim = static_cast<std::size_t>(given < 0 ? given + rank : given);
  const auto to = strides_of(self.sizes), from = strides_of(src.sizes),
             by = strides_of(index.sizes);
  for (std::size_t i = 0; i < index.data.size(); ++i) {
    std::size_t rest = i, place = 0, source = 0;
    for (std::size_t d = 0; d < index.sizes.size(); ++d) {
      const std::size_t at = rest / by[d];
      rest %= by[d];
      source += at * from[d];
      place += (d == dim ? static_cast<std::size_t>(index.data[i]) : at) * (rank > 0 ? to[d] : 0);
    }
    write(place, source);
  }
}

/// Sum, sum of squares and number of what meets at each place.
Evidence gathered(const Evidence& e) {
  const Array &self = need_input(e, {"self"}, "scatter_reduce"),
              &src = need_input(e, {"src"}, "scatter_reduce");
  Evidence terms = e;
  const std::size_t n = e.reference.data.size();
  terms.sum_abs.assign(n, 0);
  terms.sum_squares.assign(n, 0);
  terms.count.assign(n, 0);
  const auto add = [&](std::size_t place, double x) {
    terms.sum_abs.at(place) += std::abs(x);
    terms.sum_squares[place] += x * x;
    ++terms.count[place];
  };
  for_each_write(e, "scatter_reduce",
                 [&](std::size_t place, std::size_t source) { add(place, src.data[source]); });
  const bool include = scalar(e, "include_self").value_or(1) != 0;
  for (std::size_t i = 0; i < n; ++i)
    if (include || terms.count[i] == 0) add(i, self.data[i]);
  return terms;
}

}  // namespace

Bound scatter_bound(const Evidence& e) {
  Bound bound;
  const Array& self = need_input(e, {"self"}, "scatter");
  const Array& src = need_input(e, {"src"}, "scatter");
  std::vector<std::vector<std::size_t>> writers(e.reference.data.size());
  for_each_write(e, "scatter", [&](std::size_t place, std::size_t source) {
    writers.at(place).push_back(source);
  });
  bound.postcondition = [&e, &self, &src, writers](std::span<const double> y) {
    Finding finding;
    for (std::size_t i = 0; i < y.size(); ++i) {
      bool right = writers[i].empty() && same_number(y[i], self.data[i]);
      for (const std::size_t source : writers[i])
        right = right || same_number(y[i], src.data[source]);
      if (!right) finding.wrong.push_back({i, e.reference.data[i]});
    }
    return finding;
  };
  return bound;
}

Bound scatter_reduce_bound(const Evidence& e) {
  const auto word = e.words.find("reduce");
  const std::string reduce = word == e.words.end() ? "sum" : word->second;
  if (reduce == "amax" || reduce == "amin") return exact_bound(e);
  const Roundoff at = roundoff(e.dtype);
  Evidence terms = gathered(e);
  if (reduce == "sum" || reduce == "add") return accumulate_bound(terms);
  Bound bound;
  if (reduce == "prod" || reduce == "multiply") {
    bound.reduction = true;
    for (std::size_t i = 0; i < terms.count.size(); ++i)
      bound.tau.push_back((terms.count[i] - 1) * at.u * std::abs(e.reference.data[i]) + at.tiny);
    return bound;
  }
  if (reduce != "mean")
    throw Error(ExitCode::invalid_input,
                "oracle model 'scatter_reduce': expected reduce to be sum, add, mean, prod, "
                "multiply, amax or amin, found '" +
                    reduce + "'; correct the rule of this operator");
  for (std::size_t i = 0; i < terms.count.size(); ++i) terms.reference.data[i] *= terms.count[i];
  const Bound sum = accumulate_bound(terms);
  bound.reduction = true;
  for (std::size_t i = 0; i < terms.count.size(); ++i)
    bound.tau.push_back(sum.tau[i] / terms.count[i] + 2 * at.u * std::abs(e.reference.data[i]));
  return bound;
}

}  // namespace opreplay
