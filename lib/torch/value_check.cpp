#include "lib/torch/value_check.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/numeric.h"
#include "lib/torch/numbers.h"

namespace opreplay {
namespace {

bool class_right(const OutputComparison& c) { return c.classes.nan == 0 && c.classes.inf == 0; }
bool right(const OutputComparison& c) { return class_right(c) && c.bad == 0; }

Bound bound_of(const ReferenceJob& job, const Evidence& evidence) {
  return widened(job.model->bound(evidence), job.request.tolerance);
}

/// A format below T that a device may compute a call in.
struct LowerFormat {
  std::string_view name;
  int input_precision = 0;          ///< inputs are rounded to so many bits, results are of T...
  std::optional<DType> arithmetic;  ///< ...or inputs and results both are of this dtype

  int precision() const {
    return arithmetic ? float_format(*arithmetic).precision : input_precision;
  }
};

/// Lowest loss first.
constexpr std::array k_lower_formats = {
    LowerFormat{"f32 arithmetic", 0, DType::f32}, LowerFormat{"10-bit mantissa inputs", 11, {}},
    LowerFormat{"f16 arithmetic", 0, DType::f16}, LowerFormat{"bf16 inputs", 8, {}},
    LowerFormat{"bf16 arithmetic", 0, DType::bf16}};

/// To nearest even, exponents unlimited.
double keep_bits(double x, int precision) {
  int exponent = 0;
  const double digits = std::ldexp(std::frexp(x, &exponent), precision);
  return std::ldexp(std::nearbyint(digits), exponent - precision);
}

/// The errors are small beside the values: zeros, shifted rows and the like are no matter of
/// precision, and trying formats on them would cost several runs in fp64.
bool resembles(const std::vector<double>& reference, DType dtype,
               std::span<const std::byte> target) {
  const std::vector<double> values = load_elements(dtype, target);
  double errors = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(reference[i]) || !std::isfinite(values[i])) continue;
    errors += (values[i] - reference[i]) * (values[i] - reference[i]);
    squares += reference[i] * reference[i];
  }
  return errors <= squares / 64;
}

/// The elements as `to` holds them; nothing if one of them is no number of that dtype.
std::optional<std::vector<std::byte>> stored_as(DType to, DType from,
                                                std::span<const std::byte> bytes) {
  const std::vector<double> values = load_elements(from, bytes);
  std::vector<std::byte> out(values.size() * size_of(to));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) && round_to(to, values[i]) != values[i]) return std::nullopt;
    store_element(to, values[i], out.data() + i * size_of(to));
  }
  return out;
}

/// The target obeys the oracle of the same call made in `format`: a bound as narrow as an honest
/// device's, about a reference from inputs in that format.
bool computed_in(const LowerFormat& format, const ReferenceJob& job, const Reference& first,
                 std::size_t index, DType dtype, std::span<const std::byte> target) {
  const DType results = format.arithmetic.value_or(dtype);
  const auto stored = stored_as(results, dtype, target);
  if (!stored) return false;
  const InputImage image = job.image.with_numbers([&](double x) {
    return format.arithmetic ? round_to(*format.arithmetic, x)
                             : keep_bits(x, format.input_precision);
  });
  std::vector<NumberFormat> readings = {job.numbers};
  if (format.arithmetic) readings = {DType::f32, *format.arithmetic};
  for (const NumberFormat numbers : readings) {
    const ReferenceJob lower{job.request, job.operators, image, job.model, job.exact, numbers};
    const auto reference = wide_reference(lower, first);
    if (!reference) return false;
    Evidence evidence = gather_evidence(lower, *reference, index);
    evidence.dtype = results;
    if (right(compare(evidence, bound_of(lower, evidence), {*stored}, {}))) return true;
  }
  return false;
}

}  // namespace

