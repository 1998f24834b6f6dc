#pragma once
/// Figures of one comparison while its elements pass by: what both the exact and the value channel
/// count. Read compare.cpp next.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "lib/compare/error_model.h"
#include "opreplay/outcome.h"

namespace opreplay {

/// One compared element.
struct Element {
  std::size_t index = 0;
  double target = 0, reference = 0;
  double bound = 0;  ///< allowed |target - reference|
};

class Tally {
 public:
  /// Every element of the target, once.
  void seen(double target) {
    zeros_ += target == 0;
    nans_ += target != target;
  }

  /// A finite element against a finite reference; `ratio` is error/bound, `spacing` the ulp at the
  /// reference (0 where there is none).
  void value(const Element& e, double error, double ratio, double spacing) {
    if (e.target == 0 && e.reference == 0)
      classes.signed_zero += std::signbit(e.target) != std::signbit(e.reference);
    if (error == 0) return;
    max_abs_ = std::max(max_abs_, error);
    if (e.reference != 0) max_rel_ = std::max(max_rel_, error / std::abs(e.reference));
    if (spacing != 0) max_ulp_ = std::max(max_ulp_, error / spacing);
    if (ratio > worst_ratio_) worst_ratio_ = ratio;
    if (ratio > floor_) keep(e, ratio, false);
  }

  /// An element whose class (NaN, +Inf, -Inf, finite) differs and must not.
  void wrong_class(const Element& e);

  ClassDifference classes;
  std::int64_t bad = 0;

  /// Writes everything counted into `out`; `elements` is their number, `sizes` their shape.
  void write(OutputComparison& out, std::size_t elements,
             const std::vector<std::int64_t>& sizes) const;

 private:
  struct Kept {
    Element element;
    double ratio = 0;
    bool class_differs = false;
  };
  static constexpr std::size_t k_worst = 5;

  void keep(const Element& e, double ratio, bool class_differs);

  std::int64_t zeros_ = 0, nans_ = 0;
  double max_abs_ = 0, max_rel_ = 0, max_ulp_ = 0, worst_ratio_ = 0;
  std::array<Kept, k_worst> kept_;  ///< sorted, worst first
  std::size_t kept_count_ = 0;
  double floor_ = 0;  ///< a value must be worse than this to be kept
};

}  // namespace opreplay
