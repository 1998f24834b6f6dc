#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/base/numeric.h"
#include "lib/compare/channels.h"
#include "lib/compare/tally.h"

namespace opreplay {
namespace {

enum class Class : std::uint8_t { finite, nan, plus_inf, minus_inf };

Class class_of(double x) {
  if (std::isnan(x)) return Class::nan;
  if (std::isinf(x)) return x > 0 ? Class::plus_inf : Class::minus_inf;
  return Class::finite;
}

/// Largest number of the format partial sums are kept in: f32 at least.
double accumulator_max(DType dtype) { return std::max(float_format(dtype).max, 0x1.fffffep+127); }

class ValueChannel {
 public:
  ValueChannel(const Evidence& evidence, const Bound& bound, Result target, Result witness)
      : evidence_(evidence),
        bound_(bound),
        target_(target),
        witness_(witness),
        dtype_(component_type(evidence.dtype)),
        spacing_(dtype_),
        max_(float_format(dtype_).max),
        inside_(bound.downgrades.size(), true) {
    const auto overflow = evidence.attributes.find("overflow");
    intermediates_overflow_ =
        overflow != evidence.attributes.end() && overflow->second == "intermediates";
  }

  void scan() {
    const std::byte* bytes = target_.bytes.data();
    switch (dtype_) {
      case DType::f32:
        return scan_with([bytes](std::size_t i) {
          float y;
          std::memcpy(&y, bytes + i * sizeof y, sizeof y);
          return static_cast<double>(y);
        });
      case DType::bf16:
        return scan_with([bytes](std::size_t i) {
          std::uint16_t bits;
          std::memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
          return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16));
        });
      case DType::f16:
        return scan_with([bytes](std::size_t i) {
          std::uint16_t bits;
          std::memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
          return f16_value(bits);
        });
      default:
        return scan_with([bytes, this](std::size_t i) {
          return load_element(dtype_, bytes + i * size_of(dtype_));
        });
    }
  }

  void conclude(OutputComparison& out) {
    judge_rms(out);
    const bool class_ok = tally_.classes.nan == 0 && tally_.classes.inf == 0;
    if (tally_.bad > 0 && class_ok && !isolated()) {
      for (std::size_t d = 0; d < inside_.size() && !out.within_downgrade; ++d) {
        if (!inside_[d]) continue;
        out.within_downgrade = true;
        out.downgrade = bound_.downgrades[d].format;
      }
    }
    if (wider_ > 0) out.notes.push_back(bound_.note_wider);
    if (overflowed_ > 0) out.notes.push_back("infinity at the edge of the largest number");
    if (as_witness_ > 0)
      out.notes.push_back("class as the CPU's in this dtype, over data that is not finite");
    if (as_formula_ > 0) out.notes.push_back("class as another algorithm gives it");
    if (sums_overflowed_ > 0)
      out.notes.push_back(bound_.partial_max.empty() ? "partial sums overflow"
                                                     : "partial products overflow");
    tally_.classes.allowed = overflowed_ + as_witness_ + as_formula_ + sums_overflowed_;
    tally_.write(out, evidence_.reference.data.size(), evidence_.reference.sizes);
  }

 private:
  template <class Load>
  void scan_with(Load load) {
    const std::vector<double>& reference = evidence_.reference.data;
    const bool rms = !bound_.rms_scale.empty();
    for (std::size_t i = 0; i < reference.size(); ++i) {
      const double y = load(i), r = reference[i];
      tally_.seen(y);
      if (std::abs(y) <= std::numeric_limits<double>::max() && std::abs(r) <= max_) [[likely]]
        value(i, y, r, rms);
      else
        special(i, y, r, rms);
    }
  }

  /// A lower format shows in most elements; a single wrong one among many is no matter of precision
  /// even where it happens to lie within a lower format's bound.
  bool isolated() const {
    const auto elements = static_cast<std::int64_t>(evidence_.reference.data.size());
    return elements >= 64 && 32 * tally_.bad < elements;
  }

  double allowed(double r, double tau) const { return 0.5 * spacing_.at(std::abs(r) + tau) + tau; }

  void value(std::size_t i, double y, double r, bool rms) {
    const double error = std::abs(y - r), bound = allowed(r, bound_.tau[i]);
    const double spacing = spacing_.at(r);
    tally_.value({i, y, r, bound}, error, spacing);
    const bool wider = error > bound && within_wider(i, error, r);
    if (error > bound && !wider) [[unlikely]]
      exceeded(i, error, r);
    if (rms && !wider) {
      ++rms_count_;
      const double beyond = error - 0.5 * spacing, scale = bound_.rms_scale[i];
      if (beyond > 0 && scale > 0) {
        rms_sum_ += beyond / scale * (beyond / scale);
        beyond_rms_ += beyond > bound_.rms_limit * scale;
      }
    }
  }

