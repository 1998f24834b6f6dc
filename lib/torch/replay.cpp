#include "lib/torch/replay.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "lib/base/hash.h"
#include "lib/torch/dtype_map.h"
#include "lib/torch/errors.h"
#include "lib/torch/fallback.h"
#include "lib/torch/numbers.h"
#include "lib/torch/reference.h"
#include "lib/torch/staged.h"
#include "lib/torch/value_check.h"

namespace opreplay {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void synchronise(const c10::Device& device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.has_index() ? device.index() : c10::DeviceIndex{0});
}

std::string shape_text(const at::Tensor& tensor) {
  if (!tensor.defined()) return "none";
  std::string text = "[";
  for (std::int64_t d = 0; d < tensor.dim(); ++d)
    text += (d ? "," : "") + std::to_string(tensor.size(d));
  return text + "]";
}

std::string dtype_text(c10::ScalarType type) {
  const auto dtype = from_torch(type);
  return dtype ? std::string(name(*dtype)) : c10::toString(type);
}

/// What the target gave, copied to the host.
struct TargetResult {
  std::optional<RunInputs> inputs;
  RunResult result;
  std::vector<at::Tensor> outputs;        ///< as the reference's outputs, on the device
  std::vector<at::Tensor> outputs_dense;  ///< on the host
  AliasMap aliases;
  std::vector<bool> storage_modified;
};

/// One case on its way through the worker.
class Replay {
 public:
  Replay(const ReplayRequest& request, const ReplayTarget& target, Journal& journal)
      : request_(request), target_(target), journal_(journal) {}

  Outcome run() {
    const auto start = Clock::now();
    enter(Stage::inputs);
    if (!find_operators()) return finish(start);
    const InputImage image(request_, target_.max_bytes);
    outcome_.input_hash = image.hash();

    ReferenceJob job{request_, operators_, image};
    job.model = find_error_model(request_.oracle.model);
    const bool no_rule = request_.oracle.model.empty();
    const std::string_view tagged = no_rule ? not_generic_by_tag() : "";
    if (no_rule && tagged.empty()) job.model = find_error_model("generic");
    job.exact = job.model && !job.model->needs.wide;
    job.numbers = arithmetic_format(image);
    enter(Stage::reference);
    reference_ = compute_reference(job);
    outcome_.reference = reference_.error;
    outcome_.reference64 = reference_.error64;
    outcome_.reference_ms = reference_.milliseconds;
    outcome_.evidence = evidence_of(job);
    outcome_.kernel = kernel_of(operators_.back(),
                                c10::backendToDispatchKey(c10::dispatchKeyToBackend(device_key())));
    if (job.model && !draws(*job.model) && is_random(job)) {
      job.model = nullptr;
      outcome_.evidence = "random: two runs on the CPU differ";
    }
    if (job.model && !job.model->complex && any_complex(image)) {
      job.model = nullptr;
      outcome_.evidence = "the error model of this operator holds for real numbers only";
    }
    if (!tagged.empty()) outcome_.evidence = tagged;
    if (no_rule && job.model && !std::ranges::any_of(reference_.outputs, is_floating_output)) {
      job.model = nullptr;
      outcome_.evidence = "no result is floating";
    }
    // What the reference rejects as well is no case at all.
    if (reference_.error && reference_.outputs.empty()) return finish(start);

    if (run_target(image)) {
      enter(Stage::compare);
      if (job.model && job.model->needs.staged) measure_staged(job);
      compare_all(job, image);
      enter(Stage::done);
    }
    return finish(start);
  }

 private:
  void enter(Stage stage) {
    outcome_.stage = stage;
    journal_.enter(stage);
  }

