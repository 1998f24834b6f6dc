#pragma once
/// Runs the calls of a case once: on the CPU in the tested dtype, on the CPU in fp64, or on the
/// target.

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/request.h"
#include "lib/torch/boxed_call.h"
#include "lib/torch/inputs.h"

namespace opreplay {

/// How one run differs from the plain one.
struct RunMode {
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  /// Floating dtype arguments become this one (complex ones its complex twin), if set.
  std::optional<c10::ScalarType> widen;
  std::function<c10::Scalar(const c10::Scalar&)> scalar;  ///< applied to numbers, if set
};

/// What a run left behind.
struct RunResult {
  std::vector<at::Tensor> returns;  ///< of the last call, lists flattened; None is undefined
  std::vector<bool> numbers;        ///< by return: a number, held as a 0-dim CPU tensor
  bool returns_list = false;        ///< one Tensor[] or a tuple: names are numbered
  /// Non-tensor arguments of the last call as numbers, defaults included (Evidence::scalars).
  std::map<std::string, std::vector<double>> scalars;
  std::map<std::string, std::string> words;  ///< the same for text (Evidence::words)
};

/// Called between building the last call's arguments and launching it.
using BeforeLaunch = std::function<void()>;

/// Runs all calls in order on `inputs`, which they may modify. Throws what torch throws.
RunResult run_calls(const ReplayRequest& request, const std::vector<c10::OperatorHandle>& operators,
                    RunInputs& inputs, const RunMode& mode, const BeforeLaunch& before_launch = {});

/// Arguments of the last call that its schema marks as written, as input paths.
std::vector<std::string> written_paths(const c10::FunctionSchema& schema, const InputImage& image,
                                       std::size_t call);

/// A dense CPU copy with the tensor's logical contents. Copies the whole backing storage and
/// rebuilds the geometry on the host, so that the device's strided copy is not part of the result.
at::Tensor to_dense_cpu(const at::Tensor& tensor);

}  // namespace opreplay
