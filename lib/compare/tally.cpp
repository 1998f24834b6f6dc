#include "lib/compare/tally.h"

#include <algorithm>

namespace opreplay {
namespace {

std::vector<std::int64_t> unravel(std::size_t index, std::size_t elements,
                                  const std::vector<std::int64_t>& sizes) {
  std::size_t product = 1;
  for (const std::int64_t size : sizes) product *= static_cast<std::size_t>(size);
  // Without the shape (integers that have no fp64 reference) the flat index must do.
  if (product != elements) return {static_cast<std::int64_t>(index)};
  std::vector<std::int64_t> out(sizes.size());
  for (std::size_t d = sizes.size(); d > 0; --d) {
    const auto size = static_cast<std::size_t>(sizes[d - 1]);
    out[d - 1] = static_cast<std::int64_t>(index % size);
    index /= size;
  }
  return out;
}

}  // namespace

void Tally::wrong_class(const Element& e) {
  const bool nan = std::isnan(e.target) || std::isnan(e.reference);
  ++(nan ? classes.nan : classes.inf);
  keep(e, std::numeric_limits<double>::infinity(), true);
}

void Tally::keep_value(const Element& e, double error) {
  const double ratio = e.bound > 0 ? error / e.bound : std::numeric_limits<double>::infinity();
  worst_ratio_ = std::max(worst_ratio_, ratio);
  keep(e, ratio, false);
}

void Tally::keep(const Element& e, double ratio, bool class_differs) {
  std::size_t at = kept_count_;
  while (at > 0) {
    const Kept& before = kept_[at - 1];
    const bool worse = class_differs != before.class_differs ? class_differs : ratio > before.ratio;
    if (!worse) break;
    --at;
  }
  if (at < k_worst) insert(at, {e, ratio, class_differs});
  // Where only class differences are kept, values are still followed for the worst ratio.
  if (kept_count_ == k_worst)
    floor_ = kept_.back().class_differs ? worst_ratio_ : kept_.back().ratio;
}

void Tally::insert(std::size_t at, const Kept& kept) {
  kept_count_ = std::min(kept_count_ + 1, k_worst);
  std::move_backward(kept_.begin() + static_cast<std::ptrdiff_t>(at),
                     kept_.begin() + static_cast<std::ptrdiff_t>(kept_count_) - 1,
                     kept_.begin() + static_cast<std::ptrdiff_t>(kept_count_));
  kept_[at] = kept;
}

void Tally::write(OutputComparison& out, std::size_t elements,
                  const std::vector<std::int64_t>& sizes) const {
  out.compared = true;
  out.elements = static_cast<std::int64_t>(elements);
  out.classes = classes;
  out.bad = bad;
  out.max_abs = max_abs_;
  out.max_rel = max_rel_;
  out.max_ulp = max_ulp_;
  out.worst_ratio = worst_ratio_;
  if (elements > 0) {
    out.zero_share = static_cast<double>(zeros_) / static_cast<double>(elements);
    out.nan_share = static_cast<double>(nans_) / static_cast<double>(elements);
  }
  for (std::size_t i = 0; i < kept_count_; ++i) {
    const Element& e = kept_[i].element;
    out.worst.push_back({unravel(e.index, elements, sizes), e.target, e.reference, e.bound});
  }
}

}  // namespace opreplay