  bool within_wider(std::size_t i, double error, double r) {
    const bool within = !bound_.tau_wider.empty() && error <= allowed(r, bound_.tau_wider[i]);
    wider_ += within;
    return within;
  }

  void exceeded(std::size_t i, double error, double r) {
    ++tally_.bad;
    for (std::size_t d = 0; d < inside_.size(); ++d)
      if (!(error <= allowed(r, bound_.downgrades[d].tau[i]))) inside_[d] = false;
  }

  /// Something is not finite, or the reference exceeds the largest number of T.
  void special(std::size_t i, double y, double r, bool rms) {
    const double expected = round_to(dtype_, r);
    const Class got = class_of(y), wanted = class_of(expected);
    if (got == wanted) {
      // A format without infinities saturates: what lies beyond its range counts as its end.
      if (got == Class::finite) value(i, y, has_infinity() ? r : expected, rms);
      return;
    }
    const double tau = bound_.tau[i];
    const Element element{i, y, expected, std::isfinite(r) ? allowed(r, tau) : 0};
    if (overflow_allowed(element, r, tau)) {
      ++overflowed_;
    } else if (!std::isfinite(r) && !bound_.other_class.empty() &&
               got == class_of(bound_.other_class[i])) {
      ++as_formula_;
    } else if (bound_.reduction && witness_agrees(i, got, r)) {
      ++as_witness_;
    } else if (bound_.reduction && std::isfinite(r) && got != Class::finite && sums_overflow(i)) {
      ++sums_overflowed_;
    } else {
      tally_.wrong_class(element);
    }
  }

  /// Infinity against a finite number where either is right to within the bound.
  bool overflow_allowed(const Element& e, double r, double tau) const {
    const double edge = max_ + 0.5 * spacing_.at(max_);
    // A format without infinities may also say NaN (the specification leaves it open).
    if (!has_infinity()) return std::isnan(e.target) && std::abs(r) + tau >= edge;
    if (!std::isfinite(r)) return false;
    if (std::isinf(e.target))
      return std::signbit(e.target) == std::signbit(r) &&
             (std::abs(r) + tau >= edge || (intermediates_overflow_ && std::abs(r) > max_ / 64));
    return std::isfinite(e.target) && std::abs(e.target - r) <= e.bound;
  }

  bool has_infinity() const { return dtype_ != DType::f8e4m3fn; }

  bool witness_agrees(std::size_t i, Class got, double r) const {
    if (witness_.bytes.empty()) return false;
    const double w = load_element(dtype_, witness_.bytes.data() + i * size_of(dtype_));
    return class_of(w) == got && (!std::isfinite(r) || !std::isfinite(w));
  }

  /// In some order a partial sum leaves the accumulator's range though the total does not.
  bool sums_overflow(std::size_t i) const {
    const std::vector<double>& most =
        bound_.partial_max.empty() ? evidence_.sum_abs : bound_.partial_max;
    return !most.empty() && !(most[i] <= accumulator_max(dtype_));
  }

  // What only the mean square shows lies inside every bound, so a lower format explains it if one
  // applies at all; else the elements beyond the limit are bad.
  void judge_rms(OutputComparison& out) {
    if (rms_count_ == 0) return;
    out.rms_ratio = std::sqrt(rms_sum_ / static_cast<double>(rms_count_));
    if (*out.rms_ratio <= bound_.rms_limit || tally_.bad > 0) return;
    tally_.bad = beyond_rms_;
    out.notes.push_back("each element is within its bound, their root mean square is not");
  }

  const Evidence& evidence_;
  const Bound& bound_;
  Result target_, witness_;
  DType dtype_;
  Spacing spacing_;
  double max_;
  bool intermediates_overflow_ = false;
  Tally tally_;
  std::vector<bool> inside_;  ///< by downgrade: every bad element so far is inside it
  std::int64_t wider_ = 0, overflowed_ = 0, as_witness_ = 0, as_formula_ = 0, sums_overflowed_ = 0;
  std::int64_t rms_count_ = 0, beyond_rms_ = 0;
  double rms_sum_ = 0;
};

}  // namespace

void value_channel(const Evidence& evidence, const Bound& bound, Result target, Result witness,
                   OutputComparison& out) {
  ValueChannel channel(evidence, bound, target, witness);
  channel.scan();
  channel.conclude(out);
}

}  // namespace opreplay
