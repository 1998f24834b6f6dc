#include <ATen/ops/ones_like.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "lib/base/numeric.h"
#include "lib/torch/dtype_map.h"
#include "lib/torch/numbers.h"
#include "lib/torch/reference.h"
#include "lib/torch/wide.h"

namespace opreplay {
namespace {

Array to_array(const at::Tensor& tensor) {
  const at::Tensor real = real_view(tensor);
  return {real.sizes().vec(), doubles(real)};
}

/// Runs the case in fp64 with each floating storage passed through a transformation, and gives one
/// output.
class Fp64Runner {
 public:
  using Transform = std::function<at::Tensor(const at::Tensor& wide, std::size_t storage)>;

  Fp64Runner(const ReferenceJob& job, const Reference& reference, std::size_t index)
      : job_(job), reference_(reference), index_(index) {}

  std::vector<double> output(const RunMode& mode, const Transform& transform) const {
    const PlainKernels plain;
    RunInputs inputs(job_.image, [&](const StorageImage&, std::size_t s) {
      at::Tensor wide = widened(job_.image, s, job_.numbers);
      return wide.is_floating_point() || wide.is_complex() ? transform(wide, s) : wide;
    });
    const RunResult result = run_calls(job_.request, job_.operators, inputs, mode);
    return doubles(output_of(reference_, result, inputs, index_));
  }

