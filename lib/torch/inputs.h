#pragma once
/// The inputs of a case: the same bytes on both sides. Bytes are made once, per storage; each run
/// (CPU in the tested dtype, fp64, target) gets its own copy of every storage with the tensors'
/// sizes, strides and offsets rebuilt on it.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/base/request.h"

namespace opreplay {

/// One storage: its elements as a flat CPU tensor, never handed to an operator itself.
struct StorageImage {
  at::Tensor flat;
  bool on_cpu = false;  ///< stays on the CPU on the target side too
};

/// One tensor argument and the storage it lies in. `path` is "0.self": call number, argument path.
struct InputTensor {
  std::string path;
  TensorDesc desc;
  std::size_t storage = 0;
  bool requires_grad = false;
};

/// Path of an argument of the n-th call of a case.
std::string input_path(std::size_t call, const std::string& argument);

/// The argument path of an input: "self" of "0.self".
std::string argument_of(const std::string& path);

class InputImage {
 public:
  /// Makes the bytes of every tensor of `request` from its recipe and seed.
  /// Throws Error{invalid_input} if a tensor is impossible or all storages together exceed
  /// `max_bytes`.
  InputImage(const ReplayRequest& request, std::int64_t max_bytes);

  const std::vector<InputTensor>& tensors() const { return tensors_; }
  const std::vector<StorageImage>& storages() const { return storages_; }
  /// The image with every finite number of its floating and complex storages changed.
  InputImage with_numbers(const std::function<double(double)>& change) const;
  /// xxh3-64 over all storages in order.
  std::uint64_t hash() const;

 private:
  std::vector<InputTensor> tensors_;
  std::vector<StorageImage> storages_;
};

/// One run's own copy of the inputs.
struct RunInputs {
  std::vector<at::Tensor> storages;           ///< flat, as in the image
  std::map<std::string, at::Tensor> tensors;  ///< by path

  /// Makes a copy of a storage, which is number `index` of the image: a CPU tensor, a device
  /// tensor, another dtype; same number of elements.
  using Convert = std::function<at::Tensor(const StorageImage& storage, std::size_t index)>;

  /// Copies every storage through `convert`, then rebuilds the tensors on the copies.
  RunInputs(const InputImage& image, const Convert& convert);
};

}  // namespace opreplay
