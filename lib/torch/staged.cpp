#include "lib/torch/staged.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/base/numeric.h"
#include "lib/base/random.h"
#include "lib/compare/model_support.h"
#include "lib/torch/errors.h"
#include "lib/torch/interception.h"
#include "lib/torch/numbers.h"

namespace opreplay {
namespace {

constexpr int k_runs = 8;
constexpr int k_probes = 3;
/// A moved element changes by this share of itself, plus as much: far above fp64 rounding.
constexpr double k_move = 0x1p-10;

/// Multiplies tensors by 1 + amplitude or 1 - amplitude, element by element, at random.
class Roundings {
 public:
  Roundings(std::uint64_t key, double amplitude) : key_(key), amplitude_(amplitude) {}

  void apply(const at::Tensor& tensor) {
    const at::Tensor numbers = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
    const auto count = static_cast<std::size_t>(numbers.numel());
    words_.resize((count + 63) / 64);
    random_words(key_, Stream::elements, next_, words_);
    next_ += words_.size();
    const at::Tensor factors = at::empty(numbers.sizes(), at::kDouble);
    double* factor = factors.mutable_data_ptr<double>();
    for (std::size_t i = 0; i < count; ++i)
      factor[i] = (words_[i / 64] >> (i % 64) & 1) != 0 ? 1 + amplitude_ : 1 - amplitude_;
    numbers.mul_(factors);
  }

 private:
  std::uint64_t key_;
  double amplitude_;
  std::uint64_t next_ = 0;
  std::vector<std::uint64_t> words_;
};

/// Runs the case as the reference's wider run did, with the inputs and every computed tensor
/// changed; gives all outputs.
class WideRunner {
 public:
  WideRunner(const ReferenceJob& job, const Reference& reference)
      : job_(job),
        reference_(reference),
        type_(reference.precision == "fp64" ? at::kDouble : at::kFloat) {}

  using ChangeInputs = std::function<void(RunInputs&)>;

  std::vector<at::Tensor> run(const ChangeInputs& inputs_change,
                              const Interception::Change& change) const {
    const PlainKernels plain;
    RunInputs inputs = wide_inputs(job_.image, job_.numbers, type_);
    inputs_change(inputs);
    const RunMode mode = wide_mode(job_.numbers, type_);
    RunResult result;
    {
      std::optional<Interception> interception;
      if (change) interception.emplace(change);
      result = run_calls(job_.request, job_.operators, inputs, mode);
    }
    std::vector<at::Tensor> out;
    for (std::size_t i = 0; i < reference_.outputs.size(); ++i)
      out.push_back(output_of(reference_, result, inputs, i));
    return out;
  }

  /// Roundoff u as far as the run's own precision shows it; changes are linear in it.
  double visible(double u) const { return std::max(u, type_ == at::kDouble ? 0x1p-40 : 0x1p-13); }

 private:
  const ReferenceJob& job_;
  const Reference& reference_;
  c10::ScalarType type_;
};

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor x = real_view(a), y = real_view(b);
  return x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

bool is_number_output(const ReferenceOutput& output) {
  return output.wide.defined() && (output.wide.is_floating_point() || output.wide.is_complex());
}

/// Calls `visit(run)` with the outputs of each run; what a run raises becomes the problem.
class Measurement {
 public:
  Measurement(const ReferenceJob& job, const Reference& reference)
      : job_(job), reference_(reference), runner_(job, reference) {
    for (const ReferenceOutput& output : reference.outputs)
      expected_.push_back(is_number_output(output) ? doubles(output.wide) : std::vector<double>{});
  }

  /// Random results and such as were never written give other bytes when memory is filled.
  bool is_settled() const {
    const auto again = runner_.run([](RunInputs&) {},
                                   [](const at::Tensor& computed, bool uninitialised) {
                                     if (uninitialised)
                                       computed.fill_(std::numeric_limits<double>::quiet_NaN());
                                   });
    for (std::size_t i = 0; i < again.size(); ++i)
      if (!same_bytes(again[i], reference_.outputs[i].wide)) return false;
    return true;
  }

  /// Root mean square change of every output's elements, in units of `u`.
  std::vector<std::vector<double>> gains(double u, std::uint64_t stage) const {
    const double amplitude = runner_.visible(u);
    std::vector<std::vector<double>> squares;
    for (const auto& numbers : expected_) squares.emplace_back(numbers.size(), 0.0);
    for (std::uint64_t n = 0; n < k_runs; ++n) {
      Roundings roundings(job_.request.seed ^ (stage << 56 | (n + 1) << 48), amplitude);
      const auto moved = runner_.run(
          [&](RunInputs& inputs) {
            for (const at::Tensor& flat : inputs.storages)
              if (flat.is_floating_point() || flat.is_complex()) roundings.apply(flat);
          },
          [&](const at::Tensor& computed, bool uninitialised) {
            if (!uninitialised) roundings.apply(computed);
          });
      for (std::size_t i = 0; i < moved.size(); ++i) add_squares(moved[i], i, squares[i]);
    }
    for (auto& numbers : squares)
      for (double& x : numbers) x = std::sqrt(x / k_runs) / amplitude;
    return squares;
  }