ValueResult ValueCheck::check(std::size_t index, Bytes target, const OutputComparison& structure) {
  const Bytes witness = bytes_of(reference_.outputs[index].witness_dense);
  const Evidence evidence = gather_evidence(job_, reference_, index);
  const Bound bound = bound_of(job_, evidence);
  ValueResult result;
  result.target = compare(evidence, bound, {target}, {witness}, structure);
  OutputComparison cpu;
  if (!witness.empty() && !bound.exact && !bound.metadata) {
    result.witness.ran = true;
    cpu = compare(evidence, bound, {witness}, {witness});
  }

  // No format of numbers makes a draw or a place right.
  const bool by_value = !bound.postcondition && !bound.metadata;
  if (by_value && (!right(result.target) || !right(cpu))) {
    for (const Reading& reading : other_readings()) {
      if (!reading.reference) continue;
      const Evidence other = gather_evidence(reading.job, *reading.reference, index);
      const Bound allowed = bound_of(reading.job, other);
      // What an exact model compares with is the reading itself, not the CPU's result.
      const Result beside{allowed.exact ? Bytes{} : witness};
      if (!right(result.target)) {
        OutputComparison again = compare(other, allowed, {target}, beside, structure);
        if (right(again)) {
          again.notes.push_back(reading.note);
          result.target = std::move(again);
        }
      }
      if (!right(cpu)) {
        OutputComparison again = compare(other, allowed, {witness}, beside);
        if (right(again)) cpu = std::move(again);
      }
    }
  }

  result.witness.class_ok = class_right(cpu);
  result.witness.value_ok = cpu.bad == 0;
  if (!right(cpu)) result.witness.alike = std::ranges::equal(target, witness);
  if (by_value && !bound.exact && class_right(result.target) && result.target.bad > 0)
    name_lower_format(index, target, evidence, bound, result.target);
  return result;
}

// Which format a number has where it meets halves is torch's own choice, kernel by kernel: mul
// takes f32, add and pow take T. What compares or selects may also take the number as it is.
const std::vector<ValueCheck::Reading>& ValueCheck::other_readings() {
  if (readings_) return *readings_;
  readings_.emplace();
  const auto add = [this](NumberFormat numbers, std::string note) {
    ReferenceJob job = job_;
    job.numbers = numbers;
    readings_->push_back({job, std::move(note), wide_reference(job, reference_)});
  };
  const DType computed = computed_dtype(job_.image);
  if (is_half(computed)) add(computed, "numbers rounded to " + std::string(name(computed)));
  if (job_.exact) {
    add(job_.numbers, "rounded once, which the CPU does not");
    if (job_.numbers) add(std::nullopt, "numbers not rounded");
  }
  return *readings_;
}

void ValueCheck::name_lower_format(std::size_t index, Bytes target, const Evidence& evidence,
                                   const Bound& bound, OutputComparison& out) const {
  const DType dtype = component_type(evidence.dtype);
  if (!resembles(evidence.reference.data, dtype, target)) return;
  const auto lies_within = [&](std::string_view format) {
    Bound alone = bound;
    std::erase_if(alone.downgrades, [format](const auto& d) { return d.format != format; });
    return compare(evidence, alone, {target}, {}).within_downgrade;
  };
  std::vector<std::string_view> refuted;
  for (const LowerFormat& format : k_lower_formats) {
    if (format.precision() >= float_format(dtype).precision) continue;
    // Only models of sums of products know what rounded inputs do; their bound is asked first.
    if (!format.arithmetic && !lies_within(format.name)) continue;
    if (computed_in(format, job_, reference_, index, dtype, target)) {
      out.within_downgrade = true;
      out.downgrade = format.name;
      return;
    }
    if (!format.arithmetic) refuted.push_back(format.name);
  }
  // Bounds of formats overlap. A format that was tried and does not fit gives way to one that
  // cannot be tried (accumulation in T), and stays where there is none: inputs may be truncated.
  for (const Bound::Downgrade& lower : bound.downgrades) {
    if (std::ranges::find(refuted, lower.format) != refuted.end() || !lies_within(lower.format))
      continue;
    out.downgrade = lower.format;
    return;
  }
}

}  // namespace opreplay
