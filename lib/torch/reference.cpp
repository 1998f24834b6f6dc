#include "lib/torch/reference.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "lib/torch/dtype_map.h"
#include "lib/torch/errors.h"
#include "lib/torch/wide.h"

namespace opreplay {
namespace {

std::string return_name(const RunResult& result, std::size_t i) {
  return result.returns_list ? "out" + std::to_string(i) : "out";
}

std::optional<Raised> attempt(const std::function<void()>& run) {
  try {
    run();
    return std::nullopt;
  } catch (...) {
    return describe_current_exception(Stage::reference);
  }
}

/// A run in a wider precision than the tested one.
struct WideRun {
  std::string precision;  ///< "fp64", "f32", or empty: it raised
  std::optional<RunInputs> inputs;
  RunResult result;
  std::optional<Raised> error;  ///< in fp64
};

/// Ops without an fp64 kernel get f32; where that is missing too, the witness is all there is.
WideRun run_wide(const ReferenceJob& job) {
  const PlainKernels plain;
  WideRun run;
  for (const c10::ScalarType type : {at::kDouble, at::kFloat}) {
    run.inputs = wide_inputs(job.image, job.numbers, type);
    const auto error = attempt([&] {
      run.result = run_calls(job.request, job.operators, *run.inputs, wide_mode(job.numbers, type));
    });
    if (!error) {
      run.precision = type == at::kDouble ? "fp64" : "f32";
      run.error.reset();
      break;
    }
    if (!run.error) run.error = error;
    if (error->error_class != ErrorClass::not_implemented) break;
  }
  return run;
}

}  // namespace

AliasMap alias_map(const RunResult& result, const RunInputs& inputs, const InputImage& image) {
  AliasMap out;
  for (const at::Tensor& value : result.returns) {
    std::string shared;
    if (value.defined() && value.has_storage()) {
      for (const InputTensor& input : image.tensors()) {
        if (!value.storage().is_alias_of(inputs.tensors.at(input.path).storage())) continue;
        shared = input.path;
        break;
      }
    }
    out.push_back(std::move(shared));
  }
  return out;
}

std::vector<bool> modified_storages(const RunInputs& inputs, const InputImage& image) {
  std::vector<bool> out;
  for (std::size_t s = 0; s < image.storages().size(); ++s) {
    const at::Tensor& before = image.storages()[s].flat;
    const at::Tensor after = inputs.storages[s].cpu();
    out.push_back(before.nbytes() > 0 &&
                  std::memcmp(before.const_data_ptr(), after.const_data_ptr(), before.nbytes()));
  }
  return out;
}

const at::Tensor& output_of(const Reference& reference, const RunResult& result,
                            const RunInputs& inputs, std::size_t i) {
  const std::string& path = reference.outputs[i].argument_path;
  return path.empty() ? result.returns.at(i) : inputs.tensors.at(path);
}

Reference compute_reference(const ReferenceJob& job) {
  const auto start = std::chrono::steady_clock::now();
  Reference reference;

  RunInputs inputs(job.image, [](const StorageImage& s, std::size_t) { return s.flat.clone(); });
  RunResult result;
  reference.error =
      attempt([&] { result = run_calls(job.request, job.operators, inputs, RunMode{}); });
  reference.storage_modified.assign(job.image.storages().size(), false);
  if (!reference.error) {
    reference.aliases = alias_map(result, inputs, job.image);
    reference.storage_modified = modified_storages(inputs, job.image);
  }

  // An exact model needs fp64 only where the CPU lacks the op in the tested dtype.
  const bool missing_here =
      reference.error && reference.error->error_class == ErrorClass::not_implemented;
  const bool want64 =
      job.model && (!job.exact || missing_here) && (!reference.error || missing_here);
  WideRun wide;
  if (want64) {
    wide = run_wide(job);
    reference.precision = wide.precision;
    reference.error64 = wide.error;
  } else if (reference.error) {
    reference.error64 = reference.error;
  }
  const bool has_wide = !reference.precision.empty();

  const RunResult& shape_source = reference.error ? wide.result : result;
  if (!reference.error || has_wide) {
    reference.scalars = has_wide ? wide.result.scalars : result.scalars;
    reference.words = has_wide ? wide.result.words : result.words;
    reference.returns = shape_source.returns.size();
    for (std::size_t i = 0; i < reference.returns; ++i) {
      ReferenceOutput out;
      out.name = return_name(shape_source, i);
      if (!reference.error) out.witness = result.returns[i];
      if (has_wide) out.wide = wide.result.returns[i];
      out.number = shape_source.numbers[i];
      reference.outputs.push_back(std::move(out));
    }
    // Modified arguments are outputs too, unless a return is that very tensor.
    const std::size_t last = job.request.calls.size() - 1;
    const auto written = written_paths(job.operators.back().schema(), job.image, last);
    for (const InputTensor& input : job.image.tensors()) {
      const bool marked = std::find(written.begin(), written.end(), input.path) != written.end();
      if (!marked && !reference.storage_modified[input.storage]) continue;
      const at::Tensor& mine =
          reference.error ? wide.inputs->tensors.at(input.path) : inputs.tensors.at(input.path);
      const bool returned =
          std::any_of(shape_source.returns.begin(), shape_source.returns.end(),
                      [&](const at::Tensor& t) { return t.defined() && t.is_same(mine); });
      if (returned) continue;
      ReferenceOutput out;
      out.name = argument_of(input.path);
      out.argument_path = input.path;
      if (!reference.error) out.witness = inputs.tensors.at(input.path);
      if (has_wide) out.wide = wide.inputs->tensors.at(input.path);
      reference.outputs.push_back(std::move(out));
    }
    for (ReferenceOutput& out : reference.outputs)
      if (out.witness.defined()) out.witness_dense = to_dense_cpu(out.witness);
  }
  reference.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return reference;
}

std::optional<Reference> wide_reference(const ReferenceJob& job, const Reference& first) {
  if (first.outputs.empty()) return std::nullopt;
  const WideRun wide = run_wide(job);
  if (wide.precision.empty() || wide.result.returns.size() != first.returns) return std::nullopt;
  Reference reference = first;
  reference.precision = wide.precision;
  reference.scalars = wide.result.scalars;
  for (std::size_t i = 0; i < reference.outputs.size(); ++i)
    reference.outputs[i].wide = output_of(first, wide.result, *wide.inputs, i);
  return reference;
}

}  // namespace opreplay
