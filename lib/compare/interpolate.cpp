/// Values between neighbours: upsampling, and quantiles of sorted rows. The weights come from a
/// coordinate whose rounding error grows with its size.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "lib/base/numeric.h"
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// Input coordinates that belong to output ones along a dim.
class Axis {
 public:
  Axis(double in, double out, bool corners, std::optional<double> scale)
      : in_(in), corners_(corners) {
    step_ = corners ? (out > 1 ? (in - 1) / (out - 1) : 0) : (scale ? 1 / *scale : in / out);
  }

  /// First and last place that may count, `reach` beyond the coordinate.
  std::pair<std::size_t, std::size_t> around(std::size_t out, double reach) const {
    const double o = static_cast<double>(out);
    const double centre = std::nearbyint(corners_ ? o * step_ : (o + 0.5) * step_ - 0.5);
    const double low = std::clamp(centre - reach, 0.0, in_ - 1);
    const double high = std::clamp(centre + reach, 0.0, in_ - 1);
    return {static_cast<std::size_t>(low), static_cast<std::size_t>(high)};
  }

  /// How many inputs an antialiasing filter spreads over when it makes things smaller.
  double shrink() const { return std::max(step_, 1.0); }

 private:
  double in_, step_ = 1;
  bool corners_;
};

/// `scales_h`, or the n-th of `scale_factors`.
std::optional<double> scale_of(const Evidence& e, std::size_t axis, std::size_t axes) {
  constexpr std::array k_names = {"scales_d", "scales_h", "scales_w"};
  if (axes == 1)
    if (const auto one = scalar(e, "scales")) return one;
  if (const auto one = scalar(e, k_names[3 - axes + axis])) return one;
  const auto all = e.scalars.find("scale_factors");
  if (all == e.scalars.end() || axis >= all->second.size()) return std::nullopt;
  return all->second[axis];
}

}  // namespace

// The largest |x| near by: 2 elements each way, which is all that cubic weights reach.
Bound interpolate_bound(const Evidence& e) {
  const Array& x = need_input(e, {"self", "input"}, "interpolate");
  if (x.sizes.size() < 3 || x.sizes.size() > 5 || x.sizes.size() != e.reference.sizes.size())
    throw Error(ExitCode::invalid_input,
                "oracle model 'interpolate': expected images of 1 to 3 dims, found a rank of " +
                    std::to_string(x.sizes.size()) + "; correct the rule of this operator");
  const std::size_t axes = x.sizes.size() - 2;
  const Roundoff at = roundoff(e.dtype);
  const bool corners = scalar(e, "align_corners").value_or(0) != 0;
  std::array<std::size_t, 3> in = {1, 1, 1}, out = {1, 1, 1};
  std::array<std::optional<Axis>, 3> axis;
  double largest = 1, reach = 2;
  for (std::size_t a = 0; a < 3; ++a) {
    if (a + axes < 3) {
      axis[a].emplace(1, 1, false, std::nullopt);
      continue;
    }
    const std::size_t d = a + axes - 3;
    in[a] = static_cast<std::size_t>(x.sizes[d + 2]);
    out[a] = static_cast<std::size_t>(e.reference.sizes[d + 2]);
    axis[a].emplace(static_cast<double>(in[a]), static_cast<double>(out[a]), corners,
                    scale_of(e, d, axes));
    largest = std::max(largest, static_cast<double>(in[a]));
    if (e.attributes.contains("antialias")) reach = std::max(reach, 2 * axis[a]->shrink() + 1);
  }
  const double factor = at.u * (8 + 2 * largest) * number_attribute(e, "factor", 1);
  const std::size_t plane_in = in[0] * in[1] * in[2], plane_out = out[0] * out[1] * out[2];
  Bound bound;
  bound.tau.resize(e.reference.data.size());
  for (std::size_t i = 0; i < bound.tau.size(); ++i) {
    const std::size_t p = i % plane_out;
    const auto [d0, d1] = axis[0]->around(p / (out[1] * out[2]), reach);
    const auto [h0, h1] = axis[1]->around(p / out[2] % out[1], reach);
    const auto [w0, w1] = axis[2]->around(p % out[2], reach);
    const double* plane = x.data.data() + i / plane_out * plane_in;
    double most = 0;
    for (std::size_t d = d0; d <= d1; ++d)
      for (std::size_t h = h0; h <= h1; ++h)
        for (std::size_t w = w0; w <= w1; ++w)
          most = std::max(most, std::abs(plane[(d * in[1] + h) * in[2] + w]));
    bound.tau[i] = factor * most;
  }
  return bound;
}

// Between two neighbours of the sorted row, at a rank q (K - 1) that is rounded: moved by an ulp it
// may fall between others.
Bound quantile_bound(const Evidence& e) {
  const Array& x = need_input(e, {"self", "input"}, "quantile");
  const Groups groups = groups_over(x.sizes, reduced_dims(e));
  std::vector<std::vector<double>> rows(groups.count);
  for (std::size_t i = 0; i < x.data.size(); ++i)
    if (!std::isnan(x.data[i])) rows[groups.of[i]].push_back(x.data[i]);
  for (std::vector<double>& row : rows) std::sort(row.begin(), row.end());
  const Array* many = find_input(e, {"q"});
  const std::vector<double> q = many ? many->data : std::vector{scalar(e, "q").value_or(0.5)};
  const Roundoff at = roundoff(e.dtype);
  Bound bound;
  bound.reduction = true;
  bound.tau.resize(e.reference.data.size());
  for (std::size_t i = 0; i < bound.tau.size(); ++i) {
    const std::vector<double>& row = rows[i % groups.count];
    if (row.empty()) continue;
    const double last = static_cast<double>(row.size() - 1), rank = q[i / groups.count] * last;
    const double moved = 4 * at.u * (rank + 1);
    const auto place = [&](double r) {
      return row[static_cast<std::size_t>(std::clamp(r, 0.0, last))];
    };
    const double gap = place(std::ceil(rank + moved)) - place(std::floor(rank - moved));
    bound.tau[i] = at.u * 4 * std::abs(e.reference.data[i]) + (4 * at.u + moved) * gap;
  }
  return bound;
}

}  // namespace opreplay
