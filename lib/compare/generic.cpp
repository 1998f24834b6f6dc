/// Operators of which no formula is known: how far roundings on the way carry is measured, not
/// derived (Evidence::staged). Composite operators (gru, cosine_similarity...) and what no rule
/// names.
#include "lib/base/numeric.h"
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// An element whose measured change is small by chance: what its row along the last dim shows
/// counts for it too.
constexpr double k_row_share = 0.3;

void raise_to_row(const std::vector<std::int64_t>& sizes, std::vector<double>& change) {
  const Rows rows = rows_along(sizes, -1);
  for (std::size_t begin = 0; begin + rows.length <= change.size(); begin += rows.length) {
    double squares = 0;
    for (std::size_t i = begin; i < begin + rows.length; ++i) squares += change[i] * change[i];
    if (squares == 0) continue;
    const double floor = k_row_share * std::sqrt(squares / static_cast<double>(rows.length));
    for (std::size_t i = begin; i < begin + rows.length; ++i)
      change[i] = std::max(change[i], floor);
  }
}

/// Change by element for roundings of size `u`.
std::vector<double> changes(const Evidence& e, const std::vector<double>& gain, double u) {
  if (gain.size() != e.reference.data.size())
    throw Error(ExitCode::internal, "oracle model 'generic': expected staged runs of " +
                                        std::to_string(e.reference.data.size()) +
                                        " elements, found " + std::to_string(gain.size()));
  std::vector<double> out(gain.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = u * gain[i];
  raise_to_row(e.reference.sizes, out);
  return out;
}

}  // namespace

Bound generic_bound(const Evidence& e) {
  const std::size_t n = e.reference.data.size();
  const Roundoff at = roundoff(e.dtype);
  const double length = deviations(n), reach = length * walk(e.staged.fan_in);
  const std::vector<double> change = changes(e, e.staged.gain, at.u);
  Bound bound;
  bound.reduction = true;
  bound.tau.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    bound.tau[i] = reach * (at.u * std::abs(e.reference.data[i]) + 2 * change[i]) + at.tiny;
  if (!at.narrow || e.staged.gain_narrow.empty()) return bound;

  // A composite operator stores what it computes on the way, in T.
  const std::vector<double> narrow = changes(e, e.staged.gain_narrow, at.u_t);
  const double smallest = ulp(e.dtype, 0);
  bound.note_wider = "T-rounded intermediates";
  bound.tau_wider.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    bound.tau_wider[i] =
        bound.tau[i] + length * narrow[i] + at.u_t * std::abs(e.reference.data[i]) + 0.5 * smallest;
  return bound;
}

}  // namespace opreplay
