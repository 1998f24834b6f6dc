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

  /// A finite element against a finite reference, `error` apart; `spacing` is the ulp at the
  /// reference (0 where there is none). Divides only where a figure grows.
  void value(const Element& e, double error, double spacing) {
    if (error == 0) {
      if (e.target == 0) classes.signed_zero += std::signbit(e.target) != std::signbit(e.reference);
      return;
    }
    max_abs_ = std::max(max_abs_, error);
    const double magnitude = std::abs(e.reference);
    if (magnitude != 0 && error > max_rel_ * magnitude) max_rel_ = error / magnitude;
    if (spacing != 0 && error > max_ulp_ * spacing) max_ulp_ = error / spacing;
    if (error > floor_ * e.bound) keep_value(e, error);
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

  void keep_value(const Element& e, double error);
  void keep(const Element& e, double ratio, bool class_differs);
  void insert(std::size_t at, const Kept& kept);

  std::int64_t zeros_ = 0, nans_ = 0;
  double max_abs_ = 0, max_rel_ = 0, max_ulp_ = 0, worst_ratio_ = 0;
  std::array<Kept, k_worst> kept_;  ///< sorted, worst first
  std::size_t kept_count_ = 0;
  double floor_ = 0;  ///< a value must be worse than this to be kept
};

}  // namespace opreplay