 private:
  const ReferenceJob& job_;
  const Reference& reference_;
  std::size_t index_;
};

c10::Scalar absolute(const c10::Scalar& value) {
  if (value.isComplex()) return std::abs(std::complex<double>(value.toComplexDouble()));
  if (value.isFloatingPoint()) return std::abs(value.toDouble());
  if (value.isIntegral(false)) return std::abs(value.toLong());
  return value;
}

c10::Scalar squared(const c10::Scalar& value) {
  if (value.isComplex()) return std::norm(std::complex<double>(value.toComplexDouble()));
  if (value.isFloatingPoint()) return value.toDouble() * value.toDouble();
  if (value.isIntegral(false)) return value.toLong() * value.toLong();
  return value;
}

c10::Scalar one(const c10::Scalar& value) { return value.isBoolean() ? value : c10::Scalar(1); }

/// What a run on magnitudes says of both components of a complex result. The run is real, or
/// complex without an imaginary part.
std::vector<double> for_components(std::vector<double> run, std::size_t components) {
  const bool real = run.size() * 2 == components;
  std::vector<double> out(components);
  for (std::size_t i = 0; i < components; ++i) out[i] = run[real ? i / 2 : i / 2 * 2];
  return out;
}

/// S, sum of squares and K of a linear op: the op itself on |x|, x^2 and 1 (and |alpha|, alpha^2,
/// 1). A term of complex numbers is two products, each smaller than the product of magnitudes.
void gather_terms(const Fp64Runner& runner, NumberFormat numbers, Evidence& evidence) {
  RunMode mode = wide_mode(numbers);
  const auto terms = [&](c10::Scalar (*change)(const c10::Scalar&),
                         at::Tensor (*of_magnitude)(const at::Tensor&)) {
    mode.scalar = [=](const c10::Scalar& value) { return change(round_scalar(value, numbers)); };
    auto run = runner.output(
        mode, [&](const at::Tensor& x, std::size_t) { return of_magnitude(x.abs()); });
    return evidence.complex_result ? for_components(std::move(run), evidence.reference.data.size())
                                   : run;
  };
  evidence.sum_abs = terms(absolute, [](const at::Tensor& x) { return x; });
  evidence.sum_squares = terms(squared, [](const at::Tensor& x) { return x.square(); });
  evidence.count = terms(one, [](const at::Tensor& x) { return at::ones_like(x); });
  if (evidence.complex_operands)
    for (double& k : evidence.count) k *= 2;
}

/// Relative step of the one-sided differences: far above fp64 rounding, far below any curvature
/// that would matter in a bound.
constexpr double k_step = 0x1p-20;

double finite_or_zero(double x) { return std::isfinite(x) ? x : 0.0; }

/// One real part of a storage times `factor`: all of it, or of a complex one the real (0) or
/// imaginary (1) parts.
at::Tensor scaled_part(const at::Tensor& x, double factor, std::int64_t part) {
  if (!x.is_complex()) return x.mul(factor);
  at::Tensor moved = x.clone();
  at::view_as_real(moved).select(-1, part).mul_(factor);
  return moved;
}

/// cond_f = |r| + sum_i |x_i df/dx_i| by relative differences of one input storage at a time (of a
/// complex one: of its real and imaginary parts), the larger of the two sides (a side outside the
/// domain gives NaN and does not count).
void gather_condition(const ReferenceJob& job, const Fp64Runner& runner, const RunMode& mode,
                      Evidence& evidence) {
  const std::vector<double>& r = evidence.reference.data;
  std::vector<double>& condition = evidence.condition;
  condition.resize(r.size());
  for (std::size_t i = 0; i < r.size(); ++i) condition[i] = finite_or_zero(std::abs(r[i]));
  for (std::size_t s = 0; s < job.image.storages().size(); ++s) {
    const at::Tensor& flat = job.image.storages()[s].flat;
    if (!flat.is_floating_point() && !flat.is_complex()) continue;
    for (std::int64_t part = 0; part < (flat.is_complex() ? 2 : 1); ++part) {
      std::vector<double> change(r.size(), 0.0);
      for (const double factor : {1 + k_step, 1 - k_step}) {
        const auto moved = runner.output(mode, [&](const at::Tensor& x, std::size_t storage) {
          return storage == s ? scaled_part(x, factor, part) : x;
        });
        for (std::size_t i = 0; i < r.size(); ++i)
          change[i] = std::max(change[i], finite_or_zero(std::abs(moved[i] - r[i]) / k_step));
      }
      for (std::size_t i = 0; i < r.size(); ++i) condition[i] += change[i];
    }
  }
  if (!evidence.complex_result) return;
  for (std::size_t i = 0; i + 1 < r.size(); i += 2)
    condition[i] = condition[i + 1] = std::max(condition[i], condition[i + 1]);
}

/// sum_i |x_i| per output element, over the floating inputs that broadcast to the output (those of
/// glu or diff do not and count nothing).
void gather_magnitude(const ReferenceJob& job, Evidence& evidence) {
  std::vector<std::int64_t> sizes = evidence.reference.sizes;
  if (evidence.complex_result) sizes.pop_back();
  const std::size_t width = evidence.complex_result ? 2 : 1;
  evidence.magnitude.assign(evidence.reference.data.size(), 0.0);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  for (const InputTensor& input : job.image.tensors()) {
    if (!is_floating(input.desc.dtype) && !is_complex(input.desc.dtype)) continue;
    const at::Tensor x = widened(job.image, input.storage, job.numbers)
                             .as_strided(input.desc.sizes, input.desc.strides, input.desc.offset);
    bool broadcasts = x.dim() <= rank;
    for (std::int64_t d = 1; broadcasts && d <= x.dim(); ++d)
      broadcasts = x.size(-d) == 1 || x.size(-d) == sizes[static_cast<std::size_t>(rank - d)];
    if (!broadcasts) continue;
    const auto values = doubles(x.abs().expand(sizes));
    for (std::size_t i = 0; i < values.size() * width; ++i)
      evidence.magnitude[i] += finite_or_zero(values[i / width]);
  }
}

/// The largest number of distinct magnitudes any floating operand has, counted up to a bit beyond
/// the 32 that the bias rule asks about.
std::int64_t distinct_magnitudes(const InputImage& image) {
  constexpr std::size_t k_enough = 64;
  std::size_t most = 0;
  for (const InputTensor& input : image.tensors()) {
    if (!is_floating(input.desc.dtype)) continue;
    std::vector<double> seen;
    for (const double value : doubles(image.storages()[input.storage].flat)) {
      const double magnitude = std::abs(value);
      if (std::find(seen.begin(), seen.end(), magnitude) == seen.end()) seen.push_back(magnitude);
      if (seen.size() >= k_enough) break;
    }
    most = std::max(most, seen.size());
  }
  return static_cast<std::int64_t>(most);
}

/// Some number of format `inner` is none of format `outer`.
bool goes_beyond(DType inner, DType outer) {
  const FloatFormat a = float_format(inner), b = float_format(outer);
  return a.precision > b.precision || a.max > b.max;
}

/// Whether `value` holds a number that `dtype` does not have, or a tensor that may.
bool goes_beyond(const Value& value, DType dtype) {
  if (const auto* number = value.get<double>())
    return std::isfinite(*number) && round_to(dtype, *number) != *number;
  if (const auto* tensor = value.get<TensorArg>())
    return is_floating(tensor->desc.dtype) && goes_beyond(tensor->desc.dtype, dtype);
  if (const auto* list = value.get<List>())
    return std::any_of(list->begin(), list->end(),
                       [dtype](const Value& item) { return goes_beyond(item, dtype); });
  return false;
}

}  // namespace

DType tested_dtype(const ReferenceOutput& output, const InputImage& image) {
  const DType dtype =
      component_type(from_torch(output.in_dtype().scalar_type()).value_or(DType::f64));
  if (output.witness.defined() || !is_floating(dtype)) return dtype;
  for (const InputTensor& input : image.tensors())
    if (is_floating(input.desc.dtype)) return input.desc.dtype;
  return dtype;
}

Evidence gather_evidence(const ReferenceJob& job, const Reference& reference, std::size_t index) {
  const ReferenceOutput& output = reference.outputs[index];
  Evidence evidence;
  evidence.dtype = tested_dtype(output, job.image);
  evidence.same_precision = reference.precision != "fp64";
  evidence.reference = to_array(output.in_full());
  evidence.attributes = job.request.oracle.attributes;
  evidence.scalars = reference.scalars;
  evidence.words = reference.words;
  evidence.output = index;
  evidence.complex_result = output.in_full().is_complex();
  for (const InputTensor& input : job.image.tensors())
    evidence.complex_operands |= is_complex(input.desc.dtype);

  // A mean's terms do not tell how many there are: its model counts the inputs.
  const bool needs_all = job.model->needs.inputs || evidence.attributes.contains("mean");
  const bool needs_bias = evidence.attributes.contains("bias");
  if (needs_all || needs_bias) {
    const std::string prefix = input_path(job.request.calls.size() - 1, "");
    for (const InputTensor& input : job.image.tensors()) {
      if (!input.path.starts_with(prefix)) continue;
      if (!needs_all && input.path != prefix + "bias") continue;
      const at::Tensor wide = widened(job.image, input.storage, job.numbers);
      Array array =
          to_array(wide.as_strided(input.desc.sizes, input.desc.strides, input.desc.offset));
      array.dtype = input.desc.dtype;
      evidence.inputs.emplace(input.path.substr(prefix.size()), std::move(array));
    }
  }
  if (!is_floating(evidence.dtype) || job.exact) return evidence;
  const auto& args = job.request.calls.back().args;
  evidence.rounds_twice = std::any_of(args.begin(), args.end(), [&](const Arg& arg) {
    return goes_beyond(arg.value, evidence.dtype);
  });
  if (job.model->needs.staged && index < reference.staged.size())
    evidence.staged = reference.staged[index];
  const Fp64Runner runner(job, reference, index);
  if (job.model->needs.terms) {
    gather_terms(runner, job.numbers, evidence);
    evidence.distinct_magnitudes = distinct_magnitudes(job.image);
  }
  if (job.model->needs.condition && !is_correctly_rounded(evidence)) {
    gather_condition(job, runner, wide_mode(job.numbers), evidence);
    gather_magnitude(job, evidence);
  }
  return evidence;
}

}  // namespace opreplay
