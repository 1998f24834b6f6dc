#pragma once
/// Weights and sample inputs out of a model's archive, at places the command has checked. Part of
/// lib/torch/interpreter.h.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/graph.h"

namespace opreplay {

class StoredTensors {
 public:
  /// Opens the archive. Throws Error{invalid_input} if it cannot be read.
  StoredTensors(std::string file, std::int64_t max_bytes);
  ~StoredTensors();
  StoredTensors(const StoredTensors&) = delete;
  StoredTensors& operator=(const StoredTensors&) = delete;

  /// The tensor of a parameter, buffer or constant: a copy of its bytes that may be written; inputs
  /// with the same bytes share one storage. Throws Error{invalid_input} if it cannot be rebuilt or
  /// all together exceed `max_bytes`.
  at::Tensor tensor(const GraphInput& input);

  /// The leaves of the sample inputs in the order of (args, kwargs). Throws c10::Error on what
  /// torch's unpickler refuses.
  std::vector<c10::IValue> sample_inputs(const StoredBytes& stored);

 private:
  void read(std::uint64_t offset, char* to, std::uint64_t size) const;
  void spend(std::uint64_t bytes, const std::string& what);

  std::string file_;
  int fd_ = -1;
  std::uint64_t bytes_left_;
  std::unordered_map<std::uint64_t, at::Tensor> storages_;  // by offset; flat bytes
};

}  // namespace opreplay