  Outcome finish(Clock::time_point start) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    outcome_.host_peak_bytes = usage.ru_maxrss * 1024;
    outcome_.total_ms = milliseconds_since(start);
    return std::move(outcome_);
  }

  /// An op without a rule is judged by the model `generic`, unless its tags say that values or
  /// shapes are no function of rounded inputs: then what they say.
  std::string_view not_generic_by_tag() const {
    const c10::OperatorHandle& op = operators_.back();
    if (op.hasTag(at::Tag::nondeterministic_seeded)) return "torch tags it as random";
    if (op.hasTag(at::Tag::data_dependent_output)) return "torch tags it as data-dependent";
    if (op.hasTag(at::Tag::dynamic_output_shape)) return "torch tags its shapes as data-dependent";
    return {};
  }

  static bool is_floating_output(const ReferenceOutput& output) {
    const at::Tensor& known = output.in_dtype();
    return known.defined() && known.layout() == at::kStrided &&
           (known.is_floating_point() || known.is_complex());
  }

  /// Without staged runs the model has nothing to say.
  void measure_staged(ReferenceJob& job) {
    StagedRuns runs = staged_runs(job, reference_);
    reference_.staged = std::move(runs.outputs);
    if (runs.problem.empty()) return;
    job.model = nullptr;
    outcome_.evidence = std::move(runs.problem);
  }

  std::string evidence_of(const ReferenceJob& job) const {
    if (!job.model) return "structure only";
    if (job.model->name == "random") return "law";
    if (job.model->name == "structure") return "metadata only";
    if (job.exact && reference_.precision.empty()) return "exact";
    return reference_.precision == "fp64" ? "fp64" : "same precision";
  }

  /// The model knows what a seeded op may draw, or that values mean nothing.
  static bool draws(const ErrorModel& model) {
    return model.name == "random" || model.name == "structure";
  }

  static bool any_complex(const InputImage& image) {
    return std::ranges::any_of(
        image.tensors(), [](const InputTensor& input) { return is_complex(input.desc.dtype); });
  }

  /// Many ops tagged as seeded are harmless (dropout in eval mode); one that gives other bytes when
  /// run again cannot be compared by value.
  bool is_random(const ReferenceJob& job) const {
    if (!operators_.back().hasTag(at::Tag::nondeterministic_seeded) || reference_.error)
      return false;
    ReferenceJob in_dtype = job;
    in_dtype.model = nullptr;  // the run in the tested dtype alone
    const Reference again = compute_reference(in_dtype);
    for (std::size_t i = 0; i < reference_.outputs.size(); ++i)
      if (!std::ranges::equal(bytes_of(reference_.outputs[i].witness_dense),
                              bytes_of(again.outputs[i].witness_dense)))
        return true;
    return false;
  }

  c10::DispatchKey device_key() const {
    return c10::computeDispatchKey(std::nullopt, std::nullopt, target_.device);
  }

  bool find_operators() {
    for (const OpCall& call : request_.calls) {
      const auto op = find_operator(call.op);
      if (!op) {
        outcome_.reference = Raised{ErrorClass::not_implemented, Stage::inputs,
                                    "no loaded library registers the operator " + call.op};
        outcome_.reference64 = outcome_.reference;
        return false;
      }
      operators_.push_back(*op);
    }
    return true;
  }

  /// Everything on the device; false if it raised (the Outcome then says what and where).
  bool run_target(const InputImage& image) {
    try {
      enter(Stage::copy_in);
      device_.inputs.emplace(image, [&](const StorageImage& storage, std::size_t) {
        return storage.on_cpu ? storage.flat.clone()
                              : storage.flat.to(target_.device, /*non_blocking=*/false,
                                                /*copy=*/true);
      });
      synchronise(target_.device);

      RunMode mode;
      mode.device = target_.device;
      const auto start = Clock::now();
      {
        std::optional<FallbackWatch> watch;
        device_.result = run_calls(request_, operators_, *device_.inputs, mode, [&] {
          watch.emplace();
          enter(Stage::launch);
        });
        outcome_.cpu_fallback = watch->found();
        outcome_.fallback_evidence = watch->evidence();
      }
      enter(Stage::synchronise);
      synchronise(target_.device);
      outcome_.target_ms = milliseconds_since(start);

      enter(Stage::copy_back);
      copy_back(image);
      return true;
    } catch (...) {
      outcome_.target = describe_current_exception(outcome_.stage);
      return false;
    }
  }

  void copy_back(const InputImage& image) {
    device_.aliases = alias_map(device_.result, *device_.inputs, image);
    outcome_.outputs_expected = static_cast<int>(reference_.returns);
    outcome_.outputs_got = static_cast<int>(device_.result.returns.size());
    for (std::size_t i = 0; i < reference_.outputs.size(); ++i) {
      const ReferenceOutput& expected = reference_.outputs[i];
      at::Tensor got;
      if (!expected.argument_path.empty()) {
        got = device_.inputs->tensors.at(expected.argument_path);
      } else if (i < device_.result.returns.size()) {
        got = device_.result.returns[i];
      }
      device_.outputs.push_back(got);
      device_.outputs_dense.push_back(got.defined() ? to_dense_cpu(got) : got);
      outcome_.output_hash = hash64(bytes_of(device_.outputs_dense.back()), outcome_.output_hash);
    }
    device_.storage_modified = modified_storages(*device_.inputs, image);
  }

  void compare_all(const ReferenceJob& job, const InputImage& image) {
    check_inputs_untouched(image);
    check_aliases();
    ValueCheck values(job, reference_);
    for (std::size_t i = 0; i < reference_.outputs.size(); ++i)
      outcome_.outputs.push_back(compare_output(job, values, i));
  }

  void check_inputs_untouched(const InputImage& image) {
    const auto written =
        written_paths(operators_.back().schema(), image, request_.calls.size() - 1);
    std::vector<bool> may_change(image.storages().size(), false);
    for (const InputTensor& input : image.tensors())
      if (std::find(written.begin(), written.end(), input.path) != written.end())
        may_change[input.storage] = true;
    for (const InputTensor& input : image.tensors()) {
      const std::size_t s = input.storage;
      if (may_change[s] || reference_.storage_modified[s] || !device_.storage_modified[s]) continue;
      outcome_.inputs_modified.push_back(argument_of(input.path));
    }
  }

  /// Aliasing is a promise of view ops and written arguments only: of returns the schema marks.
  void check_aliases() {
    const auto& returns = operators_.back().schema().returns();
    for (std::size_t i = 0; i < reference_.aliases.size() && i < device_.aliases.size(); ++i) {
      const bool marked = returns.size() == reference_.aliases.size()
                              ? returns[i].alias_info() != nullptr
                              : !returns.empty() && returns[0].alias_info() != nullptr;
      if (!marked || reference_.aliases[i] == device_.aliases[i]) continue;
      const auto what = [](const std::string& path) {
        return path.empty() ? std::string("shares no input") : "shares " + argument_of(path);
      };
      outcome_.alias_differences.push_back(reference_.outputs[i].name + " " +
                                           what(reference_.aliases[i]) + " on the CPU, " +
                                           what(device_.aliases[i]) + " on the target");
    }
  }

  OutputComparison compare_output(const ReferenceJob& job, ValueCheck& check, std::size_t i) {
    const ReferenceOutput& expected = reference_.outputs[i];
    const at::Tensor& got = device_.outputs[i];
    const at::Tensor& reference = expected.in_dtype();

    OutputComparison out = describe_structure(expected, reference, got);
    const bool comparable = out.structure_ok() && job.model && got.defined();
    if (!comparable) return out;

    ValueResult values = check.check(i, bytes_of(device_.outputs_dense[i]), out);
    Witness& witness = outcome_.witness;
    witness.ran |= values.witness.ran;
    witness.class_ok &= values.witness.class_ok;
    witness.value_ok &= values.witness.value_ok;
    witness.alike &= values.witness.alike;
    out = std::move(values.target);
    out.compared = job.model->name != "structure";
    out.model = std::string(job.model->name);
    return out;
  }

  OutputComparison describe_structure(const ReferenceOutput& expected, const at::Tensor& reference,
                                      const at::Tensor& got) const {
    OutputComparison out;
    out.name = expected.name;
    out.shape_expected = shape_text(reference);
    out.shape_got = shape_text(got);
    if (!reference.defined() || !got.defined()) return out;
    // Without a witness the fp64 run cannot say which dtype the tested one gives.
    if (expected.witness.defined()) {
      out.dtype_expected = dtype_text(expected.witness.scalar_type());
      out.dtype_got = dtype_text(got.scalar_type());
    }
    const c10::Device device = expected_device(expected);
    if (got.device().type() != device.type()) {
      out.device_expected = device.str();
      out.device_got = got.device().str();
    }
    out.strides_differ = reference.dim() == got.dim() && reference.strides() != got.strides();
    return out;
  }

  /// A modified argument stays where it was, a number is the host's; everything else belongs on
  /// the target.
  c10::Device expected_device(const ReferenceOutput& expected) const {
    if (expected.number) return c10::Device(c10::DeviceType::CPU);
    return expected.argument_path.empty()
               ? target_.device
               : device_.inputs->tensors.at(expected.argument_path).device();
  }

  const ReplayRequest& request_;
  const ReplayTarget& target_;
  Journal& journal_;
  std::vector<c10::OperatorHandle> operators_;
  Reference reference_;
  TargetResult device_;
  Outcome outcome_;
};

}  // namespace

Outcome replay(const ReplayRequest& request, const ReplayTarget& target, Journal& journal) {
  return Replay(request, target, journal).run();
}

}  // namespace opreplay