  /// Kf of every output: how many of its elements one input element reaches, times the ratio of
  /// their numbers.
  std::vector<double> fan_in() const {
    std::vector<const InputTensor*> candidates;
    std::int64_t total = 0;
    for (const InputTensor& input : job_.image.tensors()) {
      if (!is_floating(component_type(input.desc.dtype))) continue;
      candidates.push_back(&input);
      total += elements(input);
    }
    std::vector<double> out(expected_.size(), 0.0);
    if (total == 0) return out;
    std::uint64_t words[k_probes];
    random_words(job_.request.seed, Stream::shuffle, 0, words);
    for (const std::uint64_t word : words) {
      auto at = static_cast<std::int64_t>(scale_word(word, static_cast<std::uint64_t>(total)));
      auto chosen = candidates.begin();
      for (; at >= elements(**chosen); ++chosen) at -= elements(**chosen);
      const auto moved = runner_.run(
          [&](RunInputs& inputs) {
            move_element(inputs.storages[(*chosen)->storage], (*chosen)->desc, at);
          },
          {});
      for (std::size_t i = 0; i < moved.size(); ++i) out[i] += changed(moved[i], i);
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!expected_[i].empty())
        out[i] *=
            static_cast<double>(total) / (k_probes * static_cast<double>(expected_[i].size()));
    return out;
  }

 private:
  static std::int64_t elements(const InputTensor& input) {
    std::int64_t count = 1;
    for (const std::int64_t size : input.desc.sizes) count *= size;
    return count;
  }

  static void move_element(const at::Tensor& flat, const TensorDesc& desc, std::int64_t index) {
    std::int64_t offset = desc.offset;
    for (std::size_t d = desc.sizes.size(); d-- > 0;) {
      offset += index % desc.sizes[d] * desc.strides[d];
      index /= desc.sizes[d];
    }
    flat.as_strided({}, {}, offset).mul_(1 + k_move).add_(k_move);
  }

  void add_squares(const at::Tensor& moved, std::size_t i, std::vector<double>& squares) const {
    if (expected_[i].empty()) return;
    const auto numbers = doubles(moved);
    if (numbers.size() != squares.size()) throw_shape_changed();
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const double change = numbers[k] - expected_[i][k];
      if (std::isfinite(change)) squares[k] += change * change;
    }
  }

  double changed(const at::Tensor& moved, std::size_t i) const {
    if (expected_[i].empty()) return 0;
    const auto numbers = doubles(moved);
    if (numbers.size() != expected_[i].size()) throw_shape_changed();
    std::size_t count = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k)
      count += !same_number(numbers[k], expected_[i][k]);
    return static_cast<double>(count);
  }

  [[noreturn]] static void throw_shape_changed() {
    throw std::runtime_error("the shape of the result depends on the data");
  }

  const ReferenceJob& job_;
  const Reference& reference_;
  WideRunner runner_;
  std::vector<std::vector<double>> expected_;
};

}  // namespace

StagedRuns staged_runs(const ReferenceJob& job, const Reference& reference) {
  StagedRuns out;
  if (reference.precision.empty()) {
    out.problem = "there is no run in fp64 to measure the spread of roundings by";
    return out;
  }
  try {
    const Measurement measurement(job, reference);
    if (!measurement.is_settled()) {
      out.problem = "two runs on the CPU differ: the result is random or not initialised";
      return out;
    }
    double u = 1, u_narrow = 0;
    for (const ReferenceOutput& output : reference.outputs) {
      if (!is_number_output(output)) continue;
      const Roundoff at = roundoff(component_type(tested_dtype(output, job.image)));
      u = std::min(u, at.u);
      if (at.narrow) u_narrow = std::max(u_narrow, at.u_t);
    }
    const auto gains = measurement.gains(u, 1);
    std::vector<std::vector<double>> narrow(gains.size());
    if (u_narrow > 0) narrow = measurement.gains(u_narrow, 2);
    const auto fan_in = measurement.fan_in();
    for (std::size_t i = 0; i < gains.size(); ++i)
      out.outputs.push_back({gains[i], narrow[i], fan_in[i]});
  } catch (...) {
    out.outputs.clear();
    out.problem = "a run with perturbed intermediates raises: " +
                  describe_current_exception(Stage::reference).message;
  }
  return out;
}

}  // namespace opreplay
